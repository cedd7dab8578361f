//! A store that cannot be read or written: the log names cause and remedy once, accounts that were
//! never read are not shown, and changes are refused as `store.while_down` says.

// Helpers of tests are tests as well, which clippy cannot know.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

use heddle_core::words::credits::Credits;
use heddle_core::words::ledger::{Entry, LedgerBatch};
use heddle_economy::record::{BooksState, NotChanged};
use heddle_economy::{Books, Engine, Outbox, SavedState, Service, WhileDown};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PATIENCE: Duration = Duration::from_secs(60);

/// Lines logged as errors.
static ERRORS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Listener;

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.level() == log::Level::Error {
            ERRORS.lock().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// An engine with one account. It carries out each request and posts it.
#[derive(Default)]
struct Market {
    outbox: Mutex<Option<Arc<Outbox>>>,
    carried_out: Mutex<Vec<String>>,
}

impl Market {
    fn post(&self, entries: Vec<Entry>) {
        let taken = LedgerBatch {
            entries,
            dropped: false,
        };
        self.outbox.lock().as_ref().unwrap().post(taken, 0);
    }
}

impl Engine for Market {
    fn id(&self) -> u64 {
        1
    }

    fn now_ms(&self) -> i64 {
        0
    }

    fn request(&self, request: &Value) -> Result<Value, String> {
        let op = request["op"].as_str().unwrap().to_string();
        let queue = "root.a".to_string();
        match op.as_str() {
            "setSpending" => self.post(vec![Entry::Rate {
                queue,
                rate: Credits::from_micro(7),
            }]),
            "addBudget" => self.post(vec![Entry::Granted {
                queue,
                amount: Credits::from_micro(5),
                by: "root".to_string(),
                why: String::new(),
            }]),
            _ => return Ok(json!({})),
        }
        self.carried_out.lock().push(op);
        Ok(json!({}))
    }

    fn attach(&self, _: Option<&SavedState>, outbox: &Arc<Outbox>) -> Result<bool, String> {
        *self.outbox.lock() = Some(Arc::clone(outbox));
        Ok(true)
    }
}

fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as i64
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < end, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn asked(service: &Service, engine: &Market, route: &str) -> (u16, Value) {
    let head = json!({"method": "GET", "path": format!("/heddle/v1/{route}"), "host": "rm"});
    let answer = service.serve(engine, &head.to_string(), b"", wall_ms());
    let answer = answer.unwrap().unwrap();
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

#[test]
fn a_damaged_store_is_an_error_once_with_the_remedy_and_shows_no_accounts() {
    let _set_by_this_test_only = log::set_logger(&Listener);
    log::set_max_level(log::LevelFilter::Info);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("economy");
    fs::write(&path, "no database, whatever its name says").unwrap();
    let settings = json!({"store": format!("sqlite:{}", path.display())});
    let service = Service::new(&settings).unwrap();
    let engine = Market::default();
    service.activate("rm", wall_ms());
    until("the fault", || {
        service.pump(&engine, wall_ms()).state == BooksState::Stopped
    });
    for _ in 0..5 {
        service.pump(&engine, wall_ms());
    }
    let place = path.display().to_string();
    let told = |line: &&String| line.contains(&place) && line.contains("restart");
    assert_eq!(ERRORS.lock().iter().filter(told).count(), 1, "{ERRORS:?}");
    let (status, price) = asked(&service, &engine, "price");
    assert_eq!(status, 503, "{price}");
    assert!(price.to_string().contains("a copy of the store"), "{price}");
    let (_, health) = asked(&service, &engine, "health");
    assert_eq!(health["status"], "degraded", "{health}");
}

/// Opens books on files, with an account in them.
fn open(folder: &Path, while_down: WhileDown) -> (Books, Market) {
    let place = format!("file:{}", folder.display());
    let store = heddle_economy::store::open(&place, None).unwrap();
    let (books, engine) = (Books::new(Some(store), 0, while_down), Market::default());
    books.activate("rm", wall_ms());
    let connected = || {
        books.pump(&engine, wall_ms());
        books.status(&engine).state == BooksState::Connected
    };
    until("the store", connected);
    let queue = "root.a".to_string();
    engine.post(vec![Entry::Opened { queue }]);
    books.pump(&engine, wall_ms());
    (books, engine)
}

fn change(books: &Books, engine: &Market, op: &str) -> Result<bool, NotChanged> {
    let request = json!({"op": op, "queue": "root.a", "value": 1});
    let changed = books.change(engine, &request, Vec::new(), wall_ms());
    changed.map(|changed| changed.stored)
}

#[test]
fn while_the_store_is_down_changes_are_refused_as_configured() {
    for (while_down, bids, budgets) in [
        (WhileDown::Refuse, false, false),
        (WhileDown::RefuseBudgets, true, false),
        (WhileDown::Accept, true, true),
    ] {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("books");
        let (books, engine) = open(&folder, while_down);
        assert_eq!(change(&books, &engine, "addBudget"), Ok(true));
        // A file in the folder's place: nothing can be written there.
        let aside = above.path().join("aside");
        fs::rename(&folder, &aside).unwrap();
        fs::write(&folder, "").unwrap();
        engine.post(vec![Entry::Rate {
            queue: "root.a".to_string(),
            rate: Credits::from_micro(1),
        }]);
        until("the outage", || {
            books.pump(&engine, wall_ms());
            books.status(&engine).state == BooksState::Unreachable
        });
        let before = engine.carried_out.lock().len();
        for (op, accepted) in [("setSpending", bids), ("addBudget", budgets)] {
            match change(&books, &engine, op) {
                Ok(stored) => assert!(accepted && !stored, "{while_down:?}: {op}"),
                Err(why) => {
                    assert!(!accepted, "{while_down:?}: {op}: {why}");
                    assert!(why.to_string().contains("store.while_down"), "{why}");
                }
            }
        }
        let done = engine.carried_out.lock().len() - before;
        assert_eq!(done, usize::from(bids) + usize::from(budgets));
        fs::remove_file(&folder).unwrap();
        fs::rename(&aside, &folder).unwrap();
        until("the store", || {
            books.pump(&engine, wall_ms());
            books.status(&engine).state == BooksState::Connected
        });
        assert_eq!(change(&books, &engine, "addBudget"), Ok(true));
    }
}
