//! Hierarchical weighted max-min fairness with minimum and maximum shares.
//!
//! Water-filling computes entitlements per resource type. Siblings below their minimum share go
//! first, then the one with the least usage per weight. Usage is memory, or the dominant share if
//! so configured (Ghodsi et al., NSDI 2011). A queue may set how its children compare.

use crate::config::Compare;
use crate::model::change::World;
use crate::model::share_tree::{Keys, ShareNode, ShareTree};
use crate::model::wait::{PendingAsk, Remedy};
use crate::model::waterfill::waterfill;
use crate::stage::behind::{Passed, guaranteed_by_weight, heavier};
use crate::stage::by_usage::ByUsage;
use crate::stage::common::Stage;
use crate::stage::division::{self, claims, wanted};
use crate::stage::entry::{DIVISION, Preset};
use crate::stage::share::{Share, ShareEntry};
use crate::words::keys::{Layout, ShareKey};
use crate::words::resource::Resource;

/// Entry in the catalogue.
pub(crate) const ENTRY: ShareEntry = ShareEntry {
    name: "fair",
    summary: "queues by weighted max-min with minimum and maximum shares, hierarchical; memory \
              or dominant resource",
    preset: Some(Preset {
        name: "fair",
        summary: "queues share by weights, minimums and maximums; inside a queue the job with the \
                  least memory goes first, unless it sets another order; tasks wait a little \
                  for their data (the default)",
        stages: ["fair", "by-queue", "delay"],
        workload: "users",
    }),
    wants: &[],
    reads: DIVISION,
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

    fn key_after(&self, node: &ShareNode, container: &Resource, capacity: &Resource) -> ShareKey {
        self.0.key_at(node, &(node.used + *container), capacity)
    }
}

impl Share for Fair {
    fn layout(&self) -> Layout {
        Layout::Queues
    }

    fn compare(&self, said: Option<Compare>) -> Option<Compare> {
        said
    }

    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource) {
        division::entitle(tree, capacity);
    }

    fn compared(&self, node: &ShareNode, capacity: &Resource) -> usize {
        self.0.compared(node, capacity)
    }

    fn remedies(&self, asked: &PendingAsk<'_>, passed: &Passed, world: &World<'_>) -> Vec<Remedy> {
        let compared = |node: &ShareNode| self.compared(node, &world.cluster.capacity);
        heavier(
            (asked, passed),
            (world, self),
            compared,
            |parent, child, i| {
                let by_guarantee = world.tree.node(child).compared_by == Some(Compare::Capacity);
                let mut guaranteed = guaranteed_by_weight(world.tree, child, i);
                let mut claims = claims(world.tree, &parent.children, i, wanted);
                let me = parent.children.iter().position(|id| *id == child);
                let me = me.expect("a node is among its parent's children");
                let total = parent.fair_share[i];
                move |weight| {
                    if by_guarantee {
                        return guaranteed(weight);
                    }
                    claims[me].weight = weight;
                    waterfill(total, &claims)[me]
                }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::share_tree::Limits;
    use crate::words::ids::QueueId;

    fn node(weight: f64, min_mb: i64, used: Resource) -> ShareNode {
        let limits = Limits {
            weight,
            min_share: Resource::new(min_mb, 0),
            ..Limits::default()
        };
        let mut node = ShareNode::new(None, QueueId(0), &limits);
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
