//! Works out what would let a waiting ask run, with the functions that decide, on copies of what
//! they read. Changes nothing.

use super::View;
use super::survey::shortage;
use crate::backlog::Entry;
use crate::model::admission::Reached;
use crate::model::job::Job;
use crate::model::wait::{Ahead, OrderLimit, PendingAsk, Reason, Remedy};
use crate::words::ids::Locality;
use crate::words::resource::RESOURCE_TYPES_MAX;

impl View<'_> {
    pub(super) fn remedies(&self, asked: &PendingAsk<'_>, reason: &Reason) -> Vec<Remedy> {
        match *reason {
            Reason::JobLimit { .. } | Reason::UserJobs { .. } => self.more_running_jobs(asked.job),
            Reason::UserLimit { .. } | Reason::UserMasters { .. } => {
                let remedy = self.answers.user_remedy(asked.job, asked.ask);
                remedy.into_iter().collect()
            }
            Reason::TooLarge(lacking) => vec![Remedy::Node {
                resource: lacking.resource,
                amount: lacking.wanted,
                free: false,
            }],
            Reason::Room { shortage, .. } => vec![Remedy::Node {
                resource: shortage.resource,
                amount: shortage.wanted,
                free: true,
            }],
            Reason::QueueLimit { .. } => self.larger_queues(asked),
            Reason::MasterLimit { .. } => self.more_masters(asked),
            Reason::Held(held) => released(held),
            Reason::Quota { .. } | Reason::Share { .. } => self.share.remedies(asked, &self.world),
            Reason::Behind { ahead, .. } => self.higher_priority(asked, ahead),
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

    /// Returns the least limit of running jobs of each queue on the path with which the job would
    /// run.
    fn more_running_jobs(&self, job: &Job) -> Vec<Remedy> {
        let queues = &self.world.cluster.queues;
        let path = queues.path_up(job.facts.queue);
        let limits = path.flat_map(|queue| queues.running_limits(queue, job.facts.user));
        let more = |at: Reached| {
            let limit = at.running + self.waiting_before(job, &at) + 1;
            let queue = at.queue;
            (limit > at.max).then_some(match at.by_user {
                true => Remedy::UserRunningJobs { queue, limit },
                false => Remedy::RunningJobs { queue, limit },
            })
        };
        limits.flatten().filter_map(more).collect()
    }

    /// Returns the least `max_share` that admits one more container, of each queue on the path
    /// whose limit does not.
    fn larger_queues(&self, asked: &PendingAsk<'_>) -> Vec<Remedy> {
        let size = asked.size();
        let mut remedies = Vec::new();
        for at in self.world.tree.path_up(asked.job.leaf) {
            let node = self.world.tree.node(at);
            if shortage(&size, &(node.max_share - node.used)).is_none() {
                continue;
            }
            for i in 0..RESOURCE_TYPES_MAX {
                let limit = node.used[i] + size[i];
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
        let wanted = self.masters_before(asked) + asked.size();
        let fits = |per_mille: u32| tree.masters_fit(leaf, &wanted, f64::from(per_mille) / 1_000.0);
        if !fits(1_000) {
            return Vec::new();
        }
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

    /// Returns the least application priority that would put the job first. Nothing if the order
    /// stage ignores priorities.
    fn higher_priority(&self, asked: &PendingAsk<'_>, ahead: Ahead) -> Vec<Remedy> {
        let Some(first) = self.world.cluster.job(ahead.first) else {
            return Vec::new();
        };
        let keys = first
            .pending()
            .map(|ask| Entry::new(first, ask).order)
            .min()
            .map(|key| (key, first.facts.job));
        let mut raised = Job::new(asked.job.facts, asked.job.leaf);
        raised.hints = asked.job.hints;
        (raised.running, raised.done) = (asked.job.running, asked.job.done);
        raised.used = asked.job.used;
        let mut goes_first = |priority: i32| {
            raised.facts.priority = priority;
            let key = self.order.key(&raised, asked.kind);
            keys.is_some_and(|first| (key, raised.facts.job) < first)
        };
        let above = first.facts.priority.saturating_add(1);
        let candidates = [first.facts.priority, above].into_iter();
        candidates
            .filter(|priority| *priority > asked.job.facts.priority)
            .find(|priority| goes_first(*priority))
            .map(|priority| Remedy::Priority { priority })
            .into_iter()
            .collect()
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
