//! Policies that answer "which job inside a queue is next": one file or folder each. They are
//! independent of each other.

pub(crate) mod by_queue;
pub mod deficit;
pub(crate) mod fifo;
pub mod hfsp;
pub mod reverse_adaptive;
