//! Picks the containers that must end so that a starved queue's asks fit. Node by node, because an
//! ask needs all its room on one node. Plans on copies and changes nothing.

use super::Engine;
use super::budget::Budget;
use super::candidate::Candidate;
use super::inside::Inside;
use super::labels::Labels;
use super::search::Pick;
use crate::backlog::Entry;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job, Standing};
use crate::words::event::EvictReason;
use crate::words::ids::{ContainerKey, JobId, Millis, NodeId, PartitionId};
use crate::words::keys::{POOLS, ShapeId, ShareNodeId};
use crate::words::resource::Resource;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most evictions in a tick: bounds the work, and shows their effect before more follow.
pub(super) const EVICTIONS_MAX: usize = 100;

/// The memory that a starved queue lacks on the nodes of a label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) leaf: ShareNodeId,
    pub(super) partition: PartitionId,
    pub(super) lacking_mb: i64,
    pub(super) reason: EvictReason,
}

/// The most containers for which a round looks for room: bounds its work where room is free
/// already.
const SERVED_MAX: usize = 4 * EVICTIONS_MAX;

/// The room of a node once all evicted containers have ended, less the room planned for asks.
#[derive(Debug)]
struct Room {
    free: Resource,
    /// Free slots by pool.
    slots: [i64; POOLS],
    candidates: Vec<Candidate>,
}

/// The containers to evict so that one ask fits one node.
#[derive(Debug)]
pub(super) struct Eviction {
    pub(super) node: NodeId,
    pub(super) pick: Pick,
    /// Whether smaller asks could take the room while it comes, so that it must be held.
    pub(super) hold: bool,
    pub(super) victims: Vec<(JobId, ContainerKey)>,
}

/// A plan's cost; the lowest wins. First the fewest ApplicationMasters (inside a leaf: the last
/// jobs of the line), nodes where the ask may run now, then the least memory lost, the fewest
/// containers, the queue furthest above its share, the latest starts.
type Cost = (usize, bool, i64, usize, usize, Reverse<Millis>, NodeId);

/// One round of preemption.
pub(super) struct Round<'a> {
    engine: &'a Engine,
    rooms: BTreeMap<NodeId, Room>,
    /// The surplus of each leaf above its share on the nodes of a label, in MB.
    surplus_mb: BTreeMap<(PartitionId, ShareNodeId), i64>,
    budget: Budget,
    /// The usage that the plan adds to each node of a label's tree, less that of the victims.
    planned: BTreeMap<(PartitionId, ShareNodeId), Resource>,
    /// Planned usage of ApplicationMasters, by label and leaf.
    masters: BTreeMap<(PartitionId, ShareNodeId), Resource>,
    /// How many more nodes may be held, by label.
    holds: BTreeMap<PartitionId, usize>,
    /// The leaf inside which containers may go now, if they go inside one.
    inside: Option<Inside>,
    served: usize,
    evictions: usize,
    /// The memory that the queue of the last `plan` still lacks.
    pub(super) left_mb: i64,
}

impl<'a> Round<'a> {
    pub(super) fn new(engine: &'a Engine, labels: &Labels, insides: &[Inside]) -> Round<'a> {
        let surplus_mb = labels.surplus_mb(engine);
        let holds = labels
            .iter()
            .map(|(label, _)| (label, engine.holds_left(label)));
        let mut round = Round {
            engine,
            rooms: BTreeMap::new(),
            surplus_mb,
            budget: Budget::new(engine, labels),
            planned: BTreeMap::new(),
            masters: BTreeMap::new(),
            holds: holds.collect(),
            inside: None,
            served: 0,
            evictions: 0,
            left_mb: 0,
        };
        for node in engine.cluster.nodes().filter(|n| n.facts.schedulable) {
            let full = engine.slots_left(node);
            let room = Room {
                // Includes stopped containers that the node has yet to confirm.
                free: node.whole - node.used,
                slots: full,
                candidates: Vec::new(),
            };
            round.rooms.insert(node.facts.node, room);
        }
        round.collect(insides);
        round
    }

    /// Sorts containers by node: evicted ones count as room, those that may go are candidates.
    fn collect(&mut self, insides: &[Inside]) {
        let engine = self.engine;
        let masters = engine.setup.config.preemption.masters;
        let mut ranks: Vec<_> = self.surplus_mb.iter().collect();
        ranks.sort_by_key(|(at, mb)| (Reverse(**mb), **at));
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
    }

    /// Plans evictions until the queue gets what it lacks, ask by ask in order of service. Room
    /// that is free, or about to be, counts first.
    pub(super) fn plan(&mut self, need: &Need) -> Vec<Eviction> {
        self.plan_for(need, |_| true)
    }

    /// Plans evictions inside a leaf, for the jobs that lack something in their order.
    pub(super) fn plan_inside(&mut self, mut inside: Inside) -> Vec<(Need, Eviction)> {
        for (node, room) in &self.rooms {
            inside.rank(*node, &room.candidates);
        }
        let (leaf, partition) = (inside.leaf, inside.partition);
        let claims = inside.claims();
        let mut plans = Vec::new();
        self.inside = Some(inside);
        for (place, id, lacking_mb) in claims {
            let inside = self.inside.as_mut().expect("it was just set");
            inside.claim_for(place);
            let need = Need {
                leaf,
                partition,
                lacking_mb,
                reason: EvictReason::Inside,
            };
            let of_job = self.plan_for(&need, |job| job.facts.job == id);
            plans.extend(of_job.into_iter().map(|plan| (need, plan)));
        }
        self.inside = None;
        plans
    }

    /// Plans evictions for some of a queue's jobs.
    fn plan_for(&mut self, need: &Need, wanted: impl Fn(&Job) -> bool) -> Vec<Eviction> {
        let mut plans = Vec::new();
        self.left_mb = need.lacking_mb;
        let mut hopeless: BTreeSet<ShapeId> = BTreeSet::new();
        let asks = self.engine.asks_of(need.leaf, need.partition).into_iter();
        for (job, ask) in asks.filter(|(job, _)| wanted(job)) {
            let plain = ask.rows.is_empty() && job.blacklist.is_empty();
            for _ in 0..ask.facts.count {
                let full = self.evictions >= EVICTIONS_MAX || self.served >= SERVED_MAX;
                if self.left_mb <= 0 || full {
                    return plans;
                }
                if hopeless.contains(&ask.shape) {
                    break;
                }
                let Some(plan) = self.serve(job, ask) else {
                    // An ask that may run anywhere and finds nothing speaks for its whole shape.
                    if plain {
                        hopeless.insert(ask.shape);
                    }
                    break;
                };
                self.served += 1;
                self.left_mb -= ask.facts.resource.memory_mb().max(1);
                if !plan.victims.is_empty() {
                    self.evictions += plan.victims.len();
                    plans.push(plan);
                }
            }
        }
        plans
    }

    /// Finds room for one container of an ask at the lowest cost.
    fn serve(&mut self, job: &Job, ask: &Ask) -> Option<Eviction> {
        let mut best: Option<(Cost, Vec<Candidate>)> = None;
        for (id, room) in &self.rooms {
            let node = self.engine.cluster.node(*id)?;
            if !self.engine.may_come_to_run(job, ask, node) {
                continue;
            }
            let Some(victims) = self.victims(job, ask, node, room) else {
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
        let ((_, later, .., id), victims) = best?;
        Some(self.take(job, ask, id, &victims, !later))
    }

    /// The containers that must end for the ask to fit a node. None if that does not help, or takes
    /// more than their queues have above their shares.
    fn victims(&self, job: &Job, ask: &Ask, node: &Node, room: &Room) -> Option<Vec<Candidate>> {
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
        let mut taken_mb: BTreeMap<ShareNodeId, i64> = BTreeMap::new();
        let inside = self.inside.as_ref();
        let candidates = match inside {
            Some(inside) => inside.candidates(node.facts.node),
            None => &room.candidates,
        };
        for candidate in candidates {
            if fits(&taken) {
                break;
            }
            if let Some(inside) = inside {
                if inside.offers(candidate, &taken) {
                    taken.push(*candidate);
                }
                continue;
            }
            let mb = taken_mb.entry(candidate.leaf).or_insert(0);
            let more_mb = candidate.resource.memory_mb();
            let surplus = self.surplus_mb.get(&(node.facts.partition, candidate.leaf));
            let partition = node.facts.partition;
            if candidate.leaf != job.leaf
                && *mb + more_mb <= *surplus.unwrap_or(&0)
                && self.budget.offers(partition, candidate.leaf, more_mb)
            {
                *mb += more_mb;
                taken.push(*candidate);
            }
        }
        // Spare each container without which it fits as well.
        let mut i = 0;
        while i < taken.len() {
            let spared = taken.remove(i);
            if !fits(&taken) {
                taken.insert(i, spared);
                i += 1;
            }
        }
        let partition = &node.facts.partition;
        let held = self.engine.reservations.contains_key(&node.facts.node);
        let may_hold = held || self.holds.get(partition).is_some_and(|left| *left > 0);
        let lost_mb = taken.iter().map(|c| c.resource.memory_mb()).sum();
        let good = fits(&taken)
            && self.budget.covers(lost_mb)
            && (!self.must_hold(size, &taken) || may_hold);
        good.then_some(taken)
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
                    None => tree.admits_am(leaf, size),
                    Some(planned) => tree.am_limit(leaf).is_none_or(|limit| {
                        (tree.node(leaf).am_used + *planned + *size).fits_in(&limit)
                    }),
                })
    }

    /// Whether the room comes in pieces, or is partly free already, so that smaller asks would take
    /// it before it is whole; or would go to another queue.
    fn must_hold(&self, size: &Resource, victims: &[Candidate]) -> bool {
        let contested = self.inside.as_ref().is_some_and(|inside| inside.contested);
        match victims {
            [] => false,
            [one] => contested || !size.fits_in(&one.resource),
            _ => true,
        }
    }

    /// Books a plan, so that later plans leave its room alone.
    fn take(
        &mut self,
        job: &Job,
        ask: &Ask,
        id: NodeId,
        victims: &[Candidate],
        now: bool,
    ) -> Eviction {
        let size = ask.facts.resource;
        let engine = self.engine;
        let partition = ask.facts.partition;
        let book = engine.tree_label(partition);
        let room = self.rooms.get_mut(&id).expect("the plan is for this node");
        let taken: BTreeSet<_> = victims.iter().map(|c| (c.job, c.key)).collect();
        room.candidates.retain(|c| !taken.contains(&(c.job, c.key)));
        for victim in victims {
            room.free += victim.resource;
            count_slot(&mut room.slots, victim.pool);
            let surplus = self.surplus_mb.entry((partition, victim.leaf)).or_default();
            *surplus -= victim.resource.memory_mb();
            let mb = victim.resource.memory_mb();
            self.budget.take(partition, victim.leaf, mb);
            for at in engine.tree.path_up(victim.leaf) {
                *self.planned.entry((book, at)).or_default() -= victim.resource;
            }
        }
        room.free -= size;
        if let Some(pool) = engine.backlog.shapes.get(ask.shape).size.pool {
            room.slots[pool] -= 1;
        }
        for at in engine.tree.path_up(job.leaf) {
            *self.planned.entry((book, at)).or_default() += size;
        }
        if ask.facts.am {
            *self.masters.entry((book, job.leaf)).or_default() += size;
        }
        let hold = now && self.must_hold(&size, victims);
        let hold = hold && !engine.reservations.contains_key(&id);
        if let Some(inside) = &mut self.inside {
            inside.take(id, victims);
        }
        if hold {
            let left = self.holds.entry(partition).or_insert(0);
            *left = left.saturating_sub(1);
        }
        Eviction {
            node: id,
            pick: Pick {
                shape: ask.shape,
                job: job.facts.job,
                ask: ask.facts.ask,
            },
            hold,
            victims: victims.iter().map(|c| (c.job, c.key)).collect(),
        }
    }
}

fn count_slot(slots: &mut [i64; POOLS], pool: Option<usize>) {
    if let Some(pool) = pool {
        slots[pool] += 1;
    }
}

impl Engine {
    /// The pending asks of a leaf on the nodes of a label, in order of service.
    pub(super) fn asks_of(&self, leaf: ShareNodeId, partition: PartitionId) -> Vec<(&Job, &Ask)> {
        let jobs = self.cluster.jobs().filter(|job| job.leaf == leaf);
        let asks = jobs.flat_map(|job| job.pending().map(move |ask| (job, ask)));
        let due = |(_, ask): &(&Job, &Ask)| {
            ask.standing != Standing::Out && ask.facts.partition == partition
        };
        let mut asks: Vec<_> = asks.filter(due).collect();
        asks.sort_by_key(|(job, ask)| Entry::new(job, ask));
        asks
    }

    /// Whether an ask may run on a node with room, now or once it has waited for nearer places.
    pub(super) fn may_come_to_run(&self, job: &Job, ask: &Ask, node: &Node) -> bool {
        let facts = &node.facts;
        let held = self.reservations.get(&facts.node);
        facts.schedulable
            && facts.partition == ask.facts.partition
            && ask.facts.resource.fits_in(&node.whole)
            && ask.accepts(facts.host, facts.rack)
            && !job.blacklists(facts.host, facts.rack)
            && held.is_none_or(|held| held.size.resource == ask.facts.resource)
            && job
                .refused
                .get(&facts.node)
                .is_none_or(|until| *until <= self.now)
    }

    /// Free slots of a node by pool; negative if more containers run than may.
    pub(super) fn slots_left(&self, node: &Node) -> [i64; POOLS] {
        let per_node = self.setup.config.slots_per_node;
        std::array::from_fn(|pool| {
            let configured = per_node.map_or(u32::MAX, |slots| slots[pool]);
            let allowed = self.order.slots(node, pool).unwrap_or(u32::MAX);
            i64::from(configured.min(allowed)) - i64::from(node.running[pool])
        })
    }
}
