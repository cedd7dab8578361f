//! Finds whose turn it is: lets the search that grants look at nodes, as they are or as if they had
//! room for one container, and says why it serves another ask than the asked one.

use super::survey::{Survey, shortage};
use super::{Look, Next, View, count_ahead};
use crate::backlog::{Entry, ShapeSize};
use crate::model::cluster::Node;
use crate::model::job::Standing;
use crate::model::wait::{Ahead, PendingAsk, Reason, Shortage};
use crate::stage::behind::Passed;
use crate::words::event::NodeFacts;
use crate::words::ids::{AskId, JobId, Millis, NodeId, PlaceId};
use crate::words::keys::{POOLS, ShareNodeId};
use crate::words::resource::Resource;
use std::cmp::Reverse;

/// How many nodes are searched for one ask.
const NODES_MAX: usize = 4;

/// Why an ask waits, and what the search serves before it, if that is the reason.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) reason: Reason,
    pub(super) passed: Option<(Next, Passed)>,
    /// Whether nothing that ends would change it.
    pub(super) bars: bool,
}

impl From<Reason> for Found {
    fn from(reason: Reason) -> Found {
        Found {
            reason,
            passed: None,
            bars: false,
        }
    }
}

/// The nodes that an ask may not use, by the cause.
#[derive(Default)]
struct KeptOff {
    blacklisted: u32,
    refused: u32,
    until_ms: Option<Millis>,
    elsewhere: u32,
}

impl View<'_> {
    pub(super) fn size(&self, asked: &PendingAsk<'_>) -> ShapeSize {
        self.backlog.shapes.get(asked.ask.shape).size
    }

    /// Why the search finds nothing for an ask that no limit holds, or something else.
    pub(super) fn turn(&self, asked: &PendingAsk<'_>, survey: &Survey, most: u32) -> Found {
        let size = self.size(asked);
        let nodes = size.nodes(self.world.cluster);
        let roomy = nodes.filter(|node| survey.ready > 0 && self.has_room(&size, node));
        let (roomy, kept_off) = self.usable(asked, roomy);
        if !roomy.is_empty() {
            return self.with_room(asked, survey, &roomy, most);
        }
        if survey.ready > 0 {
            return self.kept_off(asked, &kept_off, true).into();
        }
        let nodes = size.nodes(self.world.cluster);
        let large = nodes.filter(|node| size.resource.fits_in(&node.whole));
        let (mut large, kept_off) = self.usable(asked, large);
        let held_for_others = |node: &Node| {
            let held = self.holds.get(&node.facts.node);
            held.is_some_and(|held| held.shape != asked.ask.shape)
        };
        large.sort_by_key(|node| {
            let memory = Reverse(node.free.memory_mb());
            let full = self.answers.full_pools(node);
            let is_full = size.pool.is_some_and(|pool| full[pool]);
            (held_for_others(node), is_full, memory, node.facts.node)
        });
        let Some(roomiest) = large.first() else {
            return self.kept_off(asked, &kept_off, false).into();
        };
        let market = self.share.market();
        let unpaid = market.and_then(|market| market.unpaid(asked.job, self.world.now));
        if let Some(unpaid) = unpaid {
            return unpaid.into();
        }
        if self.answers.spared(asked.job, asked.ask).is_some() {
            return self.without_room(asked, survey, roomiest).into();
        }
        if held_for_others(roomiest) {
            let ends = large
                .iter()
                .filter_map(|node| self.holds.get(&node.facts.node));
            let until_ms = ends.map(|held| held.until_ms).min().unwrap_or(0);
            let nodes = large.len() as u32;
            return Reason::HeldNodes { nodes, until_ms }.into();
        }
        let mut first = None;
        for node in large.iter().take(NODES_MAX) {
            match self.answers.next_on(node, &size, Look::default()) {
                Some(next) if next.job != asked.job.facts.job => {
                    first = first.or(Some((*node, next)));
                }
                Some(_) => return self.without_room(asked, survey, node).into(),
                None => {}
            }
        }
        match (self.waits_for_places(asked), first) {
            (Some(places), _) => places.into(),
            (None, Some(first)) => self.behind(asked, first, most),
            (None, None) => self.without_room(asked, survey, roomiest).into(),
        }
    }

    /// Handles nodes with room that it may use: it is about to be served, or others are before it.
    fn with_room(
        &self,
        asked: &PendingAsk<'_>,
        survey: &Survey,
        roomy: &[&Node],
        most: u32,
    ) -> Found {
        let size = self.size(asked);
        let mut first = None;
        for node in roomy.iter().take(NODES_MAX) {
            match self.answers.next_on(node, &size, Look::default()) {
                Some(next) if next.job != asked.job.facts.job => {
                    first = first.or(Some((*node, next)));
                }
                Some(_) => {
                    first = None;
                    break;
                }
                None => {}
            }
        }
        match (self.waits_for_places(asked), first) {
            (Some(places), _) => places.into(),
            (None, Some(first)) => self.behind(asked, first, most),
            (None, None) => Reason::Soon {
                nodes: survey.ready,
            }
            .into(),
        }
    }

    fn waits_for_places(&self, asked: &PendingAsk<'_>) -> Option<Reason> {
        self.place.ranking()?.explain(asked, self.world.now)
    }

    /// Whether a node has room and a slot, and none of it is for others.
    fn has_room(&self, size: &ShapeSize, node: &Node) -> bool {
        let taken = |full: [bool; POOLS]| size.pool.is_some_and(|pool| full[pool]);
        let held = self.holds.get(&node.facts.node);
        let shape = |held: &crate::backlog::Reservation| held.size != *size;
        size.resource.fits_in(&node.free)
            && !taken(self.answers.full_pools(node))
            && !held.is_some_and(shape)
            && self.answers.promised(node, &size.resource).is_none()
    }

    /// Those of the nodes that the ask may use, and what keeps it off the others.
    fn usable<'n>(
        &self,
        asked: &PendingAsk<'_>,
        nodes: impl Iterator<Item = &'n Node>,
    ) -> (Vec<&'n Node>, KeptOff) {
        let (job, ask) = (asked.job, asked.ask);
        let mut kept_off = KeptOff::default();
        let usable = nodes.filter(|node| {
            let facts = &node.facts;
            let refused = job.refused.get(&facts.node);
            if job.blacklists(facts.host, facts.rack) {
                kept_off.blacklisted += 1;
            } else if let Some(until) = refused.filter(|until| **until > self.world.now) {
                kept_off.refused += 1;
                let first = kept_off.until_ms.unwrap_or(*until);
                kept_off.until_ms = Some(first.min(*until));
            } else if ask.may_run_on(facts.host, facts.rack) {
                return true;
            } else {
                kept_off.elsewhere += 1;
            }
            false
        });
        (usable.collect(), kept_off)
    }

    /// The reason if the ask may use none of the nodes with `room`, or of those that are large
    /// enough.
    fn kept_off(&self, asked: &PendingAsk<'_>, by: &KeptOff, room: bool) -> Reason {
        match (by, asked.ask.standing) {
            (
                KeptOff {
                    elsewhere: 0,
                    refused,
                    until_ms: Some(until_ms),
                    ..
                },
                _,
            ) => Reason::Refused {
                nodes: *refused,
                until_ms: *until_ms,
            },
            (KeptOff { elsewhere: 0, .. }, _) => Reason::Blacklisted {
                nodes: by.blacklisted,
                room,
            },
            (_, Standing::Locked) => Reason::Locality {
                level: asked.ask.level,
                until_ms: self.goes_further_ms(asked),
            },
            _ => Reason::Strict {
                places: asked.ask.rows.len() as u32,
                up: self.places_up(asked),
            },
        }
    }

    /// Why an ask may use none of the nodes that are large enough, if that is so for good.
    pub(super) fn no_place(&self, asked: &PendingAsk<'_>) -> Option<Reason> {
        let (job, ask) = (asked.job, asked.ask);
        let insists = ask.standing == Standing::Strict || ask.unrelaxed > 0;
        if !insists && job.blacklist.is_empty() || self.places_up(asked) > 0 {
            return None;
        }
        let size = self.size(asked);
        let nodes = size.nodes(self.world.cluster);
        let large = nodes.filter(|node| size.resource.fits_in(&node.whole));
        let (_, by) = self.usable(asked, large);
        match by {
            KeptOff {
                refused: 0,
                elsewhere: 0,
                ..
            } => Some(self.kept_off(asked, &by, false)),
            _ if insists && by.refused == 0 => Some(self.kept_off(asked, &by, false)),
            _ => None,
        }
    }

    /// How many nodes are large enough of those that an ask insists on.
    fn places_up(&self, asked: &PendingAsk<'_>) -> u32 {
        let size = self.size(asked);
        let nodes = size.nodes(self.world.cluster);
        let large = nodes.filter(|node| size.resource.fits_in(&node.whole));
        let (job, ask) = (asked.job, asked.ask);
        let may_run = large.filter(|node| {
            let facts = &node.facts;
            ask.may_run_on(facts.host, facts.rack) && !job.blacklists(facts.host, facts.rack)
        });
        may_run.count() as u32
    }

    /// The reason why the search serves another ask first on a node.
    fn behind(&self, asked: &PendingAsk<'_>, (node, next): (&Node, Next), most: u32) -> Found {
        let other = self.world.cluster.job(next.job);
        let other = other.expect("the search finds asks of jobs");
        let passed = Passed {
            job: next.job,
            apart: self.parting(asked.job.leaf, other.leaf),
        };
        let mut reason = self.share.explain(asked, &passed, &self.world);
        if let Some(Reason::Share { short, .. }) = &mut reason {
            *short = self.short_of(asked);
        }
        let reason = reason.unwrap_or_else(|| {
            let mine = self.order.measure(asked.job, asked.kind);
            let kinds = other.pending().map(|ask| other.kind(ask.facts.priority));
            // Prefers the same kind, if the first job asks for it.
            let kind = kinds.min_by_key(|kind| (*kind != asked.kind, *kind));
            Reason::Behind {
                ahead: self.ahead_on(asked, (node, next), most),
                mine,
                theirs: kind.and_then(|kind| self.order.measure(other, kind)),
            }
        });
        Found {
            reason,
            passed: Some((next, passed)),
            bars: false,
        }
    }

    /// The jobs before an ask in its leaf on a node. The next is the one that the search found.
    fn ahead_on(&self, asked: &PendingAsk<'_>, (node, next): (&Node, Next), most: u32) -> Ahead {
        let size = self.size(asked);
        let waiting = (asked.job, asked.ask);
        let by_key = next.by_key.then_some(());
        let ahead = by_key.and_then(|()| self.answers.ahead_on(node, &size, waiting, most));
        let other = self.world.cluster.job(next.job);
        let ask = other.and_then(|other| other.ask(next.ask));
        let alone = Ahead {
            jobs: 1,
            tasks: ask.map_or(0, |ask| ask.facts.count),
            first: next.job,
            more: false,
        };
        ahead.map_or(alone, |ahead| Ahead {
            first: next.job,
            ..ahead
        })
    }

    /// Where the paths to two leaves part: on the one to `mine`, and on the one to `other`.
    fn parting(&self, mine: ShareNodeId, other: ShareNodeId) -> Option<(ShareNodeId, ShareNodeId)> {
        let path = |leaf| {
            let mut path: Vec<ShareNodeId> = self.world.tree.path_up(leaf).collect();
            path.reverse();
            path
        };
        let (mine, other) = (path(mine), path(other));
        let common = mine.iter().zip(&other).take_while(|(a, b)| a == b).count();
        let at = |path: &[ShareNodeId]| path.get(common).or(path.last()).copied();
        (mine != other).then_some(())?;
        Some((at(&mine)?, at(&other)?))
    }

    /// What no node that is large enough has enough of.
    fn short_of(&self, asked: &PendingAsk<'_>) -> Option<Shortage> {
        let size = self.size(asked);
        let nodes = size.nodes(self.world.cluster);
        let large = nodes.filter(|node| size.resource.fits_in(&node.whole));
        let most = large.fold(Resource::ZERO, |most, node| most.component_max(&node.free));
        shortage(&size.resource, &most)
    }

    fn without_room(&self, asked: &PendingAsk<'_>, survey: &Survey, node: &Node) -> Reason {
        let full = self.answers.full_pools(node);
        let is_full = asked.pool.is_some_and(|pool| full[pool]);
        if let (Some(pool), true) = (asked.pool, survey.slotless > 0 || is_full) {
            let root = self.world.tree.node(ShareNodeId::ROOT);
            return Reason::Slots {
                pool: pool as u8,
                running: root.running[pool],
                slots: self.world.slots[pool],
                foreign: survey.foreign,
            };
        }
        let spared = self.answers.spared(asked.job, asked.ask);
        if let (Some((nodes, until_ms)), None) = (survey.held, spared) {
            return Reason::HeldNodes { nodes, until_ms };
        }
        let Some(shortage) = shortage(&asked.size(), &node.free) else {
            return Reason::Soon { nodes: 1 };
        };
        Reason::Room {
            shortage,
            node: node.facts.node,
            held: self.held_for(asked.job.facts.job),
            labelled: survey.labelled,
            spared,
        }
    }

    /// The ask of the job that a new node without a known name, as large as a container of an ask,
    /// would serve first. All that is a part of the cluster grows with it.
    pub(super) fn first_on_a_new_node(&self, asked: &PendingAsk<'_>) -> Option<(JobId, AskId)> {
        let size = self.size(asked);
        let facts = NodeFacts {
            node: NodeId(u32::MAX),
            host: PlaceId(u32::MAX),
            rack: PlaceId(u32::MAX),
            partition: size.partition,
            lends: false,
            schedulable: true,
            capacity: size.resource,
            free: size.resource,
        };
        let node = Node::new(facts, size.resource, size.resource);
        let more = Some(&size.resource);
        let shares = self.answers.supposed(size.partition, more, None);
        let look = Look {
            shares: Some(&shares),
            ..Look::default()
        };
        let next = self.answers.next_on(&node, &size, look)?;
        Some((next.job, next.ask))
    }

    /// Counts the asks that stand before one in its leaf and could use its room. Up to `most` of
    /// each size.
    pub(super) fn ahead(&self, asked: &PendingAsk<'_>, most: u32) -> Option<Ahead> {
        let mine = Entry::new(asked.job, asked.ask);
        let leaf = self.backlog.leaf(asked.job.leaf);
        // With a ranking, the place stage also decides between jobs, not their keys alone.
        if asked.ask.standing == Standing::Out || self.place.ranking().is_some() {
            return None;
        }
        let size = self.size(asked);
        let sets = leaf.open.iter().chain(&leaf.locked);
        let rivals = sets.filter(|(shape, _)| {
            let other = &self.backlog.shapes.get(**shape).size;
            other.partition == size.partition && other.resource.fits_in(&size.resource)
        });
        let cluster = self.world.cluster;
        count_ahead(cluster, rivals, &mine, most, |_, _| true)
    }
}
