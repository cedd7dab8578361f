//! What stock does in monitors beside its scheduler: preemption, deletion of queues, refreshes
//! (facts 9.3 and 13).

use super::setting::Setting;
use super::source::Source;
use super::tree::Creates;
use crate::{Fault, java};
use serde_json::{Map, Value as Json, json};

const PREEMPTION: &str = "yarn.resourcemanager.monitor.capacity.preemption.";

/// For queues that are never removed: the longest time that `heddle.json` takes.
const NEVER_MS: i64 = 1_000_000_000_000;

/// The widest dead zone that `heddle.json` takes.
const DEAD_ZONE_MAX: f64 = 1_000_000.0;

/// Properties of preemption that Heddle does otherwise, and how.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "additional_res_balance_based_on_reserved_containers",
        "requests that hold a node count as waiting in any case",
    ),
    (
        "select_based_on_reserved_containers",
        "victims are always on nodes where a waiting request fits once they are gone",
    ),
    (
        "conservative-drf",
        "a victim must have something of what waiting requests lack, under any setting",
    ),
];

const BALANCE: &str = "preemption-to-balance-queue-after-satisfied.";
const INSIDE: &str = "intra-queue-preemption.";

/// The monitors that are on.
struct Monitors {
    preemption: bool,
    deletion: bool,
}

impl Monitors {
    fn read(source: &mut Source<'_>) -> Monitors {
        let switch = source.outside("yarn.resourcemanager.scheduler.monitor.enable");
        let enabled = source.switch(switch, false);
        let policies = source.outside("yarn.resourcemanager.scheduler.monitor.policies");
        let mut monitors = Monitors {
            preemption: enabled && policies.is_none(),
            deletion: false,
        };
        let Some(policies) = policies else {
            return monitors;
        };
        for class in policies.words() {
            match class.rsplit('.').next().unwrap_or(class) {
                "ProportionalCapacityPreemptionPolicy" => monitors.preemption |= enabled,
                "AutoCreatedQueueDeletionPolicy" => monitors.deletion |= enabled,
                "QueueManagementDynamicEditPolicy" => source.approximate(
                    policies,
                    "queues made by submissions share what their parent has, without being \
                     switched on and off (QueueManagementDynamicEditPolicy)",
                ),
                "QueueConfigurationAutoRefreshPolicy" => source.approximate(
                    policies,
                    "the file is read at the start and by -refreshQueues \
                     (QueueConfigurationAutoRefreshPolicy)",
                ),
                other => source.refuse(
                    policies,
                    format!("not supported: the policy {other}; instead remove it from the list"),
                ),
            }
        }
        monitors
    }
}

/// Writes preemption and the life of queues that submissions make.
pub(super) fn write(source: &mut Source<'_>, config: &mut Map<String, Json>) -> Result<(), Fault> {
    let monitors = Monitors::read(source);
    write_preemption(source, monitors.preemption, config)?;
    write_deletion(source, monitors.deletion, config)
}

/// The bounds of a round, as heddle.json takes them.
struct Bounds {
    total: f64,
    factor: f64,
    ignored: f64,
}

impl Bounds {
    fn read(source: &mut Source<'_>) -> Result<Bounds, Fault> {
        let mut bound = |key, absent, most| bound(source, key, absent, most);
        Ok(Bounds {
            total: bound("total_preemption_per_round", 0.1, 1.0)?,
            factor: bound("natural_termination_factor", 0.2, 1.0)?,
            ignored: bound("max_ignored_over_capacity", 0.1, DEAD_ZONE_MAX)?,
        })
    }
}

/// A bound of preemption, cut to `most`.
fn bound(source: &mut Source<'_>, key: &str, absent: f64, most: f64) -> Result<f64, Fault> {
    let Some(setting) = source.outside(&format!("{PREEMPTION}{key}")) else {
        return Ok(absent);
    };
    let number = java::double(setting.value).filter(|number| number.is_finite());
    let number = number.ok_or_else(|| setting.expected("a number"))?;
    if number > most {
        source.approximate(setting, format!("cut to {most}"));
    }
    // Below 0 stock takes nothing, or has no dead zone, as at 0. No negative zero.
    Ok(number.clamp(0.0, most) + 0.0)
}

fn write_preemption(
    source: &mut Source<'_>,
    enabled: bool,
    config: &mut Map<String, Json>,
) -> Result<(), Fault> {
    let mut find = |key: &str| source.outside(&format!("{PREEMPTION}{key}"));
    let interval = milliseconds(find("monitoring_interval"), 3_000)?;
    let wait = milliseconds(find("max_wait_before_kill"), 15_000)?;
    let observes = find("observe_only");
    let observes = source.switch(observes, false);
    let bounds = Bounds::read(source)?;
    let mut otherwise = |key: &str, how: &str| {
        if let Some(setting) = source.outside(&format!("{PREEMPTION}{key}")) {
            setting_is_number_or_switch(setting)?;
            source.approximate(setting, how);
        }
        Ok(())
    };
    for (key, how) in OTHERWISE {
        otherwise(key, how)?;
    }
    refuse_balance(source, enabled)?;
    let mut preemption = json!({
        "enabled": enabled,
        // Guarantees are minimum shares here, and stock acts in the first round that finds one
        // unmet. It takes nothing for queues above theirs.
        "min_share_timeout_ms": interval,
        "fair_share_threshold": 0.0,
        "grace_ms": wait.min(i64::from(u32::MAX)),
        "round_ms": interval,
        "round_max": bounds.total,
        "round_part": bounds.factor,
        "dead_zone": bounds.ignored,
    });
    if observes {
        preemption["observe_only"] = json!(true);
    }
    if let Some(inside) = read_inside(source)? {
        preemption["inside"] = inside;
    }
    config.insert("preemption".to_owned(), preemption);
    Ok(())
}

/// Refuses preemption between queues above their guarantees.
fn refuse_balance(source: &mut Source<'_>, enabled: bool) -> Result<(), Fault> {
    let wait = source.outside(&format!("{PREEMPTION}{BALANCE}max-wait-before-kill"));
    if let Some(wait) = wait {
        milliseconds(Some(wait), 0)?;
        source.approximate(wait, "has no effect: there is no balancing");
    }
    let setting = source.outside(&format!("{PREEMPTION}{BALANCE}enabled"));
    if source.switch(setting, false)
        && enabled
        && let Some(setting) = setting
    {
        source.refuse(
            setting,
            "not supported yet: preemption between queues above their guarantees; instead set \
             their guarantees as they are to be served",
        );
    }
    Ok(())
}

/// Preemption between the jobs and users of one queue (facts 13.5); none if it is off.
fn read_inside(source: &mut Source<'_>) -> Result<Option<Json>, Fault> {
    let mut bound = |key, absent, most| bound(source, &format!("{INSIDE}{key}"), absent, most);
    let usage_min = bound("minimum-threshold", 0.5, DEAD_ZONE_MAX)?;
    let round_max = bound("max-allowable-limit", 0.2, 1.0)?;
    let mut find = |key: &str| source.outside(&format!("{PREEMPTION}{INSIDE}{key}"));
    let (enabled, order) = (find("enabled"), find("preemption-order-policy"));
    let conservative = find("conservative-drf");
    let first = match order.map(|order| (order, order.value.trim().to_ascii_lowercase())) {
        None => "users",
        Some((_, name)) if name == "userlimit_first" => "users",
        Some((_, name)) if name == "priority_first" => "priorities",
        Some((order, _)) => return Err(order.expected("userlimit_first or priority_first")),
    };
    if let Some(setting) = conservative {
        source.switch(Some(setting), true);
        let how = "a victim must have something of what waiting requests lack, under any setting";
        source.approximate(setting, how);
    }
    let is_on = source.switch(enabled, false);
    Ok(is_on.then(|| json!({"first": first, "usage_min": usage_min, "round_max": round_max})))
}

fn write_deletion(
    source: &mut Source<'_>,
    deletes: bool,
    config: &mut Map<String, Json>,
) -> Result<(), Fault> {
    let expiry = source.system("auto-queue-creation-v2.queue-expiration-time");
    let seconds = match expiry {
        Some(setting) => super::defaults::at_least(setting, 1)?,
        None => 300,
    };
    let (leaves, levels) = (
        source.tree.creates(Creates::Leaves),
        source.tree.creates(Creates::Levels),
    );
    if let Some(setting) = expiry {
        let how = match (levels, deletes) {
            (false, _) => "has no effect: no queue has auto-queue-creation-v2.enabled",
            (true, false) => {
                "has no effect, in stock either: AutoCreatedQueueDeletionPolicy is not \
                              in yarn.resourcemanager.scheduler.monitor.policies, or monitors are \
                              off"
            }
            (true, true) => {
                "an empty queue goes after this time; in stock after one to three \
                             times as much"
            }
        };
        source.approximate(setting, how);
    }
    if leaves || levels {
        let expire_ms = match levels && deletes {
            true => i64::from(seconds) * 1_000,
            false => NEVER_MS,
        };
        let queues = json!({ "expire_ms": expire_ms, "max_per_user": u32::MAX });
        config.insert("dynamic_queues".to_owned(), queues);
    }
    Ok(())
}

/// A time; stock takes any number, and 0 or less acts at once.
fn milliseconds(setting: Option<Setting<'_>>, absent: i64) -> Result<i64, Fault> {
    match setting {
        Some(setting) => Ok(setting.long()?.clamp(0, NEVER_MS)),
        None => Ok(absent),
    }
}

fn setting_is_number_or_switch(setting: Setting<'_>) -> Result<(), Fault> {
    match java::boolean(setting.value) {
        Some(_) => Ok(()),
        None => setting.number().map(|_| ()),
    }
}
