//! Policies that answer "which queue is next": one file or folder each. They are independent of
//! each other.

pub(crate) mod capacity;
pub(crate) mod drf;
pub mod dynamic_priority;
pub(crate) mod fair;
pub(crate) mod single;
