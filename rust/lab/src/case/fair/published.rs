//! Tests FS-26 and FS-25 through `heddle-lab case fair`. The numbers are those of the published
//! unit tests of HADOOP-3746 (two nodes with two map and two reduce slots: four of a kind), or
//! computed by hand beside them.

use serde_json::{Value, json};

fn log(case: Value) -> Vec<Value> {
    let answer = super::answer(&case, "$").expect("a good case");
    answer["log"].as_array().expect("a log").clone()
}

/// Returns one column of a row, in order of job names.
fn column(row: &Value, key: &str) -> Vec<f64> {
    let jobs = row["jobs"].as_object().expect("jobs by name");
    let number = |job: &Value| job[key].as_f64().expect("a number");
    jobs.values().map(number).collect()
}

#[track_caller]
fn near(row: &Value, key: &str, expected: &[f64]) {
    let found = column(row, key);
    let close = found
        .iter()
        .zip(expected)
        .all(|(found, expected)| (found - expected).abs() < 1e-9);
    assert!(
        close && found.len() == expected.len(),
        "{key}: {found:?}, not {expected:?}"
    );
}

fn submit(job: &str, pool: &str) -> Value {
    json!({"op": "submit", "job": job, "tasks": 10, "pool": pool})
}

fn advance(ms: u32) -> Value {
    json!({"op": "advance", "ms": ms})
}

fn assign() -> Value {
    json!({"op": "assign"})
}

fn finish(job: &str) -> Value {
    json!({"op": "finish", "job": job, "n": 4})
}

/// `testLargeJobs`. It ends tasks before their run time has passed, because the counts of the last
/// update hold.
#[test]
fn a_large_jobs() {
    let submits = [
        submit("j1", "default"),
        advance(100),
        submit("j2", "default"),
    ];
    let published = [
        assign(),
        finish("j1"),
        advance(200),
        assign(),
        finish("j2"),
        advance(50),
        assign(),
    ];
    let steps = [&submits[..], &published[..]].concat();
    let log = log(json!({"slots": 4, "steps": steps}));
    near(&log[0], "share", &[4.0]);
    near(&log[2], "share", &[2.0, 2.0]);
    near(&log[2], "deficit", &[400.0, 0.0]);
    assert_eq!(log[3]["assigned"], json!(["j1", "j1", "j1", "j1"]));
    near(&log[5], "deficit", &[0.0, 400.0]);
    assert_eq!(log[6]["assigned"], json!(["j2", "j2", "j2", "j2"]));
    near(&log[8], "deficit", &[100.0, 300.0]);
    assert_eq!(log[9]["assigned"], json!(["j2", "j2", "j2", "j2"]));
    assert_eq!(log[9]["t"], 350);
}

/// The same, but tasks end when their time has passed: the numbers must not differ.
#[test]
fn a_large_jobs_with_tasks_that_end_in_time() {
    let steps = [
        submit("j1", "default"),
        advance(100),
        submit("j2", "default"),
        assign(),
        advance(200),
        finish("j1"),
        assign(),
        advance(50),
        finish("j2"),
        assign(),
    ];
    let log = log(json!({"slots": 4, "steps": steps}));
    near(&log[4], "deficit", &[0.0, 400.0]);
    assert_eq!(log[6]["assigned"], json!(["j2", "j2", "j2", "j2"]));
    near(&log[7], "deficit", &[100.0, 300.0]);
    assert_eq!(log[9]["assigned"], json!(["j2", "j2", "j2", "j2"]));
}

/// `testJobsWithPriorities`.
#[test]
fn b_priorities_are_weights() {
    let mut high = submit("j2", "default");
    high["priority"] = json!("HIGH");
    let steps = [submit("j1", "default"), high, advance(100), assign()];
    let log = log(json!({"slots": 4, "steps": steps}));
    near(&log[1], "share", &[4.0 / 3.0, 8.0 / 3.0]);
    near(&log[2], "deficit", &[400.0 / 3.0, 800.0 / 3.0]);
    assert_eq!(log[3]["assigned"], json!(["j2", "j2", "j2", "j2"]));
}

/// `testLargeJobsWithPools`, maps; the reduces are the same with the minimums exchanged.
#[test]
fn c_pools_with_minimums() {
    let steps = [
        submit("j1", "default"),
        advance(200),
        submit("j2", "a"),
        submit("j3", "b"),
        advance(100),
        assign(),
    ];
    let maps = log(json!({
        "slots": 4, "pools": {"a": {"min": 1}, "b": {"min": 2}}, "steps": &steps[..]
    }));
    near(&maps[1], "deficit", &[800.0]);
    near(&maps[3], "min", &[0.0, 1.0, 2.0]);
    near(&maps[3], "share", &[1.0, 1.0, 2.0]);
    near(&maps[4], "deficit", &[900.0, 100.0, 200.0]);
    assert_eq!(maps[5]["assigned"], json!(["j3", "j3", "j2", "j1"]));
    let reduces = log(json!({
        "slots": 4, "pools": {"a": {"min": 2}, "b": {"min": 1}}, "steps": &steps[..]
    }));
    near(&reduces[4], "deficit", &[900.0, 200.0, 100.0]);
    assert_eq!(reduces[5]["assigned"], json!(["j2", "j2", "j3", "j1"]));
}

/// `testLargeJobsWithExcessCapacity`: the first two slots meet the guarantee, the others go to the
/// largest deficit. Its deficits after the third submission assume equal weights of jobs (1.33
/// each). Here, as in the later published version, pools have equal weights: 2, 1, 1.
#[test]
fn d_a_minimum_over_two_jobs() {
    let steps = [
        submit("j1", "default"),
        advance(200),
        submit("j2", "a"),
        advance(100),
        submit("j3", "a"),
        advance(100),
        assign(),
    ];
    let log = log(json!({"slots": 4, "pools": {"a": {"min": 2}}, "steps": steps}));
    near(&log[2], "min", &[0.0, 2.0]);
    near(&log[2], "share", &[2.0, 2.0]);
    near(&log[3], "deficit", &[1000.0, 200.0]);
    near(&log[4], "min", &[0.0, 1.0, 1.0]);
    near(&log[5], "deficit", &[1200.0, 300.0, 100.0]);
    assert_eq!(log[6]["assigned"], json!(["j2", "j3", "j1", "j1"]));
}

/// Pool weights 2, 0.5 and 1 of four slots.
#[test]
fn e_pool_weights() {
    let steps = [
        submit("j1", "a"),
        submit("j2", "b"),
        submit("j3", "default"),
    ];
    let log = log(json!({
        "slots": 4, "pools": {"a": {"weight": 2}, "b": {"weight": 0.5}}, "steps": steps
    }));
    near(&log[2], "share", &[16.0 / 7.0, 4.0 / 7.0, 8.0 / 7.0]);
}

/// `testPoolMaxJobs`.
#[test]
fn f_pool_limit() {
    let steps = [
        submit("j1", "default"),
        advance(10),
        submit("j2", "default"),
        advance(10),
        submit("j3", "default"),
        advance(10),
        submit("j4", "default"),
        json!({"op": "assign", "slots": 2}),
        advance(100),
        assign(),
    ];
    let log = log(json!({"slots": 4, "pools": {"default": {"max_jobs": 2}}, "steps": steps}));
    near(&log[6], "share", &[2.0, 2.0, 0.0, 0.0]);
    let runnable: Vec<&Value> = ["j1", "j2", "j3", "j4"]
        .iter()
        .map(|job| &log[6]["jobs"][job]["runnable"])
        .collect();
    assert_eq!(runnable, [true, true, false, false]);
    assert_eq!(log[7]["assigned"], json!(["j1", "j1"]));
    assert_eq!(log[9]["assigned"], json!(["j2", "j2"]));
}

/// `testUserMaxJobs` and the default for all users.
#[test]
fn user_limits() {
    let of = |job: &str, user: &str| {
        let mut submit = submit(job, "default");
        submit["user"] = json!(user);
        submit
    };
    let steps = [
        of("j1", "user1"),
        advance(10),
        of("j2", "user1"),
        advance(10),
        of("j3", "user2"),
        advance(10),
        of("j4", "user2"),
    ];
    let third = 4.0 / 3.0;
    let named = log(json!({"slots": 4, "user_max_jobs": {"user1": 1}, "steps": &steps[..]}));
    near(&named[6], "share", &[third, 0.0, third, third]);
    let all = log(json!({"slots": 4, "user_max_jobs": 1, "steps": &steps[..]}));
    near(&all[6], "share", &[2.0, 0.0, 2.0, 0.0]);
}

/// `testSmallJobs`, and `testSmallJobInLargePool` with the published variant of shares.
#[test]
fn small_jobs() {
    let small = |job: &str, tasks: u32, pool: &str| {
        let mut submit = submit(job, pool);
        submit["tasks"] = json!(tasks);
        submit
    };
    let steps = [
        small("j1", 2, "default"),
        advance(100),
        small("j2", 1, "default"),
        assign(),
    ];
    let log_of = |cap: bool, steps: &[Value], pools: Value| {
        log(json!({"slots": 4, "cap_demand": cap, "pools": pools, "steps": steps}))
    };
    let published = log_of(false, &steps, json!({}));
    near(&published[0], "share", &[4.0]);
    near(&published[2], "share", &[2.0, 2.0]);
    near(&published[2], "deficit", &[400.0, 0.0]);
    assert_eq!(published[3]["assigned"], json!(["j1", "j1", "j2"]));
    let capped = log_of(true, &steps, json!({}));
    near(&capped[2], "share", &[2.0, 1.0]);
    near(&capped[2], "deficit", &[200.0, 0.0]);

    let steps = [small("j1", 10, "default"), small("j2", 1, "a"), assign()];
    let published = log_of(false, &steps, json!({"a": {"min": 4}}));
    near(&published[1], "min", &[0.0, 1.0]);
    near(&published[1], "share", &[2.0, 2.0]);
    assert_eq!(published[2]["assigned"], json!(["j2", "j1", "j1", "j1"]));
    let capped = log_of(true, &steps, json!({"a": {"min": 4}}));
    near(&capped[1], "share", &[3.0, 1.0]);
}

/// FS-25 and FS-20: no jobs at all, a finished job, weight 0, a boost that ends.
#[test]
fn edge_cases() {
    let empty = log(json!({"slots": 4, "steps": [advance(100), assign()]}));
    assert_eq!(empty[1]["assigned"], json!([]));
    assert_eq!(empty[1]["jobs"], json!({}));

    // A finished job frees its place under the limit.
    let one = json!({"op": "submit", "job": "j1", "tasks": 1});
    let steps = [
        one,
        submit("j2", "default"),
        assign(),
        json!({"op": "finish", "job": "j1"}),
        advance(0),
    ];
    let over = log(json!({"slots": 4, "pools": {"default": {"max_jobs": 1}}, "steps": steps}));
    near(&over[1], "share", &[1.0, 0.0]);
    near(&over[4], "share", &[0.0, 4.0]);

    // Weight 0: its minimum of 1, and the rest only because the other has no task left.
    let steps = [
        submit("idle", "idle"),
        advance(1_000),
        json!({"op": "submit", "job": "busy", "tasks": 2}),
        assign(),
    ];
    let pools = json!({"idle": {"weight": 0, "min": 1}});
    let weightless = log(json!({"slots": 4, "pools": pools, "steps": steps}));
    near(&weightless[2], "share", &[2.0, 1.0]);
    assert_eq!(
        weightless[3]["assigned"],
        json!(["idle", "busy", "busy", "idle"])
    );

    // A boost of three at first: 3 to 1, then equal.
    let steps = [
        submit("old", "default"),
        advance(500),
        submit("new", "default"),
        advance(499),
        advance(1),
        advance(500),
    ];
    let boost = json!({"factor": 3, "ms": 500});
    let boosted = log(json!({"slots": 4, "new_job_boost": boost, "steps": steps}));
    // In order of names: new, old. At 500 ms the old one is no longer new.
    near(&boosted[2], "share", &[3.0, 1.0]);
    near(&boosted[3], "share", &[3.0, 1.0]);
    near(&boosted[4], "share", &[2.0, 2.0]);
}
