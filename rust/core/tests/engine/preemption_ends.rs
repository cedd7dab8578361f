//! Preemption ends: room that was made goes to the ask that it was made for, and what the order of
//! shares would give back at once is not taken. Tasks last for ever and everybody wants more, so
//! after some minutes nothing may move any more.

use crate::common::town::{Demand, Town, endless};
use heddle_core::Resource;
use serde_json::{Value, json};

const GB: i64 = 1_024;

fn gb(memory: i64, vcores: i64) -> Resource {
    Resource::new(memory * GB, vcores)
}

fn town(config: Value) -> Town {
    Town::new(&json!({ "config": config }))
}

/// Lets a quarter of an hour pass, then checks that nothing is taken in the next ten minutes.
fn settles(town: &mut Town) -> u32 {
    town.pass(900);
    let kills = town.killed();
    town.pass(600);
    assert_eq!(
        town.killed(),
        kills,
        "taken back after a quarter of an hour"
    );
    kills
}

/// Two parents at their shares. `b` lacks half of its own, which its sibling holds and keeps. The
/// other parent's tasks fill what the service of `a` leaves of each node.
fn parents(spares: bool, min_gb: i64) -> Town {
    let mut a = json!({"path": "root.p.a"});
    if spares {
        a["preempt_from"] = json!(false);
    }
    let mut d = json!({"path": "root.q.d"});
    if min_gb > 0 {
        d["min_share"] = json!({"memory-mb": min_gb * GB});
    }
    let mut town = town(json!({
        "queues": [
            {"path": "root.p", "weight": 4.0}, a, {"path": "root.p.b"},
            {"path": "root.q", "weight": 1.0}, {"path": "root.q.c"}, d,
        ],
        "preemption": {"enabled": true},
    }));
    for _ in 0..20 {
        town.node(gb(64, 64), 0);
    }
    town.submit(1, "root.p.a", 0, vec![endless(gb(48, 1), 20)]);
    town.pass(5);
    assert_eq!(town.used(1), gb(960, 20));
    town.submit(2, "root.p.b", 0, vec![endless(gb(1, 1), 2_000)]);
    town.submit(3, "root.q.c", 0, vec![endless(gb(1, 1), 2_000)]);
    town.pass(5);
    town.submit(4, "root.q.d", 0, vec![endless(gb(24, 1), 200)]);
    town
}

#[test]
fn nothing_goes_to_a_queue_whose_parent_has_its_share() {
    let mut town = parents(true, 0);
    assert_eq!(settles(&mut town), 0);
    // 4 to 1 of 1,280 GB: 64 of p's 1,024 are left for b.
    assert_eq!(
        [2, 3, 4].map(|job| town.used(job).memory_mb() / GB),
        [64, 256, 0]
    );
}

#[test]
fn a_minimum_is_met_through_the_queues_that_go_after_it() {
    let mut town = parents(false, 256);
    let kills = settles(&mut town);
    // Ten containers of 24 GB are within one of its minimum.
    assert!(town.used(4).memory_mb() >= 240 * GB, "{:?}", town.used(4));
    assert!(kills < 700, "{kills}");
    assert_eq!(town.kills.get(&4), None);
}

/// The queue compares by vcores, and has its share of them: a minimum of memory that its tasks do
/// not reach is no reason to take from others, who would be next again.
#[test]
fn a_minimum_of_another_type_takes_nothing() {
    let mut town = town(json!({
        "queue_defaults": {"compare": "dominant"},
        "queues": [
            {"path": "root.a", "min_share": {"memory-mb": 800 * GB}}, {"path": "root.b"},
        ],
        "preemption": {"enabled": true},
    }));
    for _ in 0..40 {
        town.node(gb(64, 16), 0);
    }
    town.submit(1, "root.a", 0, vec![endless(gb(2, 4), 500)]);
    town.submit(2, "root.b", 0, vec![endless(gb(8, 1), 500)]);
    settles(&mut town);
    let mut late = town.killed();
    town.pass(300);
    late = town.killed() - late;
    assert_eq!(late, 0);
}

/// One queue has all vcores in small containers. Whether queues compare by memory or by the
/// dominant type, the other gets its part.
#[test]
fn a_queue_without_vcores_gets_containers_back() {
    for (dominant, compare) in [
        (false, json!(null)),
        (true, json!(null)),
        (false, json!("memory")),
        (false, json!("dominant")),
        (false, json!("capacity")),
        (true, json!("capacity")),
    ] {
        let mut town = town(json!({
            "share": {"dominant": dominant},
            "queue_defaults": {"compare": compare},
            "queues": [{"path": "root.a"}, {"path": "root.b"}],
            "preemption": {"enabled": true},
        }));
        for _ in 0..4 {
            town.node(gb(64, 16), 0);
        }
        town.submit(1, "root.a", 0, vec![endless(gb(1, 1), 500)]);
        town.pass(5);
        assert_eq!(town.used(1), gb(64, 64));
        town.submit(2, "root.b", 0, vec![endless(gb(1, 1), 500)]);
        let kills = settles(&mut town);
        let got = town.used(2).vcores();
        assert!(
            (15..=32).contains(&got),
            "{got} of 64, dominant {dominant}, {compare}"
        );
        assert_eq!(i64::from(kills), got, "each kill serves one ask");
    }
}

/// Maps whose data lie where nothing may be taken: each victim's room serves one of them.
#[test]
fn asks_that_name_hosts_cost_one_container_each() {
    for (near, maps) in [
        (vec![0, 1], 4),
        (vec![0], 40),
        (vec![0, 4, 8], 40),
        (vec![1], 10),
    ] {
        let mut town = town(json!({
            "queues": [
                {"path": "root.a"}, {"path": "root.b", "min_share": {"memory-mb": 40 * GB}},
                {"path": "root.spared", "preempt_from": false},
            ],
            "preemption": {"enabled": true},
        }));
        for _ in 0..16 {
            town.node(gb(8, 8), 0);
        }
        let mut spared = endless(gb(8, 8), 2);
        spared.near = vec![0, 1];
        town.submit(1, "root.spared", 0, vec![spared]);
        town.pass(20);
        town.submit(2, "root.a", 0, vec![endless(gb(1, 1), 500)]);
        town.pass(5);
        let maps = Demand {
            near: near.clone(),
            ..endless(gb(1, 1), maps)
        };
        let count = maps.waiting;
        town.submit(3, "root.b", 0, vec![maps]);
        let kills = settles(&mut town);
        assert_eq!(town.used(3).vcores(), i64::from(count), "{near:?}");
        assert_eq!(kills, count, "{near:?}");
    }
}

/// Four large jobs fill four nodes of four slots; a small one asks for four maps, which name one
/// host. One task goes for each.
#[test]
fn the_order_takes_one_task_for_each_that_it_starts() {
    for grace_ms in [1_000, 15_000] {
        let mut town = town(json!({
            "policy": "hfsp", "hfsp": {"kill": true}, "preemption": {"grace_ms": grace_ms},
        }));
        town.grace_ms = grace_ms;
        for _ in 0..4 {
            town.node(gb(4, 4), 0);
        }
        for job in 1..=4 {
            let tasks = Demand {
                length_ms: Some(600_000),
                ..endless(gb(1, 1), 40)
            };
            town.submit(job, "root.u", 0, vec![tasks]);
        }
        town.pass(60);
        let before = town.killed();
        let tasks = Demand {
            length_ms: Some(30_000),
            near: vec![0],
            ..endless(gb(1, 1), 4)
        };
        town.submit(5, "root.u", 0, vec![tasks]);
        town.pass(60);
        assert_eq!(town.done.get(&5), Some(&4), "{grace_ms}");
        assert_eq!(town.killed() - before, 4, "{grace_ms}");
    }
}

/// A promise ends with its ask: the room is for all again, and nothing more is taken.
#[test]
fn a_withdrawn_ask_gives_its_room_up() {
    let mut town = town(json!({
        "queues": [{"path": "root.a"}, {"path": "root.b"}],
        "preemption": {"enabled": true, "fair_share_timeout_ms": 1_000},
        "reservation": {"after_ms": 600_000},
    }));
    town.grace_ms = 5_000;
    town.node(gb(8, 8), 0);
    town.submit(1, "root.a", 0, vec![endless(gb(1, 1), 100)]);
    town.pass(5);
    town.submit(2, "root.b", 0, vec![endless(gb(1, 1), 100)]);
    town.pass(3);
    assert_eq!(town.killed(), 4);
    assert_eq!(town.engine.held_nodes().count(), 4);
    town.demands.get_mut(&2).expect("it asks")[0].waiting = 0;
    town.ask(2, 0);
    town.pass(1);
    assert_eq!(town.engine.held_nodes().count(), 0);
    town.pass(30);
    assert_eq!((town.used(1), town.killed()), (gb(8, 8), 4));
}

/// Containers that are only observed make no promise.
#[test]
fn what_is_only_observed_holds_no_room() {
    let mut town = town(json!({
        "queues": [{"path": "root.a"}, {"path": "root.b"}],
        "preemption": {"enabled": true, "observe_only": true, "fair_share_timeout_ms": 1_000},
        "reservation": {"after_ms": 600_000},
    }));
    town.node(gb(8, 8), 0);
    town.submit(1, "root.a", 0, vec![endless(gb(1, 1), 100)]);
    town.pass(5);
    town.submit(2, "root.b", 0, vec![endless(gb(1, 1), 100)]);
    town.pass(10);
    assert_eq!((town.killed(), town.engine.held_nodes().count()), (0, 0));
    let explained = json!({"op": "explain", "job": 1});
    let explained = town
        .engine
        .request(town.now, &explained)
        .expect("the job is there");
    let entries = explained["trace"].as_array().expect("a list");
    let observed = entries.iter().filter(|entry| entry["what"] == "observed");
    assert_eq!(observed.count(), 4, "{explained}");
}

/// Thousands of asks that name hosts, of a job that shuns a node, on many nodes: a tick looks at a
/// bounded number of nodes, and the next goes on. All get what they lack in the end.
#[test]
fn a_tick_looks_at_a_bounded_number_of_nodes() {
    let mut town = town(json!({
        "queues": [
            {"path": "root.a"}, {"path": "root.b"},
            {"path": "root.spared", "preempt_from": false, "weight": 22.0},
        ],
        "preemption": {"enabled": true, "fair_share_timeout_ms": 1_000},
        // The spared job fills whole nodes: others have two of the other's containers to give.
        "heartbeat_fill": 1.0,
    }));
    for _ in 0..300 {
        town.node(gb(8, 8), 0);
    }
    town.submit(1, "root.spared", 0, vec![endless(gb(1, 1), 2_200)]);
    town.pass(3);
    town.submit(2, "root.a", 0, vec![endless(gb(1, 1), 2_000)]);
    town.pass(3);
    let ask = |at: u32| Demand {
        near: vec![at % 300],
        priority: 20 + at as i32,
        ..endless(gb(2, 1), 1)
    };
    town.submit(3, "root.b", 0, (0..1_000).map(ask).collect());
    town.shun(3, 7);
    town.pass(2);
    town.pass(60);
    // 100 GB of 2,400 are its part, in containers of 2 GB.
    assert_eq!(town.used(3), gb(100, 50));
    assert_eq!(town.killed(), 100);
}
