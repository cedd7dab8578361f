//! Predicts when jobs start and end. Looks ahead over every leaf with the slots that it is entitled
//! to, records the predictions of new jobs to learn from them, and reports them. Decides nothing.

use super::Engine;
use super::control::RequestError;
use crate::explain::{Surveys, sentence};
use crate::model::job::Job;
use crate::predict::Prediction;
use crate::predict::calibration::{COVERAGE, Promise};
use crate::predict::line::{Work, in_line, in_shares};
use crate::words::ids::JobId;
use crate::words::keys::{POOLS, ShareNodeId};
use crate::words::resource::RESOURCE_TYPES_MAX;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

impl Engine {
    /// Records predictions of the jobs that are due for one, to judge them by what happens.
    pub(super) fn record_predictions(&mut self) {
        self.predictor.pass(self.now);
        let due = self.predictor.take_due(&self.cluster, self.now);
        if due.is_empty() {
            return;
        }
        let leaf = |job: &JobId| self.cluster.job(*job).map(|job| job.leaf);
        let leaves: BTreeSet<ShareNodeId> = due.iter().filter_map(leaf).collect();
        let predictions = self.predictions(|leaf| leaves.contains(&leaf));
        let mut left = due;
        for prediction in predictions {
            if left.remove(&prediction.job) {
                self.predictor.record(&prediction);
            }
        }
        // Those that cannot start are predicted once they can.
        self.predictor.put_off(left);
    }

    /// Predicts all jobs in the leaves that `wanted` picks, in order of leaves. Leaves out those
    /// that cannot start: they take no slot from others either.
    pub(super) fn predictions(&self, wanted: impl Fn(ShareNodeId) -> bool) -> Vec<Prediction> {
        let mut leaves: BTreeMap<ShareNodeId, Vec<Work>> = BTreeMap::new();
        let (view, mut surveys) = (self.view(), Surveys::new());
        for job in self.cluster.jobs_of(wanted) {
            if !runs_tasks(job) && view.is_barred(job, &mut surveys) {
                continue;
            }
            let work = self.predictor.work(job, self.now);
            leaves.entry(job.leaf).or_default().push(work);
        }
        let mut predictions = Vec::new();
        for (leaf, works) in &leaves {
            let slots = self.slots_of(*leaf, works);
            let expected = match self.order.shares_equally(*leaf) {
                true => in_shares(self.now, slots, works),
                false => in_line(self.now, slots, works),
            };
            predictions.extend(expected.iter().map(|expectation| {
                let job = self.cluster.job(expectation.job);
                let job = job.expect("the job was just looked at");
                self.predictor.predict(job, expectation, self.now)
            }));
        }
        predictions
    }

    /// The slots that a leaf can count on, by pool: its entitled part of the cluster, or what its
    /// jobs hold if that is more. A leaf that gets all it wants has a slot for every task.
    fn slots_of(&self, leaf: ShareNodeId, works: &[Work]) -> [u32; POOLS] {
        let node = self.tree.node(leaf);
        let capacity = &self.cluster.capacity;
        let fair = self.cluster.compared(&node.fair_share);
        let part = |i: usize| fair[i].max(0) as f64 / capacity[i].max(1) as f64;
        let counted = (0..RESOURCE_TYPES_MAX).filter(|i| fair[*i] < i64::MAX);
        let part = counted.map(part).fold(0.0, f64::max);
        let content = node.demand.fits_in(&fair);
        let shared = self.slots[1] == 0;
        std::array::from_fn(|pool| {
            let all = self.slots[pool];
            let phases = works.iter().flat_map(|work| work.phases.iter().enumerate());
            let here = phases.filter(|(phase, _)| shared || *phase == pool);
            let (running, pending) = here.fold((0u32, 0u32), |(running, pending), (_, left)| {
                (
                    running.saturating_add(left.running),
                    pending.saturating_add(left.pending),
                )
            });
            let entitled = (f64::from(all) * part.min(1.0)).round() as u32;
            let wanted = if content {
                running.saturating_add(pending)
            } else {
                0
            };
            entitled.max(wanted).min(all).max(running.min(all))
        })
    }

    /// Serves the request `predict`, for one job or for all.
    pub(super) fn predict(&self, job: Option<u32>) -> Result<Value, RequestError> {
        let one = job.map(JobId);
        let leaf = match one {
            Some(id) => {
                let job = self.cluster.job(id);
                let unknown = || RequestError(format!("key `job`: no job has number {}", id.0));
                Some(job.ok_or_else(unknown)?.leaf)
            }
            None => None,
        };
        let predictions = self.predictions(|at| leaf.is_none_or(|leaf| leaf == at));
        let wanted = predictions
            .iter()
            .filter(|prediction| one.is_none_or(|one| one == prediction.job));
        let jobs: Vec<Value> = wanted.map(row).collect();
        let (view, mut surveys) = (self.view(), Surveys::new());
        let asked = self
            .cluster
            .jobs_of(|at| leaf.is_none_or(|leaf| leaf == at));
        let asked = asked.filter(|job| one.is_none_or(|one| one == job.facts.job));
        let barred = asked.filter(|job| !runs_tasks(job)).filter_map(|job| {
            let wait = view.barred(job, &mut surveys)?;
            Some(json!({
                "job": job.facts.job.0,
                "reason": wait.reason,
                "sentence": sentence(&wait, &view.names()),
            }))
        });
        let barred: Vec<Value> = barred.collect();
        let [starts, ends] = self.predictor.report();
        Ok(json!({
            "now_ms": self.now,
            "band": COVERAGE,
            "jobs": jobs,
            "cannot_start": barred,
            "judged": {"starts": starts, "ends": ends},
        }))
    }

    /// Judges the predictions of a job that is about to go, if it has done all that it asked for.
    pub(super) fn judge_predictions(&mut self, id: JobId) {
        let Some(job) = self.cluster.job(id) else {
            return;
        };
        let asks = job.pending().any(|ask| !ask.facts.am);
        let runs = job.containers.values().any(|container| !container.am);
        let well = !asks && !runs && job.done.iter().any(|done| *done > 0);
        self.predictor.ended(id, well, self.now);
    }
}

/// Whether any of its tasks runs.
fn runs_tasks(job: &Job) -> bool {
    job.containers.values().any(|container| !container.am)
}

/// One job's prediction; times on the engine's clock.
pub(super) fn row(prediction: &Prediction) -> Value {
    let times = |promise: &Promise| {
        let band = prediction.times(promise);
        json!({
            "earliest_ms": band.low_ms,
            "expected_ms": band.expected_ms,
            "latest_ms": band.high_ms,
            "calibrated": promise.is_calibrated(),
        })
    };
    json!({
        "job": prediction.job.0,
        "start": prediction.start.as_ref().map(times),
        "end": times(&prediction.end),
        "basis": prediction.basis.name(),
    })
}
