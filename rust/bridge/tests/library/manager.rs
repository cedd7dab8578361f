//! A minimal ResourceManager for tests of the economy: an engine and a service by their handles, a
//! node and a job for the engine, and requests signed like those of clients. Checks nothing.
#![allow(unreachable_pub)]

use crate::support::client::{Answer, FrameWriter};
use heddle::host::{self, ENGINES};
use heddle::services::{self, EngineHandle};
use heddle_core::words::event::{AskFacts, Decision, Event, JobFacts, NodeFacts};
use heddle_core::words::ids::{AskId, JobId, NodeId, PartitionId, PlaceId, QueueId, UserId};
use heddle_core::words::resource::Resource;
use heddle_economy::auth::{Secret, v1};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub const SLOTS: i64 = 6;
/// The wall clock when a test's first ResourceManager starts, ms since 1970.
pub const START_MS: i64 = 1_800_000_000_000;
/// Long for a disk, short for a person.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A minimal ResourceManager for tests of the economy.
pub struct Manager {
    pub engine: u64,
    pub service: u64,
    pub writer: FrameWriter,
    pub sequence: u64,
    /// The engine's clock, and the wall clock at its start.
    pub now_ms: i64,
    pub started_ms: i64,
    pub pending: Vec<Event>,
    pub running: i64,
    pub setup: String,
}

pub fn config(folder: &Path) -> Value {
    let acl = folder.join("acl");
    if !acl.exists() {
        fs::write(&acl, "alice user alices-secret\nroot admin roots-secret\n").expect("a file");
        fs::set_permissions(&acl, fs::Permissions::from_mode(0o600)).expect("a mode");
    }
    json!({
        "policy": "dynamic-priority",
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.alice", "budget": 100.0, "spending_rate": 1.0}],
        "api": {"acl_file": acl, "acl_settle_ms": 0},
        "store": format!("sqlite:{}", folder.join("economy").display()),
    })
}

impl Manager {
    /// Starts a ResourceManager `later_ms` after the first; it is not active yet.
    pub fn new(config: &Value, later_ms: i64) -> Manager {
        let started_ms = START_MS + later_ms;
        let setup = json!({
            "resource_types": ["memory-mb", "vcores"],
            "minimum_allocation": {"memory-mb": 1024, "vcores": 1},
            "epoch_ms": started_ms,
            "config": config,
        });
        let mut settings = config.clone();
        settings["started_ms"] = json!(started_ms);
        let mut manager = Manager {
            engine: host::open(&setup.to_string()).expect("a good setup"),
            service: services::open(&settings.to_string()).expect("good settings"),
            writer: FrameWriter::default(),
            sequence: 0,
            now_ms: 0,
            started_ms,
            pending: Vec::new(),
            running: 0,
            setup: setup.to_string(),
        };
        manager.tell_engine();
        manager
    }

    /// Starts an active ResourceManager and waits for its books.
    pub fn active(config: &Value, later_ms: i64) -> Manager {
        let mut manager = Manager::new(config, later_ms);
        manager.activate();
        manager.until_books_are("connected");
        manager
    }

    /// Adds a node with all slots, and a job of alice for all of them; reports running containers
    /// again.
    pub fn tell_engine(&mut self) {
        let place = json!({"op": "place", "user": "alice", "queue": null});
        let reply = ENGINES.with(self.engine, |host| {
            host.request(self.now_ms, &place.to_string())
        });
        let reply = reply.expect("it is there").expect("alice has a queue");
        let queue: Value = serde_json::from_str(&reply).expect("JSON");
        let queue = QueueId(queue["queue"].as_u64().expect("a number") as u32);
        let mut resource = Resource::ZERO;
        (resource.0[0], resource.0[1]) = (1024, 1);
        let node = NodeFacts {
            node: NodeId(0),
            host: PlaceId(0),
            rack: PlaceId(1),
            partition: PartitionId(0),
            lends: false,
            schedulable: true,
            capacity: resource.times(SLOTS),
            free: resource.times(SLOTS),
        };
        let job = JobFacts {
            job: JobId(1),
            user: UserId(0),
            queue,
            priority: 0,
            submitted_ms: 0,
            mapreduce: true,
            unmanaged_am: false,
        };
        let ask = AskFacts {
            job: JobId(1),
            ask: AskId(0),
            count: 100,
            priority: 20,
            partition: PartitionId(0),
            relax: true,
            am: false,
            update: false,
            resource,
        };
        self.running = 0;
        self.pending = vec![
            Event::NodeAdded(node),
            Event::JobAdded(job),
            Event::Ask(ask),
        ];
    }

    pub fn at(&self) -> EngineHandle {
        EngineHandle {
            handle: self.engine,
            now_ms: self.now_ms,
        }
    }

    pub fn wall_ms(&self) -> i64 {
        self.started_ms + self.now_ms
    }

    /// Lets time pass, tick by tick, with a heartbeat after each; grants start at once.
    pub fn run(&mut self, until_ms: i64) {
        while self.now_ms < until_ms {
            self.now_ms += 500;
            let mut free = Resource::ZERO;
            (free.0[0], free.0[1]) = (1024, 1);
            let mut events = std::mem::take(&mut self.pending);
            events.push(Event::Tick);
            events.push(Event::Heartbeat {
                node: NodeId(0),
                free: free.times(SLOTS - self.running),
            });
            for decision in self.step(&events).decisions {
                if let Decision::Grant { job, seq, .. } = decision {
                    self.running += 1;
                    self.pending.push(Event::Ack { job, seq, key: seq });
                }
            }
        }
    }

    pub fn step(&mut self, events: &[Event]) -> Answer {
        self.sequence += 1;
        let frame = self.writer.frame(self.now_ms, self.sequence, 64, events);
        let mut out = vec![0; heddle::frame::output_bytes_max(64)];
        let length = ENGINES
            .with(self.engine, |host| host.step(frame, &mut out))
            .expect("it is there")
            .expect("it works");
        Answer::read(&out[..length]).expect("a good frame")
    }

    pub fn pump(&mut self) -> Value {
        let state = services::pump(self.service, self.at(), self.wall_ms()).expect("it is there");
        serde_json::from_str(&state).expect("JSON")
    }

    pub fn activate(&mut self) {
        services::activate(self.service, "rm", self.wall_ms()).expect("it is there");
    }

    /// Pumps until the books are in that state and up to date with the engine.
    pub fn until_books_are(&mut self, state: &str) -> Value {
        self.until(|books| books["state"] == state && books["intervals_behind"] == 0)
    }

    /// Pumps until the books are in that state, up to date or not.
    pub fn reach(&mut self, state: &str) -> Value {
        self.until(|books| books["state"] == state)
    }

    pub fn until(&mut self, good: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let books = self.pump();
            if good(&books) {
                return books;
            }
            assert!(Instant::now() < end, "the books are {books}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Sends a request of the published interface, signed by alice. Returns its status and text.
    pub fn published(&self, query: &str, at_ms: i64) -> (u64, String) {
        let (head, body) = self.answered(&self.signed(query, at_ms));
        (head["status"].as_u64().expect("a status"), body)
    }

    /// Builds a signed request of the published interface in the host's form.
    pub fn signed(&self, query: &str, at_ms: i64) -> Value {
        let text = v1::signed_text(query, "alice", &at_ms.to_string());
        let signature = v1::signature(&Secret::new(b"alices-secret"), &text);
        json!({"method": "GET", "path": "/scheduler", "query": text, "host": "h",
            "authorization": v1::header(&signature), "address": "127.0.0.1"})
    }

    /// Returns head and body of an answer.
    pub fn answered(&self, head: &Value) -> (Value, String) {
        let answer = services::serve(
            self.service,
            self.at(),
            &head.to_string(),
            &[],
            self.wall_ms(),
        );
        let answer = String::from_utf8(answer.expect("a good head")).expect("text");
        let (head, body) = answer.split_once('\n').expect("a head");
        let head: Value = serde_json::from_str(head).expect("JSON");
        (head, body.to_string())
    }

    /// Returns the interface's answer to an administrator whom the web server has authenticated.
    pub fn shown(&self, path: &str) -> Value {
        let head = json!({"method": "GET", "path": format!("/heddle/v1/{path}"), "host": "h",
            "user": "root"});
        let (head, text) = self.answered(&head);
        assert_eq!(head["status"], 200, "{path}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Pumps until this many intervals are remembered. Returns their times since the first start.
    pub fn remembers(&mut self, intervals: usize) -> Vec<i64> {
        let end = Instant::now() + PATIENCE;
        loop {
            self.pump();
            let history = self.shown("price/history");
            let times = history["intervals"].as_array().expect("a list").iter();
            let times = times.filter_map(|interval| interval["at_ms"].as_i64());
            let times: Vec<i64> = times.map(|at_ms| at_ms - START_MS).collect();
            if times.len() == intervals {
                return times;
            }
            assert!(Instant::now() < end, "{intervals} intervals: {times:?}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Returns the shuffle ratios that the engine has learnt, by program.
    pub fn ratios(&self) -> Value {
        let stages = json!({"op": "stages"}).to_string();
        let reply = ENGINES.with(self.engine, |host| host.request(self.now_ms, &stages));
        let reply = reply.expect("it is there").expect("it works");
        let stages: Value = serde_json::from_str(&reply).expect("JSON");
        stages["place"]["ratios"].clone()
    }

    /// Returns alice's budget in millionths of a credit.
    pub fn budget(&self) -> i64 {
        let accounts = json!({"op": "accounts"}).to_string();
        let reply = ENGINES.with(self.engine, |host| host.request(self.now_ms, &accounts));
        let report: Value =
            serde_json::from_str(&reply.expect("there").expect("served")).expect("JSON");
        let queues = report["queues"].as_array().expect("a list");
        let alice = queues.iter().find(|queue| queue["queue"] == "root.alice");
        let budget = &alice.expect("alice has an account")["budget_micro"];
        budget.as_i64().expect("a number")
    }

    pub fn end(self) -> Value {
        let state = services::close(self.service, self.wall_ms()).expect("it is there");
        host::close(self.engine).expect("it is there");
        serde_json::from_str(&state).expect("JSON")
    }
}
