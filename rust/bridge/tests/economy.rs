//! Accounts that outlive engines and ResourceManagers: real engines by handle, a real store, and
//! requests as clients sign them. What is expected follows by hand from bids and intervals.

use heddle::client::{Answer, FrameWriter};
use heddle::constant::FAULT_PANIC;
use heddle::host::{self, ENGINES};
use heddle::services::{self, EngineHandle};
use heddle_auth::{Secret, v1};
use heddle_core::event::{AskFacts, Decision, Event, JobFacts, NodeFacts};
use heddle_core::resource::Resource;
use heddle_core::types::{AskId, JobId, NodeId, PartitionId, PlaceId, QueueId, UserId};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SLOTS: i64 = 6;
/// The wall clock when a test's first ResourceManager starts, ms since 1970.
const START_MS: i64 = 1_800_000_000_000;
/// Long for a disk, short for a person.
const PATIENCE: Duration = Duration::from_secs(20);

/// A ResourceManager, as far as an economy needs one.
struct Manager {
    engine: u64,
    service: u64,
    writer: FrameWriter,
    sequence: u64,
    /// The engine's clock, and what it was at the start on the wall.
    now_ms: i64,
    started_ms: i64,
    pending: Vec<Event>,
    running: i64,
    setup: String,
}

fn config(folder: &Path) -> Value {
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
    /// Starts one `later_ms` after the first; it is not active yet.
    fn new(config: &Value, later_ms: i64) -> Manager {
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

    /// Starts one that is active and has its books.
    fn active(config: &Value, later_ms: i64) -> Manager {
        let mut manager = Manager::new(config, later_ms);
        manager.activate();
        manager.until_books_are("connected");
        manager
    }

    /// A node with all slots, and a job of alice for all of them; what runs is told again.
    fn tell_engine(&mut self) {
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

    fn at(&self) -> EngineHandle {
        EngineHandle {
            handle: self.engine,
            now_ms: self.now_ms,
        }
    }

    fn wall_ms(&self) -> i64 {
        self.started_ms + self.now_ms
    }

    /// Time passes, tick by tick, with a heartbeat after each; grants start at once.
    fn run(&mut self, until_ms: i64) {
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

    fn step(&mut self, events: &[Event]) -> Answer {
        self.sequence += 1;
        let frame = self.writer.frame(self.now_ms, self.sequence, 64, events);
        let mut out = vec![0; heddle::frame::output_bytes_max(64)];
        let length = ENGINES
            .with(self.engine, |host| host.step(frame, &mut out))
            .expect("it is there")
            .expect("it works");
        Answer::read(&out[..length]).expect("a good frame")
    }

    fn pump(&mut self) -> Value {
        let state = services::pump(self.service, self.at(), self.wall_ms()).expect("it is there");
        serde_json::from_str(&state).expect("JSON")
    }

    fn activate(&mut self) {
        services::activate(self.service, "rm", self.wall_ms()).expect("it is there");
    }

    /// Pumps until the books are in that state, and as far as the engine is.
    fn until_books_are(&mut self, state: &str) -> Value {
        self.until(|books| books["state"] == state && books["intervals_behind"] == 0)
    }

    /// Pumps until the books are in that state, however far.
    fn reach(&mut self, state: &str) -> Value {
        self.until(|books| books["state"] == state)
    }

    fn until(&mut self, good: impl Fn(&Value) -> bool) -> Value {
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

    /// A request of the published interface, signed by alice; its status and its text.
    fn published(&self, query: &str, at_ms: i64) -> (u64, String) {
        let text = v1::signed_text(query, "alice", &at_ms.to_string());
        let signature = v1::signature(&Secret::new(b"alices-secret"), &text);
        let head = json!({"method": "GET", "path": "/scheduler", "query": text, "host": "h",
            "authorization": v1::header(&signature), "address": "127.0.0.1"});
        self.serve(&head)
    }

    fn serve(&self, head: &Value) -> (u64, String) {
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
        (head["status"].as_u64().expect("a status"), body.to_string())
    }

    /// What the interface shows an administrator whom the web server knows.
    fn shown(&self, path: &str) -> Value {
        let head = json!({"method": "GET", "path": format!("/heddle/v1/{path}"), "host": "h",
            "user": "root"});
        let (status, text) = self.serve(&head);
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Pumps until so many intervals are remembered: when they were, since the first start.
    fn remembers(&mut self, intervals: usize) -> Vec<i64> {
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

    /// What alice has, in millionths of a credit.
    fn budget(&self) -> i64 {
        let accounts = json!({"op": "accounts"}).to_string();
        let reply = ENGINES.with(self.engine, |host| host.request(self.now_ms, &accounts));
        let report: Value =
            serde_json::from_str(&reply.expect("there").expect("served")).expect("JSON");
        let queues = report["queues"].as_array().expect("a list");
        let alice = queues.iter().find(|queue| queue["queue"] == "root.alice");
        let budget = &alice.expect("alice has an account")["budget_micro"];
        budget.as_i64().expect("a number")
    }

    fn end(self) -> Value {
        let state = services::close(self.service, self.wall_ms()).expect("it is there");
        host::close(self.engine).expect("it is there");
        serde_json::from_str(&state).expect("JSON")
    }
}

#[test]
fn accounts_and_accepted_requests_outlive_a_resource_manager() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let mut first = Manager::active(&config, 0);
    first.run(500);
    let bid_ms = first.wall_ms() + 1;
    let (status, text) = first.published("setSpending=0.5&queue=alice", bid_ms);
    assert_eq!(status, 200, "{text}");
    // Six slots at 1 credit were granted at the first tick, then at 0.5.
    first.run(20_500);
    assert_eq!(first.budget(), 94_000_000);
    first.run(60_500);
    assert_eq!(first.budget(), 88_000_000);
    let books = first.until_books_are("connected");
    assert_eq!(books["interval"], 4, "{books}");
    assert_eq!(first.end()["intervals_behind"], 0);

    // Another one, with an engine that knows the configuration only.
    let mut second = Manager::new(&config, 100_000);
    second.run(1_000);
    assert_eq!(second.budget(), 100_000_000, "not active, nothing read");
    second.activate();
    second.until_books_are("connected");
    assert_eq!(second.budget(), 88_000_000);
    let (status, text) = second.published("setSpending=0.5&queue=alice", bid_ms);
    assert_eq!(status, 401, "a request of the first one, again: {text}");
    // The bid is the stored one: six slots at 0.5, in an interval that begins at the next tick.
    second.run(21_500);
    assert_eq!(second.budget(), 85_000_000);
    second.until_books_are("connected");
    second.end();

    let place = format!("sqlite:{}", folder.path().join("economy").display());
    let mut store = heddle_store::open(&place, None).expect("a good place");
    let book = store.load().expect("it can be read");
    book.check().expect("grants - debits = budgets");
    assert_eq!(book.accounts["root.alice"].budget.micro(), 85_000_000);
    let debits: i64 = store
        .ledger(&heddle_store::LedgerQuery::default())
        .expect("it can be read")
        .iter()
        .map(|row| row.row.debit.micro())
        .sum();
    assert_eq!(debits, 15_000_000, "each interval once");
}

/// Whoever asks after a restart what things cost before it is answered from the store.
#[test]
fn prices_and_charges_outlive_a_resource_manager() {
    for kind in ["sqlite", "file"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = config(folder.path());
        config["store"] = json!(format!("{kind}:{}", folder.path().join("past").display()));
        config["api"]["trust_web_user"] = json!(true);
        let mut first = Manager::active(&config, 0);
        // An interval ends with the first tick, then one every 20 s.
        first.run(40_500);
        first.until_books_are("connected");
        assert_eq!(first.remembers(3), [500, 20_500, 40_500], "{kind}");
        let (ledger, prices) = (first.shown("ledger"), first.shown("price/history"));
        assert_eq!(ledger["complete"], true);
        let charged = ledger["rows"].as_array().expect("a list").iter();
        let charged: Vec<_> = charged
            .filter_map(|row| row["debit_micro"].as_i64())
            .collect();
        assert_eq!(
            charged.iter().sum::<i64>(),
            12_000_000,
            "six slots at 1, twice"
        );
        first.end();

        let mut second = Manager::active(&config, 100_000);
        second.remembers(3);
        assert_eq!(second.shown("ledger"), ledger, "{kind}");
        assert_eq!(second.shown("price/history"), prices, "{kind}");
        second.run(20_500);
        second.until_books_are("connected");
        let times = [500, 20_500, 40_500, 100_500, 120_500];
        assert_eq!(second.remembers(5), times, "{kind}: none twice");
        let prices = second.shown("price/history");
        assert_eq!(prices["complete"], true);

        // The second is not ended: it is stuck while a third takes over, and remembers less.
        config["api"]["history_intervals"] = json!(2);
        let mut third = Manager::active(&config, 200_000);
        assert_eq!(third.remembers(2), times[3..], "{kind}");
        let last = third.shown("price/history");
        assert_eq!(last["complete"], false, "{kind}: there were three before");
        assert_eq!(last["intervals"][0], prices["intervals"][3]);
        third.run(500);
        third.until_books_are("connected");
        assert_eq!(third.remembers(2), [120_500, 200_500]);
        third.end();
        second.end();
    }
}

#[test]
fn an_engine_that_is_made_anew_has_its_accounts() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    config["testing"] = json!({"faults": true});
    let mut manager = Manager::active(&config, 0);
    manager.run(20_500);
    assert_eq!(manager.budget(), 94_000_000);
    let fault = Event::Fault(FAULT_PANIC);
    let frame = manager.writer.frame(20_500, 999, 64, &[fault]).to_vec();
    let mut out = vec![0; heddle::frame::output_bytes_max(64)];
    let lost = ENGINES.with(manager.engine, |host| host.step(&frame, &mut out));
    lost.expect("it is there").expect_err("it panics");
    host::close(manager.engine).expect("it is there");
    let (status, _) = manager.published("infos", manager.wall_ms() + 1);
    assert!(status >= 400, "no engine answers");
    manager.engine = host::open(&manager.setup.clone()).expect("a good setup");
    manager.tell_engine();
    assert_eq!(
        manager.budget(),
        100_000_000,
        "a new one knows the configuration"
    );
    manager.pump();
    assert_eq!(manager.budget(), 94_000_000);
    manager.end();
}

#[test]
fn without_its_store_the_cluster_goes_on_and_changes_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    let place = folder.path().join("not-there-yet");
    config["store"] = json!({"place": format!("sqlite:{}", place.join("economy").display())});
    let mut manager = Manager::new(&config, 0);
    manager.activate();
    manager.run(20_500);
    manager.until_books_are("unreachable");
    assert_eq!(manager.budget(), 94_000_000, "slots are given and charged");
    let (status, text) = manager.published("setSpending=0.5&queue=alice", START_MS + 30_000);
    assert_eq!(status, 503, "{text}");
    assert!(text.contains("store"), "{text}");
    // It comes: from then on everything is kept.
    fs::create_dir(&place).expect("a folder");
    manager.until_books_are("connected");
    let (status, text) = manager.published("setSpending=0.5&queue=alice", START_MS + 30_001);
    assert_eq!(status, 200, "{text}");
    manager.end();
}

#[test]
fn a_former_active_one_is_fenced_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let mut former = Manager::active(&config, 0);
    let active = Manager::active(&config, 50_000);
    former.run(500);
    former.until_books_are("fenced");
    let (status, text) = former.published("setSpending=2&queue=alice", START_MS + 70_000);
    assert_eq!(status, 503, "{text}");
    let (status, text) = active.published("setSpending=2&queue=alice", START_MS + 70_001);
    assert_eq!(status, 200, "{text}");
    former.end();
    active.end();
}

/// A former active one that was not told takes no money for a change that it cannot keep.
#[test]
fn a_former_active_one_that_does_not_know_yet_keeps_no_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let former = Manager::active(&config, 0);
    let active = Manager::active(&config, 50_000);
    let (status, text) = former.published("setSpending=2&queue=alice", START_MS + 70_000);
    assert_eq!(status, 503, "{text}");
    former.end();
    active.end();
}

#[test]
fn thousands_of_accounts_are_not_too_many() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    let queues = config["queues"].as_array_mut().expect("a list");
    for i in 0..5_000 {
        queues.push(json!({"path": format!("root.user{i}"), "budget": 1.0, "income": 1.0}));
    }
    let mut first = Manager::active(&config, 0);
    let (status, text) = first.published("setSpending=0.5&queue=alice", START_MS + 1);
    assert_eq!(status, 200, "{text}");
    first.run(20_500);
    let books = first.until_books_are("connected");
    assert_eq!(books["lost_intervals"], 0, "{books}");
    assert_eq!(books["interval"], 2, "{books}");
    first.end();
    // They are in the books now; another engine lists them again.
    let mut second = Manager::new(&config, 100_000);
    second.activate();
    second.until_books_are("connected");
    second.run(500);
    let books = second.until_books_are("connected");
    assert_eq!(books["lost_intervals"], 0, "{books}");
    second.end();
}

#[test]
fn a_queue_that_no_book_can_name_costs_the_others_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let mut manager = Manager::active(&config, 0);
    for queue in [
        "root.a\tb".to_string(),
        format!("root.{}", "x".repeat(2_000)),
    ] {
        let place = json!({"op": "place", "user": "bob", "queue": queue}).to_string();
        let reply = ENGINES.with(manager.engine, |host| host.request(0, &place));
        reply.expect("it is there").expect("made on demand");
    }
    manager.run(20_500);
    assert_eq!(manager.budget(), 94_000_000);
    let books = manager.until_books_are("connected");
    assert_eq!(
        (&books["lost_intervals"], &books["interval"]),
        (&json!(0), &json!(2))
    );
    manager.end();
}

#[test]
fn signed_questions_do_not_take_the_room_of_charges_while_the_store_is_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path());
    let place = folder.path().join("comes-and-goes");
    fs::create_dir(&place).expect("a folder");
    config["store"] = json!(format!("sqlite:{}", place.join("economy").display()));
    let mut manager = Manager::active(&config, 0);
    manager.run(500);
    manager.until_books_are("connected");
    // The folder is not there, so that no transaction can begin.
    let away = folder.path().join("away");
    fs::rename(&place, &away).expect("a folder moves");
    for i in 0..2_000 {
        let (status, text) = manager.published("info=alice", manager.wall_ms() + i);
        assert_eq!(status, 200, "{text}");
        if i % 100 == 0 {
            manager.pump();
        }
    }
    manager.run(40_500);
    manager.reach("unreachable");
    assert_eq!(manager.budget(), 88_000_000, "charged twice 6");
    fs::rename(&away, &place).expect("a folder moves");
    let books = manager.until_books_are("connected");
    assert_eq!(
        (&books["lost_intervals"], &books["interval"]),
        (&json!(0), &json!(3))
    );
    assert_eq!(manager.budget(), 88_000_000);
    manager.end();
}

#[test]
fn auditors_read_who_did_what_and_the_books_say_who_granted() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let mut manager = Manager::active(&config, 0);
    let text = v1::signed_text(
        "addBudget=5&queue=alice",
        "root",
        &(START_MS + 1).to_string(),
    );
    let signature = v1::signature(&Secret::new(b"roots-secret"), &text);
    let head = json!({"method": "GET", "path": "/scheduler", "query": text, "host": "h",
        "authorization": v1::header(&signature), "address": "[::1]"});
    assert_eq!(manager.serve(&head).0, 200);
    let log = manager.pump()["log"].to_string();
    assert!(
        log.contains("heddle.audit {") && log.contains("addBudget 5"),
        "{log}"
    );
    assert!(log.contains("::1"), "{log}");
    assert_eq!(manager.pump()["log"], json!([]), "once");
    manager.end();
    let place = format!("sqlite:{}", folder.path().join("economy").display());
    let mut store = heddle_store::open(&place, None).expect("a good place");
    let grants = store.grants(0, 10).expect("it can be read");
    let by: Vec<&str> = grants.iter().map(|grant| grant.by.as_str()).collect();
    assert_eq!(by, ["configuration", "root"]);
}
