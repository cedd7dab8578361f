//! The server itself: its clock, health, use and configuration, plans, and the description of the
//! routes. The configuration has no secrets: those are in the ACL file, whose contents are never
//! shown.

use super::body;
use crate::http::answer::{Failure, JSON, Reply};
use crate::http::exchange::Exchange;
use crate::http::usage::SAMPLE_MS;
use crate::record::BooksState;
use serde_json::{Map, Value, json};

/// `GET time`: for clients with a wrong clock, and for timestamps of version 1 (DP-33).
pub(crate) fn time(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    Ok(Reply::json(&json!({
        "start_ms": exchange.api.started_ms,
        "now_ms": exchange.api.now_ms(exchange.request),
    })))
}

/// `GET health`: 200 if requests are served, 503 if the engine is not running. Open to all, so it
/// shows states without places and reasons; `configuration` has the faults of the ACL file and the
/// warnings about the others. The addresses of the ResourceManagers are no secret: a standby
/// redirects everybody.
pub(crate) fn health(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let engine = exchange.backend.request(&json!({"op": "policies"})).is_ok();
    let acl = exchange.api.acl.lock();
    let none = exchange.api.settings.acl_file.is_none();
    let users = acl.unusable.is_none() && (none || !acl.users.is_empty());
    drop(acl);
    let books = exchange.backend.books().state;
    let journal = exchange.backend.request(&json!({"op": "journal"}));
    let shadow = exchange.backend.request(&json!({"op": "shadow"}));
    let kept = matches!(books, BooksState::Connected | BooksState::InMemory);
    let status = match (engine, users && kept) {
        (false, _) => "down",
        (true, false) => "degraded",
        (true, true) => "ok",
    };
    let mut reply = Reply::json(&json!({
        "status": status,
        "engine": engine,
        "users": users,
        "books": books,
        "journal": journal_state(journal.as_ref().unwrap_or(&Value::Null)),
        "shadow": shadow.as_ref().map_or("off", |shadow| shadow["state"].as_str().unwrap_or("off")),
        "warnings": exchange.request.warnings.len(),
        "managers": exchange.request.managers,
        "version": env!("CARGO_PKG_VERSION"),
        "start_ms": exchange.api.started_ms,
        "now_ms": exchange.request.now_ms,
    }));
    if !engine {
        reply.status = 503;
        reply = reply.with("Retry-After", "1");
    }
    Ok(reply)
}

/// Without the path and the reason, which the metrics and the log have.
fn journal_state(journal: &Value) -> &'static str {
    match (journal.is_null(), journal["stopped"].is_null()) {
        (true, _) => "off",
        (false, true) => "recording",
        (false, false) => "stopped",
    }
}

/// `GET usage`: what the cluster was used for in the last hour, a sample each ten seconds. A user
/// gets their own queues, and the counts of the whole cluster.
pub(crate) fn usage(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let from_ms = exchange.number("from_ms", 0, i64::MAX as u64)?.unwrap_or(0);
    let usage = exchange.api.usage.lock();
    Ok(Reply::json(&json!({
        "samples": usage.since(from_ms, |queue| exchange.who.sees(queue)),
        "every_ms": SAMPLE_MS,
        "now_ms": exchange.request.now_ms,
    })))
}

/// `GET configuration`: the configuration in force.
pub(crate) fn configuration(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let report = exchange.ask_queues()?;
    let keys = [
        "path",
        "weight",
        "min_share",
        "max_share",
        "max_running_jobs",
        "max_am_share",
        "acl_submit",
        "acl_admin",
        "dynamic",
    ];
    let configured = |queue: &Value| {
        let pairs = keys.iter().map(|key| (key.to_string(), queue[key].clone()));
        Value::Object(pairs.collect())
    };
    let queues = report["queues"]
        .as_array()
        .into_iter()
        .flatten()
        .map(configured);
    let settings = &exchange.api.settings;
    let acl = exchange.api.acl.lock();
    // Line numbers without the contents of the lines.
    let faults: Vec<String> = acl.faults.iter().map(ToString::to_string).collect();
    Ok(Reply::json(&json!({
        "policy": report["policy"],
        "dominant": report["dominant"],
        "warnings": exchange.request.warnings,
        "queues": queues.collect::<Vec<_>>(),
        "api": {
            "v1": settings.v1,
            "skew_ms": settings.clock.skew_ms,
            "valid_max_ms": settings.clock.valid_max_ms,
            "history_intervals": settings.history_intervals,
            "trust_web_user": settings.trust_web_user,
            "acl_settle_ms": settings.acl_settle_ms,
        },
        "acl": {
            "file": settings.acl_file.as_ref().map(|path| path.display().to_string()),
            "users": acl.users.len(),
            "faults": faults,
            "unusable": acl.unusable,
        },
    })))
}

/// What a configuration would change: the engine's answer, and the sections that wait for a start.
pub(super) fn planned(
    exchange: &Exchange<'_>,
    config: Value,
    at: &'static str,
) -> Result<Value, Failure> {
    let after_start = exchange.api.awaiting_start(&config);
    let answer = exchange
        .backend
        .request(&json!({"op": "plan", "config": config, "below": exchange.request.below}));
    let mut answer = answer.map_err(|problem| {
        let expected = "a heddle.json that `heddle check-config` finds no fault with";
        Failure::new(400, problem, at, expected)
    })?;
    answer["after_start"] = json!(after_start);
    Ok(answer)
}

/// `POST plan`: what the configuration in the body would change if it came into force now.
pub(crate) fn plan(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let config: Map<String, Value> = body::read(exchange.request.body, "{\"policy\": \"fair\"}")?;
    let answer = planned(exchange, Value::Object(config), "body")?;
    Ok(Reply::json(&answer))
}

/// `GET openapi.json`: the description of all routes; it changes only with the version.
pub(crate) fn openapi(_: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let reply = Reply::of(JSON, super::OPENAPI.as_bytes().to_vec());
    Ok(reply.with("Cache-Control", "public, max-age=3600"))
}
