//! A lower bound of how far a store was written: its counters after the last commit, in a small
//! file beside it. A log or a write-ahead log that lost its end looks like a good one of an earlier
//! day; this file reveals the loss. It is written after each commit and not synced, so it may lag
//! behind and never leads. It is read before the store, because others may write to the store
//! meanwhile.

use crate::record::Head;
use crate::store::error::StoreError;
use crate::store::file::line::{decode, encode};
use crate::store::private;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// The counters that tell an earlier state from a later one.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Reached {
    epoch: u64,
    tick: u64,
    serial: u64,
}

pub(crate) struct Mark(PathBuf);

impl Mark {
    pub(crate) fn at(path: PathBuf) -> Mark {
        Mark(path)
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.0
    }

    pub(crate) fn exists(&self) -> bool {
        self.0.exists()
    }

    /// Notes a commit. A mark that cannot be written stays behind and detects less.
    pub(crate) fn set(&self, head: &Head) {
        let line = encode(&Reached {
            epoch: head.epoch.0,
            tick: head.tick,
            serial: head.serial,
        });
        let file = private::options().create(true).truncate(true).open(&self.0);
        let _stays_behind = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    /// Reads how far the store was written by now. A missing mark, or one cut by a crash, yields
    /// zeros.
    pub(crate) fn read(&self) -> Reached {
        let line = fs::read(&self.0).unwrap_or_default();
        decode(&line).unwrap_or_default()
    }

    /// Checks that a store with these counters has everything up to the mark. The counters must be
    /// read after the mark.
    pub(crate) fn check(
        &self,
        reached: &Reached,
        head: &Head,
        place: &str,
    ) -> Result<(), StoreError> {
        if head.epoch.0 >= reached.epoch
            && head.tick >= reached.tick
            && head.serial >= reached.serial
        {
            return Ok(());
        }
        Err(StoreError::Corrupt {
            place: place.to_string(),
            reason: format!(
                "it ends with interval {} and batch {}, and was written up to interval {} and \
                 batch {}; if an old copy was put back on purpose, remove {}",
                head.tick,
                head.serial,
                reached.tick,
                reached.serial,
                self.0.display()
            ),
        })
    }
}
