//! SWIM traces: bytes only. Tasks follow from SWIM's own rule, their lengths from the rates of the
//! simulated machines (`heddle_sim`).

use crate::fault::Fault;
use crate::limits::{Counted, NODES_MAX};
use crate::model::{Job, Task};
use heddle_core::words::resource::Resource;
use heddle_sim::cluster_sim::{Hardware, workload};
use heddle_sim::swim;
use std::sync::Arc;

/// MapReduce's default container.
const TASK_MB: i64 = 1_024;

/// Reads a trace, and scales its bytes to a cluster of `nodes` nodes. Counts its jobs and tasks
/// before it builds them.
///
/// # Errors
/// The line that is wrong, as an offset; or the limit that is passed.
pub(crate) fn read(text: &str, nodes: u32, counted: &mut Counted) -> Result<Vec<Job>, Fault> {
    // More nodes would overflow the scaled numbers of tasks.
    let nodes = nodes.clamp(1, NODES_MAX as u32);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    counted.check_more(lines.count())?;
    let trace = swim::parse(text).map_err(|error| {
        let before = text
            .split_inclusive('\n')
            .take(error.line.saturating_sub(1));
        let offset = before.map(|line| line.len() as u64).sum();
        Fault::at(
            offset,
            error.problem,
            "expected a line of a SWIM trace (.tsv); repair it",
        )
    })?;
    let hardware = Hardware {
        nodes,
        racks: Hardware::default().racks.min(nodes),
        ..Hardware::default()
    };
    let workload = workload::from_swim("swim", &trace, hardware);
    for plan in &workload.jobs {
        counted.claim(plan.tasks.iter().map(|tasks| *tasks as usize).sum())?;
    }
    let job = |(i, plan): (usize, &workload::JobPlan)| {
        let lengths = plan.lengths_ms(&hardware);
        let tasks = |kind: usize| {
            let task = Task {
                length_ms: lengths[kind],
                hosts: Arc::default(),
            };
            vec![task; plan.tasks[kind] as usize]
        };
        Job {
            id: trace[i].name.clone(),
            name: plan.class.clone(),
            user: plan.user.clone(),
            submitted_ms: plan.submit_ms,
            tasks: [tasks(0), tasks(1)],
            sizes: [Resource::new(TASK_MB, 1); 2],
            ..Job::default()
        }
    };
    Ok(workload.jobs.iter().enumerate().map(job).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A petabyte scaled from 3,000 nodes to 100,000, in blocks of 64 MB: 559 million maps.
    #[test]
    fn tasks_are_counted_before_they_are_built() {
        let line = format!("job0\t0\t0\t{}\t0\t0\n", 1_u64 << 50);
        let fault = read(&line, u32::MAX, &mut Counted::default()).expect_err("too many");
        assert!(fault.problem.contains("20000000 tasks"), "{fault}");
    }

    #[test]
    fn lines_are_counted_before_they_are_parsed() {
        let mut text = "a\n".repeat(crate::limits::JOBS_MAX);
        let fault = read(&text, 1, &mut Counted::default()).expect_err("not six fields");
        assert!(fault.problem.contains("6 or 7 fields"), "{fault}");
        text.push('b');
        let fault = read(&text, 1, &mut Counted::default()).expect_err("too many");
        assert!(fault.problem.contains("1000000 jobs"), "{fault}");
    }
}
