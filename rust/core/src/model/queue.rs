//! The tree of queues: configuration and counts. The `share` stage computes their shares,
//! `limits.rs` their limits, `reload.rs` takes over another configuration, and `placement` finds
//! the queue of a job.

mod limits;
mod reload;

pub use limits::{LimitedBy, Spares};
pub(crate) use reload::States;

use crate::config::{
    Amount, Amounts, Config, PlacementRule, QueueConfig, QueueDefaults, State, Users,
};
use crate::words::ids::{JobId, Millis, QueueId, UserId};
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// The most queues that `expire` removes at once: the host takes time for each, with its lock held.
const EXPIRED_MAX: usize = 256;

/// How far guarantees of queues that submissions make may be above that of the queue above.
const GUARANTEE_SLACK: f32 = 0.001;

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
    /// `min_share` in whole numbers.
    pub min_share: Resource,
    /// `max_share` in whole numbers; not below the minimum.
    pub max_share: Resource,
    /// Its own state, whatever the queues above say; see `Queues::state`.
    pub(super) state: State,
    /// Whether it was made for a job and not by the configuration.
    pub dynamic: bool,
    /// Whether it vanished from the configuration while jobs were still in it.
    pub draining: bool,
    /// Whether it vanished as a pool of the allocations file: it comes back on demand (FS-4), if
    /// the rules let submissions make queues.
    pub removed_pool: bool,
    /// Whether it has the settings of before, which the configuration no longer names.
    keeps: bool,
    /// Its `max_running_jobs` while it is a leaf and sets none.
    pool_max_jobs: Option<u32>,
    /// How many jobs are in it or below it.
    pub jobs: u32,
    /// How many of those may run.
    pub runnable_jobs: u32,
    /// Jobs of this very queue that wait for a limit of running jobs.
    pub waiting: BTreeSet<JobId>,
    /// The user whose submission made it; none if the configuration did.
    made_by: Option<String>,
    /// Since when it has been empty, as far as `expire` has seen. Only for dynamic queues.
    empty_since_ms: Option<Millis>,
    /// Whether it was removed, so that its id may go to another.
    removed: bool,
    /// Whether its guarantee counts for those of queues made after it.
    resolved: bool,
    /// Its part of the cluster, by its guarantee.
    pub(crate) part: f32,
}

impl Queue {
    fn new(id: QueueId, parent: Option<QueueId>, config: QueueConfig) -> Queue {
        let state = config.admission.state.unwrap_or_default();
        Queue {
            id,
            parent,
            children: Vec::new(),
            config,
            min_share: Resource::ZERO,
            max_share: Resource::UNBOUNDED,
            state,
            dynamic: false,
            draining: false,
            removed_pool: false,
            keeps: false,
            pool_max_jobs: None,
            jobs: 0,
            runnable_jobs: 0,
            waiting: BTreeSet::new(),
            made_by: None,
            empty_since_ms: None,
            removed: false,
            resolved: false,
            part: 0.0,
        }
    }

    /// Whether it was removed; see `Queues::all`.
    pub fn is_removed(&self) -> bool {
        self.removed
    }

    /// Whether jobs may be in it: no queue is below it, and no setting makes it a parent.
    pub fn is_leaf(&self) -> bool {
        self.children.is_empty() && !self.config.parent && self.config.admission.dynamic_depth == 0
    }

    /// Whether it is a leaf other than root.
    pub fn is_for_jobs(&self) -> bool {
        self.is_leaf() && self.parent.is_some()
    }

    /// Whether it is a leaf whose limit is written as 0 for a type that every ApplicationMaster
    /// asks for. A part of the cluster may come to 0 for a while; that counts for nothing here.
    pub(super) fn takes_nothing(&self) -> bool {
        let basic = &self.config.max_share.0[..2];
        self.parent.is_some() && self.is_leaf() && basic.contains(&Amount::Whole(0))
    }

    /// Whether it is stopped though its configuration does not say so.
    pub fn stays_stopped(&self) -> bool {
        self.state == State::Stopped && self.config.admission.state.is_none()
    }

    /// How many jobs may run in it or below it at once.
    pub fn max_running_jobs(&self) -> Option<u32> {
        let default = self.pool_max_jobs.filter(|_| self.is_for_jobs());
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
    /// Paths at and below which submissions make no queue.
    never: BTreeSet<String>,
    placement: Vec<PlacementRule>,
    /// Configured queues that are made once no jobs are in the queue above them.
    late: Vec<QueueConfig>,
    pub(super) users: Users,
    /// How many jobs of each user may run now, in each queue or below it.
    pub(super) running: BTreeMap<(QueueId, UserId), u32>,
    pool_max_jobs: Option<u32>,
    pub(super) defaults: QueueDefaults,
    /// The cluster's capacity, of which limits are parts.
    capacity: Resource,
    /// Whether parts of the cluster may have changed.
    pub(super) shares_late: bool,
    /// Whether any queue takes jobs by its part.
    pub(super) by_share: bool,
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

    /// The configuration of a queue that nothing names; `leaf` says whether it is for jobs.
    fn unconfigured(&self, path: &str, parent: Option<QueueId>, leaf: bool) -> QueueConfig {
        let mut config = self.defaults.queue(path);
        let above = parent.map(|parent| &self.queues[parent.index()].config);
        let like = above.and_then(|above| match leaf {
            true => above.new_leaf.as_ref(),
            false => above.new_parent.as_ref(),
        });
        if let Some(like) = like {
            config = QueueConfig {
                path: config.path,
                max_running_jobs: like.max_running_jobs.or(config.max_running_jobs),
                compare: like.compare.or(config.compare),
                ..(**like).clone()
            };
        }
        if let Some(limit) = above.and_then(|above| above.max_child_share) {
            config.max_share = limit;
        }
        config
    }

    /// Takes the guarantee from a queue that a submission made, if those made before have taken all
    /// that the queue above has: as YARN's Capacity Scheduler does with leaves of a template.
    fn fit(&mut self, id: QueueId) {
        let part = |queue: &Queue| match queue.config.min_share.map(|share| share.0[0]) {
            Some(Amount::OfParent(part)) => part,
            _ => 0.0,
        };
        let queue = &self.queues[id.index()];
        let Some(parent) = queue.parent.filter(|_| queue.dynamic && part(queue) > 0.0) else {
            return;
        };
        let siblings = self.queues[parent.index()].children.iter();
        let siblings = siblings.filter(|sibling| **sibling != id);
        let siblings = siblings.map(|sibling| &self.queues[sibling.index()]);
        let known = siblings.filter(|sibling| !sibling.removed && sibling.resolved);
        let taken: f32 = known.map(part).sum();
        if taken + part(queue) > 1.0 + GUARANTEE_SLACK {
            self.queues[id.index()].config.min_share = Some(Amounts::ZERO);
        }
    }

    /// How many configurations were taken over, the first included.
    pub fn reloads(&self) -> u32 {
        self.reloads
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

    /// Removes the dynamic queues that have been empty for `keep_ms`, and the empty ones that left
    /// the configuration, children before parents and at most `EXPIRED_MAX` at a time. From then on
    /// their ids may go to other queues.
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
            if queue.removed || !(queue.dynamic || queue.draining) || queue.jobs > 0 {
                queue.empty_since_ms = None;
                continue;
            }
            let since = *queue.empty_since_ms.get_or_insert(now);
            let due = queue.draining || now - since >= keep_ms;
            if due && expired.len() < EXPIRED_MAX && queue.children.is_empty() {
                parents.extend(queue.parent);
                self.forget(id);
                expired.push(id);
            }
        }
        expired
    }

    /// Removes a queue without jobs that was just made, and those above it up to `known`, which
    /// stays. Returns them.
    pub(crate) fn unmake(&mut self, made: QueueId, known: QueueId) -> Vec<QueueId> {
        let path = self.path_up(made).map(|queue| queue.id);
        let unmade: Vec<QueueId> = path.take_while(|id| *id != known).collect();
        for id in &unmade {
            self.forget(*id);
            self.queues[id.index()].children.clear();
        }
        let children = &mut self.queues[known.index()].children;
        children.retain(|child| !unmade.contains(child));
        unmade
    }

    /// Sets whether ids of removed queues may go to others.
    pub(crate) fn reuse_ids(&mut self, reused: bool) {
        let removed = self.queues.iter().filter(|queue| reused && queue.removed);
        self.free = removed.map(|queue| queue.id).collect();
    }

    fn forget(&mut self, id: QueueId) {
        self.disown(id);
        let queue = &mut self.queues[id.index()];
        queue.removed = true;
        self.shares_late = true;
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

    /// The queue of a full path.
    pub fn by_path(&self, path: &str) -> Option<&Queue> {
        self.get(*self.by_path.get(path)?)
    }

    /// Finds a queue by the last part of its path, if it is the only one.
    pub(super) fn find_last(&self, name: &str) -> Option<&Queue> {
        let named = self.by_name.get(name)?;
        let only = named.first().filter(|_| named.len() == 1)?;
        self.get(*only)
    }

    /// Finds a queue by its path, `root.` left out or not, or, if exactly one leaf has it, by the
    /// end of its path.
    pub fn find(&self, name: &str) -> Option<&Queue> {
        if let Some(queue) = self.by_path(&full_path(name)) {
            return Some(queue);
        }
        let ending = format!(".{name}");
        let named = self.by_name.get(last_part(name))?;
        let mut named = named
            .iter()
            .map(|id| &self.queues[id.index()])
            .filter(|queue| queue.is_leaf() && queue.config.path.ends_with(&ending));
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
        self.ensure_as(path, user, true)
    }

    fn ensure_as(&mut self, path: &str, user: Option<&str>, leaf: bool) -> QueueId {
        if let Some(id) = self.by_path.get(path) {
            return *id;
        }
        let above = path.rsplit_once('.').map(|(parent, _)| parent);
        let parent = above.map(|parent| self.ensure_as(parent, user, false));
        let after = parent.map_or(QueueId(0), |parent| QueueId(parent.0 + 1));
        let id = self.free.range(after..).next().copied();
        let id = id.unwrap_or(QueueId(self.queues.len() as u32));
        let config = match user {
            Some(_) => self.unconfigured(path, parent, leaf),
            None => self.defaults.queue(path),
        };
        let queue = Queue {
            dynamic: user.is_some(),
            pool_max_jobs: self.pool_max_jobs,
            made_by: user.map(str::to_string),
            ..Queue::new(id, parent, config)
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
        self.fit(id);
        self.resolve(id);
        self.queues[id.index()].resolved = true;
        self.shares_late = true;
        let admission = &self.queues[id.index()].config.admission;
        self.by_share |= admission.max_jobs_by_share.is_some();
        self.by_path.insert(path.to_string(), id);
        let name = last_part(path).to_string();
        self.by_name.entry(name).or_default().insert(id);
        id
    }

    /// The queue that the rules chose, made if it does not exist. The second value tells whether it
    /// was made or revived.
    pub(super) fn take(&mut self, target: Target, user: &str) -> (QueueId, bool) {
        match target {
            Target::Exists(id) => {
                self.queues[id.index()].empty_since_ms = None;
                (id, false)
            }
            Target::Revived(id) => {
                self.revive(id);
                (id, true)
            }
            Target::New(path) => (self.ensure(&path, Some(user)), true),
        }
    }

    /// How jobs find their queue.
    pub(super) fn rules(&self) -> &[PlacementRule] {
        &self.placement
    }

    /// The queues that a user's submissions have made, and how many they may have made at once.
    pub(super) fn made_by(&self, user: &str) -> (u32, u32) {
        (self.made.get(user).copied().unwrap_or(0), self.max_per_user)
    }

    /// The path in `dynamic_queues.never` that keeps submissions from making a queue.
    pub(super) fn never_made<'p>(&self, path: &'p str) -> Option<&'p str> {
        let is_at = |at: &&str| self.never.contains(*at);
        let ends = path.match_indices('.').map(|(dot, _)| &path[..dot]);
        let barred = ends.chain([path]).find(is_at)?;
        Some(barred)
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
pub(super) struct Maker<'a> {
    pub(super) user: &'a str,
    pub(super) bounded: bool,
}

/// The path that a name means if it may leave `root.` out.
pub(super) fn full_path(name: &str) -> String {
    match name == "root" || name.starts_with("root.") {
        true => name.to_string(),
        false => format!("root.{name}"),
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, last)| last)
}
