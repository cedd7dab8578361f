//! The simulated host's own books: nodes, jobs, asks and containers, kept like those of YARN's
//! ResourceManager and independently of the engine's. Decides nothing.

use crate::due::Serial;
use heddle_core::words::event::{AskFacts, ContainerFacts, JobFacts, NodeFacts};
use heddle_core::words::ids::{AskId, ContainerKey, JobId, Locality, Millis, NodeId, PlaceId};
use heddle_core::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// A grant, with the serial number of its job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    pub(crate) job: JobId,
    pub(crate) serial: u64,
    pub(crate) ask: AskId,
    pub(crate) node: NodeId,
    pub(crate) locality: Locality,
    pub(crate) seq: u64,
    /// The node's host and rack at the time of the grant.
    pub(crate) places: [PlaceId; 2],
    /// The ask at the time of the grant, without its count.
    pub(crate) asked: Option<AskFacts>,
}

/// A node of the cluster.
#[derive(Clone, Debug)]
pub struct HostNode {
    /// The facts that the engine was told; `free` is computed for each event.
    pub facts: NodeFacts,
    /// Room of stopped containers that the node has not confirmed yet.
    pub lingering: Resource,
    /// Its containers.
    pub containers: BTreeSet<(JobId, ContainerKey)>,
    /// The resources of those.
    pub used: Resource,
}

impl HostNode {
    /// Returns its free room; negative when it is overcommitted.
    pub fn free(&self) -> Resource {
        self.facts.capacity - self.used - self.lingering
    }

    /// Returns the facts for the engine.
    pub fn told(&self) -> NodeFacts {
        NodeFacts {
            free: self.free(),
            ..self.facts
        }
    }
}

/// One host or rack row of an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// Number of containers that would be local there.
    pub count: u32,
    /// For a rack: whether its hosts that were not named may serve it.
    pub relax: bool,
}

/// How long an ask has been held back at one level. Checks that waits are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// The level.
    pub level: Locality,
    /// The first time that a node had room and the ask was held back from it.
    pub first_ms: Millis,
    /// The first such time that the engine must have noticed.
    pub noticed_ms: Option<Millis>,
}

/// An ask with its rows.
#[derive(Clone, Debug)]
pub struct HostAsk {
    /// The facts of the ask; `count` is what is still pending.
    pub facts: AskFacts,
    /// Hosts and racks with a count.
    pub rows: BTreeMap<PlaceId, HostRow>,
    /// A lower bound of when the engine listed the ask.
    pub since_ms: Millis,
    /// Whether racks were the nearest places that it named at some time since then. It need not
    /// repeat that wait when it names hosts later.
    pub named_racks_only: bool,
    /// See `HeldBack`.
    pub held_back: Option<HeldBack>,
}

impl HostAsk {
    fn named(&self, place: PlaceId) -> Option<&HostRow> {
        self.rows.get(&place).filter(|row| row.count > 0)
    }

    /// Returns how near a node is to the named places.
    pub fn locality(&self, node: &NodeFacts) -> Locality {
        if self.named(node.host).is_some() {
            Locality::NodeLocal
        } else if self.named(node.rack).is_some_and(|row| row.relax) {
            Locality::RackLocal
        } else {
            Locality::OffSwitch
        }
    }

    /// Returns whether YARN's rules on `relaxLocality` allow the node
    /// (`ResourceRequest.setRelaxLocality`). A named host is always allowed, and any host of a
    /// named rack that relaxes. Others are allowed only if the ask relaxes and their rack was not
    /// named without relaxing.
    pub fn allows(&self, node: &NodeFacts) -> bool {
        let rack = self.named(node.rack);
        self.named(node.host).is_some()
            || (self.facts.relax || rack.is_some()) && rack.is_none_or(|row| row.relax)
    }

    /// Returns the nearest kind of place that is named; `is_rack` tells racks from hosts.
    pub fn floor(&self, is_rack: impl Fn(PlaceId) -> bool) -> Locality {
        let named = self.rows.iter().filter(|(_, row)| row.count > 0);
        named
            .map(|(place, _)| match is_rack(*place) {
                true => Locality::RackLocal,
                false => Locality::NodeLocal,
            })
            .min()
            .unwrap_or(Locality::OffSwitch)
    }

    /// Returns the rows that a container on a node counts against.
    fn counted(&self, node: &NodeFacts, locality: Locality) -> Vec<PlaceId> {
        match locality {
            Locality::NodeLocal => vec![node.host, node.rack],
            Locality::RackLocal => vec![node.rack],
            Locality::OffSwitch => Vec::new(),
        }
    }
}

/// A running container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostContainer {
    /// Its node.
    pub node: NodeId,
    /// Its size.
    pub resource: Resource,
    /// Its request priority.
    pub priority: i32,
    /// Whether it is the ApplicationMaster.
    pub am: bool,
    /// Its start.
    pub started_ms: Millis,
}

/// A job that has not ended.
#[derive(Clone, Debug)]
pub struct HostJob {
    /// The facts of the submission; queue and priority follow changes.
    pub facts: JobFacts,
    /// Its serial number, which is never reused, unlike the job's id.
    pub serial: Serial,
    /// The path of its queue.
    pub queue: String,
    /// Its user's name.
    pub user: String,
    /// Its asks, including those with nothing pending.
    pub asks: BTreeMap<AskId, HostAsk>,
    /// Its containers.
    pub containers: BTreeMap<ContainerKey, HostContainer>,
    /// The resources of those.
    pub used: Resource,
    /// Blacklisted places.
    pub blacklist: BTreeSet<PlaceId>,
    /// Nodes that a recent refusal excludes, and until when.
    pub refused: BTreeMap<NodeId, Millis>,
    /// The key of its next container.
    pub next_key: ContainerKey,
}

/// The changes of a grant, for undoing it.
#[derive(Clone, Debug)]
pub struct Granted {
    job: JobId,
    key: ContainerKey,
    ask: HostAsk,
}

/// The books of the host.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Nodes of the cluster.
    pub nodes: BTreeMap<NodeId, HostNode>,
    /// Jobs that have not ended.
    pub jobs: BTreeMap<JobId, HostJob>,
}

impl Host {
    /// Counts an ask down for a container on a node and starts the container. Follows YARN's
    /// `LocalityAppPlacementAllocator` for the decided locality: after a refusal of an earlier
    /// grant a nearer row may exist again. The job, ask and node must exist.
    pub(crate) fn grant(&mut self, grant: &Grant, now: Millis) -> Granted {
        let (job, ask, node) = (grant.job, grant.ask, grant.node);
        let there = "the caller checked the decision";
        let facts = self.nodes.get(&node).expect(there).facts;
        let owner = self.jobs.get_mut(&job).expect(there);
        let asked = owner.asks.get_mut(&ask).expect(there);
        // A launch resets the ask's patience and its clock.
        asked.held_back = None;
        let before = asked.clone();
        for place in asked.counted(&facts, grant.locality) {
            if let Some(row) = asked.rows.get_mut(&place) {
                row.count = row.count.saturating_sub(1);
            }
        }
        asked.rows.retain(|_, row| row.count > 0);
        asked.facts.count -= 1;
        let container = HostContainer {
            node,
            resource: asked.facts.resource,
            priority: asked.facts.priority,
            am: asked.facts.am,
            started_ms: now,
        };
        let key = owner.next_key;
        owner.next_key += 1;
        self.put(job, key, container);
        Granted {
            job,
            key,
            ask: before,
        }
    }

    /// Undoes a grant without a trace. The caller undoes the latest grant first.
    pub fn take_back(&mut self, granted: Granted) {
        self.take(granted.job, granted.key);
        if let Some(job) = self.jobs.get_mut(&granted.job) {
            job.next_key = granted.key;
            job.asks.insert(granted.ask.facts.ask, granted.ask);
        }
    }

    /// Starts a container.
    pub fn put(&mut self, job: JobId, key: ContainerKey, container: HostContainer) {
        if let Some(owner) = self.jobs.get_mut(&job) {
            owner.used += container.resource;
            owner.containers.insert(key, container);
        }
        if let Some(node) = self.nodes.get_mut(&container.node) {
            node.used += container.resource;
            node.containers.insert((job, key));
        }
    }

    /// Ends a container.
    pub fn take(&mut self, job: JobId, key: ContainerKey) -> Option<HostContainer> {
        let owner = self.jobs.get_mut(&job)?;
        let container = owner.containers.remove(&key)?;
        owner.used -= container.resource;
        if let Some(node) = self.nodes.get_mut(&container.node) {
            node.used -= container.resource;
            node.containers.remove(&(job, key));
        }
        Some(container)
    }

    /// Returns a node's host and rack.
    pub fn places_of(&self, node: NodeId) -> [PlaceId; 2] {
        let node = self.nodes.get(&node).map(|node| node.facts);
        node.map_or([PlaceId::ANY; 2], |node| [node.host, node.rack])
    }

    /// Returns an ask without its count.
    pub fn asked(&self, job: JobId, ask: AskId) -> Option<AskFacts> {
        let ask = self.jobs.get(&job)?.asks.get(&ask)?;
        Some(AskFacts {
            count: 0,
            ..ask.facts
        })
    }

    /// Returns the facts of a container that the engine did not grant.
    pub fn container_facts(job: JobId, key: ContainerKey, c: &HostContainer) -> ContainerFacts {
        ContainerFacts {
            job,
            key,
            node: c.node,
            priority: c.priority,
            am: c.am,
            started_ms: c.started_ms,
            resource: c.resource,
        }
    }

    /// Returns the resources of the jobs at or below a queue.
    pub fn used_below(&self, path: &str) -> Resource {
        let below = |job: &&HostJob| {
            let rest = job.queue.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let jobs = self.jobs.values().filter(below);
        jobs.fold(Resource::ZERO, |sum, job| sum + job.used)
    }

    /// Returns the resources and the number of ApplicationMasters among the jobs that `within`
    /// admits.
    pub fn masters(&self, within: impl Fn(&HostJob) -> bool) -> (Resource, u32) {
        let jobs = self.jobs.values().filter(|job| within(job));
        let masters = jobs.flat_map(|job| job.containers.values().filter(|c| c.am));
        masters.fold((Resource::ZERO, 0), |(sum, count), master| {
            (sum + master.resource, count + 1)
        })
    }
}
