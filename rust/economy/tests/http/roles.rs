//! Permissions under `/heddle/v1/`: every route, for an unsigned caller, two users and an
//! administrator.

use crate::common::{NOW, START, Site, audit_of, json_of, market_config, paths, text};
use heddle_economy::auth::replay::Watermarks;
use heddle_economy::http::{Api, Backend, Request, routes};
use heddle_economy::record::NotChanged;
use serde_json::{Value, json};
use std::sync::Mutex;

/// DP-32's roles, carried over to the routes: an unsigned caller, alice, bob, root.
const TABLE: &[(&str, &str, &str, [u16; 4])] = &[
    ("GET", "price", "", [200, 200, 200, 200]),
    ("GET", "time", "", [200, 200, 200, 200]),
    ("GET", "health", "", [200, 200, 200, 200]),
    ("GET", "openapi.json", "", [200, 200, 200, 200]),
    ("GET", "queues", "", [401, 200, 200, 200]),
    ("GET", "jobs", "", [401, 200, 200, 200]),
    ("GET", "nodes", "", [401, 200, 200, 200]),
    ("GET", "usage", "", [401, 200, 200, 200]),
    ("GET", "shares", "", [401, 200, 200, 200]),
    ("GET", "price/history", "", [401, 200, 200, 200]),
    ("GET", "ledger", "", [401, 200, 200, 200]),
    ("GET", "ledger?queue=alice", "", [401, 200, 403, 200]),
    ("GET", "queues/alice", "", [401, 200, 403, 200]),
    (
        "GET",
        "queues/alice/advice?slots=3",
        "",
        [401, 200, 403, 200],
    ),
    ("GET", "jobs/1", "", [401, 200, 403, 200]),
    ("GET", "explain/1", "", [401, 200, 403, 200]),
    ("GET", "configuration", "", [401, 403, 403, 200]),
    ("GET", "configuration/file", "", [401, 403, 403, 200]),
    (
        "PUT",
        "configuration/file",
        "{\"policy\": \"fifo\"}",
        [401, 403, 403, 200],
    ),
    ("POST", "configuration/rollback", "{}", [401, 403, 403, 200]),
    ("GET", "shadow", "", [401, 403, 403, 200]),
    (
        "POST",
        "plan",
        "{\"policy\": \"fifo\"}",
        [401, 403, 403, 200],
    ),
    (
        "PUT",
        "queues/alice/bid",
        "{\"rate\": 1}",
        [401, 200, 403, 200],
    ),
    (
        "POST",
        "queues/alice/budget",
        "{\"add\": 1}",
        [401, 403, 403, 200],
    ),
    (
        "POST",
        "queues",
        "{\"queue\": \"carol\"}",
        [401, 403, 403, 201],
    ),
    ("DELETE", "queues/carol", "", [401, 403, 403, 204]),
];

/// Then no signature is valid, and neither a correct secret nor waiting would help.
#[test]
fn without_an_acl_file_it_says_what_to_set() {
    let site = Site {
        api: Api::new(&json!({}), START).expect("good settings"),
        ..Site::market()
    };
    let target = "/heddle/v1/jobs";
    let signed_only = Request {
        path: target,
        signed_only: true,
        authorization: Some("Heddle-HMAC-SHA256 x"),
        ..site.plain()
    };
    for answer in [
        site.signed("alice", "GET", target, ""),
        site.signed("root", "GET", "/heddle/v1/queues", ""),
        site.signed(
            "root",
            "PUT",
            "/heddle/v1/queues/alice/bid",
            "{\"rate\": 1}",
        ),
        site.get(target),
        site.send(&signed_only),
    ] {
        assert!(
            [400, 401, 403].contains(&answer.status),
            "{}",
            text(&answer)
        );
        let error = &json_of(&answer)["error"];
        let what = error["what"].as_str().expect("a text");
        assert!(what.starts_with("api.acl_file is not set"), "{error}");
        let expected = error["expected"].as_str().expect("a text");
        assert!(
            expected.contains("a file with users and secrets"),
            "{error}"
        );
    }
    assert_eq!(site.get("/heddle/v1/price").status, 200);
    // A user of the web server needs no secret to read.
    let trusting = json!({"trust_web_user": true});
    let site = Site {
        api: Api::new(&trusting, START).expect("good settings"),
        ..site
    };
    let known = Request {
        path: target,
        user: Some("alice"),
        ..site.plain()
    };
    assert_eq!(site.send(&known).status, 200);
}

/// The page uses this to choose the shown actions; permissions do not depend on it.
#[test]
fn who_asks_is_told_whether_they_administer() {
    let site = Site::market();
    for (user, admin) in [("alice", false), ("bob", false), ("root", true)] {
        let queues = json_of(&site.signed(user, "GET", "/heddle/v1/queues", ""));
        assert_eq!(queues["admin"], admin, "{user}");
    }
}

#[test]
fn the_table_of_routes_and_roles() {
    let site = Site::market();
    for &(method, path, body, expected) in TABLE {
        let target = format!("/heddle/v1/{path}");
        let (plain, query) = target.split_once('?').unwrap_or((&target, ""));
        let unsigned = site.send(&Request {
            method,
            path: plain,
            query,
            body: body.as_bytes(),
            ..site.plain()
        });
        let mut found = vec![unsigned.status];
        for user in ["alice", "bob", "root"] {
            found.push(site.signed(user, method, &target, body).status);
        }
        assert_eq!(found, expected, "{method} {path}");
    }
    // No route is missing in the table.
    for route in routes() {
        let like = |path: &str| {
            let path = path.split('?').next().unwrap_or(path);
            let (given, known) = (path.split('/').count(), route.path.split('/').count());
            given == known
                && path
                    .split('/')
                    .zip(route.path.split('/'))
                    .all(|(a, b)| b.starts_with('{') || a == b)
        };
        let row = TABLE
            .iter()
            .find(|row| row.0 == route.method && like(row.1));
        let row = row.unwrap_or_else(|| panic!("no row for {} {}", route.method, route.path));
        assert_eq!(
            route.is_open,
            row.3[0] == 200,
            "{} {}",
            route.method,
            route.path
        );
    }
    assert_eq!(site.budget_micro("root.alice"), Some(101_000_000));
}

#[test]
fn a_user_is_shown_the_own_queues_and_jobs_only() {
    let site = Site::market();
    for (user, queues, jobs) in [("alice", ["root.alice"], [1]), ("bob", ["root.bob"], [2])] {
        for path in ["queues", "shares"] {
            let list = json_of(&site.signed(user, "GET", &format!("/heddle/v1/{path}"), ""));
            assert_eq!(paths(&list["queues"]), queues, "{path}");
        }
        let list = json_of(&site.signed(user, "GET", "/heddle/v1/jobs", ""));
        let numbers = list["jobs"].as_array().expect("a list").iter();
        let numbers: Vec<u64> = numbers.filter_map(|job| job["job"].as_u64()).collect();
        assert_eq!(numbers, jobs);
    }
    let all = json_of(&site.signed("root", "GET", "/heddle/v1/queues", ""));
    assert_eq!(paths(&all["queues"]), ["root", "root.alice", "root.bob"]);
    let nothing = json_of(&site.signed("modern", "GET", "/heddle/v1/queues", ""));
    assert_eq!(nothing["queues"], json!([]));
}

#[test]
fn version_1_is_no_signature_here() {
    let site = Site::market();
    let text = heddle_economy::auth::v1::signed_text("", "root", &NOW.to_string());
    let secret = crate::common::secret("root");
    let signature =
        heddle_economy::auth::v1::header(&heddle_economy::auth::v1::signature(&secret, &text));
    for query in [text.as_str(), ""] {
        let refused = site.send(&Request {
            path: "/heddle/v1/queues",
            query,
            authorization: Some(&signature),
            ..site.plain()
        });
        // Here the parameters of version 1 are unknown.
        assert_eq!(refused.status, if query.is_empty() { 401 } else { 400 });
    }
}

/// A signature is for one request, once.
#[test]
fn a_signature_covers_everything_and_counts_once() {
    let site = Site::market();
    let (path, body) = ("/heddle/v1/queues/alice/bid", &b"{\"rate\": \"0.5\"}"[..]);
    let header = crate::common::v2_header("alice", "PUT", path, "", body);
    let bid = Request {
        method: "PUT",
        path,
        authorization: Some(&header),
        body,
        ..site.plain()
    };
    let moved = [
        Request {
            body: b"{\"rate\": \"5\"}",
            ..bid
        },
        Request {
            path: "/heddle/v1/queues/root.alice/bid",
            ..bid
        },
        Request {
            path: "/heddle/v1/queues/%61lice/bid",
            ..bid
        },
    ];
    for request in &moved {
        assert_eq!(site.send(request).status, 401, "{request:?}");
    }
    // Expired; on another site, because a server's clock never goes back.
    let elsewhere = Site::market();
    let late = Request {
        now_ms: NOW + 60_000,
        ..bid
    };
    assert_eq!(elsewhere.send(&late).status, 401);
    assert_eq!(elsewhere.rate("root.alice"), Some(2.0));
    assert_eq!(site.rate("root.alice"), Some(2.0));
    assert_eq!(site.send(&bid).status, 200);
    let replay = site.send(&bid);
    assert_eq!(replay.status, 401);
    assert!(
        text(&replay).contains("accepted before"),
        "{}",
        text(&replay)
    );
}

#[test]
fn whoever_fails_too_often_has_to_wait() {
    let site = Site::market();
    let mut statuses = Vec::new();
    for _ in 0..30 {
        let path = "/heddle/v1/queues";
        let header = crate::common::v2_header("alice", "GET", path, "x=1", b"");
        let refused = site.send(&Request {
            path,
            authorization: Some(&header),
            ..site.plain()
        });
        statuses.push(refused.status);
        if refused.status == 429 {
            assert!(crate::common::header(&refused, "Retry-After").is_some());
        }
    }
    assert!(
        statuses.starts_with(&[401; 5]) && statuses.ends_with(&[429; 5]),
        "{statuses:?}"
    );
    // Open routes still answer.
    assert_eq!(site.get("/heddle/v1/price").status, 200);
}

/// Users of the web server may only read, and only if the setting allows it.
#[test]
fn users_of_the_web_server_may_read_where_that_is_trusted() {
    let trusting = Site::with(&market_config(), &json!({"trust_web_user": true}));
    let careful = Site::with(&market_config(), &json!({}));
    let of = |site: &Site, user: Option<&'static str>, method, path, body: &'static str| {
        let negotiate = Some("Negotiate YIIC");
        let request = Request {
            method,
            path,
            user,
            authorization: negotiate,
            body: body.as_bytes(),
            ..site.plain()
        };
        site.send(&request).status
    };
    let (queue, bid) = ("/heddle/v1/queues/alice", "/heddle/v1/queues/alice/bid");
    assert_eq!(of(&trusting, Some("alice"), "GET", queue, ""), 200);
    assert_eq!(of(&trusting, Some("root"), "GET", queue, ""), 200);
    assert_eq!(of(&trusting, Some("bob"), "GET", queue, ""), 403);
    assert_eq!(of(&trusting, Some("dr.who"), "GET", queue, ""), 403);
    assert_eq!(of(&trusting, Some(""), "GET", queue, ""), 401);
    assert_eq!(of(&trusting, None, "GET", queue, ""), 401);
    for user in ["alice", "root"] {
        assert_eq!(of(&careful, Some(user), "GET", queue, ""), 401);
        assert_eq!(of(&trusting, Some(user), "PUT", bid, "{\"rate\": 9}"), 401);
        assert_eq!(
            of(&trusting, Some(user), "GET", "/heddle/v1/configuration", ""),
            { if user == "root" { 200 } else { 403 } }
        );
    }
    let old = Request {
        path: "/scheduler",
        query: "info=alice",
        user: Some("alice"),
        ..trusting.plain()
    };
    assert_eq!(trusting.send(&old).status, 401);
    assert_eq!(trusting.rate("root.alice"), Some(2.0));
}

/// A malformed line may have been meant to take rights away: its user is shut out.
#[test]
fn a_web_user_of_a_malformed_line_is_shut_out() {
    let site = Site::with(&market_config(), &json!({"trust_web_user": true}));
    let reads = |user: &'static str| {
        let request = Request {
            method: "GET",
            path: "/heddle/v1/queues/alice",
            user: Some(user),
            ..site.plain()
        };
        site.send(&request).status
    };
    assert_eq!(reads("alice"), 200);
    crate::common::write_acl(
        &site.acl(),
        "alice user\nbob user bobs-secret-of-32-bytes-in-len\n",
    );
    site.api.poll(100_000);
    site.api.poll(200_000);
    assert_eq!(reads("alice"), 401);
    assert_eq!(reads("bob"), 403, "known, and it is not his");
    crate::common::write_acl(&site.acl(), "bob user bobs-secret-of-32-bytes-in-len\n");
    site.api.poll(300_000);
    site.api.poll(400_000);
    assert_eq!(
        reads("alice"),
        200,
        "in no line: a web user with an own queue"
    );
}

#[test]
fn the_audit_has_a_line_for_every_change_and_every_refusal() {
    let site = Site::market();
    let base = "/heddle/v1/queues";
    // A refusal; three changes; an impossible change; readings, which leave no line.
    site.signed("bob", "PUT", &format!("{base}/alice/bid"), "{\"rate\": 1}");
    site.signed(
        "alice",
        "PUT",
        &format!("{base}/alice/bid"),
        "{\"rate\": \"0.75\"}",
    );
    site.signed(
        "root",
        "POST",
        &format!("{base}/bob/budget"),
        "{\"add\": 12}",
    );
    site.signed("root", "POST", base, "{\"queue\": \"carol\"}");
    site.signed("root", "POST", base, "{\"queue\": \"carol\"}");
    site.signed("alice", "GET", base, "");
    site.get("/heddle/v1/price");
    site.get("/heddle/v1/prize");
    let lines = audit_of(&site);
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            let word = |key: &str| line[key].as_str().unwrap_or("-").to_string();
            (
                word("user"),
                word("action"),
                word("queue"),
                line["allowed"] == true,
            )
        })
        .collect();
    let line = |user: &str, action: &str, queue: &str, allowed| {
        (
            user.to_string(),
            action.to_string(),
            queue.to_string(),
            allowed,
        )
    };
    let expected = [
        line(
            "bob",
            "PUT /heddle/v1/queues/alice/bid",
            "root.alice",
            false,
        ),
        line("alice", "setSpending 0.75", "root.alice", true),
        line("root", "addBudget 12", "root.bob", true),
        line("root", "addQueue", "root.carol", true),
        line("root", "addQueue", "root.carol", false),
    ];
    assert_eq!(told, expected);
    let all = format!("{lines:?}");
    assert!(
        !all.contains("16_byte") && !all.contains("Heddle-HMAC"),
        "{all}"
    );
}

/// A host with a store, which keeps the watermarks.
struct Storing<'a> {
    engine: &'a crate::common::Locked,
    stored: Mutex<Vec<(String, Watermarks)>>,
}

impl Backend for Storing<'_> {
    fn request(&self, request: &Value) -> Result<Value, String> {
        self.engine.request(request)
    }

    fn change(&self, request: &Value, signature: &Watermarks) -> Result<Value, NotChanged> {
        let op = request["op"].as_str().expect("an operation").to_string();
        self.stored
            .lock()
            .expect("a list")
            .push((op, signature.clone()));
        self.request(request).map_err(NotChanged::Refused)
    }
}

/// With the watermarks that were stored with a change, the next server refuses the request.
#[test]
fn what_is_to_be_remembered_comes_with_the_change() {
    let site = Site::market();
    let storing = Storing {
        engine: &site.engine,
        stored: Mutex::default(),
    };
    let (path, body) = ("/heddle/v1/queues/alice/bid", &b"{\"rate\": 3}"[..]);
    let header = crate::common::v2_header("alice", "PUT", path, "", body);
    let bid = Request {
        method: "PUT",
        path,
        authorization: Some(&header),
        body,
        ..site.plain()
    };
    assert_eq!(site.api.answer(&storing, &bid).status, 200);
    let read = Request {
        path: "/heddle/v1/price",
        ..site.plain()
    };
    assert_eq!(site.api.answer(&storing, &read).status, 200);
    let stored = storing.stored.into_inner().expect("a list");
    let [(op, marks)] = stored.as_slice() else {
        panic!("one change: {stored:?}")
    };
    assert_eq!(op, "setSpending");
    let nonces: Vec<_> = marks.nonce_rows().collect();
    assert_eq!(nonces.len(), 1);
    assert_eq!((nonces[0].0, nonces[0].2), ("alice", NOW + 60_000));
    let next = Site::market();
    next.api.merge_watermarks(marks);
    assert_eq!(next.send(&bid).status, 401);
    assert_eq!(next.rate("root.alice"), Some(2.0));
}

/// A host whose store makes no change, for this reason.
struct Failing<'a> {
    engine: &'a crate::common::Locked,
    why: NotChanged,
}

impl Backend for Failing<'_> {
    fn request(&self, request: &Value) -> Result<Value, String> {
        self.engine.request(request)
    }

    fn change(&self, _: &Value, _: &Watermarks) -> Result<Value, NotChanged> {
        Err(self.why.clone())
    }
}

/// A client that grants again by itself grants twice if the first grant was written.
#[test]
fn no_client_is_asked_to_repeat_a_change_in_doubt() {
    let (path, body) = ("/heddle/v1/queues/alice/budget", &b"{\"add\": 3}"[..]);
    let reason = || "no answer".to_string();
    for (why, asked) in [
        (NotChanged::NotStored(reason()), true),
        (NotChanged::InDoubt(reason()), false),
    ] {
        let site = Site::market();
        let engine = &site.engine;
        let failing = Failing { engine, why };
        let header = crate::common::v2_header("root", "POST", path, "", body);
        let grant = Request {
            method: "POST",
            path,
            authorization: Some(&header),
            body,
            ..site.plain()
        };
        let answer = site.api.answer(&failing, &grant);
        assert_eq!(answer.status, 503, "{answer:?}");
        let retry = answer
            .headers
            .iter()
            .any(|(name, _)| *name == "Retry-After");
        assert_eq!(retry, asked, "{answer:?}");
    }
}
