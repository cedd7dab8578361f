//! What a host with a store is asked for beyond what is remembered here. Plain values.

use serde_json::Value;

/// Which intervals of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The number of the first.
    pub from: u64,
    /// Only intervals that begin before the one with this number.
    pub before: u64,
    /// Only those that ended then or later, in ms since 1970.
    pub from_ms: u64,
    /// Only those that ended then or earlier.
    pub to_ms: u64,
    /// Only rows of these queues.
    pub queues: Option<Vec<String>>,
    /// The page ends with the interval that reaches so many rows.
    pub rows: usize,
}

/// A page of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Older {
    /// As `Service::interval` takes them, in order of their numbers.
    pub intervals: Vec<Value>,
    /// Number and end of the next, if there is one that is wanted; the page may be short.
    pub next: Option<(u64, u64)>,
    /// The number of the last interval that begins before `Wanted::before`; none if it is not
    /// written yet.
    pub reaches: Option<u64>,
    /// First and last of several intervals that became one, if `Wanted::from` is among them and
    /// is not the first: nothing was read then.
    pub cut: Option<(u64, u64)>,
}
