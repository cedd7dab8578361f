//! Answers of the routes: queues, jobs and changes with numbers worked out by hand, and errors with
//! fault, place and remedy.

use crate::common::{
    NOW, START, Site, header, interval, json_of, market_config, paths, text, v2_header,
};
use heddle_economy::http::{Backend, Request};
use serde_json::{Value, json};

#[test]
fn an_account_in_decimals_and_in_millionths() {
    let site = Site::market();
    let queue = json_of(&site.signed("alice", "GET", "/heddle/v1/queues/alice", ""));
    assert_eq!(queue["queue"], "root.alice");
    assert_eq!(queue["scheduling"]["running_containers"], 8);
    assert_eq!(queue["scheduling"]["pending_containers"], 12);
    let account = &queue["account"];
    let expected = [
        ("budget", json!("100")),
        ("budget_micro", json!(100_000_000)),
        ("rate", json!("2")),
        ("rate_micro", json!(2_000_000)),
        ("income_per_hour", json!("0")),
        ("last_debit", json!("0")),
        ("quota", json!([8, 0])),
        ("used_slots", json!(8)),
        ("used_slots_by_pool", json!([8, 0])),
        ("pending_slots", json!(12)),
        ("pending_slots_by_pool", json!([12, 0])),
    ];
    for (key, value) in expected {
        assert_eq!(account[key], value, "{key}");
    }
    let share = account["share"].as_f64().expect("a number");
    assert!((share - 2.0 / 3.0).abs() < 1e-12);
    // After an interval of 20 s she has paid 2 for each of 8 slots.
    site.cluster().until(20_000);
    let queue = json_of(&site.signed("alice", "GET", "/heddle/v1/queues/root.alice", ""));
    assert_eq!(queue["account"]["last_debit"], "16");
    assert_eq!(queue["account"]["budget_micro"], 84_000_000);
}

#[test]
fn bids_and_budgets_are_exact() {
    let site = Site::market();
    let (bid, budget) = (
        "/heddle/v1/queues/alice/bid",
        "/heddle/v1/queues/alice/budget",
    );
    let set = json_of(&site.signed("alice", "PUT", bid, "{\"rate\": \"0.000001\"}"));
    assert_eq!(
        (&set["rate"], &set["rate_micro"]),
        (&json!("0.000001"), &json!(1))
    );
    // In floating point, 0.1 added 200 times to 100 is not 120.
    let mut last = Value::Null;
    for _ in 0..200 {
        last = json_of(&site.signed("root", "POST", budget, "{\"add\": 0.1}"));
    }
    assert_eq!(last["budget"], "120");
    let most = json_of(&site.signed("root", "POST", budget, "{\"add\": \"899999879.999999\"}"));
    assert_eq!(most["budget"], "899999999.999999");
    let beyond = site.signed("root", "POST", budget, "{\"add\": 100000000.000002}");
    assert_eq!(beyond.status, 409, "{}", text(&beyond));
    assert_eq!(site.budget_micro("root.alice"), Some(899_999_999_999_999));
}

#[test]
fn queues_come_and_go() {
    let site = Site::market();
    let added = site.signed(
        "root",
        "POST",
        "/heddle/v1/queues",
        "{\"queue\": \"carol\"}",
    );
    assert_eq!(added.status, 201);
    assert_eq!(
        header(&added, "Location"),
        Some("/heddle/v1/queues/root.carol")
    );
    assert_eq!(json_of(&added)["budget_micro"], 0);
    // It has an account and no place in the tree yet, and is listed.
    let list = json_of(&site.signed("root", "GET", "/heddle/v1/queues", ""));
    assert_eq!(
        paths(&list["queues"]),
        ["root", "root.alice", "root.bob", "root.carol"]
    );
    assert_eq!(list["queues"][3]["scheduling"], Value::Null);
    let removed = site.signed("root", "DELETE", "/heddle/v1/queues/carol", "");
    assert_eq!((removed.status, removed.body.len()), (204, 0));
    for (method, path, body) in [
        ("DELETE", "queues/carol", ""),
        ("GET", "queues/carol", ""),
        ("PUT", "queues/carol/bid", "{\"rate\": 1}"),
        ("POST", "queues/carol/budget", "{\"add\": 1}"),
    ] {
        let gone = site.signed("root", method, &format!("/heddle/v1/{path}"), body);
        assert_eq!(gone.status, 404, "{method} {path}");
    }
}

#[test]
fn a_job_with_times_of_day() {
    let site = Site::market();
    site.cluster().until(7_000);
    let job = json_of(&site.signed("alice", "GET", "/heddle/v1/jobs/1", ""));
    // Submitted when the engine's clock showed 0; it shows 7 s now.
    assert_eq!(job["submitted_ms"], NOW - 7_000);
    assert_eq!(
        (&job["job"], &job["queue"]),
        (&json!(1), &json!("root.alice"))
    );
    assert_eq!(
        (&job["running"], &job["done"]),
        (&json!([8, 0, 0]), &json!([0, 0, 0]))
    );
    let sentence = job["waits_for"].as_str().expect("12 of its maps wait");
    assert!(!sentence.is_empty());
    let end = &job["prediction"]["end"];
    let moment = |key: &str| end[key].as_u64().expect("a time");
    assert!(moment("earliest_ms") <= moment("expected_ms"));
    assert!(moment("expected_ms") <= moment("latest_ms"));
    assert!(moment("expected_ms") > NOW, "it has not ended: {end}");
    let explained = json_of(&site.signed("alice", "GET", "/heddle/v1/explain/1", ""));
    assert_eq!(explained["now_ms"], NOW);
    assert_eq!(explained["sentence"], job["waits_for"]);
    let trace = explained["trace"].as_array().expect("a list");
    let granted: Vec<_> = trace
        .iter()
        .filter(|entry| entry["what"] == "granted")
        .collect();
    assert_eq!(granted.len(), 8);
    assert!(granted.iter().all(|entry| entry["at_ms"] == NOW - 7_000));
}

#[test]
fn jobs_come_in_pages() {
    let site = Site::market();
    for job in 3..8 {
        site.cluster().submit(job, "bob", 1);
    }
    let mut from = Some(0);
    let mut found = Vec::new();
    while let Some(number) = from {
        let page = site.signed(
            "root",
            "GET",
            &format!("/heddle/v1/jobs?from={number}&max=2"),
            "",
        );
        let page = json_of(&page);
        let jobs = page["jobs"].as_array().expect("a list");
        assert!(jobs.len() <= 2);
        found.extend(jobs.iter().filter_map(|job| job["job"].as_u64()));
        from = page["next"].as_u64();
    }
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 7]);
    for (query, status) in [
        ("from=99", 200),
        ("from=-1", 400),
        ("from=4294967296", 400),
        ("max=0", 400),
        ("max=501", 400),
        ("max=+5", 400),
        ("max=5&max=6", 400),
        ("form=1", 400),
        ("skip=-1", 400),
        ("sort=-priority&skip=3", 200),
        ("sort=age", 400),
        ("sort=--user", 400),
    ] {
        let answer = site.signed("root", "GET", &format!("/heddle/v1/jobs?{query}"), "");
        assert_eq!(answer.status, status, "{query}");
    }
    for id in [
        "9",
        "4294967295",
        "x",
        "-1",
        "1.0",
        "4294967296",
        "application_1_1",
        "%31x",
    ] {
        let answer = site.signed("root", "GET", &format!("/heddle/v1/jobs/{id}"), "");
        let expected = if ["9", "4294967295"].contains(&id) {
            404
        } else {
            400
        };
        assert_eq!(answer.status, expected, "{id}");
    }
}

#[test]
fn errors_say_what_is_wrong_where_and_what_was_expected() {
    let site = Site::market();
    let error = |answer: &heddle_economy::http::Answer| {
        assert_eq!(answer.content_type, "application/json");
        let body = json_of(answer);
        let text = |key: &str| body["error"][key].as_str().expect("a text").to_string();
        (answer.status, text("what"), text("where"), text("expected"))
    };
    let (status, _, part, expected) = error(&site.get("/heddle/v1/prise"));
    assert_eq!((status, part.as_str()), (404, "path"));
    assert!(
        expected.contains("did you mean `/heddle/v1/price`"),
        "{expected}"
    );
    let (_, _, _, expected) = error(&site.get("/heddle/v1/queues/alice/bids"));
    assert!(
        expected.contains("did you mean `/heddle/v1/queues/alice/bid`"),
        "{expected}"
    );
    let put = site.signed("root", "PUT", "/heddle/v1/price", "{}");
    assert_eq!(header(&put, "Allow"), Some("GET, HEAD, OPTIONS"));
    assert_eq!(error(&put).0, 405);
    let body = "{\"rate\": \"many\"}";
    let amount = site.signed("alice", "PUT", "/heddle/v1/queues/alice/bid", body);
    let (status, what, part, expected) = error(&amount);
    assert_eq!((status, part.as_str()), (400, "body, `rate`"));
    assert!(
        what.starts_with("key `rate`: expected a number of credits"),
        "{what}"
    );
    assert!(expected.starts_with("a number of credits"), "{expected}");
    let (status, _, part, expected) = error(&site.get("/heddle/v1/price?currency=EUR"));
    assert_eq!(
        (status, part.as_str(), expected.as_str()),
        (400, "query", "no parameters")
    );
    let (status, what, part, _) = error(&site.get("/heddle/v1/queues"));
    assert_eq!((status, part.as_str()), (401, "header `Authorization`"));
    assert!(what.starts_with("ACCESS DENIED"), "{what}");
}

#[test]
fn methods_that_there_are_for_a_path() {
    let site = Site::market();
    let options = |path: &str| {
        site.send(&Request {
            method: "OPTIONS",
            path,
            ..site.plain()
        })
    };
    let queues = options("/heddle/v1/queues");
    assert_eq!(header(&queues, "Allow"), Some("GET, POST, HEAD, OPTIONS"));
    assert_eq!((queues.status, queues.body.len()), (204, 0));
    let bid = options("/heddle/v1/queues/x/bid");
    assert_eq!(header(&bid, "Allow"), Some("PUT, OPTIONS"));
    assert_eq!(options("/heddle/v1/nothing").status, 404);
    let head = site.send(&Request {
        method: "HEAD",
        path: "/heddle/v1/price",
        ..site.plain()
    });
    assert_eq!((head.status, head.body.len()), (200, 0));
    // A HEAD is signed as HEAD.
    let head = site.signed("alice", "HEAD", "/heddle/v1/queues/alice", "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    let head = site.send(&Request {
        method: "HEAD",
        path: "/heddle/v1/queues",
        ..site.plain()
    });
    assert_eq!((head.status, head.body.len()), (401, 0));
}

#[test]
fn types_that_there_are_not() {
    let site = Site::market();
    let as_type = |path: &str, accept: &str| {
        site.signed_with("root", "GET", path, b"", Some(accept))
            .status
    };
    assert_eq!(as_type("/heddle/v1/queues", "text/html"), 406);
    assert_eq!(as_type("/heddle/v1/queues", "text/csv"), 406);
    assert_eq!(as_type("/heddle/v1/queues", "text/html, */*;q=0.1"), 200);
    assert_eq!(as_type("/heddle/v1/ledger", "text/csv"), 200);
    let bid = |body: &[u8]| {
        let path = "/heddle/v1/queues/alice/bid";
        site.signed_with("alice", "PUT", path, body, None).status
    };
    assert_eq!(bid(b"rate=1"), 415);
    assert_eq!(bid(b"<rate>1</rate>"), 415);
    assert_eq!(bid(b"\x1f\x8b\x08\x00"), 415);
    assert_eq!(bid(b""), 400);
    assert_eq!(site.rate("root.alice"), Some(2.0));
}

/// Warnings name queues and files: everybody is told how many there are, administrators which.
#[test]
fn warnings_about_the_configuration_are_shown_to_administrators() {
    let site = Site::market();
    let warnings = ["/etc/fair.xml line 3: root.a: does not exist".to_string()];
    let asked = |user: Option<&str>, path: &str| {
        let header = user.map(|user| v2_header(user, "GET", path, "", b""));
        site.send(&Request {
            path,
            authorization: header.as_deref(),
            warnings: &warnings,
            ..site.plain()
        })
    };
    let health = asked(None, "/heddle/v1/health");
    assert_eq!(json_of(&health)["warnings"], 1);
    assert!(!text(&health).contains("root.a"));
    let path = "/heddle/v1/configuration";
    assert_eq!(asked(Some("alice"), path).status, 403);
    let shown = json_of(&asked(Some("root"), path));
    assert_eq!(shown["warnings"], json!(warnings));
}

#[test]
fn private_answers_are_not_kept_by_anybody() {
    let site = Site::market();
    for path in [
        "/heddle/v1/queues",
        "/scheduler",
        "/heddle/v1/nothing",
        "/heddle/v1/price",
    ] {
        for answer in [site.get(path), site.signed("root", "GET", path, "")] {
            assert_eq!(header(&answer, "Cache-Control"), Some("no-store"), "{path}");
            assert_eq!(
                header(&answer, "X-Content-Type-Options"),
                Some("nosniff"),
                "{path}"
            );
            assert!(
                header(&answer, "Content-Security-Policy").is_some(),
                "{path}"
            );
        }
    }
    let description = site.get("/heddle/v1/openapi.json");
    assert_eq!(
        header(&description, "Cache-Control"),
        Some("public, max-age=3600")
    );
}

#[test]
fn the_configuration_has_no_secret() {
    let site = Site::with(&market_config(), &json!({"history_intervals": 7}));
    let answer = site.signed("root", "GET", "/heddle/v1/configuration", "");
    let said = text(&answer);
    assert!(!said.contains("16_byte"), "{said}");
    let configuration = json_of(&answer);
    assert_eq!(configuration["api"]["history_intervals"], 7);
    assert_eq!(configuration["acl"]["users"], 4);
    assert_eq!(configuration["policy"]["share"], "dynamic-priority");
}

/// A host whose engine is being restarted.
struct Down;

impl Backend for Down {
    fn request(&self, _: &Value) -> Result<Value, String> {
        Err("the engine is being built anew".to_string())
    }
}

#[test]
fn without_an_engine_everything_else_is_answered() {
    let site = Site::market();
    let get = |path| {
        site.api.answer(
            &Down,
            &Request {
                path,
                ..site.plain()
            },
        )
    };
    let health = get("/heddle/v1/health");
    assert_eq!(
        (health.status, json_of(&health)["status"].clone()),
        (503, json!("down"))
    );
    let down = get("/heddle/v1/price");
    assert_eq!(
        (down.status, header(&down, "Retry-After")),
        (503, Some("1"))
    );
    assert_eq!(
        json_of(&down)["error"]["what"],
        "the engine is being built anew"
    );
    let time = json_of(&get("/heddle/v1/time"));
    assert_eq!(time, json!({"start_ms": START, "now_ms": NOW}));
    let path = "/heddle/v1/queues/alice/bid";
    let body = b"{\"rate\": 1}";
    let signature = v2_header("alice", "PUT", path, "", body);
    let bid = Request {
        method: "PUT",
        path,
        authorization: Some(&signature),
        body,
        ..site.plain()
    };
    assert_eq!(site.api.answer(&Down, &bid).status, 503);
    let price = Request {
        path: "/scheduler",
        query: "price",
        ..site.plain()
    };
    assert_eq!(site.api.answer(&Down, &price).status, 503);
}

#[test]
fn a_policy_without_accounts_has_queues_all_the_same() {
    let config = json!({"policy": "fair", "queues": [{"path": "root.alice", "weight": 3}]});
    let site = Site::with(&config, &json!({}));
    let queue = json_of(&site.signed("alice", "GET", "/heddle/v1/queues/alice", ""));
    assert_eq!(queue["scheduling"]["weight"], 3.0);
    assert_eq!(queue["account"], Value::Null);
    for (method, path, body) in [
        ("GET", "price", ""),
        ("PUT", "queues/alice/bid", "{\"rate\": 1}"),
        ("POST", "queues", "{\"queue\": \"x\"}"),
    ] {
        let none = site.signed("root", method, &format!("/heddle/v1/{path}"), body);
        assert_eq!(none.status, 404, "{method} {path}");
        assert_eq!(json_of(&none)["error"]["where"], "policy");
    }
}

/// A host's threads send requests concurrently, while intervals end and the ACL file is polled.
#[test]
fn many_threads_may_ask() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let site = Site::market();
    is_shared(&site.api);
    let budget = "/heddle/v1/queues/bob/budget";
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let site = &site;
            scope.spawn(move || {
                for i in 0..25 {
                    let added = site.signed("root", "POST", budget, "{\"add\": \"0.1\"}");
                    assert_eq!(added.status, 200);
                    assert_eq!(
                        site.signed("bob", "GET", "/heddle/v1/ledger", "").status,
                        200
                    );
                    site.api.poll(NOW + i);
                    let at_ms = START + 100 * thread + i;
                    site.api.interval(interval(at_ms, 1, Vec::new()));
                }
            });
        }
    });
    assert_eq!(site.budget_micro("root.bob"), Some(1_010_000_000));
    let changes = crate::common::audit_of(&site);
    assert_eq!(
        changes
            .iter()
            .filter(|line| line["allowed"] == true)
            .count(),
        100
    );
}
