//! Jobs: their state, the reasons for waiting, and their expected start and end. The engine knows
//! jobs by number; the host's names come with the request.

use crate::auth::role::Need;
use crate::http::answer::{Failure, Reply};
use crate::http::clock::Clock;
use crate::http::exchange::Exchange;
use crate::http::names::{self, Names};
use serde_json::{Value, json};

/// Limit of jobs in one answer: the engine is asked for each.
const JOBS: u64 = 100;
const JOBS_MAX: u64 = 500;

/// `GET jobs`: a page of jobs from a number on, with the reason why each waits. An administrator
/// gets all jobs, a user their own.
pub(crate) fn list(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let from = exchange
        .number("from", 0, u64::from(u32::MAX))?
        .unwrap_or(0);
    let max = exchange.number("max", 1, JOBS_MAX)?.unwrap_or(JOBS);
    let waits = exchange.ask(&json!({"op": "waits", "from": from, "max": max}))?;
    let told = waits["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    // The engine counts only jobs that wait for something.
    let (page, rest) = told.split_at(told.len().min(max as usize));
    let mut jobs = Vec::new();
    for entry in page {
        // It may have ended since.
        if let Some(job) = found(exchange, &entry[0])?
            && exchange.who.sees(job["queue"].as_str().unwrap_or(""))
        {
            jobs.push(row(exchange, &job, &entry[1]));
        }
    }
    let next = rest.first().map_or(&waits["next"], |entry| &entry[0]);
    let next = next.as_u64().filter(|next| *next > 0);
    Ok(Reply::json(&json!({
        "jobs": jobs, "next": next, "now_ms": exchange.request.now_ms,
    })))
}

/// `GET jobs/{id}`: one job, with its expected start and end.
pub(crate) fn one(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let id = number(exchange)?;
    let report = own(exchange, &id)?;
    let explained = of_job(exchange, "explain", &id)?;
    let predicted = of_job(exchange, "predict", &id)?;
    let clock = Clock::new(&explained["now_ms"], exchange.request.now_ms);
    let mut job = row(exchange, &report, &explained["sentence"]);
    job["submitted_ms"] = report["submitted_ms"].clone();
    clock.put_right(&mut job["submitted_ms"]);
    job["prediction"] = predicted["jobs"][0].clone();
    if let Value::Object(prediction) = &mut job["prediction"] {
        prediction.remove("job");
        let clock = Clock::new(&predicted["now_ms"], exchange.request.now_ms);
        for moment in ["start", "end"] {
            for time in ["earliest_ms", "expected_ms", "latest_ms"] {
                if let Some(at) = prediction.get_mut(moment).and_then(|at| at.get_mut(time)) {
                    clock.put_right(at);
                }
            }
        }
    }
    Ok(Reply::json(&job))
}

/// `GET explain/{job}`: the reasons why it waits, the remedies, and the last decisions about it.
pub(crate) fn explain(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let id = number(exchange)?;
    let names = Names::of(exchange.request);
    let aside = id.as_u64().and_then(|number| names.aside(number));
    let mut explained = match aside {
        Some((queue, reason)) => {
            may_see(exchange, queue)?;
            put_aside(&id, queue, reason, exchange.request.now_ms)
        }
        None => {
            own(exchange, &id)?;
            of_job(exchange, "explain", &id)?
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

/// Asks the engine for a job; `None` if it does not exist.
fn found(exchange: &Exchange<'_>, id: &Value) -> Result<Option<Value>, Failure> {
    match exchange.backend.request(&json!({"op": "job", "job": id})) {
        Ok(job) => Ok(Some(job)),
        Err(problem) if problem.starts_with("key `job`") => Ok(None),
        Err(problem) => Err(Failure::engine(&problem)),
    }
}

/// Formats a job for a list.
fn row(exchange: &Exchange<'_>, job: &Value, waits_for: &Value) -> Value {
    let names = Names::of(exchange.request);
    let mut row = json!({
        "job": job["job"],
        "queue": job["queue"],
        "priority": job["priority"],
        "mapreduce": job["mapreduce"],
        "runnable": job["runnable"],
        "running": job["running"],
        "masters": job["masters"],
        "done": job["done"],
        "used": job["used"],
        "maps": job["hints"]["maps"],
        "reduces": job["hints"]["reduces"],
        "waits_for": waits_for,
    });
    names.put(&mut row, &job["job"]);
    names.put_into(&mut row["waits_for"], None);
    row
}

/// Returns a job whose queue the caller may see.
fn own(exchange: &mut Exchange<'_>, id: &Value) -> Result<Value, Failure> {
    let job = found(exchange, id)?.ok_or_else(no_job)?;
    may_see(exchange, job["queue"].as_str().unwrap_or(""))?;
    Ok(job)
}

fn may_see(exchange: &mut Exchange<'_>, queue: &str) -> Result<(), Failure> {
    exchange.queue = Some(queue.to_string());
    exchange.who.may(Need::Queue(queue))?;
    Ok(())
}

/// Asks the engine more about a job, which may have ended by now.
fn of_job(exchange: &Exchange<'_>, op: &str, id: &Value) -> Result<Value, Failure> {
    let answer = exchange.backend.request(&json!({"op": op, "job": id}));
    answer.map_err(|problem| match problem.starts_with("key `job`") {
        true => no_job(),
        false => Failure::engine(&problem),
    })
}

fn no_job() -> Failure {
    let expected = "a job that has not ended; GET jobs lists them";
    Failure::new(404, "there is no such job", "path", expected)
}
