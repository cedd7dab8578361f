//! The settings of one queue: those of the file, or of the template that a submission made it from.

use super::super::Snapshot;
use serde_json::{Value, json};

/// Begins the names in a legacy template.
const LEGACY: &str = "leaf-queue-template.";

/// Returns the settings of a queue. `above` are its parent's.
pub(super) fn settings(snapshot: &Snapshot, at: usize, above: &Value) -> Value {
    let path = snapshot.queues[at].path();
    let written = &snapshot.stock.shown["queues"][path];
    match written.is_object() {
        true => written.clone(),
        false => created(snapshot, at, above),
    }
}

/// A queue that is not in the file.
fn created(snapshot: &Snapshot, at: usize, above: &Value) -> Value {
    let leaf = snapshot.queues[at].1;
    let legacy = above["creates"] == "legacy";
    let kind = if leaf { "leaf" } else { "parent" };
    let mut entries = above["leaf_template"].as_array().into_iter().flatten();
    let capacity = match legacy {
        false => above["made"][0][kind].as_str(),
        true => entries.find_map(|entry| {
            let name = entry[0].as_str()?;
            let name = name.strip_prefix(LEGACY).unwrap_or(name);
            // A label's capacity, `accessible-node-labels.NAME.capacity`, is another setting.
            (name == "capacity").then(|| entry[1].as_str()).flatten()
        }),
    };
    let below = above["made"].as_array().and_then(|made| made.get(1..));
    let text = capacity.unwrap_or(if legacy { "0" } else { "1w" }).trim();
    let (key, number, unit) = match text.strip_suffix('w') {
        Some(weight) => ("weight", weight.trim().parse::<f64>(), "w"),
        None => ("percent", text.parse(), "%"),
    };
    let number = number.unwrap_or(0.0);
    let types = snapshot.types.iter();
    let vector: Vec<Value> = types
        .map(|kind| json!([kind.0, format!("{number:?}{unit}")]))
        .collect();
    json!({
        "capacity": { key: number, "vector": vector },
        "maximum": null,
        "created": if legacy { "dynamicLegacy" } else { "dynamicFlexible" },
        "creates": if leaf || legacy { "off" } else { "flexible" },
        "made": below,
        "labels": above["labels"],
        "preemption_disabled": above["preemption_disabled"],
        "intra_queue_disabled": above["intra_queue_disabled"],
        "max_parallel": null,
        "max_am": snapshot.queues[at].0["max_am_share"],
        "user_limit": 100.0,
        "user_limit_factor": if legacy { 1.0 } else { -1.0 },
    })
}

/// A number with 32 bits, as written.
pub(super) fn number(value: &Value) -> Option<f32> {
    value.as_f64().map(|number| number as f32)
}
