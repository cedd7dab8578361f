//! Queries and the decoding of their rows. An impossible value, a wrong checksum or a missing row
//! is an error that names its table; nothing is corrected.

use super::checksum::{UNSEALED, checksum, of_book, of_row};
use super::write::cells_of_row;
use super::{Cell, Database};
use crate::record::{
    Account, Epoch, GrantKind, GrantRecord, Head, IntervalHead, LedgerQuery, LedgerRow, Price, Row,
};
use crate::store::book::{Book, Learnt};
use crate::store::error::StoreError;
use heddle_core::share::dynamic_priority::account::Totals;
use heddle_core::words::credits::Credits;
use std::ops::RangeInclusive;

/// A row, decoded column by column.
struct Columns {
    table: &'static str,
    cells: std::vec::IntoIter<Cell>,
}

impl Columns {
    fn wrong(&self, found: &str) -> StoreError {
        StoreError::Corrupt {
            place: format!("table {}", self.table),
            reason: format!("a value that was never written there: {found}"),
        }
    }

    fn integer(&mut self) -> Result<i64, StoreError> {
        match self.cells.next() {
            Some(Cell::Integer(value)) => Ok(value),
            other => Err(self.wrong(&format!("{other:?}"))),
        }
    }

    fn text(&mut self) -> Result<String, StoreError> {
        match self.cells.next() {
            Some(Cell::Text(value)) => Ok(value),
            other => Err(self.wrong(&format!("{other:?}"))),
        }
    }

    fn count<T: TryFrom<i64>>(&mut self) -> Result<T, StoreError> {
        let value = self.integer()?;
        T::try_from(value).map_err(|_| self.wrong(&value.to_string()))
    }

    fn credits(&mut self) -> Result<Credits, StoreError> {
        let micro = self.integer()?;
        let credits = Credits::from_micro(micro);
        // `from_micro` would silently clamp a value out of range.
        if credits.micro() == micro {
            Ok(credits)
        } else {
            Err(self.wrong(&micro.to_string()))
        }
    }

    fn price(&mut self) -> Result<Price, StoreError> {
        let micro = self.integer()?;
        Price::try_from(micro).map_err(|_| self.wrong(&micro.to_string()))
    }

    fn sum(&mut self) -> Result<i128, StoreError> {
        let text = self.text()?;
        text.parse().map_err(|_| self.wrong(&text))
    }
}

fn query<D: Database, T>(
    database: &mut D,
    table: &'static str,
    sql: &str,
    parameters: &[Cell],
    mut read: impl FnMut(&mut Columns) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let rows = database.query(sql, parameters)?.into_iter();
    rows.map(|cells| {
        let cells = cells.into_iter();
        read(&mut Columns { table, cells })
    })
    .collect()
}

/// Queries rows whose last column is their checksum.
fn query_summed<D: Database, T>(
    database: &mut D,
    table: &'static str,
    sql: &str,
    parameters: &[Cell],
    sum_of: fn(&[Cell]) -> i64,
    mut read: impl FnMut(&mut Columns) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    query(database, table, sql, parameters, |columns| {
        let sum = columns.cells.next_back();
        let cells = columns.cells.as_slice();
        if sum != Some(sum_of(cells).into()) {
            let what = format!("the checksum of a row does not fit: {}", shown(cells));
            return Err(damaged(table, what));
        }
        read(columns)
    })
}

/// Returns the first columns of a row, which identify it.
fn shown(cells: &[Cell]) -> String {
    let cells = cells.iter().take(2).map(|cell| match cell {
        Cell::Integer(value) => value.to_string(),
        Cell::Text(text) => text.clone(),
    });
    cells.collect::<Vec<_>>().join(", ")
}

fn damaged(table: &str, reason: String) -> StoreError {
    StoreError::Corrupt {
        place: format!("table {table}"),
        reason,
    }
}

/// Reads the checksum in the head.
pub(super) fn read_checksum<D: Database>(database: &mut D) -> Result<i64, StoreError> {
    let sums = query(database, "head", "SELECT checksum FROM head", &[], |row| {
        row.integer()
    })?;
    let missing = || damaged("head", "expected 1 row, found none".to_string());
    sums.first().copied().ok_or_else(missing)
}

/// Reads counters and sums; with a `lock`, no other process writes until the transaction ends.
pub(super) fn read_head<D: Database>(database: &mut D, lock: &str) -> Result<Head, StoreError> {
    let sql = format!(
        "SELECT epoch, owner, tick, serial, grant_number, lesson, price, granted, debited, \
         forfeited, token FROM head{lock}"
    );
    let heads = query(database, "head", &sql, &[], |row| {
        Ok(Head {
            epoch: Epoch(row.count()?),
            owner: row.text()?,
            tick: row.count()?,
            serial: row.count()?,
            grant: row.count()?,
            lesson: row.count()?,
            price: row.price()?,
            totals: Totals {
                granted: row.sum()?,
                debited: row.sum()?,
                forfeited: row.sum()?,
            },
            token: row.count()?,
        })
    })?;
    let found = heads.len();
    let missing = || StoreError::Corrupt {
        place: "table head".to_string(),
        reason: format!("expected 1 row, found {found}"),
    };
    heads.into_iter().next().ok_or_else(missing)
}

/// Reads and checks everything except the past.
pub(super) fn read_book<D: Database>(database: &mut D, head: Head) -> Result<Book, StoreError> {
    let sql = "SELECT name, budget, rate, income FROM queues";
    let accounts = query(database, "queues", sql, &[], |row| {
        let name = row.text()?;
        let (budget, rate, income) = (row.credits()?, row.credits()?, row.credits()?);
        let account = Account {
            budget,
            rate,
            income,
        };
        Ok((name, account))
    })?;
    let sql = "SELECT name FROM closed_queues";
    let closed = query(database, "closed_queues", sql, &[], Columns::text)?;
    let sql = "SELECT user_name, accepted_ms FROM watermarks";
    let watermarks = query(database, "watermarks", sql, &[], |row| {
        Ok((row.text()?, row.integer()?))
    })?;
    let sql = "SELECT user_name, nonce, expires_ms FROM nonces";
    let nonces = query(database, "nonces", sql, &[], |row| {
        Ok((row.text()?, row.text()?, row.integer()?))
    })?;
    let sql = "SELECT user_name, expires_ms FROM nonce_floors";
    let floors = query(database, "nonce_floors", sql, &[], |row| {
        Ok((row.text()?, row.integer()?))
    })?;
    let sql = "SELECT key_text, value, lesson FROM learnt";
    let learnt = query(database, "learnt", sql, &[], |row| {
        let (key, value, lesson) = (row.text()?, row.text()?, row.count()?);
        Ok((key, Learnt { value, lesson }))
    })?;
    let mut book = Book {
        head,
        accounts: accounts.into_iter().collect(),
        closed: closed.into_iter().collect(),
        watermarks: watermarks.into_iter().collect(),
        floors: floors.into_iter().collect(),
        learnt: learnt.into_iter().collect(),
        ..Book::default()
    };
    for (user, nonce, expires_ms) in nonces {
        book.nonces
            .entry(user)
            .or_default()
            .insert(nonce, expires_ms);
    }
    book.check()?;
    let sum = read_checksum(database)?;
    if sum != UNSEALED && sum != of_book(&book) {
        let what = "accounts, accepted requests or counters are not those that were written";
        return Err(damaged("head", what.to_string()));
    }
    Ok(book)
}

/// An interval with the number and the checksum of its rows.
struct Sealed {
    head: IntervalHead,
    count: u64,
    sum: i64,
}

/// Columns of `intervals`, in the order in which they are written.
const INTERVALS: &str = "SELECT tick, ticks, at_ms, price, epoch, row_count, row_sum, checksum \
                         FROM intervals WHERE tick > $1 AND tick <= $2 ORDER BY tick LIMIT $3";

fn sealed(row: &mut Columns) -> Result<Sealed, StoreError> {
    let head = IntervalHead {
        tick: row.count()?,
        ticks: row.count()?,
        at_ms: row.integer()?,
        price: row.price()?,
        epoch: Epoch(row.count()?),
    };
    let (count, sum) = (row.count()?, row.integer()?);
    Ok(Sealed { head, count, sum })
}

/// Reads intervals after a tick up to another, at most `limit`. Checks that none is missing: either
/// the table has the next one, or `last` is the last of all.
fn intervals<D: Database>(
    database: &mut D,
    after: u64,
    until: u64,
    limit: usize,
    last: u64,
) -> Result<Vec<Sealed>, StoreError> {
    let parameters = [after.into(), until.into(), (limit as u64).into()];
    let found = query_summed(
        database,
        "intervals",
        INTERVALS,
        &parameters,
        checksum,
        sealed,
    )?;
    let mut end = after;
    for (at, interval) in found.iter().enumerate() {
        let first = interval.head.first();
        // A merged first interval may begin before the requested tick.
        if first > end + 1 || (at > 0 && first != end + 1) || interval.head.tick > last {
            return Err(damaged("intervals", format!("no interval {}", end + 1)));
        }
        end = interval.head.tick;
    }
    if found.len() < limit && end < until.min(last) {
        // A merged interval may end beyond `until`.
        let next = query_summed(
            database,
            "intervals",
            INTERVALS,
            &[end.into(), i64::MAX.into(), 1u64.into()],
            checksum,
            sealed,
        )?;
        let reaches = next
            .first()
            .is_some_and(|next| next.head.tick > until && next.head.first() <= end + 1);
        if !reaches {
            return Err(damaged("intervals", format!("no interval {}", end + 1)));
        }
    }
    Ok(found)
}

/// Number of intervals per step.
const STEP: usize = 5_000;

/// Reads heads of intervals after a tick. There is no index by time, and a time counts only after
/// its checksum is verified. So the first page of a late range reads the heads before it, too.
pub(super) fn read_intervals<D: Database>(
    database: &mut D,
    after: u64,
    times_ms: RangeInclusive<i64>,
    limit: usize,
    last: u64,
) -> Result<Vec<IntervalHead>, StoreError> {
    let mut found = Vec::new();
    let mut after = after;
    while found.len() < limit {
        let step = STEP.min(limit);
        let page = intervals(database, after, u64::MAX, step, last)?;
        let heads = page.iter().map(|interval| interval.head);
        found.extend(heads.filter(|head| times_ms.contains(&head.at_ms)));
        match page.last() {
            Some(end) if page.len() == step => after = end.head.tick,
            _ => break,
        }
    }
    found.truncate(limit);
    Ok(found)
}

/// The number of rows of an interval, and the sum of their checksums.
pub(super) struct Sums {
    pub(super) tick: u64,
    pub(super) count: u64,
    pub(super) sum: i64,
}

/// Reads the sums of the intervals between two ticks.
pub(super) fn sums<D: Database>(
    database: &mut D,
    from: u64,
    to: u64,
) -> Result<Vec<Sums>, StoreError> {
    let sql = "SELECT tick, COUNT(*), CAST(SUM(checksum) AS BIGINT) FROM ledger \
               WHERE tick >= $1 AND tick <= $2 GROUP BY tick ORDER BY tick";
    query(database, "ledger", sql, &[from.into(), to.into()], |row| {
        Ok(Sums {
            tick: row.count()?,
            count: row.count()?,
            sum: row.integer()?,
        })
    })
}

/// Number of rows per step.
const ROWS: usize = 10_000;

/// Reads rows of the ledger. Filters those of one queue from all rows: otherwise a row whose queue
/// was changed would go unnoticed.
pub(super) fn read_ledger<D: Database>(
    database: &mut D,
    wanted: &LedgerQuery,
    last: u64,
) -> Result<Vec<LedgerRow>, StoreError> {
    let Some(queue) = &wanted.queue else {
        return read_rows(database, wanted, last);
    };
    let mut step = LedgerQuery {
        queue: None,
        limit: ROWS,
        ..wanted.clone()
    };
    let mut found = Vec::new();
    while found.len() < wanted.limit {
        let rows = read_rows(database, &step, last)?;
        let end = rows.last().map(|row| (row.tick, row.row.queue.clone()));
        let whole = rows.len() < ROWS;
        found.extend(rows.into_iter().filter(|row| row.row.queue == *queue));
        match end {
            Some(end) if !whole => step.after = end,
            _ => break,
        }
    }
    found.truncate(wanted.limit);
    Ok(found)
}

/// Reads rows of all queues. Reads whole intervals, because an index may hold a row in the wrong
/// place.
fn read_rows<D: Database>(
    database: &mut D,
    wanted: &LedgerQuery,
    last: u64,
) -> Result<Vec<LedgerRow>, StoreError> {
    let (tick, queue) = (wanted.after.0, &wanted.after.1);
    let mut rows = Vec::new();
    let mut from = tick;
    if !queue.is_empty() {
        rows = any_rows(database, (tick, tick), usize::MAX)?;
        from = tick + 1;
    }
    let mut rest = any_rows(database, (from, wanted.until), wanted.limit)?;
    let mut until = wanted.until.min(last);
    if rest.len() >= wanted.limit
        && let Some(end) = rest.last().map(|row| row.tick)
    {
        rest.retain(|row| row.tick < end);
        rest.extend(any_rows(database, (end, end), usize::MAX)?);
        until = end;
    }
    rows.extend(rest);
    check_rows(database, &rows, (tick.max(1), until), last)?;
    rows.retain(|row| (row.tick, &row.row.queue) > (tick, queue));
    rows.truncate(wanted.limit);
    Ok(rows)
}

/// Compares all rows between two ticks with the sums of their intervals, so that a missing, changed
/// or doubled row is found.
fn check_rows<D: Database>(
    database: &mut D,
    rows: &[LedgerRow],
    (from, until): (u64, u64),
    last: u64,
) -> Result<(), StoreError> {
    let mut rest = rows;
    for interval in intervals(database, from - 1, until, usize::MAX, last)? {
        let tick = interval.head.tick;
        let own = rest.iter().take_while(|row| row.tick == tick).count();
        let (own, others) = rest.split_at(own);
        let sum: i64 = own.iter().map(|row| of_row(&cells_of_row(row))).sum();
        if (own.len() as u64, sum) != (interval.count, interval.sum) {
            let what = format!("rows of interval {tick} are not those that were written");
            return Err(damaged("ledger", what));
        }
        rest = others;
    }
    let place = |row: &LedgerRow| (row.tick, row.row.queue.clone());
    let ordered = rows.windows(2).all(|two| place(&two[0]) < place(&two[1]));
    if !rest.is_empty() || !ordered {
        let what = format!("rows of intervals {from} to {until} are in no order");
        return Err(damaged("ledger", what));
    }
    Ok(())
}

/// Columns of `ledger`, in the order in which they are written.
const LEDGER: &str = "SELECT tick, queue, rate, map_quota, reduce_quota, map_used_ms, \
                      reduce_used_ms, income, debit, balance, map_unpaid_ms, \
                      reduce_unpaid_ms, am_ms, checksum FROM ledger \
                      WHERE tick >= $1 AND tick <= $2 ORDER BY tick, queue LIMIT $3";

fn row_of(row: &mut Columns) -> Result<LedgerRow, StoreError> {
    Ok(LedgerRow {
        tick: row.count()?,
        row: Row {
            queue: row.text()?,
            rate: row.credits()?,
            quota: [row.count()?, row.count()?],
            used_slot_ms: [row.integer()?, row.integer()?],
            income: row.credits()?,
            debit: row.credits()?,
            balance: row.credits()?,
            unpaid_slot_ms: [row.integer()?, row.integer()?],
            am_ms: row.integer()?,
        },
    })
}

/// Columns of `grants`, in the order in which they are written.
const GRANTS: &str = "SELECT number, at_ms, kind, queue, amount, granted_by, why, checksum \
                      FROM grants WHERE number > $1 ORDER BY number LIMIT $2";

/// Reads grants and forfeits after a number; `last` is the last of all.
pub(super) fn read_grants<D: Database>(
    database: &mut D,
    after: u64,
    limit: usize,
    last: u64,
) -> Result<Vec<GrantRecord>, StoreError> {
    let parameters = [after.into(), (limit as u64).into()];
    let grants = query_summed(database, "grants", GRANTS, &parameters, checksum, grant_of)?;
    let mut end = after;
    for grant in &grants {
        if grant.number != end + 1 || grant.number > last {
            return Err(damaged("grants", format!("no number {}", end + 1)));
        }
        end = grant.number;
    }
    if grants.len() < limit && end < last {
        return Err(damaged("grants", format!("no number {}", end + 1)));
    }
    Ok(grants)
}

fn grant_of(row: &mut Columns) -> Result<GrantRecord, StoreError> {
    let (number, at_ms, kind) = (row.count()?, row.integer()?, row.text()?);
    let kind = match kind.as_str() {
        "granted" => GrantKind::Granted,
        "forfeited" => GrantKind::Forfeited,
        _ => return Err(row.wrong(&kind)),
    };
    Ok(GrantRecord {
        number,
        at_ms,
        kind,
        queue: row.text()?,
        amount: row.credits()?,
        by: row.text()?,
        why: row.text()?,
    })
}

/// Reads rows between two ticks, and verifies their checksums.
fn any_rows<D: Database>(
    database: &mut D,
    (from, to): (u64, u64),
    limit: usize,
) -> Result<Vec<LedgerRow>, StoreError> {
    let parameters = [from.into(), to.into(), (limit as u64).into()];
    query_summed(database, "ledger", LEDGER, &parameters, of_row, row_of)
}

/// Reads rows after a place without checking: they may have no checksums yet.
pub(super) fn unsealed_rows<D: Database>(
    database: &mut D,
    after: &(u64, String),
    limit: usize,
) -> Result<Vec<LedgerRow>, StoreError> {
    let sql = "SELECT tick, queue, rate, map_quota, reduce_quota, map_used_ms, reduce_used_ms, \
               income, debit, balance, map_unpaid_ms, reduce_unpaid_ms, am_ms FROM ledger \
               WHERE tick >= $1 AND (tick > $1 OR queue > $2) ORDER BY tick, queue LIMIT $3";
    let parameters = [
        after.0.into(),
        after.1.as_str().into(),
        (limit as u64).into(),
    ];
    query(database, "ledger", sql, &parameters, row_of)
}

/// Reads intervals after a tick without checking.
pub(super) fn any_intervals<D: Database>(
    database: &mut D,
    after: u64,
    limit: usize,
) -> Result<Vec<IntervalHead>, StoreError> {
    let parameters = [after.into(), i64::MAX.into(), (limit as u64).into()];
    let found = query(database, "intervals", INTERVALS, &parameters, sealed)?;
    Ok(found.into_iter().map(|interval| interval.head).collect())
}

/// Reads grants after a number without checking.
pub(super) fn any_grants<D: Database>(
    database: &mut D,
    after: u64,
    limit: usize,
) -> Result<Vec<GrantRecord>, StoreError> {
    let parameters = [after.into(), (limit as u64).into()];
    query(database, "grants", GRANTS, &parameters, grant_of)
}
