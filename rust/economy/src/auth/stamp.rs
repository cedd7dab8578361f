//! States of watched files: tells one from the next, and reads a file in one of them.

use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Identifies a state of a file. Includes mode and owner, so that a file refused for them is read
/// again after `chmod` or `chown`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    modified: (i64, i64),
    size: u64,
    inode: (u64, u64),
    mode: u32,
    owner: u32,
}

impl Stamp {
    /// Returns the state in which a file was found.
    pub fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            size: metadata.size(),
            inode: (metadata.dev(), metadata.ino()),
            mode: metadata.mode(),
            owner: metadata.uid(),
        }
    }

    /// Returns the state of a file of which only its date and size are known.
    pub fn elsewhere(modified_ms: i64, size: u64) -> Stamp {
        let nanos = modified_ms.rem_euclid(1_000) * 1_000_000;
        Stamp {
            modified: (modified_ms.div_euclid(1_000), nanos),
            size,
            inode: (0, 0),
            mode: 0,
            owner: 0,
        }
    }

    /// Returns when the contents were changed, in ms since 1970.
    pub fn modified_ms(&self) -> i64 {
        let (seconds, nanos) = self.modified;
        seconds
            .saturating_mul(1_000)
            .saturating_add(nanos / 1_000_000)
    }

    /// Reads the contents, at most `bytes_max` bytes and one more. The second value is false if
    /// the file was not in this state all the time. Opening a pipe waits for its writer, so a
    /// caller checks the file before, and `check` once more after the opening.
    ///
    /// # Errors
    /// That of `check`, and what `unreadable` makes of an I/O error.
    pub fn read<E>(
        &self,
        path: &Path,
        bytes_max: u64,
        check: impl Fn(&Metadata) -> Result<(), E>,
        unreadable: impl Fn(&io::Error) -> E,
    ) -> Result<(Vec<u8>, bool), E> {
        let open = File::open(path).map_err(|error| unreadable(&error))?;
        let metadata = || open.metadata().map_err(|error| unreadable(&error));
        let before = metadata()?;
        check(&before)?;
        let mut contents = Vec::new();
        (&open)
            .take(bytes_max + 1)
            .read_to_end(&mut contents)
            .map_err(|error| unreadable(&error))?;
        let same = Stamp::of(&before) == *self && Stamp::of(&metadata()?) == *self;
        let whole = contents.len() as u64 == self.size.min(bytes_max + 1);
        Ok((contents, same && whole))
    }
}
