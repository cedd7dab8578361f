//! Where a journal is, and how it is recorded.

use std::path::PathBuf;

/// A journal's default bound.
pub const BYTES_MAX_DEFAULT: u64 = 1 << 30;

/// Where and how to record.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The start of the files' names.
    pub path: PathBuf,
    /// Bound of all files with such names.
    pub bytes_max: u64,
    /// Whether blocks are compressed.
    pub compress: bool,
    /// Whether the caller waits for a slow disk. Only for copies: a heartbeat must not.
    pub wait: bool,
}

impl Settings {
    /// A compressed journal of the default size.
    pub fn at(path: impl Into<PathBuf>) -> Settings {
        Settings {
            path: path.into(),
            bytes_max: BYTES_MAX_DEFAULT,
            compress: true,
            wait: false,
        }
    }
}
