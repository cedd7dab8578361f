//! MapReduce's job history, `job_….jhist`: events of one job, in Avro's JSON or binary form after a
//! line that names the form and a line with the schema (Hadoop's `EventWriter`, `Events.avpr`).

use crate::avro::{Decoder, Schema};
use crate::configuration::Configuration;
use crate::fault::Fault;
use crate::limits::{COUNT_MAX, HOSTS_MAX, ITEM_BYTES_MAX, check_tasks, time};
use crate::model::{End, Job, Node, Task};
use crate::objects::said;
use heddle_core::words::ids::Millis;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const REMEDY: &str = "copy the file again once its job has ended (`mapreduce.jobhistory.done-dir`)";

/// First lines of the two forms.
pub(crate) const JSON: &str = "Avro-Json";
pub(crate) const BINARY: &str = "Avro-Binary";

/// The ApplicationMaster of MapReduce stays for this long when it has unregistered
/// (`MRAppMaster.shutDownJob`).
pub(crate) const LINGER_MS: Millis = 5_000;

/// A job history: the job, and the hosts that it ran on.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) job: Job,
    pub(crate) nodes: BTreeSet<Node>,
    /// When the ApplicationMaster began to ask for tasks.
    pub(crate) asked_ms: Option<Millis>,
    /// Attempts that failed or were killed.
    pub(crate) unsuccessful: u64,
}

/// Reads a job history.
///
/// # Errors
/// The first fault, with its offset.
pub(crate) fn read(bytes: &[u8]) -> Result<Recorded, Fault> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let form = lines.next().unwrap_or_default();
    let schema = lines.next().unwrap_or_default();
    let begin = form.len() + schema.len();
    check_line(schema, form.len())?;
    let mut events = Events::default();
    match form.trim_ascii() {
        form if form == JSON.as_bytes() => {
            let mut at = begin;
            for line in lines {
                check_line(line, at)?;
                if !line.trim_ascii().is_empty() {
                    let event: Value = serde_json::from_slice(line).map_err(|error| {
                        let offset = at + error.column().min(line.len());
                        Fault::at(offset as u64, said(&error), REMEDY)
                    })?;
                    events.add(&event, at as u64)?;
                }
                at += line.len();
            }
        }
        form if form == BINARY.as_bytes() => {
            let at = bytes.len().min(form.len() + 1) as u64;
            let bad = |problem: String| Fault::at(at, problem, REMEDY);
            let schema = serde_json::from_slice(schema).map_err(|error| bad(said(&error)))?;
            let schema = Schema::new(schema).map_err(bad)?;
            let mut decoder = Decoder::new(bytes, begin);
            while !decoder.is_at_end() {
                let at = decoder.offset();
                let event = decoder.item(&schema);
                let event =
                    event.map_err(|problem| Fault::at(decoder.offset(), problem, REMEDY))?;
                events.add(&event, at)?;
            }
        }
        _ => {
            let problem = format!("expected `{JSON}` or `{BINARY}` as the first line");
            return Err(Fault::at(0, problem, REMEDY));
        }
    }
    events.finish(bytes.len() as u64)
}

/// Checks the length of the line at an offset.
fn check_line(line: &[u8], at: usize) -> Result<(), Fault> {
    match line.len() > ITEM_BYTES_MAX {
        true => {
            let problem = format!("a line of more than {ITEM_BYTES_MAX} bytes");
            Err(Fault::at(at as u64, problem, REMEDY))
        }
        false => Ok(()),
    }
}

/// An attempt that succeeded.
#[derive(Clone, Copy, Debug, Default)]
struct Ran {
    started_ms: Millis,
    finished_ms: Millis,
}

#[derive(Debug, Default)]
struct Events {
    recorded: Recorded,
    is_submitted: bool,
    master_ms: Option<Millis>,
    first_ms: Option<Millis>,
    starts: BTreeMap<String, Millis>,
    hosts: BTreeMap<String, Vec<String>>,
    /// By kind and task.
    ran: [BTreeMap<String, Ran>; 2],
}

/// Returns the fields of an event, and of a union's branch in Avro's JSON form.
fn plain(value: &Value) -> &Value {
    match value.as_object() {
        Some(keys) if keys.len() == 1 => {
            let (name, inner) = keys.iter().next().expect("it has one");
            let is_branch = name.contains('.')
                || ["string", "long", "int", "array", "map", "boolean"].contains(&name.as_str());
            if is_branch { inner } else { value }
        }
        _ => value,
    }
}

impl Events {
    fn add(&mut self, event: &Value, offset: u64) -> Result<(), Fault> {
        let kind = event["type"].as_str();
        let kind =
            kind.ok_or_else(|| Fault::at(offset, "expected an event with `type`", REMEDY))?;
        let fields = plain(&event["event"]);
        let text = |key: &str| plain(&fields[key]).as_str().unwrap_or_default();
        let number = |key: &str| {
            let found = plain(&fields[key]).as_i64();
            let missing = || Fault::at(offset, format!("{kind} without `{key}`"), REMEDY);
            found.map(time).ok_or_else(missing)
        };
        let job = &mut self.recorded.job;
        match kind {
            "JOB_SUBMITTED" => {
                self.is_submitted = true;
                job.id = text("jobid").to_string();
                job.name = text("jobName").to_string();
                job.user = text("userName").to_string();
                job.submitted_ms = number("submitTime")?;
                let queue = text("jobQueueName");
                job.queue = (!queue.is_empty()).then(|| queue.to_string());
            }
            "JOB_QUEUE_CHANGED" => job.queue = Some(text("jobQueueName").to_string()),
            "AM_STARTED" => {
                self.master_ms.get_or_insert(number("startTime")?);
            }
            "TASK_STARTED" => {
                let at = number("startTime")?;
                self.first_ms.get_or_insert(at);
                let hosts = text("splitLocations")
                    .split(',')
                    .filter(|host| !host.is_empty());
                let hosts: Vec<String> = hosts.take(HOSTS_MAX).map(str::to_string).collect();
                if !hosts.is_empty() {
                    self.hosts.insert(text("taskid").to_string(), hosts);
                }
            }
            "MAP_ATTEMPT_STARTED" | "REDUCE_ATTEMPT_STARTED" => {
                let at = number("startTime")?;
                self.starts.insert(text("attemptId").to_string(), at);
                check_tasks(self.starts.len())?;
            }
            "MAP_ATTEMPT_FINISHED" | "REDUCE_ATTEMPT_FINISHED" => {
                let at = number("finishTime")?;
                self.attempt_finished(usize::from(kind.starts_with("REDUCE")), fields, at);
            }
            "MAP_ATTEMPT_FAILED"
            | "MAP_ATTEMPT_KILLED"
            | "REDUCE_ATTEMPT_FAILED"
            | "REDUCE_ATTEMPT_KILLED" => self.recorded.unsuccessful += 1,
            "JOB_FINISHED" => {
                job.finished_ms = Some(number("finishTime")?);
                job.end = End::Well;
                job.locality = locality(&fields["totalCounters"]);
            }
            "JOB_FAILED" | "JOB_KILLED" | "JOB_ERROR" => {
                job.finished_ms = Some(number("finishTime")?);
                job.end = End::Badly;
            }
            _ => {}
        }
        Ok(())
    }

    fn attempt_finished(&mut self, kind: usize, fields: &Value, finished_ms: Millis) {
        let text = |key: &str| plain(&fields[key]).as_str().unwrap_or_default();
        let started_ms = self.starts.remove(text("attemptId"));
        let ran = Ran {
            started_ms: started_ms.unwrap_or(finished_ms),
            finished_ms,
        };
        self.ran[kind].insert(text("taskid").to_string(), ran);
        self.recorded.nodes.insert(Node {
            rack: text("rackname").to_string(),
            host: text("hostname").to_string(),
            capacity: None,
        });
    }

    fn finish(mut self, end: u64) -> Result<Recorded, Fault> {
        if !self.is_submitted {
            return Err(Fault::at(end, "the file ends before JOB_SUBMITTED", REMEDY));
        }
        let job = &mut self.recorded.job;
        let mapped_ms = self.ran[0].values().map(|ran| ran.finished_ms).max();
        for (kind, ran) in self.ran.iter().enumerate() {
            let task = |(id, ran): (&String, &Ran)| {
                // A reduce copies until the last map has ended.
                let since_ms = match kind {
                    0 => ran.started_ms,
                    _ => ran.started_ms.max(mapped_ms.unwrap_or(0)),
                };
                Task {
                    length_ms: (ran.finished_ms - since_ms).max(0),
                    hosts: self.hosts.remove(id).map_or_else(Arc::default, Into::into),
                }
            };
            job.tasks[kind] = ran.iter().map(task).collect();
        }
        job.started_ms = self.master_ms;
        if let (Some(first), Some(master)) = (self.first_ms, self.master_ms) {
            job.start_ms = (first - master).max(0);
        }
        let last = self.ran.iter().flat_map(|ran| ran.values());
        let last = last.map(|ran| ran.finished_ms).max();
        if let (Some(last), Some(finished)) = (last, job.finished_ms) {
            job.commit_ms = (finished - last).max(0);
        }
        if job.finished_ms.is_none() {
            job.end = End::Open;
        }
        job.linger_ms = LINGER_MS;
        self.recorded.asked_ms = self.first_ms;
        Ok(self.recorded)
    }
}

/// Returns the maps by distance to their data, from a job's counters.
fn locality(counters: &Value) -> Option<[u64; 3]> {
    let groups = plain(counters)["groups"].as_array()?;
    let counts = groups.iter().filter_map(|group| group["counts"].as_array());
    let all: Vec<&Value> = counts.flatten().collect();
    let count = |name: &str| {
        let found = all.iter().find(|counter| counter["name"] == name);
        found.and_then(|counter| counter["value"].as_u64())
    };
    let names = ["DATA_LOCAL_MAPS", "RACK_LOCAL_MAPS", "OTHER_LOCAL_MAPS"].map(count);
    let any = names.iter().any(Option::is_some);
    any.then(|| names.map(|count| count.unwrap_or(0).min(COUNT_MAX)))
}

/// Adds what a job's configuration says.
pub(crate) fn configure(job: &mut Job, configuration: &Configuration) {
    job.sizes = configuration.sizes;
    job.master = Some(configuration.master);
    job.slow_start_per_mille = Some(configuration.slow_start_per_mille);
    if let Some(queue) = &configuration.queue {
        job.queue.get_or_insert_with(|| queue.clone());
    }
}
