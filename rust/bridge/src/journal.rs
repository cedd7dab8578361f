//! The journal: setup, inputs and answers of one engine's life, in files of bounded size.
//!
//! ```text
//! recording = PATH.RRRRRR.SSSSSS: the segments of recording R, in order, from S = 1 on
//! segment   = header, block*
//! header    = "HEDDLEJ\n", u32 journal version, u32 ABI version, u32 recording, u32 segment,
//!             u32 checksum of the last block of the segment before (0 in the first),
//!             16 bytes Heddle's version (ASCII, then zeros), u32 checksum of these 44 bytes
//! block     = u32 raw length, u32 stored length, u32 checksum of the stored bytes, u32 checksum
//!             of these 12 bytes, `stored` bytes (LZ4 block format; as they are if both lengths
//!             are equal)
//! checksum  = CRC-32; in a block it goes on from the checksum of the stored bytes of the block
//!             before, or from that of the segment's header
//! raw bytes = entry*; no entry goes over the end of its block
//! entry     = u32 kind, u32 length, i64 now_ms, `length` bytes
//! kind      = 1 setup (JSON, first) | 2 input frame | 3 request (JSON)
//!           | 4 answer to the input before: output frame or reply | 5 answer, long: u32 CRC-32,
//!             u32 zero, u64 length | 6 answer, an error: i64 code | 7 end: why, UTF-8, last
//! ```
//! All numbers are little-endian. `now_ms` is on the clock of the frames; 0 for setup and end.
//! Segments of one recording in one file, one after the other, are a journal too.
//!
//! A setup with `decided_by` is of a recording under another scheduler: it has inputs without
//! answers. Requests then are `place` with the number of a queue (`queue_number`) and a user, and
//! `finished` with the end of a job; containers are `CONTAINER_ADDED`.
//!
//! An input is in the buffer before it is applied, so that a journal has the input that made an
//! engine panic. A thread compresses and writes; the engine's caller only copies bytes and never
//! waits for a disk. A journal never harms scheduling: when it cannot be written, when the disk is
//! too slow, or when it is full, it stops with one logged line. It goes through the page cache
//! without a sync: what was handed over survives the process, not the machine. `replay.rs` replays
//! it; a program that only reads goes through [`Reader`] and `frame::decode`.

mod digest;
mod files;
mod format;
mod read;
mod record;
mod settings;
mod write;

pub use digest::Digest;
pub use files::{Recording, recordings};
pub use format::{EntryKind, JOURNAL_VERSION, JournalError, MAGIC};
pub use read::{Entry, Place, Reader};
pub(crate) use record::long_answer;
pub use record::{Recorder, Status};
pub use settings::{BYTES_MAX_DEFAULT, Settings};
