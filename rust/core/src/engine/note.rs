//! Tells the stages what happened, and asks them again for answers that they declare stale.
//! Everything that changes what a stage may look at goes through here.

use super::{Engine, Subject};
use crate::model::change::{Change, Stale, pool};
use crate::model::cluster::Cluster;
use crate::model::job::{Container, Standing};
use crate::words::event::{JobCounters, TaskFacts};
use crate::words::ids::{AskId, ContainerKey, JobId, Locality, PartitionId, UserId};
use crate::words::keys::{OrderKey, POOLS, ShareNodeId, Tag};
use crate::words::kind::Kind;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use std::collections::BTreeMap;

impl Engine {
    /// Tells every stage of a change, if `change` finds its subject.
    pub(super) fn tell<F>(&mut self, change: F)
    where
        F: for<'a> FnOnce(&'a Cluster) -> Option<Change<'a>>,
    {
        self.tell_of(&(), |cluster, _| change(cluster));
    }

    /// Like `tell`, for something that the cluster no longer holds.
    pub(super) fn tell_of<T, F>(&mut self, gone: &T, change: F)
    where
        F: for<'a> FnOnce(&'a Cluster, &'a T) -> Option<Change<'a>>,
    {
        let Some(change) = change(&self.cluster, gone) else {
            return;
        };
        let world = world!(self);
        self.share.note(&change, &world, &mut self.stale);
        self.order.note(&change, &world, &mut self.stale);
        self.place.note(&change, &world, &mut self.stale);
        self.predictor.note(&change, &world);
    }

    /// Asks the stages again for stale answers. Runs before the next search and no earlier: an ask
    /// is followed by its rows, a task by more of its kind. Never at the end of a step: a host may
    /// cut events into steps anywhere.
    pub(super) fn settle(&mut self) {
        self.settle_users();
        if self.stale.is_empty() {
            return;
        }
        self.tell(|_| Some(Change::Settling));
        let mut stale = std::mem::take(&mut self.stale);
        stale.jobs.sort_unstable();
        stale.jobs.dedup();
        let before = self.subject.get();
        for job in stale.jobs.drain(..) {
            self.subject.set(Some(Subject::Job(job)));
            self.rekey(job);
        }
        self.subject.set(before);
        let capacity = self.capacity_of(PartitionId::DEFAULT);
        for leaf in stale.leaves.drain(..) {
            self.tree.rekey(&*self.share, &capacity, leaf);
        }
        if stale.shares {
            self.tree.rekey_all(&*self.share, &capacity);
            for tree in self.partitions.values_mut() {
                let capacity = tree.capacity;
                tree.rekey_all(&*self.share, &capacity);
            }
        }
        // Reuses the vectors. Asking again makes nothing stale.
        self.stale = Stale {
            shares: false,
            ..stale
        };
    }

    /// Tells the stages that a job changed, and asks for its keys again whatever they say.
    pub(super) fn job_changed(&mut self, id: JobId) {
        self.tell(|cluster| cluster.job(id).map(Change::JobChanged));
        self.stale.job(id);
    }

    /// Asks the stages for a job's keys, classes and admission again and moves its asks in the
    /// indexes. Levels of locality and their clocks stay as they are.
    pub(super) fn rekey(&mut self, id: JobId) {
        let Some(job) = self.cluster.job(id) else {
            return;
        };
        let keys = Kind::ALL.map(|kind| self.order.key(job, kind));
        let admitted = Kind::ALL.map(|kind| self.order.admits(job, kind));
        let mut tags: [Vec<Tag>; 3] = Default::default();
        let mut window = 0;
        if let Some(ranking) = self.place.ranking() {
            window = ranking.window(job);
            for kind in Kind::ALL {
                ranking.tags(job, kind, &mut tags[kind as usize]);
            }
        }
        let resorted = self.order.follows_usage(job.leaf) != job.unsorted;
        if keys != job.order_keys || window != job.window {
            self.keep_passed_over(id);
        }
        let job = self.cluster.job(id).expect("it was found above");
        if resorted || window != job.window || tags != job.tags {
            self.reclass(id, keys, tags, window);
        } else if keys != job.order_keys {
            let job = self.cluster.job_mut(id).expect("it was found above");
            job.order_keys = keys;
            self.backlog.rekey(job);
            if !job.unsorted {
                self.move_in_places(id);
            }
        }
        let job = self.cluster.job_mut(id).expect("it was found above");
        if std::mem::replace(&mut job.admitted, admitted) == admitted {
            return;
        }
        for ask in self.ask_ids(id) {
            let job = self.cluster.job(id).expect("it was found above");
            match job.ask(ask) {
                Some(found) if !job.is_due(found) => self.leave(id, ask),
                Some(_) => self.enter(id, ask),
                None => {}
            }
        }
    }

    /// Moves a job's asks to other classes, to another window, or to another way of sorting.
    fn reclass(&mut self, id: JobId, keys: [OrderKey; 3], tags: [Vec<Tag>; 3], window: u32) {
        let job = self.cluster.job(id).expect("the caller found it");
        let stands = |ask: &AskId| {
            let ask = job.ask(*ask);
            ask.is_some_and(|ask| ask.standing != Standing::Out)
        };
        let standing: Vec<AskId> = self.ask_ids(id).filter(stands).collect();
        for ask in &standing {
            self.list_in_lines(id, *ask, false);
        }
        let job = self.cluster.job_mut(id).expect("it was found above");
        (job.order_keys, job.tags, job.window) = (keys, tags, window);
        job.unsorted = self.order.follows_usage(job.leaf);
        for ask in &standing {
            self.list_in_lines(id, *ask, true);
        }
        self.move_in_places(id);
    }

    /// Counts the slots of each pool: as many a node as configured. If the configuration does not
    /// tell the kinds apart: as many containers of the mean size as the cluster holds, in its
    /// scarcest resource type.
    pub(super) fn count_slots(&mut self) {
        let before = self.slots;
        self.slots = self.slots_with(0, &Resource::ZERO);
        if self.slots != before {
            self.tell(|_| Some(Change::Nodes));
        }
    }

    /// Returns the slots of each pool if `nodes` more nodes joined, with `more` resources in total.
    pub(super) fn slots_with(&self, nodes: u32, more: &Resource) -> [u32; POOLS] {
        let nodes = self.cluster.schedulable_count + nodes;
        match self.setup.config.slots_per_node {
            Some(per_node) => per_node.map(|slots| slots.saturating_mul(nodes)),
            None => [
                self.shared_slots(nodes, &(self.cluster.capacity + *more)),
                0,
            ],
        }
    }

    /// Notes that the cluster has become larger or smaller.
    pub(super) fn nodes_changed(&mut self) {
        self.entitled_late = true;
        self.count_slots();
    }

    /// Notes that a leaf wants or has something. Entitlements computed without it are late.
    pub(super) fn note_wanting(&mut self, leaf: ShareNodeId, partition: PartitionId) {
        self.entitled_late |= self.tree_of(partition).node(leaf).demand.is_zero();
    }

    fn shared_slots(&self, nodes: u32, capacity: &Resource) -> u32 {
        let size = self.mean_size(nodes);
        let slots = |i: usize| capacity[i].max(0) / size[i].max(1);
        let whole = self.cluster.compared(capacity);
        let scarce = (0..RESOURCE_TYPES_MAX).filter(|i| size[*i] > 0 && whole[*i] < i64::MAX);
        scarce
            .map(slots)
            .min()
            .unwrap_or(0)
            .min(i64::from(u32::MAX)) as u32
    }

    /// The mean size of the running containers. Asks cost nothing, so they only fill the sample up
    /// to one container a node. The asks of each user weigh the same, however many they are: a
    /// million tiny asks on a busy cluster change no slots.
    fn mean_size(&self, nodes: u32) -> Resource {
        let (mut sum, mut count) = self.answered();
        let places = i64::from(nodes) - count;
        let mut asked: BTreeMap<UserId, (Resource, i64)> = BTreeMap::new();
        for job in self.cluster.jobs().filter(|_| places > 0) {
            for ask in job.pending().filter(|ask| !ask.facts.am) {
                let (sum, count) = asked.entry(job.facts.user).or_default();
                *sum += ask.facts.resource.times(i64::from(ask.facts.count));
                *count += i64::from(ask.facts.count);
            }
        }
        if !asked.is_empty() {
            let means = asked.values().map(|(sum, count)| sum.divided(*count));
            let means = means.fold(Resource::ZERO, |sum, mean| sum + mean);
            sum += means.times(places).divided(asked.len() as i64);
            count += places;
        }
        if count == 0 {
            self.setup.minimum_allocation
        } else {
            sum.divided(count)
        }
    }

    /// The resources and the number of containers other than ApplicationMasters; grants count once
    /// the host has answered them. Reads the books, once for each node that joins: on a large
    /// cluster all of them may register at once.
    pub(super) fn answered(&self) -> (Resource, i64) {
        let (mut sum, mut count) = self.cluster.tasks;
        for grant in self.in_flight.iter().filter(|grant| !grant.container.am) {
            sum -= grant.container.resource;
            count -= 1;
        }
        (sum, count)
    }

    /// The pool of a container of a job.
    pub(super) fn pool_of(&self, job: JobId, container: &Container) -> Option<usize> {
        let job = self.cluster.job(job)?;
        pool(
            &self.setup.config,
            job.kind(container.priority),
            container.am,
        )
    }

    /// Notes the progress of a running task, or the bytes of one whose container has ended.
    pub(super) fn note_task(&mut self, id: JobId, key: ContainerKey, facts: TaskFacts) {
        let now = self.now;
        let Some(job) = self.cluster.job_mut(id) else {
            return self.ignore("unknown job", &id);
        };
        let Some(container) = job.containers.get_mut(&key) else {
            return self.tell(|cluster| {
                let job = cluster.job(id)?;
                Some(Change::Outcome { job, key, facts })
            });
        };
        // The clock of the task's node may be wrong: not before the launch, and not in the future.
        let begun_ms = container.launched_ms.unwrap_or(container.started_ms);
        let since_ms = facts.executing_since_ms.map(|ms| ms.max(begun_ms).min(now));
        let facts = TaskFacts {
            executing_since_ms: since_ms,
            ..facts
        };
        container.set_task(facts, now);
        self.tell(|cluster| {
            let job = cluster.job(id)?;
            let container = job.containers.get(&key)?;
            let kind = job.kind(container.priority);
            Some(Change::Progress {
                job,
                kind,
                key,
                container,
            })
        });
    }

    /// Notes the counters of an ApplicationMaster. Only the master knows the tasks that ended
    /// before this engine was made; it then counts more done than ended or run here. Smaller
    /// differences are left to the containers, which report their own ends.
    pub(super) fn note_counters(&mut self, id: JobId, counters: JobCounters) {
        let Some(job) = self.cluster.job_mut(id) else {
            return self.ignore("unknown job", &id);
        };
        job.counters = Some(counters);
        for (kind, done) in counters.done.into_iter().enumerate() {
            if done > job.done[kind].saturating_add(job.running[kind]) {
                job.done[kind] = done;
            }
        }
        self.tell(|cluster| {
            let job = cluster.job(id)?;
            Some(Change::Counters { job, counters })
        });
    }

    /// Tells new stages of all jobs and containers.
    pub(super) fn tell_all(&mut self) {
        self.tell(|_| Some(Change::Reloaded));
        let jobs: Vec<JobId> = self.cluster.jobs().map(|job| job.facts.job).collect();
        for id in jobs {
            self.tell(|cluster| cluster.job(id).map(Change::JobAdded));
            let job = self.cluster.job(id).expect("the ids were just listed");
            let live = job.containers.values().copied();
            let in_flight = self.in_flight.iter().filter(|grant| grant.job == id);
            let containers: Vec<Container> =
                live.chain(in_flight.map(|grant| grant.container)).collect();
            for container in containers {
                self.tell(|cluster| {
                    let job = cluster.job(id)?;
                    Some(Change::Started {
                        job,
                        kind: job.kind(container.priority),
                        node: container.node,
                        am: container.am,
                        locality: Locality::OffSwitch,
                        started_ms: container.started_ms,
                    })
                });
            }
            self.stale.job(id);
        }
    }
}

/// No slots are known before the first node.
pub(super) const NO_SLOTS: [u32; POOLS] = [0; POOLS];
