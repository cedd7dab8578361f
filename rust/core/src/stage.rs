//! The questions that policies answer: which queue is next, which job in it, which place for its
//! task, and which node first. Holds the questions, and no answer.

pub(crate) mod behind;
pub(crate) mod by_usage;
pub(crate) mod common;
pub(crate) mod division;
pub mod entry;
pub(crate) mod market;
pub(crate) mod order;
pub mod place;
pub mod rank;
pub(crate) mod share;
pub(crate) mod worth;
