//! What explanations read: the books of the engine as they are, and its own answers where a copy
//! of a rule could differ from the rule.

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

/// Answers of the search and of preemption.
pub(crate) trait Answers {
    /// Whether the node has no slot left, by pool.
    fn full_pools(&self, node: &Node) -> [bool; POOLS];

    /// For an ask without room: the queue above its share whose containers preemption spares, the
    /// one with most of them; none if queues do not preempt each other.
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
