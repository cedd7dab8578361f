//! A store that fails on command, and a writer on it.

use super::economy::Economy;
use super::{store_at, token};
use heddle_economy::record::{
    Batch, Change, Epoch, GrantRecord, Interval, IntervalHead, LedgerQuery, LedgerRow, Page,
};
use heddle_economy::store::{Book, Commit, Options, Status, Store, StoreError, Writer};
use oorandom::Rand64;
use std::ops::RangeInclusive;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The current behaviour of the store.
#[derive(Clone, Copy, PartialEq)]
pub enum Mood {
    Good,
    /// The store is unreachable.
    Down,
    /// By chance, nothing is written, or everything is written and the answer is lost.
    Moody,
    /// Everything is written, and no answer arrives.
    Mute,
    /// No call returns.
    Silent,
    Panics,
    /// Everything works, except that no row of the ledger can be read.
    Illegible,
}

#[derive(Clone)]
pub struct Moods(Arc<(Mutex<(Mood, Rand64)>, Condvar)>);

impl Moods {
    fn new(mood: Mood, seed: u64) -> Moods {
        let random = Rand64::new(u128::from(seed));
        Moods(Arc::new((Mutex::new((mood, random)), Condvar::new())))
    }

    pub fn set(&self, mood: Mood) {
        self.0.0.lock().unwrap().0 = mood;
        self.0.1.notify_all();
    }

    fn around<T>(&self, call: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let lost = Err(StoreError::Unavailable("unplugged".to_string()));
        let mut state = self.0.0.lock().unwrap();
        while state.0 == Mood::Silent {
            state = self.0.1.wait(state).unwrap();
        }
        let chance = state.1.rand_range(0..3);
        let mood = state.0;
        drop(state);
        match mood {
            Mood::Good => call(),
            Mood::Down => lost,
            Mood::Moody if chance == 0 => lost,
            Mood::Moody if chance == 1 => call().and(lost),
            Mood::Mute => call().and(lost),
            Mood::Panics => panic!("a fault in a back end"),
            _ => call(),
        }
    }
}

struct Faulty {
    store: Box<dyn Store>,
    moods: Moods,
}

impl Store for Faulty {
    fn describe(&self) -> String {
        self.store.describe()
    }

    fn take_over(&mut self, owner: &str, token: u64) -> Result<Epoch, StoreError> {
        self.moods.around(|| self.store.take_over(owner, token))
    }

    fn load(&mut self) -> Result<Book, StoreError> {
        self.moods.around(|| self.store.load())
    }

    fn commit_interval(&mut self, epoch: Epoch, interval: &Interval) -> Result<Commit, StoreError> {
        self.moods
            .around(|| self.store.commit_interval(epoch, interval))
    }

    fn commit_changes(&mut self, epoch: Epoch, batch: &Batch) -> Result<Commit, StoreError> {
        self.moods
            .around(|| self.store.commit_changes(epoch, batch))
    }

    fn intervals_between(
        &mut self,
        after: u64,
        times_ms: RangeInclusive<i64>,
        limit: usize,
    ) -> Result<Vec<IntervalHead>, StoreError> {
        self.store.intervals_between(after, times_ms, limit)
    }

    fn ledger(&mut self, query: &LedgerQuery) -> Result<Vec<LedgerRow>, StoreError> {
        if self.moods.0.0.lock().unwrap().0 == Mood::Illegible {
            return Err(StoreError::Corrupt {
                place: "table ledger".to_string(),
                reason: "expected an integer".to_string(),
            });
        }
        self.store.ledger(query)
    }

    fn grants(&mut self, after: u64, limit: usize) -> Result<Vec<GrantRecord>, StoreError> {
        self.store.grants(after, limit)
    }

    fn fill(
        &mut self,
        book: &Book,
        pages: &mut dyn FnMut() -> Result<Option<Page>, StoreError>,
    ) -> Result<(), StoreError> {
        self.store.fill(book, pages)
    }
}

pub struct Setup {
    pub writer: Writer,
    pub moods: Moods,
    pub place: String,
    _folder: TempDir,
}

pub fn start(mood: Mood, seed: u64, items_max: usize) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("sqlite:{}/store.db", folder.path().display());
    let moods = Moods::new(mood, seed);
    let store = Faulty {
        store: store_at(&place),
        moods: moods.clone(),
    };
    let options = Options {
        items_max,
        rows_max: 500,
        silence: Duration::from_millis(100),
        retry: Duration::from_millis(1),
        retry_max: Duration::from_millis(5),
        fenced_retry: Duration::from_millis(5),
        past_intervals: 5,
        past_rows: 500,
    };
    let writer = Writer::start(Box::new(store), "rm1", token(), options);
    Setup {
        writer,
        moods,
        place,
        _folder: folder,
    }
}

pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn until<T>(note: &str, mut get: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = get() {
            return value;
        }
        assert!(Instant::now() < end, "{note}: it never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Setup {
    pub fn until(&self, note: &str, mut is: impl FnMut(&Status) -> bool) -> Status {
        until(note, || Some(self.writer.status()).filter(&mut is))
    }

    pub fn economy(&self, seed: u64) -> Economy {
        let (_, book) = until("open", || self.writer.opened());
        Economy::after(&book, seed)
    }

    pub fn make(&self, changes: Vec<Change>) -> Option<Result<(), StoreError>> {
        self.writer.changes(0, changes).unwrap().wait(PATIENCE)
    }
}
