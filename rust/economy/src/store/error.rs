//! Errors of a store, grouped by the caller's possible reaction. Holds no back end's own error
//! types: a host handles all three alike.

use crate::record::Epoch;
use std::fmt;

/// The reason why a store refused or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The store cannot be reached or written to now: connection, lock, permission, full disk. The
    /// outcome of a commit may be unknown; repeating it is always safe.
    Unavailable(String),
    /// The writer ended before the store answered: the batch may have been written. Whoever repeats
    /// a grant may make it twice.
    InDoubt,
    /// Another holder has taken over; nothing was written.
    Fenced {
        /// The epoch of the caller; 0 if the caller was taking over.
        ours: Epoch,
        /// The epoch in force.
        current: Epoch,
        /// The name of its holder.
        owner: String,
    },
    /// The batch or interval is wrong; nothing was written.
    Refused(Refusal),
    /// The stored bytes differ from what was written. Heddle repairs nothing itself.
    Corrupt {
        /// File and line, or table.
        place: String,
        /// What is wrong there.
        reason: String,
    },
    /// A newer Heddle has written the store.
    Newer {
        /// The version found.
        found: u32,
        /// The newest version that this Heddle knows.
        known: u32,
    },
}

/// The fault of a batch, an interval or a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A tick or serial number that does not follow the last.
    NotNext {
        /// The number that would have followed.
        expected: u64,
        /// The first number that was given.
        given: u64,
    },
    /// Some ticks of the interval are in the ledger already.
    Overlap {
        /// The last tick in the ledger.
        last: u64,
    },
    /// No account of that queue.
    Unknown(String),
    /// The queue has an account already.
    Exists(String),
    /// The balance given does not follow from the one in the books.
    Balance {
        /// The queue.
        queue: String,
        /// The balance that follows from the books, in millionths; may be below 0.
        expected_micro: i64,
        /// The given balance, in millionths.
        given_micro: i64,
    },
    /// A queue stands twice in one interval.
    Twice(String),
    /// An amount, or the resulting balance, exceeds the largest.
    TooMuch(String),
    /// A timestamp or nonce that was accepted before.
    Replay(String),
    /// The store remembers `NONCES_MAX` nonces of that user; wait until some expire.
    TooManyNonces(String),
    /// A text that is empty, too long, has control characters, or should be JSON and is not.
    Text {
        /// The field.
        field: &'static str,
        /// The expected content.
        expected: &'static str,
    },
    /// Only an empty store can be filled.
    NotEmpty,
    /// The source of a migration was never used.
    Empty,
    /// A draw from a purse that cannot be right, or figures of a purse that do not add up.
    Purse(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Unavailable(why) => write!(f, "the store is unavailable: {why}"),
            StoreError::InDoubt => f.write_str(
                "the store has not answered before the end: the change may have been written; \
                 look at the account before you repeat it",
            ),
            StoreError::Fenced {
                ours: Epoch(0),
                current,
                owner,
            } => write!(
                f,
                "the take-over was fenced off: {owner} holds epoch {} by a later activation",
                current.0
            ),
            StoreError::Fenced {
                ours,
                current,
                owner,
            } => write!(
                f,
                "epoch {} was fenced off: {owner} has taken over with epoch {}",
                ours.0, current.0
            ),
            StoreError::Refused(refusal) => refusal.fmt(f),
            StoreError::Corrupt { place, reason } => write!(
                f,
                "{place}: {reason}; nothing was changed: restore it from a copy"
            ),
            StoreError::Newer { found, known } => write!(
                f,
                "the store has version {found}, this Heddle knows up to {known}: use a newer one"
            ),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotNext { expected, given } => {
                write!(f, "expected number {expected}, not {given}")
            }
            Refusal::Overlap { last } => write!(f, "ticks up to {last} are there already"),
            Refusal::Unknown(queue) => write!(f, "queue {queue} has no account; add it first"),
            Refusal::Exists(queue) => write!(f, "queue {queue} has an account already"),
            Refusal::Balance {
                queue,
                expected_micro,
                given_micro,
            } => write!(
                f,
                "queue {queue}: the books lead to {expected_micro} millionths, not {given_micro}"
            ),
            Refusal::Twice(queue) => write!(f, "queue {queue} is in the interval twice"),
            Refusal::TooMuch(queue) => {
                write!(
                    f,
                    "queue {queue}: an amount or the balance would exceed 1e9 credits"
                )
            }
            Refusal::Replay(user) => write!(f, "user {user}: this was accepted before"),
            Refusal::TooManyNonces(user) => {
                write!(
                    f,
                    "user {user}: too many requests at a time; try again later"
                )
            }
            Refusal::Text { field, expected } => write!(f, "{field}: expected {expected}"),
            Refusal::NotEmpty => write!(f, "the target store is not empty"),
            Refusal::Purse(why) => f.write_str(why),
            Refusal::Empty => write!(f, "there is nothing in the store: is its name right?"),
        }
    }
}

impl std::error::Error for StoreError {}
