//! The engine takes the stored accounts back after a restart.

// Clippy does not treat helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use crate::support::{closed, grant, micro, opened, store_at, token};
use heddle_core::setup::Setup;
use heddle_core::{Engine, Event};
use heddle_economy::record::{Batch, Change};
use serde_json::{Value, json};

fn queue<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    let mut queues = report["queues"].as_array().unwrap().iter();
    queues.find(|queue| queue["queue"] == name)
}

#[test]
fn the_engine_goes_on_with_the_accounts_that_were_stored() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store_at(&format!("sqlite:{}/a", folder.path().display()));
    let epoch = store.take_over("rm1", token()).unwrap();
    let rate = Change::Rate {
        queue: "root.a".to_string(),
        rate: micro(250_000),
    };
    let changes = vec![
        opened("root.a"),
        grant("root.a", 42_500_001),
        rate,
        opened("root.b"),
        grant("root.b", 3_000_000),
        closed("root.b"),
        opened("root.only-stored"),
    ];
    let (serial, at_ms) = (1, 0);
    let batch = Batch {
        serial,
        at_ms,
        changes,
    };
    store.commit_changes(epoch, &batch).unwrap();

    // The configuration offers all three a budget; two got theirs before the restart.
    let config = json!({"policy": "dynamic-priority", "queues": [
        {"path": "root.a", "budget": 100.0}, {"path": "root.b", "budget": 100.0},
        {"path": "root.c", "budget": 7.0}]});
    let mut engine = Engine::new(Setup::with_config(&config).unwrap()).unwrap();
    engine.step(0, &[Event::Tick], 100, &mut Vec::new());
    let saved = store.load().unwrap().for_engine();
    let request = json!({"op": "restoreAccounts", "saved": saved});
    engine.request(0, &request).unwrap();
    let report = engine.request(0, &json!({"op": "accounts"})).unwrap();
    let a = queue(&report, "root.a").unwrap();
    assert_eq!(a["budget_micro"], 42_500_001);
    assert_eq!(a["spending_rate"], 0.25);
    assert!(queue(&report, "root.b").is_none(), "it was closed");
    assert_eq!(queue(&report, "root.c").unwrap()["budget"], 7.0);
    assert!(queue(&report, "root.only-stored").is_some());
    let sums = &report["sums"];
    // Stored: 45.500001 granted, 3 forfeited; 7 for root.c.
    assert_eq!(sums["granted_micro"], 52_500_001);
    assert_eq!(sums["forfeited_micro"], 3_000_000);
    assert_eq!(sums["held_micro"], 49_500_001);
}
