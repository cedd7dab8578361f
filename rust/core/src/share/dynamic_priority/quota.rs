//! From bids to slots: shares, and whole slots that add up. Pure arithmetic, exact in integers;
//! other modules decide who may bid.

use crate::words::credits::Credits;

/// Rounding of real entitlements to whole slots (DP-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Down; remaining slots go to the largest fractions, ties in order of the bids. The quotas add
    /// up to the slots.
    LargestRemainder,
    /// As above, but fractions are carried from interval to interval. Equal bids get the odd slot
    /// in turn, and a bid for a tenth of a slot has one in ten intervals.
    Carried,
    /// Each alone, halves up, as published: the sum may be above or below the slots.
    HalfUp,
    /// Each alone, down; only the fill pass uses the remaining slots.
    Floor,
}

impl Rounding {
    /// Names in configurations and cases.
    pub const NAMES: &[(&str, Rounding)] = &[
        ("carried", Rounding::Carried),
        ("largest_remainder", Rounding::LargestRemainder),
        ("half_up", Rounding::HalfUp),
        ("floor", Rounding::Floor),
    ];
}

/// A slot in the units of fractions that are carried.
pub const SLOT: i64 = 1_000_000;

/// Returns the part of the slots that a bid buys at this price; 0 at price 0.
pub fn share(bid: Credits, price: Credits) -> f64 {
    exact(bid, price, 1)
}

/// Returns how many of `slots` a bid buys before rounding: (s / p) * c of DP-5.
pub fn exact(bid: Credits, price: Credits, slots: u32) -> f64 {
    if price == Credits::ZERO {
        return 0.0;
    }
    // A single division keeps whole results whole.
    (i128::from(bid.micro()) * i128::from(slots)) as f64 / price.micro() as f64
}

/// Divides whole slots among the bids, in the order of `bids`, which also breaks ties.
///
/// The price may exceed the sum of the bids: the published overdraft keeps a bidder without a share
/// in it. The slots of the others do not grow then.
pub fn divide(bids: &[Credits], price: Credits, slots: u32, rounding: Rounding) -> Vec<u32> {
    let price = i128::from(price.micro());
    if price == 0 {
        return vec![0; bids.len()];
    }
    let scaled: Vec<i128> = bids
        .iter()
        .map(|bid| i128::from(bid.micro()) * i128::from(slots))
        .collect();
    let whole = |amount: i128| u32::try_from(amount).unwrap_or(u32::MAX);
    match rounding {
        Rounding::Floor => scaled.iter().map(|s| whole(s / price)).collect(),
        Rounding::HalfUp => {
            let half_up = |s: &i128| whole((2 * s + price) / (2 * price));
            scaled.iter().map(half_up).collect()
        }
        // Without a past nothing is carried.
        Rounding::LargestRemainder | Rounding::Carried => {
            let mut quotas: Vec<u32> = scaled.iter().map(|s| whole(s / price)).collect();
            let given: i128 = quotas.iter().map(|quota| i128::from(*quota)).sum();
            let left = scaled.iter().sum::<i128>() / price - given;
            let mut order: Vec<usize> = (0..bids.len()).collect();
            // The sort is stable: ties stay in the order of the bids.
            order.sort_by_key(|i| std::cmp::Reverse(scaled[*i] % price));
            // Each fraction is below 1, so fewer slots are left than there are fractions.
            for i in order.into_iter().take(usize::try_from(left).unwrap_or(0)) {
                quotas[i] += 1;
            }
            quotas
        }
    }
}

/// Divides whole slots among the bids, with the fractions that each is still owed from earlier
/// intervals, in parts of `SLOT` (`Rounding::Carried`). Updates `carried` to the fractions owed
/// afterwards. Ties go by the order of the bids.
pub fn divide_owed(bids: &[Credits], price: Credits, slots: u32, carried: &mut [i64]) -> Vec<u32> {
    let price = i128::from(price.micro());
    if price == 0 {
        return vec![0; bids.len()];
    }
    let slot = i128::from(SLOT);
    let bought = |bid: &Credits| i128::from(bid.micro()) * i128::from(slots) * slot / price;
    let bought: Vec<i128> = bids.iter().map(bought).collect();
    // A sum of parts that are rounded down; half of a slot is far more than they lose.
    let mut left = (bought.iter().sum::<i128>() + slot / 2) / slot;
    // Departed bidders took their claims and debts along: the others start from the mean.
    let mean = carried.iter().map(|c| i128::from(*c)).sum::<i128>() / bids.len().max(1) as i128;
    let owed = bought.iter().zip(&*carried);
    let owed: Vec<i128> = owed
        .map(|(bought, c)| bought + i128::from(*c) - mean)
        .collect();
    let mut quotas: Vec<i128> = owed.iter().map(|owed| owed.max(&0) / slot).collect();
    left -= quotas.iter().sum::<i128>();
    let mut order: Vec<usize> = (0..bids.len()).collect();
    // The sort is stable: ties stay in the order of the bids.
    order.sort_by_key(|i| std::cmp::Reverse(owed[*i] - quotas[*i] * slot));
    for i in order.iter().take(usize::try_from(left).unwrap_or(0)) {
        quotas[*i] += 1;
    }
    // If some owe slots, the others are owed more slots than there are.
    while left < 0 && quotas.iter().any(|quota| *quota > 0) {
        for i in order.iter().rev() {
            let taken = quotas[*i].min(-left).clamp(0, 1);
            quotas[*i] -= taken;
            left += taken;
        }
    }
    for ((carried, owed), quota) in carried.iter_mut().zip(&owed).zip(&quotas) {
        *carried = (owed - quota * slot).clamp(-slot, slot) as i64;
    }
    let whole = |quota: &i128| u32::try_from(*quota).unwrap_or(u32::MAX);
    quotas.iter().map(whole).collect()
}

/// Returns the least bid of bidder `me` that buys at least `wanted` slots while the others keep
/// their bids. `carried` are the fractions that each is owed. A higher bid never gets fewer (DP-2),
/// so a binary search finds it. None if no bid does.
pub fn least_bid(
    bids: (&[Credits], &[i64]),
    me: usize,
    slots: u32,
    rounding: Rounding,
    wanted: u32,
) -> Option<Credits> {
    let (mut below, mut enough) = (-1, Credits::MAX.micro());
    if slots_at(bids, me, slots, rounding, Credits::MAX) < wanted {
        return None;
    }
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        let bid = Credits::from_micro(middle);
        if slots_at(bids, me, slots, rounding, bid) < wanted {
            below = middle;
        } else {
            enough = middle;
        }
    }
    Some(Credits::from_micro(enough))
}

/// Returns the slots of bidder `me` if it bids `bid` and the others keep their bids.
pub fn slots_at(
    (bids, carried): (&[Credits], &[i64]),
    me: usize,
    slots: u32,
    rounding: Rounding,
    bid: Credits,
) -> u32 {
    let mut bids = bids.to_vec();
    bids[me] = bid;
    let price = bids.iter().fold(Credits::ZERO, |sum, bid| sum + *bid);
    match rounding {
        Rounding::Carried => divide_owed(&bids, price, slots, &mut carried.to_vec())[me],
        rounding => divide(&bids, price, slots, rounding)[me],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn credits(amounts: &[f64]) -> Vec<Credits> {
        let read = |amount: &f64| Credits::from_number(*amount).expect("a valid amount");
        amounts.iter().map(read).collect()
    }

    fn total(bids: &[Credits]) -> Credits {
        bids.iter().fold(Credits::ZERO, |sum, bid| sum + *bid)
    }

    fn quotas(rates: &[f64], slots: u32, rounding: Rounding) -> Vec<u32> {
        let bids = credits(rates);
        divide(&bids, total(&bids), slots, rounding)
    }

    /// DP-17, figure 1: 4/7.5, 1.5/7.5 and 2/7.5 of 15 slots.
    #[test]
    fn the_papers_example_gives_8_3_and_4_slots() {
        for (_, rounding) in Rounding::NAMES {
            assert_eq!(quotas(&[4.0, 1.5, 2.0], 15, *rounding), [8, 3, 4]);
        }
        let bids = credits(&[4.0, 1.5, 2.0]);
        let real: Vec<f64> = bids.iter().map(|b| exact(*b, total(&bids), 15)).collect();
        assert_eq!(real, [8.0, 3.0, 4.0]);
    }

    /// DP-54: ten bidders at 1 to 10 hold n/55 each; on 110 slots that is 2n.
    #[test]
    fn ten_levels_hold_n_of_55() {
        let rates: Vec<f64> = (1..=10).map(f64::from).collect();
        let bids = credits(&rates);
        for (i, bid) in bids.iter().enumerate() {
            assert_eq!(share(*bid, total(&bids)), (i + 1) as f64 / 55.0);
        }
        let twice: Vec<u32> = (1..=10).map(|n| 2 * n).collect();
        assert_eq!(quotas(&rates, 110, Rounding::LargestRemainder), twice);
    }

    /// DP-60: nine at 1 and one at 4: 4/13 against 1/10 without the boost, a gain of 3.08.
    #[test]
    fn one_of_ten_at_fourfold_rate_holds_4_of_13() {
        let mut rates = vec![1.0; 10];
        rates[3] = 4.0;
        let bids = credits(&rates);
        assert_eq!(share(bids[3], total(&bids)), 4.0 / 13.0);
        assert_eq!(share(bids[0], total(&bids)), 1.0 / 13.0);
        let even = credits(&[1.0; 10]);
        let gain = share(bids[3], total(&bids)) / share(even[0], total(&even));
        assert!((gain - 40.0 / 13.0).abs() < 1e-12, "{gain}");
        // On the 40 slots of the small cluster: 12.31 and nine times 3.08. 12 + 9 * 3 = 39; the
        // largest fraction, .31, gets the last slot.
        assert_eq!(
            quotas(&rates, 40, Rounding::LargestRemainder),
            [3, 3, 3, 13, 3, 3, 3, 3, 3, 3]
        );
    }

    /// DP-61: share 1/3240 of 120 slots is 0.04, so user 1 of 80 has no slot of its own.
    #[test]
    fn user_1_of_80_has_no_slot_of_120() {
        let rates: Vec<f64> = (1..=80).map(f64::from).collect();
        let quotas = quotas(&rates, 120, Rounding::LargestRemainder);
        assert_eq!(quotas[0], 0);
        assert_eq!(quotas.iter().sum::<u32>(), 120);
        // 80/3240 * 120 = 2.96: the second-largest fraction, so it is rounded up.
        assert_eq!(quotas[79], 3);
    }

    #[test]
    fn equal_fractions_are_served_in_order_of_names() {
        // 10/4 = 2.5 each: two of the four get the remaining slots.
        assert_eq!(
            quotas(&[1.0; 4], 10, Rounding::LargestRemainder),
            [3, 3, 2, 2]
        );
        assert_eq!(quotas(&[1.0; 4], 10, Rounding::HalfUp), [3, 3, 3, 3]);
        assert_eq!(quotas(&[1.0; 4], 10, Rounding::Floor), [2, 2, 2, 2]);
        // 1/3 each: with half-up no bidder gets the single slot.
        assert_eq!(quotas(&[1.0; 3], 1, Rounding::HalfUp), [0, 0, 0]);
        assert_eq!(quotas(&[1.0; 3], 1, Rounding::LargestRemainder), [1, 0, 0]);
    }

    #[test]
    fn no_bids_no_slots_and_no_division_by_zero() {
        assert!(divide(&[], Credits::ZERO, 15, Rounding::HalfUp).is_empty());
        let zero = [Credits::ZERO];
        for (_, rounding) in Rounding::NAMES {
            assert_eq!(divide(&zero, Credits::ZERO, 15, *rounding), [0]);
            assert_eq!(quotas(&[4.0, 2.0], 0, *rounding), [0, 0]);
        }
        assert_eq!(share(Credits::ZERO, Credits::ZERO), 0.0);
        assert_eq!(exact(Credits::ZERO, Credits::ZERO, 15), 0.0);
    }

    /// A price above the sum of the bids (published overdraft) enlarges no quota.
    #[test]
    fn a_price_above_the_bids_leaves_slots_over() {
        let bids = credits(&[1.0, 1.0]);
        let price = Credits::from_number(4.0).expect("valid");
        assert_eq!(divide(&bids, price, 8, Rounding::LargestRemainder), [2, 2]);
    }

    /// Three equal bids for ten slots: the odd slot goes round. The first interval is that of the
    /// largest remainder.
    #[test]
    fn the_odd_slot_of_equal_bids_goes_round() {
        let bids = credits(&[1.0, 1.0, 1.0]);
        let mut carried = [0; 3];
        let mut next = || divide_owed(&bids, total(&bids), 10, &mut carried);
        let intervals: Vec<Vec<u32>> = (0..6).map(|_| next()).collect();
        assert_eq!(
            intervals[0],
            quotas(&[1.0; 3], 10, Rounding::LargestRemainder)
        );
        assert_eq!(
            intervals[..3],
            [vec![4, 3, 3], vec![3, 4, 3], vec![3, 3, 4]]
        );
        assert_eq!(intervals[..3], intervals[3..]);
    }

    /// A bid for a tenth of the one slot has it in one interval of ten.
    #[test]
    fn a_small_bid_has_a_slot_now_and_then() {
        let bids = credits(&[9.0, 1.0]);
        let mut carried = [0; 2];
        let mut next = || divide_owed(&bids, total(&bids), 1, &mut carried)[1];
        let had: Vec<u32> = (0..30).map(|_| next()).collect();
        assert_eq!(had.iter().sum::<u32>(), 3, "{had:?}");
        assert_eq!(had[..10].iter().sum::<u32>(), 1, "{had:?}");
    }

    proptest! {
        /// Quotas add up to the slots, and each is less than a slot away from its entitlement.
        #[test]
        fn largest_remainder_adds_up_and_is_within_one(
            micro in prop::collection::vec(0i64..5_000_000_000, 1..40),
            slots in 0u32..5_000,
        ) {
            let bids: Vec<Credits> = micro.iter().map(|m| Credits::from_micro(*m)).collect();
            let price = total(&bids);
            prop_assume!(price > Credits::ZERO);
            let quotas = divide(&bids, price, slots, Rounding::LargestRemainder);
            prop_assert_eq!(quotas.iter().sum::<u32>(), slots);
            for (bid, quota) in bids.iter().zip(&quotas) {
                let real = bid.micro() as f64 * f64::from(slots) / price.micro() as f64;
                prop_assert!((real - f64::from(*quota)).abs() < 1.0, "{real} against {quota}");
            }
        }

        /// Over many intervals each bidder gets what it bought, give or take two slots, and the
        /// quotas of each interval add up. Bidders come and go.
        #[test]
        fn carried_fractions_add_up_over_time(
            micro in prop::collection::vec(1i64..5_000_000_000, 1..40),
            slots in 0u32..200,
            absent in 0usize..40,
        ) {
            let bids: Vec<Credits> = micro.iter().map(|m| Credits::from_micro(*m)).collect();
            let price = total(&bids);
            let mut carried = vec![0; bids.len()];
            let mut sums = vec![0u32; bids.len()];
            for interval in 0..60 {
                if interval == 20 {
                    carried[absent % bids.len()] = 0;
                    sums.fill(0);
                }
                let quotas = divide_owed(&bids, price, slots, &mut carried);
                prop_assert_eq!(quotas.iter().sum::<u32>(), slots);
                sums.iter_mut().zip(&quotas).for_each(|(sum, quota)| *sum += quota);
            }
            for (bid, sum) in bids.iter().zip(&sums) {
                let real = bid.micro() as f64 * f64::from(slots) / price.micro() as f64 * 40.0;
                prop_assert!((real - f64::from(*sum)).abs() < 2.5, "{real} against {sum}");
            }
        }

        /// The least bid is enough, and a millionth less is not.
        #[test]
        fn the_least_bid_for_some_slots_is_the_least(
            micro in prop::collection::vec(1i64..9_000_000, 2..12),
            slots in 1u32..300,
            which in 0..Rounding::NAMES.len(),
            part in 0u32..101,
            carried in prop::collection::vec(-SLOT..SLOT + 1, 12),
        ) {
            let rounding = Rounding::NAMES[which].1;
            let bids: Vec<Credits> = micro.iter().map(|m| Credits::from_micro(*m)).collect();
            let bids = (&bids[..], &carried[..bids.len()]);
            let wanted = slots * part / 100;
            match least_bid(bids, 1, slots, rounding, wanted) {
                Some(least) => {
                    prop_assert!(slots_at(bids, 1, slots, rounding, least) >= wanted);
                    let less = Credits::from_micro(least.micro() - 1);
                    let fewer = slots_at(bids, 1, slots, rounding, less) < wanted;
                    prop_assert!(fewer || least == Credits::ZERO);
                }
                None => {
                    let most = slots_at(bids, 1, slots, rounding, Credits::MAX);
                    prop_assert!(most < wanted);
                }
            }
        }

        /// DP-2: with other bids equal, raising a bid never costs the bidder a slot.
        #[test]
        fn a_higher_bid_never_gets_fewer_slots(
            micro in prop::collection::vec(1i64..9_000_000, 2..12),
            slots in 0u32..300,
            raised in 1i64..9_000_000,
            which in 0..Rounding::NAMES.len(),
        ) {
            let rounding = Rounding::NAMES[which].1;
            let bids: Vec<Credits> = micro.iter().map(|m| Credits::from_micro(*m)).collect();
            let before = divide(&bids, total(&bids), slots, rounding)[0];
            let mut more = bids;
            more[0] = more[0] + Credits::from_micro(raised);
            let after = divide(&more, total(&more), slots, rounding)[0];
            prop_assert!(after >= before, "{before} slots became {after}");
        }
    }
}
