//! Which priorities the jobs of a queue may have: by user, and by workflow. The engine only reports
//! them; hosts ask with each submission.

use super::reader::number;
use super::users::read_priority;
use super::{ConfigError, Section};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The priorities of a queue's jobs beside its default and its maximum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Priorities {
    /// The highest priority of each group of users. Empty: no limit by user.
    #[serde(rename = "max_priorities")]
    pub of_users: Vec<UserPriority>,
    /// The priority of the jobs of each workflow, in this queue and below it.
    #[serde(rename = "workflow_priorities")]
    pub of_workflows: BTreeMap<String, i32>,
}

/// The priorities of some users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserPriority {
    /// Users, a blank and groups, in Hadoop's notation.
    pub who: String,
    /// The highest that they may have.
    pub max: i32,
    /// That of a job without one; none: the default of the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<i32>,
}

impl Priorities {
    /// `"max_priorities": [{"who": "alice,bob ops", "max": 9, "default": 1}]` and
    /// `"workflow_priorities": {"nightly": 5}`.
    pub(super) fn read(section: &mut Section<'_>) -> Result<Priorities, ConfigError> {
        let mut of_users = Vec::new();
        for (path, value) in section.list("max_priorities")? {
            let mut section = Section::new(&path, value)?;
            let missing = |key: &str| {
                let problem = format!("expected `{key}` of {{\"who\": \"alice ops\", \"max\": 9}}");
                ConfigError::new(path.clone(), problem)
            };
            of_users.push(UserPriority {
                who: section
                    .text("who")?
                    .ok_or_else(|| missing("who"))?
                    .to_owned(),
                max: read_priority(&mut section, "max")?.ok_or_else(|| missing("max"))?,
                default: read_priority(&mut section, "default")?,
            });
            section.finish()?;
        }
        Ok(Priorities {
            of_users,
            of_workflows: read_workflows(section)?,
        })
    }
}

fn read_workflows(section: &mut Section<'_>) -> Result<BTreeMap<String, i32>, ConfigError> {
    let path = section.key("workflow_priorities");
    let Some(value) = section.value("workflow_priorities") else {
        return Ok(BTreeMap::new());
    };
    let workflows = value.as_object().ok_or_else(|| {
        ConfigError::new(
            &path,
            format!("expected an object of workflows, found {value}"),
        )
    })?;
    let priority = |(name, value): (&String, &Value)| {
        let most = f64::from(i32::MAX);
        let number = number(value, &format!("{path}.{name}"), -most, most)?;
        Ok((name.to_lowercase(), number as i32))
    };
    workflows.iter().map(priority).collect()
}
