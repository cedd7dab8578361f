//! The engine's configuration: `heddle.json`, read and checked. Reads no file.
//!
//! Every key is optional; with none at all the engine is fair between users. Unknown keys are
//! refused, as a misspelt limit that is silently ignored is found out only when it is needed.

mod allocations;
mod queues;
mod reader;
mod reservation;

pub use allocations::{Allocations, Fault};
pub use queues::{DynamicQueues, QueueConfig};
pub use reader::{ConfigError, Section, unknown};

use crate::change::POOLS;
use crate::order::{self, reverse_adaptive};
use crate::place::{self, shuffle_watcher};
use crate::resource::{RESOURCE_TYPES_MAX, Resource};
use crate::share;
use crate::types::Millis;
use serde_json::Value;

/// Waits and amounts above this are typing errors (about 31 years in ms).
const WHOLE_MAX: i64 = 1_000_000_000_000;

/// Decisions kept of each job unless configured, some 1.2 KB; and the most.
const EXPLAIN_ENTRIES: usize = 16;
const EXPLAIN_ENTRIES_MAX: i64 = 1_024;

/// Everything that a host gives when it opens an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Names of the resource types, in the order of the vectors' components.
    pub resource_types: Vec<String>,
    /// The smallest container: YARN's minimum allocation.
    pub minimum_allocation: Resource,
    /// What the wall clock, in ms since 1970, showed when the engine's clock was 0: times of day
    /// in the configuration are by the wall clock. 0 in virtual time, where both are one.
    pub epoch_ms: Millis,
    /// The configuration.
    pub config: Config,
}

/// Further from 1970 (either way) no clock is: about 31,000 years.
const EPOCH_MAX_MS: Millis = 1_000_000_000_000_000;

impl Setup {
    /// Reads `{"resource_types": [...], "minimum_allocation": {...}, "epoch_ms": ...,
    /// "config": {...}, "allocations": ..., "users": {...}}`.
    pub fn from_json(setup: &Value) -> Result<Setup, ConfigError> {
        let mut section = Section::new("", setup)?;
        let mut resource_types = Vec::new();
        for (path, item) in section.list("resource_types")? {
            match item.as_str() {
                Some(name) => resource_types.push(name.to_string()),
                None => {
                    return Err(ConfigError::new(
                        path,
                        format!("expected a name, got {item}"),
                    ));
                }
            }
        }
        if resource_types.is_empty() {
            resource_types = vec!["memory-mb".to_string(), "vcores".to_string()];
        }
        if !(2..=RESOURCE_TYPES_MAX).contains(&resource_types.len()) {
            let problem = format!(
                "expected 2 to {RESOURCE_TYPES_MAX} resource types (memory, vcores and further \
                 ones), found {}; remove some from resource-types.xml",
                resource_types.len()
            );
            return Err(ConfigError::new("resource_types", problem));
        }
        let minimum_allocation = match section.value("minimum_allocation") {
            Some(value) => {
                read_resource("minimum_allocation", value, &resource_types, Resource::ZERO)?
            }
            None => Resource::new(1024, 1),
        };
        let epoch_ms = Setup::read_epoch(&mut section)?.unwrap_or(0);
        let mut config = Config::read(&mut section, &resource_types)?;
        config.set_epoch(epoch_ms);
        Ok(Setup {
            resource_types,
            minimum_allocation,
            epoch_ms,
            config,
        })
    }

    /// `epoch_ms` of a setup or of a reload, if it is there.
    pub(crate) fn read_epoch(section: &mut Section<'_>) -> Result<Option<Millis>, ConfigError> {
        section.whole("epoch_ms", -EPOCH_MAX_MS, EPOCH_MAX_MS)
    }

    /// An engine for memory and vcores with this configuration: tests, simulator.
    pub fn with_config(config: &Value) -> Result<Setup, ConfigError> {
        Setup::from_json(&serde_json::json!({ "config": config }))
    }
}

/// The names of the three stages' implementations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composition {
    /// Which queue is next.
    pub share: String,
    /// Which job inside it.
    pub order: String,
    /// Which place for its tasks.
    pub place: String,
}

/// A name for a composition.
pub struct Preset {
    /// What `policy` in the configuration says.
    pub name: &'static str,
    /// One line for help texts and tables.
    pub summary: &'static str,
    /// The stages: share, order, place.
    pub stages: [&'static str; 3],
}

/// The presets, in the order of the tables that are made from them.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "fair",
        summary: "queues by weighted max-min with minimum and maximum shares, jobs inside them \
                  fair by deficit, tasks near their data (the default)",
        stages: ["fair", "deficit", "delay"],
    },
    Preset {
        name: "fair-original",
        summary: "the original Fair Scheduler (HADOOP-3746): jobs of all pools by deficit, \
                  guarantees first",
        stages: ["single", "deficit", "local-first"],
    },
    Preset {
        name: "dynamic-priority",
        summary: "queues hold budgets and bid for slots, jobs in order of submission, local tasks \
                  first",
        stages: ["dynamic-priority", "fifo", "local-first"],
    },
    Preset {
        name: "shufflewatcher",
        summary: "queues as under `fair`; maps and reduces ordered and placed so that less \
                  crosses between racks",
        stages: ["fair", "fifo", "shuffle-watcher"],
    },
    Preset {
        name: "fifo",
        summary: "all jobs in one line in order of priority and submission",
        stages: ["single", "fifo", "local-first"],
    },
    Preset {
        name: "hfsp",
        summary: "jobs in the order in which they would end in a fair cluster, their sizes \
                  learnt from sample tasks (HFSP)",
        stages: ["single", "hfsp", "delay"],
    },
    Preset {
        name: "reverse-adaptive",
        summary: "all jobs in one line, each with as many slots as its completion goal needs, \
                  given the foreign load over time",
        stages: ["single", "reverse-adaptive", "local-first"],
    },
];

/// How a job finds its queue; rules are tried in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementRule {
    /// The queue that the submission names; `default` counts as none.
    Specified {
        /// Whether a queue that does not exist is made.
        create: bool,
    },
    /// `root.<user>`.
    User {
        /// Whether a queue that does not exist is made.
        create: bool,
    },
    /// A fixed queue.
    Default {
        /// Its path.
        queue: String,
    },
}

/// Taking containers back from queues above their share.
#[derive(Clone, Debug, PartialEq)]
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
}

/// `heddle.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The three stages.
    pub composition: Composition,
    /// Whether queues compare by dominant resource instead of memory.
    pub dominant: bool,
    /// Delay scheduling: how long an ask that is passed over insists on its hosts.
    pub node_wait_ms: Millis,
    /// Delay scheduling: how long it then insists on its racks.
    pub rack_wait_ms: Millis,
    /// The configured queues, parents implied.
    pub queues: Vec<QueueConfig>,
    /// How many jobs may run at once in a leaf that says nothing of it (`poolMaxJobsDefault` of
    /// the allocations file).
    pub pool_max_jobs: Option<u32>,
    /// How jobs find their queue.
    pub placement: Vec<PlacementRule>,
    /// Section `dynamic_queues`.
    pub dynamic_queues: DynamicQueues,
    /// How much of a node's free room one heartbeat may fill, above 0, at most 1. All of it unless
    /// configured; less spreads a small job over nodes.
    pub heartbeat_fill: f64,
    /// How long an ask that fits no node's room waits before a node is held for it.
    pub reserve_after_ms: Millis,
    /// How long a node is held that gains no room.
    pub reserve_hold_ms: Millis,
    /// How long at the most, as holds in vain make the next ones longer.
    pub reserve_hold_max_ms: Millis,
    /// The part of a label's nodes that is held at once at the most; one node always may be.
    pub reserve_nodes_max: f64,
    /// Taking containers back.
    pub preemption: Preemption,
    /// How many maps and reduces run on a node at once, if the kinds are told apart.
    pub slots_per_node: Option<[u32; POOLS]>,
    /// ShuffleWatcher's settings.
    pub shuffle_watcher: shuffle_watcher::Settings,
    /// See `share::dynamic_priority`.
    pub dynamic_priority: share::dynamic_priority::Settings,
    /// HFSP's section.
    pub hfsp: order::hfsp::Settings,
    /// The Reverse-Adaptive order.
    pub reverse_adaptive: reverse_adaptive::settings::Settings,
    /// Section `deficit`: the order of that name.
    pub deficit: order::deficit::settings::Settings,
    /// How many decisions are kept of each job, to be explained; 0 for none.
    pub explain_entries: usize,
    /// Whether `Event::Fault` is honoured. For tests of the host's recovery only.
    pub faults: bool,
}

impl Config {
    /// Takes its times of day for those of a clock that showed this when the engine's was 0.
    pub(crate) fn set_epoch(&mut self, epoch_ms: Millis) {
        if let Some(forecast) = &mut self.reverse_adaptive.foreign_load {
            forecast.set_epoch(epoch_ms);
        }
    }

    /// Whether anything takes containers back from jobs that run.
    pub fn takes_back(&self) -> bool {
        self.preemption.enabled
            || self.dynamic_priority.reclaim_interval_ms > 0
            || self.hfsp.kill
            || self.reverse_adaptive.evict
    }

    /// Reads what a setup and a reload have in common: `config`, which is `heddle.json`; the text
    /// of an allocations file in `allocations`, if there is one; and in `users` the host's numbers
    /// of the users whom that names.
    pub(crate) fn read(
        section: &mut Section<'_>,
        resource_types: &[String],
    ) -> Result<Config, ConfigError> {
        let empty = Value::Object(Default::default());
        let config = section.value("config").unwrap_or(&empty);
        let mut config = Config::from_json(config, resource_types)?;
        let users = allocations::read_users(section)?;
        if let Some(text) = section.text("allocations")? {
            let allocations = Allocations::parse(text)
                .map_err(|fault| ConfigError::new("allocations", fault.to_string()))?;
            allocations.apply(&mut config, &users);
        }
        Ok(config)
    }

    /// Reads `heddle.json`; `resource_types` are the names that shares may use.
    pub fn from_json(config: &Value, resource_types: &[String]) -> Result<Config, ConfigError> {
        let mut root = Section::new("", config)?;
        let composition = read_composition(&mut root)?;
        let mut dominant = false;
        if let Some(mut section) = root.section("share")? {
            dominant = section.boolean("dominant")?.unwrap_or(false);
            section.finish()?;
        }
        let (mut node_wait_ms, mut rack_wait_ms) = (3_000, 3_000);
        if let Some(mut section) = root.section("delay")? {
            node_wait_ms = section
                .whole("node_wait_ms", 0, WHOLE_MAX)?
                .unwrap_or(node_wait_ms);
            rack_wait_ms = section
                .whole("rack_wait_ms", 0, WHOLE_MAX)?
                .unwrap_or(rack_wait_ms);
            section.finish()?;
        }
        // What runs beside the engine reads and checks these.
        for section in ["api", "store"] {
            root.value(section);
        }
        allocations::read_key(&mut root)?;
        let mut faults = false;
        if let Some(mut section) = root.section("testing")? {
            faults = section.boolean("faults")?.unwrap_or(false);
            section.finish()?;
        }
        let holds = reservation::read(&mut root)?;
        let config = Config {
            composition,
            dominant,
            node_wait_ms,
            rack_wait_ms,
            queues: queues::read_queues(&mut root, resource_types)?,
            pool_max_jobs: None,
            placement: read_placement(&mut root)?,
            dynamic_queues: queues::read_dynamic_queues(&mut root)?,
            heartbeat_fill: root.number("heartbeat_fill", 0.01, 1.0)?.unwrap_or(1.0),
            reserve_after_ms: holds.after_ms,
            reserve_hold_ms: holds.hold_ms,
            reserve_hold_max_ms: holds.hold_max_ms,
            reserve_nodes_max: holds.nodes_max,
            preemption: read_preemption(&mut root)?,
            slots_per_node: read_slots(&mut root)?,
            shuffle_watcher: shuffle_watcher::Settings::read(&mut root)?,
            dynamic_priority: share::dynamic_priority::read(&mut root)?,
            hfsp: order::hfsp::read(&mut root)?,
            reverse_adaptive: reverse_adaptive::settings::read(&mut root)?,
            deficit: order::deficit::settings::read(&mut root)?,
            explain_entries: read_explain(&mut root)?,
            faults,
        };
        root.finish()?;
        Ok(config)
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

/// `{"slots": {"map_per_node": 2, "reduce_per_node": 1}}`: both or neither, as a cap on one kind
/// says nothing of how many slots the other has.
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

fn read_composition(root: &mut Section<'_>) -> Result<Composition, ConfigError> {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let stages = |preset: &Preset| Composition {
        share: preset.stages[0].to_string(),
        order: preset.stages[1].to_string(),
        place: preset.stages[2].to_string(),
    };
    match root.value("policy") {
        None => Ok(stages(&PRESETS[0])),
        Some(Value::String(name)) => match PRESETS.iter().find(|preset| preset.name == name) {
            Some(preset) => Ok(stages(preset)),
            None => Err(ConfigError::new("policy", unknown(name, &names))),
        },
        Some(value) => {
            let mut section = Section::new("policy", value)?;
            let fallback = stages(&PRESETS[0]);
            let composition = Composition {
                share: stage(&mut section, "share", &share::names(), fallback.share)?,
                order: stage(&mut section, "order", &order::names(), fallback.order)?,
                place: stage(&mut section, "place", &place::names(), fallback.place)?,
            };
            section.finish()?;
            Ok(composition)
        }
    }
}

fn stage(
    section: &mut Section<'_>,
    key: &'static str,
    names: &[&str],
    fallback: String,
) -> Result<String, ConfigError> {
    match section.text(key)? {
        None => Ok(fallback),
        Some(name) if names.contains(&name) => Ok(name.to_string()),
        Some(name) => Err(ConfigError::new(section.key(key), unknown(name, names))),
    }
}

fn read_resource(
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

fn read_placement(root: &mut Section<'_>) -> Result<Vec<PlacementRule>, ConfigError> {
    let mut rules = Vec::new();
    for (path, value) in root.list("placement")? {
        let mut section = Section::new(&path, value)?;
        let rule = section.text("rule")?.unwrap_or("");
        rules.push(match rule {
            "specified" => PlacementRule::Specified {
                create: section.boolean("create")?.unwrap_or(true),
            },
            "user" => PlacementRule::User {
                create: section.boolean("create")?.unwrap_or(true),
            },
            "default" => {
                let queue = section.text("queue")?.unwrap_or("root.default");
                queues::check_queue_path(&section.key("queue"), queue)?;
                PlacementRule::Default {
                    queue: queue.to_string(),
                }
            }
            other => {
                let problem = unknown(other, &["specified", "user", "default"]);
                return Err(ConfigError::new(section.key("rule"), problem));
            }
        });
        section.finish()?;
    }
    if rules.is_empty() {
        rules.push(PlacementRule::Specified { create: true });
        rules.push(PlacementRule::User { create: true });
    }
    Ok(rules)
}

fn read_preemption(root: &mut Section<'_>) -> Result<Preemption, ConfigError> {
    let mut preemption = Preemption {
        enabled: false,
        min_share_timeout_ms: 30_000,
        fair_share_timeout_ms: 120_000,
        fair_share_threshold: 0.5,
        grace_ms: 15_000,
    };
    if let Some(mut section) = root.section("preemption")? {
        let plain = preemption.clone();
        preemption = Preemption {
            enabled: section.boolean("enabled")?.unwrap_or(plain.enabled),
            min_share_timeout_ms: section
                .whole("min_share_timeout_ms", 0, WHOLE_MAX)?
                .unwrap_or(plain.min_share_timeout_ms),
            fair_share_timeout_ms: section
                .whole("fair_share_timeout_ms", 0, WHOLE_MAX)?
                .unwrap_or(plain.fair_share_timeout_ms),
            fair_share_threshold: section
                .number("fair_share_threshold", 0.0, 1.0)?
                .unwrap_or(plain.fair_share_threshold),
            grace_ms: section
                .whole("grace_ms", 0, i64::from(u32::MAX))?
                .map_or(plain.grace_ms, |grace_ms| grace_ms as u32),
        };
        section.finish()?;
    }
    Ok(preemption)
}

#[cfg(test)]
mod tests;
