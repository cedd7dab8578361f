//! Others that go first, and others that seem to and do not.

use super::{Cause, asks, cluster, job, master, sized};
use crate::common::Host;
use serde_json::{Value, json};

/// A node of 4 GB that a foreign job fills, so that nothing of `ids` runs.
fn full(policy: Value, keys: Value) -> Host {
    let mut host = cluster(policy, keys);
    let node = host.node(0, 4_096, 4);
    job(&mut host, 90, "root.a");
    host.recovered(90, node, 4_096, false);
    host.beat(node);
    host
}

fn a() -> Value {
    json!({"queues": [{"path": "root.a"}]})
}

fn two(b: Value) -> Value {
    let mut queue = b;
    queue["path"] = json!("root.b");
    json!({"queues": [{"path": "root.a"}, queue]})
}

/// `root.a` has four containers and wants more, so does `root.b`, which has none.
fn queue_b_is_first(policy: Value, b: Value) -> (Host, u32) {
    let mut host = full(policy, two(b));
    asks(&mut host, 1, "root.a", (5, 1_024));
    asks(&mut host, 2, "root.b", (5, 1_024));
    host.tick();
    (host, 1)
}

fn market(keys: Value) -> (Host, u32) {
    let mut host = full(json!("dynamic-priority"), keys);
    asks(&mut host, 1, "root.a", (2, 1_024));
    asks(&mut host, 2, "root.b", (2, 1_024));
    while host.now < 21_000 {
        host.now += 500;
        host.tick();
    }
    (host, 1)
}

fn bids(a: (f64, f64), b: (f64, f64)) -> Value {
    json!({"queues": [
        {"path": "root.a", "budget": a.0, "spending_rate": a.1},
        {"path": "root.b", "budget": b.0, "spending_rate": b.1}
    ]})
}

pub(super) fn causes() -> Vec<Cause> {
    [queues(), jobs(), not_first(), queues_not_first()]
        .into_iter()
        .flatten()
        .collect()
}

fn queues() -> Vec<Cause> {
    vec![
        Cause {
            name: "another queue is below its share",
            policies: &[&["fair", "by-queue", "drf"]],
            plant: |policy| queue_b_is_first(policy, json!({})),
            reason: json!({"share": {"queue": 1, "first": 2, "used": 4_096, "entitled": 2_048,
                "short": {"resource": 0}}}),
        },
        Cause {
            name: "another queue is below its guarantee",
            policies: &[&["capacity"]],
            plant: |policy| queue_b_is_first(policy, json!({})),
            reason: json!({"share": {"queue": 1, "first": 2, "used": 4_096}}),
        },
        Cause {
            name: "another queue is below its minimum",
            policies: &[&["fair", "by-queue"]],
            plant: |policy| queue_b_is_first(policy, json!({"min_share": {"memory-mb": 3_072}})),
            reason: json!({"share": {"queue": 1, "first": 2, "entitled": 1_024}}),
        },
        Cause {
            name: "a market without a bid",
            policies: &[&["dynamic-priority"]],
            plant: |_| market(bids((100.0, 0.0), (100.0, 1.0))),
            reason: json!({"quota": {"queue": 1, "quota": 0, "bid": 0}}),
        },
        Cause {
            name: "a market without credits",
            policies: &[&["dynamic-priority"]],
            plant: |_| market(bids((0.0, 2.0), (100.0, 1.0))),
            reason: json!({"quota": {"queue": 1, "quota": 0, "bid": 2_000_000, "budget": 0}}),
        },
    ]
}

fn jobs() -> Vec<Cause> {
    vec![
        Cause {
            name: "an earlier job",
            policies: &[&["fifo", "drf"]],
            plant: |policy| {
                let mut host = full(policy, a());
                asks(&mut host, 1, "root.a", (3, 1_024));
                asks(&mut host, 2, "root.a", (1, 1_024));
                (host, 2)
            },
            reason: json!({"behind": {"ahead": {"jobs": 1, "tasks": 3, "first": 1}}}),
        },
        Cause {
            name: "a job of higher priority",
            policies: &[&["fifo", "drf"]],
            plant: |policy| {
                let mut host = full(policy, a());
                asks(&mut host, 1, "root.a", (1, 1_024));
                let queue = host.queue("ann", Some("root.a"));
                host.submit(2, queue, 1, 5);
                host.ask(2, 0, 2, 1_024);
                host.tick();
                (host, 1)
            },
            reason: json!({"behind": {"ahead": {"jobs": 1, "tasks": 2, "first": 2}}}),
        },
        Cause {
            name: "a later job that is owed more",
            policies: &[&["fair-original"]],
            plant: |policy| {
                let mut host = cluster(policy, a());
                let node = host.node(0, 4_096, 4);
                asks(&mut host, 1, "root.a", (8, 1_024));
                host.beat(node);
                asks(&mut host, 2, "root.a", (4, 1_024));
                for _ in 0..20 {
                    host.now += 500;
                    host.tick();
                }
                (host, 1)
            },
            reason: json!({"behind": {"ahead": {"jobs": 1, "tasks": 4, "first": 2}}}),
        },
        Cause {
            name: "a smaller job by hfsp",
            policies: &[&["hfsp"]],
            plant: |policy| {
                let mut host = cluster(policy, a());
                let node = host.node(0, 2_048, 2);
                host.tick();
                asks(&mut host, 1, "root.a", (40, 1_024));
                asks(&mut host, 2, "root.a", (10, 1_024));
                host.beat(node);
                (host, 1)
            },
            reason: json!({"behind": {"ahead": {"jobs": 1, "first": 2}}}),
        },
    ]
}

/// Each of these was named as going first, and never can.
fn not_first() -> Vec<Cause> {
    let room = json!({"room": {"node": 0, "shortage": {"resource": 0, "most": 0}}});
    vec![
        Cause {
            name: "a job of another label stands before it",
            policies: &[&["fifo", "drf"]],
            plant: |policy| {
                let mut host = full(policy, a());
                job(&mut host, 1, "root.a");
                host.ask_facts(sized(1, (1_024, 1), 7));
                asks(&mut host, 2, "root.a", (1, 1_024));
                (host, 2)
            },
            reason: room.clone(),
        },
        Cause {
            name: "a larger container stands before it",
            policies: &[&["fifo", "drf"]],
            plant: |policy| {
                let mut host = full(policy, a());
                asks(&mut host, 1, "root.a", (1, 4_096));
                asks(&mut host, 2, "root.a", (1, 1_024));
                (host, 2)
            },
            reason: room.clone(),
        },
        Cause {
            name: "a job that has blacklisted the node stands before it",
            policies: &[&["fifo", "drf"]],
            plant: |policy| {
                let mut host = full(policy, a());
                job(&mut host, 1, "root.a");
                let added = heddle_core::words::event::Event::Blacklist {
                    job: heddle_core::words::ids::JobId(1),
                    place: crate::common::host_of(0),
                    added: true,
                };
                host.step(&[added]);
                host.ask(1, 0, 1, 1_024);
                asks(&mut host, 2, "root.a", (1, 1_024));
                (host, 2)
            },
            reason: room.clone(),
        },
    ]
}

fn queues_not_first() -> Vec<Cause> {
    let room = json!({"room": {"node": 0, "shortage": {"resource": 0, "most": 0}}});
    vec![
        Cause {
            name: "a queue at its maximum has less",
            policies: &[&["fair", "by-queue", "capacity", "drf"]],
            plant: |policy| queue_b_is_first(policy, json!({"max_share": {"memory-mb": 512}})),
            reason: room.clone(),
        },
        Cause {
            // Masters beyond their leaf's part may take half of root, and there are as many.
            name: "a queue held back by the limit of its masters has less",
            policies: &[&["fair", "by-queue", "drf"]],
            plant: |policy| {
                let mut host = cluster(policy, two(json!({"max_am_share": 0.01})));
                let node = host.node(0, 4_096, 4);
                job(&mut host, 90, "root.a");
                host.recovered(90, node, 2_048, true);
                host.recovered(90, node, 2_048, false);
                host.beat(node);
                asks(&mut host, 1, "root.a", (5, 1_024));
                job(&mut host, 2, "root.b");
                host.ask_facts(master(2, 1_024));
                host.tick();
                (host, 1)
            },
            reason: room,
        },
        Cause {
            name: "a queue without jobs of this label has less",
            policies: &[&["fair", "by-queue", "capacity", "drf"]],
            plant: |policy| {
                let mut host = full(policy, two(json!({})));
                asks(&mut host, 1, "root.a", (5, 1_024));
                job(&mut host, 2, "root.b");
                host.ask_facts(sized(2, (1_024, 1), 7));
                host.tick();
                (host, 1)
            },
            reason: json!({"room": {"node": 0}}),
        },
    ]
}
