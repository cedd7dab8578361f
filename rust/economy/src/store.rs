//! Heddle's durable state: accounts, the ledger, grants, replay watermarks, learnt job history.
//!
//! One trait, [`Store`], has three back ends that make the same promises. They are a folder of
//! files (`file`), SQLite (`sqlite`, the embedded default) and PostgreSQL (`postgres`, for a pair
//! of ResourceManagers). [`open`] chooses one. The rules of the books are in one place ([`Book`]);
//! every back end asks it before a write. Shares and prices belong to the engine; the host hands
//! its figures over. A [`Writer`] owns a store on its own thread, never on the scheduling thread.
//!
//! # Modules
//!
//! - `error`: errors by the caller's possible reaction. The values that are written and read are in
//!   the crate's module `record`.
//! - `book`: the rules of the books and the effect of each change. Pure; back ends and the writer
//!   ask it.
//! - `sql`: every statement once, for `sqlite` and `postgres`, which only connect, lock and
//!   translate errors. `postgres/session` is a connection that can be abandoned.
//! - `file`: a folder. Its log is the truth; each line has a checksum that covers the line before.
//!   The accounts file beside it saves reading the whole log.
//! - `sql/seal`, `mark`: checksums of rows and of the book; the last commit of a store, noted in a
//!   file beside it.
//! - `writer`: the host's interface. `worker` is the thread, `pending` the queue and its merging,
//!   `projected` the books with the queue applied. `past` holds the last intervals before this
//!   start, `receipt` the outcome of a batch.
//! - `extract`: pages of the ledger for any time. `migrate`: copies any store to any other and
//!   compares them. `import`: the published scheduler's budget file. `private`: files that only
//!   their owner can read. `purse`: credits that the ResourceManagers of a federation share.
//!
//! # Rules
//!
//! - *One transaction per interval, numbered.* A repeated interval changes nothing; an interval
//!   that does not follow the last is refused. So a host may repeat a call after a lost answer, and
//!   nothing is charged twice. Changes between intervals (grants, rates, nonces) have serial
//!   numbers for the same reason.
//! - *Each commit is checked against the books.* Balance before + income - debit = balance, or the
//!   commit is refused. Reading checks grants - debits - forfeits = budgets. A budget changed by
//!   hand is an error, not a new balance.
//! - *Damage is found or harmless.* Lines of a log are chained. Rows have checksums. An interval
//!   has the number of its rows and the sum of their checksums; `head` has a checksum of the whole
//!   book. Ticks and numbers of grants have no gaps. The ledger is read by whole intervals of all
//!   queues, because an index may hold a row in the wrong place.
//! - *A lost end is found, too.* A log or write-ahead log without its end looks like an older
//!   store. So each commit notes its counters in a file beside the store (`ledger.end`, `…-end`),
//!   unsynced. SQLite takes an empty file for an empty database, so a new store gets its name only
//!   after its tables are in it. `tests/harness.rs` cuts and flips each byte. Nothing protects
//!   against a deliberate forger.
//! - *A writer refuses at once or not at all.* Each batch is planned on the books with all pending
//!   batches applied (`Writer::with_book`). So the store cannot refuse an accepted batch for its
//!   content. Batches that are merged or written together have the same effect as their parts in
//!   order, including the nonces forgotten between them. Otherwise they stay apart.
//! - *Hosts hold one lock over "change the engine, hand that over"*, because rows hold balances.
//!   Without it, a grant and a tick that overtake each other are refused. The engine then takes its
//!   accounts from the projected books.
//! - *A price is a sum* and has its own type: `Credits` are cut to 10^9 when they are read.
//! - *A forgotten nonce leaves a floor.* For each user, a signature that expires at the floor or
//!   earlier is a replay, whatever the clock says later.
//! - *A take-over raises the epoch.* A commit under an older epoch is `Fenced`, whatever the former
//!   holder believes. With PostgreSQL the transaction locks the row `head`; a holder that sleeps in
//!   the middle of one loses its session after 5 s. An epoch newer than the store's means that an
//!   old copy was restored.
//! - *A take-over needs a fencing token that grows with each activation*, so that a stuck call of a
//!   former holder fences no other. The current holder may take over again. The writer makes the
//!   token from the clock. If the clock is behind the books' token, the writer waits 30 s and then
//!   takes the next token (`Options::fenced_retry`). During the wait, a ResourceManager that is no
//!   longer active learns so and ends its writer.
//! - *The writer never blocks a caller.* While the store is out of reach, intervals queue in order.
//!   Beyond the bounds (`Options::items_max`, `Options::rows_max`), neighbours merge into one
//!   interval that charges the same; only the detail is lost. A sent interval is never merged,
//!   because it may have arrived. Queued batches are written together, with one sync. Batches are
//!   refused at half the bounds, before intervals lose detail to them. Changes inside intervals
//!   count like rows. At four times the bounds, with nothing left to merge, intervals are refused
//!   as well. A batch that was not sent can be withdrawn while no later one follows from it.
//! - *New files and folders belong to their owner only* (0600, 0700), whatever the umask; SQLite
//!   gives `-wal` and `-shm` the mode of the database. Existing ones keep their mode, also when
//!   they are rewritten and renamed. At each take-over the log names files that others can read or
//!   write.
//! - *Silence is an outage.* After 10 s without an answer, a call shows the store as out of reach.
//!   A PostgreSQL session has its own thread. It is abandoned after 10 s of connecting or 70 s of a
//!   statement; at most four are abandoned at a time. The status counts the losses when a writer is
//!   fenced, stopped or closed.
//! - *A crash loses* the interval in progress and, with the store out of reach, the queued ones:
//!   they were free, not charged twice.
//!
//! # Known gaps
//!
//! - No TLS to PostgreSQL (loopback or a tunnel); no network file systems; no defence against an
//!   `fsync` that lies. The ledger is never pruned. A query of the `file` store reads its log from
//!   the beginning, so it suits small clusters only.
//! - The writer plans rows of thousands of queues on the caller's thread. This takes milliseconds
//!   per interval. A merge or a withdrawal takes as long as the whole queue.
//! - A hanging file system (`file`, `sqlite`) is shown, but the call cannot be abandoned: the
//!   thread waits with it.
//! - A migration that fails on the way (a full disk) leaves the target empty and the source whole.
//!   The source stays fenced until a ResourceManager becomes active again.

mod book;
mod error;
mod extract;
mod file;
mod import;
mod mark;
mod migrate;
mod private;
mod purse;
mod sql;
mod writer;

pub use book::{Book, LEARNT_MAX, Learnt, NONCES_MAX};
pub use error::{Refusal, StoreError};
pub use extract::extract;
pub use import::{Fault, Import, import};
pub use migrate::{Migrated, migrate};
pub use purse::{Balance, Draw, Purse, SubCluster, Wish};
pub use writer::{Lost, NotAccepted, Options, Receipt, State, Status, Writer};

use crate::record::{
    Batch, Epoch, GrantRecord, Interval, IntervalHead, LedgerQuery, LedgerRow, Page,
};
use std::ops::RangeInclusive;
use std::path::Path;

/// Returns the store at `place`: `file:FOLDER`, `sqlite:FILE`, or a URL
/// `postgres://USER@HOST:PORT/NAME`. The `password` is separate, for servers that ask for one. The
/// first use connects, not this call; an error here is about the text of `place`.
///
/// The connection to PostgreSQL is not encrypted. The server must be on the loopback address,
/// behind a tunnel, or on a trusted network.
pub fn open(place: &str, password: Option<&str>) -> Result<Box<dyn Store>, String> {
    at(place, password, true)
}

/// Works like [`open`], for a store that must exist: creates nothing, and the first use fails if
/// there is no store.
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
        // The message omits `place`, which may hold a password.
        _ => Err("expected file:FOLDER, sqlite:FILE or postgres://USER@HOST:PORT/NAME".to_string()),
    }
}

/// The outcome of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Written now; survives a crash.
    Applied,
    /// Written before: nothing was charged again.
    AlreadyThere,
}

/// A place for the books. Every commit is one transaction: after a crash at any instruction it is
/// there as a whole or not at all. Only the holder of the newest epoch can commit. One thread at a
/// time may use a store. After an error it may be used again, and reconnects or reopens its file
/// itself.
pub trait Store: Send {
    /// Names the store in messages: kind and path or address, never a password.
    fn describe(&self) -> String;

    /// Makes the caller the only one that may commit, and refuses every earlier epoch from now on.
    /// `owner` is the caller's name in messages.
    ///
    /// The fencing `token`, at least 1, grows with each activation. It is the time at which the
    /// ResourceManager became active. Where clocks may differ by more than a failover takes, it is
    /// the larger of that and one more than the token in the books. A lower token than the highest
    /// so far, or the same under another name, is `Fenced`. Such a call was made before the last
    /// activation and got stuck. The same owner may take over again with the same token, for
    /// instance after a lost answer.
    fn take_over(&mut self, owner: &str, token: u64) -> Result<Epoch, StoreError>;

    /// Reads the current books.
    fn load(&mut self) -> Result<Book, StoreError>;

    /// Writes an allocation interval: its changes, its ledger rows, the balances. A repeated
    /// interval changes nothing. An interval out of sequence is refused, and so is one whose
    /// balances do not follow from the books.
    fn commit_interval(&mut self, epoch: Epoch, interval: &Interval) -> Result<Commit, StoreError>;

    /// Writes a batch of changes between intervals, all or none. A repeated serial number changes
    /// nothing.
    fn commit_changes(&mut self, epoch: Epoch, batch: &Batch) -> Result<Commit, StoreError>;

    /// Reads the intervals after that tick that ended in that time, ordered by tick, at most
    /// `limit`.
    fn intervals_between(
        &mut self,
        after: u64,
        times_ms: RangeInclusive<i64>,
        limit: usize,
    ) -> Result<Vec<IntervalHead>, StoreError>;

    /// Reads the intervals after that tick, oldest first, at most `limit`: the price history.
    fn intervals(&mut self, after: u64, limit: usize) -> Result<Vec<IntervalHead>, StoreError> {
        self.intervals_between(after, i64::MIN..=i64::MAX, limit)
    }

    /// Reads ledger rows, ordered by tick and queue.
    fn ledger(&mut self, query: &LedgerQuery) -> Result<Vec<LedgerRow>, StoreError>;

    /// Reads the grants and forfeits after that number, oldest first, at most `limit`.
    fn grants(&mut self, after: u64, limit: usize) -> Result<Vec<GrantRecord>, StoreError>;

    /// Fills an empty store with another's books and every page that `pages` returns; all or
    /// nothing. Refuses a store that was ever written to.
    fn fill(
        &mut self,
        book: &Book,
        pages: &mut dyn FnMut() -> Result<Option<Page>, StoreError>,
    ) -> Result<(), StoreError>;
}
