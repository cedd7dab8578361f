//! Gives explanations the engine's books as they are, and the engine's own answers where a copy of
//! a rule could differ from the rule.

use super::Names;
use crate::backlog::{Backlog, Reservation};
use crate::model::change::World;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job};
use crate::model::queue::Spares;
use crate::model::wait::{Remedy, UserBound};
use crate::stage::order::Order;
use crate::stage::place::Place;
use crate::stage::share::Share;
use crate::words::ids::{JobId, Millis, NodeId, PartitionId};
use crate::words::keys::POOLS;
use crate::words::resource::Resource;
use std::collections::BTreeMap;

/// Answers that the search and preemption give themselves.
pub(crate) trait Answers {
    /// Returns by pool whether the node has no slot left.
    fn full_pools(&self, node: &Node) -> [bool; POOLS];

    /// Returns until when room of a node is promised to other asks, if there would be room for this
    /// one else.
    fn promised(&self, node: &Node, size: &Resource) -> Option<Millis>;

    /// Returns a node whose room is promised to a job.
    fn promised_to(&self, job: JobId) -> Option<NodeId>;

    /// Returns, for an ask without room, the queue above its share of which preemption spares the
    /// most memory. None if queues do not preempt each other.
    fn spared(&self, waiting: &Job, ask: &Ask) -> Option<Spares>;

    /// Returns what the user of a job has in its leaf on the nodes of a label and may have there,
    /// if that is limited: of everything, or of ApplicationMasters.
    fn user_bound(&self, job: &Job, label: PartitionId, masters: bool) -> Option<UserBound>;

    /// Returns a setting with which an ask that its user's limit holds would go on.
    fn user_remedy(&self, job: &Job, ask: &Ask) -> Option<Remedy>;
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

impl<'a> View<'a> {
    /// The same view with the shares of the nodes of an ask's label.
    pub(super) fn of_label(&self, partition: PartitionId) -> View<'a> {
        View {
            world: self.world.of_label(partition),
            ..*self
        }
    }

    /// The names that sentences use.
    pub(crate) fn names(&self) -> Names<'_> {
        Names {
            queues: &self.world.cluster.queues,
            resource_types: self.resource_types,
            now: self.world.now,
        }
    }
}
