//! The tree of shares: usage, limits and the order of siblings. The share stage's keys say which
//! sibling goes first; this file only keeps the keys in order as usage changes. `masters.rs` has
//! the limit of ApplicationMasters.

mod due;
mod masters;

use crate::config::Compare;
use crate::words::ids::{JobId, Millis, QueueId};
use crate::words::keys::{Layout, POOLS, ShapeId, ShareKey, ShareNodeId};
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// Gives the nodes their places among their siblings; a part of the share stage.
pub trait Keys {
    /// The key of a node among its siblings. `capacity` is all that the cluster has.
    fn key(&self, node: &ShareNode, capacity: &Resource) -> ShareKey;

    /// The key that it would have with one more container. Siblings up to there are entitled to
    /// the next container alike. By default only those with the same key.
    fn key_after(&self, node: &ShareNode, _container: &Resource, capacity: &Resource) -> ShareKey {
        self.key(node, capacity)
    }
}

/// What a node takes over from its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Its weight against its siblings.
    pub weight: f64,
    /// The resources that it gets before others get more.
    pub min_share: Resource,
    /// The limit of its usage.
    pub max_share: Resource,
    /// The part of the fair share that ApplicationMasters may take; -1 for no limit.
    pub max_am_share: f64,
    /// How it is compared with its siblings, if the queue above says so.
    pub compared_by: Option<Compare>,
    /// Whether it sets a minimum share. Where siblings compare by guarantees, weights divide what
    /// those that set one leave.
    pub sets_minimum: bool,
    /// Its priority among siblings that compare by guarantees.
    pub priority: i32,
    /// Its part of the queue above, where its guarantee is set as one.
    pub part: Option<f32>,
    /// Whether its ApplicationMasters start in a line of their own (`engine/users`), as in YARN's
    /// Capacity Scheduler, and no longer by what the leaf has when a node reports.
    pub masters_in_line: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            weight: 1.0,
            min_share: Resource::ZERO,
            max_share: Resource::UNBOUNDED,
            max_am_share: 1.0,
            compared_by: None,
            sets_minimum: false,
            priority: 0,
            part: None,
            masters_in_line: false,
        }
    }
}

/// The asks of a leaf that are next in line at a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) leaf: ShareNodeId,
    pub(crate) shape: ShapeId,
    pub(crate) size: Resource,
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
    /// The ask for which what `max_share` leaves is kept; see `engine/at_limit.rs`.
    pub(crate) kept: Option<Kept>,
    /// The same for what ApplicationMasters leave of their limit.
    pub(crate) kept_for_masters: Option<Kept>,
    /// The part of the fair share that ApplicationMasters may take; -1 for no limit.
    pub max_am_share: f64,
    /// How it is compared with its siblings, if the queue above says so.
    pub compared_by: Option<Compare>,
    /// See `Limits::sets_minimum`.
    pub sets_minimum: bool,
    /// See `Limits::priority`.
    pub priority: i32,
    /// See `Limits::part`.
    pub set_part: Option<f32>,
    /// Its guarantee as a part of the cluster.
    pub part: f32,
    /// See `Limits::masters_in_line`.
    pub masters_in_line: bool,
    /// The most that it could have used at the last look; see `engine/users/masters.rs`.
    pub recorded: Resource,
    /// Its usage at the last look, if that has changed since.
    passed: Option<Resource>,
    /// The resources of its jobs' containers, grants in flight included.
    pub used: Resource,
    /// Since when it has had room below `max_share`, for containers of the size that last ended.
    pub(crate) roomy_since_ms: Millis,
    /// How many containers of its jobs take slots, by pool.
    pub running: [u32; POOLS],
    /// The job with something pending that was submitted first. Kept at leaves, and only for
    /// shares that serve by arrival.
    pub first_arrival: Option<(Millis, JobId)>,
    arrivals: BTreeMap<(Millis, JobId), u32>,
    /// The resources of its ApplicationMasters.
    pub am_used: Resource,
    /// How many ApplicationMasters it has.
    pub ams: u32,
    /// The part of `used` that other labels' nodes lend it. Kept at leaves.
    pub lent: Resource,
    /// How many asks are in the backlog at or below it.
    pub pending_asks: u32,
    /// Usage and pending asks, as last computed.
    pub demand: Resource,
    /// Its entitlement, as last computed. Never more than it has use for.
    pub fair_share: Resource,
    /// Its entitlement if it had use for everything, as last computed. Limits that are a part of
    /// the share go by it.
    pub active_share: Resource,
    /// Its part of the cluster whatever others want, as last computed. Only among siblings that
    /// compare by it.
    pub guaranteed: Resource,
    key: ShareKey,
    order: BTreeSet<(ShareKey, ShareNodeId)>,
}

impl ShareNode {
    /// A node for a queue, with nothing used or wanted.
    pub fn new(parent: Option<ShareNodeId>, queue: QueueId, limits: &Limits) -> ShareNode {
        let mut node = ShareNode {
            parent,
            children: Vec::new(),
            queue,
            removed: false,
            weight: 1.0,
            min_share: Resource::ZERO,
            max_share: Resource::UNBOUNDED,
            limited: false,
            kept: None,
            kept_for_masters: None,
            max_am_share: 1.0,
            compared_by: None,
            sets_minimum: false,
            priority: 0,
            set_part: None,
            part: 1.0,
            masters_in_line: false,
            recorded: Resource::UNBOUNDED,
            passed: None,
            used: Resource::ZERO,
            roomy_since_ms: 0,
            running: [0; POOLS],
            first_arrival: None,
            arrivals: BTreeMap::new(),
            am_used: Resource::ZERO,
            ams: 0,
            lent: Resource::ZERO,
            pending_asks: 0,
            demand: Resource::ZERO,
            fair_share: Resource::ZERO,
            active_share: Resource::ZERO,
            guaranteed: Resource::ZERO,
            key: ShareKey::default(),
            order: BTreeSet::new(),
        };
        node.configure(limits);
        node
    }

    /// Takes over weight and limits.
    pub fn configure(&mut self, limits: &Limits) {
        self.weight = limits.weight;
        self.min_share = limits.min_share;
        self.max_share = limits.max_share;
        self.limited = limits.max_share != Resource::UNBOUNDED;
        self.max_am_share = limits.max_am_share;
        self.compared_by = limits.compared_by;
        self.sets_minimum = limits.sets_minimum;
        self.priority = limits.priority;
        self.set_part = limits.part;
        self.masters_in_line = limits.masters_in_line;
    }

    /// The children that have something pending, in the order in which they are served.
    pub fn in_order(&self) -> impl Iterator<Item = ShareNodeId> {
        self.order.iter().map(|(_, id)| *id)
    }

    /// The same with their keys.
    pub(crate) fn keys_in_order(&self) -> impl Iterator<Item = (ShareKey, ShareNodeId)> {
        self.order.iter().copied()
    }

    /// The same in order of their ratios alone: merges the lines of the two classes.
    pub fn in_order_of_ratio(&self) -> impl Iterator<Item = ShareNodeId> {
        let second = (ShareKey::new(1, 0.0), ShareNodeId(0));
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

    /// The input of `Share::entitle`, `demand`, and its three results.
    pub(crate) fn shares(&self) -> [Resource; 4] {
        [
            self.demand,
            self.fair_share,
            self.active_share,
            self.guaranteed,
        ]
    }

    /// Puts these back.
    pub(crate) fn set_shares(&mut self, shares: [Resource; 4]) {
        [
            self.demand,
            self.fair_share,
            self.active_share,
            self.guaranteed,
        ] = shares;
    }

    /// Its usage at the last look: the container that this led to does not count, those that have
    /// ended since do.
    pub(crate) fn passed(&self) -> &Resource {
        self.passed.as_ref().unwrap_or(&self.used)
    }

    /// Its key among its siblings, as last computed.
    pub fn key(&self) -> ShareKey {
        self.key
    }
}

#[derive(Clone, Debug, Default)]
pub struct ShareTree {
    nodes: Vec<ShareNode>,
    /// Whether leaves keep `ShareNode::first_arrival`, for keys that look at it.
    keeps_arrivals: bool,
    /// The capacity for which entitlements were last computed.
    pub(crate) capacity: Resource,
    /// Whether every resource type counts where queues compare by guarantees, or memory alone.
    pub(crate) dominant: bool,
    /// Whether other types than memory limit no node, and so no ApplicationMaster.
    pub(crate) memory_only: bool,
    /// The smallest container: limits of the Capacity Scheduler are multiples of it.
    step: Resource,
    /// Usage as it will be once every leaf has what it is entitled to, as last computed.
    expected: Resource,
    /// Whether it is for the nodes of one label.
    labelled: bool,
    /// Whether nodes keep their usage at the last look.
    pub(crate) keeps_passed: bool,
    /// The nodes whose usage has changed since.
    ended: Vec<ShareNodeId>,
}

impl ShareTree {
    /// An empty tree for a layout.
    pub(crate) fn new(layout: Layout, step: Resource) -> ShareTree {
        ShareTree {
            keeps_arrivals: layout == Layout::Flat,
            step,
            ..ShareTree::default()
        }
    }

    /// An empty tree for the nodes of one label.
    pub(crate) fn of_label(layout: Layout, step: Resource) -> ShareTree {
        ShareTree {
            labelled: true,
            ..ShareTree::new(layout, step)
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
        limits: &Limits,
    ) -> ShareNodeId {
        let id = ShareNodeId(self.nodes.len() as u32);
        self.nodes.push(ShareNode::new(parent, queue, limits));
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
        limits: &Limits,
    ) {
        if id.index() == self.nodes.len() {
            self.add(parent, queue, limits);
            return;
        }
        self.nodes[id.index()] = ShareNode::new(parent, queue, limits);
        if let Some(parent) = parent {
            self.nodes[parent.index()].children.push(id);
        }
    }

    /// Leaves a new id without a node: its queue was removed before the tree was made.
    pub(crate) fn leave_out(&mut self, id: ShareNodeId, queue: QueueId) {
        if id.index() == self.nodes.len() {
            self.add(None, queue, &Limits::default());
            self.remove(&[id]);
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
                ..ShareNode::new(None, node.queue, &Limits::default())
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

    /// What the limit of `at` leaves to a shape of a leaf below it: others are next in line for
    /// what is kept.
    pub(crate) fn room_at(&self, at: ShareNodeId, leaf: ShareNodeId, shape: ShapeId) -> Resource {
        let node = &self.nodes[at.index()];
        node.max_share - node.used - node.kept_from(false, leaf, shape)
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
        if taken {
            // Queues were looked at for this container, and as yet for none after it.
            self.pass();
        }
        let mut at = Some(leaf);
        while let Some(id) = at {
            let node = &mut self.nodes[id.index()];
            if self.keeps_passed && node.passed.is_none() {
                node.passed = Some(node.used);
                self.ended.push(id);
            }
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

    /// Notes which limits from `leaf` up have room again as a container of that size ends.
    pub(crate) fn note_roomy(&mut self, leaf: ShareNodeId, resource: &Resource, now: Millis) {
        let mut at = Some(leaf);
        while let Some(id) = at {
            let node = &mut self.nodes[id.index()];
            if node.limited && !resource.fits_in(&(node.max_share - node.used)) {
                node.roomy_since_ms = now;
            }
            at = node.parent;
        }
    }

    /// Forgets what every node wants.
    pub(crate) fn clear_demands(&mut self) {
        for node in &mut self.nodes {
            node.demand = Resource::ZERO;
        }
    }

    /// Adds usage to what leaves want, and the sums to the nodes above. What other labels' nodes
    /// lend gives no claim to them.
    pub(crate) fn add_up_demands(&mut self) {
        for i in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[i];
            if node.children.is_empty() {
                node.demand += node.used - node.lent;
            }
            let (demand, parent) = (node.demand, node.parent);
            if let Some(parent) = parent {
                self.nodes[parent.index()].demand += demand;
            }
        }
    }

    /// Forgets all usage, to be counted again. No ask may be in the backlog.
    pub(crate) fn clear_usage(&mut self) {
        self.clear_slots();
        for node in &mut self.nodes {
            (node.used, node.am_used, node.lent) = (Resource::ZERO, Resource::ZERO, Resource::ZERO);
            node.ams = 0;
        }
    }

    /// Notes that all queues are looked at: what ended before no longer counts.
    pub(crate) fn pass(&mut self) {
        while let Some(id) = self.ended.pop() {
            self.nodes[id.index()].passed = None;
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

    /// Counts all asks out of the backlog.
    pub(crate) fn clear_asks(&mut self) {
        for node in &mut self.nodes {
            node.pending_asks = 0;
            node.first_arrival = None;
            node.arrivals.clear();
            node.order.clear();
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
