//! The engine's expectations of jobs against calculations by hand: before any learning the middle
//! of a band is the result of the look ahead. `sim/tests/simulator/foresight.rs` tests how well
//! bands hold over a day.

use crate::common::Host;
use heddle_core::words::event::{Event, JobHints};
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
