//! Heddle's own journal: the events of an engine, from which its decisions follow by a replay. One
//! that was recorded under another scheduler has that scheduler's containers as events instead, and
//! the numbers of queues and users in its requests. Only reads: no journal and no store is written.

use crate::clock::utc;
use crate::fault::Fault;
use crate::limits::{AMOUNT_MAX, JOBS_MAX, NODES_MAX, check_tasks, time};
use crate::model::{End, Job, Node, Task};
use heddle::frame;
use heddle::host::decided_by;
use heddle::journal::{EntryKind, JournalError, Reader};
use heddle::panics;
use heddle_core::words::event::{AskFacts, ContainerFacts, Decision, Event, JobFacts};
use heddle_core::words::exit::{ENDED_WELL, PREEMPTED};
use heddle_core::words::ids::{AskId, ContainerKey, JobId, Millis, NodeId, UserId};
use heddle_core::words::resource::Resource;
use heddle_core::{Engine, Setup};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

const REMEDY: &str = "expected a journal that this version recorded (`heddle.journal.path`); \
                      read it with the version that wrote it";
/// A journal cannot be split.
const TOO_MANY: &str = "`heddle replay` reads journals of any length; for a prediction, record a \
                        shorter time";

/// MapReduce's request priority of reduces.
const REDUCE_PRIORITY: i32 = 10;

/// What a journal says.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) jobs: Vec<Job>,
    pub(crate) nodes: BTreeMap<NodeId, Node>,
    /// Whether the journal ends in the middle of an entry.
    pub(crate) torn: bool,
    /// Containers of tasks that still ran when the journal or their job ended.
    pub(crate) running: u64,
    /// Containers of tasks that ended otherwise than well.
    pub(crate) badly: u64,
}

/// Reads a journal. Calls `tick` for each entry, with the bytes read so far.
///
/// # Errors
/// What is wrong with the journal, with its offset.
pub(crate) fn read<R: Read>(
    mut reader: Reader<R>,
    mut tick: impl FnMut(u64),
) -> Result<Recorded, Fault> {
    let failed = |error: JournalError| Fault::whole(error.to_string(), REMEDY);
    let first = reader.next_entry().map_err(failed)?;
    if first.is_none_or(|entry| entry.kind != EntryKind::Setup) {
        return Err(Fault::at(reader.place().offset, "expected a setup", REMEDY));
    }
    let mut replay = Replay::open(reader.payload())?;
    while let Some(entry) = reader.next_entry().map_err(failed)? {
        tick(reader.bytes());
        let offset = reader.place().offset;
        let at = |problem: String| Fault::at(offset, problem, REMEDY);
        match entry.kind {
            EntryKind::Frame => {
                replay.frame(reader.payload()).map_err(at)?;
                check_tasks(replay.ran)
                    .map_err(|fault| Fault::at(offset, fault.problem, TOO_MANY))?;
            }
            EntryKind::Request => replay.request(entry.now_ms, reader.payload()).map_err(at)?,
            _ => {}
        }
    }
    Ok(replay.finish(reader.torn()))
}

/// A container that runs.
#[derive(Debug)]
struct Running {
    kind: usize,
    started_ms: Millis,
    am: bool,
    size: Resource,
    /// When it got this size: what it held before is counted.
    since_ms: Millis,
    /// Whether an earlier engine started it: it only counts as held.
    is_older: bool,
}

/// A job whose history is being put together.
#[derive(Debug, Default)]
struct Open {
    job: Job,
    is_mapreduce: bool,
    asks: BTreeMap<AskId, AskFacts>,
    granted: BTreeMap<u64, AskId>,
    running: BTreeMap<ContainerKey, Running>,
    /// Start and end of the containers that ended well, by kind.
    ran: [Vec<(Millis, Millis)>; 2],
    user: UserId,
    has_rows: bool,
}

struct Replay {
    engine: Engine,
    /// Whether another scheduler decided: the engine hears nothing.
    is_foreign: bool,
    open: BTreeMap<JobId, Open>,
    recorded: Recorded,
    users: BTreeMap<u32, String>,
    queues: BTreeMap<u64, String>,
    events: Vec<Event>,
    decisions: Vec<Decision>,
    ran: usize,
    epoch_ms: Millis,
    now: Millis,
}

impl Replay {
    fn open(setup: &[u8]) -> Result<Replay, Fault> {
        let bad = |problem: String| Fault::at(16, format!("setup: {problem}"), REMEDY);
        let mut setup: Value =
            serde_json::from_slice(setup).map_err(|error| bad(crate::objects::said(&error)))?;
        let epoch_ms = setup["epoch_ms"].as_i64().map_or(0, time);
        let is_foreign = decided_by(&setup).is_some();
        if let Some(keys) = setup.as_object_mut() {
            keys.remove("journal");
            keys.remove("log_level");
        }
        let made = panics::catch(|| Setup::from_json(&setup).and_then(Engine::new));
        let engine = made.map_err(bad)?.map_err(|error| bad(error.to_string()))?;
        Ok(Replay {
            engine,
            is_foreign,
            open: BTreeMap::new(),
            recorded: Recorded::default(),
            users: BTreeMap::new(),
            queues: BTreeMap::new(),
            events: Vec::new(),
            decisions: Vec::new(),
            ran: 0,
            epoch_ms,
            now: 0,
        })
    }

    fn frame(&mut self, payload: &[u8]) -> Result<(), String> {
        let mut events = std::mem::take(&mut self.events);
        // A frame that the engine refused when it was recorded changed nothing.
        let Ok(header) = frame::decode(payload, &mut events) else {
            self.events = events;
            return Ok(());
        };
        self.now = self.now.max(time(header.now_ms));
        for event in &events {
            self.hear(event)?;
        }
        if !self.is_foreign {
            self.decide(header.now_ms, &events, header.decisions_max as usize)?;
        }
        self.events = events;
        Ok(())
    }

    fn decide(&mut self, now_ms: Millis, events: &[Event], most: usize) -> Result<(), String> {
        let mut decisions = std::mem::take(&mut self.decisions);
        decisions.clear();
        let engine = &mut self.engine;
        panics::catch(|| engine.step(now_ms, events, most, &mut decisions))
            .map_err(|panic| format!("the engine panicked: {panic}"))?;
        for decision in &decisions {
            self.decided(decision);
        }
        self.decisions = decisions;
        Ok(())
    }

    fn request(&mut self, now_ms: Millis, payload: &[u8]) -> Result<(), String> {
        let Ok(request) = serde_json::from_slice::<Value>(payload) else {
            return Ok(());
        };
        let engine = &mut self.engine;
        // Of a queue of another scheduler the request itself has the number.
        let reply = match self.is_foreign {
            true => Ok(json!({"queue": request["queue_number"], "path": request["queue"]})),
            false => panics::catch(|| engine.request(now_ms, &request))
                .map_err(|panic| format!("the engine panicked: {panic}"))?,
        };
        if self.is_foreign && request["op"] == "finished" {
            self.finished(&request);
        }
        let (Ok(reply), Some("place")) = (reply, request["op"].as_str()) else {
            return Ok(());
        };
        if let (Some(id), Some(path)) = (reply["queue"].as_u64(), reply["path"].as_str()) {
            self.queues.insert(id, path.to_string());
        }
        let number = request["user_number"]
            .as_u64()
            .and_then(|at| u32::try_from(at).ok());
        if let (Some(number), Some(user)) = (number, request["user"].as_str()) {
            self.users.insert(number, user.to_string());
        }
        Ok(())
    }

    /// What the ResourceManager says of an application's end; its ApplicationMaster's container may
    /// stay for seconds.
    fn finished(&mut self, request: &Value) {
        let id = request["job"]
            .as_u64()
            .and_then(|id| u32::try_from(id).ok());
        if let Some(open) = id.and_then(|id| self.open.get_mut(&JobId(id))) {
            open.job.finished_ms = request["finished_ms"].as_i64().map(time);
            if request["status"] != "SUCCEEDED" {
                open.job.end = End::Badly;
            }
        }
    }

    fn hear(&mut self, event: &Event) -> Result<(), String> {
        let now = self.now;
        match event {
            Event::NodeAdded(facts) | Event::NodeChanged(facts) => {
                let node = Node {
                    rack: format!("rack-{:05}", facts.rack.0),
                    host: format!("node-{:05}", facts.node.0),
                    capacity: Some(facts.capacity),
                };
                self.recorded.nodes.insert(facts.node, node);
                if self.recorded.nodes.len() > NODES_MAX {
                    return Err(format!("more than {NODES_MAX} nodes"));
                }
            }
            Event::JobAdded(facts) => self.submitted(facts),
            Event::JobRemoved(id) => self.close(*id, true)?,
            Event::Ask(facts) => {
                if let Some(open) = self.open.get_mut(&facts.job) {
                    open.asks.insert(facts.ask, *facts);
                }
            }
            Event::AskRow { job, .. } => {
                if let Some(open) = self.open.get_mut(job) {
                    open.has_rows = true;
                }
            }
            Event::Ack { job, seq, key } => {
                if let Some(open) = self.open.get_mut(job) {
                    open.started(*seq, *key, now);
                }
            }
            Event::ContainerAdded(facts) => {
                if let Some(open) = self.open.get_mut(&facts.job) {
                    let is_known = open.running.contains_key(&facts.key);
                    let started_ms = time(facts.started_ms);
                    match self.is_foreign {
                        _ if is_known => open.resized(facts.key, &facts.resource, now),
                        true => open.runs(facts, started_ms),
                        // Of an earlier engine, whose recording has the task.
                        false if started_ms <= open.job.submitted_ms => {
                            open.holds(facts, now, true);
                        }
                        // An opportunistic one until now: a task from its start, held from now on.
                        false => open.runs(facts, now),
                    }
                }
            }
            Event::ContainerResized { job, key, resource } => {
                if let Some(open) = self.open.get_mut(job) {
                    open.resized(*key, resource, now);
                }
            }
            Event::Nack { job, seq, .. } => {
                if let Some(open) = self.open.get_mut(job) {
                    open.granted.remove(seq);
                }
            }
            Event::ContainerCompleted { job, key, exit } => {
                if let Some(open) = self.open.get_mut(job) {
                    match open.ended(*key, *exit, now) {
                        Some(true) => self.ran += 1,
                        Some(false) => self.recorded.badly += 1,
                        None => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn submitted(&mut self, facts: &JobFacts) {
        // Most submissions to a queue that exists leave no request.
        let own = self.engine.cluster().queues.get(facts.queue);
        let own = own.filter(|_| !self.is_foreign);
        let queue = match own {
            Some(queue) => Some(queue.config.path.clone()),
            None => self.queues.get(&u64::from(facts.queue.0)).cloned(),
        };
        let job = Job {
            queue: Some(queue.unwrap_or_else(|| format!("queue-{}", facts.queue.0))),
            priority: facts.priority,
            // Heddle's own clock of a job begins when it learns of it.
            submitted_ms: match self.is_foreign {
                true => time(facts.submitted_ms),
                false => self.now,
            },
            preempted: Some(0),
            held: Some([0; 2]),
            ..Job::default()
        };
        let open = Open {
            job,
            is_mapreduce: facts.mapreduce,
            user: facts.user,
            ..Open::default()
        };
        self.open.insert(facts.job, open);
    }

    fn decided(&mut self, decision: &Decision) {
        if let Decision::Grant {
            job,
            ask,
            seq,
            locality,
            ..
        } = decision
            && let Some(open) = self.open.get_mut(job)
        {
            open.granted.insert(*seq, *ask);
            let is_map = open
                .asks
                .get(ask)
                .is_some_and(|facts| open.kind(facts.priority) == 0 && !facts.am);
            if open.has_rows && is_map {
                open.job.locality.get_or_insert([0; 3])[*locality as usize] += 1;
            }
        }
    }

    fn close(&mut self, id: JobId, is_ended: bool) -> Result<(), String> {
        let Some(open) = self.open.remove(&id) else {
            return Ok(());
        };
        let user = self.users.get(&open.user.0).cloned();
        let user = user.unwrap_or_else(|| format!("user-{}", open.user.0));
        let tasks = open.running.values();
        let tasks = tasks.filter(|run| !run.am && !run.is_older);
        self.recorded.running += tasks.count() as u64;
        let mut job = open.finish(self.now, is_ended);
        job.user = user;
        job.submitted_ms += self.epoch_ms;
        // A later job may have the same number.
        job.id = format!("job {} @{}", id.0, utc(job.submitted_ms));
        for at in [&mut job.started_ms, &mut job.finished_ms, &mut job.seen_ms]
            .into_iter()
            .flatten()
        {
            *at += self.epoch_ms;
        }
        self.recorded.jobs.push(job);
        match self.recorded.jobs.len() > JOBS_MAX {
            true => Err(format!("more than {JOBS_MAX} jobs")),
            false => Ok(()),
        }
    }

    fn finish(mut self, torn: bool) -> Recorded {
        let open: BTreeSet<JobId> = self.open.keys().copied().collect();
        for id in open {
            // Jobs beyond the limit are kept here: `Counted` refuses them.
            let _ = self.close(id, false);
        }
        self.recorded.torn = torn;
        self.recorded
    }
}

impl Open {
    fn kind(&self, priority: i32) -> usize {
        usize::from(self.is_mapreduce && priority == REDUCE_PRIORITY)
    }

    /// A grant became a container.
    fn started(&mut self, seq: u64, key: ContainerKey, now: Millis) {
        let ask = self
            .granted
            .remove(&seq)
            .and_then(|ask| self.asks.get(&ask));
        let Some(facts) = ask.copied() else {
            return;
        };
        let facts = ContainerFacts {
            job: facts.job,
            key,
            node: NodeId(0),
            priority: facts.priority,
            am: facts.am,
            started_ms: now,
            resource: facts.resource,
        };
        self.runs(&facts, now);
    }

    /// A container runs, and counts as held from `since_ms` on; where does not matter.
    fn runs(&mut self, facts: &ContainerFacts, since_ms: Millis) {
        let (started, kind) = (time(facts.started_ms), self.kind(facts.priority));
        self.job.started_ms.get_or_insert(started);
        if facts.am {
            self.job.master = Some(bounded(&facts.resource));
        } else {
            let running = || self.running.values().filter(|run| !run.is_older);
            if self.ran.iter().all(Vec::is_empty) && running().all(|run| run.am) {
                let since = running().map(|run| run.started_ms).min();
                self.job.start_ms = since.map_or(0, |since| started - since);
            }
            let size = bounded(&facts.resource);
            self.job.sizes[kind] = self.job.sizes[kind].component_max(&size);
        }
        self.holds(facts, since_ms, false);
    }

    /// Adds a running container, or replaces it.
    fn holds(&mut self, facts: &ContainerFacts, since_ms: Millis, is_older: bool) {
        let run = Running {
            kind: self.kind(facts.priority),
            started_ms: time(facts.started_ms),
            am: facts.am,
            size: bounded(&facts.resource),
            since_ms,
            is_older,
        };
        if let Some(before) = self.running.insert(facts.key, run) {
            self.held(&before, since_ms);
        }
    }

    /// A container grew or shrank. Its task began when the container began.
    fn resized(&mut self, key: ContainerKey, size: &Resource, now: Millis) {
        let Some(mut run) = self.running.remove(&key) else {
            return;
        };
        self.held(&run, now);
        run.since_ms = now.max(run.since_ms);
        run.size = bounded(size);
        if !run.am && !run.is_older {
            let sizes = &mut self.job.sizes[run.kind];
            *sizes = sizes.component_max(&run.size);
        }
        self.running.insert(key, run);
    }

    /// Adds what a container held at its size until now.
    fn held(&mut self, run: &Running, now: Millis) {
        let held_ms = (now - run.since_ms).max(0);
        let amounts = [run.size.memory_mb(), run.size.vcores()];
        let held = self.job.held.get_or_insert_default();
        for (held, amount) in held.iter_mut().zip(amounts) {
            *held = held.saturating_add(amount.saturating_mul(held_ms));
        }
    }

    /// A container ended. Returns whether it ended well, if it was a task's.
    fn ended(&mut self, key: ContainerKey, exit: i32, now: Millis) -> Option<bool> {
        let run = self.running.remove(&key)?;
        self.held(&run, now);
        if exit == PREEMPTED {
            self.job.preempted = Some(self.job.preempted.unwrap_or(0) + 1);
        }
        if run.am || run.is_older {
            return None;
        }
        let is_well = ENDED_WELL.contains(&exit);
        if is_well {
            self.ran[run.kind].push((run.started_ms, now));
        }
        Some(is_well)
    }

    fn finish(mut self, now: Millis, is_ended: bool) -> Job {
        for run in std::mem::take(&mut self.running).into_values() {
            self.held(&run, now);
        }
        let at = is_ended.then_some(now);
        let mapped = self.ran[0].iter().map(|(_, end)| *end).max().unwrap_or(0);
        for (kind, ran) in self.ran.iter().enumerate() {
            let since = if kind == 0 { 0 } else { mapped };
            let task = |(start, end): &(Millis, Millis)| Task {
                length_ms: (end - (*start).max(since)).max(0),
                hosts: Arc::default(),
            };
            self.job.tasks[kind] = ran.iter().map(task).collect();
        }
        let last = self.ran.iter().flatten().map(|(_, end)| *end).max();
        if let (Some(at), Some(said)) = (at, self.job.finished_ms) {
            self.job.linger_ms = (at - said).max(0);
        }
        let end = at.map(|at| self.job.finished_ms.unwrap_or(at));
        // Without tasks its ApplicationMaster does all the work, from its first container on.
        if let (Some(end), Some(last)) = (end, last.or(self.job.started_ms)) {
            self.job.commit_ms = (end - last).max(0);
        }
        self.job.finished_ms = end;
        if end.is_none() {
            self.job.end = End::Open;
            self.job.seen_ms = Some(now);
        }
        self.job
    }
}

/// Returns a size within the limits.
fn bounded(size: &Resource) -> Resource {
    Resource(size.0.map(|amount| amount.clamp(0, AMOUNT_MAX)))
}

#[cfg(test)]
mod tests;
