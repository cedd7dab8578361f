//! The `rank` stage: which of the nodes with room get containers first.

use super::entry::Entry;

/// The order of nodes.
pub trait Rank: Send {
    /// The rank of a node of which so many 256ths are used. The lowest is offered first, then the
    /// one that has been there for longest.
    fn rank(&self, used: u8) -> u8;

    /// Whether a node that reports leaves room to less used nodes, for a bounded time.
    fn levels(&self) -> bool;
}

/// One rank of the catalogue.
pub type RankEntry = Entry<dyn Rank>;
