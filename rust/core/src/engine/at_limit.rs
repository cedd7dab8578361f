//! Keeps what a limit has free for the ask that is next in line below it: the limit of a queue,
//! that of its ApplicationMasters, and those of a leaf and its users where ApplicationMasters start
//! in a line. Otherwise smaller asks would take each gap that is too small for it, and it would
//! wait for ever.
//!
//! Three rules bound what others lose:
//! - Before the line has been short for `reservation.after_ms`, and from then on where the next
//!   ask fits as well, others get what is free. So at most the room of one container is kept.
//! - Nothing is kept for an ask that is larger than a limit above it or than every node.
//! - What is kept ends when the limit has gained no room for `reservation.hold_ms`. That time
//!   doubles as for nodes; see `reservation.rs`. The limit then rests for as long.

use super::Engine;
use super::search::Pick;
use crate::model::share_tree::{Kept, ShareTree};
use crate::words::ids::{JobId, Millis, PartitionId, QueueId, UserId};
use crate::words::keys::{ShapeId, ShareNodeId};
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// How many leaves are looked at for the ask that is next below a limit: hundreds may be at limits
/// of their own.
const LEAVES_MAX: usize = 64;

/// A limit on the nodes of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Limit {
    /// Of what a queue uses.
    Queue(PartitionId, ShareNodeId),
    /// Of its ApplicationMasters.
    Masters(PartitionId, ShareNodeId),
    /// The same where they start in a line of their own: of a leaf, or of one of its users.
    Line(PartitionId, QueueId, Option<UserId>),
}

/// An ApplicationMaster that is next in line below a limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused {
    /// Whose limit it is; none for that of the leaf.
    pub(super) user: Option<UserId>,
    pub(super) job: JobId,
    pub(super) size: Resource,
    /// The headroom below the limit.
    pub(super) free: Resource,
}

/// The limits below which more is asked for than they admit.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: BTreeMap<Limit, Line>,
    /// The largest amounts of any node, by label, as of the last tick.
    largest: BTreeMap<PartitionId, Resource>,
    /// Where the next ask may have changed since room was kept for it.
    stale: BTreeSet<Limit>,
}

/// A limit below which more is asked for than it admits.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// When the limit first refused the ask that was next.
    since_ms: Millis,
    /// When it was last found short of room and kept some, or began to rest.
    from_ms: Millis,
    until_ms: Millis,
    /// How long room is kept without a gain.
    length_ms: Millis,
    /// The most that was free since.
    free: Resource,
    rests: bool,
    /// The job whose ApplicationMaster is next, where these start in a line.
    next: Option<JobId>,
}

impl Line {
    /// Gives the next ask the whole time again.
    fn begin(&mut self, now: Millis) {
        self.free = Resource::ZERO;
        (self.from_ms, self.until_ms) = (now, now + self.length_ms);
    }
}

impl Engine {
    /// Forgets what was noted of queues: their numbers or limits may change.
    pub(super) fn forget_lines(&mut self) {
        self.at_limits = Lines::default();
        self.short_since.clear();
    }

    /// Reviews every limit on the tick.
    pub(super) fn review_limits(&mut self) {
        let nodes = self.cluster.nodes();
        let mut largest: BTreeMap<PartitionId, Resource> = BTreeMap::new();
        for node in nodes.filter(|node| node.facts.schedulable) {
            let most = largest.entry(node.facts.partition).or_default();
            *most = most.component_max(&node.whole);
        }
        self.at_limits.largest = largest;
        self.at_limits.stale.clear();
        let mut lines = BTreeMap::new();
        for label in self.tree_labels() {
            let masters = self.backlog.shapes.mask_of_masters();
            for at in self.tree_of(label).ids() {
                for limit in [Limit::Queue(label, at), Limit::Masters(label, at)] {
                    let short = match limit {
                        Limit::Queue(..) => self.is_short(label, at),
                        _ => self.backlog.open_mask(at) & masters != 0,
                    };
                    let line = short.then(|| self.review_limit(limit)).flatten();
                    lines.extend(line.map(|line| (limit, line)));
                    if line.is_none() {
                        self.keep(limit, None);
                    }
                }
            }
        }
        let resting = self.review_lines_of_masters(&mut lines);
        self.at_limits.lines = lines;
        resting.into_iter().for_each(|leaf| self.start_in(leaf));
    }

    fn tree_labels(&self) -> Vec<PartitionId> {
        let labels = self.partitions.keys().copied();
        [PartitionId::DEFAULT].into_iter().chain(labels).collect()
    }

    /// Whether more is asked for in a queue than its limit admits.
    fn is_short(&self, label: PartitionId, at: ShareNodeId) -> bool {
        let node = self.tree_of(label).node(at);
        node.limited && node.pending_asks > 0 && !node.demand.fits_in(&node.max_share)
    }

    /// Updates what a limit of the tree of shares keeps, and returns its line. None before the
    /// limit has refused an ask.
    fn review_limit(&mut self, limit: Limit) -> Option<Line> {
        let next = self.next_at(limit);
        let free = self.free_at(limit, next.as_ref());
        let line = self.line_at(limit, next.map(|next| next.size), free)?;
        let keeps = self.is_kept(&line);
        self.keep(limit, next.filter(|_| keeps));
        Some(line)
    }

    /// Reviews the lines of ApplicationMasters. Returns the leaves in which more may start, as
    /// nothing is kept any longer.
    fn review_lines_of_masters(&self, lines: &mut BTreeMap<Limit, Line>) -> Vec<QueueId> {
        let mut resting = Vec::new();
        for (leaf, label) in self.lines_of_masters() {
            let refused = self.turn_out(leaf, label).refused;
            let place = |user| Limit::Line(label, leaf, user);
            let known = self.at_limits.lines.range(place(None)..);
            let known = known.map_while(|(limit, _)| match *limit {
                Limit::Line(at, queue, user) if (at, queue) == (label, leaf) => Some(user),
                _ => None,
            });
            let known = known.filter(|user| self.waits_in_line((leaf, label), *user));
            let mut users: Vec<Option<UserId>> = known.collect();
            users.extend(refused.iter().map(|refused| refused.user));
            users.sort_unstable();
            users.dedup();
            for user in users {
                let next = refused.iter().find(|refused| refused.user == user);
                let free = next.map_or(Resource::ZERO, |next| next.free);
                let line = self.line_at(place(user), next.map(|next| next.size), free);
                let Some(mut line) = line else {
                    continue;
                };
                line.next = next.map(|next: &Refused| next.job);
                if self.limit_keeps(place(user)) && !self.is_kept(&line) {
                    resting.push(leaf);
                }
                lines.insert(place(user), line);
            }
        }
        resting
    }

    /// The headroom below a limit of the tree of shares.
    fn free_at(&self, limit: Limit, next: Option<&Kept>) -> Resource {
        match limit {
            Limit::Queue(label, at) => {
                let node = self.tree_of(label).node(at);
                node.max_share - node.used
            }
            Limit::Masters(label, at) => {
                let tree = self.tree_of(label);
                let limit = next.and_then(|next| limit_of_masters(tree, at, next));
                limit.map_or(Resource::ZERO, |limit| limit - tree.node(at).am_used)
            }
            Limit::Line(..) => Resource::ZERO,
        }
    }

    /// What becomes of the line at a limit, of which `free` is left, with an ask of that size next;
    /// none before the limit has refused an ask.
    fn line_at(&self, limit: Limit, next: Option<Resource>, free: Resource) -> Option<Line> {
        let now = self.now;
        let config = &self.setup.config;
        let Some(mut line) = self.at_limits.lines.get(&limit).copied() else {
            let refused = next.is_some_and(|next| !next.fits_in(&free));
            return refused.then_some(Line {
                since_ms: now,
                from_ms: now,
                until_ms: now + config.reserve_after_ms + config.reserve_hold_ms,
                length_ms: config.reserve_hold_ms,
                free,
                rests: false,
                next: None,
            });
        };
        let longest_ms = self.longest_hold_ms();
        if !line.rests && !free.fits_in(&line.free) {
            line.length_ms = longest_ms.min(line.length_ms.saturating_mul(2));
            line.free = line.free.component_max(&free);
            (line.from_ms, line.until_ms) = (now, now + line.length_ms);
        } else if line.until_ms <= now {
            let length_ms = match line.rests {
                true => longest_ms.min(line.length_ms.saturating_mul(2)),
                false => line.length_ms,
            };
            line = Line {
                from_ms: now,
                until_ms: now + length_ms,
                length_ms,
                free,
                rests: !line.rests,
                ..line
            };
        }
        Some(line)
    }

    fn is_kept(&self, line: &Line) -> bool {
        !line.rests && self.now - line.since_ms >= self.setup.config.reserve_after_ms
    }

    /// Whether a limit keeps what it has free.
    pub(super) fn limit_keeps(&self, limit: Limit) -> bool {
        let line = self.at_limits.lines.get(&limit);
        line.is_some_and(|line| self.is_kept(line))
    }

    fn keep(&mut self, limit: Limit, next: Option<Kept>) {
        match limit {
            Limit::Queue(label, at) => self.tree_mut(label).node_mut(at).kept = next,
            Limit::Masters(label, at) => self.tree_mut(label).node_mut(at).kept_for_masters = next,
            Limit::Line(..) => {}
        }
    }

    /// Notes a grant: where room is kept on the path of its leaf, another ask may be next.
    pub(super) fn note_line(&mut self, label: PartitionId, leaf: ShareNodeId, pick: &Pick) {
        let label = self.tree_label(label);
        let tree = self.partitions.get(&label).unwrap_or(&self.tree);
        for at in tree.path_up(leaf) {
            let node = tree.node(at);
            for (limit, kept) in [
                (Limit::Queue(label, at), node.kept),
                (Limit::Masters(label, at), node.kept_for_masters),
            ] {
                let Some(kept) = kept else {
                    continue;
                };
                self.at_limits.stale.insert(limit);
                if (kept.leaf, kept.shape) == (leaf, pick.shape)
                    && let Some(line) = self.at_limits.lines.get_mut(&limit)
                {
                    line.begin(self.now);
                }
            }
        }
    }

    /// Notes that ApplicationMasters of a leaf's line start.
    pub(super) fn note_starts(&mut self, (leaf, label): (QueueId, PartitionId), jobs: &[JobId]) {
        let from = Limit::Line(label, leaf, None);
        for (limit, line) in self.at_limits.lines.range_mut(from..) {
            match limit {
                Limit::Line(at, queue, _) if (*at, *queue) == (label, leaf) => {}
                _ => return,
            }
            if line.next.is_some_and(|next| jobs.contains(&next)) {
                line.begin(self.now);
            }
        }
    }

    /// Notes that asks of a leaf are held, or no longer: others may be next at limits.
    pub(super) fn note_held(&mut self, leaf: ShareNodeId) {
        if self.at_limits.lines.is_empty() {
            return;
        }
        for label in self.tree_labels() {
            let path: Vec<ShareNodeId> = self.tree_of(label).path_up(leaf).collect();
            let limits = path
                .into_iter()
                .flat_map(|at| [Limit::Queue(label, at), Limit::Masters(label, at)]);
            let stale: Vec<Limit> = limits.filter(|limit| self.limit_keeps(*limit)).collect();
            self.at_limits.stale.extend(stale);
        }
    }

    /// Looks again for the next ask where that may have changed. Runs before each search.
    pub(super) fn renew_lines(&mut self) {
        while let Some(limit) = self.at_limits.stale.pop_first() {
            let next = self.next_at(limit);
            self.keep(limit, next);
        }
    }

    fn tree_mut(&mut self, label: PartitionId) -> &mut ShareTree {
        self.partitions.get_mut(&label).unwrap_or(&mut self.tree)
    }

    /// The open ask that is next at or below a node of the tree of shares by the order of queues
    /// and jobs, of those that only limits from there up can refuse.
    pub(super) fn next_below(&self, label: PartitionId, at: ShareNodeId) -> Option<Kept> {
        self.next_at(Limit::Queue(label, at))
    }

    /// The open ask that is next below a limit of the tree of shares. The limits of
    /// ApplicationMasters come first: one that they refuse stands in no line below others.
    fn next_at(&self, limit: Limit) -> Option<Kept> {
        match limit {
            Limit::Queue(_, at) | Limit::Masters(_, at) => {
                self.next_of(limit, at, &mut { LEAVES_MAX })
            }
            Limit::Line(..) => None,
        }
    }

    fn next_of(&self, limit: Limit, at: ShareNodeId, left: &mut usize) -> Option<Kept> {
        let (Limit::Queue(label, _) | Limit::Masters(label, _)) = limit else {
            return None;
        };
        let tree = self.tree_of(label);
        let masters = matches!(limit, Limit::Masters(..));
        for child in tree.node(at).in_order() {
            if *left == 0 {
                return None;
            }
            let node = tree.node(child);
            let within = |next: &Kept| {
                let room = node.max_share - node.used;
                masters || !node.limited || next.size.fits_in(&room)
            };
            let next = self.next_of(limit, child, left).filter(within);
            if next.is_some() {
                return next;
            }
        }
        *left = left.saturating_sub(1);
        let open = self.backlog.leaf(at).open.iter();
        let open = open.filter(|(shape, _)| self.may_come(limit, label, at, **shape));
        let first = open.filter_map(|(shape, asks)| Some((asks.first()?, *shape)));
        let (_, shape) = first.min()?;
        Some(Kept {
            leaf: at,
            shape,
            size: self.backlog.shapes.get(shape).size.resource,
        })
    }

    /// Whether asks of a shape could run on nodes of a label if what runs in their queues ended,
    /// and no other limit of ApplicationMasters refuses them first.
    fn may_come(
        &self,
        limit: Limit,
        label: PartitionId,
        leaf: ShareNodeId,
        shape: ShapeId,
    ) -> bool {
        let size = &self.backlog.shapes.get(shape).size;
        let tree = self.tree_of(label);
        let largest = self.at_limits.largest.get(&size.partition);
        let admitted = || match limit {
            Limit::Masters(_, top) => {
                let next = Kept {
                    leaf,
                    shape,
                    size: size.resource,
                };
                let part = tree.node(leaf).max_am_share;
                let full = tree.full_of_masters(leaf, &size.resource, part, None);
                let below = |(at, _)| at != top && tree.path_up(at).any(|up| up == top);
                let most = limit_of_masters(tree, top, &next);
                size.am
                    && !full.is_some_and(below)
                    && most.is_some_and(|most| next.size.fits_in(&most))
            }
            _ => !size.am || tree.admits_am(leaf, shape, &size.resource),
        };
        self.tree_label(size.partition) == label
            && largest.is_some_and(|most| size.resource.fits_in(most))
            && tree
                .path_up(leaf)
                .all(|at| size.resource.fits_in(&tree.node(at).max_share))
            && admitted()
    }

    /// The limits of the tree of shares that keep room: label, queue, whether it is that of
    /// ApplicationMasters, the size that is kept for, and since when without a gain. For reports
    /// and tests.
    pub fn kept_at_limits(
        &self,
    ) -> impl Iterator<Item = (PartitionId, QueueId, bool, Resource, Millis)> {
        let lines = self.at_limits.lines.iter();
        lines.filter_map(|(limit, line)| {
            let (label, at, masters) = match *limit {
                Limit::Queue(label, at) => (label, at, false),
                Limit::Masters(label, at) => (label, at, true),
                Limit::Line(..) => return None,
            };
            let node = self.tree_of(label).node(at);
            let kept = if masters {
                node.kept_for_masters
            } else {
                node.kept
            };
            Some((label, node.queue, masters, kept?.size, line.from_ms))
        })
    }
}

/// The limit of a queue for the ApplicationMaster that is next below it, if it has one.
fn limit_of_masters(tree: &ShareTree, at: ShareNodeId, next: &Kept) -> Option<Resource> {
    let part = tree.node(next.leaf).max_am_share;
    let mut limits = tree.limits_of_masters(next.leaf, &next.size, part);
    limits.find_map(|(of, limit)| (of == at).then_some(limit))
}
