//! Starts and ends of containers, and the host's answers to grants. Only this file writes the books
//! that count containers.

use super::{Counted, Engine, InFlight, REFUSED_MS};
use crate::backlog::ShapeSize;
use crate::explain::What;
use crate::model::change::{Change, pool};
use crate::model::job::{Container, Row};
use crate::words::event::{ContainerFacts, Refusal, TaskFacts};
use crate::words::ids::{ContainerKey, JobId, Locality, Millis};
use crate::words::keys::POOLS;
use crate::words::kind::Kind;
use crate::words::resource::Resource;

impl Engine {
    pub(super) fn add_container(&mut self, facts: &ContainerFacts) {
        let Some(job) = self.cluster.job(facts.job) else {
            return self.ignore("unknown job", facts);
        };
        let Some(node) = self.cluster.node(facts.node) else {
            return self.ignore("unknown node", facts);
        };
        if job.containers.contains_key(&facts.key) {
            return self.resize(facts.job, facts.key, &facts.resource);
        }
        let container = Container {
            node: facts.node,
            partition: node.facts.partition,
            lent: false,
            resource: facts.resource,
            priority: facts.priority,
            am: facts.am,
            by_kill: false,
            started_ms: facts.started_ms,
            launched_ms: None,
            overhead_ms: 0,
            committing_since_ms: None,
            task: TaskFacts::default(),
        };
        self.charge(facts.job, &container, true);
        let job = self.cluster.job_mut(facts.job).expect("it was found above");
        job.containers.insert(facts.key, container);
        self.tell(|cluster| {
            let job = cluster.job(facts.job)?;
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

    pub(super) fn complete(&mut self, id: JobId, key: ContainerKey, succeeded: bool) {
        self.evicting.remove(&(id, key));
        let removed = self
            .cluster
            .job_mut(id)
            .and_then(|job| job.containers.remove(&key));
        let Some(mut container) = removed else {
            return self.ignore("unknown job or container", &(id, key));
        };
        self.charge(id, &container, false);
        let job = self.cluster.job_mut(id).expect("it was found above");
        let kind = job.kind(container.priority);
        if let Some(launched_ms) = container.launched_ms {
            if succeeded && !container.am && kind != Kind::Other {
                self.cluster.overhead.learn(self.now - launched_ms);
            }
            container.overhead_ms = self.cluster.overhead.ms();
        }
        let job = self.cluster.job_mut(id).expect("it was found above");
        job.done[kind as usize] += u32::from(succeeded && !container.am);
        self.tell_of(&container, |cluster, container| {
            Some(Change::Ended {
                job: cluster.job(id)?,
                kind,
                key,
                container,
                succeeded,
            })
        });
    }

    /// Notes that a node reported a container as running. The container may have ended already, or
    /// may become known only later: nodes and masters report independently.
    pub(super) fn launched(&mut self, id: JobId, key: ContainerKey, launched_ms: Millis) {
        let overhead_ms = self.cluster.overhead.ms();
        let now = self.now;
        let job = self.cluster.job_mut(id);
        if let Some(container) = job.and_then(|job| job.containers.get_mut(&key)) {
            let launched_ms = launched_ms.min(now).max(container.started_ms);
            container.launched_ms.get_or_insert(launched_ms);
            container.overhead_ms = overhead_ms;
        }
    }

    pub(super) fn tell_withdrawn(&mut self, id: JobId, container: &Container) {
        self.tell(|cluster| {
            let job = cluster.job(id)?;
            Some(Change::Withdrawn {
                job,
                kind: job.kind(container.priority),
                node: container.node,
                am: container.am,
                started_ms: container.started_ms,
            })
        });
    }

    pub(super) fn resize(&mut self, id: JobId, key: ContainerKey, resource: &Resource) {
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
        // Its node has no more free than its containers leave, before it reports.
        if let Some(node) = self.cluster.node(container.node) {
            let left = node.whole.minus_or_zero(&node.used);
            let free = node.free.component_min(&left);
            self.cluster.set_free(container.node, &free);
        }
        let job = self.cluster.job_mut(id).expect("it was found above");
        job.containers.insert(key, container);
        self.tell(|cluster| cluster.job(id).map(Change::Resized));
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

    pub(super) fn ack(&mut self, job: JobId, seq: u64, key: ContainerKey) {
        let Some(grant) = self.take_in_flight(seq) else {
            return self.ignore("answer to an unknown grant", &(job, seq));
        };
        let owner = self
            .cluster
            .job_mut(grant.job)
            .expect("grants go with their job");
        if owner.containers.contains_key(&key) {
            self.ignore("container key taken", &(job, key));
            self.charge(grant.job, &grant.container, false);
            return self.tell_withdrawn(grant.job, &grant.container);
        }
        owner.containers.insert(key, grant.container);
    }

    /// Restores usage and ask of a grant that the host refused; the node's free room comes with its
    /// next report. The job skips the node for `REFUSED_MS`, so that heartbeats do not repeat the
    /// same refused grant. Of a grant to an earlier attempt only the usage is restored.
    pub(super) fn nack(&mut self, job: JobId, seq: u64, refusal: Refusal) {
        let Some(grant) = self.take_in_flight(seq) else {
            return self.ignore("answer to an unknown grant", &(job, seq));
        };
        log::debug!("grant {seq} of job {} refused: {refusal:?}", grant.job.0);
        self.charge(grant.job, &grant.container, false);
        let (now, node) = (self.now, grant.container.node);
        let refused = What::Refused { node, refusal };
        self.trace.note(grant.job, now, refused);
        let Some(ask_id) = grant.ask else {
            return self.tell_withdrawn(grant.job, &grant.container);
        };
        let owner = self
            .cluster
            .job_mut(grant.job)
            .expect("grants go with their job");
        owner.refused.retain(|_, until| *until > now);
        owner.refused.insert(node, now + REFUSED_MS);
        let Some(ask) = owner.ask_mut(ask_id) else {
            return self.tell_withdrawn(grant.job, &grant.container);
        };
        ask.served = ask.served.saturating_sub(1);
        let count = ask.facts.count + 1;
        owner.set_count(ask_id, count);
        let floor = self.floor_of(grant.job, ask_id);
        for counted in grant.counted.into_iter().flatten() {
            let Counted { place, relax } = counted;
            let Some(relax) = relax.filter(|_| !self.take_over(&grant, counted)) else {
                continue;
            };
            let job = self.cluster.job(grant.job);
            let rows = job.and_then(|job| job.ask(ask_id)).map(|ask| &ask.rows);
            let row = rows.and_then(|rows| rows.get(&place).copied());
            let row = row.unwrap_or(Row { count: 0, relax });
            let row = Row {
                count: row.count + 1,
                ..row
            };
            self.set_row(grant.job, ask_id, place, row);
        }
        self.settle_level(grant.job, ask_id, floor);
        self.enter(grant.job, ask_id);
        self.tell_withdrawn(grant.job, &grant.container);
    }

    /// Lets a later grant of the same ask take over the refused grant's count on a row, if it found
    /// the row used up. The books are then as if the refused grant had never been made. Returns
    /// whether there is such a grant.
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

    /// Adds a container to every book that counts containers, or removes it unless `taken`.
    pub(super) fn charge(&mut self, id: JobId, container: &Container, taken: bool) {
        let resource = &container.resource;
        let pool = self.pool_of(id, container);
        if let Some(node) = self.cluster.node_mut(container.node) {
            if taken {
                node.used += *resource;
                node.containers += 1;
                count_slot(&mut node.running, pool, true);
            } else {
                node.used -= *resource;
                node.containers -= 1;
                count_slot(&mut node.running, pool, false);
            }
        }
        self.cluster.count_used(container.node, resource, taken);
        let job = self
            .cluster
            .job_mut(id)
            .expect("containers are charged to jobs that are there");
        let kind = job.kind(container.priority) as usize;
        let of_master = match container.am {
            true => *resource,
            false => Resource::ZERO,
        };
        count_slot(&mut job.slots, pool, taken);
        if taken {
            job.used += *resource;
            job.masters_used += of_master;
            job.running[kind] += 1;
            self.cluster.used += *resource;
            self.cluster.tasks.0 += *resource - of_master;
            self.cluster.tasks.1 += i64::from(!container.am);
        } else {
            job.used -= *resource;
            job.masters_used -= of_master;
            job.running[kind] -= 1;
            self.cluster.used -= *resource;
            self.cluster.tasks.0 -= *resource - of_master;
            self.cluster.tasks.1 -= i64::from(!container.am);
        }
        self.users.touch(id);
        self.charge_tree(id, container, pool, taken);
    }

    /// Recomputes the pools whose slots asks and containers take: a reload may have changed them.
    /// No ask may be in the backlog.
    pub(super) fn recount_pools(&mut self) {
        let jobs: Vec<JobId> = self.cluster.jobs().map(|job| job.facts.job).collect();
        for id in jobs {
            let job = self.cluster.job_mut(id).expect("the ids were just listed");
            job.slots = [0; POOLS];
            for ask in job.asks.iter_mut().flatten() {
                let shapes = &mut self.backlog.shapes;
                let size = shapes.get(ask.shape).size;
                let pool = pool(&self.setup.config, size.kind, size.am);
                let shape = shapes.acquire(ShapeSize { pool, ..size });
                shapes.release(std::mem::replace(&mut ask.shape, shape));
            }
        }
        let containers: Vec<(JobId, Container)> = self
            .all_containers()
            .map(|(job, container)| (job, *container))
            .collect();
        self.cluster.clear_slots();
        self.tree.clear_slots();
        for (job, container) in containers {
            let pool = self.pool_of(job, &container);
            let owner = self.cluster.job_mut(job).expect("containers have jobs");
            count_slot(&mut owner.slots, pool, true);
            let leaf = owner.leaf;
            if let Some(node) = self.cluster.node_mut(container.node) {
                count_slot(&mut node.running, pool, true);
            }
            self.tree.count_slot(leaf, pool);
        }
    }
}

fn count_slot(running: &mut [u32; POOLS], pool: Option<usize>, taken: bool) {
    if let Some(pool) = pool {
        running[pool] = if taken {
            running[pool] + 1
        } else {
            running[pool] - 1
        };
    }
}
