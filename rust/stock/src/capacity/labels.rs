//! Node labels of queues: which a queue may use, and how much of each (facts 10). Checks them as
//! stock does. `guarantee.rs` writes the capacities.

use super::defaults::am_percent;
use super::guarantee::{counted, share_of};
use super::setting::Setting;
use super::sizes::Sizes;
use super::source::Source;
use crate::Fault;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The labels that a queue may use; none: all.
pub(super) type Labels<'a> = Option<BTreeSet<&'a str>>;

/// Reads the labels of a queue below one that has `above`, and writes them.
pub(super) fn write<'a>(
    source: &mut Source<'a>,
    queue: usize,
    leaf: bool,
    above: &Labels<'a>,
    sizes: &Sizes<'a>,
    sheet: &mut Map<String, Value>,
) -> Result<Labels<'a>, Fault> {
    let labels = accessible(source, queue, above, sheet)?;
    // Without a capacity of a label stock gives a queue nothing of its nodes.
    let is_root = queue == 0 && !source.reads_templates();
    for label in sizes.labels().filter(|_| !is_root) {
        let may_use = labels.as_ref().is_none_or(|labels| labels.contains(label));
        let has = match source.reads_templates() {
            true => source
                .of(queue, &format!("accessible-node-labels.{label}.capacity"))
                .is_some(),
            false => sizes.of(label, queue).is_some(),
        };
        if may_use && !has {
            let nothing: Map<_, _> = counted(sizes)
                .map(|name| (name.to_owned(), json!(0)))
                .collect();
            share_of(sheet, label).insert("max_share".to_owned(), Value::Object(nothing));
        }
    }
    for (rest, setting) in source.starting(queue, "accessible-node-labels.") {
        let (label, key) = rest.split_once('.').unwrap_or((rest, ""));
        match key {
            "capacity" | "maximum-capacity" => {}
            "maximum-am-resource-percent" if !leaf => {
                source.approximate(
                    setting,
                    "has no effect here, in stock either: it counts in leaves alone",
                );
            }
            "maximum-am-resource-percent" => {
                if let Some(part) = am_percent(source, Some(setting))? {
                    share_of(sheet, label).insert("max_am_share".to_owned(), json!(part));
                }
            }
            _ => source.approximate(setting, "stock ignores it; expected a capacity of a label"),
        }
    }
    Ok(labels)
}

fn accessible<'a>(
    source: &mut Source<'a>,
    queue: usize,
    above: &Labels<'a>,
    sheet: &mut Map<String, Value>,
) -> Result<Labels<'a>, Fault> {
    let Some(setting) = source.of(queue, "accessible-node-labels") else {
        return Ok(above.clone());
    };
    let labels: BTreeSet<&str> = setting.words().collect();
    if queue == 0 && !source.reads_templates() {
        if !labels.contains("*") {
            source.approximate(setting, "root has every label, whatever is written");
        }
        sheet.insert("accessible_labels".to_owned(), json!("*"));
        return Ok(None);
    }
    if labels.contains("*") {
        return match above {
            None => {
                sheet.insert("accessible_labels".to_owned(), json!("*"));
                Ok(None)
            }
            Some(_) => {
                Err(setting.expected("labels that the queue above may use; it does not have `*`"))
            }
        };
    }
    if let Some(above) = above
        && let Some(more) = labels.difference(above).next()
    {
        return Err(setting.fault(format!("the queue above has no label {more}; add it there")));
    }
    sheet.insert("accessible_labels".to_owned(), json!(labels));
    Ok(Some(labels))
}

/// Writes the label of requests that name none.
pub(super) fn write_default(
    source: &mut Source<'_>,
    queue: usize,
    labels: &Labels<'_>,
    leaf: bool,
    sheet: &mut Map<String, Value>,
) -> Result<(), Fault> {
    let Some(setting) = source.of(queue, "default-node-label-expression") else {
        return Ok(());
    };
    let label = setting.value.trim();
    if label.is_empty() {
        return Ok(());
    }
    if leaf && !is_accessible(setting, labels) {
        return Err(setting.expected("a label that the queue may use"));
    }
    if label.contains("&&") {
        source.refuse(
            setting,
            "YARN refuses requests for several labels; name one",
        );
        return Ok(());
    }
    if !is_accessible(setting, labels) {
        source.approximate(
            setting,
            "has no effect: the queue itself may not use the label",
        );
        return Ok(());
    }
    sheet.insert("default_label".to_owned(), json!(label));
    Ok(())
}

fn is_accessible(setting: Setting<'_>, labels: &Labels<'_>) -> bool {
    let Some(labels) = labels else {
        return true;
    };
    let parts = setting.value.split("&&").map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .all(|part| labels.contains(part))
}
