//! Nodes: what is free on each, for a map of the cluster.

use crate::http::answer::{Failure, Reply};
use crate::http::exchange::Exchange;
use crate::http::names::NodeName;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NODES: u64 = 500;
/// The engine's own limit.
const NODES_MAX: u64 = 2_000;

/// `GET nodes`: a page of nodes from a number on.
pub(crate) fn list(exchange: &mut Exchange<'_>) -> Result<Reply, Failure> {
    let most = u64::from(u32::MAX);
    let from = exchange.number("from", 0, most)?.unwrap_or(0);
    let max = exchange.number("max", 1, NODES_MAX)?.unwrap_or(NODES);
    let told = exchange.ask(&json!({"op": "nodes", "from": from, "max": max}))?;
    let names = exchange.request.nodes.iter();
    // A search for each row would take the square of the number of nodes.
    let names: BTreeMap<u64, &NodeName> =
        names.map(|node| (u64::from(node.number), node)).collect();
    let rows = told["nodes"].as_array().into_iter().flatten();
    let name = |row: &Value| names.get(&row[0].as_u64()?).copied();
    let nodes: Vec<Value> = rows.map(|row| named(row, name(row))).collect();
    Ok(Reply::json(&json!({
        "nodes": nodes, "next": told["next"], "now_ms": exchange.request.now_ms,
    })))
}

/// Names a row of the engine. A node that just left has no name any more.
fn named(row: &Value, name: Option<&NodeName>) -> Value {
    json!({
        "node": row[0],
        "name": name.map(|node| node.name.as_str()),
        "rack": name.map(|node| node.rack.as_str()),
        "label": name.map(|node| node.label.as_str()),
        "schedulable": row[1],
        "containers": row[2],
        "memory_mb": row[3],
        "free_mb": row[4],
        "vcores": row[5],
        "free_vcores": row[6],
        "held": row[7],
        "foreign_per_mille": row[8],
        "aside": name.and_then(|node| node.aside.as_deref()),
    })
}
