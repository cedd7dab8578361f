//! What is worked out as time passes, not per heartbeat: demands, entitlements, headrooms.
//! Linear in jobs and queues, twice a second.

use super::Engine;
use crate::change::Change;
use crate::cluster::{Job, Kind};
use crate::event::Decision;
use crate::resource::{RESOURCE_TYPES_MAX, Resource};
use crate::types::JobId;

impl Engine {
    pub(super) fn tick(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        self.count_slots();
        self.tell(|_| Some(Change::Tick));
        self.settle();
        self.entitle();
        self.reserve_for_unfit();
        self.reclaim(decisions_max, decisions);
        self.preempt(decisions_max, decisions);
        self.tell_headrooms(decisions_max, decisions);
    }

    /// Demands from the asks, then entitlements from the demands, then the order of siblings.
    pub(super) fn entitle(&mut self) {
        for id in self.tree.ids() {
            self.tree.node_mut(id).demand = Resource::ZERO;
        }
        for job in self.cluster.jobs().filter(|job| job.runnable) {
            let pending = job.pending().fold(Resource::ZERO, |sum, ask| {
                sum + ask.facts.resource.times(i64::from(ask.facts.count))
            });
            self.tree.node_mut(job.leaf).demand += pending;
        }
        let ids: Vec<_> = self.tree.ids().collect();
        for id in ids.iter().rev() {
            let node = self.tree.node_mut(*id);
            if node.children.is_empty() {
                node.demand += node.used;
            }
            let (demand, parent) = (node.demand, node.parent);
            if let Some(parent) = parent {
                self.tree.node_mut(parent).demand += demand;
            }
        }
        self.share.entitle(&mut self.tree, &self.cluster.capacity);
        self.tree.rekey_all(&*self.share, &self.cluster.capacity);
    }

    fn tell_headrooms(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        let jobs: Vec<JobId> = self.cluster.jobs().map(|job| job.facts.job).collect();
        let start = jobs.partition_point(|job| job.0 < self.headroom_from);
        self.headroom_from = 0;
        for id in jobs[start..].iter().chain(&jobs[..start]) {
            let job = self.cluster.job(*id).expect("the ids were just listed");
            let headroom = self.headroom(job);
            if job.headroom == Some(headroom) {
                continue;
            }
            if decisions.len() >= decisions_max {
                // The next tick goes on where this one stopped, so that all get their turn.
                self.headroom_from = id.0;
                self.cut = true;
                return;
            }
            self.cluster
                .job_mut(*id)
                .expect("the ids were just listed")
                .headroom = Some(headroom);
            decisions.push(Decision::Headroom {
                job: *id,
                resource: headroom,
            });
        }
    }

    /// What a job may still get: what is free in the cluster and within its queues' limits, in
    /// multiples of the smallest container, as an ApplicationMaster plans anew on every change.
    fn headroom(&self, job: &Job) -> Resource {
        let free = self.cluster.capacity.minus_or_zero(&self.cluster.used);
        let room = self.tree.path_up(job.leaf).fold(free, |room, at| {
            let node = self.tree.node(at);
            room.component_min(&node.max_share.minus_or_zero(&node.used))
        });
        let step = &self.setup.minimum_allocation;
        let mut room = room;
        for i in 0..RESOURCE_TYPES_MAX {
            room.0[i] -= room[i] % step[i].max(1);
        }
        room.component_max(&keeps_reduces(job))
    }
}

/// The headroom below which MapReduce's ApplicationMaster would kill its own reduces: with
/// reduces running, maps pending and none running, it must see room for a map beside the
/// reduces that it still asks for (`RMContainerAllocator.preemptReducesIfNeeded`).
fn keeps_reduces(job: &Job) -> Resource {
    if job.running[Kind::Reduce as usize] == 0 || job.running[Kind::Map as usize] > 0 {
        return Resource::ZERO;
    }
    let mut map = Resource::ZERO;
    let mut reduces = Resource::ZERO;
    for ask in job.pending() {
        match job.kind(ask.facts.priority) {
            Kind::Map => map = map.component_max(&ask.facts.resource),
            Kind::Reduce => reduces += ask.facts.resource.times(i64::from(ask.facts.count)),
            Kind::Other => {}
        }
    }
    if map.is_zero() {
        Resource::ZERO
    } else {
        map + reduces
    }
}
