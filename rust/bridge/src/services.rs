//! Services by handle: the books and the web answers beside an engine, for callers in other
//! languages. A service outlives the engines that it serves: an engine that fails is replaced, and
//! the next one has its accounts from here. This file does the looking up only.
//!
//! Calls come from threads of the web server and from one that calls `pump`; none of them may be
//! the scheduling thread, for they wait for disks; but for `submit`.

use std::sync::Arc;

use heddle_service::{Engine, Outbox, Service};
use log::LevelFilter;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::error::BridgeError;
use crate::handles::Table;
use crate::host::ENGINES;
use crate::logs::{self, LogBuffer};

/// All services of this process. The table's lock on one is held to find it, not to use it.
static SERVICES: Table<Arc<Held>> = Table::new();

/// So many lines wait for the next `pump`.
const LINES_MAX: usize = 10_000;

/// A service, and what it has logged: Rust calls no logger of Java's, so `pump` takes it along.
struct Held {
    service: Service,
    lines: Mutex<Vec<(u32, String)>>,
}

impl Held {
    /// Runs `call` with its log lines going to ours. Those beyond the bound are lost.
    fn logged<R>(&self, call: impl FnOnce(&Service) -> R) -> R {
        let (result, new) = self.with_lines(call);
        let mut lines = self.lines.lock();
        lines.extend(new);
        lines.truncate(LINES_MAX);
        result
    }

    /// Runs `call`; what it logs comes with its result, for a caller who logs it at once.
    fn with_lines<R>(&self, call: impl FnOnce(&Service) -> R) -> (R, Vec<(u32, String)>) {
        let mut buffer = LogBuffer::new(LevelFilter::Info);
        let result = logs::with_sink(&mut buffer, || call(&self.service));
        (result, buffer.lines())
    }

    /// A state with the lines so far, as `log`: pairs of level and text.
    fn told(&self, mut state: Value) -> String {
        state["log"] = json!(std::mem::take(&mut *self.lines.lock()));
        state.to_string()
    }
}

/// Makes a service from `{"api": .., "store": .., "started_ms": ..}` and returns its handle. The
/// store is not touched before `activate`.
///
/// # Errors
/// `BadConfig` when the settings cannot be used.
pub fn open(settings_json: &str) -> Result<u64, BridgeError> {
    let settings = serde_json::from_str(settings_json)
        .map_err(|error| BridgeError::BadConfig(format!("settings: {error}")))?;
    logs::install(LevelFilter::Info);
    let mut buffer = LogBuffer::new(LevelFilter::Info);
    let made = logs::with_sink(&mut buffer, || Service::new(&settings));
    let held = Held {
        service: made.map_err(BridgeError::BadConfig)?,
        lines: Mutex::new(buffer.lines()),
    };
    Ok(SERVICES.insert(Arc::new(held)))
}

/// Takes over the store: this ResourceManager is the active one.
///
/// # Errors
/// `BadHandle`.
pub fn activate(handle: u64, owner: &str, now_ms: i64) -> Result<(), BridgeError> {
    find(handle)?.logged(|service| service.activate(owner, now_ms));
    Ok(())
}

/// Does what is due, about once a second; returns the state of the books as JSON, with what was
/// logged since the last time.
///
/// # Errors
/// `BadHandle` if there is no such service; what is wrong with the engine is the state's business.
pub fn pump(handle: u64, engine: EngineHandle, now_ms: i64) -> Result<String, BridgeError> {
    let held = find(handle)?;
    let state = held.logged(|service| service.pump(&engine, now_ms));
    Ok(held.told(state))
}

/// Answers a request over HTTP; see [`Service::serve`]. The head has what was logged as `log`, with
/// the audit's line: it is to be written before the answer is sent, as a process may be killed.
///
/// # Errors
/// `BadHandle`, and `BadRequest` if `head` is not what it should be.
pub fn serve(
    handle: u64,
    engine: EngineHandle,
    head: &str,
    body: &[u8],
    now_ms: i64,
) -> Result<Vec<u8>, BridgeError> {
    let held = find(handle)?;
    let (answer, lines) = held.with_lines(|service| service.serve(&engine, head, body, now_ms));
    let answer = answer.map_err(BridgeError::BadRequest)?;
    Ok(with_log(answer, &lines))
}

/// An answer with these lines in its head.
fn with_log(answer: Vec<u8>, lines: &[(u32, String)]) -> Vec<u8> {
    let end = answer.iter().position(|byte| *byte == b'\n');
    let Some((head, rest)) = end
        .filter(|_| !lines.is_empty())
        .map(|end| answer.split_at(end))
    else {
        return answer;
    };
    let mut head: Value = serde_json::from_slice(head).expect("the service writes JSON");
    head["log"] = json!(lines);
    [head.to_string().as_bytes(), rest].concat()
}

/// Says whether a job is taken; see [`Service::submit`]; what was logged is in `log`. The only
/// call for the scheduling thread: it waits for nobody who waits for a disk.
///
/// # Errors
/// `BadHandle`, and `BadRequest` if `submitted` is not what it should be.
pub fn submit(
    handle: u64,
    submitted: &str,
    now_ms: i64,
    steady_ms: i64,
) -> Result<String, BridgeError> {
    let held = find(handle)?;
    let (answer, lines) = held.with_lines(|service| service.submit(submitted, now_ms, steady_ms));
    let mut answer = answer.map_err(BridgeError::BadRequest)?;
    if !lines.is_empty() {
        answer["log"] = json!(lines);
    }
    Ok(answer.to_string())
}

/// Ends a service: waits a moment for what is still to be written.
///
/// # Errors
/// `BadHandle`.
pub fn close(handle: u64, now_ms: i64) -> Result<String, BridgeError> {
    let held = SERVICES.remove(handle)?;
    let state = held.logged(|service| service.close(now_ms));
    Ok(held.told(state))
}

fn find(handle: u64) -> Result<Arc<Held>, BridgeError> {
    SERVICES.with(handle, |held| Arc::clone(held))
}

/// An engine of this process, at a time of its clock.
#[derive(Clone, Copy, Debug)]
pub struct EngineHandle {
    /// As `host::open` gave it.
    pub handle: u64,
    /// What the engine's clock shows.
    pub now_ms: i64,
}

impl Engine for EngineHandle {
    fn id(&self) -> u64 {
        self.handle
    }

    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn request(&self, request: &Value) -> Result<Value, String> {
        let reply = ENGINES.with(self.handle, |host| {
            host.request(self.now_ms, &request.to_string())
        });
        let reply = reply
            .and_then(|reply| reply)
            .map_err(|error| error.to_string())?;
        Ok(serde_json::from_str(&reply).expect("the host writes JSON"))
    }

    fn attach(&self, saved: Option<&Value>, outbox: &Arc<Outbox>) -> Result<(), String> {
        let done = ENGINES.with(self.handle, |host| host.attach(self.now_ms, saved, outbox));
        done.and_then(|done| done)
            .map_err(|error| error.to_string())
    }
}
