//! What queues and jobs pay: the market's side of the stage. Works nothing out by itself.

use super::DynamicPriority;
use crate::model::change::{Stale, World};
use crate::model::job::Job;
use crate::stage::market::Market;
use crate::words::credits::Spending;
use crate::words::ids::Millis;
use crate::words::keys::{Pass, ShareNodeId};
use crate::words::ledger::Ledger;
use serde_json::Value;

impl Market for DynamicPriority {
    fn affords(&self, job: &Job, pass: Pass, now: Millis) -> bool {
        !pass.within_quota || self.can_pay(job, now)
    }

    fn spending(&self, job: &Job, now: Millis) -> Option<Spending> {
        self.spent(job, now)
    }

    fn quota(&self, leaf: ShareNodeId, pool: usize) -> Option<u32> {
        self.leaves
            .get(leaf.index())
            .map(|leaf| leaf.meter.quota[pool])
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
