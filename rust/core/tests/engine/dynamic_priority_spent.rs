//! The jobs' spending of their authorities (version 2 of DP-39) outlives the engine by its lessons.
//! A restart must not give a job its credits again. Storing the lessons is tested elsewhere.

use crate::common::market::Market;
use heddle_core::words::ledger::Entry;
use serde_json::{Value, json};

const FAR: i64 = 1 << 40;

/// Builds 6 slots for queue `a`, which bids 2; its job may spend 30 credits.
fn market() -> Market {
    let mut market = Market::new(6, &[("a", 1000.0, 2.0)]);
    market.submit(1, "a", 10);
    market
}

fn authorize(market: &mut Market) {
    let request = json!({"op": "authorize", "job": 1, "application": "1732212345678_0007",
                         "credits_micro": 30_000_000, "rate_micro": 2_000_000, "until_ms": FAR});
    market.host.request(request);
}

fn spent_micro(market: &mut Market) -> i64 {
    let report = market.host.request(json!({"op": "job", "job": 1}));
    let spent = &report["authority"]["spent_micro"];
    spent.as_i64().expect("a whole number")
}

/// Returns lessons as a host stores them: pairs of key and value.
fn lessons(market: &mut Market) -> Vec<Value> {
    let taken = market.host.engine.take_ledger().entries.into_iter();
    let learnt = taken.filter_map(|entry| match entry {
        Entry::Learnt { key, value } => Some((key, value)),
        _ => None,
    });
    let pair = |(key, value): (String, String)| {
        let value: Value = serde_json::from_str(&value).expect("a JSON value");
        json!([key, value])
    };
    learnt.map(pair).collect()
}

fn restore(market: &mut Market, lessons: &[Value]) -> Value {
    let request = json!({"op": "restoreLessons", "lessons": lessons});
    market.host.request(request)
}

/// Returns the first engine's lessons: 6 slots at 2 for one interval are 12 credits.
fn of_an_interval() -> Vec<Value> {
    let mut market = market();
    authorize(&mut market);
    market.host.tick();
    assert_eq!(market.beat([1]), [6]);
    assert_eq!(
        lessons(&mut market),
        [] as [Value; 0],
        "nothing was charged"
    );
    market.until(20_000);
    let told = lessons(&mut market);
    assert_eq!(told, [json!(["spent/1732212345678_0007", 12_000_000])]);
    assert_eq!(lessons(&mut market), [] as [Value; 0], "they were told");
    told
}

#[test]
fn another_engine_goes_on_from_there() {
    let told = of_an_interval();
    for known_before in [true, false] {
        let mut market = market();
        if known_before {
            assert_eq!(restore(&mut market, &told)["learnt"], 1);
        }
        authorize(&mut market);
        market.host.tick();
        if !known_before {
            assert_eq!(restore(&mut market, &told)["learnt"], 1);
        }
        assert_eq!(spent_micro(&mut market), 12_000_000);
        assert_eq!(market.beat([1]), [6]);
        market.until(20_000);
        assert_eq!(spent_micro(&mut market), 24_000_000);
        market.until(80_000);
        assert_eq!(spent_micro(&mut market), 30_000_000);
        assert_eq!(market.number("a", "budget"), 1000.0 - 18.0);
        let last = lessons(&mut market).pop();
        assert_eq!(last, Some(json!(["spent/1732212345678_0007", 30_000_000])));
    }
}

/// Books that open late report the spending before this engine; both count, and once.
#[test]
fn what_was_spent_before_the_books_were_open_is_added() {
    let told = of_an_interval();
    let mut market = market();
    authorize(&mut market);
    market.host.tick();
    assert_eq!(market.beat([1]), [6]);
    market.until(20_000);
    assert_eq!(spent_micro(&mut market), 12_000_000);
    for _ in 0..2 {
        restore(&mut market, &told);
        assert_eq!(spent_micro(&mut market), 24_000_000);
    }
}

/// A host writes an interval with the entries before it, so that no crash comes between the two.
#[test]
fn sums_are_told_before_the_interval_that_charged_them() {
    let mut market = market();
    market.host.engine.keep_ledger();
    authorize(&mut market);
    market.host.tick();
    assert_eq!(market.beat([1]), [6]);
    market.host.engine.take_ledger();
    market.until(20_000);
    let entries = market.host.engine.take_ledger().entries;
    assert!(matches!(&entries[0], Entry::Learnt { key, .. } if key.starts_with("spent/")));
    assert!(matches!(&entries[1], Entry::Interval { .. }), "{entries:?}");
}

/// A ResourceManager that becomes active reads its configuration again, maybe before it recovers
/// its applications.
#[test]
fn a_reload_keeps_what_is_known_of_applications_to_come() {
    let told = of_an_interval();
    let mut market = market();
    restore(&mut market, &told);
    let users = json!([{"path": "root.a", "budget": 1000.0, "spending_rate": 2.0}]);
    let config = json!({"policy": "dynamic-priority", "heartbeat_fill": 1.0, "queues": users});
    market
        .host
        .request(json!({"op": "reload", "config": config}));
    authorize(&mut market);
    assert_eq!(spent_micro(&mut market), 12_000_000);
}

/// An ended job reports its spending to its last slot, because the ResourceManager itself may be
/// about to end.
#[test]
fn the_last_use_of_a_job_that_leaves_is_told() {
    let mut market = market();
    authorize(&mut market);
    market.host.tick();
    assert_eq!(market.beat([1]), [6]);
    market.until(10_000);
    let event = heddle_core::words::event::Event::JobRemoved(heddle_core::words::ids::JobId(1));
    market.host.complete_all(1);
    market.host.step(&[event]);
    let told = lessons(&mut market);
    assert_eq!(told, [json!(["spent/1732212345678_0007", 6_000_000])]);
}

#[test]
fn lessons_of_others_are_left_alone() {
    let mut market = market();
    authorize(&mut market);
    let wrong = [
        json!(["spent/1732212345678_0008", 12_000_000]),
        json!(["spent/1732212345678_0007", -1]),
        json!(["spent/1732212345678_0007", "12000000"]),
        json!(["spent/x_0007", 12_000_000]),
        json!(["shuffle-ratio/7", 0.5]),
        json!(["spent/1732212345678_0007"]),
        json!(7),
    ];
    restore(&mut market, &wrong);
    assert_eq!(spent_micro(&mut market), 0);
    restore(
        &mut market,
        &[json!(["spent/1732212345678_0007", i64::MAX])],
    );
    let report = market.host.request(json!({"op": "job", "job": 1}));
    assert_eq!(report["authority"]["remaining_micro"], 0);
}
