//! What one heartbeat costs from input frame to output frame: decode, step, encode.
//!
//! `cargo bench -p heddle-bridge`. Prints nanoseconds per frame, the median and the best of several
//! runs, on whatever machine it is; it asserts nothing about time. JNI's own share (about 0.1 us
//! per call) and all of Java are not in these figures. The same with a journal and with a shadow
//! follows: what a frame costs more on the caller's thread, and what it takes on the disk.
//!
//! `cargo bench -p heddle-bridge --bench step -- --journal PATH EVENTS` writes a journal of EVENTS
//! events to PATH instead, for `heddle replay PATH`.

#[path = "../tests/client/mod.rs"]
mod client;

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use client::{Answer, FrameWriter};
use heddle::frame::{decode, output_bytes_max};
use heddle::host::Host;
use heddle::journal::{Reader, recordings};
use heddle::replay::replay;
use heddle_core::words::event::{AskFacts, Decision, Event, JobFacts, NodeFacts};
use heddle_core::words::ids::{AskId, JobId, NodeId, PartitionId, PlaceId, QueueId, UserId};
use heddle_core::words::resource::Resource;
use serde_json::{Value, json};

const RUNS: usize = 51;
const DECISIONS_MAX: u32 = 64;
/// Containers that a node has room for. Half of them are given at once.
const CAPACITY: i64 = 16;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|word| word == "--journal") {
        let [path, events] = [1, 2].map(|next| arguments.get(at + next).expect("PATH EVENTS"));
        record(Path::new(path), events.parse().expect("a number of events"));
        return;
    }
    // cargo test runs benchmarks too, with this argument left out: one short run will do there.
    let full = std::env::args().any(|argument| argument == "--bench");
    let (nodes, runs) = if full { (1_000, RUNS) } else { (10, 1) };
    println!(
        "{:52} {:>10} {:>10}",
        "nanoseconds per frame", "median", "best"
    );
    let folder = std::env::temp_dir().join(format!("heddle-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for journals");
    report("decode alone, one heartbeat", &decode_alone(nodes, runs));
    let all = |name: &str, scenario: &dyn Fn(Beside<'_>) -> Run| {
        let base = folder.join(name.replace([' ', ','], "-"));
        // In turns, so that whatever else the machine does is in all.
        let beside = [Beside::Nothing, Beside::Journal(&base), Beside::Shadow];
        let mut three = beside.map(scenario);
        let times: Vec<[f64; 3]> = (0..runs)
            .map(|_| three.each_mut().map(|run| run()))
            .collect();
        drop(three);
        let [without, journal, shadow] =
            [0, 1, 2].map(|at| times.iter().map(|all| all[at]).collect::<Vec<_>>());
        report(name, &without);
        report("    with a journal", &journal);
        report_size(&base);
        report("    with a shadow", &shadow);
    };
    all("heartbeat, nothing pending", &|beside| {
        heartbeats(nodes, 0, beside)
    });
    for jobs in [10, 1_000] {
        let name = format!("heartbeat, {jobs} jobs wait, nothing fits");
        all(&name, &|beside| heartbeats(nodes, jobs, beside));
    }
    for jobs in [10, 1_000] {
        let name = format!(
            "heartbeat that ends and grants {} of {jobs} jobs",
            CAPACITY / 2
        );
        all(&name, &|beside| packing(nodes, jobs, beside));
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

/// Records a journal of this many events, in which containers end and start.
fn record(path: &Path, events: u64) {
    let nodes = 1_000;
    let start = Instant::now();
    let mut run = packing(nodes, 1_000, Beside::Journal(path));
    // Ends, acknowledgements of the grants before, and the report of the node.
    let of_round = u64::from(nodes) * (2 * (CAPACITY as u64 / 2) + 1);
    for _ in 0..events.div_ceil(of_round) {
        run();
    }
    drop(run);
    let bytes = recordings(path).expect("it was recorded")[0].bytes();
    println!(
        "{events} events, {bytes} bytes, {:.0} s",
        start.elapsed().as_secs_f64()
    );
}

/// Prints the journal's bytes on the disk, and the speed of its replay.
fn report_size(base: &Path) {
    let bytes = recordings(base).expect("it was recorded")[0].bytes();
    let start = Instant::now();
    let replayed = Reader::open(base)
        .and_then(replay)
        .expect("a whole journal");
    let seconds = start.elapsed().as_secs_f64();
    assert!(replayed.same(), "a replay gives the recorded answers");
    let counts = replayed.counts;
    let (frames, events) = (counts.frames as f64, counts.events as f64);
    println!(
        "    {:.1} bytes a frame, {:.1} an event; replays {:.0} events a second",
        bytes as f64 / frames,
        bytes as f64 / events,
        events / seconds
    );
}

fn report(name: &str, nanoseconds: &[f64]) {
    let mut sorted = nanoseconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    println!(
        "{name:52} {:>10.0} {:>10.0}",
        sorted[sorted.len() / 2],
        sorted[0]
    );
}

fn node_capacity() -> Resource {
    Resource::new(1_024 * CAPACITY, CAPACITY)
}

/// A journal, a shadow, or nothing beside the engine.
#[derive(Clone, Copy)]
enum Beside<'a> {
    Nothing,
    Journal(&'a Path),
    Shadow,
}

struct Bench {
    host: Host,
    writer: FrameWriter,
    out: Vec<u8>,
    sequence: u64,
}

impl Bench {
    fn new(nodes: u32, jobs: u32, beside: Beside<'_>) -> Bench {
        let journal = match beside {
            // As large as it becomes: the default would end it.
            Beside::Journal(path) => json!({"path": path, "bytes_max": 1u64 << 40}),
            _ => Value::Null,
        };
        let setup = json!({"config": {"heartbeat_fill": 0.5}, "journal": journal});
        let mut host = Host::open(&setup.to_string()).expect("a right setup");
        if let Beside::Shadow = beside {
            let cast = json!({"op": "castShadow", "shadow": {"config": {"policy": "fair"}}});
            let reply = host.request(0, &cast.to_string());
            reply.expect("the candidate is right");
        }
        let out = vec![0; output_bytes_max(DECISIONS_MAX)];
        let mut bench = Bench {
            host,
            writer: FrameWriter::default(),
            out,
            sequence: 0,
        };
        let mut events: Vec<Event> = (0..nodes).map(node_added).collect();
        let queue = bench.place();
        for job in 0..jobs {
            events.push(job_added(JobId(job), queue));
            events.push(ask(JobId(job), 1_000_000));
        }
        bench.step(&events);
        bench
    }

    fn place(&mut self) -> QueueId {
        let request = r#"{"op":"place","user":"bench","groups":[],"queue":null}"#;
        let reply = self.host.request(0, request).expect("the request is right");
        let reply: Value = serde_json::from_str(&reply).expect("a reply is JSON");
        QueueId(reply["queue"].as_u64().expect("a placed job has a queue") as u32)
    }

    /// Steps; how long the host took for it, and how long the answer is.
    fn step(&mut self, events: &[Event]) -> (f64, usize) {
        self.sequence += 1;
        // A thousand frames a second: what waits for them goes to the journal's writer.
        let now_ms = 1_000 + self.sequence as i64;
        let frame = self
            .writer
            .frame(now_ms, self.sequence, DECISIONS_MAX, events);
        let start = Instant::now();
        let length = self
            .host
            .step(frame, &mut self.out)
            .expect("the frame is right");
        (start.elapsed().as_nanos() as f64, length)
    }
}

fn node_added(node: u32) -> Event {
    Event::NodeAdded(NodeFacts {
        node: NodeId(node),
        host: PlaceId(100 + node),
        rack: PlaceId(1 + node % 40),
        partition: PartitionId(0),
        lends: false,
        schedulable: true,
        capacity: node_capacity(),
        free: node_capacity(),
    })
}

fn job_added(job: JobId, queue: QueueId) -> Event {
    Event::JobAdded(JobFacts {
        job,
        queue,
        user: UserId(0),
        priority: 0,
        mapreduce: true,
        unmanaged_am: false,
        submitted_ms: i64::from(job.0),
    })
}

fn ask(job: JobId, count: u32) -> Event {
    Event::Ask(AskFacts {
        job,
        ask: AskId(0),
        count,
        priority: 20,
        partition: PartitionId(0),
        relax: true,
        am: false,
        update: false,
        resource: Resource::new(1_024, 1),
    })
}

fn decode_alone(nodes: u32, runs: usize) -> Vec<f64> {
    let mut writer = FrameWriter::default();
    let beat = Event::Heartbeat {
        node: NodeId(1),
        free: node_capacity(),
    };
    let frame = writer.frame(1_000, 1, DECISIONS_MAX, &[beat]).to_vec();
    let mut events = Vec::new();
    let run = |_| {
        let start = Instant::now();
        for _ in 0..nodes {
            decode(black_box(&frame), &mut events).expect("the frame is right");
            black_box(&events);
        }
        start.elapsed().as_nanos() as f64 / f64::from(nodes)
    };
    (0..runs).map(run).collect()
}

/// One run of a scenario; returns the mean of its frames.
type Run = Box<dyn FnMut() -> f64>;

/// Every node reports that it is full.
fn heartbeats(nodes: u32, jobs: u32, beside: Beside<'_>) -> Run {
    let mut bench = Bench::new(nodes, jobs, beside);
    Box::new(move || {
        let beat = |node| Event::Heartbeat {
            node: NodeId(node),
            free: Resource::ZERO,
        };
        let spent: f64 = (0..nodes).map(|node| bench.step(&[beat(node)]).0).sum();
        spent / f64::from(nodes)
    })
}

/// Every node reports that all its containers have ended, and is filled again.
fn packing(nodes: u32, jobs: u32, beside: Beside<'_>) -> Run {
    let mut bench = Bench::new(nodes, jobs, beside);
    let mut running: Vec<Vec<(JobId, u64)>> = vec![Vec::new(); nodes as usize];
    let mut acks = Vec::new();
    let mut key = 0;
    let mut run = move || {
        let mut spent = 0.0;
        for node in 0..nodes {
            let mut events = std::mem::take(&mut acks);
            for (job, key) in running[node as usize].drain(..) {
                events.push(Event::ContainerCompleted { job, key, exit: 0 });
            }
            events.push(Event::Heartbeat {
                node: NodeId(node),
                free: node_capacity(),
            });
            let (nanoseconds, length) = bench.step(&events);
            spent += nanoseconds;
            let answer = Answer::read(&bench.out[..length]).expect("the frame is whole");
            for decision in answer.decisions {
                if let Decision::Grant {
                    job,
                    seq,
                    node: granted,
                    ..
                } = decision
                {
                    assert_eq!(granted.0, node, "a grant for the node that reported");
                    key += 1;
                    acks.push(Event::Ack { job, seq, key });
                    running[node as usize].push((job, key));
                }
            }
            assert_eq!(
                running[node as usize].len() as i64,
                CAPACITY / 2,
                "half a node a beat"
            );
        }
        spent / f64::from(nodes)
    };
    // The first round fills the cluster and has nothing to end.
    run();
    Box::new(run)
}
