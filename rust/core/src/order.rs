//! Policies that answer "which job inside a queue is next": one file or folder each. They are
//! independent of each other.

pub mod deficit;
pub(crate) mod fifo;
pub mod hfsp;
pub mod reverse_adaptive;
