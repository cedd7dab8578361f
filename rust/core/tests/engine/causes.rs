//! Planted causes: each cluster has one cause for which a job waits. The answer names it, with the
//! numbers, under every policy where it can happen. Numbers follow by hand from each set-up.

mod of_limits;
mod of_markets;
mod of_nodes;
mod of_others;
mod of_remedies;

use crate::common::{Host, plain_ask};
use heddle_core::words::event::AskFacts;
use heddle_core::words::ids::PartitionId;
use heddle_core::words::resource::Resource;
use serde_json::{Value, json};

/// Policies with a queue for each queue of the file.
const QUEUES: &[&str] = &["fair", "by-queue", "shufflewatcher", "capacity", "drf"];
/// Policies that put all jobs into one line.
const SINGLE: &[&str] = &["fifo", "fair-original", "hfsp", "reverse-adaptive"];
const MARKET: &[&str] = &["dynamic-priority"];
const ALL: &[&[&str]] = &[QUEUES, SINGLE, MARKET];

/// A cluster with one cause.
struct Cause {
    name: &'static str,
    policies: &'static [&'static [&'static str]],
    /// Makes the cluster under a policy. Returns the job that waits.
    plant: fn(Value) -> (Host, u32),
    /// What the reason must have.
    reason: Value,
}

fn policy(name: &str) -> Value {
    match name {
        "capacity" => json!({"share": "capacity", "order": "by-queue", "place": "delay"}),
        "drf" => json!({"share": "drf", "order": "fifo", "place": "local-first"}),
        preset => json!(preset),
    }
}

/// An empty cluster under a policy, with these keys of the file.
fn cluster(policy: Value, keys: Value) -> Host {
    let mut config = json!({"policy": policy, "heartbeat_fill": 1.0});
    for (key, value) in keys.as_object().expect("keys") {
        config[key] = value.clone();
    }
    let users = json!({"ann": 1, "ben": 2});
    Host::from_setup(&json!({"config": config, "users": users}))
}

/// Submits a job of user 1 to a queue that is configured.
fn job(host: &mut Host, job: u32, queue: &str) {
    let queue = host.queue("ann", Some(queue));
    host.now += 1;
    host.user_job(job, queue, 1);
}

/// Submits a job that asks for so many containers of 1 vcore.
fn asks(host: &mut Host, id: u32, queue: &str, (count, mb): (u32, i64)) {
    job(host, id, queue);
    host.ask(id, 0, count, mb);
}

/// An ask for containers of some MB and vcores on the nodes of a label.
fn sized(job: u32, size: (i64, i64), label: u32) -> AskFacts {
    AskFacts {
        partition: PartitionId(label),
        resource: Resource::new(size.0, size.1),
        ..plain_ask(job, 0, 1, size.0)
    }
}

fn master(job: u32, mb: i64) -> AskFacts {
    AskFacts {
        am: true,
        priority: 0,
        ..plain_ask(job, 0, 1, mb)
    }
}

/// Whether a value has all that another one has.
fn has(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => part
            .iter()
            .all(|(key, part)| value.get(key).is_some_and(|value| has(value, part))),
        _ => value == part,
    }
}

#[test]
fn every_planted_cause_is_named_with_its_numbers() {
    let parts = [
        of_limits::causes(),
        of_markets::causes(),
        of_nodes::causes(),
        of_others::causes(),
    ];
    let causes: Vec<Cause> = parts.into_iter().flatten().collect();
    assert!(causes.len() >= 56, "{} causes", causes.len());
    let mut wrong = Vec::new();
    for cause in &causes {
        for name in cause.policies.iter().copied().flatten() {
            let (mut host, job) = (cause.plant)(policy(name));
            let explained = host.request(json!({"op": "explain", "job": job}));
            let reason = &explained["waits"][0]["reason"];
            if !has(reason, &cause.reason) {
                wrong.push(format!(
                    "{} under {name}: expected {}, not {reason}: {}",
                    cause.name, cause.reason, explained["sentence"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What keeps a submission out is said to who submits; there is no job that waits.
#[test]
fn a_submission_that_is_refused_names_the_queue_and_the_limit() {
    let config = json!({"queues": [
        {"path": "root.stopped", "state": "stopped"},
        {"path": "root.full", "max_jobs": 1},
        {"path": "root.above", "max_jobs": 1},
        {"path": "root.above.leaf"},
        {"path": "root.mine", "max_jobs": 2, "user_limit_percent": 50, "user_limit_factor": 1}
    ]});
    let mut host = cluster(json!("fair"), config);
    host.node(0, 4_096, 4);
    for (id, queue) in [(1, "root.full"), (2, "root.above.leaf"), (3, "root.mine")] {
        asks(&mut host, id, queue, (1, 512));
    }
    let refused = |host: &mut Host, queue: &str| {
        let request = json!({"op": "place", "user": "ann", "user_number": 1, "queue": queue});
        let answer = host.engine.request(host.now, &request);
        answer.expect_err("it is refused").0
    };
    for (queue, told) in [
        ("root.stopped", "queue root.stopped is stopped"),
        (
            "root.full",
            "queue root.full has 1 of 1 applications (max_jobs)",
        ),
        (
            "root.above.leaf",
            "queue root.above has 1 of 1 applications (max_jobs)",
        ),
        (
            "root.mine",
            "the user has 1 of 1 applications in the queue (max_jobs",
        ),
    ] {
        let text = refused(&mut host, queue);
        assert!(text.contains(told), "{queue}: {text}");
    }
}
