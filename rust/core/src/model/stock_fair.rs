//! The shares that YARN's Fair Scheduler computes (`ComputeFairShares`): pure arithmetic. Repeats
//! its steps in its number types, since a closed form gives other numbers. Demand plays no part.

/// What one queue brings to the division of one resource type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Claim {
    /// Its weight; at 0 it gets its minimum.
    pub(crate) weight: f32,
    /// It gets no less, whatever there is.
    pub(crate) least: i64,
    /// It gets no more.
    pub(crate) most: i64,
    /// Whether it has applications that may run. One without gets nothing.
    pub(crate) active: bool,
}

impl Claim {
    fn fixed(&self) -> Option<i64> {
        if self.most <= 0 || !self.active {
            Some(0)
        } else if self.weight <= 0.0 {
            Some(self.least.max(0))
        } else {
            None
        }
    }

    fn at(&self, ratio: f64) -> i64 {
        let share = f64::from(self.weight) * ratio;
        share.max(self.least as f64).min(self.most as f64) as i64
    }
}

/// How often the interval of the ratio is halved.
const HALVINGS: usize = 25;

/// The shares of `total`, in the order of `claims`. Their sum is at least `total` where maximums
/// allow it, and may be a little more. Minimums may exceed it.
pub(crate) fn shares(total: i64, claims: &[Claim]) -> Vec<i64> {
    let open: Vec<&Claim> = claims.iter().filter(|c| c.fixed().is_none()).collect();
    let taken = sum(claims.iter().filter_map(Claim::fixed));
    let most = sum(open.iter().map(|claim| claim.most));
    let total = total.saturating_sub(taken).max(0).min(most);
    let used = |ratio: f64| sum(open.iter().map(|claim| claim.at(ratio)));
    let mut right = 1.0;
    // Ends: a positive weight times infinity reaches every maximum.
    while used(right) < total && right < f64::INFINITY {
        right *= 2.0;
    }
    let mut left = 0.0;
    for _ in 0..HALVINGS {
        let middle = (left + right) / 2.0;
        let planned = used(middle);
        if planned < total {
            left = middle;
        } else {
            right = middle;
        }
        if planned == total {
            break;
        }
    }
    let share = |claim: &Claim| claim.fixed().unwrap_or_else(|| claim.at(right));
    claims.iter().map(share).collect()
}

fn sum(amounts: impl Iterator<Item = i64>) -> i64 {
    amounts.fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(weight: f32, least: i64, most: i64) -> Claim {
        Claim {
            weight,
            least,
            most,
            active: true,
        }
    }

    /// Weights, minimums, maximums and shares of Hadoop's own TestComputeFairShares.
    #[test]
    fn hadoops_own_cases() {
        type Case = (i64, [f32; 4], [i64; 4], [i64; 4], [i64; 4]);
        let (even, uneven) = ([1.0; 4], [2.0, 1.0, 1.0, 0.5]);
        let (none, open) = ([0; 4], [i64::MAX; 4]);
        let cases: [Case; 6] = [
            (40, even, none, open, [10, 10, 10, 10]),
            (40, even, none, [100, 50, 11, 3], [13, 13, 11, 3]),
            (40, even, [20, 18, 0, 2], open, [20, 18, 0, 2]),
            (45, uneven, none, open, [20, 10, 10, 5]),
            (45, uneven, none, [10, 11, 30, 20], [10, 11, 16, 8]),
            (45, uneven, [20, 0, 5, 15], open, [20, 5, 5, 15]),
        ];
        for (total, weights, least, most, expected) in cases {
            let claims = [0, 1, 2, 3].map(|i| claim(weights[i], least[i], most[i]));
            assert_eq!(shares(total, &claims), expected, "{claims:?} of {total}");
        }
    }

    #[test]
    fn what_is_fixed_comes_off_first() {
        let idle = Claim {
            active: false,
            ..claim(1.0, 50, 100)
        };
        let claims = [
            idle,
            claim(0.0, 30, 100),
            claim(1.0, 40, 0),
            claim(1.0, 0, i64::MAX),
        ];
        assert_eq!(shares(100, &claims), [0, 30, 0, 70]);
        assert_eq!(
            shares(20, &claims),
            [0, 30, 0, 0],
            "more is fixed than there is"
        );
        assert_eq!(shares(0, &[]), [0; 0]);
    }

    /// Extremes end, and stay within the maximum.
    #[test]
    fn extremes_end() {
        let claims = [claim(f32::MIN_POSITIVE, 0, i64::MAX), claim(1e9, 0, 5)];
        let shares = shares(i64::MAX, &claims);
        assert!(shares[0] >= i64::MAX - 5 && shares[1] == 5, "{shares:?}");
    }
}
