//! The rules that find a submission's queue: mappings in the old notation, or as JSON (facts 8).
//! Checks their targets as stock does; the engine follows them.

use super::mapping::{self, Rule};
use super::setting::Setting;
use super::source::Source;
use super::tree::{Creates, Resolved, Tree};
use crate::Fault;
use heddle_core::config::text::shown;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

const RULES: &str = "yarn.scheduler.queue-placement-rules";
const APPLICATIONS: &str = "yarn.scheduler.queue-placement-rules.app-name";

const VARIABLES: [&str; 6] = [
    "%user",
    "%primary_group",
    "%secondary_group",
    "%specified",
    "%application",
    "%default",
];

/// Writes `placement`.
pub(super) fn write(source: &mut Source<'_>, config: &mut Map<String, Json>) -> Result<(), Fault> {
    let overrides = source.system("queue-mappings-override.enable");
    let overrides = source.switch(overrides, false);
    let mut placement = Vec::new();
    let rules = match counts(source)? {
        true => mappings(source)?,
        false => Vec::new(),
    };
    // A queue that the submission names. `default` counts as none.
    let specified = json!({ "rule": "specified", "names": "leaves" });
    if !overrides || rules.is_empty() {
        placement.push(specified.clone());
    }
    for (rule, setting) in &rules {
        if let Some(target) = &rule.target {
            check_target(&source.tree, *setting, target)?;
        }
        placement.push(rule.json());
    }
    if overrides && !rules.is_empty() {
        placement.push(specified);
    }
    placement.push(json!({ "rule": "default", "queue": "default", "names": "leaves" }));
    config.insert("placement".to_owned(), Json::Array(placement));
    Ok(())
}

/// Whether mappings are looked at: `yarn.scheduler.queue-placement-rules` may leave them out.
fn counts(source: &mut Source<'_>) -> Result<bool, Fault> {
    let Some(setting) = source.outside(RULES) else {
        return Ok(true);
    };
    let (mut seen, mut counts) = (BTreeSet::new(), false);
    for word in setting.words() {
        if !seen.insert(word) {
            return Err(setting.fault(format!("{} stands here twice; remove one", shown(word))));
        }
        match word {
            "user-group" | "app-name" => counts = true,
            class => source.refuse(
                setting,
                format!("not supported: the rule {class} in Java; instead write mappings as JSON"),
            ),
        }
    }
    Ok(counts || seen.is_empty())
}

type Rules<'a> = Vec<(Rule, Setting<'a>)>;

fn mappings<'a>(source: &mut Source<'a>) -> Result<Rules<'a>, Fault> {
    let format = source.system("mapping-rule-format");
    let users = source.system("queue-mappings");
    let applications = source.outside(APPLICATIONS);
    let inline = source.system("mapping-rule-json");
    let file = source.system("mapping-rule-json-file");
    match format.map(|setting| (setting, setting.value.trim())) {
        Some((_, "json")) => {
            for unused in [users, applications].into_iter().flatten() {
                source.approximate(unused, "has no effect: mapping-rule-format is json");
            }
            match (inline, file) {
                (Some(inline), _) => {
                    if let Some(file) = file {
                        source.approximate(file, "has no effect: mapping-rule-json is set");
                    }
                    json_rules(source, inline)
                }
                (None, Some(file)) => {
                    source.refuse(
                        file,
                        "not supported yet: a file of rules; instead write its text to \
                         yarn.scheduler.capacity.mapping-rule-json",
                    );
                    Ok(Vec::new())
                }
                (None, None) => Ok(Vec::new()),
            }
        }
        Some((setting, other)) if other != "legacy" => Err(setting.expected("legacy or json")),
        _ => {
            for unused in [inline, file].into_iter().flatten() {
                source.approximate(unused, "has no effect: mapping-rule-format is not json");
            }
            let mut rules = Vec::new();
            for (setting, parts) in [(users, 3), (applications, 2)] {
                if let Some(setting) = setting {
                    let read = mapping::legacy(setting, parts)?;
                    rules.extend(read.into_iter().map(|rule| (rule, setting)));
                }
            }
            Ok(rules)
        }
    }
}

fn json_rules<'a>(source: &mut Source<'a>, setting: Setting<'a>) -> Result<Rules<'a>, Fault> {
    let (rules, ignored) = mapping::json(setting)?;
    for key in ignored {
        source.approximate(
            setting,
            format!("the key {key} is not known; stock ignores it, too"),
        );
    }
    Ok(rules.into_iter().map(|rule| (rule, setting)).collect())
}

/// Whether a part of a path is replaced when an application comes.
fn is_variable(part: &str) -> bool {
    VARIABLES.contains(&part)
}

/// Checks a target as stock does when it reads the file (facts 8.2).
fn check_target(tree: &Tree<'_>, setting: Setting<'_>, target: &str) -> Result<(), Fault> {
    let fault = |problem: &str| {
        let problem = format!("the target {} {problem}", shown(target));
        Err(setting.fault(problem))
    };
    let parts: Vec<&str> = target.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return fault("has an empty part; expected a path such as root.users.%user");
    }
    let fixed: Vec<&str> = parts
        .iter()
        .copied()
        .take_while(|part| !is_variable(part))
        .collect();
    let Some(first) = fixed.first() else {
        return Ok(());
    };
    let first = match tree.resolve(first) {
        Resolved::Queue(queue) => queue,
        Resolved::Ambiguous => {
            return fault("begins with a name of several queues; write the full path");
        }
        Resolved::Missing => return fault("begins with no queue of the file; define it"),
    };
    // The queues of the path as far as they are in the file.
    let mut last = first;
    let mut missing = fixed.len() - 1;
    for part in &fixed[1..] {
        match tree.find(&format!("{}.{part}", tree.queues[last].path)) {
            Some(queue) => last = queue,
            None => break,
        }
        missing -= 1;
    }
    let is_static = fixed.len() == parts.len();
    let creates = tree.queues[last].creates;
    match (is_static, missing) {
        (true, 0) if tree.is_parent(last) => fault("is no leaf; name a queue below it"),
        (false, 0) if !tree.is_parent(last) => fault("continues below a leaf; end it there"),
        (_, 0) => Ok(()),
        (_, 1) if creates != Creates::Nothing => Ok(()),
        (true, 2) if creates == Creates::Levels => Ok(()),
        _ => fault(
            "is not in the file, and no queue above it lets submissions make it; define it, or \
             set auto-queue-creation-v2.enabled of its parent",
        ),
    }
}
