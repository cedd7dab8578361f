//! What engines learn of jobs outlives them: real engines by handle and a real store.

mod manager;

use heddle::host;
use heddle_core::event::{Event, JobCounters, JobHints};
use heddle_core::types::JobId;
use manager::*;
use serde_json::json;

/// What earlier runs of a program have shown of its shuffle. Under a policy that knows no accounts,
/// too: the books are for both.
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
        // Another engine after a failure, too.
        second.engine = host::open(&second.setup).expect("a good setup");
        assert_eq!(second.ratios(), json!([]), "{policy}");
        second.until(|books| books["state"] == "connected");
        assert_eq!(second.ratios(), json!([[77, 0.25]]), "{policy}");
        second.end();
    }
}
