//! A small scripted cluster for tests and benchmarks. It sends every kind of event, answers grants
//! like YARN, and keeps its own books of free room.
//!
//! Driven only by a seed: the same seed makes the same frames as long as the engine gives the same
//! answers. It is no simulator: tasks end after random times and nothing is measured.

// Each test uses a part of this.
#![allow(dead_code)]

#[path = "../client/mod.rs"]
pub mod client;
pub(crate) mod journals;

use std::collections::BTreeMap;

use client::{Answer, FrameWriter};
use heddle::constant::RESOURCE_TYPES;
use heddle_core::words::event::{
    AskFacts, ContainerFacts, Decision, Event, JobCounters, JobFacts, JobHints, NodeFacts, Refusal,
    TaskFacts,
};
use heddle_core::words::ids::{AskId, JobId, NodeId, PartitionId, PlaceId, QueueId, UserId};
use heddle_core::words::resource::Resource;

/// Highest number of decisions per frame.
pub(crate) const DECISIONS_MAX: u32 = 64;
/// A setup whose configuration has queues, limits and faults.
pub(crate) const SETUP: &str = r#"{
    "resource_types": ["memory-mb", "vcores"],
    "minimum_allocation": {"memory-mb": 512, "vcores": 1},
    "journal": null,
    "config": {
        "policy": {"share": "fair", "order": "fifo", "place": "delay"},
        "delay": {"node_wait_ms": 1000, "rack_wait_ms": 1000},
        "queues": [
            {"path": "root.ads", "weight": 2.0, "max_running_jobs": 3},
            {"path": "root.logs", "min_share": {"memory-mb": 2048, "vcores": 2}}
        ],
        "testing": {"faults": true}
    }
}"#;

/// The library as a script sees it: an input frame to its answer, a request to its reply.
pub(crate) trait Library {
    /// Applies a frame and returns the output frame.
    fn step(&mut self, frame: &[u8]) -> Vec<u8>;
    fn request(&mut self, now_ms: i64, json: &str) -> String;
}

impl Library for heddle::host::Host {
    fn step(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut out = vec![0; heddle::frame::output_bytes_max(DECISIONS_MAX)];
        let length =
            heddle::host::Host::step(self, frame, &mut out).expect("a frame that is right");
        out.truncate(length);
        out
    }

    fn request(&mut self, now_ms: i64, json: &str) -> String {
        heddle::host::Host::request(self, now_ms, json).expect("a request that is right")
    }
}

/// SplitMix64: random enough for a script, and the same on every platform.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `end`, exclusive.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns true once in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

struct Node {
    facts: NodeFacts,
    up: bool,
}

struct Container {
    job: JobId,
    node: NodeId,
    key: u64,
    resource: Resource,
    end_ms: i64,
}

/// The cluster and its load.
pub(crate) struct Cluster {
    random: Random,
    writer: FrameWriter,
    pub(crate) now_ms: i64,
    sequence: u64,
    nodes: Vec<Node>,
    containers: Vec<Container>,
    jobs: BTreeMap<JobId, u32>,
    sizes: BTreeMap<(JobId, AskId), Resource>,
    next_job: u32,
    next_key: u64,
    /// Acks and nacks that must begin the next frame.
    answers: Vec<Event>,
    pub(crate) grants: u64,
    pub(crate) logs: u64,
}

const HOSTS: u32 = 6;
const RACKS: u32 = 2;

impl Cluster {
    /// Creates a cluster without nodes; the first step adds them.
    pub(crate) fn new(seed: u64) -> Cluster {
        let capacity = Resource::new(8_192, 8);
        let node = |number: u32| NodeFacts {
            node: NodeId(number),
            host: PlaceId(1 + RACKS + number),
            rack: PlaceId(1 + number % RACKS),
            partition: PartitionId(0),
            lends: false,
            schedulable: true,
            capacity,
            free: capacity,
        };
        Cluster {
            random: Random(seed),
            writer: FrameWriter::default(),
            now_ms: 1_000,
            sequence: 0,
            nodes: (0..HOSTS)
                .map(|number| Node {
                    facts: node(number),
                    up: false,
                })
                .collect(),
            containers: Vec::new(),
            jobs: BTreeMap::new(),
            sizes: BTreeMap::new(),
            next_job: 1,
            next_key: 1,
            answers: Vec::new(),
            grants: 0,
            logs: 0,
        }
    }

    /// Runs one round: something changes, time passes, and every node reports.
    pub(crate) fn round(&mut self, library: &mut impl Library) {
        let mut events = Vec::new();
        self.finish_tasks(&mut events);
        self.change_nodes(&mut events);
        if self.jobs.len() < 6 && self.random.once_in(2) {
            self.submit(library, &mut events);
        }
        self.change_jobs(&mut events);
        self.measure(&mut events);
        self.send(library, &events);
        for number in 0..self.nodes.len() {
            if self.nodes[number].up {
                let (node, free) = (self.nodes[number].facts.node, self.free(number));
                self.send(library, &[Event::Heartbeat { node, free }]);
            }
        }
        self.now_ms += 100 + self.random.below(500) as i64;
        self.send(library, &[Event::Tick]);
        if self.random.once_in(10) {
            library.request(self.now_ms, r#"{"op":"queues"}"#);
        }
        if self.random.once_in(10) {
            library.request(self.now_ms, r#"{"op":"audit"}"#);
        }
        if self.random.once_in(15) {
            let weight = 1 + self.random.below(4);
            library.request(self.now_ms, &reload(weight));
        }
    }

    /// Sends a frame that begins with the due answers, and answers its grants.
    pub(crate) fn send(&mut self, library: &mut impl Library, events: &[Event]) {
        let mut all = std::mem::take(&mut self.answers);
        all.extend_from_slice(events);
        self.sequence += 1;
        let frame = self
            .writer
            .frame(self.now_ms, self.sequence, DECISIONS_MAX, &all);
        let answer = Answer::read(&library.step(frame)).expect("the library writes whole frames");
        assert_eq!(answer.header.sequence, self.sequence);
        self.logs += answer.logs.len() as u64;
        for decision in answer.decisions {
            self.obey(decision);
        }
    }

    fn obey(&mut self, decision: Decision) {
        match decision {
            Decision::Grant {
                job,
                ask,
                node,
                seq,
                ..
            } => {
                self.grants += 1;
                let resource = self.sizes[&(job, ask)];
                let free = self.free(node.index());
                assert!(
                    resource.fits_in(&free),
                    "{decision:?} of {resource:?} into {free:?}"
                );
                if self.random.once_in(20) {
                    self.answers.push(Event::Nack {
                        job,
                        seq,
                        refusal: Refusal::Constraint,
                    });
                    return;
                }
                let key = self.next_key;
                self.next_key += 1;
                let end_ms = self.now_ms + 500 + self.random.below(5_000) as i64;
                self.containers.push(Container {
                    job,
                    node,
                    key,
                    resource,
                    end_ms,
                });
                self.answers.push(Event::Ack { job, seq, key });
            }
            Decision::Evict { job, key, .. } => {
                let evicted = |c: &&mut Container| c.job == job && c.key == key;
                if let Some(container) = self.containers.iter_mut().find(evicted) {
                    container.end_ms = self.now_ms;
                }
            }
            Decision::Headroom { .. } => {}
        }
    }

    fn free(&self, number: usize) -> Resource {
        let node = &self.nodes[number].facts;
        let on_node = self
            .containers
            .iter()
            .filter(|container| container.node == node.node);
        on_node.fold(node.capacity, |free, container| free - container.resource)
    }

    fn finish_tasks(&mut self, events: &mut Vec<Event>) {
        let now_ms = self.now_ms;
        let (ended, running): (Vec<_>, Vec<_>) = self
            .containers
            .drain(..)
            .partition(|container| container.end_ms <= now_ms);
        self.containers = running;
        for Container { job, key, .. } in ended {
            let exit = if self.random.once_in(8) { 1 } else { 0 };
            events.push(Event::ContainerCompleted { job, key, exit });
        }
        if self.random.once_in(15) && !self.containers.is_empty() {
            let chosen = self.random.below(self.containers.len() as u64) as usize;
            let container = &mut self.containers[chosen];
            container.resource = Resource::new(512, 1);
            let (job, key, resource) = (container.job, container.key, container.resource);
            events.push(Event::ContainerResized { job, key, resource });
        }
    }

    fn change_nodes(&mut self, events: &mut Vec<Event>) {
        for number in 0..self.nodes.len() {
            let (node, up) = (self.nodes[number].facts.node, self.nodes[number].up);
            if !up && (self.sequence == 0 || self.random.once_in(3)) {
                self.nodes[number].up = true;
                events.push(Event::NodeAdded(self.nodes[number].facts));
            } else if up && self.random.once_in(60) {
                let (lost, kept): (Vec<_>, Vec<_>) = self
                    .containers
                    .drain(..)
                    .partition(|container| container.node == node);
                self.containers = kept;
                for Container { job, key, .. } in lost {
                    events.push(Event::ContainerCompleted {
                        job,
                        key,
                        exit: -100,
                    });
                }
                self.nodes[number].up = false;
                events.push(Event::NodeRemoved(node));
            } else if up && self.random.once_in(40) {
                let free = self.free(number);
                let facts = &mut self.nodes[number].facts;
                facts.schedulable = !facts.schedulable;
                events.push(Event::NodeChanged(NodeFacts { free, ..*facts }));
            }
        }
    }

    fn submit(&mut self, library: &mut impl Library, events: &mut Vec<Event>) {
        let user = self.random.below(3);
        let queue = ["root.ads", "root.logs", "default"][self.random.below(3) as usize];
        let user_name = format!("user{user}");
        let request = serde_json::json!(
            {"op": "place", "user": user_name, "groups": [], "queue": queue, "recovering": false}
        );
        let queue = queue_of(&library.request(self.now_ms, &request.to_string()));
        let job = JobId(self.next_job);
        self.next_job += 1;
        self.jobs.insert(job, 2);
        events.push(Event::JobAdded(JobFacts {
            job,
            queue,
            user: UserId(user as u32),
            priority: self.random.below(3) as i32,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms: self.now_ms,
        }));
        let rows = 1 + self.random.below(4) as u32;
        if self.random.once_in(2) {
            self.hint(events, job, 4 * rows);
        }
        self.ask(events, job, 0, 4 * rows, rows);
        self.ask(events, job, 1, 2, 0);
        if self.random.once_in(4) && self.nodes[0].up {
            self.recover(events, job);
        }
    }

    /// Asks for `count` containers, with rows for `hosts` hosts and their racks.
    fn ask(&mut self, events: &mut Vec<Event>, job: JobId, ask: u32, count: u32, hosts: u32) {
        let ask = AskId(ask);
        let resource = Resource::new(512 * (1 + self.random.below(3) as i64), 1);
        self.sizes.insert((job, ask), resource);
        events.push(Event::Ask(AskFacts {
            job,
            ask,
            count,
            priority: if hosts > 0 { 20 } else { 10 },
            partition: PartitionId(0),
            relax: true,
            am: false,
            update: false,
            resource,
        }));
        for _ in 0..hosts {
            let host = self.random.below(HOSTS.into()) as usize;
            let NodeFacts { host, rack, .. } = self.nodes[host].facts;
            for place in [host, rack] {
                events.push(Event::AskRow {
                    job,
                    ask,
                    place,
                    count: 4,
                    relax: true,
                });
            }
        }
    }

    /// Sends the facts that are known of a job before it runs: some of them, and none for some
    /// jobs.
    fn hint(&mut self, events: &mut Vec<Event>, job: JobId, maps: u32) {
        let now_ms = self.now_ms;
        let mut sometimes = |value: u64| (!self.random.once_in(3)).then_some(value);
        let hints = JobHints {
            tasks: [sometimes(maps.into()), sometimes(2)].map(|count| count.map(|n| n as u32)),
            input_bytes: sometimes(u64::from(maps) << 27),
            shuffle_per_mille: sometimes(300).map(|ratio| ratio as u32),
            deadline_ms: sometimes(60_000).map(|after_ms| now_ms + after_ms as i64),
            task_ms: [sometimes(2_000), sometimes(4_000)].map(|ms| ms.map(|ms| ms as i64)),
            signature: sometimes(u64::from(job.0 % 3)),
        };
        events.push(Event::JobHints { job, hints });
        events.push(Event::InputBlocks {
            job,
            racks: [PlaceId(1), PlaceId(2), PlaceId::ANY],
            blocks: maps,
            bytes: u64::from(maps) << 27,
        });
    }

    /// Sends measurements of tasks, links and nodes.
    fn measure(&mut self, events: &mut Vec<Event>) {
        let now_ms = self.now_ms;
        for container in self.containers.iter().take(3) {
            let done = self.random.below(1_000);
            let executing = self.random.once_in(2);
            let facts = TaskFacts {
                progress_per_mille: done as u32,
                input_bytes: done << 17,
                output_bytes: done << 15,
                executing_since_ms: executing.then_some(now_ms - done as i64),
                committing: self.random.once_in(9),
            };
            let (job, key) = (container.job, container.key);
            events.push(Event::Task { job, key, facts });
            events.push(Event::ContainerLaunched {
                job,
                key,
                launched_ms: now_ms,
            });
            let counters = JobCounters {
                done: [1, 0],
                input_bytes: done << 20,
                map_output_bytes: done << 19,
                shuffled_bytes: done << 18,
                written_bytes: done,
            };
            events.push(Event::JobCounters { job, counters });
        }
        events.push(Event::RackTraffic {
            rack: PlaceId(1 + self.random.below(RACKS.into()) as u32),
            up_bytes_per_s: self.random.below(1 << 27),
            down_bytes_per_s: self.random.below(1 << 27),
            bandwidth_bytes_per_s: 1 << 27,
        });
        let number = self.random.below(HOSTS.into()) as usize;
        if self.nodes[number].up {
            events.push(Event::NodeLoad {
                node: self.nodes[number].facts.node,
                foreign_per_mille: self.random.below(1_001) as u32,
            });
            events.push(Event::NodeShuffle {
                node: self.nodes[number].facts.node,
                sent_bytes: now_ms as u64 * 1_000,
            });
        }
    }

    fn recover(&mut self, events: &mut Vec<Event>, job: JobId) {
        let (node, resource, key) = (NodeId(0), Resource::new(512, 1), self.next_key);
        if !resource.fits_in(&self.free(0)) {
            return;
        }
        self.next_key += 1;
        self.containers.push(Container {
            job,
            node,
            key,
            resource,
            end_ms: self.now_ms + 1_000,
        });
        events.push(Event::ContainerAdded(ContainerFacts {
            job,
            key,
            node,
            priority: 20,
            am: false,
            started_ms: self.now_ms - 10,
            resource,
        }));
    }

    fn change_jobs(&mut self, events: &mut Vec<Event>) {
        let jobs: Vec<JobId> = self.jobs.keys().copied().collect();
        for job in jobs {
            match self.random.below(40) {
                0 => events.push(Event::JobPriority { job, priority: 7 }),
                1 => events.push(Event::JobMoved {
                    job,
                    queue: QueueId(1),
                }),
                2 => events.push(Event::Blacklist {
                    job,
                    place: PlaceId(4),
                    added: true,
                }),
                3 => events.push(Event::Blacklist {
                    job,
                    place: PlaceId(4),
                    added: false,
                }),
                4 => events.push(Event::JobReset(job)),
                5 => self.ask(events, job, 1, 0, 0),
                6..=8 => {
                    // Its containers end with it; their later completions are ignored.
                    self.jobs.remove(&job);
                    self.containers.retain(|container| container.job != job);
                    events.push(Event::JobRemoved(job));
                }
                _ => {}
            }
        }
    }
}

/// Returns the configuration of `SETUP` with another weight for one queue.
fn reload(weight: u64) -> String {
    let setup: serde_json::Value = serde_json::from_str(SETUP).expect("the setup is JSON");
    let mut config = setup["config"].clone();
    config["queues"][0]["weight"] = weight.into();
    serde_json::json!({"op": "reload", "config": config}).to_string()
}

fn queue_of(reply: &str) -> QueueId {
    let reply: serde_json::Value = serde_json::from_str(reply).expect("a reply is JSON");
    let queue = reply["queue"].as_u64().expect("a placed job has a queue");
    QueueId(u32::try_from(queue).expect("queue ids are small"))
}

const _: () = assert!(
    RESOURCE_TYPES == 8,
    "the scripted amounts are vectors of eight"
);
