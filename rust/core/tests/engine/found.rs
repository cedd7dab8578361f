//! Faults that the simulator found, each as the shortest history that shows it. The statement in a
//! test's name must hold; the test failed before its fix.

use crate::common::{Grant, Host, host_of, plain_ask, rack_place, row};
use heddle_core::words::event::{AskFacts, Event, JobFacts, NodeFacts, Refusal};
use heddle_core::words::ids::{AskId, JobId, Millis, NodeId, PartitionId, PlaceId, UserId};
use heddle_core::words::resource::Resource;
use serde_json::{Value, json};

fn local_first() -> Value {
    json!({"policy": {"place": "local-first"}, "heartbeat_fill": 1.0})
}

fn holding() -> Value {
    json!({
        "policy": {"place": "local-first"}, "heartbeat_fill": 1.0,
        "reservation": {"after_ms": 0, "hold_ms": 10_000},
    })
}

fn nodes(grants: &[Grant]) -> Vec<u32> {
    grants.iter().map(|grant| grant.node).collect()
}

/// Builds a cluster of one node of 4 GB, of which 3 are taken, held for an ask of 2 GB.
fn host_with_a_held_node() -> Host {
    let mut host = Host::new(holding());
    let node = host.node(0, 4096, 8);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.recovered(1, node, 3072, false);
    host.job(2, queue);
    host.ask(2, 0, 1, 2048);
    host.tick();
    assert_eq!(host.engine.held_nodes().count(), 1);
    host
}

#[test]
fn a_refusal_restores_the_rows_that_were_counted_and_no_others() {
    let mut host = Host::new(local_first());
    let (named, other) = (host.node(0, 4096, 4), host.node(0, 4096, 4));
    let queue = host.queue("u", None);
    host.job(1, queue);
    let strict = AskFacts {
        relax: false,
        ..plain_ask(1, 0, 1, 1024)
    };
    host.ask_facts(strict);
    host.step(&[row(1, 0, host_of(named), 1)]);
    let grant = host.beat_unanswered(named)[0];
    host.refuse(grant, Refusal::Other);
    let ask = host
        .engine
        .cluster()
        .job(JobId(1))
        .and_then(|job| job.ask(AskId(0)));
    let rows = &ask.expect("it was asked for").rows;
    assert_eq!(rows.len(), 1, "the rack was never named: {rows:?}");
    assert!(host.beat(other).is_empty(), "the ask insists on one host");
}

#[test]
fn a_refusal_restores_whether_a_rack_row_relaxes() {
    let mut host = Host::new(local_first());
    let (named, other) = (host.node(0, 4096, 4), host.node(0, 4096, 4));
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask_facts(AskFacts {
        relax: false,
        ..plain_ask(1, 0, 1, 1024)
    });
    host.step(&[row(1, 0, host_of(named), 1), strict_rack(1, 0, 1)]);
    let grant = host.beat_unanswered(named)[0];
    host.refuse(grant, Refusal::Other);
    assert!(host.beat(other).is_empty(), "the rack's row does not relax");
}

fn strict_rack(job: u32, ask: u32, count: u32) -> Event {
    Event::AskRow {
        job: JobId(job),
        ask: AskId(ask),
        place: rack_place(0),
        count,
        relax: false,
    }
}

/// `ResourceRequest.setRelaxLocality`, off at a rack: only the named nodes of that rack run
/// anything, even if other racks may be used.
#[test]
fn a_rack_that_is_named_without_relaxing_is_kept_off_but_for_named_hosts() {
    let mut host = Host::new(local_first());
    let (named, vetoed) = (host.node(0, 4096, 4), host.node(0, 4096, 4));
    let elsewhere = host.node(1, 4096, 4);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask_facts(plain_ask(1, 0, 3, 1024));
    host.step(&[row(1, 0, host_of(named), 1), strict_rack(1, 0, 1)]);
    assert!(host.beat_unanswered(vetoed).is_empty());
    assert_eq!(nodes(&host.beat_unanswered(elsewhere)), [elsewhere; 3]);
    host.ask_facts(plain_ask(1, 0, 3, 1024));
    // One container uses up the host's row and with it the rack's, which is then like any other.
    assert_eq!(nodes(&host.beat_unanswered(named)), [named; 3]);
}

#[test]
fn a_held_node_that_changed_its_label_is_not_given_to_what_it_was_held_for() {
    let mut host = host_with_a_held_node();
    let key = host.containers[0].1;
    host.complete(1, key);
    host.step(&[Event::NodeChanged(NodeFacts {
        node: NodeId(0),
        host: host_of(0),
        rack: rack_place(0),
        partition: PartitionId(1),
        lends: false,
        schedulable: true,
        capacity: Resource::new(4096, 8),
        free: Resource::new(4096, 8),
    })]);
    // Something must fit there; otherwise the held ask is not examined.
    host.job(3, heddle_core::words::ids::QueueId(0));
    host.ask_facts(AskFacts {
        partition: PartitionId(1),
        ..plain_ask(3, 0, 1, 1024)
    });
    let served: Vec<u32> = host.beat(0).iter().map(|grant| grant.job).collect();
    assert_eq!(served, [3]);
}

#[test]
fn a_held_node_is_not_given_to_an_ask_that_insists_on_other_places_by_now() {
    let mut host = host_with_a_held_node();
    let key = host.containers[0].1;
    host.complete(1, key);
    let facts = AskFacts {
        relax: false,
        resource: Resource::new(2048, 1),
        ..plain_ask(2, 0, 1, 2048)
    };
    host.ask_facts(facts);
    assert!(host.beat(0).is_empty());
}

/// An ask can never be served if it waits for the room of its own job's master. It would otherwise
/// keep a node from all jobs for ever.
#[test]
fn a_node_that_was_held_in_vain_is_free_for_all_before_it_is_held_again() {
    let mut host = host_with_a_held_node();
    host.job(3, heddle_core::words::ids::QueueId(0));
    host.ask(3, 0, 1, 1024);
    let mut served = Vec::new();
    while served.is_empty() && host.now < 30_000 {
        host.now += 500;
        host.tick();
        if host.now % 1_000 == 0 {
            served = host.beat(0);
        }
    }
    assert_eq!(served.iter().map(|g| g.job).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_node_may_leave_with_a_grant_unanswered() {
    let mut host = Host::new(local_first());
    let node = host.node(0, 4096, 4);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask(1, 0, 2, 1024);
    let grants = host.beat_unanswered(node);
    assert_eq!(grants.len(), 2);
    host.step(&[Event::NodeRemoved(NodeId(node))]);
    for grant in grants {
        host.refuse(grant, Refusal::StaleNode);
    }
    let job = host.engine.cluster().job(JobId(1)).expect("it runs");
    let pending: Vec<u32> = job.pending().map(|ask| ask.facts.count).collect();
    assert_eq!(pending, [2], "what was refused is pending again");
}

/// A rack's row may count less than its hosts' together, because ApplicationMasters create rack
/// rows on their own.
#[test]
fn a_row_that_a_refused_grant_had_used_up_goes_to_the_next_grant() {
    let mut host = Host::new(local_first());
    let node = host.node(0, 4096, 4);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask(1, 0, 3, 2048);
    host.step(&[row(1, 0, host_of(node), 3), row(1, 0, rack_place(0), 1)]);
    let grants = host.beat_unanswered(node);
    assert_eq!(grants.len(), 2);
    host.refuse(grants[0], Refusal::Other);
    host.commit(grants[1]);
    let job = host.engine.cluster().job(JobId(1)).expect("it runs");
    let rows = &job.ask(AskId(0)).expect("it was asked for").rows;
    assert_eq!(rows[&host_of(node)].count, 2);
    assert!(
        !rows.contains_key(&rack_place(0)),
        "one container runs on it"
    );
}

#[test]
fn a_refused_ask_insists_on_its_places_again() {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0}));
    let (named, other) = (host.node(0, 1024, 1), host.node(1, 4096, 4));
    let queue = host.queue("u", None);
    host.job(1, queue);
    // Two containers, one of which has its data on a host: that one is granted and refused.
    host.ask(1, 0, 2, 1024);
    host.step(&[row(1, 0, host_of(named), 1), row(1, 0, rack_place(0), 1)]);
    let grant = host.beat_unanswered(named)[0];
    host.refuse(grant, Refusal::Other);
    assert!(host.beat(other).is_empty(), "it waits for its host first");
}

/// The number of remembered times of being passed over is bounded. They must reach back as far as
/// the longest wait, however often nodes report and however short the other wait is.
#[test]
fn all_who_wait_for_a_rack_wait_at_once_and_not_one_after_the_other() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0, "delay": {"node_wait_ms": 0, "rack_wait_ms": 3_000},
    }));
    let (full, other) = (host.node(0, 0, 0), host.node(1, 65_536, 64));
    let queue = host.queue("u", None);
    for job in 1..=5 {
        host.job(job, queue);
        host.ask_on(job, 0, 1024, &[(full, 0)]);
    }
    // A hundred reports a second, like those of a hundred nodes.
    while host.now < 3_500 {
        host.now += 10;
        host.beat(other);
    }
    let running: Vec<usize> = (1..=5).map(|job| host.running(job)).collect();
    assert_eq!(running, [1; 5], "all have waited for three seconds");
}

/// Found by flipped bits in the C tests: the age of a job was now less its submission, which
/// overflowed.
#[test]
fn a_job_of_any_submission_time_runs() {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0}));
    let node = host.node(0, 65_536, 64);
    let queue = host.queue("u", None);
    for (job, submitted_ms) in [(1, Millis::MIN), (2, Millis::MAX)] {
        host.step(&[Event::JobAdded(JobFacts {
            job: JobId(job),
            queue,
            user: UserId(0),
            priority: 0,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms,
        })]);
        host.ask(job, 0, 1, 1024);
    }
    host.tick();
    assert_eq!(host.beat(node).len(), 2);
}

/// Once made a table of four thousand million racks.
#[test]
fn a_node_does_not_move_to_a_rack_out_of_range() {
    let mut host = Host::new(local_first());
    let node = host.node(0, 4096, 4);
    let facts_of = |host: &Host| {
        let node = host.engine.cluster().node(NodeId(node));
        node.expect("it is there").facts
    };
    let facts = facts_of(&host);
    let moved = NodeFacts {
        rack: PlaceId(u32::MAX),
        ..facts
    };
    host.step(&[Event::NodeChanged(moved)]);
    assert_eq!(
        (facts_of(&host).rack, host.engine.ignored()),
        (facts.rack, 1)
    );
}

/// Delay scheduling waits 1 s for the host, which is full. Every 600 ms the user is above the limit
/// for a while, which does not count: it could not have run. Each time it has waited 300 ms more,
/// and after four of them the wait is over. It must not begin again each time.
#[test]
fn a_user_who_is_now_and_then_above_the_limit_waits_for_data_no_longer() {
    let config = json!({
        "policy": {"place": "delay"}, "heartbeat_fill": 1.0,
        "delay": {"node_wait_ms": 1_000, "rack_wait_ms": 0},
        "queues": [{
            "path": "root.a", "min_share": {"memory-mb": 4_096, "vcores": 4},
            "user_limit_percent": 100, "user_limit_factor": 1
        }, {"path": "root.b"}]
    });
    let users = json!({"alice": 1, "bob": 2});
    let mut host = Host::from_setup(&json!({"config": config, "users": users}));
    let (full, free) = (host.node(0, 8_192, 8), host.node(1, 8_192, 8));
    let b = host.queue("bob", Some("root.b"));
    host.user_job(2, b, 2);
    host.ask(2, 0, 8, 1_024);
    host.beat(full);
    let a = host.queue("alice", Some("root.a"));
    host.user_job(1, a, 1);
    host.ask(1, 0, 5, 1_024);
    host.beat(free);
    assert_eq!((host.running(2), host.running(1)), (8, 5));
    host.ask_on(1, 1, 1_024, &[(full, 0)]);
    let mut rounds = 0;
    loop {
        rounds += 1;
        let key = host
            .containers
            .iter()
            .find(|c| c.0 == 1)
            .expect("it runs")
            .1;
        host.complete(1, key);
        host.tick();
        let grants = host.beat(free);
        if !grants.is_empty() {
            break;
        }
        host.now += 300;
        host.ask(1, 0, 1, 1_024);
        assert_eq!(
            host.beat(free).len(),
            1,
            "the user is above the limit again"
        );
        host.now += 300;
        assert!(rounds < 10, "the ask insists without end");
    }
    assert_eq!(rounds, 5);
}

/// Reverse-Adaptive planned jobs without a goal by node: a new one waited for its node, and on all
/// others the oldest was next.
#[test]
fn without_goals_a_new_job_has_the_first_slot_that_is_free() {
    for first in 0..4 {
        let mut host = Host::new(json!({"policy": "reverse-adaptive", "heartbeat_fill": 1.0}));
        let queue = host.queue("u", None);
        let nodes: Vec<u32> = (0..4).map(|_| host.node(0, 1024, 1)).collect();
        host.job(1, queue);
        host.ask(1, 0, 50, 1024);
        host.tick();
        host.beat_all();
        assert_eq!(host.running(1), 4);
        host.job(2, queue);
        host.ask(2, 0, 1, 1024);
        host.now += 60_000;
        host.tick();
        let mut running = host.containers.iter();
        let on_first = running.find(|(_, _, node, _)| *node == nodes[first]);
        let (job, key, ..) = *on_first.expect("one on each node");
        host.complete(job, key);
        host.beat(nodes[first]);
        assert_eq!(
            (host.running(1), host.running(2)),
            (3, 1),
            "on node {first}"
        );
    }
}
