//! Checks that what engines learn of jobs outlives them: real engines by handle and a real store.

use crate::manager::*;
use heddle::host::{self, ENGINES};
use heddle_core::words::event::{Event, JobCounters, JobHints};
use heddle_core::words::ids::JobId;
use serde_json::{Value, json};

/// The shuffle ratio that earlier runs of a program have shown. Also under a policy without
/// accounts: the books serve both.
#[test]
fn what_was_learnt_of_jobs_outlives_a_resource_manager() {
    for policy in ["shufflewatcher", "dynamic-priority"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = config(folder.path());
        config["policy"] = json!(policy);
        if policy == "dynamic-priority" {
            config["policy"] =
                json!({"share": policy, "order": "fifo", "place": "shuffle-watcher"});
        } else {
            config["queues"] = json!([]);
        }
        let mut first = Manager::active(&config, 0);
        let hints = JobHints {
            signature: Some(77),
            ..JobHints::default()
        };
        let counters = JobCounters {
            input_bytes: 1_000,
            map_output_bytes: 250,
            ..JobCounters::default()
        };
        let job = JobId(1);
        first.pending.push(Event::JobHints { job, hints });
        first.pending.push(Event::JobCounters { job, counters });
        first.run(500);
        first.pending.push(Event::JobRemoved(job));
        first.run(1_000);
        assert_eq!(first.ratios(), json!([[77, 0.25]]), "{policy}");
        first.until_books_are("connected");
        first.end();
        let mut second = Manager::active(&config, 2_000);
        assert_eq!(second.ratios(), json!([[77, 0.25]]), "{policy}");
        // Also with another engine after a failure.
        second.engine = host::open(&second.setup).expect("a good setup");
        assert_eq!(second.ratios(), json!([]), "{policy}");
        second.until(|books| books["state"] == "connected");
        assert_eq!(second.ratios(), json!([[77, 0.25]]), "{policy}");
        second.end();
    }
}

/// A job can spend its authority once, across all ResourceManagers and engines.
#[test]
fn what_a_job_spent_of_its_authority_outlives_a_resource_manager() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let mut first = Manager::active(&config, 0);
    first.run(500);
    authorize(&first, "1800000000000_0001");
    // Six slots at 1 credit for three intervals.
    first.run(60_500);
    assert_eq!(spent_micro(&first), 18_000_000);
    first.until_books_are("connected");
    first.end();

    let mut second = Manager::active(&config, 100_000);
    second.run(500);
    authorize(&second, "1800000000000_0001");
    assert_eq!(spent_micro(&second), 18_000_000);
    second.run(40_500);
    assert_eq!(spent_micro(&second), 20_000_000, "all that it may");
    assert_eq!(second.budget(), 80_000_000);
    // Another engine after a failure, which hears of the job before the books arrive.
    second.until_books_are("connected");
    second.engine = host::open(&second.setup).expect("a good setup");
    second.tell_engine();
    second.run(second.now_ms + 500);
    authorize(&second, "1800000000000_0001");
    second.until(|books| books["state"] == "connected");
    assert_eq!(spent_micro(&second), 20_000_000);
    // Another application under the same job number resets no spending, and later inherits none.
    authorize(&second, "1800000000000_0002");
    assert_eq!(
        spent_micro(&second),
        20_000_000,
        "what is spent stays spent"
    );
    second.end();
    let mut third = Manager::active(&config, 200_000);
    third.run(500);
    authorize(&third, "1800000000000_0002");
    assert_eq!(spent_micro(&third), 0);
    third.end();
}

fn authorize(manager: &Manager, application: &str) {
    let request = json!({"op": "authorize", "job": 1, "application": application,
                         "credits_micro": 20_000_000, "rate_micro": 1_000_000,
                         "until_ms": 1_i64 << 40});
    asked(manager, &request);
}

fn spent_micro(manager: &Manager) -> i64 {
    let report = asked(manager, &json!({"op": "job", "job": 1}));
    let spent = &report["authority"]["spent_micro"];
    spent.as_i64().expect("it has an authority")
}

fn asked(manager: &Manager, request: &Value) -> Value {
    let reply = ENGINES.with(manager.engine, |host| {
        host.request(manager.now_ms, &request.to_string())
    });
    let reply = reply.expect("it is there").expect("a good request");
    serde_json::from_str(&reply).expect("JSON")
}
