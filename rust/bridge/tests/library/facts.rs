//! Generates random events of every kind of fact beyond YARN's books. Says nothing about their
//! effects.

use heddle_core::words::event::*;
use heddle_core::words::ids::{JobId, NodeId, PlaceId};
use proptest::prelude::*;

fn hints() -> impl Strategy<Value = JobHints> {
    (
        any::<[Option<u32>; 2]>(),
        any::<Option<u64>>(),
        any::<Option<u32>>(),
        any::<[Option<i64>; 3]>(),
        any::<Option<u64>>(),
    )
        .prop_map(
            |(tasks, input_bytes, shuffle_per_mille, times, signature)| JobHints {
                tasks,
                input_bytes,
                shuffle_per_mille,
                deadline_ms: times[0],
                task_ms: [times[1], times[2]],
                signature,
            },
        )
}

fn task_facts() -> impl Strategy<Value = TaskFacts> {
    (
        any::<u32>(),
        any::<[u64; 2]>(),
        any::<Option<i64>>(),
        any::<bool>(),
    )
        .prop_map(
            |(progress, [input_bytes, output_bytes], since_ms, committing)| TaskFacts {
                progress_per_mille: progress,
                input_bytes,
                output_bytes,
                executing_since_ms: since_ms,
                committing,
            },
        )
}

/// Generates a fact beyond YARN's books.
pub(crate) fn known() -> impl Strategy<Value = Event> {
    prop_oneof![
        (any::<u32>(), hints()).prop_map(|(job, hints)| Event::JobHints {
            job: JobId(job),
            hints
        }),
        (any::<u32>(), any::<[u32; 3]>(), any::<u32>(), any::<u64>()).prop_map(
            |(job, racks, blocks, bytes)| Event::InputBlocks {
                job: JobId(job),
                racks: racks.map(PlaceId),
                blocks,
                bytes
            }
        ),
        (any::<u32>(), any::<u64>(), task_facts()).prop_map(|(job, key, facts)| Event::Task {
            job: JobId(job),
            key,
            facts
        }),
        (any::<u32>(), any::<[u64; 3]>()).prop_map(|(rack, [up, down, bandwidth])| {
            Event::RackTraffic {
                rack: PlaceId(rack),
                up_bytes_per_s: up,
                down_bytes_per_s: down,
                bandwidth_bytes_per_s: bandwidth,
            }
        }),
        (any::<u32>().prop_map(JobId), any::<u64>(), any::<i64>()).prop_map(
            |(job, key, launched_ms)| {
                Event::ContainerLaunched {
                    job,
                    key,
                    launched_ms,
                }
            }
        ),
        (any::<u32>(), any::<[u32; 2]>(), any::<[u64; 4]>()).prop_map(|(job, done, bytes)| {
            let counters = JobCounters {
                done,
                input_bytes: bytes[0],
                map_output_bytes: bytes[1],
                shuffled_bytes: bytes[2],
                written_bytes: bytes[3],
            };
            Event::JobCounters {
                job: JobId(job),
                counters,
            }
        }),
        (any::<u32>(), any::<u64>()).prop_map(|(node, sent_bytes)| Event::NodeShuffle {
            node: NodeId(node),
            sent_bytes,
        }),
        any::<[u32; 2]>().prop_map(|[node, foreign_per_mille]| Event::NodeLoad {
            node: NodeId(node),
            foreign_per_mille
        }),
    ]
}
