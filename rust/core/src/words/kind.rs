//! Maps, reduces and the rest: what a container does, told by its request priority.

/// YARN request priorities of MapReduce's ApplicationMaster (`RMContainerAllocator`).
const PRIORITY_FAILED_MAP: i32 = 5;

const PRIORITY_REDUCE: i32 = 10;

const PRIORITY_OPPORTUNISTIC_MAP: i32 = 19;

const PRIORITY_MAP: i32 = 20;

/// The work of a container, as far as its request priority tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A map task.
    Map,
    /// A reduce task.
    Reduce,
    /// The ApplicationMaster, and every container of a job that is not MapReduce.
    Other,
}

impl Kind {
    /// Every kind, in the order of tables by kind.
    pub const ALL: [Kind; 3] = [Kind::Map, Kind::Reduce, Kind::Other];

    /// The kind behind a request priority of a job.
    pub fn of(mapreduce: bool, priority: i32) -> Kind {
        match priority {
            PRIORITY_FAILED_MAP | PRIORITY_OPPORTUNISTIC_MAP | PRIORITY_MAP if mapreduce => {
                Kind::Map
            }
            PRIORITY_REDUCE if mapreduce => Kind::Reduce,
            _ => Kind::Other,
        }
    }
}
