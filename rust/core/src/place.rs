//! Policies that answer "how far from its preferred hosts an ask may run": one file or folder each.
//! They are independent of each other.

pub(crate) mod delay;
pub(crate) mod local_first;
pub mod shuffle_watcher;
