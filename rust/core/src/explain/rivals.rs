//! Sums what others ask for that may be served before an ask once a limit no longer holds it. Other
//! asks in its leaf do not count if they stand behind it wherever they may run. One that is smaller
//! or may run elsewhere takes room that is of no use to the ask, and with it what the limit leaves.

use super::View;
use crate::backlog::Entry;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job, Standing};
use crate::model::wait::PendingAsk;
use crate::words::keys::{ShapeId, ShareNodeId};
use crate::words::resource::Resource;
use std::collections::BTreeMap;

/// Sums of what others than an ask want.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rivals {
    pub(super) all: Resource,
    /// Those that may go before it.
    pub(super) before: Resource,
    /// Those that stand before it in its leaf, within the maximums of queues, and would fit where
    /// it would.
    pub(super) first: Resource,
    /// Those of them that fit a node now, or the room that it needs.
    pub(super) now: Resource,
}

/// What is known of each shape.
type Shapes = BTreeMap<ShapeId, bool>;

impl View<'_> {
    /// What may go before an ask below a limit.
    pub(super) fn before_below(&self, at: ShareNodeId, asked: &PendingAsk<'_>) -> Resource {
        let rivals = self.rivals(at, asked, |_, ask| ask.standing != Standing::Out);
        let label = asked.ask.facts.partition;
        match self.answers.user_bound(asked.job, label, false) {
            // Others of its user may be served first, and the limit of that then holds the ask.
            Some(_) => rivals.all,
            None => rivals.before,
        }
    }

    /// The ApplicationMasters below a queue besides that of an ask.
    pub(super) fn other_masters(&self, at: ShareNodeId, asked: &PendingAsk<'_>) -> Rivals {
        self.rivals(at, asked, |_, ask| {
            ask.facts.am && ask.standing != Standing::Out
        })
    }

    /// Other asks of its user in its leaf. The limit that holds the ask holds them, too.
    pub(super) fn others_of_user(&self, asked: &PendingAsk<'_>) -> Rivals {
        let (queue, user) = (asked.job.facts.queue, asked.job.facts.user);
        self.rivals(asked.job.leaf, asked, |other, _| {
            (other.facts.queue, other.facts.user) == (queue, user) && other.runnable
        })
    }

    /// Sums the other asks below a queue that count and have a node.
    fn rivals(
        &self,
        at: ShareNodeId,
        asked: &PendingAsk<'_>,
        counts: impl Fn(&Job, &Ask) -> bool,
    ) -> Rivals {
        let same_tree = |ask: &Ask| {
            let labels = [ask.facts.partition, asked.ask.facts.partition];
            labels[0] == labels[1] || labels.iter().all(|label| !self.world.has_shares(*label))
        };
        let below = |leaf: ShareNodeId| self.world.tree.path_up(leaf).any(|above| above == at);
        let mine = Entry::new(asked.job, asked.ask);
        let (mut sums, mut large, mut roomy) = (Rivals::default(), Shapes::new(), BTreeMap::new());
        for other in self.world.cluster.jobs_of(below) {
            for ask in other.pending() {
                let entry = Entry::new(other, ask);
                let counts = (entry.job, entry.ask) != (mine.job, mine.ask)
                    && same_tree(ask)
                    && counts(other, ask);
                if !counts || !self.has_a_node(other, ask, &mut large) {
                    continue;
                }
                let wanted = ask.facts.resource.times(i64::from(ask.facts.count));
                sums.all += wanted;
                if other.leaf == asked.job.leaf && entry < mine && self.is_within_limits(other, ask)
                {
                    let roomy = *roomy
                        .entry(ask.shape)
                        .or_insert_with(|| self.would_fit(ask, asked));
                    for (sum, counts) in [&mut sums.first, &mut sums.now].into_iter().zip(roomy) {
                        *sum += if counts { wanted } else { Resource::ZERO };
                    }
                }
                if !self.stays_behind(asked, other, ask) {
                    sums.before += wanted;
                }
            }
        }
        sums
    }

    /// Whether the maximums of its queues leave an ask room.
    fn is_within_limits(&self, job: &Job, ask: &Ask) -> bool {
        let tree = self.world.tree;
        tree.path_up(job.leaf).all(|at| {
            let room = || tree.room_at(at, job.leaf, ask.shape);
            !tree.node(at).limited || ask.facts.resource.fits_in(&room())
        })
    }

    /// Whether an ask could ever run. `large` keeps whether a node is large enough, by shape.
    fn has_a_node(&self, job: &Job, ask: &Ask, large: &mut Shapes) -> bool {
        let size = self.backlog.shapes.get(ask.shape).size;
        let fits = |node: &&Node| size.resource.fits_in(&node.whole);
        let mut nodes = size.nodes(self.world.cluster).filter(fits);
        let takes = |node: &Node| {
            let facts = &node.facts;
            !job.blacklists(facts.host, facts.rack) && ask.accepts(facts.host, facts.rack)
        };
        let is_choosy = !job.blacklist.is_empty() || ask.standing == Standing::Strict;
        let large = large
            .entry(ask.shape)
            .or_insert_with(|| size.nodes(self.world.cluster).any(|node| fits(&node)));
        *large && (!is_choosy || nodes.any(takes))
    }

    /// Whether an ask fits a node that has the room that another one needs besides what is free,
    /// and whether it fits one of both alone.
    fn would_fit(&self, ask: &Ask, asked: &PendingAsk<'_>) -> [bool; 2] {
        let (size, other) = (self.backlog.shapes.get(ask.shape).size, asked.size());
        let fits_in = |room: &dyn Fn(&Node) -> Resource| {
            let mut nodes = size.nodes(self.world.cluster);
            nodes.any(|node| size.resource.fits_in(&room(node)))
        };
        [
            fits_in(&|node| node.free.component_max(&other)),
            size.resource.fits_in(&other) || fits_in(&|node| node.free),
        ]
    }

    /// Whether another ask stands behind an ask, wherever it may run.
    fn stays_behind(&self, asked: &PendingAsk<'_>, other: &Job, ask: &Ask) -> bool {
        let (job, mine) = (asked.job, asked.ask);
        let pool = self.backlog.shapes.get(ask.shape).size.pool;
        let goes_anywhere = mine.standing == Standing::Open
            && mine.unrelaxed == 0
            && job.blacklist.is_empty()
            && job.refused.is_empty()
            && job.authority.is_none();
        let by_keys = self.place.ranking().is_none() && !self.order.nominates();
        other.leaf == job.leaf
            && by_keys
            && goes_anywhere
            && Entry::new(job, mine) < Entry::new(other, ask)
            && (ask.facts.partition, ask.facts.am) == (mine.facts.partition, mine.facts.am)
            && (other.kind(ask.facts.priority), pool) == (asked.kind, asked.pool)
            && mine.facts.resource.fits_in(&ask.facts.resource)
    }
}
