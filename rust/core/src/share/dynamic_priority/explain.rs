//! Reasons why a queue's ask waits in the market, and the bid that would change it. Reads accounts
//! and quotas; changes neither.

use super::DynamicPriority;
use super::quota::{least_bid, slots_at};
use crate::model::change::World;
use crate::model::wait::{PendingAsk, Reason, Remedy};
use crate::stage::behind::Passed;
use crate::words::credits::Credits;

/// Number of digits in a suggested bid; more would be of no use.
const DIGITS: u32 = 3;

impl DynamicPriority {
    /// Returns the reason: no authority pays, the quota is used up, or another queue's job came
    /// first.
    pub(super) fn why(
        &self,
        asked: &PendingAsk<'_>,
        passed: &Passed,
        world: &World<'_>,
    ) -> Option<Reason> {
        let at = asked.job.leaf;
        let leaf = self.leaves.get(at.index())?;
        if let Some(unpaid) = self.unpaid_reason(asked.job, world.now) {
            return Some(unpaid);
        }
        passed.apart?;
        let node = world.tree.node(at);
        let pool = asked.pool.unwrap_or(0);
        let below = match asked.pool {
            Some(pool) => leaf.meter.below_quota(pool, node.running[pool]),
            None => self.has_quota_left(at.index(), node),
        };
        if below {
            return Some(Reason::Arrival {
                queue: node.queue,
                first: passed.job,
            });
        }
        let account = self.accounts.get(&leaf.name);
        let account = account.copied().unwrap_or_default();
        Some(Reason::Quota {
            queue: node.queue,
            used: leaf.meter.paying(pool, node.running[pool]),
            quota: leaf.meter.quota[pool],
            bid: account.grant.map_or(account.rate, |grant| grant.rate),
            budget: account.budget,
            price: self.accounts.price(),
        })
    }

    /// Returns the least bid that gives the queue more slots at the next interval: as many as the
    /// job can use, at most a quarter more, or else one. If the present bid buys more slots then,
    /// returns that interval instead.
    pub(super) fn better_bid(&self, asked: &PendingAsk<'_>, world: &World<'_>) -> Option<Remedy> {
        let at = asked.job.leaf;
        let leaf = self.leaves.get(at.index())?;
        let pool = asked.pool.unwrap_or(0);
        if leaf
            .meter
            .below_quota(pool, world.tree.node(at).running[pool])
        {
            return None;
        }
        let account = self.accounts.get(&leaf.name)?;
        let (names, bids, owed) = self.next_bids(&leaf.name, pool, world);
        let bids = (&bids[..], &owed[..]);
        let me = names.iter().position(|name| *name == leaf.name)?;
        let (slots, rounding) = (self.slots[pool], self.settings.policy.rounding);
        // Idle slots may have given it more than its quota.
        let running = leaf.meter.paying(pool, world.tree.node(at).running[pool]);
        let quota = leaf.meter.quota[pool].max(running);
        let coming = slots_at(bids, me, slots, rounding, account.rate);
        let pays = account.rate > Credits::ZERO && account.budget >= account.rate;
        if let (Some((_, at_ms)), true) = (self.interval, pays && coming > quota) {
            return Some(Remedy::Interval {
                at_ms,
                slots: coming - quota,
            });
        }
        let quarter = quota.div_ceil(4).max(1);
        let more = asked.job.pending_of(asked.kind).clamp(1, quarter);
        let bid_for = |more: u32| {
            let bid = least_bid(bids, me, slots, rounding, quota + more)?;
            Some((bid.max(Credits::from_micro(1)), more))
        };
        let (bid, more) = bid_for(more).or_else(|| bid_for(1))?;
        let rounded = rounded_up(bid);
        let given = slots_at(bids, me, slots, rounding, rounded);
        Some(Remedy::Bid {
            queue: world.tree.node(at).queue,
            bid,
            slots: more,
            rounded: (rounded, given.saturating_sub(quota)),
            unpaid: account.budget < rounded,
        })
    }

    /// Returns the bidders of the next interval as far as known now, in order of names. These are
    /// users with running or pending tasks that can pay for a slot (DP-4, DP-9, DP-14), and the
    /// asked queue. With their bids, and the fractions of slots of a pool that they are owed then.
    pub(super) fn next_bids(
        &self,
        asked: &str,
        pool: usize,
        world: &World<'_>,
    ) -> (Vec<&str>, Vec<Credits>, Vec<i64>) {
        let mut active: Vec<&str> = Vec::new();
        let dormant = self.dormant(world);
        for (i, leaf) in self.leaves.iter().enumerate() {
            if self.is_active(i, &dormant, world) {
                active.push(&leaf.name);
            }
        }
        active.sort_unstable();
        let bids = self.accounts.iter().filter(|(name, account)| {
            let pays = account.rate > Credits::ZERO && account.budget >= account.rate;
            *name == asked || (pays && active.binary_search(name).is_ok())
        });
        bids.map(|(name, account)| (name, account.rate, account.owed_next()[pool]))
            .collect()
    }
}

/// Rounds a bid up to a few digits.
fn rounded_up(bid: Credits) -> Credits {
    let micro = bid.micro();
    let digits = micro.max(1).ilog10() + 1;
    let step = 10_i64.pow(digits.saturating_sub(DIGITS));
    Credits::from_micro((micro + step - 1) / step * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bids_are_rounded_up_to_three_digits() {
        let rounded = |micro| rounded_up(Credits::from_micro(micro)).micro();
        assert_eq!(rounded(3_076_924), 3_080_000);
        assert_eq!(rounded(3_080_000), 3_080_000);
        assert_eq!(rounded(1), 1);
        assert_eq!(rounded(999_999), 1_000_000);
        assert_eq!(rounded(123_456_789_012), 124_000_000_000);
    }
}
