//! Grants what a job has just asked for on nodes with known room, instead of when each of them
//! reports next. Each node is visited as on its report, so nothing is decided that a report would
//! not have decided: the share, order and place stages pick as always, and may pick another job.

use super::Engine;
use super::partitions::may_be_lent;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job};
use crate::words::event::Decision;
use crate::words::ids::{JobId, NodeId, PartitionId};
use crate::words::resource::Resource;
use std::collections::BTreeSet;
use std::ops::Range;

/// Bounds of one offer, which holds up the next ask: the nodes of the job's hosts and the others
/// that it looks at (each), those that it visits, and the containers that it grants.
const LOOKED_AT_MAX: usize = 256;
const VISITS_MAX: usize = 64;
const GRANTS_MAX: usize = 64;
/// An offer ends after this many visits in a row that grant nothing: the room is kept for others or
/// for later.
const VAIN_MAX: usize = 4;

/// Every node that may have room: those that reported some since an offer last found that it has
/// none. A full cluster thus costs an offer no walk over its nodes.
#[derive(Debug, Default)]
pub(super) struct Roomy {
    bits: Vec<u64>,
    /// The node at which the next walk begins: walks go round robin.
    from: u32,
}

impl Roomy {
    pub(super) fn add(&mut self, node: NodeId) {
        let word = node.index() / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (node.0 % 64);
    }

    fn remove(&mut self, node: NodeId) {
        self.bits[node.index() / 64] &= !(1 << (node.0 % 64));
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        let word = self.bits.get(node.index() / 64);
        word.is_some_and(|bits| bits & 1 << (node.0 % 64) != 0)
    }

    /// Its nodes in order of number, in a circle from where the next walk begins.
    fn around(&self) -> impl Iterator<Item = NodeId> {
        let from = self.from;
        let later = self.range(from..u32::MAX);
        later.chain(self.range(0..from))
    }

    fn range(&self, range: Range<u32>) -> impl Iterator<Item = NodeId> {
        let first = range.start / 64;
        let words = self.bits.iter().enumerate().skip(first as usize);
        words
            .flat_map(|(word, bits)| Bits(*bits).map(move |bit| word as u32 * 64 + bit))
            .skip_while(move |node| *node < range.start)
            .take_while(move |node| *node < range.end)
            .map(NodeId)
    }
}

/// The numbers of the bits that are set, in order.
struct Bits(u64);

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let bit = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (bit < 64).then_some(bit)
    }
}

impl Engine {
    /// Visits nodes that have room for the job's asks, those of its hosts first. Each gets what its
    /// report would give it, and no more: the limits of a report hold for an offer as well.
    pub(super) fn offer(&mut self, id: JobId, decisions_max: usize, decisions: &mut Vec<Decision>) {
        self.settle();
        let Some(job) = self.cluster.job(id) else {
            return self.ignore("unknown job", &id);
        };
        let Some(least) = least(job).filter(|_| self.has_asks(id)) else {
            return;
        };
        let wanted = Wanted::of(job);
        let named = self.named_nodes(job, &least);
        let others = self.roomy.around().take(LOOKED_AT_MAX);
        let others: Vec<NodeId> = others.filter(|node| !named.contains(node)).collect();
        let turns = others.iter().map(|node| (*node, true));
        let end = decisions.len() + GRANTS_MAX;
        let (mut visits, mut vain) = (0, 0);
        for (node, in_turn) in named.iter().map(|node| (*node, false)).chain(turns) {
            let left = end.saturating_sub(decisions.len());
            if left == 0 || visits == VISITS_MAX || vain == VAIN_MAX || !self.has_asks(id) {
                return;
            }
            if decisions.len() >= decisions_max {
                self.cut = true;
                return;
            }
            if in_turn {
                self.roomy.from = node.0 + 1;
            }
            if !self.has_room(node, &least) || !self.may_serve(node, id, &wanted) {
                continue;
            }
            visits += 1;
            self.visit(node, left as u32, decisions_max, decisions);
            let granted = end.saturating_sub(decisions.len()) < left;
            vain = if granted { 0 } else { vain + 1 };
        }
    }

    fn has_asks(&self, id: JobId) -> bool {
        self.cluster.job(id).is_some_and(|job| {
            let due = |ask: &Ask| job.is_due(ask);
            job.runnable && job.pending().any(due)
        })
    }

    /// The nodes with room of the hosts that the job names.
    fn named_nodes(&self, job: &Job, least: &Resource) -> BTreeSet<NodeId> {
        let has_room = |node: &&Node| least.fits_in(&node.free);
        job.pending()
            .flat_map(|ask| ask.rows.iter())
            .filter(|(_, row)| row.count > 0)
            .take(LOOKED_AT_MAX)
            .flat_map(|(place, _)| self.cluster.nodes_of(*place))
            .take(LOOKED_AT_MAX)
            .filter(|id| self.cluster.node(*id).as_ref().is_some_and(has_room))
            .collect()
    }

    /// Whether the job may get anything there. A node of another label, one that the job excludes
    /// or that has just refused it, and one that is held for another job have room, but a visit
    /// would be in vain.
    fn may_serve(&self, id: NodeId, job: JobId, wanted: &Wanted) -> bool {
        let (Some(node), Some(job)) = (self.cluster.node(id), self.cluster.job(job)) else {
            return false;
        };
        let facts = &node.facts;
        let reservation = self.reservations.get(&id);
        reservation.is_none_or(|held| held.job == job.facts.job)
            && (wanted.labels.contains(&facts.partition) || wanted.borrows && self.lends(node))
            && !job.blacklists(facts.host, facts.rack)
            && job.refused.get(&id).is_none_or(|until| *until <= self.now)
    }

    /// Whether a node has the least of each resource. Forgets one without room for a container.
    fn has_room(&mut self, id: NodeId, least: &Resource) -> bool {
        let node = self.cluster.node(id).filter(|node| node.facts.schedulable);
        let free = node.map(|node| node.free);
        // Promised room is granted by the reports of the node.
        let open = node.map(|node| self.open_room(node));
        if !free.is_some_and(|free| self.setup.minimum_allocation.fits_in(&free)) {
            self.roomy.remove(id);
        }
        open.is_some_and(|open| least.fits_in(&open))
    }
}

/// The labels that a job asks for. Collected once for each offer: it may have thousands of asks.
struct Wanted {
    labels: BTreeSet<PartitionId>,
    /// Whether any ask may have what nodes of other labels lend.
    borrows: bool,
}

impl Wanted {
    fn of(job: &Job) -> Wanted {
        let asks = || job.pending().map(|ask| &ask.facts);
        Wanted {
            labels: asks().map(|facts| facts.partition).collect(),
            borrows: asks().any(|facts| may_be_lent(facts.partition, facts.am)),
        }
    }
}

/// The least of each resource that any pending ask of the job wants. A node without it has room for
/// none of them; on others the visit finds out. Not ask by ask: one ApplicationMaster may have
/// thousands, and others wait meanwhile.
fn least(job: &Job) -> Option<Resource> {
    let sizes = job.pending().map(|ask| ask.facts.resource);
    sizes.reduce(|one, other| one.component_min(&other))
}
