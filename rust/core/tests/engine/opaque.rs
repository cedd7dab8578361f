//! Every stage that reclaims containers takes them from applications of every framework, except
//! where a queue spares those outside MapReduce. Each mechanism gets the same cluster: four slots,
//! all taken by one job, and another job with a claim to some.

use crate::common::Host;
use heddle_core::Decision;
use heddle_core::words::event::{Event, JobFacts};
use heddle_core::words::ids::{JobId, UserId};
use serde_json::{Value, json};

/// Returns configurations that make each mechanism take something from job 1 for job 2.
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

/// Runs the cluster for ten seconds; returns the jobs that lost containers.
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
            // The tick computes entitlements and quotas.
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

/// Builds queues with these values of `preempt_opaque` on the path.
fn queues(root: Option<bool>, above: Option<bool>, own: Option<bool>) -> Value {
    let queue = |path: &str, says: Option<bool>| match says {
        Some(says) => json!({"path": path, "preempt_opaque": says}),
        None => json!({"path": path}),
    };
    json!([
        queue("root", root),
        queue("root.holds", above),
        queue("root.holds.all", own),
        {"path": "root.claims", "min_share": {"memory-mb": 2048}, "budget": 1000,
         "spending_rate": 1},
    ])
}

#[test]
fn every_application_gives_up_what_its_queue_does_not_spare() {
    for (name, config) in mechanisms() {
        let taken = |queues, mapreduce| losers(config.clone(), queues, mapreduce);
        let [yes, no] = [Some(true), Some(false)];
        // The nearest queue with a value decides.
        for says in [
            queues(None, None, None),
            queues(no, None, yes),
            queues(no, yes, None),
            queues(yes, None, None),
        ] {
            assert_eq!(taken(says, false), [1, 1], "{name}: two slots are claimed");
        }
        for says in [
            queues(None, None, no),
            queues(yes, no, None),
            queues(no, None, None),
        ] {
            assert_eq!(taken(says.clone(), false), [0; 0], "{name}: spared");
            assert_eq!(taken(says, true), [1, 1], "{name}: MapReduce");
        }
    }
}

#[test]
fn what_no_one_may_take_from_keeps_everything() {
    for (name, config) in mechanisms() {
        for at in [0, 1, 2] {
            let mut queues = queues(Some(true), Some(true), Some(true));
            queues[at]["preempt_from"] = json!(false);
            // A queue below does not overrule it.
            for below in at + 1..3 {
                queues[below]["preempt_from"] = json!(true);
            }
            for mapreduce in [true, false] {
                let taken = losers(config.clone(), queues.clone(), mapreduce);
                assert_eq!(taken, [0; 0], "{name}, at {at}");
            }
        }
    }
}
