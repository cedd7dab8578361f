//! Nodes of four slots and tasks of known lengths, driven second by second, for the tests of HFSP.
//! Checks nothing itself.
#![allow(dead_code, unreachable_pub)]

use super::{Host, plain_ask};
use heddle_core::words::event::*;
use heddle_core::words::ids::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const MAP: i32 = 20;
pub const REDUCE: i32 = 10;
pub const SECOND: Millis = 1_000;

/// A running task: its end, its job, its container, its priority.
pub type Running = (Millis, u32, u64, i32);

/// A cluster whose tasks take 1,024 MB and a known time.
pub struct Cluster {
    pub host: Host,
    pub queue: QueueId,
    pub nodes: u32,
    /// Lengths by job and priority.
    pub lengths: BTreeMap<(u32, i32), Millis>,
    /// Number of tasks of a job that have not ended.
    pub left: BTreeMap<u32, u32>,
    pub running: Vec<Running>,
    pub ended: BTreeMap<u32, Millis>,
}

impl Cluster {
    /// Builds nodes of four slots each.
    pub fn new(nodes: u32, hfsp: Value) -> Cluster {
        Cluster::with(
            nodes,
            json!({"policy": "hfsp", "heartbeat_fill": 1.0, "hfsp": hfsp}),
        )
    }

    pub fn with(nodes: u32, config: Value) -> Cluster {
        let mut host = Host::new(config);
        for _ in 0..nodes {
            host.node(0, 4 * 1_024, 64);
        }
        let queue = host.queue("ada", None);
        Cluster {
            host,
            queue,
            nodes,
            lengths: BTreeMap::new(),
            left: BTreeMap::new(),
            running: Vec::new(),
            ended: BTreeMap::new(),
        }
    }

    pub fn submit(&mut self, job: u32, maps: u32, seconds: Millis) {
        self.host.job(job, self.queue);
        self.ask(job, MAP, maps, seconds);
    }

    pub fn ask(&mut self, job: u32, priority: i32, count: u32, seconds: Millis) {
        self.lengths.insert((job, priority), seconds * SECOND);
        *self.left.entry(job).or_insert(0) += count;
        self.host.ask_facts(AskFacts {
            priority,
            ..plain_ask(job, priority as u32, count, 1_024)
        });
    }

    pub fn hint(&mut self, job: u32, hints: JobHints) {
        let job = JobId(job);
        self.host.step(&[Event::JobHints { job, hints }]);
    }

    /// Lets every node report; granted tasks run for their length.
    pub fn beat(&mut self) {
        for node in 0..self.nodes {
            for grant in self.host.beat(node) {
                let key = self.key_of(grant.job);
                let priority = grant.ask as i32;
                let length = self.lengths[&(grant.job, priority)];
                self.running
                    .push((self.host.now + length, grant.job, key, priority));
            }
        }
    }

    /// Returns the key of the job's first container that is not known here yet. `Host::beat`
    /// commits all grants of a heartbeat at once.
    pub fn key_of(&self, job: u32) -> u64 {
        let known = |key: u64| self.running.iter().any(|r| (r.1, r.2) == (job, key));
        let mut keys = self
            .host
            .containers
            .iter()
            .filter(|c| c.0 == job)
            .map(|c| c.1);
        keys.find(|key| !known(*key))
            .expect("the grant was committed")
    }

    /// Runs one second: tasks end, a tick passes, nodes report.
    pub fn second(&mut self) {
        self.host.now += SECOND;
        let now = self.host.now;
        let (due, rest): (Vec<Running>, Vec<Running>) =
            self.running.drain(..).partition(|r| r.0 <= now);
        self.running = rest;
        for (_, job, key, _) in due {
            self.host.complete(job, key);
            let left = self.left.get_mut(&job).expect("it was submitted");
            *left -= 1;
            if *left == 0 {
                self.ended.insert(job, now);
            }
        }
        self.host.tick();
        self.beat();
    }

    pub fn run(&mut self, seconds: u32) {
        (0..seconds).for_each(|_| self.second());
    }

    /// Runs until a job ends, at most for `most` seconds; returns its end in seconds.
    pub fn end_of(&mut self, job: u32, most: u32) -> Millis {
        for _ in 0..most {
            if self.ended.contains_key(&job) {
                break;
            }
            self.second();
        }
        *self.ended.get(&job).expect("it ends in time") / SECOND
    }

    /// Returns how many tasks of a job run.
    pub fn of(&self, job: u32) -> usize {
        self.running.iter().filter(|r| r.1 == job).count()
    }

    /// Returns the stage's report of a pool.
    pub fn state(&self, pool: usize) -> Value {
        self.host.engine.save()[1]["pools"][pool].clone()
    }

    /// Returns the jobs of a pool in their order.
    pub fn order(&self, pool: usize) -> Vec<u64> {
        let state = self.state(pool);
        let phases = state["phases"].as_array().expect("a list");
        phases
            .iter()
            .map(|p| p["job"].as_u64().expect("an id"))
            .collect()
    }

    /// Returns the value at `key` in the report of a job's phase.
    pub fn phase(&self, pool: usize, job: u32, key: &str) -> Value {
        let state = self.state(pool);
        let phases = state["phases"].as_array().expect("a list");
        let found = phases.iter().find(|phase| phase["job"] == job);
        found.map_or(Value::Null, |phase| phase[key].clone())
    }
}
