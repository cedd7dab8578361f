//! Reports the use of the cluster now, for plots over time: memory by queue with its entitlement,
//! containers granted and taken back so far, jobs that wait for their first task. Decides nothing,
//! and is small whatever the number of queues.

use super::Engine;
use super::control::{RequestError, refused};
use crate::config::Section;
use crate::model::job::Job;
use crate::model::queue::Queue;
use crate::words::ids::{AskId, Locality};
use crate::words::keys::Layout;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// How many queues a report names: those that use most. The others are summed.
const QUEUES_MAX: usize = 50;

/// Containers granted and taken back since the engine began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    /// On a host that was named, on a rack that was named, away from both, and without any names.
    granted: [u64; 4],
    evicted: u64,
}

impl Totals {
    /// Counts a grant to the ask, which has its rows as before the grant.
    pub(super) fn granted(&mut self, job: Option<&Job>, ask: AskId, locality: Locality) {
        let ask = job.and_then(|job| job.ask(ask));
        let named = ask.is_some_and(|ask| ask.rows.values().any(|row| row.count > 0));
        let kind = match locality {
            _ if !named => 3,
            Locality::NodeLocal => 0,
            Locality::RackLocal => 1,
            Locality::OffSwitch => 2,
        };
        self.granted[kind] += 1;
    }

    /// Counts a container that is taken back, unless that is only observed.
    pub(super) fn evicted(&mut self, observed: bool) {
        self.evicted += u64::from(!observed);
    }
}

impl Engine {
    /// `{"op": "usage"}`: memory in MB of the leaf queues that use most, with their entitlements as
    /// of the last tick, and of all others together; counts since the engine began; jobs that have
    /// had no task yet, with the time since their submission.
    pub(super) fn usage_report(&self, section: Section<'_>) -> Result<Value, RequestError> {
        section.finish().map_err(refused)?;
        let mut used_mb = vec![0i64; self.cluster.queues.all().len()];
        let mut waiting = (0u64, 0i64, 0i64);
        let (mut running, mut pending) = (0u64, 0u64);
        for job in self.cluster.jobs() {
            used_mb[job.facts.queue.index()] += job.used.memory_mb();
            running += u64::from(job.running_containers());
            pending += job
                .pending()
                .map(|ask| u64::from(ask.facts.count))
                .sum::<u64>();
            if waits_for_first(job) {
                let waited_ms = (self.now - job.facts.submitted_ms).max(0);
                let (jobs, sum_ms, longest_ms) = waiting;
                waiting = (
                    jobs + 1,
                    sum_ms.saturating_add(waited_ms),
                    longest_ms.max(waited_ms),
                );
            }
        }
        let queues = self.cluster.queues.iter();
        let queues = queues.map(|queue| (used_mb[queue.id.index()], queue));
        let mut rows: Vec<_> = queues
            .filter(|(used, queue)| *used > 0 || queue.is_leaf())
            .collect();
        rows.sort_by_key(|(used, queue)| (Reverse(*used), queue.id));
        let rest = rows.split_off(rows.len().min(QUEUES_MAX));
        // Without a node of its own, a queue is entitled to nothing in particular.
        let apart = self.share.layout() != Layout::Single;
        let row = |(used, queue): &(i64, &Queue)| {
            let share_mb = apart.then(|| self.fair_share(queue.id).memory_mb());
            json!([queue.config.path, used, share_mb])
        };
        let (jobs, sum_ms, longest_ms) = waiting;
        Ok(json!({
            "now_ms": self.now,
            "capacity_mb": self.cluster.capacity.memory_mb(),
            "queues": rows.iter().map(row).collect::<Vec<_>>(),
            "others_mb": rest.iter().map(|(used, _)| used).sum::<i64>(),
            "granted": self.totals.granted,
            "evicted": self.totals.evicted,
            "running": running,
            "pending": pending,
            "waiting": {
                "jobs": jobs,
                "mean_ms": sum_ms / i64::try_from(jobs.max(1)).unwrap_or(i64::MAX),
                "longest_ms": longest_ms,
            },
        }))
    }
}

/// Whether a job has had no task yet: it may have its ApplicationMaster.
fn waits_for_first(job: &Job) -> bool {
    let tasks = job.running_containers() - job.running_masters();
    tasks == 0 && job.done.iter().all(|done| *done == 0)
}
