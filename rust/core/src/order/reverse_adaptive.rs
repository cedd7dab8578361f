//! The Reverse-Adaptive scheduler (RA-1 to RA-30). Each job gets as many slots as its completion
//! goal needs, given the forecast load of foreign software.
//!
//! A control loop (`control`) computes the placement matrix every period, and on the tick after
//! jobs came, went or changed. In between, nodes follow the matrix. A node serves first the jobs to
//! which it owes tasks, then the next job by utility. So no slot stays idle. The matrix stops no
//! task: a slot passes to another job when its task ends. Only `evict` reclaims running tasks.

pub mod capacity;
pub mod claims;
mod control;
mod division;
mod matrix;
mod outlook;
pub mod placement;
mod real;
pub mod reverse;
pub mod settings;
pub mod utility;

use crate::config::Config;
use crate::model::change::{Change, Stale, World};
use crate::model::cluster::Node;
use crate::model::job::Job;
use crate::model::lengths::Lengths;
use crate::stage::common::Stage;
use crate::stage::entry::{PolicySection, Preset, Wants};
use crate::stage::order::{Order, OrderEntry};
use crate::words::ids::{ContainerKey, JobId, Millis, NodeId};
use crate::words::keys::{OrderKey, POOLS, Reclaimed, ShareNodeId, Victim};
use crate::words::kind::Kind;
use control::{Cycle, Keys, Placed};
use matrix::Matrix;
use reverse::Split;
use serde_json::Value;
use settings::Settings;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Jobs and slots that a cycle out of turn may process, per ms until the next one. It bounds the
/// part of the time that the loop takes in a cluster where jobs come all the time.
const SIZE_PER_MS: i64 = 20;

/// Entry in the catalogue.
pub(crate) const ENTRY: OrderEntry = OrderEntry {
    name: "reverse-adaptive",
    summary: "as many slots as each job's completion goal needs, given the foreign load over \
              time; the rest so that all jobs are equally content",
    preset: Some(Preset {
        name: "reverse-adaptive",
        summary: "each job gets as many slots as its deadline needs, given the load of other \
                  software",
        stages: ["single", "reverse-adaptive", "local-first"],
        workload: "goals",
    }),
    wants: &[Wants::Totals],
    reads: &[],
    own: Some(PolicySection {
        section: settings::SECTION,
        keys: settings::KEYS,
        check: |section| settings::read(section).map(|settings| settings.evict),
    }),
    build: |config| Box::new(ReverseAdaptive::new(config)),
};

struct ReverseAdaptive {
    settings: Settings,
    /// Division of a period that cannot hold all the work its jobs want.
    split: Split,
    /// Whether reduces have slots of their own.
    apart: bool,
    lengths: Lengths,
    matrix: Matrix,
    /// Jobs with a goal.
    goals: BTreeSet<JobId>,
    /// Keys as of the last cycle.
    keys: Keys,
    /// Slots of nodes under foreign load, as of the last cycle.
    caps: BTreeMap<NodeId, [u32; POOLS]>,
    /// Time at which the present placement expires.
    next_ms: Millis,
    /// Earliest time of a cycle out of turn.
    not_before_ms: Millis,
    /// Whether something happened that the placement does not include.
    due: bool,
}

impl ReverseAdaptive {
    fn new(config: &Config) -> ReverseAdaptive {
        let settings = settings::settings(config);
        ReverseAdaptive {
            lengths: Lengths::new(settings.default_task_ms),
            // By RA-26 a job's utility is the part of its wish that it gets.
            split: match config.choices.equal_utility {
                true => Split::Proportional,
                false => Split::MaxMin,
            },
            settings,
            apart: config.slots_per_node.is_some(),
            matrix: Matrix::default(),
            goals: BTreeSet::new(),
            keys: Keys::default(),
            caps: BTreeMap::new(),
            next_ms: 0,
            not_before_ms: 0,
            due: true,
        }
    }

    fn pool(&self, kind: Kind) -> usize {
        usize::from(self.apart && kind == Kind::Reduce)
    }

    /// Counts a task that took a slot or returned it. The key of a job without a goal follows.
    fn count(
        &mut self,
        (job, kind): (&Job, Kind),
        (node, am): (NodeId, bool),
        started: bool,
        stale: &mut Stale,
    ) {
        if am {
            return;
        }
        let (id, pool) = (job.facts.job, self.pool(kind));
        self.matrix.count(node, id, pool, started);
        if !matches!(self.placed(id, pool), Placed::At(_)) {
            stale.job(id);
        }
    }

    fn placed(&self, job: JobId, pool: usize) -> Placed {
        self.keys.get(job).map_or(Placed::Not, |keys| keys[pool])
    }

    /// Notes whether a job has a goal.
    fn note_goal(&mut self, job: &Job) {
        match job.hints.deadline_ms {
            Some(_) => self.goals.insert(job.facts.job),
            None => self.goals.remove(&job.facts.job),
        };
    }

    /// Runs a cycle if one is due.
    fn tick(&mut self, world: &World<'_>, stale: &mut Stale) {
        let out_of_turn = self.due && world.now >= self.not_before_ms;
        if world.now < self.next_ms && !out_of_turn {
            return;
        }
        let outcome = Cycle {
            world,
            settings: &self.settings,
            split: self.split,
            lengths: &self.lengths,
            matrix: &self.matrix,
            goals: !self.goals.is_empty(),
        }
        .run();
        self.matrix
            .clear_plan(|node| world.cluster.node(node).is_some());
        for (node, job, pool, tasks) in outcome.plan {
            self.matrix.plan(node, job, pool, tasks);
        }
        for (job, keys) in outcome.keys.iter() {
            let changed =
                |pool: usize| keys[pool] != Placed::Not && keys[pool] != self.placed(job, pool);
            if (0..POOLS).any(changed) {
                stale.job(job);
            }
        }
        (self.keys, self.caps) = (outcome.keys, outcome.caps);
        self.next_ms = world.now + self.settings.control_period_ms;
        self.not_before_ms = world.now + outcome.size / SIZE_PER_MS;
        self.due = false;
    }

    /// Returns the tasks on slots that the foreign load takes, the newest first.
    fn crowded_out(&self, world: &World<'_>) -> Vec<Victim> {
        if !self.settings.evict {
            return Vec::new();
        }
        let over = |node: NodeId, pool: usize| {
            let running = world
                .cluster
                .node(node)
                .map_or(0, |node| node.running[pool]);
            let cap = self.caps.get(&node).map_or(u32::MAX, |caps| caps[pool]);
            running.saturating_sub(cap)
        };
        let crowded = |node: &NodeId| (0..POOLS).any(|pool| over(*node, pool) > 0);
        if !self.caps.keys().any(crowded) {
            return Vec::new();
        }
        let mut newest: Vec<(Reverse<Millis>, JobId, ContainerKey, NodeId, usize)> = Vec::new();
        for job in world.cluster.jobs() {
            let containers = job.containers.iter();
            for (key, task) in containers.filter(|(_, task)| world.may_take(job, task)) {
                let pool = self.pool(job.kind(task.priority));
                if over(task.node, pool) > 0 {
                    newest.push((
                        Reverse(task.started_ms),
                        job.facts.job,
                        *key,
                        task.node,
                        pool,
                    ));
                }
            }
        }
        newest.sort();
        let mut taken: BTreeMap<(NodeId, usize), u32> = BTreeMap::new();
        newest.retain(|(_, _, _, node, pool)| {
            let taken = taken.entry((*node, *pool)).or_insert(0);
            *taken += 1;
            *taken <= over(*node, *pool)
        });
        let victim = |(_, job, key, _, _): (_, JobId, ContainerKey, _, _)| Victim { job, key };
        newest.into_iter().map(victim).collect()
    }
}

impl Stage for ReverseAdaptive {
    fn note(&mut self, change: &Change<'_>, world: &World<'_>, stale: &mut Stale) {
        match *change {
            Change::Tick => self.tick(world, stale),
            Change::Started {
                job,
                kind,
                node,
                am,
                ..
            } => self.count((job, kind), (node, am), true, stale),
            Change::Withdrawn {
                job,
                kind,
                node,
                am,
                ..
            } => self.count((job, kind), (node, am), false, stale),
            Change::Ended {
                job,
                kind,
                container,
                succeeded,
                ..
            } => {
                self.count((job, kind), (container.node, container.am), false, stale);
                if succeeded && !container.am {
                    let task_ms = container.task_ms(world.now);
                    self.lengths.sample(job.facts.job, kind, task_ms);
                }
            }
            Change::JobRemoved(job) => {
                self.due = true;
                self.lengths.end(job);
                self.goals.remove(&job.facts.job);
                self.keys.remove(job.facts.job);
            }
            // A job that is in the matrix already waits for the next cycle.
            Change::Asked { job, kind } => {
                self.due |= self.placed(job.facts.job, self.pool(kind)) == Placed::Not;
            }
            Change::JobAdded(job) | Change::JobChanged(job) => {
                self.due = true;
                self.note_goal(job);
            }
            Change::Nodes | Change::Load | Change::Reloaded => self.due = true,
            // No other change concerns slots, tasks or goals.
            _ => {}
        }
    }

    fn lessons(&mut self) -> Vec<(String, String)> {
        self.lengths.lessons()
    }

    fn restore_lesson(&mut self, key: &str, value: &Value) -> bool {
        self.lengths.restore(key, value)
    }

    fn save(&self) -> Value {
        self.lengths.save()
    }

    fn load(&mut self, saved: &Value) {
        self.lengths.load(saved);
    }
}

impl Order for ReverseAdaptive {
    fn key(&self, job: &Job, kind: Kind) -> OrderKey {
        if !job.has_tasks(kind) {
            return outlook::master_key(job);
        }
        let pool = self.pool(kind);
        match self.placed(job.facts.job, pool) {
            Placed::At(key) => key,
            Placed::ByTasks => outlook::effort_key(job, pool),
            Placed::Not => outlook::first_key(job, pool),
        }
    }

    /// The keys of jobs that no plan places follow their running tasks.
    fn follows_usage(&self, _leaf: ShareNodeId) -> bool {
        true
    }

    fn nominates(&self) -> bool {
        true
    }

    fn nominate(&self, node: &Node, pool: usize, jobs: &mut Vec<JobId>) {
        jobs.extend(self.matrix.owed(node.facts.node, pool));
    }

    fn slots(&self, node: &Node, pool: usize) -> Option<u32> {
        self.caps.get(&node.facts.node).map(|caps| caps[pool])
    }

    /// Returns the newest tasks on nodes that run more than the foreign load permits (RA-28).
    fn reclaim(&mut self, world: &World<'_>) -> Vec<Reclaimed> {
        vec![Reclaimed {
            victims: self.crowded_out(world),
            for_others: true,
            ..Reclaimed::default()
        }]
    }
}
