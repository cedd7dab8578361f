//! A user's use of slots in an interval: slots times time, summed up whenever their number changes.
//! Knows no money.

use crate::words::ids::Millis;
use crate::words::keys::POOLS;
use serde::{Deserialize, Serialize};

/// The containers of a queue's jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Running {
    /// Those that take slots, by pool.
    pub(super) slots: [u32; POOLS],
    /// ApplicationMasters, which take none.
    pub(super) ams: u32,
}

/// Containers times milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Use {
    /// Of those in slots, by pool.
    pub(super) slot_ms: [i64; POOLS],
    /// Of ApplicationMasters.
    pub(super) am_ms: i64,
}

impl Use {
    /// Returns what these containers use in that time.
    pub(super) fn of(running: &Running, elapsed_ms: Millis) -> Use {
        Use {
            slot_ms: running.slots.map(|slots| i64::from(slots) * elapsed_ms),
            am_ms: i64::from(running.ams) * elapsed_ms,
        }
    }

    pub(super) fn add(&mut self, more: &Use) {
        for (sum, more) in self.slot_ms.iter_mut().zip(more.slot_ms) {
            *sum = sum.saturating_add(more);
        }
        self.am_ms = self.am_ms.saturating_add(more.am_ms);
    }
}

/// One user's meter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Meter {
    /// Paid slots, by pool.
    pub(super) quota: [u32; POOLS],
    /// Containers at present.
    pub(super) running: Running,
    /// Those that jobs with an authority use; these have their own meters.
    pub(super) bounded: [u32; POOLS],
    /// Paid slots among `bounded`.
    pub(super) paid: [u32; POOLS],
    /// Slots times milliseconds since the last reset, by pool; only those that count.
    pub(super) slot_ms: [i64; POOLS],
    /// All use since the last reset.
    pub(super) whole: Use,
    since: Millis,
}

impl Meter {
    /// Creates a meter that starts at `now`.
    pub(super) fn new(now: Millis) -> Meter {
        Meter {
            since: now,
            ..Meter::default()
        }
    }

    /// Adds the use up to `now`, then sets the containers from now on. Use beyond the present quota
    /// counts only with `beyond`.
    pub(super) fn read(&mut self, now: Millis, running: Running, beyond: bool) {
        let elapsed_ms = (now - self.since).max(0);
        for pool in 0..POOLS {
            self.slot_ms[pool] += i64::from(self.counted(pool, beyond)) * elapsed_ms;
        }
        self.whole.add(&Use::of(&self.running, elapsed_ms));
        (self.since, self.running) = (now, running);
    }

    /// Returns how many slots count of those in use by jobs without an authority.
    pub(super) fn counted(&self, pool: usize, beyond: bool) -> u32 {
        let most = self.most(pool, beyond).saturating_sub(self.paid[pool]);
        self.unbounded(pool).min(most)
    }

    /// Tells whether one more slot of a pool is within its quota.
    pub(super) fn below_quota(&self, pool: usize, running: u32) -> bool {
        self.paying(pool, running) < self.quota[pool]
    }

    /// Returns the maximum of slots that count.
    pub(super) fn most(&self, pool: usize, beyond: bool) -> u32 {
        if beyond { u32::MAX } else { self.quota[pool] }
    }

    /// Returns the slots that jobs without an authority use.
    pub(super) fn unbounded(&self, pool: usize) -> u32 {
        self.running.slots[pool].saturating_sub(self.bounded[pool])
    }

    /// Returns the slots that their jobs' authorities do not pay for.
    pub(super) fn unpaid(&self, pool: usize) -> u32 {
        self.bounded[pool].saturating_sub(self.paid[pool])
    }

    /// Returns how many of `running` slots count against the quota.
    pub(super) fn paying(&self, pool: usize, running: u32) -> u32 {
        running.saturating_sub(self.unpaid(pool))
    }

    /// Returns how many more slots of jobs with an authority can be paid for.
    pub(super) fn room(&self, pool: usize, beyond: bool) -> u32 {
        let taken = self.unbounded(pool).saturating_add(self.paid[pool]);
        self.most(pool, beyond).saturating_sub(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(slots: [u32; POOLS], ams: u32) -> Running {
        Running { slots, ams }
    }

    #[test]
    fn use_is_summed_up_over_its_changes() {
        let mut meter = Meter::new(1_000);
        meter.quota = [3, 1];
        meter.read(2_000, running([2, 0], 1), false);
        meter.read(5_000, running([4, 2], 2), false);
        meter.read(5_500, running([0, 0], 0), false);
        meter.read(9_000, running([0, 0], 0), false);
        // 2 for 3 s; then 4 of which 3 are paid for, and 1 of 2, for half a second.
        assert_eq!(meter.slot_ms, [6_000 + 1_500, 500]);
        let whole = Use {
            slot_ms: [6_000 + 2_000, 1_000],
            am_ms: 3_000 + 1_000,
        };
        assert_eq!(meter.whole, whole);
        let mut all = Meter::new(0);
        all.read(1, running([4, 2], 0), true);
        all.read(11, running([0, 0], 0), true);
        assert_eq!(all.slot_ms, [40, 20]);
    }

    /// Of 5 slots in use 3 are bounded, and 1 of those is paid for: 2 + 1 count against the quota.
    #[test]
    fn what_an_authority_does_not_pay_for_stands_against_no_quota() {
        let mut meter = Meter::new(0);
        (meter.quota, meter.bounded, meter.paid) = ([4, 0], [3, 0], [1, 0]);
        meter.read(0, running([5, 0], 0), false);
        assert_eq!([meter.unbounded(0), meter.unpaid(0)], [2, 2]);
        assert_eq!([meter.paying(0, 5), meter.room(0, false)], [3, 1]);
        assert!(meter.below_quota(0, 5) && !meter.below_quota(0, 6));
        meter.quota = [2, 0];
        assert_eq!([meter.counted(0, false), meter.counted(0, true)], [1, 2]);
        meter.read(10, running([5, 0], 0), false);
        assert_eq!((meter.slot_ms, meter.whole.slot_ms), ([10, 0], [50, 0]));
    }

    #[test]
    fn a_clock_that_stands_counts_nothing() {
        let mut meter = Meter::new(1_000);
        meter.read(1_000, running([2, 0], 1), true);
        meter.read(900, running([2, 0], 1), true);
        assert_eq!((meter.slot_ms, meter.whole), ([0, 0], Use::default()));
    }
}
