//! Inputs and decisions as lines of words, or as JSON.

use heddle::describe;
use heddle::journal::EntryKind;
use heddle::replay::{Recorded, Step};
use serde_json::{Map, Value, json};
use std::fmt::Write;

use crate::terminal::{clean, clean_json};

/// The wall clock of a journal.
pub(super) struct Clock {
    /// Its time, in ms since 1970, at 0 on the clock of the frames.
    epoch_ms: i64,
}

impl Clock {
    pub(super) fn of(setup: &Value) -> Clock {
        let epoch_ms = setup["epoch_ms"].as_i64().unwrap_or(0);
        Clock { epoch_ms }
    }

    /// Returns ms since 1970.
    pub(super) fn since_1970(&self, now_ms: i64) -> i64 {
        self.epoch_ms.saturating_add(now_ms)
    }

    pub(super) fn text(&self, now_ms: i64) -> String {
        crate::terminal::time_ms(self.since_1970(now_ms))
    }
}

/// Appends the lines of a step: a line for each record of the input and of the answer.
pub(super) fn step(lines: &mut String, step: &Step, clock: &Clock, as_json: bool) {
    let (what, at) = (name(step.kind), clock.text(step.now_ms));
    for (way, records) in [("in", input(step.kind, &step.input)), ("out", answer(step))] {
        for record in records {
            let line = if as_json {
                let (number, now_ms) = (step.number, step.now_ms);
                let line = json!({what: number, "time": at, "now_ms": now_ms, way: record});
                clean_json(&line.to_string())
            } else {
                format!("{at} {what} {} {way:<3} {}", step.number, words(&record))
            };
            let _ = writeln!(lines, "{line}");
        }
    }
}

pub(super) fn name(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Frame => "frame",
        _ => "request",
    }
}

/// The records of an input: those of a frame, or the one request.
pub(super) fn input(kind: EntryKind, bytes: &[u8]) -> Vec<Value> {
    match kind {
        EntryKind::Frame => describe::input(bytes),
        _ => vec![text(bytes)],
    }
}

fn answer(step: &Step) -> Vec<Value> {
    match &step.answer {
        Ok(bytes) => output(step.kind, bytes),
        Err(error) => vec![json!({"error": error.to_string()})],
    }
}

/// The answer of the recording engine, as far as it was kept.
pub(super) fn recorded(step: &Step) -> Vec<Value> {
    match &step.recorded {
        Recorded::Nothing => Vec::new(),
        Recorded::Bytes(bytes) => output(step.kind, bytes),
        Recorded::Long(_) => vec![json!({"reply": "too long to be recorded: a checksum only"})],
        Recorded::Error(code) => vec![json!({"error": code})],
    }
}

/// Our own answer.
pub(super) fn ours(step: &Step) -> Vec<Value> {
    answer(step)
}

fn output(kind: EntryKind, bytes: &[u8]) -> Vec<Value> {
    match kind {
        EntryKind::Frame => describe::output(bytes),
        _ => vec![text(bytes)],
    }
}

/// JSON of a request or a reply; a text if it is none.
fn text(bytes: &[u8]) -> Value {
    let text = || String::from_utf8_lossy(bytes).into();
    serde_json::from_slice(bytes).unwrap_or_else(|_| text())
}

/// The keys that name a record's subject; `words` puts them first.
const FIRST: &[&str] = &["job", "node", "rack", "id", "level"];

/// A record in words: `HEARTBEAT node 5, free [1024,1]`. Others as JSON.
pub(super) fn words(record: &Value) -> String {
    let is_record = |fields: &&Map<String, Value>| fields.contains_key("record");
    let Some(fields) = record.as_object().filter(is_record) else {
        return clean_json(&record.to_string());
    };
    let name = fields["record"].as_str().unwrap_or_default();
    let is_first = |key: &str| FIRST.contains(&key);
    let first = FIRST.iter().filter_map(|key| fields.get_key_value(*key));
    let others = fields
        .iter()
        .filter(|(key, _)| *key != "record" && !is_first(key));
    let fields: Vec<String> = first
        .chain(others)
        .map(|(key, value)| match value {
            Value::String(text) => format!("{key} {}", clean(text)),
            other => format!("{key} {other}"),
        })
        .collect();
    format!("{} {}", clean(name), fields.join(", "))
}
