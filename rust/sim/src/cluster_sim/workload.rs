//! The load of the simulated cluster: jobs with their sizes and times, streams of jobs, requests to
//! the engine. The submodules generate the papers' mixes; none of them knows a policy.

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

use super::hardware::{Block, Hardware};
use heddle_core::words::ids::Millis;
use heddle_core::words::resource::Resource;
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the size of a container in a cluster of slots.
pub(super) fn slot() -> Resource {
    Resource::new(1_024, 1)
}

/// A job before it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobPlan {
    /// When it is submitted; streams set the time of later jobs themselves.
    pub submit_ms: Millis,
    /// Its user; in a cluster of slots the queue is the user's.
    pub user: String,
    /// Its class, for reports. If it is not empty, the engine treats jobs of one class as runs of
    /// one program, unless `mixed` is set.
    pub class: String,
    /// Whether jobs of its class are runs of many programs, alike in their size alone.
    pub mixed: bool,
    /// YARN's application priority.
    pub priority: i32,
    /// Number of maps and reduces.
    pub tasks: [u32; 2],
    /// Bytes that the maps read, evenly divided. 0: the maps have no input and no locality.
    pub input_bytes: u64,
    /// Bytes that the maps write for the reduces.
    pub shuffle_bytes: u64,
    /// Bytes written to HDFS, by the reduces, or by the maps if there are no reduces.
    pub output_bytes: u64,
    /// How long a map computes, overriding its bytes.
    pub map_ms: Option<Millis>,
    /// How long a reduce computes after the copy, overriding its bytes.
    pub reduce_ms: Option<Millis>,
    /// The deadline, counted from its submission.
    pub goal_ms: Option<Millis>,
    /// Whether the engine learns its shuffle ratio and task lengths at submission, like those of a
    /// job that runs regularly.
    pub profiled: bool,
    /// What a history says of the job beyond the sums above.
    pub recorded: Option<Box<Recorded>>,
}

/// A job as a history recorded it: task by task, with the size of its containers. Overrides the
/// even division of `JobPlan`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The queue that the submission named; without one the placement rules choose.
    pub queue: Option<String>,
    /// How long each map and each reduce computes. A reduce's length counts from the end of the
    /// last map. Tasks beyond the list take as long as the plan says.
    pub task_ms: [Vec<Millis>; 2],
    /// The size of a map's and of a reduce's container.
    pub sizes: [Resource; 2],
    /// Nodes that hold the input of each map, at most three; none for maps without input.
    pub blocks: Vec<Block>,
    /// The container of the ApplicationMaster. Without one it runs outside the cluster.
    pub master: Option<Master>,
    /// `Options::slow_start_per_mille` of this job.
    pub slow_start_per_mille: Option<u32>,
}

/// An ApplicationMaster in a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Master {
    /// The size of its container.
    pub size: Resource,
    /// Time from its container to its first asks.
    pub start_ms: Millis,
    /// Time from its last task to the end of the job.
    pub commit_ms: Millis,
    /// Time that its container stays when the job has ended.
    pub linger_ms: Millis,
}

impl JobPlan {
    /// Returns the ApplicationMaster that takes room in the cluster, if it has one.
    pub(super) fn master(&self) -> Option<Master> {
        self.recorded.as_ref().and_then(|recorded| recorded.master)
    }

    /// Returns the size of a map's or a reduce's container.
    pub(super) fn size(&self, kind: usize) -> Resource {
        let recorded = self.recorded.as_ref().map(|recorded| recorded.sizes[kind]);
        recorded.unwrap_or_else(slot)
    }

    /// Returns how long a task computes, if a history says so.
    pub(super) fn recorded_ms(&self, kind: usize, index: u32) -> Option<Millis> {
        let recorded = self.recorded.as_ref()?;
        recorded.task_ms[kind].get(index as usize).copied()
    }

    /// Returns how long a map and a reduce of the job take alone in the cluster, without
    /// `Hardware::overhead_ms`: a map by its data, a reduce with all maps done.
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

/// Jobs of one user, each submitted at the end of the one before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    /// The template of the jobs; the first is submitted at its `submit_ms`.
    pub job: JobPlan,
    /// Number of jobs; endless if none.
    pub count: Option<u32>,
    /// Requests to the engine just before the submission of the job of that number (from 0).
    pub requests: BTreeMap<u32, Vec<Value>>,
}

/// Foreign load on the nodes: a part of each node's slots, the same on all nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreign {
    /// The part, 0 to 1,000, from that time on; in order of time.
    pub steps: Vec<(Millis, u32)>,
}

impl Foreign {
    /// Creates a sine between 0 and `most` per mille with that period, sampled every `step_ms`.
    /// With bursts, the load is alternately on and off within each `burst_ms`, and keeps its mean.
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

/// A complete workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Its name in reports.
    pub name: String,
    /// The machines that it is meant for.
    pub hardware: Hardware,
    /// What each node has for containers. If it is not empty, containers have the sizes of their
    /// jobs (`Recorded::sizes`) and the nodes no slots.
    pub nodes: Vec<Resource>,
    /// Jobs with a planned time.
    pub jobs: Vec<JobPlan>,
    /// Jobs that follow one another.
    pub streams: Vec<Stream>,
    /// Requests to the engine, by time.
    pub requests: Vec<(Millis, Value)>,
    /// Foreign load.
    pub foreign: Foreign,
    /// When the simulation ends, even if jobs still run.
    pub until_ms: Option<Millis>,
    /// Sections of `heddle.json` that the workload needs under every policy, such as pools, budgets
    /// and thresholds.
    pub config: Value,
}

impl Workload {
    /// Returns the component-wise minimum of the jobs' containers, at most one slot.
    pub(super) fn smallest(&self) -> Resource {
        let sizes = self.jobs.iter().filter_map(|job| job.recorded.as_ref());
        let sizes = sizes.flat_map(|recorded| {
            let master = recorded.master.map(|master| master.size);
            recorded.sizes.into_iter().chain(master)
        });
        let sizes = sizes.filter(|size| !size.is_zero());
        sizes.fold(slot(), |least, size| least.component_min(&size))
    }

    /// Returns the number of maps and reduces of the jobs with a planned time.
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
