//! Usage, demand and entitlement of queues on the nodes of each label. Nodes of another label serve
//! no ask of this one, so preemption compares queues label by label.

use super::Engine;
use crate::config::Compare;
use crate::model::job::{Ask, Standing};
use crate::model::share_tree::ShareNode;
use crate::words::ids::PartitionId;
use crate::words::keys::ShareNodeId;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use std::collections::BTreeMap;

/// The figures of one label. The vectors go by node of the tree of shares.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    capacity: Resource,
    /// Usage without evicted containers, which are about to go.
    used: Vec<Resource>,
    /// Usage of the containers on their way out.
    going: Vec<Resource>,
    /// Room that was made and is promised to the asks of a leaf, which no longer count as pending.
    promised: Vec<Resource>,
    /// The part of `used` that the nodes lend to asks without a label.
    lent: Vec<Resource>,
    pending: Vec<Resource>,
    fair: Vec<Resource>,
    /// The shares of YARN's Fair Scheduler, in which demand plays no part.
    active: Vec<Resource>,
    /// The guarantees, of queues that compare by them.
    guaranteed: Vec<Resource>,
}

/// A leaf's figures on the nodes of one label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) used_mb: i64,
    /// What it asks for.
    pub(super) pending: Resource,
    /// Whether it is below the threshold of its share.
    pub(super) is_starved: bool,
    /// The amounts that are then taken back for it, of the types that count.
    pub(super) lacking: Resource,
}

impl Label {
    pub(super) fn fair(&self, id: ShareNodeId) -> Resource {
        self.fair[id.index()]
    }

    pub(super) fn fair_mb(&self, id: ShareNodeId) -> i64 {
        self.fair(id).memory_mb()
    }

    pub(super) fn guaranteed(&self, id: ShareNodeId) -> Resource {
        self.guaranteed[id.index()]
    }

    pub(super) fn guaranteed_mb(&self, id: ShareNodeId) -> i64 {
        self.guaranteed(id).memory_mb()
    }

    /// The room that is promised to a leaf.
    pub(super) fn promised_to(&self, leaf: ShareNodeId) -> Resource {
        self.promised[leaf.index()]
    }

    /// The memory that a leaf asks for.
    pub(super) fn pending_mb(&self, leaf: ShareNodeId) -> i64 {
        self.pending[leaf.index()].memory_mb()
    }

    /// The usage of a leaf until its evicted containers have ended.
    pub(super) fn used_and_going(&self, leaf: ShareNodeId) -> Resource {
        self.used[leaf.index()] + self.going[leaf.index()]
    }

    pub(super) fn used_and_going_mb(&self, leaf: ShareNodeId) -> i64 {
        self.used_and_going(leaf).memory_mb()
    }

    pub(super) fn going_of_mb(&self, leaf: ShareNodeId) -> i64 {
        self.going[leaf.index()].memory_mb()
    }

    /// The memory of all containers on their way out.
    pub(super) fn going_mb(&self) -> i64 {
        self.going.iter().map(Resource::memory_mb).sum()
    }

    /// The figures of a leaf, which counts as starved below `threshold` of its share.
    pub(super) fn share(&self, engine: &Engine, leaf: ShareNodeId, threshold: f64) -> Share {
        let i = leaf.index();
        let node = engine.tree.node(leaf);
        let (used, fair) = (self.used[i] + self.promised[i], self.fair[i]);
        let lacks = |i: usize| used[i] < (fair[i] as f64 * threshold) as i64;
        // A queue that has its share of one type is not starved where all of them are compared.
        let counted = match engine.compares_all_types(node) {
            true => (0..RESOURCE_TYPES_MAX)
                .filter(|t| self.pending[i][*t] > 0)
                .collect(),
            false => vec![0],
        };
        let mut share = Share {
            used_mb: used.memory_mb(),
            pending: self.pending[i],
            is_starved: !counted.is_empty() && counted.iter().all(|i| lacks(*i)),
            lacking: Resource::ZERO,
        };
        for i in counted {
            share.lacking.0[i] = (fair[i] - used[i]).max(0);
        }
        if node.is_stock_fair() {
            // As `FSAppAttempt.fairShareStarvation`: below a part of the share, whatever others
            // want, as far as it asks for that; up to this part only.
            let threshold = f64::from(threshold as f32);
            let low = self.active[i].scaled(threshold);
            let low = low.component_min(&(used + self.pending[i]));
            let lacking_mb = low.memory_mb() - used.memory_mb();
            share.lacking = Resource::new(lacking_mb.max(0), 0);
            share.is_starved = lacking_mb > 0;
            if engine.divides_all_types(node.queue) {
                let of_all = |amounts: &Resource| amounts.dominant_share(&self.capacity);
                share.is_starved &= of_all(&used) < of_all(&low);
            }
        }
        share
    }
}

/// What leaves use above their shares on the nodes of a label.
pub(super) type Surplus = BTreeMap<(PartitionId, ShareNodeId), Resource>;

/// Every label that has nodes.
#[derive(Debug)]
pub(super) struct Labels(BTreeMap<PartitionId, Label>);

impl Labels {
    pub(super) fn iter(&self) -> impl Iterator<Item = (PartitionId, &Label)> {
        self.0.iter().map(|(partition, label)| (*partition, label))
    }

    /// The memory that a leaf uses on the nodes of a label, including containers that are being
    /// stopped, and its share of them.
    pub(super) fn of_leaf_mb(&self, partition: PartitionId, leaf: ShareNodeId) -> Option<[i64; 2]> {
        let label = self.0.get(&partition)?;
        Some([label.used_and_going_mb(leaf), label.fair_mb(leaf)])
    }

    /// What each leaf uses above its share, for the leaves that do.
    pub(super) fn surplus(&self, engine: &Engine) -> Surplus {
        let mut surplus = BTreeMap::new();
        for (partition, label) in self.iter() {
            for leaf in engine.leaves() {
                let i = leaf.index();
                let above = label.used[i].minus_or_zero(&label.fair[i]);
                let above = engine.cluster.counted(&above);
                if !above.is_zero() {
                    surplus.insert((partition, leaf), above);
                }
            }
        }
        surplus
    }
}

impl Engine {
    /// The leaves of the tree of shares.
    pub(super) fn leaves(&self) -> impl Iterator<Item = ShareNodeId> {
        let leaf = |id: &ShareNodeId| self.tree.node(*id).children.is_empty();
        self.tree.ids().filter(leaf)
    }

    /// Whether the order of shares compares a queue by all resource types instead of memory.
    pub(super) fn compares_all_types(&self, node: &ShareNode) -> bool {
        match node.compared_by {
            None | Some(Compare::Capacity) => self.setup.config.dominant,
            Some(by) => by == Compare::Dominant,
        }
    }

    /// Computes every label's figures. Leaves the tree as it was.
    pub(super) fn labels(&mut self) -> Labels {
        let mut labels: BTreeMap<PartitionId, Label> = BTreeMap::new();
        let nothing = vec![Resource::ZERO; self.tree.len()];
        for node in self.cluster.nodes().filter(|node| node.facts.schedulable) {
            let label = labels.entry(node.facts.partition).or_insert_with(|| Label {
                used: nothing.clone(),
                going: nothing.clone(),
                promised: nothing.clone(),
                lent: nothing.clone(),
                pending: nothing.clone(),
                ..Label::default()
            });
            label.capacity += node.facts.capacity;
        }
        for job in self.cluster.jobs() {
            let due = |ask: &&Ask| ask.standing != Standing::Out;
            for ask in job.pending().filter(due) {
                if let Some(label) = labels.get_mut(&ask.facts.partition) {
                    let wanted = ask.facts.resource.times(i64::from(ask.facts.count));
                    label.pending[job.leaf.index()] += wanted;
                }
            }
            let going = |key| self.evicting.contains(&(job.facts.job, key));
            for (key, container) in &job.containers {
                let node = self.cluster.node(container.node);
                let label = node.and_then(|node| labels.get_mut(&node.facts.partition));
                let Some(label) = label else {
                    continue;
                };
                if going(*key) {
                    label.going[job.leaf.index()] += container.resource;
                } else {
                    label.used[job.leaf.index()] += container.resource;
                    if container.lent {
                        label.lent[job.leaf.index()] += container.resource;
                    }
                }
            }
        }
        for grant in &self.in_flight {
            let node = self.cluster.node(grant.container.node);
            let label = node.and_then(|node| labels.get_mut(&node.facts.partition));
            if let (Some(label), Some(job)) = (label, self.cluster.job(grant.job)) {
                label.used[job.leaf.index()] += grant.container.resource;
                if grant.container.lent {
                    label.lent[job.leaf.index()] += grant.container.resource;
                }
            }
        }
        for (_, promise) in self.promises() {
            if let Some(label) = labels.get_mut(&promise.size.partition) {
                let (i, size) = (promise.leaf.index(), &promise.size.resource);
                label.promised[i] += *size;
                label.pending[i] = label.pending[i].minus_or_zero(size);
            }
        }
        self.entitle_labels(&mut labels);
        Labels(labels)
    }

    /// Lets the share stage divide each label's nodes as if there were no others.
    fn entitle_labels(&mut self, labels: &mut BTreeMap<PartitionId, Label>) {
        for (partition, label) in labels {
            let tree = self.partitions.get_mut(partition);
            let tree = tree.unwrap_or(&mut self.tree);
            let ids: Vec<ShareNodeId> = tree.ids().collect();
            let saved: Vec<_> = ids.iter().map(|id| tree.node(*id).shares()).collect();
            for id in &ids {
                let i = id.index();
                tree.node_mut(*id).demand =
                    label.used[i] + label.promised[i] - label.lent[i] + label.pending[i];
            }
            // Parents come before children in the table.
            for id in ids.iter().rev() {
                let (demand, parent) = (tree.node(*id).demand, tree.node(*id).parent);
                if let Some(parent) = parent {
                    tree.node_mut(parent).demand += demand;
                }
            }
            self.share.entitle(tree, &label.capacity);
            let nodes = || ids.iter().map(|id| tree.node(*id));
            label.fair = nodes().map(|node| node.fair_share).collect();
            label.active = nodes().map(|node| node.active_share).collect();
            label.guaranteed = nodes().map(|node| node.guaranteed).collect();
            for (id, before) in ids.iter().zip(saved) {
                tree.node_mut(*id).set_shares(before);
            }
        }
    }
}
