//! The allocation intervals that ended lately, for prices and charges over time (DP-46). Bounded,
//! and in memory only: what must last is the store's ledger, whose end is told again after a
//! restart. Knows no policy and no request.

use serde::Deserialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many rows are kept in all: with thousands of queues, fewer intervals are.
const ROWS_MAX: usize = 200_000;
const POOLS: usize = 2;

/// One queue in one interval. Amounts in millionths of a credit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Row {
    /// Its full path.
    pub(crate) queue: Box<str>,
    /// Per slot and interval.
    pub(crate) rate_micro: i64,
    /// Slots by pool: all, or maps and reduces.
    pub(crate) quota: [u32; POOLS],
    /// Slots used times milliseconds, by pool.
    pub(crate) used_slot_ms: [i64; POOLS],
    /// Credited in the interval.
    pub(crate) income_micro: i64,
    /// Charged for the interval.
    pub(crate) debit_micro: i64,
    /// Left after it.
    pub(crate) balance_micro: i64,
}

/// An interval that ended.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Interval {
    /// When, ms since 1970.
    pub(crate) at_ms: u64,
    /// The price in it, in millionths per slot and interval.
    pub(crate) price_micro: i64,
    /// Every account's.
    pub(crate) rows: Vec<Row>,
}

/// The last intervals, the oldest first.
#[derive(Debug)]
pub(crate) struct History {
    intervals: VecDeque<Arc<Interval>>,
    intervals_max: usize,
    rows: usize,
    /// There was no room for what was oldest.
    forgotten: bool,
    /// Nobody told of what was oldest.
    late: bool,
}

impl History {
    /// Of at most so many intervals.
    pub(crate) fn new(intervals_max: usize) -> History {
        History {
            intervals: VecDeque::new(),
            intervals_max,
            rows: 0,
            forgotten: false,
            late: false,
        }
    }

    /// Adds an interval; what is oldest is forgotten for it.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not later than the last. Then nothing is added: a host that tells
    /// of an interval again after a failure adds nothing twice.
    pub(crate) fn add(&mut self, closed: &Value) -> Result<(), String> {
        let interval = read(closed)?;
        let last_ms = self.intervals.back().map(|last| last.at_ms);
        if last_ms.is_some_and(|last_ms| interval.at_ms <= last_ms) {
            let (at, last) = (interval.at_ms, last_ms.unwrap_or(0));
            return Err(format!(
                "an interval of {at} ms does not follow the one of {last} ms"
            ));
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

    /// Adds what went before the first, the oldest first; `whole` if there was nothing before that.
    /// What is oldest is left out where it is too much. Gives how many were left out because they
    /// cannot be read, are of a time after `now_ms`, or are no earlier than those that followed,
    /// as a clock was set back: `add` would refuse what comes now, or those after them.
    pub(crate) fn restore(&mut self, past: &[Value], whole: bool, now_ms: u64) -> usize {
        let mut faulty = 0;
        let mut told = past.iter().rev();
        // What was forgotten already came after all of them.
        while !self.forgotten
            && let Some(closed) = told.next()
        {
            let next_ms = self.intervals.front().map(|next| next.at_ms);
            let fits = |it: &Interval| match next_ms {
                Some(next_ms) => it.at_ms < next_ms,
                None => it.at_ms <= now_ms,
            };
            let interval = read(closed).ok().filter(fits);
            let Some(interval) = interval else {
                faulty += 1;
                continue;
            };
            let rows = self.rows + interval.rows.len();
            self.forgotten = self.intervals.len() >= self.intervals_max || rows > ROWS_MAX;
            if !self.forgotten {
                self.rows = rows;
                self.intervals.push_front(Arc::new(interval));
            }
        }
        self.late = !whole || faulty > 0;
        faulty
    }

    /// Those that ended from one moment to another, both included, the oldest first. Shared, so
    /// that nobody who adds one waits while they are written down.
    pub(crate) fn between(&self, from_ms: u64, to_ms: u64) -> Vec<Arc<Interval>> {
        let start = self
            .intervals
            .partition_point(|interval| interval.at_ms < from_ms);
        let rest = self.intervals.range(start..);
        rest.take_while(|interval| interval.at_ms <= to_ms)
            .cloned()
            .collect()
    }

    /// There were intervals before, which nobody tells of here, or `restore` will.
    pub(crate) fn begins_late(&mut self) {
        self.late = true;
    }

    /// Whether everything since the start, or since `from_ms`, is still here.
    pub(crate) fn reaches_back_to(&self, from_ms: u64) -> bool {
        let first = self.intervals.front();
        !(self.forgotten || self.late) || first.is_some_and(|first| first.at_ms <= from_ms)
    }
}

fn read(closed: &Value) -> Result<Interval, String> {
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
        // Again, after something was forgotten: it would leave a gap.
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
        // Two of them have 180,000 rows; three would have more than 200,000.
        assert_eq!((times(&wide, 0, 9), wide.rows), (vec![2, 3], 180_000));
        assert!(!wide.reaches_back_to(1));
    }

    #[test]
    fn times_that_a_wrong_clock_gave_are_left_out_and_said() {
        // The clock was at 99, set back to 20, and is at 50 now.
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
