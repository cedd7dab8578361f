//! Divides the slot-time of one period among the jobs that want it: RA-17, RA-20. Pure arithmetic;
//! knows nothing of other periods.

use crate::model::waterfill::{Claim, waterfill_exact};

/// Rule for a period that cannot hold all the work its jobs want (RA-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Split {
    /// Max-min of work with equal weights (RA-20).
    MaxMin,
    /// In proportion to the wishes.
    Proportional,
    /// The latest goal first.
    Latest,
    /// The earliest goal first.
    Earliest,
}

/// One job's wish.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Request {
    /// Work that it could get done in the period.
    pub(super) work: f64,
    /// Deadline of its goal.
    pub(super) deadline: f64,
}

/// Divides `room` and returns the amounts in the order of `wishes`. If there is enough for all,
/// each gets its wish; otherwise `split` decides.
pub(super) fn divide(split: Split, room: f64, wishes: &[Request]) -> Vec<f64> {
    let wished: f64 = wishes.iter().map(|wish| wish.work).sum();
    if wished <= room {
        return wishes.iter().map(|wish| wish.work).collect();
    }
    match split {
        Split::MaxMin => {
            let claim = |wish: &Request| Claim {
                weight: 1.0,
                least: 0.0,
                most: wish.work,
            };
            waterfill_exact(room, &wishes.iter().map(claim).collect::<Vec<_>>())
        }
        // Not wish * (room / wished), which would round twice.
        Split::Proportional => wishes
            .iter()
            .map(|wish| wish.work * room / wished)
            .collect(),
        Split::Latest => in_turn(room, wishes, |wish| -wish.deadline),
        Split::Earliest => in_turn(room, wishes, |wish| wish.deadline),
    }
}

/// Divides `room` among `jobs`, pairs of (work left, width). A job's level is the time that it
/// needs at its full width. The highest levels fall first, none by more than `length`. If all jobs
/// have the same deadline, this leaves the most room for the remaining work.
pub(super) fn by_level(room: f64, length: f64, jobs: &[(f64, f64)]) -> Vec<f64> {
    let parts = |level: f64| {
        let part = move |(left, width): &(f64, f64)| {
            (left - level * width).clamp(0.0, left.min(width * length))
        };
        jobs.iter().map(part)
    };
    let mut levels: Vec<f64> = Vec::with_capacity(2 * jobs.len() + 1);
    for (left, width) in jobs {
        let level = if *width > 0.0 { left / width } else { 0.0 };
        levels.extend([level, (level - length).max(0.0)]);
    }
    levels.push(0.0);
    levels.sort_by(f64::total_cmp);
    // Between two neighbours the sum falls in a straight line.
    let above = levels.partition_point(|level| parts(*level).sum::<f64>() > room);
    let level = match (above.checked_sub(1), levels.get(above)) {
        (Some(below), Some(high)) => {
            let low = levels[below];
            let (most, least): (f64, f64) = (parts(low).sum(), parts(*high).sum());
            low + (high - low) * (most - room) / (most - least)
        }
        _ => 0.0,
    };
    parts(level).collect()
}

/// Serves one after the other by `rank`, each up to its wish; ties keep their order.
fn in_turn(room: f64, wishes: &[Request], rank: impl Fn(&Request) -> f64) -> Vec<f64> {
    let mut turns: Vec<usize> = (0..wishes.len()).collect();
    turns.sort_by(|a, b| rank(&wishes[*a]).total_cmp(&rank(&wishes[*b])));
    let mut room = room;
    let mut parts = vec![0.0; wishes.len()];
    for i in turns {
        parts[i] = wishes[i].work.min(room);
        room -= parts[i];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(wishes: &[(f64, f64)]) -> Vec<Request> {
        let wish = |(work, deadline): &(f64, f64)| Request {
            work: *work,
            deadline: *deadline,
        };
        wishes.iter().map(wish).collect()
    }

    #[test]
    fn the_four_rules_on_one_example() {
        // Wishes of 2, 10 and 18.
        let wishes = wishes(&[(2.0, 30.0), (10.0, 20.0), (18.0, 25.0)]);
        assert_eq!(divide(Split::MaxMin, 20.0, &wishes), [2.0, 9.0, 9.0]);
        assert_eq!(
            divide(Split::Proportional, 15.0, &wishes),
            [1.0, 5.0, 9.0],
            "half of each"
        );
        assert_eq!(divide(Split::Latest, 19.0, &wishes), [2.0, 0.0, 17.0]);
        assert_eq!(divide(Split::Earliest, 13.0, &wishes), [0.0, 10.0, 3.0]);
    }

    #[test]
    fn what_is_enough_for_all_is_given_to_all() {
        for split in [
            Split::MaxMin,
            Split::Proportional,
            Split::Latest,
            Split::Earliest,
        ] {
            let wishes = wishes(&[(3.0, 5.0), (4.0, 4.0)]);
            assert_eq!(divide(split, 7.0, &wishes), [3.0, 4.0]);
            assert_eq!(divide(split, 0.0, &wishes), [0.0, 0.0]);
            assert_eq!(divide(split, 1.0, &[]), [] as [f64; 0]);
        }
    }
}
