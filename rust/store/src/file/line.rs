//! Lines of the log and what a look at the bytes makes of them: eight hexadecimal digits of
//! CRC-32, a blank, JSON, a line feed. Finds out whether bad bytes are the torn end of a write
//! that a crash cut short, or damage to what was written. Opens no file.

use crate::Book;
use crate::error::StoreError;
use crate::record::{Batch, Epoch, GrantRecord, Interval, Page};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The newest version of the log that this Heddle knows.
pub(super) const VERSION: u32 = 2;

/// What a line of the log says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Record {
    /// The first line.
    Version(u32),
    /// Somebody took over.
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
    /// What another store has kept of the past.
    Page(Page),
    /// The books of another store, after its past.
    Book(Box<Book>),
}

/// A line with its checksum.
pub(super) fn encode<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("our records have texts for keys");
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// What a whole line says; nothing if the line is not one that was written.
pub(super) fn decode<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let line = line.strip_suffix(b"\n")?;
    let (sum, json) = line.split_at_checked(9)?;
    let sum = std::str::from_utf8(sum.strip_suffix(b" ")?).ok()?;
    if u32::from_str_radix(sum, 16).ok()? != crc32fast::hash(json) {
        return None;
    }
    serde_json::from_slice(json).ok()
}

/// Whether something that was written whole is anywhere in `bytes`, also if the line feed before
/// it is damaged.
pub(super) fn any_valid(bytes: &[u8]) -> bool {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.any(|line| {
        let mut blanks = line.iter().enumerate().filter(|(_, byte)| **byte == b' ');
        blanks.any(|(blank, _)| blank >= 8 && decode::<Record>(&line[blank - 8..]).is_some())
    })
}

/// The complaint about a line.
pub(super) fn damaged(path: &Path, line: u64, reason: &str) -> StoreError {
    StoreError::Corrupt {
        place: format!("{}, line {line}", path.display()),
        reason: reason.to_string(),
    }
}
