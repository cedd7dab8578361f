//! Section `deficit` of the configuration.

use super::ledger::Rules;
use super::weight::{Boost, Scale};
use crate::config::{Config, ConfigError, Section};
use crate::stage::entry::Key;
use crate::words::ids::UserId;
use std::collections::BTreeMap;

/// Settings of the original Fair Scheduler. Queues configure their own guarantees and weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Rules that weigh jobs against each other.
    pub rules: Rules,
    /// Maximum of a job's running tasks of one kind, where its queue sets none (FS-21).
    pub max_tasks_per_job: Option<u32>,
    /// Maximum of running jobs per user (FS-19).
    pub user_max_jobs: Option<u32>,
    /// Limits of single users that replace `user_max_jobs` (`<user>` of the allocations file,
    /// FS-8).
    pub user_limits: BTreeMap<UserId, u32>,
    /// Part of a job's maps that must be done before its reduces start, 0 to 1; at least one map.
    /// None leaves this to the job's ApplicationMaster, such as MapReduce's.
    pub slow_start: Option<f64>,
}

/// Boost of the proposal: "until they have run for, say, 10 minutes" (FS-20).
pub const BOOST: Boost = Boost {
    factor: 3.0,
    duration_ms: 600_000,
};

impl Settings {
    /// Returns the maximum of running jobs of a user.
    pub fn max_jobs_of(&self, user: UserId) -> Option<u32> {
        self.user_limits.get(&user).copied().or(self.user_max_jobs)
    }

    /// Tells whether any user is limited at all.
    pub fn limits_users(&self) -> bool {
        self.user_max_jobs.is_some() || !self.user_limits.is_empty()
    }
}

const COUNT_MAX: i64 = u32::MAX as i64;

/// Key in the configuration.
pub(super) const SECTION: &str = "deficit";

/// Keys of queues.
pub(super) const OF_QUEUES: &[&str] = &[
    "queues.min_maps",
    "queues.min_reduces",
    "queues.max_tasks_per_job",
    "queues.weight",
];

/// Settings of the section, as the request `policies` lists them.
pub(super) const KEYS: &[Key] = &[
    Key::new(
        "cap_demand",
        "true",
        "a job is owed no more than it can use; `false` as published in 2008",
    ),
    Key::new(
        "new_job_boost",
        "",
        "an object of `factor` (3) and `duration_ms` (600000): new jobs weigh more",
    ),
    Key::new(
        "size_weight",
        "false",
        "multiplies a job's weight by log2(1 + tasks)",
    ),
    Key::new(
        "hadoop1_priorities",
        "false",
        "priorities 5 to 1 are Hadoop 1's `VERY_HIGH` to `VERY_LOW` (weights 4 to 0.25), \
         and a job without one is `NORMAL` (3). Otherwise each step doubles a job's weight, \
         from 1 at 0, up to 10 steps either way",
    ),
    Key::new(
        "max_tasks_per_job",
        "",
        "tasks of one kind that a job runs at once",
    ),
    Key::new("user_max_jobs", "", "jobs that a user runs at once"),
    Key::new(
        "slow_start",
        "",
        "the part of its maps that a job must have done before its reduces start; \
         MapReduce's ApplicationMaster does that already",
    ),
];

/// Returns the settings in force. Limits of users in an allocations file take precedence.
pub fn settings(config: &Config) -> Settings {
    let own = config.own(SECTION, read);
    Settings {
        user_max_jobs: config.user_max_jobs.or(own.user_max_jobs),
        user_limits: config.user_limits.clone(),
        ..own
    }
}

/// Reads the section; every key is optional.
pub(super) fn read(section: &mut Section<'_>) -> Result<Settings, ConfigError> {
    let mut settings = Settings {
        rules: Rules {
            cap_demand: true,
            boost: None,
            size_weight: false,
            scale: Scale::Yarn,
        },
        max_tasks_per_job: None,
        user_max_jobs: None,
        user_limits: BTreeMap::new(),
        slow_start: None,
    };
    settings.rules.cap_demand = section.boolean("cap_demand")?.unwrap_or(true);
    settings.rules.size_weight = section.boolean("size_weight")?.unwrap_or(false);
    if section.boolean("hadoop1_priorities")? == Some(true) {
        settings.rules.scale = Scale::Hadoop1;
    }
    settings.rules.boost = read_boost(section)?;
    let mut count = |key: &'static str| {
        let count = section.whole(key, 1, COUNT_MAX)?;
        Ok(count.map(|count| count as u32))
    };
    settings.max_tasks_per_job = count("max_tasks_per_job")?;
    settings.user_max_jobs = count("user_max_jobs")?;
    settings.slow_start = section.number("slow_start", 0.0, 1.0)?;
    Ok(settings)
}

fn read_boost(section: &mut Section<'_>) -> Result<Option<Boost>, ConfigError> {
    let Some(mut boost) = section.section("new_job_boost")? else {
        return Ok(None);
    };
    let read = Boost {
        factor: boost.number("factor", 0.0, 1e6)?.unwrap_or(BOOST.factor),
        duration_ms: boost
            .whole("duration_ms", 0, COUNT_MAX)?
            .unwrap_or(BOOST.duration_ms),
    };
    boost.finish()?;
    Ok(Some(read))
}
