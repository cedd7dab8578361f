//! Draws results as SVG files, one question each. Computes nothing beyond sorting.

use heddle_sim::cluster_sim::{Results, Sample};
use heddle_sim::plot::{Line, Plot};
use std::collections::BTreeMap;
use std::path::Path;

/// Named lines of points.
type Lines = BTreeMap<String, Vec<(f64, f64)>>;

/// More lines than this are a blur.
const LINES_MAX: usize = 12;

/// Writes the pictures that have something to show into a folder.
pub(crate) fn write(results: &Results, folder: &Path) -> Result<(), String> {
    let title = |what: &str| format!("{what}: {}, {}", results.workload, results.policy);
    let draw = |file: &str, what: &str, axes: (&str, &str), lines: &Lines| {
        draw(&folder.join(file), &title(what), axes, lines)
    };
    draw(
        "utilisation.svg",
        "Utilisation",
        ("hours", "per cent"),
        &utilisation(results),
    )?;
    let crossed = over_time(results, |sample| sample.crossed / 1e9);
    let crossed = Lines::from([("all racks".to_string(), crossed)]);
    draw(
        "crossed.svg",
        "Traffic between racks per sample",
        ("hours", "GB"),
        &crossed,
    )?;
    let sojourns = sojourns(results);
    draw(
        "sojourn.svg",
        "Sojourn times",
        ("log10 of seconds", "part of the jobs"),
        &sojourns,
    )?;
    let mut running = Lines::new();
    let mut credits = Lines::new();
    for sample in &results.samples {
        let at = hours(sample.at_ms);
        for (user, count) in &sample.by_user {
            let line = running.entry(user.clone()).or_default();
            line.push((at, f64::from(*count)));
        }
        for (user, budget) in &sample.credits {
            credits.entry(user.clone()).or_default().push((at, *budget));
        }
    }
    if running.len() <= LINES_MAX {
        draw(
            "users.svg",
            "Running tasks by user",
            ("hours", "tasks"),
            &running,
        )?;
    }
    match credits.is_empty() {
        true => Ok(()),
        false => draw("credits.svg", "Credits", ("hours", "credits"), &credits),
    }
}

fn hours(at_ms: i64) -> f64 {
    at_ms as f64 / 3.6e6
}

fn over_time(results: &Results, value: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    let point = |sample: &Sample| (hours(sample.at_ms), value(sample));
    results.samples.iter().map(point).collect()
}

fn utilisation(results: &Results) -> Lines {
    let slots = results.slots.map(|slots| f64::from(slots.max(1)));
    Lines::from([
        (
            "map slots".to_string(),
            over_time(results, |sample| {
                100.0 * f64::from(sample.running[0]) / slots[0]
            }),
        ),
        (
            "reduce slots".to_string(),
            over_time(results, |sample| {
                100.0 * f64::from(sample.running[1]) / slots[1]
            }),
        ),
        (
            "others".to_string(),
            over_time(results, |sample| f64::from(sample.foreign_per_mille) / 10.0),
        ),
    ])
}

/// Returns the distribution of sojourn times by class.
fn sojourns(results: &Results) -> Lines {
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for job in results.finished() {
        let seconds = job.sojourn_ms().unwrap_or(0).max(1) as f64 / 1e3;
        times
            .entry("all".to_string())
            .or_default()
            .push(seconds.log10());
        times
            .entry(job.class.clone())
            .or_default()
            .push(seconds.log10());
    }
    if times.len() > LINES_MAX {
        times.retain(|class, _| class == "all");
    }
    let line = |(class, mut times): (String, Vec<f64>)| {
        times.sort_unstable_by(f64::total_cmp);
        let count = times.len() as f64;
        let points = times.into_iter().enumerate();
        let points = points.map(|(i, time)| (time, (i + 1) as f64 / count));
        (class, points.collect())
    };
    times.into_iter().map(line).collect()
}

fn draw(path: &Path, title: &str, axes: (&str, &str), lines: &Lines) -> Result<(), String> {
    let mut plot = Plot::new(title, axes.0, axes.1);
    for (name, points) in lines {
        plot.lines.push(Line::new(name, points.clone()));
    }
    plot.write(path)
}
