//! Amounts on the nodes of each label, where labels have shares of their own.

use crate::words::ids::PartitionId;
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// Amounts on nodes without a label, and by label. Allocates nothing without labels: clusters
/// without any copy these for every change of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByLabel {
    plain: Resource,
    /// No amount here is zero.
    labels: BTreeMap<PartitionId, Resource>,
}

impl ByLabel {
    /// The amount on the nodes of a label, or without one.
    pub fn on(&self, partition: PartitionId) -> Resource {
        match partition {
            PartitionId::DEFAULT => self.plain,
            label => self.labels.get(&label).copied().unwrap_or_default(),
        }
    }

    /// Adds to the amount on the nodes of a label.
    pub(crate) fn add(&mut self, partition: PartitionId, amount: Resource) {
        if partition == PartitionId::DEFAULT {
            self.plain += amount;
            return;
        }
        let sum = self.labels.entry(partition).or_default();
        *sum += amount;
        if sum.is_zero() {
            self.labels.remove(&partition);
        }
    }

    /// Adds all amounts of another one, or takes them off.
    pub(crate) fn add_all(&mut self, other: &ByLabel, added: bool) {
        let sign = |amount: Resource| match added {
            true => amount,
            false => Resource::ZERO - amount,
        };
        self.plain += sign(other.plain);
        for (label, amount) in &other.labels {
            self.add(*label, sign(*amount));
        }
    }

    /// These amounts of labels, and the rest of a total without one.
    pub(crate) fn out_of(&self, total: &Resource) -> ByLabel {
        let labelled = self.labels.values().fold(Resource::ZERO, |sum, a| sum + *a);
        ByLabel {
            plain: *total - labelled,
            labels: self.labels.clone(),
        }
    }

    /// The labels with an amount.
    pub(crate) fn labels(&self) -> impl Iterator<Item = PartitionId> {
        self.labels.keys().copied()
    }
}

/// Where a user is above the limit of a leaf, so that asks for these nodes get nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Over {
    /// On nodes without a label; on all, unless labels count `apart`.
    pub plain: bool,
    /// Whether labels have shares of their own.
    pub apart: bool,
    /// The labels on whose nodes the user is above the limit.
    pub labels: BTreeSet<PartitionId>,
}

impl Over {
    /// Whether asks for the nodes of a label are held.
    pub fn on(&self, partition: PartitionId) -> bool {
        match self.apart && partition != PartitionId::DEFAULT {
            true => self.labels.contains(&partition),
            false => self.plain,
        }
    }

    /// Whether any asks are held.
    pub fn anywhere(&self) -> bool {
        self.plain || !self.labels.is_empty()
    }

    /// Whether it holds asks that `other` lets go on.
    pub(crate) fn exceeds(&self, other: &Over) -> bool {
        self.plain && !other.plain || !self.labels.is_subset(&other.labels)
    }
}
