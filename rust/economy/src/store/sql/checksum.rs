//! Checksums of rows and of the whole book. Does no input or output.

use super::Cell;
use crate::store::book::Book;
use crc32fast::Hasher;

/// The checksum in `head` of tables from before the introduction of checksums.
pub(super) const UNSEALED: i64 = -1;

/// The columns `map_unpaid_ms`, `reduce_unpaid_ms` and `am_ms` of the ledger.
const LATER_COLUMNS: usize = 3;

/// Returns the checksum of a row's columns, in the order in which they are written.
pub(super) fn checksum(cells: &[Cell]) -> i64 {
    let mut sum = Hasher::new();
    for cell in cells {
        match cell {
            Cell::Integer(value) => {
                sum.update(b"i");
                sum.update(&value.to_le_bytes());
            }
            Cell::Text(text) => {
                sum.update(b"t");
                sum.update(&(text.len() as u64).to_le_bytes());
                sum.update(text.as_bytes());
            }
        }
    }
    sum.finalize().into()
}

/// Returns the checksum of a row of the ledger. Its last columns were added later: they count only
/// if one is not 0, so that older rows keep their checksums.
pub(super) fn of_row(cells: &[Cell]) -> i64 {
    let (first, later) = cells.split_at(cells.len().saturating_sub(LATER_COLUMNS));
    match later.iter().all(|cell| *cell == Cell::Integer(0)) {
        true => checksum(first),
        false => checksum(cells),
    }
}

/// Returns the checksum of a whole book. A new field in `Book` needs a new version of the tables
/// that recomputes it.
pub(super) fn of_book(book: &Book) -> i64 {
    let json = serde_json::to_vec(book).expect("our records have texts for keys");
    crc32fast::hash(&json).into()
}
