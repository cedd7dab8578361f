//! Holding a node for an ask that fits no room as it comes. Without that, smaller asks would
//! take every bit of room as it appears, and a large one would wait for ever.
//!
//! The node is held inside the engine only; YARN sees no reserved container. A hold is bounded
//! in time and there is at most one per shape, so that it delays others by a stated amount.

use super::Engine;
use super::search::Pick;
use crate::backlog::{FitList, ShapeId};
use crate::cluster::Standing;
use crate::event::Decision;
use crate::resource::Resource;
use crate::types::{AskId, JobId, Millis, NodeId};

/// After a hold that led to nothing, how long the node is not held again at the least: a few
/// reports (one a second by default), to be filled with what fits.
const REST_MS: Millis = 3_000;

/// A node that was held in vain and is not held again for the time being.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    until_ms: Millis,
    /// Whether it has reported since: without a report nobody had a chance.
    reported: bool,
}

/// A node that is held, for which ask, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    pub(super) job: JobId,
    pub(super) ask: AskId,
    pub(super) shape: ShapeId,
    pub(super) until_ms: Millis,
}

impl Engine {
    /// Whether the node is held. If it has room by now for what it is held for, the ask of that
    /// size that is next by now is granted and the hold ends; a hold that is too old, or for
    /// nothing any more, ends too. An ask of another shape may be next, such as that of a master
    /// that waits for the room of a task. `fits` is what fits the node, before and after.
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
        let (facts, shape) = (&node.facts, self.backlog.shapes.get(held.shape));
        let job = self.cluster.job(held.job);
        // Everything may have changed since the node was held.
        let wanted = job.and_then(|job| job.ask(held.ask)).is_some_and(|ask| {
            ask.standing != Standing::Out
                && ask.shape == held.shape
                && shape.size.partition == facts.partition
                && ask.may_run_on(facts.host, facts.rack)
        });
        let Some(job) = job.filter(|_| wanted && held.until_ms > self.now) else {
            self.release(id);
            return false;
        };
        let leaf = job.leaf;
        let size = &shape.size;
        let allowed = self.tree.within_limits(leaf, &size.resource)
            && (!size.am || self.tree.node(leaf).admits_am(&size.resource))
            && !size.pool.is_some_and(|pool| self.full_pools(node)[pool])
            && !job.blacklists(facts.host, facts.rack);
        if allowed && size.resource.fits_in(&node.free) {
            if decisions.len() >= decisions_max {
                self.cut = true;
                return true;
            }
            self.reservations.remove(&id);
            self.backlog.shapes.pretend_fit(held.shape, fits);
            let full = self.full_pools(self.cluster.node(id).expect("the heartbeat found it"));
            self.backlog.shapes.add_alike(held.shape, full, fits);
            let next = self.next_that_fits(id, fits);
            let pick = next.unwrap_or(Pick {
                shape: held.shape,
                job: held.job,
                ask: held.ask,
            });
            self.grant(id, pick, decisions);
            let node = self.cluster.node(id).expect("the heartbeat found it");
            let full = self.full_pools(node);
            self.backlog
                .shapes
                .fit(&node.free, node.facts.partition, full, self.now, fits);
            return false;
        }
        true
    }

    /// Whose turn it is on a node among the asks of the shapes in `fits`, if room for them were
    /// there: shares and orders have moved on since the node was held.
    fn next_that_fits(&mut self, id: NodeId, fits: &FitList) -> Option<Pick> {
        let node = self.cluster.node(id)?;
        let mut nominated = Default::default();
        self.nominate(node, &mut nominated);
        self.search(node, fits, &nominated).run()
    }

    /// Holds a node for each shape that has been pending for long without fitting any node that
    /// reported. Runs on the tick, as it looks at every node.
    pub(super) fn reserve_for_unfit(&mut self) {
        let now = self.now;
        self.release_where(|held| held.until_ms <= now);
        self.rests
            .retain(|_, rest| rest.until_ms > now || !rest.reported);
        let after_ms = self.setup.config.reserve_after_ms;
        let starved: Vec<ShapeId> = self
            .backlog
            .shapes
            .standing()
            .iter()
            .copied()
            .filter(|id| now - self.backlog.shapes.get(*id).unfit_since_ms >= after_ms)
            .filter(|id| !self.reservations.values().any(|held| held.shape == *id))
            .collect();
        for shape in starved {
            self.reserve(shape);
        }
    }

    /// Ends a hold that led to nothing. The node rests before it is held again, for whatever
    /// shape, so that others get their chance: what was waited for may never come, such as the
    /// room of the job's own ApplicationMaster.
    fn release(&mut self, id: NodeId) {
        self.reservations.remove(&id);
        let rest = Rest {
            until_ms: self.now + REST_MS,
            reported: false,
        };
        self.rests.insert(id, rest);
    }

    fn release_where(&mut self, ends: impl Fn(&Reservation) -> bool) {
        let ended = self.reservations.iter().filter(|(_, held)| ends(held));
        let ended: Vec<NodeId> = ended.map(|(id, _)| *id).collect();
        for id in ended {
            self.release(id);
        }
    }

    /// Ends the holds for a job.
    pub(super) fn release_job(&mut self, job: JobId) {
        self.release_where(|held| held.job == job);
    }

    /// A node reports and is filled with whatever fits.
    pub(super) fn note_unheld(&mut self, id: NodeId) {
        if let Some(rest) = self.rests.get_mut(&id) {
            rest.reported = true;
        }
    }

    /// Holds, for the ask of that shape that is next, the node with the most free memory among
    /// those that are large enough at all.
    fn reserve(&mut self, shape: ShapeId) {
        let (resource, partition, pool) = {
            let size = &self.backlog.shapes.get(shape).size;
            (size.resource, size.partition, size.pool)
        };
        let candidate = self
            .cluster
            .nodes()
            .filter(|node| node.facts.schedulable && node.facts.partition == partition)
            .filter(|node| resource.fits_in(&node.facts.capacity))
            .filter(|node| !self.reservations.contains_key(&node.facts.node))
            .filter(|node| !self.rests.contains_key(&node.facts.node))
            .max_by_key(|node| (node.free.memory_mb(), std::cmp::Reverse(node.facts.node)));
        let Some(node) = candidate else { return };
        // What lacks only a slot needs no hold: any task that ends frees one.
        if resource.fits_in(&node.free) && pool.is_some_and(|pool| self.full_pools(node)[pool]) {
            return;
        }
        let id = node.facts.node;
        // The marks that this leaves end with the next heartbeat.
        let mut fits = FitList::default();
        self.backlog.shapes.pretend_fit(shape, &mut fits);
        let Some(pick) = self.next_that_fits(id, &fits) else {
            return;
        };
        let until_ms = self.now + self.setup.config.reserve_hold_ms;
        log::debug!(
            "node {} is held for job {} until {until_ms}",
            id.0,
            pick.job.0
        );
        let held = Reservation {
            job: pick.job,
            ask: pick.ask,
            shape,
            until_ms,
        };
        self.reservations.insert(id, held);
    }

    /// What nodes are held for, for reports and tests.
    pub fn held_nodes(&self) -> impl Iterator<Item = (NodeId, JobId, Resource)> {
        self.reservations.iter().map(|(node, held)| {
            (
                *node,
                held.job,
                self.backlog.shapes.get(held.shape).size.resource,
            )
        })
    }
}
