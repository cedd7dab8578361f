//! The format of log lines: eight hexadecimal digits of CRC-32, a blank, the same of the line
//! before, a blank, JSON, a line feed. So a lost, doubled or moved line is always detected. The
//! first line, and files of one line, have no line before. Tells the torn end of a write that a
//! crash cut short from damage to written lines. Opens no file.

use crate::record::{Batch, Epoch, GrantRecord, Interval, Page};
use crate::store::Book;
use crate::store::error::StoreError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The newest version of the log that this Heddle knows. Lines of versions 1 and 2 stand alone. Up
/// to version 3, rows have no use that nobody paid for.
pub(super) const VERSION: u32 = 4;
/// From this version on, lines name the line before them.
pub(super) const CHAINED: u32 = 3;

/// The content of a log line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Record {
    /// The first line.
    Version(u32),
    /// A ResourceManager took over.
    TakeOver {
        epoch: Epoch,
        owner: String,
        #[serde(default)]
        token: u64,
    },
    /// An interval was committed, with these grants and forfeits.
    Interval(Interval, Vec<GrantRecord>),
    /// Changes were committed, with these grants and forfeits.
    Changes(Batch, Vec<GrantRecord>),
    /// A page of another store's past.
    Page(Page),
    /// The books of another store, after its past.
    Book(Box<Book>),
}

/// A decoded line.
pub(super) struct Line<T> {
    /// Its checksum.
    pub(super) sum: u32,
    /// The checksum of the line before it, if it has one.
    pub(super) before: Option<u32>,
    pub(super) value: T,
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("our records have texts for keys")
}

/// Encodes a line that stands alone, with its checksum.
pub(crate) fn encode<T: Serialize>(value: &T) -> String {
    let json = json(value);
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// Encodes a line that follows the one with the checksum `before`; also returns its checksum.
pub(super) fn chained<T: Serialize>(before: u32, value: &T) -> (String, u32) {
    let text = format!("{before:08x} {}", json(value));
    let sum = crc32fast::hash(text.as_bytes());
    (format!("{sum:08x} {text}\n"), sum)
}

/// Splits a number and its blank from the text after them.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(9)?;
    let digits = std::str::from_utf8(digits.strip_suffix(b" ")?).ok()?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}

/// Decodes a whole line; `None` if the line is damaged.
pub(super) fn read<T: DeserializeOwned>(line: &[u8]) -> Option<Line<T>> {
    let (sum, text) = number(line.strip_suffix(b"\n")?)?;
    if sum != crc32fast::hash(text) {
        return None;
    }
    let (before, json) = match number(text) {
        Some((before, json)) if text.first() != Some(&b'{') => (Some(before), json),
        _ => (None, text),
    };
    let value = serde_json::from_slice(json).ok()?;
    Some(Line { sum, before, value })
}

/// Decodes a line that stands alone.
pub(crate) fn decode<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let line = read(line).filter(|line| line.before.is_none())?;
    Some(line.value)
}

/// Tells whether `bytes` contain a whole line anywhere, even after a damaged line feed.
pub(super) fn any_valid(bytes: &[u8]) -> bool {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.any(|line| {
        let mut blanks = line.iter().enumerate().filter(|(_, byte)| **byte == b' ');
        blanks.any(|(blank, _)| blank >= 8 && read::<Record>(&line[blank - 8..]).is_some())
    })
}

/// Tells whether `bytes` begin like a page. A page is on the disk before the log gets its name, so
/// a crash cannot tear one.
pub(super) fn is_page(bytes: &[u8]) -> bool {
    let begins = |from: usize| {
        bytes
            .get(from..)
            .is_some_and(|b| b.starts_with(b"{\"Page\""))
    };
    begins(9) || begins(18)
}

/// Returns the error for a damaged line.
pub(super) fn damaged(path: &Path, line: u64, reason: &str) -> StoreError {
    StoreError::Corrupt {
        place: format!("{}, line {line}", path.display()),
        reason: reason.to_string(),
    }
}

/// Applies a record of the log to the books.
pub(super) fn follow(book: &mut Book, record: Record) -> Result<(), StoreError> {
    let writes = match record {
        Record::Version(_) | Record::Page(_) => None,
        Record::TakeOver {
            epoch,
            owner,
            token,
        } => {
            book.head.epoch = epoch;
            book.head.owner = owner;
            book.head.token = token;
            None
        }
        Record::Interval(interval, _) => book.plan_interval(&interval)?,
        Record::Changes(batch, _) => book.plan_changes(&batch)?,
        Record::Book(other) => {
            *book = *other;
            None
        }
    };
    if let Some(writes) = writes {
        book.apply(&writes);
    }
    Ok(())
}
