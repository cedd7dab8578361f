//! Checks the invariants of the engine's books: recomputes each total from its parts and compares
//! it with the kept one. Linear in everything; for tests, fuzzing and the simulator.

use super::Engine;
use super::partitions::may_be_lent;
use super::promises::Promised;
use crate::backlog::{Entry, List, Spot};
use crate::model::by_label::ByLabel;
use crate::model::cluster::{LabelRoom, Node};
use crate::model::job::{Ask, Container, Standing};
use crate::model::queue::Queue;
use crate::model::share_tree::ShareTree;
use crate::words::ids::{JobId, Locality, NodeId, PartitionId, QueueId, UserId};
use crate::words::keys::{Layout, POOLS, ShapeId, ShareNodeId};
use crate::words::resource::Resource;
use std::collections::{BTreeMap, BTreeSet};

impl Engine {
    /// Checks every invariant.
    ///
    /// # Errors
    /// Describes the first invariant that does not hold, with its figures.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.check_containers()?;
        self.check_trees()?;
        self.check_queues()?;
        self.check_users()?;
        self.check_backlog()?;
        self.check_places()?;
        self.check_classes()?;
        self.check_notes()?;
        self.check_promises()?;
        self.check_roomy()
    }

    /// The promises of each ask are counted.
    fn check_promises(&self) -> Result<(), String> {
        let mut counted = Promised::new();
        for (_, promise) in self.promises() {
            *counted.entry((promise.job, promise.ask)).or_insert(0) += 1;
        }
        same("promises by ask", &self.promised, &counted)
    }

    /// The notes of each job agree with it, or are due to be renewed.
    fn check_notes(&self) -> Result<(), String> {
        let mut there = Vec::new();
        for id in (0..self.cluster.jobs_end()).map(JobId) {
            let job = self.cluster.job(id);
            there.extend(job.map(|job| job.facts.job));
            if !self.cluster.noted().is_right(id, job) {
                return Err(format!("the note of job {} is out of date", id.0));
            }
        }
        same("jobs that are there", &self.cluster.job_ids(), &&there[..])
    }

    /// Every container with its job: the live ones and the grants in flight.
    pub(super) fn all_containers(&self) -> impl Iterator<Item = (JobId, &Container)> {
        let live = self.cluster.jobs().flat_map(|job| {
            job.containers
                .values()
                .map(|container| (job.facts.job, container))
        });
        live.chain(
            self.in_flight
                .iter()
                .map(|grant| (grant.job, &grant.container)),
        )
    }

    /// Offers find every node with room.
    fn check_roomy(&self) -> Result<(), String> {
        let least = &self.setup.minimum_allocation;
        let missed = |node: &&Node| {
            let may_be = node.facts.schedulable && !node.silent;
            may_be && least.fits_in(&node.free) && self.roomy.room(node.facts.node).is_none()
        };
        for label in self.roomy.labels() {
            let counted = self.roomy.counted(label);
            same("sums of room", &self.roomy.sums(label), &counted)?;
        }
        match self.cluster.nodes().find(missed) {
            Some(node) => Err(format!("offers miss the room of {:?}", node.facts.node)),
            None => Ok(()),
        }
    }

    /// Containers on nodes = containers on jobs = containers in all, and no node gives out more
    /// than it has free.
    fn check_containers(&self) -> Result<(), String> {
        let mut by_node: BTreeMap<NodeId, (Resource, u32, [u32; POOLS])> = BTreeMap::new();
        let mut by_job: BTreeMap<JobId, (Resource, u32, [u32; POOLS])> = BTreeMap::new();
        let mut total = Resource::ZERO;
        for (job, container) in self.all_containers() {
            let node = by_node.entry(container.node).or_default();
            node.0 += container.resource;
            node.1 += 1;
            let pool = self.pool_of(job, container);
            let job = by_job.entry(job).or_default();
            if let Some(pool) = pool {
                node.2[pool] += 1;
                job.2[pool] += 1;
            }
            job.0 += container.resource;
            job.1 += 1;
            total += container.resource;
        }
        same("containers of the cluster", &self.cluster.used, &total)?;
        for node in self.cluster.nodes() {
            let id = node.facts.node;
            let sum = by_node.remove(&id).unwrap_or_default();
            same(
                &format!("containers on node {}", id.0),
                &(node.used, node.containers, node.running),
                &sum,
            )?;
            let reported = self.cluster.compared(&node.facts.free);
            if node.free.any_negative() && !reported.any_negative() {
                let what = format!("node {} gave out more than it had: {:?}", id.0, node.free);
                return Err(what);
            }
        }
        same(
            "containers on nodes that are not there",
            &by_node,
            &BTreeMap::new(),
        )?;
        for job in self.cluster.jobs() {
            let id = job.facts.job;
            let sum = by_job.remove(&id).unwrap_or_default();
            let kept = (job.used, job.running_containers(), job.slots);
            same(&format!("containers of job {}", id.0), &kept, &sum)?;
        }
        let live = self.cluster.jobs().flat_map(|job| job.containers.values());
        let tasks = live.filter(|container| !container.am);
        let answered = tasks.fold((Resource::ZERO, 0), |(sum, count), task| {
            (sum + task.resource, count + 1)
        });
        same("containers that are answered", &self.answered(), &answered)?;
        let schedulable = self.cluster.nodes().filter(|node| node.facts.schedulable);
        let whole = schedulable.fold((Resource::ZERO, 0), |(sum, count), node| {
            (sum + node.facts.capacity, count + 1)
        });
        let kept = (self.cluster.capacity, self.cluster.schedulable_count);
        same("capacity of the cluster", &kept, &whole)?;
        let mut rooms: BTreeMap<PartitionId, LabelRoom> = BTreeMap::new();
        for node in self.cluster.nodes().filter(|node| node.facts.schedulable) {
            let room = rooms.entry(node.facts.partition).or_default();
            room.capacity += node.facts.capacity;
            room.used += node.used;
            room.beyond += node.used.minus_or_zero(&node.facts.capacity);
        }
        let kept = self.cluster.label_rooms().iter();
        let kept = kept.filter(|(_, room)| **room != LabelRoom::default());
        let kept: BTreeMap<_, _> = kept.map(|(label, room)| (*label, *room)).collect();
        rooms.retain(|_, room| *room != LabelRoom::default());
        same("rooms by label", &kept, &rooms)
    }

    /// The trees of shares: usage from the leaves up, slots, ApplicationMasters, pending asks, and
    /// the children in order. A container counts in the tree of its node's label, an ask in those
    /// by whose order it may be served.
    fn check_trees(&self) -> Result<(), String> {
        for (_, container) in self.all_containers() {
            let node = self.cluster.node(container.node);
            let label = node.map(|node| node.facts.partition);
            same("label of a container", &Some(container.partition), &label)?;
        }
        let mut by_label: BTreeMap<JobId, ByLabel> = BTreeMap::new();
        for (job, container) in self.all_containers() {
            if self.partitions.contains_key(&container.partition) {
                let used = by_label.entry(job).or_default();
                used.add(container.partition, container.resource);
            }
        }
        for job in self.cluster.jobs() {
            let used = by_label.remove(&job.facts.job).unwrap_or_default();
            same("usage of a job by label", &job.labelled_used, &used)?;
        }
        let known = |label: PartitionId| self.partitions.contains_key(&label);
        let own = |label| {
            if known(label) {
                label
            } else {
                PartitionId::DEFAULT
            }
        };
        self.check_tree(&self.tree, |label, _| own(label) == PartitionId::DEFAULT)?;
        for (partition, tree) in &self.partitions {
            let here = |label, am| own(label) == *partition || may_be_lent(label, am);
            self.check_tree(tree, here)?;
        }
        Ok(())
    }

    fn check_tree(
        &self,
        tree: &ShareTree,
        serves: impl Fn(PartitionId, bool) -> bool,
    ) -> Result<(), String> {
        let mut used = vec![Resource::ZERO; tree.len()];
        let mut masters = vec![(Resource::ZERO, 0, Resource::ZERO); tree.len()];
        let mut slots = vec![[0; POOLS]; tree.len()];
        let mine = |container: &Container| std::ptr::eq(self.tree_of(container.partition), tree);
        for (job, container) in self.all_containers().filter(|(_, it)| mine(it)) {
            let leaf = self
                .cluster
                .job(job)
                .expect("containers belong to jobs")
                .leaf;
            for at in tree.path_up(leaf) {
                used[at.index()] += container.resource;
                if let Some(pool) = self.pool_of(job, container) {
                    slots[at.index()][pool] += 1;
                }
                if container.am {
                    masters[at.index()].0 += container.resource;
                    masters[at.index()].1 += 1;
                }
            }
            if container.lent {
                masters[leaf.index()].2 += container.resource;
            }
        }
        let mut pending = vec![0; tree.len()];
        for job in self.cluster.jobs() {
            same("pending tasks", &job.counts_are_right(), &true)?;
            let asks = job.asks.iter().flatten();
            let here = |ask: &Ask| serves(ask.facts.partition, ask.facts.am);
            let standing = asks.filter(|ask| ask.standing != Standing::Out && here(ask));
            let standing = standing.count() as u32;
            for at in tree.path_up(job.leaf) {
                pending[at.index()] += standing;
            }
        }
        for id in tree.ids() {
            let (node, i) = (tree.node(id), id.index());
            same(&format!("usage of share {i}"), &node.used, &used[i])?;
            same(&format!("slots of share {i}"), &node.running, &slots[i])?;
            same(
                &format!("masters and lent room of share {i}"),
                &(node.am_used, node.ams, node.lent),
                &masters[i],
            )?;
            same(
                &format!("asks of share {i}"),
                &node.pending_asks,
                &pending[i],
            )?;
            let listed: BTreeSet<ShareNodeId> = node.in_order().collect();
            let wanting: BTreeSet<ShareNodeId> = node
                .children
                .iter()
                .copied()
                .filter(|c| pending[c.index()] > 0)
                .collect();
            same(
                &format!("children in order of share {i}"),
                &listed,
                &wanting,
            )?;
        }
        Ok(())
    }

    fn check_queues(&self) -> Result<(), String> {
        let mut waiting = 0;
        for job in self.cluster.jobs() {
            if self.cluster.queues.get(job.facts.queue).is_none() {
                return Err(format!("job {} is in a removed queue", job.facts.job.0));
            }
        }
        for queue in self.cluster.queues.all() {
            let gone = |id: &QueueId| self.cluster.queues.get(*id).is_none();
            let family = queue.parent.iter().chain(&queue.children);
            let family: Vec<QueueId> = family.copied().filter(gone).collect();
            if !queue.is_removed() {
                let path = &queue.config.path;
                same(&format!("removed queues around {path}"), &family, &vec![])?;
                let parent = queue.parent;
                same(
                    &format!("order of {path}"),
                    &(parent >= Some(queue.id)),
                    &false,
                )?;
            }
            let leaf = ShareNodeId(queue.id.0);
            if self.share.layout() != Layout::Single {
                let removed = self.tree.node(leaf).removed;
                same(&format!("share {}", leaf.0), &removed, &queue.is_removed())?;
                if !removed {
                    self.check_limits(queue)?;
                }
            }
        }
        for queue in self.cluster.queues.iter() {
            let below = |job: &JobId| {
                let job = self.cluster.job(*job).expect("listed jobs are there");
                self.cluster
                    .queues
                    .path_up(job.facts.queue)
                    .any(|at| at.id == queue.id)
            };
            let jobs: Vec<JobId> = self
                .cluster
                .jobs()
                .map(|job| job.facts.job)
                .filter(below)
                .collect();
            let runnable = jobs
                .iter()
                .filter(|job| self.cluster.job(**job).is_some_and(|job| job.runnable))
                .count() as u32;
            let (path, kept) = (&queue.config.path, (queue.jobs, queue.runnable_jobs));
            same(
                &format!("jobs of {path}"),
                &kept,
                &(jobs.len() as u32, runnable),
            )?;
            if queue.max_running_jobs().is_some_and(|most| runnable > most)
                && !self.limits_were_lowered()
            {
                return Err(format!("{path} runs {runnable} jobs, more than it may"));
            }
            waiting += queue.waiting.len() as u32;
        }
        same("waiting jobs", &self.waiting_jobs, &waiting)
    }

    /// The limits of a queue are those that its configuration means on this cluster, and its node
    /// of the tree of shares has them.
    fn check_limits(&self, queue: &Queue) -> Result<(), String> {
        let node = self.tree.node(ShareNodeId(queue.id.0));
        let path = &queue.config.path;
        let kept = (node.weight, node.min_share, node.max_share);
        let meant = self.cluster.queues.limits(queue);
        let meant = (meant.weight, meant.min_share, meant.max_share);
        same(&format!("limits of {path}"), &kept, &meant)?;
        if !self.entitled_late {
            let kept = [queue.min_share, queue.max_share];
            let meant = self.cluster.queues.in_whole(queue.id);
            same(&format!("whole limits of {path}"), &kept, &meant)?;
        }
        Ok(())
    }

    /// Running jobs by user, within the limits; the books of users in leaves that limit them.
    fn check_users(&self) -> Result<(), String> {
        let queues = &self.cluster.queues;
        let mut running: BTreeMap<(QueueId, UserId), u32> = BTreeMap::new();
        for job in self.cluster.jobs().filter(|job| job.runnable) {
            for queue in queues.path_up(job.facts.queue) {
                *running.entry((queue.id, job.facts.user)).or_default() += 1;
            }
        }
        same("running jobs by user", queues.running_by_user(), &running)?;
        for (id, user) in running.keys() {
            let queue = queues.get(*id).expect("it is on a path");
            for limit in queues.running_limits(queue, *user).into_iter().flatten() {
                if limit.running > limit.max && !self.limits_were_lowered() {
                    return Err(format!("more jobs run than may: {limit:?}, {user:?}"));
                }
            }
        }
        self.check_user_books()
    }

    /// Every pending ask of a job that may run stands where its level says, and nowhere else.
    fn check_backlog(&self) -> Result<(), String> {
        type Listed = BTreeSet<(ShareNodeId, ShapeId, Entry, List)>;
        let mut listed = Listed::new();
        for leaf in self.tree.ids() {
            for list in [List::Open, List::Locked, List::Strict] {
                for (shape, asks) in self.backlog.leaf(leaf).list(list) {
                    listed.extend(asks.iter().map(|entry| (leaf, *shape, entry, list)));
                }
            }
        }
        let mut expected = Listed::new();
        let mut standing: BTreeMap<ShapeId, u32> = BTreeMap::new();
        for job in self.cluster.jobs() {
            for ask in job.asks.iter().flatten() {
                let pending = job.runnable && job.is_due(ask);
                same(
                    &format!(
                        "whether ask {:?} of job {:?} stands",
                        ask.facts.ask, job.facts.job
                    ),
                    &(ask.standing != Standing::Out),
                    &pending,
                )?;
                if !pending {
                    continue;
                }
                *standing.entry(ask.shape).or_default() += 1;
                let strict = ask.standing == Standing::Strict;
                same("strictness", &strict, &!ask.facts.relax)?;
                let list = match (strict, ask.level) {
                    (false, Locality::OffSwitch) => List::Open,
                    (true, level) if level > Locality::NodeLocal => List::Strict,
                    _ => List::Locked,
                };
                expected.insert((job.leaf, ask.shape, Entry::new(job, ask), list));
            }
        }
        same("asks in the backlog", &listed, &expected)?;
        let kept: BTreeMap<ShapeId, u32> = self
            .backlog
            .shapes
            .standing()
            .iter()
            .map(|id| (*id, self.backlog.shapes.get(*id).standing))
            .collect();
        same("asks by shape", &kept, &standing)
    }

    /// Every host row of a pending ask, and every rack row once it may be used, is indexed where
    /// its job stands.
    fn check_places(&self) -> Result<(), String> {
        let mut listed = BTreeSet::new();
        for (at, line) in self.backlog.places.all() {
            listed.extend(line.iter().map(|entry| (at, entry)));
        }
        let mut expected = BTreeSet::new();
        for job in self.cluster.jobs() {
            for ask in job.asks.iter().flatten() {
                if ask.standing == Standing::Out {
                    continue;
                }
                let spot = Spot::in_places(job, job.kind(ask.facts.priority));
                let entry = spot.entry((ask.facts.priority, ask.facts.ask));
                for (place, row) in &ask.rows {
                    let rack = self.cluster.is_rack(*place);
                    if row.count > 0 && (!rack || row.relax && ask.level >= Locality::RackLocal) {
                        expected.insert(((*place, job.leaf, ask.shape), entry));
                    }
                }
            }
        }
        same("asks by place", &listed, &expected)
    }

    /// Every open or strict ask stands in the classes that the place stage gave it, in its window.
    fn check_classes(&self) -> Result<(), String> {
        let lines = self.backlog.classes.all();
        let listed: BTreeSet<_> = lines
            .flat_map(|((window, tag, shape), line)| {
                line.iter().map(move |entry| (window, tag, shape, entry))
            })
            .collect();
        let mut expected = BTreeSet::new();
        for job in self.cluster.jobs() {
            let classed = |ask: &&Ask| ask.standing.is_classed();
            for ask in job.asks.iter().flatten().map(|ask| &**ask).filter(classed) {
                for tag in &job.tags[job.kind(ask.facts.priority) as usize] {
                    let window = (job.leaf, job.window);
                    expected.insert((window, *tag, ask.shape, Entry::new(job, ask)));
                }
            }
        }
        same("asks by class", &listed, &expected)
    }
}

pub(super) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    kept: &T,
    counted: &T,
) -> Result<(), String> {
    if kept == counted {
        return Ok(());
    }
    Err(format!("{what}: kept {kept:?}, counted {counted:?}"))
}
