//! How far a job's running reduces are, from the one number that its ApplicationMaster sends with
//! each heartbeat: 0.05 for its setup, 0.45 for its maps, 0.45 for its reduces, 0.05 for its
//! cleanup (`JobImpl`). After all maps have ended, the part beyond 0.5 is the reduces' alone. A
//! reduce's own progress is a third each for copying, sorting and reducing.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const BEFORE_REDUCES: f64 = 0.5;
const OF_REDUCES: f64 = 0.45;
const REDUCING_FROM: f64 = 2.0 / 3.0;
/// Smaller changes are no news: the number has single precision, and is a mean over all reduces.
const NEWS: f64 = 0.002;

/// A look at a job whose maps have all ended.
#[derive(Deserialize)]
pub(crate) struct Look {
    /// The progress of the whole job.
    job: f64,
    /// All its reduces.
    all: i64,
    /// Those that are asked for or have a container. A second container of one reduce makes it too
    /// many.
    unfinished: i64,
    running: i64,
    now_ms: i64,
    state: Option<State>,
}

/// What earlier looks found.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct State {
    progress: f64,
    at_ms: i64,
    reducing_since_ms: Option<i64>,
}

/// Returns the next `state`; and `executed` if there is news of the reduce functions: how far they
/// are, in thousandths, and about when they began.
pub(crate) fn look(look: &Look) -> Value {
    let progress = of_running(look);
    let news = match (progress, look.state) {
        (Some(progress), Some(seen)) => (progress - seen.progress).abs() >= NEWS,
        (progress, None) => progress.is_some(),
        (None, _) => false,
    };
    let Some(progress) = progress.filter(|_| news) else {
        return json!({ "state": look.state });
    };
    let before = look.state.and_then(|state| state.reducing_since_ms);
    // Below two thirds other reduces run than before, or none has begun its function.
    let since = executes(progress)
        .then(|| before.unwrap_or_else(|| crossed(look.state, progress, look.now_ms)));
    let state = State {
        progress,
        at_ms: look.now_ms,
        reducing_since_ms: since,
    };
    let executed = since.map(|since| (per_mille(progress), since));
    json!({ "state": state, "executed": executed })
}

/// Returns the mean progress of the running reduces, if it can be told.
fn of_running(look: &Look) -> Option<f64> {
    let done = look.all - look.unfinished;
    let known = look.running > 0
        && done >= 0
        && look.job >= BEFORE_REDUCES
        && look.all >= done + look.running;
    let sum = (look.job - BEFORE_REDUCES) / OF_REDUCES * look.all as f64 - done as f64;
    known.then(|| (sum / look.running as f64).clamp(0.0, 1.0))
}

/// Returns when the mean passed two thirds: between the two times at which it was seen.
fn crossed(seen: Option<State>, progress: f64, now_ms: i64) -> i64 {
    let Some(seen) = seen.filter(|seen| !executes(seen.progress)) else {
        return now_ms;
    };
    let part = (REDUCING_FROM - seen.progress) / (progress - seen.progress);
    seen.at_ms + (part * (now_ms - seen.at_ms) as f64).round() as i64
}

/// Returns how far a reduce's function is, in thousandths, by the progress of all of the reduce.
pub(crate) fn per_mille(progress: f64) -> i64 {
    ((3.0 * (progress - REDUCING_FROM)).clamp(0.0, 1.0) * 1_000.0).round() as i64
}

/// Whether a reduce of this progress executes its function.
pub(crate) fn executes(progress: f64) -> bool {
    progress > REDUCING_FROM
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(job: f64, all: i64, unfinished: i64, running: i64) -> Option<f64> {
        of_running(&Look {
            job,
            all,
            unfinished,
            running,
            now_ms: 0,
            state: None,
        })
    }

    /// A job of 4 reduces of which 1 is done and 2 run: at P = 0.5 + 0.45 * 0.6 the reduces' mean
    /// is 0.6, their sum 2.4; less the one that is done 1.4, over two 0.7.
    #[test]
    fn the_progress_of_running_reduces_follows_from_the_jobs() {
        let near = |job, expected: f64| {
            assert!((mean(job, 4, 3, 2).expect("known") - expected).abs() < 1e-9);
        };
        near(0.77, 0.7);
        near(0.5, 0.0);
        near(1.0, 1.0);
        assert_eq!(mean(0.77, 4, 3, 0), None);
        assert_eq!(mean(0.49, 4, 3, 2), None);
        assert_eq!(mean(f64::NAN, 4, 3, 2), None);
        assert_eq!(mean(0.77, 2, 1, 2), None, "more than there are");
        assert_eq!(mean(0.77, 2, 3, 3), None, "two of one reduce");
        assert_eq!(mean(0.77, 2, 3, 1), None, "two of one reduce");
        assert_eq!([0.5, 5.0 / 6.0, 1.0].map(per_mille), [0, 500, 1_000]);
    }

    /// A job with one reduce, so that the mean is the reduce's own progress.
    fn note(state: &mut Value, progress: f64, now_ms: i64) -> Value {
        let job = BEFORE_REDUCES + OF_REDUCES * progress;
        let question = json!({
            "job": job, "all": 1, "unfinished": 1, "running": 1, "now_ms": now_ms, "state": state,
        });
        let answer = look(&serde_json::from_value(question).expect("a look"));
        *state = answer["state"].clone();
        answer["executed"].clone()
    }

    /// Seen at 0.6 at 10 s and at 0.7 at 13 s: two thirds were passed at 12 s.
    #[test]
    fn the_begin_of_the_reduce_functions_is_between_two_looks() {
        let mut state = Value::Null;
        assert_eq!(note(&mut state, 0.6, 10_000), Value::Null, "still sorting");
        assert_eq!(note(&mut state, 0.7, 13_000), json!([100, 12_000]));
        assert_eq!(note(&mut state, 0.7005, 14_000), Value::Null, "nothing new");
        assert_eq!(note(&mut state, 0.8, 15_000), json!([400, 12_000]));
        assert_eq!(note(&mut state, 0.3, 20_000), Value::Null, "others run now");
        let unknown = json!({
            "job": 0.9, "all": 1, "unfinished": 1, "running": 0, "now_ms": 21_000, "state": state,
        });
        let answer = look(&serde_json::from_value(unknown).expect("a look"));
        assert_eq!(answer, json!({ "state": state }));
        let mut late = Value::Null;
        let first = note(&mut late, 0.9, 50_000);
        assert_eq!(first, json!([700, 50_000]), "not seen before");
    }
}
