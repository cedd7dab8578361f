//! The engine's behaviour, one small cluster per statement. Expected values follow by hand from the
//! statement in each test's name.

use crate::common::{Grant, Host, host_of, plain_ask, rack_place, row};
use heddle_core::Resource;
use heddle_core::words::event::{AskFacts, Event, JobHints, NodeFacts, Refusal};
use heddle_core::words::ids::Locality::{NodeLocal, OffSwitch, RackLocal};
use heddle_core::words::ids::*;
use serde_json::{Value, json};

/// Fills nodes completely, so that one heartbeat grants everything that fits.
fn full() -> Value {
    json!({"heartbeat_fill": 1.0})
}

fn jobs(grants: &[Grant]) -> Vec<u32> {
    grants.iter().map(|grant| grant.job).collect()
}

fn localities(grants: &[Grant]) -> Vec<Locality> {
    grants.iter().map(|grant| grant.locality).collect()
}

#[test]
fn a_node_gets_what_fits_and_no_more() {
    let mut host = Host::new(full());
    let node = host.node(0, 4096, 3);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask(1, 0, 10, 1024);
    assert_eq!(host.beat(node).len(), 3, "vcores run out first");
    assert_eq!(host.beat(node).len(), 0);
    let (job, key, ..) = host.containers[0];
    host.complete(job, key);
    assert_eq!(host.beat(node).len(), 1);
}

#[test]
fn one_heartbeat_fills_what_fits_or_the_part_of_the_room_that_is_configured() {
    let grants = |config: Value| {
        let mut host = Host::new(config);
        let node = host.node(0, 8192, 8);
        let queue = host.queue("alice", None);
        host.job(1, queue);
        host.ask(1, 0, 100, 1024);
        let grants: Vec<usize> = (0..5).map(|_| host.beat(node).len()).collect();
        grants
    };
    assert_eq!(grants(json!({})), [8, 0, 0, 0, 0]);
    assert_eq!(grants(json!({"heartbeat_fill": 0.5})), [4, 2, 1, 1, 0]);
    let limited = |limits: Value| grants(json!({"heartbeat": limits}));
    assert_eq!(limited(json!({"containers_max": 1})), [1, 1, 1, 1, 1]);
    assert_eq!(limited(json!({"containers_max": 3})), [3, 3, 2, 0, 0]);
    // YARN's Fair Scheduler goes on while what it assigned fits in half: 4 of 8 does.
    assert_eq!(limited(json!({"node_part_max": 0.5})), [5, 2, 1, 0, 0]);
    // An ask that names no host runs off-switch everywhere.
    assert_eq!(limited(json!({"off_switch_max": 2})), [2, 2, 2, 2, 0]);
}

#[test]
fn containers_near_their_data_do_not_count_as_off_switch() {
    let mut host = Host::new(json!({
        "policy": {"share": "single", "order": "fifo", "place": "local-first"},
        "heartbeat": {"off_switch_max": 1},
    }));
    let (node, other) = (host.node(0, 8192, 8), host.node(1, 8192, 8));
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_on(1, 0, 1024, &[(node, 0), (node, 0), (node, 0), (other, 1)]);
    host.job(2, queue);
    host.ask(2, 0, 2, 1024);
    let grants = host.beat(node).len();
    assert_eq!(grants, 4, "three on the host, then one that is off-switch");
}

#[test]
fn queues_share_by_weight_and_jobs_of_one_queue_alike() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.a", "weight": 3.0}, {"path": "root.b"}]
    }));
    let node = host.node(0, 8192, 8);
    let (a, b) = (
        host.queue("u", Some("root.a")),
        host.queue("u", Some("root.b")),
    );
    host.job(1, a);
    host.job(2, a);
    host.job(3, b);
    for job in 1..=3 {
        host.ask(job, 0, 100, 1024);
    }
    let served = jobs(&host.beat(node));
    assert_eq!(served.iter().filter(|job| **job == 3).count(), 2);
    // Three quarters of the eight go to two jobs, in turn.
    assert_eq!(served.iter().filter(|job| **job == 1).count(), 3);
    assert_eq!(served.iter().filter(|job| **job == 2).count(), 3);
}

#[test]
fn under_fifo_application_priority_goes_before_age() {
    let mut config = full();
    config["policy"] = json!({"order": "fifo"});
    let mut host = Host::new(config);
    let node = host.node(0, 1024, 1);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.prioritised_job(2, queue, 5);
    host.ask(1, 0, 1, 1024);
    host.ask(2, 0, 1, 1024);
    assert_eq!(jobs(&host.beat(node)), [2]);
    host.complete_all(2);
    host.ask(2, 0, 1, 1024);
    host.step(&[Event::JobPriority {
        job: JobId(1),
        priority: 9,
    }]);
    assert_eq!(jobs(&host.beat(node)), [1]);
}

#[test]
fn local_first_takes_what_is_near_and_never_waits() {
    let mut host = Host::new(json!({"policy": "fifo", "heartbeat_fill": 1.0}));
    let (near, same_rack, far) = (
        host.node(0, 1024, 1),
        host.node(0, 1024, 1),
        host.node(1, 1024, 1),
    );
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_on(1, 0, 1024, &[(near, 0), (near, 0), (near, 0)]);
    assert_eq!(localities(&host.beat(far)), [OffSwitch]);
    assert_eq!(localities(&host.beat(same_rack)), [RackLocal]);
    assert_eq!(localities(&host.beat(near)), [NodeLocal]);
}

#[test]
fn delay_waits_from_the_first_time_it_is_passed_over_first_for_the_node_then_for_the_rack() {
    let mut host = Host::new(full());
    let (near, same_rack, far) = (
        host.node(0, 1024, 1),
        host.node(0, 1024, 1),
        host.node(1, 1024, 1),
    );
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.profile(1, 60_000);
    host.ask_on(1, 0, 1024, &[(near, 0); 5]);
    // No node offers anything for a minute, which costs no locality.
    host.now = 60_000;
    assert_eq!(host.beat(far), []);
    host.now += 2_900;
    assert_eq!(host.beat(same_rack), []);
    host.now += 100;
    assert_eq!(localities(&host.beat(same_rack)), [RackLocal]);
    assert_eq!(host.beat(far), [], "the rack has its own wait");
    host.now += 2_900;
    assert_eq!(host.beat(far), []);
    host.now += 100;
    assert_eq!(localities(&host.beat(far)), [OffSwitch]);
    // A local launch makes the job insist again, for its tasks are long.
    assert_eq!(localities(&host.beat(near)), [NodeLocal]);
    let idle = host.node(1, 1024, 1);
    assert_eq!(host.beat(idle), []);
}

#[test]
fn a_job_that_insists_lets_others_pass_and_its_clock_runs_while_they_do() {
    let mut host = Host::new(full());
    let (near, far) = (host.node(0, 1024, 1), host.node(1, 1024, 1));
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.job(2, queue);
    host.profile(1, 60_000);
    host.ask_on(1, 0, 1024, &[(near, 0)]);
    host.ask(2, 0, 100, 1024);
    // Job 2 always fills the far node, so no room is left over.
    for _ in 0..4 {
        assert_eq!(
            jobs(&host.beat(far)),
            [2],
            "job 1 comes first but waits for its node"
        );
        host.complete_all(2);
        host.now += 1_999;
    }
    assert_eq!(
        host.now, 7_996,
        "3 s for the node and 3 s for the rack have passed"
    );
    assert_eq!(jobs(&host.beat(far)), [1]);
}

#[test]
fn strict_asks_run_where_they_say_or_not_at_all() {
    let mut host = Host::new(full());
    let (wanted, other) = (host.node(0, 4096, 4), host.node(0, 4096, 4));
    let queue = host.queue("alice", None);
    host.job(1, queue);
    let strict = AskFacts {
        relax: false,
        ..plain_ask(1, 0, 1, 1024)
    };
    host.ask_facts(strict);
    let rack = |relax| Event::AskRow {
        job: JobId(1),
        ask: AskId(0),
        place: rack_place(0),
        count: 1,
        relax,
    };
    host.step(&[row(1, 0, host_of(wanted), 1), rack(false)]);
    for _ in 0..10 {
        assert_eq!(host.beat(other), []);
        host.now += 10_000;
    }
    assert_eq!(localities(&host.beat(wanted)), [NodeLocal]);
    // A strict rack: any host of it will do, but none of another.
    let elsewhere = host.node(1, 4096, 4);
    host.ask_facts(AskFacts {
        ask: AskId(1),
        ..strict
    });
    host.step(&[Event::AskRow {
        job: JobId(1),
        ask: AskId(1),
        place: rack_place(0),
        count: 1,
        relax: true,
    }]);
    host.now += 60_000;
    assert_eq!(host.beat(elsewhere), []);
    assert_eq!(localities(&host.beat(other)), [RackLocal]);
}

#[test]
fn labels_and_blacklists_keep_asks_off_nodes() {
    let mut host = Host::new(full());
    let (plain, labelled) = (host.node(0, 4096, 4), host.labelled_node(0, 4096, 4, 7));
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_facts(AskFacts {
        partition: PartitionId(7),
        ..plain_ask(1, 0, 1, 1024)
    });
    assert_eq!(host.beat(plain), []);
    assert_eq!(host.beat(labelled).len(), 1);
    host.ask(1, 1, 2, 1024);
    assert_eq!(host.beat(labelled), []);
    let black = |added| Event::Blacklist {
        job: JobId(1),
        place: host_of(plain),
        added,
    };
    host.step(&[black(true)]);
    assert_eq!(host.beat(plain), []);
    host.step(&[black(false)]);
    assert_eq!(host.beat(plain).len(), 2);
}

#[test]
fn headroom_is_without_the_nodes_that_a_job_excludes() {
    let mut host = Host::new(full());
    for rack in [0, 0, 1, 1] {
        host.node(rack, 4096, 4);
    }
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask(1, 0, 100, 1024);
    let mut told = |place, added| {
        let job = JobId(1);
        host.step(&[Event::Blacklist { job, place, added }]);
        host.tick();
        host.headrooms[&1].memory_mb() / 4096
    };
    assert_eq!(told(host_of(0), true), 3);
    assert_eq!(
        told(rack_place(0), true),
        2,
        "its first node is left out once"
    );
    assert_eq!(told(host_of(0), false), 2);
    assert_eq!(told(host_of(2), true), 1);
    assert_eq!(told(rack_place(0), false), 3);
}

#[test]
fn a_refused_grant_gives_everything_back_and_leaves_the_node_out_for_a_moment() {
    let mut host = Host::new(full());
    let (first, second) = (host.node(0, 1024, 1), host.node(0, 1024, 1));
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_on(1, 0, 1024, &[(first, 0)]);
    let grant = host.beat_unanswered(first)[0];
    assert_eq!(host.engine.grants_in_flight(), 1);
    host.refuse(grant, Refusal::NoFit);
    assert_eq!(host.engine.grants_in_flight(), 0);
    assert_eq!(host.beat(first), [], "the same is not proposed at once");
    host.now += 1_000;
    assert_eq!(
        localities(&host.beat(first)),
        [NodeLocal],
        "the row came back as well"
    );
    assert_eq!(host.beat(second), []);
}

/// The asks of a new attempt have the numbers that those of the old one had.
#[test]
fn a_refusal_after_a_new_attempt_began_changes_none_of_its_asks() {
    let mut host = Host::new(full());
    let node = host.node(0, 4096, 4);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_on(1, 0, 1024, &[(node, 0)]);
    let grant = host.beat_unanswered(node)[0];
    host.step(&[Event::JobReset(JobId(1))]);
    host.ask_on(1, 0, 1024, &[(node, 0), (node, 0)]);
    host.refuse(grant, Refusal::StaleJob);
    assert_eq!(host.engine.grants_in_flight(), 0);
    assert_eq!(host.engine.cluster().used, Resource::ZERO);
    let job = host.engine.cluster().job(JobId(1));
    let ask = job.and_then(|job| job.ask(AskId(0))).expect("it asked");
    let rows: Vec<u32> = ask.rows.values().map(|row| row.count).collect();
    assert_eq!((ask.facts.count, rows), (2, vec![2, 2]));
    // Nor does the new attempt skip the node.
    assert_eq!(localities(&host.beat(node)), [NodeLocal, NodeLocal]);
}

#[test]
fn a_moved_job_takes_its_usage_along() {
    let mut host = Host::new(full());
    let node = host.node(0, 4096, 4);
    let (a, b) = (host.queue("a", None), host.queue("b", None));
    host.job(1, a);
    host.ask(1, 0, 2, 1024);
    assert_eq!(host.beat(node).len(), 2);
    host.step(&[Event::JobMoved {
        job: JobId(1),
        queue: b,
    }]);
    let report = host.request(json!({"op": "queues"}));
    let used = |path: &str| {
        let queues = report["queues"].as_array().expect("a list");
        let queue = queues
            .iter()
            .find(|queue| queue["path"] == path)
            .expect("it is there");
        queue["used"]["memory-mb"].clone()
    };
    assert_eq!(
        (used("root.a"), used("root.b"), used("root")),
        (json!(0), json!(2048), json!(2048))
    );
}

#[test]
fn a_lost_node_a_removed_job_and_a_reset_leave_nothing_behind() {
    let mut host = Host::new(full());
    let node = host.node(0, 4096, 4);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_on(1, 0, 1024, &[(node, 0), (node, 0)]);
    let grants = host.beat_unanswered(node);
    assert_eq!(grants.len(), 2);
    host.step(&[Event::JobReset(JobId(1)), Event::JobRemoved(JobId(1))]);
    assert_eq!(host.engine.cluster().used, Resource::ZERO);
    assert!(host.engine.is_idle());
    host.step(&[Event::NodeRemoved(NodeId(node))]);
    assert_eq!(host.engine.cluster().capacity, Resource::ZERO);
}

#[test]
fn events_that_name_nothing_known_are_counted_and_change_nothing() {
    let mut host = Host::new(full());
    let node = host.node(0, 4096, 4);
    let before = host.request(json!({"op": "audit"}));
    let nonsense = [
        Event::NodeRemoved(NodeId(9)),
        Event::Heartbeat {
            node: NodeId(9),
            free: Resource::ZERO,
        },
        Event::JobRemoved(JobId(9)),
        Event::JobMoved {
            job: JobId(9),
            queue: QueueId(0),
        },
        Event::JobPriority {
            job: JobId(9),
            priority: 1,
        },
        Event::JobReset(JobId(9)),
        Event::Blacklist {
            job: JobId(9),
            place: PlaceId(1),
            added: true,
        },
        Event::Ask(plain_ask(9, 0, 1, 1024)),
        row(9, 0, PlaceId(1), 1),
        Event::ContainerCompleted {
            job: JobId(9),
            key: 1,
            exit: 0,
        },
        Event::ContainerResized {
            job: JobId(9),
            key: 1,
            resource: Resource::ZERO,
        },
        Event::Ack {
            job: JobId(9),
            seq: 1,
            key: 1,
        },
        Event::Nack {
            job: JobId(9),
            seq: 1,
            refusal: Refusal::Other,
        },
        Event::Fault(1),
        Event::NodeAdded(NodeFacts {
            node: NodeId(u32::MAX),
            host: PlaceId(1),
            rack: PlaceId(2),
            partition: PartitionId(0),
            lends: false,
            schedulable: true,
            capacity: Resource::ZERO,
            free: Resource::ZERO,
        }),
    ];
    assert_eq!(host.step(&nonsense), []);
    assert_eq!(host.engine.ignored(), nonsense.len() as u64);
    assert_eq!(host.request(json!({"op": "audit"})), before);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask(1, 0, 1, 1024);
    assert_eq!(host.beat(node).len(), 1, "and the engine goes on");
}

#[test]
#[should_panic(expected = "fault 7 was asked for by a test")]
fn a_fault_panics_only_where_the_configuration_allows_it() {
    Host::new(json!({"testing": {"faults": true}})).step(&[Event::Fault(7)]);
}

#[test]
fn a_reload_changes_weights_at_once_and_a_bad_one_changes_nothing() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.a"}, {"path": "root.b"}]
    }));
    let node = host.node(0, 4096, 4);
    for (job, name) in [(1, "root.a"), (2, "root.b")] {
        let queue = host.queue("u", Some(name));
        host.job(job, queue);
        host.ask(job, 0, 100, 1024);
    }
    let bad = json!({"op": "reload", "config": {"queues": [{"path": "root.a", "weight": -3}]}});
    let error = host
        .engine
        .request(0, &bad)
        .expect_err("a negative weight")
        .to_string();
    assert!(error.contains("queues[0].weight"), "{error}");
    let good = json!({"heartbeat_fill": 1.0,
                      "queues": [{"path": "root.a", "weight": 3.0}, {"path": "root.b"}]});
    host.request(json!({"op": "reload", "config": good}));
    assert_eq!(host.beat(node).len(), 4);
    assert_eq!((host.running(1), host.running(2)), (3, 1));
}

#[test]
fn jobs_and_nodes_can_be_asked_for_and_say_what_is_known_of_them() {
    let mut host = Host::new(full());
    let node = host.node(0, 4096, 4);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask(1, 0, 3, 1024);
    assert_eq!(host.beat(node).len(), 3);
    let hints = JobHints {
        tasks: [Some(3), None],
        deadline_ms: Some(-5),
        input_bytes: Some(u64::MAX),
        ..JobHints::default()
    };
    let job = JobId(1);
    host.step(&[Event::JobHints { job, hints }]);
    let reply = host.request(json!({"op": "job", "job": 1}));
    assert_eq!(reply["queue"], "root.alice");
    assert_eq!(reply["used"]["memory-mb"], 3 * 1024);
    assert_eq!(reply["hints"]["maps"], 3);
    assert_eq!(reply["hints"]["reduces"], json!(null));
    // Bounded on entry: no time before 0, and no number beyond an exact float.
    assert_eq!(reply["hints"]["deadline_ms"], 0);
    assert_eq!(reply["hints"]["input_bytes"], 1_u64 << 53);
    let unmeasured = host.request(json!({"op": "node", "node": 0}));
    assert_eq!(unmeasured["foreign_per_mille"], json!(null));
    let foreign_per_mille = 1_200;
    let node = NodeId(node);
    host.step(&[Event::NodeLoad {
        node,
        foreign_per_mille,
    }]);
    let reply = host.request(json!({"op": "node", "node": 0}));
    assert_eq!(
        (&reply["foreign_per_mille"], &reply["containers"]),
        (&json!(1000), &json!(3))
    );
}

#[test]
fn requests_that_make_no_sense_are_refused_in_words() {
    let mut host = Host::new(json!({}));
    for (request, words) in [
        (json!({"op": "queus"}), "did you mean `queues`"),
        (json!({}), "expected one of"),
        (json!([]), "expected an object"),
        (json!({"op": "place"}), "key `user`"),
        (json!({"op": "job"}), "key `job`: expected the job's number"),
        (json!({"op": "job", "job": 7}), "no job has number 7"),
        (json!({"op": "node", "node": -1}), "key `node`"),
        (json!({"op": "node", "node": 7}), "no node has number 7"),
    ] {
        let error = host
            .engine
            .request(0, &request)
            .expect_err("nonsense")
            .to_string();
        assert!(error.contains(words), "{request}: {error}");
    }
}
