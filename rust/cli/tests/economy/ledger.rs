//! Tests `heddle ledger`: reads the output back, adds it up, and compares it with the accounts.

use crate::site::{Site, failed, heddle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// A ledger of three intervals that cost alice 8 * 2 and bob 4 * 1 credits each.
fn site() -> Site {
    let site = Site::market();
    site.until(60_500);
    site
}

/// Converts a decimal to millionths without floating point.
fn micro(text: &str) -> i64 {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    assert!(rest.len() <= 6, "{text}");
    format!("{whole}{rest:0<6}").parse().expect("a number")
}

#[test]
fn what_was_charged_is_what_is_gone() {
    let site = site();
    let text = site.said("root", &["ledger"]);
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    let mut debits: BTreeMap<String, i64> = BTreeMap::new();
    let mut incomes: BTreeMap<String, i64> = BTreeMap::new();
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let mut rows = 0;
    for row in csv.deserialize::<BTreeMap<String, String>>() {
        let row = row.expect("a row as wide as the heading");
        let queue = row["queue"].clone();
        *debits.entry(queue.clone()).or_default() += micro(&row["debit"]);
        *incomes.entry(queue.clone()).or_default() += micro(&row["income"]);
        last.insert(queue.clone(), micro(&row["balance"]));
        let (rate, slots) = if queue == "root.alice" {
            ("2", 8)
        } else {
            ("1", 4)
        };
        assert_eq!((row["rate"].as_str(), row["price"].as_str()), (rate, "3"));
        assert_eq!(row["quota_0"], slots.to_string());
        assert_eq!(row["used_slot_ms_0"], (slots * 20_000).to_string());
        rows += 1;
    }
    assert_eq!(rows, 6);
    assert_eq!(debits, of_both(48_000_000, 12_000_000));
    // 7.2 and 3.6 credits an hour for a minute.
    assert_eq!(incomes, of_both(120_000, 60_000));
    assert_eq!(last, of_both(52_120_000, 988_060_000));
    for (queue, balance) in &last {
        assert_eq!(site.account(queue)["budget_micro"], *balance);
    }
}

fn of_both(alice: i64, bob: i64) -> BTreeMap<String, i64> {
    BTreeMap::from([("root.alice".into(), alice), ("root.bob".into(), bob)])
}

#[test]
fn pages_together_are_the_whole() {
    let site = site();
    let whole = site.said("root", &["ledger"]);
    let before = site.heard().len();
    assert_eq!(site.said("root", &["ledger", "--max", "1"]), whole);
    // The server never splits an interval, so each page has two rows: three requests.
    assert_eq!(site.heard().len() - before, 3);
    let first = site.run("root", &["ledger", "--max", "1", "--page"]);
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let next = format!("there is more: --from {}", site.started_ms + 40_500);
    let hint = String::from_utf8_lossy(&first.stderr);
    assert!(hint.contains(&next), "{hint}");
    let mut text = String::from_utf8(first.stdout).expect("UTF-8");
    let from = (site.started_ms + 40_500).to_string();
    let rest = site.said("root", &["ledger", "--from", &from]);
    text.extend(rest.lines().skip(1).map(|line| format!("{line}\n")));
    assert_eq!(text, whole);
}

#[test]
fn the_end_of_a_range_belongs_to_the_next() {
    let site = site();
    let at = |ms: i64| (site.started_ms + ms).to_string();
    let times = |arguments: &[&str]| -> Vec<i64> {
        let json = site.json("alice", &[&["ledger"], arguments].concat());
        let rows = json["rows"].as_array().expect("a list").clone();
        rows.iter()
            .map(|row| row["at_ms"].as_i64().unwrap() - site.started_ms)
            .collect()
    };
    assert_eq!(times(&["--to", &at(40_500)]), [20_500]);
    assert_eq!(times(&["--from", &at(40_500)]), [40_500, 60_500]);
    assert_eq!(
        times(&["--from", "2020-01-01", "--to", "2020-01-02"]),
        [0_i64; 0]
    );
    site.refused(2, "alice", &["ledger", "--from", "yesterday"]);
}

#[test]
fn json_and_csv_say_the_same() {
    let site = site();
    let json = site.json("root", &["ledger", "--max", "3"]);
    assert_eq!(
        (&json["next_from_ms"], &json["complete"]),
        (&Value::Null, &json!(true))
    );
    let other = site.said("root", &["ledger", "--format", "json"]);
    assert_eq!(json, serde_json::from_str::<Value>(&other).expect("JSON"));
    let text = site.said("root", &["ledger"]);
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    let rows = json["rows"].as_array().expect("a list");
    let records: Vec<_> = csv.records().map(|record| record.expect("a row")).collect();
    assert_eq!(records.len(), rows.len());
    for (record, row) in records.iter().zip(rows) {
        assert_eq!(record[0], row["at_ms"].to_string());
        assert_eq!(record[9], *row["debit"].as_str().expect("a text"));
        assert_eq!(micro(&record[10]), row["balance_micro"]);
    }
}

#[test]
fn a_user_is_charged_for_the_own_queue_only() {
    let site = site();
    let own = site.said("bob", &["ledger"]);
    assert_eq!(own.lines().count(), 4);
    assert!(!own.contains("alice"), "{own}");
    let refused = site.refused(1, "bob", &["ledger", "--queue", "alice"]);
    assert!(refused.contains("ACCESS DENIED"), "{refused}");
    let one = site.said("root", &["ledger", "--queue", "alice"]);
    assert!(
        one.lines().skip(1).all(|line| line.contains("root.alice")),
        "{one}"
    );
    assert_eq!(one.lines().count(), 4);
}

/// Three intervals, of which the server remembers two.
#[test]
fn what_the_server_has_forgotten_is_in_its_store() {
    let site = Site::with(&json!({"history_intervals": 2}));
    site.until(60_500);
    let all = site.json("root", &["ledger", "--max", "1"]);
    assert_eq!(
        (&all["complete"], &all["next_from_ms"]),
        (&json!(true), &Value::Null)
    );
    let rows = all["rows"].as_array().expect("a list");
    let at = |i: i64, queue: &str| (json!(site.started_ms + 500 + 20_000 * i), json!(queue));
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row["at_ms"].clone(), row["queue"].clone()))
        .collect();
    let expected: Vec<_> = (1..=3)
        .flat_map(|i| [at(i, "root.alice"), at(i, "root.bob")])
        .collect();
    assert_eq!(told, expected);
    assert_eq!(site.said("root", &["ledger"]).lines().count(), 7);
    let own = site.said("bob", &["ledger"]);
    assert!(own.lines().count() == 4 && !own.contains("alice"), "{own}");
    let first = (site.started_ms + 20_500).to_string();
    let next = (site.started_ms + 40_500).to_string();
    let month = site.said("alice", &["ledger", "--from", &first, "--to", &next]);
    assert_eq!(month.lines().count(), 2, "{month}");
}

#[test]
fn a_store_that_is_gone_takes_the_old_ones_along_only() {
    let site = Site::with(&json!({"history_intervals": 2}));
    site.until(60_500);
    fs::rename(site.path("stored"), site.path("gone")).expect("it is there");
    let refused = site.run("root", &["ledger"]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_ne!(refused.status.code(), Some(0));
    assert!(told.contains("the store cannot be read"), "{told}");
    assert!(refused.stdout.is_empty(), "{refused:?}");
    let from = (site.started_ms + 40_500).to_string();
    let late = site.said("root", &["ledger", "--from", &from]);
    assert_eq!(late.lines().count(), 5, "{late}");
    fs::rename(site.path("gone"), site.path("stored")).expect("it is there");
    // The server reports a failure for a second.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(site.said("root", &["ledger"]).lines().count(), 7);
}

/// An operator's whole path: after a store is migrated, the new one has the charges.
#[test]
fn a_store_that_was_moved_has_the_ledger() {
    let site = site();
    let from = format!("sqlite:{}", site.path("stored/economy").display());
    let to = format!("file:{}", site.path("moved").display());
    let output = heddle(&["store", "migrate", &from, &to, "--json"])
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let moved: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // Four intervals, the first without rows; two accounts, with grants of 100 and 1000.
    assert_eq!(
        (&moved["accounts"], &moved["intervals"]),
        (&json!(2), &json!(4))
    );
    assert_eq!(moved["rows"], 6);
    let mut store = heddle_economy::store::open(&to, None).expect("a place");
    let rows = store
        .ledger(&heddle_economy::record::LedgerQuery::default())
        .expect("it can be read");
    let debits: i64 = rows.iter().map(|row| row.row.debit.micro()).sum();
    assert_eq!(debits, 60_000_000);
    let book = store.load().expect("it can be read");
    assert_eq!(book.accounts["root.alice"].budget.micro(), 52_120_000);
    // A store that holds something is no target, and a failed attempt changes nothing.
    let output = heddle(&["store", "migrate", &from, &to])
        .output()
        .expect("it starts");
    let refused = failed(1, &output);
    assert!(refused.contains("not empty"), "{refused}");
    assert!(fs::exists(site.path("stored/economy")).expect("it can be looked at"));
}
