//! Gives explanations their inputs, and serves requests for them: one job with its waits and its
//! latest decisions, or the sentences of many jobs in turn.

use super::control::{RequestError, numbered, refused};
use super::search::Pick;
use super::{Engine, Subject};
use crate::backlog::{FitList, ShapeSize};
use crate::config::Section;
use crate::explain::{
    Answers, Compared, Look, Next, Supposed, Surveys, View, What, json, sentence,
};
use crate::model::cluster::Node;
use crate::model::job::{Ask, Job};
use crate::model::queue::Spares;
use crate::model::wait::{Ahead, Remedy, UserBound, Wait};
use crate::words::event::EvictReason;
use crate::words::ids::{ContainerKey, JobId, Locality, Millis, NodeId, PartitionId};
use crate::words::keys::{POOLS, ShareNodeId};
use crate::words::resource::Resource;
use serde_json::{Value, json};

/// How many asks ahead of one are counted, for a request about one job and about many.
const AHEAD_MAX: u32 = 1_000;
const AHEAD_OF_EACH_MAX: u32 = 100;

/// How many waiting jobs one page of sentences has at most, and how many numbers it visits: the
/// host asks for them on its scheduling thread.
const WAITS_MAX: i64 = 1_000;
const LOOKED_AT_MAX: u32 = 2_000;

/// How many jobs one answer about activities has at most.
const ACTIVE_MAX: usize = 100;

impl Answers for Engine {
    fn next_on(&self, node: &Node, size: &ShapeSize, look: Look<'_>) -> Option<Next> {
        let (fits, mut nominated) = (self.as_if(node, size), Default::default());
        self.nominate(node, &mut nominated);
        let mut search = self.search(node, &fits, &nominated);
        search.without = look.without;
        if let Some(shares) = look.shares {
            search.tree = &shares.tree;
            search.share = shares.share.as_deref().unwrap_or(search.share);
        }
        let pick = search.run()?;
        let is_nominated = nominated.iter().flatten().any(|job| *job == pick.job);
        Some(Next {
            job: pick.job,
            ask: pick.ask,
            by_key: self.place.ranking().is_none() && !is_nominated,
            node: node.facts.node,
        })
    }

    fn supposed(
        &self,
        label: PartitionId,
        node: Option<&Resource>,
        weight: Option<(ShareNodeId, f64)>,
    ) -> Supposed {
        let mut tree = self.tree_of(label).clone();
        let mut share = None;
        if let Some(more) = node {
            tree.capacity += *more;
            self.follow_in(&mut tree, self.tree_label(label));
            let (slots, room) = (self.slots_with(1, more), self.cluster.capacity + *more);
            share = self.share.with_slots(slots, &room, &world!(self));
        }
        if let Some((at, weight)) = weight {
            tree.node_mut(at).weight = weight;
        }
        let (stage, capacity) = (share.as_deref().unwrap_or(&*self.share), tree.capacity);
        stage.entitle(&mut tree, &capacity);
        tree.rekey_all(stage, &capacity);
        Supposed { tree, share }
    }

    fn ahead_on(
        &self,
        node: &Node,
        size: &ShapeSize,
        waiting: (&Job, &Ask),
        most: u32,
    ) -> Option<Ahead> {
        let (fits, nominated) = (self.as_if(node, size), Default::default());
        self.search(node, &fits, &nominated).ahead_of(waiting, most)
    }

    fn full_pools(&self, node: &Node) -> [bool; POOLS] {
        Engine::full_pools(self, node)
    }

    fn promised(&self, node: &Node, size: &Resource) -> Option<Millis> {
        let promises = self.promises.get(&node.facts.node)?;
        let ends = promises.iter().map(|promise| promise.until_ms).max();
        ends.filter(|_| !size.fits_in(&self.open_room(node)))
    }

    fn promised_to(&self, job: JobId) -> Option<NodeId> {
        let mut promises = self.promises();
        let found = promises.find(|(_, promise)| promise.job == job);
        found.map(|(node, _)| node)
    }

    fn spared(&self, waiting: &Job, ask: &Ask) -> Option<Spares> {
        let sparing = || self.sparing(waiting, ask);
        self.preempts().then(sparing).flatten()
    }

    fn user_bound(&self, job: &Job, label: PartitionId, masters: bool) -> Option<UserBound> {
        Engine::user_bound(self, job, label, masters)
    }

    fn user_remedy(&self, job: &Job, ask: &Ask, before: &[Resource]) -> Option<Remedy> {
        Engine::user_remedy(self, job, ask, before)
    }
}

impl Engine {
    /// The pending shapes that a node could serve if it had room for a container of `size`.
    fn as_if(&self, node: &Node, size: &ShapeSize) -> FitList {
        let (full, partition) = (self.full_pools(node), node.facts.partition);
        let room = self.open_room(node).component_max(&size.resource);
        let held = self.reservations.get(&node.facts.node);
        self.backlog.shapes.imagine(|other| {
            let has_slot = other.pool == size.pool || other.pool.is_none_or(|pool| !full[pool]);
            // What a node is held for gets its room, whoever is next for that.
            let is_held_for = held.is_none_or(|held| held.size.resource == other.resource);
            let fits = other.partition == partition && other.resource.fits_in(&room);
            fits && has_slot && is_held_for
        })
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            world: world!(self),
            backlog: &self.backlog,
            holds: &self.reservations,
            share: self.share.as_ref(),
            order: self.order.as_ref(),
            place: self.place.as_ref(),
            answers: self,
            resource_types: &self.setup.resource_types,
        }
    }

    pub(super) fn note_grant(&mut self, node: NodeId, pick: &Pick, locality: Locality) {
        self.totals
            .granted(self.cluster.job(pick.job), pick.ask, locality);
        let partition = self.cluster.node(node).map(|node| node.facts.partition);
        let tree = partition.and_then(|partition| self.partitions.get(&partition));
        let books = (&self.cluster, tree.unwrap_or(&self.tree));
        let picked = (pick.job, pick.ask);
        self.trace.granted(self.now, books, picked, node, locality);
    }

    pub(super) fn note_eviction(
        &mut self,
        job: JobId,
        key: ContainerKey,
        reason: EvictReason,
        compared: Option<Compared>,
    ) {
        let observed = self.observed.contains(&(job, key));
        self.totals.evicted(observed);
        let world = world!(self);
        let market = self.share.market();
        let what = (job, key, observed);
        self.trace.evicted(&world, market, what, reason, compared);
    }

    /// Gives the trace the size that is configured now.
    pub(super) fn resize_trace(&mut self) {
        let size = self.setup.config.explain_entries;
        self.trace.resize(size, &self.cluster);
    }

    /// Notes why jobs wait, where that has changed, a few at a time.
    pub(super) fn note_waits(&mut self) {
        let mut trace = std::mem::take(&mut self.trace);
        trace.waits(&self.view());
        self.trace = trace;
    }

    /// `{"op": "explain", "job": N}`: why the job waits, if it does, with what would change that,
    /// and its last decisions, the oldest first.
    pub(super) fn explain(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let id = JobId(numbered(&mut section, "job")?);
        let Some(job) = self.cluster.job(id) else {
            let problem = format!("key `job`: no job has number {}", id.0);
            return Err(RequestError(problem));
        };
        let view = self.view();
        let (names, ring) = (view.names(), self.trace.of(id));
        let mut surveys = Surveys::new();
        let waits: Vec<Wait> = view.waits(job, &mut surveys, AHEAD_MAX).collect();
        let since_ms = |wait: &Wait| {
            let noted = ring.and_then(|ring| ring.waits());
            noted.filter(|(_, reason)| reason.is_like(&wait.reason))
        };
        let reports = waits.iter().map(|wait| {
            let since_ms = since_ms(wait).map(|(since_ms, _)| since_ms);
            json::wait(wait, since_ms, &names)
        });
        let by_arrival = self.tree.keeps_arrivals();
        let entries = ring.iter().flat_map(|ring| ring.entries());
        let queue = self.cluster.queues.get(job.facts.queue);
        Ok(json!({
            "job": id.0,
            "queue": queue.map(|queue| &queue.config.path),
            "now_ms": self.now,
            "sentence": self.summary(waits.first()),
            "waits": reports.collect::<Vec<_>>(),
            "noted": ring.map_or(0, |ring| ring.noted()),
            "trace": entries
                .map(|entry| json::entry(entry, by_arrival, &names))
                .collect::<Vec<_>>(),
        }))
    }

    /// `{"op": "waits", "from": N, "max": M}`: the sentences of jobs from number N on, a page at a
    /// time. A sentence is `null` if the job waits for nothing or `explain.entries` is 0. `next` is
    /// the start of the next page; 0 after the last.
    pub(super) fn waits_report(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let from = section
            .whole("from", 0, i64::from(u32::MAX))
            .map_err(refused)?;
        let max = section.whole("max", 1, WAITS_MAX).map_err(refused)?;
        let (from, max) = (from.unwrap_or(0) as u32, max.unwrap_or(WAITS_MAX));
        let end = self.cluster.jobs_end();
        let view = self.view();
        let mut surveys = Surveys::new();
        let mut jobs = Vec::new();
        let mut explained = 0;
        let mut at = from;
        while at < end && explained < max && at - from < LOOKED_AT_MAX {
            if let Some(job) = self.cluster.job(JobId(at)) {
                self.subject.set(Some(Subject::Job(job.facts.job)));
                let first = match self.trace.is_on() {
                    true => view.waits(job, &mut surveys, AHEAD_OF_EACH_MAX).next(),
                    false => None,
                };
                explained += i64::from(first.is_some());
                jobs.push(json!([at, self.summary(first.as_ref())]));
            }
            at += 1;
        }
        Ok(json!({ "jobs": jobs, "next": if at < end { at } else { 0 } }))
    }

    /// `{"op": "activities"}`: what YARN's pages about scheduling activities show, of the jobs that
    /// wait or have decisions in memory, or of one with `"job": N`. A wait stands for the asks of
    /// its kind and has the number of their first. `more` says that there are more than
    /// [`ACTIVE_MAX`] jobs.
    pub(super) fn activities(&self, mut section: Section<'_>) -> Result<Value, RequestError> {
        let one = match section.value("job") {
            Some(_) => Some(numbered(&mut section, "job")?),
            None => None,
        };
        section.finish().map_err(refused)?;
        let chosen = |job: &&Job| one.is_none_or(|one| job.facts.job.0 == one);
        let mut surveys = Surveys::new();
        let mut jobs = Vec::new();
        let mut more = false;
        for job in self.cluster.jobs().filter(chosen) {
            let Some(row) = self.activity(job, &mut surveys) else {
                continue;
            };
            more = jobs.len() == ACTIVE_MAX;
            if more {
                break;
            }
            jobs.push(row);
        }
        Ok(json!({ "now_ms": self.now, "jobs": jobs, "more": more }))
    }

    fn activity(&self, job: &Job, surveys: &mut Surveys) -> Option<Value> {
        let view = self.view();
        let names = view.names();
        let by_arrival = self.tree.keeps_arrivals();
        let ring = self.trace.of(job.facts.job);
        let entries = ring.iter().flat_map(|ring| ring.entries());
        let decided = entries.filter(|entry| !matches!(entry.what, What::Waits(_)));
        let decided: Vec<Value> = decided
            .map(|entry| json::entry(entry, by_arrival, &names))
            .collect();
        let waits: Vec<Wait> = view.waits(job, surveys, AHEAD_OF_EACH_MAX).collect();
        if waits.is_empty() && decided.is_empty() {
            return None;
        }
        let wait = |wait: &Wait| {
            json!({
                "ask": wait.ask.0,
                "reason": wait.reason,
                "sentence": sentence(wait, &names),
            })
        };
        Some(json!({
            "job": job.facts.job.0,
            "queue": self.cluster.queues.get(job.facts.queue).map(|queue| &queue.config.path),
            "waits": waits.iter().map(wait).collect::<Vec<_>>(),
            "decided": decided,
        }))
    }

    /// One sentence for all waits of a job, from the first: the rest usually wait for the same.
    fn summary(&self, first: Option<&Wait>) -> Option<String> {
        let view = self.view();
        first.map(|wait| sentence(wait, &view.names()))
    }
}
