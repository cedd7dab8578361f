//! What somebody who handed over changes holds: word of them, and a way to take them back.

use super::Desk;
use crate::error::StoreError;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Word of changes that were handed over. May be waited for, but not on the scheduling thread.
pub struct Receipt {
    heard: Receiver<Result<(), StoreError>>,
    desk: Weak<Desk>,
    number: u64,
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receipt({})", self.number)
    }
}

impl Receipt {
    pub(super) fn new(
        heard: Receiver<Result<(), StoreError>>,
        desk: &Arc<Desk>,
        number: u64,
    ) -> Receipt {
        Receipt {
            heard,
            desk: Arc::downgrade(desk),
            number,
        }
    }

    /// What has become of the changes; nothing if that is not known within `patience`. Those
    /// of which nothing is known yet may still be written.
    pub fn wait(&self, patience: Duration) -> Option<Result<(), StoreError>> {
        match self.heard.recv_timeout(patience) {
            Ok(result) => Some(result),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let why = "the writer ended before it was written".to_string();
                Some(Err(StoreError::Unavailable(why)))
            }
        }
    }

    /// Takes the changes back, for who waits for them no more. Gives whether they will not be
    /// written: not if they are or may be already, or if something that was handed over since
    /// follows from them. Who holds a lock over the engine and the writer holds it over this, too,
    /// as the engine has to take them back as well. Costs as much as handing over all that waits.
    pub fn withdraw(&self) -> bool {
        let Some(desk) = self.desk.upgrade() else {
            return false;
        };
        let stored = desk.stored.lock();
        let mut shared = desk.shared.lock();
        if !shared.is_open() {
            return false;
        }
        let mut projected = stored.clone();
        let rest = shared.pending.without(self.number);
        if !rest.is_some_and(|mut rest| rest.all(|item| projected.item(item).is_ok())) {
            return false;
        }
        shared.pending.withdraw(self.number);
        shared.projected = Some(projected);
        desk.done.notify_all();
        true
    }
}
