//! Answers to "which queue is next": one file or folder each. None knows another.

pub(crate) mod drf;
pub mod dynamic_priority;
pub(crate) mod fair;
pub(crate) mod single;
