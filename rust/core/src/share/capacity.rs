//! Queues with guarantees, as the Capacity Scheduler has them.
//!
//! A queue's `min_share` is its guarantee, by weight where it sets none. Siblings are served in
//! order of usage over guarantee, so that each may have what others leave. A queue may set how its
//! children compare.

use crate::config::Compare;
use crate::model::change::World;
use crate::model::share_tree::{Keys, ShareNode, ShareTree};
use crate::model::wait::{PendingAsk, Remedy};
use crate::stage::behind::{Passed, guaranteed_by_weight, heavier};
use crate::stage::by_usage::ByUsage;
use crate::stage::common::Stage;
use crate::stage::division;
use crate::stage::entry::DIVISION;
use crate::stage::share::{Share, ShareEntry};
use crate::words::keys::{Layout, ShareKey};
use crate::words::resource::Resource;

/// Entry in the catalogue.
pub(crate) const ENTRY: ShareEntry = ShareEntry {
    name: "capacity",
    summary: "queues by usage over guarantee, hierarchical; guarantees are minimum shares or, \
              without them, by weight",
    preset: None,
    wants: &[],
    reads: DIVISION,
    own: None,
    build: |config| {
        Box::new(Capacity(ByUsage {
            dominant: config.dominant,
        }))
    },
};

struct Capacity(ByUsage);

impl Stage for Capacity {}

impl Keys for Capacity {
    fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey {
        self.0.key(node, capacity)
    }

    fn key_after(&self, node: &ShareNode, container: &Resource, capacity: &Resource) -> ShareKey {
        self.0.key_at(node, &(node.used + *container), capacity)
    }
}

impl Share for Capacity {
    fn layout(&self) -> Layout {
        Layout::Queues
    }

    fn compare(&self, said: Option<Compare>) -> Option<Compare> {
        said.or(Some(Compare::Capacity))
    }

    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource) {
        division::entitle(tree, capacity);
    }

    fn compared(&self, node: &ShareNode, capacity: &Resource) -> usize {
        self.0.compared(node, capacity)
    }

    fn remedies(&self, asked: &PendingAsk<'_>, passed: &Passed, world: &World<'_>) -> Vec<Remedy> {
        let compared = |node: &ShareNode| self.compared(node, &world.cluster.capacity);
        heavier((asked, passed), (world, self), compared, |_, child, i| {
            guaranteed_by_weight(world.tree, child, i)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::share_tree::Limits;
    use crate::words::ids::QueueId;

    fn limits(min_mb: Option<i64>, weight: f64) -> Limits {
        Limits {
            weight,
            min_share: Resource::new(min_mb.unwrap_or(0), 0),
            sets_minimum: min_mb.is_some(),
            compared_by: Some(Compare::Capacity),
            ..Limits::default()
        }
    }

    fn capacity(dominant: bool) -> Capacity {
        Capacity(ByUsage { dominant })
    }

    /// Guarantees out of 100 MB.
    fn guaranteed(queues: &[Limits]) -> Vec<i64> {
        let mut tree = ShareTree::default();
        let root = tree.add(None, QueueId(0), &Limits::default());
        for limits in queues {
            tree.add(Some(root), QueueId(1), limits);
        }
        capacity(true).entitle(&mut tree, &Resource::new(100, 0));
        let below = tree.ids().skip(1);
        below
            .map(|id| tree.node(id).guaranteed.memory_mb())
            .collect()
    }

    #[test]
    fn minimums_are_guaranteed_and_weights_divide_the_rest() {
        let [none, some] = [limits(None, 2.0), limits(Some(40), 9.0)];
        assert_eq!(guaranteed(&[none, some, limits(None, 1.0)]), [40, 40, 20]);
        assert_eq!(guaranteed(&[none, limits(Some(100), 1.0)]), [0, 100]);
        // More than there is: cut in proportion.
        let more = [limits(Some(90), 1.0), limits(Some(60), 1.0)];
        assert_eq!(guaranteed(&more), [60, 40]);
        assert_eq!(
            guaranteed(&[limits(Some(0), 1.0), none]),
            [0, 100],
            "0 is a minimum"
        );
    }

    fn key(priority: i32, guaranteed_mb: i64, used_mb: i64) -> ShareKey {
        let limits = Limits {
            priority,
            ..limits(None, 1.0)
        };
        let mut node = ShareNode::new(None, QueueId(1), &limits);
        node.guaranteed = Resource::new(guaranteed_mb, 0);
        node.used = Resource::new(used_mb, 0);
        capacity(true).key(&node, &Resource::new(1_000, 0))
    }

    #[test]
    fn without_the_dominant_type_only_memory_counts() {
        let mut node = ShareNode::new(None, QueueId(1), &limits(None, 1.0));
        node.guaranteed = Resource::new(100, 10);
        node.used = Resource::new(50, 9);
        let key = |dominant: bool| capacity(dominant).key(&node, &Resource::new(1_000, 1_000));
        assert_eq!(key(false), ShareKey::new(0, 0.5));
        assert_eq!(key(true), ShareKey::new(0, 0.9));
    }

    /// Rules of `PriorityUtilizationQueueOrderingPolicy.PriorityQueueComparator`.
    #[test]
    fn the_least_used_goes_first_among_equal_priorities_on_one_side_of_the_guarantee() {
        assert!(key(0, 100, 50) < key(0, 10, 6), "half before 0.6");
        assert!(key(0, 100, 150) < key(0, 10, 20), "1.5 before 2");
        assert!(key(1, 100, 90) < key(0, 100, 10), "both below: priority");
        assert!(key(1, 100, 300) < key(0, 100, 200), "both above: priority");
        assert!(key(0, 100, 90) < key(9, 100, 100), "below before above");
        assert!(key(0, 1, 900) < key(9, 0, 0), "nothing guaranteed: last");
        assert!(key(0, 0, 10) < key(0, 0, 20), "among those by usage");
    }
}
