//! Finds why a job's asks wait: asks the questions of the search in the search's order, until one
//! is answered with no. Runs on request, and on the tick for a few jobs at a time. Changes nothing.
//! `remedy.rs` has what would change the answer.

use super::View;
use super::survey::{Survey, Surveys, shortage};
use super::turn::Found;
use crate::model::admission::{Counted, Reached};
use crate::model::job::Job;
use crate::model::queue::Queue;
use crate::model::wait::{PendingAsk, Reason, Remedy, Wait};
use crate::stage::worth::Worth;
use crate::words::ids::{JobId, Millis};
use crate::words::keys::ShareNodeId;
use crate::words::kind::Kind;
use crate::words::resource::Resource;
use std::collections::BTreeMap;

impl View<'_> {
    /// Returns what a job waits for, apart for its ApplicationMaster, maps, reduces and other
    /// containers: of each the ask that is served first. Works out one at a time.
    pub(crate) fn waits(
        &self,
        job: &Job,
        surveys: &mut Surveys,
        ahead_max: u32,
    ) -> impl Iterator<Item = Wait> {
        let asks = self.asked(job);
        let wait = move |(asked, pending): (PendingAsk<'_>, u32)| {
            let view = self.of_label(asked.ask.facts.partition);
            let shape = asked.ask.shape;
            let found = view.why(&asked, surveys.of(shape, || view.survey(shape)), ahead_max);
            let remedies = view.remedies_within(&asked, surveys, &found);
            Wait {
                ask: asked.ask.facts.ask,
                kind: asked.kind,
                am: asked.ask.facts.am,
                pending,
                reason: found.reason,
                ahead: match found.reason {
                    Reason::Behind { ahead, .. } => Some(ahead),
                    _ if found.bars || found.reason.is_next() => None,
                    _ => view.ahead(&asked, ahead_max),
                },
                remedies,
            }
        };
        asks.into_iter().map(wait)
    }

    /// Returns the first reason alone, without remedies.
    pub(super) fn first_wait(
        &self,
        job: &Job,
        surveys: &mut Surveys,
        ahead_max: u32,
    ) -> Option<Reason> {
        let (asked, _) = self.asked(job).into_iter().next()?;
        let view = self.of_label(asked.ask.facts.partition);
        let shape = asked.ask.shape;
        let survey = surveys.of(shape, || view.survey(shape));
        Some(view.why(&asked, survey, ahead_max).reason)
    }

    /// Returns the first ask of each class of pending asks, with the containers the class wants.
    fn asked<'a>(&self, job: &'a Job) -> Vec<(PendingAsk<'a>, u32)> {
        let mut classes: BTreeMap<(bool, Kind), (PendingAsk<'a>, u32)> = BTreeMap::new();
        for ask in job.pending() {
            let kind = job.kind(ask.facts.priority);
            let pool = self.backlog.shapes.get(ask.shape).size.pool;
            let asked = PendingAsk {
                job,
                ask,
                kind,
                pool,
            };
            let (first, pending) = classes.entry((!ask.facts.am, kind)).or_insert((asked, 0));
            *pending = pending.saturating_add(ask.facts.count);
            if ask.facts.priority < first.ask.facts.priority {
                *first = asked;
            }
        }
        classes.into_values().collect()
    }

    fn why(&self, asked: &PendingAsk<'_>, survey: &Survey, ahead_max: u32) -> Found {
        if let Some(reason) = self.bar(asked, survey) {
            return Found {
                bars: true,
                ..reason.into()
            };
        }
        match self.limit(asked) {
            Some(reason) => reason.into(),
            None => self.turn(asked, survey, ahead_max),
        }
    }

    /// Returns the wait of a job that cannot start, whatever ends, because of its first ask.
    pub(crate) fn barred(&self, job: &Job, surveys: &mut Surveys) -> Option<Wait> {
        let (asked, pending, reason) = self.first_bar(job, surveys)?;
        let view = self.of_label(asked.ask.facts.partition);
        Some(Wait {
            ask: asked.ask.facts.ask,
            kind: asked.kind,
            am: asked.ask.facts.am,
            pending,
            reason,
            ahead: None,
            remedies: view.remedies_within(&asked, surveys, &reason.into()),
        })
    }

    /// Whether a job cannot start, whatever ends.
    pub(crate) fn is_barred(&self, job: &Job, surveys: &mut Surveys) -> bool {
        self.first_bar(job, surveys).is_some()
    }

    /// Returns the first ask of a job, the containers its class wants, and what bars it.
    fn first_bar<'a>(
        &self,
        job: &'a Job,
        surveys: &mut Surveys,
    ) -> Option<(PendingAsk<'a>, u32, Reason)> {
        let (asked, pending) = self.asked(job).into_iter().next()?;
        let view = self.of_label(asked.ask.facts.partition);
        let shape = asked.ask.shape;
        let reason = view.bar(&asked, surveys.of(shape, || view.survey(shape)))?;
        Some((asked, pending, reason))
    }

    /// Returns the remedies, unless this request or tick has looked for enough of them.
    fn remedies_within(
        &self,
        asked: &PendingAsk<'_>,
        surveys: &mut Surveys,
        found: &Found,
    ) -> Vec<Remedy> {
        let shape = asked.ask.shape;
        let cost = self.remedy_cost(&found.reason, surveys.of(shape, || self.survey(shape)));
        match cost == 0 || surveys.look_at(cost) {
            true => self.remedies(asked, surveys.of(shape, || self.survey(shape)), found),
            false => Vec::new(),
        }
    }

    /// Returns why nothing that ends would let an ask start. Comes before all that may end.
    fn bar(&self, asked: &PendingAsk<'_>, survey: &Survey) -> Option<Reason> {
        let (job, size) = (asked.job, asked.size());
        let partition = asked.ask.facts.partition;
        if survey.nodes == 0 && !survey.borrows {
            let labelled = survey.labelled;
            return Some(Reason::NoNodes {
                partition,
                labelled,
            });
        }
        if let Some((shortage, node)) = survey.too_small.filter(|_| !survey.borrows) {
            return Some(Reason::TooLarge { shortage, node });
        }
        if let Some(places) = self.no_place(asked).filter(|_| !survey.borrows) {
            return Some(places);
        }
        let reached = self
            .world
            .cluster
            .queues
            .reached(job.facts.queue, job.facts.user);
        if !job.runnable && reached.is_some_and(|limit| limit.max == 0) {
            return Some(self.job_limit(job));
        }
        let tree = self.world.tree;
        let mut limits = tree.path_up(job.leaf).map(|at| tree.node(at).max_share);
        if !limits.all(|limit| size.fits_in(&limit)) {
            return self.first_limit(asked, |at| tree.node(at).max_share);
        }
        let masters = asked
            .ask
            .facts
            .am
            .then(|| self.over_masters(asked))
            .flatten();
        masters.filter(|reason| matches!(reason, Reason::MasterLimit { used: 0, .. }))
    }

    /// Returns what holds an ask, whatever others ask for.
    fn limit(&self, asked: &PendingAsk<'_>) -> Option<Reason> {
        let job = asked.job;
        if !job.runnable {
            return Some(self.job_limit(job));
        }
        if job.is_held(asked.ask)
            && let Some(reason) = self.user_limit(asked)
        {
            return Some(reason);
        }
        if job.master_held {
            // The room has come since the last look at the line.
            return Some(Reason::Soon { nodes: 0 });
        }
        if !job.is_due(asked.ask) {
            return Some(Reason::Held(self.order.held(job, asked.kind, &self.world)));
        }
        self.over_limit(asked)
    }

    fn job_limit(&self, job: &Job) -> Reason {
        let queues = &self.world.cluster.queues;
        let Some(limit) = queues.reached(job.facts.queue, job.facts.user) else {
            // The job is let in as soon as any job ends.
            return Reason::Soon { nodes: 0 };
        };
        let ahead = self.waiting_before(job, &limit);
        let (queue, running, max) = (limit.queue, limit.running, limit.max);
        match limit.counts {
            Counted::Queue => Reason::JobLimit {
                queue,
                running,
                max,
                ahead,
            },
            counts => Reason::UserJobs {
                queue,
                everywhere: counts == Counted::User,
                running,
                max,
                ahead,
            },
        }
    }

    /// Counts the jobs that wait for a limit and are let in before this one, up to what other
    /// limits of their queues leave.
    pub(super) fn waiting_before(&self, job: &Job, limit: &Reached) -> u32 {
        let cluster = self.world.cluster;
        let queues = &cluster.queues;
        let mine = cluster.turn(job.facts.job);
        let goes_first = |id: &JobId| {
            let other = cluster.job(*id).map(|other| other.facts.user);
            let counts = limit.counts == Counted::Queue || other == Some(job.facts.user);
            cluster.turn(*id) < mine && counts
        };
        let below = |other: &Queue| queues.path_up(other.id).any(|at| at.id == limit.queue);
        let let_in = |other: &Queue| {
            let room = match other.max_running_jobs() {
                Some(max) if other.id != job.facts.queue => max.saturating_sub(other.runnable_jobs),
                _ => u32::MAX,
            };
            let first = other.waiting.iter().filter(|id| goes_first(id)).count();
            (first as u32).min(room)
        };
        let waiting = queues.iter().filter(|other| !other.waiting.is_empty());
        waiting.filter(|other| below(other)).map(let_in).sum()
    }

    /// Returns the limit of its user that holds an ask.
    fn user_limit(&self, asked: &PendingAsk<'_>) -> Option<Reason> {
        let label = asked.ask.facts.partition;
        let masters = !asked.job.over.on(label);
        let bound = self.answers.user_bound(asked.job, label, masters)?;
        let room = bound.limit - bound.used - bound.kept;
        let (queue, size) = (bound.queue, asked.size());
        if masters {
            let lacking = shortage(&size, &room)?;
            let (resource, wanted) = (lacking.resource, lacking.wanted);
            let i = usize::from(resource);
            let (used, max, kept) = (bound.used[i], bound.limit[i], bound.kept[i]);
            return Some(match bound.of_leaf {
                true => Reason::MasterLimit {
                    queue,
                    resource,
                    used,
                    wanted,
                    max,
                    kept,
                },
                false => Reason::UserMasters {
                    queue,
                    resource,
                    used,
                    wanted,
                    max,
                    kept,
                },
            });
        }
        let i = usize::from(bound.compared);
        Some(Reason::UserLimit {
            queue,
            resource: bound.compared,
            used: bound.used[i],
            max: bound.limit[i],
        })
    }

    /// Returns the first limit of a queue that one more container would exceed. That of
    /// ApplicationMasters first: below the other limit, others would take what it leaves.
    fn over_limit(&self, asked: &PendingAsk<'_>) -> Option<Reason> {
        let leaf = asked.job.leaf;
        let masters = asked
            .ask
            .facts
            .am
            .then(|| self.over_masters(asked))
            .flatten();
        if masters.is_some() {
            return masters;
        }
        let tree = self.world.tree;
        self.first_limit(asked, |at| tree.room_at(at, leaf, asked.ask.shape))
    }

    /// Returns the first limit from its leaf up that leaves an ask too little.
    fn first_limit(
        &self,
        asked: &PendingAsk<'_>,
        room: impl Fn(ShareNodeId) -> Resource,
    ) -> Option<Reason> {
        let (tree, size) = (self.world.tree, asked.size());
        tree.path_up(asked.job.leaf).find_map(|at| {
            let node = tree.node(at);
            let lacking = shortage(&size, &room(at)).filter(|_| node.limited)?;
            let i = usize::from(lacking.resource);
            let kept = node.kept_from(false, asked.job.leaf, asked.ask.shape);
            Some(Reason::QueueLimit {
                queue: node.queue,
                resource: lacking.resource,
                used: node.used[i],
                wanted: lacking.wanted,
                max: node.max_share[i],
                kept: kept[i],
            })
        })
    }

    fn over_masters(&self, asked: &PendingAsk<'_>) -> Option<Reason> {
        let (tree, leaf, size) = (self.world.tree, asked.job.leaf, asked.size());
        let (part, shape) = (tree.node(leaf).max_am_share, asked.ask.shape);
        let (at, most) = tree.full_of_masters(leaf, &size, part, Some(shape))?;
        let node = tree.node(at);
        let kept = node.kept_from(true, leaf, shape);
        let lacking = shortage(&size, &(most - node.am_used - kept))?;
        let i = usize::from(lacking.resource);
        Some(Reason::MasterLimit {
            queue: node.queue,
            resource: lacking.resource,
            used: node.am_used[i],
            wanted: lacking.wanted,
            max: most[i],
            kept: kept[i],
        })
    }

    /// Returns when a locked ask goes further from its places: when its timer is due and the whole
    /// wait since the ask was first passed over has elapsed (`fire_timers`).
    pub(super) fn goes_further_ms(&self, asked: &PendingAsk<'_>) -> Option<Millis> {
        let ask = asked.ask;
        let (cluster, tree) = (self.world.cluster, self.world.tree);
        let skips = &self.backlog.skips;
        let first = skips.first(cluster, tree, asked.job, ask)?;
        let worth = self.worth(asked);
        Some((first + worth.left_ms()).max(ask.timer_ms.unwrap_or(0)))
    }

    /// What the ask may lose to waits.
    pub(super) fn worth<'b>(&'b self, asked: &PendingAsk<'b>) -> Worth<'b> {
        Worth {
            place: self.place,
            job: asked.job,
            ask: asked.ask,
            cluster: self.world.cluster,
        }
    }
}
