//! Reads one JSON object key by key. Errors name the key, say what was expected and suggest the key
//! that was probably meant. Knows nothing of what the keys mean.

use serde_json::{Map, Value};
use std::fmt;

/// A configuration that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Where: the path of keys, such as `queues[1].weight`; empty for the whole document.
    pub key: String,
    /// What was expected there, what was found, and what to do.
    pub problem: String,
}

impl ConfigError {
    /// An error at `key`.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> ConfigError {
        ConfigError {
            key: key.into(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            write!(f, "{}", self.problem)
        } else {
            write!(f, "key `{}`: {}", self.key, self.problem)
        }
    }
}

impl std::error::Error for ConfigError {}

/// One JSON object being read. `finish` refuses the keys that no call asked for.
pub struct Section<'a> {
    path: String,
    object: &'a Map<String, Value>,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// Starts reading `value`, which must be an object, at `path`.
    pub fn new(path: &str, value: &'a Value) -> Result<Section<'a>, ConfigError> {
        match value.as_object() {
            Some(object) => Ok(Section {
                path: path.to_string(),
                object,
                known: Vec::new(),
            }),
            None => Err(ConfigError::new(
                path,
                format!("expected an object, found {value}"),
            )),
        }
    }

    /// Reads `value` at `path` with `read`, which leaves no key unread.
    pub fn all<T>(
        path: &str,
        value: &'a Value,
        read: impl FnOnce(&mut Section<'a>) -> Result<T, ConfigError>,
    ) -> Result<T, ConfigError> {
        let mut section = Section::new(path, value)?;
        let read = read(&mut section)?;
        section.finish()?;
        Ok(read)
    }

    /// The full path of `key`.
    pub fn key(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_string()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// The raw value of `key`; a JSON null counts as absent.
    pub fn value(&mut self, key: &'static str) -> Option<&'a Value> {
        self.known.push(key);
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// A sub-section, if present.
    pub fn section(&mut self, key: &'static str) -> Result<Option<Section<'a>>, ConfigError> {
        let path = self.key(key);
        self.value(key)
            .map(|value| Section::new(&path, value))
            .transpose()
    }

    /// A list, if present, each element with its path.
    pub fn list(&mut self, key: &'static str) -> Result<Vec<(String, &'a Value)>, ConfigError> {
        let path = self.key(key);
        match self.value(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items
                .iter()
                .enumerate()
                .map(|(i, item)| (format!("{path}[{i}]"), item))
                .collect()),
            Some(other) => Err(ConfigError::new(
                path,
                format!("expected a list, found {other}"),
            )),
        }
    }

    /// A string, if present.
    pub fn text(&mut self, key: &'static str) -> Result<Option<&'a str>, ConfigError> {
        let path = self.key(key);
        self.typed(key, |value| {
            value.as_str().ok_or_else(|| {
                ConfigError::new(path.clone(), format!("expected a text, found {value}"))
            })
        })
    }

    /// The value beside one of the names in `choices`, if present.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, ConfigError> {
        let Some(name) = self.text(key)? else {
            return Ok(None);
        };
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        match choices.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(Some(*value)),
            None => Err(ConfigError::new(self.key(key), unknown(name, &names))),
        }
    }

    /// `true` or `false`, if present.
    pub fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, ConfigError> {
        let path = self.key(key);
        self.typed(key, |value| {
            value.as_bool().ok_or_else(|| {
                ConfigError::new(
                    path.clone(),
                    format!("expected true or false, found {value}"),
                )
            })
        })
    }

    /// A whole number from `least` to `most`, if present.
    pub fn whole(
        &mut self,
        key: &'static str,
        least: i64,
        most: i64,
    ) -> Result<Option<i64>, ConfigError> {
        let path = self.key(key);
        self.typed(key, |value| {
            value
                .as_i64()
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| {
                    ConfigError::new(
                        path.clone(),
                        format!("expected a whole number from {least} to {most}, found {value}"),
                    )
                })
        })
    }

    /// A number from `least` to `most`, if present.
    pub fn number(
        &mut self,
        key: &'static str,
        least: f64,
        most: f64,
    ) -> Result<Option<f64>, ConfigError> {
        let path = self.key(key);
        self.typed(key, |value| number(value, &path, least, most))
    }

    fn typed<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&'a Value) -> Result<T, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        self.value(key).map(read).transpose()
    }

    /// The keys that were asked for.
    #[cfg(test)]
    pub(crate) fn asked(&self) -> &[&'static str] {
        &self.known
    }

    /// Refuses the keys that no call asked for.
    pub fn finish(self) -> Result<(), ConfigError> {
        for key in self.object.keys() {
            if !self.known.contains(&key.as_str()) {
                return Err(ConfigError::new(self.key(key), unknown(key, &self.known)));
            }
        }
        Ok(())
    }
}

/// Describes a name that is none of `known`, and suggests the nearest of them if one is near.
pub fn unknown(name: &str, known: &[&str]) -> String {
    let list = known.join(", ");
    match nearest(name, known) {
        Some(nearest) => {
            format!("`{name}` is not known; did you mean `{nearest}`? (known: {list})")
        }
        None => format!("`{name}` is not known; expected one of: {list}"),
    }
}

/// The one of `known` that was probably meant by `name`.
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let distance = |candidate: &&&'k str| edit_distance(name, candidate);
    let nearest = known.iter().min_by_key(distance)?;
    (edit_distance(name, nearest) <= 1 + name.len() / 4).then_some(*nearest)
}

/// Reads a number at `path`.
pub(super) fn number(value: &Value, path: &str, least: f64, most: f64) -> Result<f64, ConfigError> {
    let number = value
        .as_f64()
        .filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        let problem = format!("expected a number from {least} to {most}, found {value}");
        ConfigError::new(path, problem)
    })
}

/// Levenshtein's distance. Written here to keep the core's dependencies to a handful of crates.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unknown_key_is_refused_with_the_one_that_was_meant() {
        let value = json!({"wieght": 1});
        let mut section = Section::new("queues[0]", &value).expect("an object");
        assert_eq!(section.number("weight", 0.0, 1e9), Ok(None));
        let error = section.finish().expect_err("wieght is not weight");
        assert_eq!(error.key, "queues[0].wieght");
        assert!(error.problem.contains("did you mean `weight`"), "{error}");
    }

    #[test]
    fn a_wrong_type_says_what_was_expected_and_what_was_found() {
        let value = json!({"n": "many"});
        let mut section = Section::new("", &value).expect("an object");
        let error = section.whole("n", 1, 9).expect_err("a text is no number");
        assert_eq!(error.key, "n");
        assert!(error.problem.contains("from 1 to 9") && error.problem.contains("\"many\""));
    }

    #[test]
    fn the_distance_counts_insertions_deletions_and_replacements() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
    }
}
