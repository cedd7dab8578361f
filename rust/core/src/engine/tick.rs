//! Computes on each tick what heartbeats do not: demands, entitlements, headrooms. Entitlements are
//! linear in queues, headrooms in jobs. Reads the asks only of jobs that changed, and of those that
//! ask for several labels where labels have trees of their own.

use super::{Engine, Subject};
use crate::config::By;
use crate::model::change::Change;
use crate::model::cluster::Node;
use crate::model::job::Job;
use crate::model::noted::{Tell, keeps_reduces};
use crate::model::share_tree::{ShareNode, ShareTree};
use crate::words::event::{Decision, Event};
use crate::words::ids::{JobId, Millis, PartitionId, QueueId};
use crate::words::keys::ShareNodeId;
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;

/// How many renewals between ticks may follow each other, and the time after which one more may.
const RENEWALS_MAX: Millis = 16;
const RENEWAL_MS: Millis = 50;

impl Engine {
    pub(super) fn tick(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        self.plant_tick();
        self.count_slots();
        self.tell(|_| Some(Change::Tick));
        self.settle();
        self.entitle();
        self.review_limits();
        self.review_promises();
        self.reserve_for_unfit();
        self.reclaim(decisions_max, decisions);
        self.preempt(decisions_max, decisions);
        self.tell_headrooms(decisions_max, decisions);
        self.note_waits();
        self.record_predictions();
    }

    /// Renews late entitlements before a search for something that fits: a node came or changed, or
    /// a queue began to want something. Limits that are a part of the share then hold at once, not
    /// from the next tick. In a storm of registrations, or where queues ask and withdraw in turn,
    /// that is bounded in a time: every renewal looks at all queues.
    pub(super) fn renew_entitlements(&mut self) {
        let from_ms = self.renewals_ms.max(self.now);
        if self.entitled_late && from_ms - self.now < RENEWALS_MAX * RENEWAL_MS {
            self.renewals_ms = from_ms + RENEWAL_MS;
            self.count_slots();
            self.settle();
            self.entitle();
        }
    }

    /// Computes demands from the asks, entitlements from the demands, and the order of siblings.
    pub(super) fn entitle(&mut self) {
        self.entitled_late = false;
        self.follow_capacity();
        let mut trees = std::mem::take(&mut self.partitions);
        self.tree.capacity = self.capacity_of(PartitionId::DEFAULT);
        for tree in once(&mut self.tree).chain(trees.values_mut()) {
            tree.dominant = self.setup.config.dominant;
            tree.memory_only = self.setup.config.memory_only;
            tree.clear_demands();
        }
        self.renew_notes();
        let unlabelled = trees.is_empty().then_some(PartitionId::DEFAULT);
        let wants = self.cluster.noted().wants().iter();
        for want in wants.filter(|want| !want.amount.is_zero()) {
            // Where labels have trees of their own, an ask counts in that of its label.
            let mut count = |label: PartitionId, amount: Resource| {
                let tree = trees.get_mut(&label).unwrap_or(&mut self.tree);
                tree.node_mut(want.leaf).demand += amount;
            };
            match want.label.or(unlabelled) {
                Some(label) => count(label, want.amount),
                None => {
                    let job = self.cluster.job(want.job).expect("it wants something");
                    job.wanted()
                        .for_each(|(label, amount)| count(label, amount));
                }
            }
        }
        debug_assert!(self.demands_are_right(&trees), "the jobs' own asks say so");
        let keys = &*self.share;
        for tree in once(&mut self.tree).chain(trees.values_mut()) {
            tree.add_up_demands();
            let capacity = tree.capacity;
            keys.entitle(tree, &capacity);
            tree.rekey_all(keys, &capacity);
            tree.note_due();
        }
        self.partitions = trees;
    }

    /// Whether each leaf has the demand of its jobs. For tests.
    fn demands_are_right(&self, trees: &BTreeMap<PartitionId, ShareTree>) -> bool {
        let mut demands: BTreeMap<(PartitionId, ShareNodeId), Resource> = BTreeMap::new();
        for job in self.cluster.jobs() {
            for (label, amount) in job.wanted() {
                let label = Some(label).filter(|label| trees.contains_key(label));
                let at = (label.unwrap_or(PartitionId::DEFAULT), job.leaf);
                *demands.entry(at).or_default() += amount;
            }
        }
        demands.iter().all(|((label, leaf), demand)| {
            let tree = trees.get(label).unwrap_or(&self.tree);
            tree.node(*leaf).demand == *demand
        })
    }

    /// Brings up to date what is noted of jobs. A panic over one of them is blamed on it.
    fn renew_notes(&mut self) {
        let (before, subject) = (self.subject.get(), &self.subject);
        self.cluster
            .renew_notes(|job| subject.set(Some(Subject::Job(job))));
        self.subject.set(before);
    }

    fn tell_headrooms(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        self.renew_notes();
        let mut rooms = Vec::new();
        let from = std::mem::take(&mut self.headroom_from);
        let jobs = self.cluster.job_ids();
        let (start, end) = (jobs.partition_point(|job| job.0 < from), jobs.len());
        for at in (start..end).chain(0..start) {
            let id = self.cluster.job_ids()[at];
            let tell = *self.cluster.noted().tell(id).expect("notes were renewed");
            self.subject.set(Some(Subject::Job(id)));
            let headroom = match self.room_of_leaf(&tell, &mut rooms) {
                Some(room) => room.component_max(&tell.least),
                None => self.headroom(self.cluster.job(id).expect("it has a note")),
            };
            debug_assert_eq!(
                Some(headroom),
                self.cluster.job(id).map(|job| self.headroom(job)),
                "the short way leads to the same"
            );
            self.subject.set(None);
            if tell.told == Some(headroom) {
                continue;
            }
            if !self.tell_of_headroom(id, headroom, decisions_max, decisions) {
                // The next tick resumes here, so that every job has its turn.
                self.headroom_from = id.0;
                return;
            }
        }
    }

    /// `headroom` where it is the same for all jobs of a leaf that ask for nodes of one label,
    /// apart from what a job needs for its reduces. `rooms` keeps it by leaf, of one label each.
    fn room_of_leaf(
        &self,
        tell: &Tell,
        rooms: &mut Vec<Option<(PartitionId, Resource)>>,
    ) -> Option<Resource> {
        let label = tell.label?;
        if self.users.are_limited() {
            return None;
        }
        rooms.resize(self.tree.len(), None);
        let kept = &mut rooms[tell.leaf.index()];
        match *kept {
            Some((of, room)) if of == label => Some(room),
            _ => {
                let free = self.free_on(label);
                let room = limited(free, self.tree_of(label), tell.leaf);
                let room = self.in_steps(tell.leaf, &room);
                *kept = Some((label, room));
                Some(room)
            }
        }
    }

    /// Tells a job its headroom if it has changed. Returns false, and tells nothing, if there is no
    /// room for another decision.
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
        job.headroom == Some(headroom)
            || self.tell_of_headroom(id, headroom, decisions_max, decisions)
    }

    fn tell_of_headroom(
        &mut self,
        id: JobId,
        headroom: Resource,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        if decisions.len() >= decisions_max {
            self.cut = true;
            return false;
        }
        self.cluster.set_headroom(id, headroom);
        decisions.push(Decision::Headroom {
            job: id,
            resource: headroom,
        });
        true
    }

    /// Notes the job whose container started or ended.
    pub(super) fn note_news(&mut self, event: &Event) {
        if let Event::ContainerCompleted { job, .. }
        | Event::Ack { job, .. }
        | Event::Nack { job, .. } = *event
            && self.news.last() != Some(&job)
        {
            self.news.push(job);
        }
    }

    /// Tells jobs with news the headroom without which their masters would kill reduces before the
    /// next tick. Runs after a heartbeat, an offer or a tick, which end a host's frame: the answer
    /// that brings an ApplicationMaster the news then brings it the headroom too. Not with the news
    /// itself: a job may be gone some events later. Not at the end of a step: it must not matter
    /// where a host cuts steps.
    pub(super) fn keep_reduces(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        // Taken out of self, and put back for its memory and with the jobs still to be told.
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

    /// The room that a job may still get: free on nodes that it may use, within its queues' limits.
    /// Where queues compare as in YARN's Fair Scheduler, within the share of the leaf; where a leaf
    /// limits users as its Capacity Scheduler does, as `headroom_of_user` has it. Else in
    /// multiples of the smallest container, because an ApplicationMaster plans again on every
    /// change.
    fn headroom(&self, job: &Job) -> Resource {
        let labels = job.labels().collect();
        if !self.partitioned {
            let free = || self.free_for(job, &labels);
            if let Some(room) = self.headroom_of_user(job, PartitionId::DEFAULT, free) {
                let room = self.bounded(room);
                return room.component_max(&keeps_reduces(job));
            }
        }
        let room = self.in_steps(job.leaf, &self.room_for(job, labels));
        room.component_max(&keeps_reduces(job))
    }

    /// The part of a room that jobs of a leaf are told.
    fn in_steps(&self, leaf: ShareNodeId, room: &Resource) -> Resource {
        let leaf = self.tree.node(leaf);
        if leaf.is_stock_fair() {
            return self.bounded(of_share(leaf, self.divides_all_types(leaf.queue), room));
        }
        let step = &self.setup.minimum_allocation;
        let steps = Resource(std::array::from_fn(|i| room[i] - room[i] % step[i].max(1)));
        self.bounded(steps)
    }

    /// Bounds a headroom of vcores that limit no node: as many as its memory holds smallest
    /// containers, so that an ApplicationMaster that counts vcores asks for all of it.
    fn bounded(&self, room: Resource) -> Resource {
        if !self.setup.config.memory_only {
            return room;
        }
        let step = &self.setup.minimum_allocation;
        let containers = room.memory_mb() / step.memory_mb().max(1);
        let vcores = containers.saturating_mul(step.vcores().max(1));
        Resource::new(room.memory_mb(), room.vcores().min(vcores))
    }

    /// Whether applications of a leaf share by dominant resource, so that in YARN's Fair Scheduler
    /// its headroom and its starvation go by all types instead of memory.
    pub(super) fn divides_all_types(&self, leaf: QueueId) -> bool {
        let queue = self.cluster.queues.get(leaf);
        queue.is_some_and(|queue| queue.config.leaf_order.by == By::Drf)
    }

    /// The room of a job within the limits of its queues and its user: on the nodes with the labels
    /// that it asks for, or asked for last. Where labels have limits of their own, the sum of what
    /// each leaves.
    fn room_for(&self, job: &Job, labels: BTreeSet<PartitionId>) -> Resource {
        let of_user = |room: Resource, label| match self.user_bound(job, label, false) {
            Some(user) => {
                let left = user.limit.minus_or_zero(&user.used);
                room.component_min(&self.cluster.compared(&left))
            }
            None => room,
        };
        if !self.partitioned {
            let room = limited(self.free_for(job, &labels), &self.tree, job.leaf);
            return of_user(room, PartitionId::DEFAULT);
        }
        labels.into_iter().fold(Resource::ZERO, |sum, label| {
            let free = self.free_for(job, &BTreeSet::from([label]));
            let room = limited(free, self.tree_of(label), job.leaf);
            let of_capacity = self.headroom_of_user(job, label, || free);
            sum + of_capacity.unwrap_or_else(|| of_user(room, label))
        })
    }

    /// The free room on nodes with a label.
    fn free_on(&self, label: PartitionId) -> Resource {
        let room = self.cluster.label_rooms().get(&label);
        room.map_or(Resource::ZERO, |room| self.cluster.compared(&room.free()))
    }

    /// The free room on nodes with some labels, without the nodes that a job has blacklisted.
    fn free_for(&self, job: &Job, labels: &BTreeSet<PartitionId>) -> Resource {
        let rooms = labels.iter().map(|label| self.free_on(*label));
        let mut free = rooms.fold(Resource::ZERO, |sum, room| sum + room);
        for place in &job.blacklist {
            let of_host = self.cluster.nodes_of(*place);
            let on_host = of_host.filter_map(|id| self.cluster.node(id));
            // All nodes are looked at for a rack alone, which hardly any job excludes.
            let of_rack = self
                .cluster
                .nodes()
                .filter(|_| self.cluster.is_rack(*place));
            let on_rack = of_rack.filter(|node| {
                node.facts.rack == *place && !job.blacklist.contains(&node.facts.host)
            });
            let counts =
                |node: &&Node| node.facts.schedulable && labels.contains(&node.facts.partition);
            for node in on_host.chain(on_rack).filter(counts) {
                let room = node.facts.capacity.minus_or_zero(&node.used);
                free = free.minus_or_zero(&room);
            }
        }
        free
    }
}

/// The part of a room within the limits of a leaf and of the queues above it.
fn limited(room: Resource, tree: &ShareTree, leaf: ShareNodeId) -> Resource {
    tree.path_up(leaf).fold(room, |room, at| {
        let node = tree.node(at);
        room.component_min(&node.max_share.minus_or_zero(&node.used))
    })
}

/// The part of `room` within a leaf's share, as YARN's Fair Scheduler tells it: memory, in a leaf
/// that divides `all_types` vcores too, and nothing of further types.
fn of_share(leaf: &ShareNode, all_types: bool, room: &Resource) -> Resource {
    let left = leaf.active_share.minus_or_zero(&leaf.used);
    let vcores = if all_types { left.vcores() } else { i64::MAX };
    Resource::new(
        room.memory_mb().min(left.memory_mb()),
        room.vcores().min(vcores),
    )
}
