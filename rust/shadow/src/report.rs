//! What the shadow says.

use crate::shadow::Shadow;
use heddle_core::words::ids::Millis;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Jobs that a report names one by one.
const JOBS_MAX: usize = 200;
/// Queues in a report: those with the largest use.
const QUEUES_MAX: usize = 500;

impl Shadow {
    /// The report: `policy` of the candidate, `queues` with the memory in MB that they use live
    /// and in the shadow, `grants` and `preemptions` of both, `ended`: how many jobs would have
    /// started and ended earlier, `jobs`: the latest ended ones with the largest differences, and
    /// `running`: those that have started in one world only.
    pub fn report(&self) -> Value {
        let composition = &self.engine.config().composition;
        json!({
            "policy": [composition.share, composition.order, composition.place],
            "since_ms": self.since_ms,
            "now_ms": self.now_ms,
            "grants": [self.live.grants, self.usage.grants],
            "preemptions": [self.live.preemptions, self.usage.preemptions],
            "refused": self.refused,
            "queues": self.queues(),
            "ended": self.differences.report(),
            "jobs": self.differences.largest(JOBS_MAX),
            "running": self.running(),
        })
    }

    fn queues(&self) -> Vec<Value> {
        let paths: BTreeSet<&String> = self.live.paths().chain(self.usage.paths()).collect();
        let figures = |usage: &crate::usage::Usage, path: &str| {
            usage.memory_mb(path, self.since_ms, self.now_ms)
        };
        let mut rows: Vec<_> = paths
            .into_iter()
            .map(|path| (path, figures(&self.live, path), figures(&self.usage, path)))
            .collect();
        rows.sort_by_key(|(path, live, shadow)| (-(live.1.max(shadow.1)), *path));
        rows.truncate(QUEUES_MAX);
        rows.sort_by_key(|(path, ..)| *path);
        let row = |(path, live, shadow): (&String, (i64, i64), (i64, i64))| {
            json!({
                "path": path,
                "used_mb": [live.0, shadow.0],
                "mean_mb": [live.1, shadow.1],
            })
        };
        rows.into_iter().map(row).collect()
    }

    /// Jobs that run in one world and wait in the other, oldest first.
    fn running(&self) -> Vec<Value> {
        let one_started = self.jobs.values().filter(|job| {
            !job.before && job.times.started_ms.is_some() != job.live_times.started_ms.is_some()
        });
        let mut jobs: Vec<_> = one_started.collect();
        jobs.sort_by_key(|job| (job.submitted_ms, job.live));
        jobs.truncate(JOBS_MAX);
        let since = |at: Option<Millis>, from: Millis| at.map(|at| at - from);
        jobs.into_iter()
            .map(|job| {
                json!({
                    "job": job.live.0,
                    "application": job.application,
                    "submitted_ms": job.submitted_ms,
                    "queue": job.live_queue,
                    "start_ms": [since(job.live_times.started_ms, job.submitted_ms),
                                 since(job.times.started_ms, job.submitted_ms)],
                })
            })
            .collect()
    }
}
