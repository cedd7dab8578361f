//! The variants of the mechanism: the paper's (with our resolutions) and the published code's,
//! as two presets and single knobs. Names and choices only; `account` acts on them.

use super::quota::Rounding;
use crate::config::{ConfigError, Section, unknown};

/// Whose rate an interval is charged at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeRate {
    /// The one that bought the quota in force (DP-15).
    Granted,
    /// The one set now, as published: lowering it just before a tick makes an interval free.
    Current,
}

/// Which use is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeCap {
    /// Up to the quota: slots beyond it are free (DP-11).
    Quota,
    /// All that is reported. The published enforcer reports at most the quota.
    None,
}

/// What happens if a charge exceeds the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdraft {
    /// The budget goes to exactly 0 (DP-14).
    Clamp,
    /// As published: nothing is charged and no share given, yet the user counts in the price.
    Skip,
}

/// Which budget must pay for one slot for one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solvent {
    /// What is left (DP-14).
    AfterDebit,
    /// What there was, as published.
    BeforeDebit,
}

/// One variant of the mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// See there.
    pub charge_rate: ChargeRate,
    /// See there.
    pub charge_cap: ChargeCap,
    /// See there.
    pub overdraft: Overdraft,
    /// See there.
    pub solvent: Solvent,
    /// See there.
    pub rounding: Rounding,
}

impl Policy {
    /// The paper's, with the resolutions DP-11 and DP-14 to DP-16.
    pub const PAPER: Policy = Policy {
        charge_rate: ChargeRate::Granted,
        charge_cap: ChargeCap::Quota,
        overdraft: Overdraft::Clamp,
        solvent: Solvent::AfterDebit,
        rounding: Rounding::LargestRemainder,
    };

    /// The published code's.
    pub const CONTRIB: Policy = Policy {
        charge_rate: ChargeRate::Current,
        charge_cap: ChargeCap::None,
        overdraft: Overdraft::Skip,
        solvent: Solvent::BeforeDebit,
        rounding: Rounding::HalfUp,
    };

    /// The names of the presets.
    pub const PRESETS: &[(&str, Policy)] =
        &[("paper", Policy::PAPER), ("contrib", Policy::CONTRIB)];

    /// Reads the knobs that are there; the others stay as in `self`.
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

/// One of a list of names at `key`; `absent` if there is none.
pub fn choice<T: Copy>(
    section: &mut Section<'_>,
    key: &'static str,
    choices: &[(&'static str, T)],
    absent: T,
) -> Result<T, ConfigError> {
    let Some(name) = section.text(key)? else {
        return Ok(absent);
    };
    match choices.iter().find(|(known, _)| *known == name) {
        Some((_, chosen)) => Ok(*chosen),
        None => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            Err(ConfigError::new(section.key(key), unknown(name, &names)))
        }
    }
}
