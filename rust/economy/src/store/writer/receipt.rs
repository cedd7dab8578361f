//! The receipt for a batch: reports its outcome and can withdraw it.

use super::Desk;
use crate::store::error::StoreError;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Reports the outcome of a batch. A caller may wait for it, but not on the scheduling thread.
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

    /// Returns the outcome of the batch, or `None` if it is unknown after `patience`. Such a batch
    /// may still be written.
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

    /// Withdraws a batch whose caller has timed out. Returns false if the batch is or may be
    /// written already, or if a later item follows from it. A host with a lock over engine and
    /// writer holds it over this call, too, because the engine must undo the batch as well. Costs
    /// as much as handing over all pending items again.
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
