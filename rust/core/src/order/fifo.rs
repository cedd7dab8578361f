//! First in, first out: by application priority, then by time of submission.
//!
//! The template for an order. Queues are the concern of `share`, nodes that of `place`.

use crate::model::job::Job;
use crate::stage::common::Stage;
use crate::stage::entry::Preset;
use crate::stage::order::{Order, OrderEntry};
use crate::words::keys::OrderKey;
use crate::words::kind::Kind;

/// Entry in the catalogue.
pub(crate) const ENTRY: OrderEntry = OrderEntry {
    name: "fifo",
    summary: "by application priority, then by time of submission",
    preset: Some(Preset {
        name: "fifo",
        summary: "all jobs in one line, by priority and submission",
        stages: ["single", "fifo", "local-first"],
        workload: "users",
    }),
    wants: &[],
    reads: &[],
    own: None,
    build: |_config| Box::new(Fifo),
};

struct Fifo;

impl Stage for Fifo {}

impl Order for Fifo {
    fn key(&self, job: &Job, _kind: Kind) -> OrderKey {
        OrderKey(-i64::from(job.facts.priority), job.facts.submitted_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::event::JobFacts;
    use crate::words::ids::{JobId, QueueId, UserId};
    use crate::words::keys::ShareNodeId;

    #[test]
    fn priority_goes_before_age_and_age_before_nothing_else() {
        let job = |priority, submitted_ms| {
            let facts = JobFacts {
                job: JobId(1),
                queue: QueueId(0),
                user: UserId(0),
                priority,
                mapreduce: true,
                unmanaged_am: false,
                submitted_ms,
            };
            Fifo.key(&Job::new(facts, ShareNodeId(0)), Kind::Map)
        };
        assert!(job(0, 10) < job(0, 11));
        assert!(job(5, 11) < job(0, 10));
        assert!(job(i32::MIN, 0) > job(i32::MAX, i64::MAX));
    }
}
