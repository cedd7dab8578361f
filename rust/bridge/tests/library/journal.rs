//! Checks that a journal never harms scheduling: full disks, paths that cannot be written, limits,
//! and engines that panic. `replay.rs` tests replaying.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::Cluster;
use crate::support::client::{Answer, FrameWriter, LogLine};
use crate::support::journals::{encode, record, replay_file, setup_entry, setup_with};
use heddle::constant::*;
use heddle::frame::output_bytes_max;
use heddle::host::Host;
use heddle::journal::{Reader, recordings};
use heddle_core::words::event::Event;
use serde_json::{Value, json};

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
    Host::open(&setup_with(&journal)).expect("a journal never keeps an engine from opening")
}

fn status(host: &mut Host) -> Value {
    let status = host.request(0, r#"{"op":"journal"}"#).expect("a status");
    serde_json::from_str(&status).expect("JSON")
}

/// Waits for a state that another thread brings about.
fn wait_for(what: &str, mut state: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if state() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited for a minute: {what}");
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
    let stopped = status(host)["stopped"].as_str().map(str::to_owned);
    assert!(stopped.is_some_and(|why| why.contains(expected)));
    goes_on(host);
}

fn goes_on(host: &mut Host) {
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

/// After a failure, the recording of the failed engine is the one to read.
#[test]
fn every_engine_has_a_recording_of_its_own() {
    let directory = Directory::new("siblings");
    let path = directory.0.join("rm.journal");
    fs::write(&path, "somebody's file").unwrap();
    fs::write(directory.0.join("rm.journal.000001"), "and another").unwrap();
    for seed in 0..3 {
        record(&json!({"path": path}), seed, 1);
    }
    assert_eq!(
        directory.files(),
        [
            "rm.journal",
            "rm.journal.000001",
            "rm.journal.000001.000001",
            "rm.journal.000002.000001",
            "rm.journal.000003.000001"
        ]
    );
    for recording in recordings(&path).unwrap() {
        let replayed = replay_file(&recording.path(1));
        assert!(replayed.same(), "{}: {replayed:?}", recording.number);
    }
    let newest = Reader::open(&directory.0).unwrap();
    assert_eq!(newest.recording(), 3);
    assert_eq!(newest.heddle_version(), env!("CARGO_PKG_VERSION"));
    // An empty recording, as a full disk or a kill leaves it, does not hide the others.
    fs::write(directory.0.join("rm.journal.000004.000001"), "").unwrap();
    assert_eq!(Reader::open(&directory.0).unwrap().recording(), 3);
}

/// The oldest recordings make room for the newest, and nobody else's files do.
#[test]
fn the_oldest_recordings_go_when_the_bound_is_reached() {
    let directory = Directory::new("rotates");
    let path = directory.0.join("rm.journal");
    let foreign = directory.0.join("rm.journal.old");
    fs::write(&foreign, vec![0; 100_000]).unwrap();
    const BYTES_MAX: u64 = 60_000;
    let journal = json!({"path": path, "bytes_max": BYTES_MAX});
    for seed in 0..12 {
        let (file, _) = record(&journal, seed, 12);
        assert!(replay_file(&file).same(), "recording {}", seed + 1);
        let kept = recordings(&path).unwrap();
        let bytes: u64 = kept.iter().map(|recording| recording.bytes()).sum();
        assert!(bytes <= BYTES_MAX, "{bytes} after {seed}");
        assert_eq!(kept.last().unwrap().number, seed as u32 + 1);
    }
    let kept = recordings(&path).unwrap();
    let numbers: Vec<u32> = kept.iter().map(|recording| recording.number).collect();
    assert!(numbers[0] > 1 && numbers.len() > 1, "{numbers:?}");
    let unbroken: Vec<u32> = (numbers[0]..=12).collect();
    assert_eq!(numbers, unbroken);
    assert!(foreign.exists());
}

/// A recording of several segments, each written by the writer, replays as one.
#[test]
fn a_long_recording_has_several_segments() {
    let directory = Directory::new("segments");
    let path = directory.0.join("rm.journal");
    let journal = json!({"path": path, "bytes_max": 1 << 24, "compress": false});
    let (_, cluster) = record(&journal, 9, 1_500);
    assert!(cluster.grants > 1_000);
    let kept = recordings(&path).unwrap();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].segments.len() > 2, "{kept:?}");
    for (segment, bytes) in &kept[0].segments {
        // None has more than a block beyond the bound.
        assert!(*bytes <= 1 << 20, "segment {segment}: {bytes}");
    }
    let replayed = replay_file(&path);
    assert!(replayed.same(), "{replayed:?}");
}

/// A pipe would block until a reader opens it: only names of segments are ever opened.
#[test]
fn a_pipe_is_left_alone() {
    let directory = Directory::new("pipe");
    let path = directory.0.join("pipe");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("coreutils").success());
    drop(open(json!(path)));
    assert_eq!(directory.files(), ["pipe", "pipe.000001.000001"]);
}

#[test]
fn a_full_journal_is_whole_and_within_its_bound() {
    let directory = Directory::new("bounded");
    let path = directory.0.join("rm.journal");
    const BYTES_MAX: u64 = 20_000;
    let mut host = open(json!({"path": path, "bytes_max": BYTES_MAX, "compress": false}));
    let mut cluster = Cluster::new(5);
    for _ in 0..100 {
        cluster.round(&mut host);
    }
    drop(host);
    let bytes = recordings(&path).unwrap()[0].bytes();
    assert!(bytes <= BYTES_MAX && bytes > BYTES_MAX / 2, "{bytes}");
    let replayed = replay_file(&path);
    assert!(replayed.counts.frames > 20, "{replayed:?}");
    assert!(replayed.same(), "{replayed:?}");
    assert_eq!(replayed.end.as_deref(), Some("full"));
}

/// Half of the bound is kept for the recording before: what led to now is never all removed.
#[test]
fn a_full_recording_wants_a_new_engine_where_that_is_allowed() {
    let directory = Directory::new("renewed");
    let path = directory.0.join("rm.journal");
    const BYTES_MAX: u64 = 400_000;
    const RENEW_MS: u64 = 3_600_000;
    let journal = json!({"path": path, "bytes_max": BYTES_MAX, "renew_ms": RENEW_MS,
        "compress": false});
    for number in 1..6 {
        let mut host = open(journal.clone());
        let mut cluster = Cluster::new(number);
        let begun_ms = cluster.now_ms;
        wait_for("a full recording", || {
            cluster.round(&mut host);
            status(&mut host)["stopped"].is_string()
        });
        let young = cluster.now_ms - begun_ms < RENEW_MS as i64;
        assert!(young, "the recording fills too slowly for this test");
        assert_eq!(status(&mut host)["wants_engine"], false, "it is too young");
        let text = status(&mut host)["stopped"].to_string();
        assert!(
            text.contains("200000 bytes") && text.contains("next recording"),
            "{text}"
        );
        cluster.now_ms += RENEW_MS as i64;
        cluster.round(&mut host);
        assert_eq!(status(&mut host)["wants_engine"], true);
        drop(host);
        let kept = recordings(&path).unwrap();
        let sizes: Vec<u64> = kept.iter().map(|recording| recording.bytes()).collect();
        assert!(sizes.iter().sum::<u64>() <= BYTES_MAX, "{sizes:?}");
        assert!(sizes.iter().all(|size| *size > BYTES_MAX / 4), "{sizes:?}");
        assert_eq!(kept.len(), number.min(2) as usize, "{kept:?}");
        assert!(replay_file(&path).same());
    }
}

#[test]
fn a_full_journal_is_told_once() {
    let directory = Directory::new("told");
    let path = directory.0.join("rm.journal");
    let mut host = open(json!({"path": path, "bytes_max": 4_000, "compress": false}));
    let mut lines = Vec::new();
    let mut sequence = 0;
    wait_for("the line of the log", || {
        sequence += 1;
        lines = journal_lines(&mut host, sequence, &[Event::Tick]);
        !lines.is_empty()
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].level, LOG_WARN);
    assert!(lines[0].text.contains("4000 bytes"), "{lines:?}");
    goes_on(&mut host);
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
    wait_for("the last frame", || replay_file(&path).counts.errors == 1);
    drop(host);
    let closed = replay_file(&path);
    assert!(closed.same() && closed.counts.errors == 1, "{closed:?}");
}

/// After a crash of the process the file has everything up to a second before.
#[test]
fn a_second_of_the_frames_brings_the_journal_to_its_file() {
    let directory = Directory::new("ticks");
    let path = directory.0.join("rm.journal");
    let mut host = open(json!(path));
    for sequence in 1..=10 {
        journal_lines(&mut host, 2 * sequence, &[Event::Tick]);
        wait_for("the frame", || replay_file(&path).counts.frames == sequence);
    }
}

/// Runs a hidden test of this file as a process of its own.
fn child(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args([test, "--exact", "--ignored", "--nocapture"]);
    command.env("HEDDLE_TEST_JOURNAL", path);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// For `child`: records until it is killed, or for a bounded time.
#[test]
#[ignore = "a process that other tests start"]
fn records_until_it_is_killed() {
    let path = PathBuf::from(std::env::var_os("HEDDLE_TEST_JOURNAL").expect("a path"));
    let mut host = open(json!({"path": path, "compress": false}));
    let mut cluster = Cluster::new(4);
    for _ in 0..20_000 {
        cluster.round(&mut host);
    }
    drop(host);
}

#[test]
fn a_killed_process_leaves_a_journal_that_replays() {
    let directory = Directory::new("killed");
    let path = directory.0.join("rm.journal");
    let mut process = child("journal::records_until_it_is_killed", &path)
        .spawn()
        .unwrap();
    let written =
        |path: &Path| recordings(path).map_or(0, |list| list.iter().map(|r| r.bytes()).sum());
    wait_for("some blocks", || written(&path) > 1_000_000);
    process.kill().unwrap();
    process.wait().unwrap();
    let replayed = replay_file(&path);
    assert!(
        replayed.counts.frames > 1_000 && replayed.difference.is_none(),
        "{replayed:?}"
    );
    assert_eq!(replayed.end, None);
    // Cut as if the machine had been slower: in the middle of the last block.
    let file = recordings(&path).unwrap().pop().unwrap();
    let last = file.path(file.segments.last().unwrap().0);
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, &bytes[..bytes.len() - 7]).unwrap();
    let cut = replay_file(&path);
    assert!(cut.torn && cut.difference.is_none(), "{cut:?}");
}

/// The bound of a file's size stands for a disk that fills up: writes fail in the middle of a
/// block.
#[test]
fn a_disk_that_fills_up_leaves_a_journal_that_replays() {
    let directory = Directory::new("fills");
    let path = directory.0.join("rm.journal");
    let hidden = child("journal::records_until_it_is_killed", &path);
    // In blocks of 1,024 bytes; the signal would end the process instead of the write.
    let mut limited = Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 700; exec \"$@\"", "bash"]);
    limited.arg(hidden.get_program()).args(hidden.get_args());
    limited
        .env("HEDDLE_TEST_JOURNAL", &path)
        .stdout(Stdio::null());
    assert!(limited.status().unwrap().success());
    let replayed = replay_file(&path);
    assert!(replayed.same() && !replayed.torn, "{replayed:?}");
    let bytes = recordings(&path).unwrap()[0].bytes();
    assert!((100_000..=700 << 10).contains(&bytes), "{bytes}");
}

#[test]
fn others_cannot_read_a_journal() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new("mode");
    let (file, _) = record(&json!({"path": directory.0.join("rm.journal")}), 1, 1);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_journal_setup_that_is_wrong_is_refused() {
    for journal in [
        json!(7),
        json!([]),
        json!({}),
        json!({"path": 1}),
        json!({"path": "x", "bytes_max": -1}),
        json!({"path": "x", "compress": 1}),
        json!({"path": "x", "renew_ms": "1h"}),
        json!({"path": "x", "max_bytes": 5}),
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
}

/// A journal is a file of unknown origin: a replay must not write the files that its setup names.
#[test]
fn a_replay_writes_no_file_that_a_journal_names() {
    let directory = Directory::new("hostile");
    let path = directory.0.join("hostile.journal");
    let setup = setup_with(&json!(directory.0.join("planted")));
    fs::write(&path, encode(&[setup_entry(&setup)])).unwrap();
    replay_file(&path);
    assert_eq!(directory.files(), ["hostile.journal"]);
}
