//! The shadow's thread: a copy of what the live engine hears and decides goes over a bounded queue
//! to a thread of its own, which runs [`heddle_shadow::Shadow`]. The engine's caller copies and
//! never waits: a shadow that falls behind, panics or cannot begin is dropped, with its reason in
//! the report. Nothing goes back to the engine, and nothing into its log: log lines are part of the
//! answers that a replay compares, and a replay has no shadow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use heddle_core::engine::{Books, Engine};
use heddle_core::setup::Setup;
use heddle_core::words::event::{Decision, Event};
use heddle_core::words::ids::JobId;
use heddle_shadow::Shadow;
use log::LevelFilter;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::logs::{self, LogBuffer};
use crate::panics;

/// Messages, and bytes of them, that may wait: a few seconds of a busy cluster.
const QUEUE: usize = 1 << 14;
const QUEUE_BYTES: u64 = 1 << 26;
/// A report is made at most this often, on the clock of the frames.
const REPORT_MS: i64 = 1_000;
/// Keys that a status copies from the report.
const COUNTS: [&str; 4] = ["grants", "preemptions", "starts", "ends"];
const SLOW: &str = "it could not keep up with the cluster";
/// Limit on jobs that have ended under the live engine and still wait in the shadow, because the
/// candidate is slower or has no room for them. Each takes memory of the ResourceManager.
const UNFINISHED_MAX: usize = 10_000;

/// Frames go over together when they have this many events, or are this old on their own clock: a
/// thread that is woken for each costs its waker microseconds.
const BATCH_EVENTS: usize = 256;
const BATCH_MS: i64 = 100;

/// Frames, one after the other.
#[derive(Default)]
struct Batch {
    /// Time, and where its events and its decisions end.
    frames: Vec<(i64, usize, usize)>,
    events: Vec<Event>,
    decisions: Vec<Decision>,
}

/// A message to the thread.
enum Message {
    Frames(Batch),
    Application(JobId, String),
    Request {
        now_ms: i64,
        request: Value,
        reply: Value,
    },
}

impl Message {
    fn bytes(&self) -> u64 {
        let bytes = match self {
            Message::Frames(batch) => {
                size_of_val(batch.events.as_slice()) + size_of_val(batch.decisions.as_slice())
            }
            Message::Application(_, id) => size_of::<Message>() + id.len(),
            // Requests are few; what they hold is about this much.
            Message::Request { .. } => 4_096,
        };
        bytes as u64
    }
}

/// The state that the thread and the engine's side share.
#[derive(Default)]
struct Shared {
    /// Bytes that wait in the queue.
    waiting: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Why it was dropped.
    dropped: Option<String>,
    /// The last report; null before the first. It may be large, so a status does not copy it.
    report: Arc<Value>,
}

impl Shared {
    /// Notes why the shadow ended; the first reason counts.
    fn drop_for(&self, why: &str) {
        let mut state = self.state.lock();
        state.dropped.get_or_insert_with(|| why.to_string());
    }
}

/// A shadow beside an engine. Dropping it ends the thread, which is not waited for.
pub(crate) struct ShadowLink {
    /// The request that began it; the same again changes nothing.
    request: Value,
    name: String,
    queue: Option<SyncSender<Message>>,
    batch: Batch,
    bytes_max: u64,
    shared: Arc<Shared>,
}

impl ShadowLink {
    /// Begins a shadow of an engine. `setup` is the engine's; `request` has the candidate's
    /// `name`, `config`, `allocations`, `users` and `labels` in its place, and perhaps the bounds
    /// `queue_bytes_max` and `unfinished_max`; or `name` and what is `wrong` with it. A wrong
    /// candidate is dropped at once.
    pub(crate) fn begin(setup: &Value, request: &Value, engine: &Engine, now_ms: i64) -> Self {
        let shared = Arc::<Shared>::default();
        let name = request["name"].as_str().unwrap_or("shadow").to_string();
        let mut link = ShadowLink {
            request: request.clone(),
            name,
            queue: None,
            batch: Batch::default(),
            bytes_max: request["queue_bytes_max"].as_u64().unwrap_or(QUEUE_BYTES),
            shared: Arc::clone(&shared),
        };
        let wrong = request["wrong"].as_str().map(str::to_string);
        match wrong.map_or_else(|| candidate(setup, request), Err) {
            Ok(setup) => {
                let (sender, receiver) = sync_channel(QUEUE);
                let books = engine.books();
                let unfinished_max = request["unfinished_max"].as_u64();
                let unfinished_max = unfinished_max.map_or(UNFINISHED_MAX, |max| max as usize);
                let run = move || run(setup, &books, now_ms, unfinished_max, &receiver, &shared);
                let started = thread::Builder::new()
                    .name("heddle-shadow".into())
                    .spawn(run);
                match started {
                    Ok(_) => link.queue = Some(sender),
                    Err(error) => link.shared.drop_for(&format!("no thread: {error}")),
                }
            }
            Err(why) => link.shared.drop_for(&why),
        }
        link
    }

    /// Whether this is the shadow that the request wants.
    pub(crate) fn is(&self, request: &Value) -> bool {
        self.request == *request
    }

    /// Hands over a frame after it was applied. Heartbeats, rooms and offers are left out, and
    /// headrooms: the shadow has its own, and they are most of what there is.
    pub(crate) fn frame(&mut self, now_ms: i64, events: &[Event], decisions: &[Decision]) {
        if self.queue.is_none() {
            return;
        }
        let batch = &mut self.batch;
        let (had, decided) = (batch.events.len(), batch.decisions.len());
        let own = |event: &Event| {
            matches!(
                event,
                Event::Heartbeat { .. }
                    | Event::Room { .. }
                    | Event::NodeSilent(_)
                    | Event::Offer(_)
            )
        };
        let events = events.iter().copied().filter(|event| !own(event));
        let decisions = decisions.iter().copied();
        batch.events.extend(events);
        batch
            .decisions
            .extend(decisions.filter(|decision| !matches!(decision, Decision::Headroom { .. })));
        if (had, decided) != (batch.events.len(), batch.decisions.len()) {
            let ends = (now_ms, batch.events.len(), batch.decisions.len());
            batch.frames.push(ends);
        }
        let first = batch.frames.first();
        let is_old =
            first.is_some_and(|(first_ms, ..)| first_ms.saturating_add(BATCH_MS) <= now_ms);
        if is_old || batch.events.len() >= BATCH_EVENTS {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if !self.batch.frames.is_empty() {
            let next = Batch {
                frames: Vec::with_capacity(self.batch.frames.len()),
                events: Vec::with_capacity(BATCH_EVENTS),
                decisions: Vec::with_capacity(self.batch.decisions.len()),
            };
            let batch = std::mem::replace(&mut self.batch, next);
            self.send(Message::Frames(batch));
        }
    }

    /// Hands over a request and its reply, if the shadow has a use for it.
    pub(crate) fn request(&mut self, now_ms: i64, request: &Value, reply: &Value) {
        if self.queue.is_some() && request["op"] == "place" {
            self.hand_over();
            self.send(Message::Request {
                now_ms,
                request: request.clone(),
                reply: reply.clone(),
            });
        }
    }

    /// Hands over the id of an application (`application`) and the number that its job (`job`) will
    /// have. The engine knows jobs by number only.
    pub(crate) fn application(&mut self, request: &Value) {
        if self.queue.is_none() {
            return;
        }
        let number = request["job"]
            .as_u64()
            .and_then(|job| u32::try_from(job).ok());
        if let (Some(job), Some(id)) = (number, request["application"].as_str()) {
            self.hand_over();
            self.send(Message::Application(JobId(job), id.to_string()));
        }
    }

    fn send(&mut self, message: Message) {
        let Some(queue) = &self.queue else { return };
        let bytes = message.bytes();
        let waiting = self.shared.waiting.fetch_add(bytes, Relaxed) + bytes;
        let outcome = match waiting > self.bytes_max {
            true => Err(SLOW),
            false => queue.try_send(message).map_err(|error| match error {
                TrySendError::Full(_) => SLOW,
                // It has said why.
                TrySendError::Disconnected(_) => "it ended",
            }),
        };
        if let Err(why) = outcome {
            self.shared.drop_for(why);
            self.queue = None;
        }
    }

    /// How it is doing: `state` (`on` or `dropped`), `name`, `why`, `waiting_bytes`, how many
    /// `grants` and `preemptions` it has made, and how many ended jobs would have started
    /// (`starts`) and ended (`ends`) earlier, later and at the same time. The host is locked, so
    /// nothing else of the report is copied.
    pub(crate) fn status(&self) -> Value {
        let state = self.shared.state.lock();
        let counts = |of: &str| {
            let ended = &state.report["ended"][of];
            json!([ended["earlier"], ended["later"], ended["equal"]])
        };
        json!({
            "state": if state.dropped.is_some() { "dropped" } else { "on" },
            "name": self.name,
            "why": state.dropped,
            "waiting_bytes": self.shared.waiting.load(Relaxed),
            "grants": state.report["grants"][1],
            "preemptions": state.report["preemptions"][1],
            "starts": counts("start"),
            "ends": counts("end"),
        })
    }

    /// The last report; null before the first.
    pub(crate) fn report(&self) -> Arc<Value> {
        Arc::clone(&self.shared.state.lock().report)
    }
}

/// Replaces the counts of a status by the full report. Null without a shadow.
pub(crate) fn with_report(mut state: Value, report: &Value) -> Value {
    if let Value::Object(state) = &mut state {
        state.retain(|key, _| !COUNTS.contains(&key.as_str()));
        state.insert("report".to_string(), report.clone());
    }
    state
}

/// The engine's setup with the candidate's configuration.
fn candidate(setup: &Value, request: &Value) -> Result<Setup, String> {
    let mut setup = setup.clone();
    let keys = setup.as_object_mut().ok_or("there is no setup")?;
    for key in ["config", "allocations", "users", "labels"] {
        keys.remove(key);
        if let Some(value) = request.get(key) {
            keys.insert(key.to_string(), value.clone());
        }
    }
    // Warnings about a configuration that is not in force would mislead readers of the log.
    let mut unheard = LogBuffer::new(LevelFilter::Off);
    let read = logs::with_sink(&mut unheard, || panics::catch(|| Setup::from_json(&setup)));
    read?.map_err(|error| error.to_string())
}

/// The thread: ends when the queue does, or when the shadow fails.
fn run(
    setup: Setup,
    books: &Books,
    now_ms: i64,
    unfinished_max: usize,
    queue: &Receiver<Message>,
    shared: &Shared,
) {
    let mut unheard = LogBuffer::new(LevelFilter::Off);
    let outcome = logs::with_sink(&mut unheard, || {
        panics::catch(|| {
            let mut shadow = Shadow::new(setup, books, now_ms).map_err(|why| why.to_string())?;
            let mut reported_ms = i64::MIN;
            while let Ok(message) = queue.recv() {
                let bytes = message.bytes();
                match message {
                    Message::Frames(batch) => {
                        let (mut event, mut decision) = (0, 0);
                        for (now_ms, events_end, decisions_end) in batch.frames {
                            shadow.hear(
                                now_ms,
                                &batch.events[event..events_end],
                                &batch.decisions[decision..decisions_end],
                            );
                            (event, decision) = (events_end, decisions_end);
                            if reported_ms.saturating_add(REPORT_MS) <= now_ms {
                                reported_ms = now_ms;
                                let report = Arc::new(shadow.report());
                                shared.state.lock().report = report;
                            }
                        }
                    }
                    Message::Application(job, id) => shadow.hear_application(job, id),
                    Message::Request {
                        now_ms,
                        request,
                        reply,
                    } => shadow.hear_request(now_ms, &request, &reply),
                }
                shared.waiting.fetch_sub(bytes, Relaxed);
                if shadow.unfinished() > unfinished_max {
                    return Err(format!(
                        "{unfinished_max} jobs that have ended wait on under the candidate: it is \
                         slower than the cluster, or has no room for them"
                    ));
                }
            }
            Ok::<(), String>(())
        })
    });
    let why = match outcome {
        Ok(Ok(())) => return,
        Ok(Err(why)) => why,
        Err(panic) => format!("it panicked: {panic}"),
    };
    shared.drop_for(&why);
}
