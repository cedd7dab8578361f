//! The last intervals of a store with their rows: what a host that has just become active could not
//! hear of. Reads, and changes nothing.

use crate::Store;
use crate::error::StoreError;
use crate::record::{Interval, IntervalHead, LedgerQuery};

/// The end of what a store keeps of the past.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// The last intervals, the oldest first, without the changes in them, which are in the books.
    pub intervals: Vec<Interval>,
    /// Whether there was none before them.
    pub whole: bool,
    /// Whether all before them ended earlier: else a clock was set back.
    pub ordered: bool,
}

/// Reads the intervals up to `last`, at most so many and with at most so many rows, of a store with
/// so many accounts. More rows than that are never held: where older intervals had more
/// accounts than there are now, half of them are asked for, and so on.
pub(super) fn read(
    store: &mut dyn Store,
    last: u64,
    accounts: usize,
    intervals_max: usize,
    rows_max: usize,
) -> Result<Past, StoreError> {
    let mut span = intervals_max.min(rows_max / accounts.max(1)).max(1);
    loop {
        let after = last.saturating_sub(span as u64);
        let rows = store.ledger(&LedgerQuery {
            // No queue has an empty name, so these are all of the interval that follows.
            after: (after + 1, String::new()),
            until: last,
            limit: rows_max.saturating_add(1),
            ..LedgerQuery::default()
        })?;
        if rows.len() > rows_max {
            if span == 1 {
                return Ok(Past::default());
            }
            span /= 2;
            continue;
        }
        let heads = store.intervals(after, span)?;
        let first = heads.first().map_or(1, IntervalHead::first);
        let since_ms = heads.first().map_or(i64::MAX, |head| head.at_ms);
        let later = store.intervals_between(0, since_ms..=i64::MAX, 1)?;
        let ordered = later.first().map(|head| head.tick) == heads.first().map(|head| head.tick);
        let mut rows = rows.into_iter().peekable();
        let intervals = heads.iter().map(|head| head.with_rows(&mut rows));
        return Ok(Past {
            intervals: intervals.collect(),
            whole: first <= 1,
            ordered,
        });
    }
}
