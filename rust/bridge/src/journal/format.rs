//! The bytes of a segment: its header, its blocks, the entries in them. Opens no file.

use std::fmt;
use std::io;

use crate::constant::ABI_VERSION;

/// Starts every segment.
pub const MAGIC: [u8; 8] = *b"HEDDLEJ\n";
/// Version of the file format.
pub const JOURNAL_VERSION: u32 = 2;

pub(super) const SEGMENT_HEADER_BYTES: usize = 48;
pub(super) const BLOCK_HEADER_BYTES: usize = 16;
pub(super) const ENTRY_HEADER_BYTES: usize = 16;
/// Longest block before compression, and so the longest entry with its header. A block that claims
/// more is damaged. It bounds a reader's memory.
pub(super) const BLOCK_BYTES_MAX: usize = 1 << 26;
/// LZ4 compresses to a 255th at best: a block that claims more is damaged.
const RATIO_MAX: usize = 255;
const HEDDLE_VERSION_BYTES: usize = 16;

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The setup JSON that the engine was opened with, without its journal.
    Setup = 1,
    /// An input frame.
    Frame = 2,
    /// A request's JSON.
    Request = 3,
    /// The answer to the input before: an output frame or a reply.
    Answer = 4,
    /// The CRC-32 and the length of an answer that is too long to keep.
    LongAnswer = 5,
    /// The answer was an error: its code.
    Error = 6,
    /// Why the recording ended here.
    End = 7,
}

impl EntryKind {
    const ALL: [EntryKind; 7] = [
        EntryKind::Setup,
        EntryKind::Frame,
        EntryKind::Request,
        EntryKind::Answer,
        EntryKind::LongAnswer,
        EntryKind::Error,
        EntryKind::End,
    ];

    /// Whether it answers the input before it.
    pub fn is_answer(self) -> bool {
        matches!(
            self,
            EntryKind::Answer | EntryKind::LongAnswer | EntryKind::Error
        )
    }

    pub(super) fn of(number: u32) -> Option<EntryKind> {
        EntryKind::ALL
            .into_iter()
            .find(|&kind| kind as u32 == number)
    }
}

/// Why a journal cannot be read.
#[derive(Debug)]
pub enum JournalError {
    /// The file could not be read.
    Io(io::Error),
    /// The file is no journal, not one of this version, or damaged; the text says where, and what
    /// was expected.
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

/// Starts a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) recording: u32,
    pub(super) segment: u32,
    /// Checksum of the last block of the segment before.
    pub(super) before: u32,
    /// Version of the Heddle that wrote it.
    pub(super) heddle: String,
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        let numbers = [
            JOURNAL_VERSION,
            ABI_VERSION,
            self.recording,
            self.segment,
            self.before,
        ];
        for (number, at) in numbers.into_iter().zip((8..28).step_by(4)) {
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        let heddle = self.heddle.as_bytes();
        let length = heddle.len().min(HEDDLE_VERSION_BYTES);
        bytes[28..28 + length].copy_from_slice(&heddle[..length]);
        let checksum = crc32fast::hash(&bytes[..44]);
        bytes[44..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header that starts at `offset` of its file. Returns it with its checksum.
    pub(super) fn decode(
        bytes: &[u8; SEGMENT_HEADER_BYTES],
        offset: u64,
    ) -> Result<(SegmentHeader, u32), JournalError> {
        if bytes[..8] != MAGIC {
            return Err(malformed(
                "not a journal: its first bytes are not those of a journal",
            ));
        }
        for (name, at, expected) in [
            ("journal version", 8, JOURNAL_VERSION),
            ("ABI version", 12, ABI_VERSION),
        ] {
            let found = number(bytes, at);
            if found != expected {
                let at = offset + at as u64;
                return Err(malformed(format!(
                    "offset {at}: expected {name} {expected}, found {found}; replay it with the \
                     Heddle that recorded it"
                )));
            }
        }
        let checksum = number(bytes, 44);
        if crc32fast::hash(&bytes[..44]) != checksum {
            return Err(malformed(format!(
                "offset {offset}: the header of a segment is damaged: its checksum differs"
            )));
        }
        let heddle = String::from_utf8_lossy(&bytes[28..44]);
        let header = SegmentHeader {
            recording: number(bytes, 16),
            segment: number(bytes, 20),
            before: number(bytes, 24),
            heddle: heddle.trim_end_matches('\0').to_owned(),
        };
        Ok((header, checksum))
    }
}

/// Starts a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) raw: usize,
    pub(super) stored: usize,
    /// Of the stored bytes.
    pub(super) checksum: u32,
}

impl BlockHeader {
    /// Reads the header of a block that follows what had the checksum `before`; the text says what
    /// is wrong with it.
    pub(super) fn decode(
        bytes: &[u8; BLOCK_HEADER_BYTES],
        before: u32,
    ) -> Result<BlockHeader, String> {
        let header = BlockHeader {
            raw: number(bytes, 0) as usize,
            stored: number(bytes, 4) as usize,
            checksum: number(bytes, 8),
        };
        // Checked by itself: a wrong length would look like a file that was cut short.
        if header.encode(before) != *bytes {
            return Err("the checksum of its header differs".to_owned());
        }
        let BlockHeader { raw, stored, .. } = header;
        if !(ENTRY_HEADER_BYTES..=BLOCK_BYTES_MAX).contains(&raw) {
            return Err(format!(
                "expected {ENTRY_HEADER_BYTES} to {BLOCK_BYTES_MAX} bytes, found {raw}"
            ));
        }
        let least = raw.div_ceil(RATIO_MAX);
        if !(least..=raw).contains(&stored) {
            return Err(format!(
                "expected {raw} bytes to be stored in {least} to {raw}, found {stored}"
            ));
        }
        Ok(header)
    }

    /// Makes the header of `stored` bytes that follow what had the checksum `before`.
    pub(super) fn of(raw: usize, stored: &[u8], before: u32) -> BlockHeader {
        BlockHeader {
            raw,
            stored: stored.len(),
            checksum: checksum(stored, before),
        }
    }

    pub(super) fn encode(&self, before: u32) -> [u8; BLOCK_HEADER_BYTES] {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        bytes[..4].copy_from_slice(&(self.raw as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&(self.stored as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.checksum.to_le_bytes());
        let own = checksum(&bytes[..12], before);
        bytes[12..].copy_from_slice(&own.to_le_bytes());
        bytes
    }
}

/// Computes the checksum of bytes that follow what had the checksum `before`.
pub(super) fn checksum(bytes: &[u8], before: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(before);
    hasher.update(bytes);
    hasher.finalize()
}

/// Appends an entry to a block's raw bytes.
#[inline]
pub(super) fn append(block: &mut Vec<u8>, kind: EntryKind, now_ms: i64, payload: &[u8]) {
    let mut header = [0; ENTRY_HEADER_BYTES];
    header[..4].copy_from_slice(&(kind as u32).to_le_bytes());
    header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[8..].copy_from_slice(&now_ms.to_le_bytes());
    block.extend_from_slice(&header);
    block.extend_from_slice(payload);
}

/// Reads the u32 at `at`.
pub(super) fn number(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes[at..at + 4].try_into().expect("a slice of four bytes");
    u32::from_le_bytes(bytes)
}

pub(super) fn malformed(text: impl Into<String>) -> JournalError {
    JournalError::Malformed(text.into())
}
