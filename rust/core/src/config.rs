//! The engine's configuration: parses and checks `heddle.json`. Reads no file.
//!
//! Every key is optional; with none at all the engine is fair between users. An unknown key is an
//! error: a misspelt limit that is silently ignored shows only when it is needed.

mod allocations;
mod amounts;
mod choices;
mod heartbeat;
mod json;
mod labels;
mod leaf_order;
mod placement;
mod priorities;
mod queues;
mod reader;
mod reservation;
pub mod text;
mod users;
pub mod xml;

pub(crate) use allocations::read_users;
pub use allocations::{Allocations, is_of_yarn};
pub(crate) use amounts::TYPES;
pub use amounts::{Amount, Amounts};
pub use choices::Choices;
pub(crate) use heartbeat::Granted;
pub use heartbeat::HeartbeatLimits;
pub use json::parse_json;
pub(crate) use labels::read_numbers;
pub use labels::{Accessible, LabelShare, Labels};
pub use leaf_order::{By, LeafOrder};
pub use placement::{Fallback, Matches, Names, Parent, PlacementRule, Source, VARIABLES};
pub use priorities::{Priorities, UserPriority};
pub(crate) use queues::is_path_part;
pub use queues::{Compare, DynamicQueues, Patience, QueueConfig, QueueDefaults};
pub use reader::{ConfigError, Section, nearest, unknown};
pub use text::Fault;
pub use users::{Admission, OneUser, State, UserLimit, Users};

use crate::words::ids::{Millis, PartitionId, UserId};
use crate::words::keys::POOLS;
use crate::words::resource::Resource;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Waits and amounts above this are typing errors (about 31 years in ms).
const WHOLE_MAX: i64 = 1_000_000_000_000;

/// The largest `dead_zone` and `usage_min`, as multiples of a guarantee: no guarantee that matters
/// leaves room for as much.
const DEAD_ZONE_MAX: f64 = 1_000_000.0;

/// Decisions kept of each job by default, some 1.2 KB; and the most.
const EXPLAIN_ENTRIES: usize = 16;
const EXPLAIN_ENTRIES_MAX: i64 = 1_024;

/// The names of the three stages' implementations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Composition {
    /// Which queue is next.
    pub share: String,
    /// Which job inside it.
    pub order: String,
    /// Which place for its tasks.
    pub place: String,
}

/// Taking containers back from queues above their share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preemption {
    /// Off unless asked for: a killed container is lost work.
    pub enabled: bool,
    /// How long a queue may stay below its minimum share.
    pub min_share_timeout_ms: Millis,
    /// How long a queue may stay below `fair_share_threshold` of its fair share.
    pub fair_share_timeout_ms: Millis,
    /// See `fair_share_timeout_ms`; 0 to 1.
    pub fair_share_threshold: f64,
    /// How long a job may take to give a container back by itself.
    pub grace_ms: u32,
    /// The part of the cluster's memory or vcores that must be in use, 0 to 1; no queue counts as
    /// waiting before.
    pub cluster_threshold: Option<f64>,
    /// Whether ApplicationMasters may be taken; without them their applications start again.
    pub masters: bool,
    /// Whether containers that would go are only written down.
    pub observe_only: bool,
    /// The least time between two rounds.
    pub round_ms: Millis,
    /// The part of the cluster's memory that may be on its way out, 0 to 1. None: no bound.
    pub round_max: Option<f64>,
    /// The part of a queue's surplus that a round takes, 0 to 1. None: all that is asked for.
    pub round_part: Option<f64>,
    /// The part of its guarantee by which a queue may exceed it untouched.
    pub dead_zone: Option<f64>,
    /// Whether, and how, jobs and users of one queue take from each other.
    pub inside: Option<Inside>,
}

/// Taking containers back inside a queue (DI-30).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inside {
    /// Whether jobs of other users give only what their users have above the limit, instead of all
    /// that a job of higher priority asks for.
    #[serde(rename = "first")]
    pub users_first: bool,
    /// The part of its guarantee that a queue must use.
    pub usage_min: f64,
    /// The part of its guarantee that may be on its way out.
    pub round_max: f64,
}

/// The values of `inside.first`.
const FIRST: &[(&str, bool)] = &[("users", true), ("priorities", false)];

/// The values of `reload`.
const RELOADS: &[(&str, bool)] = &[("drain", false), ("refuse", true)];

/// `heddle.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// The three stages.
    #[serde(rename = "policy")]
    pub composition: Composition,
    /// Which nodes get containers first: `nodes.rank`.
    pub rank: String,
    /// Whether queues compare by dominant resource instead of memory.
    #[serde(rename = "share.dominant")]
    pub dominant: bool,
    /// Whether other types than memory limit no node (`DefaultResourceCalculator`).
    #[serde(rename = "share.memory_only")]
    pub memory_only: bool,
    /// The configured queues, parents implied.
    #[serde(skip)]
    pub queues: Vec<QueueConfig>,
    /// What holds for queues that set nothing.
    pub queue_defaults: QueueDefaults,
    /// How many jobs may run at once in a leaf that sets no limit (`poolMaxJobsDefault` of the
    /// allocations file).
    #[serde(rename = "poolMaxJobsDefault")]
    pub pool_max_jobs: Option<u32>,
    /// How jobs find their queue.
    pub placement: Vec<PlacementRule>,
    /// Whether a reload goes by the rules of the stock Capacity Scheduler: see
    /// `Queues::check_reload`. Else what leaves the configuration drains.
    #[serde(rename = "reload")]
    pub reload_refuses: bool,
    /// Queues that stay stopped though no state is written for them, by path.
    #[serde(skip)]
    pub stopped: BTreeSet<String>,
    /// Section `dynamic_queues`.
    pub dynamic_queues: DynamicQueues,
    /// The most that one heartbeat grants. Limits spread a small job over nodes.
    pub heartbeat: HeartbeatLimits,
    /// How long an ask that fits no node's room waits before a node is held for it.
    #[serde(rename = "reservation.after_ms")]
    pub reserve_after_ms: Millis,
    /// How long a node that gains no room is held.
    #[serde(rename = "reservation.hold_ms")]
    pub reserve_hold_ms: Millis,
    /// The longest that this time becomes: gains and holds in vain double it.
    #[serde(rename = "reservation.hold_max_ms")]
    pub reserve_hold_max_ms: Millis,
    /// The part of a label's nodes that is held at once at the most; one node always may be.
    #[serde(rename = "reservation.nodes_max")]
    pub reserve_nodes_max: f64,
    /// Taking containers back.
    pub preemption: Preemption,
    /// How many maps and reduces run on a node at once, if the kinds are told apart.
    #[serde(rename = "slots")]
    pub slots_per_node: Option<[u32; POOLS]>,
    /// How many decisions are kept of each job for explanations; 0 for none.
    #[serde(rename = "explain.entries")]
    pub explain_entries: usize,
    /// Whether `Event::Fault` is honoured. For tests of the host's recovery only.
    #[serde(rename = "testing.faults")]
    pub faults: bool,
    /// Other choices than ours. For experiments only.
    #[serde(rename = "testing.choices")]
    pub choices: Choices,
    /// What the wall clock showed when the engine's clock was 0; see `Setup::epoch_ms`.
    #[serde(skip)]
    pub epoch_ms: Millis,
    /// How many jobs a user without their own limit may run at once (`userMaxJobsDefault` of the
    /// allocations file).
    #[serde(rename = "userMaxJobsDefault")]
    pub user_max_jobs: Option<u32>,
    /// The limits of users who have their own (`<user>` of the allocations file, FS-8).
    #[serde(rename = "user")]
    pub user_limits: BTreeMap<UserId, u32>,
    /// Limits and weights of users.
    pub users: Users,
    /// The labels that queues name, by the host's number.
    #[serde(skip)]
    pub labels: BTreeMap<PartitionId, String>,
    #[serde(skip)]
    policies_take_back: bool,
    /// The sections of policies, for them to read.
    #[serde(flatten)]
    own: BTreeMap<&'static str, Value>,
}

impl Config {
    /// Whether anything takes containers back from jobs that run.
    pub fn takes_back(&self) -> bool {
        self.preemption.enabled || self.policies_take_back
    }

    /// Whether policies take containers back by their own settings.
    pub(crate) fn policies_take_back(&self) -> bool {
        self.policies_take_back
    }

    /// Whether a queue says anything of node labels.
    pub fn sets_labels(&self) -> bool {
        self.queues.iter().any(|queue| queue.labels.is_set())
    }

    /// The states of the queues that stay stopped though no state is written for them.
    pub(crate) fn kept_stopped(&self) -> BTreeMap<String, State> {
        let unwritten = self.queues.iter();
        let unwritten = unwritten.filter(|queue| queue.admission.state.is_none());
        let kept = unwritten.filter(|queue| self.stopped.contains(&queue.path));
        kept.map(|queue| (queue.path.clone(), State::Stopped))
            .collect()
    }

    /// Reads a policy's settings from its own section, which `read_own` found good before.
    pub fn own<T>(
        &self,
        section: &'static str,
        read: impl FnOnce(&mut Section<'_>) -> Result<T, ConfigError>,
    ) -> T {
        let empty = Value::Object(Default::default());
        let value = self.own.get(section).unwrap_or(&empty);
        Section::all(section, value, read).expect("the section was checked as it was read")
    }

    /// Checks the section of a policy, and keeps it for `own`. `check` tells whether the policy
    /// takes containers back with these settings.
    pub(crate) fn read_own(
        &mut self,
        root: &mut Section<'_>,
        section: &'static str,
        check: impl FnOnce(&mut Section<'_>) -> Result<bool, ConfigError>,
    ) -> Result<(), ConfigError> {
        if let Some(value) = root.value(section) {
            self.policies_take_back |= Section::all(section, value, check)?;
            self.own.insert(section, value.clone());
        }
        Ok(())
    }

    /// Reads `heddle.json`, except the choice and the settings of policies.
    pub(crate) fn read(
        root: &mut Section<'_>,
        composition: Composition,
        resource_types: &[String],
    ) -> Result<Config, ConfigError> {
        let [dominant, memory_only] = read_share(root, resource_types)?;
        // The services beside the engine read and check these.
        for section in ["api", "store"] {
            root.value(section);
        }
        allocations::read_key(root)?;
        let (mut faults, mut choices) = (false, Choices::default());
        if let Some(mut section) = root.section("testing")? {
            faults = section.boolean("faults")?.unwrap_or(false);
            choices = Choices::read(&mut section)?;
            section.finish()?;
        }
        let holds = reservation::read(root)?;
        let queue_defaults = queues::read_defaults(root, resource_types)?;
        Ok(Config {
            composition,
            rank: String::new(),
            dominant,
            memory_only,
            queues: queues::read_queues(root, resource_types, &queue_defaults)?,
            queue_defaults,
            pool_max_jobs: None,
            placement: placement::read_placement(root)?,
            reload_refuses: root.choice("reload", RELOADS)?.unwrap_or(false),
            stopped: BTreeSet::new(),
            dynamic_queues: queues::read_dynamic_queues(root)?,
            heartbeat: HeartbeatLimits::read(root)?,
            reserve_after_ms: holds.after_ms,
            reserve_hold_ms: holds.hold_ms,
            reserve_hold_max_ms: holds.hold_max_ms,
            reserve_nodes_max: holds.nodes_max,
            preemption: read_preemption(root)?,
            slots_per_node: read_slots(root)?,
            explain_entries: read_explain(root)?,
            faults,
            choices,
            epoch_ms: 0,
            user_max_jobs: None,
            user_limits: BTreeMap::new(),
            users: users::read_users_section(root)?,
            labels: BTreeMap::new(),
            policies_take_back: false,
            own: BTreeMap::new(),
        })
    }
}

/// `{"share": {"dominant": true}}` or `{"share": {"memory_only": true}}`.
fn read_share(root: &mut Section<'_>, resource_types: &[String]) -> Result<[bool; 2], ConfigError> {
    let Some(mut section) = root.section("share")? else {
        return Ok([false; 2]);
    };
    let dominant = section.boolean("dominant")?.unwrap_or(false);
    let memory_only = section.boolean("memory_only")?.unwrap_or(false);
    let key = section.key("memory_only");
    section.finish()?;
    if dominant && memory_only {
        let problem = "with `dominant` all resource types count; set one of the two to false";
        return Err(ConfigError::new(key, problem));
    }
    match resource_types.get(2).filter(|_| memory_only) {
        Some(name) => Err(ConfigError::new(
            key,
            format!("expected false where there is the resource type {name}, found true"),
        )),
        None => Ok([dominant, memory_only]),
    }
}

/// `{"explain": {"entries": 16}}`.
fn read_explain(root: &mut Section<'_>) -> Result<usize, ConfigError> {
    let Some(mut section) = root.section("explain")? else {
        return Ok(EXPLAIN_ENTRIES);
    };
    let entries = section.whole("entries", 0, EXPLAIN_ENTRIES_MAX)?;
    section.finish()?;
    Ok(entries.map_or(EXPLAIN_ENTRIES, |entries| entries as usize))
}

/// `{"slots": {"map_per_node": 2, "reduce_per_node": 1}}`: both or neither, because a cap on one
/// kind does not say how many slots the other has.
fn read_slots(root: &mut Section<'_>) -> Result<Option<[u32; POOLS]>, ConfigError> {
    let Some(mut section) = root.section("slots")? else {
        return Ok(None);
    };
    let most = i64::from(u16::MAX);
    let per_node = [
        section.whole("map_per_node", 0, most)?,
        section.whole("reduce_per_node", 0, most)?,
    ];
    section.finish()?;
    match per_node {
        [Some(maps), Some(reduces)] => Ok(Some([maps as u32, reduces as u32])),
        [None, None] => Ok(None),
        _ => Err(ConfigError::new(
            "slots",
            "expected both `map_per_node` and `reduce_per_node`, or neither",
        )),
    }
}

pub(crate) fn read_resource(
    path: &str,
    value: &Value,
    resource_types: &[String],
    absent: Resource,
) -> Result<Resource, ConfigError> {
    let Some(object) = value.as_object() else {
        let problem = format!("expected an object such as {{\"vcores\": 4}}, found {value}");
        return Err(ConfigError::new(path, problem));
    };
    let mut resource = absent;
    for (name, amount) in object {
        let key = format!("{path}.{name}");
        let Some(index) = resource_types.iter().position(|known| known == name) else {
            let known: Vec<&str> = resource_types.iter().map(String::as_str).collect();
            return Err(ConfigError::new(key, unknown(name, &known)));
        };
        match amount
            .as_i64()
            .filter(|amount| (0..=WHOLE_MAX).contains(amount))
        {
            Some(amount) => resource.0[index] = amount,
            None => {
                let problem = format!("expected a whole number, 0 or more, found {amount}");
                return Err(ConfigError::new(key, problem));
            }
        }
    }
    Ok(resource)
}

fn read_preemption(root: &mut Section<'_>) -> Result<Preemption, ConfigError> {
    let mut preemption = Preemption {
        enabled: false,
        min_share_timeout_ms: 30_000,
        fair_share_timeout_ms: 120_000,
        fair_share_threshold: 0.5,
        grace_ms: 15_000,
        cluster_threshold: None,
        masters: false,
        observe_only: false,
        round_ms: 0,
        round_max: None,
        round_part: None,
        dead_zone: None,
        inside: None,
    };
    if let Some(mut section) = root.section("preemption")? {
        let plain = preemption.clone();
        let patience = Patience::read(&mut section)?;
        preemption = Preemption {
            enabled: section.boolean("enabled")?.unwrap_or(plain.enabled),
            min_share_timeout_ms: patience
                .min_share_timeout_ms
                .unwrap_or(plain.min_share_timeout_ms),
            fair_share_timeout_ms: patience
                .fair_share_timeout_ms
                .unwrap_or(plain.fair_share_timeout_ms),
            fair_share_threshold: patience
                .fair_share_threshold
                .unwrap_or(plain.fair_share_threshold),
            grace_ms: section
                .whole("grace_ms", 0, i64::from(u32::MAX))?
                .map_or(plain.grace_ms, |grace_ms| grace_ms as u32),
            cluster_threshold: section.number("cluster_threshold", 0.0, 1.0)?,
            masters: section.boolean("masters")?.unwrap_or(plain.masters),
            observe_only: section
                .boolean("observe_only")?
                .unwrap_or(plain.observe_only),
            round_ms: section
                .whole("round_ms", 0, WHOLE_MAX)?
                .unwrap_or(plain.round_ms),
            round_max: section.number("round_max", 0.0, 1.0)?,
            round_part: section.number("round_part", 0.0, 1.0)?,
            dead_zone: section.number("dead_zone", 0.0, DEAD_ZONE_MAX)?,
            inside: read_inside(&mut section)?,
        };
        section.finish()?;
    }
    Ok(preemption)
}

/// `{"inside": {"first": "users", "usage_min": 0.5, "round_max": 0.2}}`; the values are defaults.
fn read_inside(section: &mut Section<'_>) -> Result<Option<Inside>, ConfigError> {
    let Some(mut section) = section.section("inside")? else {
        return Ok(None);
    };
    let inside = Inside {
        users_first: section.choice("first", FIRST)?.unwrap_or(true),
        usage_min: section
            .number("usage_min", 0.0, DEAD_ZONE_MAX)?
            .unwrap_or(0.5),
        round_max: section.number("round_max", 0.0, 1.0)?.unwrap_or(0.2),
    };
    section.finish()?;
    Ok(Some(inside))
}

#[cfg(test)]
mod tests;
