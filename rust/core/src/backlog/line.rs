//! Asks in order of service, in two steps: jobs by their keys, and each job's asks inside it. A job
//! whose key changes thus moves as one, however many asks it has.

use super::Entry;
use crate::model::job::Job;
use crate::words::ids::{AskId, JobId};
use crate::words::keys::OrderKey;
use crate::words::kind::Kind;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Where a job stands in a line: by window of the place stage, key of the order stage, and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    /// The job's window; 0 unless the place stage has windows.
    pub window: u32,
    /// The job's place in the leaf's order.
    pub order: OrderKey,
    pub job: JobId,
}

impl Spot {
    /// Where a job's asks of a kind stand by its present key.
    pub(crate) fn of(job: &Job, kind: Kind) -> Spot {
        Spot {
            window: job.window,
            order: job.order_keys[kind as usize],
            job: job.facts.job,
        }
    }

    /// Where the same asks stand in the lines of places.
    pub(crate) fn in_places(job: &Job, kind: Kind) -> Spot {
        let spot = Spot::of(job, kind);
        if !job.unsorted {
            return spot;
        }
        Spot {
            order: OrderKey::FIRST,
            ..spot
        }
    }

    /// The entry of one of the job's asks.
    pub(crate) fn entry(self, (priority, ask): (i32, AskId)) -> Entry {
        let Spot { window, order, job } = self;
        Entry {
            window,
            order,
            job,
            priority,
            ask,
        }
    }
}

/// The asks of one job in a line, sorted: the more urgent request priority first. Most have one.
pub(crate) type Asks = SmallVec<[(i32, AskId); 2]>;

/// Asks in order of service.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// The asks of each job, where it stands.
    spots: BTreeMap<Spot, Asks>,
    jobs: BTreeMap<JobId, Spot>,
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Adds an ask. If the line has others of its job, it joins them where they stand; otherwise
    /// its job stands at `spot`. Returns whether the ask is new here, and its job.
    pub(super) fn insert(&mut self, spot: Spot, ask: (i32, AskId)) -> (bool, bool) {
        let mut joins = false;
        let at = self.jobs.entry(spot.job).or_insert_with(|| {
            joins = true;
            spot
        });
        let asks = self.spots.entry(*at).or_default();
        let added = match asks.binary_search(&ask) {
            Ok(_) => false,
            Err(at) => {
                asks.insert(at, ask);
                true
            }
        };
        (added, joins)
    }

    /// Takes an ask out. Returns whether it was there, and whether its job has no other ask here.
    pub(super) fn remove(&mut self, job: JobId, ask: (i32, AskId)) -> (bool, bool) {
        let Some(spot) = self.jobs.get(&job) else {
            return (false, false);
        };
        let asks = self
            .spots
            .get_mut(spot)
            .expect("jobs of a line stand in it");
        let Ok(at) = asks.binary_search(&ask) else {
            return (false, false);
        };
        asks.remove(at);
        let was_last = asks.is_empty();
        if was_last {
            self.spots.remove(spot);
            self.jobs.remove(&job);
        }
        (true, was_last)
    }

    /// Moves a job's asks to another place, if there are any.
    pub(super) fn move_to(&mut self, spot: Spot) {
        let Some(at) = self.jobs.get_mut(&spot.job) else {
            return;
        };
        let before = std::mem::replace(at, spot);
        if before != spot {
            let asks = self
                .spots
                .remove(&before)
                .expect("jobs of a line stand in it");
            self.spots.insert(spot, asks);
        }
    }

    /// Whether jobs stand by their keys. Jobs whose keys change with each container stand at the
    /// front of a place's line, by number.
    pub(crate) fn is_sorted(&self) -> bool {
        let first = self.spots.first_key_value();
        first.is_none_or(|(spot, _)| spot.order != OrderKey::FIRST)
    }

    /// How many jobs there are.
    pub(crate) fn job_count(&self) -> usize {
        self.spots.len()
    }

    /// The asks of a job.
    pub(crate) fn of_job(&self, job: JobId) -> Option<&Asks> {
        let spot = self.jobs.get(&job)?;
        self.spots.get(spot)
    }

    /// The jobs in order, with their asks.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (Spot, &Asks)> {
        self.spots.iter().map(|(spot, asks)| (*spot, asks))
    }

    /// The same, from a window on.
    pub(crate) fn jobs_from(&self, window: u32) -> impl Iterator<Item = (Spot, &Asks)> {
        let from = Spot {
            window,
            order: OrderKey::FIRST,
            job: JobId(0),
        };
        let jobs = self.spots.range(from..);
        jobs.map(|(spot, asks)| (*spot, asks))
    }

    /// The asks in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> {
        self.jobs()
            .flat_map(|(spot, asks)| asks.iter().map(move |ask| spot.entry(*ask)))
    }

    /// The first ask.
    pub(crate) fn first(&self) -> Option<Entry> {
        self.iter().next()
    }

    /// The asks before one, in order.
    pub(crate) fn before(&self, end: Entry) -> impl Iterator<Item = Entry> {
        self.iter().take_while(move |entry| *entry < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(order: i64, job: u32) -> Spot {
        Spot {
            window: 0,
            order: OrderKey(order, 0),
            job: JobId(job),
        }
    }

    /// Checks the order against a sorted list of entries that are moved one by one.
    #[test]
    fn a_job_moves_with_all_its_asks() {
        let mut line = Line::default();
        for (order, job) in [(5, 1), (3, 2), (9, 3)] {
            for (priority, ask) in [(20, 0), (10, 1), (20, 2)] {
                let added = line.insert(spot(order, job), (priority, AskId(ask)));
                assert_eq!(added, (true, ask == 0));
            }
        }
        line.move_to(spot(7, 2));
        line.move_to(spot(7, 4)); // It has no ask here.
        let asks = [(10, 1), (20, 0), (20, 2)];
        let expected = [(5, 1), (7, 2), (9, 3)]
            .into_iter()
            .flat_map(|(order, job)| {
                asks.map(|(priority, ask)| spot(order, job).entry((priority, AskId(ask))))
            });
        let expected: Vec<Entry> = expected.collect();
        assert!(expected.is_sorted());
        assert_eq!(line.iter().collect::<Vec<_>>(), expected);
        let before: Vec<Entry> = line.before(expected[4]).collect();
        assert_eq!(before, expected[..4]);
        assert_eq!(line.remove(JobId(2), (10, AskId(1))), (true, false));
        assert_eq!(line.remove(JobId(2), (10, AskId(1))), (false, false));
        assert_eq!(line.remove(JobId(2), (20, AskId(0))), (true, false));
        let last = line.remove(JobId(2), (20, AskId(2)));
        assert_eq!(last, (true, true));
        assert_eq!(line.iter().count(), 6);
    }

    #[test]
    fn an_ask_joins_its_job_where_it_stands() {
        let mut line = Line::default();
        line.insert(spot(1, 1), (0, AskId(0)));
        line.insert(spot(8, 1), (0, AskId(1)));
        assert!(line.iter().all(|entry| entry.order == OrderKey(1, 0)));
    }
}
