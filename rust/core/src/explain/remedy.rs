//! Works out what would let a waiting ask run, with the functions that decide, on copies of what
//! they read. Changes nothing.

use super::turn::Found;
use super::{Look, View};
use crate::backlog::Entry;
use crate::model::admission::{Counted, Reached};
use crate::model::job::{Ask, Job, Standing};
use crate::model::wait::{OrderLimit, PendingAsk, Reason, Remedy};
use crate::words::ids::Locality;
use crate::words::keys::ShareNodeId;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};

impl View<'_> {
    pub(super) fn remedies(&self, asked: &PendingAsk<'_>, found: &Found) -> Vec<Remedy> {
        match found.reason {
            Reason::JobLimit { .. } | Reason::UserJobs { .. } => self.more_running_jobs(asked.job),
            Reason::UserLimit { .. } | Reason::UserMasters { .. } => {
                let remedy = self.answers.user_remedy(asked.job, asked.ask);
                remedy.into_iter().collect()
            }
            Reason::TooLarge { .. } | Reason::NoNodes { .. } | Reason::Blacklisted { .. } => {
                self.another_node(asked, &Resource::ZERO, false)
            }
            Reason::HeldNodes { .. } => self.another_node(asked, &Resource::ZERO, true),
            Reason::Room { node, .. } => {
                let node = self.world.cluster.node(node);
                self.another_node(asked, &node.map_or(Resource::ZERO, |node| node.free), true)
            }
            Reason::Slots { .. } => self.another_node(asked, &Resource::ZERO, true),
            Reason::QueueLimit { .. } => self.larger_queues(asked),
            Reason::MasterLimit { .. } => self.more_masters(asked),
            Reason::Held(held) => released(held),
            Reason::Quota { .. } => self.of_share(asked, found),
            Reason::Share { .. } => self.or_another_node(asked, self.of_share(asked, found)),
            Reason::Behind { .. } => {
                self.or_another_node(asked, self.higher_priority(asked, found))
            }
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
    fn another_node(&self, asked: &PendingAsk<'_>, there_is: &Resource, free: bool) -> Vec<Remedy> {
        if !self.is_served_by_a_new_node(asked) {
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

    /// Where nothing else helps, a node may that those before the ask would not use.
    fn or_another_node(&self, asked: &PendingAsk<'_>, remedies: Vec<Remedy>) -> Vec<Remedy> {
        match remedies.is_empty() {
            true => self.another_node(asked, &Resource::ZERO, true),
            false => remedies,
        }
    }

    /// Returns what puts the queue first that the share passes, if the job is next in that.
    fn of_share(&self, asked: &PendingAsk<'_>, found: &Found) -> Vec<Remedy> {
        let Some((_, passed)) = &found.passed else {
            return Vec::new();
        };
        let remedies = self.share.remedies(asked, passed, &self.world);
        let node = found
            .passed
            .and_then(|(next, _)| self.world.cluster.node(next.node));
        let is_next_below = |child| {
            let look = Look {
                from: Some(child),
                ..Look::default()
            };
            let next = node.and_then(|node| self.answers.next_on(node, &self.size(asked), look));
            next.is_some_and(|next| next.job == asked.job.facts.job)
        };
        match (found.reason, passed.apart) {
            (Reason::Share { .. }, Some((child, _))) if !is_next_below(child) => Vec::new(),
            _ => remedies,
        }
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

    /// Returns what others ask for below a limit, as far as it may go before an ask: of its leaf
    /// what stands before it, of other leaves all.
    fn rivals_below(&self, at: ShareNodeId, asked: &PendingAsk<'_>) -> Resource {
        let job = asked.job;
        let same_tree = |ask: &Ask| {
            let labels = [ask.facts.partition, asked.ask.facts.partition];
            labels[0] == labels[1] || labels.iter().all(|label| !self.world.has_shares(*label))
        };
        let mine = Entry::new(job, asked.ask);
        let below = |leaf: ShareNodeId| self.world.tree.path_up(leaf).any(|above| above == at);
        let others = self.world.cluster.jobs_of(below);
        let rivals = others.filter(|other| other.facts.job != job.facts.job);
        rivals.fold(Resource::ZERO, |sum, other| {
            let stands = |ask: &&Ask| {
                ask.standing != Standing::Out
                    && same_tree(ask)
                    && (other.leaf != job.leaf
                        || self.place.ranking().is_some()
                        || Entry::new(other, ask) < mine)
            };
            let wanted = other.pending().filter(stands);
            wanted.fold(sum, |sum, ask| {
                sum + ask.facts.resource.times(i64::from(ask.facts.count))
            })
        })
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
            let before = self.rivals_below(at, asked);
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
        let (tree, leaf) = (self.world.tree, asked.job.leaf);
        let (size, before) = (asked.size(), self.masters_before(asked));
        let fits = |wanted: Resource, per_mille: u32| {
            tree.masters_fit(leaf, &wanted, f64::from(per_mille) / 1_000.0)
        };
        // Those before it may not be able to run.
        let all = [before + size, size].into_iter();
        let Some(wanted) = all.into_iter().find(|wanted| fits(*wanted, 1_000)) else {
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
        let mut raised = job.outline();
        let mut goes_first = |priority: i32| {
            raised.facts.priority = priority;
            let key = self.order.key(&raised, asked.kind);
            let mine = (raised.window, key, job.facts.job);
            let is_behind = |entry: &Entry| {
                let other = cluster.job(entry.job);
                other.is_some_and(|other| other.leaf == job.leaf && self.stand_alike(job, other))
                    && entry.job != job.facts.job
                    && mine < (entry.window, entry.order, entry.job)
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

    /// Whether only keys decide between two jobs, as far as the place stage is concerned.
    fn stand_alike(&self, job: &Job, other: &Job) -> bool {
        self.place.ranking().is_none() || job.tags == other.tags
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
