//! What is yet to be granted, as entitlements have it.

use super::ShareTree;
use crate::words::resource::Resource;

impl ShareTree {
    /// Notes what leaves are entitled to beyond their usage.
    pub(crate) fn note_due(&mut self) {
        let leaves = self.nodes.iter().filter(|node| node.children.is_empty());
        let due = leaves.map(|leaf| {
            let entitled = leaf.fair_share.component_min(&leaf.demand);
            entitled.minus_or_zero(&leaf.used)
        });
        let used = self.nodes.first().map_or(Resource::ZERO, |root| root.used);
        self.expected = due.fold(used, |sum, due| sum + due);
    }

    /// What leaves are entitled to beyond their usage, as far as it has not come since.
    pub(crate) fn due(&self) -> Resource {
        let used = self.nodes.first().map_or(Resource::ZERO, |root| root.used);
        self.expected.minus_or_zero(&used)
    }
}
