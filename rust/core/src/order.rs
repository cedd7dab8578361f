//! The `order` stage: which job inside a leaf of the tree of shares is next.
//!
//! One file per implementation, one line in `ORDERS`; the configuration, the simulator and the
//! documents follow from the list.

pub mod deficit;
mod fifo;
pub mod hfsp;
mod line;
pub mod reverse_adaptive;

use crate::change::{Change, Stale, World};
use crate::cluster::{Job, Kind, Node};
use crate::config::Config;
use crate::explain::{Held, Measure};
use crate::share::Victim;
use crate::types::JobId;
use serde_json::Value;

/// A job's place in its leaf's order; the smaller is served first. Ties go to the smaller job id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderKey(pub i64, pub i64);

impl OrderKey {
    /// Before every other key.
    pub const FIRST: OrderKey = OrderKey(i64::MIN, i64::MIN);
}

/// Which job is next.
pub trait Order: Send {
    /// The place of the job's tasks of one kind. Asked when the job is added or changes, and
    /// whenever the stage calls it stale.
    fn key(&self, job: &Job, kind: Kind) -> OrderKey;

    /// Takes note of what happened, and says whose answers changed.
    fn note(&mut self, _change: &Change<'_>, _world: &World<'_>, _stale: &mut Stale) {}

    /// Whether one more task of this kind may start. While not, the job's asks of the kind are
    /// out of the backlog. Asked when `key` is.
    fn admits(&self, _job: &Job, _kind: Kind) -> bool {
        true
    }

    /// Why `admits` says no.
    fn held(&self, _job: &Job, _kind: Kind, _world: &World<'_>) -> Held {
        Held::Unsaid
    }

    /// What the job's place by `key` is measured by, in words for people, if in one number.
    fn measure(&self, _job: &Job, _kind: Kind) -> Option<Measure> {
        None
    }

    /// Fills `jobs` with those to be tried first on the node for the slots of a pool, in order,
    /// before all keys. To be kept few: they are tried one by one.
    fn nominate(&self, _node: &Node, _pool: usize, _jobs: &mut Vec<JobId>) {}

    /// How many slots of the pool the node may use now, if fewer than it has: what a workload
    /// that is not YARN's takes is not there to be given out. None for all.
    fn slots(&self, _node: &Node, _pool: usize) -> Option<u32> {
        None
    }

    /// Whether the jobs of a leaf run all at once in equal parts, rather than one after the other
    /// by their keys. For predictions.
    fn shares_equally(&self) -> bool {
        false
    }

    /// Containers to be taken back, as their slots are to be another's. Asked on every tick.
    fn reclaim(&mut self, _world: &World<'_>) -> Vec<Victim> {
        Vec::new()
    }

    /// Whether asks are to have those slots, so that what would serve none of them stays.
    fn reclaims_for_asks(&self) -> bool {
        true
    }

    /// What it has learnt, for reports and for the stage that replaces it in a reload.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Takes over what an earlier one of the same name learnt. What it cannot read it ignores.
    fn load(&mut self, _saved: &Value) {}
}

/// One implementation of the stage.
pub struct OrderEntry {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// Makes it.
    pub build: fn(&Config) -> Box<dyn Order>,
}

/// Every order, in the order of the tables made from it.
pub const ORDERS: &[OrderEntry] = &[
    fifo::ENTRY,
    deficit::ENTRY,
    hfsp::ENTRY,
    reverse_adaptive::ENTRY,
];

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    ORDERS.iter().map(|entry| entry.name).collect()
}
