//! `heddle ledger`: prints what queues had, used and paid, for chargeback. Follows the server's
//! pagination through the in-memory window and the store. Warns when there is no store to ask for
//! older intervals. Adds nothing up.

use super::list;
use crate::failure::{Failure, Kind};
use crate::remote::{Client, Holds, Server};
use crate::terminal::{clean, print, print_json, said};
use clap::{Args, ValueEnum};
use heddle_economy::auth::query::quoted;
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

#[derive(Args)]
pub(crate) struct Ledger {
    /// Of this queue only, by name or path.
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Intervals that ended at this time or later: 2026-11-01, 2026-11-01T12:00:00Z (both UTC), or
    /// milliseconds since 1970.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Option<u64>,
    /// Intervals that ended before this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to: Option<u64>,
    /// Least number of rows in each answer of the server, if there are as many. With --page, only
    /// one answer.
    #[arg(long, value_name = "ROWS", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max: u32,
    /// One page only; standard error names the start of the next one.
    #[arg(long)]
    page: bool,
    /// What to print; --json is the same as --format json.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    #[command(flatten)]
    server: Server,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    Json,
}

/// The columns, and the position of their cells in a row. They equal those of the server's own CSV,
/// which does not say whether it is complete. New ones come last: scripts count columns.
const COLUMNS: [(&str, &str, Option<usize>); 14] = [
    ("at_ms", "at_ms", None),
    ("queue", "queue", None),
    ("price", "price", None),
    ("rate", "rate", None),
    ("quota_0", "quota", Some(0)),
    ("quota_1", "quota", Some(1)),
    ("used_slot_ms_0", "used_slot_ms", Some(0)),
    ("used_slot_ms_1", "used_slot_ms", Some(1)),
    ("income", "income", None),
    ("debit", "debit", None),
    ("balance", "balance", None),
    ("unpaid_slot_ms_0", "unpaid_slot_ms", Some(0)),
    ("unpaid_slot_ms_1", "unpaid_slot_ms", Some(1)),
    ("am_ms", "am_ms", None),
];

/// Parses a date, a time, or milliseconds since 1970.
pub(super) fn moment(text: &str) -> Result<u64, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text
            .parse()
            .map_err(|_| "expected milliseconds since 1970".to_string());
    }
    let whole = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_string(),
    };
    let time = humantime::parse_rfc3339_weak(&whole).map_err(|error| {
        format!("{error}; expected 2026-11-01, 2026-11-01T12:00:00Z or milliseconds since 1970")
    })?;
    let since = time.duration_since(UNIX_EPOCH);
    since
        .ok()
        .and_then(|since| u64::try_from(since.as_millis()).ok())
        .ok_or_else(|| "expected a time since 1970".to_string())
}

impl Ledger {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let client = Client::new(&self.server)?;
        let as_json = self.server.json || self.format == Format::Json;
        let mut all = Vec::new();
        let mut complete = true;
        let mut from_interval = None;
        let mut is_first = true;
        let next = loop {
            let page = client
                .get("ledger", &self.query(from_interval), Holds::List("rows"))?
                .json;
            complete &= page["complete"].as_bool().unwrap_or(false);
            match as_json {
                true => all.extend(list(&page["rows"]).iter().cloned()),
                false => print(&csv(list(&page["rows"]), is_first)?)?,
            }
            is_first = false;
            let next_ms = page["next_from_ms"].as_u64();
            let next = page["next_from_interval"].as_u64();
            // A server that returns a time but no interval number does not support pagination.
            match next.or(next_ms.map(|_| 0)) {
                None => break None,
                Some(_) if self.page => break next_ms,
                Some(next) if next > from_interval.unwrap_or(0) => {
                    from_interval = Some(next);
                }
                Some(next) => {
                    let what = format!("the page after interval {next} leads back to itself");
                    let remedy = "a ResourceManager with Heddle";
                    return Err(Failure::new(Kind::Unreachable, what, "ledger", remedy));
                }
            }
        };
        if as_json {
            print_json(&json!({"rows": all, "next_from_ms": next, "complete": complete}))?;
        }
        if let Some(next) = next {
            eprintln!("heddle: there is more: --from {next}");
        }
        if !complete {
            eprintln!(
                "heddle: warning: the server has forgotten the oldest of these intervals; with a \
                 store (key `store` of heddle.json) it would have them all"
            );
        }
        Ok(())
    }

    fn query(&self, from_interval: Option<u64>) -> String {
        let mut query = format!("max={}", self.max);
        if let Some(queue) = &self.queue {
            query.push_str(&format!("&queue={}", quoted(queue)));
        }
        if let Some(from) = self.from {
            query.push_str(&format!("&from_ms={from}"));
        }
        if let Some(from) = from_interval {
            query.push_str(&format!("&from_interval={from}"));
        }
        if let Some(to) = self.to {
            // The server counts both ends. Excluding the last one keeps consecutive months
            // disjoint.
            query.push_str(&format!("&to_ms={}", to.saturating_sub(1)));
        }
        query
    }
}

/// Formats rows as CSV, with a heading on the first page.
fn csv(rows: &[Value], heading: bool) -> Result<String, Failure> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    if heading {
        csv.write_record(COLUMNS.map(|(name, _, _)| name))
            .expect("memory takes all");
    }
    for row in rows {
        let cells = COLUMNS.map(|(_, key, pool)| cell(&row[key], pool));
        csv.write_record(cells)
            .expect("memory takes all, and records are of one length");
    }
    let bytes = csv.into_inner().expect("memory takes all");
    Ok(String::from_utf8(bytes).expect("what was put in is UTF-8"))
}

fn cell(value: &Value, pool: Option<usize>) -> String {
    let text = clean(&said(pool.map_or(value, |pool| &value[pool])));
    // Quotes what a spreadsheet would take for a formula; only negative numbers begin like one.
    let begins = text.len() > 1 && text.starts_with(['=', '+', '-', '@']);
    match begins && text.parse::<f64>().is_err() {
        true => format!("'{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_days_times_or_milliseconds() {
        // date -u -d 2026-11-01 +%s
        assert_eq!(moment("2026-11-01"), Ok(1_793_491_200_000));
        assert_eq!(moment("2026-11-01T12:00:00Z"), Ok(1_793_534_400_000));
        assert_eq!(moment("1793491200000"), Ok(1_793_491_200_000));
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "-1",
            "99999999999999999999",
            "1969-01-01",
        ] {
            assert!(moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_cell_is_a_formula() {
        let row = json!({"queue": "=1+1\u{1b}[2J", "debit": "-0.5", "quota": [1, 2]});
        let text = csv(&[row], false).unwrap();
        assert_eq!(text, "-,'=1+1\\u{1b}[2J,-,-,1,2,-,-,-,-0.5,-,-,-,-\n");
    }
}
