//! Requests to a host with a store for ledger pages older than the in-memory window. Plain values.

use serde_json::Value;

/// Selects intervals of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The number of the first interval.
    pub from: u64,
    /// Only intervals that begin before the one with this number.
    pub before: u64,
    /// Only intervals that ended at this time or later, in ms since 1970.
    pub from_ms: u64,
    /// Only intervals that ended at this time or earlier.
    pub to_ms: u64,
    /// Only rows of these queues.
    pub queues: Option<Vec<String>>,
    /// The page ends with the interval that reaches this number of rows.
    pub rows: usize,
}

/// A page of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Older {
    /// Intervals as for `Service::interval`, ordered by number.
    pub intervals: Vec<Value>,
    /// Number and end of the next selected interval, if there is one; the page may be short.
    pub next: Option<(u64, u64)>,
    /// The number of the last interval that begins before `Wanted::before`; `None` if that is not
    /// written yet.
    pub reaches: Option<u64>,
    /// First and last number of a merged interval that has `Wanted::from` inside, after its first:
    /// then nothing was read.
    pub cut: Option<(u64, u64)>,
}
