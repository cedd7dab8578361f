//! Formats nodes as a table: their room, and why one gets no containers. Asks no server.

use super::per_cent;
use crate::terminal::{said, table};
use serde_json::{Value, json};

/// Formats nodes as a table.
pub(super) fn node_table(nodes: &[Value]) -> String {
    let heading = [
        "node",
        "rack",
        "label",
        "containers",
        "used MB",
        "used vcores",
        "others %",
        "state",
    ];
    let rows: Vec<Vec<String>> = nodes.iter().map(node_row).collect();
    table(&heading, &rows)
}

fn node_row(node: &Value) -> Vec<String> {
    let name = match node["name"].is_null() {
        // A node that has just left has no name.
        true => format!("node#{}", said(&node["node"])),
        false => said(&node["name"]),
    };
    let others = node["foreign_per_mille"].as_f64();
    vec![
        name,
        said(&node["rack"]),
        match node["label"] == "" {
            true => "-".to_string(),
            false => said(&node["label"]),
        },
        said(&node["containers"]),
        used(&node["memory_mb"], &node["free_mb"]),
        used(&node["vcores"], &node["free_vcores"]),
        per_cent(&others.map_or(Value::Null, |others| json!(others / 1e3))),
        state(node),
    ]
}

/// Formats what is used of all, such as `3072/4096`.
fn used(all: &Value, free: &Value) -> String {
    match (all.as_i64(), free.as_i64()) {
        (Some(most), Some(free)) => format!("{}/{most}", most.saturating_sub(free)),
        _ => said(all),
    }
}

fn state(node: &Value) -> String {
    let mut states = Vec::new();
    if node["held"] == true {
        states.push("held for a large container".to_string());
    }
    if node["schedulable"] == false {
        states.push("gets no containers now".to_string());
    }
    if !node["aside"].is_null() {
        states.push(format!("put aside: {}", said(&node["aside"])));
    }
    match states.is_empty() {
        true => "ok".to_string(),
        false => states.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_room_and_state() {
        let node = json!({
            "node": 3, "name": "n3:45454", "rack": "/r1", "label": "", "schedulable": true,
            "containers": 4, "memory_mb": 4_096, "free_mb": 1_024, "vcores": 8, "free_vcores": 4,
            "held": false, "foreign_per_mille": 125, "aside": null,
        });
        let row = [
            "n3:45454",
            "/r1",
            "-",
            "4",
            "3072/4096",
            "4/8",
            "12.5",
            "ok",
        ];
        assert_eq!(node_row(&node), row);
        let mut left = node;
        for (key, value) in [
            ("name", Value::Null),
            ("label", json!("gpu")),
            ("schedulable", json!(false)),
            // Its capacity was lowered below what runs.
            ("free_mb", json!(-1_024)),
            ("held", json!(true)),
            ("foreign_per_mille", Value::Null),
            ("aside", json!("three faults")),
        ] {
            left[key] = value;
        }
        let row = node_row(&left);
        assert_eq!(row[..3], ["node#3", "/r1", "gpu"]);
        assert_eq!(row[4..7], ["5120/4096", "4/8", "-"]);
        let state = "held for a large container, gets no containers now, put aside: three faults";
        assert_eq!(row[7], state);
    }
}
