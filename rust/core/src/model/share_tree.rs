//! The tree of shares: usage, limits and the order of siblings. The share stage's keys say which
//! sibling goes first; this file only keeps the keys in order as usage changes.

use crate::config::QueueConfig;
use crate::words::ids::{JobId, Millis, QueueId};
use crate::words::keys::{Layout, POOLS, ShareKey, ShareNodeId};
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// Gives the nodes their places among their siblings; a part of the share stage.
pub trait Keys {
    /// The key of a node among its siblings. `capacity` is all that the cluster has.
    fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey;
}

/// Usage, demand and limits of one node of the tree.
#[derive(Clone, Debug)]
pub struct ShareNode {
    /// The node above.
    pub parent: Option<ShareNodeId>,
    /// The nodes below.
    pub children: Vec<ShareNodeId>,
    /// The queue that it stands for.
    pub queue: QueueId,
    /// Whether that queue was removed. The node is then empty, and without a parent until its id
    /// goes to another.
    pub removed: bool,
    /// Its weight against its siblings.
    pub weight: f64,
    /// The resources that it gets before others get more.
    pub min_share: Resource,
    /// The limit of its usage.
    pub max_share: Resource,
    /// Whether `max_share` limits anything.
    pub limited: bool,
    /// The part of the fair share that ApplicationMasters may take.
    pub max_am_share: f64,
    /// The resources of its jobs' containers, grants in flight included.
    pub used: Resource,
    /// How many containers of its jobs take slots, by pool.
    pub running: [u32; POOLS],
    /// The job with something pending that was submitted first. Kept at leaves, and only for
    /// shares that serve by arrival.
    pub first_arrival: Option<(Millis, JobId)>,
    arrivals: BTreeMap<(Millis, JobId), u32>,
    /// The resources of its ApplicationMasters. Kept at leaves.
    pub am_used: Resource,
    /// How many ApplicationMasters it has. Kept at leaves.
    pub ams: u32,
    /// How many asks are in the backlog at or below it.
    pub pending_asks: u32,
    /// Usage and pending asks, as last computed.
    pub demand: Resource,
    /// Its entitlement, as last computed. Never more than it has use for.
    pub fair_share: Resource,
    /// Its entitlement if it had use for everything, as last computed. Limits that are a part of
    /// the share go by it.
    pub active_share: Resource,
    key: ShareKey,
    order: BTreeSet<(ShareKey, ShareNodeId)>,
}

impl ShareNode {
    /// A node for a queue, with nothing used or wanted.
    pub fn new(parent: Option<ShareNodeId>, queue: QueueId, config: &QueueConfig) -> ShareNode {
        let mut node = ShareNode {
            parent,
            children: Vec::new(),
            queue,
            removed: false,
            weight: 1.0,
            min_share: Resource::ZERO,
            max_share: Resource::UNBOUNDED,
            limited: false,
            max_am_share: 1.0,
            used: Resource::ZERO,
            running: [0; POOLS],
            first_arrival: None,
            arrivals: BTreeMap::new(),
            am_used: Resource::ZERO,
            ams: 0,
            pending_asks: 0,
            demand: Resource::ZERO,
            fair_share: Resource::ZERO,
            active_share: Resource::ZERO,
            key: ShareKey::default(),
            order: BTreeSet::new(),
        };
        node.configure(config);
        node
    }

    /// Takes over weight and limits.
    pub fn configure(&mut self, config: &QueueConfig) {
        self.weight = config.weight;
        self.min_share = config.min_share;
        self.max_share = config.max_share;
        self.limited = config.max_share != Resource::UNBOUNDED;
        self.max_am_share = config.max_am_share;
    }

    /// The children that have something pending, in the order in which they are served.
    pub fn in_order(&self) -> impl Iterator<Item = ShareNodeId> {
        self.order.iter().map(|(_, id)| *id)
    }

    /// The same in order of their ratios alone: merges the lines of the two classes.
    pub fn in_order_of_ratio(&self) -> impl Iterator<Item = ShareNodeId> {
        let second = (ShareKey { class: 1, ratio: 0 }, ShareNodeId(0));
        let mut low = self.order.range(..second).peekable();
        let mut high = self.order.range(second..).peekable();
        std::iter::from_fn(move || {
            let rank = |(key, id): &&(ShareKey, ShareNodeId)| (key.ratio, *id);
            let from_low = match (low.peek().map(rank), high.peek().map(rank)) {
                (Some(low), Some(high)) => low < high,
                (low, _) => low.is_some(),
            };
            let line = if from_low { &mut low } else { &mut high };
            line.next().map(|(_, id)| *id)
        })
    }

    fn count_arrival(&mut self, arrival: (Millis, JobId), added: bool) {
        let asks = self.arrivals.entry(arrival).or_insert(0);
        *asks = if added { *asks + 1 } else { *asks - 1 };
        if *asks == 0 {
            self.arrivals.remove(&arrival);
        }
        self.first_arrival = self.arrivals.keys().next().copied();
    }

    /// Its key among its siblings, as last computed.
    pub fn key(&self) -> ShareKey {
        self.key
    }

    /// Whether one more ApplicationMaster of that size may start in this leaf. The first always
    /// may: a share too small for any must not lock up a queue.
    pub fn admits_am(&self, resource: &Resource) -> bool {
        self.masters_fit(resource, self.max_am_share)
    }

    /// The same for ApplicationMasters that want `more` together, of which `part` of the share is
    /// theirs.
    pub fn masters_fit(&self, more: &Resource, part: f64) -> bool {
        self.ams == 0 || (self.am_used + *more).fits_in(&self.active_share.scaled(part))
    }
}

#[derive(Debug, Default)]
pub struct ShareTree {
    nodes: Vec<ShareNode>,
    /// Whether leaves keep `ShareNode::first_arrival`, for keys that look at it.
    keeps_arrivals: bool,
}

impl ShareTree {
    /// An empty tree for a layout.
    pub(crate) fn new(layout: Layout) -> ShareTree {
        ShareTree {
            nodes: Vec::new(),
            keeps_arrivals: layout == Layout::Flat,
        }
    }

    /// Whether keys go by the first arrival in each leaf.
    pub(crate) fn keeps_arrivals(&self) -> bool {
        self.keeps_arrivals
    }

    /// Adds a node below `parent` (none: the root). Parents are added before children.
    pub fn add(
        &mut self,
        parent: Option<ShareNodeId>,
        queue: QueueId,
        config: &QueueConfig,
    ) -> ShareNodeId {
        let id = ShareNodeId(self.nodes.len() as u32);
        self.nodes.push(ShareNode::new(parent, queue, config));
        if let Some(parent) = parent {
            self.nodes[parent.index()].children.push(id);
        }
        id
    }

    /// Puts a node at the next id, or at that of a removed node.
    pub(crate) fn put(
        &mut self,
        id: ShareNodeId,
        parent: Option<ShareNodeId>,
        queue: QueueId,
        config: &QueueConfig,
    ) {
        if id.index() == self.nodes.len() {
            self.add(parent, queue, config);
            return;
        }
        self.nodes[id.index()] = ShareNode::new(parent, queue, config);
        if let Some(parent) = parent {
            self.nodes[parent.index()].children.push(id);
        }
    }

    /// Removes the nodes of removed queues, which have nothing used or pending.
    pub(crate) fn remove(&mut self, removed: &[ShareNodeId]) {
        let mut parents = BTreeSet::new();
        for id in removed {
            let node = &mut self.nodes[id.index()];
            debug_assert!(node.used.is_zero() && node.pending_asks == 0);
            parents.extend(node.parent);
            *node = ShareNode {
                removed: true,
                ..ShareNode::new(None, node.queue, &QueueConfig::new(""))
            };
        }
        for parent in parents {
            let mut children = std::mem::take(&mut self.nodes[parent.index()].children);
            children.retain(|child| !self.nodes[child.index()].removed);
            self.nodes[parent.index()].children = children;
        }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is not even a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Every id; parents come before children.
    pub fn ids(&self) -> impl Iterator<Item = ShareNodeId> + use<> {
        (0..self.nodes.len() as u32).map(ShareNodeId)
    }

    pub fn node(&self, id: ShareNodeId) -> &ShareNode {
        &self.nodes[id.index()]
    }

    pub(crate) fn node_mut(&mut self, id: ShareNodeId) -> &mut ShareNode {
        &mut self.nodes[id.index()]
    }

    pub(crate) fn root_mut(&mut self) -> &mut ShareNode {
        &mut self.nodes[0]
    }

    /// From `id` up to the root.
    pub fn path_up(&self, id: ShareNodeId) -> impl Iterator<Item = ShareNodeId> {
        std::iter::successors(Some(id), |at| self.nodes[at.index()].parent)
    }

    /// Whether `resource` more stays within every limit from `leaf` up.
    pub fn within_limits(&self, leaf: ShareNodeId, resource: &Resource) -> bool {
        self.path_up(leaf).all(|at| {
            let node = &self.nodes[at.index()];
            !node.limited || resource.fits_in(&(node.max_share - node.used))
        })
    }

    /// Adds to (or takes from) the usage of a leaf and everything above it.
    pub fn charge(
        &mut self,
        keys: &dyn Keys,
        capacity: &Resource,
        leaf: ShareNodeId,
        resource: &Resource,
        pool: Option<usize>,
        taken: bool,
    ) {
        let mut at = Some(leaf);
        while let Some(id) = at {
            let node = &mut self.nodes[id.index()];
            if taken {
                node.used += *resource;
            } else {
                node.used -= *resource;
            }
            if let Some(pool) = pool {
                let running = &mut node.running[pool];
                *running = if taken { *running + 1 } else { *running - 1 };
            }
            at = node.parent;
            self.rekey(keys, capacity, id);
        }
    }

    pub(crate) fn clear_slots(&mut self) {
        for node in &mut self.nodes {
            node.running = [0; POOLS];
        }
    }

    pub(crate) fn count_slot(&mut self, leaf: ShareNodeId, pool: Option<usize>) {
        let mut at = pool.map(|_| leaf);
        while let (Some(id), Some(pool)) = (at, pool) {
            let node = &mut self.nodes[id.index()];
            node.running[pool] += 1;
            at = node.parent;
        }
    }

    /// Counts an ask into (or out of) the backlog of a leaf; only nodes with something pending
    /// stand in their parent's order.
    pub fn count_ask(
        &mut self,
        keys: &dyn Keys,
        capacity: &Resource,
        leaf: ShareNodeId,
        arrival: (Millis, JobId),
        added: bool,
    ) {
        if self.keeps_arrivals {
            self.nodes[leaf.index()].count_arrival(arrival, added);
            self.rekey(keys, capacity, leaf);
        }
        let mut at = Some(leaf);
        while let Some(id) = at {
            let node = &mut self.nodes[id.index()];
            let before = node.pending_asks;
            node.pending_asks = if added { before + 1 } else { before - 1 };
            let (parent, key, after) = (node.parent, node.key, node.pending_asks);
            if let Some(parent) = parent {
                if before == 0 {
                    let key = keys.key(&self.nodes[id.index()], capacity);
                    self.nodes[id.index()].key = key;
                    self.nodes[parent.index()].order.insert((key, id));
                } else if after == 0 {
                    self.nodes[parent.index()].order.remove(&(key, id));
                }
            }
            at = parent;
        }
    }

    /// Recomputes all keys: weights, minimums or the cluster changed.
    pub fn rekey_all(&mut self, keys: &dyn Keys, capacity: &Resource) {
        for id in self.ids() {
            self.rekey(keys, capacity, id);
        }
    }

    /// Recomputes one key.
    pub(crate) fn rekey(&mut self, keys: &dyn Keys, capacity: &Resource, id: ShareNodeId) {
        let node = &self.nodes[id.index()];
        let (Some(parent), true) = (node.parent, node.pending_asks > 0) else {
            return;
        };
        let (before, after) = (node.key, keys.key(node, capacity));
        if before != after {
            self.nodes[id.index()].key = after;
            let order = &mut self.nodes[parent.index()].order;
            order.remove(&(before, id));
            order.insert((after, id));
        }
    }
}
