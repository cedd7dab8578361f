//! Preemption takes only containers that let a waiting ask in. They are on nodes that the ask may
//! use, as many as make room for it, and limits admit the ask. Every cluster here is full of
//! containers of 1 GB of queue `root.greedy`; `root.starved` has a claim. Figures follow by hand.

use crate::common::{self, Host, host_of, plain_ask, rack_place};
use heddle_core::Decision;
use heddle_core::words::event::{AskFacts, Event, JobFacts, NodeFacts};
use heddle_core::words::ids::{JobId, NodeId, PartitionId, PlaceId, UserId};
use heddle_core::words::resource::Resource;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const GREEDY: u32 = 1;
const STARVED: u32 = 2;

fn config(starved: Value) -> Value {
    let mut queue = json!({"path": "root.starved", "min_share": {"memory-mb": 4096}});
    for (key, value) in starved.as_object().expect("keys of a queue") {
        queue[key] = value.clone();
    }
    json!({
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.greedy"}, queue],
        "preemption": {"enabled": true, "min_share_timeout_ms": 1000,
            "fair_share_timeout_ms": 1000, "grace_ms": 100}
    })
}

/// Builds nodes of that memory and label, all full.
fn full(config: Value, nodes: &[(i64, u32)]) -> Host {
    let mut host = Host::new(config);
    let queue = host.queue("u", Some("root.greedy"));
    host.job(GREEDY, queue);
    for (memory_mb, label) in nodes {
        let node = host.labelled_node(0, *memory_mb, 64, *label);
        for _ in 0..memory_mb / 1024 {
            host.recovered(GREEDY, node, 1024, false);
            host.now += 1;
        }
    }
    // It would take everything that comes free.
    for label in nodes.iter().map(|node| node.1).collect::<BTreeSet<_>>() {
        host.ask_facts(labelled(plain_ask(GREEDY, label, 100, 1024), label));
    }
    let queue = host.queue("u", Some("root.starved"));
    host.job(STARVED, queue);
    host
}

fn labelled(facts: AskFacts, label: u32) -> AskFacts {
    AskFacts {
        partition: PartitionId(label),
        ..facts
    }
}

/// Lets a minute pass; evicted containers end and every node reports. Returns the node of each
/// evicted container.
fn minute(host: &mut Host, nodes: u32) -> Vec<u32> {
    let mut taken = Vec::new();
    for _ in 0..120 {
        host.now += 500;
        for decision in host.tick() {
            if let Decision::Evict { job, key, .. } = decision {
                let container = host.containers.iter().find(|c| c.1 == key);
                taken.push(container.expect("it runs").2);
                host.complete(job.0, key);
            }
        }
        (0..nodes).for_each(|node| drop(host.beat(node)));
    }
    taken
}

#[test]
fn a_container_goes_only_where_the_label_is_asked_for() {
    let mut host = full(config(json!({})), &[(4096, 1), (4096, 0)]);
    host.ask(STARVED, 0, 2, 1024);
    assert_eq!(minute(&mut host, 2), [1, 1]);
    assert_eq!(host.running(STARVED), 2);
    let mut host = full(config(json!({})), &[(4096, 0)]);
    host.ask_facts(labelled(plain_ask(STARVED, 0, 2, 1024), 7));
    assert_eq!(minute(&mut host, 1), [0u32; 0], "no node has its label");
}

#[test]
fn a_node_that_is_too_small_loses_nothing() {
    let mut host = full(config(json!({})), &[(2048, 0), (4096, 0), (2048, 0)]);
    host.ask(STARVED, 0, 1, 3072);
    assert_eq!(
        minute(&mut host, 3),
        [1, 1, 1],
        "three on the one node that can hold it"
    );
    assert_eq!(host.running(STARVED), 1);
    let mut host = full(config(json!({})), &[(2048, 0), (2048, 0)]);
    host.ask(STARVED, 0, 1, 3072);
    assert_eq!(minute(&mut host, 2), [0u32; 0], "no node can hold it");
}

#[test]
fn an_ask_that_insists_on_a_host_or_shuns_one_is_served_there_or_nowhere() {
    let mut host = full(config(json!({})), &[(4096, 0), (4096, 0)]);
    host.ask_facts(AskFacts {
        relax: false,
        ..plain_ask(STARVED, 0, 1, 1024)
    });
    host.step(&[common::row(STARVED, 0, host_of(1), 1)]);
    assert_eq!(minute(&mut host, 2), [1]);
    assert_eq!(host.running(STARVED), 1);
    for (shunned, taken) in [(host_of(0), vec![1]), (rack_place(0), vec![])] {
        let mut host = full(config(json!({})), &[(4096, 0), (4096, 0)]);
        shun(&mut host, shunned);
        host.ask(STARVED, 0, 1, 1024);
        assert_eq!(minute(&mut host, 2), taken);
        assert_eq!(host.running(STARVED), taken.len());
    }
}

fn shun(host: &mut Host, place: PlaceId) {
    host.step(&[Event::Blacklist {
        job: JobId(STARVED),
        place,
        added: true,
    }]);
}

#[test]
fn what_limits_do_not_admit_is_not_made_room_for() {
    let limits = [
        json!({"max_share": {"memory-mb": 512}, "min_share": {"memory-mb": 512}}),
        json!({"max_running_jobs": 0}),
    ];
    for limit in limits {
        let mut host = full(config(limit.clone()), &[(4096, 0)]);
        host.ask(STARVED, 0, 2, 1024);
        assert_eq!(minute(&mut host, 1), [0u32; 0], "{limit}");
    }
    // Masters beyond their part of the share: the first always starts, the second never.
    let mut host = full(config(json!({"max_am_share": 0.1})), &[(4096, 0)]);
    for job in [STARVED, 3] {
        if job == 3 {
            let queue = host.queue("u", Some("root.starved"));
            host.job(job, queue);
        }
        host.ask_facts(AskFacts {
            am: true,
            priority: 0,
            ..plain_ask(job, 0, 1, 1024)
        });
    }
    assert_eq!(minute(&mut host, 1), [0]);
}

/// Taking containers brings the parent of both queues below its limit, so it then admits the ask.
#[test]
fn a_limit_that_the_victim_reaches_is_no_hindrance() {
    let mut config = config(json!({}));
    config["queues"] = json!([
        {"path": "root.both", "max_share": {"memory-mb": 4096}},
        {"path": "root.both.greedy"},
        {"path": "root.both.starved", "min_share": {"memory-mb": 1024}},
    ]);
    let mut host = Host::new(config);
    let node = host.node(0, 8192, 64);
    let queue = host.queue("u", Some("root.both.greedy"));
    host.job(GREEDY, queue);
    host.ask(GREEDY, 0, 100, 1024);
    assert_eq!(host.beat(node).len(), 4);
    let queue = host.queue("u", Some("root.both.starved"));
    host.job(STARVED, queue);
    host.ask(STARVED, 0, 1, 1024);
    assert_eq!(minute(&mut host, 1), [0]);
    assert_eq!(host.running(STARVED), 1);
}

/// Two queues want only nodes without a label, a third has all with one. The third gives them
/// nothing, and the two share the nodes that they can use evenly.
#[test]
fn fair_shares_are_of_the_nodes_that_can_be_used() {
    let mut config = config(json!({"min_share": {}}));
    config["preemption"]["fair_share_threshold"] = json!(1.0);
    let mut host = full(config, &[(8192, 0)]);
    let label = host.labelled_node(0, 65_536, 64, 1);
    let queue = host.queue("u", Some("root.labelled"));
    host.job(3, queue);
    host.ask_facts(labelled(plain_ask(3, 0, 64, 1024), 1));
    assert_eq!(host.beat(label).len(), 64);
    host.ask(STARVED, 0, 100, 1024);
    assert_eq!(minute(&mut host, 2), [0; 4], "half of 8 GB");
    assert_eq!(
        [GREEDY, STARVED, 3].map(|job| host.running(job)),
        [4, 4, 64]
    );
}

/// Room that is made in pieces goes to its ask, however many small asks want it.
#[test]
fn room_that_comes_in_pieces_is_kept_for_the_ask() {
    let mut host = full(config(json!({})), &[(4096, 0)]);
    host.ask(STARVED, 0, 1, 4096);
    host.now += 2_000;
    host.tick();
    let mut victims = Vec::new();
    host.now += 1_000;
    for decision in host.tick() {
        if let Decision::Evict { key, .. } = decision {
            victims.push(key);
        }
    }
    assert_eq!(victims.len(), 4);
    for key in victims {
        assert_eq!(host.beat(0), []);
        host.complete(GREEDY, key);
        host.now += 1_000;
        assert!(
            host.tick()
                .iter()
                .all(|d| !matches!(d, Decision::Evict { .. }))
        );
    }
    let served: Vec<u32> = host.beat(0).iter().map(|grant| grant.job).collect();
    assert_eq!(served, [STARVED]);
}

/// A stopped container that its node has not confirmed is room to come; it is not made again.
#[test]
fn room_on_its_way_is_not_made_twice() {
    let mut host = full(config(json!({})), &[(4096, 0)]);
    host.ask(STARVED, 0, 1, 1024);
    host.now += 2_000;
    host.tick();
    host.now += 1_000;
    let evicted = host.tick().into_iter().find_map(|decision| match decision {
        Decision::Evict { key, .. } => Some(key),
        _ => None,
    });
    host.complete(GREEDY, evicted.expect("one goes"));
    let nothing_free = NodeFacts {
        node: NodeId(0),
        host: host_of(0),
        rack: rack_place(0),
        partition: PartitionId(0),
        lends: false,
        schedulable: true,
        capacity: Resource::new(4096, 64),
        free: Resource::ZERO,
    };
    for _ in 0..10 {
        host.now += 500;
        let told = Event::NodeChanged(nothing_free);
        let decisions = host.step(&[told, Event::Tick]);
        assert!(
            decisions
                .iter()
                .all(|d| !matches!(d, Decision::Evict { .. }))
        );
    }
    assert_eq!(host.beat(0).len(), 1);
    assert_eq!(host.running(STARVED), 1);
}

/// A job that preemption does not help learns which queue's containers are spared.
#[test]
fn the_queue_that_spares_its_containers_is_named() {
    let mut config = config(json!({}));
    config["queues"][0]["preempt_opaque"] = json!(false);
    let mut host = Host::new(config);
    let node = host.node(0, 4096, 64);
    let queue = host.queue("u", Some("root.greedy"));
    host.step(&[Event::JobAdded(JobFacts {
        job: JobId(GREEDY),
        queue,
        user: UserId(0),
        priority: 0,
        mapreduce: false,
        unmanaged_am: false,
        submitted_ms: 0,
    })]);
    host.ask(GREEDY, 0, 100, 1024);
    assert_eq!(host.beat(node).len(), 4);
    let queue = host.queue("u", Some("root.starved"));
    host.job(STARVED, queue);
    host.ask(STARVED, 0, 2, 1024);
    assert_eq!(minute(&mut host, 1), [0u32; 0]);
    let explained = host.request(json!({"op": "explain", "job": STARVED}));
    let sentence = explained["sentence"].as_str().expect("it waits");
    assert!(
        sentence.contains(
            "; preemption takes nothing of queue `root.greedy`, which spares applications other \
             than MapReduce (preempt_opaque)"
        ),
        "{sentence}"
    );
}

/// The nearest queue on the path decides how long one waits.
#[test]
fn each_queue_waits_as_long_as_it_says() {
    for (root, own, taken) in [
        (json!({}), json!({}), 2),
        (json!({}), json!({"min_share_timeout_ms": 100_000}), 0),
        (json!({"min_share_timeout_ms": 100_000}), json!({}), 0),
        (
            json!({"min_share_timeout_ms": 100_000}),
            json!({"min_share_timeout_ms": 30_000}),
            2,
        ),
    ] {
        let mut config = config(json!({ "preemption": own.clone() }));
        // Only the minimum counts.
        config["preemption"]["fair_share_timeout_ms"] = json!(1_000_000);
        config["queues"]
            .as_array_mut()
            .expect("a list")
            .push(json!({"path": "root", "preemption": root}));
        let mut host = full(config, &[(4096, 0)]);
        host.ask(STARVED, 0, 2, 1024);
        assert_eq!(minute(&mut host, 1).len(), taken, "{root} {own}");
    }
}

/// Three of four GB are in use; the ask for two is starved only beyond the threshold.
#[test]
fn nothing_is_taken_before_the_cluster_is_as_full_as_configured() {
    for (threshold, taken) in [(json!(0.75), 0), (json!(0.7), 1), (json!(null), 1)] {
        let mut config = config(json!({}));
        config["preemption"]["cluster_threshold"] = threshold.clone();
        let mut host = Host::new(config);
        let node = host.labelled_node(0, 4096, 64, 0);
        let queue = host.queue("u", Some("root.greedy"));
        host.job(GREEDY, queue);
        for _ in 0..3 {
            host.recovered(GREEDY, node, 1024, false);
        }
        let queue = host.queue("u", Some("root.starved"));
        host.job(STARVED, queue);
        host.ask(STARVED, 0, 1, 2048);
        assert_eq!(minute(&mut host, 1).len(), taken, "{threshold}");
    }
}

#[test]
fn masters_go_last_and_only_where_the_configuration_allows_it() {
    for (masters, asked, taken, ams) in [(false, 3, 2, 0), (true, 3, 3, 1), (true, 2, 2, 0)] {
        let mut config = config(json!({}));
        config["preemption"]["masters"] = json!(masters);
        let mut host = Host::new(config);
        let node = host.labelled_node(0, 4096, 64, 0);
        let queue = host.queue("u", Some("root.greedy"));
        let mut keys = BTreeSet::new();
        for (job, am) in [(GREEDY, true), (GREEDY, false), (3, true), (3, false)] {
            if am {
                host.job(job, queue);
            }
            let key = host.recovered(job, node, 1024, am);
            if am {
                keys.insert(key);
            }
            host.now += 1;
        }
        let queue = host.queue("u", Some("root.starved"));
        host.job(STARVED, queue);
        host.ask(STARVED, 0, asked, 1024);
        let gone = minute(&mut host, 1).len();
        let left = host.containers.iter().filter(|c| keys.contains(&c.1));
        assert_eq!((gone, 2 - left.count()), (taken, ams), "{masters}, {asked}");
    }
}

/// 8 GB for two queues that compare as in YARN's Fair Scheduler: 4 GB each. It takes back half of
/// that for a queue with a threshold of 0.5, and no more; Heddle's own rule fills the share.
#[test]
fn as_in_the_fair_scheduler_only_the_threshold_is_filled() {
    for (compare, taken) in [
        (json!("memory"), 2),
        (json!("dominant"), 2),
        (json!(null), 4),
    ] {
        let mut config = config(json!({"min_share": {}}));
        config["preemption"]["fair_share_threshold"] = json!(0.5);
        config["queue_defaults"] = json!({ "compare": compare });
        let mut host = full(config, &[(8192, 0)]);
        host.ask(STARVED, 0, 9, 1024);
        assert_eq!(minute(&mut host, 1).len(), taken, "{compare}");
    }
}
