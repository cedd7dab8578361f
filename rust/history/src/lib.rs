//! Reads what a cluster keeps of its past, whatever scheduler it ran, and makes a workload of it
//! for the simulator. One file per kind of source; `kind` tells the kind by how a file starts.
//!
//! Every reader is bounded: it refuses lines, objects and counts beyond the limits of `limits`, and
//! says at which offset. What a kind of source does not say is listed with the history
//! (`History::unknown`), so that no report can leave it out.

mod applications;
mod avro;
mod clock;
mod configuration;
mod fault;
mod jhist;
mod journal;
mod kind;
mod limits;
mod model;
mod nodes;
mod objects;
mod rumen;
mod sls;
mod source;
mod swim;
mod workload;

pub use fault::Fault;
pub use kind::Kind;
pub use model::{End, History, Job, Node, Task};
pub use source::{Progress, read, read_bytes};
pub use workload::Cluster;
