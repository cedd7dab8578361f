//! Keeps what the limit of a queue has free for the ask that is next in line below it. Otherwise
//! smaller asks would take each gap that is too small for it, and it would wait for ever.
//!
//! Three rules bound what others lose:
//! - Before the queue has been short for `reservation.after_ms`, and from then on where the next
//!   ask fits as well, others get what is free. So at most the room of one container is kept.
//! - Nothing is kept for an ask that is larger than a limit above it or than every node.
//! - What is kept ends when the queue has gained no room for `reservation.hold_ms`. That time
//!   doubles as for nodes; see `reservation.rs`. The limit then rests for as long.

use super::Engine;
use super::search::Pick;
use crate::model::share_tree::{Kept, ShareTree};
use crate::words::ids::{Millis, PartitionId, QueueId};
use crate::words::keys::{ShapeId, ShareNodeId};
use crate::words::resource::Resource;
use std::collections::BTreeMap;

/// How many leaves are looked at for the ask that is next below a limit: hundreds may be at limits
/// of their own.
const LEAVES_MAX: usize = 64;

/// The queues that ask for more than their limit, by label.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: BTreeMap<(PartitionId, ShareNodeId), Line>,
    /// The largest amounts of any node, by label, as of the last tick.
    largest: BTreeMap<PartitionId, Resource>,
    /// Where the next ask may have changed since room was kept for it.
    stale: Vec<(PartitionId, ShareNodeId)>,
}

/// A queue that asks for more than its limit.
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
        let labels = self.partitions.keys().copied();
        let labels: Vec<PartitionId> = [PartitionId::DEFAULT].into_iter().chain(labels).collect();
        let mut lines = BTreeMap::new();
        for label in labels {
            for at in self.tree_of(label).ids() {
                let node = self.tree_of(label).node(at);
                if !node.limited {
                    continue;
                }
                let short = node.pending_asks > 0 && !node.demand.fits_in(&node.max_share);
                let next = short.then(|| self.next_below(label, at)).flatten();
                let line = match short {
                    true => self.line_at((label, at), next.as_ref()),
                    false => None,
                };
                let keeps = line.is_some_and(|line| self.is_kept(&line));
                self.tree_mut(label).node_mut(at).kept = next.filter(|_| keeps);
                lines.extend(line.map(|line| ((label, at), line)));
            }
        }
        self.at_limits.lines = lines;
    }

    /// What becomes of the line at a limit; none before the limit has refused an ask.
    fn line_at(&self, place: (PartitionId, ShareNodeId), next: Option<&Kept>) -> Option<Line> {
        let now = self.now;
        let node = self.tree_of(place.0).node(place.1);
        let free = node.max_share - node.used;
        let config = &self.setup.config;
        let Some(mut line) = self.at_limits.lines.get(&place).copied() else {
            let refused = next.is_some_and(|next| !next.size.fits_in(&free));
            return refused.then_some(Line {
                since_ms: now,
                from_ms: now,
                until_ms: now + config.reserve_after_ms + config.reserve_hold_ms,
                length_ms: config.reserve_hold_ms,
                free,
                rests: false,
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

    /// Notes a grant: where room is kept on the path of its leaf, another ask may be next.
    pub(super) fn note_line(&mut self, label: PartitionId, leaf: ShareNodeId, pick: &Pick) {
        let label = self.tree_label(label);
        let tree = self.partitions.get(&label).unwrap_or(&self.tree);
        for at in tree.path_up(leaf) {
            let Some(kept) = tree.node(at).kept else {
                continue;
            };
            self.at_limits.stale.push((label, at));
            if (kept.leaf, kept.shape) == (leaf, pick.shape)
                && let Some(line) = self.at_limits.lines.get_mut(&(label, at))
            {
                // The next ask has the whole time again.
                line.free = Resource::ZERO;
                (line.from_ms, line.until_ms) = (self.now, self.now + line.length_ms);
            }
        }
    }

    /// Looks again for the next ask where that may have changed. Runs before each search.
    pub(super) fn renew_lines(&mut self) {
        while let Some((label, at)) = self.at_limits.stale.pop() {
            let next = self.next_below(label, at);
            self.tree_mut(label).node_mut(at).kept = next;
        }
    }

    fn tree_mut(&mut self, label: PartitionId) -> &mut ShareTree {
        self.partitions.get_mut(&label).unwrap_or(&mut self.tree)
    }

    /// The open ask that is next at or below a node of the tree of shares by the order of queues
    /// and jobs, of those that only limits from there up can refuse.
    pub(super) fn next_below(&self, label: PartitionId, at: ShareNodeId) -> Option<Kept> {
        self.next_of(label, at, &mut { LEAVES_MAX })
    }

    fn next_of(&self, label: PartitionId, at: ShareNodeId, left: &mut usize) -> Option<Kept> {
        let tree = self.tree_of(label);
        for child in tree.node(at).in_order() {
            if *left == 0 {
                return None;
            }
            let node = tree.node(child);
            let within =
                |next: &Kept| !node.limited || next.size.fits_in(&(node.max_share - node.used));
            let next = self.next_of(label, child, left).filter(within);
            if next.is_some() {
                return next;
            }
        }
        *left = left.saturating_sub(1);
        let open = self.backlog.leaf(at).open.iter();
        let open = open.filter(|(shape, _)| self.may_come(label, at, **shape));
        let first = open.filter_map(|(shape, asks)| Some((asks.first()?, *shape)));
        let (_, shape) = first.min()?;
        Some(Kept {
            leaf: at,
            shape,
            size: self.backlog.shapes.get(shape).size.resource,
        })
    }

    /// Whether asks of a shape could run on nodes of a label if what runs in their queues ended.
    fn may_come(&self, label: PartitionId, leaf: ShareNodeId, shape: ShapeId) -> bool {
        let size = &self.backlog.shapes.get(shape).size;
        let tree = self.tree_of(label);
        let largest = self.at_limits.largest.get(&size.partition);
        self.tree_label(size.partition) == label
            && largest.is_some_and(|most| size.resource.fits_in(most))
            && (!size.am || tree.admits_am(leaf, &size.resource))
            && tree
                .path_up(leaf)
                .all(|at| size.resource.fits_in(&tree.node(at).max_share))
    }

    /// The limits that keep room: label, queue, the size that is kept for, and since when without
    /// a gain. For reports and tests.
    pub fn kept_at_limits(&self) -> impl Iterator<Item = (PartitionId, QueueId, Resource, Millis)> {
        let lines = self.at_limits.lines.iter();
        lines.filter_map(|((label, at), line)| {
            let node = self.tree_of(*label).node(*at);
            let kept = node.kept?;
            Some((*label, node.queue, kept.size, line.from_ms))
        })
    }
}
