//! Taking containers back for queues that have waited too long below their share.
//!
//! Off unless configured. Never an ApplicationMaster, never anything of an application other
//! than MapReduce unless its queue allows it (`preempt_opaque`), never more than the starved queue
//! lacks, never so much that the victim's queue falls below its own fair share; the latest started
//! container goes first, as it loses the least work. Amounts are memory, as in the comparison
//! of queues; a container of a queue that is over its share in vcores alone is not taken.

use super::Engine;
use crate::change::World;
use crate::event::{Decision, EvictReason};
use crate::share::{Layout, ShareNodeId, Victim as Reclaimed};
use crate::types::{ContainerKey, JobId, Millis};

/// Evictions per tick: bounds the work and lets their effect be seen before more follow.
const EVICTIONS_MAX: usize = 100;

/// A container that may be taken: later started first, then by job and key.
type Victim = (std::cmp::Reverse<Millis>, JobId, ContainerKey, i64);

impl Engine {
    pub(super) fn preempt(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        let queues = self.share.layout() == Layout::Queues;
        if !self.setup.config.preemption.enabled || !queues {
            return;
        }
        let starved = self.starved();
        let mut needed_mb: i64 = starved.iter().map(|(_, needed_mb, _)| *needed_mb).sum();
        needed_mb -= self.evicting_mb();
        let Some((_, _, reason)) = starved.first().copied().filter(|_| needed_mb > 0) else {
            return;
        };
        let (mut evictions, lacking_mb) = (0, needed_mb);
        for leaf in self.leaves_over_share() {
            let node = self.tree.node(leaf);
            let mut surplus_mb = node.used.memory_mb() - node.fair_share.memory_mb();
            for (_, job, key, memory_mb) in self.victims(leaf) {
                if needed_mb <= 0 || evictions == EVICTIONS_MAX {
                    return;
                } else if decisions.len() >= decisions_max {
                    self.cut = true;
                    return;
                } else if memory_mb > surplus_mb {
                    continue;
                }
                surplus_mb -= memory_mb;
                needed_mb -= memory_mb;
                evictions += 1;
                self.note_eviction(job, key, reason, lacking_mb);
                self.evicting.insert((job, key));
                let grace_ms = self.setup.config.preemption.grace_ms;
                decisions.push(Decision::Evict {
                    job,
                    key,
                    reason,
                    grace_ms,
                });
            }
        }
    }

    /// Takes back what the share and the order stage want back, as far as it may be taken, and
    /// nothing twice.
    pub(super) fn reclaim(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        let world = World {
            now: self.now,
            cluster: &self.cluster,
            tree: &self.tree,
            slots: self.slots,
            config: &self.setup.config,
            evicting: &self.evicting,
        };
        let unpaid = self.share.reclaim(&world).into_iter();
        let displaced = self.order.reclaim(&world).into_iter();
        let victims = unpaid
            .map(|victim| (victim, EvictReason::Unpaid))
            .take(EVICTIONS_MAX)
            .chain(
                displaced
                    .map(|victim| (victim, EvictReason::Displaced))
                    .take(EVICTIONS_MAX),
            );
        for (Reclaimed { job, key }, reason) in victims {
            if decisions.len() >= decisions_max {
                self.cut = true;
                return;
            }
            if !self.may_take(job, key) || !self.evicting.insert((job, key)) {
                continue;
            }
            self.note_eviction(job, key, reason, 0);
            let grace_ms = self.setup.config.preemption.grace_ms;
            decisions.push(Decision::Evict {
                job,
                key,
                reason,
                grace_ms,
            });
        }
    }

    /// `World::may_take` for a container that a stage named.
    fn may_take(&self, id: JobId, key: ContainerKey) -> bool {
        self.cluster.job(id).is_some_and(|job| {
            let container = job.containers.get(&key).filter(|container| !container.am);
            container.is_some() && self.cluster.queues.may_take_from(&job.facts)
        })
    }

    /// Queues that have been below a share for longer than allowed, with what they lack in MB.
    fn starved(&mut self) -> Vec<(ShareNodeId, i64, EvictReason)> {
        let preemption = self.setup.config.preemption.clone();
        let now = self.now;
        let mut starved = Vec::new();
        for id in self.tree.ids() {
            let node = self.tree.node_mut(id);
            let used_mb = node.used.memory_mb();
            let wants = node.children.is_empty() && node.pending_asks > 0;
            let min_mb = node.min_share.component_min(&node.demand).memory_mb();
            let fair_mb = node.fair_share.memory_mb();
            let low_mb = (fair_mb as f64 * preemption.fair_share_threshold) as i64;
            let since = |below: bool, since: Option<Millis>| {
                if wants && below {
                    since.or(Some(now))
                } else {
                    None
                }
            };
            node.below_min_since_ms = since(used_mb < min_mb, node.below_min_since_ms);
            node.below_fair_since_ms = since(used_mb < low_mb, node.below_fair_since_ms);
            let waited = |since: Option<Millis>, timeout_ms| {
                since.is_some_and(|since| now - since >= timeout_ms)
            };
            if waited(node.below_min_since_ms, preemption.min_share_timeout_ms) {
                starved.push((id, min_mb - used_mb, EvictReason::MinShare));
            } else if waited(node.below_fair_since_ms, preemption.fair_share_timeout_ms) {
                starved.push((id, fair_mb - used_mb, EvictReason::FairShare));
            }
        }
        starved
    }

    fn evicting_mb(&self) -> i64 {
        let container = |(job, key): &(JobId, ContainerKey)| {
            let container = self.cluster.job(*job)?.containers.get(key)?;
            Some(container.resource.memory_mb())
        };
        self.evicting.iter().filter_map(container).sum()
    }

    /// Leaves above their fair share, the furthest above first.
    fn leaves_over_share(&self) -> Vec<ShareNodeId> {
        let over = |id: &ShareNodeId| {
            let node = self.tree.node(*id);
            node.used.memory_mb() - node.fair_share.memory_mb()
        };
        let mut leaves: Vec<ShareNodeId> = self
            .tree
            .ids()
            .filter(|id| self.tree.node(*id).children.is_empty() && over(id) > 0)
            .collect();
        leaves.sort_by_key(|id| (std::cmp::Reverse(over(id)), *id));
        leaves
    }

    fn victims(&self, leaf: ShareNodeId) -> Vec<Victim> {
        let mut victims: Vec<Victim> = self
            .cluster
            .jobs()
            .filter(|job| job.leaf == leaf && self.cluster.queues.may_take_from(&job.facts))
            .flat_map(|job| {
                job.containers
                    .iter()
                    .map(|(key, c)| (job.facts.job, *key, c))
            })
            .filter(|(job, key, c)| !c.am && !self.evicting.contains(&(*job, *key)))
            .map(|(job, key, c)| {
                (
                    std::cmp::Reverse(c.started_ms),
                    job,
                    key,
                    c.resource.memory_mb(),
                )
            })
            .collect();
        victims.sort_unstable();
        victims
    }
}
