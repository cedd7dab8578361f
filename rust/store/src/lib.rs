//! Heddle's durable state: accounts, the ledger, grants, replay watermarks, learnt job history.
//!
//! One trait, [`Store`], has three back ends that keep the same promises: a folder of files
//! (`file`), SQLite (`sqlite`, the embedded default) and PostgreSQL (`postgres`, for a pair of
//! ResourceManagers). [`open`] chooses. The rules of the books are in one place ([`Book`]), and
//! all three ask it before they write. Shares and prices are the engine's; the host hands its
//! figures over. A [`Writer`] owns a store, on a thread of its own, never on the scheduling
//! thread.
//!
//! # Modules
//!
//! - `record`, `error`: what is written and read, the same for all back ends; errors by what a
//!   caller can do about them.
//! - `book`: what may follow what, and what it changes. Pure; back ends and the writer ask it.
//! - `sql`: every statement once, for `sqlite` and `postgres`, which only connect, lock and
//!   translate errors. `postgres/session` is a connection that may be given up.
//! - `file`: a folder. Its log is the truth, with a checksum per line that covers the line before.
//!   The accounts beside it spare reading the log.
//! - `sql/seal`, `mark`: checksums of rows and of the book; how far a store was written, in a file
//!   beside it.
//! - `writer`: what a host calls. `worker` is the thread, `pending` the queue and its merging,
//!   `projected` the books with the queue applied, `past` the last intervals before this start,
//!   `receipt` the outcome of changes.
//! - `extract`: pages of the ledger of any time. `migrate`, `import`: from any store to any other,
//!   compared afterwards; the published scheduler's budget file. `private`: files that only their
//!   owner reads.
//!
//! # Rules
//!
//! - *One transaction per interval, numbered.* An interval that is there is left alone, one that
//!   does not follow is refused. So a host may repeat a call whose answer was lost, and nothing is
//!   charged twice. Changes between intervals (grants, rates, nonces) have serial numbers for the
//!   same reason.
//! - *A commit is checked against the books.* Balance before + income - debit = balance, or it is
//!   refused. Reading checks grants - debits - forfeits = budgets. A budget changed by hand is an
//!   error, not a new balance.
//! - *Damage is found or harmless.* Lines of a log are chained. Rows have checksums, an interval
//!   has the number and the sum of its rows', `head` has one of the whole book. Ticks and numbers
//!   of grants have no gaps. The ledger is read by whole intervals of all queues, since an index
//!   may have a row in a wrong place.
//! - *A lost end is found, too.* A log or write-ahead log without its end looks like an older
//!   store. So counters are noted in a file beside it (`ledger.end`, `…-end`) after each commit,
//!   unsynced. An empty SQLite file is an empty database to SQLite, so a new store gets its name
//!   when its tables are in it. `tests/harness.rs` cuts and flips each byte. Nothing is proven
//!   against a deliberate forger.
//! - *A writer refuses at once or not at all.* Each batch is planned on the books with all pending
//!   batches (`Writer::with_book`). So the store cannot refuse an accepted batch for its content.
//!   Batches that are merged, or written together, have the effect of their parts one after the
//!   other, down to the nonces forgotten between them; otherwise they stay apart.
//! - *Hosts hold one lock over "change the engine, hand that over"*, because rows say what is
//!   left. Without it, a grant and a tick that overtake each other are refused, and the engine
//!   takes its accounts again from the projected books.
//! - *A price is a sum* and has a type of its own: `Credits` are cut to 10^9 when they are read.
//! - *A forgotten nonce leaves a floor.* A signature that expires then or before is a replay, per
//!   user, whatever the clock says later.
//! - *Taking over raises the epoch.* A commit under an older one is `Fenced`, whatever the former
//!   holder believes. With PostgreSQL the row `head` is locked in the transaction; a holder that
//!   sleeps in the middle of one loses its session after 5 s. An epoch newer than the store's
//!   means that an old copy was put back.
//! - *Taking over needs a fencing token that grows with each activation*, so that a stuck call of
//!   a former holder fences none; the holder may take over again. The writer makes the token from
//!   the clock. If that is behind the books' token, it waits 30 s and then takes the next token
//!   (`Options::fenced_retry`). Meanwhile a holder that is still active hears of it and ends.
//! - *The writer never blocks a caller.* Out of reach, intervals queue in order. Beyond a bound,
//!   neighbours merge into one that charges the same; only the detail is lost. A sent interval is
//!   never merged, since it may have arrived. Queued changes are written together, with one sync.
//!   They are refused before intervals lose detail to them. Changes inside of intervals count like
//!   rows. At four times the bound, with nothing left to merge, intervals are refused as well. A
//!   change that was not sent can be withdrawn while no later one follows from it.
//! - *New files and folders are their owner's only* (0600, 0700), whatever the umask; SQLite gives
//!   `-wal` and `-shm` the mode of the database. Existing ones keep their mode, also where they
//!   are written aside and renamed. At each take-over the log names what others can read or write.
//! - *Silence is an outage.* A call without an answer for 10 s shows the store as out of reach. A
//!   PostgreSQL session lives on a thread of its own. It is given up after 10 s of connecting or
//!   70 s of a statement; four may be given up at a time. The status has what is lost when a
//!   writer is fenced, stopped or closed.
//! - *A crash loses* the interval in progress and, with the store out of reach, the queued ones:
//!   they were free, not charged twice.
//!
//! # Known gaps
//!
//! - No TLS to PostgreSQL (loopback or a tunnel); network file systems; `fsync` that lies. The
//!   ledger is never pruned. A query of the `file` store reads its log from the beginning, so it
//!   is for small clusters.
//! - The writer plans rows of thousands of queues on the caller's thread: milliseconds per
//!   interval, and as long as the whole queue takes for a merge or a withdrawal.
//! - A file system that hangs (`file`, `sqlite`) is shown, but the call cannot be given up: the
//!   thread waits with it.
//! - A migration that fails on the way (a full disk) leaves the target empty and the source whole,
//!   but fenced until a ResourceManager becomes active again.
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
