//! `testing.choices`: what is ours where a paper leaves a choice open, or asks for more than an
//! engine can afford. Clusters have none of these keys; `./x papers` varies them, one at a time.

use super::{ConfigError, Section};
use serde::Serialize;

/// Other choices than ours; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Choices {
    /// Waits of a user who is passed over, for wanted racks and then for data, as parts of
    /// `relaxed_ms` (SW-26).
    pub waits: Option<[f64; 2]>,
    /// Whether a period that is too short is divided by equal utility instead of equal work
    /// (RA-17).
    pub equal_utility: bool,
    /// Maximum number of steps of one round of aging (HF-20).
    pub aging_steps: Option<f64>,
    /// Number of phases up to which every event ages the virtual cluster (HF-17).
    pub aging_phases: Option<usize>,
    /// Whether a job is new from its first task on instead of its submission (FS-20).
    pub new_from_start: bool,
}

impl Choices {
    /// Reads the section inside `testing`.
    pub(super) fn read(testing: &mut Section<'_>) -> Result<Choices, ConfigError> {
        let mut choices = Choices::default();
        let Some(mut section) = testing.section("choices")? else {
            return Ok(choices);
        };
        let wanted = section.number("wait_wanted", 0.0, 10.0)?;
        let data = section.number("wait_data", 0.0, 10.0)?;
        choices.waits = wanted.zip(data).map(|(wanted, data)| [wanted, data]);
        choices.equal_utility = section.boolean("equal_utility")? == Some(true);
        choices.aging_steps = section.number("aging_steps", 1.0, 1e6)?;
        let phases = section.whole("aging_phases", 1, 1_000_000)?;
        choices.aging_phases = phases.map(|phases| phases as usize);
        choices.new_from_start = section.boolean("new_from_start")? == Some(true);
        section.finish()?;
        Ok(choices)
    }
}
