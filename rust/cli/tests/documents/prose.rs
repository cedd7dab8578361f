//! Checks the layout of documents: their width, and the length of README and ARCHITECTURE.

use super::{Kind, document, documents};
use std::fmt::Write;

const COLUMNS_MAX: usize = 120;
const README_WORDS_MAX: usize = 1_000;
const ARCHITECTURE_WORDS_MAX: usize = 2_500;

#[test]
fn prose_is_at_most_120_columns_wide() {
    let mut faults = String::new();
    for document in documents() {
        for line in document
            .lines()
            .iter()
            .filter(|line| line.kind == Kind::Prose)
        {
            let columns = line.text.chars().count();
            if columns > COLUMNS_MAX {
                let _ = writeln!(
                    faults,
                    "{}:{}: {columns} columns",
                    document.name, line.number
                );
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn the_first_two_pages_stay_short() {
    let pages = [
        ("README.md", README_WORDS_MAX),
        ("rust/ARCHITECTURE.md", ARCHITECTURE_WORDS_MAX),
    ];
    for (name, most) in pages {
        let words = document(name).text.split_whitespace().count();
        assert!(words <= most, "{name} has {words} words, {most} at most");
    }
}

/// Sample output comes from a recorded run.
#[test]
fn the_readme_shows_what_the_demo_printed() {
    let recorded = document("integration/demo-results/demo-2026-11-29.txt").text;
    let shown = document("README.md").blocks("text");
    let table = shown.iter().find(|block| block.contains("under fifo"));
    let table = table.expect("the README shows the end of a demo");
    assert!(
        recorded.contains(table.trim_end()),
        "no run printed\n{table}"
    );
}
