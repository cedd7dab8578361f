//! What is worked out as time passes, not per heartbeat: demands, entitlements, headrooms.
//! Linear in jobs and queues, twice a second.

use super::{Engine, Subject};
use crate::model::change::Change;
use crate::model::job::{Ask, Job};
use crate::words::event::{Decision, Event};
use crate::words::ids::{JobId, PartitionId};
use crate::words::kind::Kind;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use std::collections::BTreeSet;

impl Engine {
    pub(super) fn tick(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        self.plant_tick();
        self.count_slots();
        self.tell(|_| Some(Change::Tick));
        self.settle();
        self.entitle();
        self.reserve_for_unfit();
        self.reclaim(decisions_max, decisions);
        self.preempt(decisions_max, decisions);
        self.tell_headrooms(decisions_max, decisions);
        self.note_waits();
        self.record_predictions();
    }

    /// Before a search for something that fits: entitles again if the last time was before a node
    /// came or changed, or a queue began to want something. Limits that are a part of the share
    /// hold from then on, not from the next tick. A storm of registrations costs this once for
    /// each heartbeat that may grant something, and those that find nothing to grant nothing.
    pub(super) fn renew_entitlements(&mut self) {
        if self.entitled_late {
            self.count_slots();
            self.settle();
            self.entitle();
        }
    }

    /// Demands from the asks, then entitlements from the demands, then the order of siblings.
    pub(super) fn entitle(&mut self) {
        self.entitled_late = false;
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
            if !self.tell_headroom(*id, decisions_max, decisions) {
                // The next tick goes on where this one stopped, so that all get their turn.
                self.headroom_from = id.0;
                return;
            }
        }
    }

    /// False, and nothing is told, if there is no room for another decision.
    fn tell_headroom(
        &mut self,
        id: JobId,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        let job = self.cluster.job(id).expect("the caller has seen it");
        self.subject.set(Some(Subject::Job(id)));
        let headroom = self.headroom(job);
        self.subject.set(None);
        if job.headroom == Some(headroom) {
            return true;
        }
        if decisions.len() >= decisions_max {
            self.cut = true;
            return false;
        }
        self.cluster
            .job_mut(id)
            .expect("it was found above")
            .headroom = Some(headroom);
        decisions.push(Decision::Headroom {
            job: id,
            resource: headroom,
        });
        true
    }

    /// Notes whose containers have started or ended.
    pub(super) fn note_news(&mut self, event: &Event) {
        if let Event::ContainerCompleted { job, .. }
        | Event::Ack { job, .. }
        | Event::Nack { job, .. } = *event
            && self.news.last() != Some(&job)
        {
            self.news.push(job);
        }
    }

    /// After a heartbeat, with which hosts end their frames: tells those jobs what would else kill
    /// their reduces until the next tick, as the answer that brings an ApplicationMaster the news
    /// brings it the headroom too. Not with the news itself: a job may be gone some events later.
    /// Not at the end of a step: where steps are cut must not matter.
    pub(super) fn keep_reduces(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        // Taken out of self, and put back for its memory and with those that found no room.
        let mut news = std::mem::take(&mut self.news);
        news.retain(|id| {
            let kills = self.cluster.job(*id).is_some_and(|job| {
                let told = job.headroom.unwrap_or(Resource::ZERO);
                !keeps_reduces(job).fits_in(&told)
            });
            kills && !self.tell_headroom(*id, decisions_max, decisions)
        });
        self.news = news;
    }

    /// What a job may still get: what is free on nodes that it may use and within its queues'
    /// limits, in multiples of the smallest container, as an ApplicationMaster plans anew on
    /// every change.
    fn headroom(&self, job: &Job) -> Resource {
        let free = self.free_for(job);
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

    /// What is free on the nodes with the labels that a job asks for, or asked for last, less
    /// those that it has blacklisted.
    fn free_for(&self, job: &Job) -> Resource {
        let label = |ask: &Ask| ask.facts.partition;
        let mut labels: BTreeSet<PartitionId> = job.pending().map(label).collect();
        if labels.is_empty() {
            labels.extend(job.asks.iter().flatten().map(|ask| label(ask)));
        }
        if labels.is_empty() {
            labels.insert(PartitionId::DEFAULT);
        }
        let rooms = self.cluster.label_rooms();
        let rooms = labels.iter().filter_map(|label| rooms.get(label));
        let mut free = rooms.fold(Resource::ZERO, |sum, room| {
            sum + room.capacity.minus_or_zero(&room.used)
        });
        if !job.blacklist.is_empty() {
            let shunned = self.cluster.nodes().filter(|node| {
                let facts = &node.facts;
                facts.schedulable
                    && labels.contains(&facts.partition)
                    && job.blacklists(facts.host, facts.rack)
            });
            for node in shunned {
                let room = node.facts.capacity.minus_or_zero(&node.used);
                free = free.minus_or_zero(&room);
            }
        }
        free
    }
}

/// The headroom below which MapReduce's ApplicationMaster would kill its own reduces: with
/// reduces running, maps pending and none running, it must see room for a map beside the
/// reduces that it still asks for (`RMContainerAllocator.preemptReducesIfNeeded`). It looks at the
/// answer to the very call in which it asks for the map, so that must have been told before: from
/// when no map is pending, as the last that runs may fail. While others are pending beside more
/// than one that runs it kills nothing, and would plan too many reduces for what it is told.
/// Beside the last one it must be told, too: of its end the master may hear before it hears what
/// follows from that.
fn keeps_reduces(job: &Job) -> Resource {
    let pending = job.pending_of(Kind::Map) > 0;
    if job.running[Kind::Reduce as usize] == 0 || job.running[Kind::Map as usize] > 1 && pending {
        return Resource::ZERO;
    }
    let (mut map, mut reduce) = (Resource::ZERO, Resource::ZERO);
    let mut reduces = Resource::ZERO;
    for ask in job.asks.iter().flatten() {
        match job.kind(ask.facts.priority) {
            // Also of those that were served: their tasks may be asked for again.
            Kind::Map => map = map.component_max(&ask.facts.resource),
            Kind::Reduce => {
                reduce = reduce.component_max(&ask.facts.resource);
                reduces += ask.facts.resource.times(i64::from(ask.facts.count));
            }
            Kind::Other => {}
        }
    }
    // After a restart nothing may be known of the maps, but that they are hardly larger.
    let map = if map.is_zero() { reduce } else { map };
    map + reduces
}
