//! The store on a database: every statement once, for SQLite and PostgreSQL alike. Both have
//! integers and texts, and take `$1` for a parameter. The differences (connecting, locking, errors)
//! are behind [`Database`]. Sums that may exceed 64 bits are stored as decimal text.
//!
//! Everything is read into a [`Book`] once. A commit compares the counters in the table `head`,
//! under its lock, with those of the book. If they differ, another process has written, and the
//! book is read again.
//!
//! Every row of the past has a checksum. An interval also has the number of its rows and the sum of
//! their checksums; `head` has a checksum of the whole book. Reading compares them (`read`). So a
//! changed or missing row is an error, never a wrong figure.

mod checksum;
pub(crate) mod postgres;
mod read;
mod seal;
pub(crate) mod sqlite;
mod write;

use crate::record::{
    Batch, Epoch, GrantRecord, Head, Interval, IntervalHead, LedgerQuery, LedgerRow, Page,
};
use crate::store::book::{Book, Writes};
use crate::store::error::{Refusal, StoreError};
use crate::store::{Commit, Store};
use read::{read_book, read_grants, read_head, read_intervals, read_ledger};
use seal::{is_sealed, seal, seal_intervals};
use std::ops::RangeInclusive;
use write::{write_all, write_book, write_head, write_page};

/// Migrations from one version of the tables to the next; entries are only ever appended. INTEGER
/// and TEXT stand for the database's 64-bit integers and for texts that sort by their bytes.
const VERSIONS: &[&[&str]] = &[FIRST, TOKENS_AND_FLOORS, CHECKSUMS, UNPAID];

const FIRST: &[&str] = &[
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, \
     owner TEXT NOT NULL, tick INTEGER NOT NULL, serial INTEGER NOT NULL, \
     grant_number INTEGER NOT NULL, lesson INTEGER NOT NULL, price INTEGER NOT NULL, \
     granted TEXT NOT NULL, debited TEXT NOT NULL, forfeited TEXT NOT NULL)",
    "INSERT INTO head VALUES (1, 0, '', 0, 0, 0, 0, 0, '0', '0', '0')",
    "CREATE TABLE queues (name TEXT NOT NULL PRIMARY KEY, budget INTEGER NOT NULL, \
     rate INTEGER NOT NULL, income INTEGER NOT NULL)",
    "CREATE TABLE closed_queues (name TEXT NOT NULL PRIMARY KEY)",
    "CREATE TABLE intervals (tick INTEGER NOT NULL PRIMARY KEY, ticks INTEGER NOT NULL, \
     at_ms INTEGER NOT NULL, price INTEGER NOT NULL, epoch INTEGER NOT NULL)",
    "CREATE TABLE ledger (tick INTEGER NOT NULL, queue TEXT NOT NULL, rate INTEGER NOT NULL, \
     map_quota INTEGER NOT NULL, reduce_quota INTEGER NOT NULL, \
     map_used_ms INTEGER NOT NULL, reduce_used_ms INTEGER NOT NULL, \
     income INTEGER NOT NULL, debit INTEGER NOT NULL, balance INTEGER NOT NULL, \
     PRIMARY KEY (tick, queue))",
    "CREATE INDEX ledger_by_queue ON ledger (queue, tick)",
    "CREATE TABLE grants (number INTEGER NOT NULL PRIMARY KEY, at_ms INTEGER NOT NULL, \
     kind TEXT NOT NULL, queue TEXT NOT NULL, amount INTEGER NOT NULL, \
     granted_by TEXT NOT NULL, why TEXT NOT NULL)",
    "CREATE TABLE watermarks (user_name TEXT NOT NULL PRIMARY KEY, accepted_ms INTEGER NOT NULL)",
    "CREATE TABLE nonces (user_name TEXT NOT NULL, nonce TEXT NOT NULL, \
     expires_ms INTEGER NOT NULL, PRIMARY KEY (user_name, nonce))",
    "CREATE TABLE learnt (key_text TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL, \
     lesson INTEGER NOT NULL)",
];

const TOKENS_AND_FLOORS: &[&str] = &[
    "ALTER TABLE head ADD COLUMN token INTEGER NOT NULL DEFAULT 0",
    "CREATE TABLE nonce_floors (user_name TEXT NOT NULL PRIMARY KEY, expires_ms INTEGER NOT NULL)",
];

/// Existing rows get their checksums at the first use (`seal`).
const CHECKSUMS: &[&str] = &[
    "ALTER TABLE head ADD COLUMN checksum INTEGER NOT NULL DEFAULT -1",
    "ALTER TABLE intervals ADD COLUMN row_count INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE intervals ADD COLUMN row_sum INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE intervals ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE ledger ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE grants ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "DROP INDEX IF EXISTS ledger_by_queue",
];

/// Rows from before have no record of this use, and keep their checksums (`checksum::of_row`).
const UNPAID: &[&str] = &[
    "ALTER TABLE ledger ADD COLUMN map_unpaid_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE ledger ADD COLUMN reduce_unpaid_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE ledger ADD COLUMN am_ms INTEGER NOT NULL DEFAULT 0",
];

/// Returns the statement that gives new tables the checksum of an empty book.
fn empty_is_sealed() -> String {
    let sum = checksum::of_book(&Book::default());
    format!("UPDATE head SET checksum = {sum}")
}

/// The newest version of the tables that this Heddle knows.
const VERSION: u32 = VERSIONS.len() as u32;

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// 64 bits.
    Integer(i64),
    /// UTF-8.
    Text(String),
}

impl From<i64> for Cell {
    fn from(value: i64) -> Cell {
        Cell::Integer(value)
    }
}

impl From<u64> for Cell {
    /// Numbers above 63 bits become the largest: limits of queries may be so high, counters never
    /// are.
    fn from(value: u64) -> Cell {
        Cell::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Cell {
        Cell::Text(value.to_string())
    }
}

/// The differences between databases. An error ends the transaction; the next `begin` connects
/// again if necessary.
pub(crate) trait Database: Send {
    /// Appended to the query of the head, to lock out other writers.
    const LOCK: &'static str;

    /// Returns kind and place.
    fn describe(&self) -> String;

    /// Begins a transaction; a read-only one sees a single snapshot. The tables exist afterwards.
    fn begin(&mut self, writes: bool) -> Result<(), StoreError>;

    /// Allows long pauses between the statements of this transaction; no other caller waits for it.
    fn expect_pauses(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Notes how far the store was written, where its end may get lost undetected.
    fn set_mark(&self, _head: &Head) {}

    /// Checks that everything noted before the transaction began is there.
    fn check_mark(&self, _head: &Head) -> Result<(), StoreError> {
        Ok(())
    }

    /// Commits; after an error the outcome is unknown.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Rolls back.
    fn rollback(&mut self);

    /// Executes a statement; returns the number of affected rows.
    fn execute(&mut self, sql: &str, parameters: &[Cell]) -> Result<u64, StoreError>;

    fn query(&mut self, sql: &str, parameters: &[Cell]) -> Result<Vec<Vec<Cell>>, StoreError>;
}

pub(crate) struct SqlStore<D> {
    database: D,
    /// The books as last read or written; valid while its counters equal those in the table.
    book: Option<Book>,
    /// Whether rows from before the introduction of checksums have got theirs.
    sealed: bool,
}

impl<D: Database> SqlStore<D> {
    pub(crate) fn new(database: D) -> SqlStore<D> {
        SqlStore {
            database,
            book: None,
            sealed: false,
        }
    }

    /// Runs `work` in a transaction; an error rolls it back.
    fn transaction<T>(
        &mut self,
        writes: bool,
        work: impl FnOnce(&mut SqlStore<D>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if !self.sealed {
            let sealed = self.transacted(false, |store| is_sealed(&mut store.database))?;
            if !sealed {
                self.transacted(true, |store| {
                    store.database.expect_pauses()?;
                    read_head(&mut store.database, D::LOCK)?;
                    seal(&mut store.database)
                })?;
            }
            self.sealed = true;
        }
        self.transacted(writes, work)
    }

    fn transacted<T>(
        &mut self,
        writes: bool,
        work: impl FnOnce(&mut SqlStore<D>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.database.begin(writes)?;
        let done = work(self);
        match done {
            Ok(value) => {
                self.database.commit()?;
                Ok(value)
            }
            Err(error) => {
                self.database.rollback();
                Err(error)
            }
        }
    }

    /// Reads the counters; with a `lock`, no other process writes until the transaction ends.
    fn head(&mut self, lock: &str) -> Result<Head, StoreError> {
        let head = read_head(&mut self.database, lock)?;
        self.database.check_mark(&head)?;
        Ok(head)
    }

    /// Returns the books as of this transaction.
    fn current(&mut self, head: &Head) -> Result<&Book, StoreError> {
        if self.book.as_ref().is_none_or(|book| book.head != *head) {
            self.book = Some(read_book(&mut self.database, head.clone())?);
        }
        Ok(self.book.as_ref().expect("it was just read"))
    }

    /// Writes the plan's result, if the epoch is in force.
    fn commit(
        &mut self,
        epoch: Epoch,
        plan: impl FnOnce(&Book) -> Result<Option<Writes>, StoreError>,
    ) -> Result<Commit, StoreError> {
        let written = self.transaction(true, |store| {
            // If another store was put here, its epoch gives a better error than the mark.
            let head = read_head(&mut store.database, D::LOCK)?;
            check_epoch(&head, epoch, &store.database.describe())?;
            store.database.check_mark(&head)?;
            let Some(writes) = plan(store.current(&head)?)? else {
                return Ok(None);
            };
            // Set again only after the commit.
            let mut book = store.book.take().expect("it was just read");
            book.apply(&writes);
            write_all(&mut store.database, &writes, &book)?;
            Ok(Some(book))
        })?;
        Ok(self.written(written))
    }

    /// Keeps the books after their commit.
    fn written(&mut self, book: Option<Book>) -> Commit {
        let Some(book) = book else {
            return Commit::AlreadyThere;
        };
        self.database.set_mark(&book.head);
        self.book = Some(book);
        Commit::Applied
    }
}

/// Checks that `epoch` is in force. A store whose epoch is lower is not the one that was taken
/// over.
pub(crate) fn check_epoch(head: &Head, epoch: Epoch, place: &str) -> Result<(), StoreError> {
    if head.epoch == epoch {
        return Ok(());
    }
    if head.epoch > epoch {
        return Err(StoreError::Fenced {
            ours: epoch,
            current: head.epoch,
            owner: head.owner.clone(),
        });
    }
    Err(StoreError::Corrupt {
        place: place.to_string(),
        reason: format!(
            "epoch {} is older than {}, which was given out: an old copy was put back",
            head.epoch.0, epoch.0
        ),
    })
}

impl<D: Database> Store for SqlStore<D> {
    fn describe(&self) -> String {
        self.database.describe()
    }

    fn take_over(&mut self, owner: &str, token: u64) -> Result<Epoch, StoreError> {
        let book = self.transaction(true, |store| {
            let head = store.head(D::LOCK)?;
            let taken = head.taken_over(owner, token)?;
            let mut book = store.current(&head)?.clone();
            book.head = taken;
            write_head(&mut store.database, &book)?;
            Ok(book)
        })?;
        let epoch = book.head.epoch;
        self.written(Some(book));
        Ok(epoch)
    }

    fn load(&mut self) -> Result<Book, StoreError> {
        self.transaction(false, |store| {
            let head = store.head("")?;
            // Forces a reading: changes by hand leave the counters alone, and must be found.
            store.book = None;
            store.current(&head).cloned()
        })
    }

    fn commit_interval(&mut self, epoch: Epoch, interval: &Interval) -> Result<Commit, StoreError> {
        self.commit(epoch, |book| book.plan_interval(interval))
    }

    fn commit_changes(&mut self, epoch: Epoch, batch: &Batch) -> Result<Commit, StoreError> {
        self.commit(epoch, |book| book.plan_changes(batch))
    }

    fn intervals_between(
        &mut self,
        after: u64,
        times_ms: RangeInclusive<i64>,
        limit: usize,
    ) -> Result<Vec<IntervalHead>, StoreError> {
        self.transaction(false, |store| {
            let last = store.head("")?.tick;
            read_intervals(&mut store.database, after, times_ms, limit, last)
        })
    }

    fn ledger(&mut self, query: &LedgerQuery) -> Result<Vec<LedgerRow>, StoreError> {
        self.transaction(false, |store| {
            let last = store.head("")?.tick;
            read_ledger(&mut store.database, query, last)
        })
    }

    fn grants(&mut self, after: u64, limit: usize) -> Result<Vec<GrantRecord>, StoreError> {
        self.transaction(false, |store| {
            let last = store.head("")?.grant;
            read_grants(&mut store.database, after, limit, last)
        })
    }

    fn fill(
        &mut self,
        book: &Book,
        pages: &mut dyn FnMut() -> Result<Option<Page>, StoreError>,
    ) -> Result<(), StoreError> {
        book.check()?;
        self.transaction(true, |store| {
            store.database.expect_pauses()?;
            if store.head(D::LOCK)? != Head::default() {
                return Err(StoreError::Refused(Refusal::NotEmpty));
            }
            while let Some(page) = pages()? {
                write_page(&mut store.database, &page)?;
            }
            seal_intervals(&mut store.database)?;
            write_book(&mut store.database, book)
        })?;
        self.database.set_mark(&book.head);
        Ok(())
    }
}
