//! Clamps the values in events to the range in which the engine and its policies compute. Does not
//! judge ids: `apply` ignores events that name something unknown.
//!
//! A host's clock may be wrong, and users may claim anything. Clamping once, here, lets every
//! policy subtract two times or add two counts without overflow. A value out of range counts as the
//! nearest one in range: a job whose clock is wrong must still run.

use crate::words::event::{
    AskFacts, ContainerFacts, JobCounters, JobFacts, JobHints, NodeFacts, TaskFacts,
};
use crate::words::ids::{Millis, TIME_MAX_MS};
use crate::words::resource::Resource;

/// More containers than any cluster starts for one ask; 4,000 asks of as many still add up
/// within a `u32`.
pub const COUNT_MAX: u32 = 1 << 20;
/// Eight pebibytes: larger than any job's input, and still exact as `f64`.
const BYTES_MAX: u64 = 1 << 53;
/// More of any resource than a node has, even in bytes; 32,000 such nodes still add up exactly.
const AMOUNT_MAX: i64 = 1 << 48;
/// The whole of a node or a task.
const PER_MILLE: u32 = 1_000;
/// A million bytes written for each byte read; more is an error in the job's profile.
const SHUFFLE_PER_MILLE_MAX: u32 = 1_000_000_000;

pub(super) fn time(at: Millis) -> Millis {
    at.clamp(0, TIME_MAX_MS)
}

pub(super) fn count(count: u32) -> u32 {
    count.min(COUNT_MAX)
}

pub(super) fn bytes(bytes: u64) -> u64 {
    bytes.min(BYTES_MAX)
}

pub(super) fn per_mille(part: u32) -> u32 {
    part.min(PER_MILLE)
}

/// Clamps what a container or a node has, which is never negative.
pub(super) fn amount(resource: &Resource) -> Resource {
    Resource(resource.0.map(|amount| amount.clamp(0, AMOUNT_MAX)))
}

/// Clamps what is free on a node, which is negative if the node is overcommitted.
pub(super) fn free(resource: &Resource) -> Resource {
    let bounded = |amount: i64| amount.clamp(-AMOUNT_MAX, AMOUNT_MAX);
    Resource(resource.0.map(bounded))
}

pub(super) fn node(facts: &NodeFacts) -> NodeFacts {
    NodeFacts {
        capacity: amount(&facts.capacity),
        free: free(&facts.free),
        ..*facts
    }
}

pub(super) fn job(facts: &JobFacts) -> JobFacts {
    JobFacts {
        submitted_ms: time(facts.submitted_ms),
        ..*facts
    }
}

pub(super) fn ask(facts: &AskFacts) -> AskFacts {
    AskFacts {
        count: count(facts.count),
        // Keeps a negative amount: the engine ignores such an ask as faulty.
        resource: free(&facts.resource),
        ..*facts
    }
}

pub(super) fn container(facts: &ContainerFacts) -> ContainerFacts {
    ContainerFacts {
        started_ms: time(facts.started_ms),
        resource: amount(&facts.resource),
        ..*facts
    }
}

pub(super) fn hints(hints: &JobHints) -> JobHints {
    JobHints {
        tasks: hints.tasks.map(|tasks| tasks.map(count)),
        input_bytes: hints.input_bytes.map(bytes),
        shuffle_per_mille: hints
            .shuffle_per_mille
            .map(|ratio| ratio.min(SHUFFLE_PER_MILLE_MAX)),
        deadline_ms: hints.deadline_ms.map(time),
        task_ms: hints.task_ms.map(|length| length.map(time)),
        signature: hints.signature,
    }
}

pub(super) fn counters(counters: &JobCounters) -> JobCounters {
    JobCounters {
        done: counters.done.map(count),
        input_bytes: bytes(counters.input_bytes),
        map_output_bytes: bytes(counters.map_output_bytes),
        shuffled_bytes: bytes(counters.shuffled_bytes),
        written_bytes: bytes(counters.written_bytes),
    }
}

pub(super) fn task(facts: &TaskFacts) -> TaskFacts {
    TaskFacts {
        progress_per_mille: per_mille(facts.progress_per_mille),
        input_bytes: bytes(facts.input_bytes),
        output_bytes: bytes(facts.output_bytes),
        executing_since_ms: facts.executing_since_ms.map(time),
        committing: facts.committing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_such_that_sums_and_differences_exist() {
        assert!(COUNT_MAX.checked_mul(4_000).is_some());
        assert!(AMOUNT_MAX.checked_mul(32_000).is_some());
        assert!(TIME_MAX_MS.checked_mul(1_000_000).is_some());
        assert_eq!(BYTES_MAX as f64 as u64, BYTES_MAX);
        assert_eq!(time(Millis::MIN), 0);
        assert_eq!(time(Millis::MAX), TIME_MAX_MS);
    }
}
