//! A ResourceManager as a client sees it. It has an engine with two bidders on twelve slots, the
//! service with a SQLite store and an ACL file, and a server on a free loopback port. Checks only
//! that everything starts.

use heddle_core::words::event::{AskFacts, Decision, Event, JobFacts, NodeFacts};
use heddle_core::words::ids::{AskId, JobId, NodeId, PartitionId, PlaceId, QueueId, UserId};
use heddle_core::{Engine, Resource, Setup};
use heddle_economy::http::Answer;
use heddle_economy::record::BooksState;
use heddle_economy::{Outbox, SavedState, Service};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Slots of the cluster's one node.
const SLOTS: i64 = 12;
/// The host's name for that node.
pub(crate) const NODE: &str = "node-0.example.com:45454";
/// Long for a disk, short for a person.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long ago the server started: its engine's clock may run this far ahead of the test.
const AGO_MS: i64 = 600_000;
/// Users, and the beginnings of their secrets.
const ACL: &str = "alice user alices-secret-of-32-bytes-length\n\
                   bob user bobs-secret-of-32-bytes-of-length\n\
                   root admin roots-secret-of-32-bytes-in-length\n";

/// The engine, its clock and its node, like a host's.
struct Cluster {
    engine: Engine,
    now_ms: i64,
    running: i64,
    outbox: Option<Arc<Outbox>>,
}

impl Cluster {
    fn step(&mut self, events: &[Event]) -> Vec<Decision> {
        let mut decisions = Vec::new();
        self.engine.step(self.now_ms, events, 1024, &mut decisions);
        self.engine.check_invariants().expect("the books are right");
        self.post();
        decisions
    }

    fn post(&mut self) {
        if let Some(outbox) = &self.outbox {
            outbox.post(self.engine.take_ledger(), self.engine.setup().epoch_ms);
        }
    }

    fn request(&mut self, request: &Value) -> Result<Value, String> {
        let answer = self.engine.request(self.now_ms, request);
        self.post();
        answer.map_err(|error| error.0)
    }

    /// Lets time pass, with a tick and a heartbeat twice a second; grants start at once.
    fn until(&mut self, until_ms: i64) {
        while self.now_ms < until_ms {
            self.now_ms += 500;
            let free = Resource::new(1024, 1).times(SLOTS - self.running);
            let heartbeat = Event::Heartbeat {
                node: NodeId(0),
                free,
            };
            for decision in self.step(&[Event::Tick, heartbeat]) {
                if let Decision::Grant { job, seq, .. } = decision {
                    self.running += 1;
                    self.step(&[Event::Ack { job, seq, key: seq }]);
                }
            }
        }
    }

    /// Submits a job of maps. With an ApplicationMaster, returns the ask to send once that runs.
    fn submit(&mut self, job: u32, user: &str, maps: u32, has_master: bool) -> Option<AskFacts> {
        let placed = self.request(&json!({"op": "place", "user": user}));
        let queue = placed.expect("there is a queue")["queue"].as_u64();
        let facts = JobFacts {
            job: JobId(job),
            queue: QueueId(queue.expect("a number") as u32),
            user: UserId(0),
            priority: 0,
            mapreduce: true,
            unmanaged_am: false,
            submitted_ms: self.now_ms,
        };
        let maps = AskFacts {
            job: JobId(job),
            ask: AskId(0),
            count: maps,
            priority: 20,
            partition: PartitionId(0),
            relax: true,
            am: false,
            update: false,
            resource: Resource::new(1024, 1),
        };
        self.step(&[Event::JobAdded(facts)]);
        if !has_master {
            self.step(&[Event::Ask(maps)]);
            return None;
        }
        let master = AskFacts {
            ask: AskId(1),
            count: 1,
            priority: 0,
            am: true,
            ..maps
        };
        self.step(&[Event::Ask(master)]);
        Some(maps)
    }
}

/// What a site's jobs have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Jobs {
    /// Only tasks; the accounts have a store.
    Tasks,
    /// An ApplicationMaster as well, and no store.
    WithMasters,
}

/// The engine behind its lock.
struct Held(Mutex<Cluster>);

impl heddle_economy::Engine for Held {
    fn id(&self) -> u64 {
        1
    }

    /// Real time, like clients'; the cluster's time passes as a test demands.
    fn now_ms(&self) -> i64 {
        now_ms()
    }

    fn request(&self, request: &Value) -> Result<Value, String> {
        self.0.lock().request(request)
    }

    fn attach(&self, saved: Option<&SavedState>, outbox: &Arc<Outbox>) -> Result<bool, String> {
        let mut cluster = self.0.lock();
        cluster.engine.keep_ledger();
        if let Some(saved) = saved {
            cluster.request(&json!({"op": "restoreAccounts", "saved": saved.accounts}))?;
        }
        cluster.outbox = Some(Arc::clone(outbox));
        cluster.post();
        Ok(true)
    }
}

/// A request as it arrived, for sending it again.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// The state that the server's threads share.
struct Inside {
    engine: Held,
    service: Service,
    server: tiny_http::Server,
    config_file: PathBuf,
    heard: Mutex<Vec<Heard>>,
    /// Whether Kerberos guards all requests without a signature.
    guarded: AtomicBool,
}

pub(crate) struct Site {
    inside: Arc<Inside>,
    threads: Vec<JoinHandle<()>>,
    pub(crate) folder: TempDir,
    pub(crate) started_ms: i64,
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("after 1970").as_millis() as i64
}

/// Writes a file with a mode.
pub(crate) fn file(path: &Path, text: &str, mode: u32) -> PathBuf {
    fs::write(path, text).expect("the folder can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    path.to_path_buf()
}

impl Site {
    /// Alice bids 2, bob 1: of 12 slots she buys 12 * 2 / 3 = 8, he buys 4. An interval costs her
    /// `8 * 2` = 16 credits and him `4 * 1` = 4. Her job 1 has 20 maps, so 12 wait; his job 2 has
    /// 10, so 6 wait. They have incomes of 7.2 and 3.6 an hour: 0.04 and 0.02 in 20 s.
    pub(crate) fn market() -> Site {
        Site::with(&json!({}))
    }

    pub(crate) fn with(api: &Value) -> Site {
        let config = json!({
            "policy": "dynamic-priority",
            "heartbeat_fill": 1.0,
            "queues": [
                {"path": "root.alice", "budget": 100.0, "spending_rate": 2.0, "income": 7.2},
                {"path": "root.bob", "budget": 1000.0, "spending_rate": 1.0, "income": 3.6},
            ],
        });
        Site::under(&config, api, Jobs::Tasks)
    }

    /// The same market, whose jobs have an ApplicationMaster each: ten slots are left.
    pub(crate) fn with_masters() -> Site {
        let config = json!({
            "policy": "dynamic-priority",
            "heartbeat_fill": 1.0,
            "queues": [
                {"path": "root.alice", "budget": 100.0, "spending_rate": 2.0},
                {"path": "root.bob", "budget": 1000.0, "spending_rate": 1.0},
            ],
        });
        Site::under(&config, &json!({}), Jobs::WithMasters)
    }

    /// The same two jobs under a policy without accounts. Of ten slots alice's and bob's queues
    /// have five each, beside their ApplicationMasters.
    pub(crate) fn pools() -> Site {
        let config = json!({"policy": "fair", "heartbeat_fill": 1.0});
        Site::under(&config, &json!({}), Jobs::WithMasters)
    }

    fn under(config: &Value, api: &Value, jobs: Jobs) -> Site {
        let folder = TempDir::new().expect("a folder");
        fs::create_dir(folder.path().join("stored")).expect("it is ours");
        let acl = file(&folder.path().join("acl"), ACL, 0o600);
        for line in ACL.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let path = folder.path().join(format!("{}.secret", words[0]));
            file(&path, &format!("{}\n", words[2]), 0o600);
        }
        let started_ms = now_ms() - AGO_MS;
        let setup = json!({
            "resource_types": ["memory-mb", "vcores"],
            "minimum_allocation": {"memory-mb": 1024, "vcores": 1},
            "epoch_ms": started_ms,
            "config": config,
        });
        let mut settings = json!({
            "api": api,
            "started_ms": started_ms,
        });
        if jobs == Jobs::Tasks {
            let file = folder.path().join("stored/economy");
            settings["store"] = json!(format!("sqlite:{}", file.display()));
        }
        settings["api"]["acl_file"] = json!(acl);
        let engine = Engine::new(Setup::from_json(&setup).expect("a good setup"));
        let cluster = Cluster {
            engine: engine.expect("a good setup"),
            now_ms: 0,
            running: 0,
            outbox: None,
        };
        let inside = Arc::new(Inside {
            engine: Held(Mutex::new(cluster)),
            service: Service::new(&settings).expect("good settings"),
            server: tiny_http::Server::http("127.0.0.1:0").expect("a free port"),
            config_file: file(
                &folder.path().join("heddle.json"),
                &config.to_string(),
                0o640,
            ),
            heard: Mutex::default(),
            guarded: AtomicBool::new(false),
        });
        let serve = |_| {
            let inside = Arc::clone(&inside);
            std::thread::spawn(move || inside.serve())
        };
        let threads = (0..2).map(serve).collect();
        let site = Site {
            inside,
            threads,
            folder,
            started_ms,
        };
        site.start(jobs == Jobs::WithMasters);
        site
    }

    fn start(&self, masters: bool) {
        self.inside.service.activate("rm", self.started_ms);
        self.written();
        let mut cluster = self.inside.engine.0.lock();
        let capacity = Resource::new(1024, 1).times(SLOTS);
        cluster.step(&[Event::NodeAdded(NodeFacts {
            node: NodeId(0),
            host: PlaceId(0),
            rack: PlaceId(1),
            partition: PartitionId(0),
            lends: false,
            schedulable: true,
            capacity,
            free: capacity,
        })]);
        let later = [
            cluster.submit(1, "alice", 20, masters),
            cluster.submit(2, "bob", 10, masters),
        ];
        cluster.until(500);
        for maps in later.into_iter().flatten() {
            cluster.step(&[Event::Ask(maps)]);
        }
        cluster.until(if masters { 21_000 } else { 500 });
    }

    /// Lets only signed requests pass from now on.
    pub(crate) fn guard(&self) {
        self.inside.guarded.store(true, Ordering::SeqCst);
    }

    /// Lets the engine's clock run, and waits until the store has everything.
    pub(crate) fn until(&self, engine_ms: i64) {
        self.inside.engine.0.lock().until(engine_ms);
        self.written();
    }

    fn written(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let books = self.inside.service.pump(&self.inside.engine, now_ms());
            let behind = books.progress.as_ref().map(|it| it.intervals_behind);
            match books.state {
                BooksState::InMemory => return,
                BooksState::Connected if behind == Some(0) => return,
                _ => {}
            }
            assert!(Instant::now() < end, "the books are {books:?}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Returns the engine's own report of an account.
    pub(crate) fn account(&self, queue: &str) -> Value {
        let report = self
            .inside
            .engine
            .0
            .lock()
            .request(&json!({"op": "accounts"}));
        let report = report.expect("it has accounts");
        let queues = report["queues"].as_array().expect("a list");
        let found = queues.iter().find(|row| row["queue"] == queue);
        found.cloned().unwrap_or(Value::Null)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.inside.server.server_addr())
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.inside.heard.lock().clone()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a command as a user, with the secret from the user's file.
    pub(crate) fn run(&self, user: &str, arguments: &[&str]) -> Output {
        let mut command = heddle(arguments);
        command.env("HEDDLE_URL", self.url());
        command.env("HEDDLE_USER", user);
        command.env("HEDDLE_SECRET_FILE", self.path(&format!("{user}.secret")));
        command.output().expect("it starts")
    }

    /// Returns the standard output of a command that succeeds without a message on standard error.
    pub(crate) fn said(&self, user: &str, arguments: &[&str]) -> String {
        let output = self.run(user, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        // Ignore the message about a slow disk, which is not the command's fault.
        let stderr = String::from_utf8_lossy(&output.stderr);
        let mut told = stderr
            .lines()
            .filter(|line| !line.contains("when the store can be reached"));
        assert_eq!(told.next(), None, "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Returns the output of a command with `--json`.
    pub(crate) fn json(&self, user: &str, arguments: &[&str]) -> Value {
        let with = [arguments, &["--json"]].concat();
        serde_json::from_str(&self.said(user, &with)).expect("JSON")
    }

    /// Returns the standard error of a command that fails without standard output.
    pub(crate) fn refused(&self, code: i32, user: &str, arguments: &[&str]) -> String {
        failed(code, &self.run(user, arguments))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for _ in &self.threads {
            self.inside.server.unblock();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Inside {
    /// Reloads what a change has written, as the shim does.
    fn reloaded(&self, answer: Answer) -> Answer {
        let Some(written) = &answer.written else {
            return answer;
        };
        let text = fs::read_to_string(&self.config_file).expect("it was written");
        let config: Value = serde_json::from_str(&text).expect("it was checked");
        let reload = json!({"op": "reload", "config": config, "users": {}, "labels": {}});
        let problem = heddle_economy::Engine::request(&self.engine, &reload).err();
        heddle_economy::http::reloaded(written, problem.as_deref()).0
    }

    fn serve(&self) {
        // `unblock` ends the loop by an error.
        while let Ok(mut request) = self.server.recv() {
            let mut body = Vec::new();
            request.as_reader().read_to_end(&mut body).expect("a body");
            let header = |name: &'static str| {
                let found = request
                    .headers()
                    .iter()
                    .find(|header| header.field.equiv(name));
                found.map(|header| header.value.to_string())
            };
            let heard = Heard {
                method: request.method().to_string(),
                target: request.url().to_string(),
                authorization: header("Authorization"),
                body,
            };
            let guarded = self.guarded.load(Ordering::SeqCst);
            if guarded && heard.authorization.is_none() {
                self.heard.lock().push(heard);
                let page = tiny_http::Response::from_string("<html>401</html>");
                let asks = "WWW-Authenticate: Negotiate".parse::<tiny_http::Header>();
                let page = page.with_status_code(401);
                let _ = request.respond(page.with_header(asks.expect("a header")));
                continue;
            }
            let (path, query) = heard.target.split_once('?').unwrap_or((&heard.target, ""));
            let head = json!({
                "method": heard.method, "path": path, "query": query, "host": "rm",
                "signed_only": guarded,
                "authorization": heard.authorization, "accept": header("Accept"),
                "address": request.remote_addr().map(|address| address.ip()),
                "config_file": self.config_file,
                "jobs": [[1, "application_1800000000000_0001", "alice", "word count"]],
                "nodes": [[0, NODE, 0, "/rack", ""]],
            });
            let answer = self
                .service
                .serve(&self.engine, &head.to_string(), &heard.body, now_ms());
            let answer = answer.expect("a good head").expect("it has nodes");
            let answer = self.reloaded(answer);
            let mut response = tiny_http::Response::from_data(answer.body);
            response = response.with_status_code(answer.status);
            for (name, value) in answer.headers {
                let text = format!("{name}: {value}");
                response.add_header(text.parse::<tiny_http::Header>().expect("a header"));
            }
            self.heard.lock().push(heard.clone());
            let _ = request.respond(response);
        }
    }
}

/// Returns the built command, without its environment variables.
pub(crate) fn heddle(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command.args(arguments);
    for name in [
        "HEDDLE_URL",
        "HEDDLE_USER",
        "HEDDLE_SECRET",
        "HEDDLE_SECRET_FILE",
    ] {
        command.env_remove(name);
    }
    command
}

/// Returns the standard error of a command that failed with that code and printed nothing else.
pub(crate) fn failed(code: i32, output: &Output) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Returns a line of a table, or of pairs, as its words.
pub(crate) fn words<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.starts_with(first));
    line.unwrap_or_else(|| panic!("no `{first}` in:\n{text}"))
        .split_whitespace()
        .collect()
}
