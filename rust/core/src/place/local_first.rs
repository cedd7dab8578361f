//! Local first: the job whose turn it is runs on the node that reported, as near to its data as
//! possible there. It never waits for a better node.

use crate::stage::common::Stage;
use crate::stage::place::{Place, PlaceEntry};
use crate::words::ids::{Locality, Millis};

/// Entry in the catalogue.
pub(crate) const ENTRY: PlaceEntry = PlaceEntry {
    name: "local-first",
    summary: "the nearest task for the node that reports; no waiting",
    preset: None,
    wants: &[],
    own: None,
    build: |_config| Box::new(LocalFirst),
};

struct LocalFirst;

impl Stage for LocalFirst {}

impl Place for LocalFirst {
    fn start(&self, _floor: Locality) -> Locality {
        Locality::OffSwitch
    }

    fn wait_ms(&self, _level: Locality) -> Millis {
        0
    }

    fn after_grant(&self, _floor: Locality, level: Locality, _granted: Locality) -> Locality {
        level
    }
}
