//! The use of the cluster in the last hour: the engine's reports, one each [`SAMPLE_MS`]. In memory
//! only: it starts empty after a failover.

use serde_json::{Value, json};
use std::collections::VecDeque;

/// The time between two samples.
pub(crate) const SAMPLE_MS: u64 = 10_000;
/// An hour. A sample names at most 50 queues, so an hour has some 2 MB.
const SAMPLES_MAX: usize = 360;

/// The samples, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    samples: VecDeque<Sample>,
    /// The engine of the last sample with its counts, from which the next one goes on.
    counted: Option<(u64, [u64; 5])>,
}

#[derive(Debug)]
struct Sample {
    at_ms: u64,
    /// As the engine told it, with the counts since the last sample.
    report: Value,
}

impl Usage {
    /// Whether it is time for a sample. A clock that was set back makes none due twice.
    pub(crate) fn is_due(&self, now_ms: u64) -> bool {
        let last = self.samples.back();
        last.is_none_or(|last| now_ms >= last.at_ms.saturating_add(SAMPLE_MS))
    }

    /// Adds the report of an engine.
    pub(crate) fn add(&mut self, now_ms: u64, engine: u64, mut report: Value) {
        let counts = counts(&report);
        let before = self.counted.filter(|(of, _)| *of == engine);
        // A first sample does not know when its counts began.
        let before = before.map_or(counts, |(_, before)| before);
        let since = |at: usize| counts[at].saturating_sub(before[at]);
        report["granted"] = json!([since(0), since(1), since(2), since(3)]);
        report["evicted"] = json!(since(4));
        self.counted = Some((engine, counts));
        self.samples.push_back(Sample {
            at_ms: now_ms,
            report,
        });
        if self.samples.len() > SAMPLES_MAX {
            self.samples.pop_front();
        }
    }

    /// The samples from a time on, with the queues that `sees` lets through.
    pub(crate) fn since(&self, from_ms: u64, sees: impl Fn(&str) -> bool) -> Vec<Value> {
        let samples = self.samples.iter().filter(|sample| sample.at_ms >= from_ms);
        let shown = samples.map(|sample| {
            let told = &sample.report;
            let queues = told["queues"].as_array().into_iter().flatten();
            let queues = queues.filter(|row| row[0].as_str().is_some_and(&sees));
            let queue =
                |row: &Value| json!({"queue": row[0], "used_mb": row[1], "share_mb": row[2]});
            json!({
                "at_ms": sample.at_ms,
                "capacity_mb": told["capacity_mb"],
                "queues": queues.map(queue).collect::<Vec<_>>(),
                "others_mb": told["others_mb"],
                "granted": {
                    "host": told["granted"][0],
                    "rack": told["granted"][1],
                    "away": told["granted"][2],
                    "anywhere": told["granted"][3],
                },
                "evicted": told["evicted"],
                "running": told["running"],
                "pending": told["pending"],
                "waiting": told["waiting"],
            })
        });
        shown.collect()
    }
}

/// Containers granted, by locality, and taken back.
fn counts(report: &Value) -> [u64; 5] {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let granted = |at: usize| number(&report["granted"][at]);
    [
        granted(0),
        granted(1),
        granted(2),
        granted(3),
        number(&report["evicted"]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(granted: [u64; 4], evicted: u64) -> Value {
        json!({
            "capacity_mb": 9, "granted": granted, "evicted": evicted, "others_mb": 1,
            "queues": [["root.ann", 5, 6], ["root.bob", 3, null]],
        })
    }

    #[test]
    fn counts_are_those_since_the_last_sample_of_the_same_engine() {
        let mut usage = Usage::default();
        usage.add(10_000, 1, report([7, 0, 0, 1], 2));
        usage.add(20_000, 1, report([9, 1, 0, 1], 5));
        // The engine was replaced, and counts from 0.
        usage.add(30_000, 2, report([4, 0, 0, 0], 1));
        usage.add(40_000, 2, report([5, 0, 0, 0], 1));
        let samples = usage.since(0, |_| true);
        let counted = samples.iter().map(|sample| {
            let host = sample["granted"]["host"].as_u64();
            (host, sample["evicted"].as_u64())
        });
        let expected = [(0, 0), (2, 3), (0, 0), (1, 0)].map(|(a, b)| (Some(a), Some(b)));
        assert_eq!(counted.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_hour_is_kept_and_others_queues_are_not_shown() {
        let mut usage = Usage::default();
        for at in 0..500u64 {
            assert!(usage.is_due(at * SAMPLE_MS));
            usage.add(at * SAMPLE_MS, 1, report([at, 0, 0, 0], 0));
            assert!(!usage.is_due(at * SAMPLE_MS + SAMPLE_MS - 1));
            assert!(!usage.is_due(0), "a clock was set back");
        }
        assert_eq!(usage.since(0, |_| true).len(), 360);
        let own = usage.since(499 * SAMPLE_MS, |queue| queue == "root.bob");
        assert_eq!(own.len(), 1);
        let row = json!({"queue": "root.bob", "used_mb": 3, "share_mb": null});
        assert_eq!(own[0]["queues"], json!([row]));
    }
}
