//! Attempts of tasks, phase by phase.
//!
//! A map starts, reads its block, and writes to HDFS if the job has no reduces. It streams the
//! block over the network if no replica is in its rack. A reduce starts, copies (`shuffle`), sorts
//! and runs the reduce function, and writes to HDFS. Writing to HDFS takes as long as its second
//! replica takes to another rack. Disks and links inside racks are not modelled beyond the rates of
//! `hardware`.
//!
//! Computing phases run at the node's speed: slower when foreign load takes slots that tasks hold.

use super::job::{MAP, REDUCE};
use super::network::{Cause, Flow, FlowId};
use super::{ClusterSim, Due, Source};
use crate::failure::Checked;
use heddle_core::words::event::{Event, TaskFacts};
use heddle_core::words::exit;
use heddle_core::words::ids::{ContainerKey, JobId, Locality, Millis};

/// The phase of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It starts; a map with its block in the rack also computes.
    Prepare,
    /// A map reads its block from another rack while it computes.
    Read(FlowId),
    /// A reduce fetches map output.
    Copy,
    /// A reduce computes.
    Execute,
    /// Writes output to another rack.
    Write(FlowId),
    /// Writes output in a cluster of one rack.
    WriteHere,
    /// Its flow has ended, and the next phase has not begun.
    Between,
    /// It has ended.
    Gone,
}

/// The reason for the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The scheduler evicted its container.
    Evicted = 0,
    Failed = 1,
    /// Its node was lost.
    Lost = 2,
    /// Its job stopped it: another attempt finished first, the job failed, or room was needed.
    Second = 3,
    Succeeded,
}

impl End {
    /// YARN's exit status.
    pub(super) fn exit(self) -> i32 {
        match self {
            End::Succeeded => 0,
            End::Failed => 1,
            End::Lost => exit::LOST,
            End::Evicted => exit::PREEMPTED,
            End::Second => exit::STOPPED,
        }
    }
}

/// An attempt of a task.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) job: JobId,
    pub(super) key: ContainerKey,
    pub(super) kind: usize,
    pub(super) index: u32,
    pub(super) node: u32,
    pub(super) rack: usize,
    pub(super) started_ms: Millis,
    pub(super) phase: Phase,
    /// Whether it fails: a map at the end of `Prepare`, a reduce at the end of `Execute`.
    doomed: bool,
    /// How many times longer than the mean it computes.
    factor: f64,
    /// The computing phase's work, in ms at full speed: the total, and the rest at `since_ms`.
    work: f64,
    left: f64,
    since_ms: Millis,
    speed: f64,
    /// Distinguishes the planned end from outdated plans.
    plan: u32,
    /// Bytes fetched, by rack.
    pub(super) got: Vec<f64>,
    /// Running fetches, by rack.
    pub(super) fetching: Vec<Option<FlowId>>,
    executing_since_ms: Option<Millis>,
}

impl ClusterSim {
    /// Starts the task of a granted container.
    pub(super) fn start_attempt(
        &mut self,
        id: JobId,
        key: ContainerKey,
        kind: usize,
        index: u32,
        node: u32,
    ) {
        let now = self.now;
        let at = self.holes.pop().unwrap_or(self.attempts.len());
        let plan = self.attempts.get(at).map_or(0, |old| old.plan);
        let (factor, doomed) = self.fortune(id, kind, index);
        let attempt = Attempt {
            job: id,
            key,
            kind,
            index,
            node,
            rack: self.workload.hardware.rack_of(node),
            started_ms: now,
            phase: Phase::Prepare,
            doomed,
            factor,
            work: 0.0,
            left: 0.0,
            since_ms: now,
            speed: 1.0,
            plan,
            got: Vec::new(),
            fetching: Vec::new(),
            executing_since_ms: None,
        };
        match at == self.attempts.len() {
            true => self.attempts.push(attempt),
            false => self.attempts[at] = attempt,
        }
        let size = self.job(id).plan.size(kind);
        let machine = &mut self.machines[node as usize];
        machine.attempts.push(at);
        machine.running[kind] += 1;
        machine.taken += size;
        self.note_room(node);
        let job = self.job(id);
        job.attempts.insert(key, at);
        job.tasks[kind][index as usize].running += 1;
        job.record.started_ms.get_or_insert(now);
        self.results.attempts[kind] += 1;
        let work = self.preparation(at);
        self.compute(at, work);
        self.retime(node);
        self.tell_launch(id, key, node);
    }

    /// Returns the work of the first phase: the overhead, and a map's computing unless it streams.
    fn preparation(&mut self, at: usize) -> f64 {
        let attempt = &self.attempts[at];
        let (id, index, node) = (attempt.job, attempt.index, attempt.node);
        let factor = attempt.factor;
        let hardware = self.workload.hardware;
        let overhead = hardware.overhead_ms as f64;
        if self.attempts[at].kind == REDUCE {
            return overhead;
        }
        let computing = self.map_ms(id, index) * factor;
        let job = self.job(id);
        let has_block = !job.blocks.is_empty();
        let locality = job.locality(index, heddle_core::words::ids::NodeId(node), &hardware);
        if has_block {
            job.record.locality[locality as usize] += 1;
        }
        // A recorded map has no bytes: its length is the same everywhere.
        let has_bytes = job.plan.input_bytes > 0;
        let streams = has_block && has_bytes && locality == Locality::OffSwitch;
        overhead + if streams { 0.0 } else { computing }
    }

    /// Returns how long a map of a job computes at full speed.
    fn map_ms(&mut self, id: JobId, index: u32) -> f64 {
        let rate = self.workload.hardware.map_bytes_per_s as f64 / 1e3;
        let plan = &self.job(id).plan;
        if let Some(ms) = plan.recorded_ms(MAP, index) {
            return ms as f64;
        }
        let bytes = plan.input_bytes as f64 / f64::from(plan.tasks[MAP].max(1));
        plan.map_ms.map_or(bytes / rate, |ms| ms as f64)
    }

    /// Begins a computing phase.
    fn compute(&mut self, at: usize, work: f64) {
        let speed = self.speed(self.attempts[at].node);
        let attempt = &mut self.attempts[at];
        attempt.work = work;
        attempt.left = work;
        attempt.since_ms = self.now;
        attempt.speed = speed;
        self.plan_attempt(at);
    }

    fn plan_attempt(&mut self, at: usize) {
        let attempt = &mut self.attempts[at];
        attempt.plan = attempt.plan.wrapping_add(1);
        let wait_ms = (attempt.left / attempt.speed - 1e-6).max(0.0).ceil();
        let due = Due::Attempt(at, attempt.plan);
        self.agenda.plan(self.now + wait_ms as Millis, due);
    }

    /// Applies a node's new speed to its computing attempts.
    pub(super) fn retime(&mut self, node: u32) {
        let speed = self.speed(node);
        for at in self.machines[node as usize].attempts.clone() {
            let attempt = &mut self.attempts[at];
            let computes = matches!(
                attempt.phase,
                Phase::Prepare | Phase::Execute | Phase::WriteHere
            );
            if computes && attempt.speed != speed {
                let passed = (self.now - attempt.since_ms) as f64;
                attempt.left = (attempt.left - passed * attempt.speed).max(0.0);
                attempt.since_ms = self.now;
                attempt.speed = speed;
                self.plan_attempt(at);
            }
        }
    }

    pub(super) fn attempt_due(&mut self, at: usize, plan: u32) -> Checked {
        let attempt = &self.attempts[at];
        if attempt.plan != plan || attempt.phase == Phase::Gone {
            return Ok(());
        }
        match (attempt.phase, attempt.kind) {
            (Phase::Prepare | Phase::Execute, _) if self.fails_now(at) => {
                self.end_attempt(at, End::Failed)
            }
            (Phase::Prepare, MAP) => self.read_or_write(at),
            (Phase::Prepare, _) => self.begin_copy(at),
            (Phase::Execute, _) => self.write(at),
            (Phase::WriteHere, _) => self.end_attempt(at, End::Succeeded),
            (phase, _) => unreachable!("nothing is planned in {phase:?}"),
        }
    }

    fn fails_now(&self, at: usize) -> bool {
        let attempt = &self.attempts[at];
        attempt.doomed && (attempt.kind == MAP || attempt.phase == Phase::Execute)
    }

    /// Continues a map after its start, and after its computing if its data is near.
    fn read_or_write(&mut self, at: usize) -> Checked {
        let attempt = &self.attempts[at];
        let (id, index, rack, factor) = (attempt.job, attempt.index, attempt.rack, attempt.factor);
        let hardware = self.workload.hardware;
        let map_ms = (self.map_ms(id, index) * factor).max(1.0);
        let job = self.job(id);
        let Some(block) = job.blocks.get(index as usize) else {
            return self.write(at);
        };
        let racks: Vec<usize> = block.racks(&hardware).collect();
        let bytes = job.plan.input_bytes as f64 / f64::from(job.plan.tasks[MAP].max(1));
        if racks.contains(&rack) || bytes == 0.0 {
            return self.write(at);
        }
        // Spread the reads over the racks with a replica.
        let from = racks[index as usize % racks.len()];
        let flow = self.start_flow(at, from, rack, bytes, bytes / map_ms, Cause::MapRead);
        self.attempts[at].phase = Phase::Read(flow);
        Ok(())
    }

    fn start_flow(
        &mut self,
        at: usize,
        from: usize,
        to: usize,
        bytes: f64,
        cap: f64,
        cause: Cause,
    ) -> FlowId {
        self.network.start(Flow {
            from,
            to,
            bytes,
            cap,
            cause,
            owner: at,
        })
    }

    /// Starts the reduce function once all input is there.
    pub(super) fn execute(&mut self, at: usize) {
        let now = self.now;
        let attempt = &mut self.attempts[at];
        attempt.phase = Phase::Execute;
        attempt.executing_since_ms = Some(now);
        let (id, index, factor) = (attempt.job, attempt.index, attempt.factor);
        let rate = self.workload.hardware.reduce_bytes_per_s as f64 / 1e3;
        let plan = &self.job(id).plan;
        let bytes = plan.shuffle_bytes as f64 / f64::from(plan.tasks[REDUCE].max(1));
        let known_ms = plan.recorded_ms(REDUCE, index).or(plan.reduce_ms);
        let work = known_ms.map_or(bytes / rate, |ms| ms as f64);
        if self.options.knowledge.is_exact(Source::Progress) {
            self.tell_task(at, false);
        }
        self.compute(at, work * factor);
    }

    /// Writes the task's part of the job's output to HDFS, if it has any.
    fn write(&mut self, at: usize) -> Checked {
        let hardware = self.workload.hardware;
        let (id, kind, rack) = {
            let attempt = &self.attempts[at];
            (attempt.job, attempt.kind, attempt.rack)
        };
        let plan = &self.job(id).plan;
        let bytes = match (kind, plan.tasks[REDUCE]) {
            (MAP, 0) => plan.output_bytes as f64 / f64::from(plan.tasks[MAP]),
            (MAP, _) => 0.0,
            (_, reduces) => plan.output_bytes as f64 / f64::from(reduces),
        };
        let rate = hardware.write_bytes_per_s as f64 / 1e3;
        if bytes < 1.0 {
            return self.end_attempt(at, End::Succeeded);
        } else if hardware.racks < 2 {
            self.attempts[at].phase = Phase::WriteHere;
            self.compute(at, bytes / rate);
            return Ok(());
        }
        let index = self.attempts[at].index;
        let mut luck = self.luck([3, u64::from(id.0), kind as u64, u64::from(index)]);
        let racks = hardware.racks as usize;
        let to = (rack + 1 + luck.below(racks - 1)) % racks;
        let flow = self.start_flow(at, rack, to, bytes, rate, Cause::Write);
        self.attempts[at].phase = Phase::Write(flow);
        Ok(())
    }

    /// Handles the flows that have ended.
    pub(super) fn flow_due(&mut self) -> Checked {
        if self.flow_at != Some(self.now) {
            // An outdated plan.
            return Ok(());
        }
        self.flow_at = None;
        let mut finished = Vec::new();
        self.network.take_finished(&mut finished);
        // Record all of them first: what follows from one may end the attempt of another.
        for flow in &finished {
            self.count_crossed(flow, flow.bytes);
            let attempt = &mut self.attempts[flow.owner];
            match flow.cause {
                Cause::Shuffle => {
                    attempt.fetching[flow.from] = None;
                    attempt.got[flow.from] += flow.bytes;
                }
                Cause::MapRead | Cause::Write => attempt.phase = Phase::Between,
            }
        }
        for flow in finished {
            let at = flow.owner;
            match (flow.cause, self.attempts[at].phase) {
                (Cause::MapRead, Phase::Between) => self.write(at)?,
                (Cause::Write, Phase::Between) => self.end_attempt(at, End::Succeeded)?,
                (Cause::Shuffle, Phase::Copy) => self.fetch(at)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn count_crossed(&mut self, flow: &Flow<usize>, bytes: f64) {
        if flow.from == flow.to {
            return;
        }
        let id = self.attempts[flow.owner].job;
        if let Some(job) = self.jobs[id.index()].as_deref_mut() {
            job.record.crossed[flow.cause as usize] += bytes;
        }
    }

    /// Ends an attempt: frees its slot, and marks its task as done or in need of another attempt.
    pub(super) fn end_attempt(&mut self, at: usize, end: End) -> Checked {
        if end == End::Succeeded && self.options.knowledge.is_exact(Source::Progress) {
            self.tell_task(at, true);
        }
        let attempt = &mut self.attempts[at];
        let phase = std::mem::replace(&mut attempt.phase, Phase::Gone);
        let mut flows: Vec<FlowId> = attempt.fetching.drain(..).flatten().collect();
        if let Phase::Read(flow) | Phase::Write(flow) = phase
            && end != End::Succeeded
        {
            flows.push(flow);
        }
        let (id, key, kind, index) = (attempt.job, attempt.key, attempt.kind, attempt.index);
        let (node, started_ms) = (attempt.node, attempt.started_ms);
        for flow in flows {
            let (flow, moved) = self.network.stop(flow);
            self.count_crossed(&flow, moved);
        }
        self.holes.push(at);
        let size = self.job(id).plan.size(kind);
        let machine = &mut self.machines[node as usize];
        machine.attempts.retain(|other| *other != at);
        machine.running[kind] -= 1;
        machine.taken -= size;
        self.note_room(node);
        self.retime(node);
        let held_ms = self.now - started_ms;
        let job = self.job(id);
        job.record.hold(&size, held_ms);
        job.attempts.remove(&key);
        job.tasks[kind][index as usize].running -= 1;
        job.record.slot_ms[kind] += held_ms;
        let ended = Event::ContainerCompleted {
            job: id,
            key,
            exit: end.exit(),
        };
        self.tell_end(ended, node);
        match end {
            End::Succeeded => self.succeed(id, kind, index, node, held_ms),
            end => {
                self.results.wasted[end as usize] += 1;
                self.try_again(id, kind, index, end)
            }
        }
    }

    /// Tells the engine how far an attempt is.
    pub(super) fn tell_task(&mut self, at: usize, ended: bool) {
        let attempt = &self.attempts[at];
        let (job, key, kind) = (attempt.job, attempt.key, attempt.kind);
        let executing_since_ms = attempt.executing_since_ms;
        let done = if ended { 1.0 } else { self.progress(at) };
        let committing = matches!(self.attempts[at].phase, Phase::Write(_) | Phase::WriteHere);
        let got: f64 = self.attempts[at].got.iter().sum();
        let plan = &self.job(job).plan;
        let part = |bytes: u64| bytes as f64 / f64::from(plan.tasks[kind].max(1));
        let (input, output) = match (kind, plan.tasks[REDUCE]) {
            (MAP, 0) => (part(plan.input_bytes), part(plan.output_bytes)),
            (MAP, _) => (part(plan.input_bytes), part(plan.shuffle_bytes)),
            _ => (got, part(plan.output_bytes)),
        };
        let read = if kind == MAP { input * done } else { input };
        // Polls tell no bytes of single tasks.
        let exact = self.options.knowledge.is_exact(Source::Progress);
        let bytes = |amount: f64| if exact { amount as u64 } else { 0 };
        self.outbox.push(Event::Task {
            job,
            key,
            facts: TaskFacts {
                progress_per_mille: (done * 1_000.0) as u32,
                input_bytes: bytes(read),
                output_bytes: bytes(output * done),
                executing_since_ms,
                committing,
            },
        });
    }

    /// Returns the part of a map, or of a reduce's execution, that is done.
    pub(super) fn progress(&self, at: usize) -> f64 {
        let attempt = &self.attempts[at];
        match (attempt.phase, attempt.kind) {
            (Phase::Prepare, MAP) | (Phase::Execute, _) => {
                let passed = (self.now - attempt.since_ms) as f64 * attempt.speed;
                let left = (attempt.left - passed).max(0.0);
                1.0 - left / attempt.work.max(1.0)
            }
            (Phase::Read(flow), _) => self.network.progress(flow),
            (Phase::Write(_) | Phase::WriteHere, _) => 0.99,
            _ => 0.0,
        }
    }

    /// Returns how fast tasks compute on a node. Foreign load comes first; tasks share the rest.
    /// Recorded tasks take as long as they took.
    fn speed(&self, node: u32) -> f64 {
        if !self.workload.nodes.is_empty() {
            return 1.0;
        }
        let machine = &self.machines[node as usize];
        let slots = f64::from(self.workload.hardware.slots_per_node());
        let left = slots * (1.0 - machine.foreign);
        let running = machine.attempts.len() as f64;
        // Foreign load never takes all: a task goes on, if slowly.
        (left / running.max(1.0)).clamp(0.05, 1.0)
    }
}
