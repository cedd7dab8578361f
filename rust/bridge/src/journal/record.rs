//! The recorder's side under the engine's lock: copies entries into a buffer and hands full buffers
//! to the writer's thread (`write.rs`). Does no I/O after the first block. Never waits while the
//! engine lives, unless `Settings::wait` is set.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use super::format::{self, BLOCK_BYTES_MAX, ENTRY_HEADER_BYTES, EntryKind};
use super::settings::Settings;
use super::write::{Shared, Stop, Writer};

/// A buffer of this size goes to the writer.
const BUFFER_BYTES: usize = 1 << 18;
/// Buffers that are there from the start.
const SPARE: usize = 4;
/// A buffer that is not full goes to the writer after this time on the clock of the frames.
const BUFFER_MS: u64 = 1_000;
/// Buffers, and their bytes, that may wait for the disk: half a minute of a busy cluster.
const QUEUE: usize = 256;
const QUEUE_BYTES: u64 = 1 << 26;
/// How long closing waits for the writer. A hanging disk must not hold the ResourceManager's lock.
const CLOSE_WAIT: Duration = Duration::from_millis(500);
/// A longer reply is kept as checksum and length: pages of reports are most of the bytes otherwise,
/// and decide nothing.
const REPLY_BYTES_MAX: usize = 4_096;

/// How a recording is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its number; 0 if no file could be made.
    pub recording: u32,
    /// Bytes of all files of the journal.
    pub bytes: u64,
    /// Bytes of this recording.
    pub recording_bytes: u64,
    /// Why it stopped, if it did.
    pub stopped: Option<String>,
    /// Whether the host should make a new engine, so that another recording begins.
    pub wants_engine: bool,
}

/// Writes a recording until it is full or cannot be written.
pub struct Recorder {
    settings: Settings,
    buffer: Vec<u8>,
    /// When a buffer was last handed over, on the clock of the frames.
    handed_ms: Option<i64>,
    /// Time of the first input.
    first_ms: Option<i64>,
    /// Time of the last input, which the next answer belongs to.
    now_ms: i64,
    /// `None` once it has stopped.
    link: Option<Link>,
    shared: Arc<Shared>,
    /// Whether the log has the reason why it stopped.
    told: bool,
}

/// The way to the writer's thread.
struct Link {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    /// Disconnected when the writer has ended.
    ended: Receiver<()>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("settings", &self.settings)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// Begins a recording: the next one at `settings.path`. The recording of an engine that failed
    /// outlives its replacement, until the journal's bound needs its room.
    ///
    /// Logs an error and records nothing if no file can be made.
    pub fn create(settings: Settings, setup: &str) -> Recorder {
        let mut first = Vec::with_capacity(BUFFER_BYTES);
        format::append(&mut first, EntryKind::Setup, 0, setup.as_bytes());
        let shared = Arc::new(Shared::default());
        // The setup is written before the first frame: a full disk shows at open.
        let begun = Writer::begin(&settings, Arc::clone(&shared)).and_then(|mut writer| {
            writer.block(&first)?;
            Ok(writer)
        });
        let link = match begun.and_then(start) {
            Ok(link) => Some(link),
            Err(error) => {
                shared.stop(Stop::Failed(error.to_string()));
                None
            }
        };
        first.clear();
        let mut recorder = Recorder {
            settings,
            buffer: first,
            handed_ms: None,
            first_ms: None,
            now_ms: 0,
            link,
            shared,
            told: false,
        };
        recorder.tell();
        recorder
    }

    /// Records an input frame, before it is applied. `now_ms` is that of its header.
    pub fn frame(&mut self, now_ms: i64, frame: &[u8]) {
        self.input(EntryKind::Frame, now_ms, frame);
    }

    /// Records a request, before it is served.
    pub fn request(&mut self, now_ms: i64, json: &str) {
        self.input(EntryKind::Request, now_ms, json.as_bytes());
    }

    /// Records the output frame that answers the last frame.
    pub fn output(&mut self, output: &[u8]) {
        self.answer(EntryKind::Answer, output);
    }

    /// Records the reply to the last request.
    pub fn reply(&mut self, reply: &[u8]) {
        if reply.len() <= REPLY_BYTES_MAX {
            self.answer(EntryKind::Answer, reply);
        } else {
            self.answer(EntryKind::LongAnswer, &long_answer(reply));
        }
    }

    /// Records the error that answers the last input.
    pub fn error(&mut self, code: i32) {
        self.answer(EntryKind::Error, &i64::from(code).to_le_bytes());
    }

    /// Hands the buffer to the writer if the last hand-over was a second ago or more. Each answer
    /// calls it, and so does a host that gives no answers.
    pub fn flush_if_due(&mut self) {
        let due = self
            .handed_ms
            .is_none_or(|handed| handed.abs_diff(self.now_ms) >= BUFFER_MS);
        if due {
            self.flush();
        }
    }

    /// Hands the buffer to the writer.
    pub fn flush(&mut self) {
        self.handed_ms = Some(self.now_ms);
        if !self.buffer.is_empty() {
            self.hand_over();
        }
    }

    /// Returns how the recording is doing.
    pub fn status(&self) -> Status {
        Status {
            recording: self.shared.recording.load(Relaxed),
            bytes: self.shared.bytes.load(Relaxed),
            recording_bytes: self.shared.recording_bytes.load(Relaxed),
            stopped: self.shared.stopped().map(|stop| self.sentence(&stop)),
            wants_engine: self.wants_engine(),
        }
    }

    fn wants_engine(&self) -> bool {
        let lived_ms = self.first_ms.map_or(0, |first| self.now_ms.abs_diff(first));
        let due = self.settings.renew_ms.is_some_and(|ms| lived_ms >= ms);
        due && self.shared.stopped() == Some(Stop::Full)
    }

    fn input(&mut self, kind: EntryKind, now_ms: i64, payload: &[u8]) {
        // Here and not in `answer`: a line of the log must reach the sink of a running call.
        if !self.told && self.shared.has_stopped() {
            self.tell();
            self.link = None;
        }
        self.now_ms = now_ms;
        self.first_ms.get_or_insert(now_ms);
        self.entry(kind, payload);
    }

    fn answer(&mut self, kind: EntryKind, payload: &[u8]) {
        self.entry(kind, payload);
        self.flush_if_due();
    }

    #[inline]
    fn entry(&mut self, kind: EntryKind, payload: &[u8]) {
        if self.link.is_none() {
            return;
        }
        let length = ENTRY_HEADER_BYTES + payload.len();
        if self.buffer.len() + length > BUFFER_BYTES && !self.buffer.is_empty() {
            self.hand_over();
        }
        if length > BLOCK_BYTES_MAX {
            self.stop(Stop::Long(payload.len()));
            return;
        }
        format::append(&mut self.buffer, kind, self.now_ms, payload);
    }

    fn hand_over(&mut self) {
        let Some(link) = &self.link else { return };
        let empty = link.empty.try_recv();
        let empty = empty.unwrap_or_else(|_| Vec::with_capacity(BUFFER_BYTES));
        let full = std::mem::replace(&mut self.buffer, empty);
        let bytes = full.len() as u64;
        let waiting = self.shared.queued.fetch_add(bytes, Relaxed) + bytes;
        let handed = if self.settings.wait {
            let sent = link.full.send(full);
            sent.map_err(|unsent| TrySendError::Disconnected(unsent.0))
        } else if waiting > QUEUE_BYTES.max(bytes) {
            Err(TrySendError::Full(full))
        } else {
            link.full.try_send(full)
        };
        match handed {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.stop(Stop::Slow(waiting)),
            // The writer has said why it ended, unless it panicked.
            Err(TrySendError::Disconnected(_)) => {
                self.stop(Stop::Failed("the writer ended".to_owned()));
            }
        }
    }

    /// Ends the recording; the writer still writes what waits, and why it ended.
    #[cold]
    fn stop(&mut self, stop: Stop) {
        self.shared.stop(stop);
        self.link = None;
    }

    /// Logs once why the recording stopped, if it did.
    #[cold]
    fn tell(&mut self) {
        let Some(stop) = self.shared.stopped() else {
            return;
        };
        self.told = true;
        let sentence = self.sentence(&stop);
        match stop {
            Stop::Full => log::warn!("{sentence}"),
            _ => log::error!("{sentence}; journaling stops, scheduling goes on without it"),
        }
    }

    fn sentence(&self, stop: &Stop) -> String {
        let path = self.settings.path.display();
        match stop {
            Stop::Full => {
                let bytes_max = self.settings.recording_bytes_max();
                let next = match self.settings.renew_ms {
                    Some(ms) => format!(
                        "until a new engine begins the next recording, {ms} ms \
                        after this one began at the earliest"
                    ),
                    None => "here".to_owned(),
                };
                format!("journal {path} has reached {bytes_max} bytes: journaling stops {next}")
            }
            stop => format!("journal {path}: {stop}"),
        }
    }

    /// Hands over the rest and waits for the writer, for a bounded time.
    fn close(&mut self) {
        self.flush();
        let Some(Link { full, ended, .. }) = self.link.take() else {
            return;
        };
        drop(full);
        // Nothing is ever sent: the wait ends with the writer, or after its time.
        let _ = match self.settings.wait {
            true => ended.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => ended.recv_timeout(CLOSE_WAIT),
        };
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

/// The checksum and the length of a long answer, which are kept in its place.
pub(crate) fn long_answer(answer: &[u8]) -> [u8; 16] {
    let mut kept = [0; 16];
    kept[..4].copy_from_slice(&crc32fast::hash(answer).to_le_bytes());
    kept[8..].copy_from_slice(&(answer.len() as u64).to_le_bytes());
    kept
}

/// Starts the writer's thread.
fn start(mut writer: Writer) -> std::io::Result<Link> {
    let (full, blocks) = sync_channel::<Vec<u8>>(QUEUE);
    let (emptied, empty) = sync_channel(QUEUE);
    for _ in 0..SPARE {
        // Filled now, so that no heartbeat pays for the page faults.
        let mut buffer = vec![1; BUFFER_BYTES];
        buffer.clear();
        let _ = emptied.try_send(buffer);
    }
    let (end, ended) = sync_channel(0);
    std::thread::Builder::new()
        .name("heddle-journal".to_owned())
        .spawn(move || {
            // Dropped last: the recorder may wait for it.
            let _end: SyncSender<()> = end;
            for mut block in blocks {
                writer.take(&block);
                block.clear();
                // A block of one long entry is not kept.
                if block.capacity() <= 2 * BUFFER_BYTES {
                    let _ = emptied.try_send(block);
                }
            }
            writer.end();
        })?;
    Ok(Link { full, empty, ended })
}
