//! The order of siblings by usage per weight, those below their minimum share first, or by usage
//! over guarantee. For every share that serves in this order, whatever it entitles to.

use crate::config::Compare;
use crate::model::share_tree::ShareNode;
use crate::words::keys::ShareKey;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// Compares as the queue above says. Where it leaves that open, by the dominant type if `dominant`,
/// else by memory alone.
pub(crate) struct ByUsage {
    pub(crate) dominant: bool,
}

impl ByUsage {
    /// A node's key among its siblings.
    pub(crate) fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey {
        self.key_at(node, &node.used, capacity)
    }

    /// The key that it would have if it used that.
    pub(crate) fn key_at(
        &self,
        node: &ShareNode,
        usage: &Resource,
        capacity: &Resource,
    ) -> ShareKey {
        if node.compared_by == Some(Compare::Capacity) {
            return self.by_guarantee(node, usage, capacity);
        }
        let dominant = self.is_dominant(node);
        let compared = self.compared_at(node, usage, capacity);
        let used = usage[compared].max(0) as f64;
        let mut least = node.min_share[compared];
        if node.compared_by == Some(Compare::Memory) {
            // As YARN's Fair Scheduler: no queue is short of what it does not ask for.
            least = least.min(node.demand[compared]);
        }
        if used < least as f64 {
            return ShareKey::new(0, used / least as f64);
        }
        let share = if dominant {
            usage.dominant_share(capacity)
        } else {
            used
        };
        if node.weight > 0.0 {
            ShareKey::new(1, share / node.weight)
        } else {
            // It has a right to its minimum only, so it comes after all others (FS-22).
            ShareKey::new(2, share)
        }
    }

    /// As `PriorityUtilizationQueueOrderingPolicy`: queues with a guarantee before those without.
    /// Of two that are both below their guarantee, or both not, the higher priority first; then the
    /// less used.
    fn by_guarantee(&self, node: &ShareNode, usage: &Resource, capacity: &Resource) -> ShareKey {
        let (class, of) = match self.guarantees(node) {
            true => (0, &node.guaranteed),
            false => (2, capacity),
        };
        let used = match self.dominant {
            true => usage.dominant_share(of),
            false => usage[0] as f64 / of[0].max(1) as f64,
        };
        // Without priorities the first two classes are one line.
        let class = class + u8::from(class == 0 && used >= 1.0);
        ShareKey::by_priority(class, node.priority, used)
    }

    fn guarantees(&self, node: &ShareNode) -> bool {
        match self.dominant {
            true => !node.guaranteed.is_zero(),
            false => node.guaranteed[0] > 0,
        }
    }

    /// The resource type by which a queue is compared with its siblings.
    pub(crate) fn compared(&self, node: &ShareNode, capacity: &Resource) -> usize {
        self.compared_at(node, &node.used, capacity)
    }

    fn compared_at(&self, node: &ShareNode, usage: &Resource, capacity: &Resource) -> usize {
        let by_guarantee = node.compared_by == Some(Compare::Capacity);
        if !self.is_dominant(node) {
            0
        } else if by_guarantee && self.guarantees(node) {
            dominant_type(usage, &node.guaranteed)
        } else {
            dominant_type(usage, capacity)
        }
    }

    fn is_dominant(&self, node: &ShareNode) -> bool {
        match node.compared_by {
            None | Some(Compare::Capacity) => self.dominant,
            Some(Compare::Memory) => false,
            Some(Compare::Dominant) => true,
        }
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
