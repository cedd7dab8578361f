//! SARP: the number of a job's reduces that each rack is preferred for, by the map output it holds
//! (SW-20 to SW-25, Figure 6). Sets numbers, never the place of a single reduce.

use super::traffic::PerRack;
use crate::words::ids::PlaceId;
use std::collections::BTreeMap;

/// Input of SARP.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Map output so far by rack, in bytes or any other weight.
    pub intermediate: &'a PerRack,
    /// Number of the job's reduces.
    pub reduces: f64,
    /// Part of the maps that completed, 0 to 1.
    pub completed: f64,
    /// Part of the maps that must be complete before their output counts.
    pub threshold: f64,
    /// SAMP's prediction of reduces by rack, for the time before.
    pub tentative: &'a PerRack,
}

/// Preferred number of reduces by rack.
#[derive(Clone, Debug, PartialEq)]
pub struct Preference {
    /// Whether it is SAMP's prediction.
    pub tentative: bool,
    /// Reduces by rack, as fractions (SW-23).
    pub reduces: PerRack,
}

/// Returns `PreferredReducesPerRack`: all reduces times each rack's part of the map output. It is
/// SAMP's prediction before `threshold` of the maps are complete, or if they wrote nothing (SW-42).
pub fn prefer(question: &Question<'_>) -> Preference {
    let all: f64 = question.intermediate.values().sum();
    if question.completed < question.threshold || all <= 0.0 {
        return Preference {
            tentative: true,
            reduces: question.tentative.clone(),
        };
    }
    let part = |(rack, bytes): (&PlaceId, &f64)| (*rack, question.reduces * bytes / all);
    Preference {
        tentative: false,
        reduces: question.intermediate.iter().map(part).collect(),
    }
}

/// Rounds to whole numbers with the same (nearest) whole sum. All are rounded down; the rest goes
/// by largest remainder, ties by rack.
pub fn whole(real: &PerRack) -> BTreeMap<PlaceId, u64> {
    // A whole number that rounding made slightly smaller has no remainder.
    let down = |value: f64| (value + 1e-9).floor().max(0.0);
    let sum: f64 = real.values().sum();
    let mut whole: BTreeMap<PlaceId, u64> = real
        .iter()
        .map(|(rack, value)| (*rack, down(*value) as u64))
        .collect();
    let left = (sum.round() as u64).saturating_sub(whole.values().sum());
    // In billionths, so that equal remainders stay equal.
    let remainder = |value: f64| ((value - down(value)) * 1e9).round() as i64;
    let mut by_remainder: Vec<(i64, PlaceId)> = real
        .iter()
        .map(|(rack, value)| (-remainder(*value), *rack))
        .collect();
    by_remainder.sort_unstable();
    for (_, rack) in by_remainder.into_iter().take(left as usize) {
        *whole.entry(rack).or_default() += 1;
    }
    whole
}

/// Tells whether the job's running and finished reduces on a rack are fewer than preferred. A
/// retried reduce replaces the failed one and counts once (SW-10).
pub fn is_unmet(preferred: f64, on_rack: f64) -> bool {
    // 25 * (7 / 25) is slightly more than 7, and 7 are enough.
    on_rack < preferred - 1e-9
}

#[cfg(test)]
mod tests {
    use super::super::traffic::crossing;
    use super::*;
    use proptest::prelude::*;

    fn per_rack(amounts: &[f64]) -> PerRack {
        let rack = |(i, amount): (usize, &f64)| (PlaceId(1 + i as u32), *amount);
        amounts.iter().enumerate().map(rack).collect()
    }

    fn ask<'a>(intermediate: &'a PerRack, completed: f64, tentative: &'a PerRack) -> Question<'a> {
        Question {
            intermediate,
            reduces: 10.0,
            completed,
            threshold: 0.15,
            tentative,
        }
    }

    #[test]
    fn figure_7_moves_18_gb_of_100_instead_of_50() {
        let gb = 1e9;
        let (intermediate, none) = (per_rack(&[90.0 * gb, 10.0 * gb]), PerRack::new());
        let preferred = prefer(&ask(&intermediate, 1.0, &none));
        assert_eq!(preferred.reduces, per_rack(&[9.0, 1.0]));
        // 90 * 1/10 + 10 * 9/10 = 18; evenly 90/2 + 10/2 = 50; 18 / 50 = 1 - 64 %.
        assert_eq!(crossing(&intermediate, &preferred.reduces), 18.0 * gb);
        assert_eq!(crossing(&intermediate, &per_rack(&[5.0, 5.0])), 50.0 * gb);
        // Placed at random, all may be on the rack with 10 of the 100.
        assert_eq!(crossing(&intermediate, &per_rack(&[0.0, 10.0])), 90.0 * gb);
    }

    #[test]
    fn the_prediction_stands_below_the_threshold_and_not_at_it() {
        let (intermediate, tentative) = (per_rack(&[30.0, 10.0]), per_rack(&[2.0, 8.0]));
        let below = prefer(&ask(&intermediate, 0.1499, &tentative));
        assert_eq!((below.tentative, below.reduces), (true, tentative.clone()));
        let at = prefer(&ask(&intermediate, 0.15, &tentative));
        assert_eq!((at.tentative, at.reduces), (false, per_rack(&[7.5, 2.5])));
    }

    #[test]
    fn maps_without_output_leave_the_prediction() {
        let (nothing, tentative) = (per_rack(&[0.0, 0.0]), per_rack(&[10.0]));
        let preferred = prefer(&ask(&nothing, 1.0, &tentative));
        assert_eq!((preferred.tentative, preferred.reduces), (true, tentative));
    }

    #[test]
    fn whole_numbers_by_largest_remainder_ties_by_rack() {
        let whole = |amounts: &[f64]| whole(&per_rack(amounts)).into_values().collect::<Vec<_>>();
        assert_eq!(whole(&[9.0, 1.0]), [9, 1]);
        assert_eq!(whole(&[2.4, 2.5, 2.1]), [2, 3, 2]);
        assert_eq!(whole(&[1.5, 1.5]), [2, 1]);
        assert_eq!(whole(&[10.0 / 3.0, 10.0 / 3.0, 10.0 / 3.0]), [4, 3, 3]);
        assert_eq!(whole(&[]), [] as [u64; 0]);
    }

    #[test]
    fn a_rack_is_met_once_running_and_finished_reach_the_real_number() {
        assert!(is_unmet(2.5, 2.0));
        assert!(!is_unmet(2.5, 3.0));
        assert!(!is_unmet(2.0, 2.0));
        assert!(!is_unmet(0.0, 0.0));
    }

    /// Lists every way of distributing `reduces` reduces over `racks` racks.
    fn assignments(racks: usize, reduces: u64) -> Vec<Vec<u64>> {
        if racks == 1 {
            return vec![vec![reduces]];
        }
        let with_first = |first| {
            let rest = assignments(racks - 1, reduces - first);
            rest.into_iter().map(move |mut rest| {
                rest.insert(0, first);
                rest
            })
        };
        (0..=reduces).flat_map(with_first).collect()
    }

    proptest! {
        /// Compares with all whole assignments: none is nearer to the real numbers. The traffic of
        /// the real ones is never above that of an even spread, and is 1 - the sum of squares.
        #[test]
        fn brute_force_over_all_assignments(
            bytes in prop::collection::vec(0u32..100, 1..5),
            reduces in 1u64..9,
        ) {
            let intermediate = per_rack(&bytes.iter().map(|b| f64::from(*b)).collect::<Vec<_>>());
            let all: f64 = intermediate.values().sum();
            prop_assume!(all > 0.0);
            let none = PerRack::new();
            let question = Question {
                reduces: reduces as f64,
                ..ask(&intermediate, 1.0, &none)
            };
            let real: Vec<f64> = prefer(&question).reduces.into_values().collect();
            let chosen: Vec<u64> = whole(&per_rack(&real)).into_values().collect();
            prop_assert_eq!(chosen.iter().sum::<u64>(), reduces);
            let distance = |assignment: &[u64]| -> f64 {
                let pairs = assignment.iter().zip(&real);
                pairs.map(|(a, r)| (*a as f64 - r).powi(2)).sum()
            };
            for other in assignments(real.len(), reduces) {
                prop_assert!(distance(&chosen) <= distance(&other) + 1e-6, "{other:?}");
            }
            let squares: f64 = intermediate.values().map(|b| (b / all).powi(2)).sum();
            let traffic = crossing(&intermediate, &per_rack(&real));
            prop_assert!((traffic - all * (1.0 - squares)).abs() < 1e-6);
            let even = per_rack(&vec![1.0; real.len()]);
            prop_assert!(traffic <= crossing(&intermediate, &even) + 1e-6);
        }
    }
}
