//! Targets for the engine's input: frames as bytes, well-formed events, control requests.

#[path = "../../bridge/tests/client/mod.rs"]
pub(crate) mod client;

use arbitrary::{Arbitrary, Result, Unstructured};
use client::FrameWriter;
use heddle::error::BridgeError;
use heddle::host::Host;
use heddle_core::catalogue::PRESETS;
use heddle_core::words::event::{
    AskFacts, ContainerFacts, Decision, Event, JobCounters, JobFacts, JobHints, NodeFacts, Refusal,
    TaskFacts,
};
use heddle_core::words::ids::{
    AskId, JobId, Millis, NodeId, PartitionId, PlaceId, QueueId, UserId,
};
use heddle_core::{Engine, Resource, Setup, catalogue};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Room for the answer to a frame that asks for as many decisions as a host would.
const OUTPUT_BYTES: usize = 1 << 18;
pub(crate) const DECISIONS_MAX: u32 = 64;
/// Bounds of events in a step and of steps in an input: enough to interact, few enough to be fast.
const EVENTS_MAX: usize = 12;
const STEPS_MAX: usize = 24;

/// Every preset, and each stage once beside others.
pub(crate) fn policies() -> Vec<Value> {
    fn of(share: &str, order: &str, place: &str) -> Value {
        json!({"share": share, "order": order, "place": place})
    }
    let presets = PRESETS.iter().map(|preset| json!(preset.name));
    let shares = catalogue::share_names()
        .into_iter()
        .map(|name| of(name, "fifo", "delay"));
    let orders = catalogue::order_names()
        .into_iter()
        .map(|name| of("fair", name, "delay"));
    let places = catalogue::place_names()
        .into_iter()
        .map(|name| of("drf", "fifo", name));
    presets.chain(shares).chain(orders).chain(places).collect()
}

pub(crate) fn config(policy: usize) -> Value {
    let policies = policies();
    json!({
        "policy": policies[policy % policies.len()],
        "queues": [
            {"path": "root.a", "budget": 1000, "spending_rate": 2, "max_running_jobs": 2},
            {"path": "root.b", "weight": 2.0, "min_share": {"memory-mb": 4096, "vcores": 2}},
            {"path": "root.c", "compare": "memory", "min_share": "20%", "max_share": "80%"},
        ],
        "preemption": {"enabled": true, "fair_share_timeout_ms": 500, "grace_ms": 1},
        "reservation": {"after_ms": 500, "hold_ms": 1000},
    })
}

/// The configurations, read once: an input should spend its time in the engine.
static SETUPS: LazyLock<Vec<(Setup, String)>> = LazyLock::new(|| {
    let configs = (0..policies().len()).map(config);
    let of = |config: Value| {
        let setup = Setup::with_config(&config).expect("the configuration is right");
        let text = json!({ "config": config, "log_level": "off" }).to_string();
        (setup, text)
    };
    configs.map(of).collect()
});

/// Splits off the first byte, which picks the policy. Returns the setup, also as a host's JSON.
fn split(data: &[u8]) -> (&'static (Setup, String), &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&0, &[]));
    (&SETUPS[usize::from(*first) % SETUPS.len()], rest)
}

fn node(id: u32) -> NodeFacts {
    let capacity = Resource::new(8192, 8);
    NodeFacts {
        node: NodeId(id),
        host: PlaceId(1 + id),
        rack: PlaceId(10),
        partition: PartitionId::DEFAULT,
        lends: false,
        schedulable: true,
        capacity,
        free: capacity,
    }
}

fn job(id: u32, queue: u32) -> JobFacts {
    JobFacts {
        job: JobId(id),
        queue: QueueId(queue),
        user: UserId(id),
        priority: 0,
        mapreduce: true,
        unmanaged_am: false,
        submitted_ms: 0,
    }
}

fn ask(job: u32, count: u32) -> Event {
    Event::Ask(AskFacts {
        job: JobId(job),
        ask: AskId(0),
        count,
        priority: 20,
        partition: PartitionId::DEFAULT,
        relax: true,
        am: false,
        update: false,
        resource: Resource::new(1024, 1),
    })
}

pub(crate) fn beat(id: u32) -> Event {
    Event::Heartbeat {
        node: NodeId(id),
        free: Resource::new(8192, 8),
    }
}

/// A small cluster with two waiting jobs.
pub(crate) fn beginning() -> Vec<Event> {
    vec![
        Event::NodeAdded(node(0)),
        Event::NodeAdded(node(1)),
        Event::JobAdded(job(0, 1)),
        ask(0, 3),
        Event::JobAdded(job(1, 2)),
        ask(1, 5),
        Event::Tick,
        beat(0),
    ]
}

fn books(engine: &Engine) {
    if let Err(fault) = engine.check_invariants() {
        panic!("the books are wrong: {fault}");
    }
}

/// Runs an engine under an accepted setup: jobs come, nodes report, time passes.
pub(crate) fn live(setup: Setup) {
    let Ok(mut engine) = Engine::new(setup) else {
        return;
    };
    let mut decisions = Vec::new();
    for (now, events) in [(0, beginning()), (700, vec![Event::Tick, beat(1)])] {
        engine.step(now, &events, DECISIONS_MAX as usize, &mut decisions);
        books(&engine);
    }
}

/// Reads frames as `[length as two bytes][bytes]`. A wrong frame is refused, and the engine stays
/// usable.
pub(crate) fn frame(data: &[u8]) {
    let ((_, setup), mut rest) = split(data);
    let mut host = Host::open(setup).expect("the configuration is right");
    let mut out = vec![0; OUTPUT_BYTES];
    while let [low, high, tail @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (bytes, next) = tail.split_at(length);
        rest = next;
        usable(host.step(bytes, &mut out));
    }
    usable(host.request(Millis::MAX, r#"{"op": "audit"}"#));
}

fn usable<T>(answer: std::result::Result<T, BridgeError>) {
    if let Err(fault @ (BridgeError::Panic(_) | BridgeError::EngineFailed(_))) = answer {
        panic!("the engine is lost: {fault}");
    }
}

pub(crate) fn frame_seeds() -> Vec<Vec<u8>> {
    let frame = |at: i64, events: &[Event]| {
        let mut writer = FrameWriter::default();
        let bytes = writer.frame(at, 1, DECISIONS_MAX, events).to_vec();
        let length = u16::try_from(bytes.len()).expect("a few records");
        [length.to_le_bytes().to_vec(), bytes].concat()
    };
    let run = frame(
        600,
        &[
            Event::Tick,
            beat(1),
            Event::JobReset(JobId(0)),
            ask(0, 1 << 20),
        ],
    );
    (0..policies().len() as u8)
        .map(|policy| [vec![policy], frame(0, &beginning()), run.clone()].concat())
        .collect()
}

/// Applies events that a frame could carry, in any order, with any numbers. The books stay right.
pub(crate) fn events(data: &[u8]) {
    let ((setup, _), rest) = split(data);
    let mut engine = Engine::new(setup.clone()).expect("the setup is right");
    let mut bytes = Unstructured::new(rest);
    let (mut now, mut answers) = (0, beginning());
    for _ in 0..STEPS_MAX {
        let mut decisions = Vec::new();
        engine.step(
            now,
            &std::mem::take(&mut answers),
            DECISIONS_MAX as usize,
            &mut decisions,
        );
        for decision in decisions {
            if let Decision::Grant { job, seq, .. } = decision {
                let key = seq;
                let refusal = Refusal::Other;
                answers.push(match seq % 3 {
                    0 => Event::Nack { job, seq, refusal },
                    _ => Event::Ack { job, seq, key },
                });
            }
        }
        let Ok((moment, more)) = step(&mut bytes) else {
            break;
        };
        // A host that reports room and takes it back can break this one check; see
        // `core/tests/engine/extremes.rs`.
        if let Err(fault) = engine.check_invariants()
            && !fault.contains("gave out more than it had")
        {
            panic!("the books are wrong: {fault}");
        }
        now = moment;
        answers.extend(more);
        if bytes.is_empty() {
            break;
        }
    }
    engine
        .request(now, &json!({"op": "queues"}))
        .expect("a report");
}

pub(crate) fn event_seeds() -> Vec<Vec<u8>> {
    let count = policies().len() as u8;
    let rising = |first: u8| {
        (0..96u8)
            .map(move |at| at.wrapping_mul(37) ^ first)
            .collect()
    };
    let rest: Vec<Vec<u8>> = (0..count).map(rising).collect();
    (0..count)
        .zip(rest)
        .map(|(policy, rest)| [vec![policy], rest].concat())
        .collect()
}

fn step(bytes: &mut Unstructured<'_>) -> Result<(Millis, Vec<Event>)> {
    let now = match u8::arbitrary(bytes)? {
        0 => i64::arbitrary(bytes)?,
        at => i64::from(at) * 250,
    };
    let count = bytes.int_in_range(1..=EVENTS_MAX)?;
    let events = (0..count).map(|_| event(bytes)).collect::<Result<_>>()?;
    Ok((now, events))
}

/// Draws a number: mostly a small one, else one at which bounds break.
fn word(bytes: &mut Unstructured<'_>) -> Result<u32> {
    const ENDS: [u32; 6] = [0, 1 << 16, 1 << 20, i32::MAX as u32, 1 << 31, u32::MAX];
    match u8::arbitrary(bytes)? {
        0..200 => Ok(u32::from(u8::arbitrary(bytes)? % 6)),
        200..240 => Ok(*bytes.choose(&ENDS)?),
        _ => u32::arbitrary(bytes),
    }
}

fn long(bytes: &mut Unstructured<'_>) -> Result<i64> {
    const ENDS: [i64; 7] = [i64::MIN, -1, 0, 1 << 43, 1 << 53, i64::MAX - 1, i64::MAX];
    match u8::arbitrary(bytes)? {
        0..180 => Ok(i64::from(u16::arbitrary(bytes)?)),
        180..240 => Ok(*bytes.choose(&ENDS)?),
        _ => i64::arbitrary(bytes),
    }
}

fn size(bytes: &mut Unstructured<'_>) -> Result<Resource> {
    Ok(match u8::arbitrary(bytes)? {
        0..200 => Resource::new(
            i64::from(bytes.int_in_range(0..=9u8)?) * 512,
            i64::from(bytes.int_in_range(0..=9u8)?),
        ),
        _ => Resource(std::array::from_fn(|_| long(bytes).unwrap_or(0))),
    })
}

fn any_node(bytes: &mut Unstructured<'_>) -> Result<NodeFacts> {
    Ok(NodeFacts {
        node: NodeId(word(bytes)?),
        host: PlaceId(word(bytes)?.saturating_add(1)),
        rack: PlaceId(word(bytes)?.saturating_add(1)),
        partition: PartitionId(u32::from(bytes.ratio(1, 4)?)),
        lends: bool::arbitrary(bytes)?,
        schedulable: bytes.ratio(7, 8)?,
        capacity: size(bytes)?,
        free: size(bytes)?,
    })
}

fn event(bytes: &mut Unstructured<'_>) -> Result<Event> {
    Ok(match bytes.int_in_range(0..=9u8)? {
        0 | 1 => of_cluster(bytes)?,
        2..=5 => of_job(bytes)?,
        6 | 7 => of_container(bytes)?,
        8 => beat(bytes.int_in_range(0..=1u32)?),
        _ => Event::Tick,
    })
}

fn of_cluster(bytes: &mut Unstructured<'_>) -> Result<Event> {
    let id = NodeId(word(bytes)?);
    Ok(match bytes.int_in_range(0..=8u8)? {
        0 => Event::NodeAdded(any_node(bytes)?),
        1 => Event::NodeChanged(any_node(bytes)?),
        2 => Event::NodeRemoved(id),
        3 => Event::NodeLoad {
            node: id,
            foreign_per_mille: word(bytes)?,
        },
        4 => Event::NodeShuffle {
            node: id,
            sent_bytes: long(bytes)? as u64,
        },
        5 => Event::RackTraffic {
            rack: PlaceId(word(bytes)?),
            up_bytes_per_s: long(bytes)? as u64,
            down_bytes_per_s: long(bytes)? as u64,
            bandwidth_bytes_per_s: long(bytes)? as u64,
        },
        6 => Event::Room {
            node: id,
            free: size(bytes)?,
        },
        7 => Event::NodeSilent(id),
        _ => Event::Heartbeat {
            node: id,
            free: size(bytes)?,
        },
    })
}

fn of_job(bytes: &mut Unstructured<'_>) -> Result<Event> {
    let id = JobId(word(bytes)?);
    Ok(match bytes.int_in_range(0..=13u8)? {
        0 => Event::JobAdded(JobFacts {
            priority: word(bytes)? as i32,
            mapreduce: bytes.ratio(3, 4)?,
            unmanaged_am: bytes.ratio(1, 8)?,
            submitted_ms: long(bytes)?,
            ..job(id.0, word(bytes)?)
        }),
        1 => Event::JobRemoved(id),
        2 => Event::JobReset(id),
        3 => Event::JobMoved {
            job: id,
            queue: QueueId(word(bytes)?),
        },
        4 => Event::JobPriority {
            job: id,
            priority: word(bytes)? as i32,
        },
        5 => Event::Blacklist {
            job: id,
            place: PlaceId(word(bytes)?),
            added: bytes.ratio(3, 4)?,
        },
        6 => Event::AskRow {
            job: id,
            ask: AskId(word(bytes)?),
            place: PlaceId(word(bytes)?),
            count: word(bytes)?,
            relax: bytes.ratio(1, 2)?,
        },
        7 => hints(id, bytes)?,
        8 => Event::InputBlocks {
            job: id,
            racks: [PlaceId(word(bytes)?), PlaceId(word(bytes)?), PlaceId::ANY],
            blocks: word(bytes)?,
            bytes: long(bytes)? as u64,
        },
        9 => Event::Offer(id),
        _ => any_ask(id, bytes)?,
    })
}

fn any_ask(job: JobId, bytes: &mut Unstructured<'_>) -> Result<Event> {
    Ok(Event::Ask(AskFacts {
        job,
        ask: AskId(word(bytes)?),
        count: word(bytes)?,
        priority: *bytes.choose(&[0, 5, 10, 20, i32::MIN, i32::MAX])?,
        partition: PartitionId(u32::from(bytes.ratio(1, 4)?)),
        relax: bytes.ratio(3, 4)?,
        am: bytes.ratio(1, 8)?,
        update: bytes.ratio(1, 8)?,
        resource: size(bytes)?,
    }))
}

fn hints(job: JobId, bytes: &mut Unstructured<'_>) -> Result<Event> {
    let hints = JobHints {
        tasks: [Some(word(bytes)?), Some(word(bytes)?)],
        input_bytes: Some(long(bytes)? as u64),
        shuffle_per_mille: Some(word(bytes)?),
        deadline_ms: Some(long(bytes)?),
        task_ms: [Some(long(bytes)?), None],
        signature: Some(u64::from(word(bytes)?)),
    };
    Ok(Event::JobHints { job, hints })
}

fn of_container(bytes: &mut Unstructured<'_>) -> Result<Event> {
    let (job, key) = (JobId(word(bytes)?), u64::from(word(bytes)?));
    Ok(match bytes.int_in_range(0..=7u8)? {
        0 => Event::ContainerCompleted {
            job,
            key,
            exit: word(bytes)? as i32,
        },
        1 => Event::ContainerResized {
            job,
            key,
            resource: size(bytes)?,
        },
        2 => Event::ContainerLaunched {
            job,
            key,
            launched_ms: long(bytes)?,
        },
        3 => Event::Task {
            job,
            key,
            facts: TaskFacts {
                progress_per_mille: word(bytes)?,
                input_bytes: long(bytes)? as u64,
                output_bytes: long(bytes)? as u64,
                executing_since_ms: Some(long(bytes)?),
                committing: bytes.ratio(1, 8)?,
            },
        },
        4 => Event::JobCounters {
            job,
            counters: JobCounters {
                done: [word(bytes)?, word(bytes)?],
                input_bytes: long(bytes)? as u64,
                map_output_bytes: long(bytes)? as u64,
                ..JobCounters::default()
            },
        },
        5 => Event::Nack {
            job,
            seq: key,
            refusal: Refusal::NoFit,
        },
        _ => Event::ContainerAdded(ContainerFacts {
            job,
            key,
            node: NodeId(word(bytes)?),
            priority: *bytes.choose(&[0, 5, 10, 20])?,
            am: bytes.ratio(1, 8)?,
            started_ms: long(bytes)?,
            resource: size(bytes)?,
        }),
    })
}

/// Serves requests of a few KB. The engine answers or refuses each, and its books stay right.
pub(crate) fn control(data: &[u8]) {
    let ((setup, _), rest) = split(data);
    let mut engine = Engine::new(setup.clone()).expect("the setup is right");
    engine.step(0, &beginning(), DECISIONS_MAX as usize, &mut Vec::new());
    for (at, line) in rest
        .split(|byte| *byte == b'\n')
        .take(STEPS_MAX)
        .enumerate()
    {
        let Ok(request) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        let now = 100 * at as Millis;
        if let Err(refusal) = engine.request(now, &request) {
            assert!(
                !refusal.to_string().is_empty(),
                "a refusal without a sentence"
            );
        }
        books(&engine);
        engine.step(now, &[Event::Tick], DECISIONS_MAX as usize, &mut Vec::new());
        books(&engine);
    }
}

pub(crate) fn control_seeds() -> Vec<Vec<u8>> {
    let plain = [
        "queues",
        "waits",
        "jobs",
        "nodes",
        "usage",
        "activities",
        "predict",
        "audit",
        "policies",
        "stages",
        "accounts",
        "price",
    ];
    let mut lines: Vec<Value> = plain.iter().map(|op| json!({ "op": op })).collect();
    lines.extend([
        json!({"op": "job", "job": 0}),
        json!({"op": "jobs", "text": "a", "sort": "given", "ranks": [1], "matching": [0]}),
        json!({"op": "node", "node": 1}),
        json!({"op": "explain", "job": 1}),
        json!({"op": "place", "user": "alice", "queue": "root.a"}),
        json!({"op": "foresee", "user": "alice", "queue": "root.new"}),
        json!({"op": "authorize", "job": 0, "credits_micro": 5, "rate_micro": 1, "until_ms": 9}),
        json!({"op": "reload", "config": {"policy": "fair", "queues": [{"path": "root.z"}]}}),
        json!({"op": "allocations", "text": "ads 1 1\n"}),
        json!({"op": "restoreLessons", "lessons": [["a", {}]]}),
    ]);
    // A few requests each: long inputs would slow the target down.
    let texts: Vec<String> = lines.iter().map(Value::to_string).collect();
    let seed = |(at, texts): (usize, &[String])| {
        let policy = (at % policies().len()) as u8;
        [vec![policy], texts.join("\n").into_bytes()].concat()
    };
    let rounds = texts.chunks(2).cycle().take(2 * policies().len());
    rounds.enumerate().map(seed).collect()
}

/// A small market for requests over the web port.
pub(crate) fn live_market() -> Engine {
    let config = json!({
        "policy": "dynamic-priority",
        "queues": [
            {"path": "root.alice", "budget": 100, "spending_rate": 2},
            {"path": "root.bob", "budget": 1000, "spending_rate": 1},
        ],
    });
    let setup = Setup::with_config(&config).expect("the configuration is right");
    let mut engine = Engine::new(setup).expect("the setup is right");
    engine.step(0, &beginning(), DECISIONS_MAX as usize, &mut Vec::new());
    engine
}
