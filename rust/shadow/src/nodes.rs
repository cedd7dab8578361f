//! The nodes of the shadow's world: the live ones, with the shadow's containers.

use heddle_core::words::event::{Event, NodeFacts};
use heddle_core::words::ids::{Millis, NodeId, PlaceId};
use heddle_core::words::resource::Resource;
use std::collections::BTreeMap;

/// How often a node reports.
const BEAT_MS: Millis = 1_000;

#[derive(Debug)]
struct Node {
    facts: NodeFacts,
    used: Resource,
    beaten_ms: Millis,
}

impl Node {
    fn free(&self) -> Resource {
        self.facts.capacity - self.used
    }
}

#[derive(Debug, Default)]
pub(crate) struct Nodes {
    nodes: BTreeMap<NodeId, Node>,
}

impl Nodes {
    /// A node joined or changed; returns its facts in the shadow's world.
    pub(crate) fn put(&mut self, facts: NodeFacts) -> NodeFacts {
        let node = self.nodes.entry(facts.node).or_insert(Node {
            facts,
            used: Resource::ZERO,
            beaten_ms: 0,
        });
        node.facts = facts;
        NodeFacts {
            free: node.free(),
            ..facts
        }
    }

    pub(crate) fn remove(&mut self, id: NodeId) {
        self.nodes.remove(&id);
    }

    /// The host and the rack of a node.
    pub(crate) fn place(&self, id: NodeId) -> Option<(PlaceId, PlaceId)> {
        let node = self.nodes.get(&id)?;
        Some((node.facts.host, node.facts.rack))
    }

    pub(crate) fn start(&mut self, id: NodeId, resource: &Resource) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.used += *resource;
        }
    }

    pub(crate) fn end(&mut self, id: NodeId, resource: &Resource) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.used -= *resource;
        }
    }

    /// The nodes that report now.
    pub(crate) fn due(&mut self, now_ms: Millis) -> Vec<NodeId> {
        let due = self
            .nodes
            .iter_mut()
            .filter(|(_, node)| node.facts.schedulable && node.beaten_ms + BEAT_MS <= now_ms);
        due.map(|(id, node)| {
            node.beaten_ms = now_ms;
            *id
        })
        .collect()
    }

    pub(crate) fn heartbeat(&self, id: NodeId) -> Option<Event> {
        let node = self.nodes.get(&id)?;
        Some(Event::Heartbeat {
            node: id,
            free: node.free(),
        })
    }
}
