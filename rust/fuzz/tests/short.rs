//! Runs every target without instrumentation: its seeds, its kept corpus, and mutations of both.
//! `./x test` runs this briefly. `./x fuzz` runs it for longer, beside libFuzzer.

use heddle_fuzz::mutate::mutate;
use heddle_fuzz::{TARGETS, Target};
use oorandom::Rand64;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Mutations of each target, unless `HEDDLE_FUZZ_RUNS` says otherwise. `HEDDLE_FUZZ_SEED` seeds
/// their draws.
const RUNS: u64 = 10_000;
const SEED: u64 = 20_261_122;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a whole number"))
}

/// Reads this target's corpus of `./x fuzz --keep-corpus`, or of the folder `HEDDLE_FUZZ_CORPUS`.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let folder = std::env::var_os("HEDDLE_FUZZ_CORPUS")
        .map_or_else(|| Path::new(kept).join(target.name), PathBuf::from);
    let entries = fs::read_dir(&folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder's entry").path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| fs::read(file).expect("a corpus file"))
        .collect()
}

/// Runs one input. A panic leaves the input in a file and says how to repeat it.
fn check(target: &Target, input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_ok() {
        return;
    }
    let name = format!("heddle-fuzz-{}-{}", target.name, input.len());
    let path = std::env::temp_dir().join(name);
    let kept = fs::write(&path, input);
    panic!(
        "{}: failed on {} ({kept:?}): {}; repeat it by `./x fuzz {} FILE`",
        target.name,
        path.display(),
        input.escape_ascii(),
        target.name
    );
}

fn run(name: &str) {
    let target = heddle_fuzz::target(name).expect("a target of the list");
    let mut inputs = (target.seeds)();
    assert!(!inputs.is_empty(), "{name}: no seeds");
    inputs.extend(corpus(target));
    for input in &inputs {
        check(target, input);
    }
    let runs = number("HEDDLE_FUZZ_RUNS", RUNS);
    let mut random = Rand64::new(number("HEDDLE_FUZZ_SEED", SEED).into());
    let pick = |random: &mut Rand64| random.rand_range(0..inputs.len() as u64) as usize;
    for _ in 0..runs {
        let (one, other) = (pick(&mut random), pick(&mut random));
        check(target, &mutate(&mut random, &inputs[one], &inputs[other]));
    }
}

macro_rules! targets {
    ($($name:ident),*) => {
        $(#[test] fn $name() { run(stringify!($name)); })*

        #[test]
        fn every_target_has_its_short_run() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

targets!(
    frame,
    events,
    control,
    journal,
    config,
    allocations,
    fair,
    capacity,
    scheduler_conf,
    replies,
    history,
    acl,
    signature,
    request
);

/// A target that cannot fail would show nothing.
#[test]
fn a_broken_promise_is_found() {
    let broken = Target {
        name: "broken",
        summary: "fails on a zero byte",
        run: |data| assert!(!data.contains(&0)),
        seeds: || vec![b"abc".to_vec()],
    };
    let mut random = Rand64::new(SEED.into());
    let found = (0..RUNS).any(|_| {
        let input = mutate(&mut random, b"abc", b"\0");
        catch_unwind(AssertUnwindSafe(|| check(&broken, &input))).is_err()
    });
    assert!(found);
}
