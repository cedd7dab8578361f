//! Heddle's bridge: the engine as a shared library, for Java through JNI and for C.
//!
//! Events come in as a frame of fixed-layout records and decisions go out as one; configuration and
//! requests are JSON. The bridge keeps engines in a table of handles. It checks a whole frame
//! before the engine sees any of it, contains panics, and can record a journal that replays byte
//! for byte. It also keeps services, which hold the engines' accounts and answer over HTTP.
//!
//! The bridge decides nothing, starts no thread except those of stores, journals and shadows, reads
//! no clock, and calls Java only to throw. No other crate has `unsafe`.

#![warn(missing_docs)]
#![deny(clippy::undocumented_unsafe_blocks)]

pub mod c_abi;
pub mod constant;
pub mod describe;
pub mod error;
pub mod frame;
pub mod handles;
pub mod host;
pub mod jni_abi;
pub mod journal;
pub mod logs;
pub mod panics;
pub mod record;
pub mod replay;
pub mod services;
mod shadow;
