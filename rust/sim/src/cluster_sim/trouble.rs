//! Injects faults and models the masters' reaction: tasks that vary, fail or lag, lost nodes,
//! second attempts of slow tasks, and foreign load that takes slots.

use super::attempts::{End, Phase};
use super::job::{MAP, REDUCE};
use super::{ClusterSim, Due};
use crate::failure::Checked;
use heddle_core::words::event::Event;
use heddle_core::words::ids::{JobId, Millis, NodeId};

/// Time between two looks of masters for slow tasks
/// (`mapreduce.job.speculative.retry-after-speculate`: 15 s).
pub(super) const SLOW_MS: Millis = 15_000;

/// A task is slow when it takes this many times the mean of the finished ones.
const SLOW_FACTOR: f64 = 1.5;

impl ClusterSim {
    /// Returns how many times longer than the mean an attempt computes, and whether it fails. Both
    /// are the same for the same attempt of the same task under every policy.
    pub(super) fn fortune(&mut self, id: JobId, kind: usize, index: u32) -> (f64, bool) {
        let task = self.job(id).tasks[kind][index as usize];
        let attempt = u64::from(task.failures) * 8 + u64::from(task.running);
        let trouble = &self.options.trouble;
        let parts = [u64::from(id.0), kind as u64, u64::from(index), attempt];
        let mut luck = self.luck(parts);
        let spread = i64::from(trouble.jitter_per_mille);
        let mut factor = 1.0 + luck.range(-spread, spread) as f64 / 1_000.0;
        if luck.below(1_000) < trouble.straggler_per_mille as usize {
            factor *= f64::from(trouble.straggler_factor.max(1));
        }
        let doomed = luck.below(1_000) < trouble.failure_per_mille as usize;
        (factor.max(0.01), doomed)
    }

    /// Starts second attempts of slow tasks once no other task of their kind waits. A task has at
    /// most one at a time. Each look starts at most a tenth of a job's running attempts of a kind,
    /// rounded up.
    pub(super) fn look_for_slow(&mut self) -> Checked {
        for id in self.active.clone() {
            for kind in [MAP, REDUCE] {
                self.second_attempts(id, kind);
            }
            self.tell_asks(id);
        }
        self.agenda.plan(self.now + SLOW_MS, Due::Slow);
        Ok(())
    }

    fn second_attempts(&mut self, id: JobId, kind: usize) {
        let (now, hardware) = (self.now, self.workload.hardware);
        let attempts = &self.attempts;
        let job = self.jobs[id.index()].as_deref_mut().expect("it is active");
        let (sum, count) = job.lengths[kind];
        if count == 0 || job.wanted()[kind] > 0 {
            return;
        }
        let limit_ms = SLOW_FACTOR * sum as f64 / count as f64;
        let of_kind = job
            .attempts
            .values()
            .filter(|at| attempts[**at].kind == kind);
        let running: Vec<usize> = of_kind.copied().collect();
        let most = running.len().div_ceil(10);
        let slow = |at: &&usize| {
            let attempt = &attempts[**at];
            let task = &job.tasks[kind][attempt.index as usize];
            // A reduce that waits for maps is not slow.
            let waits = attempt.phase == Phase::Copy && !job.maps_are_done();
            let late = (now - attempt.started_ms) as f64 > limit_ms;
            late && !waits && task.running == 1 && !task.wanted
        };
        let slow: Vec<u32> = running
            .iter()
            .filter(slow)
            .map(|at| attempts[*at].index)
            .take(most)
            .collect();
        for index in slow {
            match kind {
                MAP => job.want_map(index, &hardware),
                _ => job.want_reduce(index),
            }
        }
    }

    /// Kills a container that the engine has evicted.
    pub(super) fn evict(&mut self, id: JobId, key: u64) -> Checked {
        let job = self.jobs.get(id.index()).and_then(Option::as_deref);
        match job.and_then(|job| job.attempts.get(&key)).copied() {
            Some(at) => self.end_attempt(at, End::Evicted),
            None => self.end_master(id, key, End::Evicted),
        }
    }

    pub(super) fn plan_node_loss(&mut self) {
        if let Some(mean_ms) = self.options.trouble.node_loss_ms {
            // Uniform between 0 and twice the mean.
            let wait_ms = self.random.range(1, 2 * mean_ms.max(1));
            self.agenda.plan(self.now + wait_ms, Due::NodeLost);
        }
    }

    /// Loses a node. Its attempts end, and maps that had succeeded there run again if reduces may
    /// still want their output. HDFS does not replace its replicas.
    pub(super) fn lose_node(&mut self) -> Checked {
        self.plan_node_loss();
        let up = |node: &u32| self.machines[*node as usize].up;
        let nodes: Vec<u32> = (0..self.workload.hardware.nodes).filter(up).collect();
        if nodes.len() < 2 {
            return Ok(());
        }
        let node = nodes[self.random.below(nodes.len())];
        for at in self.machines[node as usize].attempts.clone() {
            // The end of one attempt may have ended another: their job failed.
            if self.attempts[at].phase != Phase::Gone {
                self.end_attempt(at, End::Lost)?;
            }
        }
        for id in self.active.clone() {
            self.lose_output(id, node);
        }
        self.tell_unreported(node);
        self.lose_masters(node)?;
        self.machines[node as usize].up = false;
        self.note_room(node);
        self.machines[node as usize].told_load = None;
        self.outbox.push(Event::NodeRemoved(NodeId(node)));
        let back_ms = self.options.trouble.node_back_ms.max(1);
        self.agenda.plan(self.now + back_ms, Due::NodeBack(node));
        self.flush()
    }

    fn lose_output(&mut self, id: JobId, node: u32) {
        let hardware = self.workload.hardware;
        let attempts = &self.attempts;
        // Reduces past the copy have all their input.
        let satisfied = |at: &&usize| {
            let phase = attempts[**at].phase;
            attempts[**at].kind == REDUCE && !matches!(phase, Phase::Prepare | Phase::Copy)
        };
        let job = self.jobs[id.index()].as_deref_mut().expect("it is active");
        let satisfied = job.attempts.values().filter(satisfied).count() as u32;
        if job.done[REDUCE] + satisfied >= job.plan.tasks[REDUCE] {
            return;
        }
        let lost: Vec<u32> = (0..job.plan.tasks[MAP])
            .filter(|map| job.tasks[MAP][*map as usize].done_on == Some(NodeId(node)))
            .collect();
        for map in &lost {
            job.tasks[MAP][*map as usize].done_on = None;
            job.done[MAP] -= 1;
            job.want_map(*map, &hardware);
        }
        for _ in lost {
            self.count_output(id, hardware.rack_of(node), false);
        }
        self.tell_asks(id);
    }

    pub(super) fn node_back(&mut self, node: u32) -> Checked {
        self.join_node(node);
        self.load_changed(node);
        Ok(())
    }

    /// Sets the foreign load of every node. It takes whole slots, spread so that they approximate
    /// the part of the cluster; a node's load is that of its slots. Tasks that hold more slots than
    /// are left slow down.
    pub(super) fn change_foreign(&mut self, i: usize) -> Checked {
        let (_, per_mille) = self.workload.foreign.steps[i];
        let nodes = self.workload.hardware.nodes;
        let slots = self.workload.hardware.slots_per_node();
        let taken = |nodes: u64| nodes * u64::from(per_mille) * u64::from(slots) / 1_000;
        for node in 0..nodes {
            // The slots that nodes 0 to `node` lose, less those that the nodes before it lose.
            let share = taken(u64::from(node) + 1) - taken(u64::from(node));
            let machine = &mut self.machines[node as usize];
            machine.foreign = share as f64 / f64::from(slots);
            machine.foreign_slots = share as u32;
            self.note_room(node);
            self.retime(node);
            self.load_changed(node);
        }
        self.plan_reports();
        if let Some((at, _)) = self.workload.foreign.steps.get(i + 1) {
            self.agenda.plan(*at, Due::Foreign(i + 1));
        }
        Ok(())
    }
}
