//! The host's side of the contract: creates events, sends frames, and acts on the decisions.

use super::World;
use crate::host::{HostAsk, HostRow};
use crate::master::{Kind, Table};
use heddle_core::words::event::{AskFacts, Decision, Event};
use heddle_core::words::ids::{AskId, JobId, Locality, NodeId, PlaceId};
use heddle_sim::failure::{Check, Checked, Failure};
use std::collections::{BTreeMap, BTreeSet};

/// Decisions accepted per step by default.
const DECISIONS_MAX: usize = 10_000;

/// A longer frame is sent without waiting for a node.
const FRAME_EVENTS_MAX: usize = 200;

impl World {
    /// Sends an event to the engine: at once, with the next frame, or after the present answers.
    pub(super) fn send(&mut self, event: Event) -> Checked {
        self.outbox.push(event);
        self.flush()
    }

    /// Delivers the outbox unless batching or deferring holds it.
    pub(super) fn flush(&mut self) -> Checked {
        let waits = self.options.features.batching && self.outbox.len() < FRAME_EVENTS_MAX;
        if self.deferring || waits {
            return Ok(());
        }
        self.deliver(None)
    }

    /// Delivers the outbox, `last` at the end, and acts on the decisions.
    pub(super) fn deliver(&mut self, last: Option<Event>) -> Checked {
        let mut frame = std::mem::take(&mut self.outbox);
        self.write_dirty_asks(&mut frame);
        frame.extend(last);
        if frame.is_empty() {
            return Ok(());
        }
        let most = match self.options.features.few_decisions {
            true => self.random.range(1, 4) as usize,
            false => DECISIONS_MAX,
        };
        let mut decisions = Vec::new();
        if self.options.features.batching {
            decisions = self.step(frame.clone(), most)?;
        } else {
            for event in &frame {
                decisions.extend(self.step(vec![*event], most)?);
            }
        }
        for event in &frame {
            self.note_answer(event);
        }
        self.judge(decisions, last)
    }

    fn step(&mut self, mut events: Vec<Event>, most: usize) -> Checked<Vec<Decision>> {
        let back_ms = match self.options.features.freezes && !self.draining {
            true => self.random.pick(&[0, 0, 1, 700]),
            false => 0,
        };
        // The engine's clock never goes back, whatever time it is given.
        let given = self.clock() - back_ms;
        self.engine_now = self.engine_now.max(given);
        let decisions = self.link.step(given, &mut events, most)?;
        if self.options.checks.invariants {
            let invariants = self.link.engine.check_invariants();
            invariants.map_err(|broken| Failure::new(Check::Invariants, broken))?;
        }
        Ok(decisions)
    }

    /// Excludes a refused node for the job from the moment that the engine learns of the refusal.
    fn note_answer(&mut self, event: &Event) {
        let Event::Nack { job, seq, .. } = event else {
            return;
        };
        let until = self.engine_now + crate::check::REFUSED_MS;
        if let Some((node, ask)) = self.outcome.refused_grants.remove(seq)
            && let Some(owner) = self.host.jobs.get_mut(job)
        {
            owner.refused.insert(node, until);
            if let Some(ask) = owner.asks.get_mut(&ask) {
                ask.held_back = None;
            }
        }
    }

    fn write_dirty_asks(&mut self, frame: &mut Vec<Event>) {
        for ((job, id), places) in std::mem::take(&mut self.dirty) {
            let ask = self.host.jobs.get(&job).and_then(|job| job.asks.get(&id));
            let Some(ask) = ask else { continue };
            frame.push(Event::Ask(AskFacts {
                count: told(ask.facts.count),
                ..ask.facts
            }));
            for place in places {
                let row = ask.rows.get(&place).copied();
                let row = row.unwrap_or(HostRow {
                    count: 0,
                    relax: true,
                });
                frame.push(Event::AskRow {
                    job,
                    ask: id,
                    place,
                    count: told(row.count),
                    relax: row.relax,
                });
            }
        }
    }

    /// Replaces one of the asks of a job. The next frame tells the engine the values of that
    /// moment.
    pub(super) fn set_ask(&mut self, job: JobId, id: AskId, kind: &Kind, am: bool, table: Table) {
        let now = self.engine_now;
        let racks = &self.racks_told;
        let Some(owner) = self.host.jobs.get_mut(&job) else {
            return;
        };
        let (count, rows) = table;
        let facts = AskFacts {
            job,
            ask: id,
            count,
            priority: kind.priority,
            partition: kind.partition,
            relax: kind.relax,
            am,
            update: kind.update,
            resource: kind.resource,
        };
        let dirty = self.dirty.entry((job, id)).or_default();
        let ask = owner.asks.entry(id).or_insert_with(|| HostAsk {
            facts: AskFacts { count: 0, ..facts },
            rows: BTreeMap::new(),
            since_ms: now,
            named_racks_only: false,
            held_back: None,
        });
        let was = AskFacts { count, ..ask.facts };
        if was != facts || ask.facts.count == 0 {
            ask.since_ms = now;
            ask.named_racks_only = false;
            ask.held_back = None;
        }
        let is_rack = |place: PlaceId| racks.contains(&place);
        let floor = ask.floor(is_rack);
        let before = std::mem::replace(&mut ask.rows, rows);
        ask.rows.retain(|_, row| row.count > 0);
        if ask.floor(is_rack) != floor {
            ask.held_back = None;
        }
        ask.named_racks_only |= ask.floor(is_rack) == Locality::RackLocal;
        ask.facts = facts;
        let places: BTreeSet<PlaceId> = before.keys().chain(ask.rows.keys()).copied().collect();
        dirty.extend(
            places
                .into_iter()
                .filter(|place| before.get(place) != ask.rows.get(place)),
        );
    }

    /// Marks every pending ask for sending with all its rows, for a new engine.
    pub(super) fn mark_all_asks(&mut self) {
        for (job, owner) in &self.host.jobs {
            for (id, ask) in &owner.asks {
                if ask.facts.count > 0 {
                    let places = ask.rows.keys().copied().collect();
                    self.dirty.insert((*job, *id), places);
                }
            }
        }
    }

    /// Resets the waits of all asks, because the engine has listed them again.
    pub(super) fn forget_waits(&mut self, of: Option<JobId>) {
        for (job, owner) in &mut self.host.jobs {
            if of.is_none_or(|of| of == *job) {
                for ask in owner.asks.values_mut() {
                    ask.held_back = None;
                }
            }
        }
    }

    /// Tells the engine of a node. The first mention of a rack makes the engine list all asks
    /// again.
    pub(super) fn tell_node(&mut self, node: NodeId, added: bool) -> Checked {
        let Some(known) = self.host.nodes.get(&node) else {
            return Ok(());
        };
        let told = known.told();
        if self.racks_told.insert(told.rack) {
            self.forget_waits(None);
        }
        self.send(match added {
            true => Event::NodeAdded(told),
            false => Event::NodeChanged(told),
        })
    }
}

/// Returns a count as the ApplicationMaster sent it, before it was bounded.
fn told(count: u32) -> u32 {
    match count == super::hostile::COUNT_MAX {
        true => i32::MAX as u32,
        false => count,
    }
}
