//! The configuration of queues: weights, limits, access. Reads one entry of `queues` at a time.

use super::amounts::{Amount, Amounts, of_resource, read_am_share, read_amounts};
use super::labels::{self, Labels};
use super::leaf_order::{By, LeafOrder};
use super::priorities::Priorities;
use super::users::{Admission, read_admission, read_priority, read_weights};
use super::{ConfigError, Section, WHOLE_MAX, read_resource};
use crate::words::credits::Credits;
use crate::words::ids::Millis;
use crate::words::resource::Resource;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// How the children of a queue are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// By usage of memory per weight, as YARN's Fair Scheduler does under `fair`.
    Memory,
    /// By dominant share per weight, as it does under `drf`.
    Dominant,
    /// By usage over guarantee, as the Capacity Scheduler does.
    Capacity,
}

impl Compare {
    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        let named = COMPARES.iter().find(|(_, compare)| *compare == self);
        named.map_or("", |(name, _)| name)
    }

    /// The name of YARN's Fair Scheduler for it, if it has it.
    pub fn yarns(self) -> Option<&'static str> {
        match self {
            Compare::Memory => Some(By::Fair.yarns()),
            Compare::Dominant => Some(By::Drf.yarns()),
            Compare::Capacity => None,
        }
    }
}

/// The values of `compare`.
const COMPARES: &[(&str, Compare)] = &[
    ("memory", Compare::Memory),
    ("dominant", Compare::Dominant),
    ("capacity", Compare::Capacity),
];

/// How long a queue waits below its share before containers are taken back for it. `None`: as the
/// queue above says; above the root, as section `preemption` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Patience {
    /// How long it may stay below its minimum share.
    pub min_share_timeout_ms: Option<Millis>,
    /// How long it may stay below `fair_share_threshold` of its fair share.
    pub fair_share_timeout_ms: Option<Millis>,
    /// That part of the fair share.
    pub fair_share_threshold: Option<f64>,
}

impl Patience {
    /// Reads the keys in a queue's section `preemption`, or in the section of that name.
    pub(super) fn read(section: &mut Section<'_>) -> Result<Patience, ConfigError> {
        Ok(Patience {
            min_share_timeout_ms: section.whole("min_share_timeout_ms", 0, WHOLE_MAX)?,
            fair_share_timeout_ms: section.whole("fair_share_timeout_ms", 0, WHOLE_MAX)?,
            fair_share_threshold: section.number("fair_share_threshold", 0.0, 1.0)?,
        })
    }
}

/// Limits and weight of one queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueConfig {
    /// Full path, `root.` included.
    pub path: String,
    /// Share of the parent's entitlement against its siblings. With 0 it gets its minimum, and more
    /// only when no other queue wants it (FS-22).
    pub weight: f64,
    /// The resources that the queue gets before others get more, if it has use for them. None:
    /// nothing or, where queues compare by guarantees, its part by weight.
    pub min_share: Option<Amounts>,
    /// The limit of the queue's usage.
    pub max_share: Amounts,
    /// `max_share` of queues that submissions make directly below it.
    pub max_child_share: Option<Amounts>,
    /// Settings of the leaves that submissions make directly below it. None: defaults.
    pub new_leaf: Option<Box<QueueConfig>>,
    /// The same for queues that submissions make there for others below them.
    pub new_parent: Option<Box<QueueConfig>>,
    /// The largest container. None: as the queue above says.
    #[serde(serialize_with = "of_resource")]
    pub max_container: Option<Resource>,
    /// Whether it is never a leaf, even without queues below it.
    pub parent: bool,
    /// How its children are compared. None: as section `share` says.
    pub compare: Option<Compare>,
    /// Its priority among siblings that are compared by guarantees; the larger goes first.
    pub priority: i32,
    /// How many map slots are guaranteed to its jobs, for orders that give guarantees.
    pub min_maps: u32,
    /// How many reduce slots are guaranteed to its jobs. Where the kinds share slots, both
    /// guarantees together hold for all.
    pub min_reduces: u32,
    /// How many tasks of one kind a job may run at once, for orders that limit them.
    pub max_tasks_per_job: Option<u32>,
    /// How many jobs may run at once; the rest wait.
    pub max_running_jobs: Option<u32>,
    /// How its jobs stand under order `by-queue`.
    #[serde(flatten)]
    pub leaf_order: LeafOrder,
    /// How much of the fair share ApplicationMasters may take, 0 to 1; -1 for no limit.
    pub max_am_share: f64,
    /// Dynamic Priority: credits with which the queue's account opens.
    #[serde(serialize_with = "credits")]
    pub budget: Credits,
    /// Dynamic Priority: the rate with which it opens, per slot and allocation interval.
    #[serde(serialize_with = "credits")]
    pub spending_rate: Credits,
    /// Dynamic Priority: credits per hour that it is given.
    #[serde(serialize_with = "credits")]
    pub income: Credits,
    /// Whether containers of applications other than MapReduce may be taken back, in this queue
    /// and below it. None: as the queue above says; the root's default is that they may.
    pub preempt_opaque: Option<bool>,
    /// Whether containers may be taken back, in this queue and below it; a queue above that says
    /// no is not overruled.
    pub preempt_from: bool,
    /// Whether its jobs and users may take containers from each other, in this queue and below it;
    /// a queue above that says no is not overruled.
    pub preempt_inside: bool,
    /// When containers are taken back for it.
    #[serde(rename = "preemption")]
    pub patience: Patience,
    /// Who may submit, in Hadoop's ACL syntax.
    pub acl_submit: String,
    /// Who may administer, in Hadoop's ACL syntax.
    pub acl_admin: String,
    /// Which jobs it takes, and what users may have of it.
    #[serde(flatten)]
    pub admission: Admission,
    /// Weights of users in it and below it, which override the users' own.
    pub user_weights: BTreeMap<String, f32>,
    /// The priorities that its jobs may have.
    #[serde(flatten)]
    pub priorities: Priorities,
    /// Its guarantees and limits by node label.
    #[serde(flatten)]
    pub labels: Labels,
    /// Whether only the allocations file names it. A pool that vanishes from there then counts as
    /// never configured, not as one that is being removed (FS-4).
    #[serde(skip)]
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
            min_share: None,
            max_share: Amounts::UNBOUNDED,
            max_child_share: None,
            new_leaf: None,
            new_parent: None,
            max_container: None,
            parent: false,
            compare: None,
            priority: 0,
            min_maps: 0,
            min_reduces: 0,
            max_tasks_per_job: None,
            max_running_jobs: None,
            leaf_order: LeafOrder::default(),
            max_am_share: 0.5,
            budget: Credits::ZERO,
            spending_rate: Credits::ZERO,
            income: Credits::ZERO,
            preempt_opaque: None,
            preempt_from: true,
            preempt_inside: true,
            patience: Patience::default(),
            acl_submit: acl.to_string(),
            acl_admin: acl.to_string(),
            admission: Admission::default(),
            user_weights: BTreeMap::new(),
            priorities: Priorities::default(),
            labels: Labels::default(),
            only_allocated: false,
        }
    }
}

/// Queues that submissions make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DynamicQueues {
    /// How long one may be empty before it is removed.
    pub expire_ms: Millis,
    /// How many of them the submissions of one user may have made at once.
    pub max_per_user: u32,
    /// Paths at and below which no submission makes a queue.
    pub never: BTreeSet<String>,
}

/// `{"dynamic_queues": {"expire_ms": 300000, "max_per_user": 100, "never": ["root.a"]}}`.
pub(super) fn read_dynamic_queues(root: &mut Section<'_>) -> Result<DynamicQueues, ConfigError> {
    let mut queues = DynamicQueues {
        expire_ms: 300_000,
        max_per_user: 100,
        never: BTreeSet::new(),
    };
    if let Some(mut section) = root.section("dynamic_queues")? {
        if let Some(expire_ms) = section.whole("expire_ms", 1_000, WHOLE_MAX)? {
            queues.expire_ms = expire_ms;
        }
        if let Some(most) = section.whole("max_per_user", 1, i64::from(u32::MAX))? {
            queues.max_per_user = most as u32;
        }
        for (key, value) in section.list("never")? {
            let path = value.as_str().unwrap_or_default();
            check_queue_path(&key, path)?;
            queues.never.insert(path.to_string());
        }
        section.finish()?;
    }
    Ok(queues)
}

/// Values for every queue that sets none, configured or made by a submission.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueDefaults {
    /// How many jobs may run in it or below it.
    pub max_running_jobs: Option<u32>,
    /// The limit of its usage.
    pub max_share: Option<Amounts>,
    /// The part of its share that ApplicationMasters may take.
    pub max_am_share: Option<f64>,
    /// How its children are compared.
    pub compare: Option<Compare>,
    /// How its jobs stand under order `by-queue`.
    #[serde(flatten)]
    pub leaf_order: LeafOrder,
    /// The highest priority of a job, where no queue above it sets one.
    pub max_priority: Option<i32>,
}

impl QueueDefaults {
    /// A queue with nothing configured except its path.
    pub fn queue(&self, path: &str) -> QueueConfig {
        let plain = QueueConfig::new(path);
        QueueConfig {
            max_running_jobs: self.max_running_jobs,
            max_share: self.max_share.unwrap_or(plain.max_share),
            max_am_share: self.max_am_share.unwrap_or(plain.max_am_share),
            compare: self.compare,
            leaf_order: self.leaf_order,
            ..plain
        }
    }
}

/// `{"queue_defaults": {"max_running_jobs": 50, "max_share": "50%"}}`.
pub(super) fn read_defaults(
    root: &mut Section<'_>,
    resource_types: &[String],
) -> Result<QueueDefaults, ConfigError> {
    let Some(mut section) = root.section("queue_defaults")? else {
        return Ok(QueueDefaults::default());
    };
    let running = section.whole("max_running_jobs", 0, i64::from(u32::MAX))?;
    let defaults = QueueDefaults {
        max_running_jobs: running.map(|running| running as u32),
        max_share: read_amounts(
            &mut section,
            "max_share",
            resource_types,
            Amounts::UNBOUNDED,
        )?,
        max_am_share: read_am_share(&mut section)?,
        compare: section.choice("compare", COMPARES)?,
        leaf_order: LeafOrder::read(&mut section, LeafOrder::default())?,
        max_priority: read_priority(&mut section, "max_priority")?,
    };
    section.finish()?;
    Ok(defaults)
}

pub(super) fn read_queues(
    root: &mut Section<'_>,
    resource_types: &[String],
    defaults: &QueueDefaults,
) -> Result<Vec<QueueConfig>, ConfigError> {
    let mut queues: Vec<QueueConfig> = Vec::new();
    let mut known = BTreeSet::new();
    for (path, value) in root.list("queues")? {
        let mut section = Section::new(&path, value)?;
        let queue_path = section.text("path")?.ok_or_else(|| {
            ConfigError::new(path.clone(), "expected a `path`, such as \"root.ads\"")
        })?;
        check_queue_path(&section.key("path"), queue_path)?;
        if !known.insert(queue_path) {
            let problem = format!("queue `{queue_path}` is already defined; merge the two");
            return Err(ConfigError::new(section.key("path"), problem));
        }
        let plain = defaults.queue(queue_path);
        queues.push(read_queue(&mut section, plain, resource_types)?);
        section.finish()?;
    }
    Ok(queues)
}

fn read_queue(
    section: &mut Section<'_>,
    plain: QueueConfig,
    resource_types: &[String],
) -> Result<QueueConfig, ConfigError> {
    let plain = read_shares(section, plain, resource_types)?;
    let plain = read_new(section, plain, resource_types)?;
    let mut count = |key: &'static str, least: i64| {
        let count = section.whole(key, least, i64::from(u32::MAX))?;
        Ok(count.map(|count| count as u32))
    };
    let max_running_jobs = count("max_running_jobs", 0)?;
    let max_tasks_per_job = count("max_tasks_per_job", 1)?;
    let min_maps = count("min_maps", 0)?.unwrap_or(plain.min_maps);
    let min_reduces = count("min_reduces", 0)?.unwrap_or(plain.min_reduces);
    Ok(QueueConfig {
        min_maps,
        min_reduces,
        max_tasks_per_job,
        max_running_jobs: max_running_jobs.or(plain.max_running_jobs),
        leaf_order: LeafOrder::read(section, plain.leaf_order)?,
        budget: read_credits(section, "budget")?,
        spending_rate: read_credits(section, "spending_rate")?,
        income: read_credits(section, "income")?,
        acl_submit: section
            .text("acl_submit")?
            .map_or(plain.acl_submit, str::to_string),
        acl_admin: section
            .text("acl_admin")?
            .map_or(plain.acl_admin, str::to_string),
        admission: read_admission(section)?,
        user_weights: read_weights(section)?,
        priorities: Priorities::read(section)?,
        labels: labels::read(section, resource_types)?,
        only_allocated: false,
        ..plain
    })
}

/// Reads the settings of queues that submissions make below this one.
fn read_new(
    section: &mut Section<'_>,
    plain: QueueConfig,
    resource_types: &[String],
) -> Result<QueueConfig, ConfigError> {
    // The path is filled in when such a queue is made.
    let blank = QueueConfig {
        new_leaf: None,
        new_parent: None,
        ..QueueConfig::new("")
    };
    let mut read = |key: &'static str| {
        let Some(mut section) = section.section(key)? else {
            return Ok(None);
        };
        let queue = read_queue(&mut section, blank.clone(), resource_types)?;
        section.finish()?;
        Ok(Some(Box::new(queue)))
    };
    let (new_leaf, new_parent) = (read("new_leaf")?, read("new_parent")?);
    Ok(QueueConfig {
        new_leaf,
        new_parent,
        ..plain
    })
}

/// Reads the settings of a queue against others: weight, limits, comparison, preemption.
fn read_shares(
    section: &mut Section<'_>,
    plain: QueueConfig,
    resource_types: &[String],
) -> Result<QueueConfig, ConfigError> {
    let mut amounts =
        |key: &'static str, absent| read_amounts(section, key, resource_types, absent);
    let min_share = amounts("min_share", Amounts::ZERO)?;
    let max_share = amounts("max_share", Amounts::UNBOUNDED)?;
    let max_child_share = amounts("max_child_share", Amounts::UNBOUNDED)?;
    if let (Some(min_share), Some(max_share)) = (&min_share, &max_share) {
        check_order(section, resource_types, min_share, max_share)?;
    }
    let key = section.key("max_container");
    let max_container = section.value("max_container");
    let max_container = max_container
        .map(|value| read_resource(&key, value, resource_types, Resource::UNBOUNDED))
        .transpose()?;
    let priority = section.whole("priority", i64::from(i32::MIN), i64::from(i32::MAX))?;
    let patience = read_patience(section, plain.patience)?;
    let preempt_from = section.boolean("preempt_from")?;
    let preempt_inside = section.boolean("preempt_inside")?;
    Ok(QueueConfig {
        weight: section.number("weight", 0.0, 1e9)?.unwrap_or(plain.weight),
        min_share,
        max_share: max_share.unwrap_or(plain.max_share),
        max_child_share,
        max_container,
        parent: section.boolean("parent")?.unwrap_or(plain.parent),
        compare: section.choice("compare", COMPARES)?.or(plain.compare),
        priority: priority.map_or(plain.priority, |priority| priority as i32),
        max_am_share: read_am_share(section)?.unwrap_or(plain.max_am_share),
        preempt_opaque: section.boolean("preempt_opaque")?,
        preempt_from: preempt_from.unwrap_or(plain.preempt_from),
        preempt_inside: preempt_inside.unwrap_or(plain.preempt_inside),
        patience,
        ..plain
    })
}

fn read_patience(section: &mut Section<'_>, plain: Patience) -> Result<Patience, ConfigError> {
    let Some(mut section) = section.section("preemption")? else {
        return Ok(plain);
    };
    let patience = Patience::read(&mut section)?;
    section.finish()?;
    Ok(patience)
}

/// Refuses a maximum below the minimum where both are whole numbers. For parts,
/// `Queues::in_whole` decides which holds.
fn check_order(
    section: &Section<'_>,
    resource_types: &[String],
    min_share: &Amounts,
    max_share: &Amounts,
) -> Result<(), ConfigError> {
    for (i, name) in resource_types.iter().enumerate() {
        if let (Amount::Whole(min), Amount::Whole(max)) = (min_share.0[i], max_share.0[i])
            && max < min
        {
            let problem = format!(
                "the maximum of {name} ({max}) is below the minimum ({min}); raise it or lower \
                 min_share"
            );
            return Err(ConfigError::new(section.key("max_share"), problem));
        }
    }
    Ok(())
}

fn credits<S: Serializer>(credits: &Credits, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(credits.to_number())
}

/// An amount of credits; none is 0.
fn read_credits(section: &mut Section<'_>, key: &'static str) -> Result<Credits, ConfigError> {
    let credits = section.number(key, 0.0, Credits::MAX.to_number())?;
    Credits::from_number(credits.unwrap_or(0.0))
        .map_err(|error| ConfigError::new(section.key(key), error.to_string()))
}

/// Whether a name can be a part of a queue's path. YARN's metrics drop blanks at its ends, and then
/// take it for another queue's.
pub(crate) fn is_path_part(part: &str) -> bool {
    !part.is_empty() && part == part.trim() && !part.contains(char::is_control)
}

/// Refuses a path with a part that YARN's reports and metrics could not tell apart from another.
pub(super) fn check_queue_path(key: &str, path: &str) -> Result<(), ConfigError> {
    let in_order = path == "root" || path.starts_with("root.");
    if in_order && path.split('.').all(is_path_part) {
        return Ok(());
    }
    let problem = format!(
        "expected `root` or a path below it such as `root.ads`, without empty parts, blanks at \
         the ends of parts and control characters, found {path:?}"
    );
    Err(ConfigError::new(key, problem))
}
