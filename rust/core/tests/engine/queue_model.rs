//! Queues as the files of YARN's own schedulers describe them: percentages, comparison by parent,
//! ApplicationMaster limits, headrooms. Expected values are those of the Fair Scheduler's rules
//! (docs/develop/stock-fair.md), worked out by hand.

use crate::common::{Host, plain_ask};
use heddle_core::Resource;
use heddle_core::words::event::AskFacts;
use serde_json::{Value, json};

/// An ask for ApplicationMasters of 1 GB and 1 vcore.
fn master(job: u32) -> AskFacts {
    AskFacts {
        am: true,
        priority: 0,
        ..plain_ask(job, 0, 1, 1024)
    }
}

/// Adds jobs to a queue, each with an ApplicationMaster pending; returns how many start.
fn masters_started(host: &mut Host, name: &str, jobs: std::ops::Range<u32>) -> usize {
    for job in jobs {
        let queue = host.queue("u", Some(name));
        host.job(job, queue);
        host.ask_facts(master(job));
    }
    host.tick();
    host.beat(0).len()
}

#[test]
fn a_percentage_holds_for_the_cluster_as_it_is() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.a", "max_share": {"memory-mb": "50%"}}]
    }));
    let first = host.node(0, 4096, 64);
    let queue = host.queue("u", Some("root.a"));
    host.job(1, queue);
    host.ask(1, 0, 100, 1024);
    assert_eq!(host.beat(first).len(), 2);
    // No tick in between: the limit follows before the next search.
    let second = host.node(0, 4096, 64);
    assert_eq!(host.beat(second).len(), 2);
    assert_eq!(host.beat(first).len(), 0, "4 of 8 GB");
    assert_eq!(row(&mut host, "root.a")["max_share"]["memory-mb"], 4096);
}

/// What the engine reports of a queue.
fn row(host: &mut Host, path: &str) -> Value {
    let mut report = host.request(json!({"op": "queues"}));
    let rows = report["queues"].as_array_mut().expect("a list");
    let row = rows.iter_mut().find(|row| row["path"] == path);
    row.expect(path).take()
}

/// By memory `lean` with 2 GB goes before `wide` with 3 GB. By dominant share `wide` does: `lean`
/// has half of the vcores, `wide` a quarter of the memory.
#[test]
fn each_parent_compares_its_children_as_it_says() {
    for (compare, first) in [("memory", "lean"), ("dominant", "wide")] {
        let mut host = Host::new(json!({
            "heartbeat_fill": 1.0,
            "queues": [
                {"path": "root", "compare": "dominant"},
                {"path": "root.p", "compare": compare},
            ]
        }));
        let node = host.node(0, 12_288, 8);
        let mut sizes = [("lean", 1, 2048, 4), ("wide", 2, 3072, 1)];
        for (name, job, memory_mb, vcores) in sizes {
            let queue = host.queue("u", Some(&format!("root.p.{name}")));
            host.job(job, queue);
            host.ask_facts(AskFacts {
                resource: Resource::new(memory_mb, vcores),
                ..plain_ask(job, 0, 1, 0)
            });
        }
        host.tick();
        assert_eq!(host.beat(node).len(), 2, "there is room for both");
        sizes.reverse();
        for (_, job, ..) in sizes {
            host.ask(job, 1, 1, 1024);
        }
        let next = host.beat(node)[0].job;
        let name = if next == 1 { "lean" } else { "wide" };
        assert_eq!(name, first, "{compare}");
    }
}

/// Under `memory` a minimum counts as far as it is asked for: `a` has 1 GB of the 2 GB that it has
/// or wants, `b` 2 GB of 8 GB, so `b` is shorter of its minimum, though both have 8 GB as theirs.
#[test]
fn a_minimum_counts_as_far_as_it_is_asked_for() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [
            {"path": "root", "compare": "memory"},
            {"path": "root.a", "min_share": {"memory-mb": 8192}},
            {"path": "root.b", "min_share": {"memory-mb": 8192}},
        ]
    }));
    let node = host.node(0, 4096, 64);
    for (job, name, before, after) in [(1, "root.a", 1, 1), (2, "root.b", 2, 6)] {
        let queue = host.queue("u", Some(name));
        host.job(job, queue);
        for _ in 0..before {
            host.recovered(job, node, 1024, false);
        }
        host.ask(job, 0, after, 1024);
    }
    host.tick();
    let served = host.beat(node);
    assert_eq!(served.len(), 1, "1 GB is free");
    assert_eq!(served[0].job, 2);
}

/// Ten containers. A queue asks for nothing: its minimum raises neither the share of its siblings
/// nor that of the queue above (FS-23).
#[test]
fn the_minimum_of_an_idle_queue_takes_nothing_from_other_groups() {
    let share_of_b = |y: i64, b: i64| {
        let least = |gb: i64| json!({"memory-mb": gb * 1024});
        let mut host = Host::new(json!({"queues": [
            {"path": "root.a.x", "min_share": least(8)},
            {"path": "root.a.y", "min_share": least(y)},
            {"path": "root.b", "min_share": least(b)}]}));
        host.node(0, 10 * 1024, 64);
        for (job, path) in [(1, "root.a.y"), (2, "root.b")] {
            let queue = host.queue("u", Some(path));
            host.job(job, queue);
            host.ask(job, 0, 10, 1024);
        }
        host.tick();
        row(&mut host, "root.b")["fair_share"]["memory-mb"].clone()
    };
    assert_eq!(share_of_b(0, 0), 5 * 1024);
    assert_eq!(share_of_b(2, 8), 8 * 1024);
}

fn limited(max_am_share: Value, compare: Value) -> Host {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root", "compare": compare}],
        "queue_defaults": {"max_am_share": max_am_share}
    }));
    host.node(0, 10_240, 10);
    host
}

/// 0.1 of 10240 MB is 1025 as a float rounded up, 0.2 is 2049. Of the 10 free vcores, then 9, a
/// part of 0.2 is 2.
#[test]
fn masters_have_a_part_of_the_share_rounded_up() {
    let cases = [
        (json!(0.1), 1, json!(1025)),
        (json!(0.2), 2, json!(2049)),
        (json!(-1), 10, json!(null)),
    ];
    for (part, started, limit_mb) in cases {
        let mut host = limited(part.clone(), json!("memory"));
        let masters = masters_started(&mut host, "root.a", 1..12);
        assert_eq!(masters, started, "{part}");
        let row = row(&mut host, "root.a");
        assert_eq!(row["am_limit"]["memory-mb"], limit_mb);
        assert_eq!(row["am_used"]["memory-mb"], json!(1024 * started));
    }
    // Not even the first, unlike where nothing is said of comparison.
    let mut host = limited(json!(0), json!("memory"));
    assert_eq!(masters_started(&mut host, "root.a", 1..3), 0);
    let mut host = limited(json!(0), json!(null));
    assert_eq!(masters_started(&mut host, "root.a", 1..3), 1);
}

/// Under `memory` queues have no share of vcores, so that masters have a part of what is free now;
/// under `dominant` they have a part of the queue's own.
#[test]
fn masters_of_a_queue_without_vcores_have_a_part_of_the_free_ones() {
    for (compare, limited_now) in [("memory", true), ("dominant", false)] {
        let mut host = limited(json!(0.4), json!(compare));
        assert_eq!(masters_started(&mut host, "root.a", 2..3), 1);
        let queue = host.queue("u", Some("root.full"));
        host.job(99, queue);
        host.ask_facts(AskFacts {
            resource: Resource::new(0, 9),
            ..plain_ask(99, 0, 1, 0)
        });
        host.tick();
        assert_eq!(host.beat(0).len(), 1, "it takes every other vcore");
        let queue = host.queue("u", Some("root.a"));
        host.job(1, queue);
        host.ask_facts(master(1));
        host.tick();
        let explained = host.request(json!({"op": "explain", "job": 1}));
        let sentence = explained["sentence"]
            .as_str()
            .expect("it waits")
            .to_string();
        assert_eq!(
            sentence.contains("max_am_share"),
            limited_now,
            "{compare}: {sentence}"
        );
    }
}

/// 8 GB between two active queues: 4 GB each. `a` uses 1 GB, so 3 GB are left of its share,
/// whatever is free. Of vcores everything free, in a leaf of order `drf` what is left of its share.
#[test]
fn headroom_ends_at_the_share() {
    for (compare, order, vcores) in [
        ("memory", "fair", 14),
        ("dominant", "fair", 14),
        ("dominant", "drf", 7),
    ] {
        let mut host = Host::new(json!({
            "heartbeat_fill": 1.0,
            "queue_defaults": {"order": order},
            "queues": [{"path": "root", "compare": compare}, {"path": "root.a"}, {"path": "root.b"}]
        }));
        let node = host.node(0, 8192, 16);
        for (job, name) in [(1, "root.a"), (2, "root.b")] {
            let queue = host.queue("u", Some(name));
            host.job(job, queue);
            host.ask(job, 0, 1, 1024);
        }
        assert_eq!(host.beat(node).len(), 2);
        host.tick();
        assert_eq!(host.headrooms[&1], Resource::new(3072, vcores), "{compare}");
    }
}

/// The rules of the Capacity Scheduler: `a` has 3 GB of its guaranteed 6 GB, `b` 2 GB of 2 GB. By
/// weight of memory `b` would be next.
#[test]
fn guarantees_go_before_amounts() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [
            {"path": "root", "compare": "capacity"},
            {"path": "root.a", "min_share": "75% of parent"},
            {"path": "root.b", "min_share": "25% of parent"},
        ]
    }));
    let node = host.node(0, 8192, 8);
    for (job, name, before) in [(1, "root.a", 3), (2, "root.b", 2)] {
        let queue = host.queue("u", Some(name));
        host.job(job, queue);
        for _ in 0..before {
            host.recovered(job, node, 1024, false);
        }
        host.ask(job, 0, 9, 1024);
    }
    host.tick();
    let served: Vec<u32> = host.beat(node).iter().map(|grant| grant.job).collect();
    assert_eq!(served, [1, 1, 1], "up to its guarantee");
}

/// Of 8 GB, weights 3 and 1: with all queues active 6 and 2 GB, and everything for the only one
/// that is.
#[test]
fn reports_have_the_shares_of_the_fair_scheduler() {
    let mut host = Host::new(json!({
        "queues": [
            {"path": "root", "compare": "memory"},
            {"path": "root.a", "weight": 3.0, "preempt_from": false},
            {"path": "root.b", "max_container": {"vcores": 2}},
        ]
    }));
    host.node(0, 8192, 8);
    let queue = host.queue("u", Some("root.a"));
    host.job(1, queue);
    host.ask(1, 0, 1, 1024);
    let (a, b) = (row(&mut host, "root.a"), row(&mut host, "root.b"));
    let shares = |row: &Value| [row["steady_share"].clone(), row["active_share"].clone()];
    let amounts = |mb: i64| json!({"memory-mb": mb, "vcores": 0});
    assert_eq!(shares(&a), [amounts(6144), amounts(8192)]);
    assert_eq!(shares(&b), [amounts(2048), amounts(0)]);
    assert_eq!([&a["preemptable"], &b["preemptable"]], [false, true]);
    assert_eq!(b["max_container"], json!({"vcores": 2}));
    assert_eq!(row(&mut host, "root")["compare"], "memory");
}

/// Of 10 GB and 10 vcores `a` is guaranteed three tenths, which are 3 GB, of which it uses 2.
#[test]
fn reports_have_the_figures_of_the_capacity_scheduler() {
    let mut host = Host::new(json!({
        "share": {"dominant": true},
        "queue_defaults": {"compare": "capacity"},
        "queues": [
            {"path": "root.a", "min_share": "30% of parent", "max_share": "50% of parent"},
            {"path": "root.a.x", "weight": 3.0},
            {"path": "root.a.y"},
            {"path": "root.b", "min_share": "70% of parent"},
        ]
    }));
    let node = host.node(0, 10_240, 10);
    let queue = host.queue("u", Some("root.a.x"));
    host.job(1, queue);
    host.recovered(1, node, 2048, false);
    host.tick();
    let figures = |host: &mut Host, path: &str| row(host, path)["capacities"].take();
    let a = figures(&mut host, "root.a");
    let number = |of: &Value, key: &str| of[key].as_f64().expect(key) as f32;
    assert_eq!(number(&a, "guaranteed_part"), 0.3);
    assert_eq!(number(&a, "maximum_part_of_cluster"), 0.5);
    assert_eq!(number(&a, "used_part"), 2.0 / 3.0);
    assert_eq!(number(&a, "used_part_of_cluster"), 0.2);
    let amounts = |mb: i64, vcores: i64| json!({"memory-mb": mb, "vcores": vcores});
    assert_eq!(a["guaranteed"], amounts(3072, 3));
    assert_eq!(a["maximum"], amounts(5120, 5));
    assert_eq!(a["available"], amounts(1024, 2), "one vcore is in use");
    let x = figures(&mut host, "root.a.x");
    assert_eq!(number(&x, "guaranteed_part"), 0.75, "by weight");
    assert_eq!(number(&x, "guaranteed_part_of_cluster"), 0.3 * 0.75);
    assert_eq!(number(&x, "maximum_part"), 1.0);
    assert_eq!(
        x["guaranteed"],
        amounts(2048, 2),
        "2304 MB down to whole containers"
    );
    assert_eq!(figures(&mut host, "root")["used_part"], json!(0.2_f32));
}

/// The key that limits a queue is named, wherever it stands.
#[test]
fn a_wait_names_the_key_that_limits() {
    let limit = || json!({"memory-mb": 1024});
    let own = json!({"queues": [{"path": "root.p.q", "max_share": limit()}]});
    let above = json!({"queues": [{"path": "root.p", "max_child_share": limit()}]});
    let defaults = json!({
        "queues": [{"path": "root.p"}], "queue_defaults": {"max_share": limit()}
    });
    for (mut config, words) in [
        (own, "(max_share)"),
        (above, "(max_child_share of queue `root.p`)"),
        (defaults, "(max_share of queue_defaults)"),
    ] {
        config["heartbeat_fill"] = json!(1.0);
        let mut host = Host::new(config);
        let node = host.node(0, 4096, 4);
        let queue = host.queue("u", Some("root.p.q"));
        host.job(1, queue);
        host.ask(1, 0, 2, 1024);
        assert_eq!(host.beat(node).len(), 1);
        let explained = host.request(json!({"op": "explain", "job": 1}));
        let sentence = explained["sentence"].as_str().expect("it waits");
        assert!(sentence.contains(words), "{sentence}");
        let remedy = "with a max_share of queue `root.p.q` of 2048 MB one more would fit";
        assert!(sentence.contains(remedy), "{sentence}");
    }
}
