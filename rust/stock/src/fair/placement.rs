//! `queuePlacementPolicy`, or the rules that YARN makes of two properties: section `placement`.

use super::file::{Raw, Rule, trim};
use super::reading::Reading;
use crate::{Fault, Properties, java};
use heddle_core::config::text::shown;
use heddle_core::config::unknown;
use serde_json::{Map, Value, json};

/// The names of rules, here and in heddle.json.
const RULES: &[(&str, &str)] = &[
    ("specified", "specified"),
    ("user", "user"),
    ("primaryGroup", "primary_group"),
    ("secondaryGroupExistingQueue", "secondary_group"),
    ("nestedUserQueue", "nested_user"),
    ("default", "default"),
    ("reject", "reject"),
];

/// Rules that put a queue into the queue of another rule.
const OUTER: &[&str] = &[
    "user",
    "primaryGroup",
    "secondaryGroupExistingQueue",
    "nestedUserQueue",
];

const SECTION: &str = "queuePlacementPolicy";

pub(super) fn write(
    raw: &Raw,
    properties: &Properties,
    reading: &mut Reading,
    config: &mut Map<String, Value>,
) {
    let rules = match &raw.placement {
        None => implied(properties),
        Some((line, rules)) if rules.is_empty() => {
            let what = "has no rule: those of allow-undeclared-pools and user-as-default-queue \
                        count, as at a start of YARN, which keeps the rules before if it reads \
                        such a file later; write rules, or remove it";
            reading.warned(*line, SECTION, what);
            implied(properties)
        }
        Some((line, rules)) => {
            reading.exact(*line, SECTION);
            reading.keep(check_order(rules));
            let mut written = Vec::new();
            for (at, rule) in rules.iter().enumerate() {
                let rule = translate(rule, at, reading);
                written.extend(reading.keep(rule));
            }
            written
        }
    };
    config.insert("placement".to_owned(), Value::Array(rules));
}

/// The rules without any in the file.
fn implied(properties: &Properties) -> Vec<Value> {
    let switch = |name: &str| {
        let property = properties.get(&format!("yarn.scheduler.fair.{name}"));
        let value = property.and_then(|property| java::boolean(&property.value));
        value.unwrap_or(true)
    };
    let create = switch("allow-undeclared-pools");
    let user = switch("user-as-default-queue");
    let rule = |name: &str| json!({"rule": name, "create": create, "names": "paths"});
    let mut rules = vec![rule("specified")];
    if user {
        rules.push(rule("user"));
    }
    if !(user && create) {
        rules.push(fixed(true, "root.default"));
    }
    rules
}

fn fixed(create: bool, queue: &str) -> Value {
    json!({"rule": "default", "create": create, "queue": queue, "names": "paths"})
}

/// Refuses rules after one that always finds a queue, and a list without such a rule.
fn check_order(rules: &[Rule]) -> Result<(), Fault> {
    let ends = |rule: &Rule| match rule.name.as_str() {
        "reject" => true,
        "specified" | "secondaryGroupExistingQueue" => false,
        _ => creates(rule) && rule.inner.last().is_none_or(creates),
    };
    let (last, before) = rules.split_last().expect("an empty list was refused");
    if let Some(end) = before.iter().position(ends) {
        let problem = format!(
            "{SECTION}: the rule in line {} always finds a queue; remove the rules after it",
            before[end].line
        );
        return Err(Fault::new(rules[end + 1].line, problem));
    }
    if !ends(last) && RULES.iter().any(|(name, _)| *name == last.name) {
        let problem = format!(
            "{SECTION}: the last rule, {}, may find no queue; add <rule name=\"default\"/> or \
             <rule name=\"reject\"/>",
            last.name
        );
        return Err(Fault::new(last.line, problem));
    }
    Ok(())
}

fn creates(rule: &Rule) -> bool {
    match rule.create.as_deref() {
        None | Some("") => true,
        Some(text) => text.eq_ignore_ascii_case("true"),
    }
}

fn translate(rule: &Rule, at: usize, reading: &mut Reading) -> Result<Value, Fault> {
    let what = format!(
        "{SECTION}/rule[{}] {}",
        at + 1,
        shown(&rule.name).replace('"', "")
    );
    let name = known(rule)?;
    let outer = OUTER.contains(&rule.name.as_str());
    let problem = match rule.inner.last() {
        None if rule.name == "nestedUserQueue" => {
            "nestedUserQueue: expected a rule in it, such as <rule name=\"primaryGroup\"/>"
        }
        Some(_) if !outer => "expected no rule in this one",
        Some(inner) if matches!(inner.name.as_str(), "reject" | "nestedUserQueue") => {
            "expected neither reject nor nestedUserQueue in a rule"
        }
        Some(inner) if same(&inner.name, &rule.name) => "expected another rule than this one in it",
        _ => "",
    };
    if !problem.is_empty() {
        return Err(Fault::new(rule.line, format!("{what}: {problem}")));
    }
    if rule.queue.is_some() && rule.name != "default" {
        reading.ignored(
            rule.line,
            format!("{what}/@queue"),
            "queue",
            &["name", "create"],
        );
    }
    let mut written = plain(rule, name, reading, &what);
    if let Some((inner, unused)) = rule.inner.split_last() {
        for unused in unused {
            let how = "is not used: the last rule in a rule counts";
            reading.approximated(unused.line, format!("{what}/rule"), how);
        }
        let inside = format!("{what}/{}", shown(&inner.name).replace('"', ""));
        let mut parent = plain(inner, known(inner)?, reading, &inside);
        // Inside a rule names are read in this way only.
        parent.remove("names");
        written.remove("names");
        reading.exact(inner.line, inside);
        written.insert("inner".to_owned(), Value::Object(parent));
    }
    reading.exact(rule.line, what);
    Ok(Value::Object(written))
}

/// Returns the name of a rule in heddle.json.
fn known(rule: &Rule) -> Result<&'static str, Fault> {
    let found = RULES.iter().find(|(name, _)| *name == rule.name);
    found.map(|(_, name)| *name).ok_or_else(|| {
        let names: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
        let problem = format!("{SECTION}: rule {}", unknown(&rule.name, &names));
        Fault::new(rule.line, problem)
    })
}

fn same(inner: &str, outer: &str) -> bool {
    inner == outer || (inner == "user" && outer == "nestedUserQueue")
}

/// One rule without those in it.
fn plain(rule: &Rule, name: &str, reading: &mut Reading, what: &str) -> Map<String, Value> {
    let mut written = Map::from_iter([("rule".to_owned(), json!(name))]);
    match name {
        "reject" => return written,
        "specified" | "user" => {
            written.insert("names".to_owned(), json!("paths"));
        }
        "default" => {
            written.insert("names".to_owned(), json!("paths"));
            written.insert("queue".to_owned(), json!(fixed_queue(rule, reading, what)));
        }
        _ => {}
    }
    written.insert("create".to_owned(), json!(creates(rule)));
    written
}

/// The path of the rule `default`.
fn fixed_queue(rule: &Rule, reading: &mut Reading, what: &str) -> String {
    let Some(queue) = rule.queue.as_deref().filter(|queue| !queue.is_empty()) else {
        return "root.default".to_owned();
    };
    let ends = |c| queue.starts_with(c) || queue.ends_with(c);
    if trim(queue) != queue || ends('.') {
        let how = format!(
            "{} is no path; root.default is used, as in YARN",
            shown(queue)
        );
        reading.approximated(rule.line, format!("{what}/@queue"), how);
        return "root.default".to_owned();
    }
    if queue.split('.').any(|part| trim(part).is_empty()) {
        let why = format!(
            "{} has a part without a name, which ends YARN's ResourceManager at the first \
             application; write a path such as root.default",
            shown(queue)
        );
        reading.refused(rule.line, format!("{what}/@queue"), why);
        return "root.default".to_owned();
    }
    match queue == "root" || queue.starts_with("root.") {
        true => queue.to_owned(),
        false => format!("root.{queue}"),
    }
}
