//! What queues use in one world, now and as a mean over the time.

use heddle_core::words::ids::Millis;
use heddle_core::words::resource::Resource;
use std::collections::BTreeMap;

/// What one queue uses.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    now: Resource,
    /// MB times milliseconds until `until_ms`.
    mb_ms: i128,
    until_ms: Millis,
}

impl Use {
    fn add_up(&mut self, now_ms: Millis) {
        let mb = i128::from(self.now.0[0]);
        self.mb_ms += mb * i128::from((now_ms - self.until_ms).max(0));
        self.until_ms = self.until_ms.max(now_ms);
    }
}

/// The queues of one world, by path.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    queues: BTreeMap<String, Use>,
    pub(crate) grants: u64,
    pub(crate) preemptions: u64,
}

impl Usage {
    fn queue(&mut self, path: &str, now_ms: Millis) -> &mut Use {
        if !self.queues.contains_key(path) {
            let new = Use {
                until_ms: now_ms,
                ..Use::default()
            };
            self.queues.insert(path.to_string(), new);
        }
        let queue = self.queues.get_mut(path).expect("it was just added");
        queue.add_up(now_ms);
        queue
    }

    pub(crate) fn start(&mut self, path: &str, resource: &Resource, now_ms: Millis) {
        self.queue(path, now_ms).now += *resource;
    }

    pub(crate) fn end(&mut self, path: &str, resource: &Resource, now_ms: Millis) {
        self.queue(path, now_ms).now -= *resource;
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &String> {
        self.queues.keys()
    }

    /// Memory in MB: now, and the mean since `since_ms`.
    pub(crate) fn memory_mb(&self, path: &str, since_ms: Millis, now_ms: Millis) -> (i64, i64) {
        let mut queue = self.queues.get(path).copied().unwrap_or_default();
        queue.add_up(now_ms);
        let span = i128::from((now_ms - since_ms).max(1));
        (queue.now.0[0], (queue.mb_ms / span) as i64)
    }
}
