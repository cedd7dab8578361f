//! Weight of a job inside its pool: priority, age and size. Pure numbers.

use crate::words::ids::Millis;

/// Hadoop's priorities, each with YARN's number and its weight (FS-3).
pub const PRIORITIES: [(&str, i32, f64); 5] = [
    ("VERY_HIGH", 5, 4.0),
    ("HIGH", 4, 2.0),
    ("NORMAL", 3, 1.0),
    ("LOW", 2, 0.5),
    ("VERY_LOW", 1, 0.25),
];

/// YARN's number for a job without a priority.
const UNSAID: i32 = 0;

/// Maximum number of times that a priority doubles or halves a weight; 2^10 suffices in practice.
const STEPS_MAX: i32 = 10;

/// Meaning of a YARN application priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// YARN's integers: 0 weighs 1, and each step doubles the weight.
    Yarn,
    /// Hadoop 1's five names. Numbers beyond them count as the nearest. A job without a priority is
    /// `NORMAL`, above 1 and 2.
    Hadoop1,
}

impl Scale {
    /// Returns the number by which jobs are compared; the larger goes first.
    pub fn rank(self, priority: i32) -> i32 {
        let [highest, _, normal, _, lowest] = PRIORITIES;
        match self {
            Scale::Yarn => priority,
            Scale::Hadoop1 if priority == UNSAID => normal.1,
            Scale::Hadoop1 => priority.clamp(lowest.1, highest.1),
        }
    }

    /// Returns the weight of a YARN application priority.
    pub fn weight(self, priority: i32) -> f64 {
        let rank = self.rank(priority);
        if self == Scale::Yarn {
            return f64::from(rank.clamp(-STEPS_MAX, STEPS_MAX)).exp2();
        }
        let named = PRIORITIES.iter().find(|(_, number, _)| *number == rank);
        named.expect("a rank is one of the five").2
    }
}

/// Extra weight for new jobs (FS-20).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boost {
    /// Factor by which a new job weighs more.
    pub factor: f64,
    /// Time during which a job counts as new, from its submission or its first task.
    pub duration_ms: Millis,
}

impl Boost {
    /// Returns the factor for the weight of a job of this age.
    pub fn at(&self, age_ms: Millis) -> f64 {
        if age_ms < self.duration_ms {
            self.factor
        } else {
            1.0
        }
    }
}

/// Returns the weight of a job by its running and waiting tasks: log2(1 + tasks) (FS-19).
pub fn of_size(tasks: u32) -> f64 {
    (1.0 + f64::from(tasks)).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_double_from_one_to_the_next() {
        let weights: Vec<f64> = (0..=6).map(|p| Scale::Hadoop1.weight(p)).collect();
        assert_eq!(weights, [1.0, 0.25, 0.5, 1.0, 2.0, 4.0, 4.0]);
        assert_eq!(Scale::Hadoop1.weight(-7), 0.25);
        let weights: Vec<f64> = (-1..=3).map(|p| Scale::Yarn.weight(p)).collect();
        assert_eq!(weights, [0.5, 1.0, 2.0, 4.0, 8.0]);
        assert_eq!(
            [i32::MIN, i32::MAX].map(|p| Scale::Yarn.weight(p)),
            [1.0 / 1024.0, 1024.0]
        );
    }

    #[test]
    fn a_job_is_new_until_its_time_is_up() {
        let boost = Boost {
            factor: 3.0,
            duration_ms: 600_000,
        };
        assert_eq!(boost.at(0), 3.0);
        assert_eq!(boost.at(599_999), 3.0);
        assert_eq!(boost.at(600_000), 1.0);
    }

    #[test]
    fn sizes_weigh_by_their_logarithm() {
        assert_eq!([0, 1, 3, 1023].map(of_size), [0.0, 1.0, 2.0, 10.0]);
    }
}
