//! Moves everything from one store to another of any kind, and compares them afterwards. Fences off
//! the running scheduler first, so that nothing changes during the move.

use crate::record::{Head, LedgerQuery, Page};
use crate::store::error::{Refusal, StoreError};
use crate::store::{Book, Store};

/// Limit of intervals, of ledger rows and of grants per page: a few megabytes, whatever the number
/// of queues.
const PAGE: usize = 10_000;

/// Counts of a migration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// Intervals.
    pub intervals: u64,
    /// Rows of the ledger.
    pub rows: u64,
    /// Grants and forfeits.
    pub grants: u64,
    /// Accounts.
    pub accounts: u64,
}

/// Reads the past of a store in pages.
#[derive(Default)]
struct Reader {
    tick: u64,
    row: (u64, String),
    grant: u64,
}

impl Reader {
    /// Returns the next page; `None` at the end.
    fn next(&mut self, store: &mut dyn Store) -> Result<Option<Page>, StoreError> {
        let query = LedgerQuery {
            after: self.row.clone(),
            limit: PAGE,
            ..LedgerQuery::default()
        };
        let page = Page {
            intervals: store.intervals(self.tick, PAGE)?,
            rows: store.ledger(&query)?,
            grants: store.grants(self.grant, PAGE)?,
        };
        if let Some(last) = page.intervals.last() {
            self.tick = last.tick;
        }
        if let Some(last) = page.rows.last() {
            self.row = (last.tick, last.row.queue.clone());
        }
        if let Some(last) = page.grants.last() {
            self.grant = last.number;
        }
        Ok((page != Page::default()).then_some(page))
    }
}

/// Moves everything from `from` to `to`, which must be empty. First fills `to` with nothing, to see
/// that it is writable. Then `owner` takes over `from`, so that a running scheduler can no longer
/// write to it until it becomes active again. `from` keeps its content. A store without any use is
/// refused: its name is probably wrong.
pub fn migrate(
    from: &mut dyn Store,
    to: &mut dyn Store,
    owner: &str,
) -> Result<Migrated, StoreError> {
    let head = from.load()?.head;
    if head == Head::default() {
        return Err(StoreError::Refused(Refusal::Empty));
    }
    // A trial: filled with nothing, the target is as empty as before.
    to.fill(&Book::default(), &mut || Ok(None))?;
    from.take_over(owner, head.token.saturating_add(1))?;
    let book = from.load()?;
    let mut reader = Reader::default();
    let mut moved = Migrated {
        accounts: book.accounts.len() as u64,
        ..Migrated::default()
    };
    to.fill(&book, &mut || {
        let page = reader.next(from)?;
        if let Some(page) = &page {
            moved.intervals += page.intervals.len() as u64;
            moved.rows += page.rows.len() as u64;
            moved.grants += page.grants.len() as u64;
        }
        Ok(page)
    })?;
    compare(from, to)?;
    Ok(moved)
}

/// Compares two stores; an error names the first difference.
fn compare(from: &mut dyn Store, to: &mut dyn Store) -> Result<(), StoreError> {
    let place = to.describe();
    let differs = |what: String| StoreError::Corrupt {
        place: place.clone(),
        reason: format!("{what} differ from what was moved there"),
    };
    if from.load()? != to.load()? {
        return Err(differs(
            "accounts, watermarks or what was learnt".to_string(),
        ));
    }
    let (mut one, mut other) = (Reader::default(), Reader::default());
    loop {
        let (tick, grant) = (one.tick, one.grant);
        let page = one.next(from)?;
        if page != other.next(to)? {
            let what = format!("the ledger after tick {tick} or the grants after number {grant}");
            return Err(differs(what));
        }
        if page.is_none() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Account, Epoch, IntervalHead, LedgerRow, Row};

    /// Few intervals of many queues fill several pages, none of which is large.
    #[test]
    fn a_page_is_so_many_rows_whatever_an_interval_has() {
        let folder = tempfile::tempdir().unwrap();
        let place = format!("sqlite:{}/a", folder.path().display());
        let mut store = crate::store::open(&place, None).unwrap();
        let name = |at: usize| format!("root.q{at:05}");
        let mut book = Book::default();
        let mut all = Page::default();
        for at in 0..PAGE * 2 / 5 {
            book.accounts.insert(name(at), Account::default());
        }
        for tick in 1..=6 {
            all.intervals.push(IntervalHead {
                tick,
                ticks: 1,
                at_ms: 0,
                price: Default::default(),
                epoch: Epoch(1),
            });
            all.rows.extend(book.accounts.keys().map(|queue| LedgerRow {
                tick,
                row: Row {
                    queue: queue.clone(),
                    ..Row::default()
                },
            }));
        }
        book.head.tick = 6;
        let mut once = Some(all.clone());
        store.fill(&book, &mut || Ok(once.take())).unwrap();
        let mut reader = Reader::default();
        let mut found = Page::default();
        let mut sizes = Vec::new();
        while let Some(page) = reader.next(store.as_mut()).unwrap() {
            sizes.push(page.rows.len());
            found.intervals.extend(page.intervals);
            found.rows.extend(page.rows);
        }
        assert_eq!(found, all);
        // 24,000 rows: two pages of 10,000 and the rest.
        assert_eq!(sizes, [10_000, 10_000, 4_000]);
    }
}
