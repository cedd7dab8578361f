//! Limits of queues, users and ApplicationMasters.

use super::{ALL, Cause, MARKET, QUEUES, SINGLE, asks, cluster, job, master};
use crate::common::{Host, plain_ask};
use heddle_core::words::event::AskFacts;
use serde_json::{Value, json};

/// Two containers of 1 GB run where `queue` limits its use; a third waits.
fn at_limit(policy: Value, queues: Value) -> (Host, u32) {
    let mut host = cluster(policy, json!({"queues": queues}));
    let node = host.node(0, 8_192, 8);
    asks(&mut host, 1, "root.p.a", (5, 1_024));
    host.beat(node);
    assert_eq!(host.running(1), 2, "as many as fit");
    (host, 1)
}

/// Job 1 runs, and a limit of running jobs holds job 2.
fn one_runs(policy: Value, keys: Value) -> (Host, u32) {
    let mut host = cluster(policy, keys);
    let node = host.node(0, 8_192, 8);
    asks(&mut host, 1, "root.p.a", (1, 1_024));
    host.beat(node);
    asks(&mut host, 2, "root.p.a", (1, 1_024));
    (host, 2)
}

/// Ten nodes of 10 GB; the first user has as many masters as may start, the third comes last. See
/// `masters.rs`.
fn masters_in_line(policy: Value, waits: u32) -> (Host, u32) {
    let queues = json!({"share": {"dominant": true}, "queues": [
        {"path": "root", "compare": "capacity"},
        {"path": "root.a", "min_share": {"memory-mb": 40_960, "vcores": 40}, "max_am_share": 0.1,
         "user_limit_percent": 100, "user_limit_factor": 1},
        {"path": "root.b"}
    ]});
    let mut host = cluster(policy, queues);
    for _ in 0..10 {
        host.node(0, 10_240, 10);
    }
    let a = host.queue("ann", Some("root.a"));
    for job in 0..18 {
        host.user_job(job, a, job / 6);
        host.ask_facts(master(job, 1_024));
    }
    host.beat_all();
    (host, waits)
}

/// Ten nodes of 10 GB. A leaf of 40 GB lets a user have a quarter, and one container more.
fn at_the_limit_of_a_user(policy: Value) -> (Host, u32) {
    let queues = json!({"share": {"dominant": true}, "queues": [
        {"path": "root.a", "min_share": {"memory-mb": 40_960, "vcores": 40},
         "user_limit_percent": 25, "user_limit_factor": 0.25},
        {"path": "root.b"}
    ]});
    let mut host = cluster(policy, queues);
    for _ in 0..10 {
        host.node(0, 10_240, 10);
    }
    let a = host.queue("ann", Some("root.a"));
    for (job, user) in [(1, 1), (2, 2)] {
        host.user_job(job, a, user);
        host.ask(job, 0, 100, 1_024);
    }
    host.beat_all();
    (host, 1)
}

fn held_task(policy: Value, deficit: Value, kind: &str) -> (Host, u32) {
    let mut host = cluster(
        policy,
        json!({"deficit": deficit, "queues": [{"path": "root.a"}]}),
    );
    let node = host.node(0, 8_192, 8);
    asks(&mut host, 1, "root.a", (4, 1_024));
    if kind == "reduce" {
        host.ask_facts(AskFacts {
            priority: 10,
            ..plain_ask(1, 1, 1, 1_024)
        });
    }
    host.tick();
    host.beat(node);
    host.tick();
    if kind != "user" {
        return (host, 1);
    }
    asks(&mut host, 2, "root.a", (1, 1_024));
    host.tick();
    (host, 2)
}

pub(super) fn causes() -> Vec<Cause> {
    [
        queues(),
        sizes(),
        running(),
        running_of_a_user(),
        masters(),
        masters_in_a_line(),
        tasks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn queues() -> Vec<Cause> {
    vec![
        Cause {
            name: "queue maximum of memory",
            policies: &[QUEUES],
            plant: |policy| {
                at_limit(
                    policy,
                    json!([
                        {"path": "root.p.a", "max_share": {"memory-mb": 2_560}}
                    ]),
                )
            },
            reason: json!({"queue_limit":
                {"queue": 2, "resource": 0, "used": 2_048, "wanted": 1_024, "max": 2_560}}),
        },
        Cause {
            name: "queue maximum of vcores",
            policies: &[QUEUES],
            plant: |policy| {
                at_limit(
                    policy,
                    json!([{"path": "root.p.a", "max_share": {"vcores": 2}}]),
                )
            },
            reason: json!({"queue_limit":
                {"queue": 2, "resource": 1, "used": 2, "wanted": 1, "max": 2}}),
        },
        Cause {
            name: "parent maximum",
            policies: &[QUEUES],
            plant: |policy| {
                at_limit(
                    policy,
                    json!([
                        {"path": "root.p", "max_share": {"memory-mb": 2_048}}, {"path": "root.p.a"}
                    ]),
                )
            },
            reason: json!({"queue_limit": {"queue": 1, "used": 2_048, "max": 2_048}}),
        },
        Cause {
            name: "maximum of root",
            policies: ALL,
            plant: |policy| {
                at_limit(
                    policy,
                    json!([
                        {"path": "root", "max_share": {"memory-mb": 2_048}}, {"path": "root.p.a"}
                    ]),
                )
            },
            reason: json!({"queue_limit": {"queue": 0, "used": 2_048, "max": 2_048}}),
        },
    ]
}

fn sizes() -> Vec<Cause> {
    vec![
        Cause {
            name: "queue smaller than the container",
            policies: &[QUEUES],
            plant: |policy| {
                let queues = json!([{"path": "root.a", "max_share": {"memory-mb": 512}}]);
                let mut host = cluster(policy, json!({"queues": queues}));
                host.node(0, 8_192, 8);
                asks(&mut host, 1, "root.a", (1, 1_024));
                (host, 1)
            },
            reason: json!({"queue_limit": {"used": 0, "wanted": 1_024, "max": 512, "kept": 0}}),
        },
        Cause {
            name: "what a limit leaves is kept for a larger container",
            policies: &[&["fifo"]],
            plant: |policy| {
                let queues = json!([
                    {"path": "root", "max_share": {"memory-mb": 3_072}}, {"path": "root.a"}
                ]);
                let mut host = cluster(policy, json!({"queues": queues}));
                let node = host.node(0, 8_192, 8);
                asks(&mut host, 1, "root.a", (1, 1_024));
                host.beat(node);
                asks(&mut host, 2, "root.a", (1, 3_072));
                asks(&mut host, 3, "root.a", (4, 1_024));
                for _ in 0..14 {
                    host.now += 500;
                    host.tick();
                }
                (host, 3)
            },
            // 2048 MB are left, and as much of the 3072 MB as there is will be kept.
            reason: json!({"queue_limit":
                {"queue": 0, "used": 1_024, "wanted": 1_024, "max": 3_072, "kept": 3_072}}),
        },
    ]
}

fn running() -> Vec<Cause> {
    vec![
        Cause {
            name: "running jobs of the queue",
            policies: ALL,
            plant: |policy| {
                one_runs(
                    policy,
                    json!({"queues": [{"path": "root.p.a", "max_running_jobs": 1}]}),
                )
            },
            reason: json!({"job_limit": {"queue": 2, "running": 1, "max": 1, "ahead": 0}}),
        },
        Cause {
            name: "running jobs of the parent",
            policies: ALL,
            plant: |policy| {
                one_runs(
                    policy,
                    json!({"queues": [
                        {"path": "root.p", "max_running_jobs": 1}, {"path": "root.p.a"}
                    ]}),
                )
            },
            reason: json!({"job_limit": {"queue": 1, "running": 1, "max": 1}}),
        },
        Cause {
            name: "no running jobs at all",
            policies: ALL,
            plant: |policy| {
                let queues = json!([{"path": "root.p.a", "max_running_jobs": 0}]);
                one_runs(policy, json!({"queues": queues}))
            },
            reason: json!({"job_limit": {"queue": 2, "running": 0, "max": 0, "ahead": 1}}),
        },
    ]
}

fn running_of_a_user() -> Vec<Cause> {
    vec![
        Cause {
            name: "running jobs of a user in the queue",
            policies: ALL,
            plant: |policy| {
                let queues = json!([{"path": "root.p.a", "max_running_jobs_per_user": 1}]);
                one_runs(policy, json!({"queues": queues}))
            },
            reason: json!({"user_jobs":
                {"queue": 2, "everywhere": false, "running": 1, "max": 1, "ahead": 0}}),
        },
        Cause {
            name: "running jobs of a user in root",
            policies: ALL,
            plant: |policy| {
                one_runs(
                    policy,
                    json!({"queues": [
                        {"path": "root", "max_running_jobs_per_user": 1}, {"path": "root.p.a"}
                    ]}),
                )
            },
            reason: json!({"user_jobs": {"queue": 0, "everywhere": false, "max": 1}}),
        },
        Cause {
            name: "running jobs of a user everywhere",
            policies: ALL,
            plant: |policy| {
                let queues = json!([{"path": "root.p.a"}]);
                one_runs(
                    policy,
                    json!({"queues": queues, "users": {"max_running_jobs": 1}}),
                )
            },
            reason: json!({"user_jobs": {"everywhere": true, "running": 1, "max": 1}}),
        },
    ]
}

fn masters() -> Vec<Cause> {
    vec![
        Cause {
            name: "masters of the leaf",
            policies: &[&["fair", "by-queue", "shufflewatcher", "drf"]],
            plant: |policy| {
                let queues = json!([{"path": "root.a", "max_am_share": 0.2}]);
                let mut host = cluster(policy, json!({"queues": queues}));
                let node = host.node(0, 10_000, 10);
                for id in 1..=3 {
                    job(&mut host, id, "root.a");
                    host.ask_facts(master(id, 1_000));
                }
                host.tick();
                host.beat(node);
                (host, 3)
            },
            reason: json!({"master_limit":
                {"queue": 1, "resource": 0, "used": 2_000, "wanted": 1_000, "max": 2_000}}),
        },
        Cause {
            // Each leaf has its first; those beyond their leaf's part may take half of root.
            name: "masters of the parent",
            policies: &[&["fair", "by-queue", "shufflewatcher", "drf"]],
            plant: |policy| {
                let leaves =
                    (1..=6).map(|n| json!({"path": format!("root.q{n}"), "max_am_share": 0.01}));
                let queues: Vec<Value> = leaves.collect();
                let mut host = cluster(policy, json!({"queues": queues}));
                let node = host.node(0, 10_000, 20);
                for id in 1..=6 {
                    job(&mut host, id, &format!("root.q{id}"));
                    host.ask_facts(master(id, 1_000));
                }
                host.tick();
                host.beat(node);
                (host, 6)
            },
            reason: json!({"master_limit":
                {"queue": 0, "resource": 0, "used": 5_000, "wanted": 1_000, "max": 5_000}}),
        },
    ]
}

fn masters_in_a_line() -> Vec<Cause> {
    vec![
        Cause {
            name: "the limit of a user",
            policies: &[&["fair", "capacity"]],
            plant: at_the_limit_of_a_user,
            reason: json!({"user_limit": {"queue": 1, "resource": 0, "used": 11_264,
                "max": 10_240}}),
        },
        Cause {
            name: "masters of the user",
            policies: &[&["fair", "by-queue", "capacity"]],
            plant: |policy| masters_in_line(policy, 4),
            reason: json!({"user_masters":
                {"queue": 1, "used": 4_096, "wanted": 1_024, "max": 4_096}}),
        },
        Cause {
            name: "masters of the leaf, in line",
            policies: &[&["fair", "by-queue", "capacity"]],
            plant: |policy| masters_in_line(policy, 14),
            reason: json!({"master_limit":
                {"queue": 1, "used": 10_240, "wanted": 1_024, "max": 10_240}}),
        },
    ]
}

fn tasks() -> Vec<Cause> {
    let deficit: &[&[&str]] = &[&["fair-original"]];
    vec![
        Cause {
            name: "tasks of one job",
            policies: deficit,
            plant: |policy| held_task(policy, json!({"max_tasks_per_job": 2}), "map"),
            reason: json!({"held": {"max_tasks": {"running": 2, "max": 2}}}),
        },
        Cause {
            name: "jobs of one user by the order",
            policies: deficit,
            plant: |policy| held_task(policy, json!({"user_max_jobs": 1}), "user"),
            reason: json!({"held": {"user_jobs": {"max": 1, "needed": 2}}}),
        },
        Cause {
            name: "reduces that wait for maps",
            policies: deficit,
            plant: |policy| held_task(policy, json!({"slow_start": 0.5}), "reduce"),
            reason: json!({"held": {"slow_start": {"done": 0, "needed": 2}}}),
        },
        Cause {
            name: "nothing but a node",
            policies: &[QUEUES, SINGLE, MARKET],
            plant: |policy| {
                let mut host = cluster(policy, json!({"queues": [{"path": "root.a"}]}));
                host.node(0, 8_192, 8);
                asks(&mut host, 1, "root.a", (1, 1_024));
                (host, 1)
            },
            reason: json!({"soon": {"nodes": 1}}),
        },
    ]
}
