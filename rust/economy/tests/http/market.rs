//! Prices and charges over time, from the intervals that a host reports.

use crate::common::{NOW, START, Site, header, json_of, market_config, text};
use heddle_core::words::credits::Credits;
use heddle_economy::record::{Interval, Row};
use serde_json::json;

/// Returns an interval of 20 s. Alice bids 2 and pays 16 for 8 slots; bob bids 1 and pays 4 for 4.
fn interval(i: u64) -> Interval {
    let row = |queue: &str, rate: i64, quota: u32, balance: i64| Row {
        queue: queue.to_string(),
        rate: Credits::from_micro(rate * 1_000_000),
        quota: [quota, 0],
        used_slot_ms: [i64::from(quota) * 20_000, 0],
        income: Credits::from_micro(500_000),
        debit: Credits::from_micro(rate * i64::from(quota) * 1_000_000),
        balance: Credits::from_micro(balance),
        unpaid_slot_ms: [30_000, 1],
        am_ms: 20_000,
    };
    let past = i as i64;
    let rows = vec![
        row("root.alice", 2, 8, 100_000_000 - 15_500_000 * past),
        row("root.bob", 1, 4, 1_000_000_000 - 3_500_000 * past),
    ];
    crate::common::interval(START + 20_000 * i, 3_000_000 + past, rows)
}

fn site(intervals: u64, kept: usize) -> Site {
    let site = Site::with(&market_config(), &json!({"history_intervals": kept}));
    (1..=intervals).for_each(|i| site.api.interval(interval(i)));
    site
}

#[test]
fn the_price_over_time() {
    let site = site(3, 100);
    let history = json_of(&site.signed("bob", "GET", "/heddle/v1/price/history", ""));
    let expected = json!({
        "intervals": [
            {"at_ms": START + 20_000, "price": "3.000001", "price_micro": 3_000_001},
            {"at_ms": START + 40_000, "price": "3.000002", "price_micro": 3_000_002},
            {"at_ms": START + 60_000, "price": "3.000003", "price_micro": 3_000_003},
        ],
        "next_from_ms": null,
        "complete": true,
    });
    assert_eq!(history, expected);
    let now = json_of(&site.get("/heddle/v1/price"));
    assert_eq!(now, json!({"price": "0", "price_micro": 0, "now_ms": NOW}));
}

#[test]
fn pages_follow_each_other_without_a_gap() {
    let site = site(7, 100);
    for (route, list, rows) in [("price/history", "intervals", 1), ("ledger", "rows", 2)] {
        let mut from = Some(0);
        let mut times = Vec::new();
        while let Some(from_ms) = from {
            let target = format!("/heddle/v1/{route}?from_ms={from_ms}&max=3");
            let page = json_of(&site.signed("root", "GET", &target, ""));
            let entries = page[list].as_array().expect("a list");
            times.extend(entries.iter().filter_map(|entry| entry["at_ms"].as_u64()));
            from = page["next_from_ms"].as_u64();
        }
        let expected = (1..=7).flat_map(|i| vec![START + 20_000 * i; rows]);
        assert_eq!(times, expected.collect::<Vec<_>>(), "{route}");
    }
    let target = format!(
        "/heddle/v1/ledger?from_ms={}&to_ms={}",
        START + 40_000,
        START + 59_999
    );
    let one = json_of(&site.signed("root", "GET", &target, ""));
    assert_eq!(one["rows"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_has_been_forgotten_is_said() {
    let site = site(5, 2);
    let all = json_of(&site.signed("root", "GET", "/heddle/v1/price/history", ""));
    assert_eq!(all["complete"], false);
    assert_eq!(all["intervals"][0]["at_ms"], START + 80_000);
    let target = format!("/heddle/v1/price/history?from_ms={}", START + 80_000);
    let late = json_of(&site.signed("root", "GET", &target, ""));
    assert_eq!(late["complete"], true);
    // An interval that does not follow is left out.
    for wrong in [interval(5), interval(1)] {
        site.api.interval(wrong);
    }
    assert_eq!(
        json_of(&site.signed("root", "GET", "/heddle/v1/price/history", "")),
        all
    );
}

#[test]
fn the_ledger_in_json() {
    let site = site(1, 100);
    let ledger = json_of(&site.signed("alice", "GET", "/heddle/v1/ledger", ""));
    let expected = json!({
        "rows": [{
            "at_ms": START + 20_000, "queue": "root.alice",
            "price": "3.000001", "price_micro": 3_000_001,
            "rate": "2", "rate_micro": 2_000_000,
            "quota": [8, 0], "used_slot_ms": [160_000, 0],
            "unpaid_slot_ms": [30_000, 1], "am_ms": 20_000,
            "income": "0.5", "income_micro": 500_000,
            "debit": "16", "debit_micro": 16_000_000,
            "balance": "84.5", "balance_micro": 84_500_000,
        }],
        "next_from_ms": null,
        "next_from_interval": null,
        "complete": true,
    });
    assert_eq!(ledger, expected);
    let own = json_of(&site.signed("alice", "GET", "/heddle/v1/ledger?queue=alice", ""));
    assert_eq!(own, expected);
    let all = json_of(&site.signed("root", "GET", "/heddle/v1/ledger", ""));
    assert_eq!(
        crate::common::paths(&all["rows"]),
        ["root.alice", "root.bob"]
    );
}

#[test]
fn the_ledger_in_csv() {
    let site = site(2, 100);
    let ledger = |user, target| site.signed_with(user, "GET", target, b"", Some("text/csv"));
    let page = ledger("root", "/heddle/v1/ledger?max=1");
    assert_eq!(page.content_type, "text/csv; charset=utf-8");
    assert_eq!(header(&page, "Vary"), Some("Accept"));
    let next = (START + 40_000).to_string();
    assert_eq!(header(&page, "X-Heddle-Next-From-Ms"), Some(next.as_str()));
    assert_eq!(header(&page, "X-Heddle-Next-From-Interval"), Some("2"));
    let head = "at_ms,queue,price,rate,quota_0,quota_1,used_slot_ms_0,used_slot_ms_1,income,\
                debit,balance,unpaid_slot_ms_0,unpaid_slot_ms_1,am_ms\n";
    let at_ms = START + 20_000;
    let expected = format!(
        "{head}{at_ms},root.alice,3.000001,2,8,0,160000,0,0.5,16,84.5,30000,1,20000\n\
         {at_ms},root.bob,3.000001,1,4,0,80000,0,0.5,4,996.5,30000,1,20000\n"
    );
    assert_eq!(text(&page), expected);
    let own = text(&ledger("bob", "/heddle/v1/ledger"));
    assert!(
        own.lines().skip(1).all(|line| line.contains(",root.bob,")),
        "{own}"
    );
    assert_eq!(own.lines().count(), 3);
}

/// After a failover, intervals 5 to 7 are merged. A client that got 5 from the former server asks
/// for 6.
#[test]
fn a_page_that_begins_inside_of_a_sum_is_refused() {
    let site = Site::with(&market_config(), &json!({}));
    site.api.interval(Interval {
        tick: 7,
        ticks: 3,
        ..interval(7)
    });
    let ask = |from: u64| {
        let target = format!("/heddle/v1/ledger?from_interval={from}");
        site.signed("root", "GET", &target, "")
    };
    for from in [6, 7] {
        let refused = ask(from);
        assert_eq!(refused.status, 409, "{}", text(&refused));
        assert!(
            text(&refused).contains("intervals 5 to 7"),
            "{}",
            text(&refused)
        );
    }
    for (from, rows) in [(5, 2), (8, 0)] {
        let page = json_of(&ask(from));
        assert_eq!(page["rows"].as_array().map(Vec::len), Some(rows), "{from}");
    }
}
