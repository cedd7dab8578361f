//! Hostile requests: names that are markup, broken escapes, bodies that are too long, invalid
//! numbers.

use crate::common::{
    NOW, Site, audit_of, header, interval, json_of, market_config, paths, row, text,
};
use heddle_economy::auth::query::quoted;
use heddle_economy::http::{Answer, Request};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The interface allows all of these: they have no blanks and no control characters.
const NAMES: &[&str] = &[
    "</queue><price>0</price><queue>",
    "\"><script>alert(1)</script>",
    "a\"onload=\"x",
    "]]>",
    "<!--",
    "&amp;&lt;&#0;",
    "'\"`$(id)",
    "%00%0a",
    "\u{202e}gnirts",
    "\u{1f980}\u{e9}\u{fffe}",
    "\u{200b}\u{200d}",
    "=cmd|'/C'!A0",
    "/etc/passwd",
    "a/b",
    "{queue}",
    "NaN",
];

#[test]
fn hostile_names_of_queues_are_names() {
    let site = Site::market();
    for (i, name) in NAMES.iter().enumerate() {
        let at_ms = NOW + 10 * i as u64;
        let query = format!("addQueue={}", quoted(name));
        let added = site.command("GET", &query, "root", at_ms);
        assert_eq!(added.status, 200, "{name}: {}", text(&added));
        let path = format!("root.{name}");
        let target = format!("/heddle/v1/queues/{}", quoted(name));
        let one = json_of(&site.signed("root", "GET", &target, ""));
        assert_eq!(one["queue"], path.as_str());
        let list = json_of(&site.signed("root", "GET", "/heddle/v1/queues", ""));
        assert!(paths(&list["queues"]).contains(&path.as_str()), "{name}");
        let infos = text(&site.command("GET", "infos", "root", at_ms + 1));
        assert!(infos.is_ascii());
        let document = roxmltree::Document::parse(&infos).expect("XML");
        let children = document
            .root_element()
            .children()
            .filter(|child| child.is_element());
        let tags: Vec<_> = children.map(|child| child.tag_name().name()).collect();
        assert_eq!(tags, ["host", "price", "queue", "queue", "queue"], "{name}");
        let queues = document
            .descendants()
            .filter(|node| node.has_tag_name("queue"));
        let names: Vec<_> = queues.filter_map(|node| node.attribute("name")).collect();
        // XML cannot say U+FFFE.
        assert!(
            names.contains(&name.replace('\u{fffe}', "\u{fffd}").as_str()),
            "{names:?}"
        );
        let removed = site.signed("root", "DELETE", &target, "");
        assert_eq!(removed.status, 204, "{name}");
    }
    assert_eq!(audit_of(&site).len(), 2 * NAMES.len());
}

#[test]
fn hostile_names_in_the_ledger_stay_in_their_cell() {
    let site = Site::with(&market_config(), &json!({}));
    let names = ["root.a,b", "root.\"q\"", "root.=1+1", "root.\u{1f980}"];
    let rows = names.iter().map(|queue| row(queue, 5)).collect();
    site.api.interval(interval(NOW, 1, rows));
    let csv = site.signed_with("root", "GET", "/heddle/v1/ledger", b"", Some("text/csv"));
    let mut reader = csv::Reader::from_reader(csv.body.as_slice());
    let cells = reader
        .records()
        .map(|record| record.expect("a record")[1].to_string());
    assert_eq!(cells.collect::<Vec<_>>(), names);
}

#[test]
fn names_that_are_none_are_refused() {
    let site = Site::market();
    let long = "a".repeat(256);
    for name in [
        "%20",
        "a%0Ab",
        "a%09",
        "a..b",
        ".a",
        "a.",
        "%E2%80%A8",
        "%00",
        &long,
    ] {
        let target = format!("/heddle/v1/queues/{name}");
        let refused = site.signed("root", "GET", &target, "");
        assert_eq!(refused.status, 400, "{name}: {}", text(&refused));
        let query = format!("addQueue={name}");
        let refused = site.command("GET", &query, "root", NOW);
        assert_eq!(refused.status, 400, "{name}");
    }
    for body in [
        "{\"queue\": \"\"}",
        "{\"queue\": \"a b\"}",
        "{\"queue\": \"a\\u0000\"}",
        "{\"queue\": \"a\\ud800\"}",
        "{\"queue\": 1}",
        "{\"queue\": null}",
        "{\"queue\": [\"a\"]}",
        "{\"queue\": \"a\", \"queue\": \"b\"}",
        "{\"queue\": \"a\", \"budget\": 5}",
    ] {
        let refused = site.signed("root", "POST", "/heddle/v1/queues", body);
        assert_eq!(refused.status, 400, "{body}");
    }
}

#[test]
fn broken_escapes_are_refused() {
    let site = Site::market();
    for path in [
        "queues/%",
        "queues/%4",
        "queues/%zz",
        "queues/%ff",
        "queues/%c0%af",
        "jobs/%+1",
    ] {
        let refused = site.signed("root", "GET", &format!("/heddle/v1/{path}"), "");
        assert_eq!(refused.status, 400, "{path}: {}", text(&refused));
        assert_eq!(json_of(&refused)["error"]["where"], "path");
    }
    for query in [
        "price=%",
        "price&x=%zz",
        "price&x=%ff",
        "price&price",
        "price&time",
    ] {
        assert_eq!(
            site.get(&format!("/scheduler?{query}")).status,
            400,
            "{query}"
        );
    }
    for query in ["max=%31", "m%61x=1", "max=1&%6dax=2", "max=%"] {
        let answer = site.signed("root", "GET", &format!("/heddle/v1/jobs?{query}"), "");
        // A value may be escaped; an escaped name is unknown.
        let expected = if query == "max=%31" { 200 } else { 400 };
        assert_eq!(answer.status, expected, "{query}");
    }
}

#[test]
fn paths_lead_nowhere_else() {
    let site = Site::market();
    for path in [
        "/heddle/v1/queues/../configuration",
        "/heddle/v1/./configuration",
        "/heddle/v1//configuration",
        "/heddle/v1/configuration/",
        "/heddle/v1/CONFIGURATION",
        "/heddle/v1/configuration;x=1",
        "/heddle/v1/%63onfiguration",
        "/heddle/v1/queues/a%2fb/bid/",
        "/heddle/v1",
        "/heddle/v1/",
        "/heddle/v1x",
        "/",
        "",
        "*",
        "/scheduler/",
        "/Scheduler",
        "/cluster",
        "http://rm1/heddle/v1/price",
    ] {
        let answer = site.signed("root", "GET", path, "");
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(header(&answer, "X-Content-Type-Options"), Some("nosniff"));
    }
    let deep = format!("/heddle/v1/{}", "a/".repeat(900));
    assert_eq!(site.get(&deep).status, 404);
    let long = format!("/heddle/v1/{}", "a".repeat(3_000));
    assert_eq!(site.get(&long).status, 414);
    let query = format!("/heddle/v1/price?{}", "a".repeat(9_000));
    assert_eq!(site.get(&query).status, 414);
    assert_eq!(
        site.get(&format!("/scheduler?{}", "a".repeat(9_000)))
            .status,
        413
    );
}

#[test]
fn long_bodies_are_refused_before_they_are_looked_at() {
    let site = Site::market();
    let path = "/heddle/v1/queues/alice/bid";
    let megabyte = format!("{{\"rate\": \"{}1\"}}", "0".repeat((1 << 20) + 1));
    let nested = format!("{{\"rate\": {}", "[".repeat((1 << 20) + 1));
    for body in [&megabyte, &nested] {
        let refused = site.signed("alice", "PUT", path, body);
        assert_eq!(refused.status, 413);
        let refused = site.send(&Request {
            method: "POST",
            path: "/scheduler",
            query: "price",
            body: body.as_bytes(),
            ..site.plain()
        });
        assert_eq!(refused.status, 413);
    }
    // One byte above the limit is refused.
    for (length, status) in [(0, 400), (1, 413)] {
        let digits = "0".repeat(heddle_economy::http::BODY_BYTES_MAX - 12 + length);
        let body = format!("{{\"rate\": \"{digits}\"}}");
        assert_eq!(body.len(), heddle_economy::http::BODY_BYTES_MAX + length);
        assert_eq!(site.signed("alice", "PUT", path, &body).status, status);
    }
    // The deepest nesting that the limit allows.
    let deep = format!("{{\"rate\": {}1{}}}", "[".repeat(8_000), "]".repeat(8_000));
    assert_eq!(site.signed("alice", "PUT", path, &deep).status, 400);
    let zeros = format!("{{\"rate\": \"{}1\"}}", "0".repeat(16_000));
    assert_eq!(site.signed("alice", "PUT", path, &zeros).status, 400);
    // A body on a route without one.
    assert_eq!(
        site.signed("alice", "GET", "/heddle/v1/queues", "{}")
            .status,
        400
    );
    assert_eq!(
        site.signed("root", "DELETE", "/heddle/v1/queues/bob", "{}")
            .status,
        400
    );
    assert_eq!(site.rate("root.alice"), Some(2.0));
    assert_eq!(site.budget_micro("root.bob"), Some(1_000_000_000));
}

#[test]
fn numbers_that_are_none_change_nothing() {
    let site = Site::market();
    for (i, number) in [
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "inf",
        "-1",
        "-0",
        "1e309",
        "0x10",
        "1,5",
        "1 ",
        "",
        "1000000001",
        "0.0000001",
        "18446744073709551616",
        "\u{661}",
        "1_000",
        "--1",
        "1.2.3",
        "+1",
        "null",
        "true",
        "[]",
        "{}",
    ]
    .into_iter()
    .enumerate()
    {
        for (path, key) in [("bid", "rate"), ("budget", "add")] {
            let target = format!("/heddle/v1/queues/alice/{path}");
            // Outside a text, JSON allows blanks around a number.
            let bare = format!("{{\"{key}\": {}}}", number.replace("1 ", "1 2"));
            let quoted = format!("{{\"{key}\": {}}}", Value::from(number));
            for body in [bare, quoted] {
                let method = if path == "bid" { "PUT" } else { "POST" };
                let refused = site.signed("root", method, &target, &body);
                assert_eq!(refused.status, 400, "{body}");
            }
        }
        for command in ["setSpending", "addBudget"] {
            let query = format!("{command}={}&queue=alice", quoted(number));
            let refused = site.command("GET", &query, "root", NOW + i as u64);
            assert_eq!(refused.status, 400, "{query}");
        }
    }
    assert_eq!(site.rate("root.alice"), Some(2.0));
    assert_eq!(site.budget_micro("root.alice"), Some(100_000_000));
}

/// Checks the rules that every answer keeps.
fn sound(answer: &Answer) {
    let known = [
        200, 201, 204, 400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 429,
    ];
    assert!(known.contains(&answer.status), "{}", answer.status);
    for (name, value) in &answer.headers {
        let visible = |byte: u8| (0x20..0x7f).contains(&byte);
        assert!(value.bytes().all(visible), "{name}: {value:?}");
    }
    let mut names: Vec<_> = answer.headers.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), answer.headers.len(), "{names:?}");
    match answer.content_type {
        "application/json" if !answer.body.is_empty() => {
            json_of(answer);
        }
        "text/xml" if !answer.body.is_empty() => {
            assert!(roxmltree::Document::parse(&text(answer)).is_ok());
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// No request, signed by the administrator or unsigned, brings the service down, and every
    /// answer is a valid one.
    #[test]
    fn anything_is_answered(
        method in "GET|PUT|POST|DELETE|HEAD|OPTIONS|[A-Z]{0,5}|\\PC{0,4}",
        path in "/scheduler|/heddle/v1/(queues|jobs|explain|price|ledger|shares)\
                (/(alice|1|\\PC{0,9}|%[0-9a-g]{2})){0,2}\
                (/bid|/budget|/history|/advice)?|\\PC{0,30}",
        query in "|(info|infos|queue|max|slots|pool|from_ms|setSpending|addBudget|price)\
                 (=(\\PC{0,6}|[0-9]{1,25}|%[0-9a-g]{2}))?(&queue=alice)?|\\PC{0,30}",
        body in "|\\{\"(rate|add|queue)\": ?(\"?[0-9.eE+-]{0,12}\"?|\\PC{0,9})\\}?|\\PC{0,30}",
        accept in proptest::option::of("\\PC{0,20}"),
        authorization in proptest::option::of("\\PC{0,40}|Heddle-HMAC-SHA256 \\PC{0,60}"),
        signed: bool,
    ) {
        let site = Site::market();
        let header = match signed {
            true => Some(crate::common::v2_header("root", &method, &path, &query, body.as_bytes())),
            false => authorization,
        };
        sound(&site.send(&Request {
            method: &method,
            path: &path,
            query: &query,
            authorization: header.as_deref(),
            accept: accept.as_deref(),
            body: body.as_bytes(),
            ..site.plain()
        }));
    }
}
