//! What is due when, in virtual time: by time, then in the order in which it was planned. No
//! clock is read anywhere in the simulator.

use heddle_core::words::ids::{ContainerKey, JobId, Millis, NodeId};
use std::collections::BTreeMap;

/// A job of the simulation. Job ids are used again, serial numbers are not.
pub type Serial = u64;

/// Something that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A job is submitted.
    Submission,
    /// A node reports. The number tells reports of earlier lives of the node apart.
    NodeHeartbeat(NodeId, u32),
    /// A lost node comes back.
    NodeBack(NodeId),
    /// A draining node is taken up again.
    NodeUp(NodeId),
    /// The ApplicationMaster of a job reports.
    MasterHeartbeat(JobId, Serial),
    /// The next attempt of a job begins.
    NextAttempt(JobId, Serial),
    /// A container ends by itself.
    ContainerEnd(JobId, Serial, ContainerKey),
    /// A container that was to go by now is killed.
    Eviction(JobId, Serial, ContainerKey),
    /// Time passes for the engine.
    Tick,
    /// Something goes wrong.
    Fault,
    /// Time goes on after standing still.
    Thaw,
}

/// Everything that is due; `T` says what can be.
#[derive(Debug)]
pub struct Agenda<T = Due> {
    entries: BTreeMap<(Millis, u64), T>,
    planned: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Agenda<T> {
        Agenda {
            entries: BTreeMap::new(),
            planned: 0,
        }
    }
}

impl<T> Agenda<T> {
    /// Plans something.
    pub fn plan(&mut self, at: Millis, due: T) {
        self.planned += 1;
        self.entries.insert((at, self.planned), due);
    }

    /// Takes out what is due next.
    pub fn pop(&mut self) -> Option<(Millis, T)> {
        let ((at, _), due) = self.entries.pop_first()?;
        Some((at, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_at_once_comes_in_the_order_of_planning() {
        let mut agenda = Agenda::default();
        agenda.plan(20, Due::Tick);
        agenda.plan(10, Due::Fault);
        agenda.plan(10, Due::Submission);
        assert_eq!(agenda.pop(), Some((10, Due::Fault)));
        assert_eq!(agenda.pop(), Some((10, Due::Submission)));
        assert_eq!(agenda.pop(), Some((20, Due::Tick)));
        assert_eq!(agenda.pop(), None);
    }
}
