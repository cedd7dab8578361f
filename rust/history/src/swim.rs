//! SWIM traces: bytes only. Tasks follow from SWIM's own rule, their lengths from the rates of the
//! simulated machines (`heddle_sim`).

use crate::fault::Fault;
use crate::model::{Job, Task};
use heddle_core::words::resource::Resource;
use heddle_sim::cluster_sim::{Hardware, workload};
use heddle_sim::swim;

/// MapReduce's default container.
const TASK_MB: i64 = 1_024;

/// Reads a trace for a cluster of so many nodes, to which its bytes are scaled.
///
/// # Errors
/// The line that is wrong, as an offset.
pub(crate) fn read(text: &str, nodes: u32) -> Result<Vec<Job>, Fault> {
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
    let job = |(i, plan): (usize, &workload::JobPlan)| {
        let lengths = plan.lengths_ms(&hardware);
        let tasks = |kind: usize| {
            let task = Task {
                length_ms: lengths[kind],
                hosts: Vec::new(),
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
