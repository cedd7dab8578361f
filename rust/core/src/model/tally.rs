//! Sums by queue of the resources that jobs hold and ask for, for reports: a page of queues need
//! not look at all jobs. Ticks do not use them, so only reports bring them up to date.

use super::job::Job;
use super::noted::Changed;
use crate::words::ids::{JobId, QueueId};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use crate::words::table::Table;

/// The part of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    queue: QueueId,
    used: Resource,
    /// The sum of its usage and its asks, whether or not it may run.
    demand: Resource,
    pending: u64,
    running: u32,
    /// Running and pending ApplicationMasters.
    masters: [u32; 2],
}

impl Part {
    fn of(job: &Job) -> Part {
        let wanted = |sum: Resource, count: u32, of: &Resource| sum + of.times(i64::from(count));
        Part {
            queue: job.facts.queue,
            used: job.used,
            demand: job.pending().fold(job.used, |sum, ask| {
                wanted(sum, ask.facts.count, &ask.facts.resource)
            }),
            pending: job.pending().map(|ask| u64::from(ask.facts.count)).sum(),
            running: job.running_containers(),
            masters: [job.running_masters(), job.pending_masters()],
        }
    }
}

/// The sum over jobs. In 128 bits, so that parts can be subtracted again: users may claim more
/// than 64 hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    used: [i128; RESOURCE_TYPES_MAX],
    demand: [i128; RESOURCE_TYPES_MAX],
    pub(crate) pending: u64,
    pub(crate) running: u64,
    pub(crate) masters: [u64; 2],
}

impl Tally {
    /// Adds another sum.
    pub(crate) fn add(&mut self, other: &Tally) {
        for i in 0..RESOURCE_TYPES_MAX {
            self.used[i] += other.used[i];
            self.demand[i] += other.demand[i];
        }
        self.pending += other.pending;
        self.running += other.running;
        self.masters = [0, 1].map(|i| self.masters[i] + other.masters[i]);
    }

    fn count(&mut self, part: &Part, added: bool) {
        let sign = if added { 1 } else { -1 };
        for i in 0..RESOURCE_TYPES_MAX {
            self.used[i] += sign * i128::from(part.used[i]);
            self.demand[i] += sign * i128::from(part.demand[i]);
        }
        let count = |sum: &mut u64, part: u64| match added {
            true => *sum += part,
            false => *sum -= part,
        };
        count(&mut self.pending, part.pending);
        count(&mut self.running, u64::from(part.running));
        for (sum, masters) in self.masters.iter_mut().zip(part.masters) {
            count(sum, u64::from(masters));
        }
    }

    /// The resources in use.
    pub(crate) fn used(&self) -> Resource {
        saturated(&self.used)
    }

    /// Those in use and asked for.
    pub(crate) fn demand(&self) -> Resource {
        saturated(&self.demand)
    }
}

fn saturated(sum: &[i128; RESOURCE_TYPES_MAX]) -> Resource {
    let bounds = (i128::from(i64::MIN), i128::from(i64::MAX));
    Resource(sum.map(|amount| amount.clamp(bounds.0, bounds.1) as i64))
}

/// The sums by queue.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    sums: Vec<Tally>,
    parts: Table<JobId, Part>,
    changed: Changed,
}

impl Tallies {
    /// Notes that a job may change, has come, or has gone.
    pub(super) fn change(&mut self, id: JobId) {
        self.changed.add(id);
    }

    /// Brings the sums up to date.
    pub(super) fn renew<'a>(&mut self, job: impl Fn(JobId) -> Option<&'a Job>) {
        let changed = self.changed.take();
        for id in &changed {
            self.replace(*id, job(*id).map(Part::of));
        }
        self.changed.put_back(changed);
    }

    /// Replaces the part of a job, if it still is there.
    fn replace(&mut self, id: JobId, part: Option<Part>) {
        let before = match part {
            Some(part) => self.parts.insert(id, part),
            None => self.parts.remove(id),
        };
        for (part, added) in [(before, false), (part, true)] {
            let Some(part) = part else { continue };
            let at = part.queue.index();
            if self.sums.len() <= at {
                self.sums.resize(at + 1, Tally::default());
            }
            self.sums[at].count(&part, added);
        }
    }

    /// The sum over the jobs of a queue itself, not of those below it.
    pub(crate) fn of(&self, queue: QueueId) -> Tally {
        self.sums.get(queue.index()).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_than_a_number_holds_can_be_taken_away_again() {
        let part = |amount| Part {
            queue: QueueId(3),
            used: Resource::ZERO,
            demand: Resource::new(amount, 1),
            pending: 1,
            running: 2,
            masters: [1, 0],
        };
        let mut tallies = Tallies::default();
        tallies.replace(JobId(1), Some(part(i64::MAX)));
        tallies.replace(JobId(2), Some(part(5)));
        assert_eq!(
            tallies.of(QueueId(3)).demand(),
            Resource::new(i64::MAX, 2),
            "as `Resource` adds"
        );
        tallies.replace(JobId(1), None);
        assert_eq!(tallies.of(QueueId(3)).demand(), Resource::new(5, 1));
        tallies.replace(JobId(2), None);
        assert_eq!(tallies.of(QueueId(3)), Tally::default());
        assert_eq!(tallies.of(QueueId(9)), Tally::default());
    }
}
