//! The books of one ResourceManager. They hand what happens to the engine's accounts to the store's
//! writer, in order, and give each new engine what was stored. The store may be slow, out of reach
//! or taken over by another ResourceManager. The engine then goes on, the missing entries are
//! written once the store is back, and the state says so.
//!
//! Lock order: drawer, books, engine, outbox. A change holds the books' lock over the engine and
//! the writer, so that both see one order. It waits for the disk without that lock. The list
//! `later` has a lock of its own, because the scheduling thread takes it; no other lock is taken
//! under it.

mod drawer;
mod engine;
mod lessons;
pub(crate) mod marks;
mod outbox;
mod reader;
mod status;

pub(crate) use drawer::Drawer;
use drawer::DrawnGrant;
pub use engine::{Engine, SavedState};
use outbox::StoreStep;
pub use outbox::{EntryBatch, Outbox, PostedEntry};
pub(crate) use reader::Reader;

use crate::auth::replay::Watermarks;
use crate::record::{BooksState, BooksStatus, Change, Interval, NotChanged, RecentLedger};
use crate::store::{Book, NotAccepted, Options, Receipt, State, Store, StoreError, Writer};
use heddle_core::words::ledger::Entry;
use lessons::Lessons;
use parking_lot::Mutex;
use serde_json::Value;
use status::{described, worded};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Most marks kept of requests that changed nothing; the oldest are dropped. A request replayed
/// after a failover for that reason repeats a read, which its sender was allowed.
const LATER_MAX: usize = 4096;
/// Most intervals kept for `pump`, if the host stops calling it.
const INTERVALS_MAX: usize = 1024;

/// What happens to changes while the store is out of reach: `store.while_down`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhileDown {
    /// Refuses all changes.
    Refuse,
    /// Refuses changes of budgets: a kill of this process would lose credits.
    #[default]
    RefuseBudgets,
    /// Accepts all changes at once, and writes them when the store is back.
    Accept,
}

impl WhileDown {
    fn refuses(self, request: &Value) -> bool {
        match self {
            WhileDown::Refuse => true,
            WhileDown::RefuseBudgets => request["op"] != "setSpending",
            WhileDown::Accept => false,
        }
    }
}

/// How long a request waits until its change is on disk.
const PATIENCE: Duration = Duration::from_secs(2);

/// A change that the engine made.
#[derive(Debug)]
pub struct ChangeOutcome {
    /// The engine's answer.
    pub answer: Value,
    /// Whether it is on disk. If not, it is in force, and is written as soon as possible.
    pub stored: bool,
}

/// What a store kept for the interface over HTTP.
#[derive(Debug)]
pub struct RestoredMarks {
    /// Watermarks of accepted requests.
    pub watermarks: Watermarks,
    /// Whether intervals ended before this start.
    pub has_intervals: bool,
}

/// Joins the engine's accounts and the store.
pub struct Books {
    inner: Mutex<Inner>,
    outbox: Arc<Outbox>,
    /// Marks of requests that changed nothing.
    later: Mutex<Vec<Change>>,
}

struct Inner {
    store: StoreState,
    /// The engine that follows these books.
    attached: Option<u64>,
    next_tick: u64,
    /// Intervals that could not be handed over; they were free.
    lost_intervals: u64,
    /// Marks of accepted requests that the store had, until they are taken.
    marks: Option<Watermarks>,
    /// Lessons about jobs, including those not written yet.
    lessons: Lessons,
    /// Intervals since the last `pump`; their ticks are 0 if there is no store.
    intervals: Vec<Interval>,
    /// How many stored intervals the interface wants of the past.
    past_intervals: usize,
    while_down: WhileDown,
    /// The store's trouble that was logged last.
    told: Option<BooksState>,
}

enum StoreState {
    /// No store is configured: budgets last as long as the engine.
    InMemory,
    /// This ResourceManager is not the active one yet.
    Ready(Box<dyn Store>),
    /// The writer runs; the flag says whether the books were read.
    Writing(Writer, bool),
    /// Ended, with the last status.
    Closed(BooksStatus),
}

impl Books {
    /// Takes a store, which is not touched before `activate`, or none: budgets are then kept in
    /// memory. `past` returns the last `past_intervals` of the store.
    pub fn new(
        store: Option<Box<dyn Store>>,
        past_intervals: usize,
        while_down: WhileDown,
    ) -> Books {
        let store = match store {
            Some(store) => StoreState::Ready(store),
            None => StoreState::InMemory,
        };
        Books {
            inner: Mutex::new(Inner {
                store,
                attached: None,
                next_tick: 0,
                lost_intervals: 0,
                marks: None,
                lessons: Lessons::default(),
                intervals: Vec::new(),
                past_intervals,
                while_down,
                told: None,
            }),
            outbox: Arc::default(),
            later: Mutex::default(),
        }
    }

    /// Makes this ResourceManager the active one: takes the store over in the name of `owner`. Does
    /// not wait for the store.
    pub fn activate(&self, owner: &str, now_ms: i64) {
        let mut inner = self.inner.lock();
        inner.store = match std::mem::replace(&mut inner.store, StoreState::InMemory) {
            StoreState::Ready(store) => {
                // The later activation of a pair needs the larger fencing token. It has if their
                // clocks differ by less than a failover takes; the operator has to keep them in
                // step.
                let token = u64::try_from(now_ms).unwrap_or(0).max(1);
                let options = Options {
                    past_intervals: inner.past_intervals,
                    ..Options::default()
                };
                let writer = Writer::start(store, owner, token, options);
                StoreState::Writing(writer, false)
            }
            other => other,
        };
    }

    /// Gives a new engine its accounts, and hands over what was posted. The host calls this about
    /// once a second, and as soon as there is a new engine. Returns the intervals that were handed
    /// over; their ticks are 0 if there is no store.
    pub fn pump(&self, engine: &dyn Engine, now_ms: i64) -> Vec<Interval> {
        let mut inner = self.inner.lock();
        inner.open();
        inner.tell_of_trouble();
        let _ = inner.hand_over(&self.outbox, Vec::new(), now_ms);
        if self.attach(&mut inner, engine) {
            // The engine posted accounts that the books did not have.
            let _ = inner.hand_over(&self.outbox, Vec::new(), now_ms);
        }
        inner.hand_over_later(&self.later, now_ms);
        std::mem::take(&mut inner.intervals)
    }

    /// Gives a new engine what the books say. Returns whether it did.
    fn attach(&self, inner: &mut Inner, engine: &dyn Engine) -> bool {
        if inner.attached == Some(engine.id()) {
            return false;
        }
        let saved = match &inner.store {
            StoreState::InMemory => None,
            StoreState::Writing(writer, true) => match writer.with_book(Book::for_engine) {
                Some(accounts) => Some(SavedState {
                    accounts,
                    lessons: inner.lessons.for_engine(),
                }),
                None => return false,
            },
            _ => return false,
        };
        let done = engine.attach(saved.as_ref(), &self.outbox);
        let attached = done.unwrap_or_else(|why| {
            log::warn!("the engine does not take its accounts yet: {why}");
            false
        });
        if attached {
            inner.attached = Some(engine.id());
        }
        attached
    }

    /// Returns the marks of accepted requests that the store had, and whether it had intervals.
    /// Returns them once, after the store was read.
    pub fn restored(&self) -> Option<RestoredMarks> {
        let mut inner = self.inner.lock();
        inner.open();
        let has_intervals = inner.next_tick > 1;
        inner.marks.take().map(|watermarks| RestoredMarks {
            watermarks,
            has_intervals,
        })
    }

    /// Returns the last intervals that the store had; once, a moment after the store was read.
    pub fn past(&self) -> Option<RecentLedger> {
        match &self.inner.lock().store {
            StoreState::Writing(writer, true) => writer.past(),
            _ => None,
        }
    }

    /// Checks that the store may be read: this ResourceManager holds it, or held it.
    ///
    /// # Errors
    /// Why it may not.
    pub fn readable(&self) -> Result<(), String> {
        match &self.inner.lock().store {
            StoreState::Writing(_, true) => Ok(()),
            StoreState::Writing(writer, false) => {
                let (state, detail) = worded(&writer.status().state);
                let detail = detail.map_or(String::new(), |detail| format!(", {detail}"));
                Err(format!("the books are not open yet ({state}{detail})"))
            }
            StoreState::Ready(_) => Err("this ResourceManager is not the active one".to_string()),
            StoreState::Closed(_) => Err("this ResourceManager is stopping".to_string()),
            StoreState::InMemory => Err("there is no store".to_string()),
        }
    }

    /// Keeps `marks` of a request that changed nothing for the next `pump`: polling pages must not
    /// cause a disk write with each request.
    pub fn note(&self, marks: Vec<Change>) {
        let mut later = self.later.lock();
        later.extend(marks);
        let excess = later.len().saturating_sub(LATER_MAX);
        later.drain(..excess);
    }

    /// Makes the engine carry out a request that changes accounts. Stores it together with `marks`,
    /// which keep the request from being replayed. Waits up to `PATIENCE` for the disk.
    ///
    /// # Errors
    /// The engine's own sentence, or why the change could not be stored. Either nothing has
    /// changed, or the engine is reset to the books within a second. `InDoubt` if the writer has
    /// ended: the change may have been written.
    pub fn change(
        &self,
        engine: &dyn Engine,
        request: &Value,
        marks: Vec<Change>,
        now_ms: i64,
    ) -> Result<ChangeOutcome, NotChanged> {
        let (answer, receipt, must_be_stored) = {
            let mut inner = self.inner.lock();
            // Earlier entries are not part of this request.
            let _ = inner.hand_over(&self.outbox, Vec::new(), now_ms);
            let must_be_stored = inner.while_down.refuses(request);
            inner.check(engine, must_be_stored).map_err(not_stored)?;
            let marks = inner.wanting(marks).map_err(not_stored)?;
            let answer = engine.request(request).map_err(NotChanged::Refused)?;
            let handed = inner.hand_over(&self.outbox, marks, now_ms);
            let handed = handed.map_err(not_stored)?;
            (answer, handed, must_be_stored)
        };
        let Some(receipt) = receipt else {
            return Ok(ChangeOutcome {
                answer,
                stored: true,
            });
        };
        match receipt.wait(PATIENCE) {
            Some(Ok(())) => Ok(ChangeOutcome {
                answer,
                stored: true,
            }),
            Some(Err(why @ StoreError::InDoubt)) => Err(NotChanged::InDoubt(why.to_string())),
            Some(Err(why)) => Err(not_stored(why)),
            None if must_be_stored && self.take_back(&receipt) => {
                let why = "the store has not answered, and the change was withdrawn";
                Err(not_stored(why))
            }
            // Refusing it would be wrong now: it may have been written.
            None => Ok(ChangeOutcome {
                answer,
                stored: false,
            }),
        }
    }

    /// Withdraws changes, unless they may be written by now. Returns whether it did; the engine is
    /// then reset to the books.
    fn take_back(&self, receipt: &Receipt) -> bool {
        let mut inner = self.inner.lock();
        let withdrawn = receipt.withdraw();
        if withdrawn {
            inner.attached = None;
        }
        withdrawn
    }

    /// Reports the state of the books and their store, for this engine.
    pub fn status(&self, engine: &dyn Engine) -> BooksStatus {
        let inner = self.inner.lock();
        let mut status = match &inner.store {
            StoreState::InMemory => BooksStatus::of(BooksState::InMemory),
            StoreState::Ready(store) => BooksStatus {
                store: Some(store.describe()),
                ..BooksStatus::of(BooksState::Standby)
            },
            StoreState::Writing(writer, read) => BooksStatus {
                read: *read,
                ..described(writer.status())
            },
            StoreState::Closed(status) => status.clone(),
        };
        // The store is reached, but the engine lacks its accounts: changes are still refused.
        if inner.attached != Some(engine.id()) && status.state == BooksState::Connected {
            status.state = BooksState::Opening;
        }
        status.lost_intervals = inner.lost_intervals;
        status
    }

    /// Closes the writer. Waits up to `patience` for pending writes.
    pub fn close(&self, patience: Duration, now_ms: i64) -> BooksStatus {
        let mut inner = self.inner.lock();
        let _ = inner.hand_over(&self.outbox, Vec::new(), now_ms);
        inner.hand_over_later(&self.later, now_ms);
        let status = match std::mem::replace(&mut inner.store, StoreState::InMemory) {
            StoreState::Writing(writer, _) => described(writer.close(patience)),
            _ => BooksStatus::of(BooksState::Closed),
        };
        inner.store = StoreState::Closed(status.clone());
        status
    }
}

impl Inner {
    /// Reads the books once the store is reached.
    fn open(&mut self) {
        if let StoreState::Writing(writer, open @ false) = &mut self.store
            && let Some((epoch, book)) = writer.opened()
        {
            log::info!(
                "the books are open, as holder {}: {} accounts, {} intervals",
                epoch.0,
                book.accounts.len(),
                book.head.tick
            );
            *open = true;
            self.marks = Some(marks::of_book(&book));
            self.next_tick = book.head.tick + 1;
            self.lessons = Lessons::of_book(&book);
        }
    }

    /// Logs why the store cannot be used and what to do, once for each kind of trouble.
    fn tell_of_trouble(&mut self) {
        let StoreState::Writing(writer, read) = &self.store else {
            return;
        };
        let status = writer.status();
        let (state, detail) = worded(&status.state);
        let remedy = match &status.state {
            State::Unreachable { .. } if !read => {
                "accounts are neither shown nor changed until it can be read; reconnecting is \
                 automatic"
            }
            State::Unreachable { .. } => {
                "charges are written when it is back; reconnecting is automatic"
            }
            State::Fenced { .. } => {
                "only one ResourceManager may be active; this one writes nothing"
            }
            State::Stopped { .. } => {
                "put a copy of the store in its place, and restart the ResourceManager; nothing \
                 is written until then"
            }
            State::Opening | State::Connected | State::Closed => {
                self.told = None;
                return;
            }
        };
        if self.told.replace(state) != Some(state) {
            let detail = detail.unwrap_or_default();
            log::error!("store {}: {state}: {detail}; {remedy}", status.store);
        }
    }

    /// Refuses changes that could not be stored. While the store is out of reach, refuses only
    /// those that `must_be_stored`.
    fn check(&self, engine: &dyn Engine, must_be_stored: bool) -> Result<(), String> {
        let why = match &self.store {
            StoreState::Writing(writer, true) => match writer.status().state {
                State::Unreachable { why, .. } if must_be_stored => Some(format!(
                    "the store is out of reach ({why}), and `store.while_down` refuses such \
                     changes"
                )),
                State::Connected | State::Unreachable { .. } => None,
                state => {
                    let (state, detail) = worded(&state);
                    Some(format!("{state}: {}", detail.unwrap_or_default()))
                }
            },
            StoreState::InMemory => None,
            StoreState::Writing(..) => Some("the store was not read yet".to_string()),
            StoreState::Ready(_) => Some("this ResourceManager is not the active one".to_string()),
            StoreState::Closed(_) => Some("this ResourceManager is stopping".to_string()),
        };
        let attached = self.attached == Some(engine.id());
        let anew = || "the engine is being replaced".to_string();
        match why.or_else(|| (!attached).then(anew)) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Hands over what was posted, and `marks` with the first entry. Returns the receipt to wait
    /// for, or none if there was nothing to write.
    ///
    /// # Errors
    /// Why the last changes are not written.
    fn hand_over(
        &mut self,
        outbox: &Outbox,
        marks: Vec<Change>,
        now_ms: i64,
    ) -> Result<Option<Receipt>, NotAccepted> {
        self.hand_over_with(outbox, marks, None, now_ms)
    }

    /// Hands over as `hand_over` does, and the mark of `draw` with its grant: an interval may have
    /// ended before it, and a mark that is stored without its grant loses credits.
    fn hand_over_with(
        &mut self,
        outbox: &Outbox,
        marks: Vec<Change>,
        draw: Option<&DrawnGrant>,
        now_ms: i64,
    ) -> Result<Option<Receipt>, NotAccepted> {
        let collected = outbox.collect();
        if collected.dropped {
            log::error!("account entries were lost: the engine is reset to what was written");
            self.attached = None;
        }
        // Marks go first: they may be stored with an earlier interval than needed, never a later
        // one.
        let mut changes = marks;
        for posted in collected.posted {
            // This engine does not follow the books; it is about to be reset to them.
            if self.attached.is_none() {
                break;
            }
            if let Entry::Learnt { key, value } = &posted.entry {
                self.lessons.add(key, value);
            }
            changes.extend(draw.and_then(|draw| draw.mark_of(&posted.entry)));
            match posted.written() {
                StoreStep::Change(change) => changes.push(change),
                StoreStep::Interval(closed) => {
                    let changes = std::mem::take(&mut changes);
                    let closed = self.interval(closed, changes);
                    self.intervals.extend(closed);
                }
            }
        }
        let excess = self.intervals.len().saturating_sub(INTERVALS_MAX);
        self.intervals.drain(..excess);
        let handed = self.changes(now_ms, changes);
        if let Err(why) = &handed {
            self.cannot_follow(why);
        }
        handed
    }

    /// Hands over the marks of requests that changed nothing. They wait here while the store is out
    /// of reach: they must not take the room of payments.
    fn hand_over_later(&mut self, later: &Mutex<Vec<Change>>, now_ms: i64) {
        let StoreState::Writing(writer, true) = &self.store else {
            return;
        };
        if writer.status().state == State::Connected {
            let later = marks::merged(std::mem::take(&mut *later.lock()));
            // One at a time: a mark that cannot be kept must not block the others.
            let later = later
                .into_iter()
                .filter_map(|mark| self.wanting(vec![mark]).ok());
            let later = later.flatten().collect();
            if let Err(why) = self.changes(now_ms, later) {
                log::warn!("accepted requests are kept by this ResourceManager only: {why}");
            }
        }
    }

    fn changes(&self, at_ms: i64, changes: Vec<Change>) -> Result<Option<Receipt>, NotAccepted> {
        match &self.store {
            StoreState::Writing(writer, true) if !changes.is_empty() => {
                writer.changes(at_ms, changes).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Hands one interval over. Returns it, with its tick, if the writer took it; as it is if there
    /// is no store.
    fn interval(&mut self, closed: Interval, changes: Vec<Change>) -> Option<Interval> {
        let StoreState::Writing(writer, true) = &self.store else {
            return matches!(self.store, StoreState::InMemory).then_some(closed);
        };
        let tick = self.next_tick;
        let closed = Interval { tick, ..closed };
        let booked = Interval {
            changes,
            ..closed.clone()
        };
        match writer.interval(booked) {
            Ok(()) => {
                self.next_tick += 1;
                Some(closed)
            }
            Err(why) => {
                self.lost_intervals += 1;
                self.cannot_follow(&why);
                None
            }
        }
    }

    /// Returns those of `marks` that the books lack: a timestamp overtaken by a later one says
    /// nothing new. Fails if one cannot be kept, so that the request is refused.
    fn wanting(&self, marks: Vec<Change>) -> Result<Vec<Change>, &'static str> {
        let StoreState::Writing(writer, true) = &self.store else {
            return Ok(marks);
        };
        let wanting = |book: &Book| marks::wanting(book, marks);
        writer.with_book(wanting).unwrap_or(Ok(Vec::new()))
    }

    /// Resets the engine to the books, which lack its last changes. Leaves it alone if the writer
    /// is not open.
    fn cannot_follow(&mut self, why: &NotAccepted) {
        log::error!("changes of accounts are not written: {why}");
        if !matches!(why, NotAccepted::NotOpen(_)) {
            self.attached = None;
        }
    }
}

fn not_stored(why: impl fmt::Display) -> NotChanged {
    NotChanged::NotStored(why.to_string())
}
