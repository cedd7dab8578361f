//! Holds nodes for asks that are larger than the room that appears. Without holds, smaller asks
//! would take every bit of room as it appears, and a large one would wait for ever.
//!
//! Holds exist inside the engine only; YARN sees no reserved container. Four rules bound what
//! others lose:
//! - Only a part of a label's nodes is held at once; for a leaf below its share, as many as it has
//!   containers less than the share (`short.rs`).
//! - A hold ends when its node has gained no room for `hold_ms`.
//! - That time doubles with each gain, and after a hold in vain, up to `hold_max_ms`: tasks may be
//!   long.
//! - After a hold in vain, the node rests for as long as it was held.

use super::Engine;
use super::search::Pick;
use crate::backlog::{FitList, Reservation, ShapeSize};
use crate::model::cluster::Node;
use crate::words::event::Decision;
use crate::words::ids::{JobId, Millis, NodeId, PartitionId};
use crate::words::keys::{ShapeId, ShareNodeId};
use crate::words::resource::Resource;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The shortest rest of a node after a hold: a few reports (one a second by default), in which
/// whatever fits may fill it.
const REST_MS: Millis = 3_000;

/// How many nodes are tried in vain for a shape, and how many shapes have their turn in a tick.
const TRIED_MAX: usize = 64;
const SHAPES_MAX: usize = 64;

/// The rest of a node after a hold that led to nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    until_ms: Millis,
    /// Whether it has reported since: without a report no ask had a chance.
    reported: bool,
}

impl Engine {
    /// Returns whether the node stays held. Once it has the room that it is held for, grants the
    /// ask of that size that is now next, and ends the hold. That ask may have another shape, such
    /// as that of a master waiting for the room of a task. `fits` lists what fits the node, before
    /// and after.
    pub(super) fn serve_reservation(
        &mut self,
        id: NodeId,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
        fits: &mut FitList,
    ) -> bool {
        let Some(held) = self.reservations.get(&id).copied() else {
            return false;
        };
        let node = self.cluster.node(id).expect("the heartbeat found it");
        let full = self.full_pools(node);
        if !held.size.resource.fits_in(&self.open_room(node))
            || held.size.pool.is_some_and(|pool| full[pool])
        {
            return true;
        }
        if decisions.len() >= decisions_max {
            self.cut = true;
            return true;
        }
        self.reservations.remove(&id);
        self.tries.remove(&held.shape);
        self.backlog.shapes.pretend_fit(held.shape, fits);
        self.backlog.shapes.add_alike(held.shape, full, fits);
        // Limits may have changed since the hold was reviewed: then nothing is next.
        if let Some(pick) = self.next_that_fits(id, fits) {
            self.grant(id, pick, decisions);
        }
        let node = self.cluster.node(id).expect("the heartbeat found it");
        let full = self.full_pools(node);
        let partition = node.facts.partition;
        let own = |size: &ShapeSize| size.partition == partition;
        let free = self.open_room(node);
        let shapes = &mut self.backlog.shapes;
        shapes.fit(&free, own, full, self.now, fits);
        false
    }

    /// Reviews a hold: everything may have changed. It passes to the ask of its shape that is now
    /// next on the node. It ends if there is no such ask, or if no room came for `length_ms`.
    pub(super) fn review_hold(&mut self, id: NodeId) {
        let Some(mut held) = self.reservations.get(&id).copied() else {
            return;
        };
        let node = self.cluster.node(id).expect("holds of lost nodes are gone");
        let shape = self.backlog.shapes.get(held.shape);
        let stands = shape.size == held.size && shape.standing > 0;
        let usable = node.facts.schedulable
            && node.facts.partition == held.size.partition
            && held.size.resource.fits_in(&node.whole);
        let free = node.free;
        let next = match stands && usable {
            true => self.next_of_shape(id, held.shape),
            false => None,
        };
        let Some(next) = next else {
            return self.release(id, REST_MS);
        };
        (held.job, held.ask) = (next.job, next.ask);
        if !free.fits_in(&held.free) {
            // One task has ended here: wait for the next, however long they are.
            let longer_ms = self.longest_hold_ms().min(held.length_ms.saturating_mul(2));
            held.length_ms = held.length_ms.max(longer_ms);
            held.free = held.free.component_max(&free);
            held.until_ms = self.now + held.length_ms;
        }
        if held.until_ms <= self.now {
            let tries = self.tries.entry(held.shape).or_insert(0);
            *tries = tries.saturating_add(1);
            return self.release(id, (self.now - held.since_ms).max(REST_MS));
        }
        self.reservations.insert(id, held);
    }

    fn next_of_shape(&mut self, id: NodeId, shape: ShapeId) -> Option<Pick> {
        // The stamps that this leaves expire with the next heartbeat.
        let mut fits = FitList::default();
        self.backlog.shapes.pretend_fit(shape, &mut fits);
        self.next_that_fits(id, &fits)
    }

    /// The ask that is next on a node among those of the shapes in `fits`, as if they had room.
    /// Shares and orders have changed since the node was held.
    fn next_that_fits(&mut self, id: NodeId, fits: &FitList) -> Option<Pick> {
        self.renew_lines();
        let node = self.cluster.node(id)?;
        let mut nominated = Default::default();
        self.nominate(node, &mut nominated);
        self.search(node, fits, &nominated).run()
    }

    /// Holds nodes for each shape that no reporting node has fitted for `reserve_after_ms`: one for
    /// each container that is asked for, within the bound. Shapes with fewer holds in vain go
    /// first, then those that have waited longer. Runs on the tick because it looks at every node.
    pub(super) fn reserve_for_unfit(&mut self) {
        let now = self.now;
        let held: Vec<NodeId> = self.reservations.keys().copied().collect();
        held.into_iter().for_each(|id| self.review_hold(id));
        self.rests
            .retain(|_, rest| rest.until_ms > now || !rest.reported);
        self.reserve_for_short();
        let after_ms = self.setup.config.reserve_after_ms;
        let shapes = &self.backlog.shapes;
        let unfit_since = |id: &ShapeId| shapes.get(*id).unfit_since_ms;
        let is_unfit = |id: &ShapeId| now - unfit_since(id) >= after_ms;
        self.tries.retain(|id, _| shapes.get(*id).standing > 0);
        let mut unfit: Vec<ShapeId> = shapes.standing().to_vec();
        unfit.retain(is_unfit);
        if unfit.is_empty() {
            return;
        }
        let tries = |id: &ShapeId| self.tries.get(id).copied().unwrap_or(0);
        unfit.sort_by_key(|id| (tries(id), unfit_since(id), *id));
        unfit.truncate(SHAPES_MAX);
        unfit.retain(|id| self.needs_hold(*id));
        let mut wanted = self.containers_wanted(&unfit);
        let promised = self.promises().filter_map(|(_, promise)| {
            let ask = self.cluster.job(promise.job)?.ask(promise.ask)?;
            Some(ask.shape)
        });
        let held = self.reservations.values().map(|held| held.shape);
        for shape in held.chain(promised) {
            let wanted = wanted.entry(shape).or_insert(0);
            *wanted = wanted.saturating_sub(1);
        }
        for shape in unfit {
            let partition = self.backlog.shapes.get(shape).size.partition;
            let left = self.holds_left(partition);
            let wanted = wanted.get(&shape).copied().unwrap_or(0) as usize;
            self.reserve(shape, wanted.min(left), false);
        }
    }

    /// Whether others could take a shape's room bit by bit. The smallest of several sizes needs no
    /// hold: any room that comes is as good for it as for others.
    fn needs_hold(&self, shape: ShapeId) -> bool {
        let shapes = &self.backlog.shapes;
        let size = shapes.get(shape).size;
        let mut others = shapes.standing().iter().map(|id| shapes.get(*id).size);
        self.others_are_smaller(shape) || !others.any(|other| size.is_smaller(&other))
    }

    /// Whether an ask of a smaller size is pending.
    pub(super) fn others_are_smaller(&self, shape: ShapeId) -> bool {
        let shapes = &self.backlog.shapes;
        let size = shapes.get(shape).size;
        let mut others = shapes.standing().iter().map(|id| shapes.get(*id).size);
        others.any(|other| other.is_smaller(&size))
    }

    pub(super) fn longest_hold_ms(&self) -> Millis {
        let config = &self.setup.config;
        config.reserve_hold_max_ms.max(config.reserve_hold_ms)
    }

    /// How many more nodes of a label may be held.
    pub(super) fn holds_left(&self, partition: PartitionId) -> usize {
        let of_label = |node: &&Node| node.facts.partition == partition;
        let nodes = self.cluster.nodes().filter(of_label);
        let nodes = nodes.filter(|node| node.facts.schedulable).count();
        let most = (nodes as f64 * self.setup.config.reserve_nodes_max).ceil() as usize;
        let held = self.reservations.values();
        let held = held.filter(|held| held.size.partition == partition && !held.short);
        let held = held.count();
        most.max(1).saturating_sub(held)
    }

    /// How many containers of each of `shapes` are pending.
    fn containers_wanted(&self, shapes: &[ShapeId]) -> BTreeMap<ShapeId, u32> {
        let mut wanted: BTreeMap<ShapeId, u32> = shapes.iter().map(|id| (*id, 0)).collect();
        for ask in self.cluster.jobs().flat_map(|job| job.pending()) {
            if let Some(count) = wanted.get_mut(&ask.shape) {
                *count = count.saturating_add(ask.facts.count);
            }
        }
        wanted
    }

    /// Ends a hold that led to nothing. The node rests before the next hold for any shape, so that
    /// others get their chance. The room that the hold waited for may never come, such as that of
    /// the job's own ApplicationMaster.
    fn release(&mut self, id: NodeId, rest_ms: Millis) {
        self.reservations.remove(&id);
        let rest = Rest {
            until_ms: self.now + rest_ms,
            reported: false,
        };
        self.rests.insert(id, rest);
    }

    /// Ends the holds for a job.
    pub(super) fn release_job(&mut self, job: JobId) {
        let held = self.reservations.iter();
        let held = held.filter(|(_, held)| held.job == job);
        let ids: Vec<NodeId> = held.map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.release(id, REST_MS));
    }

    /// Notes that a node reported and is filled with whatever fits.
    pub(super) fn note_unheld(&mut self, id: NodeId) {
        if let Some(rest) = self.rests.get_mut(&id) {
            rest.reported = true;
        }
    }

    /// Holds up to `count` more nodes, each for the ask of a shape that is next there. Takes those
    /// with the most free memory of the nodes that are large enough and may serve it.
    pub(super) fn reserve(&mut self, shape: ShapeId, count: usize, short: bool) {
        if count == 0 {
            return;
        }
        let size = self.backlog.shapes.get(shape).size;
        let root = ShareNodeId::ROOT;
        let open = self.backlog.open_mask(root) & (1 << shape.bit()) != 0;
        let places = &self.backlog.places;
        let candidates = size.nodes(&self.cluster).filter(|node| {
            let facts = &node.facts;
            size.resource.fits_in(&node.whole)
                && !self.reservations.contains_key(&facts.node)
                && !self.rests.contains_key(&facts.node)
                && !self.promises.contains_key(&facts.node)
                && (open
                    || [facts.host, facts.rack]
                        .iter()
                        .any(|at| places.any_below(*at, root)))
        });
        let mut candidates: Vec<&Node> = candidates.collect();
        candidates.sort_by_key(|node| (Reverse(node.free.memory_mb()), node.facts.node));
        // A node that lacks only a slot needs no hold: any task that ends frees one.
        let slotless = |node: &&Node| {
            let full = size.pool.is_some_and(|pool| self.full_pools(node)[pool]);
            full && size.resource.fits_in(&node.free)
        };
        if candidates.first().is_none_or(slotless) {
            return;
        }
        // For a short queue, one with room needs none either: it serves the queue when it reports.
        candidates.retain(|node| !short || !size.resource.fits_in(&node.free));
        let ids: Vec<NodeId> = candidates.iter().map(|node| node.facts.node).collect();
        let (mut held, mut vain) = (0, 0);
        for id in ids {
            if held == count || vain == TRIED_MAX {
                return;
            }
            let Some(pick) = self.next_of_shape(id, shape) else {
                vain += 1;
                continue;
            };
            let tries = self.tries.get(&shape).copied().unwrap_or(0);
            let hold_ms = self.setup.config.reserve_hold_ms;
            let length_ms = hold_ms.saturating_mul(1 << tries.min(32));
            self.hold(id, pick, length_ms.min(self.longest_hold_ms()));
            if let Some(hold) = self.reservations.get_mut(&id) {
                hold.short = short;
            }
            held += 1;
        }
    }

    /// Holds a node for the picked ask, until no room has come for `length_ms`.
    pub(super) fn hold(&mut self, id: NodeId, pick: Pick, length_ms: Millis) {
        let node = self.cluster.node(id).expect("only nodes are held");
        let held = Reservation {
            job: pick.job,
            ask: pick.ask,
            shape: pick.shape,
            until_ms: self.now + length_ms,
            size: self.backlog.shapes.get(pick.shape).size,
            since_ms: self.now,
            length_ms,
            free: node.free,
            short: false,
        };
        let (job, until_ms) = (held.job.0, held.until_ms);
        log::debug!("node {} is held for job {job} until {until_ms}", id.0);
        self.reservations.insert(id, held);
    }

    /// The held nodes, each with its job and the size it is held for, then those with promised
    /// room, for reports and tests.
    pub fn held_nodes(&self) -> impl Iterator<Item = (NodeId, JobId, Resource)> {
        let held = self.reservations.iter();
        let held = held.map(|(node, held)| (*node, held.job, held.size.resource));
        let promised = self.promises();
        held.chain(promised.map(|(node, promise)| (node, promise.job, promise.size.resource)))
    }

    /// The free room on held nodes, and what is promised of others.
    pub(super) fn held_room(&self) -> Resource {
        let node = |id: &NodeId| self.cluster.node(*id);
        let held = self.reservations.keys().filter_map(node);
        let held = held.map(Node::free_of_all);
        let promised = self.promises.keys().filter_map(node);
        let promised = promised.filter(|node| !self.reservations.contains_key(&node.facts.node));
        let promised = promised.map(|node| {
            let promised = node.free - self.open_room(node);
            promised.component_min(&node.free_of_all())
        });
        let rooms = held.chain(promised);
        rooms.fold(Resource::ZERO, |sum, room| {
            sum + room.component_max(&Resource::ZERO)
        })
    }
}
