//! Figures of a queue as YARN's Capacity Scheduler publishes them in its metrics: parts of the
//! queue above and of the cluster, and amounts in whole smallest containers.

use super::Engine;
use crate::config::{Amount, Compare};
use crate::model::queue::Queue;
use crate::model::share_tree::ShareNode;
use crate::words::ids::{PartitionId, QueueId};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use serde_json::{Value, json};

/// Guarantee and maximum, in YARN's 32 bits: as parts of those of the queue above, and of the
/// cluster.
#[derive(Clone, Copy)]
struct Parts {
    guaranteed: f32,
    maximum: f32,
    of_cluster: (f32, f32),
}

impl Engine {
    /// Adds the figures to a queue's report, if it or its children compare by guarantees.
    pub(super) fn add_capacities(&self, queue: &Queue, report: &mut Value) {
        let node = self.tree.node(self.leaf_of(queue.id));
        let below = node.children.first().map(|id| self.tree.node(*id));
        let by_guarantees = |node: &ShareNode| node.compared_by == Some(Compare::Capacity);
        if !by_guarantees(node) && !below.is_some_and(by_guarantees) {
            return;
        }
        let capacity = self.capacity_of(PartitionId::DEFAULT);
        let parts = self.parts_of(queue.id);
        let least = self.larger(&node.guaranteed, &self.setup.minimum_allocation);
        let free = match self.part(&node.guaranteed) > self.part(&node.used) {
            true => self.effective(node, &parts).minus_or_zero(&node.used),
            false => Resource::ZERO,
        };
        report["capacities"] = json!({
            "guaranteed_part": parts.guaranteed,
            "guaranteed_part_of_cluster": parts.of_cluster.0,
            "maximum_part": parts.maximum,
            "maximum_part_of_cluster": parts.of_cluster.1,
            "used_part": ratio(self.part(&node.used), self.part(&least)),
            "used_part_of_cluster": self.part(&node.used) as f32,
            "guaranteed": self.amounts(&self.down_to_step(&capacity, parts.of_cluster.0)),
            "maximum": self.amounts(&self.down_to_step(&capacity, parts.of_cluster.1)),
            "available": self.amounts(&free),
        });
    }

    /// Multiplies what the file says from the root down, as stock does.
    fn parts_of(&self, queue: QueueId) -> Parts {
        let queues = &self.cluster.queues;
        let path: Vec<&Queue> = queues.path_up(queue).collect();
        let mut parts = Parts {
            guaranteed: 1.0,
            maximum: 1.0,
            of_cluster: (1.0, 1.0),
        };
        for pair in path.windows(2).rev() {
            let (queue, above) = (pair[0], pair[1]);
            parts.guaranteed = self.guaranteed_part(queue, above);
            parts.maximum = self.maximum_part(queue, above);
            parts.of_cluster.0 *= parts.guaranteed;
            parts.of_cluster.1 *= parts.maximum;
        }
        parts
    }

    /// The percentage that was configured, or the part by weight; for amounts, what they are of the
    /// amount above.
    fn guaranteed_part(&self, queue: &Queue, above: &Queue) -> f32 {
        match queue.config.min_share.map(|amounts| amounts.0[0]) {
            Some(Amount::OfParent(part)) => part,
            None if self.all_by_weight(above) => {
                let weights = self.children_of(above).map(|child| child.config.weight);
                ratio(queue.config.weight, weights.sum())
            }
            _ => {
                let guaranteed = |of: &Queue| self.tree.node(self.leaf_of(of.id)).guaranteed;
                ratio(self.part(&guaranteed(queue)), self.part(&guaranteed(above)))
            }
        }
    }

    fn maximum_part(&self, queue: &Queue, above: &Queue) -> f32 {
        match queue.config.max_share.0[0] {
            Amount::OfParent(part) => part,
            Amount::Whole(i64::MAX) => 1.0,
            _ => {
                let capacity = self.capacity_of(PartitionId::DEFAULT);
                let maximum = |of: &Queue| of.max_share.component_min(&capacity);
                ratio(self.part(&maximum(queue)), self.part(&maximum(above))).min(1.0)
            }
        }
    }

    fn all_by_weight(&self, above: &Queue) -> bool {
        self.children_of(above)
            .all(|child| child.config.min_share.is_none())
    }

    fn children_of<'a>(&'a self, above: &'a Queue) -> impl Iterator<Item = &'a Queue> {
        let queues = &self.cluster.queues;
        above.children.iter().filter_map(|id| queues.get(*id))
    }

    /// The part of the cluster that an amount is: by dominant share, or in memory alone.
    fn part(&self, amount: &Resource) -> f64 {
        let capacity = self.capacity_of(PartitionId::DEFAULT);
        match self.setup.config.dominant {
            true => amount.dominant_share(&capacity),
            false if capacity[0] > 0 => amount[0] as f64 / capacity[0] as f64,
            false => 0.0,
        }
    }

    fn larger(&self, one: &Resource, other: &Resource) -> Resource {
        match self.part(other) > self.part(one) {
            true => *other,
            false => *one,
        }
    }

    /// The guarantee of a queue. Where only memory counts, YARN still computes the other types.
    fn effective(&self, node: &ShareNode, parts: &Parts) -> Resource {
        let mut guaranteed = node.guaranteed;
        if !self.setup.config.dominant {
            let capacity = self.capacity_of(PartitionId::DEFAULT);
            let all = capacity.scaled(f64::from(parts.of_cluster.0));
            guaranteed.0[1..].copy_from_slice(&all.0[1..]);
        }
        guaranteed
    }

    /// An amount as YARN's calculator returns it: where only memory counts, any memory has one
    /// vcore.
    pub(super) fn calculated(&self, amount: Resource) -> Resource {
        match self.setup.config.dominant {
            true => amount,
            false => Resource::new(amount[0], i64::from(amount[0] > 0)),
        }
    }

    /// A part of an amount, down to whole smallest containers.
    fn down_to_step(&self, amount: &Resource, part: f32) -> Resource {
        let mut down = Resource::ZERO;
        for i in 0..RESOURCE_TYPES_MAX {
            let step = self.setup.minimum_allocation[i].max(1);
            let exact = (amount[i] as f64 * f64::from(part)) as i64;
            down.0[i] = exact / step * step;
        }
        self.calculated(down)
    }
}

/// The quotient in 32 bits; 0 of nothing.
fn ratio(part: f64, whole: f64) -> f32 {
    if whole > 0.0 {
        (part / whole) as f32
    } else {
        0.0
    }
}
