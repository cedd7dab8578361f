//! The engine's model: nodes, jobs, queues and what each uses. Policies read it, and only the
//! engine changes it.

pub mod change;
pub mod cluster;
pub mod job;
pub mod launch;
pub(crate) mod lengths;
pub(crate) mod line;
pub mod queue;
pub mod share_tree;
pub mod wait;
pub mod waterfill;
