//! HFSP, the Hadoop Fair Sojourn Protocol (seed 003).

pub mod aging;
pub mod estimate;
mod line;
pub mod round_robin;
