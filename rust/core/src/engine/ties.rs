//! The choice among leaves that are entitled to the next container alike. Shares are whole
//! containers, so most of the time several siblings are; fairness does not say which is served. The
//! place stage's steps decide: its first category with a task in any of them. `SW-35` shows what
//! that saves.

use super::search::{Pick, Search};
use crate::words::keys::ShareNodeId;
use crate::words::kind::Kind;
use crate::words::resource::Resource;

/// How many leaves a search looks at: hundreds of queues with one container each must not make a
/// heartbeat longer.
const TIES_MAX: usize = 16;

impl Search<'_> {
    /// The next ask among the first leaves below `at`, if several are entitled alike.
    pub(super) fn among_ties(&mut self, at: ShareNodeId) -> Option<Pick> {
        let ranking = self.place.ranking()?;
        if self.lends || self.share.market().is_some() {
            return None;
        }
        let leaves = self.ties(at);
        let first = *leaves.first()?;
        if leaves.len() < 2 || !ranking.may_be_overtaken(first, self.now) {
            return None;
        }
        let windows: Vec<Option<u32>> = leaves
            .iter()
            .map(|leaf| self.backlog.classes.windows(*leaf).next())
            .collect();
        let steps = |leaf| ranking.steps(self.node, leaf, self.now);
        // The leaf that waits for nothing has all categories.
        let all = leaves
            .iter()
            .map(|leaf| steps(*leaf))
            .max_by_key(|all| all.len())?;
        for step in all {
            for (leaf, window) in leaves.iter().zip(&windows) {
                let Some(window) = *window else { continue };
                if !steps(*leaf).contains(step) {
                    continue;
                }
                if let Some(pick) = self.step(*leaf, window, step) {
                    self.overtaken = (*leaf != first).then_some(first);
                    return Some(pick);
                }
            }
        }
        None
    }

    /// The leaves that are next and have an ask for the node, up to the one that has more than the
    /// first would have after the smallest container that fits.
    fn ties(&self, at: ShareNodeId) -> Vec<ShareNodeId> {
        let is_served = |leaf: &ShareNodeId| {
            let node = self.tree.node(*leaf);
            self.backlog.open_mask(*leaf) & self.fits.mask != 0
                && (!node.limited || self.any_within_limit(*leaf))
        };
        let mut leaves = self.tree.node(at).in_order().filter(is_served).peekable();
        let Some(first) = leaves.peek().map(|first| self.tree.node(*first)) else {
            return Vec::new();
        };
        let sizes = self.fits.shapes.iter();
        let sizes = sizes.map(|shape| self.backlog.shapes.get(*shape).size.resource);
        let smallest = sizes.min_by_key(Resource::memory_mb).unwrap_or_default();
        let capacity = &self.tree.capacity;
        let (from, to) = (
            first.key(),
            self.share.key_after(first, &smallest, capacity),
        );
        let alike = |leaf: &ShareNodeId| {
            let (node, key) = (self.tree.node(*leaf), self.tree.node(*leaf).key());
            node.children.is_empty()
                && (key.class, key.rank) == (from.class, from.rank)
                && key <= to
                && !self.asks_for_another_kind(*leaf)
        };
        leaves.take_while(alike).take(TIES_MAX).collect()
    }

    /// Whether a leaf has an ask that comes before the steps: for an ApplicationMaster, or of
    /// another framework.
    fn asks_for_another_kind(&self, leaf: ShareNodeId) -> bool {
        let shapes = self.backlog.leaf(leaf).open.keys();
        shapes.copied().any(|shape| {
            let size = &self.backlog.shapes.get(shape).size;
            size.kind == Kind::Other && self.backlog.shapes.is_fit(shape, self.fits)
        })
    }
}
