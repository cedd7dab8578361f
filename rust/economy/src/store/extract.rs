//! Reads the ledger of any time in pages of intervals with their rows, for instance to bill a
//! month. Uses only queries that every back end answers. Committed records never change, so these
//! need no common transaction: later commits come after them. Does no authorization.

use crate::record::{Extract, Interval, IntervalHead, LedgerQuery, LedgerRow, Span};
use crate::store::Store;
use crate::store::error::StoreError;

/// Limit of intervals read for one page: a queue that was idle for months has few rows in them.
const INTERVALS_MAX: usize = 5_000;

/// Reads a page.
///
/// # Errors
/// The store's own.
pub fn extract(store: &mut dyn Store, span: &Span) -> Result<Extract, StoreError> {
    // Read first, so that the later queries cover all of it.
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

/// Returns the interval that covers this tick, or the next one.
fn first_from(store: &mut dyn Store, tick: u64) -> Result<Option<IntervalHead>, StoreError> {
    let heads = store.intervals(tick.saturating_sub(1), 1)?;
    Ok(heads.first().copied())
}

/// Returns the first rows between two ticks, in order, and the tick up to which they are complete.
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
    // A queue may be named twice.
    rows.dedup_by(|a, b| a.tick == b.tick && a.row.queue == b.row.queue);
    Ok((rows, known_to))
}

impl IntervalHead {
    /// Returns the first tick that it covers.
    pub fn first(&self) -> u64 {
        self.tick.saturating_sub(self.ticks.saturating_sub(1))
    }

    /// Returns the interval with its rows, taken from `rows`, which are ordered by tick.
    pub(crate) fn with_rows(
        &self,
        rows: &mut std::iter::Peekable<impl Iterator<Item = LedgerRow>>,
    ) -> Interval {
        let mut own = Vec::new();
        while let Some(row) = rows.next_if(|row| row.tick <= self.tick) {
            // Rows of earlier intervals were not selected, or lack a head through a fault of the
            // store.
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
