//! Records the engine's predictions for each job at its submission, beside the outcome. Asks
//! through the public request, as users would; the engine's own lessons are not used.

use super::metrics::{JobRecord, Predicted, percentile};
use super::{ClusterSim, Results};
use crate::failure::{Check, Checked, Failure};
use heddle_core::words::ids::Millis;
use serde_json::{Value, json};

/// Counts of outcomes against their predicted bands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Outcomes before their band.
    pub sooner: usize,
    /// Outcomes in their band.
    pub inside: usize,
    /// Outcomes after their band.
    pub later: usize,
}

impl Judged {
    fn count(bands: impl Iterator<Item = ([Millis; 3], Millis)>) -> Judged {
        let mut judged = Judged::default();
        for (band, at) in bands {
            match at {
                at if at < band[0] => judged.sooner += 1,
                at if at > band[2] => judged.later += 1,
                _ => judged.inside += 1,
            }
        }
        judged
    }

    /// Returns the part of the outcomes in their band, 0 to 1.
    pub fn coverage(&self) -> f64 {
        self.inside as f64 / (self.sooner + self.inside + self.later).max(1) as f64
    }
}

impl ClusterSim {
    /// Requests predictions for new jobs.
    pub(super) fn foresee(&mut self) -> Checked {
        let active = self
            .active
            .iter()
            .map(|id| self.jobs[id.index()].as_deref());
        let mut records = active.map(|job| &job.expect("it is active").record);
        if !self.options.predict || records.all(|record| record.predicted.is_some()) {
            return Ok(());
        }
        let reply = self.request(json!({"op": "predict"}))?;
        for row in reply["jobs"].as_array().into_iter().flatten() {
            let predicted = predicted(&reply["now_ms"], row);
            let unreadable = || Failure::new(Check::Decision, format!("no prediction: {row}"));
            let predicted = predicted.ok_or_else(unreadable)?;
            let job = row["job"]
                .as_u64()
                .and_then(|job| self.jobs.get_mut(job as usize));
            if let Some(Some(job)) = job {
                job.record.predicted.get_or_insert(predicted);
            }
        }
        Ok(())
    }
}

fn predicted(now: &Value, row: &Value) -> Option<Predicted> {
    let times = |row: &Value| {
        let time = |key: &str| row[key].as_i64();
        Some([
            time("earliest_ms")?,
            time("expected_ms")?,
            time("latest_ms")?,
        ])
    };
    Some(Predicted {
        made_ms: now.as_i64()?,
        start_ms: times(&row["start"]),
        end_ms: times(&row["end"])?,
    })
}

impl Results {
    /// Judges the predicted ends of all jobs that succeeded.
    pub fn ends_foreseen(&self) -> Judged {
        Judged::count(self.finished().filter_map(|job| {
            let end_ms = job.predicted?.end_ms;
            Some((end_ms, job.finished_ms?))
        }))
    }

    /// Judges the predicted starts of those jobs that had not started at once.
    pub fn starts_foreseen(&self) -> Judged {
        Judged::count(self.finished().filter_map(|job| {
            let start_ms = job.predicted?.start_ms?;
            Some((start_ms, job.started_ms?))
        }))
    }

    /// Returns the summary's figures: coverage, and the width of the bands of the ends as the
    /// median and the 90th percentile. The width is latest over earliest, in time from the
    /// prediction on, with a second added to both.
    pub(super) fn foresight(&self) -> Value {
        let width = |job: &JobRecord| {
            let predicted = job.predicted?;
            let from = |at: Millis| (at - predicted.made_ms + 1_000) as f64;
            Some(from(predicted.end_ms[2]) / from(predicted.end_ms[0]))
        };
        let widths: Vec<f64> = self.finished().filter_map(width).collect();
        let row = |judged: Judged| {
            json!({
                "sooner": judged.sooner, "inside": judged.inside, "later": judged.later,
                "coverage": judged.coverage(),
            })
        };
        json!({
            "ends": row(self.ends_foreseen()),
            "starts": row(self.starts_foreseen()),
            "width": {"median": percentile(&widths, 50), "p90": percentile(&widths, 90)},
        })
    }
}
