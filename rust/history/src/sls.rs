//! Traces of Hadoop's Scheduler Load Simulator: jobs as JSON objects, one after the other
//! (`hadoop-sls`, `JobDefinition` and `TaskContainerDefinition`).

use crate::fault::Fault;
use crate::limits::{AMOUNT_MAX, Counted, check_tasks, time};
use crate::model::{Job, Node, Task};
use crate::objects::{Number, Text, each};
use heddle_core::words::resource::Resource;
use serde::Deserialize;
use std::io::BufRead;

const REMEDY: &str = "expected the jobs of an SLS trace (`job.tasks`); repair or drop the object";

/// SLS's defaults (`yarn.sls.container.memory.mb`, `yarn.sls.am.container.memory`).
const MEMORY_MB: i64 = 1_024;

#[derive(Deserialize)]
struct SlsJob {
    #[serde(default, rename = "am.type")]
    kind: Text,
    #[serde(default, rename = "job.start.ms")]
    start_ms: Number,
    #[serde(default, rename = "job.end.ms")]
    end_ms: Number,
    #[serde(default, rename = "job.queue.name")]
    queue: Text,
    #[serde(default, rename = "job.id")]
    id: Text,
    #[serde(default, rename = "job.user")]
    user: Text,
    #[serde(default, rename = "job.count")]
    count: Number,
    #[serde(default, rename = "job.tasks")]
    tasks: Vec<SlsTask>,
}

#[derive(Deserialize)]
struct SlsTask {
    #[serde(default)]
    count: Number,
    #[serde(default, rename = "container.host")]
    host: Text,
    #[serde(default, rename = "container.start.ms")]
    start_ms: Number,
    #[serde(default, rename = "container.end.ms")]
    end_ms: Number,
    #[serde(default, rename = "container.duration.ms", alias = "duration.ms")]
    duration_ms: Number,
    #[serde(default, rename = "container.type")]
    kind: Text,
    #[serde(default, rename = "container.memory-mb", alias = "container.memory")]
    memory_mb: Number,
    #[serde(default, rename = "container.vcores")]
    vcores: Number,
}

/// Reads a trace; gives each job and the hosts that it names. `counted` is what other files have.
///
/// # Errors
/// What is wrong with the file, with its offset.
pub(crate) fn read(
    source: &mut dyn BufRead,
    mut counted: Counted,
    mut give: impl FnMut(Job, Vec<Node>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut number = 0;
    each(source, REMEDY, |job: SlsJob, offset| {
        // The head of a trace may say how many nodes and racks there are.
        if job.tasks.is_empty() {
            return Ok(());
        }
        let (read, mut nodes) = convert(&job, offset)?;
        let copies = job.count.0.unwrap_or(1).max(1) as usize;
        counted
            .add_copies(&read, copies)
            .map_err(|fault| Fault::at(offset, fault.problem, &fault.remedy))?;
        for mut copy in std::iter::repeat_n(read, copies) {
            number += 1;
            if job.id.0.is_none() {
                copy.id = format!("job_{number}");
            }
            give(copy, std::mem::take(&mut nodes))?;
        }
        Ok(())
    })
}

fn convert(job: &SlsJob, offset: u64) -> Result<(Job, Vec<Node>), Fault> {
    let mut read = Job {
        id: job.id.0.clone().unwrap_or_default(),
        name: job.kind.0.clone().unwrap_or_default(),
        user: job.user.0.clone().unwrap_or_else(|| "default".to_string()),
        queue: job.queue.0.clone(),
        submitted_ms: time(job.start_ms.0.unwrap_or(0)),
        finished_ms: job.end_ms.0.map(time),
        master: Some(Resource::new(MEMORY_MB, 1)),
        sizes: [Resource::new(MEMORY_MB, 1); 2],
        ..Job::default()
    };
    let mut nodes = Vec::new();
    let mut total: usize = 0;
    for task in &job.tasks {
        let length = match (task.duration_ms.0, task.start_ms.0, task.end_ms.0) {
            (Some(length), _, _) => length,
            (None, Some(start), Some(end)) => end.saturating_sub(start),
            _ => {
                let problem = "a task without `container.duration.ms`, or start and end";
                return Err(Fault::at(offset, problem, REMEDY));
            }
        };
        let kind = usize::from(task.kind.0.as_deref() == Some("reduce"));
        let amount = |number: Number, absent| number.0.unwrap_or(absent).clamp(1, AMOUNT_MAX);
        let size = Resource::new(amount(task.memory_mb, MEMORY_MB), amount(task.vcores, 1));
        read.sizes[kind] = match read.tasks[kind].is_empty() {
            true => size,
            false => read.sizes[kind].component_max(&size),
        };
        let hosts = task
            .host
            .0
            .as_deref()
            .and_then(|host| place(host, &mut nodes));
        let copies = task.count.0.unwrap_or(1).max(1) as usize;
        total = copies.saturating_add(total);
        check_tasks(total)?;
        let one = Task {
            length_ms: time(length),
            hosts: hosts.into_iter().collect(),
        };
        read.tasks[kind].extend(std::iter::repeat_n(one, copies));
        if let Some(start) = task.start_ms.0.map(time) {
            let first = read.started_ms.unwrap_or(start).min(start);
            read.started_ms = Some(first);
        }
    }
    Ok((read, nodes))
}

/// Notes `/rack/host`, and returns the host.
fn place(text: &str, nodes: &mut Vec<Node>) -> Option<String> {
    let (rack, host) = text.rsplit_once('/')?;
    nodes.push(Node {
        rack: rack.to_string(),
        host: host.to_string(),
        capacity: None,
    });
    Some(host.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten objects of 2,000 copies with a user of 100 kB: 200 MB of names each. The limit is 1 GiB.
    #[test]
    fn names_are_counted_over_all_objects() {
        let user = "u".repeat(100_000);
        let job = format!(
            r#"{{"job.count": 2000, "job.tasks": [{{"duration.ms": 1}}], "job.user": "{user}"}}"#
        );
        let text = job.repeat(10);
        let mut jobs = 0;
        let read = read(&mut text.as_bytes(), Counted::default(), |_, _| {
            jobs += 1;
            Ok(())
        });
        let fault = read.expect_err("2 GB of names");
        assert!(
            fault.problem.contains("1073741824 bytes of jobs' names"),
            "{fault}"
        );
        assert_eq!(jobs, 5 * 2_000);
    }
}
