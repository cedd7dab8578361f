//! Virtual slots: caps per kind and node, which containers take a slot, and the cluster's number of
//! slots. Expected values follow by hand from the statement in each test's name.

use crate::common::{Host, plain_ask};
use heddle_core::words::event::{AskFacts, Event, JobFacts};
use heddle_core::words::ids::{JobId, NodeId, QueueId, UserId};
use serde_json::json;

/// MapReduce's request priority for reduces.
const REDUCE: i32 = 10;

fn reduces(job: u32, ask: u32, count: u32) -> AskFacts {
    AskFacts {
        priority: REDUCE,
        ..plain_ask(job, ask, count, 1024)
    }
}

fn two_maps_one_reduce() -> Host {
    Host::new(json!({
        "policy": "fifo", "heartbeat_fill": 1.0,
        "slots": {"map_per_node": 2, "reduce_per_node": 1},
    }))
}

fn job_of_both(host: &mut Host) -> QueueId {
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask(1, 0, 10, 1024);
    host.ask_facts(reduces(1, 1, 10));
    queue
}

#[test]
fn a_node_runs_no_more_of_a_kind_than_it_has_slots_whatever_room_is_left() {
    let mut host = two_maps_one_reduce();
    let node = host.node(0, 65_536, 64);
    job_of_both(&mut host);
    let asks: Vec<u32> = host.beat(node).iter().map(|grant| grant.ask).collect();
    assert_eq!(asks.iter().filter(|ask| **ask == 0).count(), 2);
    assert_eq!(asks.iter().filter(|ask| **ask == 1).count(), 1);
    assert_eq!(host.beat(node), [], "all slots are taken");
    host.complete_all(1);
    assert_eq!(host.beat(node).len(), 3, "and all are free again");
    let known = host
        .engine
        .cluster()
        .node(NodeId(node))
        .expect("it is there");
    assert_eq!(known.running, [2, 1]);
}

#[test]
fn slots_are_counted_over_the_nodes_and_follow_them() {
    let mut host = two_maps_one_reduce();
    assert_eq!(host.engine.slots(), [0, 0]);
    host.node(0, 4096, 4);
    host.node(0, 4096, 4);
    assert_eq!(host.engine.slots(), [4, 2]);
    host.step(&[Event::NodeRemoved(NodeId(1))]);
    assert_eq!(host.engine.slots(), [2, 1]);
}

#[test]
fn unless_told_apart_all_kinds_share_slots_of_the_mean_size_asked_for() {
    let mut host = Host::new(json!({"policy": "fifo", "heartbeat_fill": 1.0}));
    host.node(0, 12_288, 100);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask(1, 0, 3, 1024);
    host.ask_facts(AskFacts {
        priority: REDUCE,
        ..plain_ask(1, 1, 1, 5 * 1024)
    });
    host.tick();
    // (3 x 1 GB + 1 x 5 GB) / 4 = 2 GB a container; 12 GB hold six.
    assert_eq!(host.engine.slots(), [6, 0]);
}

/// Returns the slots and all accounts that two busy users see in a market where a third asks for
/// `count` containers of `memory_mb`. 10 nodes hold 80 containers of 1 GB.
fn market_with(count: u32, memory_mb: i64, busy: bool) -> (u32, Vec<serde_json::Value>) {
    let bidder = |name| json!({"path": format!("root.{name}"), "budget": 1e6, "spending_rate": 1});
    let queues = ["a", "b", "c"].map(bidder);
    let mut host = Host::new(json!({
        "policy": "dynamic-priority", "heartbeat_fill": 1.0, "queues": queues,
    }));
    for _ in 0..10 {
        host.node(0, 8 * 1024, 1000);
    }
    let submit = |host: &mut Host, job: u32, user: &str| {
        let queue = host.queue(user, None);
        host.step(&[Event::JobAdded(JobFacts {
            job: JobId(job),
            queue,
            user: UserId(job),
            priority: 0,
            mapreduce: true,
            unmanaged_am: true,
            submitted_ms: host.now,
        })]);
    };
    for (job, user) in [(1, "a"), (2, "b")] {
        submit(&mut host, job, user);
        host.ask(job, 0, 1_000, 1024);
    }
    let rounds = |host: &mut Host, rounds: u32, beat: bool| {
        for _ in 0..rounds {
            host.now += 500;
            host.tick();
            for node in (0..10).filter(|_| beat) {
                host.beat(node);
            }
        }
    };
    rounds(&mut host, 41, busy);
    submit(&mut host, 3, "c");
    host.ask(3, 0, count, memory_mb);
    rounds(&mut host, 82, busy);
    let accounts = host.request(json!({"op": "accounts"}));
    let queues = accounts["queues"].as_array().expect("a list").iter();
    let told = |queue: &serde_json::Value| json!([queue["quota"], queue["budget"], queue["debit"]]);
    let told = queues.map(told).chain([accounts["price"].clone()]);
    (host.engine.slots()[0], told.collect())
}

#[test]
fn a_million_tiny_asks_move_nobodys_slots_quotas_or_price() {
    let plain = market_with(1_000, 1024, true);
    assert_eq!(plain.0, 80);
    assert_eq!(market_with(1 << 20, 64, true), plain);
    assert_eq!(
        market_with(1_000, 8 * 1024, true),
        plain,
        "nor do large ones"
    );
}

#[test]
fn on_an_idle_cluster_one_of_three_users_moves_slots_by_a_third_at_the_most() {
    let slots = market_with(1 << 20, 64, false).0;
    // (1024 + 1024 + 64) / 3 = 704 MB; 80 GB hold 116 of these.
    assert_eq!(slots, 116);
}

#[test]
fn masters_take_no_slot() {
    let mut host = two_maps_one_reduce();
    let node = host.node(0, 65_536, 64);
    job_of_both(&mut host);
    host.recovered(1, node, 1024, true);
    assert_eq!(host.beat(node).len(), 3);
}

#[test]
fn a_reload_tells_the_kinds_apart_and_back_without_losing_count() {
    let mut host = two_maps_one_reduce();
    let node = host.node(0, 65_536, 64);
    job_of_both(&mut host);
    assert_eq!(host.beat(node).len(), 3);
    let shared = json!({"policy": "fifo", "heartbeat_fill": 1.0});
    host.request(json!({"op": "reload", "config": shared}));
    host.engine.check_invariants().expect("the books are right");
    assert_eq!(
        host.beat(node).len(),
        17,
        "no cap is left: all that is pending runs"
    );
    let apart = json!({
        "policy": "fifo", "slots": {"map_per_node": 2, "reduce_per_node": 1},
    });
    host.request(json!({"op": "reload", "config": apart}));
    host.engine.check_invariants().expect("the books are right");
    let known = host
        .engine
        .cluster()
        .node(NodeId(node))
        .expect("it is there");
    assert_eq!(
        known.running,
        [10, 10],
        "what runs is not killed for a new cap"
    );
}

#[test]
fn one_kind_alone_is_no_configuration() {
    let config = json!({"slots": {"map_per_node": 2}});
    let error = heddle_core::Setup::with_config(&config).expect_err("reduces are not said");
    assert_eq!(error.key, "slots");
    assert!(error.problem.contains("reduce_per_node"), "{error}");
}
