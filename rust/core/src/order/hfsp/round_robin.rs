//! Division of the virtual cluster's slots: max-min in whole slots, handed out in rounds.

use crate::model::waterfill::{Claim, waterfill, waterfill_exact};

/// Demand of a job of the virtual cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Want {
    /// Number of slots it has work for.
    pub slots: u32,
    /// Weight against the other jobs; above 0, and 1 if all are equal.
    pub weight: f64,
}

/// Returns the slots of each job, in the order of `wants` (HF-19). A job that wants less than its
/// fair part gets all it wants. Rounds begin with the jobs that want least, so that the remainder
/// goes to them. Ties go to the earlier in the list.
///
/// With weights (HF-23) a job's turn comes `weight` times as often.
pub fn round_robin(slots: u32, wants: &[Want]) -> Vec<u32> {
    let claim = |want: &Want| Claim {
        weight: want.weight,
        least: 0,
        most: i64::from(want.slots),
    };
    let claims: Vec<Claim> = wants.iter().map(claim).collect();
    let whole = waterfill(i64::from(slots), &claims);
    let mut parts: Vec<u32> = whole.iter().map(|part| *part as u32).collect();
    let left = (slots - parts.iter().sum::<u32>()) as usize;
    let mut hungry: Vec<usize> = (0..wants.len())
        .filter(|i| parts[*i] < wants[*i].slots)
        .collect();
    // Time at which each job's next slot is due; equal weights make equal times.
    let due = |i: usize, parts: &[u32]| f64::from(parts[i] + 1) / wants[i].weight;
    if left < hungry.len() {
        // Only the choice of the first `left` jobs matters, not their order.
        hungry.select_nth_unstable_by(left, |a, b| {
            let turn = due(*a, &parts).total_cmp(&due(*b, &parts));
            turn.then((wants[*a].slots, a).cmp(&(wants[*b].slots, b)))
        });
    }
    // Rounding down took less than one slot from each of them, so one round is enough.
    for i in hungry.into_iter().take(left) {
        parts[i] += 1;
    }
    parts
}

/// Returns the part of the slots that each job has over time if they take turns.
pub fn in_turns(slots: u32, wants: &[Want]) -> Vec<f64> {
    let claim = |want: &Want| Claim {
        weight: want.weight,
        least: 0.0,
        most: f64::from(want.slots),
    };
    let claims: Vec<Claim<f64>> = wants.iter().map(claim).collect();
    waterfill_exact(f64::from(slots), &claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn equal(slots: &[u32]) -> Vec<Want> {
        let want = |slots: &u32| Want {
            slots: *slots,
            weight: 1.0,
        };
        slots.iter().map(want).collect()
    }

    #[test]
    fn small_jobs_get_what_they_want_and_go_first() {
        assert_eq!(round_robin(10, &equal(&[20, 2, 20])), [4, 2, 4]);
        assert_eq!(round_robin(11, &equal(&[30, 2, 20])), [4, 2, 5]);
        // Fewer slots than jobs: one each for those that want least.
        assert_eq!(round_robin(2, &equal(&[3, 1, 2])), [0, 1, 1]);
        assert_eq!(round_robin(9, &equal(&[1, 2])), [1, 2]);
        assert_eq!(round_robin(0, &equal(&[1, 2])), [0, 0]);
        assert_eq!(round_robin(5, &[]), [] as [u32; 0]);
    }

    #[test]
    fn weights_divide_in_proportion() {
        let want = |slots, weight| Want { slots, weight };
        assert_eq!(round_robin(9, &[want(20, 2.0), want(20, 1.0)]), [6, 3]);
        assert_eq!(round_robin(1, &[want(20, 1.0), want(20, 2.0)]), [0, 1]);
        assert_eq!(round_robin(9, &[want(2, 2.0), want(20, 1.0)]), [2, 7]);
    }

    proptest! {
        /// Compares with the paper's wording, slot by slot: in each round every job that still
        /// wants a slot gets one, in the order of how many it wants.
        #[test]
        fn the_same_as_dealing_out_slots_one_by_one(
            slots in 0u32..200,
            wants in prop::collection::vec(0u32..40, 0..12),
        ) {
            let mut order: Vec<usize> = (0..wants.len()).collect();
            order.sort_by_key(|i| wants[*i]);
            let (mut dealt, mut left) = (vec![0; wants.len()], slots);
            while left > 0 && dealt != wants {
                for i in &order {
                    if left > 0 && dealt[*i] < wants[*i] {
                        dealt[*i] += 1;
                        left -= 1;
                    }
                }
            }
            prop_assert_eq!(round_robin(slots, &equal(&wants)), dealt);
        }
    }
}
