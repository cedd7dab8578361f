//! `heddle advise`: tells in sentences what a queue must bid to get a number of slots. The server
//! computes it. Places no bid; the advice holds only while the other bids stay the same.

use super::{at, so_long};
use crate::failure::Failure;
use crate::remote::{Client, Holds, Server};
use crate::terminal::{clean, print, said, time};
use clap::Args;
use serde_json::{Value, json};

#[derive(Args)]
pub(crate) struct Advise {
    /// The queue's name or path, such as alice or root.alice.
    #[arg(value_name = "QUEUE")]
    queue: String,
    /// Number of slots to get.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    slots: u32,
    /// Of which pool, where maps and reduces have slots of their own: 0 maps, 1 reduces.
    #[arg(long, value_name = "P", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=1))]
    pool: u8,
    #[command(flatten)]
    server: Server,
}

impl Advise {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let client = Client::new(&self.server)?;
        let path = format!("{}/advice", at(&self.queue));
        let query = format!("slots={}&pool={}", self.slots, self.pool);
        let answer = client.get(&path, &query, Holds::Text("queue"))?;
        match self.server.json {
            true => print(&answer.shown()),
            false => print(&sentences(&answer.json)),
        }
    }
}

/// Formats the advice, one sentence per line.
fn sentences(advice: &Value) -> String {
    let told = |key: &str| said(&advice[key]);
    let mut lines = vec![
        format!(
            "{} bids {} credits per slot and interval, which buys {} of {} slots at the price {}.",
            told("queue"),
            told("rate"),
            told("quota"),
            told("cluster_slots"),
            told("price"),
        ),
        format!(
            "It spends {} credits an hour and is given {}; {}.",
            said(&advice["now"]["spends_per_hour"]),
            said(&advice["now"]["income_per_hour"]),
            end(&format!("its budget of {}", told("budget")), "now", advice),
        ),
    ];
    lines.push(String::new());
    let wanted = slots(&advice["slots"]);
    if advice["bid"].is_null() {
        lines.push(format!("{wanted}: not available, because {}.", told("why")));
    } else {
        lines.extend(bid(advice, &wanted));
    }
    let line = |line: String| format!("{}\n", clean(&line));
    lines.into_iter().map(line).collect()
}

/// Says what to bid, and what follows from it.
fn bid(advice: &Value, wanted: &str) -> Vec<String> {
    let told = |key: &str| said(&advice[key]);
    let more = match advice["slots_given"] == advice["slots"] {
        true => String::new(),
        false => format!(", which buys {}", told("slots_given")),
    };
    let mut lines = vec![
        format!(
            "{wanted}: bid {}{more}; the price is then {}.",
            told("bid"),
            told("price_then"),
        ),
        format!(
            "That costs {} credits an hour; {}.",
            said(&advice["then"]["spends_per_hour"]),
            end("the budget", "then", advice),
        ),
    ];
    if advice["affordable"] == false {
        let budget = told("budget");
        lines.push(format!(
            "The budget of {budget} does not cover the bid, so it would not count: it needs \
             credits first."
        ));
    }
    if let Some(ms) = advice["counts_in_ms"].as_u64() {
        let soon = so_long(ms);
        lines.push(format!(
            "A bid counts from the next interval on, in {soon}."
        ));
    }
    lines
}

fn slots(count: &Value) -> String {
    match count.as_u64() {
        Some(1) => "1 slot".to_string(),
        _ => format!("{} slots", said(count)),
    }
}

/// Says when `what` ends, by the projection of that name.
fn end(what: &str, projection: &str, advice: &Value) -> String {
    let ends_in_ms = &advice[projection]["ends_in_ms"];
    let Some(ms) = ends_in_ms.as_u64() else {
        return format!("{what} does not end, because income pays for it");
    };
    let at_ms = advice["now_ms"]
        .as_u64()
        .and_then(|now| now.checked_add(ms));
    let at = at_ms.map_or(String::new(), |at_ms| format!(" ({})", time(&json!(at_ms))));
    format!("{what} ends in {}{at}", so_long(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice() -> Value {
        json!({
            "queue": "root.alice", "slots": 3, "cluster_slots": 12, "quota": 8, "rate": "2",
            "price": "3", "budget": "100", "now_ms": 1_700_000_000_000_u64, "bid": "0.5",
            "now": {"spends_per_hour": "0", "income_per_hour": "7.2", "ends_in_ms": null},
            "then": {"spends_per_hour": "90", "income_per_hour": "7.2", "ends_in_ms": 3_600_000},
            "slots_given": 4, "price_then": "1.5", "affordable": false, "counts_in_ms": 1_500,
        })
    }

    #[test]
    fn what_is_worth_a_sentence_has_one() {
        let told = sentences(&advice());
        for words in [
            "its budget of 100 does not end",
            "3 slots: bid 0.5, which buys 4; the price is then 1.5.",
            // date -u -d @1700003600
            "the budget ends in 60m (2023-11-14T23:13:20Z).",
            "does not cover the bid",
            "in 1s.",
        ] {
            assert!(told.contains(words), "`{words}` is not in:\n{told}");
        }
        let mut one = advice();
        (one["slots"], one["slots_given"], one["affordable"]) = (json!(1), json!(1), json!(true));
        let told = sentences(&one);
        assert!(told.contains("\n1 slot: bid 0.5; the price"), "{told}");
        assert!(!told.contains("cover"), "{told}");
    }

    #[test]
    fn times_beyond_all_clocks_are_no_overflow() {
        let mut never = advice();
        never["now_ms"] = json!(u64::MAX);
        never["then"]["ends_in_ms"] = json!(i64::MAX);
        // 2^63 ms are 106,751,991,167 days.
        assert!(sentences(&never).contains("ends in 106751991167d."));
    }
}
