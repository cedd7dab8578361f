//! `heddle income`: compares the credits that flow into the economy per hour with what there is to
//! buy (DP-44, DP-45). A credit keeps its worth of one server's hour as long as the two are equal.
//! Sets no income: `heddle.json` does that.

use super::list;
use crate::failure::{Failure, Kind};
use crate::remote::{Client, Holds, Server};
use crate::terminal::{print, print_json, said, table};
use clap::Args;
use heddle_economy::auth::amount::micro_text;
use serde_json::{Value, json};

#[derive(Args)]
pub(crate) struct Income {
    /// How many servers the cluster has. Without it, the slots of the cluster are counted.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    servers: Option<u32>,
    #[command(flatten)]
    server: Server,
}

/// A queue and its credits per hour: as text, and in millionths.
struct Paid {
    queue: String,
    text: String,
    micro: i128,
}

impl Income {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let client = Client::new(&self.server)?;
        let queues = client.get("queues", "", Holds::List("queues"))?.json;
        let shares = client.get("shares", "", Holds::List("queues"))?.json;
        if shares["slots"].is_null() {
            let what = "the policy has no accounts, so nothing is paid";
            let remedy = "policy dynamic-priority, or a composition with that share";
            return Err(Failure::new(Kind::Refused, what, "policy", remedy));
        }
        let paid: Vec<Paid> = list(&queues["queues"])
            .iter()
            .filter(|queue| !queue["account"].is_null())
            .map(|queue| Paid {
                queue: said(&queue["queue"]),
                text: said(&queue["account"]["income_per_hour"]),
                micro: micro(&queue["account"]["income_per_hour_micro"]),
            })
            .collect();
        let total: i128 = paid.iter().map(|paid| paid.micro).sum();
        let slots: u64 = list(&shares["slots"])
            .iter()
            .filter_map(Value::as_u64)
            .sum();
        let (worth, of_what) = match self.servers {
            Some(servers) => (u64::from(servers), "servers"),
            None => (slots, "slots"),
        };
        match self.server.json {
            true => print_json(&report(&paid, total, worth, of_what))?,
            false => print(&lines(&paid, total, worth, of_what))?,
        }
        if total > i128::from(worth) * 1_000_000 {
            let all = micro_text(total);
            eprintln!(
                "heddle: warning: {all} credits per hour are more than {worth} {of_what}: prices \
                 will rise until a credit buys less than an hour; lower incomes, or add servers"
            );
        }
        Ok(())
    }
}

fn micro(value: &Value) -> i128 {
    value.as_i64().map_or(0, i128::from)
}

/// Returns the part of the supply that a queue's income pays for, in per cent.
fn part(micro: i128, worth: u64) -> String {
    match worth {
        0 => "-".to_string(),
        worth => format!("{:.1}", micro as f64 / 1e4 / worth as f64),
    }
}

fn lines(paid: &[Paid], total: i128, worth: u64, of_what: &str) -> String {
    let mut rows: Vec<Vec<String>> = paid
        .iter()
        .map(|paid| {
            vec![
                paid.queue.clone(),
                paid.text.clone(),
                part(paid.micro, worth),
            ]
        })
        .collect();
    rows.push(vec![
        "in all".to_string(),
        micro_text(total),
        part(total, worth),
    ]);
    let heading = format!("% of {worth} {of_what}");
    table(&["queue", "income per hour", &heading], &rows)
}

fn report(paid: &[Paid], total: i128, worth: u64, of_what: &str) -> Value {
    let queues: Vec<Value> = paid
        .iter()
        .map(|paid| json!({"queue": paid.queue, "income_per_hour": paid.text}))
        .collect();
    json!({
        "queues": queues,
        "income_per_hour": micro_text(total),
        of_what: worth,
        "exceeds": total > i128::from(worth) * 1_000_000,
    })
}
