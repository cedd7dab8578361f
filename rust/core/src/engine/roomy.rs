//! The nodes with room, by label and by how much of each is used. A report files its node anew, so
//! filing costs the same however many nodes there are.

use crate::words::ids::{NodeId, PartitionId};
use crate::words::resource::Resource;
use std::collections::BTreeMap;

/// How many ranks there are, and how many bits of a word tell which of them have nodes.
const RANKS: usize = 256;
const BITS: usize = 64;

/// All of a node, in the units of `Room::used`.
pub(super) const WHOLE: u32 = 1 << 16;

/// What a node is filed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) label: PartitionId,
    /// The lowest is offered first.
    pub(super) rank: u8,
    /// The part of the node that is used, of the type of which that is most.
    pub(super) used: u32,
    /// All that it has, of the types that count.
    pub(super) whole: Resource,
}

/// Every node that has room for a container and may be offered.
#[derive(Debug, Default)]
pub(super) struct Roomy {
    nodes: Vec<Option<Filed>>,
    labels: BTreeMap<PartitionId, Label>,
    /// The node at which the next walk of a label begins, if the last one looked at too many.
    from: BTreeMap<PartitionId, NodeId>,
}

/// A node in the line of its rank.
#[derive(Clone, Copy, Debug)]
struct Filed {
    room: Room,
    before: Option<NodeId>,
    after: Option<NodeId>,
}

/// The nodes of a label: a line for each rank, and the sums of all.
#[derive(Debug)]
struct Label {
    lines: Vec<Option<(NodeId, NodeId)>>,
    /// Which lines have nodes.
    bits: [u64; RANKS / BITS],
    sums: Sums,
}

/// Sums over nodes with room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) nodes: u32,
    /// `Room::used`, each with the memory of its node as its weight.
    used: u128,
    pub(super) whole: Resource,
}

impl Sums {
    /// The part of all nodes together that is used.
    pub(super) fn mean(&self) -> u64 {
        let memory = self.whole.memory_mb().max(1).unsigned_abs();
        (self.used / u128::from(memory)) as u64
    }

    pub(super) fn add(&mut self, room: &Room) {
        self.nodes += 1;
        self.used += weighted(room);
        self.whole += room.whole;
    }

    pub(super) fn subtract(&mut self, room: &Room) {
        self.nodes -= 1;
        self.used -= weighted(room);
        self.whole -= room.whole;
    }
}

fn weighted(room: &Room) -> u128 {
    u128::from(room.used) * u128::from(room.whole.memory_mb().unsigned_abs())
}

impl Label {
    fn new() -> Label {
        Label {
            lines: vec![None; RANKS],
            bits: [0; RANKS / BITS],
            sums: Sums::default(),
        }
    }

    fn set_line(&mut self, rank: u8, line: Option<(NodeId, NodeId)>) {
        let (word, bit) = (rank as usize / BITS, 1 << (rank as usize % BITS));
        match line {
            Some(_) => self.bits[word] |= bit,
            None => self.bits[word] &= !bit,
        }
        self.lines[rank as usize] = line;
    }

    /// The lowest rank from this on that has nodes.
    fn rank_from(&self, from: usize) -> Option<usize> {
        (from / BITS..RANKS / BITS).find_map(|word| {
            let low = from.saturating_sub(word * BITS);
            let bits = self.bits[word] & (u64::MAX << low);
            (bits != 0).then(|| word * BITS + bits.trailing_zeros() as usize)
        })
    }
}

impl Roomy {
    /// Files a node at the end of the line of its rank; one that is as before keeps its place.
    pub(super) fn file(&mut self, node: NodeId, room: Room) {
        let filed = self.filed(node);
        if filed.is_some_and(|filed| filed.room == room) {
            return;
        }
        self.remove(node);
        let label = self.labels.entry(room.label).or_insert_with(Label::new);
        label.sums.add(&room);
        let line = label.lines[room.rank as usize];
        let (first, before) = line.map_or((node, None), |(first, last)| (first, Some(last)));
        label.set_line(room.rank, Some((first, node)));
        if let Some(before) = before {
            self.filed_mut(before).after = Some(node);
        }
        if self.nodes.len() <= node.index() {
            self.nodes.resize(node.index() + 1, None);
        }
        self.nodes[node.index()] = Some(Filed {
            room,
            before,
            after: None,
        });
    }

    /// Takes a node out: it has no room, or may not be offered.
    pub(super) fn remove(&mut self, node: NodeId) {
        let Some(filed) = self.nodes.get_mut(node.index()).and_then(Option::take) else {
            return;
        };
        let Filed { before, after, .. } = filed;
        if let Some(before) = before {
            self.filed_mut(before).after = after;
        }
        if let Some(after) = after {
            self.filed_mut(after).before = before;
        }
        let rank = filed.room.rank;
        let label = self.labels.get_mut(&filed.room.label);
        let label = label.expect("a node is filed under its label");
        label.sums.subtract(&filed.room);
        if before.is_none() || after.is_none() {
            let (first, last) = label.lines[rank as usize].expect("it had a node");
            let line = match (before, after) {
                (None, None) => None,
                (None, Some(after)) => Some((after, last)),
                (Some(before), _) => Some((first, before)),
            };
            label.set_line(rank, line);
        }
        if self.from.get(&filed.room.label) == Some(&node) {
            self.from.remove(&filed.room.label);
        }
    }

    fn filed(&self, node: NodeId) -> Option<&Filed> {
        self.nodes.get(node.index())?.as_ref()
    }

    fn filed_mut(&mut self, node: NodeId) -> &mut Filed {
        let filed = self.nodes.get_mut(node.index()).and_then(Option::as_mut);
        filed.expect("lines hold nodes that are filed")
    }

    pub(super) fn room(&self, node: NodeId) -> Option<&Room> {
        self.filed(node).map(|filed| &filed.room)
    }

    /// The labels of its nodes.
    pub(super) fn labels(&self) -> impl Iterator<Item = PartitionId> {
        self.labels.keys().copied()
    }

    /// The first node of a label whose rank is at least this.
    pub(super) fn first(&self, label: PartitionId, from: usize) -> Option<NodeId> {
        let label = self.labels.get(&label)?;
        let (first, _) = label.lines[label.rank_from(from)?]?;
        Some(first)
    }

    /// The node behind one in the line of its rank.
    pub(super) fn behind(&self, node: NodeId) -> Option<NodeId> {
        self.filed(node)?.after
    }

    /// Where a walk of a label begins.
    pub(super) fn start(&mut self, label: PartitionId) -> Option<NodeId> {
        let from = self.from.remove(&label);
        from.or_else(|| self.first(label, 0))
    }

    /// Lets the next walk of a label begin at a node of it.
    pub(super) fn resume_at(&mut self, label: PartitionId, node: NodeId) {
        self.from.insert(label, node);
    }

    /// The sums over the nodes of a label.
    pub(super) fn sums(&self, label: PartitionId) -> Sums {
        self.labels
            .get(&label)
            .map_or_else(Sums::default, |label| label.sums)
    }

    /// The sums of a label, counted again.
    pub(super) fn counted(&self, label: PartitionId) -> Sums {
        let mut sums = Sums::default();
        let rooms = self.nodes.iter().flatten().map(|filed| &filed.room);
        rooms
            .filter(|room| room.label == label)
            .for_each(|room| sums.add(room));
        sums
    }
}
