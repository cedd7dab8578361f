//! The cluster as the engine knows it: nodes, jobs, asks, containers, and the totals over them.
//!
//! Only the engine changes it, and only for an event or a validated grant. Policies read it.
//! Everything is in dense tables by id; removed entries leave holes that their ids may fill again.

use super::job::Job;
use super::launch::LaunchOverhead;
use super::noted::{Noted, Want};
use super::queue::Queues;
use super::tally::Tallies;
use crate::config::{Config, Granted};
use crate::words::event::NodeFacts;
use crate::words::ids::{JobId, Millis, NodeId, PartitionId, PlaceId, QueueId};
use crate::words::keys::{POOLS, ShareNodeId};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A NodeManager and what is free on it.
#[derive(Clone, Debug)]
pub struct Node {
    /// The host's last report of it, `facts.free` included.
    pub facts: NodeFacts,
    /// The room that the engine may still hand out: the free room of the last report less the
    /// grants since. YARN frees a stopped container's room only when the node confirms the stop, so
    /// this can be less than capacity minus `used`. A type that does not count has no bound.
    pub free: Resource,
    /// All that it has, with no bound on a type that does not count.
    pub(crate) whole: Resource,
    /// The resources of the containers on it, grants in flight included.
    pub used: Resource,
    /// How many those are.
    pub containers: u32,
    /// How many of them take slots, by pool.
    pub running: [u32; POOLS],
    /// The part of it that workloads outside YARN use, in thousandths; `None` until reported.
    pub foreign_per_mille: Option<u32>,
    /// Whether its last report is late, by the host's clock.
    pub(crate) silent: bool,
    /// What offers have granted on it since its last report, and from when, where reports have
    /// limits.
    pub(crate) offered: Option<(Millis, Granted)>,
}

impl Node {
    /// A node without containers; `free` and `whole` as [`Cluster::compared`] gives them.
    pub(crate) fn new(facts: NodeFacts, free: Resource, whole: Resource) -> Node {
        Node {
            facts,
            free,
            whole,
            used: Resource::ZERO,
            containers: 0,
            running: [0; POOLS],
            foreign_per_mille: None,
            silent: false,
            offered: None,
        }
    }

    /// The free room of all types; below zero where a type that does not count is used up.
    pub(crate) fn free_of_all(&self) -> Resource {
        let left = self
            .facts
            .free
            .component_min(&(self.facts.capacity - self.used));
        let all = self.free.0.iter().zip(left.0);
        let mut free = self.free;
        for (amount, (compared, left)) in free.0.iter_mut().zip(all) {
            *amount = if *compared == i64::MAX {
                left
            } else {
                *compared
            };
        }
        free
    }
}

/// Capacity and usage of the schedulable nodes of one label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelRoom {
    pub(crate) capacity: Resource,
    pub(crate) used: Resource,
    /// What overcommitted nodes use beyond their capacity: others have no less room for it.
    pub(crate) beyond: Resource,
}

impl LabelRoom {
    /// The room that its nodes have left; an overcommitted one has none.
    pub(crate) fn free(&self) -> Resource {
        (self.capacity + self.beyond).minus_or_zero(&self.used)
    }
}

/// The engine's model of the cluster.
#[derive(Debug, Default)]
pub struct Cluster {
    nodes: Vec<Option<Node>>,
    /// The nodes of each host, by its place.
    hosts: BTreeMap<PlaceId, BTreeSet<NodeId>>,
    jobs: Vec<Option<Box<Job>>>,
    /// The jobs that there are, in order of id: few of many that have been.
    live: Vec<JobId>,
    /// Demand and headroom of each job, for ticks.
    noted: Noted,
    /// Sums of usage and demand by queue, for reports.
    tallies: Tallies,
    /// The queues and what they may use.
    pub queues: Queues,
    /// By place: whether a node has named it as its rack.
    racks: Vec<bool>,
    /// All schedulable capacity.
    pub capacity: Resource,
    label_rooms: BTreeMap<PartitionId, LabelRoom>,
    /// Whether other types than memory limit no node.
    memory_only: bool,
    /// The resources of the containers of all jobs.
    pub used: Resource,
    /// The resources and the number of the containers other than ApplicationMasters.
    pub tasks: (Resource, i64),
    /// How many nodes there are.
    pub node_count: u32,
    /// How many of them are schedulable.
    pub schedulable_count: u32,
    /// How many jobs there are.
    pub job_count: u32,
    /// Learns how much of a container's time its launch takes.
    pub overhead: LaunchOverhead,
}

/// See `Cluster::turn`.
pub(crate) type Turn = (Option<(Reverse<i32>, Millis)>, JobId);

impl Cluster {
    /// A cluster without nodes and jobs.
    pub fn new(config: &Config) -> Cluster {
        Cluster {
            queues: Queues::new(config),
            memory_only: config.memory_only,
            ..Cluster::default()
        }
    }

    /// The node, if it is there.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())?.as_ref()
    }

    /// The job, if it is there.
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(id.index())?.as_deref()
    }

    /// Every node, in order of id.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten()
    }

    /// Every job, in order of id.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.live.iter().filter_map(|id| self.job(*id))
    }

    /// The ids of all jobs, in order.
    pub(crate) fn job_ids(&self) -> &[JobId] {
        &self.live
    }

    /// Every job of the leaves that `wanted` picks, in order of id. Does not touch the
    /// others, unless they changed.
    pub(crate) fn jobs_of(
        &self,
        wanted: impl Fn(ShareNodeId) -> bool,
    ) -> impl Iterator<Item = &Job> {
        let leaf = |id: JobId| {
            let kept = self.noted.current(id).map(|want| want.leaf);
            kept.or_else(|| self.job(id).map(|job| job.leaf))
        };
        let picked = move |id: &&JobId| leaf(**id).is_some_and(&wanted);
        let ids = self.live.iter().filter(picked);
        ids.filter_map(|id| self.job(*id))
    }

    /// The demand of a job, for a look at all jobs. Does not touch the job unless it changed.
    pub(crate) fn want(&self, id: JobId) -> Option<Want> {
        let kept = self.noted.current(id).copied();
        kept.or_else(|| self.job(id).map(Want::of))
    }

    /// The queue of a job; reads its record only if it changed.
    pub(crate) fn queue_of(&self, id: JobId) -> Option<QueueId> {
        let kept = self.noted.current(id).map(|want| want.queue);
        kept.or_else(|| self.job(id).map(|job| job.facts.queue))
    }

    /// The rank of a job among waiting jobs; the smallest is admitted first. By priority, then by
    /// submission, whatever the order stage (FS-19).
    pub(crate) fn turn(&self, id: JobId) -> Turn {
        let facts = self.job(id).map(|job| job.facts);
        (facts.map(|f| (Reverse(f.priority), f.submitted_ms)), id)
    }

    /// One more than the largest id that a job ever had.
    pub fn jobs_end(&self) -> u32 {
        self.jobs.len() as u32
    }

    /// Whether a node has named `place` as its rack. All other places count as hosts.
    pub fn is_rack(&self, place: PlaceId) -> bool {
        self.racks.get(place.index()).copied().unwrap_or(false)
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.index())?.as_mut()
    }

    pub(crate) fn job_mut(&mut self, id: JobId) -> Option<&mut Job> {
        let job = self.jobs.get_mut(id.index())?.as_deref_mut()?;
        self.noted.change(id);
        self.tallies.change(id);
        Some(job)
    }

    fn change(&mut self, id: JobId) {
        self.noted.change(id);
        self.tallies.change(id);
    }

    /// The extracts of jobs for ticks, as of the last `renew_notes`.
    pub(crate) fn noted(&self) -> &Noted {
        &self.noted
    }

    /// Brings them up to date. `looked_at` is told of each job before.
    pub(crate) fn renew_notes(&mut self, looked_at: impl Fn(JobId)) {
        let jobs = &self.jobs;
        self.noted.renew(|id| {
            looked_at(id);
            jobs.get(id.index()).and_then(Option::as_deref)
        });
    }

    /// The sums of usage and demand by queue, as of the last `renew_tallies`.
    pub(crate) fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// Brings the sums up to date.
    pub(crate) fn renew_tallies(&mut self) {
        let jobs = &self.jobs;
        self.tallies
            .renew(|id| jobs.get(id.index()).and_then(Option::as_deref));
    }

    /// Notes the headroom that a job was told.
    pub(crate) fn set_headroom(&mut self, id: JobId, headroom: Resource) {
        if let Some(job) = self.jobs.get_mut(id.index()).and_then(Option::as_deref_mut) {
            job.headroom = Some(headroom);
            self.noted.told(id, headroom);
        }
    }

    /// An amount on a node as asks are compared with it: no bound on a type that does not count.
    pub(crate) fn compared(&self, amount: &Resource) -> Resource {
        match self.memory_only {
            true => amount.in_memory_alone(),
            false => *amount,
        }
    }

    /// An amount in the types that count; none of the others.
    pub(crate) fn counted(&self, amount: &Resource) -> Resource {
        match self.memory_only {
            true => Resource::new(amount.memory_mb(), 0),
            false => *amount,
        }
    }

    /// How many containers of a size the free room of a label's nodes would hold together.
    pub(crate) fn free_slots(&self, label: PartitionId, size: &Resource) -> u32 {
        let room = self.label_rooms.get(&label).map(LabelRoom::free);
        let room = self.compared(&room.unwrap_or_default());
        let asked = (0..RESOURCE_TYPES_MAX).filter(|i| size[*i] > 0);
        let most = asked.map(|i| room[i] / size[i]).min().unwrap_or(0);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Sets whether other types than memory limit no node.
    pub(crate) fn count_memory_only(&mut self, memory_only: bool) {
        self.memory_only = memory_only;
        let mut nodes = std::mem::take(&mut self.nodes);
        for node in nodes.iter_mut().flatten() {
            let free = node.free_of_all();
            // The last report is older than grants of what did not count.
            node.facts.free = node.facts.free.component_min(&free);
            node.free = self.compared(&free);
            node.whole = self.compared(&node.facts.capacity);
        }
        self.nodes = nodes;
    }

    /// Sets what a node has free.
    pub(crate) fn set_free(&mut self, id: NodeId, free: &Resource) {
        let free = self.compared(free);
        if let Some(node) = self.node_mut(id) {
            node.free = free;
        }
    }

    /// Takes room of a node for a container.
    pub(crate) fn take_room(&mut self, id: NodeId, resource: &Resource) {
        if let Some(node) = self.node(id) {
            let free = node.free - *resource;
            self.set_free(id, &free);
        }
    }

    /// Adds a node; returns false if the id is taken.
    pub(crate) fn add_node(&mut self, facts: NodeFacts) -> bool {
        if self.node(facts.node).is_some() {
            return false;
        }
        let (free, whole) = (self.compared(&facts.free), self.compared(&facts.capacity));
        put(
            &mut self.nodes,
            facts.node.index(),
            Node::new(facts, free, whole),
        );
        self.mark_rack(facts.rack);
        self.hosts.entry(facts.host).or_default().insert(facts.node);
        self.node_count += 1;
        self.count_capacity(&facts, Resource::ZERO, true);
        true
    }

    /// Replaces the facts of a node; returns false if it is unknown.
    pub(crate) fn change_node(&mut self, facts: NodeFacts) -> bool {
        let (free, whole) = (self.compared(&facts.free), self.compared(&facts.capacity));
        let Some(node) = self.node_mut(facts.node) else {
            return false;
        };
        let before = std::mem::replace(&mut node.facts, facts);
        (node.free, node.whole) = (free, whole);
        let used = node.used;
        self.mark_rack(facts.rack);
        if before.host != facts.host {
            self.forget_host(&before);
            self.hosts.entry(facts.host).or_default().insert(facts.node);
        }
        self.count_capacity(&before, used, false);
        self.count_capacity(&facts, used, true);
        true
    }

    pub(crate) fn remove_node(&mut self, id: NodeId) -> Option<Node> {
        let node = self.nodes.get_mut(id.index())?.take()?;
        self.node_count -= 1;
        self.forget_host(&node.facts);
        self.count_capacity(&node.facts, node.used, false);
        Some(node)
    }

    fn forget_host(&mut self, facts: &NodeFacts) {
        if let Some(nodes) = self.hosts.get_mut(&facts.host) {
            nodes.remove(&facts.node);
            if nodes.is_empty() {
                self.hosts.remove(&facts.host);
            }
        }
    }

    /// The nodes of a host, in order of number.
    pub(crate) fn nodes_of(&self, host: PlaceId) -> impl Iterator<Item = NodeId> {
        self.hosts.get(&host).into_iter().flatten().copied()
    }

    pub(crate) fn clear_slots(&mut self) {
        for node in self.nodes.iter_mut().flatten() {
            node.running = [0; POOLS];
        }
    }

    pub(crate) fn add_job(&mut self, job: Job) {
        let (id, index) = (job.facts.job, job.facts.job.index());
        if let Err(at) = self.live.binary_search(&id) {
            self.live.insert(at, id);
        }
        self.change(id);
        put(&mut self.jobs, index, Box::new(job));
        self.job_count += 1;
    }

    pub(crate) fn remove_job(&mut self, id: JobId) -> Option<Box<Job>> {
        let job = self.jobs.get_mut(id.index())?.take()?;
        if let Ok(at) = self.live.binary_search(&id) {
            self.live.remove(at);
        }
        self.change(id);
        self.job_count -= 1;
        Some(job)
    }

    /// Counts a node's capacity, unless it is not schedulable (draining, unhealthy).
    fn count_capacity(&mut self, facts: &NodeFacts, used: Resource, added: bool) {
        if !facts.schedulable {
            return;
        }
        let room = self.label_rooms.entry(facts.partition).or_default();
        if added {
            self.schedulable_count += 1;
            self.capacity += facts.capacity;
            room.capacity += facts.capacity;
            room.used += used;
            room.beyond += used.minus_or_zero(&facts.capacity);
        } else {
            self.schedulable_count -= 1;
            self.capacity -= facts.capacity;
            room.capacity -= facts.capacity;
            room.used -= used;
            room.beyond -= used.minus_or_zero(&facts.capacity);
        }
    }

    /// Adds what a container holds to its node's label, or subtracts it. The node has counted it.
    pub(crate) fn count_used(&mut self, id: NodeId, resource: &Resource, taken: bool) {
        let Some(node) = self.node(id).filter(|node| node.facts.schedulable) else {
            return;
        };
        let (used, capacity) = (node.used, node.facts.capacity);
        let room = self.label_rooms.entry(node.facts.partition).or_default();
        let (before, most) = if taken {
            room.used += *resource;
            (used - *resource, used)
        } else {
            room.used -= *resource;
            (used + *resource, used + *resource)
        };
        // Few nodes hold more than they have.
        if !most.fits_in(&capacity) {
            room.beyond += used.minus_or_zero(&capacity) - before.minus_or_zero(&capacity);
        }
    }

    /// Capacity and usage of the schedulable nodes, by label.
    pub(crate) fn label_rooms(&self) -> &BTreeMap<PartitionId, LabelRoom> {
        &self.label_rooms
    }

    fn mark_rack(&mut self, rack: PlaceId) {
        if self.racks.len() <= rack.index() {
            self.racks.resize(rack.index() + 1, false);
        }
        self.racks[rack.index()] = true;
    }
}

/// Puts `value` at `index` of a table with holes, growing it as needed. Ids are dense, so the table
/// grows by what the host interned. The engine ignores stray numbers (`ID_MAX`).
fn put<T>(table: &mut Vec<Option<T>>, index: usize, value: T) {
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    table[index] = Some(value);
}
