//! What a job has before it, as far as the engine knows: tasks, work, goal, and whether the goal
//! can be met at all. RA-3, RA-11, RA-22, RA-24. Looks at one job at a time.

use super::placement::{Bid, Class, standing};
use super::reverse::Goal;
use crate::model::change::World;
use crate::model::job::Job;
use crate::model::lengths::Lengths;
use crate::words::ids::{JobId, PartitionId};
use crate::words::keys::OrderKey;
use crate::words::kind::Kind;
use crate::words::resource::Resource;

/// The tasks of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// What is left of them; of the goal, what the phases after them leave.
    pub(super) goal: Goal,
    /// How many run or are asked for: reduces come into being later than their job.
    pub(super) can_start: u32,
    /// Whether the goal is out of reach.
    late: bool,
}

/// What the job has before it in one pool, kind by kind; only kinds with something left.
pub(super) fn outlook(
    job: &Job,
    pool: usize,
    world: &World<'_>,
    lengths: &Lengths,
) -> Vec<Outlook> {
    let kinds = Kind::ALL.into_iter();
    let mine = kinds.filter(|kind| is_task(job, *kind) && world.pool(*kind, false) == Some(pool));
    mine.map(|kind| outlook_of(job, kind, world, lengths))
        .filter(|outlook| outlook.goal.tasks > 0.0)
        .collect()
}

fn outlook_of(job: &Job, kind: Kind, world: &World<'_>, lengths: &Lengths) -> Outlook {
    let asked = if job.runnable {
        job.pending_of(kind)
    } else {
        0
    };
    let running = running(job, kind);
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
        let now = world.now as f64;
        goal.deadline = Some(if late { now } else { now + left_ms });
    }
    Outlook {
        goal,
        can_start: asked + running,
        late,
    }
}

/// Tasks that run; ApplicationMasters are none.
fn running(job: &Job, kind: Kind) -> u32 {
    let masters = if kind == Kind::Other {
        job.containers
            .values()
            .filter(|container| container.am)
            .count() as u32
    } else {
        0
    };
    job.running[kind as usize].saturating_sub(masters)
}

/// Tasks that the job was said to have in all and has not begun. Maps are all asked for at once,
/// so the first ask tells better; reduces are asked for as maps complete.
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

/// What the running tasks have yet to do, in slot-ms: RA-20's pending work counts a task that
/// runs by the part of it that is left, none if it takes longer than the mean.
fn running_work(job: &Job, kind: Kind, running: u32, task_ms: f64, world: &World<'_>) -> f64 {
    let tasks = job.containers.values();
    let tasks = tasks.filter(|task| !task.am && job.kind(task.priority) == kind);
    let (mut work, mut seen) = (0.0, 0);
    for task in tasks {
        work += (task_ms - task.task_ms(world.now) as f64).max(0.0);
        seen += 1;
    }
    // Grants that were not answered yet.
    work + f64::from(running.saturating_sub(seen)) * task_ms
}

/// How long the reduce phase is estimated to take (RA-24): its waves over all slots.
fn reduce_ms(job: &Job, world: &World<'_>, lengths: &Lengths) -> f64 {
    let kind = Kind::Reduce;
    let reduces = job.pending_of(kind).max(to_come(job, kind)) + running(job, kind);
    let pool = world.pool(kind, false).unwrap_or(0);
    let waves = reduces.div_ceil(world.slots[pool].max(1));
    f64::from(waves) * lengths.task_ms(job, kind)
}

/// A job that can use slots of a pool now.
#[derive(Clone, Debug)]
pub(super) struct Claimant {
    pub(super) job: JobId,
    /// The node label that its next task needs.
    pub(super) partition: PartitionId,
    /// When its phase should be done; in the order of submission for those without a goal.
    pub(super) deadline: f64,
    pub(super) bid: Bid,
    /// The order among those who stand alike.
    tie: (i64, i64),
}

impl Claimant {
    /// None if nothing of the job runs or may be started.
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

    /// Its goal does not count: it stands with the jobs that have none.
    pub(super) fn disbelieve(&mut self, job: &Job) {
        self.bid.class = Class::BestEffort;
        self.bid.fit = 0.0;
        self.deadline = f64::INFINITY;
        self.tie = without_goal(job);
    }

    /// The job's place in the order with so many slots: by standing, in coarse steps, so that
    /// small changes move nobody.
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

/// By goal; without one by application priority and submission, as first in, first out.
fn tie(job: &Job) -> (i64, i64) {
    match job.hints.deadline_ms {
        Some(deadline_ms) => (0, deadline_ms),
        None => without_goal(job),
    }
}

fn without_goal(job: &Job) -> (i64, i64) {
    (-i64::from(job.facts.priority), job.facts.submitted_ms)
}

/// Steps of utility from -2 to 1 in a key, by 1/16.
const STEP: f64 = 16.0;

fn key((contented, utility, class): super::placement::Standing, tie: (i64, i64)) -> OrderKey {
    let steps = ((utility.0 + 2.0) * STEP).floor() as i64;
    let band = (i64::from(contented) * 100 + steps) * 4 + class as i64;
    // Priorities are 32 bits wide.
    OrderKey((band << 33) + tie.0, tie.1)
}

/// The key of a job of which no cycle has heard: as one that has nothing.
pub(super) fn first_key(job: &Job) -> OrderKey {
    let bid = Bid {
        fit: if job.hints.deadline_ms.is_some() {
            1.0
        } else {
            0.0
        },
        pending: 2,
        class: class(job, false),
        ..Bid::default()
    };
    key(standing(&bid, 0), tie(job))
}

/// The key of an ApplicationMaster: before all tasks, as a job without one is not even known, and
/// those of jobs with a goal before the others.
pub(super) fn master_key(job: &Job) -> OrderKey {
    let tie = tie(job);
    let band = i64::from(job.hints.deadline_ms.is_none()) - 2;
    OrderKey((band << 33) + tie.0, tie.1)
}

/// Whether tasks of the kind are such as the papers speak of; the only `Other` container of a
/// MapReduce job is its ApplicationMaster.
pub(super) fn is_task(job: &Job, kind: Kind) -> bool {
    kind != Kind::Other || !job.facts.mapreduce
}
