//! Bounds what a round of preemption takes (DI-30): of the cluster by `round_max`, of each queue by
//! `round_part` and `dead_zone`. The rules and their rounding are those of YARN's Capacity
//! Scheduler. As there, containers on their way out count as taken until they have ended, so a
//! further part follows only then.

use super::Engine;
use super::labels::{Label, Labels};
use crate::config::Compare;
use crate::words::ids::PartitionId;
use crate::words::keys::ShareNodeId;
use crate::words::resource::RESOURCE_TYPES_MAX;
use std::collections::BTreeMap;

/// What one round may still take, in MB.
#[derive(Debug, Default)]
pub(super) struct Budget {
    /// Of the whole cluster, if that is bounded.
    cluster: Option<OfCluster>,
    /// Of each leaf by label, if leaves are bounded beside their shares.
    due_mb: Option<BTreeMap<(PartitionId, ShareNodeId), i64>>,
}

#[derive(Debug)]
struct OfCluster {
    whole_mb: i64,
    left_mb: i64,
}

impl Budget {
    pub(super) fn new(engine: &Engine, labels: &Labels) -> Budget {
        let preemption = &engine.setup.config.preemption;
        let whole_mb = preemption.round_max.map(|part| {
            let whole = engine.cluster.capacity.memory_mb() as f64 * part;
            whole as i64
        });
        let bounded = [
            preemption.round_max,
            preemption.round_part,
            preemption.dead_zone,
        ]
        .iter()
        .any(Option::is_some);
        let due_mb = bounded.then(|| {
            let of_label = |(partition, label): (PartitionId, &Label)| {
                let above = Above::new(engine, label);
                let due = |leaf| ((partition, leaf), above.due_mb(leaf, whole_mb));
                engine.leaves().map(due).collect::<Vec<_>>()
            };
            labels.iter().flat_map(of_label).collect()
        });
        let going_mb: i64 = labels.iter().map(|(_, label)| label.going_mb()).sum();
        Budget {
            cluster: whole_mb.map(|whole_mb| OfCluster {
                whole_mb,
                left_mb: whole_mb - going_mb,
            }),
            due_mb,
        }
    }

    /// Whether a container of a leaf may be among the next to go. As in stock the last one may
    /// exceed what is due of its queue; a single one never exceeds the cluster's budget.
    pub(super) fn offers(&self, partition: PartitionId, leaf: ShareNodeId, mb: i64) -> bool {
        let due = self.due_mb.as_ref().is_none_or(|due_mb| {
            due_mb
                .get(&(partition, leaf))
                .is_some_and(|due_mb| *due_mb > 0)
        });
        due && self.cluster.as_ref().is_none_or(|all| mb <= all.whole_mb)
    }

    /// Whether the cluster's budget has room for all containers that must go for one ask. An ask
    /// for which several must go may exceed the budget if nothing else is on its way out: parts of
    /// the room would serve nothing.
    pub(super) fn covers(&self, mb: i64) -> bool {
        let all = self.cluster.as_ref();
        all.is_none_or(|all| mb <= all.left_mb || all.left_mb == all.whole_mb)
    }

    /// Books a container that goes.
    pub(super) fn take(&mut self, partition: PartitionId, leaf: ShareNodeId, mb: i64) {
        if let Some(due_mb) = &mut self.due_mb {
            *due_mb.entry((partition, leaf)).or_default() -= mb;
        }
        if let Some(all) = &mut self.cluster {
            all.left_mb -= mb;
        }
    }
}

/// Usage above the share on the nodes of one label, containers on their way out included.
struct Above<'a> {
    engine: &'a Engine,
    label: &'a Label,
    /// By node of the tree: what may be taken of it in the long run.
    mb: Vec<i64>,
}

impl<'a> Above<'a> {
    fn new(engine: &'a Engine, label: &'a Label) -> Above<'a> {
        let ids: Vec<ShareNodeId> = engine.tree.ids().collect();
        let mut used_mb = vec![0; engine.tree.len()];
        let mut mb = vec![0; engine.tree.len()];
        // Parents come before children in the table: sums of children are complete in this order.
        for id in ids.iter().rev().copied() {
            let (i, node) = (id.index(), engine.tree.node(id));
            let extra_mb = |used_mb: i64| (used_mb - label.fair_mb(id)).max(0);
            if node.children.is_empty() {
                used_mb[i] = label.used_and_going_mb(id);
                let spares = engine.cluster.queues.spares_all(node.queue);
                let extra_mb = match extra_mb(used_mb[i]) {
                    0 if engine.compares_all_types(node) => of_other_types_mb(label, id),
                    extra_mb => extra_mb,
                };
                mb[i] = if spares { 0 } else { extra_mb };
            } else {
                // A parent gives no more than the queues below it can.
                mb[i] = extra_mb(used_mb[i]).min(mb[i]);
            }
            if let Some(parent) = node.parent {
                used_mb[parent.index()] += used_mb[i];
                mb[parent.index()] += mb[i];
            }
        }
        Above { engine, label, mb }
    }

    /// What a round may take of a leaf beyond the containers on their way out: nothing in the dead
    /// zone, else a part of what it has above its share. All siblings' parts shrink alike where
    /// they have more than the cluster's budget.
    fn due_mb(&self, leaf: ShareNodeId, whole_mb: Option<i64>) -> i64 {
        let preemption = &self.engine.setup.config.preemption;
        let node = self.engine.tree.node(leaf);
        if let Some(zone) = preemption.dead_zone {
            let guarantee = match node.compared_by {
                Some(Compare::Capacity) => self.label.guaranteed(leaf),
                _ => self.label.fair(leaf),
            };
            let used = self.label.used_and_going(leaf);
            let types = match self.engine.compares_all_types(node) {
                true => RESOURCE_TYPES_MAX,
                false => 1,
            };
            let ignored = |i: usize| used[i] <= (guarantee[i] as f64 * (1.0 + zone)) as i64;
            if (0..types).all(ignored) {
                return 0;
            }
        }
        let alone = [leaf];
        let siblings = node
            .parent
            .map_or(&alone[..], |up| &self.engine.tree.node(up).children);
        let needed_mb: i64 = siblings.iter().map(|id| self.mb[id.index()]).sum();
        let own_mb = self.mb[leaf.index()] as f64;
        let scaled = match whole_mb {
            Some(whole_mb) if needed_mb > whole_mb => {
                (own_mb * (whole_mb as f64 / needed_mb as f64)).trunc()
            }
            _ => own_mb,
        };
        let part = preemption.round_part.unwrap_or(1.0);
        (scaled * part).ceil() as i64 - self.label.going_of_mb(leaf)
    }
}

/// The part of a leaf's memory that goes with what it uses above its share of another type.
fn of_other_types_mb(label: &Label, leaf: ShareNodeId) -> i64 {
    let (used, fair) = (label.used_and_going(leaf), label.fair(leaf));
    let above = |i: usize| (used[i] - fair[i]) as f64 / used[i].max(1) as f64;
    let part = (1..RESOURCE_TYPES_MAX).map(above).fold(0.0, f64::max);
    (used.memory_mb() as f64 * part) as i64
}
