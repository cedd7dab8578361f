//! Every preset on the same busy cluster with 10 and with 5,000 jobs. Measures the cost of a
//! heartbeat, a tick and a new job, and its growth with the jobs. Judges nothing.
//!
//! The cluster is full: every node has 8 slots, and 4 of its containers have ended at each report,
//! so each heartbeat grants 4. A tick follows 1,000 heartbeats, which take half a second. A job is
//! a MapReduce job with maps by host and rack, then reduces, and all hints. When nothing of it is
//! pending, another job replaces it. So the number of waiting jobs is constant, and the containers
//! are the same under every policy. Only delay scheduling holds some back: with few jobs most nodes
//! hold data of none, and wait.

use super::common::{host_of, plain_ask, rack_place, row};
use heddle_core::catalogue::PRESETS;
use heddle_core::words::event::{AskFacts, Event, JobFacts, JobHints, NodeFacts};
use heddle_core::words::ids::*;
use heddle_core::{Decision, Engine, Resource, Setup};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

const NODES: u32 = 1_000;
const RACKS: u32 = 25;
const USERS: u32 = 20;
/// Running containers of a node, and the number that end between two reports.
const SLOTS: usize = 8;
const TURNOVER: usize = 4;
const MAPS: u32 = 1_000;
const REDUCES: u32 = 200;
/// Hosts that a job's maps name: each block has three replicas on them.
const HOSTS: u32 = 30;
const BLOCK_BYTES: u64 = 128 << 20;
const TICK_MS: Millis = 500;
/// Heartbeats between ticks: each node reports once in half a second.
const BEATS: u32 = NODES;
/// Ticks before the measurement, which fill the cluster, and during it: 30 s, longer than any
/// policy's period.
pub(crate) const WARM_TICKS: u32 = 4;
const TICKS: u32 = 60;

pub(crate) const FEW: u32 = 10;
pub(crate) const MANY: u32 = 5_000;

/// Prints the table of the presets in `chosen`, or of all if it is empty.
pub(crate) fn run(chosen: &[String]) {
    println!(
        "{NODES} nodes x {SLOTS} slots, {TURNOVER} containers a heartbeat, {} heartbeats, {TICKS} \
         ticks; \"all\" is heartbeats, ticks and jobs together",
        TICKS * BEATS
    );
    println!(
        "{:<17}{:>6}{:>14}{:>14}{:>11}{:>13}{:>9}{:>18}",
        "policy",
        "jobs",
        "ns/heartbeat",
        "ns/container",
        "us/tick",
        "longest, us",
        "us/job",
        "all, ns/heartbeat"
    );
    let named = |name: &str| chosen.is_empty() || chosen.iter().any(|other| other == name);
    for preset in PRESETS.iter().filter(|preset| named(preset.name)) {
        compare(preset.name, |jobs| measure(config(preset.name), jobs));
    }
    // The keys of this order follow usage, and all applications stand in one line.
    if named("by-queue") {
        for order in ["fair", "drf"] {
            let one = json!({
                "policy": {"share": "single", "order": "by-queue", "place": "delay"},
                "queue_defaults": {"order": order},
            });
            compare(&format!("1 queue, {order}"), |jobs| {
                measure(one.clone(), jobs)
            });
        }
    }
}

/// Measures a policy with few and with many jobs; prints both, and their ratio.
fn compare(policy: &str, measure: impl Fn(u32) -> Figures) {
    let few = measure(FEW);
    few.print(policy, FEW);
    let many = measure(MANY);
    many.print(policy, MANY);
    println!(
        "{:<17}{:>6}{:>14.2}{:>14.2}{:>11.2}{:>13.2}{:>9.2}{:>18.2}",
        "",
        "ratio",
        many.ns_per_beat() / few.ns_per_beat(),
        many.ns_per_container() / few.ns_per_container(),
        many.us_per_tick() / few.us_per_tick(),
        many.longest_tick.as_secs_f64() / few.longest_tick.as_secs_f64(),
        many.us_per_job() / few.us_per_job(),
        many.ns_of_all() / few.ns_of_all(),
    );
}

fn measure(config: Value, jobs: u32) -> Figures {
    let mut load = Load::new(config, jobs);
    load.run(WARM_TICKS);
    load.figures = Figures::default();
    load.run(TICKS);
    load.figures
}

/// Time spent on each kind of event.
#[derive(Default)]
struct Figures {
    beats: Duration,
    ticks: Duration,
    longest_tick: Duration,
    jobs: Duration,
    heartbeats: u32,
    ticked: u32,
    containers: u32,
    came: u32,
}

impl Figures {
    fn ns_per_beat(&self) -> f64 {
        self.beats.as_nanos() as f64 / f64::from(self.heartbeats)
    }

    fn ns_per_container(&self) -> f64 {
        self.beats.as_nanos() as f64 / f64::from(self.containers)
    }

    fn us_per_tick(&self) -> f64 {
        self.ticks.as_secs_f64() * 1e6 / f64::from(self.ticked)
    }

    fn us_per_job(&self) -> f64 {
        self.jobs.as_secs_f64() * 1e6 / f64::from(self.came)
    }

    fn ns_of_all(&self) -> f64 {
        let all = self.beats + self.ticks + self.jobs;
        all.as_nanos() as f64 / f64::from(self.heartbeats)
    }

    fn print(&self, preset: &str, jobs: u32) {
        println!(
            "{preset:<17}{jobs:>6}{:>14.0}{:>14.0}{:>11.0}{:>13.0}{:>9.1}{:>18.0}",
            self.ns_per_beat(),
            self.ns_per_container(),
            self.us_per_tick(),
            self.longest_tick.as_secs_f64() * 1e6,
            self.us_per_job(),
            self.ns_of_all(),
        );
    }
}

/// Tasks of a job that are neither granted nor ended.
#[derive(Default)]
struct Left {
    pending: u32,
    live: u32,
    /// Reduces that it will ask for when its maps are granted.
    reduces: u32,
}

pub(crate) struct Load {
    engine: Engine,
    decisions: Vec<Decision>,
    events: Vec<Event>,
    now: Millis,
    next_key: ContainerKey,
    next_job: u32,
    jobs: BTreeMap<JobId, Left>,
    queues: Vec<QueueId>,
    /// Containers of each node, the oldest first.
    live: Vec<VecDeque<(JobId, ContainerKey)>>,
    figures: Figures,
}

impl Load {
    pub(crate) fn new(config: Value, jobs: u32) -> Load {
        let setup = Setup::with_config(&config).expect("a good configuration");
        let mut load = Load {
            engine: Engine::new(setup).expect("a good setup"),
            decisions: Vec::with_capacity(4096),
            events: Vec::new(),
            now: 0,
            next_key: 1,
            next_job: 0,
            jobs: BTreeMap::new(),
            queues: Vec::new(),
            live: vec![VecDeque::new(); NODES as usize],
            figures: Figures::default(),
        };
        for user in 0..USERS {
            let place = json!({"op": "place", "user": format!("u{user}"), "queue": null});
            let reply = load.engine.request(0, &place).expect("placed");
            let id = reply["queue"].as_u64().expect("an id");
            load.queues.push(QueueId(id as u32));
        }
        let nodes = (0..NODES).map(|at| node(at, rack_of(at), SLOTS as i64));
        load.events.extend(nodes);
        load.step();
        for job in 0..jobs {
            // Initial jobs have 1 to 100 percent of their tasks left.
            load.submit(job * 37 % 100 + 1);
        }
        load
    }

    /// Lets the engine process `events`; returns the time taken.
    fn step(&mut self) -> Duration {
        self.decisions.clear();
        let started = Instant::now();
        self.engine
            .step(self.now, &self.events, 4096, &mut self.decisions);
        let took = started.elapsed();
        self.events.clear();
        took
    }

    pub(crate) fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.now += TICK_MS;
            self.events.push(Event::Tick);
            let took = self.step();
            self.figures.ticks += took;
            self.figures.longest_tick = self.figures.longest_tick.max(took);
            self.figures.ticked += 1;
            for at in 0..BEATS {
                self.beat(at % NODES);
            }
        }
    }

    fn beat(&mut self, at: u32) {
        let node = &mut self.live[at as usize];
        let mut ended = Vec::new();
        while node.len() > SLOTS - TURNOVER {
            ended.push(node.pop_front().expect("it was just counted"));
        }
        let free = (SLOTS - node.len()) as i64;
        for (job, key) in &ended {
            self.events.push(Event::ContainerCompleted {
                job: *job,
                key: *key,
                exit: 0,
            });
        }
        self.events.push(Event::Heartbeat {
            node: NodeId(at),
            free: Resource::new(free * 1024, free),
        });
        let took = self.step();
        self.figures.beats += took;
        self.figures.heartbeats += 1;
        let granted = self.take_grants(at);
        // The host writes the answer, but the engine does the work on it.
        let took = self.step();
        self.figures.beats += took;
        for (job, _) in ended {
            self.jobs.get_mut(&job).expect("it has containers").live -= 1;
            self.leave(job);
        }
        for job in granted {
            let took = self.go_on(job);
            self.figures.jobs += took;
        }
    }

    /// Lets a job without pending tasks ask for its reduces, or replaces it.
    fn go_on(&mut self, job: JobId) -> Duration {
        let left = self.jobs.get_mut(&job).expect("it has containers");
        let reduces = std::mem::take(&mut left.reduces);
        left.pending += reduces;
        if reduces == 0 {
            self.figures.came += 1;
            return self.submit(100);
        }
        self.events.push(Event::Ask(AskFacts {
            priority: 10,
            ..plain_ask(job.0, 1, reduces, 1024)
        }));
        self.step()
    }

    /// Commits all grants; returns the jobs that have nothing pending any more.
    fn take_grants(&mut self, at: u32) -> Vec<JobId> {
        let mut done = Vec::new();
        for decision in std::mem::take(&mut self.decisions) {
            let Decision::Grant { job, seq, .. } = decision else {
                continue;
            };
            let key = self.next_key;
            self.next_key += 1;
            self.events.push(Event::Ack { job, seq, key });
            self.live[at as usize].push_back((job, key));
            self.figures.containers += 1;
            let left = self.jobs.get_mut(&job).expect("it asked");
            left.pending -= 1;
            left.live += 1;
            if left.pending == 0 {
                done.push(job);
            }
        }
        done
    }

    /// Removes a finished job.
    fn leave(&mut self, job: JobId) {
        let over = |left: &Left| left.pending == 0 && left.live == 0;
        if self.jobs.get(&job).is_some_and(over) {
            self.jobs.remove(&job);
            self.events.push(Event::JobRemoved(job));
            let took = self.step();
            self.figures.jobs += took;
        }
    }

    /// Submits the next job, with `percent` of the tasks of a whole one; returns the engine's time.
    fn submit(&mut self, percent: u32) -> Duration {
        let [maps, reduces] = [MAPS, REDUCES].map(|tasks| tasks * percent / 100);
        let job = self.next_job;
        self.next_job += 1;
        let id = JobId(job);
        self.events.push(Event::JobAdded(JobFacts {
            job: id,
            queue: self.queues[(job % USERS) as usize],
            user: UserId(job % USERS),
            priority: 0,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms: self.now,
        }));
        self.events.push(Event::JobHints {
            job: id,
            hints: hints(job, [maps, reduces], self.now),
        });
        self.ask(job, maps);
        self.jobs.insert(
            id,
            Left {
                pending: maps,
                live: 0,
                reduces,
            },
        );
        self.step()
    }

    fn ask(&mut self, job: u32, maps: u32) {
        self.events.push(Event::Ask(plain_ask(job, 0, maps, 1024)));
        let each = 3 * maps / HOSTS;
        let mut racks: BTreeMap<PlaceId, u32> = BTreeMap::new();
        for i in 0..HOSTS {
            let node = (job * 7 + i * 13) % NODES;
            *racks.entry(rack_of(node)).or_default() += each;
            self.events.push(row(job, 0, host_of(node), each));
        }
        for (rack, count) in &racks {
            self.events.push(row(job, 0, *rack, (*count).min(maps)));
        }
        let held: Vec<PlaceId> = racks.keys().copied().collect();
        for replicas in held.windows(3).step_by(3) {
            self.events.push(Event::InputBlocks {
                job: JobId(job),
                racks: [replicas[0], replicas[1], replicas[2]],
                blocks: maps.div_ceil(8),
                bytes: u64::from(maps.div_ceil(8)) * BLOCK_BYTES,
            });
        }
    }
}

/// Returns the configuration that gives the preset something to decide. Dynamic Priority's queues
/// have different bids and can pay for the whole measurement; the others learn from the jobs.
pub(crate) fn config(preset: &str) -> Value {
    let queues: Vec<Value> = (0..USERS)
        .map(|user| {
            json!({
                "path": format!("root.u{user}"),
                "budget": 1e9,
                "spending_rate": 0.5 + 0.1 * f64::from(user),
            })
        })
        .collect();
    json!({"policy": preset, "heartbeat_fill": 1.0, "queues": queues})
}

/// A node that joins, with room for `slots` containers of 1 GB.
pub(crate) fn node(node: u32, rack: PlaceId, slots: i64) -> Event {
    let capacity = Resource::new(1024 * slots, slots);
    Event::NodeAdded(NodeFacts {
        node: NodeId(node),
        host: host_of(node),
        rack,
        partition: PartitionId(0),
        lends: false,
        schedulable: true,
        capacity,
        free: capacity,
    })
}

/// Numbers racks after the hosts.
fn rack_of(node: u32) -> PlaceId {
    rack_place(node % RACKS + NODES)
}

/// Gives roughly the real lengths, and shuffles from none to twice the input. Goals are between
/// half a minute and an hour away, some of them out of reach.
fn hints(job: u32, [maps, reduces]: [u32; 2], now: Millis) -> JobHints {
    let length_ms = Millis::from(600 + job * 37 % 900);
    JobHints {
        tasks: [Some(maps), Some(reduces)],
        input_bytes: Some(u64::from(maps) * BLOCK_BYTES),
        shuffle_per_mille: Some(job * 211 % 2_000),
        deadline_ms: Some(now + 30_000 + Millis::from(job * 7_919 % 3_600) * 1_000),
        task_ms: [Some(length_ms), Some(2 * length_ms)],
        signature: Some(u64::from(job % 50)),
    }
}
