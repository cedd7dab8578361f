//! One list of promises, kept by all three back ends. Crashes are tested in crash.rs, damaged files
//! in damage.rs.

// Clippy does not treat helpers of tests as tests.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

mod holders;
mod replays;

use crate::support::economy::Economy;
use crate::support::server::Server;
use crate::support::{
    self, check_conservation, closed, grant, micro, opened, refusal, seed, store_at, token,
};
use heddle_core::words::credits::Credits;
use heddle_economy::record::{
    Account, Batch, Change, Epoch, GrantKind, Interval, LedgerQuery, Row,
};
use heddle_economy::store::{Commit, Refusal, Store};
use holders::{a_former_holder_is_fenced, a_late_take_over_is_fenced, two_writers_race};
use replays::{nonces_are_bounded_by_user, nonces_go_without_intervals, replays_are_refused};

type Case = fn(&str);

const CASES: &[(&str, Case)] = &[
    ("figure_of_an_interval", figure_of_an_interval),
    (
        "a_queue_without_an_account_has_use_only",
        a_queue_without_an_account_has_use_only,
    ),
    ("ticks_follow_each_other", ticks_follow_each_other),
    ("batches_follow_each_other", batches_follow_each_other),
    ("all_or_nothing", all_or_nothing),
    ("books_must_add_up", books_must_add_up),
    ("accounts_open_and_close", accounts_open_and_close),
    ("replays_are_refused", replays_are_refused),
    ("nonces_are_bounded_by_user", nonces_are_bounded_by_user),
    ("nonces_go_without_intervals", nonces_go_without_intervals),
    ("a_late_take_over_is_fenced", a_late_take_over_is_fenced),
    ("a_price_is_a_sum", a_price_is_a_sum),
    ("lessons_are_bounded", lessons_are_bounded),
    ("texts_survive", texts_survive),
    ("a_former_holder_is_fenced", a_former_holder_is_fenced),
    ("two_writers_race", two_writers_race),
    ("pages_of_the_past", pages_of_the_past),
    ("merged_intervals", merged_intervals),
    ("large_amounts", large_amounts),
    ("many_queues", many_queues),
    ("anything_goes", anything_goes),
];

fn run(mut place: impl FnMut(&str) -> String) {
    for (name, case) in CASES {
        let place = place(name);
        eprintln!("{name} in {place}");
        case(&place);
    }
}

#[test]
fn sqlite_keeps_every_promise() {
    let folder = tempfile::tempdir().unwrap();
    run(|name| format!("sqlite:{}/{name}.db", folder.path().display()));
}

#[test]
fn files_keep_every_promise() {
    let folder = tempfile::tempdir().unwrap();
    run(|name| format!("file:{}/{name}", folder.path().display()));
}

#[test]
fn postgres_keeps_every_promise() {
    let mut server = Server::start();
    run(|_| server.place());
}

fn batch(serial: u64, changes: Vec<Change>) -> Batch {
    let at_ms = 7;
    Batch {
        serial,
        at_ms,
        changes,
    }
}

fn row(queue: &str, income: i64, debit: i64, balance: i64) -> Row {
    Row {
        rate: micro(250_000),
        quota: [8, 2],
        used_slot_ms: [160_000, 39_999],
        unpaid_slot_ms: [1, 40_000],
        am_ms: 20_000,
        ..support::row(queue, income, debit, balance)
    }
}

fn interval(tick: u64, rows: Vec<Row>) -> Interval {
    Interval {
        price: micro(1_500_000).into(),
        ..support::interval(tick, rows)
    }
}

/// Returns a store with `root.a` that has 10 credits.
fn begun(place: &str) -> (Box<dyn Store>, Epoch) {
    let mut store = store_at(place);
    let epoch = store.take_over("rm1", token()).unwrap();
    let changes = vec![opened("root.a"), grant("root.a", 10_000_000)];
    let done = store.commit_changes(epoch, &batch(1, changes));
    assert_eq!(done, Ok(Commit::Applied));
    (store, epoch)
}

fn budget(store: &mut dyn Store, queue: &str) -> Option<i64> {
    let book = store.load().unwrap();
    book.accounts
        .get(queue)
        .map(|account| account.budget.micro())
}

fn figure_of_an_interval(place: &str) {
    let (mut store, epoch) = begun(place);
    let rate = Change::Rate {
        queue: "root.a".to_string(),
        rate: micro(250_000),
    };
    let income = Change::Income {
        queue: "root.a".to_string(),
        income: micro(3_600_000),
    };
    let mut first = interval(1, vec![row("root.a", 20_000, 2_499_999, 7_520_001)]);
    first.changes = vec![rate, income];
    assert_eq!(store.commit_interval(epoch, &first), Ok(Commit::Applied));
    // Read by another object: it is stored, not remembered.
    let mut other = store_at(place);
    let book = other.load().unwrap();
    let expected = Account {
        budget: micro(7_520_001),
        rate: micro(250_000),
        income: micro(3_600_000),
    };
    assert_eq!(book.accounts["root.a"], expected);
    assert_eq!((book.head.tick, book.head.price.micro()), (1, 1_500_000));
    let ledger = other.ledger(&LedgerQuery::default()).unwrap();
    assert_eq!(ledger.len(), 1);
    assert_eq!((ledger[0].tick, &ledger[0].row), (1, &first.rows[0]));
    let heads = other.intervals(0, 10).unwrap();
    assert_eq!((heads[0].at_ms, heads[0].epoch), (20_000, epoch));
    let grants = other.grants(0, 10).unwrap();
    assert_eq!(grants.len(), 1);
    assert_eq!(grants[0].kind, GrantKind::Granted);
    let said = (
        grants[0].by.as_str(),
        grants[0].why.as_str(),
        grants[0].at_ms,
    );
    assert_eq!(said, ("admin", "test", 7));
    check_conservation(other.as_mut(), "one interval");
}

/// Tasks of a queue without an account run, too: it has rows of what it used, and no others.
fn a_queue_without_an_account_has_use_only(place: &str) {
    let (mut store, epoch) = begun(place);
    let unpaid = Row {
        queue: "root.none".to_string(),
        unpaid_slot_ms: [7, 0],
        am_ms: 20_000,
        ..Row::default()
    };
    let wrong = [
        Row {
            debit: micro(1),
            ..unpaid.clone()
        },
        Row {
            income: micro(1),
            ..unpaid.clone()
        },
        Row {
            balance: micro(1),
            ..unpaid.clone()
        },
        Row {
            rate: micro(1),
            ..unpaid.clone()
        },
        Row {
            quota: [0, 1],
            ..unpaid.clone()
        },
        Row {
            used_slot_ms: [1, 0],
            ..unpaid.clone()
        },
    ];
    for row in wrong {
        let refused = refusal(store.commit_interval(epoch, &interval(1, vec![row])));
        assert_eq!(refused, Refusal::Unknown("root.none".to_string()));
    }
    let rows = vec![row("root.a", 0, 1, 9_999_999), unpaid];
    let first = interval(1, rows.clone());
    assert_eq!(store.commit_interval(epoch, &first), Ok(Commit::Applied));
    let mut other = store_at(place);
    let ledger = other.ledger(&LedgerQuery::default()).unwrap();
    let ledger: Vec<Row> = ledger.into_iter().map(|row| row.row).collect();
    assert_eq!(ledger, rows);
    assert!(!other.load().unwrap().accounts.contains_key("root.none"));
    check_conservation(other.as_mut(), "without an account");
}

fn ticks_follow_each_other(place: &str) {
    let (mut store, epoch) = begun(place);
    let first = interval(1, vec![row("root.a", 0, 4_000_000, 6_000_000)]);
    assert_eq!(store.commit_interval(epoch, &first), Ok(Commit::Applied));
    // A repetition, as after a lost answer, is charged once.
    let again = store.commit_interval(epoch, &first);
    assert_eq!(again, Ok(Commit::AlreadyThere));
    // A different one with the same number is ignored, too.
    let other = interval(1, vec![row("root.a", 0, 1, 5_999_999)]);
    assert_eq!(
        store.commit_interval(epoch, &other),
        Ok(Commit::AlreadyThere)
    );
    assert_eq!(budget(store.as_mut(), "root.a"), Some(6_000_000));
    let gap = refusal(store.commit_interval(epoch, &interval(3, Vec::new())));
    let (expected, given) = (2, 3);
    assert_eq!(gap, Refusal::NotNext { expected, given });
    let mut empty = interval(2, Vec::new());
    empty.ticks = 0;
    refusal(store.commit_interval(epoch, &empty));
    let none = interval(0, Vec::new());
    assert_eq!(
        store.commit_interval(epoch, &none),
        Ok(Commit::AlreadyThere)
    );
    assert_eq!(check_conservation(store.as_mut(), "after refusals"), 1);
}

fn batches_follow_each_other(place: &str) {
    let (mut store, epoch) = begun(place);
    let more = batch(2, vec![grant("root.a", 5)]);
    assert_eq!(store.commit_changes(epoch, &more), Ok(Commit::Applied));
    assert_eq!(store.commit_changes(epoch, &more), Ok(Commit::AlreadyThere));
    assert_eq!(budget(store.as_mut(), "root.a"), Some(10_000_005));
    let gap = refusal(store.commit_changes(epoch, &batch(4, Vec::new())));
    let (expected, given) = (3, 4);
    assert_eq!(gap, Refusal::NotNext { expected, given });
}

fn all_or_nothing(place: &str) {
    let (mut store, epoch) = begun(place);
    let before = store.load().unwrap();
    let changes = vec![grant("root.a", 5), opened("root.b"), grant("root.none", 5)];
    let wrong = refusal(store.commit_changes(epoch, &batch(2, changes)));
    assert_eq!(wrong, Refusal::Unknown("root.none".to_string()));
    let mut wrong = interval(1, vec![row("root.a", 0, 1, 9_999_999)]);
    wrong.rows.push(row("root.none", 0, 0, 0));
    wrong.changes.push(opened("root.c"));
    refusal(store.commit_interval(epoch, &wrong));
    assert_eq!(store.load().unwrap(), before);
    assert_eq!(store_at(place).load().unwrap(), before);
    assert_eq!(store.ledger(&LedgerQuery::default()), Ok(Vec::new()));
}

fn books_must_add_up(place: &str) {
    let (mut store, epoch) = begun(place);
    // 10 + 1 - 3 is 8 credits, not 9.
    let wrong = interval(1, vec![row("root.a", 1_000_000, 3_000_000, 9_000_000)]);
    let refused = refusal(store.commit_interval(epoch, &wrong));
    let expected = Refusal::Balance {
        queue: "root.a".to_string(),
        expected_micro: 8_000_000,
        given_micro: 9_000_000,
    };
    assert_eq!(refused, expected);
    let twice = row("root.a", 0, 1, 9_999_999);
    let twice = interval(1, vec![twice, row("root.a", 0, 1, 9_999_998)]);
    let refused = refusal(store.commit_interval(epoch, &twice));
    assert_eq!(refused, Refusal::Twice("root.a".to_string()));
    // A charge above the budget is refused: the balance would be below 0.
    let overdrawn = interval(1, vec![row("root.a", 0, 10_000_001, 0)]);
    refusal(store.commit_interval(epoch, &overdrawn));
    check_conservation(store.as_mut(), "after refusals");
}

fn accounts_open_and_close(place: &str) {
    let (mut store, epoch) = begun(place);
    let twice = refusal(store.commit_changes(epoch, &batch(2, vec![opened("root.a")])));
    assert_eq!(twice, Refusal::Exists("root.a".to_string()));
    let done = store.commit_changes(epoch, &batch(2, vec![closed("root.a")]));
    assert_eq!(done, Ok(Commit::Applied));
    let book = store_at(place).load().unwrap();
    assert!(book.accounts.is_empty());
    assert!(book.closed.contains("root.a"));
    assert_eq!(book.head.totals.forfeited, 10_000_000);
    for change in [closed("root.a"), grant("root.a", 1)] {
        let unknown = refusal(store.commit_changes(epoch, &batch(3, vec![change])));
        assert_eq!(unknown, Refusal::Unknown("root.a".to_string()));
    }
    // Closed and opened again in one batch, with a grant in between.
    let changes = vec![
        opened("root.a"),
        grant("root.a", 3),
        closed("root.a"),
        opened("root.a"),
    ];
    store.commit_changes(epoch, &batch(3, changes)).unwrap();
    let book = store_at(place).load().unwrap();
    assert_eq!(book.accounts["root.a"], Account::default());
    assert!(book.closed.is_empty());
    check_conservation(store.as_mut(), "closed");
}

/// The price is a sum of bids, so it may exceed the largest amount.
fn a_price_is_a_sum(place: &str) {
    let (mut store, epoch) = begun(place);
    let most = Credits::MAX;
    let mut one = interval(1, Vec::new());
    one.price = (most + most + micro(1)).into();
    assert_eq!(store.commit_interval(epoch, &one), Ok(Commit::Applied));
    let mut other = store_at(place);
    let price = 2_000_000_000_000_001;
    assert_eq!(other.load().unwrap().head.price.micro(), price);
    assert_eq!(other.intervals(0, 1).unwrap()[0].price.micro(), price);
    // A single amount may not: read back, it would be a different one.
    let over = most + micro(1);
    let mut income = row("root.a", 0, 0, 10_000_000);
    (income.income, income.debit) = (over, over);
    let refused = refusal(store.commit_interval(epoch, &interval(2, vec![income])));
    assert_eq!(refused, Refusal::TooMuch("root.a".to_string()));
    let rate = Change::Rate {
        queue: "root.a".to_string(),
        rate: over,
    };
    refusal(store.commit_changes(epoch, &batch(2, vec![rate])));
}

fn lessons_are_bounded(place: &str) {
    let (mut store, epoch) = begun(place);
    let learn = |at: u32, value: String| Change::Learn {
        key: format!("job-{at:05}"),
        value,
    };
    for (serial, range) in [(2, 0..6_000), (3, 6_000..10_000)] {
        let changes = range.map(|at| learn(at, at.to_string())).collect();
        store
            .commit_changes(epoch, &batch(serial, changes))
            .unwrap();
    }
    // Learning the oldest again makes the next two the oldest.
    let changes = vec![
        learn(0, "\"new\"".to_string()),
        learn(10_000, "1".to_string()),
    ];
    store.commit_changes(epoch, &batch(4, changes)).unwrap();
    let changes = vec![learn(10_001, "2".to_string())];
    store.commit_changes(epoch, &batch(5, changes)).unwrap();
    let book = store_at(place).load().unwrap();
    assert_eq!(book.learnt.len(), 10_000);
    assert_eq!(book.learnt["job-00000"].value, "\"new\"");
    for (key, there) in [(1, false), (2, false), (3, true), (10_001, true)] {
        let key = format!("job-{key:05}");
        assert_eq!(book.learnt.contains_key(&key), there, "{key}");
    }
    for wrong in [
        "",
        "{",
        "1 2",
        "nonsense",
        &format!("\"{}\"", "x".repeat(4096)),
    ] {
        let changes = vec![learn(7, wrong.to_string())];
        refusal(store.commit_changes(epoch, &batch(6, changes)));
    }
}

fn texts_survive(place: &str) {
    let (mut store, epoch) = begun(place);
    let names = [
        "root.O'Neill",
        "root.\"q\"; DROP TABLE queues",
        "root.зал",
        "root.🧵 $1 ?1",
    ];
    let mut serial = 1;
    for name in names {
        serial += 1;
        let changes = vec![opened(name), grant(name, 1)];
        store
            .commit_changes(epoch, &batch(serial, changes))
            .unwrap();
    }
    let book = store_at(place).load().unwrap();
    for name in names {
        assert!(book.accounts.contains_key(name), "{name}");
    }
    for name in ["", "a\nb", "a\0b", "\u{7f}", &"x".repeat(1025)] {
        refusal(store.commit_changes(epoch, &batch(serial + 1, vec![opened(name)])));
    }
}

fn pages_of_the_past(place: &str) {
    let (mut store, epoch) = begun(place);
    let queues = ["root.b", "root.c", "root.B"];
    let changes = queues.iter().map(|queue| opened(queue)).collect();
    store.commit_changes(epoch, &batch(2, changes)).unwrap();
    for tick in 1..=5 {
        let rows = ["root.c", "root.b", "root.B"];
        let rows = rows.map(|queue| row(queue, 0, 0, 0)).to_vec();
        store.commit_interval(epoch, &interval(tick, rows)).unwrap();
    }
    let mut at = (0, String::new());
    let mut found = Vec::new();
    loop {
        let query = LedgerQuery {
            after: at.clone(),
            limit: 2,
            ..LedgerQuery::default()
        };
        let page = store.ledger(&query).unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        at = (last.tick, last.row.queue.clone());
        found.extend(page.into_iter().map(|row| (row.tick, row.row.queue)));
    }
    // Ordered by bytes: capitals come first, whatever the database's collation.
    let expected = (1..=5).flat_map(|tick| {
        let queues = ["root.B", "root.b", "root.c"];
        queues.map(|queue| (tick, queue.to_string()))
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
    let query = LedgerQuery {
        queue: Some("root.b".to_string()),
        after: (1, char::MAX.to_string()),
        until: 4,
        limit: usize::MAX,
    };
    let ticks = store.ledger(&query).unwrap();
    let ticks: Vec<u64> = ticks.iter().map(|row| row.tick).collect();
    assert_eq!(ticks, [2, 3, 4]);
    let ticks = store.intervals(2, 2).unwrap();
    let ticks: Vec<u64> = ticks.iter().map(|interval| interval.tick).collect();
    assert_eq!(ticks, [3, 4]);
    let none = store.grants(1, 5).unwrap();
    assert_eq!((store.grants(0, 5).unwrap().len(), none.len()), (1, 0));
}

fn merged_intervals(place: &str) {
    let (mut store, epoch) = begun(place);
    let mut merged = interval(5, vec![row("root.a", 0, 5, 9_999_995)]);
    merged.ticks = 5;
    assert_eq!(store.commit_interval(epoch, &merged), Ok(Commit::Applied));
    let mut overlap = interval(7, vec![row("root.a", 0, 1, 9_999_994)]);
    overlap.ticks = 3;
    let refused = refusal(store.commit_interval(epoch, &overlap));
    assert_eq!(refused, Refusal::Overlap { last: 5 });
    overlap.ticks = 2;
    assert_eq!(store.commit_interval(epoch, &overlap), Ok(Commit::Applied));
    assert_eq!(check_conservation(store.as_mut(), "merged"), 7);
}

fn large_amounts(place: &str) {
    let (mut store, epoch) = begun(place);
    // 1e9 credits are the most that an account can hold.
    let most = 1_000_000_000_000_000;
    let changes = vec![grant("root.a", most - 10_000_000)];
    store.commit_changes(epoch, &batch(2, changes)).unwrap();
    let refused = refusal(store.commit_changes(epoch, &batch(3, vec![grant("root.a", 1)])));
    assert_eq!(refused, Refusal::TooMuch("root.a".to_string()));
    // Sums beyond 64 bits: 10,000 accounts that are filled and closed.
    for serial in 3..8 {
        let round = |at: u64| {
            let queue = format!("root.big{serial}-{at}");
            [opened(&queue), grant(&queue, most), closed(&queue)]
        };
        let changes = (0..2_000).flat_map(round).collect();
        store
            .commit_changes(epoch, &batch(serial, changes))
            .unwrap();
    }
    let totals = store_at(place).load().unwrap().head.totals;
    assert_eq!(totals.granted, i128::from(most) * 10_001);
    assert!(totals.granted > i128::from(i64::MAX));
    check_conservation(store.as_mut(), "large amounts");
}

fn many_queues(place: &str) {
    let (mut store, epoch) = begun(place);
    let name = |at: usize| format!("root.q{at:05}");
    let open = |at| [opened(&name(at)), grant(&name(at), 100)];
    let changes = (0..9_000).flat_map(open).collect();
    store.commit_changes(epoch, &batch(2, changes)).unwrap();
    for tick in 1..=2i64 {
        let rows = (0..9_000).map(|at| row(&name(at), 0, 1, 100 - tick));
        let one = interval(tick as u64, rows.collect());
        assert_eq!(store.commit_interval(epoch, &one), Ok(Commit::Applied));
    }
    assert_eq!(check_conservation(store.as_mut(), "many queues"), 2);
}

/// After any sequence of commits, three objects see the same books.
fn anything_goes(place: &str) {
    let seed = seed();
    let note = format!("HEDDLE_STORE_SEED={seed}");
    let (mut store, mut epoch) = begun(place);
    let mut economy = Economy::after(&store.load().unwrap(), seed);
    for _ in 0..150 {
        match economy.below(10) {
            0 => {
                store = store_at(place);
                epoch = store.take_over("rm", token()).unwrap();
            }
            1..=4 => {
                let batch = economy.batch();
                let done = store.commit_changes(epoch, &batch);
                assert_eq!(done, Ok(Commit::Applied), "{note}: {batch:?}");
            }
            _ => {
                let interval = economy.interval();
                let done = store.commit_interval(epoch, &interval);
                assert_eq!(done, Ok(Commit::Applied), "{note}: {interval:?}");
            }
        }
    }
    let last = check_conservation(store.as_mut(), &note);
    assert_eq!(last, economy.tick, "{note}");
    let mut reader = store_at(place);
    assert_eq!(reader.load(), store.load(), "{note}");
}
