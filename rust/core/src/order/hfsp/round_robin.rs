//! Who has which slots of the virtual cluster: max-min in whole slots, handed out in rounds.

use crate::model::waterfill::{Claim, waterfill, waterfill_exact};

/// What a job of the virtual cluster can use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Want {
    /// How many slots it has work for.
    pub slots: u32,
    /// Its part of the whole compared with others; above 0, 1 if all are equal.
    pub weight: f64,
}

/// The slots of each job, in the order of `wants` (HF-19): a job that wants less than its fair
/// part gets what it wants; rounds begin with the jobs that want least, so that what does not
/// divide goes to them. Ties: the earlier in the list.
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
    // When the next slot would be due to each; the same for all of equal weight.
    let due = |i: usize, parts: &[u32]| f64::from(parts[i] + 1) / wants[i].weight;
    if left < hungry.len() {
        // Only who comes first, not in which order they do.
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

/// The part of the slots that each job has over time if they take turns.
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
        /// Against the words of the paper, slot by slot: in each round every job that still wants
        /// one gets a slot, in the order of how many it wants.
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
