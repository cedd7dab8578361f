//! The libFuzzer binary. `HEDDLE_FUZZ_TARGET` names the target; libFuzzer's own arguments follow.
//! Writes the target's seeds into the folder `HEDDLE_FUZZ_SEEDS` first, because libFuzzer reads its
//! initial inputs from folders only.
#![no_main]

use heddle_fuzz::{TARGETS, Target, target};
use std::path::Path;
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("HEDDLE_FUZZ_TARGET").unwrap_or_default();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    target(&name).unwrap_or_else(|| panic!("HEDDLE_FUZZ_TARGET is {name:?}, not of {names:?}"))
});

fn write_seeds() {
    let Some(folder) = std::env::var_os("HEDDLE_FUZZ_SEEDS") else {
        return;
    };
    for (number, seed) in (TARGET.seeds)().iter().enumerate() {
        let file = Path::new(&folder).join(format!("seed-{number}"));
        std::fs::write(&file, seed).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}

libfuzzer_sys::fuzz_target!(
    init: write_seeds(),
    |data: &[u8]| (TARGET.run)(data)
);
