//! Reads ledger pages older than the in-memory window from the store, one page at a time. Each read
//! runs on the thread of its request with a connection of its own, so neither the writer nor the
//! engine waits for it. Writes nothing.

use crate::http::{Older, Wanted};
use crate::store::{Extract, Span, Store, extract};
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// How long a request waits for another one's page.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long after a failure all requests get the same error. A store out of reach must not hold one
/// thread of the web server after the other.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Reader(Mutex<Reading>);

struct Reading {
    store: Box<dyn Store>,
    /// When the last page failed, and why.
    failed: Option<(Instant, String)>,
}

impl Reader {
    /// Takes a store that nothing else uses. Touches it only for the first page.
    pub(crate) fn new(store: Box<dyn Store>) -> Reader {
        let failed = None;
        Reader(Mutex::new(Reading { store, failed }))
    }

    /// Reads a page, or says why there is none.
    pub(crate) fn page(&self, wanted: &Wanted) -> Result<Older, String> {
        let Some(mut reading) = self.0.try_lock_for(PATIENCE) else {
            return Err("another request is still reading the store".to_string());
        };
        if let Some((at, why)) = &reading.failed
            && at.elapsed() < PAUSE
        {
            return Err(why.clone());
        }
        let span = Span {
            from: wanted.from,
            before: wanted.before,
            from_ms: signed(wanted.from_ms),
            to_ms: signed(wanted.to_ms),
            queues: wanted.queues.clone(),
            rows: wanted.rows,
        };
        let page = extract(reading.store.as_mut(), &span).map_err(|error| error.to_string());
        let failed = page.as_ref().err().cloned();
        reading.failed = failed.map(|why| (Instant::now(), why));
        page.map(told)
    }
}

fn told(page: Extract) -> Older {
    Older {
        intervals: page.intervals.iter().map(super::marks::stored).collect(),
        next: page.next.map(|head| (head.tick, head.at_ms.max(0) as u64)),
        reaches: page.reaches,
        cut: page.cut.map(|head| (head.first(), head.tick)),
    }
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
