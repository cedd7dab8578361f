//! The request `policies`, the source of the hosts', the demo's and the documents' knowledge of
//! policies.

use crate::common::Host;
use heddle_core::{Engine, Setup};
use serde_json::{Value, json};

fn answer() -> Value {
    Host::new(json!({})).request(json!({"op": "policies"}))
}

fn rows<'a>(answer: &'a Value, list: &str) -> &'a [Value] {
    answer[list].as_array().expect("a list")
}

fn named<'a>(answer: &'a Value, list: &str, name: &str) -> &'a Value {
    let row = rows(answer, list).iter().find(|row| row["name"] == name);
    row.unwrap_or_else(|| panic!("{list} lacks {name}"))
}

#[test]
fn a_policy_says_what_it_wants_to_hear_and_what_can_be_set() {
    let answer = answer();
    let hfsp = named(&answer, "order", "hfsp");
    assert_eq!(hfsp["wants"], json!(["totals", "progress", "tasks"]));
    assert_eq!(hfsp["section"], "hfsp");
    let delay = named(&answer, "place", "delay");
    assert_eq!(delay["wants"], json!([]));
    let keys: Vec<_> = rows(delay, "settings")
        .iter()
        .map(|row| &row["key"])
        .collect();
    let waits = ["node_wait_ms", "rack_wait_ms", "node_misses", "rack_misses"];
    assert_eq!(keys[..4], waits);
    let fifo = named(&answer, "order", "fifo");
    assert_eq!(
        (&fifo["section"], &fifo["settings"]),
        (&json!(null), &json!([]))
    );
}

#[test]
fn whatever_it_names_can_be_configured() {
    let answer = answer();
    for preset in rows(&answer, "presets") {
        let workload = preset["workload"].as_str().expect("a workload");
        let known = ["users", "bids", "shuffles", "sizes", "goals"];
        assert!(known.contains(&workload), "{preset}");
        let [share, order, place] = [0, 1, 2].map(|stage| &preset["stages"][stage]);
        let spelt = json!({"policy": {"share": share, "order": order, "place": place}});
        let spelt = Setup::with_config(&spelt).expect("its stages compose");
        let short = Setup::with_config(&json!({"policy": preset["name"]}));
        assert_eq!(spelt.config, short.expect("it is a preset").config);
    }
    for stage in ["share", "order", "place"] {
        for row in rows(&answer, stage) {
            let mut config = json!({"policy": {stage: row["name"]}});
            if let Some(section) = row["section"].as_str() {
                config[section] = json!({});
            }
            assert!(Setup::with_config(&config).is_ok(), "{row}");
        }
    }
}

#[test]
fn a_share_says_whether_queues_have_shares_of_their_own() {
    let answer = answer();
    let keeps = |name: &str| named(&answer, "share", name)["keeps_queues"].clone();
    assert_eq!(
        [keeps("single"), keeps("fair")],
        [json!(false), json!(true)]
    );
    assert_eq!(
        [keeps("drf"), keeps("dynamic-priority")],
        [json!(true), json!(true)]
    );
}

#[test]
fn of_those_in_force_it_says_what_they_want_and_whether_weights_count() {
    let in_force = |config: Value| {
        let mut answer = Host::new(config).request(json!({"op": "policies"}));
        answer["in_force"].take()
    };
    let fair = in_force(json!({"policy": "fair"}));
    let stages = json!(["fair", "by-queue", "delay"]);
    assert_eq!(
        fair,
        json!({"stages": stages, "wants": [], "by_weight": true})
    );
    let both = in_force(json!({"policy": {"order": "hfsp", "place": "shuffle-watcher"}}));
    let wants = json!(["progress", "totals", "traffic"]);
    let stages = json!(["fair", "hfsp", "shuffle-watcher"]);
    assert_eq!(
        both,
        json!({"stages": stages, "wants": wants, "by_weight": true})
    );
    let bids = in_force(json!({"policy": "dynamic-priority"}));
    assert_eq!(bids["by_weight"], false);
    // Single tasks matter to policies that take containers back.
    assert_eq!(bids["wants"], json!([]));
    let takes = json!({"policy": "dynamic-priority",
                       "dynamic_priority": {"reclaim_interval_ms": 20_000}});
    assert_eq!(in_force(takes)["wants"], json!(["tasks"]));
    let kills = in_force(json!({"policy": "hfsp", "hfsp": {"kill": true}}));
    assert_eq!(kills["wants"], json!(["progress", "tasks", "totals"]));
    let mut host = Host::new(json!({"policy": "fifo"}));
    host.request(json!({"op": "reload", "config": {"policy": "hfsp"}}));
    let after = host.request(json!({"op": "policies"}));
    assert_eq!(after["in_force"]["wants"], json!(["progress", "totals"]));
}

#[test]
fn no_journal_needs_it() {
    assert!(!Engine::is_mutating(&json!({"op": "policies"})));
}
