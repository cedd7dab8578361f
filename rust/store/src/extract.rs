//! The ledger of any time, page by page: intervals with their rows, for who charges people for
//! months. Made of the questions that every back end answers. What is committed is never changed
//! again, so these need no common transaction: what is added meanwhile comes after it. Knows
//! nothing of rights.

use crate::Store;
use crate::error::StoreError;
use crate::record::{Interval, IntervalHead, LedgerQuery, LedgerRow};

/// So many intervals are looked at for one page: few of a queue that was idle for months.
const INTERVALS_MAX: usize = 5_000;

/// Which part of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first tick; that of the page before's `next`.
    pub from: u64,
    /// Only intervals that begin before this tick: it and what follows is known otherwise.
    pub before: u64,
    /// Only intervals that ended then or later, in ms since 1970.
    pub from_ms: i64,
    /// Only intervals that ended then or earlier.
    pub to_ms: i64,
    /// Only rows of these queues.
    pub queues: Option<Vec<String>>,
    /// A page ends with the interval that reaches so many rows.
    pub rows: usize,
}

/// A page of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extract {
    /// In order of ticks, whole, without the changes in them; also those that have no such row.
    pub intervals: Vec<Interval>,
    /// The next in the span. There may be one though the page is short.
    pub next: Option<IntervalHead>,
    /// The last tick of the intervals that begin before `before`: beyond it, if one that stands
    /// for several does. None if the store is not that far yet.
    pub reaches: Option<u64>,
    /// `from` lies inside of this interval, which stands for several: nothing was read.
    pub cut: Option<IntervalHead>,
}

/// Reads a page.
///
/// # Errors
/// What the store says.
pub fn extract(store: &mut dyn Store, span: &Span) -> Result<Extract, StoreError> {
    // First, so that what is read afterwards has all of it.
    let reaches = reaches(store, span.before)?;
    let from = span.from.max(1);
    let cut = first_from(store, from)?.filter(|head| head.first() < from);
    if cut.is_some() {
        let empty = Extract::default();
        return Ok(Extract { cut, ..empty });
    }
    let times = span.from_ms..=span.to_ms;
    let mut heads = store.intervals_between(from - 1, times, INTERVALS_MAX + 1)?;
    heads.retain(|head| head.first() < span.before);
    let looked_at = &heads[..heads.len().min(INTERVALS_MAX)];
    let (rows, known_to) = match looked_at {
        [] => (Vec::new(), 0),
        [first, ..] => {
            let last = looked_at.last().unwrap_or(first);
            rows(store, span, first.tick, last.tick)?
        }
    };
    let mut rows = rows.into_iter().peekable();
    let mut intervals = Vec::new();
    let mut count = 0;
    for head in looked_at {
        if head.tick > known_to || count >= span.rows {
            break;
        }
        let interval = head.with_rows(&mut rows);
        count += interval.rows.len();
        intervals.push(interval);
    }
    Ok(Extract {
        next: heads.get(intervals.len()).copied(),
        intervals,
        reaches,
        cut: None,
    })
}

fn reaches(store: &mut dyn Store, before: u64) -> Result<Option<u64>, StoreError> {
    if before == u64::MAX || before <= 1 {
        return Ok(Some(before.saturating_sub(1)));
    }
    let last = first_from(store, before - 1)?;
    Ok(last.map(|head| match head.first() < before {
        true => head.tick,
        false => before - 1,
    }))
}

/// The interval that has this tick, or the next.
fn first_from(store: &mut dyn Store, tick: u64) -> Result<Option<IntervalHead>, StoreError> {
    let heads = store.intervals(tick.saturating_sub(1), 1)?;
    Ok(heads.first().copied())
}

/// The first rows from one tick to another, in order, and up to which tick these are all.
fn rows(
    store: &mut dyn Store,
    span: &Span,
    first: u64,
    last: u64,
) -> Result<(Vec<LedgerRow>, u64), StoreError> {
    let query = LedgerQuery {
        // No queue has an empty name.
        after: (first, String::new()),
        until: last,
        limit: span.rows.max(1),
        queue: None,
    };
    let Some(queues) = &span.queues else {
        let mut rows = store.ledger(&query)?;
        let Some(end) = rows.last().filter(|_| rows.len() >= query.limit) else {
            return Ok((rows, last));
        };
        let known_to = end.tick;
        let rest = LedgerQuery {
            after: (end.tick, end.row.queue.clone()),
            until: end.tick,
            ..LedgerQuery::default()
        };
        rows.extend(store.ledger(&rest)?);
        return Ok((rows, known_to));
    };
    let mut known_to = last;
    let mut rows = Vec::new();
    for queue in queues {
        let queue = Some(queue.clone());
        let own = store.ledger(&LedgerQuery {
            queue,
            ..query.clone()
        })?;
        if own.len() >= query.limit {
            known_to = known_to.min(own.last().map_or(last, |row| row.tick));
        }
        rows.extend(own);
    }
    rows.sort_by(|a, b| (a.tick, &a.row.queue).cmp(&(b.tick, &b.row.queue)));
    // A queue that was named twice.
    rows.dedup_by(|a, b| a.tick == b.tick && a.row.queue == b.row.queue);
    Ok((rows, known_to))
}

impl IntervalHead {
    /// The first tick that it covers.
    pub fn first(&self) -> u64 {
        self.tick.saturating_sub(self.ticks.saturating_sub(1))
    }

    /// The interval with its rows, the next of those that are in order of ticks.
    pub(crate) fn with_rows(
        &self,
        rows: &mut std::iter::Peekable<impl Iterator<Item = LedgerRow>>,
    ) -> Interval {
        let mut own = Vec::new();
        while let Some(row) = rows.next_if(|row| row.tick <= self.tick) {
            // Those of intervals before it were not asked for, or have no head: a store's fault.
            if row.tick == self.tick {
                own.push(row.row);
            }
        }
        Interval {
            tick: self.tick,
            ticks: self.ticks,
            at_ms: self.at_ms,
            price: self.price,
            changes: Vec::new(),
            rows: own,
        }
    }
}
