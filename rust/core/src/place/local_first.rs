//! Local first: the job whose turn it is runs on the node that reported, as near to its data as
//! possible there. It never waits for a better node.

use crate::stage::common::Stage;
use crate::stage::place::{Place, PlaceEntry};

/// Entry in the catalogue.
pub(crate) const ENTRY: PlaceEntry = PlaceEntry {
    name: "local-first",
    summary: "the nearest task for the node that reports; no waiting",
    preset: None,
    wants: &[],
    reads: &[],
    own: None,
    build: |_config| Box::new(LocalFirst),
};

struct LocalFirst;

impl Stage for LocalFirst {}

impl Place for LocalFirst {}
