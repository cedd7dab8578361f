//! Keeps the latest decisions about each job, in a ring of entries. It is allocated when the job
//! comes and never grows, so that noting a decision is a copy of a few words.

use super::{Entry, What};
use crate::model::wait::Reason;
use crate::words::ids::{JobId, Millis};
use crate::words::table::Table;

/// Place of a job's entries, and how many were noted. Kept apart from the entries, so that noting
/// a decision reads only small tables and writes the entry without waiting for memory.
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: u32,
    noted: u32,
}

/// The latest decisions about one job.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    entries: &'a [Entry],
    noted: u32,
    waits: Option<(Millis, Reason)>,
}

impl<'a> Ring<'a> {
    /// The entries in the ring, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let (size, noted) = (self.entries.len(), self.noted as usize);
        let start = if noted > size { noted % size } else { 0 };
        let (newer, older) = self.entries[..noted.min(size)].split_at(start);
        older.iter().chain(newer)
    }

    /// Entries noted so far, the overwritten ones included.
    pub fn noted(&self) -> u32 {
        self.noted
    }

    /// What the job waits for, and since when. Known from the ticks only.
    pub fn waits(&self) -> Option<(Millis, Reason)> {
        self.waits
    }
}

/// The rings of all jobs.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    size: usize,
    slots: Table<JobId, Slot>,
    /// By slot.
    entries: Vec<Box<[Entry]>>,
    waits: Vec<Option<(Millis, Reason)>>,
    unused: Vec<u32>,
}

/// Fills a new ring.
const BLANK: Entry = Entry {
    at_ms: 0,
    what: What::Waits(Reason::Soon { nodes: 0 }),
};

impl Rings {
    /// Makes rings of `size` entries; with 0 they keep nothing.
    pub(crate) fn new(size: usize) -> Rings {
        Rings {
            size,
            ..Rings::default()
        }
    }

    /// Entries per ring.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether rings keep anything.
    pub(crate) fn is_on(&self) -> bool {
        self.size > 0
    }

    /// Opens the ring of a job that came.
    pub(crate) fn open(&mut self, job: JobId) {
        if !self.is_on() || self.slots.contains(job) {
            return;
        }
        let at = self.unused.pop().unwrap_or(self.entries.len() as u32);
        if at as usize == self.entries.len() {
            self.entries.push(vec![BLANK; self.size].into_boxed_slice());
            self.waits.push(None);
        }
        self.slots.insert(job, Slot { at, noted: 0 });
        self.waits[at as usize] = None;
    }

    /// Drops the ring of a job that left.
    pub(crate) fn close(&mut self, job: JobId) {
        let slot = self.slots.remove(job);
        self.unused.extend(slot.map(|slot| slot.at));
    }

    pub(crate) fn get(&self, job: JobId) -> Option<Ring<'_>> {
        let slot = self.slots.get(job)?;
        Some(Ring {
            entries: &self.entries[slot.at as usize],
            noted: slot.noted,
            waits: self.waits[slot.at as usize],
        })
    }

    /// Notes a decision.
    pub(crate) fn note(&mut self, job: JobId, at_ms: Millis, what: What) {
        if let Some(slot) = self.slots.get_mut(job) {
            let at = slot.noted as usize % self.size;
            // On overflow the count goes on from the ring's size, at the same place in the ring.
            let again = (self.size + (at + 1) % self.size) as u32;
            slot.noted = slot.noted.checked_add(1).unwrap_or(again);
            self.entries[slot.at as usize][at] = Entry { at_ms, what };
        }
    }

    /// Notes why a job waits if the reason is another than before, and returns whether it is.
    pub(crate) fn waits(&mut self, job: JobId, at_ms: Millis, reason: Option<Reason>) -> bool {
        let Some(slot) = self.slots.get(job) else {
            return false;
        };
        let waits = &mut self.waits[slot.at as usize];
        match (waits, reason) {
            (Some((_, before)), Some(reason)) if before.is_like(&reason) => {
                *before = reason;
                false
            }
            (waits, None) => {
                *waits = None;
                false
            }
            (waits, Some(reason)) => {
                *waits = Some((at_ms, reason));
                self.note(job, at_ms, What::Waits(reason));
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::event::Refusal;
    use crate::words::ids::NodeId;

    fn refused(node: u32) -> What {
        What::Refused {
            node: NodeId(node),
            refusal: Refusal::NoFit,
        }
    }

    #[test]
    fn a_ring_keeps_the_last_entries_in_order_and_never_grows() {
        let mut rings = Rings::new(3);
        let job = JobId(7);
        rings.note(job, 0, refused(9));
        assert!(rings.get(job).is_none(), "nobody came yet");
        rings.open(job);
        for (kept, at) in [1, 2, 3, 3, 3, 3].into_iter().zip(1..) {
            rings.note(job, at, refused(at as u32));
            let ring = rings.get(job).expect("it came");
            let times: Vec<Millis> = ring.entries().map(|entry| entry.at_ms).collect();
            let expected: Vec<Millis> = (at - kept + 1..=at).collect();
            assert_eq!(times, expected);
            assert_eq!(ring.entries.len(), 3);
        }
        rings.close(job);
        assert!(rings.get(job).is_none());
    }

    #[test]
    fn a_reason_is_noted_when_it_is_another_one() {
        let mut rings = Rings::new(4);
        let job = JobId(0);
        rings.open(job);
        let soon = |nodes| Some(Reason::Soon { nodes });
        assert!(rings.waits(job, 1, soon(1)));
        assert!(!rings.waits(job, 2, soon(5)), "the same with other numbers");
        let ring = rings.get(job).expect("it came");
        assert_eq!(ring.waits(), Some((1, Reason::Soon { nodes: 5 })));
        assert!(rings.waits(job, 3, Some(Reason::Strict { places: 1, up: 1 })));
        assert!(!rings.waits(job, 4, None));
        assert!(rings.waits(job, 5, Some(Reason::Strict { places: 1, up: 1 })));
        assert_eq!(rings.get(job).expect("it came").noted(), 3);
    }

    #[test]
    fn with_size_0_nothing_is_kept() {
        let mut rings = Rings::new(0);
        rings.open(JobId(0));
        rings.note(JobId(0), 1, refused(1));
        assert!(rings.get(JobId(0)).is_none());
        assert!(!rings.waits(JobId(0), 1, Some(Reason::Soon { nodes: 1 })));
    }
}
