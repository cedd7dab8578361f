//! Events of what is known beyond YARN's books, as records. Reading them is `frame/facts.rs`.

use heddle_core::words::event::{Event, JobCounters, JobHints, TaskFacts};
use heddle_core::words::ids::{ContainerKey, JobId, Millis, NodeId};

use super::{FrameWriter, header};
use heddle::constant::*;
use heddle::record;

impl FrameWriter {
    pub(super) fn hints(&mut self, job: JobId, hints: &JobHints) {
        let [maps, reduces] = hints.tasks;
        let [map_ms, reduce_ms] = hints.task_ms;
        let bit = |known: bool, flag: u32| if known { flag } else { 0 };
        let known = bit(maps.is_some(), HINT_MAPS)
            | bit(reduces.is_some(), HINT_REDUCES)
            | bit(hints.input_bytes.is_some(), HINT_INPUT_BYTES)
            | bit(hints.shuffle_per_mille.is_some(), HINT_SHUFFLE_PER_MILLE)
            | bit(hints.deadline_ms.is_some(), HINT_DEADLINE_MS)
            | bit(map_ms.is_some(), HINT_MAP_MS)
            | bit(reduce_ms.is_some(), HINT_REDUCE_MS)
            | bit(hints.signature.is_some(), HINT_SIGNATURE);
        self.write(&record::JobHints {
            header: header::<record::JobHints>(JOB_HINTS, job.0),
            known,
            maps: maps.unwrap_or(0),
            reduces: reduces.unwrap_or(0),
            shuffle_per_mille: hints.shuffle_per_mille.unwrap_or(0),
            input_bytes: hints.input_bytes.unwrap_or(0),
            deadline_ms: hints.deadline_ms.unwrap_or(0),
            map_ms: map_ms.unwrap_or(0),
            reduce_ms: reduce_ms.unwrap_or(0),
            signature: hints.signature.unwrap_or(0),
        });
    }

    pub(super) fn blocks(&mut self, event: &Event) {
        let &Event::InputBlocks {
            job,
            racks,
            blocks,
            bytes,
        } = event
        else {
            return;
        };
        self.write(&record::InputBlocks {
            header: header::<record::InputBlocks>(INPUT_BLOCKS, job.0),
            racks: racks.map(|rack| rack.0),
            blocks,
            bytes,
        });
    }

    pub(super) fn task(&mut self, job: JobId, key: ContainerKey, facts: &TaskFacts) {
        let executing = facts.executing_since_ms.map_or(0, |_| TASK_EXECUTING);
        let committing = if facts.committing { TASK_COMMITTING } else { 0 };
        self.write(&record::Task {
            header: header::<record::Task>(TASK, job.0),
            key,
            progress_per_mille: facts.progress_per_mille,
            flags: executing | committing,
            input_bytes: facts.input_bytes,
            output_bytes: facts.output_bytes,
            executing_since_ms: facts.executing_since_ms.unwrap_or(0),
        });
    }

    pub(super) fn traffic(&mut self, event: &Event) {
        let &Event::RackTraffic {
            rack,
            up_bytes_per_s,
            down_bytes_per_s,
            bandwidth_bytes_per_s,
        } = event
        else {
            return;
        };
        self.write(&record::RackTraffic {
            header: header::<record::RackTraffic>(RACK_TRAFFIC, rack.0),
            up_bytes_per_s,
            down_bytes_per_s,
            bandwidth_bytes_per_s,
        });
    }

    pub(super) fn load(&mut self, node: NodeId, foreign_per_mille: u32) {
        self.write(&record::NodeLoad {
            header: header::<record::NodeLoad>(NODE_LOAD, node.0),
            foreign_per_mille,
            pad: 0,
        });
    }

    pub(super) fn launched(&mut self, job: JobId, key: ContainerKey, launched_ms: Millis) {
        self.write(&record::ContainerLaunched {
            header: header::<record::ContainerLaunched>(CONTAINER_LAUNCHED, job.0),
            key,
            launched_ms,
        });
    }

    pub(super) fn counters(&mut self, job: JobId, counters: &JobCounters) {
        let [maps_done, reduces_done] = counters.done;
        self.write(&record::JobCounters {
            header: header::<record::JobCounters>(JOB_COUNTERS, job.0),
            maps_done,
            reduces_done,
            input_bytes: counters.input_bytes,
            map_output_bytes: counters.map_output_bytes,
            shuffled_bytes: counters.shuffled_bytes,
            written_bytes: counters.written_bytes,
        });
    }

    pub(super) fn shuffle(&mut self, node: NodeId, sent_bytes: u64) {
        self.write(&record::NodeShuffle {
            header: header::<record::NodeShuffle>(NODE_SHUFFLE, node.0),
            sent_bytes,
        });
    }
}
