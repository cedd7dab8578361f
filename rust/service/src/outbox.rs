//! Where the engine's host puts what happened to accounts, for whoever writes it down. Posting
//! takes a few instructions under a lock that nobody holds for longer: it is done on the
//! scheduling thread. Writes nothing.

use heddle_core::words::ids::Millis;
use heddle_core::words::ledger::{Entry, Taken};
use parking_lot::Mutex;

/// More entries than this, and nobody collects them any more.
const ENTRIES_MAX: usize = 16_384;

/// An entry, and what to add to its times to have milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// What happened.
    pub entry: Entry,
    /// When the engine's clock showed 0.
    pub epoch_ms: Millis,
}

/// What was collected.
#[derive(Debug, Default)]
pub struct Collected {
    /// In the order in which it happened.
    pub posted: Vec<Posted>,
    /// Whether something before it is missing.
    pub dropped: bool,
}

/// The way from the engine's host to the books.
#[derive(Debug, Default)]
pub struct Outbox {
    collected: Mutex<Collected>,
}

impl Outbox {
    /// Adds what was taken from an engine's ledger.
    pub fn post(&self, taken: Taken, epoch_ms: Millis) {
        if taken.entries.is_empty() && !taken.dropped {
            return;
        }
        let mut collected = self.collected.lock();
        collected.dropped |= taken.dropped;
        // A list of all accounts, with which an engine begins, may be longer.
        if !collected.posted.is_empty()
            && collected.posted.len() + taken.entries.len() > ENTRIES_MAX
        {
            collected.posted.clear();
            collected.dropped = true;
        }
        let entries = taken.entries.into_iter();
        let posted = entries.map(|entry| Posted { entry, epoch_ms });
        collected.posted.extend(posted);
    }

    /// Everything so far; it is gone here then.
    pub fn collect(&self) -> Collected {
        std::mem::take(&mut *self.collected.lock())
    }
}
