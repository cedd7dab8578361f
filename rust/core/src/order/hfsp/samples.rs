//! The sample tasks of a phase: the first few that start, and their measurements. Knows nothing of
//! sizes or of other phases.

use super::estimate::{Sample, extrapolate};
use crate::model::job::Container;
use crate::words::ids::{ContainerKey, Millis, NodeId};

/// A running sample. Tasks of one phase that started together on one node are interchangeable until
/// one of them is heard of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Running {
    node: NodeId,
    started_ms: Millis,
    /// Its container, once that has reported progress.
    key: Option<ContainerKey>,
    /// Extrapolated measurement, once it has run long enough (HF-30).
    so_far: Option<Sample>,
    /// Number of tasks that started with it on its node and are no samples. Of samples that started
    /// together one counts them all.
    others: u32,
}

impl Running {
    fn started(&self, node: NodeId, started_ms: Millis) -> bool {
        (self.node, self.started_ms) == (node, started_ms)
    }

    /// Whether it may be any task that started then: it has not been heard of.
    fn may_be(&self, node: NodeId, started_ms: Millis) -> bool {
        self.key.is_none() && self.started(node, started_ms)
    }
}

/// The sample set of a phase (HF-27).
#[derive(Clone, Debug, Default)]
pub(super) struct SampleSet {
    wanted: u32,
    running: Vec<Running>,
    ended: Vec<Sample>,
}

impl SampleSet {
    /// Creates a set of `wanted` samples; 0 wants none.
    pub(super) fn new(wanted: u32) -> SampleSet {
        SampleSet {
            wanted,
            ..SampleSet::default()
        }
    }

    /// Raises the number of samples, because the phase turned out to have more tasks.
    pub(super) fn want(&mut self, wanted: u32) {
        self.wanted = self.wanted.max(wanted);
    }

    /// Returns how many samples have yet to start.
    pub(super) fn needs(&self) -> u32 {
        let started = self.running.len() + self.ended.len();
        self.wanted.saturating_sub(started as u32)
    }

    /// Returns how many samples run.
    pub(super) fn running(&self) -> u32 {
        self.running.len() as u32
    }

    /// Records a started task, which is a sample if one is needed.
    pub(super) fn start(&mut self, node: NodeId, started_ms: Millis) {
        if self.needs() > 0 {
            self.running.push(Running {
                node,
                started_ms,
                key: None,
                so_far: None,
                others: 0,
            });
        } else {
            self.count_others(node, started_ms, 1);
        }
    }

    fn count_others(&mut self, node: NodeId, started_ms: Millis, others: u32) {
        let mut together = self.running.iter_mut();
        if let Some(with) = together.find(|r| r.started(node, started_ms)) {
            with.others += others;
        }
    }

    /// Takes away one of the tasks that started then and are no samples, if there is one.
    fn drop_other(&mut self, node: NodeId, started_ms: Millis) -> bool {
        let mut together = self.running.iter_mut();
        let with = together.find(|r| r.started(node, started_ms) && r.others > 0);
        with.map(|with| with.others -= 1).is_some()
    }

    /// Forgets a task that was not started after all. Of tasks that started together, one that is
    /// no sample goes first: the samples still run then.
    pub(super) fn withdraw(&mut self, node: NodeId, started_ms: Millis) {
        if self.drop_other(node, started_ms) {
            return;
        }
        let mut running = self.running.iter();
        if let Some(at) = running.rposition(|r| r.may_be(node, started_ms)) {
            self.running.remove(at);
        }
    }

    /// Finds the sample that is this container, or may be.
    fn find(&self, key: ContainerKey, container: &Container) -> Option<usize> {
        let known = self.running.iter().position(|r| r.key == Some(key));
        known.or_else(|| {
            let mut running = self.running.iter();
            running.position(|r| r.may_be(container.node, container.started_ms))
        })
    }

    /// Records that a task ended at `now`. A failed task is no sample: another takes its place
    /// (HF-41). Tells whether a sample became known.
    pub(super) fn end(
        &mut self,
        (key, container): (ContainerKey, &Container),
        succeeded: bool,
        now: Millis,
    ) -> bool {
        let (node, started_ms) = (container.node, container.started_ms);
        let Some(at) = self.find(key, container) else {
            self.drop_other(node, started_ms);
            return false;
        };
        let gone = self.running.remove(at);
        self.count_others(node, started_ms, gone.others);
        if succeeded {
            let before = shuffle_ms(container);
            self.ended
                .push(sample(container, (container.task_ms(now) - before) as f64));
        }
        succeeded
    }

    /// Extrapolates a sample's execution from its progress once it has lasted for `delta_ms`
    /// (HF-30). Without progress yet, a later report will do. Tells whether a sample became known.
    pub(super) fn progress(
        &mut self,
        (key, container): (ContainerKey, &Container),
        delta_ms: Millis,
        now: Millis,
    ) -> bool {
        let Some(at) = self.find(key, container) else {
            return false;
        };
        self.running[at].key = Some(key);
        let Some(since) = container.task.executing_since_ms else {
            return false;
        };
        let progress = f64::from(container.task.progress_per_mille) / 1_000.0;
        let elapsed = now - since;
        if elapsed < delta_ms || self.running[at].so_far.is_some() {
            return false;
        }
        let execution = extrapolate(elapsed as f64, progress);
        self.running[at].so_far = execution.map(|execution| sample(container, execution));
        execution.is_some()
    }

    /// Returns every sample if all wanted ones are known and there is at least one (HF-28, HF-30).
    pub(super) fn complete(&self) -> Option<Vec<Sample>> {
        let so_far = self.running.iter().filter_map(|r| r.so_far);
        let known: Vec<Sample> = self.ended.iter().copied().chain(so_far).collect();
        (!known.is_empty() && known.len() >= self.wanted as usize).then_some(known)
    }
}

/// Returns the time before the reduce function. If its start is unknown, all time is execution.
fn shuffle_ms(container: &Container) -> Millis {
    let since = container.task.executing_since_ms;
    since.map_or(0, |since| container.task_ms(since))
}

fn sample(container: &Container, execution: f64) -> Sample {
    Sample {
        shuffle: shuffle_ms(container) as f64,
        input: container.task.input_bytes as f64,
        execution,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::event::TaskFacts;
    use crate::words::ids::PartitionId;
    use crate::words::resource::Resource;

    const KEY: ContainerKey = 1;

    fn task(node: u32, started_ms: Millis) -> Container {
        Container {
            node: NodeId(node),
            partition: PartitionId::DEFAULT,
            lent: false,
            resource: Resource::ZERO,
            priority: 10,
            am: false,
            by_kill: false,
            started_ms,
            launched_ms: None,
            overhead_ms: 0,
            committing_since_ms: None,
            task: TaskFacts::default(),
        }
    }

    fn executions(samples: &[Sample]) -> Vec<f64> {
        samples.iter().map(|sample| sample.execution).collect()
    }

    #[test]
    fn the_first_tasks_are_the_samples_and_a_failed_one_is_replaced() {
        let mut set = SampleSet::new(2);
        set.start(NodeId(1), 0);
        set.start(NodeId(2), 5);
        set.start(NodeId(3), 6);
        assert_eq!((set.needs(), set.running()), (0, 2));
        // The third is no sample, however soon it ends: the first to end would be the shortest.
        assert!(!set.end((KEY, &task(3, 6)), true, 10));
        assert!(!set.end((KEY, &task(2, 5)), false, 20));
        assert_eq!(set.needs(), 1);
        set.start(NodeId(4), 20);
        assert!(set.end((KEY, &task(1, 0)), true, 30) && set.complete().is_none());
        assert!(set.end((KEY, &task(4, 20)), true, 60));
        let known = set.complete().expect("both are known");
        assert_eq!(executions(&known), [30.0, 40.0]);
    }

    #[test]
    fn a_refused_grant_is_no_sample() {
        let mut set = SampleSet::new(1);
        set.start(NodeId(1), 0);
        set.withdraw(NodeId(1), 0);
        assert_eq!((set.needs(), set.running()), (1, 0));
        set.withdraw(NodeId(1), 0);
        assert!(set.complete().is_none());
    }

    /// The sample of 0 s stays, whether the refused task started later on its node or with it.
    #[test]
    fn a_refused_grant_takes_no_sample_of_another_task_of_its_node() {
        let mut set = SampleSet::new(2);
        set.start(NodeId(1), 0);
        set.start(NodeId(2), 0);
        set.start(NodeId(1), 5);
        set.withdraw(NodeId(1), 5);
        assert_eq!((set.needs(), set.running()), (0, 2));
        for _ in 0..2 {
            set.start(NodeId(1), 0);
        }
        set.withdraw(NodeId(1), 0);
        assert_eq!((set.needs(), set.running()), (0, 2));
        // One of the two that are left gives the sample, the other none.
        assert!(set.end((KEY, &task(1, 0)), true, 30));
        assert!(!set.end((KEY, &task(1, 0)), true, 40));
        set.withdraw(NodeId(2), 0);
        assert_eq!((set.needs(), set.running()), (1, 0));
    }

    /// Two samples and a third task started together. One ends; of the other two, one is refused.
    #[test]
    fn what_is_no_sample_stays_known_when_a_sample_that_started_with_it_ends() {
        let mut set = SampleSet::new(2);
        for _ in 0..3 {
            set.start(NodeId(1), 0);
        }
        assert!(set.end((KEY, &task(1, 0)), true, 30));
        set.withdraw(NodeId(1), 0);
        assert_eq!((set.needs(), set.running()), (0, 1));
    }

    /// HF-30: started at 0, reduce function from 4 s on, delta 10 s. At 13 s it is too early; at 14
    /// s there is no progress. At 16 s, 12 s are a quarter: 48 s of execution, 4 s of shuffle. The
    /// true end at 40 s replaces it: 36 s.
    #[test]
    fn a_long_reduce_is_extrapolated_from_its_progress() {
        let mut set = SampleSet::new(1);
        set.start(NodeId(1), 0);
        let mut reduce = task(1, 0);
        reduce.task.input_bytes = 7;
        assert!(
            !set.progress((KEY, &reduce), 10_000, 13_000),
            "the function has not begun"
        );
        reduce.task.executing_since_ms = Some(4_000);
        reduce.task.progress_per_mille = 200;
        assert!(!set.progress((KEY, &reduce), 10_000, 13_000));
        reduce.task.progress_per_mille = 0;
        assert!(!set.progress((KEY, &reduce), 10_000, 14_000));
        reduce.task.progress_per_mille = 250;
        assert!(set.progress((KEY, &reduce), 10_000, 16_000));
        let expected = Sample {
            shuffle: 4_000.0,
            input: 7.0,
            execution: 48_000.0,
        };
        assert_eq!(set.complete(), Some(vec![expected]));
        assert!(!set.progress((KEY, &reduce), 10_000, 20_000), "said once");
        assert!(set.end((KEY, &reduce), true, 40_000));
        let execution = set.complete().expect("it ended")[0].execution;
        assert_eq!(execution, 36_000.0);
    }

    /// Both began their function at 4 s. At 16 s, 12 s are a quarter of one and half of the other.
    #[test]
    fn of_two_reduces_that_started_together_each_is_extrapolated_once() {
        let mut set = SampleSet::new(2);
        let mut reduce = task(1, 0);
        reduce.task.executing_since_ms = Some(4_000);
        for _ in 0..2 {
            set.start(NodeId(1), 0);
        }
        reduce.task.progress_per_mille = 250;
        assert!(set.progress((1, &reduce), 10_000, 16_000));
        assert!(!set.progress((1, &reduce), 10_000, 16_000));
        assert_eq!(set.complete(), None);
        reduce.task.progress_per_mille = 500;
        assert!(set.progress((2, &reduce), 10_000, 16_000));
        let known = set.complete().expect("both are known");
        assert_eq!(executions(&known), [48_000.0, 24_000.0]);
        // The end of the second, at 20 s, replaces what was extrapolated of it.
        assert!(set.end((2, &reduce), true, 20_000));
        let known = set.complete().expect("both are known");
        assert_eq!(executions(&known), [16_000.0, 48_000.0]);
    }

    /// The second of three is heard of: it is the sample, and the third none, which ends first.
    #[test]
    fn a_sample_that_is_heard_of_is_not_taken_for_another() {
        let mut set = SampleSet::new(1);
        for _ in 0..3 {
            set.start(NodeId(1), 0);
        }
        assert!(!set.progress((2, &task(1, 0)), 10_000, 15));
        assert!(!set.end((3, &task(1, 0)), true, 20));
        // The first is refused; the sample still runs.
        set.withdraw(NodeId(1), 0);
        assert_eq!((set.needs(), set.running()), (0, 1));
        assert!(set.end((2, &task(1, 0)), true, 30));
        assert_eq!(set.complete().expect("it ended")[0].execution, 30.0);
    }
}
