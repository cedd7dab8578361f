//! Takes containers back inside a leaf (DI-30): of jobs that go later, for jobs that go first, and
//! of users above their limit, for users below theirs. The parts of jobs are computed as by YARN's
//! `IntraQueueCandidatesSelector`; containers go only where a waiting ask then fits, as between
//! queues. ApplicationMasters never go. Amounts are memory.

use super::Engine;
use super::candidate::Candidate;
use super::labels::Labels;
use crate::config::{By, Compare};
use crate::model::job::{Job, Standing};
use crate::words::ids::{JobId, NodeId, PartitionId, UserId};
use crate::words::keys::ShareNodeId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A leaf whose jobs should have other parts of what it uses on the nodes of a label.
pub(super) struct Inside {
    pub(super) leaf: ShareNodeId,
    pub(super) partition: PartitionId,
    /// The memory that `round_max` still lets this round take of the leaf.
    pub(super) left_mb: i64,
    /// Whether other users' jobs give only what these users have above their limit.
    users_first: bool,
    /// From the first in line to the last.
    jobs: Vec<Part>,
    /// The place of each job in `jobs`.
    places: BTreeMap<JobId, usize>,
    /// The usage of each user above the limit.
    excess_mb: BTreeMap<UserId, i64>,
    /// By node: the containers that may go, in the order in which they go.
    candidates: BTreeMap<NodeId, Vec<Candidate>>,
    /// The job of `jobs` for which room is looked for.
    claimant: usize,
}

/// The memory that is promised to jobs on the nodes of a label.
type Promises = BTreeMap<(JobId, PartitionId), i64>;

/// A job's part of its leaf.
#[derive(Debug)]
struct Part {
    job: JobId,
    user: UserId,
    priority: i32,
    used_mb: i64,
    pending_mb: i64,
    /// Its part beyond its usage.
    lacking_mb: i64,
    /// Its usage beyond its part.
    surplus_mb: i64,
}

/// Why a job's container may go for another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    Priority,
    /// As far as the user is above the limit.
    Excess,
}

impl Inside {
    fn claim(&self, by: &Part, of: &Part) -> Option<Claim> {
        let goes_first = by.priority > of.priority;
        let exceeds = self.excess_mb.get(&of.user).is_some_and(|mb| *mb > 0);
        match (by.user == of.user, self.users_first) {
            (true, _) => goes_first.then_some(Claim::Priority),
            (false, true) => exceeds.then_some(Claim::Excess),
            (false, false) if goes_first => Some(Claim::Priority),
            (false, false) => (exceeds && by.priority == of.priority).then_some(Claim::Excess),
        }
    }

    fn part(&self, job: JobId) -> Option<&Part> {
        self.places.get(&job).map(|at| &self.jobs[*at])
    }

    /// The jobs that lack something, by their place in the line, and how much.
    pub(super) fn claims(&self) -> Vec<(usize, JobId, i64)> {
        let lacking = self.jobs.iter().enumerate();
        lacking
            .filter(|(_, part)| part.lacking_mb > 0)
            .map(|(at, part)| (at, part.job, part.lacking_mb))
            .collect()
    }

    /// Looks for room for the job at this place of the line from now on.
    pub(super) fn claim_for(&mut self, place: usize) {
        self.claimant = place;
    }

    /// Sorts the candidates of a node, once for all asks: the last job first, there the request of
    /// the least priority, then the newest. Their rank is that of their job.
    pub(super) fn rank(&mut self, node: NodeId, all: &[Candidate]) {
        let of_leaf = all.iter().filter(|c| c.leaf == self.leaf && !c.am);
        let ranked = of_leaf.filter_map(|c| {
            let place = self.places.get(&c.job)?;
            let mut candidate = *c;
            candidate.rank = self.jobs.len() - 1 - place;
            (self.jobs[*place].surplus_mb > 0).then_some(candidate)
        });
        let mut ranked: Vec<Candidate> = ranked.collect();
        ranked.sort_by_key(|c| (c.rank, Reverse((c.priority, c.started_ms)), c.key));
        self.candidates.insert(node, ranked);
    }

    /// The containers of a node that may go, in order.
    pub(super) fn candidates(&self, node: NodeId) -> &[Candidate] {
        self.candidates.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Whether a container may go beside those `taken` already. A user is left a little above the
    /// limit, as in stock: the next grant would bring the user there anyway.
    pub(super) fn offers(&self, candidate: &Candidate, taken: &[Candidate]) -> bool {
        let Some(of) = self.part(candidate.job) else {
            return false;
        };
        let by = &self.jobs[self.claimant];
        let Some(claim) = self.claim(by, of) else {
            return false;
        };
        let mb = candidate.resource.memory_mb();
        let sum = |counts: &dyn Fn(&Candidate) -> bool| -> i64 {
            let counted = taken.iter().filter(|c| counts(c));
            counted.map(|c| c.resource.memory_mb()).sum()
        };
        let user = |job: JobId| self.part(job).map(|part| part.user);
        let of_user_mb = sum(&|c| user(c.job) == Some(of.user));
        let excess_mb = self.excess_mb.get(&of.user).copied().unwrap_or(0);
        sum(&|_| true) < self.left_mb
            && sum(&|c| c.job == of.job) + mb <= of.surplus_mb
            && (claim == Claim::Priority || of_user_mb + mb < excess_mb)
    }

    /// Books containers of a node that go.
    pub(super) fn take(&mut self, node: NodeId, victims: &[Candidate]) {
        if let Some(candidates) = self.candidates.get_mut(&node) {
            let goes = |c: &Candidate| victims.iter().any(|v| (v.job, v.key) == (c.job, c.key));
            candidates.retain(|c| !goes(c));
        }
        for victim in victims {
            let mb = victim.resource.memory_mb();
            self.left_mb -= mb;
            if let Some(at) = self.places.get(&victim.job).copied() {
                self.jobs[at].surplus_mb -= mb;
                let user = self.jobs[at].user;
                *self.excess_mb.entry(user).or_default() -= mb;
            }
        }
    }
}

impl Engine {
    /// The leaves in which containers may go in this round.
    pub(super) fn insides(&self, labels: &Labels) -> Vec<Inside> {
        let mut insides = Vec::new();
        let preemption = &self.setup.config.preemption;
        let Some(settings) = &preemption.inside else {
            return insides;
        };
        if !self.is_busy_enough() {
            return insides;
        }
        let mut jobs: BTreeMap<ShareNodeId, Vec<&Job>> = BTreeMap::new();
        for job in self.cluster.jobs() {
            jobs.entry(job.leaf).or_default().push(job);
        }
        let promises = self.promises_of_jobs();
        for (leaf, jobs) in jobs.iter().filter(|(_, jobs)| jobs.len() > 1) {
            let node = self.tree.node(*leaf);
            if !self.cluster.queues.takes_inside(node.queue) {
                continue;
            }
            for (partition, label) in labels.iter() {
                let guarantee_mb = match node.compared_by {
                    Some(Compare::Capacity) => label.guaranteed_mb(*leaf),
                    _ => label.fair_mb(*leaf),
                };
                let used_mb = label.used_and_going_mb(*leaf);
                let least_mb = guarantee_mb as f64 * settings.usage_min;
                let allowed_mb = (guarantee_mb as f64 * settings.round_max) as i64;
                let left_mb = allowed_mb - label.going_of_mb(*leaf);
                let asks = label.pending_mb(*leaf) > 0;
                if !asks || left_mb <= 0 || (used_mb as f64) < least_mb {
                    continue;
                }
                let mut inside = Inside {
                    leaf: *leaf,
                    partition,
                    left_mb,
                    users_first: settings.users_first,
                    jobs: Vec::new(),
                    places: BTreeMap::new(),
                    excess_mb: BTreeMap::new(),
                    candidates: BTreeMap::new(),
                    claimant: 0,
                };
                self.divide_inside(&mut inside, jobs, &promises);
                if inside.jobs.iter().any(|part| part.lacking_mb > 0) {
                    insides.push(inside);
                }
            }
        }
        insides
    }

    /// The memory that is promised to each job on the nodes of a label.
    fn promises_of_jobs(&self) -> Promises {
        let mut promises = Promises::new();
        for (_, promise) in self.promises() {
            let at = (promise.job, promise.size.partition);
            *promises.entry(at).or_insert(0) += promise.size.resource.memory_mb();
        }
        promises
    }

    /// Divides what a leaf uses among its jobs: to each in the order of the line what it uses and
    /// asks for, as far as its user's limit and what is left allow.
    fn divide_inside(&self, inside: &mut Inside, jobs: &[&Job], promises: &Promises) {
        let partition = inside.partition;
        let queue = self.tree.node(inside.leaf).queue;
        let promised = |job: &Job| promises.get(&(job.facts.job, partition)).copied();
        let parts = jobs.iter().map(|job| {
            let mut part = self.part_of(job, partition);
            let promised_mb = promised(job).unwrap_or(0);
            part.used_mb += promised_mb;
            part.pending_mb = (part.pending_mb - promised_mb).max(0);
            part
        });
        inside.jobs = parts.collect();
        let mut of_users: BTreeMap<UserId, i64> = BTreeMap::new();
        for part in &inside.jobs {
            *of_users.entry(part.user).or_default() += part.used_mb;
        }
        // The rest of each user's limit, without ApplicationMasters.
        let mut rest_mb = self.tasks_of_users_mb(queue, partition).unwrap_or_default();
        for (user, most_mb) in &rest_mb {
            let used_mb = of_users.get(user).copied().unwrap_or(0);
            inside.excess_mb.insert(*user, used_mb - most_mb);
        }
        let config = self.cluster.queues.get(queue).map(|queue| &queue.config);
        let fair = config.is_some_and(|config| config.leaf_order.by != By::Fifo);
        let by_use = fair && inside.users_first;
        inside.jobs.sort_by_key(|part| {
            let used_mb = by_use.then(|| of_users[&part.user]);
            (used_mb, self.cluster.turn(part.job))
        });
        let places = inside.jobs.iter().enumerate();
        inside.places = places.map(|(at, part)| (part.job, at)).collect();
        let step_mb = match inside.users_first {
            true => self.setup.minimum_allocation.memory_mb(),
            false => 0,
        };
        let mut left_mb: i64 = of_users.values().sum();
        for part in &mut inside.jobs {
            let of_user_mb = rest_mb.get(&part.user).copied().unwrap_or(i64::MAX);
            let most_mb = left_mb.min(of_user_mb).max(0);
            let ideal_mb = (part.used_mb + part.pending_mb).min(most_mb);
            left_mb -= ideal_mb;
            if let Some(rest_mb) = rest_mb.get_mut(&part.user) {
                *rest_mb -= ideal_mb;
            }
            part.lacking_mb = (ideal_mb - part.used_mb).max(0);
            part.surplus_mb = (part.used_mb - ideal_mb - step_mb).max(0);
        }
    }

    /// Sums a job's containers and asks for the nodes of a label, without ApplicationMasters.
    fn part_of(&self, job: &Job, partition: PartitionId) -> Part {
        let id = job.facts.job;
        let stays = |key| !self.evicting.contains(&(id, key));
        let used = job.containers.iter().filter(|(key, container)| {
            container.partition == partition && !container.am && stays(**key)
        });
        let asks = job.pending().filter(|ask| {
            ask.facts.partition == partition && !ask.facts.am && ask.standing != Standing::Out
        });
        Part {
            job: id,
            user: job.facts.user,
            priority: job.facts.priority,
            used_mb: used.map(|(_, c)| c.resource.memory_mb()).sum(),
            pending_mb: asks
                .map(|ask| ask.facts.resource.times(i64::from(ask.facts.count)))
                .map(|wanted| wanted.memory_mb())
                .sum(),
            lacking_mb: 0,
            surplus_mb: 0,
        }
    }
}
