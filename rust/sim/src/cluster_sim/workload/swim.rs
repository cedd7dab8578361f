//! Converts SWIM traces to MapReduce jobs. A trace has bytes only; tasks follow from SWIM's own
//! rule (`GenerateReplayScript.java`). Bytes are scaled by the size of the cluster. Input is at
//! least 64 MB, shuffle and output at least 1 KB. A job has one map per block and one reduce per GB
//! of shuffle and output, at least 1. If that exceeds the nodes, it has a fifth as many reduces as
//! nodes.

use super::{Hardware, JobPlan, Workload};
use crate::swim::SwimJob;

/// Nodes of the cluster that FB-2010 was recorded on.
const RECORDED_NODES: u64 = 3_000;

const REDUCE_BYTES: u64 = 1 << 30;

/// Number of users who submit the jobs in turn; the trace has no users.
const USERS: usize = 20;

/// Converts the jobs of a trace for a cluster.
pub fn convert(name: &str, trace: &[SwimJob], hardware: Hardware) -> Workload {
    let nodes = u64::from(hardware.nodes);
    let scaled = |bytes: u64, least: u64| {
        let bytes = u128::from(bytes) * u128::from(nodes) / u128::from(RECORDED_NODES);
        (bytes as u64).max(least)
    };
    let job = |(i, job): (usize, &SwimJob)| {
        let input_bytes = scaled(job.map_input_bytes, 64 << 20);
        let shuffle_bytes = scaled(job.shuffle_bytes, 1 << 10);
        let output_bytes = scaled(job.reduce_output_bytes, 1 << 10);
        let reduces = (shuffle_bytes + output_bytes + REDUCE_BYTES / 2) / REDUCE_BYTES;
        let reduces = match reduces.max(1) {
            reduces if reduces > nodes => nodes / 5,
            reduces => reduces,
        };
        JobPlan {
            submit_ms: job.submit_s as i64 * 1_000,
            user: format!("user{:02}", i % USERS),
            class: class(input_bytes).to_string(),
            tasks: [
                input_bytes.div_ceil(hardware.block_bytes) as u32,
                reduces.max(1) as u32,
            ],
            input_bytes,
            shuffle_bytes,
            output_bytes,
            ..JobPlan::default()
        }
    };
    Workload {
        name: name.to_string(),
        hardware,
        jobs: trace.iter().enumerate().map(job).collect(),
        ..Workload::default()
    }
}

fn class(input_bytes: u64) -> &'static str {
    match input_bytes >> 30 {
        0 => "<1GB",
        1..10 => "<10GB",
        10..100 => "<100GB",
        _ => ">=100GB",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swim;

    const FB_2010: &str = include_str!("../../../traces/FB-2010_samples_24_times_1hr_0.tsv");

    /// Totals counted once with an independent program, rounded: nodes, maps, the maps' grain,
    /// reduces.
    #[test]
    fn the_conversion_gives_the_known_totals() {
        let trace = swim::parse(FB_2010).expect("it is a trace");
        let known = [
            (3_000, 8_080_000, 10_000, 381_000),
            (300, 827_000, 1_000, 58_000),
            (100, 289_000, 1_000, 34_700),
        ];
        for (nodes, maps, grain, reduces) in known {
            let hardware = Hardware {
                nodes,
                ..Hardware::default()
            };
            let workload = convert("FB-2010", &trace, hardware);
            assert_eq!(workload.jobs.len(), 24_442);
            let [found_maps, found_reduces] = workload.tasks();
            assert!(
                found_maps.abs_diff(maps) <= grain / 2,
                "{nodes}: {found_maps}"
            );
            assert!(
                found_reduces.abs_diff(reduces) <= 500,
                "{nodes}: {found_reduces}"
            );
            let most = workload.jobs.iter().map(|job| job.tasks[0]).max();
            if nodes == 3_000 {
                assert_eq!(most, Some(87_307));
            }
        }
    }

    #[test]
    fn most_jobs_of_a_hundred_nodes_have_one_map() {
        let trace = swim::parse(FB_2010).expect("it is a trace");
        let workload = convert("FB-2010", &trace, Hardware::default());
        let single = workload.jobs.iter().filter(|job| job.tasks[0] == 1).count();
        let percent = (100.0 * single as f64 / workload.jobs.len() as f64).round();
        assert_eq!(percent, 84.0);
    }
}
