//! Which submissions a queue takes, and which of its jobs may run: counts and limits by queue and
//! by user. The engine decides which waiting job is next.

use super::queue::{Queue, Queues};
use crate::config::State;
use crate::words::ids::{JobId, QueueId, UserId};
use std::collections::{BTreeMap, BTreeSet};

/// Whose running jobs a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// All jobs of a queue (`max_running_jobs`).
    Queue,
    /// Those of one user in a queue (`max_running_jobs_per_user`).
    UserOfQueue,
    /// Those of one user in all queues (`users`).
    User,
}

/// A limit of running jobs that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) queue: QueueId,
    pub(crate) counts: Counted,
    pub(crate) running: u32,
    pub(crate) max: u32,
}

impl Queues {
    /// The limit that keeps one more job of a user from running in a queue, if one does. Of several
    /// the nearest, and of one queue its own before that of users.
    pub(crate) fn reached(&self, id: QueueId, user: UserId) -> Option<Reached> {
        self.path_up(id).find_map(|queue| {
            let limits = self.running_limits(queue, user);
            limits
                .into_iter()
                .flatten()
                .find(|limit| limit.running >= limit.max)
        })
    }

    /// The limits of running jobs that a queue has: for all, for one user, and in root for one user
    /// in all queues.
    pub(crate) fn running_limits(&self, queue: &Queue, user: UserId) -> [Option<Reached>; 3] {
        let limit = |counts: Counted, running: u32, max: Option<u32>| {
            let queue = queue.id;
            max.map(|max| Reached {
                queue,
                counts,
                running,
                max,
            })
        };
        let of_user = self.running_of(queue.id, user);
        let own = queue.config.admission.max_running_jobs_per_user;
        let is_root = queue.parent.is_none();
        let all = self.users.max_running_jobs(user).filter(|_| is_root);
        [
            limit(
                Counted::Queue,
                queue.runnable_jobs,
                queue.max_running_jobs(),
            ),
            limit(Counted::UserOfQueue, of_user, own),
            limit(Counted::User, of_user, all),
        ]
    }

    /// The weight of a user in a leaf: that of the nearest queue upwards that sets one, or else
    /// the user's own.
    pub(crate) fn weight_of(&self, leaf: QueueId, user: UserId) -> f32 {
        let name = self.users.name(user);
        let set = |name| {
            let mut path = self.path_up(leaf);
            path.find_map(|queue| queue.config.user_weights.get(name).copied())
        };
        name.and_then(set)
            .unwrap_or_else(|| self.users.weight(user))
    }

    /// How many jobs of a user may run now, in a queue or below it.
    pub(crate) fn running_of(&self, id: QueueId, user: UserId) -> u32 {
        self.running.get(&(id, user)).copied().unwrap_or(0)
    }

    /// How many jobs of each user may run now, by queue.
    pub(crate) fn running_by_user(&self) -> &BTreeMap<(QueueId, UserId), u32> {
        &self.running
    }

    /// Counts a job into its queue; `runs` says whether it may run.
    pub(crate) fn join(&mut self, job: JobId, id: QueueId, user: UserId, runs: bool) {
        let path: Vec<QueueId> = self.path_up(id).map(|queue| queue.id).collect();
        for at in path {
            let queue = self.get_mut(at).expect("it is on the path");
            queue.jobs += 1;
            queue.runnable_jobs += u32::from(runs);
            if runs {
                *self.running.entry((at, user)).or_insert(0) += 1;
            }
        }
        if !runs {
            let queue = self.get_mut(id).expect("it is on the path");
            queue.waiting.insert(job);
        }
    }

    /// Counts a job out of its queue. Returns whether it was waiting there.
    pub(crate) fn leave(&mut self, job: JobId, id: QueueId, user: UserId, ran: bool) -> bool {
        let path: Vec<QueueId> = self.path_up(id).map(|queue| queue.id).collect();
        for at in path {
            let queue = self.get_mut(at).expect("it is on the path");
            queue.jobs -= 1;
            queue.runnable_jobs -= u32::from(ran);
            if ran {
                let count = self.running.get_mut(&(at, user));
                let count = count.expect("it was counted when it joined");
                *count -= 1;
                if *count == 0 {
                    self.running.remove(&(at, user));
                }
            }
        }
        let queue = self.get_mut(id).expect("it is on the path");
        queue.waiting.remove(&job)
    }

    /// The state of a queue for submissions: of the nearest queue upwards that is not running. One
    /// that is stopped drains while it has jobs.
    pub fn state(&self, id: QueueId) -> State {
        let mut states = self.path_up(id).map(|queue| queue.state);
        let closed = states.find(|state| *state != State::Running);
        let jobs = self.get(id).map_or(0, |queue| queue.jobs);
        match closed.unwrap_or_default() {
            State::Stopped if jobs > 0 => State::Draining,
            state => state,
        }
    }

    /// Checks that a queue takes one more job of a user.
    ///
    /// # Errors
    /// Says which limit, or whose state, keeps it out.
    pub(crate) fn check_admission(&self, id: QueueId, user: Option<UserId>) -> Result<(), String> {
        self.check_room(id, user, None)
    }

    /// Checks that a queue takes a job of a user that is in another one.
    ///
    /// # Errors
    /// As `check_admission`.
    pub(crate) fn check_move(
        &self,
        from: QueueId,
        to: QueueId,
        user: Option<UserId>,
    ) -> Result<(), String> {
        match from == to {
            true => Ok(()),
            false => self.check_room(to, user, Some(from)),
        }
    }

    /// The one answer to whether a job may be in a queue. `from` is the queue in which it is; those
    /// above both have it already.
    fn check_room(
        &self,
        id: QueueId,
        user: Option<UserId>,
        from: Option<QueueId>,
    ) -> Result<(), String> {
        let has_it: BTreeSet<QueueId> = from
            .into_iter()
            .flat_map(|from| self.path_up(from))
            .map(|queue| queue.id)
            .collect();
        for queue in self.path_up(id) {
            let path = &queue.config.path;
            if queue.draining && from.is_some() {
                return Err(format!("queue {path} is being removed; name another"));
            }
            if queue.state != State::Running {
                let state = queue.state.name();
                return Err(format!(
                    "queue {path} is {state} and takes no applications; name another"
                ));
            }
            let jobs = queue.jobs;
            let max = self.max_jobs(queue).filter(|_| !has_it.contains(&queue.id));
            if let Some(max) = max.filter(|max| jobs >= *max) {
                return Err(format!(
                    "queue {path} has {jobs} of {max} applications (max_jobs); wait until one ends"
                ));
            }
        }
        if let Some(leaf) = self.get(id).filter(|queue| queue.takes_nothing()) {
            return Err(format!(
                "queue {} may use no memory or no vcores (max_share is 0), so that no application \
                 starts there; name another",
                leaf.config.path
            ));
        }
        let max = self.max_jobs_of_user(id);
        let running = user.map_or(0, |user| self.running_of(id, user));
        match max.filter(|max| running >= *max) {
            Some(max) => Err(format!(
                "the user has {running} of {max} applications in the queue (max_jobs, \
                 user_limit_percent and user_limit_factor); wait until one ends"
            )),
            None => Ok(()),
        }
    }

    /// How many jobs a queue takes. Not by its part of the cluster while that is late.
    pub(crate) fn max_jobs(&self, queue: &Queue) -> Option<u32> {
        let admission = &queue.config.admission;
        // As stock: a product of 32 bits, cut.
        let part = |of: u32| (of as f32 * queue.part) as u32;
        let by_share = admission.max_jobs_by_share.filter(|_| !self.shares_late);
        admission.max_jobs.or(by_share.map(part))
    }

    /// Whether any queue takes jobs by its part of the cluster.
    pub(crate) fn counts_by_share(&self) -> bool {
        self.by_share
    }

    /// Whether those parts are late. They no longer are after this.
    pub(crate) fn take_late_shares(&mut self) -> bool {
        std::mem::take(&mut self.shares_late)
    }

    /// How many jobs of one user a leaf takes, by the user's part of it. Like the stock Capacity
    /// Scheduler, counts with 32 bits and leaves out jobs that may not run yet.
    fn max_jobs_of_user(&self, id: QueueId) -> Option<u32> {
        let queue = self.get(id)?;
        let (max, limit) = (self.max_jobs(queue)?, queue.config.admission.user_limit?);
        let part = max as f32 * (limit.percent / 100.0) * limit.factor?;
        Some(max.min(part as u32))
    }

    /// The priorities of workflows in a queue, each from the nearest queue upwards that names it.
    pub(crate) fn workflow_priorities(&self, id: QueueId) -> BTreeMap<&str, i32> {
        let mut all = BTreeMap::new();
        for queue in self.path_up(id) {
            for (workflow, priority) in &queue.config.priorities.of_workflows {
                all.entry(workflow.as_str()).or_insert(*priority);
            }
        }
        all
    }

    /// The priorities and lifetimes for a queue's jobs, each from the nearest queue upwards that
    /// sets it. A default is cut to its maximum.
    pub fn terms(&self, id: QueueId) -> Terms {
        let nearest = |of: fn(&Queue) -> Option<i64>| self.path_up(id).find_map(of);
        let cut = |value: Option<i64>, most: Option<i64>| match (value, most) {
            (Some(value), Some(most)) => Some(value.min(most)),
            (value, _) => value,
        };
        let max_priority = nearest(|queue| queue.config.admission.max_priority.map(i64::from));
        let max_priority = max_priority.or(self.defaults.max_priority.map(i64::from));
        let priority = nearest(|queue| queue.config.admission.default_priority.map(i64::from));
        let max_lifetime_s = nearest(|queue| queue.config.admission.max_lifetime_s);
        let lifetime_s = nearest(|queue| queue.config.admission.lifetime_s);
        Terms {
            default_priority: cut(priority, max_priority),
            max_priority,
            lifetime_s: cut(lifetime_s.or(max_lifetime_s), max_lifetime_s),
            max_lifetime_s,
        }
    }
}

/// What a queue has for its jobs; see `Admission`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The priority of a job without one.
    pub default_priority: Option<i64>,
    /// The highest priority that a job may have.
    pub max_priority: Option<i64>,
    /// How long a job may run, in seconds, if it asks for nothing.
    pub lifetime_s: Option<i64>,
    /// The longest that it may ask for.
    pub max_lifetime_s: Option<i64>,
}
