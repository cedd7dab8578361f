//! The in-memory window of ended allocation intervals, for prices and charges over time (DP-46).
//! Bounded; the store's ledger is permanent, and its end is read back after a restart. Knows no
//! policy and no request.

use serde::Deserialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// Limit of rows in memory: with thousands of queues, fewer intervals fit.
const ROWS_MAX: usize = 200_000;
const POOLS: usize = 2;

/// One queue in one interval, with amounts in millionths of a credit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Row {
    /// The queue's full path.
    pub(crate) queue: Box<str>,
    /// The rate per slot and interval.
    pub(crate) rate_micro: i64,
    /// Slots by pool: all, or maps and reduces.
    pub(crate) quota: [u32; POOLS],
    /// Slots used times milliseconds, by pool.
    pub(crate) used_slot_ms: [i64; POOLS],
    /// The income of the interval.
    pub(crate) income_micro: i64,
    /// The charge for the interval.
    pub(crate) debit_micro: i64,
    /// The balance after the interval.
    pub(crate) balance_micro: i64,
}

/// An ended interval.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Interval {
    /// The time of its end, ms since 1970.
    pub(crate) at_ms: u64,
    /// The price set at its end, in millionths per slot and interval.
    pub(crate) price_micro: i64,
    /// Rows of the accounts that were charged, paid or had slots.
    pub(crate) rows: Vec<Row>,
    /// Its number; 0 until it has one.
    #[serde(default, rename = "interval")]
    pub(crate) number: u64,
    /// The number of intervals that it stands for; they end with it.
    #[serde(default = "one", rename = "intervals")]
    pub(crate) stands_for: u64,
}

fn one() -> u64 {
    1
}

impl Interval {
    /// Returns the number of the first interval that it stands for.
    pub(crate) fn first(&self) -> u64 {
        self.number
            .saturating_sub(self.stands_for.saturating_sub(1))
    }
}

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
    /// It cannot be read, or is not later than the last. Then nothing is added: a host that reports
    /// an interval again after a failure adds nothing twice.
    pub(crate) fn add(&mut self, closed: &Value) -> Result<(), String> {
        let mut interval = read(closed)?;
        let last_ms = self.intervals.back().map(|last| last.at_ms);
        let follows = interval.number >= self.next.max(1);
        if follows {
            // Advanced even if it is left out here: the store has it, so there is a gap.
            self.next = interval.number + 1;
            self.clock_fell |= last_ms.is_some_and(|last_ms| interval.at_ms <= last_ms);
        }
        if last_ms.is_some_and(|last_ms| interval.at_ms <= last_ms) {
            let (at, last) = (interval.at_ms, last_ms.unwrap_or(0));
            return Err(format!(
                "an interval of {at} ms does not follow the one of {last} ms"
            ));
        }
        if !follows {
            interval.number = self.next.max(1);
            self.next = interval.number + 1;
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

    /// Adds the intervals before the first, oldest first; `whole` if there were none before them.
    /// Leaves out the oldest beyond the limits. Returns the number of faulty ones, which are left
    /// out, too. An interval is faulty if it is unreadable, ended after `now_ms`, or ended no
    /// earlier than its successors because a clock was set back. `add` would refuse the current
    /// interval, or those successors.
    pub(crate) fn restore(&mut self, past: &[Value], whole: bool, now_ms: u64) -> usize {
        let mut faulty = 0;
        // Without numbers from the host, they are those before the next interval.
        let end = match self.intervals.front() {
            Some(next) => next.first(),
            None => past.len() as u64 + 1,
        };
        if self.next == 0 && (whole || !past.is_empty()) {
            let last = past.last().and_then(|last| last["interval"].as_u64());
            self.next = last.map_or(end, |last| last.saturating_add(1));
        }
        let mut told = past.iter().rev().zip(1..);
        // Intervals that were dropped already came after all of these.
        while !self.forgotten
            && let Some((closed, back)) = told.next()
        {
            let next_ms = self.intervals.front().map(|next| next.at_ms);
            let fits = |it: &Interval| match next_ms {
                Some(next_ms) => it.at_ms < next_ms,
                None => it.at_ms <= now_ms,
            };
            let interval = read(closed).ok().filter(fits);
            let Some(mut interval) = interval else {
                faulty += 1;
                continue;
            };
            if interval.number == 0 {
                interval.number = end.saturating_sub(back);
            }
            let rows = self.rows + interval.rows.len();
            self.forgotten = self.intervals.len() >= self.intervals_max || rows > ROWS_MAX;
            if !self.forgotten {
                self.rows = rows;
                self.intervals.push_front(Arc::new(interval));
            }
        }
        self.late = !whole || faulty > 0;
        self.clock_fell |= faulty > 0;
        faulty
    }

    /// Returns the intervals that ended between two moments, both included, oldest first. Shared,
    /// so that adding one does not wait while these are written out.
    pub(crate) fn between(&self, from_ms: u64, to_ms: u64) -> Vec<Arc<Interval>> {
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
    pub(crate) fn whole_from(&self, from_ms: u64) -> (u64, bool) {
        if self.next == 0 {
            return (u64::MAX, false);
        }
        let (mut first, mut since_ms) = (self.next, u64::MAX);
        for interval in self.intervals.iter().rev() {
            if interval.number + 1 != first {
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
        let mut cut = self.intervals.iter().map(|it| (it.first(), it.number));
        cut.find(|(first, last)| *first < number && number <= *last)
    }

    /// Notes that there were intervals before the first; `restore` may add them.
    pub(crate) fn begins_late(&mut self) {
        self.late = true;
        self.unordered = true;
    }

    /// Notes that every interval before those of `restore` ended earlier.
    pub(crate) fn begins_in_order(&mut self) {
        self.unordered = false;
    }

    /// Tells whether everything since the start, or since `from_ms`, is still here.
    pub(crate) fn reaches_back_to(&self, from_ms: u64) -> bool {
        let first = self.intervals.front();
        !(self.forgotten || self.late) || first.is_some_and(|first| first.at_ms <= from_ms)
    }
}

/// Reads an interval in the form of hosts.
///
/// # Errors
///
/// It has another form.
pub(crate) fn read(closed: &Value) -> Result<Interval, String> {
    Interval::deserialize(closed).map_err(|error| format!("an interval cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn interval(at_ms: u64, rows: usize) -> Value {
        let row = json!({"queue": "root.alice", "rate_micro": 1, "quota": [2, 0],
                         "used_slot_ms": [3, 0], "income_micro": 4, "debit_micro": 5,
                         "balance_micro": 6});
        json!({"at_ms": at_ms, "price_micro": 7, "rows": vec![row; rows]})
    }

    fn times(history: &History, from_ms: u64, to_ms: u64) -> Vec<u64> {
        let between = history.between(from_ms, to_ms);
        between.iter().map(|interval| interval.at_ms).collect()
    }

    #[test]
    fn the_last_intervals_are_kept() {
        let mut history = History::new(3);
        for at_ms in [10, 20, 30] {
            history.add(&interval(at_ms, 1)).expect("it follows");
        }
        assert!(history.reaches_back_to(0));
        history.add(&interval(40, 1)).expect("it follows");
        assert_eq!(times(&history, 0, u64::MAX), [20, 30, 40]);
        assert_eq!(times(&history, 21, 40), [30, 40]);
        assert_eq!(times(&history, 20, 39), [20, 30]);
        assert!(times(&history, 50, 40).is_empty());
        assert!(!history.reaches_back_to(19) && history.reaches_back_to(20));
    }

    #[test]
    fn rows_are_bounded_too() {
        let mut history = History::new(1_000);
        for at_ms in 1..=5 {
            history.add(&interval(at_ms, 60_000)).expect("it follows");
        }
        // 3 * 60,000 are below 200,000, 4 * 60,000 are not.
        assert_eq!(times(&history, 0, u64::MAX), [3, 4, 5]);
        assert_eq!(history.rows, 180_000);
        history.add(&interval(6, 300_000)).expect("it follows");
        assert_eq!(times(&history, 0, u64::MAX), [6]);
    }

    #[test]
    fn what_went_before_is_added_before_and_once() {
        let mut history = History::new(5);
        history.begins_late();
        history.add(&interval(60, 1)).expect("it follows");
        assert!(!history.reaches_back_to(0));
        let past = [10, 20, 30].map(|at_ms| interval(at_ms, 2));
        assert_eq!(history.restore(&past, true, 100), 0);
        assert_eq!(times(&history, 0, u64::MAX), [10, 20, 30, 60]);
        assert_eq!(history.rows, 7);
        assert!(history.reaches_back_to(0), "nothing was before");
        history.add(&interval(70, 1)).expect("it follows");
        history.add(&interval(80, 1)).expect("it follows");
        assert_eq!(times(&history, 0, u64::MAX), [20, 30, 60, 70, 80]);
        assert!(!history.reaches_back_to(10) && history.reaches_back_to(20));
        // Again, after some were dropped: adding these would leave a gap.
        assert_eq!(history.restore(&past, true, 100), 0);
        assert_eq!(times(&history, 0, u64::MAX), [20, 30, 60, 70, 80]);
        assert!(!history.reaches_back_to(10));
    }

    #[test]
    fn of_a_long_past_the_last_intervals_are_kept() {
        let past: Vec<Value> = (1..=9).map(|i| interval(10 * i, 1)).collect();
        let mut history = History::new(3);
        history.restore(&past, true, 100);
        assert_eq!(times(&history, 0, u64::MAX), [70, 80, 90]);
        assert!(!history.reaches_back_to(69) && history.reaches_back_to(70));
        let mut short = History::new(9);
        short.restore(&past[6..], false, 100);
        assert!(!short.reaches_back_to(0) && short.reaches_back_to(70));
        let mut wide = History::new(100);
        let past = [1, 2, 3].map(|at_ms| interval(at_ms, 90_000));
        wide.restore(&past, true, 100);
        // Two of them have 180,000 rows; three would exceed 200,000.
        assert_eq!((times(&wide, 0, 9), wide.rows), (vec![2, 3], 180_000));
        assert!(!wide.reaches_back_to(1));
    }

    #[test]
    fn times_that_a_wrong_clock_gave_are_left_out_and_said() {
        // The clock was at 99, was set back to 20, and is at 50 now.
        let past = [10, 99, 20, 30, 98].map(|at_ms| interval(at_ms, 1));
        let mut history = History::new(9);
        assert_eq!(history.restore(&past, true, 50), 2);
        assert_eq!(times(&history, 0, u64::MAX), [10, 20, 30]);
        assert!(!history.reaches_back_to(0));
        history.add(&interval(51, 1)).expect("it follows");
        let mut broken = History::new(9);
        let past = [interval(10, 1), json!({"at_ms": 5}), interval(0, 1)];
        assert_eq!(broken.restore(&past, true, 50), 2);
        assert_eq!(times(&broken, 0, u64::MAX), [0]);
        let mut twice = History::new(9);
        twice.add(&interval(10, 1)).expect("it follows");
        assert_eq!(twice.restore(&[interval(10, 1)], true, 50), 1);
        assert_eq!(times(&twice, 0, u64::MAX), [10]);
    }

    #[test]
    fn what_is_told_twice_or_cannot_be_read_changes_nothing() {
        let mut history = History::new(3);
        history.add(&interval(10, 1)).expect("it follows");
        let mut negative = interval(20, 1);
        negative["rows"][0]["quota"] = json!([-1, 0]);
        for wrong in [
            interval(10, 1),
            interval(9, 1),
            json!({}),
            json!(null),
            negative,
        ] {
            assert!(history.add(&wrong).is_err(), "{wrong}");
        }
        assert_eq!((times(&history, 0, u64::MAX), history.rows), (vec![10], 1));
    }
}
