//! The values that books, stores and pages share, the same for every back end. Amounts are
//! `Credits`, whole millionths; times are milliseconds since 1970 by the host's clock. Contains no
//! rules.

use heddle_core::share::dynamic_priority::account::Totals;
use heddle_core::words::credits::Credits;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of a holder of the store; every take-over creates a higher one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Epoch(pub u64);

/// A price in millionths of a credit, at least 0. It is a sum of bids, so it may exceed the largest
/// `Credits`, which would cut it when it is read back.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "i64", into = "i64")]
pub struct Price(i64);

impl Price {
    /// Returns the price in millionths.
    pub fn micro(self) -> i64 {
        self.0
    }
}

impl From<Credits> for Price {
    fn from(credits: Credits) -> Price {
        Price(credits.micro())
    }
}

impl From<Price> for i64 {
    fn from(price: Price) -> i64 {
        price.0
    }
}

impl TryFrom<i64> for Price {
    type Error = String;

    /// Converts from millionths; a negative number is an error.
    fn try_from(micro: i64) -> Result<Price, String> {
        if micro < 0 {
            return Err(format!("expected millionths of at least 0, not {micro}"));
        }
        Ok(Price(micro))
    }
}

/// One queue's account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The credits left.
    pub budget: Credits,
    /// Credits per slot and interval, as last set.
    pub rate: Credits,
    /// Credits per hour, added automatically (DP-45).
    pub income: Credits,
}

/// Counters that tell one state of the books from another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The epoch that may write.
    pub epoch: Epoch,
    /// The name that the holder of the epoch gave.
    pub owner: String,
    /// The highest fencing token of any take-over: identifies the activation.
    #[serde(default)]
    pub token: u64,
    /// The last allocation interval in the ledger; 0 before the first.
    pub tick: u64,
    /// The last batch of changes.
    pub serial: u64,
    /// The last grant or forfeit.
    pub grant: u64,
    /// The number of lessons learnt so far.
    pub lesson: u64,
    /// The price set by the last interval.
    pub price: Price,
    /// Sums over all time: granted - debited - forfeited equals the sum of the budgets.
    pub totals: Totals,
}

/// The engine's account of one queue in one allocation interval.
pub use heddle_core::words::ledger::ChargeRow as Row;

/// An allocation interval that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Its number, from 1 without gaps; 0 while no store has numbered it.
    pub tick: u64,
    /// The number of intervals it stands for: 1, or more after a merge while the store was out of
    /// reach. They end with `tick`.
    pub ticks: u64,
    /// When it ended.
    pub at_ms: i64,
    /// The price set at its end, in credits per slot and interval.
    pub price: Price,
    /// Uncommitted changes made during the interval; applied before the rows.
    pub changes: Vec<Change>,
    /// Queues that were charged, paid, had slots or used some, each once. An account without a
    /// row stays unchanged; a row without an account has use only.
    pub rows: Vec<Row>,
}

impl Interval {
    /// Returns the first tick that it covers.
    pub fn first(&self) -> u64 {
        self.tick.saturating_sub(self.ticks.saturating_sub(1))
    }
}

/// One change to the books.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Opens an empty account (DP-41).
    Open {
        /// The queue.
        queue: String,
    },
    /// Closes an account and forfeits its credits.
    Close {
        /// The queue.
        queue: String,
        /// The user who asked for it.
        by: String,
        /// The reason given; may be empty.
        why: String,
    },
    /// Adds to a budget.
    Grant {
        /// The queue.
        queue: String,
        /// The amount.
        amount: Credits,
        /// The user who granted it.
        by: String,
        /// The reason given; may be empty.
        why: String,
    },
    /// Sets a spending rate.
    Rate {
        /// The queue.
        queue: String,
        /// Credits per slot and interval.
        rate: Credits,
    },
    /// Sets an income.
    Income {
        /// The queue.
        queue: String,
        /// Credits per hour.
        income: Credits,
    },
    /// Records an accepted timestamp: requests as old or older are refused from now on (DP-38).
    Seen {
        /// The user.
        user: String,
        /// The timestamp of the request.
        timestamp_ms: i64,
    },
    /// Records an accepted nonce: the same nonce is refused until it expires.
    Nonce {
        /// The user.
        user: String,
        /// The nonce.
        nonce: String,
        /// The time after which the request would be refused for its age.
        expires_ms: i64,
    },
    /// Forgets nonces that expire before this, as the end of every commit does. Only needed when
    /// several commits become one, to keep their combined effect.
    Forget {
        /// In milliseconds since 1970.
        before_ms: i64,
    },
    /// Stores a lesson about jobs.
    Learn {
        /// The subject of the lesson.
        key: String,
        /// A small JSON value, as text.
        value: String,
    },
}

/// A batch of changes between intervals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Its number, from 1 without gaps.
    pub serial: u64,
    /// The time of the changes.
    pub at_ms: i64,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// The direction of a grant record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantKind {
    /// Added to a budget.
    Granted,
    /// Lost when an account was closed.
    Forfeited,
}

/// Credits that came or went outside the market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Its number; the first is 1.
    pub number: u64,
    /// The time.
    pub at_ms: i64,
    /// The direction.
    pub kind: GrantKind,
    /// The queue.
    pub queue: String,
    /// The amount.
    pub amount: Credits,
    /// The user who did it.
    pub by: String,
    /// The reason given.
    pub why: String,
}

/// An interval without its rows: a point of the price history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalHead {
    /// Its number.
    pub tick: u64,
    /// The number of intervals it stands for.
    pub ticks: u64,
    /// The time of its end.
    pub at_ms: i64,
    /// The price set at its end.
    pub price: Price,
    /// The epoch that wrote it.
    pub epoch: Epoch,
}

/// A row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// The tick of its interval.
    pub tick: u64,
    /// The booking.
    pub row: Row,
}

/// Selects rows of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerQuery {
    /// Only rows of this queue.
    pub queue: Option<String>,
    /// Only rows after this tick and queue: those of the last row of the previous page.
    pub after: (u64, String),
    /// Only rows up to this tick.
    pub until: u64,
    /// At most this many rows.
    pub limit: usize,
}

impl Default for LedgerQuery {
    fn default() -> LedgerQuery {
        LedgerQuery {
            queue: None,
            after: (0, String::new()),
            until: u64::MAX,
            limit: usize::MAX,
        }
    }
}

/// One page of a store's past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Intervals, oldest first.
    pub intervals: Vec<IntervalHead>,
    /// Rows of the ledger, in order.
    pub rows: Vec<LedgerRow>,
    /// Grants and forfeits, in order.
    pub grants: Vec<GrantRecord>,
}

/// The last intervals of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentLedger {
    /// The last intervals, oldest first. Their changes are left out: the books have them.
    pub intervals: Vec<Interval>,
    /// Whether the store has no earlier ones.
    pub whole: bool,
    /// Whether all earlier intervals ended before these. False after a clock was set back.
    pub ordered: bool,
}

/// Selects a part of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first tick; for later pages, that of the previous page's `next`.
    pub from: u64,
    /// Only intervals that begin before this tick: the caller knows the later ones from memory.
    pub before: u64,
    /// Only intervals that ended at this time or later, in ms since 1970.
    pub from_ms: i64,
    /// Only intervals that ended at this time or earlier.
    pub to_ms: i64,
    /// Only rows of these queues.
    pub queues: Option<Vec<String>>,
    /// A page ends with the interval that reaches this number of rows.
    pub rows: usize,
}

/// A page of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extract {
    /// Whole intervals, ordered by tick, without their changes; also those without a selected row.
    pub intervals: Vec<Interval>,
    /// The next interval in the span. It may exist although the page is short.
    pub next: Option<IntervalHead>,
    /// The last tick of the intervals that begin before `before`. It lies beyond `before` if a
    /// merged interval reaches across. `None` if the store has not got that far.
    pub reaches: Option<u64>,
    /// The merged interval that `from` lies inside of: nothing was read.
    pub cut: Option<IntervalHead>,
}

/// The reason why an account was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotChanged {
    /// The engine's own message, or the reason why no engine is running.
    Refused(String),
    /// The reason why the change cannot be stored.
    NotStored(String),
    /// The change may be stored, and may not be: the writer has ended.
    InDoubt(String),
}

impl fmt::Display for NotChanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotChanged::Refused(why) | NotChanged::InDoubt(why) => f.write_str(why),
            NotChanged::NotStored(why) => write!(f, "accounts cannot be changed now: {why}"),
        }
    }
}

/// The condition of the books and of their store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum BooksState {
    /// No store is configured: budgets last as long as the engine.
    InMemory,
    /// This ResourceManager is not the active one.
    Standby,
    /// The store is being read, or the engine has no accounts from it yet.
    Opening,
    /// Every change is written.
    Connected,
    /// The store does not answer.
    Unreachable,
    /// Another ResourceManager has taken the store over.
    Fenced,
    /// The store is damaged or of another version.
    Stopped,
    /// The writer has ended.
    Closed,
}

impl From<BooksState> for &'static str {
    /// Returns the word for a condition, in answers and in the log.
    fn from(state: BooksState) -> &'static str {
        match state {
            BooksState::InMemory => "in memory only",
            BooksState::Standby => "standby",
            BooksState::Opening => "opening",
            BooksState::Connected => "connected",
            BooksState::Unreachable => "unreachable",
            BooksState::Fenced => "fenced",
            BooksState::Stopped => "stopped",
            BooksState::Closed => "closed",
        }
    }
}

impl fmt::Display for BooksState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str((*self).into())
    }
}

/// The status of the books and their store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BooksStatus {
    /// Their condition.
    pub state: BooksState,
    /// Whether the accounts were read from the store.
    pub read: bool,
    /// Intervals that were not handed over to the store: they were free.
    pub lost_intervals: u64,
    /// The store's kind and place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// The writer's progress; `None` without a running writer.
    #[serde(flatten)]
    pub progress: Option<Progress>,
}

impl BooksStatus {
    /// Returns the status of books in this condition that nothing else is known of.
    pub fn of(state: BooksState) -> BooksStatus {
        BooksStatus {
            state,
            read: false,
            lost_intervals: 0,
            store: None,
            progress: None,
        }
    }
}

/// The progress of a store's writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The cause of the trouble, if there is any.
    pub detail: Option<String>,
    /// Intervals that wait.
    pub intervals_behind: u64,
    /// The last interval in the store.
    pub interval: u64,
    /// Intervals that were merged with their successor.
    pub intervals_merged: u64,
    /// Intervals that the writer refused.
    pub intervals_lost: u64,
}
