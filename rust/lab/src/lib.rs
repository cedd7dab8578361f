//! The papers' models and experiments, for research; no cluster needs them.
//!
//! `fluid` is the one-server model of the size-based paper, `papers` runs the published experiments
//! in the simulator, `growth` draws the bench on large clusters. The binary `heddle-lab` adds the
//! pure calculations as cases in JSON.
#![forbid(unsafe_code)]

pub mod fluid;
pub mod growth;
pub mod papers;
