//! A job's remaining tasks, work and goal, as far as the engine knows, and whether the goal is
//! still within reach. RA-3, RA-11, RA-22, RA-24. Reads one job at a time.

use super::placement::{Bid, Class, standing};
use super::reverse::Goal;
use super::settings::Settings;
use crate::model::change::World;
use crate::model::job::Job;
use crate::model::lengths::Lengths;
use crate::words::ids::{JobId, PartitionId};
use crate::words::keys::OrderKey;
use crate::words::kind::Kind;
use crate::words::resource::Resource;

/// Outlook of one kind of a job's tasks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// Remaining tasks and work; the deadline leaves time for later phases.
    pub(super) goal: Goal,
    /// Number of running and pending tasks, without announced reduces that are not yet asked for.
    pub(super) can_start: u32,
    /// Whether the goal is out of reach.
    late: bool,
}

/// Returns the job's outlook in one pool, kind by kind; only kinds with remaining tasks.
pub(super) fn outlook(
    job: &Job,
    pool: usize,
    world: &World<'_>,
    lengths: &Lengths,
    settings: &Settings,
) -> Vec<Outlook> {
    let kinds = Kind::ALL.into_iter();
    let mine = kinds.filter(|kind| job.has_tasks(*kind) && world.pool(*kind, false) == Some(pool));
    mine.map(|kind| outlook_of(job, kind, world, lengths, settings))
        .filter(|outlook| outlook.goal.tasks > 0.0)
        .collect()
}

fn outlook_of(
    job: &Job,
    kind: Kind,
    world: &World<'_>,
    lengths: &Lengths,
    settings: &Settings,
) -> Outlook {
    let asked = if job.runnable {
        job.pending_of(kind)
    } else {
        0
    };
    let running = job.running_tasks(kind);
    let to_start = asked.max(to_come(job, kind));
    let task_ms = lengths.task_ms(job, kind);
    let mut goal = Goal {
        tasks: f64::from(to_start + running),
        work: f64::from(to_start) * task_ms,
        deadline: None,
        width: Some(f64::from(to_start + running)),
    };
    let mut late = false;
    if let Some(deadline_ms) = job.hints.deadline_ms {
        goal.work += running_work(job, kind, running, task_ms, world);
        let after_ms = if kind == Kind::Map {
            reduce_ms(job, world, lengths)
        } else {
            0.0
        };
        let left_ms = (deadline_ms - world.now) as f64 - after_ms;
        // A task that has not begun takes its whole length, however many slots there are.
        late = left_ms <= 0.0 || (to_start > 0 && left_ms < task_ms);
        // The plan's work is fluid, but tasks are whole. Near the goal the margin shrinks.
        let margin_ms = if to_start > 0 {
            settings.margin_tasks * task_ms
        } else {
            0.0
        };
        let left_ms = (left_ms - margin_ms).max(0.5 * left_ms);
        let now = world.now as f64;
        goal.deadline = Some(if late { now } else { now + left_ms });
    }
    Outlook {
        goal,
        can_start: asked + running,
        late,
    }
}

/// Returns the announced tasks that have not begun. All maps are asked for at once, so that the
/// first ask replaces the hint; reduces are asked for as maps complete.
fn to_come(job: &Job, kind: Kind) -> u32 {
    let hinted = job.hints.tasks.get(kind as usize).copied().flatten();
    let begun = job.done[kind as usize] + job.running[kind as usize];
    let told = kind == Kind::Map && (begun > 0 || job.pending_of(kind) > 0);
    if told {
        0
    } else {
        hinted.unwrap_or(0).saturating_sub(begun)
    }
}

/// Returns the remaining work of running tasks in slot-ms. RA-20's pending work counts the part of
/// a running task that is left, or nothing if it takes longer than the mean.
fn running_work(job: &Job, kind: Kind, running: u32, task_ms: f64, world: &World<'_>) -> f64 {
    let tasks = job.containers.values();
    let tasks = tasks.filter(|task| !task.am && job.kind(task.priority) == kind);
    let (mut work, mut seen) = (0.0, 0);
    for task in tasks {
        work += (task_ms - task.task_ms(world.now) as f64).max(0.0);
        seen += 1;
    }
    // Grants without an answer yet count in full.
    work + f64::from(running.saturating_sub(seen)) * task_ms
}

/// Estimates the length of the reduce phase (RA-24): its waves over all slots.
fn reduce_ms(job: &Job, world: &World<'_>, lengths: &Lengths) -> f64 {
    let kind = Kind::Reduce;
    let reduces = job.pending_of(kind).max(to_come(job, kind)) + job.running_tasks(kind);
    let pool = world.pool(kind, false).unwrap_or(0);
    let waves = reduces.div_ceil(world.slots[pool].max(1));
    f64::from(waves) * lengths.task_ms(job, kind)
}

/// A job that can use slots of a pool now.
#[derive(Clone, Debug)]
pub(super) struct Claimant {
    pub(super) job: JobId,
    /// Node label that its next task needs.
    pub(super) partition: PartitionId,
    /// Deadline of its phase; infinite without a goal.
    pub(super) deadline: f64,
    pub(super) bid: Bid,
    /// Order among equal standings.
    tie: (i64, i64),
}

impl Claimant {
    /// Returns None if no task of the job runs or may start.
    pub(super) fn of(job: &Job, outlooks: &[Outlook]) -> Option<Claimant> {
        let pending: u32 = outlooks.iter().map(|outlook| outlook.can_start).sum();
        let startable = outlooks.iter().filter(|outlook| outlook.can_start > 0);
        let late = startable.clone().any(|outlook| outlook.late);
        let ends = startable.filter_map(|outlook| outlook.goal.deadline);
        let next = job.pending().find(|ask| !ask.facts.am);
        let runs = || job.containers.values().find(|container| !container.am);
        let size = next
            .map(|ask| ask.facts.resource)
            .or_else(|| runs().map(|c| c.resource));
        let bid = Bid {
            pending,
            class: class(job, late),
            size: size.unwrap_or(Resource::ZERO),
            ..Bid::default()
        };
        (pending > 0).then(|| Claimant {
            job: job.facts.job,
            partition: next.map_or(PartitionId(0), |ask| ask.facts.partition),
            deadline: ends.fold(f64::INFINITY, f64::min),
            tie: tie(job),
            bid,
        })
    }

    /// Ignores its goal: it stands with the jobs that have none.
    pub(super) fn disbelieve(&mut self, job: &Job) {
        self.bid.class = Class::BestEffort;
        self.bid.fit = 0.0;
        self.deadline = f64::INFINITY;
        self.tie = without_goal(job);
    }

    /// Returns the job's key if it gets `alloc` slots. Standing counts in coarse steps, so that
    /// small changes move no job.
    pub(super) fn key(&self, bid: &Bid, alloc: u32) -> OrderKey {
        key(standing(bid, alloc), self.tie)
    }
}

fn class(job: &Job, late: bool) -> Class {
    match job.hints.deadline_ms {
        None => Class::BestEffort,
        Some(_) if late => Class::Late,
        Some(_) => Class::OnTime,
    }
}

/// Orders by goal; without one by application priority and submission, like first in, first out.
fn tie(job: &Job) -> (i64, i64) {
    match job.hints.deadline_ms {
        Some(deadline_ms) => (0, deadline_ms),
        None => without_goal(job),
    }
}

fn without_goal(job: &Job) -> (i64, i64) {
    (-i64::from(job.facts.priority), job.facts.submitted_ms)
}

/// Steps per unit of utility (-2 to 1) in a key: fine enough to tell one slot from none.
const STEP: f64 = 32.0;

fn key((contented, utility, class): super::placement::Standing, tie: (i64, i64)) -> OrderKey {
    let steps = ((utility.0 + 2.0) * STEP).floor() as i64;
    let band = (i64::from(contented) * 100 + steps) * 4 + class as i64;
    // Priorities are 32 bits wide.
    OrderKey((band << 33) + tie.0, tie.1)
}

/// Returns the key of a job that no cycle has seen yet: with a goal, that of one without slots.
pub(super) fn first_key(job: &Job, pool: usize) -> OrderKey {
    if job.hints.deadline_ms.is_none() {
        return effort_key(job, pool);
    }
    let bid = Bid {
        fit: 1.0,
        pending: 2,
        ..Bid::default()
    };
    key(standing(&bid, 0), tie(job))
}

/// Returns the key of a job without a goal, or whose goal is not believed: by the slots that it
/// has. A plan would make it wait for the nodes of the plan, behind older jobs everywhere else.
pub(super) fn effort_key(job: &Job, pool: usize) -> OrderKey {
    let bid = Bid {
        pending: u32::MAX,
        class: Class::BestEffort,
        ..Bid::default()
    };
    key(standing(&bid, job.slots[pool]), without_goal(job))
}

/// Returns the key of an ApplicationMaster. Masters go before all tasks, because a job without one
/// is not even known; masters of jobs with a goal go first.
pub(super) fn master_key(job: &Job) -> OrderKey {
    let tie = tie(job);
    let band = i64::from(job.hints.deadline_ms.is_none()) - 2;
    OrderKey((band << 33) + tie.0, tie.1)
}
