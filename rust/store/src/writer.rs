//! A thread of its own that writes, so that the scheduling thread never waits for a disk or a
//! network. While the store is out of reach what there is to write waits in bounded memory and is
//! made up, each interval once, when it is back. Decides nothing about scheduling, and cannot
//! stop it: whatever happens here is a status to be shown.
//!
//! What is handed over is checked at once against the books as they will be when everything that
//! waits is written, so what was accepted is not refused later for what is in it.

mod past;
mod pending;
mod projected;
mod receipt;
mod worker;

use crate::Store;
use crate::book::Book;
use crate::error::{Refusal, StoreError};
use crate::record::{Change, Epoch, Interval};
use parking_lot::{Condvar, Mutex};
pub use past::Past;
use pending::Pending;
use projected::Projected;
pub use receipt::Receipt;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use worker::Worker;

/// Bounds of a writer.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Intervals and batches of changes that may wait. Batches are turned away at a half of it,
    /// intervals are merged beyond it, and turned away at four times of it.
    pub items_max: usize,
    /// Rows of the ledger and changes that may wait, with the same steps; a row takes some 200
    /// bytes.
    pub rows_max: usize,
    /// A store that has not answered for so long is shown as out of reach.
    pub silence: Duration,
    /// The pause before the first new attempt; it doubles with each.
    pub retry: Duration,
    /// The longest pause.
    pub retry_max: Duration,
    /// How long one waits that was fenced off by a token above its own, before it takes the next:
    /// longer than it takes ZooKeeper to tell who is active no more.
    pub fenced_retry: Duration,
    /// How many of the last intervals are read when the store was reached; see [`Writer::past`].
    pub past_intervals: usize,
    /// How many rows of the ledger at the most, of those: with more queues, fewer intervals.
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

/// How a writer and its store get on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The store was not reached yet.
    Opening,
    /// The last attempt to write succeeded.
    Connected,
    /// The last attempt failed and will be made again, or has had no answer for long.
    Unreachable {
        /// Since when, in milliseconds since 1970.
        since_ms: u64,
        /// What the store said.
        why: String,
    },
    /// Another ResourceManager has taken over: this one writes no more, ever.
    Fenced {
        /// Who.
        owner: String,
    },
    /// Something is wrong that waiting does not mend: nothing more is written.
    Stopped {
        /// What.
        why: String,
    },
    /// It was told to end.
    Closed,
}

/// What there is to say about a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// How it gets on with the store.
    pub state: State,
    /// Where the store is.
    pub store: String,
    /// Allocation intervals that wait.
    pub behind: u64,
    /// Batches of changes that wait.
    pub waiting: u64,
    /// The last interval that was committed.
    pub tick: u64,
    /// How often two intervals became one because there was too much.
    pub merged: u64,
    /// What had been accepted and will not be written any more, since the writer was fenced,
    /// stopped or closed.
    pub lost: Lost,
}

/// What was accepted and is not written. What was on its way at the end is counted, though it may
/// have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Allocation intervals: nobody was charged for them.
    pub ticks: u64,
    /// Batches of changes; who handed them over was told.
    pub batches: u64,
}

/// Why something was not accepted for writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAccepted {
    /// The books were not read yet, or nothing will be written any more; see the status.
    NotOpen(State),
    /// An interval that does not follow the last one.
    NotNext {
        /// The first tick that would have been right.
        expected: u64,
    },
    /// Too much waits already; try again when the store is back.
    Full,
    /// It does not follow from the books with what waits to be written.
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
    /// What was found when the store was opened, until somebody takes it.
    opened: Option<(Epoch, Book)>,
    /// What went before, until somebody takes it.
    past: Option<Past>,
    /// The books with all that waits; none before they were read.
    projected: Option<Projected>,
    /// Since when the store is at something, by both clocks.
    calling: Option<(Instant, u64)>,
    committed: u64,
    merged: u64,
    lost: Lost,
    ending: bool,
}

struct Desk {
    /// The books as they are stored, as far as we were told. Locked before `shared`, and not by
    /// those who hand something over.
    stored: Mutex<Projected>,
    shared: Mutex<Shared>,
    /// Something was added, or it is to end.
    called: Condvar,
    /// Something was done.
    done: Condvar,
    store: String,
    options: Options,
}

/// The way to a store for a host that must not wait.
///
/// Rows of an interval say what is left, so what is handed over must come in the order in which
/// the engine did it. A host holds one lock over "change the engine, and hand that over": a grant
/// and a tick that overtake each other between the two lead to a refusal, and the engine then has
/// other books than the store. Nothing stops then; the books that count are `with_book`'s.
pub struct Writer {
    desk: Arc<Desk>,
}

impl Writer {
    /// Starts the thread, which takes the store over in the name of `owner`, with the `token` of
    /// this activation (see `Store::take_over`).
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

    /// The epoch and the books that were found, once, when the store was reached.
    pub fn opened(&self) -> Option<(Epoch, Book)> {
        self.desk.shared.lock().opened.take()
    }

    /// The last intervals that were there when the store was reached, once. It is read after the
    /// books are open and before the first is written, by the thread that writes: what is
    /// handed over meanwhile waits as it does for a disk. Never comes if it cannot be read, or if
    /// the options ask for nothing.
    pub fn past(&self) -> Option<Past> {
        self.desk.shared.lock().past.take()
    }

    /// Shows the books as they will be when all that waits is written: accounts, closed ones,
    /// watermarks, nonces with their floors, and the head (its `serial` and `lesson` are those of
    /// the opening). Not what was learnt. Nothing if nothing is written now. What is handed over
    /// meanwhile waits, so `read` is to be short.
    pub fn with_book<T>(&self, read: impl FnOnce(&Book) -> T) -> Option<T> {
        let mut shared = self.desk.shared.lock();
        shared.open().ok().map(|projected| read(projected.book()))
    }

    /// Hands over an interval. Never waits for the store. Before the books were read nobody knows
    /// the number of an interval: those are refused, and not charged. After a refusal the same
    /// tick is expected again.
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

    /// Hands over changes; they are written after what was handed over before. Never waits.
    pub fn changes(&self, at_ms: i64, changes: Vec<Change>) -> Result<Receipt, NotAccepted> {
        let mut shared = self.desk.shared.lock();
        shared.open()?;
        if !shared.pending.has_room_for(&changes, &self.desk.options) {
            return Err(NotAccepted::Full);
        }
        shared.open()?.changes(at_ms, &changes)?;
        let (number, heard) = shared.pending.wish(at_ms, changes);
        self.desk.called.notify_one();
        Ok(Receipt::new(heard, &self.desk, number))
    }

    /// How things are.
    pub fn status(&self) -> Status {
        let shared = self.desk.shared.lock();
        Status {
            state: shared.shown(self.desk.options.silence),
            store: self.desk.store.clone(),
            behind: shared.pending.ticks(),
            waiting: shared.pending.wishes(),
            tick: shared.committed,
            merged: shared.merged,
            lost: shared.lost,
        }
    }

    /// Waits until everything is written, at most for `patience`, and ends the thread. What the
    /// status still shows as behind or waiting is lost, unless it was on its way and arrives.
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

    /// The books that what is handed over has to follow from, if anything is written at all.
    fn open(&mut self) -> Result<&mut Projected, NotAccepted> {
        let open = self.is_open();
        let projected = self.projected.as_mut().filter(|_| open);
        projected.ok_or_else(|| NotAccepted::NotOpen(self.state.clone()))
    }

    /// The state, but for a store that takes a call and does not come back.
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

    /// Nothing is written any more: who waits is told, and it is counted.
    fn give_up(&mut self, error: &StoreError) {
        self.lost.ticks += self.pending.ticks();
        self.lost.batches += self.pending.wishes();
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

    /// Nothing is written any more.
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
