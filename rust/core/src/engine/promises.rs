//! Room that was made for an ask, promised to it: an amount on a node that no other ask gets.
//! Without a promise the room would go to whoever is next there, often to the queue or job that has
//! just lost it, and the next round would kill again.
//!
//! It is served with that room alone: what ends on the node meanwhile goes to whoever is next, and
//! its ask is next only where no other one wants the room. Else the room that was made would find
//! its ask served, and go back to the job that has lost it.
//!
//! A promise is given up when its ask is withdrawn or served elsewhere and no other ask of its
//! leaf and size can take its place; when the node can no longer serve it; when a limit is in the
//! way once the room is there; and after a bounded time.

use super::Engine;
use super::search::Pick;
use crate::backlog::{Entry, ShapeSize};
use crate::model::cluster::Node;
use crate::model::job::{Ask, Container, Job, Standing};
use crate::words::event::Decision;
use crate::words::ids::{AskId, ContainerKey, JobId, Millis, NodeId};
use crate::words::keys::{POOLS, ShareNodeId};
use crate::words::resource::Resource;
use std::collections::BTreeMap;

/// Room on a node for one container of an ask.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    pub(super) leaf: ShareNodeId,
    pub(super) job: JobId,
    pub(super) ask: AskId,
    pub(super) size: ShapeSize,
    pub(super) until_ms: Millis,
    /// The containers that make the room.
    pub(super) victims: Vec<(JobId, ContainerKey)>,
}

/// How many containers are promised, by ask.
pub(super) type Promised = BTreeMap<(JobId, AskId), u32>;

impl Engine {
    /// Promises room on a node that its containers on their way out make.
    pub(super) fn promise(&mut self, id: NodeId, pick: Pick, victims: Vec<(JobId, ContainerKey)>) {
        let job = self.cluster.job(pick.job).expect("a pick is of a job");
        let grace_ms = Millis::from(self.setup.config.preemption.grace_ms);
        let promise = Promise {
            leaf: job.leaf,
            job: pick.job,
            ask: pick.ask,
            size: self.backlog.shapes.get(pick.shape).size,
            until_ms: self.now + grace_ms + self.setup.config.reserve_hold_ms,
            victims,
        };
        *self.promised.entry((pick.job, pick.ask)).or_insert(0) += 1;
        self.promises.entry(id).or_default().push(promise);
    }

    /// The promises with their nodes.
    pub(super) fn promises(&self) -> impl Iterator<Item = (NodeId, &Promise)> {
        let all = self.promises.iter();
        all.flat_map(|(id, promises)| promises.iter().map(|promise| (*id, promise)))
    }

    /// The promises on a node.
    pub(super) fn promises_on(&self, node: &Node) -> &[Promise] {
        let promises = self.promises.get(&node.facts.node);
        promises.map_or(&[], Vec::as_slice)
    }

    /// The free room of a node that is promised to no ask. What a promise will get of containers
    /// on their way out is not free yet.
    pub(super) fn open_room(&self, node: &Node) -> Resource {
        let promises = self.promises_on(node).iter();
        promises.fold(node.free, |room, promise| {
            let coming = self
                .coming(promise)
                .map(|(_, container)| container.resource);
            let coming = coming.fold(Resource::ZERO, |sum, size| sum + size);
            room - promise.size.resource.minus_or_zero(&coming)
        })
    }

    /// The free slots of a node that are promised to no ask, by pool.
    pub(super) fn open_slots(&self, node: &Node) -> [i64; POOLS] {
        let mut slots = self.slots_left(node);
        for promise in self.promises_on(node) {
            let frees = |(job, c): (JobId, &Container)| self.pool_of(job, c) == promise.size.pool;
            if let Some(pool) = promise
                .size
                .pool
                .filter(|_| !self.coming(promise).any(frees))
            {
                slots[pool] -= 1;
            }
        }
        slots
    }

    /// The containers that have yet to end for a promise.
    fn coming(&self, promise: &Promise) -> impl Iterator<Item = (JobId, &Container)> {
        let victims = promise.victims.iter();
        victims.filter_map(|(id, key)| Some((*id, self.cluster.job(*id)?.containers.get(key)?)))
    }

    /// Grants what was promised on a node that reports, as far as the room has come.
    pub(super) fn serve_promises(
        &mut self,
        id: NodeId,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
    ) {
        let mut at = 0;
        while let Some(promise) = self.promises.get(&id).and_then(|all| all.get(at)) {
            let node = self.cluster.node(id).expect("the heartbeat found it");
            if self.coming(promise).next().is_some() {
                at += 1;
                continue;
            }
            let slot = promise.size.pool;
            let slot = slot.is_none_or(|pool| self.slots_left(node)[pool] > 0);
            let job = self.cluster.job(promise.job);
            let ask = job.and_then(|job| Some((job, job.ask(promise.ask)?)));
            let ask = ask.filter(|(job, ask)| self.keeps(promise, job, ask, node));
            let Some((job, ask)) =
                ask.filter(|_| slot && promise.size.resource.fits_in(&node.free))
            else {
                at += 1;
                continue;
            };
            if decisions.len() >= decisions_max {
                self.cut = true;
                return;
            }
            let pick = Pick {
                shape: ask.shape,
                job: promise.job,
                ask: promise.ask,
            };
            let tree = self.tree_of(node.facts.partition);
            let admitted = tree.within_limits(job.leaf, &promise.size.resource)
                && self.is_admitted(job, ask)
                && self.is_paid_for(job, promise.size.pool);
            self.break_promise(id, at);
            if admitted {
                self.grant_promised(id, pick, decisions);
            }
        }
    }

    fn break_promise(&mut self, id: NodeId, at: usize) {
        if let Some(all) = self.promises.get_mut(&id) {
            let promise = all.remove(at);
            if all.is_empty() {
                self.promises.remove(&id);
            }
            let of_ask = (promise.job, promise.ask);
            let count = self.promised.get_mut(&of_ask).expect("it is counted");
            *count -= 1;
            if *count == 0 {
                self.promised.remove(&of_ask);
            }
        }
    }

    /// Whether all that an ask still lacks is promised to it.
    pub(super) fn is_spoken_for(&self, entry: &Entry) -> bool {
        let promised = self.promised.get(&(entry.job, entry.ask)).copied();
        let ask = || self.cluster.job(entry.job)?.ask(entry.ask);
        promised.is_some_and(|promised| ask().is_some_and(|ask| ask.facts.count <= promised))
    }

    /// Ends the promises on a node that has gone.
    pub(super) fn break_promises(&mut self, id: NodeId) {
        while self.promises.contains_key(&id) {
            self.break_promise(id, 0);
        }
    }

    /// Whether an ask may still have what was promised.
    fn keeps(&self, promise: &Promise, job: &Job, ask: &Ask, node: &Node) -> bool {
        job.leaf == promise.leaf
            && job.runnable
            && ask.facts.count > 0
            && ask.standing != Standing::Out
            && self.backlog.shapes.get(ask.shape).size == promise.size
            && self.may_come_to_run(job, ask, node)
    }

    /// Looks through all promises. One whose ask can no longer have it goes to the next ask of the
    /// same leaf and size, or ends.
    pub(super) fn review_promises(&mut self) {
        let all = std::mem::take(&mut self.promises);
        let mut given = Promised::new();
        for (id, promises) in all {
            let kept = promises
                .into_iter()
                .filter(|promise| promise.until_ms > self.now);
            let kept: Vec<Promise> = kept
                .filter_map(|promise| self.renewed(id, promise, &mut given))
                .collect();
            if !kept.is_empty() {
                self.promises.insert(id, kept);
            }
        }
        self.promised = given;
    }

    fn renewed(&self, id: NodeId, promise: Promise, given: &mut Promised) -> Option<Promise> {
        let node = self.cluster.node(id)?;
        let takes = |job: &Job, ask: &Ask| {
            let before = given.get(&(job.facts.job, ask.facts.ask)).copied();
            self.keeps(&promise, job, ask, node) && before.unwrap_or(0) < ask.facts.count
        };
        let own = self.cluster.job(promise.job);
        let own = own.and_then(|job| Some((job, job.ask(promise.ask)?)));
        let own = own.filter(|(job, ask)| takes(job, ask));
        let (job, ask) = own.or_else(|| {
            let others = self.asks_of(promise.leaf, promise.size.partition);
            others.into_iter().find(|(job, ask)| takes(job, ask))
        })?;
        let (job, ask) = (job.facts.job, ask.facts.ask);
        *given.entry((job, ask)).or_insert(0) += 1;
        Some(Promise {
            job,
            ask,
            ..promise
        })
    }
}
