//! Works out what would let a waiting ask run, with the functions that decide, on copies of what
//! they read. Changes nothing.

use super::survey::Survey;
use super::turn::Found;
use super::{Look, View};
use crate::backlog::{Entry, ShapeSize};
use crate::config::Compare;
use crate::model::admission::{Counted, Reached};
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job, Standing};
use crate::model::wait::{OrderLimit, PendingAsk, Reason, Remedy};
use crate::words::ids::{Locality, PlaceId};
use crate::words::keys::{Near, ShareNodeId, Step, Tag};
use crate::words::kind::Kind;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

/// What a copy of a queue costs with its new entitlement, in looks at jobs.
const COPY_LOOKS: usize = 4;

/// How many weights are tried, each four times the one before.
const WEIGHTS_MAX: i32 = 6;

impl View<'_> {
    /// How many jobs and queues the remedies for a reason look at, at most; 0 if only at the job's
    /// own.
    pub(super) fn remedy_cost(&self, reason: &Reason, survey: &Survey) -> usize {
        let (jobs, queues) = (self.world.cluster.job_ids().len(), self.world.tree.len());
        let copies = COPY_LOOKS * queues;
        match reason {
            Reason::UserLimit { .. }
            | Reason::UserMasters { .. }
            | Reason::QueueLimit { .. }
            | Reason::MasterLimit { .. } => jobs + queues,
            Reason::Share { .. } => jobs + copies * WEIGHTS_MAX as usize,
            Reason::Quota { .. } | Reason::Behind { .. } => jobs + copies,
            Reason::TooLarge { .. }
            | Reason::NoNodes { .. }
            | Reason::Blacklisted { .. }
            | Reason::HeldNodes { .. }
            | Reason::Slots { .. }
            | Reason::Room { .. }
                if survey.newcomer.get().is_none() =>
            {
                copies
            }
            _ => 0,
        }
    }

    pub(super) fn remedies(
        &self,
        asked: &PendingAsk<'_>,
        survey: &Survey,
        found: &Found,
    ) -> Vec<Remedy> {
        let another_node =
            |there_is: Resource, free| self.another_node(asked, survey, &there_is, free);
        let or_another_node = |remedies: Vec<Remedy>| match remedies.is_empty() {
            // Where nothing else helps, a node may that those before the ask would not use.
            true => another_node(Resource::ZERO, true),
            false => remedies,
        };
        match found.reason {
            Reason::JobLimit { .. } | Reason::UserJobs { .. } => self.more_running_jobs(asked.job),
            Reason::UserLimit { .. } | Reason::UserMasters { .. } => {
                let others = self.others_of_user(asked);
                let before = [others.before, others.first, others.now];
                let remedy = self.answers.user_remedy(asked.job, asked.ask, &before);
                remedy.into_iter().collect()
            }
            Reason::TooLarge { .. } | Reason::NoNodes { .. } | Reason::Blacklisted { .. } => {
                another_node(Resource::ZERO, false)
            }
            Reason::HeldNodes { .. } | Reason::Slots { .. } => another_node(Resource::ZERO, true),
            Reason::Room { node, .. } => {
                let node = self.world.cluster.node(node);
                let next = node.and_then(|node| {
                    let next = self
                        .answers
                        .next_on(node, &self.size(asked), Look::default())?;
                    (next.ask == asked.ask.facts.ask).then_some(node.free)
                });
                // With room there another ask of the job is served first; not on a new node.
                another_node(next.unwrap_or(Resource::ZERO), true)
            }
            Reason::QueueLimit { .. } => self.larger_queues(asked),
            Reason::MasterLimit { .. } => self.more_masters(asked),
            Reason::Held(held) => released(held),
            Reason::Quota { .. } | Reason::Share { .. } => {
                or_another_node(self.of_share(asked, found))
            }
            Reason::Behind { .. } => or_another_node(self.higher_priority(asked, found)),
            Reason::Locality { until_ms, .. } => {
                let widened = |at_ms| Remedy::Time {
                    at_ms,
                    level: Some(self.worth(asked).next_level()),
                };
                until_ms.map(widened).into_iter().collect()
            }
            Reason::Racks { data, until_ms } => vec![Remedy::Time {
                at_ms: until_ms,
                level: Some(if data {
                    Locality::OffSwitch
                } else {
                    Locality::RackLocal
                }),
            }],
            Reason::Refused { until_ms, .. } => vec![Remedy::Time {
                at_ms: until_ms,
                level: None,
            }],
            _ => Vec::new(),
        }
    }

    /// Returns what a new node must have for the ask, of the types of which there is less. Nothing
    /// if such a node would serve another ask first.
    fn another_node(
        &self,
        asked: &PendingAsk<'_>,
        survey: &Survey,
        there_is: &Resource,
        free: bool,
    ) -> Vec<Remedy> {
        let served = survey
            .newcomer
            .get_or_init(|| self.first_on_a_new_node(asked));
        if *served != Some((asked.job.facts.job, asked.ask.facts.ask)) {
            return Vec::new();
        }
        let size = asked.size();
        let lacking = (0..RESOURCE_TYPES_MAX).filter(|i| size[*i] > there_is[*i].max(0));
        let node = |i: usize| Remedy::Node {
            resource: i as u8,
            amount: size[i],
            free,
        };
        lacking.map(node).collect()
    }

    /// Returns what puts the queue first that the share passes, if the job is next then.
    fn of_share(&self, asked: &PendingAsk<'_>, found: &Found) -> Vec<Remedy> {
        let Some((next, passed)) = &found.passed else {
            return Vec::new();
        };
        let remedies = self.share.remedies(asked, passed, &self.world);
        let node = self.world.cluster.node(next.node);
        let holds = |remedy: Remedy| match (remedy, passed.apart, node) {
            (
                Remedy::Weight {
                    queue,
                    weight,
                    resource,
                    ..
                },
                Some((child, _)),
                Some(node),
            ) => {
                let (enough, entitled) = self.enough_weight(asked, (child, weight), node)?;
                let larger = Remedy::Weight {
                    queue,
                    weight: enough,
                    resource,
                    entitled: entitled[usize::from(resource)],
                };
                Some(if enough == weight { remedy } else { larger })
            }
            _ => Some(remedy),
        };
        remedies.into_iter().filter_map(holds).collect()
    }

    /// Returns the smallest of `WEIGHTS_MAX` weights of a queue, from the given one up, with which
    /// the job is next on a node, and the queue's entitlement then. A new weight changes
    /// entitlements, and with them the order of queues and the limits of ApplicationMasters.
    fn enough_weight(
        &self,
        asked: &PendingAsk<'_>,
        (child, weight): (ShareNodeId, f64),
        node: &Node,
    ) -> Option<(f64, Resource)> {
        let label = asked.ask.facts.partition;
        (0..WEIGHTS_MAX).find_map(|step| {
            let weight = weight * 4_f64.powi(step);
            let shares = self.answers.supposed(label, None, Some((child, weight)));
            let look = Look {
                shares: Some(&shares),
                ..Look::default()
            };
            let next = self.answers.next_on(node, &self.size(asked), look)?;
            let raised = shares.tree.node(child);
            let entitled = match raised.compared_by {
                Some(Compare::Capacity) => raised.guaranteed,
                _ => raised.fair_share,
            };
            (next.job == asked.job.facts.job).then_some((weight, entitled))
        })
    }

    /// Returns the least limit of running jobs of each queue on the path with which the job would
    /// run.
    fn more_running_jobs(&self, job: &Job) -> Vec<Remedy> {
        let queues = &self.world.cluster.queues;
        let path = queues.path_up(job.facts.queue);
        let limits = path.flat_map(|queue| queues.running_limits(queue, job.facts.user));
        let more = |at: Reached| {
            let limit = at.running + self.waiting_before(job, &at) + 1;
            let queue = at.queue;
            (limit > at.max).then_some(match at.counts {
                Counted::Queue => Remedy::RunningJobs { queue, limit },
                counts => Remedy::UserRunningJobs {
                    queue,
                    everywhere: counts == Counted::User,
                    limit,
                },
            })
        };
        limits.flatten().filter_map(more).collect()
    }

    /// Returns the least `max_share` that admits one more container and those that go before it,
    /// of each queue on the path whose limit does not.
    fn larger_queues(&self, asked: &PendingAsk<'_>) -> Vec<Remedy> {
        let size = asked.size();
        let mut remedies = Vec::new();
        for at in self.world.tree.path_up(asked.job.leaf) {
            let node = self.world.tree.node(at);
            if !node.limited {
                continue;
            }
            let room = self.world.tree.room_at(at, asked.job.leaf, asked.ask.shape);
            let before = self.before_below(at, asked);
            for i in 0..RESOURCE_TYPES_MAX {
                let limit = node.max_share[i].saturating_sub(room[i]) + before[i] + size[i];
                if size[i] > 0 && limit > node.max_share[i] {
                    remedies.push(Remedy::MaxShare {
                        queue: node.queue,
                        resource: i as u8,
                        limit,
                    });
                }
            }
        }
        remedies
    }

    /// Returns the least `max_am_share` of its leaf, in thousandths, that admits this
    /// ApplicationMaster and those before it, in the leaf and above. Nothing if even the whole
    /// queue would not.
    fn more_masters(&self, asked: &PendingAsk<'_>) -> Vec<Remedy> {
        let (tree, leaf, size) = (self.world.tree, asked.job.leaf, asked.size());
        let part = tree.node(leaf).max_am_share;
        let full = tree.full_of_masters(leaf, &size, part, Some(asked.ask.shape));
        let at = full.map_or(leaf, |(at, _)| at);
        let fits = |wanted: Resource, per_mille: u32| {
            tree.masters_fit(leaf, &wanted, f64::from(per_mille) / 1_000.0)
        };
        // Other limits may hold some of those.
        let others = [at, leaf].map(|at| self.other_masters(at, asked));
        let before = [others[0].before, others[1].before, others[1].first];
        let mut wanted = before.into_iter().map(|before| before + size);
        let Some(wanted) = wanted.find(|wanted| fits(*wanted, 1_000)) else {
            return Vec::new();
        };
        let fits = |per_mille: u32| fits(wanted, per_mille);
        let (mut below, mut enough) = (0, 1_000);
        while enough - below > 1 {
            let middle = (below + enough) / 2;
            if fits(middle) {
                enough = middle;
            } else {
                below = middle;
            }
        }
        vec![Remedy::MasterShare {
            queue: tree.node(leaf).queue,
            per_mille: enough,
        }]
    }

    /// Returns an application priority that puts the job first: that of the one that goes first or
    /// one more, or one above all. Nothing if none does.
    fn higher_priority(&self, asked: &PendingAsk<'_>, found: &Found) -> Vec<Remedy> {
        let cluster = self.world.cluster;
        let first = found
            .passed
            .and_then(|(next, _)| Some((cluster.job(next.job)?, cluster.node(next.node)?)));
        let Some((first, node)) = first else {
            return Vec::new();
        };
        let (job, size) = (asked.job, self.size(asked));
        let ranked = self.place.ranking().is_some();
        let mut raised = job.outline();
        let mut goes_first = |priority: i32| {
            raised.facts.priority = priority;
            let keys = Kind::ALL.map(|kind| self.order.key(&raised, kind));
            let is_behind = |entry: &Entry| {
                let other = cluster.job(entry.job);
                let Some(other) = other.filter(|other| other.leaf == job.leaf) else {
                    return false;
                };
                let kind = match ranked {
                    true => other.kind(entry.priority),
                    false => asked.kind,
                };
                entry.job != job.facts.job
                    && (raised.window, keys[kind as usize], job.facts.job)
                        < (entry.window, entry.order, entry.job)
                    && (!ranked || self.shares_step((job, node), &size, (other, entry)))
            };
            let look = Look {
                without: Some(&is_behind),
                ..Look::default()
            };
            let next = self.answers.next_on(node, &size, look);
            next.is_some_and(|next| next.job == job.facts.job)
        };
        let of_leaf = cluster.jobs_of(|leaf| leaf == job.leaf);
        let highest = of_leaf.map(|other| other.facts.priority).max();
        let above = |priority: i32| priority.saturating_add(1);
        let mut candidates = [
            first.facts.priority,
            above(first.facts.priority),
            above(highest.unwrap_or(0)),
        ]
        .into_iter();
        candidates
            .find(|priority| *priority > job.facts.priority && goes_first(*priority))
            .map(|priority| Remedy::Priority { priority })
            .into_iter()
            .collect()
    }

    /// Whether one step of the place stage leads to an ask of a job as to that of another job, so
    /// that their keys decide.
    fn shares_step(
        &self,
        (job, node): (&Job, &Node),
        size: &ShapeSize,
        (other, entry): (&Job, &Entry),
    ) -> bool {
        let theirs = other.ask(entry.ask);
        let step = theirs.map(|theirs| self.step_of(other, theirs, node));
        let kind = other.kind(entry.priority);
        job.pending().any(|mine| {
            job.kind(mine.facts.priority) == kind
                && mine.standing != Standing::Out
                && mine.facts.partition == size.partition
                && mine.facts.resource.fits_in(&size.resource)
                && mine.may_run_on(node.facts.host, node.facts.rack)
                && Some(self.step_of(job, mine, node)) == step
        })
    }

    /// The first step in which a node finds an ask; none for those that come before all steps.
    fn step_of(&self, job: &Job, ask: &Ask, node: &Node) -> Option<usize> {
        let kind = job.kind(ask.facts.priority);
        let (host, rack) = (node.facts.host, node.facts.rack);
        let is_in = |step: &Step| {
            let mut tags = job.tags[kind as usize].iter();
            let near = match step.near {
                Near::Any => true,
                Near::Host => ask.rows.get(&host).is_some_and(|row| row.count > 0),
                Near::Rack => ask.rows.get(&rack).is_some_and(|row| row.count > 0),
            };
            let here =
                |tag: &Tag| tag.class == step.class && [rack, PlaceId::ANY].contains(&tag.rack);
            near && step.kind == kind && tags.any(here)
        };
        let steps = self.place.ranking()?.steps(node, job.leaf, self.world.now);
        steps.iter().position(is_in)
    }
}

fn released(held: OrderLimit) -> Vec<Remedy> {
    match held {
        OrderLimit::SlowStart { done, needed } => vec![Remedy::Maps {
            more: needed.saturating_sub(done),
        }],
        OrderLimit::MaxTasks { running, .. } => vec![Remedy::MaxTasks { limit: running + 1 }],
        OrderLimit::UserJobs { needed, .. } => vec![Remedy::UserJobs { limit: needed }],
        OrderLimit::Unsaid => Vec::new(),
    }
}
