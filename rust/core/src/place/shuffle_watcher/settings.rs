//! Section `shuffle_watcher` of the configuration. Reads and checks; decides nothing.

use super::netsat::Scope;
use super::samp::Spread;
use crate::config::{ConfigError, Section};
use crate::stage::entry::Key;
use crate::words::ids::Millis;

/// Limit above which waits are typing errors (about 31 years).
const MS_MAX: i64 = 1_000_000_000_000;

/// Settings of the section `shuffle_watcher`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// `NWSaturationThreshold`: part of a link's bandwidth.
    pub threshold: f64,
    /// Period over which traffic is averaged.
    pub period_ms: Millis,
    /// Links that decide.
    pub scope: Scope,
    /// `MapCompletionThreshold`: part of a job's maps.
    pub completion_threshold: f64,
    /// Width of the starvation windows; 0 for none.
    pub window_ms: Millis,
    /// Time for which a user is passed over for wanted racks, and then again for its data
    /// (`patience.rs`); 0 is strict fairness.
    pub relaxed_ms: Millis,
    /// Time for which the user who is next may be overtaken by those within one container of it;
    /// 0: users go strictly one after the other.
    pub ties_ms: Millis,
    /// Shuffle ratio of an unknown job.
    pub default_ratio: f64,
    /// SAMP's prediction of where a job's map output will lie.
    pub spread: Spread,
    /// Capacity of the link between a rack and the others in either direction, in bytes per second;
    /// without it the highest traffic that NodeManagers told.
    pub uplink_bytes_per_s: Option<f64>,
    /// Smallest such estimate.
    pub uplink_floor_bytes_per_s: f64,
    /// Whether SAMP prefers racks for maps.
    pub samp: bool,
    /// Whether SARP prefers racks for reduces.
    pub sarp: bool,
}

impl Default for Settings {
    /// Returns the values of the paper's evaluation, where it gives any.
    fn default() -> Settings {
        Settings {
            threshold: 0.8,
            period_ms: 5_000,
            scope: Scope::Rack,
            completion_threshold: 0.15,
            window_ms: 600_000,
            relaxed_ms: 0,
            ties_ms: 5_000,
            default_ratio: 1.0,
            spread: Spread::Uniform,
            uplink_bytes_per_s: None,
            // 1 Gbit/s: slower links between racks are hardly built.
            uplink_floor_bytes_per_s: 125e6,
            samp: true,
            sarp: true,
        }
    }
}

/// Key in the configuration.
pub(super) const SECTION: &str = "shuffle_watcher";

/// Settings of the section, as the request `policies` lists them.
pub(super) const KEYS: &[Key] = &[
    Key::new(
        "threshold",
        "0.8",
        "part of its bandwidth above which a rack's link counts as full",
    ),
    Key::new("period_ms", "5000", "period over which traffic is averaged"),
    Key::new(
        "scope",
        "\"rack\"",
        "the link that decides: that of the node's own rack, `\"any\"`, or their `\"mean\"`",
    ),
    Key::new(
        "uplink_bytes_per_s",
        "",
        "capacity of the link between a rack and the others in either direction; without it \
         Heddle estimates it by the highest traffic that NodeManagers told",
    ),
    Key::new(
        "uplink_floor_bytes_per_s",
        "125000000",
        "smallest such estimate: less traffic never fills a link",
    ),
    Key::new(
        "completion_threshold",
        "0.15",
        "part of completed maps from which their output decides where the reduces go",
    ),
    Key::new(
        "window_ms",
        "600000",
        "jobs of an earlier window of this width go before later ones, whatever their \
         place; 0 for no windows",
    ),
    Key::new(
        "relaxed_ms",
        "0",
        "time for which a queue is passed over for a rack that one of its tasks wants, and then \
         as long again for one with its maps' data; 5000 in the paper's relaxed runs",
    ),
    Key::new(
        "ties_ms",
        "5000",
        "time for which the queue that is next may be overtaken by queues within one container of \
         it, if a task of theirs suits the rack better; 0 for never",
    ),
    Key::new(
        "default_ratio",
        "1.0",
        "bytes shuffled per byte read, for a job without a hint or an earlier run",
    ),
    Key::new(
        "map_spread",
        "\"uniform\"",
        "prediction of where map output lies; `\"locality\"`: by the blocks",
    ),
    Key::new(
        "samp",
        "true",
        "racks are preferred for maps; off only to measure what that gives",
    ),
    Key::new("sarp", "true", "the same for reduces"),
];

impl Settings {
    /// Reads the section; every key is optional.
    pub(super) fn read(section: &mut Section<'_>) -> Result<Settings, ConfigError> {
        let standard = Settings::default();
        let scopes = [
            ("rack", Scope::Rack),
            ("any", Scope::Any),
            ("mean", Scope::Mean),
        ];
        let spreads = [("uniform", Spread::Uniform), ("locality", Spread::Locality)];
        Ok(Settings {
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
            ties_ms: section
                .whole("ties_ms", 0, MS_MAX)?
                .unwrap_or(standard.ties_ms),
            default_ratio: section
                .number("default_ratio", 0.0, 1e6)?
                .unwrap_or(standard.default_ratio),
            spread: section
                .choice("map_spread", &spreads)?
                .unwrap_or(standard.spread),
            uplink_bytes_per_s: section.number("uplink_bytes_per_s", 1.0, 1e15)?,
            uplink_floor_bytes_per_s: section
                .number("uplink_floor_bytes_per_s", 1.0, 1e15)?
                .unwrap_or(standard.uplink_floor_bytes_per_s),
            samp: section.boolean("samp")?.unwrap_or(standard.samp),
            sarp: section.boolean("sarp")?.unwrap_or(standard.sarp),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(section: Value) -> Result<Settings, String> {
        Section::all(SECTION, &section, Settings::read).map_err(|error| error.to_string())
    }

    #[test]
    fn the_defaults_are_those_of_the_evaluation() {
        let settings = read(json!({})).expect("nothing is needed");
        assert_eq!(
            (settings.threshold, settings.completion_threshold),
            (0.8, 0.15)
        );
        assert_eq!((settings.window_ms, settings.relaxed_ms), (600_000, 0));
        assert_eq!((settings.period_ms, settings.default_ratio), (5_000, 1.0));
    }

    #[test]
    fn the_ranges_that_the_paper_names_are_accepted_and_faults_are_named() {
        for threshold in [0.75, 0.9, 1.0] {
            let settings = read(json!({"threshold": threshold, "scope": "mean"}));
            let settings = settings.expect("in the range");
            assert_eq!(
                (settings.threshold, settings.scope),
                (threshold, Scope::Mean)
            );
        }
        for completion in [0.05, 0.25] {
            let settings = read(json!({"completion_threshold": completion}));
            assert_eq!(
                settings.expect("in the range").completion_threshold,
                completion
            );
        }
        let fault = read(json!({"scope": "racks"})).expect_err("no such scope");
        assert!(fault.starts_with("key `shuffle_watcher.scope`"), "{fault}");
        let fault = read(json!({"treshold": 0.8})).expect_err("misspelt");
        assert!(fault.contains("threshold"), "{fault}");
        assert!(read(json!({"period_ms": 0})).is_err());
    }
}
