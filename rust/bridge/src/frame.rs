//! Decodes frames to events, and encodes decisions as frames.
//!
//! A whole frame is checked before the engine sees any of it: decoding fills a vector that the
//! caller reuses, and an error leaves the engine untouched. In steady state nothing here allocates
//! except the text of an error. This file knows the encoding, not the meaning: an event that names
//! an unknown job is well-formed here, and the engine ignores it.

use bytemuck::Pod;
use heddle_core::engine::Subject;
use heddle_core::words::event::{
    AskFacts, ContainerFacts, Decision, Event, JobFacts, NodeFacts, Refusal,
};
use heddle_core::words::ids::{
    AskId, JobId, Locality, NodeId, PartitionId, PlaceId, QueueId, UserId,
};
use heddle_core::words::resource::Resource;

use crate::constant::*;
use crate::error::{BridgeError, FrameFault};
use crate::record::{self, InputHeader, OutputHeader, RecordHeader, ResourceVector};

mod facts;

/// Size of the smallest record; it bounds how many records a frame can hold.
const RECORD_BYTES_MIN: usize = size_of::<RecordHeader>();
const INPUT_HEADER_BYTES: usize = size_of::<InputHeader>();
const OUTPUT_HEADER_BYTES: usize = size_of::<OutputHeader>();

/// Bytes of output that are enough for every answer with this bound on decisions.
pub fn output_bytes_max(decisions_max: u32) -> usize {
    OUTPUT_HEADER_BYTES
        + decisions_max as usize * DECISION_BYTES_MAX as usize
        + LOG_BYTES_MAX as usize
}

/// Checks a whole input frame, and replaces the content of `events` with its events, in order.
///
/// # Errors
/// `BadVersion` when the frame has another layout, `BadFrame` when anything in it is wrong.
/// `events` is useless then.
pub fn decode(frame: &[u8], events: &mut Vec<Event>) -> Result<InputHeader, BridgeError> {
    events.clear();
    let header = decode_header(frame)?;
    let mut offset = INPUT_HEADER_BYTES;
    for _ in 0..header.records {
        let record = record_at(frame, offset)?;
        events.push(decode_record(offset, record)?);
        offset += record.len();
    }
    if offset != frame.len() {
        let expected = format!("the end of the frame after {} records", header.records);
        return Err(fault(
            offset,
            "FRAME",
            expected,
            format!("{} more bytes", frame.len() - offset),
        ));
    }
    Ok(header)
}

fn decode_header(frame: &[u8]) -> Result<InputHeader, BridgeError> {
    const NAME: &str = "INPUT_HEADER";
    // The version comes first: it can be read even if the header has another length.
    let Some(abi) = frame.get(..size_of::<u32>()) else {
        return Err(fault(
            0,
            NAME,
            format!("{INPUT_HEADER_BYTES} bytes"),
            frame.len(),
        ));
    };
    let abi: u32 = bytemuck::pod_read_unaligned(abi);
    if abi != ABI_VERSION {
        return Err(BridgeError::BadVersion { got: abi });
    }
    let Some(bytes) = frame.get(..INPUT_HEADER_BYTES) else {
        return Err(fault(
            0,
            NAME,
            format!("{INPUT_HEADER_BYTES} bytes"),
            frame.len(),
        ));
    };
    let header: InputHeader = bytemuck::pod_read_unaligned(bytes);
    if header.length as usize != frame.len() {
        let expected = format!("the length of the frame, {}", frame.len());
        return Err(fault(4, NAME, expected, header.length));
    }
    let records_max = (frame.len() - INPUT_HEADER_BYTES) / RECORD_BYTES_MIN;
    if header.records as usize > records_max {
        let expected = format!("at most {records_max} records in {} bytes", frame.len());
        return Err(fault(24, NAME, expected, header.records));
    }
    Ok(header)
}

/// Returns the bytes of the record at `offset`, header included.
fn record_at(frame: &[u8], offset: usize) -> Result<&[u8], BridgeError> {
    let rest = &frame[offset..];
    let Some(header) = rest.get(..RECORD_BYTES_MIN) else {
        let got = format!("{} bytes", rest.len());
        return Err(fault(
            offset,
            "RECORD",
            format!("{RECORD_BYTES_MIN} bytes of header"),
            got,
        ));
    };
    let header: RecordHeader = bytemuck::pod_read_unaligned(header);
    let Some(layout) = record::input_record(header.kind) else {
        let expected = format!("a kind from 1 to {}", record::INPUT_RECORDS.len());
        return Err(fault(
            offset,
            "RECORD",
            expected,
            format!("kind {}", header.kind),
        ));
    };
    if usize::from(header.size) != layout.size {
        let expected = format!("a size of {}", layout.size);
        return Err(fault(offset + 2, layout.name, expected, header.size));
    }
    rest.get(..layout.size).ok_or_else(|| {
        let got = format!("the end of the frame after {}", rest.len());
        fault(offset, layout.name, format!("{} bytes", layout.size), got)
    })
}

/// Decodes one record. Its size has been checked against its kind.
fn decode_record(offset: usize, bytes: &[u8]) -> Result<Event, BridgeError> {
    let header: RecordHeader = read(&bytes[..RECORD_BYTES_MIN]);
    let kind = header.kind;
    let id = header.id;
    let at = At { offset, kind, id };
    Ok(match kind {
        NODE_ADDED => Event::NodeAdded(node(at, bytes)?),
        NODE_REMOVED => Event::NodeRemoved(NodeId(header.id)),
        NODE_CHANGED => Event::NodeChanged(node(at, bytes)?),
        HEARTBEAT => {
            let free = Resource(read::<record::Heartbeat>(bytes).free);
            let node = NodeId(header.id);
            Event::Heartbeat { node, free }
        }
        NODE_ROOM => {
            let free = Resource(read::<record::NodeRoom>(bytes).free);
            let node = NodeId(header.id);
            Event::Room { node, free }
        }
        NODE_SILENT => Event::NodeSilent(NodeId(header.id)),
        TICK => Event::Tick,
        FAULT => Event::Fault(header.id),
        _ => return decode_job_record(at, JobId(header.id), bytes),
    })
}

/// Decodes a record about a job and its asks.
fn decode_job_record(at: At, job: JobId, bytes: &[u8]) -> Result<Event, BridgeError> {
    Ok(match at.kind {
        JOB_ADDED => Event::JobAdded(job_facts(at, bytes)?),
        JOB_REMOVED => Event::JobRemoved(job),
        JOB_RESET => Event::JobReset(job),
        OFFER => Event::Offer(job),
        JOB_MOVED => {
            let queue = QueueId(read::<record::JobMoved>(bytes).queue);
            Event::JobMoved { job, queue }
        }
        JOB_PRIORITY => {
            let priority = read::<record::JobPriority>(bytes).priority;
            Event::JobPriority { job, priority }
        }
        BLACKLIST => {
            let blacklist: record::Blacklist = read(bytes);
            let added = at.flags("added", blacklist.added, 1)? == 1;
            let place = PlaceId(blacklist.place);
            Event::Blacklist { job, place, added }
        }
        ASK => Event::Ask(ask(at, bytes)?),
        ASK_ROW => {
            let row: record::AskRow = read(bytes);
            let relax = at.flags("flags", row.flags, ASK_RELAX_LOCALITY)? != 0;
            let (ask, place, count) = (AskId(row.ask), PlaceId(row.place), row.count);
            Event::AskRow {
                job,
                ask,
                place,
                count,
                relax,
            }
        }
        _ => return decode_container_record(at, job, bytes),
    })
}

/// Decodes a record about a container, or the answer to a grant.
fn decode_container_record(at: At, job: JobId, bytes: &[u8]) -> Result<Event, BridgeError> {
    Ok(match at.kind {
        CONTAINER_ADDED => Event::ContainerAdded(container(at, bytes)?),
        CONTAINER_COMPLETED => {
            let record::ContainerCompleted { key, exit, .. } = read(bytes);
            Event::ContainerCompleted { job, key, exit }
        }
        CONTAINER_RESIZED => {
            let record::ContainerResized { key, resource, .. } = read(bytes);
            let resource = at.amount("resource", resource)?;
            Event::ContainerResized { job, key, resource }
        }
        ACK => {
            let record::Ack { seq, key, .. } = read(bytes);
            Event::Ack { job, seq, key }
        }
        NACK => {
            let record::Nack { seq, reason, .. } = read(bytes);
            let refusal = refusal(at, reason)?;
            Event::Nack { job, seq, refusal }
        }
        _ => return facts::decode(at, job.0, bytes),
    })
}

fn node(at: At, bytes: &[u8]) -> Result<NodeFacts, BridgeError> {
    // NODE_CHANGED has the same fields at the same offsets.
    let node: record::NodeAdded = read(bytes);
    let flags = at.flags("flags", node.flags, NODE_SCHEDULABLE | NODE_LENDS)?;
    Ok(NodeFacts {
        node: NodeId(node.header.id),
        host: PlaceId(node.host),
        rack: PlaceId(node.rack),
        partition: PartitionId(node.partition),
        lends: flags & NODE_LENDS != 0,
        schedulable: flags & NODE_SCHEDULABLE != 0,
        capacity: at.amount("capacity", node.capacity)?,
        free: Resource(node.free),
    })
}

fn job_facts(at: At, bytes: &[u8]) -> Result<JobFacts, BridgeError> {
    let job: record::JobAdded = read(bytes);
    let flags = at.flags("flags", job.flags, JOB_MAPREDUCE | JOB_UNMANAGED_AM)?;
    Ok(JobFacts {
        job: JobId(job.header.id),
        queue: QueueId(job.queue),
        user: UserId(job.user),
        priority: job.priority,
        mapreduce: flags & JOB_MAPREDUCE != 0,
        unmanaged_am: flags & JOB_UNMANAGED_AM != 0,
        submitted_ms: job.submitted_ms,
    })
}

fn ask(at: At, bytes: &[u8]) -> Result<AskFacts, BridgeError> {
    let ask: record::Ask = read(bytes);
    let known = ASK_RELAX_LOCALITY | ASK_AM | ASK_CONTAINER_UPDATE;
    let flags = at.flags("flags", ask.flags, known)?;
    Ok(AskFacts {
        job: JobId(ask.header.id),
        ask: AskId(ask.ask),
        count: ask.count,
        priority: ask.priority,
        partition: PartitionId(ask.partition),
        relax: flags & ASK_RELAX_LOCALITY != 0,
        am: flags & ASK_AM != 0,
        update: flags & ASK_CONTAINER_UPDATE != 0,
        resource: at.amount("resource", ask.resource)?,
    })
}

fn container(at: At, bytes: &[u8]) -> Result<ContainerFacts, BridgeError> {
    let container: record::ContainerAdded = read(bytes);
    Ok(ContainerFacts {
        job: JobId(container.header.id),
        key: container.key,
        node: NodeId(container.node),
        priority: container.priority,
        am: at.flags("flags", container.flags, CONTAINER_AM)? != 0,
        started_ms: container.started_ms,
        resource: at.amount("resource", container.resource)?,
    })
}

fn refusal(at: At, reason: u32) -> Result<Refusal, BridgeError> {
    Ok(match reason {
        REASON_STALE_JOB => Refusal::StaleJob,
        REASON_STALE_NODE => Refusal::StaleNode,
        REASON_ASK_GONE => Refusal::AskGone,
        REASON_NO_FIT => Refusal::NoFit,
        REASON_BLACKLISTED => Refusal::Blacklisted,
        REASON_CONSTRAINT => Refusal::Constraint,
        REASON_TOKEN => Refusal::Token,
        REASON_OTHER => Refusal::Other,
        _ => {
            let expected = format!("a reason from {REASON_STALE_JOB} to {REASON_OTHER}");
            return Err(at.fault(at.offset_of("reason"), expected, reason));
        }
    })
}

/// A place in a frame, for the text of an error.
#[derive(Clone, Copy)]
struct At {
    offset: usize,
    kind: u16,
    id: u32,
}

impl At {
    /// Returns `flags` if it has no bit outside of `known`: an unknown bit could mean anything.
    fn flags(self, field: &str, flags: u32, known: u32) -> Result<u32, BridgeError> {
        if flags & !known != 0 {
            let expected = format!("no bits of {field} outside of {known:#x}");
            return Err(self.fault(self.offset_of(field), expected, format!("{flags:#x}")));
        }
        Ok(flags)
    }

    /// Checks that an amount is not negative. A node's free room is exempt: it may be
    /// overcommitted.
    fn amount(self, field: &str, amount: ResourceVector) -> Result<Resource, BridgeError> {
        if amount.iter().any(|&of_type| of_type < 0) {
            let expected = format!("no negative amount in {field}");
            return Err(self.fault(self.offset_of(field), expected, format!("{amount:?}")));
        }
        Ok(Resource(amount))
    }

    /// Reads an optional field: its value if it is known, else it must be 0.
    fn optional<T: Copy + Default + PartialEq + ToString>(
        self,
        field: &str,
        value: T,
        known: bool,
    ) -> Result<Option<T>, BridgeError> {
        if known {
            return Ok(Some(value));
        }
        if value != T::default() {
            let expected = format!("0 in {field}, which is marked as unknown");
            return Err(self.fault(self.offset_of(field), expected, value));
        }
        Ok(None)
    }

    fn offset_of(self, field: &str) -> usize {
        record::input_record(self.kind)
            .and_then(|layout| layout.fields.iter().find(|known| known.name == field))
            .map_or(0, |known| known.offset)
    }

    #[cold]
    fn fault(self, field_offset: usize, expected: String, got: impl ToString) -> BridgeError {
        let name = record::input_record(self.kind).map_or("RECORD", |layout| layout.name);
        FrameFault {
            subject: self.subject(),
            ..frame_fault(self.offset + field_offset, name, expected, got)
        }
        .into()
    }

    /// The job or node of the record.
    fn subject(self) -> Option<Subject> {
        match self.kind {
            NODE_ADDED | NODE_CHANGED | NODE_LOAD | NODE_SHUFFLE | NODE_ROOM | NODE_SILENT => {
                Some(Subject::Node(NodeId(self.id)))
            }
            HEARTBEAT | OFFER | TICK | FAULT | RACK_TRAFFIC => None,
            _ => Some(Subject::Job(JobId(self.id))),
        }
    }
}

#[cold]
fn fault(offset: usize, record: &'static str, expected: String, got: impl ToString) -> BridgeError {
    frame_fault(offset, record, expected, got).into()
}

fn frame_fault(
    offset: usize,
    record: &'static str,
    expected: String,
    got: impl ToString,
) -> FrameFault {
    FrameFault {
        offset,
        record,
        subject: None,
        expected,
        got: got.to_string(),
    }
}

/// Reads a record from bytes of checked length.
fn read<T: Pod>(bytes: &[u8]) -> T {
    bytemuck::pod_read_unaligned(bytes)
}

/// The fields of the output header besides the encoder's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of the answered input frame.
    pub sequence: u64,
    /// [`OUTPUT_IDLE`], [`OUTPUT_MORE`].
    pub flags: u32,
    /// When the engine wants its next tick.
    pub next_tick_ms: i64,
    /// Events ignored so far.
    pub ignored: u64,
}

/// Writes an output frame and returns its length. `logs` are whole LOG records.
///
/// # Errors
/// `ShortBuffer` with the size that the frame needs; `out` is then unchanged.
pub fn encode(
    summary: Summary,
    decisions: &[Decision],
    logs: Logs<'_>,
    out: &mut [u8],
) -> Result<usize, BridgeError> {
    let decision_bytes: usize = decisions.iter().map(decision_bytes).sum();
    let length = OUTPUT_HEADER_BYTES + decision_bytes + logs.bytes.len();
    if length > out.len() {
        return Err(BridgeError::ShortBuffer {
            needed: length,
            got: out.len(),
        });
    }
    let header = OutputHeader {
        abi: ABI_VERSION,
        length: length as u32,
        sequence: summary.sequence,
        records: decisions.len() as u32 + logs.records,
        flags: summary.flags,
        next_tick_ms: summary.next_tick_ms,
        ignored: summary.ignored,
        digest: 0,
    };
    let mut rest = write(&header, out);
    for decision in decisions {
        rest = encode_decision(decision, rest);
    }
    rest[..logs.bytes.len()].copy_from_slice(logs.bytes);
    Ok(length)
}

/// LOG records, encoded as they were logged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Logs<'a> {
    /// The records.
    pub bytes: &'a [u8],
    /// How many there are.
    pub records: u32,
}

fn decision_bytes(decision: &Decision) -> usize {
    match decision {
        Decision::Grant { .. } => size_of::<record::Grant>(),
        Decision::Evict { .. } => size_of::<record::Evict>(),
        Decision::Headroom { .. } => size_of::<record::Headroom>(),
    }
}

fn encode_decision<'a>(decision: &Decision, out: &'a mut [u8]) -> &'a mut [u8] {
    match *decision {
        Decision::Grant {
            job,
            ask,
            node,
            locality,
            seq,
        } => {
            let locality = match locality {
                Locality::NodeLocal => LOCALITY_NODE,
                Locality::RackLocal => LOCALITY_RACK,
                Locality::OffSwitch => LOCALITY_OFF_SWITCH,
            };
            let header = header_of::<record::Grant>(GRANT, job.0);
            let (ask, node) = (ask.0, node.0);
            write(
                &record::Grant {
                    header,
                    ask,
                    node,
                    locality,
                    pad: 0,
                    seq,
                },
                out,
            )
        }
        Decision::Evict {
            job,
            key,
            reason,
            grace_ms,
        } => {
            let header = header_of::<record::Evict>(EVICT, job.0);
            write(
                &record::Evict {
                    header,
                    reason: reason as u32,
                    grace_ms,
                    key,
                },
                out,
            )
        }
        Decision::Headroom { job, resource } => {
            let header = header_of::<record::Headroom>(HEADROOM, job.0);
            write(
                &record::Headroom {
                    header,
                    resource: resource.0,
                },
                out,
            )
        }
    }
}

fn header_of<T>(kind: u16, id: u32) -> RecordHeader {
    RecordHeader {
        kind,
        size: size_of::<T>() as u16,
        id,
    }
}

/// Copies a record to the front of `out`, which has room for it, and returns what follows.
fn write<'a, T: Pod>(record: &T, out: &'a mut [u8]) -> &'a mut [u8] {
    let (front, rest) = out.split_at_mut(size_of::<T>());
    front.copy_from_slice(bytemuck::bytes_of(record));
    rest
}
