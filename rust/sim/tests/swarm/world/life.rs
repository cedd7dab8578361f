//! The lives of jobs and their containers: submission, attempts, tasks, the end.

use super::{MASTER_HEARTBEAT_MS, World};
use crate::due::{Due, Serial};
use crate::host::HostJob;
use crate::master::{Rows, Table};
use heddle_core::words::event::{Event, JobFacts};
use heddle_core::words::exit::{LOST, PREEMPTED};
use heddle_core::words::ids::{ContainerKey, JobId, QueueId, UserId};
use heddle_core::words::resource::Resource;
use heddle_sim::failure::Checked;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Number of attempts of a job.
const ATTEMPTS_MAX: u32 = 4;

/// Identifies one attempt of one job, for events that concern only that attempt.
pub(super) fn life(serial: Serial, attempt: u32) -> Serial {
    serial << 16 | u64::from(attempt)
}

impl World {
    pub(super) fn submit(&mut self) -> Checked {
        self.outcome.submitted += 1;
        let users = 3;
        let user = format!("user{}", self.random.below(users));
        let asked = match self.random.below(8) {
            0 => None,
            1 => Some("root.people.x".to_string()),
            _ => Some(
                self.random
                    .pick(&["root.a", "root.b.x", "root.b.y", "root.c"])
                    .to_string(),
            ),
        };
        let Some((queue, path)) = self.place(&user, asked.as_deref(), false)? else {
            self.outcome.turned_away += 1;
            return Ok(());
        };
        let (mapreduce, mut master) = self.jobs().make();
        master.attempt = self.first_attempt();
        let job = self.free_job_id();
        let facts = JobFacts {
            job,
            queue,
            user: UserId(user.len() as u32),
            priority: self.random.pick(&[0, 0, 0, 1, 5]),
            mapreduce,
            unmanaged_am: master.container.is_none(),
            submitted_ms: self.clock(),
        };
        let serial = self.next_serial;
        self.next_serial += 1;
        let owner = HostJob {
            facts,
            serial,
            queue: path,
            user,
            asks: BTreeMap::new(),
            containers: BTreeMap::new(),
            used: Resource::ZERO,
            blacklist: BTreeSet::new(),
            refused: BTreeMap::new(),
            next_key: 1,
        };
        self.outcome.submitted(serial, &owner, self.now);
        self.host.jobs.insert(job, owner);
        self.masters.insert(job, master);
        self.last_activity = self.now;
        self.outbox.push(Event::JobAdded(facts));
        self.begin_attempt(job)
    }

    /// Asks the engine for a queue; returns none if it rejects the submission.
    pub(super) fn place(
        &mut self,
        user: &str,
        queue: Option<&str>,
        recovering: bool,
    ) -> Checked<Option<(QueueId, String)>> {
        let request = json!({
            "op": "place", "user": user, "groups": [], "queue": queue, "recovering": recovering,
        });
        let reply = self.link.request(self.engine_now, request)?;
        Ok(reply.ok().and_then(|reply| {
            let id = reply["queue"].as_u64()? as u32;
            Some((QueueId(id), reply["path"].as_str()?.to_string()))
        }))
    }

    fn free_job_id(&mut self) -> JobId {
        let free = |id: &u32| !self.host.jobs.contains_key(&JobId(*id));
        let from = match self.options.features.reused_ids {
            true => 0,
            false => self.next_serial as u32,
        };
        JobId((from..).find(free).unwrap_or(u32::MAX))
    }

    fn begin_attempt(&mut self, job: JobId) -> Checked {
        let Some(master) = self.masters.get(&job) else {
            return Ok(());
        };
        let (container, id) = (master.container, master.ask_id(None));
        let serial = self.host.jobs.get(&job).map_or(0, |job| job.serial);
        let life = life(serial, master.attempt);
        match container {
            Some(kind) => {
                let table: Table = (1, BTreeMap::new());
                debug_assert_eq!(kind.rows, Rows::None);
                self.set_ask(job, id, &kind, true, table);
            }
            None => self
                .agenda
                .plan(self.now + 100, Due::MasterHeartbeat(job, life)),
        }
        self.flush()
    }

    pub(super) fn master_heartbeat(&mut self, job: JobId, due_life: Serial) -> Checked {
        let Some(owner) = self.host.jobs.get(&job) else {
            return Ok(());
        };
        let serial = owner.serial;
        let has_master = owner.containers.values().any(|container| container.am);
        let Some(master) = self.masters.get(&job) else {
            return Ok(());
        };
        if life(serial, master.attempt) != due_life || (master.container.is_some() && !has_master) {
            return Ok(());
        }
        if self.stays_silent(job)? {
            return Ok(());
        }
        let master = self.masters.get_mut(&job).expect("it was found above");
        master.registered = true;
        master.advance();
        self.send_asks(job);
        let master = self.masters.get_mut(&job).expect("it was found above");
        master.settle();
        let fetched = master.fetch();
        let done = master.is_done();
        for (key, duration_ms) in fetched.started {
            let due = Due::ContainerEnd(job, serial, key);
            self.agenda.plan(self.now + duration_ms, due);
        }
        for key in fetched.released {
            self.complete(job, key, LOST)?;
        }
        if done {
            self.outcome.finished(serial, self.now);
            return self.remove_job(job);
        }
        self.agenda.plan(
            self.now + MASTER_HEARTBEAT_MS,
            Due::MasterHeartbeat(job, due_life),
        );
        match self.options.features.offers && self.random.percent(50) {
            true => self.deliver(Some(Event::Offer(job))),
            false => self.flush(),
        }
    }

    /// Sends the asks that changed since they were sent last, ignoring the grants since then.
    pub(super) fn send_asks(&mut self, job: JobId) {
        let Some(master) = self.masters.get_mut(&job) else {
            return;
        };
        let corrected = self.options.features.corrected_asks;
        let mut changed = Vec::new();
        for index in 0..master.kinds.len() {
            let wanted = master.wanted(index);
            if wanted == master.sent[index] {
                continue;
            }
            let before = std::mem::replace(&mut master.sent[index], wanted.clone());
            if wanted.0 == 0 && before.0 == 0 {
                continue;
            }
            let id = master.ask_id(Some(index));
            let unknown = master.allocated.iter().filter(|a| a.ask == id).count() as u32;
            let mut table = wanted;
            if corrected {
                table.0 = table.0.saturating_sub(unknown);
            }
            changed.push((id, master.kinds[index], table));
        }
        for (id, kind, table) in changed {
            self.set_ask(job, id, &kind, false, table);
        }
    }

    /// Ends a container on its own: its task is done, or it failed.
    pub(super) fn container_end(
        &mut self,
        job: JobId,
        serial: Serial,
        key: ContainerKey,
    ) -> Checked {
        if !self.is_job(job, serial) {
            return Ok(());
        }
        let fails = self.options.features.failures && !self.draining && self.random.percent(20);
        self.last_activity = self.now;
        self.complete(job, key, i32::from(fails))
    }

    pub(super) fn eviction_due(
        &mut self,
        job: JobId,
        serial: Serial,
        key: ContainerKey,
    ) -> Checked {
        if !self.is_job(job, serial) {
            return Ok(());
        }
        self.complete(job, key, PREEMPTED)
    }

    pub(super) fn is_job(&self, job: JobId, serial: Serial) -> bool {
        let owner = self.host.jobs.get(&job);
        owner.is_some_and(|owner| owner.serial == serial)
    }

    /// Ends a container for any reason; does nothing if it no longer exists.
    pub(super) fn complete(&mut self, job: JobId, key: ContainerKey, exit: i32) -> Checked {
        let Some(container) = self.host.take(job, key) else {
            return Ok(());
        };
        self.linger(container.node, &container.resource);
        let serial = self.host.jobs.get(&job).map_or(0, |job| job.serial);
        if let Some(master) = self.masters.get_mut(&job) {
            if container.am {
                let due = Due::NextAttempt(job, life(serial, master.attempt));
                self.agenda.plan(self.now + 300, due);
            } else {
                master.finished.push((key, exit));
            }
        }
        self.send(Event::ContainerCompleted { job, key, exit })
    }

    pub(super) fn next_attempt(&mut self, job: JobId, due_life: Serial) -> Checked {
        let serial = self.host.jobs.get(&job).map_or(0, |job| job.serial);
        let Some(master) = self.masters.get(&job) else {
            return Ok(());
        };
        if life(serial, master.attempt) != due_life {
            return Ok(());
        }
        if master.attempt + 1 == self.first_attempt() + ATTEMPTS_MAX {
            return self.remove_job(job);
        }
        if !master.keeps_containers {
            let owner = self.host.jobs.get(&job);
            let keys: Vec<ContainerKey> =
                owner.map_or(Vec::new(), |job| job.containers.keys().copied().collect());
            for key in keys {
                self.complete(job, key, LOST)?;
            }
        }
        if let Some(owner) = self.host.jobs.get_mut(&job) {
            owner.asks.clear();
            owner.blacklist.clear();
        }
        self.dirty.retain(|(of, _), _| *of != job);
        self.masters
            .get_mut(&job)
            .expect("it was found above")
            .restart();
        self.send(Event::JobReset(job))?;
        self.begin_attempt(job)
    }

    /// Ends or kills a job with all its containers.
    pub(super) fn remove_job(&mut self, job: JobId) -> Checked {
        self.masters.remove(&job);
        let owner = self.host.jobs.get(&job);
        let keys: Vec<ContainerKey> =
            owner.map_or(Vec::new(), |job| job.containers.keys().copied().collect());
        // Some hosts complete the containers first, others leave that to the removal.
        let one_by_one = self.random.percent(50);
        for key in keys {
            if one_by_one {
                self.complete(job, key, LOST)?;
            } else if let Some(container) = self.host.take(job, key) {
                self.linger(container.node, &container.resource);
            }
        }
        self.host.jobs.remove(&job);
        self.dirty.retain(|(of, _), _| *of != job);
        self.last_activity = self.now;
        self.send(Event::JobRemoved(job))
    }
}
