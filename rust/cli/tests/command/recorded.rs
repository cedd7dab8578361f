//! A journal that was recorded under another scheduler: what `heddle whatif` reads of it, and what
//! `heddle replay` says of it. The journal is made here, by the library, from known jobs.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::client::{Answer, FrameWriter};
use crate::support::journals::entries;
use crate::support::{DECISIONS_MAX, Library};
use heddle::host::Host;
use heddle_core::words::event::{ContainerFacts, Event, JobFacts, NodeFacts};
use heddle_core::words::exit::{LOST, PREEMPTED};
use heddle_core::words::ids::{JobId, NodeId, PartitionId, PlaceId, QueueId, UserId};
use heddle_core::words::resource::Resource;

/// When the clock of the recording begins, in milliseconds since 1970.
const EPOCH_MS: i64 = 1_700_000_000_000;
const MAP: i32 = 20;
const REDUCE: i32 = 10;

/// A cluster under another scheduler.
struct Recording {
    host: Host,
    writer: FrameWriter,
    sequence: u64,
}

impl Recording {
    fn begin(path: &Path) -> Recording {
        let setup = json!({
            "resource_types": ["memory-mb", "vcores"],
            "epoch_ms": EPOCH_MS,
            "journal": {"path": path},
            "decided_by": "FairScheduler",
        });
        Recording {
            host: Host::open(&setup.to_string()).expect("the setup is right"),
            writer: FrameWriter::default(),
            sequence: 0,
        }
    }

    fn at(&mut self, now_ms: i64, events: &[Event]) {
        self.sequence += 1;
        let frame = self
            .writer
            .frame(now_ms, self.sequence, DECISIONS_MAX, events);
        let answer = Library::step(&mut self.host, frame);
        let answer = Answer::read(&answer).expect("a whole frame");
        assert!(answer.decisions.is_empty(), "{:?}", answer.decisions);
        assert!(answer.logs.is_empty(), "{:?}", answer.logs);
    }
}

pub(crate) fn node(number: u32) -> Event {
    Event::NodeAdded(NodeFacts {
        node: NodeId(number),
        host: PlaceId(1 + 2 * number),
        rack: PlaceId(2),
        partition: PartitionId(0),
        capacity: Resource::new(8_192, 8),
        free: Resource::new(8_192, 8),
        schedulable: true,
        lends: false,
    })
}

fn job(number: u32, queue: u32, user: u32, submitted_ms: i64) -> Event {
    Event::JobAdded(JobFacts {
        job: JobId(number),
        queue: QueueId(queue),
        user: UserId(user),
        priority: 0,
        mapreduce: true,
        unmanaged_am: false,
        submitted_ms,
    })
}

fn runs(job: u32, key: u64, priority: i32, started_ms: i64) -> Event {
    Event::ContainerAdded(ContainerFacts {
        job: JobId(job),
        key,
        node: NodeId(0),
        priority,
        am: priority == 0,
        started_ms,
        resource: Resource::new(1_024, 1),
    })
}

fn ended(job: u32, key: u64, exit: i32) -> Event {
    Event::ContainerCompleted {
        job: JobId(job),
        key,
        exit,
    }
}

/// Two jobs of two users in two queues. The first has three maps, of which one was preempted and
/// runs again, and two reduces; the second is still running.
fn recorded(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("recorded-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target folder can be written");
    let path = path.join("rm.journal");
    // The recording's first segment.
    let file = path.with_extension("journal.000001.000001");
    let mut recording = Recording::begin(&path);
    recording.at(1_000, &[node(0), node(1)]);
    for (queue, user) in [("root.ads", "ann"), ("root.logs", "bob")] {
        let number = i32::from(user == "bob");
        let placed = json!({"op": "place", "queue": queue, "queue_number": number, "user": user,
            "user_number": number});
        Library::request(&mut recording.host, 1_500, &placed.to_string());
    }
    recording.at(2_100, &[job(0, 0, 0, 2_000)]);
    recording.at(5_000, &[runs(0, 1, 0, 4_900)]);
    let maps = [2, 3, 4].map(|key| runs(0, key, MAP, 8_000));
    recording.at(8_200, &maps);
    recording.at(10_000, &[job(1, 1, 1, 10_000), runs(1, 1, 0, 10_000)]);
    recording.at(12_000, &[ended(0, 2, PREEMPTED), runs(1, 2, MAP, 12_000)]);
    recording.at(
        18_000,
        &[ended(0, 3, 0), ended(0, 4, 0), runs(0, 5, MAP, 18_000)],
    );
    // Reduces begin before the last map has ended.
    recording.at(
        20_000,
        &[runs(0, 6, REDUCE, 20_000), runs(0, 7, REDUCE, 20_000)],
    );
    recording.at(24_000, &[ended(0, 5, 0)]);
    recording.at(
        30_000,
        &[ended(0, 6, 0), ended(0, 7, 0), runs(0, 8, MAP, 29_000)],
    );
    // Handed over and given back at once.
    recording.at(30_000, &[ended(0, 8, LOST)]);
    let finished = json!({"op": "finished", "job": 0, "finished_ms": 31_000,
        "status": "SUCCEEDED"});
    Library::request(&mut recording.host, 31_900, &finished.to_string());
    recording.at(32_000, &[ended(0, 1, 0), Event::JobRemoved(JobId(0))]);
    file
}

fn heddle(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command.env_remove("HEDDLE_LOG").args(arguments);
    command.output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_string()
}

#[test]
fn what_if_has_the_jobs_that_the_other_scheduler_ran() {
    let journal = recorded("whatif");
    let folder = journal.with_file_name("prediction");
    let journal = journal.display().to_string();
    let out = folder.display().to_string();
    let ran = heddle(&["whatif", &journal, "--policies", "fifo", "--out", &out]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let table = std::fs::read_to_string(folder.join("jobs.csv")).expect("the table");
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    // Waited from 2.0 to 4.9, finished at 31.0; the other has no end.
    let first = [
        "job 0 @2023-11-14T22:13:22Z",
        "",
        "ann",
        "root.ads",
        "3",
        "2",
        "2.900",
        "29.000",
    ];
    let second = [
        "job 1 @2023-11-14T22:13:30Z",
        "",
        "bob",
        "root.logs",
        "0",
        "0",
        "0.000",
        "",
    ];
    assert_eq!(rows[1][..8], first);
    assert_eq!(rows[2][..8], second);
    assert_eq!(rows.len(), 3, "{table}");
    let told = std::fs::read_to_string(folder.join("whatif.json")).expect("it was written");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["outcomes"][0]["preempted"], 1, "{told}");
    // Two nodes: a prediction needs no --nodes.
    assert_eq!(told["outcomes"][1]["all"]["jobs"], 2, "{told}");
}

#[test]
fn replay_says_that_another_scheduler_decided() {
    let journal = recorded("replay").display().to_string();
    let ran = heddle(&["replay", &journal]);
    assert!(ran.status.success(), "{ran:?}");
    let said = text(&ran.stdout);
    assert!(
        said.contains("FairScheduler decided, and Heddle only recorded"),
        "{said}"
    );
    assert!(!said.contains("as recorded"), "{said}");
    let dump = text(&heddle(&["replay", &journal, "--dump"]).stdout);
    assert!(dump.contains(" in  CONTAINER_ADDED job 0"), "{dump}");
    assert!(dump.contains("root.ads"), "{dump}");
    let json = heddle(&["replay", &journal, "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["decided_by"], "FairScheduler");
    assert_eq!(
        (&json["same"], &json["compared"]),
        (&Value::Null, &json!(0))
    );
    assert_eq!(json["frames"], 12);
}

#[test]
fn a_copy_with_pseudonyms_has_the_same_jobs() {
    let journal = recorded("pseudonyms");
    let copy = journal.with_file_name("copy.journal");
    let (from, to) = (journal.display().to_string(), copy.display().to_string());
    let ran = heddle(&["replay", &from, "--pseudonyms", &to]);
    let to = format!("{to}.000001.000001");
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let bytes = entries(&copy).expect("it is whole");
    assert!(bytes.iter().all(|entry| {
        let payload = text(&entry.payload);
        !["ann", "bob", "ads", "logs"]
            .iter()
            .any(|name| payload.contains(name))
    }));
    let answer = |path: &str| -> Value {
        let ran = heddle(&["whatif", path, "--policies", "fifo", "--json"]);
        let answer: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        answer["outcomes"][0]["all"].clone()
    };
    assert_eq!(answer(&from), answer(&to));
}
