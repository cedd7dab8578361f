//! `heddle replay`: runs a journal, recorded by a ResourceManager with `heddle.journal.path`,
//! through the engine of this version. Only reads: a replay writes no journal and no store.

use crate::failure::{self, Failure, Kind};
use crate::terminal::{pairs, print, print_json};
use clap::Args;
use heddle::journal::Reader;
use heddle::replay::{Replay, replay};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct Journal {
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Replays a journal, and compares its answers with those that were recorded.
pub(crate) fn main(journal: &Journal) -> ExitCode {
    failure::exit(run(journal))
}

fn run(journal: &Journal) -> Result<(), Failure> {
    let at = journal.file.display().to_string();
    let replayed = Reader::open(&journal.file)
        .and_then(replay)
        .map_err(|error| {
            let expected = "a journal that this version recorded (`heddle.journal.path`)";
            Failure::usage(error.to_string(), at.as_str(), expected)
        })?;
    if journal.json {
        print_json(&as_json(&replayed))?;
    } else {
        print(&as_text(&replayed))?;
    }
    match same(&replayed) {
        Some(false) => Err(Failure::new(
            Kind::Refused,
            "the engine answers differently from the recording",
            at,
            "the digest that the journal ends with; another version decides differently",
        )),
        _ => Ok(()),
    }
}

/// Whether the answers are the recorded ones; none if the journal was not closed.
fn same(replayed: &Replay) -> Option<bool> {
    let digest = replayed.digest.value();
    replayed.recorded.map(|recorded| recorded == digest)
}

fn as_text(replayed: &Replay) -> String {
    let recorded = match replayed.recorded {
        Some(recorded) => format!("{recorded:016x}"),
        None => "none: the journal was not closed".to_owned(),
    };
    let mut lines = vec![
        ("frames", replayed.frames.to_string()),
        ("requests", replayed.requests.to_string()),
        ("errors", replayed.errors.to_string()),
        ("digest", format!("{:016x}", replayed.digest.value())),
        ("recorded digest", recorded),
    ];
    if let Some(error) = &replayed.first_error {
        lines.push(("first error", error.clone()));
    }
    if replayed.torn {
        let text = "in the middle of an entry: the process was killed, or the disk was full";
        lines.push(("end", text.to_owned()));
    }
    pairs(&lines)
}

fn as_json(replayed: &Replay) -> serde_json::Value {
    json!({
        "frames": replayed.frames,
        "requests": replayed.requests,
        "errors": replayed.errors,
        "first_error": replayed.first_error,
        "digest": format!("{:016x}", replayed.digest.value()),
        "recorded": replayed.recorded.map(|recorded| format!("{recorded:016x}")),
        "same": same(replayed),
        "torn": replayed.torn,
    })
}
