//! The reasons why an ask waits, and the remedies, as stages and engine report them. A reason is
//! small and `Copy`, so that keeping it costs nothing on a heartbeat.

use crate::model::job::{Ask, Job};
use crate::model::queue::Spares;
use crate::words::credits::{Bound, Credits};
use crate::words::ids::{AskId, JobId, Locality, Millis, NodeId, PartitionId, QueueId};
use crate::words::kind::Kind;
use crate::words::resource::Resource;
use serde::Serialize;

/// The part of the scheduler that made a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The engine itself: room, limits of queues, what jobs refuse.
    Engine,
    /// Picks the queue.
    Share,
    /// Picks the job.
    Order,
    Place,
    /// The host, which may refuse a grant.
    Host,
}

impl Stage {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Engine => "engine",
            Stage::Share => "share",
            Stage::Order => "order",
            Stage::Place => "place",
            Stage::Host => "host",
        }
    }
}

/// A pending ask that is explained.
#[derive(Clone, Copy, Debug)]
pub struct PendingAsk<'a> {
    /// Job of the ask.
    pub job: &'a Job,
    pub ask: &'a Ask,
    pub kind: Kind,
    /// Pool whose slots it takes.
    pub pool: Option<usize>,
}

impl PendingAsk<'_> {
    /// Returns what one container needs.
    pub fn size(&self) -> Resource {
        self.ask.facts.resource
    }
}

/// The amounts that a user has in a leaf, and may have; or those of all ApplicationMasters there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserBound {
    pub queue: QueueId,
    pub used: Resource,
    pub limit: Resource,
    /// The part of what the limit leaves that is kept for an ApplicationMaster before it.
    pub kept: Resource,
    /// Whether it is the limit of all users.
    pub of_leaf: bool,
    /// Index of the resource type by which usage and limit compare.
    pub compared: u8,
}

/// A resource type of which a container needs more than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shortage {
    /// Index of the resource type.
    pub resource: u8,
    /// Amount that one container wants.
    pub wanted: i64,
    /// The largest amount there is.
    pub most: i64,
}

/// Measures by which the order stage compares jobs of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Slot-milliseconds that the job is owed; the larger goes first.
    Owed(i64),
    /// Slot-milliseconds of work left in the virtual fair cluster; the smaller goes first.
    WorkLeft(i64),
    /// MB in use; the smaller goes first.
    Memory(i64),
    /// MB in use, divided by the weight of the job's size; the smaller goes first.
    MemoryBySize(i64),
    /// Millionths of the cluster that the job uses of its dominant resource, by weight; the smaller
    /// goes first.
    DominantShare(i64),
}

/// The jobs that go first in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ahead {
    pub jobs: u32,
    /// Containers that they ask for.
    pub tasks: u32,
    /// The next job.
    pub first: JobId,
    /// Whether there are more than were counted.
    pub more: bool,
}

/// Why an ask waits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// `max_running_jobs` of a queue on its path is reached.
    JobLimit {
        queue: QueueId,
        /// Jobs that run there.
        running: u32,
        /// Limit of running jobs.
        max: u32,
        /// Jobs that are let in before it.
        ahead: u32,
    },
    /// Its user runs as many jobs as allowed, in a queue or in all.
    UserJobs {
        queue: QueueId,
        /// Whether it is the limit of all queues together.
        everywhere: bool,
        /// Jobs of the user that run there.
        running: u32,
        /// Limit of running jobs.
        max: u32,
        /// Jobs of the user that are let in before it.
        ahead: u32,
    },
    /// Its user has more of the queue than one user may.
    UserLimit {
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// Amount that the user's jobs use.
        used: i64,
        /// The limit, above which they get nothing.
        max: i64,
    },
    /// ApplicationMasters of its user use what those of one user may.
    UserMasters {
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// Amount that they use.
        used: i64,
        /// Amount that one more wants.
        wanted: i64,
        /// Limit of what they may use.
        max: i64,
        /// The part of what the limit leaves that is kept for one that is next in line.
        kept: i64,
    },
    /// No node of its label is up.
    NoNodes {
        /// The label.
        partition: PartitionId,
        /// Nodes of other labels that have the room.
        labelled: u32,
    },
    /// A container is larger than any node.
    TooLarge {
        #[serde(flatten)]
        shortage: Shortage,
        /// The largest node, if others have more of the resource type and less of another.
        node: Option<NodeId>,
    },
    /// The order stage lets no task of its kind start.
    Held(OrderLimit),
    /// A queue on its path would exceed its `max_share`.
    QueueLimit {
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// Amount that the queue uses.
        used: i64,
        /// Amount that one container wants.
        wanted: i64,
        /// Limit of the queue.
        max: i64,
        /// The part of what the limit leaves that is kept for an ask that is next in line.
        kept: i64,
    },
    /// ApplicationMasters of its queue use what `max_am_share` allows.
    MasterLimit {
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// Amount that they use.
        used: i64,
        /// Amount that one more wants.
        wanted: i64,
        /// Limit of what they may use.
        max: i64,
        /// The part of what the limit leaves that is kept for one that is next in line.
        kept: i64,
    },
    /// Its queue uses what its bid buys, and no slot is idle.
    Quota {
        queue: QueueId,
        /// Slots that the queue uses.
        used: u32,
        /// Slots that the queue pays for.
        quota: u32,
        /// Bid of the queue, in force or for the next interval.
        bid: Credits,
        /// Budget of the queue.
        budget: Credits,
        /// Sum of all bids.
        price: Credits,
    },
    /// The job's authority does not pay for one more slot, and every idle slot was bought.
    Authority {
        bound: Bound,
        /// Credits that the job may spend in all.
        credits: Credits,
        spent: Credits,
        /// The highest rate that the job may pay.
        rate: Credits,
        /// Rate of the queue, in force or bid.
        bid: Credits,
        /// Slots that the rest pays for until the interval ends.
        slots: u32,
    },
    /// Another queue goes first.
    Share {
        /// The job's queue, or the ancestor that is compared.
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// Amount that the queue uses.
        used: i64,
        entitled: i64,
        /// The queue that goes first.
        first: QueueId,
        /// What no node has enough of for the ask.
        short: Option<Shortage>,
    },
    /// A job of another queue arrived first.
    Arrival { queue: QueueId, first: JobId },
    /// Other jobs of its queue go first.
    Behind {
        ahead: Ahead,
        mine: Option<Measure>,
        /// Measure of the first of those ahead.
        theirs: Option<Measure>,
    },
    /// The ask insists on hosts or racks that hold its data.
    Locality {
        /// The level at which it may run now.
        level: Locality,
        /// When it accepts the next wider level, if its clock runs.
        until_ms: Option<Millis>,
    },
    /// Its queue is passed over for tasks of other queues with better places.
    Racks {
        /// Whether it waits for racks with its data; otherwise for its preferred racks.
        data: bool,
        /// When it accepts more nodes.
        until_ms: Millis,
    },
    /// The ask may run only on the hosts and racks that it named.
    Strict {
        /// Number of places that it named.
        places: u32,
        /// Nodes there that are up and large enough.
        up: u32,
    },
    /// The job blacklisted the nodes that have room.
    Blacklisted {
        nodes: u32,
        /// Whether they have room; otherwise they are all that are large enough.
        room: bool,
    },
    /// The host refused the job a moment ago on the nodes that have room.
    Refused {
        nodes: u32,
        /// When the first of them may be tried again.
        until_ms: Millis,
    },
    /// The ask is next, and the nodes with room have no free slot of its pool.
    Slots {
        pool: u8,
        /// Tasks that run in the pool.
        running: u32,
        /// Slots of the pool.
        slots: u32,
        /// Whether a workload outside YARN takes slots of those nodes.
        foreign: bool,
    },
    /// The ask is next, and no node has the room.
    Room {
        /// What lacks on the node with the most free memory.
        shortage: Shortage,
        node: NodeId,
        /// A node that is held for this job.
        held: Option<NodeId>,
        /// Nodes of other labels that have the room.
        labelled: u32,
        /// A queue above its share that preemption spares.
        spared: Option<Spares>,
    },
    /// The ask is next, and the nodes that have room are held for other asks.
    HeldNodes {
        nodes: u32,
        /// When the first hold ends.
        until_ms: Millis,
    },
    /// The ask is next: nodes with room for it are about to report.
    /// With 0 nodes the job is let in when any job ends.
    Soon { nodes: u32 },
}

/// Why the order stage holds tasks back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderLimit {
    /// Reduces wait for maps to end.
    SlowStart {
        done: u32,
        /// Maps that must end.
        needed: u32,
    },
    /// The job runs `max_tasks_per_job` tasks of the kind.
    MaxTasks {
        running: u32,
        /// The limit.
        max: u32,
    },
    /// Its user runs `user_max_jobs` jobs.
    UserJobs {
        /// The limit.
        max: u32,
        /// The least limit with which the job would run.
        needed: u32,
    },
    /// The stage gives no reason.
    Unsaid,
}

impl Reason {
    /// Returns the part of the scheduler that holds the ask up.
    pub fn stage(&self) -> Stage {
        match self {
            Reason::Quota { .. }
            | Reason::Authority { .. }
            | Reason::Share { .. }
            | Reason::Arrival { .. } => Stage::Share,
            Reason::Held(_) | Reason::Behind { .. } => Stage::Order,
            Reason::Locality { .. } | Reason::Racks { .. } => Stage::Place,
            Reason::Slots { foreign: true, .. } => Stage::Order,
            Reason::Refused { .. } => Stage::Host,
            _ => Stage::Engine,
        }
    }

    /// Whether no other ask goes before this one.
    pub(crate) fn is_next(&self) -> bool {
        matches!(
            self,
            Reason::Soon { .. }
                | Reason::Room { .. }
                | Reason::Slots { .. }
                | Reason::HeldNodes { .. }
        )
    }

    /// Whether both are the same reason, perhaps with other numbers.
    pub fn is_like(&self, other: &Reason) -> bool {
        match (self, other) {
            (Reason::Held(a), Reason::Held(b)) => {
                std::mem::discriminant(a) == std::mem::discriminant(b)
            }
            (Reason::Locality { level: a, .. }, Reason::Locality { level: b, .. }) => a == b,
            (Reason::Authority { bound: a, .. }, Reason::Authority { bound: b, .. }) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// What would let the ask run. Worked out by the functions that decide, on a copy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// A `max_running_jobs` of the queue with which the job would run.
    RunningJobs {
        queue: QueueId,
        /// The least limit.
        limit: u32,
    },
    /// A limit of the user's running jobs, in a queue or in all, with which the job would run.
    UserRunningJobs {
        queue: QueueId,
        /// Whether it is the limit of all queues together.
        everywhere: bool,
        /// The least limit.
        limit: u32,
    },
    /// A `user_limit_percent` of the queue with which the user's jobs would go on.
    UserPercent {
        queue: QueueId,
        /// The least percentage.
        percent: u32,
    },
    /// A `user_limit_factor` of the queue with which the user's jobs would go on.
    UserFactor {
        queue: QueueId,
        /// The least factor, in tenths.
        tenths: u32,
    },
    /// A `max_share` of the queue that admits one more container of this size.
    MaxShare {
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// The least limit.
        limit: i64,
    },
    /// A `max_am_share` of the queue that admits the ApplicationMaster.
    MasterShare {
        queue: QueueId,
        /// The least share, in thousandths.
        per_mille: u32,
    },
    /// A bid that gives the queue more slots.
    Bid {
        queue: QueueId,
        /// The least bid that gives it `slots` more.
        bid: Credits,
        /// Additional slots.
        slots: u32,
        /// A higher bid with fewer digits, and the additional slots that it gives.
        rounded: (Credits, u32),
        /// Whether its budget does not cover one slot at the bid.
        unpaid: bool,
    },
    /// The next interval, from which the queue's new bid gives it more slots.
    Interval {
        at_ms: Millis,
        /// Additional slots.
        slots: u32,
    },
    /// A weight that entitles the queue to one more container of this size.
    Weight {
        queue: QueueId,
        /// The least weight, in steps of a thousandth.
        weight: f64,
        /// Index of the resource type.
        resource: u8,
        /// Entitlement with that weight.
        entitled: i64,
    },
    /// An application priority that puts the job first in its queue.
    Priority {
        /// The least priority.
        priority: i32,
    },
    /// A `max_tasks_per_job` with which one more task might start.
    MaxTasks {
        /// The least limit.
        limit: u32,
    },
    /// A `user_max_jobs` with which the job would run.
    UserJobs {
        /// The least limit.
        limit: u32,
    },
    /// The end of more of its maps.
    Maps { more: u32 },
    /// Time alone.
    Time {
        at_ms: Millis,
        /// Level at which the ask may run then, if that changes.
        level: Option<Locality>,
    },
    /// A node with enough of a resource type.
    Node {
        /// Index of the resource type.
        resource: u8,
        amount: i64,
        /// Whether the amount must be free; otherwise it is the size of the node.
        free: bool,
    },
}

/// Why an ask waits and what would change that.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    /// The ask; the first of those that wait alike.
    pub ask: AskId,
    pub kind: Kind,
    /// Whether it is the ApplicationMaster.
    pub am: bool,
    /// Containers that wait.
    pub pending: u32,
    pub reason: Reason,
    /// Jobs that go first in its queue, whatever the reason.
    pub ahead: Option<Ahead>,
    /// What would let the ask run, all of it together. Empty if only the end of others would.
    pub remedies: Vec<Remedy>,
}
