//! `heddle whatif` over the real history of a stock cluster: what it prints, writes and refuses.

use serde_json::Value;
use std::process::{Command, Output};

const HISTORY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../history/results/2026-11-25/stock-fifo"
);

fn whatif(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command
        .arg("whatif")
        .args(arguments)
        .output()
        .expect("it runs")
}

/// The mean of the eight applications' `elapsedTime` in the recorded `apps.json`.
#[test]
fn it_predicts_beside_what_was_recorded() {
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().display().to_string();
    let output = whatif(&[
        HISTORY,
        "--policies",
        "fifo,fair",
        "--json",
        "--out",
        &folder,
    ]);
    assert!(output.status.success(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let recorded = &answer["outcomes"][0];
    let elapsed = [
        289_322, 264_123, 263_268, 235_415, 212_715, 196_968, 100_341, 120_704,
    ];
    let mean_s = f64::from(elapsed.iter().sum::<i32>()) / 8e3;
    let got_s = recorded["all"]["turn_around_s"]["mean"]
        .as_f64()
        .expect("a number");
    assert!((got_s - mean_s).abs() < 1e-6, "{got_s} {mean_s}");
    for at in [1, 2] {
        let all = &answer["outcomes"][at]["all"];
        assert_eq!(
            (&all["jobs"], &all["ended"]),
            (&8.into(), &8.into()),
            "{all}"
        );
    }
    assert_eq!(answer["outcomes"][1]["name"], "fifo");
    let page = std::fs::read_to_string(out.path().join("index.html")).expect("the page");
    assert!(page.contains("What this does not know"));
    assert_eq!(page.matches("<svg").count(), 6);
    for name in [
        "memory",
        "open",
        "queues",
        "turn-around",
        "users",
        "waiting",
    ] {
        let picture = std::fs::read_to_string(out.path().join(format!("{name}.svg")));
        assert!(page.contains(&picture.expect("a picture")), "{name}");
    }
    assert!(
        !page.contains("src=") && !page.contains("href="),
        "it loads something"
    );
    let table = std::fs::read_to_string(out.path().join("jobs.csv")).expect("the table");
    assert_eq!(table.lines().count(), 9);
}

#[test]
fn it_refuses_with_place_and_remedy() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let empty = file.path().display().to_string();
    let no_nodes = format!("{HISTORY}/apps.json");
    let cases: [(&[&str], &str); 7] = [
        (&[&empty], "offset 0"),
        (&[&no_nodes], "--node-memory"),
        (&[HISTORY, "--policies", "lifo"], "no policy"),
        (&[HISTORY, "--baseline", "lottery"], "lottery"),
        (&[HISTORY, "--policies", ""], "there is nothing to try"),
        (&[HISTORY, "--nodes", "0"], "1..=100000"),
        (&[HISTORY, "--nodes", "8,4000000000"], "1..=100000"),
    ];
    for (arguments, words) in cases {
        let output = whatif(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}
