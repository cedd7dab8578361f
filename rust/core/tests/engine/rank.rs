//! Tests of which nodes get containers: the least used of those with room, whether jobs ask or
//! nodes report, and no longer than for a bounded time.

use crate::common::{Grant, Host, host_of, plain_ask, row};
use heddle_core::words::event::{AskFacts, Event, NodeFacts};
use heddle_core::words::ids::{JobId, Millis, NodeId, PartitionId, PlaceId};
use heddle_core::words::resource::Resource;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Room is left to less used nodes until an ask has waited for this long.
const LEFT_MS: Millis = 2_000;

/// A host with equal nodes, each on a rack of its own.
fn host(config: Value, nodes: u32, gb: i64) -> Host {
    let mut host = Host::new(config);
    for rack in 0..nodes {
        host.node(rack, 1_024 * gb, gb);
    }
    host
}

/// Offers once to a job, and commits what it gets.
fn offer(host: &mut Host, job: u32) -> Vec<Grant> {
    let grants = host.offer_unanswered(job);
    grants.iter().for_each(|grant| {
        host.commit(*grant);
    });
    grants
}

/// A round of reports, a second later.
fn round(host: &mut Host) {
    host.now += 1_000;
    host.tick();
    host.beat_all();
}

fn by_node(host: &Host) -> Vec<usize> {
    let on = |node: u32| host.containers.iter().filter(|at| at.2 == node).count();
    (0..host.nodes() as u32).map(on).collect()
}

/// A service of eight on four idle nodes loses a quarter with one of them.
#[test]
fn eight_containers_on_four_idle_nodes_are_two_on_each() {
    for policy in ["fair", "fifo", "hfsp", "shufflewatcher"] {
        for offers in [true, false] {
            let mut host = host(json!({ "policy": policy }), 4, 8);
            let queue = host.queue("u", None);
            host.job(0, queue);
            host.ask(0, 0, 8, 1_024);
            if offers {
                offer(&mut host, 0);
            }
            for _ in 0..2 {
                round(&mut host);
            }
            assert_eq!(by_node(&host), [2; 4], "{policy}, offers {offers}");
        }
    }
}

/// For those who scale nodes down: the first node is filled before the next is begun.
#[test]
fn pack_fills_one_node_after_the_other() {
    for offers in [true, false] {
        let mut host = host(json!({"policy": "fair", "nodes": {"rank": "pack"}}), 4, 8);
        let queue = host.queue("u", None);
        host.job(0, queue);
        for count in [3, 4, 3] {
            host.ask(0, 0, count, 1_024);
            if offers {
                offer(&mut host, 0);
            }
            host.beat_all();
        }
        assert_eq!(by_node(&host), [8, 2, 0, 0], "offers {offers}");
    }
}

/// A node of another size counts by the part of it that is used.
#[test]
fn a_large_node_takes_its_part() {
    let mut host = Host::new(json!({"policy": "fair"}));
    host.node(0, 24_576, 24);
    host.node(1, 8_192, 8);
    let queue = host.queue("u", None);
    host.job(0, queue);
    host.ask(0, 0, 8, 1_024);
    round(&mut host);
    assert_eq!(by_node(&host), [6, 2], "a quarter of each");
}

/// Queues that are backlogged get all room at the first report: nothing is left to others.
#[test]
fn a_backlog_fills_each_node_that_reports() {
    let mut host = host(json!({"policy": "fair"}), 4, 8);
    let queue = host.queue("u", None);
    host.job(0, queue);
    host.ask(0, 0, 100, 1_024);
    assert_eq!(host.beat(2).len(), 8);
    assert_eq!(host.beat(0).len(), 8);
}

/// The nodes that are less used do not report: what was left to them is taken after a while.
#[test]
fn room_is_left_for_a_bounded_time() {
    let mut host = host(json!({"policy": "fair"}), 2, 8);
    let queue = host.queue("u", None);
    host.job(0, queue);
    host.ask(0, 0, 8, 1_024);
    assert_eq!(host.beat(0).len(), 4, "half of what is asked for");
    host.now += LEFT_MS - 1;
    assert_eq!(host.beat(0).len(), 0, "the rest is left to the other");
    host.now += 1;
    assert_eq!(host.beat(0).len(), 4);
}

/// A task goes to its data at once, however much of that node is used.
#[test]
fn an_ask_that_names_the_node_is_served() {
    let mut host = host(json!({"policy": "fair"}), 4, 8);
    let queue = host.queue("u", None);
    host.job(0, queue);
    host.ask_on(0, 0, 1_024, &[(1, 1); 6]);
    assert_eq!(host.beat(1).len(), 6);
    host.ask_on(0, 1, 1_024, &[(1, 1)]);
    assert_eq!(host.beat(1).len(), 1, "three quarters of it are used");
}

/// `heartbeat` and `heartbeat_fill` say what a report gives.
#[test]
fn limits_of_reports_are_kept_as_they_are_written() {
    for (limit, expected) in [
        (json!({"heartbeat_fill": 1.0}), 8),
        (json!({"heartbeat": {"containers_max": 3}}), 3),
    ] {
        let mut host = host(limit, 4, 8);
        let queue = host.queue("u", None);
        host.job(0, queue);
        host.ask(0, 0, 8, 1_024);
        assert_eq!(host.beat(0).len(), expected);
    }
}

/// What an offer gave on a node counts for the limit of its next report.
#[test]
fn limits_of_reports_count_both_kinds_of_grants() {
    let mut host = host(json!({"heartbeat": {"containers_max": 3}}), 1, 32);
    let queue = host.queue("u", None);
    host.job(0, queue);
    host.ask(0, 0, 20, 1_024);
    assert_eq!(offer(&mut host, 0).len(), 3);
    assert_eq!(offer(&mut host, 0).len(), 0, "until it reports");
    assert_eq!(host.beat(0).len(), 0, "an interval's three are given");
    assert_eq!(host.beat(0).len(), 3);
}

/// The offers of eight jobs together give three containers between two reports, not three each.
#[test]
fn limits_of_off_switch_containers_count_over_jobs() {
    let mut host = host(json!({"heartbeat": {"off_switch_max": 3}}), 1, 32);
    let queue = host.queue("u", None);
    for job in 0..8 {
        host.job(job, queue);
        host.ask(job, 0, 10, 1_024);
        offer(&mut host, job);
    }
    assert_eq!(host.containers.len(), 3, "an interval's three");
    assert_eq!(host.beat(0).len(), 0, "they are given");
    for reports in 1..=7 {
        assert_eq!(host.beat(0).len(), 3, "report {reports}");
    }
    let had: Vec<usize> = (0..8).map(|job| host.running(job)).collect();
    assert_eq!(had, [3; 8], "24 among eight");
}

/// Every job asks for 500 endless containers within a second. Returns what each queue has after
/// some rounds of reports.
fn endless(queues: Value, nodes: u32, gb: i64, jobs: &[&str]) -> Vec<i64> {
    let config = json!({"policy": "fair", "queues": queues});
    endless_in(host(config, nodes, gb), jobs)
}

fn endless_in(mut host: Host, jobs: &[&str]) -> Vec<i64> {
    let mut ids = Vec::new();
    for (job, path) in jobs.iter().enumerate() {
        let queue = host.queue("u", Some(path));
        ids.push(queue);
        host.now += 100;
        host.job(job as u32, queue);
        host.ask(job as u32, 0, 500, 1_024);
        offer(&mut host, job as u32);
    }
    for _ in 0..5 {
        round(&mut host);
    }
    ids.sort_unstable();
    ids.dedup();
    let used = |queue| {
        let jobs = host.engine.cluster().jobs();
        let jobs = jobs.filter(|job| job.facts.queue == queue);
        jobs.map(|job| job.used.memory_mb() / 1_024).sum()
    };
    ids.into_iter().map(used).collect()
}

/// As without immediate grants: a third of 64 GB each, and half of 32.
#[test]
fn jobs_that_ask_within_a_second_share() {
    let queues = json!([{"path": "root.a"}, {"path": "root.b"}, {"path": "root.c"}]);
    let jobs = ["root.a", "root.a", "root.b", "root.b", "root.c"];
    let mut shares = endless(queues, 4, 16, &jobs);
    shares.sort_unstable();
    assert_eq!(shares, [21, 21, 22]);
    let queues = json!([{"path": "root.a"}, {"path": "root.b"}]);
    assert_eq!(endless(queues, 4, 8, &["root.a", "root.b"]), [16, 16]);
}

/// As YARN's Capacity Scheduler shares, by guarantees: half of 32 GB and of 32 vcores each.
#[test]
fn capacities_hold_for_jobs_that_ask_within_a_second() {
    for share in ["fair", "capacity"] {
        let config = json!({
            "policy": {"share": share, "order": "by-queue", "place": "delay"},
            "share": {"dominant": true},
            "queues": [
                {"path": "root", "compare": "capacity"},
                {"path": "root.a", "min_share": "50%"}, {"path": "root.b", "min_share": "50%"},
            ],
        });
        let host = host(config, 4, 8);
        assert_eq!(endless_in(host, &["root.a", "root.b"]), [16, 16], "{share}");
    }
}

/// Every job of a queue asks for an ApplicationMaster of 1 GB, on 64 GB.
fn masters(host: &mut Host, jobs: std::ops::Range<u32>, queue: &str) {
    let queue = host.queue("u", Some(queue));
    for job in jobs {
        host.now += 10;
        host.job(job, queue);
        host.ask_facts(AskFacts {
            am: true,
            priority: 0,
            ..plain_ask(job, 0, 1, 1_024)
        });
        offer(host, job);
    }
}

/// Of a queue's third of 64 GB half is for ApplicationMasters: 10. Of two queues that share a third
/// each starts 5 at once. Others go on until they have as much as that one, which is then next.
/// Reports serve all as far as the limits of the moment go.
#[test]
fn masters_that_come_within_a_second_share() {
    for (first, at_once) in [("root.a", 10), ("root.d.e", 5)] {
        let paths = [first, "root.b", "root.c"];
        let mut queues = paths.map(|path| json!({ "path": path })).to_vec();
        if first == "root.d.e" {
            queues.push(json!({"path": "root.d.f"}));
        }
        let mut host = host(json!({"policy": "fair", "queues": queues}), 4, 16);
        for (at, path) in (0..).zip(paths) {
            masters(&mut host, 20 * at..20 * at + 20, path);
        }
        let started = |host: &Host| {
            let of = |jobs: std::ops::Range<u32>| jobs.map(|job| host.running(job)).sum::<usize>();
            [0, 20, 40].map(|from| of(from..from + 20))
        };
        assert_eq!(started(&host), [at_once; 3], "{first}");
        (0..3).for_each(|_| round(&mut host));
        assert_eq!(started(&host), [10; 3], "{first}");
    }
}

/// What an offer may not start a report does: all twenty of a queue that is alone.
#[test]
fn reports_start_the_masters_that_offers_leave() {
    let queues = json!([{"path": "root.a"}, {"path": "root.b"}, {"path": "root.c"}]);
    let mut host = host(json!({"policy": "fair", "queues": queues}), 4, 16);
    masters(&mut host, 0..20, "root.a");
    let started = |host: &Host| (0..20).filter(|job| host.running(*job) == 1).count();
    assert_eq!(started(&host), 10);
    (0..3).for_each(|_| round(&mut host));
    assert_eq!(started(&host), 20);
    host.now += 1_000;
    masters(&mut host, 20..21, "root.b");
    assert_eq!(host.running(20), 1, "the first of a queue");
}

/// The queue that asks last has a minimum of 25 of 64 GB; seven others share the rest.
#[test]
fn a_minimum_is_kept_for_the_queue_that_asks_last() {
    let mut queues: Vec<Value> = (0..7)
        .map(|i| json!({"path": format!("root.q{i}")}))
        .collect();
    queues.push(json!({"path": "root.q7", "min_share": {"memory-mb": 25_600}}));
    let jobs = [
        "root.q0", "root.q1", "root.q2", "root.q3", "root.q4", "root.q5", "root.q6", "root.q7",
    ];
    let shares = endless(json!(queues), 8, 8, &jobs);
    assert_eq!(shares.iter().sum::<i64>(), 64);
    assert_eq!(shares[7], 25, "{shares:?}");
    assert!(
        shares[..7].iter().all(|share| (5..=6).contains(share)),
        "39 in seven: {shares:?}"
    );
}

/// Users without configured queues: the first that asks leaves room for those who come in the same
/// second.
#[test]
fn a_lone_job_does_not_take_everything_at_once() {
    let mut host = host(json!({"policy": "fair"}), 4, 16);
    let queue = host.queue("u", None);
    host.job(0, queue);
    host.ask(0, 0, 500, 1_024);
    assert_eq!(offer(&mut host, 0).len(), 16, "a quarter of its share");
    assert_eq!(by_node(&host), [4; 4]);
    host.now += 1_000;
    offer(&mut host, 0);
    assert_eq!(host.running(0), 64, "a second later all that it may have");
}

/// As after a restart: it has asked long ago.
#[test]
fn a_job_that_has_tasks_is_not_young() {
    let mut host = host(json!({"policy": "fair"}), 1, 4);
    let queue = host.queue("u", None);
    host.job(0, queue);
    (0..2).for_each(|_| {
        host.recovered(0, 0, 1_024, false);
    });
    host.step(&[Event::Room {
        node: NodeId(0),
        free: Resource::new(2_048, 2),
    }]);
    host.ask(0, 0, 5, 1_024);
    assert_eq!(offer(&mut host, 0).len(), 2, "the rest of the node");
}

/// The jobs of a leaf have equal parts of what it may have at once.
#[test]
fn a_job_gets_its_part_of_the_leaf_at_once() {
    let mut host = host(json!({"policy": "fair"}), 4, 16);
    let queue = host.queue("u", None);
    for job in 0..4 {
        host.job(job, queue);
        host.ask(job, 0, 1, 1_024);
        offer(&mut host, job);
    }
    host.now += 5_000;
    host.ask(3, 0, 500, 1_024);
    offer(&mut host, 3);
    assert_eq!(host.running(3), 16, "a quarter of 64");
}

fn facts(node: u32, schedulable: bool) -> NodeFacts {
    let capacity = Resource::new(8_192, 8);
    NodeFacts {
        node: NodeId(node),
        host: host_of(node),
        rack: PlaceId(1_000 + node),
        partition: PartitionId::DEFAULT,
        lends: false,
        schedulable,
        capacity,
        free: capacity,
    }
}

/// Neither by the rank nor by the name of its host.
#[test]
fn a_node_that_is_drained_or_silent_is_not_offered() {
    for event in [
        Event::NodeChanged(facts(0, false)),
        Event::NodeSilent(NodeId(0)),
    ] {
        let mut host = host(json!({"policy": "fair"}), 3, 8);
        let queue = host.queue("u", None);
        host.job(0, queue);
        host.step(&[
            event,
            Event::Ask(plain_ask(0, 0, 4, 1_024)),
            row(0, 0, host_of(0), 1),
        ]);
        host.ask(0, 1, 4, 1_024);
        let granted = host.offer_unanswered(0);
        assert!(!granted.is_empty(), "{event:?}");
        let others = granted.iter().all(|grant| grant.node != 0);
        assert!(others, "{event:?}: {granted:?}");
    }
}

/// It may get containers again with its next report, or as its room is told.
#[test]
fn a_silent_node_that_reports_is_offered_again() {
    let free = Resource::new(8_192, 8);
    for back in [
        Event::Heartbeat {
            node: NodeId(0),
            free,
        },
        Event::Room {
            node: NodeId(0),
            free,
        },
    ] {
        let mut host = host(json!({"policy": "fair"}), 1, 8);
        let queue = host.queue("u", None);
        host.job(0, queue);
        host.step(&[Event::NodeSilent(NodeId(0))]);
        host.ask(0, 0, 1, 1_024);
        assert_eq!(host.offer_unanswered(0).len(), 0);
        let silent = host.engine.ignored();
        host.step(&[Event::NodeSilent(NodeId(7))]);
        assert_eq!(host.engine.ignored(), silent + 1, "no such node");
        let mut granted = host.step(&[back, Event::Offer(JobId(0))]);
        granted.retain(|decision| matches!(decision, heddle_core::Decision::Grant { .. }));
        assert_eq!(granted.len(), 1, "{back:?}");
    }
}

const NODES: u32 = 5;
const JOBS: u32 = 3;

/// A job asks for so many containers, and is offered them or not.
fn ask() -> impl Strategy<Value = (u32, u32, bool)> {
    (0..JOBS, 1..12u32, any::<bool>())
}

/// Asks at one time, and the node that reports first after them.
fn wave() -> impl Strategy<Value = (Vec<(u32, u32, bool)>, u32)> {
    (proptest::collection::vec(ask(), 1..4), 0..NODES)
}

/// A round of reports, of which there are two before an ask has waited for too long.
fn report(host: &mut Host, from: u32) {
    host.now += 900;
    host.tick();
    for i in 0..NODES {
        host.beat((from + i) % NODES);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Equal containers on equal nodes with room for 16 each: none has two more than another, and
    /// what fits is granted within two rounds of reports, or once it has waited for too long.
    #[test]
    fn equal_nodes_are_used_alike(
        policy in prop_oneof![Just("fair"), Just("fifo"), Just("hfsp"), Just("by-queue")],
        waves in proptest::collection::vec(wave(), 1..8),
    ) {
        let mut host = host(json!({ "policy": policy }), NODES, 16);
        let queue = host.queue("u", None);
        (0..JOBS).for_each(|job| host.job(job, queue));
        for (asks, from) in waves {
            for (job, count, offered) in asks {
                host.ask(job, 0, count, 1_024);
                if offered {
                    offer(&mut host, job);
                }
            }
            (0..4).for_each(|_| report(&mut host, from));
            let on = by_node(&host);
            let (most, least) = (on.iter().max().expect("nodes"), on.iter().min().expect("nodes"));
            prop_assert!(most - least <= 1, "{on:?}");
            let waits = host.engine.cluster().jobs().any(|job| job.pending().next().is_some());
            let held = policy == "hfsp";
            prop_assert!(!waits || held || on.iter().sum::<usize>() == 80, "{on:?}, and asks wait");
        }
    }
}
