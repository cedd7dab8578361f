//! Weighted max-min of one divisible amount with lower and upper bounds: pure arithmetic.

/// What one party may get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Above 0.
    pub weight: f64,
    /// What it gets before others get more.
    pub least: i64,
    /// What it never exceeds; not below `least`.
    pub most: i64,
}

impl Claim {
    fn at(&self, level: f64) -> f64 {
        (self.weight * level).clamp(self.least as f64, self.most as f64)
    }
}

/// Shares of `total`, in the order of `claims`, each rounded down.
///
/// There is one water level r at which the shares `clamp(weight * r, least, most)` add up to
/// `total`; it is found exactly, between two of the levels at which a share starts or stops to
/// grow. If even the minimums exceed `total`, they are cut in proportion; if everybody can have
/// all that they want, they get it.
pub fn waterfill(total: i64, claims: &[Claim]) -> Vec<i64> {
    let total = total.max(0);
    let least: i64 = claims
        .iter()
        .fold(0, |sum, claim| sum.saturating_add(claim.least));
    let most: i64 = claims
        .iter()
        .fold(0, |sum, claim| sum.saturating_add(claim.most));
    if most <= total {
        return claims.iter().map(|claim| claim.most).collect();
    }
    if least >= total {
        let cut = |claim: &Claim| i128::from(claim.least) * i128::from(total) / i128::from(least);
        // `least` is above 0 here unless total is, and then every share is 0.
        return claims
            .iter()
            .map(|c| if least == 0 { 0 } else { cut(c) as i64 })
            .collect();
    }
    let level = water_level(total as f64, claims);
    // The nudge keeps a share that is whole but for the division's rounding from losing a unit.
    claims
        .iter()
        .map(|claim| (claim.at(level) * (1.0 + 1e-12)).floor() as i64)
        .collect()
}

fn water_level(total: f64, claims: &[Claim]) -> f64 {
    let mut levels: Vec<f64> = claims
        .iter()
        .flat_map(|claim| {
            [
                claim.least as f64 / claim.weight,
                claim.most as f64 / claim.weight,
            ]
        })
        .collect();
    levels.sort_by(f64::total_cmp);
    let sum = |level: f64| claims.iter().map(|claim| claim.at(level)).sum::<f64>();
    // The sum grows with the level, so the last bend at which it is still short can be searched.
    let short = levels.partition_point(|level| sum(*level) <= total);
    let below = if short == 0 { 0.0 } else { levels[short - 1] };
    let growing: f64 = claims
        .iter()
        // In levels, not amounts: dividing and multiplying again would blur who is at a bound.
        .filter(|c| c.least as f64 / c.weight <= below && below < c.most as f64 / c.weight)
        .map(|claim| claim.weight)
        .sum();
    if growing > 0.0 {
        below + (total - sum(below)) / growing
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

    proptest! {
        /// The defining property of weighted max-min: nobody can get more but at the cost of
        /// someone who has no more per weight. Checked against the definition, not a formula.
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
