//! Relaxed fairness (SW-26): how long a user is passed over, and for which better placed tasks.
//! Knows users by their leaves and tasks by their placement; reads no job.
//!
//! SW-26 lets a user wait while it has only tasks of the third and sixth category. That saves
//! remote reads, like delay scheduling, but no shuffle. Nearly every map of a single job is local
//! somewhere, so the map output would lie as evenly as without waiting. So a user waits first for
//! the racks that SAMP and SARP want, then as long again for data. This takes shuffle off the links
//! (`SW-35`).

use crate::words::ids::Millis;
use crate::words::keys::ShareNodeId;
use std::collections::BTreeMap;

/// Object of a user's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A rack that SAMP or SARP wants.
    Wanted,
    /// A rack with the data of a map.
    Data,
    /// Nothing: one of its tasks is granted (SW-8).
    Nothing,
}

impl Wait {
    /// All waits, in order of time.
    pub const ALL: [Wait; 3] = [Wait::Wanted, Wait::Data, Wait::Nothing];
}

/// Users who are passed over or overtaken, and since when.
#[derive(Debug)]
pub(super) struct Patience {
    /// Durations of both waits; 0 is strict fairness.
    waits_ms: [Millis; 2],
    since: BTreeMap<ShareNodeId, Millis>,
    /// How long a user may be overtaken; 0: never.
    ties_ms: Millis,
    overtaken: BTreeMap<ShareNodeId, Millis>,
}

impl Patience {
    pub(super) fn new(waits_ms: [Millis; 2], ties_ms: Millis) -> Patience {
        Patience {
            waits_ms,
            since: BTreeMap::new(),
            ties_ms,
            overtaken: BTreeMap::new(),
        }
    }

    /// Records that a user entitled alike was served before this one.
    pub(super) fn overtaken(&mut self, leaf: ShareNodeId, now: Millis) {
        self.overtaken.entry(leaf).or_insert(now);
    }

    /// Returns whether the user may be overtaken: not for longer than `ties_ms` without a task of
    /// its own in between, or users with better placed tasks could starve it.
    pub(super) fn may_be_overtaken(&self, leaf: ShareNodeId, now: Millis) -> bool {
        let since = self.overtaken.get(&leaf);
        now - since.copied().unwrap_or(now) < self.ties_ms
    }

    /// Records that the user had its turn without a task that was good enough.
    pub(super) fn passed_over(&mut self, leaf: ShareNodeId, now: Millis) {
        if self.waits_ms != [0, 0] {
            self.since.entry(leaf).or_insert(now);
        }
    }

    /// Forgets a removed leaf, whose number another may get.
    pub(super) fn forget(&mut self, leaf: ShareNodeId) {
        self.since.remove(&leaf);
        self.overtaken.remove(&leaf);
    }

    /// Records a task that the user accepts while it waits for `place`; from now on it waits for
    /// `place`.
    pub(super) fn served(&mut self, leaf: ShareNodeId, place: Wait, now: Millis) {
        self.overtaken.remove(&leaf);
        match place {
            Wait::Wanted => {
                self.since.remove(&leaf);
            }
            Wait::Data => {
                let begins = now - self.waits_ms[0];
                self.since
                    .entry(leaf)
                    .and_modify(|since| *since = begins.max(*since));
            }
            Wait::Nothing => {}
        }
    }

    /// Returns when the wait of a user who is passed over relaxes next; None if it waits for
    /// nothing.
    pub(super) fn until_ms(&self, leaf: ShareNodeId, now: Millis) -> Option<Millis> {
        let since = *self.since.get(&leaf)?;
        let [wanted_ms, data_ms] = self.waits_ms;
        match self.wait(leaf, now) {
            Wait::Wanted => Some(since + wanted_ms),
            Wait::Data => Some(since + wanted_ms + data_ms),
            Wait::Nothing => None,
        }
    }

    /// Returns the object of the user's wait now.
    pub(super) fn wait(&self, leaf: ShareNodeId, now: Millis) -> Wait {
        let waited_ms = self.since.get(&leaf).map_or(0, |since| now - since);
        let [wanted_ms, data_ms] = self.waits_ms;
        if waited_ms < wanted_ms {
            Wait::Wanted
        } else if waited_ms < wanted_ms.saturating_add(data_ms) {
            Wait::Data
        } else {
            Wait::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: ShareNodeId = ShareNodeId(3);

    #[test]
    fn a_user_waits_for_wanted_racks_then_for_data_then_for_nothing() {
        let mut patience = Patience::new([5_000; 2], 0);
        assert_eq!(patience.wait(LEAF, 1_000), Wait::Wanted);
        patience.passed_over(LEAF, 1_000);
        patience.passed_over(LEAF, 4_000);
        for (at, expected) in [
            (5_999, Wait::Wanted),
            (6_000, Wait::Data),
            (10_999, Wait::Data),
            (11_000, Wait::Nothing),
        ] {
            assert_eq!(patience.wait(LEAF, at), expected, "{at}");
        }
    }

    #[test]
    fn either_wait_may_be_left_out() {
        for (waits_ms, begins) in [([5_000, 0], Wait::Wanted), ([0, 5_000], Wait::Data)] {
            let mut patience = Patience::new(waits_ms, 0);
            patience.passed_over(LEAF, 1_000);
            assert_eq!(patience.wait(LEAF, 5_999), begins);
            assert_eq!(patience.until_ms(LEAF, 5_999), Some(6_000));
            assert_eq!(patience.wait(LEAF, 6_000), Wait::Nothing);
        }
    }

    #[test]
    fn a_task_begins_the_wait_anew_from_where_it_lies() {
        let passed_over = |now| {
            let mut patience = Patience::new([5_000; 2], 0);
            patience.passed_over(LEAF, 0);
            assert_eq!(patience.wait(LEAF, now), Wait::Nothing);
            patience
        };
        let mut patience = passed_over(20_000);
        patience.served(LEAF, Wait::Nothing, 20_000);
        assert_eq!(patience.wait(LEAF, 20_000), Wait::Nothing);
        // Near its data: it waits for data again, for the whole time.
        patience.served(LEAF, Wait::Data, 20_000);
        assert_eq!(patience.wait(LEAF, 24_999), Wait::Data);
        assert_eq!(patience.wait(LEAF, 25_000), Wait::Nothing);
        patience.served(LEAF, Wait::Wanted, 25_000);
        assert_eq!(patience.wait(LEAF, 25_000), Wait::Wanted);
        // A user with a stricter wait does not get a weaker one.
        let mut patience = Patience::new([5_000; 2], 0);
        patience.passed_over(LEAF, 0);
        patience.served(LEAF, Wait::Data, 3_000);
        assert_eq!(patience.wait(LEAF, 4_999), Wait::Wanted);
    }

    #[test]
    fn strict_fairness_never_waits() {
        let mut patience = Patience::new([0; 2], 0);
        patience.passed_over(LEAF, 0);
        assert_eq!(patience.wait(LEAF, 0), Wait::Nothing);
    }

    #[test]
    fn a_user_is_overtaken_for_a_while_and_then_has_its_turn() {
        let mut patience = Patience::new([0; 2], 5_000);
        assert!(patience.may_be_overtaken(LEAF, 1_000));
        patience.overtaken(LEAF, 1_000);
        patience.overtaken(LEAF, 4_000);
        assert!(patience.may_be_overtaken(LEAF, 5_999));
        assert!(!patience.may_be_overtaken(LEAF, 6_000));
        patience.served(LEAF, Wait::Nothing, 6_000);
        assert!(patience.may_be_overtaken(LEAF, 6_000));
        assert!(!Patience::new([5_000; 2], 0).may_be_overtaken(LEAF, 0));
    }
}
