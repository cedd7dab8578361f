//! The whole vocabulary of the engine: what may happen (`Event`) and what it decides
//! (`Decision`). No encoding here; the bridge's frames mirror these two enums.
//!
//! Amounts in events are absolute, never differences. An event that is sent again, or sent after
//! the truth has moved on, thus cannot make the engine's books drift from the host's.

use crate::words::ids::{
    AskId, ContainerKey, JobId, Locality, Millis, NodeId, PartitionId, PlaceId, QueueId, UserId,
};
use crate::words::resource::Resource;

/// The facts of a node; sent when it appears and when any of them changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// The node.
    pub node: NodeId,
    /// Its host name as asks name it. Several nodes may share one host.
    pub host: PlaceId,
    /// Its rack as asks name it.
    pub rack: PlaceId,
    /// Its node label.
    pub partition: PartitionId,
    /// Whether asks without a label may have the room that those of its label leave: YARN's
    /// labels that are not exclusive.
    pub lends: bool,
    /// Whether it may get containers (running, neither draining nor lost).
    pub schedulable: bool,
    /// All that it has for containers.
    pub capacity: Resource,
    /// The free room on it now, by the host's books.
    pub free: Resource,
}

/// One kind of container that a job asks for, with its total count: YARN's `ANY` row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskFacts {
    /// The job.
    pub job: JobId,
    /// Which of its asks.
    pub ask: AskId,
    /// How many containers are asked for in all. 0 withdraws the ask.
    pub count: u32,
    /// YARN's request priority: the lower number is served first.
    pub priority: i32,
    /// The node label that the containers need.
    pub partition: PartitionId,
    /// Whether unnamed places may serve the ask.
    pub relax: bool,
    /// Whether this is the container of the ApplicationMaster.
    pub am: bool,
    /// Whether this grows or promotes a running container instead of starting one.
    pub update: bool,
    /// The resources of one container.
    pub resource: Resource,
}

/// A container that runs without having been granted by this engine: recovered or replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerFacts {
    /// The job that owns it.
    pub job: JobId,
    /// Its key in that job.
    pub key: ContainerKey,
    /// Where it runs.
    pub node: NodeId,
    /// YARN's request priority, which tells maps from reduces.
    pub priority: i32,
    /// Whether it is the ApplicationMaster.
    pub am: bool,
    /// When it started.
    pub started_ms: Millis,
    /// The resources that it holds.
    pub resource: Resource,
}

/// A job at its submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFacts {
    /// The job.
    pub job: JobId,
    /// Its queue.
    pub queue: QueueId,
    /// Its owner.
    pub user: UserId,
    /// YARN's application priority: the higher number is served first.
    pub priority: i32,
    /// Whether it is a MapReduce job, whose request priorities tell the kind of a task.
    pub mapreduce: bool,
    /// Whether its ApplicationMaster runs outside the cluster.
    pub unmanaged_am: bool,
    /// When it was submitted. Ties are broken by the job id.
    pub submitted_ms: Millis,
}

/// Facts of a job beyond its asks; unknown ones are `None`. Claims by users are hints: policies
/// bound them by what they observe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobHints {
    /// How many maps and reduces it has in all.
    pub tasks: [Option<u32>; 2],
    /// Bytes that its maps read.
    pub input_bytes: Option<u64>,
    /// Bytes shuffled per 1,000 bytes of map input.
    pub shuffle_per_mille: Option<u32>,
    /// When it should have ended, on the engine's clock.
    pub deadline_ms: Option<Millis>,
    /// Mean length of its maps and reduces, from a profile of earlier runs.
    pub task_ms: [Option<Millis>; 2],
    /// Identifies runs of one program on similar data, such as a hash of the job's name without its
    /// number. What was learnt of one run is expected of the next.
    pub signature: Option<u64>,
}

/// The progress of a running task. All zero until something is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// Progress of a map; of a reduce, that of its execution after the shuffle. 0 to 1,000.
    pub progress_per_mille: u32,
    /// Bytes that it has read.
    pub input_bytes: u64,
    /// Bytes that it has written.
    pub output_bytes: u64,
    /// When the reduce function began.
    pub executing_since_ms: Option<Millis>,
    /// Whether it is committing its output and should not be stopped now.
    pub committing: bool,
}

/// The work of all tasks of a job so far, as its ApplicationMaster counts it; each number only
/// grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounters {
    /// How many maps and reduces have succeeded.
    pub done: [u32; 2],
    /// Bytes that maps have read.
    pub input_bytes: u64,
    /// Bytes of map output, as it is fetched.
    pub map_output_bytes: u64,
    /// Bytes that reduces have fetched.
    pub shuffled_bytes: u64,
    /// Bytes written as the job's output.
    pub written_bytes: u64,
}

/// Why the host refused a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The job, or its attempt, ended.
    StaleJob,
    /// The node left or changed.
    StaleNode,
    /// The ask was withdrawn meanwhile.
    AskGone,
    /// The node has less room than the engine thought.
    NoFit,
    /// The job blacklisted the place.
    Blacklisted,
    /// A placement constraint forbids it.
    Constraint,
    /// No container token could be made.
    Token,
    /// Anything else.
    Other,
}

/// A change of the cluster, as the host reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A node joined.
    NodeAdded(NodeFacts),
    /// A node left. Its containers have been reported completed before.
    NodeRemoved(NodeId),
    /// A node's capacity, label or state changed.
    NodeChanged(NodeFacts),
    /// A node reports; room may have appeared. The engine schedules it now.
    Heartbeat {
        /// The node.
        node: NodeId,
        /// The free room on it, by the host's books.
        free: Resource,
    },
    /// A job was submitted.
    JobAdded(JobFacts),
    /// Facts of a job beyond its asks; replaces those known before.
    JobHints {
        /// The job.
        job: JobId,
        /// The facts.
        hints: JobHints,
    },
    /// Blocks of a job's input with the racks that hold replicas; adds to what is known.
    InputBlocks {
        /// The job.
        job: JobId,
        /// The racks; `PlaceId::ANY` for none.
        racks: [PlaceId; 3],
        /// How many blocks.
        blocks: u32,
        /// Their length together.
        bytes: u64,
    },
    /// A running task made progress.
    Task {
        /// The job.
        job: JobId,
        /// The container that runs it.
        key: ContainerKey,
        /// Its progress.
        facts: TaskFacts,
    },
    /// The process of a container runs: its launch, which comes before its task, has begun.
    ContainerLaunched {
        /// The job.
        job: JobId,
        /// The container.
        key: ContainerKey,
        /// When its node said so.
        launched_ms: Millis,
    },
    /// The work of a job's tasks so far; replaces the counters before.
    JobCounters {
        /// The job.
        job: JobId,
        /// The counters.
        counters: JobCounters,
    },
    /// How much map output a node has sent to any receiver since its NodeManager started.
    NodeShuffle {
        /// The node.
        node: NodeId,
        /// Bytes sent.
        sent_bytes: u64,
    },
    /// Traffic between a rack and the others, mean over the last period.
    RackTraffic {
        /// The rack.
        rack: PlaceId,
        /// Out of the rack.
        up_bytes_per_s: u64,
        /// Into the rack.
        down_bytes_per_s: u64,
        /// The link's bandwidth in either direction.
        bandwidth_bytes_per_s: u64,
    },
    /// The part of a node that workloads outside YARN use now.
    NodeLoad {
        /// The node.
        node: NodeId,
        /// In thousandths, 0 to 1,000.
        foreign_per_mille: u32,
    },
    /// A job ended. Containers that it still has go with it.
    JobRemoved(JobId),
    /// A job changes queue.
    JobMoved {
        /// The job.
        job: JobId,
        /// Its new queue.
        queue: QueueId,
    },
    /// A job's application priority changed.
    JobPriority {
        /// The job.
        job: JobId,
        /// Higher is served first.
        priority: i32,
    },
    /// A new attempt began: the asks and the blacklist of the old one are void.
    JobReset(JobId),
    /// A job asked for more, and gets now what nodes with known room would give it when they
    /// report.
    Offer(JobId),
    /// The free room of a node, without a report that asks for grants.
    Room {
        /// The node.
        node: NodeId,
        /// By the host's books.
        free: Resource,
    },
    /// The last report of a node is late. It is offered no more until it reports.
    NodeSilent(NodeId),
    /// A job (un)blacklists a host or rack.
    Blacklist {
        /// The job.
        job: JobId,
        /// The host or rack.
        place: PlaceId,
        /// Whether it is added or removed.
        added: bool,
    },
    /// A job's total ask of one kind changed.
    Ask(AskFacts),
    /// The part of an ask that names one host or rack changed.
    AskRow {
        /// The job.
        job: JobId,
        /// The ask; its `Ask` event came before.
        ask: AskId,
        /// The host or rack.
        place: PlaceId,
        /// How many of the containers would be local there.
        count: u32,
        /// For a rack: whether hosts that were not named may serve it.
        relax: bool,
    },
    /// A container runs that this engine did not grant.
    ContainerAdded(ContainerFacts),
    /// A container ended, whatever the reason.
    ContainerCompleted {
        /// The job that owned it.
        job: JobId,
        /// Its key.
        key: ContainerKey,
        /// YARN's exit status; 0 for a task that succeeded.
        exit: i32,
    },
    /// A container grew or shrank.
    ContainerResized {
        /// The job that owns it.
        job: JobId,
        /// Its key.
        key: ContainerKey,
        /// The resources that it holds now.
        resource: Resource,
    },
    /// The host committed a grant as container `key`.
    Ack {
        /// The job that the grant was for.
        job: JobId,
        /// The grant.
        seq: u64,
        /// The container that it became.
        key: ContainerKey,
    },
    /// The host refused a grant; its usage and its ask are restored. After a `JobReset` the usage
    /// alone is.
    Nack {
        /// The job that the grant was for.
        job: JobId,
        /// The grant.
        seq: u64,
        /// Why.
        refusal: Refusal,
    },
    /// Time passed: the engine recomputes shares, headrooms and evictions.
    Tick,
    /// A test wants a fault. Honoured only if the configuration allows faults.
    Fault(u32),
}

/// Why a container is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictReason {
    /// A queue below its minimum share waited too long.
    MinShare = 1,
    /// A queue far below its fair share waited too long.
    FairShare = 2,
    /// Its queue no longer pays for it, and another would (DP-22).
    Unpaid = 3,
    /// Its slot goes to another job, by the order stage, or to a workload outside YARN.
    Displaced = 4,
    /// In its queue, a job that goes first waits, or a user below the limit (DI-30).
    Inside = 5,
}

/// A decision of the engine, for the host to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Start one container of `ask` on `node`. The host answers with `Ack` or `Nack`, in order.
    Grant {
        /// The job.
        job: JobId,
        /// Which of its asks.
        ask: AskId,
        /// Where.
        node: NodeId,
        /// The locality that it counts as.
        locality: Locality,
        /// Number of the grant, for the answer.
        seq: u64,
    },
    /// Take a container back after `grace_ms`.
    Evict {
        /// The job that owns it.
        job: JobId,
        /// The container.
        key: ContainerKey,
        /// Why.
        reason: EvictReason,
        /// How long the job may take to give it back by itself.
        grace_ms: u32,
    },
    /// The room that a job may still get, for its ApplicationMaster's planning.
    Headroom {
        /// The job.
        job: JobId,
        /// Room left for it.
        resource: Resource,
    },
}
