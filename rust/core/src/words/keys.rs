//! The small values by which the parts of the engine name places in an order, in the tree of
//! shares and in the backlog. No behaviour beyond making and comparing them.

use super::ids::{ContainerKey, JobId, Millis, PlaceId, TIME_MAX_MS};
use super::kind::Kind;

/// How many pools of virtual slots there are: maps and reduces apart, or all in the first.
pub const POOLS: usize = 2;

/// A job's place in its leaf's order; the smaller is served first. Ties go to the smaller job id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderKey(pub i64, pub i64);

impl OrderKey {
    /// Before every other key.
    pub const FIRST: OrderKey = OrderKey(i64::MIN, i64::MIN);
}

/// A child's place among its siblings; the smaller is served first. Ties go to the smaller id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareKey {
    /// Compared first. By usage: 0 below the minimum share, 1 above it, 2 without weight. A market
    /// has classes of its own.
    pub class: u8,
    /// Compared next; 0 where queues have no priorities. The smaller goes first.
    pub rank: i32,
    /// How much it has of what it should have: the bits of a non-negative `f64`, which sort like
    /// the numbers. Or the first arrival.
    pub ratio: u64,
}

impl ShareKey {
    /// A key from a ratio of at least 0.
    pub fn new(class: u8, ratio: f64) -> ShareKey {
        ShareKey::by_priority(class, 0, ratio)
    }

    /// The same with a priority, of which the larger goes first.
    pub fn by_priority(class: u8, priority: i32, ratio: f64) -> ShareKey {
        ShareKey {
            class,
            rank: priority.saturating_neg(),
            ratio: ratio.max(0.0).to_bits(),
        }
    }

    /// A key by the time of an arrival, then the job (ids have 20 bits, times up to 43).
    pub fn by_arrival(class: u8, (submitted_ms, job): (Millis, JobId)) -> ShareKey {
        let submitted_ms = submitted_ms.clamp(0, TIME_MAX_MS) as u64;
        ShareKey {
            class,
            rank: 0,
            ratio: submitted_ms << 20 | u64::from(job.0),
        }
    }
}

/// The form of the tree of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One leaf holds all jobs.
    Single,
    /// The tree of queues; each has a part of its parent's by weight.
    Queues,
    /// Every queue is directly below the root, whatever its path, and keeps the first arrival among
    /// its asks for the keys.
    Flat,
}

/// One search of the tree for a node. It ends at the first ask that is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Whether it stays within what is paid for, for shares that sell slots.
    pub within_quota: bool,
    /// A child whose key has a higher class than this is not visited.
    pub class_max: u8,
    /// Whether siblings are visited in order of their ratios alone, whatever their class.
    pub by_ratio: bool,
}

impl Pass {
    /// Visits every node, in order of keys.
    pub const ALL: Pass = Pass {
        within_quota: false,
        class_max: u8::MAX,
        by_ratio: false,
    };
}

/// A container that a stage takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The job that owns it.
    pub job: JobId,
    /// The container.
    pub key: ContainerKey,
}

/// Containers that must start in place of those that a stage takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The leaf whose asks they are of.
    pub leaf: ShareNodeId,
    /// The job and the kind of its tasks; none for any of the leaf.
    pub of: Option<(JobId, Kind)>,
    /// The pool of their slots.
    pub pool: usize,
    /// How many.
    pub count: u32,
}

/// Containers that a stage takes back, and for which others.
#[derive(Clone, Debug, Default)]
pub struct Reclaimed {
    /// In the order in which they go, as far as they make room for claims.
    pub victims: Vec<Victim>,
    /// In the order in which they are served.
    pub claims: Vec<Claim>,
    /// How many claims lack a slot that is not idle or on its way.
    pub missing: u32,
    /// Whether workloads outside YARN take the slots: all victims go.
    pub for_others: bool,
}

/// A class in which open and strict asks of a job stand: for the nodes of one rack, or
/// (`PlaceId::ANY`) for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    /// The implementation's number for the class.
    pub class: u8,
    /// The rack for whose nodes it stands.
    pub rack: PlaceId,
}

/// How near to the node that reports a step looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// Asks that name its host.
    Host,
    /// Asks that name its rack.
    Rack,
    /// All.
    Any,
}

/// One step of the search in a leaf: tasks of a kind and class, as near to the node as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind.
    pub kind: Kind,
    /// The class in which they must stand, for the rack of the node or for all.
    pub class: u8,
    /// How near.
    pub near: Near,
}

/// A node of the tree of shares. Its number is that of its queue, unless one leaf holds all jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareNodeId(pub u32);

impl ShareNodeId {
    /// The root.
    pub const ROOT: ShareNodeId = ShareNodeId(0);

    /// The id as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An interned shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShapeId(pub u32);
