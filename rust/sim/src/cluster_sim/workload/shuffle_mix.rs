//! The workload of ShuffleWatcher's evaluation (SW-30 to SW-33): users who draw benchmarks of three
//! classes on inputs of widely differing sizes.
//!
//! The paper leaves some parameters open. They are chosen so that its own figures can hold:
//!
//! - 39 % more throughput from the same arrivals requires a cluster that falls behind without
//!   ShuffleWatcher. So users have several jobs at a time, though they submit in turns. The paper's
//!   table of input sizes with an arrival every 40 s would need many times the bandwidth of its
//!   links: hence `scale`.
//! - NASS gives a free slot to a map or to a reduce, depending on the network's load (Figure 3). So
//!   slots take either kind. One of a node's four is closed to reduces, or reduces could wait in
//!   all of them for maps without a slot.
//! - Reading 3 % more remotely while the shuffle of heavy jobs falls by 38 % (SW-37) is possible
//!   only if a rack holds all of a job's input. So one node wrote each file, like a copy into HDFS.
//!   With blocks spread evenly, a job that runs on one rack reads 80 % remotely.
//!
//! The ratios of shuffle and output to input are ours: the paper gives only the classes (heavy:
//! above 1).

use super::{Hardware, JobPlan, Workload};
use crate::random::Random;
use heddle_core::words::ids::Millis;
use serde_json::json;

/// Name, weight in the class-neutral mix (Table 1), shuffle and output per input, in per mille.
type Benchmark = (&'static str, u32, u64, u64);

const HEAVY: &[Benchmark] = &[
    ("terasort", 5, 1_050, 1_000),
    ("ranked-inverted-index", 10, 1_200, 600),
    ("self-join", 10, 1_100, 300),
    ("word-sequence-count", 10, 1_600, 600),
    ("adjacency-list", 5, 1_500, 800),
];
const MEDIUM: &[Benchmark] = &[
    ("inverted-index", 10, 400, 100),
    ("term-vector", 10, 500, 100),
];
const LIGHT: &[Benchmark] = &[
    ("grep", 15, 10, 10),
    ("wordcount", 10, 120, 20),
    ("classification", 5, 20, 10),
    ("histogram-movies", 5, 10, 1),
    ("histogram-ratings", 5, 10, 1),
];

/// Sizes in MB from, to, and their part in per cent (Table 2); the ends are ours.
const SIZES: &[(i64, i64, u32)] = &[
    (10, 100, 20),
    (100, 1_000, 19),
    (1_000, 20_000, 21),
    (20_000, 100_000, 10),
    (100_000, 200_000, 10),
    (200_000, 500_000, 7),
    (500_000, 1_000_000, 8),
    (1_000_000, 1_500_000, 5),
];

/// The parameters of the mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Per cent of light, medium and heavy jobs; mix2 of SW-38 is the paper's Table 1.
    pub classes: [u32; 3],
    /// Number of users.
    pub users: u32,
    /// Number of jobs per user.
    pub jobs_per_user: u32,
    /// Mean time between two submissions.
    pub gap_ms: Millis,
    /// The factor on the table's input sizes.
    pub scale: f64,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix {
            classes: [40, 20, 40],
            users: 30,
            jobs_per_user: 12,
            gap_ms: 40_000,
            scale: 0.2,
        }
    }
}

/// Returns the machines of SW-30: blocks of 64 MB, 4 cores.
fn hardware() -> Hardware {
    Hardware {
        slots: [4, 3],
        slots_together: Some(4),
        block_bytes: 64 << 20,
        blocks_per_writer: u32::MAX,
        map_bytes_per_s: 8_000_000,
        copy_bytes_per_s: 20_000_000,
        reduce_bytes_per_s: 20_000_000,
        ..Hardware::default()
    }
}

/// Generates the jobs of the mix.
pub fn shuffle_mix(mix: &Mix, seed: u64) -> Workload {
    let mut random = Random::new(seed ^ 0x5f0f_f1e5);
    let hardware = hardware();
    let mut at = 0;
    let count = mix.users * mix.jobs_per_user;
    let jobs = (0..count).map(|i| {
        at += random.exponential(mix.gap_ms);
        let class = random.weighted(&mix.classes);
        let benchmarks = [LIGHT, MEDIUM, HEAVY][class];
        let weights: Vec<u32> = benchmarks.iter().map(|benchmark| benchmark.1).collect();
        let (name, _, shuffle, output) = benchmarks[random.weighted(&weights)];
        let weights: Vec<u32> = SIZES.iter().map(|size| size.2).collect();
        let (from, to, _) = SIZES[random.weighted(&weights)];
        let input = (random.range(from, to) as f64 * mix.scale * 1e6).max(1e6) as u64;
        let bytes = |per_mille: u64| input / 1_000 * per_mille;
        let maps = input.div_ceil(hardware.block_bytes) as u32;
        // One reduce per 512 MB of shuffle, at most one per node.
        let reduces = (bytes(shuffle).div_ceil(512 << 20) as u32).clamp(1, hardware.nodes);
        JobPlan {
            submit_ms: at,
            user: format!("user{:02}", i % mix.users),
            class: format!("{}/{name}", ["light", "medium", "heavy"][class]),
            tasks: [maps, reduces],
            input_bytes: input,
            shuffle_bytes: bytes(shuffle),
            output_bytes: bytes(output),
            profiled: false,
            ..JobPlan::default()
        }
    });
    let jobs = jobs.collect();
    Workload {
        name: "shuffle".to_string(),
        hardware,
        jobs,
        config: json!({}),
        ..Workload::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn users_submit_as_many_jobs_each_and_classes_have_their_parts() {
        let workload = shuffle_mix(&Mix::default(), 1);
        let (mut of_user, mut of_class) = (BTreeMap::new(), BTreeMap::new());
        for job in &workload.jobs {
            *of_user.entry(&job.user).or_insert(0) += 1;
            let class = job.class.split('/').next();
            *of_class.entry(class.expect("the first part")).or_insert(0) += 1;
        }
        assert_eq!((of_user.len(), workload.jobs.len()), (30, 360));
        assert!(of_user.values().all(|count| *count == 12));
        // 144 of 360 expected, with a standard deviation of 9.3: 40 is more than four of them.
        for class in ["light", "heavy"] {
            assert!((104..=184).contains(&of_class[class]), "{of_class:?}");
        }
    }
}
