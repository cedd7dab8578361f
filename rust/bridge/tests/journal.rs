//! Checks that a journal never harms scheduling: full disks, paths that cannot be written, limits,
//! and engines that panic. `replay.rs` tests replaying.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use heddle::constant::*;
use heddle::frame::output_bytes_max;
use heddle::host::Host;
use heddle::journal::{Reader, Recorder};
use heddle::replay::{Replay, replay};
use heddle_core::words::event::Event;
use serde_json::{Value, json};
use support::client::{Answer, FrameWriter, LogLine};
use support::{Cluster, SETUP};

/// A directory that is removed once its test has passed.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let name = format!("journal-{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("the target directory is writable");
        Directory(path)
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the directory is ours");
        let names = entries.map(|entry| entry.expect("it can be read").file_name());
        let mut names: Vec<_> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn open(journal: Value) -> Host {
    let mut setup: Value = serde_json::from_str(SETUP).expect("the setup is JSON");
    setup["journal"] = journal;
    Host::open(&setup.to_string()).expect("a journal never keeps an engine from opening")
}

fn replay_file(path: &Path) -> Replay {
    Reader::open(path)
        .and_then(replay)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a step with some events. Returns the log lines about journals.
fn journal_lines(host: &mut Host, sequence: u64, events: &[Event]) -> Vec<LogLine> {
    let mut out = vec![0; output_bytes_max(16)];
    let mut writer = FrameWriter::default();
    let frame = writer.frame(sequence as i64 * 500, sequence, 16, events);
    let length = host.step(frame, &mut out).expect("scheduling goes on");
    let answer = Answer::read(&out[..length]).expect("the frame is whole");
    answer
        .logs
        .into_iter()
        .filter(|line| line.text.contains("journal"))
        .collect()
}

/// Expects one error, no more, and otherwise undisturbed scheduling.
fn harmless(host: &mut Host, expected: &str) {
    let lines = journal_lines(host, 1, &[Event::Tick]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].level, LOG_ERROR);
    assert!(lines[0].text.contains(expected), "{lines:?}");
    for sequence in 2..50 {
        assert_eq!(journal_lines(host, sequence, &[Event::Tick]), []);
    }
    let mut cluster = Cluster::new(1);
    for _ in 0..20 {
        cluster.round(host);
    }
    assert!(cluster.grants > 20, "{}", cluster.grants);
}

#[test]
fn a_full_disk_stops_the_journal_and_nothing_else() {
    harmless(
        &mut open(json!("/dev/full")),
        "/dev/full: No space left on device",
    );
}

#[test]
fn a_path_that_cannot_be_written_stops_the_journal_and_nothing_else() {
    let directory = Directory::new("unwritable");
    let path = directory.0.join("missing/heddle.journal");
    harmless(&mut open(json!(path)), "No such file or directory");
    let file_as_directory = directory.0.join("file");
    fs::write(&file_as_directory, "").unwrap();
    harmless(
        &mut open(json!(file_as_directory.join("journal"))),
        "Not a directory",
    );
}

/// After a failure, the journal of the failed engine is the one to read.
#[test]
fn an_existing_file_is_never_written_over() {
    let directory = Directory::new("siblings");
    let path = directory.0.join("rm.journal");
    for seed in 0..3 {
        let mut host = open(json!(path));
        Cluster::new(seed).round(&mut host);
    }
    assert_eq!(
        directory.files(),
        ["rm.journal", "rm.journal.1", "rm.journal.2"]
    );
    for name in directory.files() {
        let replayed = replay_file(&directory.0.join(&name));
        assert_eq!(
            Some(replayed.digest.value()),
            replayed.recorded,
            "{name}: {replayed:?}"
        );
    }
}

/// Opening a pipe would block until a reader opens it.
#[test]
fn a_pipe_is_left_alone() {
    let directory = Directory::new("pipe");
    let path = directory.0.join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .expect("coreutils");
    assert!(made.success());
    drop(open(json!(path)));
    assert_eq!(directory.files(), ["pipe", "pipe.1"]);
}

#[test]
fn a_full_journal_is_whole_and_within_its_bound() {
    let directory = Directory::new("bounded");
    let path = directory.0.join("rm.journal");
    const BYTES_MAX: u64 = 20_000;
    let mut host = open(json!({"path": path, "bytes_max": BYTES_MAX}));
    let mut cluster = Cluster::new(5);
    for _ in 0..100 {
        cluster.round(&mut host);
    }
    drop(host);
    let bytes = fs::metadata(&path).unwrap().len();
    assert!(bytes <= BYTES_MAX && bytes > BYTES_MAX - 2_000, "{bytes}");
    let replayed = replay_file(&path);
    assert!(replayed.frames > 20, "{replayed:?}");
    assert_eq!(
        Some(replayed.digest.value()),
        replayed.recorded,
        "{replayed:?}"
    );
}

#[test]
fn a_full_journal_is_told_once() {
    let directory = Directory::new("told");
    let path = directory.0.join("rm.journal");
    let mut host = open(json!({"path": path, "bytes_max": 2_000}));
    let lines: Vec<LogLine> = (1..200)
        .flat_map(|sequence| journal_lines(&mut host, sequence, &[Event::Tick]))
        .collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].level, LOG_WARN);
    assert!(lines[0].text.contains("2000 bytes"), "{lines:?}");
}

#[test]
fn what_made_an_engine_panic_is_in_its_journal() {
    let directory = Directory::new("panic");
    let path = directory.0.join("rm.journal");
    let mut host = open(json!(path));
    Cluster::new(1).round(&mut host);
    let mut out = vec![0; output_bytes_max(16)];
    let mut writer = FrameWriter::default();
    let fault = writer.frame(9_000, 99, 16, &[Event::Fault(FAULT_PANIC)]);
    assert_eq!(host.step(fault, &mut out).unwrap_err().code(), PANIC);
    // Before the engine is closed, like an operator who looks into the file.
    let replayed = replay_file(&path);
    assert_eq!(replayed.errors, 1, "{replayed:?}");
    drop(host);
    let closed = replay_file(&path);
    assert_eq!(
        (Some(closed.digest.value()), closed.errors),
        (closed.recorded, 1),
        "{closed:?}"
    );
}

/// After a crash of the process the file has everything up to the last tick.
#[test]
fn ticks_bring_the_journal_to_its_file() {
    let directory = Directory::new("ticks");
    let path = directory.0.join("rm.journal");
    let mut host = open(json!(path));
    for sequence in 1..=10 {
        journal_lines(&mut host, sequence, &[Event::Tick]);
        assert_eq!(replay_file(&path).frames, sequence);
    }
}

#[test]
fn others_cannot_read_a_journal() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new("mode");
    let path = directory.0.join("rm.journal");
    drop(open(json!(path)));
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_journal_setup_that_is_wrong_is_refused() {
    for journal in [
        json!(7),
        json!([]),
        json!({}),
        json!({"path": 1}),
        json!({"path": "x", "bytes_max": -1}),
    ] {
        let setup = json!({"journal": journal}).to_string();
        let Err(error) = Host::open(&setup) else {
            panic!("{setup} was taken")
        };
        assert_eq!(error.code(), BAD_CONFIG);
        assert!(
            error.to_string().contains("journal: expected null"),
            "{error}"
        );
    }
    let misspelt = json!({"journal": {"path": "x", "max_bytes": 5}}).to_string();
    let Err(error) = Host::open(&misspelt) else {
        panic!("{misspelt} was taken")
    };
    assert_eq!(error.code(), BAD_CONFIG);
}

/// A journal is a file of unknown origin: a replay must not write the files that its setup names.
#[test]
fn a_replay_writes_no_file_that_a_journal_names() {
    let directory = Directory::new("hostile");
    let path = directory.0.join("hostile.journal");
    let mut setup: Value = serde_json::from_str(SETUP).expect("the setup is JSON");
    setup["journal"] = json!(directory.0.join("planted"));
    drop(Recorder::create(&path, 1 << 20, &setup.to_string()));
    replay_file(&path);
    assert_eq!(directory.files(), ["hostile.journal"]);
}
