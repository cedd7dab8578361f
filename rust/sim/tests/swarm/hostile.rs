//! Runs every preset under malicious users: extreme asks, endless queues, labels that come and go,
//! ApplicationMasters that never register, attempts beyond the 255th, and all features of the
//! swarm. As in the swarm, every check runs after every event.
//!
//! `HEDDLE_SEEDS=n` runs n seeds per preset, from `HEDDLE_FROM`. A failure prints its seed.

use crate::outcome::Outcome;
use crate::world::{Options, World};
use crate::{number, seeds};
use heddle_core::catalogue::PRESETS;
use heddle_sim::Policy;

/// Seeds per preset in an ordinary test run.
const SEEDS: u64 = 125;

/// One seed in this many runs twice: all messages on the line must be the same.
const REPEAT_EVERY: u64 = 10;

fn run(seed: u64, preset: &str, record: bool) -> Outcome {
    let policy: Policy = preset.parse().expect("a preset");
    let mut options = Options::hostile(seed, policy);
    options.record = record;
    let features = options.features.names().join(" ");
    let outcome = World::new(options, None).and_then(World::run);
    outcome.unwrap_or_else(|failure| {
        panic!(
            "\n{failure}\nseed {seed} under {preset}: {features}\nto run it again:\n    \
             HEDDLE_FROM={seed} HEDDLE_SEEDS=1 HEDDLE_PRESET={preset} cargo test -p heddle-sim \
             --test swarm hostile::\n"
        )
    })
}

fn hostile(preset: &str) {
    let seeds = seeds(SEEDS);
    let from = number("HEDDLE_FROM").unwrap_or(0);
    let (mut finished, mut events, mut expired) = (0, 0, 0);
    for seed in from..from + seeds {
        let twice = seed % REPEAT_EVERY == 0;
        let outcome = run(seed, preset, twice);
        if twice {
            let again = run(seed, preset, true);
            assert_eq!(
                outcome.record, again.record,
                "seed {seed} under {preset} twice"
            );
        }
        finished += outcome.turnarounds().len();
        events += outcome.events;
        expired += outcome.queues_expired;
    }
    println!(
        "{preset}: seeds {from}..{}, {events} events, {finished} jobs done",
        from + seeds
    );
    // A run without finished jobs would prove nothing.
    assert!(
        seeds < SEEDS || finished > seeds as usize / 2,
        "{finished} jobs done"
    );
    assert!(seeds < SEEDS || expired > 0, "no queue expired");
}

/// Every preset side by side, or the one that `HEDDLE_PRESET` names.
#[test]
fn every_preset() {
    let only = std::env::var("HEDDLE_PRESET").ok();
    let names = PRESETS.iter().map(|preset| preset.name);
    let wanted = |name: &&str| only.as_deref().is_none_or(|only| only == *name);
    std::thread::scope(|scope| {
        for name in names.filter(wanted) {
            scope.spawn(move || hostile(name));
        }
    });
}
