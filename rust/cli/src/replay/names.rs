//! The names in a journal's JSON, and pseudonyms for them: which words are names of users, groups,
//! applications, queues and labels, and what stands for each.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Queues that every configuration has. They tell nothing.
const COMMON: &[&str] = &["root", "default"];
/// Values that are names.
const NAMED: &[&str] = &["user", "application"];
/// Values that are names of queues, or paths of them.
const PATHS: &[&str] = &["queue", "path", "parent", "pool", "name"];
/// Objects whose keys are names.
const MAPS: &[&str] = &["users", "labels"];
/// Keys whose values are words of Heddle.
const WORDS: &[&str] = &["op", "policy", "share", "order", "place", "log_level"];
/// What Fair's rules put for a dot in a user's queue.
const DOT: &str = "_dot_";

/// Names that were met, and words that must stay because Heddle uses them as well.
#[derive(Default)]
pub(super) struct Names {
    names: BTreeSet<String>,
    words: BTreeSet<String>,
}

/// What stands for each name.
pub(super) struct Pseudonyms {
    of: BTreeMap<String, String>,
    /// Names that are not replaced: Heddle's own words.
    pub(super) kept: Vec<String>,
}

impl Names {
    /// Collects the names of a setup or a request.
    pub(super) fn collect(&mut self, json: &Value) {
        match json {
            Value::Object(fields) => self.collect_fields(fields),
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            _ => {}
        }
    }

    fn collect_fields(&mut self, fields: &Map<String, Value>) {
        for (key, value) in fields {
            self.words.insert(key.clone());
            match value {
                Value::String(text) if WORDS.contains(&key.as_str()) => {
                    self.words.insert(text.clone());
                }
                Value::String(text) if NAMED.contains(&key.as_str()) => self.add(text),
                Value::String(text) if PATHS.contains(&key.as_str()) => self.add_path(text),
                Value::String(text) if key.starts_with("acl") => {
                    text.split([',', ' ']).for_each(|name| self.add(name));
                }
                Value::String(text) if key == "allocations" || key == "text" => {
                    self.add_quoted(text);
                }
                Value::Array(items) if key == "groups" => {
                    items
                        .iter()
                        .filter_map(Value::as_str)
                        .for_each(|name| self.add(name));
                }
                Value::Object(map) if MAPS.contains(&key.as_str()) => {
                    for (name, value) in map {
                        self.add(name);
                        self.collect(value);
                    }
                }
                Value::Object(_) if WORDS.contains(&key.as_str()) => self.collect_words(value),
                value => self.collect(value),
            }
        }
    }

    /// A composition: its keys and values are Heddle's.
    fn collect_words(&mut self, composition: &Value) {
        let values = composition.as_object().into_iter().flatten();
        for (key, value) in values {
            self.words.insert(key.clone());
            self.words.extend(value.as_str().map(str::to_owned));
        }
    }

    fn add_path(&mut self, path: &str) {
        path.split('.').for_each(|part| self.add(part));
    }

    /// The names in an allocations file: in quotes in XML, first on the line without.
    fn add_quoted(&mut self, text: &str) {
        if text.trim_start().starts_with('<') {
            text.split('"')
                .skip(1)
                .step_by(2)
                .for_each(|name| self.add_path(name));
        } else {
            let first = text
                .lines()
                .filter_map(|line| line.split_whitespace().next());
            first.for_each(|name| self.add(name));
        }
    }

    fn add(&mut self, name: &str) {
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        // A template of a rule, such as `%user`, is no name.
        if !is_number && !COMMON.contains(&name) && !name.contains(['%', '*']) {
            self.names.insert(name.to_owned());
        }
    }

    /// Gives each name a pseudonym. They sort as the names do, so that ties go the same way.
    pub(super) fn pseudonyms(self) -> Pseudonyms {
        let Names { names, words } = self;
        let (kept, replaced): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| words.contains(name));
        let number = |(number, name)| (name, format!("n{number:06}"));
        let mut of: BTreeMap<String, String> =
            replaced.into_iter().enumerate().map(number).collect();
        let dotted: Vec<(String, String)> = of
            .iter()
            .filter(|(name, _)| name.contains('.'))
            .map(|(name, pseudonym)| (name.replace('.', DOT), pseudonym.clone()))
            .collect();
        // The queue of a user `a.b` is `a_dot_b`: one pseudonym for both.
        of.extend(dotted);
        Pseudonyms { of, kept }
    }
}

impl Pseudonyms {
    /// How many names are replaced.
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }

    /// Replaces the names in a setup or a request.
    pub(super) fn replace(&self, json: &Value) -> Value {
        match json {
            Value::Object(fields) => {
                let field = |(key, value): (&String, &Value)| {
                    let is_word = WORDS.contains(&key.as_str()) && !value.is_array();
                    let value = if is_word {
                        value.clone()
                    } else {
                        self.replace(value)
                    };
                    (self.replace_in(key), value)
                };
                Value::Object(fields.iter().map(field).collect())
            }
            Value::Array(items) => items.iter().map(|item| self.replace(item)).collect(),
            Value::String(text) => self.replace_in(text).into(),
            other => other.clone(),
        }
    }

    /// Replaces a name, or the names in a path, a list or a text.
    fn replace_in(&self, text: &str) -> String {
        if let Some(pseudonym) = self.of.get(text) {
            return pseudonym.clone();
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let mut replaced = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            replaced += self.of.get(word).map_or(word, String::as_str);
            let next = after.find(is_part).unwrap_or(after.len());
            replaced += &after[..next];
            rest = &after[next..];
        }
        replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_go_wherever_they_stand_and_nothing_else_does() {
        let setup = json!({
            "resource_types": ["memory-mb"],
            "users": {"zoe": 1, "a.b": 2},
            "config": {
                "policy": {"share": "fair", "order": "fifo"},
                "queues": [
                    {"path": "root.ads.weekly", "weight": 2, "acl_submit": "zoe,bob staff"},
                    {"path": "root.fifo"},
                ],
            },
            "allocations": "<allocations><pool name=\"ads\"/></allocations>",
        });
        let request = json!({
            "op": "place", "user": "bob", "groups": ["staff"], "queue": "ads.weekly",
            "application": "word count", "user_number": 7,
        });
        let mut names = Names::default();
        names.collect(&setup);
        names.collect(&request);
        let pseudonyms = names.pseudonyms();
        assert_eq!(pseudonyms.kept, ["fifo"]);
        let replaced = pseudonyms.replace(&setup);
        let texts = [
            replaced.to_string(),
            pseudonyms.replace(&request).to_string(),
        ];
        for name in [
            "zoe", "a.b", "ads", "weekly", "bob", "staff", "word", "count",
        ] {
            assert!(
                texts.iter().all(|text| !text.contains(name)),
                "{name}: {texts:?}"
            );
        }
        assert_eq!(replaced["config"]["policy"], setup["config"]["policy"]);
        assert_eq!(replaced["resource_types"], setup["resource_types"]);
        assert_eq!(replaced["config"]["queues"][1]["path"], "root.fifo");
        assert_eq!(replaced["config"]["queues"][0]["weight"], 2);
        let path = |json: &Value| {
            json["config"]["queues"][0]["path"]
                .as_str()
                .map(str::to_owned)
        };
        let path = path(&replaced).expect("a path");
        let (ads, weekly) = path["root.".len()..].split_once('.').expect("two parts");
        assert!(ads < weekly, "pseudonyms sort as the names do");
        let again = pseudonyms.replace(&request);
        assert_eq!(again["op"], "place");
        assert_eq!(again["queue"], format!("{ads}.{weekly}"));
        assert_eq!(again["user_number"], 7);
    }
}
