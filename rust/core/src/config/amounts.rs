//! Amounts of resources as a queue's limits state them: whole numbers, parts of the cluster, or
//! parts of what the queue above has. `model::queue` turns them into whole numbers as nodes come
//! and go.

use super::{ConfigError, Section, WHOLE_MAX, unknown};
use crate::words::resource::{RESOURCE_TYPES_MAX, Resource};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// Larger percentages are typing errors.
const PERCENT_MAX: f64 = 1_000_000.0;

/// How a text says that it means a part of the queue above.
const OF_PARENT: &str = "of parent";

/// One limit of one resource type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A whole number; `i64::MAX` for everything.
    Whole(i64),
    /// A part of what the cluster has. YARN's Fair Scheduler computes with doubles.
    OfCluster(f64),
    /// A part of the same limit of the queue above. The Capacity Scheduler computes with floats.
    OfParent(f32),
}

/// A limit of every resource type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amounts(pub [Amount; RESOURCE_TYPES_MAX]);

impl Amounts {
    /// Nothing of anything.
    pub const ZERO: Amounts = Amounts([Amount::Whole(0); RESOURCE_TYPES_MAX]);
    /// No limit.
    pub const UNBOUNDED: Amounts = Amounts([Amount::Whole(i64::MAX); RESOURCE_TYPES_MAX]);

    /// Whether nothing in it depends on the cluster or on another queue.
    pub fn is_whole(&self) -> bool {
        let whole = |amount: &Amount| matches!(amount, Amount::Whole(_));
        self.0.iter().all(whole)
    }

    /// Reads `{"memory-mb": 4096, "vcores": "50%"}`, or `"50%"` for every resource type. Types that
    /// are not named are as in `absent`.
    pub(super) fn read(
        path: &str,
        value: &Value,
        resource_types: &[String],
        absent: Amounts,
    ) -> Result<Amounts, ConfigError> {
        if value.is_string() {
            return Ok(Amounts([read_amount(path, value)?; RESOURCE_TYPES_MAX]));
        }
        let Some(object) = value.as_object() else {
            let problem =
                format!("expected an object such as {{\"vcores\": 4}}, or \"50%\", found {value}");
            return Err(ConfigError::new(path, problem));
        };
        let mut amounts = absent;
        for (name, amount) in object {
            let key = format!("{path}.{name}");
            let Some(index) = resource_types.iter().position(|known| known == name) else {
                let known: Vec<&str> = resource_types.iter().map(String::as_str).collect();
                return Err(ConfigError::new(key, unknown(name, &known)));
            };
            amounts.0[index] = read_amount(&key, amount)?;
        }
        Ok(amounts)
    }
}

/// The key of a serialized vector, for readers who know the names of its types.
pub(crate) const TYPES: &str = "types";

/// As the text or number that the configuration has for it.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Amount::Whole(i64::MAX) => serializer.serialize_none(),
            Amount::Whole(whole) => serializer.serialize_i64(*whole),
            Amount::OfCluster(part) => serializer.collect_str(&format_args!("{}%", part * 100.0)),
            Amount::OfParent(part) => {
                serializer.collect_str(&format_args!("{}% {OF_PARENT}", part * 100.0))
            }
        }
    }
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(TYPES, &self.0)?;
        map.end()
    }
}

/// Serializes a vector like a limit.
pub(super) fn of_resource<S: Serializer>(
    resource: &Option<Resource>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    resource.map(Amounts::from).serialize(serializer)
}

impl From<Resource> for Amounts {
    fn from(resource: Resource) -> Amounts {
        Amounts(resource.0.map(Amount::Whole))
    }
}

fn read_amount(key: &str, value: &Value) -> Result<Amount, ConfigError> {
    let whole = value.as_i64().filter(|n| (0..=WHOLE_MAX).contains(n));
    let amount = match value.as_str() {
        Some(text) => part(text),
        None => whole.map(Amount::Whole),
    };
    amount.ok_or_else(|| {
        let problem = format!(
            "expected a whole number, 0 or more, or a part such as \"50%\" or \"50% {OF_PARENT}\", \
             found {value}"
        );
        ConfigError::new(key, problem)
    })
}

/// Reads `12.5%` or `12.5% of parent`.
fn part(text: &str) -> Option<Amount> {
    let (number, of) = text.split_once('%')?;
    let number = number.trim();
    let plain = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    if !number.bytes().all(plain) {
        return None;
    }
    let percent: f64 = number.parse().ok()?;
    match of.trim() {
        _ if percent > PERCENT_MAX => None,
        "" => Some(Amount::OfCluster(percent / 100.0)),
        OF_PARENT => Some(Amount::OfParent(number.parse::<f32>().ok()? / 100.0)),
        _ => None,
    }
}

/// Reads a key of a section, if it is there.
pub(super) fn read_amounts(
    section: &mut Section<'_>,
    key: &'static str,
    resource_types: &[String],
    absent: Amounts,
) -> Result<Option<Amounts>, ConfigError> {
    let at = section.key(key);
    let value = section.value(key);
    value
        .map(|value| Amounts::read(&at, value, resource_types, absent))
        .transpose()
}

/// Reads `max_am_share`: a part, or -1 for no limit.
pub(super) fn read_am_share(section: &mut Section<'_>) -> Result<Option<f64>, ConfigError> {
    let share = section.number("max_am_share", -1.0, 1.0)?;
    match share {
        Some(share) if share < 0.0 && share != -1.0 => Err(ConfigError::new(
            section.key("max_am_share"),
            format!("expected a number from 0 to 1, or -1 for no limit, found {share}"),
        )),
        _ => Ok(share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Amounts, ConfigError> {
        let types = ["memory-mb".to_string(), "vcores".to_string()];
        Amounts::read("max_share", &value, &types, Amounts::UNBOUNDED)
    }

    #[test]
    fn whole_numbers_and_parts_may_stand_side_by_side() {
        let amounts = read(json!({"memory-mb": "12.5 % of parent", "vcores": 4})).expect("good");
        assert_eq!(amounts.0[0], Amount::OfParent(0.125));
        assert_eq!(amounts.0[1], Amount::Whole(4));
        assert_eq!(amounts.0[2], Amount::Whole(i64::MAX), "not named");
        assert!(!amounts.is_whole());
        let every = read(json!("150%")).expect("a bare part is one of every type");
        assert_eq!(every.0, [Amount::OfCluster(1.5); RESOURCE_TYPES_MAX]);
    }

    #[test]
    fn other_texts_are_refused_where_they_stand() {
        for text in [
            "",
            "%",
            "50",
            "-1%",
            "1e2%",
            "+5%",
            "50%%",
            "50% of",
            "50% of root",
            "NaN%",
            "inf%",
            "1.2.3%",
            "99999999%",
            "50 mb",
        ] {
            let error = read(json!({ "vcores": text })).expect_err(text);
            assert_eq!(error.key, "max_share.vcores", "{text}");
            assert!(error.problem.contains("50% of parent"), "{error}");
        }
        for number in [
            json!(-1),
            json!(1.5),
            json!(1_000_000_000_001i64),
            json!([]),
        ] {
            read(json!({ "vcores": number })).expect_err("not a whole amount");
        }
        assert_eq!(read(json!(4)).expect_err("a number").key, "max_share");
        assert!(
            read(json!({"vcore": 4}))
                .expect_err("vcore")
                .problem
                .contains("`vcores`")
        );
    }
}
