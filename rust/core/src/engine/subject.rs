//! The job or node that the engine works on, so that a panic can be blamed on it. After two panics
//! the host keeps that job or node away from the next engine. Decides nothing.
//!
//! Also the faults that tests plant: asks of certain priorities, where `testing.faults` is on.

use super::Engine;
use crate::words::event::Event;
use crate::words::ids::{JobId, NodeId};
use std::fmt;

/// The engine panics when it hears of an ask of this priority.
pub const PLANTED_ASK: i32 = 66_601;
/// The engine panics when it grants an ask of this priority.
pub const PLANTED_GRANT: i32 = 66_602;
/// The engine panics at the tick, which is about no job, while an ask of this priority pends.
pub const PLANTED_TICK: i32 = 66_603;
/// The audit reports one container too many for an ask of this priority.
pub const PLANTED_COUNT: i32 = 66_604;

/// A job or node, printed as explanations print them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A job.
    Job(JobId),
    /// A node.
    Node(NodeId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Job(job) => write!(f, "job#{}", job.0),
            Subject::Node(node) => write!(f, "node#{}", node.0),
        }
    }
}

/// The subject of an event. A heartbeat has none, and neither has an offer: it is about the asks
/// that it serves, not about its node. A job's fault must not cost one node after the other.
pub(super) fn of(event: &Event) -> Option<Subject> {
    let job = match event {
        Event::NodeAdded(facts) | Event::NodeChanged(facts) => {
            return Some(Subject::Node(facts.node));
        }
        Event::NodeRemoved(node)
        | Event::NodeSilent(node)
        | Event::NodeShuffle { node, .. }
        | Event::Room { node, .. }
        | Event::NodeLoad { node, .. } => return Some(Subject::Node(*node)),
        Event::Heartbeat { .. }
        | Event::Offer(_)
        | Event::RackTraffic { .. }
        | Event::Tick
        | Event::Fault(_) => return None,
        Event::JobAdded(facts) => facts.job,
        Event::Ask(facts) => facts.job,
        Event::ContainerAdded(facts) => facts.job,
        Event::JobRemoved(job) | Event::JobReset(job) => *job,
        Event::JobHints { job, .. }
        | Event::InputBlocks { job, .. }
        | Event::Task { job, .. }
        | Event::ContainerLaunched { job, .. }
        | Event::JobCounters { job, .. }
        | Event::JobMoved { job, .. }
        | Event::JobPriority { job, .. }
        | Event::Blacklist { job, .. }
        | Event::AskRow { job, .. }
        | Event::ContainerCompleted { job, .. }
        | Event::ContainerResized { job, .. }
        | Event::Ack { job, .. }
        | Event::Nack { job, .. } => *job,
    };
    Some(Subject::Job(job))
}

impl Engine {
    /// The job or node that the engine worked on last, if it was one: after a panic, the suspect.
    pub fn subject(&self) -> Option<Subject> {
        self.subject.get()
    }

    /// Panics for a planted fault.
    pub(super) fn plant(&self, priority: i32, planted: i32) {
        if self.setup.config.faults && priority == planted {
            panic!("an ask of priority {planted} was planted by a test");
        }
    }

    /// Like [`Engine::plant`], for the asks of all jobs.
    pub(super) fn plant_tick(&self) {
        if self.setup.config.faults {
            for ask in self.cluster.jobs().flat_map(|job| job.pending()) {
                self.plant(ask.facts.priority, PLANTED_TICK);
            }
        }
    }

    /// The count of a pending ask that the audit reports.
    pub(super) fn audited_count(&self, priority: i32, count: u32) -> u32 {
        count + u32::from(self.setup.config.faults && priority == PLANTED_COUNT)
    }
}
