//! The nodes of each label as a cluster of their own: a tree of shares with its limits, usage and
//! order of queues. Only where queues set labels; else one tree is for all nodes.

use super::{Engine, grow_by};
use crate::model::by_label::ByLabel;
use crate::model::cluster::Node;
use crate::model::job::{Container, Standing};
use crate::model::queue::Queue;
use crate::model::share_tree::{Limits, ShareTree};
use crate::words::ids::{JobId, Millis, NodeId, PartitionId, QueueId};
use crate::words::keys::{Layout, ShapeId, ShareNodeId};
use crate::words::resource::Resource;
use serde_json::{Map, Value, json};

/// More labels than a cluster has. Usage on nodes of further ones counts as on nodes without a
/// label, but their capacity does not.
const PARTITIONS_MAX: usize = 256;

impl Engine {
    /// The tree of shares that holds for nodes and asks of a label.
    pub(super) fn tree_of(&self, partition: PartitionId) -> &ShareTree {
        self.partitions.get(&partition).unwrap_or(&self.tree)
    }

    /// The label under whose tree the nodes of a label count.
    pub(super) fn tree_label(&self, partition: PartitionId) -> PartitionId {
        match self.partitions.contains_key(&partition) {
            true => partition,
            false => PartitionId::DEFAULT,
        }
    }

    /// The capacity of the nodes that the tree of a label is for.
    pub(super) fn capacity_of(&self, partition: PartitionId) -> Resource {
        if !self.partitioned {
            return self.cluster.capacity;
        }
        let rooms = self.cluster.label_rooms();
        let room = rooms.get(&partition);
        room.map_or(Resource::ZERO, |room| room.capacity)
    }

    /// Whether nodes came or went since the limits that hold for a label's nodes were worked out.
    pub(super) fn trees_are_late(&self, partition: PartitionId) -> bool {
        let late = |label| self.tree_of(label).capacity != self.capacity_of(label);
        // Nodes of labels beyond `PARTITIONS_MAX` have no tree to follow them.
        let has_tree = self.partitions.contains_key(&partition);
        late(PartitionId::DEFAULT) || has_tree && late(partition)
    }

    /// Rebuilds the trees of labels. No ask may be in the backlog.
    pub(super) fn restart_partitions(&mut self) {
        let queues = self.share.layout() == Layout::Queues && self.share.market().is_none();
        let before = self.partitioned;
        self.partitioned = queues && self.setup.config.sets_labels();
        if !before && !self.partitioned {
            return;
        }
        self.partitions.clear();
        self.tree.clear_usage();
        let jobs: Vec<JobId> = self.cluster.jobs().map(|job| job.facts.job).collect();
        for id in jobs {
            let job = self.cluster.job_mut(id).expect("the ids were just listed");
            job.labelled_used = ByLabel::default();
        }
        let named = self.setup.config.labels.keys().copied();
        let nodes = self.cluster.nodes().map(|node| node.facts.partition);
        for partition in named.chain(nodes).collect::<Vec<_>>() {
            self.open_partition(partition);
        }
        let containers: Vec<(JobId, Container)> = self
            .all_containers()
            .map(|(job, container)| (job, *container))
            .collect();
        for (job, container) in containers {
            self.charge_tree(job, &container, self.pool_of(job, &container), true);
        }
    }

    /// Makes the tree of a label, if it is new.
    pub(super) fn open_partition(&mut self, partition: PartitionId) {
        let known = partition == PartitionId::DEFAULT || self.partitions.contains_key(&partition);
        if !self.partitioned || known || self.partitions.len() >= PARTITIONS_MAX {
            return;
        }
        let (layout, step) = (self.share.layout(), self.setup.minimum_allocation);
        let tree = ShareTree::of_label(layout, step);
        self.partitions.insert(partition, tree);
        self.grow_partitions(None);
        let capacity = self.capacity_of(partition);
        let tree = self.partitions.get_mut(&partition).expect("just put there");
        for job in self.cluster.jobs() {
            let arrival = (job.facts.submitted_ms, job.facts.job);
            for ask in job.pending().filter(|ask| ask.standing != Standing::Out) {
                if may_be_lent(ask.facts.partition, ask.facts.am) {
                    tree.count_ask(&*self.share, &capacity, job.leaf, arrival, true);
                }
            }
        }
        self.entitled_late = true;
    }

    /// Gives the trees of labels their queues with their limits: all, or a new one and those above.
    pub(super) fn grow_partitions(&mut self, new: Option<QueueId>) {
        let layout = self.share.layout();
        let queues = &self.cluster.queues;
        let mut grown: Vec<&Queue> = match new {
            Some(new) => queues.path_up(new).collect(),
            // Those that were removed keep their place, as in the other trees.
            None => queues.all().iter().collect(),
        };
        grown.sort_unstable_by_key(|queue| queue.id);
        let mut trees = std::mem::take(&mut self.partitions);
        for (partition, tree) in &mut trees {
            for queue in &grown {
                if queue.is_removed() {
                    tree.leave_out(ShareNodeId(queue.id.0), queue.id);
                    continue;
                }
                let limits = self.limits_on(queue, *partition, &self.capacity_of(*partition));
                grow_by(tree, layout, queue, &limits);
            }
        }
        self.partitions = trees;
    }

    /// Lets limits that are parts of a label's nodes follow these.
    pub(super) fn follow_partitions(&mut self) {
        let mut trees = std::mem::take(&mut self.partitions);
        for (partition, tree) in &mut trees {
            let capacity = self.capacity_of(*partition);
            if tree.capacity == capacity {
                continue;
            }
            tree.capacity = capacity;
            self.follow_in(tree, *partition);
        }
        self.partitions = trees;
    }

    /// Lets the limits in a tree for the nodes of a label follow the capacity of the tree.
    pub(super) fn follow_in(&self, tree: &mut ShareTree, partition: PartitionId) {
        let capacity = tree.capacity;
        for queue in self.cluster.queues.iter() {
            let at = self.leaf_of(queue.id);
            if at.0 == queue.id.0 {
                let limits = self.limits_on(queue, partition, &capacity);
                tree.node_mut(at).configure(&limits);
            }
        }
    }

    /// The weight and the limits of a queue on the nodes of a label, which have `capacity`.
    fn limits_on(&self, queue: &Queue, partition: PartitionId, capacity: &Resource) -> Limits {
        let (queues, label) = (
            &self.cluster.queues,
            self.setup.config.labels.get(&partition),
        );
        let limits = match partition {
            PartitionId::DEFAULT => queues.limits_at(queue, capacity),
            _ => queues.limits_on(queue, label.map(String::as_str), capacity),
        };
        self.compared(queue, limits)
    }

    /// Counts an ask into (or out of) the trees by whose order it may be served.
    pub(super) fn count_ask(
        &mut self,
        leaf: ShareNodeId,
        arrival: (Millis, JobId),
        shape: ShapeId,
        added: bool,
    ) {
        let size = &self.backlog.shapes.get(shape).size;
        let (partition, lent) = (size.partition, may_be_lent(size.partition, size.am));
        let capacity = self.capacity_of(partition);
        if lent {
            let rooms = self.cluster.label_rooms();
            for (partition, tree) in &mut self.partitions {
                let room = rooms.get(partition);
                let capacity = room.map_or(Resource::ZERO, |room| room.capacity);
                tree.count_ask(&*self.share, &capacity, leaf, arrival, added);
            }
        }
        let tree = self.partitions.get_mut(&partition);
        let tree = tree.unwrap_or(&mut self.tree);
        tree.count_ask(&*self.share, &capacity, leaf, arrival, added);
    }

    /// Adds a container to the tree of its node's label, or removes it unless `taken`. `pool` is
    /// that of its slot.
    pub(super) fn charge_tree(
        &mut self,
        id: JobId,
        container: &Container,
        pool: Option<usize>,
        taken: bool,
    ) {
        let partition = container.partition;
        let job = self.cluster.job_mut(id).expect("containers have jobs");
        let leaf = job.leaf;
        if self.partitions.contains_key(&partition) {
            let amount = match taken {
                true => container.resource,
                false => Resource::ZERO - container.resource,
            };
            job.labelled_used.add(partition, amount);
        }
        let capacity = self.capacity_of(partition);
        if taken {
            self.note_wanting(leaf, partition);
        }
        let tree = self.partitions.get_mut(&partition);
        let tree = tree.unwrap_or(&mut self.tree);
        tree.count_container(leaf, container, taken);
        let resource = &container.resource;
        if !taken {
            tree.note_roomy(leaf, resource, self.now);
        }
        tree.charge(&*self.share, &capacity, leaf, resource, pool, taken);
    }

    /// Moves the containers of a node to the tree of its label, which may have changed.
    pub(super) fn relabel_containers(&mut self, id: NodeId, partition: PartitionId) {
        let moved =
            |container: &Container| container.node == id && container.partition != partition;
        let containers: Vec<(JobId, Container)> = self
            .all_containers()
            .filter(|(_, container)| moved(container))
            .map(|(job, container)| (job, *container))
            .collect();
        for (job, container) in containers {
            let pool = self.pool_of(job, &container);
            self.charge_tree(job, &container, pool, false);
            let moved = Container {
                partition,
                lent: false,
                ..container
            };
            self.charge_tree(job, &moved, pool, true);
            self.users.touch(job);
        }
        let relabel = |container: &mut Container| {
            if moved(container) {
                (container.partition, container.lent) = (partition, false);
            }
        };
        let jobs: Vec<JobId> = self.cluster.jobs().map(|job| job.facts.job).collect();
        for job in jobs {
            let job = self.cluster.job_mut(job).expect("the ids were just listed");
            job.containers.values_mut().for_each(relabel);
        }
        for grant in &mut self.in_flight {
            relabel(&mut grant.container);
        }
    }

    /// Whether asks without a label may have what is left of a node.
    pub(super) fn lends(&self, node: &Node) -> bool {
        let facts = &node.facts;
        facts.lends && self.partitions.contains_key(&facts.partition)
    }

    /// Adds the labels of a queue to its report, where queues set labels.
    pub(super) fn report_labels(&self, queue: &Queue, report: &mut Value) {
        if !self.partitioned {
            return;
        }
        let queues = &self.cluster.queues;
        let accessible = queues.accessible(queue.id);
        report["accessible_labels"] = json!(accessible.map(|labels| labels.names()));
        report["default_label"] = json!(queues.default_label(queue.id));
        let mut labels = Map::new();
        for (partition, tree) in &self.partitions {
            let Some(label) = self.setup.config.labels.get(partition) else {
                continue;
            };
            let at = ShareNodeId(queue.id.0);
            let node = tree.node(at);
            let limit = tree.am_limit(at);
            let mut share = json!({
                "capacity": self.amounts(&tree.capacity),
                "min_share": self.amounts(&node.min_share),
                "max_share": self.amounts(&node.max_share.component_min(&tree.capacity)),
                "guaranteed": self.amounts(&node.guaranteed),
                "fair_share": self.amounts(&node.fair_share),
                "used": self.amounts(&node.used),
                "demand": self.amounts(&node.demand),
                "am_used": self.amounts(&node.am_used),
                "am_limit": limit.map_or(Value::Null, |limit| self.limited(&limit)),
            });
            if let Some(users) = self.report_users(queue.id, *partition) {
                share["users"] = users;
            }
            labels.insert(label.clone(), share);
        }
        report["labels"] = Value::Object(labels);
    }
}

/// Whether asks of a label may have room that other labels' nodes lend. ApplicationMasters may not:
/// the owner would take their application down with the room.
pub(super) fn may_be_lent(partition: PartitionId, am: bool) -> bool {
    partition == PartitionId::DEFAULT && !am
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;
    use crate::words::event::{Event, NodeFacts};
    use crate::words::ids::PlaceId;

    /// The last label is one too many. Its nodes count in no tree's capacity.
    #[test]
    fn trees_follow_the_nodes_of_every_label_once() {
        let setup = json!({
            "config": {
                "policy": {"share": "capacity", "order": "by-queue", "place": "delay"},
                "queues": [{"path": "root.a", "labels": {"gpu": {"weight": 1.0}}}],
            },
            "labels": {"gpu": 1},
        });
        let setup = Setup::from_json(&setup).expect("a good configuration");
        let mut engine = Engine::new(setup).expect("a good setup");
        let labels = 1..=PARTITIONS_MAX as u32 + 1;
        let joined = |label| {
            Event::NodeAdded(NodeFacts {
                node: NodeId(label),
                host: PlaceId(label),
                rack: PlaceId(1_000),
                partition: PartitionId(label),
                lends: false,
                schedulable: true,
                capacity: Resource::new(1_024, 1),
                free: Resource::new(1_024, 1),
            })
        };
        let joins: Vec<Event> = labels.clone().map(joined).collect();
        engine.step(0, &joins, 0, &mut Vec::new());
        assert_eq!(engine.partitions.len(), PARTITIONS_MAX);
        assert!(engine.trees_are_late(PartitionId(1)));
        engine.step(500, &[Event::Tick], 0, &mut Vec::new());
        let mut late = labels.filter(|label| engine.trees_are_late(PartitionId(*label)));
        assert_eq!(late.next(), None);
    }
}
