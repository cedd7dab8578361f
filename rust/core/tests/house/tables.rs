//! Tables of the documents that list policies and settings, generated from the catalogue's entries.
//! A table is between the comments `generated: NAME` and `end`.
//!
//! After a change of an entry, `UPDATE=1 cargo test -p heddle-core --test house tables::`
//! rewrites them.

use heddle_core::catalogue::{ORDERS, PLACES, PRESETS, RANKS, SHARES};
use heddle_core::stage::entry::{Entry, PolicySection, Preset};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const END: &str = "<!-- end -->";

fn begin(name: &str) -> String {
    format!("<!-- generated: {name} -->\n")
}

/// Returns every table by document and name.
fn tables() -> BTreeMap<&'static str, Vec<(String, String)>> {
    let own = |section: &'static PolicySection| {
        (format!("settings-{}", section.section), settings(section))
    };
    let settings = sections(SHARES)
        .chain(sections(ORDERS))
        .chain(sections(PLACES));
    BTreeMap::from([
        ("README.md", vec![("presets".into(), presets())]),
        (
            "docs/policies/README.md",
            vec![
                ("preset-stages".into(), preset_stages()),
                ("stages".into(), stages()),
            ],
        ),
        ("docs/configuration.md", settings.map(own).collect()),
    ])
}

fn sections<Stage: ?Sized>(
    entries: &'static [Entry<Stage>],
) -> impl Iterator<Item = &'static PolicySection> {
    entries.iter().filter_map(|entry| entry.own.as_ref())
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = head.iter().map(|cell| cell.to_string()).collect::<Vec<_>>();
    let line = vec!["---".to_string(); head.len()];
    let rows: String = rows.map(row).collect();
    row(head) + &row(line) + &rows
}

fn presets() -> String {
    let row = |preset: &Preset| {
        let name = preset.name;
        let link = format!("[`{name}`](docs/policies/{name}.md)");
        vec![link, preset.summary.to_string()]
    };
    table(&["preset", "what it does"], PRESETS.iter().map(row))
}

fn preset_stages() -> String {
    let row = |preset: &Preset| {
        let name = preset.name;
        let stages = preset.stages.iter().map(|stage| format!("`{stage}`"));
        [format!("[`{name}`]({name}.md)")]
            .into_iter()
            .chain(stages)
            .collect()
    };
    table(
        &["preset", "share", "order", "place"],
        PRESETS.iter().map(row),
    )
}

fn stages() -> String {
    fn rows<Stage: ?Sized>(stage: &str, entries: &[Entry<Stage>]) -> Vec<Vec<String>> {
        let row = |entry: &Entry<Stage>| {
            vec![
                stage.to_string(),
                format!("`{}`", entry.name),
                entry.summary.to_string(),
            ]
        };
        entries.iter().map(row).collect()
    }
    let all = [
        rows("share", SHARES),
        rows("order", ORDERS),
        rows("place", PLACES),
        rows("rank", RANKS),
    ];
    table(&["stage", "name", "what it does"], all.concat().into_iter())
}

fn settings(own: &PolicySection) -> String {
    let rows = own.keys.iter().map(|key| {
        let default = match key.default {
            "" => "none".to_string(),
            number if number.parse::<f64>().is_ok() => number.to_string(),
            word => format!("`{word}`"),
        };
        vec![format!("`{}`", key.name), default, key.says.to_string()]
    });
    table(&["key", "default", "meaning"], rows)
}

/// Returns the range of a table in a text.
fn between(text: &str, name: &str) -> Result<std::ops::Range<usize>, String> {
    let begin = begin(name);
    let found = text.find(&begin).ok_or(format!("lacks {}", begin.trim()))?;
    let from = found + begin.len();
    let length = text[from..]
        .find(END)
        .ok_or(format!("{name} has no {END}"))?;
    Ok(from..from + length)
}

#[test]
fn the_tables_of_the_documents_are_those_of_the_catalogue() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let update = std::env::var_os("UPDATE").is_some();
    let mut faults = Vec::new();
    for (document, tables) in tables() {
        let path = root.join(document);
        let mut text = fs::read_to_string(&path).expect("the document is there");
        for (name, table) in &tables {
            match between(&text, name) {
                Ok(at) if update => text.replace_range(at, table),
                Ok(at) if text[at.clone()] == **table => {}
                Ok(_) => faults.push(format!("{document}: table {name} is not current")),
                Err(fault) => faults.push(format!("{document} {fault}")),
            }
        }
        let marked = text.matches(&begin("")[.."<!-- generated: ".len()]).count();
        if marked != tables.len() {
            faults.push(format!(
                "{document}: {marked} tables are marked, {} known",
                tables.len()
            ));
        }
        if update {
            fs::write(&path, text).expect("the document can be written");
        }
    }
    let hint = "UPDATE=1 cargo test -p heddle-core --test house tables:: writes them";
    assert!(faults.is_empty(), "{}; {hint}", faults.join("; "));
}

#[test]
fn a_table_that_is_not_there_is_found_out() {
    let text = format!("x\n{}| a |\n{END}\n", begin("one"));
    assert_eq!(
        &text[between(&text, "one").expect("it is there")],
        "| a |\n"
    );
    assert!(between(&text, "two").is_err());
    assert!(between(&text.replace(END, ""), "one").is_err());
}
