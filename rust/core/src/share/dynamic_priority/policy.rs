//! Variants of the mechanism: the paper's (with our resolutions) and the published code's, as two
//! presets and single knobs. Names and choices only; `account` acts on them.

use super::quota::Rounding;
use crate::config::{ConfigError, Section};

/// Rate that an interval is charged at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeRate {
    /// The rate that bought the quota in force (DP-15).
    Granted,
    /// The rate set now, as published: lowering it just before a tick makes an interval free.
    Current,
}

/// Use that is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeCap {
    /// Use up to the quota: slots beyond it are free (DP-11).
    Quota,
    /// All reported use. The published enforcer reports at most the quota.
    None,
}

/// Effect of a charge that exceeds the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdraft {
    /// The budget goes to exactly 0 (DP-14).
    Clamp,
    /// As published: the user pays nothing and gets no share, but still counts in the price.
    Skip,
}

/// Budget that must pay for one slot for one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solvent {
    /// The budget after the charge (DP-14).
    AfterDebit,
    /// The budget before the charge, as published.
    BeforeDebit,
}

/// One variant of the mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Rate that an interval is charged at.
    pub charge_rate: ChargeRate,
    /// Use that is charged.
    pub charge_cap: ChargeCap,
    /// Effect of a charge that exceeds the budget.
    pub overdraft: Overdraft,
    /// Budget that must pay for one slot for one interval.
    pub solvent: Solvent,
    /// Rounding of quotas to whole slots.
    pub rounding: Rounding,
}

impl Policy {
    /// The paper's variant, with the resolutions DP-11 and DP-14 to DP-16.
    pub const PAPER: Policy = Policy {
        charge_rate: ChargeRate::Granted,
        charge_cap: ChargeCap::Quota,
        overdraft: Overdraft::Clamp,
        solvent: Solvent::AfterDebit,
        rounding: Rounding::LargestRemainder,
    };

    /// The published code's variant.
    pub const CONTRIB: Policy = Policy {
        charge_rate: ChargeRate::Current,
        charge_cap: ChargeCap::None,
        overdraft: Overdraft::Skip,
        solvent: Solvent::BeforeDebit,
        rounding: Rounding::HalfUp,
    };

    /// Names of the presets.
    pub const PRESETS: &[(&str, Policy)] =
        &[("paper", Policy::PAPER), ("contrib", Policy::CONTRIB)];

    /// Reads the knobs that are present; the others stay as in `self`.
    pub fn read(self, section: &mut Section<'_>) -> Result<Policy, ConfigError> {
        let rates = [
            ("granted", ChargeRate::Granted),
            ("current", ChargeRate::Current),
        ];
        let caps = [("quota", ChargeCap::Quota), ("none", ChargeCap::None)];
        let overdrafts = [("clamp", Overdraft::Clamp), ("skip", Overdraft::Skip)];
        let solvents = [
            ("after_debit", Solvent::AfterDebit),
            ("before_debit", Solvent::BeforeDebit),
        ];
        Ok(Policy {
            charge_rate: choice(section, "charge_rate", &rates, self.charge_rate)?,
            charge_cap: choice(section, "charge_cap", &caps, self.charge_cap)?,
            overdraft: choice(section, "overdraft", &overdrafts, self.overdraft)?,
            solvent: choice(section, "solvent", &solvents, self.solvent)?,
            rounding: choice(section, "rounding", Rounding::NAMES, self.rounding)?,
        })
    }
}

/// Reads one of a list of names at `key`; returns `absent` if the key is missing.
pub fn choice<T: Copy>(
    section: &mut Section<'_>,
    key: &'static str,
    choices: &[(&'static str, T)],
    absent: T,
) -> Result<T, ConfigError> {
    Ok(section.choice(key, choices)?.unwrap_or(absent))
}
