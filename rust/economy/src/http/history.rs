//! The in-memory window of ended allocation intervals, for prices and charges over time (DP-46).
//! Bounded; the store's ledger is permanent, and its end is read back after a restart. Knows no
//! policy and no request.

use crate::record::{Interval, RecentLedger};
use std::collections::VecDeque;
use std::sync::Arc;

/// Limit of rows in memory: with thousands of queues, fewer intervals fit.
const ROWS_MAX: usize = 200_000;

/// The last intervals, oldest first.
#[derive(Debug)]
pub(crate) struct History {
    intervals: VecDeque<Arc<Interval>>,
    intervals_max: usize,
    rows: usize,
    /// Whether the oldest intervals were dropped at a limit.
    forgotten: bool,
    /// Whether there were older intervals that are not here.
    late: bool,
    /// The number after the last reported interval; 0 before the first.
    next: u64,
    /// Whether a clock was set back: some interval ended no later than an earlier one, so times do
    /// not give the order.
    clock_fell: bool,
    /// Whether intervals before the first may have ended after it.
    unordered: bool,
}

impl History {
    /// Creates a window of at most `intervals_max` intervals.
    pub(crate) fn new(intervals_max: usize) -> History {
        History {
            intervals: VecDeque::new(),
            intervals_max,
            rows: 0,
            forgotten: false,
            late: false,
            next: 0,
            clock_fell: false,
            unordered: false,
        }
    }

    /// Adds an interval, and drops the oldest ones beyond the limits.
    ///
    /// # Errors
    ///
    /// It ended before 1970, or is not later than the last. Then nothing is added: a host that
    /// reports an interval again after a failure adds nothing twice.
    pub(crate) fn add(&mut self, mut interval: Interval) -> Result<(), String> {
        if interval.at_ms < 0 {
            return Err(format!("an interval ended at {} ms", interval.at_ms));
        }
        let last_ms = self.intervals.back().map(|last| last.at_ms);
        let follows = interval.tick >= self.next.max(1);
        if follows {
            // Advanced even if it is left out here: the store has it, so there is a gap.
            self.next = interval.tick + 1;
            self.clock_fell |= last_ms.is_some_and(|last_ms| interval.at_ms <= last_ms);
        }
        if last_ms.is_some_and(|last_ms| interval.at_ms <= last_ms) {
            let (at, last) = (interval.at_ms, last_ms.unwrap_or(0));
            return Err(format!(
                "an interval of {at} ms does not follow the one of {last} ms"
            ));
        }
        if !follows {
            interval.tick = self.next.max(1);
            self.next = interval.tick + 1;
        }
        self.rows += interval.rows.len();
        self.intervals.push_back(Arc::new(interval));
        while self.intervals.len() > self.intervals_max
            || (self.rows > ROWS_MAX && self.intervals.len() > 1)
        {
            let oldest = self.intervals.pop_front();
            self.rows -= oldest.map_or(0, |oldest| oldest.rows.len());
            self.forgotten = true;
        }
        Ok(())
    }

    /// Adds the intervals before the first. Leaves out the oldest beyond the limits. Returns the
    /// number of faulty ones, which are left out, too. An interval is faulty if it ended before
    /// 1970, after `now_ms`, or no earlier than its successors because a clock was set back. `add`
    /// would refuse the current interval, or those successors.
    pub(crate) fn restore(&mut self, past: RecentLedger, now_ms: i64) -> usize {
        let mut faulty = 0;
        if self.next == 0 {
            let last = past
                .intervals
                .last()
                .map(|last| last.tick.saturating_add(1));
            self.next = last.unwrap_or(u64::from(past.whole));
        }
        let mut older = past.intervals.into_iter().rev();
        // Intervals that were dropped already came after all of these.
        while !self.forgotten
            && let Some(interval) = older.next()
        {
            let fits = match self.intervals.front() {
                Some(next) => interval.at_ms < next.at_ms,
                None => interval.at_ms <= now_ms,
            };
            if !fits || interval.at_ms < 0 {
                faulty += 1;
                continue;
            }
            let rows = self.rows + interval.rows.len();
            self.forgotten = self.intervals.len() >= self.intervals_max || rows > ROWS_MAX;
            if !self.forgotten {
                self.rows = rows;
                self.intervals.push_front(Arc::new(interval));
            }
        }
        self.late = !past.whole || faulty > 0;
        self.clock_fell |= faulty > 0;
        self.unordered &= !past.ordered;
        faulty
    }

    /// Returns the intervals that ended between two moments, both included, oldest first. Shared,
    /// so that adding one does not wait while these are written out.
    pub(crate) fn between(&self, from_ms: i64, to_ms: i64) -> Vec<Arc<Interval>> {
        let start = self
            .intervals
            .partition_point(|interval| interval.at_ms < from_ms);
        let rest = self.intervals.range(start..);
        rest.take_while(|interval| interval.at_ms <= to_ms)
            .cloned()
            .collect()
    }

    /// Returns the number from which on all reported intervals are here, and whether those include
    /// all that ended at `from_ms` or later. `u64::MAX` if none was reported.
    pub(crate) fn whole_from(&self, from_ms: i64) -> (u64, bool) {
        if self.next == 0 {
            return (u64::MAX, false);
        }
        let (mut first, mut since_ms) = (self.next, i64::MAX);
        for interval in self.intervals.iter().rev() {
            if interval.tick + 1 != first {
                break;
            }
            (first, since_ms) = (interval.first(), interval.at_ms);
        }
        let ordered = !self.clock_fell && !self.unordered;
        let covers = first <= 1 || (ordered && from_ms >= since_ms);
        (first, covers)
    }

    /// Returns the first and last number of a merged interval that has `number` inside, after its
    /// first.
    pub(crate) fn cut(&self, number: u64) -> Option<(u64, u64)> {
        let mut cut = self.intervals.iter().map(|it| (it.first(), it.tick));
        cut.find(|(first, last)| *first < number && number <= *last)
    }

    /// Notes that there were intervals before the first; `restore` may add them.
    pub(crate) fn begins_late(&mut self) {
        self.late = true;
        self.unordered = true;
    }

    /// Tells whether everything since the start, or since `from_ms`, is still here.
    pub(crate) fn reaches_back_to(&self, from_ms: i64) -> bool {
        let first = self.intervals.front();
        !(self.forgotten || self.late) || first.is_some_and(|first| first.at_ms <= from_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Row;
    use heddle_core::words::credits::Credits;

    /// Returns an interval that no store has numbered.
    fn interval(at_ms: i64, rows: usize) -> Interval {
        let row = Row {
            queue: "root.alice".to_string(),
            rate: Credits::from_micro(1),
            quota: [2, 0],
            used_slot_ms: [3, 0],
            income: Credits::from_micro(4),
            debit: Credits::from_micro(5),
            balance: Credits::from_micro(6),
            ..Row::default()
        };
        Interval {
            ticks: 1,
            at_ms,
            rows: vec![row; rows],
            ..Interval::default()
        }
    }

    /// Returns intervals with the numbers of a store, from 1.
    fn past<const N: usize>(times_ms: [i64; N], rows: usize) -> RecentLedger {
        let numbered = |(at_ms, tick)| Interval {
            tick,
            ..interval(at_ms, rows)
        };
        RecentLedger {
            intervals: times_ms.into_iter().zip(1..).map(numbered).collect(),
            whole: true,
            ordered: true,
        }
    }

    fn times(history: &History, from_ms: i64, to_ms: i64) -> Vec<i64> {
        let between = history.between(from_ms, to_ms);
        between.iter().map(|interval| interval.at_ms).collect()
    }

    #[test]
    fn the_last_intervals_are_kept() {
        let mut history = History::new(3);
        for at_ms in [10, 20, 30] {
            history.add(interval(at_ms, 1)).expect("it follows");
        }
        assert!(history.reaches_back_to(0));
        history.add(interval(40, 1)).expect("it follows");
        assert_eq!(times(&history, 0, i64::MAX), [20, 30, 40]);
        assert_eq!(times(&history, 21, 40), [30, 40]);
        assert_eq!(times(&history, 20, 39), [20, 30]);
        assert!(times(&history, 50, 40).is_empty());
        assert!(!history.reaches_back_to(19) && history.reaches_back_to(20));
    }

    #[test]
    fn rows_are_bounded_too() {
        let mut history = History::new(1_000);
        for at_ms in 1..=5 {
            history.add(interval(at_ms, 60_000)).expect("it follows");
        }
        // 3 * 60,000 are below 200,000, 4 * 60,000 are not.
        assert_eq!(times(&history, 0, i64::MAX), [3, 4, 5]);
        assert_eq!(history.rows, 180_000);
        history.add(interval(6, 300_000)).expect("it follows");
        assert_eq!(times(&history, 0, i64::MAX), [6]);
    }

    #[test]
    fn what_went_before_is_added_before_and_once() {
        let mut history = History::new(5);
        history.begins_late();
        history.add(interval(60, 1)).expect("it follows");
        assert!(!history.reaches_back_to(0));
        let before = past([10, 20, 30], 2);
        assert_eq!(history.restore(before.clone(), 100), 0);
        assert_eq!(times(&history, 0, i64::MAX), [10, 20, 30, 60]);
        assert_eq!(history.rows, 7);
        assert!(history.reaches_back_to(0), "nothing was before");
        history.add(interval(70, 1)).expect("it follows");
        history.add(interval(80, 1)).expect("it follows");
        assert_eq!(times(&history, 0, i64::MAX), [20, 30, 60, 70, 80]);
        assert!(!history.reaches_back_to(10) && history.reaches_back_to(20));
        // Again, after some were dropped: adding these would leave a gap.
        assert_eq!(history.restore(before, 100), 0);
        assert_eq!(times(&history, 0, i64::MAX), [20, 30, 60, 70, 80]);
        assert!(!history.reaches_back_to(10));
    }

    #[test]
    fn of_a_long_past_the_last_intervals_are_kept() {
        let long = past([10, 20, 30, 40, 50, 60, 70, 80, 90], 1);
        let mut history = History::new(3);
        history.restore(long.clone(), 100);
        assert_eq!(times(&history, 0, i64::MAX), [70, 80, 90]);
        assert!(!history.reaches_back_to(69) && history.reaches_back_to(70));
        let mut short = History::new(9);
        short.restore(
            RecentLedger {
                intervals: long.intervals[6..].to_vec(),
                whole: false,
                ordered: true,
            },
            100,
        );
        assert!(!short.reaches_back_to(0) && short.reaches_back_to(70));
        let mut wide = History::new(100);
        wide.restore(past([1, 2, 3], 90_000), 100);
        // Two of them have 180,000 rows; three would exceed 200,000.
        assert_eq!((times(&wide, 0, 9), wide.rows), (vec![2, 3], 180_000));
        assert!(!wide.reaches_back_to(1));
    }

    #[test]
    fn times_that_a_wrong_clock_gave_are_left_out_and_said() {
        // The clock was at 99, was set back to 20, and is at 50 now.
        let torn = past([10, 99, 20, 30, 98], 1);
        let mut history = History::new(9);
        assert_eq!(history.restore(torn, 50), 2);
        assert_eq!(times(&history, 0, i64::MAX), [10, 20, 30]);
        assert!(!history.reaches_back_to(0));
        history.add(interval(51, 1)).expect("it follows");
        let mut broken = History::new(9);
        assert_eq!(broken.restore(past([10, -5, 0], 1), 50), 2);
        assert_eq!(times(&broken, 0, i64::MAX), [0]);
        let mut twice = History::new(9);
        twice.add(interval(10, 1)).expect("it follows");
        assert_eq!(twice.restore(past([10], 1), 50), 1);
        assert_eq!(times(&twice, 0, i64::MAX), [10]);
    }

    #[test]
    fn an_interval_that_does_not_follow_changes_nothing() {
        let mut history = History::new(3);
        history.add(interval(10, 1)).expect("it follows");
        for at_ms in [10, 9, -1] {
            assert!(history.add(interval(at_ms, 1)).is_err(), "{at_ms}");
        }
        assert_eq!((times(&history, 0, i64::MAX), history.rows), (vec![10], 1));
    }
}
