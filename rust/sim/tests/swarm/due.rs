//! Events that the simulated world plans.

use heddle_core::words::ids::{ContainerKey, JobId, NodeId};

/// A serial number of a simulated job. Job ids are reused, serial numbers are not.
pub type Serial = u64;

/// A planned event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A job is submitted.
    Submission,
    /// A node reports. The number distinguishes reports of the node's earlier lives.
    NodeHeartbeat(NodeId, u32),
    /// A lost node comes back.
    NodeBack(NodeId),
    /// A draining node returns to service.
    NodeUp(NodeId),
    /// The ApplicationMaster of a job reports.
    MasterHeartbeat(JobId, Serial),
    /// The next attempt of a job begins.
    NextAttempt(JobId, Serial),
    /// A container exits on its own.
    ContainerEnd(JobId, Serial, ContainerKey),
    /// A container whose grace period is over is killed.
    Eviction(JobId, Serial, ContainerKey),
    /// Time passes for the engine.
    Tick,
    /// Something goes wrong.
    Fault,
    /// Time resumes after standing still.
    Thaw,
}
