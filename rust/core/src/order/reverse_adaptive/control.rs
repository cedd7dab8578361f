//! One control cycle: reverses the execution of the whole workload, then generates the placement
//! (RA-8, RA-30). Reads the world and returns the matrix and the jobs' keys; changes nothing.
//!
//! Jobs, running tasks, slots and `PERIODS_MAX` periods bound its cost. Heartbeats bear none of it.
//! Without goals there is nothing to place, and a cycle rereads only jobs that changed.

use super::claims::{self, Claim};
use super::matrix::{Cell, Matrix};
use super::outlook::{Claimant, Outlook, outlook};
use super::placement::{Bid, Class, Room, place, standing};
use super::reverse::{Goal, Split, required, reverse, whole_needs};
use super::settings::{Settings, Variant, capacity};
use crate::model::change::World;
use crate::model::cluster::Node;
use crate::model::job::Job;
use crate::model::lengths::Lengths;
use crate::words::ids::{JobId, NodeId, PartitionId, PlaceId, UserId};
use crate::words::keys::{OrderKey, POOLS};
use crate::words::kind::Kind;
use crate::words::resource::Resource;
use crate::words::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of periods in the reversed execution. With more deadlines than that, later ones
/// are grouped, and each group gets its earliest deadline.
const PERIODS_MAX: usize = 64;

/// Maximum number of named hosts that a cycle reads per pool and label, over all jobs and for one.
const HOSTS_MAX: usize = 20_000;
const HOSTS_PER_JOB_MAX: usize = 256;

/// Input of a cycle.
pub(super) struct Cycle<'a> {
    pub(super) world: &'a World<'a>,
    pub(super) settings: &'a Settings,
    pub(super) split: Split,
    pub(super) lengths: &'a Lengths,
    /// Tasks that run, by node.
    pub(super) matrix: &'a Matrix,
    /// Whether any job has a goal.
    pub(super) goals: bool,
}

/// Place of a job's tasks of one pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Placed {
    /// No cycle has seen any of them.
    #[default]
    Not,
    /// The job has no goal that counts: its key follows its running tasks.
    ByTasks,
    At(OrderKey),
}

/// Places by job and pool.
pub(super) type Keys = Table<JobId, [Placed; POOLS]>;

/// Result of a cycle.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Tasks by node, job and pool, in the order of service.
    pub(super) plan: Vec<(NodeId, JobId, usize, u32)>,
    /// Key of each job that can use slots of a pool.
    pub(super) keys: Keys,
    /// Maximum of running tasks on each node under foreign load, by pool.
    pub(super) caps: BTreeMap<NodeId, [u32; POOLS]>,
    /// Number of jobs and slots processed: the measure of the cycle's cost.
    pub(super) size: i64,
}

/// A node as the cycle sees it.
struct Host {
    node: NodeId,
    partition: PartitionId,
    rooms: [Room; POOLS],
}

impl Outcome {
    fn is_like(&self, other: &Outcome) -> bool {
        let (rest, others) = (
            (&self.plan, &self.caps, self.size),
            (&other.plan, &other.caps, other.size),
        );
        rest == others && self.keys.iter().eq(other.keys.iter())
    }

    fn place(&mut self, job: JobId, pool: usize, placed: Placed) {
        match self.keys.get_mut(job) {
            Some(keys) => keys[pool] = placed,
            None => {
                let mut keys = [Placed::Not; POOLS];
                keys[pool] = placed;
                self.keys.insert(job, keys);
            }
        }
    }
}

impl Cycle<'_> {
    pub(super) fn run(&self) -> Outcome {
        if self.goals {
            return self.with_goals();
        }
        let outcome = self.without_goals();
        debug_assert!(
            outcome.is_like(&self.with_goals()),
            "the short way leads to the same"
        );
        outcome
    }

    fn with_goals(&self) -> Outcome {
        let mut outcome = Outcome::default();
        let (hosts, free) = self.hosts(&mut outcome);
        let running = self.running(&hosts);
        for (pool, free) in free.into_iter().enumerate() {
            let mut claimants = self.claimants(pool, free);
            for claimant in &mut claimants {
                let at = (claimant.job, pool);
                let first = running.partition_point(|(of, _)| *of < at);
                let mine = running[first..].iter().take_while(|(of, _)| *of == at);
                claimant.bid.running = mine.map(|(_, place)| *place).collect();
            }
            outcome.size += claimants.len() as i64 + i64::from(self.world.slots[pool]);
            let partitions: BTreeSet<PartitionId> = claimants
                .iter()
                .map(|claimant| claimant.partition)
                .collect();
            for partition in partitions {
                let (inside, outside): (Vec<_>, Vec<_>) = claimants
                    .into_iter()
                    .partition(|claimant| claimant.partition == partition);
                claimants = outside;
                self.place(pool, partition, inside, &hosts, &mut outcome);
            }
        }
        outcome
    }

    /// Finds the jobs that can use slots if none has a goal. Reads rooms only under foreign load.
    fn without_goals(&self) -> Outcome {
        let mut outcome = Outcome::default();
        let cluster = self.world.cluster;
        if cluster.nodes().any(|node| self.load(node) > 0.0) {
            self.hosts(&mut outcome);
        }
        let pools = Kind::ALL.map(|kind| self.world.pool(kind, false));
        for id in cluster.job_ids() {
            let Some(want) = cluster.want(*id) else {
                continue;
            };
            for pool in 0..POOLS {
                let mut kinds = want.active.iter().zip(pools);
                if kinds.any(|(active, of)| *active && of == Some(pool)) {
                    outcome.place(*id, pool, Placed::ByTasks);
                    outcome.size += 1;
                }
            }
        }
        outcome.size += self.world.slots.map(i64::from).iter().sum::<i64>();
        outcome
    }

    /// Returns the jobs that can use slots of the pool, with their needs of `free` slots. RA-12,
    /// RA-13.
    fn claimants(&self, pool: usize, free: f64) -> Vec<Claimant> {
        let mut claimants: Vec<Claimant> = Vec::new();
        // Goals with the index of their claimant; None for tasks that cannot start yet.
        let mut goals: Vec<(Goal, Option<usize>)> = Vec::new();
        let unbelieved = self.unbelieved();
        for job in self.world.cluster.jobs() {
            let believed = !unbelieved.contains(&job.facts.job);
            let outlooks = outlook(job, pool, self.world, self.lengths, self.settings);
            let mut claimant = Claimant::of(job, &outlooks);
            if !believed && let Some(claimant) = &mut claimant {
                claimant.disbelieve(job);
            }
            let index = claimant.as_ref().map(|_| claimants.len());
            claimants.extend(claimant);
            if job.hints.deadline_ms.is_some() && believed {
                let owner = |o: &Outlook| index.filter(|_| o.can_start > 0);
                goals.extend(outlooks.iter().map(|o| (o.goal, owner(o))));
            }
        }
        let needs = self.needs(pool, free, &mut goals);
        let mut fits = vec![0.0; claimants.len()];
        for ((_, owner), need) in goals.iter().zip(needs) {
            if let Some(owner) = owner {
                fits[*owner] += need;
            }
        }
        self.round(&mut claimants, &fits, free);
        self.bound(&mut claimants, free);
        claimants
    }

    /// Returns the jobs whose goals exceed `goals_per_user`.
    fn unbelieved(&self) -> BTreeSet<JobId> {
        let jobs = self.world.cluster.jobs();
        let claims: (Vec<JobId>, Vec<Claim>) = jobs
            .filter_map(|job| {
                let claim = Claim {
                    user: job.facts.user,
                    deadline: job.hints.deadline_ms? as f64,
                    slots: 0.0,
                };
                Some((job.facts.job, claim))
            })
            .unzip();
        let first = claims::first_of_each(&claims.1, self.settings.goals_per_user);
        let all = claims.0.into_iter().zip(first);
        all.filter_map(|(job, first)| (!first).then_some(job))
            .collect()
    }

    /// Takes back the slots of a user's goals beyond `goal_share_per_user`. Late jobs lose theirs
    /// first, because they must not displace jobs on time.
    fn bound(&self, claimants: &mut [Claimant], free: f64) {
        if self.settings.goal_share_per_user >= 1.0 {
            return;
        }
        let with_goal = |claimant: &&mut Claimant| claimant.bid.class != Class::BestEffort;
        let mut with_goal: Vec<&mut Claimant> = claimants.iter_mut().filter(with_goal).collect();
        let claim = |claimant: &&mut Claimant| {
            let job = self.world.cluster.job(claimant.job);
            Claim {
                user: job.map_or(UserId(0), |job| job.facts.user),
                deadline: match claimant.bid.class {
                    Class::Late => f64::INFINITY,
                    _ => claimant.deadline,
                },
                slots: claimant.bid.fit,
            }
        };
        let claims: Vec<Claim> = with_goal.iter().map(claim).collect();
        let most = (self.settings.goal_share_per_user * free).ceil();
        let believed = claims::believed_slots(&claims, most);
        for (claimant, slots) in with_goal.iter_mut().zip(believed) {
            if let Some(job) = self.world.cluster.job(claimant.job)
                && slots <= 0.0
                && claimant.bid.fit > 0.0
            {
                claimant.disbelieve(job);
            }
            claimant.bid.fit = slots;
        }
    }

    /// Returns the slots that each goal needs now, in fractions.
    fn needs(&self, pool: usize, free: f64, goals: &mut [(Goal, Option<usize>)]) -> Vec<f64> {
        let now = self.world.now as f64;
        if self.settings.variant == Variant::Adaptive {
            return goals.iter().map(|(goal, _)| required(now, goal)).collect();
        }
        group_deadlines(now, goals);
        let goals: Vec<Goal> = goals.iter().map(|(goal, _)| *goal).collect();
        let ends = goals.iter().filter_map(|goal| goal.deadline);
        let until = ends.fold(now, f64::max) as i64;
        let mut nodes = self.world.cluster.nodes();
        let observed = nodes.any(|node| node.foreign_per_mille.is_some());
        let capacity = capacity(
            self.settings.foreign_load.as_ref(),
            (self.world.now, until),
            f64::from(self.world.slots[pool]),
            free,
            if observed {
                self.settings.control_period_ms
            } else {
                0
            },
        );
        reverse(now, &capacity, &goals, self.split, None).fit_now
    }

    /// Rounds the needs of jobs on time to whole slots. Late jobs need all the slots that they can
    /// use.
    fn round(&self, claimants: &mut [Claimant], fits: &[f64], free: f64) {
        let on_time: Vec<usize> = (0..claimants.len())
            .filter(|i| claimants[*i].bid.class == Class::OnTime)
            .collect();
        let needs: Vec<(f64, f64)> = on_time
            .iter()
            .map(|i| (fits[*i], claimants[*i].deadline))
            .collect();
        for (i, need) in on_time.into_iter().zip(whole_needs(&needs, free)) {
            claimants[i].bid.fit = f64::from(need);
        }
        for late in claimants.iter_mut().filter(|c| c.bid.class == Class::Late) {
            late.bid.fit = f64::from(late.bid.pending);
        }
    }

    /// Places the claimants of one pool and node label.
    fn place(
        &self,
        pool: usize,
        partition: PartitionId,
        mut claimants: Vec<Claimant>,
        hosts: &[Host],
        outcome: &mut Outcome,
    ) {
        let inside: Vec<usize> = (0..hosts.len())
            .filter(|at| hosts[*at].partition == partition)
            .collect();
        let rooms: Vec<Room> = inside.iter().map(|at| hosts[*at].rooms[pool]).collect();
        let local: BTreeMap<usize, usize> =
            inside.iter().enumerate().map(|(i, at)| (*at, i)).collect();
        let mut names: BTreeMap<PlaceId, usize> = BTreeMap::new();
        for (i, at) in inside.iter().enumerate() {
            if let Some(node) = self.world.cluster.node(hosts[*at].node) {
                names.entry(node.facts.host).or_insert(i);
            }
        }
        let mut looks = HOSTS_MAX;
        let mut bids: Vec<Bid> = Vec::with_capacity(claimants.len());
        for claimant in &mut claimants {
            let mut bid = std::mem::take(&mut claimant.bid);
            bid.running.retain_mut(|(at, _)| match local.get(at) {
                Some(i) => {
                    *at = *i;
                    true
                }
                None => false,
            });
            if let Some(job) = self.world.cluster.job(claimant.job) {
                bid.prefers = prefers(job, self.world, pool, &names, &mut looks);
            }
            bids.push(bid);
        }
        let placement = place(&bids, &rooms);
        let mut order: Vec<usize> = (0..bids.len()).collect();
        // The job farthest below its due is served first.
        let runs = |bid: &Bid| bid.running.iter().map(|(_, count)| count).sum::<u32>();
        order.sort_by_cached_key(|i| (standing(&bids[*i], runs(&bids[*i])), *i));
        for i in order {
            let job = claimants[i].job;
            // Without a goal, no node is better than the first that has room.
            if bids[i].class == Class::BestEffort {
                outcome.place(job, pool, Placed::ByTasks);
                continue;
            }
            for (node, tasks) in &placement.rows[i] {
                let node = hosts[inside[*node]].node;
                outcome.plan.push((node, job, pool, *tasks));
            }
            let key = claimants[i].key(&bids[i], placement.alloc[i]);
            outcome.place(job, pool, Placed::At(key));
        }
    }

    /// Returns the nodes with the room that foreign load and ApplicationMasters leave, and the
    /// total of free slots.
    ///
    /// Carries fractions of slots from node to node: a small load on every node then takes its true
    /// sum of slots, not one from each node. A node with room for one slot has one slot of one
    /// kind: with one of each, maps would take it, and reduces would have no slot anywhere.
    fn hosts(&self, outcome: &mut Outcome) -> (Vec<Host>, [f64; POOLS]) {
        let cluster = self.world.cluster;
        let masters = Masters::of(self.world);
        let mut waiting = masters.waiting.iter();
        let mut free = [0.0; POOLS];
        let mut given = [0.0; POOLS];
        let mut hosts = Vec::new();
        for node in cluster.nodes().filter(|node| node.facts.schedulable) {
            let id = node.facts.node;
            let part = 1.0 - self.load(node);
            let mut resource = node.whole.scaled(part);
            let on_node = masters.running.get(&id).copied().unwrap_or(Resource::ZERO);
            let next = waiting.next().copied().unwrap_or(Resource::ZERO);
            resource = resource.minus_or_zero(&(on_node + next));
            for (pool, free) in free.iter_mut().enumerate() {
                *free += self.slots_of(node, pool, &on_node) * part;
            }
            let caps = whole_slots(&free, &given);
            for (given, cap) in given.iter_mut().zip(caps) {
                *given += f64::from(cap);
            }
            let counted = self.world.config.slots_per_node.is_some() || part < 1.0;
            if part < 1.0 {
                outcome.caps.insert(id, caps);
            }
            hosts.push(Host {
                node: id,
                partition: node.facts.partition,
                rooms: caps.map(|cap| Room {
                    resource,
                    slots: if counted { cap } else { u32::MAX },
                }),
            });
        }
        (hosts, free)
    }

    /// Returns the part of a node that foreign software uses now.
    fn load(&self, node: &Node) -> f64 {
        match node.foreign_per_mille {
            Some(per_mille) => f64::from(per_mille) / 1000.0,
            None => {
                let forecast = self.settings.foreign_load.as_ref();
                forecast.map_or(0.0, |forecast| forecast.at(self.world.now))
            }
        }
    }

    /// Returns how many slots a node has without foreign load. Either they are configured, or they
    /// are its part of the cluster's by memory, without the memory of its ApplicationMasters.
    fn slots_of(&self, node: &Node, pool: usize, masters: &Resource) -> f64 {
        match self.world.config.slots_per_node {
            Some(per_node) => f64::from(per_node[pool]),
            None => {
                let all = self.world.cluster.capacity.memory_mb().max(1) as f64;
                let here = node.facts.capacity.memory_mb() - masters.memory_mb();
                f64::from(self.world.slots[pool]) * (here.max(0) as f64) / all
            }
        }
    }

    /// Returns how many tasks each job runs where, by index of the host: in order of jobs and
    /// pools, then of hosts.
    fn running(&self, hosts: &[Host]) -> Vec<((JobId, usize), (usize, u32))> {
        let cells = self.matrix.cells().filter(|(_, cell)| cell.running > 0);
        let place = |(node, cell): (NodeId, &Cell)| {
            let at = hosts.binary_search_by_key(&node, |host| host.node).ok()?;
            Some(((cell.job, cell.pool), (at, cell.running)))
        };
        let mut running: Vec<_> = cells.filter_map(place).collect();
        // Stable: cells come in order of nodes.
        running.sort_by_key(|(of, _)| *of);
        running
    }
}

/// ApplicationMasters take room, but no slots.
struct Masters {
    running: BTreeMap<NodeId, Resource>,
    /// Resources of pending ApplicationMasters. Each is kept free on one node; otherwise a full
    /// cluster would never start a new job.
    waiting: Vec<Resource>,
}

impl Masters {
    fn of(world: &World<'_>) -> Masters {
        let mut masters = Masters {
            running: BTreeMap::new(),
            waiting: Vec::new(),
        };
        if world.config.slots_per_node.is_some() {
            return masters;
        }
        for job in world.cluster.jobs() {
            for master in job.containers.values().filter(|container| container.am) {
                let held = masters.running.entry(master.node).or_insert(Resource::ZERO);
                *held += master.resource;
            }
            let asked = job.pending().filter(|ask| ask.facts.am && job.runnable);
            masters.waiting.extend(asked.map(|ask| ask.facts.resource));
        }
        masters
    }
}

/// Returns nodes that hold data of the job's pending tasks, and for how many tasks.
fn prefers(
    job: &Job,
    world: &World<'_>,
    pool: usize,
    names: &BTreeMap<PlaceId, usize>,
    looks: &mut usize,
) -> Vec<(usize, u32)> {
    let mut nodes = Vec::new();
    let mut mine = HOSTS_PER_JOB_MAX.min(*looks);
    for ask in job.pending().filter(|ask| !ask.facts.am) {
        if world.pool(job.kind(ask.facts.priority), false) != Some(pool) {
            continue;
        }
        for (place, row) in ask.rows.iter().filter(|(_, row)| row.count > 0) {
            if mine == 0 {
                return nodes;
            }
            (mine, *looks) = (mine - 1, *looks - 1);
            if let Some(node) = names.get(place) {
                nodes.push((*node, row.count.min(ask.facts.count)));
            }
        }
    }
    nodes
}

/// Groups goals if they have more than `PERIODS_MAX` deadlines. The nearest deadlines, half of
/// `PERIODS_MAX`, stay. The others form groups of equal size, each with the earliest deadline in
/// it.
fn group_deadlines(now: f64, goals: &mut [(Goal, Option<usize>)]) {
    let ahead = goals.iter().filter_map(|(goal, _)| goal.deadline);
    let mut deadlines: Vec<f64> = ahead.filter(|at| *at > now).collect();
    deadlines.sort_by(f64::total_cmp);
    deadlines.dedup();
    if deadlines.len() <= PERIODS_MAX {
        return;
    }
    let (near, far) = deadlines.split_at(PERIODS_MAX / 2);
    let part = far.len().div_ceil(PERIODS_MAX / 2);
    let edges: Vec<f64> = near
        .iter()
        .chain(far.iter().step_by(part))
        .copied()
        .collect();
    for (goal, _) in goals {
        if let Some(at) = goal.deadline.filter(|at| *at > now) {
            // The first edge is the first deadline, so no deadline lies before all edges.
            let upto = edges.partition_point(|edge| *edge <= at);
            goal.deadline = Some(edges[upto - 1]);
        }
    }
}

/// Returns the whole slots of a node by pool. `free` is the sum over the nodes up to and including
/// it, `given` the part that earlier nodes got. The node gets the rest, both pools together, in
/// whole slots, each for the pool that is owed most.
fn whole_slots(free: &[f64; POOLS], given: &[f64; POOLS]) -> [u32; POOLS] {
    let mut left = (free.iter().sum::<f64>() + 1e-6).floor() - given.iter().sum::<f64>();
    let mut owed: [f64; POOLS] = std::array::from_fn(|pool| free[pool] - given[pool]);
    let mut caps = [0.0; POOLS];
    for (cap, owed) in caps.iter_mut().zip(&mut owed) {
        *cap = (*owed + 1e-6).floor().clamp(0.0, left);
        *owed -= *cap;
        left -= *cap;
    }
    while left >= 1.0 {
        let most = usize::from(owed[1] > owed[0]);
        caps[most] += 1.0;
        owed[most] -= 1.0;
        left -= 1.0;
    }
    caps.map(|cap| cap as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_goals_become_a_bounded_number_of_periods_none_of_them_later() {
        let goal = |at: f64| Goal {
            tasks: 1.0,
            work: 1.0,
            deadline: Some(at),
            width: None,
        };
        let mut goals: Vec<_> = (1..=1_000).map(|at| (goal(f64::from(at)), None)).collect();
        group_deadlines(0.0, &mut goals);
        let mut edges: Vec<f64> = goals.iter().filter_map(|(goal, _)| goal.deadline).collect();
        for (i, edge) in edges.iter().enumerate() {
            let own = i as f64 + 1.0;
            assert!(*edge <= own, "{own} is not put off");
            assert!(i >= 32 || *edge == own, "the nearest stay");
        }
        edges.dedup();
        assert!(edges.len() <= PERIODS_MAX && edges.len() > PERIODS_MAX - 3);
        let mut few = vec![(goal(5.0), None), (goal(7.5), None), (goal(-1.0), None)];
        let before = few.clone();
        group_deadlines(0.0, &mut few);
        assert_eq!(few, before);
    }

    /// Nodes of two slots for maps and one for reduces with room for one of the three: each has
    /// one slot of one kind, and of three nodes one is for a reduce.
    #[test]
    fn a_node_with_room_for_one_slot_has_one_slot() {
        let (mut free, mut given) = ([0.0; POOLS], [0.0; POOLS]);
        let mut counts = [0; POOLS];
        for _ in 0..30 {
            free = [free[0] + 2.0 / 3.0, free[1] + 1.0 / 3.0];
            let caps = whole_slots(&free, &given);
            assert_eq!(caps.iter().sum::<u32>(), 1, "{free:?}");
            for pool in 0..POOLS {
                counts[pool] += caps[pool];
                given[pool] += f64::from(caps[pool]);
            }
        }
        assert_eq!(counts, [20, 10]);
    }

    #[test]
    fn nodes_without_load_have_their_slots() {
        assert_eq!(whole_slots(&[2.0, 1.0], &[0.0; 2]), [2, 1]);
        assert_eq!(whole_slots(&[4.0, 2.0], &[2.0, 1.0]), [2, 1]);
        assert_eq!(whole_slots(&[7.0, 0.0], &[0.0; 2]), [7, 0]);
    }
}
