//! The stored results of the papers' experiments: complete, with a reason for each figure that does
//! not agree, as a rerun gives them, and as the documents show them.

use heddle_lab::papers::stored::{FOLDER, Record, document};
use heddle_lab::papers::verdict::Verdict;
use heddle_lab::papers::{EXPERIMENTS, Experiment, Runs};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/evidence.md";
const BEGINS: &str = "<!-- generated: papers -->\n";
/// Repeated by `./x test --all`, beside the short ones: it takes minutes unoptimised.
const WITH_ALL: &str = "HF-35";
const ENDS: &str = "<!-- end -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn record(id: &str) -> Record {
    let record = Record::read(&root().join(FOLDER), id).expect("it is a record");
    record.unwrap_or_else(|| panic!("{id} has no record; run ./x papers {id} --record"))
}

#[test]
fn every_experiment_is_stored_and_every_disagreement_has_its_reason() {
    let mut files = BTreeSet::new();
    for experiment in EXPERIMENTS {
        let record = record(experiment.id);
        assert_eq!(record.title, experiment.title, "{}", experiment.id);
        for row in &record.rows {
            let short = matches!(row.verdict, Verdict::SameDirection | Verdict::Differs);
            let silent = short && row.why.is_empty();
            assert!(!silent, "{}: `{}` needs a reason", experiment.id, row.what);
        }
        files.insert(format!("{}.json", experiment.id));
        files.extend(record.plots);
    }
    let folder = root().join(FOLDER);
    let found = fs::read_dir(&folder).expect("the folder is there");
    let found = found.map(|entry| entry.expect("it can be read").file_name());
    let found: BTreeSet<String> = found.map(|name| name.to_string_lossy().into()).collect();
    assert_eq!(found, files, "files of {FOLDER}");
}

#[test]
fn short_experiments_give_what_is_stored() {
    let runs = Runs::new();
    let all = std::env::var_os("HEDDLE_TEST_ALL").is_some();
    let repeated = |one: &&Experiment| one.short || (all && one.id == WITH_ALL);
    for experiment in EXPERIMENTS.iter().filter(repeated) {
        let table = experiment.table(&runs).expect("it runs");
        let differences = record(experiment.id).differences(&table);
        let again = format!("./x papers {} --record", experiment.id);
        assert!(
            differences.is_empty(),
            "{differences:#?}; if right, {again}"
        );
    }
}

/// `UPDATE=1` writes the page.
#[test]
fn the_page_shows_what_is_stored() {
    let page = root().join(PAGE);
    let text = fs::read_to_string(&page).expect("the page is there");
    let begins = text.find(BEGINS).expect("the page has the mark") + BEGINS.len();
    let length = text[begins..].find(ENDS).expect("the part ends");
    let expected = document(&root().join(FOLDER)).expect("every experiment is stored");
    let expected = format!("\n{expected}\n");
    if std::env::var_os("UPDATE").is_some() {
        let (before, after) = (&text[..begins], &text[begins + length..]);
        let text = format!("{before}{expected}{after}");
        return fs::write(&page, text).expect("the page can be written");
    }
    let same = text[begins..begins + length] == expected;
    assert!(
        same,
        "{PAGE} is not as stored; UPDATE=1 cargo test -p heddle-lab --test stored"
    );
}

/// Counts the verdicts of a record, for the table of requirements.
fn counts(record: &Record) -> String {
    let count = |verdict| {
        record
            .rows
            .iter()
            .filter(|row| row.verdict == verdict)
            .count()
    };
    let [agree, same, differ] =
        [Verdict::Agrees, Verdict::SameDirection, Verdict::Differs].map(count);
    format!("{agree} agree, {same} same direction, {differ} differ")
}

/// A row that names an experiment has its verdicts in parentheses. `UPDATE=1` writes them.
#[test]
fn the_table_of_requirements_shows_the_verdicts() {
    const NAMED: &str = "`./x papers ";
    let page = root().join("docs/requirements.md");
    let text = fs::read_to_string(&page).expect("the page is there");
    let mut parts = text.split(NAMED);
    let mut expected = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (id, rest) = part.split_once("` (").expect("verdicts in parentheses");
        let (_, rest) = rest.split_once(')').expect("verdicts in parentheses");
        expected += &format!("{NAMED}{id}` ({}){rest}", counts(&record(id)));
    }
    assert!(text.contains(NAMED), "no experiment is named");
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(&page, expected).expect("the page can be written");
    }
    let same = text == expected;
    assert!(
        same,
        "verdicts of docs/requirements.md; UPDATE=1 cargo test -p heddle-lab --test stored"
    );
}
