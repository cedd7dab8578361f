//! `heddle replay --pseudonyms` of a journal that has names wherever a configuration or a request
//! can have one.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::recorded::node;
use crate::support::client::FrameWriter;
use crate::support::journals::{entries, replay_file};
use crate::support::{DECISIONS_MAX, Library};
use heddle::host::Host;
use heddle_core::words::event::{Event, JobFacts};
use heddle_core::words::ids::{JobId, QueueId, UserId};

/// Every name of the journal. Each stands where no other request or key has it.
const NAMES: [&str; 19] = [
    "placed",
    "staff",
    "numbered",
    "weighty",
    "eachone",
    "ruled",
    "ruledgroup",
    "ruledapp",
    "fastdisk",
    "gpus",
    "bigmem",
    "banked",
    "dissolved",
    "metered",
    "owing",
    "banker",
    "generous",
    "alicehome",
    "dbhost",
];

fn config(share: &str) -> Value {
    json!({
        "policy": {"share": share, "order": "fifo", "place": "delay"},
        "api": {"acl_file": "/home/alicehome/acl"},
        "store": {"place": "postgres://dbhost/books"},
        "allocations_file": "/home/alicehome/pools",
        "users": {"max_running_jobs": 9, "each": {"eachone": {"max_running_jobs": 2}}},
        "queues": [
            {
                "path": "root.ads",
                "user_weights": {"weighty": 2},
                "accessible_labels": ["bigmem"],
                "labels": {"gpus": {"weight": 1}},
            },
            {"path": "root.logs", "accessible_labels": "*", "default_label": "fastdisk"},
        ],
        "placement": [
            {"rule": "reject", "group": "ruledgroup"},
            {"rule": "mapping", "user": "ruled", "queue": "root.ads"},
            {"rule": "mapping", "application": "ruledapp", "queue": "root.ads"},
            {"rule": "specified"},
            {"rule": "user", "inner": {"rule": "primary_group"}},
        ],
    })
}

fn saved() -> Value {
    let account = json!({"budget": 5_000_000, "rate": 0, "income": 0, "grant": null,
        "income_left": 0});
    json!({
        "accounts": {
            "accounts": {"root.banked": account},
            "totals": {"granted": 5_000_000, "debited": 0, "forfeited": 0},
            "price": 0,
        },
        "opened": ["root.banked", "root.dissolved"],
        "interval": null,
        "slot_ms": {"root.metered": [0, 0]},
        "owed": {"root.owing": {"slot_ms": [0, 0], "micro": 0}},
        "spent": {"1700000000000_0001": 7},
    })
}

fn job() -> Event {
    Event::JobAdded(JobFacts {
        job: JobId(0),
        queue: QueueId(1),
        user: UserId(0),
        priority: 0,
        mapreduce: true,
        unmanaged_am: false,
        submitted_ms: 1_000,
    })
}

/// Records a life of an engine; its journal's path.
fn recorded() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pseudonyms-all");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let path = folder.join("rm.journal");
    let setup = json!({
        "resource_types": ["memory-mb", "vcores"],
        "journal": {"path": path},
        "config": config("fair"),
        "users": {"placed": 0},
        "labels": {"numbered": 1},
    });
    let mut host = Host::open(&setup.to_string()).expect("the setup is right");
    let ask = |host: &mut Host, request: Value| -> Value {
        let reply = Library::request(host, 2_000, &request.to_string());
        serde_json::from_str(&reply).expect("JSON")
    };
    ask(
        &mut host,
        json!({"op": "restoreAccounts", "saved": saved()}),
    );
    let placed = json!({"op": "place", "user": "placed", "groups": ["staff"], "queue": "root.ads"});
    ask(&mut host, placed);
    let frame = FrameWriter::default()
        .frame(3_000, 1, DECISIONS_MAX, &[node(0), job()])
        .to_vec();
    Library::step(&mut host, &frame);
    ask(
        &mut host,
        json!({"op": "authorize", "job": 0, "application": "1700000000000_0001",
            "credits_micro": 10, "rate_micro": 1, "until_ms": 9_000}),
    );
    let reload = json!({"op": "reload", "config": config("dynamic-priority"),
        "users": {"placed": 0}, "labels": {"numbered": 1}});
    ask(&mut host, reload);
    ask(
        &mut host,
        json!({"op": "addBudget", "queue": "root.banked", "value": 3, "by": "banker",
            "why": "they were generous"}),
    );
    path
}

fn heddle(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command.env_remove("HEDDLE_LOG").args(arguments);
    command.output().expect("it starts")
}

/// Names that the entries of a journal have.
fn names(path: &Path) -> Vec<&'static str> {
    let all = entries(path).expect("it is whole");
    let has = |name: &&str| {
        let mut texts = all
            .iter()
            .map(|entry| String::from_utf8_lossy(&entry.payload));
        texts.any(|text| text.contains(*name))
    };
    NAMES.into_iter().filter(has).collect()
}

#[test]
fn no_name_is_left_wherever_it_stood() {
    let journal = recorded();
    assert_eq!(names(&journal), NAMES, "another would prove nothing");
    assert!(replay_file(&journal).same());
    let copy = journal.with_file_name("copy");
    let (from, to) = (journal.display().to_string(), copy.display().to_string());
    let ran = heddle(&["replay", &from, "--pseudonyms", &to, "--json"]);
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let done: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(done["kept"], json!([]), "{done}");
    assert_eq!(names(&copy), [""; 0]);
    let replayed = replay_file(&copy);
    assert!(replayed.same(), "{replayed:?}");
    assert_eq!(
        replayed.counts.errors, 0,
        "{:?}",
        replayed.counts.first_error
    );
}
