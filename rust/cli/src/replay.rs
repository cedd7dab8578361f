//! `heddle replay`: runs a journal, recorded by a ResourceManager with `heddle.journal.path`,
//! through the engine of this version, and compares every answer with the recorded one. Only reads,
//! except for `--pseudonyms`.

use crate::failure::{self, Failure, Kind};
use crate::terminal::{pairs, print, print_json};
use clap::Args;
use heddle::host::decided_by;
use heddle::journal::{EntryKind, JournalError, Reader};
use heddle::replay::{Recorded, Replayer, Step};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

mod difference;
mod dump;
mod names;
mod progress;
mod pseudonyms;
mod until;

use difference::{Lately, Replaying};
use dump::Clock;
use progress::Progress;
use until::Until;

#[derive(Args)]
pub(crate) struct Journal {
    /// A recording's first segment, a file with all of it, or what `heddle.journal.path` says: the
    /// newest recording there.
    file: PathBuf,
    /// Stop after this frame, by its number from 1 on, or after this time, such as
    /// 2026-11-24T10:00:00Z.
    #[arg(long, value_name = "FRAME|TIME")]
    until: Option<Until>,
    /// Explain this job at the end, by the engine's number: the ResourceManager's log has it where
    /// it says that the attempt was added.
    #[arg(long, value_name = "JOB")]
    explain: Option<u32>,
    /// Print every input and every decision, a line each.
    #[arg(long)]
    dump: bool,
    /// Write a copy with pseudonyms for all names, as OUT.000001.000001 and so on, and check that
    /// it decides the same.
    #[arg(long, value_name = "OUT", conflicts_with_all = ["until", "explain", "dump"])]
    pseudonyms: Option<PathBuf>,
    /// Print JSON; with --dump, an object on each line.
    #[arg(long)]
    json: bool,
}

/// Replays a journal, and compares its answers with those that were recorded.
pub(crate) fn main(journal: &Journal) -> ExitCode {
    failure::exit(run(journal))
}

fn run(journal: &Journal) -> Result<(), Failure> {
    if let Some(to) = &journal.pseudonyms {
        let done = pseudonyms::copy(&journal.file, to)?;
        return match journal.json {
            true => print_json(&done),
            false => print(&fields(&done)),
        };
    }
    let at = journal.file.display().to_string();
    let unreadable = |error: JournalError| {
        let expected = "a journal that this version recorded (`heddle.journal.path`)";
        Failure::usage(error.to_string(), at.as_str(), expected)
    };
    let reader = Reader::open(&journal.file).map_err(unreadable)?;
    let progress = Progress::of(&reader, &journal.file, 1);
    let mut replayer = Replayer::new(reader).map_err(unreadable)?;
    let found = replay(journal, &mut replayer, progress)?;
    let differs = found.stopped == Stopped::Differs;
    let report = Report {
        explanation: explain(journal, &mut replayer)?,
        difference: differs.then(|| difference::report(&mut replayer, &found.lately)),
        is_whole: found.stopped == Stopped::AtEnd,
        replayer: &replayer,
    };
    if journal.dump && journal.json {
        print(&format!("{}\n", json!({"summary": report.as_json()})))?;
    } else if journal.json {
        print_json(&report.as_json())?;
    } else {
        print(&report.as_text())?;
    }
    if differs {
        return Err(Failure::new(
            Kind::Refused,
            "the engine answers differently from the recording",
            at,
            "the recorded answer; another version decides differently",
        ));
    }
    Ok(())
}

/// The reason for the end of a replay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stopped {
    /// The files have no more.
    AtEnd,
    /// `--until` says so.
    AsTold,
    /// The last answer is another than the recorded one.
    Differs,
}

struct Found {
    stopped: Stopped,
    /// The inputs before the last one.
    lately: Lately,
}

/// Replays to the end, to `--until`, or to the first difference.
fn replay(
    journal: &Journal,
    replayer: &mut Replaying,
    mut progress: Progress,
) -> Result<Found, Failure> {
    let clock = Clock::of(replayer.setup());
    let mut lately = Lately::default();
    let (mut answered, mut lines) = (0, Lines::default());
    let stopped = loop {
        let step = match go_on(journal, replayer, &clock) {
            Ok(Ok(step)) => step,
            Ok(Err(stopped)) => break stopped,
            Err(error) => {
                lines.print()?;
                return Err(broken(&error, journal, answered));
            }
        };
        if step.kind == EntryKind::Frame {
            answered = step.number;
        }
        let differs = step.same() == Some(false);
        if journal.dump {
            dump::step(&mut lines.text, step, &clock, journal.json);
            lines.print_if_many()?;
        }
        if differs {
            break Stopped::Differs;
        }
        lately.push(step);
        progress.at(replayer.journal().bytes());
    };
    lines.print()?;
    Ok(Found { stopped, lately })
}

/// Lines that are printed together: one system call for each would take most of the time.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    const MANY_BYTES: usize = 1 << 16;

    fn print_if_many(&mut self) -> Result<(), Failure> {
        if self.text.len() >= Self::MANY_BYTES {
            self.print()?;
        }
        Ok(())
    }

    fn print(&mut self) -> Result<(), Failure> {
        if !self.text.is_empty() {
            print(&self.text)?;
        }
        self.text.clear();
        Ok(())
    }
}

/// Runs the next input, or says why there is none.
fn go_on<'a>(
    journal: &Journal,
    replayer: &'a mut Replaying,
    clock: &Clock,
) -> Result<Result<&'a Step, Stopped>, JournalError> {
    if let Some(until) = &journal.until {
        if until.is_reached(replayer.counts()) {
            return Ok(Err(Stopped::AsTold));
        }
        let next = replayer.peek()?;
        if next.is_some_and(|(_, _, now_ms)| until.is_over(clock.since_1970(now_ms))) {
            return Ok(Err(Stopped::AsTold));
        }
    }
    Ok(replayer.step()?.ok_or(Stopped::AtEnd))
}

/// A journal that cannot be read further: what came before it is not in doubt.
fn broken(error: &JournalError, journal: &Journal, answered: u64) -> Failure {
    let what = format!("{error}. The {answered} frames before it have the recorded answers");
    let remedy = match answered {
        0 => "a whole journal".to_owned(),
        frames => format!("--until {frames}, which replays what is whole"),
    };
    Failure::usage(what, journal.file.display().to_string(), remedy)
}

fn explain(journal: &Journal, replayer: &mut Replaying) -> Result<Option<Value>, Failure> {
    let Some(job) = journal.explain else {
        return Ok(None);
    };
    let question = json!({"op": "explain", "job": job}).to_string();
    let reply = replayer.ask(&question).map_err(|error| {
        let remedy = "a job that is there at that moment; --until goes to an earlier one";
        Failure::new(Kind::Refused, error.to_string(), "--explain", remedy)
    })?;
    Ok(serde_json::from_str(&reply).ok())
}

/// An object in two columns.
fn fields(object: &Value) -> String {
    let fields = object.as_object().into_iter().flatten();
    let lines: Vec<(&str, String)> = fields
        .map(|(name, value)| (name.as_str(), crate::terminal::said(value)))
        .collect();
    pairs(&lines)
}

/// The results of a replay.
struct Report<'a> {
    replayer: &'a Replaying,
    explanation: Option<Value>,
    difference: Option<Value>,
    /// Whether the replay went to the end of the files.
    is_whole: bool,
}

impl Report<'_> {
    /// How many inputs have no recorded answer.
    fn unanswered(&self) -> u64 {
        let counts = self.replayer.counts();
        (counts.frames + counts.requests).saturating_sub(counts.compared)
    }

    /// As the library's `Replay::same`: a missing answer is not the same one. None if there is
    /// nothing to compare.
    fn same(&self) -> Option<bool> {
        let is_same = self.difference.is_none() && self.unanswered() == 0;
        (self.replayer.counts().compared > 0).then_some(is_same)
    }

    fn answers(&self) -> String {
        let (replayer, compared) = (self.replayer, self.replayer.counts().compared);
        let is_last = replayer.last().recorded == Recorded::Nothing;
        match (&self.difference, compared, self.unanswered()) {
            _ if let Some(scheduler) = decided_by(replayer.setup()) => {
                format!("none: {scheduler} decided, and Heddle only recorded; nothing to compare")
            }
            (Some(_), ..) => format!("one differs; the {} before it do not", compared - 1),
            (None, 0, _) => "none was recorded".to_owned(),
            (None, _, 0) => format!("all {compared} as recorded, byte for byte"),
            (None, _, 1) if is_last => {
                let why = "the last input has none, as after a kill or a panic";
                format!("the first {compared} as recorded, byte for byte; {why}")
            }
            (None, _, missing) => {
                format!("{compared} as recorded, byte for byte; the recording lacks {missing}")
            }
        }
    }

    /// Why the recording ended, as far as that is known.
    fn end(&self) -> Option<&str> {
        match self.replayer.end() {
            Some(end) => Some(end),
            None if self.replayer.journal().torn() => {
                Some("in the middle of a block: the process was killed, or is writing it")
            }
            None => self.is_whole.then_some(
                "none: the ResourceManager was killed or still writes it, or later files are \
                 missing",
            ),
        }
    }

    fn as_text(&self) -> String {
        let (replayer, counts) = (self.replayer, self.replayer.counts());
        let mut lines = vec![
            ("recording", replayer.journal().recording().to_string()),
            (
                "recorded by",
                format!("Heddle {}", replayer.journal().heddle_version()),
            ),
            ("frames", counts.frames.to_string()),
            ("events", counts.events.to_string()),
            ("requests", counts.requests.to_string()),
            ("errors", counts.errors.to_string()),
            ("answers", self.answers()),
            ("digest", format!("{:016x}", replayer.digest().value())),
        ];
        if let Some(error) = &counts.first_error {
            lines.push(("first error", error.clone()));
        }
        if let Some(end) = self.end() {
            lines.push(("end", end.to_owned()));
        }
        let mut text = pairs(&lines);
        if let Some(difference) = &self.difference {
            text += &difference::as_text(difference);
        }
        if let Some(explanation) = &self.explanation {
            text += &crate::terminal::clean_json(&format!("\n{explanation:#}\n"));
        }
        text
    }

    fn as_json(&self) -> Value {
        let (replayer, counts) = (self.replayer, self.replayer.counts());
        let scheduler = decided_by(replayer.setup());
        let is_over = self.is_whole || replayer.end().is_some();
        json!({
            "recording": replayer.journal().recording(),
            "heddle": replayer.journal().heddle_version(),
            "frames": counts.frames,
            "events": counts.events,
            "requests": counts.requests,
            "errors": counts.errors,
            "first_error": counts.first_error,
            "compared": counts.compared,
            "unanswered": scheduler.is_none().then(|| self.unanswered()),
            "decided_by": scheduler,
            "same": self.same(),
            "digest": format!("{:016x}", replayer.digest().value()),
            "end": replayer.end(),
            "torn": replayer.journal().torn(),
            // Null if the replay did not come so far.
            "without_end": is_over.then(|| replayer.end().is_none()),
            "difference": self.difference,
            "explanation": self.explanation,
        })
    }
}
