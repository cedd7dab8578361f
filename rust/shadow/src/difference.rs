//! Which jobs would have started and ended earlier or later, over all that have ended.

use crate::job::Job;
use heddle_core::words::ids::{JobId, Millis};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Times that differ by no more are equal: nodes report once a second in either world.
const EQUAL_MS: Millis = 2_000;
/// Ended jobs that are remembered one by one.
const JOBS_MAX: usize = 1_000;

/// A job that has ended in both worlds, in milliseconds since its submission.
#[derive(Clone, Debug)]
struct Ended {
    job: JobId,
    application: Option<String>,
    submitted_ms: Millis,
    queue: String,
    start_ms: [Option<Millis>; 2],
    end_ms: [Option<Millis>; 2],
}

/// How many jobs, and how much.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    earlier: u64,
    later: u64,
    equal: u64,
    /// Live and shadow.
    sum_ms: [Millis; 2],
}

impl Sums {
    fn add(&mut self, [live, shadow]: [Option<Millis>; 2]) {
        let (Some(live), Some(shadow)) = (live, shadow) else {
            return;
        };
        match shadow - live {
            difference if difference < -EQUAL_MS => self.earlier += 1,
            difference if difference > EQUAL_MS => self.later += 1,
            _ => self.equal += 1,
        }
        self.sum_ms[0] += live;
        self.sum_ms[1] += shadow;
    }

    fn report(&self) -> Value {
        let jobs = (self.earlier + self.later + self.equal).max(1) as Millis;
        json!({
            "earlier": self.earlier,
            "later": self.later,
            "equal": self.equal,
            "live_mean_ms": self.sum_ms[0] / jobs,
            "shadow_mean_ms": self.sum_ms[1] / jobs,
        })
    }
}

/// The differences so far.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    latest: VecDeque<Ended>,
    starts: Sums,
    ends: Sums,
    /// Jobs that ran already when the shadow began.
    before: u64,
}

impl Differences {
    /// A job has ended in both worlds.
    pub(crate) fn ended(&mut self, job: &Job) {
        if job.before {
            self.before += 1;
            return;
        }
        let since = |at: Option<Millis>| at.map(|at| at - job.submitted_ms);
        let ended = Ended {
            job: job.live,
            application: job.application.clone(),
            submitted_ms: job.submitted_ms,
            queue: job.live_queue.clone(),
            start_ms: [
                since(job.live_times.started_ms),
                since(job.times.started_ms),
            ],
            end_ms: [since(job.live_times.ended_ms), since(job.times.ended_ms)],
        };
        self.starts.add(ended.start_ms);
        self.ends.add(ended.end_ms);
        self.latest.push_back(ended);
        if self.latest.len() > JOBS_MAX {
            self.latest.pop_front();
        }
    }

    /// The counts of waits until the first container, and of times until the last had ended.
    pub(crate) fn report(&self) -> Value {
        json!({
            "start": self.starts.report(),
            "end": self.ends.report(),
            "ran_before": self.before,
        })
    }

    /// The latest jobs whose ends differ most, largest difference first.
    pub(crate) fn largest(&self, most: usize) -> Vec<Value> {
        let difference = |ended: &Ended| match ended.end_ms {
            [Some(live), Some(shadow)] => (shadow - live).abs(),
            _ => 0,
        };
        let mut jobs: Vec<&Ended> = self.latest.iter().collect();
        jobs.sort_by_key(|ended| (-difference(ended), ended.submitted_ms, ended.job));
        jobs.truncate(most);
        let row = |ended: &Ended| {
            json!({
                "job": ended.job.0,
                "application": ended.application,
                "submitted_ms": ended.submitted_ms,
                "queue": ended.queue,
                "start_ms": ended.start_ms,
                "end_ms": ended.end_ms,
            })
        };
        jobs.into_iter().map(row).collect()
    }
}
