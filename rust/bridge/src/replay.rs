//! Replays a journal through an engine, and compares each answer with the recorded one.
//!
//! The same journal gives the same answers, and so the same digest, in Rust, C and Java, on any
//! machine. [`Replayer`] goes input by input; [`replay`] runs to the end or to the first answer
//! that differs. Writes nothing and prints nothing.

use std::io::Read;

use serde_json::Value;

use crate::error::BridgeError;
use crate::frame;
use crate::host::Host;
use crate::journal::{Digest, Entry, EntryKind, JournalError, Place, Reader, long_answer};
use crate::record::InputHeader;

/// No answer needs more room; a corrupt journal must not claim all memory.
const OUTPUT_BYTES_MAX: usize = 1 << 26;

/// What was recorded as the answer to an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The journal ends before the answer.
    Nothing,
    /// An output frame or a reply.
    Bytes(Vec<u8>),
    /// CRC-32 and length of a long reply.
    Long([u8; 16]),
    /// The code of an error.
    Error(i64),
}

/// One input, the engine's answer, and the recorded one.
#[derive(Debug)]
pub struct Step {
    /// [`EntryKind::Frame`] or [`EntryKind::Request`].
    pub kind: EntryKind,
    /// Which of the frames or of the requests it is, from 1 on.
    pub number: u64,
    /// When, on the clock of the frames.
    pub now_ms: i64,
    /// Where in the journal.
    pub place: Place,
    /// The frame, or the request's JSON.
    pub input: Vec<u8>,
    /// The output frame or the reply.
    pub answer: Result<Vec<u8>, BridgeError>,
    /// What the recording engine answered.
    pub recorded: Recorded,
}

impl Step {
    /// Whether both engines answered alike; `None` if no answer was recorded.
    pub fn same(&self) -> Option<bool> {
        Some(match (&self.recorded, &self.answer) {
            (Recorded::Nothing, _) => return None,
            (Recorded::Bytes(recorded), Ok(answer)) => recorded == answer,
            (Recorded::Long(recorded), Ok(answer)) => *recorded == long_answer(answer),
            (Recorded::Error(recorded), Err(error)) => *recorded == i64::from(error.code()),
            _ => false,
        })
    }
}

/// What a replay has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Input frames.
    pub frames: u64,
    /// Records in them.
    pub events: u64,
    /// Requests.
    pub requests: u64,
    /// Answers that were compared with recorded ones.
    pub compared: u64,
    /// Answers that were errors.
    pub errors: u64,
    /// The first error, and the input that caused it.
    pub first_error: Option<String>,
}

/// Replays a journal input by input.
pub struct Replayer<R> {
    journal: Reader<R>,
    host: Host,
    setup: Value,
    /// Reused: what the last step was.
    step: Step,
    /// An input that was read while looking for an answer.
    ahead: Option<Entry>,
    digest: Digest,
    counts: Counts,
    last_ms: i64,
    end: Option<String>,
    out: Vec<u8>,
}

impl<R: Read> Replayer<R> {
    /// Opens an engine with the journal's setup.
    ///
    /// # Errors
    /// When the journal cannot be read, or does not begin with a setup that an engine opens with.
    pub fn new(mut journal: Reader<R>) -> Result<Self, JournalError> {
        let setup = read_setup(&mut journal)?;
        let host = Host::open(&setup.to_string())
            .map_err(|error| JournalError::Malformed(format!("setup: {error}")))?;
        Ok(Replayer {
            journal,
            host,
            setup,
            step: Step {
                kind: EntryKind::Setup,
                number: 0,
                now_ms: 0,
                place: Place::default(),
                input: Vec::new(),
                answer: Ok(Vec::new()),
                recorded: Recorded::Nothing,
            },
            ahead: None,
            digest: Digest::EMPTY,
            counts: Counts::default(),
            last_ms: 0,
            end: None,
            out: Vec::new(),
        })
    }

    /// Runs the next input; `None` at the end of the journal.
    ///
    /// # Errors
    /// When the journal cannot be read further. What was replayed so far stays valid.
    pub fn step(&mut self) -> Result<Option<&Step>, JournalError> {
        let Some(entry) = self.next_input()? else {
            return Ok(None);
        };
        self.run(entry);
        self.read_answer()?;
        self.counts.compared += u64::from(self.step.recorded != Recorded::Nothing);
        Ok(Some(&self.step))
    }

    /// Returns the kind, the number and the time of the next input without running it.
    ///
    /// # Errors
    /// When the journal cannot be read further.
    pub fn peek(&mut self) -> Result<Option<(EntryKind, u64, i64)>, JournalError> {
        self.ahead = self.next_input()?;
        Ok(self.ahead.map(|entry| {
            let counts = &self.counts;
            let number = match entry.kind {
                EntryKind::Frame => counts.frames + 1,
                _ => counts.requests + 1,
            };
            (entry.kind, number, entry.now_ms)
        }))
    }

    /// Sends the engine a request that is not from the journal.
    ///
    /// # Errors
    /// As [`Host::request`].
    pub fn ask(&mut self, json: &str) -> Result<String, BridgeError> {
        self.host.request(self.last_ms, json)
    }

    /// The setup that the recording engine was opened with.
    pub fn setup(&self) -> &Value {
        &self.setup
    }

    /// The last step.
    pub fn last(&self) -> &Step {
        &self.step
    }

    /// What was counted so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The digest of all answers so far.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Why the recording ended, if the journal says so.
    pub fn end(&self) -> Option<&str> {
        self.end.as_deref()
    }

    /// The journal that is replayed.
    pub fn journal(&self) -> &Reader<R> {
        &self.journal
    }

    /// Reads up to the next input.
    fn next_input(&mut self) -> Result<Option<Entry>, JournalError> {
        if let Some(entry) = self.ahead.take() {
            return Ok(Some(entry));
        }
        let Some(entry) = self.journal.next_entry()? else {
            return Ok(None);
        };
        match entry.kind {
            EntryKind::Frame | EntryKind::Request if self.end.is_none() => Ok(Some(entry)),
            EntryKind::End if self.end.is_none() => {
                let why = String::from_utf8_lossy(self.journal.payload());
                self.end = Some(why.into_owned());
                // Something after the end is damage, which the next call finds.
                self.next_input()
            }
            kind => Err(self.unexpected(kind)),
        }
    }

    #[cold]
    fn unexpected(&self, kind: EntryKind) -> JournalError {
        let what = match kind {
            EntryKind::Setup => "a second setup",
            _ if self.end.is_some() => "an entry after the end",
            _ => "an answer without its input",
        };
        JournalError::Malformed(format!("{}: {what}", self.journal.place()))
    }

    /// Runs the input that the journal is at.
    fn run(&mut self, entry: Entry) {
        let step = &mut self.step;
        step.kind = entry.kind;
        step.now_ms = entry.now_ms;
        step.place = self.journal.place();
        step.input.clear();
        step.input.extend_from_slice(self.journal.payload());
        self.last_ms = entry.now_ms;
        // Its memory is used again for this answer.
        let mut answer = std::mem::replace(&mut step.answer, Ok(Vec::new())).unwrap_or_default();
        answer.clear();
        let what = if entry.kind == EntryKind::Frame {
            self.counts.frames += 1;
            step.number = self.counts.frames;
            let room = output_bytes(&step.input);
            let records = header_of(&step.input).map_or(0, |header| header.records);
            self.counts.events += u64::from(records);
            if self.out.len() < room {
                // Zeroed by the allocator: a frame may claim room that no answer touches.
                self.out = vec![0; room];
            }
            step.answer = self
                .host
                .step(&step.input, &mut self.out[..room])
                .map(|length| {
                    answer.extend_from_slice(&self.out[..length]);
                    answer
                });
            "frame"
        } else {
            self.counts.requests += 1;
            step.number = self.counts.requests;
            let reply = request(&mut self.host, entry.now_ms, &step.input);
            step.answer = reply.map(String::into_bytes);
            "request"
        };
        match &step.answer {
            Ok(answer) => self.digest.update(answer),
            Err(error) => {
                self.digest.update_error(error.code());
                self.counts.errors += 1;
                if self.counts.first_error.is_none() {
                    let Step { number, place, .. } = step;
                    let text = format!("{what} {number} ({place}): {error}");
                    self.counts.first_error = Some(text);
                }
            }
        }
    }

    /// Reads the recorded answer of the last step, if the next entry is one.
    fn read_answer(&mut self) -> Result<(), JournalError> {
        self.step.recorded = Recorded::Nothing;
        let Some(entry) = self.journal.next_entry()? else {
            return Ok(());
        };
        if !entry.kind.is_answer() {
            return self.keep_ahead(entry);
        }
        let payload = self.journal.payload();
        let long = |_| {
            let (place, length) = (self.journal.place(), payload.len());
            JournalError::Malformed(format!("{place}: {length} bytes are no recorded answer"))
        };
        self.step.recorded = match entry.kind {
            EntryKind::Answer => Recorded::Bytes(payload.to_vec()),
            EntryKind::LongAnswer => Recorded::Long(payload.try_into().map_err(long)?),
            _ => Recorded::Error(i64::from_le_bytes(payload.try_into().map_err(long)?)),
        };
        Ok(())
    }

    /// Keeps an entry that is no answer for the next call.
    fn keep_ahead(&mut self, entry: Entry) -> Result<(), JournalError> {
        match entry.kind {
            EntryKind::Frame | EntryKind::Request => self.ahead = Some(entry),
            EntryKind::End => {
                let why = String::from_utf8_lossy(self.journal.payload());
                self.end = Some(why.into_owned());
            }
            kind => return Err(self.unexpected(kind)),
        }
        Ok(())
    }
}

/// What a replay saw.
#[derive(Debug)]
pub struct Replay {
    /// Digest of all answers, in order.
    pub digest: Digest,
    /// What was replayed.
    pub counts: Counts,
    /// The first input whose answer differs from the recorded one. The replay ends there: what
    /// came after it followed from the recorded answer.
    pub difference: Option<Step>,
    /// Why the recording ended, if the journal says so.
    pub end: Option<String>,
    /// Whether the journal ends in the middle of a block.
    pub torn: bool,
}

impl Replay {
    /// Whether every input has a recorded answer, and all answers are the recorded ones.
    pub fn same(&self) -> bool {
        let counts = &self.counts;
        self.difference.is_none() && counts.compared == counts.frames + counts.requests
    }
}

/// Replays a whole journal, or up to the first difference.
///
/// # Errors
/// When the journal cannot be read, or does not begin with a setup that an engine opens with.
pub fn replay<R: Read>(journal: Reader<R>) -> Result<Replay, JournalError> {
    let mut replayer = Replayer::new(journal)?;
    let mut differs = false;
    while !differs {
        match replayer.step()? {
            Some(step) => differs = step.same() == Some(false),
            None => break,
        }
    }
    Ok(Replay {
        digest: replayer.digest,
        counts: replayer.counts,
        difference: differs.then_some(replayer.step),
        end: replayer.end,
        torn: replayer.journal.torn(),
    })
}

fn read_setup<R: Read>(journal: &mut Reader<R>) -> Result<Value, JournalError> {
    let first = journal.next_entry()?;
    if first.is_none_or(|entry| entry.kind != EntryKind::Setup) {
        let text = format!("{}: expected a setup", journal.place());
        return Err(JournalError::Malformed(text));
    }
    let mut setup: Value = serde_json::from_slice(journal.payload())
        .map_err(|error| JournalError::Malformed(format!("setup: {error}")))?;
    // A journal may come from anywhere: it must not name a file for a replay to write.
    if let Some(keys) = setup.as_object_mut() {
        keys.remove("journal");
    }
    Ok(setup)
}

fn request(host: &mut Host, now_ms: i64, json: &[u8]) -> Result<String, BridgeError> {
    let json = std::str::from_utf8(json)
        .map_err(|error| BridgeError::BadRequest(format!("expected UTF-8: {error}")))?;
    host.request(now_ms, json)
}

fn header_of(frame: &[u8]) -> Option<InputHeader> {
    let header = frame.get(..size_of::<InputHeader>());
    header.map(bytemuck::pod_read_unaligned)
}

/// Returns the room that the answer to this frame needs; the least for a truncated frame.
pub fn output_bytes(frame: &[u8]) -> usize {
    let decisions_max = header_of(frame).map_or(0, |header| header.decisions_max);
    frame::output_bytes_max(decisions_max).min(OUTPUT_BYTES_MAX)
}
