//! Orders: of the applications in a leaf, and of the children of a parent (facts 7).

use super::setting::Setting;
use super::source::Source;
use crate::Fault;
use serde_json::{Map, Value as Json, json};

/// The Java package of stock's policies, which a file may name in full.
const OF_APPLICATIONS: &str = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.";

/// Orders of applications: stock's name, its class, and the name in `heddle.json`.
const ORDERS: &[(&str, &str, &str)] = &[
    ("fifo", "FifoOrderingPolicy", "fifo"),
    ("fair", "FairOrderingPolicy", "fair"),
    (
        "fifo-for-pending-apps",
        "FifoOrderingPolicyForPendingApps",
        "fifo",
    ),
    (
        "fifo-with-partitions",
        "FifoOrderingPolicyWithExclusivePartitions",
        "fifo",
    ),
];

/// Writes the order of the applications in a leaf.
pub(super) fn write_leaf(
    source: &mut Source<'_>,
    queue: usize,
    sheet: &mut Map<String, Json>,
) -> Result<(), Fault> {
    let setting = source.of(queue, "ordering-policy");
    let known = |setting: Setting<'_>| {
        let name = setting.value.trim();
        let class = name.strip_prefix(OF_APPLICATIONS).unwrap_or_default();
        let known = ORDERS
            .iter()
            .find(|order| order.0 == name || order.1 == class);
        known.ok_or_else(|| {
            setting.expected("fifo, fair, fifo-with-partitions or fifo-for-pending-apps in a leaf")
        })
    };
    let (name, _, order) = setting.map(known).transpose()?.unwrap_or(&ORDERS[0]);
    sheet.insert("order".to_owned(), json!(order));
    if let Some(setting) = setting {
        match *name {
            "fifo-with-partitions" => source.approximate(
                setting,
                "as fifo: applications of different labels stand in one line, and only those \
                 that may use a node are looked at for it",
            ),
            "fifo-for-pending-apps" => {
                source.approximate(
                    setting,
                    "as fifo, whether an application was recovered or not",
                );
            }
            _ => {}
        }
    }
    let sized = source.of(queue, "ordering-policy.fair.enable-size-based-weight");
    if source.switch(sized, false)
        && let Some(sized) = sized
    {
        sheet.insert("size_weight".to_owned(), json!(true));
        if *order != "fair" {
            source.approximate(
                sized,
                "has no effect, in stock either: the order is not fair",
            );
        }
    }
    if let Some(setting) = source.of(queue, "ordering-policy.exclusive-enforced-partitions") {
        source.approximate(setting, "has no effect: applications stand in one line");
    }
    Ok(())
}

/// Whether the children of a parent are compared by priority first. Without a policy of its own the
/// parent has that of the queue above.
pub(super) fn by_priority(
    source: &mut Source<'_>,
    queue: usize,
    above: bool,
) -> Result<bool, Fault> {
    let Some(setting) = source.of(queue, "ordering-policy") else {
        return Ok(above);
    };
    match setting.value.trim() {
        "utilization" => Ok(false),
        "priority-utilization" => Ok(true),
        _ => Err(setting.expected("utilization or priority-utilization in a parent")),
    }
}
