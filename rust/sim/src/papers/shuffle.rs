//! ShuffleWatcher's experiments on the mix of SW-30 to SW-33. Throughput is jobs, and the bytes
//! that they read, per hour while jobs keep coming: those that end between the first and the
//! last submission (SW-41).

use super::{Table, change, percent, simulate};
use crate::cluster_sim::workload::{Mix, shuffle_mix};
use crate::cluster_sim::{Results, Workload};
use crate::failure::Checked;
use serde_json::{Value, json};

fn mix() -> Workload {
    shuffle_mix(&Mix::default(), 1)
}

fn stages(share: &str, place: &str) -> Value {
    json!({
        "policy": {"share": share, "order": "fifo", "place": place},
        "delay": {"node_wait_ms": 5_000, "rack_wait_ms": 5_000},
    })
}

fn watcher(share: &str, settings: Value) -> Value {
    let mut config = stages(share, "shuffle-watcher");
    config["shuffle_watcher"] = settings;
    config
}

/// What is below this, in per cent, counts as no difference, as in SW-40.
const NOTHING: f64 = 1.0;

/// Throughput, mean turn-around, bytes between racks.
struct Figures {
    jobs_per_hour: f64,
    bytes_per_hour: f64,
    turnaround_s: f64,
    crossed: f64,
    shuffled: f64,
    read: f64,
}

impl Figures {
    fn of(results: &Results, class: &str) -> Figures {
        let chosen = || {
            results
                .finished()
                .filter(|job| job.class.starts_with(class))
        };
        let last = results
            .jobs
            .iter()
            .map(|job| job.submitted_ms)
            .max()
            .unwrap_or(0);
        let within = || chosen().filter(|job| job.finished_ms.is_some_and(|at| at <= last));
        let per_hour = |amount: f64| amount * 3.6e6 / last.max(1) as f64;
        let sum = |cause: usize| chosen().map(|job| job.crossed[cause]).sum::<f64>();
        Figures {
            jobs_per_hour: per_hour(within().count() as f64),
            bytes_per_hour: per_hour(within().map(|job| job.bytes[0] as f64).sum()),
            turnaround_s: crate::cluster_sim::metrics::mean(
                &results.sojourns_s(|job| job.class.starts_with(class)),
            ),
            crossed: sum(0) + sum(1) + sum(2),
            shuffled: sum(1),
            read: sum(0),
        }
    }
}

/// How many of the maps ran on a rack that SAMP prefers, and of the reduces on one that SARP wanted
/// more of them on. What is left of either crosses racks whatever the plans say.
fn followed(results: &Results) -> String {
    let placed = &results.stages["place"]["placed"];
    let part = |kind: &str, which: &str| {
        let counts = placed[kind].as_object().into_iter().flatten();
        let all: f64 = counts.filter_map(|(_, count)| count.as_f64()).sum();
        100.0 * placed[kind][which].as_f64().unwrap_or(0.0) / all.max(1.0)
    };
    let (maps, reduces) = (part("maps", "preferred"), part("reduces", "wanted"));
    format!(
        "{}: {maps:.0} % of maps on a preferred rack, {reduces:.0} % of reduces where wanted.",
        results.policy
    )
}

/// SW-35: each variant against what it was built over.
pub(super) fn against_baselines() -> Checked<Table> {
    let mut table = Table::default();
    let workload = mix();
    let pairs = [
        (
            "SW-fair",
            "Fair",
            "fair",
            "local-first",
            0,
            ["+39 %", "-", "-27 %", "-36 %"],
        ),
        (
            "SW-relaxed",
            "Delay",
            "fair",
            "delay",
            5_000,
            ["+46 %", "-", "-32 %", "-48 %"],
        ),
        ("SW-DRF", "DRF", "drf", "local-first", 0, ["as SW-fair"; 4]),
    ];
    for (name, base, share, place, relaxed_ms, paper) in pairs {
        let old = simulate(&workload, base, stages(share, place))?;
        let new = watcher(share, json!({"relaxed_ms": relaxed_ms}));
        let new = simulate(&workload, name, new)?;
        table.note(&followed(&new));
        let (old, new) = (Figures::of(&old, ""), Figures::of(&new, ""));
        let rows = [
            (
                "throughput (jobs)",
                change(new.jobs_per_hour, old.jobs_per_hour),
                1.0,
            ),
            (
                "throughput (bytes)",
                change(new.bytes_per_hour, old.bytes_per_hour),
                1.0,
            ),
            (
                "turn-around",
                change(new.turnaround_s, old.turnaround_s),
                -1.0,
            ),
            (
                "traffic between racks",
                change(new.crossed, old.crossed),
                -1.0,
            ),
        ];
        for ((what, ours, sign), paper) in rows.into_iter().zip(paper) {
            let what = format!("{name} against {base}: {what}");
            table.row(&what, paper, percent(ours), ours * sign > NOTHING);
        }
    }
    table.note("Input sizes are the paper's table times 0.15, as its links could not carry more.");
    table
        .note("Signs are compared, not sizes: links are full 80 % of the time under every policy.");
    table.note(
        "The paper's cut in traffic is not reached. About half of the maps run off the racks",
    );
    table.note("that SAMP prefers, as no free slot is left idle (SW-8). Of files that one");
    table.note("node wrote (blocks_per_writer) 16 % do, and traffic changes by -2.1 and -0.3 %.");
    Ok(table)
}

/// SW-37: the parts one after the other, each with those before it.
pub(super) fn by_parts() -> Checked<Table> {
    let mut table = Table::default();
    let workload = mix();
    let fair = simulate(&workload, "Fair", stages("fair", "local-first"))?;
    let parts = [
        ("NASS", json!({"sarp": false, "samp": false}), "0 %"),
        ("+ SARP", json!({"sarp": true, "samp": false}), "-15 %"),
        ("+ SAMP", json!({"sarp": true, "samp": true}), "-36 %"),
    ];
    let base = Figures::of(&fair, "");
    let mut crossed = Vec::new();
    let mut last = None;
    for (name, settings, paper) in parts {
        let results = simulate(&workload, name, watcher("fair", settings))?;
        let figures = Figures::of(&results, "");
        let traffic = change(figures.crossed, base.crossed);
        let lower = crossed
            .last()
            .is_none_or(|before| traffic < *before - NOTHING);
        table.row(
            &format!("{name}: traffic between racks"),
            paper,
            percent(traffic),
            lower,
        );
        let faster = change(figures.jobs_per_hour, base.jobs_per_hour);
        table.row(
            &format!("{name}: throughput (jobs)"),
            "up",
            percent(faster),
            faster > NOTHING,
        );
        crossed.push(traffic);
        last = Some(results);
    }
    if let Some(last) = last {
        for (class, paper) in [("heavy", "-38 %"), ("medium", "-23 %"), ("light", "-4 %")] {
            let (old, new) = (Figures::of(&fair, class), Figures::of(&last, class));
            let traffic = change(new.shuffled, old.shuffled);
            let what = format!("all three: shuffle between racks, {class} jobs");
            table.row(&what, paper, percent(traffic), traffic < -NOTHING);
        }
        let (old, new) = (Figures::of(&fair, "heavy"), Figures::of(&last, "heavy"));
        let more = change(new.read, old.read);
        table.row(
            "all three: remote reads of heavy jobs",
            "about +3 %",
            percent(more),
            None,
        );
    }
    Ok(table)
}
