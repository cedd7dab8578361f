//! Takes containers back for queues that have waited too long below their share.
//!
//! Off unless configured. Never takes:
//! - what `preempt_from` or `preempt_opaque` spares;
//! - an ApplicationMaster, unless `preemption.masters` says so;
//! - more than the starved queue lacks;
//! - so much that the victim's queue falls below its own share of the nodes in question, in every
//!   type that a node is short of;
//! - what the order of shares would give to the victim's queue, or to one above it, again;
//! - a container whose end lets no ask fit its node.
//!
//! `victims.rs` picks the containers, `labels.rs` computes shares by label, `inside.rs` the parts
//! of jobs in one queue, which may take from each other, and `promises.rs` keeps the room for the
//! ask that it was made for.

use super::Engine;
use super::asks::CutAt;
use super::inside::Inside;
use super::labels::Labels;
use super::need::Need;
use super::victims::{Eviction, Round};
use crate::explain::Compared;
use crate::model::job::{Ask, Job};
use crate::model::queue::Spares;
use crate::model::share_tree::ShareTree;
use crate::words::event::{Decision, EvictReason};
use crate::words::ids::{ContainerKey, JobId, Millis};
use crate::words::keys::Layout;
use crate::words::resource::Resource;
use std::cmp::Reverse;
use std::collections::BTreeMap;

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
        let from = self.cut_at.take();
        if starved.is_empty() && insides.is_empty() {
            self.observed.clear();
            return;
        }
        let (mut plans, mut unmet) = (Vec::new(), Vec::new());
        let (starved, insides, from) = rest_of_round(from, starved, insides);
        let mut round = Round::new(self, &labels, &insides);
        let mut from = from.map(|from| from.ask);
        for need in &starved {
            let of_need = round.plan(need, from.take());
            if of_need.is_empty() && round.is_unmet && round.cut_at.is_none() {
                unmet.push(*need);
            }
            plans.extend(of_need.into_iter().map(|plan| (*need, plan)));
        }
        for inside in insides {
            plans.extend(round.plan_inside(inside, from.take()));
        }
        self.cut_at = round.cut_at;
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
        let due = |last_ms| self.now - last_ms >= round_ms;
        self.cut_at.is_some() || self.preempted_ms.is_none_or(due)
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
        // The rest looks at all containers.
        if self.starving.get(&at).is_none_or(|starving| starving.told) {
            return;
        }
        let asks = self.asks_of(need.leaf, need.partition);
        let first = asks.first();
        let spares = first.and_then(|(job, ask)| self.sparing(job, ask));
        let path = |id| {
            self.cluster
                .queues
                .get(id)
                .map_or("?", |queue| &queue.config.path)
        };
        if let Some(spares) = spares {
            log::warn!(
                "queue {} lacks {} MB of its share; preemption takes nothing of queue {}, which \
                 spares {}",
                path(self.tree.node(need.leaf).queue),
                need.lacking.memory_mb(),
                path(spares.queue),
                spares.applications()
            );
            let starving = self.starving.get_mut(&at);
            starving.expect("it was found above").told = true;
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
            lacking_mb: need.lacking.memory_mb(),
            used_mb,
            fair_mb,
        });
        self.note_eviction(job, key, need.reason, compared);
    }

    /// Carries out a plan, and promises the room to its ask.
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
        self.promise(plan.node, plan.pick, plan.made_by.clone());
    }

    /// Whether the order stage, the user's limits and that on ApplicationMasters let an ask have a
    /// container at all. Ignores a queue's maximum: the containers to take back may be what fills
    /// it.
    pub(super) fn is_admitted(&self, job: &Job, ask: &Ask) -> bool {
        job.runnable
            && !job.is_held(ask)
            && if ask.facts.am {
                let tree = self.tree_of(ask.facts.partition);
                tree.admits_am(job.leaf, ask.shape, &ask.facts.resource)
            } else {
                job.admitted[job.kind(ask.facts.priority) as usize]
            }
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
            let below_min = |tree: &ShareTree, promised: Resource| {
                let node = tree.node(leaf);
                let least = node.min_share.component_min(&node.demand);
                (
                    least.memory_mb(),
                    least.minus_or_zero(&(node.used + promised)),
                )
            };
            let promised = labels.iter().map(|(_, label)| label.promised_to(leaf));
            let promised = promised.fold(Resource::ZERO, |sum, size| sum + size);
            let (mut min_mb, mut lacks_of_min) = below_min(&self.tree, promised);
            for (partition, label) in labels.iter() {
                if self.partitioned {
                    let tree = self.tree_of(partition);
                    (min_mb, lacks_of_min) = below_min(tree, label.promised_to(leaf));
                }
                let share = label.share(self, leaf, preemption.fair_share_threshold);
                if share.pending.is_zero() {
                    continue;
                }
                let was = before.get(&(leaf, partition)).copied().unwrap_or_default();
                let since =
                    |below: bool, since: Option<Millis>| below.then_some(since.unwrap_or(now));
                let is = Starving {
                    below_min_ms: since(!lacks_of_min.is_zero(), was.below_min_ms),
                    below_fair_ms: since(share.is_starved, was.below_fair_ms),
                    told: was.told && (share.is_starved || share.used_mb < min_mb),
                };
                self.starving.insert((leaf, partition), is);
                let waited = |since: Option<Millis>, timeout_ms| {
                    since.is_some_and(|since| now - since >= timeout_ms)
                };
                let (lacking, reason) = if waited(is.below_min_ms, preemption.min_share_timeout_ms)
                {
                    (
                        lacks_of_min.component_min(&share.pending),
                        EvictReason::MinShare,
                    )
                } else if waited(is.below_fair_ms, preemption.fair_share_timeout_ms) {
                    (share.lacking, EvictReason::FairShare)
                } else {
                    continue;
                };
                // The next need does not have to give this part of the minimum again.
                lacks_of_min = lacks_of_min.minus_or_zero(&lacking);
                starved.push(Need {
                    leaf,
                    partition,
                    lacking,
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

/// What a round that goes on where it was cut has left of its needs and leaves, and where in the
/// first of them. All of them if that is gone: a new round begins.
fn rest_of_round(
    from: Option<CutAt>,
    mut starved: Vec<Need>,
    mut insides: Vec<Inside>,
) -> (Vec<Need>, Vec<Inside>, Option<CutAt>) {
    let Some(cut) = from else {
        return (starved, insides, None);
    };
    let is_at = |leaf, partition| (leaf, partition) == (cut.leaf, cut.partition);
    let first = match cut.inside_mb {
        None => starved
            .iter()
            .position(|need| is_at(need.leaf, need.partition)),
        Some(_) => insides
            .iter()
            .position(|inside| is_at(inside.leaf, inside.partition)),
    };
    let Some(first) = first else {
        return (starved, insides, None);
    };
    if let Some(left_mb) = cut.inside_mb {
        starved.clear();
        insides.drain(..first);
        insides[0].left_mb = insides[0].left_mb.min(left_mb);
        if left_mb <= 0 {
            insides.remove(0);
            return (starved, insides, None);
        }
    } else {
        starved.drain(..first);
    }
    (starved, insides, Some(cut))
}
