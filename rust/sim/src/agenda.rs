//! A queue of planned events in virtual time: by time, then in the order of planning. The simulator
//! reads no clock.

use heddle_core::words::ids::Millis;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// All planned events; `T` is the type of an event.
#[derive(Debug)]
pub struct Agenda<T> {
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
        agenda.plan(20, 'c');
        agenda.plan(10, 'a');
        agenda.plan(10, 'b');
        assert_eq!(agenda.pop(), Some((10, 'a')));
        assert_eq!(agenda.pop(), Some((10, 'b')));
        assert_eq!(agenda.pop(), Some((20, 'c')));
        assert_eq!(agenda.pop(), None);
    }
}
