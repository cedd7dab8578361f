//! Weighted max-min of one divisible amount with lower and upper bounds: pure arithmetic.

/// The bounds and the weight of one party, in whole units or as real numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim<T = i64> {
    /// At least 0. With 0 it gets its minimum only.
    pub weight: f64,
    /// The amount that it gets before others get more.
    pub least: T,
    /// The amount that it never exceeds; not below `least`.
    pub most: T,
}

impl Claim<f64> {
    fn at(&self, level: f64) -> f64 {
        // Not `0 * infinity`.
        if self.weight > 0.0 {
            (self.weight * level).clamp(self.least, self.most)
        } else {
            self.least
        }
    }

    fn limit(&self) -> f64 {
        self.at(f64::INFINITY)
    }
}

/// Shares of `total`, in the order of `claims`, each rounded down; see `waterfill_exact`.
pub fn waterfill(total: i64, claims: &[Claim]) -> Vec<i64> {
    let total = total.max(0);
    let least: i64 = claims
        .iter()
        .fold(0, |sum, claim| sum.saturating_add(claim.least));
    // In whole numbers: at these two ends there is nothing to round.
    if claims.iter().all(|claim| claim.weight > 0.0) {
        let most: i64 = claims
            .iter()
            .fold(0, |sum, claim| sum.saturating_add(claim.most));
        if most <= total {
            return claims.iter().map(|claim| claim.most).collect();
        }
    }
    if least >= total {
        let cut = |claim: &Claim| i128::from(claim.least) * i128::from(total) / i128::from(least);
        // `least` is above 0 here unless total is, and then every share is 0.
        return claims
            .iter()
            .map(|c| if least == 0 { 0 } else { cut(c) as i64 })
            .collect();
    }
    let real = |claim: &Claim| Claim {
        weight: claim.weight,
        least: claim.least as f64,
        most: claim.most as f64,
    };
    let claims: Vec<Claim<f64>> = claims.iter().map(real).collect();
    // The nudge keeps a share that is whole except for rounding in the division from losing a unit.
    waterfill_exact(total as f64, &claims)
        .iter()
        .map(|share| (share * (1.0 + 1e-12)).floor() as i64)
        .collect()
}

/// Shares of `total`, in the order of `claims`, not rounded.
///
/// There is one water level r at which the shares `clamp(weight * r, least, most)` add up to
/// `total`. It is found exactly, between two of the levels at which a share starts or stops to
/// grow. If even the minimums exceed `total`, they are cut in proportion. If `total` covers every
/// claim in full, each gets all that it may. O(n log n).
pub fn waterfill_exact(total: f64, claims: &[Claim<f64>]) -> Vec<f64> {
    let total = total.max(0.0);
    let least: f64 = claims.iter().map(|claim| claim.least).sum();
    if claims.iter().map(Claim::limit).sum::<f64>() <= total {
        return claims.iter().map(Claim::limit).collect();
    }
    if least > total {
        return claims.iter().map(|c| c.least * total / least).collect();
    }
    let level = water_level(total, claims);
    claims.iter().map(|claim| claim.at(level)).collect()
}

fn water_level(total: f64, claims: &[Claim<f64>]) -> f64 {
    // In levels, not amounts: dividing and multiplying again would blur which claims are at a
    // bound.
    let bounds = |claim: &Claim<f64>| [claim.least / claim.weight, claim.most / claim.weight];
    let growing = || claims.iter().filter(|claim| claim.weight > 0.0);
    let mut levels: Vec<f64> = growing().flat_map(bounds).filter(|at| *at > 0.0).collect();
    let sum = |level: f64| claims.iter().map(|claim| claim.at(level)).sum::<f64>();
    // The sum grows with the level, so a search finds the last bend at which it still falls short.
    // Only the part of the levels in which that lies need be in order.
    let mut below = 0.0;
    let mut between = &mut levels[..];
    while !between.is_empty() {
        let middle = between.len() / 2;
        let (lower, bend, upper) = between.select_nth_unstable_by(middle, f64::total_cmp);
        if sum(*bend) <= total {
            (below, between) = (*bend, upper);
        } else {
            between = lower;
        }
    }
    let between = |claim: &&Claim<f64>| {
        let [starts, stops] = bounds(claim);
        starts <= below && below < stops
    };
    let weight: f64 = growing().filter(between).map(|claim| claim.weight).sum();
    if weight > 0.0 {
        below + (total - sum(below)) / weight
    } else {
        below
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claim(weight: f64, least: i64, most: i64) -> Claim {
        Claim {
            weight,
            least,
            most,
        }
    }

    #[test]
    fn examples_worked_by_hand() {
        let wants_all = |weight| claim(weight, 0, i64::MAX);
        assert_eq!(waterfill(12, &[wants_all(1.0), wants_all(2.0)]), [4, 8]);
        // The first wants only 2: the rest is split evenly.
        assert_eq!(
            waterfill(12, &[claim(1.0, 0, 2), wants_all(1.0), wants_all(1.0)]),
            [2, 5, 5]
        );
        // A minimum of 8 leaves 4 for the others.
        assert_eq!(
            waterfill(12, &[claim(1.0, 8, 99), wants_all(1.0), wants_all(1.0)]),
            [8, 2, 2]
        );
        // Minimums that cannot all be met are cut in proportion.
        assert_eq!(
            waterfill(10, &[claim(1.0, 30, 40), claim(1.0, 10, 40)]),
            [7, 2]
        );
        assert_eq!(waterfill(0, &[claim(1.0, 0, 5)]), [0]);
        assert_eq!(waterfill(9, &[]), [] as [i64; 0]);
    }

    #[test]
    fn without_weight_there_is_the_minimum_and_nothing_of_what_is_left() {
        let idle = claim(0.0, 3, 9);
        assert_eq!(waterfill(12, &[idle, claim(1.0, 0, 99)]), [3, 9]);
        assert_eq!(waterfill(12, &[idle, claim(1.0, 0, 4)]), [3, 4]);
        assert_eq!(waterfill(12, &[idle]), [3]);
        assert_eq!(waterfill(2, &[idle, claim(1.0, 0, 4)]), [2, 0]);
    }

    #[test]
    fn exact_shares_keep_their_fractions() {
        let open = |weight| Claim {
            weight,
            least: 0.0,
            most: f64::INFINITY,
        };
        assert_eq!(
            waterfill_exact(4.0, &[open(1.0), open(2.0)]),
            [4.0 / 3.0, 8.0 / 3.0]
        );
        let modest = Claim {
            most: 0.5,
            ..open(1.0)
        };
        assert_eq!(waterfill_exact(4.0, &[modest, open(1.0)]), [0.5, 3.5]);
        assert_eq!(waterfill_exact(4.0, &[modest]), [0.5]);
        let needs = |least| Claim { least, ..open(1.0) };
        assert_eq!(waterfill_exact(4.0, &[needs(6.0), needs(2.0)]), [3.0, 1.0]);
    }

    proptest! {
        /// The defining property of weighted max-min: a claim can get more only at the cost of one
        /// that has no more per weight. Checked against the definition, not a formula.
        #[test]
        fn nobody_could_get_more_fairly(
            total in 0i64..100_000,
            raw in prop::collection::vec((1u32..50, 0i64..3_000, 0i64..30_000), 1..12),
        ) {
            let claims: Vec<Claim> = raw.iter()
                .map(|(w, least, more)| claim(f64::from(*w) / 4.0, *least, least + more)).collect();
            let shares = waterfill(total, &claims);
            let least: i64 = claims.iter().map(|c| c.least).sum();
            let most: i64 = claims.iter().map(|c| c.most).sum();
            let sum: i64 = shares.iter().sum();
            prop_assert!(sum <= total);
            prop_assert!(sum + claims.len() as i64 >= total.min(most), "nothing is left over");
            for (i, (share, c)) in shares.iter().zip(&claims).enumerate() {
                prop_assert!(*share <= c.most);
                prop_assert!(least > total || *share + 1 >= c.least);
                for (j, (other, d)) in shares.iter().zip(&claims).enumerate() {
                    let wants_more = *share < c.most - 1;
                    let could_give = *other > d.least + 1;
                    if i != j && wants_more && could_give && least <= total {
                        prop_assert!(
                            *other as f64 / d.weight <= (*share + 2) as f64 / c.weight + 1e-6,
                            "{j} has more per weight than {i}, which wants more: {shares:?}"
                        );
                    }
                }
            }
        }
    }
}
