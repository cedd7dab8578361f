//! What runs on the simulated cluster: jobs with their sizes and times, streams of jobs, requests
//! to the engine. The generators of the papers' mixes are below; none of them knows a policy.

mod goals;
mod json;
mod pi;
mod pigmix;
mod short_jobs;
mod shuffle_mix;
mod swim;

pub use goals::{Burst, goals};
pub use json::read as from_json;
pub use pi::{PiUser, pi_streams};
pub use pigmix::{DataSets, pigmix};
pub use short_jobs::long_short;
pub use shuffle_mix::{Mix, shuffle_mix};
pub use swim::convert as from_swim;

use super::hardware::Hardware;
use heddle_core::words::ids::Millis;
use serde_json::Value;
use std::collections::BTreeMap;

/// A job before it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobPlan {
    /// When it is submitted, unless it is of a stream.
    pub submit_ms: Millis,
    /// Who submits it; the queue is the user's.
    pub user: String,
    /// What sort of job it is, for reports; the engine takes jobs of one class for runs of one
    /// program, if it is not empty.
    pub class: String,
    /// YARN's application priority.
    pub priority: i32,
    /// How many maps and reduces.
    pub tasks: [u32; 2],
    /// Bytes that the maps read, shared out evenly. None: the maps have no input and no locality.
    pub input_bytes: u64,
    /// Bytes that the maps write for the reduces.
    pub shuffle_bytes: u64,
    /// Bytes that are written to HDFS, by the reduces, or by the maps if there are none.
    pub output_bytes: u64,
    /// How long a map computes, instead of what follows from its bytes.
    pub map_ms: Option<Millis>,
    /// How long a reduce computes after the copy, instead of what follows from its bytes.
    pub reduce_ms: Option<Millis>,
    /// When it should have ended, counted from its submission.
    pub goal_ms: Option<Millis>,
    /// Whether the engine is told its shuffle ratio and task lengths at submission, as a job
    /// that runs regularly would.
    pub profiled: bool,
}

impl JobPlan {
    /// How long a map and a reduce of the job take alone in the cluster, without what every
    /// task takes (`Hardware::overhead_ms`): a map by its data, a reduce with all maps done.
    pub fn lengths_ms(&self, hardware: &Hardware) -> [Millis; 2] {
        let ms = |bytes: u64, tasks: u32, rate: u64| {
            bytes as f64 * 1e3 / f64::from(tasks.max(1)) / rate as f64
        };
        let [maps, reduces] = self.tasks;
        let read = ms(self.input_bytes, maps, hardware.map_bytes_per_s);
        let map_writes = match reduces {
            0 => ms(self.output_bytes, maps, hardware.write_bytes_per_s),
            _ => 0.0,
        };
        let map = self.map_ms.map_or(read, |ms| ms as f64) + map_writes;
        let copy = ms(self.shuffle_bytes, reduces, hardware.copy_bytes_per_s);
        let sort = ms(self.shuffle_bytes, reduces, hardware.reduce_bytes_per_s);
        let reduce = self.reduce_ms.map_or(sort, |ms| ms as f64);
        let write = ms(self.output_bytes, reduces, hardware.write_bytes_per_s);
        [map as Millis, (copy + reduce + write) as Millis]
    }
}

/// Jobs of one user, each submitted when the one before has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    /// Each of the jobs; the first is submitted at its `submit_ms`.
    pub job: JobPlan,
    /// How many jobs; endless if none.
    pub count: Option<u32>,
    /// Requests to the engine just before the job of that number (from 0) is submitted.
    pub requests: BTreeMap<u32, Vec<Value>>,
}

/// Load of others on the nodes: a part of each node's slots, the same on all nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreign {
    /// The part, 0 to 1,000, from that time on; in order of time.
    pub steps: Vec<(Millis, u32)>,
}

impl Foreign {
    /// A sine between 0 and `most` per mille with that period, sampled every `step_ms`; with
    /// bursts, it is on and off by turns within each `burst_ms`, its mean kept.
    pub fn daily(
        most: u32,
        period_ms: Millis,
        step_ms: Millis,
        until_ms: Millis,
        burst: Option<(Millis, f64)>,
    ) -> Foreign {
        let part = |at: Millis| {
            let angle = (at % period_ms) as f64 / period_ms as f64 * std::f64::consts::TAU;
            let mean = f64::from(most) * (1.0 - angle.cos()) / 2.0;
            let part = match burst {
                // On for 1/factor of the time at `factor` times the mean, off for the rest.
                Some((burst_ms, factor)) => {
                    let on = (at % burst_ms) as f64 * factor < burst_ms as f64;
                    if on { mean * factor } else { 0.0 }
                }
                None => mean,
            };
            part.clamp(0.0, 1_000.0).round() as u32
        };
        let times = (0..).map(|i| i * step_ms).take_while(|at| *at <= until_ms);
        let mut steps: Vec<(Millis, u32)> = times.map(|at| (at, part(at))).collect();
        steps.dedup_by_key(|(_, part)| *part);
        Foreign { steps }
    }
}

/// Everything that is submitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Its name in reports.
    pub name: String,
    /// The machines that it is meant for.
    pub hardware: Hardware,
    /// Jobs with times of their own.
    pub jobs: Vec<JobPlan>,
    /// Jobs that follow one another.
    pub streams: Vec<Stream>,
    /// Requests to the engine, by time.
    pub requests: Vec<(Millis, Value)>,
    /// Load of others.
    pub foreign: Foreign,
    /// When the simulation ends whatever still runs.
    pub until_ms: Option<Millis>,
    /// What the configuration must hold for it whatever the policy, such as pools, budgets and
    /// thresholds: sections of `heddle.json`.
    pub config: Value,
}

impl Workload {
    /// Maps and reduces of the jobs that have times of their own.
    pub fn tasks(&self) -> [u64; 2] {
        let sum = |kind: usize| self.jobs.iter().map(|job| u64::from(job.tasks[kind])).sum();
        [sum(0), sum(1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daily_load_has_its_mean_with_and_without_bursts() {
        let hour = 3_600_000;
        for burst in [None, Some((600_000, 2.0))] {
            let foreign = Foreign::daily(400, 24 * hour, 10_000, 24 * hour, burst);
            let mut sum = 0;
            for pair in foreign.steps.windows(2) {
                sum += i64::from(pair[0].1) * (pair[1].0 - pair[0].0);
            }
            // A sine between 0 and 400 has the mean 200.
            let mean = sum as f64 / (24 * hour) as f64;
            assert!((mean - 200.0).abs() < 2.0, "{burst:?}: {mean}");
        }
    }
}
