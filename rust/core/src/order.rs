//! Answers to "which job inside a queue is next": one file or folder each. None knows another.

pub mod deficit;
pub(crate) mod fifo;
pub mod hfsp;
pub mod reverse_adaptive;
