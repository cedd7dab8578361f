//! Tests whether predictions hold. At every job's submission the test requests a prediction, and
//! later compares it with the outcome. The whole FB-2010 day takes a longer run
//! (`heddle simulate --predict`). Its recorded results in `rust/sim/results` must keep the same
//! promise, but this test does not repeat the run.

use heddle_core::catalogue::PRESETS;
use heddle_sim::cluster_sim::workload::{self, JobPlan};
use heddle_sim::cluster_sim::{ClusterSim, Hardware, Options, Results, Trouble, Workload};
use heddle_sim::policies;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

/// The promise is four of five.
const KEPT: RangeInclusive<f64> = 0.75..=0.85;

/// The outcome of the FB-2010 day under each policy, as last recorded.
const RECORD: &str = include_str!("../../results/predictions-2026-11-26.json");

/// Jobs of one to twelve maps and up to three reduces, with varying lengths. They arrive first
/// faster, then slower, than the cluster works.
fn workload() -> Workload {
    let hardware = Hardware {
        nodes: 10,
        racks: 2,
        slots: [2, 1],
        ..Hardware::default()
    };
    let job = |i: u64| JobPlan {
        user: format!("user{}", i % 3),
        submit_ms: (i * 14_000 + (i % 7) * 3_000 + (i / 100 % 2) * 1_000_000) as i64,
        tasks: [1 + (i * i % 12) as u32, (i % 4) as u32],
        input_bytes: (1 + i * i % 12) << 26,
        shuffle_bytes: (i % 4) << 24,
        output_bytes: (i % 4) << 24,
        ..JobPlan::default()
    };
    let mut jobs: Vec<JobPlan> = (0..600).map(job).collect();
    jobs.sort_by_key(|job| job.submit_ms);
    Workload {
        name: "varied".to_string(),
        hardware,
        jobs,
        ..Workload::default()
    }
}

fn run(policy: &str, workload: Workload) -> Results {
    let mut options = Options::new(policy, policies::by_name(policy).expect("a policy"));
    options.predict = true;
    options.trouble = Trouble {
        jitter_per_mille: 300,
        ..Trouble::default()
    };
    let sim = ClusterSim::new(workload, options).expect("the configuration is good");
    sim.run().expect("every check holds")
}

/// The engine has learnt nothing yet when the first few dozen jobs arrive: they have wide bands.
#[test]
fn four_of_five_jobs_end_in_their_band_under_every_preset() {
    for preset in PRESETS {
        let results = run(preset.name, workload());
        let judged = results.ends_foreseen();
        let all = judged.sooner + judged.inside + judged.later;
        assert_eq!(
            all, 600,
            "{}: every job was predicted and ended",
            preset.name
        );
        let coverage = judged.coverage();
        assert!(
            KEPT.contains(&coverage),
            "{}: {judged:?}, {coverage:.3} in the band",
            preset.name
        );
    }
}

/// The longest recorded day has rushes in which thousands wait at once, unlike any short workload.
/// If the engine remembers too few errors, this day shows it under `reverse-adaptive`.
#[test]
fn the_recorded_day_kept_the_promise_under_every_preset() {
    let record: Value = serde_json::from_str(RECORD).expect("the record is JSON");
    let runs = record["runs"].as_array().expect("the record has runs");
    for preset in PRESETS {
        // The run of one name counts for another of the same composition.
        let names = PRESETS
            .iter()
            .filter(|other| other.stages == preset.stages)
            .map(|other| json!(other.name));
        let names: Vec<Value> = names.collect();
        let of_preset = runs.iter().find(|run| names.contains(&run["policy"]));
        let run = of_preset.unwrap_or_else(|| {
            let command = record["command"].as_str().unwrap_or_default();
            panic!("{}: not in rust/sim/results; run `{command}`", preset.name)
        });
        for sort in ["ends", "starts"] {
            let coverage = run["predictions"][sort]["coverage"].as_f64();
            let coverage = coverage.expect("a run has its coverage");
            assert!(
                KEPT.contains(&coverage),
                "{}: {sort} {coverage}",
                preset.name
            );
        }
    }
}

/// A prediction has no effect: the decisions are the same, byte for byte, with and without
/// requests.
#[test]
fn asking_changes_no_decision() {
    let asked = run("fair", workload::long_short(small(), 10, 60_000));
    let mut options = Options::new("fair", json!({"policy": "fair"}));
    options.trouble.jitter_per_mille = 300;
    let silent = ClusterSim::new(workload::long_short(small(), 10, 60_000), options);
    let silent = silent.expect("the configuration is good");
    let silent = silent.run().expect("every check holds");
    assert_eq!(silent.digest, asked.digest);
    assert!(asked.ends_foreseen().inside > 0);
    assert_eq!(silent.ends_foreseen().coverage(), 0.0, "nobody asked");
}

fn small() -> Hardware {
    Hardware {
        nodes: 5,
        racks: 1,
        ..Hardware::default()
    }
}
