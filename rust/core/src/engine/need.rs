//! A queue's shortage, for which preemption evicts containers.

use crate::words::event::EvictReason;
use crate::words::ids::PartitionId;
use crate::words::keys::ShareNodeId;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// The shortage of a starved queue on the nodes of a label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) leaf: ShareNodeId,
    pub(super) partition: PartitionId,
    /// By resource type; 0 for a type that does not count.
    pub(super) lacking: Resource,
    pub(super) reason: EvictReason,
}

impl Need {
    /// Whether the queue still lacks something that an ask of this size gives, if it has got that
    /// much. A minimum is one of every type. A share is reached once that of one type is.
    pub(super) fn wants(&self, got: &Resource, size: &Resource) -> bool {
        let counts = |i: &usize| self.lacking[*i] > 0;
        let mut counted = (0..RESOURCE_TYPES_MAX).filter(counts);
        match self.reason {
            EvictReason::MinShare => counted.any(|i| got[i] < self.lacking[i] && size[i] > 0),
            _ => !self.lacking.is_zero() && counted.all(|i| got[i] < self.lacking[i]),
        }
    }
}
