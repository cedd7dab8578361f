//! Checksums of rows and of the whole book. Does no input or output.

use super::Cell;
use crate::store::book::Book;
use crc32fast::Hasher;

/// The checksum in `head` of tables from before the introduction of checksums.
pub(super) const UNSEALED: i64 = -1;

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

/// Returns the checksum of a whole book. A new field in `Book` needs a new version of the tables
/// that recomputes it.
pub(super) fn of_book(book: &Book) -> i64 {
    let json = serde_json::to_vec(book).expect("our records have texts for keys");
    crc32fast::hash(&json).into()
}
