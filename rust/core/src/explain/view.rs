//! Gives explanations the engine's books as they are, and the engine's own answers where a copy of
//! a rule could differ from the rule.

use super::Names;
use crate::backlog::{Backlog, Entry, Line, Reservation, ShapeSize};
use crate::model::change::World;
use crate::model::cluster::{Cluster, Node};
use crate::model::job::{Ask, Job};
use crate::model::queue::Spares;
use crate::model::share_tree::ShareTree;
use crate::model::wait::{Ahead, Remedy, UserBound};
use crate::stage::order::Order;
use crate::stage::place::Place;
use crate::stage::share::Share;
use crate::words::ids::{AskId, JobId, Millis, NodeId, PartitionId};
use crate::words::keys::{POOLS, ShapeId, ShareNodeId};
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// Where a search looks: everywhere by default.
#[derive(Clone, Copy, Default)]
pub(crate) struct Look<'a> {
    /// With these shares instead of those in force.
    pub(crate) shares: Option<&'a Supposed>,
    /// Leaves out those asks, as if they stood behind the others.
    pub(crate) without: Option<&'a dyn Fn(&Entry) -> bool>,
}

/// The shares for a label's nodes as they would be.
pub(crate) struct Supposed {
    pub(crate) tree: ShareTree,
    /// The stage, if that would be another one.
    pub(crate) share: Option<Box<dyn Share>>,
}

/// The ask that a search finds on a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub(crate) job: JobId,
    pub(crate) ask: AskId,
    /// Whether the order of keys led to it; otherwise the order or the place stage preferred it on
    /// this node.
    pub(crate) by_key: bool,
    pub(crate) node: NodeId,
}

/// Answers that the search and preemption give themselves.
pub(crate) trait Answers {
    /// Returns the ask that the node serves next, if there were room for a container of `size`.
    fn next_on(&self, node: &Node, size: &ShapeSize, look: Look<'_>) -> Option<Next>;

    /// Returns the shares for a label's nodes as they would be with one more node of that room, and
    /// if a queue had another weight.
    fn supposed(
        &self,
        label: PartitionId,
        node: Option<&Resource>,
        weight: Option<(ShareNodeId, f64)>,
    ) -> Supposed;

    /// Returns the jobs with asks in the leaf of one that stand before it and that the node may
    /// serve, if there were room for `size`. Counts up to `most` asks of each size.
    fn ahead_on(
        &self,
        node: &Node,
        size: &ShapeSize,
        waiting: (&Job, &Ask),
        most: u32,
    ) -> Option<Ahead>;

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

    /// Returns a setting with which an ask that its user's limit holds would go on, after one of
    /// `before` for others.
    fn user_remedy(&self, job: &Job, ask: &Ask, before: &[Resource]) -> Option<Remedy>;
}

/// Counts the asks of other jobs in `lines` that stand before one, as far as they count. Looks at
/// up to `most` in each.
pub(crate) fn count_ahead<'a>(
    cluster: &Cluster,
    lines: impl Iterator<Item = (&'a ShapeId, &'a Line)>,
    mine: &Entry,
    most: u32,
    counts: impl Fn(&Entry, &Ask) -> bool,
) -> Option<Ahead> {
    let mut jobs = BTreeSet::new();
    let (mut tasks, mut more) = (0u32, false);
    let mut first: Option<Entry> = None;
    for (_, line) in lines {
        let before = line.before(*mine).filter(|entry| entry.job != mine.job);
        for (n, entry) in before.enumerate() {
            if n as u32 == most {
                more = true;
                break;
            }
            let ask = cluster.job(entry.job).and_then(|job| job.ask(entry.ask));
            let ask = ask.expect("indexed asks are there");
            if counts(&entry, ask) {
                jobs.insert(entry.job);
                tasks = tasks.saturating_add(ask.facts.count);
                first = first.filter(|first| *first < entry).or(Some(entry));
            }
        }
    }
    Some(Ahead {
        jobs: jobs.len() as u32,
        tasks,
        first: first?.job,
        more,
    })
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
