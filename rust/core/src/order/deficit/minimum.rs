//! Splits a guarantee of whole slots (FS-13). Knows neither jobs nor pools, only parties.

use std::cmp::Ordering;

/// A candidate for a part of a guarantee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Party {
    /// Weight against the others; a party of weight 0 gets what they leave.
    pub weight: f64,
    /// Slot-milliseconds owed; decides about slots that cannot be split by weight.
    pub deficit: f64,
    /// Slots of its own, whatever the guarantee.
    pub least: u32,
    /// Running and waiting tasks, the most that it can get.
    pub demand: u32,
}

/// Splits `minimum` into whole slots. Returns the parts in the order of `parties`, which also
/// breaks ties.
///
/// Works in rounds, like the published code. Every party that can use more gets the floor of its
/// part by weight of the rest. If all floors are 0, each gets one slot, in order of weight, then
/// deficit. Slots that no party can use are left over. The work never grows with `minimum`: a round
/// of floors leaves less than one slot per party, or satisfies one party.
pub fn split(minimum: u32, parties: &[Party]) -> Vec<u32> {
    let mut parts: Vec<u32> = parties.iter().map(|p| p.least.min(p.demand)).collect();
    let given = parts.iter().map(|part| u64::from(*part)).sum::<u64>();
    let mut left = u64::from(minimum).saturating_sub(given) as u32;
    while left > 0 {
        let mut open: Vec<usize> = (0..parties.len())
            .filter(|i| parts[*i] < parties[*i].demand)
            .collect();
        if open.is_empty() {
            break;
        }
        let before = left;
        let parts_by_weight = floors(before, parties, &open);
        for (i, part) in open.iter().zip(parts_by_weight) {
            left -= give(&mut parts[*i], parties[*i].demand, part.min(left));
        }
        if left == before {
            open.sort_by(|a, b| by_weight_then_deficit(&parties[*a], &parties[*b]));
            for i in open {
                left -= give(&mut parts[i], parties[i].demand, left.min(1));
            }
        }
    }
    parts
}

fn give(part: &mut u32, demand: u32, slots: u32) -> u32 {
    let given = slots.min(demand - *part);
    *part += given;
    given
}

fn floors(slots: u32, parties: &[Party], open: &[usize]) -> Vec<u32> {
    let total: f64 = open.iter().map(|i| parties[*i].weight).sum();
    let part = |i: &usize| {
        // Parties without weight get something, in equal parts, only if all are without weight.
        let part = if total > 0.0 {
            f64::from(slots) * parties[*i].weight / total
        } else {
            f64::from(slots) / open.len() as f64
        };
        part.floor() as u32
    };
    open.iter().map(part).collect()
}

fn by_weight_then_deficit(a: &Party, b: &Party) -> Ordering {
    let weight = b.weight.total_cmp(&a.weight);
    weight.then(b.deficit.total_cmp(&a.deficit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn party(weight: f64, deficit: f64, demand: u32) -> Party {
        Party {
            weight,
            deficit,
            least: 0,
            demand,
        }
    }

    #[test]
    fn examples_worked_by_hand() {
        let many = |weight| party(weight, 0.0, 10);
        // Two alike: 2 slots make one each; of 3 the first gets one more.
        assert_eq!(split(2, &[many(1.0), many(1.0)]), [1, 1]);
        assert_eq!(split(3, &[many(1.0), many(1.0)]), [2, 1]);
        // 7 by 4:2:1 divides evenly.
        assert_eq!(split(7, &[many(1.0), many(4.0), many(2.0)]), [1, 4, 2]);
        // 5 by 3:1: floors 3 and 1, the last to the heavier.
        assert_eq!(split(5, &[many(1.0), many(3.0)]), [1, 4]);
        // The first has only 2 tasks: the rest goes to the second, up to its demand.
        assert_eq!(split(8, &[party(1.0, 0.0, 2), party(1.0, 0.0, 3)]), [2, 3]);
        assert_eq!(split(4, &[]), [] as [u32; 0]);
    }

    #[test]
    fn two_jobs_share_a_minimum_of_one_by_weight_then_deficit_then_age() {
        let one =
            |a: (f64, f64), b: (f64, f64)| split(1, &[party(a.0, a.1, 9), party(b.0, b.1, 9)]);
        assert_eq!(one((1.0, 0.0), (1.0, 0.0)), [1, 0]);
        assert_eq!(one((1.0, 0.0), (1.0, 5.0)), [0, 1]);
        assert_eq!(one((2.0, 0.0), (1.0, 5.0)), [1, 0]);
    }

    #[test]
    fn without_weight_a_party_gets_what_the_others_leave() {
        let idle = party(0.0, 0.0, 9);
        assert_eq!(split(4, &[idle, party(1.0, 0.0, 3)]), [1, 3]);
        assert_eq!(split(4, &[idle, idle]), [2, 2]);
        assert_eq!(split(4, &[idle, party(1.0, 0.0, 9)]), [0, 4]);
    }

    #[test]
    fn what_is_ones_own_comes_first_and_may_exceed_the_guarantee() {
        let own = |least| Party {
            least,
            ..party(1.0, 0.0, 9)
        };
        assert_eq!(split(10, &[own(6), own(0)]), [8, 2]);
        assert_eq!(split(3, &[own(4), own(1)]), [4, 1]);
        assert_eq!(split(u32::MAX, &[own(4), own(1)]), [9, 9]);
    }

    proptest! {
        #[test]
        fn all_is_given_that_can_be_used_and_nobody_is_more_than_a_slot_short(
            minimum in 0u32..500,
            raw in prop::collection::vec((1u32..8, 0u32..100), 1..12),
        ) {
            let parties: Vec<Party> = raw.iter()
                .map(|(w, demand)| party(f64::from(*w) / 2.0, 0.0, *demand)).collect();
            let parts = split(minimum, &parties);
            let demand: u32 = parties.iter().map(|p| p.demand).sum();
            prop_assert_eq!(parts.iter().sum::<u32>(), minimum.min(demand));
            let total: f64 = parties.iter().map(|p| p.weight).sum();
            for (part, p) in parts.iter().zip(&parties) {
                prop_assert!(*part <= p.demand);
                let fair = (f64::from(minimum) * p.weight / total).floor() as u32;
                prop_assert!(*part >= fair.min(p.demand), "{part} of {fair}");
            }
        }
    }
}
