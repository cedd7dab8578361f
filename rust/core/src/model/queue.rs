//! The tree of queues: configuration, counts and how a job finds its queue. The `share` stage
//! computes their shares.

use crate::config::{Config, PlacementRule, QueueConfig};
use crate::words::event::JobFacts;
use crate::words::ids::{JobId, Millis, QueueId};
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// The queue of jobs that come back after a restart and find no other: theirs is gone and must not
/// be made.
const RECOVERY_QUEUE: &str = "root.recovery";

/// The most queues that `expire` removes at once: the host takes time for each, with its lock held.
const EXPIRED_MAX: usize = 256;

/// Longest path of a queue that a submission may make, in bytes.
const PATH_MAX: usize = 1_024;

/// The full path of the queue that a user has of their own. Replaces dots in the name, which would
/// make a queue below another user's.
pub fn user_queue(user: &str) -> String {
    format!("root.{}", user.replace('.', "_dot_"))
}

/// One queue.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Its id; the root is 0.
    pub id: QueueId,
    /// The queue above it.
    pub parent: Option<QueueId>,
    /// The queues below it.
    pub children: Vec<QueueId>,
    /// Limits and weight.
    pub config: QueueConfig,
    /// Whether it was made for a job and not by the configuration.
    pub dynamic: bool,
    /// Whether it vanished from the configuration while jobs were still in it.
    pub draining: bool,
    /// Whether it vanished as a pool of the allocations file: it comes back on demand (FS-4), if
    /// the rules let submissions make queues.
    pub removed_pool: bool,
    /// Its `max_running_jobs` while it is a leaf and sets none.
    pool_max_jobs: Option<u32>,
    /// How many jobs are in it or below it.
    pub jobs: u32,
    /// How many of those may run.
    pub runnable_jobs: u32,
    /// Jobs of this very queue that wait for `max_running_jobs`.
    pub waiting: BTreeSet<JobId>,
    /// The user whose submission made it; none if the configuration did.
    made_by: Option<String>,
    /// Since when it has been empty, as far as `expire` has seen. Only for dynamic queues.
    empty_since_ms: Option<Millis>,
    /// Whether it was removed, so that its id may go to another.
    removed: bool,
}

impl Queue {
    fn new(id: QueueId, parent: Option<QueueId>, path: &str) -> Queue {
        Queue {
            id,
            parent,
            children: Vec::new(),
            config: QueueConfig::new(path),
            dynamic: false,
            draining: false,
            removed_pool: false,
            pool_max_jobs: None,
            jobs: 0,
            runnable_jobs: 0,
            waiting: BTreeSet::new(),
            made_by: None,
            empty_since_ms: None,
            removed: false,
        }
    }

    /// Whether it was removed; see `Queues::all`.
    pub fn is_removed(&self) -> bool {
        self.removed
    }

    /// How many jobs may run in it or below it at once.
    pub fn max_running_jobs(&self) -> Option<u32> {
        let leaf = self.children.is_empty() && self.parent.is_some();
        let default = self.pool_max_jobs.filter(|_| leaf);
        self.config.max_running_jobs.or(default)
    }
}

/// All queues. Ids are stable: a configured queue that vanishes drains under its id and may come
/// back. The id of an expired dynamic queue goes to a queue whose parent has a smaller id, so that
/// parents always come before children.
#[derive(Debug, Default)]
pub struct Queues {
    queues: Vec<Queue>,
    by_path: BTreeMap<String, QueueId>,
    /// By the last part of the path.
    by_name: BTreeMap<String, BTreeSet<QueueId>>,
    free: BTreeSet<QueueId>,
    /// How many dynamic queues each user has made.
    made: BTreeMap<String, u32>,
    max_per_user: u32,
    placement: Vec<PlacementRule>,
    pool_max_jobs: Option<u32>,
    reloads: u32,
}

impl Queues {
    /// The tree of a configuration.
    pub fn new(config: &Config) -> Queues {
        let mut queues = Queues::default();
        queues.ensure("root", None);
        queues.reload(config);
        queues
    }

    /// Takes over a new configuration. Queues that it does not name keep their jobs until they
    /// end, with the limits of an unconfigured queue.
    pub fn reload(&mut self, config: &Config) {
        self.pool_max_jobs = config.pool_max_jobs;
        self.max_per_user = config.dynamic_queues.max_per_user;
        for queue in self.queues.iter_mut().filter(|queue| !queue.removed) {
            queue.draining = !queue.dynamic && queue.id.0 != 0;
            queue.removed_pool |= queue.config.only_allocated;
            queue.pool_max_jobs = config.pool_max_jobs;
            queue.config = QueueConfig::new(&queue.config.path);
        }
        for wanted in &config.queues {
            let id = self.ensure(&wanted.path, None);
            self.queues[id.index()].config = wanted.clone();
            self.keep(id);
        }
        for rule in &config.placement {
            if let PlacementRule::Default { queue } = rule {
                let id = self.ensure(queue, None);
                self.keep(id);
            }
        }
        self.placement = config.placement.clone();
        self.reloads += 1;
    }

    /// How many configurations were taken over, the first included.
    pub fn reloads(&self) -> u32 {
        self.reloads
    }

    fn keep(&mut self, id: QueueId) {
        let mut at = Some(id);
        while let Some(id) = at {
            let queue = &mut self.queues[id.index()];
            queue.draining = false;
            queue.removed_pool = false;
            queue.dynamic = false;
            at = queue.parent;
            self.disown(id);
        }
    }

    /// Stops counting a queue for the user whose submission made it: it expired or was configured.
    fn disown(&mut self, id: QueueId) {
        let Some(user) = self.queues[id.index()].made_by.take() else {
            return;
        };
        let count = self.made.get_mut(&user).expect("it has made this queue");
        *count -= 1;
        if *count == 0 {
            self.made.remove(&user);
        }
    }

    /// Removes the dynamic queues that have been empty for `keep_ms`, children before parents and
    /// at most `EXPIRED_MAX` at a time. From then on their ids may go to other queues.
    pub(crate) fn expire(&mut self, now: Millis, keep_ms: Millis) -> Vec<QueueId> {
        let mut expired = Vec::new();
        let mut parents = BTreeSet::new();
        for i in (0..self.queues.len()).rev() {
            let id = QueueId(i as u32);
            if parents.remove(&id) {
                let mut children = std::mem::take(&mut self.queues[i].children);
                children.retain(|child| !self.queues[child.index()].removed);
                self.queues[i].children = children;
            }
            let queue = &mut self.queues[i];
            if queue.removed || !queue.dynamic || queue.jobs > 0 {
                queue.empty_since_ms = None;
                continue;
            }
            let since = *queue.empty_since_ms.get_or_insert(now);
            let due = now - since >= keep_ms && expired.len() < EXPIRED_MAX;
            if due && queue.children.is_empty() {
                parents.extend(queue.parent);
                self.forget(id);
                expired.push(id);
            }
        }
        expired
    }

    fn forget(&mut self, id: QueueId) {
        self.disown(id);
        let queue = &mut self.queues[id.index()];
        queue.removed = true;
        self.by_path.remove(&queue.config.path);
        let name = last_part(&queue.config.path);
        let named = self.by_name.get_mut(name).expect("every queue is listed");
        named.remove(&id);
        if named.is_empty() {
            self.by_name.remove(name);
        }
        self.free.insert(id);
    }

    /// Brings back, as a dynamic queue, a pool that the allocations file no longer names.
    fn revive(&mut self, id: QueueId) {
        let mut at = Some(id);
        while let Some(id) = at.filter(|id| id.0 != 0) {
            let queue = &mut self.queues[id.index()];
            if queue.draining {
                (queue.draining, queue.removed_pool, queue.dynamic) = (false, false, true);
            }
            at = queue.parent;
        }
    }

    /// Every queue; parents come before their children.
    pub fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.queues.iter().filter(|queue| !queue.removed)
    }

    /// Every queue, removed ones included, so that indexes are ids.
    pub fn all(&self) -> &[Queue] {
        &self.queues
    }

    /// The queue, if the id is one.
    pub fn get(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(id.index()).filter(|queue| !queue.removed)
    }

    pub(crate) fn get_mut(&mut self, id: QueueId) -> Option<&mut Queue> {
        let queue = self.queues.get_mut(id.index());
        queue.filter(|queue| !queue.removed)
    }

    /// Finds a queue by its full path or, if exactly one leaf has it, by the end of its path.
    pub fn find(&self, name: &str) -> Option<&Queue> {
        if let Some(id) = self.by_path.get(&full_path(name)) {
            return self.get(*id);
        }
        let ending = format!(".{name}");
        let named = self.by_name.get(last_part(name))?;
        let mut named = named
            .iter()
            .map(|id| &self.queues[id.index()])
            .filter(|queue| queue.children.is_empty() && queue.config.path.ends_with(&ending));
        let first = named.next()?;
        named.next().is_none().then_some(first)
    }

    /// From `id` up to the root.
    pub fn path_up(&self, id: QueueId) -> impl Iterator<Item = &Queue> {
        std::iter::successors(self.get(id), |queue| self.get(queue.parent?))
    }

    /// Finds the queue of a full path. If there is none, makes it with its parents: for the
    /// configuration, or for a user.
    fn ensure(&mut self, path: &str, user: Option<&str>) -> QueueId {
        if let Some(id) = self.by_path.get(path) {
            return *id;
        }
        let above = path.rsplit_once('.').map(|(parent, _)| parent);
        let parent = above.map(|parent| self.ensure(parent, user));
        let after = parent.map_or(QueueId(0), |parent| QueueId(parent.0 + 1));
        let id = self.free.range(after..).next().copied();
        let id = id.unwrap_or(QueueId(self.queues.len() as u32));
        let queue = Queue {
            dynamic: user.is_some(),
            pool_max_jobs: self.pool_max_jobs,
            made_by: user.map(str::to_string),
            ..Queue::new(id, parent, path)
        };
        if self.free.remove(&id) {
            self.queues[id.index()] = queue;
        } else {
            self.queues.push(queue);
        }
        if let Some(parent) = parent {
            self.queues[parent.index()].children.push(id);
        }
        if let Some(user) = user {
            *self.made.entry(user.to_string()).or_insert(0) += 1;
        }
        self.by_path.insert(path.to_string(), id);
        let name = last_part(path).to_string();
        self.by_name.entry(name).or_default().insert(id);
        id
    }

    /// Finds or makes the queue of a submission; the second value tells whether it was made. While
    /// recovering it always finds one: no job may be lost for want of a queue.
    pub fn place(
        &mut self,
        user: &str,
        requested: Option<&str>,
        recovering: bool,
    ) -> Result<(QueueId, bool), String> {
        Ok(match self.choose(user, requested, recovering)? {
            Target::Exists(id) => {
                self.queues[id.index()].empty_since_ms = None;
                (id, false)
            }
            Target::Revived(id) => {
                self.revive(id);
                (id, true)
            }
            Target::New(path) => (self.ensure(&path, Some(user)), true),
        })
    }

    /// Chooses the queue of a submission by the rules. Changes nothing.
    pub fn choose(
        &self,
        user: &str,
        requested: Option<&str>,
        recovering: bool,
    ) -> Result<Target, String> {
        let requested = requested.filter(|name| {
            !name.is_empty() && *name != "default" && *name != "root.default"
                || self.configured_default(name)
        });
        if let (true, Some(name)) = (recovering, requested)
            && let Ok(found) = self.look_up(name, None)
        {
            // A moved job comes back to its queue, whatever the rules say.
            return Ok(found);
        }
        let maker = Maker {
            user,
            bounded: !recovering,
        };
        let by_maker = |create: bool| create.then_some(maker);
        let mut refusals = Vec::new();
        for rule in &self.placement {
            let attempt = match (rule, requested) {
                (PlacementRule::Specified { create }, Some(name)) => {
                    self.look_up(name, by_maker(*create))
                }
                (PlacementRule::Specified { .. }, None) => continue,
                (PlacementRule::User { create }, _) => {
                    self.look_up(&user_queue(user), by_maker(*create))
                }
                (PlacementRule::Default { queue }, _) => self.look_up(queue, None),
            };
            match attempt {
                Ok(found) => return Ok(found),
                Err(refusal) if matches!(rule, PlacementRule::Specified { .. }) && !recovering => {
                    // A named queue that is not available is an error. The job must not run
                    // somewhere else unnoticed.
                    return Err(refusal);
                }
                Err(refusal) => refusals.push(refusal),
            }
        }
        if recovering {
            let known = self.by_path.get(RECOVERY_QUEUE).copied();
            return Ok(known.map_or(Target::New(RECOVERY_QUEUE.to_string()), Target::Exists));
        }
        let asked = requested.unwrap_or("(none)");
        Err(format!(
            "no placement rule found a queue for user {user}, requested queue {asked}: {}",
            refusals.join("; ")
        ))
    }

    fn configured_default(&self, name: &str) -> bool {
        (name == "default" || name == "root.default")
            && self
                .by_path
                .get("root.default")
                .is_some_and(|id| !self.queues[id.index()].dynamic)
    }

    fn look_up(&self, name: &str, maker: Option<Maker<'_>>) -> Result<Target, String> {
        if let Some(queue) = self.find(name) {
            let path = &queue.config.path;
            return if !queue.children.is_empty() || queue.id.0 == 0 {
                Err(format!(
                    "queue {path} has queues below it; name one of them"
                ))
            } else if queue.draining && queue.removed_pool && maker.is_some() {
                Ok(Target::Revived(queue.id))
            } else if queue.draining {
                Err(format!("queue {path} is being removed; name another"))
            } else {
                Ok(Target::Exists(queue.id))
            };
        }
        let path = full_path(name);
        let Some(maker) = maker else {
            return Err(format!("unknown queue {path}; name one that exists"));
        };
        self.check_new(&path, maker)?;
        Ok(Target::New(path))
    }

    /// Checks that a submission may make a queue and the missing ones above it.
    fn check_new(&self, path: &str, maker: Maker<'_>) -> Result<(), String> {
        if path.len() > PATH_MAX {
            let bytes = path.len();
            return Err(format!(
                "the queue's name has {bytes} bytes; at most {PATH_MAX} are allowed"
            ));
        }
        if path.split('.').any(|part| part.trim().is_empty()) {
            return Err(format!("queue name `{path}` has an empty part"));
        }
        let mut more = 1;
        let mut above = path;
        while let Some((parent, _)) = above.rsplit_once('.') {
            let known = self.by_path.get(parent).map(|id| &self.queues[id.index()]);
            if let Some(queue) = known
                && queue.id.0 != 0
                && queue.children.is_empty()
                && queue.jobs > 0
            {
                return Err(format!(
                    "queue {parent} runs jobs and cannot have queues below it"
                ));
            }
            more += u32::from(known.is_none());
            above = parent;
        }
        let (user, most) = (maker.user, self.max_per_user);
        let made = self.made.get(user).copied().unwrap_or(0);
        if maker.bounded && made + more > most {
            return Err(format!(
                "cannot make queue {path}: submissions of user {user} have made {made} queues, and \
                 {more} more would exceed dynamic_queues.max_per_user ({most}); name a queue that \
                 exists, or wait until queues without applications expire"
            ));
        }
        Ok(())
    }

    /// Whether a job's containers may be taken back at all. A queue may spare applications other
    /// than MapReduce: the nearest one on the path that says so decides.
    pub fn may_take_from(&self, job: &JobFacts) -> bool {
        job.mapreduce || self.spares(job.queue).is_none()
    }

    /// The queue on the path from `id` that spares applications other than MapReduce, if one does.
    pub fn spares(&self, id: QueueId) -> Option<QueueId> {
        let mut says = self
            .path_up(id)
            .filter(|queue| queue.config.preempt_opaque.is_some());
        let nearest = says.next()?;
        (nearest.config.preempt_opaque == Some(false)).then_some(nearest.id)
    }

    /// The most that `queue` may use, within the limits of every queue above it.
    pub fn max_share(&self, queue: QueueId) -> Resource {
        self.path_up(queue).fold(Resource::UNBOUNDED, |max, at| {
            max.component_min(&at.config.max_share)
        })
    }
}

/// The queue that the rules choose for a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// It exists.
    Exists(QueueId),
    /// It is being removed, and stays because of this submission.
    Revived(QueueId),
    /// The path of a new one.
    New(String),
}

/// The user whose submission makes a queue, and whether `max_per_user` applies.
#[derive(Clone, Copy)]
struct Maker<'a> {
    user: &'a str,
    bounded: bool,
}

/// Returns the path that a name means if no queue has it for its end.
fn full_path(name: &str) -> String {
    match name == "root" || name.starts_with("root.") {
        true => name.to_string(),
        false => format!("root.{name}"),
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, last)| last)
}

#[cfg(test)]
mod tests;
