//! Scheduling policies: how the children of a queue are compared, or the applications in a leaf.

use super::file::{Element, Elements, under};
use super::reading::Reading;
use crate::Fault;

/// How the children of a queue, or its applications, are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Fair,
    Fifo,
    Drf,
    /// A class that Heddle does not have.
    Other,
}

impl Policy {
    pub(super) fn read(element: &Element) -> Result<Policy, Fault> {
        let text = element.value()?;
        let class = text
            .strip_prefix("org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.");
        match (text.to_lowercase().as_str(), class) {
            ("fair", _) | (_, Some("FairSharePolicy")) => Ok(Policy::Fair),
            ("fifo", _) | (_, Some("FifoPolicy")) => Ok(Policy::Fifo),
            ("drf", _) | (_, Some("DominantResourceFairnessPolicy")) => Ok(Policy::Drf),
            _ if text.contains('.') => Ok(Policy::Other),
            _ => Err(element.fault("expected fair, drf or fifo")),
        }
    }

    /// The value of `compare`. A leaf's order says nothing about queues below it.
    pub(super) fn compare(self) -> &'static str {
        match self {
            Policy::Drf => "dominant",
            _ => "memory",
        }
    }

    /// The value of `order`.
    pub(super) fn order(self) -> &'static str {
        match self {
            Policy::Fair | Policy::Other => "fair",
            Policy::Fifo => "fifo",
            Policy::Drf => "drf",
        }
    }

    /// Returns whether a queue of this policy may have children of that one.
    pub(super) fn admits(self, child: Policy) -> bool {
        match self {
            Policy::Fair => child != Policy::Drf,
            Policy::Drf | Policy::Other => true,
            Policy::Fifo => false,
        }
    }

    pub(super) fn note(self, reading: &mut Reading, owner: &str, element: &Element) {
        let what = under(owner, &element.name);
        match self {
            Policy::Other => {
                let why = "Heddle cannot run a class of YARN's scheduler; write fair, drf or fifo";
                reading.refused(element.line, what, why);
            }
            _ => reading.exact(element.line, what),
        }
    }
}

/// The policy of queues that name none.
pub(super) fn default_policy(top: &Elements) -> Result<Policy, Fault> {
    let Some(element) = top.get("defaultQueueSchedulingPolicy") else {
        return Ok(Policy::Fair);
    };
    match Policy::read(element)? {
        Policy::Fifo => Err(element.fault(
            "expected fair or drf: a queue with others in it cannot \
                                           be fifo; write fifo at the leaves",
        )),
        policy => Ok(policy),
    }
}
