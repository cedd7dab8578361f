//! HFSP, the Hadoop Fair Sojourn Protocol (seed 003).
mod aging;
mod estimate;
mod line;
mod round_robin;
