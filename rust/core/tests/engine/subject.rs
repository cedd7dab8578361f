//! The subject of a panic, and the audit in slices.

use crate::common::{Host, plain_ask};
use heddle_core::engine::{PLANTED_ASK, PLANTED_COUNT, PLANTED_GRANT, PLANTED_TICK, Subject};
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::{JobId, NodeId};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Builds two jobs and a node; the second job asks with this priority.
fn planted(priority: i32) -> (Host, u32, AskFacts) {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0, "testing": {"faults": true}}));
    let node = host.node(0, 8192, 8);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.job(2, queue);
    host.ask(1, 0, 1, 1024);
    let ask = AskFacts {
        priority,
        ..plain_ask(2, 0, 1, 1024)
    };
    (host, node, ask)
}

#[test]
fn a_panic_is_laid_to_the_job_whose_ask_is_heard_or_granted() {
    let second = Some(Subject::Job(JobId(2)));
    let (mut host, _, ask) = planted(PLANTED_ASK);
    assert!(catch_unwind(AssertUnwindSafe(|| host.ask_facts(ask))).is_err());
    assert_eq!(host.engine.subject(), second);

    let (mut host, node, ask) = planted(PLANTED_GRANT);
    host.ask_facts(ask);
    assert!(catch_unwind(AssertUnwindSafe(|| host.beat(node))).is_err());
    assert_eq!(
        host.engine.subject(),
        second,
        "not to the node that reported"
    );
}

#[test]
fn a_panic_of_the_tick_is_laid_to_nothing() {
    let (mut host, _, ask) = planted(PLANTED_TICK);
    host.ask_facts(ask);
    assert!(catch_unwind(AssertUnwindSafe(|| host.tick())).is_err());
    assert_eq!(host.engine.subject(), None);
}

#[test]
fn an_event_about_a_node_is_laid_to_the_node() {
    let (mut host, node, _) = planted(1);
    host.step(&[Event::NodeLoad {
        node: NodeId(node),
        foreign_per_mille: 1,
    }]);
    assert_eq!(host.engine.subject(), Some(Subject::Node(NodeId(node))));
}

#[test]
fn planted_asks_are_asks_like_any_other_where_faults_are_not_allowed() {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0}));
    let node = host.node(0, 8192, 8);
    let queue = host.queue("alice", None);
    let plants = [PLANTED_ASK, PLANTED_GRANT, PLANTED_TICK, PLANTED_COUNT];
    for (job, priority) in plants.into_iter().enumerate() {
        host.job(job as u32, queue);
        host.ask_facts(AskFacts {
            priority,
            ..plain_ask(job as u32, 0, 1, 1024)
        });
        let audit = host.request(json!({"op": "audit", "jobs": [job, job + 1]}));
        assert_eq!(audit["jobs"][0][3], json!([[0, 1]]));
    }
    host.tick();
    assert_eq!(host.beat(node).len(), 4);
}

#[test]
fn an_audit_tells_of_the_numbers_that_it_is_asked_for() {
    let (mut host, _, ask) = planted(1);
    host.node(0, 4096, 4);
    host.ask_facts(ask);
    let all = host.request(json!({"op": "audit"}));
    assert_eq!(all["jobs"].as_array().map(Vec::len), Some(2));
    assert_eq!(all["nodes"].as_array().map(Vec::len), Some(2));
    let slice = host.request(json!({"op": "audit", "jobs": [2, 9], "nodes": [0, 1]}));
    assert_eq!(slice["jobs"], json!([all["jobs"][1]]));
    assert_eq!(slice["nodes"], json!([all["nodes"][0]]));
    let mut asks =
        |range: Value| host.request(json!({"op": "audit", "asks": range}))["jobs"][0][3].clone();
    assert_eq!(asks(json!([0, 1])), all["jobs"][0][3]);
    assert_eq!(asks(json!([1, 9])), json!([]));
    let none = host.request(json!({"op": "audit", "jobs": [7, 9], "nodes": [3, 2]}));
    assert_eq!(none, json!({"jobs": [], "nodes": []}));
    let wrong = json!({"op": "audit", "jobs": "all"});
    let refused = host.engine.request(0, &wrong).expect_err("not two numbers");
    assert_eq!(
        refused.to_string(),
        "key `jobs`: expected two numbers, [first, end], found \"all\""
    );
}
