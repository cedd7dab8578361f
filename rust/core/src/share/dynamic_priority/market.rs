//! The market's side of the stage: passes, admission, reclaiming and requests. Delegates all
//! calculations.

use super::{DynamicPriority, reclaim};
use crate::model::change::{Stale, World};
use crate::model::job::Job;
use crate::model::share_tree::ShareNode;
use crate::model::wait::Reason;
use crate::stage::market::Market;
use crate::words::credits::Spending;
use crate::words::ids::Millis;
use crate::words::keys::{POOLS, Pass, Reclaimed, ShareNodeId, Victim};
use crate::words::ledger::Ledger;
use serde_json::Value;

impl Market for DynamicPriority {
    /// Fills leaves with quota left first, then in order of the first arrival (DP-21).
    fn passes(&self) -> &'static [Pass] {
        const QUOTA: Pass = Pass {
            within_quota: true,
            class_max: 0,
            ..Pass::ALL
        };
        const ARRIVAL: Pass = Pass {
            by_ratio: true,
            ..Pass::ALL
        };
        &[QUOTA, ARRIVAL]
    }

    /// Admits only within the quota of the pool in the first pass. An ApplicationMaster takes room,
    /// but no slot: it needs a leaf with any quota left.
    fn admits(&self, leaf: ShareNodeId, node: &ShareNode, pool: Option<usize>, pass: Pass) -> bool {
        match (pass.within_quota, pool) {
            (true, Some(pool)) => self
                .leaves
                .get(leaf.index())
                .is_some_and(|leaf| leaf.meter.below_quota(pool, node.running[pool])),
            (true, None) => self.has_quota_left(leaf.index(), node),
            _ => true,
        }
    }

    fn affords(&self, job: &Job, pass: Pass, now: Millis) -> bool {
        !pass.within_quota || self.can_pay(job, now)
    }

    fn spending(&self, job: &Job, now: Millis) -> Option<Spending> {
        self.spent(job, now)
    }

    fn unpaid(&self, job: &Job, now: Millis) -> Option<Reason> {
        self.unpaid_reason(job, now)
    }

    fn quota(&self, leaf: ShareNodeId, pool: usize) -> Option<u32> {
        self.leaves
            .get(leaf.index())
            .map(|leaf| leaf.meter.quota[pool])
    }

    /// Begins a round once per `reclaim_interval_ms`. The round ends when there are no victims to
    /// take.
    fn reclaim(&mut self, world: &World<'_>) -> Vec<Reclaimed> {
        let interval_ms = self.settings.reclaim_interval_ms;
        if interval_ms == 0 {
            return Vec::new();
        }
        if world.now >= self.reclaim_at {
            self.reclaiming = true;
            self.reclaim_at = world.now + interval_ms;
        }
        if !self.reclaiming {
            return Vec::new();
        }
        let mut taken = Vec::new();
        for pool in 0..POOLS {
            let holdings = self.holdings(world, pool);
            let idle = DynamicPriority::idle(world, self.slots, pool);
            let victims = reclaim::victims(&holdings, idle, self.settings.victims);
            let missing = reclaim::needed(&holdings, idle).min(victims.len() as u64) as u32;
            let victims = victims.into_iter().map(|(job, key)| Victim { job, key });
            taken.push(Reclaimed {
                victims: victims.collect(),
                claims: self.claims(&holdings, pool),
                missing,
                for_others: false,
            });
        }
        self.reclaiming = taken.iter().any(|taken| !taken.victims.is_empty());
        taken
    }

    fn meter(&mut self, world: &World<'_>) {
        self.read_meters(world);
    }

    fn control(
        &mut self,
        op: &str,
        request: &Value,
        world: &World<'_>,
        stale: &mut Stale,
    ) -> Option<Result<Value, String>> {
        self.read_meters(world);
        self.serve(op, request, world, stale)
    }

    fn keep_ledger(&mut self) {
        self.ledger.keep();
        for (name, account) in self.accounts.iter() {
            self.ledger
                .note_account(name, [account.budget, account.rate, account.income]);
        }
    }

    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}
