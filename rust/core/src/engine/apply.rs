//! Events, one by one: each is checked against the model and then applied to it.

use super::{Counted, Engine, ID_MAX, InFlight, REFUSED_MS};
use crate::cluster::{Ask, Container, Job, Row, Standing};
use crate::event::{AskFacts, ContainerFacts, Decision, Event, JobFacts, NodeFacts, Refusal};
use crate::order::OrderKey;
use crate::resource::Resource;
use crate::types::{AskId, ContainerKey, JobId, Locality, NodeId, PlaceId, QueueId};
use std::collections::BTreeMap;

impl Engine {
    pub(super) fn apply(
        &mut self,
        event: &Event,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
    ) {
        match event {
            Event::NodeAdded(facts) => self.add_node(facts),
            Event::NodeChanged(facts) => self.change_node(facts),
            Event::NodeRemoved(node) => self.remove_node(*node),
            Event::Heartbeat { node, free } => {
                self.heartbeat(*node, *free, decisions_max, decisions);
            }
            Event::JobAdded(facts) => self.add_job(facts),
            Event::JobRemoved(job) => self.remove_job(*job),
            Event::JobMoved { job, queue } => self.move_job(*job, *queue),
            Event::JobPriority { job, priority } => self.set_priority(*job, *priority),
            Event::JobReset(job) => self.reset_job(*job),
            Event::Blacklist { job, place, added } => self.blacklist(*job, *place, *added),
            Event::Ask(facts) => self.ask(facts),
            Event::AskRow {
                job,
                ask,
                place,
                count,
                relax,
            } => {
                self.ask_row(
                    *job,
                    *ask,
                    *place,
                    Row {
                        count: *count,
                        relax: *relax,
                    },
                );
            }
            Event::ContainerAdded(facts) => self.add_container(facts),
            Event::ContainerCompleted { job, key, exit: _ } => self.complete(*job, *key),
            Event::ContainerResized { job, key, resource } => self.resize(*job, *key, resource),
            Event::Ack { job, seq, key } => self.ack(*job, *seq, *key),
            Event::Nack { job, seq, refusal } => self.nack(*job, *seq, *refusal),
            Event::Tick => self.tick(decisions_max, decisions),
            Event::Fault(code) => self.fault(*code),
        }
    }

    fn fault(&mut self, code: u32) {
        if self.setup.config.faults {
            panic!("fault {code} was asked for by a test");
        }
        self.ignore("faults are not allowed by the configuration", &code);
    }

    fn add_node(&mut self, facts: &NodeFacts) {
        if facts.node.0 >= ID_MAX || facts.host.0 >= ID_MAX || facts.rack.0 >= ID_MAX {
            return self.ignore("id out of range", facts);
        }
        let facts = *facts;
        if self.cluster.node(facts.node).is_some() {
            self.change_node(&facts);
        } else if self.cluster.is_rack(facts.rack) || self.cluster.job_count == 0 {
            self.cluster.add_node(facts);
        } else {
            // Rows of that name were taken for a host's.
            self.reindex(|engine| {
                engine.cluster.add_node(facts);
            });
        }
    }

    fn change_node(&mut self, facts: &NodeFacts) {
        if self.cluster.node(facts.node).is_none() {
            return self.ignore("unknown node", facts);
        }
        let facts = *facts;
        if self.cluster.is_rack(facts.rack) {
            self.cluster.change_node(facts);
        } else {
            self.reindex(|engine| {
                engine.cluster.change_node(facts);
            });
        }
    }

    fn remove_node(&mut self, id: NodeId) {
        self.reservations.remove(&id);
        self.rests.remove(&id);
        // The host will refuse what it has not answered yet; the node's books end here.
        let unanswered = self.in_flight.iter();
        let unanswered: Vec<(JobId, u64)> = unanswered
            .filter(|grant| grant.container.node == id)
            .map(|grant| (grant.job, grant.seq))
            .collect();
        for (job, seq) in unanswered {
            self.nack(job, seq, Refusal::StaleNode);
        }
        let Some(node) = self.cluster.node(id) else {
            return self.ignore("unknown node", &id);
        };
        if node.containers > 0 {
            // The host completes a lost node's containers first. If it did not, their room
            // must not stay charged to their jobs.
            self.ignore("node left with containers on it", &id);
            let on_node = |container: &Container| container.node == id;
            let orphans: Vec<(JobId, ContainerKey)> = self
                .cluster
                .jobs()
                .flat_map(|job| {
                    job.containers
                        .iter()
                        .map(|(key, c)| (job.facts.job, *key, c))
                })
                .filter(|(_, _, container)| on_node(container))
                .map(|(job, key, _)| (job, key))
                .collect();
            for (job, key) in orphans {
                self.complete(job, key);
            }
        }
        self.cluster.remove_node(id);
    }

    fn add_job(&mut self, facts: &JobFacts) {
        if facts.job.0 >= ID_MAX || self.cluster.job(facts.job).is_some() {
            return self.ignore("job id out of range or taken", facts);
        }
        if self.cluster.queues.get(facts.queue).is_none() {
            return self.ignore("unknown queue", facts);
        }
        let leaf = self.leaf_of(facts.queue);
        let mut job = Job::new(*facts, leaf, OrderKey::FIRST);
        job.order_key = self.order.key(&job);
        self.cluster.add_job(job);
        self.join_queue(facts.job);
    }

    /// Counts a job into its queue and lets it run if the limits admit one more.
    fn join_queue(&mut self, id: JobId) {
        let job = self.cluster.job(id).expect("the caller just put it there");
        let queue = job.facts.queue;
        let path: Vec<QueueId> = self.cluster.queues.path_up(queue).map(|q| q.id).collect();
        let admits = self.cluster.queues.path_up(queue).all(|queue| {
            queue
                .config
                .max_running_jobs
                .is_none_or(|most| queue.runnable_jobs < most)
        });
        for at in path {
            let queue = self.cluster.queues.get_mut(at).expect("it is on the path");
            queue.jobs += 1;
            queue.runnable_jobs += u32::from(admits);
        }
        if !admits {
            let queue = self
                .cluster
                .queues
                .get_mut(queue)
                .expect("it is on the path");
            queue.waiting.insert(id);
            self.waiting_jobs += 1;
        }
        self.cluster
            .job_mut(id)
            .expect("the caller just put it there")
            .runnable = admits;
        self.enter_all(id);
    }

    /// Takes a job out of its queue; one that waited may take its place.
    fn leave_queue(&mut self, id: JobId) {
        self.leave_all(id);
        let job = self.cluster.job_mut(id).expect("the caller found it");
        let (queue, ran) = (job.facts.queue, job.runnable);
        job.runnable = false;
        let path: Vec<QueueId> = self.cluster.queues.path_up(queue).map(|q| q.id).collect();
        for at in path {
            let queue = self.cluster.queues.get_mut(at).expect("it is on the path");
            queue.jobs -= 1;
            queue.runnable_jobs -= u32::from(ran);
        }
        let queue = self
            .cluster
            .queues
            .get_mut(queue)
            .expect("it is on the path");
        if queue.waiting.remove(&id) {
            self.waiting_jobs -= 1;
        }
    }

    /// Lets waiting jobs run where a limit admits one more, the first submitted of each queue.
    pub(super) fn admit_waiting(&mut self) {
        if self.waiting_jobs == 0 {
            return;
        }
        let queues: Vec<QueueId> = self
            .cluster
            .queues
            .iter()
            .filter(|queue| !queue.waiting.is_empty())
            .map(|queue| queue.id)
            .collect();
        for queue in queues {
            while let Some(first) = self.first_waiting(queue) {
                let before = self.waiting_jobs;
                self.leave_queue(first);
                self.join_queue(first);
                if self.waiting_jobs == before {
                    break;
                }
            }
        }
    }

    fn first_waiting(&self, queue: QueueId) -> Option<JobId> {
        let waiting = &self.cluster.queues.get(queue)?.waiting;
        waiting.iter().copied().min_by_key(|id| {
            (
                self.cluster
                    .job(*id)
                    .map_or(OrderKey::FIRST, |job| job.order_key),
                *id,
            )
        })
    }

    fn remove_job(&mut self, id: JobId) {
        if self.cluster.job(id).is_none() {
            return self.ignore("unknown job", &id);
        }
        self.forget_asks(id);
        self.leave_queue(id);
        let keys: Vec<ContainerKey> = self
            .cluster
            .job(id)
            .map_or(Vec::new(), |job| job.containers.keys().copied().collect());
        for key in keys {
            self.complete(id, key);
        }
        while let Some(at) = self.in_flight.iter().position(|grant| grant.job == id) {
            let grant = self
                .in_flight
                .remove(at)
                .expect("the position was just found");
            self.charge(id, &grant.container, false);
        }
        self.release_job(id);
        self.cluster.remove_job(id);
        self.admit_waiting();
    }

    fn move_job(&mut self, id: JobId, queue: QueueId) {
        let known = self.cluster.queues.get(queue).is_some();
        let Some(job) = self.cluster.job(id).filter(|_| known) else {
            return self.ignore("unknown job or queue", &(id, queue));
        };
        let containers: Vec<Container> = job.containers.values().copied().collect();
        let in_flight = self.in_flight.iter().filter(|grant| grant.job == id);
        let containers: Vec<Container> = containers
            .into_iter()
            .chain(in_flight.map(|grant| grant.container))
            .collect();
        self.leave_queue(id);
        for container in &containers {
            self.charge(id, container, false);
        }
        let leaf = self.leaf_of(queue);
        let job = self.cluster.job_mut(id).expect("it was found above");
        job.facts.queue = queue;
        job.leaf = leaf;
        job.order_key = self.order.key(job);
        for container in &containers {
            self.charge(id, container, true);
        }
        self.join_queue(id);
        self.admit_waiting();
    }

    fn set_priority(&mut self, id: JobId, priority: i32) {
        if self.cluster.job(id).is_none() {
            return self.ignore("unknown job", &id);
        }
        self.leave_all(id);
        let job = self.cluster.job_mut(id).expect("it was found above");
        job.facts.priority = priority;
        job.order_key = self.order.key(job);
        self.enter_all(id);
    }

    fn reset_job(&mut self, id: JobId) {
        if self.cluster.job(id).is_none() {
            return self.ignore("unknown job", &id);
        }
        self.forget_asks(id);
        let job = self.cluster.job_mut(id).expect("it was found above");
        job.blacklist.clear();
        job.refused.clear();
        // The new attempt has heard of none.
        job.headroom = None;
    }

    fn forget_asks(&mut self, id: JobId) {
        self.leave_all(id);
        let Some(job) = self.cluster.job_mut(id) else {
            return;
        };
        for ask in std::mem::take(&mut job.asks).into_iter().flatten() {
            self.backlog.shapes.release(ask.shape);
        }
    }

    fn blacklist(&mut self, id: JobId, place: PlaceId, added: bool) {
        match self.cluster.job_mut(id) {
            None => self.ignore("unknown job", &id),
            Some(job) if added => {
                job.blacklist.insert(place);
            }
            Some(job) => {
                job.blacklist.remove(&place);
            }
        }
    }

    fn ask(&mut self, facts: &AskFacts) {
        let Some(job) = self.cluster.job(facts.job).filter(|_| facts.ask.0 < ID_MAX) else {
            return self.ignore("unknown job or ask id out of range", facts);
        };
        if facts.resource.any_negative() {
            return self.ignore("negative ask", facts);
        }
        match job.ask(facts.ask) {
            Some(ask)
                if AskFacts {
                    count: ask.facts.count,
                    ..*facts
                } == ask.facts =>
            {
                self.set_count(facts);
            }
            Some(_) => {
                self.leave(facts.job, facts.ask);
                let shapes = &mut self.backlog.shapes;
                let shape = shapes.acquire(facts.resource, facts.partition, facts.am);
                let job = self.cluster.job_mut(facts.job).expect("it was found above");
                let ask = job.ask_mut(facts.ask).expect("it was found above");
                let before = std::mem::replace(&mut ask.shape, shape);
                ask.facts = *facts;
                self.backlog.shapes.release(before);
                self.enter(facts.job, facts.ask);
            }
            None => {
                let shapes = &mut self.backlog.shapes;
                let shape = shapes.acquire(facts.resource, facts.partition, facts.am);
                let job = self.cluster.job_mut(facts.job).expect("it was found above");
                if job.asks.len() <= facts.ask.index() {
                    job.asks.resize_with(facts.ask.index() + 1, || None);
                }
                job.asks[facts.ask.index()] = Some(Box::new(Ask {
                    facts: *facts,
                    rows: BTreeMap::new(),
                    unrelaxed: 0,
                    shape,
                    level: Locality::OffSwitch,
                    insisting_since_ms: self.now,
                    passed_over_ms: None,
                    timer_ms: None,
                    standing: Standing::Out,
                }));
                self.enter(facts.job, facts.ask);
            }
        }
    }

    /// The common case: only the total changed.
    fn set_count(&mut self, facts: &AskFacts) {
        if facts.count == 0 {
            self.leave(facts.job, facts.ask);
        }
        let job = self
            .cluster
            .job_mut(facts.job)
            .expect("the caller found it");
        job.ask_mut(facts.ask)
            .expect("the caller found it")
            .facts
            .count = facts.count;
        self.enter(facts.job, facts.ask);
    }

    fn ask_row(&mut self, job: JobId, ask: AskId, place: PlaceId, row: Row) {
        let known = self.cluster.job(job).and_then(|job| job.ask(ask)).is_some();
        if !known || place == PlaceId::ANY || place.0 >= ID_MAX {
            return self.ignore("row of an unknown job, ask or place", &(job, ask, place));
        }
        let floor = self.floor_of(job, ask);
        self.set_row(job, ask, place, row);
        self.settle_level(job, ask, floor);
    }

    fn add_container(&mut self, facts: &ContainerFacts) {
        let Some(job) = self.cluster.job(facts.job) else {
            return self.ignore("unknown job", facts);
        };
        if self.cluster.node(facts.node).is_none() {
            return self.ignore("unknown node", facts);
        }
        if job.containers.contains_key(&facts.key) {
            return self.resize(facts.job, facts.key, &facts.resource);
        }
        let container = Container {
            node: facts.node,
            resource: facts.resource,
            priority: facts.priority,
            am: facts.am,
            started_ms: facts.started_ms,
        };
        self.charge(facts.job, &container, true);
        let job = self.cluster.job_mut(facts.job).expect("it was found above");
        job.containers.insert(facts.key, container);
    }

    fn complete(&mut self, id: JobId, key: ContainerKey) {
        self.evicting.remove(&(id, key));
        let removed = self
            .cluster
            .job_mut(id)
            .and_then(|job| job.containers.remove(&key));
        match removed {
            Some(container) => self.charge(id, &container, false),
            None => self.ignore("unknown job or container", &(id, key)),
        }
    }

    fn resize(&mut self, id: JobId, key: ContainerKey, resource: &Resource) {
        let found = self
            .cluster
            .job(id)
            .and_then(|job| job.containers.get(&key))
            .copied();
        let Some(mut container) = found else {
            return self.ignore("unknown job or container", &(id, key));
        };
        self.charge(id, &container, false);
        container.resource = *resource;
        self.charge(id, &container, true);
        let job = self.cluster.job_mut(id).expect("it was found above");
        job.containers.insert(key, container);
    }

    fn take_in_flight(&mut self, seq: u64) -> Option<InFlight> {
        if self.in_flight.front().is_some_and(|grant| grant.seq == seq) {
            return self.in_flight.pop_front();
        }
        let at = self
            .in_flight
            .binary_search_by_key(&seq, |grant| grant.seq)
            .ok()?;
        self.in_flight.remove(at)
    }

    fn ack(&mut self, job: JobId, seq: u64, key: ContainerKey) {
        let Some(grant) = self.take_in_flight(seq) else {
            return self.ignore("answer to an unknown grant", &(job, seq));
        };
        let owner = self
            .cluster
            .job_mut(grant.job)
            .expect("grants go with their job");
        if owner.containers.contains_key(&key) {
            self.ignore("container key taken", &(job, key));
            return self.charge(grant.job, &grant.container, false);
        }
        owner.containers.insert(key, grant.container);
    }

    /// The host refused: room and ask come back, and the node is left out for the job for a
    /// moment, lest the same be proposed on every heartbeat in vain.
    fn nack(&mut self, job: JobId, seq: u64, refusal: Refusal) {
        let Some(grant) = self.take_in_flight(seq) else {
            return self.ignore("answer to an unknown grant", &(job, seq));
        };
        log::debug!("grant {seq} of job {} refused: {refusal:?}", grant.job.0);
        self.charge(grant.job, &grant.container, false);
        let (now, node) = (self.now, grant.container.node);
        let owner = self
            .cluster
            .job_mut(grant.job)
            .expect("grants go with their job");
        owner.refused.retain(|_, until| *until > now);
        owner.refused.insert(node, now + REFUSED_MS);
        let Some(ask) = owner.ask_mut(grant.ask) else {
            return;
        };
        ask.facts.count += 1;
        let floor = self.floor_of(grant.job, grant.ask);
        for counted in grant.counted.into_iter().flatten() {
            let Counted { place, relax } = counted;
            let Some(relax) = relax.filter(|_| !self.take_over(&grant, counted)) else {
                continue;
            };
            let job = self.cluster.job(grant.job);
            let rows = job.and_then(|job| job.ask(grant.ask)).map(|ask| &ask.rows);
            let row = rows.and_then(|rows| rows.get(&place).copied());
            let row = row.unwrap_or(Row { count: 0, relax });
            let row = Row {
                count: row.count + 1,
                ..row
            };
            self.set_row(grant.job, grant.ask, place, row);
        }
        self.settle_level(grant.job, grant.ask, floor);
        self.enter(grant.job, grant.ask);
    }

    /// Whether a later grant to the same ask, which found a row used up, counts on it instead
    /// of a refused one: so it would be had that one not been made.
    fn take_over(&mut self, refused: &InFlight, counted: Counted) -> bool {
        let same_ask = |later: &&mut InFlight| (later.job, later.ask) == (refused.job, refused.ask);
        let later = self.in_flight.iter_mut().filter(same_ask);
        let mut rows = later.flat_map(|later| later.counted.iter_mut().flatten());
        let heir = rows.find(|row| row.place == counted.place && row.relax.is_none());
        let found = heir.is_some();
        if let Some(heir) = heir {
            heir.relax = counted.relax;
        }
        found
    }

    /// Adds a container to (or takes it from) every book that counts containers.
    pub(super) fn charge(&mut self, id: JobId, container: &Container, taken: bool) {
        let resource = &container.resource;
        if let Some(node) = self.cluster.node_mut(container.node) {
            if taken {
                node.used += *resource;
                node.containers += 1;
            } else {
                node.used -= *resource;
                node.containers -= 1;
            }
        }
        let job = self
            .cluster
            .job_mut(id)
            .expect("containers are charged to jobs that are there");
        let kind = job.kind(container.priority) as usize;
        let leaf = job.leaf;
        let share_leaf = self.tree.node_mut(leaf);
        if taken {
            job.used += *resource;
            job.running[kind] += 1;
            share_leaf.am_used += if container.am {
                *resource
            } else {
                Resource::ZERO
            };
            share_leaf.ams += u32::from(container.am);
            self.cluster.used += *resource;
        } else {
            job.used -= *resource;
            job.running[kind] -= 1;
            share_leaf.am_used -= if container.am {
                *resource
            } else {
                Resource::ZERO
            };
            share_leaf.ams -= u32::from(container.am);
            self.cluster.used -= *resource;
        }
        self.tree
            .charge(&*self.share, &self.cluster.capacity, leaf, resource, taken);
    }
}
