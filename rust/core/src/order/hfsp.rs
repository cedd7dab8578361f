//! HFSP, the Hadoop Fair Sojourn Protocol (seed 003).

pub mod aging;
pub mod estimate;
pub mod round_robin;
