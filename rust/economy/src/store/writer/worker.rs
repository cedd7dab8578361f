//! The writer thread: takes over the store, writes pending items, retries failed writes.

use super::past;
use super::pending::{ChangeBatch, Item, together};
use super::projected::Projected;
use super::{Desk, State};
use crate::record::{Batch, Epoch};
use crate::store::Store;
use crate::store::error::StoreError;
use std::time::{Duration, Instant, SystemTime};

pub(super) struct Worker<'a> {
    store: Box<dyn Store>,
    desk: &'a Desk,
    epoch: Epoch,
    serial: u64,
    pause: Duration,
}

impl<'a> Worker<'a> {
    pub(super) fn new(store: Box<dyn Store>, desk: &'a Desk) -> Worker<'a> {
        Worker {
            store,
            desk,
            epoch: Epoch::default(),
            serial: 0,
            pause: desk.options.retry,
        }
    }

    pub(super) fn run(mut self, owner: &str, token: u64) {
        let mut token = token;
        while let Err(error) = self.open(owner, token) {
            match error {
                StoreError::Fenced { ours, owner, .. } if ours == Epoch::default() => {
                    match self.next_token(owner) {
                        Some(next) => token = next,
                        None => break,
                    }
                }
                error if !self.failed(error.clone()) => return,
                _ => {}
            }
            if self.desk.shared.lock().ending {
                break;
            }
        }
        self.look_back();
        while let Some(items) = self.next() {
            if !self.write(&items) {
                return;
            }
        }
    }

    /// Calls the store, and notes the start of the call.
    fn call<T>(&mut self, work: impl FnOnce(&mut dyn Store) -> T) -> T {
        self.desk.shared.lock().calling = Some((Instant::now(), now_ms()));
        let done = work(self.store.as_mut());
        self.desk.shared.lock().calling = None;
        done
    }

    /// Takes over the store and reads its books.
    fn open(&mut self, owner: &str, token: u64) -> Result<(), StoreError> {
        let (epoch, book) = self.call(|store| {
            let epoch = store.take_over(owner, token)?;
            Ok((epoch, store.load()?))
        })?;
        self.epoch = epoch;
        self.serial = book.head.serial;
        let projected = Projected::new(&book);
        *self.desk.stored.lock() = projected.clone();
        let mut shared = self.desk.shared.lock();
        shared.state = State::Connected;
        shared.committed = book.head.tick;
        shared.projected = Some(projected);
        shared.opened = Some((epoch, book));
        self.desk.done.notify_all();
        Ok(())
    }

    /// Returns a token above the one in the books: the clock of the former holder may be ahead.
    /// Waits `fenced_retry` first. A ResourceManager that is no longer active learns so during the
    /// wait and ends this writer; the one that remains is active. `None` at the end.
    fn next_token(&mut self, owner: String) -> Option<u64> {
        let mut shared = self.desk.shared.lock();
        log::warn!("{}: {owner} holds it with a later time", self.desk.store);
        shared.state = State::Fenced { owner };
        let until = Instant::now() + self.desk.options.fenced_retry;
        while !shared.ending && Instant::now() < until {
            self.desk.called.wait_until(&mut shared, until);
        }
        if shared.ending {
            return None;
        }
        drop(shared);
        let book = self.call(|store| store.load());
        // An unreadable store yields token 1, which is still too low: this asks again.
        Some(book.map_or(1, |book| book.head.token.saturating_add(1)))
    }

    /// Reads the last intervals for the host. Continues without them if they cannot be read.
    fn look_back(&mut self) {
        let options = self.desk.options;
        let (last, accounts) = {
            let stored = self.desk.stored.lock();
            (stored.book().head.tick, stored.book().accounts.len())
        };
        if options.past_intervals == 0 {
            return;
        }
        let (intervals_max, rows_max) = (options.past_intervals, options.past_rows);
        let past = self.call(|store| past::read(store, last, accounts, intervals_max, rows_max));
        match past {
            Ok(past) => self.desk.shared.lock().past = Some(past),
            Err(error) => log::warn!(
                "{}: the intervals before this start are not shown: {error}",
                self.desk.store
            ),
        }
    }

    /// Waits for the next items; `None` at the end.
    fn next(&self) -> Option<Vec<Item>> {
        let mut shared = self.desk.shared.lock();
        loop {
            if shared.ending {
                shared.state = State::Closed;
                let why = "the writer ended before it was written".to_string();
                shared.give_up(&StoreError::Unavailable(why));
                return None;
            }
            if !shared.pending.is_empty() {
                return Some(shared.pending.send());
            }
            self.desk.called.wait(&mut shared);
        }
    }

    /// Tries to write an interval, or several batches at once. Returns whether the thread
    /// continues.
    fn write(&mut self, items: &[Item]) -> bool {
        let epoch = self.epoch;
        if let [Item::Interval(interval)] = items {
            return match self.call(|store| store.commit_interval(epoch, interval)) {
                Ok(_) => self.succeeded(items),
                Err(error) => self.failed(error),
            };
        }
        let batches = items.iter().filter_map(|item| match item {
            Item::Changes(batch) => Some(batch),
            Item::Interval(_) => None,
        });
        let batches: Vec<&ChangeBatch> = batches.collect();
        let (at_ms, changes) = together(&batches);
        let batch = Batch {
            serial: self.serial + 1,
            at_ms,
            changes,
        };
        if let Err(error) = self.call(|store| store.commit_changes(epoch, &batch)) {
            return self.failed(error);
        }
        self.serial += 1;
        let goes_on = self.succeeded(items);
        for batch in batches {
            let _gone = batch.heard.send(Ok(()));
        }
        goes_on
    }

    /// Applies written items to the stored books. Always continues.
    fn succeeded(&mut self, items: &[Item]) -> bool {
        self.pause = self.desk.options.retry;
        let mut stored = self.desk.stored.lock();
        for item in items {
            if let Err(error) = stored.item(item) {
                log::error!("{}: written, but: {error}", self.desk.store);
            }
        }
        let mut shared = self.desk.shared.lock();
        if matches!(shared.state, State::Unreachable { .. }) {
            log::info!("{}: the store is back", self.desk.store);
        }
        shared.state = State::Connected;
        shared.pending.done();
        shared.committed = stored.book().head.tick;
        self.desk.done.notify_all();
        true
    }

    /// Records an error, and pauses before a retry. Returns whether the thread continues.
    fn failed(&mut self, error: StoreError) -> bool {
        match error {
            StoreError::Unavailable(why) => {
                let mut shared = self.desk.shared.lock();
                let since_ms = match shared.state {
                    State::Unreachable { since_ms, .. } => since_ms,
                    _ => {
                        log::warn!("{}: {why}", self.desk.store);
                        now_ms()
                    }
                };
                shared.state = State::Unreachable { since_ms, why };
                let until = Instant::now() + self.pause;
                self.pause = (self.pause * 2).min(self.desk.options.retry_max);
                // New items are no reason for an earlier retry.
                while !shared.ending && Instant::now() < until {
                    self.desk.called.wait_until(&mut shared, until);
                }
                // `next` ends the thread and tells the waiting callers.
                true
            }
            StoreError::Fenced { ref owner, .. } => {
                let owner = owner.clone();
                self.desk.end(State::Fenced { owner }, &error);
                false
            }
            other => {
                let why = other.to_string();
                self.desk.end(State::Stopped { why }, &other);
                false
            }
        }
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}
