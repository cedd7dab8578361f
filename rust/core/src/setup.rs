//! The input of a host when it opens an engine, and for a reload: the configuration, read with the
//! policies of the catalogue. Reads no file.

use crate::catalogue;
use crate::config::{
    Allocations, Config, ConfigError, Section, read_numbers, read_resource, read_users,
};
use crate::words::ids::Millis;
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that a host gives when it opens an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Names of the resource types, in the order of the vectors' components.
    pub resource_types: Vec<String>,
    /// The smallest container: YARN's minimum allocation.
    pub minimum_allocation: Resource,
    /// What the wall clock, in ms since 1970, showed when the engine's clock was 0: times of day
    /// in the configuration are by the wall clock. 0 in virtual time, where both are one.
    pub epoch_ms: Millis,
    /// The configuration.
    pub config: Config,
}

/// No clock is further from 1970 than this, either way: about 31,000 years.
const EPOCH_MAX_MS: Millis = 1_000_000_000_000_000;

impl Setup {
    /// Reads `{"resource_types": [...], "minimum_allocation": {...}, "epoch_ms": ...,
    /// "config": {...}, "allocations": ..., "users": {...}, "labels": {...}}`.
    pub fn from_json(setup: &Value) -> Result<Setup, ConfigError> {
        let mut section = Section::new("", setup)?;
        let mut resource_types = Vec::new();
        for (path, item) in section.list("resource_types")? {
            match item.as_str() {
                Some(name) => resource_types.push(name.to_string()),
                None => {
                    return Err(ConfigError::new(
                        path,
                        format!("expected a name, found {item}"),
                    ));
                }
            }
        }
        if resource_types.is_empty() {
            resource_types = vec!["memory-mb".to_string(), "vcores".to_string()];
        }
        if !(2..=RESOURCE_TYPES_MAX).contains(&resource_types.len()) {
            let problem = format!(
                "expected 2 to {RESOURCE_TYPES_MAX} resource types (memory, vcores and further \
                 ones), found {}; remove some from resource-types.xml",
                resource_types.len()
            );
            return Err(ConfigError::new("resource_types", problem));
        }
        let minimum_allocation = match section.value("minimum_allocation") {
            Some(value) => {
                read_resource("minimum_allocation", value, &resource_types, Resource::ZERO)?
            }
            None => Resource::new(1024, 1),
        };
        let epoch_ms = Setup::read_epoch(&mut section)?.unwrap_or(0);
        let mut config = read(&mut section, &resource_types)?;
        config.epoch_ms = epoch_ms;
        Ok(Setup {
            resource_types,
            minimum_allocation,
            epoch_ms,
            config,
        })
    }

    /// `epoch_ms` of a setup or of a reload, if it is there.
    pub(crate) fn read_epoch(section: &mut Section<'_>) -> Result<Option<Millis>, ConfigError> {
        section.whole("epoch_ms", -EPOCH_MAX_MS, EPOCH_MAX_MS)
    }

    /// An engine for memory and vcores with this configuration: tests, simulator.
    pub fn with_config(config: &Value) -> Result<Setup, ConfigError> {
        Setup::from_json(&serde_json::json!({ "config": config }))
    }
}

/// Reads the common part of a setup and a reload:
/// - `config`, which is `heddle.json`;
/// - `allocations`, the text of an allocations file, if there is one;
/// - `users`, the host's numbers of the users that this file or `config` names;
/// - `labels`, its numbers of the node labels that `config` names;
/// - `stopped`, the paths of queues that stay stopped though `config` writes no state for them.
pub(crate) fn read(
    section: &mut Section<'_>,
    resource_types: &[String],
) -> Result<Config, ConfigError> {
    let empty = Value::Object(Default::default());
    let config = section.value("config").unwrap_or(&empty);
    let mut config = read_config(config, resource_types)?;
    let users = read_users(section)?;
    config.users.number(&users);
    config.labels = read_numbers(section)?;
    for (path, queue) in section.list("stopped")? {
        let expected = || ConfigError::new(path.clone(), format!("expected a path, found {queue}"));
        let queue = queue.as_str().ok_or_else(expected)?;
        config.stopped.insert(queue.to_string());
    }
    if let Some(text) = section.text("allocations")? {
        let allocations = Allocations::parse(text)
            .map_err(|fault| ConfigError::new("allocations", fault.to_string()))?;
        allocations.apply(&mut config, &users);
    }
    Ok(config)
}

/// All faults of `heddle.json` that its reader finds, in its order. Goes on after each as if the
/// wrong key were not there.
pub fn faults_of_config(config: &Value, resource_types: &[String]) -> Vec<ConfigError> {
    let (mut left, mut faults) = (config.clone(), Vec::new());
    // The items that were taken out of lists, by the key of the list, as the file counts them.
    let mut gone: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    while let Err(mut error) = read_config(&left, resource_types) {
        // Without these nothing of an item of a list can be read.
        let item = WHOLE.iter().find_map(|key| error.key.strip_suffix(key));
        let at = item.unwrap_or(&error.key);
        let goes_on = remove(&mut left, at);
        if let Some((list, index, rest)) = in_list(&error.key) {
            let taken = gone.entry(list.to_string()).or_default();
            let written = (0..).filter(|at| !taken.contains(at)).nth(index);
            let written = written.expect("numbers do not end");
            if rest.is_empty() || WHOLE.contains(&rest) {
                taken.insert(written);
            }
            error.key = format!("{list}[{written}]{rest}");
        }
        faults.push(error);
        if !goes_on {
            break;
        }
    }
    faults
}

/// What an item of `queues` and of `placement` is.
const WHOLE: [&str; 2] = [".path", ".rule"];

/// The list, the index and the rest of a key such as `queues[0].weight`.
fn in_list(key: &str) -> Option<(&str, usize, &str)> {
    let (list, rest) = key.split_once('[')?;
    let (index, rest) = rest.split_once(']')?;
    Some((list, index.parse().ok()?, rest))
}

/// Takes the value at a key such as `queues[0].max_share.vcores` out; returns whether it was there.
/// Names of users and labels may have dots.
fn remove(value: &mut Value, key: &str) -> bool {
    match value {
        Value::Object(object) => {
            if object.remove(key).is_some() {
                return true;
            }
            let ends = key.match_indices(['.', '[']).map(|(at, _)| at);
            for end in ends {
                let (name, rest) = key.split_at(end);
                let rest = rest.strip_prefix('.').unwrap_or(rest);
                if object.get_mut(name).is_some_and(|part| remove(part, rest)) {
                    return true;
                }
            }
            false
        }
        Value::Array(items) => match in_list(key) {
            Some(("", index, "")) if index < items.len() => {
                items.remove(index);
                true
            }
            Some(("", index, rest)) => {
                let rest = rest.strip_prefix('.').unwrap_or(rest);
                items.get_mut(index).is_some_and(|item| remove(item, rest))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Sentences about what `heddle.json` says in vain: no stage of the policy in force reads it.
/// `merged` is what is in force, heddle.json itself unless it lies over another file.
pub fn without_effect(config: &Value, merged: &Value) -> Vec<String> {
    catalogue::unread::warnings(config, merged)
}

/// Reads `heddle.json`; `resource_types` are the names that shares may use.
pub fn read_config(config: &Value, resource_types: &[String]) -> Result<Config, ConfigError> {
    Section::all("", config, |root| {
        let composition = catalogue::read_composition(root)?;
        let rank = catalogue::read_rank(root)?;
        let mut config = Config::read(root, composition, resource_types)?;
        config.rank = rank;
        for own in catalogue::sections() {
            config.read_own(root, own.section, own.check)?;
        }
        Ok(config)
    })
}
