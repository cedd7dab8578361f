//! Expected lengths of a job's tasks before they have run: those of its earlier runs, or of jobs
//! whose tasks read about as much.

use crate::model::job::Job;
use crate::model::lengths::{Lengths, Mean};
use crate::model::recent::Recent;
use crate::words::ids::{JobId, Millis};
use crate::words::kind::Kind;
use std::collections::BTreeMap;

/// Length of an entirely unknown task.
const UNKNOWN_MS: Millis = 30_000;
/// Maximum number of remembered likenesses; beyond it the program is dropped whose last task is the
/// oldest. There are at most 65 sizes of each kind, and these stay.
const LIKENESSES_MAX: usize = 4_096;

/// Source of a length, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Basis {
    /// Tasks of the job itself.
    OwnTasks,
    /// The job's profile, or earlier runs of its program.
    EarlierRuns,
    /// Tasks of other jobs with as much to read.
    LikeTasks,
    /// Any tasks, or a default.
    AnyTasks,
}

impl Basis {
    /// Returns its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Basis::OwnTasks => "tasks of this job",
            Basis::EarlierRuns => "earlier runs",
            Basis::LikeTasks => "tasks that read as much",
            Basis::AnyTasks => "any tasks",
        }
    }
}

/// Lengths of tasks, learnt as they end.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectedLengths {
    lengths: Lengths,
    programs: Recent<(u64, Kind), Mean>,
    /// Tasks by what they read: the binary logarithm of the bytes.
    sizes: BTreeMap<(u8, Kind), Mean>,
}

impl ExpectedLengths {
    /// Learns the length of a task that succeeded.
    pub(crate) fn learn(&mut self, job: &Job, kind: Kind, length_ms: Millis) {
        let length_ms = length_ms.max(0);
        self.lengths.sample(job.facts.job, kind, length_ms);
        if let Some(signature) = job.hints.signature {
            let program = (signature, kind);
            let mut mean = self.programs.get(program).unwrap_or_default();
            mean.add(length_ms);
            self.programs.insert(program, mean);
        }
        if let Some(size) = size(job, kind) {
            self.sizes.entry((size, kind)).or_default().add(length_ms);
        }
        while self.programs.len() + self.sizes.len() > LIKENESSES_MAX {
            let oldest = self.programs.pop_oldest();
            oldest.expect("all but the sizes are programs");
        }
    }

    pub(crate) fn forget(&mut self, job: JobId) {
        self.lengths.forget(job);
    }

    /// Returns the expected length in ms, at least 1, and its basis.
    pub(crate) fn of(&self, job: &Job, kind: Kind) -> (Millis, Basis) {
        let own = self.lengths.own_ms(job.facts.job, kind);
        let profile = job.hints.task_ms.get(kind as usize).copied().flatten();
        let program = || self.programs.get((job.hints.signature?, kind))?.get();
        let alike = || self.sizes.get(&(size(job, kind)?, kind))?.get();
        let known = own
            .map(|ms| (ms, Basis::OwnTasks))
            .or_else(|| profile.map(|ms| (ms as f64, Basis::EarlierRuns)))
            .or_else(|| program().map(|ms| (ms, Basis::EarlierRuns)))
            .or_else(|| alike().map(|ms| (ms, Basis::LikeTasks)));
        let (ms, basis) = known.unwrap_or_else(|| {
            let any = self.lengths.cluster_ms(kind);
            (any.unwrap_or(UNKNOWN_MS as f64), Basis::AnyTasks)
        });
        ((ms.round() as Millis).max(1), basis)
    }
}

/// Returns how much a job's tasks of one kind read: the binary logarithm of the bytes.
fn size(job: &Job, kind: Kind) -> Option<u8> {
    let hints = &job.hints;
    let input = hints.input_bytes?;
    let tasks = (*hints.tasks.get(kind as usize)?)?.max(1);
    let read = match kind {
        Kind::Reduce => {
            let ratio = u64::from(hints.shuffle_per_mille.unwrap_or(1_000));
            (input / 1_000).saturating_mul(ratio)
        }
        _ => input,
    };
    let each = read / u64::from(tasks);
    Some((u64::BITS - each.leading_zeros()) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::lengths::tests::job;

    #[test]
    fn the_nearest_likeness_counts() {
        let mut lengths = ExpectedLengths::default();
        let mut sort = job(1);
        sort.hints.signature = Some(7);
        sort.hints.input_bytes = Some(64 << 20);
        sort.hints.tasks = [Some(1), Some(1)];
        assert_eq!(lengths.of(&sort, Kind::Map), (UNKNOWN_MS, Basis::AnyTasks));
        // Another job's map, alike only in being a map.
        lengths.learn(&job(2), Kind::Map, 1_000);
        assert_eq!(lengths.of(&sort, Kind::Map), (1_000, Basis::AnyTasks));
        // As much to read: 64 MB each.
        let mut read = job(3);
        read.hints.input_bytes = Some(65 << 21);
        read.hints.tasks = [Some(2), None];
        lengths.learn(&read, Kind::Map, 2_000);
        assert_eq!(lengths.of(&sort, Kind::Map), (2_000, Basis::LikeTasks));
        let mut earlier = job(4);
        earlier.hints.signature = Some(7);
        lengths.learn(&earlier, Kind::Map, 3_000);
        assert_eq!(lengths.of(&sort, Kind::Map), (3_000, Basis::EarlierRuns));
        lengths.learn(&sort, Kind::Map, 4_000);
        assert_eq!(lengths.of(&sort, Kind::Map), (4_000, Basis::OwnTasks));
        assert_eq!(
            lengths.of(&sort, Kind::Reduce).1,
            Basis::AnyTasks,
            "kinds are apart"
        );
    }

    fn run_of(signature: u64) -> Job {
        let mut job = job(0);
        job.hints.signature = Some(signature);
        job
    }

    #[test]
    fn what_is_remembered_of_programs_is_bounded() {
        let mut lengths = ExpectedLengths::default();
        for i in 0..LIKENESSES_MAX as u64 + 10 {
            lengths.learn(&run_of(i), Kind::Map, 1);
        }
        assert_eq!(lengths.programs.len() + lengths.sizes.len(), LIKENESSES_MAX);
    }

    /// A task of program 1 comes again before there are too many, and none of program 2.
    #[test]
    fn the_program_whose_last_task_is_the_oldest_is_forgotten() {
        let mut lengths = ExpectedLengths::default();
        for i in 1..=LIKENESSES_MAX as u64 {
            lengths.learn(&run_of(i), Kind::Map, 1);
        }
        lengths.learn(&run_of(1), Kind::Map, 1);
        lengths.learn(&run_of(0), Kind::Map, 1);
        lengths.forget(JobId(0));
        let basis = |signature: u64| lengths.of(&run_of(signature), Kind::Map).1;
        assert_eq!(basis(2), Basis::AnyTasks);
        for kept in [0, 1, 3, LIKENESSES_MAX as u64] {
            assert_eq!(basis(kept), Basis::EarlierRuns, "{kept}");
        }
    }

    /// There are few sizes, and each is good for jobs of any program.
    #[test]
    fn sizes_are_not_forgotten_for_programs() {
        let mut lengths = ExpectedLengths::default();
        let mut read = job(1);
        read.hints.input_bytes = Some(64 << 20);
        read.hints.tasks = [Some(1), None];
        lengths.learn(&read, Kind::Map, 2_000);
        for i in 0..LIKENESSES_MAX as u64 {
            lengths.learn(&run_of(i), Kind::Map, 1);
        }
        assert_eq!(lengths.programs.len() + lengths.sizes.len(), LIKENESSES_MAX);
        lengths.forget(JobId(1));
        assert_eq!(lengths.of(&read, Kind::Map), (2_000, Basis::LikeTasks));
    }
}
