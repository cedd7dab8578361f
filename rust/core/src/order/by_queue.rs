//! In each leaf the order that its queue sets, with the comparisons of YARN's Fair and Capacity
//! schedulers (`docs/develop/stock-fair.md`, 6.5; `stock-capacity.md`, 7.2).
//!
//! A key follows from a job's priority, submission, usage and demand alone. A grant or the end of a
//! container thus changes one key, however many jobs wait. Queues are the concern of `share`.

use crate::config::{By, LeafOrder};
use crate::model::change::{Change, Stale, World};
use crate::model::job::Job;
use crate::model::wait::Measure;
use crate::stage::common::Stage;
use crate::stage::entry::Preset;
use crate::stage::order::{Order, OrderEntry};
use crate::words::keys::{OrderKey, ShareNodeId};
use crate::words::kind::Kind;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// Entry in the catalogue.
pub(crate) const ENTRY: OrderEntry = OrderEntry {
    name: "by-queue",
    summary: "as each queue says: by priority and submission, or by memory or dominant share in \
              use, as in YARN's Fair and Capacity schedulers",
    preset: Some(Preset {
        name: "by-queue",
        summary: "another name of `fair`",
        stages: ["fair", "by-queue", "delay"],
        workload: "users",
    }),
    wants: &[],
    reads: &["queues.size_weight", "queue_defaults.size_weight"],
    own: None,
    build: |_config| Box::new(ByQueue::default()),
};

/// First part of the key of a job without containers, less its priority. Such a job goes before all
/// that have some: it uses nothing. Far below 0, where usage begins, whatever the priority.
const IDLE: i64 = -(1 << 40);

/// Drift in the proportions of the resource types beyond which dominant shares are recomputed: a
/// hundredth. A node that comes or goes then changes no key in a cluster of equal nodes, nor in a
/// large one.
const DRIFT: f64 = 0.01;

#[derive(Default)]
struct ByQueue {
    /// By leaf of the tree of shares.
    orders: Vec<LeafOrder>,
    /// Capacity that dominant shares refer to. Follows the cluster's on the tick, once the
    /// proportions of its types have changed; its size does not matter to the order.
    cluster: Resource,
}

impl ByQueue {
    fn order_of(&self, leaf: ShareNodeId) -> LeafOrder {
        self.orders.get(leaf.index()).copied().unwrap_or_default()
    }

    /// Takes note of the order that holds in a job's leaf.
    fn learn(&mut self, job: &Job, world: &World<'_>, stale: &mut Stale) {
        let at = job.leaf.index();
        if self.orders.len() <= at {
            self.orders.resize(at + 1, LeafOrder::default());
        }
        let queue = world.tree.node(job.leaf).queue;
        let queue = world.cluster.queues.get(queue);
        self.orders[at] = queue.map_or_else(LeafOrder::default, |queue| queue.config.leaf_order);
        if self.cluster.is_zero() {
            self.follow(world, stale);
        }
    }

    /// Follows the cluster's proportions.
    fn follow(&mut self, world: &World<'_>, stale: &mut Stale) {
        if drifted(&self.cluster, &world.cluster.capacity) {
            self.cluster = world.cluster.capacity;
            let by_share = |job: &&Job| self.order_of(job.leaf).by == By::Drf;
            for job in world.cluster.jobs().filter(by_share) {
                stale.job(job.facts.job);
            }
        }
    }

    /// The job's shares of the cluster by weight, the largest two, in order. They are compared in
    /// turn.
    fn shares(&self, job: &Job, size_weight: bool) -> [f32; 2] {
        let weight = weight(job, size_weight);
        let mut largest = [0.0; 2];
        for i in (0..RESOURCE_TYPES_MAX).filter(|i| self.cluster[*i] > 0) {
            let share = job.used[i].max(0) as f64 / self.cluster[i] as f64 / weight;
            if share > largest[0] {
                largest = [share, largest[0]];
            } else if share > largest[1] {
                largest[1] = share;
            }
        }
        largest.map(|share| share as f32)
    }
}

/// Whether the proportions of the types differ by more than `DRIFT`, or a type came or went.
fn drifted(before: &Resource, now: &Resource) -> bool {
    if (0..RESOURCE_TYPES_MAX).any(|i| (before[i] > 0) != (now[i] > 0)) {
        return true;
    }
    let part = |i: usize| now[i] as f64 / before[i] as f64;
    let there = |i: &usize| before[*i] > 0;
    let parts = (0..RESOURCE_TYPES_MAX).filter(there).map(part);
    let (least, most) = parts.fold((f64::INFINITY, 0.0), |(least, most), part| {
        (part.min(least), part.max(most))
    });
    most > least * (1.0 + DRIFT)
}

/// Weight of a job against the others of its leaf.
fn weight(job: &Job, size_weight: bool) -> f64 {
    if !size_weight {
        return 1.0;
    }
    let pending = job.pending().map(|ask| {
        let memory_mb = ask.facts.resource.memory_mb();
        memory_mb.saturating_mul(i64::from(ask.facts.count))
    });
    let demand_mb = pending.fold(job.used.memory_mb(), i64::saturating_add);
    // A job that wants no memory has no weight, but its use counts.
    (1.0 + demand_mb.max(0) as f64)
        .log2()
        .max(f64::MIN_POSITIVE)
}

fn memory_by_weight(job: &Job, size_weight: bool) -> f64 {
    job.used.memory_mb().max(0) as f64 / weight(job, size_weight)
}

impl Stage for ByQueue {
    fn note(&mut self, change: &Change<'_>, world: &World<'_>, stale: &mut Stale) {
        let (job, by_demand) = match *change {
            Change::JobAdded(job) | Change::JobChanged(job) => {
                return self.learn(job, world, stale);
            }
            Change::Tick => return self.follow(world, stale),
            Change::Asked { job, .. } => (job, true),
            Change::Started { job, .. }
            | Change::Withdrawn { job, .. }
            | Change::Ended { job, .. }
            | Change::Resized(job) => (job, false),
            _ => return,
        };
        let is_sized = self.order_of(job.leaf).size_weight;
        if self.follows_usage(job.leaf) && (is_sized || !by_demand) {
            stale.job(job.facts.job);
        }
    }
}

impl Order for ByQueue {
    fn key(&self, job: &Job, _kind: Kind) -> OrderKey {
        let LeafOrder { by, size_weight } = self.order_of(job.leaf);
        let priority = i64::from(job.facts.priority);
        let first = match by {
            By::Fifo => -priority,
            _ if job.running_containers() == 0 => IDLE - priority,
            // The bits of numbers from 0 sort like the numbers.
            By::Fair => memory_by_weight(job, size_weight).to_bits() as i64,
            By::Drf => {
                let [dominant, other] = self.shares(job, size_weight);
                i64::from(dominant.to_bits()) << 32 | i64::from(other.to_bits())
            }
        };
        OrderKey(first, job.facts.submitted_ms)
    }

    fn follows_usage(&self, leaf: ShareNodeId) -> bool {
        self.order_of(leaf).by != By::Fifo
    }

    fn measure(&self, job: &Job, _kind: Kind) -> Option<Measure> {
        let LeafOrder { by, size_weight } = self.order_of(job.leaf);
        match by {
            By::Fifo => None,
            By::Fair if size_weight => {
                Some(Measure::MemoryBySize(memory_by_weight(job, true) as i64))
            }
            By::Fair => Some(Measure::Memory(job.used.memory_mb())),
            By::Drf => {
                let [dominant, _] = self.shares(job, size_weight);
                Some(Measure::DominantShare((f64::from(dominant) * 1e6) as i64))
            }
        }
    }

    fn shares_equally(&self, leaf: ShareNodeId) -> bool {
        self.order_of(leaf).by != By::Fifo
    }
}
