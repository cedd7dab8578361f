//! Node labels of queues: which a queue may use, and what it has of the nodes of each. Labels are
//! texts here; the host numbers them.

use super::amounts::{Amounts, read_am_share, read_amounts};
use super::{ConfigError, Section};
use crate::words::ids::PartitionId;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// All labels, in `accessible_labels`.
const ANY: &str = "*";

/// Guarantee and limits of a queue on the nodes of one label. Parts are of these nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelShare {
    /// Its weight against its siblings; none: that of the queue.
    pub weight: Option<f64>,
    /// The resources that it gets before others get more.
    pub min_share: Option<Amounts>,
    /// The limit of its usage.
    pub max_share: Amounts,
    /// The part of its share that ApplicationMasters may take; none: as in the queue.
    pub max_am_share: Option<f64>,
}

/// The settings of a queue for node labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Labels {
    /// Its share of the nodes of single labels.
    #[serde(rename = "labels")]
    pub each: BTreeMap<String, LabelShare>,
    /// The labels that its jobs may ask for. None: as the queue above says; root has all.
    #[serde(rename = "accessible_labels")]
    pub accessible: Option<Accessible>,
    /// The label of asks that name none. If unset, see `Queues::default_label`.
    #[serde(rename = "default_label")]
    pub default: Option<String>,
}

impl Labels {
    /// Whether the queue says anything of labels.
    pub fn is_set(&self) -> bool {
        *self != Labels::default()
    }
}

/// Labels that a queue may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Accessible {
    /// Every label.
    #[serde(serialize_with = "all_labels")]
    All,
    /// These.
    Only(BTreeSet<String>),
}

fn all_labels<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(ANY)
}

impl Accessible {
    /// Whether the label is one of them.
    pub fn has(&self, label: &str) -> bool {
        match self {
            Accessible::All => true,
            Accessible::Only(labels) => labels.contains(label),
        }
    }

    /// Whether every label of `other` is one of them.
    pub fn covers(&self, other: &Accessible) -> bool {
        match (self, other) {
            (Accessible::All, _) => true,
            (_, Accessible::All) => false,
            (Accessible::Only(own), Accessible::Only(others)) => own.is_superset(others),
        }
    }

    /// The labels as in YARN's reports of queues.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Accessible::All => vec![ANY],
            Accessible::Only(labels) => labels.iter().map(String::as_str).collect(),
        }
    }
}

/// Reads the keys of a queue about labels.
pub(super) fn read(
    section: &mut Section<'_>,
    resource_types: &[String],
) -> Result<Labels, ConfigError> {
    let mut labels = Labels {
        each: BTreeMap::new(),
        accessible: read_accessible(section)?,
        default: section.text("default_label")?.map(str::to_string),
    };
    if let (Some(default), Some(accessible)) = (&labels.default, &labels.accessible)
        && !accessible.has(default)
    {
        let problem =
            format!("`{default}` is not among the queue's `accessible_labels`; add it there");
        return Err(ConfigError::new(section.key("default_label"), problem));
    }
    let path = section.key("labels");
    let Some(value) = section.value("labels") else {
        return Ok(labels);
    };
    let each = value.as_object().ok_or_else(|| {
        ConfigError::new(
            &path,
            format!("expected an object of labels, found {value}"),
        )
    })?;
    for (label, value) in each {
        let path = format!("{path}.{label}");
        if label.is_empty() {
            return Err(ConfigError::new(path, "expected the name of a label"));
        }
        let share = Section::all(&path, value, |section| read_share(section, resource_types))?;
        labels.each.insert(label.clone(), share);
    }
    Ok(labels)
}

fn read_share(
    section: &mut Section<'_>,
    resource_types: &[String],
) -> Result<LabelShare, ConfigError> {
    let mut amounts =
        |key: &'static str, absent| read_amounts(section, key, resource_types, absent);
    let min_share = amounts("min_share", Amounts::ZERO)?;
    let max_share = amounts("max_share", Amounts::UNBOUNDED)?;
    Ok(LabelShare {
        weight: section.number("weight", 0.0, 1e9)?,
        min_share,
        max_share: max_share.unwrap_or(Amounts::UNBOUNDED),
        max_am_share: read_am_share(section)?,
    })
}

fn read_accessible(section: &mut Section<'_>) -> Result<Option<Accessible>, ConfigError> {
    let path = section.key("accessible_labels");
    let Some(value) = section.value("accessible_labels") else {
        return Ok(None);
    };
    let names = match value {
        Value::String(all) if all == ANY => return Ok(Some(Accessible::All)),
        Value::Array(names) => names.iter().map(|name| name.as_str().map(str::to_string)),
        _ => return Err(not_labels(path, value)),
    };
    let names: Option<BTreeSet<String>> = names.collect();
    let names = names.ok_or_else(|| not_labels(path, value))?;
    Ok(Some(match names.contains(ANY) {
        true => Accessible::All,
        false => Accessible::Only(names),
    }))
}

fn not_labels(path: String, found: &Value) -> ConfigError {
    let problem = format!("expected a list of labels, or \"{ANY}\" for all, found {found}");
    ConfigError::new(path, problem)
}

/// The host's numbers of the labels that queues name.
pub(crate) fn read_numbers(
    section: &mut Section<'_>,
) -> Result<BTreeMap<PartitionId, String>, ConfigError> {
    let path = section.key("labels");
    let numbers = section.value("labels").and_then(Value::as_object);
    let numbered = |(name, number): (&String, &Value)| {
        let number = number
            .as_u64()
            .and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or_else(|| {
            ConfigError::new(format!("{path}.{name}"), "expected the number of a label")
        })?;
        Ok((PartitionId(number), name.clone()))
    };
    numbers.into_iter().flatten().map(numbered).collect()
}
