//! Rumen's job traces: a JSON object per job (`hadoop-rumen`, `LoggedJob`, written by
//! `TraceBuilder`).

use crate::fault::Fault;
use crate::limits::{HOSTS_MAX, time};
use crate::model::{End, Job, Node, Task};
use crate::objects::{Number, Text, each};
use heddle_core::words::resource::Resource;
use serde::Deserialize;
use std::io::BufRead;

const REMEDY: &str = "expected the jobs of a Rumen trace (`jobID`, `mapTasks`); \
                      write it again with TraceBuilder";

/// MapReduce's defaults (mapred-default.xml): `jobMapMB` of a trace is the heap, not the container.
const TASK_MB: i64 = 1_024;
const MASTER_MB: i64 = 1_536;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoggedJob {
    #[serde(rename = "jobID")]
    id: Text,
    #[serde(default)]
    job_name: Text,
    #[serde(default)]
    user: Text,
    #[serde(default)]
    queue: Text,
    #[serde(default)]
    outcome: Text,
    #[serde(default)]
    submit_time: Number,
    #[serde(default)]
    launch_time: Number,
    #[serde(default)]
    finish_time: Number,
    #[serde(default)]
    map_tasks: Vec<LoggedTask>,
    #[serde(default)]
    reduce_tasks: Vec<LoggedTask>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoggedTask {
    #[serde(default)]
    preferred_locations: Option<Vec<Location>>,
    #[serde(default)]
    attempts: Vec<Attempt>,
}

#[derive(Deserialize)]
struct Location {
    #[serde(default)]
    layers: Vec<Text>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attempt {
    #[serde(default)]
    result: Text,
    #[serde(default)]
    start_time: Number,
    #[serde(default)]
    finish_time: Number,
    #[serde(default)]
    location: Option<Location>,
}

/// Reads a trace; gives each job and the hosts that it names.
///
/// # Errors
/// What is wrong with the file, with its offset.
pub(crate) fn read(
    source: &mut dyn BufRead,
    mut give: impl FnMut(Job, Vec<Node>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    each(source, REMEDY, |job: LoggedJob, _| {
        let (job, nodes) = convert(job);
        give(job, nodes)
    })
}

fn convert(job: LoggedJob) -> (Job, Vec<Node>) {
    let at = |number: Number| number.0.filter(|at| *at > 0).map(time);
    let mut nodes = Vec::new();
    let mapped_ms = successes(&job.map_tasks)
        .filter_map(|attempt| at(attempt.finish_time))
        .max();
    let first_ms = successes(&job.map_tasks)
        .chain(successes(&job.reduce_tasks))
        .filter_map(|attempt| at(attempt.start_time))
        .min();
    let launched_ms = at(job.launch_time);
    let mut tasks = |all: &[LoggedTask], since_ms: i64| {
        let mut read = Vec::new();
        for task in all {
            let Some(attempt) = task.attempts.iter().find(|attempt| is_success(attempt)) else {
                continue;
            };
            if let Some(location) = &attempt.location {
                nodes.extend(node(location));
            }
            let places = task.preferred_locations.iter().flatten();
            let hosts: Vec<Node> = places.filter_map(node).take(HOSTS_MAX).collect();
            let start = at(attempt.start_time).unwrap_or(0).max(since_ms);
            let length_ms = (at(attempt.finish_time).unwrap_or(0) - start).max(0);
            read.push(Task {
                length_ms,
                hosts: hosts.iter().map(|node| node.host.clone()).collect(),
            });
            nodes.extend(hosts);
        }
        read
    };
    let tasks = [
        tasks(&job.map_tasks, 0),
        tasks(&job.reduce_tasks, mapped_ms.unwrap_or(0)),
    ];
    let text = |text: Text| text.0.unwrap_or_default();
    let read = Job {
        id: text(job.id),
        name: text(job.job_name),
        user: text(job.user),
        queue: job.queue.0.filter(|queue| !queue.is_empty()),
        submitted_ms: at(job.submit_time).unwrap_or(0),
        started_ms: launched_ms,
        finished_ms: at(job.finish_time),
        end: match text(job.outcome).as_str() {
            "SUCCESS" => End::Well,
            "" => End::Open,
            _ => End::Badly,
        },
        tasks,
        sizes: [Resource::new(TASK_MB, 1); 2],
        master: Some(Resource::new(MASTER_MB, 1)),
        start_ms: match (first_ms, launched_ms) {
            (Some(first), Some(launched)) => (first - launched).max(0),
            _ => 0,
        },
        linger_ms: crate::jhist::LINGER_MS,
        ..Job::default()
    };
    (read, nodes)
}

fn is_success(attempt: &Attempt) -> bool {
    attempt.result.0.as_deref() == Some("SUCCESS")
}

fn successes(tasks: &[LoggedTask]) -> impl Iterator<Item = &Attempt> {
    let attempts = tasks.iter().flat_map(|task| &task.attempts);
    attempts.filter(|attempt| is_success(attempt))
}

/// Returns the node of a location with a rack and a host.
fn node(location: &Location) -> Option<Node> {
    let [rack, host] = location.layers.as_slice() else {
        return None;
    };
    Some(Node {
        rack: rack.0.clone()?,
        host: host.0.clone()?,
        capacity: None,
    })
}
