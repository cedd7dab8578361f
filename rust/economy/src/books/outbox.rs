//! Collects what happened to accounts until the books take it. The scheduling thread posts here, so
//! the lock is held for a few instructions only. Writes nothing.

use crate::record::{Change, Interval};
use heddle_core::words::ids::Millis;
use heddle_core::words::ledger::{Entry, LedgerBatch};
use parking_lot::Mutex;

/// With more entries than this, the books have stopped collecting.
const ENTRIES_MAX: usize = 16_384;

/// An entry, and the offset that turns its times into milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedEntry {
    /// What happened.
    pub entry: Entry,
    /// The wall clock's time when the engine's clock showed 0.
    pub epoch_ms: Millis,
}

/// An entry in the store's form.
pub(super) enum StoreStep {
    Change(Change),
    /// An interval without a number.
    Interval(Interval),
}

impl PostedEntry {
    /// Returns the entry in the store's form.
    pub(super) fn written(self) -> StoreStep {
        StoreStep::Change(match self.entry {
            Entry::Opened { queue } => Change::Open { queue },
            Entry::Closed { queue, by, why } => Change::Close { queue, by, why },
            Entry::Granted {
                queue,
                amount,
                by,
                why,
            } => Change::Grant {
                queue,
                amount,
                by,
                why,
            },
            Entry::Rate { queue, rate } => Change::Rate { queue, rate },
            Entry::Income { queue, income } => Change::Income { queue, income },
            Entry::Learnt { key, value } => Change::Learn { key, value },
            Entry::Interval { at_ms, price, rows } => {
                return StoreStep::Interval(Interval {
                    tick: 0,
                    ticks: 1,
                    at_ms: self.epoch_ms + at_ms,
                    price: price.into(),
                    changes: Vec::new(),
                    rows,
                });
            }
        })
    }
}

/// Entries that the books take in one go.
#[derive(Debug, Default)]
pub struct EntryBatch {
    /// The entries, oldest first.
    pub posted: Vec<PostedEntry>,
    /// Whether earlier entries were dropped.
    pub dropped: bool,
}

/// The queue from the engine's host to the books.
#[derive(Debug, Default)]
pub struct Outbox {
    collected: Mutex<EntryBatch>,
}

impl Outbox {
    /// Adds what was taken from an engine's ledger. Beyond `ENTRIES_MAX` drops the earlier ones.
    pub fn post(&self, taken: LedgerBatch, epoch_ms: Millis) {
        if taken.entries.is_empty() && !taken.dropped {
            return;
        }
        let mut collected = self.collected.lock();
        collected.dropped |= taken.dropped;
        // The list of all accounts that a new engine begins with may be longer.
        if !collected.posted.is_empty()
            && collected.posted.len() + taken.entries.len() > ENTRIES_MAX
        {
            collected.posted.clear();
            collected.dropped = true;
        }
        let entries = taken.entries.into_iter();
        let posted = entries.map(|entry| PostedEntry { entry, epoch_ms });
        collected.posted.extend(posted);
    }

    /// Takes everything posted so far.
    pub fn collect(&self) -> EntryBatch {
        std::mem::take(&mut *self.collected.lock())
    }
}
