//! Queries, and what becomes of their rows. A value that nobody can have written is an error
//! that names its table; nothing is corrected.

use super::{Cell, Database};
use crate::book::{Book, Learnt};
use crate::error::StoreError;
use crate::record::{
    Account, Epoch, GrantKind, GrantRecord, Head, IntervalHead, LedgerQuery, LedgerRow, Price, Row,
};
use heddle_core::share::dynamic_priority::account::{Credits, Totals};
use std::ops::RangeInclusive;

/// A row that is taken apart column by column.
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
        // What is out of range would be moved into it, unseen.
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

/// The counters and sums; with a `lock`, nobody else writes until the transaction ends.
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

/// Everything but the past, checked.
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
    Ok(book)
}

/// Heads of intervals after a tick. There is no index by time: the first page of a late range reads
/// through the heads of what was before it.
pub(super) fn read_intervals<D: Database>(
    database: &mut D,
    after: u64,
    times_ms: RangeInclusive<i64>,
    limit: usize,
) -> Result<Vec<IntervalHead>, StoreError> {
    let sql = "SELECT tick, ticks, at_ms, price, epoch FROM intervals WHERE tick > $1 \
               AND at_ms >= $2 AND at_ms <= $3 ORDER BY tick LIMIT $4";
    let (from_ms, to_ms) = times_ms.into_inner();
    let parameters = [
        after.into(),
        from_ms.into(),
        to_ms.into(),
        (limit as u64).into(),
    ];
    query(database, "intervals", sql, &parameters, |row| {
        Ok(IntervalHead {
            tick: row.count()?,
            ticks: row.count()?,
            at_ms: row.integer()?,
            price: row.price()?,
            epoch: Epoch(row.count()?),
        })
    })
}

/// Rows of the ledger.
pub(super) fn read_ledger<D: Database>(
    database: &mut D,
    wanted: &LedgerQuery,
) -> Result<Vec<LedgerRow>, StoreError> {
    let (tick, queue) = &wanted.after;
    let mut parameters = vec![
        (*tick).into(),
        queue.as_str().into(),
        wanted.until.into(),
        (wanted.limit as u64).into(),
    ];
    let only = match &wanted.queue {
        Some(queue) => {
            parameters.push(queue.as_str().into());
            "AND queue = $5"
        }
        None => "",
    };
    let sql = format!(
        "SELECT tick, queue, rate, map_quota, reduce_quota, map_used_ms, reduce_used_ms, \
         income, debit, balance FROM ledger \
         WHERE tick >= $1 AND (tick > $1 OR queue > $2) AND tick <= $3 {only} \
         ORDER BY tick, queue LIMIT $4"
    );
    query(database, "ledger", &sql, &parameters, |row| {
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
            },
        })
    })
}

/// Grants and forfeits after a number.
pub(super) fn read_grants<D: Database>(
    database: &mut D,
    after: u64,
    limit: usize,
) -> Result<Vec<GrantRecord>, StoreError> {
    let sql = "SELECT number, at_ms, kind, queue, amount, granted_by, why FROM grants \
               WHERE number > $1 ORDER BY number LIMIT $2";
    let parameters = [after.into(), (limit as u64).into()];
    query(database, "grants", sql, &parameters, |row| {
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
    })
}
