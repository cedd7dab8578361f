//! The part of a leaf's share that ApplicationMasters may take, and of every queue above it.
//!
//! A leaf may always run its first ApplicationMaster: a share too small for any must not lock up a
//! queue. Many leaves with one each would then fill the cluster, and none would get a task. So the
//! queues above bound the sum: the exceptions fit into the part that each may take, and all
//! together leave room for tasks. The first ApplicationMaster below a queue may always run.

use super::{ShareNode, ShareTree};
use crate::config::Compare;
use crate::model::job::Container;
use crate::words::keys::{ShapeId, ShareNodeId};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// The part of the queues above a leaf that ApplicationMasters may take at least, whatever theirs
/// of the leaf's is: a queue of many leaves with small parts must still run one in each.
const PART_ABOVE: f64 = 0.5;
/// The largest task for which ApplicationMasters leave room: YARN's default
/// `yarn.scheduler.maximum-allocation-mb` and `-vcores`. How large the tasks of a job are is not
/// known before its ApplicationMaster runs.
const TASK: Resource = Resource::new(8_192, 4);

/// What ApplicationMasters within their leaves' parts may take together of a share: half of what
/// `part` leaves stays free, and a large task's room at least.
fn beside_a_task(share: &Resource, part: f64) -> Resource {
    let room = share.minus_or_zero(&TASK);
    share.scaled(f64::midpoint(part, 1.0)).component_min(&room)
}

impl ShareTree {
    /// Counts an ApplicationMaster in a leaf and everything above it, and lent room in the leaf.
    pub(crate) fn count_container(&mut self, leaf: ShareNodeId, it: &Container, taken: bool) {
        let sum = |sum: &mut Resource| match taken {
            true => *sum += it.resource,
            false => *sum -= it.resource,
        };
        if it.lent {
            sum(&mut self.nodes[leaf.index()].lent);
        }
        let mut at = it.am.then_some(leaf);
        while let Some(id) = at {
            let node = &mut self.nodes[id.index()];
            sum(&mut node.am_used);
            node.ams = if taken { node.ams + 1 } else { node.ams - 1 };
            at = node.parent;
        }
    }

    /// Whether one more ApplicationMaster of a shape may start in a leaf.
    pub(crate) fn admits_am(&self, leaf: ShareNodeId, shape: ShapeId, size: &Resource) -> bool {
        let part = self.node(leaf).max_am_share;
        self.full_of_masters(leaf, size, part, Some(shape))
            .is_none()
    }

    /// The same for ApplicationMasters that want `more` together, of which `part` of the leaf's
    /// share is theirs, and for which nothing is kept.
    pub fn masters_fit(&self, leaf: ShareNodeId, more: &Resource, part: f64) -> bool {
        self.full_of_masters(leaf, more, part, None).is_none()
    }

    /// Whether one more ApplicationMaster of a leaf is within its parts of other shares than those
    /// of now, which `share` gives for the leaf and the queues above it, up to the root.
    pub(crate) fn masters_fit_in(
        &self,
        leaf: ShareNodeId,
        size: &Resource,
        share: impl Fn(ShareNodeId) -> Resource,
    ) -> bool {
        let part = self.node(leaf).max_am_share;
        let below_root = |at: &ShareNodeId| *at != ShareNodeId::ROOT;
        part < 0.0
            || self.path_up(leaf).filter(below_root).all(|at| {
                let part = if at == leaf {
                    part
                } else {
                    part.max(PART_ABOVE)
                };
                let most = self.counted(share(at).scaled_up(part));
                (self.node(at).am_used + *size).fits_in(&most)
            })
    }

    /// The first queue from a leaf up, and its limit, in which ApplicationMasters leave no room for
    /// `more`, if `part` of the leaf's share is theirs. With a shape, what is kept from that is no
    /// room.
    pub(crate) fn full_of_masters(
        &self,
        leaf: ShareNodeId,
        more: &Resource,
        part: f64,
        shape: Option<ShapeId>,
    ) -> Option<(ShareNodeId, Resource)> {
        self.limits_of_masters(leaf, more, part)
            .find(|(at, limit)| {
                let node = self.node(*at);
                let first = *at != leaf || part > 0.0 || !node.is_stock_fair();
                let kept = shape.map(|shape| node.kept_from(true, leaf, shape));
                let used = node.am_used + kept.unwrap_or(Resource::ZERO);
                !(node.ams == 0 && first || (used + *more).fits_in(limit))
            })
    }

    /// The limits of ApplicationMasters from a leaf up, for those that want `more` in the leaf.
    pub(crate) fn limits_of_masters(
        &self,
        leaf: ShareNodeId,
        more: &Resource,
        part: f64,
    ) -> impl Iterator<Item = (ShareNodeId, Resource)> {
        let (node, more) = (self.node(leaf), *more);
        let own = self.limit_of_masters(leaf, part);
        let fits = own.is_none_or(|limit| (node.am_used + more).fits_in(&limit));
        let part = part.max(PART_ABOVE);
        let above = self.path_up(leaf).skip(1).map(move |at| {
            let share = &self.node(at).active_share;
            let most = share.scaled_up(part);
            // A queue of YARN's Fair Scheduler gets what the file says, as far as that can end.
            let limit = match (fits, node.is_stock_fair()) {
                (false, _) => most,
                (true, true) => most.component_max(&share.minus_or_zero(&more.times(2))),
                (true, false) => most.component_max(&beside_a_task(share, part)),
            };
            (at, self.counted(limit))
        });
        // Where ApplicationMasters stand in a line, that has let this one start.
        let in_leaf = own.filter(|_| !node.masters_in_line);
        let in_leaf = in_leaf.map(|limit| (leaf, limit));
        let above = own.is_some().then_some(above).into_iter().flatten();
        in_leaf.into_iter().chain(above)
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
        let limit = match node.compared_by {
            None => node.active_share.scaled_up(part),
            Some(Compare::Memory | Compare::Dominant) => self.as_stock_fair(node, part),
            Some(Compare::Capacity) => self.as_stock_capacity(leaf, part),
        };
        Some(match self.memory_only {
            true => limit.in_memory_alone(),
            false => limit,
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
        self.counted(limit)
    }

    /// A limit where only the types bound that count: memory alone, if queues compare by it.
    fn counted(&self, limit: Resource) -> Resource {
        match self.dominant && !self.memory_only {
            true => limit,
            false => limit.in_memory_alone(),
        }
    }
}

impl ShareNode {
    /// What its limit keeps from a shape of a leaf below it for others, which are next in line; or
    /// what that of ApplicationMasters keeps.
    pub(crate) fn kept_from(&self, masters: bool, leaf: ShareNodeId, shape: ShapeId) -> Resource {
        let kept = if masters {
            self.kept_for_masters
        } else {
            self.kept
        };
        let kept = kept.filter(|kept| (kept.leaf, kept.shape) != (leaf, shape));
        kept.map_or(Resource::ZERO, |kept| kept.size)
    }

    /// Whether the queue above compares as YARN's Fair Scheduler does.
    pub fn is_stock_fair(&self) -> bool {
        matches!(self.compared_by, Some(Compare::Memory | Compare::Dominant))
    }
}
