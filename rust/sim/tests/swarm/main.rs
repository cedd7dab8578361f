//! The swarm: a hostile host in virtual time around the production engine.
//!
//! `World` is the host: nodes that report, jobs with ApplicationMasters, and faults, all drawn from
//! one seed. It keeps its own books, like the Java shim, and checks the engine's decisions against
//! them. It models no networks, disks or contents of jobs; `heddle_sim::cluster_sim` does.
#![allow(unreachable_pub)]

mod check;
mod checks;
mod features;
mod host;
mod master;
mod outcome;
mod queues;
mod workload;
mod world;

mod compositions;
mod hostile;
mod mutations;
mod splits;
