//! Targets for what comes over the web port: signatures, XML commands and JSON requests.

use crate::engine::live_market;
use heddle_core::Engine;
use heddle_economy::auth::acl::Acl;
use heddle_economy::auth::canonical::{Body, Signed, Validity, request as canonical};
use heddle_economy::auth::gate::{Gate, Interface, Settings};
use heddle_economy::auth::{Now, Secret, v1, v2};
use heddle_economy::http::{Api, Request};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::LazyLock;
use tempfile::NamedTempFile;

const NOW_MS: u64 = 1_700_000_000_000;
const STARTED_MS: u64 = NOW_MS - 1_000_000;
const SECRET: &[u8] = b"0123456789abcdef";
const ACL: &str = "alice user 0123456789abcdef\nroot admin 0123456789abcdef\n";
/// Separates the parts of an input.
const SEPARATOR: u8 = b'\n';

/// Splits an input into four lines, which each target names for itself, and a body.
fn parts(data: &[u8]) -> Option<[&str; 5]> {
    let mut parts = data.splitn(5, |byte| *byte == SEPARATOR);
    let mut next = || std::str::from_utf8(parts.next()?).ok();
    Some([next()?, next()?, next()?, next()?, next()?])
}

fn signed<'a>(method: &'a str, path: &'a str, query: &'a str, body: &'a str) -> Signed<'a> {
    Signed {
        method,
        path,
        query,
        body: Body::of(body.as_bytes()),
    }
}

fn validity() -> Validity {
    Validity {
        timestamp_ms: NOW_MS,
        expires_ms: NOW_MS + 60_000,
        nonce: "0123456789_-abcD".to_string(),
    }
}

fn header(user: &str, signed: &Signed<'_>) -> String {
    v2::header(&Secret::new(SECRET), user, signed, &validity())
}

/// The request that alice signed; no other may pass under her signature.
const ORIGINAL: [&str; 4] = [
    "PUT",
    "/heddle/v1/queues/root.alice/bid",
    "",
    "{\"rate\": 2}",
];

/// Checks a request with a header of any bytes. Only the request that alice signed passes, and only
/// under the header that she made.
pub(crate) fn signature(data: &[u8]) {
    let Some([method, path, query, given, body]) = parts(data) else {
        return;
    };
    let [first, second, third, fourth] = ORIGINAL;
    let original = signed(first, second, third, fourth);
    let genuine = header("alice", &original);
    let sent = signed(method, path, query, body);
    let given = if given.is_empty() { &genuine } else { given };
    let mut gate = Gate::new(Settings::default(), STARTED_MS);
    gate.set_acl(Acl::parse(ACL.as_bytes()).0);
    let now = Now {
        wall_ms: NOW_MS,
        steady_ms: 5,
    };
    for interface in [Interface::Json, Interface::Published] {
        let request = heddle_economy::auth::gate::Request {
            interface,
            signed: sent,
            authorization: Some(given),
            address: None,
        };
        if gate.identify(&request, now).is_ok() {
            let text = |signed| canonical(signed, "alice", &validity());
            assert_eq!(text(&sent), text(&original), "another request passed");
            assert_eq!(given, genuine, "another header passed");
        }
        assert!(
            gate.identify(&request, now).is_err(),
            "a request passed twice"
        );
    }
}

pub(crate) fn signature_seeds() -> Vec<Vec<u8>> {
    let [method, path, query, body] = ORIGINAL;
    let original = signed(method, path, query, body);
    let stranger = v2::header(
        &Secret::new(b"another_16_bytes"),
        "alice",
        &original,
        &validity(),
    );
    let nobody = v2::header(&Secret::new(SECRET), "nobody", &original, &validity());
    let text = v1::signed_text("getQueues", "alice", &NOW_MS.to_string());
    let old = v1::header(&v1::signature(&Secret::new(b"another_16_bytes"), &text));
    let mut seeds: Vec<String> = ["", &stranger, &nobody, "Basic YTpi", "Negotiate YII"]
        .iter()
        .map(|header| format!("{method}\n{path}\n{query}\n{header}\n{body}"))
        .collect();
    seeds.push(format!("GET\n/scheduler\n{text}\n{old}\n"));
    seeds.into_iter().map(String::into_bytes).collect()
}

struct Behind(RefCell<Engine>);

impl heddle_economy::http::Backend for Behind {
    fn request(&self, request: &Value) -> Result<Value, String> {
        let mut engine = self.0.borrow_mut();
        engine.request(1_000, request).map_err(|error| error.0)
    }
}

/// Users for all inputs of this process, in a file because a service reads one.
static USERS: LazyLock<NamedTempFile> = LazyLock::new(|| {
    let folder = std::env::temp_dir();
    let mut file = tempfile::Builder::new()
        .make_in(folder, |path| {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true).mode(0o600).open(path)
        })
        .expect("a file in the folder for temporary files");
    file.write_all(ACL.as_bytes()).expect("a few bytes fit");
    file
});

/// Serves any request. It is unsigned if the fourth line is empty, else signed here in the name of
/// that line, so that handlers are reached. Every answer is whole: a valid HTTP status and never
/// 500, JSON and XML that parse. The engine's books stay right.
pub(crate) fn request(data: &[u8]) {
    let Some([method, target, accept, user, body]) = parts(data) else {
        return;
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let settings = json!({ "acl_file": USERS.path() });
    let api = Api::new(&settings, STARTED_MS).expect("the settings are right");
    let engine = Behind(RefCell::new(live_market()));
    let query = match (path, user) {
        ("/scheduler", "alice" | "root") => v1::signed_text(query, user, &NOW_MS.to_string()),
        _ => query.to_string(),
    };
    let authorization = match (path, user) {
        (_, "") => None,
        ("/scheduler", _) => Some(v1::header(&v1::signature(&Secret::new(SECRET), &query))),
        _ => Some(header(user, &signed(method, path, &query, body))),
    };
    let request = Request {
        method,
        path,
        query: &query,
        authorization: authorization.as_deref(),
        address: None,
        user: None,
        signed_only: false,
        accept: (!accept.is_empty()).then_some(accept),
        host: "rm1.example.com",
        body: body.as_bytes(),
        jobs: &[],
        warnings: &[],
        managers: &[],
        viewed: const { &BTreeSet::new() },
        config_file: None,
        below: &Value::Null,
        nodes: &[],
        now_ms: NOW_MS,
        steady_ms: 5,
    };
    let answer = api.answer(&engine, &request);
    assert!(
        (200..600).contains(&answer.status) && answer.status != 500,
        "{}",
        answer.status
    );
    let text = String::from_utf8_lossy(&answer.body);
    match answer.content_type {
        _ if answer.body.is_empty() => {}
        "application/json" => drop(serde_json::from_str::<Value>(&text).expect("JSON")),
        "text/xml" => drop(roxmltree::Document::parse(&text).expect("XML")),
        _ => {}
    }
    let books = engine.0.borrow().check_invariants();
    assert!(books.is_ok(), "the books are wrong: {books:?}");
}

pub(crate) fn request_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for route in heddle_economy::http::routes() {
        let path = route
            .path
            .replace("{queue}", "root.alice")
            .replace("{id}", "0");
        let path = path.replace("{job}", "1");
        for (user, body) in [
            (
                "root",
                "{\"rate\": 3, \"amount\": 2, \"queue\": \"root.c\"}",
            ),
            ("", ""),
        ] {
            seeds.push(format!(
                "{}\n/heddle/v1/{path}?max=2\n*/*\n{user}\n{body}",
                route.method
            ));
        }
    }
    for command in [
        "getQueues",
        "getQueueInfo&queue=alice",
        "setSpending&spending=2&queue=alice",
        "addBudget&budget=2&queue=alice",
        "addQueue&queue=c",
        "removeQueue&queue=c",
        "infos",
        "info",
    ] {
        seeds.push(format!("GET\n/scheduler?{command}\n\nroot\n"));
    }
    seeds.into_iter().map(String::into_bytes).collect()
}
