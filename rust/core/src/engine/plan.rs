//! Tries another configuration: an engine of its own gets the same jobs and containers, then the
//! configuration, and goes on for a while. Its decisions go nowhere.

mod changes;

use super::control::{RequestError, refused};
use super::{Engine, TICK_MS};
use crate::config::{Config, QueueConfig, State};
use crate::model::job::{Authority, Job};
use crate::model::queue::Queue;
use crate::setup::Setup;
use crate::words::event::{ContainerFacts, Decision, Event, JobFacts};
use crate::words::ids::{JobId, Millis, QueueId};
use crate::words::resource::Resource;
use changes::{Counts, differences, in_queue, of_all};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How far a plan looks ahead for containers that would be taken back: policies wait for their
/// timeouts first, of half a minute in most files.
const AHEAD_MS: Millis = 120_000;
/// Decisions of a step: headrooms, and containers taken back.
const DECISIONS_MAX: usize = 1 << 16;

/// A copy of the engine's state for a plan, so that the engine need not wait for it.
#[derive(Debug)]
pub struct Draft {
    setup: Setup,
    stages: [Value; 3],
    accounts: Option<Value>,
    now: Millis,
    /// The request as a reload, with the engine's numbers of users and labels.
    reload: Value,
    nodes: Vec<Event>,
    jobs: Vec<(String, JobFacts)>,
    containers: Vec<Event>,
    asks: Vec<Event>,
    authorities: Vec<(JobId, Authority)>,
}

/// The state of an engine, as events for another one: without the places that asks name, and
/// without the lessons of policies.
#[derive(Debug)]
pub struct Books {
    /// Its nodes.
    pub nodes: Vec<Event>,
    /// Its jobs, each with the path of its queue.
    pub jobs: Vec<(String, JobFacts)>,
    /// The containers of its jobs, grants in flight left out.
    pub containers: Vec<Event>,
    /// The asks and the hints of its jobs.
    pub asks: Vec<Event>,
    /// The paths of its queues.
    pub queues: Vec<(QueueId, String)>,
}

/// A queue before or after the change.
#[derive(Debug)]
struct Row {
    fair_share: Resource,
    limits: [Value; 4],
    jobs: u32,
    draining: bool,
    state: State,
    stays_stopped: bool,
    config: QueueConfig,
}

impl Engine {
    /// Copies what `Draft::work_out` needs to say what `request` (`config`, `allocations`) would
    /// change. Leaves out the places that asks name: they decide where, not who.
    pub fn draft(&self, request: &Value) -> Draft {
        let mut reload = request.clone();
        if let Some(keys) = reload.as_object_mut() {
            keys.insert("op".to_string(), json!("reload"));
            let config = &self.setup.config;
            let users = config.users.numbers();
            let users: Map<_, _> = users
                .map(|(n, name)| (name.to_string(), json!(n.0)))
                .collect();
            let labels = config.labels.iter();
            let labels: Map<_, _> = labels.map(|(n, name)| (name.clone(), json!(n.0))).collect();
            keys.insert("users".to_string(), Value::Object(users));
            keys.insert("labels".to_string(), Value::Object(labels));
        }
        let jobs = self.cluster.jobs();
        let path = |id: QueueId| match self.cluster.queues.get(id) {
            Some(queue) => queue.config.path.clone(),
            None => "root".to_string(),
        };
        Draft {
            setup: self.setup.clone(),
            stages: self.save(),
            accounts: self.accounts.clone(),
            now: self.now,
            reload,
            nodes: self
                .cluster
                .nodes()
                .map(|node| Event::NodeAdded(node.facts))
                .collect(),
            jobs: jobs.map(|job| (path(job.facts.queue), job.facts)).collect(),
            containers: self.copied_containers(),
            asks: self.copied_asks(),
            authorities: self.copied_authorities(),
        }
    }

    /// Copies its state.
    pub fn books(&self) -> Books {
        let draft = self.draft(&Value::Null);
        let queues = self.cluster.queues.iter();
        Books {
            nodes: draft.nodes,
            jobs: draft.jobs,
            containers: draft.containers,
            asks: draft.asks,
            queues: queues
                .map(|queue| (queue.id, queue.config.path.clone()))
                .collect(),
        }
    }

    fn copied_containers(&self) -> Vec<Event> {
        let jobs = self.cluster.jobs();
        let all = jobs.flat_map(|job| job.containers.iter().map(move |(key, of)| (job, *key, of)));
        let facts = all.map(|(job, key, container)| ContainerFacts {
            job: job.facts.job,
            key,
            node: container.node,
            priority: container.priority,
            am: container.am,
            started_ms: container.started_ms,
            resource: container.resource,
        });
        facts.map(Event::ContainerAdded).collect()
    }

    fn copied_asks(&self) -> Vec<Event> {
        let hints = self.cluster.jobs().map(|job| Event::JobHints {
            job: job.facts.job,
            hints: job.hints,
        });
        let asks = self.cluster.jobs().flat_map(|job| job.pending());
        hints.chain(asks.map(|ask| Event::Ask(ask.facts))).collect()
    }

    fn copied_authorities(&self) -> Vec<(JobId, Authority)> {
        let jobs = self.cluster.jobs();
        jobs.filter_map(|job| Some((job.facts.job, job.authority?)))
            .collect()
    }

    /// A queue before and after the change; none if nothing differs.
    fn changed_row(
        &self,
        path: &str,
        (old, new): (Option<&Row>, Option<&Row>),
        counts: Counts,
    ) -> Option<Value> {
        let mut changes = Vec::new();
        if let (Some(old), Some(new)) = (old, new) {
            if old.state != new.state {
                let [before, after] = [old, new].map(|row| json!(row.state.name()));
                changes.push(("state".to_string(), before, after));
            }
            if old.config != new.config {
                let differ = differences(&self.setup.resource_types, &old.config, &new.config);
                let state_known = changes.len();
                let more = |one: &(String, Value, Value)| state_known == 0 || one.0 != "state";
                changes.extend(differ.into_iter().filter(more));
            }
            let same = old.fair_share == new.fair_share
                && old.limits == new.limits
                && old.draining == new.draining;
            if same && changes.is_empty() && counts.taken == 0 {
                return None;
            }
        }
        let stays = new.is_some_and(|row| row.stays_stopped);
        let changes = changes.into_iter().map(|one| in_queue(one, stays, &counts));
        Some(json!({
            "path": path,
            "change": change(old, new),
            "changes": changes.collect::<Vec<_>>(),
            "jobs": old.or(new).map_or(0, |row| row.jobs),
            "running": counts.running,
            "waiting": counts.waiting,
            "fair_share": pair(old, new, |row| self.amounts(&row.fair_share)),
            "weight": pair(old, new, |row| row.limits[0].clone()),
            "min_share": pair(old, new, |row| row.limits[1].clone()),
            "max_share": pair(old, new, |row| row.limits[2].clone()),
            "max_running_jobs": pair(old, new, |row| row.limits[3].clone()),
            "taken_back": counts.taken,
        }))
    }

    /// The jobs that a limit keeps from starting.
    fn held(&self) -> BTreeSet<JobId> {
        let held = |job: &&Job| !job.runnable || job.master_held;
        let jobs = self.cluster.jobs().filter(held);
        jobs.map(|job| job.facts.job).collect()
    }

    /// The path of a job's queue.
    fn path_of(&self, id: JobId) -> &str {
        let queue = self.cluster.job(id).map(|job| job.facts.queue);
        let queue = queue.and_then(|queue| self.cluster.queues.get(queue));
        queue.map_or("", |queue| &queue.config.path)
    }

    /// How many jobs run and wait in each queue and below it.
    fn counts(&self) -> BTreeMap<&str, Counts> {
        let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
        for job in self.cluster.jobs() {
            let runs = !job.containers.is_empty();
            for queue in self.cluster.queues.path_up(job.facts.queue) {
                let of = counts.entry(&queue.config.path).or_default();
                of.running += u32::from(runs);
                of.waiting += u32::from(!runs);
            }
        }
        counts
    }

    /// The queues by path.
    fn rows(&mut self) -> BTreeMap<String, Row> {
        self.entitle();
        let row = |queue: &Queue| Row {
            fair_share: self.fair_share(queue.id),
            limits: [
                json!(queue.config.weight),
                self.amounts(&queue.min_share),
                self.amounts(&queue.max_share.component_min(&self.cluster.capacity)),
                json!(queue.max_running_jobs()),
            ],
            jobs: queue.jobs,
            draining: queue.draining,
            state: self.cluster.queues.state(queue.id),
            stays_stopped: queue.stays_stopped(),
            config: queue.config.clone(),
        };
        let queues = self.cluster.queues.iter();
        queues
            .map(|queue| (queue.config.path.clone(), row(queue)))
            .collect()
    }
}

impl Draft {
    /// Tries the configuration, and says what it changes: stages, queues, and the containers that
    /// would be taken back within `AHEAD_MS` if nothing ended.
    ///
    /// # Errors
    /// What is wrong with the configuration, as a reload would say it.
    pub fn work_out(self) -> Result<Value, RequestError> {
        let mut engine = self.copy()?;
        let (before, held) = (engine.rows(), engine.held());
        let config_before = engine.setup.config.clone();
        engine.request(self.now, &self.reload)?;
        let after = engine.rows();
        let still_held = engine.held();
        let taken = look_ahead(&mut engine, self.now);
        let mut counts = engine.counts();
        for id in held.difference(&still_held) {
            let path = engine.path_of(*id);
            counts.entry(path).or_default().may_start += 1;
        }
        for (job, _) in &taken {
            counts.entry(engine.path_of(*job)).or_default().taken += 1;
        }
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let row = |path: &&String| {
            let pair = (before.get(*path), after.get(*path));
            let counts = counts.get(path.as_str()).copied().unwrap_or_default();
            engine.changed_row(path, pair, counts)
        };
        let stages = |config: &Config| {
            let of = &config.composition;
            json!([of.share, of.order, of.place])
        };
        let config = &engine.setup.config;
        let mut all = counts.get("root").copied().unwrap_or_default();
        all.may_start = counts.values().map(|of| of.may_start).sum();
        all.taken = taken.len() as u32;
        Ok(json!({
            "before": stages(&config_before),
            "after": stages(config),
            "settings": differences(&engine.setup.resource_types, &config_before, config)
                .into_iter().map(|one| of_all(one, &all)).collect::<Vec<_>>(),
            "queues": paths.iter().filter_map(row).collect::<Vec<_>>(),
            "taken_back": taken.len(),
            "ahead_ms": AHEAD_MS,
        }))
    }

    /// An engine like the one that was copied.
    fn copy(&self) -> Result<Engine, RequestError> {
        let mut engine = Engine::new(self.setup.clone()).map_err(refused)?;
        engine.share.load(&self.stages[0]);
        engine.order.load(&self.stages[1]);
        engine.place.load(&self.stages[2]);
        engine.accounts.clone_from(&self.accounts);
        let mut numbers = BTreeMap::new();
        let mut events = self.nodes.clone();
        for (path, facts) in &self.jobs {
            if !numbers.contains_key(path) {
                let place = json!({"op": "place", "user": "plan", "queue": path,
                                   "recovering": true});
                let reply = engine.request(self.now, &place)?;
                let number = reply["queue"].as_u64().unwrap_or(0) as u32;
                numbers.insert(path.clone(), QueueId(number));
            }
            let queue = numbers[path];
            events.push(Event::JobAdded(JobFacts { queue, ..*facts }));
        }
        events.extend(self.containers.iter().copied());
        events.extend(self.asks.iter().copied());
        // Several events of one step see each other's effects, as in a rebuild.
        engine.step(self.now, &events, DECISIONS_MAX, &mut Vec::new());
        // The stage takes up the spending of a job with its containers, as in a reload.
        for (job, authority) in &self.authorities {
            engine.set_authority(*job, *authority);
        }
        Ok(engine)
    }
}

/// Returns the containers that ticks take back until `AHEAD_MS` have passed.
fn look_ahead(engine: &mut Engine, now: Millis) -> BTreeSet<(JobId, u64)> {
    let mut taken = BTreeSet::new();
    let mut decisions = Vec::new();
    for at in (now..=now + AHEAD_MS).step_by(TICK_MS as usize) {
        decisions.clear();
        engine.step(at, &[Event::Tick], DECISIONS_MAX, &mut decisions);
        taken.extend(decisions.iter().filter_map(|decision| match decision {
            Decision::Evict { job, key, .. } => Some((*job, *key)),
            _ => None,
        }));
    }
    taken
}

fn change(before: Option<&Row>, after: Option<&Row>) -> &'static str {
    match (before, after) {
        (None, _) => "new",
        (_, None) => "gone",
        (Some(before), Some(after)) if !before.draining && after.draining => "drains",
        _ => "kept",
    }
}

fn pair(before: Option<&Row>, after: Option<&Row>, of: impl Fn(&Row) -> Value) -> Value {
    json!([before.map(&of), after.map(&of)])
}
