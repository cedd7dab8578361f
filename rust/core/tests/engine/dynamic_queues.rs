//! Queues that submissions create. They go when they have been empty for long. Each user may create
//! a bounded number. A replay of the same requests gives the same queues.

use crate::common::Host;
use heddle_core::Engine;
use heddle_core::words::event::Event;
use heddle_core::words::ids::{JobId, QueueId};
use serde_json::{Value, json};

const EXPIRE_MS: i64 = 60_000;

fn config(policy: &str, max_per_user: u32) -> Value {
    json!({
        "policy": policy,
        "queues": [{"path": "root.kept"}],
        "dynamic_queues": {"expire_ms": EXPIRE_MS, "max_per_user": max_per_user},
    })
}

fn paths(host: &mut Host) -> Vec<String> {
    let report = host.request(json!({"op": "queues"}));
    let queues = report["queues"].as_array().expect("a list");
    let path = |queue: &Value| queue["path"].as_str().expect("a path").to_string();
    queues.iter().map(path).collect()
}

fn place(host: &mut Host, user: &str, queue: &str) -> Result<u32, String> {
    let request = json!({"op": "place", "user": user, "queue": queue});
    match host.engine.request(host.now, &request) {
        Ok(reply) => Ok(reply["queue"].as_u64().expect("an id") as u32),
        Err(error) => Err(error.0),
    }
}

/// Expires queues until none is left to expire; returns those that went.
fn expire(host: &mut Host) -> Vec<String> {
    let mut gone = Vec::new();
    loop {
        let reply = host.request(json!({"op": "expireQueues"}));
        host.engine.check_invariants().expect("the books are right");
        let removed = reply["removed"].as_array().expect("a list").clone();
        if removed.is_empty() {
            return gone;
        }
        gone.extend(
            removed
                .iter()
                .map(|path| path.as_str().expect("a path").to_string()),
        );
    }
}

#[test]
fn an_empty_queue_expires_with_those_above_it_but_a_configured_one_stays() {
    let mut host = Host::new(config("fair", 100));
    let deep = QueueId(place(&mut host, "alice", "root.a.b.c").expect("made"));
    host.job(1, deep);
    place(&mut host, "alice", "root.idle").expect("made");
    assert!(
        expire(&mut host).is_empty(),
        "nothing has been empty for long"
    );
    host.now += EXPIRE_MS;
    assert_eq!(expire(&mut host), ["root.idle"]);
    host.step(&[Event::JobRemoved(JobId(1))]);
    assert!(
        expire(&mut host).is_empty(),
        "it has only now been seen empty"
    );
    host.now += EXPIRE_MS - 1;
    assert!(expire(&mut host).is_empty());
    host.now += 1;
    assert_eq!(expire(&mut host), ["root.a.b.c", "root.a.b", "root.a"]);
    assert_eq!(paths(&mut host), ["root", "root.kept"]);
}

#[test]
fn a_submission_to_an_empty_queue_starts_its_time_again() {
    let mut host = Host::new(config("fair", 100));
    place(&mut host, "alice", "root.a").expect("made");
    assert!(expire(&mut host).is_empty());
    host.now += EXPIRE_MS - 1;
    place(&mut host, "alice", "root.a").expect("there");
    host.now += 1;
    assert!(
        expire(&mut host).is_empty(),
        "a job of it may be on its way"
    );
}

#[test]
fn a_user_makes_a_bounded_number_of_queues_and_reads_why() {
    let mut host = Host::new(config("fair", 3));
    for queue in ["root.a", "root.b.c"] {
        place(&mut host, "alice", queue).expect("within the limit, b counts");
    }
    let refusal = place(&mut host, "alice", "root.d").expect_err("a fourth");
    for words in ["root.d", "alice", "3", "dynamic_queues.max_per_user"] {
        assert!(refusal.contains(words), "{words}: {refusal}");
    }
    assert!(!paths(&mut host).contains(&"root.d".to_string()));
    place(&mut host, "alice", "root.a").expect("it exists");
    place(&mut host, "alice", "root.kept").expect("it is configured");
    place(&mut host, "bob", "root.d").expect("bob has made none");
    let deep = format!("root.{}", ["x"; 4].join("."));
    place(&mut host, "bob", &deep).expect_err("one path makes four");
    let long = format!("root.{}", "x".repeat(2_000));
    let refusal = place(&mut host, "carol", &long).expect_err("too long");
    assert!(refusal.contains("1024"), "{refusal}");
    // Jobs that ran before a restart find their queues, however many there are.
    let recovering = json!({"op": "place", "user": "alice", "queue": "root.e", "recovering": true});
    assert_eq!(host.request(recovering)["path"], "root.e");
    place(&mut host, "alice", "root.f").expect_err("they count");
    expire(&mut host);
    host.now += EXPIRE_MS;
    expire(&mut host);
    place(&mut host, "alice", "root.d").expect("all of hers have expired");
}

/// The way to one share for each user, whatever queues they name.
#[test]
fn users_who_may_make_one_queue_have_one_share() {
    let mut host = Host::new(config("fair", 1));
    for _ in 0..4 {
        host.node(0, 10_240, 10);
    }
    let mut jobs = vec![("alice".to_string(), "root.alice".to_string())];
    jobs.extend((0..5).map(|n| ("mallory".to_string(), format!("root.mine{n}"))));
    let mut refused = 0;
    for (job, (user, queue)) in jobs.iter().enumerate() {
        match place(&mut host, user, queue) {
            Ok(id) => {
                host.job(job as u32, QueueId(id));
                host.ask(job as u32, 0, 100, 1_024);
            }
            Err(_) => refused += 1,
        }
    }
    assert_eq!(refused, 4);
    host.beat_all();
    assert_eq!((host.running(0), host.running(1)), (20, 20));
}

/// As under YARN's Fair Scheduler: whoever comes first decides what a name is.
#[test]
fn a_queue_below_a_users_name_leaves_the_user_without_a_queue() {
    let mut host = Host::new(config("fair", 100));
    place(&mut host, "mallory", "root.alice.x").expect("no such queue yet");
    let refusal = place(&mut host, "alice", "root.alice").expect_err("it is a parent");
    assert!(refusal.contains("root.alice"), "{refusal}");
    let mut guarded = config("fair", 100);
    guarded["queues"] = json!([{"path": "root.alice"}]);
    guarded["dynamic_queues"]["never"] = json!(["root.alice"]);
    let mut host = Host::new(guarded);
    place(&mut host, "mallory", "root.alice.x").expect_err("it is hers");
    place(&mut host, "alice", "root.alice").expect("it is configured");
}

#[test]
fn a_queue_that_is_configured_meanwhile_stays_and_counts_for_no_user() {
    let mut host = Host::new(config("fair", 1));
    place(&mut host, "alice", "root.a").expect("made");
    let mut with_a = config("fair", 1);
    with_a["queues"] = json!([{"path": "root.kept"}, {"path": "root.a"}]);
    host.request(json!({"op": "reload", "config": with_a}));
    expire(&mut host);
    host.now += EXPIRE_MS;
    assert!(expire(&mut host).is_empty());
    place(&mut host, "alice", "root.b").expect("root.a is not hers any more");
}

#[test]
fn a_queue_with_an_account_never_goes() {
    let mut host = Host::new(config("dynamic-priority", 100));
    place(&mut host, "alice", "root.alice").expect("made");
    host.step(&[Event::Tick]);
    host.request(json!({"op": "addBudget", "queue": "root.alice", "value": 5.0}));
    expire(&mut host);
    host.now += 100 * EXPIRE_MS;
    assert!(expire(&mut host).is_empty());
    assert!(paths(&mut host).contains(&"root.alice".to_string()));
}

/// Creates and abandons thousands of queues under a policy; returns the engine's final report.
fn made_and_left(policy: &str) -> String {
    let mut host = Host::new(config(policy, 10_000));
    let node = host.node(0, 1 << 20, 1 << 10);
    let mut said = String::new();
    for round in 0..6u32 {
        for i in 0..500u32 {
            let job = i % 50;
            let nested = if i % 7 == 0 { ".x.y" } else { "" };
            let path = format!("root.r{round}q{i}{nested}");
            let queue = QueueId(place(&mut host, &format!("u{}", i % 20), &path).expect("made"));
            if i < 50 {
                host.job(job, queue);
                host.ask(job, 0, 1, 1024);
            }
        }
        host.step(&[Event::Tick]);
        said += &format!("{:?}", host.beat(node));
        let running: Vec<_> = host
            .containers
            .iter()
            .map(|held| (held.0, held.1))
            .collect();
        for (job, key) in running {
            host.complete(job, key);
        }
        for job in 0..50 {
            host.step(&[Event::JobRemoved(JobId(job))]);
        }
        expire(&mut host);
        host.now += EXPIRE_MS;
        said += &expire(&mut host).join(",");
    }
    assert_eq!(paths(&mut host), ["root", "root.kept"], "{policy}");
    let ids = host.engine.cluster().queues.all().len();
    assert!(
        ids < 2 * 700,
        "{policy}: ids are given again, yet there are {ids}"
    );
    said + &state(&host.engine)
}

fn state(engine: &Engine) -> String {
    format!("{:?}", engine.save())
}

#[test]
fn thousands_of_queues_made_and_left_leave_nothing_and_replay_alike() {
    for preset in [
        "fair",
        "fair-original",
        "shufflewatcher",
        "fifo",
        "hfsp",
        "reverse-adaptive",
    ] {
        assert_eq!(made_and_left(preset), made_and_left(preset), "{preset}");
    }
    let drf = json!({"share": "drf", "order": "deficit", "place": "delay"});
    let mut host = Host::new(json!({"policy": drf, "dynamic_queues": {"expire_ms": EXPIRE_MS}}));
    place(&mut host, "alice", "root.a").expect("made");
    expire(&mut host);
    host.now += EXPIRE_MS;
    assert_eq!(expire(&mut host), ["root.a"]);
}

#[test]
fn a_report_comes_in_pages_that_are_the_whole() {
    let mut host = Host::new(config("fair", 100));
    for i in 0..20 {
        place(&mut host, "alice", &format!("root.q{i}")).expect("made");
    }
    let whole = host.request(json!({"op": "queues"}));
    assert_eq!(whole["next"], Value::Null);
    let mut pages = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let page = host.request(json!({"op": "queues", "from": at, "max": 6}));
        let queues = page["queues"].as_array().expect("a list");
        assert!(queues.len() <= 6);
        pages.extend(queues.clone());
        from = page["next"].as_u64();
    }
    assert_eq!(Value::Array(pages), whole["queues"]);
}

/// As YARN's Fair Scheduler, where a policy may not stand below another.
#[test]
fn no_submission_makes_a_queue_where_none_may_be() {
    let mut config = config("fair", 100);
    config["dynamic_queues"]["never"] = json!(["root.d", "root.kept"]);
    let mut host = Host::new(config);
    for queue in ["root.d", "root.d.e", "root.kept.e"] {
        let refusal = place(&mut host, "alice", queue).expect_err(queue);
        assert!(refusal.contains("dynamic_queues.never"), "{refusal}");
    }
    place(&mut host, "alice", "root.kept").expect("it is configured");
    place(&mut host, "alice", "root.dd").expect("another name");
}

/// By such a maximum sites close a queue. One in percent may come to 0 only for now.
#[test]
fn a_queue_with_a_maximum_of_0_takes_no_submission() {
    let mut host = Host::new(json!({
        "queues": [
            {"path": "root.closed", "max_share": {"memory-mb": 0, "vcores": 0}},
            {"path": "root.no_vcores", "max_share": {"vcores": 0}},
            {"path": "root.part", "max_share": "1%"},
            {"path": "root.above", "max_share": {"memory-mb": 0}, "max_child_share": "0%"},
            {"path": "root.above.below"}],
        "dynamic_queues": {"expire_ms": EXPIRE_MS},
    }));
    for queue in ["root.closed", "root.no_vcores"] {
        let refusal = place(&mut host, "alice", queue).expect_err(queue);
        assert!(refusal.contains("max_share is 0"), "{refusal}");
    }
    for queue in ["root.part", "root.above.below", "root.above.new"] {
        place(&mut host, "alice", queue).expect(queue);
    }
}
