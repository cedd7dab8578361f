//! Shared helpers for the store tests: an economy that invents commits, an independent check of the
//! stored books, and places to store in. Contains no test.

// Each test program uses a part of this.
#![allow(dead_code, unused_imports, unreachable_pub, clippy::unwrap_used)]
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod economy;
pub mod faulty;
pub mod server;

use heddle_core::words::credits::Credits;
use heddle_economy::record::{Change, GrantKind, Interval, LedgerQuery, Row};
use heddle_economy::store::{Store, StoreError, open};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Returns credits of this number of millionths.
pub fn micro(micro: i64) -> Credits {
    Credits::from_micro(micro)
}

/// Opens the store at a place, or panics with the reason.
pub fn store_at(place: &str) -> Box<dyn Store> {
    open(place, Some(server::PASSWORD)).unwrap_or_else(|error| panic!("{place}: {error}"))
}

pub fn opened(queue: &str) -> Change {
    let queue = queue.to_string();
    Change::Open { queue }
}

pub fn closed(queue: &str) -> Change {
    Change::Close {
        queue: queue.to_string(),
        by: "admin".to_string(),
        why: String::new(),
    }
}

pub fn grant(queue: &str, amount: i64) -> Change {
    Change::Grant {
        queue: queue.to_string(),
        amount: micro(amount),
        by: "admin".to_string(),
        why: "test".to_string(),
    }
}

/// Returns a row of one slot for a whole interval.
pub fn row(queue: &str, income: i64, debit: i64, balance: i64) -> Row {
    Row {
        queue: queue.to_string(),
        rate: micro(1),
        quota: [1, 0],
        used_slot_ms: [20_000, 0],
        income: micro(income),
        debit: micro(debit),
        balance: micro(balance),
        ..Row::default()
    }
}

/// Returns an interval of 20 s without a price.
pub fn interval(tick: u64, rows: Vec<Row>) -> Interval {
    Interval {
        tick,
        ticks: 1,
        at_ms: tick as i64 * 20_000,
        rows,
        ..Interval::default()
    }
}

/// Reads from a store. The server ends the session of a process that stands still in a transaction
/// for 5 s, as it may beside much other work; the next call has a session of its own.
fn read<T>(note: &str, mut of: impl FnMut() -> Result<T, StoreError>) -> T {
    for _ in 0..5 {
        match of() {
            Err(StoreError::Unavailable(why)) => eprintln!("{note}: again, after: {why}"),
            other => return other.unwrap_or_else(|e| panic!("{note}: {e}")),
        }
    }
    panic!("{note}: the store stays unavailable");
}

/// Adds up the whole store, queue by queue and tick by tick. Checks that ticks have no gaps or
/// doubles, and that grants + income - debits - forfeits = budgets. Returns the last tick.
pub fn check_conservation(store: &mut dyn Store, note: &str) -> u64 {
    let book = read(note, || store.load());
    let mut tick = 0;
    let mut ends = BTreeSet::new();
    for interval in read(note, || store.intervals(0, usize::MAX)) {
        let first = interval.tick + 1 - interval.ticks;
        assert_eq!(first, tick + 1, "{note}: a gap or a double before {first}");
        tick = interval.tick;
        ends.insert(tick);
    }
    assert_eq!(tick, book.head.tick, "{note}: the head and the intervals");
    let mut sums: BTreeMap<String, i128> = BTreeMap::new();
    let mut rows = BTreeSet::new();
    let (mut granted, mut debited, mut forfeited) = (0i128, 0i128, 0i128);
    for entry in read(note, || store.ledger(&LedgerQuery::default())) {
        let row = entry.row;
        assert!(
            ends.contains(&entry.tick),
            "{note}: no interval {}",
            entry.tick
        );
        let new = rows.insert((entry.tick, row.queue.clone()));
        assert!(new, "{note}: {} twice in {}", row.queue, entry.tick);
        granted += i128::from(row.income.micro());
        debited += i128::from(row.debit.micro());
        let net = i128::from(row.income.micro()) - i128::from(row.debit.micro());
        *sums.entry(row.queue).or_default() += net;
    }
    let grants = read(note, || store.grants(0, usize::MAX));
    for (at, grant) in grants.into_iter().enumerate() {
        assert_eq!(grant.number, at as u64 + 1, "{note}: grants are numbered");
        let amount = i128::from(grant.amount.micro());
        let sum = sums.entry(grant.queue).or_default();
        match grant.kind {
            GrantKind::Granted => {
                *sum += amount;
                granted += amount;
            }
            GrantKind::Forfeited => {
                *sum -= amount;
                forfeited += amount;
            }
        }
    }
    for (queue, sum) in sums {
        let account = book.accounts.get(&queue);
        let held = account.map_or(0, |account| i128::from(account.budget.micro()));
        assert_eq!(
            held, sum,
            "{note}: {queue} has not what was granted less debits"
        );
    }
    let totals = book.head.totals;
    let kept = (totals.granted, totals.debited, totals.forfeited);
    assert_eq!(kept, (granted, debited, forfeited), "{note}: the totals");
    tick
}

/// Returns a seed for this run; a failure prints it, and `HEDDLE_STORE_SEED` repeats it.
pub fn seed() -> u64 {
    let given = std::env::var("HEDDLE_STORE_SEED").ok();
    given.and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.expect("it is after 1970").as_nanos() as u64
    })
}

/// Returns a fencing token above all earlier ones, in this process and those started earlier.
pub fn token() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.expect("it is after 1970").as_micros() as u64;
    let last = LAST.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| {
        Some(now.max(last + 1))
    });
    now.max(last.expect("it always gives one") + 1)
}

/// Returns the refusal in a result.
pub fn refusal<T: std::fmt::Debug>(
    result: Result<T, StoreError>,
) -> heddle_economy::store::Refusal {
    match result {
        Err(StoreError::Refused(refusal)) => refusal,
        other => panic!("expected a refusal, got {other:?}"),
    }
}
