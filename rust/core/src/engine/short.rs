//! Holds nodes for leaves below their share whose next ask fits no node. Others fill the room that
//! comes bit by bit with smaller asks, so that a share would mean less the larger its asks are.
//! The stock schedulers reserve a node in each of these cases.

use super::Engine;
use crate::model::share_tree::{Kept, ShareNode};
use crate::words::ids::{Millis, PartitionId};
use crate::words::keys::ShareNodeId;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use std::collections::BTreeMap;

/// For how many leaves nodes are held in one tick, and for how many more room is counted: each
/// looks at all nodes. The others keep their clocks.
const TURNS_MAX: usize = 16;

/// Since when leaves are short, by label.
pub(super) type Shortages = BTreeMap<(PartitionId, ShareNodeId), Millis>;

impl Engine {
    /// Holds as many nodes for each leaf as it has containers less than its share. It must have
    /// been short for `reservation.after_ms`, counted from the first time that no node had room.
    pub(super) fn reserve_for_short(&mut self) {
        let mut before = std::mem::take(&mut self.short_since);
        let held = self.held_for_leaves();
        let roomiest = self.roomiest();
        let (mut turns, mut looks) = (0, 0);
        let labels = self.partitions.keys().copied();
        let labels: Vec<PartitionId> = [PartitionId::DEFAULT].into_iter().chain(labels).collect();
        for label in labels {
            for at in self.tree_of(label).ids() {
                let node = self.tree_of(label).node(at);
                if node.pending_asks == 0 || !node.children.is_empty() {
                    continue;
                }
                let held = held.get(&(label, at)).copied().unwrap_or_default();
                let Some((next, lacking)) = self.lacking((label, at), &held) else {
                    continue;
                };
                let since_ms = before.remove(&(label, at));
                if looks == TURNS_MAX {
                    self.short_since
                        .extend(since_ms.map(|since_ms| ((label, at), since_ms)));
                    continue;
                }
                let left = self.without_room(&next, lacking, &roomiest);
                looks += usize::from(left < lacking);
                if left == 0 && since_ms.is_none() {
                    continue;
                }
                let since_ms = since_ms.unwrap_or(self.now);
                self.short_since.insert((label, at), since_ms);
                if self.now - since_ms >= self.setup.config.reserve_after_ms
                    && left > 0
                    && turns < TURNS_MAX
                    && self.others_are_smaller(next.shape)
                {
                    turns += 1;
                    self.reserve(next.shape, left, true);
                }
            }
        }
    }

    /// The next ask of a leaf, and how many containers of its size the leaf has less than its
    /// share, not counting what nodes are held for.
    fn lacking(
        &self,
        (label, leaf): (PartitionId, ShareNodeId),
        held: &Resource,
    ) -> Option<(Kept, usize)> {
        let (tree, next) = (self.tree_of(label), self.next_below(label, leaf)?);
        if !tree.within_limits(leaf, &next.size) {
            return None;
        }
        let size = self.cluster.counted(&next.size);
        let lacking = containers_below_share(tree.node(leaf), held, &size);
        // Most leaves are at their share: their asks are not counted.
        let mut asked = 0;
        for entry in self.backlog.leaf(leaf).open.get(&next.shape)?.iter() {
            let ask = self.cluster.job(entry.job)?.ask(entry.ask)?;
            asked += ask.facts.count as usize;
            if asked >= lacking {
                break;
            }
        }
        let lacking = lacking.min(asked);
        (lacking > 0).then_some((next, lacking))
    }

    /// The sizes that nodes are held for, by leaf.
    fn held_for_leaves(&self) -> BTreeMap<(PartitionId, ShareNodeId), Resource> {
        let mut sums: BTreeMap<_, Resource> = BTreeMap::new();
        for held in self.reservations.values() {
            if let Some(job) = self.cluster.job(held.job) {
                let label = self.tree_label(held.size.partition);
                *sums.entry((label, job.leaf)).or_default() += held.size.resource;
            }
        }
        sums
    }

    /// Of each type the most that is free on any node, by label.
    fn roomiest(&self) -> BTreeMap<PartitionId, Resource> {
        let mut most: BTreeMap<_, Resource> = BTreeMap::new();
        for node in self.cluster.nodes().filter(|node| node.facts.schedulable) {
            let most = most.entry(node.facts.partition).or_default();
            *most = most.component_max(&node.free);
        }
        most
    }

    /// For how many of `left` containers no node has room now.
    fn without_room(
        &self,
        next: &Kept,
        mut left: usize,
        roomiest: &BTreeMap<PartitionId, Resource>,
    ) -> usize {
        let size = self.backlog.shapes.get(next.shape).size;
        let most = roomiest.get(&size.partition);
        if most.is_none_or(|most| !size.resource.fits_in(most)) {
            return left;
        }
        for node in size.nodes(&self.cluster) {
            let mut free = node.free;
            while left > 0
                && size.resource.fits_in(&free)
                && !self.reservations.contains_key(&node.facts.node)
            {
                free -= size.resource;
                left -= 1;
            }
            if left == 0 {
                break;
            }
        }
        left
    }
}

/// How many containers of a size a leaf may have more until it has its share.
fn containers_below_share(leaf: &ShareNode, held: &Resource, size: &Resource) -> usize {
    let lacking = leaf.fair_share - leaf.used - *held;
    let counts = |i: &usize| size[*i] > 0 && leaf.fair_share[*i] > 0;
    let counted = (0..RESOURCE_TYPES_MAX).filter(counts);
    let containers = counted.map(|i| lacking[i].max(0) / size[i]).min();
    containers.unwrap_or(0) as usize
}
