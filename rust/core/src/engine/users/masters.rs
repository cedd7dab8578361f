//! Starts the ApplicationMasters of leaves that limit users, in a line, as YARN's Capacity
//! Scheduler does (`AbstractLeafQueue.activateApplications`). When one comes or ends, or the
//! cluster changes, all start for which their leaf and their user have room.
//!
//! The room of a leaf is a part of the most that it could have used at the last look. A look is a
//! grant, a heartbeat of a node with room that gets no container, or a change of the cluster, while
//! the leaf asks for something. So containers that end let no more start before the next look.
//! Where labels have shares there is a line for the nodes of each (DI-26).

use super::{Engine, JobBook, LeafBook, Standing};
use crate::config::Compare;
use crate::engine::at_limit::{Limit, Refused};
use crate::model::job::{Ask, Job};
use crate::model::user_limit::Terms;
use crate::words::ids::{JobId, PartitionId, QueueId, UserId};
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of a line of ApplicationMasters.
#[derive(Debug, Default)]
pub(in crate::engine) struct TurnOut {
    /// The jobs whose masters have room, in order.
    pub(in crate::engine) starts: Vec<JobId>,
    /// The first that each limit refuses.
    pub(in crate::engine) refused: Vec<Refused>,
}

/// A limit of ApplicationMasters on the way along a line.
#[derive(Clone, Copy, Debug)]
struct Bound {
    limit: Resource,
    used: Resource,
    /// What is kept for the first that it refuses.
    kept: Resource,
    /// Whether it has refused one.
    refuses: bool,
}

impl Bound {
    fn new(limit: Resource, used: Resource) -> Bound {
        Bound {
            limit,
            used,
            kept: Resource::ZERO,
            refuses: false,
        }
    }

    fn admits(&self, terms: &Terms, size: &Resource) -> bool {
        terms.fits(&(self.used + self.kept + *size), &self.limit)
    }

    /// Notes that it refuses an ApplicationMaster. Returns it if it is the first that could ever
    /// have room.
    fn refuse(
        &mut self,
        terms: &Terms,
        user: Option<UserId>,
        (job, size): (JobId, Resource),
    ) -> Option<Refused> {
        if self.refuses || !terms.fits(&size, &self.limit) {
            return None;
        }
        self.refuses = true;
        let free = self.limit - self.used;
        Some(Refused {
            user,
            job,
            size,
            free: if terms.dominant {
                free
            } else {
                free.in_memory_alone()
            },
        })
    }
}

impl Engine {
    /// Starts what may start: first of the masters that waited, then of those that came, one
    /// after another.
    pub(super) fn start_masters(&mut self) {
        while let Some(leaf) = self.users.turns.pop_first() {
            self.start_in(leaf);
        }
        for id in std::mem::take(&mut self.users.coming) {
            let Some(book) = self.users.jobs.get(&id) else {
                continue;
            };
            if book.standing == Standing::Coming {
                let leaf = book.leaf;
                self.stand(id, Standing::Waiting);
                self.start_in(leaf);
                self.note_new_asks(id, None);
            }
        }
    }

    /// The label of the nodes that a job's master is for: of that where it runs, else as asked.
    pub(super) fn label_of_master(
        &self,
        job: &Job,
        request: Option<&Ask>,
        before: Option<&JobBook>,
    ) -> PartitionId {
        if !self.partitioned {
            return PartitionId::DEFAULT;
        }
        let mut containers = job.containers.values();
        let running = containers.find(|container| container.am);
        let label = running.map(|master| master.partition);
        let label = label.or(request.map(|ask| ask.facts.partition));
        let label = label.or(before.map(|before| before.label));
        label.unwrap_or(PartitionId::DEFAULT)
    }

    /// Starts the masters of a leaf that have room now.
    pub(in crate::engine) fn start_in(&mut self, leaf: QueueId) {
        let Some(book) = self.users.leaves.get(&leaf) else {
            return;
        };
        let labels: BTreeSet<PartitionId> = book.line.keys().map(|place| place.0).collect();
        for label in labels {
            let starts = self.turn_out(leaf, label).starts;
            self.note_starts((leaf, label), &starts);
            for id in starts {
                self.stand(id, Standing::Started);
            }
        }
    }

    /// The leaves in which masters wait in a line, each with the label of the nodes.
    pub(in crate::engine) fn lines_of_masters(&self) -> Vec<(QueueId, PartitionId)> {
        let labels = self.users.leaves.iter().flat_map(|(leaf, book)| {
            let labels: BTreeSet<PartitionId> = book.line.keys().map(|place| place.0).collect();
            labels.into_iter().map(|label| (*leaf, label))
        });
        labels.collect()
    }

    /// Whether masters wait in a line, of any user or of one.
    pub(in crate::engine) fn waits_in_line(
        &self,
        (leaf, label): (QueueId, PartitionId),
        user: Option<UserId>,
    ) -> bool {
        let book = &self.users.leaves[&leaf];
        match user {
            Some(user) => book.users.get(&user).is_some_and(|user| user.waiting > 0),
            None => book.line.keys().any(|place| place.0 == label),
        }
    }

    /// What the limit of a leaf, or of one of its users, keeps from a job's ApplicationMaster.
    pub(super) fn kept_in_line(
        &self,
        (leaf, label): (QueueId, PartitionId),
        user: Option<UserId>,
        job: JobId,
    ) -> Resource {
        if !self.limit_keeps(Limit::Line(label, leaf, user)) {
            return Resource::ZERO;
        }
        let refused = self.turn_out(leaf, label).refused;
        let next = refused.iter().find(|refused| refused.user == user);
        let next = next.filter(|next| next.job != job);
        next.map_or(Resource::ZERO, |next| next.size)
    }

    /// What becomes of the line of a leaf on the nodes of a label.
    pub(in crate::engine) fn turn_out(&self, leaf: QueueId, label: PartitionId) -> TurnOut {
        let mut out = TurnOut::default();
        let Some(terms) = self.terms_of(leaf, label) else {
            return out;
        };
        let book = &self.users.leaves[&leaf];
        let asking = book.users_that_count();
        let keeps = |user| self.limit_keeps(Limit::Line(label, leaf, user));
        let most = self.masters_of_leaf((leaf, label), &terms, None);
        let mut all = Bound::new(most, book.masters.on(label));
        let mut started = book.started;
        let mut of_users: BTreeMap<UserId, Bound> = BTreeMap::new();
        let line = book.line.range((label, (None, JobId(0)))..);
        for ((_, turn), (user, size)) in line.take_while(|((at, _), _)| *at == label) {
            let free = started == 0 || terms.fits(&all.used, &Resource::ZERO);
            if all.refuses && !free && !all.admits(&terms, &terms.step) {
                // Not even the smallest has room.
                break;
            }
            let own = of_users.entry(*user).or_insert_with(|| {
                let limit = self.masters_of(&terms, (leaf, label), (asking, *user), (None, most));
                Bound::new(limit, book.users[user].masters.on(label))
            });
            if free || own.admits(&terms, size) && all.admits(&terms, size) {
                all.used += *size;
                own.used += *size;
                started += 1;
                out.starts.push(turn.1);
                continue;
            }
            let (bound, of) = match own.admits(&terms, size) {
                true => (&mut all, None),
                false => (own, Some(*user)),
            };
            out.refused
                .extend(bound.refuse(&terms, of, (turn.1, *size)));
            if out
                .refused
                .last()
                .is_some_and(|refused| refused.job == turn.1)
                && keeps(of)
            {
                bound.kept = *size;
            }
        }
        out
    }

    /// Moves a job on its way to its master.
    fn stand(&mut self, id: JobId, standing: Standing) {
        let Some(mut book) = self.users.jobs.get(&id).cloned() else {
            return;
        };
        self.users.count(id, &book, false);
        book.standing = standing;
        self.users.count(id, &book, true);
        let over = self.users.leaves[&book.leaf].users[&book.user].over.clone();
        let held = book.is_held();
        self.users.jobs.insert(id, book);
        self.hold_job(id, &over, held);
    }

    /// Lets a job with a new kind of ask make its user active, if any master of the user has
    /// started.
    pub(super) fn note_new_asks(&mut self, id: JobId, before: Option<&JobBook>) {
        let Some(mut book) = self.users.jobs.get(&id).cloned() else {
            return;
        };
        let asked = before
            .filter(|before| before.leaf == book.leaf)
            .map_or([false; 2], |before| before.asks);
        let new = (0..2).any(|i| book.asks[i] && !asked[i]);
        let user = &self.users.leaves[&book.leaf].users[&book.user];
        if book.active || !new || user.started == 0 {
            return;
        }
        self.users.count(id, &book, false);
        book.active = true;
        self.users.count(id, &book, true);
        self.users.jobs.insert(id, book);
    }

    /// The most that the masters of a leaf may use on the nodes of a label, with its share for
    /// them or another one. With a label this is a part of the guarantee, whatever else the leaf
    /// could use (`AbstractLeafQueue.calculateAndGetAMResourceLimitPerPartition`).
    pub(super) fn masters_of_leaf(
        &self,
        (leaf, label): (QueueId, PartitionId),
        terms: &Terms,
        share: Option<f64>,
    ) -> Resource {
        let label = self.tree_label(label);
        let node = self.tree_of(label).node(self.leaf_of(leaf));
        let share = share.unwrap_or(node.max_am_share);
        if share < 0.0 || !node.masters_in_line {
            return Resource::UNBOUNDED;
        }
        let room = match label {
            PartitionId::DEFAULT => self.last_room(leaf, terms),
            _ => terms.guaranteed,
        };
        terms.of_all_masters(share, &room)
    }

    /// The most that a leaf could have used at the last look.
    fn last_room(&self, leaf: QueueId, terms: &Terms) -> Resource {
        let book = self.users.leaves.get(&leaf);
        match book.is_some_and(|book| book.looked) {
            true => self.could_use(leaf, terms),
            false => self.tree.node(self.leaf_of(leaf)).recorded,
        }
    }

    /// The headroom of a job in a leaf that limits its users, as `AbstractLeafQueue.getHeadroom`
    /// has it: what is left to the user and to the leaf on the nodes of a label, or all that is
    /// `free` there if that is less memory. Where only memory counts, of the other types the least.
    pub(in crate::engine) fn headroom_of_user(
        &self,
        job: &Job,
        label: PartitionId,
        free: impl FnOnce() -> Resource,
    ) -> Option<Resource> {
        let leaf = job.facts.queue;
        let node = self.tree.node(job.leaf);
        let terms = self
            .terms_of(leaf, label)
            .filter(|_| node.masters_in_line)?;
        let book = self.users.leaves.get(&leaf)?;
        let user = book.users.get(&job.facts.user)?;
        let weight = self.cluster.queues.weight_of(leaf, job.facts.user);
        let label = self.tree_label(label);
        let limit = terms.of_user(&self.limit_on(leaf, label, &terms), weight);
        let of_user = limit.minus_or_zero(&user.used.on(label));
        let of_leaf = match label {
            PartitionId::DEFAULT => self.last_room(leaf, &terms).minus_or_zero(&node.used),
            label => {
                let node = self.tree_of(label).node(job.leaf);
                terms.maximum.minus_or_zero(&node.used)
            }
        };
        let mut room = terms.down_to_step(&of_user.component_min(&of_leaf));
        if self.setup.config.memory_only {
            room = room.in_memory_alone();
        } else if !terms.dominant {
            room = Resource::new(room[0], i64::from(room[0] > 0));
        }
        let free = free();
        // Never more than there is, whatever type decides which of the two is smaller.
        Some(terms.smaller(free, room).component_min(&free))
    }

    /// The most that the masters of a user may use in a leaf on the nodes of a label, with its
    /// share for them or another one and what all masters may use then. `users` are how many ask
    /// for something, and this one.
    pub(super) fn masters_of(
        &self,
        terms: &Terms,
        (leaf, label): (QueueId, PartitionId),
        users: (u32, UserId),
        (share, all): (Option<f64>, Resource),
    ) -> Resource {
        let weight = self.cluster.queues.weight_of(leaf, users.1);
        let node = self.tree_of(label).node(self.leaf_of(leaf));
        let share = share.unwrap_or(node.max_am_share);
        match share < 0.0 {
            true => Resource::UNBOUNDED,
            false => terms.smaller(terms.of_masters(share, users.0, weight), all),
        }
    }

    /// The most that a leaf could have used at the last look: what the queues above leave it.
    fn could_use(&self, leaf: QueueId, terms: &Terms) -> Resource {
        let path: Vec<_> = self.tree.path_up(self.leaf_of(leaf)).collect();
        let (mut limit, mut most) = (terms.cluster, terms.cluster);
        for (i, at) in path.iter().enumerate().rev() {
            let node = self.tree.node(*at);
            most = most.component_min(&node.max_share);
            limit = match i.checked_sub(1) {
                Some(below) => {
                    let child = self.tree.node(path[below]);
                    let left = terms.smaller(limit, most) - *node.passed();
                    terms.down_to_step(&(left + *child.passed()))
                }
                None => terms.smaller(terms.down_to_step(&most), limit),
            };
        }
        limit
    }

    /// Notes whether a leaf is looked at, and what it could use when that ends.
    pub(super) fn note_looked(&mut self, leaf: QueueId, terms: &Terms, book: &mut LeafBook) {
        let looked = book.started > 0 && book.asking > 0;
        if book.looked && !looked {
            let room = self.could_use(leaf, terms);
            let at = self.leaf_of(leaf);
            self.tree.node_mut(at).recorded = room;
        }
        book.looked = looked;
    }

    /// Notes what all leaves could use below the parents that `wanted` names: the cluster or the
    /// queues have changed. Waiting masters there may start.
    pub(super) fn record_all(&mut self, wanted: impl Fn(QueueId) -> bool) {
        self.tree.pass();
        let leaves = self
            .cluster
            .queues
            .iter()
            .filter(|queue| queue.is_for_jobs() && queue.parent.is_some_and(&wanted));
        let leaves: Vec<QueueId> = leaves.map(|queue| queue.id).collect();
        for leaf in leaves {
            let at = self.leaf_of(leaf);
            if self.tree.node(at).compared_by != Some(Compare::Capacity) {
                continue;
            }
            if let Some(terms) = self.terms_of(leaf, PartitionId::DEFAULT) {
                let room = self.could_use(leaf, &terms);
                self.tree.node_mut(at).recorded = room;
                self.users.turns.insert(leaf);
            }
        }
    }
}
