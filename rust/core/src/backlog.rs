//! The pending asks, indexed so that a heartbeat looks only at asks that may use its node.
//!
//! Three things keep a heartbeat's cost independent of how many jobs wait:
//! - Asks of one size and label share a *shape*. A node is compared with the few shapes in use; if
//!   none fits, nothing else is touched.
//! - Every node of the tree of shares knows which shapes are pending below it (a bit mask). A
//!   search skips queues without a use for the node.
//! - An ask that insists on its hosts is found from the host, not by walking past it.
//!
//! No policy lives here: the order inside a leaf is the key that the order stage gave.

mod classes;
mod holds;
mod places;
mod shapes;
mod skips;

pub(crate) use classes::ClassIndex;
pub(crate) use holds::Reservation;
pub(crate) use places::PlaceIndex;
pub(crate) use shapes::{FitList, ShapeMask, ShapeSize, Shapes};
pub(crate) use skips::{Skip, Skips};

use crate::model::job::{Ask, Job};
use crate::model::share_tree::ShareTree;
use crate::words::ids::{AskId, JobId};
use crate::words::keys::{OrderKey, ShapeId, ShareNodeId};
use std::collections::{BTreeMap, BTreeSet};

/// A pending ask as the indexes hold it. Entries sort in order of service inside a leaf: by window
/// of the place stage, by key of the order stage, by job, then the more urgent request priority
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The job's window; 0 unless the place stage has windows.
    pub window: u32,
    /// The job's place in the leaf's order.
    pub order: OrderKey,
    pub job: JobId,
    /// YARN's request priority; the lower number first.
    pub priority: i32,
    pub ask: AskId,
}

impl Entry {
    /// The ask's key in the indexes. Changes only while the ask is out of its leaf and classes;
    /// the engine's `relist` then moves it in its places.
    pub(crate) fn new(job: &Job, ask: &Ask) -> Entry {
        Entry {
            window: job.window,
            order: job.order_keys[job.kind(ask.facts.priority) as usize],
            job: job.facts.job,
            priority: ask.facts.priority,
            ask: ask.facts.ask,
        }
    }

    pub(crate) const FIRST: Entry = Entry {
        window: 0,
        order: OrderKey::FIRST,
        job: JobId(0),
        priority: i32::MIN,
        ask: AskId(0),
    };
}

/// Asks by shape, each set in order of service.
type Sets = BTreeMap<ShapeId, BTreeSet<Entry>>;

/// The asks of one leaf of the tree of shares, by shape, each set in order of service.
#[derive(Debug, Default)]
pub(crate) struct Leaf {
    /// Asks that any node with room may serve.
    pub open: Sets,
    /// Asks that insist on their hosts or racks for a bounded time, or on their hosts alone.
    pub locked: Sets,
}

/// All pending asks.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Sizes and labels in use.
    pub shapes: Shapes,
    /// Asks by host and rack.
    pub places: PlaceIndex,
    /// Open and strict asks by class of the place stage.
    pub classes: ClassIndex,
    /// When locked asks were passed over.
    pub skips: Skips,
    leaves: Vec<Leaf>,
    open_masks: Vec<ShapeMask>,
    locked_masks: Vec<ShapeMask>,
}

impl Backlog {
    /// Makes room for `share_nodes` nodes of the tree of shares.
    pub(crate) fn grow(&mut self, share_nodes: usize) {
        self.leaves
            .resize_with(share_nodes.max(self.leaves.len()), Leaf::default);
        self.open_masks
            .resize_with(share_nodes.max(self.open_masks.len()), ShapeMask::default);
        self.locked_masks
            .resize_with(share_nodes.max(self.locked_masks.len()), ShapeMask::default);
        self.skips.grow(share_nodes);
    }

    /// Takes all asks out at once.
    pub(crate) fn clear(&mut self) {
        self.shapes.clear_standing();
        self.places.clear();
        self.classes = ClassIndex::default();
        self.leaves.fill_with(Leaf::default);
        for masks in [&mut self.open_masks, &mut self.locked_masks] {
            masks.iter_mut().for_each(ShapeMask::clear);
        }
    }

    /// The asks of a leaf.
    pub(crate) fn leaf(&self, leaf: ShareNodeId) -> &Leaf {
        &self.leaves[leaf.index()]
    }

    /// Shapes of the open asks at or below a node of the tree.
    pub(crate) fn open_mask(&self, at: ShareNodeId) -> u128 {
        self.open_masks[at.index()].mask()
    }

    /// Shapes of the locked asks at or below a node of the tree.
    pub(crate) fn locked_mask(&self, at: ShareNodeId) -> u128 {
        self.locked_masks[at.index()].mask()
    }

    /// Adds an open (or, if not `open`, locked) ask.
    pub(crate) fn insert(
        &mut self,
        tree: &ShareTree,
        leaf: ShareNodeId,
        shape: ShapeId,
        entry: Entry,
        open: bool,
    ) {
        let (sets, masks) = self.parts(leaf, open);
        let set = sets.entry(shape).or_default();
        if set.is_empty() {
            for at in tree.path_up(leaf) {
                masks[at.index()].add(shape);
            }
        }
        let added = set.insert(entry);
        debug_assert!(added, "an ask stands in one place at a time");
    }

    /// Removes what `insert` added.
    pub(crate) fn remove(
        &mut self,
        tree: &ShareTree,
        leaf: ShareNodeId,
        shape: ShapeId,
        entry: Entry,
        open: bool,
    ) {
        let (sets, masks) = self.parts(leaf, open);
        let Some(set) = sets.get_mut(&shape) else {
            debug_assert!(false, "only what was inserted is removed");
            return;
        };
        let removed = set.remove(&entry);
        debug_assert!(removed, "only what was inserted is removed");
        if set.is_empty() {
            sets.remove(&shape);
            for at in tree.path_up(leaf) {
                masks[at.index()].remove(shape);
            }
        }
    }

    fn parts(&mut self, leaf: ShareNodeId, open: bool) -> (&mut Sets, &mut [ShapeMask]) {
        let leaf = &mut self.leaves[leaf.index()];
        if open {
            (&mut leaf.open, &mut self.open_masks)
        } else {
            (&mut leaf.locked, &mut self.locked_masks)
        }
    }
}
