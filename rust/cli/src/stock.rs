//! The files of YARN's own schedulers, for `check-config` and `convert`: translates a file with the
//! properties of the site files beside it. Prints nothing.

use crate::clean::clean;
use crate::site::Site;
use heddle_core::config::Fault;
use heddle_core::setup::read_config;
use heddle_stock::{Note, Properties, Property, Verdict, bounds, capacity, fair, refused, site};
use serde_json::{Value, json};
use std::path::Path;

/// The property that says whose file the queues come from.
const FROM: &str = "heddle.queues.from";

/// The property with elements that may be lost.
const TOLERATE: &str = "heddle.queues.tolerate";

/// The property with names of resource types.
const TYPES: &str = "yarn.resource-types";

/// A scheduler of YARN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stock {
    Fair,
    Capacity,
}

/// The verdict on an element, for print.
pub(crate) struct Line {
    /// Where it is, its name, and the verdict.
    pub(crate) text: String,
    /// One word for programs.
    pub(crate) verdict: &'static str,
    /// Whether it stops a start.
    pub(crate) stops: bool,
}

/// A file that was translated.
pub(crate) struct Translated {
    /// `heddle.json`.
    pub(crate) config: Value,
    /// A line for each element and property.
    pub(crate) lines: Vec<Line>,
}

/// Tells whose file a text is, if it is one of YARN's own schedulers. Where the site says that
/// queues come from Fair's file, no other is read as it.
pub(crate) fn kind(text: &str, site: &Site) -> Option<Stock> {
    if text.contains("<configuration") {
        let entries = site::entries(text).unwrap_or_default();
        let mut names = entries.iter().map(|entry| entry.name.as_str());
        let has = names.any(|name| name.starts_with("yarn.scheduler.capacity."));
        return has.then_some(Stock::Capacity);
    }
    let from = site.properties().find(|(name, _)| *name == FROM);
    let said = from.is_some_and(|(_, from)| from.value.trim() == "fair");
    (said || fair::is_fair(text)).then_some(Stock::Fair)
}

/// Translates a file. The Capacity Scheduler's properties must be in `site`.
///
/// # Errors
/// Every fault, after its file and line.
pub(crate) fn translate(
    kind: Stock,
    file: &Path,
    text: &str,
    site: &Site,
    resource_types: &[String],
) -> Result<Translated, Vec<String>> {
    let properties = properties(site, resource_types);
    let front = match kind {
        Stock::Fair => fair::read_all(Some(text), &properties),
        Stock::Capacity => capacity::read_all(&properties),
    };
    let placed = |fault: &Fault| format!("{}{}", file.display(), placed(fault));
    let front = front.map_err(|faults| faults.iter().map(placed).collect::<Vec<_>>())?;
    let tolerate = properties.get(TOLERATE).map(|found| found.value.as_str());
    let tolerate = tolerate.unwrap_or_default().split(',').map(str::trim);
    let tolerate: Vec<String> = tolerate.map(str::to_owned).collect();
    let stopping = refused(&front.notes, &tolerate);
    let located = |note: &Note| {
        let at = match site.at(&note.element) {
            Some(at) => at.to_owned(),
            None => format!("{}:{}", file.display(), note.line),
        };
        Line {
            stops: stopping.iter().any(|stop| std::ptr::eq(*stop, note)),
            ..line(&at, note)
        }
    };
    let lines = front.notes.iter().map(located).collect();
    Ok(Translated {
        config: front.config,
        lines,
    })
}

/// Formats a note after its place. The line stops nothing.
pub(crate) fn line(at: &str, note: &Note) -> Line {
    Line {
        text: clean(&format!("{at}: {note}")),
        verdict: match note.verdict {
            Verdict::Exact => "exact",
            Verdict::Approximated(_) => "approximated",
            Verdict::Warned(_) => "warning",
            Verdict::Refused(_) => "refused",
        },
        stops: false,
    }
}

/// Reads a configuration with the engine's reader.
///
/// # Errors
/// The reader's error.
pub(crate) fn check(config: &Value, site: &Site, resource_types: &[String]) -> Result<(), String> {
    let properties = properties(site, resource_types);
    let named = properties.get(TYPES).map(|found| found.value.as_str());
    let names = ["memory-mb", "vcores"].into_iter();
    let names = names.chain(named.unwrap_or_default().split(',').map(str::trim));
    let mut types: Vec<String> = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        if types.iter().all(|known| known != name) {
            types.push(name.to_owned());
        }
    }
    let read = read_config(config, &types);
    read.map(drop).map_err(|error| format!(": {error}"))
}

/// Checks the cluster's smallest and largest container. With a stock file its reader does so.
///
/// # Errors
/// The fault, after the file and line of its property.
pub(crate) fn check_containers(site: &Site) -> Result<(), String> {
    let checked = bounds::check(&properties(site, &[]), 0);
    checked.map_err(|fault| {
        let name = fault.problem.split(": ").next().unwrap_or_default();
        let at = site.at(name).unwrap_or("yarn-site.xml");
        format!("{at}: {}", fault.problem)
    })
}

/// Formats a fault to follow the name of its file.
pub(crate) fn placed(fault: &Fault) -> String {
    match fault.line {
        0 => format!(": {}", fault.problem),
        line => format!(":{line}: {}", fault.problem),
    }
}

/// The lines as JSON.
pub(crate) fn report(lines: &[Line]) -> Value {
    let one =
        |line: &Line| json!({"verdict": line.verdict, "stops": line.stops, "text": line.text});
    lines.iter().map(one).collect()
}

/// The properties that YARN's schedulers may read, expanded as Hadoop does it.
fn properties(site: &Site, resource_types: &[String]) -> Properties {
    let mut properties = Properties::new();
    if !resource_types.is_empty() {
        let value = resource_types.join(",");
        properties.insert(TYPES.to_owned(), Property { value, line: 0 });
    }
    for (name, value, line) in site.expanded() {
        properties.insert(name.to_owned(), Property { value, line });
    }
    properties
}
