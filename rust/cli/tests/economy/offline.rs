//! Tests what needs no server: signatures of jobs, completions, the manual, and wrong arguments.

use crate::site::{failed, file, heddle, now_ms};
use heddle_economy::auth::Now;
use heddle_economy::auth::acl::Acl;
use heddle_economy::auth::gate::{Accepted, Gate, Rejection, Settings};
use heddle_economy::auth::job::Submission;
use heddle_economy::auth::{Refusal, Secret, job};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Output;

const SECRET: &str = "alices-secret-of-32-bytes-length";
const BOUNDS: [&str; 10] = [
    "--queue",
    "alice",
    "--name",
    "word count \u{e9}",
    "--credits",
    "12.50",
    "--rate",
    "0.5",
    "--until",
    "+2h",
];

fn sign(arguments: &[&str]) -> Output {
    let mut command = heddle(&[&["sign"], arguments].concat());
    command
        .env("HEDDLE_USER", "alice")
        .env("HEDDLE_SECRET", SECRET);
    command.output().expect("it starts")
}

/// Parses lines of `-Dname=value`.
fn parameters(output: &Output) -> BTreeMap<String, String> {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    let pair = |line: &str| {
        let pair = line
            .strip_prefix("-D")
            .and_then(|line| line.split_once('='));
        let (name, value) = pair.unwrap_or_else(|| panic!("{line}"));
        (name.to_string(), value.to_string())
    };
    text.lines().map(pair).collect()
}

fn submit(
    gate: &mut Gate,
    name: &str,
    queue: &str,
    with: &BTreeMap<String, String>,
) -> Result<Accepted, Rejection> {
    let submission = Submission {
        user: "alice",
        queue,
        name,
    };
    gate.submit(
        &submission,
        |name| with.get(name).cloned(),
        None,
        Now {
            wall_ms: now_ms() as u64,
            steady_ms: now_ms() as u64,
        },
    )
}

/// Builds the gate of a ResourceManager where alice has that secret.
fn gate() -> Gate {
    let mut gate = Gate::new(Settings::default(), now_ms() as u64 - 60_000);
    let (acl, faults) = Acl::parse(format!("alice user {SECRET}\n").as_bytes());
    assert!(faults.is_empty());
    gate.set_acl(acl);
    gate
}

#[test]
fn a_signed_job_passes_the_gate_once_and_as_signed() {
    let with = parameters(&sign(&BOUNDS));
    assert_eq!(with.len(), 7);
    assert_eq!(with["heddle.job.credits"], "12.5");
    let until: i64 = with["heddle.job.until"].parse().expect("a number");
    let signed: i64 = with["heddle.job.timestamp"].parse().expect("a number");
    let expires: i64 = with["heddle.job.expires"].parse().expect("a number");
    // Two hours to spend and an hour to submit. Each counts from its own moment, but the two
    // moments are close.
    assert_eq!(expires - signed, 3_600_000);
    assert!(
        (until - signed - 7_200_000).abs() < 60_000,
        "{until} {signed}"
    );
    let mut gate = gate();
    let name = "word count \u{e9}";
    let other = submit(&mut gate, "another", "root.alice", &with).expect_err("another name");
    assert_eq!(other.why, Refusal::WrongSignature);
    submit(&mut gate, name, "root.bob", &with).expect_err("another's queue");
    for (key, value) in [("heddle.job.credits", "13"), ("heddle.job.rate", "0.6")] {
        let mut more = with.clone();
        more.insert(key.to_string(), value.to_string());
        let more = submit(&mut gate, name, "root.alice", &more).expect_err("more than signed");
        assert_eq!(more.why, Refusal::WrongSignature);
    }
    let accepted = submit(&mut gate, name, "root.alice", &with).expect("it was signed");
    let authority = accepted.authority.expect("version 2 has bounds");
    assert_eq!(authority.bounds.credits.micro(), 12_500_000);
    assert_eq!(authority.bounds.rate.micro(), 500_000);
    let again = submit(&mut gate, name, "root.alice", &with).expect_err("twice");
    assert_eq!(again.why, Refusal::Replayed);
}

#[test]
fn version_1_is_as_published() {
    let with = parameters(&sign(&["--v1"]));
    let timestamp = with[job::TIMESTAMP].parse().expect("a number");
    let expected = job::sign_v1(&Secret::new(SECRET.as_bytes()), "alice", timestamp);
    assert_eq!(with[job::SIGNATURE], expected[1].1);
    assert_eq!(with.len(), 2);
    submit(&mut gate(), "any", "root.alice", &with).expect("it was signed");
    failed(2, &sign(&["--v1", "--credits", "1"]));
}

#[test]
fn other_forms_say_the_same() {
    for arguments in [&["--format", "json"][..], &["--json"]] {
        let output = sign(&[&BOUNDS[..], arguments].concat());
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(json["heddle.job.rate"], "0.5");
        assert_eq!(json.as_object().map(|object| object.len()), Some(7));
    }
    let xml = sign(&[&BOUNDS[..], &["--format", "xml"]].concat());
    let xml = String::from_utf8(xml.stdout).expect("UTF-8");
    assert!(
        xml.contains("<name>heddle.job.credits</name><value>12.5</value>"),
        "{xml}"
    );
    assert_eq!(xml.lines().count(), 7);
}

#[test]
fn bounds_are_not_left_out_nor_guessed() {
    failed(2, &sign(&[]));
    for missing in (0..BOUNDS.len()).step_by(2) {
        let mut some = BOUNDS.to_vec();
        some.drain(missing..missing + 2);
        failed(2, &sign(&some));
    }
    for (at, value) in [
        (5, "NaN"),
        (5, "-1"),
        (7, "1e3"),
        (9, "1999-01-01"),
        (9, "+2 moons"),
    ] {
        let mut odd = BOUNDS;
        odd[at] = value;
        failed(2, &sign(&odd));
    }
}

#[test]
fn completions_know_the_commands() {
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef heddle"),
        ("fish", "complete -c"),
    ] {
        let output = heddle(&["completions", shell]).output().expect("it starts");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains(mark), "{shell}");
        for command in [
            "import-budget",
            "ledger",
            "explain",
            "migrate",
            "secret-file",
        ] {
            assert!(text.contains(command), "{shell}: {command}");
        }
    }
    failed(
        2,
        &heddle(&["completions", "tcsh"])
            .output()
            .expect("it starts"),
    );
}

/// A real bash accepts them.
#[test]
fn bash_completes_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = heddle(&["completions", "bash"])
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let script = file(&folder.path().join("completions"), &text, 0o600);
    let ask = format!(
        "source {}; COMP_WORDS=(heddle led); COMP_CWORD=1; _heddle heddle led heddle; \
         echo ${{COMPREPLY[@]}}",
        script.display()
    );
    let bash = std::process::Command::new("bash")
        .args(["-c", &ask])
        .output()
        .expect("bash");
    assert_eq!(
        String::from_utf8_lossy(&bash.stdout),
        "ledger\n",
        "{bash:?}"
    );
}

#[test]
fn the_manual_and_the_help_tell_of_exit_codes_and_secrets() {
    let man = heddle(&["man"]).output().expect("it starts");
    let man = String::from_utf8(man.stdout).expect("UTF-8");
    assert!(man.contains(".TH heddle 1"), "{man}");
    for command in [
        "HEDDLE PRICE",
        "HEDDLE QUEUE REMOVE",
        "HEDDLE STORE MIGRATE",
        "HEDDLE TOP",
    ] {
        assert!(man.contains(&format!("\"{command}\"")) || man.contains(&format!(".SH {command}")));
    }
    assert!(man.contains("not reachable") && man.contains("HEDDLE_SECRET_FILE"));
    let help = heddle(&["--help"]).output().expect("it starts");
    let help = String::from_utf8(help.stdout).expect("UTF-8");
    for text in [
        "Exit codes",
        "not reachable",
        "HEDDLE_SECRET",
        "import-budget",
        "check-config",
    ] {
        assert!(help.contains(text), "{text}: {help}");
    }
}
