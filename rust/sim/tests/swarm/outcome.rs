//! The outcome of a simulation: figures per job and in all, kept while it runs.

use crate::host::Grant;
use crate::host::HostJob;
use heddle_core::words::ids::{AskId, Millis, NodeId};
use heddle_core::words::resource::Resource;
use heddle_sim::link::Passage;
use std::collections::BTreeMap;

/// The life of one job, in virtual time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobOutcome {
    /// Its queue at submission.
    pub queue: String,
    /// When it was submitted.
    pub submitted_ms: Millis,
    /// When it got its first container.
    pub started_ms: Option<Millis>,
    /// When it was done; none if it was killed or could not end.
    pub finished_ms: Option<Millis>,
    /// Number of containers that it got.
    pub containers: u32,
}

/// The outcome of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// A digest of all decisions.
    pub digest: u64,
    /// Number of events that the engine received.
    pub events: u64,
    /// When the simulation ended, in virtual time.
    pub ended_ms: Millis,
    /// Jobs by serial number.
    pub jobs: BTreeMap<u64, JobOutcome>,
    /// Number of submissions, including the rejected ones.
    pub submitted: u32,
    /// Number of submissions that found no queue.
    pub turned_away: u32,
    /// Jobs that can never end because they ask for what does not exist.
    pub stuck_jobs: u32,
    /// Grants to asks that name places: on the host, on the rack, elsewhere.
    pub locality: [u32; 3],
    /// Grants that the host refused.
    pub refused: u32,
    /// Queues that expired.
    pub queues_expired: usize,
    /// Containers that the engine evicted.
    pub evicted: u32,
    /// Number of heartbeats for which the work-conservation check held; see `check::waiting`.
    pub conserved: u64,
    /// Capacity of all nodes when they joined.
    pub capacity: Resource,
    /// All messages on the line, if they were recorded.
    pub record: Vec<Passage>,
    pub(crate) refused_grants: BTreeMap<u64, (NodeId, AskId)>,
    pub(crate) runnable: BTreeMap<String, u32>,
    pub(crate) last_seq: u64,
}

impl Outcome {
    pub(crate) fn submitted(&mut self, serial: u64, job: &HostJob, now: Millis) {
        let outcome = JobOutcome {
            queue: job.queue.clone(),
            submitted_ms: now,
            ..JobOutcome::default()
        };
        self.jobs.insert(serial, outcome);
    }

    pub(crate) fn granted(&mut self, serial: u64, grant: &Grant, named: bool, now: Millis) {
        if named {
            self.locality[grant.locality as usize] += 1;
        }
        if let Some(job) = self.jobs.get_mut(&serial) {
            job.started_ms.get_or_insert(now);
            job.containers += 1;
        }
    }

    pub(crate) fn finished(&mut self, serial: u64, now: Millis) {
        if let Some(job) = self.jobs.get_mut(&serial) {
            job.finished_ms = Some(now);
        }
    }

    /// Returns for each finished job how long it waited and how long it took in all.
    pub fn turnarounds(&self) -> Vec<(Millis, Millis)> {
        let done = |job: &JobOutcome| {
            let waited = job.started_ms? - job.submitted_ms;
            Some((waited, job.finished_ms? - job.submitted_ms))
        };
        self.jobs.values().filter_map(done).collect()
    }
}
