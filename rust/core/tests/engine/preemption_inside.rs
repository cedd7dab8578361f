//! Preemption inside one queue, as in YARN's Capacity Scheduler (DI-30). Every cluster here has 10
//! nodes of 10 GB; containers have 1 GB. Figures follow by hand from
//! `docs/develop/stock-capacity.md`, sections 4.2 and 13.5.

use crate::common::town::{Demand, Town, endless};
use crate::common::{self, Host, host_of, plain_ask};
use heddle_core::words::event::{AskFacts, EvictReason};
use heddle_core::{Decision, Resource};
use serde_json::{Value, json};

const NODES: u32 = 10;
const GB: i64 = 1024;

/// One queue with the whole cluster; `more` are its further keys.
fn cluster(inside: Value, more: Value) -> Host {
    observed_cluster(inside, more, false)
}

fn observed_cluster(inside: Value, more: Value, observes: bool) -> Host {
    let mut queue = json!({"path": "root.a", "min_share": {"memory-mb": "100% of parent"}});
    for (key, value) in more.as_object().expect("keys of a queue") {
        queue[key] = value.clone();
    }
    let config = json!({
        "policy": {"share": "capacity", "order": "by-queue", "place": "delay"},
        "heartbeat_fill": 1.0,
        "queues": [queue, {"path": "root.b"}],
        "preemption": {"enabled": true, "min_share_timeout_ms": 0, "fair_share_threshold": 0.0,
            "grace_ms": 100, "masters": true, "observe_only": observes,
            "inside": inside},
    });
    let mut host = Host::new(config);
    for _ in 0..NODES {
        host.node(0, 10 * GB, 64);
    }
    host
}

/// A job of the queue that runs so many containers, as many on each node as on others.
fn runs(host: &mut Host, job: u32, user: u32, priority: i32, containers: u32) {
    let queue = host.queue("u", Some("root.a"));
    host.submit(job, queue, user, priority);
    for i in 0..containers {
        host.recovered(job, i % NODES, GB, false);
        host.now += 1;
    }
}

/// Lets rounds pass in which evicted containers end and all nodes report. Returns the jobs that
/// lost containers, in order.
fn taken(host: &mut Host, rounds: u32) -> Vec<u32> {
    let mut taken = Vec::new();
    for _ in 0..rounds {
        host.now += 1_000;
        for decision in host.tick() {
            if let Decision::Evict {
                job, key, reason, ..
            } = decision
            {
                assert_eq!(reason, EvictReason::Inside);
                taken.push(job.0);
                host.complete(job.0, key);
            }
        }
        (0..NODES).for_each(|node| drop(host.beat(node)));
    }
    taken
}

fn count(taken: &[u32], job: u32) -> usize {
    taken.iter().filter(|id| **id == job).count()
}

/// A round takes a fifth of the guarantee of 100 GB: 20, and the rest of the 30 that are asked for
/// in the next.
#[test]
fn a_job_of_higher_priority_takes_from_the_last_of_lower_ones() {
    let mut host = cluster(json!({"first": "priorities"}), json!({}));
    runs(&mut host, 1, 1, 5, 40);
    runs(&mut host, 2, 2, 3, 30);
    runs(&mut host, 3, 1, 0, 30);
    host.ask(1, 0, 35, GB);
    let first = taken(&mut host, 1);
    assert_eq!((first.len(), count(&first, 3)), (20, 20));
    let rest = taken(&mut host, 9);
    // Of job 3 all, then 5 of job 2.
    assert_eq!((count(&rest, 3), count(&rest, 2)), (10, 5));
    assert_eq!(host.running(1), 75);
}

/// With users first, jobs of others give only what their users have above the limit, and the user's
/// own keep one smallest container.
#[test]
fn with_users_first_priority_counts_among_the_jobs_of_a_user() {
    let mut host = cluster(json!({"first": "users"}), json!({}));
    runs(&mut host, 1, 1, 5, 40);
    runs(&mut host, 2, 2, 3, 30);
    runs(&mut host, 3, 1, 0, 30);
    host.ask(1, 0, 35, GB);
    let all = taken(&mut host, 9);
    assert_eq!((count(&all, 3), count(&all, 2)), (29, 0));
}

#[test]
fn equal_priorities_take_nothing() {
    let mut host = cluster(json!({"first": "priorities"}), json!({}));
    runs(&mut host, 1, 1, 5, 40);
    runs(&mut host, 2, 2, 5, 60);
    host.ask(1, 0, 35, GB);
    assert_eq!(taken(&mut host, 5), [0u32; 0]);
}

/// The queue counts as using 101 GB. A user has half, 51 GB in whole containers, and one container
/// more: of 100, 48 go for the other user, who asks for 60.
#[test]
fn users_above_the_limit_give_to_those_below() {
    let mut host = cluster(json!({}), json!({"user_limit_percent": 50}));
    runs(&mut host, 1, 1, 0, 100);
    runs(&mut host, 2, 2, 0, 0);
    host.ask(2, 0, 60, GB);
    let all = taken(&mut host, 9);
    assert_eq!(count(&all, 1), 48, "{all:?}");
    assert_eq!((host.running(1), host.running(2)), (52, 48));
    host.engine.check_invariants().expect("the books are right");
}

#[test]
fn nothing_goes_where_a_queue_or_its_usage_forbids_it() {
    let run = |more: Value, containers: u32, ask_mb: i64| {
        let mut host = cluster(json!({"first": "priorities", "usage_min": 0.5}), more);
        runs(&mut host, 1, 1, 0, containers);
        runs(&mut host, 2, 1, 9, 0);
        host.ask(2, 0, 3, ask_mb);
        taken(&mut host, 5).len()
    };
    assert_eq!(run(json!({}), 100, GB), 3);
    assert_eq!(run(json!({"preempt_inside": false}), 100, GB), 0);
    assert_eq!(run(json!({"preempt_from": false}), 100, GB), 0);
    // 40 of 100 GB are less than half. On each node 6 GB are free.
    assert_eq!(run(json!({}), 40, 7 * GB), 0);
    assert_eq!(run(json!({}), 50, 6 * GB), 3);
    // No node has so much.
    assert_eq!(run(json!({}), 100, 11 * GB), 0);
}

/// The ask insists on a host, where only the master of the other job runs.
#[test]
fn masters_stay_and_nothing_goes_where_the_ask_cannot_run() {
    let mut host = cluster(json!({"first": "priorities"}), json!({}));
    let queue = host.queue("u", Some("root.a"));
    host.job(1, queue);
    for node in 1..NODES {
        for _ in 0..10 {
            host.recovered(1, node, GB, false);
        }
    }
    host.recovered(1, 0, 10 * GB, true);
    runs(&mut host, 2, 0, 9, 0);
    host.ask_facts(AskFacts {
        relax: false,
        ..plain_ask(2, 0, 3, GB)
    });
    let row = common::row(2, 0, host_of(0), 3);
    host.step(&[row]);
    assert_eq!(taken(&mut host, 5), [0u32; 0]);
    assert!(host.engine.check_invariants().is_ok());
}

/// Ten rounds name the same two containers; each is written down once.
#[test]
fn what_is_only_observed_goes_nowhere_and_is_said_once() {
    let mut host = observed_cluster(json!({"first": "priorities"}), json!({}), true);
    runs(&mut host, 1, 1, 0, 100);
    runs(&mut host, 2, 1, 9, 0);
    host.ask(2, 0, 2, GB);
    assert_eq!(taken(&mut host, 10), [0u32; 0]);
    let told = host.request(json!({"op": "explain", "job": 1}));
    let decisions = told["trace"].as_array().expect("a list");
    let observed = decisions.iter().filter(|d| d["what"] == "observed");
    assert_eq!(observed.count(), 2, "{decisions:?}");
}

/// 200 nodes of one container each: masters on the first 100, tasks of job 1 on the others. Job 2
/// asks for the host of one of those tasks, then for hosts of masters, then for another task's.
fn many_asks_for_masters_hosts(round_max: f64) -> Host {
    let mut host = Host::new(json!({
        "policy": {"share": "capacity", "order": "by-queue", "place": "delay"},
        "queues": [{"path": "root.a", "min_share": {"memory-mb": "100% of parent"}}],
        "preemption": {"enabled": true, "fair_share_threshold": 0.0, "round_ms": 60_000,
            "inside": {"first": "priorities", "round_max": round_max}},
    }));
    for _ in 0..200 {
        host.node(0, GB, 64);
    }
    for (job, priority) in [(1, 0), (2, 9), (3, 0)] {
        runs(&mut host, job, 1, priority, 0);
    }
    for node in 0..200 {
        host.recovered(if node < 100 { 3 } else { 1 }, node, GB, node < 100);
    }
    for ask in 0..=401 {
        host.ask_facts(AskFacts {
            relax: false,
            ..plain_ask(2, ask, 1, GB)
        });
        let node = match ask {
            0 => 150,
            401 => 151,
            _ => ask % 100,
        };
        host.step(&[common::row(2, ask, host_of(node), 1)]);
    }
    host
}

/// A tick looks at 40,000 nodes, which is 200 asks here. The next one goes on there. What may go in
/// a round is not more because it takes three ticks.
#[test]
fn a_round_that_was_cut_goes_on_where_it_ended() {
    let pass = |host: &mut Host, ticks: u32| {
        for _ in 0..ticks {
            host.now += 500;
            for decision in host.tick() {
                if let Decision::Evict { job, key, .. } = decision {
                    host.complete(job.0, key);
                }
            }
            for node in [150, 151] {
                host.beat(node);
            }
        }
        host.running(2)
    };
    let mut host = many_asks_for_masters_hosts(0.2);
    assert_eq!(pass(&mut host, 1), 1, "the first ask");
    assert_eq!(pass(&mut host, 3), 2, "the last one");
    // 0.8 GB of 200: one container.
    let mut host = many_asks_for_masters_hosts(0.004);
    assert_eq!(pass(&mut host, 100), 1);
    assert_eq!(pass(&mut host, 30), 2, "in the next round");
}

/// Data on one host, on four, on four of which each is the only one on its rack, and of one map
/// each: one task goes for each map.
#[test]
fn maps_that_name_hosts_cost_one_container_each() {
    let one = |near: &[u32], waiting: u32| Demand {
        near: near.to_vec(),
        ..endless(Resource::new(GB, 1), waiting)
    };
    for (maps, grace_ms) in [
        (vec![one(&[0], 4)], 1_000),
        (vec![one(&[0, 1, 2, 3], 4)], 1_000),
        (vec![one(&[0, 4, 8, 12], 4)], 1_000),
        (vec![one(&[0, 4, 8, 12], 4)], 15_000),
        ([0, 4, 8, 12].map(|host| one(&[host], 1)).to_vec(), 1_000),
        ([0, 4, 8, 12].map(|host| one(&[host], 1)).to_vec(), 15_000),
    ] {
        let mut town = Town::new(&json!({"config": {
            "policy": {"share": "capacity", "order": "by-queue", "place": "delay"},
            "queues": [{"path": "root.a", "min_share": {"memory-mb": "100% of parent"}}],
            "preemption": {"enabled": true, "fair_share_threshold": 0.0, "grace_ms": grace_ms,
                "inside": {"first": "priorities"}},
        }}));
        town.grace_ms = grace_ms;
        for _ in 0..16 {
            town.node(Resource::new(4 * GB, 4), 0);
        }
        town.submit(1, "root.a", 0, vec![one(&[], 500)]);
        town.pass(5);
        let maps: Vec<Demand> = (0..)
            .zip(maps)
            .map(|(at, maps)| Demand {
                priority: 20 + at,
                ..maps
            })
            .collect();
        let case = format!("{maps:?}, {grace_ms} ms");
        town.submit(2, "root.a", 9, maps);
        town.pass(120);
        assert_eq!(town.used(2), Resource::new(4 * GB, 4), "{case}");
        assert_eq!((town.killed(), town.vain), (4, 0), "{case}");
    }
}
