//! The size of a phase in slot-time: before any of its tasks ran, and by its sample tasks (HF-25 to
//! HF-31). Uses one unit of time throughout, which the caller chooses.

use crate::words::kind::Kind;
use serde_json::{Value, json};

/// Input of an estimator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseFacts {
    /// Kind of its tasks.
    pub kind: Kind,
    /// Number of its tasks.
    pub tasks: u32,
    /// Mean length of its tasks in earlier runs, if known or claimed.
    pub profile: Option<f64>,
}

/// Measurements of a sample task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Time from being scheduled to the start of the reduce function; 0 for other kinds.
    pub shuffle: f64,
    /// Bytes read, the weight of its shuffle.
    pub input: f64,
    /// Length of the rest, measured or extrapolated.
    pub execution: f64,
}

/// Estimates sizes (HF-31). Other implementations may know recurring jobs, or read their inputs.
pub trait Estimator: Send {
    /// Learns that a task of that kind succeeded after `length`.
    fn learn(&mut self, kind: Kind, length: f64);

    /// Returns the size of a phase without known samples.
    fn initial(&self, phase: &PhaseFacts) -> f64;

    /// Returns the size by the samples, which are not empty.
    fn sampled(&self, phase: &PhaseFacts, samples: &[Sample]) -> f64 {
        match phase.kind {
            Kind::Reduce => reduce_size(phase.tasks, samples).total(),
            Kind::Map | Kind::Other => map_size(phase.tasks, samples.iter().map(|s| s.execution)),
        }
    }

    /// Saves the lessons learnt.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Takes over an earlier estimator's lessons, and ignores what it cannot read.
    fn load(&mut self, _saved: &Value) {}
}

/// The paper's estimator: unknown jobs have tasks as long as those of the past.
#[derive(Clone, Debug)]
pub struct PastTasks {
    /// Propensity to wait before trusting an unknown job with the cluster; at least 1.
    pub xi: f64,
    /// Assumed length of a task while none of its kind has ended (HF-26).
    pub default_task: f64,
    /// Sum and number of the lengths, by kind.
    past: [(f64, u64); 3],
}

impl PastTasks {
    /// Creates an estimator without a past.
    pub fn new(xi: f64, default_task: f64) -> PastTasks {
        PastTasks {
            xi,
            default_task,
            past: [(0.0, 0); 3],
        }
    }

    fn mean_task(&self, kind: Kind) -> f64 {
        match self.past[kind as usize] {
            (_, 0) => self.default_task,
            (sum, tasks) => sum / tasks as f64,
        }
    }
}

impl Estimator for PastTasks {
    fn learn(&mut self, kind: Kind, length: f64) {
        let (sum, tasks) = &mut self.past[kind as usize];
        *sum += length;
        *tasks += 1;
    }

    fn initial(&self, phase: &PhaseFacts) -> f64 {
        match phase.profile {
            // The length is known, so `xi` adds nothing.
            Some(length) => initial(phase.tasks, length, 1.0),
            None => initial(phase.tasks, self.mean_task(phase.kind), self.xi),
        }
    }

    fn save(&self) -> Value {
        json!(self.past)
    }

    fn load(&mut self, saved: &Value) {
        if let Ok(past) = serde_json::from_value(saved.clone()) {
            self.past = past;
        }
    }
}

/// Returns the first estimate (HF-25): xi * k * l.
pub fn initial(tasks: u32, mean_task: f64, xi: f64) -> f64 {
    xi * f64::from(tasks) * mean_task
}

/// Returns the number of tasks times the mean of the samples (HF-28); 0 without samples.
pub fn map_size(tasks: u32, samples: impl ExactSizeIterator<Item = f64>) -> f64 {
    let number = samples.len().max(1) as f64;
    f64::from(tasks) * samples.sum::<f64>() / number
}

/// Extrapolates the length of a running task (HF-30): elapsed time over progress, a fraction of its
/// input. None while there is no progress.
pub fn extrapolate(elapsed: f64, progress: f64) -> Option<f64> {
    (progress > 0.0).then(|| elapsed / progress.min(1.0))
}

/// The size of a reduce phase in its two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReduceSize {
    /// Slot-time of moving and merging the maps' outputs.
    pub shuffle: f64,
    /// Slot-time of the reduce function.
    pub execution: f64,
}

impl ReduceSize {
    /// Returns the sum of both.
    pub fn total(&self) -> f64 {
        self.shuffle + self.execution
    }
}

/// Returns the size of a reduce phase (HF-29). It is the number of reduces times the sum of two
/// means: the samples' shuffle, weighted by bytes read, and their execution. Samples that read
/// nothing have equal weights.
pub fn reduce_size(tasks: u32, samples: &[Sample]) -> ReduceSize {
    let tasks_real = f64::from(tasks);
    let input: f64 = samples.iter().map(|sample| sample.input).sum();
    let even = 1.0 / samples.len().max(1) as f64;
    let weight = |sample: &Sample| match input > 0.0 {
        true => sample.input / input,
        false => even,
    };
    let shuffle: f64 = samples.iter().map(|s| weight(s) * s.shuffle).sum();
    ReduceSize {
        shuffle: tasks_real * shuffle,
        execution: map_size(tasks, samples.iter().map(|sample| sample.execution)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(kind: Kind, tasks: u32) -> PhaseFacts {
        PhaseFacts {
            kind,
            tasks,
            profile: None,
        }
    }

    /// HF-25, HF-26: 2 * 40 tasks of the default length, then of the mean of 20 and 40.
    #[test]
    fn unknown_jobs_are_like_those_of_the_past() {
        let mut past = PastTasks::new(2.0, 60_000.0);
        assert_eq!(past.initial(&facts(Kind::Map, 40)), 2.0 * 40.0 * 60_000.0);
        past.learn(Kind::Map, 20.0);
        past.learn(Kind::Map, 40.0);
        assert_eq!(past.initial(&facts(Kind::Map, 40)), 2.0 * 40.0 * 30.0);
        // Maps teach nothing about reduces.
        assert_eq!(past.initial(&facts(Kind::Reduce, 1)), 120_000.0);
        let claimed = PhaseFacts {
            profile: Some(7.0),
            ..facts(Kind::Map, 10)
        };
        assert_eq!(past.initial(&claimed), 70.0);
        assert_eq!(past.initial(&facts(Kind::Map, 0)), 0.0);
    }

    /// HF-28: 100 tasks of (10 + 20 + 30) / 3.
    #[test]
    fn a_map_phase_is_its_tasks_times_the_mean_sample() {
        assert_eq!(map_size(100, [10.0, 20.0, 30.0].into_iter()), 2_000.0);
        assert_eq!(map_size(100, [].into_iter()), 0.0);
    }

    /// HF-29, HF-30 by hand: shuffles 10 and 20 weigh 3/4 and 1/4: 12.5. Executions 8, and 10 s at
    /// a quarter: 40; mean 24. 4 reduces: 50 and 96.
    #[test]
    fn a_reduce_phase_is_shuffle_and_execution() {
        let sample = |shuffle, input, execution| Sample {
            shuffle,
            input,
            execution,
        };
        let slow = extrapolate(10.0, 0.25).expect("there is progress");
        let size = reduce_size(4, &[sample(10.0, 300.0, 8.0), sample(20.0, 100.0, slow)]);
        assert_eq!((size.shuffle, size.execution), (50.0, 96.0));
        assert_eq!(size.total(), 146.0);
        assert_eq!(extrapolate(10.0, 0.0), None);
        // None read anything: plain mean.
        let size = reduce_size(2, &[sample(10.0, 0.0, 1.0), sample(20.0, 0.0, 1.0)]);
        assert_eq!(size.shuffle, 30.0);
        let shuffled = [sample(10.0, 0.0, 2.0)];
        let past = PastTasks::new(1.0, 1.0);
        assert_eq!(past.sampled(&facts(Kind::Reduce, 3), &shuffled), 36.0);
        assert_eq!(past.sampled(&facts(Kind::Map, 3), &shuffled), 6.0);
    }
}
