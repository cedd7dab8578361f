//! Reads the configuration that the host found: `heddle.json`, and the file of a stock scheduler
//! below it. The host gives texts and their names; here they become one heddle.json, the names of
//! the users in it, and lines for the log.

mod stock;

use heddle_core::config::parse_json;
use heddle_core::setup::{read_config, without_effect};
use heddle_stock::{Property, bounds};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Levels of the host's log.
const WARN: u8 = 2;
const INFO: u8 = 3;

/// What the host found.
#[derive(Deserialize)]
pub(crate) struct Found {
    /// None without a heddle.json: then all is at its default.
    json: Option<JsonFile>,
    /// The property that named the allocations file to the original Fair Scheduler.
    allocations: Option<String>,
    /// Where queues come from: the value of `heddle.queues.from`.
    from: String,
    stock: Option<Stock>,
    /// The cluster's smallest and largest container: properties that are set.
    #[serde(default)]
    containers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct JsonFile {
    name: String,
    text: String,
    /// Paths in the file are relative to it.
    folder: PathBuf,
}

/// A stock scheduler's configuration.
#[derive(Deserialize)]
pub(crate) struct Stock {
    /// Fair's file: its name; `None` if it was not found.
    pub(crate) name: Option<String>,
    /// Fair's file; none without one.
    pub(crate) text: Option<String>,
    /// The properties that the operator has set.
    pub(crate) properties: BTreeMap<String, String>,
    /// Files of properties, which give them their lines: name and text.
    #[serde(default)]
    pub(crate) files: Vec<(String, String)>,
    /// `heddle.queues.tolerate`: names of elements that may be lost, separated by commas.
    #[serde(default)]
    pub(crate) tolerate: String,
}

/// Answers:
/// - `config`, and its `source` for messages;
/// - `users` and `labels`, names of users and of node labels in it;
/// - `places_by_facts`, whether a rule of placement asks for groups or the application's name;
/// - `submit_acls`, whether the right to submit is checked also while `yarn.acl.enable` is false,
///   as YARN's FairScheduler does;
/// - `shown`, what pages about queues need of a stock file;
/// - `allocations_file`, a path, if one is named;
/// - `log`, lines with their level;
/// - `warnings`, those of them about what a stock file says and nothing does.
///
/// Or else `wrong`, a sentence with file and line.
pub(crate) fn read(found: &Found) -> Value {
    merged(found).unwrap_or_else(|wrong| json!({ "wrong": wrong }))
}

fn merged(found: &Found) -> Result<Value, String> {
    let (source, own) = match &found.json {
        Some(file) => {
            let own = parse_json(&file.text).map_err(|fault| match fault.line {
                0 => format!("{}: {}", file.name, fault.problem),
                line => format!("{} line {line}, {}", file.name, fault.problem),
            })?;
            (file.name.clone(), own)
        }
        None => (
            "defaults (no heddle.json)".to_string(),
            Value::Object(Map::new()),
        ),
    };
    let allocations = allocations_file(found, &own);
    let under = match (found.from.as_str(), &found.stock) {
        ("heddle", _) => {
            check_containers(&found.containers)?;
            None
        }
        ("fair", Some(stock)) => Some(stock::under(true, stock, &own)?),
        ("capacity", Some(stock)) => Some(stock::under(false, stock, &own)?),
        (other, _) => {
            return Err(format!(
                "heddle.queues.from in yarn-site.xml: expected heddle, fair or capacity, found \
                 {other}"
            ));
        }
    };
    let (source, config, mut log, shown) = match under {
        Some(under) => (
            format!("{source} over {}", under.name),
            under.config,
            under.log,
            under.shown,
        ),
        None => (source, own.clone(), Vec::new(), Value::Null),
    };
    let warnings: Vec<String> = log
        .iter()
        .filter(|(level, _)| *level == WARN)
        .map(|(_, line)| line.clone())
        .collect();
    if let Some(file) = &found.json {
        let idle = without_effect(&own, &config).into_iter();
        log.extend(idle.map(|text| (WARN, format!("{}: {text}", file.name))));
    }
    Ok(json!({
        "source": source,
        "users": users(&config),
        "labels": labels(&config),
        "places_by_facts": places_by_facts(&config),
        "submit_acls": found.from == "fair",
        "config": config,
        "shown": { "kind": found.from, "shown": shown },
        "log": log,
        "warnings": warnings,
        "allocations_file": allocations,
    }))
}

/// Refuses containers that no cluster can grant. A stock file is read with its own check.
fn check_containers(set: &BTreeMap<String, String>) -> Result<(), String> {
    let property = |(name, value): (&String, &String)| {
        let value = value.clone();
        (name.clone(), Property { value, line: 0 })
    };
    let properties = set.iter().map(property).collect();
    let fault = bounds::check(&properties, 0).err();
    fault.map_or(Ok(()), |fault| {
        Err(format!("yarn-site.xml: {}", fault.problem))
    })
}

/// A configuration that the engine is to check, as [`read`] answered it.
#[derive(Deserialize)]
pub(crate) struct Merged {
    config: Value,
    /// The names of the cluster's resource types, memory and vcores first.
    resource_types: Vec<String>,
}

/// Answers `wrong`, the engine's sentence about the configuration; null if it would take it over.
pub(crate) fn check(merged: &Merged) -> Value {
    let fault = read_config(&merged.config, &merged.resource_types).err();
    json!({ "wrong": fault.map(|fault| fault.to_string()) })
}

/// The path of the allocations file. The key goes before the property; what is no text is left to
/// the engine, which names the key.
fn allocations_file(found: &Found, own: &Value) -> Option<PathBuf> {
    let key = own["allocations_file"]
        .as_str()
        .filter(|key| !key.is_empty());
    let named = key.or(found.allocations.as_deref().map(str::trim))?;
    let folder = found.json.as_ref().map(|file| file.folder.clone());
    (!named.is_empty()).then(|| folder.unwrap_or_default().join(named))
}

/// Each rule, key and variable about groups and names of applications has the word in its name. A
/// queue of such a name costs a look-up of groups.
fn places_by_facts(config: &Value) -> bool {
    let rules = config["placement"].to_string();
    rules.contains("group") || rules.contains("application")
}

/// Users that the configuration names: the host has numbers for them.
fn users(config: &Value) -> BTreeSet<&String> {
    let queues = config["queues"].as_array().into_iter().flatten();
    let weights = queues.map(|queue| &queue["user_weights"]);
    let named = weights.chain([&config["users"]["each"]]);
    named
        .filter_map(Value::as_object)
        .flat_map(Map::keys)
        .collect()
}

/// Node labels that queues name: the host has numbers for them, too. A label without a number is
/// none to the engine, and no queue has a share of it.
fn labels(config: &Value) -> BTreeSet<&str> {
    let queues = config["queues"].as_array().into_iter().flatten();
    queues.flat_map(labels_of).collect()
}

fn labels_of(queue: &Value) -> impl Iterator<Item = &str> {
    let shares = queue["labels"].as_object().into_iter().flat_map(Map::keys);
    let accessible = queue["accessible_labels"].as_array().into_iter().flatten();
    let default = queue["default_label"].as_str();
    let named = accessible.filter_map(Value::as_str).chain(default);
    // `*` stands for all labels; an empty default for none.
    let named = named.filter(|name| !matches!(*name, "*" | ""));
    shares.map(String::as_str).chain(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(found: Value) -> Value {
        read(&serde_json::from_value(found).expect("it is well formed"))
    }

    fn of_json(text: &str, allocations: Option<&str>) -> Value {
        answer(json!({
            "json": {"name": "/etc/heddle.json", "text": text, "folder": "/etc"},
            "allocations": allocations, "from": "heddle",
        }))
    }

    #[test]
    fn heddle_json_is_handed_on_with_what_the_host_must_know_of_it() {
        let text = r#"{"users": {"each": {"bob": {}, "alice": {}}},
            "queues": [{"path": "root.a", "user_weights": {"carol": 2, "bob": 3}},
                {"path": "root.b", "labels": {"gpu": {}, "big": {}}},
                {"path": "root.c", "accessible_labels": ["ssd"], "default_label": "fast"},
                {"path": "root.d", "accessible_labels": ["*"], "default_label": ""}], "placement": [
            {"rule": "mapping", "application": "*", "queue": "root.%application"}]}"#;
        let read = of_json(text, None);
        assert_eq!(read["source"], "/etc/heddle.json");
        assert_eq!(
            read["config"],
            serde_json::from_str::<Value>(text).expect("it is JSON")
        );
        assert_eq!(read["users"], json!(["alice", "bob", "carol"]));
        assert_eq!(read["labels"], json!(["big", "fast", "gpu", "ssd"]));
        assert_eq!(read["places_by_facts"], true);
        assert_eq!(read["submit_acls"], false);
        assert_eq!(read["allocations_file"], Value::Null);
        let none = answer(json!({"json": null, "allocations": null, "from": "heddle"}));
        assert_eq!(none["config"], json!({}));
        assert_eq!(none["source"], "defaults (no heddle.json)");
        assert_eq!(none["places_by_facts"], false);
    }

    #[test]
    fn settings_without_effect_are_for_the_log() {
        let log = |text: &str| of_json(text, None)["log"].clone();
        let idle = r#"{"deficit": {"size_weight": true}}"#;
        let expected = "/etc/heddle.json: key `deficit` has no effect: order `by-queue` does not \
                        read it, `deficit` does; take it out, or set `policy` to \
                        {\"share\": \"fair\", \"order\": \"deficit\", \"place\": \"delay\"}";
        assert_eq!(log(idle), json!([[2, expected]]));
        let read = r#"{"policy": {"order": "deficit"}, "deficit": {"size_weight": true}}"#;
        assert_eq!(log(read), json!([]));
    }

    #[test]
    fn the_allocations_file_is_beside_heddle_json() {
        let file = |text: &str, property| of_json(text, property)["allocations_file"].clone();
        let key = r#"{"allocations_file": "pools.xml"}"#;
        assert_eq!(file(key, None), "/etc/pools.xml");
        assert_eq!(
            file(key, Some("/opt/pools.xml")),
            "/etc/pools.xml",
            "the key goes before"
        );
        assert_eq!(file("{}", Some(" /opt/pools.xml ")), "/opt/pools.xml");
        assert_eq!(file("{}", Some("")), Value::Null);
    }

    #[test]
    fn the_engine_says_what_it_would_refuse() {
        let wrong = |share: Value, types: &[&str]| {
            let queue = json!({"path": "root.a", "min_share": share});
            let merged = json!({"config": {"queues": [queue]}, "resource_types": types});
            check(&serde_json::from_value(merged).expect("it is well formed"))["wrong"].clone()
        };
        let two = ["memory-mb", "vcores"];
        assert_eq!(wrong(json!({"memory-mb": 4096}), &two), Value::Null);
        let gpus = json!({"gpus": 1});
        assert_eq!(
            wrong(gpus.clone(), &["memory-mb", "vcores", "gpus"]),
            Value::Null
        );
        let unknown = wrong(gpus, &two);
        let unknown = unknown.as_str().expect("no cluster of two types has gpus");
        assert!(
            unknown.starts_with("key `queues[0].min_share.gpus`"),
            "{unknown}"
        );
    }

    #[test]
    fn what_is_wrong_has_a_file_and_a_line() {
        let wrong = |found: Value| found["wrong"].as_str().unwrap_or_default().to_string();
        let twice = wrong(of_json("{\"queues\": [],\n\"queues\": []}", None));
        assert!(
            twice.starts_with("/etc/heddle.json line 2, column "),
            "{twice}"
        );
        assert!(wrong(of_json("[]", None)).starts_with("/etc/heddle.json: expected a JSON object"));
        let from = wrong(answer(
            json!({"json": null, "allocations": null, "from": "fare"}),
        ));
        assert!(
            from.contains("expected heddle, fair or capacity, found fare"),
            "{from}"
        );
        let containers = wrong(answer(json!({
            "json": null, "allocations": null, "from": "heddle",
            "containers": {"yarn.scheduler.minimum-allocation-mb": "9000"}
        })));
        assert!(
            containers.contains("is 9000") && containers.contains("is 8192"),
            "{containers}"
        );
    }
}
