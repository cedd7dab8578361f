//! The Reverse-Adaptive experiments. None of the original numbers survive, so the comparison is
//! with the shape that the claims predict (RA-38).

use super::{Table, simulate};
use heddle_sim::cluster_sim::metrics::{jain, mean};
use heddle_sim::cluster_sim::workload::{Burst, goals};
use heddle_sim::cluster_sim::{Results, Workload};
use heddle_sim::failure::Checked;
use serde_json::{Value, json};

const JOBS: u32 = 80;

/// The runs of a sum.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

/// Returns the policy that knows f(t), the one that does not, and job order only.
fn policies(workload: &Workload) -> [(&'static str, Value); 3] {
    let steps = &workload.foreign.steps;
    let forecast: Vec<Value> = steps
        .iter()
        .map(|(at_ms, per_mille)| json!([at_ms, f64::from(*per_mille) / 1_000.0]))
        .collect();
    let stages = json!({
        "share": "single", "order": "reverse-adaptive", "place": "local-first",
    });
    [
        (
            "reverse-adaptive",
            json!({"policy": stages, "reverse_adaptive": {"foreign_load": forecast}}),
        ),
        (
            "adaptive",
            json!({"policy": stages, "reverse_adaptive": {"variant": "adaptive"}}),
        ),
        ("fifo", json!({"policy": "fifo"})),
    ]
}

/// The figures of one policy, over all seeds.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    met: u32,
    goals: u32,
    overrun: f64,
    completion: f64,
    fairness: f64,
}

impl Figures {
    fn add(&mut self, results: &Results) {
        let (met, goals) = results.goals();
        self.met += met;
        self.goals += goals;
        let relative: Vec<f64> = results
            .finished()
            .filter_map(|job| {
                let goal_ms = job.goal_ms? - job.submitted_ms;
                Some(job.sojourn_ms()? as f64 / goal_ms as f64)
            })
            .collect();
        let overruns: Vec<f64> = relative.iter().map(|part| (part - 1.0).max(0.0)).collect();
        self.overrun += mean(&overruns);
        self.completion += mean(&relative);
        self.fairness += jain(&relative);
    }
}

fn run(burst: Burst) -> Checked<[Figures; 3]> {
    let mut figures = [Figures::default(); 3];
    for seed in SEEDS {
        let workload = goals(JOBS, burst, seed);
        for (figures, (name, config)) in figures.iter_mut().zip(policies(&workload)) {
            figures.add(&simulate(&workload, name, config)?);
        }
    }
    Ok(figures)
}

fn met(figures: &Figures) -> String {
    format!("{} of {}", figures.met, figures.goals)
}

fn rows(table: &mut Table, case: &str, figures: &[Figures; 3]) {
    let seeds = SEEDS.count() as f64;
    let [reverse, adaptive, fifo] = figures;
    table.row(&format!("{case}: goals met, FIFO"), "-", met(fifo), None);
    table.row(
        &format!("{case}: goals met, Adaptive"),
        "-",
        met(adaptive),
        None,
    );
    table.row(
        &format!("{case}: goals met, Reverse-Adaptive"),
        "-",
        met(reverse),
        None,
    );
    let three = |value: fn(&Figures) -> f64| {
        let values = [fifo, adaptive, reverse].map(|figures| value(figures) / seeds);
        format!("{:.3} {:.3} {:.3}", values[0], values[1], values[2])
    };
    let mut line = |what: &str, value: fn(&Figures) -> f64| {
        table.row(
            &format!("{case}: {what} (FIFO, A, RA)"),
            "-",
            three(value),
            None,
        );
    };
    line("mean overrun over the goal", |figures| figures.overrun);
    line("mean of time over goal", |figures| figures.completion);
    line("Jain's fairness of that", |figures| figures.fairness);
}

/// RA-32: about equal.
pub(super) fn alone() -> Checked<Table> {
    let mut table = Table::default();
    let figures = run(Burst::None)?;
    rows(&mut table, "alone", &figures);
    let apart = figures[0].met.abs_diff(figures[1].met);
    let agrees = f64::from(apart) <= 0.05 * f64::from(figures[0].goals);
    let ours = format!("{apart} goals apart");
    table.row(
        "Reverse-Adaptive against Adaptive",
        "about equal",
        ours,
        agrees,
    );
    Ok(table)
}

/// RA-33: fewer misses, because it runs early before the load rises.
pub(super) fn with_load() -> Checked<Table> {
    let mut table = Table::default();
    let figures = run(Burst::Sine)?;
    rows(&mut table, "sine", &figures);
    let gap = i64::from(figures[0].met) - i64::from(figures[1].met);
    table.row(
        "goals that Reverse-Adaptive meets beyond Adaptive",
        "more",
        format!("{gap:+}"),
        gap > 0,
    );
    Ok(table)
}

/// RA-34: the gap grows with burstiness while f is known.
pub(super) fn with_bursts() -> Checked<Table> {
    let mut table = Table::default();
    let mut gaps = Vec::new();
    for factor in [1.0, 2.0, 4.0, 8.0] {
        let figures = run(Burst::OnOff(factor))?;
        rows(&mut table, &format!("bursts x{factor}"), &figures);
        gaps.push(i64::from(figures[0].met) - i64::from(figures[1].met));
    }
    let ours = gaps
        .iter()
        .map(|gap| format!("{gap:+}"))
        .collect::<Vec<_>>()
        .join(" ");
    let agrees = gaps.iter().all(|gap| *gap >= 0) && gaps.last() >= gaps.first();
    table.row(
        "goals beyond Adaptive, bursts x1 2 4 8",
        "grows",
        ours,
        agrees,
    );
    Ok(table)
}
