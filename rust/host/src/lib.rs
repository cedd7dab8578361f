//! Answers questions of the Java shim that need neither an engine nor accounts. Java hands over the
//! facts that only the ResourceManager has.
//!
//! `ask` finds the module by the question's name:
//!
//! - `config`: what the files of the configuration say; `fair_file`: where Fair's file is;
//!   `watch`: whether a followed file has changed.
//! - `terms`: what a queue grants to an application; `activities`: what schedulers did for one.
//! - `pages`: the stock pages about queues; `scheduler_conf`: a requested change of configuration.
//! - `compare`: where the engine's books differ from YARN's.
//! - `progress`: how far a job's reduces are; `tasks`: which of its tasks to ask about.
//!
//! `replies` parses the answers of MapReduce's web services; `foreign` weighs what a node's
//! heartbeat says of other processes.
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
