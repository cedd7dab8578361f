//! The caller's side of the boundary in Rust: events to input frames, output frames to decisions.
//!
//! For tests, benchmarks and fuzzing without Java. The shim has its own writer and reader.

// Each of them uses a part.
#![allow(dead_code, unreachable_pub)]

use bytemuck::Pod;
use heddle_core::words::event::{
    AskFacts, ContainerFacts, Decision, Event, EvictReason, JobFacts, NodeFacts, Refusal,
};
use heddle_core::words::ids::{AskId, ContainerKey, JobId, Locality, NodeId, PlaceId, QueueId};
use heddle_core::words::resource::Resource;

use heddle::constant::*;
use heddle::record::{self, InputHeader, OutputHeader, RecordHeader};

mod facts;

const INPUT_HEADER_BYTES: usize = size_of::<InputHeader>();

/// Writes input frames into a buffer that it reuses.
#[derive(Clone, Debug, Default)]
pub struct FrameWriter {
    bytes: Vec<u8>,
}

impl FrameWriter {
    /// Makes a frame of `events` and returns it.
    pub fn frame(
        &mut self,
        now_ms: i64,
        sequence: u64,
        decisions_max: u32,
        events: &[Event],
    ) -> &[u8] {
        self.bytes.clear();
        self.bytes.resize(INPUT_HEADER_BYTES, 0);
        for event in events {
            self.push(event);
        }
        let header = InputHeader {
            abi: ABI_VERSION,
            length: self.bytes.len() as u32,
            now_ms,
            sequence,
            records: events.len() as u32,
            decisions_max,
        };
        self.bytes[..INPUT_HEADER_BYTES].copy_from_slice(bytemuck::bytes_of(&header));
        &self.bytes
    }

    fn push(&mut self, event: &Event) {
        match *event {
            Event::NodeAdded(facts) => self.node(NODE_ADDED, &facts),
            Event::NodeRemoved(node) => self.plain(NODE_REMOVED, node.0),
            Event::NodeChanged(facts) => self.node(NODE_CHANGED, &facts),
            Event::Heartbeat { node, free } => self.heartbeat(node, free),
            Event::JobAdded(facts) => self.job(&facts),
            Event::JobRemoved(job) => self.plain(JOB_REMOVED, job.0),
            Event::JobMoved { job, queue } => self.moved(job, queue),
            Event::JobPriority { job, priority } => self.priority(job, priority),
            Event::JobReset(job) => self.plain(JOB_RESET, job.0),
            Event::Offer(job) => self.plain(OFFER, job.0),
            Event::NodeSilent(node) => self.plain(NODE_SILENT, node.0),
            Event::Room { node, free } => self.write(&record::NodeRoom {
                header: header::<record::NodeRoom>(NODE_ROOM, node.0),
                free: free.0,
            }),
            Event::Blacklist { job, place, added } => self.blacklist(job, place, added),
            Event::Ask(facts) => self.ask(&facts),
            Event::AskRow { .. } => self.ask_row(event),
            Event::ContainerAdded(facts) => self.container(&facts),
            Event::ContainerCompleted { job, key, exit } => self.completed(job, key, exit),
            Event::ContainerResized { job, key, resource } => self.resized(job, key, resource),
            Event::Ack { job, seq, key } => {
                let header = header::<record::Ack>(ACK, job.0);
                self.write(&record::Ack { header, seq, key });
            }
            Event::Nack { job, seq, refusal } => self.nack(job, seq, refusal),
            Event::Tick => self.plain(TICK, 0),
            Event::JobHints { job, ref hints } => self.hints(job, hints),
            Event::InputBlocks { .. } => self.blocks(event),
            Event::Task {
                job,
                key,
                ref facts,
            } => self.task(job, key, facts),
            Event::RackTraffic { .. } => self.traffic(event),
            Event::NodeLoad {
                node,
                foreign_per_mille,
            } => self.load(node, foreign_per_mille),
            Event::ContainerLaunched {
                job,
                key,
                launched_ms,
            } => self.launched(job, key, launched_ms),
            Event::JobCounters { job, ref counters } => self.counters(job, counters),
            Event::NodeShuffle { node, sent_bytes } => self.shuffle(node, sent_bytes),
            Event::Fault(code) => self.plain(FAULT, code),
        }
    }

    fn heartbeat(&mut self, node: NodeId, free: Resource) {
        self.write(&record::Heartbeat {
            header: header::<record::Heartbeat>(HEARTBEAT, node.0),
            free: free.0,
        });
    }

    fn moved(&mut self, job: JobId, queue: QueueId) {
        self.write(&record::JobMoved {
            header: header::<record::JobMoved>(JOB_MOVED, job.0),
            queue: queue.0,
            pad: 0,
        });
    }

    fn priority(&mut self, job: JobId, priority: i32) {
        self.write(&record::JobPriority {
            header: header::<record::JobPriority>(JOB_PRIORITY, job.0),
            priority,
            pad: 0,
        });
    }

    fn blacklist(&mut self, job: JobId, place: PlaceId, added: bool) {
        self.write(&record::Blacklist {
            header: header::<record::Blacklist>(BLACKLIST, job.0),
            place: place.0,
            added: added.into(),
        });
    }

    fn ask_row(&mut self, event: &Event) {
        let &Event::AskRow {
            job,
            ask,
            place,
            count,
            relax,
        } = event
        else {
            return;
        };
        self.write(&record::AskRow {
            header: header::<record::AskRow>(ASK_ROW, job.0),
            ask: ask.0,
            place: place.0,
            count,
            flags: if relax { ASK_RELAX_LOCALITY } else { 0 },
        });
    }

    fn completed(&mut self, job: JobId, key: ContainerKey, exit: i32) {
        self.write(&record::ContainerCompleted {
            header: header::<record::ContainerCompleted>(CONTAINER_COMPLETED, job.0),
            exit,
            pad: 0,
            key,
        });
    }

    fn resized(&mut self, job: JobId, key: ContainerKey, resource: Resource) {
        self.write(&record::ContainerResized {
            header: header::<record::ContainerResized>(CONTAINER_RESIZED, job.0),
            key,
            resource: resource.0,
        });
    }

    fn nack(&mut self, job: JobId, seq: u64, refusal: Refusal) {
        self.write(&record::Nack {
            header: header::<record::Nack>(NACK, job.0),
            reason: reason(refusal),
            pad: 0,
            seq,
        });
    }

    /// A record that is all header.
    fn plain(&mut self, kind: u16, id: u32) {
        self.write(&header::<RecordHeader>(kind, id));
    }

    fn node(&mut self, kind: u16, facts: &NodeFacts) {
        self.write(&record::NodeAdded {
            header: header::<record::NodeAdded>(kind, facts.node.0),
            host: facts.host.0,
            rack: facts.rack.0,
            partition: facts.partition.0,
            flags: u32::from(facts.schedulable) * NODE_SCHEDULABLE
                + u32::from(facts.lends) * NODE_LENDS,
            capacity: facts.capacity.0,
            free: facts.free.0,
        });
    }

    fn job(&mut self, facts: &JobFacts) {
        let mapreduce = if facts.mapreduce { JOB_MAPREDUCE } else { 0 };
        let unmanaged_am = if facts.unmanaged_am {
            JOB_UNMANAGED_AM
        } else {
            0
        };
        self.write(&record::JobAdded {
            header: header::<record::JobAdded>(JOB_ADDED, facts.job.0),
            queue: facts.queue.0,
            user: facts.user.0,
            priority: facts.priority,
            flags: mapreduce | unmanaged_am,
            submitted_ms: facts.submitted_ms,
        });
    }

    fn ask(&mut self, facts: &AskFacts) {
        let relax = if facts.relax { ASK_RELAX_LOCALITY } else { 0 };
        let am = if facts.am { ASK_AM } else { 0 };
        let update = if facts.update {
            ASK_CONTAINER_UPDATE
        } else {
            0
        };
        self.write(&record::Ask {
            header: header::<record::Ask>(ASK, facts.job.0),
            ask: facts.ask.0,
            count: facts.count,
            priority: facts.priority,
            partition: facts.partition.0,
            flags: relax | am | update,
            pad: 0,
            resource: facts.resource.0,
        });
    }

    fn container(&mut self, facts: &ContainerFacts) {
        self.write(&record::ContainerAdded {
            header: header::<record::ContainerAdded>(CONTAINER_ADDED, facts.job.0),
            node: facts.node.0,
            priority: facts.priority,
            flags: if facts.am { CONTAINER_AM } else { 0 },
            pad: 0,
            key: facts.key,
            started_ms: facts.started_ms,
            resource: facts.resource.0,
        });
    }

    fn write<T: Pod>(&mut self, record: &T) {
        self.bytes.extend_from_slice(bytemuck::bytes_of(record));
    }
}

fn header<T>(kind: u16, id: u32) -> RecordHeader {
    RecordHeader {
        kind,
        size: size_of::<T>() as u16,
        id,
    }
}

fn reason(refusal: Refusal) -> u32 {
    match refusal {
        Refusal::StaleJob => REASON_STALE_JOB,
        Refusal::StaleNode => REASON_STALE_NODE,
        Refusal::AskGone => REASON_ASK_GONE,
        Refusal::NoFit => REASON_NO_FIT,
        Refusal::Blacklisted => REASON_BLACKLISTED,
        Refusal::Constraint => REASON_CONSTRAINT,
        Refusal::Token => REASON_TOKEN,
        Refusal::Other => REASON_OTHER,
    }
}

/// A log line out of an output frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// One of the `LOG_` levels.
    pub level: u32,
    /// The text.
    pub text: String,
}

/// An output frame, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The header.
    pub header: OutputHeader,
    /// The decisions in order.
    pub decisions: Vec<Decision>,
    /// The log lines in order.
    pub logs: Vec<LogLine>,
}

impl Answer {
    /// Takes an output frame apart.
    ///
    /// # Errors
    /// A text that says what is wrong with it, which is then a fault of the library.
    pub fn read(frame: &[u8]) -> Result<Answer, String> {
        let header: OutputHeader = pod(frame, 0)?;
        if header.abi != ABI_VERSION || header.length as usize != frame.len() {
            return Err(format!("{} bytes with {header:?}", frame.len()));
        }
        let mut answer = Answer {
            header,
            decisions: Vec::new(),
            logs: Vec::new(),
        };
        let mut offset = size_of::<OutputHeader>();
        for _ in 0..header.records {
            let record: RecordHeader = pod(frame, offset)?;
            let size = usize::from(record.size);
            if size == 0 || size % RECORD_ALIGNMENT as usize != 0 || offset + size > frame.len() {
                return Err(format!("offset {offset}: {record:?}"));
            }
            answer.record(frame, offset, record)?;
            offset += size;
        }
        if offset == frame.len() {
            Ok(answer)
        } else {
            Err(format!("more after offset {offset}"))
        }
    }

    fn record(&mut self, frame: &[u8], at: usize, header: RecordHeader) -> Result<(), String> {
        let job = JobId(header.id);
        let decision = match header.kind {
            GRANT => {
                let grant: record::Grant = pod(frame, at)?;
                let locality = match grant.locality {
                    LOCALITY_NODE => Locality::NodeLocal,
                    LOCALITY_RACK => Locality::RackLocal,
                    LOCALITY_OFF_SWITCH => Locality::OffSwitch,
                    other => return Err(format!("offset {at}: locality {other}")),
                };
                let (ask, node) = (AskId(grant.ask), NodeId(grant.node));
                Decision::Grant {
                    job,
                    ask,
                    node,
                    locality,
                    seq: grant.seq,
                }
            }
            EVICT => {
                let evict: record::Evict = pod(frame, at)?;
                let reason = match evict.reason {
                    EVICT_MIN_SHARE => EvictReason::MinShare,
                    EVICT_FAIR_SHARE => EvictReason::FairShare,
                    EVICT_UNPAID => EvictReason::Unpaid,
                    EVICT_DISPLACED => EvictReason::Displaced,
                    EVICT_INSIDE => EvictReason::Inside,
                    other => return Err(format!("offset {at}: reason {other}")),
                };
                Decision::Evict {
                    job,
                    key: evict.key,
                    reason,
                    grace_ms: evict.grace_ms,
                }
            }
            HEADROOM => {
                let headroom: record::Headroom = pod(frame, at)?;
                Decision::Headroom {
                    job,
                    resource: Resource(headroom.resource),
                }
            }
            LOG => return self.log(frame, at, header),
            other => return Err(format!("offset {at}: kind {other}")),
        };
        self.decisions.push(decision);
        Ok(())
    }

    fn log(&mut self, frame: &[u8], at: usize, header: RecordHeader) -> Result<(), String> {
        let log: record::Log = pod(frame, at)?;
        let start = at + size_of::<record::Log>();
        let text = frame
            .get(start..start + log.length as usize)
            .filter(|_| log.length as usize + size_of::<record::Log>() <= header.size.into())
            .ok_or_else(|| format!("offset {at}: {log:?}"))?;
        let text = std::str::from_utf8(text).map_err(|error| format!("offset {at}: {error}"))?;
        self.logs.push(LogLine {
            level: header.id,
            text: text.to_owned(),
        });
        Ok(())
    }
}

fn pod<T: Pod>(frame: &[u8], offset: usize) -> Result<T, String> {
    let bytes = frame.get(offset..offset + size_of::<T>());
    bytes
        .map(bytemuck::pod_read_unaligned)
        .ok_or_else(|| format!("offset {offset}: the frame ends within a record"))
}
