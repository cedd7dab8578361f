//! Injects faults, and the actions of users and operators. One enabled fault at a time; all stop
//! when the load does.

use super::World;
use super::life::life;
use crate::due::Due;
use crate::host::Grant;
use crate::host::Host;
use crate::master::{Table, TaskState};
use crate::queues::Plan;
use heddle_core::words::event::{AskFacts, Event, Refusal};
use heddle_core::words::exit::STOPPED;
use heddle_core::words::ids::{AskId, ContainerKey, JobId, NodeId, PlaceId, QueueId};
use heddle_core::words::resource::Resource;
use heddle_sim::failure::Checked;
use serde_json::json;

type Fault = fn(&mut World) -> Checked;

/// An id that the engine must reject as garbage, without even allocating room for it.
const GARBAGE: u32 = u32::MAX - 7;

impl World {
    pub(super) fn fault_due(&mut self) -> Checked {
        if self.draining {
            return Ok(());
        }
        let pause_ms = self.random.range(50, 900);
        self.agenda.plan(self.now + pause_ms, Due::Fault);
        let on = self.options.features;
        let faults: [(bool, Fault); 24] = [
            (on.node_loss, World::fault_node_loss),
            (on.node_changes, World::fault_node_change),
            (on.draining, World::fault_draining),
            (on.ask_changes, World::fault_ask_size),
            (on.ask_changes, World::fault_withdraw),
            (on.kills, World::fault_kill),
            (on.restarts || on.kept_containers, World::fault_master),
            (on.failures, World::fault_release),
            (on.resizes, World::fault_resize),
            (on.priorities, World::fault_priority),
            (on.moves, World::fault_move),
            (on.reloads, World::fault_reload),
            (on.blacklists, World::fault_blacklist),
            (on.rebuilds, World::rebuild),
            (on.noise, World::fault_noise),
            (on.jumps, World::fault_jump),
            (on.freezes, World::fault_freeze),
            (on.extreme_counts, World::fault_extreme_count),
            (on.giant_asks, World::fault_giant_ask),
            (on.unknown_hosts, World::fault_unknown_host),
            (on.many_queues, World::fault_queues),
            (on.many_queues, World::fault_queues_expire),
            (on.label_storms, World::fault_labels),
            (on.extreme_priorities, World::fault_extreme_priority),
        ];
        let on: Vec<Fault> = faults.iter().filter(|f| f.0).map(|f| f.1).collect();
        match on.is_empty() {
            true => Ok(()),
            false => self.random.pick(&on)(self),
        }
    }

    /// Changes something between decisions and their answers; mostly what they are about.
    pub(super) fn race(&mut self, grants: &[Grant]) -> Checked {
        let grant = self.random.pick(grants);
        let on = self.options.features;
        match self.random.below(7) {
            0 if on.kills => self.remove_job(grant.job),
            1 if on.node_loss => self.lose_node(grant.node),
            2 if on.draining => self.drain(grant.node),
            3 if on.blacklists => {
                let node = self.host.nodes.get(&grant.node).map(|node| node.facts);
                let place = node.map_or(PlaceId(1), |facts| facts.host);
                self.set_blacklist(grant.job, place, true)
            }
            4 if on.moves => self.move_job(grant.job),
            5 if on.restarts => self.lose_master(grant.job),
            _ => {
                if let Some(master) = self.masters.get_mut(&grant.job) {
                    master.advance();
                }
                self.withdraw(grant.job);
                Ok(())
            }
        }
    }

    fn any_node(&mut self) -> Option<NodeId> {
        let nodes: Vec<NodeId> = self.host.nodes.keys().copied().collect();
        (!nodes.is_empty()).then(|| self.random.pick(&nodes))
    }

    pub(super) fn any_job(&mut self) -> Option<JobId> {
        let jobs: Vec<JobId> = self.host.jobs.keys().copied().collect();
        (!jobs.is_empty()).then(|| self.random.pick(&jobs))
    }

    fn any_container(&mut self) -> Option<(JobId, ContainerKey)> {
        let jobs = self.host.jobs.iter();
        let keys = |(job, owner): (&JobId, &crate::host::HostJob)| {
            let job = *job;
            let keys: Vec<_> = owner.containers.keys().map(|key| (job, *key)).collect();
            keys
        };
        let all: Vec<(JobId, ContainerKey)> = jobs.flat_map(keys).collect();
        (!all.is_empty()).then(|| self.random.pick(&all))
    }

    fn fault_node_loss(&mut self) -> Checked {
        match self.any_node() {
            Some(node) => self.lose_node(node),
            None => Ok(()),
        }
    }

    fn fault_node_change(&mut self) -> Checked {
        let Some(node) = self.any_node() else {
            return Ok(());
        };
        self.alter_node(node);
        self.tell_node(node, false)
    }

    fn fault_draining(&mut self) -> Checked {
        match self.any_node() {
            Some(node) => self.drain(node),
            None => Ok(()),
        }
    }

    fn drain(&mut self, id: NodeId) -> Checked {
        let Some(node) = self.host.nodes.get_mut(&id) else {
            return Ok(());
        };
        node.facts.schedulable = false;
        let pause_ms = self.random.range(500, 5_000);
        self.agenda.plan(self.now + pause_ms, Due::NodeUp(id));
        self.tell_node(id, false)
    }

    /// Changes the size of the containers that a job asks for.
    fn fault_ask_size(&mut self) -> Checked {
        let size = self.jobs().container_size();
        let index = self.random.below(3);
        let Some(job) = self.any_job() else {
            return Ok(());
        };
        if let Some(master) = self.masters.get_mut(&job)
            && master.registered
            && index < master.kinds.len()
        {
            master.kinds[index].resource = size;
            master.sent[index] = Table::default();
            self.send_asks(job);
        }
        self.flush()
    }

    /// Withdraws an ask of a job; it returns with a later heartbeat.
    fn fault_withdraw(&mut self) -> Checked {
        if let Some(job) = self.any_job() {
            self.withdraw(job);
        }
        self.flush()
    }

    fn withdraw(&mut self, job: JobId) {
        let index = self.random.below(3);
        let count = self.random.below(2) as u32;
        let Some(master) = self.masters.get_mut(&job) else {
            return;
        };
        if !master.registered || index >= master.kinds.len() {
            return;
        }
        master.sent[index] = Table::default();
        let (id, kind) = (master.ask_id(Some(index)), master.kinds[index]);
        let table = match count {
            0 => Table::default(),
            _ => (count, master.wanted(index).1),
        };
        self.set_ask(job, id, &kind, false, table);
    }

    fn fault_kill(&mut self) -> Checked {
        match self.any_job() {
            Some(job) => self.remove_job(job),
            None => Ok(()),
        }
    }

    fn fault_master(&mut self) -> Checked {
        match self.any_job() {
            Some(job) => self.lose_master(job),
            None => Ok(()),
        }
    }

    fn lose_master(&mut self, job: JobId) -> Checked {
        let Some(owner) = self.host.jobs.get(&job) else {
            return Ok(());
        };
        let mut containers = owner.containers.iter();
        let master = containers.find(|(_, container)| container.am);
        let key = master.map(|(key, _)| *key);
        let serial = owner.serial;
        match (key, self.masters.get(&job)) {
            (Some(key), _) => self.complete(job, key, 1),
            (None, Some(master)) if master.container.is_none() => {
                let life = life(serial, master.attempt);
                self.next_attempt(job, life)
            }
            _ => Ok(()),
        }
    }

    /// Makes an ApplicationMaster stop one of its tasks and ask for another container.
    fn fault_release(&mut self) -> Checked {
        let Some((job, key)) = self.any_container() else {
            return Ok(());
        };
        let running = |master: &crate::master::Master| {
            let mut states = master.tasks.iter().map(|task| task.state);
            states.any(|state| state == TaskState::Running(key))
        };
        match self.masters.get(&job).is_some_and(running) {
            true => self.complete(job, key, STOPPED),
            false => Ok(()),
        }
    }

    fn fault_resize(&mut self) -> Checked {
        let Some((job, key)) = self.any_container() else {
            return Ok(());
        };
        let size = self.jobs().container_size();
        let Some(mut container) = self.host.take(job, key) else {
            return Ok(());
        };
        // YARN grows a container only where its node has room, and shrinks it anywhere.
        let free = self.host.nodes.get(&container.node);
        let free = free.map_or(Resource::ZERO, |node| node.free());
        if size.fits_in(&free) || size.fits_in(&container.resource) {
            container.resource = size;
        }
        self.host.put(job, key, container);
        let resource = container.resource;
        self.send(Event::ContainerResized { job, key, resource })
    }

    fn fault_priority(&mut self) -> Checked {
        let Some(job) = self.any_job() else {
            return Ok(());
        };
        let priority = self.random.range(-2, 5) as i32;
        self.set_priority(job, priority)
    }

    pub(super) fn set_priority(&mut self, job: JobId, priority: i32) -> Checked {
        if let Some(owner) = self.host.jobs.get_mut(&job) {
            owner.facts.priority = priority;
        }
        self.forget_waits(Some(job));
        self.send(Event::JobPriority { job, priority })
    }

    fn fault_move(&mut self) -> Checked {
        match self.any_job() {
            Some(job) => self.move_job(job),
            None => Ok(()),
        }
    }

    fn move_job(&mut self, job: JobId) -> Checked {
        let queues = ["root.a", "root.b.x", "root.c", "root.moved.y"];
        let target = self.random.pick(&queues);
        self.move_to(job, target)
    }

    pub(super) fn move_to(&mut self, job: JobId, target: &str) -> Checked {
        let Some((queue, path)) = self.place("mover", Some(target), false)? else {
            return Ok(());
        };
        let Some(owner) = self.host.jobs.get_mut(&job) else {
            return Ok(());
        };
        owner.facts.queue = queue;
        owner.queue = path;
        self.forget_waits(Some(job));
        self.send(Event::JobMoved { job, queue })
    }

    fn fault_reload(&mut self) -> Checked {
        let mut policy = self.plan.policy;
        if self.random.percent(30) {
            policy = self.random.pick(&heddle_sim::policy::Policy::all());
        }
        let capacity = self.outcome.capacity;
        let features = self.options.features;
        let mut plan = Plan::random(policy, &capacity, &features, &mut self.random);
        let busy = self.host.jobs.values().map(|job| job.queue.as_str());
        plan.keep(&self.plan, busy);
        self.deliver(None)?;
        let request = json!({"op": "reload", "config": plan.to_json()});
        let reply = self.link.request(self.engine_now, request)?;
        if reply.is_ok() {
            self.place = plan.place();
            self.layout = plan.layout();
            // Earlier holds last until their time.
            self.hold_ms_max = self.hold_ms_max.max(plan.hold_ms_max());
            self.plan = plan;
            self.forget_waits(None);
        }
        self.check_running_jobs()
    }

    fn fault_blacklist(&mut self) -> Checked {
        let Some(job) = self.any_job() else {
            return Ok(());
        };
        let place = self.places.any(&mut self.random);
        let owner = self.host.jobs.get(&job);
        let added = owner.is_some_and(|owner| !owner.blacklist.contains(&place));
        self.set_blacklist(job, place, added)
    }

    fn set_blacklist(&mut self, job: JobId, place: PlaceId, added: bool) -> Checked {
        let Some(owner) = self.host.jobs.get_mut(&job) else {
            return Ok(());
        };
        match added {
            true => owner.blacklist.insert(place),
            false => owner.blacklist.remove(&place),
        };
        self.send(Event::Blacklist { job, place, added })
    }

    /// Rebuilds the engine from the host's books, like the Java shim.
    fn rebuild(&mut self) -> Checked {
        self.outbox.clear();
        self.dirty.clear();
        self.link.reopen(self.plan.setup_json())?;
        self.outcome.last_seq = 0;
        self.outcome.refused_grants.clear();
        self.outcome.runnable.clear();
        self.held_since.clear();
        self.hold_ms_max = self.plan.hold_ms_max();
        let jobs: Vec<JobId> = self.host.jobs.keys().copied().collect();
        for job in &jobs {
            let owner = &self.host.jobs[job];
            let (user, queue) = (owner.user.clone(), owner.queue.clone());
            let found = self.place(&user, Some(&queue), true)?;
            if let (Some((queue, path)), Some(owner)) = (found, self.host.jobs.get_mut(job)) {
                owner.facts.queue = queue;
                owner.queue = path;
            }
        }
        for owner in self.host.jobs.values_mut() {
            owner.asks.retain(|_, ask| ask.facts.count > 0);
        }
        self.racks_told = self
            .host
            .nodes
            .values()
            .map(|node| node.facts.rack)
            .collect();
        for node in self.host.nodes.values() {
            self.outbox.push(Event::NodeAdded(node.told()));
        }
        for (job, owner) in &self.host.jobs {
            self.outbox.push(Event::JobAdded(owner.facts));
            for (key, container) in &owner.containers {
                let facts = Host::container_facts(*job, *key, container);
                self.outbox.push(Event::ContainerAdded(facts));
            }
            for place in &owner.blacklist {
                let (job, place, added) = (*job, *place, true);
                self.outbox.push(Event::Blacklist { job, place, added });
            }
        }
        self.mark_all_asks();
        self.forget_waits(None);
        self.deliver(None)
    }

    fn fault_jump(&mut self) -> Checked {
        self.skew_ms += self.random.pick(&[10, 1_000, 20_000, 3_600_000]);
        Ok(())
    }

    fn fault_freeze(&mut self) -> Checked {
        self.frozen = Some(self.clock());
        let pause_ms = self.random.range(500, 3_000);
        self.agenda.plan(self.now + pause_ms, Due::Thaw);
        Ok(())
    }

    /// Sends events that must change nothing: known facts and unknown ids.
    fn fault_noise(&mut self) -> Checked {
        self.deliver(None)?;
        let mut noise = self.garbage();
        noise.extend(self.duplicates());
        let event = self.random.pick(&noise);
        self.send(event)
    }

    fn duplicates(&mut self) -> Vec<Event> {
        let mut known = Vec::new();
        for node in self.host.nodes.values() {
            known.push(Event::NodeAdded(node.told()));
            known.push(Event::NodeChanged(node.told()));
        }
        for (job, owner) in &self.host.jobs {
            known.push(Event::JobAdded(owner.facts));
            for (key, container) in &owner.containers {
                let facts = Host::container_facts(*job, *key, container);
                known.push(Event::ContainerAdded(facts));
                let (job, key, resource) = (*job, *key, container.resource);
                known.push(Event::ContainerResized { job, key, resource });
            }
            known.extend(owner.asks.values().map(|ask| Event::Ask(ask.facts)));
        }
        known
    }

    fn garbage(&mut self) -> Vec<Event> {
        let (job, key, seq) = (JobId(GARBAGE), 77, u64::MAX);
        let (place, added) = (PlaceId(1), true);
        let (known, node) = (self.any_job().unwrap_or(job), NodeId(GARBAGE));
        let (queue, exit, refusal) = (QueueId(GARBAGE), 0, Refusal::Other);
        let free = Resource::new(1 << 20, 64);
        let mut garbage = vec![
            Event::NodeRemoved(node),
            Event::Heartbeat { node, free },
            Event::JobRemoved(job),
            Event::JobReset(job),
            Event::JobMoved { job: known, queue },
            Event::JobPriority { job, priority: 3 },
            Event::Blacklist { job, place, added },
            Event::ContainerCompleted {
                job: known,
                key: u64::MAX,
                exit,
            },
            Event::ContainerResized {
                job,
                key,
                resource: free,
            },
            Event::Ack {
                job: known,
                seq,
                key,
            },
            Event::Nack {
                job: known,
                seq,
                refusal,
            },
            Event::Fault(1),
        ];
        garbage.extend(garbage_asks(known));
        garbage
    }
}

/// Returns meaningless asks: without a job, out of range, negative, rows of no ask.
fn garbage_asks(known: JobId) -> Vec<Event> {
    let facts = AskFacts {
        job: JobId(GARBAGE),
        ask: AskId(0),
        count: 1,
        priority: 1,
        partition: Default::default(),
        relax: true,
        am: false,
        update: false,
        resource: Resource::new(1, 1),
    };
    let ask = |ask, resource| {
        let job = known;
        Event::Ask(AskFacts {
            job,
            ask,
            resource,
            ..facts
        })
    };
    let row = |ask, place| Event::AskRow {
        job: known,
        ask,
        place,
        count: 1,
        relax: true,
    };
    vec![
        Event::Ask(facts),
        ask(AskId(GARBAGE), Resource::new(1, 1)),
        ask(AskId(0), Resource::new(-1, 1)),
        row(AskId(9_999), PlaceId(1)),
        row(AskId(0), PlaceId::ANY),
        row(AskId(0), PlaceId(GARBAGE)),
    ]
}
