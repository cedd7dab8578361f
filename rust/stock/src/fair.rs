//! `fair-scheduler.xml` and the properties `yarn.scheduler.fair.*` (DI-10 to DI-13). The facts are
//! in docs/develop/stock-fair.md.
//!
//! A file that stops YARN's ResourceManager is a [`Fault`]. What YARN ignores without a word is
//! ignored here as well, with a note. What Heddle cannot do is refused.

mod file;
mod names;
mod placement;
mod policy;
mod property;
mod queue;
mod reading;
mod resource;
#[cfg(test)]
mod tests;
mod top;
mod value;

use crate::{Fault, Front, Properties};
use file::Raw;
use heddle_core::config::text::checked;
use heddle_core::config::xml::Xml;
use reading::{NEVER_MS, Reading};
use serde_json::{Map, Value, json};

/// Larger files are refused unread: 100,000 queues with all values take less.
pub const BYTES_MAX: usize = 128 << 20;

/// Elements, texts and comments together.
const NODES_MAX: u32 = 8_000_000;

/// How long an empty dynamic queue stays: YARN looks for them every 10 s.
const EXPIRE_MS: i64 = 10_000;

/// The most dynamic queues of one user. YARN has no limit; Heddle keeps one against a runaway
/// client.
const DYNAMIC_QUEUES_MAX: u32 = 10_000;

/// Translates a file, or none if YARN would find none, with the properties beside it.
///
/// # Errors
/// The first fault of the file, with its line. Nothing of such a file may be used. A wrong property
/// is a refused note, because its line is one of another file.
pub fn read(text: Option<&str>, properties: &Properties) -> Result<Front, Fault> {
    read_all(text, properties).map_err(|mut faults| faults.swap_remove(0))
}

/// Translates a file as [`read`] does.
///
/// # Errors
/// All of its faults, sorted by line: at least one. A file that is not XML has one.
pub fn read_all(text: Option<&str>, properties: &Properties) -> Result<Front, Vec<Fault>> {
    let one = |fault| vec![fault];
    crate::bounds::check(properties, 0).map_err(one)?;
    let mut reading = Reading::new(properties);
    let raw = match text {
        Some(text) => {
            let text = checked(text, BYTES_MAX, "queues").map_err(one)?;
            if text.trim().is_empty() {
                let problem = "is empty; to configure nothing write <allocations/>";
                return Err(one(Fault::new(0, problem)));
            }
            let xml = Xml::parse(text, "allocations", NODES_MAX).map_err(one)?;
            file::read(&xml, &mut reading)
        }
        None => Raw::default(),
    };
    let mut config = Map::new();
    top::write(&raw, &mut reading, &mut config);
    let never = queue::write(&raw, &mut reading, &mut config);
    placement::write(&raw, properties, &mut reading, &mut config);
    if !reading.faults.is_empty() {
        reading.faults.sort_by_key(|fault| fault.line);
        return Err(reading.faults);
    }
    reading.notes.sort_by_key(|note| note.line);
    // Lines of another file.
    let from_file = reading.notes.len();
    property::write(properties, &mut reading, &mut config);
    reading.notes[from_file..].sort_by_key(|note| note.line);
    let expire_ms = if text.is_some() { EXPIRE_MS } else { NEVER_MS };
    let mut dynamic = json!({"expire_ms": expire_ms, "max_per_user": DYNAMIC_QUEUES_MAX});
    if !never.is_empty() {
        dynamic["never"] = json!(never);
    }
    config.insert("dynamic_queues".to_owned(), dynamic);
    Ok(Front {
        config: Value::Object(config),
        notes: reading.notes,
    })
}

/// Tells whether a file with the root `<allocations>` is one for YARN's Fair Scheduler: it has a
/// `<queue>`, or else elements of it and none of the file of HADOOP-3746.
pub fn is_fair(text: &str) -> bool {
    const OF_POOLS: &[&str] = &[
        "minMaps",
        "minReduces",
        "maxRunningJobs",
        "userMaxJobsDefault",
        "poolMaxJobsDefault",
    ];
    let text = text.trim_start_matches('\u{feff}');
    let Ok(xml) = Xml::parse(text, "allocations", NODES_MAX) else {
        return false;
    };
    let (mut fair, mut of_pools) = (false, false);
    for element in xml.root().descendants().filter(|node| node.is_element()) {
        match element.tag_name().name() {
            "queue" => return true,
            name => {
                of_pools |= OF_POOLS.contains(&name);
                fair |= heddle_core::config::is_of_yarn(name);
            }
        }
    }
    fair && !of_pools
}
