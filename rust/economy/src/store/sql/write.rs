//! Statements that write. Each inserts many rows, so that a commit of thousands of queues takes a
//! few round trips. Their order is irrelevant inside the caller's transaction.

use super::checksum::{checksum, of_book, of_row};
use super::{Cell, Database};
use crate::record::{GrantKind, GrantRecord, IntervalHead, LedgerRow, Page};
use crate::store::book::{Book, Writes};
use crate::store::error::StoreError;
use std::fmt::Write;

/// Limit of parameters per statement; PostgreSQL and SQLite accept more than twice as many.
const PARAMETERS_MAX: usize = 10_000;

/// Inserts rows of equal length: `head` is the text before VALUES, `tail` the text after them.
fn insert<D: Database>(
    database: &mut D,
    head: &str,
    rows: Vec<Vec<Cell>>,
    tail: &str,
) -> Result<(), StoreError> {
    let width = rows.first().map_or(1, Vec::len);
    for chunk in rows.chunks(PARAMETERS_MAX / width) {
        let mut sql = format!("{head} VALUES ");
        for row in 0..chunk.len() {
            sql.push_str(if row == 0 { "(" } else { ", (" });
            for column in 0..width {
                let comma = if column == 0 { "" } else { ", " };
                let number = row * width + column + 1;
                write!(sql, "{comma}${number}").expect("a string takes any text");
            }
            sql.push(')');
        }
        sql.push_str(tail);
        database.execute(&sql, &chunk.concat())?;
    }
    Ok(())
}

/// Inserts rows with a checksum of each in its last column.
fn insert_summed<D: Database>(
    database: &mut D,
    head: &str,
    mut rows: Vec<Vec<Cell>>,
    sum: fn(&[Cell]) -> i64,
    tail: &str,
) -> Result<(), StoreError> {
    for row in &mut rows {
        row.push(sum(row).into());
    }
    insert(database, head, rows, tail)
}

/// Writes a whole commit; `book` is the book after it.
pub(super) fn write_all<D: Database>(
    database: &mut D,
    writes: &Writes,
    book: &Book,
) -> Result<(), StoreError> {
    write_head(database, book)?;
    write_accounts(database, writes)?;
    write_rows(database, &writes.rows, "")?;
    write_grants(database, &writes.grants, "")?;
    if let Some(interval) = &writes.interval {
        let sums = writes.rows.iter().map(|row| of_row(&cells_of_row(row)));
        let of_rows = (writes.rows.len() as u64, sums.sum());
        write_intervals(database, &[(*interval, of_rows)], "")?;
    }
    write_security(database, writes)?;
    for key in &writes.forgotten {
        let sql = "DELETE FROM learnt WHERE key_text = $1";
        database.execute(sql, &[key.as_str().into()])?;
    }
    let rows = writes.learnt.iter().map(|(key, learnt)| {
        let value = learnt.value.as_str().into();
        vec![key.as_str().into(), value, learnt.lesson.into()]
    });
    insert(
        database,
        "INSERT INTO learnt (key_text, value, lesson)",
        rows.collect(),
        " ON CONFLICT (key_text) DO UPDATE SET value = excluded.value, lesson = excluded.lesson",
    )
}

fn write_accounts<D: Database>(database: &mut D, writes: &Writes) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    for (name, account) in &writes.accounts {
        let name: Cell = name.as_str().into();
        match account {
            Some(account) => {
                rows.push(vec![
                    name,
                    account.budget.micro().into(),
                    account.rate.micro().into(),
                    account.income.micro().into(),
                ]);
            }
            None => {
                let name = [name];
                database.execute("DELETE FROM queues WHERE name = $1", &name)?;
                let sql = "INSERT INTO closed_queues (name) VALUES ($1) ON CONFLICT DO NOTHING";
                database.execute(sql, &name)?;
            }
        }
    }
    insert(
        database,
        "INSERT INTO queues (name, budget, rate, income)",
        rows,
        " ON CONFLICT (name) DO UPDATE SET budget = excluded.budget, rate = excluded.rate, \
         income = excluded.income",
    )?;
    let sql = "DELETE FROM closed_queues WHERE name IN (SELECT name FROM queues)";
    database.execute(sql, &[]).map(drop)
}

fn write_security<D: Database>(database: &mut D, writes: &Writes) -> Result<(), StoreError> {
    let rows = writes.watermarks.iter();
    let rows = rows.map(|(user, accepted_ms)| vec![user.as_str().into(), (*accepted_ms).into()]);
    insert(
        database,
        "INSERT INTO watermarks (user_name, accepted_ms)",
        rows.collect(),
        " ON CONFLICT (user_name) DO UPDATE SET accepted_ms = excluded.accepted_ms",
    )?;
    if let Some(before_ms) = writes.forget_before_ms {
        let sql = "DELETE FROM nonces WHERE expires_ms < $1";
        database.execute(sql, &[before_ms.into()])?;
    }
    let rows = writes.floors.iter();
    let rows = rows.map(|(user, expires_ms)| vec![user.as_str().into(), (*expires_ms).into()]);
    insert(
        database,
        "INSERT INTO nonce_floors (user_name, expires_ms)",
        rows.collect(),
        " ON CONFLICT (user_name) DO UPDATE SET expires_ms = excluded.expires_ms",
    )?;
    let rows = writes.nonces.iter().map(|((user, nonce), expires_ms)| {
        let (user, nonce) = (user.as_str().into(), nonce.as_str().into());
        vec![user, nonce, (*expires_ms).into()]
    });
    let head = "INSERT INTO nonces (user_name, nonce, expires_ms)";
    insert(database, head, rows.collect(), "")
}

/// Writes the counters, the sums, and the checksum of the whole book.
pub(super) fn write_head<D: Database>(database: &mut D, book: &Book) -> Result<(), StoreError> {
    let sql = "UPDATE head SET epoch = $1, owner = $2, tick = $3, serial = $4, \
               grant_number = $5, lesson = $6, price = $7, granted = $8, debited = $9, \
               forfeited = $10, token = $11, checksum = $12";
    let head = &book.head;
    let parameters = [
        head.epoch.0.into(),
        head.owner.as_str().into(),
        head.tick.into(),
        head.serial.into(),
        head.grant.into(),
        head.lesson.into(),
        head.price.micro().into(),
        Cell::Text(head.totals.granted.to_string()),
        Cell::Text(head.totals.debited.to_string()),
        Cell::Text(head.totals.forfeited.to_string()),
        head.token.into(),
        of_book(book).into(),
    ];
    let touched = database.execute(sql, &parameters)?;
    if touched == 1 {
        return Ok(());
    }
    Err(StoreError::Corrupt {
        place: "table head".to_string(),
        reason: format!("expected 1 row, found {touched}"),
    })
}

/// Adds a page to the past. Intervals get the sums of their rows later, when all are there.
pub(super) fn write_page<D: Database>(database: &mut D, page: &Page) -> Result<(), StoreError> {
    let intervals: Vec<_> = page.intervals.iter().map(|it| (*it, (0, 0))).collect();
    write_intervals(database, &intervals, "")?;
    write_rows(database, &page.rows, "")?;
    write_grants(database, &page.grants, "")
}

/// Writes intervals, each with the number of its rows and the sum of their checksums.
pub(super) fn write_intervals<D: Database>(
    database: &mut D,
    intervals: &[(IntervalHead, (u64, i64))],
    tail: &str,
) -> Result<(), StoreError> {
    let rows = intervals.iter().map(|(interval, (count, sum))| {
        vec![
            interval.tick.into(),
            interval.ticks.into(),
            interval.at_ms.into(),
            interval.price.micro().into(),
            interval.epoch.0.into(),
            (*count).into(),
            (*sum).into(),
        ]
    });
    let head = "INSERT INTO intervals (tick, ticks, at_ms, price, epoch, row_count, row_sum, \
                checksum)";
    insert_summed(database, head, rows.collect(), checksum, tail)
}

pub(super) fn cells_of_row(LedgerRow { tick, row }: &LedgerRow) -> Vec<Cell> {
    vec![
        (*tick).into(),
        row.queue.as_str().into(),
        row.rate.micro().into(),
        i64::from(row.quota[0]).into(),
        i64::from(row.quota[1]).into(),
        row.used_slot_ms[0].into(),
        row.used_slot_ms[1].into(),
        row.income.micro().into(),
        row.debit.micro().into(),
        row.balance.micro().into(),
        row.unpaid_slot_ms[0].into(),
        row.unpaid_slot_ms[1].into(),
        row.am_ms.into(),
    ]
}

pub(super) fn write_rows<D: Database>(
    database: &mut D,
    rows: &[LedgerRow],
    tail: &str,
) -> Result<(), StoreError> {
    let head = "INSERT INTO ledger (tick, queue, rate, map_quota, reduce_quota, map_used_ms, \
                reduce_used_ms, income, debit, balance, map_unpaid_ms, reduce_unpaid_ms, am_ms, \
                checksum)";
    let rows = rows.iter().map(cells_of_row).collect();
    insert_summed(database, head, rows, of_row, tail)
}

pub(super) fn write_grants<D: Database>(
    database: &mut D,
    grants: &[GrantRecord],
    tail: &str,
) -> Result<(), StoreError> {
    let rows = grants.iter().map(|grant| {
        let kind = match grant.kind {
            GrantKind::Granted => "granted",
            GrantKind::Forfeited => "forfeited",
        };
        vec![
            grant.number.into(),
            grant.at_ms.into(),
            kind.into(),
            grant.queue.as_str().into(),
            grant.amount.micro().into(),
            grant.by.as_str().into(),
            grant.why.as_str().into(),
        ]
    });
    let head = "INSERT INTO grants (number, at_ms, kind, queue, amount, granted_by, why, checksum)";
    insert_summed(database, head, rows.collect(), checksum, tail)
}

/// Writes a whole book into empty tables.
pub(super) fn write_book<D: Database>(database: &mut D, book: &Book) -> Result<(), StoreError> {
    let accounts = book.accounts.iter();
    let mut writes = Writes {
        head: book.head.clone(),
        accounts: accounts.map(|(n, a)| (n.clone(), Some(*a))).collect(),
        watermarks: book.watermarks.clone(),
        floors: book.floors.clone(),
        learnt: book.learnt.clone(),
        ..Writes::default()
    };
    let closed = book.closed.iter();
    writes
        .accounts
        .extend(closed.map(|name| (name.clone(), None)));
    for (user, nonces) in &book.nonces {
        let nonces = nonces.iter();
        let nonces = nonces.map(|(nonce, expires)| ((user.clone(), nonce.clone()), *expires));
        writes.nonces.extend(nonces);
    }
    write_all(database, &writes, book)
}
