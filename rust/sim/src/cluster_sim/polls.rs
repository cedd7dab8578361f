//! Tells what the plug-in learns on a real cluster, as it learns it (`Knowledge::Live`): launches,
//! ends and the load of others from reports of nodes, counters from polls of ApplicationMasters.
//! Under `Knowledge::Full` it tells ends and load at once, and no launches or counters.

use super::attempts::Phase;
use super::job::{MAP, REDUCE};
use super::{ClusterSim, Due, Knowledge, Source};
use crate::failure::Checked;
use heddle_core::words::event::{Event, JobCounters};
use heddle_core::words::ids::{ContainerKey, JobId, Millis, NodeId};

/// Time between two polls of a job's counters (`heddle.am-poll.counters-interval-ms`).
const COUNTERS_MS: Millis = 15_000;

/// Foreign loads and changes below this, in per mille, are not told (`host/src/foreign.rs`).
const LOAD_STEP: u32 = 50;

impl ClusterSim {
    fn reports(&self, source: Source) -> bool {
        !self.options.knowledge.is_exact(source)
    }

    /// Plans the next report of a node about what happened there.
    fn plan_beat(&mut self, node: u32) {
        let hardware = &self.workload.hardware;
        let period_ms = hardware.heartbeat_ms.max(1);
        // Nodes report one after the other.
        let offset_ms = i64::from(node) * period_ms / i64::from(hardware.nodes);
        let since_ms = (self.now - offset_ms).rem_euclid(period_ms);
        self.agenda
            .plan(self.now + period_ms - since_ms, Due::Beat(node));
    }

    /// Lets a node report if it has something to report.
    pub(super) fn beat(&mut self, node: u32) -> Checked {
        let machine = &self.machines[node as usize];
        let load = self.reports(Source::NodeLoad) && machine.told_load != Some(load(machine));
        if !machine.up || machine.unreported.is_empty() && !load {
            return Ok(());
        }
        self.freed.push(node);
        Ok(())
    }

    /// Queues what a node has to report, for the engine.
    pub(super) fn tell_unreported(&mut self, node: u32) {
        let machine = &mut self.machines[node as usize];
        let events = std::mem::take(&mut machine.unreported);
        for event in &events {
            // YARN hears of a container that ended before the report as ended only.
            let event = match *event {
                Event::ContainerLaunched { job, key, .. } if !ended(&events, job, key) => {
                    Event::ContainerLaunched {
                        job,
                        key,
                        launched_ms: self.now,
                    }
                }
                Event::ContainerLaunched { .. } => continue,
                other => other,
            };
            self.outbox.push(event);
        }
        if self.reports(Source::NodeLoad) {
            self.tell_load(node);
        }
    }

    /// Queues the ends of a job's containers. An ApplicationMaster unregisters seconds after its
    /// last task, so their nodes report before it.
    pub(super) fn tell_unreported_of(&mut self, id: JobId) {
        for machine in &mut self.machines {
            machine.unreported.retain(|event| match event {
                Event::ContainerCompleted { job, .. } if *job == id => {
                    self.outbox.push(*event);
                    false
                }
                Event::ContainerLaunched { job, .. } => *job != id,
                _ => true,
            });
        }
    }

    /// Tells that a container runs. Under `Knowledge::Full` its grant says so.
    pub(super) fn tell_launch(&mut self, job: JobId, key: ContainerKey, node: u32) {
        if self.reports(Source::Lengths) {
            let launched = Event::ContainerLaunched {
                job,
                key,
                launched_ms: self.now,
            };
            self.machines[node as usize].unreported.push(launched);
            self.plan_beat(node);
        }
    }

    /// Tells that a container ended.
    pub(super) fn tell_end(&mut self, ended: Event, node: u32) {
        if self.reports(Source::Lengths) {
            self.machines[node as usize].unreported.push(ended);
            self.plan_beat(node);
        } else {
            self.outbox.push(ended);
            self.freed.push(node);
        }
    }

    /// Tells of a change of the foreign load, or lets the node's next report do it.
    pub(super) fn load_changed(&mut self, node: u32) {
        if self.reports(Source::NodeLoad) {
            self.plan_beat(node);
        } else {
            self.tell_load(node);
        }
    }

    fn tell_load(&mut self, node: u32) {
        let reports = self.reports(Source::NodeLoad);
        let machine = &mut self.machines[node as usize];
        let load = load(machine);
        let load = if reports && load < LOAD_STEP { 0 } else { load };
        let differs = machine.told_load.is_none_or(|told| {
            let at_end = load == 0 || load == 1_000;
            told != load && (at_end || load.abs_diff(told) >= LOAD_STEP)
        });
        if machine.up && (!reports || differs) {
            machine.told_load = Some(load);
            self.outbox.push(Event::NodeLoad {
                node: NodeId(node),
                foreign_per_mille: load,
            });
        }
    }

    /// Plans the next poll of counters. Under `Knowledge::Full` tasks tell their bytes.
    pub(super) fn plan_counters(&mut self) {
        if self.options.knowledge != Knowledge::Full {
            self.agenda.plan(self.now + COUNTERS_MS, Due::Counters);
        }
    }

    /// Tells the counters of all jobs.
    pub(super) fn tell_counters(&mut self) -> Checked {
        for id in &self.active {
            let counters = self.counters(*id);
            self.outbox.push(Event::JobCounters { job: *id, counters });
        }
        self.plan_counters();
        Ok(())
    }

    /// Returns the work of a job's tasks, running ones included.
    fn counters(&self, id: JobId) -> JobCounters {
        let job = self.jobs[id.index()].as_deref().expect("it is active");
        let plan = &job.plan;
        let part = |bytes: u64, kind: usize| bytes as f64 / f64::from(plan.tasks[kind].max(1));
        let done = job.done.map(f64::from);
        let writers = if plan.tasks[REDUCE] == 0 { MAP } else { REDUCE };
        let mut input = part(plan.input_bytes, MAP) * done[MAP];
        let mut shuffled = part(plan.shuffle_bytes, REDUCE) * done[REDUCE];
        let mut written = part(plan.output_bytes, writers) * done[writers];
        for at in job.attempts.values() {
            let attempt = &self.attempts[*at];
            if attempt.kind == MAP {
                input += part(plan.input_bytes, MAP) * self.progress(*at);
            }
            let fetches = attempt.fetching.iter().flatten();
            let moved = fetches.map(|flow| self.network.moved(*flow));
            shuffled += attempt.got.iter().sum::<f64>() + moved.sum::<f64>();
            if let Phase::Write(flow) = attempt.phase {
                written += self.network.moved(flow);
            }
        }
        let output = match plan.tasks[REDUCE] {
            0 => 0.0,
            _ => part(plan.shuffle_bytes, MAP) * done[MAP],
        };
        JobCounters {
            done: job.done,
            input_bytes: input as u64,
            map_output_bytes: output as u64,
            shuffled_bytes: shuffled as u64,
            written_bytes: written as u64,
        }
    }
}

fn load(machine: &super::Machine) -> u32 {
    (machine.foreign * 1_000.0) as u32
}

fn ended(events: &[Event], job: JobId, key: ContainerKey) -> bool {
    let of = |event: &Event| match event {
        Event::ContainerCompleted { job, key, .. } => Some((*job, *key)),
        _ => None,
    };
    events.iter().filter_map(of).any(|end| end == (job, key))
}
