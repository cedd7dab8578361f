//! The files of the repository, for the tests that check house rules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the root is there")
}

/// Every file that git tracks, or would, by its path and with its text.
pub(crate) fn files(endings: &[&str]) -> Vec<(String, String)> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files of a checkout");
    assert!(
        listed.status.success(),
        "git ls-files failed; is this a checkout?"
    );
    let names = String::from_utf8(listed.stdout).expect("our names are UTF-8");
    let wanted = |name: &&str| endings.iter().any(|ending| name.ends_with(ending));
    let read = |name: &str| {
        let text = fs::read_to_string(root().join(name)).ok()?;
        Some((name.to_string(), text))
    };
    let files: Vec<_> = names.lines().filter(wanted).filter_map(read).collect();
    assert!(
        !files.is_empty(),
        "no {endings:?} found: the rule would check nothing"
    );
    files
}
