//! ApplicationMasters that start in a line, and queues that submissions make from a template, as
//! YARN's Capacity Scheduler has them. Numbers follow by hand from the set-up in each test.

use crate::common::{Host, plain_ask};
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::JobId;
use serde_json::{Value, json};

/// Ten nodes of 10 GB and 10 vcores.
fn ten_nodes(queues: Value) -> Host {
    let leaves = json!([{"rule": "specified", "names": "leaves"}]);
    let config = json!({"share": {"dominant": true}, "queues": queues, "placement": leaves});
    let mut host = Host::from_setup(&json!({"config": config}));
    for _ in 0..10 {
        host.node(0, 10_240, 10);
    }
    host
}

fn place(host: &mut Host, path: &str) -> Result<Value, String> {
    let request = json!({"op": "place", "user": "u", "user_number": 1, "queue": path});
    let placed = host.engine.request(host.now, &request);
    placed.map_err(|error| error.0)
}

/// Of the 100 GB that the leaf could use a tenth is for masters: 10 GB. Of its own 40 GB a tenth
/// is for those of one user: 4 GB. So two users have four each, and the third has two.
#[test]
fn masters_start_in_a_line_as_far_as_the_leaf_and_the_user_have_room() {
    let mut host = ten_nodes(json!([
        {"path": "root", "compare": "capacity"},
        {"path": "root.a", "min_share": {"memory-mb": 40_960, "vcores": 40}, "max_am_share": 0.1,
         "user_limit_percent": 100, "user_limit_factor": 1},
        {"path": "root.b"}
    ]));
    let a = host.queue("u", Some("root.a"));
    for job in 0..18 {
        host.user_job(job, a, job / 6);
        host.ask_facts(AskFacts {
            am: true,
            priority: 0,
            ..plain_ask(job, 0, 1, 1_024)
        });
    }
    host.beat_all();
    let started =
        |host: &Host| -> Vec<u32> { (0..18).filter(|job| host.running(*job) == 1).collect() };
    assert_eq!(started(&host), [0, 1, 2, 3, 6, 7, 8, 9, 12, 13]);
    let why = |host: &mut Host, job: u32| -> Value {
        host.request(json!({"op": "explain", "job": job}))["waits"][0]["reason"].clone()
    };
    assert_eq!(why(&mut host, 4)["user_masters"]["max"], 4_096);
    assert_eq!(why(&mut host, 14)["master_limit"]["max"], 10_240);
    // The first in the line that has room is the next.
    host.complete_all(0);
    host.step(&[Event::JobRemoved(JobId(0))]);
    host.beat_all();
    assert_eq!(started(&host), [1, 2, 3, 4, 6, 7, 8, 9, 12, 13]);
    host.engine.check_invariants().expect("the books are right");
}

/// With 60 GB and 60 vcores in use by others a leaf of 40 GB could have used 40 GB and, before the
/// last container came, 1 GB more: 4.1 GB for masters, 5 GB in whole steps. That stays so when
/// those containers end, until queues are looked at again.
#[test]
fn containers_that_end_start_no_master_before_the_next_look() {
    let mut host = ten_nodes(json!([
        {"path": "root", "compare": "capacity"},
        {"path": "root.a", "min_share": {"memory-mb": 40_960, "vcores": 40}, "max_am_share": 0.1,
         "user_limit_percent": 100, "user_limit_factor": 9},
        {"path": "root.b", "min_share": {"memory-mb": 61_440, "vcores": 60}}
    ]));
    let [a, b] = ["root.a", "root.b"].map(|path| host.queue("u", Some(path)));
    host.user_job(0, a, 0);
    host.ask(0, 0, 100, 1_024);
    host.user_job(1, b, 1);
    host.ask(1, 0, 100, 1_024);
    host.beat_all();
    assert_eq!((host.running(0), host.running(1)), (40, 60));
    host.ask(1, 0, 0, 1_024);
    host.complete_all(1);
    for job in 2..10 {
        host.user_job(job, a, 0);
        host.ask_facts(AskFacts {
            am: true,
            priority: 0,
            ..plain_ask(job, 0, 1, 1_024)
        });
    }
    host.beat_all();
    let started = (2..10).filter(|job| host.running(*job) == 1).count();
    assert_eq!(started, 5);
}

/// With a part of 0 one ApplicationMaster runs at a time, in a line and without one, whether nodes
/// report or jobs ask.
#[test]
fn with_no_part_for_masters_one_runs_at_a_time() {
    for limits in [
        json!({}),
        json!({"user_limit_percent": 100, "user_limit_factor": 1}),
    ] {
        for offers in [false, true] {
            let mut a = json!({"path": "root.a", "max_am_share": 0,
                "min_share": {"memory-mb": 40_960, "vcores": 40}});
            for (key, value) in limits.as_object().expect("keys of a queue") {
                a[key] = value.clone();
            }
            let root = json!({"path": "root", "compare": "capacity"});
            let mut host = ten_nodes(json!([root, a, {"path": "root.b"}]));
            let a = host.queue("u", Some("root.a"));
            for job in 0..5 {
                host.user_job(job, a, job);
                host.ask_facts(AskFacts {
                    am: true,
                    priority: 0,
                    ..plain_ask(job, 0, 1, 1_024)
                });
                if offers {
                    let granted = host.offer_unanswered(job);
                    for grant in granted {
                        host.commit(grant);
                    }
                }
            }
            for next in 0..5 {
                host.now += 1_000;
                host.tick();
                host.beat_all();
                let running: Vec<u32> = (0..5).filter(|job| host.running(*job) == 1).collect();
                assert_eq!(running, [next], "{limits}, offers {offers}");
                host.complete_all(next);
                host.step(&[Event::JobRemoved(JobId(next))]);
            }
        }
    }
}

/// Half of 100 GB: two leaves of 40 % have their guarantee, and a third has none.
#[test]
fn new_leaves_are_like_their_template_while_guarantees_last() {
    let mut host = ten_nodes(json!([
        {"path": "root", "compare": "capacity"},
        {"path": "root.p", "min_share": "50% of parent", "dynamic_depth": 1, "compare": "capacity",
         "new_leaf": {"min_share": "40% of parent", "max_jobs": 1, "acl_submit": "ann"}}
    ]));
    let foreseen = json!({"op": "foresee", "user": "u", "queue": "root.p.a"});
    let foreseen = host.request(foreseen);
    assert_eq!(foreseen["rights"], json!(["ann", " "]));
    for path in ["root.p.a", "root.p.b", "root.p.c"] {
        place(&mut host, path).expect(path);
    }
    host.tick();
    let report = host.request(json!({"op": "queues"}));
    let guaranteed = |path: &str| {
        let queues = report["queues"].as_array().expect("a list");
        let queue = queues.iter().find(|queue| queue["path"] == path);
        queue.expect(path)["guaranteed"]["memory-mb"].clone()
    };
    assert_eq!(guaranteed("root.p.a"), 20_480);
    assert_eq!(guaranteed("root.p.b"), 20_480);
    assert_eq!(guaranteed("root.p.c"), 0);
    let a = host.queue("u", Some("root.p.a"));
    host.user_job(0, a, 1);
    assert!(place(&mut host, "root.p.a").is_err(), "it takes one job");
}

/// A weight of 3 beside 1 is three quarters of the cluster, and of 8 jobs 6.
#[test]
fn a_leaf_takes_its_part_of_the_jobs_and_a_mapped_queue_no_named_one() {
    let mut host = ten_nodes(json!([
        {"path": "root", "compare": "capacity"},
        {"path": "root.a", "weight": 3, "max_jobs_by_share": 8},
        {"path": "root.p", "dynamic_depth": 1, "mapped_only": true}
    ]));
    let a = host.queue("u", Some("root.a"));
    for job in 0..6 {
        place(&mut host, "root.a").expect("room for another");
        host.user_job(job, a, 1);
    }
    let refusal = place(&mut host, "root.a").expect_err("it has six");
    assert!(refusal.contains("6 of 6"), "{refusal}");
    let refusal = place(&mut host, "root.p.x").expect_err("no mapping leads there");
    assert!(refusal.contains("mapped_only"), "{refusal}");
}

/// Guarantees of 40 % fit twice, and the third leaf has none: of 100 jobs it takes 0.
#[test]
fn a_refused_submission_leaves_no_queue() {
    let leaf = json!({"min_share": "40% of parent", "max_jobs_by_share": 100});
    let parent = json!({"min_share": "40% of parent", "compare": "capacity", "new_leaf": leaf});
    let mut host = ten_nodes(json!([
        {"path": "root", "compare": "capacity"},
        {"path": "root.p", "min_share": "50% of parent", "dynamic_depth": 2, "compare": "capacity",
         "new_leaf": leaf, "new_parent": parent}
    ]));
    let report = |host: &mut Host| host.request(json!({"op": "queues"}))["queues"].clone();
    for path in ["root.p.a", "root.p.b"] {
        place(&mut host, path).expect(path);
    }
    let before = report(&mut host);
    // The second makes a parent too, which would have no guarantee either.
    for path in ["root.p.c", "root.p.d.e"] {
        let refusal = place(&mut host, path).expect_err(path);
        assert!(refusal.contains("0 of 0 applications"), "{refusal}");
        host.engine.check_invariants().expect("the books are right");
        assert_eq!(report(&mut host), before, "{path}");
    }
    // A job from before a restart needs its queue, which stays when it takes no other job.
    let recovering = json!({"op": "place", "user": "u", "queue": "root.p.c", "recovering": true});
    let c = host.request(recovering);
    let before = report(&mut host);
    place(&mut host, "root.p.c").expect_err("it takes no job");
    assert_eq!(report(&mut host), before);
    let ids = before.as_array().expect("a list").len();
    assert_eq!(c["queue"], ids as u64 - 1, "the id was free again");
}
