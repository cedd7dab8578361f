//! Policies that answer "which node with room is first": one file each. They are independent of
//! each other.

pub(crate) mod pack;
pub(crate) mod spread;
