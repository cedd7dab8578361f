//! One engine with everything around it: decoding, containment, log lines, journal.
//!
//! The C functions, the JNI natives and a replay all go through [`Host::step`] and
//! [`Host::request`], so that every caller gets the same answer to the same input. An engine that
//! panicked never decides again: its state may be half changed. This file makes no decision and
//! handles no pointer.

use std::sync::Arc;

use heddle_core::engine::{Draft, Engine};
use heddle_core::setup::Setup;
use heddle_core::words::event::{Decision, Event};
use heddle_economy::{Outbox, SavedState};
use log::LevelFilter;
use serde_json::{Map, Value, json};

use crate::constant::{OUTPUT_IDLE, OUTPUT_MORE, PANIC};
use crate::error::BridgeError;
use crate::frame::{self, Summary};
use crate::handles::Table;
use crate::journal::{Recorder, Settings};
use crate::logs::{self, LogBuffer};
use crate::panics;
use crate::record::InputHeader;
use crate::shadow::{self, ShadowLink};

/// All engines of this process.
pub static ENGINES: Table<Host> = Table::new();

/// Opens an engine and returns its handle.
///
/// # Errors
/// `BadConfig` when the setup cannot be used, `Panic` when the engine panicked on it.
pub fn open(setup_json: &str) -> Result<u64, BridgeError> {
    Ok(ENGINES.insert(Host::open(setup_json)?))
}

/// Closes an engine, after a running call.
///
/// # Errors
/// `BadHandle` when no engine has this handle.
pub fn close(handle: u64) -> Result<(), BridgeError> {
    let host = ENGINES.remove(handle)?;
    // The books of an engine that failed may be wrong enough to panic once more. The engine is gone
    // even then, as the caller wanted.
    let _ = panics::catch(|| drop(host));
    Ok(())
}

/// An engine and its surroundings.
pub struct Host {
    engine: Engine,
    /// The text of the panic that ended the engine.
    failed: Option<String>,
    /// Reused by every step.
    events: Vec<Event>,
    /// Reused by every step.
    decisions: Vec<Decision>,
    logs: LogBuffer,
    journal: Option<Recorder>,
    shadow: Option<ShadowLink>,
    /// The setup, for a shadow.
    setup: Value,
    unfetched: Option<Unfetched>,
    /// Where to post changes of accounts, if they are stored.
    outbox: Option<Arc<Outbox>>,
    /// Whether another scheduler decides: inputs are recorded, and the engine hears nothing.
    records_only: bool,
}

/// A reply that did not fit the caller's buffer.
#[derive(Debug)]
struct Unfetched {
    now_ms: i64,
    json: String,
    reply: String,
}

impl Host {
    /// Makes an engine from its setup: the core's, plus `journal` (null, a path, or `{"path": ..,
    /// "bytes_max": .., "renew_ms": .., "compress": .., "wait": ..}`) and `log_level` (default
    /// `"info"`).
    ///
    /// `decided_by` names another scheduler that decides. The host then records its inputs without
    /// answers, and every answer is empty.
    ///
    /// # Errors
    /// `BadConfig` when the setup cannot be used, `Panic` when the engine panicked on it.
    pub fn open(setup_json: &str) -> Result<Host, BridgeError> {
        let (setup, own) = read_setup(setup_json)?;
        let records_only = decided_by(&setup).is_some();
        logs::install(own.log_level);
        let mut logs = LogBuffer::new(own.log_level);
        let made = logs::with_sink(&mut logs, || {
            panics::catch(|| {
                let checked = Setup::from_json(&setup)?;
                let engine = Engine::new(checked)?;
                let journal = own.journal;
                let journal = journal.map(|journal| Recorder::create(journal, &setup.to_string()));
                Ok((engine, journal))
            })
        });
        let (engine, journal) = made.map_err(BridgeError::Panic)?.map_err(
            |error: heddle_core::config::ConfigError| BridgeError::BadConfig(error.to_string()),
        )?;
        Ok(Host {
            engine,
            failed: None,
            events: Vec::new(),
            decisions: Vec::new(),
            logs,
            journal,
            shadow: None,
            setup,
            unfetched: None,
            outbox: None,
            records_only,
        })
    }

    /// Gives the engine what was saved: its accounts, if it has any, and lessons about jobs. From
    /// then on posts changes of both.
    ///
    /// # Errors
    /// As [`Host::request`]; nothing is posted then.
    pub fn attach(
        &mut self,
        now_ms: i64,
        saved: Option<&SavedState>,
        outbox: &Arc<Outbox>,
    ) -> Result<(), BridgeError> {
        self.usable()?;
        self.guarded(|host| host.engine.keep_ledger())?;
        if let Some(saved) = saved {
            // Recorded like every request: they decide who is paid for what, now or as soon as a
            // share with accounts is in force.
            let request = json!({"op": "restoreAccounts", "saved": saved.accounts});
            self.request(now_ms, &request.to_string())?;
            let request = json!({"op": "restoreLessons", "lessons": saved.lessons});
            self.request(now_ms, &request.to_string())?;
        }
        self.outbox = Some(Arc::clone(outbox));
        self.guarded(Host::post)
    }

    /// Posts what happened to accounts.
    fn post(&mut self) {
        if let Some(outbox) = &self.outbox {
            outbox.post(self.engine.take_ledger(), self.engine.setup().epoch_ms);
        }
    }

    /// Applies an input frame and writes the output frame; returns its length.
    ///
    /// # Errors
    /// `EngineFailed`, `BadFrame`, `BadVersion`, `ShortBuffer`: nothing was applied. `Panic`: this
    /// engine cannot be used any more.
    pub fn step(&mut self, frame: &[u8], out: &mut [u8]) -> Result<usize, BridgeError> {
        self.usable()?;
        let header = frame::decode(frame, &mut self.events)?;
        let needed = frame::output_bytes_max(header.decisions_max);
        if out.len() < needed {
            return Err(BridgeError::ShortBuffer {
                needed,
                got: out.len(),
            });
        }
        let summary = self.guarded(|host| {
            if let Some(journal) = &mut host.journal {
                journal.frame(header.now_ms, frame);
            }
            let summary = host.step_engine(&header);
            if let Some(shadow) = &mut host.shadow {
                shadow.frame(header.now_ms, &host.events, &host.decisions);
            }
            summary
        })?;
        let length = frame::encode(summary, &self.decisions, self.logs.records(), out)?;
        self.logs.clear();
        if let Some(journal) = &mut self.journal {
            match self.records_only {
                true => journal.flush_if_due(),
                false => journal.output(&out[..length]),
            }
        }
        Ok(length)
    }

    /// Serves a request and returns the reply, both JSON. Some do not reach the engine:
    /// `{"op": "journal"}` and `{"op": "shadow"}` ask the host how its journal and its shadow are
    /// doing, `{"op": "shadowReport"}` also for the shadow's last report, which may be large;
    /// `{"op": "castShadow", "shadow": ..}` begins a shadow with this candidate, unless it
    /// is there already, or ends it for null; `{"op": "shadowJob", "job": .., "application": ..}`
    /// tells it the application behind the number of the next job with it.
    ///
    /// # Errors
    /// `EngineFailed`, `BadRequest`: nothing has changed. `Panic`: as for [`Host::step`].
    pub fn request(&mut self, now_ms: i64, json: &str) -> Result<String, BridgeError> {
        self.usable()?;
        let request: Value = serde_json::from_str(json)
            .map_err(|error| BridgeError::BadRequest(format!("request: {error}")))?;
        if request == json!({"op": "journal"}) {
            return Ok(self.journal_status().to_string());
        }
        match request["op"].as_str() {
            Some("shadow") => return Ok(self.shadow_status().to_string()),
            Some("shadowReport") => {
                let (state, report) = self.shadow_report();
                return Ok(shadow::with_report(state, &report).to_string());
            }
            Some("shadowJob") => {
                if let Some(shadow) = &mut self.shadow {
                    shadow.application(&request);
                }
                return Ok(Value::Null.to_string());
            }
            Some("castShadow") => {
                self.guarded(|host| host.cast_shadow(now_ms, &request["shadow"]))?;
                return Ok(self.shadow_status().to_string());
            }
            _ => {}
        }
        let reply = self.guarded(|host| {
            // Requests are few and small, so questions are recorded as well: even a report moves
            // the engine's clock and computes its shares.
            if let Some(journal) = &mut host.journal {
                journal.request(now_ms, json);
            }
            host.request_engine(now_ms, &request)
        })?;
        if let Some(journal) = self.journal.as_mut().filter(|_| !self.records_only) {
            match &reply {
                Ok(reply) => journal.reply(reply.as_bytes()),
                Err(error) => journal.error(error.code()),
            }
        }
        reply
    }

    /// Copies what a plan needs; see [`Engine::draft`].
    ///
    /// # Errors
    /// As [`Host::request`].
    pub fn draft(&mut self, request: &Value) -> Result<Draft, BridgeError> {
        self.usable()?;
        self.guarded(|host| host.engine.draft(request))
    }

    /// Serves a request and writes the reply into `out`; returns its length.
    ///
    /// # Errors
    /// As [`Host::request`]. Also `ShortBuffer` when the reply does not fit: the reply is kept, and
    /// the needed size is in the first 8 bytes of `out` if it has 8.
    pub fn request_into(
        &mut self,
        now_ms: i64,
        json: &str,
        out: &mut [u8],
    ) -> Result<usize, BridgeError> {
        let kept = self
            .unfetched
            .take()
            .filter(|kept| kept.now_ms == now_ms && kept.json == json);
        let reply = match kept {
            Some(kept) => kept.reply,
            None => self.request(now_ms, json)?,
        };
        let needed = reply.len();
        if let Some(room) = out.get_mut(..needed) {
            room.copy_from_slice(reply.as_bytes());
            return Ok(needed);
        }
        if let Some(size) = out.first_chunk_mut() {
            *size = (needed as u64).to_le_bytes();
        }
        self.unfetched = Some(Unfetched {
            now_ms,
            json: json.to_owned(),
            reply,
        });
        Err(BridgeError::ShortBuffer {
            needed,
            got: out.len(),
        })
    }

    fn step_engine(&mut self, header: &InputHeader) -> Summary {
        let decisions_max = header.decisions_max as usize;
        self.decisions.clear();
        if self.records_only {
            return Summary {
                sequence: header.sequence,
                flags: OUTPUT_IDLE,
                next_tick_ms: i64::MAX,
                ignored: 0,
            };
        }
        self.engine.step(
            header.now_ms,
            &self.events,
            decisions_max,
            &mut self.decisions,
        );
        let made = self.decisions.len();
        // The output buffer has room for this many and no more.
        assert!(
            made <= decisions_max,
            "{made} decisions where {decisions_max} were asked for"
        );
        self.post();
        let idle = if self.engine.is_idle() {
            OUTPUT_IDLE
        } else {
            0
        };
        let more = if self.engine.more() { OUTPUT_MORE } else { 0 };
        Summary {
            sequence: header.sequence,
            flags: idle | more,
            next_tick_ms: self.engine.next_tick_ms(),
            ignored: self.engine.ignored(),
        }
    }

    fn request_engine(&mut self, now_ms: i64, request: &Value) -> Result<String, BridgeError> {
        if self.records_only {
            return Ok("{}".to_owned());
        }
        let reply = self.engine.request(now_ms, request);
        self.post();
        let reply = reply.map_err(|error| BridgeError::BadRequest(error.to_string()))?;
        if let Some(shadow) = &mut self.shadow {
            shadow.request(now_ms, request, &reply);
        }
        Ok(serde_json::to_string(&reply).expect("a reply has string keys only"))
    }

    fn usable(&self) -> Result<(), BridgeError> {
        match &self.failed {
            None => Ok(()),
            Some(text) => Err(BridgeError::EngineFailed(text.clone())),
        }
    }

    /// Runs `call` with its log lines in this host's buffer. A panic ends this engine.
    fn guarded<R>(&mut self, call: impl FnOnce(&mut Host) -> R) -> Result<R, BridgeError> {
        let mut logs = std::mem::replace(&mut self.logs, LogBuffer::new(LevelFilter::Off));
        let result = logs::with_sink(&mut logs, || panics::catch(|| call(self)));
        self.logs = logs;
        result.map_err(|text| {
            // If a job or node fails again, the caller keeps it away from the next engine.
            let text = match self.engine.subject() {
                Some(subject) => format!("at {subject}: {text}"),
                None => text,
            };
            self.failed = Some(text.clone());
            if let Some(journal) = &mut self.journal {
                journal.error(PANIC);
                journal.flush();
            }
            BridgeError::Panic(text)
        })
    }

    fn cast_shadow(&mut self, now_ms: i64, candidate: &Value) {
        if candidate.is_null() {
            self.shadow = None;
        } else if !self
            .shadow
            .as_ref()
            .is_some_and(|shadow| shadow.is(candidate))
        {
            let shadow = ShadowLink::begin(&self.setup, candidate, &self.engine, now_ms);
            self.shadow = Some(shadow);
        }
    }

    /// Null without a shadow.
    fn shadow_status(&self) -> Value {
        self.shadow.as_ref().map_or(Value::Null, ShadowLink::status)
    }

    /// The state of the shadow, null without one, and its last report. The report may be large, and
    /// the host is locked: the caller turns it into text.
    pub fn shadow_report(&self) -> (Value, Arc<Value>) {
        let report = self.shadow.as_ref().map(ShadowLink::report);
        (self.shadow_status(), report.unwrap_or_default())
    }

    /// Null without a journal.
    fn journal_status(&self) -> Value {
        self.journal.as_ref().map_or(Value::Null, |journal| {
            let status = journal.status();
            json!({
                "recording": status.recording,
                "bytes": status.bytes,
                "recording_bytes": status.recording_bytes,
                "stopped": status.stopped,
                "wants_engine": status.wants_engine,
            })
        })
    }
}

/// The scheduler that decides in the place of an engine with this setup, if one does.
pub fn decided_by(setup: &Value) -> Option<&str> {
    setup["decided_by"].as_str()
}

/// The bridge's part of the setup.
struct BridgeSetup {
    journal: Option<Settings>,
    log_level: LevelFilter,
}

/// Takes the bridge's own keys out of the setup and returns the rest for the core. The level stays,
/// because a replay's frames must hold the same lines. The journal goes, because a replay must not
/// write another.
fn read_setup(setup_json: &str) -> Result<(Value, BridgeSetup), BridgeError> {
    let bad = |text: String| BridgeError::BadConfig(format!("setup: {text}"));
    let mut setup: Value = serde_json::from_str(setup_json).map_err(|e| bad(e.to_string()))?;
    let keys = setup
        .as_object_mut()
        .ok_or_else(|| bad("expected a JSON object".to_owned()))?;
    let journal = match keys.remove("journal") {
        None | Some(Value::Null) => None,
        Some(Value::String(path)) => Some(Settings::at(path)),
        Some(Value::Object(mut journal)) => {
            let read = read_journal(&mut journal);
            Some(read.ok_or_else(|| bad(JOURNAL_EXPECTED.to_owned()))?)
        }
        Some(_) => return Err(bad(JOURNAL_EXPECTED.to_owned())),
    };
    let log_level = match keys.get("log_level") {
        None => LevelFilter::Info,
        Some(level) => level
            .as_str()
            .and_then(|level| level.parse().ok())
            .ok_or_else(|| {
                bad(format!(
                    "log_level: expected off, error, warn, info or debug, found {level}"
                ))
            })?,
    };
    Ok((setup, BridgeSetup { journal, log_level }))
}

const JOURNAL_EXPECTED: &str = "journal: expected null, \"path\", or an object of `path` and \
    perhaps `bytes_max`, `renew_ms`, `compress` and `wait`";

fn read_journal(journal: &mut Map<String, Value>) -> Option<Settings> {
    let mut settings = Settings::at(journal.remove("path")?.as_str()?);
    if let Some(bytes_max) = journal.remove("bytes_max") {
        settings.bytes_max = bytes_max.as_u64()?;
    }
    if let Some(renew_ms) = journal.remove("renew_ms") {
        settings.renew_ms = Some(renew_ms.as_u64()?);
    }
    if let Some(compress) = journal.remove("compress") {
        settings.compress = compress.as_bool()?;
    }
    if let Some(wait) = journal.remove("wait") {
        settings.wait = wait.as_bool()?;
    }
    journal.is_empty().then_some(settings)
}
