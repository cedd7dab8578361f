//! The shadow: hears the live engine's events and decisions, and lets its own engine decide.

mod containers;

use crate::demand::Demand;
use crate::difference::Differences;
use crate::job::{Job, Master, Times};
use crate::nodes::Nodes;
use crate::usage::Usage;
use heddle_core::engine::Books;
use heddle_core::words::event::{AskFacts, Decision, Event, JobFacts};
use heddle_core::words::exit::LOST;
use heddle_core::words::ids::{
    AskId, ContainerKey, JobId, Locality, Millis, NodeId, QueueId, UserId,
};
use heddle_core::{ConfigError, Engine, Setup};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Decisions of one step, and steps of one heartbeat, as in the shim.
const DECISIONS_MAX: usize = 1_024;
const ROUNDS_MAX: usize = 8;
/// Keys of the shadow's own containers begin here: live ones are YARN's numbers.
const KEYS: ContainerKey = 1 << 62;

/// A grant of the live engine that its host has not answered.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    ask: AskId,
    node: NodeId,
    locality: Locality,
}

/// The second engine and its world. See the crate's description.
pub struct Shadow {
    pub(crate) engine: Engine,
    pub(crate) since_ms: Millis,
    pub(crate) now_ms: Millis,
    nodes: Nodes,
    /// By the shadow's own numbers: the live engine reuses those of ended jobs.
    pub(crate) jobs: BTreeMap<JobId, Job>,
    numbers: BTreeMap<JobId, JobId>,
    spare: BTreeSet<JobId>,
    /// Ids of applications, by the live numbers that their jobs will have.
    applications: BTreeMap<JobId, String>,
    /// Paths of the live queues.
    paths: BTreeMap<QueueId, String>,
    /// The candidate's queue for a live queue and a user.
    placed: BTreeMap<(QueueId, UserId), QueueId>,
    in_flight: BTreeMap<u64, InFlight>,
    /// Containers that end at a known time, and those that were told to go.
    due: BTreeSet<(Millis, JobId, ContainerKey)>,
    kills: BTreeSet<(Millis, JobId, ContainerKey)>,
    /// Jobs whose ApplicationMaster has started in the shadow and not asked yet.
    masters: BTreeSet<JobId>,
    next_key: ContainerKey,
    pending: Vec<Event>,
    pub(crate) live: Usage,
    pub(crate) usage: Usage,
    pub(crate) differences: Differences,
    /// Jobs that the candidate's rules would have refused.
    pub(crate) refused: u64,
}

impl Shadow {
    /// Begins with the candidate's setup and what the live engine has. What runs stays where it is
    /// in both worlds.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn new(setup: Setup, books: &Books, now_ms: Millis) -> Result<Shadow, ConfigError> {
        let mut shadow = Shadow {
            engine: Engine::new(setup)?,
            since_ms: now_ms,
            now_ms,
            nodes: Nodes::default(),
            jobs: BTreeMap::new(),
            numbers: BTreeMap::new(),
            spare: BTreeSet::new(),
            applications: BTreeMap::new(),
            paths: books.queues.iter().cloned().collect(),
            placed: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            due: BTreeSet::new(),
            kills: BTreeSet::new(),
            masters: BTreeSet::new(),
            next_key: KEYS,
            pending: Vec::new(),
            live: Usage::default(),
            usage: Usage::default(),
            differences: Differences::default(),
            refused: 0,
        };
        shadow.begin(books);
        Ok(shadow)
    }

    fn begin(&mut self, books: &Books) {
        for event in &books.nodes {
            self.hear_one(event);
        }
        for (_, facts) in &books.jobs {
            self.hear_one(&Event::JobAdded(*facts));
            if let Some(job) = self.job_mut(facts.job) {
                job.before = true;
            }
        }
        for event in books.containers.iter().chain(&books.asks) {
            self.hear_one(event);
        }
        self.flush();
    }

    /// How many jobs have ended live and not here.
    pub fn unfinished(&self) -> usize {
        // Every number is of a job that has not ended live.
        self.jobs.len() - self.numbers.len()
    }

    /// Hears a frame: the events that the live engine got, then what it decided.
    pub fn hear(&mut self, now_ms: Millis, events: &[Event], decisions: &[Decision]) {
        self.now_ms = self.now_ms.max(now_ms);
        self.end_due();
        for event in events {
            self.hear_one(event);
        }
        for decision in decisions {
            self.hear_decision(decision);
        }
        self.flush();
    }

    /// Hears a request that the live engine answered: a submission is placed by the candidate's
    /// own rules.
    pub fn hear_request(&mut self, now_ms: Millis, request: &Value, reply: &Value) {
        self.now_ms = self.now_ms.max(now_ms);
        if request["op"] != "place" {
            return;
        }
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let Some(live) = number(&reply["queue"]).map(QueueId) else {
            return;
        };
        if let Some(path) = reply["path"].as_str() {
            self.paths.insert(live, path.to_string());
        }
        let Some(user) = number(&request["user_number"]).map(UserId) else {
            return;
        };
        let placed = self.engine.request(self.now_ms, request);
        match placed.ok().and_then(|placed| number(&placed["queue"])) {
            Some(queue) => self.placed.insert((live, user), QueueId(queue)),
            None => self.placed.remove(&(live, user)),
        };
    }

    /// Hears the id of an application before the event that adds its job. Reports name jobs by it:
    /// a number goes to another job after the end.
    pub fn hear_application(&mut self, live: JobId, application: String) {
        self.applications.insert(live, application);
    }

    fn hear_one(&mut self, event: &Event) {
        match event {
            Event::NodeAdded(facts) => {
                let facts = self.nodes.put(*facts);
                self.pending.push(Event::NodeAdded(facts));
            }
            Event::NodeChanged(facts) => {
                let facts = self.nodes.put(*facts);
                self.pending.push(Event::NodeChanged(facts));
            }
            Event::NodeRemoved(node) => self.lose_node(*node),
            Event::JobAdded(facts) => self.add_job(facts),
            Event::JobRemoved(job) => self.close_job(*job),
            Event::JobReset(job) => self.reset_job(*job),
            Event::Ask(facts) => self.ask(facts),
            Event::AskRow {
                job,
                ask,
                place,
                count,
                relax,
            } => {
                let demand = self.job_mut(*job).and_then(|job| job.asks.get_mut(ask));
                if let Some(demand) = demand {
                    demand.row(*place, *count, *relax);
                    self.tell_ask(*job, *ask);
                }
            }
            Event::ContainerAdded(facts) => self.add_container(facts),
            Event::ContainerCompleted { job, key, exit } => self.live_ended(*job, *key, *exit),
            Event::Ack { job, seq, key } => self.live_started(*job, *seq, *key),
            Event::Nack { seq, .. } => {
                self.in_flight.remove(seq);
            }
            Event::Tick => self.tick(),
            other => self.pass_on(other),
        }
    }

    /// Passes on events that mean the same in both worlds. Leaves out those about live containers,
    /// such as their progress and sizes.
    fn pass_on(&mut self, event: &Event) {
        let number = |job: &JobId| self.numbers.get(job).copied();
        let same = match *event {
            Event::JobHints { job, hints } => {
                number(&job).map(|job| Event::JobHints { job, hints })
            }
            Event::InputBlocks {
                job,
                racks,
                blocks,
                bytes,
            } => number(&job).map(|job| Event::InputBlocks {
                job,
                racks,
                blocks,
                bytes,
            }),
            Event::JobPriority { job, priority } => {
                number(&job).map(|job| Event::JobPriority { job, priority })
            }
            Event::Blacklist { job, place, added } => {
                number(&job).map(|job| Event::Blacklist { job, place, added })
            }
            Event::JobMoved { job, queue } => self.moved(job, queue),
            Event::NodeLoad { .. } | Event::RackTraffic { .. } | Event::Fault(_) => Some(*event),
            _ => None,
        };
        self.pending.extend(same);
    }

    fn moved(&mut self, job: JobId, live: QueueId) -> Option<Event> {
        let number = *self.numbers.get(&job)?;
        let path = self.paths.get(&live)?.clone();
        let queue = self.place_by_path(&path)?;
        let shadow_path = self.path_of(queue);
        let moved = self.jobs.get_mut(&number)?;
        for container in moved.containers.values() {
            self.usage
                .end(&moved.queue, &container.resource, self.now_ms);
            self.usage
                .start(&shadow_path, &container.resource, self.now_ms);
        }
        for container in moved.live_containers.values() {
            self.live
                .end(&moved.live_queue, &container.resource, self.now_ms);
            self.live.start(&path, &container.resource, self.now_ms);
        }
        (moved.live_queue, moved.queue) = (path, shadow_path);
        Some(Event::JobMoved { job: number, queue })
    }

    // ---- Jobs.

    fn add_job(&mut self, facts: &JobFacts) {
        let application = self.applications.remove(&facts.job);
        let live_queue = self.paths.get(&facts.queue).cloned().unwrap_or_default();
        let placed = self.placed.get(&(facts.queue, facts.user)).copied();
        let Some(queue) = placed.or_else(|| self.place_by_path(&live_queue)) else {
            self.refused += 1;
            return;
        };
        let number = self
            .spare
            .pop_first()
            .unwrap_or(JobId(self.jobs.len() as u32));
        self.numbers.insert(facts.job, number);
        let master = match facts.unmanaged_am {
            true => Master::Runs,
            false => Master::Waits,
        };
        let job = Job {
            live: facts.job,
            application,
            live_queue,
            queue: self.path_of(queue),
            submitted_ms: facts.submitted_ms,
            asks: BTreeMap::new(),
            live_containers: BTreeMap::new(),
            containers: BTreeMap::new(),
            keys: BTreeMap::new(),
            master,
            live_master_ms: None,
            live_asked_ms: None,
            times: Times::default(),
            live_times: Times::default(),
            before: false,
            closed: false,
        };
        self.jobs.insert(number, job);
        self.pending.push(Event::JobAdded(JobFacts {
            job: number,
            queue,
            ..*facts
        }));
    }

    /// The candidate's queue for a live path, which may not be there: then the nearest.
    fn place_by_path(&mut self, path: &str) -> Option<QueueId> {
        // Queues may come with it, so the engine must be at rest.
        self.flush();
        let place = json!({"op": "place", "user": "shadow", "queue": path, "recovering": true});
        let placed = self.engine.request(self.now_ms, &place).ok()?;
        let number = placed["queue"].as_u64()?;
        Some(QueueId(u32::try_from(number).ok()?))
    }

    fn path_of(&self, queue: QueueId) -> String {
        let queue = self.engine.cluster().queues.get(queue);
        queue.map_or_else(String::new, |queue| queue.config.path.clone())
    }

    fn job_mut(&mut self, live: JobId) -> Option<&mut Job> {
        self.jobs.get_mut(self.numbers.get(&live)?)
    }

    /// The live job ended. The shadow's goes on until it has done the same work.
    fn close_job(&mut self, live: JobId) {
        let Some(number) = self.numbers.remove(&live) else {
            return;
        };
        let job = self.jobs.get_mut(&number).expect("every number has a job");
        job.closed = true;
        for container in std::mem::take(&mut job.live_containers).into_values() {
            self.live
                .end(&job.live_queue, &container.resource, self.now_ms);
        }
        let mut asks = Vec::new();
        for demand in job.asks.values_mut() {
            demand.close();
            if job.master == Master::Runs || demand.facts.am {
                demand.events(number, &mut asks);
            }
        }
        self.pending.append(&mut asks);
        // What never ended live has no length: it is cut off here.
        let open: Vec<ContainerKey> = job
            .containers
            .iter()
            .filter(|(_, container)| !container.am && container.end_ms.is_none())
            .map(|(key, _)| *key)
            .collect();
        for key in open {
            self.ends_at(number, key, self.now_ms);
        }
        self.end_due();
        self.finish_if_done(number);
    }

    /// A new attempt: what ran of the old one counts for nothing, in both worlds.
    fn reset_job(&mut self, live: JobId) {
        let Some(&number) = self.numbers.get(&live) else {
            return;
        };
        let job = self.jobs.get_mut(&number).expect("every number has a job");
        job.asks.clear();
        for container in job.live_containers.values_mut() {
            container.of = None;
        }
        if job.master != Master::Runs || job.live_master_ms.is_some() {
            job.master = Master::Waits;
            (job.live_master_ms, job.live_asked_ms) = (None, None);
        }
        let keys: Vec<ContainerKey> = job.containers.keys().copied().collect();
        for key in keys {
            self.end(number, key, LOST, self.now_ms);
        }
        self.pending.push(Event::JobReset(number));
    }

    fn finish_if_done(&mut self, number: JobId) {
        if !self.jobs.get(&number).is_some_and(Job::is_done) {
            return;
        }
        let job = self.jobs.get(&number).expect("it was just found");
        let keys: Vec<ContainerKey> = job.containers.keys().copied().collect();
        for key in keys {
            self.end(number, key, 0, self.now_ms);
        }
        self.pending.push(Event::JobRemoved(number));
        let job = self.jobs.remove(&number).expect("it was just found");
        self.differences.ended(&job);
        // The engine may hear of the next job under this number in the same step.
        self.flush();
        self.spare.insert(number);
    }

    // ---- Asks.

    fn ask(&mut self, facts: &AskFacts) {
        let now_ms = self.now_ms;
        if facts.update {
            return;
        }
        let Some(job) = self.job_mut(facts.job) else {
            return;
        };
        let demand = job.asks.entry(facts.ask);
        demand.or_insert_with(|| Demand::new(*facts)).asks(*facts);
        if !facts.am && facts.count > 0 {
            job.live_asked_ms.get_or_insert(now_ms);
            if job.live_master_ms.is_none() && job.master == Master::Waits {
                // No ApplicationMaster was ever asked for: it runs elsewhere, or since before.
                job.master = Master::Runs;
            }
        }
        self.tell_ask(facts.job, facts.ask);
    }

    /// Tells the shadow's engine an ask, unless it waits for the ApplicationMaster.
    fn tell_ask(&mut self, live: JobId, ask: AskId) {
        let Some(&number) = self.numbers.get(&live) else {
            return;
        };
        let job = self.jobs.get(&number).expect("every number has a job");
        if let Some(demand) = job.asks.get(&ask)
            && (demand.facts.am || job.master == Master::Runs)
        {
            demand.events(number, &mut self.pending);
        }
    }

    /// Lets the ApplicationMasters ask that have run for as long as the live ones had.
    fn release_masters(&mut self) {
        let (now_ms, jobs, pending) = (self.now_ms, &mut self.jobs, &mut self.pending);
        self.masters.retain(|number| {
            let Some(job) = jobs.get_mut(number) else {
                return false;
            };
            let Master::Started { at_ms } = job.master else {
                return false;
            };
            let asks = job.lag_ms().is_some_and(|lag_ms| at_ms + lag_ms <= now_ms);
            if asks {
                job.master = Master::Runs;
                for demand in job.asks.values() {
                    demand.events(*number, pending);
                }
            }
            !asks
        });
    }

    // ---- The engine.

    fn tick(&mut self) {
        self.pending.push(Event::Tick);
        self.flush();
        for node in self.nodes.due(self.now_ms) {
            for _ in 0..ROUNDS_MAX {
                if self.engine.is_idle() {
                    return;
                }
                self.pending.extend(self.nodes.heartbeat(node));
                if !self.flush() {
                    break;
                }
            }
        }
    }

    /// Lets the engine decide on what has been collected, and starts what it grants. Returns
    /// whether a heartbeat had more decisions than a step may have.
    fn flush(&mut self) -> bool {
        let mut more = false;
        while !self.pending.is_empty() {
            let events = std::mem::take(&mut self.pending);
            let mut decisions = Vec::new();
            self.engine
                .step(self.now_ms, &events, DECISIONS_MAX, &mut decisions);
            more |= self.engine.more();
            for decision in &decisions {
                let answer = self.shadow_started(decision);
                self.pending.extend(answer);
                if let Decision::Evict {
                    job, key, grace_ms, ..
                } = *decision
                {
                    self.usage.preemptions += 1;
                    let at_ms = self.now_ms + Millis::from(grace_ms);
                    self.kills.insert((at_ms, job, key));
                }
            }
        }
        more
    }
}
