//! The engine's expectations of jobs against calculations by hand: before any learning the middle
//! of a band is the result of the look ahead. `sim/tests/simulator/foresight.rs` tests how well
//! bands hold over a day.

use crate::common::{Host, host_of, plain_ask};
use heddle_core::words::event::{AskFacts, Event, JobHints};
use heddle_core::words::ids::*;
use serde_json::{Value, json};

const MAP_MS: Millis = 10_000;

/// Builds two slots of 1,024 MB, with jobs one after the other.
fn host(policy: &str) -> Host {
    let mut host = Host::new(json!({"policy": policy, "heartbeat_fill": 1.0}));
    host.node(0, 2 * 1_024, 64);
    host
}

/// Submits a job whose profile gives its maps 10 s.
fn submit(host: &mut Host, job: u32, maps: u32, reduces: Option<u32>) {
    let queue = host.queue("ada", None);
    host.job(job, queue);
    let hints = JobHints {
        tasks: [Some(maps), reduces],
        task_ms: [Some(MAP_MS), Some(2 * MAP_MS)],
        ..JobHints::default()
    };
    let job = JobId(job);
    host.step(&[Event::JobHints { job, hints }]);
    host.ask(job.0, 0, maps, 1_024);
    host.step(&[Event::Tick]);
}

/// Returns the expected start and end of a job, in ms from now.
fn expected(host: &mut Host, job: u32) -> (Option<Millis>, Millis) {
    let reply = host.request(json!({"op": "predict", "job": job}));
    assert_eq!(reply["jobs"].as_array().map(Vec::len), Some(1), "{reply}");
    let row = &reply["jobs"][0];
    let from_now = |time: &Value| time["expected_ms"].as_i64().map(|at| at - host.now);
    (
        from_now(&row["start"]),
        from_now(&row["end"]).expect("every job ends"),
    )
}

/// Compares roughly, because ends are rounded to a part of a task's length.
fn assert_near(value: Millis, expected: Millis) {
    assert!(
        (value - expected).abs() <= MAP_MS / 16,
        "{value} instead of {expected}"
    );
}

#[test]
fn jobs_in_line_wait_for_those_before_them() {
    let mut host = host("fifo");
    submit(&mut host, 1, 4, None);
    submit(&mut host, 2, 2, Some(1));
    // 4 maps on 2 slots: 20 s. Then 2 maps, 10 s, and a reduce, 20 s.
    let (start, end) = expected(&mut host, 1);
    assert_eq!(start, Some(0));
    assert_near(end, 20_000);
    let (start, end) = expected(&mut host, 2);
    assert_near(start.expect("it has not started"), 20_000);
    assert_near(end, 50_000);
}

#[test]
fn what_runs_counts_from_when_it_started() {
    let mut host = host("fifo");
    submit(&mut host, 1, 2, None);
    host.beat(0);
    host.now += 4_000;
    assert_eq!(expected(&mut host, 1).0, None, "it has started");
    assert_near(expected(&mut host, 1).1, 6_000);
    // Far overdue: half as long again as it has run.
    host.now += 36_000;
    assert_near(expected(&mut host, 1).1, 20_000);
}

/// Deficits serve all jobs at once. Of 40 s and 20 s of work on two slots each has one slot. The
/// smaller ends after 20 s. Then the other gets both slots and ends after 30.
#[test]
fn jobs_that_share_end_in_order_of_their_work() {
    let mut host = host("fair");
    submit(&mut host, 1, 4, None);
    submit(&mut host, 2, 2, None);
    assert_near(expected(&mut host, 2).1, 20_000);
    assert_near(expected(&mut host, 1).1, 30_000);
}

#[test]
fn promises_are_judged_when_jobs_have_done_all_that_they_asked_for() {
    let mut host = host("fifo");
    submit(&mut host, 1, 2, None);
    submit(&mut host, 2, 1, None);
    host.beat(0);
    host.now += MAP_MS;
    host.complete_all(1);
    host.step(&[Event::JobRemoved(JobId(1))]);
    // Job 2 is killed early: its prediction is not judged.
    host.step(&[Event::JobRemoved(JobId(2))]);
    let judged = host.request(json!({"op": "predict"}))["judged"].clone();
    assert_eq!(
        judged["ends"],
        json!({"sooner": 0, "inside": 1, "later": 0})
    );
    // It had one band for its start, which came at once.
    assert_eq!(
        judged["starts"],
        json!({"sooner": 0, "inside": 1, "later": 0})
    );
}

#[test]
fn who_is_unknown_is_named() {
    let mut host = host("fifo");
    let refused = host.engine.request(0, &json!({"op": "predict", "job": 7}));
    assert_eq!(
        refused.expect_err("there is none").0,
        "key `job`: no job has number 7"
    );
    let nobody = host.request(json!({"op": "predict"}));
    assert_eq!(nobody["jobs"], json!([]));
}

/// What a job gets instead of a prediction: the name of the reason, and the sentence.
fn barred(host: &mut Host, job: u32) -> (String, String) {
    let reply = host.request(json!({"op": "predict", "job": job}));
    assert_eq!(reply["jobs"], json!([]), "no start and no end: {reply}");
    let row = &reply["cannot_start"][0];
    let reason = row["reason"].as_object().expect("one key");
    let name = reason.keys().next().expect("one").clone();
    let listed = host.request(json!({"op": "jobs", "from": job, "max": 1}));
    assert_eq!(listed["jobs"][0]["prediction"], Value::Null);
    assert_eq!(listed["jobs"][0]["waits_for"], row["sentence"]);
    (
        name,
        row["sentence"].as_str().expect("a sentence").to_string(),
    )
}

#[test]
fn jobs_that_cannot_start_get_a_reason_and_no_start() {
    let config = json!({"policy": "fair", "queues": [
        {"path": "root.small", "max_share": {"memory-mb": 512}},
        {"path": "root.none", "max_running_jobs": 0},
        {"path": "root.a"}
    ]});
    let mut host = Host::new(config);
    let submit = |host: &mut Host, job: u32, queue: &str, mb: i64, label: u32| {
        let queue = host.queue("ada", Some(queue));
        host.job(job, queue);
        host.ask_facts(AskFacts {
            partition: PartitionId(label),
            ..plain_ask(job, 0, 2, mb)
        });
        host.tick();
    };
    submit(&mut host, 1, "root.a", 1_024, 0);
    let (reason, text) = barred(&mut host, 1);
    assert_eq!(reason, "no_nodes");
    assert_eq!(
        text,
        "waits: no node is up; a node of 1024 MB and 1 vcores would do"
    );
    host.node(0, 2_048, 8);
    assert_eq!(expected(&mut host, 1).0, Some(0), "now it can");
    submit(&mut host, 2, "root.small", 1_024, 0);
    assert_eq!(barred(&mut host, 2).0, "queue_limit");
    submit(&mut host, 3, "root.a", 4_096, 0);
    assert_eq!(barred(&mut host, 3).0, "too_large");
    submit(&mut host, 4, "root.a", 1_024, 7);
    assert_eq!(barred(&mut host, 4).0, "no_nodes");
    submit(&mut host, 5, "root.none", 1_024, 0);
    assert_eq!(barred(&mut host, 5).0, "job_limit");
    submit(&mut host, 6, "root.a", 1_024, 0);
    let (job, place, added) = (JobId(6), host_of(0), true);
    host.step(&[Event::Blacklist { job, place, added }]);
    assert_eq!(barred(&mut host, 6).0, "blacklisted");
    // Nothing of this is learnt from, nor in the way of others.
    assert_eq!(expected(&mut host, 1).0, Some(0));
    let reply = host.request(json!({"op": "predict"}));
    let numbers = |key: &str| -> Vec<u64> {
        let rows = reply[key].as_array().expect("a list").iter();
        rows.filter_map(|row| row["job"].as_u64()).collect()
    };
    assert_eq!(numbers("jobs"), [1]);
    let mut barred = numbers("cannot_start");
    barred.sort_unstable();
    assert_eq!(barred, [2, 3, 4, 5, 6]);
}

/// The ApplicationMaster asks for three times what is done: each end is a quarter of all. Two
/// predictions are judged, the first and that of the first quarter.
#[test]
fn a_job_that_grows_for_ever_is_predicted_twice() {
    let mut host = host("fifo");
    submit(&mut host, 1, 8, None);
    for done in 1..=30 {
        host.beat(0);
        host.now += 2_000;
        let (_, key, ..) = host.containers[0];
        // One of the two that run ends, the other counts among what is left.
        host.ask(1, 0, 3 * done - 1, 1_024);
        host.complete(1, key);
        host.tick();
    }
    host.ask(1, 0, 0, 1_024);
    host.complete_all(1);
    host.step(&[Event::JobRemoved(JobId(1))]);
    let ends = host.request(json!({"op": "predict"}))["judged"]["ends"].clone();
    let judged = ["sooner", "inside", "later"].map(|how| ends[how].as_u64().expect("a number"));
    assert_eq!(judged.iter().sum::<u64>(), 2, "{ends}");
}
