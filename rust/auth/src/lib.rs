//! Who may do what over the remote interface: signatures of two versions, replay, the ACL file and
//! its roles, limits on failures, audit lines, and the numbers that requests carry. Pure but for
//! reading the ACL file and secrets: time is an argument, requests are plain data. No HTTP, no
//! clock, no randomness, no storage, and no decision about slots: those are the host's, and the
//! core's.
#![forbid(unsafe_code)]

pub mod acl;
pub mod amount;
pub mod audit;
pub mod canonical;
pub mod gate;
pub mod job;
pub mod limit;
pub mod query;
mod refusal;
pub mod replay;
pub mod role;
mod secret;
pub mod secret_file;
pub mod time;
pub mod v1;
pub mod v2;

pub use refusal::Refusal;
pub use secret::Secret;
pub use time::Now;
