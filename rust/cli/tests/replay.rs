//! `heddle replay` from outside: the journal of the native tests, whole and damaged.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const JOURNAL: &str = "../../native-tests/data/scripted.journal";

fn replay(file: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command.env_remove("HEDDLE_LOG").arg("replay").arg(file);
    command.args(more).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_string()
}

fn journal() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(JOURNAL)
}

/// The journal with its bytes changed.
fn changed(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut bytes = fs::read(journal()).expect("the native tests have it");
    change(&mut bytes);
    fs::write(&path, bytes).expect("the target folder can be written");
    path
}

#[test]
fn a_journal_gives_the_digest_that_is_kept_beside_it() {
    let ran = replay(&journal(), &["--json"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let replayed: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let digest = fs::read_to_string(journal().with_extension("digest")).expect("beside it");
    assert_eq!(replayed["digest"], digest.trim_end());
    assert_eq!(replayed["same"], true);
    assert_eq!(replayed["errors"], 0);
    let plain = replay(&journal(), &[]);
    assert!(text(&plain.stdout).contains(digest.trim_end()));
}

#[test]
fn other_answers_than_the_recorded_ones_are_refused() {
    let path = changed("other.journal", |bytes| {
        *bytes.last_mut().expect("it has a digest") ^= 1;
    });
    let ran = replay(&path, &[]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(text(&ran.stderr).contains("answers differently"), "{ran:?}");
    assert!(text(&ran.stdout).contains("recorded digest"), "{ran:?}");
}

#[test]
fn a_journal_that_was_cut_short_is_replayed_as_far_as_it_goes() {
    let path = changed("cut.journal", |bytes| bytes.truncate(bytes.len() / 2));
    let ran = replay(&path, &["--json"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let replayed: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert!(replayed["frames"].as_u64() > Some(0), "{replayed}");
    assert_eq!(replayed["recorded"], Value::Null);
    assert_eq!(replayed["same"], Value::Null);
}

#[test]
fn what_is_no_journal_is_refused_with_its_name() {
    for (name, expected) in [
        ("empty.journal", "shorter than its header"),
        ("text.journal", "not a journal"),
    ] {
        let path = changed(name, |bytes| match name {
            "empty.journal" => bytes.clear(),
            _ => *bytes = b"a text that is long enough for a header".to_vec(),
        });
        let ran = replay(&path, &[]);
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        let said = text(&ran.stderr);
        assert!(said.contains(expected) && said.contains(name), "{said}");
    }
    let missing = replay(Path::new("/no/such.journal"), &[]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    assert!(text(&missing.stderr).contains("/no/such.journal"));
}

#[test]
fn the_log_is_quiet_unless_it_is_asked_for() {
    let quiet = replay(&journal(), &[]);
    assert_eq!(text(&quiet.stderr), "");
    let workload = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-job.json");
    let one_job = r#"{"cluster": {"nodes": 2}, "jobs": [{"user": "ann", "maps": 2, "map_s": 1}]}"#;
    fs::write(&workload, one_job).expect("the target folder can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command.args(["simulate", "--workload"]).arg(&workload);
    let loud = command
        .env("HEDDLE_LOG", "info")
        .output()
        .expect("it starts");
    assert!(loud.status.success(), "{loud:?}");
    assert!(
        text(&loud.stderr).contains("one-job.json under fair"),
        "{loud:?}"
    );
}
