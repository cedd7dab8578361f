//! Finds why a job's asks wait: asks the questions of the search in the search's order, until one
//! is answered with no. Runs on request, and on the tick for a few jobs at a time. Changes nothing.
//! `remedy.rs` has what would change the answer.

use super::View;
use super::survey::{Survey, Surveys, shortage};
use crate::backlog::Entry;
use crate::model::admission::Reached;
use crate::model::cluster::Node;
use crate::model::job::{Job, Standing};
use crate::model::queue::Queue;
use crate::model::wait::{Ahead, PendingAsk, Reason, Wait};
use crate::stage::worth::Worth;
use crate::words::ids::{JobId, Millis};
use crate::words::keys::ShareNodeId;
use crate::words::kind::Kind;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use std::collections::{BTreeMap, BTreeSet};

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
            let survey = surveys
                .entry(asked.ask.shape)
                .or_insert_with(|| view.survey(asked.ask.shape));
            let ahead = view.ahead(&asked, ahead_max);
            let reason = view.why(&asked, survey, ahead);
            Wait {
                ask: asked.ask.facts.ask,
                kind: asked.kind,
                am: asked.ask.facts.am,
                pending,
                reason,
                ahead,
                remedies: view.remedies(&asked, &reason),
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
        let survey = surveys
            .entry(asked.ask.shape)
            .or_insert_with(|| view.survey(asked.ask.shape));
        Some(view.why(&asked, survey, view.ahead(&asked, ahead_max)))
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

    fn why(&self, asked: &PendingAsk<'_>, survey: &Survey, ahead: Option<Ahead>) -> Reason {
        let job = asked.job;
        if !job.runnable {
            return self.job_limit(job);
        }
        if survey.nodes == 0 {
            let partition = asked.ask.facts.partition;
            let labelled = survey.labelled;
            return Reason::NoNodes {
                partition,
                labelled,
            };
        }
        if let Some(shortage) = survey.too_small {
            return Reason::TooLarge(shortage);
        }
        if job.is_held(asked.ask)
            && let Some(reason) = self.user_limit(asked)
        {
            return reason;
        }
        if job.master_held {
            // The room has come since the last look at the line.
            return Reason::Soon { nodes: 0 };
        }
        if !job.is_due(asked.ask) {
            return Reason::Held(self.order.held(job, asked.kind, &self.world));
        }
        if let Some(reason) = self.over_limit(asked) {
            return reason;
        }
        if survey.ready > 0 {
            return self.with_room(asked, survey);
        }
        if let Some(reason) = self.share.explain(asked, &self.world) {
            return reason;
        }
        if let Some(ahead) = ahead {
            return self.behind(asked, ahead);
        }
        self.without_room(asked, survey)
    }

    fn job_limit(&self, job: &Job) -> Reason {
        let queues = &self.world.cluster.queues;
        let Some(limit) = queues.reached(job.facts.queue, job.facts.user) else {
            // The job is let in as soon as any job ends.
            return Reason::Soon { nodes: 0 };
        };
        let ahead = self.waiting_before(job, &limit);
        let (queue, running, max) = (limit.queue, limit.running, limit.max);
        match limit.by_user {
            true => Reason::UserJobs {
                queue,
                running,
                max,
                ahead,
            },
            false => Reason::JobLimit {
                queue,
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
            cluster.turn(*id) < mine && (!limit.by_user || other == Some(job.facts.user))
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
        let room = bound.limit - bound.used;
        let (queue, size) = (bound.queue, asked.size());
        if masters {
            let lacking = shortage(&size, &room)?;
            let (resource, wanted) = (lacking.resource, lacking.wanted);
            let i = usize::from(resource);
            let (used, max) = (bound.used[i], bound.limit[i]);
            return Some(match bound.of_leaf {
                true => Reason::MasterLimit {
                    queue,
                    resource,
                    used,
                    wanted,
                    max,
                },
                false => Reason::UserMasters {
                    queue,
                    resource,
                    used,
                    wanted,
                    max,
                },
            });
        }
        let i = (0..RESOURCE_TYPES_MAX).find(|i| room[*i] < 0).unwrap_or(0);
        Some(Reason::UserLimit {
            queue,
            resource: i as u8,
            used: bound.used[i],
            max: bound.limit[i],
        })
    }

    /// Returns the first limit of a queue that one more container would exceed.
    fn over_limit(&self, asked: &PendingAsk<'_>) -> Option<Reason> {
        let (leaf, size) = (asked.job.leaf, asked.size());
        for at in self.world.tree.path_up(leaf) {
            let node = self.world.tree.node(at);
            let room = self.world.tree.room_at(at, leaf, asked.ask.shape);
            let Some(lacking) = shortage(&size, &room).filter(|_| node.limited) else {
                continue;
            };
            let i = usize::from(lacking.resource);
            return Some(Reason::QueueLimit {
                queue: node.queue,
                resource: lacking.resource,
                used: node.used[i],
                wanted: lacking.wanted,
                max: node.max_share[i],
            });
        }
        if !asked.ask.facts.am {
            return None;
        }
        let tree = self.world.tree;
        let (at, most) = tree.full_of_masters(leaf, &size, tree.node(leaf).max_am_share)?;
        let node = tree.node(at);
        let lacking = shortage(&size, &(most - node.am_used))?;
        let i = usize::from(lacking.resource);
        Some(Reason::MasterLimit {
            queue: node.queue,
            resource: lacking.resource,
            used: node.am_used[i],
            wanted: lacking.wanted,
            max: most[i],
        })
    }

    /// Handles nodes with room: the ask waits for its places, is kept off the nodes, or is about to
    /// be served.
    fn with_room(&self, asked: &PendingAsk<'_>, survey: &Survey) -> Reason {
        let (job, ask) = (asked.job, asked.ask);
        let size = &self.backlog.shapes.get(ask.shape).size;
        let (mut blacklisted, mut refused, mut elsewhere) = (0, 0, 0);
        let mut until_ms = Millis::MAX;
        let has_room = |node: &&Node| {
            let taken = size
                .pool
                .is_some_and(|pool| self.answers.full_pools(node)[pool]);
            size.resource.fits_in(&node.free) && !taken
        };
        for node in size.nodes(self.world.cluster).filter(has_room) {
            let facts = &node.facts;
            if job.blacklists(facts.host, facts.rack) {
                blacklisted += 1;
            } else if let Some(until) = job
                .refused
                .get(&facts.node)
                .filter(|t| **t > self.world.now)
            {
                refused += 1;
                until_ms = until_ms.min(*until);
            } else if ask.may_run_on(facts.host, facts.rack) {
                let nodes = survey.ready;
                let ranking = self.place.ranking();
                let passed = ranking.and_then(|ranking| ranking.explain(asked, self.world.now));
                return passed.unwrap_or(Reason::Soon { nodes });
            } else {
                elsewhere += 1;
            }
        }
        match ask.standing {
            _ if elsewhere == 0 && refused > 0 => Reason::Refused {
                nodes: refused,
                until_ms,
            },
            _ if elsewhere == 0 => Reason::Blacklisted { nodes: blacklisted },
            Standing::Locked => Reason::Locality {
                level: ask.level,
                until_ms: self.goes_further_ms(asked),
            },
            _ => Reason::Strict {
                places: ask.rows.len() as u32,
            },
        }
    }

    /// Returns when a locked ask goes further from its places: when its timer is due and the whole
    /// wait since the ask was first passed over has elapsed (`fire_timers`).
    fn goes_further_ms(&self, asked: &PendingAsk<'_>) -> Option<Millis> {
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
            slots: self.world.slots[asked.pool.unwrap_or(0)],
        }
    }

    fn behind(&self, asked: &PendingAsk<'_>, ahead: Ahead) -> Reason {
        let mine = self.order.measure(asked.job, asked.kind);
        let first = self.world.cluster.job(ahead.first);
        let theirs = first.and_then(|first| {
            let kinds = first.pending().map(|ask| first.kind(ask.facts.priority));
            // Prefers the same kind, if the first job asks for it.
            let kind = kinds.min_by_key(|kind| (*kind != asked.kind, *kind))?;
            self.order.measure(first, kind)
        });
        Reason::Behind {
            ahead,
            mine,
            theirs,
        }
    }

    fn without_room(&self, asked: &PendingAsk<'_>, survey: &Survey) -> Reason {
        if let (Some(pool), true) = (asked.pool, survey.slotless > 0) {
            let root = self.world.tree.node(ShareNodeId::ROOT);
            return Reason::Slots {
                pool: pool as u8,
                running: root.running[pool],
                slots: self.world.slots[pool],
                foreign: survey.foreign,
            };
        }
        if let Some((nodes, until_ms)) = survey.held {
            return Reason::HeldNodes { nodes, until_ms };
        }
        let node = survey.roomiest.and_then(|id| self.world.cluster.node(id));
        let node = node.expect("a survey without room has a node that is large enough");
        let shortage = shortage(&asked.size(), &node.free);
        Reason::Room {
            shortage: shortage.expect("a node with the room would have been ready"),
            node: node.facts.node,
            held: self.held_for(asked.job.facts.job),
            labelled: survey.labelled,
            spared: self.answers.spared(asked.job, asked.ask),
        }
    }

    /// Returns the jobs ahead of an ask in its leaf. Counts up to `most` asks of each size.
    pub(super) fn ahead(&self, asked: &PendingAsk<'_>, most: u32) -> Option<Ahead> {
        let mine = Entry::new(asked.job, asked.ask);
        let leaf = self.backlog.leaf(asked.job.leaf);
        // With a ranking, the place stage also decides between jobs, not their keys alone.
        if asked.ask.standing == Standing::Out || self.place.ranking().is_some() {
            return None;
        }
        let mut jobs = BTreeSet::new();
        let (mut tasks, mut more) = (0u32, false);
        let mut first: Option<Entry> = None;
        for set in leaf.open.values().chain(leaf.locked.values()) {
            let before = set.range(..mine).filter(|entry| entry.job != mine.job);
            for (n, entry) in before.enumerate() {
                if n as u32 == most {
                    more = true;
                    break;
                }
                jobs.insert(entry.job);
                let ask = self
                    .world
                    .cluster
                    .job(entry.job)
                    .and_then(|job| job.ask(entry.ask));
                tasks = tasks.saturating_add(ask.map_or(0, |ask| ask.facts.count));
                first = first.filter(|first| first < entry).or(Some(*entry));
            }
        }
        first.map(|first| Ahead {
            jobs: jobs.len() as u32,
            tasks,
            first: first.job,
            more,
        })
    }

    /// Sums what the ApplicationMasters ahead of an ask in its leaf want.
    pub(super) fn masters_before(&self, asked: &PendingAsk<'_>) -> Resource {
        let mine = Entry::new(asked.job, asked.ask);
        let leaf = self.backlog.leaf(asked.job.leaf);
        let shapes = &self.backlog.shapes;
        let masters = leaf.open.iter().filter(|(id, _)| shapes.get(**id).size.am);
        masters.fold(Resource::ZERO, |sum, (id, set)| {
            let before = set.range(..mine).count() as i64;
            sum + shapes.get(*id).size.resource.times(before)
        })
    }
}
