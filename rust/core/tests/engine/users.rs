//! Limits by user and by number of applications: running jobs, submissions, a user's part of a
//! leaf. Numbers follow by hand from the set-up in each test; the calculation of a user's part is
//! tested beside it, in `model/user_limit.rs`.

use crate::common::{Host, plain_ask};
use heddle_core::Setup;
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::{JobId, QueueId};
use heddle_core::words::resource::Resource;
use proptest::prelude::*;
use serde_json::{Value, json};

const ALICE: u32 = 1;
const BOB: u32 = 2;

fn host(config: Value) -> Host {
    let users = json!({"alice": ALICE, "bob": BOB});
    Host::from_setup(&json!({"config": config, "users": users}))
}

fn runs(host: &mut Host, job: u32) -> bool {
    let report = host.request(json!({"op": "job", "job": job}));
    report["runnable"] == true
}

fn running_now(host: &mut Host, jobs: &[u32]) -> Vec<u32> {
    jobs.iter()
        .copied()
        .filter(|job| runs(host, *job))
        .collect()
}

fn end(host: &mut Host, job: u32) {
    host.complete_all(job);
    host.step(&[Event::JobRemoved(JobId(job))]);
}

fn place(host: &mut Host, request: Value) -> Result<Value, String> {
    let mut request = request;
    request["op"] = json!("place");
    host.engine
        .request(host.now, &request)
        .map_err(|error| error.0)
}

fn wait(host: &mut Host, job: u32) -> Value {
    let explained = host.request(json!({"op": "explain", "job": job}));
    json!([
        explained["waits"][0]["reason"],
        explained["waits"][0]["remedies"],
        explained["sentence"]
    ])
}

fn sentence(wait: &Value) -> &str {
    wait[2].as_str().expect("a sentence")
}

/// A user's limit counts over all queues, under every order, and takes nothing from jobs that run.
#[test]
fn a_user_runs_so_many_jobs_at_once_over_all_queues() {
    for order in heddle_core::catalogue::order_names() {
        let mut host = host(json!({
            "policy": {"order": order},
            "users": {"max_running_jobs": 2, "each": {"alice": {"max_running_jobs": 1}}},
            "queues": [{"path": "root.a"}, {"path": "root.b"}]
        }));
        let node = host.node(0, 8_192, 8);
        let (a, b) = (
            host.queue("x", Some("root.a")),
            host.queue("x", Some("root.b")),
        );
        let submitted = [
            (1, a, ALICE),
            (2, b, ALICE),
            (3, a, BOB),
            (4, b, BOB),
            (5, b, BOB),
        ];
        for (job, queue, user) in submitted {
            host.now += 10;
            host.user_job(job, queue, user);
            host.ask(job, 0, 1, 1_024);
        }
        assert_eq!(
            running_now(&mut host, &[1, 2, 3, 4, 5]),
            [1, 3, 4],
            "{order}"
        );
        host.beat(node);
        assert_eq!((host.running(2), host.running(5)), (0, 0), "{order}");
        let why = wait(&mut host, 2);
        assert_eq!(why[0]["user_jobs"]["max"], 1);
        assert_eq!(why[1][0]["user_running_jobs"]["limit"], 2);
        assert!(sentence(&why).contains("users.max_running_jobs"), "{why}");
        end(&mut host, 3);
        assert_eq!(running_now(&mut host, &[1, 2, 4, 5]), [1, 4, 5], "{order}");
        end(&mut host, 1);
        assert_eq!(running_now(&mut host, &[2, 4, 5]), [2, 4, 5], "{order}");
    }
}

#[test]
fn a_queue_runs_so_many_jobs_of_one_user() {
    let mut host = host(json!({"queues": [
        {"path": "root.a", "max_running_jobs_per_user": 1},
        {"path": "root.a.x"}, {"path": "root.a.y"}, {"path": "root.b"}
    ]}));
    let [x, y, b] = ["root.a.x", "root.a.y", "root.b"].map(|path| host.queue("u", Some(path)));
    for (job, queue, user) in [(1, x, ALICE), (2, y, ALICE), (3, y, BOB), (4, b, ALICE)] {
        host.user_job(job, queue, user);
    }
    host.ask(2, 0, 1, 1_024);
    host.node(0, 8_192, 8);
    assert_eq!(running_now(&mut host, &[1, 2, 3, 4]), [1, 3, 4]);
    let why = wait(&mut host, 2);
    assert!(
        sentence(&why).contains("max_running_jobs_per_user"),
        "{why}"
    );
    end(&mut host, 1);
    assert!(runs(&mut host, 2));
}

/// All waiting jobs stand in one line, whatever queue they are in: as the stock schedulers merge
/// the lists of their leaves by start time.
#[test]
fn the_job_that_was_submitted_first_is_let_in_first() {
    let mut host = host(json!({"queues": [
        {"path": "root.a", "max_running_jobs": 1}, {"path": "root.a.x"}, {"path": "root.a.y"}
    ]}));
    let [x, y] = ["root.a.x", "root.a.y"].map(|path| host.queue("u", Some(path)));
    for (job, queue) in [(1, x), (2, y), (3, x), (4, y)] {
        host.now += 10;
        host.job(job, queue);
    }
    let mut order = Vec::new();
    for _ in 0..4 {
        let now = running_now(
            &mut host,
            &[1, 2, 3, 4]
                .into_iter()
                .filter(|job| !order.contains(job))
                .collect::<Vec<u32>>(),
        );
        assert_eq!(now.len(), 1);
        order.extend(&now);
        end(&mut host, now[0]);
    }
    assert_eq!(order, [1, 2, 3, 4]);
}

#[test]
fn a_queue_takes_so_many_applications_and_refuses_the_next() {
    let mut host = host(json!({"queues": [
        {"path": "root", "max_jobs": 3}, {"path": "root.a", "max_jobs": 2, "max_running_jobs": 1},
        {"path": "root.b"}
    ]}));
    let [a, b] = ["root.a", "root.b"].map(|path| host.queue("u", Some(path)));
    for (job, queue) in [(1, a), (2, a)] {
        host.job(job, queue);
    }
    let submit = |host: &mut Host, queue: &str| {
        place(host, json!({"user": "u", "queue": queue})).map(|_| ())
    };
    let refusal = submit(&mut host, "root.a").expect_err("one runs, one waits");
    assert!(refusal.contains("root.a has 2 of 2"), "{refusal}");
    let foreseen = json!({"op": "foresee", "user": "u", "queue": "root.a"});
    let foreseen = host.request(foreseen);
    assert_eq!(foreseen["refused"], json!(refusal));
    assert_eq!(foreseen["about"], json!(["root.a"]));
    assert_eq!(submit(&mut host, "root.b"), Ok(()));
    host.job(3, b);
    let refusal = submit(&mut host, "root.b").expect_err("three in all");
    assert!(refusal.contains("root has 3 of 3"), "{refusal}");
    // A job that comes back after a restart has been accepted before.
    let back = json!({"user": "u", "queue": "root.b", "recovering": true});
    assert!(place(&mut host, back).is_ok());
    end(&mut host, 1);
    assert_eq!(submit(&mut host, "root.a"), Ok(()));
}

/// Capacity: of 10 applications a user has trunc(10 x 25 % x 2) = 5.
#[test]
fn a_user_has_a_part_of_the_applications_of_a_leaf() {
    let mut host = host(json!({"queues": [{
        "path": "root.a", "max_jobs": 10, "user_limit_percent": 25, "user_limit_factor": 2
    }]}));
    let a = host.queue("alice", Some("root.a"));
    let submit = |host: &mut Host, user: u32| {
        place(
            host,
            json!({"user": "x", "user_number": user, "queue": "root.a"}),
        )
        .is_ok()
    };
    for job in 1..=5 {
        assert!(submit(&mut host, ALICE), "{job}");
        host.user_job(job, a, ALICE);
    }
    assert!(!submit(&mut host, ALICE));
    assert!(submit(&mut host, BOB));
}

#[test]
fn a_stopped_queue_refuses_and_its_jobs_go_on() {
    let config = |state: &str| {
        let queue = json!({"path": "root.a", "state": state});
        json!({"queues": [queue, {"path": "root.a.x"}, {"path": "root.b"}]})
    };
    let mut host = host(config("running"));
    let node = host.node(0, 8_192, 8);
    let x = host.queue("u", Some("root.a.x"));
    host.job(1, x);
    host.ask(1, 0, 2, 1_024);
    for state in ["stopped", "draining"] {
        host.request(json!({"op": "reload", "config": config(state)}));
        for queue in ["root.a.x", "x"] {
            let refusal = place(&mut host, json!({"user": "u", "queue": queue}));
            let refusal = refusal.expect_err("it is inherited");
            assert!(refusal.contains(&format!("root.a is {state}")), "{refusal}");
        }
        let report = host.request(json!({"op": "queues"}));
        let shown = report["queues"].as_array().expect("a list").iter();
        let shown: Vec<&Value> = shown.map(|queue| &queue["state"]).collect();
        let drains = |shown: &&&Value| ***shown == json!("draining");
        assert_eq!(shown.iter().filter(drains).count(), 2, "a job is in both");
        // No queue is made below it either.
        assert!(place(&mut host, json!({"user": "u", "queue": "root.a.new"})).is_err());
    }
    assert_eq!(host.beat(node).len(), 2);
    host.request(json!({"op": "reload", "config": config("running")}));
    assert!(place(&mut host, json!({"user": "u", "queue": "root.a.x"})).is_ok());
}

/// Facts 6.3 and 6.4 of stock-capacity.md.
#[test]
fn priorities_and_lifetimes_come_from_the_nearest_queue() {
    let mut host = host(json!({"queues": [
        {"path": "root.a", "max_priority": 5, "lifetime_s": 50, "max_lifetime_s": 100},
        {"path": "root.a.x", "default_priority": 9, "max_lifetime_s": 40},
        {"path": "root.a.y"}, {"path": "root.b", "max_lifetime_s": 70}, {"path": "root.c"}
    ]}));
    let mut terms = |path: &str| {
        let reply = place(&mut host, json!({"user": "u", "queue": path})).expect("a leaf");
        let keys = [
            "default_priority",
            "max_priority",
            "lifetime_s",
            "max_lifetime_s",
        ];
        keys.map(|key| reply[key].as_i64())
    };
    assert_eq!(terms("root.a.x"), [Some(5), Some(5), Some(40), Some(40)]);
    assert_eq!(terms("root.a.y"), [None, Some(5), Some(50), Some(100)]);
    // Without a default the maximum is.
    assert_eq!(terms("root.b"), [None, None, Some(70), Some(70)]);
    assert_eq!(terms("root.c"), [None; 4]);
}

#[test]
fn priorities_of_users_are_those_of_the_leaf_and_of_workflows_the_nearest() {
    let rules = json!([{"who": "alice ops", "max": 5, "default": 1}]);
    let mut host = host(json!({"queues": [
        {"path": "root.a", "max_priorities": rules,
         "workflow_priorities": {"Nightly": 3, "report": 1}},
        {"path": "root.a.x", "max_priorities": rules, "workflow_priorities": {"report": 2}},
        {"path": "root.a.y"}
    ]}));
    let mut reply = |path: &str| place(&mut host, json!({"user": "u", "queue": path}));
    let x = reply("root.a.x").expect("a leaf");
    assert_eq!(x["max_priorities"], rules);
    assert_eq!(x["workflow_priorities"], json!({"nightly": 3, "report": 2}));
    let y = reply("root.a.y").expect("a leaf");
    assert_eq!(y["max_priorities"], Value::Null);
    assert_eq!(y["workflow_priorities"], json!({"nightly": 3, "report": 1}));
    for wrong in [
        json!([{"who": "alice"}]),
        json!([{"max": 5}]),
        json!("alice"),
    ] {
        let queues = json!([{"path": "root.a", "max_priorities": wrong}]);
        let setup = Setup::from_json(&json!({"config": {"queues": queues}}));
        let fault = setup.expect_err("a fault").to_string();
        assert!(fault.contains("max_priorities"), "{fault}");
    }
}

#[test]
fn the_highest_priority_of_all_queues_yields_to_one_in_a_queue_or_above_it() {
    let mut host = host(json!({
        "queue_defaults": {"max_priority": 0},
        "queues": [{"path": "root.a", "max_priority": 5}, {"path": "root.a.x"},
            {"path": "root.b"}]
    }));
    for (path, most) in [("root.a.x", 5), ("root.b", 0), ("root.new", 0)] {
        let reply = place(&mut host, json!({"user": "u", "queue": path})).expect("a leaf");
        assert_eq!(reply["max_priority"], most, "{path}");
    }
}

/// A cluster of 100 GB and 100 vcores in ten nodes.
fn ten_nodes(config: Value) -> Host {
    let mut host = host(config);
    for _ in 0..10 {
        host.node(0, 10_240, 10);
    }
    host
}

/// The leaf of section 4.5 of stock-capacity.md: 40 GB, with more keys.
fn leaf(keys: Value) -> Value {
    let mut queue = json!({
        "path": "root.a", "min_share": {"memory-mb": 40_960, "vcores": 40},
        "max_share": {"memory-mb": 81_920, "vcores": 80}
    });
    for (key, value) in keys.as_object().expect("keys") {
        queue[key] = value.clone();
    }
    json!({"share": {"dominant": true}, "queues": [queue, {"path": "root.b"}]})
}

fn two_users(host: &mut Host) {
    let a = host.queue("alice", Some("root.a"));
    for (job, user) in [(1, ALICE), (2, BOB)] {
        host.user_job(job, a, user);
        host.ask(job, 0, 100, 1_024);
    }
}

/// By hand: factor 0.25 of 40 GB is 10 GB, and a user at the limit gets one more container.
#[test]
fn a_user_stops_above_the_limit_and_goes_on_below_it() {
    let mut host = ten_nodes(leaf(
        json!({"user_limit_percent": 25, "user_limit_factor": 0.25}),
    ));
    two_users(&mut host);
    host.beat_all();
    assert_eq!((host.running(1), host.running(2)), (11, 11));
    assert!(host.engine.is_idle(), "held asks are out of the backlog");
    let why = wait(&mut host, 1);
    assert_eq!(why[0]["user_limit"]["used"], 11_264);
    assert_eq!(why[0]["user_limit"]["max"], 10_240);
    // With 0.3 the limit is 12288, in steps of 1 GB: above 11 GB.
    assert_eq!(why[1][0]["user_factor"]["tenths"], 3);
    assert!(sentence(&why).contains("user_limit_factor"), "{why}");
    let report = host.request(json!({"op": "queues"}));
    let queues = report["queues"].as_array().expect("a list");
    let users = queues
        .iter()
        .find_map(|queue| queue["users"].as_array())
        .expect("one leaf");
    let row = |user: &Value| (user["user"].clone(), user["limit"]["memory-mb"].clone());
    let rows: Vec<_> = users.iter().map(row).collect();
    assert_eq!(
        rows,
        [(json!(ALICE), json!(10_240)), (json!(BOB), json!(10_240))]
    );
    host.tick();
    assert_eq!(host.headrooms[&1], Resource::new(0, 0));
    // At 10 GB one more is allowed, and then no more.
    let key = host
        .containers
        .iter()
        .find(|c| c.0 == 1)
        .expect("it runs")
        .1;
    host.complete(1, key);
    host.beat_all();
    assert_eq!((host.running(1), host.running(2)), (11, 11));
    // Another queue is not limited by this.
    let b = host.queue("alice", Some("root.b"));
    host.user_job(3, b, ALICE);
    host.ask(3, 0, 20, 1_024);
    host.beat_all();
    assert_eq!(host.running(3), 20);
}

/// By hand: with factor 2 the part decides. Both ask, so each may have half of what both use and
/// one container more; together they fill the leaf's 80 GB. When bob asks for nothing more, alice
/// may have all that she uses and one more.
#[test]
fn users_share_a_leaf_equally_while_they_ask() {
    let mut host = ten_nodes(leaf(
        json!({"user_limit_percent": 25, "user_limit_factor": 2}),
    ));
    two_users(&mut host);
    host.beat_all();
    let (alice, bob) = (host.running(1), host.running(2));
    assert_eq!(alice + bob, 80);
    assert!(alice.abs_diff(bob) <= 2, "{alice} and {bob}");
    host.ask(2, 0, 0, 1_024);
    for key in host
        .containers
        .iter()
        .filter(|c| c.0 == 2)
        .map(|c| c.1)
        .collect::<Vec<u64>>()
    {
        host.complete(2, key);
    }
    host.beat_all();
    assert_eq!(host.running(1), 80);
}

/// By hand: weights 3 and 1 of 80 GB are 60 and 20, and one container more or less.
#[test]
fn a_user_of_more_weight_has_more() {
    let mut config = leaf(json!({"user_limit_percent": 1, "user_limit_factor": 9}));
    let everywhere = json!({"each": {"alice": {"weight": 3}}});
    // In the queue, or above it: that goes over the weight that the user has anywhere.
    let here = json!({"alice": 3, "bob": 1});
    for (users, of_leaf, of_root) in [
        (everywhere.clone(), json!({}), json!({})),
        (
            json!({"each": {"bob": {"weight": 7}}}),
            here.clone(),
            json!({"bob": 9}),
        ),
        (json!({}), json!({}), here),
    ] {
        config["users"] = users;
        config["queues"][0]["user_weights"] = of_leaf;
        config["queues"][1] = json!({"path": "root", "user_weights": of_root});
        let mut host = ten_nodes(config.clone());
        two_users(&mut host);
        host.beat_all();
        let (alice, bob) = (host.running(1), host.running(2));
        assert_eq!(alice + bob, 80, "{config}");
        assert!(bob.abs_diff(20) <= 1, "{alice} and {bob}: {config}");
    }
}

/// By hand: a tenth of 40 GB for masters, half of it for each of two users: 2 GB. The leaf itself
/// may have 10 GB of masters.
#[test]
fn masters_of_a_user_are_limited_too() {
    let mut host = ten_nodes(leaf(json!({
        "user_limit_percent": 50, "user_limit_factor": 1, "max_am_share": 0.1
    })));
    let a = host.queue("alice", Some("root.a"));
    for job in 1..=8 {
        host.user_job(job, a, if job % 2 == 0 { ALICE } else { BOB });
        host.ask_facts(AskFacts {
            am: true,
            priority: 0,
            ..plain_ask(job, 0, 1, 1_024)
        });
    }
    host.beat_all();
    let started = (1..=8).filter(|job| host.running(*job) == 1).count();
    assert_eq!(started, 4);
    let waits = (1..=8)
        .find(|job| host.running(*job) == 0)
        .expect("four wait");
    let why = wait(&mut host, waits);
    assert_eq!(why[0]["user_masters"]["max"], 2_048);
    // 0.15 gives 3 GB; any more than 0.1 is rounded up to it.
    assert_eq!(why[1][0]["master_share"]["per_mille"], 101);
    let ended = (1..=8).find(|job| host.running(*job) == 1 && job % 2 == waits % 2);
    let ended = ended.expect("two of the user run");
    end(&mut host, ended);
    host.beat_all();
    let now = (1..=8)
        .filter(|job| *job != ended && host.running(*job) == 1)
        .count();
    assert_eq!(now, 4);
}

#[test]
fn a_reload_without_the_limits_releases_everything() {
    let mut host = ten_nodes(leaf(
        json!({"user_limit_factor": 0.25, "user_limit_percent": 1}),
    ));
    two_users(&mut host);
    host.beat_all();
    assert_eq!(host.running(1), 11);
    host.request(json!({"op": "reload", "config": leaf(json!({}))}));
    host.engine.check_invariants().expect("the books are right");
    host.beat_all();
    assert_eq!(host.running(1) + host.running(2), 80);
    let again = leaf(json!({"user_limit_factor": 0.25, "user_limit_percent": 1}));
    host.request(json!({"op": "reload", "config": again}));
    host.complete_all(1);
    host.beat_all();
    assert_eq!(host.running(1), 11);
}

/// What a random cluster does.
#[derive(Clone, Debug)]
enum Act {
    Submit { user: u32, leaf: usize },
    Ask { job: u32, count: u32, gb: i64 },
    Beat(u32),
    EndOne(usize),
    EndJob(u32),
    Move { job: u32, leaf: usize },
    Node,
    Reload(bool),
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (1..4u32, 0..3usize).prop_map(|(user, leaf)| Act::Submit { user, leaf }),
        6 => (0..12u32, 0..6u32, 1..4i64).prop_map(|(job, count, gb)| Act::Ask { job, count, gb }),
        8 => (0..4u32).prop_map(Act::Beat),
        4 => (0..40usize).prop_map(Act::EndOne),
        1 => (0..12u32).prop_map(Act::EndJob),
        1 => (0..12u32, 0..3usize).prop_map(|(job, leaf)| Act::Move { job, leaf }),
        1 => Just(Act::Node),
        1 => any::<bool>().prop_map(Act::Reload),
    ]
}

fn three_leaves(limited: bool) -> Value {
    let mut config = json!({
        "users": {"max_running_jobs": 3, "each": {"alice": {"weight": 2}}},
        "queues": [
            {"path": "root.a", "min_share": {"memory-mb": 6_144, "vcores": 6}, "max_am_share": 0.3},
            {"path": "root.b"}, {"path": "root.c", "max_running_jobs_per_user": 1}
        ]
    });
    if limited {
        config["queues"][0]["user_limit_percent"] = json!(30);
        config["queues"][0]["user_limit_factor"] = json!(0.5);
        config["queues"][1]["user_limit_percent"] = json!(50);
    }
    config
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After every step the books are those of the jobs, by the invariants, which the host checks;
    /// and nobody who is above the limit gets more.
    #[test]
    fn the_books_of_users_follow_the_jobs(acts in proptest::collection::vec(any_act(), 1..120)) {
        let mut host = host(three_leaves(true));
        for _ in 0..2 {
            host.node(0, 8_192, 8);
        }
        let leaves: Vec<QueueId> = ["root.a", "root.b", "root.c"]
            .map(|path| host.queue("u", Some(path))).to_vec();
        let mut jobs: Vec<u32> = Vec::new();
        for act in acts {
            host.now += 100;
            let known = |job: u32| jobs.get(job as usize % jobs.len().max(1)).copied();
            match act {
                Act::Submit { user, leaf } if jobs.len() < 12 => {
                    let job = (0..).find(|job| !jobs.contains(job)).expect("a number");
                    jobs.push(job);
                    host.user_job(job, leaves[leaf], user);
                    host.ask_facts(AskFacts {
                        am: true,
                        priority: 0,
                        ..plain_ask(job, 0, 1, 1_024)
                    });
                }
                Act::Ask { job, count, gb } => {
                    if let Some(job) = known(job) {
                        host.ask(job, gb as u32, count, gb * 1_024);
                    }
                }
                Act::Beat(node) if (node as usize) < host.nodes() => {
                    host.beat(node);
                }
                Act::EndOne(at) => {
                    if let Some((job, key, ..)) = host.containers.get(at).copied() {
                        host.complete(job, key);
                    }
                }
                Act::EndJob(job) => {
                    if let Some(job) = known(job) {
                        end(&mut host, job);
                        jobs.retain(|other| *other != job);
                    }
                }
                Act::Move { job, leaf } => {
                    if let Some(job) = known(job) {
                        let queue = leaves[leaf];
                        host.step(&[Event::JobMoved { job: JobId(job), queue }]);
                    }
                }
                Act::Node if host.nodes() < 4 => {
                    host.node(0, 8_192, 8);
                }
                Act::Reload(limited) => {
                    let users = json!({"alice": ALICE, "bob": BOB});
                    let config = three_leaves(limited);
                    host.request(json!({"op": "reload", "config": config, "users": users}));
                }
                _ => {}
            }
            host.engine.check_invariants().expect("the books are right");
        }
    }
}
