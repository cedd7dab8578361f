//! Every policy that there is, and the names under which they are composed. A new policy adds its
//! line here; the configuration, the simulator and the documents follow.

use crate::config::{Composition, Config, ConfigError, Section, unknown};
use crate::order::{deficit, fifo, hfsp, reverse_adaptive};
use crate::place::{delay, local_first, shuffle_watcher};
use crate::share::{drf, dynamic_priority, fair, single};
use crate::stage::entry::Own;
use crate::stage::order::{Order, OrderEntry};
use crate::stage::place::{Place, PlaceEntry};
use crate::stage::share::{Share, ShareEntry};
use serde_json::Value;

/// Every share, in the order of the tables made from it.
pub const SHARES: &[ShareEntry] = &[
    single::ENTRY,
    fair::ENTRY,
    drf::ENTRY,
    dynamic_priority::ENTRY,
];

/// Every order, in the order of the tables made from it.
pub const ORDERS: &[OrderEntry] = &[
    fifo::ENTRY,
    deficit::ENTRY,
    hfsp::ENTRY,
    reverse_adaptive::ENTRY,
];

/// Every placement, in the order of the tables made from it.
pub const PLACES: &[PlaceEntry] = &[local_first::ENTRY, delay::ENTRY, shuffle_watcher::ENTRY];

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

/// The names of the shares, for messages.
pub fn share_names() -> Vec<&'static str> {
    SHARES.iter().map(|entry| entry.name).collect()
}

/// The names of the orders, for messages.
pub fn order_names() -> Vec<&'static str> {
    ORDERS.iter().map(|entry| entry.name).collect()
}

/// The names of the placements, for messages.
pub fn place_names() -> Vec<&'static str> {
    PLACES.iter().map(|entry| entry.name).collect()
}

/// The sections of the configuration that policies read themselves.
pub(crate) fn sections() -> impl Iterator<Item = &'static Own> {
    let shares = SHARES.iter().filter_map(|entry| entry.own.as_ref());
    let orders = ORDERS.iter().filter_map(|entry| entry.own.as_ref());
    let places = PLACES.iter().filter_map(|entry| entry.own.as_ref());
    shares.chain(orders).chain(places)
}

/// Reads `policy`: a preset, or the stages one by one; the first preset if nothing is said.
pub(crate) fn read_composition(root: &mut Section<'_>) -> Result<Composition, ConfigError> {
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
                share: stage(&mut section, "share", &share_names(), fallback.share)?,
                order: stage(&mut section, "order", &order_names(), fallback.order)?,
                place: stage(&mut section, "place", &place_names(), fallback.place)?,
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

/// The three stages, made.
pub(crate) type Stages = (Box<dyn Share>, Box<dyn Order>, Box<dyn Place>);

/// Makes the stages that a configuration names.
pub(crate) fn build(config: &Config) -> Stages {
    let Composition {
        share,
        order,
        place,
    } = &config.composition;
    let known = "the configuration admits only names of the list";
    let share = SHARES
        .iter()
        .find(|entry| entry.name == share)
        .expect(known);
    let order = ORDERS
        .iter()
        .find(|entry| entry.name == order)
        .expect(known);
    let place = PLACES
        .iter()
        .find(|entry| entry.name == place)
        .expect(known);
    (
        (share.build)(config),
        (order.build)(config),
        (place.build)(config),
    )
}
