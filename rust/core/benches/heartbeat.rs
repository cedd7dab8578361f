//! Nanoseconds per heartbeat and per container of the engine alone, without the bridge. Shows where
//! the time of `./x bench` goes, and that a heartbeat's cost does not grow with the number of
//! waiting jobs. Prints only; asserts nothing, because machines are shared.
//!
//! `cargo bench -p heddle-core --bench heartbeat [-- PRESET...]` measures every preset with 10 and
//! with 5,000 jobs, including ticks (`heartbeat/presets.rs`). Unless presets are named, it then
//! measures the default one in separate situations. `-- explain [PRESET...]` measures the cost of
//! keeping decisions (`heartbeat/explain.rs`), `-- entitle` that of entitlements at heartbeats, and
//! `-- ticks [ORDER[+goals]...]` ticks of a large cluster (`heartbeat/ticks.rs`).

// Benchmarks may read the clock.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

#[path = "../tests/engine/common/mod.rs"]
mod common;
#[path = "heartbeat/explain.rs"]
mod explain;
#[path = "heartbeat/presets.rs"]
mod presets;
#[path = "heartbeat/ticks.rs"]
mod ticks;

use common::{host_of, plain_ask, rack_place};
use heddle_core::catalogue::PRESETS;
use heddle_core::words::event::{Event, JobFacts, NodeFacts};
use heddle_core::words::ids::*;
use heddle_core::{Decision, Engine, Resource, Setup};
use serde_json::json;
use std::collections::VecDeque;
use std::time::Instant;

const NODES: u32 = 1_000;
const HEARTBEATS: u32 = 200_000;

struct Bench {
    engine: Engine,
    decisions: Vec<Decision>,
    events: Vec<Event>,
    now: Millis,
    next_key: u64,
    /// Whether a node changes its size before each heartbeat, which then recomputes entitlements.
    entitles: bool,
}

impl Bench {
    fn new(jobs: u32, asks_mb: i64, rows: u32) -> Bench {
        let config = json!({"policy": "fair", "heartbeat_fill": 1.0});
        let setup = Setup::with_config(&config).expect("good");
        let mut bench = Bench {
            engine: Engine::new(setup).expect("good"),
            decisions: Vec::with_capacity(4096),
            events: Vec::new(),
            now: 0,
            next_key: 1,
            entitles: false,
        };
        for node in 0..NODES {
            bench.events.push(Event::NodeAdded(facts(node, 65_536)));
        }
        bench.step();
        for job in 0..jobs {
            let place = json!({"op": "place", "user": format!("u{}", job % 20), "queue": null});
            let reply = bench.engine.request(0, &place).expect("placed");
            bench.events.push(Event::JobAdded(JobFacts {
                job: JobId(job),
                queue: QueueId(reply["queue"].as_u64().expect("an id") as u32),
                user: UserId(job % 20),
                priority: 0,
                mapreduce: true,
                unmanaged_am: false,
                submitted_ms: i64::from(job),
            }));
            bench
                .events
                .push(Event::Ask(plain_ask(job, 0, 1_000_000, asks_mb)));
            for i in 0..rows {
                let node = (job * 7 + i * 13) % NODES;
                for place in [host_of(node), rack_place(node % 25 + NODES)] {
                    bench.events.push(common::row(job, 0, place, 1_000_000));
                }
            }
        }
        bench.step();
        bench.events.push(Event::Tick);
        bench.step();
        bench
    }

    fn step(&mut self) {
        self.decisions.clear();
        self.engine
            .step(self.now, &self.events, 4096, &mut self.decisions);
        self.events.clear();
    }

    /// Runs heartbeats in turn; each node has room for `room` containers again every time. Returns
    /// nanoseconds per heartbeat.
    fn run(&mut self, name: &str, room: Resource) -> f64 {
        let mut containers = 0u64;
        let mut done: Vec<(JobId, u64)> = Vec::new();
        let started = Instant::now();
        for i in 0..HEARTBEATS {
            self.now += i64::from(i % 8 == 0);
            for (job, key) in done.drain(..) {
                self.events
                    .push(Event::ContainerCompleted { job, key, exit: 0 });
            }
            if self.entitles {
                let memory_mb = 65_536 + i64::from(i / NODES % 2);
                let changed = facts((i + 1) % NODES, memory_mb);
                self.events.push(Event::NodeChanged(changed));
            }
            self.events.push(Event::Heartbeat {
                node: NodeId(i % NODES),
                free: room,
            });
            self.step();
            for decision in &self.decisions {
                if let Decision::Grant { job, seq, .. } = decision {
                    self.events.push(Event::Ack {
                        job: *job,
                        seq: *seq,
                        key: self.next_key,
                    });
                    done.push((*job, self.next_key));
                    self.next_key += 1;
                    containers += 1;
                }
            }
        }
        let ns = started.elapsed().as_nanos() as f64;
        println!(
            "{name:<46} {:>8.0} ns/heartbeat {:>8.0} ns/container ({containers} containers)",
            ns / f64::from(HEARTBEATS),
            if containers > 0 {
                ns / containers as f64
            } else {
                0.0
            },
        );
        ns / f64::from(HEARTBEATS)
    }
}

fn facts(node: u32, memory_mb: i64) -> NodeFacts {
    let capacity = Resource::new(memory_mb, 64);
    NodeFacts {
        node: NodeId(node),
        host: host_of(node),
        rack: rack_place(node % 25 + NODES),
        partition: PartitionId(0),
        lends: false,
        schedulable: true,
        capacity,
        free: capacity,
    }
}

impl Bench {
    /// Keeps many containers alive, each replaced by an ask for one more. The tables are large, and
    /// asks come and go as in a busy cluster.
    fn run_steady(&mut self, jobs: u32, per_node: u32) {
        let mut live: VecDeque<(u32, JobId, u64)> = VecDeque::new();
        let mut containers = 0u64;
        let mut warm = false;
        let mut started = Instant::now();
        for i in 0..HEARTBEATS {
            if live.len() as u32 >= NODES * per_node && !warm {
                (warm, containers, started) = (true, 0, Instant::now());
            }
            let node = i % NODES;
            let room = if warm { 2 } else { per_node };
            for k in 0..room {
                let job = JobId((i * 7 + k * 13) % jobs);
                if warm {
                    let (_, job, key) = live.pop_front().expect("many are live");
                    self.events
                        .push(Event::ContainerCompleted { job, key, exit: 0 });
                }
                self.events.push(Event::Ask(plain_ask(job.0, 0, 1, 1024)));
            }
            let free = Resource::new(1024 * i64::from(room), i64::from(room));
            self.events.push(Event::Heartbeat {
                node: NodeId(node),
                free,
            });
            self.step();
            for decision in &self.decisions {
                if let Decision::Grant { job, seq, .. } = decision {
                    self.events.push(Event::Ack {
                        job: *job,
                        seq: *seq,
                        key: self.next_key,
                    });
                    live.push_back((node, *job, self.next_key));
                    self.next_key += 1;
                    containers += 1;
                }
            }
        }
        let ns = started.elapsed().as_nanos() as f64;
        println!(
            "{jobs} jobs, {} containers live, replaced one by one  {:>8.0} ns/container",
            live.len(),
            ns / containers as f64
        );
    }
}

fn main() {
    // Cargo adds `--bench`.
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let chosen: Vec<String> = chosen.into_iter().filter(|arg| arg != "--bench").collect();
    if chosen == ["entitle"] {
        return entitlements_at_heartbeats();
    }
    if chosen.first().is_some_and(|first| first == "ticks") {
        return ticks::run(&chosen[1..]);
    }
    let (explain, chosen): (Vec<String>, Vec<String>) =
        chosen.into_iter().partition(|arg| arg == "explain");
    let known = |name: &String| PRESETS.iter().any(|preset| preset.name == name);
    if let Some(wrong) = chosen.iter().find(|name| !known(name)) {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        eprintln!("no preset is called {wrong}; expected {}", names.join(", "));
        std::process::exit(2);
    }
    if !explain.is_empty() {
        return explain::run(&chosen);
    }
    presets::run(&chosen);
    if chosen.is_empty() {
        fair_apart();
    }
}

/// Measures the default policy in separate situations, without ticks.
fn fair_apart() {
    Bench::new(100, 1024, 0).run_steady(100, 30);
    Bench::new(100, 1024, 0).run_steady(100, 3);
    for jobs in [10, 100, 1_000, 5_000] {
        Bench::new(jobs, 1024, 0).run(&format!("{jobs} jobs, nodes full"), Resource::ZERO);
        Bench::new(jobs, 8192, 0).run(
            &format!("{jobs} jobs, asks larger than the room"),
            Resource::new(4096, 4),
        );
        Bench::new(jobs, 1024, 0).run(
            &format!("{jobs} jobs, 4 containers each time"),
            Resource::new(4096, 4),
        );
        Bench::new(jobs, 1024, 30).run(
            &format!("{jobs} jobs with 30 hosts each, 4 containers"),
            Resource::new(4096, 4),
        );
    }
}

/// Measures the cost of current limits and shares in the worst case: a node registers or changes
/// before every heartbeat. A cluster of 10,000 nodes does that for some seconds when it starts.
fn entitlements_at_heartbeats() {
    let room = Resource::new(4096, 4);
    for jobs in [10, 100, 1_000, 5_000] {
        let calm = Bench::new(jobs, 1024, 0).run(&format!("{jobs} jobs, calm"), room);
        let mut bench = Bench::new(jobs, 1024, 0);
        bench.entitles = true;
        let busy = bench.run(&format!("{jobs} jobs, a node changes each time"), room);
        println!("{jobs} jobs: {:.1} times as long", busy / calm);
    }
}
