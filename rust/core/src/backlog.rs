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
mod line;
mod places;
mod shapes;
mod skips;

use classes::{Class, ClassIndex};
pub(crate) use holds::Reservation;
pub(crate) use line::{Asks, Line, Spot};
pub(crate) use places::{PlaceIndex, PlaceLine};
pub(crate) use shapes::{FitList, ShapeMask, ShapeSize, Shapes};
pub(crate) use skips::{Skip, Skips};

use crate::model::job::{Ask, Job, Standing};
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
    /// The ask's key in the indexes.
    pub(crate) fn new(job: &Job, ask: &Ask) -> Entry {
        Entry {
            window: job.window,
            order: job.order_keys[job.kind(ask.facts.priority) as usize],
            job: job.facts.job,
            priority: ask.facts.priority,
            ask: ask.facts.ask,
        }
    }

    /// Where the ask's job stands.
    pub(crate) fn spot(&self) -> Spot {
        let Entry {
            window, order, job, ..
        } = *self;
        Spot { window, order, job }
    }

    /// Which of the job's asks it is.
    fn inside(&self) -> (i32, AskId) {
        (self.priority, self.ask)
    }
}

/// Asks by shape, in order of service.
pub(crate) type Lines = BTreeMap<ShapeId, Line>;

/// The asks of one leaf of the tree of shares, by shape, in order of service.
#[derive(Debug, Default)]
pub(crate) struct Leaf {
    /// Asks that any node with room may serve.
    pub open: Lines,
    /// Asks that insist on their hosts or racks for a bounded time, or on their hosts alone.
    pub locked: Lines,
    /// Asks that never leave the places that they name. Listed for the order of their jobs.
    pub strict: Lines,
}

/// Which of a leaf's lists an ask stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    Open,
    Locked,
    Strict,
}

impl List {
    /// The list for an ask, if it is in the backlog.
    pub(crate) fn of(ask: &Ask) -> Option<List> {
        match ask.standing {
            Standing::Out => None,
            Standing::Open => Some(List::Open),
            _ if ask.waits() => Some(List::Locked),
            _ => Some(List::Strict),
        }
    }
}

impl Leaf {
    pub(crate) fn list(&self, list: List) -> &Lines {
        match list {
            List::Open => &self.open,
            List::Locked => &self.locked,
            List::Strict => &self.strict,
        }
    }

    fn list_mut(&mut self, list: List) -> &mut Lines {
        match list {
            List::Open => &mut self.open,
            List::Locked => &mut self.locked,
            List::Strict => &mut self.strict,
        }
    }
}

/// A line in which a job stands by its present key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LineId {
    Leaf(List, ShapeId),
    Class(Class),
}

impl LineId {
    fn shape(self) -> ShapeId {
        match self {
            LineId::Leaf(_, shape) | LineId::Class((_, _, shape)) => shape,
        }
    }
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
    /// The lines of its leaf, and the classes, in which a job has asks.
    lines: BTreeMap<JobId, BTreeSet<LineId>>,
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
        self.lines.clear();
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

    /// Adds an ask to a list of its leaf.
    pub(crate) fn insert(
        &mut self,
        tree: &ShareTree,
        (leaf, list): (ShareNodeId, List),
        shape: ShapeId,
        entry: Entry,
    ) {
        let line = self.leaves[leaf.index()].list_mut(list);
        let line = line.entry(shape).or_default();
        let was_empty = line.is_empty();
        let (added, first) = line.insert(entry.spot(), entry.inside());
        debug_assert!(added, "an ask stands in one place at a time");
        if let Some(masks) = self.masks(list).filter(|_| was_empty) {
            for at in tree.path_up(leaf) {
                masks[at.index()].add(shape);
            }
        }
        if first {
            self.join(entry.job, LineId::Leaf(list, shape));
        }
    }

    /// Removes what `insert` added.
    pub(crate) fn remove(
        &mut self,
        tree: &ShareTree,
        (leaf, list): (ShareNodeId, List),
        shape: ShapeId,
        entry: Entry,
    ) {
        let lines = self.leaves[leaf.index()].list_mut(list);
        let Some(line) = lines.get_mut(&shape) else {
            debug_assert!(false, "only what was inserted is removed");
            return;
        };
        let (removed, last) = line.remove(entry.job, entry.inside());
        debug_assert!(removed, "only what was inserted is removed");
        let is_empty = line.is_empty();
        if is_empty {
            lines.remove(&shape);
        }
        if let Some(masks) = self.masks(list).filter(|_| is_empty) {
            for at in tree.path_up(leaf) {
                masks[at.index()].remove(shape);
            }
        }
        if last {
            self.part(entry.job, LineId::Leaf(list, shape));
        }
    }

    /// Adds an open or strict ask to a class.
    pub(crate) fn insert_class(&mut self, class: Class, entry: Entry) {
        if self.classes.insert(class, entry.spot(), entry.inside()) {
            self.join(entry.job, LineId::Class(class));
        }
    }

    /// Takes an ask from a class.
    pub(crate) fn remove_class(&mut self, class: Class, entry: Entry) {
        if self.classes.remove(class, entry.job, entry.inside()) {
            self.part(entry.job, LineId::Class(class));
        }
    }

    /// Moves a job to its present keys in its leaf and its classes, which are as before.
    pub(crate) fn rekey(&mut self, job: &Job) {
        for line in self.lines.get(&job.facts.job).into_iter().flatten() {
            let spot = Spot::of(job, self.shapes.get(line.shape()).size.kind);
            match *line {
                LineId::Leaf(list, shape) => {
                    let lines = self.leaves[job.leaf.index()].list_mut(list);
                    let line = lines.get_mut(&shape).expect("the job has asks in it");
                    line.move_to(spot);
                }
                LineId::Class(class) => self.classes.move_to(class, spot),
            }
        }
    }

    fn join(&mut self, job: JobId, line: LineId) {
        self.lines.entry(job).or_default().insert(line);
    }

    fn part(&mut self, job: JobId, line: LineId) {
        if let Some(lines) = self.lines.get_mut(&job)
            && lines.remove(&line)
            && lines.is_empty()
        {
            self.lines.remove(&job);
        }
    }

    /// The masks of a list; none for asks that only their places find.
    fn masks(&mut self, list: List) -> Option<&mut [ShapeMask]> {
        match list {
            List::Open => Some(&mut self.open_masks),
            List::Locked => Some(&mut self.locked_masks),
            List::Strict => None,
        }
    }
}
