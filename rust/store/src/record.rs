//! What is written and read: plain values, the same for every back end. Amounts are `Credits`,
//! whole millionths; times are milliseconds since 1970 by the host's clock. No rule is in here.

use heddle_core::share::dynamic_priority::account::Totals;
use heddle_core::words::credits::Credits;
use serde::{Deserialize, Serialize};

/// Number of a holder of the store; every take-over makes a higher one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Epoch(pub u64);

/// A price in millionths of a credit, at least 0. It is a sum of bids, so it may be more than any
/// one amount: `Credits` would be cut to their largest on the way back.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "i64", into = "i64")]
pub struct Price(i64);

impl Price {
    /// In millionths.
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

    /// From millionths; those below 0 are no price.
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
    /// What is left.
    pub budget: Credits,
    /// Credits per slot and interval, as last set.
    pub rate: Credits,
    /// Credits per hour that are added by themselves (DP-45).
    pub income: Credits,
}

/// How far the books go: counters that tell one state of a store from another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Who may write.
    pub epoch: Epoch,
    /// The name that the holder of the epoch gave.
    pub owner: String,
    /// The highest token that anybody took over with: which activation that was.
    #[serde(default)]
    pub token: u64,
    /// The last allocation interval that is in the ledger; 0 before the first.
    pub tick: u64,
    /// The last batch of changes.
    pub serial: u64,
    /// The last grant or forfeit.
    pub grant: u64,
    /// How often something was learnt.
    pub lesson: u64,
    /// The price that the last interval set.
    pub price: Price,
    /// Sums over all time: granted - debited - forfeited is what the budgets hold together.
    pub totals: Totals,
}

/// One queue in one allocation interval, as the engine reckoned it.
pub use heddle_core::words::ledger::Charged as Row;

/// An allocation interval that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Its number; the first is 1, and none is left out.
    pub tick: u64,
    /// How many intervals it stands for: 1, or more if several were merged while the store was
    /// out of reach. They end with `tick`.
    pub ticks: u64,
    /// When it ended.
    pub at_ms: i64,
    /// The price that its end set, in credits per slot and interval.
    pub price: Price,
    /// What was changed in it and not yet committed; carried out before the rows.
    pub changes: Vec<Change>,
    /// Queues with an account that were charged, paid or had slots. An account without a row
    /// stays as it is.
    pub rows: Vec<Row>,
}

impl Interval {
    /// The first tick that it covers.
    pub fn first(&self) -> u64 {
        self.tick.saturating_sub(self.ticks.saturating_sub(1))
    }
}

/// One change to the books.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Opens an account with nothing in it (DP-41).
    Open {
        /// The queue.
        queue: String,
    },
    /// Closes an account; what is in it is forfeited.
    Close {
        /// The queue.
        queue: String,
        /// Who asked for it.
        by: String,
        /// The reason given; may be empty.
        why: String,
    },
    /// Adds to a budget.
    Grant {
        /// The queue.
        queue: String,
        /// How much.
        amount: Credits,
        /// Who granted it.
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
    /// A request with a timestamp was accepted: none as old or older may be again (DP-38).
    Seen {
        /// Whose request.
        user: String,
        /// Its timestamp.
        timestamp_ms: i64,
    },
    /// A request with a nonce was accepted: the same may not be again before it expires.
    Nonce {
        /// Whose request.
        user: String,
        /// The nonce.
        nonce: String,
        /// From when on the request would be refused for its age.
        expires_ms: i64,
    },
    /// Nonces that expire before this are forgotten, as they are at the end of every commit. Only
    /// who makes one commit of several needs it, to do what they would have done.
    Forget {
        /// In milliseconds since 1970.
        before_ms: i64,
    },
    /// Something about jobs was learnt.
    Learn {
        /// What it is about.
        key: String,
        /// A small JSON value, as text.
        value: String,
    },
}

/// Changes between intervals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Its number; the first is 1, and none is left out.
    pub serial: u64,
    /// When they were made.
    pub at_ms: i64,
    /// In order.
    pub changes: Vec<Change>,
}

/// Whether credits came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrantKind {
    /// Added to a budget.
    Granted,
    /// Lost with an account that was closed.
    Forfeited,
}

/// Credits that came or went other than by the market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Its number; the first is 1.
    pub number: u64,
    /// When.
    pub at_ms: i64,
    /// Which way.
    pub kind: GrantKind,
    /// The queue.
    pub queue: String,
    /// How much.
    pub amount: Credits,
    /// Who did it.
    pub by: String,
    /// The reason given.
    pub why: String,
}

/// An interval without its rows: a point of the price history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalHead {
    /// Its number.
    pub tick: u64,
    /// How many intervals it stands for.
    pub ticks: u64,
    /// When it ended.
    pub at_ms: i64,
    /// The price that its end set.
    pub price: Price,
    /// Who wrote it.
    pub epoch: Epoch,
}

/// A row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// The interval.
    pub tick: u64,
    /// What was booked.
    pub row: Row,
}

/// Which rows of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerQuery {
    /// Only this queue's.
    pub queue: Option<String>,
    /// Only those after this place: tick and queue of the last row of the page before.
    pub after: (u64, String),
    /// Only those up to this tick.
    pub until: u64,
    /// At most so many.
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

/// A part of what a store has kept of the past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Intervals, oldest first.
    pub intervals: Vec<IntervalHead>,
    /// Rows of the ledger, in order.
    pub rows: Vec<LedgerRow>,
    /// Grants and forfeits, in order.
    pub grants: Vec<GrantRecord>,
}
