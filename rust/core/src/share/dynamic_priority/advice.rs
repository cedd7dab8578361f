//! Advice for a queue's owner before bidding: the present cost of slots, and how long the budget
//! lasts (DP-27, DP-44 to DP-48). Reads the market; places no bid.

use super::DynamicPriority;
use super::account::Account;
use super::control::{finish, opened, queue, said};
use super::quota::{least_bid, slots_at};
use crate::model::change::World;
use crate::words::credits::Credits;
use crate::words::keys::POOLS;
use serde_json::{Value, json};

const HOUR_MS: i128 = 3_600_000;

impl DynamicPriority {
    /// Returns the least bid that buys `slots` slots of `pool` at the next interval, if the others
    /// keep their bids. Adds its cost and how long the budget would last.
    pub(super) fn advise(&self, request: &Value, world: &World<'_>) -> Result<Value, String> {
        let mut section = opened(request)?;
        let name = queue(&mut section)?;
        let wanted = said(section.whole("slots", 1, i64::from(u32::MAX)))?
            .ok_or("key `slots`: expected the number of slots wanted, from 1")?;
        let pool = said(section.whole("pool", 0, POOLS as i64 - 1))?.unwrap_or(0) as usize;
        finish(section)?;
        let account = self.accounts.get(&name);
        let account =
            account.ok_or("key `queue`: there is no account of that queue; add it first")?;
        let leaf = self.leaves.iter().position(|leaf| leaf.name == name);
        let wanted = wanted as u32;
        let slots = self.slots[pool];
        let mut answer = json!({
            "queue": name,
            "slots": wanted,
            "pool": pool,
            "cluster_slots": slots,
            "quota": account.quotas()[pool],
            "budget_micro": account.budget.micro(),
            "spending_rate": account.rate.to_number(),
            "price": self.accounts.price().to_number(),
            "now": self.projection(leaf, account, world),
            "bid": null,
        });
        if wanted > slots {
            let why = format!("the cluster has {slots} slots of that kind");
            answer["why"] = json!(why);
            return Ok(answer);
        }
        let (names, bids, owed) = self.next_bids(&name, pool, world);
        let me = names.iter().position(|other| *other == name);
        let me = me.expect("the asked queue has an account, so it is among the bidders");
        let rounding = self.settings.policy.rounding;
        // A bid of 0 buys nothing, even if slots are free.
        let bid = least_bid((&bids, &owed), me, slots, rounding, wanted);
        let bid = bid.map(|bid| bid.max(Credits::from_micro(1)));
        let Some(bid) = bid else {
            answer["why"] = json!("no bid buys that many slots while the others keep their bids");
            return Ok(answer);
        };
        let given = slots_at((&bids, &owed), me, slots, rounding, bid);
        let others = bids.iter().enumerate().filter(|(i, _)| *i != me);
        let price = others.fold(bid, |sum, (_, other)| sum + *other);
        answer["bid"] = json!(bid.to_number());
        answer["bid_micro"] = json!(bid.micro());
        answer["slots_given"] = json!(given);
        answer["price_then"] = json!(price.to_number());
        answer["unpaid"] = json!(account.budget < bid);
        answer["then"] = self.lasting(account, bid, i128::from(given));
        if let Some((_, ends)) = self.interval {
            answer["counts_in_ms"] = json!((ends - world.now).max(0));
        }
        Ok(answer)
    }

    /// Returns a queue's spending on the slots in use now, and the end of its budget.
    pub(super) fn projection(
        &self,
        leaf: Option<usize>,
        account: &Account,
        world: &World<'_>,
    ) -> Value {
        let running = leaf.map_or([0; POOLS], |leaf| {
            let node = world
                .tree
                .node(crate::words::keys::ShareNodeId(leaf as u32));
            let meter = &self.leaves[leaf].meter;
            std::array::from_fn(|pool| meter.paying(pool, node.running[pool]))
        });
        let quotas = account.quotas();
        let charged = |pool: usize| match self.beyond() {
            true => running[pool],
            false => running[pool].min(quotas[pool]),
        };
        let slots: i128 = (0..POOLS).map(|pool| i128::from(charged(pool))).sum();
        let rate = account.grant.map_or(Credits::ZERO, |grant| grant.rate);
        self.lasting(account, rate, slots)
    }

    /// Returns the credits per hour for slots at a rate, and the milliseconds until the budget is
    /// empty; null if income covers the cost.
    fn lasting(&self, account: &Account, rate: Credits, slots: i128) -> Value {
        let unit_ms = i128::from(self.settings.allocation_interval_ms.max(1));
        let hourly = slots * i128::from(rate.micro()) * HOUR_MS / unit_ms;
        let net = hourly - i128::from(account.income.micro());
        let ends_in_ms = (net > 0).then(|| i128::from(account.budget.micro()) * HOUR_MS / net);
        let ends_in_ms = ends_in_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        json!({
            "spends_per_hour": hourly as f64 / 1e6,
            "income_per_hour": account.income.to_number(),
            "ends_in_ms": ends_in_ms,
        })
    }
}
