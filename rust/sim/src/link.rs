//! The line between the simulated host and the engine: steps, requests, the recording of both, and
//! the hook through which a test tampers with them.

use crate::failure::{Check, Checked, Failure};
use heddle_core::words::event::{Decision, Event};
use heddle_core::words::ids::Millis;
use heddle_core::words::resource::RESOURCE_TYPES_MAX;
use heddle_core::{Engine, Setup};
use serde_json::Value;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number of recent events and decisions that a failure shows.
const RECENT_MAX: usize = 60;

/// Changes the traffic on the line, to prove that the checks can fail. Does nothing by default.
pub trait Tamper {
    /// Changes the configuration that the engine is opened with.
    fn setup(&mut self, _setup: &mut Value) {}
    /// Changes events on their way to the engine.
    fn events(&mut self, _now: Millis, _events: &mut Vec<Event>) {}
    /// Changes decisions on their way to the host.
    fn decisions(&mut self, _now: Millis, _decisions: &mut Vec<Decision>) {}
}

/// A message on the line.
#[derive(Clone, Debug, PartialEq)]
pub enum Passage {
    /// A new engine.
    Open(Value),
    /// A step: its time, its events and the limit on its decisions.
    Step(Millis, Vec<Event>, usize),
    /// A request of the control plane.
    Request(Millis, Value),
}

#[derive(Clone, Copy, Debug)]
enum Recent {
    Event(Millis, Event),
    Decision(Decision),
}

/// The line to the engine.
pub struct Link {
    /// The engine at its other end.
    pub engine: Engine,
    /// A digest of all decisions since the start, across rebuilt engines.
    pub digest: u64,
    /// Number of events that the engine received.
    pub events: u64,
    /// All messages that may change the engine, if they are recorded.
    pub record: Option<Vec<Passage>>,
    tamper: Option<Box<dyn Tamper>>,
    recent: VecDeque<Recent>,
}

impl Link {
    /// Opens an engine.
    pub fn open(setup: Value, record: bool, mut tamper: Option<Box<dyn Tamper>>) -> Checked<Link> {
        let engine = engine(setup.clone(), &mut tamper)?;
        Ok(Link {
            engine,
            digest: FNV_EMPTY,
            events: 0,
            record: record.then(|| vec![Passage::Open(setup)]),
            tamper,
            recent: VecDeque::new(),
        })
    }

    /// Drops the engine and opens another.
    pub fn reopen(&mut self, setup: Value) -> Checked {
        if let Some(record) = &mut self.record {
            record.push(Passage::Open(setup.clone()));
        }
        self.engine = engine(setup, &mut self.tamper)?;
        Ok(())
    }

    /// Runs one step. A panic of the engine is a failure. Leaves the events as the engine got them,
    /// so that the caller may use their memory again.
    pub fn step(
        &mut self,
        now: Millis,
        events: &mut Vec<Event>,
        most: usize,
    ) -> Checked<Decisions> {
        if let Some(tamper) = &mut self.tamper {
            tamper.events(now, events);
        }
        for event in &events[events.len().saturating_sub(RECENT_MAX)..] {
            self.remember(Recent::Event(now, *event));
        }
        self.events += events.len() as u64;
        let engine = &mut self.engine;
        let mut decisions = Vec::new();
        let run = || engine.step(now, events, most, &mut decisions);
        let outcome = catch_unwind(AssertUnwindSafe(run));
        if let Some(record) = &mut self.record {
            record.push(Passage::Step(now, events.clone(), most));
        }
        if let Err(panic) = outcome {
            return Err(self.explain(Failure::new(Check::Panic, panic_text(&*panic))));
        }
        if decisions.len() > most {
            let what = format!("{} decisions where {most} were accepted", decisions.len());
            return Err(self.explain(Failure::new(Check::Decision, what)));
        }
        for decision in &decisions {
            self.digest = digest(self.digest, decision);
        }
        if let Some(tamper) = &mut self.tamper {
            tamper.decisions(now, &mut decisions);
        }
        for decision in &decisions[decisions.len().saturating_sub(RECENT_MAX)..] {
            self.remember(Recent::Decision(*decision));
        }
        Ok(decisions)
    }

    /// Sends one request; the inner error is the engine's refusal.
    pub fn request(&mut self, now: Millis, request: Value) -> Checked<Result<Value, String>> {
        let engine = &mut self.engine;
        let run = || engine.request(now, &request);
        let outcome = catch_unwind(AssertUnwindSafe(run));
        if let Some(record) = &mut self.record
            && Engine::is_mutating(&request)
        {
            record.push(Passage::Request(now, request));
        }
        match outcome {
            Ok(reply) => Ok(reply.map_err(|refusal| refusal.to_string())),
            Err(panic) => Err(self.explain(Failure::new(Check::Panic, panic_text(&*panic)))),
        }
    }

    /// Adds the recent traffic on the line to a failure.
    pub fn explain(&self, mut failure: Failure) -> Failure {
        if failure.recent.is_empty() {
            let line = |recent: &Recent| match recent {
                Recent::Event(now, event) => format!("{now} {event:?}"),
                Recent::Decision(decision) => format!("    -> {decision:?}"),
            };
            failure.recent = self.recent.iter().map(line).collect();
        }
        failure
    }

    fn remember(&mut self, recent: Recent) {
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(recent);
    }
}

/// The decisions of one step.
pub type Decisions = Vec<Decision>;

fn engine(mut setup: Value, tamper: &mut Option<Box<dyn Tamper>>) -> Checked<Engine> {
    if let Some(tamper) = tamper {
        tamper.setup(&mut setup);
    }
    let setup = Setup::from_json(&setup);
    let engine = setup.and_then(Engine::new);
    engine.map_err(|error| Failure::new(Check::LeftOver, format!("cannot open: {error}")))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text").to_string()
}

/// Hashes the fields of a decision with FNV-1a: the same on every platform.
pub fn digest(before: u64, decision: &Decision) -> u64 {
    let mix = |fields: &[u64]| fnv(before, fields.iter().flat_map(|field| field.to_le_bytes()));
    match decision {
        Decision::Grant {
            job,
            ask,
            node,
            locality,
            seq,
        } => mix(&[
            1,
            u64::from(job.0),
            u64::from(ask.0),
            u64::from(node.0),
            *locality as u64,
            *seq,
        ]),
        Decision::Evict {
            job,
            key,
            reason,
            grace_ms,
        } => mix(&[
            2,
            u64::from(job.0),
            *key,
            *reason as u64,
            u64::from(*grace_ms),
        ]),
        Decision::Headroom { job, resource } => {
            let mut fields = [0; 2 + RESOURCE_TYPES_MAX];
            (fields[0], fields[1]) = (3, u64::from(job.0));
            for (field, amount) in fields[2..].iter_mut().zip(resource.0) {
                *field = amount as u64;
            }
            mix(&fields)
        }
    }
}

/// The FNV-1a hash of no bytes.
pub const FNV_EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Extends the hash `before` by `bytes`: the same in every run.
pub fn fnv(before: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.into_iter().fold(before, mix)
}
