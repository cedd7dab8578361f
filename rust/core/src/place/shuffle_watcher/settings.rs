//! The section `shuffle_watcher` of the configuration. Reads and checks; decides nothing.

use super::netsat::Scope;
use super::samp::Spread;
use crate::config::{ConfigError, Section};
use crate::types::Millis;

/// Waits above this are typing errors (about 31 years).
const MS_MAX: i64 = 1_000_000_000_000;

/// The section `shuffle_watcher` of the configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// `NWSaturationThreshold`: part of a link's bandwidth.
    pub threshold: f64,
    /// Over how long traffic is averaged.
    pub period_ms: Millis,
    /// Whose links decide.
    pub scope: Scope,
    /// `MapCompletionThreshold`: part of a job's maps.
    pub completion_threshold: f64,
    /// Width of the starvation windows; 0 for none.
    pub window_ms: Millis,
    /// For how long a user is passed over for better placed tasks; 0 is strict fairness.
    pub relaxed_ms: Millis,
    /// The shuffle ratio of a job of which nothing is known.
    pub default_ratio: f64,
    /// How SAMP predicts where the maps of a job will run.
    pub spread: Spread,
    /// Whether SAMP prefers racks for maps.
    pub samp: bool,
    /// Whether SARP prefers racks for reduces.
    pub sarp: bool,
}

impl Default for Settings {
    /// The values of the paper's evaluation.
    fn default() -> Settings {
        Settings {
            threshold: 0.8,
            period_ms: 5_000,
            scope: Scope::Rack,
            completion_threshold: 0.15,
            window_ms: 600_000,
            relaxed_ms: 0,
            default_ratio: 1.0,
            spread: Spread::Uniform,
            samp: true,
            sarp: true,
        }
    }
}

impl Settings {
    /// Reads the section, all of whose keys are optional.
    pub(crate) fn read(root: &mut Section<'_>) -> Result<Settings, ConfigError> {
        let standard = Settings::default();
        let Some(mut section) = root.section("shuffle_watcher")? else {
            return Ok(standard);
        };
        let scopes = [
            ("rack", Scope::Rack),
            ("any", Scope::Any),
            ("mean", Scope::Mean),
        ];
        let spreads = [("uniform", Spread::Uniform), ("locality", Spread::Locality)];
        let settings = Settings {
            threshold: section
                .number("threshold", 0.0, 1.0)?
                .unwrap_or(standard.threshold),
            period_ms: section
                .whole("period_ms", 1, MS_MAX)?
                .unwrap_or(standard.period_ms),
            scope: section.choice("scope", &scopes)?.unwrap_or(standard.scope),
            completion_threshold: section
                .number("completion_threshold", 0.0, 1.0)?
                .unwrap_or(standard.completion_threshold),
            window_ms: section
                .whole("window_ms", 0, MS_MAX)?
                .unwrap_or(standard.window_ms),
            relaxed_ms: section
                .whole("relaxed_ms", 0, MS_MAX)?
                .unwrap_or(standard.relaxed_ms),
            default_ratio: section
                .number("default_ratio", 0.0, 1e6)?
                .unwrap_or(standard.default_ratio),
            spread: section
                .choice("map_spread", &spreads)?
                .unwrap_or(standard.spread),
            samp: section.boolean("samp")?.unwrap_or(standard.samp),
            sarp: section.boolean("sarp")?.unwrap_or(standard.sarp),
        };
        section.finish()?;
        Ok(settings)
    }
}
