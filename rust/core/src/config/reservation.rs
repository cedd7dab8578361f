//! Section `reservation` of heddle.json.

use super::{ConfigError, Section, WHOLE_MAX};
use crate::words::ids::Millis;

/// When nodes are held for asks that fit nowhere, for how long, and how many.
pub(super) struct Holds {
    pub(super) after_ms: Millis,
    pub(super) hold_ms: Millis,
    pub(super) hold_max_ms: Millis,
    pub(super) nodes_max: f64,
}

/// Reads the section. By default, holds last up to an hour, which outlasts most tasks, on a
/// twentieth of the nodes, as in the stock Fair Scheduler.
pub(super) fn read(root: &mut Section<'_>) -> Result<Holds, ConfigError> {
    let mut holds = Holds {
        after_ms: 5_000,
        hold_ms: 60_000,
        hold_max_ms: 3_600_000,
        nodes_max: 0.05,
    };
    if let Some(mut section) = root.section("reservation")? {
        let mut time = |key: &'static str, value: &mut Millis| {
            *value = section.whole(key, 0, WHOLE_MAX)?.unwrap_or(*value);
            Ok::<(), ConfigError>(())
        };
        time("after_ms", &mut holds.after_ms)?;
        time("hold_ms", &mut holds.hold_ms)?;
        time("hold_max_ms", &mut holds.hold_max_ms)?;
        let nodes_max = section.number("nodes_max", 0.0, 1.0)?;
        holds.nodes_max = nodes_max.unwrap_or(holds.nodes_max);
        section.finish()?;
    }
    Ok(holds)
}
