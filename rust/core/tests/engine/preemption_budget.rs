//! The bounds of a round of preemption mean what they mean in YARN's Capacity Scheduler (DI-30).
//! Every cluster here has 100 GB, of which `root.greedy` and `root.starved` are guaranteed half.
//! Figures follow by hand from `docs/develop/stock-capacity.md`, section 13.

use crate::common::{Host, plain_ask};
use heddle_core::Decision;
use heddle_core::words::event::AskFacts;
use heddle_core::words::ids::{ContainerKey, JobId, PartitionId};
use serde_json::{Value, json};

const GREEDY: u32 = 1;
const STARVED: u32 = 2;
const NODES: u32 = 5;

fn config(bounds: Value) -> Value {
    let mut preemption = json!({
        "enabled": true, "min_share_timeout_ms": 0, "fair_share_threshold": 0.0});
    for (key, value) in bounds.as_object().expect("keys of the section") {
        preemption[key] = value.clone();
    }
    json!({
        "heartbeat_fill": 1.0,
        "queue_defaults": {"compare": "capacity"},
        "queues": [
            {"path": "root.greedy", "min_share": {"memory-mb": "50% of parent"}},
            {"path": "root.starved", "min_share": {"memory-mb": "50% of parent"}}],
        "preemption": preemption,
    })
}

/// Builds full nodes; `greedy` of the 100 containers of 1 GB are that queue's. The first nodes have
/// a label. Both queues want more, the starved one in containers of that size.
fn full(config: Value, greedy: u32, ask_mb: i64, labelled: u32) -> Host {
    let mut host = Host::from_setup(&json!({"config": config, "labels": {"gpu": 1}}));
    for (job, path) in [(GREEDY, "root.greedy"), (STARVED, "root.starved")] {
        let queue = host.queue("u", Some(path));
        host.job(job, queue);
    }
    for node in 0..NODES {
        host.labelled_node(0, 20 * 1024, 64, u32::from(node < labelled));
    }
    for i in 0..100 {
        let job = if i < greedy { GREEDY } else { STARVED };
        host.recovered(job, i % NODES, 1024, false);
        host.now += 1;
    }
    for label in 0..=labelled.min(1) {
        for (job, mb) in [(GREEDY, 1024), (STARVED, ask_mb)] {
            host.ask_facts(AskFacts {
                partition: PartitionId(label),
                ..plain_ask(job, label, 100, mb)
            });
        }
    }
    host
}

/// Lets containers end only after some ticks. Returns how many were taken before each such time.
fn rounds(host: &mut Host, count: usize) -> Vec<usize> {
    let mut taken = Vec::new();
    for _ in 0..count {
        let mut going: Vec<(JobId, ContainerKey)> = Vec::new();
        for _ in 0..5 {
            host.now += 500;
            going.extend(host.tick().into_iter().filter_map(|d| match d {
                Decision::Evict { job, key, .. } => Some((job, key)),
                _ => None,
            }));
            (0..NODES).for_each(|node| drop(host.beat(node)));
        }
        taken.push(going.len());
        for (job, key) in going {
            host.complete(job.0, key);
        }
        (0..NODES).for_each(|node| drop(host.beat(node)));
    }
    taken
}

/// The example of section 13.2: 40 GB too much, of which the cluster's tenth is 10 and a fifth of
/// that 2. From a surplus of 10 on the fifth is below 2 GB, and the last container exceeds it. At
/// 54 GB the queue is within a tenth of its guarantee.
#[test]
fn stock_defaults_take_a_fiftieth_of_the_cluster_until_the_dead_zone() {
    let bounds = json!({"round_max": 0.1, "round_part": 0.2, "dead_zone": 0.1});
    let mut host = full(config(bounds), 90, 1024, 0);
    let mut expected = vec![2; 18];
    expected.extend([0, 0]);
    assert_eq!(rounds(&mut host, 20), expected);
    assert_eq!([GREEDY, STARVED].map(|job| host.running(job)), [54, 46]);
}

#[test]
fn each_bound_holds_for_itself() {
    let cases = [
        (json!({}), vec![40, 0]),
        (json!({"round_max": 1.0, "round_part": 1.0}), vec![40, 0]),
        (json!({"round_max": 0.1}), vec![10, 10, 10, 10, 0]),
        // Rounds up to whole MB; the last container of a round may exceed the part.
        (json!({"round_part": 0.5}), vec![20, 10, 5, 3, 1, 1, 0]),
        // The zone says when a queue is left alone, not how much is taken.
        (json!({"dead_zone": 0.1}), vec![40, 0]),
        (json!({"dead_zone": 0.8}), vec![0]),
        (json!({"dead_zone": 0.79}), vec![40]),
        (json!({"round_max": 0.0}), vec![0]),
        (json!({"round_part": 0.0}), vec![0]),
        // A budget of 1000 MB has no room for a container.
        (json!({"round_max": 0.009_766}), vec![0]),
        (json!({"round_max": 0.01}), vec![1, 1]),
    ];
    for (bounds, expected) in cases {
        let mut host = full(config(bounds.clone()), 90, 1024, 0);
        assert_eq!(rounds(&mut host, expected.len()), expected, "{bounds}");
    }
}

/// Four containers of one node let an ask in; two would be lost work. They go together, and no
/// more before they have ended.
#[test]
fn an_ask_that_needs_more_than_a_budget_is_served_by_itself() {
    let mut host = full(config(json!({"round_max": 0.02})), 90, 4096, 0);
    assert_eq!(rounds(&mut host, 3), [4, 4, 4]);
    assert_eq!([GREEDY, STARVED].map(|job| host.running(job)), [78, 13]);
}

/// 40 GB have a label, so 20 GB too much there and 30 GB elsewhere, each cut to 10.
#[test]
fn all_labels_share_one_budget() {
    let mut config = config(json!({"round_max": 0.1}));
    for queue in config["queues"].as_array_mut().expect("a list") {
        queue["labels"] = json!({"gpu": {"min_share": queue["min_share"]}});
    }
    let mut host = full(config, 100, 1024, 2);
    assert_eq!(rounds(&mut host, 6), [10, 10, 10, 10, 10, 0]);
    assert_eq!([GREEDY, STARVED].map(|job| host.running(job)), [50, 50]);
}

/// Two queues above their share give in proportion to it, one that spares its containers nothing.
#[test]
fn siblings_above_their_share_give_alike() {
    for (spares, expected) in [(false, [5, 5]), (true, [10, 0])] {
        let mut config = config(json!({"round_max": 0.1}));
        config["queues"] = json!([
            {"path": "root.greedy", "min_share": {"memory-mb": "25% of parent"}},
            {"path": "root.other", "min_share": {"memory-mb": "25% of parent"},
             "preempt_from": !spares},
            {"path": "root.starved", "min_share": {"memory-mb": "50% of parent"}}]);
        let mut host = Host::new(config);
        for (job, path) in [(GREEDY, "root.greedy"), (3, "root.other")] {
            let queue = host.queue("u", Some(path));
            host.job(job, queue);
        }
        for _ in 0..NODES {
            host.labelled_node(0, 20 * 1024, 64, 0);
        }
        for i in 0..100 {
            host.recovered([GREEDY, 3][i % 2], i as u32 % NODES, 1024, false);
        }
        let queue = host.queue("u", Some("root.starved"));
        host.job(STARVED, queue);
        host.ask(STARVED, 0, 100, 1024);
        assert_eq!(rounds(&mut host, 1), [10]);
        let left = [GREEDY, 3].map(|job| 50 - host.running(job));
        assert_eq!(left, expected, "{spares}");
    }
}

/// Containers end at once, and a round may take 1 GB.
#[test]
fn rounds_keep_their_distance() {
    let bounds = json!({"round_max": 0.01, "round_ms": 3000});
    let mut host = full(config(bounds), 90, 1024, 0);
    let mut times = Vec::new();
    for _ in 0..24 {
        host.now += 500;
        for decision in host.tick() {
            if let Decision::Evict { job, key, .. } = decision {
                times.push(host.now);
                host.complete(job.0, key);
            }
        }
        (0..NODES).for_each(|node| drop(host.beat(node)));
    }
    let apart: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(apart, [3000, 3000, 3000]);
}

/// The containers that the tests above see go stay, and each is named once.
#[test]
fn what_is_only_observed_goes_nowhere_and_is_said_once() {
    let bounds = |observe| json!({"round_max": 0.02, "round_ms": 1000, "observe_only": observe});
    let mut host = full(config(bounds(true)), 90, 1024, 0);
    assert_eq!(rounds(&mut host, 4), [0, 0, 0, 0]);
    assert_eq!([GREEDY, STARVED].map(|job| host.running(job)), [90, 10]);
    let told = host.request(json!({"op": "explain", "job": GREEDY}));
    let decisions = told["trace"].as_array().expect("a list").clone();
    let of = |what: &str| decisions.iter().filter(|d| d["what"] == what).count();
    assert_eq!((of("observed"), of("evicted")), (2, 0), "{decisions:?}");
    let said = |d: &Value| {
        d["sentence"]
            .as_str()
            .is_some_and(|s| s.contains("only observes"))
    };
    assert!(decisions.iter().any(said), "{decisions:?}");
    host.request(json!({"op": "reload", "config": config(bounds(false))}));
    assert_eq!(rounds(&mut host, 1), [2]);
}
