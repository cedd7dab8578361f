//! Gives explanations the engine's books as they are, and the engine's own answers where a copy of
//! a rule could differ from the rule.

use super::Names;
use crate::backlog::{Backlog, Reservation};
use crate::model::change::World;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job};
use crate::stage::order::Order;
use crate::stage::place::Place;
use crate::stage::share::Share;
use crate::words::ids::{NodeId, QueueId};
use crate::words::keys::POOLS;
use std::collections::BTreeMap;

/// Answers that the search and preemption give themselves.
pub(crate) trait Answers {
    /// Returns by pool whether the node has no slot left.
    fn full_pools(&self, node: &Node) -> [bool; POOLS];

    /// Returns, for an ask without room, the queue above its share with the most containers that
    /// preemption spares. None if queues do not preempt each other.
    fn spared(&self, waiting: &Job, ask: &Ask) -> Option<QueueId>;
}

/// An engine as explanations see it.
pub(crate) struct View<'a> {
    pub(crate) world: World<'a>,
    pub(crate) backlog: &'a Backlog,
    /// Nodes that are held for an ask.
    pub(crate) holds: &'a BTreeMap<NodeId, Reservation>,
    pub(crate) share: &'a dyn Share,
    pub(crate) order: &'a dyn Order,
    pub(crate) place: &'a dyn Place,
    pub(crate) answers: &'a dyn Answers,
    /// Names of the resource types.
    pub(crate) resource_types: &'a [String],
}

impl View<'_> {
    /// The names that sentences use.
    pub(crate) fn names(&self) -> Names<'_> {
        Names {
            queues: &self.world.cluster.queues,
            resource_types: self.resource_types,
            now: self.world.now,
        }
    }
}
