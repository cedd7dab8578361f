//! Containers that the host places itself: they start within the limits that hold for grants, and
//! count like any other.

use crate::common::{Host, host_of};
use heddle_core::words::event::Event;
use heddle_core::words::ids::JobId;
use serde_json::{Value, json};

const JOB: u32 = 1;
const OTHER: u32 = 2;

/// Takes room for a container of 1 GB; returns why not, or none if it started.
fn take(host: &mut Host, job: u32, node: u32, key: u64) -> Option<String> {
    let reply = host.request(json!({
        "op": "take", "job": job, "node": node, "key": key, "priority": 1, "resource": [1024, 1],
    }));
    host.engine.check_invariants().expect("the books are right");
    assert_eq!(reply["taken"], reply["why"].is_null(), "{reply}");
    reply["why"].as_str().map(str::to_string)
}

fn because(why: &str) -> Option<String> {
    Some(why.to_string())
}

/// Two nodes of 4 GB; jobs of two users in `root.q`, which may use 3 GB, the jobs' users 2 GB each.
fn cluster() -> Host {
    let config = json!({
        "queues": [{
            "path": "root.q", "min_share": {"memory-mb": 3072, "vcores": 3},
            "max_share": {"memory-mb": 3072}, "user_limit_percent": 50, "user_limit_factor": 0.5,
        }],
    });
    let mut host = Host::from_setup(&json!({"config": config}));
    host.node(0, 4096, 64);
    host.node(0, 4096, 64);
    let queue = host.queue("a", Some("root.q"));
    host.user_job(JOB, queue, 1);
    host.user_job(OTHER, queue, 2);
    host
}

fn used_mb(host: &mut Host) -> Value {
    let report = host.request(json!({"op": "job", "job": JOB}));
    report["used"]["memory-mb"].clone()
}

#[test]
fn it_counts_until_it_ends() {
    let mut host = cluster();
    assert_eq!(take(&mut host, JOB, 0, 7), None);
    assert_eq!(used_mb(&mut host), 1024);
    let key = 7;
    host.step(&[Event::ContainerCompleted {
        job: JobId(JOB),
        key,
        exit: 0,
    }]);
    assert_eq!(used_mb(&mut host), 0);
}

/// At a user's limit one more container starts, as in YARN; then the queue's limit is near.
#[test]
fn the_limits_of_users_and_queues_hold() {
    let mut host = cluster();
    // Half of 3 GB, up to whole containers, is 2 GB.
    for key in 1..=3 {
        assert_eq!(take(&mut host, JOB, 0, key), None, "container {key}");
    }
    assert_eq!(
        take(&mut host, JOB, 1, 4),
        because("its user's limit in the queue")
    );
    assert_eq!(
        take(&mut host, OTHER, 1, 1),
        because("a limit of its queue")
    );
}

#[test]
fn a_node_gives_no_more_than_it_has() {
    let mut host = Host::new(json!({}));
    host.node(0, 2048, 64);
    let queue = host.queue("a", None);
    host.job(JOB, queue);
    assert_eq!(take(&mut host, JOB, 0, 1), None);
    assert_eq!(take(&mut host, JOB, 0, 2), None);
    assert_eq!(take(&mut host, JOB, 0, 3), because("the node's free room"));
}

#[test]
fn blacklists_hold() {
    let mut host = cluster();
    let place = host_of(0);
    host.step(&[Event::Blacklist {
        job: JobId(JOB),
        place,
        added: true,
    }]);
    assert_eq!(
        take(&mut host, JOB, 0, 1),
        because("its application blacklists the node")
    );
    assert_eq!(take(&mut host, JOB, 1, 1), None);
}

#[test]
fn what_does_not_exist_is_named() {
    let mut host = cluster();
    let ask = |host: &mut Host, request: Value| host.engine.request(0, &request);
    for (key, request) in [
        (
            "job",
            json!({"op": "take", "job": 9, "node": 0, "key": 1, "resource": [1024]}),
        ),
        (
            "node",
            json!({"op": "take", "job": JOB, "node": 9, "key": 1, "resource": [1024]}),
        ),
        (
            "key",
            json!({"op": "take", "job": JOB, "node": 0, "resource": [1024]}),
        ),
        (
            "resource",
            json!({"op": "take", "job": JOB, "node": 0, "key": 1, "resource": [0]}),
        ),
        (
            "resource[1]",
            json!({"op": "take", "job": JOB, "node": 0, "key": 1,
                               "resource": [1, "x"]}),
        ),
    ] {
        let error = ask(&mut host, request).expect_err(key).0;
        assert!(error.contains(&format!("key `{key}`")), "{error}");
    }
}
