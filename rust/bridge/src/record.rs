//! The records of input and output frames: the one source of their layout.
//!
//! `record/facts.rs` has the records of facts about jobs, links and nodes beyond YARN's books.
//! Every record is a `#[repr(C)]` struct without padding, little-endian, whose size is a multiple
//! of 8. `tests/library/generated.rs` generates `FrameLayout.java` (for the Java shim) and
//! `include/heddle.h` (for C) from this file and `constant.rs`, and fails when one of them is
//! stale. This file says where a field lies. It neither checks a frame (`frame.rs`) nor knows what
//! an event means (`heddle_core::words::event`).

use bytemuck::{Pod, Zeroable};

use crate::constant::*;

mod facts;

pub use facts::{
    ContainerLaunched, InputBlocks, JobCounters, JobHints, NodeLoad, NodeShuffle, RackTraffic, Task,
};

#[cfg(not(target_endian = "little"))]
compile_error!("frames are little-endian and are read in place: this target is not");

/// Amounts by resource type: index 0 is memory in MB, 1 is vcores, further ones as named at open.
pub type ResourceVector = [i64; RESOURCE_TYPES];

/// Makes the layout table of one direction, with size asserts for each record.
///
/// The structs stand outside of any macro because cbindgen reads source text and expands no macros;
/// this one only refers to them. The sizes of the listed fields must add up to the size of the
/// struct, so a forgotten field does not compile.
macro_rules! layouts {
    ($(#[$doc:meta])* $table:ident: $($name:literal $kind:expr, $record:ident, $size:literal {
        $($field:ident: $type:ty),* $(,)?
    })*) => {
        $(
            const _: () = assert!(size_of::<$record>() == $size, "record changed its size");
            const _: () = assert!($size % RECORD_ALIGNMENT as usize == 0, "size not aligned");
            const _: () = assert!(
                0 $(+ size_of::<$type>())* == $size, "layout table and struct differ");
        )*
        $(#[$doc])*
        pub const $table: &[RecordLayout] = &[$(
            RecordLayout {
                name: $name,
                struct_name: stringify!($record),
                kind: $kind,
                size: $size,
                fields: &[$(Field {
                    name: stringify!($field),
                    offset: std::mem::offset_of!($record, $field),
                    size: size_of::<$type>(),
                    kind: stringify!($type),
                }),*],
            }
        ),*];
    };
}

/// One line of the layout table: a record or a frame header.
#[derive(Clone, Copy, Debug)]
pub struct RecordLayout {
    /// Name in Java and C, as in `NODE_ADDED`.
    pub name: &'static str,
    /// Name of the Rust struct.
    pub struct_name: &'static str,
    /// Kind in the record header; 0 for frame headers, which have none.
    pub kind: u16,
    /// Size in bytes, header included.
    pub size: usize,
    /// Fields in order of their offset.
    pub fields: &'static [Field],
}

/// One field of a record.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name as in the Rust struct.
    pub name: &'static str,
    /// Offset in bytes from the start of the record.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    /// Its type, as Rust writes it.
    pub kind: &'static str,
}

/// Starts every record.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct RecordHeader {
    /// Which record this is.
    pub kind: u16,
    /// Size of the whole record in bytes, this header included.
    pub size: u16,
    /// The job it is about, unless the record says otherwise.
    pub id: u32,
}

/// Starts every input frame.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct InputHeader {
    /// [`ABI_VERSION`] of the writer.
    pub abi: u32,
    /// Length of the whole frame in bytes, this header included.
    pub length: u32,
    /// The caller's monotonic clock in milliseconds.
    pub now_ms: i64,
    /// Number of this frame; comes back in the output frame.
    pub sequence: u64,
    /// How many records follow.
    pub records: u32,
    /// At most this many decisions may come back.
    pub decisions_max: u32,
}

/// Starts every output frame.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct OutputHeader {
    /// [`ABI_VERSION`] of the writer.
    pub abi: u32,
    /// Length of the whole frame in bytes, this header included.
    pub length: u32,
    /// Number of the input frame that this answers.
    pub sequence: u64,
    /// How many records follow.
    pub records: u32,
    /// [`OUTPUT_IDLE`], [`OUTPUT_MORE`].
    pub flags: u32,
    /// When the engine wants its next tick, on the clock of `now_ms`; `i64::MAX` for never.
    pub next_tick_ms: i64,
    /// How many events the engine has ignored so far, over all frames.
    pub ignored: u64,
    /// Reserved, 0.
    pub digest: u64,
}

/// A node joined (`id` is the node).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct NodeAdded {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Place of its host name.
    pub host: u32,
    /// Place of its rack name.
    pub rack: u32,
    /// Its node label; 0 is the default partition.
    pub partition: u32,
    /// [`NODE_SCHEDULABLE`], [`NODE_LENDS`].
    pub flags: u32,
    /// Everything it has.
    pub capacity: ResourceVector,
    /// The unallocated amount; negative when overcommitted.
    pub free: ResourceVector,
}

/// A node is gone (`id` is the node). Its containers must have been reported completed before.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct NodeRemoved {
    /// Kind, size and id.
    pub header: RecordHeader,
}

/// A node's capacity, partition or flags changed (`id` is the node).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct NodeChanged {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Place of its host name.
    pub host: u32,
    /// Place of its rack name.
    pub rack: u32,
    /// Its node label; 0 is the default partition.
    pub partition: u32,
    /// [`NODE_SCHEDULABLE`], [`NODE_LENDS`].
    pub flags: u32,
    /// Everything it has.
    pub capacity: ResourceVector,
    /// The unallocated amount; negative when overcommitted.
    pub free: ResourceVector,
}

/// A node reported (`id` is the node): schedule on it now.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Heartbeat {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// The unallocated amount; negative when overcommitted.
    pub free: ResourceVector,
}

/// A job may ask from now on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct JobAdded {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Its leaf queue, as the control plane placed it.
    pub queue: u32,
    /// Its user, a dense id of the caller's.
    pub user: u32,
    /// Priority of the application: higher goes sooner.
    pub priority: i32,
    /// [`JOB_MAPREDUCE`], [`JOB_UNMANAGED_AM`].
    pub flags: u32,
    /// When it was submitted, on the clock of `now_ms`.
    pub submitted_ms: i64,
}

/// A job ended. Live containers still known are dropped with it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct JobRemoved {
    /// Kind, size and id.
    pub header: RecordHeader,
}

/// A job went to another queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct JobMoved {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// The queue it is in now.
    pub queue: u32,
    /// 0.
    pub pad: u32,
}

/// A job's priority changed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct JobPriority {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Higher goes sooner.
    pub priority: i32,
    /// 0.
    pub pad: u32,
}

/// A job refuses a place, or no longer does.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Blacklist {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// A host or rack.
    pub place: u32,
    /// 1 added, 0 removed.
    pub added: u32,
}

/// A job's total ask under one scheduler key (YARN's row for any place). Counts are absolute.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Ask {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// The scheduler key, dense within the job.
    pub ask: u32,
    /// How many containers are wanted; 0 withdraws the ask.
    pub count: u32,
    /// YARN's request priority: lower goes sooner.
    pub priority: i32,
    /// Node label wanted; 0 is the default partition.
    pub partition: u32,
    /// [`ASK_RELAX_LOCALITY`], [`ASK_AM`], [`ASK_CONTAINER_UPDATE`].
    pub flags: u32,
    /// 0.
    pub pad: u32,
    /// Size of one container.
    pub resource: ResourceVector,
}

/// How many containers of an ask are wanted on one host or rack. Comes after the ask's [`Ask`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct AskRow {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// The scheduler key, dense within the job.
    pub ask: u32,
    /// A host or rack.
    pub place: u32,
    /// Absolute; 0 drops the row.
    pub count: u32,
    /// [`ASK_RELAX_LOCALITY`].
    pub flags: u32,
}

/// A container runs that the engine did not grant (recovered, or told again after a rebuild).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct ContainerAdded {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Where it runs.
    pub node: u32,
    /// YARN's request priority it was granted for.
    pub priority: i32,
    /// [`CONTAINER_AM`].
    pub flags: u32,
    /// 0.
    pub pad: u32,
    /// Its key, unique within the job.
    pub key: u64,
    /// When it started, on the clock of `now_ms`.
    pub started_ms: i64,
    /// Its size.
    pub resource: ResourceVector,
}

/// A container ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct ContainerCompleted {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// YARN's exit status.
    pub exit: i32,
    /// 0.
    pub pad: u32,
    /// Its key.
    pub key: u64,
}

/// A container changed its size.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct ContainerResized {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Its key.
    pub key: u64,
    /// Its new size.
    pub resource: ResourceVector,
}

/// A grant was committed as a container.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Ack {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// `seq` of the grant.
    pub seq: u64,
    /// Key of the container made for it.
    pub key: u64,
}

/// A grant was refused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Nack {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// One of the `REASON_` constants.
    pub reason: u32,
    /// 0.
    pub pad: u32,
    /// `seq` of the grant.
    pub seq: u64,
}

/// Time passed (`id` is 0).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Tick {
    /// Kind, size and id.
    pub header: RecordHeader,
}

/// Fault injection (`id` is the code). Ignored and counted unless the configuration allows it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Fault {
    /// Kind, size and id.
    pub header: RecordHeader,
}

/// A new attempt of a job: its asks and blacklist are dropped.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct JobReset {
    /// Kind, size and id.
    pub header: RecordHeader,
}

/// The room of a node, without a report that asks for grants (`id` is the node).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct NodeRoom {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// The unallocated amount; negative when overcommitted.
    pub free: ResourceVector,
}

/// A job asked for more: schedule on nodes with known room now.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Offer {
    /// Kind, size and id.
    pub header: RecordHeader,
}

/// The last report of a node is late: offer it no more until it reports.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct NodeSilent {
    /// Kind, size and id.
    pub header: RecordHeader,
}

/// One container of an ask may start on a node. To be answered by one [`Ack`] or [`Nack`], in
/// order of `seq`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Grant {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// The scheduler key, dense within the job.
    pub ask: u32,
    /// Where to start it.
    pub node: u32,
    /// One of the `LOCALITY_` constants.
    pub locality: u32,
    /// 0.
    pub pad: u32,
    /// Number of this grant, increasing over the life of the engine.
    pub seq: u64,
}

/// Stop a container.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Evict {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Why.
    pub reason: u32,
    /// How long it may still run.
    pub grace_ms: u32,
    /// Its key.
    pub key: u64,
}

/// How much more a job may get.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Headroom {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// The amount.
    pub resource: ResourceVector,
}

/// A line for the caller's log (`id` is the level). UTF-8 text follows, padded with zeros to the
/// size of the record.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Log {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Length of the text in bytes, padding not counted.
    pub length: u32,
    /// 0.
    pub pad: u32,
}

layouts! {
    /// What starts a frame or a record.
    HEADERS:
    "RECORD" 0, RecordHeader, 8 { kind: u16, size: u16, id: u32 }
    "INPUT_HEADER" 0, InputHeader, 32 {
        abi: u32, length: u32, now_ms: i64, sequence: u64, records: u32, decisions_max: u32 }
    "OUTPUT_HEADER" 0, OutputHeader, 48 {
        abi: u32, length: u32, sequence: u64, records: u32, flags: u32, next_tick_ms: i64,
        ignored: u64, digest: u64 }
}

layouts! {
    /// The records of an input frame, in order of their kind.
    INPUT_RECORDS:
    "NODE_ADDED" NODE_ADDED, NodeAdded, 152 {
        header: RecordHeader, host: u32, rack: u32, partition: u32, flags: u32,
        capacity: ResourceVector, free: ResourceVector }
    "NODE_REMOVED" NODE_REMOVED, NodeRemoved, 8 { header: RecordHeader }
    "NODE_CHANGED" NODE_CHANGED, NodeChanged, 152 {
        header: RecordHeader, host: u32, rack: u32, partition: u32, flags: u32,
        capacity: ResourceVector, free: ResourceVector }
    "HEARTBEAT" HEARTBEAT, Heartbeat, 72 { header: RecordHeader, free: ResourceVector }
    "JOB_ADDED" JOB_ADDED, JobAdded, 32 {
        header: RecordHeader, queue: u32, user: u32, priority: i32, flags: u32, submitted_ms: i64 }
    "JOB_REMOVED" JOB_REMOVED, JobRemoved, 8 { header: RecordHeader }
    "JOB_MOVED" JOB_MOVED, JobMoved, 16 { header: RecordHeader, queue: u32, pad: u32 }
    "JOB_PRIORITY" JOB_PRIORITY, JobPriority, 16 { header: RecordHeader, priority: i32, pad: u32 }
    "BLACKLIST" BLACKLIST, Blacklist, 16 { header: RecordHeader, place: u32, added: u32 }
    "ASK" ASK, Ask, 96 {
        header: RecordHeader, ask: u32, count: u32, priority: i32, partition: u32, flags: u32,
        pad: u32, resource: ResourceVector }
    "ASK_ROW" ASK_ROW, AskRow, 24 {
        header: RecordHeader, ask: u32, place: u32, count: u32, flags: u32 }
    "CONTAINER_ADDED" CONTAINER_ADDED, ContainerAdded, 104 {
        header: RecordHeader, node: u32, priority: i32, flags: u32, pad: u32, key: u64,
        started_ms: i64, resource: ResourceVector }
    "CONTAINER_COMPLETED" CONTAINER_COMPLETED, ContainerCompleted, 24 {
        header: RecordHeader, exit: i32, pad: u32, key: u64 }
    "CONTAINER_RESIZED" CONTAINER_RESIZED, ContainerResized, 80 {
        header: RecordHeader, key: u64, resource: ResourceVector }
    "ACK" ACK, Ack, 24 { header: RecordHeader, seq: u64, key: u64 }
    "NACK" NACK, Nack, 24 { header: RecordHeader, reason: u32, pad: u32, seq: u64 }
    "TICK" TICK, Tick, 8 { header: RecordHeader }
    "FAULT" FAULT, Fault, 8 { header: RecordHeader }
    "JOB_RESET" JOB_RESET, JobReset, 8 { header: RecordHeader }
    "JOB_HINTS" JOB_HINTS, JobHints, 64 {
        header: RecordHeader, known: u32, maps: u32, reduces: u32, shuffle_per_mille: u32,
        input_bytes: u64, deadline_ms: i64, map_ms: i64, reduce_ms: i64, signature: u64 }
    "INPUT_BLOCKS" INPUT_BLOCKS, InputBlocks, 32 {
        header: RecordHeader, racks: [u32; 3], blocks: u32, bytes: u64 }
    "TASK" TASK, Task, 48 {
        header: RecordHeader, key: u64, progress_per_mille: u32, flags: u32, input_bytes: u64,
        output_bytes: u64, executing_since_ms: i64 }
    "RACK_TRAFFIC" RACK_TRAFFIC, RackTraffic, 32 {
        header: RecordHeader, up_bytes_per_s: u64, down_bytes_per_s: u64,
        bandwidth_bytes_per_s: u64 }
    "NODE_LOAD" NODE_LOAD, NodeLoad, 16 {
        header: RecordHeader, foreign_per_mille: u32, pad: u32 }
    "CONTAINER_LAUNCHED" CONTAINER_LAUNCHED, ContainerLaunched, 24 {
        header: RecordHeader, key: u64, launched_ms: i64 }
    "JOB_COUNTERS" JOB_COUNTERS, JobCounters, 48 {
        header: RecordHeader, maps_done: u32, reduces_done: u32, input_bytes: u64,
        map_output_bytes: u64, shuffled_bytes: u64, written_bytes: u64 }
    "NODE_SHUFFLE" NODE_SHUFFLE, NodeShuffle, 16 { header: RecordHeader, sent_bytes: u64 }
    "NODE_ROOM" NODE_ROOM, NodeRoom, 72 { header: RecordHeader, free: ResourceVector }
    "OFFER" OFFER, Offer, 8 { header: RecordHeader }
    "NODE_SILENT" NODE_SILENT, NodeSilent, 8 { header: RecordHeader }
}

layouts! {
    /// The records of an output frame, in order of their kind. A LOG record's text follows it.
    OUTPUT_RECORDS:
    "GRANT" GRANT, Grant, 32 {
        header: RecordHeader, ask: u32, node: u32, locality: u32, pad: u32, seq: u64 }
    "EVICT" EVICT, Evict, 24 { header: RecordHeader, reason: u32, grace_ms: u32, key: u64 }
    "HEADROOM" HEADROOM, Headroom, 72 { header: RecordHeader, resource: ResourceVector }
    "LOG" LOG, Log, 16 { header: RecordHeader, length: u32, pad: u32 }
}

/// The layout of an input record by its kind.
pub fn input_record(kind: u16) -> Option<&'static RecordLayout> {
    // Kinds count from 1 without a gap; a test checks it.
    INPUT_RECORDS.get(usize::from(kind).checked_sub(1)?)
}

/// The layout of an output record by its kind.
pub fn output_record(kind: u16) -> Option<&'static RecordLayout> {
    OUTPUT_RECORDS.get(usize::from(kind).checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_count_from_one() {
        for table in [INPUT_RECORDS, OUTPUT_RECORDS] {
            let kinds: Vec<usize> = table
                .iter()
                .map(|record| usize::from(record.kind))
                .collect();
            assert_eq!(kinds, (1..=table.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_changed_node_is_laid_out_like_an_added_one() {
        let fields = |kind| {
            let layout = input_record(kind).unwrap();
            layout
                .fields
                .iter()
                .map(|f| (f.name, f.offset, f.size))
                .collect::<Vec<_>>()
        };
        assert_eq!(fields(NODE_ADDED), fields(NODE_CHANGED));
    }
}
