//! A small cluster with a market behind the API, users with secrets, and signed requests. Contains
//! no checks.
#![allow(unreachable_pub)]

use heddle_core::words::credits::Credits;
use heddle_core::words::event::{AskFacts, Event, JobFacts, NodeFacts};
use heddle_core::words::ids::*;
use heddle_core::{Decision, Resource, Setup};
use heddle_economy::auth::canonical::{Body, Signed, Validity};
use heddle_economy::auth::{Secret, v1, v2};
use heddle_economy::http::{Answer, Api, Backend, Request};
use heddle_economy::record::{Interval, Row};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use tempfile::TempDir;

/// The start of the service, and the default time of its clock.
pub const START: u64 = 1_700_000_000_000;
pub const NOW: u64 = START + 100_000;

pub const USERS: &str = "alice user alice's_16_bytes\nbob user bobby's_16_bytes\n\
                         root admin root's_16_bytes!\nmodern user modern's_16_byte v1=off\n";

pub fn secret(user: &str) -> Secret {
    let line = USERS
        .lines()
        .find(|line| line.split(' ').next() == Some(user));
    let word = line.and_then(|line| line.split(' ').nth(2));
    Secret::new(word.unwrap_or("nobody's secret.").as_bytes())
}

/// A host's state: the engine, its clock and the free room of its nodes.
pub struct Cluster {
    engine: heddle_core::Engine,
    now: Millis,
    free: Vec<Resource>,
    key: u64,
}

impl Cluster {
    /// Creates nodes of three slots of 1 GB each.
    pub fn new(config: &Value, nodes: u32) -> Cluster {
        let setup = Setup::with_config(config).expect("a good configuration");
        let mut cluster = Cluster {
            engine: heddle_core::Engine::new(setup).expect("a good setup"),
            now: 0,
            free: Vec::new(),
            key: 1,
        };
        for node in 0..nodes {
            let capacity = Resource::new(3 * 1024, 3);
            cluster.free.push(capacity);
            cluster.step(&[Event::NodeAdded(NodeFacts {
                node: NodeId(node),
                host: PlaceId(1 + node),
                rack: PlaceId(1_000),
                partition: PartitionId(0),
                lends: false,
                schedulable: true,
                capacity,
                free: capacity,
            })]);
        }
        cluster
    }

    fn step(&mut self, events: &[Event]) -> Vec<Decision> {
        let mut decisions = Vec::new();
        self.engine.step(self.now, events, 1024, &mut decisions);
        self.engine.check_invariants().expect("the books are right");
        decisions
    }

    pub fn request(&mut self, request: &Value) -> Result<Value, String> {
        self.engine
            .request(self.now, request)
            .map_err(|error| error.0)
    }

    /// Submits a job of a user, with this number of maps of one slot each.
    pub fn submit(&mut self, job: u32, user: &str, maps: u32) {
        let placed = self.request(&json!({"op": "place", "user": user}));
        let queue = placed.expect("there is a queue")["queue"]
            .as_u64()
            .expect("an id");
        let facts = JobFacts {
            job: JobId(job),
            queue: QueueId(queue as u32),
            user: UserId(0),
            priority: 0,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms: self.now,
        };
        self.step(&[
            Event::JobAdded(facts),
            Event::Ask(AskFacts {
                job: JobId(job),
                ask: AskId(0),
                count: maps,
                priority: 20,
                partition: PartitionId(0),
                relax: true,
                am: false,
                update: false,
                resource: Resource::new(1024, 1),
            }),
        ]);
    }

    /// Advances the time to that moment, with ticks twice a second.
    pub fn until(&mut self, now: Millis) {
        while self.now < now {
            self.now = (self.now + 500).min(now);
            self.step(&[Event::Tick]);
        }
    }

    pub fn tick(&mut self) {
        self.step(&[Event::Tick]);
    }

    /// Lets every node report once; commits its grants.
    pub fn beat(&mut self) {
        for node in 0..self.free.len() {
            let heartbeat = Event::Heartbeat {
                node: NodeId(node as u32),
                free: self.free[node],
            };
            for decision in self.step(&[heartbeat]) {
                if let Decision::Grant { job, seq, .. } = decision {
                    let key = self.key;
                    self.key += 1;
                    self.free[node] -= Resource::new(1024, 1);
                    self.step(&[Event::Ack { job, seq, key }]);
                }
            }
        }
    }
}

/// What the bridge says of a shadow that has just begun.
fn shadow_of(engine: &heddle_core::Engine) -> Value {
    let shadow = heddle_shadow::Shadow::new(engine.setup().clone(), &engine.books(), 5_000);
    json!({
        "state": "on",
        "name": "next.json",
        "why": null,
        "waiting_bytes": 0,
        "report": shadow.expect("the engine's own configuration").report(),
    })
}

/// A cluster behind its host's lock.
pub struct Locked(pub Mutex<Cluster>);

impl Backend for Locked {
    fn request(&self, request: &Value) -> Result<Value, String> {
        if request["op"] == "shadow" || request["op"] == "shadowReport" {
            // The bridge has it.
            let cluster = self.0.lock().expect("no test panics in it");
            return Ok(shadow_of(&cluster.engine));
        }
        self.0
            .lock()
            .expect("no test panics in it")
            .request(request)
    }
}

/// A ResourceManager: the interface, the engine, the ACL file.
pub struct Site {
    pub api: Api,
    pub engine: Locked,
    pub folder: TempDir,
    /// The host's heddle.json.
    pub config_file: &'static str,
    /// The sender's address; different for every site, so that the audit lines can be told apart.
    pub address: IpAddr,
}

static SITES: AtomicU64 = AtomicU64::new(1);
static NONCES: AtomicU64 = AtomicU64::new(1);

impl Site {
    pub fn with(config: &Value, api: &Value) -> Site {
        hear_the_audit();
        let folder = TempDir::new().expect("a folder");
        let acl = folder.path().join("acl");
        write_acl(&acl, USERS);
        let mut api = api.clone();
        api["acl_file"] = acl.display().to_string().into();
        let config_file = folder.path().join("heddle.json");
        fs::write(&config_file, config.to_string()).expect("our folder");
        let number = SITES.fetch_add(1, Ordering::Relaxed) as u32;
        Site {
            api: Api::new(&api, START).expect("good settings"),
            engine: Locked(Mutex::new(Cluster::new(config, 4))),
            folder,
            // Requests that say otherwise borrow nothing of the site.
            config_file: config_file.display().to_string().leak(),
            address: IpAddr::from((0x0a00_0000 + number).to_be_bytes()),
        }
    }

    /// Creates a site where alice bids 2 and bob 1 for 12 slots. She pays for 12 * 2 / 3 = 8, he
    /// for 4. Her job 1 has 20 maps, so that 12 wait; his job 2 has 10, so that 6 wait. The price
    /// is 3.
    pub fn market() -> Site {
        let site = Site::with(&market_config(), &json!({}));
        let mut cluster = site.cluster();
        cluster.submit(1, "alice", 20);
        cluster.submit(2, "bob", 10);
        cluster.tick();
        cluster.beat();
        drop(cluster);
        site
    }

    pub fn cluster(&self) -> std::sync::MutexGuard<'_, Cluster> {
        self.engine.0.lock().expect("no test panics in it")
    }

    pub fn acl(&self) -> PathBuf {
        self.folder.path().join("acl")
    }

    /// Asks the engine for the millionths in an account.
    pub fn budget_micro(&self, queue: &str) -> Option<i64> {
        self.account(queue)["budget_micro"].as_i64()
    }

    /// Asks the engine for the rate of an account.
    pub fn rate(&self, queue: &str) -> Option<f64> {
        self.account(queue)["spending_rate"].as_f64()
    }

    fn account(&self, queue: &str) -> Value {
        let accounts = self
            .cluster()
            .request(&json!({"op": "accounts"}))
            .expect("a market");
        let rows = accounts["queues"].as_array().expect("a list");
        rows.iter()
            .find(|row| row["queue"] == queue)
            .cloned()
            .unwrap_or(Value::Null)
    }

    pub fn plain(&self) -> Request<'static> {
        Request {
            method: "GET",
            path: "/",
            query: "",
            authorization: None,
            address: Some(self.address),
            user: None,
            signed_only: false,
            accept: None,
            host: "rm1.example.com",
            body: b"",
            jobs: &[],
            warnings: &[],
            managers: &[],
            viewed: const { &BTreeSet::new() },
            config_file: Some(self.config_file),
            below: &Value::Null,
            nodes: &[],
            now_ms: NOW,
            steady_ms: NOW,
        }
    }

    pub fn send(&self, request: &Request<'_>) -> Answer {
        self.api.answer(&self.engine, request)
    }

    /// Sends an unsigned request; the target may have a query.
    pub fn get(&self, target: &str) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        self.send(&Request {
            path,
            query,
            ..self.plain()
        })
    }

    /// Sends a command of the published interface, signed like its clients.
    pub fn command(&self, method: &str, query: &str, user: &str, at_ms: u64) -> Answer {
        let text = v1::signed_text(query, user, &at_ms.to_string());
        let header = v1::header(&v1::signature(&secret(user), &text));
        self.send(&Request {
            method,
            path: "/scheduler",
            query: &text,
            authorization: Some(&header),
            ..self.plain()
        })
    }

    /// Sends a request signed in version 2; the target may have a query.
    pub fn signed(&self, user: &str, method: &str, target: &str, body: &str) -> Answer {
        self.signed_with(user, method, target, body.as_bytes(), None)
    }

    pub fn signed_with(
        &self,
        user: &str,
        method: &str,
        target: &str,
        body: &[u8],
        accept: Option<&str>,
    ) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let header = v2_header(user, method, path, query, body);
        self.send(&Request {
            method,
            path,
            query,
            authorization: Some(&header),
            body,
            accept,
            ..self.plain()
        })
    }
}

pub fn market_config() -> Value {
    json!({
        "policy": "dynamic-priority",
        "heartbeat_fill": 1.0,
        "queues": [
            {"path": "root.alice", "budget": 100, "spending_rate": 2},
            {"path": "root.bob", "budget": 1000, "spending_rate": 1},
        ],
    })
}

/// Returns a header of version 2 with a new nonce, valid for a minute.
pub fn v2_header(user: &str, method: &str, path: &str, query: &str, body: &[u8]) -> String {
    let signed = Signed {
        method,
        path,
        query,
        body: Body::of(body),
    };
    let validity = Validity {
        timestamp_ms: NOW,
        expires_ms: NOW + 60_000,
        nonce: format!("nonce{:016}", NONCES.fetch_add(1, Ordering::Relaxed)),
    };
    v2::header(&secret(user), user, &signed, &validity)
}

/// Writes the file with the required mode.
pub fn write_acl(path: &Path, users: &str) {
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .expect("a new file");
    file.write_all(users.as_bytes()).expect("written");
}

/// Returns an interval that is in no store, with a price in millionths.
pub fn interval(at_ms: u64, price_micro: i64, rows: Vec<Row>) -> Interval {
    Interval {
        tick: 0,
        ticks: 1,
        at_ms: at_ms as i64,
        price: Credits::from_micro(price_micro).into(),
        changes: Vec::new(),
        rows,
    }
}

/// Returns a row of a queue that paid a millionth for a slot.
pub fn row(queue: &str, balance_micro: i64) -> Row {
    Row {
        queue: queue.to_string(),
        rate: Credits::from_micro(1),
        quota: [1, 0],
        used_slot_ms: [1, 0],
        income: Credits::ZERO,
        debit: Credits::from_micro(1),
        balance: Credits::from_micro(balance_micro),
        ..Row::default()
    }
}

pub fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).expect("UTF-8")
}

pub fn json_of(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("no JSON: {}", text(answer)))
}

pub fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let found = answer.headers.iter().find(|(given, _)| *given == name);
    found.map(|(_, value)| value.as_str())
}

/// Returns the paths of the queues in a list.
pub fn paths(list: &Value) -> Vec<&str> {
    let rows = list.as_array().expect("a list");
    rows.iter()
        .map(|row| row["queue"].as_str().expect("a path"))
        .collect()
}

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static HEARD: Once = Once::new();

struct Audit;

impl log::Log for Audit {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "heddle.audit"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            LINES
                .lock()
                .expect("a list")
                .push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

fn hear_the_audit() {
    HEARD.call_once(|| {
        log::set_logger(&Audit).expect("the only logger");
        log::set_max_level(log::LevelFilter::Trace);
    });
}

/// Returns the audit lines about requests to a site.
pub fn audit_of(site: &Site) -> Vec<Value> {
    let lines = LINES.lock().expect("a list");
    let lines = lines
        .iter()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let here = |line: &Value| line["address"] == site.address.to_string().as_str();
    lines.filter(here).collect()
}
