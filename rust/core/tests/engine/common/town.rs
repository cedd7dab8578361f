//! A cluster that runs by itself: ApplicationMasters that ask again for tasks that were taken back,
//! tasks that last for ever or for a known time, nodes that report every second. For tests that
//! watch what many rounds lead to.
#![allow(dead_code, unreachable_pub)]

use super::{host_of, rack_place};
use heddle_core::words::event::*;
use heddle_core::words::ids::*;
use heddle_core::{Decision, Engine, Resource, Setup};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Time between two reports of a node.
pub const ROUND_MS: Millis = 1_000;

/// What a job asks for at one priority.
#[derive(Clone, Debug)]
pub struct Demand {
    pub size: Resource,
    /// How many containers are asked for and do not run.
    pub waiting: u32,
    /// How long a task takes; none: for ever.
    pub length_ms: Option<Millis>,
    pub label: u32,
    pub priority: i32,
    pub am: bool,
    /// The nodes that hold its data.
    pub near: Vec<u32>,
}

/// A running container.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    pub job: u32,
    pub ask: usize,
    pub node: u32,
    pub size: Resource,
    pub ends_ms: Option<Millis>,
}

/// A container that was taken back.
struct Made {
    job: u32,
    size: Resource,
    decided_ms: Millis,
}

/// See the module.
pub struct Town {
    pub engine: Engine,
    pub now: Millis,
    pub free: Vec<Resource>,
    pub labels: Vec<u32>,
    pub demands: BTreeMap<u32, Vec<Demand>>,
    pub running: BTreeMap<u64, Running>,
    /// Containers on their way out, with the time when they end.
    going: BTreeMap<u64, Millis>,
    next_key: u64,
    /// How many containers were taken back, by job.
    pub kills: BTreeMap<u32, u32>,
    /// By node: each container that was taken back, until the next ones there have got its room.
    made: BTreeMap<u32, VecDeque<Made>>,
    /// How many were taken back in vain: their own job got the room, and no room came by chance.
    pub vain: u32,
    /// By node: the room of tasks that ended by themselves and when, until others have got it.
    ended: BTreeMap<u32, Vec<(Millis, Resource)>>,
    /// Of this the room that a job got while no other one wanted it. Nobody could know of it
    /// before: what had been taken back for that job was not needed any more.
    by_chance: Vec<(Millis, Resource)>,
    /// How many were granted, by job.
    pub grants: BTreeMap<u32, u32>,
    /// Tasks that have ended, by job.
    pub done: BTreeMap<u32, u32>,
    pub grace_ms: Millis,
}

impl Town {
    pub fn new(setup: &Value) -> Town {
        let setup = Setup::from_json(setup).unwrap_or_else(|error| panic!("{error:?}: {setup}"));
        Town {
            engine: Engine::new(setup).expect("a good setup"),
            now: 0,
            free: Vec::new(),
            labels: Vec::new(),
            demands: BTreeMap::new(),
            running: BTreeMap::new(),
            going: BTreeMap::new(),
            next_key: 1,
            kills: BTreeMap::new(),
            made: BTreeMap::new(),
            vain: 0,
            ended: BTreeMap::new(),
            by_chance: Vec::new(),
            grants: BTreeMap::new(),
            done: BTreeMap::new(),
            grace_ms: 1_000,
        }
    }

    /// Adds a node on its own rack of four.
    pub fn node(&mut self, size: Resource, label: u32) -> u32 {
        let node = self.free.len() as u32;
        self.free.push(size);
        self.labels.push(label);
        self.step(&[Event::NodeAdded(NodeFacts {
            node: NodeId(node),
            host: host_of(node),
            rack: rack_place(node / 4),
            partition: PartitionId(label),
            lends: false,
            schedulable: true,
            capacity: size,
            free: size,
        })]);
        node
    }

    pub fn submit(&mut self, job: u32, queue: &str, priority: i32, demands: Vec<Demand>) {
        let place = json!({"op": "place", "user": "u", "queue": queue});
        let reply = self.engine.request(self.now, &place).expect("a queue");
        let added = Event::JobAdded(JobFacts {
            job: JobId(job),
            queue: QueueId(reply["queue"].as_u64().expect("an id") as u32),
            user: UserId(job % 3),
            priority,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms: self.now,
        });
        self.step(&[added]);
        let count = demands.len();
        self.demands.insert(job, demands);
        (0..count).for_each(|ask| self.ask(job, ask));
    }

    /// Tells the engine what a job waits for.
    pub fn ask(&mut self, job: u32, ask: usize) {
        let demand = &self.demands[&job][ask];
        let facts = AskFacts {
            job: JobId(job),
            ask: AskId(ask as u32),
            count: demand.waiting,
            priority: demand.priority,
            partition: PartitionId(demand.label),
            relax: true,
            am: demand.am,
            update: false,
            resource: demand.size,
        };
        let mut events = vec![Event::Ask(facts)];
        let mut rows: BTreeMap<PlaceId, u32> = BTreeMap::new();
        for near in &demand.near {
            for place in [host_of(*near), rack_place(*near / 4)] {
                rows.insert(place, demand.waiting);
            }
        }
        events.extend(rows.into_iter().map(|(place, count)| Event::AskRow {
            job: JobId(job),
            ask: AskId(ask as u32),
            place,
            count,
            relax: true,
        }));
        self.step(&events);
    }

    fn step(&mut self, events: &[Event]) {
        let mut decisions = Vec::new();
        self.engine.step(self.now, events, 100_000, &mut decisions);
        let (mut acks, mut begun) = (Vec::new(), Vec::new());
        for decision in decisions {
            match decision {
                Decision::Grant {
                    job,
                    ask,
                    node,
                    seq,
                    ..
                } => {
                    let ask = ask.0 as usize;
                    let demands = self.demands.get_mut(&job.0).expect("it asks");
                    let demand = &mut demands[ask];
                    demand.waiting -= 1;
                    self.free[node.0 as usize] -= demand.size;
                    let key = self.next_key;
                    self.next_key += 1;
                    let started = Running {
                        job: job.0,
                        ask,
                        node: node.0,
                        size: demand.size,
                        ends_ms: demand.length_ms.map(|length| self.now + length),
                    };
                    self.running.insert(key, started);
                    *self.grants.entry(job.0).or_insert(0) += 1;
                    begun.push(started);
                    acks.push(Event::Ack { job, seq, key });
                }
                Decision::Evict { job, key, .. } => {
                    let known = self.running.get(&key).is_some_and(|run| run.job == job.0);
                    assert!(known, "an unknown container is taken back");
                    let before = self.going.insert(key, self.now + self.grace_ms);
                    assert!(before.is_none(), "a container is taken back twice");
                    *self.kills.entry(job.0).or_insert(0) += 1;
                }
                _ => {}
            }
        }
        self.note_room_taken(begun);
        if !acks.is_empty() {
            self.step(&acks);
        }
    }

    /// Lets half a second pass: containers end, the engine ticks, half of the nodes report.
    pub fn half(&mut self) {
        self.now += ROUND_MS / 2;
        let gone = self.going.iter().filter(|going| *going.1 <= self.now);
        let gone: Vec<(u64, Millis)> = gone.map(|(key, ends_ms)| (*key, *ends_ms)).collect();
        for (key, ends_ms) in gone {
            let decided_ms = ends_ms - self.grace_ms;
            self.going.remove(&key);
            let run = self.running[&key];
            let made = self.made.entry(run.node).or_default();
            made.push_back(Made {
                job: run.job,
                size: run.size,
                decided_ms,
            });
            self.end(key, false);
        }
        let ended = self
            .running
            .iter()
            .filter(|(_, run)| run.ends_ms.is_some_and(|ends_ms| ends_ms <= self.now));
        let ended: Vec<u64> = ended.map(|(key, _)| *key).collect();
        for key in ended {
            self.going.remove(&key);
            self.end(key, true);
        }
        self.step(&[Event::Tick]);
        let turn = (self.now / (ROUND_MS / 2) % 2) as u32;
        for node in (0..self.free.len() as u32).filter(|node| node % 2 == turn) {
            let free = self.free[node as usize];
            let node = NodeId(node);
            self.step(&[Event::Heartbeat { node, free }]);
        }
    }

    /// Notes who gets the room of containers that were taken back: other jobs first, as there may
    /// be more room than theirs.
    fn note_room_taken(&mut self, mut begun: Vec<Running>) {
        for own in [false, true] {
            begun.retain(|run| {
                let Some(made) = self.made.get_mut(&run.node) else {
                    return true;
                };
                let mut room = Resource::ZERO;
                while !run.size.fits_in(&room) {
                    let next = made.iter().position(|made| (made.job == run.job) == own);
                    let Some(taken) = next.and_then(|at| made.remove(at)) else {
                        break;
                    };
                    room += taken.size;
                    let own = own && !makes_up_for(&mut self.by_chance, &taken);
                    self.vain += u32::from(own);
                }
                room.is_zero()
            });
        }
        begun.iter().for_each(|run| self.note_chance(run));
    }

    /// Notes that a task took room which other tasks have left.
    fn note_chance(&mut self, run: &Running) {
        let ended = self.ended.entry(run.node).or_default();
        let (mut room, mut since_ms) = (Resource::ZERO, self.now);
        while !run.size.fits_in(&room) {
            let Some((at, size)) = ended.pop() else {
                return;
            };
            (room, since_ms) = (room + size, at);
        }
        let (label, left) = (self.labels[run.node as usize], self.free[run.node as usize]);
        let mut others = self.demands.iter().filter(|(job, _)| **job != run.job);
        let wanted = others.any(|(job, demands)| {
            let promised = self.engine.held_nodes().filter(|held| held.1.0 == *job);
            let promised = promised.count() as u32;
            let mut demands = demands.iter().filter(|demand| demand.label == label);
            demands.any(|demand| demand.waiting > promised && demand.size.fits_in(&run.size))
        });
        // What is left there as well shows that others wait for better places.
        if !wanted || run.size.fits_in(&left) {
            self.by_chance.push((since_ms, run.size));
        }
    }

    pub fn end(&mut self, key: u64, succeeded: bool) {
        let run = self.running.remove(&key).expect("it runs");
        self.free[run.node as usize] += run.size;
        self.step(&[Event::ContainerCompleted {
            job: JobId(run.job),
            key,
            exit: if succeeded { 0 } else { -102 },
        }]);
        if succeeded {
            let ended = self.ended.entry(run.node).or_default();
            ended.push((self.now, run.size));
            *self.done.entry(run.job).or_insert(0) += 1;
        } else if let Some(demands) = self.demands.get_mut(&run.job) {
            demands[run.ask].waiting += 1;
            self.ask(run.job, run.ask);
        }
    }

    /// Adds a node to those that a job does not want.
    pub fn shun(&mut self, job: u32, node: u32) {
        self.step(&[Event::Blacklist {
            job: JobId(job),
            place: host_of(node),
            added: true,
        }]);
    }

    /// Ends a job with its containers.
    pub fn remove(&mut self, job: u32) {
        self.demands.remove(&job);
        let own = self.running.iter().filter(|(_, run)| run.job == job);
        for key in own.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.going.remove(&key);
            self.end(key, false);
        }
        self.step(&[Event::JobRemoved(JobId(job))]);
    }

    pub fn pass(&mut self, seconds: Millis) {
        (0..2 * seconds).for_each(|_| self.half());
    }

    pub fn used(&self, job: u32) -> Resource {
        let own = self.running.values().filter(|run| run.job == job);
        own.fold(Resource::ZERO, |sum, run| sum + run.size)
    }

    pub fn killed(&self) -> u32 {
        self.kills.values().sum()
    }
}

/// Whether room has come by chance since a container was taken back, in place of its own.
fn makes_up_for(by_chance: &mut Vec<(Millis, Resource)>, taken: &Made) -> bool {
    let since = by_chance.iter().position(|(at, _)| *at > taken.decided_ms);
    since.is_some_and(|at| {
        let left = by_chance[at].1.minus_or_zero(&taken.size);
        match left.memory_mb() > 0 {
            true => by_chance[at].1 = left,
            false => drop(by_chance.remove(at)),
        }
        true
    })
}

/// Endless tasks of one size without a label.
pub fn endless(size: Resource, count: u32) -> Demand {
    Demand {
        size,
        waiting: count,
        length_ms: None,
        label: 0,
        priority: 20,
        am: false,
        near: Vec::new(),
    }
}

/// Numbers that a seed determines.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    pub fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    pub fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }
}

/// The seeds that a search plays: `HEDDLE_SEEDS` as one number or `from-to`, else the first few.
#[allow(
    clippy::disallowed_methods,
    reason = "the size of a run is no input of the engine"
)]
pub fn seeds(few: u64) -> std::ops::RangeInclusive<u64> {
    let Ok(seeds) = std::env::var("HEDDLE_SEEDS") else {
        return 1..=few;
    };
    let number = |text: &str| text.trim().parse().expect("HEDDLE_SEEDS: a number or a-b");
    match seeds.split_once('-') {
        Some((from, to)) => number(from)..=number(to),
        None => number(&seeds)..=number(&seeds),
    }
}
