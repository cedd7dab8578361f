//! The table of requirements (`docs/requirements.md`) is complete and true. Every number is there
//! once, and every test, experiment and page that a row names exists. Readers must judge whether a
//! test shows what its row says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The last number of each system, and of what a host must supply.
const NUMBERS: &[(&str, u32)] = &[
    ("DP", 61),
    ("FS", 27),
    ("SW", 43),
    ("HF", 41),
    ("RA", 40),
    ("X", 14),
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

/// Returns every test of the workspace, of the shim and of the embedded clusters: name and file.
fn tests() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let java = ["../java/src/test/java", "../integration/src/test/java"];
    let java = java.map(|folder| rust_folder().join(folder));
    let mut folders = vec![rust_folder()];
    folders.extend(java);
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
    for (system, last) in NUMBERS {
        for number in 1..=*last {
            let number = format!("{system}-{number}");
            let found = rows.remove(&number).unwrap_or_default();
            assert_eq!(found.len(), 1, "{number} has {} rows", found.len());
            assert!(!found[0].0.is_empty(), "{number} does not say what it is");
            assert!(
                !found[0].1.is_empty(),
                "{number} names nothing that shows it"
            );
        }
    }
    assert!(rows.is_empty(), "unknown numbers: {:?}", rows.keys());
}

/// Returns the papers' experiments: each number, and whether every test run repeats it.
fn experiments() -> BTreeMap<String, bool> {
    let path = rust_folder().join("lab/src/papers.rs");
    let text = fs::read_to_string(path).expect("the list is there");
    let entries = text.split("experiment(\n        \"").skip(1).map(|entry| {
        let mut lines = entry.lines().map(str::trim);
        let id = lines.next().unwrap_or_default();
        let short = lines.take(2).any(|line| line == "true,");
        (id.trim_matches(['"', ',']).to_string(), short)
    });
    entries.collect()
}

/// Returns what is wrong with an experiment that a row names: it must be in the list, its result
/// stored, and a test must check that or repeat it.
fn fault_of_experiment(id: &str, row: &str, list: &BTreeMap<String, bool>) -> Option<String> {
    let Some(short) = list.get(id) else {
        return Some(format!("no experiment {id}"));
    };
    let stored = format!("lab/results/{id}.json");
    if !rust_folder().join(&stored).exists() {
        return Some(format!("no {stored}"));
    }
    let test = if *short {
        "short_experiments_give_what_is_stored"
    } else {
        "every_experiment_is_stored_and_every_disagreement_has_its_reason"
    };
    let test = format!("`lab/tests/stored.rs::{test}`");
    (!row.contains(&test)).then(|| format!("{id} without {test}"))
}

#[test]
fn every_test_and_experiment_that_is_named_exists() {
    let (tests, experiments) = (tests(), experiments());
    assert!(tests.len() > 100, "the search for tests finds nothing");
    assert!(experiments.values().any(|short| *short) && experiments.len() > 10);
    let mut missing = Vec::new();
    for (number, rows) in rows() {
        let row = &rows[0].1;
        for named in row.split('`').skip(1).step_by(2) {
            if let Some(id) = named.strip_prefix("./x papers ") {
                let fault = fault_of_experiment(id, row, &experiments);
                missing.extend(fault.map(|fault| format!("{number}: {fault}")));
                continue;
            }
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
        // A row without a test says so first, and names the page that documents it.
        let refused = row.starts_with("not done: ") && row.contains("](");
        if !row.contains('`') && !refused {
            missing.push(format!("{number}: no test in backticks: {row}"));
        }
    }
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}
