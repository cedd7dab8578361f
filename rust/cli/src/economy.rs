//! Lists the commands that query or change a ResourceManager, with or without an economy.
//! Implements those that are one request and one table; longer ones have files of their own.
//! Decides nothing: the server says what is allowed and what an amount is.

mod advise;
mod apply;
mod income;
mod jobs;
mod ledger;
mod nodes;
mod plan;
mod queues;
mod sign;
mod top;

use crate::failure::{self, Failure};
use crate::remote::{Client, Holds, Server};
use crate::terminal::{pairs, print, said, table, time};
use clap::{Args, Subcommand};
use heddle_economy::auth::amount;
use heddle_economy::auth::query::quoted;
use queues::market;
use serde_json::{Value, json};
use std::process::ExitCode;

/// `price --history` asks for no more prices than this.
const HISTORY_MAX: usize = 10_000;

/// What concerns one queue.
#[derive(Args)]
pub(crate) struct OfQueue {
    /// The queue's name or path, such as alice or root.alice.
    #[arg(value_name = "QUEUE")]
    queue: String,
    #[command(flatten)]
    server: Server,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Jobs with their place in line, expected start and end, and what each waits for; under every
    /// policy.
    Jobs(jobs::Jobs),
    /// Why a job waits, what would change that, and what was decided of it lately; under every
    /// policy.
    Explain {
        /// The application, such as application_1700000000000_0007, or the job's number, as
        /// `heddle jobs` gives it.
        #[arg(value_name = "JOB", value_parser = job)]
        job: String,
        #[command(flatten)]
        server: Server,
    },
    /// Jobs, queues, nodes, use and health in tables that stay up to date; with accounts also bids
    /// and budgets.
    Top(top::Top),
    /// What a configuration would change if it came into force now: queues, shares, and containers
    /// that would be taken back; under every policy (administrators). Changes nothing.
    Plan(plan::Plan),
    /// Brings a configuration into force and keeps it as the ResourceManager's heddle.json, after
    /// the plan and a confirmation (administrators).
    Apply(apply::Apply),
    /// Brings the configuration before the last change into force again (administrators).
    Rollback(apply::Rollback),
    /// All queues that you may see, one line each; under every policy.
    Infos {
        #[command(flatten)]
        server: Server,
    },
    /// One queue: its share, its jobs and, if it has one, its account.
    Info(OfQueue),
    /// The price of a slot for one allocation interval; needs a secret only for the history.
    Price {
        /// Shows the last N prices that the server remembers.
        #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20")]
        history: Option<usize>,
        #[command(flatten)]
        server: Server,
    },
    /// Sets what a queue pays per slot and allocation interval.
    Bid {
        /// The queue's name or path.
        queue: String,
        /// Credits, such as 0.5; at most six decimals.
        rate: String,
        #[command(flatten)]
        server: Server,
    },
    /// Tells what a queue must bid for N slots, what they cost, and when its budget ends.
    /// Changes nothing.
    Advise(advise::Advise),
    /// Adds credits to a queue's account (administrators).
    Budget {
        /// The queue's name or path.
        queue: String,
        /// How many to add, such as +12.
        #[arg(value_name = "+CREDITS", allow_negative_numbers = true)]
        more: String,
        #[command(flatten)]
        server: Server,
    },
    /// Adds a queue with an empty account, or removes an account with what is in it
    /// (administrators).
    #[command(subcommand)]
    Queue(QueueCommand),
    /// Income per hour of each queue and in all, against the number of servers.
    Income(income::Income),
    /// What queues had, used and paid in each allocation interval, as CSV, for chargeback.
    Ledger(ledger::Ledger),
    /// Parameters that prove who submits a job and bound what it may spend. Asks no server.
    Sign(sign::Sign),
}

#[derive(Subcommand)]
pub(crate) enum QueueCommand {
    /// Adds a queue with an empty account.
    Add(OfQueue),
    /// Removes a queue's account; the credits in it are forfeited.
    Remove(OfQueue),
}

pub(crate) fn main(command: &Command) -> ExitCode {
    failure::exit(match command {
        Command::Price { history, server } => price(*history, server),
        Command::Info(of) => info(of),
        Command::Infos { server } => infos(server),
        Command::Bid {
            queue,
            rate,
            server,
        } => bid(queue, rate, server),
        Command::Advise(advise) => advise.main(),
        Command::Budget {
            queue,
            more,
            server,
        } => budget(queue, more, server),
        Command::Queue(QueueCommand::Add(of)) => add(of),
        Command::Queue(QueueCommand::Remove(of)) => remove(of),
        Command::Income(income) => income.main(),
        Command::Ledger(ledger) => ledger.main(),
        Command::Sign(sign) => sign.main(),
        Command::Jobs(jobs) => jobs.main(),
        Command::Explain { job, server } => explain(job, server),
        Command::Top(top) => top.main(),
        Command::Plan(plan) => plan.main(),
        Command::Apply(apply) => apply.main(),
        Command::Rollback(rollback) => rollback.main(),
    })
}

fn price(history: Option<usize>, server: &Server) -> Result<(), Failure> {
    let client = Client::new(server)?;
    let Some(last) = history else {
        let answer = client.open("price", Holds::Text("price"))?;
        return match server.json {
            true => print(&answer.shown()),
            false => print(&format!(
                "{}\n",
                crate::terminal::clean(&said(&answer.json["price"]))
            )),
        };
    };
    let answer = client.get(
        "price/history",
        &format!("max={HISTORY_MAX}"),
        Holds::List("intervals"),
    )?;
    if server.json {
        return print(&answer.shown());
    }
    let intervals = list(&answer.json["intervals"]);
    let shown = &intervals[intervals.len().saturating_sub(last)..];
    let row = |interval: &Value| vec![time(&interval["at_ms"]), said(&interval["price"])];
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    print(&table(&["until", "price"], &rows))
}

/// Returns the path of a queue's resource.
fn at(queue: &str) -> String {
    format!("queues/{}", quoted(queue))
}

/// Returns a list of an answer; empty if the value is not a list.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Joins the numbers of the pools: `3`, or `3+2` if the second pool has some too.
fn by_pool(pools: &Value) -> String {
    let numbers: Vec<String> = list(pools)
        .iter()
        .enumerate()
        .filter(|(pool, slots)| *pool == 0 || slots.as_u64() != Some(0))
        .map(|(_, slots)| said(slots))
        .collect();
    match numbers.is_empty() {
        true => "-".to_string(),
        false => numbers.join("+"),
    }
}

/// Formats a fraction in per cent with one decimal.
fn per_cent(share: &Value) -> String {
    let share = share.as_f64();
    share.map_or("-".to_string(), |share| format!("{:.1}", share * 100.0))
}

/// Formats the account of a queue, line by line.
fn account_lines(account: &Value) -> String {
    let lines = [
        ("budget", said(&account["budget"])),
        ("rate", said(&account["rate"])),
        ("income per hour", said(&account["income_per_hour"])),
        ("last debit", said(&account["last_debit"])),
        (
            "spends per hour",
            said(&account["projection"]["spends_per_hour"]),
        ),
        ("budget ends in", ends_in(&account["projection"])),
        ("share %", per_cent(&account["share"])),
        ("slots bought", by_pool(&account["quota"])),
        ("slots used", said(&account["used_slots"])),
        ("slots pending", said(&account["pending_slots"])),
    ];
    pairs(&lines)
}

fn info(of: &OfQueue) -> Result<(), Failure> {
    let answer = Client::new(&of.server)?.get(&at(&of.queue), "", Holds::Text("queue"))?;
    if of.server.json {
        return print(&answer.shown());
    }
    let queue = &answer.json;
    let mut text = pairs(&[("queue", said(&queue["queue"]))]);
    match queue["account"].is_null() {
        true => text.push_str("it has no account\n"),
        false => text.push_str(&account_lines(&queue["account"])),
    }
    let scheduling = &queue["scheduling"];
    if !scheduling.is_null() {
        text.push_str(&queues::scheduling_lines(scheduling));
    }
    print(&text)
}

fn infos(server: &Server) -> Result<(), Failure> {
    let answer = Client::new(server)?.get("queues", "", Holds::List("queues"))?;
    match server.json {
        true => print(&answer.shown()),
        false => print(&market(&answer.json)),
    }
}

/// Formats a time in the largest unit of which there are two or more.
fn so_long(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Returns when a budget ends by its projection: with the slots of now, unlike `lasts`.
fn ends_in(projection: &Value) -> String {
    match projection["ends_in_ms"].as_u64() {
        Some(ms) => so_long(ms),
        None if projection["ends_in_ms"].is_null() => "-".to_string(),
        None => said(&projection["ends_in_ms"]),
    }
}

/// Parses and normalizes an amount of credits before sending, so that a typo costs no request.
fn credits(name: &str, text: &str) -> Result<String, Failure> {
    let credits = amount::credits(name, text).map_err(|refusal| {
        let expected = refusal.to_string();
        let expected = expected
            .split_once("expected ")
            .map(|(_, expected)| expected.to_string());
        let expected = expected.unwrap_or_default();
        Failure::usage(format!("`{text}` is no number of credits"), name, expected)
    })?;
    Ok(amount::credits_text(credits))
}

/// Sends a change and shows the answer, which is the account afterwards.
fn change(
    server: &Server,
    method: &str,
    path: &str,
    body: &Value,
    lines: impl Fn(&Value) -> String,
) -> Result<(), Failure> {
    let answer = Client::new(server)?.change(method, path, Some(body), Holds::Text("queue"))?;
    match server.json {
        true => print(&answer.shown()),
        false => print(&lines(&answer.json)),
    }?;
    answer.written()
}

fn bid(queue: &str, rate: &str, server: &Server) -> Result<(), Failure> {
    let body = json!({"rate": credits("RATE", rate)?});
    let path = format!("{}/bid", at(queue));
    change(server, "PUT", &path, &body, account_lines)
}

fn budget(queue: &str, more: &str, server: &Server) -> Result<(), Failure> {
    let Some(more) = more.strip_prefix('+') else {
        let what = format!("`{more}` has no `+` before it");
        let remedy = "+CREDITS: a budget can be added to, and not be set or lowered";
        return Err(Failure::usage(what, "+CREDITS", remedy));
    };
    let body = json!({"add": credits("+CREDITS", more)?});
    let path = format!("{}/budget", at(queue));
    change(server, "POST", &path, &body, account_lines)
}

fn add(of: &OfQueue) -> Result<(), Failure> {
    let body = json!({"queue": of.queue});
    change(&of.server, "POST", "queues", &body, |account| {
        let name = crate::terminal::clean(&said(&account["queue"]));
        format!("{name} added, with nothing in its account\n")
    })
}

fn remove(of: &OfQueue) -> Result<(), Failure> {
    let client = Client::new(&of.server)?;
    let before = client.get(&at(&of.queue), "", Holds::Text("queue"))?.json;
    let answer = client.change("DELETE", &at(&of.queue), None, Holds::Nothing)?;
    // The response has no body, so show what was in the account a moment before.
    if of.server.json {
        crate::terminal::print_json(&json!({"removed": before}))?;
        return answer.written();
    }
    let name = crate::terminal::clean(&said(&before["queue"]));
    let lost = crate::terminal::clean(&said(&before["account"]["budget"]));
    print(&format!(
        "{name} removed; {lost} credits that it held are forfeited\n"
    ))?;
    answer.written()
}

/// Parses a job for a path: an identifier that the server can know and that needs no escape.
fn job(text: &str) -> Result<String, String> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_job = match text.strip_prefix("application_") {
        Some(id) => id
            .split_once('_')
            .is_some_and(|(start, number)| digits(start) && digits(number)),
        None => digits(text) && text.parse::<u32>().is_ok(),
    };
    match is_job {
        true => Ok(text.to_string()),
        false => Err("expected application_1700000000000_0007, or a number".to_string()),
    }
}

fn explain(job: &str, server: &Server) -> Result<(), Failure> {
    let answer = Client::new(server)?.get(&format!("explain/{job}"), "", Holds::List("waits"))?;
    if server.json {
        return print(&answer.shown());
    }
    let job = &answer.json;
    let mut text = pairs(&[("job", said(&job["job"]))]);
    for key in ["application", "name", "user"] {
        if !job[key].is_null() {
            text.push_str(&pairs(&[(key, said(&job[key]))]));
        }
    }
    text.push_str(&pairs(&[("queue", said(&job["queue"]))]));
    if !job["lost_queue"].is_null() {
        text.push_str(&pairs(&[("lost queue", said(&job["lost_queue"]))]));
    }
    let waits = list(&job["waits"]);
    if let Some(reason) = job["aside"].as_str() {
        text.push_str(&format!("{}\n", crate::terminal::clean(reason)));
    } else if waits.is_empty() {
        text.push_str("it waits for nothing\n");
    }
    for wait in waits {
        let line = format!(
            "{} (since {})",
            said(&wait["sentence"]),
            time(&wait["since_ms"])
        );
        text.push_str(&format!("{}\n", crate::terminal::clean(&line)));
    }
    for node in list(&job["nodes_aside"]) {
        let line = format!(
            "{} is put aside: {}",
            said(&node["node"]),
            said(&node["reason"])
        );
        text.push_str(&format!("{}\n", crate::terminal::clean(&line)));
    }
    let row = |entry: &Value| {
        vec![
            time(&entry["at_ms"]),
            said(&entry["stage"]),
            said(&entry["what"]),
            said(&entry["sentence"]),
        ]
    };
    let rows: Vec<Vec<String>> = list(&job["trace"]).iter().map(row).collect();
    if !rows.is_empty() {
        text.push('\n');
        text.push_str(&table(&["at", "stage", "what", "why"], &rows));
    }
    print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_one_pool_are_one_number() {
        assert_eq!(by_pool(&json!([3, 0])), "3");
        assert_eq!(by_pool(&json!([3, 2])), "3+2");
        assert_eq!(by_pool(&json!([0, 0])), "0");
        assert_eq!(by_pool(&Value::Null), "-");
    }
}
