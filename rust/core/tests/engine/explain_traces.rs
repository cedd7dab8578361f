//! The record of decisions: grants, refusals and evictions with their numbers, in a ring of bounded
//! size. Keeping it changes no decision. Also reasons that do not concern queues.

use crate::common::{self, Host, plain_ask};
use heddle_core::catalogue::PRESETS;
use heddle_core::words::event::{AskFacts, Decision, Event, JobHints, Refusal};
use heddle_core::words::ids::{JobId, PartitionId};
use heddle_core::{Engine, Setup};
use serde_json::{Value, json};

fn explained(host: &mut Host, job: u32) -> Value {
    host.request(json!({"op": "explain", "job": job}))
}

fn trace(host: &mut Host, job: u32) -> Vec<Value> {
    let explained = explained(host, job);
    explained["trace"].as_array().expect("a list").clone()
}

fn of(trace: &[Value], what: &str) -> Vec<Value> {
    let of = trace.iter().filter(|entry| entry["what"] == what);
    of.cloned().collect()
}

fn reason(host: &mut Host, job: u32) -> Value {
    explained(host, job)["waits"][0]["reason"].clone()
}

#[test]
fn grants_and_refusals_are_kept_with_their_numbers_and_the_ring_does_not_grow() {
    let mut host = Host::new(json!({
        "policy": "fifo", "heartbeat_fill": 1.0, "explain": {"entries": 4}
    }));
    let node = host.node(0, 8_192, 8);
    let queue = host.queue("u", None);
    host.now = 70;
    host.prioritised_job(1, queue, 5);
    host.ask(1, 0, 2, 1_024);
    host.now = 90;
    let grants = host.beat_unanswered(node);
    host.refuse(grants[0], Refusal::NoFit);
    host.commit(grants[1]);
    let kept = trace(&mut host, 1);
    assert_eq!(kept.len(), 3);
    let granted = of(&kept, "granted");
    let left: Vec<i64> = granted.iter().filter_map(|g| g["left"].as_i64()).collect();
    assert_eq!(left, [1, 0]);
    assert_eq!(granted[0]["at_ms"], 90);
    assert_eq!(granted[0]["node"], node);
    assert_eq!(
        granted[0]["order"],
        json!([-5, 70]),
        "priority, then submission"
    );
    let refused = &of(&kept, "refused")[0];
    assert_eq!(refused["stage"], "host");
    let said = refused["sentence"].as_str().expect("a sentence");
    assert!(
        said.ends_with("the node had less room than was known"),
        "{said}"
    );

    host.now = 2_000;
    host.ask(1, 0, 6, 1_024);
    assert_eq!(host.beat(node).len(), 6);
    let kept = trace(&mut host, 1);
    let left: Vec<i64> = kept.iter().filter_map(|g| g["left"].as_i64()).collect();
    assert_eq!(left, [3, 2, 1, 0], "the last four");
    assert_eq!(explained(&mut host, 1)["noted"], 9);
    host.step(&[Event::JobRemoved(JobId(1))]);
    assert!(host.engine.trace(JobId(1)).is_none());
    let error = host
        .engine
        .request(2_000, &json!({"op": "explain", "job": 1}))
        .expect_err("it is gone");
    assert!(error.to_string().contains("no job has number 1"), "{error}");
}

/// Refuses the only ask of job 1 on the only node, at 100 ms.
fn refused() -> (Host, u32) {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0}));
    let node = host.node(0, 8_192, 8);
    let queue = host.queue("u", None);
    host.now = 100;
    host.job(1, queue);
    host.ask(1, 0, 1, 1_024);
    let grant = host.beat_unanswered(node)[0];
    host.refuse(grant, Refusal::Other);
    (host, node)
}

/// Past entries keep their numbers: a minute later the sentence still says 1.0 s.
#[test]
fn every_entry_is_told_as_a_sentence() {
    let (mut host, node) = refused();
    host.tick();
    host.now += 60_000;
    assert_eq!(host.beat(node).len(), 1);
    host.ask(1, 0, 1, 16_384);
    host.tick();
    let kept = trace(&mut host, 1);
    for entry in &kept {
        assert!(entry["sentence"].is_string(), "{entry}");
    }
    let waits = of(&kept, "waits");
    let said: Vec<&str> = waits
        .iter()
        .filter_map(|w| w["sentence"].as_str())
        .collect();
    let left_out = "waits: the ResourceManager refused it on the only 1 nodes that have room, and \
                   they are left out for 1.0 s more";
    let too_large = "waits: a container needs 16384 MB, and no node has more than 8192 MB";
    assert_eq!(said, [left_out, too_large]);
}

#[test]
fn a_refused_job_is_tried_again_at_the_moment_that_is_named() {
    let (mut host, node) = refused();
    let at_ms = reason(&mut host, 1)["refused"]["until_ms"].as_i64();
    let at_ms = at_ms.expect("a time");
    host.now = at_ms - 1;
    assert_eq!(host.beat(node), []);
    host.now = at_ms;
    assert_eq!(host.beat(node).len(), 1);
}

#[test]
fn an_eviction_says_what_was_compared() {
    let mut host = Host::new(json!({
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.a"}, {"path": "root.b", "min_share": {"memory-mb": 2048}}],
        "preemption": {"enabled": true, "min_share_timeout_ms": 1_000}
    }));
    let node = host.node(0, 4_096, 4);
    let queue = host.queue("u", Some("root.a"));
    host.job(1, queue);
    host.ask(1, 0, 8, 1_024);
    assert_eq!(host.beat(node).len(), 4);
    let queue = host.queue("u", Some("root.b"));
    host.job(2, queue);
    host.ask(2, 0, 8, 1_024);
    host.tick();
    host.now = 1_500;
    let evicts = |decision: &&Decision| matches!(decision, Decision::Evict { .. });
    assert_eq!(host.tick().iter().filter(evicts).count(), 2);
    let kept = of(&trace(&mut host, 1), "evicted");
    assert_eq!(kept.len(), 2);
    let numbers = ["used", "entitled", "lacking"].map(|key| kept[0][key].as_i64());
    assert_eq!(numbers, [Some(4_096), Some(2_048), Some(2_048)]);
    assert_eq!(kept[0]["reason"], "min_share");
}

/// Both queues want 4 GB or more of the nodes of a label and nothing of the others. On those nodes,
/// 8 GB of guarantees of 2 and 6 or 4 GB in halves, job 1 has all.
#[test]
fn an_eviction_on_labelled_nodes_is_by_the_shares_there() {
    let part = |percent: u32| json!({"memory-mb": format!("{percent}% of parent")});
    let by_label = json!([
        {"path": "root.a", "min_share": part(60), "labels": {"gpu": {"min_share": part(25)}}},
        {"path": "root.b", "min_share": part(40), "labels": {"gpu": {"min_share": part(75)}}},
    ]);
    let alike = json!([{"path": "root.a"}, {"path": "root.b"}]);
    for (share, queues, gb, expected) in [
        ("capacity", by_label, 8, [8_192, 2_048, 6_144]),
        ("fair", alike, 4, [4_096, 2_048, 2_048]),
    ] {
        let policy = json!({"share": share, "order": "by-queue", "place": "delay"});
        let mut host = Host::from_setup(&json!({
            "config": {
                "policy": policy, "queues": queues, "heartbeat_fill": 1.0,
                "preemption": {"enabled": true, "min_share_timeout_ms": 1_000,
                               "fair_share_timeout_ms": 1_000, "fair_share_threshold": 1.0}
            },
            "labels": {"gpu": 7},
        }));
        host.node(0, 16_384, 64);
        let labelled = host.labelled_node(0, gb * 1_024, 64, 7);
        for (job, queue) in [(1, "root.a"), (2, "root.b")] {
            let queue = host.queue("u", Some(queue));
            host.job(job, queue);
            host.ask_facts(AskFacts {
                partition: PartitionId(7),
                ..plain_ask(job, 0, gb as u32, 1_024)
            });
            host.beat(labelled);
        }
        assert_eq!(host.running(1), gb as usize, "{share}");
        host.tick();
        host.now = 1_500;
        host.tick();
        let kept = of(&trace(&mut host, 1), "evicted");
        let numbers = ["used", "entitled", "lacking"].map(|key| kept[0][key].as_i64());
        assert_eq!(numbers, expected.map(Some), "{share}");
    }
}

#[test]
fn the_tick_notes_why_jobs_wait_once_per_reason() {
    let mut host = Host::new(json!({"policy": "fifo", "heartbeat_fill": 1.0}));
    let queue = host.queue("u", None);
    host.job(0, queue);
    host.ask(0, 0, 3, 1_024);
    let waits = |host: &mut Host| {
        let noted = of(&trace(host, 0), "waits").into_iter();
        noted.map(|entry| {
            (
                entry["at_ms"].as_i64().expect("a time"),
                entry["reason"].clone(),
            )
        })
    };
    let until = |host: &mut Host, now: i64| {
        while host.now < now {
            host.now += 500;
            host.tick();
        }
    };
    until(&mut host, 5_000);
    let node = host.node(0, 1_024, 1);
    host.beat(node);
    until(&mut host, 12_000);
    let noted: Vec<_> = waits(&mut host).collect();
    assert_eq!(noted.len(), 2, "{noted:?}");
    assert_eq!(
        noted[0],
        (500, json!({"no_nodes": {"labelled": 0, "partition": 0}}))
    );
    // Every two seconds, so the first entry with a node is at 6.5 s.
    assert_eq!(noted[1].0, 6_500);
    assert_eq!(explained(&mut host, 0)["waits"][0]["since_ms"], 6_500);
}

#[test]
fn sentences_of_many_jobs_come_in_turn() {
    let mut host = Host::new(json!({"policy": "fifo", "heartbeat_fill": 1.0}));
    let queue = host.queue("u", None);
    for job in [0, 1, 2, 5, 6] {
        host.job(job, queue);
        host.ask(job, 0, u32::from(job != 1), 1_024);
    }
    let mut told = Vec::new();
    let mut from = 0;
    loop {
        let reply = host.request(json!({"op": "waits", "from": from, "max": 2}));
        for job in reply["jobs"].as_array().expect("a list") {
            told.push((job[0].as_u64().expect("an id"), job[1].is_null()));
        }
        from = reply["next"].as_u64().expect("an id");
        if from == 0 {
            break;
        }
    }
    let expected = [(0, false), (1, true), (2, false), (5, false), (6, false)];
    assert_eq!(told, expected);
}

#[test]
fn what_the_order_holds_back_starts_with_the_limit_that_is_named() {
    let config = |most: u32| {
        json!({
            "policy": {"order": "deficit"},
            "heartbeat_fill": 1.0,
            "queues": [{"path": "root.a", "max_tasks_per_job": most}]
        })
    };
    let mut host = Host::new(config(2));
    let node = host.node(0, 8_192, 8);
    let queue = host.queue("u", Some("root.a"));
    host.job(1, queue);
    host.ask(1, 0, 5, 1_024);
    assert_eq!(host.beat(node).len(), 2);
    let held = reason(&mut host, 1)["held"]["max_tasks"].clone();
    assert_eq!([&held["running"], &held["max"]], [&json!(2), &json!(2)]);
    let explained = explained(&mut host, 1);
    assert_eq!(
        explained["waits"][0]["remedies"][0]["max_tasks"]["limit"],
        3
    );
    assert_eq!(explained["waits"][0]["stage"], "order");
    host.request(json!({"op": "reload", "config": config(3)}));
    assert_eq!(host.beat(node).len(), 1);
}

#[test]
fn reduces_that_wait_for_maps_say_how_many() {
    let mut host = Host::new(json!({
        "policy": {"order": "deficit"},
        "heartbeat_fill": 1.0, "deficit": {"slow_start": 0.5}
    }));
    let node = host.node(0, 8_192, 8);
    let queue = host.queue("u", None);
    host.job(1, queue);
    let hints = JobHints {
        tasks: [Some(4), Some(1)],
        ..JobHints::default()
    };
    host.step(&[Event::JobHints {
        job: JobId(1),
        hints,
    }]);
    host.ask(1, 0, 4, 1_024);
    assert_eq!(host.beat(node).len(), 4);
    host.ask_facts(AskFacts {
        priority: 10,
        ..plain_ask(1, 1, 1, 1_024)
    });
    let key = host.containers[0].1;
    host.complete(1, key);
    assert_eq!(host.beat(node), []);
    let held = reason(&mut host, 1)["held"]["slow_start"].clone();
    assert_eq!([&held["done"], &held["needed"]], [&json!(1), &json!(2)]);
    let key = host.containers[0].1;
    host.complete(1, key);
    assert_eq!(host.beat(node).len(), 1, "after one more, as was said");
}

#[test]
fn slots_of_a_kind_that_are_taken_are_told_from_room() {
    let mut host = Host::new(json!({
        "policy": "fifo", "heartbeat_fill": 1.0,
        "slots": {"map_per_node": 1, "reduce_per_node": 1}
    }));
    let node = host.node(0, 8_192, 8);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask(1, 0, 2, 1_024);
    assert_eq!(host.beat(node).len(), 1);
    let slots = reason(&mut host, 1)["slots"].clone();
    assert_eq!([&slots["running"], &slots["slots"]], [&json!(1), &json!(1)]);
}

#[test]
fn what_a_job_refuses_is_its_own_doing() {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0}));
    let node = host.node(0, 8_192, 8);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.step(&[Event::Blacklist {
        job: JobId(1),
        place: common::host_of(node),
        added: true,
    }]);
    host.ask(1, 0, 1, 1_024);
    assert_eq!(host.beat(node), []);
    assert_eq!(
        reason(&mut host, 1),
        json!({"blacklisted": {"nodes": 1, "room": false}})
    );
    host.step(&[Event::Blacklist {
        job: JobId(1),
        place: common::host_of(node),
        added: false,
    }]);
    assert_eq!(reason(&mut host, 1), json!({"soon": {"nodes": 1}}));
    assert_eq!(host.beat(node).len(), 1);
}

/// Returns all decisions of a day of a small cluster, the same in every run.
fn day(preset: &str, entries: u32, asks: bool) -> Vec<Decision> {
    let mut host = Host::new(json!({"policy": preset, "explain": {"entries": entries}}));
    let mut seed = 7u64;
    let mut random = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % n
    };
    for node in 0..6 {
        host.node(node % 2, 4_096, 4);
    }
    let mut decisions = Vec::new();
    for round in 0..300u32 {
        host.now += 100;
        if round % 10 == 0 {
            let queue = host.queue(["ann", "bob"][random(2) as usize], None);
            let job = round / 10;
            host.job(job, queue);
            let near: Vec<(u32, u32)> = (0..8)
                .map(|_| random(6) as u32)
                .map(|n| (n, n % 2))
                .collect();
            host.ask_on(job, 0, 1_024, &near);
        }
        if round % 5 == 0 {
            decisions.extend(host.tick());
        }
        if asks && round % 3 == 0 {
            host.request(json!({"op": "waits"}));
            host.request(json!({"op": "jobs"}));
            host.request(json!({"op": "usage"}));
            host.request(json!({"op": "explain", "job": 0}));
        }
        for grant in host.beat(random(6) as u32) {
            decisions.push(Decision::Grant {
                job: JobId(grant.job),
                ask: heddle_core::words::ids::AskId(grant.ask),
                node: heddle_core::words::ids::NodeId(grant.node),
                locality: grant.locality,
                seq: grant.seq,
            });
        }
        if random(3) == 0 && !host.containers.is_empty() {
            let at = random(host.containers.len() as u64) as usize;
            let (job, key, _, _) = host.containers[at];
            host.complete(job, key);
        }
    }
    decisions
}

#[test]
fn what_is_kept_and_asked_changes_no_decision() {
    for preset in PRESETS {
        let plain = day(preset.name, 0, false);
        assert!(plain.len() > 50, "{}: too little happened", preset.name);
        assert_eq!(plain, day(preset.name, 3, false), "{}", preset.name);
        assert_eq!(plain, day(preset.name, 16, true), "{}", preset.name);
    }
}

#[test]
fn entries_are_read_checked_and_can_change_while_running() {
    let read =
        |config: Value| Setup::with_config(&config).map(|setup| setup.config.explain_entries);
    assert_eq!(read(json!({})), Ok(16));
    assert_eq!(read(json!({"explain": {"entries": 0}})), Ok(0));
    let error = read(json!({"explain": {"entries": -1}})).expect_err("negative");
    assert_eq!(error.key, "explain.entries");
    assert!(read(json!({"explain": {"entires": 1}})).is_err());

    let mut host = Host::new(json!({"explain": {"entries": 0}}));
    let queue = host.queue("u", None);
    host.job(1, queue);
    assert!(host.engine.trace(JobId(1)).is_none());
    host.request(json!({"op": "reload", "config": {"explain": {"entries": 2}}}));
    assert!(host.engine.trace(JobId(1)).is_some());
    let mutating = |op: &str| Engine::is_mutating(&json!({"op": op}));
    assert!(
        !mutating("explain") && !mutating("waits") && !mutating("jobs"),
        "a journal needs neither"
    );
}
