//! Heddle's engine: events in, decisions out.
//!
//! The crate does no I/O, reads no clock, starts no thread, draws no random number and holds no
//! hash map whose order could show. Time is an argument. The same configuration and the same
//! events give the same decisions, byte for byte, in the ResourceManager, in the simulator and
//! in a replay.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod backlog;
pub mod change;
pub mod cluster;
pub mod config;
pub mod engine;
pub mod event;
pub mod explain;
mod lengths;
pub mod order;
pub mod place;
pub mod predict;
pub mod resource;
pub mod share;
mod table;
pub mod types;

pub use config::{Config, ConfigError, Setup};
pub use engine::Engine;
pub use event::{Decision, Event};
pub use resource::Resource;
