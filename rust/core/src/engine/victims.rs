//! Picks the containers that must end so that a starved queue's asks fit. Node by node, because an
//! ask needs all its room on one node. Plans on copies and changes nothing.

use super::Engine;
use super::asks::{CutAt, asks_in_order};
use super::budget::Budget;
use super::candidate::Candidate;
use super::inside::Inside;
use super::labels::{Labels, Surplus};
use super::need::Need;
use super::promises::Promised;
use super::search::Pick;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job, Standing};
use crate::words::event::EvictReason;
use crate::words::ids::{AskId, ContainerKey, JobId, Millis, NodeId, PartitionId};
use crate::words::keys::{POOLS, ShapeId, ShareKey, ShareNodeId};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most evictions in a tick: bounds the work, and shows their effect before more follow.
pub(super) const EVICTIONS_MAX: usize = 100;

/// The most containers for which a round looks for room: bounds its work where room is free
/// already.
const SERVED_MAX: usize = 4 * EVICTIONS_MAX;

/// How many nodes and candidates a tick looks at. The next one goes on where it ended.
const LOOKS_MAX: usize = 40_000;

/// The room of a node once all evicted containers have ended, less what is promised or planned.
#[derive(Debug)]
struct Room {
    free: Resource,
    /// The containers that go in this round for the need that is planned for.
    made: Vec<(JobId, ContainerKey)>,
    /// Free slots by pool.
    slots: [i64; POOLS],
    candidates: Vec<Candidate>,
}

/// The containers to evict so that one ask fits one node.
#[derive(Debug)]
pub(super) struct Eviction {
    pub(super) node: NodeId,
    /// The ask that gets the room.
    pub(super) pick: Pick,
    pub(super) victims: Vec<(JobId, ContainerKey)>,
    /// These, or those of earlier plans that have left room for it as well.
    pub(super) made_by: Vec<(JobId, ContainerKey)>,
}

/// A plan's cost; the lowest wins. First the fewest ApplicationMasters (inside a leaf: the last
/// jobs of the line), nodes where the ask may run now, then the least memory lost, the fewest
/// containers, the queue furthest above its share, the latest starts.
type Cost = (usize, bool, i64, usize, usize, Reverse<Millis>, NodeId);

/// One round of preemption.
pub(super) struct Round<'a> {
    engine: &'a Engine,
    rooms: BTreeMap<NodeId, Room>,
    /// The surplus of each leaf above its share on the nodes of a label.
    surplus: Surplus,
    /// The part of it that may be taken.
    takable: Surplus,
    /// What the leaves below a queue would yield to the need that is planned for, by queue.
    yields: BTreeMap<ShareNodeId, Resource>,
    /// The jobs of each leaf.
    jobs: BTreeMap<ShareNodeId, Vec<&'a Job>>,
    promised: Promised,
    budget: Budget,
    /// The usage that the plan adds to each node of a label's tree, less that of the victims.
    planned: BTreeMap<(PartitionId, ShareNodeId), Resource>,
    /// Planned usage of ApplicationMasters, by label and leaf.
    masters: BTreeMap<(PartitionId, ShareNodeId), Resource>,
    /// The leaves that get room of a label's nodes without anything going for them. They give
    /// nothing in this round: what they get could have been left to others.
    gets: BTreeSet<(PartitionId, ShareNodeId)>,
    /// The leaf inside which containers may go now, if they go inside one.
    inside: Option<Inside>,
    served: usize,
    evictions: usize,
    looks: Cell<usize>,
    /// Whether the queue of the last `plan` still lacks something.
    pub(super) is_unmet: bool,
    /// Where the next tick goes on, if this one may look no further.
    pub(super) cut_at: Option<CutAt>,
}

impl<'a> Round<'a> {
    pub(super) fn new(engine: &'a Engine, labels: &Labels, insides: &[Inside]) -> Round<'a> {
        let mut jobs: BTreeMap<ShareNodeId, Vec<&Job>> = BTreeMap::new();
        for job in engine.cluster.jobs() {
            jobs.entry(job.leaf).or_default().push(job);
        }
        let mut round = Round {
            engine,
            rooms: BTreeMap::new(),
            surplus: labels.surplus(engine),
            takable: Surplus::new(),
            yields: BTreeMap::new(),
            jobs,
            promised: engine.promised.clone(),
            budget: Budget::new(engine, labels),
            planned: BTreeMap::new(),
            masters: BTreeMap::new(),
            gets: BTreeSet::new(),
            inside: None,
            served: 0,
            evictions: 0,
            looks: Cell::new(0),
            is_unmet: false,
            cut_at: None,
        };
        for node in engine.cluster.nodes().filter(|n| n.facts.schedulable) {
            let full = engine.slots_left(node);
            let room = Room {
                // Includes stopped containers that the node has yet to confirm.
                free: node.whole - node.used,
                made: Vec::new(),
                slots: full,
                candidates: Vec::new(),
            };
            round.rooms.insert(node.facts.node, room);
        }
        for (node, promise) in engine.promises() {
            let size = &promise.size;
            round.book(node, promise.leaf, size.resource, size.pool);
        }
        round.collect(insides);
        round
    }

    /// Sorts containers by node: evicted ones count as room, those that may go are candidates.
    fn collect(&mut self, insides: &[Inside]) {
        let engine = self.engine;
        let masters = engine.setup.config.preemption.masters;
        let share = |(partition, _): &(PartitionId, ShareNodeId), surplus: &Resource| {
            let share = surplus.dominant_share(&engine.capacity_of(*partition));
            Reverse(share.max(0.0).to_bits())
        };
        let mut ranks: Vec<_> = self.surplus.iter().collect();
        ranks.sort_by_key(|(at, surplus)| (share(at, surplus), **at));
        let ranks: BTreeMap<_, _> = ranks
            .iter()
            .enumerate()
            .map(|(i, (at, _))| (**at, i))
            .collect();
        for job in engine.cluster.jobs() {
            let takes = engine.cluster.queues.may_take_from(&job.facts);
            let inside = insides.iter().any(|inside| inside.leaf == job.leaf);
            for (key, container) in &job.containers {
                let Some(node) = engine.cluster.node(container.node) else {
                    continue;
                };
                let Some(room) = self.rooms.get_mut(&container.node) else {
                    continue;
                };
                let pool = engine.pool_of(job.facts.job, container);
                if engine.evicting.contains(&(job.facts.job, *key)) {
                    room.free += container.resource;
                    count_slot(&mut room.slots, pool);
                    for at in engine.tree.path_up(job.leaf) {
                        let at = (engine.tree_label(node.facts.partition), at);
                        let planned = self.planned.entry(at).or_default();
                        *planned -= container.resource;
                    }
                    continue;
                }
                let rank = ranks.get(&(node.facts.partition, job.leaf)).copied();
                let rank = rank.or(inside.then_some(ranks.len()));
                if let Some(rank) = rank.filter(|_| takes && (masters || !container.am)) {
                    let at = (node.facts.partition, job.leaf);
                    *self.takable.entry(at).or_default() += container.resource;
                    room.candidates.push(Candidate {
                        job: job.facts.job,
                        key: *key,
                        leaf: job.leaf,
                        priority: container.priority,
                        am: container.am,
                        lent: container.lent,
                        rank,
                        started_ms: container.started_ms,
                        resource: container.resource,
                        pool,
                    });
                }
            }
        }
        for room in self.rooms.values_mut() {
            let order =
                |c: &Candidate| (c.am, !c.lent, c.rank, Reverse(c.started_ms), c.job, c.key);
            room.candidates.sort_unstable_by_key(order);
        }
        for (at, amount) in &mut self.takable {
            let surplus = self.surplus.get(at).copied().unwrap_or_default();
            *amount = amount.component_min(&surplus);
        }
    }

    /// Counts what an ask of a leaf gets on a node.
    fn book(&mut self, id: NodeId, leaf: ShareNodeId, size: Resource, pool: Option<usize>) {
        let Some(room) = self.rooms.get_mut(&id) else {
            return;
        };
        room.free -= size;
        if let Some(pool) = pool {
            room.slots[pool] -= 1;
        }
        let node = self.engine.cluster.node(id).expect("it has room");
        let book = self.engine.tree_label(node.facts.partition);
        for at in self.engine.tree.path_up(leaf) {
            *self.planned.entry((book, at)).or_default() += size;
        }
    }

    /// Plans evictions until the queue gets what it lacks, ask by ask in order of service. Room
    /// that is free, or about to be, counts first. `from` is the ask to begin with.
    pub(super) fn plan(&mut self, need: &Need, from: Option<(JobId, AskId)>) -> Vec<Eviction> {
        self.yields.clear();
        if need.reason == EvictReason::MinShare {
            self.count_yields(need);
        }
        self.plan_for(need, from, |_| true)
    }

    /// Sums what goes after a queue below its minimum in the queues above it, and may be taken: a
    /// sibling of those gives room as if they had that much less, and gets it from there.
    fn count_yields(&mut self, need: &Need) {
        let tree = self.engine.tree_of(need.partition);
        if self
            .key(need.leaf, self.engine.tree_label(need.partition))
            .class
            > 0
        {
            return;
        }
        let above: BTreeSet<ShareNodeId> = tree.path_up(need.leaf).skip(1).collect();
        for ((partition, leaf), amount) in &self.takable {
            if *partition == need.partition && *leaf != need.leaf {
                for at in tree.path_up(*leaf).filter(|at| above.contains(at)) {
                    *self.yields.entry(at).or_default() += *amount;
                }
            }
        }
    }

    /// Plans evictions inside a leaf, for the jobs that lack something in their order. `from` is
    /// the ask to begin with.
    pub(super) fn plan_inside(
        &mut self,
        mut inside: Inside,
        from: Option<(JobId, AskId)>,
    ) -> Vec<(Need, Eviction)> {
        for (node, room) in &self.rooms {
            inside.rank(*node, &room.candidates);
        }
        let (leaf, partition) = (inside.leaf, inside.partition);
        let claims = inside.claims();
        let mut plans = Vec::new();
        self.inside = Some(inside);
        let is_first = |job: JobId| from.is_some_and(|from| from.0 == job);
        let first = claims.iter().position(|(_, job, _)| is_first(*job));
        for (place, id, lacking_mb) in claims.into_iter().skip(first.unwrap_or(0)) {
            let inside = self.inside.as_mut().expect("it was just set");
            inside.claim_for(place);
            let need = Need {
                leaf,
                partition,
                lacking: Resource::new(lacking_mb, 0),
                reason: EvictReason::Inside,
            };
            let from = from.filter(|from| from.0 == id);
            let of_job = self.plan_for(&need, from, |job| job.facts.job == id);
            plans.extend(of_job.into_iter().map(|plan| (need, plan)));
        }
        self.inside = None;
        plans
    }

    /// Plans evictions for some of a queue's jobs.
    fn plan_for(
        &mut self,
        need: &Need,
        from: Option<(JobId, AskId)>,
        wanted: impl Fn(&Job) -> bool,
    ) -> Vec<Eviction> {
        let mut plans = Vec::new();
        let mut got = Resource::ZERO;
        // Asks that are served alike find nothing alike.
        let mut hopeless: BTreeSet<(ShapeId, Option<JobId>)> = BTreeSet::new();
        self.rooms.values_mut().for_each(|room| room.made.clear());
        self.is_unmet = true;
        let jobs = self.jobs.get(&need.leaf).into_iter().flatten().copied();
        let asks = asks_in_order(jobs.filter(|job| wanted(job)), Some(need.partition));
        let id = |(job, ask): &(&Job, &Ask)| (job.facts.job, ask.facts.ask);
        let first = asks.iter().position(|ask| Some(id(ask)) == from);
        for (job, ask) in asks.into_iter().skip(first.unwrap_or(0)) {
            let at = (job.facts.job, ask.facts.ask);
            let shuns = (!job.blacklist.is_empty()).then_some(at.0);
            let like = (ask.shape, shuns);
            let promised = self.promised.get(&at).copied().unwrap_or(0);
            for _ in promised..ask.facts.count {
                self.is_unmet = need.wants(&got, &ask.facts.resource);
                let full = self.evictions >= EVICTIONS_MAX || self.served >= SERVED_MAX;
                if !self.is_unmet || full {
                    return plans;
                }
                if hopeless.contains(&like) {
                    break;
                }
                if self.looks.get() >= LOOKS_MAX {
                    self.cut_at.get_or_insert(CutAt {
                        leaf: need.leaf,
                        partition: need.partition,
                        ask: at,
                        inside_mb: self.inside.as_ref().map(|inside| inside.left_mb),
                    });
                    return plans;
                }
                let Some(plan) = self.serve(need, job, ask) else {
                    if ask.standing != Standing::Strict && ask.unrelaxed == 0 {
                        hopeless.insert(like);
                    }
                    break;
                };
                self.served += 1;
                got += ask.facts.resource;
                if plan.made_by.is_empty() {
                    self.gets.insert((need.partition, need.leaf));
                } else {
                    self.evictions += plan.victims.len();
                    *self.promised.entry(at).or_insert(0) += 1;
                    plans.push(plan);
                }
            }
        }
        plans
    }

    /// Finds room for one container of an ask at the lowest cost.
    fn serve(&mut self, need: &Need, job: &Job, ask: &Ask) -> Option<Eviction> {
        let mut best: Option<(Cost, Vec<Candidate>)> = None;
        let mut looks = 0;
        for (id, room) in &self.rooms {
            looks += 1;
            let node = self.engine.cluster.node(*id)?;
            if !self.engine.may_come_to_run(job, ask, node) {
                continue;
            }
            let Some(victims) = self.victims(need, job, ask, (node, room)) else {
                continue;
            };
            let now = ask.may_run_on(node.facts.host, node.facts.rack);
            let lost_mb = victims.iter().map(|c| c.resource.memory_mb()).sum();
            let rank = victims.iter().map(|c| c.rank).max().unwrap_or(0);
            let oldest = victims.iter().map(|c| c.started_ms).min().unwrap_or(0);
            let masters = victims.iter().filter(|c| c.am).count();
            let cost = (
                // Inside a leaf the last job goes first, wherever it runs.
                self.inside.as_ref().map_or(masters, |_| rank),
                !now,
                lost_mb,
                victims.len(),
                rank,
                Reverse(oldest),
                *id,
            );
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, victims));
            }
        }
        self.looks.set(self.looks.get() + looks);
        let ((.., id), victims) = best?;
        Some(self.take(job, ask, id, &victims))
    }

    /// The containers that must end for the ask to fit a node. None if that does not help, if it
    /// takes more than their queues have above their shares, or if the room would go to others.
    fn victims(
        &self,
        need: &Need,
        job: &Job,
        ask: &Ask,
        (node, room): (&Node, &Room),
    ) -> Option<Vec<Candidate>> {
        let size = &ask.facts.resource;
        let pool = self.engine.backlog.shapes.get(ask.shape).size.pool;
        let fits = |taken: &[Candidate]| {
            let free = taken.iter().fold(room.free, |sum, c| sum + c.resource);
            let slot = pool.is_none_or(|pool| {
                let freed = taken.iter().filter(|c| c.pool == Some(pool)).count();
                room.slots[pool] + freed as i64 > 0
            });
            // The containers taken may be what keeps a limit reached.
            size.fits_in(&free) && slot && self.within_limits(job.leaf, ask, taken)
        };
        let mut taken: Vec<Candidate> = Vec::new();
        let inside = self.inside.as_ref();
        let candidates = match inside {
            Some(inside) => inside.candidates(node.facts.node),
            None => &room.candidates,
        };
        let mut looks = 0;
        let short = short_of(&self.engine.cluster.counted(size), &room.free);
        for candidate in candidates {
            looks += 1;
            if fits(&taken) {
                break;
            }
            let goes = match inside {
                Some(inside) => inside.offers(candidate, &taken),
                None => {
                    candidate.leaf != job.leaf
                        && self.may_go(candidate, &taken, (node, &short))
                        && self.goes_first(need, candidate, &taken)
                }
            };
            if goes {
                taken.push(*candidate);
            }
        }
        self.looks.set(self.looks.get() + looks);
        // Spare each container without which it fits as well.
        let mut i = 0;
        while i < taken.len() {
            let spared = taken.remove(i);
            if !fits(&taken) {
                taken.insert(i, spared);
                i += 1;
            }
        }
        let lost_mb = taken.iter().map(|c| c.resource.memory_mb()).sum();
        (fits(&taken) && self.budget.covers(lost_mb)).then_some(taken)
    }

    /// Whether a container's queue has it above its share, in a type that the node is short of, and
    /// the round may take it.
    fn may_go(
        &self,
        candidate: &Candidate,
        taken: &[Candidate],
        (node, short): (&Node, &[usize]),
    ) -> bool {
        let partition = node.facts.partition;
        if self.gets.contains(&(partition, candidate.leaf)) {
            return false;
        }
        let Some(surplus) = self.surplus.get(&(partition, candidate.leaf)) else {
            return false;
        };
        let of_leaf = taken.iter().filter(|c| c.leaf == candidate.leaf);
        let lost = of_leaf.fold(candidate.resource, |sum, c| sum + c.resource);
        let mb = candidate.resource.memory_mb();
        let above = |i: &usize| candidate.resource[*i] > 0 && lost[*i] <= surplus[*i];
        short.iter().any(above) && self.budget.offers(partition, candidate.leaf, mb)
    }

    /// Whether the order of shares prefers the starved queue to the candidate's once that and those
    /// taken have gone: compared where the paths of the two part.
    fn goes_first(&self, need: &Need, candidate: &Candidate, taken: &[Candidate]) -> bool {
        let book = self.engine.tree_label(need.partition);
        let tree = self.engine.tree_of(book);
        let parting = self.engine.parting(book, need.leaf, candidate.leaf);
        let Some((own, theirs)) = parting else {
            return false;
        };
        let below = |c: &&Candidate| tree.path_up(c.leaf).any(|at| at == theirs);
        let lost = taken.iter().filter(below);
        let lost = lost.fold(candidate.resource, |sum, c| sum + c.resource);
        // A minimum holds against all who are not compared with its queue.
        let of_leaf = taken.iter().filter(|c| c.leaf == candidate.leaf);
        let of_leaf = of_leaf.fold(candidate.resource, |sum, c| sum + c.resource);
        let sets_minimum = !tree.node(candidate.leaf).min_share.is_zero();
        if sets_minimum
            && theirs != candidate.leaf
            && self.key_less(candidate.leaf, book, of_leaf).class == 0
        {
            return false;
        }
        let yields = self.yields.get(&own).copied().unwrap_or_default();
        let key = |at, less| self.key_less(at, book, less);
        key(own, yields) < key(theirs, lost)
    }

    /// The place of a queue among its siblings once everything planned has happened.
    fn key(&self, at: ShareNodeId, book: PartitionId) -> ShareKey {
        self.key_less(at, book, Resource::ZERO)
    }

    fn key_less(&self, at: ShareNodeId, book: PartitionId, less: Resource) -> ShareKey {
        let planned = self.planned.get(&(book, at)).copied().unwrap_or_default();
        self.engine.key_after(book, at, &(planned - less))
    }

    /// Whether limits admit the ask once everything planned has happened.
    fn within_limits(&self, leaf: ShareNodeId, ask: &Ask, taken: &[Candidate]) -> bool {
        let book = self.engine.tree_label(ask.facts.partition);
        let tree = self.engine.tree_of(book);
        let size = &ask.facts.resource;
        let below = |at: ShareNodeId, leaf: ShareNodeId| tree.path_up(leaf).any(|up| up == at);
        let within = tree.path_up(leaf).all(|at| {
            let node = tree.node(at);
            let planned = self.planned.get(&(book, at)).copied().unwrap_or_default();
            let going = taken.iter().filter(|c| below(at, c.leaf));
            let used = going.fold(node.used + planned, |sum, c| sum - c.resource);
            !node.limited || size.fits_in(&(node.max_share - used))
        });
        within
            && (!ask.facts.am
                || match self.masters.get(&(book, leaf)) {
                    None => tree.admits_am(leaf, ask.shape, size),
                    Some(planned) => tree.am_limit(leaf).is_none_or(|limit| {
                        (tree.node(leaf).am_used + *planned + *size).fits_in(&limit)
                    }),
                })
    }

    /// Books a plan, so that later plans leave its room alone.
    fn take(&mut self, job: &Job, ask: &Ask, id: NodeId, victims: &[Candidate]) -> Eviction {
        let size = ask.facts.resource;
        let engine = self.engine;
        let partition = ask.facts.partition;
        let book = engine.tree_label(partition);
        let room = self.rooms.get_mut(&id).expect("the plan is for this node");
        let taken: BTreeSet<_> = victims.iter().map(|c| (c.job, c.key)).collect();
        room.candidates.retain(|c| !taken.contains(&(c.job, c.key)));
        let keys: Vec<_> = victims.iter().map(|c| (c.job, c.key)).collect();
        room.made.extend(&keys);
        let made_by = match keys.is_empty() {
            true => room.made.clone(),
            false => keys.clone(),
        };
        for victim in victims {
            room.free += victim.resource;
            count_slot(&mut room.slots, victim.pool);
            let at = (partition, victim.leaf);
            for of in [&mut self.surplus, &mut self.takable] {
                *of.entry(at).or_default() -= victim.resource;
            }
            let mb = victim.resource.memory_mb();
            self.budget.take(partition, victim.leaf, mb);
            for at in engine.tree.path_up(victim.leaf) {
                *self.planned.entry((book, at)).or_default() -= victim.resource;
            }
        }
        let pool = engine.backlog.shapes.get(ask.shape).size.pool;
        self.book(id, job.leaf, size, pool);
        if ask.facts.am {
            *self.masters.entry((book, job.leaf)).or_default() += size;
        }
        if let Some(inside) = &mut self.inside {
            inside.take(id, victims);
        }
        Eviction {
            node: id,
            pick: Pick {
                shape: ask.shape,
                job: job.facts.job,
                ask: ask.facts.ask,
            },
            victims: keys,
            made_by,
        }
    }
}

/// The types of which a node has too little for an ask; all that it needs if it lacks none.
fn short_of(size: &Resource, free: &Resource) -> Vec<usize> {
    let types = |lacks: &dyn Fn(usize) -> bool| -> Vec<usize> {
        (0..RESOURCE_TYPES_MAX)
            .filter(|i| size[*i] > 0 && lacks(*i))
            .collect()
    };
    let short = types(&|i| size[i] > free[i]);
    if short.is_empty() {
        types(&|_| true)
    } else {
        short
    }
}

fn count_slot(slots: &mut [i64; POOLS], pool: Option<usize>) {
    if let Some(pool) = pool {
        slots[pool] += 1;
    }
}
