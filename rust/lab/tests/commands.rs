//! Tests `heddle-lab` as a process: exit codes and messages.

use std::process::{Command, Output, Stdio};

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_heddle-lab"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("heddle-lab runs")
}

#[test]
fn mistakes_are_refused_with_what_was_expected() {
    let cases: [(&[&str], &str); 3] = [
        (&["papers", "XX-1"], "expected DP-52"),
        (&["case", "dp"], "not JSON"),
        (&["case", "lottery"], "possible values: dp, fair"),
    ];
    for (arguments, words) in cases {
        let ran = lab(arguments);
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
        assert!(ran.stdout.is_empty(), "{arguments:?}");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}
