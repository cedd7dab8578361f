//! Tests `heddle simulate` and `compare` as processes: exit codes, messages, files.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn heddle(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command.args(arguments).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_string()
}

/// Creates this test's own folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

fn workload(folder: &Path, text: &str) -> String {
    let path = folder.join("own.json");
    fs::write(&path, text).expect("the folder was made");
    path.to_string_lossy().to_string()
}

const TWO_JOBS: &str = r#"{
    "cluster": {"nodes": 4, "racks": 2, "block_mb": 64},
    "jobs": [
        {"user": "ann", "input_mb": 640, "reduces": 2, "shuffle_mb": 100, "output_mb": 50},
        {"submit_s": 5, "user": "bob", "maps": 6, "map_s": 7, "goal_s": 600}
    ]
}"#;

#[test]
fn a_simulation_prints_a_summary_and_writes_tables_and_plots() {
    let folder = folder("simulate");
    let file = workload(&folder, TWO_JOBS);
    let out = folder.join("out");
    let out_name = out.to_string_lossy().to_string();
    let ran = heddle(&[
        "simulate",
        "--workload",
        &file,
        "--policy",
        "fifo",
        "--predict",
        "--out",
        &out_name,
    ]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let summary: Value = serde_json::from_slice(&ran.stdout).expect("a summary as JSON");
    assert_eq!(summary["finished"], 2);
    assert_eq!(summary["goals"]["met"], 1);
    assert_eq!(summary["attempts"]["map"], 16);
    let ends = &summary["predictions"]["ends"];
    let judged = ["sooner", "inside", "later"].map(|side| ends[side].as_u64().unwrap_or(0));
    assert_eq!(judged.iter().sum::<u64>(), 2, "{ends}");
    let kept = fs::read_to_string(out.join("summary.json")).expect("it was written");
    assert_eq!(
        serde_json::from_str::<Value>(&kept).expect("it is JSON"),
        summary
    );
    let jobs = fs::read_to_string(out.join("jobs.csv")).expect("it was written");
    let columns: Vec<usize> = jobs.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [29; 3], "{jobs}");
    // The last four are the prediction; with --predict none is empty.
    assert!(!jobs.contains(",,\n") && !jobs.contains(",\n"), "{jobs}");
    for file in ["samples.csv", "users.csv"] {
        let table = fs::read_to_string(out.join(file)).expect("it was written");
        assert!(table.lines().count() > 1, "{file}: {table}");
    }
    for file in ["utilisation.svg", "crossed.svg", "sojourn.svg", "users.svg"] {
        let plot = fs::read_to_string(out.join(file)).expect("it was drawn");
        assert!(
            plot.starts_with("<svg") && plot.contains("polyline"),
            "{file}"
        );
    }
}

#[test]
fn the_same_seed_prints_the_same() {
    let folder = folder("again");
    let file = workload(&folder, TWO_JOBS);
    let run = |seed: &str| {
        let jitter = ["--jitter", "200", "--failures", "50", "--seed", seed];
        let arguments = ["simulate", "--workload", &file].into_iter().chain(jitter);
        text(&heddle(&arguments.collect::<Vec<_>>()).stdout)
    };
    assert!(!run("1").is_empty());
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

#[test]
fn the_engine_knows_what_the_option_says() {
    let folder = folder("knowledge");
    let file = workload(&folder, TWO_JOBS);
    let run = |knowledge: &[&str]| {
        let policy = ["simulate", "--workload", &file, "--policy", "fifo"];
        let ran = heddle(&[&policy[..], knowledge].concat());
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        text(&ran.stdout)
    };
    let full = run(&[]);
    assert_eq!(run(&["--knowledge", "full"]), full);
    // Ends are told late, unless they are told as under full knowledge.
    assert_ne!(run(&["--knowledge", "live"]), full);
    let exact = run(&["--knowledge", "live+lengths+load"]);
    let figures = |summary: &str| -> Value {
        let mut summary: Value = serde_json::from_str(summary).expect("a summary as JSON");
        // Counters are more events, and change nothing.
        summary["events"].take();
        summary
    };
    assert_eq!(figures(&exact), figures(&full));
}

#[test]
fn a_comparison_has_a_line_for_each_policy() {
    let folder = folder("compare");
    let file = workload(&folder, TWO_JOBS);
    let ran = heddle(&[
        "compare",
        "--workload",
        &file,
        "--policies",
        "fifo,fair,capacity",
    ]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let names: Vec<String> = text(&ran.stdout)
        .lines()
        .filter_map(|line| line.split_whitespace().next().map(str::to_string))
        .collect();
    assert_eq!(names, ["policy", "fifo", "fair", "capacity"]);
    let options = ["--policies", "fifo,fair", "--json"];
    let ran = heddle(&[&["compare", "--workload", &file][..], &options].concat());
    let all: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let finished: Vec<_> = all.as_array().expect("a list").iter().collect();
    assert_eq!(finished.len(), 2, "{all}");
    assert!(
        finished.iter().all(|summary| summary["finished"] == 2),
        "{all}"
    );
}

#[test]
fn mistakes_are_refused_with_what_was_expected() {
    let folder = folder("mistakes");
    let bad = workload(&folder, r#"{"jobs": [{"maps": 3, "reduce": 1}]}"#);
    let cases: [(&[&str], &str); 5] = [
        (&["simulate", "--workload", &bad], "jobs[0].reduce"),
        (&["simulate", "--workload", "swimm"], "expected swim, pi"),
        (&["simulate", "--workload", "none.json"], "none.json"),
        (
            &["simulate", "--knowledge", "live+rumours"],
            "expected totals",
        ),
        (
            &["compare", "--policies", "fifo,lifo"],
            "`lifo` is no policy",
        ),
    ];
    for (arguments, words) in cases {
        let ran = heddle(arguments);
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
        assert!(ran.stdout.is_empty(), "{arguments:?}");
        let said = text(&ran.stderr);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}
