//! Applies events one by one, each after a check against the model.

use super::{Engine, ID_MAX, PLANTED_ASK, bounds};
use crate::backlog::ShapeSize;
use crate::model::change::{Change, pool};
use crate::model::job::{Ask, Container, Job, Row};
use crate::words::event::{AskFacts, Decision, Event, JobFacts, JobHints, NodeFacts, Refusal};
use crate::words::ids::{AskId, ContainerKey, JobId, NodeId, PlaceId, QueueId};

impl Engine {
    pub(super) fn apply(
        &mut self,
        event: &Event,
        decisions_max: usize,
        decisions: &mut Vec<Decision>,
    ) {
        match event {
            Event::NodeAdded(facts) => self.add_node(&bounds::node(facts)),
            Event::NodeChanged(facts) => self.change_node(&bounds::node(facts)),
            Event::NodeRemoved(node) => self.remove_node(*node),
            Event::Heartbeat { node, free } => {
                self.heartbeat(*node, bounds::free(free), decisions_max, decisions);
            }
            Event::JobAdded(facts) => self.add_job(&bounds::job(facts)),
            Event::JobRemoved(job) => self.remove_job(*job),
            Event::JobMoved { job, queue } => self.move_job(*job, *queue),
            Event::JobPriority { job, priority } => self.set_priority(*job, *priority),
            Event::JobReset(job) => self.reset_job(*job),
            Event::Offer(job) => self.offer(*job, decisions_max, decisions),
            Event::Room { node, free } => self.note_room(*node, bounds::free(free)),
            Event::NodeSilent(node) => self.silence(*node),
            Event::Blacklist { job, place, added } => self.blacklist(*job, *place, *added),
            Event::Ask(facts) => self.ask(&bounds::ask(facts)),
            Event::AskRow {
                job,
                ask,
                place,
                count,
                relax,
            } => {
                self.ask_row(
                    *job,
                    *ask,
                    *place,
                    Row {
                        count: bounds::count(*count),
                        relax: *relax,
                    },
                );
            }
            Event::ContainerAdded(facts) => self.add_container(&bounds::container(facts)),
            Event::ContainerCompleted { job, key, exit } => self.complete(*job, *key, *exit == 0),
            Event::ContainerResized { job, key, resource } => {
                self.resize(*job, *key, &bounds::amount(resource))
            }
            Event::Ack { job, seq, key } => self.ack(*job, *seq, *key),
            Event::Nack { job, seq, refusal } => self.nack(*job, *seq, *refusal),
            Event::JobHints { job, hints } => self.hints(*job, bounds::hints(hints)),
            Event::Task { job, key, facts } => self.note_task(*job, *key, bounds::task(facts)),
            Event::ContainerLaunched {
                job,
                key,
                launched_ms,
            } => self.launched(*job, *key, bounds::time(*launched_ms)),
            Event::JobCounters { job, counters } => {
                self.note_counters(*job, bounds::counters(counters));
            }
            Event::InputBlocks { .. } | Event::RackTraffic { .. } | Event::NodeShuffle { .. } => {
                self.pass_on(event);
            }
            Event::NodeLoad {
                node,
                foreign_per_mille,
            } => self.node_load(*node, bounds::per_mille(*foreign_per_mille)),
            Event::Tick => self.tick(decisions_max, decisions),
            Event::Fault(code) => self.fault(*code),
        }
    }

    /// Passes an event that only the stages use on to them.
    fn pass_on(&mut self, event: &Event) {
        let event = *event;
        self.tell_of(&event, |cluster, event| match *event {
            Event::InputBlocks {
                job,
                racks,
                blocks,
                bytes,
            } => Some(Change::Blocks {
                job: cluster.job(job)?,
                racks,
                blocks: bounds::count(blocks),
                bytes: bounds::bytes(bytes),
            }),
            Event::RackTraffic {
                rack,
                up_bytes_per_s,
                down_bytes_per_s,
                bandwidth_bytes_per_s,
            } => Some(Change::Traffic {
                rack,
                up_bytes_per_s: bounds::bytes(up_bytes_per_s),
                down_bytes_per_s: bounds::bytes(down_bytes_per_s),
                bandwidth_bytes_per_s: bounds::bytes(bandwidth_bytes_per_s),
            }),
            Event::NodeShuffle { node, sent_bytes } => Some(Change::Shuffled {
                node: cluster.node(node)?,
                sent_bytes: bounds::bytes(sent_bytes),
            }),
            _ => None,
        });
    }

    fn node_load(&mut self, id: NodeId, foreign_per_mille: u32) {
        let Some(node) = self.cluster.node_mut(id) else {
            return self.ignore("unknown node", &id);
        };
        let before = node.foreign_per_mille.replace(foreign_per_mille);
        if before != Some(foreign_per_mille) {
            self.tell(|_| Some(Change::Load));
        }
    }

    fn fault(&mut self, code: u32) {
        if self.setup.config.faults {
            panic!("fault {code} was asked for by a test");
        }
        self.ignore("the configuration allows no faults", &code);
    }

    fn add_node(&mut self, facts: &NodeFacts) {
        if !in_range(facts) {
            return self.ignore("id out of range", facts);
        }
        let facts = *facts;
        self.open_partition(facts.partition);
        if self.cluster.node(facts.node).is_some() {
            self.change_node(&facts);
        } else {
            self.with_rack(facts.rack, |engine| {
                engine.cluster.add_node(facts);
            });
        }
        self.file(facts.node);
        self.nodes_changed();
    }

    fn change_node(&mut self, facts: &NodeFacts) {
        let known = self.cluster.node(facts.node).filter(|_| in_range(facts));
        let Some(before) = known else {
            return self.ignore("unknown node, or id out of range", facts);
        };
        let facts = *facts;
        let relabelled = before.facts.partition != facts.partition;
        self.open_partition(facts.partition);
        self.with_rack(facts.rack, |engine| {
            engine.cluster.change_node(facts);
        });
        if relabelled {
            self.relabel_containers(facts.node, facts.partition);
        }
        self.file(facts.node);
        self.nodes_changed();
    }

    fn remove_node(&mut self, id: NodeId) {
        self.reservations.remove(&id);
        self.break_promises(id);
        self.rests.remove(&id);
        // The host would refuse these grants later, but the node's books end here.
        let unanswered = self.in_flight.iter();
        let unanswered: Vec<(JobId, u64)> = unanswered
            .filter(|grant| grant.container.node == id)
            .map(|grant| (grant.job, grant.seq))
            .collect();
        for (job, seq) in unanswered {
            self.nack(job, seq, Refusal::StaleNode);
        }
        let Some(node) = self.cluster.node(id) else {
            return self.ignore("unknown node", &id);
        };
        if node.containers > 0 {
            // The host completes a lost node's containers first. If it did not, their room
            // must not stay charged to their jobs.
            self.ignore("node left with containers on it", &id);
            let on_node = |container: &Container| container.node == id;
            let orphans: Vec<(JobId, ContainerKey)> = self
                .cluster
                .jobs()
                .flat_map(|job| {
                    job.containers
                        .iter()
                        .map(|(key, c)| (job.facts.job, *key, c))
                })
                .filter(|(_, _, container)| on_node(container))
                .map(|(job, key, _)| (job, key))
                .collect();
            for (job, key) in orphans {
                self.complete(job, key, false);
            }
        }
        self.cluster.remove_node(id);
        self.roomy.remove(id);
        self.nodes_changed();
    }

    /// Offers a node no more until it reports: what is granted there may wait for as long as it
    /// stays silent.
    fn silence(&mut self, id: NodeId) {
        match self.cluster.node_mut(id) {
            Some(node) => node.silent = true,
            None => return self.ignore("unknown node", &id),
        }
        self.file(id);
    }

    fn add_job(&mut self, facts: &JobFacts) {
        if facts.job.0 >= ID_MAX || self.cluster.job(facts.job).is_some() {
            return self.ignore("job id out of range or taken", facts);
        }
        if self.cluster.queues.get(facts.queue).is_none() {
            return self.ignore("unknown queue", facts);
        }
        let leaf = self.leaf_of(facts.queue);
        self.cluster.add_job(Job::new(*facts, leaf));
        self.trace.open(facts.job);
        self.join_queue(facts.job);
        self.tell(|cluster| cluster.job(facts.job).map(Change::JobAdded));
        self.stale.job(facts.job);
    }

    /// Counts a job into its queue and lets it run if the limits admit one more.
    fn join_queue(&mut self, id: JobId) {
        let job = self.cluster.job(id).expect("the caller just put it there");
        let (queue, user) = (job.facts.queue, job.facts.user);
        let queues = &mut self.cluster.queues;
        let admits = queues.reached(queue, user).is_none();
        queues.join(id, queue, user, admits);
        self.waiting_jobs += u32::from(!admits);
        self.cluster
            .job_mut(id)
            .expect("the caller just put it there")
            .runnable = admits;
        self.users.touch(id);
        self.enter_all(id);
    }

    /// Takes a job out of its queue. `admit_waiting` may then fill its place.
    fn leave_queue(&mut self, id: JobId) {
        self.leave_all(id);
        let job = self.cluster.job_mut(id).expect("the caller found it");
        let (queue, user) = (job.facts.queue, job.facts.user);
        let ran = std::mem::replace(&mut job.runnable, false);
        let waited = self.cluster.queues.leave(id, queue, user, ran);
        self.waiting_jobs -= u32::from(waited);
        self.users.touch(id);
    }

    /// Lets waiting jobs run where the limits admit one more: those of all queues in one line, by
    /// `Cluster::turn`.
    pub(super) fn admit_waiting(&mut self) {
        if self.waiting_jobs == 0 {
            return;
        }
        let queues = self.cluster.queues.iter();
        let waiting = queues.flat_map(|queue| queue.waiting.iter().copied());
        let mut line: Vec<_> = waiting.map(|id| self.cluster.turn(id)).collect();
        line.sort_unstable();
        // An admitted job only takes room, so one pass is enough.
        for (_, id) in line {
            let facts = self.cluster.job(id).expect("waiting jobs are there").facts;
            if self
                .cluster
                .queues
                .reached(facts.queue, facts.user)
                .is_none()
            {
                self.leave_queue(id);
                self.join_queue(id);
                self.job_changed(id);
            }
        }
    }

    fn remove_job(&mut self, id: JobId) {
        if self.cluster.job(id).is_none() {
            return self.ignore("unknown job", &id);
        }
        self.judge_predictions(id);
        self.forget_asks(id);
        self.leave_queue(id);
        let keys: Vec<ContainerKey> = self
            .cluster
            .job(id)
            .map_or(Vec::new(), |job| job.containers.keys().copied().collect());
        for key in keys {
            self.complete(id, key, false);
        }
        while let Some(at) = self.in_flight.iter().position(|grant| grant.job == id) {
            let grant = self
                .in_flight
                .remove(at)
                .expect("the position was just found");
            self.charge(id, &grant.container, false);
            self.tell_withdrawn(id, &grant.container);
        }
        self.release_job(id);
        self.tell(|cluster| cluster.job(id).map(Change::JobRemoved));
        self.cluster.remove_job(id);
        self.trace.close(id);
        self.admit_waiting();
    }

    fn move_job(&mut self, id: JobId, queue: QueueId) {
        let known = self.cluster.queues.get(queue).is_some();
        let Some(job) = self.cluster.job(id).filter(|_| known) else {
            return self.ignore("unknown job or queue", &(id, queue));
        };
        let containers: Vec<Container> = job.containers.values().copied().collect();
        let in_flight = self.in_flight.iter().filter(|grant| grant.job == id);
        let containers: Vec<Container> = containers
            .into_iter()
            .chain(in_flight.map(|grant| grant.container))
            .collect();
        self.leave_queue(id);
        for container in &containers {
            self.charge(id, container, false);
        }
        let leaf = self.leaf_of(queue);
        let job = self.cluster.job_mut(id).expect("it was found above");
        job.facts.queue = queue;
        job.leaf = leaf;
        for container in &containers {
            self.charge(id, container, true);
        }
        self.join_queue(id);
        self.job_changed(id);
        self.admit_waiting();
    }

    fn set_priority(&mut self, id: JobId, priority: i32) {
        if self.cluster.job(id).is_none() {
            return self.ignore("unknown job", &id);
        }
        let job = self.cluster.job_mut(id).expect("it was found above");
        job.facts.priority = priority;
        self.users.touch(id);
        self.job_changed(id);
    }

    fn reset_job(&mut self, id: JobId) {
        if self.cluster.job(id).is_none() {
            return self.ignore("unknown job", &id);
        }
        self.forget_asks(id);
        for grant in self.in_flight.iter_mut().filter(|grant| grant.job == id) {
            grant.ask = None;
        }
        self.users.restart(id);
        let job = self.cluster.job_mut(id).expect("it was found above");
        job.blacklist.clear();
        job.refused.clear();
        // The new attempt knows no headroom yet.
        job.headroom = None;
        self.job_changed(id);
    }

    fn hints(&mut self, id: JobId, hints: JobHints) {
        match self.cluster.job_mut(id) {
            None => self.ignore("unknown job", &id),
            Some(job) => {
                job.hints = hints;
                self.job_changed(id);
            }
        }
    }

    fn forget_asks(&mut self, id: JobId) {
        self.leave_all(id);
        let Some(job) = self.cluster.job_mut(id) else {
            return;
        };
        for ask in std::mem::take(&mut job.asks).into_iter().flatten() {
            job.count_pending(&ask.facts, false);
            self.backlog.shapes.release(ask.shape);
        }
        self.users.touch(id);
    }

    fn blacklist(&mut self, id: JobId, place: PlaceId, added: bool) {
        match self.cluster.job_mut(id) {
            None => self.ignore("unknown job", &id),
            Some(job) if added => {
                job.blacklist.insert(place);
            }
            Some(job) => {
                job.blacklist.remove(&place);
            }
        }
    }

    fn ask(&mut self, facts: &AskFacts) {
        let Some(job) = self.cluster.job(facts.job).filter(|_| facts.ask.0 < ID_MAX) else {
            return self.ignore("unknown job or ask id out of range", facts);
        };
        if facts.resource.any_negative() {
            return self.ignore("negative ask", facts);
        }
        self.plant(facts.priority, PLANTED_ASK);
        let kind = job.kind(facts.priority);
        let size = ShapeSize {
            resource: facts.resource,
            partition: facts.partition,
            am: facts.am,
            kind,
            pool: pool(&self.setup.config, kind, facts.am),
        };
        match job.ask(facts.ask) {
            Some(ask)
                if AskFacts {
                    count: ask.facts.count,
                    ..*facts
                } == ask.facts =>
            {
                self.set_count(facts);
            }
            Some(_) => {
                self.leave(facts.job, facts.ask);
                let shape = self.backlog.shapes.acquire(size);
                let job = self.cluster.job_mut(facts.job).expect("it was found above");
                job.set_count(facts.ask, 0);
                let ask = job.ask_mut(facts.ask).expect("it was found above");
                let before = std::mem::replace(&mut ask.shape, shape);
                ask.facts = *facts;
                ask.suspended = false;
                job.count_pending(facts, true);
                self.backlog.shapes.release(before);
                self.enter(facts.job, facts.ask);
            }
            None => {
                let shape = self.backlog.shapes.acquire(size);
                let job = self.cluster.job_mut(facts.job).expect("it was found above");
                if job.asks.len() <= facts.ask.index() {
                    job.asks.resize_with(facts.ask.index() + 1, || None);
                }
                job.count_pending(facts, true);
                let ask = Ask::new(*facts, shape, self.now);
                job.asks[facts.ask.index()] = Some(Box::new(ask));
                self.enter(facts.job, facts.ask);
            }
        }
        self.users.touch(facts.job);
        self.tell(|cluster| {
            cluster
                .job(facts.job)
                .map(|job| Change::Asked { job, kind })
        });
    }

    /// The common case: only the total changed.
    fn set_count(&mut self, facts: &AskFacts) {
        if facts.count == 0 {
            self.leave(facts.job, facts.ask);
        }
        let job = self
            .cluster
            .job_mut(facts.job)
            .expect("the caller found it");
        let ask = job.ask_mut(facts.ask).expect("the caller found it");
        ask.suspended &= facts.count > 0;
        job.set_count(facts.ask, facts.count);
        self.enter(facts.job, facts.ask);
    }

    fn ask_row(&mut self, job: JobId, ask: AskId, place: PlaceId, row: Row) {
        let known = self.cluster.job(job).and_then(|job| job.ask(ask)).is_some();
        if !known || place == PlaceId::ANY || place.0 >= ID_MAX {
            return self.ignore("row of an unknown job, ask or place", &(job, ask, place));
        }
        let floor = self.floor_of(job, ask);
        self.set_row(job, ask, place, row);
        self.settle_level(job, ask, floor);
    }
}

/// Whether the ids of a node that index tables are below `ID_MAX`: all but its label.
fn in_range(facts: &NodeFacts) -> bool {
    let ids = [facts.node.0, facts.host.0, facts.rack.0];
    ids.into_iter().all(|id| id < ID_MAX)
}
