//! A shadow: a second, whole engine with a candidate configuration. It hears what the live engine
//! hears, decides nothing for the cluster, and says what would be different.
//!
//! The two worlds have the same nodes, jobs and asks. The shadow's containers are its own:
//!
//! - *Demand.* An ask is a pending count that falls as the live engine grants. What a job wants in
//!   all is that count plus what it was granted; the shadow's ask is what it wants in all, less
//!   what the shadow has granted (`demand`).
//! - *Lengths.* The k-th container of an ask lasts in the shadow as long as the live engine's k-th
//!   did. Until that is known it runs on; what would have ended before gives its slot back late,
//!   and its end is dated back in the report.
//! - *Heartbeats.* The shadow's nodes report once a second, whether or not live ones had anything
//!   to say.
//!
//! Pure: no clock, no I/O, no thread. The bridge feeds it from a thread of its own.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod demand;
mod difference;
mod job;
mod nodes;
mod report;
mod shadow;
mod usage;

pub use shadow::Shadow;
