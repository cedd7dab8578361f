//! Pack: the most used node first that has room. Idle nodes stay idle, for those who scale them
//! down.

use crate::stage::rank::{Rank, RankEntry};

/// Entry in the catalogue.
pub(crate) const ENTRY: RankEntry = RankEntry {
    name: "pack",
    summary: "the most used node that has room first; a node that reports is filled",
    preset: None,
    wants: &[],
    reads: &[],
    own: None,
    build: |_config| Box::new(Pack),
};

struct Pack;

impl Rank for Pack {
    fn rank(&self, used: u8) -> u8 {
        u8::MAX - used
    }

    fn levels(&self) -> bool {
        false
    }
}
