//! Checks every decision against YARN's rules and the configured limits, by the host's books.

use crate::host::Grant;
use crate::host::{HostAsk, HostJob, HostNode};
use crate::queues::path_up;
use crate::world::World;
use heddle_core::words::event::Event;
use heddle_core::words::ids::{ContainerKey, JobId, Locality, PartitionId};
use heddle_core::words::keys::{Layout, ShareNodeId};
use heddle_core::words::resource::{RESOURCE_TYPES_MAX, Resource};
use heddle_sim::failure::{Check, Checked, Failure};
use std::collections::BTreeMap;

/// Why an ask may not run on a node now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// Nothing is pending.
    Withdrawn,
    /// The node takes no containers.
    NotSchedulable,
    /// The node has another label.
    Label,
    /// The node has too little room.
    Room,
    /// The job blacklists the node's host or rack.
    Blacklisted,
    /// The ask insists on other places and never relaxes.
    Elsewhere,
    /// The job waits because its queue runs as many jobs as it may.
    MaxRunningJobs,
    /// A queue would exceed its maximum share.
    MaxShare,
    /// ApplicationMasters would exceed their part of the queue's share.
    MaxAmShare,
    /// The order stage lets no more tasks of this kind start now.
    Order,
    /// The job's user has more of the queue than one user may.
    User,
}

impl World {
    /// Returns why an ask may not run on a node with this much free room, by the rules and not by
    /// the policy.
    pub(crate) fn hindrance(
        &self,
        job: &HostJob,
        ask: &HostAsk,
        node: &HostNode,
        free: &Resource,
    ) -> Option<Hindrance> {
        let facts = &node.facts;
        if ask.facts.count == 0 {
            Some(Hindrance::Withdrawn)
        } else if !facts.schedulable {
            Some(Hindrance::NotSchedulable)
        } else if facts.partition != ask.facts.partition {
            Some(Hindrance::Label)
        } else if !ask.facts.resource.fits_in(free) {
            Some(Hindrance::Room)
        } else if job.blacklist.contains(&facts.host) || job.blacklist.contains(&facts.rack) {
            Some(Hindrance::Blacklisted)
        } else if !ask.allows(facts) {
            Some(Hindrance::Elsewhere)
        } else {
            self.limit(job, ask)
        }
    }

    /// Returns the limit that keeps an ask from every node, if any.
    fn limit(&self, job: &HostJob, ask: &HostAsk) -> Option<Hindrance> {
        let engine = &self.link.engine;
        let known = engine.cluster().job(job.facts.job);
        let Some(known) = known.filter(|job| job.runnable) else {
            return Some(Hindrance::MaxRunningJobs);
        };
        if !ask.facts.am && !known.admitted[known.kind(ask.facts.priority) as usize] {
            return Some(Hindrance::Order);
        }
        let resource = &ask.facts.resource;
        for path in path_up(&job.queue) {
            let max_share = self.plan.max_share(path, &engine.cluster().capacity);
            let bounds = match self.layout {
                Layout::Queues => true,
                Layout::Single => path == "root",
                Layout::Flat => path == "root" || path == job.queue,
            };
            if bounds && !resource.fits_in(&(max_share - self.host.used_below(path))) {
                return Some(Hindrance::MaxShare);
            }
        }
        if ask.facts.am && !self.admits_master(job, resource) {
            return Some(Hindrance::MaxAmShare);
        }
        // The engine's invariants compare these with its books.
        let held = known.master_held && (ask.facts.am || known.facts.unmanaged_am);
        if known.over.on(ask.facts.partition) || held {
            return Some(Hindrance::User);
        }
        None
    }

    /// Returns whether ApplicationMasters stay within their part of the queue's share, as the
    /// engine last computed it, and those of the queues above leave room for tasks. A leaf's first
    /// needs no part of its own.
    pub(crate) fn admits_master(&self, job: &HostJob, resource: &Resource) -> bool {
        let follows = self.layout != Layout::Single;
        let (queue, path) = match follows {
            true => (job.facts.queue.0, job.queue.as_str()),
            false => (0, "root"),
        };
        let part = self.plan.limits(path).max_am_share;
        let (used, masters) = self
            .host
            .masters(|other| !follows || other.queue == job.queue);
        let compared = self.plan.compared(path).filter(|_| follows);
        let by_stock_fair = compared.is_some_and(|compare| compare != "capacity");
        if part < 0.0 {
            return true;
        }
        let node = self.link.engine.shares().node(ShareNodeId(queue));
        let most = match compared {
            None => node.active_share.scaled_up(part),
            Some("capacity") => self.most_of_capacity(path, &node.guaranteed, part),
            Some(_) => self.most_of_fair(path, &node.active_share, part),
        };
        let fits = (used + *resource).fits_in(&most);
        let first = masters == 0 && (part > 0.0 || !by_stock_fair);
        (fits || first) && self.leaves_room_for_tasks(job, resource, (part, fits, by_stock_fair))
    }

    /// Returns whether one more ApplicationMaster leaves half of each queue above to tasks, or what
    /// is not its leaf's part if that is less. One within that part may take half of the rest, as
    /// far as 8 GB and 4 vcores stay; where leaves compare as in YARN's Fair Scheduler, as far as
    /// twice its own size stays. The first below a queue always starts.
    fn leaves_room_for_tasks(
        &self,
        job: &HostJob,
        resource: &Resource,
        (part, fits, by_stock_fair): (f64, bool, bool),
    ) -> bool {
        let part = part.max(0.5);
        let mut above = path_up(&job.queue).filter(|path| match self.layout {
            Layout::Queues => *path != job.queue,
            Layout::Flat => *path == "root" && *path != job.queue,
            Layout::Single => false,
        });
        above.all(|path| {
            let below = |queue: &str| {
                let rest = queue.strip_prefix(path);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let (used, masters) = self.host.masters(|other| below(&other.queue));
            let engine = &self.link.engine;
            let queue = engine.cluster().queues.by_path(path).expect("it has a job");
            let share = engine.shares().node(ShareNodeId(queue.id.0)).active_share;
            let within = |i: usize| {
                let half = (share[i] as f64 * part).ceil() as i64;
                let task = [8_192, 4].get(i).copied().unwrap_or(0);
                let more = (share[i] as f64 * (1.0 + part) / 2.0) as i64;
                let most = match (fits, by_stock_fair) {
                    (true, true) => half.max((share[i] - 2 * resource[i]).max(0)),
                    (true, false) => half.max(more.min((share[i] - task).max(0))),
                    (false, _) => half,
                };
                used[i] + resource[i] <= most || i > 0 && !self.plan.policy.dominant
            };
            masters == 0 || (0..RESOURCE_TYPES_MAX).all(within)
        })
    }

    /// Of each type a part of the share or, where that has none, of what is free.
    fn most_of_fair(&self, path: &str, share: &Resource, part: f64) -> Resource {
        let capacity = &self.link.engine.cluster().capacity;
        let free = capacity.minus_or_zero(&self.host.used_below("root"));
        let of = free.component_min(&self.plan.max_share(path, capacity));
        let part = f64::from(part as f32);
        let amount = |i: usize| if share[i] > 0 { share[i] } else { of[i] };
        Resource(std::array::from_fn(|i| {
            (amount(i) as f64 * part).ceil() as i64
        }))
    }

    /// A part of what the queue could use now, at least of its guarantee, in whole steps of the
    /// smallest container: 512 MB and 1 of the others.
    fn most_of_capacity(&self, path: &str, guaranteed: &Resource, part: f64) -> Resource {
        let capacity = &self.link.engine.cluster().capacity;
        let own = self.host.used_below(path);
        let room = path_up(path).fold(*capacity, |room, at| {
            let max_share = self.plan.max_share(at, capacity);
            room.component_min(&(max_share.minus_or_zero(&self.host.used_below(at)) + own))
        });
        let of = room.component_max(guaranteed);
        let part = f64::from(part as f32);
        let step = |i: usize| if i == 0 { 512 } else { 1 };
        let exact = |i: usize| (of[i] as f64 * part).ceil() as i64;
        let rounded = |i: usize| exact(i).unsigned_abs().div_ceil(step(i)) as i64 * step(i) as i64;
        let counts = |i: usize| i == 0 || self.plan.policy.dominant;
        Resource(std::array::from_fn(|i| {
            if counts(i) { rounded(i) } else { i64::MAX }
        }))
    }

    /// Checks one grant; the books already contain the grants before it.
    pub(crate) fn check_grant(&mut self, grant: &Grant, last: Option<Event>) -> Checked {
        let wrong = |what: String| {
            let what = format!("grant {grant:?}: {what}");
            Err(Failure::new(Check::Decision, what))
        };
        let job = self.host.jobs.get(&grant.job);
        let ask = job.and_then(|job| job.asks.get(&grant.ask));
        let (Some(job), Some(ask), Some(node)) = (job, ask, self.host.nodes.get(&grant.node))
        else {
            return wrong("there is no such job, ask or node".to_string());
        };
        if ask.facts.count == 0 {
            return wrong("nothing is pending".to_string());
        }
        if !self.options.checks.decisions {
            return Ok(());
        }
        let hindrance = self.hindrance(job, ask, node, &node.free());
        // This very grant may have brought its user above the limit.
        if let Some(hindrance) = hindrance.filter(|at| *at != Hindrance::User) {
            let (rows, free) = (&ask.rows, node.free());
            return wrong(format!(
                "{hindrance:?}; node {:?} has {free:?} free; {:?} {rows:?}",
                node.facts, ask.facts
            ));
        }
        let serves = match last {
            Some(Event::Heartbeat { node, .. }) => node == grant.node,
            Some(Event::Offer(_)) => true,
            _ => false,
        };
        if !serves {
            return wrong("this node did not report".to_string());
        } else if grant.locality != ask.locality(&node.facts) {
            return wrong(format!("it is {:?}", ask.locality(&node.facts)));
        }
        self.check_patience(grant, ask)?;
        if grant.seq <= self.outcome.last_seq {
            return wrong("numbers of grants must rise".to_string());
        }
        self.outcome.last_seq = grant.seq;
        Ok(())
    }

    /// Checks that an ask with named places runs elsewhere only after the wait that is never too
    /// long. A longer one may be worth more than its tasks, and so may that of an ask which has
    /// waited for tasks before.
    fn check_patience(&self, grant: &Grant, ask: &HostAsk) -> Checked {
        let floor = ask.floor(|place| self.racks_told.contains(&place));
        let start = self.place.start(match ask.named_racks_only {
            true => floor.max(Locality::RackLocal),
            false => floor,
        });
        let least_ms = self.place.least_ms(start);
        let engine = self.link.engine.cluster().job(grant.job);
        let first = engine
            .and_then(|job| job.ask(grant.ask))
            .is_none_or(|ask| ask.served <= 1 && ask.lost_ms < least_ms);
        let due_ms = ask.since_ms + least_ms;
        match start < grant.locality && first && self.engine_now < due_ms && ask.facts.relax {
            true => {
                let what = format!("grant {grant:?} comes before {due_ms}, when waiting ends");
                Err(Failure::new(Check::Decision, what))
            }
            false => Ok(()),
        }
    }

    pub(crate) fn check_headroom(&self, job: JobId, headroom: &Resource) -> Checked {
        if !self.options.checks.decisions {
            return Ok(());
        }
        let wrong = |what: &str| {
            let what = format!("headroom {headroom:?} of job {}: {what}", job.0);
            Err(Failure::new(Check::Decision, what))
        };
        let Some(owner) = self.host.jobs.get(&job) else {
            return wrong("there is no such job");
        };
        if headroom.any_negative() {
            return wrong("it is below zero");
        }
        // MapReduce receives more headroom than exists when it would otherwise kill its reduces.
        let asks = owner.asks.values().map(|ask| ask.facts.partition);
        let mut labels: Vec<PartitionId> = asks.collect();
        labels.push(PartitionId::DEFAULT);
        let usable = self.host.nodes.values().filter(|node| {
            let facts = &node.facts;
            facts.schedulable
                && labels.contains(&facts.partition)
                && !owner.blacklist.contains(&facts.host)
                && !owner.blacklist.contains(&facts.rack)
        });
        let capacity = usable.fold(Resource::ZERO, |sum, n| sum + n.facts.capacity);
        if !owner.facts.mapreduce && !headroom.fits_in(&capacity) {
            return wrong("it is more than the nodes have that it may use");
        }
        Ok(())
    }

    pub(crate) fn check_eviction(&self, job: JobId, key: ContainerKey) -> Checked {
        if !self.options.checks.decisions {
            return Ok(());
        }
        let wrong = |what: &str| {
            let what = format!("eviction of container {key} of job {}: {what}", job.0);
            Err(Failure::new(Check::Decision, what))
        };
        let owner = self.host.jobs.get(&job);
        let container = owner.and_then(|owner| owner.containers.get(&key));
        match container {
            None => wrong("there is no such container"),
            Some(container) if container.am => wrong("it is an ApplicationMaster"),
            Some(_) if !self.plan.preemption => wrong("preemption is off"),
            Some(_) if owner.is_some_and(|owner| self.plan.spares(&owner.queue)) => {
                wrong("its queue spares it (preempt_from)")
            }
            Some(_) => Ok(()),
        }
    }

    /// Checks that preemption lets another job in. On the node of each evicted container, an ask of
    /// another job must be able to run once all evicted containers have gone.
    pub(crate) fn check_evictions_serve(&self, evicted: &[(JobId, ContainerKey)]) -> Checked {
        if !self.options.checks.decisions {
            return Ok(());
        }
        for (job, key) in evicted {
            let container = self.host.jobs[job].containers[key];
            let node = &self.host.nodes[&container.node];
            let mut room = node.facts.capacity - node.used;
            for (owner, key) in &node.containers {
                let serial = self.host.jobs[owner].serial;
                if self.going.contains(&(*owner, serial, *key)) {
                    room += self.host.jobs[owner].containers[key].resource;
                }
            }
            let serves = |owner: &HostJob| {
                owner.asks.values().any(|ask| {
                    // The evicted containers may be what fills the limit.
                    let hindrance = self.hindrance(owner, ask, node, &room);
                    hindrance.is_none_or(|hindrance| hindrance == Hindrance::MaxShare)
                })
            };
            let mut others = self.host.jobs.values().filter(|o| o.facts.job != *job);
            if !others.any(serves) {
                let what = format!(
                    "eviction of container {key} of job {}: no ask may use the room {room:?} on \
                     node {:?}",
                    job.0, node.facts
                );
                return Err(Failure::new(Check::Decision, what));
            }
        }
        Ok(())
    }

    /// Checks that no queue runs more jobs than it may, and that none waits without need.
    pub(crate) fn check_running_jobs(&mut self) -> Checked {
        if !self.options.checks.running_jobs {
            return Ok(());
        }
        let mut running: BTreeMap<String, u32> = BTreeMap::new();
        let mut waiting = Vec::new();
        for job in self.link.engine.cluster().jobs() {
            let Some(owner) = self.host.jobs.get(&job.facts.job) else {
                continue;
            };
            if job.runnable {
                for path in path_up(&owner.queue) {
                    *running.entry(path.to_string()).or_default() += 1;
                }
            } else {
                waiting.push(owner);
            }
        }
        let wrong = |what| Err(Failure::new(Check::RunningJobs, what));
        for (path, count) in &running {
            // A reload that lowers the limit stops no running job.
            let before = self.outcome.runnable.get(path).copied().unwrap_or(0);
            let most = self.plan.limits(path).max_running_jobs.unwrap_or(u32::MAX);
            if *count > most.max(before) {
                return wrong(format!("{path} runs {count} jobs, {most} allowed"));
            }
        }
        for owner in waiting {
            let full = path_up(&owner.queue).any(|path| {
                let count = running.get(path).copied().unwrap_or(0);
                let most = self.plan.limits(path).max_running_jobs;
                most.is_some_and(|most| count >= most)
            });
            if !full {
                let (job, queue) = (owner.facts.job.0, &owner.queue);
                return wrong(format!("job {job} waits though {queue} may run one more"));
            }
        }
        self.outcome.runnable = running;
        Ok(())
    }
}
