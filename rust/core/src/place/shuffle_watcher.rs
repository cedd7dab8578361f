//! ShuffleWatcher (Ahmad et al., ATC 2014). It orders a user's maps and reduces by the load on the
//! links between racks (NASS, NetSat). It also prefers racks for them, so that less data crosses
//! (SAMP, SARP). The share stage chooses the user.
//!
//! This file has the stage and its state by job; the files below have the calculations. A heartbeat
//! looks up one flag: classes change only with asks, tasks and measurements.

mod capacity;
mod job;
pub mod model;
pub mod nass;
pub mod netsat;
mod patience;
mod placed;
pub mod samp;
pub mod sarp;
mod settings;
mod silence;
pub mod traffic;
mod uplinks;

pub use settings::Settings;

use crate::model::change::{Change, Stale, World};
use crate::model::cluster::{Cluster, Node};
use crate::model::job::{Ask, Container, Job};
use crate::model::programs::Programs;
use crate::model::wait::{PendingAsk, Reason};
use crate::stage::common::Stage;
use crate::stage::entry::{PolicySection, Preset, Wants};
use crate::stage::place::{Place, PlaceEntry, Ranking};
use crate::words::event::JobCounters;
use crate::words::ids::{ContainerKey, JobId, Locality, Millis, NodeId, PlaceId};
use crate::words::keys::{ShareNodeId, Step, Tag};
use crate::words::kind::Kind;
use capacity::Capacity;
use job::{JobState, Preferred, tasks};
use model::Read;
use netsat::{NetSat, Rate};
use patience::{Patience, Wait};
use placed::Placed;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use traffic::PerRack;
use uplinks::Uplinks;

/// Entry in the catalogue.
pub(crate) const ENTRY: PlaceEntry = PlaceEntry {
    name: "shuffle-watcher",
    summary: "maps before reduces while the links between racks are full, reduces before maps \
              while they are not; both where least has to cross",
    preset: Some(Preset {
        name: "shufflewatcher",
        summary: "maps and reduces ordered and placed so that less data crosses between racks",
        stages: ["fair", "fifo", "shuffle-watcher"],
        workload: "shuffles",
    }),
    wants: &[Wants::Totals, Wants::Traffic],
    reads: &[],
    own: Some(PolicySection {
        section: settings::SECTION,
        keys: settings::KEYS,
        check: |section| Settings::read(section).map(|_| false),
    }),
    build: |config| {
        let settings = config.own(settings::SECTION, Settings::read);
        Box::new(ShuffleWatcher::new(settings, config.choices.waits))
    },
};

/// Assumed input of a map without any report: HDFS's default block.
const BLOCK_BYTES: u64 = 128 << 20;

/// Maximum load of a map whose input is only a claim, in blocks. Without the limit one false tag
/// would fill the links for all jobs.
const CLAIMED_BLOCKS_MAX: u64 = 8;

struct ShuffleWatcher {
    settings: Settings,
    /// Time of the first change; windows count from here.
    start_ms: Option<Millis>,
    jobs: BTreeMap<JobId, JobState>,
    /// Jobs whose input became known, or better known, since the last planning.
    unplanned: BTreeSet<JobId>,
    /// Preferred map input of all jobs that is still unread, in bytes by rack.
    load: BTreeMap<PlaceId, u128>,
    netsat: NetSat,
    uplinks: Uplinks,
    memory: Programs<job::Ratio>,
    /// Users who are passed over for better placed tasks.
    patience: Patience,
    /// Searches of a node, by whether its link is saturated and by the user's wait.
    steps: [[Vec<Step>; Wait::ALL.len()]; 2],
    /// State of jobs from before a reload.
    saved: BTreeMap<JobId, JobState>,
    /// Counts of tasks by how well they were placed, for reports.
    placed: Placed,
}

impl ShuffleWatcher {
    fn new(settings: Settings, waits: Option<[f64; 2]>) -> ShuffleWatcher {
        let waits_ms =
            |parts: [f64; 2]| parts.map(|part| (part * settings.relaxed_ms as f64) as Millis);
        let steps = |saturated| Wait::ALL.map(|wait| nass::steps(saturated, wait, &settings));
        ShuffleWatcher {
            settings,
            start_ms: None,
            jobs: BTreeMap::new(),
            unplanned: BTreeSet::new(),
            load: BTreeMap::new(),
            netsat: NetSat::new(settings.threshold, settings.scope, settings.period_ms),
            uplinks: Uplinks::new(Capacity::new(
                settings.uplink_bytes_per_s,
                settings.uplink_floor_bytes_per_s,
                settings.period_ms,
            )),
            memory: Programs::default(),
            patience: Patience::new(
                waits.map_or([settings.relaxed_ms; 2], waits_ms),
                settings.ties_ms,
            ),
            steps: [false, true].map(steps),
            saved: BTreeMap::new(),
            placed: Placed::default(),
        }
    }

    /// Adds a job that was submitted, or that existed before a reload.
    fn add_job(&mut self, job: &Job, stale: &mut Stale) {
        let known = self.saved.remove(&job.facts.job);
        let known = known.filter(|state| state.submitted_ms == job.facts.submitted_ms);
        let state = known.unwrap_or_else(|| JobState::new(job.facts.submitted_ms));
        self.book(&state, true);
        self.jobs.insert(job.facts.job, state);
        self.hear_hints(job);
        self.refresh(job, stale);
    }

    /// Sets the start ratio by the hints, an earlier run, or the default, and plans the job again.
    fn hear_hints(&mut self, job: &Job) {
        let said = job.hints.shuffle_per_mille;
        let said = said.map(|per_mille| f64::from(per_mille) / 1_000.0);
        let remembered = job.hints.signature.and_then(|of| self.memory.get(of));
        let remembered = remembered.map(|ratio| ratio.0);
        let ratio = said.or(remembered).unwrap_or(self.settings.default_ratio);
        if let Some(state) = self.jobs.get_mut(&job.facts.job) {
            state.start_ratio = ratio;
            if job.pending_of(Kind::Map) > 0 {
                self.unplanned.insert(job.facts.job);
            }
        }
    }

    fn remove_job(&mut self, job: &Job) {
        self.unplanned.remove(&job.facts.job);
        self.uplinks.forget(job.facts.job);
        let Some(state) = self.jobs.remove(&job.facts.job) else {
            return;
        };
        self.book(&state, false);
        // Without input there is no ratio.
        let ratio = state.observed_ratio().filter(|ratio| ratio.is_finite());
        if let (Some(of), Some(ratio)) = (job.hints.signature, ratio) {
            self.memory.learn(of, job::Ratio(ratio));
        }
    }

    /// Adds a job's preferred input to the load, or removes it.
    fn book(&mut self, state: &JobState, added: bool) {
        for preferred in state.plan.iter().flatten() {
            let load = self.load.entry(preferred.rack).or_default();
            *load = if added {
                *load + u128::from(preferred.left)
            } else {
                *load - u128::from(preferred.left)
            };
        }
    }

    /// Asks SAMP about new jobs (SW-17). Asks again about jobs whose input has become better known,
    /// if none of their maps has started.
    fn plan_all(&mut self, cluster: &Cluster, stale: &mut Stale) {
        for id in std::mem::take(&mut self.unplanned) {
            let Some(job) = cluster.job(id) else {
                continue;
            };
            let known = |state: &JobState| state.plan.is_some() && has_started(job, Kind::Map);
            if self.jobs.get(&id).is_none_or(known) {
                continue;
            }
            let mut state = self.jobs.remove(&id).expect("it was just looked at");
            self.book(&state, false);
            self.plan(cluster, job, &mut state);
            self.book(&state, true);
            self.jobs.insert(id, state);
            self.refresh(job, stale);
            stale.job(id);
        }
    }

    fn plan(&self, cluster: &Cluster, job: &Job, state: &mut JobState) {
        let nodes = cluster.nodes().filter(|node| node.facts.schedulable);
        let racks: BTreeSet<PlaceId> = nodes.map(|node| node.facts.rack).collect();
        let racks: Vec<PlaceId> = racks.into_iter().collect();
        if !self.settings.samp {
            let part = 1.0 / racks.len() as f64;
            state.tentative = racks.into_iter().map(|rack| (rack, part)).collect();
            state.plan = Some(Vec::new());
            return;
        }
        let maps = u64::from(tasks(job, Kind::Map)).max(1);
        let guess = job.hints.input_bytes.unwrap_or(maps * BLOCK_BYTES);
        let (blocks, held) = (state.blocks(), held_by_rows(cluster, job, guess));
        state.sources = held.keys().copied().collect();
        let (input, bytes) = if blocks.is_empty() {
            let input = samp::Input::Held {
                bytes: guess as f64,
                racks: &held,
            };
            (input, guess as f64)
        } else {
            let bytes = blocks.iter().map(|blocks| blocks.bytes).sum();
            (samp::Input::Blocks(&blocks), bytes)
        };
        let load = self.load.iter();
        let load: PerRack = load.map(|(rack, bytes)| (*rack, *bytes as f64)).collect();
        let question = samp::Question {
            racks: &racks,
            input,
            // A job without reduces has no shuffle, whatever its maps write.
            ratio: if job.hints.tasks[1] == Some(0) {
                0.0
            } else {
                state.ratio()
            },
            spread: self.settings.spread,
            load: &load,
        };
        let plan = samp::plan(&question);
        let chosen = plan.preferred();
        let parts = samp::fractions(&question, chosen);
        let preferred = |(rack, part): (&PlaceId, &f64)| Preferred {
            rack: *rack,
            part: *part,
            left: (bytes * part) as u64,
        };
        let preferred: Vec<Preferred> = chosen.iter().zip(&parts).map(preferred).collect();
        state.tentative = preferred.iter().map(|p| (p.rack, p.part)).collect();
        state.plan = Some(preferred);
    }

    /// Recomputes a job's classes.
    fn refresh(&mut self, job: &Job, stale: &mut Stale) {
        let settings = &self.settings;
        if let Some(state) = self.jobs.get_mut(&job.facts.job)
            && state.refresh(job, settings.completion_threshold, settings.sarp)
        {
            stale.job(job.facts.job);
        }
    }

    /// Feeds modelled rates to NetSat for links without measurements.
    fn model(&mut self, world: &World<'_>) {
        let patience_ms = netsat::UNHEARD_PERIODS * self.settings.period_ms;
        let jobs = &self.jobs;
        let placed = |job: JobId| jobs.get(&job).map(JobState::placed);
        // If no reduce is known to run, every rack is assumed to fetch alike.
        let receivers = |racks: &[PlaceId]| {
            let mut running = PerRack::new();
            jobs.values().for_each(|job| job.add_running(&mut running));
            if running.is_empty() {
                running = racks.iter().map(|rack| (*rack, 1.0)).collect();
            }
            running
        };
        let rates = self
            .uplinks
            .tick(world.now, world.cluster, patience_ms, placed, receivers);
        self.uplinks.warn_of_silence(world.now, world.cluster, || {
            jobs.values().any(JobState::is_shuffling)
        });
        for (rack, used, bandwidth) in rates {
            self.netsat
                .measured(world.now, rack, Rate { used, bandwidth });
        }
    }

    fn asked(&mut self, job: &Job, kind: Kind, stale: &mut Stale) {
        match kind {
            Kind::Map if job.pending_of(Kind::Map) > 0 => {
                let state = self.jobs.get(&job.facts.job);
                if state.is_some_and(|state| state.plan.is_none()) {
                    // Plan later, when the rows that follow have arrived.
                    self.unplanned.insert(job.facts.job);
                    stale.job(job.facts.job);
                }
            }
            Kind::Reduce => self.refresh(job, stale),
            _ => {}
        }
    }

    fn started(&mut self, job: &Job, kind: Kind, rack: PlaceId, near: Locality, now: Millis) {
        let Some(state) = self.jobs.get_mut(&job.facts.job) else {
            return;
        };
        let local = near <= Locality::RackLocal;
        let suits = match kind {
            Kind::Reduce => state.unmet.binary_search(&rack).is_ok(),
            _ => state.prefers(rack),
        };
        self.placed.count(kind, suits, local);
        if kind == Kind::Map && !local && !state.sources.contains(&rack) {
            let read = Read {
                rack,
                sources: state.sources.clone(),
                rate: input_of_map(job),
            };
            self.uplinks.read(now, job, read);
        }
        let place = nass::worth(kind, suits, local, state.heavy, &self.settings);
        self.patience.served(job.leaf, place, now);
        if kind == Kind::Reduce {
            state.reduce_runs(rack, true);
        }
    }

    fn ended(
        &mut self,
        job: &Job,
        kind: Kind,
        rack: PlaceId,
        succeeded: Option<(ContainerKey, &Container)>,
    ) {
        let Some(state) = self.jobs.get_mut(&job.facts.job) else {
            return;
        };
        match (kind, succeeded) {
            (Kind::Map, Some((key, container))) => {
                state.map_done(key, rack, &container.task);
                let maps = tasks(job, Kind::Map);
                let unread = u64::from(maps.saturating_sub(job.done[Kind::Map as usize])) + 1;
                for preferred in state.plan.iter_mut().flatten() {
                    let read = preferred.left / unread;
                    preferred.left -= read;
                    *self.load.entry(preferred.rack).or_default() -= u128::from(read);
                }
            }
            (Kind::Reduce, done) => {
                state.reduce_runs(rack, false);
                if done.is_some() {
                    state.reduce_done(rack);
                }
            }
            _ => {}
        }
    }

    fn note_task(&mut self, change: &Change<'_>, world: &World<'_>, stale: &mut Stale) {
        let rack = |node: NodeId| world.cluster.node(node).map(|node| node.facts.rack);
        let (job, kind) = match *change {
            Change::Started {
                job,
                kind,
                node,
                am: false,
                locality,
                ..
            } => {
                if let Some(rack) = rack(node) {
                    self.started(job, kind, rack, locality, world.now);
                }
                (job, kind)
            }
            Change::Withdrawn {
                job,
                kind,
                node,
                am: false,
                ..
            } => {
                if let Some(rack) = rack(node) {
                    self.ended(job, kind, rack, None);
                }
                (job, kind)
            }
            Change::Ended {
                job,
                kind,
                key,
                container,
                succeeded,
            } if !container.am => {
                if succeeded && kind == Kind::Map {
                    self.uplinks.map_ended(container, world.now);
                }
                if let Some(rack) = rack(container.node) {
                    self.ended(job, kind, rack, succeeded.then_some((key, container)));
                }
                (job, kind)
            }
            _ => return,
        };
        // A map affects only the classes of reduces, and those only once reduces are asked for.
        if kind == Kind::Reduce || (kind == Kind::Map && job.pending_of(Kind::Reduce) > 0) {
            self.refresh(job, stale);
        }
    }
}

/// Returns the input of a map in bytes: by the job's counters once maps have ended, else by its
/// hints.
fn input_of_map(job: &Job) -> f64 {
    let done = |counters: &JobCounters| f64::from(counters.done[Kind::Map as usize]);
    let counted = job
        .counters
        .as_ref()
        .filter(|counters| done(counters) > 0.0);
    if let Some(counters) = counted {
        return counters.input_bytes as f64 / done(counters);
    }
    let maps = f64::from(tasks(job, Kind::Map).max(1));
    let claimed = job.hints.input_bytes.map(|bytes| bytes as f64 / maps);
    let block = BLOCK_BYTES as f64;
    claimed.map_or(block, |bytes| bytes.min(CLAIMED_BLOCKS_MAX as f64 * block))
}

/// Tells whether a task of the kind runs or has succeeded.
fn has_started(job: &Job, kind: Kind) -> bool {
    job.running[kind as usize] + job.done[kind as usize] > 0
}

/// Returns how much of `bytes` of input each rack holds, by the rows of the job's asks.
fn held_by_rows(cluster: &Cluster, job: &Job, bytes: u64) -> PerRack {
    let maps = |ask: &&Ask| job.kind(ask.facts.priority) == Kind::Map;
    let per_map = bytes as f64 / f64::from(job.pending_of(Kind::Map).max(1));
    let mut held = PerRack::new();
    for ask in job.pending().filter(maps) {
        for (place, row) in ask
            .rows
            .iter()
            .filter(|(place, _)| cluster.is_rack(**place))
        {
            *held.entry(*place).or_default() += f64::from(row.count) * per_map;
        }
    }
    held
}

impl Stage for ShuffleWatcher {
    fn note(&mut self, change: &Change<'_>, world: &World<'_>, stale: &mut Stale) {
        self.start_ms.get_or_insert(world.now);
        match *change {
            Change::JobAdded(job) => self.add_job(job, stale),
            Change::JobRemoved(job) => self.remove_job(job),
            Change::JobChanged(job) => {
                self.hear_hints(job);
                self.refresh(job, stale);
            }
            Change::Asked { job, kind } => self.asked(job, kind, stale),
            Change::Blocks {
                job, racks, bytes, ..
            } => {
                if let Some(state) = self.jobs.get_mut(&job.facts.job) {
                    state.add_blocks(racks, bytes);
                    self.unplanned.insert(job.facts.job);
                    stale.job(job.facts.job);
                }
            }
            Change::Traffic {
                rack,
                up_bytes_per_s,
                down_bytes_per_s,
                bandwidth_bytes_per_s,
            } => {
                let rate = Rate {
                    used: up_bytes_per_s.max(down_bytes_per_s) as f64,
                    bandwidth: bandwidth_bytes_per_s as f64,
                };
                self.uplinks.measured(world.now, rack);
                self.netsat.measured(world.now, rack, rate);
            }
            Change::Counters { job, counters } => {
                self.uplinks.counted(world.now, job.facts.job, counters);
                if let Some(state) = self.jobs.get_mut(&job.facts.job) {
                    state.counted(counters);
                }
                self.refresh(job, stale);
            }
            Change::Outcome { job, key, facts } => {
                let state = self.jobs.get_mut(&job.facts.job);
                if state.is_some_and(|state| state.map_reported(key, &facts)) {
                    self.refresh(job, stale);
                }
            }
            Change::Shuffled { node, sent_bytes } => {
                self.uplinks.sent(world.now, node, sent_bytes);
            }
            Change::PassedOver { leaf } => self.patience.passed_over(leaf, world.now),
            Change::Overtaken { leaf } => self.patience.overtaken(leaf, world.now),
            Change::QueueRemoved { leaf } => self.patience.forget(leaf),
            Change::Settling => self.plan_all(world.cluster, stale),
            Change::Tick => {
                self.model(world);
                self.netsat.tick(world.now);
                self.saved.clear();
            }
            _ => self.note_task(change, world, stale),
        }
    }

    fn lessons(&mut self) -> Vec<(String, String)> {
        self.memory.lessons()
    }

    fn restore_lesson(&mut self, key: &str, value: &Value) -> bool {
        self.memory.restore(key, value)
    }

    fn save(&self) -> Value {
        json!({
            "start_ms": self.start_ms,
            "ratios": self.memory.save(),
            "saturated_racks": self.netsat.racks(),
            "jobs": self.jobs,
            "placed": self.placed,
            "uplink_bytes_per_s": self.uplinks.capacity(),
            "uplink_highest": self.uplinks.save(),
            "modelled_rates": self.uplinks.report(),
            "sent_bytes": self.uplinks.sent_bytes(),
        })
    }

    fn load(&mut self, saved: &Value) {
        self.start_ms = saved["start_ms"].as_i64();
        self.memory.load(&saved["ratios"]);
        let jobs = saved["jobs"].clone();
        self.saved = serde_json::from_value(jobs).unwrap_or_default();
        self.uplinks.load(&saved["uplink_highest"]);
        self.placed = serde_json::from_value(saved["placed"].clone()).unwrap_or_default();
    }
}

impl Ranking for ShuffleWatcher {
    fn window(&self, job: &Job) -> u32 {
        let start_ms = self.start_ms.unwrap_or(job.facts.submitted_ms) as f64;
        let width_ms = self.settings.window_ms as f64;
        nass::window(job.facts.submitted_ms as f64, start_ms, width_ms)
    }

    fn tags(&self, job: &Job, kind: Kind, tags: &mut Vec<Tag>) {
        let Some(state) = self.jobs.get(&job.facts.job) else {
            return nass::tags(kind, false, [], tags);
        };
        if kind == Kind::Map {
            let racks = state.plan.iter().flatten().map(|preferred| preferred.rack);
            nass::tags(kind, state.heavy, racks, tags);
        } else {
            nass::tags(kind, state.heavy, state.unmet.iter().copied(), tags);
        }
    }

    fn steps(&self, node: &Node, leaf: ShareNodeId, now: Millis) -> &[Step] {
        let saturated = self.netsat.saturated(node.facts.rack);
        let wait = self.patience.wait(leaf, now);
        &self.steps[usize::from(saturated)][wait as usize]
    }

    fn may_be_overtaken(&self, leaf: ShareNodeId, now: Millis) -> bool {
        self.patience.may_be_overtaken(leaf, now)
    }

    fn explain(&self, asked: &PendingAsk<'_>, now: Millis) -> Option<Reason> {
        let leaf = asked.job.leaf;
        let until_ms = self.patience.until_ms(leaf, now)?;
        let tasks = asked.kind != Kind::Other;
        tasks.then_some(Reason::Racks {
            data: self.patience.wait(leaf, now) == Wait::Data,
            until_ms,
        })
    }
}

/// No ask waits for a place: one of the user's tasks is always granted (SW-8).
impl Place for ShuffleWatcher {
    fn ranking(&self) -> Option<&dyn Ranking> {
        Some(self)
    }
}
