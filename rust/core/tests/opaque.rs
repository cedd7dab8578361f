//! Applications other than MapReduce lose nothing to anybody, whichever stage wants containers
//! back, unless their queue or one above it allows that. The same cluster for every mechanism:
//! four slots, all taken by one job, and another that has a claim to some.

mod common;

use common::Host;
use heddle_core::Decision;
use heddle_core::event::{Event, JobFacts};
use heddle_core::types::{JobId, UserId};
use serde_json::{Value, json};

/// What makes each mechanism take something of job 1 for job 2.
fn mechanisms() -> Vec<(&'static str, Value)> {
    vec![
        (
            "minimum share",
            json!({"policy": "fair", "preemption": {"enabled": true, "min_share_timeout_ms": 0}}),
        ),
        (
            "unpaid slots",
            json!({"policy": "dynamic-priority", "dynamic_priority": {
                "allocation_interval_ms": 1000, "reclaim_interval_ms": 1000}}),
        ),
        (
            "overtaken jobs",
            json!({"policy": "hfsp", "hfsp": {"kill": true}}),
        ),
        (
            "foreign load",
            json!({"policy": "reverse-adaptive", "reverse_adaptive": {
                "evict": true, "control_period_ms": 1000,
                "foreign_load": [[0, 0.0], [3000, 0.5]]}}),
        ),
    ]
}

/// Runs the cluster for ten seconds; the jobs that containers were taken from.
fn losers(mut config: Value, queues: Value, mapreduce: bool) -> Vec<u32> {
    config["heartbeat_fill"] = json!(1.0);
    config["queues"] = queues;
    let mut host = Host::new(config);
    let node = host.node(0, 4096, 4);
    for (job, name, asks) in [(1, "root.holds.all", 10), (2, "root.claims", 2)] {
        let queue = host.queue("u", Some(name));
        host.step(&[Event::JobAdded(JobFacts {
            job: JobId(job),
            queue,
            user: UserId(0),
            priority: 0,
            mapreduce: mapreduce || job == 2,
            unmanaged_am: false,
            submitted_ms: host.now,
        })]);
        host.ask(job, 0, asks, 1024);
        if job == 1 {
            // Entitlements and quotas are the tick's.
            host.tick();
        }
        host.beat(node);
    }
    assert_eq!((host.running(1), host.running(2)), (4, 0));
    let mut losers = Vec::new();
    for _ in 0..20 {
        host.now += 500;
        for decision in host.tick() {
            if let Decision::Evict { job, .. } = decision {
                losers.push(job.0);
            }
        }
    }
    losers
}

fn queues(root: bool, above: bool, own: bool) -> Value {
    json!([
        {"path": "root", "preempt_opaque": root},
        {"path": "root.holds", "preempt_opaque": above},
        {"path": "root.holds.all", "preempt_opaque": own},
        {"path": "root.claims", "min_share": {"memory-mb": 2048}, "budget": 1000,
         "spending_rate": 1},
    ])
}

#[test]
fn only_a_queue_that_allows_it_exposes_opaque_applications() {
    for (name, config) in mechanisms() {
        let taken = |queues, mapreduce| losers(config.clone(), queues, mapreduce);
        let refused = queues(false, false, false);
        assert_eq!(taken(refused.clone(), false), [0; 0], "{name}: opaque");
        // The mechanism is at work at all: two slots are claimed, and MapReduce gives them.
        assert_eq!(taken(refused, true), [1, 1], "{name}: MapReduce");
        for allowed in [
            queues(false, false, true),
            queues(false, true, false),
            queues(true, false, false),
        ] {
            assert_eq!(taken(allowed, false), [1, 1], "{name}: allowed");
        }
    }
}
