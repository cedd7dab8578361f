//! Shapes: the distinct sizes and labels of pending asks. A cluster has few at a time, because YARN
//! rounds asks up to multiples of its minimum allocation.

use crate::model::cluster::{Cluster, Node};
use crate::words::ids::{Millis, PartitionId};
use crate::words::keys::{POOLS, ShapeId};
use crate::words::kind::Kind;
use crate::words::resource::Resource;
use std::collections::BTreeMap;

/// How many bits a mask of shapes has. Shapes share bits when there are more of them: a search may
/// then visit a queue in vain, but never skips one in error.
const MASK_BITS: u32 = 128;

impl ShapeId {
    /// The shape's bit in masks.
    pub fn bit(self) -> u32 {
        self.0 % MASK_BITS
    }
}

/// The properties that tell shapes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShapeSize {
    /// The resources of one container.
    pub resource: Resource,
    /// The node label it needs.
    pub partition: PartitionId,
    /// Whether it is an ApplicationMaster.
    pub am: bool,
    /// Map, reduce or other.
    pub kind: Kind,
    /// The pool whose slots it takes.
    pub pool: Option<usize>,
}

impl ShapeSize {
    /// Whether it fits wherever the other does, and in less.
    pub(crate) fn is_smaller(&self, other: &ShapeSize) -> bool {
        self.partition == other.partition
            && self.resource != other.resource
            && self.resource.fits_in(&other.resource)
    }

    /// The nodes that containers of this size may run on at all.
    pub(crate) fn nodes(self, cluster: &Cluster) -> impl Iterator<Item = &Node> {
        let usable =
            move |node: &&Node| node.facts.schedulable && node.facts.partition == self.partition;
        cluster.nodes().filter(usable)
    }
}

/// One size and label of pending asks.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Its size and label.
    pub size: ShapeSize,
    /// How many asks have it, pending or not.
    users: u32,
    /// How many asks of it are in the backlog now.
    pub standing: u32,
    /// Since when it has been in the backlog without fitting a node that reported.
    pub unfit_since_ms: Millis,
    /// The last heartbeat in which it fitted.
    stamp: u64,
    /// Its place among the pending shapes, if it is one.
    at: usize,
}

/// The shapes that fit a node, for the length of one heartbeat.
#[derive(Clone, Debug, Default)]
pub(crate) struct FitList {
    pub shapes: Vec<ShapeId>,
    /// Their bits.
    pub mask: u128,
    stamp: u64,
}

/// The stamp of lists that are imagined: they mark no shape, and are walked instead.
const IMAGINED: u64 = u64::MAX;

/// The table of shapes.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    table: Vec<Shape>,
    ids: BTreeMap<ShapeSize, ShapeId>,
    unused: Vec<ShapeId>,
    standing: Vec<ShapeId>,
    stamp: u64,
}

impl Shapes {
    /// The shape of that size and label; the caller owes one `release`.
    pub(crate) fn acquire(&mut self, size: ShapeSize) -> ShapeId {
        if let Some(id) = self.ids.get(&size) {
            self.table[id.0 as usize].users += 1;
            return *id;
        }
        let shape = Shape {
            size,
            users: 1,
            standing: 0,
            unfit_since_ms: 0,
            stamp: 0,
            at: 0,
        };
        let id = match self.unused.pop() {
            Some(id) => {
                self.table[id.0 as usize] = shape;
                id
            }
            None => {
                self.table.push(shape);
                ShapeId(self.table.len() as u32 - 1)
            }
        };
        self.ids.insert(size, id);
        id
    }

    /// Gives a shape back; the last user frees its id.
    pub(crate) fn release(&mut self, id: ShapeId) {
        let shape = &mut self.table[id.0 as usize];
        shape.users -= 1;
        if shape.users == 0 {
            debug_assert_eq!(
                shape.standing, 0,
                "asks leave the backlog before their shape"
            );
            self.ids.remove(&shape.size);
            self.unused.push(id);
        }
    }

    pub(crate) fn get(&self, id: ShapeId) -> &Shape {
        &self.table[id.0 as usize]
    }

    /// The shapes that are pending now.
    pub(crate) fn standing(&self) -> &[ShapeId] {
        &self.standing
    }

    /// The bits of the pending shapes of ApplicationMasters.
    pub(crate) fn mask_of_masters(&self) -> u128 {
        let masters = self.standing.iter().filter(|id| self.get(**id).size.am);
        masters.fold(0, |mask, id| mask | 1 << id.bit())
    }

    /// Counts an ask of this shape into the backlog.
    pub(crate) fn enter(&mut self, id: ShapeId, now: Millis) {
        let shape = &mut self.table[id.0 as usize];
        shape.standing += 1;
        if shape.standing == 1 {
            shape.unfit_since_ms = now;
            shape.at = self.standing.len();
            self.standing.push(id);
        }
    }

    /// Counts an ask of this shape out of the backlog.
    pub(crate) fn leave(&mut self, id: ShapeId) {
        let shape = &mut self.table[id.0 as usize];
        shape.standing -= 1;
        if shape.standing == 0 {
            let at = shape.at;
            self.standing.swap_remove(at);
            if let Some(moved) = self.standing.get(at) {
                self.table[moved.0 as usize].at = at;
            }
        }
    }

    /// Counts all asks out of the backlog.
    pub(crate) fn clear_standing(&mut self) {
        for id in self.standing.drain(..) {
            self.table[id.0 as usize].standing = 0;
        }
    }

    /// Fills `fits` with the pending shapes that the node `serves`, that fit `free`, and that take
    /// no slot of a pool that is `full` on the node.
    pub(crate) fn fit(
        &mut self,
        free: &Resource,
        serves: impl Fn(&ShapeSize) -> bool,
        full: [bool; POOLS],
        now: Millis,
        fits: &mut FitList,
    ) {
        self.stamp += 1;
        fits.stamp = self.stamp;
        fits.shapes.clear();
        fits.mask = 0;
        for id in &self.standing {
            let shape = &mut self.table[id.0 as usize];
            if serves(&shape.size) && shape.size.resource.fits_in(free) {
                // It has room. If it lacks a slot, holding a node would not help.
                shape.unfit_since_ms = now;
                if shape.size.pool.is_some_and(|pool| full[pool]) {
                    continue;
                }
                shape.stamp = self.stamp;
                fits.shapes.push(*id);
                fits.mask |= 1 << id.bit();
            }
        }
    }

    /// Fills `fits` with one pending shape, whether or not there is room for it.
    pub(crate) fn pretend_fit(&mut self, id: ShapeId, fits: &mut FitList) {
        self.stamp += 1;
        fits.stamp = self.stamp;
        fits.shapes.clear();
        fits.shapes.push(id);
        fits.mask = 1 << id.bit();
        self.table[id.0 as usize].stamp = self.stamp;
    }

    /// Lists pending shapes without marking them, for a search that decides nothing.
    pub(crate) fn imagine(&self, fit: impl Fn(&ShapeSize) -> bool) -> FitList {
        let pending = self.standing.iter().copied();
        let shapes: Vec<ShapeId> = pending.filter(|id| fit(&self.get(*id).size)).collect();
        FitList {
            mask: shapes.iter().fold(0, |mask, id| mask | 1 << id.bit()),
            shapes,
            stamp: IMAGINED,
        }
    }

    /// Adds the other pending shapes of the same size and partition to `fits`, which `pretend_fit`
    /// filled for `id`. Leaves out shapes of a pool that is `full` on the node.
    pub(crate) fn add_alike(&mut self, id: ShapeId, full: [bool; POOLS], fits: &mut FitList) {
        let size = self.table[id.0 as usize].size;
        for other in self.standing.iter().filter(|other| **other != id) {
            let shape = &mut self.table[other.0 as usize];
            let alike = shape.size.resource == size.resource
                && shape.size.partition == size.partition
                && !shape.size.pool.is_some_and(|pool| full[pool]);
            if alike {
                shape.stamp = self.stamp;
                fits.shapes.push(*other);
                fits.mask |= 1 << other.bit();
            }
        }
    }

    /// Drops from `fits` what no longer fits: room only shrinks during a heartbeat.
    pub(crate) fn refit(&mut self, free: &Resource, full: [bool; POOLS], fits: &mut FitList) {
        let table = &mut self.table;
        let mut mask = 0;
        fits.shapes.retain(|id| {
            let shape = &mut table[id.0 as usize];
            let keep = shape.standing > 0
                && shape.size.resource.fits_in(free)
                && !shape.size.pool.is_some_and(|pool| full[pool]);
            if keep {
                mask |= 1 << id.bit();
            } else {
                shape.stamp = 0;
            }
            keep
        });
        fits.mask = mask;
    }

    /// Whether `id` is in `fits`, in one comparison unless they are imagined.
    pub(crate) fn is_fit(&self, id: ShapeId, fits: &FitList) -> bool {
        match fits.stamp {
            IMAGINED => fits.shapes.contains(&id),
            stamp => self.table[id.0 as usize].stamp == stamp,
        }
    }
}

/// Which shapes are present below a node of the tree of shares.
#[derive(Debug)]
pub(crate) struct ShapeMask {
    mask: u128,
    counts: Box<[u32; MASK_BITS as usize]>,
}

impl Default for ShapeMask {
    fn default() -> ShapeMask {
        ShapeMask {
            mask: 0,
            counts: Box::new([0; MASK_BITS as usize]),
        }
    }
}

impl ShapeMask {
    /// One bit per shape, or per several.
    pub(crate) fn mask(&self) -> u128 {
        self.mask
    }

    /// Forgets all shapes.
    pub(crate) fn clear(&mut self) {
        if self.mask != 0 {
            (self.mask, *self.counts) = (0, [0; MASK_BITS as usize]);
        }
    }

    /// Counts a leaf that has the shape.
    pub(crate) fn add(&mut self, shape: ShapeId) {
        self.counts[shape.bit() as usize] += 1;
        self.mask |= 1 << shape.bit();
    }

    /// Counts a leaf that had the shape.
    pub(crate) fn remove(&mut self, shape: ShapeId) {
        let count = &mut self.counts[shape.bit() as usize];
        *count -= 1;
        if *count == 0 {
            self.mask &= !(1 << shape.bit());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: [bool; POOLS] = [false; POOLS];

    fn size(memory_mb: i64, partition: u32, am: bool) -> ShapeSize {
        ShapeSize {
            resource: Resource::new(memory_mb, 1),
            partition: PartitionId(partition),
            am,
            kind: Kind::Map,
            pool: Some(0),
        }
    }

    #[test]
    fn shapes_are_shared_and_their_ids_come_back() {
        let mut shapes = Shapes::default();
        let small = shapes.acquire(size(1024, 0, false));
        assert_eq!(shapes.acquire(size(1024, 0, false)), small);
        let am = shapes.acquire(size(1024, 0, true));
        assert_ne!(am, small);
        shapes.release(small);
        shapes.release(small);
        assert_eq!(shapes.acquire(size(2048, 0, false)), small);
    }

    #[test]
    fn a_node_sees_the_pending_shapes_that_fit_it_and_no_others() {
        let mut shapes = Shapes::default();
        let small = shapes.acquire(size(1024, 0, false));
        let large = shapes.acquire(size(8192, 0, false));
        let labelled = shapes.acquire(size(1024, 1, false));
        let idle = shapes.acquire(size(512, 0, false));
        for id in [small, large, labelled] {
            shapes.enter(id, 0);
        }
        let mut fits = FitList::default();
        shapes.fit(
            &Resource::new(8192, 2),
            |size| size.partition == PartitionId(0),
            OPEN,
            1,
            &mut fits,
        );
        assert_eq!(fits.shapes, [small, large]);
        assert!(!shapes.is_fit(labelled, &fits) && !shapes.is_fit(idle, &fits));
        shapes.refit(&Resource::new(4096, 1), OPEN, &mut fits);
        assert_eq!(fits.shapes, [small]);
        assert!(shapes.is_fit(small, &fits) && !shapes.is_fit(large, &fits));
        shapes.refit(&Resource::new(4096, 1), [true, false], &mut fits);
        assert_eq!(fits.shapes, [], "its pool is full");
    }
}
