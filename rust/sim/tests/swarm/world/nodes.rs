//! The lives of nodes: they join, report, leave and return.

use super::World;
use crate::due::Due;
use crate::host::HostNode;
use crate::workload;
use heddle_core::words::event::Event;
use heddle_core::words::exit::LOST;
use heddle_core::words::ids::{NodeId, PartitionId};
use heddle_core::words::resource::Resource;
use heddle_sim::failure::Checked;
use std::collections::BTreeSet;

impl World {
    pub(super) fn join_node(&mut self, id: NodeId) -> Checked {
        let (size, features) = (self.options.size.clone(), self.options.features);
        let facts = workload::node(id, &size, &self.places, &features, &mut self.random);
        let node = HostNode {
            facts,
            lingering: Resource::ZERO,
            containers: BTreeSet::new(),
            used: Resource::ZERO,
        };
        self.outcome.capacity += facts.capacity;
        self.host.nodes.insert(id, node);
        let phase = self.random.range(0, size.heartbeat_ms - 1);
        self.agenda.plan(phase, Due::NodeHeartbeat(id, 0));
        self.tell_node(id, true)
    }

    pub(super) fn node_heartbeat(&mut self, id: NodeId, life: u32) -> Checked {
        if self.lives.get(&id).copied().unwrap_or(0) != life {
            return Ok(());
        }
        let Some(node) = self.host.nodes.get_mut(&id) else {
            return Ok(());
        };
        node.lingering = Resource::ZERO;
        let free = node.free();
        let next = self.now + self.options.size.heartbeat_ms;
        self.agenda.plan(next, Due::NodeHeartbeat(id, life));
        self.deliver(Some(Event::Heartbeat { node: id, free }))
    }

    /// Frees the room of a stopped container at once, or keeps it until its node reports.
    pub(super) fn linger(&mut self, node: NodeId, resource: &Resource) {
        if self.options.features.lingering
            && self.random.percent(50)
            && let Some(node) = self.host.nodes.get_mut(&node)
        {
            node.lingering += *resource;
        }
    }

    pub(super) fn lose_node(&mut self, id: NodeId) -> Checked {
        let Some(node) = self.host.nodes.get(&id) else {
            return Ok(());
        };
        for (job, key) in node.containers.clone() {
            self.complete(job, key, LOST)?;
        }
        if let Some(node) = self.host.nodes.remove(&id) {
            self.lost_nodes.insert(id, node.facts);
        }
        *self.lives.entry(id).or_insert(0) += 1;
        let away_ms = self.random.range(100, 6_000);
        self.agenda.plan(self.now + away_ms, Due::NodeBack(id));
        self.send(Event::NodeRemoved(id))
    }

    pub(super) fn node_back(&mut self, id: NodeId) -> Checked {
        let Some(facts) = self.lost_nodes.remove(&id) else {
            return Ok(());
        };
        let node = HostNode {
            facts,
            lingering: Resource::ZERO,
            containers: BTreeSet::new(),
            used: Resource::ZERO,
        };
        self.host.nodes.insert(id, node);
        if self.random.percent(50) {
            self.alter_node(id);
        }
        let life = self.lives.get(&id).copied().unwrap_or(0);
        self.agenda.plan(self.now + 1, Due::NodeHeartbeat(id, life));
        self.tell_node(id, true)
    }

    /// Changes the size, label, rack or host of a node.
    pub(super) fn alter_node(&mut self, id: NodeId) {
        let gb = self.random.range(1, self.options.size.node_gb);
        let place = self.random.below(8) as u32;
        let (host, rack) = (self.places.host(place), self.places.rack(place));
        let choice = self.random.below(4);
        let labels = self.options.features.labels;
        let Some(node) = self.host.nodes.get_mut(&id) else {
            return;
        };
        match choice {
            0 if labels => node.facts.partition = PartitionId(1 - node.facts.partition.0.min(1)),
            1 => node.facts.rack = rack,
            2 => node.facts.host = host,
            _ => {
                node.facts.capacity.0[0] = gb * 1024;
                node.facts.capacity.0[1] = gb;
            }
        }
    }

    pub(super) fn node_up(&mut self, id: NodeId) -> Checked {
        match self.host.nodes.get_mut(&id) {
            Some(node) if !node.facts.schedulable => {
                node.facts.schedulable = true;
                self.tell_node(id, false)
            }
            _ => Ok(()),
        }
    }
}
