//! How far a visit fills its node: while others of the label are less used, up to the level that
//! all of them reach together. What is left is left for a bounded time.

use super::Engine;
use super::roomy::{Room, WHOLE};
use crate::model::cluster::Node;
use crate::words::ids::{Millis, NodeId};
use crate::words::resource::Resource;

/// How long an ask may have been waiting for which a report leaves room to less used nodes: two
/// rounds of reports by default. They may never take it: the ask may not run there.
pub(super) const LEAVES_MS: Millis = 2_000;

/// What rounding may add up to: a part of a node that is smaller than any container.
const SLACK: u64 = 8;

/// How full a visit may leave its node; see `Room::used`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// How full the nodes with room are together.
    mean: u64,
    /// How full they come to be.
    most: u64,
}

impl Engine {
    /// Files a node by its room for offers and levels, or takes it out.
    pub(super) fn file(&mut self, id: NodeId) {
        let least = &self.setup.minimum_allocation;
        let node = self
            .cluster
            .node(id)
            .filter(|node| node.facts.schedulable && !node.silent && least.fits_in(&node.free));
        match node.map(|node| self.room_of(node, &node.free)) {
            Some(room) => self.roomy.file(id, room),
            None => self.roomy.remove(id),
        }
    }

    /// The room of a node of which this is free.
    fn room_of(&self, node: &Node, free: &Resource) -> Room {
        let whole = self.cluster.counted(&node.facts.capacity);
        let used = whole.minus_or_zero(free).dominant_share(&whole);
        let used = ((used * f64::from(WHOLE)) as u32).min(WHOLE);
        let byte = (used / (WHOLE / 256)).min(u32::from(u8::MAX));
        Room {
            label: node.facts.partition,
            rank: self.rank.rank(byte as u8),
            used,
            whole,
        }
    }

    /// The level up to which a visit may fill its node; none if it may fill all. On a report, that
    /// to which the nodes with room come if all that is due goes to them; on an offer, the mean of
    /// what they use: the next visit goes to the one that is then least used.
    pub(super) fn level(&self, id: NodeId, offered: bool) -> Option<Level> {
        if !self.rank.levels() || !offered && self.setup.config.heartbeat.is_set {
            return None;
        }
        let node = self.cluster.node(id)?;
        let mut sums = self.roomy.sums(node.facts.partition);
        // It may have been filed with less room, or none.
        let filed = self.roomy.room(id);
        if let Some(filed) = filed.filter(|filed| filed.label == node.facts.partition) {
            sums.subtract(filed);
        }
        if sums.nodes == 0 {
            return None;
        }
        sums.add(&self.room_of(node, &node.free));
        let mean = sums.mean();
        if offered {
            return Some(Level { mean, most: mean });
        }
        let due = self.tree_of(node.facts.partition).due();
        let due = self.cluster.counted(&due).dominant_share(&sums.whole);
        let most = mean + (due * f64::from(WHOLE)) as u64;
        (most < u64::from(WHOLE)).then_some(Level { mean, most })
    }

    /// Whether a node may have one more container of a size: as far as it stays level, and one in
    /// each visit unless others are less used. The last that is due may exceed the level: it would
    /// wait for the next round.
    pub(super) fn stays_level(
        &self,
        node: &Node,
        size: &Resource,
        level: Level,
        first: bool,
    ) -> bool {
        let used = |free: &Resource| u64::from(self.room_of(node, free).used);
        let before = used(&node.free);
        let is_last = || self.tree_of(node.facts.partition).due().fits_in(size);
        used(&(node.free - *size)) <= level.most + SLACK
            || first && before <= level.mean + SLACK
            || before + SLACK < level.most && is_last()
    }
}
