//! Slots that queues hold and lack, as input for `reclaim`. Counts only; `reclaim` chooses the
//! victims.

use super::DynamicPriority;
use super::meter::Running;
use super::quota::{Rounding, exact};
use super::reclaim::{Holding, Task};
use crate::model::change::World;
use crate::model::job::Job;
use crate::model::share_tree::ShareNode;
use crate::words::ids::{ContainerKey, JobId};
use crate::words::keys::{Claim, POOLS, ShareNodeId};
use crate::words::kind::Kind;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// A task by its job and key.
type Id = (JobId, ContainerKey);

/// Returns a count of a queue's own jobs. The root's node counts those of all queues.
pub(super) fn own(world: &World<'_>, leaf: usize, count: impl Fn(&ShareNode) -> u32) -> u32 {
    let node = world.tree.node(ShareNodeId(leaf as u32));
    let below = node.children.iter().map(|id| count(world.tree.node(*id)));
    count(node) - below.sum::<u32>()
}

/// Returns the containers of a queue's own jobs.
pub(super) fn running(world: &World<'_>, leaf: usize) -> Running {
    Running {
        slots: std::array::from_fn(|pool| own(world, leaf, |node| node.running[pool])),
        ams: own(world, leaf, |node| node.ams),
    }
}

impl DynamicPriority {
    /// Returns the slots for tasks. Without configured slots they divide the cluster's room, so the
    /// room of ApplicationMasters is deducted. Otherwise the first users would get all their slots,
    /// and the last would lack all the room that masters hold.
    pub(super) fn usable_slots(world: &World<'_>) -> [u32; POOLS] {
        DynamicPriority::usable_of(world.slots, &world.cluster.capacity, world)
    }

    /// The same of other slots, in a cluster of another capacity.
    pub(super) fn usable_of(
        mut slots: [u32; POOLS],
        capacity: &Resource,
        world: &World<'_>,
    ) -> [u32; POOLS] {
        if world.shared() {
            let root = world.tree.node(ShareNodeId::ROOT);
            let room = world
                .cluster
                .compared(&capacity.minus_or_zero(&root.am_used));
            slots[0] = part_of(slots[0], &room, capacity);
        }
        slots
    }

    /// Returns how many slots of a pool are free for a task now.
    pub(super) fn idle(world: &World<'_>, slots: [u32; POOLS], pool: usize) -> u32 {
        let root = world.tree.node(ShareNodeId::ROOT);
        let unused = slots[pool].saturating_sub(root.running[pool]);
        if !world.shared() {
            return unused;
        }
        let capacity = &world.cluster.capacity;
        let room = capacity.minus_or_zero(&world.cluster.used);
        let room = world.cluster.compared(&room);
        unused.min(part_of(world.slots[0], &room, capacity))
    }

    /// Returns the holdings of every leaf in a pool, in the order of names, then those of jobs
    /// with an authority. Each such job keeps its paid slots; its other slots are in no quota.
    pub(super) fn holdings(&self, world: &World<'_>, pool: usize) -> Vec<Holding<Id>> {
        let by_name = self.by_name();
        let mut place = vec![0; self.leaves.len()];
        let mut holdings = Vec::new();
        for (at, leaf) in by_name.into_iter().enumerate() {
            place[leaf] = at;
            let meter = &self.leaves[leaf].meter;
            let running = world.tree.node(ShareNodeId(leaf as u32)).running[pool];
            let (odd, kept) = self.odd_slots(leaf, pool);
            holdings.push(Holding {
                quota: meter.quota[pool].saturating_sub(meter.paid[pool]),
                odd,
                kept,
                starting: running.saturating_sub(meter.bounded[pool]),
                ..Holding::default()
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

    fn by_name(&self) -> Vec<usize> {
        let mut by_name: Vec<usize> = (0..self.leaves.len()).collect();
        by_name.sort_by_key(|leaf| &self.leaves[*leaf].name);
        by_name
    }

    /// Returns what leaves and jobs with an authority lack of what they pay for.
    pub(super) fn claims(&self, holdings: &[Holding<Id>], pool: usize) -> Vec<Claim> {
        let leaves = self.by_name().into_iter().zip(holdings);
        let claim = |(leaf, holding): (usize, &Holding<Id>)| Claim {
            leaf: ShareNodeId(leaf as u32),
            of: None,
            pool,
            count: u32::try_from(holding.lack()).unwrap_or(u32::MAX),
        };
        leaves.map(claim).filter(|claim| claim.count > 0).collect()
    }

    /// Returns how many slots of a quota are the present interval's only, and how many the account
    /// has in other intervals instead. Where the odd slots go round, a task that was paid for would
    /// otherwise be taken at each turn.
    fn odd_slots(&self, leaf: usize, pool: usize) -> (u32, u32) {
        let account = self.accounts.get(&self.leaves[leaf].name);
        let grant = account.and_then(|account| account.grant);
        let Some(grant) = grant.filter(|_| self.settings.policy.rounding == Rounding::Carried)
        else {
            return (0, 0);
        };
        let bought = exact(grant.rate, self.accounts.price(), self.slots[pool]);
        let (least, most) = (bought.floor() as u32, bought.ceil() as u32);
        let quota = grant.quota[pool];
        (quota.saturating_sub(least), most.saturating_sub(quota))
    }
}

/// Returns in how many slots of a pool a job could start tasks.
fn wanted(job: &Job, world: &World<'_>, pool: usize) -> u32 {
    let mut wanted: u32 = 0;
    // A master takes no slot; but where slots divide the cluster's room, it needs the room of one.
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

/// Lists the tasks of a job that run in slots of a pool.
fn hold(holding: &mut Holding<Id>, job: &Job, world: &World<'_>, pool: usize) {
    for (key, container) in &job.containers {
        // A container that must not be taken counts as starting: it holds a slot.
        let named = world.may_take(job, container);
        if named && world.pool(job.kind(container.priority), false) == Some(pool) {
            let id = (job.facts.job, *key);
            holding.starting = holding.starting.saturating_sub(1);
            holding.running.push(Task {
                id,
                job_started: job.facts.submitted_ms,
                progress: u64::from(container.task.progress_per_mille),
                started: container.started_ms,
                committing: container.commits(world.now),
                going: world.evicting.contains(&id),
            });
        }
    }
}

/// Returns the part of `slots` for which `room` suffices in the scarcest resource of `capacity`.
fn part_of(slots: u32, room: &Resource, capacity: &Resource) -> u32 {
    let part = |i: usize| {
        let room = i128::from(room[i].clamp(0, capacity[i]));
        (i128::from(slots) * room / i128::from(capacity[i])) as u32
    };
    let present = (0..RESOURCE_TYPES_MAX).filter(|i| capacity[*i] > 0);
    present.map(part).min().unwrap_or(0)
}
