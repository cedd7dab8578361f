//! What queues hold and lack of the slots, for whoever takes slots back. Counts only; who loses
//! what is in `reclaim`.

use super::DynamicPriority;
use super::reclaim::{Holding, Task};
use crate::model::change::World;
use crate::model::job::Job;
use crate::words::ids::{ContainerKey, JobId};
use crate::words::keys::{POOLS, ShareNodeId};
use crate::words::kind::Kind;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// A task by its job and key.
type Id = (JobId, ContainerKey);

impl DynamicPriority {
    /// Slots that tasks can have: the engine's count, less the room of ApplicationMasters where
    /// slots are but a part of the cluster's room. Else their users' first come would be served
    /// in full, and the last would be short of all that the masters hold.
    pub(super) fn usable_slots(world: &World<'_>) -> [u32; POOLS] {
        let mut slots = world.slots;
        if world.shared() {
            let leaves = world.tree.ids().map(|id| world.tree.node(id));
            let masters = leaves.fold(Resource::ZERO, |sum, leaf| sum + leaf.am_used);
            let room = world.cluster.capacity.minus_or_zero(&masters);
            slots[0] = part_of(slots[0], &room, &world.cluster.capacity);
        }
        slots
    }

    /// Slots of a pool in which a task could start now.
    pub(super) fn idle(world: &World<'_>, slots: [u32; POOLS], pool: usize) -> u32 {
        let root = world.tree.node(ShareNodeId::ROOT);
        let unused = slots[pool].saturating_sub(root.running[pool]);
        if !world.shared() {
            return unused;
        }
        let capacity = &world.cluster.capacity;
        let room = capacity.minus_or_zero(&world.cluster.used);
        unused.min(part_of(world.slots[0], &room, capacity))
    }

    /// What every account has of a pool, in the order of names; then what jobs with an authority
    /// have, each of which keeps what it pays for: the rest of it is nobody's quota.
    pub(super) fn holdings(&self, world: &World<'_>, pool: usize) -> Vec<Holding<Id>> {
        let mut by_name: Vec<usize> = (0..self.leaves.len()).collect();
        by_name.sort_by_key(|leaf| &self.leaves[*leaf].name);
        let mut place = vec![0; self.leaves.len()];
        let mut holdings = Vec::new();
        for (at, leaf) in by_name.into_iter().enumerate() {
            place[leaf] = at;
            let meter = &self.leaves[leaf].meter;
            let running = world.tree.node(ShareNodeId(leaf as u32)).running[pool];
            holdings.push(Holding {
                quota: meter.quota[pool].saturating_sub(meter.paid[pool]),
                pending: 0,
                starting: running.saturating_sub(meter.bounded[pool]),
                running: Vec::new(),
            });
        }
        for job in world.cluster.jobs() {
            let Some(at) = place.get(job.leaf.index()) else {
                continue;
            };
            let holding = &mut holdings[*at];
            let wanted = wanted(job, world, pool);
            let Some((paid, more)) = self.paid_slots(job, pool, world.now) else {
                holding.pending = holding.pending.saturating_add(wanted);
                hold(holding, job, world, pool);
                continue;
            };
            holding.pending = holding.pending.saturating_add(wanted.min(more));
            let mut own = Holding {
                quota: paid,
                starting: job.slots[pool],
                ..Holding::default()
            };
            hold(&mut own, job, world, pool);
            holdings.push(own);
        }
        holdings
    }
}

/// How many slots of a pool a job could start tasks in.
fn wanted(job: &Job, world: &World<'_>, pool: usize) -> u32 {
    let mut wanted: u32 = 0;
    // A master takes no slot, but where all tasks' room is slots it needs that of one.
    if job.runnable && world.shared() && pool == 0 {
        wanted = job.pending_masters();
    }
    for kind in Kind::ALL {
        let waits = job.runnable && job.admitted[kind as usize];
        if waits && world.pool(kind, false) == Some(pool) {
            wanted = wanted.saturating_add(job.pending_of(kind));
        }
    }
    wanted
}

/// Names the tasks of a job that run in slots of a pool.
fn hold(holding: &mut Holding<Id>, job: &Job, world: &World<'_>, pool: usize) {
    for (key, container) in &job.containers {
        // What may not be taken holds its slot as what cannot be named yet.
        let named = world.may_take(job, container);
        if named && world.pool(job.kind(container.priority), false) == Some(pool) {
            let id = (job.facts.job, *key);
            holding.starting = holding.starting.saturating_sub(1);
            holding.running.push(Task {
                id,
                job_started: job.facts.submitted_ms,
                progress: u64::from(container.task.progress_per_mille),
                started: container.started_ms,
                committing: container.task.committing,
                going: world.evicting.contains(&id),
            });
        }
    }
}

/// As many of `slots` as the scarcest part of `capacity` that is in `room` holds.
fn part_of(slots: u32, room: &Resource, capacity: &Resource) -> u32 {
    let part = |i: usize| {
        let room = i128::from(room[i].clamp(0, capacity[i]));
        (i128::from(slots) * room / i128::from(capacity[i])) as u32
    };
    let present = (0..RESOURCE_TYPES_MAX).filter(|i| capacity[*i] > 0);
    present.map(part).min().unwrap_or(0)
}
