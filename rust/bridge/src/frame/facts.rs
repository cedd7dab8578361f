//! Decodes the records of facts beyond YARN's books (`record/facts.rs`). Does not judge numbers:
//! the engine bounds them, because a wrong claim must not cost a frame.

use heddle_core::words::event::{Event, JobCounters, JobHints, TaskFacts};
use heddle_core::words::ids::{JobId, NodeId, PlaceId};

use super::{At, read};
use crate::constant::*;
use crate::error::BridgeError;
use crate::record;

/// One record; `id` is that of its header.
pub(super) fn decode(at: At, id: u32, bytes: &[u8]) -> Result<Event, BridgeError> {
    Ok(match at.kind {
        JOB_HINTS => {
            let (job, hints) = (JobId(id), hints(at, read(bytes))?);
            Event::JobHints { job, hints }
        }
        INPUT_BLOCKS => {
            let record::InputBlocks {
                racks,
                blocks,
                bytes,
                ..
            } = read(bytes);
            Event::InputBlocks {
                job: JobId(id),
                racks: racks.map(PlaceId),
                blocks,
                bytes,
            }
        }
        TASK => {
            let task: record::Task = read(bytes);
            let (job, key, facts) = (JobId(id), task.key, task_facts(at, &task)?);
            Event::Task { job, key, facts }
        }
        RACK_TRAFFIC => {
            let traffic: record::RackTraffic = read(bytes);
            Event::RackTraffic {
                rack: PlaceId(id),
                up_bytes_per_s: traffic.up_bytes_per_s,
                down_bytes_per_s: traffic.down_bytes_per_s,
                bandwidth_bytes_per_s: traffic.bandwidth_bytes_per_s,
            }
        }
        NODE_LOAD => {
            let (node, load) = (NodeId(id), read::<record::NodeLoad>(bytes));
            let foreign_per_mille = load.foreign_per_mille;
            Event::NodeLoad {
                node,
                foreign_per_mille,
            }
        }
        CONTAINER_LAUNCHED => {
            let record::ContainerLaunched {
                key, launched_ms, ..
            } = read(bytes);
            Event::ContainerLaunched {
                job: JobId(id),
                key,
                launched_ms,
            }
        }
        JOB_COUNTERS => Event::JobCounters {
            job: JobId(id),
            counters: counters(&read(bytes)),
        },
        NODE_SHUFFLE => {
            let record::NodeShuffle { sent_bytes, .. } = read(bytes);
            let node = NodeId(id);
            Event::NodeShuffle { node, sent_bytes }
        }
        // `record_at` found the kind in the layout table, and a test decodes every kind of the
        // table here.
        kind => return Err(at.fault(0, "a kind that is decoded".to_owned(), kind)),
    })
}

fn hints(at: At, record: record::JobHints) -> Result<JobHints, BridgeError> {
    let all = HINT_MAPS
        | HINT_REDUCES
        | HINT_INPUT_BYTES
        | HINT_SHUFFLE_PER_MILLE
        | HINT_DEADLINE_MS
        | HINT_MAP_MS
        | HINT_REDUCE_MS
        | HINT_SIGNATURE;
    let known = at.flags("known", record.known, all)?;
    let has = |flag| known & flag != 0;
    Ok(JobHints {
        tasks: [
            at.optional("maps", record.maps, has(HINT_MAPS))?,
            at.optional("reduces", record.reduces, has(HINT_REDUCES))?,
        ],
        input_bytes: at.optional("input_bytes", record.input_bytes, has(HINT_INPUT_BYTES))?,
        shuffle_per_mille: at.optional(
            "shuffle_per_mille",
            record.shuffle_per_mille,
            has(HINT_SHUFFLE_PER_MILLE),
        )?,
        deadline_ms: at.optional("deadline_ms", record.deadline_ms, has(HINT_DEADLINE_MS))?,
        task_ms: [
            at.optional("map_ms", record.map_ms, has(HINT_MAP_MS))?,
            at.optional("reduce_ms", record.reduce_ms, has(HINT_REDUCE_MS))?,
        ],
        signature: at.optional("signature", record.signature, has(HINT_SIGNATURE))?,
    })
}

fn task_facts(at: At, task: &record::Task) -> Result<TaskFacts, BridgeError> {
    let flags = at.flags("flags", task.flags, TASK_EXECUTING | TASK_COMMITTING)?;
    let executing = flags & TASK_EXECUTING != 0;
    let since_ms = at.optional("executing_since_ms", task.executing_since_ms, executing)?;
    Ok(TaskFacts {
        progress_per_mille: task.progress_per_mille,
        input_bytes: task.input_bytes,
        output_bytes: task.output_bytes,
        executing_since_ms: since_ms,
        committing: flags & TASK_COMMITTING != 0,
    })
}

fn counters(record: &record::JobCounters) -> JobCounters {
    JobCounters {
        done: [record.maps_done, record.reduces_done],
        input_bytes: record.input_bytes,
        map_output_bytes: record.map_output_bytes,
        shuffled_bytes: record.shuffled_bytes,
        written_bytes: record.written_bytes,
    }
}
