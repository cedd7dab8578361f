//! Models what only recorded jobs have: an ApplicationMaster that takes room, and reduces that make
//! way for maps. Follows Hadoop's `RMContainerAllocator`: while maps are
//! pending it asks for reduces in proportion to the maps done, up to half
//! (`mapreduce.job.reduce.rampup.limit`), and it stops reduces when no map of the job runs.

use super::attempts::End;
use super::job::{ASK_MASTER, MAP, REDUCE, RunningJob, RunningMaster};
use super::{ClusterSim, Due};
use crate::failure::Checked;
use heddle_core::words::event::Event;
use heddle_core::words::ids::{ContainerKey, JobId, Millis};

/// The next step of an ApplicationMaster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It has registered and asks for its tasks. The key is that of its container: an evicted
    /// ApplicationMaster does not ask.
    Ask(ContainerKey),
    /// All tasks are done: the job ends for its user.
    Commit,
    /// Its container ends.
    Leave,
}

impl ClusterSim {
    /// Starts the ApplicationMaster of a job.
    pub(super) fn start_master(&mut self, id: JobId, key: ContainerKey, node: u32) {
        let now = self.now;
        let job = self.job(id);
        let master = job.plan.master().expect("only its job asks for it");
        job.take_master(key, node);
        job.record.master_ms.get_or_insert(now);
        job.master_since_ms = now;
        self.machines[node as usize].taken += master.size;
        self.note_room(node);
        self.tell_launch(id, key, node);
        let due = Due::Master(id, Turn::Ask(key));
        self.agenda.plan(now + master.start_ms, due);
    }

    pub(super) fn plan_commit(&mut self, id: JobId, wait_ms: Millis) {
        let due = Due::Master(id, Turn::Commit);
        self.agenda.plan(self.now + wait_ms, due);
    }

    pub(super) fn master_due(&mut self, id: JobId, turn: Turn) -> Checked {
        let now = self.now;
        let Some(job) = self.jobs[id.index()].as_deref_mut() else {
            return Ok(());
        };
        match turn {
            Turn::Ask(key) => {
                let Some(master) = &mut job.master else {
                    return Ok(());
                };
                if master.container.is_some_and(|(own, _)| own == key) {
                    master.asks = true;
                    self.tell_asks(id);
                    self.end_if_done(id)?;
                }
            }
            Turn::Commit if job.is_done() && job.record.finished_ms.is_none() => {
                job.record.finished_ms = Some(now);
                let linger_ms = job.plan.master().map_or(0, |master| master.linger_ms);
                let due = Due::Master(id, Turn::Leave);
                self.agenda.plan(now + linger_ms, due);
            }
            Turn::Commit => {}
            Turn::Leave => self.end_job(id)?,
        }
        Ok(())
    }

    /// Frees the room of a job's ApplicationMaster, if it has one, and tells the engine.
    pub(super) fn release_master(&mut self, id: JobId, exit: i32) {
        let now = self.now;
        let job = self.job(id);
        let (Some(master), Some(size)) = (&mut job.master, job.plan.master()) else {
            return;
        };
        let Some((key, node)) = master.container.take() else {
            return;
        };
        job.record.hold(&size.size, now - job.master_since_ms);
        self.machines[node as usize].taken -= size.size;
        self.note_room(node);
        self.outbox
            .push(Event::ContainerCompleted { job: id, key, exit });
        self.freed.push(node);
    }

    /// Ends the container of an ApplicationMaster: its tasks end, and another attempt of the job
    /// begins with the tasks that are not done, as MapReduce recovers them.
    pub(super) fn end_master(&mut self, id: JobId, key: ContainerKey, end: End) -> Checked {
        let job = self.jobs.get(id.index()).and_then(Option::as_deref);
        let Some(job) = job.filter(|job| job.holds_master(key)) else {
            return Ok(());
        };
        if job.record.finished_ms.is_some() {
            // It has unregistered: its container ends, and the job with it.
            return self.end_job(id);
        }
        let attempts: Vec<usize> = job.attempts.values().copied().collect();
        self.results.wasted[end as usize] += 1;
        self.job(id).pause_master();
        for at in attempts {
            self.end_attempt(at, End::Second)?;
        }
        self.tell_unreported_of(id);
        self.release_master(id, end.exit());
        self.outbox.push(Event::JobReset(id));
        self.job(id).want_master();
        self.tell_asks(id);
        Ok(())
    }

    /// Ends the ApplicationMasters of a node that is lost.
    pub(super) fn lose_masters(&mut self, node: u32) -> Checked {
        for id in self.active.clone() {
            let job = self.jobs[id.index()].as_deref();
            let master = job.and_then(|job| job.master?.container);
            if let Some((key, at)) = master
                && at == node
            {
                self.end_master(id, key, End::Lost)?;
            }
        }
        Ok(())
    }

    /// Lets jobs stop reduces that keep the last room from their own maps.
    pub(super) fn ramp_down(&mut self) -> Checked {
        if self.workload.nodes.is_empty() {
            return Ok(());
        }
        for id in self.active.clone() {
            let Some(job) = self.jobs[id.index()].as_deref() else {
                continue;
            };
            let of = |kind: usize| {
                let attempts = &self.attempts;
                let all = job.attempts.values().copied();
                all.filter(move |at| attempts[*at].kind == kind)
            };
            if job.wanted()[MAP] == 0 || of(MAP).next().is_some() {
                continue;
            }
            let youngest = of(REDUCE).max_by_key(|at| self.attempts[*at].key);
            if let Some(at) = youngest {
                self.end_attempt(at, End::Second)?;
                let hardware = self.workload.hardware;
                self.job(id).ramp_down(&hardware);
                self.tell_asks(id);
            }
        }
        Ok(())
    }
}

impl RunningJob {
    fn holds_master(&self, key: ContainerKey) -> bool {
        let container = self.master.and_then(|master| master.container);
        container.is_some_and(|(own, _)| own == key)
    }

    /// Keeps the job from asking for tasks.
    fn pause_master(&mut self) {
        if let Some(master) = &mut self.master {
            master.asks = false;
        }
    }

    /// Asks for another ApplicationMaster; the engine has forgotten all asks.
    fn want_master(&mut self) {
        self.forget_told();
        self.master = Some(RunningMaster::default());
        self.want_container(ASK_MASTER);
    }

    /// Asks for as many reduces as the maps allow.
    pub(super) fn ramp_up(&mut self) {
        let [maps, reduces] = self.plan.tasks;
        let pending = self.wanted()[MAP] > 0;
        let part = f64::from(self.done[MAP]) / f64::from(maps.max(1));
        let goal = match pending {
            true => (f64::from(reduces) * part.min(0.5)) as u32,
            false => reduces,
        };
        let is_on_the_way = |job: &RunningJob, reduce: u32| {
            let task = &job.tasks[REDUCE][reduce as usize];
            task.wanted || task.running > 0 || task.done_on.is_some()
        };
        let mut on_the_way = (0..reduces).filter(|at| is_on_the_way(self, *at)).count() as u32;
        for reduce in 0..reduces {
            if on_the_way >= goal {
                break;
            }
            if !is_on_the_way(self, reduce) {
                self.want_reduce(reduce);
                on_the_way += 1;
            }
        }
    }

    /// Asks for no further reduce until a map has ended.
    fn ramp_down(&mut self, hardware: &super::Hardware) {
        for reduce in 0..self.plan.tasks[REDUCE] {
            self.unwant(REDUCE, reduce, hardware);
        }
    }
}
