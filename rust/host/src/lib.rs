//! Answers questions of the Java shim that need neither an engine nor accounts. Java hands over the
//! facts that only the ResourceManager has.
//!
//! `ask` finds the module by the question's name: the stock pages about queues (`pages`), whether
//! the allocations file has changed (`watch`), where the engine's books differ from YARN's
//! (`compare`), and how far a job's reduces are (`progress`). `replies` parses the answers of
//! MapReduce's web services.
#![forbid(unsafe_code)]

mod ask;
mod compare;
mod pages;
mod progress;
mod replies;
mod watch;

pub use ask::{Reply, ask};
pub use replies::reply;
