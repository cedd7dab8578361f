//! Takes containers back for queues that have waited too long below their share.
//!
//! Off unless configured. Never takes:
//! - what `preempt_from` or `preempt_opaque` spares;
//! - an ApplicationMaster, unless `preemption.masters` says so;
//! - more than the starved queue lacks;
//! - so much that the victim's queue falls below its own share of the nodes in question;
//! - a container whose end lets no ask fit its node.
//!
//! `victims.rs` picks the containers, `labels.rs` computes shares by label, `inside.rs` the parts
//! of jobs in one queue, which may take from each other. Amounts are memory, as in the comparison
//! of queues: a surplus of vcores alone is not taken back.

use super::Engine;
use super::labels::Labels;
use super::victims::{EVICTIONS_MAX, Eviction, Need, Round};
use crate::explain::Compared;
use crate::model::job::{Ask, Job, Standing};
use crate::model::queue::Spares;
use crate::model::share_tree::ShareTree;
use crate::words::event::{Decision, EvictReason};
use crate::words::ids::{ContainerKey, JobId, Millis, NodeId};
use crate::words::keys::{Layout, Victim as Reclaimed};
use crate::words::resource::Resource;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Since when a queue has been below a share, with asks pending for the nodes of a label.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starving {
    below_min_ms: Option<Millis>,
    below_fair_ms: Option<Millis>,
    /// Whether the log has already said what keeps it starved.
    told: bool,
}

impl Engine {
    /// Notes which queues wait below their shares and, once in `round_ms`, takes containers back
    /// for them.
    pub(super) fn preempt(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        if !self.preempts() || self.backlog.shapes.standing().is_empty() {
            self.starving.clear();
            self.observed.clear();
            return;
        }
        let labels = self.labels();
        let starved = self.starved(&labels);
        let needless = starved.is_empty() && self.setup.config.preemption.inside.is_none();
        if !needless && !self.is_round_due() {
            return;
        }
        let insides = self.insides(&labels);
        if starved.is_empty() && insides.is_empty() {
            self.observed.clear();
            return;
        }
        let (mut plans, mut unmet) = (Vec::new(), Vec::new());
        let mut round = Round::new(self, &labels, &insides);
        for need in &starved {
            let of_need = round.plan(need);
            if of_need.is_empty() && round.left_mb > 0 {
                unmet.push(*need);
            }
            plans.extend(of_need.into_iter().map(|plan| (*need, plan)));
        }
        for inside in insides {
            plans.extend(round.plan_inside(inside));
        }
        unmet.iter().for_each(|need| self.warn_of_spared(need));
        if self.setup.config.preemption.observe_only {
            self.observe(&plans, &labels);
            self.preempted_ms = Some(self.now);
            return;
        }
        self.observed.clear();
        for (need, plan) in plans {
            if decisions.len() + plan.victims.len() > decisions_max {
                self.cut = true;
                return;
            }
            self.evict(&need, &plan, &labels, decisions);
        }
        self.preempted_ms = Some(self.now);
    }

    fn is_round_due(&self) -> bool {
        let round_ms = self.setup.config.preemption.round_ms;
        self.preempted_ms
            .is_none_or(|last_ms| self.now - last_ms >= round_ms)
    }

    /// For an ask without room: the queue above its share that spares the most memory on nodes
    /// where the ask may run.
    pub(super) fn sparing(&self, waiting: &Job, ask: &Ask) -> Option<Spares> {
        let mut spared_mb: BTreeMap<Spares, i64> = BTreeMap::new();
        for job in self.cluster.jobs() {
            let leaf = self.tree_of(ask.facts.partition).node(job.leaf);
            let above = leaf.used.memory_mb() > leaf.fair_share.memory_mb();
            let Some(spares) = self.cluster.queues.spares(&job.facts) else {
                continue;
            };
            let here = |id| self.cluster.node(id);
            let may_use = |node| self.may_come_to_run(waiting, ask, node);
            for container in job.containers.values().filter(|c| above && !c.am) {
                if here(container.node).is_some_and(may_use) {
                    *spared_mb.entry(spares).or_insert(0) += container.resource.memory_mb();
                }
            }
        }
        let most = spared_mb
            .into_iter()
            .max_by_key(|(spares, mb)| (*mb, Reverse(*spares)));
        most.map(|(spares, _)| spares)
    }

    /// Warns once that a starved queue gets nothing back because another queue spares its
    /// containers.
    fn warn_of_spared(&mut self, need: &Need) {
        let at = (need.leaf, need.partition);
        let asks = self.asks_of(need.leaf, need.partition);
        let first = asks.first();
        let spares = first.and_then(|(job, ask)| self.sparing(job, ask));
        let Some(starving) = self.starving.get_mut(&at).filter(|starving| !starving.told) else {
            return;
        };
        let path = |id| {
            self.cluster
                .queues
                .get(id)
                .map_or("?", |queue| &queue.config.path)
        };
        if let Some(spares) = spares {
            starving.told = true;
            log::warn!(
                "queue {} lacks {} MB of its share; preemption takes nothing of queue {}, which \
                 spares {}",
                path(self.tree.node(need.leaf).queue),
                need.lacking_mb,
                path(spares.queue),
                spares.applications()
            );
        }
    }

    /// Whether queues that wait below their share get containers back.
    pub(super) fn preempts(&self) -> bool {
        self.setup.config.preemption.enabled && self.share.layout() == Layout::Queues
    }

    /// Writes down what plans would take, each container once as long as every round would take it.
    fn observe(&mut self, plans: &[(Need, Eviction)], labels: &Labels) {
        let before = std::mem::take(&mut self.observed);
        for (need, plan) in plans {
            for (job, key) in plan.victims.iter().copied() {
                self.observed.insert((job, key));
                if !before.contains(&(job, key)) {
                    self.note_victim(job, key, need, labels);
                }
            }
        }
    }

    /// Notes a container that goes for a need, with its queue's figures on the nodes of that label.
    fn note_victim(&mut self, job: JobId, key: ContainerKey, need: &Need, labels: &Labels) {
        let leaf = self.cluster.job(job).map(|job| job.leaf);
        let of_leaf = leaf.and_then(|leaf| labels.of_leaf_mb(need.partition, leaf));
        let compared = of_leaf.map(|[used_mb, fair_mb]| Compared {
            lacking_mb: need.lacking_mb,
            used_mb,
            fair_mb,
        });
        self.note_eviction(job, key, need.reason, compared);
    }

    /// Carries out a plan. Holds a node whose room comes in pieces: else smaller asks would take
    /// them one by one, and the next round would kill again.
    fn evict(
        &mut self,
        need: &Need,
        plan: &Eviction,
        labels: &Labels,
        decisions: &mut Vec<Decision>,
    ) {
        let grace_ms = self.setup.config.preemption.grace_ms;
        for (job, key) in plan.victims.iter().copied() {
            self.note_victim(job, key, need, labels);
            self.evicting.insert((job, key));
            decisions.push(Decision::Evict {
                job,
                key,
                reason: need.reason,
                grace_ms,
            });
        }
        if plan.hold {
            let length_ms = self.setup.config.reserve_hold_ms + i64::from(grace_ms);
            self.hold(plan.node, plan.pick, length_ms);
        }
    }

    /// Evicts the containers that the share and the order stage want back, none of them twice. Each
    /// must be takable and, unless another workload gets its slot, make room for an ask.
    pub(super) fn reclaim(&mut self, decisions_max: usize, decisions: &mut Vec<Decision>) {
        let world = world!(self);
        let market = self.share.market_mut();
        let unpaid = market.map_or_else(Vec::new, |market| market.reclaim(&world));
        let displaced = self.order.reclaim(&world);
        for (victims, reason, for_asks) in [
            (unpaid, EvictReason::Unpaid, true),
            (
                displaced.victims,
                EvictReason::Displaced,
                !displaced.for_others,
            ),
        ] {
            let most = decisions_max.saturating_sub(decisions.len());
            self.cut |= victims.len() > most;
            for Reclaimed { job, key } in self.takable(victims, most.min(EVICTIONS_MAX), for_asks) {
                self.evicting.insert((job, key));
                self.note_eviction(job, key, reason, None);
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

    /// Picks the containers that may be taken from those that a stage named. If they go `for_asks`,
    /// the room on their node must then let an ask of another job in. Cuts the list to `most`
    /// before that: room that comes in a later step serves nothing yet.
    fn takable(&self, victims: Vec<Reclaimed>, most: usize, for_asks: bool) -> Vec<Reclaimed> {
        let mut seen = BTreeSet::new();
        let mut freed: BTreeMap<NodeId, Resource> = BTreeMap::new();
        let mut named = Vec::new();
        for victim in victims {
            let job = self.cluster.job(victim.job);
            let Some((job, container)) =
                job.and_then(|job| Some((job, job.containers.get(&victim.key)?)))
            else {
                continue;
            };
            let going = self.evicting.contains(&(victim.job, victim.key));
            if !going
                && named.len() < most
                && seen.insert((victim.job, victim.key))
                && !container.am
                && self.cluster.queues.may_take_from(&job.facts)
            {
                *freed.entry(container.node).or_default() += container.resource;
                named.push((victim, container.node));
            }
        }
        if for_asks && !named.is_empty() {
            for (job, key) in &self.evicting {
                let job = self.cluster.job(*job);
                if let Some(container) = job.and_then(|job| job.containers.get(key))
                    && let Some(room) = freed.get_mut(&container.node)
                {
                    *room += container.resource;
                }
            }
            named.retain(|(victim, node)| self.serves_another(victim.job, *node, &freed[node]));
        }
        named.into_iter().map(|(victim, _)| victim).collect()
    }

    /// Whether the order stage, the user's limits and that on ApplicationMasters let an ask have a
    /// container at all. Ignores a queue's maximum: the containers to take back may be what fills
    /// it.
    fn is_admitted(&self, job: &Job, ask: &Ask) -> bool {
        job.runnable
            && !job.is_held(ask)
            && if ask.facts.am {
                let tree = self.tree_of(ask.facts.partition);
                tree.admits_am(job.leaf, &ask.facts.resource)
            } else {
                job.admitted[job.kind(ask.facts.priority) as usize]
            }
    }

    /// Whether an ask of a job other than `owner` may run on a node with `freed` more room.
    fn serves_another(&self, owner: JobId, node: NodeId, freed: &Resource) -> bool {
        let Some(node) = self.cluster.node(node) else {
            return false;
        };
        let room = node.whole - node.used + *freed;
        let shapes = &self.backlog.shapes;
        let fits = |size: &crate::backlog::ShapeSize| {
            size.partition == node.facts.partition && size.resource.fits_in(&room)
        };
        if !shapes
            .standing()
            .iter()
            .any(|id| fits(&shapes.get(*id).size))
        {
            return false;
        }
        let others = self.cluster.jobs().filter(|job| job.facts.job != owner);
        let serves = |job: &Job| {
            job.pending().any(|ask| {
                ask.standing != Standing::Out
                    && fits(&shapes.get(ask.shape).size)
                    && self.is_admitted(job, ask)
                    && self.may_come_to_run(job, ask, node)
            })
        };
        others.into_iter().any(serves)
    }

    /// Queues that have been below a share for longer than its timeout, with what they lack in MB.
    fn starved(&mut self, labels: &Labels) -> Vec<Need> {
        let now = self.now;
        let before = std::mem::take(&mut self.starving);
        let mut starved = Vec::new();
        if !self.is_busy_enough() {
            return starved;
        }
        for leaf in self.leaves().collect::<Vec<_>>() {
            let queue = self.tree.node(leaf).queue;
            let preemption = &self.setup.config.preemption;
            let preemption = self.cluster.queues.patience(queue, preemption);
            let below_min = |tree: &ShareTree| {
                let node = tree.node(leaf);
                let min_mb = node.min_share.component_min(&node.demand).memory_mb();
                (min_mb, min_mb - node.used.memory_mb())
            };
            let (mut min_mb, mut below_min_mb) = below_min(&self.tree);
            for (partition, label) in labels.iter() {
                if self.partitioned {
                    (min_mb, below_min_mb) = below_min(self.tree_of(partition));
                }
                let share = label.share(self, leaf, preemption.fair_share_threshold);
                if share.pending_mb == 0 {
                    continue;
                }
                let was = before.get(&(leaf, partition)).copied().unwrap_or_default();
                let since =
                    |below: bool, since: Option<Millis>| below.then_some(since.unwrap_or(now));
                let is = Starving {
                    below_min_ms: since(below_min_mb > 0, was.below_min_ms),
                    below_fair_ms: since(share.is_starved, was.below_fair_ms),
                    told: was.told && (share.is_starved || share.used_mb < min_mb),
                };
                self.starving.insert((leaf, partition), is);
                let waited = |since: Option<Millis>, timeout_ms| {
                    since.is_some_and(|since| now - since >= timeout_ms)
                };
                let (lacking_mb, reason) =
                    if waited(is.below_min_ms, preemption.min_share_timeout_ms) {
                        (below_min_mb.min(share.pending_mb), EvictReason::MinShare)
                    } else if waited(is.below_fair_ms, preemption.fair_share_timeout_ms) {
                        (share.lacking_mb, EvictReason::FairShare)
                    } else {
                        continue;
                    };
                // The next need does not have to give this part of the minimum again.
                below_min_mb -= lacking_mb;
                starved.push(Need {
                    leaf,
                    partition,
                    lacking_mb,
                    reason,
                });
            }
        }
        starved
    }

    /// Whether the cluster is as full as `cluster_threshold` wants before anything is taken back.
    pub(super) fn is_busy_enough(&self) -> bool {
        let threshold = self.setup.config.preemption.cluster_threshold;
        threshold.is_none_or(|threshold| {
            let (used, capacity) = (&self.cluster.used, &self.cluster.capacity);
            // Memory and vcores, as in YARN's Fair Scheduler; further types do not count.
            let in_use = |i: usize| used[i] as f64 / capacity[i].max(1) as f64;
            let vcores = !self.setup.config.memory_only && in_use(1) > threshold;
            vcores || in_use(0) > threshold
        })
    }
}
