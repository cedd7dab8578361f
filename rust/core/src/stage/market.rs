//! What a share that sells slots answers beside which queue is next: what queues and jobs pay.
//! Queues of a market stay when they are empty, for the accounts that go with them.

use crate::model::change::{Stale, World};
use crate::model::job::Job;
use crate::words::credits::Spending;
use crate::words::ids::Millis;
use crate::words::keys::{Pass, ShareNodeId};
use crate::words::ledger::Ledger;
use serde_json::Value;

/// A market of slots.
pub trait Market {
    /// Whether what a job may spend lets it take one more slot in a pass. Asked only of jobs that
    /// have an authority, when it is their turn.
    fn affords(&self, job: &Job, pass: Pass, now: Millis) -> bool;

    /// What a job that has an authority has spent of it, and why it may spend no more.
    fn spending(&self, job: &Job, now: Millis) -> Option<Spending>;

    /// How many slots of a pool a leaf pays for.
    fn quota(&self, leaf: ShareNodeId, pool: usize) -> Option<u32>;

    /// Serves a request of the control plane, if it is one of the market's.
    fn control(
        &mut self,
        op: &str,
        request: &Value,
        world: &World<'_>,
        stale: &mut Stale,
    ) -> Option<Result<Value, String>>;

    /// Notes all accounts, and from now on what happens to them, in `ledger`.
    fn keep_ledger(&mut self);

    /// What happens to accounts, for hosts that keep books.
    fn ledger(&mut self) -> &mut Ledger;
}
