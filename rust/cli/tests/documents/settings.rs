//! Checks settings in documents. Keys of `heddle.json` are exactly those that its readers know.
//! Properties and metrics are those of the shim. Examples are valid configurations.

use super::{Document, Kind, code_spans, document, documents, files};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

const PAGE: &str = "docs/configuration.md";
/// A key that does not exist and resembles none.
const WRONG: &str = "zzzzzzzzzzzzzzzz";
/// Names in the shim's sources that are not for operators: files, loggers and parameters of its own
/// filters.
const INTERNAL: &[&str] = &[
    "heddle.audit",
    "heddle.json",
    "heddle.web.resource-manager",
    "heddle.web.signed-only",
];

/// Runs `heddle check-config` on this heddle.json. Returns whether it is valid, and the messages.
fn checked(config: &str) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder for a file");
    let file = folder.path().join("heddle.json");
    fs::write(&file, config).expect("a file can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    let output = command
        .arg("check-config")
        .arg(&file)
        .output()
        .expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).expect("messages are UTF-8");
    (output.status.success(), said)
}

/// Returns the keys that the reader of a section knows, as its error about another key lists them.
fn known(section: &str) -> BTreeSet<String> {
    let wrong = json!({ WRONG: 1 });
    let config = match section {
        "Top level" => wrong,
        "queues" => json!({"queues": [{"path": "root.a", WRONG: 1}]}),
        "store" => json!({"store": {"place": "sqlite:/tmp/none", WRONG: 1}}),
        "store.purse" => {
            let purse =
                json!({"place": "postgres://a@b/c", "cluster": "d", "tranche": 1, WRONG: 1});
            json!({"store": {"place": "sqlite:/tmp/none", "purse": purse}})
        }
        section => json!({ section: wrong }),
    };
    let (good, said) = checked(&config.to_string());
    assert!(!good, "{section}: `{WRONG}` is taken");
    // The messages may be wrapped for a terminal.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let list = said.split("expected one of: ").nth(1);
    let list = list.unwrap_or_else(|| panic!("{section}: no list of keys in: {said}"));
    let names = list.split(", ").map_while(|name| name.split(' ').next());
    names
        .map(|name| name.trim_end_matches('.').to_string())
        .collect()
}

/// Returns the keys in the first cells of the tables below each `###` of the page.
fn documented(page: &Document) -> BTreeMap<String, BTreeSet<String>> {
    let mut sections: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut section = None;
    for line in page.lines() {
        if line.kind == Kind::Heading {
            section = line.text.strip_prefix("### ").map(str::to_string);
        }
        let cell = line.text.split('|').nth(1).unwrap_or_default();
        if let (Kind::Table, Some(section)) = (&line.kind, &section) {
            let keys = sections.entry(section.clone()).or_default();
            keys.extend(code_spans(cell).map(str::to_string));
        }
    }
    sections
}

#[test]
fn the_keys_of_every_section_are_those_that_its_reader_knows() {
    let mut sections = documented(&document(PAGE));
    // Its table is by rule, with the keys of each rule beside it.
    assert!(sections.remove("placement").is_some());
    assert!(sections.len() > 10, "{PAGE} has tables below its sections");
    for (section, keys) in sections {
        assert_eq!(keys, known(&section), "section {section} of {PAGE}");
    }
}

#[test]
fn the_properties_of_the_shim_are_all_in_the_table() {
    let mut properties = BTreeSet::new();
    for file in files(&[".java"]) {
        if !file.name.starts_with("java/src/main/") {
            continue;
        }
        let literals = file.text.split('"').skip(1).step_by(2);
        let literals = literals.filter(|text| text.starts_with("heddle."));
        let name = |c: char| c.is_ascii_lowercase() || ".-".contains(c);
        let named = literals.filter(|text| text.len() > 7 && text.chars().all(name));
        properties.extend(named.map(str::to_string));
    }
    for internal in INTERNAL {
        assert!(
            properties.remove(*internal),
            "{internal} is gone from the shim"
        );
    }
    let page = document(PAGE);
    let lines = page.lines();
    let rows = lines
        .iter()
        .filter(|line| line.text.starts_with("| `heddle."));
    let listed = rows.filter_map(|line| code_spans(line.text).next());
    let listed: BTreeSet<String> = listed.map(str::to_string).collect();
    assert_eq!(listed, properties);
}

/// A hint `map-ms` is the ApplicationMaster's variable `HEDDLE_MAP_MS`; the clients' file sets it.
#[test]
fn the_hints_in_the_table_are_those_that_clients_set() {
    let page = document("docs/jobs.md");
    let lines = page.lines();
    let rows = lines
        .iter()
        .skip_while(|line| !line.text.starts_with("| hint |"));
    let rows = rows.skip(2).take_while(|line| line.kind == Kind::Table);
    let cells = rows.filter_map(|line| line.text.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split(','));
    let hints: BTreeSet<String> = names
        .map(|name| name.trim().to_uppercase().replace('-', "_"))
        .collect();
    let site = document("conf/mapred-site.xml").text;
    let variables = site.split("am.env.HEDDLE_").skip(1);
    let variables = variables.filter_map(|rest| rest.split('<').next());
    // The others are the signature of a job.
    let set: BTreeSet<String> = variables
        .filter(|name| !name.starts_with("JOB_") && !name.starts_with("MAPRED_"))
        .map(str::to_string)
        .collect();
    assert_eq!(hints, set);
}

#[test]
fn the_metrics_in_the_table_are_the_shims() {
    let page = document("docs/operating.md");
    let lines = page.lines();
    let rows = lines
        .iter()
        .skip_while(|line| !line.text.starts_with("| metric |"));
    let rows = rows.take_while(|line| line.kind == Kind::Table);
    let cells: Vec<&str> = rows
        .filter_map(|line| line.text.split('|').nth(1))
        .collect();
    let metrics: Vec<&str> = cells.iter().flat_map(|cell| code_spans(cell)).collect();
    assert!(metrics.len() >= 5, "{metrics:?}");
    let shim: Vec<Document> = files(&[".java"])
        .into_iter()
        .filter(|file| file.name.starts_with("java/src/main/"))
        .collect();
    for metric in metrics {
        let literal = format!("\"{metric}\"");
        let known = shim.iter().any(|file| file.text.contains(&literal));
        assert!(known, "the shim has no metric {metric}");
    }
}

#[test]
fn examples_are_good_configurations() {
    let mut count = 0;
    for document in documents() {
        for block in document.blocks("json") {
            let example: Value = serde_json::from_str(&block)
                .unwrap_or_else(|error| panic!("{}: {error} in\n{block}", document.name));
            if example.get("policy").is_none() {
                continue;
            }
            count += 1;
            let (good, said) = checked(&block);
            assert!(good, "{}: {said}\nin\n{block}", document.name);
        }
    }
    assert!(count >= 8, "every policy's page has an example");
}

/// Names of classes and packages are settings too: of the scheduler and of loggers.
#[test]
fn classes_and_loggers_that_are_named_exist() {
    let shim: Vec<Document> = files(&[".java"])
        .into_iter()
        .filter(|file| file.name.starts_with("java/src/main/java/"))
        .collect();
    let mut count = 0;
    for document in documents() {
        for line in document.lines() {
            for name in code_spans(line.text).filter(|span| span.starts_with("io.heddle.")) {
                count += 1;
                let path = format!("java/src/main/java/{}", name.replace('.', "/"));
                let (class, package) = (format!("{path}.java"), format!("{path}/"));
                let literal = format!("\"{name}\"");
                let known = shim.iter().any(|file| {
                    file.name == class
                        || file.name.starts_with(&package)
                        || file.text.contains(&literal)
                });
                assert!(known, "{}:{}: no {name}", document.name, line.number);
            }
        }
    }
    assert!(count >= 3, "the search for names of classes finds nothing");
}
