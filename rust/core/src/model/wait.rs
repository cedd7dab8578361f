//! Why an ask waits and what would change that: the words in which stages and engine say it. A
//! reason is a few words that are copied, so that keeping it costs nothing on a heartbeat.

use crate::model::job::{Ask, Job};
use crate::words::credits::{Bound, Credits};
use crate::words::ids::{JobId, Locality, Millis, NodeId, PartitionId, QueueId};
use crate::words::kind::Kind;
use crate::words::resource::Resource;
use serde::Serialize;

/// Which part of the engine a decision was made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The engine itself: room, limits of queues, what jobs and hosts refuse.
    Engine,
    /// Which queue.
    Share,
    /// Which job.
    Order,
    Place,
    /// The host, which may refuse a grant.
    Host,
}

impl Stage {
    /// Its name in reports.
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

/// A pending ask, to be explained.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Whose.
    pub job: &'a Job,
    pub ask: &'a Ask,
    pub kind: Kind,
    /// Whose slots it takes.
    pub pool: Option<usize>,
}

impl Asked<'_> {
    /// What one container needs.
    pub fn size(&self) -> Resource {
        self.ask.facts.resource
    }
}

/// An amount of one resource type that is too small: what there is and what it would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shortage {
    /// Index of the resource type.
    pub resource: u8,
    /// What one container wants of it.
    pub wanted: i64,
    /// What there is at the most.
    pub most: i64,
}

/// What the place of a job in its queue's order is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The larger goes first: slot-milliseconds that it is owed.
    Owed(i64),
    /// The smaller goes first: slot-milliseconds of work left in the virtual fair cluster.
    WorkLeft(i64),
}

/// Who goes first in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ahead {
    pub jobs: u32,
    /// How many containers they ask for.
    pub tasks: u32,
    /// The one that is next.
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
        /// How many jobs run there.
        running: u32,
        /// How many may.
        max: u32,
        /// How many go before it once there is room for one more.
        ahead: u32,
    },
    /// No node has its label, or none is up.
    NoNodes {
        /// The label.
        partition: PartitionId,
        /// How many nodes of other labels have the room.
        labelled: u32,
    },
    /// No node is as large.
    TooLarge(Shortage),
    /// The order stage lets none of its kind start.
    Held(Held),
    /// A queue on its path would exceed its `max_share`.
    QueueLimit {
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// What the queue has of it.
        used: i64,
        /// What one container wants.
        wanted: i64,
        /// What the queue may have.
        max: i64,
    },
    /// ApplicationMasters of its queue hold what `max_am_share` lets them.
    MasterLimit {
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// What they hold of it.
        used: i64,
        /// What one more wants.
        wanted: i64,
        /// What they may hold.
        max: i64,
    },
    /// Its queue uses what its bid buys, and no slot is idle.
    Quota {
        queue: QueueId,
        /// The slots it uses.
        used: u32,
        /// The slots it pays for.
        quota: u32,
        /// Its bid, in force or to be.
        bid: Credits,
        /// What its budget holds.
        budget: Credits,
        /// The sum of all bids.
        price: Credits,
    },
    /// What it may spend does not pay for one slot more, and no slot is idle that nobody bought.
    Authority {
        bound: Bound,
        /// What it may spend in all.
        credits: Credits,
        spent: Credits,
        /// The rate that it may pay.
        rate: Credits,
        /// Its queue's rate, in force or bid.
        bid: Credits,
        /// For how many slots what is left is enough until the interval ends.
        slots: u32,
    },
    /// Another queue goes first.
    Share {
        /// Its queue, or the one above it that is compared.
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// What it uses.
        used: i64,
        entitled: i64,
        /// The queue that goes first.
        first: QueueId,
    },
    /// Another queue's job came first.
    Arrival { queue: QueueId, first: JobId },
    /// Other jobs of its queue go first.
    Behind {
        ahead: Ahead,
        mine: Option<Measure>,
        /// By what the first of them is.
        theirs: Option<Measure>,
    },
    /// It insists on hosts or racks that hold its data.
    Locality {
        /// Where it may run now.
        level: Locality,
        /// When it goes further, if its clock runs.
        until_ms: Option<Millis>,
    },
    /// Its queue is passed over for tasks that lie better.
    Racks {
        /// Whether it waits for racks with its data; else for those that are wanted for it.
        data: bool,
        /// When it waits for less.
        until_ms: Millis,
    },
    /// It may run on the hosts and racks only that it named.
    Strict {
        /// How many it named.
        places: u32,
    },
    /// It blacklisted the nodes that have room.
    Blacklisted { nodes: u32 },
    /// The host refused it on the nodes that have room a moment ago.
    Refused {
        nodes: u32,
        /// When the first may be tried again.
        until_ms: Millis,
    },
    /// It is next, and every slot of its pool is taken on nodes that have room.
    Slots {
        pool: u8,
        /// How many run.
        running: u32,
        /// How many there are.
        slots: u32,
        /// Whether a workload that is not YARN's takes slots of those nodes.
        foreign: bool,
    },
    /// It is next, and no node has the room.
    Room {
        /// What it lacks where most is free.
        shortage: Shortage,
        node: NodeId,
        /// A node that is held for this job.
        held: Option<NodeId>,
        /// How many nodes of other labels have the room.
        labelled: u32,
        /// A queue above its share that keeps what preemption would take for it.
        spared: Option<QueueId>,
    },
    /// It is next, and the nodes that have room are held for a larger ask.
    HeldNodes {
        nodes: u32,
        /// When the first is let go.
        until_ms: Millis,
    },
    /// It is next: nodes with room for it are about to report.
    Soon { nodes: u32 },
}

/// Why the order stage holds tasks back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// Reduces wait until so many maps have ended.
    SlowStart {
        done: u32,
        /// How many must.
        needed: u32,
    },
    /// It runs as many tasks of the kind as `max_tasks_per_job` lets it.
    MaxTasks {
        running: u32,
        /// The limit.
        max: u32,
    },
    /// Its user has as many jobs running as `user_max_jobs` lets them.
    UserJobs {
        /// The limit.
        max: u32,
        /// The least limit with which it would run.
        needed: u32,
    },
    /// The stage does not say.
    Unsaid,
}

impl Reason {
    /// Who holds it up.
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

    /// Whether both say the same with other numbers.
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

/// What would change it. Worked out by the functions that decide, on a copy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// With `max_running_jobs` of that queue at so many it would run.
    RunningJobs {
        queue: QueueId,
        /// The least limit.
        limit: u32,
    },
    /// With `max_share` of that queue at so much one more container of this size would be
    /// within it.
    MaxShare {
        queue: QueueId,
        /// Index of the resource type.
        resource: u8,
        /// The least limit.
        limit: i64,
    },
    /// With `max_am_share` of that queue at so much its ApplicationMaster would be within it.
    MasterShare {
        queue: QueueId,
        /// In thousandths, the least.
        per_mille: u32,
    },
    /// With that bid its queue would be given so many slots more.
    Bid {
        queue: QueueId,
        /// The least bid that gives it `slots` more.
        bid: Credits,
        /// How many more.
        slots: u32,
        /// A bid with fewer digits, above that, and what it gives.
        rounded: (Credits, u32),
        /// Whether its budget does not cover one slot at the bid.
        unpaid: bool,
    },
    /// Its queue has changed its bid: from that moment on it has so many slots more.
    Interval {
        at_ms: Millis,
        /// How many more.
        slots: u32,
    },
    /// With that weight its queue would be entitled to one more container of this size.
    Weight {
        queue: QueueId,
        /// The least weight, in steps of a thousandth.
        weight: f64,
        /// Index of the resource type.
        resource: u8,
        /// The entitlement then.
        entitled: i64,
    },
    /// With that application priority it would be the first of its queue.
    Priority {
        /// The least priority.
        priority: i32,
    },
    /// With that limit of tasks per job one more might start.
    MaxTasks {
        /// The least limit.
        limit: u32,
    },
    /// With that limit of jobs per user it would run.
    UserJobs {
        /// The least limit.
        limit: u32,
    },
    /// When so many more of its maps have ended.
    Maps { more: u32 },
    /// From that moment on, without anything else.
    Time {
        at_ms: Millis,
        /// Where it may run then, if that changes.
        level: Option<Locality>,
    },
    /// A node with so much of a resource type, all of it or free.
    Node {
        /// Index of the resource type.
        resource: u8,
        amount: i64,
        /// Whether it must be free; else it is the size of the node.
        free: bool,
    },
}

/// Why an ask waits and what would change that.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    pub kind: Kind,
    /// Whether it is the ApplicationMaster.
    pub am: bool,
    /// How many containers wait.
    pub pending: u32,
    pub reason: Reason,
    /// Who goes first in its queue, whatever the reason.
    pub ahead: Option<Ahead>,
    /// What would change it, all of them together; nothing if only the end of others would.
    pub remedies: Vec<Remedy>,
}
