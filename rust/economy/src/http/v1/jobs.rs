//! Jobs: their state, the reasons for waiting, their place in line, and their expected start and
//! end. The engine knows jobs by number; the host's names come with the request. So this module
//! searches in names, and sorts by them.
//!
//! A user sees the jobs of their queues, their own jobs in any queue, and those that YARN's access
//! control lets them view, as on the ResourceManager's own pages.

use crate::auth::role::Need;
use crate::http::answer::{Failure, Reply};
use crate::http::clock::Clock;
use crate::http::exchange::Exchange;
use crate::http::names::{self, JobName, Names};
use heddle_core::config::unknown;
use serde_json::{Value, json};

/// Jobs in one answer, by default and at most: each is explained.
const JOBS: u64 = 100;
const JOBS_MAX: u64 = 500;
/// The longest search text.
const SEARCH_CHARS_MAX: usize = 200;

/// Orders that the engine knows, and those by names.
const SORTS: &[&str] = &[
    "number",
    "submitted",
    "queue",
    "priority",
    "running",
    "pending",
    "memory",
    "start",
    "end",
    "application",
    "user",
    "name",
];

/// `GET jobs`: a page of jobs, with the reason why each waits. An administrator gets all jobs, a
/// user those that they may see. In order of number, `from` is the first one, and `next` the first
/// one of the next page; in any other order, `skip` and `next` count jobs. Every page lists the
/// jobs that are put aside, because an administrator has to let them back.
pub(crate) fn list(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let most = u64::from(u32::MAX);
    let from = exchange.number("from", 0, most)?.unwrap_or(0);
    let skip = exchange.number("skip", 0, most)?.unwrap_or(0);
    let max = exchange.number("max", 1, JOBS_MAX)?.unwrap_or(JOBS);
    let mut asked = json!({"op": "jobs", "from": from, "skip": skip, "max": max});
    let by_number = sort(exchange, &mut asked)?;
    let text = search(exchange, &mut asked)?;
    if exchange.who.may(Need::Admin).is_err() {
        asked["queues"] = seen_queues(exchange)?;
        let jobs = exchange.request.jobs.iter();
        let jobs = jobs.filter(|job| views(exchange, job));
        asked["shown"] = jobs.map(|job| job.number).collect();
    }
    let mut list = exchange.ask(&asked)?;
    let clock = Clock::new(&list["now_ms"], exchange.request.now_ms);
    let mut jobs = list["jobs"].take();
    for job in jobs.as_array_mut().into_iter().flatten() {
        put_names(exchange, job, clock);
    }
    let shown = jobs.as_array().map_or(0, Vec::len) as u64;
    let next = match (list["next"].is_null(), by_number) {
        (true, _) => Value::Null,
        (false, true) => list["next"].take(),
        (false, false) => json!(skip + shown),
    };
    Ok(Reply::json(&json!({
        "jobs": jobs, "total": list["total"], "next": next, "now_ms": exchange.request.now_ms,
        "aside": all_put_aside(exchange, &text),
    })))
}

/// Reads `sort`; returns whether the order is that of numbers, by which pages are exact.
fn sort(exchange: &Exchange<'_>, asked: &mut Value) -> Result<bool, Failure> {
    let text = exchange.query.get("sort")?.unwrap_or("number");
    let name = text.strip_prefix('-').unwrap_or(text);
    if !SORTS.contains(&name) {
        let expected = format!("{}; `-` before it reverses the order", unknown(name, SORTS));
        return Err(Failure::new(
            400,
            "there is no such order",
            "query, `sort`",
            expected,
        ));
    }
    asked["descending"] = json!(name != text);
    let key: fn(&JobName) -> &str = match name {
        "application" => |job| &job.application,
        "user" => |job| &job.user,
        "name" => |job| &job.name,
        _ => {
            asked["sort"] = json!(name);
            return Ok(text == "number");
        }
    };
    let mut named: Vec<&JobName> = exchange.request.jobs.iter().collect();
    named.sort_by(|a, b| (key(a), a.number).cmp(&(key(b), b.number)));
    asked["sort"] = json!("given");
    asked["ranks"] = named.iter().map(|job| job.number).collect();
    Ok(false)
}

/// Reads `search`: a part of a queue's path, or of an application's id, user or name. Returns it in
/// small letters.
fn search(exchange: &Exchange<'_>, asked: &mut Value) -> Result<String, Failure> {
    let text = exchange.query.get("search")?.unwrap_or("").to_lowercase();
    if text.chars().count() > SEARCH_CHARS_MAX {
        let expected = format!("at most {SEARCH_CHARS_MAX} characters");
        return Err(Failure::new(
            400,
            "the text is too long",
            "query, `search`",
            expected,
        ));
    }
    if !text.is_empty() {
        let found = exchange.request.jobs.iter().filter(|job| named(job, &text));
        asked["matching"] = found.map(|job| job.number).collect();
        asked["text"] = json!(text);
    }
    Ok(text)
}

/// Whether a text in small letters is in an application's id, user or name.
fn named(job: &JobName, text: &str) -> bool {
    let mut names = [&job.application, &job.user, &job.name].into_iter();
    names.any(|name| name.to_lowercase().contains(text))
}

/// The jobs that are kept from the engine, as far as the caller may see them.
fn all_put_aside(exchange: &Exchange<'_>, text: &str) -> Value {
    let jobs = exchange.request.jobs.iter().filter_map(|job| {
        let (queue, reason) = job.aside.as_ref()?;
        let found = named(job, text) || queue.to_lowercase().contains(text);
        (found && (views(exchange, job) || exchange.who.sees(queue))).then(|| {
            json!({
                "job": job.number, "application": job.application, "user": job.user,
                "name": job.name, "queue": queue, "reason": reason,
            })
        })
    });
    jobs.take(JOBS_MAX as usize).collect()
}

/// The paths of the queues whose jobs the caller may see.
fn seen_queues(exchange: &Exchange<'_>) -> Result<Value, Failure> {
    let queues = exchange.ask_queues()?;
    let paths = queues["queues"].as_array().into_iter().flatten();
    let paths = paths.filter_map(|queue| queue["path"].as_str());
    Ok(paths.filter(|path| exchange.who.sees(path)).collect())
}

/// `GET jobs/{id}`: one job, as the list has it.
pub(crate) fn one(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let id = number(exchange)?;
    let (mut job, clock) = own(exchange, &id)?;
    put_names(exchange, &mut job, clock);
    Ok(Reply::json(&job))
}

/// `GET explain/{job}`: the reasons why it waits, the remedies, and the last decisions about it.
pub(crate) fn explain(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let id = number(exchange)?;
    let names = Names::of(exchange.request);
    let aside = id.as_u64().and_then(|number| names.aside(number));
    let mut explained = match aside {
        Some((queue, reason)) => {
            may_see(exchange, &id, queue)?;
            put_aside(&id, queue, reason, exchange.request.now_ms)
        }
        None => {
            own(exchange, &id)?;
            explained(exchange, &id)?
        }
    };
    name(&mut explained, &id, names);
    explained["nodes_aside"] = names.nodes_aside().into();
    let clock = Clock::new(&explained["now_ms"], exchange.request.now_ms);
    for (list, time) in [("waits", "since_ms"), ("trace", "at_ms")] {
        for entry in explained[list].as_array_mut().into_iter().flatten() {
            clock.put_right(&mut entry[time]);
        }
    }
    clock.put_right(&mut explained["now_ms"]);
    Ok(Reply::json(&explained))
}

/// Describes a job that is kept from the engine; the host gives the reason.
fn put_aside(id: &Value, queue: &str, reason: &str, now_ms: u64) -> Value {
    json!({
        "job": id, "queue": queue, "now_ms": now_ms, "sentence": reason, "waits": [], "noted": 0,
        "trace": [], "aside": reason,
    })
}

/// Replaces the numbers in an explanation by names. Its times are still the engine's.
fn name(explained: &mut Value, id: &Value, names: Names<'_>) {
    names.put(explained, id);
    names.put_into(&mut explained["sentence"], None);
    for wait in explained["waits"].as_array_mut().into_iter().flatten() {
        names.put_into(&mut wait["sentence"], None);
    }
    for entry in explained["trace"].as_array_mut().into_iter().flatten() {
        let at_ms = entry["at_ms"].as_i64();
        names.put_into(&mut entry["sentence"], at_ms);
        if let Some(node) = entry["node"].as_u64() {
            entry["host"] = names.node(node, at_ms).into();
        }
    }
}

/// Returns the number of the job in the path, which is a number or an application id.
fn number(exchange: &Exchange<'_>) -> Result<Value, Failure> {
    let text = &exchange.variables[0];
    if names::is_application(text) {
        let number = Names::of(exchange.request).number(text);
        return number.map(Value::from).ok_or_else(no_job);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u32>().ok().filter(|_| digits);
    number.map(Value::from).ok_or_else(|| {
        let expected = "an application such as application_1700000000000_0007, or the number \
                        that GET jobs gives";
        Failure::new(400, "this is not a job", "path", expected)
    })
}

/// Completes a row of the engine: names for numbers, and times of day.
fn put_names(exchange: &Exchange<'_>, job: &mut Value, clock: Clock) {
    let names = Names::of(exchange.request);
    let number = job["job"].clone();
    names.put(job, &number);
    names.put_into(&mut job["waits_for"], None);
    clock.put_right(&mut job["submitted_ms"]);
    if let Value::Object(prediction) = &mut job["prediction"] {
        prediction.remove("job");
        for moment in ["start", "end"] {
            for time in ["earliest_ms", "expected_ms", "latest_ms"] {
                if let Some(at) = prediction.get_mut(moment).and_then(|at| at.get_mut(time)) {
                    clock.put_right(at);
                }
            }
        }
    }
}

/// Returns a job that the caller may see, as a row of the engine.
fn own(exchange: &mut Exchange<'_>, id: &Value) -> Result<(Value, Clock), Failure> {
    let mut list = exchange.ask(&json!({"op": "jobs", "from": id, "max": 1}))?;
    let job = list["jobs"].as_array_mut().and_then(Vec::pop);
    // Without that number, the list begins with the next one.
    let job = job.filter(|job| job["job"] == *id).ok_or_else(no_job)?;
    may_see(exchange, id, job["queue"].as_str().unwrap_or(""))?;
    Ok((job, Clock::new(&list["now_ms"], exchange.request.now_ms)))
}

fn may_see(exchange: &mut Exchange<'_>, id: &Value, queue: &str) -> Result<(), Failure> {
    exchange.queue = Some(queue.to_string());
    let mut jobs = exchange.request.jobs.iter();
    let job = jobs.find(|job| Some(u64::from(job.number)) == id.as_u64());
    match job.is_some_and(|job| views(exchange, job)) {
        true => Ok(()),
        false => exchange.who.may(Need::Queue(queue)),
    }
}

/// Whether the caller may see a job whatever its queue. YARN's list is about the user whom the web
/// server knows, who need not be the one who signed.
fn views(exchange: &Exchange<'_>, job: &JobName) -> bool {
    let (request, caller) = (exchange.request, exchange.who.caller());
    caller.is_some_and(|caller| {
        caller.user == job.user
            || (request.user == Some(&caller.user) && request.viewed.contains(&job.number))
    })
}

/// Asks the engine why a job waits, which may have ended by now.
fn explained(exchange: &Exchange<'_>, id: &Value) -> Result<Value, Failure> {
    let answer = exchange
        .backend
        .request(&json!({"op": "explain", "job": id}));
    answer.map_err(|problem| match problem.starts_with("key `job`") {
        true => no_job(),
        false => Failure::engine(&problem),
    })
}

fn no_job() -> Failure {
    let expected = "a job that has not ended; GET jobs lists them";
    Failure::new(404, "there is no such job", "path", expected)
}
