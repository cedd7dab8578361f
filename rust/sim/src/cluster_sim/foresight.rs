//! What the engine predicts of each job at its submission, beside what comes of it. Asks from
//! outside, as people would; what the engine itself keeps to learn from is its own affair.

use super::metrics::{JobRecord, Predicted, percentile};
use super::{ClusterSim, Results};
use crate::failure::{Check, Checked, Failure};
use heddle_core::words::ids::Millis;
use serde_json::{Value, json};

/// Where a time lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// How many came before their band.
    pub sooner: usize,
    /// In it.
    pub inside: usize,
    /// After it.
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

    /// The part that lies in its band, 0 to 1.
    pub fn coverage(&self) -> f64 {
        self.inside as f64 / (self.sooner + self.inside + self.later).max(1) as f64
    }
}

impl ClusterSim {
    /// Asks for predictions of the jobs that are new.
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
    /// How well ends were predicted, of all jobs that ended well.
    pub fn ends_foreseen(&self) -> Judged {
        Judged::count(self.finished().filter_map(|job| {
            let end_ms = job.predicted?.end_ms;
            Some((end_ms, job.finished_ms?))
        }))
    }

    /// How well starts were predicted, of those jobs that had not started at once.
    pub fn starts_foreseen(&self) -> Judged {
        Judged::count(self.finished().filter_map(|job| {
            let start_ms = job.predicted?.start_ms?;
            Some((start_ms, job.started_ms?))
        }))
    }

    /// For the summary: coverage, and how wide the bands of the ends are: latest over earliest, in
    /// time from the prediction on, with a second added to both; the median and one in ten.
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
