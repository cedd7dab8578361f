//! Work that must grow no faster than its input: twice the input, at most 2.5 times the time.
// The engine has no clock; its tests measure it.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use crate::common::{Host, host_of, plain_ask, rack_place, row};
use heddle_core::catalogue::PRESETS;
use heddle_core::words::event::{AskFacts, ContainerFacts, Event, JobFacts, NodeFacts};
use heddle_core::words::ids::{JobId, NodeId, PartitionId, PlaceId, QueueId, UserId};
use heddle_core::{Decision, Resource};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The shortest of several runs of `work`, which gets what `setup` made.
fn shortest<T>(setup: impl Fn() -> T, work: impl Fn(&mut T)) -> Duration {
    shortest_of(7, || {
        let mut made = setup();
        let from = Instant::now();
        work(&mut made);
        from.elapsed()
    })
}

/// How many times as long work takes in the second of two worlds, if that is more than 2.5 times in
/// five tries: a busy machine may disturb some.
fn grows<T>(mut worlds: [T; 2], time: impl Fn(&mut T) -> Duration) -> Option<Vec<f64>> {
    let ratio = |_| {
        let [few, more] = worlds.each_mut().map(&time);
        more.as_secs_f64() / few.as_secs_f64()
    };
    let ratios: Vec<f64> = (0..5).map(ratio).take_while(|ratio| *ratio > 2.5).collect();
    (ratios.len() == 5).then_some(ratios)
}

/// The shortest of several runs of `work`.
fn shortest_of(runs: u32, mut work: impl FnMut() -> Duration) -> Duration {
    (0..runs).map(|_| work()).min().expect("it ran")
}

fn assert_linear(time: impl Fn(u32) -> Duration, size: u32) {
    let ratio = |_| time(2 * size).as_secs_f64() / time(size).as_secs_f64();
    // A busy machine may disturb all runs of one size.
    let ratios: Vec<f64> = (0..9).map(ratio).take_while(|ratio| *ratio > 2.5).collect();
    assert!(
        ratios.len() < 9,
        "twice the input takes {ratios:?} times as long"
    );
}

fn asks(job: u32, count: u32, size_mb: impl Fn(u32) -> i64) -> Vec<Event> {
    let ask = |i| {
        Event::Ask(AskFacts {
            resource: Resource::new(size_mb(i), 1),
            ..plain_ask(job, i, 1, 1024)
        })
    };
    (0..count).map(ask).collect()
}

fn host(memory_mb: i64) -> Host {
    let mut host = Host::new(json!({"policy": "fair-original", "heartbeat_fill": 1.0}));
    host.node(0, memory_mb, 64);
    let queue = host.queue("u", None);
    host.job(1, queue);
    host
}

#[test]
fn each_ask_of_many_costs_the_same() {
    let time = |count| {
        let events = asks(1, count, |_| 1024);
        let setup = || (host(1024), events.clone());
        shortest(setup, |(host, events)| {
            host.engine.step(0, events, 1024, &mut Vec::new());
        })
    };
    assert_linear(time, 2_000);
}

#[test]
fn each_size_of_many_costs_a_tick_the_same() {
    let time = |count| {
        let events = asks(1, count, |i| 2048 + i64::from(i));
        let setup = || {
            let mut host = host(1_000_000);
            host.recovered(1, 0, 999_000, false);
            host.engine.step(0, &events, 1024, &mut Vec::new());
            host
        };
        shortest(setup, |host| {
            host.engine
                .step(60_000, &[Event::Tick], 1024, &mut Vec::new());
        })
    };
    assert_linear(time, 1_000);
}

/// A cluster whose node 0 serves one container after the other, beside a number of something.
struct Beside {
    host: Host,
    key: u64,
}

/// What there is a number of.
#[derive(Clone, Copy, Debug)]
enum Many {
    Asks,
    HostsOfAnAsk,
    AsksOnHosts,
    AsksOfBarredJobs,
    Jobs,
    Queues,
    Nodes,
    Containers,
}

const MANY: [Many; 8] = [
    Many::Asks,
    Many::HostsOfAnAsk,
    Many::AsksOnHosts,
    Many::AsksOfBarredJobs,
    Many::Jobs,
    Many::Queues,
    Many::Nodes,
    Many::Containers,
];

impl Beside {
    fn new(policy: &Value, many: Many, count: u32) -> Beside {
        let mut host = Host::new(policy.clone());
        let mut events = Vec::new();
        let nodes = if let Many::Nodes = many { count } else { 3 };
        for node in 0..nodes {
            let free = Resource::new(if node == 0 { 1_024 } else { 0 }, 1);
            events.push(node_with(node, free));
        }
        let queues = if let Many::Queues = many { count } else { 1 };
        let queues: Vec<QueueId> = (0..queues)
            .map(|at| host.queue(&format!("u{at}"), None))
            .collect();
        let jobs = match many {
            Many::Jobs | Many::Queues => count,
            _ => 2,
        };
        for job in 0..jobs {
            let queue = queues[job as usize % queues.len()];
            events.push(job_in(job, queue));
            events.push(Event::Ask(plain_ask(job, 0, 1_000_000, 1_024)));
            events.push(row(job, 0, host_of(0), 1_000_000));
            events.push(row(job, 0, rack_place(0), 1_000_000));
        }
        match many {
            Many::Asks | Many::AsksOfBarredJobs => events.extend((1..count).map(|ask| {
                Event::Ask(AskFacts {
                    priority: 20 + ask as i32,
                    ..plain_ask(0, ask, 1, 1_024)
                })
            })),
            Many::HostsOfAnAsk => {
                events.extend((1..count).map(|at| row(0, 0, PlaceId(10_000 + at), 1_000)));
            }
            Many::AsksOnHosts => {
                for ask in 1..count / 20 {
                    events.push(Event::Ask(plain_ask(0, ask, 1_000, 1_024)));
                    events.extend((1..20).map(|at| row(0, ask, PlaceId(10_000 + at), 1_000)));
                }
            }
            Many::Containers => events.extend((0..count).map(running)),
            Many::Jobs | Many::Queues | Many::Nodes => {}
        }
        if let Many::AsksOfBarredJobs = many {
            events.push(Event::Blacklist {
                job: JobId(0),
                place: host_of(0),
                added: true,
            });
        }
        events.push(Event::Tick);
        host.engine.step(0, &events, 1024, &mut Vec::new());
        Beside { host, key: 1 }
    }

    /// Lets node 0 report some times. Each time one container is granted, and ends.
    fn serve(&mut self, times: u32) {
        let mut served = 0;
        let mut ended = Vec::new();
        for _ in 0..times {
            self.host.now += 1;
            let mut events = std::mem::take(&mut ended);
            events.push(Event::Heartbeat {
                node: NodeId(0),
                free: Resource::new(1_024, 1),
            });
            let mut decisions = Vec::new();
            let now = self.host.now;
            self.host.engine.step(now, &events, 1024, &mut decisions);
            for decision in &decisions {
                if let Decision::Grant { job, seq, .. } = *decision {
                    let key = self.key;
                    self.key += 1;
                    let ack = Event::Ack { job, seq, key };
                    self.host.engine.step(now, &[ack], 1024, &mut Vec::new());
                    ended.push(Event::ContainerCompleted { job, key, exit: 0 });
                    served += 1;
                }
            }
        }
        let now = self.host.now;
        self.host.engine.step(now, &ended, 1024, &mut Vec::new());
        assert_eq!(served, times, "each report grants a container");
    }
}

impl Beside {
    /// The shortest time in which twenty containers are served.
    fn time(&mut self) -> Duration {
        shortest_of(7, || {
            let from = Instant::now();
            self.serve(20);
            from.elapsed()
        })
    }
}

/// One of many containers of two jobs on two nodes.
fn running(number: u32) -> Event {
    Event::ContainerAdded(ContainerFacts {
        job: JobId(number % 2),
        key: 1_000_000 + u64::from(number),
        node: NodeId(1 + number % 2),
        priority: 20,
        am: false,
        started_ms: 0,
        resource: Resource::new(1_024, 1),
    })
}

fn node_with(node: u32, free: Resource) -> Event {
    node_on(node, rack_place(0), free)
}

fn node_on(node: u32, rack: PlaceId, free: Resource) -> Event {
    Event::NodeAdded(NodeFacts {
        node: NodeId(node),
        host: host_of(node),
        rack,
        partition: PartitionId(0),
        lends: false,
        schedulable: true,
        capacity: Resource::new(1 << 30, 1 << 20),
        free,
    })
}

fn job_in(job: u32, queue: QueueId) -> Event {
    Event::JobAdded(JobFacts {
        job: JobId(job),
        queue,
        user: UserId(0),
        priority: 0,
        mapreduce: true,
        unmanaged_am: false,
        submitted_ms: i64::from(job),
    })
}

/// Serving one container costs the same however much of anything else there is: eight times as
/// much may take 2.5 times as long.
#[test]
fn a_container_costs_the_same_beside_many_of_anything() {
    let size = 250;
    let mut grown = Vec::new();
    for preset in PRESETS {
        let config = json!({"policy": preset.name, "heartbeat_fill": 1.0,
            "queues": [{"path": "root.u0", "budget": 1e9, "spending_rate": 1.0}]});
        for many in MANY {
            let worlds = [size, 8 * size].map(|count| Beside::new(&config, many, count));
            if let Some(ratios) = grows(worlds, Beside::time) {
                grown.push(format!("{} beside {many:?}: {ratios:.1?}", preset.name));
            }
        }
    }
    assert!(
        grown.is_empty(),
        "eight times as much:\n{}",
        grown.join("\n")
    );
}

/// The first nodes of racks that no ask names, beside asks that name others. More containers run
/// than there are nodes, so asks play no part in the number of slots.
#[test]
fn a_new_rack_costs_the_same_beside_many_asks() {
    let world = |count| {
        let mut beside = Beside::new(&json!({"policy": "fair"}), Many::AsksOnHosts, count);
        beside
            .host
            .step(&(0..2_000).map(running).collect::<Vec<_>>());
        (beside.host, 100)
    };
    let join = |(host, next): &mut (Host, u32)| {
        shortest_of(7, || {
            let racks = (*next..*next + 5).map(|node| (node, PlaceId(100_000 + node)));
            let nodes = racks.map(|(node, rack)| node_on(node, rack, Resource::ZERO));
            let nodes: Vec<Event> = nodes.collect();
            *next += 5;
            let from = Instant::now();
            host.engine.step(host.now, &nodes, 1024, &mut Vec::new());
            from.elapsed()
        })
    };
    let grown = grows([2_000, 16_000].map(world), join);
    assert_eq!(grown, None, "eight times as many asks");
}

/// Two queues that ask and withdraw in turn, of which each is new to what entitlements were worked
/// out for. Twenty reports a millisecond, as of 20,000 nodes.
#[test]
fn a_report_costs_the_same_beside_many_queues_of_which_two_alternate() {
    let world = |count| {
        let mut host = Beside::new(&json!({"policy": "fair"}), Many::Queues, count).host;
        // Neither may have what the node has free, so that each report finds the same.
        let barred = [0, 1].map(|job| Event::Blacklist {
            job: JobId(job),
            place: host_of(0),
            added: true,
        });
        let none = (0..count).map(|job| Event::Ask(plain_ask(job, 0, 0, 1_024)));
        let events = barred.into_iter().chain(none).chain([Event::Tick]);
        host.step(&events.collect::<Vec<_>>());
        host.trusted = true;
        host
    };
    let report = |host: &mut Host, wants: u32| {
        let free = Resource::new(1_024, 1);
        let node = NodeId(0);
        let granted = host.step(&[
            Event::Ask(plain_ask(1 - wants, 0, 0, 1_024)),
            Event::Ask(plain_ask(wants, 0, 1, 1_024)),
            Event::Heartbeat { node, free },
        ]);
        assert_eq!(granted, [], "both are barred");
    };
    let many = |host: &mut Host| {
        shortest_of(5, || {
            host.now += 10_000;
            // Uses up what a quiet time has saved.
            (0..100).for_each(|i| report(host, i % 2));
            let from = Instant::now();
            for _ in 0..50 {
                host.now += 1;
                (0..20).for_each(|i| report(host, i % 2));
            }
            from.elapsed()
        })
    };
    let grown = grows([250, 2_000].map(world), many);
    assert_eq!(grown, None, "eight times as many queues");
}

/// A queue below its share that asks for a thousand containers on 300 hosts, whose own are spared.
fn starved(nodes: u32) -> Host {
    let mut host = Host::new(json!({
        "policy": "fair",
        "queues": [{"path": "root.a", "preempt_from": false}, {"path": "root.b"}],
        "preemption": {"enabled": true, "fair_share_timeout_ms": 500},
        "reservation": {"after_ms": 3_600_000},
    }));
    host.trusted = true;
    for _ in 0..nodes {
        host.node(0, 1_024, 1);
    }
    let [a, b] = ["root.a", "root.b"].map(|path| host.queue("u", Some(path)));
    host.job(0, a);
    host.job(1, b);
    for node in 0..300 {
        host.recovered(0, node, 1_024, false);
    }
    for ask in 0..1_000 {
        host.ask_facts(AskFacts {
            relax: false,
            ..plain_ask(1, ask, 1, 1_024)
        });
        host.step(&[row(1, ask, host_of(ask % 300), 1)]);
    }
    host.tick();
    host
}

/// Each of those asks looks at all nodes, but a tick at a bounded number.
#[test]
fn a_tick_of_preemption_looks_at_a_bounded_number_of_nodes() {
    let tick = |host: &mut Host| {
        shortest_of(7, || {
            host.now += 500;
            let from = Instant::now();
            host.tick();
            from.elapsed()
        })
    };
    let grown = grows([300, 8 * 300].map(starved), tick);
    assert_eq!(grown, None, "eight times as many nodes");
}
