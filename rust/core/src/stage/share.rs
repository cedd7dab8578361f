//! The `share` stage: which queue is next, and what each is entitled to.
//!
//! `ShareTree` keeps the tree, its usage and the order of its children; an implementation gives
//! keys and entitlements.

use super::behind;
use super::entry::Entry;
use crate::explain::{Asked, Reason, Remedy};
use crate::model::change::{Change, Stale, World};
use crate::model::job::Job;
use crate::model::share_tree::{Keys, ShareNode, ShareTree};
use crate::words::credits::Spending;
use crate::words::ids::Millis;
use crate::words::keys::{Layout, ShareNodeId, Victim};
use crate::words::ledger::Ledger;
use crate::words::resource::Resource;
use serde_json::Value;

/// Which queue is next.
pub trait Share: Keys + Send {
    /// What the tree of shares looks like. Fixed while the engine lives.
    fn layout(&self) -> Layout;

    /// What every node is entitled to, given their demands: fills `fair_share`
    /// and `active_share`.
    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource);

    /// Takes note of what happened, and says whether keys changed.
    fn note(&mut self, _change: &Change<'_>, _world: &World<'_>, _stale: &mut Stale) {}

    /// How many times the tree is searched for a node before it is left alone.
    fn passes(&self) -> u8 {
        1
    }

    /// Whether a leaf may take one more slot of a pool (none: an ApplicationMaster) in a pass.
    /// A child whose key has a higher class than `class_max` is not visited in that pass.
    fn admits(
        &self,
        _leaf: ShareNodeId,
        _node: &ShareNode,
        _pool: Option<usize>,
        _pass: u8,
    ) -> bool {
        true
    }

    /// Whether what a job may spend lets it take one more slot in a pass. Asked only of jobs that
    /// have an authority, when it is their turn.
    fn affords(&self, _job: &Job, _pass: u8, _now: Millis) -> bool {
        true
    }

    /// See `admits`.
    fn class_max(&self, _pass: u8) -> u8 {
        u8::MAX
    }

    /// Whether a pass visits siblings in order of their ratios alone, whatever their class.
    fn ignores_class(&self, _pass: u8) -> bool {
        false
    }

    /// Containers to be taken back now; asked on every tick. The engine leaves out what it does
    /// not know, ApplicationMasters, and what is going already.
    fn reclaim(&mut self, _world: &World<'_>) -> Vec<Victim> {
        Vec::new()
    }

    /// Why an ask for which there is no room would not be the next to be served, because of its
    /// queue; none if its queue is next. Asked only of asks that no limit holds.
    fn explain(&self, asked: &Asked<'_>, world: &World<'_>) -> Option<Reason> {
        behind::behind(asked, world, |_| 0)
    }

    /// What would change what `explain` said.
    fn remedies(&self, _asked: &Asked<'_>, _world: &World<'_>) -> Vec<Remedy> {
        Vec::new()
    }

    /// How many slots of a pool a leaf pays for, if it pays for slots.
    fn quota(&self, _leaf: ShareNodeId, _pool: usize) -> Option<u32> {
        None
    }

    /// What a job that has an authority has spent of it, and why it may spend no more.
    fn spending(&self, job: &Job, _now: Millis) -> Option<Spending> {
        let spent = job.authority?.spent;
        let exhausted = None;
        Some(Spending { spent, exhausted })
    }

    /// Serves a request of the control plane, if it is one of this share's.
    fn control(
        &mut self,
        _op: &str,
        _request: &Value,
        _world: &World<'_>,
        _stale: &mut Stale,
    ) -> Option<Result<Value, String>> {
        None
    }

    /// Notes all accounts, and from now on what happens to them, in `ledger`.
    fn keep_ledger(&mut self) {}

    /// What happens to accounts, for hosts that keep books; none if there are no accounts.
    fn ledger(&mut self) -> Option<&mut Ledger> {
        None
    }

    /// What outlives the engine in the same books, though it is about jobs: keys, and small JSON
    /// values as text; what changed since this was last asked.
    fn lessons(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Takes over what `lessons` of an earlier engine gave; false if it is not this stage's.
    fn restore_lesson(&mut self, _key: &str, _value: &Value) -> bool {
        false
    }

    /// Whether a queue that has been empty for long must stay, as an account goes with it.
    fn keeps_queues(&self) -> bool {
        false
    }

    /// What it must not lose, for reports and for the stage that replaces it in a reload.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Takes over what an earlier one of the same name held. What it cannot read it ignores.
    fn load(&mut self, _saved: &Value) {}
}

/// One share of the catalogue.
pub type ShareEntry = Entry<dyn Share>;
