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
    /// Its number; 0 until it has one.
    #[serde(default, rename = "interval")]
    pub(crate) number: u64,
    /// How many it stands for, which end with it.
    #[serde(default = "one", rename = "intervals")]
    pub(crate) stands_for: u64,
}

fn one() -> u64 {
    1
}

impl Interval {
    /// The number of the first that it stands for.
    pub(crate) fn first(&self) -> u64 {
        self.number
            .saturating_sub(self.stands_for.saturating_sub(1))
    }
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
    /// The number after the last that was told of; 0 before the first.
    next: u64,
    /// An interval ended no later than one before it: times do not tell which came first.
    clock_fell: bool,
    /// Nobody said that what was before the first ended before it.
    unordered: bool,
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
            next: 0,
            clock_fell: false,
            unordered: false,
        }
    }

    /// Adds an interval; what is oldest is forgotten for it.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not later than the last. Then nothing is added: a host that tells
    /// of an interval again after a failure adds nothing twice.
    pub(crate) fn add(&mut self, closed: &Value) -> Result<(), String> {
        let mut interval = read(closed)?;
        let last_ms = self.intervals.back().map(|last| last.at_ms);
        let follows = interval.number >= self.next.max(1);
        if follows {
            // Also if it is left out here: then there is a gap, which the store has not.
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

    /// Adds what went before the first, the oldest first; `whole` if there was nothing before that.
    /// What is oldest is left out where it is too much. Gives how many were left out because they
    /// cannot be read, are of a time after `now_ms`, or are no earlier than those that followed,
    /// as a clock was set back: `add` would refuse what comes now, or those after them.
    pub(crate) fn restore(&mut self, past: &[Value], whole: bool, now_ms: u64) -> usize {
        let mut faulty = 0;
        // Where the host gives no numbers: those before what follows.
        let end = match self.intervals.front() {
            Some(next) => next.first(),
            None => past.len() as u64 + 1,
        };
        if self.next == 0 && (whole || !past.is_empty()) {
            let last = past.last().and_then(|last| last["interval"].as_u64());
            self.next = last.map_or(end, |last| last.saturating_add(1));
        }
        let mut told = past.iter().rev().zip(1..);
        // What was forgotten already came after all of them.
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

    /// The number from which on all intervals that were told of are here, and whether all that
    /// ended at `from_ms` or later are among those. `u64::MAX` if nobody told of any.
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

    /// First and last number of several that are told of as one, if `number` is among them and not
    /// the first.
    pub(crate) fn cut(&self, number: u64) -> Option<(u64, u64)> {
        let mut cut = self.intervals.iter().map(|it| (it.first(), it.number));
        cut.find(|(first, last)| *first < number && number <= *last)
    }

    /// There were intervals before, which nobody tells of here, or `restore` will.
    pub(crate) fn begins_late(&mut self) {
        self.late = true;
        self.unordered = true;
    }

    /// All that was before what `restore` added ended before it.
    pub(crate) fn begins_in_order(&mut self) {
        self.unordered = false;
    }

    /// Whether everything since the start, or since `from_ms`, is still here.
    pub(crate) fn reaches_back_to(&self, from_ms: u64) -> bool {
        let first = self.intervals.front();
        !(self.forgotten || self.late) || first.is_some_and(|first| first.at_ms <= from_ms)
    }
}

/// An interval as hosts tell it.
///
/// # Errors
///
/// It is none.
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
