//! The record of what happens to accounts, in order, for a host that writes it down: openings,
//! grants, rates, and what every interval charged (DP-30, DP-31). Kept only if a host asks for it,
//! in bounded memory. Writes nothing, and no decision depends on it.

use crate::words::credits::Credits;
use crate::words::ids::Millis;
use crate::words::keys::POOLS;
use serde::{Deserialize, Serialize};

/// At this number of entries, without the initial list of accounts, the host has stopped taking
/// them.
const ENTRIES_MAX: usize = 4096;
/// The same for rows of intervals, which weigh the most.
const ROWS_MAX: usize = 100_000;

/// The name under which the configuration grants.
pub const CONFIGURATION: &str = "configuration";

/// One queue in the interval that ended. Each millisecond of its containers is in one of the three
/// columns of use, so that all rows together have the cluster's use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChargeRow {
    /// The queue's path.
    pub queue: String,
    /// The price of its slots: the rate that bought them, per slot and interval (DP-15).
    pub rate: Credits,
    /// Slots that the rate had bought, by pool.
    pub quota: [u32; POOLS],
    /// Slots used and charged at the rate, times milliseconds, by pool.
    pub used_slot_ms: [i64; POOLS],
    /// Credited as income.
    pub income: Credits,
    /// Debited.
    pub debit: Credits,
    /// The balance after both.
    pub balance: Credits,
    /// Slots used and charged to nobody, times milliseconds, by pool. 0 in older records.
    #[serde(default)]
    pub unpaid_slot_ms: [i64; POOLS],
    /// ApplicationMasters, which take no slot, times milliseconds. 0 in older records.
    #[serde(default)]
    pub am_ms: i64,
}

impl ChargeRow {
    /// Whether there is anything to write down.
    pub fn says_something(&self) -> bool {
        let slots = [self.used_slot_ms, self.unpaid_slot_ms];
        self.quota != [0; POOLS]
            || slots != [[0; POOLS]; 2]
            || self.am_ms != 0
            || self.income > Credits::ZERO
            || self.debit > Credits::ZERO
    }

    /// Adds the use of an earlier row.
    pub fn add_use(&mut self, earlier: &ChargeRow) {
        let add = |sums: &mut [i64; POOLS], more: [i64; POOLS]| {
            for (sum, more) in sums.iter_mut().zip(more) {
                *sum = sum.saturating_add(more);
            }
        };
        add(&mut self.used_slot_ms, earlier.used_slot_ms);
        add(&mut self.unpaid_slot_ms, earlier.unpaid_slot_ms);
        self.am_ms = self.am_ms.saturating_add(earlier.am_ms);
    }

    /// Whether it concerns no account: it has neither slots that were bought nor money.
    pub fn is_unpaid(&self) -> bool {
        let money = [self.rate, self.income, self.debit, self.balance];
        self.quota == [0; POOLS] && self.used_slot_ms == [0; POOLS] && money == [Credits::ZERO; 4]
    }
}

/// One thing that happened to accounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// An account was opened, with nothing in it (DP-41).
    Opened {
        /// The queue's path.
        queue: String,
    },
    /// An account was closed; its balance is forfeited.
    Closed {
        /// The queue's path.
        queue: String,
        /// Who asked for it.
        by: String,
        /// The reason given; may be empty.
        why: String,
    },
    /// Credits were added to a budget, other than as income.
    Granted {
        /// The queue's path.
        queue: String,
        /// How much.
        amount: Credits,
        /// Who granted it.
        by: String,
        /// The reason given; may be empty.
        why: String,
    },
    /// A spending rate was set.
    Rate {
        /// The queue's path.
        queue: String,
        /// Credits per slot and interval.
        rate: Credits,
    },
    /// An income was set.
    Income {
        /// The queue's path.
        queue: String,
        /// Credits per hour.
        income: Credits,
    },
    /// An allocation interval ended.
    Interval {
        /// When, by the engine's clock.
        at_ms: Millis,
        /// The price that its end set.
        price: Credits,
        /// Queues that were charged, paid, had slots or used some, in the order of names. One
        /// without an account has use only.
        rows: Vec<ChargeRow>,
    },
    /// A stage learnt something about jobs. It concerns no account, but is kept in the same books.
    Learnt {
        /// The subject; the stage that learnt it recognizes it by this.
        key: String,
        /// A small JSON value, as text.
        value: String,
    },
}

/// The entries taken from a ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerBatch {
    /// In order.
    pub entries: Vec<Entry>,
    /// Whether older entries were dropped because the host did not take them: its books then have a
    /// gap.
    pub dropped: bool,
}

/// Entries that a host has not taken yet.
#[derive(Debug, Default)]
pub struct Ledger {
    kept: bool,
    rows: usize,
    /// How many entries the initial list of accounts may have.
    listed: usize,
    taken: LedgerBatch,
}

impl Ledger {
    /// Whether a host takes the entries.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept
    }

    /// Starts to keep entries until they are taken.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// Adds an entry, if a host asked for them.
    pub fn note(&mut self, entry: impl FnOnce() -> Entry) {
        if !self.kept {
            return;
        }
        let entry = entry();
        if let Entry::Interval { rows, .. } = &entry {
            self.rows += rows.len();
        }
        if self.taken.entries.len() >= ENTRIES_MAX + self.listed || self.rows > ROWS_MAX {
            self.forget();
            self.taken.dropped = true;
        }
        self.taken.entries.push(entry);
    }

    /// Notes an existing account with its budget, rate and income.
    pub(crate) fn note_account(&mut self, queue: &str, [budget, rate, income]: [Credits; 3]) {
        let queue = || queue.to_string();
        // The initial list does not count towards `ENTRIES_MAX`, however long it is.
        self.listed += 4;
        self.note(|| Entry::Opened { queue: queue() });
        if budget > Credits::ZERO {
            self.note(|| Entry::Granted {
                queue: queue(),
                amount: budget,
                by: CONFIGURATION.to_string(),
                why: String::new(),
            });
        }
        if rate > Credits::ZERO {
            self.note(|| Entry::Rate {
                queue: queue(),
                rate,
            });
        }
        if income > Credits::ZERO {
            self.note(|| Entry::Income {
                queue: queue(),
                income,
            });
        }
    }

    /// Takes all entries so far.
    pub fn take(&mut self) -> LedgerBatch {
        (self.rows, self.listed) = (0, 0);
        std::mem::take(&mut self.taken)
    }

    /// Drops the entries that were not taken: what follows does not build on them.
    pub(crate) fn forget(&mut self) {
        self.take();
    }
}
