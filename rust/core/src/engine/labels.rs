//! Usage, demand and entitlement of queues on the nodes of each label. Nodes of another label serve
//! no ask of this one, so preemption compares queues label by label.

use super::Engine;
use crate::model::job::{Ask, Standing};
use crate::words::ids::PartitionId;
use crate::words::keys::ShareNodeId;
use crate::words::resource::Resource;
use std::collections::BTreeMap;

/// The figures of one label. The vectors go by node of the tree of shares.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    capacity: Resource,
    /// Usage without evicted containers, which are about to go.
    used: Vec<Resource>,
    pending: Vec<Resource>,
    fair: Vec<Resource>,
}

impl Label {
    /// Memory that a leaf uses, asks for beyond that, and is entitled to.
    pub(super) fn memory_mb(&self, leaf: ShareNodeId) -> (i64, i64, i64) {
        let mb = |amounts: &[Resource]| amounts[leaf.index()].memory_mb();
        (mb(&self.used), mb(&self.pending), mb(&self.fair))
    }
}

/// Every label that has nodes.
#[derive(Debug)]
pub(super) struct Labels(BTreeMap<PartitionId, Label>);

impl Labels {
    pub(super) fn iter(&self) -> impl Iterator<Item = (PartitionId, &Label)> {
        self.0.iter().map(|(partition, label)| (*partition, label))
    }

    /// The memory that each leaf uses above its share, for the leaves that do.
    pub(super) fn surplus_mb(&self, engine: &Engine) -> BTreeMap<(PartitionId, ShareNodeId), i64> {
        let mut surplus = BTreeMap::new();
        for (partition, label) in self.iter() {
            for leaf in engine.leaves() {
                let (used, _, fair) = label.memory_mb(leaf);
                if used > fair {
                    surplus.insert((partition, leaf), used - fair);
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

    /// Computes every label's figures. Leaves the tree as it was.
    pub(super) fn labels(&mut self) -> Labels {
        let mut labels: BTreeMap<PartitionId, Label> = BTreeMap::new();
        let nothing = vec![Resource::ZERO; self.tree.len()];
        for node in self.cluster.nodes().filter(|node| node.facts.schedulable) {
            let label = labels.entry(node.facts.partition).or_insert_with(|| Label {
                used: nothing.clone(),
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
            for (_, container) in job.containers.iter().filter(|(key, _)| !going(**key)) {
                let node = self.cluster.node(container.node);
                let label = node.and_then(|node| labels.get_mut(&node.facts.partition));
                if let Some(label) = label {
                    label.used[job.leaf.index()] += container.resource;
                }
            }
        }
        for grant in &self.in_flight {
            let node = self.cluster.node(grant.container.node);
            let label = node.and_then(|node| labels.get_mut(&node.facts.partition));
            if let (Some(label), Some(job)) = (label, self.cluster.job(grant.job)) {
                label.used[job.leaf.index()] += grant.container.resource;
            }
        }
        self.entitle_labels(&mut labels);
        Labels(labels)
    }

    /// Lets the share stage divide each label's nodes as if there were no others.
    fn entitle_labels(&mut self, labels: &mut BTreeMap<PartitionId, Label>) {
        let ids: Vec<ShareNodeId> = self.tree.ids().collect();
        let saved = ids.iter().map(|id| {
            let node = self.tree.node(*id);
            (node.demand, node.fair_share, node.active_share)
        });
        let saved: Vec<_> = saved.collect();
        for label in labels.values_mut() {
            for id in &ids {
                let wanted = label.used[id.index()] + label.pending[id.index()];
                self.tree.node_mut(*id).demand = wanted;
            }
            // Parents come before children in the table.
            for id in ids.iter().rev() {
                let (demand, parent) = (self.tree.node(*id).demand, self.tree.node(*id).parent);
                if let Some(parent) = parent {
                    self.tree.node_mut(parent).demand += demand;
                }
            }
            self.share.entitle(&mut self.tree, &label.capacity);
            label.fair = ids
                .iter()
                .map(|id| self.tree.node(*id).fair_share)
                .collect();
        }
        for (id, before) in ids.iter().zip(saved) {
            let node = self.tree.node_mut(*id);
            (node.demand, node.fair_share, node.active_share) = before;
        }
    }
}
