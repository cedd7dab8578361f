//! Advice before a bid, and the projection of budgets: numbers worked out by hand, permissions, and
//! errors for wrong questions.

use crate::common::{NOW, Site, json_of, text};
use serde_json::{Value, json};

fn advice(site: &Site, user: &str, queue: &str, query: &str) -> (u16, Value) {
    let target = format!("/heddle/v1/queues/{queue}/advice?{query}");
    let answer = site.signed(user, "GET", target.trim_end_matches('?'), "");
    (answer.status, json_of(&answer))
}

/// Alice bids 2 and bob 1 for 12 slots, and she uses the 8 that she pays for.
#[test]
fn the_least_bid_and_what_it_leads_to() {
    let site = Site::market();
    site.cluster().until(7_000);
    // A bid b buys 12 b / (b + 1) slots. 8.5 are rounded up to 9, because alice comes before bob.
    // So b is 8.5 / 3.5, rounded up to a millionth. 9 slots of it for 180 intervals an hour are
    // 3934.28664 credits, and 100 credits last 91,503 ms. 8 slots at 2 are 2880, and they last 125
    // s.
    let expected = json!({
        "queue": "root.alice", "slots": 9, "pool": 0, "cluster_slots": 12, "quota": 8,
        "budget": "100", "budget_micro": 100_000_000, "rate": "2", "rate_micro": 2_000_000,
        "price": "3", "price_micro": 3_000_000,
        "now": {
            "spends_per_hour": "2880", "spends_per_hour_micro": 2_880_000_000_u64,
            "income_per_hour": "0", "income_per_hour_micro": 0, "ends_in_ms": 125_000,
        },
        "bid": "2.428572", "bid_micro": 2_428_572,
        "price_then": "3.428572", "price_then_micro": 3_428_572,
        "then": {
            "spends_per_hour": "3934.28664", "spends_per_hour_micro": 3_934_286_640_u64,
            "income_per_hour": "0", "income_per_hour_micro": 0, "ends_in_ms": 91_503,
        },
        "affordable": true, "slots_given": 9, "counts_in_ms": 13_000, "why": null,
        "now_ms": NOW,
    });
    assert_eq!(advice(&site, "alice", "alice", "slots=9"), (200, expected));
    let by_path = advice(&site, "root", "root.alice", "pool=0&slots=9").1;
    assert_eq!(by_path["bid_micro"], 2_428_572);
    // The advised bid suffices, and a millionth less does not.
    for (rate, quota) in [("2.428571", 8), ("2.428572", 9)] {
        let body = format!("{{\"rate\": \"{rate}\"}}");
        site.signed("alice", "PUT", "/heddle/v1/queues/alice/bid", &body);
        site.cluster()
            .until(if quota == 8 { 20_000 } else { 40_000 });
        let queue = json_of(&site.signed("alice", "GET", "/heddle/v1/queues/alice", ""));
        assert_eq!(queue["account"]["quota"], json!([quota, 0]), "{rate}");
    }
}

#[test]
fn what_cannot_be_had_has_a_reason_and_no_bid() {
    let site = Site::market();
    for (query, why) in [
        ("slots=13", "the cluster has 12 slots of that kind"),
        ("slots=4294967295", "the cluster has 12 slots of that kind"),
        ("slots=1&pool=1", "the cluster has 0 slots of that kind"),
    ] {
        let (status, told) = advice(&site, "alice", "alice", query);
        assert_eq!((status, &told["why"]), (200, &json!(why)), "{query}");
        for key in [
            "bid",
            "bid_micro",
            "price_then",
            "then",
            "slots_given",
            "affordable",
        ] {
            assert_eq!(told[key], Value::Null, "{query}: {key}");
        }
        assert_eq!(told["now"]["ends_in_ms"], 125_000);
    }
}

#[test]
fn who_has_nothing_is_told_that_the_bid_would_not_count() {
    let site = Site::market();
    site.signed(
        "root",
        "POST",
        "/heddle/v1/queues",
        "{\"queue\": \"carol\"}",
    );
    let (status, told) = advice(&site, "root", "carol", "slots=3");
    assert_eq!((status, &told["affordable"]), (200, &json!(false)));
    assert_eq!(told["then"]["ends_in_ms"], 0);
    // She uses nothing, so nothing ends.
    assert_eq!(told["now"]["ends_in_ms"], Value::Null);
    assert_eq!(told["budget"], "0");
}

#[test]
fn only_the_queues_user_and_administrators_are_told() {
    let site = Site::market();
    assert_eq!(advice(&site, "bob", "alice", "slots=3").0, 403);
    let unsigned = site.get("/heddle/v1/queues/alice/advice?slots=3");
    assert_eq!(unsigned.status, 401);
    // Other users do not learn whether the queue exists.
    assert_eq!(advice(&site, "bob", "nobody", "slots=3").0, 403);
    let (status, told) = advice(&site, "root", "nobody", "slots=3");
    assert_eq!((status, &told["error"]["where"]), (404, &json!("queue")));
}

#[test]
fn questions_that_are_none_are_refused() {
    let site = Site::market();
    let (status, missing) = advice(&site, "alice", "alice", "");
    assert_eq!(status, 400);
    assert_eq!(missing["error"]["where"], "query, `slots`");
    let expected = missing["error"]["expected"].as_str().expect("a text");
    assert!(expected.contains("from 1 to 4294967295"), "{expected}");
    let numbers = [
        "0",
        "-1",
        "-0",
        "4294967296",
        "18446744073709551616",
        "NaN",
        "inf",
        "1.5",
        "1e3",
        "0x1",
        "",
        "+1",
        "1%20",
        "%D9%A1",
        "1;2",
        "null",
        "[]",
    ];
    for number in numbers {
        let (status, told) = advice(&site, "alice", "alice", &format!("slots={number}"));
        assert_eq!(status, 400, "slots={number}: {told}");
        if number == "0" {
            continue;
        }
        let (status, told) = advice(&site, "alice", "alice", &format!("slots=1&pool={number}"));
        assert_eq!(status, 400, "pool={number}: {told}");
    }
    for query in [
        "slots=1&pool=2",
        "slots=1&slots=1",
        "slots=1&x=1",
        "Slots=1",
        "slots",
        "pool=0",
        "slots=1&pool",
        "slots=1&queue=alice",
    ] {
        assert_eq!(advice(&site, "alice", "alice", query).0, 400, "{query}");
    }
    let body = site.signed(
        "alice",
        "GET",
        "/heddle/v1/queues/alice/advice?slots=1",
        "{}",
    );
    assert_eq!(body.status, 400);
    for method in ["PUT", "POST", "DELETE"] {
        let target = "/heddle/v1/queues/alice/advice?slots=1";
        assert_eq!(site.signed("root", method, target, "").status, 405);
    }
    assert_eq!(site.rate("root.alice"), Some(2.0));
}

#[test]
fn every_account_has_its_projection() {
    let site = Site::market();
    for target in ["/heddle/v1/queues/alice", "/heddle/v1/queues"] {
        let answer = json_of(&site.signed("alice", "GET", target, ""));
        let queue = if answer["queues"].is_null() {
            &answer
        } else {
            &answer["queues"][0]
        };
        let projection = &queue["account"]["projection"];
        assert_eq!(projection["spends_per_hour"], "2880", "{target}");
        assert_eq!(projection["ends_in_ms"], 125_000, "{target}");
    }
    // A change returns the new projection, and other users' answers contain none of it.
    let body = "{\"rate\": \"0\"}";
    let set = site.signed("alice", "PUT", "/heddle/v1/queues/alice/bid", body);
    assert!(json_of(&set)["projection"].is_object(), "{}", text(&set));
    let own = text(&site.signed("bob", "GET", "/heddle/v1/queues", ""));
    assert!(!own.contains("2880"), "{own}");
}
