//! A virtual cluster whose maps have data on hosts: nodes of equal slots report in turn, tasks take
//! known lengths, ApplicationMasters ask and take back as MapReduce's do. Notes how long asks are
//! kept from room that they could have used.

use super::{Host, host_of, plain_ask, rack_place, row};
use heddle_core::model::job::Standing;
use heddle_core::words::event::Event;
use heddle_core::words::ids::*;
use heddle_core::words::keys::OrderKey;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Time between two reports of a node.
pub const ROUND_MS: Millis = 1_000;
const SIZE_MB: i64 = 1_024;

/// Nodes of equal slots, spread over racks in blocks.
#[derive(Clone, Copy, Debug)]
pub struct Yard {
    pub nodes: u32,
    pub racks: u32,
    pub slots: u32,
}

impl Yard {
    pub fn rack(&self, node: u32) -> u32 {
        node * self.racks / self.nodes
    }
}

/// A job of maps. Those of `asks` are in one ask each; a map lists the nodes with its data, or none
/// if it runs anywhere.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    pub at_ms: Millis,
    pub user: String,
    pub length_ms: Millis,
    /// By how much more at most a map takes, one after the other more or less.
    pub jitter_ms: Millis,
    pub asks: Vec<Vec<Vec<u32>>>,
}

impl Maps {
    pub fn new(length_ms: Millis, maps: Vec<Vec<u32>>) -> Maps {
        Maps {
            length_ms,
            user: "ann".to_string(),
            asks: vec![maps],
            ..Maps::default()
        }
    }

    pub fn of(self, user: &str) -> Maps {
        Maps {
            user: user.to_string(),
            ..self
        }
    }

    pub fn at(self, at_ms: Millis) -> Maps {
        Maps { at_ms, ..self }
    }
}

/// What became of the jobs.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// By job: when its last map began and ended, from its submission.
    pub last_began_ms: Vec<Option<Millis>>,
    pub took_ms: Vec<Option<Millis>>,
    /// Maps with data by distance to it: node, rack, elsewhere.
    pub near: [u32; 3],
    /// The longest time for which an ask insisted on places and was kept from room, and that ask.
    pub kept: (Millis, (u32, u32)),
    /// The last end.
    pub ended_ms: Millis,
}

impl Outcome {
    pub fn local_percent(&self) -> f64 {
        let all: u32 = self.near.iter().sum();
        f64::from(self.near[0]) * 100.0 / f64::from(all.max(1))
    }

    pub fn mean_ms(&self) -> f64 {
        let took = self.took_ms.iter().flatten();
        took.sum::<Millis>() as f64 / self.took_ms.len() as f64
    }
}

struct Play<'a> {
    yard: Yard,
    host: Host,
    jobs: &'a [Maps],
    /// Maps that wait, by job and ask.
    waiting: BTreeMap<(u32, u32), Vec<Vec<u32>>>,
    waiting_of: Vec<usize>,
    left: Vec<usize>,
    running: Vec<(Millis, u32, u64, u32)>,
    kept_since: BTreeMap<(u32, u32), Millis>,
    started: Millis,
    outcome: Outcome,
}

/// Plays the jobs until all have ended, or until `most_ms`. With `offers`, asks are served at once
/// where there is room.
pub fn play(yard: Yard, config: Value, jobs: &[Maps], offers: bool, most_ms: Millis) -> Outcome {
    let mut host = Host::new(config);
    for node in 0..yard.nodes {
        let slots = i64::from(yard.slots);
        host.node(yard.rack(node), slots * SIZE_MB, slots);
    }
    let count = |job: &Maps| job.asks.iter().map(Vec::len).sum();
    let counts: Vec<usize> = jobs.iter().map(count).collect();
    let mut play = Play {
        yard,
        host,
        jobs,
        waiting: BTreeMap::new(),
        waiting_of: counts.clone(),
        left: counts,
        running: Vec::new(),
        kept_since: BTreeMap::new(),
        started: 0,
        outcome: Outcome {
            last_began_ms: vec![None; jobs.len()],
            took_ms: vec![None; jobs.len()],
            ..Outcome::default()
        },
    };
    let mut submitted = 0;
    for round in 0.. {
        let start_ms = round * ROUND_MS;
        if start_ms > most_ms || play.left.iter().all(|left| *left == 0) {
            break;
        }
        for node in 0..yard.nodes {
            play.host.now = start_ms + i64::from(node) * ROUND_MS / i64::from(yard.nodes);
            if node == 0 || node == yard.nodes / 2 {
                play.host.tick();
            }
            while jobs
                .get(submitted)
                .is_some_and(|job| job.at_ms <= play.host.now)
            {
                play.submit(submitted as u32, offers);
                submitted += 1;
            }
            play.report(node);
        }
    }
    play.outcome
}

impl Play<'_> {
    fn submit(&mut self, job: u32, offers: bool) {
        let plan = &self.jobs[job as usize];
        let queue = self.host.queue(&plan.user, None);
        self.host.job(job, queue);
        for (ask, maps) in plan.asks.iter().enumerate() {
            let id = (job, ask as u32);
            self.waiting.insert(id, maps.clone());
            self.tell(id, maps.iter().flatten().copied().collect());
        }
        if offers {
            let grants = self.host.offer_unanswered(job);
            grants.into_iter().for_each(|grant| self.start(grant));
        }
    }

    /// Tells the engine the counts of an ask: in all, and on these nodes and their racks.
    fn tell(&mut self, id: (u32, u32), nodes: BTreeSet<u32>) {
        let (job, ask) = id;
        let maps = &self.waiting[&id];
        let mut facts = plain_ask(job, ask, maps.len() as u32, SIZE_MB);
        facts.priority = 20 + ask as i32;
        self.host.ask_facts(facts);
        let mut rows = Vec::new();
        let count = |holds: &dyn Fn(u32) -> bool| {
            maps.iter()
                .filter(|map| map.iter().any(|node| holds(*node)))
                .count() as u32
        };
        let racks: BTreeSet<u32> = nodes.iter().map(|node| self.yard.rack(*node)).collect();
        for node in nodes {
            rows.push(row(job, ask, host_of(node), count(&|other| other == node)));
        }
        for rack in racks {
            let here = |node| self.yard.rack(node) == rack;
            rows.push(row(job, ask, rack_place(rack), count(&here)));
        }
        self.host.step(&rows);
    }

    fn report(&mut self, node: u32) {
        let now = self.host.now;
        let ended = |task: &(Millis, u32, u64, u32)| task.0 <= now && task.3 == node;
        for (_, job, key, _) in self
            .running
            .extract_if(.., |task| ended(task))
            .collect::<Vec<_>>()
        {
            self.host.complete(job, key);
            self.left[job as usize] -= 1;
            if self.left[job as usize] == 0 {
                let took_ms = now - self.jobs[job as usize].at_ms;
                self.outcome.took_ms[job as usize] = Some(took_ms);
                self.outcome.ended_ms = now;
                self.host.step(&[Event::JobRemoved(JobId(job))]);
            }
        }
        // Keys are renewed before a search, and here by any request to the market, there or not.
        let _ = self.host.engine.request(now, &json!({"op": "accounts"}));
        let ranks = self.ranks();
        let grants = self.host.beat_unanswered(node);
        let first = grants.first().map(|grant| ranks[&(grant.job, grant.ask)]);
        let served: BTreeSet<(u32, u32)> = grants.iter().map(|it| (it.job, it.ask)).collect();
        grants.into_iter().for_each(|grant| self.start(grant));
        let room = self.host.room_mb(node) >= SIZE_MB;
        for (id, (leaf, key, job)) in ranks {
            let overtaken =
                first.is_some_and(|first| first.0 == leaf && (key, job) < (first.1, first.2));
            if served.contains(&id) || !self.insists(id) {
                self.kept_since.remove(&id);
            } else if room || overtaken {
                let since = *self.kept_since.entry(id).or_insert(now);
                self.outcome.kept = self.outcome.kept.max((now - since, id));
            }
        }
    }

    /// Whether an ask waits for places that it names.
    fn insists(&self, (job, ask): (u32, u32)) -> bool {
        let job = self.host.engine.cluster().job(JobId(job));
        let ask = job.and_then(|job| job.ask(AskId(ask)));
        ask.is_some_and(|ask| ask.standing == Standing::Locked)
    }

    /// The asks that stand in the backlog: leaf, and place in its order.
    fn ranks(&self) -> BTreeMap<(u32, u32), (u32, OrderKey, u32)> {
        let mut ranks = BTreeMap::new();
        for job in self.host.engine.cluster().jobs() {
            for ask in job.pending().filter(|ask| ask.standing != Standing::Out) {
                let kind = job.kind(ask.facts.priority) as usize;
                let id = (job.facts.job.0, ask.facts.ask.0);
                ranks.insert(id, (job.leaf.0, job.order_keys[kind], id.0));
            }
        }
        ranks
    }

    fn start(&mut self, grant: super::Grant) {
        let now = self.host.now;
        let id = (grant.job, grant.ask);
        let waiting = self.waiting.get_mut(&id).expect("it asked");
        let rack = self.yard.rack(grant.node);
        let on_rack = |map: &Vec<u32>| map.iter().any(|node| self.yard.rack(*node) == rack);
        let at = waiting
            .iter()
            .position(|map| map.contains(&grant.node))
            .or_else(|| waiting.iter().position(on_rack))
            .unwrap_or(0);
        let map = waiting.remove(at);
        if !map.is_empty() {
            let far = [map.contains(&grant.node), on_rack(&map)];
            let level = far.iter().position(|near| *near).unwrap_or(2);
            self.outcome.near[level] += 1;
        }
        let plan = &self.jobs[grant.job as usize];
        self.waiting_of[grant.job as usize] -= 1;
        if self.waiting_of[grant.job as usize] == 0 {
            self.outcome.last_began_ms[grant.job as usize] = Some(now - plan.at_ms);
        }
        self.started += 1;
        let more_ms = self.started * 7_919 % plan.jitter_ms.max(1);
        let ends_ms = now + plan.length_ms + more_ms;
        let key = self.host.commit(grant);
        self.running.push((ends_ms, grant.job, key, grant.node));
        self.tell(id, map.into_iter().collect());
    }
}

/// Small random numbers (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % u64::from(end.max(1))) as u32
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize]
    }

    /// Three replicas as HDFS places them: one anywhere, two in another rack.
    pub fn replicas(&mut self, yard: &Yard) -> Vec<u32> {
        let first = self.below(yard.nodes);
        let away = |node: &u32| yard.racks == 1 || yard.rack(*node) != yard.rack(first);
        let others: Vec<u32> = (0..yard.nodes)
            .filter(away)
            .filter(|node| *node != first)
            .collect();
        let mut map = vec![first];
        if let Some(second) = (!others.is_empty()).then(|| self.pick(&others)) {
            map.push(second);
            let rack = yard.rack(second);
            let near: Vec<u32> = others
                .into_iter()
                .filter(|node| *node != second && yard.rack(*node) == rack)
                .collect();
            map.extend((!near.is_empty()).then(|| self.pick(&near)));
        }
        map
    }
}
