//! Reports the first answer that differs, with the inputs before it and the engine's state.

use super::dump;
use heddle::describe;
use heddle::journal::EntryKind;
use heddle::replay::{Recorded, Replayer, Step};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use std::fs::File;
use std::io::BufReader;

/// A replay of files.
pub(super) type Replaying = Replayer<BufReader<File>>;

/// Inputs before the difference that are told.
const BEFORE: usize = 3;
/// Jobs and nodes whose state is told.
const SUBJECTS_MAX: usize = 8;

/// The last inputs.
#[derive(Default)]
pub(super) struct Lately {
    inputs: VecDeque<Input>,
}

#[derive(Default)]
struct Input {
    is_frame: bool,
    number: u64,
    now_ms: i64,
    bytes: Vec<u8>,
}

impl Lately {
    pub(super) fn push(&mut self, step: &Step) {
        let mut input = match self.inputs.len() {
            BEFORE => self.inputs.pop_front().unwrap_or_default(),
            _ => Input::default(),
        };
        input.is_frame = step.kind == EntryKind::Frame;
        (input.number, input.now_ms) = (step.number, step.now_ms);
        input.bytes.clear();
        input.bytes.extend_from_slice(&step.input);
        self.inputs.push_back(input);
    }

    fn told(&self, clock: &dump::Clock) -> Vec<Value> {
        let told = self.inputs.iter().map(|input| {
            let kind = match input.is_frame {
                true => EntryKind::Frame,
                false => EntryKind::Request,
            };
            json!({
                dump::name(kind): input.number,
                "time": clock.text(input.now_ms),
                "in": dump::input(kind, &input.bytes),
            })
        });
        told.collect()
    }
}

/// Tells the last step of a replay, whose answer differs.
pub(super) fn report(replayer: &mut Replaying, lately: &Lately) -> Value {
    let clock = dump::Clock::of(replayer.setup());
    let step = replayer.last();
    let (recorded, ours) = (dump::recorded(step), dump::ours(step));
    let first = (0..).find(|&at| recorded.get(at) != ours.get(at) || at >= recorded.len());
    let first = first.unwrap_or(0);
    let mut report = json!({
        dump::name(step.kind): step.number,
        "time": clock.text(step.now_ms),
        "now_ms": step.now_ms,
        "place": step.place.to_string(),
        "before": lately.told(&clock),
        "in": dump::input(step.kind, &step.input),
        "recorded": recorded,
        "ours": ours,
        "first": {"recorded": recorded.get(first), "ours": ours.get(first)},
    });
    if let (EntryKind::Frame, Recorded::Bytes(theirs), Ok(bytes)) =
        (step.kind, &step.recorded, &step.answer)
    {
        report["headers"] = json!({
            "recorded": describe::output_header(theirs), "ours": describe::output_header(bytes),
        });
    }
    let differing = [recorded.get(first).cloned(), ours.get(first).cloned()];
    report["state"] = state(replayer, &differing).into();
    report
}

/// Asks the engine about the jobs and nodes of the records that differ.
fn state(replayer: &mut Replaying, records: &[Option<Value>]) -> Vec<Value> {
    let mut subjects = BTreeSet::new();
    for record in records.iter().flatten() {
        for of in ["job", "node"] {
            subjects.extend(record[of].as_u64().map(|number| (of, number)));
        }
    }
    let mut told = Vec::new();
    for (of, number) in subjects.into_iter().take(SUBJECTS_MAX) {
        let reply = replayer.ask(&json!({"op": of, of: number}).to_string());
        let reply: Option<Value> = reply
            .ok()
            .and_then(|reply| serde_json::from_str(&reply).ok());
        told.push(json!({of: number, "state": reply}));
    }
    told
}

pub(super) fn as_text(report: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let number = |value: &Value| match value["frame"].as_u64() {
        Some(frame) => format!("frame {frame}"),
        None => format!("request {}", value["request"]),
    };
    let time = |value: &Value| value["time"].as_str().unwrap_or_default().to_owned();
    let mut text = String::new();
    let place = report["place"].as_str().unwrap_or_default();
    let (which, at) = (number(report), time(report));
    let _ = writeln!(text, "\nfirst difference: {which}, {at} ({place})");
    for before in list(&report["before"]) {
        for record in list(&before["in"]) {
            let _ = writeln!(
                text,
                "  before    {} {}",
                number(&before),
                dump::words(&record)
            );
        }
    }
    for record in list(&report["in"]) {
        let _ = writeln!(text, "  input     {}", dump::words(&record));
    }
    for (name, key) in [("recorded", "recorded"), ("answered", "ours")] {
        for record in list(&report[key]) {
            let mark = if record == report["first"][key] {
                "*"
            } else {
                " "
            };
            let _ = writeln!(text, "{mark} {name}  {}", dump::words(&record));
        }
        if let Some(header) = report["headers"].get(key) {
            let _ = writeln!(text, "  {name}  {}", dump::words(header));
        }
    }
    for state in list(&report["state"]) {
        let _ = writeln!(text, "  state     {}", dump::words(&state));
    }
    text
}
