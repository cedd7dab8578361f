//! The table of requirements (`docs/requirements.md`) is complete and true. Every number of the
//! five systems' mechanisms is there once, and every named test exists. Readers must judge whether
//! a test shows what its row says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// First and last number of each system's mechanism, and the lists of edge cases beyond.
const NUMBERS: &[(&str, u32, u32)] = &[
    ("DP", 1, 49),
    ("DP", 61, 61),
    ("FS", 1, 25),
    ("SW", 1, 29),
    ("SW", 42, 43),
    ("HF", 1, 32),
    ("HF", 41, 41),
    ("RA", 1, 30),
    ("RA", 39, 39),
];

fn rust_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("core is a folder of rust")
        .to_path_buf()
}

/// Returns the table's rows by number: the requirement, and the tests as written.
fn rows() -> BTreeMap<String, Vec<(String, String)>> {
    let path = rust_folder().join("../docs/requirements.md");
    let text = fs::read_to_string(path).expect("the table is there");
    let mut rows: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if cells.len() != 3 || cells[0] == "number" || cells[0].starts_with("---") {
            assert!(cells.len() >= 3, "a row has three cells: {line}");
            continue;
        }
        let row = (cells[1].to_string(), cells[2].to_string());
        rows.entry(cells[0].to_string()).or_default().push(row);
    }
    rows
}

/// Returns every test of the workspace and of the embedded clusters: name and file.
fn tests() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let clusters = rust_folder().join("../integration/src/test/java");
    let mut folders = vec![rust_folder(), clusters];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("our folders can be read") {
            let path = entry.expect("our folders can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "rs" || extension == "java")
            {
                let text = fs::read_to_string(&path).expect("our files are UTF-8");
                let names = test_names(&text);
                found.extend(names.into_iter().map(|name| (name, path.clone())));
            }
        }
    }
    found
}

/// Returns the functions that follow `#[test]`, including those in `proptest!`, and JUnit's
/// methods.
fn test_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        marked |= line == "#[test]" || line == "@Test";
        let rest = line
            .strip_prefix("fn ")
            .or_else(|| line.strip_prefix("public void "));
        if let Some(rest) = rest.filter(|_| marked) {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            names.push(name.to_string());
            marked = false;
        }
    }
    names
}

#[test]
fn every_requirement_has_one_row_and_says_what_it_is() {
    let mut rows = rows();
    for (system, first, last) in NUMBERS {
        for number in *first..=*last {
            let number = format!("{system}-{number}");
            let found = rows.remove(&number).unwrap_or_default();
            assert_eq!(found.len(), 1, "{number} has {} rows", found.len());
            assert!(!found[0].0.is_empty(), "{number} does not say what it is");
            assert!(!found[0].1.is_empty(), "{number} names no test");
        }
    }
    assert!(rows.is_empty(), "unknown numbers: {:?}", rows.keys());
}

#[test]
fn every_test_that_is_named_exists() {
    let tests = tests();
    assert!(tests.len() > 100, "the search for tests finds nothing");
    let mut missing = Vec::new();
    for (number, rows) in rows() {
        for named in rows[0].1.split('`').skip(1).step_by(2) {
            let name = named.rsplit("::").next().unwrap_or_default();
            let file = named.split("::").next().unwrap_or_default();
            let in_file = |path: &Path| {
                !(file.ends_with(".rs") || file.ends_with(".java")) || path.ends_with(file)
            };
            if !tests
                .iter()
                .any(|(test, path)| test == name && in_file(path))
            {
                missing.push(format!("{number}: {named}"));
            }
        }
        if !rows[0].1.contains('`') {
            missing.push(format!("{number}: no test in backticks: {}", rows[0].1));
        }
    }
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}
