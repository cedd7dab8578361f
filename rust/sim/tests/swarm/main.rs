//! The swarm: a hostile host in virtual time around the production engine.
//!
//! `World` is the host: nodes that report, jobs with ApplicationMasters, and faults, all drawn from
//! one seed. It keeps its own books, like the Java shim, and checks the engine's decisions against
//! them. It models no networks, disks or contents of jobs; `heddle_sim::cluster_sim` does.
#![allow(unreachable_pub)]

mod check;
mod checks;
mod due;
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

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// How many seeds to run where `usual` are run otherwise: `./x test --all` takes ten times as many.
fn seeds(usual: u64) -> u64 {
    let all = std::env::var_os("HEDDLE_TEST_ALL").is_some();
    number("HEDDLE_SEEDS").unwrap_or(if all { 10 * usual } else { usual })
}
