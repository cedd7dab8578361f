//! The elements directly in `<allocations>`: defaults of queues, limits of users.

use super::file::{Element, Raw, under};
use super::policy::{Policy, default_policy};
use super::reading::{NEVER_MS, Reading, section};
use super::value::{am_share, most, most_note, resources, running_jobs, threshold, timeout_ms};
use crate::Fault;
use crate::ORDER;
use serde_json::{Map, Value, json};

pub(super) fn write(raw: &Raw, reading: &mut Reading, config: &mut Map<String, Value>) {
    let policy = json!({ "share": "fair", "order": ORDER, "place": "delay" });
    config.insert("policy".to_owned(), policy);
    let default = reading
        .keep(default_policy(&raw.top))
        .unwrap_or(Policy::Fair);
    let defaults = section(config, "queue_defaults");
    defaults.insert("compare".to_owned(), json!(default.compare()));
    defaults.insert("order".to_owned(), json!(default.order()));
    // YARN gives every application the same priority.
    defaults.insert("max_priority".to_owned(), json!(0));
    let preemption = section(config, "preemption");
    preemption.insert("min_share_timeout_ms".to_owned(), json!(NEVER_MS));
    preemption.insert("fair_share_timeout_ms".to_owned(), json!(NEVER_MS));
    preemption.insert("fair_share_threshold".to_owned(), json!(0.5));
    for (name, element) in raw.top.iter() {
        let written = write_one(raw, name, element, reading, config);
        reading.keep(written);
    }
    write_users(raw, reading, config);
}

fn write_one(
    raw: &Raw,
    name: &str,
    element: &Element,
    reading: &mut Reading,
    config: &mut Map<String, Value>,
) -> Result<(), Fault> {
    let (line, written) = (element.line, element.name.as_str());
    let (into, key, value, how) = match name {
        "userMaxAppsDefault" => {
            let (value, how) = running_jobs(element)?;
            ("users", "max_running_jobs", value, how)
        }
        "queueMaxAppsDefault" => {
            let (value, how) = running_jobs(element)?;
            ("queue_defaults", "max_running_jobs", value, how)
        }
        "queueMaxResourcesDefault" => {
            let read = resources(reading, element)?;
            let how = most_note(&read);
            (
                "queue_defaults",
                "max_share",
                most(&read, None, reading),
                how,
            )
        }
        "queueMaxAMShareDefault" => {
            let (value, how) = am_share(element)?;
            ("queue_defaults", "max_am_share", value, how)
        }
        "defaultMinSharePreemptionTimeout" => {
            let (value, how) = timeout_ms(element)?;
            ("preemption", "min_share_timeout_ms", value, how)
        }
        "fairSharePreemptionTimeout"
            if raw.top.get("defaultFairSharePreemptionTimeout").is_some() =>
        {
            let how = "has no effect beside <defaultFairSharePreemptionTimeout>";
            reading.approximated(line, written, how);
            return Ok(());
        }
        "fairSharePreemptionTimeout" | "defaultFairSharePreemptionTimeout" => {
            let (value, how) = timeout_ms(element)?;
            ("preemption", "fair_share_timeout_ms", value, how)
        }
        "defaultFairSharePreemptionThreshold" => {
            let (value, how) = threshold(element)?;
            ("preemption", "fair_share_threshold", value, how)
        }
        "defaultQueueSchedulingPolicy" => {
            // Its fault is kept already.
            if let Ok(default) = default_policy(&raw.top) {
                default.note(reading, "", element);
            }
            return Ok(());
        }
        _ => {
            reading.reservation(line, written.to_owned());
            return Ok(());
        }
    };
    reading.told(line, written, how);
    section(config, into).insert(key.to_owned(), value);
    Ok(())
}

fn write_users(raw: &Raw, reading: &mut Reading, config: &mut Map<String, Value>) {
    for (name, elements) in &raw.users {
        for (_, element) in elements.iter() {
            let Some((value, how)) = reading.keep(running_jobs(element)) else {
                continue;
            };
            let shown = heddle_core::config::text::shown(name).replace('"', "");
            reading.told(
                element.line,
                under(&format!("user {shown}"), &element.name),
                how,
            );
            let each = section(section(config, "users"), "each");
            section(each, name).insert("max_running_jobs".to_owned(), value);
        }
    }
}
