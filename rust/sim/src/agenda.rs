//! A queue of planned events in virtual time: by time, then in the order of planning. The simulator
//! reads no clock.

use heddle_core::words::ids::{ContainerKey, JobId, Millis, NodeId};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A serial number of a simulated job. Job ids are reused, serial numbers are not.
pub type Serial = u64;

/// A planned event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A job is submitted.
    Submission,
    /// A node reports. The number distinguishes reports of the node's earlier lives.
    NodeHeartbeat(NodeId, u32),
    /// A lost node comes back.
    NodeBack(NodeId),
    /// A draining node returns to service.
    NodeUp(NodeId),
    /// The ApplicationMaster of a job reports.
    MasterHeartbeat(JobId, Serial),
    /// The next attempt of a job begins.
    NextAttempt(JobId, Serial),
    /// A container exits on its own.
    ContainerEnd(JobId, Serial, ContainerKey),
    /// A container whose grace period is over is killed.
    Eviction(JobId, Serial, ContainerKey),
    /// Time passes for the engine.
    Tick,
    /// Something goes wrong.
    Fault,
    /// Time resumes after standing still.
    Thaw,
}

/// All planned events; `T` is the type of an event.
#[derive(Debug)]
pub struct Agenda<T = Due> {
    entries: BinaryHeap<Entry<T>>,
    planned: u64,
}

/// A planned event with its time and its number. The greatest is due first, as a heap wants it.
#[derive(Debug)]
struct Entry<T> {
    at: Millis,
    number: u64,
    due: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Entry<T>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Entry<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Entry<T>) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Agenda<T> {
        Agenda {
            entries: BinaryHeap::new(),
            planned: 0,
        }
    }
}

impl<T> Agenda<T> {
    /// Plans an event.
    pub fn plan(&mut self, at: Millis, due: T) {
        self.planned += 1;
        self.entries.push(Entry {
            at,
            number: self.planned,
            due,
        });
    }

    /// Takes out the next event.
    pub fn pop(&mut self) -> Option<(Millis, T)> {
        let next = self.entries.pop()?;
        Some((next.at, next.due))
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
