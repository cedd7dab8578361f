//! Checks that every wait has a stated and bounded reason.
//!
//! Work conservation: after a node's report no ask is pending that may run in the remaining room,
//! except that
//! - the host accepted no more decisions (`Engine::more`);
//! - the heartbeat has granted as much as `heartbeat_fill` and `containers_max` allow;
//! - the node leaves room to less used ones, for an ask that has waited for less than 2 s;
//! - the limit of a queue above, or that of its ApplicationMasters, keeps what it has free for the
//!   ask that is next there, each time for at most `reservation.hold_max_ms` since it gained room;
//! - the node is held for an ask that fits nowhere, each time for at most `reservation.hold_max_ms`
//!   since it gained room;
//! - the host refused this node for this job within the last second;
//! - the ask names nearer places and waits for them. At each level it waits no longer than the
//!   place stage's wait, from the first time that the engine noticed it being held back. The engine
//!   notices such moments no finer than a sixteenth of the longest wait.
//!
//! Starvation: once the load is over and nothing has happened for longer than all these bounds
//! together, no pending ask could run.

use crate::host::Grant;
use crate::host::HeldBack;
use crate::queues::path_up;
use crate::world::{HeldNode, World};
use heddle_core::engine::TICK_MS;
use heddle_core::words::ids::{AskId, JobId, Locality, NodeId};
use heddle_core::words::resource::Resource;
use heddle_sim::failure::{Check, Checked, Failure};

/// How long an ask waits for less used nodes, and those behind it in the line with it.
pub(crate) const LEAVES_MS: i64 = 2_000;

impl World {
    /// Checks the room that a node's heartbeat left; `room` is what it had before.
    pub(crate) fn check_conservation(
        &mut self,
        node: NodeId,
        room: &Resource,
        grants: &[Grant],
    ) -> Checked {
        if !self.options.checks.conservation {
            return Ok(());
        }
        let filled = self.filled_enough(room, node, grants);
        let held = self.check_hold(node)?;
        if held || self.link.engine.more() || filled {
            return Ok(());
        }
        let could_run = self.could_run(node, true);
        if self.plan.spreads() && could_run.iter().any(|ask| self.is_young(ask)) {
            return Ok(());
        }
        let mut held_back = Vec::new();
        for (job, ask) in could_run {
            if self.check_kept(job, ask)? {
                continue;
            }
            let engine_ask = self.link.engine.cluster().job(job);
            let engine_ask = engine_ask.and_then(|job| job.ask(ask));
            let known = &self.host.jobs[&job].asks[&ask];
            let locality = known.locality(&self.host.nodes[&node].facts);
            let level = engine_ask.map_or(Locality::OffSwitch, |ask| ask.level);
            if locality <= level || (!known.facts.relax && locality == Locality::NodeLocal) {
                let (facts, free) = (&known.facts, self.host.nodes[&node].free());
                let what = format!("node {} keeps {free:?} though {facts:?} may run", node.0);
                return Err(Failure::new(Check::Conservation, what));
            }
            held_back.push((job, ask, level));
        }
        for (job, ask, level) in held_back {
            self.check_wait(job, ask, level, node)?;
        }
        self.outcome.conserved += 1;
        Ok(())
    }

    /// Returns the asks that may run on a node in its present room. A recent refusal counts as a
    /// hindrance if `refusals` is set.
    fn could_run(&self, node: NodeId, refusals: bool) -> Vec<(JobId, AskId)> {
        let Some(known) = self.host.nodes.get(&node) else {
            return Vec::new();
        };
        let free = known.free();
        let mut found = Vec::new();
        for (job, owner) in &self.host.jobs {
            let until = owner.refused.get(&node).copied().unwrap_or(i64::MIN);
            if refusals && until > self.engine_now {
                continue;
            }
            for (id, ask) in &owner.asks {
                // Cheap tests first: the limits are computed from all containers.
                if self.hindrance(owner, ask, known, &free).is_none() {
                    found.push((*job, *id));
                }
            }
        }
        found
    }

    /// Returns whether room may be left to less used nodes for an ask.
    fn is_young(&self, (job, ask): &(JobId, AskId)) -> bool {
        let job = self.link.engine.cluster().job(*job);
        let ask = job.and_then(|job| job.ask(*ask));
        ask.is_some_and(|ask| self.engine_now - ask.waiting_since_ms < LEAVES_MS)
    }

    /// Returns whether the grants of a heartbeat, and of offers before it, have used as much as one
    /// heartbeat may.
    fn filled_enough(&mut self, room: &Resource, node: NodeId, grants: &[Grant]) -> bool {
        let fill = self.plan.heartbeat_fill;
        let (offered, offers) = self.offered.remove(&node).unwrap_or_default();
        let enough = (*room + offered).scaled(fill);
        let here = grants.iter().filter(|grant| grant.node == node);
        let count = here.clone().count() as u32;
        let count = count + offers;
        let granted = here.fold(offered, |sum, grant| {
            let owner = self.host.jobs.get(&grant.job);
            let ask = owner.and_then(|owner| owner.asks.get(&grant.ask));
            sum + ask.map_or(Resource::ZERO, |ask| ask.facts.resource)
        });
        let filled = (0..2).any(|i| granted[i] > 0 && granted[i] >= enough[i]);
        self.plan.containers_max.is_some_and(|most| count >= most) || (fill < 1.0 && filled)
    }

    /// Returns whether a limit keeps its room from an ask for a larger one, and checks that this
    /// ends in time.
    fn check_kept(&self, job: JobId, ask: AskId) -> Checked<bool> {
        let engine = &self.link.engine;
        let job = &self.host.jobs[&job];
        let facts = &job.asks[&ask].facts;
        for (_, queue, masters, size, since) in engine.kept_at_limits() {
            let Some(queue) = engine.cluster().queues.get(queue) else {
                continue;
            };
            let path = queue.config.path.as_str();
            let both = facts.resource + size;
            let fits = match masters {
                true => !facts.am || self.admits_master(job, &both),
                false => {
                    let max_share = self.plan.max_share(path, &engine.cluster().capacity);
                    both.fits_in(&(max_share - self.host.used_below(path)))
                }
            };
            let below = path_up(&job.queue).any(|at| at == path);
            if !below || fits {
                continue;
            }
            let most = self.hold_ms_max + self.plan.reservation_ms.0 + TICK_MS;
            if self.engine_now - since > most {
                let what = format!("{path} keeps room for {size:?} from {since}");
                return Err(Failure::new(Check::Delay, what));
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns whether the node is held, and checks that the hold ends in time.
    fn check_hold(&mut self, node: NodeId) -> Checked<bool> {
        let mut holds = self.link.engine.held_nodes();
        let Some((_, job, resource)) = holds.find(|(held, _, _)| *held == node) else {
            drop(holds);
            self.held_since.remove(&node);
            return Ok(false);
        };
        drop(holds);
        let now = self.engine_now;
        let free = self.host.nodes[&node].free();
        let fresh = HeldNode {
            job,
            resource,
            since_ms: now,
            free,
        };
        let held = self.held_since.entry(node).or_insert(fresh);
        if (held.job, held.resource) != (job, resource) || !free.fits_in(&held.free) {
            *held = fresh;
        }
        let (since, most) = (held.since_ms, self.hold_ms_max);
        if now - since > most && !self.could_run(node, true).is_empty() {
            let what = format!(
                "node {} has been held for job {} from {since} to {now}, {most} ms allowed",
                node.0, job.0
            );
            return Err(Failure::new(Check::Delay, what));
        }
        Ok(true)
    }

    /// Checks how long an ask has been held back from nodes with room for it.
    fn check_wait(&mut self, job: JobId, ask: AskId, level: Locality, node: NodeId) -> Checked {
        let now = self.engine_now;
        let wait_ms = self.place.wait_ms(level);
        let rack_wait_ms = self.place.wait_ms(Locality::RackLocal);
        let longest_ms = rack_wait_ms.max(self.place.wait_ms(Locality::NodeLocal));
        let grain_ms = (longest_ms / 16).max(1);
        let owner = self.host.jobs.get_mut(&job);
        let Some(ask) = owner.and_then(|owner| owner.asks.get_mut(&ask)) else {
            return Ok(());
        };
        let fresh = HeldBack {
            level,
            first_ms: now,
            noticed_ms: None,
        };
        let held = ask.held_back.get_or_insert(fresh);
        if held.level != level {
            *held = fresh;
        }
        if let Some(noticed) = held.noticed_ms {
            if now - noticed > wait_ms {
                let (from, facts) = (held.first_ms, &ask.facts);
                let what = format!(
                    "{facts:?} has insisted on {level:?} from {from} to {now}, kept from node \
                     {}, {wait_ms} ms allowed",
                    node.0
                );
                return Err(Failure::new(Check::Delay, what));
            }
        } else if now - held.first_ms >= grain_ms {
            held.noticed_ms = Some(now);
        }
        Ok(())
    }

    /// Checks, after a long quiet time, that no pending ask could run.
    pub(crate) fn check_nobody_starves(&self) -> Checked {
        if !self.options.checks.starvation {
            return Ok(());
        }
        for node in self.host.nodes.keys() {
            if let Some((job, ask)) = self.could_run(*node, false).first() {
                let facts = self.host.jobs[job].asks[ask].facts;
                let quiet = self.engine_now;
                let what = format!("{facts:?} could run on node {} and is not served", node.0);
                return Err(Failure::new(
                    Check::Starvation,
                    format!("{what} by {quiet}"),
                ));
            }
        }
        Ok(())
    }
}
