//! Where memory alone counts (`share.memory_only`), vcores limit no node, as under the Capacity
//! Scheduler's `DefaultResourceCalculator`. Two nodes of 16 GB and 4 vcores unless a test says
//! otherwise; containers of 1 GB and one vcore. Figures follow by hand.

use crate::common::{Host, host_of, plain_ask, rack_place};
use heddle_core::Decision;
use heddle_core::words::event::{AskFacts, Event, NodeFacts};
use heddle_core::words::ids::{JobId, NodeId, PartitionId};
use heddle_core::words::resource::Resource;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const GB: i64 = 1024;

fn config(memory_only: bool) -> Value {
    json!({
        "policy": {"share": "capacity", "order": "by-queue", "place": "delay"},
        "share": {"memory_only": memory_only},
        "queues": [
            {"path": "root.a", "min_share": {"memory-mb": "50% of parent"}},
            {"path": "root.b", "min_share": {"memory-mb": "50% of parent"}},
        ],
        "preemption": {"enabled": true, "min_share_timeout_ms": 1000,
            "fair_share_timeout_ms": 1000, "fair_share_threshold": 1.0, "grace_ms": 100},
    })
}

/// Two nodes, and a job of `root.a` whose ApplicationMaster has 1 GB of the first.
fn cluster(memory_only: bool) -> Host {
    let mut host = Host::new(config(memory_only));
    host.node(0, 16 * GB, 4);
    host.node(0, 16 * GB, 4);
    let queue = host.queue("u", Some("root.a"));
    host.job(1, queue);
    host.recovered(1, 0, GB, true);
    host
}

/// The rows of the report of nodes: free memory and vcores.
fn free(host: &mut Host) -> Vec<[i64; 2]> {
    let report = host.request(json!({"op": "nodes"}));
    let rows = report["nodes"].as_array().expect("rows").iter();
    let amounts = |row: &Value| [4, 6].map(|at: usize| row[at].as_i64().expect("an amount"));
    rows.map(amounts).collect()
}

fn reload(host: &mut Host, memory_only: bool) {
    host.request(json!({"op": "reload", "config": config(memory_only)}));
    host.engine.check_invariants().expect("the books are right");
}

#[test]
fn nodes_are_filled_by_memory() {
    for (memory_only, tasks) in [(true, 31), (false, 7)] {
        let mut host = cluster(memory_only);
        host.ask(1, 0, 40, GB);
        host.beat_all();
        assert_eq!(host.running(1), 1 + tasks, "memory alone: {memory_only}");
    }
    let mut host = cluster(true);
    host.ask(1, 0, 40, GB);
    host.beat_all();
    assert_eq!(free(&mut host), [[0, -12], [0, -12]]);
    let node = host.request(json!({"op": "node", "node": 1}));
    assert_eq!(node["free"], json!({"memory-mb": 0, "vcores": -12}));
}

#[test]
fn offers_and_placed_containers_find_the_same_room() {
    let mut host = cluster(true);
    host.beat_all();
    let ask = Event::Ask(plain_ask(1, 0, 30, GB));
    let mut granted = host.step(&[ask, Event::Offer(JobId(1))]);
    // The rest of its share a second later.
    host.now += 1_000;
    granted.extend(host.step(&[Event::Offer(JobId(1))]));
    let grants = granted
        .iter()
        .filter(|d| matches!(d, Decision::Grant { .. }));
    assert_eq!(grants.count(), 30);
    let take = json!({"op": "take", "job": 1, "node": 1, "key": 99, "priority": 1,
                      "resource": [GB, 1]});
    assert_eq!(host.request(take.clone())["taken"], true, "the 32nd GB");
    host.engine.check_invariants().expect("the books are right");
    let mut again = take;
    again["key"] = json!(100);
    assert_eq!(host.request(again)["why"], "the node's free room");
}

#[test]
fn headroom_has_a_vcore_for_each_smallest_container() {
    let mut host = cluster(true);
    host.ask(1, 0, 12, GB);
    host.beat_all();
    host.ask(1, 0, 1, GB);
    host.tick();
    // 32 GB, less the ApplicationMaster and twelve tasks; the nodes have 8 vcores.
    assert_eq!(host.headrooms[&1], Resource::new(19 * GB, 19));
}

#[test]
fn a_large_ask_waits_for_memory_alone_and_says_so() {
    let mut host = cluster(true);
    host.ask(1, 0, 31, GB);
    host.beat_all();
    let queue = host.queue("u", Some("root.b"));
    host.job(2, queue);
    host.ask_facts(AskFacts {
        resource: Resource::new(2 * GB, 6),
        ..plain_ask(2, 0, 1, GB)
    });
    host.beat_all();
    let explained = host.request(json!({"op": "explain", "job": 2}));
    let wait = &explained["waits"][0];
    let shortage = &wait["reason"]["room"]["shortage"];
    // Six vcores are more than any node has, and no obstacle.
    let expected = json!({"resource": 0, "wanted": 2 * GB, "most": 0});
    assert_eq!(*shortage, expected, "{explained}");
    // It is held for, and victims are counted by memory: two containers, one after the other.
    let mut evicted = 0;
    for _ in 0..20 {
        host.now += 500;
        for decision in host.tick() {
            if let Decision::Evict { job, key, .. } = decision {
                evicted += 1;
                host.complete(job.0, key);
            }
        }
        host.beat_all();
    }
    assert_eq!((evicted, host.running(2)), (2, 1));
}

#[test]
fn a_lent_node_lends_its_memory() {
    let mut with_label = config(true);
    with_label["queues"][0]["labels"] =
        json!({"gpu": {"min_share": {"memory-mb": "50% of parent"}}});
    let setup = json!({"config": with_label, "labels": {"gpu": 7}});
    let mut host = Host::from_setup(&setup);
    let node = host.lending_node(0, 4 * GB, 1, 7);
    let queue = host.queue("u", Some("root.a"));
    host.job(1, queue);
    host.ask(1, 0, 9, GB);
    host.now += 60_000;
    host.beat(node);
    assert_eq!(host.running(1), 4);
}

#[test]
fn slots_are_counted_in_memory() {
    let mut host = cluster(true);
    host.ask(1, 0, 40, GB);
    host.tick();
    assert_eq!(host.engine.slots()[0], 32);
}

#[test]
fn a_reload_changes_what_counts() {
    let mut host = cluster(false);
    host.ask(1, 0, 40, GB);
    host.beat_all();
    assert_eq!(host.running(1), 8);
    // Offers pass the nodes by: they have no room for a container.
    assert_eq!(host.step(&[Event::Offer(JobId(1))]), []);
    reload(&mut host, true);
    // A job that has just begun to ask does not get all of its share at once.
    host.now += 1_000;
    let offered = host.step(&[Event::Offer(JobId(1))]);
    for decision in &offered {
        if let Decision::Grant {
            job,
            ask,
            node,
            seq,
            ..
        } = *decision
        {
            host.commit_offered(job, ask, node, seq);
        }
    }
    assert_eq!(host.running(1), 32);
    // Back again, the nodes are overcommitted: what ends frees no vcore for others.
    reload(&mut host, false);
    assert_eq!(free(&mut host), [[0, -12], [0, -12]]);
    for _ in 0..12 {
        let (_, key, ..) = host.containers[20];
        host.complete(1, key);
    }
    host.beat_all();
    assert_eq!(host.running(1), 20);
    reload(&mut host, true);
    host.beat_all();
    assert_eq!(
        host.running(1),
        20 + 9,
        "of the 40 asks 31 were served before"
    );
}

#[test]
fn with_all_types_or_further_ones_memory_cannot_count_alone() {
    let share = |share: Value, types: Value| {
        let setup = json!({"config": {"share": share}, "resource_types": types});
        let fault = heddle_core::Setup::from_json(&setup).err();
        fault.map(|fault| fault.to_string()).unwrap_or_default()
    };
    let two = json!(["memory-mb", "vcores"]);
    let both = share(json!({"dominant": true, "memory_only": true}), two.clone());
    assert!(
        both.contains("share.memory_only") && both.contains("dominant"),
        "{both}"
    );
    let gpu = share(
        json!({"memory_only": true}),
        json!(["memory-mb", "vcores", "gpu"]),
    );
    assert!(
        gpu.contains("share.memory_only") && gpu.contains("gpu"),
        "{gpu}"
    );
    assert_eq!(share(json!({"memory_only": true}), two), "");
}

/// An overcommitted node has no room; others have what they have.
#[test]
fn negative_room_takes_nothing_from_other_nodes() {
    let mut host = Host::new(json!({}));
    let (small, other) = (host.node(0, 8 * GB, 8), host.node(0, 4 * GB, 4));
    let queue = host.queue("u", None);
    host.job(1, queue);
    for _ in 0..8 {
        host.recovered(1, small, GB, false);
    }
    let resized = |memory_mb: i64, vcores: i64| {
        Event::NodeChanged(NodeFacts {
            node: NodeId(small),
            host: host_of(small),
            rack: rack_place(0),
            partition: PartitionId(0),
            lends: false,
            schedulable: true,
            capacity: Resource::new(memory_mb, vcores),
            free: Resource::new(memory_mb - 8 * GB, vcores - 8),
        })
    };
    host.step(&[resized(4 * GB, 4)]);
    host.ask(1, 0, 1, GB);
    host.tick();
    assert_eq!(host.headrooms[&1], Resource::new(4 * GB, 4));
    host.beat(other);
    // Six of the eight end: the node has 2 of its 4 GB free, the other one 3.
    let keys = host.containers.iter().filter(|c| c.2 == small).map(|c| c.1);
    for key in keys.take(6).collect::<Vec<_>>() {
        host.complete(1, key);
    }
    host.ask(1, 0, 1, GB);
    host.tick();
    assert_eq!(host.headrooms[&1], Resource::new(5 * GB, 5));
    host.step(&[resized(8 * GB, 8)]);
    host.tick();
    assert_eq!(host.headrooms[&1], Resource::new(9 * GB, 9));
}

/// What may happen to a cluster.
#[derive(Clone, Debug)]
enum Happening {
    Ask {
        job: u32,
        ask: u32,
        count: u32,
        gb: i64,
        vcores: i64,
    },
    Offer {
        job: u32,
    },
    Beat {
        node: u32,
    },
    /// Ends a container, by its place among those that run.
    End {
        at: usize,
    },
    Tick,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        3 => (0..4u32, 0..3u32, 0..30u32, 1..6i64, 1..5i64).prop_map(
            |(job, ask, count, gb, vcores)| Happening::Ask { job, ask, count, gb, vcores }
        ),
        1 => (0..4u32).prop_map(|job| Happening::Offer { job }),
        6 => (0..4u32).prop_map(|node| Happening::Beat { node }),
        4 => (0..60usize).prop_map(|at| Happening::End { at }),
        3 => Just(Happening::Tick),
    ]
}

/// Plays what happens on nodes of so many vcores; returns every decision. Of headrooms the memory.
fn play(stages: [&str; 3], memory_only: bool, vcores: [i64; 4], all: &[Happening]) -> Vec<String> {
    let mut config = config(memory_only);
    let [share, order, place] = stages;
    config["policy"] = json!({"share": share, "order": order, "place": place});
    config["reservation"] = json!({"after_ms": 1000, "hold_ms": 4000, "nodes_max": 0.5});
    config["dynamic_priority"] = json!({"allocation_interval_ms": 1000});
    let mut host = Host::new(config);
    for (gb, vcores) in [16, 4, 8, 6].into_iter().zip(vcores) {
        host.node(0, gb * GB, vcores);
    }
    for job in 0..4 {
        let queue = host.queue("u", Some(["root.a", "root.b"][job as usize % 2]));
        host.user_job(job, queue, job);
    }
    let (mut told, mut headroom) = (Vec::new(), BTreeMap::new());
    for happening in all {
        host.now += 300;
        let mut decisions = Vec::new();
        match *happening {
            Happening::Ask {
                job,
                ask,
                count,
                gb,
                vcores,
            } => host.ask_facts(AskFacts {
                resource: Resource::new(gb * GB, vcores),
                ..plain_ask(job, ask, count, GB)
            }),
            Happening::Offer { job } => decisions = host.step(&[Event::Offer(JobId(job))]),
            Happening::Beat { node } => {
                told.extend(host.beat(node).iter().map(|grant| format!("{grant:?}")));
            }
            Happening::End { at } => {
                if let Some((job, key, ..)) = host.containers.get(at).copied() {
                    host.complete(job, key);
                }
            }
            Happening::Tick => decisions = host.tick(),
        }
        for decision in decisions {
            match decision {
                Decision::Grant {
                    job,
                    ask,
                    node,
                    seq,
                    ..
                } => {
                    told.push(format!("offered {job:?} {ask:?} {node:?}"));
                    host.commit_offered(job, ask, node, seq);
                }
                Decision::Evict { job, key, .. } => {
                    told.push(format!("{decision:?}"));
                    host.complete(job.0, key);
                }
                Decision::Headroom { job, resource } => {
                    assert!(resource.vcores() >= 0, "{resource:?}");
                    let memory_mb = resource.memory_mb();
                    if headroom.insert(job, memory_mb) != Some(memory_mb) {
                        told.push(format!("{job:?} {memory_mb}"));
                    }
                }
            }
        }
    }
    told
}

const COMPOSITIONS: [[&str; 3]; 5] = [
    ["capacity", "by-queue", "delay"],
    ["fair", "fifo", "local-first"],
    ["fair", "deficit", "delay"],
    ["single", "hfsp", "local-first"],
    ["dynamic-priority", "fifo", "local-first"],
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    /// Where memory alone counts, a cluster short of vcores decides like one with more than enough.
    #[test]
    fn short_of_vcores_everything_is_as_with_plenty(
        which in 0..COMPOSITIONS.len(),
        vcores in [1..20i64, 1..20i64, 1..20i64, 1..20i64],
        all in proptest::collection::vec(happening(), 1..120),
    ) {
        let stages = COMPOSITIONS[which];
        let short = play(stages, true, vcores, &all);
        let plenty = play(stages, false, [1_000_000; 4], &all);
        prop_assert_eq!(short, plenty);
    }
}
