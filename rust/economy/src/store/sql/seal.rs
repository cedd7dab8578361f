//! Adds checksums to tables from before their introduction. CRC-32 detects every single flipped
//! bit, and all damage within 32 bits. It protects nothing against deliberate changes.

use super::Database;
use super::checksum::UNSEALED;
use super::read::{
    any_grants, any_intervals, read_book, read_checksum, read_head, sums, unsealed_rows,
};
use super::write::{write_grants, write_head, write_intervals, write_rows};
use crate::store::error::StoreError;

/// Number of rows per step.
const PAGE: usize = 10_000;

/// Tells whether the tables have their checksums.
pub(super) fn is_sealed<D: Database>(database: &mut D) -> Result<bool, StoreError> {
    Ok(read_checksum(database)? != UNSEALED)
}

/// Adds the missing checksums; the caller holds the lock.
pub(super) fn seal<D: Database>(database: &mut D) -> Result<(), StoreError> {
    // Another process may have been faster.
    if is_sealed(database)? {
        return Ok(());
    }
    let mut after = (0, String::new());
    loop {
        let rows = unsealed_rows(database, &after, PAGE)?;
        let Some(last) = rows.last() else { break };
        after = (last.tick, last.row.queue.clone());
        let again = " ON CONFLICT (tick, queue) DO UPDATE SET checksum = excluded.checksum";
        write_rows(database, &rows, again)?;
    }
    seal_intervals(database)?;
    let mut after = 0;
    loop {
        let grants = any_grants(database, after, PAGE)?;
        let Some(last) = grants.last() else { break };
        after = last.number;
        let again = " ON CONFLICT (number) DO UPDATE SET checksum = excluded.checksum";
        write_grants(database, &grants, again)?;
    }
    let head = read_head(database, "")?;
    let book = read_book(database, head)?;
    write_head(database, &book)
}

/// Gives intervals the sums of their rows, all of which exist and have their checksums.
pub(super) fn seal_intervals<D: Database>(database: &mut D) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let intervals = any_intervals(database, after, PAGE)?;
        let Some(last) = intervals.last() else {
            return Ok(());
        };
        let of_rows = sums(database, after + 1, last.tick)?;
        after = last.tick;
        let mut of_rows = of_rows.into_iter().peekable();
        let mut sealed = Vec::new();
        for interval in intervals {
            let own = of_rows.next_if(|it| it.tick == interval.tick);
            sealed.push((interval, own.map_or((0, 0), |it| (it.count, it.sum))));
        }
        let again = " ON CONFLICT (tick) DO UPDATE SET row_count = excluded.row_count, \
                     row_sum = excluded.row_sum, checksum = excluded.checksum";
        write_intervals(database, &sealed, again)?;
    }
}
