//! Notes decisions about jobs in their rings, where they are made. The tick looks up why jobs wait,
//! for a bounded number of them in turn. Decisions never read it.

use super::survey::Surveys;
use super::{EvictionRecord, GrantRecord, Ring, Rings, View, What, sentence};
use crate::model::change::World;
use crate::model::cluster::Cluster;
use crate::model::share_tree::ShareTree;
use crate::stage::market::Market;
use crate::words::event::EvictReason;
use crate::words::ids::{AskId, ContainerKey, JobId, Locality, Millis, NodeId};

/// How often the tick explains waiting jobs, how many, and how many jobs it looks at for that. The
/// result is for traces; a request takes only the time since when a job waits from it.
const EXPLAIN_MS: Millis = 2_000;
const EXPLAINED_MAX: usize = 8;
const LOOKED_AT_MAX: u32 = 128;
/// How many asks ahead of one are counted for that.
const AHEAD_MAX: u32 = 32;

/// Memory of queues on the nodes of one label, as preemption counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    /// Memory that starved queues lack.
    pub(crate) lacking_mb: i64,
    /// Usage of the queue that loses a container, including containers that are being stopped.
    pub(crate) used_mb: i64,
    /// Share of that queue.
    pub(crate) fair_mb: i64,
}

/// The rings of all jobs, and which job the tick explains next.
#[derive(Default)]
pub(crate) struct Trace {
    rings: Rings,
    next_job: u32,
    next_ms: Millis,
}

impl Trace {
    /// A trace with rings of `size` entries; with 0 it keeps nothing.
    pub(crate) fn new(size: usize) -> Trace {
        Trace {
            rings: Rings::new(size),
            ..Trace::default()
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.rings.is_on()
    }

    /// The latest decisions about a job.
    pub(crate) fn of(&self, job: JobId) -> Option<Ring<'_>> {
        self.rings.get(job)
    }

    pub(crate) fn open(&mut self, job: JobId) {
        self.rings.open(job);
    }

    pub(crate) fn close(&mut self, job: JobId) {
        self.rings.close(job);
    }

    /// Notes a decision that needs no lookup.
    pub(crate) fn note(&mut self, job: JobId, at_ms: Millis, what: What) {
        self.rings.note(job, at_ms, what);
    }

    /// Resizes every ring to `size`. Rings that already have that size keep their entries.
    pub(crate) fn resize(&mut self, size: usize, cluster: &Cluster) {
        if size == self.rings.size() {
            return;
        }
        self.rings = Rings::new(size);
        let jobs = cluster.jobs().map(|job| job.facts.job);
        jobs.for_each(|job| self.rings.open(job));
    }

    /// Notes a grant that is about to be made, with the keys by which the ask was picked.
    pub(crate) fn granted(
        &mut self,
        now: Millis,
        (cluster, tree): (&Cluster, &ShareTree),
        (job, ask): (JobId, AskId),
        node: NodeId,
        locality: Locality,
    ) {
        let Some(job) = cluster.job(job).filter(|_| self.rings.is_on()) else {
            return;
        };
        let Some(ask) = job.ask(ask) else { return };
        let kind = job.kind(ask.facts.priority);
        let granted = GrantRecord {
            node,
            ask: ask.facts.ask,
            kind,
            am: ask.facts.am,
            locality,
            named: ask.rows.values().any(|row| row.count > 0),
            left: ask.facts.count.saturating_sub(1),
            share: tree.node(job.leaf).key(),
            order: job.order_keys[kind as usize],
        };
        let id = job.facts.job;
        log::debug!("job {} is granted a container: {granted:?}", id.0);
        self.rings.note(id, now, What::Granted(granted));
    }

    /// Notes that a container will be taken back or, if that is only observed, would be.
    /// `compared` is none if a stage wants it back.
    pub(crate) fn evicted(
        &mut self,
        world: &World<'_>,
        market: Option<&dyn Market>,
        (id, key, observed): (JobId, ContainerKey, bool),
        reason: EvictReason,
        compared: Option<Compared>,
    ) {
        let Some(job) = world.cluster.job(id).filter(|_| self.rings.is_on()) else {
            return;
        };
        let container = job.containers.get(&key);
        let pool = container.and_then(|container| {
            let kind = job.kind(container.priority);
            world.pool(kind, container.am)
        });
        let leaf = world.tree.node(job.leaf);
        let quota = pool
            .zip(market)
            .and_then(|(pool, market)| market.quota(job.leaf, pool));
        let slots = leaf.running[pool.unwrap_or(0)].into();
        let (used, entitled) = match compared {
            Some(memory) => (memory.used_mb, Some(memory.fair_mb)),
            None => (slots, quota.map(i64::from)),
        };
        let lacking_mb = compared.map_or(0, |memory| memory.lacking_mb);
        let evicted = EvictionRecord {
            key,
            observed,
            reason,
            queue: job.facts.queue,
            used,
            entitled,
            lacking: lacking_mb,
        };
        if observed {
            // The operator asked to be told; an eviction shows in YARN's own log.
            let path = world.cluster.queues.get(job.facts.queue);
            let path = path.map_or("?", |queue| &queue.config.path);
            log::info!(
                "preemption only observes: container {key} of job {} in queue {path} would be \
                 taken back, for {lacking_mb} MB that others lack",
                id.0
            );
        } else {
            log::debug!("job {} must give a container back: {evicted:?}", id.0);
        }
        self.rings.note(id, world.now, What::Evicted(evicted));
    }

    /// Notes why jobs wait, where that has changed, a few jobs per tick.
    pub(crate) fn waits(&mut self, view: &View<'_>) {
        let (cluster, now) = (view.world.cluster, view.world.now);
        let end = cluster.jobs_end();
        if !self.rings.is_on() || end == 0 || now < self.next_ms {
            return;
        }
        self.next_ms = now + EXPLAIN_MS;
        let mut surveys = Surveys::new();
        let mut explained = 0;
        let mut at = self.next_job;
        for _ in 0..LOOKED_AT_MAX.min(end) {
            at = if at >= end { 0 } else { at };
            let id = JobId(at);
            at += 1;
            let Some(job) = cluster.job(id) else {
                continue;
            };
            let reason = view.first_wait(job, &mut surveys, AHEAD_MAX);
            explained += usize::from(reason.is_some());
            if self.rings.waits(id, now, reason)
                && log::log_enabled!(log::Level::Debug)
                && let Some(wait) = view.waits(job, &mut surveys, AHEAD_MAX).next()
            {
                log::debug!("job {} {}", id.0, sentence(&wait, &view.names()));
            }
            if explained == EXPLAINED_MAX {
                break;
            }
        }
        self.next_job = at;
    }
}
