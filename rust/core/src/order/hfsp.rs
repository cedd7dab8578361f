//! HFSP, the Hadoop Fair Sojourn Protocol. It runs jobs one after another, in the order in which
//! they would end in a fair cluster. It learns their sizes from a few sample tasks.
//!
//! This file joins the engine's events with the calculations: `aging` (the virtual cluster),
//! `estimate` (sizes), `samples` (sample tasks). It places nothing: delay scheduling is the place
//! stage's. All tasks of one kind of a job are a *phase*, with its own size and its own position.

pub mod aging;
pub mod estimate;
mod kill;
pub mod round_robin;
mod samples;
mod saved;
mod settings;

pub use settings::{Late, Settings, settings};

use crate::config::Choices;
use crate::model::change::{Change, Stale, World};
use crate::model::cluster::Node;
use crate::model::job::{Container, Job};
use crate::model::lengths::Lengths;
use crate::model::wait::{Measure, OrderLimit};
use crate::stage::common::Stage;
use crate::stage::entry::{PolicySection, Preset, Wants};
use crate::stage::order::{Order, OrderEntry};
use crate::words::ids::{ContainerKey, JobId, Millis};
use crate::words::keys::{OrderKey, POOLS, Reclaimed};
use crate::words::kind::Kind;
use crate::words::table::Table;
use aging::{Aging, PhaseId};
use estimate::{Estimator, PastTasks, PhaseFacts};
use samples::SampleSet;
use saved::SavedPhase;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Entry in the catalogue.
pub(crate) const ENTRY: OrderEntry = OrderEntry {
    name: "hfsp",
    summary: "in the order in which jobs would end in a fair cluster; sizes are learnt from \
              sample tasks",
    preset: Some(Preset {
        name: "hfsp",
        summary: "jobs in the order in which they would end in a fair cluster, their sizes learnt \
                  from sample tasks",
        stages: ["single", "hfsp", "delay"],
        workload: "sizes",
    }),
    wants: &[Wants::Totals, Wants::Progress, Wants::Tasks],
    reads: &[],
    own: Some(PolicySection {
        section: settings::SECTION,
        keys: settings::KEYS,
        check: |section| settings::read(section).map(|settings| settings.kill),
    }),
    build: |config| Box::new(Hfsp::new(settings(config), &config.choices)),
};

/// First parts of keys. ApplicationMasters come first, because a job without one has no tasks.
/// Sample tasks follow, if they may use every slot; then late phases, if they share; then all
/// others.
const MASTERS: i64 = 0;
const SAMPLES: i64 = 1;
const LATE: i64 = 2;
const OTHERS: i64 = 3;

/// Number of phases up to which every arrival and end of a task recomputes the order (HF-17). With
/// n times as many phases a recomputation takes n times as long. So it waits for n² times as many
/// events, at most until the next tick, and the cost of an event does not grow. Virtual time stays
/// exact; only its effect is late.
const AT_EVERY_EVENT: usize = 32;

/// Maximum number of jobs nominated for their sample tasks at once. More may need samples; those
/// further back get theirs when their turn comes.
const NOMINEES: usize = 16;

/// One pool of slots and its virtual cluster (HF-11).
struct Pool {
    aging: Aging,
    /// Number of running sample tasks.
    sampling: u32,
    /// Phases that ask for tasks and need samples, by their label.
    needy: BTreeSet<(i64, PhaseId)>,
    slots: u32,
    /// Arrivals and ends since the order was last computed.
    events: usize,
    /// See `AT_EVERY_EVENT`.
    at_every_event: usize,
}

impl Pool {
    fn new(choices: &Choices) -> Pool {
        let aging = Aging::taking_turns(0.0, 0);
        Pool {
            aging: match choices.aging_steps {
                Some(steps) => aging.in_steps(steps),
                None => aging,
            },
            sampling: 0,
            needy: BTreeSet::new(),
            slots: 0,
            events: 0,
            at_every_event: choices.aging_phases.unwrap_or(AT_EVERY_EVENT),
        }
    }

    /// Ages the virtual cluster to `now`.
    fn catch_up(&mut self, now: Millis) {
        self.events = 0;
        self.aging.advance(now as f64);
    }

    /// Records an arrival or an end (HF-17); ages the virtual cluster if it is time to.
    fn event(&mut self, now: Millis) {
        self.events += 1;
        let phases = self.aging.len();
        if self.events * self.at_every_event * self.at_every_event >= phases * phases {
            self.catch_up(now);
        }
    }
}

struct Phase {
    pool: usize,
    tasks: u32,
    running: u32,
    /// Whether tasks of it are pending.
    asks: bool,
    samples: SampleSet,
    /// Whether all its samples were known before a reload: it needs no others.
    trained: bool,
    weight: f64,
    /// Mean length of its tasks, known from before a reload.
    mean_task: Option<f64>,
    /// Slot-time of the tasks that succeeded: in the end, its true size.
    spent: f64,
    /// Whether all its tasks have ended.
    over: bool,
    key: OrderKey,
    /// Its label in `Pool::needy`.
    needy: Option<i64>,
}

impl Phase {
    fn want_samples(&mut self, wanted: u32) {
        if !self.trained {
            self.samples.want(wanted);
        }
    }
}

/// The HFSP order.
struct Hfsp {
    settings: Settings,
    estimator: Box<dyn Estimator>,
    /// Lengths of tasks of jobs with a signature, for the first estimate of the program's next run
    /// (HF-31).
    lengths: Lengths,
    pools: [Pool; POOLS],
    phases: Table<PhaseId, Phase>,
    /// State from before a reload, for jobs that the engine has yet to announce.
    known: BTreeMap<PhaseId, SavedPhase>,
}

impl Hfsp {
    fn new(settings: Settings, choices: &Choices) -> Hfsp {
        let estimator = PastTasks::new(settings.xi, settings.default_task_ms as f64);
        Hfsp {
            estimator: Box::new(estimator),
            lengths: Lengths::new(settings.default_task_ms),
            settings,
            pools: [(); POOLS].map(|()| Pool::new(choices)),
            phases: Table::default(),
            known: BTreeMap::new(),
        }
    }

    /// Tells whether samples go first by their keys. If their slots are limited, samples are
    /// nominated instead, up to the limit. Otherwise every key of a job in training would change at
    /// the limit.
    fn samples_by_key(&self) -> bool {
        self.settings.training_percent == 100
    }

    fn weight(&self, job: &Job) -> f64 {
        match self.settings.weigh_priorities {
            true => f64::from(job.facts.priority.clamp(-10, 10)).exp2(),
            false => 1.0,
        }
    }

    /// Returns how many tasks a phase has: the larger of the hint and the tasks seen. The hint for
    /// reduces counts only once a reduce was seen: a reduce phase cannot use the cluster before.
    fn tasks_of(&self, job: &Job, id: PhaseId) -> u32 {
        let running = self.phases.get(id).map_or(0, |phase| phase.running);
        let done = job.done[id.kind as usize];
        let seen = job.pending_of(id.kind).saturating_add(running + done);
        let told = job.hints.tasks.get(id.kind as usize).copied().flatten();
        let told = told.filter(|_| seen > 0 || id.kind == Kind::Map);
        told.unwrap_or(0).max(seen)
    }

    /// Follows a job's asks: adds its phase, or updates its tasks, weight and size.
    fn refresh(&mut self, job: &Job, kind: Kind, world: &World<'_>, stale: &mut Stale) {
        let id = phase_id(job, kind);
        let tasks = self.tasks_of(job, id);
        let weight = self.weight(job);
        let Some(phase) = self.phases.get_mut(id) else {
            // A phase that ended before this stage was made has nothing left to take slots for.
            if tasks > job.done[kind as usize] {
                self.arrive(job, id, tasks, world);
                self.restate(id, stale);
            }
            return;
        };
        phase.asks = job.pending_of(kind) > 0;
        if phase.weight != weight {
            phase.weight = weight;
            self.pools[phase.pool].aging.set_weight(id, weight);
        }
        let again = phase.over && phase.asks;
        if again || (!phase.over && tasks > 0 && phase.tasks != tasks) {
            phase.over = false;
            phase.tasks = tasks;
            phase.want_samples(self.settings.samples.min(tasks));
            let phase = self.phases.get(id).expect("it was found above");
            let size = self.size(job, kind, phase);
            let pool = &mut self.pools[phase.pool];
            pool.event(world.now);
            pool.aging.add(id, tasks, size, weight);
        }
        self.restate(id, stale);
    }

    fn arrive(&mut self, job: &Job, id: PhaseId, tasks: u32, world: &World<'_>) {
        let known = self.known.remove(&id);
        let trained = known.is_some_and(|known| known.trained);
        let wanted = if trained { 0 } else { self.settings.samples };
        let index = world.pool(id.kind, false).unwrap_or(0);
        let weight = self.weight(job);
        let phase = Phase {
            pool: index,
            tasks,
            running: 0,
            asks: job.pending_of(id.kind) > 0,
            samples: SampleSet::new(wanted.min(tasks)),
            trained,
            weight,
            mean_task: known.map(|known| known.mean_task),
            spent: known.map_or(0.0, |known| known.spent),
            over: false,
            key: OrderKey::FIRST,
            needy: None,
        };
        let size = self.size(job, id.kind, &phase);
        self.phases.insert(id, phase);
        let pool = &mut self.pools[index];
        pool.event(world.now);
        pool.aging.set_slots(world.slots[index]);
        pool.aging.add(id, tasks, size, weight);
        if let Some(known) = known {
            pool.aging.set_done(id, known.done);
        }
    }

    /// Returns the size by the samples once they are complete, and the initial estimate before.
    fn size(&self, job: &Job, kind: Kind, phase: &Phase) -> f64 {
        let claimed = job.hints.task_ms.get(kind as usize).copied().flatten();
        let claimed = claimed.map(|length_ms| length_ms.max(0) as f64);
        let last_run = || self.lengths.program_ms(job, kind);
        let facts = PhaseFacts {
            kind,
            tasks: phase.tasks,
            profile: phase.mean_task.or(claimed).or_else(last_run),
        };
        match phase.samples.complete() {
            Some(samples) => self.estimator.sampled(&facts, &samples),
            None => self.estimator.initial(&facts),
        }
    }

    /// Changes a phase's samples and updates the count of running ones.
    fn sample<R>(&mut self, id: PhaseId, change: impl FnOnce(&mut SampleSet) -> R) -> Option<R> {
        let phase = self.phases.get_mut(id)?;
        let before = phase.samples.running();
        let result = change(&mut phase.samples);
        let pool = &mut self.pools[phase.pool];
        pool.sampling = pool.sampling + phase.samples.running() - before;
        Some(result)
    }

    /// Resizes the phase if its samples are complete.
    fn learn(&mut self, job: &Job, id: PhaseId) {
        let Some(phase) = self.phases.get(id) else {
            return;
        };
        if phase.samples.complete().is_some() && !phase.over {
            let (size, tasks) = (self.size(job, id.kind, phase), phase.tasks);
            self.pools[phase.pool].aging.resize(id, tasks, size);
        }
    }

    /// Recomputes a phase's key, and marks its job stale if the key changed.
    fn restate(&mut self, id: PhaseId, stale: &mut Stale) {
        let by_key = self.samples_by_key();
        let Some(phase) = self.phases.get_mut(id) else {
            return;
        };
        let pool = &mut self.pools[phase.pool];
        let label = pool.aging.label(id).filter(|_| !phase.over);
        let needs = phase.samples.needs() > 0;
        let needy = label.filter(|_| needs && phase.asks && !by_key);
        if needy != phase.needy {
            phase.needy.map(|label| pool.needy.remove(&(label, id)));
            needy.map(|label| pool.needy.insert((label, id)));
            phase.needy = needy;
        }
        let Some(label) = label else { return };
        let key = if needs && by_key {
            OrderKey(SAMPLES, label)
        } else if self.settings.late == Late::Sharing && pool.aging.is_late(id) {
            // The phase that runs least for its weight is next.
            let part = f64::from(phase.running) / phase.weight;
            OrderKey(LATE, (part * 1024.0) as i64)
        } else {
            OrderKey(OTHERS, label)
        };
        if key != phase.key {
            phase.key = key;
            stale.job(id.job);
        }
    }

    fn started(&mut self, job: &Job, id: PhaseId, world: &World<'_>) {
        if !self.phases.contains(id) {
            // A recovered container: its phase has not asked for anything.
            let tasks = self.tasks_of(job, id).max(1);
            self.arrive(job, id, tasks, world);
        }
        let phase = self.phases.get_mut(id).expect("it was there or just made");
        phase.running += 1;
        // After a failover, and before its job asks again, a phase is as large as what is found of
        // it: the first tasks found are samples.
        phase.want_samples(self.settings.samples.min(phase.running.max(phase.tasks)));
    }

    fn ended(
        &mut self,
        job: &Job,
        id: PhaseId,
        how: (ContainerKey, &Container, bool),
        now: Millis,
    ) {
        let (key, container, succeeded) = how;
        let Some(phase) = self.phases.get_mut(id) else {
            return;
        };
        phase.running = phase.running.saturating_sub(1);
        self.pools[phase.pool].event(now);
        if succeeded {
            let length_ms = container.task_ms(now);
            phase.spent += length_ms as f64;
            self.estimator.learn(id.kind, length_ms as f64);
            if job.hints.signature.is_some() {
                self.lengths.sample(id.job, id.kind, length_ms);
            }
        }
        let ended = |samples: &mut SampleSet| samples.end((key, container), succeeded, now);
        if self.sample(id, ended) == Some(true) {
            self.learn(job, id);
        }
        let phase = self.phases.get_mut(id).expect("it was found above");
        let done = job.done[id.kind as usize] >= phase.tasks;
        if done && phase.running == 0 && job.pending_of(id.kind) == 0 && !phase.over {
            phase.over = true;
            self.pools[phase.pool].aging.finish(id, phase.spent);
        }
    }

    fn progressed(&mut self, job: &Job, reduce: (ContainerKey, &Container), now: Millis) {
        let (id, delta_ms) = (phase_id(job, Kind::Reduce), self.settings.delta_ms);
        let told = |samples: &mut SampleSet| samples.progress(reduce, delta_ms, now);
        if self.sample(id, told) == Some(true) {
            self.learn(job, id);
        }
    }

    fn removed(&mut self, job: &Job) {
        self.lengths.end(job);
        for kind in Kind::ALL {
            let id = phase_id(job, kind);
            self.sample(id, |samples| *samples = SampleSet::new(0));
            let Some(phase) = self.phases.remove(id) else {
                continue;
            };
            let pool = &mut self.pools[phase.pool];
            phase.needy.map(|label| pool.needy.remove(&(label, id)));
            if !phase.over {
                // Killed, or ended with fewer tasks than known here: the remaining work will not be
                // done.
                pool.aging.remove(id);
            }
        }
    }

    /// Tells whether enough of the job's maps have ended for its reduces (HF-16).
    fn maps_are_done(&self, job: &Job, percent: u32) -> bool {
        job.done[Kind::Map as usize] >= self.maps_needed(job, percent)
    }

    /// Returns how many of the job's maps must have ended for that.
    fn maps_needed(&self, job: &Job, percent: u32) -> u32 {
        let maps = self.phases.get(phase_id(job, Kind::Map));
        let tasks = maps.map_or(0, |phase| u64::from(phase.tasks));
        (tasks * u64::from(percent)).div_ceil(100) as u32
    }

    /// Ages all pools to the present, then sets their present numbers of slots.
    fn catch_up(&mut self, world: &World<'_>) {
        for (pool, slots) in self.pools.iter_mut().zip(world.slots) {
            pool.catch_up(world.now);
            pool.aging.set_slots(slots);
            pool.slots = slots;
        }
    }
}

fn phase_id(job: &Job, kind: Kind) -> PhaseId {
    PhaseId {
        job: job.facts.job,
        kind,
    }
}

impl Stage for Hfsp {
    fn note(&mut self, change: &Change<'_>, world: &World<'_>, stale: &mut Stale) {
        match *change {
            Change::JobAdded(job) | Change::JobChanged(job) => {
                for kind in Kind::ALL {
                    self.refresh(job, kind, world, stale);
                }
            }
            Change::JobRemoved(job) => self.removed(job),
            Change::Asked { job, kind } => self.refresh(job, kind, world, stale),
            Change::Started {
                job,
                kind,
                node,
                am: false,
                started_ms,
                ..
            } => {
                let id = phase_id(job, kind);
                self.started(job, id, world);
                self.sample(id, |samples| samples.start(node, started_ms));
                self.refresh(job, kind, world, stale);
            }
            Change::Withdrawn {
                job,
                kind,
                node,
                am: false,
                started_ms,
            } => {
                let id = phase_id(job, kind);
                self.sample(id, |samples| samples.withdraw(node, started_ms));
                if let Some(phase) = self.phases.get_mut(id) {
                    phase.running = phase.running.saturating_sub(1);
                }
                self.refresh(job, kind, world, stale);
            }
            Change::Ended {
                job,
                kind,
                key,
                container,
                succeeded,
            } if !container.am => {
                let id = phase_id(job, kind);
                self.ended(job, id, (key, container, succeeded), world.now);
                self.restate(id, stale);
                if kind == Kind::Map && !job.admitted[Kind::Reduce as usize] {
                    stale.job(job.facts.job);
                }
            }
            // They may raise the number of ended maps, for which reduces wait.
            Change::Counters { job, .. } if !job.admitted[Kind::Reduce as usize] => {
                stale.job(job.facts.job);
            }
            Change::Progress {
                job,
                kind: Kind::Reduce,
                key,
                container,
            } => self.progressed(job, (key, container), world.now),
            Change::Nodes | Change::Tick => self.catch_up(world),
            _ => {}
        }
        for pool in 0..POOLS {
            for id in self.pools[pool].aging.take_moved() {
                self.restate(id, stale);
            }
        }
    }

    fn lessons(&mut self) -> Vec<(String, String)> {
        self.lengths.lessons()
    }

    fn restore_lesson(&mut self, key: &str, value: &Value) -> bool {
        self.lengths.restore(key, value)
    }

    fn save(&self) -> Value {
        saved::save(self)
    }

    fn load(&mut self, saved: &Value) {
        saved::load(self, saved);
    }
}

impl Order for Hfsp {
    fn key(&self, job: &Job, kind: Kind) -> OrderKey {
        match self.phases.get(phase_id(job, kind)) {
            Some(phase) => phase.key,
            // An ApplicationMaster; its job's size is unknown and plays no part.
            None => OrderKey(MASTERS, job.facts.submitted_ms),
        }
    }

    fn admits(&self, job: &Job, kind: Kind) -> bool {
        match self.settings.slow_start_percent {
            Some(percent) if kind == Kind::Reduce => self.maps_are_done(job, percent),
            _ => true,
        }
    }

    fn held(&self, job: &Job, _kind: Kind, _world: &World<'_>) -> OrderLimit {
        match self.settings.slow_start_percent {
            Some(percent) => OrderLimit::SlowStart {
                done: job.done[Kind::Map as usize],
                needed: self.maps_needed(job, percent),
            },
            None => OrderLimit::Unsaid,
        }
    }

    fn measure(&self, job: &Job, kind: Kind) -> Option<Measure> {
        let id = phase_id(job, kind);
        let phase = self.phases.get(id)?;
        let left = self.pools[phase.pool].aging.left(id)?;
        Some(Measure::WorkLeft(left as i64))
    }

    fn nominates(&self) -> bool {
        true
    }

    fn nominate(&self, _node: &Node, pool: usize, jobs: &mut Vec<JobId>) {
        let pool = &self.pools[pool];
        let limit = u64::from(self.settings.training_percent) * u64::from(pool.slots);
        if u64::from(pool.sampling) * 100 < limit {
            jobs.extend(pool.needy.iter().take(NOMINEES).map(|(_, id)| id.job));
        }
    }

    fn reclaim(&mut self, world: &World<'_>) -> Vec<Reclaimed> {
        if !self.settings.kill {
            return Vec::new();
        }
        let pools = self.pools.iter().enumerate();
        let reclaimed = pools.map(|(at, pool)| {
            let order = pool.aging.order();
            kill::victims(order, (at, pool.slots), world)
        });
        reclaimed.collect()
    }
}
