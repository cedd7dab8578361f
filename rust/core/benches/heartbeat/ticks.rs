//! The time of ticks, heartbeats, pages and a reload on a large and full cluster: 10,000 nodes,
//! 5,000 queues, 20,000 jobs. The scheduler's lock is held for as long. Prints a digest of all
//! decisions too: a change that only makes ticks faster leaves it as it is.

use super::common::{host_of, plain_ask, rack_place, row};
use super::presets::node;
use heddle_core::words::event::{AskFacts, Event, JobFacts, JobHints};
use heddle_core::words::ids::*;
use heddle_core::{Decision, Engine, Resource, Setup};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const NODES: u32 = 10_000;
const RACKS: u32 = 250;
const QUEUES: u32 = 5_000;
const JOBS: u32 = 20_000;
/// Containers that a node holds.
const SLOTS: u32 = 6;
const MAPS: u32 = 12;
const REDUCES: u32 = 3;
/// Measured ticks, and how many nodes report between two of them.
const TICKS: u32 = 40;
const BEATS: u32 = 2_500;
/// Requests for each page.
const PAGES: u32 = 5;

struct Load {
    engine: Engine,
    events: Vec<Event>,
    decisions: Vec<Decision>,
    now: Millis,
    next_key: ContainerKey,
    /// Containers of each node, the oldest first.
    live: Vec<VecDeque<(JobId, ContainerKey)>>,
    digest: u64,
    /// How long the engine took for each heartbeat.
    beats: Vec<Duration>,
}

/// Ends the name of an order if some jobs are to have goals.
const WITH_GOALS: &str = "+goals";
/// Every tenth job then has one, an hour ahead.
const GOAL_EVERY: u32 = 10;
const GOAL_MS: Millis = 3_600_000;

/// Measures the orders in `orders`, or two that differ in what they do on a tick. With `+goals`
/// after its name, a tenth of the jobs have goals.
pub(crate) fn run(orders: &[String]) {
    let both = ["fifo".to_string(), "deficit".to_string()];
    let orders = if orders.is_empty() { &both[..] } else { orders };
    println!("{NODES} nodes, {QUEUES} queues, {JOBS} jobs; us per tick, page and reload");
    for order in orders {
        let mut load = Load::new(order);
        load.beats.clear();
        let ticks = sorted_us((0..TICKS).map(|_| load.interval()).collect());
        let beats = sorted_us(std::mem::take(&mut load.beats));
        let at = |sorted: &[f64], per_cent: usize| sorted[(sorted.len() - 1) * per_cent / 100];
        println!(
            "{order:<22} tick least {:>6.0} median {:>6.0} most {:>6.0}  heartbeat median {:.1} \
             p99 {:.1}  digest {:016x}",
            ticks[0],
            at(&ticks, 50),
            at(&ticks, 100),
            at(&beats, 50),
            at(&beats, 99),
            load.digest,
        );
        let jobs = json!({"op": "jobs", "max": 100});
        let queues = json!({"op": "queues", "from": 64, "max": 64});
        println!(
            "{:22} 100 jobs {:.0}  64 queues {:.0}  reload {:.0}  digest {:016x}",
            "",
            load.page(&jobs, "jobs", 100),
            load.page(&queues, "queues", 64),
            load.reload(order),
            load.digest
        );
    }
}

fn sorted_us(times: Vec<Duration>) -> Vec<f64> {
    let mut times: Vec<f64> = times.iter().map(|took| took.as_secs_f64() * 1e6).collect();
    times.sort_by(f64::total_cmp);
    times
}

impl Load {
    fn new(name: &str) -> Load {
        let order = name.trim_end_matches(WITH_GOALS);
        let setup = Setup::with_config(&config(order));
        let mut load = Load {
            engine: Engine::new(setup.expect("a good configuration")).expect("a good setup"),
            events: (0..NODES)
                .map(|at| node(at, rack_of(at), i64::from(SLOTS)))
                .collect(),
            decisions: Vec::new(),
            now: 0,
            next_key: 1,
            live: vec![VecDeque::new(); NODES as usize],
            digest: 0xcbf2_9ce4_8422_2325,
            beats: Vec::new(),
        };
        load.step();
        for job in 0..JOBS {
            load.submit(job);
            if name != order && job % GOAL_EVERY == 0 {
                load.events.push(goal(job));
            }
        }
        for at in (0..NODES).chain(0..NODES) {
            load.beat(at, 0);
        }
        for _ in 0..4 {
            load.interval();
        }
        load
    }

    fn submit(&mut self, job: u32) {
        let at = job % QUEUES;
        let place =
            json!({"op": "place", "user": "u", "queue": format!("root.g{}.q{at}", at / 100)});
        let reply = self.engine.request(self.now, &place).expect("placed");
        self.events.push(Event::JobAdded(JobFacts {
            job: JobId(job),
            queue: QueueId(reply["queue"].as_u64().expect("an id") as u32),
            user: UserId(job % 500),
            priority: 0,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms: i64::from(job),
        }));
        self.events.push(Event::Ask(AskFacts {
            priority: 0,
            am: true,
            ..plain_ask(job, 0, 1, 1024)
        }));
        let maps = plain_ask(job, 1, MAPS, 1024);
        self.events.push(Event::Ask(AskFacts {
            priority: 20,
            ..maps
        }));
        for i in 0..3 {
            let node = (job * 7 + i * 1_313) % NODES;
            for place in [host_of(node), rack_of(node)] {
                self.events.push(row(job, 1, place, MAPS / 3));
            }
        }
        self.events.push(Event::Ask(AskFacts {
            priority: 10,
            ..plain_ask(job, 2, REDUCES, 2048)
        }));
        self.step();
    }

    /// Lets the engine process `events`; returns the time taken.
    fn step(&mut self) -> Duration {
        self.decisions.clear();
        let started = Instant::now();
        let (now, decisions) = (self.now, &mut self.decisions);
        self.engine.step(now, &self.events, 4096, decisions);
        let took = started.elapsed();
        self.events.clear();
        for byte in self
            .decisions
            .iter()
            .flat_map(|it| format!("{it:?}").into_bytes())
        {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        took
    }

    /// A node reports after its oldest containers have ended.
    fn beat(&mut self, at: u32, ended: usize) {
        let held = &mut self.live[at as usize];
        let ended: Vec<(JobId, ContainerKey)> = held.drain(..ended.min(held.len())).collect();
        let free = i64::from(SLOTS) - held.len() as i64;
        for (job, key) in ended {
            self.events
                .push(Event::ContainerCompleted { job, key, exit: 0 });
            // Its task is followed by another one.
            let more = plain_ask(job.0, 1, MAPS, 1024);
            self.events.push(Event::Ask(AskFacts {
                priority: 20,
                ..more
            }));
        }
        self.events.push(Event::Heartbeat {
            node: NodeId(at),
            free: Resource::new(1024 * free, free),
        });
        let took = self.step();
        self.beats.push(took);
        for decision in std::mem::take(&mut self.decisions) {
            if let Decision::Grant { job, seq, .. } = decision {
                let key = self.next_key;
                self.next_key += 1;
                self.events.push(Event::Ack { job, seq, key });
                self.live[at as usize].push_back((job, key));
            }
        }
        self.step();
    }

    /// Half a second: some nodes report, then the tick comes. Returns its time.
    fn interval(&mut self) -> Duration {
        self.now += 500;
        for i in 0..BEATS {
            let at = (self.now as u32 / 500 * BEATS + i) % NODES;
            self.beat(at, 1);
        }
        self.events.push(Event::Tick);
        self.step()
    }

    /// The least time of a few requests for a page that lists `count` things under `key`.
    fn page(&mut self, request: &Value, key: &str, count: usize) -> f64 {
        let once = |load: &mut Load| {
            let started = Instant::now();
            let reply = load.engine.request(load.now, request).expect("a page");
            let took = started.elapsed();
            assert_eq!(reply[key].as_array().map(Vec::len), Some(count));
            took
        };
        sorted_us((0..PAGES).map(|_| once(self)).collect())[0]
    }

    /// Replaces the configuration by the same, then lets time pass: the digest then shows if
    /// something became of it.
    fn reload(&mut self, name: &str) -> f64 {
        let order = name.trim_end_matches(WITH_GOALS);
        let request = json!({"op": "reload", "config": config(order)});
        let started = Instant::now();
        self.engine.request(self.now, &request).expect("reloaded");
        let took = started.elapsed();
        for _ in 0..4 {
            self.interval();
        }
        took.as_secs_f64() * 1e6
    }
}

fn config(order: &str) -> Value {
    let queue = |at: u32| json!({"path": format!("root.g{}.q{at}", at / 100)});
    json!({
        "policy": {"share": "fair", "order": order, "place": "delay"},
        "heartbeat_fill": 1.0,
        "queues": (0..QUEUES).map(queue).collect::<Vec<_>>(),
    })
}

/// Goals come one after the other.
fn goal(job: u32) -> Event {
    let hints = JobHints {
        deadline_ms: Some(GOAL_MS + Millis::from(job)),
        ..JobHints::default()
    };
    Event::JobHints {
        job: JobId(job),
        hints,
    }
}

/// Numbers racks after the hosts.
fn rack_of(node: u32) -> PlaceId {
    rack_place(node % RACKS + NODES)
}
