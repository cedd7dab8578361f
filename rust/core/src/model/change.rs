//! The stages' view of the engine: `Change` is what happened, `World` the state after it, `Stale`
//! the answers that a stage wants to be asked for again. Decides nothing.

use crate::config::Config;
use crate::model::cluster::{Cluster, Node};
use crate::model::job::{Container, Job};
use crate::model::share_tree::ShareTree;
use crate::words::event::{JobCounters, TaskFacts};
use crate::words::ids::{ContainerKey, JobId, Locality, Millis, NodeId, PartitionId, PlaceId};
use crate::words::keys::{POOLS, ShareNodeId};
use crate::words::kind::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// The engine's state, read-only.
pub struct World<'a> {
    /// The engine's clock.
    pub now: Millis,
    /// Nodes, jobs, asks, containers.
    pub cluster: &'a Cluster,
    /// Usage and entitlement of queues. Where queues set labels, on the nodes without one.
    pub tree: &'a ShareTree,
    /// The same for the nodes of each label. Empty unless queues set labels.
    pub labelled: &'a BTreeMap<PartitionId, ShareTree>,
    /// How many slots the cluster has, by pool. The second is 0 if all kinds share the first.
    pub slots: [u32; POOLS],
    /// The configuration in force.
    pub config: &'a Config,
    /// Evicted containers that have not ended yet.
    pub evicting: &'a BTreeSet<(JobId, ContainerKey)>,
}

impl<'a> World<'a> {
    /// The same world with the tree that holds for asks of a label.
    pub(crate) fn of_label(&self, partition: PartitionId) -> World<'a> {
        World {
            tree: self.labelled.get(&partition).unwrap_or(self.tree),
            ..*self
        }
    }

    /// Whether the nodes of a label have shares of their own.
    pub(crate) fn has_shares(&self, partition: PartitionId) -> bool {
        self.labelled.contains_key(&partition)
    }

    /// The pool whose slots a container takes. None for an ApplicationMaster, because the papers'
    /// clusters had none. One pool for all kinds unless the configuration tells them apart.
    pub fn pool(&self, kind: Kind, am: bool) -> Option<usize> {
        pool(self.config, kind, am)
    }

    /// Whether this container may be taken back: no ApplicationMaster, and none that a queue spares
    /// (`preempt_from`, `preempt_opaque`).
    pub fn may_take(&self, job: &Job, container: &Container) -> bool {
        !container.am && self.cluster.queues.may_take_from(&job.facts)
    }

    /// Whether maps and reduces take slots of one pool.
    pub fn shared(&self) -> bool {
        self.config.slots_per_node.is_none()
    }
}

/// See `World::pool`.
pub(crate) fn pool(config: &Config, kind: Kind, am: bool) -> Option<usize> {
    match kind {
        _ if am => None,
        Kind::Reduce if config.slots_per_node.is_some() => Some(1),
        _ => Some(0),
    }
}

/// A change of the engine's state. The world already shows it.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// A job was submitted.
    JobAdded(&'a Job),
    /// A job is about to go; it has no asks or containers left.
    JobRemoved(&'a Job),
    /// Its queue, priority, hints or attempt changed, or it may run now and might not before.
    JobChanged(&'a Job),
    /// The host set what it may spend (`Job::authority`), for the first time or again.
    Authorized(&'a Job),
    /// Its demand for one kind changed, other than by a grant.
    Asked { job: &'a Job, kind: Kind },
    /// A container was granted, or recovered.
    Started {
        job: &'a Job,
        kind: Kind,
        node: NodeId,
        /// Whether it is the ApplicationMaster.
        am: bool,
        /// How near it is to what its ask named; `OffSwitch` if it was recovered.
        locality: Locality,
        /// When it was granted, or had started if it was recovered.
        started_ms: Millis,
    },
    /// A grant came to nothing, such as by a refusal: it counts as never made.
    Withdrawn {
        job: &'a Job,
        kind: Kind,
        /// Where it would have run.
        node: NodeId,
        /// Whether it was the ApplicationMaster.
        am: bool,
        /// When it was granted.
        started_ms: Millis,
    },
    /// A container ended.
    Ended {
        job: &'a Job,
        kind: Kind,
        key: ContainerKey,
        container: &'a Container,
        /// Whether its task succeeded, so that its length is a sample.
        succeeded: bool,
    },
    /// A container of the job became larger or smaller.
    Resized(&'a Job),
    /// A running task reported its progress.
    Progress {
        job: &'a Job,
        kind: Kind,
        key: ContainerKey,
        /// The container, with that progress.
        container: &'a Container,
    },
    /// The bytes of a task became known after its container had ended.
    Outcome {
        job: &'a Job,
        key: ContainerKey,
        facts: TaskFacts,
    },
    /// Blocks of a job's input became known.
    Blocks {
        job: &'a Job,
        /// Racks with a replica; `PlaceId::ANY` for none.
        racks: [PlaceId; 3],
        blocks: u32,
        /// Their length together.
        bytes: u64,
    },
    /// Traffic of a rack's link over the last period.
    Traffic {
        rack: PlaceId,
        /// Out of the rack.
        up_bytes_per_s: u64,
        /// Into the rack.
        down_bytes_per_s: u64,
        /// The link's bandwidth in either direction.
        bandwidth_bytes_per_s: u64,
    },
    /// The counters of a job's tasks.
    Counters {
        job: &'a Job,
        /// All its tasks together.
        counters: JobCounters,
    },
    /// A NodeManager reported how much map output it has sent.
    Shuffled {
        node: &'a Node,
        /// Bytes since the NodeManager started.
        sent_bytes: u64,
    },
    /// The part of a node that other workloads use changed; see `Node::foreign_per_mille`.
    Load,
    /// The number of slots changed: by nodes, or by the mean size of containers.
    Nodes,
    /// The place stage's steps served nothing of this leaf though something is pending.
    PassedOver { leaf: ShareNodeId },
    /// A leaf that was next was overtaken by one that is entitled alike: the place stage's steps
    /// found a better placed task there.
    Overtaken { leaf: ShareNodeId },
    /// The queue of this leaf expired; its number may go to another queue.
    QueueRemoved { leaf: ShareNodeId },
    /// The engine is about to ask for stale answers again. Work that needs asks with all their rows
    /// belongs here. Told only if something is stale.
    Settling,
    /// Time passed.
    Tick,
    /// The configuration was replaced. The stages are new; jobs that are there follow as
    /// `JobAdded` and their containers as `Started`.
    Reloaded,
}

/// The answers that a stage wants to be asked for again.
#[derive(Debug, Default)]
pub struct Stale {
    pub(crate) jobs: Vec<JobId>,
    pub(crate) leaves: Vec<ShareNodeId>,
    pub(crate) shares: bool,
}

impl Stale {
    /// Marks a job whose keys, tags or admission changed. The engine asks for them again and moves
    /// the job's asks in the indexes, at the cost of O(asks log n).
    pub fn job(&mut self, job: JobId) {
        self.jobs.push(job);
    }

    /// Marks a leaf whose key in the tree of shares changed.
    pub fn leaf(&mut self, leaf: ShareNodeId) {
        self.leaves.push(leaf);
    }

    /// Marks all keys of the share stage.
    pub fn shares(&mut self) {
        self.shares = true;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.leaves.is_empty() && !self.shares
    }
}
