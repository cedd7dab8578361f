//! Answers to "how far from the hosts that it named an ask may run": one file or folder each.
//! None knows another.

pub(crate) mod delay;
pub(crate) mod local_first;
pub mod shuffle_watcher;
