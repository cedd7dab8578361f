//! Checks that the jar's bill of materials and its licences name what the library links.
//!
//! `scripts/third-party` writes both.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The processors that a jar has a library for, as in `scripts/native-library`.
const ARCHES: [&str; 2] = ["x86_64", "aarch64"];

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = folder
        .join("../../java/src/main/resources/META-INF")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the crates that the library links on any processor, each as `name version`.
fn linked() -> BTreeSet<String> {
    let mut crates = BTreeSet::new();
    for arch in ARCHES {
        let target = format!("{arch}-unknown-linux-gnu");
        let output = Command::new(env!("CARGO"))
            .args([
                "tree",
                "--quiet",
                "--locked",
                "--package",
                "heddle-bridge",
                "--edges",
                "normal",
            ])
            .args(["--prefix", "none", "--format", "{p}", "--target", &target])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs this test");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let mut words = line.split(' ');
            if let (Some(name), Some(version)) = (words.next(), words.next()) {
                crates.insert(format!("{name} {}", version.trim_start_matches('v')));
            }
        }
    }
    crates
}

/// Returns the linked crates that `known` lacks.
fn missing(known: &BTreeSet<String>) -> Vec<String> {
    let linked = linked();
    assert!(linked.len() > 50, "{linked:?}");
    linked.difference(known).cloned().collect()
}

#[test]
fn the_bill_of_materials_names_every_linked_crate() {
    let bill: Value = serde_json::from_str(&read("sbom/heddle.cdx.json")).expect("JSON");
    assert_eq!(bill["bomFormat"], "CycloneDX");
    let component = |c: &Value| {
        let text = |key: &str| c[key].as_str().expect("a text").to_owned();
        format!("{} {}", text("name"), text("version"))
    };
    let mut billed: BTreeSet<String> = bill["components"]
        .as_array()
        .expect("an array")
        .iter()
        .map(component)
        .collect();
    billed.insert(component(&bill["metadata"]["component"]));
    let missing = missing(&billed);
    assert!(
        missing.is_empty(),
        "not in the bill, run scripts/third-party: {missing:?}"
    );
}

#[test]
fn every_linked_crate_has_its_licence() {
    let licences = read("THIRD-PARTY-LICENSES.txt");
    // The line after a rule of `=`: `MIT License, of mio 1.2.4, slab 0.4.12`.
    let lines: Vec<&str> = licences.lines().collect();
    let named: BTreeSet<String> = lines
        .windows(2)
        .filter(|pair| pair[0].len() == 80 && pair[0].chars().all(|c| c == '='))
        .filter_map(|pair| pair[1].split_once(", of "))
        .flat_map(|(_, crates)| crates.split(", ").map(str::to_owned))
        .collect();
    let missing = missing(&named);
    assert!(
        missing.is_empty(),
        "no licence, run scripts/third-party: {missing:?}"
    );
}
