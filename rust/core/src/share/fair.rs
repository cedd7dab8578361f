//! Hierarchical weighted max-min fairness with minimum and maximum shares.
//!
//! Water-filling computes entitlements per resource type. Siblings below their minimum share go
//! first, then the one with the least usage per weight. Usage is memory, or the dominant share if
//! so configured (Ghodsi et al., NSDI 2011).

use crate::model::change::World;
use crate::model::share_tree::{Keys, ShareNode, ShareTree};
use crate::model::wait::{PendingAsk, Reason, Remedy};
use crate::model::waterfill::{Claim, waterfill};
use crate::stage::behind::{behind, heavier};
use crate::stage::by_usage::ByUsage;
use crate::stage::common::Stage;
use crate::stage::entry::Preset;
use crate::stage::share::{Share, ShareEntry};
use crate::words::keys::{Layout, ShareKey, ShareNodeId};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// Entry in the catalogue.
pub(crate) const ENTRY: ShareEntry = ShareEntry {
    name: "fair",
    summary: "queues by weighted max-min with minimum and maximum shares, hierarchical; memory \
              or dominant resource",
    preset: Some(Preset {
        name: "fair",
        summary: "queues share by weights, minimums and maximums; jobs inside them are fair by \
                  deficit; tasks wait a little for their data (the default)",
        stages: ["fair", "deficit", "delay"],
        workload: "users",
    }),
    wants: &[],
    own: None,
    build: |config| {
        Box::new(Fair(ByUsage {
            dominant: config.dominant,
        }))
    },
};

struct Fair(ByUsage);

impl Stage for Fair {}

impl Keys for Fair {
    fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey {
        self.0.key(node, capacity)
    }
}

impl Share for Fair {
    fn layout(&self) -> Layout {
        Layout::Queues
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

    fn explain(&self, asked: &PendingAsk<'_>, world: &World<'_>) -> Option<Reason> {
        behind(asked, world, |node| {
            self.0.compared(node, &world.cluster.capacity)
        })
    }

    fn remedies(&self, asked: &PendingAsk<'_>, world: &World<'_>) -> Vec<Remedy> {
        let compared = |node: &ShareNode| self.0.compared(node, &world.cluster.capacity);
        heavier(asked, world, compared, |parent, child, i, weight| {
            let mut claims = claims(world.tree, &parent.children, i, wanted);
            let me = parent.children.iter().position(|id| *id == child);
            let me = me.expect("a node is among its parent's children");
            claims[me].weight = weight;
            waterfill(parent.fair_share[i], &claims)[me]
        })
    }
}

/// Divides `total` among siblings, each resource type alone; none gets more than `most`.
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

/// Returns the siblings' claims on one resource type.
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

/// Returns the most that a node can use.
fn wanted(node: &ShareNode) -> Resource {
    node.demand.component_min(&node.max_share)
}

/// Returns the most that a node may use, if it has or wants anything.
fn allowed(node: &ShareNode) -> Resource {
    if node.demand.is_zero() {
        Resource::ZERO
    } else {
        node.max_share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::QueueConfig;
    use crate::words::ids::QueueId;

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
        let fair = Fair(ByUsage { dominant: false });
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
        let fair = Fair(ByUsage { dominant: true });
        let capacity = Resource::new(18, 9);
        let a = node(1.0, 0, Resource::new(8, 2));
        let b = node(1.0, 0, Resource::new(1, 3));
        // A's dominant share is 8/18, B's 3/9: B is next, as in the paper's table 1.
        assert!(fair.key(&b, &capacity) < fair.key(&a, &capacity));
    }
}
