//! Turns decisions into answers. Checks every decision against the books that the engine was told.
//! Then the host's state may change, as on a real host, and then grants are committed or refused.

use super::{MASTER_HEARTBEAT_MS, World};
use crate::due::Due;
use crate::host::Grant;
use crate::master::Allocated;
use heddle_core::words::event::{Decision, Event, Refusal};
use heddle_core::words::ids::{ContainerKey, JobId, Locality};
use heddle_sim::failure::{Check, Checked, Failure};

impl World {
    /// Checks the decisions of a frame and the invariants after it, then executes the decisions.
    /// `heartbeat` is the node that reported at the frame's end, if any.
    pub(super) fn judge(&mut self, decisions: Vec<Decision>, last: Option<Event>) -> Checked {
        let heartbeat = match last {
            Some(Event::Heartbeat { node, .. }) => Some(node),
            _ => None,
        };
        let mut grants = Vec::new();
        let mut undo = Vec::new();
        let mut evicted = Vec::new();
        let before = heartbeat.and_then(|node| self.host.nodes.get(&node));
        let room = before.map(|node| node.free());
        for decision in decisions {
            match decision {
                Decision::Grant {
                    job,
                    ask,
                    node,
                    locality,
                    seq,
                } => {
                    let serial = self.host.jobs.get(&job).map_or(0, |job| job.serial);
                    let grant = Grant {
                        job,
                        serial,
                        ask,
                        node,
                        locality,
                        seq,
                        places: self.host.places_of(node),
                        asked: self.host.asked(job, ask),
                    };
                    self.check_grant(&grant, last)?;
                    undo.push(self.host.grant(&grant, self.engine_now));
                    if let Some(Event::Offer(_)) = last {
                        let ask = self.host.jobs[&job].asks[&ask].facts;
                        let offered = self.offered.entry(node).or_default();
                        *offered = (offered.0 + ask.resource, offered.1 + 1);
                    }
                    grants.push(grant);
                }
                Decision::Evict {
                    job, key, grace_ms, ..
                } => {
                    self.plan_eviction(job, key, grace_ms)?;
                    evicted.push((job, key));
                }
                Decision::Headroom { job, resource } => self.check_headroom(job, &resource)?,
            }
        }
        self.check_evictions_serve(&evicted)?;
        self.check_books()?;
        self.check_running_jobs()?;
        if let (Some(node), Some(room)) = (heartbeat, room) {
            self.check_conservation(node, &room, &grants)?;
        }
        for granted in undo.into_iter().rev() {
            self.host.take_back(granted);
        }
        self.answer(grants)
    }

    fn answer(&mut self, grants: Vec<Grant>) -> Checked {
        if grants.is_empty() {
            return Ok(());
        }
        let features = self.options.features;
        self.deferring = true;
        if features.races && !self.draining && self.random.percent(40) {
            self.race(&grants)?;
        }
        let mut answers = Vec::new();
        for grant in &grants {
            // The engine counted on rows that the ask may no longer have: send them again.
            if let Some(rows) = self.dirty.get_mut(&(grant.job, grant.ask)) {
                rows.extend(grant.places);
            }
            answers.push(self.commit(grant));
        }
        self.deferring = false;
        let raced = std::mem::take(&mut self.outbox);
        let late = features.late_answers && self.random.percent(50);
        let (first, second) = if late {
            (raced, answers)
        } else {
            (answers, raced)
        };
        self.outbox.extend(first);
        self.outbox.extend(second);
        self.flush()
    }

    fn commit(&mut self, grant: &Grant) -> Event {
        let (job, seq) = (grant.job, grant.seq);
        if let Some(refusal) = self.refusal(grant) {
            self.outcome.refused += 1;
            let refused = &mut self.outcome.refused_grants;
            refused.insert(seq, (grant.node, grant.ask));
            return Event::Nack { job, seq, refusal };
        }
        let now = self.clock();
        let there = "it was checked not to be refused";
        let owner = self.host.jobs.get(&job).expect(there);
        let key = owner.next_key;
        let serial = owner.serial;
        let ask = owner.asks.get(&grant.ask).expect(there);
        let (am, named) = (ask.facts.am, !ask.rows.is_empty());
        let node = self.host.nodes.get(&grant.node).expect(there).facts;
        self.host.grant(grant, now);
        let racks = &self.racks_told;
        if let Some(owner) = self.host.jobs.get_mut(&job)
            && let Some(ask) = owner.asks.get_mut(&grant.ask)
        {
            ask.held_back = None;
            ask.named_racks_only |=
                ask.floor(|place| racks.contains(&place)) == Locality::RackLocal;
        }
        self.last_activity = self.now;
        self.outcome.granted(serial, grant, named, self.now);
        let attempt = self.masters.get(&job).map_or(0, |master| master.attempt);
        if am {
            let start_ms = self.random.range(100, 1_500);
            let life = super::life::life(serial, attempt);
            let due = Due::MasterHeartbeat(job, life);
            self.agenda
                .plan(self.now + start_ms.min(MASTER_HEARTBEAT_MS), due);
        } else if let Some(master) = self.masters.get_mut(&job) {
            master.allocated.push(Allocated {
                key,
                ask: grant.ask,
                host: node.host,
                rack: node.rack,
            });
        }
        Event::Ack { job, seq, key }
    }

    /// Returns why a grant that was valid when made can no longer be committed.
    fn refusal(&mut self, grant: &Grant) -> Option<Refusal> {
        let job = self.host.jobs.get(&grant.job);
        let Some(job) = job.filter(|job| job.serial == grant.serial) else {
            return Some(Refusal::StaleJob);
        };
        let Some(node) = self.host.nodes.get(&grant.node) else {
            return Some(Refusal::StaleNode);
        };
        let ask = job.asks.get(&grant.ask).filter(|ask| ask.facts.count > 0);
        let Some(ask) = ask else {
            return Some(Refusal::AskGone);
        };
        if !node.facts.schedulable || node.facts.partition != ask.facts.partition {
            return Some(Refusal::StaleNode);
        } else if !ask.allows(&node.facts) || self.host.asked(grant.job, grant.ask) != grant.asked {
            // The engine accounts for the container at the size that it knew.
            return Some(Refusal::AskGone);
        } else if !ask.facts.resource.fits_in(&node.free()) {
            return Some(Refusal::NoFit);
        } else if job.blacklist.contains(&node.facts.host)
            || job.blacklist.contains(&node.facts.rack)
        {
            return Some(Refusal::Blacklisted);
        }
        let refuses = self.options.features.refusals && !self.draining;
        let reasons = [Refusal::Constraint, Refusal::Token, Refusal::Other];
        (refuses && self.random.percent(20)).then(|| self.random.pick(&reasons))
    }

    fn plan_eviction(&mut self, job: JobId, key: ContainerKey, grace_ms: u32) -> Checked {
        self.check_eviction(job, key)?;
        let Some(owner) = self.host.jobs.get(&job) else {
            let what = format!("eviction from job {}, which is not there", job.0);
            return Err(Failure::new(Check::Decision, what));
        };
        self.going.insert((job, owner.serial, key));
        self.outcome.evicted += 1;
        // Kill nothing while draining, or two queues could go on for ever.
        if !self.draining {
            let at = self.now + i64::from(grace_ms);
            self.agenda.plan(at, Due::Eviction(job, owner.serial, key));
        }
        Ok(())
    }
}
