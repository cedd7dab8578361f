//! The part of a leaf's share that ApplicationMasters may take.

use super::{ShareNode, ShareTree};
use crate::config::Compare;
use crate::words::keys::ShareNodeId;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

impl ShareTree {
    /// Whether one more ApplicationMaster of that size may start in a leaf. The first always may,
    /// except where queues compare as in YARN's Fair Scheduler, which has no such rule: a share too
    /// small for any must not lock up a queue.
    pub fn admits_am(&self, leaf: ShareNodeId, resource: &Resource) -> bool {
        self.masters_fit(leaf, resource, self.node(leaf).max_am_share)
    }

    /// The same for ApplicationMasters that want `more` together, of which `part` of the share is
    /// theirs.
    pub fn masters_fit(&self, leaf: ShareNodeId, more: &Resource, part: f64) -> bool {
        let node = self.node(leaf);
        if node.masters_in_line || node.ams == 0 && !node.is_stock_fair() {
            return true;
        }
        let limit = self.limit_of_masters(leaf, part);
        limit.is_none_or(|limit| (node.am_used + *more).fits_in(&limit))
    }

    /// The most that ApplicationMasters of a leaf may take; none if nothing limits them.
    pub fn am_limit(&self, leaf: ShareNodeId) -> Option<Resource> {
        self.limit_of_masters(leaf, self.node(leaf).max_am_share)
    }

    fn limit_of_masters(&self, leaf: ShareNodeId, part: f64) -> Option<Resource> {
        if part < 0.0 {
            return None;
        }
        let node = self.node(leaf);
        Some(match node.compared_by {
            None => node.active_share.scaled(part),
            Some(Compare::Memory | Compare::Dominant) => self.as_stock_fair(node, part),
            Some(Compare::Capacity) => self.as_stock_capacity(leaf, part),
        })
    }

    /// As `FSLeafQueue.computeMaxAMResource`: of each type a part of the share, rounded up. Where
    /// the share has none of a type, as always of vcores under `memory`, of what is free now.
    fn as_stock_fair(&self, node: &ShareNode, part: f64) -> Resource {
        let free = self
            .capacity
            .minus_or_zero(&self.node(ShareNodeId::ROOT).used);
        let part = f64::from(part as f32);
        let mut limit = Resource::ZERO;
        for i in 0..RESOURCE_TYPES_MAX {
            let of = match node.active_share[i] {
                0 => free[i].min(node.max_share[i]),
                share => share,
            };
            limit.0[i] = (of as f64 * part).ceil() as i64;
        }
        limit
    }

    /// As `AbstractLeafQueue.calculateAndGetAMResourceLimitPerPartition`: a part of what the leaf
    /// could use now, at least of its guarantee; on the nodes of a label of its guarantee. Rounded
    /// up to whole smallest containers.
    fn as_stock_capacity(&self, leaf: ShareNodeId, part: f64) -> Resource {
        let node = self.node(leaf);
        let room = self.path_up(leaf).fold(self.capacity, |room, at| {
            let above = self.node(at);
            room.component_min(&(above.max_share.minus_or_zero(&above.used) + node.used))
        });
        let part = f64::from(part as f32);
        let mut limit = match self.labelled {
            true => node.guaranteed,
            false => room.component_max(&node.guaranteed),
        };
        for (amount, step) in limit.0.iter_mut().zip(self.step.0) {
            let exact = (*amount as f64 * part).ceil() as i64;
            let step = step.max(1);
            *amount = (exact.saturating_add(step - 1) / step).saturating_mul(step);
        }
        if !self.dominant {
            limit.0[1..].fill(i64::MAX);
        }
        limit
    }
}

impl ShareNode {
    /// Whether the queue above compares as YARN's Fair Scheduler does.
    pub fn is_stock_fair(&self) -> bool {
        matches!(self.compared_by, Some(Compare::Memory | Compare::Dominant))
    }
}
