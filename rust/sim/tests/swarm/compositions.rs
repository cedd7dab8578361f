//! Runs every policy composition under random workloads and random faults. Each seed has another
//! subset of them, and every check runs after every event.
//!
//! `HEDDLE_SEEDS=n` runs n seeds per composition instead of the usual number. A failure prints the
//! command that runs its seed alone.

use crate::outcome::Outcome;
use crate::world::{Options, World};
use crate::{number, seeds};
use heddle_core::catalogue::share_names;
use heddle_sim::Policy;
use std::time::Instant;

/// Seeds per composition in an ordinary test run.
const SEEDS: u64 = 20;

/// One seed in this many runs twice: the same seed must give the same decisions.
const REPEAT_EVERY: u64 = 20;

fn run(seed: u64, policy: Policy) -> Result<Outcome, String> {
    let options = Options::swarm(seed, policy);
    let features = options.features.names().join(" ");
    let size = format!("{:?}", options.size);
    let outcome = World::new(options, None).and_then(World::run);
    outcome.map_err(|failure| {
        format!(
            "{failure}\nseed {seed} under {policy}, {size}, {features}\nto run it again:\n    \
             HEDDLE_SEED={seed} HEDDLE_POLICY={policy} cargo test -p heddle-sim --test swarm \
             one_seed -- --nocapture"
        )
    })
}

/// The minimum activity of a swarm.
#[derive(Default)]
struct Coverage {
    finished: usize,
    refused: u32,
    local: u32,
    remote: u32,
    conserved: u64,
    events: u64,
}

fn swarm(share: &str) {
    let seeds = seeds(SEEDS);
    let from = number("HEDDLE_FROM").unwrap_or(0);
    for policy in Policy::all().iter().filter(|policy| policy.share == share) {
        let started = Instant::now();
        let mut seen = Coverage::default();
        let mut failures = Vec::new();
        for seed in from..from + seeds {
            let outcome = match run(seed, *policy) {
                Ok(outcome) => outcome,
                Err(failure) => {
                    failures.push((seed, failure));
                    continue;
                }
            };
            if seed % REPEAT_EVERY == 0 {
                let again = run(seed, *policy).expect("it held the first time");
                assert_eq!(
                    outcome.digest, again.digest,
                    "seed {seed} under {policy} twice"
                );
            }
            seen.finished += outcome.turnarounds().len();
            seen.refused += outcome.refused;
            seen.local += outcome.locality[0];
            seen.remote += outcome.locality[2];
            seen.conserved += outcome.conserved;
            seen.events += outcome.events;
        }
        assert!(failures.is_empty(), "{}", describe(&failures));
        let rate = seeds as f64 / started.elapsed().as_secs_f64();
        println!(
            "{policy}: {seeds} seeds, {} events, {} jobs done, {} grants refused, \
             {:.0} seeds/s",
            seen.events, seen.finished, seen.refused, rate
        );
        if seeds >= SEEDS {
            // A swarm without activity would pass every check.
            assert!(seen.finished > seeds as usize / 2, "too few jobs are done");
            let (least, activity) = (seeds as u32 / 2, [seen.refused, seen.local, seen.remote]);
            // Few are remote: an offer looks at the hosts that an ask names first.
            assert!(
                seen.refused > least && seen.local > least && seen.remote > 0,
                "refused, local and remote grants: {activity:?}"
            );
            assert!(
                seen.conserved > 10 * seeds,
                "conservation was hardly ever checked"
            );
        }
    }
}

/// Formats the first failure in full, and the others in one line each.
fn describe(failures: &[(u64, String)]) -> String {
    let mut text = format!("\n{}\n", failures[0].1);
    for (seed, failure) in failures[1..].iter().take(20) {
        let what = failure.lines().find(|line| !line.starts_with(' '));
        text.push_str(&format!("also seed {seed}: {}\n", what.unwrap_or("")));
    }
    text
}

/// The compositions of every share, side by side.
#[test]
fn every_composition() {
    std::thread::scope(|scope| {
        for share in share_names() {
            scope.spawn(move || swarm(share));
        }
    });
}

/// Runs one seed, to investigate a failure; does nothing without `HEDDLE_SEED`.
#[test]
fn one_seed() {
    let Some(seed) = number("HEDDLE_SEED") else {
        return;
    };
    let policies = match std::env::var("HEDDLE_POLICY") {
        Ok(text) => vec![text.parse().expect("a policy")],
        Err(_) => Policy::all(),
    };
    for policy in policies {
        match run(seed, policy) {
            Ok(outcome) => println!("{policy}: held; {outcome:?}"),
            Err(failure) => panic!("\n{failure}\n"),
        }
    }
}
