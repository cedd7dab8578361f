//! Reads the ledger page by page across the seam between memory and store, and compares it with a
//! plain list of charges. No row may be missing or come twice while intervals are added, services
//! restart and clocks are set back.

// Helpers of tests are tests as well, which clippy cannot know.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

use heddle_core::words::credits::Credits;
use heddle_core::words::ledger::{ChargeRow, Entry, LedgerBatch};
use heddle_economy::http::Answer;
use heddle_economy::record::BooksState;
use heddle_economy::{Engine, Outbox, SavedState, Service};
use oorandom::Rand64;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

const QUEUES: [&str; 3] = ["root.alice", "root.bob", "root.carol"];
const PATIENCE: Duration = Duration::from_secs(60);

/// An engine that only posts the entries that a test gives it.
struct Teller {
    id: u64,
    outbox: Mutex<Option<Arc<Outbox>>>,
}

impl Engine for Teller {
    fn id(&self) -> u64 {
        self.id
    }

    fn now_ms(&self) -> i64 {
        0
    }

    fn request(&self, _: &Value) -> Result<Value, String> {
        Err("it only tells".to_string())
    }

    fn attach(&self, _: Option<&SavedState>, outbox: &Arc<Outbox>) -> Result<bool, String> {
        *self.outbox.lock() = Some(Arc::clone(outbox));
        Ok(true)
    }
}

/// One row, of the model or of the interface.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    at_ms: i64,
    queue: String,
    debit: i64,
    balance: i64,
}

/// A ResourceManager with a past.
struct Site {
    service: Service,
    engine: Teller,
    folder: TempDir,
    kind: &'static str,
    kept: usize,
    random: Rand64,
    balances: [i64; 3],
    at_ms: i64,
    /// Every interval's end, and its rows.
    told: Vec<(i64, Vec<Line>)>,
}

fn service(folder: &Path, kind: &str, kept: usize) -> Service {
    let settings = json!({
        "api": {"history_intervals": kept, "trust_web_user": true, "acl_file": folder.join("acl")},
        "store": format!("{kind}:{}", folder.join("stored/books").display()),
        "started_ms": 0,
    });
    Service::new(&settings).unwrap()
}

/// An answer, and its body as JSON.
fn served(
    service: &Service,
    engine: &Teller,
    user: &str,
    route: &str,
    query: &str,
) -> (Answer, Value) {
    let head = json!({"method": "GET", "path": format!("/heddle/v1/{route}"), "query": query,
                      "user": user, "host": "rm"});
    let answer = service.serve(engine, &head.to_string(), b"", wall_ms());
    let answer = answer.unwrap().unwrap();
    let body = serde_json::from_slice(&answer.body).unwrap();
    (answer, body)
}

fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as i64
}

impl Site {
    fn new(kind: &'static str, kept: usize, seed: u64) -> Site {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("stored")).unwrap();
        let users = "root admin roots-secret-of-32-bytes-in-length\n\
                     alice user alices-secret-of-32-bytes-length queues=root.carol\n";
        let acl = folder.path().join("acl");
        fs::write(&acl, users).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&acl, private).unwrap();
        let mut site = Site {
            service: service(folder.path(), kind, kept),
            engine: Teller {
                id: 1,
                outbox: Mutex::default(),
            },
            folder,
            kind,
            kept,
            random: Rand64::new(u128::from(seed)),
            balances: [1_000_000_000; 3],
            at_ms: 1_000_000,
            told: Vec::new(),
        };
        site.start();
        let open = QUEUES.iter().flat_map(|queue| {
            let queue = queue.to_string();
            let granted = Entry::Granted {
                queue: queue.clone(),
                amount: Credits::from_micro(1_000_000_000),
                by: "admin".to_string(),
                why: String::new(),
            };
            [Entry::Opened { queue }, granted]
        });
        site.post(open.collect());
        site
    }

    fn start(&mut self) {
        self.service.activate("rm", wall_ms());
        self.settled();
    }

    /// Waits until all is written.
    fn settled(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let books = self.service.pump(&self.engine, wall_ms());
            let behind = books.progress.as_ref().map(|it| it.intervals_behind);
            if books.state == BooksState::Connected && behind == Some(0) {
                // The past arrives a moment after the books, and needs one more pump.
                self.service.pump(&self.engine, wall_ms());
                return;
            }
            assert!(Instant::now() < end, "the books are {books:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn post(&self, entries: Vec<Entry>) {
        let dropped = false;
        let taken = LedgerBatch { entries, dropped };
        self.engine.outbox.lock().as_ref().unwrap().post(taken, 0);
    }

    /// Starts another ResourceManager, or this one again.
    fn restart(&mut self) {
        self.settled();
        self.service.close(wall_ms());
        self.service = service(self.folder.path(), self.kind, self.kept);
        self.engine.id += 1;
        // Two activations need two fencing tokens, which are times in milliseconds.
        std::thread::sleep(Duration::from_millis(2));
        self.start();
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.rand_range(0..end)
    }

    /// Posts an interval in which some queues pay. It may not be written yet.
    fn interval(&mut self) {
        self.at_ms += 1 + self.below(20) as i64;
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        for (i, queue) in QUEUES.iter().enumerate() {
            if self.below(3) == 0 {
                continue;
            }
            let debit = 1 + self.below(1_000) as i64;
            self.balances[i] -= debit;
            rows.push(ChargeRow {
                queue: queue.to_string(),
                rate: Credits::from_micro(debit),
                quota: [1, 0],
                used_slot_ms: [1, 0],
                income: Credits::ZERO,
                debit: Credits::from_micro(debit),
                balance: Credits::from_micro(self.balances[i]),
                ..ChargeRow::default()
            });
            lines.push(Line {
                at_ms: self.at_ms,
                queue: queue.to_string(),
                debit,
                balance: self.balances[i],
            });
        }
        self.told.push((self.at_ms, lines));
        let price = Credits::from_micro(7);
        let at_ms = self.at_ms;
        self.post(vec![Entry::Interval { at_ms, price, rows }]);
        self.service.pump(&self.engine, wall_ms());
    }

    fn asked(&self, user: &str, query: &str) -> (u16, Value) {
        let (answer, body) = served(&self.service, &self.engine, user, "ledger", query);
        (answer.status, body)
    }

    /// Reads all pages of a range, with random events between them.
    fn pages(&mut self, user: &str, query: &str, note: &str) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut from = String::new();
        let end = Instant::now() + PATIENCE;
        loop {
            let max = 1 + self.below(9);
            let (status, page) = self.asked(user, &format!("{query}max={max}{from}"));
            if status == 503 {
                // Memory has forgotten an interval that is not written yet.
                assert!(
                    page.to_string().contains("brought up to date"),
                    "{note}: {page}"
                );
                assert!(Instant::now() < end, "{note}: it is never written");
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            assert_eq!(
                (status, &page["complete"]),
                (200, &json!(true)),
                "{note}: {page}"
            );
            let number = |row: &Value, key: &str| row[key].as_i64().unwrap();
            let rows = page["rows"].as_array().unwrap();
            assert!(rows.len() < max as usize + 3, "{note}: {max} in {page}");
            lines.extend(rows.iter().map(|row| Line {
                at_ms: number(row, "at_ms"),
                queue: row["queue"].as_str().unwrap().to_string(),
                debit: number(row, "debit_micro"),
                balance: number(row, "balance_micro"),
            }));
            let Some(next) = page["next_from_interval"].as_u64() else {
                return lines;
            };
            from = format!("&from_interval={next}");
            match self.below(4) {
                0 => (0..self.below(4)).for_each(|_| self.interval()),
                1 if self.below(8) == 0 => self.restart(),
                _ => {}
            }
        }
    }

    /// Returns the list's rows of a range, oldest first.
    fn expected(&self, from_ms: i64, to_ms: i64, queues: &[&str]) -> Vec<Line> {
        let within = self.told.iter();
        let within = within.filter(|(at_ms, _)| (from_ms..=to_ms).contains(at_ms));
        let lines = within.flat_map(|(_, lines)| lines.iter());
        let wanted = lines.filter(|line| queues.contains(&&*line.queue));
        wanted.cloned().collect()
    }

    /// Reads one random range to its end and compares it with the list.
    fn question(&mut self, note: &str) {
        let last = self.told.iter().map(|(at_ms, _)| *at_ms).max().unwrap_or(0);
        let moment = |random: u64| 1_000_000 + (random as i64) % (last - 999_990).max(1);
        let (a, b) = (self.below(u64::MAX), self.below(u64::MAX));
        let (from_ms, to_ms) = match self.below(3) {
            0 => (0, i64::MAX),
            1 => (moment(a), i64::MAX),
            _ => (moment(a).min(moment(b)), moment(a).max(moment(b))),
        };
        let (user, queues, of) = match self.below(4) {
            0 => ("root", &QUEUES[..], ""),
            1 => ("root", &QUEUES[1..2], "queue=bob&"),
            2 => ("alice", &QUEUES[2..], "queue=root.carol&"),
            _ => ("alice", &[QUEUES[0], QUEUES[2]][..], ""),
        };
        let query = format!("{of}from_ms={from_ms}&to_ms={to_ms}&");
        let before = self.told.len();
        let note = format!("{note}, {user}, {query}");
        let found = self.pages(user, &query, &note);
        let all = self.expected(from_ms, to_ms, queues);
        // Later intervals may be in the answer, up to any of them.
        assert_eq!(found, all[..found.len().min(all.len())], "{note}");
        let old: usize = self.told[..before]
            .iter()
            .filter(|(at_ms, _)| (from_ms..=to_ms).contains(at_ms))
            .flat_map(|(_, lines)| lines)
            .filter(|line| queues.contains(&&*line.queue))
            .count();
        assert!(found.len() >= old, "{note}: {} of {old}", found.len());
    }
}

fn random_histories(kind: &'static str, seeds: u64) {
    let given = std::env::var("HEDDLE_LEDGER_SEED").ok();
    let first = given.map_or(1, |seed| seed.parse().unwrap());
    let all = std::env::var_os("HEDDLE_TEST_ALL").is_some();
    for seed in first..first + if all { 10 * seeds } else { seeds } {
        let kept = [1, 2, 3, 7, 20, 1_000][seed as usize % 6];
        let mut site = Site::new(kind, kept, seed);
        let note = format!("HEDDLE_LEDGER_SEED={seed}, {kind}, {kept} remembered");
        for _ in 0..12 {
            (0..site.below(12)).for_each(|_| site.interval());
            match site.below(6) {
                0 => site.restart(),
                1 => {
                    // The machine's clock is set back.
                    site.at_ms = 1_000_000.max(site.at_ms - 100);
                    site.restart();
                }
                _ => {}
            }
            site.question(&note);
        }
    }
}

#[test]
fn no_row_is_missing_or_told_twice_with_sqlite() {
    random_histories("sqlite", 6);
}

#[test]
fn no_row_is_missing_or_told_twice_with_files() {
    random_histories("file", 6);
}

#[test]
fn a_user_reads_no_older_rows_of_others() {
    let mut site = Site::new("sqlite", 1, 3);
    (0..20).for_each(|_| site.interval());
    site.settled();
    let (status, _) = site.asked("alice", "queue=bob");
    assert_eq!(status, 403);
    let own = site.pages("alice", "", "alice");
    assert!(own.iter().all(|line| line.queue != "root.bob"), "{own:?}");
    let stranger = site.pages("dave", "", "dave");
    assert_eq!(stranger, []);
}

#[test]
fn what_is_remembered_is_told_without_the_store() {
    for kind in ["sqlite", "file"] {
        let mut site = Site::new(kind, 5, 4);
        (0..20).for_each(|_| site.interval());
        site.settled();
        let folder = site.folder.path().join("stored");
        let aside = site.folder.path().join("aside");
        fs::rename(&folder, &aside).unwrap();
        // A file in the folder's place: nothing can be created there.
        fs::write(&folder, "").unwrap();
        let (status, refused) = site.asked("root", "");
        assert_eq!(status, 503, "{kind}: {refused}");
        let what = refused["error"]["what"].as_str().unwrap();
        assert!(what.contains("stored"), "{kind}: where it is: {what}");
        let late = format!("from_ms={}&", site.told[15].0);
        let expected = site.expected(site.told[15].0, i64::MAX, &QUEUES);
        assert_eq!(site.asked("root", &late).0, 200, "{kind}");
        let (_, by_number) = site.asked("root", "from_interval=16");
        assert_eq!(by_number["rows"].as_array().unwrap().len(), expected.len());
        fs::remove_file(&folder).unwrap();
        fs::rename(&aside, &folder).unwrap();
        // A failure is repeated for a second.
        std::thread::sleep(Duration::from_millis(1_100));
        let all = site.expected(0, i64::MAX, &QUEUES);
        let (status, page) = site.asked("root", "max=10000");
        let rows = page["rows"].as_array().map(Vec::len);
        assert_eq!((status, rows), (200, Some(all.len())), "{kind}: {page}");
    }
}

#[test]
fn accounts_of_a_store_that_was_not_reached_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    // A file in the folder's place: nothing can be created there.
    fs::write(folder.path().join("stored"), "").unwrap();
    let service = service(folder.path(), "sqlite", 5);
    let engine = Teller {
        id: 1,
        outbox: Mutex::default(),
    };
    let ask = |route: &str| served(&service, &engine, "root", route, "");
    for route in ["price/history", "ledger"] {
        let (answer, body) = ask(route);
        assert_eq!(answer.status, 503, "{body}");
        assert!(body.to_string().contains("being opened"), "{body}");
        let retry = ("Retry-After", "1".to_string());
        assert!(answer.headers.contains(&retry), "{answer:?}");
    }
    assert_eq!(ask("time").0.status, 200);
    service.activate("rm", wall_ms());
    let end = Instant::now() + PATIENCE;
    while service.pump(&engine, wall_ms()).state != BooksState::Unreachable {
        assert!(Instant::now() < end, "it cannot be reached");
        std::thread::sleep(Duration::from_millis(1));
    }
    for route in ["price/history", "ledger"] {
        let (answer, body) = ask(route);
        assert_eq!(answer.status, 503, "{body}");
        let what = body["error"]["what"].as_str().unwrap();
        assert!(what.contains("the store cannot be read"), "{what}");
    }
}
