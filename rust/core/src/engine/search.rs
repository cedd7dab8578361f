//! Finds the ask that a node serves next. Goes down the tree in order of shares, then takes the
//! first ask of the leaf that may run there, in the order stage's order. Changes nothing.

use super::Subject;
use crate::backlog::{Asks, Backlog, Entry, FitList, Line, List, PlaceLine, Skip, Spot};
use crate::explain::count_ahead;
use crate::model::cluster::{Cluster, Node};
use crate::model::job::{Ask, Job, Standing};
use crate::model::share_tree::ShareTree;
use crate::model::wait::Ahead;
use crate::stage::market::Market;
use crate::stage::place::{Place, Ranking};
use crate::stage::share::Share;
use crate::words::ids::{AskId, JobId, Millis, PlaceId};
use crate::words::keys::{Near, POOLS, Pass, ShapeId, ShareNodeId, Step, Tag};
use crate::words::kind::Kind;
use std::cell::Cell;

/// How many asks of a size a search looks at in a leaf for one that may borrow: a thousand new ones
/// must not slow down the heartbeats of nodes that lend.
const LENT_LOOKS: usize = 16;

/// The first ask that a search has found so far.
type Best = Option<(Entry, ShapeId)>;

/// The ask that a search found.
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
    pub(super) share: &'a dyn Share,
    pub(super) place: &'a dyn Place,
    pub(super) node: &'a Node,
    pub(super) fits: &'a FitList,
    /// Whether the node lends its room to asks without a label, whatever the limits of queues.
    pub(super) lends: bool,
    pub(super) now: Millis,
    /// The job that the search looks at, in case this panics.
    pub(super) subject: &'a Cell<Option<Subject>>,
    /// Jobs to try first, by pool.
    pub(super) nominated: &'a [Vec<JobId>; POOLS],
    /// Asks that are left out: by an explanation, or because their room has been made.
    pub(super) without: Option<&'a dyn Fn(&Entry) -> bool>,
    /// Which pass over the tree of shares this is.
    pub(super) pass: Pass,
    /// Locked asks that stand before the one that was found: they were passed over, and their
    /// clocks start.
    pub(super) skips: Vec<(ShareNodeId, ShapeId, Skip)>,
    /// Leaves in which the place stage's steps found nothing.
    pub(super) left_out: Vec<ShareNodeId>,
    /// The leaf that was next, if one entitled alike was served before it.
    pub(super) overtaken: Option<ShareNodeId>,
}

impl Search<'_> {
    /// The next ask for the node, over all passes.
    pub(super) fn run(&mut self) -> Option<Pick> {
        let market = self.share.market();
        for pass in market.map_or(&[Pass::ALL][..], Market::passes) {
            self.pass = *pass;
            let pick = self.find(ShareNodeId::ROOT, [true; 2]);
            if pick.is_some() {
                return pick;
            }
        }
        None
    }

    /// The next ask for the node at or below `at`. `near` says whether asks below the queue above
    /// may name the node's host, and its rack. Looks at a queue's own record only if it may have
    /// something: there may be thousands of others before it.
    fn find(&mut self, at: ShareNodeId, near: [bool; 2]) -> Option<Pick> {
        let mut near = near;
        let open = self.backlog.open_mask(at) & self.fits.mask != 0;
        if !open || !self.tree.node(at).children.is_empty() {
            let places = [self.node.facts.host, self.node.facts.rack];
            let named = |i: usize| near[i] && self.backlog.places.any_below(places[i], at);
            near = [named(0), named(1)];
        }
        if !open && near == [false; 2] {
            self.pass_over_below(at);
            return None;
        }
        let node = self.tree.node(at);
        if node.limited && !self.lends && !self.any_within_limit(at) {
            return None;
        }
        if self.pass.by_ratio {
            let mut children = node.in_order_of_ratio();
            let found = children.find_map(|child| self.find(child, near));
            return found.or_else(|| self.first_in_leaf(at));
        }
        if let Some(pick) = self.among_ties(at) {
            return Some(pick);
        }
        for (key, child) in node.keys_in_order() {
            if key.class > self.pass.class_max {
                break;
            }
            if let Some(pick) = self.find(child, near) {
                return Some(pick);
            }
        }
        self.first_in_leaf(at)
    }

    pub(super) fn any_within_limit(&self, at: ShareNodeId) -> bool {
        let node = self.tree.node(at);
        let room = node.max_share - node.used;
        let shapes = &self.backlog.shapes;
        self.fits
            .shapes
            .iter()
            .any(|shape| shapes.get(*shape).size.resource.fits_in(&room))
    }

    fn first_in_leaf(&mut self, leaf: ShareNodeId) -> Option<Pick> {
        if let Some(ranking) = self.place.ranking() {
            let other = self.plain(leaf, |kind| kind == Kind::Other);
            return other.or_else(|| self.by_steps(ranking, leaf));
        }
        let nominated = self.first_nominated(leaf);
        nominated.or_else(|| self.plain(leaf, |_| true))
    }

    /// The first ask of the order stage's nominees that may run here.
    fn first_nominated(&self, leaf: ShareNodeId) -> Option<Pick> {
        for (pool, jobs) in self.nominated.iter().enumerate() {
            let jobs = jobs.iter().filter_map(|job| self.cluster.job(*job));
            let here = |job: &&Job| job.leaf == leaf && job.runnable && self.is_welcome(job);
            for job in jobs.filter(here) {
                for ask in job.pending().filter(|ask| ask.standing != Standing::Out) {
                    if self.backlog.shapes.get(ask.shape).size.pool == Some(pool)
                        && self.admits(leaf, ask.shape)
                        && ask.may_run_on(self.node.facts.host, self.node.facts.rack)
                        && self.may_run(ask)
                        && !self.leaves_out(&Entry::new(job, ask))
                    {
                        return Some(pick_of(&Entry::new(job, ask), ask.shape));
                    }
                }
            }
        }
        None
    }

    /// The first ask that the place stage's steps lead to, window by window.
    fn by_steps(&mut self, ranking: &dyn Ranking, leaf: ShareNodeId) -> Option<Pick> {
        let steps = ranking.steps(self.node, leaf, self.now);
        for window in self.backlog.classes.windows(leaf) {
            for step in steps {
                let found = self.step(leaf, window, step);
                if found.is_some() {
                    return found;
                }
            }
        }
        self.left_out.push(leaf);
        None
    }

    pub(super) fn step(&self, leaf: ShareNodeId, window: u32, step: &Step) -> Option<Pick> {
        let (backlog, facts) = (self.backlog, &self.node.facts);
        let mut best: Best = None;
        for shape in &self.fits.shapes {
            let kind = backlog.shapes.get(*shape).size.kind;
            if kind != step.kind || !self.admits(leaf, *shape) {
                continue;
            }
            let place = match step.near {
                Near::Any => {
                    for rack in [facts.rack, PlaceId::ANY] {
                        let tag = Tag {
                            class: step.class,
                            rack,
                        };
                        if let Some(asks) = backlog.classes.line(((leaf, window), tag, *shape)) {
                            self.better(asks.jobs_from(window), *shape, &mut best);
                        }
                    }
                    continue;
                }
                Near::Host => facts.host,
                Near::Rack => facts.rack,
            };
            let at = (place, leaf, *shape);
            let Some(asks) = backlog.places.line(at) else {
                continue;
            };
            let is_in = |spot: &Spot| is_in_class(self.job(spot), kind, step.class, facts.rack);
            let inside = asks.jobs_from(window);
            let inside = inside.take_while(|(spot, _)| spot.window == window);
            let inside = inside.filter(|(spot, _)| is_in(spot));
            if asks.is_sorted() {
                self.better(inside, *shape, &mut best);
            } else {
                self.best_of_all(inside, *shape, &mut best);
            }
        }
        best.map(|(entry, shape)| pick_of(&entry, shape))
    }

    /// The first ask of the wanted kinds, in the order of keys.
    fn plain(&mut self, leaf: ShareNodeId, wanted: impl Fn(Kind) -> bool) -> Option<Pick> {
        let backlog = self.backlog;
        let wanted = |shape: ShapeId| wanted(backlog.shapes.get(shape).size.kind);
        let (host, rack) = (self.node.facts.host, self.node.facts.rack);
        let mut best: Best = None;
        for (shape, asks) in &backlog.leaf(leaf).open {
            if wanted(*shape) && self.admits(leaf, *shape) {
                self.better(asks.jobs(), *shape, &mut best);
            }
        }
        for place in [host, rack] {
            if !backlog.places.any_below(place, leaf) {
                continue;
            }
            for shape in &self.fits.shapes {
                if wanted(*shape) && self.admits(leaf, *shape) {
                    self.better_in_place((place, leaf, *shape), &mut best);
                }
            }
        }
        self.pass_over_in_leaf(leaf, best.map(|(entry, _)| entry), wanted);
        best.map(|(entry, shape)| pick_of(&entry, shape))
    }

    /// Replaces `best` by the first of `jobs`' asks that may run here, if that comes before it.
    fn better<'a>(
        &self,
        jobs: impl Iterator<Item = (Spot, &'a Asks)>,
        shape: ShapeId,
        best: &mut Best,
    ) {
        let looks = self.looks();
        for (seen, (spot, asks)) in jobs.take(looks).enumerate() {
            if best.is_some_and(|(best, _)| best.spot() < spot) {
                return;
            }
            self.better_of((spot, asks), looks - seen, shape, best);
        }
    }

    /// The same in the line of a place.
    fn better_in_place(&self, at: PlaceLine, best: &mut Best) {
        let (_, leaf, shape) = at;
        let Some(line) = self.backlog.places.line(at) else {
            return;
        };
        if line.is_sorted() {
            return self.better(line.jobs(), shape, best);
        }
        // The place knows its jobs, and the leaf their order. Of n jobs in the leaf, m are here:
        // about n / m in the leaf's order are passed until one of them is met. The open ones have
        // been looked at.
        let leaf = self.backlog.leaf(leaf);
        let lists = [List::Locked, List::Strict].map(|list| leaf.list(list).get(&shape));
        let lists = || lists.iter().flatten();
        let (all, here) = (lists().map(|line| line.job_count()), line.job_count());
        let all: usize = all.sum();
        let most = self.looks();
        let steps = if all / here.max(1) < here {
            here.min(most)
        } else {
            0
        };
        let known = lists().all(|list| self.better_as_in((line, list), steps, shape, best));
        if !known {
            self.best_of_all(line.jobs().take(most), shape, best);
        }
    }

    /// The same in a place's line, in the order of a list of its leaf. Returns false if the answer
    /// is not known after so many `steps`.
    fn better_as_in(
        &self,
        (line, list): (&Line, &Line),
        steps: usize,
        shape: ShapeId,
        best: &mut Best,
    ) -> bool {
        for (step, (spot, _)) in list.jobs().enumerate() {
            if best.is_some_and(|(best, _)| best.spot() < spot) {
                return true;
            } else if step == steps {
                return false;
            }
            let Some(asks) = line.of_job(spot.job) else {
                continue;
            };
            self.better_of((spot, asks), self.looks(), shape, best);
        }
        true
    }

    /// The same among jobs that stand unsorted.
    fn best_of_all<'a>(
        &self,
        jobs: impl Iterator<Item = (Spot, &'a Asks)>,
        shape: ShapeId,
        best: &mut Best,
    ) {
        let kind = self.backlog.shapes.get(shape).size.kind;
        for (stands, asks) in jobs {
            let spot = Spot::of(self.job(&stands), kind);
            self.better_of((spot, asks), self.looks(), shape, best);
        }
    }

    /// The same among up to `looks` asks of one job.
    fn better_of(
        &self,
        (spot, asks): (Spot, &Asks),
        looks: usize,
        shape: ShapeId,
        best: &mut Best,
    ) {
        let job = self.job(&spot);
        if !self.is_welcome(job) {
            return;
        }
        for entry in asks.iter().take(looks).map(|ask| spot.entry(*ask)) {
            if best.is_some_and(|(best, _)| best <= entry) {
                return;
            }
            let ask = job.ask(entry.ask).expect("indexed asks are there");
            if !self.leaves_out(&entry) && self.may_run(ask) {
                *best = Some((entry, shape));
                return;
            }
        }
    }

    fn leaves_out(&self, entry: &Entry) -> bool {
        self.without.is_some_and(|without| without(entry))
    }

    /// How many jobs and asks of a shape the search looks at in a leaf.
    fn looks(&self) -> usize {
        if self.lends { LENT_LOOKS } else { usize::MAX }
    }

    fn job(&self, spot: &Spot) -> &Job {
        let job = self.cluster.job(spot.job);
        job.expect("indexed asks have a job")
    }

    /// Whether the shape fits the node, the limits, the share's quota in this pass, and the room
    /// for ApplicationMasters.
    fn admits(&self, leaf: ShareNodeId, id: ShapeId) -> bool {
        if !self.backlog.shapes.is_fit(id, self.fits) {
            return false;
        }
        if self.lends {
            return true;
        }
        let size = &self.backlog.shapes.get(id).size;
        let node = self.tree.node(leaf);
        let market = self.share.market();
        market.is_none_or(|market| market.admits(leaf, node, size.pool, self.pass))
            && self.tree.path_up(leaf).all(|at| {
                let room = || self.tree.room_at(at, leaf, id);
                !self.tree.node(at).limited || size.resource.fits_in(&room())
            })
            && (!size.am || self.tree.admits_am(leaf, id, &size.resource))
    }

    /// Whether the job can pay for one more container, if this pass asks for that, does not
    /// blacklist the node, and was not refused by its host here within `REFUSED_MS`.
    fn is_welcome(&self, job: &Job) -> bool {
        self.subject.set(Some(Subject::Job(job.facts.job)));
        let facts = &self.node.facts;
        let market = self.share.market().filter(|_| job.authority.is_some());
        market.is_none_or(|market| market.affords(job, self.pass, self.now))
            && !job.blacklists(facts.host, facts.rack)
            && job
                .refused
                .get(&facts.node)
                .is_none_or(|until| *until <= self.now)
    }

    /// Whether the ask itself may run here: no row keeps it off the rack, and if the node lends its
    /// room, it may borrow.
    fn may_run(&self, ask: &Ask) -> bool {
        let facts = &self.node.facts;
        (!self.lends || ask.may_borrow(self.now))
            && ((ask.unrelaxed == 0 && ask.standing != Standing::Strict)
                || ask.may_run_on(facts.host, facts.rack))
    }

    /// The jobs in the leaf of an ask whose asks stand before it and may run here. Counts up to
    /// `most` asks of each size.
    pub(super) fn ahead_of(&self, (job, ask): (&Job, &Ask), most: u32) -> Option<Ahead> {
        let (mine, leaf) = (Entry::new(job, ask), job.leaf);
        let sets = self.backlog.leaf(leaf);
        let sets = sets.open.iter().chain(&sets.locked);
        let sets = sets.filter(|(shape, _)| self.admits(leaf, **shape));
        let facts = &self.node.facts;
        count_ahead(self.cluster, sets, &mine, most, |entry, ask| {
            let job = self.cluster.job(entry.job);
            job.is_some_and(|job| self.is_welcome(job))
                && self.may_run(ask)
                && ask.may_run_on(facts.host, facts.rack)
        })
    }

    /// Notes that all locked asks at or below `at` are passed over. Looks at no queue below.
    fn pass_over_below(&mut self, at: ShareNodeId) {
        let locked = self.backlog.locked_mask(at) & self.fits.mask;
        if locked == 0 {
            return;
        }
        if self.tree.node(at).children.is_empty() {
            return self.pass_over_in_leaf(at, None, |_| true);
        }
        for shape in &self.fits.shapes {
            if locked & (1 << shape.bit()) != 0 {
                self.pass_over(at, *shape, None);
            }
        }
    }

    /// Notes that the locked asks of a leaf before that one are passed over.
    fn pass_over_in_leaf(
        &mut self,
        leaf: ShareNodeId,
        before: Option<Entry>,
        wanted: impl Fn(ShapeId) -> bool,
    ) {
        let backlog = self.backlog;
        for (shape, asks) in &backlog.leaf(leaf).locked {
            let first = asks
                .first()
                .is_some_and(|first| before.is_none_or(|it| first < it));
            if first && wanted(*shape) && self.admits(leaf, *shape) {
                self.pass_over(leaf, *shape, before);
            }
        }
    }

    fn pass_over(&mut self, at: ShareNodeId, shape: ShapeId, before: Option<Entry>) {
        let skip = Skip {
            at_ms: self.now,
            before,
            node: Some(self.node.facts.node),
            lent: self.lends,
        };
        if !self.backlog.skips.knows(at, shape, &skip) {
            self.skips.push((at, shape, skip));
        }
    }
}

/// Whether a job's asks of a kind stand in a class for the nodes of a rack.
fn is_in_class(job: &Job, kind: Kind, class: u8, rack: PlaceId) -> bool {
    let here = |tag: &Tag| tag.class == class && [rack, PlaceId::ANY].contains(&tag.rack);
    job.tags[kind as usize].iter().any(here)
}

fn pick_of(entry: &Entry, shape: ShapeId) -> Pick {
    Pick {
        shape,
        job: entry.job,
        ask: entry.ask,
    }
}
