//! Moments at which locked asks were passed over: they could have run on a node, and did not for
//! the sake of their places.
//!
//! Each ask's wait runs by itself, yet a search must not walk past a thousand locked asks to start
//! their clocks. So it notes, for a node of the tree of shares and a shape, that everything locked
//! there before some key was passed over. An ask looks that up when its timer fires.

use super::Entry;
use crate::model::cluster::Cluster;
use crate::model::job::{Ask, Job};
use crate::model::share_tree::ShareTree;
use crate::words::ids::{Millis, NodeId};
use crate::words::keys::{ShapeId, ShareNodeId};
use std::collections::BTreeMap;

/// How many moments are remembered for a shape at a node of the tree.
const MOMENTS_MAX: usize = 64;

/// How many shapes are remembered at a node of the tree before old ones are forgotten.
const SHAPES_MAX: usize = 16;

/// A moment at which locked asks were passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) at_ms: Millis,
    /// Asks before this one were; without it all below that node of the tree.
    pub(crate) before: Option<Entry>,
    /// The node that had room; none if there were several.
    pub(crate) node: Option<NodeId>,
    /// Whether it lent its room to asks without a label.
    pub(crate) lent: bool,
}

impl Skip {
    /// Whether the ask could have run there.
    fn concerns(&self, cluster: &Cluster, job: &Job, ask: &Ask) -> bool {
        let node = self.node.and_then(|node| cluster.node(node));
        let welcome = node.is_none_or(|node| {
            let facts = &node.facts;
            let refused = job.refused.get(&facts.node);
            ask.accepts(facts.host, facts.rack)
                && !job.blacklists(facts.host, facts.rack)
                && refused.is_none_or(|until| *until <= self.at_ms)
        });
        welcome && (!self.lent || ask.may_borrow(self.at_ms))
    }

    fn reaches(&self, before: Option<Entry>) -> bool {
        self.before
            .is_none_or(|reach| before.is_some_and(|before| before <= reach))
    }
}

/// The moments by node of the tree of shares, and there by shape.
#[derive(Debug, Default)]
pub(crate) struct Skips {
    at: Vec<BTreeMap<ShapeId, Vec<Skip>>>,
    grain_ms: Millis,
}

impl Skips {
    /// Makes room for `share_nodes` nodes of the tree of shares.
    pub(super) fn grow(&mut self, share_nodes: usize) {
        let share_nodes = share_nodes.max(self.at.len());
        self.at.resize_with(share_nodes, BTreeMap::new);
    }

    /// Takes over the longest wait. Moments nearer than a part of it count as one, which bounds the
    /// memory. Those that are remembered reach back twice as far.
    pub(crate) fn set_longest(&mut self, wait_ms: Millis) {
        self.grain_ms = (wait_ms / (MOMENTS_MAX as Millis / 2)).max(1);
    }

    /// Whether `note` would change nothing that matters.
    pub(crate) fn knows(&self, at: ShareNodeId, shape: ShapeId, skip: &Skip) -> bool {
        let moments = self.at[at.index()].get(&shape);
        let last = moments.and_then(|moments| self.near(moments, skip));
        last.is_some_and(|i| {
            let last = moments.expect("it has a last one")[i];
            last.reaches(skip.before) && (last.node.is_none() || last.node == skip.node)
        })
    }

    /// The last moment with which this one counts as one.
    fn near(&self, moments: &[Skip], skip: &Skip) -> Option<usize> {
        let recent = moments.iter().enumerate().rev().take(2);
        let mut recent = recent.filter(|(_, last)| last.lent == skip.lent);
        let (i, last) = recent.next()?;
        (skip.at_ms - last.at_ms < self.grain_ms).then_some(i)
    }

    /// Notes that the asks of a shape at or below `at` were passed over.
    pub(crate) fn note(&mut self, at: ShareNodeId, shape: ShapeId, skip: Skip) {
        let oldest_ms = skip.at_ms - self.grain_ms * MOMENTS_MAX as Millis;
        let shapes = &mut self.at[at.index()];
        if shapes.len() >= SHAPES_MAX && !shapes.contains_key(&shape) {
            shapes.retain(|_, moments| moments.last().is_some_and(|it| it.at_ms >= oldest_ms));
        }
        let near = match self.at[at.index()].get(&shape) {
            Some(moments) => self.near(moments, &skip),
            None => None,
        };
        let moments = self.at[at.index()].entry(shape).or_default();
        let Some(i) = near else {
            if moments.len() == MOMENTS_MAX {
                moments.remove(0);
            }
            return moments.push(skip);
        };
        let last = &mut moments[i];
        if !last.reaches(skip.before) {
            last.before = skip.before;
        }
        if last.node != skip.node {
            last.node = None;
        }
    }

    /// When the ask was first passed over since it insists on its level.
    pub(crate) fn first(
        &self,
        cluster: &Cluster,
        tree: &ShareTree,
        job: &Job,
        ask: &Ask,
    ) -> Option<Millis> {
        let entry = Entry::new(job, ask);
        let mut since_ms = ask.insisting_since_ms;
        let mut first: Option<Millis> = None;
        for at in tree.path_up(job.leaf) {
            let moments = self.at.get(at.index()).and_then(|at| at.get(&ask.shape));
            let moments = moments.map_or(&[][..], Vec::as_slice);
            let from = moments.partition_point(|skip| skip.at_ms < since_ms);
            let mut later = moments[from..].iter();
            let found = later.find(|skip| {
                skip.before.is_none_or(|before| entry < before) && skip.concerns(cluster, job, ask)
            });
            if let Some(skip) = found {
                first = Some(first.map_or(skip.at_ms, |first| first.min(skip.at_ms)));
            }
            // What is noted above does not know of this node's limit.
            let node = tree.node(at);
            if node.limited {
                if !ask.facts.resource.fits_in(&(node.max_share - node.used)) {
                    break;
                }
                since_ms = since_ms.max(node.roomy_since_ms);
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::ids::{AskId, JobId};
    use crate::words::keys::OrderKey;

    const ROOT: ShareNodeId = ShareNodeId::ROOT;
    const SHAPE: ShapeId = ShapeId(0);

    fn skip(at_ms: Millis, before: Option<u32>, node: u32) -> Skip {
        let entry = |job| Entry {
            window: 0,
            order: OrderKey::FIRST,
            job: JobId(job),
            priority: 0,
            ask: AskId(0),
        };
        Skip {
            at_ms,
            before: before.map(entry),
            node: Some(NodeId(node)),
            lent: false,
        }
    }

    fn skips() -> Skips {
        let mut skips = Skips::default();
        skips.grow(1);
        skips.set_longest(320);
        skips
    }

    #[test]
    fn moments_within_the_grain_are_one_that_reaches_as_far_as_both() {
        let mut skips = skips();
        skips.note(ROOT, SHAPE, skip(100, Some(3), 1));
        assert!(skips.knows(ROOT, SHAPE, &skip(109, Some(2), 1)));
        assert!(!skips.knows(ROOT, SHAPE, &skip(109, Some(4), 1)));
        assert!(
            !skips.knows(ROOT, SHAPE, &skip(109, Some(2), 2)),
            "another node"
        );
        assert!(!skips.knows(ROOT, SHAPE, &skip(110, Some(2), 1)), "later");
        skips.note(ROOT, SHAPE, skip(109, None, 2));
        let all = Skip {
            node: None,
            ..skip(100, None, 0)
        };
        assert_eq!(skips.at[0][&SHAPE], [all]);
        assert!(skips.knows(ROOT, SHAPE, &skip(109, Some(9), 7)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut skips = skips();
        for shape in 0..100 {
            for at_ms in 0..100 {
                let at_ms = (shape * 100 + at_ms) * 10;
                skips.note(ROOT, ShapeId(shape as u32), skip(at_ms, None, 1));
            }
        }
        assert!(skips.at[0].len() <= SHAPES_MAX);
        assert!(
            skips.at[0]
                .values()
                .all(|moments| moments.len() <= MOMENTS_MAX)
        );
    }
}
