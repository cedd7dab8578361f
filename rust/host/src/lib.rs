//! Answers questions of the Java shim that need neither an engine nor accounts. Java hands over the
//! facts that only the ResourceManager has.
//!
//! `ask` finds the module by the question's name: what the files of the configuration say
//! (`config`), where Fair's file is (`fair_file`), whether a followed file has changed (`watch`),
//! what a queue grants to an application (`terms`), what schedulers did for one (`activities`),
//! the stock pages about queues (`pages`), what change of the configuration is requested
//! (`scheduler_conf`), where the engine's books differ from YARN's
//! (`compare`), and how far a job's reduces are (`progress`). `replies` parses the answers of
//! MapReduce's web services; `foreign` weighs what a node's heartbeat says of other processes.
#![forbid(unsafe_code)]

mod activities;
mod ask;
mod compare;
mod config;
mod fair_file;
mod foreign;
mod pages;
mod progress;
mod replies;
mod scheduler_conf;
mod tasks;
mod terms;
mod watch;

pub use ask::{Reply, ask};
pub use foreign::{Amount, Report, foreign_load};
pub use replies::reply;
