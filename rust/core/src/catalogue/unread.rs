//! Settings that no stage in force reads. They are no faults: a site may keep those of a policy
//! that it tries now and then. But who sets them expects an effect.

use super::{ORDERS, PLACES, SHARES, read_composition};
use crate::config::{Composition, Section};
use crate::stage::entry::Entry;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A stage, as far as it reads what not all read.
struct Reader {
    stage: &'static str,
    name: &'static str,
    /// Its section, and keys elsewhere.
    keys: Vec<&'static str>,
}

/// Every stage of the catalogue, in its order.
fn readers() -> Vec<Reader> {
    let mut readers = Vec::new();
    add("share", SHARES, &mut readers);
    add("order", ORDERS, &mut readers);
    add("place", PLACES, &mut readers);
    readers
}

fn add<Stage: ?Sized>(
    stage: &'static str,
    entries: &'static [Entry<Stage>],
    readers: &mut Vec<Reader>,
) {
    readers.extend(entries.iter().map(|entry| {
        let section = entry.own.as_ref().map(|own| own.section);
        Reader {
            stage,
            name: entry.name,
            keys: section
                .into_iter()
                .chain(entry.reads.iter().copied())
                .collect(),
        }
    }));
}

/// Returns a sentence for each section or key of `config` that no stage of `merged` reads.
pub(crate) fn warnings(config: &Value, merged: &Value) -> Vec<String> {
    let composed = Section::new("", merged).and_then(|mut root| read_composition(&mut root));
    let Ok(composed) = composed else {
        return Vec::new();
    };
    let readers = readers();
    let mut seen = BTreeSet::new();
    let mut warnings = Vec::new();
    for key in readers.iter().flat_map(|reader| &reader.keys) {
        let mut of_key = readers.iter().filter(|reader| reader.keys.contains(key));
        if !seen.insert(*key) || of_key.clone().any(|reader| in_force(&composed, reader)) {
            continue;
        }
        if let (Some(place), Some(reader)) = (place(config, key), of_key.next()) {
            warnings.push(sentence(&place, reader, &composed));
        }
    }
    warnings
}

/// Returns the name in force of the stage.
fn named<'a>(composed: &'a Composition, stage: &str) -> &'a str {
    match stage {
        "share" => &composed.share,
        "order" => &composed.order,
        _ => &composed.place,
    }
}

fn in_force(composed: &Composition, reader: &Reader) -> bool {
    named(composed, reader.stage) == reader.name
}

/// Says where the key is, that it has no effect, and under which policy it would have one.
fn sentence(place: &str, reader: &Reader, composed: &Composition) -> String {
    let Reader { stage, name, .. } = reader;
    let stages = ["share", "order", "place"].map(|other| {
        let name = if other == *stage {
            *name
        } else {
            named(composed, other)
        };
        format!("\"{other}\": \"{name}\"")
    });
    format!(
        "{place} has no effect: {stage} `{}` does not read it, `{name}` does; take it out, or set \
         `policy` to {{{}}}",
        named(composed, stage),
        stages.join(", ")
    )
}

/// Returns where a key is in a configuration, if it says anything there.
fn place(config: &Value, key: &str) -> Option<String> {
    let Some(of_queues) = key.strip_prefix("queues.") else {
        let value = key
            .split('.')
            .try_fold(config, |value, part| value.get(part))?;
        return says_something(value).then(|| format!("key `{key}`"));
    };
    let queues = config["queues"].as_array().into_iter().flatten();
    let mut having = queues
        .filter_map(Value::as_object)
        .filter(|queue| has(queue, of_queues));
    let first = having
        .next()?
        .get("path")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Some(match having.count() {
        0 => format!("key `{of_queues}` of queue `{first}`"),
        more => format!("key `{of_queues}` of queue `{first}` and {more} more"),
    })
}

/// Whether a queue, or the settings of queues that are made below it, have a key.
fn has(queue: &Map<String, Value>, key: &str) -> bool {
    let new = ["new_leaf", "new_parent"]
        .into_iter()
        .filter_map(|new| queue.get(new)?.as_object());
    queue.get(key).is_some_and(says_something) || new.into_iter().any(|new| has(new, key))
}

/// A key set to false, 0 or null means the same as no key, under every policy.
fn says_something(value: &Value) -> bool {
    !value.is_null() && *value != Value::Bool(false) && value.as_f64() != Some(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{order_names, place_names, sections, share_names};
    use serde_json::json;

    /// A value under which a key says something, as the file has it.
    fn with(key: &str) -> Value {
        let value = match key {
            "queues.size_weight" | "queue_defaults.size_weight" | "preemption.enabled" => {
                json!(true)
            }
            "queues.min_share" => json!({"memory-mb": 1024}),
            _ => json!(2),
        };
        if let Some(own) = sections().find(|own| own.section == key) {
            let first = own
                .keys
                .iter()
                .find(|key| !key.default.is_empty())
                .expect("a default");
            let value: Value = serde_json::from_str(first.default).expect("JSON");
            return json!({ key: { first.name: value } });
        }
        match key.split_once('.').expect("a section and a key") {
            ("queues", key) => json!({"queues": [{"path": "root.a", key: value}]}),
            (section, key) => json!({ section: { key: value } }),
        }
    }

    /// Every composition, and every section and key that only some stages read: warned about
    /// exactly when none of them is composed.
    #[test]
    fn a_setting_is_named_exactly_when_no_stage_in_force_reads_it() {
        let readers = readers();
        let keys: BTreeSet<&str> = readers.iter().flat_map(|it| it.keys.clone()).collect();
        assert!(keys.len() > sections().count());
        for share in share_names() {
            for order in order_names() {
                for place in place_names() {
                    let composed = [("share", share), ("order", order), ("place", place)];
                    for key in &keys {
                        let mut config = with(key);
                        config["policy"] = json!({"share": share, "order": order, "place": place});
                        crate::setup::Setup::with_config(&config).expect("it is accepted");
                        let is_read = readers.iter().any(|reader| {
                            reader.keys.contains(key)
                                && composed.contains(&(reader.stage, reader.name))
                        });
                        let said = warnings(&config, &config);
                        assert_eq!(said.len(), usize::from(!is_read), "{config}: {said:?}");
                        let name = key.strip_prefix("queues.").unwrap_or(key);
                        assert!(said.iter().all(|said| said.contains(&format!("`{name}`"))));
                    }
                }
            }
        }
    }

    #[test]
    fn every_section_of_a_policy_is_one_stages() {
        let names: Vec<&str> = sections().map(|own| own.section).collect();
        let once: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), once.len(), "{names:?}");
        for section in names {
            let stages = readers()
                .into_iter()
                .filter(|it| it.keys.contains(&section));
            assert_eq!(stages.count(), 1, "{section}");
        }
    }

    #[test]
    fn the_sentence_says_where_why_and_under_which_policy() {
        let config = json!({
            "policy": "fair",
            "deficit": {"size_weight": true},
            "hfsp": null,
            "queues": [
                {"path": "root.a", "weight": 2, "min_maps": 0},
                {"path": "root.b", "max_tasks_per_job": 7},
                {"path": "root.c", "new_leaf": {"max_tasks_per_job": 7}},
            ],
        });
        let policy = "order `by-queue` does not read it, `deficit` does; take it out, or set \
                      `policy` to {\"share\": \"fair\", \"order\": \"deficit\", \
                      \"place\": \"delay\"}";
        let expected = [
            format!("key `deficit` has no effect: {policy}"),
            format!("key `max_tasks_per_job` of queue `root.b` and 1 more has no effect: {policy}"),
        ];
        assert_eq!(warnings(&config, &config), expected);
        // Over the file of a stock scheduler, which has the policy.
        let own = json!({"delay": {"node_wait_ms": 1}});
        let merged = json!({"policy": {"place": "local-first"}});
        assert_eq!(warnings(&own, &merged).len(), 1);
        assert_eq!(warnings(&own, &own), [""; 0]);
        assert_eq!(warnings(&own, &json!({"policy": "fare"})), [""; 0]);
    }
}
