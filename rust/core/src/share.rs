//! The `share` stage: which queue is next, and what each is entitled to.
//!
//! One file per implementation, one line in `SHARES`. The tree, its usage and the order of its
//! children are kept by `ShareTree`; an implementation gives keys and entitlements.

mod behind;
mod drf;
pub mod dynamic_priority;
mod fair;
mod single;
mod tree;
mod waterfill;

pub use tree::{ShareNode, ShareNodeId, ShareTree};
pub use waterfill::{Claim, waterfill, waterfill_exact};

use crate::change::{Change, Stale, World};
use crate::cluster::Job;
use crate::config::Config;
use crate::explain::{Asked, Reason, Remedy};
use crate::resource::Resource;
use crate::types::{ContainerKey, JobId, Millis, TIME_MAX_MS};
use dynamic_priority::authority::Spending;
use dynamic_priority::ledger::Ledger;
use serde_json::Value;

/// A child's place among its siblings; the smaller is served first. Ties go to the smaller id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareKey {
    /// 0 for those below their minimum share, 1 for the others.
    pub class: u8,
    /// How much of what it should have it has; a non-negative `f64` by its bits, which order
    /// as the numbers do. Or the first arrival.
    pub ratio: u64,
}

impl ShareKey {
    /// A key from a ratio of at least 0.
    pub fn new(class: u8, ratio: f64) -> ShareKey {
        ShareKey {
            class,
            ratio: ratio.max(0.0).to_bits(),
        }
    }

    /// A key by the time of an arrival, then the job (ids have 20 bits, times up to 43).
    pub fn by_arrival(class: u8, (submitted_ms, job): (Millis, JobId)) -> ShareKey {
        let submitted_ms = submitted_ms.clamp(0, TIME_MAX_MS) as u64;
        ShareKey {
            class,
            ratio: submitted_ms << 20 | u64::from(job.0),
        }
    }
}

/// What the tree of shares looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One leaf holds all jobs.
    Single,
    /// The tree of queues.
    Queues,
    /// Every queue stands below the root, whatever its path.
    Flat,
}

/// A container that a share takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The job that owns it.
    pub job: JobId,
    /// The container.
    pub key: ContainerKey,
}

/// Which queue is next.
pub trait Share: Send {
    /// What the tree of shares looks like. Fixed while the engine lives.
    fn layout(&self) -> Layout;

    /// The key of a node among its siblings. `capacity` is all that the cluster has.
    fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey;

    /// What every node is entitled to, given their demands: fills `fair_share`
    /// and `active_share`.
    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource);

    /// Takes note of what happened, and says whether keys changed.
    fn note(&mut self, _change: &Change<'_>, _world: &World<'_>, _stale: &mut Stale) {}

    /// Whether leaves keep `ShareNode::first_arrival`.
    fn by_arrival(&self) -> bool {
        false
    }

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

/// One implementation of the stage.
pub struct ShareEntry {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// Makes it.
    pub build: fn(&Config) -> Box<dyn Share>,
}

/// Every share, in the order of the tables made from it.
pub const SHARES: &[ShareEntry] = &[
    single::ENTRY,
    fair::ENTRY,
    drf::ENTRY,
    dynamic_priority::ENTRY,
];

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    SHARES.iter().map(|entry| entry.name).collect()
}
