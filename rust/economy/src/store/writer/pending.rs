//! The bounded queue of pending intervals and batches. Beyond its limits, neighbouring intervals
//! merge into one that charges the same; the detail of the sum is lost. An item that was sent never
//! changes, because it may have arrived.

use super::Options;
use crate::record::{Change, Interval, Row};
use crate::store::book::LEARNT_MAX;
use crate::store::error::StoreError;
use heddle_core::words::credits::Credits;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A pending batch, and the channel for its outcome.
#[derive(Clone)]
pub(super) struct ChangeBatch {
    number: u64,
    pub(super) at_ms: i64,
    pub(super) changes: Arc<Vec<Change>>,
    pub(super) heard: Sender<Result<(), StoreError>>,
}

/// A pending item.
#[derive(Clone)]
pub(super) enum Item {
    Interval(Arc<Interval>),
    Changes(ChangeBatch),
}

/// At most this many batches go into one transaction: one sync serves them all.
const BATCHES_TOGETHER: usize = 64;
/// At this multiple of its limits the queue refuses intervals: merging frees nothing more.
const OVERFULL: usize = 4;
/// This many bytes of a lesson count as one row.
const ROW_BYTES: usize = 200;

#[derive(Default)]
pub(super) struct Pending {
    items: VecDeque<Item>,
    /// Number of items at the front that were sent together, and may have arrived.
    sent: usize,
    /// Whether they were sent before, and no answer came.
    resent: bool,
    /// Rows and changes of all items; then the changes of the batches among them.
    rows: usize,
    change_rows: usize,
    /// Number of batches ever accepted; the number of the last.
    batches: u64,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Counts the pending allocation intervals.
    pub(super) fn ticks(&self) -> u64 {
        let items = self.items.iter();
        items.fold(0, |sum, item| match item {
            Item::Interval(interval) => sum + interval.ticks,
            Item::Changes(_) => sum,
        })
    }

    /// Returns the first interval, or all batches before the next interval, at most
    /// `BATCHES_TOGETHER`. They count as sent from now on, and stay the same until `done`.
    pub(super) fn send(&mut self) -> Vec<Item> {
        if self.sent == 0 {
            let batches = self.items.iter();
            let batches = batches.take_while(|item| matches!(item, Item::Changes(_)));
            let one = usize::from(!self.items.is_empty());
            self.sent = batches.count().min(BATCHES_TOGETHER).max(one);
        } else {
            self.resent = true;
        }
        self.items.range(..self.sent).cloned().collect()
    }

    /// Removes the items that were sent.
    pub(super) fn done(&mut self) {
        self.items.drain(..self.sent);
        self.sent = 0;
        self.resent = false;
        self.recount();
    }

    fn recount(&mut self) {
        self.rows = self.items.iter().map(rows_of).sum();
        let batches = self.items.iter().filter(|item| item.is_changes());
        self.change_rows = batches.map(rows_of).sum();
    }

    /// Counts the pending batches.
    pub(super) fn batches(&self) -> u64 {
        let batches = self.items.iter().filter(|item| item.is_changes());
        batches.count() as u64
    }

    /// Tells whether a batch fits: half the places and half the rows are reserved for intervals. A
    /// larger batch is accepted when no other batch is pending.
    pub(super) fn has_room_for(&self, changes: &[Change], options: &Options) -> bool {
        let rows = self.change_rows + changes_rows(changes);
        let fits = rows <= options.rows_max / 2 || self.change_rows == 0;
        fits && self.items.len() < options.items_max / 2
    }

    /// Tells whether even intervals must be refused. Closed accounts, grants and nonces cannot be
    /// merged away, and an outage may last.
    pub(super) fn is_overfull(&self, options: &Options) -> bool {
        let many = self.items.len() >= options.items_max.saturating_mul(OVERFULL);
        many || self.rows >= options.rows_max.saturating_mul(OVERFULL)
    }

    /// Adds a batch; returns its number and the channel for its outcome.
    pub(super) fn batch(
        &mut self,
        at_ms: i64,
        changes: Vec<Change>,
    ) -> (u64, Receiver<Result<(), StoreError>>) {
        let (heard, receipt) = channel();
        self.batches += 1;
        let batch = Item::Changes(ChangeBatch {
            number: self.batches,
            at_ms,
            changes: Arc::new(changes),
            heard,
        });
        self.rows += rows_of(&batch);
        self.change_rows += rows_of(&batch);
        self.items.push_back(batch);
        (self.batches, receipt)
    }

    /// Finds a batch that was not sent.
    fn position(&self, number: u64) -> Option<usize> {
        let is = |item: &Item| matches!(item, Item::Changes(batch) if batch.number == number);
        let at = self.items.iter().position(is)?;
        (at >= self.sent).then_some(at)
    }

    /// Returns all pending items except a batch; `None` if that batch was sent.
    pub(super) fn without(&self, number: u64) -> Option<impl Iterator<Item = &Item>> {
        let at = self.position(number)?;
        let items = self.items.iter().enumerate();
        Some(items.filter(move |(i, _)| *i != at).map(|(_, item)| item))
    }

    /// Drops a batch that was not sent.
    pub(super) fn withdraw(&mut self, number: u64) {
        let item = self.position(number).and_then(|at| self.items.remove(at));
        if let Some(Item::Changes(batch)) = item {
            let why = "it was withdrawn".to_string();
            let _gone = batch.heard.send(Err(StoreError::Unavailable(why)));
        }
        self.recount();
    }

    /// Adds an interval, and merges older ones beyond the limits. Returns the number of merges.
    pub(super) fn interval(&mut self, interval: Interval, options: &Options) -> u64 {
        let interval = Item::Interval(Arc::new(interval));
        self.rows += rows_of(&interval);
        self.items.push_back(interval);
        let mut merged = 0;
        while self.items.len() > options.items_max || self.rows > options.rows_max {
            let more = self.merge_pairs();
            if more == 0 {
                break;
            }
            merged += more;
        }
        merged
    }

    /// Merges every two neighbours along the whole queue, so that the past loses detail evenly.
    fn merge_pairs(&mut self) -> u64 {
        let mut merged = 0;
        let mut items = VecDeque::with_capacity(self.items.len());
        let behind = self.items.split_off(self.sent);
        let sent = std::mem::replace(&mut self.items, behind);
        let mut open: Option<Interval> = None;
        for item in std::mem::take(&mut self.items) {
            match item {
                Item::Interval(interval) => {
                    let later = Arc::unwrap_or_clone(interval);
                    open = match open.take() {
                        None => Some(later),
                        Some(earlier) => match merge(earlier, later) {
                            Ok(both) => {
                                merged += 1;
                                items.push_back(Item::Interval(Arc::new(both)));
                                None
                            }
                            Err(pair) => {
                                items.push_back(Item::Interval(Arc::new(pair.0)));
                                Some(pair.1)
                            }
                        },
                    };
                }
                Item::Changes(_) => {
                    let before = open.take().map(|one| Item::Interval(Arc::new(one)));
                    items.extend(before);
                    items.push_back(item);
                }
            }
        }
        items.extend(open.map(|one| Item::Interval(Arc::new(one))));
        self.items = sent;
        self.items.extend(items);
        self.recount();
        merged
    }

    /// Tells every waiting caller that nothing more will be written.
    pub(super) fn fail(&mut self, error: &StoreError) {
        // Any other answer to the first attempt says that nothing was written.
        let unanswered = self.resent || matches!(error, StoreError::Unavailable(_));
        let in_doubt = if unanswered { self.sent } else { 0 };
        for (at, item) in std::mem::take(self).items.into_iter().enumerate() {
            if let Item::Changes(batch) = item {
                let error = match at < in_doubt {
                    true => StoreError::InDoubt,
                    false => error.clone(),
                };
                let _gone = batch.heard.send(Err(error));
            }
        }
    }
}

impl Item {
    fn is_changes(&self) -> bool {
        matches!(self, Item::Changes(_))
    }
}

fn rows_of(item: &Item) -> usize {
    match item {
        Item::Interval(interval) => interval.rows.len() + changes_rows(&interval.changes),
        Item::Changes(batch) => changes_rows(&batch.changes),
    }
}

/// Converts changes to rows for the limits.
fn changes_rows(changes: &[Change]) -> usize {
    let rows = changes.iter().map(|change| match change {
        Change::Learn { value, .. } => 1 + value.len() / ROW_BYTES,
        _ => 1,
    });
    rows.sum()
}

/// Joins batches: returns changes with the same effect as the batches in order, and their time.
pub(super) fn together(batches: &[&ChangeBatch]) -> (i64, Vec<Change>) {
    let mut batches = batches.iter();
    let Some(first) = batches.next() else {
        return (0, Vec::new());
    };
    let mut at_ms = first.at_ms;
    let mut changes = first.changes.to_vec();
    for batch in batches {
        follow(&mut changes, at_ms, &batch.changes, batch.at_ms);
        at_ms = batch.at_ms;
    }
    (at_ms, changes)
}

/// Appends changes of another commit. The end of the first commit would have forgotten nonces. So a
/// `Forget` goes between the two, unless the end of the second forgets the same.
fn follow(changes: &mut Vec<Change>, at_ms: i64, later: &[Change], later_ms: i64) {
    let nonce = |change: &Change| matches!(change, Change::Nonce { .. });
    if later_ms < at_ms || later.iter().any(nonce) {
        changes.push(Change::Forget { before_ms: at_ms });
    }
    changes.extend(later.iter().cloned());
}

/// Merges two intervals into one with the same effect on the books. Gives both back if that is
/// impossible: in one interval all changes come before all rows. So the later one may close no
/// account, and its grants must fit before the earlier charge.
pub(super) fn merge(
    earlier: Interval,
    later: Interval,
) -> Result<Interval, Box<(Interval, Interval)>> {
    let closes = |change: &Change| matches!(change, Change::Close { .. });
    let granted = grants(&later.changes);
    let follows = later.first() == earlier.tick + 1
        && !later.changes.iter().any(closes)
        && grants_fit(&earlier.rows, &granted);
    let rows = rows_together(&earlier.rows, &later.rows, &granted);
    let Some(rows) = rows.filter(|_| follows) else {
        return Err(Box::new((earlier, later)));
    };
    let mut changes = earlier.changes;
    follow(&mut changes, earlier.at_ms, &later.changes, later.at_ms);
    Ok(Interval {
        tick: later.tick,
        ticks: earlier.ticks + later.ticks,
        at_ms: later.at_ms,
        price: later.price,
        changes: without_overtaken(changes),
        rows,
    })
}

/// Sums the grants of changes, in millionths by queue.
fn grants(changes: &[Change]) -> BTreeMap<String, i64> {
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for change in changes {
        if let Change::Grant { queue, amount, .. } = change {
            let sum = sums.entry(queue.clone()).or_default();
            *sum = sum.saturating_add(amount.micro());
        }
    }
    sums
}

/// Tells whether grants that follow these rows would also fit before them.
fn grants_fit(rows: &[Row], granted: &BTreeMap<String, i64>) -> bool {
    rows.iter().all(|row| {
        let before = row.balance.micro() - row.income.micro() + row.debit.micro();
        let more = granted.get(&row.queue).copied().unwrap_or(0);
        more == 0 || before.saturating_add(more) <= Credits::MAX.micro()
    })
}

/// Merges rows: sums of use, income and debit; the later rate, quota and balance. A row of the
/// earlier interval alone gets the later grants added to its balance. `None` if a sum exceeds
/// `Credits::MAX`.
fn rows_together(
    earlier: &[Row],
    later: &[Row],
    granted: &BTreeMap<String, i64>,
) -> Option<Vec<Row>> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for row in earlier.iter().chain(later) {
        let Some(before) = rows.insert(&row.queue, row.clone()) else {
            continue;
        };
        let both = rows.get_mut(row.queue.as_str())?;
        both.income = both.income + before.income;
        both.debit = both.debit + before.debit;
        both.add_use(&before);
        if both.income.max(both.debit) > Credits::MAX {
            return None;
        }
    }
    let said: BTreeSet<&str> = later.iter().map(|row| row.queue.as_str()).collect();
    for (queue, amount) in granted {
        if let Some(row) = rows.get_mut(queue.as_str())
            && !said.contains(queue.as_str())
        {
            row.balance = row.balance + Credits::from_micro(*amount);
        }
    }
    Some(rows.into_values().collect())
}

/// Drops changes that a later one overwrites, and lessons beyond `LEARNT_MAX`.
fn without_overtaken(changes: Vec<Change>) -> Vec<Change> {
    let mut set = BTreeSet::new();
    let mut lessons = 0;
    let mut kept: Vec<Change> = Vec::with_capacity(changes.len());
    for change in changes.into_iter().rev() {
        let subject = match &change {
            Change::Rate { queue, .. } => Some((0, queue.clone())),
            Change::Income { queue, .. } => Some((1, queue.clone())),
            Change::Seen { user, .. } => Some((2, user.clone())),
            Change::Learn { key, .. } => Some((3, key.clone())),
            _ => None,
        };
        let overtaken = subject.is_some_and(|subject| !set.insert(subject));
        let lesson = matches!(change, Change::Learn { .. });
        lessons += usize::from(lesson && !overtaken);
        let too_old = lesson && lessons > LEARNT_MAX;
        if !overtaken && !too_old {
            kept.push(change);
        }
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests;
