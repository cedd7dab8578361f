//! HFSP's Table II: PigMix under FAIR with one pool, and under HFSP.

use super::{Table, change, percent, simulate_with};
use heddle_sim::cluster_sim::workload::{DataSets, pigmix};
use heddle_sim::cluster_sim::{Options, Results};
use heddle_sim::failure::Checked;
use heddle_sim::policies::by_name;

/// The runs of a mean: one run of 100 jobs says little.
const SEEDS: u64 = 5;

/// HF-35.
pub(super) fn pigmix_tables() -> Checked<Table> {
    let mut table = Table::default();
    let sets = [
        (
            DataSets::Small,
            "SMALL",
            "63 -> 53 s (-16 %)",
            "2.26 -> 1.99",
            1.0,
        ),
        (
            DataSets::Large,
            "LARGE",
            "2291 -> 544 s (-76 %)",
            "16.8 -> 4.6",
            0.5,
        ),
    ];
    for (sets, name, times, loads, most) in sets {
        let mut means = [[0.0; 2]; 2];
        for seed in 1..=SEEDS {
            for (i, policy) in ["fair-jobs", "hfsp"].into_iter().enumerate() {
                let results = run(sets, policy, seed)?;
                means[i][0] += results.mean_sojourn_s() / SEEDS as f64;
                means[i][1] += load(&results) / SEEDS as f64;
            }
        }
        let [fair, hfsp] = means;
        let less = change(hfsp[0], fair[0]);
        table.row(
            &format!("{name}: mean sojourn, FAIR -> HFSP"),
            times,
            format!("{:.0} -> {:.0} s ({})", fair[0], hfsp[0], percent(less)),
            hfsp[0] < most * fair[0],
        );
        table.row(
            &format!("{name}: mean number of jobs"),
            loads,
            format!("{:.2} -> {:.2}", fair[1], hfsp[1]),
            hfsp[1] < fair[1],
        );
    }
    table.note("Means over 5 seeds; lengths of tasks are ours, which the times follow.");
    table.note("The gain grows with the load: with the two larger sets' tasks 1.2 or 1.3 times as");
    table.note("long FAIR comes to 1991 or 2635 s on LARGE, near the paper's, and HFSP to half of");
    table.note("that. They stay as they are since SMALL, with the same queries, is already more");
    table.note("loaded than the paper's. FAIR without delay scheduling gives the same times.");
    Ok(table)
}

fn run(sets: DataSets, policy: &str, seed: u64) -> Checked<Results> {
    let config = by_name(policy);
    let config = config
        .map_err(|why| heddle_sim::failure::Failure::new(heddle_sim::Check::Decision, why))?;
    let mut options = Options::new(policy, config);
    options.seed = seed;
    // HF-33.
    options.slow_start_per_mille = 950;
    options.trouble.jitter_per_mille = 300;
    simulate_with(&pigmix(sets, seed), options)
}

/// Returns the mean number of unfinished jobs, by Little's law.
fn load(results: &Results) -> f64 {
    let times: f64 = results.sojourns_s(|_| true).iter().sum();
    let last = results.finished().filter_map(|job| job.finished_ms).max();
    times * 1e3 / last.unwrap_or(1) as f64
}
