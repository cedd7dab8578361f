//! Reads ledger pages older than the in-memory window from the store, one page at a time. Each read
//! runs on the thread of its request with a connection of its own, so neither the writer nor the
//! engine waits for it. Writes nothing.

use crate::record::{Extract, Span};
use crate::store::{Store, extract};
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// How long a request waits for another one's page.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long after a failure all requests get the same error. A store out of reach must not hold one
/// thread of the web server after the other.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Reader(Mutex<ReaderState>);

struct ReaderState {
    store: Box<dyn Store>,
    /// When the last page failed, and why.
    failed: Option<(Instant, String)>,
}

impl Reader {
    /// Takes a store that nothing else uses. Touches it only for the first page.
    pub(crate) fn new(store: Box<dyn Store>) -> Reader {
        let failed = None;
        Reader(Mutex::new(ReaderState { store, failed }))
    }

    /// Reads a page, or says why there is none.
    pub(crate) fn page(&self, span: &Span) -> Result<Extract, String> {
        let Some(mut reading) = self.0.try_lock_for(PATIENCE) else {
            return Err("another request is still reading the store".to_string());
        };
        if let Some((at, why)) = &reading.failed
            && at.elapsed() < PAUSE
        {
            return Err(why.clone());
        }
        let page = extract(reading.store.as_mut(), span).map_err(|error| error.to_string());
        let failed = page.as_ref().err().cloned();
        reading.failed = failed.map(|why| (Instant::now(), why));
        page
    }
}
