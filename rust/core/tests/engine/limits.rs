//! Limits, and protection against starvation: minimum and maximum shares, running jobs,
//! ApplicationMasters, held nodes, preemption, headroom. Expected values follow by hand from the
//! statement in each test's name.

use crate::common::{Grant, Host, plain_ask};
use heddle_core::Decision;
use heddle_core::words::event::{AskFacts, Event, EvictReason};
use heddle_core::words::ids::{JobId, NodeId};
use heddle_core::words::resource::Resource;
use serde_json::json;

/// Fills nodes completely, so that one heartbeat grants everything that fits.
fn full() -> serde_json::Value {
    json!({"heartbeat_fill": 1.0})
}

fn jobs(grants: &[Grant]) -> Vec<u32> {
    grants.iter().map(|grant| grant.job).collect()
}

#[test]
fn a_queue_below_its_minimum_goes_first_and_none_passes_its_maximum() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [
            {"path": "root.min", "min_share": {"memory-mb": 4096}},
            {"path": "root.big", "weight": 100.0},
            {"path": "root.max", "max_share": {"memory-mb": 1024}}
        ]
    }));
    let node = host.node(0, 8192, 8);
    for (job, name) in [(1, "root.min"), (2, "root.big"), (3, "root.max")] {
        let queue = host.queue("u", Some(name));
        host.job(job, queue);
        host.ask(job, 0, 100, 1024);
    }
    let served = jobs(&host.beat(node));
    assert_eq!(
        served[..4],
        [1, 1, 1, 1],
        "the minimum is met before anything else"
    );
    // Of the remaining 4, one goes to each of weight 1 and the rest to weight 100: usage per weight
    // is 0 for `big` and `max` at the beginning, 4096 for `min`.
    assert_eq!(host.running(1), 4);
    assert_eq!(host.running(3), 1);
    assert_eq!(host.running(2), 3);
    host.complete_all(2);
    host.complete_all(1);
    host.step(&[Event::JobRemoved(JobId(1)), Event::JobRemoved(JobId(2))]);
    assert_eq!(
        host.beat(node).len(),
        0,
        "alone in the cluster, `max` still has its maximum"
    );
}

#[test]
fn masters_take_at_most_their_part_of_the_share_but_the_first_always_starts() {
    let mut host = Host::new(full());
    let node = host.node(0, 10_240, 10);
    submit_masters(&mut host, "alice", 1..=10, 1_024);
    assert_eq!(
        host.beat(node).len(),
        5,
        "5 of 10 GB: half of the fair share"
    );
    assert_eq!(host.beat(node), []);
    host.tick();
    assert_eq!(host.beat(node), []);
}

/// Submits jobs of one queue that each ask for an ApplicationMaster of `memory_mb`.
fn submit_masters(
    host: &mut Host,
    user: &str,
    jobs: std::ops::RangeInclusive<u32>,
    memory_mb: i64,
) {
    let queue = host.queue(user, None);
    for job in jobs {
        host.job(job, queue);
        host.ask_facts(AskFacts {
            am: true,
            priority: 0,
            ..plain_ask(job, 0, 1, memory_mb)
        });
    }
}

/// No tick passes in between.
#[test]
fn limits_are_those_of_the_moment_at_the_heartbeat_after_a_node_or_a_queue_has_come() {
    let mut host = Host::new(full());
    let first = host.node(0, 65_536, 8);
    submit_masters(&mut host, "alice", 1..=20, 8_192);
    assert_eq!(host.beat(first).len(), 4, "half of 64 GB");
    let second = host.node(0, 65_536, 8);
    assert_eq!(host.beat(second).len(), 4, "half of 128 GB");
    // A second queue: each is entitled to 64 GB, and half of that is for masters.
    submit_masters(&mut host, "bob", 21..=40, 8_192);
    let started: usize = [first, second]
        .map(|node| host.beat(node).len())
        .iter()
        .sum();
    assert_eq!(started, 4);
    // The first has more than its part now, and the second has its own.
    let third = host.node(0, 65_536, 8);
    let queue_of = |grant: &Grant| grant.job > 20;
    let grants = host.beat(third);
    assert!(grants.iter().all(queue_of), "{grants:?}");
    assert_eq!(grants.len(), 2, "48 of 96 GB, of which it had 32");
}

#[test]
fn after_a_restart_running_jobs_are_counted_before_the_first_tick() {
    let mut host = Host::new(full());
    let node = host.node(0, 16_384, 16);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.recovered(1, node, 1024, true);
    submit_masters(&mut host, "bob", 2..=20, 1_024);
    // Two queues have something: half of 8 GB for bob's masters.
    assert_eq!(host.beat(node).len(), 4);
}

#[test]
fn masters_are_measured_by_the_share_of_an_active_queue_not_by_what_it_wants_now() {
    // In an empty cluster a queue of two small jobs wants little; both masters must start.
    let mut host = Host::new(full());
    let node = host.node(0, 81_920, 80);
    for (job, user) in [(1, "a"), (2, "a"), (3, "b"), (4, "b")] {
        let queue = host.queue(user, None);
        host.job(job, queue);
        let ask = AskFacts {
            am: true,
            priority: 0,
            ..plain_ask(job, 0, 1, 1024)
        };
        host.ask_facts(ask);
    }
    host.tick();
    assert_eq!(host.beat(node).len(), 4);
}

#[test]
fn jobs_beyond_the_limit_wait_and_are_let_in_as_others_end() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.a", "max_running_jobs": 1}]
    }));
    let node = host.node(0, 4096, 4);
    let queue = host.queue("u", Some("root.a"));
    for job in 1..=3 {
        host.job(job, queue);
        host.ask(job, 0, 1, 1024);
    }
    assert_eq!(jobs(&host.beat(node)), [1]);
    host.complete_all(1);
    assert_eq!(host.beat(node), []);
    host.step(&[Event::JobRemoved(JobId(1))]);
    assert_eq!(jobs(&host.beat(node)), [2]);
}

#[test]
fn an_ask_too_large_for_any_room_gets_a_node_held_for_it() {
    let mut host = Host::new(full());
    let node = host.node(0, 4096, 8);
    let (small, large) = (host.queue("small", None), host.queue("large", None));
    host.job(1, small);
    host.ask(1, 0, 1_000, 1024);
    assert_eq!(host.beat(node).len(), 4);
    host.job(2, large);
    host.ask(2, 0, 1, 4096);
    // One container of the small job ends every second; without a hold its next one follows.
    for _ in 0..4 {
        host.now += 1_000;
        host.tick();
        let (job, key, ..) = host.containers[0];
        host.complete(job, key);
        assert_eq!(jobs(&host.beat(node)), [1]);
    }
    let mut waited = 0;
    while host.running(2) == 0 && waited < 20 {
        host.now += 1_000;
        waited += 1;
        host.tick();
        if let Some((job, key, ..)) = host.containers.first().copied() {
            host.complete(job, key);
        }
        host.beat(node);
    }
    // Held in the fifth second; the four containers in its way end in seconds 5, 6, 7 and 8.
    assert_eq!((waited, host.now), (4, 8_000));
}

#[test]
fn a_hold_that_cannot_be_used_ends() {
    let mut host = Host::new(full());
    let node = host.node(0, 4096, 4);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.recovered(1, node, 1024, true);
    host.job(2, queue);
    host.ask(2, 0, 1, 4096);
    host.now = 6_000;
    host.tick();
    assert_eq!(host.engine.held_nodes().count(), 1);
    host.job(3, queue);
    host.ask(3, 0, 1, 1024);
    assert_eq!(host.beat(node), [], "held");
    host.now += 60_000;
    assert_eq!(
        jobs(&host.beat(node)),
        [3],
        "the hold has a bound, and it has passed"
    );
    host.complete_all(3);
    host.tick();
    host.step(&[Event::JobRemoved(JobId(2))]);
    assert_eq!(
        host.engine.held_nodes().count(),
        0,
        "nothing is held for a job that ended"
    );
}

#[test]
fn starved_queues_get_containers_back_from_those_above_their_share_never_masters() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.starved", "min_share": {"memory-mb": 2048}}],
        "preemption": {"enabled": true, "min_share_timeout_ms": 5000, "grace_ms": 100}
    }));
    let node = host.node(0, 4096, 4);
    let greedy = host.queue("greedy", None);
    host.job(1, greedy);
    host.recovered(1, node, 1024, true);
    host.now = 1_000;
    host.ask(1, 0, 10, 1024);
    assert_eq!(host.beat(node).len(), 3);
    let starved = host.queue("u", Some("root.starved"));
    host.job(2, starved);
    host.ask(2, 0, 10, 1024);
    assert!(evictions(&host.tick()).is_empty());
    host.now += 4_999;
    assert!(evictions(&host.tick()).is_empty());
    host.now += 1;
    let evicted = evictions(&host.tick());
    assert_eq!(evicted.len(), 2, "its minimum is two containers");
    assert!(evicted.iter().all(|(job, _)| *job == 1));
    let master = host.containers[0].1;
    assert!(evicted.iter().all(|(_, key)| *key != master));
    assert!(
        evictions(&host.tick()).is_empty(),
        "what was asked for is not asked for again"
    );
    for (job, key) in evicted {
        host.complete(job, key);
    }
    assert_eq!(jobs(&host.beat(node)), [2, 2]);
}

fn evictions(decisions: &[Decision]) -> Vec<(u32, u64)> {
    decisions
        .iter()
        .filter_map(|decision| match decision {
            Decision::Evict {
                job,
                key,
                reason: EvictReason::MinShare,
                ..
            } => Some((job.0, *key)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_new_attempt_is_told_its_headroom_even_if_that_is_what_the_old_one_had() {
    let mut host = Host::new(full());
    host.node(0, 4096, 4);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    assert_eq!(host.tick().len(), 1);
    assert_eq!(host.tick(), [], "nothing changed");
    host.step(&[Event::JobReset(JobId(1))]);
    assert_eq!(host.tick().len(), 1);
}

#[test]
fn the_headroom_never_makes_a_master_kill_its_own_reduces() {
    let mut host = Host::new(full());
    let node = host.node(0, 4096, 8);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_facts(AskFacts {
        priority: 10,
        ..plain_ask(1, 1, 4, 1024)
    });
    assert_eq!(host.beat(node).len(), 4);
    // The cluster is full of the job's own reduces, and all may wait for a map that must run again.
    // The map's size is still unknown.
    host.tick();
    assert_eq!(told(&host), 1024);
    // A map fails and is asked for again.
    host.ask_facts(AskFacts {
        priority: 5,
        ..plain_ask(1, 0, 1, 512)
    });
    host.tick();
    assert!(told(&host) >= 512, "RMContainerAllocator kills otherwise");
}

/// The master reads the answer to the call in which it asks again for a failed map. So the answer
/// before must suffice: while the last map runs, and after it. It must also suffice while the last
/// map runs and is already asked for again, as when it is killed. The master may hear of its end at
/// any moment, and before it hears the consequences.
#[test]
fn the_headroom_is_told_before_the_last_map_fails() {
    let mut host = Host::new(full());
    let node = host.node(0, 2048, 8);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_facts(AskFacts {
        priority: 20,
        ..plain_ask(1, 0, 1, 1024)
    });
    host.beat(node);
    host.ask_facts(AskFacts {
        priority: 10,
        ..plain_ask(1, 1, 3, 1024)
    });
    host.beat(node);
    // Full: a map and a reduce run, two reduces are pending. A map beside those is 3 GB.
    host.tick();
    assert_eq!(told(&host), 3072);
    host.ask(1, 0, 1, 1024);
    host.tick();
    assert_eq!(told(&host), 3072);
}

/// While one map ends, another runs: nothing is killed, and a headroom that does not exist would
/// make the master plan reduces.
#[test]
fn the_headroom_is_the_truth_while_two_maps_run_and_others_are_pending() {
    let mut host = Host::new(full());
    let node = host.node(0, 3072, 8);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    let map = AskFacts {
        priority: 20,
        ..plain_ask(1, 0, 2, 1024)
    };
    host.ask_facts(map);
    host.ask_facts(AskFacts {
        priority: 10,
        ..plain_ask(1, 1, 1, 1024)
    });
    assert_eq!(host.beat(node).len(), 3);
    host.ask_facts(AskFacts { count: 1, ..map });
    host.tick();
    assert_eq!(told(&host), 0);
}

/// The answer that reports the end of the last map, or that a reduce is granted, also has the
/// headroom. Waiting for the next tick, the master would kill.
#[test]
fn the_headroom_is_told_with_the_news_that_the_last_map_has_ended() {
    let mut host = Host::new(full());
    let node = host.node(0, 3072, 8);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.job(2, queue);
    let map = AskFacts {
        priority: 20,
        ..plain_ask(1, 0, 2, 1024)
    };
    let reduce = AskFacts {
        priority: 10,
        ..plain_ask(1, 1, 1, 1024)
    };
    host.ask_facts(map);
    host.ask_facts(reduce);
    let grants = host.beat(node);
    let keys = host.containers.iter().map(|container| container.1);
    let maps: Vec<u64> = (grants.iter().zip(keys))
        .filter_map(|(grant, key)| (grant.ask == 0).then_some(key))
        .collect();
    // Another map and another reduce are pending beside two maps and a reduce that run.
    host.ask_facts(AskFacts { count: 1, ..map });
    host.ask_facts(reduce);
    host.tick();
    assert_eq!(told(&host), 0, "full, and maps run");
    host.complete(1, maps[0]);
    host.recovered(2, node, 1024, false);
    // One slot is free: too little for the map and the reduce that are asked for.
    host.complete(1, maps[1]);
    assert_eq!(told(&host), 0, "not with the news itself");
    host.step(&[Event::Heartbeat {
        node: NodeId(node),
        free: Resource::ZERO,
    }]);
    assert_eq!(told(&host), 2048);
}

#[test]
fn the_headroom_is_told_with_the_first_reduce_where_no_map_runs() {
    let mut host = Host::new(full());
    let node = host.node(0, 1024, 8);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_facts(AskFacts {
        priority: 20,
        ..plain_ask(1, 0, 1, 2048)
    });
    host.ask_facts(AskFacts {
        priority: 10,
        ..plain_ask(1, 1, 1, 1024)
    });
    host.tick();
    assert_eq!(told(&host), 1024, "what is free");
    assert_eq!(
        host.beat(node).len(),
        1,
        "the reduce, as the map does not fit"
    );
    host.beat(node);
    assert_eq!(told(&host), 2048);
}

/// One frame may carry all of a job's life: a job that is gone before its heartbeat gets no
/// message.
#[test]
fn a_job_that_is_gone_before_the_heartbeat_is_told_nothing() {
    let mut host = Host::new(full());
    let node = host.node(0, 1024, 8);
    let queue = host.queue("alice", None);
    host.job(1, queue);
    host.ask_facts(AskFacts {
        priority: 10,
        ..plain_ask(1, 1, 1, 1024)
    });
    let grants = host.beat_unanswered(node);
    let (job, key, seq) = (JobId(1), 99, grants[0].seq);
    let decisions = host.step(&[
        Event::Ack { job, seq, key },
        Event::ContainerCompleted {
            job,
            key,
            exit: -100,
        },
        Event::JobRemoved(job),
        Event::Heartbeat {
            node: NodeId(node),
            free: Resource::ZERO,
        },
    ]);
    assert_eq!(decisions, []);
}

/// Returns the headroom that job 1 knows, in megabytes of memory.
fn told(host: &Host) -> i64 {
    host.headrooms[&1].memory_mb()
}
