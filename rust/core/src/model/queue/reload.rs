//! Another configuration for the tree of queues: which queues come, stay and go, and what keeps a
//! change from being taken over.

use super::{Queue, Queues};
use crate::config::{Config, Names, QueueConfig, Source, State};
use crate::words::ids::QueueId;
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// The states of configured queues after a reload, by path.
pub(crate) type States = BTreeMap<String, State>;

impl Queues {
    /// Takes over a new configuration, unchecked.
    pub fn reload(&mut self, config: &Config) {
        self.take_over(config, &config.kept_stopped());
    }

    /// Takes over a new configuration, with the states that `check_reload` found. A queue that it
    /// does not name takes no more jobs and is removed when it is empty. Until then it keeps its
    /// guarantee and limits. In the stock Fair Scheduler it is as good as made by a submission, so
    /// it has the settings of such a queue.
    pub(crate) fn take_over(&mut self, config: &Config, states: &States) {
        self.defaults = config.queue_defaults.clone();
        self.pool_max_jobs = config.pool_max_jobs;
        self.max_per_user = config.dynamic_queues.max_per_user;
        self.never = config.dynamic_queues.never.clone();
        let as_fair = config
            .placement
            .iter()
            .any(|rule| rule.names == Names::Paths);
        for queue in self.queues.iter_mut().filter(|queue| !queue.removed) {
            queue.draining = !queue.dynamic && queue.id.0 != 0;
            queue.removed_pool |= queue.config.only_allocated;
            queue.pool_max_jobs = config.pool_max_jobs;
            queue.keeps = queue.draining && queue.jobs > 0 && !queue.removed_pool && !as_fair;
            if !queue.keeps {
                queue.config = self.defaults.queue(&queue.config.path);
            }
        }
        self.late.clear();
        for wanted in &config.queues {
            match self.occupied_above(&wanted.path) {
                Some(above) => self.postpone(wanted, above),
                None => self.make(wanted),
            }
        }
        for rule in &config.placement {
            if let Source::Default {
                queue,
                configured: true,
            } = &rule.source
                && self.occupied_above(queue).is_none()
            {
                let id = self.ensure(queue, None);
                self.keep(id);
            }
        }
        for queue in &mut self.queues {
            queue.resolved = !queue.dynamic;
            let own = queue.config.admission.state.unwrap_or_default();
            queue.state = states.get(&queue.config.path).copied().unwrap_or(own);
        }
        self.limit_children();
        for i in 0..self.queues.len() {
            self.resolve(QueueId(i as u32));
            self.queues[i].resolved = true;
        }
        self.shares_late = true;
        let by_share = |queue: &Queue| queue.config.admission.max_jobs_by_share.is_some();
        let any = self.iter().any(by_share);
        self.by_share = any;
        self.placement = config.placement.clone();
        self.users = config.users.clone();
        self.reloads += 1;
    }

    /// Makes a configured queue, or keeps it.
    fn make(&mut self, wanted: &QueueConfig) {
        let id = self.ensure(&wanted.path, None);
        self.keep(id);
        self.queues[id.index()].config = wanted.clone();
    }

    /// The nearest queue above a path that has jobs of its own. As in the stock Fair Scheduler,
    /// it stays a leaf until they have ended.
    fn occupied_above(&self, path: &str) -> Option<QueueId> {
        let (mut above, _) = path.rsplit_once('.')?;
        loop {
            if let Some(queue) = self.by_path(above) {
                return (queue.children.is_empty() && queue.jobs > 0).then_some(queue.id);
            }
            (above, _) = above.rsplit_once('.')?;
        }
    }

    fn postpone(&mut self, wanted: &QueueConfig, above: QueueId) {
        let queue = &self.queues[above.index()];
        log::warn!(
            "queue {} is made once the {} applications of queue {} have ended",
            wanted.path,
            queue.jobs,
            queue.config.path
        );
        // What is there keeps its share.
        let before = queue.keeps.then(|| queue.config.clone());
        self.keep(above);
        if let Some(before) = before {
            self.queues[above.index()].config = before;
        }
        self.late.push(wanted.clone());
    }

    /// Makes the configured queues that had to wait for jobs above them. Returns whether it made
    /// any.
    pub(crate) fn make_late(&mut self) -> bool {
        let late = std::mem::take(&mut self.late);
        let before = late.len();
        for wanted in late {
            match self.occupied_above(&wanted.path) {
                Some(_) => self.late.push(wanted),
                None => {
                    self.make(&wanted);
                    let id = self.by_path(&wanted.path).expect("it was just made").id;
                    self.queues[id.index()].state = wanted.admission.state.unwrap_or_default();
                    self.resolve(id);
                }
            }
        }
        self.shares_late |= self.late.len() < before;
        self.late.len() < before
    }

    /// Gives the queues that no configuration names the limit that the queue above has for them.
    fn limit_children(&mut self) {
        for i in 0..self.queues.len() {
            let queue = &self.queues[i];
            if !queue.removed && !queue.keeps && (queue.dynamic || queue.draining) {
                let (id, leaf) = (queue.id, queue.children.is_empty());
                self.queues[i].config = self.unconfigured(&queue.config.path, queue.parent, leaf);
                self.fit(id);
            }
        }
    }

    /// Takes note that the configuration names a queue, or one below it. Then it has no settings of
    /// before.
    fn keep(&mut self, id: QueueId) {
        let mut at = Some(id);
        while let Some(id) = at {
            let queue = &mut self.queues[id.index()];
            queue.draining = false;
            queue.removed_pool = false;
            queue.dynamic = false;
            if std::mem::take(&mut queue.keeps) {
                queue.config = self.defaults.queue(&queue.config.path);
            }
            at = queue.parent;
            self.disown(id);
        }
    }

    /// Checks a configuration against what is there, where a reload goes by the rules of the stock
    /// Capacity Scheduler. Returns the states that queues have after it.
    ///
    /// # Errors
    /// Names the queue that keeps the configuration from being taken over, and what to do.
    pub(crate) fn check_reload(&self, config: &Config) -> Result<States, String> {
        let mut states = States::new();
        if !config.reload_refuses {
            return Ok(states);
        }
        let wanted: BTreeMap<&str, &QueueConfig> = config
            .queues
            .iter()
            .map(|queue| (queue.path.as_str(), queue))
            .collect();
        for (path, queue) in &wanted {
            let state = self.state_after(path, queue.admission.state, &states)?;
            states.insert(path.to_string(), state);
        }
        self.check_gone(&wanted)?;
        self.check_leaves(&wanted, &states)?;
        Ok(states)
    }

    /// The queues of the configuration in force, root left out.
    fn configured(&self) -> impl Iterator<Item = &Queue> {
        let known = self.iter().filter(|queue| queue.parent.is_some());
        known.filter(|queue| !queue.dynamic && !queue.draining)
    }

    /// Checks that only stopped queues leave.
    fn check_gone(&self, wanted: &BTreeMap<&str, &QueueConfig>) -> Result<(), String> {
        let gone = || {
            self.configured().filter(|queue| {
                let named = wanted.contains_key(queue.config.path.as_str());
                !named && self.state(queue.id) != State::Stopped
            })
        };
        let busy = gone().find(|queue| queue.is_leaf() && queue.jobs > 0);
        match busy.or_else(|| gone().next()) {
            Some(queue) => Err(self.in_use(queue, "left the file")),
            None => Ok(()),
        }
    }

    /// Checks that only empty, stopped leaves become parents, and that the others keep their
    /// largest containers.
    fn check_leaves(
        &self,
        wanted: &BTreeMap<&str, &QueueConfig>,
        states: &States,
    ) -> Result<(), String> {
        let parents: BTreeSet<&str> = wanted.keys().filter_map(|path| above(path)).collect();
        for queue in self.configured().filter(|queue| queue.is_leaf()) {
            let path = queue.config.path.as_str();
            let Some(next) = wanted.get(path) else {
                continue;
            };
            let grows = next.parent || next.admission.dynamic_depth > 0;
            if !grows && !parents.contains(path) {
                self.check_largest(queue, wanted)?;
                continue;
            }
            let stops = states.get(path) == Some(&State::Stopped);
            if queue.jobs > 0 || !stops && self.state(queue.id) != State::Stopped {
                return Err(self.in_use(queue, "became a parent"));
            }
        }
        Ok(())
    }

    fn in_use(&self, queue: &Queue, what: &str) -> String {
        let (path, jobs) = (&queue.config.path, queue.jobs);
        let state = self.state(queue.id).name();
        format!(
            "queue {path} {what} while it is {state}, with {jobs} applications; first write the \
             state STOPPED for it and reload, then change it once `yarn queue -status` says \
             STOPPED"
        )
    }

    /// The state of a configured queue after a reload: one that is stopped runs again if its state
    /// is written. A queue that is new is as it is written, or as the queue above.
    fn state_after(
        &self,
        path: &str,
        written: Option<State>,
        states: &States,
    ) -> Result<State, String> {
        let above = above(path).map(|above| (above, states.get(above).copied()));
        let (above, runs) = match above {
            Some((above, Some(state))) => (above, state == State::Running),
            _ => ("", true),
        };
        let before = self.by_path(path).filter(|queue| !queue.draining);
        Ok(match (written, before) {
            (Some(State::Running), Some(_)) if !runs => {
                return Err(format!(
                    "queue {path} is RUNNING below queue {above}, which is STOPPED until the \
                     state RUNNING is written for it; write that, or stop {path}, too"
                ));
            }
            (Some(state), _) => state,
            (None, _) if !runs => State::Stopped,
            (None, Some(queue)) if self.state(queue.id) != State::Running => State::Stopped,
            (None, _) => State::Running,
        })
    }

    /// Checks that the largest container of a leaf does not become smaller: applications have been
    /// told it, and most end at the first ask that is refused.
    fn check_largest(
        &self,
        queue: &Queue,
        wanted: &BTreeMap<&str, &QueueConfig>,
    ) -> Result<(), String> {
        let path = queue.config.path.as_str();
        let after = std::iter::successors(Some(path), |path| above(path))
            .find_map(|path| wanted.get(path)?.max_container)
            .unwrap_or(Resource::UNBOUNDED);
        let before = self.max_container(queue.id).unwrap_or(Resource::UNBOUNDED);
        match before.fits_in(&after) {
            true => Ok(()),
            false => Err(format!(
                "queue {path}: its largest container (maximum-allocation-mb, \
                 maximum-allocation-vcores, maximum-allocation) becomes smaller; applications have \
                 been told the larger one, so write it as it was, or restart the ResourceManager"
            )),
        }
    }
}

fn above(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(above, _)| above)
}
