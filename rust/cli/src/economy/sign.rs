//! `heddle sign`: prints the parameters that prove to the ResourceManager who submits a job
//! (DP-39). Version 2 also bounds what the job may spend. `auth::job` of the economy does the
//! signing. Submits nothing and asks no server.

use super::credits;
use super::ledger::moment;
use crate::failure::Failure;
use crate::remote::{Who, now_ms, validity};
use crate::terminal::{print, print_json};
use clap::{Args, ValueEnum};
use heddle_economy::auth::amount;
use heddle_economy::auth::job::{self, Bounds, Submission};
use heddle_economy::auth::role::queue_path;
use serde_json::{Map, Value};
use std::time::Duration;

#[derive(Args)]
pub(crate) struct Sign {
    /// As published: HMAC-SHA1 over user and time only. It bounds nothing, and whoever sees it
    /// within a quarter of an hour, before the job is there, can submit another.
    #[arg(long, conflicts_with_all = ["queue", "name", "credits", "rate", "until", "valid_for"])]
    v1: bool,
    /// The queue that the job will be in, by its path; a name alone is a queue right below `root`.
    #[arg(long, required_unless_present = "v1")]
    queue: Option<String>,
    /// The job's name, exactly as it will be submitted (mapreduce.job.name).
    #[arg(long, required_unless_present = "v1")]
    name: Option<String>,
    /// How many credits the job may spend in all.
    #[arg(long, required_unless_present = "v1")]
    credits: Option<String>,
    /// The highest bid per slot and interval at which it may spend.
    #[arg(long, required_unless_present = "v1")]
    rate: Option<String>,
    /// Until when it may spend: a time (2026-11-01T12:00:00Z), or a span from now on such as +2h.
    #[arg(long, value_name = "TIME", required_unless_present = "v1")]
    until: Option<String>,
    /// How long it may take until the job is submitted.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    #[arg(value_parser = humantime::parse_duration)]
    valid_for: Duration,
    /// In which form: for a command line, for a file of properties, or as JSON.
    #[arg(long, value_enum, default_value_t = Format::Arguments)]
    format: Format,
    /// The same as --format json.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: Who,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// `-Dname=value`, one a line: `hadoop jar FILE CLASS $(heddle sign ...)`.
    Arguments,
    /// Elements for a configuration file.
    Xml,
    Json,
}

impl Sign {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let (user, secret) = self.who.known()?;
        let parameters = match self.v1 {
            true => job::sign_v1(&secret, &user, now_ms()),
            false => {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                // Sign the full path: a name alone could mean another queue some day.
                let (queue, name) = (queue_path(&text(&self.queue)), text(&self.name));
                let submission = Submission {
                    user: &user,
                    queue: &queue,
                    name: &name,
                };
                let valid_ms = u64::try_from(self.valid_for.as_millis()).unwrap_or(u64::MAX);
                let validity = validity(valid_ms)?;
                job::sign_v2(&secret, &submission, &self.bounds(&text)?, &validity)
            }
        };
        match self.format {
            _ if self.json => print_json(&object(parameters)),
            Format::Json => print_json(&object(parameters)),
            Format::Arguments => {
                // Values are digits, letters and %: no shell splits or expands them.
                let line = |(name, value): &(&str, String)| format!("-D{name}={value}\n");
                print(&parameters.iter().map(line).collect::<String>())
            }
            Format::Xml => {
                let element = |(name, value): &(&str, String)| {
                    format!("<property><name>{name}</name><value>{value}</value></property>\n")
                };
                print(&parameters.iter().map(element).collect::<String>())
            }
        }
    }

    fn bounds(&self, text: &dyn Fn(&Option<String>) -> String) -> Result<Bounds, Failure> {
        let amount = |name: &str, given: &Option<String>| {
            let checked = credits(name, &text(given))?;
            Ok(amount::credits(name, &checked).expect("it was just read"))
        };
        Ok(Bounds {
            credits: amount("--credits", &self.credits)?,
            rate: amount("--rate", &self.rate)?,
            until_ms: until(&text(&self.until))?,
        })
    }
}

fn object(parameters: Vec<(&'static str, String)>) -> Value {
    let pairs = parameters
        .into_iter()
        .map(|(name, value)| (name.to_string(), value.into()));
    Value::Object(pairs.collect::<Map<_, _>>())
}

/// Parses a moment, or a span from now on.
fn until(text: &str) -> Result<u64, Failure> {
    let read = match text.strip_prefix('+') {
        None => moment(text),
        Some(span) => humantime::parse_duration(span)
            .map_err(|error| error.to_string())
            .map(|span| {
                now_ms().saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
            }),
    };
    let until_ms = read.map_err(|error| {
        let remedy = "a time such as 2026-11-01T12:00:00Z, or a span such as +2h";
        Failure::usage(error, "--until", remedy)
    })?;
    match until_ms > now_ms() {
        true => Ok(until_ms),
        false => Err(Failure::usage(
            "the time is past",
            "--until",
            "a time in the future",
        )),
    }
}
