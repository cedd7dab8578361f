//! Tests the codec with hostile and random input. Decoding returns what was encoded. Anything that
//! is not a frame is rejected with its place, without a panic.

use crate::facts;
use crate::support::client::{Answer, FrameWriter};
use heddle::constant::*;
use heddle::error::BridgeError;
use heddle::frame::{self, Logs, Summary};
use heddle::record::{self, INPUT_RECORDS};
use heddle_core::words::event::*;
use heddle_core::words::ids::{
    AskId, JobId, Locality, NodeId, PartitionId, PlaceId, QueueId, UserId,
};
use heddle_core::words::resource::Resource;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

fn amount() -> impl Strategy<Value = Resource> {
    any::<[i64; 8]>().prop_map(|amounts| Resource(amounts.map(|one| one & i64::MAX)))
}

fn any_resource() -> impl Strategy<Value = Resource> {
    any::<[i64; 8]>().prop_map(Resource)
}

fn node_facts() -> impl Strategy<Value = NodeFacts> {
    (
        any::<[u32; 4]>(),
        any::<[bool; 2]>(),
        amount(),
        any_resource(),
    )
        .prop_map(
            |([node, host, rack, partition], [lends, schedulable], capacity, free)| NodeFacts {
                node: NodeId(node),
                host: PlaceId(host),
                rack: PlaceId(rack),
                partition: PartitionId(partition),
                lends,
                schedulable,
                capacity,
                free,
            },
        )
}

fn job_facts() -> impl Strategy<Value = JobFacts> {
    (
        any::<[u32; 3]>(),
        any::<i32>(),
        any::<[bool; 2]>(),
        any::<i64>(),
    )
        .prop_map(
            |([job, queue, user], priority, [mapreduce, unmanaged_am], submitted_ms)| JobFacts {
                job: JobId(job),
                queue: QueueId(queue),
                user: UserId(user),
                priority,
                mapreduce,
                unmanaged_am,
                submitted_ms,
            },
        )
}

fn ask_facts() -> impl Strategy<Value = AskFacts> {
    (
        any::<[u32; 4]>(),
        any::<i32>(),
        any::<[bool; 3]>(),
        amount(),
    )
        .prop_map(
            |([job, ask, count, partition], priority, [relax, am, update], resource)| AskFacts {
                job: JobId(job),
                ask: AskId(ask),
                count,
                priority,
                partition: PartitionId(partition),
                relax,
                am,
                update,
                resource,
            },
        )
}

fn container_facts() -> impl Strategy<Value = ContainerFacts> {
    (
        any::<[u32; 2]>(),
        any::<u64>(),
        any::<i32>(),
        any::<bool>(),
        any::<i64>(),
        amount(),
    )
        .prop_map(
            |([job, node], key, priority, am, started_ms, resource)| ContainerFacts {
                job: JobId(job),
                key,
                node: NodeId(node),
                priority,
                am,
                started_ms,
                resource,
            },
        )
}

fn refusal() -> impl Strategy<Value = Refusal> {
    prop::sample::select(vec![
        Refusal::StaleJob,
        Refusal::StaleNode,
        Refusal::AskGone,
        Refusal::NoFit,
        Refusal::Blacklisted,
        Refusal::Constraint,
        Refusal::Token,
        Refusal::Other,
    ])
}

fn event() -> impl Strategy<Value = Event> {
    // The weights make every kind equally frequent.
    prop_oneof![21 => of_the_books(), 8 => facts::known()]
}

fn of_the_books() -> impl Strategy<Value = Event> {
    let job = || any::<u32>().prop_map(JobId);
    let place = || any::<u32>().prop_map(PlaceId);
    prop_oneof![
        node_facts().prop_map(Event::NodeAdded),
        any::<u32>().prop_map(|node| Event::NodeRemoved(NodeId(node))),
        node_facts().prop_map(Event::NodeChanged),
        (any::<u32>(), any_resource()).prop_map(|(node, free)| Event::Heartbeat {
            node: NodeId(node),
            free
        }),
        job_facts().prop_map(Event::JobAdded),
        job().prop_map(Event::JobRemoved),
        (job(), any::<u32>()).prop_map(|(job, queue)| Event::JobMoved {
            job,
            queue: QueueId(queue)
        }),
        (job(), any::<i32>()).prop_map(|(job, priority)| Event::JobPriority { job, priority }),
        job().prop_map(Event::JobReset),
        job().prop_map(Event::Offer),
        any::<u32>().prop_map(|node| Event::NodeSilent(NodeId(node))),
        (any::<u32>(), any_resource()).prop_map(|(node, free)| Event::Room {
            node: NodeId(node),
            free
        }),
        (job(), place(), any::<bool>()).prop_map(|(job, place, added)| Event::Blacklist {
            job,
            place,
            added
        }),
        ask_facts().prop_map(Event::Ask),
        (job(), any::<u32>(), place(), any::<u32>(), any::<bool>()).prop_map(
            |(job, ask, place, count, relax)| {
                Event::AskRow {
                    job,
                    ask: AskId(ask),
                    place,
                    count,
                    relax,
                }
            }
        ),
        container_facts().prop_map(Event::ContainerAdded),
        (job(), any::<u64>(), any::<i32>())
            .prop_map(|(job, key, exit)| Event::ContainerCompleted { job, key, exit }),
        (job(), any::<u64>(), amount()).prop_map(|(job, key, resource)| Event::ContainerResized {
            job,
            key,
            resource
        }),
        (job(), any::<u64>(), any::<u64>()).prop_map(|(job, seq, key)| Event::Ack {
            job,
            seq,
            key
        }),
        (job(), any::<u64>(), refusal()).prop_map(|(job, seq, refusal)| Event::Nack {
            job,
            seq,
            refusal
        }),
        Just(Event::Tick),
        any::<u32>().prop_map(Event::Fault),
    ]
}

fn decision() -> impl Strategy<Value = Decision> {
    let locality = prop::sample::select(vec![
        Locality::NodeLocal,
        Locality::RackLocal,
        Locality::OffSwitch,
    ]);
    let reason = prop::sample::select(vec![
        EvictReason::MinShare,
        EvictReason::FairShare,
        EvictReason::Unpaid,
        EvictReason::Displaced,
        EvictReason::Inside,
    ]);
    prop_oneof![
        (any::<[u32; 3]>(), locality, any::<u64>()).prop_map(
            |([job, ask, node], locality, seq)| Decision::Grant {
                job: JobId(job),
                ask: AskId(ask),
                node: NodeId(node),
                locality,
                seq,
            }
        ),
        (any::<u32>(), any::<u64>(), reason, any::<u32>()).prop_map(
            |(job, key, reason, grace_ms)| Decision::Evict {
                job: JobId(job),
                key,
                reason,
                grace_ms
            }
        ),
        (any::<u32>(), any_resource()).prop_map(|(job, resource)| Decision::Headroom {
            job: JobId(job),
            resource
        }),
    ]
}

fn written(events: &[Event]) -> Vec<u8> {
    FrameWriter::default().frame(1_234, 56, 78, events).to_vec()
}

/// A frame with one record of every kind.
fn whole_frame() -> Vec<u8> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut events: Vec<Event> = Vec::new();
    let distinct = |events: &[Event], event: &Event| {
        events
            .iter()
            .all(|e| std::mem::discriminant(e) != std::mem::discriminant(event))
    };
    while events.len() < INPUT_RECORDS.len() {
        let event = event()
            .new_tree(&mut runner)
            .expect("the strategy rejects nothing")
            .current();
        if distinct(&events, &event) {
            events.push(event);
        }
    }
    written(&events)
}

fn refused(frame: &[u8]) -> BridgeError {
    frame::decode(frame, &mut Vec::new()).expect_err("the frame is malformed")
}

proptest! {
    #[test]
    fn decoding_gives_back_what_was_encoded(events in prop::collection::vec(event(), 0..50)) {
        let frame = written(&events);
        let mut decoded = vec![Event::Tick];
        let header = frame::decode(&frame, &mut decoded).expect("the frame is well-formed");
        prop_assert_eq!(decoded, events);
        prop_assert_eq!((header.now_ms, header.sequence, header.decisions_max), (1_234, 56, 78));
    }

    #[test]
    fn answers_hold_what_was_decided(
        decisions in prop::collection::vec(decision(), 0..50),
        sequence in any::<u64>(),
        next_tick_ms in any::<i64>(),
        ignored in any::<u64>(),
        flags in 0_u32..4,
    ) {
        let summary = Summary { sequence, flags, next_tick_ms, ignored };
        let mut out = vec![0xaa; frame::output_bytes_max(50)];
        let length = frame::encode(summary, &decisions, Logs::default(), &mut out)
            .expect("the buffer has room by its bound");
        let answer = Answer::read(&out[..length]).expect("the frame is well-formed");
        prop_assert_eq!(answer.decisions, decisions);
        let header = answer.header;
        prop_assert_eq!(
            (header.sequence, header.flags, header.next_tick_ms, header.ignored),
            (sequence, flags, next_tick_ms, ignored)
        );
        prop_assert!(out[length..].iter().all(|&byte| byte == 0xaa), "wrote past the frame");
    }

    #[test]
    fn random_bytes_are_refused_or_decoded_but_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let _ = frame::decode(&bytes, &mut Vec::new());
    }

    /// Follows a valid header, so that only the records are random.
    #[test]
    fn random_records_are_refused_or_decoded_but_never_panic(
        records in prop::collection::vec((0_u16..32, 0_u16..160, any::<[u8; 160]>()), 0..8),
    ) {
        let mut frame = written(&[]);
        for (kind, size, body) in &records {
            let end = usize::from(*size).max(8);
            let mut record = body[..end].to_vec();
            record[..2].copy_from_slice(&kind.to_le_bytes());
            record[2..4].copy_from_slice(&size.to_le_bytes());
            frame.extend_from_slice(&record);
        }
        let length = frame.len() as u32;
        frame[4..8].copy_from_slice(&length.to_le_bytes());
        frame[24..28].copy_from_slice(&(records.len() as u32).to_le_bytes());
        let _ = frame::decode(&frame, &mut Vec::new());
    }

    #[test]
    fn a_flipped_bit_is_refused_or_changes_something(bit in 0..whole_frame().len() * 8) {
        let mut frame = whole_frame();
        let mut before = Vec::new();
        let header_before = frame::decode(&frame, &mut before).expect("well-formed");
        frame[bit / 8] ^= 1 << (bit % 8);
        let mut after = Vec::new();
        if let Ok(header) = frame::decode(&frame, &mut after) {
            let pad = before == after && header == header_before;
            prop_assert!(!pad || in_padding(bit / 8), "bit {bit} is read by nobody");
        }
    }
}

/// Returns whether a byte of `whole_frame` is padding, or the unused id of a TICK.
fn in_padding(byte: usize) -> bool {
    let frame = whole_frame();
    let mut offset = 32;
    while offset < frame.len() {
        let kind = u16::from_le_bytes([frame[offset], frame[offset + 1]]);
        let layout = record::input_record(kind).expect("a kind of the table");
        if byte < offset + layout.size {
            let within = byte - offset;
            let pad = layout.fields.iter().any(|field| {
                field.name == "pad" && (field.offset..field.offset + field.size).contains(&within)
            });
            return pad || (kind == TICK && (4..8).contains(&within));
        }
        offset += layout.size;
    }
    false
}

#[test]
fn every_truncation_is_refused() {
    let frame = whole_frame();
    for length in 0..frame.len() {
        let error = refused(&frame[..length]);
        assert_eq!(error.code(), BAD_FRAME, "cut at {length}: {error}");
        // The same with a header that declares the shorter length, so that the records are short.
        if length >= 32 {
            let mut honest = frame[..length].to_vec();
            honest[4..8].copy_from_slice(&(length as u32).to_le_bytes());
            let error = refused(&honest);
            assert_eq!(error.code(), BAD_FRAME, "cut at {length}: {error}");
        }
    }
    assert!(
        frame::decode(&frame, &mut Vec::new()).is_ok(),
        "and the whole one is not"
    );
}

#[test]
fn another_version_is_told_apart_before_anything_else() {
    let mut frame = written(&[Event::Tick]);
    frame[..4].copy_from_slice(&3_u32.to_le_bytes());
    assert_eq!(refused(&frame), BridgeError::BadVersion { got: 3 });
    assert_eq!(refused(&frame[..5]), BridgeError::BadVersion { got: 3 });
    let text = refused(&frame).to_string();
    assert!(
        text.contains("version 3") && text.contains("has 2"),
        "{text}"
    );
}

/// The text must be enough to find the fault: place, record, expected and found.
#[test]
fn a_fault_says_where_and_what() {
    let tick = Event::Tick;
    let heartbeat = Event::Heartbeat {
        node: NodeId(1),
        free: Resource::ZERO,
    };
    let good = written(&[tick, heartbeat]);
    let with = |offset: usize, bytes: &[u8]| {
        let mut frame = good.clone();
        frame[offset..offset + bytes.len()].copy_from_slice(bytes);
        refused(&frame).to_string()
    };
    let second = 32 + 8;
    for (text, parts) in [
        (
            with(4, &[0; 4]),
            [
                "offset 4,",
                "INPUT_HEADER",
                "length of the frame, 112",
                "found 0",
            ],
        ),
        (
            with(24, &[200]),
            [
                "offset 24,",
                "INPUT_HEADER",
                "at most 10 records",
                "found 200",
            ],
        ),
        (
            with(24, &[1]),
            ["offset 40,", "FRAME", "after 1 records", "72 more bytes"],
        ),
        (
            with(24, &[3]),
            [
                "offset 112,",
                "RECORD",
                "8 bytes of header",
                "found 0 bytes",
            ],
        ),
        (
            with(second, &[0]),
            ["offset 40,", "RECORD", "kind from 1 to 30", "kind 0"],
        ),
        (
            with(second, &[31]),
            ["offset 40,", "RECORD", "kind from 1 to 30", "kind 31"],
        ),
        (
            with(second + 2, &[71]),
            ["offset 42,", "HEARTBEAT", "size of 72", "found 71"],
        ),
        (
            with(second, &[12, 0, 104]),
            ["offset 40,", "CONTAINER_ADDED", "104 bytes", "after 72"],
        ),
    ] {
        for part in parts {
            assert!(text.contains(part), "{part:?} is not in: {text}");
        }
    }
}

#[test]
fn fields_out_of_range_are_refused() {
    let resource = Resource::new(1_024, 1);
    let ask = Event::Ask(AskFacts {
        job: JobId(1),
        ask: AskId(0),
        count: 1,
        priority: 20,
        partition: PartitionId(0),
        relax: true,
        am: false,
        update: false,
        resource,
    });
    let nack = Event::Nack {
        job: JobId(1),
        seq: 1,
        refusal: Refusal::Other,
    };
    let blacklist = Event::Blacklist {
        job: JobId(1),
        place: PlaceId(1),
        added: true,
    };
    let (job, key) = (JobId(1), 1);
    let nothing = JobHints::default();
    let hints = Event::JobHints {
        job,
        hints: nothing,
    };
    let facts = TaskFacts::default();
    let task = Event::Task { job, key, facts };
    for (event, field_offset, value, expected) in [
        (hints, 8, 0x100, "no bits of known outside of 0xff"),
        (hints, 12, 7, "0 in maps, which is marked as unknown"),
        (hints, 28 + 4, 1, "0 in deadline_ms, which is marked"),
        (hints, 56, 1, "0 in signature, which is marked"),
        (task, 20, 4, "no bits of flags outside of 0x3"),
        (task, 40, 9, "0 in executing_since_ms, which is marked"),
        (ask, 24, 8_u32, "no bits of flags outside of 0x7"),
        (ask, 32 + 4, 0x8000_0000, "no negative amount in resource"),
        (nack, 8, 0, "a reason from 1 to 8"),
        (nack, 8, 9, "a reason from 1 to 8"),
        (blacklist, 12, 2, "no bits of added outside of 0x1"),
    ] {
        let mut frame = written(&[event]);
        frame[32 + field_offset..][..4].copy_from_slice(&value.to_le_bytes());
        let text = refused(&frame).to_string();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_short_output_buffer_is_left_alone() {
    let headroom = Decision::Headroom {
        job: JobId(1),
        resource: Resource::ZERO,
    };
    let summary = Summary {
        sequence: 0,
        flags: 0,
        next_tick_ms: 0,
        ignored: 0,
    };
    let mut out = [0xaa; 48 + 72 - 1];
    let error = frame::encode(summary, &[headroom], Logs::default(), &mut out);
    assert_eq!(
        error,
        Err(BridgeError::ShortBuffer {
            needed: 120,
            got: 119
        })
    );
    assert!(out.iter().all(|&byte| byte == 0xaa));
}
