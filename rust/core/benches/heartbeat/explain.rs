//! Cost of keeping decisions, and of looking up on ticks why jobs wait. Two clusters do the same
//! work, one with and one without. They alternate in one run, so that both see the same machine.
//! Measures only; judges nothing.

use super::presets::{FEW, Load, MANY, WARM_TICKS, config};
use heddle_core::catalogue::PRESETS;
use std::time::{Duration, Instant};

/// How often the two alternate, and the ticks (of 1,000 heartbeats) of each turn.
const TURNS: usize = 15;
const TICKS: u32 = 4;

/// Prints the ratio of each preset in `chosen`, or of all if it is empty.
pub(crate) fn run(chosen: &[String]) {
    println!(
        "time with explain.entries 16 by that with 0, processor time of the thread: heartbeats, \
         ticks and jobs together; median of {TURNS} turns of {TICKS} ticks, least and most"
    );
    let named = |name: &str| chosen.is_empty() || chosen.iter().any(|other| other == name);
    for preset in PRESETS.iter().filter(|preset| named(preset.name)) {
        for jobs in [FEW, MANY] {
            let mut ratios = ratios(preset.name, jobs);
            ratios.sort_by(f64::total_cmp);
            println!(
                "{:<17}{jobs:>6} jobs {:>8.3} ({:.3} to {:.3})",
                preset.name,
                ratios[TURNS / 2],
                ratios[0],
                ratios[TURNS - 1]
            );
        }
    }
}

fn ratios(preset: &str, jobs: u32) -> Vec<f64> {
    let [mut without, mut with] = [0, 16].map(|entries| {
        let mut config = config(preset);
        config["explain"]["entries"] = entries.into();
        let mut load = Load::new(config, jobs);
        load.run(WARM_TICKS);
        load
    });
    let turn = |turn: usize| {
        // The first of a turn alternates, too.
        let (a, b) = if turn.is_multiple_of(2) {
            let a = timed(&mut with);
            (a, timed(&mut without))
        } else {
            let b = timed(&mut without);
            (timed(&mut with), b)
        };
        a.as_secs_f64() / b.as_secs_f64()
    };
    (0..TURNS).map(turn).collect()
}

fn timed(load: &mut Load) -> Duration {
    let started = clock();
    load.run(TICKS);
    clock() - started
}

/// Returns the processor time of this thread, which other processes disturb less than wall time.
/// Falls back to wall time if the kernel does not tell.
fn clock() -> Duration {
    static STARTED: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|told| told.split(' ').next()?.parse().ok());
    match ns {
        Some(ns) => Duration::from_nanos(ns),
        None => STARTED.get_or_init(Instant::now).elapsed(),
    }
}
