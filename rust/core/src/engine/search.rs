//! Finding the ask that a node serves next: down the tree of shares in order of shares, then
//! the first ask of the leaf in the order stage's order that may run there. Changes nothing.

use crate::backlog::{Backlog, Entry, FitList, ShapeId};
use crate::cluster::{Cluster, Node};
use crate::share::{ShareNodeId, ShareTree};
use crate::types::{AskId, JobId, Millis};

/// What was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    pub(super) shape: ShapeId,
    pub(super) job: JobId,
    pub(super) ask: AskId,
}

/// One search for one node.
pub(super) struct Search<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) tree: &'a ShareTree,
    pub(super) backlog: &'a Backlog,
    pub(super) node: &'a Node,
    pub(super) fits: &'a FitList,
    pub(super) now: Millis,
    /// The locked ask that comes before the one that was found, if any: it was passed over, and
    /// its clock starts. One is enough: the next one's turn comes when this one is served.
    pub(super) passed_over: Option<Entry>,
}

impl Search<'_> {
    /// The next ask for the node at or below `at`.
    pub(super) fn find(&mut self, at: ShareNodeId) -> Option<Pick> {
        let node = self.tree.node(at);
        let (host, rack) = (self.node.facts.host, self.node.facts.rack);
        let places = &self.backlog.places;
        let open = self.backlog.open_mask(at) & self.fits.mask != 0;
        if !open && !places.any_below(host, at) && !places.any_below(rack, at) {
            self.pass_over_below(at);
            return None;
        }
        if node.limited && !self.any_within_limit(at) {
            return None;
        }
        for child in node.in_order() {
            if let Some(pick) = self.find(child) {
                return Some(pick);
            }
        }
        self.first_in_leaf(at)
    }

    fn any_within_limit(&self, at: ShareNodeId) -> bool {
        let node = self.tree.node(at);
        let room = node.max_share - node.used;
        let shapes = &self.backlog.shapes;
        self.fits
            .shapes
            .iter()
            .any(|shape| shapes.get(*shape).resource.fits_in(&room))
    }

    fn first_in_leaf(&mut self, leaf: ShareNodeId) -> Option<Pick> {
        let (host, rack) = (self.node.facts.host, self.node.facts.rack);
        let mut best: Option<(Entry, ShapeId)> = None;
        for (shape, asks) in &self.backlog.leaf(leaf).open {
            if self.admits(leaf, *shape) {
                self.better(asks.iter(), *shape, &mut best);
            }
        }
        for place in [host, rack] {
            if !self.backlog.places.any_below(place, leaf) {
                continue;
            }
            for shape in &self.fits.shapes {
                if self.admits(leaf, *shape) {
                    let asks = self.backlog.places.asks(place, leaf, *shape);
                    self.better(asks, *shape, &mut best);
                }
            }
        }
        self.pass_over_in_leaf(leaf, best.map(|(entry, _)| entry));
        best.map(|(entry, shape)| Pick {
            shape,
            job: entry.job,
            ask: entry.ask,
        })
    }

    /// Replaces `best` by the first of `asks` that may run here, if that comes before it.
    fn better<'a>(
        &self,
        asks: impl Iterator<Item = &'a Entry>,
        shape: ShapeId,
        best: &mut Option<(Entry, ShapeId)>,
    ) {
        for entry in asks {
            if best.is_some_and(|(best, _)| best <= *entry) {
                return;
            }
            if self.is_welcome(entry) {
                *best = Some((*entry, shape));
                return;
            }
        }
    }

    /// Whether the shape fits the node, the limits, and the room for ApplicationMasters.
    fn admits(&self, leaf: ShareNodeId, id: ShapeId) -> bool {
        if !self.backlog.shapes.is_fit(id, self.fits) {
            return false;
        }
        let shape = self.backlog.shapes.get(id);
        self.tree.within_limits(leaf, &shape.resource)
            && (!shape.am || self.tree.node(leaf).admits_am(&shape.resource))
    }

    /// Whether the host lets the ask run here: the job does not mind the node, the host did not
    /// refuse it a moment ago, and the node's rack is not kept off by a row.
    fn is_welcome(&self, entry: &Entry) -> bool {
        let job = self
            .cluster
            .job(entry.job)
            .expect("indexed asks have a job");
        let ask = job.ask(entry.ask).expect("indexed asks are there");
        let facts = &self.node.facts;
        !job.blacklists(facts.host, facts.rack)
            && job
                .refused
                .get(&facts.node)
                .is_none_or(|until| *until <= self.now)
            && (ask.unrelaxed == 0 || ask.may_run_on(facts.host, facts.rack))
    }

    fn pass_over_below(&mut self, at: ShareNodeId) {
        if self.passed_over.is_some() || self.backlog.locked_mask(at) & self.fits.mask == 0 {
            return;
        }
        let mut leaf = at;
        while let Some(child) = self.tree.node(leaf).in_order().next() {
            leaf = child;
        }
        self.pass_over_in_leaf(leaf, None);
    }

    fn pass_over_in_leaf(&mut self, leaf: ShareNodeId, before: Option<Entry>) {
        if self.passed_over.is_some() {
            return;
        }
        for (shape, asks) in &self.backlog.leaf(leaf).locked {
            let Some(first) = asks.first() else { continue };
            if self.backlog.shapes.is_fit(*shape, self.fits)
                && before.is_none_or(|before| *first < before)
                && self.passed_over.is_none_or(|other| *first < other)
            {
                self.passed_over = Some(*first);
            }
        }
    }
}
