//! The host's record of accounts, and advice on bids before they are placed. Every figure follows
//! from bids, slots and the interval of 20 s.

use crate::common::market::Market;
use heddle_core::Engine;
use heddle_core::words::credits::Credits;
use heddle_core::words::ledger::{CONFIGURATION, ChargeRow, Entry, LedgerBatch};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn credits(credits: f64) -> Credits {
    Credits::from_number(credits).expect("an amount")
}

/// Takes the entries; none may have been dropped.
fn taken(market: &mut Market) -> Vec<Entry> {
    let LedgerBatch { entries, dropped } = market.host.engine.take_ledger();
    assert!(!dropped);
    entries
}

/// Alice bids 1 and bob 2 for 9 slots, both with jobs for all of them.
fn market() -> Market {
    let mut market = Market::new(9, &[("alice", 100.0, 1.0), ("bob", 100.0, 2.0)]);
    market.host.engine.keep_ledger();
    market.submit(1, "alice", 20);
    market.submit(2, "bob", 20);
    market
}

fn opened(queue: &str, budget: f64, rate: f64) -> [Entry; 3] {
    let queue = || queue.to_string();
    [
        Entry::Opened { queue: queue() },
        Entry::Granted {
            queue: queue(),
            amount: credits(budget),
            by: CONFIGURATION.to_string(),
            why: String::new(),
        },
        Entry::Rate {
            queue: queue(),
            rate: credits(rate),
        },
    ]
}

#[test]
fn what_the_configuration_opens_is_noted_before_its_first_interval() {
    let mut market = market();
    market.until(500);
    let entries = taken(&mut market);
    let expected: Vec<Entry> = [
        opened("root.alice", 100.0, 1.0),
        opened("root.bob", 100.0, 2.0),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (first, rest) = entries.split_at(expected.len());
    assert_eq!(first, expected);
    let [Entry::Interval { price, rows, .. }] = rest else {
        panic!("one interval: {rest:?}");
    };
    assert_eq!(
        (*price, rows.as_slice()),
        (credits(3.0), &[][..]),
        "nobody had slots"
    );
}

#[test]
fn an_interval_says_who_was_charged_for_what() {
    let mut market = market();
    market.until(500);
    taken(&mut market);
    assert_eq!(market.beat([1, 2]), [3, 6]);
    market.until(20_500);
    let entries = taken(&mut market);
    let [Entry::Interval { at_ms, price, rows }] = entries.as_slice() else {
        panic!("one interval: {entries:?}");
    };
    assert_eq!((*at_ms, *price), (20_500, credits(3.0)));
    let row = |queue: &str, rate: f64, quota: u32, debit: f64| ChargeRow {
        queue: queue.to_string(),
        rate: credits(rate),
        quota: [quota, 0],
        used_slot_ms: [i64::from(quota) * 20_000, 0],
        income: Credits::ZERO,
        debit: credits(debit),
        balance: credits(100.0 - debit),
        ..ChargeRow::default()
    };
    let expected = [
        row("root.alice", 1.0, 3, 3.0),
        row("root.bob", 2.0, 6, 12.0),
    ];
    assert_eq!(rows, &expected);
}

/// Rebuilds the accounts like a host that knows only the entries.
fn books(entries: &[Entry]) -> BTreeMap<String, (i64, i64)> {
    let mut books = BTreeMap::new();
    for entry in entries {
        match entry {
            Entry::Opened { queue } => {
                assert_eq!(books.insert(queue.clone(), (0, 0)), None, "opened twice");
            }
            Entry::Closed { queue, .. } => {
                books.remove(queue).expect("it was open");
            }
            Entry::Granted { queue, amount, .. } => {
                books.get_mut(queue).expect("it is open").0 += amount.micro();
            }
            Entry::Rate { queue, rate } => {
                books.get_mut(queue).expect("it is open").1 = rate.micro();
            }
            Entry::Income { queue, .. } => assert!(books.contains_key(queue)),
            Entry::Interval { rows, .. } => {
                for row in rows {
                    let budget = &mut books.get_mut(&row.queue).expect("it is open").0;
                    *budget += row.income.micro() - row.debit.micro();
                    assert_eq!(*budget, row.balance.micro(), "{}", row.queue);
                }
            }
            Entry::Learnt { .. } => panic!("no stage here learns: {entry:?}"),
        }
    }
    books
}

fn engine_books(market: &mut Market) -> BTreeMap<String, (i64, i64)> {
    let report = market.accounts();
    let queues = report["queues"].as_array().expect("a list");
    let row = |queue: &Value| {
        let name = queue["queue"].as_str().expect("a name").to_string();
        let rate = queue["spending_rate"].as_f64().expect("a number");
        let budget = queue["budget_micro"].as_i64().expect("a number");
        (name, (budget, credits(rate).micro()))
    };
    queues.iter().map(row).collect()
}

#[test]
fn books_made_of_the_entries_are_the_engines() {
    let mut market = market();
    let mut all = Vec::new();
    for round in 0..40 {
        let user = ["alice", "bob"][round % 2];
        market.set("setSpending", user, round as f64 / 7.0);
        if round % 5 == 0 {
            market.set("addBudget", user, 1.234_567);
        }
        match round {
            11 => drop(
                market
                    .host
                    .request(json!({"op": "addQueue", "queue": "carol"})),
            ),
            17 => drop(
                market
                    .host
                    .request(json!({"op": "removeQueue", "queue": "carol"})),
            ),
            23 => {
                let queues = json!([{"path": "root.alice", "income": 720.0, "budget": 100.0}]);
                let config =
                    json!({"policy": "dynamic-priority", "heartbeat_fill": 1.0, "queues": queues});
                market
                    .host
                    .request(json!({"op": "reload", "config": config}));
            }
            _ => {}
        }
        market.beat([1, 2]);
        let now = market.host.now;
        market.until(now + 7_300);
        if round % 3 == 0 {
            all.extend(taken(&mut market));
        }
    }
    all.extend(taken(&mut market));
    assert_eq!(books(&all), engine_books(&mut market));
    let paid = |entry: &Entry| match entry {
        Entry::Interval { rows, .. } => rows.iter().any(|row| row.income > Credits::ZERO),
        _ => false,
    };
    assert!(all.iter().any(paid), "income after the reload");
}

/// After a restart the engine opens accounts itself before it is told the saved ones. Saved entries
/// must not be written again, new ones must.
#[test]
fn after_restored_accounts_only_what_differs_is_noted() {
    let mut before = market();
    before.until(500);
    before.set("addBudget", "alice", 5.0);
    let saved = before.host.engine.save()[0].clone();
    let mut market = Market::new(
        9,
        &[
            ("alice", 100.0, 1.0),
            ("bob", 100.0, 2.0),
            ("carol", 7.0, 3.0),
        ],
    );
    market.host.engine.keep_ledger();
    market.until(500);
    market
        .host
        .request(json!({"op": "restoreAccounts", "saved": saved}));
    assert_eq!(taken(&mut market), opened("root.carol", 7.0, 3.0));
    assert_eq!(market.number("alice", "budget"), 105.0);
}

#[test]
fn a_host_that_takes_nothing_costs_bounded_memory_and_is_told() {
    let mut market = market();
    market.until(500);
    for _ in 0..10_000 {
        market.set("setSpending", "alice", 1.0);
    }
    let taken = market.host.engine.take_ledger();
    assert!(taken.dropped);
    assert!(taken.entries.len() <= 4096);
    assert!(!market.host.engine.take_ledger().dropped, "told once");
    let mut unkept = Market::new(9, &[("alice", 100.0, 1.0)]);
    unkept.until(500);
    assert_eq!(unkept.host.engine.take_ledger(), LedgerBatch::default());
}

#[test]
fn advice_is_the_least_bid_and_what_it_leads_to() {
    let mut market = market();
    market.until(500);
    market.beat([1, 2]);
    let ask = |market: &mut Market, slots: u32| {
        let request = json!({"op": "advice", "queue": "alice", "slots": slots});
        market.host.request(request)
    };
    // Of 9 slots, bid b against 2 buys 9 b / (b + 2). With 2.5 and 6.5 both fractions are equal and
    // alice is first: b = 5 / 6.5, rounded up to a millionth.
    let advice = ask(&mut market, 3);
    assert_eq!(advice["bid_micro"], 769_231);
    assert_eq!(advice["slots_given"], 3);
    assert_eq!(advice["price_then"], 2.769_231);
    // 3 slots, 180 intervals an hour: 415.38474 credits; 100 credits last 866,666 ms.
    assert_eq!(advice["then"]["spends_per_hour"], 415.384_74);
    assert_eq!(advice["then"]["ends_in_ms"], 866_666);
    assert_eq!(advice["unpaid"], false);
    // At present: 3 slots at 1 credit.
    assert_eq!(advice["now"]["spends_per_hour"], 540.0);
    assert_eq!(advice["now"]["ends_in_ms"], 666_666);
    // The advised bid suffices, and a millionth less does not.
    market.set("setSpending", "alice", 0.769_231);
    market.until(20_500);
    assert_eq!(market.quotas(["alice"]), [3]);
    market.set("setSpending", "alice", 0.769_230);
    market.until(40_500);
    assert_eq!(market.quotas(["alice"]), [2]);
    let too_many = ask(&mut market, 10);
    assert_eq!(too_many["bid"], Value::Null);
    assert_eq!(too_many["why"], "the cluster has 9 slots of that kind");
}

#[test]
fn income_that_pays_for_the_slots_never_ends() {
    let queues = json!([{"path": "root.alice", "budget": 10.0, "spending_rate": 1.0,
        "income": 1620.0}]);
    let mut market = Market::with(9, &[], json!({"queues": queues}));
    market.submit(1, "alice", 20);
    market.until(500);
    market.beat([1]);
    // All 9 slots at 1 credit, 180 times an hour.
    let projection = market.account("alice")["projection"].clone();
    assert_eq!(projection["spends_per_hour"], 1620.0);
    assert_eq!(projection["income_per_hour"], 1620.0);
    assert_eq!(projection["ends_in_ms"], Value::Null);
}

#[test]
fn asking_for_advice_changes_nothing() {
    assert!(!Engine::is_mutating(&json!({"op": "advice"})));
    let mut market = market();
    market.until(500);
    let refused = |request: Value| market_error(&mut market, request);
    let errors: Vec<String> = [
        json!({"op": "advice", "queue": "alice"}),
        json!({"op": "advice", "queue": "alice", "slots": 0}),
        json!({"op": "advice", "queue": "nobody", "slots": 1}),
        json!({"op": "advice", "queue": "alice", "slots": 1, "pool": 2}),
    ]
    .map(refused)
    .into();
    for (error, key) in errors.iter().zip(["slots", "slots", "queue", "pool"]) {
        assert!(error.contains(&format!("`{key}`")), "{error}");
    }
}

fn market_error(market: &mut Market, request: Value) -> String {
    let now = market.host.now;
    let answer = market.host.engine.request(now, &request);
    answer.expect_err("it cannot be served").to_string()
}
