//! The journal: setup, input frames and requests of one engine in one file, for replay.
//!
//! ```text
//! file   = "HEDDLEJ\n", u32 journal version, u32 ABI version, entry*
//! entry  = u32 kind, u32 length, i64 now_ms, `length` bytes
//! kind   = 1 setup (JSON, first) | 2 input frame | 3 request (JSON) | 4 digest (u64)
//! digest = FNV-1a 64 over all answers so far, in order: an output frame or a reply as its bytes,
//!          an error as its code in 8 bytes (i64)
//! ```
//! All numbers are little-endian. `now_ms` is that of a request, and 0 for other entries.
//!
//! An input is written before it is applied, so that a journal has the input that made an engine
//! panic. The digest entry is written at close. A journal never harms scheduling: when it cannot be
//! written, or is full, it stops with one logged line. It goes through the page cache without a
//! sync: it survives the process, not the machine. `replay.rs` replays it.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::constant::ABI_VERSION;

/// Starts every journal.
pub const MAGIC: [u8; 8] = *b"HEDDLEJ\n";
/// Version of the file format.
pub const JOURNAL_VERSION: u32 = 1;
/// A journal's default bound: about a day of a busy cluster.
pub const BYTES_MAX_DEFAULT: u64 = 1 << 30;

/// Longest entry; one that claims more is corrupt.
const ENTRY_BYTES_MAX: u32 = 1 << 28;
const FILE_HEADER_BYTES: u64 = 16;
const ENTRY_HEADER_BYTES: u64 = 16;
/// Most journals of one path; beyond that, none is written.
const SIBLINGS_MAX: u32 = 1000;

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The setup JSON that the engine was opened with, without its journal.
    Setup = 1,
    /// An input frame.
    Frame = 2,
    /// A request's JSON.
    Request = 3,
    /// The digest of all answers so far.
    Digest = 4,
}

/// FNV-1a, 64 bits: small enough to be written the same way in C and Java.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// The digest of no bytes.
    pub const EMPTY: Digest = Digest(0xcbf2_9ce4_8422_2325);

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds an error by its code.
    pub fn update_error(&mut self, code: i32) {
        self.update(&i64::from(code).to_le_bytes());
    }

    /// The digest of all bytes so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

/// Writes a journal until it is full or cannot be written.
#[derive(Debug)]
pub struct Recorder {
    /// `None` once it has stopped.
    file: Option<BufWriter<File>>,
    path: PathBuf,
    bytes: u64,
    bytes_max: u64,
    digest: Digest,
}

impl Recorder {
    /// Begins a journal at `path`, or at `path.1`, `path.2`… when that exists: the journal of an
    /// engine that failed must outlive its replacement.
    ///
    /// Logs an error and records nothing if no file can be made.
    pub fn create(path: &Path, bytes_max: u64, setup: &str) -> Recorder {
        let (file, path) = match create_new(path) {
            Ok((file, path)) => (Some(BufWriter::new(file)), path),
            Err(error) => {
                stopped(path, &error);
                (None, path.to_owned())
            }
        };
        let bytes = FILE_HEADER_BYTES;
        let mut recorder = Recorder {
            file,
            path,
            bytes,
            bytes_max,
            digest: Digest::EMPTY,
        };
        recorder.write(|file| {
            file.write_all(&MAGIC)?;
            file.write_all(&JOURNAL_VERSION.to_le_bytes())?;
            file.write_all(&ABI_VERSION.to_le_bytes())
        });
        recorder.entry(EntryKind::Setup, 0, setup.as_bytes());
        // The setup is written before the first frame: a full disk shows at open.
        recorder.flush();
        recorder
    }

    /// Records an input frame, before it is applied.
    pub fn frame(&mut self, frame: &[u8]) {
        self.entry(EntryKind::Frame, 0, frame);
    }

    /// Records a request, before it is served.
    pub fn request(&mut self, now_ms: i64, json: &str) {
        self.entry(EntryKind::Request, now_ms, json.as_bytes());
    }

    /// Adds an answer to the digest: an output frame, a reply, or an error's code.
    pub fn answer(&mut self, answer: Result<&[u8], i32>) {
        match answer {
            Ok(bytes) => self.digest.update(bytes),
            Err(code) => self.digest.update_error(code),
        }
    }

    /// Flushes the buffer to the operating system.
    pub fn flush(&mut self) {
        self.write(BufWriter::flush);
    }

    fn entry(&mut self, kind: EntryKind, now_ms: i64, payload: &[u8]) {
        let bytes = self.bytes + ENTRY_HEADER_BYTES + payload.len() as u64;
        // Reserves room for the closing digest, so that a full journal is still complete.
        if bytes + ENTRY_HEADER_BYTES + size_of::<u64>() as u64 > self.bytes_max {
            self.full();
            return;
        }
        self.bytes = bytes;
        self.write(|file| {
            file.write_all(&(kind as u32).to_le_bytes())?;
            file.write_all(&(payload.len() as u32).to_le_bytes())?;
            file.write_all(&now_ms.to_le_bytes())?;
            file.write_all(payload)
        });
    }

    fn full(&mut self) {
        if self.file.is_none() {
            return;
        }
        let (path, bytes_max) = (self.path.display(), self.bytes_max);
        log::warn!("journal {path} has reached {bytes_max} bytes: journaling stops here");
        self.close();
    }

    /// Writes the digest of all answers, and ends the journal.
    fn close(&mut self) {
        if self.file.is_none() {
            return;
        }
        self.bytes_max = u64::MAX;
        let digest = self.digest.value().to_le_bytes();
        self.entry(EntryKind::Digest, 0, &digest);
        self.flush();
        self.file = None;
    }

    fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = write(file) {
            stopped(&self.path, &error);
            self.file = None;
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

#[cold]
fn stopped(path: &Path, error: &io::Error) {
    let path = path.display();
    log::error!("journal {path}: {error}; journaling stops, scheduling goes on without it");
}

fn create_new(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    // A journal names users and queues: only its owner may read it.
    options.write(true).mode(0o600);
    // A device exists already and is written as it is. A pipe is not opened: that waits for its
    // reader, and scheduling would wait, too.
    if path
        .metadata()
        .is_ok_and(|metadata| metadata.file_type().is_char_device())
    {
        return Ok((options.open(path)?, path.to_owned()));
    }
    options.create_new(true);
    let siblings = (1..SIBLINGS_MAX).map(|number| {
        let mut sibling = path.as_os_str().to_owned();
        sibling.push(format!(".{number}"));
        PathBuf::from(sibling)
    });
    for path in std::iter::once(path.to_owned()).chain(siblings) {
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return Ok((other?, path)),
        }
    }
    let text = format!("{SIBLINGS_MAX} journals of this name exist: move them away");
    Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
}

/// Why a journal cannot be read.
#[derive(Debug)]
pub enum JournalError {
    /// The file could not be read.
    Io(io::Error),
    /// The file is no journal, or not one of this version; the text says what was expected.
    Malformed(String),
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalError::Io(error) => error.fmt(f),
            JournalError::Malformed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for JournalError {}

impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> JournalError {
        JournalError::Io(error)
    }
}

/// One entry's header; its payload is in the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it holds.
    pub kind: EntryKind,
    /// When a request was made, on the clock of the frames.
    pub now_ms: i64,
}

/// Reads a journal entry by entry.
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    offset: u64,
    payload: Vec<u8>,
    torn: bool,
}

impl Reader<BufReader<File>> {
    /// Opens a journal.
    ///
    /// # Errors
    /// When the file cannot be read or does not start like a journal.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        Reader::new(BufReader::new(File::open(path)?))
    }
}

impl<R: Read> Reader<R> {
    /// Reads the file header.
    ///
    /// # Errors
    /// When `source` cannot be read or does not start like a journal.
    pub fn new(mut source: R) -> Result<Self, JournalError> {
        let mut header = [0; FILE_HEADER_BYTES as usize];
        if let Err(error) = source.read_exact(&mut header) {
            return Err(match error.kind() {
                io::ErrorKind::UnexpectedEof => JournalError::Malformed(format!(
                    "not a journal: shorter than its header of {FILE_HEADER_BYTES} bytes"
                )),
                _ => error.into(),
            });
        }
        if header[..8] != MAGIC {
            return Err(JournalError::Malformed(
                "not a journal: its first bytes are not those of a journal".to_owned(),
            ));
        }
        for (name, at, expected) in [
            ("journal version", 8, JOURNAL_VERSION),
            ("ABI version", 12, ABI_VERSION),
        ] {
            let got = number(&header, at);
            if got != expected {
                let text = format!("offset {at}: expected {name} {expected}, found {got}");
                return Err(JournalError::Malformed(text));
            }
        }
        Ok(Reader {
            source,
            offset: FILE_HEADER_BYTES,
            payload: Vec::new(),
            torn: false,
        })
    }

    /// Goes to the next entry; `None` at the end. A truncated last entry, as after a kill, counts
    /// as the end.
    ///
    /// # Errors
    /// When the file cannot be read or an entry is malformed.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, JournalError> {
        self.payload.clear();
        let read = (&mut self.source)
            .take(ENTRY_HEADER_BYTES)
            .read_to_end(&mut self.payload)?;
        if (read as u64) < ENTRY_HEADER_BYTES {
            self.torn = read > 0;
            return Ok(None);
        }
        let (kind, length) = (number(&self.payload, 0), number(&self.payload, 4));
        let now_ms: [u8; 8] = self.payload[8..16]
            .try_into()
            .expect("8 bytes of the 16 read");
        let kind = self.kind(kind)?;
        if length > ENTRY_BYTES_MAX {
            let at = self.offset + 4;
            let text =
                format!("offset {at}: expected at most {ENTRY_BYTES_MAX} bytes, found {length}");
            return Err(JournalError::Malformed(text));
        }
        self.payload.clear();
        let length = u64::from(length);
        let read = (&mut self.source)
            .take(length)
            .read_to_end(&mut self.payload)?;
        if (read as u64) < length {
            self.torn = true;
            return Ok(None);
        }
        self.offset += ENTRY_HEADER_BYTES + length;
        Ok(Some(Entry {
            kind,
            now_ms: i64::from_le_bytes(now_ms),
        }))
    }

    /// The payload of the last [`Reader::next_entry`].
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Returns where the next entry starts in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the journal ended in the middle of an entry.
    pub fn torn(&self) -> bool {
        self.torn
    }

    fn kind(&self, number: u32) -> Result<EntryKind, JournalError> {
        use EntryKind::{Digest, Frame, Request, Setup};
        [Setup, Frame, Request, Digest]
            .into_iter()
            .find(|&kind| kind as u32 == number)
            .ok_or_else(|| {
                let at = self.offset;
                let text = format!("offset {at}: expected an entry of kind 1 to 4, found {number}");
                JournalError::Malformed(text)
            })
    }
}

/// Reads the u32 at `at`.
fn number(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes[at..at + 4].try_into().expect("a slice of four bytes");
    u32::from_le_bytes(bytes)
}
