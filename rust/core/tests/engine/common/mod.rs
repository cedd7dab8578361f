//! A small cluster for the engine's tests. It builds events and answers grants like a host. It
//! checks nothing itself but the engine's invariants, after every step.
#![allow(dead_code, unreachable_pub)]

pub mod market;
pub mod racks;
pub mod timed;
pub mod town;
pub mod yard;

use heddle_core::words::event::*;
use heddle_core::words::ids::*;
use heddle_core::{Decision, Engine, Resource, Setup};
use serde_json::{Value, json};

/// A grant in a form that tests can compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub job: u32,
    pub ask: u32,
    pub node: u32,
    pub locality: Locality,
    pub seq: u64,
}

/// The host: keeps the time, assigns container keys, and answers every grant at once.
pub struct Host {
    pub engine: Engine,
    pub now: Millis,
    next_key: u64,
    /// Free room by node, as the host would report it.
    free: Vec<Resource>,
    /// Granted containers: job, key, node, resource.
    pub containers: Vec<(u32, u64, u32, Resource)>,
    /// Sizes of the containers of each ask.
    sizes: std::collections::BTreeMap<(u32, u32), Resource>,
    /// Whether the invariants are left out: the same steps were checked before.
    pub trusted: bool,
    /// Headroom that each job was told last.
    pub headrooms: std::collections::BTreeMap<u32, Resource>,
}

/// Returns the place of a node's host. Hosts are places 1.., racks are places 1000...
pub fn host_of(node: u32) -> PlaceId {
    PlaceId(1 + node)
}

pub fn rack_place(rack: u32) -> PlaceId {
    PlaceId(1000 + rack)
}

impl Host {
    pub fn new(config: Value) -> Host {
        Host::from_setup(&json!({ "config": config }))
    }

    pub fn from_setup(setup: &Value) -> Host {
        let engine = Engine::new(Setup::from_json(setup).expect("a good configuration"));
        Host {
            engine: engine.expect("a good setup"),
            now: 0,
            next_key: 1,
            free: Vec::new(),
            containers: Vec::new(),
            sizes: Default::default(),
            trusted: false,
            headrooms: Default::default(),
        }
    }

    pub fn step(&mut self, events: &[Event]) -> Vec<Decision> {
        let mut decisions = Vec::new();
        self.engine.step(self.now, events, 1024, &mut decisions);
        if !self.trusted {
            self.engine.check_invariants().expect("the books are right");
        }
        for decision in &decisions {
            if let Decision::Headroom { job, resource } = decision {
                self.headrooms.insert(job.0, *resource);
            }
        }
        decisions
    }

    pub fn request(&mut self, request: Value) -> Value {
        self.engine
            .request(self.now, &request)
            .expect("a good request")
    }

    pub fn queue(&mut self, user: &str, name: Option<&str>) -> QueueId {
        let reply = self.request(json!({"op": "place", "user": user, "queue": name}));
        QueueId(reply["queue"].as_u64().expect("an id") as u32)
    }

    /// Adds the next node, on `rack`.
    pub fn node(&mut self, rack: u32, memory_mb: i64, vcores: i64) -> u32 {
        self.labelled_node(rack, memory_mb, vcores, 0)
    }

    pub fn labelled_node(&mut self, rack: u32, memory_mb: i64, vcores: i64, label: u32) -> u32 {
        self.add_node(rack, memory_mb, vcores, (label, false))
    }

    /// Adds a node of a label whose idle room asks without a label may have.
    pub fn lending_node(&mut self, rack: u32, memory_mb: i64, vcores: i64, label: u32) -> u32 {
        self.add_node(rack, memory_mb, vcores, (label, true))
    }

    fn add_node(&mut self, rack: u32, memory_mb: i64, vcores: i64, label: (u32, bool)) -> u32 {
        let node = self.free.len() as u32;
        let capacity = Resource::new(memory_mb, vcores);
        self.free.push(capacity);
        self.step(&[Event::NodeAdded(NodeFacts {
            node: NodeId(node),
            host: host_of(node),
            rack: rack_place(rack),
            partition: PartitionId(label.0),
            lends: label.1,
            schedulable: true,
            capacity,
            free: capacity,
        })]);
        node
    }

    pub fn job(&mut self, job: u32, queue: QueueId) {
        self.prioritised_job(job, queue, 0);
    }

    pub fn prioritised_job(&mut self, job: u32, queue: QueueId, priority: i32) {
        self.submit(job, queue, 0, priority);
    }

    pub fn user_job(&mut self, job: u32, queue: QueueId, user: u32) {
        self.submit(job, queue, user, 0);
    }

    /// Tells how long a job's tasks take, as from a profile.
    pub fn profile(&mut self, job: u32, task_ms: Millis) {
        let hints = JobHints {
            task_ms: [Some(task_ms); 2],
            ..JobHints::default()
        };
        let job = JobId(job);
        self.step(&[Event::JobHints { job, hints }]);
    }

    /// Returns how many nodes were added.
    pub fn nodes(&self) -> usize {
        self.free.len()
    }

    pub fn submit(&mut self, job: u32, queue: QueueId, user: u32, priority: i32) {
        let facts = JobFacts {
            job: JobId(job),
            queue,
            user: UserId(user),
            priority,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms: self.now,
        };
        self.step(&[Event::JobAdded(facts)]);
    }

    /// Asks for containers anywhere.
    pub fn ask(&mut self, job: u32, ask: u32, count: u32, memory_mb: i64) {
        self.ask_facts(plain_ask(job, ask, count, memory_mb));
    }

    pub fn ask_facts(&mut self, facts: AskFacts) {
        self.sizes
            .insert((facts.job.0, facts.ask.0), facts.resource);
        self.step(&[Event::Ask(facts)]);
    }

    /// Asks for maps with data on these nodes (each on `rack`).
    pub fn ask_on(&mut self, job: u32, ask: u32, memory_mb: i64, nodes: &[(u32, u32)]) {
        let mut events = vec![Event::Ask(plain_ask(
            job,
            ask,
            nodes.len() as u32,
            memory_mb,
        ))];
        self.sizes.insert((job, ask), Resource::new(memory_mb, 1));
        for (node, rack) in nodes {
            for place in [host_of(*node), rack_place(*rack)] {
                let count = nodes
                    .iter()
                    .filter(|(n, r)| host_of(*n) == place || rack_place(*r) == place)
                    .count() as u32;
                events.push(row(job, ask, place, count));
            }
        }
        self.step(&events);
    }

    /// Reports every node once, in order.
    pub fn beat_all(&mut self) {
        for node in 0..self.nodes() as u32 {
            self.beat(node);
        }
    }

    /// Lets `node` report, and commits its grants.
    pub fn beat(&mut self, node: u32) -> Vec<Grant> {
        let grants = self.beat_unanswered(node);
        for grant in &grants {
            self.commit(*grant);
        }
        grants
    }

    pub fn beat_unanswered(&mut self, node: u32) -> Vec<Grant> {
        let free = self.free[node as usize];
        self.grants(&[Event::Heartbeat {
            node: NodeId(node),
            free,
        }])
    }

    /// Offers the room that is known to what a job asks for. Commits nothing.
    pub fn offer_unanswered(&mut self, job: u32) -> Vec<Grant> {
        self.grants(&[Event::Offer(JobId(job))])
    }

    fn grants(&mut self, events: &[Event]) -> Vec<Grant> {
        let grant = |decision: Decision| match decision {
            Decision::Grant {
                job,
                ask,
                node,
                locality,
                seq,
            } => Some(Grant {
                job: job.0,
                ask: ask.0,
                node: node.0,
                locality,
                seq,
            }),
            _ => None,
        };
        self.step(events).into_iter().filter_map(grant).collect()
    }

    /// Gives a node room for one more container, as if a foreign one had ended there.
    pub fn make_room(&mut self, node: u32, size: Resource) {
        let free = &mut self.free[node as usize];
        *free = free.component_max(&size);
    }

    /// Returns the memory that a node has free.
    pub fn room_mb(&self, node: u32) -> i64 {
        self.free[node as usize].memory_mb()
    }

    pub fn commit(&mut self, grant: Grant) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        let resource = self.sizes[&(grant.job, grant.ask)];
        self.free[grant.node as usize] -= resource;
        self.containers.push((grant.job, key, grant.node, resource));
        self.step(&[Event::Ack {
            job: JobId(grant.job),
            seq: grant.seq,
            key,
        }]);
        key
    }

    /// Commits a grant that came with an offer or a tick.
    pub fn commit_offered(&mut self, job: JobId, ask: AskId, node: NodeId, seq: u64) -> u64 {
        self.commit(Grant {
            job: job.0,
            ask: ask.0,
            node: node.0,
            locality: Locality::OffSwitch,
            seq,
        })
    }

    pub fn refuse(&mut self, grant: Grant, refusal: Refusal) {
        self.step(&[Event::Nack {
            job: JobId(grant.job),
            seq: grant.seq,
            refusal,
        }]);
    }

    /// Ends a container that `beat` started.
    pub fn complete(&mut self, job: u32, key: u64) {
        let at = self
            .containers
            .iter()
            .position(|c| (c.0, c.1) == (job, key))
            .expect("it runs");
        let (_, _, node, resource) = self.containers.remove(at);
        self.free[node as usize] += resource;
        self.step(&[Event::ContainerCompleted {
            job: JobId(job),
            key,
            exit: 0,
        }]);
    }

    pub fn complete_all(&mut self, job: u32) {
        let keys: Vec<u64> = self
            .containers
            .iter()
            .filter(|c| c.0 == job)
            .map(|c| c.1)
            .collect();
        for key in keys {
            self.complete(job, key);
        }
    }

    pub fn recovered(&mut self, job: u32, node: u32, memory_mb: i64, am: bool) -> u64 {
        let key = self.next_key;
        self.next_key += 1;
        let resource = Resource::new(memory_mb, 1);
        self.free[node as usize] -= resource;
        self.containers.push((job, key, node, resource));
        self.step(&[Event::ContainerAdded(ContainerFacts {
            job: JobId(job),
            key,
            node: NodeId(node),
            priority: if am { 0 } else { 20 },
            am,
            started_ms: self.now,
            resource,
        })]);
        key
    }

    pub fn tick(&mut self) -> Vec<Decision> {
        self.step(&[Event::Tick])
    }

    /// Returns how many containers of a job run.
    pub fn running(&self, job: u32) -> usize {
        self.containers.iter().filter(|c| c.0 == job).count()
    }
}

pub fn plain_ask(job: u32, ask: u32, count: u32, memory_mb: i64) -> AskFacts {
    AskFacts {
        job: JobId(job),
        ask: AskId(ask),
        count,
        priority: 20,
        partition: PartitionId(0),
        relax: true,
        am: false,
        update: false,
        resource: Resource::new(memory_mb, 1),
    }
}

pub fn row(job: u32, ask: u32, place: PlaceId, count: u32) -> Event {
    Event::AskRow {
        job: JobId(job),
        ask: AskId(ask),
        place,
        count,
        relax: true,
    }
}
