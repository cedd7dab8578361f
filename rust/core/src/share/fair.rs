//! Hierarchical weighted max-min fairness with minimum and maximum shares.
//!
//! Entitlements are worked out per resource type by water-filling. Between siblings, those
//! below their minimum share go first, then the one with the least usage per weight; usage is
//! memory, or the dominant share if so configured (Ghodsi et al., NSDI 2011).

use super::behind::{behind, heavier};
use super::{
    Claim, Layout, Share, ShareEntry, ShareKey, ShareNode, ShareNodeId, ShareTree, waterfill,
};
use crate::change::World;
use crate::explain::{Asked, Reason, Remedy};
use crate::resource::{RESOURCE_TYPES_MAX, Resource};

/// The line in the list of shares.
pub(super) const ENTRY: ShareEntry = ShareEntry {
    name: "fair",
    summary: "queues by weighted max-min with minimum and maximum shares, hierarchical",
    build: |config| {
        Box::new(Fair {
            dominant: config.dominant,
        })
    },
};

pub(super) struct Fair {
    pub(super) dominant: bool,
}

impl Share for Fair {
    fn layout(&self) -> Layout {
        Layout::Queues
    }

    fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey {
        let compared = self.compared(node, capacity);
        let (used, min_share) = (
            node.used[compared].max(0) as f64,
            node.min_share[compared] as f64,
        );
        if used < min_share {
            return ShareKey::new(0, used / min_share);
        }
        let usage = if self.dominant {
            node.used.dominant_share(capacity)
        } else {
            used
        };
        if node.weight > 0.0 {
            ShareKey::new(1, usage / node.weight)
        } else {
            // Its minimum is all that it has a right to: after everybody else (FS-22).
            ShareKey::new(2, usage)
        }
    }

    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource) {
        let root = tree.root_mut();
        root.fair_share = root.max_share.component_min(capacity);
        root.active_share = root.fair_share;
        // Parents come before children in the table, so one pass down suffices.
        for parent in tree.ids() {
            let children = tree.node(parent).children.clone();
            if children.is_empty() {
                continue;
            }
            let (fair, active) = (tree.node(parent).fair_share, tree.node(parent).active_share);
            let fair = divide(tree, &children, &fair, wanted);
            let active = divide(tree, &children, &active, allowed);
            for (i, child) in children.into_iter().enumerate() {
                let node = tree.node_mut(child);
                (node.fair_share, node.active_share) = (fair[i], active[i]);
            }
        }
    }

    fn explain(&self, asked: &Asked<'_>, world: &World<'_>) -> Option<Reason> {
        behind(asked, world, |node| {
            self.compared(node, &world.cluster.capacity)
        })
    }

    fn remedies(&self, asked: &Asked<'_>, world: &World<'_>) -> Vec<Remedy> {
        let compared = |node: &ShareNode| self.compared(node, &world.cluster.capacity);
        heavier(asked, world, compared, |parent, child, i, weight| {
            let mut claims = claims(world.tree, &parent.children, i, wanted);
            let me = parent.children.iter().position(|id| *id == child);
            let me = me.expect("a node is among its parent's children");
            claims[me].weight = weight;
            waterfill(parent.fair_share[i], &claims)[me]
        })
    }
}

impl Fair {
    /// The resource type by which a queue is compared with its siblings.
    pub(super) fn compared(&self, node: &ShareNode, capacity: &Resource) -> usize {
        if self.dominant {
            dominant_type(&node.used, capacity)
        } else {
            0
        }
    }
}

/// Shares out `total` between siblings, each resource type by itself, none more than `most`.
fn divide(
    tree: &ShareTree,
    siblings: &[ShareNodeId],
    total: &Resource,
    most: fn(&ShareNode) -> Resource,
) -> Vec<Resource> {
    let mut shares = vec![Resource::ZERO; siblings.len()];
    for i in 0..RESOURCE_TYPES_MAX {
        let claims = claims(tree, siblings, i, most);
        for (sibling, amount) in waterfill(total[i], &claims).into_iter().enumerate() {
            shares[sibling].0[i] = amount;
        }
    }
    shares
}

/// What siblings claim of one resource type.
fn claims(
    tree: &ShareTree,
    siblings: &[ShareNodeId],
    i: usize,
    most: fn(&ShareNode) -> Resource,
) -> Vec<Claim> {
    let claim = |id: &ShareNodeId| {
        let node = tree.node(*id);
        let most = most(node)[i].max(0);
        Claim {
            weight: node.weight,
            least: node.min_share[i].min(most),
            most,
        }
    };
    siblings.iter().map(claim).collect()
}

/// Nobody is given more than it has use for.
fn wanted(node: &ShareNode) -> Resource {
    node.demand.component_min(&node.max_share)
}

/// As if everybody who wants or has anything wanted everything.
fn allowed(node: &ShareNode) -> Resource {
    if node.demand.is_zero() {
        Resource::ZERO
    } else {
        node.max_share
    }
}

fn dominant_type(used: &Resource, capacity: &Resource) -> usize {
    let mut dominant = 0;
    let mut largest = -1.0;
    for i in 0..RESOURCE_TYPES_MAX {
        let share = if capacity[i] > 0 {
            used[i] as f64 / capacity[i] as f64
        } else {
            -1.0
        };
        if share > largest {
            (dominant, largest) = (i, share);
        }
    }
    dominant
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::QueueConfig;
    use crate::types::QueueId;

    fn node(weight: f64, min_mb: i64, used: Resource) -> ShareNode {
        let mut config = QueueConfig::new("root.q");
        config.weight = weight;
        config.min_share = Resource::new(min_mb, 0);
        let mut node = ShareNode::new(None, QueueId(0), &config);
        node.used = used;
        node
    }

    #[test]
    fn the_needy_go_first_then_the_least_usage_per_weight() {
        let fair = Fair { dominant: false };
        let capacity = Resource::new(100, 100);
        let key = |node: &ShareNode| fair.key(node, &capacity);
        let needy = node(1.0, 50, Resource::new(40, 0));
        let idle = node(1.0, 0, Resource::ZERO);
        let heavy = node(4.0, 0, Resource::new(40, 0));
        let light = node(1.0, 0, Resource::new(20, 0));
        assert!(key(&needy) < key(&idle));
        assert!(key(&idle) < key(&heavy));
        assert!(key(&heavy) < key(&light), "40 / 4 is less than 20 / 1");
    }

    #[test]
    fn dominant_shares_compare_across_types() {
        // DRF paper, section 4.1: user A runs <1 CPU, 4 GB> tasks, B <3 CPU, 1 GB>, 9 CPU, 18 GB.
        let fair = Fair { dominant: true };
        let capacity = Resource::new(18, 9);
        let a = node(1.0, 0, Resource::new(8, 2));
        let b = node(1.0, 0, Resource::new(1, 3));
        // A's dominant share is 8/18, B's 3/9: B is next, as in the paper's table 1.
        assert!(fair.key(&b, &capacity) < fair.key(&a, &capacity));
    }
}
