//! ShuffleWatcher (Ahmad et al., ATC 2014): places maps and reduces so that less crosses between
//! racks, and orders them by how loaded the links are.

pub mod nass;
pub mod netsat;
pub mod samp;
pub mod sarp;
pub mod traffic;
