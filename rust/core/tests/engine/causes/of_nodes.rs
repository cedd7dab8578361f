//! Nodes that are not there, too small, full, refused or held.

use super::{ALL, Cause, asks, cluster, job, sized};
use crate::common::{Host, host_of, row};
use heddle_core::words::event::{AskFacts, Event, Refusal};
use heddle_core::words::ids::JobId;
use serde_json::{Value, json};

/// Job 1 wants one container of that size and label on these nodes (memory, vcores, label).
fn alone(policy: Value, size: (i64, i64), label: u32, nodes: &[(i64, i64, u32)]) -> (Host, u32) {
    let mut host = cluster(policy, json!({"queues": [{"path": "root.a"}]}));
    for (mb, vcores, label) in nodes {
        host.labelled_node(0, *mb, *vcores, *label);
    }
    job(&mut host, 1, "root.a");
    host.ask_facts(sized(1, size, label));
    host.beat_all();
    (host, 1)
}

/// A task of job 1 fills the first of these nodes as far as it goes; job 2 wants as much once more.
fn after_one(
    policy: Value,
    keys: Value,
    size: (i64, i64),
    nodes: &[(i64, i64, u32)],
) -> (Host, u32) {
    let mut host = cluster(policy, keys);
    let label = nodes[0].2;
    for (mb, vcores, label) in nodes {
        host.labelled_node(0, *mb, *vcores, *label);
    }
    job(&mut host, 1, "root.a");
    host.ask_facts(sized(1, size, label));
    host.beat(0);
    assert_eq!(host.running(1), 1, "it runs");
    job(&mut host, 2, "root.a");
    host.ask_facts(sized(2, size, label));
    host.beat_all();
    (host, 2)
}

fn a() -> Value {
    json!({"queues": [{"path": "root.a"}]})
}

/// Job 2 insists on the host of node 0, which job 1 fills; node 1 has room.
fn insists(policy: Value, on: u32) -> (Host, u32) {
    let mut host = cluster(policy, a());
    host.node(0, 1_024, 1);
    host.node(0, 4_096, 4);
    asks(&mut host, 1, "root.a", (1, 1_024));
    host.beat(0);
    job(&mut host, 2, "root.a");
    host.ask_facts(AskFacts {
        relax: false,
        ..sized(2, (1_024, 1), 0)
    });
    host.step(&[row(2, 0, host_of(on), 1)]);
    host.beat_all();
    (host, 2)
}

/// Node 0 has 2 of 4 GB free, and is held for job 2, which wants 3 GB. Job 3 wants 1 GB.
fn held(policy: Value, job: u32) -> (Host, u32) {
    let mut host = cluster(policy, a());
    host.node(0, 4_096, 4);
    asks(&mut host, 1, "root.a", (1, 2_048));
    host.beat(0);
    asks(&mut host, 2, "root.a", (1, 3_072));
    asks(&mut host, 3, "root.a", (1, 6_000));
    asks(&mut host, 4, "root.a", (1, 512));
    host.ask(4, 0, 0, 512);
    host.ask(3, 0, 1, 1_024);
    host.ask(3, 0, 0, 1_024);
    for _ in 0..14 {
        host.now += 500;
        // A smaller ask that is pending when the tick looks is what makes a node be held.
        host.ask(3, 0, 1, 1_024);
        host.tick();
        if host.engine.held_nodes().next().is_some() {
            break;
        }
        host.ask(3, 0, 0, 1_024);
    }
    (host, job)
}

pub(super) fn causes() -> Vec<Cause> {
    [sizes(), rooms(), refusals(), places()]
        .into_iter()
        .flatten()
        .collect()
}

fn sizes() -> Vec<Cause> {
    vec![
        Cause {
            name: "no node",
            policies: ALL,
            plant: |policy| alone(policy, (1_024, 1), 0, &[]),
            reason: json!({"no_nodes": {"partition": 0, "labelled": 0}}),
        },
        Cause {
            name: "label without nodes",
            policies: ALL,
            plant: |policy| alone(policy, (1_024, 1), 7, &[(4_096, 4, 0)]),
            reason: json!({"no_nodes": {"partition": 7, "labelled": 1}}),
        },
        Cause {
            name: "labelled nodes alone",
            policies: ALL,
            plant: |policy| alone(policy, (1_024, 1), 0, &[(4_096, 4, 7), (512, 4, 7)]),
            reason: json!({"no_nodes": {"partition": 0, "labelled": 1}}),
        },
        Cause {
            name: "nodes with too little memory",
            policies: ALL,
            plant: |policy| alone(policy, (3_072, 1), 0, &[(2_048, 9, 0), (1_024, 4, 0)]),
            reason: json!({"too_large":
                {"resource": 0, "wanted": 3_072, "most": 2_048, "node": null}}),
        },
        Cause {
            name: "nodes with too few vcores",
            policies: ALL,
            plant: |policy| alone(policy, (1_024, 6), 0, &[(8_192, 4, 0), (4_096, 2, 0)]),
            reason: json!({"too_large": {"resource": 1, "wanted": 6, "most": 4, "node": null}}),
        },
        Cause {
            name: "no single node with both",
            policies: ALL,
            plant: |policy| alone(policy, (4_096, 4), 0, &[(8_192, 1, 0), (2_048, 8, 0)]),
            reason: json!({"too_large": {"resource": 1, "wanted": 4, "most": 1, "node": 0}}),
        },
    ]
}

fn rooms() -> Vec<Cause> {
    let hold: &[&[&str]] = &[&["fifo", "by-queue"]];
    vec![
        Cause {
            name: "no memory free",
            policies: ALL,
            plant: |policy| after_one(policy, a(), (3_072, 1), &[(4_096, 4, 0)]),
            reason: json!({"room": {"node": 0, "held": null,
                "shortage": {"resource": 0, "wanted": 3_072, "most": 1_024}}}),
        },
        Cause {
            name: "no vcores free",
            policies: ALL,
            plant: |policy| after_one(policy, a(), (1_024, 3), &[(8_192, 4, 0)]),
            reason: json!({"room": {"node": 0,
                "shortage": {"resource": 1, "wanted": 3, "most": 1}}}),
        },
        Cause {
            name: "the label's nodes are full",
            policies: ALL,
            plant: |policy| after_one(policy, a(), (1_024, 1), &[(1_024, 1, 7), (8_192, 8, 0)]),
            reason: json!({"room": {"node": 0, "labelled": 1,
                "shortage": {"resource": 0, "wanted": 1_024, "most": 0}}}),
        },
        Cause {
            name: "no slot",
            policies: ALL,
            plant: |policy| {
                let mut keys = a();
                keys["slots"] = json!({"map_per_node": 1, "reduce_per_node": 1});
                after_one(policy, keys, (1_024, 1), &[(8_192, 8, 0)])
            },
            reason: json!({"slots": {"pool": 0, "running": 1, "slots": 1, "foreign": false}}),
        },
        Cause {
            name: "a node is held for another",
            policies: hold,
            plant: |policy| held(policy, 3),
            reason: json!({"held_nodes": {"nodes": 1}}),
        },
        Cause {
            name: "a node is held for it",
            policies: hold,
            plant: |policy| held(policy, 2),
            reason: json!({"room": {"node": 0, "held": 0,
                "shortage": {"resource": 0, "wanted": 3_072, "most": 2_048}}}),
        },
    ]
}

fn refusals() -> Vec<Cause> {
    vec![
        Cause {
            name: "blacklisted all nodes",
            policies: ALL,
            plant: |policy| {
                let (mut host, id) = alone(policy, (1_024, 1), 0, &[]);
                let (job, place, added) = (JobId(id), host_of(0), true);
                host.step(&[Event::Blacklist { job, place, added }]);
                host.node(0, 4_096, 4);
                host.beat_all();
                (host, id)
            },
            reason: json!({"blacklisted": {"nodes": 1, "room": false}}),
        },
        Cause {
            name: "blacklisted the node with room",
            policies: ALL,
            plant: |policy| {
                let mut host = cluster(policy, a());
                host.node(0, 1_024, 1);
                host.node(0, 4_096, 4);
                asks(&mut host, 1, "root.a", (1, 1_024));
                host.beat(0);
                job(&mut host, 2, "root.a");
                let (job, place, added) = (JobId(2), host_of(1), true);
                host.step(&[Event::Blacklist { job, place, added }]);
                host.ask(2, 0, 1, 1_024);
                host.beat_all();
                (host, 2)
            },
            reason: json!({"blacklisted": {"nodes": 1, "room": true}}),
        },
        Cause {
            name: "refused a moment ago",
            policies: ALL,
            plant: |policy| {
                let mut host = cluster(policy, a());
                let node = host.node(0, 4_096, 4);
                asks(&mut host, 1, "root.a", (1, 1_024));
                let grant = host.beat_unanswered(node)[0];
                host.refuse(grant, Refusal::Constraint);
                host.ask(1, 0, 1, 1_024);
                host.beat_all();
                (host, 1)
            },
            reason: json!({"refused": {"nodes": 1}}),
        },
    ]
}

fn places() -> Vec<Cause> {
    vec![
        Cause {
            name: "a strict host is busy",
            policies: ALL,
            plant: |policy| insists(policy, 0),
            reason: json!({"strict": {"places": 1, "up": 1}}),
        },
        Cause {
            name: "a strict host is absent",
            policies: ALL,
            plant: |policy| insists(policy, 77),
            reason: json!({"strict": {"places": 1, "up": 0}}),
        },
        Cause {
            name: "data elsewhere",
            policies: &[&["fair", "by-queue", "hfsp", "capacity"]],
            plant: |policy| {
                let mut host = cluster(policy, a());
                host.node(0, 1_024, 1);
                host.node(0, 4_096, 4);
                asks(&mut host, 1, "root.a", (1, 1_024));
                host.beat(0);
                job(&mut host, 2, "root.a");
                host.profile(2, 60_000);
                host.ask_on(2, 0, 1_024, &[(0, 0)]);
                (host, 2)
            },
            reason: json!({"locality": {"level": "NodeLocal", "until_ms": null}}),
        },
    ]
}
