//! Reads the last intervals of a store with their rows, for a host that has just become active and
//! missed them. Changes nothing.

use crate::record::{IntervalHead, LedgerQuery, RecentLedger};
use crate::store::Store;
use crate::store::error::StoreError;

/// Reads the intervals up to `last`, at most `intervals_max` of them with at most `rows_max` rows.
/// `accounts` gives the first estimate of the rows per interval. Where older intervals had more
/// accounts, the span is halved until its rows fit.
pub(super) fn read(
    store: &mut dyn Store,
    last: u64,
    accounts: usize,
    intervals_max: usize,
    rows_max: usize,
) -> Result<RecentLedger, StoreError> {
    let mut span = intervals_max.min(rows_max / accounts.max(1)).max(1);
    loop {
        let after = last.saturating_sub(span as u64);
        let rows = store.ledger(&LedgerQuery {
            // No queue has an empty name, so this starts at the first row of the next interval.
            after: (after + 1, String::new()),
            until: last,
            limit: rows_max.saturating_add(1),
            ..LedgerQuery::default()
        })?;
        if rows.len() > rows_max {
            if span == 1 {
                return Ok(RecentLedger::default());
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
        return Ok(RecentLedger {
            intervals: intervals.collect(),
            whole: first <= 1,
            ordered,
        });
    }
}
