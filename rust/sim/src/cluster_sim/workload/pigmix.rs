//! The workloads of HFSP's evaluation (HF-33, HF-34): 100 PigMix queries on data sets of four
//! sizes, with Poisson arrivals.
//!
//! Lengths of tasks and numbers of reduces are ours. Most tasks take tens of seconds and one reduce
//! in ten much longer (HF-37). They are such that fair sharing has the paper's load: 2.26 jobs in
//! SMALL, 16.8 in LARGE (HF-35).

use super::{Hardware, JobPlan, Workload};
use crate::random::Random;
use heddle_core::words::ids::Millis;

/// Selects one of the two workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSets {
    /// Mostly 1 GB, a job every 30 s.
    Small,
    /// Mostly 40 GB, a job every 120 s.
    Large,
}

/// A data set of Table I.
struct Set {
    class: &'static str,
    /// Least and greatest number of maps.
    maps: (i64, i64),
    /// Its part of the jobs in SMALL and LARGE, in per cent.
    parts: [u32; 2],
    /// Lengths of maps and reduces relative to those of the query, in per cent: ours.
    lengths: [i64; 2],
}

const fn set(class: &'static str, maps: (i64, i64), parts: [u32; 2], lengths: [i64; 2]) -> Set {
    Set {
        class,
        maps,
        parts,
        lengths,
    }
}

const SETS: &[Set] = &[
    set("1GB", (1, 4), [65, 0], [60, 30]),
    set("10GB", (10, 50), [20, 10], [100, 60]),
    set("40GB", (50, 150), [10, 60], [200, 100]),
    set("100GB", (151, 450), [5, 30], [200, 200]),
];

/// Mean length in s of maps and reduces of each of the 17 queries: ours.
const QUERIES: [(i64, i64); 17] = [
    (20, 15),
    (25, 20),
    (30, 25),
    (25, 20),
    (20, 15),
    (30, 30),
    (20, 20),
    (15, 10),
    (35, 60),
    (35, 60),
    (40, 40),
    (25, 25),
    (30, 30),
    (25, 20),
    (40, 30),
    (20, 300),
    (45, 300),
];

/// Lengths of tasks in both workloads relative to `QUERIES`, in per cent: ours.
const SMALL_LENGTHS: i64 = 70;
const LARGE_LENGTHS: i64 = 134;

/// Returns the machines of HF-33, in one rack: the paper mentions no others.
fn hardware() -> Hardware {
    Hardware {
        nodes: 36,
        racks: 1,
        slots: [2, 1],
        ..Hardware::default()
    }
}

/// Generates 100 jobs.
pub fn pigmix(sets: DataSets, seed: u64) -> Workload {
    let mut random = Random::new(seed ^ 0x9193_a11c);
    let hardware = hardware();
    // The last: lengths of tasks, in per cent.
    let (column, gap_ms, slow) = match sets {
        DataSets::Small => (0, 30_000, SMALL_LENGTHS),
        DataSets::Large => (1, 120_000, LARGE_LENGTHS),
    };
    let weights: Vec<u32> = SETS.iter().map(|set| set.parts[column]).collect();
    let mut at: Millis = 0;
    let jobs = (0..100).map(|_| {
        at += random.exponential(gap_ms);
        let set = &SETS[random.weighted(&weights)];
        let maps = random.range(set.maps.0, set.maps.1);
        let query = random.below(QUERIES.len());
        let (map_s, reduce_s) = QUERIES[query];
        let input_bytes = maps as u64 * hardware.block_bytes;
        JobPlan {
            submit_ms: at,
            user: "pig".to_string(),
            class: set.class.to_string(),
            mixed: true,
            tasks: [maps as u32, ((maps / 8).clamp(1, 36)) as u32],
            input_bytes,
            shuffle_bytes: input_bytes / 10,
            output_bytes: input_bytes / 50,
            map_ms: Some(map_s * set.lengths[0] * slow / 10),
            reduce_ms: Some(reduce_s * set.lengths[1] * slow / 10),
            ..JobPlan::default()
        }
    });
    let jobs = jobs.collect();
    let name = match sets {
        DataSets::Small => "pigmix-small",
        DataSets::Large => "pigmix-large",
    };
    Workload {
        name: name.to_string(),
        hardware,
        jobs,
        ..Workload::default()
    }
}
