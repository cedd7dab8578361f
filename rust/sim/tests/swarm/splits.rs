//! The same events give the same decisions, however they are split into steps, run after run.

use crate::features::Features;
use crate::seeds;
use crate::world::{Options, World};
use heddle_core::words::event::Decision;
use heddle_core::{Engine, Setup};
use heddle_sim::{Passage, Policy, digest};

/// Seeds per composition in an ordinary test run.
const SEEDS: u64 = 4;

/// Replays a record with each step split into steps of at most `most` events.
fn replay(record: &[Passage], most: usize) -> (u64, usize) {
    let mut engine: Option<Engine> = None;
    let (mut sum, mut steps) = (0xcbf2_9ce4_8422_2325, 0);
    let mut decisions: Vec<Decision> = Vec::new();
    for passage in record {
        match passage {
            Passage::Open(setup) => {
                let setup = Setup::from_json(setup).expect("it was good before");
                engine = Some(Engine::new(setup).expect("it was good before"));
            }
            Passage::Step(now, events, accepted) => {
                let engine = engine.as_mut().expect("records begin with an engine");
                for part in events.chunks(most) {
                    decisions.clear();
                    engine.step(*now, part, *accepted, &mut decisions);
                    sum = decisions.iter().fold(sum, digest);
                    steps += 1;
                }
            }
            Passage::Request(now, request) => {
                let engine = engine.as_mut().expect("records begin with an engine");
                // A request that was rejected then is rejected now; the digest would show a
                // difference.
                let _ = engine.request(*now, request);
            }
        }
    }
    (sum, steps)
}

#[test]
fn however_events_are_cut_into_steps_the_decisions_are_the_same() {
    for policy in Policy::all() {
        for seed in 0..seeds(SEEDS) {
            let mut options = Options::swarm(seed, policy);
            // The limit on decisions applies per step, so there the split does matter.
            options.features = Features {
                batching: true,
                few_decisions: false,
                ..options.features
            };
            options.record = true;
            let outcome = World::new(options, None).and_then(World::run);
            let outcome = outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
            let (whole, steps) = replay(&outcome.record, usize::MAX);
            assert_eq!(
                whole, outcome.digest,
                "replay of seed {seed} under {policy}"
            );
            let (single, more_steps) = replay(&outcome.record, 1);
            assert!(
                more_steps > steps,
                "seed {seed} had steps of several events"
            );
            assert_eq!(
                single, whole,
                "seed {seed} under {policy}, one event per step"
            );
            assert_eq!(
                replay(&outcome.record, 3).0,
                whole,
                "seed {seed} under {policy}"
            );
        }
    }
}
