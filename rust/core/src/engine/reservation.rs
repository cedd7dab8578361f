//! Holding a node for an ask that fits no room as it comes. Without that, smaller asks would
//! take every bit of room as it appears, and a large one would wait for ever.
//!
//! The node is held inside the engine only; YARN sees no reserved container. A hold is bounded
//! in time and there is at most one per shape, so that it delays others by a stated amount.

use super::Engine;
use super::search::{Pick, Search};
use crate::backlog::{FitList, ShapeId};
use crate::cluster::Standing;
use crate::event::Decision;
use crate::resource::Resource;
use crate::share::ShareNodeId;
use crate::types::{AskId, JobId, Millis, NodeId};

/// After a hold that led to nothing, how long a shape is without one at the least: long enough
/// for every node to report (once a second by default) and be filled with what fits.
const REST_MS: Millis = 3_000;

/// A node that is held, for which ask, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    pub(super) job: JobId,
    pub(super) ask: AskId,
    pub(super) shape: ShapeId,
    pub(super) until_ms: Millis,
}

impl Engine {
    /// Whether the node is held. If it has room by now for what it is held for, that is granted
    /// and the hold ends; a hold that is too old, or for nothing any more, ends too.
    pub(super) fn serve_reservation(
        &mut self,
        id: NodeId,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
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
                && shape.partition == facts.partition
                && ask.may_run_on(facts.host, facts.rack)
        });
        let Some(job) = job.filter(|_| wanted && held.until_ms > self.now) else {
            self.release(id, held);
            return false;
        };
        let leaf = job.leaf;
        let allowed = self.tree.within_limits(leaf, &shape.resource)
            && (!shape.am || self.tree.node(leaf).admits_am(&shape.resource))
            && !job.blacklists(facts.host, facts.rack);
        if allowed && shape.resource.fits_in(&node.free) {
            if decisions.len() >= decisions_max {
                self.cut = true;
                return true;
            }
            self.reservations.remove(&id);
            let pick = Pick {
                shape: held.shape,
                job: held.job,
                ask: held.ask,
            };
            self.grant(id, pick, decisions);
            return false;
        }
        true
    }

    /// Holds a node for each shape that has been pending for long without fitting any node that
    /// reported. Runs on the tick, as it looks at every node.
    pub(super) fn reserve_for_unfit(&mut self) {
        let now = self.now;
        let ended = self
            .reservations
            .iter()
            .filter(|(_, held)| held.until_ms <= now);
        let ended: Vec<(NodeId, Reservation)> = ended.map(|(id, held)| (*id, *held)).collect();
        for (id, held) in ended {
            self.release(id, held);
        }
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

    /// Ends a hold that led to nothing. If it was its time, the shape waits before a node is held for it again, so
    /// that others get their chance: what it waits for may never come, such as the room of its
    /// own ApplicationMaster.
    fn release(&mut self, id: NodeId, held: Reservation) {
        self.reservations.remove(&id);
        if held.until_ms <= self.now {
            self.backlog.shapes.rest(held.shape, self.now + REST_MS);
        }
    }

    /// Holds, for the ask of that shape that is next, the node with the most free memory among
    /// those that are large enough at all.
    fn reserve(&mut self, shape: ShapeId) {
        let (resource, partition) = {
            let shape = self.backlog.shapes.get(shape);
            (shape.resource, shape.partition)
        };
        let candidate = self
            .cluster
            .nodes()
            .filter(|node| node.facts.schedulable && node.facts.partition == partition)
            .filter(|node| resource.fits_in(&node.facts.capacity))
            .filter(|node| !self.reservations.contains_key(&node.facts.node))
            .max_by_key(|node| (node.free.memory_mb(), std::cmp::Reverse(node.facts.node)));
        let Some(node) = candidate else { return };
        let id = node.facts.node;
        // The search is told that exactly this shape fits; its marks end with the next heartbeat.
        let mut fits = FitList::default();
        self.backlog.shapes.pretend_fit(shape, &mut fits);
        let mut search = Search {
            cluster: &self.cluster,
            tree: &self.tree,
            backlog: &self.backlog,
            node,
            fits: &fits,
            now: self.now,
            passed_over: None,
        };
        let Some(pick) = search.find(ShareNodeId::ROOT) else {
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
                self.backlog.shapes.get(held.shape).resource,
            )
        })
    }
}
