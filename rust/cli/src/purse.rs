//! `heddle purse`: shows and fills the purses that the sub-clusters of a federation share. Works on
//! their database, without a ResourceManager.

use crate::failure::{Failure, exit};
use crate::remote::{now_ms, secret};
use crate::store::{failed, shown};
use crate::terminal::{clean, print, print_json, table};
use clap::Args;
use heddle_core::words::credits::Credits;
use heddle_economy::auth::amount::{credits, micro_text};
use heddle_economy::store::{Balance, Purse};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// The form of a place, for help.
const PLACE: &str = "postgres://USER@HOST:PORT/NAME";

/// The purses, and what to put into one.
#[derive(Args)]
pub(crate) struct Arguments {
    /// postgres://USER@HOST:PORT/NAME, as in `store.purse.place` of heddle.json.
    place: String,
    /// A file (mode 600) with the password in its first line.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Put credits into a queue's purse: its full path and the amount. Makes the purses if there
    /// are none.
    #[arg(long, num_args = 2, value_names = ["QUEUE", "CREDITS"])]
    add: Option<Vec<String>>,
    /// The name of the giver, for the record.
    #[arg(long, default_value = "heddle command line", requires = "add")]
    by: String,
    /// The reason, for the record.
    #[arg(long, default_value = "", requires = "add")]
    why: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    exit(arguments.main())
}

impl Arguments {
    fn main(&self) -> Result<(), Failure> {
        let password = self.password_file.as_deref();
        let password = password.map(secret::first_line).transpose()?;
        let add = self.add.as_deref().map(wanted).transpose()?;
        let mut purse = Purse::open(&self.place, password.as_deref(), add.is_some())
            .map_err(|error| Failure::usage(error, shown(&self.place), PLACE))?;
        let at = purse.describe();
        let wrong = |error| failed(&error, &at, "purses that --add has made");
        if let Some((queue, amount)) = add {
            let now_ms = i64::try_from(now_ms()).unwrap_or(i64::MAX);
            let by = (self.by.as_str(), self.why.as_str());
            let unsure = "look with `heddle purse` whether it was added, before adding it again";
            let left = purse
                .add(queue, amount, by, now_ms)
                .map_err(|error| failed(&error, &at, unsure))?;
            return self.added(queue, left);
        }
        let balances = purse.balances().map_err(wrong)?;
        if self.json {
            return print_json(&Value::from_iter(balances.iter().map(as_json)));
        }
        let rows: Vec<Vec<String>> = balances.iter().map(row).collect();
        print(&table(&["queue", "granted", "left", "drawn"], &rows))
    }

    fn added(&self, queue: &str, left: Credits) -> Result<(), Failure> {
        if self.json {
            return print_json(&json!({"queue": queue, "left_micro": left.micro()}));
        }
        let left = decimals(left.micro());
        print(&format!(
            "{left} credits in the purse of {}\n",
            clean(queue)
        ))
    }
}

/// The queue and the amount of `--add`.
fn wanted(add: &[String]) -> Result<(&str, Credits), Failure> {
    let (queue, amount) = (add[0].as_str(), add[1].as_str());
    if !queue.starts_with("root.") {
        let what = "a purse belongs to a queue's full path";
        return Err(Failure::usage(
            what,
            queue,
            "root.QUEUE, as heddle.json names it",
        ));
    }
    match credits("CREDITS", amount) {
        Ok(amount) if amount > Credits::ZERO => Ok((queue, amount)),
        Ok(_) => Err(Failure::usage("nothing to add", amount, "more than 0")),
        Err(refusal) => Err(Failure::usage(
            refusal.to_string(),
            amount,
            "credits, as in 12.5",
        )),
    }
}

fn decimals(micro: i64) -> String {
    micro_text(i128::from(micro))
}

fn row(balance: &Balance) -> Vec<String> {
    let drawn = balance.drawn_micro.iter();
    let drawn = drawn.map(|(cluster, micro)| format!("{} {}", clean(cluster), decimals(*micro)));
    vec![
        clean(&balance.queue),
        decimals(balance.granted_micro),
        decimals(balance.left.micro()),
        drawn.collect::<Vec<_>>().join(", "),
    ]
}

fn as_json(balance: &Balance) -> Value {
    let drawn = balance.drawn_micro.iter();
    json!({
        "queue": balance.queue,
        "granted_micro": balance.granted_micro,
        "left_micro": balance.left.micro(),
        "drawn_micro": Value::from_iter(drawn.map(|(name, micro)| (name.clone(), *micro))),
    })
}
