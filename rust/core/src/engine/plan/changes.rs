//! What differs between two configurations, key by key, and what each difference does to the jobs
//! that are there. Compares what is serialized: a new key needs nothing here to be noticed.

use crate::config::TYPES;
use serde::Serialize;
use serde_json::{Value, json};

/// A key, and its values before and after.
pub(super) type Difference = (String, Value, Value);

/// Jobs of a queue and below it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Jobs with containers.
    pub(super) running: u32,
    /// Jobs without.
    pub(super) waiting: u32,
    /// Jobs that a limit held before the change, and none after it.
    pub(super) may_start: u32,
    /// Containers that would be taken back.
    pub(super) taken: u32,
}

/// What a key decides about.
enum About {
    Rights,
    Submissions,
    Starts,
    Sizes,
    Shares,
}

impl About {
    fn of(key: &str) -> About {
        match key.split('.').next().unwrap_or_default() {
            "acl_admin" => About::Rights,
            "acl_submit"
            | "placement"
            | "dynamic_queues"
            | "state"
            | "max_jobs"
            | "max_jobs_by_share"
            | "dynamic_depth"
            | "mapped_only"
            | "max_children"
            | "new_leaf"
            | "new_parent"
            | "default_priority"
            | "max_priority"
            | "max_priorities"
            | "workflow_priorities"
            | "lifetime_s"
            | "max_lifetime_s"
            | "queue_defaults"
            | "reload" => About::Submissions,
            "max_running_jobs"
            | "max_running_jobs_per_user"
            | "max_am_share"
            | "users"
            | "user"
            | "poolMaxJobsDefault"
            | "userMaxJobsDefault" => About::Starts,
            "max_container" => About::Sizes,
            _ => About::Shares,
        }
    }
}

/// The keys in which two configurations differ, in order.
pub(super) fn differences<T: Serialize>(
    types: &[String],
    before: &T,
    after: &T,
) -> Vec<Difference> {
    let [before, after] = [before, after].map(|config| {
        let value = serde_json::to_value(config).expect("keys of a configuration are texts");
        named(types, value)
    });
    let mut found = Vec::new();
    compare("", before, after, &mut found);
    found
}

/// A change of one queue, and what it does there. `stays` says that the queue stays stopped though
/// no state is written for it.
pub(super) fn in_queue((key, before, after): Difference, stays: bool, counts: &Counts) -> Value {
    let (running, waiting) = (counts.running, counts.waiting);
    let effect = match (key.as_str(), after.as_str()) {
        ("state", _) if stays => {
            "the queue stays stopped until its state is written as running".to_string()
        }
        ("state", Some("running") | None) => "the queue takes jobs".to_string(),
        ("state", _) => format!(
            "the queue takes no new jobs; the {running} that run and the {waiting} that wait go on"
        ),
        _ => effect(&key, counts),
    };
    json!({ "key": key, "before": before, "after": after, "effect": effect })
}

/// A change of what holds for all queues.
pub(super) fn of_all((key, before, after): Difference, all: &Counts) -> Value {
    let effect = effect(&key, all);
    json!({ "key": key, "before": before, "after": after, "effect": effect })
}

fn effect(key: &str, counts: &Counts) -> String {
    let Counts {
        running,
        waiting,
        may_start,
        taken,
    } = counts;
    match About::of(key) {
        About::Rights => {
            format!("decides who may manage the jobs: {running} that run, {waiting} that wait")
        }
        About::Submissions => format!(
            "counts for submissions from then on; the {running} jobs that run and the {waiting} \
             that wait stay as they are"
        ),
        About::Starts => format!(
            "{may_start} of the {waiting} jobs that wait may start; the {running} that run go on"
        ),
        About::Sizes => format!(
            "larger asks are refused from then on; the {running} jobs that run keep their \
             containers"
        ),
        About::Shares if *taken == 0 => format!(
            "counts for grants from then on; the {running} jobs that run keep their containers"
        ),
        About::Shares => format!(
            "counts for grants from then on; the {running} jobs that run lose {taken} containers"
        ),
    }
}

/// Gives the amounts in a serialized configuration the names of their types.
fn named(types: &[String], value: Value) -> Value {
    let Value::Object(mut object) = value else {
        return value;
    };
    match object.remove(TYPES) {
        Some(Value::Array(amounts)) => {
            let known = types.iter().cloned().zip(amounts);
            Value::Object(known.collect())
        }
        _ => {
            let parts = object.into_iter();
            let parts = parts.map(|(key, part)| (key, named(types, part)));
            Value::Object(parts.collect())
        }
    }
}

fn compare(key: &str, before: Value, after: Value, found: &mut Vec<Difference>) {
    let inside = |name: &str| match key {
        "" => name.to_string(),
        key => format!("{key}.{name}"),
    };
    match (before, after) {
        (before, after) if before == after => {}
        (Value::Object(before), Value::Object(mut after)) => {
            for (name, before) in before {
                let after = after.remove(&name).unwrap_or(Value::Null);
                compare(&inside(&name), before, after, found);
            }
            for (name, after) in after {
                compare(&inside(&name), Value::Null, after, found);
            }
        }
        (before, after) => found.push((key.to_string(), before, after)),
    }
}
