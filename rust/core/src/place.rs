//! The `place` stage: how far from the hosts that it named an ask may run, and when.
//!
//! One file per implementation, one line in `PLACES`.

mod delay;
mod local_first;

use crate::config::Config;
use crate::types::{Locality, Millis};

/// How far from its named places an ask may run.
pub trait Place: Send {
    /// The level of an ask whose nearest named place is `floor`, before it has waited: at
    /// least `floor`.
    fn start(&self, floor: Locality) -> Locality;

    /// How long an ask at `level` must be passed over before it moves to the next level.
    fn wait_ms(&self, level: Locality) -> Millis;

    /// The level after a grant at `granted` to an ask at `level`.
    fn after_grant(&self, floor: Locality, level: Locality, granted: Locality) -> Locality;
}

/// One implementation of the stage.
pub struct PlaceEntry {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// Makes it.
    pub build: fn(&Config) -> Box<dyn Place>,
}

/// Every placement, in the order of the tables made from it.
pub const PLACES: &[PlaceEntry] = &[local_first::ENTRY, delay::ENTRY];

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    PLACES.iter().map(|entry| entry.name).collect()
}
