//! The `share` stage: which queue is next, and what each is entitled to.
//!
//! One file per implementation, one line in `SHARES`. The tree, its usage and the order of its
//! children are kept by `ShareTree`; an implementation gives keys and entitlements.

mod fair;
mod single;
mod tree;
mod waterfill;

pub use tree::{ShareNode, ShareNodeId, ShareTree};
pub use waterfill::{Claim, waterfill, waterfill_exact};

use crate::config::Config;
use crate::resource::Resource;

/// A child's place among its siblings; the smaller is served first. Ties go to the smaller id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareKey {
    /// 0 for those below their minimum share, 1 for the others.
    pub class: u8,
    /// How much of what it should have it has; a non-negative `f64` by its bits, which order
    /// as the numbers do.
    pub ratio: u64,
}

impl ShareKey {
    /// A key from a ratio of at least 0.
    pub fn new(class: u8, ratio: f64) -> ShareKey {
        ShareKey {
            class,
            ratio: ratio.max(0.0).to_bits(),
        }
    }
}

/// Which queue is next.
pub trait Share: Send {
    /// Whether the tree of shares is the tree of queues; if not, one leaf holds all jobs.
    fn follows_queues(&self) -> bool;

    /// The key of a node among its siblings. `capacity` is all that the cluster has.
    fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey;

    /// What every node is entitled to, given their demands: fills `fair_share`
    /// and `active_share`.
    fn entitle(&self, tree: &mut ShareTree, capacity: &Resource);
}

/// One implementation of the stage.
pub struct ShareEntry {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// Makes it.
    pub build: fn(&Config) -> Box<dyn Share>,
}

/// Every share, in the order of the tables made from it.
pub const SHARES: &[ShareEntry] = &[single::ENTRY, fair::ENTRY];

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    SHARES.iter().map(|entry| entry.name).collect()
}
