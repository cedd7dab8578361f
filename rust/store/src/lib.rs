//! Heddle's durable state: accounts, the ledger, grants, replay watermarks, learnt job history.
//!
//! One trait, [`Store`], with three back ends that keep the same promises: a folder of files
//! (`file`), SQLite (`sqlite`, the embedded default) and PostgreSQL (`postgres`, for a pair of
//! ResourceManagers); [`open`] chooses. The rules of the books are in one place
//! ([`Book`]), which all three ask before they write. Nothing here decides a share or a price:
//! the engine does, and the host hands its figures over. Nothing here runs on the scheduling
//! thread: that is what [`Writer`] is for.
#![forbid(unsafe_code)]

mod book;
mod error;
mod extract;
mod file;
mod import;
mod mark;
mod migrate;
mod private;
mod record;
mod sql;
mod writer;

pub use book::{Book, LEARNT_MAX, Learnt, NONCES_MAX};
pub use error::{Refusal, StoreError};
pub use extract::{Extract, Span, extract};
pub use import::{Fault, Import, import};
pub use migrate::{Migrated, migrate};
pub use record::{
    Account, Batch, Change, Epoch, GrantKind, GrantRecord, Head, Interval, IntervalHead,
    LedgerQuery, LedgerRow, Page, Price, Row,
};
pub use writer::{Lost, NotAccepted, Options, Past, Receipt, State, Status, Writer};

use std::ops::RangeInclusive;
use std::path::Path;

/// The store at `place`: `file:FOLDER`, `sqlite:FILE`, or a URL `postgres://USER@HOST:PORT/NAME`
/// with the `password`, if the server asks for one, kept apart. It is reached at its first use,
/// not here; an error says what is wrong with the text of `place`.
///
/// The connection to PostgreSQL is not encrypted: the server has to be on the loopback address or
/// at the other end of a tunnel or a network that is trusted.
pub fn open(place: &str, password: Option<&str>) -> Result<Box<dyn Store>, String> {
    at(place, password, true)
}

/// As [`open`], for a store that must be there: nothing is made at its place, and its first use
/// says if there is none.
pub fn open_existing(place: &str, password: Option<&str>) -> Result<Box<dyn Store>, String> {
    at(place, password, false)
}

fn at(place: &str, password: Option<&str>, create: bool) -> Result<Box<dyn Store>, String> {
    let (kind, rest) = place.split_once(':').unwrap_or((place, ""));
    match kind {
        "file" | "sqlite" if rest.is_empty() => Err(format!("{kind}: expected a path after it")),
        "file" => Ok(Box::new(file::FileStore::new(Path::new(rest), create))),
        "sqlite" => {
            let database = sql::sqlite::Sqlite::new(Path::new(rest), create);
            Ok(Box::new(sql::SqlStore::new(database)))
        }
        "postgres" | "postgresql" => {
            let database = sql::postgres::Postgres::new(place, password, create)?;
            Ok(Box::new(sql::SqlStore::new(database)))
        }
        // Not said again: it may hold a password.
        _ => Err("expected file:FOLDER, sqlite:FILE or postgres://USER@HOST:PORT/NAME".to_string()),
    }
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// It is written and will survive a crash.
    Applied,
    /// It had been written before: nothing was charged again.
    AlreadyThere,
}

/// A place that keeps the books. Every commit is one transaction: after a crash at any
/// instruction it is there as a whole or not at all. Only the holder of the newest epoch can
/// commit. An object may be used by one thread at a time; after an error it may be used again,
/// and finds by itself what has become of the connection or the file.
pub trait Store: Send {
    /// Where the store is, for messages: kind and path or address, never a password.
    fn describe(&self) -> String;

    /// Makes the caller, whose name `owner` is for messages, the only one who may commit: every
    /// epoch that was given out before is refused from now on. `token`, at least 1, grows with each
    /// activation: the time at which the ResourceManager became active, or, where clocks may
    /// differ by more than a failover takes, the larger of that and one more than the token in
    /// the books. A take-over with a lower token than the highest so far, or with the same in
    /// another's name, is `Fenced`: it was called before that activation and got stuck. The
    /// same owner with the same token may take over again, as after an answer that was lost.
    fn take_over(&mut self, owner: &str, token: u64) -> Result<Epoch, StoreError>;

    /// The books as they are now.
    fn load(&mut self) -> Result<Book, StoreError>;

    /// Writes an allocation interval: its changes, its rows in the ledger, the balances. An
    /// interval that is there already is left as it is; one that is not the next is refused, and
    /// so is one whose balances do not follow from those in the books.
    fn commit_interval(&mut self, epoch: Epoch, interval: &Interval) -> Result<Commit, StoreError>;

    /// Writes changes between intervals, all or none. The same serial number again is left as it
    /// is.
    fn commit_changes(&mut self, epoch: Epoch, batch: &Batch) -> Result<Commit, StoreError>;

    /// Intervals after that tick that ended in that time, in order of ticks, at most `limit`.
    fn intervals_between(
        &mut self,
        after: u64,
        times_ms: RangeInclusive<i64>,
        limit: usize,
    ) -> Result<Vec<IntervalHead>, StoreError>;

    /// Intervals after that tick, oldest first, at most `limit`: the price history.
    fn intervals(&mut self, after: u64, limit: usize) -> Result<Vec<IntervalHead>, StoreError> {
        self.intervals_between(after, i64::MIN..=i64::MAX, limit)
    }

    /// Rows of the ledger, in order of tick and queue.
    fn ledger(&mut self, query: &LedgerQuery) -> Result<Vec<LedgerRow>, StoreError>;

    /// Grants and forfeits after that number, oldest first, at most `limit`.
    fn grants(&mut self, after: u64, limit: usize) -> Result<Vec<GrantRecord>, StoreError>;

    /// Fills an empty store with another's books and all that `pages` gives until it gives
    /// nothing more; all or nothing. A store that was ever written to refuses.
    fn fill(
        &mut self,
        book: &Book,
        pages: &mut dyn FnMut() -> Result<Option<Page>, StoreError>,
    ) -> Result<(), StoreError>;
}
