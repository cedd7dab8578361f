//! Plots the figures that grow with a cluster, from the raw results of `./x bench --scale`.

use heddle_sim::plot::{Line, Plot};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the documents' pictures, relative to the workspace.
pub const PICTURES: &str = "docs/pictures";

/// The folder of the raw results, relative to the workspace.
pub const RESULTS: &str = "integration/bench-results/scale";

/// A figure of the raw results in microseconds: its key, its picture's name and title.
const FIGURES: [(&str, &str, &str); 5] = [
    ("heartbeat_p50_us", "growth-median", "A heartbeat, median"),
    (
        "heartbeat_p99_us",
        "growth-p99",
        "A heartbeat, 99th percentile",
    ),
    ("tick_mean_us", "growth-tick", "A tick, mean"),
    ("jobs_answer_us", "growth-page", "100 jobs of the list"),
    ("refresh_us", "growth-refresh", "-refreshQueues"),
];

/// By policy: the row of each number of nodes.
type Rows = BTreeMap<String, BTreeMap<u64, Value>>;

/// Draws each figure by policy over the number of nodes, from the latest `*.json` of a folder:
/// older files may come from another clock, machine or version. Returns the pictures.
///
/// # Errors
/// Says which file cannot be read or written, or which figure is missing, and why.
pub fn draw(results: &Path, pictures: &Path) -> Result<Vec<PathBuf>, String> {
    let rows = read(results)?;
    let mut drawn = Vec::new();
    for (key, name, title) in FIGURES {
        let mut plot = Plot::new(title, "nodes", "microseconds").logarithmic();
        for (policy, by_nodes) in &rows {
            let points = by_nodes.iter().filter_map(|(nodes, row)| {
                let micros = row[key].as_f64().filter(|micros| *micros > 0.0)?;
                Some((*nodes as f64, micros))
            });
            let points: Vec<(f64, f64)> = points.collect();
            if points.len() > 1 {
                plot = plot.with(Line::new(policy, points));
            }
        }
        if plot.lines.is_empty() {
            return Err(format!(
                "{}: no policy has `{key}` of two sizes",
                results.display()
            ));
        }
        let path = pictures.join(format!("{name}.svg"));
        plot.write(&path)?;
        drawn.push(path);
    }
    Ok(drawn)
}

fn read(folder: &Path) -> Result<Rows, String> {
    let said = |path: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let entries = fs::read_dir(folder).map_err(|why| said(folder, &why))?;
    // Names have the date and the time.
    let last = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
        .max();
    let path = last.ok_or_else(|| said(folder, &"no *.json; `./x bench --scale` writes it"))?;
    let text = fs::read_to_string(&path).map_err(|why| said(&path, &why))?;
    let root: Value = serde_json::from_str(&text).map_err(|why| said(&path, &why))?;
    let mut rows = Rows::new();
    for row in root["runs"].as_array().into_iter().flatten() {
        let (Some(policy), Some(nodes)) = (row["policy"].as_str(), row["nodes"].as_u64()) else {
            return Err(said(&path, &"a run has no `policy` or no `nodes`"));
        };
        let by_nodes = rows.entry(policy.to_string()).or_default();
        by_nodes.insert(nodes, row.clone());
    }
    Ok(rows)
}
