//! The settings of a journal: its place, its bound, and how it is recorded.

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
    /// If set, a full recording at least this old, in ms, asks for a new engine, which begins the
    /// next one. Each recording then has at most half of the bound.
    pub renew_ms: Option<u64>,
    /// Whether blocks are compressed.
    pub compress: bool,
    /// Whether the caller waits for a slow disk. Only for copies: a heartbeat must not.
    pub wait: bool,
}

impl Settings {
    /// Bound of one recording, in bytes.
    pub(super) fn recording_bytes_max(&self) -> u64 {
        match self.renew_ms {
            Some(_) => self.bytes_max / 2,
            None => self.bytes_max,
        }
    }

    /// A compressed journal of the default size.
    pub fn at(path: impl Into<PathBuf>) -> Settings {
        Settings {
            path: path.into(),
            bytes_max: BYTES_MAX_DEFAULT,
            renew_ms: None,
            compress: true,
            wait: false,
        }
    }
}
