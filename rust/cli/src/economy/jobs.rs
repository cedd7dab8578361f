//! `heddle jobs`: jobs in the order asked for, found by a text, in a table.

use super::list;
use crate::failure::Failure;
use crate::remote::{Client, Holds, Server};
use crate::terminal::{print, said, table, time};
use clap::Args;
use heddle_economy::auth::query::quoted;
use serde_json::{Value, json};

/// How many jobs one request asks for.
const PAGE: usize = 500;

/// Which jobs, and in which order.
#[derive(Args)]
pub(crate) struct Choice {
    /// Only jobs with this text in their queue, application, user or name.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// The order: number, submitted, queue, priority, running, pending, memory, application, user
    /// or name; a minus before it reverses it.
    #[arg(
        long,
        value_name = "ORDER",
        default_value = "number",
        allow_hyphen_values = true
    )]
    sort: String,
}

impl Choice {
    /// Returns whether a page starts at a job's number. In other orders it starts after a count of
    /// skipped jobs, and `total` includes the jobs of the pages before.
    pub(crate) fn is_by_number(&self) -> bool {
        self.sort == "number"
    }

    /// The query for a page. `at` is the last answer's `next`: a job's number, or a count of jobs
    /// to skip.
    pub(crate) fn query(&self, at: u64, max: usize) -> String {
        let start = match self.is_by_number() {
            true => "from",
            false => "skip",
        };
        let search = self.search.as_deref().map(quoted);
        let search = search.map_or(String::new(), |text| format!("&search={text}"));
        format!("max={max}&{start}={at}&sort={}{search}", quoted(&self.sort))
    }
}

#[derive(Args)]
pub(crate) struct Jobs {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    server: Server,
}

impl Jobs {
    pub(crate) fn main(&self) -> Result<(), Failure> {
        let client = Client::new(&self.server)?;
        let mut all: Vec<Value> = Vec::new();
        let mut at = 0;
        let now_ms = loop {
            let query = self.choice.query(at, PAGE);
            let mut answer = client.get("jobs", &query, Holds::List("jobs"))?.json;
            all.extend(list(&answer["jobs"]).iter().cloned());
            match answer["next"].as_u64() {
                // A page that leads back would never end the loop.
                Some(next) if next > at => at = next,
                _ => break answer["now_ms"].take(),
            }
        };
        if self.server.json {
            let total = all.len();
            return crate::terminal::print_json(&json!({
                "jobs": all, "total": total, "next": null, "now_ms": now_ms,
            }));
        }
        print(&job_table(&all))
    }
}

/// Formats jobs as a table.
pub(crate) fn job_table(jobs: &[Value]) -> String {
    let heading = [
        "job",
        "queue",
        "running",
        "pending",
        "done",
        "in line",
        "start",
        "end",
        "application",
        "user",
        "name",
        "waits for",
    ];
    let rows: Vec<Vec<String>> = jobs.iter().map(job_row).collect();
    table(&heading, &rows)
}

fn job_row(job: &Value) -> Vec<String> {
    let sum = |key: &str| {
        list(&job[key])
            .iter()
            .filter_map(Value::as_u64)
            .sum::<u64>()
    };
    let masters = job["masters"].as_u64().unwrap_or(0);
    let prediction = &job["prediction"];
    vec![
        said(&job["job"]),
        in_queue(job),
        sum("running").saturating_sub(masters).to_string(),
        said(&job["pending"]),
        done(sum("done"), &job["progress_per_mille"]),
        in_line(&job["ahead"]),
        expected(&prediction["start"]),
        expected(&prediction["end"]),
        said(&job["application"]),
        said(&job["user"]),
        said(&job["name"]),
        said(&job["waits_for"]),
    ]
}

/// Says where a job is, and where it was before a restart that lost its queue.
fn in_queue(job: &Value) -> String {
    match job["lost_queue"].as_str() {
        Some(_) => format!(
            "{} (lost {})",
            said(&job["queue"]),
            said(&job["lost_queue"])
        ),
        None => said(&job["queue"]),
    }
}

fn done(tasks: u64, per_mille: &Value) -> String {
    match per_mille.as_u64() {
        Some(reached) => format!("{tasks} ({} %)", reached / 10),
        None => tasks.to_string(),
    }
}

/// Formats the number of jobs that go first.
fn in_line(ahead: &Value) -> String {
    match (ahead["jobs"].as_u64(), ahead["more"] == true) {
        (None, _) => "-".to_string(),
        (Some(0), _) => "first".to_string(),
        (Some(jobs), false) => format!("after {jobs}"),
        (Some(jobs), true) => format!("after {jobs}+"),
    }
}

/// Formats the expected time; with a question mark until the prediction is calibrated.
fn expected(band: &Value) -> String {
    match band["calibrated"].as_bool() {
        None => "-".to_string(),
        Some(true) => time(&band["expected_ms"]),
        Some(false) => format!("{}?", time(&band["expected_ms"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_quoted() {
        let choice = |search: Option<&str>, sort: &str| Choice {
            search: search.map(String::from),
            sort: sort.to_string(),
        };
        for (choice, expected) in [
            (choice(None, "number"), "max=9&from=7&sort=number"),
            (
                choice(Some("a&b c"), "-user"),
                "max=9&skip=7&sort=-user&search=a%26b%20c",
            ),
        ] {
            assert_eq!(choice.query(7, 9), expected);
        }
    }

    #[test]
    fn a_row_says_place_progress_and_times() {
        let band = |ms: u64, calibrated: bool| json!({"expected_ms": ms, "calibrated": calibrated});
        let job = json!({
            "job": 7, "queue": "root.a", "running": [3, 1, 1], "masters": 1, "pending": 9,
            "done": [2, 0, 0], "progress_per_mille": 256, "ahead": {"jobs": 3, "more": true},
            "prediction": {"start": null, "end": band(1_700_000_000_000, false)},
        });
        let row = job_row(&job);
        assert_eq!(row[1], "root.a");
        assert_eq!(row[2..6], ["4", "9", "2 (25 %)", "after 3+"]);
        assert_eq!(row[6..8], ["-", "2023-11-14T22:13:20Z?"]);
        for (ahead, place) in [
            (Value::Null, "-"),
            (json!({"jobs": 0, "more": false}), "first"),
            (json!({"jobs": 2, "more": false}), "after 2"),
        ] {
            assert_eq!(in_line(&ahead), place);
        }
        let lost = json!({"queue": "root.recovery", "lost_queue": "root.old"});
        assert_eq!(in_queue(&lost), "root.recovery (lost root.old)");
        assert_eq!(expected(&band(0, true)), "1970-01-01T00:00:00Z");
    }
}
