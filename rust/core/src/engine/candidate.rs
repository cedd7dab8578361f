//! A container that preemption may take.

use crate::words::ids::{ContainerKey, JobId, Millis};
use crate::words::keys::ShareNodeId;
use crate::words::resource::Resource;

#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) job: JobId,
    pub(super) key: ContainerKey,
    pub(super) leaf: ShareNodeId,
    /// Its request priority; the smaller, the earlier.
    pub(super) priority: i32,
    /// Whether it is an ApplicationMaster.
    pub(super) am: bool,
    /// Whether its room was lent to an ask without the node's label: that goes first.
    pub(super) lent: bool,
    /// How many queues are further above their share than this one's.
    pub(super) rank: usize,
    pub(super) started_ms: Millis,
    pub(super) resource: Resource,
    pub(super) pool: Option<usize>,
}
