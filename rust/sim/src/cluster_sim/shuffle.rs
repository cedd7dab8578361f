//! The shuffle. Reduces hear of map output every few seconds, when their masters ask for it. Each
//! reduce fetches its part from every rack by a flow. Flows of one job between one pair of racks
//! that start after the same publication have one highest rate, and so share a bundle of the
//! network.

use super::attempts::Phase;
use super::job::{MAP, REDUCE};
use super::network::{Cause, Flow};
use super::{ClusterSim, Due};
use crate::failure::Checked;
use heddle_core::words::ids::{JobId, Millis};

/// How often reduces hear of new map output.
const PUBLISH_MS: Millis = 3_000;

/// While maps still run, a reduce fetches only pieces of at least 1/`PIECES` of its input. A real
/// reduce likewise waits for a few outputs of a host to pile up.
const PIECES: f64 = 16.0;

impl ClusterSim {
    /// Begins the copy phase of a reduce.
    pub(super) fn begin_copy(&mut self, at: usize) -> Checked {
        let racks = self.workload.hardware.racks as usize;
        let attempt = &mut self.attempts[at];
        attempt.phase = Phase::Copy;
        attempt.got = vec![0.0; racks];
        attempt.fetching = vec![None; racks];
        let id = attempt.job;
        self.plan_publication(id);
        self.fetch(at)
    }

    /// Plans to publish new map output to the reduces of a job.
    pub(super) fn plan_publication(&mut self, id: JobId) {
        let at = self.now + PUBLISH_MS;
        let job = self.job(id);
        if job.reduces_asked && !job.publishing && job.produced != job.published {
            job.publishing = true;
            self.agenda.plan(at, Due::Publish(id));
        }
    }

    /// Publishes the present map output to the reduces of a job.
    pub(super) fn publish(&mut self, id: JobId) -> Checked {
        let Some(job) = self.jobs[id.index()].as_deref_mut() else {
            return Ok(());
        };
        job.publishing = false;
        job.published.copy_from_slice(&job.produced);
        let attempts: Vec<usize> = job.attempts.values().copied().collect();
        for at in attempts {
            if self.attempts[at].phase == Phase::Copy {
                self.fetch(at)?;
            }
        }
        Ok(())
    }

    /// Starts to fetch what a reduce lacks. Moves it to the next phase if it lacks nothing.
    pub(super) fn fetch(&mut self, at: usize) -> Checked {
        let copy_rate = self.workload.hardware.copy_bytes_per_s as f64 / 1e3;
        let attempt = &self.attempts[at];
        let (id, rack) = (attempt.job, attempt.rack);
        let job = self.jobs[id.index()].as_deref().expect("its attempt runs");
        let reduces = f64::from(job.plan.tasks[REDUCE]);
        let complete = job.maps_are_done();
        let in_all = job.plan.shuffle_bytes as f64 / reduces;
        let least = if complete {
            0.5
        } else {
            (in_all / PIECES).max(0.5)
        };
        let known: f64 = job.published.iter().sum();
        let mut waits = !complete;
        let mut flows: Vec<(usize, f64, f64)> = Vec::new();
        for (from, published) in job.published.iter().enumerate() {
            let missing = published / reduces - attempt.got[from];
            if attempt.fetching[from].is_some() {
                waits = true;
            } else if missing >= least {
                // In whole per cent, so that reduces of a job share bundles.
                let part = (100.0 * published / known).ceil() / 100.0;
                flows.push((from, missing, copy_rate * part));
            }
        }
        for (from, bytes, cap) in &flows {
            let flow = self.network.start(Flow {
                from: *from,
                to: rack,
                bytes: *bytes,
                cap: *cap,
                cause: Cause::Shuffle,
                owner: at,
            });
            self.attempts[at].fetching[*from] = Some(flow);
        }
        if !waits && flows.is_empty() {
            self.execute(at);
        }
        Ok(())
    }

    /// Adds a map's output to its node's rack, or removes it when the node is lost.
    pub(super) fn count_output(&mut self, id: JobId, rack: usize, added: bool) {
        let job = self.job(id);
        let bytes = job.plan.shuffle_bytes as f64 / f64::from(job.plan.tasks[MAP].max(1));
        let sign = if added { 1.0 } else { -1.0 };
        job.produced[rack] = (job.produced[rack] + sign * bytes).max(0.0);
        if !added {
            job.published[rack] = job.published[rack].min(job.produced[rack]);
        }
    }
}
