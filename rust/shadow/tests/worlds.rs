//! A live engine and its shadow over the same jobs: what is the same, and what differs.

#![expect(clippy::unwrap_used, reason = "a panic says which")]

use heddle_core::words::event::{AskFacts, ContainerFacts, Decision, Event, JobFacts, NodeFacts};
use heddle_core::words::exit::{LOST, PREEMPTED};
use heddle_core::words::ids::{
    AskId, ContainerKey, JobId, Millis, NodeId, PartitionId, PlaceId, QueueId, UserId,
};
use heddle_core::{Engine, Resource, Setup};
use heddle_shadow::Shadow;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NODES: u32 = 4;
const SLOTS: i64 = 3;

fn setup(config: &Value) -> Setup {
    let setup = json!({
        "resource_types": ["memory-mb", "vcores"],
        "minimum_allocation": {"memory-mb": 1024, "vcores": 1},
        "epoch_ms": 0,
        "config": config,
    });
    Setup::from_json(&setup).expect("a good configuration")
}

/// A job of equal tasks.
struct Job {
    tasks: u32,
    length_ms: Millis,
    /// Left to end; the job ends with the last.
    left: u32,
    master: Option<ContainerKey>,
}

/// A ResourceManager, its nodes and its ApplicationMasters.
struct World {
    live: Engine,
    shadow: Option<Shadow>,
    now: Millis,
    free: Vec<Resource>,
    jobs: BTreeMap<JobId, Job>,
    running: BTreeMap<(Millis, JobId, ContainerKey), NodeId>,
    places: BTreeMap<(JobId, ContainerKey), NodeId>,
    next: u32,
    asks: Vec<Event>,
}

impl World {
    fn new(live: &Value, shadow: &Value) -> World {
        let mut world = World {
            live: Engine::new(setup(live)).expect("a good configuration"),
            shadow: None,
            now: 1_000,
            free: vec![Resource::new(1024, 1).times(SLOTS); NODES as usize],
            jobs: BTreeMap::new(),
            running: BTreeMap::new(),
            places: BTreeMap::new(),
            next: 0,
            asks: Vec::new(),
        };
        let capacity = Resource::new(1024, 1).times(SLOTS);
        let nodes = (0..NODES).map(|node| {
            Event::NodeAdded(NodeFacts {
                node: NodeId(node),
                host: PlaceId(10 + node),
                rack: PlaceId(1),
                partition: PartitionId(0),
                lends: false,
                schedulable: true,
                capacity,
                free: capacity,
            })
        });
        world.step(&nodes.collect::<Vec<_>>());
        world.begin(shadow);
        world
    }

    fn begin(&mut self, config: &Value) {
        let books = self.live.books();
        let shadow = Shadow::new(setup(config), &books, self.now);
        self.shadow = Some(shadow.expect("a good configuration"));
    }

    fn step(&mut self, events: &[Event]) {
        let mut decisions = Vec::new();
        self.live.step(self.now, events, 1024, &mut decisions);
        if let Some(shadow) = &mut self.shadow {
            shadow.hear(self.now, events, &decisions);
        }
        let mut answers = Vec::new();
        for decision in decisions {
            if let Decision::Grant { job, node, seq, .. } = decision {
                answers.push(Event::Ack { job, seq, key: seq });
                self.started(job, node, seq);
            }
            if let Decision::Evict { job, key, .. } = decision {
                let end = *self
                    .running
                    .keys()
                    .find(|(_, of, at)| (*of, *at) == (job, key))
                    .unwrap();
                self.ended(end, PREEMPTED);
            }
        }
        if !answers.is_empty() {
            self.step(&answers);
        }
    }

    fn started(&mut self, number: JobId, node: NodeId, key: ContainerKey) {
        self.free[node.index()] -= Resource::new(1024, 1);
        let job = self.jobs.get_mut(&number).unwrap();
        self.places.insert((number, key), node);
        if job.master.is_some() {
            let end = self.now + job.length_ms;
            self.running.insert((end, number, key), node);
            return;
        }
        job.master = Some(key);
        self.asks.push(ask(number, 1, job.tasks));
    }

    fn ended(&mut self, end: (Millis, JobId, ContainerKey), exit: i32) {
        let node = self.running.remove(&end).unwrap();
        let (_, number, key) = end;
        self.free[node.index()] += Resource::new(1024, 1);
        let completed = |key| Event::ContainerCompleted {
            job: number,
            key,
            exit,
        };
        self.asks.push(completed(key));
        let job = self.jobs.get_mut(&number).unwrap();
        if exit != 0 {
            // As an ApplicationMaster: it asks for one more.
            let pending = self
                .live
                .cluster()
                .job(number)
                .unwrap()
                .pending()
                .map(|ask| ask.facts.count)
                .sum::<u32>();
            self.asks.push(ask(number, 1, pending + 1));
            return;
        }
        job.left -= 1;
        if job.left == 0 {
            let master = job.master.unwrap();
            let node = self.places[&(number, master)];
            self.free[node.index()] += Resource::new(1024, 1);
            self.asks.push(completed(master));
            self.asks.push(Event::JobRemoved(number));
        }
    }

    fn submit(&mut self, user: &'static str, tasks: u32, length_ms: Millis) -> JobId {
        let number = UserId(u32::from(user != "alice"));
        let place = json!({"op": "place", "user": user, "user_number": number.0});
        let placed = self.live.request(self.now, &place).unwrap();
        self.shadow
            .as_mut()
            .unwrap()
            .hear_request(self.now, &place, &placed);
        let job = JobId(self.next);
        self.next += 1;
        let application = format!("application_1_{:04}", job.0);
        let shadow = self.shadow.as_mut().unwrap();
        shadow.hear_application(job, application);
        self.jobs.insert(
            job,
            Job {
                tasks,
                length_ms,
                left: tasks,
                master: None,
            },
        );
        let facts = JobFacts {
            job,
            queue: QueueId(placed["queue"].as_u64().unwrap() as u32),
            user: number,
            priority: 0,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms: self.now,
        };
        self.step(&[Event::JobAdded(facts), ask(job, 0, 1)]);
        job
    }

    /// Lets time pass: ticks twice a second, a report of every node once a second.
    fn until(&mut self, end: Millis) {
        while self.now < end {
            self.now += 500;
            while let Some(first) = self
                .running
                .keys()
                .next()
                .copied()
                .filter(|of| of.0 <= self.now)
            {
                self.ended(first, 0);
            }
            let mut events = std::mem::take(&mut self.asks);
            events.push(Event::Tick);
            self.step(&events);
            if self.now % 1_000 == 0 {
                for node in 0..NODES {
                    let mut events = std::mem::take(&mut self.asks);
                    let free = self.free[node as usize];
                    events.push(Event::Heartbeat {
                        node: NodeId(node),
                        free,
                    });
                    self.step(&events);
                }
            }
        }
    }

    fn report(&self) -> Value {
        self.shadow.as_ref().unwrap().report()
    }

    /// The times of a job: `start_ms` or `end_ms`, live and shadow.
    fn times(&self, job: JobId, key: &str) -> [Millis; 2] {
        let report = self.report();
        let rows = report["jobs"].as_array().unwrap();
        let row = rows.iter().find(|row| row["job"] == job.0);
        let row = row.unwrap_or_else(|| panic!("{job:?} has not ended: {report:#}"));
        assert_eq!(row["application"], format!("application_1_{:04}", job.0));
        [0, 1].map(|at| row[key][at].as_i64().unwrap())
    }
}

fn ask(job: JobId, ask: u32, count: u32) -> Event {
    Event::Ask(AskFacts {
        job,
        ask: AskId(ask),
        count,
        priority: if ask == 0 { 0 } else { 20 },
        partition: PartitionId(0),
        relax: true,
        am: ask == 0,
        update: false,
        resource: Resource::new(1024, 1),
    })
}

/// A big job of alice's, and a small one of bob's behind it.
fn big_and_small(world: &mut World) -> [JobId; 2] {
    let big = world.submit("alice", 40, 10_000);
    world.until(5_000);
    let small = world.submit("bob", 3, 4_000);
    world.until(120_000);
    [big, small]
}

/// How many jobs have ended in both worlds.
fn ended(report: &Value) -> u64 {
    let counts = ["earlier", "later", "equal"];
    let counts = counts.map(|key| report["ended"]["end"][key].as_u64().unwrap());
    counts.iter().sum()
}

#[test]
fn the_same_configuration_gives_the_same() {
    for policy in ["fifo", "fair", "hfsp"] {
        let config = json!({"policy": policy});
        let mut world = World::new(&config, &config);
        for at in 0..12 {
            let user = ["alice", "bob"][at % 2];
            world.submit(
                user,
                5 + 7 * (at as u32 % 3),
                3_000 + 1_500 * (at as Millis % 4),
            );
            world.until(world.now + 4_000);
        }
        world.until(300_000);
        let report = world.report();
        // Nodes report at other moments: now and then a container finds a slot in one world that
        // another job has just taken in the other. No world is slower in the mean.
        for (kind, slack) in [("start", 0.3), ("end", 0.1)] {
            let [live, shadow] = ["live_mean_ms", "shadow_mean_ms"]
                .map(|key| report["ended"][kind][key].as_f64().unwrap());
            // Jobs start within seconds here: one that waits for the next report counts much.
            let close = (live - shadow).abs() < (live * slack).max(1_000.0);
            assert!(close, "{policy}, {kind}: {report:#}");
        }
        assert_eq!(ended(&report), 12, "{policy}");
        assert_eq!(
            report["grants"][0], report["grants"][1],
            "{policy}: {report:#}"
        );
        assert_eq!(report["running"], json!([]));
        for queue in report["queues"].as_array().unwrap() {
            assert_eq!(queue["used_mb"], json!([0, 0]), "{report:#}");
            let mean = [0, 1].map(|at| queue["mean_mb"][at].as_f64().unwrap());
            assert!(
                (mean[0] - mean[1]).abs() < mean[0] * 0.1,
                "{policy}: {queue}"
            );
        }
    }
}

#[test]
fn a_small_job_would_start_earlier_under_another_order() {
    let mut world = World::new(&json!({"policy": "fifo"}), &json!({"policy": "fair"}));
    let [big, small] = big_and_small(&mut world);
    let [live, shadow] = world.times(small, "start_ms");
    assert!(shadow + 10_000 < live, "{live} {shadow}");
    let [live, shadow] = world.times(big, "end_ms");
    // Its last tasks wait for three short ones at most; nodes report at other moments.
    assert!(
        (live - 1_000..=live + 15_000).contains(&shadow),
        "{live} {shadow}"
    );
    let report = world.report();
    assert_eq!(report["ended"]["start"]["earlier"], 1, "{report:#}");
    assert_eq!(report["grants"][0], report["grants"][1], "{report:#}");
}

#[test]
fn a_small_job_would_start_later_the_other_way_round() {
    let mut world = World::new(&json!({"policy": "fair"}), &json!({"policy": "fifo"}));
    let [_, small] = big_and_small(&mut world);
    let [live, shadow] = world.times(small, "start_ms");
    // The live job had ended long before the shadow's began.
    assert!(live + 10_000 < shadow, "{live} {shadow}");
    let lengths = world.times(small, "end_ms");
    assert!(lengths[1] > lengths[0] + 10_000, "{lengths:?}");
}

#[test]
fn what_the_shadow_takes_back_is_done_again() {
    let candidate = json!({"policy": "fair", "preemption": {"enabled": true,
        "min_share_timeout_ms": 1_000, "fair_share_timeout_ms": 1_000, "grace_ms": 1_000}});
    let mut world = World::new(&json!({"policy": "fifo"}), &candidate);
    world.submit("alice", 24, 60_000);
    world.until(5_000);
    let small = world.submit("bob", 3, 4_000);
    world.until(400_000);
    let report = world.report();
    let taken = report["preemptions"][1].as_u64().unwrap();
    assert!(taken > 0, "{report:#}");
    assert_eq!(report["preemptions"][0], 0);
    let grants = [0, 1].map(|at| report["grants"][at].as_u64().unwrap());
    assert_eq!(grants[1], grants[0] + taken, "{report:#}");
    let [live, shadow] = world.times(small, "start_ms");
    assert!(shadow < live, "{live} {shadow}");
}

#[test]
fn a_shadow_may_begin_while_jobs_run() {
    let mut world = World::new(&json!({"policy": "fifo"}), &json!({"policy": "fifo"}));
    world.submit("alice", 40, 10_000);
    world.until(12_000);
    world.begin(&json!({"policy": "fair"}));
    let small = world.submit("bob", 3, 4_000);
    world.until(120_000);
    let [live, shadow] = world.times(small, "start_ms");
    assert!(shadow < live, "{live} {shadow}");
    // Its own times would be those of another policy until the change.
    assert_eq!(world.report()["ended"]["ran_before"], 1);
    for queue in world.report()["queues"].as_array().unwrap() {
        assert_eq!(queue["used_mb"], json!([0, 0]), "{queue}");
    }
}

/// The host tells of a container that grew as of a new one, in case it is.
#[test]
fn a_container_that_grows_stays_one_in_both_worlds() {
    let config = json!({"policy": "fifo"});
    let mut world = World::new(&config, &config);
    let job = world.submit("alice", 3, 20_000);
    world.until(5_000);
    let (&(_, of, key), &node) = world.running.iter().next().unwrap();
    let resource = Resource::new(2048, 1);
    let grown = ContainerFacts {
        job: of,
        node,
        key,
        priority: 1,
        am: false,
        started_ms: world.now,
        resource,
    };
    let used = |world: &World| world.report()["queues"][0]["used_mb"].clone();
    let before = used(&world);
    world.step(&[
        Event::ContainerAdded(grown),
        Event::ContainerResized { job, key, resource },
    ]);
    assert_eq!(used(&world), before);
    world.until(200_000);
    let report = world.report();
    assert_eq!(used(&world), json!([0, 0]), "{report:#}");
    assert_eq!(report["ended"]["end"]["equal"], 1, "{report:#}");
    assert_eq!(report["ended"]["ran_before"], 0, "{report:#}");
}

#[test]
fn queues_that_only_one_of_the_two_has() {
    let candidate = json!({"policy": "fair", "queues": [{"path": "root.only"}],
        "placement": [{"rule": "default", "queue": "root.only", "create": false}]});
    let mut world = World::new(&json!({"policy": "fair"}), &candidate);
    big_and_small(&mut world);
    let report = world.report();
    let paths: Vec<&str> = report["queues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|queue| queue["path"].as_str().unwrap())
        .collect();
    assert!(
        paths.contains(&"root.only") && paths.contains(&"root.alice"),
        "{paths:?}"
    );
    assert_eq!(ended(&report), 2, "{report:#}");
}

#[test]
fn a_node_that_leaves_takes_its_containers_in_both_worlds() {
    let config = json!({"policy": "fifo"});
    let mut world = World::new(&config, &config);
    world.submit("alice", 30, 20_000);
    world.until(8_000);
    let lost: Vec<_> = world
        .running
        .iter()
        .filter(|(_, node)| node.0 == 3)
        .map(|(of, _)| *of)
        .collect();
    for of in lost {
        world.ended(of, LOST);
        let events = std::mem::take(&mut world.asks);
        world.step(&events);
    }
    let mut events = std::mem::take(&mut world.asks);
    events.push(Event::NodeRemoved(NodeId(3)));
    world.free[3] = Resource::ZERO;
    world.step(&events);
    world.until(200_000);
    let report = world.report();
    assert_eq!(report["ended"]["end"]["equal"], 1, "{report:#}");
}
