//! The limits of stock files under each policy: every cell of the table in `docs/stock-policies.md`
//! is observed on the engine, over a converted file of each kind. Figures follow by hand.

#[path = "../../../core/tests/engine/common/mod.rs"]
mod common;
mod files;
mod observe;

use files::Kind;
use observe::Column;
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../../docs/stock-policies.md");

/// The rows of the page's table: the policy in heddle.json, and its cells.
fn rows() -> Vec<(Value, Vec<String>)> {
    let lines = PAGE
        .lines()
        .skip_while(|line| !line.starts_with("| policy |"));
    let lines = lines.take_while(|line| line.starts_with('|')).skip(2);
    let row = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let policy = cells.next().unwrap_or_default().trim_matches('`');
        let own = match policy {
            "none" => json!({}),
            policy => serde_json::from_str(&format!("{{{policy}}}")).expect("a key and its value"),
        };
        (own, cells.map(str::to_owned).collect())
    };
    lines.map(row).collect()
}

#[test]
fn every_cell_of_the_table_is_true_for_both_files() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (own, cells) in rows() {
        assert_eq!(cells.len(), Column::ALL.len(), "{own}");
        for (column, cell) in Column::ALL.into_iter().zip(&cells) {
            for kind in [Kind::Fair, Kind::Capacity] {
                seen += 1;
                let said = match cell.as_str() {
                    "holds" => true,
                    "Capacity's" => kind == Kind::Capacity,
                    "no" => false,
                    other => panic!("`{other}` is no word of the table"),
                };
                let holds = column.holds(kind, &own);
                if said != holds.0 {
                    wrong.push(format!(
                        "{own}, {kind:?}, {column:?}: `{cell}`, but {}",
                        holds.1
                    ));
                }
            }
        }
    }
    assert!(seen > 0, "no table");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
