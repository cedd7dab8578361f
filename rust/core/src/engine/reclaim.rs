//! Takes back what the share and the order stage name: containers of users who do not pay for them,
//! or of jobs that go later. A container goes only for a claim that its room then serves; the room
//! is promised to that ask. Where workloads outside YARN take the slots, all go.

use super::Engine;
use super::asks::asks_in_order;
use super::promises::Promised;
use super::search::Pick;
use super::victims::EVICTIONS_MAX;
use crate::model::cluster::Node;
use crate::model::job::{Ask, Container, Job, Standing};
use crate::words::event::{Decision, EvictReason};
use crate::words::ids::{ContainerKey, JobId, NodeId, PartitionId};
use crate::words::keys::{Claim, POOLS, Reclaimed, ShareKey, ShareNodeId, Victim};
use crate::words::resource::Resource;
use std::collections::BTreeMap;

/// How many asks of a claim are looked at for one that may have the room.
const ASKS_MAX: usize = 64;

/// How many nodes with room are looked at in vain for the claims.
const TRIED_MAX: usize = 64;

/// Containers that go, and the ask that gets their room.
struct Exchange {
    victims: Vec<Victim>,
    gets: Option<(NodeId, Pick)>,
}

/// The room of a node once the containers on their way out have ended.
struct Room<'a> {
    free: Resource,
    slots: [i64; POOLS],
    /// The containers that may go as well, in order.
    named: Vec<Named<'a>>,
}

#[derive(Clone, Copy)]
struct Named<'a> {
    job: &'a Job,
    key: ContainerKey,
    container: &'a Container,
    pool: Option<usize>,
}

/// By queue, on the nodes of a label: what it will use more than now, less what it will lose.
type Changes = BTreeMap<(PartitionId, ShareNodeId), Resource>;

/// The containers on their way out, by node.
type Going<'a> = BTreeMap<NodeId, Vec<(JobId, &'a Container)>>;

/// A claim with the asks that it stands for, in order of service.
type Claimed<'a> = (Claim, Vec<(&'a Job, &'a Ask)>);

impl Engine {
    /// Evicts the containers that the share and the order stage want back, none of them twice.
    pub(super) fn reclaim(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        let world = world!(self);
        let market = self.share.market_mut();
        let unpaid = market.map_or_else(Vec::new, |market| market.reclaim(&world));
        let displaced = self.order.reclaim(&world);
        let unpaid = unpaid.into_iter().map(|of| (of, EvictReason::Unpaid));
        let displaced = displaced.into_iter().map(|of| (of, EvictReason::Displaced));
        for (reclaimed, reason) in unpaid.chain(displaced) {
            let exchanges = match reclaimed.for_others {
                true => self.all_of(&reclaimed.victims),
                false => self.exchanges(reclaimed),
            };
            for exchange in exchanges {
                if decisions.len() + exchange.victims.len() > decisions_max {
                    self.cut = true;
                    return;
                }
                self.carry_out(&exchange, reason, decisions);
            }
        }
    }

    fn carry_out(
        &mut self,
        exchange: &Exchange,
        reason: EvictReason,
        decisions: &mut Vec<Decision>,
    ) {
        let grace_ms = self.setup.config.preemption.grace_ms;
        for Victim { job, key } in exchange.victims.iter().copied() {
            self.evicting.insert((job, key));
            self.note_eviction(job, key, reason, None);
            decisions.push(Decision::Evict {
                job,
                key,
                reason,
                grace_ms,
            });
        }
        if let Some((node, pick)) = exchange.gets {
            let victims = exchange.victims.iter();
            let victims = victims.map(|victim| (victim.job, victim.key)).collect();
            self.promise(node, pick, victims);
        }
    }

    /// The victim, if it is there, stays as yet, and may be taken.
    fn named(&self, victim: Victim) -> Option<Named<'_>> {
        let job = self.cluster.job(victim.job)?;
        let container = job.containers.get(&victim.key)?;
        let going = self.evicting.contains(&(victim.job, victim.key));
        let may_go = !going && !container.am && self.cluster.queues.may_take_from(&job.facts);
        may_go.then(|| Named {
            job,
            key: victim.key,
            container,
            pool: self.pool_of(victim.job, container),
        })
    }

    fn all_of(&self, victims: &[Victim]) -> Vec<Exchange> {
        let mut victims: Vec<Victim> = victims.to_vec();
        victims.retain(|victim| self.named(*victim).is_some());
        victims.sort_unstable_by_key(|victim| (victim.job, victim.key));
        victims.dedup();
        let alone = |victim| Exchange {
            victims: vec![victim],
            gets: None,
        };
        victims.into_iter().take(EVICTIONS_MAX).map(alone).collect()
    }

    /// Finds for the victims in turn which claims their room serves, until none lacks any.
    fn exchanges(&self, reclaimed: Reclaimed) -> Vec<Exchange> {
        let mut promised = self.promised.clone();
        let mut claims = self.claimed(&reclaimed.claims, &promised);
        let mut rooms: BTreeMap<NodeId, Room<'_>> = BTreeMap::new();
        let mut changes = self.coming_changes();
        let going_by_node = self.going_by_node();
        if reclaimed.missing > 0 {
            let books = (&mut claims, &mut promised, &mut changes);
            self.count_coming_room(&going_by_node, books, &mut rooms);
        }
        let left: u32 = claims.iter().map(|(claim, _)| claim.count).sum();
        let (mut missing, mut going) = (reclaimed.missing.min(left), 0);
        let mut exchanges = Vec::new();
        for victim in reclaimed.victims {
            let Some(named) = self.named(victim) else {
                continue;
            };
            let id = named.container.node;
            let Some(node) = self.cluster.node(id) else {
                continue;
            };
            let room = rooms.entry(id);
            let room = room.or_insert_with(|| self.coming_room(node, going_by_node.get(&id)));
            room.named.push(named);
            loop {
                if missing == 0 || going >= EVICTIONS_MAX {
                    return exchanges;
                }
                let found = self.served(&claims, &promised, &changes, (node, room));
                let Some((at, job, ask)) = found else {
                    break;
                };
                let gets = Pick {
                    shape: ask.shape,
                    job: job.facts.job,
                    ask: ask.facts.ask,
                };
                let ended = self.settle_room(room, ask);
                let partition = ask.facts.partition;
                self.count_change(&mut changes, partition, job.leaf, ask.facts.resource);
                for named in &ended {
                    let lost = Resource::ZERO - named.container.resource;
                    self.count_change(&mut changes, partition, named.job.leaf, lost);
                }
                let victim = |named: &Named<'_>| Victim {
                    job: named.job.facts.job,
                    key: named.key,
                };
                let victims: Vec<Victim> = ended.iter().map(victim).collect();
                claims[at].0.count -= 1;
                missing -= 1;
                *promised.entry((gets.job, gets.ask)).or_insert(0) += 1;
                going += victims.len();
                if !victims.is_empty() {
                    let gets = Some((id, gets));
                    exchanges.push(Exchange { victims, gets });
                }
            }
        }
        exchanges
    }

    /// Serves claims with room that is free, or about to be, on any node: nothing must go for it.
    fn count_coming_room<'a>(
        &'a self,
        going: &Going<'a>,
        (claims, promised, changes): (&mut Vec<Claimed<'a>>, &mut Promised, &mut Changes),
        rooms: &mut BTreeMap<NodeId, Room<'a>>,
    ) {
        let asks = claims.iter().flat_map(|(_, asks)| asks);
        let sizes = asks.map(|(_, ask)| ask.facts.resource);
        let Some(least) = sizes.reduce(|a, b| a.component_min(&b)) else {
            return;
        };
        let mut vain = 0;
        for node in self.cluster.nodes() {
            if vain == TRIED_MAX {
                return;
            }
            let mut room = self.coming_room(node, going.get(&node.facts.node));
            if !least.fits_in(&room.free) {
                continue;
            }
            vain += 1;
            while let Some((at, job, ask)) = self.served(claims, promised, changes, (node, &room)) {
                vain = 0;
                self.settle_room(&mut room, ask);
                self.count_change(changes, ask.facts.partition, job.leaf, ask.facts.resource);
                claims[at].0.count -= 1;
                *promised.entry((job.facts.job, ask.facts.ask)).or_insert(0) += 1;
            }
            rooms.insert(node.facts.node, room);
        }
    }

    /// The containers on their way out, by node.
    fn going_by_node(&self) -> Going<'_> {
        let mut going = Going::new();
        for (id, key) in &self.evicting {
            let job = self.cluster.job(*id);
            if let Some(container) = job.and_then(|job| job.containers.get(key)) {
                going
                    .entry(container.node)
                    .or_default()
                    .push((*id, container));
            }
        }
        going
    }

    /// The claims with their asks, less what is promised to them.
    fn claimed(&self, claims: &[Claim], promised: &Promised) -> Vec<Claimed<'_>> {
        let with_asks = |claim: &Claim| {
            let of_claim = |job: &&Job| match claim.of {
                Some((id, _)) => job.facts.job == id,
                None => job.leaf == claim.leaf,
            };
            let jobs = self.cluster.jobs().filter(of_claim);
            let pool = |ask: &Ask| self.backlog.shapes.get(ask.shape).size.pool;
            let is_claimed = |job: &Job, ask: &Ask| {
                let kind = claim.of.map(|(_, kind)| kind);
                let of_pool = match pool(ask) {
                    Some(pool) => pool == claim.pool,
                    None => ask.facts.am && kind.is_none(),
                };
                ask.standing != Standing::Out
                    && of_pool
                    && kind.is_none_or(|kind| job.kind(ask.facts.priority) == kind)
                    && self.is_admitted(job, ask)
            };
            let asks = asks_in_order(jobs, None);
            let asks: Vec<_> = asks
                .into_iter()
                .filter(|(job, ask)| is_claimed(job, ask))
                .take(ASKS_MAX)
                .collect();
            let given = asks.iter().map(|(job, ask)| {
                let given = promised.get(&(job.facts.job, ask.facts.ask));
                given.copied().unwrap_or(0)
            });
            let count = claim.count.saturating_sub(given.sum());
            (Claim { count, ..*claim }, asks)
        };
        claims.iter().take(EVICTIONS_MAX).map(with_asks).collect()
    }

    fn coming_room(&self, node: &Node, going: Option<&Vec<(JobId, &Container)>>) -> Room<'_> {
        let stopped = node.whole - node.used - node.free;
        let mut room = Room {
            free: node.free + stopped,
            slots: self.slots_left(node),
            named: Vec::new(),
        };
        for promise in self.promises_on(node) {
            room.free -= promise.size.resource;
            if let Some(pool) = promise.size.pool {
                room.slots[pool] -= 1;
            }
        }
        for (id, container) in going.into_iter().flatten() {
            room.free += container.resource;
            if let Some(pool) = self.pool_of(*id, container) {
                room.slots[pool] += 1;
            }
        }
        room
    }

    /// The first ask of the claims that fits a node once the named containers have ended, and that
    /// the grants would then serve before theirs.
    fn served<'a>(
        &self,
        claims: &[Claimed<'a>],
        promised: &Promised,
        changes: &Changes,
        (node, room): (&Node, &Room<'_>),
    ) -> Option<(usize, &'a Job, &'a Ask)> {
        let open = claims
            .iter()
            .enumerate()
            .filter(|(_, (claim, _))| claim.count > 0);
        for (at, (claim, asks)) in open {
            for (job, ask) in asks {
                let given = promised.get(&(job.facts.job, ask.facts.ask));
                let pays = |named: &Named<'_>| {
                    named.job.facts.job != job.facts.job
                        && (claim.of.is_none() || self.prefers(job, ask, named, changes))
                };
                if given.copied().unwrap_or(0) < ask.facts.count
                    && self.may_come_to_run(job, ask, node)
                    && room.named.iter().all(pays)
                    && self.fits_after(job, ask, room, &room.named)
                {
                    return Some((at, *job, *ask));
                }
            }
        }
        None
    }

    /// Whether an ask fits, within the limits of its queues, once these containers have ended.
    fn fits_after(&self, job: &Job, ask: &Ask, room: &Room<'_>, ended: &[Named<'_>]) -> bool {
        let size = &ask.facts.resource;
        let free = ended
            .iter()
            .fold(room.free, |sum, c| sum + c.container.resource);
        let slot = self
            .backlog
            .shapes
            .get(ask.shape)
            .size
            .pool
            .is_none_or(|pool| {
                let freed = ended.iter().filter(|c| c.pool == Some(pool)).count();
                room.slots[pool] + freed as i64 > 0
            });
        let tree = self.tree_of(ask.facts.partition);
        let within = tree.path_up(job.leaf).all(|at| {
            let below = |c: &&Named<'_>| tree.path_up(c.job.leaf).any(|up| up == at);
            let ended = ended.iter().filter(below);
            let used = tree.node(at).used;
            let used = ended.fold(used, |used, c| used - c.container.resource);
            !tree.node(at).limited || size.fits_in(&(tree.node(at).max_share - used))
        });
        slot && within && size.fits_in(&free)
    }

    /// Gives an ask its room, and returns the containers that must end for it.
    fn settle_room<'a>(&self, room: &mut Room<'a>, ask: &Ask) -> Vec<Named<'a>> {
        let size = &ask.facts.resource;
        let pool = self.backlog.shapes.get(ask.shape).size.pool;
        let mut ended = std::mem::take(&mut room.named);
        let enough = |ended: &[Named<'_>]| {
            let free = ended
                .iter()
                .fold(room.free, |sum, c| sum + c.container.resource);
            let freed = |pool| ended.iter().filter(|c| c.pool == Some(pool)).count() as i64;
            size.fits_in(&free) && pool.is_none_or(|pool| room.slots[pool] + freed(pool) > 0)
        };
        let mut spared = Vec::new();
        let mut i = 0;
        while i < ended.len() {
            let one = ended.remove(i);
            if enough(&ended) {
                spared.push(one);
            } else {
                ended.insert(i, one);
                i += 1;
            }
        }
        for one in &ended {
            room.free += one.container.resource;
            if let Some(pool) = one.pool {
                room.slots[pool] += 1;
            }
        }
        room.free -= *size;
        if let Some(pool) = pool {
            room.slots[pool] -= 1;
        }
        room.named = spared;
        ended
    }

    /// Whether the order of shares leads to an ask's queue before a container's once that has gone,
    /// and everything planned has happened.
    fn prefers(&self, job: &Job, ask: &Ask, named: &Named<'_>, changes: &Changes) -> bool {
        let book = self.tree_label(ask.facts.partition);
        let change = |at| changes.get(&(book, at)).copied().unwrap_or_default();
        match self.parting(ask.facts.partition, job.leaf, named.job.leaf) {
            None => true,
            Some((own, theirs)) => {
                let left = change(theirs) - named.container.resource;
                self.key_after(book, own, &change(own)) < self.key_after(book, theirs, &left)
            }
        }
    }

    /// What is promised, and what containers on their way out will give back.
    fn coming_changes(&self) -> Changes {
        let mut changes = Changes::new();
        for (_, promise) in self.promises() {
            let (size, leaf) = (promise.size, promise.leaf);
            self.count_change(&mut changes, size.partition, leaf, size.resource);
        }
        for (id, key) in &self.evicting {
            let job = self.cluster.job(*id);
            let of = job.and_then(|job| Some((job.leaf, job.containers.get(key)?)));
            if let Some((leaf, container)) = of {
                let lost = Resource::ZERO - container.resource;
                self.count_change(&mut changes, container.partition, leaf, lost);
            }
        }
        changes
    }

    fn count_change(
        &self,
        changes: &mut Changes,
        label: PartitionId,
        leaf: ShareNodeId,
        by: Resource,
    ) {
        let book = self.tree_label(label);
        for at in self.tree.path_up(leaf) {
            *changes.entry((book, at)).or_default() += by;
        }
    }

    /// Where the paths of two leaves part: the two queues of which the order of shares takes one
    /// before the other. None for one leaf.
    pub(super) fn parting(
        &self,
        label: PartitionId,
        own: ShareNodeId,
        theirs: ShareNodeId,
    ) -> Option<(ShareNodeId, ShareNodeId)> {
        let tree = self.tree_of(label);
        let path = |leaf| {
            let mut path: Vec<ShareNodeId> = tree.path_up(leaf).collect();
            path.reverse();
            path
        };
        let mut both = path(own).into_iter().zip(path(theirs));
        both.find(|(own, theirs)| own != theirs)
    }

    /// The place of a queue among its siblings if its usage changes by that much.
    pub(super) fn key_after(
        &self,
        book: PartitionId,
        at: ShareNodeId,
        change: &Resource,
    ) -> ShareKey {
        let node = self.tree_of(book).node(at);
        self.share.key_after(node, change, &self.capacity_of(book))
    }

    /// Grants what was promised. The order stage does not take the container back.
    pub(super) fn grant_promised(&mut self, id: NodeId, pick: Pick, decisions: &mut Vec<Decision>) {
        self.grant(id, pick, decisions);
        if let Some(grant) = self.in_flight.back_mut() {
            grant.container.by_kill = true;
        }
    }
}
