//! `heddle replay` from outside: the journal of the native tests, whole and damaged.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::client::{Answer, FrameWriter};
use crate::support::journals::{Entry, encode, entries, record, setup_entry, setup_with};
use crate::support::{DECISIONS_MAX, Library};
use heddle::host::Host;
use heddle::journal::EntryKind;
use heddle_core::words::event::Event;
use heddle_core::words::ids::JobId;

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

/// A folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// The recorded journal with one grant for another node, in file `name`; the grant's entry.
fn with_another_grant(name: &str) -> (PathBuf, Entry) {
    let mut all = entries(&journal()).expect("it is whole");
    // An output frame: 48 bytes of header, then its decisions. A grant is of kind 1.
    let grants = |entry: &Entry| entry.kind == 4 && entry.payload.get(48..50) == Some(&[1, 0]);
    let at = all.iter().rposition(grants).expect("the script grants");
    let node = &mut all[at].payload[48 + 12];
    *node ^= 1;
    let path = folder(name).join("other.journal");
    fs::write(&path, encode(&all)).expect("the folder is ours");
    (path, all[at].clone())
}

#[test]
fn the_first_other_answer_is_told_with_its_input_and_the_state() {
    let (path, changed) = with_another_grant("replay-other");
    let ran = replay(&path, &["--json"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(text(&ran.stderr).contains("answers differently"), "{ran:?}");
    let told: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(told["same"], false);
    assert_eq!(
        told["compared"],
        told["frames"].as_u64().unwrap() + told["requests"].as_u64().unwrap()
    );
    let difference = &told["difference"];
    let node = |who: &str| difference["first"][who]["node"].as_u64().expect("a grant");
    assert_eq!(node("recorded"), u64::from(changed.payload[60]));
    assert_eq!(node("ours"), node("recorded") ^ 1);
    assert_eq!(difference["now_ms"], changed.now_ms);
    let inputs = difference["in"].as_array().expect("records");
    let reports =
        |record: &Value| record["record"] == "HEARTBEAT" && record["node"] == node("ours");
    assert!(inputs.iter().any(reports), "{difference:#}");
    assert_eq!(difference["before"].as_array().map(Vec::len), Some(3));
    let state = difference["state"]
        .as_array()
        .expect("of its job and nodes");
    assert!(
        state
            .iter()
            .any(|state| state["node"] == node("ours") && !state["state"].is_null())
    );
    let plain = text(&replay(&path, &[]).stdout);
    for line in [
        "first difference: frame",
        "* recorded  GRANT job",
        "* answered  GRANT job",
    ] {
        assert!(plain.contains(line), "{line} is not in\n{plain}");
    }
}

#[test]
fn a_journal_that_was_cut_short_is_replayed_as_far_as_it_goes() {
    let path = changed("cut.journal", |bytes| {
        *bytes = encode(&entries(&journal()).expect("it is whole"));
        bytes.truncate(bytes.len() / 2);
    });
    let ran = replay(&path, &["--json"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let replayed: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert!(replayed["frames"].as_u64() > Some(0), "{replayed}");
    assert_eq!(replayed["end"], Value::Null);
    assert_eq!(replayed["torn"], true);
    assert_eq!(replayed["without_end"], true);
    assert_eq!(replayed["difference"], Value::Null);
    // The cut may lie between an input and its answer, as a kill may.
    let unanswered = replayed["unanswered"].as_u64().expect("a number");
    assert!(unanswered <= 1, "{replayed}");
    assert_eq!(replayed["same"], unanswered == 0);
}

/// The recorded journal without some of its entries, in a file of this name.
fn without(name: &str, remove: impl FnOnce(&mut Vec<Entry>)) -> PathBuf {
    changed(name, |bytes| {
        let mut all = entries(&journal()).expect("it is whole");
        remove(&mut all);
        *bytes = encode(&all);
    })
}

/// The summary in words and as JSON; the command succeeds.
fn summary(path: &Path, more: &[&str]) -> (String, Value) {
    let plain = replay(path, more);
    assert!(plain.status.success(), "{plain:?}");
    let json = replay(path, &[&["--json"], more].concat());
    let json = serde_json::from_slice(&json.stdout).expect("JSON");
    (text(&plain.stdout), json)
}

const END: u32 = EntryKind::End as u32;

#[test]
fn a_recording_without_an_end_is_said_to_have_none() {
    let no_end = "none: the ResourceManager was killed or still writes it";
    let (plain, json) = summary(&journal(), &[]);
    assert!(!plain.contains(no_end), "{plain}");
    assert_eq!(json["without_end"], false);
    let path = without("no-end.journal", |all| {
        all.retain(|entry| entry.kind != END)
    });
    let (plain, json) = summary(&path, &[]);
    assert!(plain.contains(no_end), "{plain}");
    assert_eq!(
        (&json["without_end"], &json["torn"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        (&json["same"], &json["unanswered"]),
        (&json!(true), &json!(0))
    );
    // A replay that stops earlier has not seen the end.
    let (plain, json) = summary(&path, &["--until", "5"]);
    assert!(!plain.contains(no_end), "{plain}");
    assert_eq!(json["without_end"], Value::Null);
}

/// As `Replay::same` of the library has it: an answer that is missing is not the same one.
#[test]
fn answers_that_were_not_recorded_are_not_called_the_same() {
    let is_answer = |entry: &Entry| entry.kind == EntryKind::Answer as u32;
    let middle = without("no-answer.journal", |all| {
        let at = all.iter().position(is_answer).expect("it has answers");
        all.remove(at);
    });
    let (plain, json) = summary(&middle, &[]);
    assert!(plain.contains("the recording lacks 1\n"), "{plain}");
    assert_eq!(
        (&json["same"], &json["unanswered"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(json["difference"], Value::Null);
    let last = without("no-last-answer.journal", |all| {
        let at = all.iter().rposition(is_answer).expect("it has answers");
        all.truncate(at);
    });
    let (plain, json) = summary(&last, &[]);
    assert!(
        plain.contains("the last input has none, as after a kill"),
        "{plain}"
    );
    assert_eq!(
        (&json["same"], &json["unanswered"]),
        (&json!(false), &json!(1))
    );
}

#[test]
fn a_damaged_journal_says_how_much_of_it_is_whole() {
    let path = changed("damaged.journal", |bytes| {
        *bytes = encode(&entries(&journal()).expect("it is whole"));
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
    });
    let ran = replay(&path, &[]);
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    let said = text(&ran.stderr);
    assert!(
        said.contains("is damaged") && said.contains("damaged.journal"),
        "{said}"
    );
    let (_, remedy) = said.split_once("--until ").expect("a remedy");
    let frames = remedy.split_once(',').expect("a number").0;
    let ran = replay(&path, &["--json", "--until", frames]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let replayed: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(replayed["frames"].to_string(), frames);
    assert_eq!(replayed["same"], true);
}

#[test]
fn a_replay_stops_where_it_is_told_and_explains_a_job_there() {
    let dump = replay(&journal(), &["--dump", "--json"]);
    let lines: Vec<Value> = text(&dump.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON on each line"))
        .collect();
    let asked = lines
        .iter()
        .find(|line| line["in"]["record"] == "ASK")
        .expect("a job asks");
    let (job, frame) = (asked["in"]["job"].to_string(), asked["frame"].to_string());
    let until = replay(
        &journal(),
        &["--json", "--until", &frame, "--explain", &job],
    );
    assert!(until.status.success(), "{}", text(&until.stderr));
    let told: Value = serde_json::from_slice(&until.stdout).expect("JSON");
    assert_eq!(told["frames"].to_string(), frame);
    assert_eq!(told["explanation"]["job"].to_string(), job);
    assert!(told["explanation"]["sentence"].is_string(), "{told:#}");
    // Before its frame the job is not there.
    let before = (asked["frame"].as_u64().unwrap() - 1).to_string();
    let early = replay(&journal(), &["--until", &before, "--explain", &job]);
    assert_eq!(early.status.code(), Some(1), "{early:?}");
    assert!(
        text(&early.stderr).contains("no job has number"),
        "{early:?}"
    );
    // The same place by its time: the script's clock is that of 1970.
    let time = asked["time"].as_str().expect("a time");
    let until = replay(&journal(), &["--json", "--until", time]);
    let told: Value = serde_json::from_slice(&until.stdout).expect("JSON");
    let last = lines
        .iter()
        .rfind(|line| line["frame"].is_u64() && line["time"] == time);
    assert_eq!(told["frames"], last.expect("it is there")["frame"]);
    let wrong = replay(&journal(), &["--until", "noon"]);
    assert_eq!(wrong.status.code(), Some(2));
}

/// The dump has every record of every frame, in words and as JSON.
#[test]
fn a_dump_has_every_input_and_every_decision() {
    let recorded = entries(&journal()).expect("it is whole");
    let records = |kind: u32, at: usize| -> u32 {
        let frames = recorded.iter().filter(|entry| entry.kind == kind);
        // An answer to a request is JSON and no frame.
        let frames = frames.filter(|entry| entry.payload[0] != b'{');
        let count = |entry: &Entry| entry.payload[at..at + 4].try_into().expect("four bytes");
        frames.map(|entry| u32::from_le_bytes(count(entry))).sum()
    };
    let (inputs, outputs) = (records(2, 24), records(4, 16));
    let requests = recorded.iter().filter(|entry| entry.kind == 3).count();
    let dump = text(&replay(&journal(), &["--dump"]).stdout);
    let lines = |part: &str| dump.lines().filter(|line| line.contains(part)).count();
    assert_eq!(lines(" request "), 2 * requests);
    assert_eq!(lines(" in "), inputs as usize + requests);
    assert_eq!(lines(" out "), outputs as usize + requests);
    assert!(dump.contains(" in  HEARTBEAT node ") && dump.contains(" out GRANT job "));
    assert!(dump.contains("as recorded, byte for byte"));
}

#[test]
fn the_newest_recording_is_found_by_the_configured_path() {
    let base = folder("replay-base").join("rm.journal");
    record(&json!({"path": base}), 1, 2);
    let (newest, _) = record(&json!({"path": base}), 2, 3);
    let told = |path: &Path| text(&replay(path, &["--json"]).stdout);
    assert_eq!(told(&base), told(&newest));
    assert!(told(&base).contains("\"recording\": 2"));
    let none = replay(&base.with_file_name("other"), &[]);
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn what_is_no_journal_is_refused_with_its_name() {
    for (name, expected) in [
        ("empty.journal", "shorter than its header"),
        ("text.journal", "not a journal"),
        ("newer.journal", "expected journal version 2, found 3"),
    ] {
        let path = changed(name, |bytes| match name {
            "empty.journal" => bytes.clear(),
            "newer.journal" => bytes[8] = 3,
            _ => *bytes = b"a text that is long enough for the header of a journal".to_vec(),
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

/// The copy has no name of the script's users and queues, and the same decisions.
#[test]
fn a_copy_with_pseudonyms_decides_the_same_and_names_nobody() {
    let out = folder("replay-pseudonyms").join("copy");
    let to = out.to_str().expect("UTF-8");
    let ran = replay(&journal(), &["--pseudonyms", to, "--json"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let done: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert!(done["names"].as_u64() > Some(4), "{done}");
    let dump = |path: &Path| text(&replay(path, &["--dump"]).stdout);
    let (named, copied) = (dump(&journal()), dump(&out));
    assert!(copied.contains("as recorded, byte for byte"));
    let all = entries(&out).expect("it is whole");
    for name in ["user0", "user1", "user2", "root.ads", "root.logs"] {
        assert!(named.contains(name), "{name} would prove nothing");
        let has_it = |entry: &Entry| text(&entry.payload).contains(name);
        assert!(!all.iter().any(has_it), "{name} is in the copy");
    }
    let decisions = |dump: &str| {
        let decided = |line: &&str| line.contains(" out ") && line.contains(" frame ");
        let lines = dump
            .lines()
            .filter(decided)
            .filter(|line| !line.contains(" LOG "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(decisions(&copied), decisions(&named));
    let again = replay(&journal(), &["--pseudonyms", to]);
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert!(text(&again.stderr).contains("a journal of this name exists"));
}

/// A journal may come from anywhere, and its checksums may be right.
#[test]
fn a_setup_that_is_no_object_is_refused() {
    for (at, setup) in ["[]", "5", "null"].into_iter().enumerate() {
        let path = folder("replay-setup").join(format!("setup-{at}.journal"));
        fs::write(&path, encode(&[setup_entry(setup)])).expect("the folder is ours");
        let out = path.with_file_name("copy");
        let ran = replay(&path, &["--pseudonyms", out.to_str().expect("UTF-8")]);
        assert_eq!(ran.status.code(), Some(2), "{setup}: {ran:?}");
        let said = text(&ran.stderr);
        assert!(said.contains("no JSON object") && said.contains(&*path.to_string_lossy()));
    }
}

/// The engine's lines are in its output frames, whatever the command logs itself.
#[test]
fn lines_of_the_engines_log_are_answers_too() {
    let base = folder("replay-lines").join("rm.journal");
    let mut host = Host::open(&setup_with(&json!({"path": base}))).expect("the setup is right");
    let mut writer = FrameWriter::default();
    let unknown = [Event::JobRemoved(JobId(99))];
    let answer = Library::step(&mut host, writer.frame(1_000, 1, DECISIONS_MAX, &unknown));
    let lines = Answer::read(&answer).expect("a whole frame").logs;
    assert!(lines[0].text.contains("event ignored"), "{lines:?}");
    drop(host);
    let ran = replay(&base, &["--dump"]);
    assert!(ran.status.success(), "{ran:?}");
    assert!(text(&ran.stdout).contains(" out LOG level"), "{ran:?}");
    assert_eq!(text(&ran.stderr), "");
}
