//! A simulated cluster that drives the production engine in virtual time.
//!
//! `World` is the host: nodes that report, jobs with ApplicationMasters, and whatever goes
//! wrong, all drawn from one seed. It keeps books of its own, as the Java shim does, and checks
//! the engine's decisions against them. Nothing here is part of a ResourceManager, and nothing
//! is modelled of networks, disks or the contents of jobs.
#![forbid(unsafe_code)]

pub mod agenda;
pub mod check;
mod checks;
pub mod cluster_sim;
pub mod failure;
pub mod features;
pub mod host;
pub mod link;
pub mod master;
pub mod outcome;
pub mod policies;
pub mod policy;
pub mod queues;
pub mod random;
pub mod swim;
pub mod workload;
pub mod world;

pub use checks::Checks;
pub use failure::{Check, Checked, Failure};
pub use features::Features;
pub use link::{Passage, Tamper, digest};
pub use outcome::{JobOutcome, Outcome};
pub use policy::Policy;
pub use queues::{Limits, Plan, RESOURCE_TYPES};
pub use random::Random;
pub use workload::Size;
pub use world::{Options, World};
