//! Grants what a job has just asked for on nodes with known room, instead of when each of them
//! reports next. Each node is visited as on its report: the share, order and place stages pick as
//! always, and may pick another job. How much is granted at once is bounded (`at_once.rs`).

use super::Engine;
use super::at_once::{AtOnce, YOUNG_MS};
use super::partitions::may_be_lent;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job};
use crate::words::event::Decision;
use crate::words::ids::{JobId, NodeId, PartitionId};
use crate::words::resource::Resource;
use std::collections::BTreeSet;

/// Bounds of one offer, which holds up the next ask: the nodes of the job's hosts and the others
/// that it looks at (each), those that it visits, and the containers that it grants.
const LOOKED_AT_MAX: usize = 256;
const VISITS_MAX: usize = 64;
const GRANTS_MAX: u32 = 64;
/// An offer ends after this many visits in a row that grant nothing: the room is kept for others or
/// for later.
const VAIN_MAX: usize = 4;

/// One offer to a job.
struct Offer {
    job: JobId,
    /// A node without this has room for none of its asks.
    least: Resource,
    wanted: Wanted,
    decisions_max: usize,
    at_once: AtOnce,
    looked_at: usize,
    visits: usize,
    /// Visits in a row that granted nothing.
    vain: usize,
}

impl Engine {
    /// Visits nodes that have room for the job's asks: those of its hosts first, then by rank. The
    /// limits of a report hold for an offer as well.
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
        let own = wanted.labels.iter().copied();
        let others = self
            .roomy
            .labels()
            .filter(|label| !wanted.labels.contains(label));
        let labels: Vec<PartitionId> = own.chain(others.filter(|_| wanted.borrows)).collect();
        let mut offer = Offer {
            job: id,
            least,
            wanted,
            decisions_max,
            at_once: AtOnce::of(GRANTS_MAX),
            looked_at: 0,
            visits: 0,
            vain: 0,
        };
        let offers_tasks = job.pending().any(|ask| !ask.facts.am);
        // One that has tasks has asked before: reports served it, or another ResourceManager did.
        let since_ms = match job.used == job.masters_used {
            true => self.now,
            false => self.now - YOUNG_MS,
        };
        if let Some(job) = self.cluster.job_mut(id).filter(|_| offers_tasks) {
            job.offered_ms.get_or_insert(since_ms);
        }
        self.renew_entitlements();
        let goes_on = named
            .into_iter()
            .all(|node| self.try_node(&mut offer, node, decisions));
        if goes_on {
            let mut labels = labels.into_iter();
            labels.all(|label| self.walk(&mut offer, label, decisions));
        }
    }

    /// Offers the nodes of a label in order of rank; those that are filed behind as they fill come
    /// again. Returns whether the offer goes on.
    fn walk(
        &mut self,
        offer: &mut Offer,
        label: PartitionId,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        let mut next = self.roomy.start(label);
        // Whether a node of this rank got something and still has it: its containers are small.
        let mut again = false;
        while let Some(node) = next {
            if offer.looked_at == LOOKED_AT_MAX {
                self.roomy.resume_at(label, node);
                return false;
            }
            offer.looked_at += 1;
            let rank = self.roomy.room(node).map(|room| room.rank);
            let behind = self.roomy.behind(node);
            if !self.try_node(offer, node, decisions) {
                return false;
            }
            let granted = offer.visits > 0 && offer.vain == 0;
            again |= granted && self.roomy.room(node).map(|room| room.rank) == rank;
            let from = usize::from(rank.unwrap_or(0)) + usize::from(!again);
            next = behind.or_else(|| {
                again = false;
                self.roomy.first(label, from)
            });
        }
        true
    }

    /// Visits a node if the job may get anything there. Returns whether the offer goes on.
    fn try_node(&mut self, offer: &mut Offer, node: NodeId, decisions: &mut Vec<Decision>) -> bool {
        let is_done = offer.at_once.is_done() || offer.visits == VISITS_MAX;
        if is_done || offer.vain == VAIN_MAX || !self.has_asks(offer.job) {
            return false;
        }
        if decisions.len() >= offer.decisions_max {
            self.cut = true;
            return false;
        }
        if self.has_room(node, &offer.least) && self.may_serve(node, offer.job, &offer.wanted) {
            offer.visits += 1;
            let before = decisions.len();
            let at_once = Some(&mut offer.at_once);
            self.visit(node, at_once, offer.decisions_max, decisions);
            let granted = decisions.len() > before;
            offer.vain = if granted { 0 } else { offer.vain + 1 };
        }
        true
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

    /// Whether a node that may be offered has the least of each resource.
    fn has_room(&self, id: NodeId, least: &Resource) -> bool {
        let node = self
            .cluster
            .node(id)
            .filter(|_| self.roomy.room(id).is_some());
        // Promised room is granted by the reports of the node.
        node.is_some_and(|node| least.fits_in(&self.open_room(node)))
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
