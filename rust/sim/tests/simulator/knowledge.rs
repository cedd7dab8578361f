//! What the engine is told under each kind of knowledge: under `Live` no fact that the plug-in has
//! not, and none earlier.

use heddle_core::words::event::{Event, JobHints};
use heddle_core::words::ids::Millis;
use heddle_sim::cluster_sim::workload::{Foreign, JobPlan};
use heddle_sim::cluster_sim::{
    ClusterSim, Hardware, Knowledge, Options, Results, Source, Workload,
};
use heddle_sim::link::Tamper;
use heddle_sim::policies;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const LINK: u64 = 10_000_000;
const JOBS: u32 = 9;

/// The maps and reduces of all jobs; nothing fails, and nothing is evicted.
const TASKS: usize = 189;

/// Those of the last job to end, which are not told any more.
const LAST: usize = 27;

/// Three racks of one node each, in overload, with thin links between them. Jobs have input,
/// output, profiles and goals; a load of 20 % comes, grows by 3 %, and goes.
fn workload() -> Workload {
    let job = |i: u32| JobPlan {
        submit_ms: i64::from(i) * 5_000,
        user: format!("user{}", i % 2),
        class: format!("program{}", i % 3),
        tasks: [12 + 6 * (i % 3), 3],
        input_bytes: u64::from(12 + 6 * (i % 3)) * 50_000_000,
        shuffle_bytes: 900_000_000,
        output_bytes: 90_000_000,
        goal_ms: Some(300_000 + 60_000 * i64::from(i % 4)),
        profiled: true,
        ..JobPlan::default()
    };
    Workload {
        name: "knowledge".to_owned(),
        hardware: Hardware {
            nodes: 3,
            racks: 3,
            slots: [10, 10],
            slots_together: Some(10),
            rack_bytes_per_s: LINK,
            block_bytes: 50_000_000,
            ..Hardware::default()
        },
        jobs: (0..JOBS).map(job).collect(),
        foreign: Foreign {
            steps: vec![(50_000, 200), (90_000, 230), (130_000, 0)],
        },
        ..Workload::default()
    }
}

/// Keeps what the engine is told.
struct Ear(Arc<Mutex<Vec<(Millis, Event)>>>);

impl Tamper for Ear {
    fn events(&mut self, now: Millis, events: &mut Vec<Event>) {
        let heard = events.iter().map(|event| (now, *event));
        self.0.lock().expect("one thread").extend(heard);
    }
}

fn run(policy: &str, knowledge: Knowledge) -> (Results, Vec<(Millis, Event)>) {
    run_with(policies::by_name(policy).expect("a preset"), knowledge)
}

fn run_with(config: Value, knowledge: Knowledge) -> (Results, Vec<(Millis, Event)>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let options = Options {
        check: true,
        knowledge,
        tamper: Some(Box::new(Ear(heard.clone()))),
        ..Options::new("knowledge", config)
    };
    let sim = ClusterSim::new(workload(), options).expect("the configuration is good");
    let results = sim.run().expect("nothing fails");
    assert_eq!(results.finished().count(), JOBS as usize);
    let events = std::mem::take(&mut *heard.lock().expect("one thread"));
    (results, events)
}

fn live() -> Knowledge {
    Knowledge::Live(Vec::new())
}

fn counts(events: &[(Millis, Event)]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for (_, event) in events {
        let kind = match event {
            Event::JobHints { .. } => "hints",
            Event::InputBlocks { .. } => "blocks",
            Event::AskRow { .. } => "rows",
            Event::Task { .. } => "tasks",
            Event::JobCounters { .. } => "counters",
            Event::ContainerLaunched { .. } => "launches",
            Event::ContainerCompleted { .. } => "ends",
            Event::RackTraffic { .. } | Event::NodeShuffle { .. } => "links",
            Event::NodeLoad { .. } => "loads",
            _ => continue,
        };
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

#[test]
fn kinds_of_facts_are_those_of_the_knowledge() {
    let (_, full) = run("shufflewatcher", Knowledge::Full);
    let full = counts(&full);
    assert!(full["blocks"] >= 9 && full["links"] > 0, "{full:?}");
    assert_eq!(full["hints"], 9);
    assert!((TASKS - LAST..=TASKS).contains(&full["ends"]), "{full:?}");
    assert!(!full.contains_key("launches") && !full.contains_key("counters"));

    let (_, live) = run("shufflewatcher", live());
    let live = counts(&live);
    assert!(
        !live.contains_key("blocks") && !live.contains_key("links"),
        "{live:?}"
    );
    assert_eq!(live["hints"], 9);
    for kind in ["launches", "ends"] {
        assert!((TASKS - LAST..=TASKS).contains(&live[kind]), "{live:?}");
    }
    assert!(
        live["rows"] > 0 && live["counters"] > 0 && live["tasks"] > 0,
        "{live:?}"
    );
}

#[test]
fn live_facts_are_those_of_the_plug_in_and_come_when_it_hears_them() {
    let (_, events) = run("reverse-adaptive", live());
    let period_ms = workload().hardware.heartbeat_ms;
    let mut ends = 0;
    for (i, (now, event)) in events.iter().enumerate() {
        match *event {
            Event::JobHints { hints, .. } => {
                let goal = hints.deadline_ms.is_some() && hints.signature.is_some();
                assert!(goal && hints.tasks[1] == Some(3), "{hints:?}");
                let told = JobHints {
                    tasks: hints.tasks,
                    deadline_ms: hints.deadline_ms,
                    signature: hints.signature,
                    ..JobHints::default()
                };
                assert_eq!(hints, told, "a profile");
            }
            Event::Task { facts, .. } => {
                assert_eq!(now % 5_000, 0, "between polls");
                assert_eq!((facts.input_bytes, facts.output_bytes), (0, 0));
            }
            Event::JobCounters { .. } => assert_eq!(now % 15_000, 0, "between polls"),
            Event::ContainerLaunched { launched_ms, .. } => assert_eq!(launched_ms, *now),
            Event::ContainerCompleted { .. } => {
                // In one step with the report of a node, or with the end of the job.
                let rest = events[i..].iter().take_while(|(at, _)| at == now);
                let told = rest
                    .map(|(_, event)| event)
                    .any(|event| matches!(event, Event::Heartbeat { .. } | Event::JobRemoved(_)));
                assert!(told, "{event:?} at {now}");
                ends += 1;
            }
            _ => {}
        }
    }
    assert!((TASKS - LAST..=TASKS).contains(&ends), "{ends} ends");
    let loads = events.iter().filter_map(|(at, event)| match event {
        Event::NodeLoad {
            node,
            foreign_per_mille,
        } if node.0 == 0 => Some((*at, *foreign_per_mille)),
        _ => None,
    });
    let loads: Vec<(Millis, u32)> = loads.collect();
    let told: Vec<u32> = loads.iter().map(|(_, load)| *load).collect();
    // 200 and 230 per mille of 10 slots are 2 whole slots on the first node.
    assert_eq!(told, [0, 200, 0], "{loads:?}");
    for ((at, _), step_ms) in loads.iter().skip(1).zip([50_000, 130_000]) {
        assert!((step_ms..=step_ms + period_ms).contains(at), "{loads:?}");
    }
}

/// With every source as under `Full`, only counters are added; without any, policies decide
/// otherwise that use them.
#[test]
fn decisions_differ_where_facts_do() {
    let exact = || Knowledge::Live(Source::ALL.to_vec());
    let digest = |policy, knowledge| run(policy, knowledge).0.digest;
    for policy in ["fair", "hfsp", "reverse-adaptive"] {
        let full = digest(policy, Knowledge::Full);
        assert_eq!(digest(policy, exact()), full, "{policy}");
        assert_ne!(digest(policy, live()), full, "{policy}");
    }
    for (policy, source) in [
        ("hfsp", Source::Profile),
        ("shufflewatcher", Source::Traffic),
        ("fair", Source::Lengths),
        ("fifo", Source::NodeLoad),
    ] {
        let one = digest(policy, Knowledge::Live(vec![source]));
        assert_ne!(one, digest(policy, live()), "{policy}: {source}");
    }
}

/// Links are measured under `Full`; under `Live` their traffic is modelled.
#[test]
fn traffic_is_modelled_where_it_is_not_measured() {
    let (_, events) = run("shufflewatcher", live());
    let mut last: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (_, event) in &events {
        let Event::JobCounters { job, counters } = event else {
            continue;
        };
        let (input, shuffled) = last.entry(job.0).or_default();
        assert!(counters.input_bytes >= *input && counters.shuffled_bytes >= *shuffled);
        (*input, *shuffled) = (counters.input_bytes, counters.shuffled_bytes);
        assert!(counters.shuffled_bytes <= 900_000_000 && counters.written_bytes <= 90_000_000);
    }
    let most = last.values().map(|(_, shuffled)| *shuffled).max();
    assert!(
        most > Some(450_000_000),
        "counters of the shuffle: {most:?}"
    );
    // Without a bandwidth no rate is known, and reduces go first for ever.
    let decided = |uplink: Option<u64>| {
        let mut config = policies::by_name("shufflewatcher").expect("a preset");
        config["shuffle_watcher"] = json!({"uplink_bytes_per_s": uplink});
        run_with(config, live()).0.digest
    };
    assert_ne!(decided(Some(LINK)), decided(None));
}
