//! Containers of both worlds: starts, lengths and ends.

use super::{InFlight, Shadow};
use crate::job::{Job, LiveContainer, Master, ShadowContainer};
use heddle_core::words::event::{ContainerFacts, Decision, Event};
use heddle_core::words::exit::{ENDED_WELL, LOST, PREEMPTED};
use heddle_core::words::ids::{AskId, ContainerKey, JobId, Millis, NodeId};

impl Shadow {
    pub(super) fn hear_decision(&mut self, decision: &Decision) {
        match *decision {
            Decision::Grant {
                ask,
                node,
                locality,
                seq,
                ..
            } => {
                let grant = InFlight {
                    ask,
                    node,
                    locality,
                };
                self.in_flight.insert(seq, grant);
            }
            Decision::Evict { .. } => self.live.preemptions += 1,
            Decision::Headroom { .. } => {}
        }
    }

    pub(super) fn live_started(&mut self, live: JobId, seq: u64, key: ContainerKey) {
        let now_ms = self.now_ms;
        let Some(grant) = self.in_flight.remove(&seq) else {
            return;
        };
        self.live.grants += 1;
        let place = self.nodes.place(grant.node);
        let Some(job) = self.job_mut(live) else {
            return;
        };
        let Some(demand) = job.asks.get_mut(&grant.ask) else {
            return;
        };
        let number = demand.live_grant(place.unwrap_or_default(), grant.locality);
        let container = LiveContainer {
            of: Some((grant.ask, number)),
            started_ms: now_ms,
            resource: demand.facts.resource,
            am: demand.facts.am,
        };
        job.live_times.started_ms.get_or_insert(now_ms);
        if container.am {
            job.live_master_ms = Some(now_ms);
        }
        job.live_containers.insert(key, container);
        let queue = job.live_queue.clone();
        self.live.start(&queue, &container.resource, now_ms);
    }

    pub(super) fn live_ended(&mut self, live: JobId, key: ContainerKey, exit: i32) {
        let now_ms = self.now_ms;
        let Some(&number) = self.numbers.get(&live) else {
            return;
        };
        let job = self.jobs.get_mut(&number).expect("every number has a job");
        let Some(container) = job.live_containers.remove(&key) else {
            return;
        };
        self.live.end(&job.live_queue, &container.resource, now_ms);
        if !container.am {
            job.live_times.ended_ms = Some(now_ms);
        }
        match container.of {
            Some((ask, _)) if !ENDED_WELL.contains(&exit) => {
                if let Some(demand) = job.asks.get_mut(&ask) {
                    demand.live_failed();
                }
            }
            Some((ask, at)) => {
                let length_ms = now_ms - container.started_ms;
                let demand = job.asks.get_mut(&ask);
                let now_known = demand.map(|demand| demand.live_end(at, length_ms));
                for at in now_known.into_iter().flatten() {
                    self.schedule(number, ask, at);
                }
                self.end_due();
            }
            // It runs in both worlds.
            None => self.end(number, key, 0, now_ms),
        }
    }

    /// Hears of a container that runs already: an unknown one is in both worlds.
    pub(super) fn add_container(&mut self, facts: &ContainerFacts) {
        let Some(&number) = self.numbers.get(&facts.job) else {
            return;
        };
        let job = self.jobs.get_mut(&number).expect("every number has a job");
        // The host also tells of a container that grew, and of those of a node that is back. Both
        // worlds keep the first size, so that they differ by the policy alone.
        match job.live_containers.get(&facts.key) {
            Some(known) if known.of.is_some() || job.containers.contains_key(&facts.key) => return,
            Some(_) => {}
            None => {
                let live = LiveContainer {
                    of: None,
                    started_ms: facts.started_ms,
                    resource: facts.resource,
                    am: facts.am,
                };
                job.live_containers.insert(facts.key, live);
                self.live
                    .start(&job.live_queue, &facts.resource, self.now_ms);
            }
        }
        let mine = ShadowContainer {
            of: None,
            node: facts.node,
            started_ms: facts.started_ms,
            resource: facts.resource,
            am: facts.am,
            end_ms: None,
        };
        job.containers.insert(facts.key, mine);
        job.master = Master::Runs;
        job.before = true;
        self.nodes.start(facts.node, &facts.resource);
        self.usage.start(&job.queue, &facts.resource, self.now_ms);
        self.pending.push(Event::ContainerAdded(ContainerFacts {
            job: number,
            ..*facts
        }));
    }

    pub(super) fn shadow_started(&mut self, decision: &Decision) -> Option<Event> {
        let Decision::Grant {
            job: number,
            ask,
            node,
            locality,
            seq,
        } = *decision
        else {
            return None;
        };
        let now_ms = self.now_ms;
        let place = self.nodes.place(node).unwrap_or_default();
        let job = self.jobs.get_mut(&number)?;
        let demand = job.asks.get_mut(&ask)?;
        let at = demand.shadow_grant(place, locality);
        let container = ShadowContainer {
            of: Some((ask, at)),
            node,
            started_ms: now_ms,
            resource: demand.facts.resource,
            am: demand.facts.am,
            end_ms: None,
        };
        let key = self.next_key;
        self.next_key += 1;
        match container.am {
            true if job.master == Master::Waits => {
                job.master = Master::Started { at_ms: now_ms };
                self.masters.insert(number);
            }
            true => {}
            false => {}
        }
        job.times.started_ms.get_or_insert(now_ms);
        job.containers.insert(key, container);
        job.keys.insert((ask, at), key);
        self.usage.grants += 1;
        self.usage.start(&job.queue, &container.resource, now_ms);
        self.nodes.start(node, &container.resource);
        self.schedule(number, ask, at);
        if self.jobs.get(&number).is_some_and(|job| job.closed) && !container.am {
            // The live engine never ran one that ended: there is no length.
            let known = self.jobs[&number].containers[&key].end_ms;
            self.ends_at(number, key, known.unwrap_or(now_ms));
        }
        Some(Event::Ack {
            job: number,
            seq,
            key,
        })
    }

    /// Notes when a container of the shadow ends, if its length is known.
    fn schedule(&mut self, number: JobId, ask: AskId, at: usize) {
        let Some(job) = self.jobs.get_mut(&number) else {
            return;
        };
        let (Some(&key), Some(demand)) = (job.keys.get(&(ask, at)), job.asks.get_mut(&ask)) else {
            return;
        };
        // An ApplicationMaster ends with its job.
        if demand.facts.am {
            return;
        }
        let Some(length_ms) = demand.length_ms(at) else {
            return;
        };
        let started_ms = job
            .containers
            .get(&key)
            .map(|container| container.started_ms);
        if let Some(started_ms) = started_ms {
            self.ends_at(number, key, started_ms + length_ms);
        }
    }

    pub(super) fn ends_at(&mut self, number: JobId, key: ContainerKey, end_ms: Millis) {
        let job = self.jobs.get_mut(&number);
        if let Some(container) = job.and_then(|job| job.containers.get_mut(&key)) {
            if let Some(before) = container.end_ms.replace(end_ms) {
                self.due.remove(&(before, number, key));
            }
            self.due.insert((end_ms, number, key));
        }
    }

    /// Ends a container of the shadow, at a time that may be past.
    pub(super) fn end(&mut self, number: JobId, key: ContainerKey, exit: i32, at_ms: Millis) {
        let Some(job) = self.jobs.get_mut(&number) else {
            return;
        };
        let Some(container) = job.containers.remove(&key) else {
            return;
        };
        if let Some(of) = container.of {
            job.keys.remove(&of);
        }
        if let Some(end_ms) = container.end_ms {
            self.due.remove(&(end_ms, number, key));
        }
        self.nodes.end(container.node, &container.resource);
        self.usage.end(&job.queue, &container.resource, self.now_ms);
        let ended = Event::ContainerCompleted {
            job: number,
            key,
            exit,
        };
        self.pending.push(ended);
        if exit == 0 && !container.am {
            job.times.ended_ms = job.times.ended_ms.max(Some(at_ms));
        }
        if let Some((ask, at)) = container.of
            && exit != 0
            && let Some(demand) = job.asks.get_mut(&ask)
        {
            demand.shadow_lost(at);
            if container.am {
                job.master = Master::Waits;
            }
            if container.am || job.master == Master::Runs {
                demand.events(number, &mut self.pending);
            }
        }
    }

    /// Ends what is due by now: containers, and those that were told to go.
    pub(super) fn end_due(&mut self) {
        while let Some(&(at_ms, job, key)) = self.due.first()
            && at_ms <= self.now_ms
        {
            self.due.pop_first();
            self.end(job, key, 0, at_ms);
            self.finish_if_done(job);
        }
        while let Some(&(at_ms, job, key)) = self.kills.first()
            && at_ms <= self.now_ms
        {
            self.kills.pop_first();
            self.end(job, key, PREEMPTED, at_ms);
        }
        self.release_masters();
    }

    pub(super) fn lose_node(&mut self, node: NodeId) {
        let on_it = |job: &Job| -> Vec<ContainerKey> {
            let keys = job.containers.iter().filter(|(_, of)| of.node == node);
            keys.map(|(key, _)| *key).collect()
        };
        let lost: Vec<(JobId, Vec<ContainerKey>)> = self
            .jobs
            .iter()
            .map(|(number, job)| (*number, on_it(job)))
            .collect();
        for (number, keys) in lost {
            for key in keys {
                self.end(number, key, LOST, self.now_ms);
            }
        }
        self.nodes.remove(node);
        self.pending.push(Event::NodeRemoved(node));
    }
}
