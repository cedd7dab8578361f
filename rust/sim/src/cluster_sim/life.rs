//! The life of jobs: submission, tasks that succeed or retry, and the end. In a stream, the end of
//! one job is the submission of the next.

use super::ClusterSim;
use super::attempts::End;
use super::job::{ATTEMPTS_MAX, MAP, REDUCE, RunningJob};
use super::metrics::JobRecord;
use super::workload::JobPlan;
use crate::failure::{Check, Checked, Failure};
use crate::link::{FNV_EMPTY, fnv};
use heddle_core::words::event::{Event, JobFacts, JobHints};
use heddle_core::words::ids::{JobId, Millis, NodeId, PlaceId, QueueId, UserId};
use serde_json::json;
use std::collections::BTreeMap;

/// Returns a program's signature, a hash of its name, which tells its runs from others.
fn signature(program: &str) -> u64 {
    fnv(FNV_EMPTY, program.bytes())
}

impl ClusterSim {
    pub(super) fn submit_planned(&mut self, i: usize) -> Checked {
        self.submissions_left -= 1;
        let plan = self.workload.jobs[i].clone();
        self.submit(plan, None, i as u64)
    }

    /// Submits the next job of a stream, after its requests.
    pub(super) fn submit_next(&mut self, at: usize, number: u32) -> Checked {
        let stream = &self.workload.streams[at];
        if stream.count.is_some_and(|count| number >= count) {
            return Ok(());
        }
        let plan = stream.job.clone();
        self.submissions_left -= usize::from(number == 0);
        for request in stream.requests.get(&number).cloned().unwrap_or_default() {
            self.request(request)?;
        }
        // Beyond the numbers of planned jobs.
        let number_in_all = (1 << 40) | (at as u64) << 20 | u64::from(number);
        self.submit(plan, Some((at, number)), number_in_all)
    }

    fn submit(&mut self, plan: JobPlan, stream: Option<(usize, u32)>, number: u64) -> Checked {
        let id = JobId(self.jobs.len() as u32);
        let mut record = self.record(id, &plan, stream);
        let (user, queue) = match self.place(&plan)? {
            Ok(placed) => placed,
            Err(why) => {
                record.refused = Some(why);
                self.jobs.push(None);
                self.results.jobs.push(record);
                return Ok(());
            }
        };
        record.queue = self.queues.get(&queue).cloned().unwrap_or_default();
        self.outbox.push(Event::JobAdded(JobFacts {
            job: id,
            queue,
            user,
            priority: plan.priority,
            mapreduce: true,
            unmanaged_am: plan.master().is_none(),
            submitted_ms: self.now,
        }));
        let hints = self.hints(&plan);
        self.outbox.push(Event::JobHints { job: id, hints });
        let hardware = self.workload.hardware;
        let blocks = match (&plan.recorded, plan.input_bytes) {
            (Some(recorded), _) => recorded.blocks.clone(),
            (_, 0) => Vec::new(),
            _ => hardware.place_file(plan.tasks[MAP], &mut self.luck([1, number, 0, 0])),
        };
        let mut job = RunningJob::new(id, plan, blocks, record, &hardware);
        job.stream = stream;
        self.tell_blocks(&job);
        self.jobs.push(Some(Box::new(job)));
        self.active.push(id);
        self.plan_tick(0);
        if self.job(id).maps_are_done() {
            self.ask_for_reduces(id);
        }
        self.tell_asks(id);
        self.end_if_done(id)
    }

    /// Returns the number of a job's user and the job's queue, or why the engine refuses the job.
    /// Asks the engine for each recorded job, otherwise only for the first job of a user. Only
    /// recorded jobs may be refused.
    fn place(&mut self, plan: &JobPlan) -> Checked<Result<(UserId, QueueId), String>> {
        let number = UserId(self.users.len() as u32);
        let known = self.users.get(&plan.user).copied();
        if let (Some(known), None) = (known, &plan.recorded) {
            return Ok(Ok(known));
        }
        let user = known.map_or(number, |(user, _)| user);
        let mut request = json!({"op": "place", "user": plan.user});
        if let Some(recorded) = &plan.recorded {
            request["user_number"] = json!(user.0);
            if let Some(queue) = &recorded.queue {
                request["queue"] = json!(queue);
            }
        }
        self.flush()?;
        let reply = match self.link.request(self.now, request.clone())? {
            Ok(reply) => reply,
            Err(why) if plan.recorded.is_some() => return Ok(Err(why)),
            Err(why) => {
                let what = format!("{request}: {why}");
                return Err(Failure::new(Check::Decision, what));
            }
        };
        let queue = reply["queue"].as_u64();
        let queue = queue.ok_or_else(|| Failure::new(Check::Decision, "a place without queue"))?;
        let queue = QueueId(queue as u32);
        let path = reply["path"].as_str().unwrap_or_default();
        self.queues.insert(queue, path.to_string());
        self.users.insert(plan.user.clone(), (user, queue));
        Ok(Ok((user, queue)))
    }

    fn hints(&self, plan: &JobPlan) -> JobHints {
        let per_mille = |part: u64, of: u64| (1_000 * part).checked_div(of);
        let shuffle_per_mille = per_mille(plan.shuffle_bytes, plan.input_bytes);
        let overhead_ms = self.workload.hardware.overhead_ms;
        let lengths = plan.lengths_ms(&self.workload.hardware);
        let recurs = !plan.class.is_empty() && !plan.mixed;
        JobHints {
            tasks: plan.tasks.map(Some),
            input_bytes: (plan.input_bytes > 0).then_some(plan.input_bytes),
            shuffle_per_mille: shuffle_per_mille
                .filter(|_| plan.profiled)
                .map(|ratio| ratio as u32),
            deadline_ms: plan.goal_ms.map(|goal_ms| self.now + goal_ms),
            task_ms: lengths.map(|ms| plan.profiled.then_some(ms + overhead_ms)),
            signature: recurs.then(|| signature(&plan.class)),
        }
    }

    fn record(&self, id: JobId, plan: &JobPlan, stream: Option<(usize, u32)>) -> JobRecord {
        JobRecord {
            id,
            user: plan.user.clone(),
            class: plan.class.clone(),
            tasks: plan.tasks,
            bytes: [plan.input_bytes, plan.shuffle_bytes, plan.output_bytes],
            number: stream.map(|(_, number)| number),
            submitted_ms: self.now,
            goal_ms: plan.goal_ms.map(|goal_ms| self.now + goal_ms),
            ..JobRecord::default()
        }
    }

    /// Tells the engine where a job's input is, with one event per set of racks.
    fn tell_blocks(&mut self, job: &RunningJob) {
        let hardware = &self.workload.hardware;
        let mut sets: BTreeMap<[PlaceId; 3], u32> = BTreeMap::new();
        for block in &job.blocks {
            let mut racks = [PlaceId::ANY; 3];
            for (place, rack) in racks.iter_mut().zip(block.racks(hardware)) {
                *place = hardware.rack_place(rack);
            }
            racks[..2].sort_unstable();
            if racks[0] == PlaceId::ANY {
                racks.swap(0, 1);
            }
            *sets.entry(racks).or_insert(0) += 1;
        }
        let bytes = job.plan.input_bytes / u64::from(job.plan.tasks[MAP].max(1));
        for (racks, blocks) in sets {
            self.outbox.push(Event::InputBlocks {
                job: job.id,
                racks,
                blocks,
                bytes: bytes * u64::from(blocks),
            });
        }
    }

    pub(super) fn ask_for_reduces(&mut self, id: JobId) {
        let job = self.job(id);
        if job.plan.recorded.is_some() {
            job.reduces_asked = true;
            job.ramp_up();
        } else if !std::mem::replace(&mut job.reduces_asked, true) {
            for reduce in 0..job.plan.tasks[REDUCE] {
                job.want_reduce(reduce);
            }
        }
    }

    /// Marks a task as done.
    pub(super) fn succeed(
        &mut self,
        id: JobId,
        kind: usize,
        index: u32,
        node: u32,
        length_ms: Millis,
    ) -> Checked {
        let hardware = self.workload.hardware;
        let slow_start = self.options.slow_start_per_mille;
        let now = self.now;
        let job = self.job(id);
        let recorded = job.plan.recorded.as_ref();
        let own = recorded.and_then(|recorded| recorded.slow_start_per_mille);
        let slow_start = u64::from(own.unwrap_or(slow_start));
        job.unwant(kind, index, &hardware);
        job.tasks[kind][index as usize].done_on = Some(NodeId(node));
        job.done[kind] += 1;
        job.lengths[kind].0 += length_ms;
        job.lengths[kind].1 += 1;
        self.stop_others(id, kind, index)?;
        if kind == MAP {
            self.count_output(id, hardware.rack_of(node), true);
            let job = self.job(id);
            let maps = u64::from(job.plan.tasks[MAP]);
            if u64::from(job.done[MAP]) * 1_000 >= maps * slow_start {
                self.ask_for_reduces(id);
            }
            let job = self.job(id);
            if job.maps_are_done() {
                job.record.mapped_ms = Some(now);
                self.publish(id)?;
            } else {
                self.plan_publication(id);
            }
        }
        self.tell_asks(id);
        self.end_if_done(id)
    }

    /// Stops the other attempts of a finished task.
    fn stop_others(&mut self, id: JobId, kind: usize, index: u32) -> Checked {
        let attempts = &self.attempts;
        let job = self.jobs[id.index()].as_deref().expect("its task is done");
        // Few tasks have another attempt, and large jobs have thousands to look through.
        if job.tasks[kind][index as usize].running == 0 {
            return Ok(());
        }
        let same = |at: &&usize| (attempts[**at].kind, attempts[**at].index) == (kind, index);
        let others: Vec<usize> = job.attempts.values().filter(same).copied().collect();
        for at in others {
            self.end_attempt(at, End::Second)?;
        }
        Ok(())
    }

    /// Handles an attempt that did not succeed: its task wants another unless one runs or it is
    /// done.
    pub(super) fn try_again(&mut self, id: JobId, kind: usize, index: u32, end: End) -> Checked {
        let hardware = self.workload.hardware;
        let job = self.job(id);
        if job.record.failed {
            return Ok(());
        }
        let task = &mut job.tasks[kind][index as usize];
        task.failures += u8::from(end == End::Failed);
        if task.failures >= ATTEMPTS_MAX {
            return self.fail(id);
        }
        if task.running == 0 && task.done_on.is_none() && !task.wanted {
            match (kind, end) {
                (MAP, End::Failed) => job.want_failed_map(index),
                (MAP, _) => job.want_map(index, &hardware),
                _ => job.want_reduce(index),
            }
        }
        self.tell_asks(id);
        Ok(())
    }

    fn fail(&mut self, id: JobId) -> Checked {
        let job = self.job(id);
        job.record.failed = true;
        // Prevent further attempts by marking every task as done.
        for task in job.tasks.iter_mut().flatten() {
            task.done_on.get_or_insert(NodeId(0));
        }
        let attempts: Vec<usize> = job.attempts.values().copied().collect();
        for at in attempts {
            self.end_attempt(at, End::Second)?;
        }
        self.end_job(id)
    }

    pub(super) fn end_if_done(&mut self, id: JobId) -> Checked {
        let job = self.job(id);
        match (job.is_done(), job.plan.master()) {
            (true, None) => self.end_job(id),
            (true, Some(master)) => {
                self.plan_commit(id, master.commit_ms);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn end_job(&mut self, id: JobId) -> Checked {
        self.tell_unreported_of(id);
        self.release_master(id, 0);
        self.outbox.push(Event::JobRemoved(id));
        let stream = self.record_end(id, Some(self.now));
        self.active.retain(|active| *active != id);
        if let Some((at, number)) = stream {
            self.submit_next(at, number + 1)?;
        }
        Ok(())
    }

    /// Keeps the record of a job and drops the rest. Returns the job's stream.
    pub(super) fn record_end(&mut self, id: JobId, at: Option<Millis>) -> Option<(usize, u32)> {
        let now = self.now;
        let mut job = self.jobs[id.index()].take().expect("a job ends once");
        job.record.finished_ms = job.record.finished_ms.or(at);
        for attempt in job.attempts.values() {
            let attempt = &self.attempts[*attempt];
            let held_ms = now - attempt.started_ms;
            job.record.slot_ms[attempt.kind] += held_ms;
            job.record.hold(&job.plan.size(attempt.kind), held_ms);
        }
        self.results.jobs.push(job.record);
        job.stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_sim::{Options, Workload};

    #[test]
    fn the_engine_is_told_which_jobs_are_runs_of_one_program() {
        let options = Options::new("test", json!({}));
        let sim = ClusterSim::new(Workload::default(), options).expect("nothing is wrong");
        let plan_of = |class: &str, mixed: bool| {
            let class = class.to_string();
            let plan = JobPlan {
                class,
                mixed,
                ..JobPlan::default()
            };
            sim.hints(&plan).signature
        };
        let of = |class: &str| plan_of(class, false);
        assert_eq!(of("grep"), of("grep"));
        assert_ne!(of("grep"), of("sort"));
        assert_eq!(of(""), None);
        assert_eq!(plan_of("small", true), None);
    }
}
