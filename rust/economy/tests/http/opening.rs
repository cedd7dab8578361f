//! Before the store was read, no answer shows opening budgets, or calls a queue of the store
//! unknown. Also tests the answers while the store is out of reach.

use crate::common::{Locked, Site, header, json_of, text, v2_header};
use heddle_economy::http::{Answer, Backend, Request, RouteInfo, routes};
use heddle_economy::record::{BooksState, BooksStatus};
use serde_json::Value;

/// The engine of a site, with the books in some state.
struct Kept<'a>(&'a Locked, BooksStatus);

impl Backend for Kept<'_> {
    fn request(&self, request: &Value) -> Result<Value, String> {
        self.0.request(request)
    }

    fn books(&self) -> BooksStatus {
        self.1.clone()
    }
}

fn ask(site: &Site, books: &BooksStatus, method: &str, path: &str, body: &str) -> Answer {
    let header = v2_header("root", method, path, "", body.as_bytes());
    let request = Request {
        method,
        path,
        authorization: Some(&header),
        body: body.as_bytes(),
        ..site.plain()
    };
    site.api
        .answer(&Kept(&site.engine, books.clone()), &request)
}

/// Returns the status of books that were read from the store.
fn read(state: BooksState) -> BooksStatus {
    BooksStatus {
        read: true,
        ..BooksStatus::of(state)
    }
}

/// Routes that answer in every state of the books.
const ALWAYS: [&str; 14] = [
    "time",
    "health",
    "openapi.json",
    "configuration",
    "configuration/file",
    "configuration/file",
    "configuration/rollback",
    "plan",
    "shadow",
    "nodes",
    "usage",
    "jobs",
    "jobs/{id}",
    "explain/{job}",
];

#[test]
fn accounts_are_neither_shown_nor_changed_before_the_books_are_open() {
    let site = Site::market();
    let (always, of_accounts): (Vec<_>, Vec<_>) =
        routes().partition(|route| ALWAYS.contains(&route.path));
    assert_eq!(always.len(), ALWAYS.len());
    let asked = |state: BooksState, route: &RouteInfo| {
        let path = route.path.replace("{queue}", "root.alice");
        let path = path.replace("{id}", "1").replace("{job}", "1");
        let body = match route.method {
            "PUT" | "POST" => "{}",
            _ => "",
        };
        let books = BooksStatus::of(state);
        let path = format!("/heddle/v1/{path}");
        let answer = ask(&site, &books, route.method, &path, body);
        let note = format!("{state}, {} {path}: {}", route.method, text(&answer));
        (answer, note)
    };
    for state in [BooksState::Opening, BooksState::Standby] {
        for route in &of_accounts {
            let (answer, note) = asked(state, route);
            assert_eq!(answer.status, 503, "{note}");
            let told = text(&answer);
            assert!(told.contains("the books are being opened"), "{note}");
            assert_eq!(header(&answer, "Retry-After"), Some("1"), "{note}");
        }
    }
    let used = site.api.export_watermarks().users;
    assert!(used.is_empty(), "no signature is used up");
    for route in &always {
        let (answer, note) = asked(BooksState::Opening, route);
        assert_ne!(answer.status, 503, "{note}");
    }
    assert_eq!(site.budget_micro("root.alice"), Some(100_000_000));
}

#[test]
fn the_published_interface_waits_too_but_tells_the_time() {
    let site = Site::market();
    let engine = Kept(&site.engine, BooksStatus::of(BooksState::Opening));
    let published = |query: &'static str| {
        let request = Request {
            path: "/scheduler",
            query,
            ..site.plain()
        };
        site.api.answer(&engine, &request)
    };
    assert_eq!(published("time").status, 200);
    for query in ["price", "infos", "info=alice", "setSpending=1&queue=alice"] {
        let answer = published(query);
        assert_eq!(answer.status, 503, "{query}: {}", text(&answer));
        assert_eq!(header(&answer, "Retry-After"), Some("1"), "{query}");
    }
}

/// Until then the engine has the budgets of heddle.json, which are no real accounts.
#[test]
fn accounts_that_were_never_read_are_not_shown_and_the_remedy_is_told() {
    let site = Site::market();
    for (state, remedy) in [
        (BooksState::Unreachable, "a store that can be reached"),
        (BooksState::Stopped, "a copy of the store in its place"),
        (BooksState::Fenced, "that is active"),
    ] {
        let books = BooksStatus::of(state);
        for path in ["queues", "queues/root.alice", "price", "shares"] {
            let answer = ask(&site, &books, "GET", &format!("/heddle/v1/{path}"), "");
            assert_eq!(answer.status, 503, "{state}, {path}: {}", text(&answer));
            assert!(text(&answer).contains(remedy), "{}", text(&answer));
        }
        let health = ask(&site, &books, "GET", "/heddle/v1/health", "");
        assert_eq!(json_of(&health)["status"], "degraded", "{state}");
        let jobs = ask(&site, &books, "GET", "/heddle/v1/jobs", "");
        assert_eq!(jobs.status, 200, "scheduling is seen");
    }
}

/// A damaged store does not recover in a moment.
#[test]
fn a_change_that_a_damaged_store_cannot_keep_is_told_what_to_do() {
    let site = Site::market();
    let bid = "/heddle/v1/queues/root.alice/bid";
    let books = read(BooksState::Stopped);
    let answer = ask(&site, &books, "PUT", bid, "{\"rate\": \"0.5\"}");
    assert_eq!(answer.status, 503, "{}", text(&answer));
    assert!(text(&answer).contains("damaged"), "{}", text(&answer));
    assert!(!text(&answer).contains("try again"), "{}", text(&answer));
    let shown = ask(&site, &books, "GET", "/heddle/v1/queues/root.alice", "");
    assert_eq!(header(&shown, "Heddle-Books"), Some("stopped"));
}

#[test]
fn during_an_outage_the_state_is_shown_and_what_it_is() {
    let site = Site::market();
    let path = "/heddle/v1/queues/root.alice";
    for (books, said) in [
        (read(BooksState::Connected), None),
        (BooksStatus::of(BooksState::InMemory), None),
        (read(BooksState::Unreachable), Some("unreachable")),
        (read(BooksState::Fenced), Some("fenced")),
    ] {
        let answer = ask(&site, &books, "GET", path, "");
        assert_eq!(answer.status, 200, "{books:?}: {}", text(&answer));
        assert_eq!(header(&answer, "Heddle-Books"), said, "{books:?}");
        assert!(json_of(&answer).is_object());
    }
}
