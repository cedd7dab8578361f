//! Writes to a store on a separate thread, so that the scheduling thread never waits for a disk or
//! a network. While the store is out of reach, pending items wait in bounded memory; afterwards
//! each interval is written once. Makes no scheduling decision and cannot stop scheduling: every
//! failure becomes a status.
//!
//! Each batch and interval is checked at once against the projected books, which include all
//! pending items. So the store does not refuse an accepted item for its content later.

mod past;
mod pending;
mod projected;
mod receipt;
mod worker;

use crate::record::{Change, Epoch, Interval, RecentLedger};
use crate::store::Store;
use crate::store::book::Book;
use crate::store::error::{Refusal, StoreError};
use parking_lot::{Condvar, Mutex};
use pending::Pending;
use projected::Projected;
pub use receipt::Receipt;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use worker::Worker;

/// Limits of a writer.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Limit of pending intervals and batches. Batches are refused at half of it; intervals are
    /// merged beyond it, and refused at four times it.
    pub items_max: usize,
    /// Limit of pending ledger rows and changes, with the same steps; a row takes about 200 bytes.
    pub rows_max: usize,
    /// After this time without an answer, the store is shown as out of reach.
    pub silence: Duration,
    /// The pause before the first retry; it doubles with each.
    pub retry: Duration,
    /// The longest pause between retries.
    pub retry_max: Duration,
    /// The pause after fencing by a higher token, before the writer takes the next token. It must
    /// be longer than ZooKeeper needs to tell a ResourceManager that it is no longer active.
    pub fenced_retry: Duration,
    /// Number of the last intervals to read when the store is reached; see [`Writer::past`].
    pub past_intervals: usize,
    /// Limit of ledger rows in those intervals: more queues mean fewer intervals.
    pub past_rows: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            items_max: 1024,
            rows_max: 200_000,
            silence: Duration::from_secs(10),
            retry: Duration::from_millis(100),
            retry_max: Duration::from_secs(5),
            fenced_retry: Duration::from_secs(30),
            past_intervals: 0,
            past_rows: 200_000,
        }
    }
}

/// State of a writer and its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The store was not reached yet.
    Opening,
    /// The last attempt to write succeeded.
    Connected,
    /// The last attempt failed and will be repeated, or had no answer for `silence`.
    Unreachable {
        /// The start of the outage, in milliseconds since 1970.
        since_ms: u64,
        /// The store's error.
        why: String,
    },
    /// Another ResourceManager has taken over: this writer writes nothing more.
    Fenced {
        /// The name of the new holder.
        owner: String,
    },
    /// An error that waiting does not cure: nothing more is written.
    Stopped {
        /// The error.
        why: String,
    },
    /// The host closed the writer.
    Closed,
}

/// Snapshot of a writer's state and counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The state of writer and store.
    pub state: State,
    /// The kind and place of the store.
    pub store: String,
    /// Pending allocation intervals.
    pub behind: u64,
    /// Pending batches.
    pub waiting: u64,
    /// The last committed interval.
    pub tick: u64,
    /// Number of merges of two intervals, made because the queue was at a limit.
    pub merged: u64,
    /// Accepted items that will never be written, because the writer was fenced, stopped or closed.
    pub lost: Lost,
}

/// Accepted items that were not written. Items in flight at the end count as lost, though they may
/// have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Allocation intervals that were never charged.
    pub ticks: u64,
    /// Batches; their callers were told.
    pub batches: u64,
}

/// The reason why a batch or an interval was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAccepted {
    /// The books were not read yet, or the writer has ended; see the status.
    NotOpen(State),
    /// An interval that does not follow the last one.
    NotNext {
        /// The expected first tick.
        expected: u64,
    },
    /// The queue is at its limit (`items_max`, `rows_max`); try again when the store is back.
    Full,
    /// It does not follow from the projected books.
    Refused(Refusal),
}

impl fmt::Display for NotAccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAccepted::NotOpen(state) => write!(f, "nothing can be written now: {state:?}"),
            NotAccepted::NotNext { expected } => write!(f, "expected tick {expected}"),
            NotAccepted::Full => {
                write!(f, "the store is out of reach, and too much waits for it")
            }
            NotAccepted::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for NotAccepted {}

struct Shared {
    pending: Pending,
    state: State,
    /// The epoch and books found at the opening, until the host takes them.
    opened: Option<(Epoch, Book)>,
    /// The last intervals before the opening, until the host takes them.
    past: Option<RecentLedger>,
    /// The books with all pending items applied; `None` before the books were read.
    projected: Option<Projected>,
    /// The start of the current call to the store, by both clocks.
    calling: Option<(Instant, u64)>,
    committed: u64,
    merged: u64,
    lost: Lost,
    ending: bool,
}

struct Desk {
    /// The stored books, as far as known. Locked before `shared`, and never by callers that hand
    /// over items.
    stored: Mutex<Projected>,
    shared: Mutex<Shared>,
    /// Signals a new item, or the end.
    called: Condvar,
    /// Signals progress: items written or withdrawn, or a change of state.
    done: Condvar,
    store: String,
    options: Options,
}

/// The handle to a store for a host that must not block.
///
/// Rows of an interval hold balances, so items must arrive in the order of the engine's changes. A
/// host holds one lock over "change the engine, and hand that over". Without it, a grant and a tick
/// may overtake each other. The writer then refuses one, and the engine's books differ from the
/// store's. Nothing stops; the books of `with_book` are the valid ones.
pub struct Writer {
    desk: Arc<Desk>,
}

impl Writer {
    /// Starts the thread, which takes over the store under the name `owner` with the fencing
    /// `token` of this activation (see `Store::take_over`).
    pub fn start(store: Box<dyn Store>, owner: &str, token: u64, options: Options) -> Writer {
        let desk = Arc::new(Desk {
            stored: Mutex::default(),
            shared: Mutex::new(Shared {
                pending: Pending::default(),
                state: State::Opening,
                opened: None,
                past: None,
                projected: None,
                calling: None,
                committed: 0,
                merged: 0,
                lost: Lost::default(),
                ending: false,
            }),
            called: Condvar::new(),
            done: Condvar::new(),
            store: store.describe(),
            options,
        });
        let theirs = Arc::clone(&desk);
        let owner = owner.to_string();
        let body = move || {
            let work = || Worker::new(store, &theirs).run(&owner, token);
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                theirs.stop("the thread that writes has failed; see the log");
            }
        };
        let name = "heddle-store".to_string();
        if let Err(error) = thread::Builder::new().name(name).spawn(body) {
            desk.stop(&format!("no thread to write with: {error}"));
        }
        Writer { desk }
    }

    /// Returns the epoch and the books found at the opening, once.
    pub fn opened(&self) -> Option<(Epoch, Book)> {
        self.desk.shared.lock().opened.take()
    }

    /// Returns the last intervals before the opening, once. The writer thread reads them after it
    /// opens the books and before its first write. Items handed over meanwhile wait as they do for
    /// a disk. Never returns any if they cannot be read, or if `past_intervals` is 0.
    pub fn past(&self) -> Option<RecentLedger> {
        self.desk.shared.lock().past.take()
    }

    /// Shows `read` the books with all pending items applied: accounts, closed ones, watermarks,
    /// nonces with their floors, and the head. `serial` and `lesson` of the head are those of the
    /// opening. Leaves out lessons. Returns `None` if the writer is not open. `read` must be short:
    /// callers that hand over items wait for it.
    pub fn with_book<T>(&self, read: impl FnOnce(&Book) -> T) -> Option<T> {
        let mut shared = self.desk.shared.lock();
        shared.open().ok().map(|projected| read(projected.book()))
    }

    /// Hands over an interval. Never waits for the store. Refuses intervals before the books are
    /// read, because their numbers are not known yet; these are not charged. After a refusal the
    /// same tick is expected again.
    pub fn interval(&self, interval: Interval) -> Result<(), NotAccepted> {
        let mut shared = self.desk.shared.lock();
        let expected = shared.open()?.book().head.tick + 1;
        if interval.first() != expected || interval.ticks == 0 {
            return Err(NotAccepted::NotNext { expected });
        }
        if shared.pending.is_overfull(&self.desk.options) {
            return Err(NotAccepted::Full);
        }
        shared.open()?.interval(&interval)?;
        shared.merged += shared.pending.interval(interval, &self.desk.options);
        self.desk.called.notify_one();
        Ok(())
    }

    /// Hands over a batch, to be written after all earlier items. Never waits.
    pub fn changes(&self, at_ms: i64, changes: Vec<Change>) -> Result<Receipt, NotAccepted> {
        let mut shared = self.desk.shared.lock();
        shared.open()?;
        if !shared.pending.has_room_for(&changes, &self.desk.options) {
            return Err(NotAccepted::Full);
        }
        shared.open()?.changes(at_ms, &changes)?;
        let (number, heard) = shared.pending.batch(at_ms, changes);
        self.desk.called.notify_one();
        Ok(Receipt::new(heard, &self.desk, number))
    }

    /// Returns the current status.
    pub fn status(&self) -> Status {
        let shared = self.desk.shared.lock();
        Status {
            state: shared.shown(self.desk.options.silence),
            store: self.desk.store.clone(),
            behind: shared.pending.ticks(),
            waiting: shared.pending.batches(),
            tick: shared.committed,
            merged: shared.merged,
            lost: shared.lost,
        }
    }

    /// Waits until everything is written, at most for `patience`, and ends the thread. Items that
    /// the status still counts as behind or waiting are lost, unless they were in flight and
    /// arrive.
    pub fn close(self, patience: Duration) -> Status {
        let until = Instant::now() + patience;
        let mut shared = self.desk.shared.lock();
        while shared.is_open() && !shared.pending.is_empty() {
            if self.desk.done.wait_until(&mut shared, until).timed_out() {
                break;
            }
        }
        drop(shared);
        self.status()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.desk.shared.lock().ending = true;
        self.desk.called.notify_one();
    }
}

impl Shared {
    fn is_open(&self) -> bool {
        let open = matches!(self.state, State::Connected | State::Unreachable { .. });
        open && self.projected.is_some()
    }

    /// Returns the projected books, or an error if the writer is not open.
    fn open(&mut self) -> Result<&mut Projected, NotAccepted> {
        let open = self.is_open();
        let projected = self.projected.as_mut().filter(|_| open);
        projected.ok_or_else(|| NotAccepted::NotOpen(self.state.clone()))
    }

    /// Returns the state; a call without an answer for `silence` counts as unreachable.
    fn shown(&self, silence: Duration) -> State {
        let silent = self.calling.filter(|(since, _)| since.elapsed() >= silence);
        match (&self.state, silent) {
            (State::Opening | State::Connected, Some((since, since_ms))) => {
                let why = format!("no answer for {} s", since.elapsed().as_secs());
                State::Unreachable { since_ms, why }
            }
            (state, _) => state.clone(),
        }
    }

    /// Counts all pending items as lost and tells their callers.
    fn give_up(&mut self, error: &StoreError) {
        self.lost.ticks += self.pending.ticks();
        self.lost.batches += self.pending.batches();
        self.pending.fail(error);
    }
}

impl Desk {
    fn stop(&self, why: &str) {
        let why = why.to_string();
        self.end(
            State::Stopped { why: why.clone() },
            &StoreError::Unavailable(why),
        );
    }

    /// Ends the writer and logs its losses.
    fn end(&self, state: State, error: &StoreError) {
        let mut shared = self.shared.lock();
        shared.state = state;
        shared.calling = None;
        shared.give_up(error);
        let Lost { ticks, batches } = shared.lost;
        log::error!(
            "{}: {error}; not written: {ticks} intervals, {batches} batches of changes",
            self.store
        );
        self.done.notify_all();
    }
}
