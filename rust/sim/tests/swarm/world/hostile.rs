//! Simulates malicious users and broken programs: extreme asks, endless queues, ApplicationMasters
//! that stay silent. One at a time, like all faults.

use super::World;
use crate::due::Due;
use crate::host::HostRow;
use crate::master::{Kind, Table};
use crate::queues::path_up;
use heddle_core::words::ids::{JobId, NodeId, PartitionId, PlaceId};
use heddle_core::words::resource::Resource;
use heddle_sim::failure::{Check, Checked, Failure};
use serde_json::json;
use std::collections::BTreeMap;

/// The engine counts at most this many containers per ask; the events say 2^31 - 1 instead.
pub(super) const COUNT_MAX: u32 = 1 << 20;

/// The first attempt number of jobs with many earlier attempts.
const ATTEMPTS_HAD: u32 = 253;

/// Queues created per fault, by one user, and in one run. One user may have 100 at a time.
const QUEUES_STEP: u32 = 50;
const QUEUES_OF_USER: u32 = 150;
const QUEUES_MAX: u32 = 2_000;

/// Places that the engine has not been told of.
const UNKNOWN: u32 = 5_000;

impl World {
    /// Returns the number of a job's first attempt.
    pub(super) fn first_attempt(&self) -> u32 {
        match self.options.features.many_attempts {
            true => ATTEMPTS_HAD,
            false => 0,
        }
    }

    /// Returns whether an ApplicationMaster that should register now never does. The host gives it
    /// up some seconds later, and the next attempt begins.
    pub(super) fn stays_silent(&mut self, job: JobId) -> Checked<bool> {
        let registered = self
            .masters
            .get(&job)
            .is_none_or(|master| master.registered);
        if !self.options.features.silent_masters
            || registered
            || self.draining
            || self.random.percent(60)
        {
            return Ok(false);
        }
        let Some(owner) = self.host.jobs.get(&job) else {
            return Ok(false);
        };
        let master = owner.containers.iter().find(|(_, container)| container.am);
        let Some((key, serial)) = master.map(|(key, _)| (*key, owner.serial)) else {
            return Ok(false);
        };
        let expiry_ms = self.random.range(500, 5_000);
        self.agenda
            .plan(self.now + expiry_ms, Due::Eviction(job, serial, key));
        Ok(true)
    }

    /// Replaces one ask of a job until its ApplicationMaster's next report.
    fn ask_for(&mut self, change: fn(&mut World, Kind) -> (Kind, Table)) -> Checked {
        let index = self.random.below(3);
        let Some(job) = self.any_job() else {
            return Ok(());
        };
        let master = self.masters.get(&job);
        let registered = master.filter(|m| m.registered && index < m.kinds.len());
        let Some((id, kind)) = registered.map(|m| (m.ask_id(Some(index)), m.kinds[index])) else {
            return Ok(());
        };
        let (kind, table) = change(self, kind);
        self.set_ask(job, id, &kind, false, table);
        if let Some(master) = self.masters.get_mut(&job) {
            // Differs from everything that it wants, so that it sends its own ask again.
            master.sent[index] = (u32::MAX, BTreeMap::new());
        }
        self.flush()
    }

    pub(super) fn fault_extreme_count(&mut self) -> Checked {
        self.ask_for(|world, kind| {
            let count = world.random.pick(&[0, 1, COUNT_MAX - 1, COUNT_MAX]);
            let tiny = Resource::new(world.random.pick(&[0, 1, 64, 512]), 1);
            let resource = world.random.pick(&[kind.resource, tiny]);
            (Kind { resource, ..kind }, (count, BTreeMap::new()))
        })
    }

    pub(super) fn fault_giant_ask(&mut self) -> Checked {
        self.ask_for(|world, kind| {
            let amount = world.random.pick(&[1 << 20, i64::from(i32::MAX), 1 << 48]);
            let giants = [
                Resource::new(amount, 1),
                Resource::new(512, amount),
                Resource::new(amount, amount),
            ];
            let resource = world.random.pick(&giants);
            let count = world.random.pick(&[1, COUNT_MAX]);
            (Kind { resource, ..kind }, (count, BTreeMap::new()))
        })
    }

    pub(super) fn fault_unknown_host(&mut self) -> Checked {
        self.ask_for(|world, kind| {
            let count = world.random.pick(&[1, 5, COUNT_MAX]);
            let mut rows = BTreeMap::new();
            for _ in 0..world.random.range(1, 4) {
                let place = PlaceId(UNKNOWN + world.random.below(100) as u32);
                rows.insert(place, HostRow { count, relax: true });
            }
            (kind, (count, rows))
        })
    }

    /// Creates some queues and abandons them, and moves one job to any queue so created.
    pub(super) fn fault_queues(&mut self) -> Checked {
        for _ in 0..QUEUES_STEP {
            if self.strange_queues < QUEUES_MAX {
                let name = format!("root.x{}", self.strange_queues);
                let user = format!("stranger{}", self.strange_queues / QUEUES_OF_USER);
                self.strange_queues += 1;
                self.place(&user, Some(&name), false)?;
            }
        }
        let one = self.random.below(self.strange_queues as usize);
        match self.any_job() {
            Some(job) => self.move_to(job, &format!("root.x{one}")),
            None => Ok(()),
        }
    }

    /// Expires queues that have long been empty. The host holds none of their ids: the engine
    /// learns of every job first.
    pub(super) fn fault_queues_expire(&mut self) -> Checked {
        self.deliver(None)?;
        let request = json!({"op": "expireQueues"});
        let reply = self.link.request(self.engine_now, request)?;
        let removed = reply
            .ok()
            .and_then(|reply| reply["removed"].as_array().cloned());
        let Some(removed) = removed else {
            return Err(Failure::new(
                Check::Books,
                "queues cannot expire".to_string(),
            ));
        };
        // Every queue has an account there, and stays.
        if self.plan.policy.share == "dynamic-priority" && !removed.is_empty() {
            let what = format!("queues with accounts expire: {removed:?}");
            return Err(Failure::new(Check::Books, what));
        }
        for owner in self.host.jobs.values() {
            for path in path_up(&owner.queue) {
                if removed.iter().any(|gone| gone == path) {
                    let what = format!("{path} expires with job {}", owner.facts.job.0);
                    return Err(Failure::new(Check::Books, what));
                }
            }
        }
        self.outcome.queues_expired += removed.len();
        Ok(())
    }

    pub(super) fn fault_labels(&mut self) -> Checked {
        let label = PartitionId(self.random.below(3) as u32);
        let nodes: Vec<NodeId> = self.host.nodes.keys().copied().collect();
        for id in nodes {
            if let Some(node) = self.host.nodes.get_mut(&id) {
                node.facts.partition = label;
            }
            self.tell_node(id, false)?;
        }
        Ok(())
    }

    pub(super) fn fault_extreme_priority(&mut self) -> Checked {
        let priority = self.random.pick(&[i32::MIN, -1, 0, 255, i32::MAX]);
        match self.any_job() {
            Some(job) => self.set_priority(job, priority),
            None => Ok(()),
        }
    }
}
