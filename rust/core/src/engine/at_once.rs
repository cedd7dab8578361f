//! Limits of grants before nodes report. Without them the first of several jobs that arrive
//! together would get the whole cluster.

use super::Engine;
use super::search::Pick;
use crate::config::Compare;
use crate::model::share_tree::ShareTree;
use crate::words::ids::{Millis, PartitionId};
use crate::words::keys::ShareNodeId;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// Age below which a job counts as young: others that arrived with it may not have asked yet.
pub(super) const YOUNG_MS: Millis = 1_000;

/// The part of its share that a young job gets at once.
const YOUNG_PART: i64 = 4;

/// Minimum limit of a job's grants at once, within its leaf's active share: one container, or eight
/// as far as these are a sixteenth of the cluster. Small jobs must not wait.
const SMALL: i64 = 8;
const SMALL_PART: i64 = 16;

/// One offer.
#[derive(Debug, Default)]
pub(super) struct AtOnce {
    /// How many containers it may still grant.
    pub(super) left: u32,
    /// Whether the ask that was next may get nothing more at once.
    pub(super) reached: bool,
    /// The steady share of the leaf that was looked at last, on the nodes of a label.
    steady: Option<(ShareNodeId, PartitionId, Resource)>,
}

impl AtOnce {
    pub(super) fn of(containers_max: u32) -> AtOnce {
        AtOnce {
            left: containers_max,
            ..AtOnce::default()
        }
    }

    /// Whether the offer may grant nothing more.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0 || self.reached
    }
}

impl Engine {
    /// Whether an offer may grant what a search has picked on a node of a label. A leaf gets at
    /// once at most its share among the active ones, and a job at most its part of that. A job that
    /// has just begun to ask gets a part of what the leaf would have if all queues were active.
    pub(super) fn admits_at_once(
        &self,
        pick: &Pick,
        label: PartitionId,
        at_once: &mut AtOnce,
    ) -> bool {
        let job = self.cluster.job(pick.job).expect("a pick is of a job");
        let ask = job.ask(pick.ask).expect("a pick is of an ask");
        let (size, tree) = (ask.facts.resource, self.tree_of(label));
        if ask.facts.am {
            let is_young = self.now - ask.waiting_since_ms < YOUNG_MS;
            return !is_young || admits_master(tree, job.leaf, &size);
        }
        let leaf = tree.node(job.leaf);
        let small = tree.capacity.divided(SMALL_PART);
        let small = small.component_min(&size.times(SMALL)).component_max(&size);
        let since_ms = job.offered_ms.unwrap_or(self.now);
        let (most, parts) = if self.now - since_ms < YOUNG_MS {
            let steady = match at_once.steady {
                Some((at, of, steady)) if (at, of) == (job.leaf, label) => steady,
                _ => steady_share(tree, job.leaf),
            };
            at_once.steady = Some((job.leaf, label, steady));
            (steady.component_max(&small), YOUNG_PART)
        } else {
            (leaf.active_share, 1)
        };
        let most = leaf.active_share.component_min(&most);
        let queue = self.cluster.queues.get(leaf.queue);
        let jobs = queue.map_or(1, |queue| i64::from(queue.runnable_jobs.max(1)));
        let part = most.divided(jobs.saturating_mul(parts));
        let part = part.component_max(&small).component_min(&most);
        let tasks = job.used - job.masters_used;
        self.is_within(&(leaf.used + size), &most) && self.is_within(&(tasks + size), &part)
    }

    /// Whether an amount is within a share. Some shares divide memory alone.
    fn is_within(&self, amount: &Resource, share: &Resource) -> bool {
        let types = if self.setup.config.memory_only {
            1
        } else {
            RESOURCE_TYPES_MAX
        };
        (0..types).all(|i| amount[i] <= share[i] || i > 0 && share[i] == 0)
    }
}

/// Whether an ApplicationMaster may start before others of the same second have come: the first of
/// its leaf, and any that its queues would have room for if all were active. In YARN's Capacity
/// Scheduler it makes no difference which queues are active.
fn admits_master(tree: &ShareTree, leaf: ShareNodeId, size: &Resource) -> bool {
    let node = tree.node(leaf);
    node.ams == 0
        || node.compared_by == Some(Compare::Capacity)
        || tree.masters_fit_in(leaf, size, |at| steady_share(tree, at))
}

/// A queue's share if all queues were active.
fn steady_share(tree: &ShareTree, queue: ShareNodeId) -> Resource {
    let path: Vec<ShareNodeId> = tree.path_up(queue).collect();
    let root = tree.node(ShareNodeId::ROOT);
    let all = tree.capacity.component_min(&root.max_share);
    let below = path.iter().rev().skip(1);
    below.fold(all, |share, at| {
        let node = tree.node(*at);
        if node.compared_by == Some(Compare::Capacity) {
            return node.guaranteed;
        }
        let parent = tree.node(node.parent.expect("it is below another"));
        let weights = parent.children.iter().map(|child| tree.node(*child).weight);
        let weights: f64 = weights.sum();
        let part = if weights > 0.0 {
            node.weight / weights
        } else {
            0.0
        };
        let share = share.scaled(part).component_max(&node.min_share);
        share.component_min(&node.max_share)
    })
}
