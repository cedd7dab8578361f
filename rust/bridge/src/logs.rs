//! Keeps the engine's log lines until the caller fetches them with the next output frame.
//!
//! Rust must never call Java, so a line cannot go to slf4j when it is written. Each engine has a
//! bounded buffer of finished LOG records. During a call, the buffer is the sink of the calling
//! thread; a service's calls have a buffer of their own (`services.rs`). Lines of other threads are
//! dropped. Nothing here writes to a file or to the terminal.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use log::{Level, LevelFilter, Metadata, Record};

use crate::constant::*;
use crate::frame::Logs;
use crate::record::{self, RecordHeader};

/// Longest text of one record. Its size must fit a u16 with room to spare.
const TEXT_BYTES_MAX: usize = 4096;
/// Reserved for the record that says how many were dropped.
const NOTE_BYTES: usize = 128;
const HEADER_BYTES: usize = size_of::<record::Log>();

/// Target of the audit's lines. It precedes their text, so that a host can recognize them.
pub const AUDIT: &str = "heddle.audit";

thread_local! {
    /// The buffer of the call that runs on this thread.
    static SINK: RefCell<Option<LogBuffer>> = const { RefCell::new(None) };
}

/// Finished LOG records of one engine, at most [`LOG_BYTES_MAX`] bytes of them.
#[derive(Debug)]
pub struct LogBuffer {
    bytes: Vec<u8>,
    records: u32,
    dropped: u64,
    level: LevelFilter,
}

impl LogBuffer {
    /// An empty buffer that takes lines up to `level`.
    pub fn new(level: LevelFilter) -> LogBuffer {
        LogBuffer {
            bytes: Vec::new(),
            records: 0,
            dropped: 0,
            level,
        }
    }

    /// Returns the records so far. If any were dropped, one more says how many.
    pub fn records(&mut self) -> Logs<'_> {
        if self.dropped > 0 {
            let dropped = std::mem::take(&mut self.dropped);
            let room = LOG_BYTES_MAX as usize;
            self.append(
                Level::Warn,
                format_args!("{dropped} log lines were dropped"),
                room,
            );
        }
        Logs {
            bytes: &self.bytes,
            records: self.records,
        }
    }

    /// Returns the records as levels and texts, for callers that fetch no frame.
    pub fn lines(&mut self) -> Vec<(u32, String)> {
        let Logs { bytes, records } = self.records();
        let (mut rest, mut lines) = (bytes, Vec::new());
        for _ in 0..records {
            let (header, after) = rest.split_at(HEADER_BYTES);
            let log: record::Log = bytemuck::pod_read_unaligned(header);
            let text = &after[..log.length as usize];
            lines.push((log.header.id, String::from_utf8_lossy(text).into_owned()));
            rest = &rest[usize::from(log.header.size)..];
        }
        lines
    }

    /// Forgets the records, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records = 0;
    }

    fn push(&mut self, level: Level, text: fmt::Arguments<'_>) {
        if level <= self.level {
            self.append(level, text, LOG_BYTES_MAX as usize - NOTE_BYTES);
        }
    }

    /// Appends one record, or counts it as dropped if the buffer would outgrow `room`.
    fn append(&mut self, level: Level, text: fmt::Arguments<'_>, room: usize) {
        let start = self.bytes.len();
        self.bytes.resize(start + HEADER_BYTES, 0);
        let mut bounded = BoundedText {
            bytes: &mut self.bytes,
            left: TEXT_BYTES_MAX,
        };
        // An error means that the text was cut at the bound, as intended.
        let _ = bounded.write_fmt(text);
        let length = self.bytes.len() - start - HEADER_BYTES;
        let end = self.bytes.len().next_multiple_of(RECORD_ALIGNMENT as usize);
        if end > room {
            self.bytes.truncate(start);
            self.dropped += 1;
            return;
        }
        self.bytes.resize(end, 0);
        let size = (end - start) as u16;
        let header = RecordHeader {
            kind: LOG,
            size,
            id: level_number(level),
        };
        let log = record::Log {
            header,
            length: length as u32,
            pad: 0,
        };
        self.bytes[start..start + HEADER_BYTES].copy_from_slice(bytemuck::bytes_of(&log));
        self.records += 1;
    }
}

fn level_number(level: Level) -> u32 {
    match level {
        Level::Error => LOG_ERROR,
        Level::Warn => LOG_WARN,
        Level::Info => LOG_INFO,
        Level::Debug | Level::Trace => LOG_DEBUG,
    }
}

/// Takes text up to a number of bytes, cut between characters, so that it stays UTF-8.
struct BoundedText<'a> {
    bytes: &'a mut Vec<u8>,
    left: usize,
}

impl fmt::Write for BoundedText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut end = text.len().min(self.left);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.bytes.extend_from_slice(&text.as_bytes()[..end]);
        // After a cut, nothing shorter may follow.
        self.left = if end < text.len() { 0 } else { self.left - end };
        if end < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// Runs `call` with `buffer` as the sink of this thread. `call` must catch its own panics, or the
/// buffer stays installed.
pub fn with_sink<R>(buffer: &mut LogBuffer, call: impl FnOnce() -> R) -> R {
    let taken = std::mem::replace(buffer, LogBuffer::new(LevelFilter::Off));
    let outer = SINK.replace(Some(taken));
    let result = call();
    if let Some(taken) = SINK.replace(outer) {
        *buffer = taken;
    }
    result
}

/// A program's own logger, which gets every line as well.
static PROGRAMS_OWN: OnceLock<Box<dyn log::Log>> = OnceLock::new();

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(logger) = PROGRAMS_OWN.get() {
            logger.log(record);
        }
        // An ending thread has no sink any more. A line logged while another is being formatted
        // finds the sink borrowed. Both are dropped: the alternative is a second panic.
        let _ = SINK.try_with(|sink| {
            let Ok(mut sink) = sink.try_borrow_mut() else {
                return;
            };
            let Some(buffer) = sink.as_mut() else { return };
            match record.target() {
                AUDIT => buffer.push(record.level(), format_args!("{AUDIT} {}", record.args())),
                _ => buffer.push(record.level(), *record.args()),
            }
        });
    }

    fn flush(&self) {}
}

/// Makes the buffers the target of the `log` macros, for lines up to `level`.
pub fn install(level: LevelFilter) {
    static LOGGER: Logger = Logger;
    // This fails when it was done before, or in a program that set a logger without `install_with`:
    // the lines go there, and output frames lack them.
    let _ = log::set_logger(&LOGGER);
    // The process has one level; each buffer applies its own on top.
    log::set_max_level(log::max_level().max(level));
}

/// As [`install`], for a program that also wants the lines in a logger of its own. Without it a
/// replay would lack the lines in its output frames.
pub fn install_with(logger: impl log::Log + 'static, level: LevelFilter) {
    let _ = PROGRAMS_OWN.set(Box::new(logger));
    install(level);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(level: LevelFilter, call: impl FnOnce()) -> LogBuffer {
        install(LevelFilter::Debug);
        let mut buffer = LogBuffer::new(level);
        with_sink(&mut buffer, call);
        buffer
    }

    #[test]
    fn lines_come_back_with_their_levels_and_those_of_the_audit_are_marked() {
        let mut buffer = logged(LevelFilter::Info, || {
            log::warn!("a queue is full");
            log::info!(target: AUDIT, "{}", "{}");
            log::debug!("nobody asked");
            log::error!("");
        });
        let expected = [
            (LOG_WARN, "a queue is full".to_string()),
            (LOG_INFO, "heddle.audit {}".to_string()),
            (LOG_ERROR, String::new()),
        ];
        assert_eq!(buffer.lines(), expected);
    }

    #[test]
    fn a_line_is_a_whole_record() {
        let mut buffer = logged(LevelFilter::Info, || {
            log::warn!("queue {} is full", "root.a")
        });
        let logs = buffer.records();
        assert_eq!(logs.records, 1);
        assert_eq!(logs.bytes.len(), 16 + 24, "20 bytes of text, padded to 24");
        let log: record::Log = bytemuck::pod_read_unaligned(&logs.bytes[..16]);
        assert_eq!(
            (log.header.kind, log.header.size, log.header.id),
            (LOG, 40, LOG_WARN)
        );
        assert_eq!(
            &logs.bytes[16..16 + log.length as usize],
            b"queue root.a is full"
        );
    }

    #[test]
    fn an_engine_takes_only_its_level() {
        let mut buffer = logged(LevelFilter::Warn, || log::info!("too chatty"));
        assert_eq!(buffer.records().records, 0);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut buffer = logged(LevelFilter::Info, || {
            log::info!("x{}tail", "ä".repeat(TEXT_BYTES_MAX));
        });
        let logs = buffer.records();
        let log: record::Log = bytemuck::pod_read_unaligned(&logs.bytes[..16]);
        assert_eq!(
            log.length as usize,
            TEXT_BYTES_MAX - 1,
            "x and then two bytes each"
        );
        let text = std::str::from_utf8(&logs.bytes[16..16 + log.length as usize]).unwrap();
        assert!(text.ends_with('ä'));
    }

    #[test]
    fn a_flood_stays_in_bounds_and_is_counted() {
        const LINES: u32 = 10_000;
        let mut buffer = logged(LevelFilter::Info, || {
            for line in 0..LINES {
                log::info!("line {line} of a flood of lines");
            }
        });
        let logs = buffer.records();
        assert!(logs.bytes.len() <= LOG_BYTES_MAX as usize);
        let kept = logs.records - 1;
        let text = String::from_utf8_lossy(logs.bytes);
        let note = format!("{} log lines were dropped", LINES - kept);
        assert!(text.contains(&note), "expected: {note}");
        buffer.clear();
        assert_eq!(buffer.records().records, 0, "and counting starts anew");
    }

    #[test]
    fn lines_outside_of_a_call_go_nowhere() {
        let mut buffer = logged(LevelFilter::Info, || ());
        log::error!("nobody's");
        assert_eq!(buffer.records().records, 0);
    }
}
