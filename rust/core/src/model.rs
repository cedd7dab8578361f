//! The engine's model: nodes, jobs, queues and what each uses. Policies read it, and only the
//! engine changes it.

pub(crate) mod admission;
pub mod by_label;
pub(crate) mod change;
pub(crate) mod cluster;
pub mod job;
pub(crate) mod launch;
pub(crate) mod lengths;
pub(crate) mod line;
pub(crate) mod noted;
pub mod placement;
pub(crate) mod programs;
pub mod queue;
pub(crate) mod recent;
pub(crate) mod share_tree;
pub(crate) mod stock_fair;
pub(crate) mod tally;
pub(crate) mod user_limit;
pub(crate) mod wait;
pub mod waterfill;
