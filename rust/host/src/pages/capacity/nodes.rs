//! Parts of the answer that need no snapshot.

use super::super::document::Node;
use super::super::info::text;
use serde_json::Value;

pub(super) fn users(described: &Value) -> Vec<&Value> {
    described["users"]
        .as_array()
        .into_iter()
        .flatten()
        .collect()
}

/// The labels on whose nodes a queue uses something or asks for it, as the stock scheduler lists
/// them, with the queue's figures there.
pub(super) fn labels_in_use(described: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let any = |amounts: &Value| {
        let amounts = amounts.as_object().into_iter().flatten();
        let mut amounts = amounts.filter_map(|(_, amount)| amount.as_i64());
        amounts.any(|amount| amount > 0)
    };
    let labels = described["labels"].as_object().into_iter().flatten();
    let labels = labels.filter(move |(_, share)| any(&share["used"]) || any(&share["demand"]));
    labels.map(|(label, share)| (label.as_str(), share))
}

pub(super) fn percent(part: f32) -> Node {
    Node::Float(part * 100.0)
}

pub(super) fn float(value: &Value, absent: f32) -> f32 {
    value.as_f64().map_or(absent, |number| number as f32)
}

pub(super) fn whole(value: &Value, absent: i64) -> Node {
    Node::Number(value.as_i64().unwrap_or(absent))
}

/// An object with one list; without elements it has no field.
pub(super) fn list(name: &'static str, items: Vec<Node>) -> Node {
    match items.is_empty() {
        true => Node::Object(Vec::new()),
        false => Node::Object(vec![(name, Node::List(items))]),
    }
}

pub(super) fn by_partition(name: &'static str, only: Node) -> Node {
    list(name, vec![only])
}

pub(super) fn template(properties: &Value) -> Node {
    let properties = properties.as_array().into_iter().flatten().map(|pair| {
        Node::Object(vec![
            ("name", text(pair[0].as_str().unwrap_or(""))),
            ("value", text(pair[1].as_str().unwrap_or(""))),
        ])
    });
    list("property", properties.collect())
}

pub(super) fn vector(settings: &Value) -> Node {
    let entries = settings["capacity"]["vector"].as_array();
    let entries = entries.into_iter().flatten();
    let entries: Vec<(&str, &str)> = entries
        .filter_map(|entry| Some((entry[0].as_str()?, entry[1].as_str()?)))
        .collect();
    let whole = entries
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let whole = format!("[{}]", whole.collect::<Vec<_>>().join(","));
    let entries = entries.iter().map(|(name, value)| {
        Node::Object(vec![
            ("resourceName", text(name)),
            ("resourceValue", text(value)),
        ])
    });
    Node::Object(vec![
        ("configuredCapacityVector", text(&whole)),
        ("capacityVectorEntries", Node::List(entries.collect())),
    ])
}

/// The kind of the amounts in brackets, or `mixed`.
pub(super) fn mode_of(vector: &Value) -> &'static str {
    let values = vector.as_array().into_iter().flatten();
    let kinds = values.filter_map(|entry| entry[1].as_str()?.chars().last());
    let kinds = kinds.map(|unit| match unit {
        '%' => "percentage",
        'w' => "weight",
        _ => "absolute",
    });
    let kinds: std::collections::BTreeSet<_> = kinds.collect();
    match (kinds.len(), kinds.first()) {
        (1, Some(kind)) => kind,
        _ => "mixed",
    }
}
