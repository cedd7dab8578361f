//! Amounts of credits in fixed point, so that no unit is lost or made; and what has become of the
//! authority of a job to spend some.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Add;

const MICRO: f64 = 1_000_000.0;

/// More credits than this in one amount are a typing error; sums over 9,000 users stay in range.
const CREDITS_MAX: f64 = 1e9;

/// An amount of credits, at least 0, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "i64", into = "i64")]
pub struct Credits(pub(crate) i64);

impl From<i64> for Credits {
    fn from(micro: i64) -> Credits {
        Credits::from_micro(micro)
    }
}

impl From<Credits> for i64 {
    fn from(credits: Credits) -> i64 {
        credits.0
    }
}

impl Credits {
    /// Nothing.
    pub const ZERO: Credits = Credits(0);

    /// The most that an amount or a balance may be.
    pub const MAX: Credits = Credits((CREDITS_MAX * MICRO) as i64);

    /// From credits, rounded to the nearest millionth. Refuses NaN, negative numbers and those
    /// above `MAX`; the published code took a negative rate, which minted credits.
    pub fn from_number(credits: f64) -> Result<Credits, BadAmount> {
        if (0.0..=CREDITS_MAX).contains(&credits) {
            Ok(Credits((credits * MICRO).round() as i64))
        } else {
            Err(BadAmount)
        }
    }

    /// From millionths; negative ones are taken as 0, those above `MAX` as `MAX`.
    pub fn from_micro(micro: i64) -> Credits {
        Credits(micro.clamp(0, Credits::MAX.0))
    }

    /// In millionths.
    pub fn micro(self) -> i64 {
        self.0
    }

    /// In credits, for reports.
    pub fn to_number(self) -> f64 {
        self.0 as f64 / MICRO
    }
}

impl Add for Credits {
    type Output = Credits;

    /// For sums of bids, which may exceed `MAX`.
    fn add(self, more: Credits) -> Credits {
        Credits(self.0.saturating_add(more.0))
    }
}

/// A number that is no amount of credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadAmount;

impl fmt::Display for BadAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a number of credits from 0 to 1e9")
    }
}

impl std::error::Error for BadAmount {}

/// Why an authority allows no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The rest does not pay for a slot.
    Credits,
    /// Its queue's rate is higher than the authority allows.
    Rate,
    /// It has ended.
    Time,
}

/// The state of an authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spending {
    /// What the job had been charged when the last interval ended.
    pub spent: Credits,
    /// Why it can pay for no slot; none if it can.
    pub exhausted: Option<Bound>,
}
