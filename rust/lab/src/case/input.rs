//! A value of a case with its JSON path, read key by key. Every reader says where the input is
//! wrong and what was expected. Knows nothing of what the keys mean.

use super::CaseError;
use serde_json::{Map, Value};

/// One value of the input and its place.
#[derive(Clone, Debug)]
pub(super) struct Input<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> Input<'a> {
    /// Wraps the value at `path`.
    pub(super) fn new(path: &str, value: &'a Value) -> Input<'a> {
        Input {
            path: path.to_string(),
            value,
        }
    }

    /// Returns the JSON path, such as `$.users[0]`.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the JSON value itself.
    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    /// Creates an error at this value.
    pub(super) fn error(&self, expected: &str) -> CaseError {
        let text = self.value.to_string();
        let found: String = text.chars().take(60).collect();
        let problem = format!("expected {expected}, found {found}");
        CaseError::new(self.path.clone(), problem)
    }

    fn object(&self) -> Result<&'a Map<String, Value>, CaseError> {
        self.value
            .as_object()
            .ok_or_else(|| self.error("an object"))
    }

    fn below(&self, key: &str, value: &'a Value) -> Input<'a> {
        Input {
            path: format!("{}.{key}", self.path),
            value,
        }
    }

    /// Returns the value of `key`, if present; a JSON null counts as absent.
    pub(super) fn get(&self, key: &str) -> Result<Option<Input<'a>>, CaseError> {
        let value = self.object()?.get(key).filter(|value| !value.is_null());
        Ok(value.map(|value| self.below(key, value)))
    }

    /// Returns the value of `key`, which is required.
    pub(super) fn need(&self, key: &str) -> Result<Input<'a>, CaseError> {
        let missing = || {
            CaseError::new(
                format!("{}.{key}", self.path),
                "expected a value, found none",
            )
        };
        self.get(key)?.ok_or_else(missing)
    }

    /// Parses the value of `key` if it is present.
    pub(super) fn maybe<T>(
        &self,
        key: &str,
        read: impl Fn(&Input<'a>) -> Result<T, CaseError>,
    ) -> Result<Option<T>, CaseError> {
        self.get(key)?.as_ref().map(read).transpose()
    }

    /// Returns the elements of a list.
    pub(super) fn list(&self) -> Result<Vec<Input<'a>>, CaseError> {
        let items = self.value.as_array().ok_or_else(|| self.error("a list"))?;
        let item = |(i, value)| Input {
            path: format!("{}[{i}]", self.path),
            value,
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// Parses each element of the list at `key`; empty if there is no list.
    pub(super) fn each<T>(
        &self,
        key: &str,
        read: impl Fn(&Input<'a>) -> Result<T, CaseError>,
    ) -> Result<Vec<T>, CaseError> {
        match self.get(key)? {
            Some(list) => list.list()?.iter().map(read).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the members of an object, in order of their names.
    pub(super) fn members(&self) -> Result<Vec<(&'a str, Input<'a>)>, CaseError> {
        let member = |(key, value): (&'a String, &'a Value)| (key.as_str(), self.below(key, value));
        let mut members: Vec<_> = self.object()?.iter().map(member).collect();
        members.sort_by_key(|(key, _)| *key);
        Ok(members)
    }

    pub(super) fn number(&self) -> Result<f64, CaseError> {
        self.value.as_f64().ok_or_else(|| self.error("a number"))
    }

    /// Parses a number of at least 0.
    pub(super) fn amount(&self) -> Result<f64, CaseError> {
        let number = self.number()?;
        if number >= 0.0 {
            Ok(number)
        } else {
            Err(self.error("a number of at least 0"))
        }
    }

    /// Parses a whole number of at least 0, such as `5` or `5.0`.
    pub(super) fn whole(&self) -> Result<u32, CaseError> {
        let number = self.number()?;
        if number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0 {
            Ok(number as u32)
        } else {
            Err(self.error("a whole number of at least 0"))
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, CaseError> {
        self.value.as_str().ok_or_else(|| self.error("a text"))
    }

    /// Parses a name: a text, or a number, of which the digits are the name.
    pub(super) fn name(&self) -> Result<String, CaseError> {
        match self.value {
            Value::String(name) => Ok(name.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(self.error("a name")),
        }
    }

    /// Parses `true` or `false`.
    pub(super) fn flag(&self) -> Result<bool, CaseError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.error("true or false"))
    }
}
