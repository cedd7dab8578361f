//! The papers' experiments in the simulator. Each is one function that returns a table with the
//! paper's number beside ours and a verdict on sign or order. Our numbers show shapes, not times:
//! too little is known of the papers' machines and data.

mod fair;
mod goals;
mod market;
mod shuffle;
mod size;

use heddle_sim::cluster_sim::{ClusterSim, Options, Results, Workload};
use heddle_sim::failure::Checked;
use serde_json::Value;
use std::fmt;

/// One comparison with a paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The compared quantity.
    pub what: String,
    /// The paper's figure.
    pub paper: String,
    /// Our figure.
    pub ours: String,
    /// Whether sign or order agree; none where the paper gives no figure to compare.
    pub agrees: Option<bool>,
}

/// The result of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Its rows.
    pub rows: Vec<Row>,
    /// Remarks that a reader needs to judge them.
    pub notes: Vec<String>,
}

impl Table {
    fn row(&mut self, what: &str, paper: &str, ours: String, agrees: impl Into<Option<bool>>) {
        self.rows.push(Row {
            what: what.to_string(),
            paper: paper.to_string(),
            ours,
            agrees: agrees.into(),
        });
    }

    fn note(&mut self, note: &str) {
        self.notes.push(note.to_string());
    }

    /// Returns whether no row disagrees.
    pub fn agrees(&self) -> bool {
        self.rows.iter().all(|row| row.agrees != Some(false))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:52} {:>22} {:>22}  verdict", "", "paper", "here")?;
        for row in &self.rows {
            let verdict = match row.agrees {
                Some(true) => "agrees",
                Some(false) => "DIFFERS",
                None => "-",
            };
            writeln!(
                f,
                "{:52} {:>22} {:>22}  {verdict}",
                row.what, row.paper, row.ours
            )?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        Ok(())
    }
}

/// One of the papers' experiments.
pub struct Experiment {
    /// The requirement that it fulfils.
    pub id: &'static str,
    /// Its title in reports.
    pub title: &'static str,
    /// Runs it.
    pub run: fn() -> Checked<Table>,
}

/// All experiments, in the order of the requirements.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "DP-52",
        title: "Dynamic Priority, Figure 3: budgets of two users over time",
        run: market::budgets,
    },
    Experiment {
        id: "DP-54",
        title: "Dynamic Priority, Figure 5: ten users, shares n/55",
        run: market::levels,
    },
    Experiment {
        id: "DP-60",
        title: "Dynamic Priority, Figures 10 and 11: a fourfold rate for one job each",
        run: market::boosts,
    },
    Experiment {
        id: "FS-27",
        title: "Original Fair Scheduler: one long job and a stream of short ones",
        run: fair::long_and_short,
    },
    Experiment {
        id: "SW-35",
        title: "ShuffleWatcher, Figure 8: against Fair, Delay and DRF",
        run: shuffle::against_baselines,
    },
    Experiment {
        id: "SW-37",
        title: "ShuffleWatcher, Figures 12 and 13: NASS, SARP and SAMP one after the other",
        run: shuffle::by_parts,
    },
    Experiment {
        id: "HF-35",
        title: "HFSP, Table II: mean sojourn times of PigMix",
        run: size::pigmix_tables,
    },
    Experiment {
        id: "RA-32",
        title: "Reverse-Adaptive, experiment 1: MapReduce only",
        run: goals::alone,
    },
    Experiment {
        id: "RA-33",
        title: "Reverse-Adaptive, experiment 2: with a transactional load",
        run: goals::with_load,
    },
    Experiment {
        id: "RA-34",
        title: "Reverse-Adaptive, experiment 3: burstiness of that load",
        run: goals::with_bursts,
    },
];

/// Runs a workload under a configuration.
fn simulate(workload: &Workload, name: &str, config: Value) -> Checked<Results> {
    simulate_with(workload, Options::new(name, config))
}

fn simulate_with(workload: &Workload, options: Options) -> Checked<Results> {
    ClusterSim::new(workload.clone(), options)?.run()
}

/// Returns how much larger `new` is than `old`, in per cent.
fn change(new: f64, old: f64) -> f64 {
    100.0 * (new / old - 1.0)
}

fn percent(change: f64) -> String {
    format!("{change:+.1} %")
}
