//! Properties of the whole scheduler (facts 2.1): the calculator, heartbeats, locality, and what
//! Heddle does otherwise.

use super::amount::Notation;
use super::limits::Largest;
use super::setting::Setting;
use super::source::Source;
use crate::Fault;
use heddle_core::config::text::shown;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// How Heddle takes a property that it does not follow.
enum Otherwise {
    /// The value `true` changes nothing, or not quite what stock changes.
    On(&'static str),
    /// The same for `false`.
    Off(&'static str),
    /// A whole number without the effect that it has in stock.
    Number(&'static str),
    /// Any text.
    Any(&'static str),
    /// `true` asks for something that Heddle does not have.
    Refused(&'static str),
}

const AT_HEARTBEATS: &str =
    "containers are placed when nodes report or jobs ask, within a round of heartbeats";
const NODES_REPORT: &str = "nodes are taken as they report, in no order of their own";
const UNDERUTILIZED: &str = "has no effect: preemption for reservations of higher priority is off";

const OTHERWISE: &[(&str, Otherwise)] = &[
    (
        "schedule-asynchronously.enable",
        Otherwise::On(AT_HEARTBEATS),
    ),
    (
        "schedule-asynchronously.maximum-threads",
        Otherwise::Number(AT_HEARTBEATS),
    ),
    (
        "schedule-asynchronously.maximum-pending-backlogs",
        Otherwise::Number(AT_HEARTBEATS),
    ),
    (
        "schedule-asynchronously.scheduling-interval-ms",
        Otherwise::Number(AT_HEARTBEATS),
    ),
    (
        "reservations-continue-look-all-nodes",
        Otherwise::Off("a request that holds a node is served on others, too"),
    ),
    (
        "skip-allocate-on-nodes-with-reserved-containers",
        Otherwise::On(NODES_REPORT),
    ),
    (
        "lazy-preemption-enabled",
        Otherwise::On("a container that was marked goes when its time is over"),
    ),
    (
        "application.fail-fast",
        Otherwise::On("an application whose queue is gone goes on in root.recovery"),
    ),
    (
        "rack-locality-full-reset",
        Otherwise::Off("times count from when a task was first passed over"),
    ),
    (
        "queue.auto.refresh.monitoring-interval",
        Otherwise::Number("the file is read at the start and by -refreshQueues"),
    ),
    ("multi-node-placement-enabled", Otherwise::On(NODES_REPORT)),
    ("multi-node-sorting.policy", Otherwise::Any(NODES_REPORT)),
    (
        "ordering-policy.priority-utilization.underutilized-preemption.enabled",
        Otherwise::Refused(
            "not supported yet: preemption for reservations of queues of higher priority; instead \
             give those queues their guarantee",
        ),
    ),
    (
        "ordering-policy.priority-utilization.underutilized-preemption.\
         reserved-container-delay-ms",
        Otherwise::Number(UNDERUTILIZED),
    ),
    (
        "ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation",
        Otherwise::On(UNDERUTILIZED),
    ),
];

/// Whether all resource types count. Checks the calculator.
pub(super) fn read_calculator(source: &mut Source<'_>) -> Result<bool, Fault> {
    let setting = source.system("resource-calculator");
    let types = source.outside("yarn.resource-types");
    let dominant = match setting.map(|setting| (setting, setting.value.trim())) {
        None => false,
        Some((setting, class)) => match class.rsplit('.').next() {
            Some("DefaultResourceCalculator" | "DominantResourceCalculator")
                if !class.contains('.') =>
            {
                let what = "stock does not start with a class without its package; write \
                            org.apache.hadoop.yarn.util.resource before it";
                source.warn(setting, what);
                class == "DominantResourceCalculator"
            }
            Some("DefaultResourceCalculator") => false,
            Some("DominantResourceCalculator") => true,
            _ => {
                return Err(setting.expected(
                    "the class DefaultResourceCalculator or DominantResourceCalculator",
                ));
            }
        },
    };
    if dominant {
        return Ok(true);
    }
    if let Some(types) = types
        && let Some(name) = types.words().find(|name| !is_basic(name))
    {
        return Err(types.fault(format!(
            "the resource type {} needs DominantResourceCalculator as resource-calculator",
            shown(name)
        )));
    }
    Ok(false)
}

fn is_basic(name: &str) -> bool {
    matches!(name, "memory" | "memory-mb" | "vcores")
}

/// How amounts in the file are written.
pub(super) fn read_notation(source: &mut Source<'_>) -> Notation {
    let legacy = source.system("legacy-queue-mode.enabled");
    let legacy = source.switch(legacy, true);
    let types = source.outside("yarn.resource-types");
    let further = types.iter().flat_map(Setting::words);
    let further = further.filter(|name| !is_basic(name));
    let mut resources: BTreeSet<String> = further.map(str::to_owned).collect();
    resources.extend(["memory-mb", "vcores"].map(str::to_owned));
    Notation { resources, legacy }
}

/// The largest container of the cluster, as far as it is known.
pub(super) fn read_largest(source: &mut Source<'_>) -> Result<Largest, Fault> {
    let mut largest = Largest::new();
    for (key, name) in [("mb", "memory-mb"), ("vcores", "vcores")] {
        let setting = source.outside(&format!("yarn.scheduler.maximum-allocation-{key}"));
        if let Some(setting) = setting {
            largest.insert(name.to_owned(), setting.long()?);
        }
    }
    Ok(largest)
}

/// Writes locality and heartbeats, and says what the other properties do.
pub(super) fn write(source: &mut Source<'_>, config: &mut Map<String, Json>) -> Result<(), Fault> {
    write_locality(source, config)?;
    write_heartbeat(source, config)?;
    for (key, otherwise) in OTHERWISE {
        if let Some(setting) = source.system(key) {
            say(source, setting, otherwise)?;
        }
    }
    // The shim makes the metrics.
    let per_user = source.system("user-metrics.enable");
    source.switch(per_user, false);
    for (_, setting) in source.systems("multi-node-sorting.policy.") {
        source.approximate(setting, NODES_REPORT);
    }
    Ok(())
}

fn say<'a>(
    source: &mut Source<'a>,
    setting: Setting<'a>,
    otherwise: &Otherwise,
) -> Result<(), Fault> {
    match otherwise {
        Otherwise::On(how) => {
            if source.switch(Some(setting), false) {
                source.approximate(setting, *how);
            }
        }
        Otherwise::Off(how) => {
            if !source.switch(Some(setting), true) {
                source.approximate(setting, *how);
            }
        }
        Otherwise::Number(how) => {
            setting.whole()?;
            source.approximate(setting, *how);
        }
        Otherwise::Any(how) => source.approximate(setting, *how),
        Otherwise::Refused(why) => {
            if source.switch(Some(setting), false) {
                source.refuse(setting, *why);
            }
        }
    }
    Ok(())
}

/// Delays: how many nodes pass a task over before it goes further away.
fn write_locality(source: &mut Source<'_>, config: &mut Map<String, Json>) -> Result<(), Fault> {
    let node = source.system("node-locality-delay");
    let rack = source.system("rack-locality-additional-delay");
    let misses = |setting: Option<Setting<'_>>, absent: i32| {
        let misses = setting.map(|setting| setting.whole()).transpose()?;
        Ok(misses.unwrap_or(absent).max(0))
    };
    let delay = json!({ "node_misses": misses(node, 40)?, "rack_misses": misses(rack, 0)? });
    for setting in [node, rack].into_iter().flatten() {
        let how = "as the time in which that many nodes report, counted from when the task is \
                   first passed over";
        source.approximate(setting, how);
    }
    if let Some(rack) = rack
        && rack.whole()? < 0
    {
        let how = "without a delay for racks, a task goes anywhere after the one for nodes; stock \
                   waits longer for applications of few tasks";
        source.approximate(rack, how);
    }
    config.insert("delay".to_owned(), delay);
    Ok(())
}

/// The limits of a heartbeat, as far as the file sets them: without any a heartbeat fills its node.
fn write_heartbeat(source: &mut Source<'_>, config: &mut Map<String, Json>) -> Result<(), Fault> {
    let several = source.system("per-node-heartbeat.multiple-assignments-enabled");
    let most = source.system("per-node-heartbeat.maximum-container-assignments");
    let off_switch = source.system("per-node-heartbeat.maximum-offswitch-assignments");
    let mut heartbeat = Map::new();
    if let Some(most) = most.map(|most| most.whole()).transpose()?
        && most > 0
    {
        heartbeat.insert("containers_max".to_owned(), json!(most));
    }
    if !source.switch(several, true) {
        heartbeat.insert("containers_max".to_owned(), json!(1));
    }
    if let Some(most) = off_switch.map(|most| most.whole()).transpose()? {
        // Less than 1 counts as 1.
        heartbeat.insert("off_switch_max".to_owned(), json!(most.max(1)));
    }
    if !heartbeat.is_empty() {
        config.insert("heartbeat".to_owned(), Json::Object(heartbeat));
    }
    Ok(())
}

/// `workflow-priority-mappings`: `id:queue:priority`. Of those that name one workflow and one queue
/// the last counts.
pub(super) fn write_workflows(
    source: &mut Source<'_>,
    sheets: &mut [Map<String, Json>],
) -> Result<(), Fault> {
    let switch = source.system("workflow-priority-mappings-override.enable");
    let counts = source.switch(switch, false);
    let Some(setting) = source.system("workflow-priority-mappings") else {
        return Ok(());
    };
    if !counts {
        let how = "has no effect, in stock either: workflow-priority-mappings-override.enable is \
                   not true";
        source.approximate(setting, how);
        return Ok(());
    }
    for mapping in setting.words() {
        let parts: Vec<&str> = mapping.split(':').map(str::trim).collect();
        let priority = parts
            .last()
            .and_then(|priority| priority.parse::<i32>().ok());
        let ([workflow, path, _], Some(priority)) = (parts.as_slice(), priority) else {
            let problem = format!("expected ID:QUEUE:PRIORITY, found {}", shown(mapping));
            return Err(setting.fault(problem));
        };
        match source.tree.find(path) {
            // In stock no mapping of root is looked at.
            Some(0) => {
                let how = "a mapping of root has no effect, in stock either: name the queues below";
                source.approximate(setting, how);
            }
            Some(queue) => {
                let all = sheets[queue].entry("workflow_priorities");
                all.or_insert_with(|| json!({}))[workflow.to_lowercase()] = json!(priority);
            }
            None => source.refuse(
                setting,
                format!(
                    "{}: there is no such queue in the file; name one that is there, such as the \
                     queue above",
                    shown(mapping)
                ),
            ),
        }
    }
    Ok(())
}
