//! The store on a database: every statement, once, for SQLite and PostgreSQL alike. The two know
//! whole numbers and texts and take `$1` for a parameter; what differs (connecting, locking,
//! errors) is behind [`Database`]. Sums that may exceed 64 bits are kept as decimal text.
//!
//! Everything is read into a [`Book`] once; a commit compares the counters in the table `head`,
//! under its lock, with those of the book, and reads anew if somebody else has written.
//!
//! Every row of the past has a checksum; an interval has the number and the sum of its rows', too,
//! and `head` one of all that is in the book. They are compared with what is read, so that a row
//! that was changed or is missing is an error and no wrong figure (`read`).

mod checksum;
pub(crate) mod postgres;
mod read;
mod seal;
pub(crate) mod sqlite;
mod write;

use crate::book::{Book, Writes};
use crate::error::{Refusal, StoreError};
use crate::record::{
    Batch, Epoch, GrantRecord, Head, Interval, IntervalHead, LedgerQuery, LedgerRow, Page,
};
use crate::{Commit, Store};
use read::{read_book, read_grants, read_head, read_intervals, read_ledger};
use seal::{is_sealed, seal, seal_intervals};
use std::ops::RangeInclusive;
use write::{write_all, write_book, write_head, write_page};

/// Steps from one version of the tables to the next; only ever added to. INTEGER and TEXT stand
/// for whatever the database calls 64 bits and a text that sorts by its bytes.
const VERSIONS: &[&[&str]] = &[FIRST, TOKENS_AND_FLOORS, CHECKSUMS];

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

/// What is there already gets its checksums at the first use (`seal`).
const CHECKSUMS: &[&str] = &[
    "ALTER TABLE head ADD COLUMN checksum INTEGER NOT NULL DEFAULT -1",
    "ALTER TABLE intervals ADD COLUMN row_count INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE intervals ADD COLUMN row_sum INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE intervals ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE ledger ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE grants ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "DROP INDEX IF EXISTS ledger_by_queue",
];

/// What new tables get besides: the checksum of books with nothing in them.
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
    /// Counters start at 0 and go up by 1: they do not reach the end.
    fn from(value: u64) -> Cell {
        Cell::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Cell {
        Cell::Text(value.to_string())
    }
}

/// What differs between databases. After an error the transaction is over, and the next `begin`
/// makes a new connection if need be.
pub(crate) trait Database: Send {
    /// What is appended to the reading of the head to keep other writers out.
    const LOCK: &'static str;

    /// Kind and place.
    fn describe(&self) -> String;

    /// Begins a transaction, one that sees a single state if it only reads. The tables are there.
    fn begin(&mut self, writes: bool) -> Result<(), StoreError>;

    /// The transaction may pause for long between statements; nobody else waits for it.
    fn expect_pauses(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Notes how far the store was written, where a part of it may get lost unseen.
    fn set_mark(&self, _head: &Head) {}

    /// Whether all is there that was noted before the transaction began.
    fn check_mark(&self, _head: &Head) -> Result<(), StoreError> {
        Ok(())
    }

    /// Ends it; after an error it is unknown whether it was carried out.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Ends it without a trace.
    fn rollback(&mut self);

    /// Carries out a statement; gives the number of rows that it touched.
    fn execute(&mut self, sql: &str, parameters: &[Cell]) -> Result<u64, StoreError>;

    /// Carries out a query.
    fn query(&mut self, sql: &str, parameters: &[Cell]) -> Result<Vec<Vec<Cell>>, StoreError>;
}

/// A store on a database.
pub(crate) struct SqlStore<D> {
    database: D,
    /// As last read or written; of use while its counters are those in the table.
    book: Option<Book>,
    /// Whether what was written before there were checksums has got them.
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

    /// Does `work` in a transaction; what it did is undone unless it gives something.
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

    /// The counters in this transaction; with a `lock`, nobody else writes until it ends.
    fn head(&mut self, lock: &str) -> Result<Head, StoreError> {
        let head = read_head(&mut self.database, lock)?;
        self.database.check_mark(&head)?;
        Ok(head)
    }

    /// The books as they are in this transaction.
    fn current(&mut self, head: &Head) -> Result<&Book, StoreError> {
        if self.book.as_ref().is_none_or(|book| book.head != *head) {
            self.book = Some(read_book(&mut self.database, head.clone())?);
        }
        Ok(self.book.as_ref().expect("it was just read"))
    }

    /// Writes what `plan` finds is to be written, if the epoch is in force.
    fn commit(
        &mut self,
        epoch: Epoch,
        plan: impl FnOnce(&Book) -> Result<Option<Writes>, StoreError>,
    ) -> Result<Commit, StoreError> {
        let written = self.transaction(true, |store| {
            // Of another store that was put here, the counters say more than the mark.
            let head = read_head(&mut store.database, D::LOCK)?;
            check_epoch(&head, epoch, &store.database.describe())?;
            store.database.check_mark(&head)?;
            let Some(writes) = plan(store.current(&head)?)? else {
                return Ok(None);
            };
            // Back only when it is written.
            let mut book = store.book.take().expect("it was just read");
            book.apply(&writes);
            write_all(&mut store.database, &writes, &book)?;
            Ok(Some(book))
        })?;
        Ok(self.written(written))
    }

    /// Keeps books that were written.
    fn written(&mut self, book: Option<Book>) -> Commit {
        let Some(book) = book else {
            return Commit::AlreadyThere;
        };
        self.database.set_mark(&book.head);
        self.book = Some(book);
        Commit::Applied
    }
}

/// Whether `epoch` is the one in force. A store in which it was never given out is another one
/// than was taken over.
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
            "epoch {} is older than {}, which was given out: somebody put back an old copy",
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
            // Also what was changed by hand, without touching the counters, is to be seen.
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
