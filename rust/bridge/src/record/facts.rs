//! Records of facts beyond YARN's own books: of jobs, their tasks and input, of links and of other
//! workloads on nodes. Their layout table is with the others', in `record.rs`.
//!
//! All of it is optional, and most of it is claimed or measured outside. The engine brings every
//! number into a range that it can compute with, and policies work without missing ones.

use bytemuck::{Pod, Zeroable};

use super::RecordHeader;

/// Facts about a job beyond its asks; replaces earlier ones. A field is 0 if its bit in `known` is
/// not set.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct JobHints {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Which of the following are known, by the `HINT_` constants.
    pub known: u32,
    /// How many maps it has in all.
    pub maps: u32,
    /// How many reduces it has in all.
    pub reduces: u32,
    /// Bytes shuffled per 1,000 bytes of map input.
    pub shuffle_per_mille: u32,
    /// Bytes that its maps read.
    pub input_bytes: u64,
    /// When it should have ended, on the clock of `now_ms`.
    pub deadline_ms: i64,
    /// Mean length of a map.
    pub map_ms: i64,
    /// Mean length of a reduce.
    pub reduce_ms: i64,
    /// Identifies runs of one program on like data.
    pub signature: u64,
}

/// Blocks of a job's input whose replicas are on the same racks; adds to earlier records. There is
/// one record for each set of racks.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct InputBlocks {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// The places of the racks; 0 for none.
    pub racks: [u32; 3],
    /// How many blocks.
    pub blocks: u32,
    /// How long they are together.
    pub bytes: u64,
}

/// Progress of a running task.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Task {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Key of its container.
    pub key: u64,
    /// 0 to 1,000; of a reduce that of its execution, after the shuffle.
    pub progress_per_mille: u32,
    /// `TASK_EXECUTING`, `TASK_COMMITTING`.
    pub flags: u32,
    /// Bytes that it has read.
    pub input_bytes: u64,
    /// Bytes that it has written.
    pub output_bytes: u64,
    /// When the reduce function began, on the clock of `now_ms`; 0 without the flag.
    pub executing_since_ms: i64,
}

/// Traffic between a rack and the others, mean over the last period (`id` is the rack's place).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct RackTraffic {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Out of the rack.
    pub up_bytes_per_s: u64,
    /// Into the rack.
    pub down_bytes_per_s: u64,
    /// Bandwidth of its link in either direction.
    pub bandwidth_bytes_per_s: u64,
}

/// The part of a node that workloads outside YARN use now (`id` is the node).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct NodeLoad {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// 0 to 1,000.
    pub foreign_per_mille: u32,
    /// 0.
    pub pad: u32,
}

/// The process of a container runs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct ContainerLaunched {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Its key.
    pub key: u64,
    /// When its node said so, on the clock of `now_ms`.
    pub launched_ms: i64,
}

/// Totals of a job's tasks so far; replaces earlier ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct JobCounters {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// How many maps have succeeded.
    pub maps_done: u32,
    /// How many reduces have succeeded.
    pub reduces_done: u32,
    /// Bytes that maps have read.
    pub input_bytes: u64,
    /// Bytes of map output, as it is fetched.
    pub map_output_bytes: u64,
    /// Bytes that reduces have fetched.
    pub shuffled_bytes: u64,
    /// Bytes written as the job's output.
    pub written_bytes: u64,
}

/// How much map output a node has sent since its NodeManager began (`id` is the node).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct NodeShuffle {
    /// Kind, size and id.
    pub header: RecordHeader,
    /// Bytes sent.
    pub sent_bytes: u64,
}
