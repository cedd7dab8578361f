//! The description and the router agree, and answers match their description.

use crate::common::{NOW, START, Site, interval, json_of, market_config, row, text};
use heddle_economy::http::{Answer, OPENAPI, Request, routes};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn description() -> Value {
    serde_json::from_str(OPENAPI).expect("JSON")
}

/// Follows a reference inside the description.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => document
            .pointer(reference.strip_prefix('#').expect("of this document"))
            .unwrap_or_else(|| panic!("{reference} is nowhere")),
        None => value,
    }
}

#[test]
fn routes_and_description_are_the_same() {
    let document = description();
    let mut described = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let named = operation["parameters"].as_array().into_iter().flatten();
            let named = named.map(|parameter| resolved(&document, parameter));
            let (mut inside, mut query) = (BTreeSet::new(), BTreeSet::new());
            for parameter in named {
                let name = parameter["name"].as_str().expect("a name").to_string();
                match parameter["in"].as_str() {
                    Some("path") => inside.insert(name),
                    _ => query.insert(name),
                };
            }
            let variables = path.split('/').filter_map(|part| part.strip_prefix('{'));
            let variables: BTreeSet<String> = variables
                .map(|part| part.trim_end_matches('}').to_string())
                .collect();
            assert_eq!(inside, variables, "{method} {path}");
            let open = operation["security"] == json!([]);
            described.insert((method.to_uppercase(), path.clone(), open, query));
        }
    }
    let built: BTreeSet<_> = routes()
        .map(|route| {
            let query = route.parameters.iter().map(ToString::to_string).collect();
            (
                route.method.to_string(),
                format!("/{}", route.path),
                route.is_open,
                query,
            )
        })
        .collect();
    assert_eq!(described, built);
    assert_eq!(document["servers"][0]["url"], "/heddle/v1");
}

/// Makes schemas exact: a key without a description is an error of the description.
fn exact(value: &mut Value) {
    if let Some(object) = value.as_object_mut() {
        if object.contains_key("properties") && !object.contains_key("additionalProperties") {
            object.insert("additionalProperties".to_string(), false.into());
        }
        object.values_mut().for_each(exact);
    } else if let Some(list) = value.as_array_mut() {
        list.iter_mut().for_each(exact);
    }
}

/// Checks a body against its schema in the description.
fn check(document: &Value, method: &str, path: &str, answer: &Answer) {
    let operation = &document["paths"][path][method.to_lowercase()];
    let response = &operation["responses"][answer.status.to_string()];
    assert!(
        !response.is_null(),
        "{method} {path}: {} is not described",
        answer.status
    );
    let response = resolved(document, response);
    let mime = answer.content_type.split(';').next().unwrap_or("");
    if mime.is_empty() {
        assert!(
            response["content"].is_null() && answer.body.is_empty(),
            "{method} {path}"
        );
        return;
    }
    let schema = &response["content"][mime]["schema"];
    assert!(
        !schema.is_null(),
        "{method} {path}: {mime} is not described"
    );
    let body = match mime {
        "application/json" => json_of(answer),
        _ => text(answer).into(),
    };
    // The schema refers to others of the document by path.
    let mut whole = json!({"components": document["components"], "allOf": [schema]});
    exact(&mut whole);
    let validator = jsonschema::validator_for(&whole).expect("a schema");
    let faults: Vec<String> = validator
        .iter_errors(&body)
        .map(|fault| format!("{}: {fault}", fault.instance_path))
        .collect();
    assert!(faults.is_empty(), "{method} {path}: {faults:#?}\n{body:#}");
}

/// Creates a site with three jobs on the market, and with two intervals in memory.
fn busy_site() -> Site {
    let site = Site::market();
    site.cluster().until(20_000);
    site.cluster().submit(3, "bob", 2);
    for i in 1..=2 {
        let rows = vec![row("root.bob", 5)];
        site.api.interval(interval(START + i, 1, rows));
    }
    site
}

/// Method, path in the description, target, body.
const REQUESTS: &[(&str, &str, &str, &str)] = &[
    ("POST", "/queues", "queues", "{\"queue\": \"carol\"}"),
    ("GET", "/queues", "queues", ""),
    ("GET", "/queues/{queue}", "queues/alice", ""),
    ("GET", "/queues/{queue}", "queues/carol", ""),
    (
        "PUT",
        "/queues/{queue}/bid",
        "queues/alice/bid",
        "{\"rate\": \"0.5\"}",
    ),
    (
        "POST",
        "/queues/{queue}/budget",
        "queues/alice/budget",
        "{\"add\": 12}",
    ),
    (
        "GET",
        "/queues/{queue}/advice",
        "queues/alice/advice?slots=9",
        "",
    ),
    (
        "GET",
        "/queues/{queue}/advice",
        "queues/carol/advice?slots=13&pool=0",
        "",
    ),
    ("DELETE", "/queues/{queue}", "queues/carol", ""),
    ("GET", "/jobs", "jobs", ""),
    ("GET", "/jobs", "jobs?max=1", ""),
    ("GET", "/jobs", "jobs?sort=-user&search=a&skip=1", ""),
    ("GET", "/nodes", "nodes?max=2", ""),
    ("GET", "/usage", "usage?from_ms=1", ""),
    ("GET", "/jobs/{id}", "jobs/1", ""),
    ("GET", "/jobs/{id}", "jobs/3", ""),
    ("GET", "/explain/{job}", "explain/1", ""),
    ("GET", "/shares", "shares", ""),
    ("GET", "/price", "price", ""),
    ("GET", "/price/history", "price/history?max=1", ""),
    ("GET", "/ledger", "ledger", ""),
    ("GET", "/ledger", "ledger?queue=bob&max=1", ""),
    ("GET", "/configuration", "configuration", ""),
    ("GET", "/configuration/file", "configuration/file", ""),
    (
        "PUT",
        "/configuration/file",
        "configuration/file",
        "{\"policy\": \"fifo\"}",
    ),
    (
        "POST",
        "/configuration/rollback",
        "configuration/rollback",
        "{}",
    ),
    ("POST", "/plan", "plan", "{\"policy\": \"fifo\"}"),
    ("GET", "/shadow", "shadow", ""),
    ("GET", "/health", "health", ""),
    ("GET", "/time", "time", ""),
    ("GET", "/openapi.json", "openapi.json", ""),
];

#[test]
fn answers_of_every_route_are_as_described() {
    let document = description();
    let site = busy_site();
    for route in routes() {
        let path = format!("/{}", route.path);
        let tried = REQUESTS
            .iter()
            .any(|row| row.0 == route.method && row.1 == path);
        assert!(tried, "{} {path} is not tried", route.method);
    }
    for &(method, path, target, body) in REQUESTS {
        let answer = site.signed("root", method, &format!("/heddle/v1/{target}"), body);
        assert!(
            (200..300).contains(&answer.status),
            "{method} {target}: {}",
            text(&answer)
        );
        check(&document, method, path, &answer);
    }
    let csv = site.signed_with("root", "GET", "/heddle/v1/ledger", b"", Some("text/csv"));
    check(&document, "GET", "/ledger", &csv);
}

#[test]
fn without_accounts_too() {
    let document = description();
    let config = json!({"policy": "hfsp", "queues": [{"path": "root.alice"}]});
    let site = Site::with(&config, &json!({}));
    site.cluster().submit(1, "alice", 20);
    site.cluster().beat();
    site.cluster().until(5_000);
    for (path, target) in [
        ("/queues", "queues"),
        ("/queues/{queue}", "queues/alice"),
        ("/queues/{queue}/advice", "queues/alice/advice?slots=1"),
        ("/shares", "shares"),
        ("/price", "price"),
        ("/jobs", "jobs"),
        ("/jobs/{id}", "jobs/1"),
        ("/nodes", "nodes"),
        ("/usage", "usage"),
        ("/explain/{job}", "explain/1"),
        ("/configuration", "configuration"),
    ] {
        let answer = site.signed("root", "GET", &format!("/heddle/v1/{target}"), "");
        check(&document, "GET", path, &answer);
    }
}

/// Every error of a route is in its description, and has the described form.
#[test]
fn errors_of_every_route_are_as_described() {
    let document = description();
    let site = busy_site();
    for route in routes() {
        let path = format!("/{}", route.path);
        let target = path
            .replace("{queue}", "nobody")
            .replace("{id}", "99")
            .replace("{job}", "99");
        let target = format!("/heddle/v1{target}");
        let body = if matches!(route.method, "PUT" | "POST") {
            "{\"x\": 1}"
        } else {
            ""
        };
        let png = Some("image/png");
        let unsigned = Request {
            method: route.method,
            path: &target,
            body: body.as_bytes(),
            ..site.plain()
        };
        let long = vec![b'{'; heddle_economy::http::CONFIGURATION_BYTES_MAX + 1];
        let answers = [
            site.send(&unsigned),
            site.send(&Request {
                accept: png,
                ..unsigned
            }),
            site.send(&Request {
                query: "x=1",
                ..unsigned
            }),
            site.send(&Request {
                query: "%",
                ..unsigned
            }),
            site.send(&Request {
                body: &long,
                ..unsigned
            }),
            site.signed("root", route.method, &target, body),
            site.signed("root", route.method, &target, "rate=1"),
            site.signed("alice", route.method, &target, body),
        ];
        for answer in &answers {
            check(&document, route.method, &path, answer);
        }
    }
    let refused = site.signed(
        "root",
        "POST",
        "/heddle/v1/queues",
        "{\"queue\": \"alice\"}",
    );
    assert_eq!(refused.status, 409);
    check(&document, "POST", "/queues", &refused);
}

/// Proves that the test above detects a wrong answer.
#[test]
fn a_wrong_answer_is_noticed() {
    let document = description();
    let site = Site::with(&market_config(), &json!({}));
    let right = site.get("/heddle/v1/time");
    check(&document, "GET", "/time", &right);
    for wrong in [
        json!({"start_ms": START}),
        json!({"start_ms": START, "now_ms": "x"}),
        json!({"start_ms": START, "now_ms": NOW, "more": 1}),
    ] {
        let mut answer = right.clone();
        answer.body = wrong.to_string().into_bytes();
        let noticed = std::panic::catch_unwind(|| check(&document, "GET", "/time", &answer));
        assert!(noticed.is_err(), "{wrong}");
    }
}
