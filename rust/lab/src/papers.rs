//! The papers' experiments in the simulator. Each is one function that returns a table with the
//! paper's figure beside ours and a verdict by size. `rust/lab/results` keeps the last tables and
//! plots, `docs/evidence.md` shows them.

mod boosts;
mod choices;
mod fair;
mod goals;
mod levels;
mod market;
mod runs;
mod shuffle;
mod size;
pub mod stored;
mod table;
mod variants;
pub mod verdict;

pub use runs::{Plan, Runs};
pub use table::{Row, Table};

use heddle_sim::cluster_sim::Knowledge;
use heddle_sim::failure::{Checked, Failure};
use heddle_sim::{Check, policies};
use serde_json::Value;

/// One of the papers' experiments.
pub struct Experiment {
    /// The requirement that it fulfils.
    pub id: &'static str,
    /// Its title in reports.
    pub title: &'static str,
    /// Whether every test run repeats it.
    pub short: bool,
    /// Whether it shows its figures with live knowledge, too.
    live: bool,
    /// Runs it with one kind of knowledge.
    run: fn(&Runs) -> Checked<Table>,
}

impl Experiment {
    /// Runs it, with live knowledge too where it shows that.
    ///
    /// # Errors
    /// A failure of one of its simulations.
    pub fn table(&self, runs: &Runs) -> Checked<Table> {
        let mut table = (self.run)(runs)?;
        if self.live && runs.knowledge == Knowledge::Full {
            let live = runs.with(Knowledge::Live(Vec::new()));
            table.beside(&(self.run)(&live)?);
        }
        Ok(table)
    }
}

const fn experiment(
    id: &'static str,
    title: &'static str,
    short: bool,
    run: fn(&Runs) -> Checked<Table>,
) -> Experiment {
    Experiment {
        id,
        title,
        short,
        live: false,
        run,
    }
}

/// An experiment that shows its figures with live knowledge beside the others.
const fn both(experiment: Experiment) -> Experiment {
    Experiment {
        live: true,
        ..experiment
    }
}

/// All experiments, in the order of the requirements.
pub const EXPERIMENTS: &[Experiment] = &[
    both(experiment(
        "DP-52",
        "Dynamic Priority, Figures 3, 4 and 7: budgets and completion times of two users",
        true,
        market::two_users,
    )),
    experiment(
        "DP-54",
        "Dynamic Priority, Figures 5 and 8: ten users, shares n/55",
        false,
        levels::ten_users,
    ),
    experiment(
        "DP-55",
        "Dynamic Priority, Figures 6 and 9: eighty users",
        false,
        levels::eighty_users,
    ),
    both(experiment(
        "DP-60",
        "Dynamic Priority, Figures 10 and 11: a fourfold rate for one job each",
        false,
        boosts::boosts,
    )),
    experiment(
        "FS-27",
        "Original Fair Scheduler: one long job and a stream of short ones",
        true,
        fair::long_and_short,
    ),
    experiment(
        "FS-15",
        "Original Fair Scheduler, our choices: as published, new jobs, minimums",
        false,
        choices::original,
    ),
    experiment(
        "SW-26",
        "ShuffleWatcher, our choices: how relaxed fairness waits",
        false,
        choices::waits,
    ),
    experiment(
        "SW-34",
        "ShuffleWatcher, Table 3 and Figures 1, 9, 10 and 11: traffic and concurrency",
        false,
        shuffle::traffic,
    ),
    both(experiment(
        "SW-35",
        "ShuffleWatcher, Figure 8: against Fair, Delay and DRF",
        false,
        shuffle::against_baselines,
    )),
    experiment(
        "SW-37",
        "ShuffleWatcher, Figures 12 and 13: NASS, SARP and SAMP one after the other",
        false,
        shuffle::by_parts,
    ),
    experiment(
        "SW-38",
        "ShuffleWatcher, Figure 14: jobs per user, and mixes of jobs",
        false,
        variants::mixes,
    ),
    experiment(
        "SW-39",
        "ShuffleWatcher on the dedicated cluster of 16 nodes",
        false,
        variants::dedicated,
    ),
    experiment(
        "SW-40",
        "ShuffleWatcher: thresholds, and choices that the paper leaves open",
        false,
        variants::sensitivity,
    ),
    experiment(
        "HF-20",
        "HFSP, our choices: kinds of slots, and how exactly it ages",
        false,
        choices::sizes,
    ),
    both(experiment(
        "HF-35",
        "HFSP, Table II and Figure 3: sojourn times and load of PigMix",
        false,
        size::pigmix_tables,
    )),
    experiment(
        "HF-39",
        "HFSP on SWIM: Facebook's day of 2010 under every preset",
        false,
        size::swim_presets,
    ),
    experiment(
        "RA-17",
        "Reverse-Adaptive, our choices: the division of a period",
        false,
        choices::division,
    ),
    experiment(
        "RA-32",
        "Reverse-Adaptive, experiment 1: MapReduce only",
        false,
        goals::alone,
    ),
    both(experiment(
        "RA-33",
        "Reverse-Adaptive, experiment 2: with a transactional load",
        false,
        goals::with_load,
    )),
    experiment(
        "RA-34",
        "Reverse-Adaptive, experiment 3: burstiness of that load, and a wrong forecast",
        false,
        goals::with_bursts,
    ),
];

/// The configuration of a policy by its name.
fn named(policy: &str) -> Checked<Value> {
    policies::by_name(policy).map_err(|why| Failure::new(Check::Decision, why))
}

/// Returns how much larger `new` is than `old`, in per cent.
fn change(new: f64, old: f64) -> f64 {
    100.0 * (new / old - 1.0)
}
