//! Heddle's engine: events in, decisions out.
//!
//! The crate does no I/O, reads no clock, starts no thread, draws no random number and holds no
//! hash map whose order could show. Time is an argument. The same configuration and the same
//! events give the same decisions, byte for byte, in the ResourceManager, in the simulator and
//! in a replay.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod backlog;
pub mod catalogue;
pub mod config;
pub mod engine;
mod explain;
pub mod model;
pub mod order;
pub mod place;
mod predict;
mod rank;
pub mod setup;
pub mod share;
pub mod stage;
pub mod words;

pub use config::{Config, ConfigError};
pub use engine::Engine;
pub use setup::Setup;
pub use words::event::{Decision, Event};
pub use words::resource::Resource;
