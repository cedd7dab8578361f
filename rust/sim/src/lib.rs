//! A simulated cluster that drives the production engine in virtual time: `cluster_sim` models
//! nodes, racks, the links between racks and MapReduce jobs. It is not part of a ResourceManager.
//! The swarm that tests the engine with hostile hosts shares its basics (`tests/swarm`).
#![forbid(unsafe_code)]

pub mod agenda;
pub mod cluster_sim;
pub mod failure;
pub mod link;
pub mod plot;
pub mod policies;
pub mod policy;
pub mod random;
pub mod swim;

pub use failure::{Check, Checked, Failure};
pub use link::{Passage, Tamper, digest};
pub use policy::Policy;
pub use random::Random;
