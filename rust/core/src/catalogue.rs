//! Every policy that there is, and the names under which they are composed. A new policy adds its
//! line to a list here; configuration, simulator, demo, bench and documents follow.

pub(crate) mod unread;

use crate::config::{Composition, Config, ConfigError, Section, unknown};
use crate::stage::entry::{Entry, Key, PolicySection, Preset, Wants};
use crate::stage::order::{Order, OrderEntry};
use crate::stage::place::{Place, PlaceEntry};
use crate::stage::rank::{Rank, RankEntry};
use crate::stage::share::{Share, ShareEntry};
use crate::words::keys::Layout;
use crate::{order, place, rank, share};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Every share, in the order of the tables made from it.
pub const SHARES: &[ShareEntry] = &[
    share::single::ENTRY,
    share::fair::ENTRY,
    share::capacity::ENTRY,
    share::drf::ENTRY,
    share::dynamic_priority::ENTRY,
];

/// Every order, in the order of the tables made from it.
pub const ORDERS: &[OrderEntry] = &[
    order::fifo::ENTRY,
    order::deficit::ENTRY,
    order::hfsp::ENTRY,
    order::reverse_adaptive::ENTRY,
    order::by_queue::ENTRY,
];

/// Every placement, in the order of the tables made from it.
pub const PLACES: &[PlaceEntry] = &[
    place::local_first::ENTRY,
    place::delay::ENTRY,
    place::shuffle_watcher::ENTRY,
];

/// Every order of nodes; the first is the default.
pub const RANKS: &[RankEntry] = &[rank::spread::ENTRY, rank::pack::ENTRY];

const PRESET_COUNT: usize = count(SHARES) + count(ORDERS) + count(PLACES);

/// The presets of all entries, in the order of the lists; the first is the default.
pub const PRESETS: &[Preset] = &{
    let mut presets = [FIRST; PRESET_COUNT];
    let at = collect(SHARES, &mut presets, 0);
    let at = collect(ORDERS, &mut presets, at);
    collect(PLACES, &mut presets, at);
    presets
};

/// Fills the table before presets are collected into it.
const FIRST: Preset = share::fair::ENTRY.preset.expect("fair has a preset");

const fn count<Stage: ?Sized>(entries: &[Entry<Stage>]) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < entries.len() {
        count += entries[i].preset.is_some() as usize;
        i += 1;
    }
    count
}

/// Puts the presets of a list into a table, from `at` on; returns where they end.
const fn collect<Stage: ?Sized>(
    entries: &[Entry<Stage>],
    presets: &mut [Preset],
    mut at: usize,
) -> usize {
    let mut i = 0;
    while i < entries.len() {
        if let Some(preset) = entries[i].preset {
            presets[at] = preset;
            at += 1;
        }
        i += 1;
    }
    at
}

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

/// The names of the orders of nodes, for messages.
pub fn rank_names() -> Vec<&'static str> {
    RANKS.iter().map(|entry| entry.name).collect()
}

/// The sections of the configuration that policies read themselves.
pub(crate) fn sections() -> impl Iterator<Item = &'static PolicySection> {
    let shares = SHARES.iter().filter_map(|entry| entry.own.as_ref());
    let orders = ORDERS.iter().filter_map(|entry| entry.own.as_ref());
    let places = PLACES.iter().filter_map(|entry| entry.own.as_ref());
    shares.chain(orders).chain(places)
}

/// Reads `policy`: a preset, or the stages one by one; the first preset by default.
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

/// Reads `nodes.rank`.
pub(crate) fn read_rank(root: &mut Section<'_>) -> Result<String, ConfigError> {
    let fallback = RANKS[0].name.to_string();
    let Some(mut section) = root.section("nodes")? else {
        return Ok(fallback);
    };
    let rank = stage(&mut section, "rank", &rank_names(), fallback)?;
    section.finish()?;
    Ok(rank)
}

/// Makes the order of nodes that a configuration names.
pub(crate) fn build_rank(config: &Config) -> Box<dyn Rank> {
    let named = RANKS.iter().find(|entry| entry.name == config.rank);
    (named
        .expect("the configuration admits only names of the list")
        .build)(config)
}

/// The three stages, built.
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

/// Whether each leaf orders its jobs as its own setting says.
pub(crate) fn leaves_order(composition: &Composition) -> bool {
    composition.order == order::by_queue::ENTRY.name
}

/// The facts of jobs that the policies in force want to hear, each once.
pub(crate) fn wants(config: &Config) -> Vec<&'static str> {
    let composition = &config.composition;
    let all = [
        wanted_by(SHARES, &composition.share),
        wanted_by(ORDERS, &composition.order),
        wanted_by(PLACES, &composition.place),
    ];
    let all = all.concat().into_iter();
    let wanted = all.filter(|wants| *wants != Wants::Tasks || config.policies_take_back());
    let names: BTreeSet<&str> = wanted.map(Wants::name).collect();
    names.into_iter().collect()
}

fn wanted_by<Stage: ?Sized>(entries: &[Entry<Stage>], name: &str) -> &'static [Wants] {
    let entry = entries.iter().find(|entry| entry.name == name);
    entry.map_or(&[], |entry| entry.wants)
}

/// Everything that the configuration may name, and what its entries say of it.
pub(crate) fn report(config: &Config) -> Value {
    let presets = PRESETS.iter().map(|preset| {
        json!({
            "name": preset.name,
            "summary": preset.summary,
            "stages": preset.stages,
            "workload": preset.workload,
        })
    });
    let shares = SHARES.iter().zip(rows(SHARES)).map(|(entry, mut row)| {
        row["keeps_queues"] = json!((entry.build)(config).layout() != Layout::Single);
        row
    });
    json!({
        "presets": presets.collect::<Vec<_>>(),
        "share": shares.collect::<Vec<_>>(),
        "order": rows(ORDERS),
        "place": rows(PLACES),
        "rank": rows(RANKS),
    })
}

fn rows<Stage: ?Sized>(entries: &[Entry<Stage>]) -> Vec<Value> {
    let key = |key: &Key| json!({ "key": key.name, "default": key.default, "says": key.says });
    let row = |entry: &Entry<Stage>| {
        let own = entry.own.as_ref();
        json!({
            "name": entry.name,
            "summary": entry.summary,
            "wants": entry.wants.iter().map(|wants| wants.name()).collect::<Vec<_>>(),
            "section": own.map(|own| own.section),
            "settings": own.map_or_else(Vec::new, |own| own.keys.iter().map(key).collect()),
        })
    };
    entries.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_a_policy_reads_is_described_and_no_other() {
        for own in sections() {
            let empty = json!({});
            let mut section = Section::new(own.section, &empty).expect("an object");
            (own.check)(&mut section).expect("every key is optional");
            let mut read = section.asked().to_vec();
            let mut described: Vec<&str> = own.keys.iter().map(|key| key.name).collect();
            read.sort_unstable();
            described.sort_unstable();
            assert_eq!(described, read, "section `{}`", own.section);
        }
    }

    #[test]
    fn every_default_that_is_described_is_accepted() {
        for own in sections() {
            for key in own.keys.iter().filter(|key| !key.default.is_empty()) {
                let value: Value = serde_json::from_str(key.default).expect(key.name);
                let config = json!({ own.section: { key.name: value } });
                crate::setup::Setup::with_config(&config).expect(key.name);
            }
        }
    }

    #[test]
    fn presets_have_names_of_their_own_and_stages_that_there_are() {
        for (i, preset) in PRESETS.iter().enumerate() {
            assert!(PRESETS[..i].iter().all(|before| before.name != preset.name));
            let [share, order, place] = preset.stages;
            assert!(share_names().contains(&share), "{}", preset.name);
            assert!(order_names().contains(&order), "{}", preset.name);
            assert!(place_names().contains(&place), "{}", preset.name);
        }
        assert_eq!(PRESETS[0].name, "fair", "the default");
        // The composition that is the default now had a name before.
        let others = PRESETS.iter().filter(|preset| preset.name != "by-queue");
        let stages: BTreeSet<_> = others.map(|preset| preset.stages).collect();
        assert_eq!(
            stages.len(),
            PRESETS.len() - 1,
            "two names for one composition"
        );
        let by_queue = PRESETS.iter().find(|preset| preset.name == "by-queue");
        assert_eq!(
            by_queue.map(|preset| preset.stages),
            Some(PRESETS[0].stages)
        );
    }
}
