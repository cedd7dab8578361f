//! The numbers that both sides of the boundary must agree on: kinds, flags, reasons, codes.
//!
//! `tests/library/generated.rs` writes them to `FrameLayout.java` and `include/heddle.h` with the
//! records (see `record.rs`). It fails if a constant is missing in [`CONSTANTS`].

/// Version of the frame layout and of the C functions; raised with every incompatible change.
pub const ABI_VERSION: u32 = 2;
/// How many resource types a resource vector has room for; unused ones are 0.
pub const RESOURCE_TYPES: usize = 8;
/// Every record begins at a multiple of this many bytes, counted from the start of the frame.
pub const RECORD_ALIGNMENT: u32 = 8;
/// All LOG records of one output frame together take at most this many bytes.
pub const LOG_BYTES_MAX: u32 = 64 * 1024;
/// A decision takes at most this many bytes in the output frame.
pub const DECISION_BYTES_MAX: u32 = 88;
/// More containers of one ask count as this many.
pub const COUNT_MAX: u32 = heddle_core::engine::COUNT_MAX;
/// Events with an id at or above this are ignored.
pub const ID_MAX: u32 = heddle_core::engine::ID_MAX;
/// Queues on a page; the lock is held for one page at a time.
pub const QUEUES_PAGE: u32 = heddle_economy::http::QUEUES_PAGE;

/// Kind of `NodeAdded`.
pub const NODE_ADDED: u16 = 1;
/// Kind of `NodeRemoved`.
pub const NODE_REMOVED: u16 = 2;
/// Kind of `NodeChanged`.
pub const NODE_CHANGED: u16 = 3;
/// Kind of `Heartbeat`.
pub const HEARTBEAT: u16 = 4;
/// Kind of `JobAdded`.
pub const JOB_ADDED: u16 = 5;
/// Kind of `JobRemoved`.
pub const JOB_REMOVED: u16 = 6;
/// Kind of `JobMoved`.
pub const JOB_MOVED: u16 = 7;
/// Kind of `JobPriority`.
pub const JOB_PRIORITY: u16 = 8;
/// Kind of `Blacklist`.
pub const BLACKLIST: u16 = 9;
/// Kind of `Ask`.
pub const ASK: u16 = 10;
/// Kind of `AskRow`.
pub const ASK_ROW: u16 = 11;
/// Kind of `ContainerAdded`.
pub const CONTAINER_ADDED: u16 = 12;
/// Kind of `ContainerCompleted`.
pub const CONTAINER_COMPLETED: u16 = 13;
/// Kind of `ContainerResized`.
pub const CONTAINER_RESIZED: u16 = 14;
/// Kind of `Ack`.
pub const ACK: u16 = 15;
/// Kind of `Nack`.
pub const NACK: u16 = 16;
/// Kind of `Tick`.
pub const TICK: u16 = 17;
/// Kind of `Fault`.
pub const FAULT: u16 = 18;
/// Kind of `JobReset`.
pub const JOB_RESET: u16 = 19;
/// Kind of `JobHints`.
pub const JOB_HINTS: u16 = 20;
/// Kind of `InputBlocks`.
pub const INPUT_BLOCKS: u16 = 21;
/// Kind of `Task`.
pub const TASK: u16 = 22;
/// Kind of `RackTraffic`.
pub const RACK_TRAFFIC: u16 = 23;
/// Kind of `NodeLoad`.
pub const NODE_LOAD: u16 = 24;
/// Kind of `ContainerLaunched`.
pub const CONTAINER_LAUNCHED: u16 = 25;
/// Kind of `JobCounters`.
pub const JOB_COUNTERS: u16 = 26;
/// Kind of `NodeShuffle`.
pub const NODE_SHUFFLE: u16 = 27;
/// Kind of `NodeRoom`.
pub const NODE_ROOM: u16 = 28;
/// Kind of `Offer`.
pub const OFFER: u16 = 29;
/// Kind of `NodeSilent`.
pub const NODE_SILENT: u16 = 30;

/// Kind of `Grant` (output frame).
pub const GRANT: u16 = 1;
/// Kind of `Evict` (output frame).
pub const EVICT: u16 = 2;
/// Kind of `Headroom` (output frame).
pub const HEADROOM: u16 = 3;
/// Kind of `Log` (output frame).
pub const LOG: u16 = 4;

/// Flag of a node: containers may be placed on it now.
pub const NODE_SCHEDULABLE: u32 = 1;
/// Flag of a node: asks without a label may have what those of its label leave.
pub const NODE_LENDS: u32 = 2;
/// Flag of a job: its application type is MAPREDUCE, so priorities tell its maps from its reduces.
pub const JOB_MAPREDUCE: u32 = 1;
/// Flag of a job: its application master runs outside the cluster.
pub const JOB_UNMANAGED_AM: u32 = 2;
/// Flag of an ask and of a row: a less local place will do.
pub const ASK_RELAX_LOCALITY: u32 = 1;
/// Flag of an ask: it is for the job's application master.
pub const ASK_AM: u32 = 2;
/// Flag of an ask: it replaces a running container (increase or promotion).
pub const ASK_CONTAINER_UPDATE: u32 = 4;
/// Flag of a container: it is the job's application master.
pub const CONTAINER_AM: u32 = 2;
/// Flag of hints: `maps` is known.
pub const HINT_MAPS: u32 = 1;
/// Flag of hints: `reduces` is known.
pub const HINT_REDUCES: u32 = 2;
/// Flag of hints: `input_bytes` is known.
pub const HINT_INPUT_BYTES: u32 = 4;
/// Flag of hints: `shuffle_per_mille` is known.
pub const HINT_SHUFFLE_PER_MILLE: u32 = 8;
/// Flag of hints: `deadline_ms` is known.
pub const HINT_DEADLINE_MS: u32 = 16;
/// Flag of hints: `map_ms` is known.
pub const HINT_MAP_MS: u32 = 32;
/// Flag of hints: `reduce_ms` is known.
pub const HINT_REDUCE_MS: u32 = 64;
/// Flag of hints: `signature` is known.
pub const HINT_SIGNATURE: u32 = 128;
/// Flag of a task: it is a reduce that has begun to execute, at `executing_since_ms`.
pub const TASK_EXECUTING: u32 = 1;
/// Flag of a task: it commits its output and should not be stopped now.
pub const TASK_COMMITTING: u32 = 2;
/// Flag of an output frame: no ask waits for a node; limits may hold some back.
pub const OUTPUT_IDLE: u32 = 1;
/// Flag of an output frame: decisions were cut at the caller's bound; call again for the rest.
pub const OUTPUT_MORE: u32 = 2;

/// Locality of a grant: on a host that the ask names.
pub const LOCALITY_NODE: u32 = 0;
/// Locality of a grant: on a rack that the ask names.
pub const LOCALITY_RACK: u32 = 1;
/// Locality of a grant: elsewhere, and every grant of an ask that names no place.
pub const LOCALITY_OFF_SWITCH: u32 = 2;

/// Reason of a NACK: the job ended or its attempt changed.
pub const REASON_STALE_JOB: u32 = 1;
/// Reason of a NACK: the node is gone or cannot be scheduled on.
pub const REASON_STALE_NODE: u32 = 2;
/// Reason of a NACK: the ask was withdrawn.
pub const REASON_ASK_GONE: u32 = 3;
/// Reason of a NACK: the node has no room for it.
pub const REASON_NO_FIT: u32 = 4;
/// Reason of a NACK: the job has blacklisted the node.
pub const REASON_BLACKLISTED: u32 = 5;
/// Reason of a NACK: a placement constraint forbids it.
pub const REASON_CONSTRAINT: u32 = 6;
/// Reason of a NACK: the container token could not be made.
pub const REASON_TOKEN: u32 = 7;
/// Reason of a NACK: any other.
pub const REASON_OTHER: u32 = 8;

/// Reason of an EVICT: a queue below its minimum share waited too long.
pub const EVICT_MIN_SHARE: u32 = 1;
/// Reason of an EVICT: a queue far below its fair share waited too long.
pub const EVICT_FAIR_SHARE: u32 = 2;
/// Reason of an EVICT: its queue no longer pays for it and another would.
pub const EVICT_UNPAID: u32 = 3;
/// Reason of an EVICT: the order of jobs or a foreign workload needs its slot.
pub const EVICT_DISPLACED: u32 = 4;
/// Reason of an EVICT: another job or user of its queue goes first.
pub const EVICT_INSIDE: u32 = 5;

/// Level of a LOG record: error.
pub const LOG_ERROR: u32 = 1;
/// Level of a LOG record: warning.
pub const LOG_WARN: u32 = 2;
/// Level of a LOG record: information.
pub const LOG_INFO: u32 = 3;
/// Level of a LOG record: debugging.
pub const LOG_DEBUG: u32 = 4;

/// Code of a FAULT record: panic inside the engine.
pub const FAULT_PANIC: u32 = 1;
/// Priority of an ask that panics when the engine hears of it, where faults are allowed.
pub const PLANTED_ASK: i32 = heddle_core::engine::PLANTED_ASK;
/// Priority of an ask that panics when it is granted.
pub const PLANTED_GRANT: i32 = heddle_core::engine::PLANTED_GRANT;
/// Priority of an ask that panics at the tick.
pub const PLANTED_TICK: i32 = heddle_core::engine::PLANTED_TICK;
/// Priority of an ask that the audit reports with one container too many.
pub const PLANTED_COUNT: i32 = heddle_core::engine::PLANTED_COUNT;

/// Code: done. Every non-negative number is a success.
pub const OK: i32 = 0;
/// Code: the handle was never given out, or its engine is closed.
pub const BAD_HANDLE: i32 = -1;
/// Code: the input frame is malformed; nothing of it was applied.
pub const BAD_FRAME: i32 = -2;
/// Code: the output buffer is too small. A step applied nothing; the reply to a request is kept.
pub const SHORT_BUFFER: i32 = -3;
/// Code: the setup or the configuration in it is wrong.
pub const BAD_CONFIG: i32 = -4;
/// Code: the request is unknown, malformed or refused; the text is for the user.
pub const BAD_REQUEST: i32 = -5;
/// Code: this engine panicked earlier and never decides again; close it and open another.
pub const ENGINE_FAILED: i32 = -6;
/// Code: the engine panicked in this call.
pub const PANIC: i32 = -7;
/// Code: the frame was written for another [`ABI_VERSION`].
pub const BAD_VERSION: i32 = -8;

/// Lists constants with their values.
macro_rules! constants {
    ($($group:literal: $($name:ident),* ;)*) => {
        &[$(($group, &[$((stringify!($name), $name as i64)),*])),*]
    };
}

/// Every constant by group, for the generated files; kinds of records are in the layout tables.
pub const CONSTANTS: &[(&str, &[(&str, i64)])] = constants! {
    "Versions and bounds": ABI_VERSION, RESOURCE_TYPES, RECORD_ALIGNMENT, LOG_BYTES_MAX,
        DECISION_BYTES_MAX, COUNT_MAX, ID_MAX, QUEUES_PAGE;
    "Codes": OK, BAD_HANDLE, BAD_FRAME, SHORT_BUFFER, BAD_CONFIG, BAD_REQUEST, ENGINE_FAILED,
        PANIC, BAD_VERSION;
    "Flags": NODE_SCHEDULABLE, NODE_LENDS, JOB_MAPREDUCE, JOB_UNMANAGED_AM, ASK_RELAX_LOCALITY,
        ASK_AM, ASK_CONTAINER_UPDATE, CONTAINER_AM, TASK_EXECUTING, TASK_COMMITTING, OUTPUT_IDLE,
        OUTPUT_MORE;
    "Which hints are known": HINT_MAPS, HINT_REDUCES, HINT_INPUT_BYTES, HINT_SHUFFLE_PER_MILLE,
        HINT_DEADLINE_MS, HINT_MAP_MS, HINT_REDUCE_MS, HINT_SIGNATURE;
    "Localities of a grant": LOCALITY_NODE, LOCALITY_RACK, LOCALITY_OFF_SWITCH;
    "Reasons of a NACK": REASON_STALE_JOB, REASON_STALE_NODE, REASON_ASK_GONE, REASON_NO_FIT,
        REASON_BLACKLISTED, REASON_CONSTRAINT, REASON_TOKEN, REASON_OTHER;
    "Reasons of an EVICT": EVICT_MIN_SHARE, EVICT_FAIR_SHARE, EVICT_UNPAID,
        EVICT_DISPLACED, EVICT_INSIDE;
    "Levels of a LOG": LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG;
    "Codes of a FAULT": FAULT_PANIC;
    "Priorities of asks that are faults where faults are allowed": PLANTED_ASK, PLANTED_GRANT,
        PLANTED_TICK, PLANTED_COUNT;
};
