//! The results of a simulation: a record per job, samples over time, totals. Computes summaries;
//! writes no file.

use super::network::CAUSES;
use heddle_core::words::ids::{JobId, Millis};
use heddle_core::words::resource::Resource;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A prediction: the 10th, 50th and 90th percentile of each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Predicted {
    /// When it was made.
    pub made_ms: Millis,
    /// When the first task starts, if none had started yet.
    pub start_ms: Option<[Millis; 3]>,
    /// When the job ends.
    pub end_ms: [Millis; 3],
}

/// The outcome of a job. Times in ms of virtual time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobRecord {
    /// Its id.
    pub id: JobId,
    /// Its user.
    pub user: String,
    /// Its class in the workload.
    pub class: String,
    /// The path of its queue.
    pub queue: String,
    /// Maps and reduces.
    pub tasks: [u32; 2],
    /// Bytes read, shuffled, written.
    pub bytes: [u64; 3],
    /// Its number in its stream, if it belongs to one.
    pub number: Option<u32>,
    /// When it was submitted.
    pub submitted_ms: Millis,
    /// When its ApplicationMaster got its container, if it takes one.
    pub master_ms: Option<Millis>,
    /// When its first task started.
    pub started_ms: Option<Millis>,
    /// When its last map ended.
    pub mapped_ms: Option<Millis>,
    /// When it ended.
    pub finished_ms: Option<Millis>,
    /// Whether it failed: a task failed too often.
    pub failed: bool,
    /// The deadline.
    pub goal_ms: Option<Millis>,
    /// Maps on a node with their data, on a rack with it, elsewhere.
    pub locality: [u32; 3],
    /// Bytes that crossed racks for it, by cause.
    pub crossed: [f64; CAUSES],
    /// Time that its attempts held slots, by kind, in slot-ms.
    pub slot_ms: [i64; 2],
    /// Memory in MB-ms and virtual cores in core-ms that its containers held, its
    /// ApplicationMaster's included.
    pub held: [i64; 2],
    /// Why the policy refused its submission, if it did.
    pub refused: Option<String>,
    /// The prediction at its submission, if one was requested.
    pub predicted: Option<Predicted>,
}

impl JobRecord {
    /// Adds a container that was held for a time. A history may tell of containers so large that
    /// the product of hours and their memory has no room; the sum then stays at the highest.
    pub(super) fn hold(&mut self, size: &Resource, held_ms: Millis) {
        for (held, amount) in self.held.iter_mut().zip([size.memory_mb(), size.vcores()]) {
            *held = held.saturating_add(amount.saturating_mul(held_ms));
        }
    }

    /// Returns the time from submission to end.
    pub fn sojourn_ms(&self) -> Option<Millis> {
        Some(self.finished_ms? - self.submitted_ms)
    }

    /// Returns whether it met its goal, if it had one.
    pub fn met_goal(&self) -> Option<bool> {
        let goal_ms = self.goal_ms?;
        Some(self.finished_ms.is_some_and(|at| at <= goal_ms))
    }
}

/// The state at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The time of the sample.
    pub at_ms: Millis,
    /// Running attempts, by kind.
    pub running: [u32; 2],
    /// Tasks that want an attempt, by kind.
    pub wanted: [u32; 2],
    /// Jobs that have not ended.
    pub jobs: u32,
    /// Bytes that crossed racks since the last sample.
    pub crossed: f64,
    /// Foreign load of the nodes, 0 to 1,000.
    pub foreign_per_mille: u32,
    /// Running attempts, by user.
    pub by_user: BTreeMap<String, u32>,
    /// Credits by user, where the policy keeps accounts.
    pub credits: BTreeMap<String, f64>,
}

/// The results of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The workload's name.
    pub workload: String,
    /// The policy's name.
    pub policy: String,
    /// Every job, in order of submission.
    pub jobs: Vec<JobRecord>,
    /// The state over time.
    pub samples: Vec<Sample>,
    /// Map and reduce slots of the cluster.
    pub slots: [u32; 2],
    /// The time of the last event.
    pub ended_ms: Millis,
    /// Attempts that ran, by kind.
    pub attempts: [u64; 2],
    /// Attempts that were evicted, failed, lost with their node, or stopped by their job (mostly
    /// after another attempt succeeded).
    pub wasted: [u64; 4],
    /// Digest of all decisions.
    pub digest: u64,
    /// Events that the engine received.
    pub events: u64,
    /// The stages' state at the end, as the engine's `stages` request answers.
    pub stages: Value,
}

impl Results {
    /// Returns the jobs that succeeded.
    pub fn finished(&self) -> impl Iterator<Item = &JobRecord> {
        let well = |job: &&JobRecord| job.finished_ms.is_some() && !job.failed;
        self.jobs.iter().filter(well)
    }

    /// Returns the sojourn times in s of the successful jobs that `chosen` admits.
    pub fn sojourns_s(&self, chosen: impl Fn(&JobRecord) -> bool) -> Vec<f64> {
        let chosen = self.finished().filter(|job| chosen(job));
        let times = chosen.filter_map(JobRecord::sojourn_ms);
        times.map(|time_ms| time_ms as f64 / 1e3).collect()
    }

    /// Returns the mean sojourn time in s.
    pub fn mean_sojourn_s(&self) -> f64 {
        mean(&self.sojourns_s(|_| true))
    }

    /// Returns the bytes that crossed racks, by cause.
    pub fn crossed(&self) -> [f64; CAUSES] {
        let mut sum = [0.0; CAUSES];
        for job in &self.jobs {
            for (sum, bytes) in sum.iter_mut().zip(job.crossed) {
                *sum += bytes;
            }
        }
        sum
    }

    /// Returns the successful jobs per hour, between the first submission and the last end.
    pub fn jobs_per_hour(&self) -> f64 {
        let first = self.jobs.iter().map(|job| job.submitted_ms).min();
        let last = self.finished().filter_map(|job| job.finished_ms).max();
        match (first, last) {
            (Some(first), Some(last)) if last > first => {
                self.finished().count() as f64 * 3_600_000.0 / (last - first) as f64
            }
            _ => 0.0,
        }
    }

    /// Returns the number of goals met, and of all goals.
    pub fn goals(&self) -> (u32, u32) {
        let goals = self.jobs.iter().filter_map(JobRecord::met_goal);
        goals.fold((0, 0), |(met, all), was_met| {
            (met + u32::from(was_met), all + 1)
        })
    }

    /// Returns the part of the slot-time of a kind that attempts held, until the last end.
    pub fn utilisation(&self, kind: usize) -> f64 {
        let held = self.jobs.iter().map(|job| job.slot_ms[kind]);
        let held = held.fold(0, i64::saturating_add);
        held as f64 / (f64::from(self.slots[kind]) * self.ended_ms as f64).max(1.0)
    }

    /// Returns the number of maps by distance to their data: node, rack, elsewhere.
    pub fn locality(&self) -> [u64; 3] {
        let mut sum = [0; 3];
        for job in &self.jobs {
            for (sum, count) in sum.iter_mut().zip(job.locality) {
                *sum += u64::from(count);
            }
        }
        sum
    }

    /// Returns the figures of a comparison.
    pub fn summary(&self) -> Value {
        let sojourns = self.sojourns_s(|_| true);
        let (met, goals) = self.goals();
        let crossed = self.crossed().map(|bytes| bytes / 1e9);
        json!({
            "workload": self.workload,
            "policy": self.policy,
            "jobs": self.jobs.len(),
            "finished": self.finished().count(),
            "ended_s": self.ended_ms as f64 / 1e3,
            "sojourn_s": {
                "mean": mean(&sojourns),
                "median": percentile(&sojourns, 50),
                "p95": percentile(&sojourns, 95),
                "max": percentile(&sojourns, 100),
            },
            "jobs_per_hour": self.jobs_per_hour(),
            "cross_rack_gb": {
                "map_read": crossed[0], "shuffle": crossed[1], "write": crossed[2],
            },
            "locality": self.locality(),
            "goals": {"met": met, "all": goals},
            "utilisation": {"map": self.utilisation(0), "reduce": self.utilisation(1)},
            "attempts": {"map": self.attempts[0], "reduce": self.attempts[1]},
            "wasted": {
                "evicted": self.wasted[0], "failed": self.wasted[1],
                "lost": self.wasted[2], "second": self.wasted[3],
            },
            "predictions": self.foresight(),
            "events": self.events,
            "digest": format!("{:016x}", self.digest),
        })
    }
}

/// Returns the mean; 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the percentile by nearest rank; 0 for no values.
pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (values.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

/// Returns Jain's index of fairness: 1 if all are equal, 1/n if one has all; 1 for no values.
pub fn jain(values: &[f64]) -> f64 {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares == 0.0 {
        return 1.0;
    }
    values.iter().sum::<f64>().powi(2) / (values.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_of_any_size_is_held_for_any_time() {
        let mut record = JobRecord::default();
        record.hold(&Resource::new(2_048, 2), 3_000);
        assert_eq!(record.held, [6_144_000, 6_000]);
        // The largest that `--node-memory` admits, for six hours.
        let hours_ms = 6 * 3_600_000;
        for _ in 0..2 {
            record.hold(&Resource::new(1 << 40, 1), hours_ms);
        }
        assert_eq!(record.held, [i64::MAX, 6_000 + 2 * hours_ms]);
    }

    #[test]
    fn slots_that_were_held_for_long_are_summed() {
        let job = JobRecord {
            slot_ms: [i64::MAX; 2],
            ..JobRecord::default()
        };
        let results = Results {
            jobs: vec![job.clone(), job],
            slots: [1, 1],
            ended_ms: i64::MAX,
            ..Results::default()
        };
        assert_eq!(results.utilisation(0), 1.0);
    }

    #[test]
    fn summaries_of_little() {
        assert_eq!(mean(&[]), 0.0);
        assert_eq!(percentile(&[], 95), 0.0);
        // Nearest rank: of 4 values the 50th percentile is the 2nd, the 95th the 4th.
        assert_eq!(percentile(&[4.0, 1.0, 3.0, 2.0], 50), 2.0);
        assert_eq!(percentile(&[4.0, 1.0, 3.0, 2.0], 95), 4.0);
        assert_eq!(jain(&[1.0, 1.0]), 1.0);
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
    }
}
