//! Replays a journal through an engine and computes the digest of its answers.
//!
//! The same journal gives the same digest in Rust, C and Java, on any machine. A journal that was
//! closed also holds the digest of the recorded answers.

use std::io::Read;

use crate::error::BridgeError;
use crate::frame;
use crate::host::Host;
use crate::journal::{Digest, EntryKind, JournalError, Reader};
use crate::record::InputHeader;
use serde_json::Value;

/// No answer needs more room; a corrupt journal must not claim all memory.
const OUTPUT_BYTES_MAX: usize = 1 << 26;

/// What a replay saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Digest of all answers, in order.
    pub digest: Digest,
    /// Input frames.
    pub frames: u64,
    /// Requests.
    pub requests: u64,
    /// Answers that were errors.
    pub errors: u64,
    /// The first error, and where the input that caused it ends in the file.
    pub first_error: Option<String>,
    /// The digest that was recorded when the journal was closed, if there is one.
    pub recorded: Option<u64>,
    /// Whether the journal ends in the middle of an entry.
    pub torn: bool,
}

#[derive(Default)]
struct Errors {
    count: u64,
    first: Option<String>,
}

impl Errors {
    fn add(&mut self, what: &str, offset: u64, error: &BridgeError) {
        self.count += 1;
        self.first
            .get_or_insert_with(|| format!("the {what} that ends at offset {offset}: {error}"));
    }
}

/// Replays a whole journal.
///
/// # Errors
/// When the journal cannot be read, or does not begin with a setup that an engine opens with.
pub fn replay<R: Read>(mut journal: Reader<R>) -> Result<Replay, JournalError> {
    let mut host = open(&mut journal)?;
    let (mut frames, mut requests, mut recorded) = (0, 0, None);
    let mut digest = Digest::EMPTY;
    let mut errors = Errors::default();
    let mut out = Vec::new();
    while let Some(entry) = journal.next_entry()? {
        let payload = journal.payload();
        match entry.kind {
            EntryKind::Setup => {
                let text = format!("a second setup before offset {}", journal.offset());
                return Err(JournalError::Malformed(text));
            }
            EntryKind::Frame => {
                frames += 1;
                let room = output_bytes(payload);
                if out.len() < room {
                    // Zeroed by the allocator: a frame may claim room that no answer touches.
                    out = vec![0; room];
                }
                match host.step(payload, &mut out[..room]) {
                    Ok(length) => digest.update(&out[..length]),
                    Err(error) => {
                        digest.update_error(error.code());
                        errors.add("frame", journal.offset(), &error);
                    }
                }
            }
            EntryKind::Request => {
                requests += 1;
                match request(&mut host, entry.now_ms, payload) {
                    Ok(reply) => digest.update(reply.as_bytes()),
                    Err(error) => {
                        digest.update_error(error.code());
                        errors.add("request", journal.offset(), &error);
                    }
                }
            }
            EntryKind::Digest => {
                let bytes = payload.try_into().map_err(|_| {
                    let text = format!("a digest of {} bytes, expected 8", payload.len());
                    JournalError::Malformed(text)
                })?;
                recorded = Some(u64::from_le_bytes(bytes));
            }
        }
    }
    Ok(Replay {
        digest,
        frames,
        requests,
        errors: errors.count,
        first_error: errors.first,
        recorded,
        torn: journal.torn(),
    })
}

fn open<R: Read>(journal: &mut Reader<R>) -> Result<Host, JournalError> {
    let first = journal.next_entry()?;
    if first.is_none_or(|entry| entry.kind != EntryKind::Setup) {
        return Err(JournalError::Malformed(
            "offset 16: expected a setup".to_owned(),
        ));
    }
    let malformed = |error: String| JournalError::Malformed(format!("setup: {error}"));
    let mut setup: Value =
        serde_json::from_slice(journal.payload()).map_err(|error| malformed(error.to_string()))?;
    // A journal may come from anywhere: it must not name a file for a replay to write.
    if let Some(keys) = setup.as_object_mut() {
        keys.remove("journal");
    }
    Host::open(&setup.to_string()).map_err(|error| malformed(error.to_string()))
}

fn request(host: &mut Host, now_ms: i64, json: &[u8]) -> Result<String, BridgeError> {
    let json = std::str::from_utf8(json)
        .map_err(|error| BridgeError::BadRequest(format!("expected UTF-8: {error}")))?;
    host.request(now_ms, json)
}

/// Returns the room that the answer to this frame needs; the least for a truncated frame.
fn output_bytes(frame: &[u8]) -> usize {
    let header = frame.get(..size_of::<InputHeader>());
    let decisions_max = header.map_or(0, |bytes| {
        bytemuck::pod_read_unaligned::<InputHeader>(bytes).decisions_max
    });
    frame::output_bytes_max(decisions_max).min(OUTPUT_BYTES_MAX)
}
