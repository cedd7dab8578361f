//! Properties that no part of the reader has asked for: names that stock does not know, or does not
//! read there. Stock is silent about them.

use super::setting::Setting;
use super::source::Source;
use super::tree::{Creates, PREFIX};
use heddle_core::config::nearest;

/// Suggestions take time; a file with more unknown names has them for another reason.
const SUGGESTIONS_MAX: usize = 100;

/// Names of properties of the whole scheduler.
const OF_SYSTEM: &[&str] = &[
    "maximum-applications",
    "global-queue-max-application",
    "maximum-am-resource-percent",
    "minimum-user-limit-percent",
    "user-limit-factor",
    "max-parallel-apps",
    "user.max-parallel-apps",
    "resource-calculator",
    "node-locality-delay",
    "rack-locality-additional-delay",
    "rack-locality-full-reset",
    "per-node-heartbeat.multiple-assignments-enabled",
    "per-node-heartbeat.maximum-container-assignments",
    "per-node-heartbeat.maximum-offswitch-assignments",
    "schedule-asynchronously.enable",
    "schedule-asynchronously.maximum-threads",
    "schedule-asynchronously.maximum-pending-backlogs",
    "schedule-asynchronously.scheduling-interval-ms",
    "reservations-continue-look-all-nodes",
    "skip-allocate-on-nodes-with-reserved-containers",
    "lazy-preemption-enabled",
    "application.fail-fast",
    "user-metrics.enable",
    "queue-mappings",
    "queue-mappings-override.enable",
    "mapping-rule-format",
    "mapping-rule-json",
    "mapping-rule-json-file",
    "workflow-priority-mappings",
    "workflow-priority-mappings-override.enable",
    "auto-queue-creation-v2.maximum-queue-depth",
    "auto-queue-creation-v2.queue-expiration-time",
    "queue.auto.refresh.monitoring-interval",
    "legacy-queue-mode.enabled",
    "multi-node-placement-enabled",
    "multi-node-sorting.policy.names",
    "multi-node-sorting.policy",
];

/// Names that count in leaves alone.
pub(super) const OF_LEAVES: &[&str] = &[
    "maximum-am-resource-percent",
    "minimum-user-limit-percent",
    "user-limit-factor",
    "maximum-applications",
    "default-application-priority",
    "acl_application_max_priority",
    "ordering-policy.fair.enable-size-based-weight",
    "ordering-policy.exclusive-enforced-partitions",
];

/// Names that count in parents alone.
pub(super) const OF_PARENTS: &[&str] = &["allow-zero-capacity-sum"];

/// Names that count in every queue.
const OF_QUEUES: &[&str] = &[
    "queues",
    "capacity",
    "maximum-capacity",
    "accessible-node-labels",
    "default-node-label-expression",
    "max-parallel-apps",
    "maximum-application-lifetime",
    "default-application-lifetime",
    "acl_submit_applications",
    "acl_administer_queue",
    "state",
    "ordering-policy",
    "priority",
    "maximum-allocation",
    "maximum-allocation-mb",
    "maximum-allocation-vcores",
    "disable_preemption",
    "intra-queue-preemption.disable_preemption",
    "multi-node-sorting.policy",
    "reservable",
    "auto-create-child-queue.enabled",
    "auto-create-child-queue.max-queues",
    "auto-queue-creation-v2.enabled",
    "auto-queue-creation-v2.max-queues",
    "auto-queue-creation-v2.maximum-queue-depth",
];

/// Names that count in queues of the reservation system alone.
const OF_RESERVATIONS: &[&str] = &[
    "reservation-window",
    "average-capacity",
    "instantaneous-max-capacity",
    "reservation-policy",
    "reservation-agent",
    "reservation-planner",
    "reservation-move-on-expiry",
    "reservation-enforcement-window",
    "show-reservations-as-queues",
    "acl_administer_reservations",
    "acl_list_reservations",
    "acl_submit_reservations",
];

/// Adds a note for each property that was not asked for.
pub(super) fn write(source: &mut Source<'_>) {
    for (seen, setting) in source.unread().into_iter().enumerate() {
        if is_of_new_queue(source, setting) {
            source.refuse(
                setting,
                "not supported: properties of a queue that a submission names; instead name it in \
                 `queues`, or write a template with `*` for its name",
            );
            continue;
        }
        let how = about(source, setting, seen < SUGGESTIONS_MAX);
        source.approximate(setting, how);
    }
}

/// Whether a property is for a queue by the name that a submission will give it: stock follows it
/// in the queues of version 2 (facts 9.3).
fn is_of_new_queue(source: &Source<'_>, setting: Setting<'_>) -> bool {
    let owner = source.tree.owner(&setting.name[PREFIX.len()..]);
    let Some((queue, key)) = owner else {
        return false;
    };
    let all = [OF_QUEUES, OF_LEAVES, OF_PARENTS].concat();
    let known = |known: &&str| key.ends_with(&format!(".{known}"));
    source.tree.queues[queue].creates == Creates::Levels
        && !key.starts_with("*.")
        && !key.starts_with("auto-")
        && !key.starts_with("leaf-queue-template.")
        && !key.starts_with("accessible-node-labels.")
        && all.iter().any(known)
}

fn about(source: &Source<'_>, setting: Setting<'_>, suggests: bool) -> String {
    let name = &setting.name[PREFIX.len()..];
    let suggestion = |key: &str, known: &[&str], start: &str| match nearest(key, known) {
        Some(known) if suggests => format!("; did you mean {PREFIX}{start}{known}?"),
        _ => String::new(),
    };
    if name != "root" && !name.starts_with("root.") {
        let meant = suggestion(name, OF_SYSTEM, "");
        return format!("is no property of the Capacity Scheduler, which ignores it, too{meant}");
    }
    let Some((queue, key)) = source.tree.owner(name) else {
        return "is no property of the Capacity Scheduler, which ignores it, too".to_owned();
    };
    if OF_RESERVATIONS.contains(&key) {
        return "has no effect, in stock either: the queue is not reservable".to_owned();
    }
    let leaf = !source.tree.is_parent(queue);
    for (names, elsewhere, there) in [
        (OF_LEAVES, !leaf, "in leaves"),
        (OF_PARENTS, leaf, "in parents"),
    ] {
        if elsewhere && names.contains(&key) {
            return format!("has no effect here, in stock either: it counts {there} alone");
        }
    }
    let all = [OF_QUEUES, OF_LEAVES, OF_PARENTS].concat();
    let of_template = key.contains("template.");
    if let Some(known) = all.iter().find(|known| key.ends_with(&format!(".{known}")))
        && let Some(below) = key.strip_suffix(&format!(".{known}"))
        && !of_template
    {
        let path = &source.tree.queues[queue].path;
        return format!("has no effect, in stock either: there is no queue {path}.{below}");
    }
    if of_template {
        return "has no effect, in stock either: no queue that submissions make takes it"
            .to_owned();
    }
    let start = format!("{}.", source.tree.queues[queue].path);
    let meant = suggestion(key, &all, &start);
    format!("is no property of a queue of the Capacity Scheduler, which ignores it, too{meant}")
}
