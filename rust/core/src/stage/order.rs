//! The `order` stage: which job inside a leaf of the tree of shares is next.

use super::common::Stage;
use super::entry::Entry;
use crate::model::change::World;
use crate::model::cluster::Node;
use crate::model::job::Job;
use crate::model::wait::{Measure, OrderLimit};
use crate::words::ids::JobId;
use crate::words::keys::{OrderKey, Reclaimed, ShareNodeId};
use crate::words::kind::Kind;

/// Which job is next.
pub trait Order: Stage + Send {
    /// The place of the job's tasks of one kind. Asked when the job is added or changes, and
    /// whenever the stage declares it stale.
    fn key(&self, job: &Job, kind: Kind) -> OrderKey;

    /// Whether each container of a job in the leaf changes its keys.
    fn follows_usage(&self, _leaf: ShareNodeId) -> bool {
        false
    }

    /// Whether one more task of this kind may start. While not, the job's asks of the kind are
    /// out of the backlog. Asked when `key` is.
    fn admits(&self, _job: &Job, _kind: Kind) -> bool {
        true
    }

    /// Why `admits` says no.
    fn held(&self, _job: &Job, _kind: Kind, _world: &World<'_>) -> OrderLimit {
        OrderLimit::Unsaid
    }

    /// The number that the job's place by `key` goes by, for explanations, if it is one number.
    fn measure(&self, _job: &Job, _kind: Kind) -> Option<Measure> {
        None
    }

    /// Fills `jobs` with those to try first on the node for the slots of a pool, in order, before
    /// all keys. They should be few: the engine tries them one by one.
    fn nominate(&self, _node: &Node, _pool: usize, _jobs: &mut Vec<JobId>) {}

    /// Whether `nominate` may name jobs at all.
    fn nominates(&self) -> bool {
        false
    }

    /// How many slots of the pool the node may use now, if fewer than it has: other workloads than
    /// YARN's may take some. None for all.
    fn slots(&self, _node: &Node, _pool: usize) -> Option<u32> {
        None
    }

    /// Whether the jobs of the leaf run all at once in equal parts, rather than one after the other
    /// by their keys. For predictions.
    fn shares_equally(&self, _leaf: ShareNodeId) -> bool {
        false
    }

    /// Containers to take back because their slots go to others. Called on every tick.
    fn reclaim(&mut self, _world: &World<'_>) -> Vec<Reclaimed> {
        Vec::new()
    }
}

/// One order of the catalogue.
pub(crate) type OrderEntry = Entry<dyn Order>;
