//! A simulated cluster that drives the production engine in virtual time.
//!
//! `World` is the host: nodes that report, jobs with ApplicationMasters, and faults, all drawn from
//! one seed. It keeps its own books, like the Java shim, and checks the engine's decisions against
//! them. It is not part of a ResourceManager, and it models no networks, disks or contents of jobs;
//! `cluster_sim` does.
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
