//! Notes what was decided of each job, where it is decided: a few words into the job's ring. Why
//! jobs wait is looked up on the tick, for a bounded number of them in turn. Decides nothing, and
//! nothing that decides looks here.

use super::Engine;
use super::search::Pick;
use super::why::Surveys;
use crate::explain::{Evicted, Granted, Names, Wait, What, sentence};
use crate::words::event::EvictReason;
use crate::words::ids::{ContainerKey, JobId, Locality, Millis, NodeId};

/// How often the tick explains waiting jobs, how many, and how many jobs it looks at for that. What
/// it finds is for traces; a request works its answer out anew.
const EXPLAIN_MS: Millis = 2_000;
const EXPLAINED_MAX: usize = 8;
const LOOKED_AT_MAX: u32 = 128;
/// How many asks before one are counted for that.
const AHEAD_MAX: u32 = 32;

impl Engine {
    /// A grant is about to be made: the keys are those that it was picked by.
    pub(super) fn note_grant(&mut self, node: NodeId, pick: &Pick, locality: Locality) {
        if !self.rings.is_on() {
            return;
        }
        let Some(job) = self.cluster.job(pick.job) else {
            return;
        };
        let Some(ask) = job.ask(pick.ask) else { return };
        let kind = job.kind(ask.facts.priority);
        let granted = Granted {
            node,
            ask: pick.ask,
            kind,
            am: ask.facts.am,
            locality,
            named: ask.rows.values().any(|row| row.count > 0),
            left: ask.facts.count.saturating_sub(1),
            share: self.tree.node(job.leaf).key(),
            order: job.order_keys[kind as usize],
        };
        log::debug!("job {} is granted a container: {granted:?}", pick.job.0);
        self.rings.note(pick.job, self.now, What::Granted(granted));
    }

    /// A container is to go. `lacking_mb` is what the queues lack for which it goes.
    pub(super) fn note_eviction(
        &mut self,
        id: JobId,
        key: ContainerKey,
        reason: EvictReason,
        lacking_mb: i64,
    ) {
        let Some(job) = self.cluster.job(id).filter(|_| self.rings.is_on()) else {
            return;
        };
        let container = job.containers.get(&key);
        let pool = container.and_then(|container| self.pool_of(id, container));
        let leaf = self.tree.node(job.leaf);
        let quota = pool
            .zip(self.share.market())
            .and_then(|(pool, market)| market.quota(job.leaf, pool));
        let (used, entitled) = match reason {
            EvictReason::MinShare | EvictReason::FairShare => {
                let fair_mb = leaf.fair_share.memory_mb();
                (leaf.used.memory_mb(), Some(fair_mb))
            }
            _ => (leaf.running[pool.unwrap_or(0)].into(), quota.map(i64::from)),
        };
        let evicted = Evicted {
            key,
            reason,
            queue: job.facts.queue,
            used,
            entitled,
            lacking: lacking_mb,
        };
        log::debug!("job {} is to give a container back: {evicted:?}", id.0);
        self.rings.note(id, self.now, What::Evicted(evicted));
    }

    /// Notes why jobs wait, where that has changed, a few at a time.
    pub(super) fn note_waits(&mut self) {
        let end = self.cluster.jobs_end();
        if !self.rings.is_on() || end == 0 || self.now < self.explain_at {
            return;
        }
        self.explain_at = self.now + EXPLAIN_MS;
        let mut surveys = Surveys::new();
        let mut explained = 0;
        let mut at = self.explain_from;
        for _ in 0..LOOKED_AT_MAX.min(end) {
            at = if at >= end { 0 } else { at };
            let id = JobId(at);
            at += 1;
            let Some(job) = self.cluster.job(id) else {
                continue;
            };
            let reason = self.first_wait(job, &mut surveys, AHEAD_MAX);
            explained += usize::from(reason.is_some());
            if self.rings.waits(id, self.now, reason) && log::log_enabled!(log::Level::Debug) {
                self.log_wait(id, &mut surveys);
            }
            if explained == EXPLAINED_MAX {
                break;
            }
        }
        self.explain_from = at;
    }

    fn log_wait(&self, id: JobId, surveys: &mut Surveys) {
        let job = self.cluster.job(id).expect("its wait was just noted");
        if let Some(wait) = self.waits(job, surveys, AHEAD_MAX).first() {
            log::debug!("job {} {}", id.0, self.sentence(wait));
        }
    }

    /// As people read it.
    pub(super) fn sentence(&self, wait: &Wait) -> String {
        sentence(wait, &self.names())
    }

    pub(super) fn names(&self) -> Names<'_> {
        Names {
            queues: &self.cluster.queues,
            resource_types: &self.setup.resource_types,
            now: self.now,
        }
    }

    /// Rings for every job, of the size that is configured now; what was noted is kept if that
    /// has not changed.
    pub(super) fn renew_rings(&mut self) {
        let size = self.setup.config.explain_entries;
        if size == self.rings.size() {
            return;
        }
        self.rings = crate::explain::Rings::new(size);
        let jobs: Vec<JobId> = self.cluster.jobs().map(|job| job.facts.job).collect();
        jobs.into_iter().for_each(|job| self.rings.open(job));
    }
}
