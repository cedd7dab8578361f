//! The mean length of tasks, tau: as observed of a job, or else the likeliest (RA-6, RA-11, RA-39).
//! Counts and averages; knows nothing of goals or predictions.

use crate::model::job::Job;
use crate::model::programs::{Lesson, Programs};
use crate::words::ids::{JobId, Millis, TIME_MAX_MS};
use crate::words::kind::Kind;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A running mean in whole ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mean {
    sum_ms: Millis,
    count: i64,
}

impl Mean {
    pub(crate) fn add(&mut self, length_ms: Millis) {
        self.sum_ms = self.sum_ms.saturating_add(length_ms);
        self.count += 1;
    }

    /// None before the first sample.
    pub(crate) fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ms as f64 / self.count as f64)
    }
}

/// The mean lengths of a program's tasks in ms by kind, in its last run that had such tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TaskLengths([Option<f64>; 3]);

impl Lesson for TaskLengths {
    const KEY: &'static str = "task-ms/";

    fn write(self) -> Value {
        json!(self.0)
    }

    fn read(value: &Value) -> Option<TaskLengths> {
        let lengths: [Option<f64>; 3] = serde_json::from_value(value.clone()).ok()?;
        let sound = |ms: &f64| (0.0..=TIME_MAX_MS as f64).contains(ms);
        let sound = lengths.iter().flatten().all(sound);
        sound.then_some(TaskLengths(lengths))
    }
}

/// Lengths seen so far, by job and over the cluster, each by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lengths {
    jobs: BTreeMap<JobId, [Mean; 3]>,
    cluster: [Mean; 3],
    /// Of programs whose earlier runs are known.
    programs: Programs<TaskLengths>,
    /// For a task of which nothing is known.
    default_ms: Millis,
}

impl Lengths {
    pub(crate) fn new(default_ms: Millis) -> Lengths {
        Lengths {
            default_ms,
            ..Lengths::default()
        }
    }

    /// Counts a task of the job that succeeded after `length_ms`.
    pub(crate) fn sample(&mut self, job: JobId, kind: Kind, length_ms: Millis) {
        let length_ms = length_ms.max(0);
        self.jobs.entry(job).or_default()[kind as usize].add(length_ms);
        self.cluster[kind as usize].add(length_ms);
    }

    /// Ends a job. Its program, if it has a signature, keeps the lengths for the next run.
    pub(crate) fn end(&mut self, job: &Job) {
        let Some(means) = self.jobs.remove(&job.facts.job) else {
            return;
        };
        if let Some(signature) = job.hints.signature {
            let TaskLengths(before) = self.programs.get(signature).unwrap_or_default();
            let lengths = std::array::from_fn(|kind| means[kind].get().or(before[kind]));
            self.programs.learn(signature, TaskLengths(lengths));
        }
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        self.jobs.remove(&job);
    }

    /// Takes what was learnt of programs, for books that outlive the engine.
    pub(crate) fn lessons(&mut self) -> Vec<(String, String)> {
        self.programs.lessons()
    }

    /// Takes over a lesson; returns false if it is of something else.
    pub(crate) fn restore(&mut self, key: &str, value: &Value) -> bool {
        self.programs.restore(key, value)
    }

    /// The mean of the program's last run, if the job has a signature and that run had such tasks.
    pub(crate) fn program_ms(&self, job: &Job, kind: Kind) -> Option<f64> {
        self.programs.get(job.hints.signature?)?.0[kind as usize]
    }

    /// The mean of the job's own tasks, if any has succeeded.
    pub(crate) fn own_ms(&self, job: JobId, kind: Kind) -> Option<f64> {
        self.jobs
            .get(&job)
            .and_then(|means| means[kind as usize].get())
    }

    /// The mean over all jobs.
    pub(crate) fn cluster_ms(&self, kind: Kind) -> Option<f64> {
        self.cluster[kind as usize].get()
    }

    /// The mean of the job's own tasks, else its profile's, else its program's.
    pub(crate) fn known_ms(&self, job: &Job, kind: Kind) -> Option<f64> {
        let profile = || job.hints.task_ms.get(kind as usize).copied().flatten();
        self.own_ms(job.facts.job, kind)
            .or_else(|| profile().map(|ms| ms as f64))
            .or_else(|| self.program_ms(job, kind))
    }

    /// tau in ms: what is known of the job, else the cluster's mean, else the default; never 0,
    /// which would be no work.
    pub(crate) fn task_ms(&self, job: &Job, kind: Kind) -> f64 {
        let known = self.known_ms(job, kind).or_else(|| self.cluster_ms(kind));
        known.unwrap_or(self.default_ms as f64).max(1.0)
    }

    /// For a reload; see `load`.
    pub(crate) fn save(&self) -> Value {
        let row = |means: &[Mean; 3]| means.map(|mean| json!([mean.sum_ms, mean.count]));
        let jobs: Vec<Value> = self
            .jobs
            .iter()
            .map(|(job, means)| json!({"job": job.0, "lengths": row(means)}))
            .collect();
        let programs = self.programs.save();
        json!({"jobs": jobs, "cluster": row(&self.cluster), "programs": programs})
    }

    /// Takes over what `save` wrote; ignores what it cannot read.
    pub(crate) fn load(&mut self, saved: &Value) {
        let rows = saved["jobs"].as_array().map_or(&[][..], Vec::as_slice);
        for row in rows {
            if let Some(job) = row["job"].as_u64().and_then(|job| u32::try_from(job).ok()) {
                self.jobs.insert(JobId(job), means(&row["lengths"]));
            }
        }
        self.cluster = means(&saved["cluster"]);
        self.programs.load(&saved["programs"]);
    }
}

fn means(saved: &Value) -> [Mean; 3] {
    std::array::from_fn(|kind| {
        let number = |i: usize| saved[kind][i].as_i64().unwrap_or(0).max(0);
        Mean {
            sum_ms: number(0),
            count: number(1),
        }
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::words::event::JobFacts;
    use crate::words::ids::{QueueId, UserId};
    use crate::words::keys::ShareNodeId;

    /// A job of which nothing is known.
    pub(crate) fn job(id: u32) -> Job {
        let facts = JobFacts {
            job: JobId(id),
            queue: QueueId(0),
            user: UserId(0),
            priority: 0,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms: 0,
        };
        Job::new(facts, ShareNodeId::ROOT)
    }

    #[test]
    fn own_tasks_then_the_profile_then_the_cluster_then_the_default() {
        let mut lengths = Lengths::new(7_000);
        let (plain, mut profiled) = (job(1), job(2));
        profiled.hints.task_ms = [Some(4_000), None];
        assert_eq!(lengths.task_ms(&plain, Kind::Map), 7_000.0);
        assert_eq!(lengths.task_ms(&profiled, Kind::Map), 4_000.0);
        lengths.sample(JobId(3), Kind::Map, 1_000);
        lengths.sample(JobId(3), Kind::Map, 2_000);
        assert_eq!(lengths.task_ms(&plain, Kind::Map), 1_500.0);
        assert_eq!(lengths.task_ms(&profiled, Kind::Map), 4_000.0);
        assert_eq!(
            lengths.task_ms(&profiled, Kind::Reduce),
            7_000.0,
            "kinds are apart"
        );
        lengths.sample(JobId(2), Kind::Map, 6_000);
        assert_eq!(lengths.task_ms(&profiled, Kind::Map), 6_000.0);
    }

    #[test]
    fn a_reload_keeps_what_was_learnt() {
        let mut lengths = Lengths::new(7_000);
        lengths.sample(JobId(1), Kind::Reduce, 300);
        let mut next = Lengths::new(1);
        next.load(&lengths.save());
        assert_eq!(next.task_ms(&job(1), Kind::Reduce), 300.0);
        assert_eq!(next.task_ms(&job(2), Kind::Reduce), 300.0);
        next.forget(JobId(1));
        next.load(&Value::Null);
        assert_eq!(next.task_ms(&job(1), Kind::Reduce), 1.0);
    }

    #[test]
    fn a_programs_next_run_expects_the_lengths_of_the_last() {
        let mut lengths = Lengths::new(7_000);
        let (mut first, mut next) = (job(1), job(2));
        (first.hints.signature, next.hints.signature) = (Some(77), Some(77));
        lengths.sample(JobId(1), Kind::Map, 1_000);
        lengths.sample(JobId(1), Kind::Map, 2_000);
        lengths.end(&first);
        lengths.sample(JobId(3), Kind::Map, 9_000);
        lengths.end(&job(3));
        let lessons = lengths.lessons();
        let key = "task-ms/000000000000004d".to_string();
        assert_eq!(lessons, [(key.clone(), "[1500.0,null,null]".to_string())]);
        assert_eq!(lengths.task_ms(&next, Kind::Map), 1_500.0);
        // A run without maps leaves what is known of maps.
        lengths.sample(JobId(2), Kind::Reduce, 400);
        lengths.end(&next);
        let told = "[1500.0,400.0,null]".to_string();
        assert_eq!(lengths.lessons(), [(key.clone(), told.clone())]);
        let mut restored = Lengths::new(7_000);
        let told = serde_json::from_str(&told).expect("JSON");
        assert!(restored.restore(&key, &told));
        assert_eq!(restored.task_ms(&next, Kind::Reduce), 400.0);
        assert_eq!(restored.task_ms(&job(4), Kind::Reduce), 7_000.0);
        next.hints.task_ms = [None, Some(50)];
        let profiled = restored.task_ms(&next, Kind::Reduce);
        assert_eq!(profiled, 50.0, "a profile goes before");
        for bad in [
            json!(1),
            json!([1, 2]),
            json!([-1.0, null, null]),
            json!([1e300, 1, 1]),
        ] {
            assert!(!restored.restore(&key, &bad), "{bad}");
        }
    }
}
