//! Reads a recording entry by entry, through its blocks and segments. Holds one block at a time.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use super::files::{self, Recording, segment_path};
use super::format::{
    BLOCK_HEADER_BYTES, BlockHeader, ENTRY_HEADER_BYTES, EntryKind, JournalError, MAGIC,
    SEGMENT_HEADER_BYTES, SegmentHeader, checksum, malformed, number,
};

/// One entry's header; its payload is in the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub kind: EntryKind,
    /// When an input came, on the clock of the frames; that of its input for an answer.
    pub now_ms: i64,
}

/// Where something is in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the segment.
    pub segment: u32,
    /// Where its block starts in the segment's file.
    pub offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { segment, offset } = self;
        write!(f, "segment {segment}, the block at offset {offset}")
    }
}

/// Reads a journal entry by entry.
///
/// ```no_run
/// # use heddle::{frame, journal::{EntryKind, Reader}};
/// let mut journal = Reader::open("/var/log/heddle/rm.journal".as_ref())?;
/// let mut events = Vec::new();
/// while let Some(entry) = journal.next_entry()? {
///     if entry.kind == EntryKind::Frame && frame::decode(journal.payload(), &mut events).is_ok() {
///         println!("{} ms: {} events", entry.now_ms, events.len());
///     }
/// }
/// # Ok::<(), heddle::journal::JournalError>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    header: SegmentHeader,
    /// Where further segments are, if each has a file of its own.
    files: Option<Files<R>>,
    /// Where the next block starts in its file.
    next_block: u64,
    /// Where the block in `raw` starts.
    block: u64,
    checksum: u32,
    /// Bytes of all blocks so far, headers included.
    bytes: u64,
    stored: Vec<u8>,
    raw: Vec<u8>,
    /// Where the next entry starts in `raw`.
    next: usize,
    payload: std::ops::Range<usize>,
    torn: bool,
}

#[derive(Debug)]
struct Files<R> {
    base: PathBuf,
    open: fn(&Path) -> io::Result<R>,
}

/// A block, or what stands in its place.
enum Next {
    Block(BlockHeader),
    Segment,
    End,
    /// The file ends in the middle of it.
    Torn,
}

fn open_file(path: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::new(File::open(path)?))
}

impl Reader<BufReader<File>> {
    /// Opens a recording: by the path of its first segment, or of a file that holds all of it, or
    /// by what the names of its files begin with, or by a folder. The last two give the newest
    /// recording there is.
    ///
    /// # Errors
    /// When no file can be read, or it does not start like a journal.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let first = if path.is_file() {
            path.to_owned()
        } else {
            let found = files::recordings(path)?;
            // A full disk or a kill may leave one that has not begun.
            let has_begun =
                |recording: &&Recording| recording.bytes() >= SEGMENT_HEADER_BYTES as u64;
            match found.iter().rev().find(has_begun).or(found.last()) {
                Some(newest) => newest.path(newest.segments[0].0),
                None if path.is_dir() => {
                    let at = path.display();
                    return Err(malformed(format!("no journal in the folder {at}")));
                }
                // Says that it does not exist.
                None => path.to_owned(),
            }
        };
        let mut reader = Reader::new(open_file(&first)?)?;
        if let Some((base, recording, segment)) = files::split(&first)
            && (recording, segment) == (reader.header.recording, reader.header.segment)
        {
            let open = open_file;
            reader.files = Some(Files { base, open });
        }
        Ok(reader)
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header of the first segment.
    ///
    /// # Errors
    /// When `source` cannot be read or does not start like a journal.
    pub fn new(mut source: R) -> Result<Self, JournalError> {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        if read_up_to(&mut source, &mut bytes)? < bytes.len() {
            return Err(malformed(format!(
                "not a journal: shorter than its header of {SEGMENT_HEADER_BYTES} bytes"
            )));
        }
        let (header, checksum) = SegmentHeader::decode(&bytes, 0)?;
        if header.segment != 1 {
            return Err(malformed(format!(
                "segment {} of recording {}: a replay starts with segment 1",
                header.segment, header.recording
            )));
        }
        Ok(Reader {
            source,
            header,
            files: None,
            next_block: SEGMENT_HEADER_BYTES as u64,
            block: SEGMENT_HEADER_BYTES as u64,
            checksum,
            bytes: SEGMENT_HEADER_BYTES as u64,
            stored: Vec::new(),
            raw: Vec::new(),
            next: 0,
            payload: 0..0,
            torn: false,
        })
    }

    /// Goes to the next entry; `None` at the end. A truncated last block, as after a kill, counts
    /// as the end.
    ///
    /// # Errors
    /// When a file cannot be read, or is damaged. Further calls are useless then.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, JournalError> {
        if self.next == self.raw.len() && !self.read_block()? {
            self.payload = 0..0;
            return Ok(None);
        }
        let at = self.next;
        let rest = &self.raw[at..];
        if rest.len() < ENTRY_HEADER_BYTES {
            let bytes = rest.len();
            return Err(self.damaged(format!("{bytes} bytes are left where an entry starts")));
        }
        let (kind, length) = (number(rest, 0), number(rest, 4) as usize);
        let now_ms = rest[8..16].try_into().expect("8 bytes of the 16");
        let Some(kind) = EntryKind::of(kind) else {
            return Err(self.damaged(format!("expected an entry of kind 1 to 7, found {kind}")));
        };
        let left = rest.len() - ENTRY_HEADER_BYTES;
        if length > left {
            return Err(self.damaged(format!(
                "expected an entry of at most {left} bytes, found {length}"
            )));
        }
        let start = at + ENTRY_HEADER_BYTES;
        self.payload = start..start + length;
        self.next = start + length;
        Ok(Some(Entry {
            kind,
            now_ms: i64::from_le_bytes(now_ms),
        }))
    }

    /// The payload of the last [`Reader::next_entry`].
    pub fn payload(&self) -> &[u8] {
        &self.raw[self.payload.clone()]
    }

    /// Returns where the last entry is.
    pub fn place(&self) -> Place {
        let (segment, offset) = (self.header.segment, self.block);
        Place { segment, offset }
    }

    /// Bytes read so far, of all segments.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of all segments that are there, if each has a file of its own.
    pub fn bytes_total(&self) -> Option<u64> {
        let files = self.files.as_ref()?;
        let sizes = (1..).map_while(|segment| {
            let path = segment_path(&files.base, self.header.recording, segment);
            fs::metadata(path).ok().map(|metadata| metadata.len())
        });
        Some(sizes.sum())
    }

    /// Number of the recording.
    pub fn recording(&self) -> u32 {
        self.header.recording
    }

    /// Version of the Heddle that recorded it.
    pub fn heddle_version(&self) -> &str {
        &self.header.heddle
    }

    /// Whether the journal ended in the middle of a block.
    pub fn torn(&self) -> bool {
        self.torn
    }

    /// Reads the next block; false at the end.
    fn read_block(&mut self) -> Result<bool, JournalError> {
        let header = loop {
            match self.next_header()? {
                Next::Block(header) => break header,
                Next::Segment => {}
                Next::End => return Ok(false),
                Next::Torn => {
                    if let Some(path) = self.next_file().filter(|path| path.exists()) {
                        let path = path.display();
                        let text = format!("cut short, although {path} goes on");
                        return Err(self.damaged(text));
                    }
                    self.torn = true;
                    return Ok(false);
                }
            }
        };
        self.block = self.next_block;
        if checksum(&self.stored, self.checksum) != header.checksum {
            return Err(self.damaged("its checksum differs".to_owned()));
        }
        self.checksum = header.checksum;
        self.next = 0;
        self.payload = 0..0;
        if header.stored == header.raw {
            std::mem::swap(&mut self.raw, &mut self.stored);
        } else {
            self.raw.resize(header.raw, 0);
            match lz4_flex::block::decompress_into(&self.stored, &mut self.raw) {
                Ok(length) if length == header.raw => {}
                _ => return Err(self.damaged("its compressed bytes are wrong".to_owned())),
            }
        }
        let length = (BLOCK_HEADER_BYTES + header.stored) as u64;
        self.next_block += length;
        self.bytes += length;
        Ok(true)
    }

    /// Reads what comes next, a block's stored bytes included.
    fn next_header(&mut self) -> Result<Next, JournalError> {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        match read_up_to(&mut self.source, &mut bytes)? {
            0 => return self.open_next(),
            read if read < bytes.len() => return Ok(Next::Torn),
            _ => {}
        }
        if bytes[..8] == MAGIC {
            let mut header = [0; SEGMENT_HEADER_BYTES];
            header[..BLOCK_HEADER_BYTES].copy_from_slice(&bytes);
            let rest = &mut header[BLOCK_HEADER_BYTES..];
            if read_up_to(&mut self.source, rest)? < SEGMENT_HEADER_BYTES - BLOCK_HEADER_BYTES {
                return Ok(Next::Torn);
            }
            return self.begin(&header);
        }
        self.block = self.next_block;
        let header =
            BlockHeader::decode(&bytes, self.checksum).map_err(|text| self.damaged(text))?;
        self.stored.clear();
        let stored = header.stored as u64;
        let read = (&mut self.source)
            .take(stored)
            .read_to_end(&mut self.stored)?;
        if read < header.stored {
            return Ok(Next::Torn);
        }
        Ok(Next::Block(header))
    }

    /// Opens the file of the next segment, if there is one.
    fn open_next(&mut self) -> Result<Next, JournalError> {
        let (Some(path), Some(files)) = (self.next_file(), &self.files) else {
            return Ok(Next::End);
        };
        match (files.open)(&path) {
            Ok(source) => self.source = source,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Next::End),
            Err(error) => return Err(error.into()),
        }
        self.next_block = 0;
        let mut header = [0; SEGMENT_HEADER_BYTES];
        if read_up_to(&mut self.source, &mut header)? < header.len() {
            self.torn = true;
            return Ok(Next::End);
        }
        self.begin(&header)
    }

    fn begin(&mut self, bytes: &[u8; SEGMENT_HEADER_BYTES]) -> Result<Next, JournalError> {
        let (header, checksum) = SegmentHeader::decode(bytes, self.next_block)?;
        let expected = (
            self.header.recording,
            self.header.segment.wrapping_add(1),
            self.checksum,
        );
        if (header.recording, header.segment, header.before) != expected {
            let (recording, segment, _) = expected;
            return Err(malformed(format!(
                "after segment {} of recording {recording}: expected its segment {segment}, found \
                 segment {} of recording {}, or one that another file goes before",
                self.header.segment, header.segment, header.recording
            )));
        }
        self.header = header;
        self.checksum = checksum;
        self.next_block += SEGMENT_HEADER_BYTES as u64;
        self.bytes += SEGMENT_HEADER_BYTES as u64;
        Ok(Next::Segment)
    }

    fn next_file(&self) -> Option<PathBuf> {
        let base = &self.files.as_ref()?.base;
        let segment = self.header.segment.wrapping_add(1);
        Some(segment_path(base, self.header.recording, segment))
    }

    #[cold]
    fn damaged(&self, what: String) -> JournalError {
        malformed(format!("{}, is damaged: {what}", self.place()))
    }
}

/// Reads until `bytes` is full or the source ends; how many.
fn read_up_to(source: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match source.read(&mut bytes[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
