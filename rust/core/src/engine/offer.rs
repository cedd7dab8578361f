//! Grants what a job has just asked for on nodes with known room, instead of when each of them
//! reports next. Each node is visited as on its report, so nothing is decided that a report would
//! not have decided: the share, order and place stages pick as always, and may pick another job.

use super::Engine;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job};
use crate::words::event::Decision;
use crate::words::ids::{JobId, NodeId};
use crate::words::resource::Resource;
use std::collections::BTreeSet;

/// The most nodes that one offer chooses, looks at in the walk, and visits: it holds up whoever
/// asks next.
const NODES_MAX: usize = 64;
const LOOKED_AT_MAX: u32 = 256;
const VISITS_MAX: u32 = 64;
/// After this many visits in a row that grant nothing, the room is kept for others or for later.
const VAIN_MAX: u32 = 4;

impl Engine {
    /// Visits nodes that have room for the job's asks, those of its hosts first. Each gets one
    /// container a round, so that a wave spreads as it would over reports.
    pub(super) fn offer(&mut self, id: JobId, decisions_max: usize, decisions: &mut Vec<Decision>) {
        self.settle();
        if self.cluster.job(id).is_none() {
            return self.ignore("unknown job", &id);
        }
        let mut nodes = self.nodes_with_room(id);
        let (mut visits, mut vain) = (0, 0);
        while !nodes.is_empty() {
            let mut next = Vec::new();
            for node in nodes {
                if visits == VISITS_MAX || vain == VAIN_MAX || !self.has_asks(id) {
                    return;
                }
                if decisions.len() >= decisions_max {
                    self.cut = true;
                    return;
                }
                visits += 1;
                let before = decisions.len();
                self.visit(node, 1, decisions_max, decisions);
                match decisions.len() > before {
                    true => {
                        vain = 0;
                        next.push(node);
                    }
                    false => vain += 1,
                }
            }
            nodes = next;
        }
    }

    fn has_asks(&self, id: JobId) -> bool {
        self.cluster.job(id).is_some_and(|job| {
            let due = |ask: &Ask| job.is_due(ask);
            job.runnable && job.pending().any(due)
        })
    }

    /// The nodes that have room for an ask of the job: those of the hosts that it names in order of
    /// number, then others from where the last walk ended.
    fn nodes_with_room(&mut self, id: JobId) -> Vec<NodeId> {
        let Some(job) = self.cluster.job(id).filter(|job| job.runnable) else {
            return Vec::new();
        };
        // Not ask by ask: one ApplicationMaster may have thousands, and others wait meanwhile.
        let Some(least) = least(job) else {
            return Vec::new();
        };
        let has_room = |node: &&Node| node.facts.schedulable && least.fits_in(&node.free);
        let named: BTreeSet<NodeId> = job
            .pending()
            .flat_map(|ask| ask.rows.iter())
            .filter(|(_, row)| row.count > 0)
            .flat_map(|(place, _)| self.cluster.nodes_of(*place))
            .take(LOOKED_AT_MAX as usize)
            .filter(|id| self.cluster.node(*id).as_ref().is_some_and(has_room))
            .take(NODES_MAX)
            .collect();
        let mut nodes: Vec<NodeId> = named.iter().copied().collect();
        let end = self.cluster.nodes_end();
        let mut at = self.offer_from;
        for _ in 0..end.min(LOOKED_AT_MAX) {
            if nodes.len() >= NODES_MAX {
                break;
            }
            at = if at >= end { 0 } else { at };
            let node = NodeId(at);
            at += 1;
            let fits = self.cluster.node(node).as_ref().is_some_and(has_room);
            if fits && !named.contains(&node) {
                nodes.push(node);
            }
        }
        self.offer_from = at;
        nodes
    }
}

/// The least of each resource that any pending ask of the job wants. A node without it has room for
/// none of them; whether a node with it has is the visit's to find out.
fn least(job: &Job) -> Option<Resource> {
    let sizes = job.pending().map(|ask| ask.facts.resource);
    sizes.reduce(|one, other| one.component_min(&other))
}
