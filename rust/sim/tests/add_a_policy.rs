//! Runs the lines of `docs/develop/add-a-policy.md` on a copy of the repository: one file and its
//! names make a policy that the documents list and the simulator runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = "docs/develop/add-a-policy.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where cargo built this test. With `--workspace`, crates of others are not compiled again.
fn target() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let target = test.ancestors().nth(3);
    target.expect("target/PROFILE/deps/TEST").to_path_buf()
}

/// The files that git tracks, or would, in a folder of their own. The version differs: cargo names
/// crates of one version alike in both checkouts, and would put the copy's in place of ours.
fn copy_of_the_repository() -> PathBuf {
    let copy = target().join("add-a-policy");
    let _ = fs::remove_dir_all(&copy);
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .args(["Cargo.toml", "Cargo.lock", "README.md", "docs", "rust"])
        .current_dir(root())
        .output()
        .expect("git lists the files of a checkout");
    let names = String::from_utf8(listed.stdout).expect("our names are UTF-8");
    for name in names.lines() {
        let (from, to) = (root().join(name), copy.join(name));
        fs::create_dir_all(to.parent().expect("a file in a folder")).expect("a new folder");
        if from.exists() {
            fs::copy(from, to).expect("a file of the checkout");
        }
    }
    let (manifest, version) = (read(&copy, "Cargo.toml"), env!("CARGO_PKG_VERSION"));
    let (ours, theirs) = (
        format!("\nversion = \"{version}\""),
        "\nversion = \"0.0.0-copy\"",
    );
    assert_eq!(manifest.matches(&ours).count(), 1, "one version for all");
    // It is compiled once, and runs for seconds.
    let manifest = manifest
        .replace(&ours, theirs)
        .replace("\nopt-level = 1", "\nopt-level = 0");
    fs::write(copy.join("Cargo.toml"), manifest).expect("a writable copy");
    copy
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_page_adds_a_policy_that_the_simulator_runs() {
    let page = read(&root(), PAGE);
    let (_, block) = page.split_once("```sh\n").expect("a block of commands");
    let (commands, _) = block.split_once("```").expect("its end");
    let copy = copy_of_the_repository();
    let run = Command::new("bash")
        .args(["-euc", commands])
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_NET_OFFLINE", "true")
        .output()
        .expect("bash runs");
    let said = String::from_utf8_lossy(&run.stdout);
    let faults = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}\n{faults}");
    for composition in ["single/newest/local-first", "drf/newest/shuffle-watcher"] {
        let held = format!("{composition}: 2 seeds");
        assert!(said.contains(&held), "{held:?} is not in {said}");
    }
    assert!(read(&copy, "README.md").contains("| [`newest`](docs/policies/newest.md) |"));
    assert!(read(&copy, "docs/policies/README.md").contains("| order | `newest` |"));
    let _ = fs::remove_dir_all(&copy);
}
