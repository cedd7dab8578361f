//! The books of one ResourceManager: what happens to the engine's accounts, handed over to the
//! store's writer in the order in which it happened; and what was stored, given to each engine
//! that comes. The store may be slow, out of reach or another's by now: the engine goes on, what
//! is missing is made up once, and the state says so.
//!
//! Locks: the books', then the engine's, then the outbox's. A change holds the first over the
//! engine and the writer, so that both see one order; it waits for the disk without it. What is
//! to be noted `later` has a lock of its own, which is never held over anything else: the thread
//! that schedules takes it.

use crate::lessons::Lessons;
use crate::outbox::{Outbox, Posted};
use crate::{Engine, marks};
use heddle_auth::replay::Watermarks;
use heddle_core::words::ledger::Entry;
use heddle_store::{
    Book, Change, Interval, NotAccepted, Options, Past, Receipt, State, Status, Store, Writer,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Marks of requests that changed nothing: of more, the oldest are not kept. What is read once more
/// after a failover is read by whoever could read it before.
const LATER_MAX: usize = 4096;
/// Intervals that wait for `pump`, which somebody has stopped to call.
const INTERVALS_MAX: usize = 1024;

/// What becomes of changes while the store is out of reach: `store.while_down`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhileDown {
    /// All are refused.
    Refuse,
    /// Those of budgets are refused: a kill of this process would lose credits.
    #[default]
    RefuseBudgets,
    /// All are in force at once, and written when the store is back.
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

/// How long a sender waits for the word that a change is on disk.
const PATIENCE: Duration = Duration::from_secs(2);

/// A change that the engine made.
#[derive(Debug)]
pub struct Changed {
    /// The engine's answer.
    pub answer: Value,
    /// Whether it is on disk. If not it is in force, and is written as soon as that is possible.
    pub stored: bool,
}

/// See the file's description.
pub struct Books {
    inner: Mutex<Inner>,
    outbox: Arc<Outbox>,
    /// What is to be kept of requests that changed nothing.
    later: Mutex<Vec<Change>>,
}

struct Inner {
    /// None: budgets last as long as the engine.
    store: Keeping,
    /// The engine that has its accounts from here.
    attached: Option<u64>,
    /// The tick of the next interval.
    next_tick: u64,
    /// Intervals that could not be handed over: they were free.
    lost_intervals: u64,
    /// What the store kept of accepted requests, until somebody takes it.
    marks: Option<Watermarks>,
    /// What is known of jobs, as it will be when all is written.
    lessons: Lessons,
    /// Intervals that ended, with their ticks, if there is a store; until `pump` returns them.
    intervals: Vec<(Option<u64>, Posted)>,
    /// How many intervals of before are of use to somebody.
    past_intervals: usize,
    while_down: WhileDown,
    /// The trouble with the store that the log has been told of.
    told: Option<&'static str>,
}

enum Keeping {
    /// No store is configured: budgets last as long as the engine.
    Nowhere,
    /// Not active yet.
    Ready(Box<dyn Store>),
    /// The thread runs; the books were read, or not yet.
    Writing(Writer, bool),
    /// It has ended.
    Closed(Value),
}

impl Books {
    /// With a store that is not touched before `activate`; without one, budgets are kept in
    /// memory. Of the intervals that are in the store then, `past` gives the last
    /// `past_intervals`.
    pub fn new(
        store: Option<Box<dyn Store>>,
        past_intervals: usize,
        while_down: WhileDown,
    ) -> Books {
        let store = match store {
            Some(store) => Keeping::Ready(store),
            None => Keeping::Nowhere,
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

    /// This ResourceManager is the active one now: takes the store over in the name of `owner`.
    /// Does not wait for it.
    pub fn activate(&self, owner: &str, now_ms: i64) {
        let mut inner = self.inner.lock();
        inner.store = match std::mem::replace(&mut inner.store, Keeping::Nowhere) {
            Keeping::Ready(store) => {
                // A later activation has the larger number, whoever's it is; clocks of a pair that
                // differ by more than a failover takes are the operator's to mend.
                let token = u64::try_from(now_ms).unwrap_or(0).max(1);
                let options = Options {
                    past_intervals: inner.past_intervals,
                    ..Options::default()
                };
                let writer = Writer::start(store, owner, token, options);
                Keeping::Writing(writer, false)
            }
            other => other,
        };
    }

    /// To be called about once a second, and for a new engine as soon as it is there: gives it
    /// its accounts, and hands over what was posted. Returns the intervals among that, with their
    /// ticks if there is a store.
    pub fn pump(&self, engine: &dyn Engine, now_ms: i64) -> Vec<(Option<u64>, Posted)> {
        let mut inner = self.inner.lock();
        inner.open();
        inner.tell_of_trouble();
        let _ = inner.hand_over(&self.outbox, Vec::new(), now_ms);
        if self.attach(&mut inner, engine) {
            // Accounts that the books did not know of.
            let _ = inner.hand_over(&self.outbox, Vec::new(), now_ms);
        }
        inner.hand_over_later(&self.later, now_ms);
        std::mem::take(&mut inner.intervals)
    }

    /// Gives a new engine what the books say. Gives whether it did.
    fn attach(&self, inner: &mut Inner, engine: &dyn Engine) -> bool {
        if inner.attached == Some(engine.id()) {
            return false;
        }
        let saved = match &inner.store {
            Keeping::Nowhere => None,
            Keeping::Writing(writer, true) => match writer.with_book(Book::for_engine) {
                Some(accounts) => {
                    let lessons = inner.lessons.for_engine();
                    Some(json!({"accounts": accounts, "lessons": lessons}))
                }
                None => return false,
            },
            _ => return false,
        };
        let done = engine.attach(saved.as_ref(), &self.outbox);
        if let Err(why) = &done {
            log::warn!("the engine does not take its accounts yet: {why}");
        } else {
            inner.attached = Some(engine.id());
        }
        done.is_ok()
    }

    /// What the store kept of requests that were accepted, once, when it was read.
    /// With it comes whether there were intervals before.
    pub fn restored_marks(&self) -> Option<(Watermarks, bool)> {
        let mut inner = self.inner.lock();
        inner.open();
        let used = inner.next_tick > 1;
        inner.marks.take().map(|marks| (marks, used))
    }

    /// The last intervals that the store had, once, a moment after it was read.
    pub fn past(&self) -> Option<Past> {
        match &self.inner.lock().store {
            Keeping::Writing(writer, true) => writer.past(),
            _ => None,
        }
    }

    /// Whether the store may be read: it is ours, or was.
    ///
    /// # Errors
    /// Why not.
    pub fn readable(&self) -> Result<(), String> {
        match &self.inner.lock().store {
            Keeping::Writing(_, true) => Ok(()),
            Keeping::Writing(writer, false) => {
                let (state, detail) = worded(&writer.status().state);
                let detail = detail.map_or(String::new(), |detail| format!(", {detail}"));
                Err(format!("the books are not open yet ({state}{detail})"))
            }
            Keeping::Ready(_) => Err("this ResourceManager is not the active one".to_string()),
            Keeping::Closed(_) => Err("this ResourceManager ends".to_string()),
            Keeping::Nowhere => Err("there is no store".to_string()),
        }
    }

    /// Keeps `marks` of a request that changed nothing, with the next `pump`: pages that poll must
    /// not have the disk written to for each of their questions.
    pub fn note(&self, marks: Vec<Change>) {
        let mut later = self.later.lock();
        later.extend(marks);
        let excess = later.len().saturating_sub(LATER_MAX);
        later.drain(..excess);
    }

    /// Makes the engine carry out a request that changes accounts, together with `marks`: what
    /// must be kept of the request itself. Waits for the disk for a moment.
    ///
    /// # Errors
    /// The engine's own sentence, or why the change could not be kept. Nothing has changed then,
    /// or the engine goes back to what it was within a second.
    pub fn change(
        &self,
        engine: &dyn Engine,
        request: &Value,
        marks: Vec<Change>,
        now_ms: i64,
    ) -> Result<Changed, String> {
        let (answer, receipt, must_be_stored) = {
            let mut inner = self.inner.lock();
            // What came before is not this sender's.
            let _ = inner.hand_over(&self.outbox, Vec::new(), now_ms);
            let must_be_stored = inner.while_down.refuses(request);
            inner
                .check(engine, must_be_stored)
                .map_err(|why| not_kept(&why))?;
            let marks = inner.wanting(marks).map_err(|why| not_kept(&why))?;
            let answer = engine.request(request)?;
            let handed = inner.hand_over(&self.outbox, marks, now_ms);
            let handed = handed.map_err(|why| not_kept(&why))?;
            (answer, handed, must_be_stored)
        };
        let Some(receipt) = receipt else {
            return Ok(Changed {
                answer,
                stored: true,
            });
        };
        match receipt.wait(PATIENCE) {
            Some(Ok(())) => Ok(Changed {
                answer,
                stored: true,
            }),
            Some(Err(why)) => Err(not_kept(&why)),
            None if must_be_stored && self.take_back(&receipt) => {
                let why = "the store has not answered, and the change was taken back";
                Err(not_kept(&why))
            }
            // Not to be refused any more either: it may have been written.
            None => Ok(Changed {
                answer,
                stored: false,
            }),
        }
    }

    /// Withdraws changes that are not written, unless they may be by now. Gives whether it did;
    /// the engine then goes back to the books.
    fn take_back(&self, receipt: &Receipt) -> bool {
        let mut inner = self.inner.lock();
        let withdrawn = receipt.withdraw();
        if withdrawn {
            inner.attached = None;
        }
        withdrawn
    }

    /// How the books and their store get on, for whoever uses this engine.
    pub fn status(&self, engine: &dyn Engine) -> Value {
        let inner = self.inner.lock();
        let mut status = match &inner.store {
            Keeping::Nowhere => json!({"state": "in memory only"}),
            Keeping::Ready(store) => json!({"state": "standby", "store": store.describe()}),
            Keeping::Writing(writer, _) => described(&writer.status()),
            Keeping::Closed(status) => status.clone(),
        };
        // Reached, but the engine has not got its accounts yet: changes are refused still.
        if inner.attached != Some(engine.id()) && status["state"] == "connected" {
            status["state"] = json!("opening");
        }
        status["lost_intervals"] = json!(inner.lost_intervals);
        status["read"] = json!(matches!(inner.store, Keeping::Writing(_, true)));
        status
    }

    /// Waits for what is still to be written, at most for `patience`, and ends.
    pub fn close(&self, patience: Duration, now_ms: i64) -> Value {
        let mut inner = self.inner.lock();
        let _ = inner.hand_over(&self.outbox, Vec::new(), now_ms);
        inner.hand_over_later(&self.later, now_ms);
        let store = std::mem::replace(&mut inner.store, Keeping::Closed(Value::Null));
        let status = match store {
            Keeping::Writing(writer, _) => described(&writer.close(patience)),
            _ => json!({"state": "closed"}),
        };
        inner.store = Keeping::Closed(status.clone());
        status
    }
}

impl Inner {
    /// Notices that the store was reached.
    fn open(&mut self) {
        if let Keeping::Writing(writer, open @ false) = &mut self.store
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

    /// Tells the log of a store that cannot be used, once each time, and what to do.
    fn tell_of_trouble(&mut self) {
        let Keeping::Writing(writer, read) = &self.store else {
            return;
        };
        let status = writer.status();
        let (state, detail) = worded(&status.state);
        let remedy = match &status.state {
            State::Unreachable { .. } if !read => {
                "accounts are neither shown nor changed until it can be read; it is tried again \
                 by itself"
            }
            State::Unreachable { .. } => {
                "what is charged is written when it is back; it is tried again by itself"
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

    /// Refuses changes that could not be kept; those that `must_be_stored`, also while the store
    /// is out of reach.
    fn check(&self, engine: &dyn Engine, must_be_stored: bool) -> Result<(), String> {
        let why = match &self.store {
            Keeping::Writing(writer, true) => match writer.status().state {
                State::Unreachable { why, .. } if must_be_stored => Some(format!(
                    "the store is out of reach ({why}), and `store.while_down` has such changes \
                     refused"
                )),
                State::Connected | State::Unreachable { .. } => None,
                state => {
                    let (state, detail) = worded(&state);
                    Some(format!("{state}: {}", detail.unwrap_or_default()))
                }
            },
            Keeping::Nowhere => None,
            Keeping::Writing(..) => Some("the store was not read yet".to_string()),
            Keeping::Ready(_) => Some("this ResourceManager is not the active one".to_string()),
            Keeping::Closed(_) => Some("this ResourceManager ends".to_string()),
        };
        let attached = self.attached == Some(engine.id());
        let anew = || "the engine is being made anew".to_string();
        match why.or_else(|| (!attached).then(anew)) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Hands over what was posted, and `marks` with the first of it. Returns the word to
    /// wait for, if there was anything to write; or why the last changes are not written.
    fn hand_over(
        &mut self,
        outbox: &Outbox,
        marks: Vec<Change>,
        now_ms: i64,
    ) -> Result<Option<Receipt>, NotAccepted> {
        let collected = outbox.collect();
        if collected.dropped {
            log::error!("entries of accounts were lost: accounts go back to what was written");
            self.attached = None;
        }
        // First: with an interval that came between they are kept too early, never too late.
        let mut changes = marks;
        for posted in collected.posted {
            // Of an engine that does not follow the books: it will be given them anew.
            if self.attached.is_none() {
                break;
            }
            if let Entry::Learnt { key, value } = &posted.entry {
                self.lessons.add(key, value);
            }
            match change_of(&posted.entry) {
                Some(change) => changes.push(change),
                None => {
                    let tick = self.next_tick;
                    if self.interval(&posted, std::mem::take(&mut changes)) {
                        let tick = (self.next_tick > tick).then_some(tick);
                        self.intervals.push((tick, posted));
                    }
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

    /// Hands over what is to be kept of requests that changed nothing. While the store is out of
    /// reach they wait here: they must not take the room of what was paid.
    fn hand_over_later(&mut self, later: &Mutex<Vec<Change>>, now_ms: i64) {
        let Keeping::Writing(writer, true) = &self.store else {
            return;
        };
        if writer.status().state == State::Connected {
            let later = marks::merged(std::mem::take(&mut *later.lock()));
            // One that cannot be kept must not keep the others from it.
            let later = later
                .into_iter()
                .filter_map(|mark| self.wanting(vec![mark]).ok());
            let later = later.flatten().collect();
            if let Err(why) = self.changes(now_ms, later) {
                log::warn!("accepted requests are remembered by this ResourceManager only: {why}");
            }
        }
    }

    fn changes(&self, at_ms: i64, changes: Vec<Change>) -> Result<Option<Receipt>, NotAccepted> {
        match &self.store {
            Keeping::Writing(writer, true) if !changes.is_empty() => {
                writer.changes(at_ms, changes).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Gives whether it is in the books, or there are none.
    fn interval(&mut self, posted: &Posted, changes: Vec<Change>) -> bool {
        let Entry::Interval { at_ms, price, rows } = &posted.entry else {
            unreachable!("the caller has looked");
        };
        let Keeping::Writing(writer, true) = &self.store else {
            return matches!(self.store, Keeping::Nowhere);
        };
        let interval = Interval {
            tick: self.next_tick,
            ticks: 1,
            at_ms: posted.epoch_ms + at_ms,
            price: (*price).into(),
            changes,
            rows: rows.clone(),
        };
        match writer.interval(interval) {
            Ok(()) => {
                self.next_tick += 1;
                true
            }
            Err(why) => {
                self.lost_intervals += 1;
                self.cannot_follow(&why);
                false
            }
        }
    }

    /// Those of `marks` that the books lack: a timestamp that a later one has overtaken says
    /// nothing new. An error if one cannot be kept, so that nothing may be done for it.
    fn wanting(&self, marks: Vec<Change>) -> Result<Vec<Change>, &'static str> {
        let Keeping::Writing(writer, true) = &self.store else {
            return Ok(marks);
        };
        let wanting = |book: &Book| marks::wanting(book, marks);
        writer.with_book(wanting).unwrap_or(Ok(Vec::new()))
    }

    /// What the engine did is not in the books: it goes back to them, if they are written at all.
    fn cannot_follow(&mut self, why: &NotAccepted) {
        log::error!("what happened to accounts is not written: {why}");
        if !matches!(why, NotAccepted::NotOpen(_)) {
            self.attached = None;
        }
    }
}

fn not_kept(why: &dyn fmt::Display) -> String {
    format!("{}: {why}", heddle_api::NOT_KEPT)
}

/// A status for people and programs.
fn described(status: &Status) -> Value {
    let (state, detail) = worded(&status.state);
    json!({
        "state": state,
        "detail": detail,
        "store": status.store,
        "intervals_behind": status.behind,
        "interval": status.tick,
        "intervals_merged": status.merged,
        "intervals_lost": status.lost.ticks,
    })
}

/// A word for a state, and what there is to say about it.
fn worded(state: &State) -> (&'static str, Option<String>) {
    match state {
        State::Opening => ("opening", None),
        State::Connected => ("connected", None),
        State::Unreachable { since_ms, why } => {
            ("unreachable", Some(format!("since {since_ms} ms: {why}")))
        }
        State::Fenced { owner } => ("fenced", Some(format!("{owner} has taken over"))),
        State::Stopped { why } => ("stopped", Some(why.clone())),
        State::Closed => ("closed", None),
    }
}

/// What the store calls what is no interval.
fn change_of(entry: &Entry) -> Option<Change> {
    Some(match entry.clone() {
        Entry::Opened { queue } => Change::Open { queue },
        Entry::Closed { queue, by, why } => Change::Close { queue, by, why },
        Entry::Granted {
            queue,
            amount,
            by,
            why,
        } => Change::Grant {
            queue,
            amount,
            by,
            why,
        },
        Entry::Rate { queue, rate } => Change::Rate { queue, rate },
        Entry::Income { queue, income } => Change::Income { queue, income },
        Entry::Learnt { key, value } => Change::Learn { key, value },
        Entry::Interval { .. } => return None,
    })
}
