//! Writes results as tables: CSV and JSON files, and lines for a terminal. Draws nothing.

use heddle_sim::cluster_sim::metrics::{mean, percentile};
use heddle_sim::cluster_sim::{JobRecord, Results, Sample};
use std::collections::BTreeSet;
use std::path::Path;

/// Writes `summary.json`, `jobs.csv`, `samples.csv` and `users.csv` into a folder.
pub(crate) fn write(results: &Results, folder: &Path) -> Result<(), String> {
    let summary = format!("{:#}\n", results.summary());
    std::fs::write(folder.join("summary.json"), summary).map_err(|error| error.to_string())?;
    table(
        &folder.join("jobs.csv"),
        JOBS,
        results.jobs.iter().map(job_row),
    )?;
    let samples = results.samples.iter().map(sample_row);
    table(&folder.join("samples.csv"), SAMPLES, samples)?;
    let users = results.samples.iter().flat_map(user_rows);
    table(&folder.join("users.csv"), USERS, users)
}

fn table(
    path: &Path,
    heading: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> Result<(), String> {
    let mut table = csv::Writer::from_path(path).map_err(|error| error.to_string())?;
    table
        .write_record(heading)
        .map_err(|error| error.to_string())?;
    for row in rows {
        table.write_record(row).map_err(|error| error.to_string())?;
    }
    table.flush().map_err(|error| error.to_string())
}

const JOBS: &[&str] = &[
    "job",
    "user",
    "class",
    "number",
    "maps",
    "reduces",
    "input_bytes",
    "shuffle_bytes",
    "output_bytes",
    "submitted_s",
    "started_s",
    "mapped_s",
    "finished_s",
    "sojourn_s",
    "failed",
    "goal_s",
    "goal_met",
    "node_local",
    "rack_local",
    "remote",
    "crossed_map_read",
    "crossed_shuffle",
    "crossed_write",
    "map_slot_s",
    "reduce_slot_s",
    "predicted_at_s",
    "earliest_s",
    "expected_s",
    "latest_s",
];

fn seconds(ms: i64) -> String {
    format!("{:.3}", ms as f64 / 1e3)
}

fn maybe<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map(text).unwrap_or_default()
}

fn job_row(job: &JobRecord) -> Vec<String> {
    let mut row = vec![
        job.id.0.to_string(),
        job.user.clone(),
        job.class.clone(),
        maybe(job.number, |number| number.to_string()),
        job.tasks[0].to_string(),
        job.tasks[1].to_string(),
    ];
    row.extend(job.bytes.iter().map(u64::to_string));
    row.push(seconds(job.submitted_ms));
    for time in [
        job.started_ms,
        job.mapped_ms,
        job.finished_ms,
        job.sojourn_ms(),
    ] {
        row.push(maybe(time, seconds));
    }
    row.push(job.failed.to_string());
    row.push(maybe(job.goal_ms, seconds));
    row.push(maybe(job.met_goal(), |met| met.to_string()));
    row.extend(job.locality.iter().map(u32::to_string));
    row.extend(job.crossed.iter().map(|bytes| format!("{bytes:.0}")));
    row.extend(job.slot_ms.iter().map(|ms| seconds(*ms)));
    row.push(maybe(job.predicted, |predicted| seconds(predicted.made_ms)));
    for i in 0..3 {
        row.push(maybe(job.predicted, |predicted| {
            seconds(predicted.end_ms[i])
        }));
    }
    row
}

const SAMPLES: &[&str] = &[
    "at_s",
    "running_maps",
    "running_reduces",
    "wanted_maps",
    "wanted_reduces",
    "jobs",
    "crossed_bytes",
    "foreign_per_mille",
];

fn sample_row(sample: &Sample) -> Vec<String> {
    let mut row = vec![seconds(sample.at_ms)];
    let counts = sample.running.iter().chain(&sample.wanted);
    row.extend(counts.map(u32::to_string));
    row.push(sample.jobs.to_string());
    row.push(format!("{:.0}", sample.crossed));
    row.push(sample.foreign_per_mille.to_string());
    row
}

const USERS: &[&str] = &["at_s", "user", "running", "credits"];

fn user_rows(sample: &Sample) -> Vec<Vec<String>> {
    let rich = sample.credits.keys();
    let users: BTreeSet<&String> = sample.by_user.keys().chain(rich).collect();
    let row = |user: &String| {
        let running = sample.by_user.get(user).copied().unwrap_or(0);
        vec![
            seconds(sample.at_ms),
            user.clone(),
            running.to_string(),
            maybe(sample.credits.get(user), |credits| format!("{credits:.6}")),
        ]
    };
    users.into_iter().map(row).collect()
}

/// Returns the heading for the lines of `row`.
pub(crate) fn heading() -> String {
    format!(
        "{:24} {:>7} {:>9} {:>9} {:>9} {:>8} {:>9} {:>6} {:>6} {:>6} {:>9}",
        "policy",
        "jobs",
        "mean s",
        "median s",
        "p95 s",
        "jobs/h",
        "cross GB",
        "node%",
        "map%",
        "red%",
        "goals"
    )
}

/// Formats one policy's figures.
pub(crate) fn row(results: &Results) -> String {
    let sojourns = results.sojourns_s(|_| true);
    let crossed: f64 = results.crossed().iter().sum();
    let locality = results.locality();
    let maps: u64 = locality.iter().sum();
    let (met, goals) = results.goals();
    let goals = match goals {
        0 => "-".to_string(),
        _ => format!("{met}/{goals}"),
    };
    format!(
        "{:24} {:>7} {:>9.1} {:>9.1} {:>9.1} {:>8.1} {:>9.1} {:>6.1} {:>6.1} {:>6.1} {:>9}",
        results.policy,
        results.finished().count(),
        mean(&sojourns),
        percentile(&sojourns, 50),
        percentile(&sojourns, 95),
        results.jobs_per_hour(),
        crossed / 1e9,
        100.0 * locality[0] as f64 / maps.max(1) as f64,
        100.0 * results.utilisation(0),
        100.0 * results.utilisation(1),
        goals,
    )
}
