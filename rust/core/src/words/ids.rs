//! Identifiers and small values of the engine. No behaviour beyond conversion and order.
//!
//! The core never sees a host name, a YARN class or a path: hosts intern everything to dense
//! integers. Tables are thus vectors, and ties are broken by number, the same on every run.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash,
        )]
        #[derive(Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a dense table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A NodeManager.
    NodeId
}
id! {
    /// A resource name of an ask: any host, one host or one rack, in one id space.
    PlaceId
}
id! {
    /// A YARN application as policies see it, whatever its attempt.
    JobId
}
id! {
    /// A queue (the Fair Scheduler's pool).
    QueueId
}
id! {
    /// One kind of request of a job: YARN's priority and allocation request id. Dense per job.
    AskId
}
id! {
    /// A node label; 0 is the default partition.
    PartitionId
}
id! {
    /// The user who submitted a job.
    UserId
}

impl PlaceId {
    /// "Anywhere": YARN's `ResourceRequest.ANY`.
    pub const ANY: PlaceId = PlaceId(0);
}

impl PartitionId {
    /// Nodes without a label.
    pub const DEFAULT: PartitionId = PartitionId(0);
}

/// A container of a job, numbered by the host; unique within its job only.
pub type ContainerKey = u64;

/// Milliseconds of one monotonic clock, which is the caller's. The engine never reads a clock.
pub type Millis = i64;

/// The last moment that the engine knows, some 278 years after the clock's beginning: keys of the
/// order of service have 43 bits for a time.
pub const TIME_MAX_MS: Millis = (1 << 43) - 1;

/// How near a container runs to the place that was asked for. Lower is nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Locality {
    /// On the host that was named.
    NodeLocal = 0,
    /// On the rack that was named.
    RackLocal = 1,
    /// Anywhere else, and every ask that names no place.
    OffSwitch = 2,
}
