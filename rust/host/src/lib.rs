//! Answers questions of the Java shim that need neither an engine nor accounts: the stock pages
//! about queues (`pages`), and whether the allocations file has changed (`watch`). `ask` finds the
//! module by the question's name. Java hands over what only the ResourceManager knows.
#![forbid(unsafe_code)]

mod ask;
mod pages;
mod watch;

pub use ask::{Answered, ask};
