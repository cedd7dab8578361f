//! Finds the names of users, groups, applications, queues and labels in a journal's JSON, and
//! replaces them by pseudonyms.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Queues that every configuration has. They tell nothing.
const COMMON: &[&str] = &["root", "default"];
/// Values that are names. `by` is the user of a change to an account.
const NAMED: &[&str] = &["user", "group", "application", "default_label", "by"];
/// Lists of names.
const LISTS: &[&str] = &["groups", "accessible_labels"];
/// Values that are names of queues, or paths of them.
const PATHS: &[&str] = &["queue", "path", "parent", "pool", "name"];
/// Objects whose keys are names.
const MAPS: &[&str] = &["users", "labels", "user_weights"];
/// Keys whose values are words of Heddle.
const WORDS: &[&str] = &[
    "op",
    "policy",
    "share",
    "order",
    "place",
    "log_level",
    "rule",
    "names",
    "fallback",
    "state",
    "compare",
];
/// Parts of a configuration that no engine reads. Paths, hosts and databases are in them, and names
/// that stand nowhere else.
const UNREAD: &[&str] = &["api", "store", "allocations_file"];
/// The text that placement rules put for a dot in the name of a user or group.
const DOT: &str = "_dot_";

/// Names that were met, and words that must stay because Heddle uses them as well.
#[derive(Default)]
pub(super) struct Names {
    names: BTreeSet<String>,
    words: BTreeSet<String>,
}

/// The pseudonym of each name.
pub(super) struct Pseudonyms {
    of: BTreeMap<String, String>,
    /// Names that are not replaced: Heddle's own words.
    pub(super) kept: Vec<String>,
}

impl Names {
    /// Collects the names of a setup or a request.
    pub(super) fn collect(&mut self, json: &Value) {
        match json {
            Value::Object(fields) => self.collect_fields("", fields),
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            _ => {}
        }
    }

    /// Collects what stands at the key `of`: the same key means something else elsewhere.
    fn collect_in(&mut self, of: &str, json: &Value) {
        match json {
            Value::Object(fields) => self.collect_fields(of, fields),
            Value::Array(items) => items.iter().for_each(|item| self.collect_in(of, item)),
            _ => {}
        }
    }

    fn collect_fields(&mut self, of: &str, fields: &Map<String, Value>) {
        for (key, value) in fields {
            self.words.insert(key.clone());
            match value {
                Value::String(text) if WORDS.contains(&key.as_str()) => {
                    self.words.insert(text.clone());
                }
                Value::String(text) if key == "application" && is_id(text) => {}
                Value::String(text) if NAMED.contains(&key.as_str()) => self.add(text),
                Value::String(text) if PATHS.contains(&key.as_str()) => self.add_path(text),
                Value::String(text) if key.starts_with("acl") => {
                    text.split([',', ' ']).for_each(|name| self.add(name));
                }
                Value::String(text) if key == "allocations" || key == "text" => {
                    self.add_quoted(text);
                }
                Value::Array(items) if LISTS.contains(&key.as_str()) => {
                    texts(items).for_each(|name| self.add(name));
                }
                Value::Array(items) if (of, key.as_str()) == ("saved", "opened") => {
                    texts(items).for_each(|path| self.add_path(path));
                }
                Value::Object(map) if has_names(of, key) => {
                    for (name, value) in map {
                        self.add(name);
                        self.collect_in(key, value);
                    }
                }
                Value::Object(map) if has_paths(of, key) => {
                    for (path, value) in map {
                        self.add_path(path);
                        self.collect_in(key, value);
                    }
                }
                Value::Object(_) if WORDS.contains(&key.as_str()) => self.collect_words(value),
                value => self.collect_in(key, value),
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

fn texts(items: &[Value]) -> impl Iterator<Item = &str> {
    items.iter().filter_map(Value::as_str)
}

/// Whether keys of this object are names. `users` of a setup has a number for each, `users` of a
/// configuration has keys of its own, and the names in `each`.
fn has_names(of: &str, key: &str) -> bool {
    match (of, key) {
        ("config", "users") => false,
        ("users", "each") => true,
        _ => MAPS.contains(&key),
    }
}

/// Whether keys of this object are paths of queues: accounts that an engine is given
/// (`restoreAccounts`).
fn has_paths(of: &str, key: &str) -> bool {
    matches!(
        (of, key),
        ("accounts", "accounts") | ("saved", "slot_ms" | "owed")
    )
}

/// Whether a text is the id of an application, TIME_NUMBER. The engine reads its numbers.
fn is_id(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = text.split_once('_');
    parts.is_some_and(|(time, number)| is_number(time) && is_number(number))
}

impl Pseudonyms {
    /// How many names are replaced.
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }

    /// Replaces the names in a setup or a request. Drops `UNREAD`, and the free text `why`.
    pub(super) fn replace(&self, json: &Value) -> Value {
        let mut json = json.clone();
        if let Some(config) = json.get_mut("config").and_then(Value::as_object_mut) {
            config.retain(|key, _| !UNREAD.contains(&key.as_str()));
        }
        // A person's free text about a change of an account.
        if let Some(request) = json.as_object_mut() {
            request.remove("why");
        }
        self.replaced(&json)
    }

    fn replaced(&self, json: &Value) -> Value {
        match json {
            Value::Object(fields) => {
                let field = |(key, value): (&String, &Value)| {
                    let is_word = WORDS.contains(&key.as_str()) && !value.is_array();
                    let value = if is_word {
                        value.clone()
                    } else {
                        self.replaced(value)
                    };
                    (self.replace_in(key), value)
                };
                Value::Object(fields.iter().map(field).collect())
            }
            Value::Array(items) => items.iter().map(|item| self.replaced(item)).collect(),
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

    /// Names are where they are, whatever word of Heddle stands at the same place elsewhere.
    #[test]
    fn keys_and_words_of_a_configuration_are_no_names() {
        let setup = json!({
            "users": {"each": 1, "reject": 2, "zoe": 3},
            "config": {
                "users": {"max_running_jobs": 3, "each": {"zoe": {"max_running_jobs": 1}}},
                "placement": [{"rule": "reject", "group": "zoes"}],
            },
        });
        let id = json!({"op": "authorize", "application": "1700000000000_0001"});
        let mut names = Names::default();
        names.collect(&setup);
        names.collect(&id);
        let pseudonyms = names.pseudonyms();
        assert_eq!(pseudonyms.kept, ["each", "reject"]);
        let replaced = pseudonyms.replace(&setup);
        let users = &replaced["config"]["users"];
        assert_eq!(users["max_running_jobs"], 3);
        assert_eq!(users["each"]["n000000"]["max_running_jobs"], 1);
        assert_eq!(replaced["config"]["placement"][0]["group"], "n000001");
        assert_eq!(pseudonyms.replace(&id), id);
    }

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
