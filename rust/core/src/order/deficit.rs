//! The original Fair Scheduler of Hadoop (HADOOP-3746): every job has a deficit, what it should
//! have had on an ideal scheduler less what it had, and a free slot goes to the largest.
//!
//! The calculations are in the modules below and are what `heddle case fair` calls.

pub mod entitlement;
pub mod hierarchy;
pub mod ledger;
pub mod limits;
pub mod minimum;
pub mod weight;
