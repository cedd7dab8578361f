//! Tests of merging: charges stay the same to the last millionth, and memory stays bounded.

use super::*;
use crate::store::book::Book;
use oorandom::Rand64;

fn micro(micro: i64) -> Credits {
    Credits::from_micro(micro)
}

fn row(queue: &str, income: i64, debit: i64, balance: i64) -> Row {
    Row {
        queue: queue.to_string(),
        rate: micro(1),
        quota: [1, 0],
        used_slot_ms: [20_000, 0],
        income: micro(income),
        debit: micro(debit),
        balance: micro(balance),
        unpaid_slot_ms: [0, 7],
        am_ms: 9,
    }
}

fn interval(tick: u64, rows: Vec<Row>) -> Interval {
    Interval {
        tick,
        ticks: 1,
        at_ms: tick as i64,
        price: micro(tick as i64).into(),
        changes: Vec::new(),
        rows,
    }
}

fn opened(queue: &str) -> Change {
    let queue = queue.to_string();
    Change::Open { queue }
}

fn rate(queue: &str, rate: i64) -> Change {
    Change::Rate {
        queue: queue.to_string(),
        rate: micro(rate),
    }
}

fn options(items_max: usize, rows_max: usize) -> Options {
    Options {
        items_max,
        rows_max,
        ..Options::default()
    }
}

#[test]
fn two_intervals_become_their_sum() {
    let mut earlier = interval(4, vec![row("a", 5, 10, 95), row("b", 0, 1, 9)]);
    earlier.changes = vec![rate("a", 1), rate("b", 1)];
    let mut later = interval(5, vec![row("a", 5, 20, 80), row("c", 1, 0, 1)]);
    later.changes = vec![opened("c"), rate("a", 2)];
    let both = merge(earlier, later).unwrap();
    assert_eq!((both.first(), both.tick, both.ticks), (4, 5, 2));
    assert_eq!((both.at_ms, both.price.micro()), (5, 5));
    let mut a = row("a", 10, 30, 80);
    (a.used_slot_ms, a.unpaid_slot_ms, a.am_ms) = ([40_000, 0], [0, 14], 18);
    assert_eq!(both.rows, [a, row("b", 0, 1, 9), row("c", 1, 0, 1)]);
    assert_eq!(both.changes, [rate("b", 1), opened("c"), rate("a", 2)]);
}

#[test]
fn what_cannot_be_one_stays_two() {
    let closes = Change::Close {
        queue: "a".to_string(),
        by: "admin".to_string(),
        why: String::new(),
    };
    let earlier = interval(1, vec![row("a", 0, 10, 90)]);
    let later = Interval {
        changes: vec![closes],
        ..interval(2, Vec::new())
    };
    let pair = *merge(earlier.clone(), later.clone()).unwrap_err();
    assert_eq!(pair, (earlier, later));
    let most = Credits::MAX.micro();
    let earlier = interval(1, vec![row("a", most, most, 0)]);
    let later = interval(2, vec![row("a", most, most, 0)]);
    assert!(merge(earlier, later).is_err());
    assert!(merge(interval(1, Vec::new()), interval(3, Vec::new())).is_err());
}

/// Merged or not, the written items lead to the same books, and the queue keeps its limits.
#[test]
fn merged_or_not_the_books_are_the_same() {
    for seed in 0..200 {
        let mut random = Rand64::new(seed);
        let options = options(2 + random.rand_range(0..20) as usize, 60);
        let mut pending = Pending::default();
        let mut plain = Book::default();
        let mut sent = Vec::new();
        let mut balances = BTreeMap::new();
        for tick in 1..=random.rand_range(1..150) {
            let mut one = interval(tick, Vec::new());
            if random.rand_range(0..10) == 0 && balances.len() < 8 {
                let queue = format!("q{tick}");
                one.changes.push(opened(&queue));
                balances.insert(queue, 0);
            }
            for (queue, balance) in &mut balances {
                let (income, debit) = (random.rand_range(0..9), random.rand_range(0..9));
                let debit = (debit as i64).min(*balance);
                *balance += income as i64 - debit;
                one.rows.push(row(queue, income as i64, debit, *balance));
                one.changes.push(rate(queue, tick as i64));
            }
            let writes = plain.plan_interval(&one).unwrap().unwrap();
            plain.apply(&writes);
            pending.interval(one, &options);
            // The first item may be in flight; a retry must find it as it was sent.
            if random.rand_range(0..20) == 0 {
                let items = pending.send();
                if random.rand_range(0..2) == 0 {
                    sent.extend(items);
                    pending.done();
                }
            }
            let most = options.items_max.max(8) + 1;
            assert!(
                pending.items.len() <= most,
                "seed {seed}: {}",
                pending.items.len()
            );
            assert!(
                pending.rows <= options.rows_max + 8,
                "seed {seed}: {}",
                pending.rows
            );
        }
        while !pending.is_empty() {
            sent.extend(pending.send());
            pending.done();
        }
        let mut book = Book::default();
        for item in sent {
            let Item::Interval(one) = item else {
                panic!("only intervals were put in");
            };
            let writes = book.plan_interval(&one).unwrap().unwrap();
            book.apply(&writes);
        }
        assert_eq!(book, plain, "seed {seed}");
        assert_eq!(pending.rows, 0, "seed {seed}");
    }
}

fn the_interval(items: &[Item]) -> Arc<Interval> {
    match items {
        [Item::Interval(interval)] => Arc::clone(interval),
        _ => panic!("expected one interval, found {} items", items.len()),
    }
}

#[test]
fn what_was_sent_is_not_merged() {
    let options = options(2, 1_000);
    let mut pending = Pending::default();
    pending.interval(interval(1, Vec::new()), &options);
    let first = the_interval(&pending.send());
    for tick in 2..50 {
        pending.interval(interval(tick, Vec::new()), &options);
    }
    let again = the_interval(&pending.send());
    assert_eq!((again.tick, again.ticks), (1, 1));
    assert_eq!(first, again);
    assert_eq!(pending.ticks(), 49);
    assert!(pending.items.len() <= 3);
}

#[test]
fn changes_find_no_room_before_intervals_do() {
    let options = options(10, 1_000);
    let mut pending = Pending::default();
    let mut accepted = 0;
    for tick in 1..200 {
        if pending.has_room_for(&[], &options) {
            pending.batch(0, Vec::new());
            accepted += 1;
        }
        pending.interval(interval(tick, Vec::new()), &options);
        // Batches keep intervals apart: at most one interval more than batches.
        assert!(pending.items.len() <= 11, "{}", pending.items.len());
    }
    assert!(accepted >= 3, "{accepted}");
    assert_eq!(pending.ticks(), 199);
}

/// Batches go together up to the next interval, and stay the same until they are done.
#[test]
fn wishes_go_together() {
    let mut pending = Pending::default();
    for _ in 0..3 {
        pending.batch(0, Vec::new());
    }
    pending.interval(interval(1, Vec::new()), &options(200, 1_000));
    for _ in 0..70 {
        pending.batch(0, Vec::new());
    }
    let mut sizes = Vec::new();
    while sizes.len() < 6 {
        sizes.push(pending.send().len());
        // A batch that arrives meanwhile does not join those in flight.
        pending.batch(0, Vec::new());
        assert_eq!(pending.send().len(), sizes[sizes.len() - 1]);
        pending.done();
    }
    // 3, the interval, 64 of 70; then the other 6 with the 3 that arrived by then; then one each.
    assert_eq!(sizes, [3, 1, 64, 9, 1, 1]);
}

/// A full account is charged and then granted credits again: the grant has no room before the
/// charge.
#[test]
fn a_grant_that_needs_the_charge_before_it_stays_behind_it() {
    let most = Credits::MAX.micro();
    let granting = |tick, amount| {
        let change = Change::Grant {
            queue: "a".to_string(),
            amount: micro(amount),
            by: "admin".to_string(),
            why: String::new(),
        };
        Interval {
            changes: vec![change],
            ..interval(tick, Vec::new())
        }
    };
    let charged = || interval(1, vec![row("a", 0, 10, most - 10)]);
    assert!(merge(charged(), granting(2, 1)).is_err());
    let charged = || interval(1, vec![row("a", 0, 10, most - 20)]);
    assert!(merge(charged(), granting(2, 11)).is_err());
    assert!(merge(charged(), granting(2, 10)).is_ok());
}

/// The row of the first interval gets the balance after both.
#[test]
fn a_grant_after_the_charge_is_in_what_is_left() {
    let grant = Change::Grant {
        queue: "a".to_string(),
        amount: micro(5),
        by: "admin".to_string(),
        why: String::new(),
    };
    let earlier = interval(1, vec![row("a", 0, 10, 90), row("b", 0, 10, 90)]);
    let later = Interval {
        changes: vec![grant.clone(), grant],
        ..interval(2, vec![row("b", 0, 10, 80)])
    };
    let both = merge(earlier, later).unwrap();
    let mut b = row("b", 0, 20, 80);
    (b.used_slot_ms, b.unpaid_slot_ms, b.am_ms) = ([40_000, 0], [0, 14], 18);
    assert_eq!(both.rows, [row("a", 0, 10, 100), b]);
}

/// The use of a queue that had no account, and then one, is one row of the account.
#[test]
fn use_before_an_account_was_opened_is_kept_with_it() {
    let unpaid = |am_ms: i64| Row {
        queue: "c".to_string(),
        am_ms,
        ..Row::default()
    };
    let grant = Change::Grant {
        queue: "c".to_string(),
        amount: micro(50),
        by: "admin".to_string(),
        why: String::new(),
    };
    let earlier = interval(1, vec![unpaid(3)]);
    let later = |rows| Interval {
        changes: vec![opened("c"), grant.clone()],
        ..interval(2, rows)
    };
    let both = merge(earlier.clone(), later(vec![row("c", 0, 10, 40)])).unwrap();
    let sum = Row {
        am_ms: 12,
        ..row("c", 0, 10, 40)
    };
    assert_eq!(both.rows, [sum]);
    let book = Book::default();
    assert!(
        book.plan_interval(&Interval {
            tick: 1,
            ticks: 1,
            ..both
        })
        .is_ok()
    );
    let both = merge(earlier, later(Vec::new())).unwrap();
    let balance = micro(50);
    assert_eq!(
        both.rows,
        [Row {
            balance,
            ..unpaid(3)
        }]
    );
    assert!(
        book.plan_interval(&Interval {
            tick: 1,
            ticks: 1,
            ..both
        })
        .is_ok()
    );
}

/// A nonce that was forgotten at the end of the first interval may return in the second.
#[test]
fn nonces_are_forgotten_between_what_is_merged() {
    let nonce = |expires_ms| Change::Nonce {
        user: "alice".to_string(),
        nonce: "x".to_string(),
        expires_ms,
    };
    let at = |tick: u64, changes| Interval {
        changes,
        at_ms: tick as i64 * 100,
        ..interval(tick, Vec::new())
    };
    let (earlier, later) = (at(1, vec![nonce(50)]), at(2, vec![nonce(300)]));
    let mut plain = Book::default();
    for one in [&earlier, &later] {
        let writes = plain.plan_interval(one).unwrap().unwrap();
        plain.apply(&writes);
    }
    let both = merge(earlier, later).unwrap();
    let mut book = Book::default();
    let writes = book.plan_interval(&both).unwrap().unwrap();
    book.apply(&writes);
    assert_eq!(book, plain);
    assert_eq!(book.floors["alice"], 50);
}
