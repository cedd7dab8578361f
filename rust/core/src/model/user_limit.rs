//! What one user's jobs may use in a leaf: the calculation of the stock Capacity Scheduler
//! (`UsersManager.computeUserLimit`). Knows no jobs; keeps nothing.
//!
//! One departure: the sum of the users' shares is worked out afresh in 64 bits, where stock adds
//! differences of 32 bits for every container.

use crate::config::UserLimit;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use std::cmp::Ordering;

/// The fixed side of a leaf's limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Terms {
    pub(crate) rule: UserLimit,
    /// The capacity of the cluster, or of the nodes of a label.
    pub(crate) cluster: Resource,
    /// The smallest container.
    pub(crate) step: Resource,
    /// The leaf's guarantee; its minimum share where queues do not compare by guarantees.
    pub(crate) guaranteed: Resource,
    /// The leaf's maximum.
    pub(crate) maximum: Resource,
    /// Whether amounts compare by dominant share; otherwise only memory counts.
    pub(crate) dominant: bool,
}

/// The other side: what users have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Sum of the shares of all users, each share the largest over the types.
    pub(crate) shares: f64,
    /// The resources of the active users.
    pub(crate) active: Resource,
    /// Sum of their weights.
    pub(crate) weight: f64,
}

impl Terms {
    /// The limit of a user of weight 1.
    pub(crate) fn limit(&self, usage: &Usage) -> Resource {
        let together = usage.active + self.step;
        self.divided(&self.current(usage), &together, usage.weight)
    }

    /// The same as if all users were active, whose weights are `weight` together
    /// (`UsersManager.getComputedResourceLimitForAllUsers`).
    pub(crate) fn limit_of_all(&self, usage: &Usage, weight: f64) -> Resource {
        let current = self.current(usage);
        self.divided(&current, &current, weight)
    }

    /// The leaf's guarantee, or its usage and one step more if it uses all of that.
    fn current(&self, usage: &Usage) -> Resource {
        let cap = self.larger(self.guaranteed, self.step);
        let consumed = self.rounded_up(&self.cluster, usage.shares);
        match self.compare(&consumed, &cap) {
            Ordering::Less => cap,
            _ => consumed + self.step,
        }
    }

    /// Divides `together` by weight, within the rule's percentage and factor.
    fn divided(&self, current: &Resource, together: &Resource, weight: f64) -> Resource {
        let cap = self.larger(self.guaranteed, self.step);
        let percent = f64::from(self.rule.percent);
        let by_percent = map(current, |i| {
            hundredths((current[i] as f64 * percent) as i64)
        });
        let equally = map(together, |i| match weight > 0.0 {
            true => (together[i] as f32 / weight as f32).ceil() as i64,
            false => 0,
        });
        let fair = self.larger(equally, by_percent);
        let most = match self.rule.factor {
            Some(factor) if !self.guaranteed.is_zero() => cap.scaled(f64::from(factor)),
            _ => self.down_to_step(&self.maximum),
        };
        self.up_to_step(&self.smaller(fair, most))
    }

    /// The limit of one user, by the weight.
    pub(crate) fn of_user(&self, limit: &Resource, weight: f32) -> Resource {
        self.down_to_step(&limit.scaled(f64::from(weight)))
    }

    /// Whether a user who uses so much may get no more. At the limit one more container is allowed.
    pub(crate) fn is_over(&self, used: &Resource, limit: &Resource) -> bool {
        self.compare(used, limit) == Ordering::Greater
    }

    /// The most that the ApplicationMasters of one user may use in a leaf that grants them
    /// `am_share`, with `active` users in it. Where only memory counts nothing else is limited.
    pub(crate) fn of_masters(&self, am_share: f64, active: u32, weight: f32) -> Resource {
        // Stock has this number with 32 bits.
        let am_share = f64::from(am_share as f32);
        let part = match self.rule.factor {
            Some(factor) => {
                let percent = f64::from(self.rule.percent) / 100.0;
                let each = percent.max(1.0 / f64::from(active.max(1)));
                am_share * (each * f64::from(weight)).min(1.0) * f64::from(factor)
            }
            None => am_share,
        };
        self.masters(&self.guaranteed, part)
    }

    /// The resource type by which an amount compares first.
    pub(crate) fn compared(&self, amount: &Resource) -> usize {
        let share = |i: &usize| share_of(amount, &self.cluster, *i).unwrap_or(f64::MIN);
        let types = (0..RESOURCE_TYPES_MAX).filter(|i| self.dominant || *i == 0);
        // Of equal ones the first.
        types
            .rev()
            .max_by(|a, b| share(a).total_cmp(&share(b)))
            .unwrap_or(0)
    }

    /// The share of the cluster that an amount is.
    pub(crate) fn share(&self, amount: &Resource) -> f64 {
        match self.dominant {
            true => amount.dominant_share(&self.cluster),
            false => share_of(amount, &self.cluster, 0).unwrap_or(0.0),
        }
    }

    /// The most that the ApplicationMasters of a leaf may use that could use `room`.
    pub(crate) fn of_all_masters(&self, am_share: f64, room: &Resource) -> Resource {
        let part = f64::from(am_share as f32);
        match self.fits(&self.guaranteed, room) {
            true => self.masters(room, part),
            false => self.masters(&self.guaranteed, part),
        }
    }

    fn masters(&self, of: &Resource, part: f64) -> Resource {
        let mut most = self.rounded_up(of, part);
        if !self.dominant {
            most.0[1..].fill(i64::MAX);
        }
        most
    }

    /// Whether an amount fits into another one: its memory, or all of it.
    pub(crate) fn fits(&self, amount: &Resource, room: &Resource) -> bool {
        match self.dominant {
            true => amount.fits_in(room),
            false => amount[0] <= room[0],
        }
    }

    pub(crate) fn smaller(&self, a: Resource, b: Resource) -> Resource {
        match self.compare(&a, &b) {
            Ordering::Greater => b,
            _ => a,
        }
    }

    /// Compares by memory, or by dominant share and then by the next shares.
    fn compare(&self, a: &Resource, b: &Resource) -> Ordering {
        if !self.dominant {
            return a[0].cmp(&b[0]);
        }
        let shares = |amount: &Resource| {
            // Types that the cluster lacks are last and equal.
            let share = |i| share_of(amount, &self.cluster, i).unwrap_or(f64::MIN);
            let mut shares: [f64; RESOURCE_TYPES_MAX] = std::array::from_fn(share);
            shares.sort_by(|a, b| b.total_cmp(a));
            shares
        };
        let (a, b) = (shares(a), shares(b));
        let mut orders = a.iter().zip(&b).map(|(a, b)| a.total_cmp(b));
        orders
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    fn larger(&self, a: Resource, b: Resource) -> Resource {
        match self.compare(&a, &b) {
            Ordering::Less => b,
            _ => a,
        }
    }

    fn rounded_up(&self, amount: &Resource, factor: f64) -> Resource {
        let whole = |product: f64| match self.dominant {
            // Stock rounds up a number of 32 bits, in which 0.1 of 40960 is no more than 4096.
            true => f64::from(product as f32).ceil().max(0.0),
            false => (product + 0.5).floor(),
        };
        self.up_to_step(&map(amount, |i| whole(amount[i] as f64 * factor) as i64))
    }

    fn up_to_step(&self, amount: &Resource) -> Resource {
        map(amount, |i| match self.step[i] {
            step if step > 0 => amount[i].saturating_add(step - 1) / step * step,
            _ => amount[i],
        })
    }

    pub(crate) fn down_to_step(&self, amount: &Resource) -> Resource {
        map(amount, |i| match self.step[i] {
            step if step > 0 => amount[i] / step * step,
            _ => amount[i],
        })
    }
}

fn map(of: &Resource, f: impl Fn(usize) -> i64) -> Resource {
    let mut amounts = *of;
    for (i, amount) in amounts.0.iter_mut().enumerate() {
        *amount = f(i);
    }
    amounts
}

fn share_of(amount: &Resource, cluster: &Resource, i: usize) -> Option<f64> {
    (cluster[i] > 0).then(|| amount[i] as f64 / cluster[i] as f64)
}

/// A hundredth, rounded up.
fn hundredths(amount: i64) -> i64 {
    amount / 100 + i64::from(amount % 100 > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The leaf of section 4.5 of stock-capacity.md: 40 % of a cluster of 100 GB and 100 vcores,
    /// at most 80 %, 25 % for a user, factor 2.
    fn terms() -> Terms {
        Terms {
            rule: UserLimit {
                percent: 25.0,
                factor: Some(2.0),
            },
            cluster: Resource::new(102_400, 100),
            step: Resource::new(1_024, 1),
            guaranteed: Resource::new(40_960, 40),
            maximum: Resource::new(81_920, 80),
            dominant: true,
        }
    }

    /// u1 and u2 are active, u3 has no request.
    fn usage(terms: &Terms) -> Usage {
        let used = [(20_480, 20), (10_240, 10), (14_336, 14)];
        let used = used.map(|(memory_mb, vcores)| Resource::new(memory_mb, vcores));
        Usage {
            shares: used.iter().map(|used| terms.share(used)).sum(),
            active: used[0] + used[1],
            weight: 2.0,
        }
    }

    #[test]
    fn the_worked_example() {
        let terms = terms();
        let limit = terms.limit(&usage(&terms));
        assert_eq!(limit, Resource::new(16_384, 16));
        assert!(terms.is_over(&Resource::new(20_480, 20), &limit), "u1");
        assert!(!terms.is_over(&Resource::new(10_240, 10), &limit), "u2");
        assert!(!terms.is_over(&limit, &limit), "one more at the limit");
    }

    #[test]
    fn a_factor_below_the_part_of_a_user_decides() {
        let mut terms = terms();
        terms.rule.factor = Some(0.25);
        assert_eq!(terms.limit(&usage(&terms)), Resource::new(10_240, 10));
    }

    /// By hand: equally (20480 + 10240 + 1024) / 1 = 31744 MB and 31 vcores, below the leaf's
    /// maximum of 80 GB. Of 30000 MB 29696 are whole steps.
    #[test]
    fn without_a_factor_the_maximum_bounds() {
        let mut terms = terms();
        terms.rule.factor = None;
        let alone = Usage {
            weight: 1.0,
            ..usage(&terms)
        };
        assert_eq!(terms.limit(&alone), Resource::new(31_744, 31));
        terms.maximum = Resource::new(30_000, 30);
        assert_eq!(terms.limit(&alone), Resource::new(29_696, 30));
    }

    /// By hand: no user is active, so the percentage decides. Used is below the guarantee, and
    /// 25 % of 40 GB is 10 GB.
    #[test]
    fn an_idle_leaf_gives_the_percentage() {
        let terms = terms();
        let limit = terms.limit(&Usage::default());
        assert_eq!(limit, Resource::new(10_240, 10));
        // A user of weight 1.5 gets 15360/15, one of weight 0.33 3379 and 3.3, down to the step.
        assert_eq!(terms.of_user(&limit, 1.5), Resource::new(15_360, 15));
        assert_eq!(terms.of_user(&limit, 0.33), Resource::new(3_072, 3));
    }

    /// By hand, memory only: consumed 45056 is above the guarantee, so 25 % of 46080 is 11520;
    /// equally 31744 / 2 = 15872, up to 16384. Vcores do not compare.
    #[test]
    fn with_memory_alone_vcores_do_not_matter() {
        let mut terms = terms();
        terms.dominant = false;
        let limit = terms.limit(&usage(&terms));
        assert_eq!(limit.memory_mb(), 16_384);
        assert!(!terms.is_over(&Resource::new(16_384, 99), &limit));
        assert!(terms.is_over(&Resource::new(17_408, 1), &limit));
    }

    /// By hand: a guarantee of memory alone, 10 % of 30240 MB, up to whole smallest containers. The
    /// vcores of masters count nowhere.
    #[test]
    fn with_memory_alone_masters_are_limited_in_memory() {
        let mut terms = terms();
        terms.dominant = false;
        terms.guaranteed = Resource::new(30_240, 0);
        terms.rule.percent = 100.0;
        terms.rule.factor = Some(1.0);
        let most = terms.of_masters(0.1, 1, 1.0);
        assert!(Resource::new(3_072, 99).fits_in(&most));
        assert!(!Resource::new(3_073, 1).fits_in(&most));
    }

    /// By hand: a leaf of nothing has the step as its guarantee, and its maximum bounds the user.
    #[test]
    fn a_leaf_without_a_guarantee_is_bounded_by_its_maximum() {
        let mut terms = terms();
        terms.guaranteed = Resource::ZERO;
        terms.rule.percent = 100.0;
        let used = Resource::new(4_096, 4);
        let usage = Usage {
            shares: terms.share(&used),
            active: used,
            weight: 1.0,
        };
        // consumed = 4096/4, above the step: 5120/5; equally the same.
        assert_eq!(terms.limit(&usage), Resource::new(5_120, 5));
    }

    /// By hand: 10 % for masters of 40 GB, half of it for each of two users, doubled: 4 GB. A
    /// weight of 3 makes the half whole, not more. Without a factor it is a tenth of the leaf.
    #[test]
    fn masters_of_a_user_have_a_part_of_those_of_the_leaf() {
        let mut terms = terms();
        assert_eq!(terms.of_masters(0.1, 2, 1.0), Resource::new(4_096, 4));
        assert_eq!(terms.of_masters(0.1, 2, 3.0), Resource::new(8_192, 8));
        // The percentage is the least part, however many there are.
        assert_eq!(terms.of_masters(0.1, 9, 1.0), Resource::new(2_048, 2));
        terms.rule.factor = None;
        assert_eq!(terms.of_masters(0.1, 2, 1.0), Resource::new(4_096, 4));
    }

    /// Compares by dominant share, then by the other one, without a division.
    fn exactly(a: [i128; 2], b: [i128; 2], r: [i128; 2]) -> Ordering {
        let sorted = |v: [i128; 2]| {
            let mut shares = [v[0] * r[1], v[1] * r[0]];
            shares.sort_by(|a, b| b.cmp(a));
            shares
        };
        sorted(a).cmp(&sorted(b))
    }

    /// The steps of section 4.2 one after another, for memory and vcores, in whole numbers. Small
    /// ones, which 32 bits tell apart.
    /// `percent` is whole, `quarters` is the factor times four. Users are memory, vcores, active.
    fn by_the_book(
        r: [i128; 2],
        step: [i128; 2],
        cap: [i128; 2],
        most: [i128; 2],
        (percent, quarters): (i128, Option<i128>),
        users: &[(i128, i128, bool)],
    ) -> [i128; 2] {
        let up = |v: [i128; 2]| [0, 1].map(|i| (v[i] + step[i] - 1) / step[i] * step[i]);
        let down = |v: [i128; 2]| [0, 1].map(|i| v[i] / step[i] * step[i]);
        let orig = cap;
        let cap = if exactly(step, cap, r).is_gt() {
            step
        } else {
            cap
        };
        // The sum of the shares is `shares` / (r0 x r1).
        let shares: i128 = users.iter().map(|u| (u.0 * r[1]).max(u.1 * r[0])).sum();
        let consumed = up([0, 1].map(|i| (shares + r[1 - i] - 1) / r[1 - i]));
        let cur = match exactly(consumed, cap, r) {
            Ordering::Less => cap,
            _ => [0, 1].map(|i| consumed[i] + step[i]),
        };
        let active = || users.iter().filter(|user| user.2);
        let w = active().count() as i128;
        let u = [
            active().map(|user| user.0).sum::<i128>() + step[0],
            active().map(|user| user.1).sum::<i128>() + step[1],
        ];
        let x = if w == 0 {
            [0, 0]
        } else {
            u.map(|u| (u + w - 1) / w)
        };
        let y = cur.map(|cur| (cur * percent + 99) / 100);
        let fair = if exactly(y, x, r).is_gt() { y } else { x };
        let bound = match quarters {
            Some(quarters) if orig != [0, 0] => cap.map(|cap| cap * quarters / 4),
            _ => down(most),
        };
        up(if exactly(fair, bound, r).is_gt() {
            bound
        } else {
            fair
        })
    }

    proptest::proptest! {
        #[test]
        fn the_calculation_is_that_of_the_book(
            r in (100..4_000i64, 10..100i64),
            step in (1..64i64, 1..4i64),
            cap in (0..4_000i64, 0..100i64),
            most in (1..4_000i64, 1..100i64),
            percent in 1..=100i64,
            quarters in proptest::option::of(1..20i64),
            users in proptest::collection::vec((0..100i64, 0..10i64, proptest::bool::ANY), 0..8),
        ) {
            let resource = |(memory_mb, vcores)| Resource::new(memory_mb, vcores);
            let terms = Terms {
                rule: UserLimit {
                    percent: percent as f32,
                    factor: quarters.map(|quarters| quarters as f32 / 4.0),
                },
                cluster: resource(r),
                step: resource(step),
                guaranteed: resource(cap),
                maximum: resource(most),
                dominant: true,
            };
            let mut usage = Usage::default();
            for (memory_mb, vcores, active) in &users {
                let used = Resource::new(*memory_mb, *vcores);
                usage.shares += terms.share(&used);
                if *active {
                    usage.active += used;
                    usage.weight += 1.0;
                }
            }
            let wide = |(a, b): (i64, i64)| [i128::from(a), i128::from(b)];
            let users: Vec<(i128, i128, bool)> = users
                .iter()
                .map(|(a, b, active)| (i128::from(*a), i128::from(*b), *active))
                .collect();
            let rule = (i128::from(percent), quarters.map(i128::from));
            let expected = by_the_book(wide(r), wide(step), wide(cap), wide(most), rule, &users);
            let limit = terms.limit(&usage);
            let found = [limit.memory_mb(), limit.vcores()].map(i128::from);
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
