//! The plots of `docs/measured.md` are of the raw results beside them.

use heddle_lab::growth;
use serde_json::json;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn pictures_are_of_the_raw_results() {
    let out = tempfile::tempdir().unwrap();
    let drawn = growth::draw(&root().join(growth::RESULTS), out.path()).unwrap();
    for path in drawn {
        let name = path.file_name().unwrap();
        let kept = root().join(growth::PICTURES).join(name);
        let same = fs::read(&path).unwrap() == fs::read(&kept).unwrap_or_default();
        assert!(
            same,
            "{} is stale: cargo run -p heddle-lab -- growth",
            kept.display()
        );
    }
}

#[test]
fn the_latest_results_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [
        "heartbeat_p50_us",
        "heartbeat_p99_us",
        "tick_mean_us",
        "jobs_answer_us",
        "refresh_us",
    ];
    let row = |policy: &str, nodes: u64| {
        let mut row = json!({"policy": policy, "nodes": nodes});
        keys.iter().for_each(|key| row[key] = json!(3 * nodes));
        row
    };
    let write = |name: &str, policies: [&str; 2]| {
        let runs = policies
            .map(|policy| [row(policy, 10), row(policy, 1_000)])
            .concat();
        fs::write(
            folder.path().join(name),
            json!({ "runs": runs }).to_string(),
        )
        .unwrap();
    };
    write("scale-1.json", ["fifo", "fair"]);
    write("scale-2.json", ["hfsp", "fair"]);
    let drawn = growth::draw(folder.path(), folder.path()).unwrap();
    assert_eq!(drawn.len(), keys.len());
    for path in drawn {
        let picture = fs::read_to_string(path).unwrap();
        assert!(picture.contains("hfsp") && picture.contains("fair"));
        assert!(!picture.contains("fifo"), "it is of an earlier run");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = || growth::draw(folder.path(), folder.path()).unwrap_err();
    assert!(refused().contains("no *.json"), "{}", refused());
    fs::write(
        folder.path().join("scale-a.json"),
        "{\"runs\": [{\"nodes\": 3}]}",
    )
    .unwrap();
    assert!(
        refused().contains("scale-a.json: a run has no `policy`"),
        "{}",
        refused()
    );
    fs::write(folder.path().join("scale-a.json"), "{").unwrap();
    assert!(refused().contains("scale-a.json: EOF"), "{}", refused());
}
