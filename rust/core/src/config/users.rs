//! Limits of what queues admit and of what users have: section `users`, and the keys of queues
//! about submissions and users.

use super::reader::number;
use super::{ConfigError, Section, WHOLE_MAX};
use crate::words::ids::UserId;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A queue admits submissions while its state and that of every queue above is `Running`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It takes jobs.
    #[default]
    Running,
    /// It takes none.
    Stopped,
    /// It takes none, and its jobs are about to end.
    Draining,
}

const STATES: [(&str, State); 3] = [
    ("running", State::Running),
    ("stopped", State::Stopped),
    ("draining", State::Draining),
];

impl State {
    /// The name in configurations and reports.
    pub fn name(self) -> &'static str {
        let known = STATES.iter().find(|(_, state)| *state == self);
        known.expect("every state is listed").0
    }
}

/// Which jobs a queue takes, how many, and what one user may have of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Admission {
    /// Whether it takes jobs, if that is written.
    pub state: Option<State>,
    /// How many jobs may be in it or below it, those included that wait.
    pub max_jobs: Option<u32>,
    /// This number times the guaranteed part of the cluster limits the jobs of a leaf that has no
    /// `max_jobs` and compares by guarantees.
    pub max_jobs_by_share: Option<u32>,
    /// How many levels of queues submissions may make below it under rules that read names of
    /// leaves.
    pub dynamic_depth: u32,
    /// Whether submissions reach the queues below it by a mapping alone, not by naming them.
    pub mapped_only: bool,
    /// With this many queues directly below it, submissions make no other, under those rules.
    pub max_children: Option<u32>,
    /// How many jobs of one user may run at once in it or below it.
    pub max_running_jobs_per_user: Option<u32>,
    /// Limits of what one user's jobs use in a leaf; none unless a key of theirs is set.
    #[serde(flatten)]
    pub user_limit: Option<UserLimit>,
    /// The priority of a job without one.
    pub default_priority: Option<i32>,
    /// The highest priority that a job may have; with 0 no other counts.
    pub max_priority: Option<i32>,
    /// How long a job may run, in seconds, if it asks for nothing.
    pub lifetime_s: Option<i64>,
    /// The longest that it may ask for.
    pub max_lifetime_s: Option<i64>,
}

/// A user's part of a leaf, as the stock Capacity Scheduler has it. Its numbers have 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UserLimit {
    /// The least part that a user is held to, in percent, however many users there are.
    #[serde(rename = "user_limit_percent")]
    pub percent: f32,
    /// The most that one user may use, as a multiple of the leaf's guarantee (`Terms::guaranteed`);
    /// none for up to its maximum.
    #[serde(rename = "user_limit_factor")]
    pub factor: Option<f32>,
}

/// `users` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Users {
    /// How many jobs a user without their own limit may run at once.
    pub max_running_jobs: Option<u32>,
    /// Users who have their own settings, by the host's number.
    #[serde(skip)]
    pub each: BTreeMap<UserId, OneUser>,
    #[serde(rename = "each")]
    named: BTreeMap<String, OneUser>,
    #[serde(skip)]
    names: BTreeMap<UserId, String>,
}

/// The settings of one user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneUser {
    /// How many jobs may run at once; none for the default of all users.
    pub max_running_jobs: Option<u32>,
    /// Weight against other users where they share a leaf.
    pub weight: f32,
}

impl Default for OneUser {
    fn default() -> OneUser {
        OneUser {
            max_running_jobs: None,
            weight: 1.0,
        }
    }
}

impl Users {
    /// How many jobs of the user may run at once.
    pub fn max_running_jobs(&self, user: UserId) -> Option<u32> {
        let own = self.each.get(&user).and_then(|one| one.max_running_jobs);
        own.or(self.max_running_jobs)
    }

    /// The weight of a user where users share a leaf.
    pub fn weight(&self, user: UserId) -> f32 {
        self.each.get(&user).map_or(1.0, |one| one.weight)
    }

    /// The name of a user that the configuration names.
    pub fn name(&self, user: UserId) -> Option<&str> {
        self.names.get(&user).map(String::as_str)
    }

    /// The host's numbers of the users that have one.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (UserId, &str)> {
        self.names
            .iter()
            .map(|(number, name)| (*number, name.as_str()))
    }

    /// Takes the host's numbers of the users. A user without one has no jobs.
    pub(crate) fn number(&mut self, numbers: &BTreeMap<String, UserId>) {
        let known = |(name, one): (&String, &OneUser)| Some((*numbers.get(name)?, *one));
        self.each = self.named.iter().filter_map(known).collect();
        let names = numbers.iter().map(|(name, number)| (*number, name.clone()));
        self.names = names.collect();
    }
}

/// `{"users": {"max_running_jobs": 10, "each": {"alice": {"max_running_jobs": 50}}}}`.
pub(super) fn read_users_section(root: &mut Section<'_>) -> Result<Users, ConfigError> {
    let mut users = Users::default();
    let Some(mut section) = root.section("users")? else {
        return Ok(users);
    };
    users.max_running_jobs = count(&mut section, "max_running_jobs")?;
    let path = section.key("each");
    if let Some(each) = section.value("each") {
        let each = each.as_object().ok_or_else(|| {
            ConfigError::new(&path, format!("expected an object of users, found {each}"))
        })?;
        for (name, value) in each {
            let one = Section::all(&format!("{path}.{name}"), value, |section| {
                let weight = section.number("weight", 0.0, 1e6)?;
                Ok(OneUser {
                    max_running_jobs: count(section, "max_running_jobs")?,
                    weight: weight.unwrap_or(1.0) as f32,
                })
            })?;
            users.named.insert(name.clone(), one);
        }
    }
    section.finish()?;
    Ok(users)
}

/// `user_weights` of a queue: `{"alice": 2}`.
pub(super) fn read_weights(
    section: &mut Section<'_>,
) -> Result<BTreeMap<String, f32>, ConfigError> {
    let path = section.key("user_weights");
    let Some(value) = section.value("user_weights") else {
        return Ok(BTreeMap::new());
    };
    let weights = value.as_object().ok_or_else(|| {
        ConfigError::new(&path, format!("expected an object of users, found {value}"))
    })?;
    let weight = |(name, weight): (&String, &Value)| {
        let number = number(weight, &format!("{path}.{name}"), 0.0, 1e6)?;
        Ok((name.clone(), number as f32))
    };
    weights.iter().map(weight).collect()
}

/// Reads the keys of a queue about submissions and users.
pub(super) fn read_admission(section: &mut Section<'_>) -> Result<Admission, ConfigError> {
    let percent = section.number("user_limit_percent", 0.0, 1e6)?;
    let factor = section.number("user_limit_factor", 0.0, 1e9)?;
    let limited = percent.is_some() || factor.is_some();
    Ok(Admission {
        state: section.choice("state", &STATES)?,
        max_jobs: count(section, "max_jobs")?,
        max_jobs_by_share: count(section, "max_jobs_by_share")?,
        dynamic_depth: count(section, "dynamic_depth")?.unwrap_or(0),
        mapped_only: section.boolean("mapped_only")?.unwrap_or(false),
        max_children: count(section, "max_children")?,
        max_running_jobs_per_user: count(section, "max_running_jobs_per_user")?,
        user_limit: limited.then_some(UserLimit {
            percent: percent.unwrap_or(100.0) as f32,
            factor: factor.map(|factor| factor as f32),
        }),
        default_priority: read_priority(section, "default_priority")?,
        max_priority: read_priority(section, "max_priority")?,
        lifetime_s: section.whole("lifetime_s", 1, WHOLE_MAX)?,
        max_lifetime_s: section.whole("max_lifetime_s", 1, WHOLE_MAX)?,
    })
}

/// A priority of jobs.
pub(super) fn read_priority(
    section: &mut Section<'_>,
    key: &'static str,
) -> Result<Option<i32>, ConfigError> {
    let priority = section.whole(key, i64::from(i32::MIN), i64::from(i32::MAX))?;
    Ok(priority.map(|priority| priority as i32))
}

fn count(section: &mut Section<'_>, key: &'static str) -> Result<Option<u32>, ConfigError> {
    let count = section.whole(key, 0, i64::from(u32::MAX))?;
    Ok(count.map(|count| count as u32))
}
