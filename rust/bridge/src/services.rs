//! Services by handle: the books and the web answers beside an engine, for callers in other
//! languages. A service outlives its engines: an engine that fails is replaced, and the next one
//! gets its accounts from the service. This file only looks handles up.
//!
//! Calls come from threads of the web server and from one that calls `pump`. They wait for disks,
//! so none of them may run on the scheduling thread, except `submit`.

use std::sync::Arc;

use heddle_economy::http::Answer;
use heddle_economy::record::BooksStatus;
use heddle_economy::{Engine, Outbox, SavedState, Service, Wanted};
use heddle_host::Reply;
use log::LevelFilter;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::constant::LOG_INFO;
use crate::error::BridgeError;
use crate::handles::Table;
use crate::host::ENGINES;
use crate::logs::{self, LogBuffer};
use crate::panics;
use crate::shadow;

/// All services of this process. A service's lock in the table is held to find it, not to use it.
static SERVICES: Table<Arc<ServiceSlot>> = Table::new();

/// Most log lines that wait for the next `pump`.
const LINES_MAX: usize = 10_000;

/// A service and its log lines: Rust calls no Java logger, so `pump` returns the lines.
struct ServiceSlot {
    service: Service,
    lines: Mutex<Vec<(u32, String)>>,
}

impl ServiceSlot {
    /// Runs `call` and keeps its log lines. Drops those beyond `LINES_MAX`.
    fn logged<R>(&self, call: impl FnOnce(&Service) -> R) -> R {
        let (result, new) = self.with_lines(call);
        let mut lines = self.lines.lock();
        lines.extend(new);
        lines.truncate(LINES_MAX);
        result
    }

    /// Runs `call` and returns its log lines with the result, for a caller that logs them at once.
    fn with_lines<R>(&self, call: impl FnOnce(&Service) -> R) -> (R, Vec<(u32, String)>) {
        let mut buffer = LogBuffer::new(LevelFilter::Info);
        let result = logs::with_sink(&mut buffer, || call(&self.service));
        (result, buffer.lines())
    }

    /// Adds the log lines so far to a state, as `log`: pairs of level and text.
    fn told(&self, status: BooksStatus) -> String {
        let mut state = json!(status);
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
    let held = ServiceSlot {
        service: made.map_err(BridgeError::BadConfig)?,
        lines: Mutex::new(buffer.lines()),
    };
    Ok(SERVICES.insert(Arc::new(held)))
}

/// Takes over the store and makes this ResourceManager the active one.
///
/// # Errors
/// `BadHandle`.
pub fn activate(handle: u64, owner: &str, now_ms: i64) -> Result<(), BridgeError> {
    find(handle)?.logged(|service| service.activate(owner, now_ms));
    Ok(())
}

/// Does what is due, about once a second. Returns the state of the books as JSON, with the log
/// lines since the last time.
///
/// # Errors
/// `BadHandle` if there is no such service. Faults of the engine are in the state.
pub fn pump(handle: u64, engine: EngineHandle, now_ms: i64) -> Result<String, BridgeError> {
    let held = find(handle)?;
    let state = held.logged(|service| service.pump(&engine, now_ms));
    Ok(held.told(state))
}

/// Answers a request over HTTP; see [`Service::serve`]. Returns a line of JSON (`status`,
/// `content_type`, `headers`: pairs), then the body. The line has the log lines, including the
/// audit's, as `log`. Write them before sending the answer: the process may be killed in between.
/// If only `names_wanted` or `nodes_wanted` is in it, the head must be sent again with these.
///
/// # Errors
/// `BadHandle`, and `BadRequest` if `head` is malformed.
pub fn serve(
    handle: u64,
    engine: EngineHandle,
    head: &str,
    body: &[u8],
    now_ms: i64,
) -> Result<Vec<u8>, BridgeError> {
    let held = find(handle)?;
    let (answer, lines) = held.with_lines(|service| service.serve(&engine, head, body, now_ms));
    Ok(match answer.map_err(BridgeError::BadRequest)? {
        Ok(answer) => written(answer, &lines),
        Err(Wanted::Names) => b"{\"names_wanted\":true}\n".to_vec(),
        Err(Wanted::Nodes) => b"{\"nodes_wanted\":true}\n".to_vec(),
    })
}

/// Writes the answer to a question: JSON, or a page as `serve` writes it.
pub fn answered(answer: Reply) -> Vec<u8> {
    match answer {
        Reply::Page(page, audit) => {
            let line = |text| (LOG_INFO, format!("{} {text}", logs::AUDIT));
            written(page, &audit.into_iter().map(line).collect::<Vec<_>>())
        }
        Reply::Json(value) => value.to_string().into_bytes(),
    }
}

/// Writes an answer as the shim reads it, with these lines in its head.
fn written(answer: Answer, lines: &[(u32, String)]) -> Vec<u8> {
    let mut head = json!({
        "status": answer.status,
        "content_type": answer.content_type,
        "headers": answer.headers,
    });
    if let Some(change) = &answer.written {
        head["reload"] = json!(change);
    }
    if !lines.is_empty() {
        head["log"] = json!(lines);
    }
    let mut text = head.to_string().into_bytes();
    text.push(b'\n');
    text.extend(answer.body);
    text
}

/// Accepts or refuses a job; see [`Service::submit`]. Log lines are in `log`. This is the only call
/// for the scheduling thread: it takes no lock that is held over disk access.
///
/// # Errors
/// `BadHandle`, and `BadRequest` if `submitted` is malformed.
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

/// Ends a service; waits a moment for what is still to be written.
///
/// # Errors
/// `BadHandle`.
pub fn close(handle: u64, now_ms: i64) -> Result<String, BridgeError> {
    let held = SERVICES.remove(handle)?;
    let state = held.logged(|service| service.close(now_ms));
    Ok(held.told(state))
}

fn find(handle: u64) -> Result<Arc<ServiceSlot>, BridgeError> {
    SERVICES.with(handle, |held| Arc::clone(held))
}

/// An engine of this process, at a time of its clock.
#[derive(Clone, Copy, Debug)]
pub struct EngineHandle {
    /// As `host::open` returned it.
    pub handle: u64,
    /// The time of the engine's clock.
    pub now_ms: i64,
}

impl EngineHandle {
    /// Works out a plan. The engine is held only while its books are copied: a plan of a large
    /// cluster takes seconds, and no heartbeat may wait for them.
    fn plan(&self, request: &Value) -> Result<Value, String> {
        let request = over_stock(request)?;
        let draft = ENGINES.with(self.handle, |host| host.draft(&request));
        let draft = draft.and_then(|draft| draft);
        let draft = draft.map_err(|error| error.to_string())?;
        // Warnings about a configuration that is not in force would mislead readers of the log.
        let mut unheard = LogBuffer::new(LevelFilter::Off);
        let worked_out = logs::with_sink(&mut unheard, || panics::catch(|| draft.work_out()));
        let worked_out = worked_out.map_err(|text| format!("the plan panicked: {text}"))?;
        let mut plan = worked_out.map_err(|error| error.to_string())?;
        plan["over"] = request["over"].clone();
        Ok(plan)
    }

    /// The shadow's state with its last report, which is copied while the engine goes on.
    fn shadow(&self) -> Result<Value, String> {
        let shadow = ENGINES.with(self.handle, |host| host.shadow_report());
        let (state, report) = shadow.map_err(|error| error.to_string())?;
        Ok(shadow::with_report(state, &report))
    }
}

/// Lays the configuration of a plan over the stock scheduler's file that the host uses (`below`),
/// as its reload does. `over` has the kind of that file, null without one.
fn over_stock(request: &Value) -> Result<Value, String> {
    let mut question = request["below"].clone();
    if question.is_null() {
        return Ok(json!({"op": "plan", "config": request["config"]}));
    }
    let text = request["config"].to_string();
    question["op"] = json!("config");
    question["json"] = json!({"name": "the configuration", "text": text, "folder": ""});
    let Reply::Json(read) = heddle_host::ask(&question.to_string())? else {
        return Err("the stock scheduler's file has no answer".to_string());
    };
    match read["wrong"].as_str() {
        Some(wrong) => Err(wrong.to_string()),
        None => Ok(json!({"op": "plan", "config": read["config"], "over": question["from"]})),
    }
}

impl Engine for EngineHandle {
    fn id(&self) -> u64 {
        self.handle
    }

    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn request(&self, request: &Value) -> Result<Value, String> {
        match request["op"].as_str() {
            Some("plan") => return self.plan(request),
            Some("shadowReport") => return self.shadow(),
            _ => {}
        }
        let reply = ENGINES.with(self.handle, |host| {
            host.request(self.now_ms, &request.to_string())
        });
        let reply = reply
            .and_then(|reply| reply)
            .map_err(|error| error.to_string())?;
        Ok(serde_json::from_str(&reply).expect("the host writes JSON"))
    }

    fn attach(&self, saved: Option<&SavedState>, outbox: &Arc<Outbox>) -> Result<bool, String> {
        let done = ENGINES.with(self.handle, |host| host.attach(self.now_ms, saved, outbox));
        match done.and_then(|done| done) {
            Ok(()) => Ok(true),
            // The host tells of a lost engine itself.
            Err(BridgeError::BadHandle(_) | BridgeError::EngineFailed(_)) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_lies_over_the_stock_file_in_force() {
        let text = "<allocations><queue name=\"ads\"><weight>3</weight></queue></allocations>";
        let stock = json!({"name": "/etc/fair.xml", "text": text, "properties": {}});
        let mut request = json!({
            "op": "plan",
            "config": {"policy": "hfsp"},
            "below": {"from": "fair", "allocations": null, "stock": stock},
        });
        let over = over_stock(&request).expect("both are right");
        assert_eq!(over["op"], "plan");
        assert_eq!(over["over"], "fair");
        assert_eq!(over["config"]["policy"], "hfsp");
        let queues = over["config"]["queues"].as_array().expect("a list");
        let ads = queues.iter().find(|queue| queue["path"] == "root.ads");
        assert_eq!(ads.expect("the stock file's queue")["weight"], 3.0);
        // A reload would refuse this text.
        request["below"]["stock"]["text"] = json!("<allocations><queue>");
        assert!(over_stock(&request).is_err());
        request["below"] = Value::Null;
        let alone = over_stock(&request).expect("it is as it was");
        assert_eq!(alone, json!({"op": "plan", "config": {"policy": "hfsp"}}));
    }
}
