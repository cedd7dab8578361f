//! The answers of a share that sells slots, besides which queue is next: payments of queues and
//! jobs, and the slots that these buy. The queues of a market stay when they are empty, because
//! accounts belong to them.

use crate::model::change::{Stale, World};
use crate::model::job::Job;
use crate::model::share_tree::ShareNode;
use crate::model::wait::Reason;
use crate::words::credits::Spending;
use crate::words::ids::Millis;
use crate::words::keys::{Pass, Reclaimed, ShareNodeId};
use crate::words::ledger::Ledger;
use serde_json::Value;

/// A market of slots.
pub trait Market {
    /// The passes over the tree for a node, in turn. The search ends at the first ask that is
    /// found.
    fn passes(&self) -> &'static [Pass];

    /// Whether a leaf may take one more slot of a pool (none: an ApplicationMaster) in a pass.
    fn admits(&self, leaf: ShareNodeId, node: &ShareNode, pool: Option<usize>, pass: Pass) -> bool;

    /// Whether a job's authority lets it take one more slot in a pass. Asked only of jobs that have
    /// an authority, when it is their turn.
    fn affords(&self, job: &Job, pass: Pass, now: Millis) -> bool;

    /// Returns the spending of a job that has an authority, and why it may spend no more.
    fn spending(&self, job: &Job, now: Millis) -> Option<Spending>;

    /// Why nobody pays for a job that has an authority: it gets only what is left over.
    fn unpaid(&self, job: &Job, now: Millis) -> Option<Reason>;

    /// How many slots of a pool a leaf pays for.
    fn quota(&self, leaf: ShareNodeId, pool: usize) -> Option<u32>;

    /// Containers to take back now; called on every tick. The engine leaves out unknown ones,
    /// ApplicationMasters, and those that it has evicted already.
    fn reclaim(&mut self, world: &World<'_>) -> Vec<Reclaimed>;

    /// Counts the use of slots up to now; called before `save`.
    fn meter(&mut self, world: &World<'_>);

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

    /// The record of what happens to accounts, for hosts that keep books.
    fn ledger(&mut self) -> &mut Ledger;
}
