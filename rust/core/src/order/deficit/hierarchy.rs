//! Pools within pools (FS-23): shares from the root down, and guarantees in whole slots. Knows
//! demands, not jobs.

use super::minimum::{Party, split};
use crate::model::waterfill::{Claim, waterfill_exact};

/// One pool of the tree; amounts are in slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// Index of the parent, which is earlier in the list. The root has none.
    pub parent: Option<usize>,
    /// Weight against its siblings. A pool of weight 0 gets its minimum only.
    pub weight: f64,
    /// Guaranteed slots.
    pub min: f64,
    /// Upper limit; may be infinite.
    pub max: f64,
    /// Running and waiting tasks of its own jobs; 0 for a pool that has pools below it.
    pub demand: f64,
}

/// Demands and guarantees of pools, including the pools below them.
#[derive(Debug)]
struct Totals {
    demand: Vec<f64>,
    /// The larger of a pool's own minimum and its children's sum, capped at its demand. Unusable
    /// slots add nothing to the group's guarantee (FS-5, FS-13, FS-23).
    min: Vec<f64>,
}

fn totals(pools: &[Pool]) -> Totals {
    let mut demand: Vec<f64> = pools.iter().map(|pool| pool.demand).collect();
    let mut below = vec![0.0; pools.len()];
    let mut min = vec![0.0; pools.len()];
    for (i, pool) in pools.iter().enumerate().rev() {
        demand[i] = demand[i].min(pool.max);
        min[i] = pool.min.max(below[i]).min(demand[i]);
        if let Some(parent) = pool.parent {
            demand[parent] += demand[i];
            below[parent] += min[i];
        }
    }
    Totals { demand, min }
}

/// Divides `total` slots among pools: weighted max-min among siblings, from the root down. Each
/// share lies between the pool's guarantee and its demand capped at its maximum. Guarantees beyond
/// the total are cut in proportion.
pub fn shares(total: f64, pools: &[Pool]) -> Vec<f64> {
    let totals = totals(pools);
    let mut shares = vec![0.0; pools.len()];
    let Some(root) = shares.first_mut() else {
        return shares;
    };
    *root = total.min(totals.demand[0]);
    for (parent, children) in families(pools) {
        let claim = |i: &usize| Claim {
            weight: pools[*i].weight,
            least: totals.min[*i],
            most: totals.demand[*i],
        };
        let claims: Vec<Claim<f64>> = children.iter().map(claim).collect();
        let parts = waterfill_exact(shares[parent], &claims);
        for (child, part) in children.into_iter().zip(parts) {
            shares[child] = part;
        }
    }
    shares
}

/// Returns how many whole slots each pool is guaranteed, at most its demand. A guarantee beyond the
/// children's own is split among them by weight, so that together they get at least the full pool.
pub fn guarantees(pools: &[Pool]) -> Vec<u32> {
    let totals = totals(pools);
    let mut guarantees = vec![0; pools.len()];
    let Some(root) = guarantees.first_mut() else {
        return guarantees;
    };
    *root = pools[0].min.min(totals.demand[0]) as u32;
    for (parent, children) in families(pools) {
        let party = |i: &usize| Party {
            weight: pools[*i].weight,
            deficit: 0.0,
            least: totals.min[*i] as u32,
            demand: totals.demand[*i] as u32,
        };
        let parties: Vec<Party> = children.iter().map(party).collect();
        let parts = split(guarantees[parent], &parties);
        for (child, part) in children.into_iter().zip(parts) {
            guarantees[child] = part;
        }
    }
    guarantees
}

/// Returns every pool that has children, with them; parents come before their children.
fn families(pools: &[Pool]) -> Vec<(usize, Vec<usize>)> {
    let mut children = vec![Vec::new(); pools.len()];
    for (i, pool) in pools.iter().enumerate() {
        if let Some(parent) = pool.parent {
            children[parent].push(i);
        }
    }
    let families = children.into_iter().enumerate();
    families.filter(|(_, below)| !below.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pool(parent: usize, weight: f64, min: f64, demand: f64) -> Pool {
        Pool {
            parent: Some(parent),
            weight,
            min,
            max: f64::INFINITY,
            demand,
        }
    }

    fn tree(below: &[Pool]) -> Vec<Pool> {
        let root = Pool {
            parent: None,
            ..pool(0, 1.0, 0.0, 0.0)
        };
        [&[root], below].concat()
    }

    #[test]
    fn a_group_shares_its_part_before_anybody_else_gets_of_it() {
        // 12 slots, groups a and b alike: 6 each. In a, the first wants 1 and the second takes 5.
        let pools = tree(&[
            pool(0, 1.0, 0.0, 0.0),
            pool(0, 1.0, 0.0, 50.0),
            pool(1, 1.0, 0.0, 1.0),
            pool(1, 1.0, 0.0, 50.0),
        ]);
        assert_eq!(shares(12.0, &pools), [12.0, 6.0, 6.0, 1.0, 5.0]);
    }

    #[test]
    fn a_group_gets_at_least_the_larger_of_its_own_and_its_members_minimums() {
        // The members' 3 + 4 exceed the group's own 5: 7 of 10, though its weight would give 5.
        let pools = tree(&[
            pool(0, 1.0, 5.0, 0.0),
            pool(0, 1.0, 0.0, 50.0),
            pool(1, 1.0, 3.0, 50.0),
            pool(1, 1.0, 4.0, 50.0),
        ]);
        assert_eq!(shares(10.0, &pools), [10.0, 7.0, 3.0, 3.0, 4.0]);
        assert_eq!(guarantees(&pools), [0, 7, 0, 3, 4]);
    }

    #[test]
    fn what_a_group_guarantees_beyond_its_members_is_split_among_them() {
        // The group guarantees 9, its members 2 + 1; the other 6 are split: three each.
        let pools = tree(&[
            pool(0, 1.0, 9.0, 0.0),
            pool(1, 1.0, 2.0, 50.0),
            pool(1, 1.0, 1.0, 50.0),
            pool(0, 1.0, 4.0, 2.0),
        ]);
        assert_eq!(guarantees(&pools), [0, 9, 5, 4, 2]);
        // A member's unusable guarantee goes to its group, not to strangers.
        let pools = tree(&[
            pool(0, 1.0, 9.0, 0.0),
            pool(1, 1.0, 5.0, 2.0),
            pool(1, 1.0, 1.0, 50.0),
        ]);
        assert_eq!(guarantees(&pools), [0, 9, 2, 7]);
    }

    /// Worked by hand: 10 slots, an idle pool and a busy one in a group, beside a busy third.
    #[test]
    fn what_an_idle_pool_is_guaranteed_does_not_stay_with_its_group() {
        let shares_of = |busy_min: f64, beside_min: f64| {
            let pools = tree(&[
                pool(0, 1.0, 0.0, 0.0),
                pool(1, 1.0, 8.0, 0.0),
                pool(1, 1.0, busy_min, 10.0),
                pool(0, 1.0, beside_min, 10.0),
            ]);
            (shares(10.0, &pools), guarantees(&pools))
        };
        // Without guarantees: half for the group, half for the third.
        let (shares, whole) = shares_of(0.0, 0.0);
        assert_eq!(shares, [10.0, 5.0, 0.0, 5.0, 5.0]);
        assert_eq!(whole, [0, 0, 0, 0, 0]);
        // Guarantees of 2 and 8 fill the cluster.
        let (shares, whole) = shares_of(2.0, 8.0);
        assert_eq!(shares, [10.0, 2.0, 0.0, 2.0, 8.0]);
        assert_eq!(whole, [0, 2, 0, 2, 8]);
    }

    proptest! {
        /// A pool without demand changes no other pool's share, wherever it is and whatever its
        /// guarantee.
        #[test]
        fn a_guarantee_that_nobody_uses_changes_no_share(
            raw in prop::collection::vec((0usize..8, 1u32..5, 0u32..9, 0u32..30), 1..12),
            idle_min in 1u32..40,
            total in 1u32..60,
        ) {
            let mut pools = tree(&[]);
            for (parent, weight, min, demand) in raw {
                let parent = parent % pools.len();
                pools[parent].demand = 0.0;
                pools.push(pool(parent, weight.into(), min.into(), demand.into()));
            }
            let with = |min: f64| -> Vec<Pool> {
                let idle = (0..pools.len()).map(|parent| pool(parent, 1.0, min, 0.0));
                let idle = idle.filter(|idle| pools[idle.parent.expect("given")].demand == 0.0);
                pools.iter().copied().chain(idle).collect()
            };
            let (guaranteed, plain) = (with(idle_min.into()), with(0.0));
            prop_assert_eq!(shares(total.into(), &guaranteed), shares(total.into(), &plain));
            prop_assert_eq!(guarantees(&guaranteed), guarantees(&plain));
        }
    }

    #[test]
    fn demand_is_cut_at_the_maximum_on_the_way_up() {
        let limited = Pool {
            max: 3.0,
            ..pool(0, 1.0, 0.0, 0.0)
        };
        let pools = tree(&[
            limited,
            pool(0, 1.0, 0.0, 50.0),
            pool(1, 1.0, 0.0, 50.0),
            pool(1, 2.0, 0.0, 50.0),
        ]);
        assert_eq!(shares(12.0, &pools), [12.0, 3.0, 9.0, 1.0, 2.0]);
    }

    #[test]
    fn minimums_beyond_the_total_are_cut_in_proportion_and_no_weight_is_no_excess() {
        let pools = tree(&[pool(0, 1.0, 9.0, 50.0), pool(0, 1.0, 3.0, 50.0)]);
        assert_eq!(shares(8.0, &pools), [8.0, 6.0, 2.0]);
        let pools = tree(&[pool(0, 0.0, 2.0, 50.0), pool(0, 1.0, 0.0, 4.0)]);
        assert_eq!(shares(12.0, &pools), [12.0, 2.0, 4.0]);
        assert_eq!(shares(12.0, &[]), [] as [f64; 0]);
    }
}
