//! The libFuzzer binary. `HEDDLE_FUZZ_TARGET` names the target; libFuzzer's own arguments follow.
#![no_main]

use heddle_fuzz::{TARGETS, Target, target};
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("HEDDLE_FUZZ_TARGET").unwrap_or_default();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    target(&name).unwrap_or_else(|| panic!("HEDDLE_FUZZ_TARGET is {name:?}, not of {names:?}"))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.run)(data));
