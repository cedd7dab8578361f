//! The writer's side: compresses blocks, writes them into segments, and removes the oldest
//! recordings when the journal's bound needs their room.

use std::collections::VecDeque;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use parking_lot::Mutex;

use super::files::{self, Recording, segment_path};
use super::format::{
    self, BLOCK_HEADER_BYTES, BlockHeader, EntryKind, SEGMENT_HEADER_BYTES, SegmentHeader,
};
use super::settings::Settings;

/// Kept free for the entry that says why a recording ended.
const END_BYTES: u64 = 512;
/// A journal has about this many segments, none smaller or larger than these bounds.
const SEGMENTS: u64 = 16;
const SEGMENT_BYTES: [u64; 2] = [1 << 20, 1 << 26];

/// The reason for a recording's end before its engine's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its bound is reached, or the journal's, and no older recording is left to remove.
    Full,
    /// More bytes wait for the disk than may.
    Slow(u64),
    /// An entry is too long, in bytes.
    Long(usize),
    /// A file could not be written.
    Failed(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Full => f.write_str("full"),
            Stop::Slow(bytes) => write!(f, "the disk is too slow: {bytes} bytes wait for it"),
            Stop::Long(bytes) => write!(f, "an entry of {bytes} bytes is too long"),
            Stop::Failed(error) => f.write_str(error),
        }
    }
}

/// State of both the recorder and its writer.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) recording: AtomicU32,
    /// Bytes of all files of the journal.
    pub(super) bytes: AtomicU64,
    /// Bytes of this recording.
    pub(super) recording_bytes: AtomicU64,
    /// Bytes that wait to be written.
    pub(super) queued: AtomicU64,
    has_stopped: AtomicBool,
    stop: Mutex<Option<Stop>>,
}

impl Shared {
    /// Notes the first reason to stop.
    pub(super) fn stop(&self, stop: Stop) {
        self.stop.lock().get_or_insert(stop);
        self.has_stopped.store(true, Relaxed);
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.has_stopped.load(Relaxed)
    }

    pub(super) fn stopped(&self) -> Option<Stop> {
        self.stop.lock().clone()
    }
}

/// Writes one recording.
pub(super) struct Writer {
    settings: Settings,
    shared: Arc<Shared>,
    recording: u32,
    segment: u32,
    /// `None` once it cannot be written.
    file: Option<File>,
    segment_bytes: u64,
    segment_bytes_max: u64,
    /// Checksum of the last block, or of the segment's header.
    checksum: u32,
    /// Recordings that may be removed, the oldest first.
    older: VecDeque<Recording>,
    /// Reused: a block's header and stored bytes.
    stored: Vec<u8>,
}

impl Writer {
    /// Makes the first file of the next recording.
    pub(super) fn begin(settings: &Settings, shared: Arc<Shared>) -> io::Result<Writer> {
        let mut writer = Writer {
            settings: settings.clone(),
            shared,
            recording: 1,
            segment: 1,
            file: None,
            segment_bytes: 0,
            segment_bytes_max: (settings.bytes_max / SEGMENTS)
                .clamp(SEGMENT_BYTES[0], SEGMENT_BYTES[1]),
            checksum: 0,
            older: VecDeque::new(),
            stored: Vec::new(),
        };
        let file = if is_device(settings) {
            OpenOptions::new().write(true).open(&settings.path)?
        } else {
            writer.older = files::recordings(&settings.path)?.into();
            let last = writer.older.back().map_or(0, |last| last.number);
            let older_bytes = writer.older.iter().map(Recording::bytes).sum();
            writer.shared.bytes.store(older_bytes, Relaxed);
            writer.create_after(last)?
        };
        writer.shared.recording.store(writer.recording, Relaxed);
        if let Err(error) = writer.begin_segment(file, 0) {
            // On a full disk each start would leave an empty recording, the newest of all.
            if !is_device(settings) {
                let _ = fs::remove_file(segment_path(&settings.path, writer.recording, 1));
            }
            return Err(error);
        }
        Ok(writer)
    }

    /// Makes the first file of the first free recording after `last`. Another process may take a
    /// number meanwhile.
    fn create_after(&mut self, last: u32) -> io::Result<File> {
        self.recording = last;
        loop {
            self.recording = self.recording.checked_add(1).ok_or_else(|| {
                let text = "no number is left for a recording: move the journal's files away";
                io::Error::new(io::ErrorKind::AlreadyExists, text)
            })?;
            match self.create() {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
    }

    fn create(&self) -> io::Result<File> {
        let path = segment_path(&self.settings.path, self.recording, self.segment);
        // A journal names users and queues: only its owner may read it.
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    }

    fn begin_segment(&mut self, file: File, before: u32) -> io::Result<()> {
        let header = SegmentHeader {
            recording: self.recording,
            segment: self.segment,
            before,
            heddle: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let bytes = header.encode();
        self.file = Some(file);
        self.segment_bytes = 0;
        self.write(&bytes)?;
        self.checksum = format::number(&bytes, SEGMENT_HEADER_BYTES - 4);
        Ok(())
    }

    /// Takes a block from the recorder. After a failure, takes and forgets it.
    pub(super) fn take(&mut self, raw: &[u8]) {
        if self.file.is_some()
            && let Err(error) = self.block(raw)
        {
            self.shared.stop(Stop::Failed(error.to_string()));
        }
        let bytes = raw.len() as u64;
        self.shared.queued.fetch_sub(bytes, Relaxed);
    }

    /// Writes a block. When there is no room, ends the recording instead.
    pub(super) fn block(&mut self, raw: &[u8]) -> io::Result<()> {
        let length = self.store(raw);
        let is_begun = self.segment_bytes > SEGMENT_HEADER_BYTES as u64;
        let splits = is_begun && self.segment_bytes + length as u64 > self.segment_bytes_max;
        let header = if splits { SEGMENT_HEADER_BYTES } else { 0 };
        if !self.make_room((length + header) as u64 + END_BYTES) {
            self.shared.stop(Stop::Full);
            self.end();
            return Ok(());
        }
        if splits {
            self.segment += 1;
            let file = self.create();
            let file = file.inspect_err(|_| self.file = None)?;
            self.begin_segment(file, self.checksum)?;
        }
        self.write_stored(raw.len(), length)
    }

    /// Puts a block's bytes into `stored`, behind room for a header, compressed if that is shorter.
    /// Returns their length, header included.
    fn store(&mut self, raw: &[u8]) -> usize {
        // Never shrinks, so that only what outgrows the longest block so far is zeroed.
        let room = BLOCK_HEADER_BYTES + lz4_flex::block::get_maximum_output_size(raw.len());
        if self.stored.len() < room {
            self.stored.resize(room, 0);
        }
        let bytes = &mut self.stored[BLOCK_HEADER_BYTES..];
        let compressed = self.settings.compress.then(|| {
            lz4_flex::block::compress_into(raw, bytes)
                .expect("the room is the longest that LZ4 needs")
        });
        let length = match compressed {
            Some(length) if length < raw.len() => length,
            _ => {
                bytes[..raw.len()].copy_from_slice(raw);
                raw.len()
            }
        };
        BLOCK_HEADER_BYTES + length
    }

    /// Writes the first `length` bytes of `stored` with the header of their block.
    fn write_stored(&mut self, raw: usize, length: usize) -> io::Result<()> {
        let mut stored = std::mem::take(&mut self.stored);
        let (header, bytes) = stored[..length].split_at_mut(BLOCK_HEADER_BYTES);
        let sealed = BlockHeader::of(raw, bytes, self.checksum);
        header.copy_from_slice(&sealed.encode(self.checksum));
        self.checksum = sealed.checksum;
        let written = self.write(&stored[..length]);
        self.stored = stored;
        written
    }

    /// Removes the oldest recordings until `bytes` more fit; false if they do not.
    fn make_room(&mut self, bytes: u64) -> bool {
        let recorded = self.shared.recording_bytes.load(Relaxed);
        if recorded + bytes > self.settings.recording_bytes_max() {
            return false;
        }
        while self.shared.bytes.load(Relaxed) + bytes > self.settings.bytes_max {
            let Some(oldest) = self.older.pop_front() else {
                return false;
            };
            for &(segment, bytes) in &oldest.segments {
                if fs::remove_file(oldest.path(segment)).is_ok() {
                    self.shared.bytes.fetch_sub(bytes, Relaxed);
                }
            }
        }
        true
    }

    /// Writes bytes; on an error, cuts what was written of them and gives the file up.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        if let Err(error) = file.write_all(bytes) {
            let _ = file.set_len(self.segment_bytes);
            self.file = None;
            return Err(error);
        }
        let length = bytes.len() as u64;
        self.segment_bytes += length;
        self.shared.bytes.fetch_add(length, Relaxed);
        self.shared.recording_bytes.fetch_add(length, Relaxed);
        Ok(())
    }

    /// Writes why the recording ends, and closes it.
    pub(super) fn end(&mut self) {
        let stop = self.shared.stopped();
        let why = stop.map_or_else(|| "closed".to_owned(), |stop| stop.to_string());
        let mut raw = Vec::new();
        format::append(&mut raw, EntryKind::End, 0, why.as_bytes());
        let length = self.store(&raw);
        // Its room was kept free. An error is ignored: the recording ends here in any case.
        let _ = self.write_stored(raw.len(), length);
        self.file = None;
    }
}

/// A device exists already and is written as it is.
fn is_device(settings: &Settings) -> bool {
    let metadata = settings.path.metadata();
    metadata.is_ok_and(|metadata| metadata.file_type().is_char_device())
}
