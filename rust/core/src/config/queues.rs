//! The configuration of queues: weights, limits, access. Reads one entry of `queues` at a time.

use super::{ConfigError, Section, WHOLE_MAX, read_resource};
use crate::words::credits::Credits;
use crate::words::ids::Millis;
use crate::words::resource::Resource;

/// Limits and weight of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Full path, `root.` included.
    pub path: String,
    /// Share of the parent's entitlement against its siblings. With 0 it gets its minimum, and more
    /// only when no other queue wants it (FS-22).
    pub weight: f64,
    /// The resources that the queue gets before others get more, if it has use for them.
    pub min_share: Resource,
    /// The limit of the queue's usage.
    pub max_share: Resource,
    /// How many map slots are guaranteed to its jobs, for orders that give guarantees.
    pub min_maps: u32,
    /// How many reduce slots are guaranteed to its jobs. Where the kinds share slots, both
    /// guarantees together hold for all.
    pub min_reduces: u32,
    /// How many tasks of one kind a job may run at once, for orders that limit them.
    pub max_tasks_per_job: Option<u32>,
    /// How many jobs may run at once; the rest wait.
    pub max_running_jobs: Option<u32>,
    /// How much of the fair share ApplicationMasters may take, 0 to 1.
    pub max_am_share: f64,
    /// Dynamic Priority: credits with which the queue's account opens.
    pub budget: Credits,
    /// Dynamic Priority: the rate with which it opens, per slot and allocation interval.
    pub spending_rate: Credits,
    /// Dynamic Priority: credits per hour that it is given.
    pub income: Credits,
    /// Whether containers of applications other than MapReduce may be taken back, in this queue
    /// and below it. None: as the queue above says; the root's default is that they may.
    pub preempt_opaque: Option<bool>,
    /// Who may submit, in Hadoop's ACL syntax.
    pub acl_submit: String,
    /// Who may administer, in Hadoop's ACL syntax.
    pub acl_admin: String,
    /// Whether only the allocations file names it. A pool that vanishes from there then counts as
    /// never configured, not as one that is being removed (FS-4).
    pub only_allocated: bool,
}

impl QueueConfig {
    /// A queue with nothing configured except its path. Half of the share for ApplicationMasters,
    /// as in the stock Fair Scheduler: without a limit, waiting masters can fill a cluster so that
    /// no task ever runs. ACLs are inherited: only root is open.
    pub fn new(path: &str) -> QueueConfig {
        let acl = if path == "root" { "*" } else { " " };
        QueueConfig {
            path: path.to_string(),
            weight: 1.0,
            min_share: Resource::ZERO,
            max_share: Resource::UNBOUNDED,
            min_maps: 0,
            min_reduces: 0,
            max_tasks_per_job: None,
            max_running_jobs: None,
            max_am_share: 0.5,
            budget: Credits::ZERO,
            spending_rate: Credits::ZERO,
            income: Credits::ZERO,
            preempt_opaque: None,
            acl_submit: acl.to_string(),
            acl_admin: acl.to_string(),
            only_allocated: false,
        }
    }
}

/// Queues that submissions make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicQueues {
    /// How long one may be empty before it is removed.
    pub expire_ms: Millis,
    /// How many of them the submissions of one user may have made at once.
    pub max_per_user: u32,
}

/// `{"dynamic_queues": {"expire_ms": 300000, "max_per_user": 100}}`.
pub(super) fn read_dynamic_queues(root: &mut Section<'_>) -> Result<DynamicQueues, ConfigError> {
    let mut queues = DynamicQueues {
        expire_ms: 300_000,
        max_per_user: 100,
    };
    if let Some(mut section) = root.section("dynamic_queues")? {
        if let Some(expire_ms) = section.whole("expire_ms", 1_000, WHOLE_MAX)? {
            queues.expire_ms = expire_ms;
        }
        if let Some(most) = section.whole("max_per_user", 1, i64::from(u32::MAX))? {
            queues.max_per_user = most as u32;
        }
        section.finish()?;
    }
    Ok(queues)
}

pub(super) fn read_queues(
    root: &mut Section<'_>,
    resource_types: &[String],
) -> Result<Vec<QueueConfig>, ConfigError> {
    let mut queues: Vec<QueueConfig> = Vec::new();
    for (path, value) in root.list("queues")? {
        let mut section = Section::new(&path, value)?;
        let queue_path = section.text("path")?.ok_or_else(|| {
            ConfigError::new(path.clone(), "expected a `path`, such as \"root.ads\"")
        })?;
        check_queue_path(&section.key("path"), queue_path)?;
        if queues.iter().any(|queue| queue.path == queue_path) {
            let problem = format!("queue `{queue_path}` is already defined; merge the two");
            return Err(ConfigError::new(section.key("path"), problem));
        }
        queues.push(read_queue(&mut section, queue_path, resource_types)?);
        section.finish()?;
    }
    Ok(queues)
}

fn read_queue(
    section: &mut Section<'_>,
    path: &str,
    resource_types: &[String],
) -> Result<QueueConfig, ConfigError> {
    let plain = QueueConfig::new(path);
    let mut amounts = |key: &'static str, absent: Resource| {
        let at = section.key(key);
        match section.value(key) {
            None => Ok(absent),
            Some(value) => read_resource(&at, value, resource_types, absent),
        }
    };
    let min_share = amounts("min_share", Resource::ZERO)?;
    let max_share = amounts("max_share", Resource::UNBOUNDED)?;
    for (i, name) in resource_types.iter().enumerate() {
        if max_share[i] < min_share[i] {
            let problem = format!(
                "the maximum of {name} ({}) is below the minimum ({}); raise it or lower min_share",
                max_share[i], min_share[i]
            );
            return Err(ConfigError::new(section.key("max_share"), problem));
        }
    }
    let mut count = |key: &'static str, least: i64| {
        let count = section.whole(key, least, i64::from(u32::MAX))?;
        Ok(count.map(|count| count as u32))
    };
    let max_running_jobs = count("max_running_jobs", 0)?;
    let max_tasks_per_job = count("max_tasks_per_job", 1)?;
    let min_maps = count("min_maps", 0)?.unwrap_or(plain.min_maps);
    let min_reduces = count("min_reduces", 0)?.unwrap_or(plain.min_reduces);
    Ok(QueueConfig {
        weight: section.number("weight", 0.0, 1e9)?.unwrap_or(plain.weight),
        min_maps,
        min_reduces,
        max_tasks_per_job,
        min_share,
        max_share,
        max_running_jobs,
        max_am_share: section
            .number("max_am_share", 0.0, 1.0)?
            .unwrap_or(plain.max_am_share),
        budget: read_credits(section, "budget")?,
        spending_rate: read_credits(section, "spending_rate")?,
        income: read_credits(section, "income")?,
        preempt_opaque: section.boolean("preempt_opaque")?,
        acl_submit: section
            .text("acl_submit")?
            .map_or(plain.acl_submit, str::to_string),
        acl_admin: section
            .text("acl_admin")?
            .map_or(plain.acl_admin, str::to_string),
        path: plain.path,
        only_allocated: false,
    })
}

fn read_credits(section: &mut Section<'_>, key: &'static str) -> Result<Credits, ConfigError> {
    let credits = section.number(key, 0.0, Credits::MAX.to_number())?;
    Credits::from_number(credits.unwrap_or(0.0))
        .map_err(|error| ConfigError::new(section.key(key), error.to_string()))
}

/// Refuses a path with an empty part, which YARN's reports could not tell apart.
pub(super) fn check_queue_path(key: &str, path: &str) -> Result<(), ConfigError> {
    let in_order = path == "root" || path.starts_with("root.");
    if in_order && path.split('.').all(|part| !part.trim().is_empty()) {
        return Ok(());
    }
    let problem = format!("expected `root` or a path below it such as `root.ads`, found `{path}`");
    Err(ConfigError::new(key, problem))
}
