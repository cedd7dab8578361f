//! Holds users to their part of a leaf: takes the asks of a user above the limit out of the
//! backlog, and puts them back when the user's usage falls or the limit grows. Works out a limit
//! when something that it depends on has changed, before the next search. `masters.rs` starts
//! ApplicationMasters.

mod check;
mod masters;
mod report;

use super::Engine;
use crate::config::Compare;
use crate::model::by_label::{ByLabel, Over};
use crate::model::cluster::Turn;
use crate::model::job::Job;
use crate::model::queue::Queue;
use crate::model::user_limit::{Terms, Usage};
use crate::stage::division;
use crate::words::ids::{JobId, PartitionId, QueueId, UserId};
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;

/// The books of leaves that limit users. Empty without such a leaf.
#[derive(Debug, Default)]
pub(super) struct UserBooks {
    leaves: BTreeMap<QueueId, LeafBook>,
    /// Every job as it is counted in a leaf.
    jobs: BTreeMap<JobId, JobBook>,
    /// Jobs that may differ from how they are counted.
    touched: Vec<JobId>,
    /// Jobs that have come and do not stand in the line of their leaf yet.
    coming: Vec<JobId>,
    /// Leaves in which waiting ApplicationMasters may start now.
    turns: BTreeSet<QueueId>,
    /// Leaves whose limit may have changed.
    stale: BTreeSet<QueueId>,
    /// The capacity that limits were last worked out for, by label.
    capacity: BTreeMap<PartitionId, Resource>,
    /// Queues below which others came or went since.
    grown: BTreeSet<QueueId>,
    /// Whether any queue limits its users.
    limited: bool,
    /// Whether asks came back into the backlog since this was last taken.
    released: bool,
    /// The jobs with asks that are held; some may be gone.
    held: BTreeSet<JobId>,
}

/// The users of one leaf.
#[derive(Debug, Default)]
struct LeafBook {
    users: BTreeMap<UserId, UserBook>,
    /// The limit of a user of weight 1 on nodes without a label, as last worked out.
    limit: Resource,
    /// The jobs whose ApplicationMasters wait: a line for the nodes of each label.
    line: BTreeMap<(PartitionId, Turn), (UserId, Resource)>,
    /// The resources of the ApplicationMasters that have started.
    masters: ByLabel,
    /// How many have.
    started: u32,
    /// How many jobs ask for something, whether that makes their user active or not. One that
    /// comes counts when it stands in the line.
    asking: u32,
    /// Whether nodes look at the leaf: one of its ApplicationMasters has started, and it asks for
    /// more.
    looked: bool,
    /// How many users had nothing but waiting ApplicationMasters when the limit was worked out.
    only_waiting: u32,
}

impl LeafBook {
    /// How many users count where a limit divides by users.
    fn users_that_count(&self) -> u32 {
        let active = self.users.values().filter(|user| user.active > 0).count();
        active as u32 + self.only_waiting
    }
}

/// One user in one leaf.
#[derive(Clone, Debug, Default, PartialEq)]
struct UserBook {
    /// The resources of the user's jobs.
    used: ByLabel,
    /// Those of their ApplicationMasters that have started.
    masters: ByLabel,
    /// How many jobs ask for something.
    active: u32,
    /// Where the user is above the limit.
    over: Over,
    jobs: BTreeSet<JobId>,
    /// How many of the jobs have started their ApplicationMaster.
    started: u32,
    /// How many wait for that.
    waiting: u32,
}

/// One job as it is counted.
#[derive(Clone, Debug, PartialEq)]
struct JobBook {
    leaf: QueueId,
    user: UserId,
    used: ByLabel,
    /// The size of its ApplicationMaster.
    master: Resource,
    /// The label of the nodes that this is for; the default where labels have no shares.
    label: PartitionId,
    standing: Standing,
    turn: Turn,
    /// Whether it asks for its ApplicationMaster, and for anything else.
    asks: [bool; 2],
    /// Whether it makes its user active.
    active: bool,
    /// Whether it asks for anything, even if it may not run yet.
    wants: bool,
}

/// How far a job is on the way to its ApplicationMaster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It has not asked yet.
    Silent,
    /// It has asked, and does not stand in the line yet.
    Coming,
    Waiting,
    /// The ApplicationMaster may start, or has.
    Started,
}

impl JobBook {
    /// Whether the ApplicationMaster may not start.
    fn is_held(&self) -> bool {
        matches!(self.standing, Standing::Coming | Standing::Waiting)
    }
}

impl UserBooks {
    /// Notes that usage or asks of a job may have changed.
    pub(super) fn touch(&mut self, job: JobId) {
        if self.limited {
            self.touched.push(job);
        }
    }

    /// Notes that a queue limits its users. It has no jobs yet.
    pub(super) fn limit(&mut self) {
        self.limited = true;
    }

    /// Notes that queues came or went below one.
    pub(super) fn queues_changed(&mut self, below: QueueId) {
        if self.limited {
            self.grown.insert(below);
        }
    }

    /// Notes that a job begins again with another ApplicationMaster.
    pub(super) fn restart(&mut self, id: JobId) {
        if let Some(before) = self.jobs.remove(&id) {
            self.count(id, &before, false);
            self.turns.insert(before.leaf);
        }
        self.touch(id);
    }

    /// Whether any queue limits its users.
    pub(super) fn are_limited(&self) -> bool {
        self.limited
    }

    pub(super) fn is_settled(&self) -> bool {
        self.touched.is_empty() && self.stale.is_empty() && self.grown.is_empty()
    }

    /// Whether asks came back since the last call.
    pub(super) fn take_released(&mut self) -> bool {
        std::mem::take(&mut self.released)
    }

    /// Counts a job out of its leaf, or into it. A user without jobs stays until the limit is
    /// worked out: the last job may only have changed.
    fn count(&mut self, id: JobId, job: &JobBook, added: bool) {
        self.stale.insert(job.leaf);
        let leaf = self.leaves.entry(job.leaf).or_default();
        let user = leaf.users.entry(job.user).or_default();
        let sign = |amount: Resource| match added {
            true => amount,
            false => Resource::ZERO - amount,
        };
        let step = |count: &mut u32, counts: bool| match added {
            true => *count += u32::from(counts),
            false => *count -= u32::from(counts),
        };
        user.used.add_all(&job.used, added);
        step(&mut user.active, job.active);
        let asks = job.wants && job.standing != Standing::Coming;
        step(&mut leaf.asking, asks);
        let (started, waits) = (
            job.standing == Standing::Started,
            job.standing == Standing::Waiting,
        );
        step(&mut user.started, started);
        step(&mut user.waiting, waits);
        step(&mut leaf.started, started);
        if started {
            user.masters.add(job.label, sign(job.master));
            leaf.masters.add(job.label, sign(job.master));
        }
        if added {
            user.jobs.insert(id);
        } else {
            user.jobs.remove(&id);
        }
        let place = (job.label, job.turn);
        match (waits, added) {
            (true, true) => drop(leaf.line.insert(place, (job.user, job.master))),
            (true, false) => drop(leaf.line.remove(&place)),
            _ => {}
        }
    }
}

impl Engine {
    /// Empties the books and marks all jobs to be counted. No ask may be in the backlog.
    pub(super) fn restart_users(&mut self) {
        let limits = |queue: &Queue| queue.config.admission.user_limit.is_some();
        let limited = self.cluster.queues.iter().any(limits);
        let jobs: Vec<JobId> = self.cluster.jobs().map(|job| job.facts.job).collect();
        for id in &jobs {
            let job = self.cluster.job_mut(*id).expect("the ids were just listed");
            (job.over, job.master_held) = (Over::default(), false);
        }
        self.tree.keeps_passed = limited;
        self.users = UserBooks {
            limited,
            touched: if limited { jobs } else { Vec::new() },
            ..UserBooks::default()
        };
    }

    /// Works out late limits, and holds or releases what they say.
    pub(super) fn settle_users(&mut self) {
        if !self.users.limited {
            return;
        }
        let all = !self.knows_capacity();
        if all {
            let labels = once(PartitionId::DEFAULT).chain(self.partitions.keys().copied());
            let capacity = labels.map(|label| (label, self.capacity_of(label)));
            self.users.capacity = capacity.collect();
            self.follow_capacity();
        } else if self.users.is_settled() {
            return;
        }
        let mut touched = std::mem::take(&mut self.users.touched);
        touched.sort_unstable();
        touched.dedup();
        for id in touched.drain(..) {
            self.rebook(id);
        }
        self.users.touched = touched;
        let grown = std::mem::take(&mut self.users.grown);
        if all || !grown.is_empty() {
            let capacity = self.capacity_of(PartitionId::DEFAULT);
            division::guarantee(&mut self.tree, &capacity);
            for tree in self.partitions.values_mut() {
                let capacity = tree.capacity;
                division::guarantee(tree, &capacity);
            }
            self.record_all(|parent| all || grown.contains(&parent));
            let leaves = self.users.leaves.keys().copied();
            self.users.stale.extend(leaves);
        }
        // Where masters stand in no line, they start as soon as there is room.
        let leaves = self.users.stale.iter().copied();
        let at_once = leaves.filter(|leaf| {
            let leaf = self.tree.node(self.leaf_of(*leaf));
            !leaf.masters_in_line
        });
        let at_once: Vec<QueueId> = at_once.collect();
        self.users.turns.extend(at_once);
        self.start_masters();
        while let Some(leaf) = self.users.stale.pop_first() {
            self.limit_users(leaf);
        }
        if self.users.released {
            // Released asks may have waited for their data long enough.
            self.fire_timers();
        }
    }

    /// Counts a job as it is now.
    fn rebook(&mut self, id: JobId) {
        let before = self.users.jobs.get(&id).cloned();
        let job = self.cluster.job(id);
        let now = job.and_then(|job| self.book_of(job, before.as_ref()));
        // One that left the books by a new attempt, and then its leaf, may still be held.
        let is_held = |job: &Job| job.over.anywhere() || job.master_held;
        if now == before && (now.is_some() || !job.is_some_and(is_held)) {
            return;
        }
        if let Some(before) = &before {
            self.users.jobs.remove(&id);
            self.users.count(id, before, false);
            if now.as_ref().is_none_or(|now| now.leaf != before.leaf) {
                self.users.turns.insert(before.leaf);
            }
        }
        if let Some(now) = now {
            self.users.count(id, &now, true);
            let comes = now.standing == Standing::Coming;
            self.users.jobs.insert(id, now);
            if comes {
                self.users.coming.push(id);
            } else {
                self.note_new_asks(id, before.as_ref());
            }
        }
        let Some(now) = self.users.jobs.get(&id) else {
            return self.hold_job(id, &Over::default(), false);
        };
        let over = self.users.leaves[&now.leaf].users[&now.user].over.clone();
        let held = now.is_held();
        self.hold_job(id, &over, held);
    }

    /// A job as it counts in its leaf; none if that limits no users. `before` is how it counted.
    fn book_of(&self, job: &Job, before: Option<&JobBook>) -> Option<JobBook> {
        let queue = self.cluster.queues.get(job.facts.queue)?;
        queue.config.admission.user_limit?;
        let before = before.filter(|before| before.leaf == queue.id);
        let mut masters = job.pending().filter(|ask| ask.facts.am && job.runnable);
        let request = masters.next();
        let asked = request.map(|ask| ask.facts.resource);
        let tasks = job.runnable && job.pending().any(|ask| !ask.facts.am);
        let asks = [asked.is_some(), tasks];
        let unmanaged = job
            .facts
            .unmanaged_am
            .then_some(self.setup.minimum_allocation);
        let known = before.filter(|before| before.standing != Standing::Silent);
        let standing = match known {
            Some(before) => before.standing,
            None if job.running_containers() > 0 => Standing::Started,
            None if job.runnable && (asked.is_some() || unmanaged.is_some()) => Standing::Coming,
            // Its master is beyond the books.
            None if tasks => Standing::Started,
            None => Standing::Silent,
        };
        let running = Some(job.masters_used).filter(|used| !used.is_zero());
        let master = known.map(|before| before.master);
        let master = master.or(asked).or(running).or(unmanaged);
        Some(JobBook {
            leaf: queue.id,
            user: job.facts.user,
            used: job.labelled_used.out_of(&job.used),
            master: master.unwrap_or(Resource::ZERO),
            label: self.label_of_master(job, request, known),
            standing,
            turn: self.cluster.turn(job.facts.job),
            asks,
            active: before.is_some_and(|before| before.active) && asks != [false; 2],
            wants: job.pending().next().is_some(),
        })
    }

    /// Whether limits were last worked out for the nodes that there are.
    fn knows_capacity(&self) -> bool {
        let known = |label| self.users.capacity.get(&label) == Some(&self.capacity_of(label));
        known(PartitionId::DEFAULT) && self.partitions.keys().all(|label| known(*label))
    }

    /// The fixed side of a leaf's limit on the nodes of a label.
    fn terms_of(&self, leaf: QueueId, label: PartitionId) -> Option<Terms> {
        if !self.users.limited {
            return None;
        }
        let queues = &self.cluster.queues;
        let queue = queues.get(leaf)?;
        let label = self.tree_label(label);
        let (tree, at) = (self.tree_of(label), self.leaf_of(leaf));
        let node = tree.node(at);
        let capacity = self.capacity_of(label);
        let plain = label == PartitionId::DEFAULT;
        Some(Terms {
            rule: queue.config.admission.user_limit?,
            cluster: capacity,
            step: self.setup.minimum_allocation,
            guaranteed: match node.compared_by {
                Some(Compare::Capacity) => node.guaranteed,
                _ if plain => queue.min_share,
                _ => node.min_share,
            },
            maximum: match plain {
                true => queues
                    .path_up(leaf)
                    .fold(capacity, |most, at| most.component_min(&at.max_share)),
                false => tree.path_up(at).fold(capacity, |most, at| {
                    most.component_min(&tree.node(at).max_share)
                }),
            },
            dominant: self.setup.config.dominant,
        })
    }

    /// The limit of a user of weight 1 on the nodes of a label. Few labels matter to a leaf, so
    /// only that of nodes without one is kept.
    fn limit_on(&self, leaf: QueueId, label: PartitionId, terms: &Terms) -> Resource {
        let book = &self.users.leaves[&leaf];
        match self.tree_label(label) {
            PartitionId::DEFAULT => book.limit,
            label => terms.limit(&self.usage_of((leaf, label), terms, book)),
        }
    }

    /// The usage of a leaf's users on the nodes of a label.
    fn usage_of(
        &self,
        (leaf, label): (QueueId, PartitionId),
        terms: &Terms,
        book: &LeafBook,
    ) -> Usage {
        let mut usage = Usage::default();
        for (id, user) in &book.users {
            let used = user.used.on(label);
            usage.shares += terms.share(&used);
            if user.active > 0 {
                usage.active += used;
                usage.weight += f64::from(self.cluster.queues.weight_of(leaf, *id));
            }
        }
        usage
    }

    /// Works out the limit of a leaf, and holds or releases its users.
    fn limit_users(&mut self, leaf: QueueId) {
        let Some(mut book) = self.users.leaves.remove(&leaf) else {
            return;
        };
        book.users.retain(|_, user| !user.jobs.is_empty());
        let plain = self.terms_of(leaf, PartitionId::DEFAULT);
        let Some(terms) = plain.filter(|_| !book.users.is_empty()) else {
            return;
        };
        self.note_looked(leaf, &terms, &mut book);
        book.limit = terms.limit(&self.usage_of((leaf, PartitionId::DEFAULT), &terms, &book));
        let only_waits = |user: &&UserBook| user.waiting > 0 && user.started == 0;
        book.only_waiting = book.users.values().filter(only_waits).count() as u32;
        let limits = self.limits_of(leaf, &terms, &book);
        let mut changes: Vec<(JobId, Over)> = Vec::new();
        for (id, user) in &mut book.users {
            let over = self.over_of((leaf, *id), user, &limits);
            if over != user.over {
                changes.extend(user.jobs.iter().map(|job| (*job, over.clone())));
                user.over = over;
            }
        }
        self.users.leaves.insert(leaf, book);
        for (id, over) in changes {
            let held = self.cluster.job(id).is_some_and(|job| job.master_held);
            self.hold_job(id, &over, held);
        }
    }

    /// The limits of a leaf on all nodes where a user has something; that on nodes without a label
    /// first, as the book has it.
    fn limits_of(
        &self,
        leaf: QueueId,
        plain: &Terms,
        book: &LeafBook,
    ) -> Vec<(PartitionId, Terms, Resource)> {
        let mut limits = vec![(PartitionId::DEFAULT, *plain, book.limit)];
        let used = book.users.values().flat_map(|user| user.used.labels());
        for label in used.collect::<BTreeSet<_>>() {
            if let Some(terms) = self.terms_of(leaf, label) {
                let usage = self.usage_of((leaf, label), &terms, book);
                limits.push((label, terms, terms.limit(&usage)));
            }
        }
        limits
    }

    /// Where a user is above the limits of a leaf.
    fn over_of(
        &self,
        (leaf, id): (QueueId, UserId),
        user: &UserBook,
        limits: &[(PartitionId, Terms, Resource)],
    ) -> Over {
        let weight = self.cluster.queues.weight_of(leaf, id);
        let mut over = Over {
            apart: self.partitioned,
            ..Over::default()
        };
        for (label, terms, limit) in limits {
            if terms.is_over(&user.used.on(*label), &terms.of_user(limit, weight)) {
                match *label {
                    PartitionId::DEFAULT => over.plain = true,
                    label => drop(over.labels.insert(label)),
                }
            }
        }
        over
    }

    /// Holds a job's asks where its user is above the limit, and with `master` that for its
    /// ApplicationMaster. Releases the others.
    fn hold_job(&mut self, id: JobId, over: &Over, master: bool) {
        match over.anywhere() || master {
            true => self.users.held.insert(id),
            false => self.users.held.remove(&id),
        };
        let Some(job) = self.cluster.job_mut(id) else {
            return;
        };
        if job.over == *over && job.master_held == master {
            return;
        }
        self.users.released |= job.over.exceeds(over) || job.master_held && !master;
        (job.over, job.master_held) = (over.clone(), master);
        let leaf = job.leaf;
        self.note_held(leaf);
        for ask in self.ask_ids(id) {
            let job = self.cluster.job(id).expect("it was found above");
            match job.ask(ask) {
                Some(found) if !job.is_due(found) => self.leave(id, ask),
                Some(_) => self.enter(id, ask),
                None => {}
            }
        }
    }

    /// Whether asks of a job are held.
    pub(super) fn holds_users(&self) -> bool {
        let mut held = self.users.held.iter();
        held.any(|id| self.cluster.job(*id).is_some())
    }
}
