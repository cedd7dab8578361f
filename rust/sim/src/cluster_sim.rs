//! The full simulator: machines, a network, HDFS blocks, and MapReduce jobs with their masters, in
//! virtual time around the production engine. It schedules nothing itself: every container is the
//! engine's decision.
//!
//! Each module says what it models and what it does not: `hardware` (nodes, racks, replicas),
//! `network` (links of racks), `attempts` (what a task does), `shuffle`, `trouble` (failures,
//! stragglers, speculation, load of others). ApplicationMasters run outside the cluster, like the
//! job tracker of the papers' clusters.

mod attempts;
mod exchange;
mod foresight;
pub mod hardware;
mod job;
mod knowledge;
mod life;
pub mod metrics;
pub mod network;
mod options;
mod polls;
mod recorded;
mod shuffle;
mod sources;
mod trouble;
mod watch;
pub mod workload;

pub use foresight::Judged;
pub use hardware::Hardware;
pub use knowledge::Knowledge;
pub use metrics::{JobRecord, Predicted, Results, Sample};
pub use options::{Options, Trouble, Watcher, merge};
pub use sources::Source;
pub use workload::Workload;

use crate::agenda::Agenda;
use crate::failure::{Check, Checked, Failure};
use crate::link::{Link, Tamper};
use crate::random::Random;
use attempts::Attempt;
use heddle_core::words::event::Event;
use heddle_core::words::ids::{ContainerKey, JobId, Millis, QueueId, UserId};
use heddle_core::words::resource::Resource;
use job::RunningJob;
use network::Network;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A planned event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// The planned job of that number is submitted.
    Submission(usize),
    /// The next job of a stream is submitted.
    Next(usize, u32),
    /// An attempt ends its phase; the number distinguishes the latest plan from outdated ones.
    Attempt(usize, u32),
    /// A flow ends.
    Flow,
    /// A node with room reports.
    Report,
    /// Time passes for the engine.
    Tick,
    /// Reduces of a job hear of new map output.
    Publish(JobId),
    /// A container that the engine evicted is killed.
    Eviction(JobId, ContainerKey),
    /// The engine hears of traffic.
    Traffic,
    /// The engine hears of progress.
    Progress,
    /// A node reports what happened there (`Knowledge::Live`).
    Beat(u32),
    /// The engine hears of the jobs' counters (`Knowledge::Live`).
    Counters,
    /// Masters look for slow tasks.
    Slow,
    /// The ApplicationMaster of a recorded job asks for its tasks, ends the job, or leaves.
    Master(JobId, recorded::Turn),
    /// The foreign load takes its next step; the number is the step's index.
    Foreign(usize),
    NodeLost,
    NodeBack(u32),
    /// A request of the workload.
    Request(usize),
    Sample,
}

/// A node and what runs on it.
#[derive(Debug, Default)]
struct Machine {
    /// Whether the node is part of the cluster.
    up: bool,
    /// Its attempts, as indexes into the table.
    attempts: Vec<usize>,
    /// Its running maps and reduces.
    running: [u32; 2],
    /// The resources that containers hold.
    taken: Resource,
    /// Whether it has room for the smallest container of the workload.
    has_room: bool,
    /// Slots that foreign load takes.
    foreign_slots: u32,
    /// The foreign load, 0 to 1.
    foreign: f64,
    /// Launches and ends that the node has not reported.
    unreported: Vec<Event>,
    /// The foreign load that the engine was told last, in per mille.
    told_load: Option<u32>,
}

/// A simulation.
pub struct ClusterSim {
    options: Options,
    workload: Workload,
    link: Link,
    agenda: Agenda<Due>,
    now: Millis,
    machines: Vec<Machine>,
    jobs: Vec<Option<Box<RunningJob>>>,
    /// Jobs that have not ended, in order of submission.
    active: Vec<JobId>,
    attempts: Vec<Attempt>,
    holes: Vec<usize>,
    network: Network<usize>,
    /// When the first flow ends, as planned.
    flow_at: Option<Millis>,
    outbox: Vec<Event>,
    /// Nodes that must report at once because something ended there.
    freed: Vec<u32>,
    /// Whether reports of nodes with room are planned; `cursor` is the next node.
    reporting: bool,
    cursor: u32,
    /// How many nodes have room.
    with_room: u32,
    ticking: bool,
    users: BTreeMap<String, (UserId, QueueId)>,
    /// The paths of the queues that jobs were placed in.
    queues: BTreeMap<QueueId, String>,
    /// The smallest container of the workload.
    smallest: Resource,
    results: Results,
    last_sample_crossed: f64,
    /// Since when nothing runs although jobs wait.
    idle_since_ms: Millis,
    last_traffic: [Vec<f64>; 2],
    /// Jobs with a planned time and streams that have not been submitted yet.
    submissions_left: usize,
    random: Random,
    stopped: bool,
}

impl ClusterSim {
    /// Creates a cluster without jobs.
    ///
    /// # Errors
    /// If the engine does not accept the configuration.
    pub fn new(workload: Workload, mut options: Options) -> Checked<ClusterSim> {
        let hardware = &workload.hardware;
        let setup = json!({
            "minimum_allocation": {
                "memory-mb": workload.smallest().memory_mb(),
                "vcores": workload.smallest().vcores(),
            },
            "config": options.engine_config(&workload),
        });
        let tamper = options
            .tamper
            .take()
            .map(|tamper| tamper as Box<dyn Tamper>);
        let link = Link::open(setup, false, tamper)?;
        let results = Results {
            workload: workload.name.clone(),
            policy: options.policy.clone(),
            slots: hardware.slots_in_all(),
            ..Results::default()
        };
        let bandwidth = hardware.rack_bytes_per_s as f64 / 1e3;
        let racks = hardware.racks as usize;
        let mut sim = ClusterSim {
            link,
            agenda: Agenda::default(),
            now: 0,
            machines: (0..hardware.nodes).map(|_| Machine::default()).collect(),
            jobs: Vec::new(),
            active: Vec::new(),
            attempts: Vec::new(),
            holes: Vec::new(),
            network: Network::new(racks, bandwidth),
            flow_at: None,
            outbox: Vec::new(),
            freed: Vec::new(),
            reporting: false,
            cursor: 0,
            with_room: 0,
            ticking: false,
            users: BTreeMap::new(),
            queues: BTreeMap::new(),
            smallest: workload.smallest(),
            results,
            last_sample_crossed: 0.0,
            idle_since_ms: 0,
            last_traffic: [vec![0.0; racks], vec![0.0; racks]],
            submissions_left: workload.jobs.len() + workload.streams.len(),
            random: Random::new(options.seed ^ 0xc1a5_7e12),
            stopped: false,
            options,
            workload,
        };
        sim.plan_everything();
        Ok(sim)
    }

    fn plan_everything(&mut self) {
        for node in 0..self.workload.hardware.nodes {
            self.join_node(node);
        }
        for (i, job) in self.workload.jobs.iter().enumerate() {
            self.agenda.plan(job.submit_ms, Due::Submission(i));
        }
        for (i, stream) in self.workload.streams.iter().enumerate() {
            self.agenda.plan(stream.job.submit_ms, Due::Next(i, 0));
        }
        for (i, (at, _)) in self.workload.requests.iter().enumerate() {
            self.agenda.plan(*at, Due::Request(i));
        }
        if let Some((at, _)) = self.workload.foreign.steps.first() {
            self.agenda.plan(*at, Due::Foreign(0));
        }
        self.agenda.plan(0, Due::Sample);
        self.agenda.plan(self.options.traffic_ms, Due::Traffic);
        self.agenda.plan(self.options.progress_ms, Due::Progress);
        self.plan_counters();
        if self.options.trouble.speculation {
            self.agenda.plan(trouble::SLOW_MS, Due::Slow);
        }
        self.plan_node_loss();
    }

    /// Runs to the end of the last job, or to the end of the workload's time.
    ///
    /// # Errors
    /// Returns the first check that does not hold.
    pub fn run(mut self) -> Checked<Results> {
        let result = self.run_to_end();
        result.map_err(|failure| self.link.explain(failure))?;
        self.sample();
        self.results.ended_ms = self.now;
        let stages = self.link.request(self.now, json!({"op": "stages"}))?;
        self.results.stages = stages.unwrap_or_default();
        self.results.digest = self.link.digest;
        self.results.events = self.link.events;
        for id in std::mem::take(&mut self.active) {
            self.record_end(id, None);
        }
        self.results.jobs.sort_by_key(|job| job.id);
        Ok(self.results)
    }

    fn run_to_end(&mut self) -> Checked {
        while !self.stopped {
            let Some((at, due)) = self.agenda.pop() else {
                break;
            };
            if self.workload.until_ms.is_some_and(|until| at > until) {
                break;
            }
            self.now = self.now.max(at);
            self.network.advance(self.now);
            self.handle(due)?;
            self.report_freed()?;
            self.plan_flow();
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.submissions_left == 0 && self.active.is_empty()
    }

    fn handle(&mut self, due: Due) -> Checked {
        match due {
            Due::Submission(i) => self.submit_planned(i),
            Due::Next(stream, number) => self.submit_next(stream, number),
            Due::Attempt(at, plan) => self.attempt_due(at, plan),
            Due::Flow => self.flow_due(),
            Due::Report => self.report_due(),
            Due::Tick => self.tick(),
            Due::Publish(job) => self.publish(job),
            Due::Eviction(job, key) => self.evict(job, key),
            Due::Traffic => self.tell_traffic(),
            Due::Progress => self.tell_progress(),
            Due::Beat(node) => self.beat(node),
            Due::Counters => self.tell_counters(),
            Due::Slow => self.look_for_slow(),
            Due::Master(job, turn) => self.master_due(job, turn),
            Due::Foreign(i) => self.change_foreign(i),
            Due::NodeLost => self.lose_node(),
            Due::NodeBack(node) => self.node_back(node),
            Due::Request(i) => {
                let request = self.workload.requests[i].1.clone();
                self.request(request).map(|_| ())
            }
            Due::Sample => self.sample_due(),
        }
    }

    fn plan_flow(&mut self) {
        let first = self.network.settle();
        if first != self.flow_at {
            self.flow_at = first;
            if let Some(at) = first {
                self.agenda.plan(at, Due::Flow);
            }
        }
    }

    /// Sends a request to the control plane. The engine must accept the workload's requests.
    fn request(&mut self, request: Value) -> Checked<Value> {
        self.flush()?;
        let refused = |why| Failure::new(Check::Decision, format!("{request}: {why}"));
        self.link
            .request(self.now, request.clone())?
            .map_err(refused)
    }

    fn job(&mut self, id: JobId) -> &mut RunningJob {
        let job = self.jobs[id.index()].as_deref_mut();
        job.expect("callers name jobs that have not ended")
    }

    /// Returns random numbers that depend on the seed and on their purpose, not on earlier events.
    /// The same task has the same luck under every policy.
    fn luck(&self, of: [u64; 4]) -> Random {
        let mix = |seed: u64, part: u64| {
            let mut mixed = (seed ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        Random::new(of.into_iter().fold(self.options.seed, mix))
    }
}
