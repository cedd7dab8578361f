//! One mapping of submissions to a queue, in stock's two notations (facts 8.2). Knows no queues.

use super::setting::Setting;
use crate::Fault;
use heddle_core::config::text::shown;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// A rule of `placement` that is made from a mapping.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    /// `user`, `group` or `application`.
    by: &'static str,
    /// The name to match; `*` as a user: all.
    matches: String,
    rule: &'static str,
    /// The path of the queue; none for a rule that refuses.
    pub(super) target: Option<String>,
    /// The new value of `%default`, for a rule that sets it.
    default: Option<String>,
    create: bool,
    fallback: &'static str,
}

impl Rule {
    /// As `heddle.json` has it.
    pub(super) fn json(&self) -> Json {
        let mut rule = Map::new();
        rule.insert("rule".to_owned(), json!(self.rule));
        rule.insert(self.by.to_owned(), json!(self.matches));
        if let Some(queue) = self.target.as_ref().or(self.default.as_ref()) {
            rule.insert("queue".to_owned(), json!(queue));
        }
        if self.rule == "mapping" {
            rule.insert("create".to_owned(), json!(self.create));
            rule.insert("fallback".to_owned(), json!(self.fallback));
        }
        Json::Object(rule)
    }
}

/// Reads `u:alice:root.a,g:staff:root.b`, or with two parts `application:root.a`.
pub(super) fn legacy(setting: Setting<'_>, parts: usize) -> Result<Vec<Rule>, Fault> {
    let (mut rules, mut seen) = (Vec::new(), BTreeSet::new());
    for entry in setting.words().filter(|entry| seen.insert(*entry)) {
        let words: Vec<&str> = entry
            .split(':')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect();
        let (by, name, target) = match words.as_slice() {
            ["u", name, target] if parts == 3 => ("user", *name, *target),
            ["g", name, target] if parts == 3 => ("group", *name, *target),
            [name, target] if parts == 2 => ("application", *name, *target),
            _ => {
                let notation = match parts {
                    3 => "u:USER:QUEUE or g:GROUP:QUEUE",
                    _ => "APPLICATION:QUEUE",
                };
                return Err(setting.fault(format!("expected {notation}, found {}", shown(entry))));
            }
        };
        let matches = match (by, name) {
            ("user", "%user") => "*",
            // No user has that name.
            ("user", "*") => continue,
            _ => name,
        };
        rules.push(Rule {
            by,
            matches: matches.to_owned(),
            rule: "mapping",
            target: Some(target.to_owned()),
            default: None,
            create: true,
            fallback: "place_default",
        });
    }
    Ok(rules)
}

/// Reads `{"rules": [...]}`. Returns the unknown keys, too.
pub(super) fn json(setting: Setting<'_>) -> Result<(Vec<Rule>, BTreeSet<String>), Fault> {
    let fault = |problem: String| setting.fault(problem);
    let text: Json = serde_json::from_str(setting.value)
        .map_err(|error| fault(format!("expected JSON with a list of rules: {error}")))?;
    let rules = text.get("rules").and_then(Json::as_array);
    let rules = rules.ok_or_else(|| fault("expected {\"rules\": [...]}".to_owned()))?;
    let mut ignored = BTreeSet::new();
    let read = rules.iter().enumerate().map(|(at, rule)| {
        let fields = Fields::new(rule, &mut ignored);
        let rule = fields.and_then(|fields| fields.rule());
        rule.map_err(|problem| fault(format!("rules[{at}]: {problem}")))
    });
    let read = read.collect::<Result<Vec<Rule>, Fault>>()?;
    Ok((read, ignored))
}

const KEYS: [&str; 8] = [
    "type",
    "matches",
    "policy",
    "parentQueue",
    "fallbackResult",
    "create",
    "value",
    "customPlacement",
];

/// The values of one rule in JSON.
struct Fields<'a> {
    object: &'a Map<String, Json>,
}

impl<'a> Fields<'a> {
    fn new(rule: &'a Json, ignored: &mut BTreeSet<String>) -> Result<Fields<'a>, String> {
        let object = rule.as_object().ok_or("expected an object")?;
        let unknown = object.keys().filter(|key| !KEYS.contains(&key.as_str()));
        ignored.extend(unknown.map(|key| shown(key)));
        Ok(Fields { object })
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        match self.object.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{key}: expected a text")),
        }
    }

    fn needed(&self, key: &str) -> Result<&'a str, String> {
        let text = self.text(key)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| format!("expected `{key}`"))
    }

    fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, String> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let word = words.iter().find(|(word, _)| *word == text);
        word.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            format!(
                "{key}: expected one of {}, found {}",
                known.join(", "),
                shown(text)
            )
        })
    }

    fn rule(&self) -> Result<Rule, String> {
        let kinds = ["user", "group", "application"].map(|kind| (kind, kind));
        let by = self.word("type", &kinds)?.ok_or("expected `type`")?;
        let matches = self.needed("matches")?;
        if (by, matches) == ("group", "*") {
            return Err("matches: expected the name of a group, found `*`".to_owned());
        }
        let fallbacks = [
            ("skip", "skip"),
            ("reject", "reject"),
            ("placeDefault", "place_default"),
        ];
        let fallback = self.word("fallbackResult", &fallbacks)?.unwrap_or("skip");
        let create = match self.object.get("create") {
            None | Some(Json::Null) => true,
            Some(Json::Bool(create)) => *create,
            Some(_) => return Err("create: expected true or false".to_owned()),
        };
        let mut rule = Rule {
            by,
            matches: matches.to_owned(),
            rule: "mapping",
            target: None,
            default: None,
            create,
            fallback,
        };
        self.policy(&mut rule)?;
        Ok(rule)
    }

    /// Sets what the policy of a rule decides.
    fn policy(&self, rule: &mut Rule) -> Result<(), String> {
        let policies = [
            "specified",
            "user",
            "primaryGroup",
            "primaryGroupUser",
            "secondaryGroup",
            "secondaryGroupUser",
            "applicationName",
            "custom",
            "defaultQueue",
            "setDefaultQueue",
            "reject",
        ];
        let policy = self.word("policy", &policies.map(|policy| (policy, policy)))?;
        let below = |end: &str| match self.text("parentQueue")? {
            Some(parent) => Ok::<_, String>(format!("{parent}.{end}")),
            None => Ok(end.to_owned()),
        };
        rule.target = Some(match policy.ok_or("expected `policy`")? {
            "specified" => "%specified".to_owned(),
            "user" => below("%user")?,
            "primaryGroup" => below("%primary_group")?,
            "primaryGroupUser" => below("%primary_group.%user")?,
            "secondaryGroup" => below("%secondary_group")?,
            "secondaryGroupUser" => below("%secondary_group.%user")?,
            "applicationName" => below("%application")?,
            "custom" => self.needed("customPlacement")?.to_owned(),
            "defaultQueue" => {
                rule.create = false;
                "%default".to_owned()
            }
            "setDefaultQueue" => {
                rule.rule = "set_default";
                rule.default = Some(self.needed("value")?.to_owned());
                rule.target = None;
                return Ok(());
            }
            _ => {
                rule.rule = "reject";
                rule.target = None;
                return Ok(());
            }
        });
        Ok(())
    }
}
