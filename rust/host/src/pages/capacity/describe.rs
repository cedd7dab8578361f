//! What YARN's own clients are told of each queue, such as `yarn queue -status`.

use super::super::Snapshot;
use super::figures::{Figures, figures};
use super::nodes::float;
use serde_json::{Value, json};

/// Describes every queue for YARN's own clients.
pub(crate) fn descriptions(snapshot: &Snapshot) -> Value {
    let figures = figures(snapshot, &snapshot.children());
    let row = |(at, own): (usize, &Figures)| {
        let masters = float(&own.settings["max_am"], 0.1);
        json!({
            "path": snapshot.queues[at].path(),
            "capacity": own.capacity,
            "current": own.used,
            "maximum": own.maximum,
            "absolute": own.absolute,
            "absolute_maximum": own.absolute_maximum,
            "weight": own.weight,
            "max_parallel": own.settings["max_parallel"].as_i64().unwrap_or(i32::MAX.into()),
            "max_am": masters,
            "preemption_disabled": own.settings["preemption_disabled"],
            "intra_queue_disabled": own.settings["intra_queue_disabled"],
            "effective": own.effective,
            "available": available(snapshot, at, own),
            "configured": own.configured,
        })
    };
    figures.iter().enumerate().map(row).collect()
}

/// What a queue has left of its guarantee.
fn available(snapshot: &Snapshot, at: usize, own: &Figures) -> Vec<i64> {
    let used = snapshot.amounts(&snapshot.queues[at].0["used"], 0);
    let pairs = own.effective[0].iter().zip(used);
    pairs.map(|(least, used)| (least - used).max(0)).collect()
}
