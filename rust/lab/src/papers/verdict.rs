//! Verdicts on figures: what a paper claims, what we measured, and whether the two agree. Knows no
//! experiment.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Part of the paper's effect within which ours agrees with it.
const WITHIN: f64 = 0.2;

/// Smaller changes, in per cent, count as none (SW-40).
const NOTHING: f64 = 1.0;

/// A paper's claim about a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// Nothing that could be compared.
    Open,
    /// A change from a baseline, in per cent.
    Change(f64),
    /// How many times a baseline.
    Times(f64),
    /// The figure itself, and how far it spreads.
    Level(f64, f64),
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// More than a baseline; no number. Ours is a change in per cent.
    More,
    /// Less than a baseline; no number. Ours is a change in per cent.
    Less,
}

/// How a figure compares with the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The paper gives nothing to compare.
    Open,
    /// Within 20 % of the paper's effect, within its spread, or within its bound.
    Agrees,
    /// An effect of the same sign, more than 20 % smaller or larger.
    SameDirection,
    /// No effect, another sign, or outside of the bound.
    Differs,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Open => "-",
            Verdict::Agrees => "agrees",
            Verdict::SameDirection => "same direction",
            Verdict::Differs => "differs",
        })
    }
}

impl Claim {
    /// Judges our figure, which has the unit of the claim.
    pub fn judge(self, ours: f64) -> Verdict {
        let near = |paper: f64, spread: f64| {
            let most = spread.max(WITHIN * paper.abs());
            (ours - paper).abs() <= most
        };
        let effect = |near: bool, same: bool| match (near, same) {
            (true, true) => Verdict::Agrees,
            (false, true) => Verdict::SameDirection,
            (_, false) => Verdict::Differs,
        };
        let holds = |holds| {
            if holds {
                Verdict::Agrees
            } else {
                Verdict::Differs
            }
        };
        let sign = |up: bool| if up { ours > NOTHING } else { ours < -NOTHING };
        match self {
            _ if ours.is_nan() => Verdict::Differs,
            Claim::Open => Verdict::Open,
            Claim::Change(paper) => effect(near(paper, 0.0), sign(paper > 0.0)),
            Claim::Times(paper) => effect(near(paper, 0.0), (ours > 1.0) == (paper > 1.0)),
            Claim::Level(paper, spread) => holds(near(paper, spread)),
            Claim::AtMost(most) => holds(ours <= most),
            Claim::AtLeast(least) => holds(ours >= least),
            Claim::More => effect(false, sign(true)),
            Claim::Less => effect(false, sign(false)),
        }
    }

    /// Writes the claim with its unit.
    pub fn text(self, unit: Unit) -> String {
        match self {
            Claim::Open => "-".to_string(),
            Claim::Change(paper) | Claim::Times(paper) => unit.text(paper),
            Claim::Level(paper, _) => unit.text(paper),
            Claim::AtMost(most) => format!("at most {}", unit.text(most)),
            Claim::AtLeast(least) => format!("at least {}", unit.text(least)),
            Claim::More => "more".to_string(),
            Claim::Less => "less".to_string(),
        }
    }
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A change in per cent.
    Change,
    /// A part of a whole, in per cent.
    Part,
    /// A ratio.
    Times,
    /// Seconds.
    Seconds,
    /// A number of things.
    Count,
    /// A figure without unit.
    Plain,
}

impl Unit {
    /// Writes a figure.
    pub fn text(self, value: f64) -> String {
        match self {
            _ if value.is_nan() => "none".to_string(),
            Unit::Change => format!("{value:+.1} %"),
            Unit::Part => format!("{value:.1} %"),
            Unit::Times => format!("{value:.2} x"),
            Unit::Seconds => format!("{value:.0} s"),
            Unit::Count => format!("{value:.0}"),
            Unit::Plain => format!("{value:.2}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Agrees, Differs, SameDirection};

    #[test]
    fn an_effect_agrees_within_a_fifth_and_differs_with_another_sign() {
        for (claim, ours, verdict) in [
            (Claim::Change(-36.0), -43.0, Agrees),
            (Claim::Change(-36.0), -28.9, Agrees),
            (Claim::Change(-36.0), -28.7, SameDirection),
            (Claim::Change(-36.0), -44.0, SameDirection),
            (Claim::Change(-36.0), -1.0, Differs),
            (Claim::Change(-36.0), 5.0, Differs),
            (Claim::Change(39.0), 31.3, Agrees),
            (Claim::Change(39.0), 0.5, Differs),
            (Claim::Change(0.5), 0.5, Differs),
            (Claim::Times(4.2), 3.4, Agrees),
            (Claim::Times(4.2), 2.0, SameDirection),
            (Claim::Times(4.2), 0.9, Differs),
            (Claim::Times(0.5), 1.1, Differs),
        ] {
            assert_eq!(claim.judge(ours), verdict, "{claim:?} {ours}");
        }
    }

    #[test]
    fn levels_and_bounds_hold_or_do_not() {
        for (claim, ours, verdict) in [
            (Claim::Level(26.5, 0.0), 31.0, Agrees),
            (Claim::Level(26.5, 0.0), 32.0, Differs),
            (Claim::Level(0.0, 3.0), 2.9, Agrees),
            (Claim::Level(0.0, 3.0), -3.1, Differs),
            (Claim::AtMost(2.6), 2.6, Agrees),
            (Claim::AtMost(2.6), 2.7, Differs),
            (Claim::AtLeast(5.0), 4.9, Differs),
            (Claim::AtMost(2.6), f64::NAN, Differs),
        ] {
            assert_eq!(claim.judge(ours), verdict, "{claim:?} {ours}");
        }
    }

    #[test]
    fn a_direction_without_a_number_never_agrees() {
        assert_eq!(Claim::More.judge(40.0), SameDirection);
        assert_eq!(Claim::Less.judge(-40.0), SameDirection);
        assert_eq!(Claim::Less.judge(-0.5), Differs);
        assert_eq!(Claim::More.judge(-2.0), Differs);
    }
}
