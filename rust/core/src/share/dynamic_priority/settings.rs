//! Section `dynamic_priority` of the configuration.

use super::policy::{ChargeCap, Policy, choice};
use super::quota::Rounding;
use super::reclaim::Victims;
use crate::config::{ConfigError, Section};
use crate::stage::entry::Key;
use crate::words::ids::Millis;

/// Maximum interval, a day: longer ones are typing errors.
const INTERVAL_MAX_MS: i64 = 86_400_000;

/// Settings of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Variant of the mechanism.
    pub policy: Policy,
    /// Time unit of rates, and time between two settings of prices and quotas (DP-3).
    pub allocation_interval_ms: Millis,
    /// Time between two rounds of reclaiming unpaid slots; 0 turns it off (DP-22).
    pub reclaim_interval_ms: Millis,
    /// Order in which tasks are reclaimed.
    pub victims: Victims,
    /// Whether use is the average over an interval instead of a sample at its end.
    pub averaged: bool,
}

impl Settings {
    /// The paper's settings, with 20 s, without preemption. Odd slots go round: the largest
    /// remainder would always give them to the first of equal bids.
    pub const PAPER: Settings = Settings {
        policy: Policy {
            rounding: Rounding::Carried,
            ..Policy::PAPER
        },
        allocation_interval_ms: 20_000,
        reclaim_interval_ms: 0,
        victims: Victims::Progress,
        averaged: true,
    };

    /// The published code's settings: its enforcer samples use and reports at most the quota.
    pub const CONTRIB: Settings = Settings {
        policy: Policy {
            charge_cap: ChargeCap::Quota,
            ..Policy::CONTRIB
        },
        averaged: false,
        ..Settings::PAPER
    };
}

/// Key in the configuration.
pub(super) const SECTION: &str = "dynamic_priority";

/// Settings of the section, as the request `policies` lists them.
pub(super) const KEYS: &[Key] = &[
    Key::new(
        "preset",
        "\"paper\"",
        "`\"paper\"`, or `\"contrib\"` for the rules of the published code; the keys from \
         `charge_rate` on override single rules",
    ),
    Key::new(
        "allocation_interval_ms",
        "20000",
        "interval at which slots are divided and paid for; at least 500",
    ),
    Key::new(
        "reclaim_interval_ms",
        "0",
        "interval at which unpaid slots are taken back; 0 for never. Worthwhile with long \
         CPU-bound tasks, hardly where tasks end within a couple of minutes",
    ),
    Key::new(
        "victims",
        "\"progress\"",
        "the tasks that are taken back first: those with the least progress, or the \
         `\"latest\"`",
    ),
    Key::new(
        "usage",
        "\"averaged\"",
        "use is the average over the interval, or `\"sampled\"` at its end",
    ),
    Key::new(
        "charge_rate",
        "\"granted\"",
        "the rate charged for an interval: the one that bought the quota, or the `\"current\"` \
         one",
    ),
    Key::new(
        "charge_cap",
        "\"quota\"",
        "use is charged up to the quota, or (`\"none\"`) all of it",
    ),
    Key::new(
        "overdraft",
        "\"clamp\"",
        "a charge above the budget takes it to 0, or (`\"skip\"`) is left out",
    ),
    Key::new(
        "solvent",
        "\"after_debit\"",
        "the budget that must pay for one more slot: after the charge, or `\"before_debit\"`",
    ),
    Key::new(
        "rounding",
        "\"carried\"",
        "rounding of quotas to whole slots: by the largest remainder of what is owed, so that odd \
         slots go round; also `\"largest_remainder\"` of each interval alone, `\"half_up\"`, \
         `\"floor\"`",
    ),
];

/// Reads the section; every key is optional.
pub(super) fn read(section: &mut Section<'_>) -> Result<Settings, ConfigError> {
    let presets = [("paper", Settings::PAPER), ("contrib", Settings::CONTRIB)];
    let plain = choice(section, "preset", &presets, Settings::PAPER)?;
    let uses = [("averaged", true), ("sampled", false)];
    Ok(Settings {
        policy: plain.policy.read(section)?,
        allocation_interval_ms: section
            .whole("allocation_interval_ms", 500, INTERVAL_MAX_MS)?
            .unwrap_or(plain.allocation_interval_ms),
        reclaim_interval_ms: section
            .whole("reclaim_interval_ms", 0, INTERVAL_MAX_MS)?
            .unwrap_or(plain.reclaim_interval_ms),
        victims: choice(section, "victims", Victims::NAMES, plain.victims)?,
        averaged: choice(section, "usage", &uses, plain.averaged)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn settings(section: Value) -> Result<Settings, ConfigError> {
        Section::all(SECTION, &section, read)
    }

    #[test]
    fn presets_defaults_and_single_keys() {
        assert_eq!(settings(json!({})), Ok(Settings::PAPER));
        let read = settings(
            json!({"preset": "contrib", "rounding": "floor", "usage": "averaged",
                                   "allocation_interval_ms": 60_000, "victims": "latest"}),
        );
        let expected = Settings {
            policy: Policy {
                rounding: Rounding::Floor,
                ..Settings::CONTRIB.policy
            },
            allocation_interval_ms: 60_000,
            reclaim_interval_ms: 0,
            victims: Victims::Latest,
            averaged: true,
        };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn wrong_keys_and_values_are_refused_where_they_stand() {
        let cases = [
            (
                json!({"allocation_interval": 20}),
                "dynamic_priority.allocation_interval",
            ),
            (
                json!({"allocation_interval_ms": 0}),
                "dynamic_priority.allocation_interval_ms",
            ),
            (json!({"usage": "mean"}), "dynamic_priority.usage"),
            (json!({"rounding": 1}), "dynamic_priority.rounding"),
            (json!({"preset": "papper"}), "dynamic_priority.preset"),
        ];
        for (section, key) in cases {
            let error = settings(section.clone()).expect_err(&format!("{section} is wrong"));
            assert_eq!(error.key, key, "{error}");
        }
    }
}
