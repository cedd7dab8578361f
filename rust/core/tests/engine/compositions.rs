//! Compositions of stages: the share chooses the queue, the order the job inside it, the place its
//! task, whatever the implementations. Each stage alone has tests of its own.

use crate::common::{Grant, Host, plain_ask};
use heddle_core::catalogue::PRESETS;
use heddle_core::words::event::{AskFacts, Event, JobHints};
use heddle_core::words::ids::JobId;
use proptest::prelude::*;
use serde_json::{Value, json};

const REDUCE: i32 = 10;

/// Builds six nodes on two racks with two map slots and one reduce slot each; `ads` bids twice as
/// much as `science`.
fn cluster(share: &str, order: &str, place: &str) -> Host {
    let mut host = Host::new(json!({
        "policy": {"share": share, "order": order, "place": place},
        "heartbeat_fill": 1.0,
        "slots": {"map_per_node": 2, "reduce_per_node": 1},
        "delay": {"node_wait_ms": 0, "rack_wait_ms": 0},
        "dynamic_priority": {"allocation_interval_ms": 1000},
        "queues": [
            {"path": "root.ads", "budget": 1_000_000, "spending_rate": 2},
            {"path": "root.science", "budget": 1_000_000, "spending_rate": 1},
        ],
    }));
    for node in 0..6 {
        host.node(node % 2, 65_536, 64);
    }
    host
}

fn submit(host: &mut Host, job: u32, queue: &str, maps: u32, reduces: u32) {
    let queue = host.queue("u", Some(queue));
    host.job(job, queue);
    let hints = JobHints {
        tasks: [Some(maps), Some(reduces)],
        ..JobHints::default()
    };
    let job_id = JobId(job);
    host.step(&[Event::JobHints { job: job_id, hints }]);
    host.ask(job, 0, maps, 1024);
    if reduces > 0 {
        host.ask_facts(AskFacts {
            priority: REDUCE,
            ..plain_ask(job, 1, reduces, 1024)
        });
    }
}

/// Runs one second: a tick, and a report of every node.
fn second(host: &mut Host) -> Vec<Grant> {
    host.now += 1_000;
    host.tick();
    (0..6).flat_map(|node| host.beat(node)).collect()
}

/// Ends every running task, and runs the next second.
fn turn_over(host: &mut Host, jobs: &[u32]) -> Vec<Grant> {
    for job in jobs {
        host.complete_all(*job);
    }
    second(host)
}

fn maps_of(grants: &[Grant], jobs: &[u32]) -> usize {
    let maps = grants.iter().filter(|grant| grant.ask == 0);
    maps.filter(|grant| jobs.contains(&grant.job)).count()
}

/// Lists every order and place; the share is the caller's.
fn orders_and_places() -> Vec<(&'static str, &'static str)> {
    let orders = heddle_core::catalogue::order_names();
    let places = heddle_core::catalogue::place_names();
    let pair = |order: &'static str| places.iter().map(move |place| (order, *place));
    orders.into_iter().flat_map(pair).collect()
}

#[test]
fn bids_decide_between_queues_under_every_order_and_place() {
    for (order, place) in orders_and_places() {
        let mut host = cluster("dynamic-priority", order, place);
        submit(&mut host, 1, "root.ads", 500, 0);
        submit(&mut host, 2, "root.science", 500, 0);
        // The first interval has no quota yet; the second has quotas by the rates.
        second(&mut host);
        turn_over(&mut host, &[1, 2]);
        for _ in 0..3 {
            let grants = turn_over(&mut host, &[1, 2]);
            let by_queue = (maps_of(&grants, &[1]), maps_of(&grants, &[2]));
            assert_eq!(
                by_queue,
                (8, 4),
                "of 12 map slots at 2 : 1, {order}, {place}"
            );
        }
    }
}

/// Submits a big job, then a small one in the same queue, beside another queue's big job.
fn small_after_big(share: &str, place: &str) -> (usize, usize, usize) {
    let mut host = cluster(share, "hfsp", place);
    submit(&mut host, 1, "root.ads", 300, 0);
    submit(&mut host, 3, "root.science", 300, 0);
    second(&mut host);
    for _ in 0..3 {
        turn_over(&mut host, &[1, 3]);
    }
    submit(&mut host, 2, "root.ads", 4, 0);
    let grants = turn_over(&mut host, &[1, 2, 3]);
    (
        maps_of(&grants, &[1]),
        maps_of(&grants, &[2]),
        maps_of(&grants, &[3]),
    )
}

#[test]
fn sizes_decide_inside_a_queue_that_bids() {
    for place in heddle_core::catalogue::place_names() {
        let (big, small, other) = small_after_big("dynamic-priority", place);
        assert_eq!(
            small, 4,
            "the small job gets all it asks for at once, {place}"
        );
        assert_eq!((big, other), (4, 4), "within its queue's 8 slots, {place}");
    }
}

#[test]
fn sizes_decide_inside_a_queue_that_has_a_fair_share() {
    for place in heddle_core::catalogue::place_names() {
        let (big, small, other) = small_after_big("fair", place);
        assert_eq!(small, 4, "{place}");
        assert_eq!((big, other), (2, 6), "within its queue's 6 slots, {place}");
    }
}

#[test]
fn classes_go_before_the_order_and_the_order_decides_inside_a_class() {
    let mut host = cluster("single", "fifo", "shuffle-watcher");
    submit(&mut host, 1, "root.ads", 40, 0);
    submit(&mut host, 2, "root.ads", 1, 6);
    let queue = host.queue("u", Some("root.ads"));
    host.prioritised_job(3, queue, 9);
    host.ask_facts(AskFacts {
        priority: REDUCE,
        ..plain_ask(3, 1, 6, 1024)
    });
    let grants = second(&mut host);
    // The network is not saturated: reduces go before maps that came earlier. Of two jobs with
    // reduces the order takes the one of higher priority, on each of the six nodes.
    let is_reduce = |grant: &&Grant| grant.ask == 1;
    let reduces: Vec<u32> = grants.iter().filter(is_reduce).map(|g| g.job).collect();
    assert_eq!(reduces, [3; 6]);
    let first = (grants[0].job, grants[0].ask);
    assert_eq!(first, (3, 1), "before the maps of jobs 1 and 2");
}

#[test]
fn every_preset_serves_every_task_of_a_mixed_load_in_the_end() {
    for preset in PRESETS {
        let [share, order, place] = preset.stages;
        let mut host = cluster(share, order, place);
        let jobs = [1, 2, 3, 4];
        for job in jobs {
            let queue = if job % 2 == 0 {
                "root.ads"
            } else {
                "root.science"
            };
            submit(&mut host, job, queue, 10 * job, 3);
        }
        let mut served = 0;
        for _ in 0..40 {
            served += turn_over(&mut host, &jobs).len();
        }
        assert_eq!(served, 100 + 12, "{}", preset.name);
    }
}

/// No stage may need facts that a host does not have.
#[test]
fn an_application_that_is_not_mapreduce_runs_under_every_composition() {
    for share in heddle_core::catalogue::share_names() {
        for (order, place) in orders_and_places() {
            let mut host = cluster(share, order, place);
            let queue = host.queue("u", Some("root.ads"));
            let facts = opaque_job(&host, queue);
            host.step(&[Event::JobAdded(facts)]);
            host.ask_facts(AskFacts {
                priority: 77,
                ..plain_ask(1, 0, 5, 2048)
            });
            let served = second(&mut host).len();
            assert_eq!(served, 5, "{share}, {order}, {place}");
        }
    }
}

fn opaque_job(
    host: &Host,
    queue: heddle_core::words::ids::QueueId,
) -> heddle_core::words::event::JobFacts {
    heddle_core::words::event::JobFacts {
        job: JobId(1),
        queue,
        user: heddle_core::words::ids::UserId(0),
        priority: 0,
        mapreduce: false,
        unmanaged_am: false,
        submitted_ms: host.now,
    }
}

/// The tables of compositions depend on this: the configured stages are the ones that run.
#[test]
fn the_report_names_the_stages_in_force() {
    for preset in PRESETS {
        let mut host = Host::new(json!({ "policy": preset.name }));
        let report: Value = host.request(json!({"op": "queues"}));
        let named = ["share", "order", "place"].map(|stage| report["policy"][stage].clone());
        assert_eq!(
            named,
            preset.stages.map(|stage| json!(stage)),
            "{}",
            preset.name
        );
    }
}

/// Returns how many containers two jobs, alike except for their priorities, have run after some
/// rounds. Each round has room for only a part of their asks.
fn served(policy: &str, priorities: [i32; 2]) -> [usize; 2] {
    let mut host = Host::new(json!({"policy": policy, "heartbeat_fill": 1.0}));
    let node = host.node(0, 7 * 1024, 7);
    let queue = host.queue("u", None);
    for (job, priority) in (1..).zip(priorities) {
        host.prioritised_job(job, queue, priority);
        host.ask(job, 0, 1_000, 1024);
    }
    let mut had = [0; 2];
    for _ in 0..8 {
        host.now += 500;
        host.tick();
        for grant in host.beat(node) {
            had[grant.job as usize - 1] += 1;
        }
        host.complete_all(1);
        host.complete_all(2);
    }
    had
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// YARN's integers: with everything else equal, a larger one never gets less.
    #[test]
    fn a_larger_priority_never_gets_less_under_any_preset(
        low in prop_oneof![4 => -3i32..12, 1 => any::<i32>()],
        more in prop_oneof![4 => 1i32..6, 1 => 1i32..i32::MAX],
        other in -2i32..8,
    ) {
        let high = low.saturating_add(more);
        for preset in PRESETS {
            let name = preset.name;
            for me in 0..2 {
                let with = |mine| {
                    let mut priorities = [other; 2];
                    priorities[me] = mine;
                    served(name, priorities)[me]
                };
                let (less, more) = (with(low), with(high));
                prop_assert!(less <= more, "{name}: {less} with {low}, {more} with {high}");
            }
        }
    }
}
