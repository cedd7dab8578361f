//! Tests the writer thread with a store that fails in every way. It fails before or after the
//! write, for long, for good, with a panic, or by never answering.

// Clippy does not treat helpers of tests as tests.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

use crate::support::faulty::{Mood, PATIENCE, start};
use crate::support::{check_conservation, grant, micro, opened, seed, store_at, token};
use heddle_economy::record::{Change, Interval};
use heddle_economy::store::{NotAccepted, Receipt, Refusal, State, Status, StoreError};
use std::time::{Duration, Instant};

/// Answers are lost, writes fail, the store goes and comes, the queue exceeds its limits. In the
/// end every interval is there once, and every confirmed batch is there, too.
#[test]
fn every_interval_is_charged_once_whatever_fails() {
    let seed = seed();
    let mut merged = 0;
    for round in 0..6 {
        let note = format!("HEDDLE_STORE_SEED={seed}, round {round}");
        let setup = start(Mood::Moody, seed + round, 12);
        let mut economy = setup.economy(seed + round);
        let mut receipts = Vec::new();
        for _ in 0..120 {
            let mood = match economy.below(12) {
                0 => Mood::Down,
                1..=4 => Mood::Moody,
                _ => Mood::Good,
            };
            setup.moods.set(mood);
            // Batches are refused at half the limit; this stays below it.
            if economy.below(4) == 0 && setup.writer.status().behind < 2 {
                let changes = economy.changes();
                let receipt = setup.writer.changes(0, changes);
                receipts.push(receipt.unwrap_or_else(|error| panic!("{note}: {error}")));
            }
            let interval = economy.interval();
            setup.writer.interval(interval).expect(&note);
            std::thread::sleep(Duration::from_micros(economy.below(2_000)));
        }
        setup.moods.set(Mood::Good);
        let end = setup.until(&note, |status| status.behind == 0);
        assert_eq!((end.state, end.tick), (State::Connected, 120), "{note}");
        for receipt in receipts {
            assert_eq!(receipt.wait(PATIENCE), Some(Ok(())), "{note}");
        }
        merged += end.merged;
        let mut store = store_at(&setup.place);
        assert_eq!(check_conservation(store.as_mut(), &note), 120);
        // The economy's own sums equal the books.
        let serial = store.load().unwrap().head.serial;
        economy.serial = serial;
        let epoch = setup.writer.status();
        assert_eq!(epoch.behind, 0);
        setup.writer.interval(economy.interval()).expect(&note);
        let end = setup.writer.close(PATIENCE);
        assert_eq!((end.tick, end.behind), (121, 0), "{note}: {end:?}");
    }
    assert!(merged > 0, "the bound was never reached");
}

/// The store does not answer: a thousand intervals are accepted all the same, in bounded memory. If
/// handing over waited for the store, they would not be: it answers only afterwards.
#[test]
fn a_silent_store_holds_up_nobody() {
    let setup = start(Mood::Good, 1, 16);
    let mut economy = setup.economy(1);
    assert_eq!(setup.make(economy.changes()), Some(Ok(())));
    setup.moods.set(Mood::Silent);
    for _ in 0..1_000 {
        setup.writer.interval(economy.interval()).unwrap();
    }
    let status = setup.writer.status();
    assert_eq!(status.behind, 1_000);
    assert!(status.merged > 900, "{status:?}");
    // A batch meets the limit or finds a place; either way it gets no answer, and says so.
    if let Ok(receipt) = setup.writer.changes(0, Vec::new()) {
        assert_eq!(receipt.wait(Duration::from_millis(20)), None);
    }
    setup.moods.set(Mood::Good);
    setup.until("back", |status| status.behind == 0);
    let mut store = store_at(&setup.place);
    assert_eq!(check_conservation(store.as_mut(), "silent"), 1_000);
}

#[test]
fn the_state_says_since_when_and_by_how_much() {
    let setup = start(Mood::Down, 1, 1_000);
    let status = setup.until("down", |status| status.state != State::Opening);
    assert!(
        matches!(status.state, State::Unreachable { .. }),
        "{status:?}"
    );
    // No item is accepted before the books are read: its number is not known yet.
    let early = setup.writer.interval(Interval::default());
    assert!(matches!(early, Err(NotAccepted::NotOpen(_))), "{early:?}");
    setup.moods.set(Mood::Good);
    let mut economy = setup.economy(1);
    setup.until("up", |status| status.state == State::Connected);
    setup.moods.set(Mood::Down);
    for behind in 1..=3 {
        setup.writer.interval(economy.interval()).unwrap();
        assert_eq!(setup.writer.status().behind, behind);
    }
    let unreachable = |status: &Status| matches!(status.state, State::Unreachable { .. });
    let first = setup.until("down", unreachable);
    let State::Unreachable { since_ms, why } = first.state else {
        panic!("it was just looked at");
    };
    assert_eq!(why, "unplugged");
    std::thread::sleep(Duration::from_millis(30));
    let State::Unreachable {
        since_ms: later, ..
    } = setup.writer.status().state
    else {
        panic!("nothing has changed");
    };
    assert_eq!(since_ms, later, "the outage began once");
    setup.moods.set(Mood::Good);
    let end = setup.until("up", |status| status.behind == 0);
    assert_eq!((end.state, end.tick), (State::Connected, 3));
}

#[test]
fn a_former_holder_is_told_and_writes_no_more() {
    let setup = start(Mood::Good, 1, 100);
    let mut economy = setup.economy(1);
    assert_eq!(
        setup.make(vec![opened("root.a"), grant("root.a", 5)]),
        Some(Ok(()))
    );
    store_at(&setup.place).take_over("rm2", token()).unwrap();
    let receipt = setup.writer.changes(0, vec![grant("root.a", 5)]).unwrap();
    let heard = receipt.wait(PATIENCE);
    assert!(
        matches!(heard, Some(Err(StoreError::Fenced { .. }))),
        "{heard:?}"
    );
    let owner = "rm2".to_string();
    let fenced = State::Fenced { owner };
    assert_eq!(setup.writer.status().state, fenced);
    let late = setup.writer.interval(economy.interval());
    assert_eq!(late, Err(NotAccepted::NotOpen(fenced)));
    let book = store_at(&setup.place).load().unwrap();
    assert_eq!(book.accounts["root.a"].budget, micro(5));
}

#[test]
fn what_is_wrong_is_refused_at_once_and_stops_nothing() {
    let setup = start(Mood::Good, 1, 100);
    let mut economy = setup.economy(1);
    let unknown = NotAccepted::Refused(Refusal::Unknown("root.none".to_string()));
    for mood in [Mood::Good, Mood::Down] {
        setup.moods.set(mood);
        let refused = setup.writer.changes(0, vec![grant("root.none", 1)]);
        assert_eq!(refused.unwrap_err(), unknown);
    }
    setup.moods.set(Mood::Good);
    assert_eq!(setup.make(vec![opened("root.a")]), Some(Ok(())));
    let mut late = economy.interval();
    late.tick = 5;
    let expected = NotAccepted::NotNext { expected: 1 };
    assert_eq!(setup.writer.interval(late.clone()), Err(expected));
    late.tick = 1;
    late.rows = vec![heddle_economy::record::Row {
        queue: "root.a".to_string(),
        balance: micro(7),
        ..heddle_economy::record::Row::default()
    }];
    let wrong = Refusal::Balance {
        queue: "root.a".to_string(),
        expected_micro: 0,
        given_micro: 7,
    };
    let refused = setup.writer.interval(late.clone());
    assert_eq!(refused, Err(NotAccepted::Refused(wrong)));
    // The same tick again, correct this time.
    late.rows[0].balance = micro(0);
    assert_eq!(setup.writer.interval(late), Ok(()));
    let end = setup.writer.close(PATIENCE);
    assert_eq!((end.state, end.tick), (State::Connected, 1));
}

/// Many batches are written together; a wrong one among them affects no other.
#[test]
fn of_many_wishes_only_the_wrong_ones_are_refused() {
    let setup = start(Mood::Good, 1, 200);
    setup.economy(1);
    setup.moods.set(Mood::Silent);
    let mut receipts = Vec::new();
    for at in 0..60 {
        let queue = format!("root.q{}", at / 2 * 2);
        // Each odd batch opens the queue of the previous one again: its lesson is lost with it.
        let lesson = Change::Learn {
            key: at.to_string(),
            value: "1".to_string(),
        };
        let answer = setup.writer.changes(0, vec![lesson, opened(&queue)]);
        match at % 2 {
            0 => receipts.push(answer.unwrap()),
            _ => {
                let refused = NotAccepted::Refused(Refusal::Exists(queue));
                assert_eq!(answer.unwrap_err(), refused, "{at}");
            }
        }
    }
    setup.moods.set(Mood::Moody);
    for (at, receipt) in receipts.iter().enumerate() {
        assert_eq!(receipt.wait(PATIENCE), Some(Ok(())), "{at}");
    }
    let book = store_at(&setup.place).load().unwrap();
    assert_eq!((book.accounts.len(), book.learnt.len()), (30, 30));
}

#[test]
fn a_panic_in_a_back_end_is_a_state_not_the_end() {
    let setup = start(Mood::Good, 1, 100);
    let mut economy = setup.economy(1);
    setup.moods.set(Mood::Panics);
    setup.writer.interval(economy.interval()).unwrap();
    let stopped = |status: &Status| matches!(status.state, State::Stopped { .. });
    setup.until("stopped", stopped);
    let late = setup.writer.changes(0, Vec::new());
    assert!(matches!(late, Err(NotAccepted::NotOpen(_))), "{late:?}");
}

#[test]
fn changes_are_turned_away_before_memory_is_full() {
    let setup = start(Mood::Good, 1, 20);
    setup.economy(1);
    setup.moods.set(Mood::Down);
    let mut taken = Vec::new();
    let error = loop {
        match setup
            .writer
            .changes(0, vec![opened(&format!("root.q{}", taken.len()))])
        {
            Ok(receipt) => taken.push(receipt),
            Err(error) => break error,
        }
    };
    assert_eq!((error, taken.len()), (NotAccepted::Full, 10));
    setup.moods.set(Mood::Good);
    for receipt in taken {
        assert_eq!(receipt.wait(PATIENCE), Some(Ok(())));
    }
    assert_eq!(store_at(&setup.place).load().unwrap().accounts.len(), 10);
}

#[test]
fn closing_does_not_wait_longer_than_it_was_told() {
    let setup = start(Mood::Good, 1, 100);
    let mut economy = setup.economy(1);
    setup.moods.set(Mood::Silent);
    setup.writer.interval(economy.interval()).unwrap();
    let end = setup.writer.close(Duration::from_millis(50));
    assert_eq!(end.behind, 1);
    // It was in flight: it may arrive, once, but not while the books are read in parts.
    setup.moods.set(Mood::Good);
    let mut store = store_at(&setup.place);
    let began = Instant::now();
    while store.load().unwrap().head.tick == 0 && began.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(check_conservation(store.as_mut(), "closed") <= 1);
}

/// A caller repeats a grant that is reported as not written.
#[test]
fn at_the_end_callers_hear_which_changes_may_be_there() {
    let why = |receipt: Receipt| {
        let heard = receipt.wait(PATIENCE).expect("the writer has ended");
        heard.expect_err("there was no answer").to_string()
    };
    for fenced in [false, true] {
        let setup = start(Mood::Good, 1, 100);
        setup.economy(1);
        assert_eq!(setup.make(vec![opened("root.a")]), Some(Ok(())));
        setup.moods.set(Mood::Mute);
        let sent = setup.writer.changes(0, vec![grant("root.a", 5)]).unwrap();
        let unreachable = |status: &Status| matches!(status.state, State::Unreachable { .. });
        setup.until("no answer", unreachable);
        let behind = setup.writer.changes(0, vec![grant("root.a", 7)]).unwrap();
        if fenced {
            store_at(&setup.place).take_over("rm2", token()).unwrap();
            setup.until("fenced", |status| !unreachable(status));
        }
        setup.writer.close(Duration::ZERO);
        let (sent, behind) = (why(sent), why(behind));
        assert!(sent.contains("may have been written"), "{sent}");
        assert!(!behind.contains("may have been written"), "{behind}");
        let book = store_at(&setup.place).load().unwrap();
        assert_eq!(book.accounts["root.a"].budget, micro(5));
    }
}
