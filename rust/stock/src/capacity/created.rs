//! Queues that submissions make below a parent (facts 9).

use super::amount::{Amount, Notation, decimal};
use super::defaults::{Defaults, at_least};
use super::limits::{self, Part};
use super::setting::Setting;
use super::source::Source;
use super::tree::Creates;
use super::{access, order};
use crate::Fault;
use serde_json::{Map, Value as Json, json};

const V1: &str = "auto-create-child-queue.";
const V2: &str = "auto-queue-creation-v2.";
const LEAF_TEMPLATE: &str = "leaf-queue-template.";
const LEVEL_TEMPLATES: [&str; 2] = [
    "auto-queue-creation-v2.leaf-template.",
    "auto-queue-creation-v2.template.",
];

/// Levels below a parent when nothing is said.
const DEPTH: i32 = 2;

/// Writes what a parent says about the queues made below it.
pub(super) fn write(
    source: &mut Source<'_>,
    queue: usize,
    notation: &Notation,
    defaults: &Defaults,
    sheet: &mut Map<String, Json>,
) -> Result<(), Fault> {
    let switches = [
        source.of(queue, "auto-create-child-queue.enabled"),
        source.of(queue, "auto-queue-creation-v2.enabled"),
    ];
    for setting in switches {
        source.switch(setting, false);
    }
    let creates = source.tree.queues[queue].creates;
    let (prefix, depth) = match creates {
        Creates::Nothing => {
            without(source, queue);
            return Ok(());
        }
        Creates::Leaves => (V1, 1),
        Creates::Levels => (V2, depth(source, queue)?),
    };
    sheet.insert("parent".to_owned(), json!(true));
    sheet.insert("dynamic_depth".to_owned(), json!(depth));
    let most = source.of(queue, &format!("{prefix}max-queues"));
    let most = most.map(|setting| at_least(setting, 0)).transpose()?;
    sheet.insert("max_children".to_owned(), json!(most.unwrap_or(1_000)));
    match creates {
        Creates::Leaves => leaves(source, queue, notation, defaults, sheet),
        _ => levels(source, queue, depth, notation, defaults, sheet),
    }
}

/// How many levels may be made below a queue.
fn depth(source: &mut Source<'_>, queue: usize) -> Result<i32, Fault> {
    let own = source.of(queue, &format!("{V2}maximum-queue-depth"));
    let all = source.system(&format!("{V2}maximum-queue-depth"));
    match own.or(all) {
        Some(setting) => at_least(setting, 0),
        None => Ok(DEPTH),
    }
}

/// Says that templates of a queue without creation count for nothing.
fn without(source: &mut Source<'_>, queue: usize) {
    for prefix in [V1, V2, LEAF_TEMPLATE] {
        for (rest, setting) in source.starting(queue, prefix) {
            if rest != "enabled" && rest != "queue-auto-removal.enable" {
                let how = "has no effect, in stock either: submissions make no queues below this \
                           one";
                source.approximate(setting, how);
            }
        }
    }
}

fn leaves(
    source: &mut Source<'_>,
    queue: usize,
    notation: &Notation,
    defaults: &Defaults,
    sheet: &mut Map<String, Json>,
) -> Result<(), Fault> {
    for (rest, setting) in source.starting(queue, V1) {
        match rest {
            "fail-on-exceeding-parent-capacity" => {
                if source.switch(Some(setting), false) {
                    let how = "a queue is made even if the guarantees of all are above the \
                               parent's; max-queues alone bounds them";
                    source.approximate(setting, how);
                }
            }
            "management-policy" => {
                let how = "queues made by submissions share what their parent has; none is \
                           switched off";
                source.approximate(setting, how);
            }
            "enabled" | "max-queues" => {}
            _ => source.approximate(setting, "stock ignores it; its name is not known"),
        }
    }
    for (rest, setting) in source.starting(queue, LEAF_TEMPLATE) {
        check_template(source, setting, rest);
    }
    let read = |source: &mut Source<'_>| leaf(source, queue, notation, defaults);
    let mut new = source.in_templates(&[LEAF_TEMPLATE], read)?;
    // Stock counts no applications there (facts 6.1).
    new.remove("max_jobs");
    new.remove("max_jobs_by_share");
    new.entry("min_share").or_insert(json!({}));
    sheet.insert("mapped_only".to_owned(), json!(true));
    sheet.insert("new_leaf".to_owned(), Json::Object(new));
    Ok(())
}

fn levels(
    source: &mut Source<'_>,
    queue: usize,
    depth: i32,
    notation: &Notation,
    defaults: &Defaults,
    sheet: &mut Map<String, Json>,
) -> Result<(), Fault> {
    for (rest, setting) in source.starting(queue, V2) {
        let part = rest.split_once("template.");
        match (rest, part) {
            ("enabled" | "max-queues" | "maximum-queue-depth", _) => {}
            ("queue-auto-removal.enable", _) => {
                let how = "has no effect, in stock either: it counts in templates alone";
                source.approximate(setting, how);
            }
            (_, Some(("" | "leaf-", key))) => check_template(source, setting, key),
            (_, Some(("parent-", _))) => refuse(source, setting),
            _ => source.approximate(setting, "stock ignores it; its name is not known"),
        }
    }
    // A leaf may be all masters, and users have all of it (facts 9.3).
    let free = Defaults {
        am_percent: 1.0,
        user_limit_factor: -1.0,
        ..*defaults
    };
    let read = |source: &mut Source<'_>| leaf(source, queue, notation, &free);
    let new = source.in_templates(&LEVEL_TEMPLATES, read)?;
    sheet.insert("new_leaf".to_owned(), Json::Object(new));
    let plain = source.in_templates(&["."], |source| leaf(source, queue, notation, &free))?;
    let mut above = json!({"parent": true, "compare": "capacity", "new_leaf": plain});
    for _ in 2..depth {
        above = json!({
            "parent": true, "compare": "capacity", "new_leaf": above["new_leaf"],
            "new_parent": above,
        });
    }
    if depth > 1 {
        let parent = |source: &mut Source<'_>| {
            let mut sheet = Map::new();
            sizes(source, queue, notation, &mut sheet)?;
            access::write_rights(source, queue, &mut sheet);
            Ok(sheet)
        };
        for (key, value) in source.in_templates(&["auto-queue-creation-v2.template."], parent)? {
            above[key] = value;
        }
        sheet.insert("new_parent".to_owned(), above);
    }
    Ok(())
}

/// Properties of templates that `leaf` follows.
const OF_LEAVES: &[&str] = &[
    "capacity",
    "maximum-capacity",
    "user-limit-factor",
    "minimum-user-limit-percent",
    "maximum-am-resource-percent",
    "maximum-applications",
    "max-parallel-apps",
    "ordering-policy",
    "acl_submit_applications",
    "acl_administer_queue",
    "default-application-priority",
    "disable_preemption",
    "queue-auto-removal.enable",
    "auto-queue-creation-v2.queue-auto-removal.enable",
];

/// Writes what a leaf has that a submission makes, from the templates of the queue above it.
fn leaf(
    source: &mut Source<'_>,
    queue: usize,
    notation: &Notation,
    defaults: &Defaults,
) -> Result<Map<String, Json>, Fault> {
    let mut sheet = Map::new();
    sizes(source, queue, notation, &mut sheet)?;
    limits::write_queue(source, queue, &mut sheet)?;
    limits::write_leaf(source, queue, defaults, Part::Weight, &mut sheet)?;
    access::write_rights(source, queue, &mut sheet);
    access::write_application_priority(source, queue, &mut sheet)?;
    order::write_leaf(source, queue, &mut sheet)?;
    let disabled = source.of(queue, "disable_preemption");
    if source.switch(disabled, false) {
        sheet.insert("preempt_from".to_owned(), json!(false));
    }
    Ok(sheet)
}

/// Writes what queues of a template are guaranteed, and may use.
fn sizes(
    source: &mut Source<'_>,
    queue: usize,
    notation: &Notation,
    sheet: &mut Map<String, Json>,
) -> Result<(), Fault> {
    if let Some(setting) = source.of(queue, "capacity") {
        match notation.capacity(setting)?.amount {
            Amount::Weight(weight) => {
                sheet.insert("weight".to_owned(), json!(decimal(weight)));
            }
            Amount::Percent(part) => {
                let part = json!(format!("{}% of parent", decimal(part)));
                sheet.insert("min_share".to_owned(), part);
            }
            Amount::Parts(_) => refuse(source, setting),
        }
    }
    if let Some(setting) = source.of(queue, "maximum-capacity") {
        match notation.maximum(setting)?.map(|read| read.amount) {
            Some(Amount::Percent(most)) if most < 100.0 => {
                let most = json!(format!("{}% of parent", decimal(most)));
                sheet.insert("max_share".to_owned(), most);
            }
            Some(Amount::Parts(_)) => refuse(source, setting),
            _ => {}
        }
    }
    Ok(())
}

/// Refuses the properties of a template that nothing follows.
fn check_template<'a>(source: &mut Source<'a>, setting: Setting<'a>, key: &str) {
    let running = key == "state" && setting.value.eq_ignore_ascii_case("running");
    let removal = key.ends_with("queue-auto-removal.enable");
    if removal && !source.switch(Some(setting), true) || !running && !OF_LEAVES.contains(&key) {
        refuse(source, setting);
    }
}

fn refuse<'a>(source: &mut Source<'a>, setting: Setting<'a>) {
    source.refuse(
        setting,
        "not supported yet: this value for queues that submissions make; instead configure such \
         queues one by one",
    );
}
