//! The simulator: its inputs, its cluster, and what is recorded of its runs.

mod cluster;
mod foresight;
mod knowledge;
mod recorded;
mod shares;
mod sources;
