//! Spread: the least used node first. The loss of one costs each job little, and the disks and the
//! network of all nodes do the work.

use crate::stage::rank::{Rank, RankEntry};

/// Entry in the catalogue.
pub(crate) const ENTRY: RankEntry = RankEntry {
    name: "spread",
    summary: "the least used node first; a node that reports leaves room to less used ones",
    preset: None,
    wants: &[],
    reads: &[],
    own: None,
    build: |_config| Box::new(Spread),
};

struct Spread;

impl Rank for Spread {
    fn rank(&self, used: u8) -> u8 {
        used
    }

    fn levels(&self) -> bool {
        true
    }
}
