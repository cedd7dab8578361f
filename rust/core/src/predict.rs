//! Expected starts and ends of jobs, with a band around each that four of five jobs keep to.
//!
//! `expected` estimates the length of tasks, `line` looks ahead over the jobs of a leaf, and
//! `calibration` learns the error of both. Predictions are for people: no policy reads them, and
//! decisions are the same with and without. They promise nothing about later jobs, except that
//! errors of the past include the later jobs of that time.

pub(crate) mod calibration;
pub(crate) mod expected;
pub(crate) mod line;
pub(crate) mod slots;

pub(crate) use expected::Basis;

use crate::model::change::{Change, World};
use crate::model::cluster::Cluster;
use crate::model::job::{Container, Job};
use crate::words::ids::{JobId, Millis};
use crate::words::kind::Kind;
use calibration::{Band, Calibration, Promise};
use expected::ExpectedLengths;
use line::{Expectation, Phase, Work};
use std::collections::{BTreeMap, BTreeSet};

/// Minimum time between two looks at jobs for the record.
const RECORD_MS: Millis = 1_000;
/// How many predictions of a job's end are recorded: the first, and one when a quarter of its tasks
/// is done. An ApplicationMaster that asks for more with each end is at a quarter again and again.
const ENDS_MAX: usize = 2;
/// Progress in thousandths below which it reveals nothing about a task's length.
const PROGRESS_MIN: i128 = 50;

/// The expected start and end of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prediction {
    pub job: JobId,
    /// Time of the prediction.
    pub made_ms: Millis,
    /// Start of its first task after that time; None if it has started.
    pub start: Option<Promise>,
    /// Its end after that time.
    pub end: Promise,
    /// Basis of its tasks' lengths.
    pub basis: Basis,
}

/// Predictions of a job that have yet to be judged.
#[derive(Debug, Default)]
struct Recorded {
    start: Option<Promise>,
    ends: Vec<Promise>,
    started: bool,
}

/// Learns from events, and predicts.
#[derive(Debug, Default)]
pub(crate) struct Predictor {
    lengths: ExpectedLengths,
    starts: Calibration,
    ends: Calibration,
    recorded: BTreeMap<JobId, Recorded>,
    /// Time at which the last map of a job ended: a reduce that started before only waited until
    /// then.
    mapped: BTreeMap<JobId, Millis>,
    /// Jobs whose predictions are due for the record: new ones, and those a quarter done.
    due: BTreeSet<JobId>,
    /// Times at which the bands of recorded predictions of ends pass.
    passing: BTreeSet<(Millis, JobId)>,
    next_ms: Millis,
}

impl Predictor {
    /// Records a change.
    pub(crate) fn note(&mut self, change: &Change<'_>, world: &World<'_>) {
        match *change {
            Change::JobAdded(job) if !self.recorded.contains_key(&job.facts.job) => {
                self.due.insert(job.facts.job);
            }
            Change::Started { job, am: false, .. } => self.started(job.facts.job, world.now),
            Change::Ended {
                job,
                kind,
                container,
                succeeded: true,
                ..
            } if !container.am => {
                if kind == Kind::Map && tasks_left(job, kind) == 0 {
                    self.mapped.insert(job.facts.job, world.now);
                }
                let begun_ms = self.begun(job, kind, container, world.now);
                self.lengths.learn(job, kind, world.now - begun_ms);
                let recorded = self.recorded.get(&job.facts.job);
                let recorded = recorded.map_or(0, |recorded| recorded.ends.len());
                if recorded < ENDS_MAX && is_quarter_done(job) {
                    self.due.insert(job.facts.job);
                }
            }
            _ => {}
        }
    }

    fn started(&mut self, job: JobId, now: Millis) {
        let Some(recorded) = self.recorded.get_mut(&job) else {
            return;
        };
        if !std::mem::replace(&mut recorded.started, true)
            && let Some(promise) = recorded.start.take()
        {
            self.starts.judge(&promise, now);
        }
    }

    /// Judges the predictions of a job that is about to go, if it ended `well`.
    pub(crate) fn ended(&mut self, job: JobId, well: bool, now: Millis) {
        self.lengths.forget(job);
        self.due.remove(&job);
        self.mapped.remove(&job);
        let Some(recorded) = self.recorded.remove(&job) else {
            return;
        };
        for promise in &recorded.ends {
            self.passing.remove(&(promise.latest_ms(), job));
            if well {
                self.ends.judge(promise, now);
            }
        }
    }

    /// Adapts the bands to jobs that have not ended within theirs.
    pub(crate) fn pass(&mut self, now: Millis) {
        while let Some((at, job)) = self.passing.first().copied().filter(|(at, _)| *at < now) {
            self.passing.remove(&(at, job));
            let recorded = self.recorded.get_mut(&job);
            let ends = recorded.into_iter().flat_map(|recorded| &mut recorded.ends);
            for promise in ends.filter(|promise| promise.latest_ms() == at) {
                self.ends.pass(promise);
            }
        }
    }

    /// Takes the jobs whose predictions are due now, as far as any of their tasks are known.
    pub(crate) fn take_due(&mut self, cluster: &Cluster, now: Millis) -> BTreeSet<JobId> {
        if self.due.is_empty() || now < self.next_ms {
            return BTreeSet::new();
        }
        self.next_ms = now + RECORD_MS;
        let known = |id: &JobId| cluster.job(*id).is_some_and(is_known);
        let (known, unknown) = self.due.iter().copied().partition(known);
        self.due = unknown;
        known
    }

    /// Makes jobs due again.
    pub(crate) fn put_off(&mut self, jobs: BTreeSet<JobId>) {
        self.due.extend(jobs);
    }

    /// Keeps a prediction to learn from it.
    pub(crate) fn record(&mut self, prediction: &Prediction) {
        let recorded = self.recorded.entry(prediction.job).or_default();
        if recorded.ends.is_empty() {
            recorded.start = prediction.start;
            recorded.started = prediction.start.is_none();
        }
        recorded.ends.push(prediction.end);
        let passing = (prediction.end.latest_ms(), prediction.job);
        self.passing.insert(passing);
    }

    /// Returns the remaining work of a job.
    pub(crate) fn work(&self, job: &Job, now: Millis) -> Work {
        let first = if job.facts.mapreduce {
            Kind::Map
        } else {
            Kind::Other
        };
        let phases = [first, Kind::Reduce].map(|kind| self.phase(job, kind, now));
        Work {
            job: job.facts.job,
            runnable: job.runnable,
            phases,
            reduces_ready: job.pending_of(Kind::Reduce) > 0 || phases[1].running > 0,
        }
    }

    /// Returns the remaining work of one kind of its tasks.
    fn phase(&self, job: &Job, kind: Kind, now: Millis) -> Phase {
        let (length_ms, basis) = self.lengths.of(job, kind);
        let mut running = 0;
        let (mut length_sum, mut left_sum): (Millis, Millis) = (0, 0);
        let tasks = job.containers.values().filter(|container| !container.am);
        for task in tasks.filter(|task| job.kind(task.priority) == kind) {
            let begun_ms = self.begun(job, kind, task, now);
            let projected_ms = projected(task, begun_ms, length_ms, now);
            running += 1;
            length_sum = length_sum.saturating_add(projected_ms);
            let left_ms = projected_ms - (now - begun_ms);
            left_sum = left_sum.saturating_add(left_ms.max(0));
        }
        let count = Millis::from(running.max(1));
        Phase {
            pending: tasks_left(job, kind).saturating_sub(running),
            length_ms: match basis {
                _ if running == 0 => length_ms,
                // Tasks that ended first were the short ones.
                Basis::OwnTasks => {
                    let done = Millis::from(job.done[kind as usize].max(1));
                    let sum = length_ms.saturating_mul(done).saturating_add(length_sum);
                    sum / done.saturating_add(count)
                }
                _ => length_ms.max(length_sum / count),
            },
            running,
            running_end_ms: now.saturating_add(left_sum / count),
            key: job.order_keys[kind as usize],
        }
    }

    /// Returns the time from which a task's length counts: for a reduce, after all maps of its job.
    fn begun(&self, job: &Job, kind: Kind, task: &Container, now: Millis) -> Millis {
        let mapped_ms = match kind {
            Kind::Reduce if tasks_left(job, Kind::Map) > 0 => now,
            Kind::Reduce => self.mapped.get(&job.facts.job).copied().unwrap_or(0),
            _ => 0,
        };
        task.started_ms.max(mapped_ms).min(now.max(task.started_ms))
    }

    /// Makes a prediction from the result of the look ahead.
    pub(crate) fn predict(&self, job: &Job, at: &Expectation, now: Millis) -> Prediction {
        let kind = match (job.facts.mapreduce, tasks_left(job, Kind::Map) > 0) {
            (false, _) => Kind::Other,
            (true, true) => Kind::Map,
            (true, false) => Kind::Reduce,
        };
        let basis = self.lengths.of(job, kind).1;
        let begun = job.done.iter().any(|done| *done > 0)
            || job.containers.values().any(|container| !container.am);
        let situation = 8 * u8::from(job.facts.mapreduce) + 4 * u8::from(begun) + basis as u8;
        Prediction {
            job: job.facts.job,
            made_ms: now,
            start: (!begun).then(|| self.starts.promise(now, situation, at.start_ms - now)),
            end: self.ends.promise(now, situation, at.end_ms - now),
            basis,
        }
    }

    /// Returns how many recorded predictions of starts and of ends held so far.
    pub(crate) fn report(&self) -> [serde_json::Value; 2] {
        [self.starts.report(), self.ends.report()]
    }
}

impl Prediction {
    /// Converts a band from durations after `made_ms` to times.
    pub(crate) fn times(&self, promise: &Promise) -> Band {
        let band = promise.band();
        Band {
            low_ms: self.made_ms.saturating_add(band.low_ms),
            expected_ms: self.made_ms.saturating_add(band.expected_ms),
            high_ms: self.made_ms.saturating_add(band.high_ms),
        }
    }
}

/// Estimates the total length of a task that began at `begun_ms`, by its progress. Below
/// `PROGRESS_MIN` it is the expected length or, once that has passed, 1.5 times the running time.
fn projected(task: &Container, begun_ms: Millis, expected_ms: Millis, now: Millis) -> Millis {
    let elapsed_ms = (now - begun_ms).max(0);
    let progress = i128::from(task.task.progress_per_mille.min(1_000));
    if progress >= PROGRESS_MIN {
        // A reduce's progress is that of its execution, which follows the shuffle.
        let executing_ms = task.task.executing_since_ms.unwrap_or(begun_ms);
        let before_ms = (executing_ms - begun_ms).clamp(0, elapsed_ms);
        let whole_ms = i128::from(elapsed_ms - before_ms) * 1_000 / progress;
        return before_ms.saturating_add(Millis::try_from(whole_ms).unwrap_or(Millis::MAX));
    }
    match elapsed_ms < expected_ms {
        true => expected_ms,
        false => elapsed_ms.saturating_add(elapsed_ms / 2),
    }
}

/// Returns how many tasks of a kind run or have yet to run: those asked for, or those that the
/// hints announce, if these are more.
pub(crate) fn tasks_left(job: &Job, kind: Kind) -> u32 {
    let running = job.running[kind as usize];
    // The ApplicationMaster counts among the running containers of its kind. It starts first and
    // ends last, so it is subtracted; a search would take longer with more containers.
    let masters = u32::from(kind == Kind::Other && !job.facts.unmanaged_am);
    let asked = job
        .pending_of(kind)
        .saturating_add(running.saturating_sub(masters));
    let hinted = job.hints.tasks.get(kind as usize).copied().flatten();
    let hinted = hinted.map_or(0, |tasks| tasks.saturating_sub(job.done[kind as usize]));
    asked.max(hinted)
}

/// Tells whether any tasks are known, by asks or by hints.
fn is_known(job: &Job) -> bool {
    Kind::ALL.iter().any(|kind| tasks_left(job, *kind) > 0)
}

/// Tells whether the task that just ended completed a quarter of the job's tasks. A second
/// prediction is then recorded, for a job whose tasks are known.
fn is_quarter_done(job: &Job) -> bool {
    let done: u32 = job.done.iter().sum();
    let left: u32 = Kind::ALL.iter().map(|kind| tasks_left(job, *kind)).sum();
    let all = done.saturating_add(left);
    all >= 8 && done == all.div_ceil(4)
}
