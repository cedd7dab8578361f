//! Checksums of rows and of the whole book. Reads and writes nothing.

use super::Cell;
use crate::book::Book;
use crc32fast::Hasher;

/// In `head`: the tables were made before there were checksums.
pub(super) const UNSEALED: i64 = -1;

/// Of a row's columns, in the order in which they are written.
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

/// Of all that a book holds. A field that is added to it needs a version of the tables that writes
/// this anew.
pub(super) fn of_book(book: &Book) -> i64 {
    let json = serde_json::to_vec(book).expect("our records have texts for keys");
    crc32fast::hash(&json).into()
}
