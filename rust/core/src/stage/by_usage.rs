//! The order of siblings by usage per weight, those below their minimum share first. For every
//! share that serves in this order, whatever it entitles to.

use crate::model::share_tree::ShareNode;
use crate::words::keys::ShareKey;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// Compares by memory, or by dominant share.
pub(crate) struct ByUsage {
    pub(crate) dominant: bool,
}

impl ByUsage {
    /// A node's key among its siblings.
    pub(crate) fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey {
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
            // It has a right to its minimum only, so it comes after all others (FS-22).
            ShareKey::new(2, usage)
        }
    }

    /// The resource type by which a queue is compared with its siblings.
    pub(crate) fn compared(&self, node: &ShareNode, capacity: &Resource) -> usize {
        if self.dominant {
            dominant_type(&node.used, capacity)
        } else {
            0
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
