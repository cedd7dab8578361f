//! The plots of what grows with a cluster.

use heddle_lab::growth;
use serde_json::json;
use std::fs;

#[test]
fn only_what_was_measured_alike_is_drawn() {
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
    let write = |name: &str, clock: &str, policy: &str| {
        let runs = [row(policy, 10), row(policy, 1_000)];
        let root = json!({"clock": clock, "cores": 2, "hadoop": "3.5.0", "runs": runs});
        fs::write(folder.path().join(name), root.to_string()).unwrap();
    };
    write("scale-1.json", "wall", "fifo");
    write("scale-2.json", "cpu", "hfsp");
    write("scale-3.json", "cpu", "fair");
    let drawn = growth::draw(folder.path(), folder.path()).unwrap();
    assert_eq!(drawn.len(), keys.len());
    for path in drawn {
        let picture = fs::read_to_string(path).unwrap();
        assert!(picture.contains("hfsp") && picture.contains("fair"));
        assert!(!picture.contains("fifo"), "it has another clock");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = || growth::draw(folder.path(), folder.path()).unwrap_err();
    assert!(
        refused().contains("no policy has `heartbeat_p50_us` of two sizes"),
        "{}",
        refused()
    );
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
