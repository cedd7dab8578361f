//! NetSat: detects whether the links between racks are saturated (SW-13 to SW-16). Uses only rates;
//! it knows neither their source nor their causes.

use crate::words::ids::{Millis, PlaceId};
use std::collections::BTreeMap;

/// Average traffic of one rack's link over a period, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The larger of the rates out of the rack and into it.
    pub used: f64,
    /// Capacity in either direction.
    pub bandwidth: f64,
}

/// Links that decide for a node that asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The link of its own rack.
    #[default]
    Rack,
    /// Any rack's link.
    Any,
    /// All links together.
    Mean,
}

/// Tells whether the link uses strictly more than `threshold` of its bandwidth. Without any
/// bandwidth any traffic is more.
pub fn is_saturated(rate: &Rate, threshold: f64) -> bool {
    // Divided, not multiplied: 400 of 500 is exactly the configured 0.8.
    rate.used / rate.bandwidth > threshold
}

/// Verdict on all links: the saturated racks, and whether the links are saturated on average.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The saturated racks, in order.
    pub racks: Vec<PlaceId>,
    /// Whether the traffic of all links exceeds the threshold's part of their bandwidth.
    pub mean: bool,
}

impl Verdict {
    /// Judges all links.
    pub fn of(rates: &BTreeMap<PlaceId, Rate>, threshold: f64) -> Verdict {
        let saturated =
            |(rack, rate): (&PlaceId, &Rate)| is_saturated(rate, threshold).then_some(*rack);
        let sum = rates.values().fold((0.0, 0.0), |sum, rate| {
            (sum.0 + rate.used, sum.1 + rate.bandwidth)
        });
        let all = Rate {
            used: sum.0,
            bandwidth: sum.1,
        };
        Verdict {
            racks: rates.iter().filter_map(saturated).collect(),
            mean: is_saturated(&all, threshold),
        }
    }

    /// Whether any rack is saturated.
    pub fn any(&self) -> bool {
        !self.racks.is_empty()
    }

    /// Tells whether `NetworkSaturated` holds for a node on `rack`.
    pub fn holds_for(&self, rack: PlaceId, scope: Scope) -> bool {
        match scope {
            Scope::Rack => self.racks.binary_search(&rack).is_ok(),
            Scope::Any => self.any(),
            Scope::Mean => self.mean,
        }
    }
}

/// Number of periods after which a silent link counts as idle. A host that stopped measuring must
/// not leave a flag set for ever.
pub(super) const UNHEARD_PERIODS: Millis = 3;

/// Measurements of one link since its period began.
#[derive(Clone, Debug)]
struct Link {
    since_ms: Millis,
    heard_ms: Millis,
    used_sum: f64,
    samples: u32,
    rate: Rate,
}

/// The daemon: collects measurements, and judges once per period.
#[derive(Clone, Debug)]
pub struct NetSat {
    threshold: f64,
    scope: Scope,
    period_ms: Millis,
    links: BTreeMap<PlaceId, Link>,
    verdict: Verdict,
}

impl NetSat {
    /// Creates a daemon without measurements: no link is saturated.
    pub fn new(threshold: f64, scope: Scope, period_ms: Millis) -> NetSat {
        NetSat {
            threshold,
            scope,
            period_ms,
            links: BTreeMap::new(),
            verdict: Verdict::default(),
        }
    }

    /// Adds a measurement of one link. The mean over a period counts; a link's first measurement
    /// counts at once.
    pub fn measured(&mut self, now: Millis, rack: PlaceId, rate: Rate) {
        let link = self.links.entry(rack).or_insert(Link {
            since_ms: now - self.period_ms,
            heard_ms: now,
            used_sum: 0.0,
            samples: 0,
            rate,
        });
        link.heard_ms = now;
        link.used_sum += rate.used;
        link.samples += 1;
        if now - link.since_ms >= self.period_ms {
            link.rate = Rate {
                used: link.used_sum / f64::from(link.samples),
                bandwidth: rate.bandwidth,
            };
            (link.since_ms, link.used_sum, link.samples) = (now, 0.0, 0);
            self.judge();
        }
    }

    /// Forgets links without recent measurements.
    pub fn tick(&mut self, now: Millis) {
        let links = self.links.len();
        let patience = UNHEARD_PERIODS * self.period_ms;
        self.links.retain(|_, link| now - link.heard_ms <= patience);
        if self.links.len() < links {
            self.judge();
        }
    }

    fn judge(&mut self) {
        let rates = self.links.iter().map(|(rack, link)| (*rack, link.rate));
        self.verdict = Verdict::of(&rates.collect(), self.threshold);
    }

    /// Tells whether `NetworkSaturated` holds for a node on `rack`.
    pub fn saturated(&self, rack: PlaceId) -> bool {
        self.verdict.holds_for(rack, self.scope)
    }

    /// Returns the saturated racks, in order.
    pub fn racks(&self) -> &[PlaceId] {
        &self.verdict.racks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PlaceId = PlaceId(1);
    const B: PlaceId = PlaceId(2);

    /// The evaluation's links: 500 Mbit/s.
    fn mbit(used: f64) -> Rate {
        Rate {
            used,
            bandwidth: 500.0,
        }
    }

    #[test]
    fn saturated_is_strictly_above_400_of_500() {
        assert!(!is_saturated(&mbit(400.0), 0.8));
        assert!(is_saturated(&mbit(400.1), 0.8));
        // At 100 % only traffic beyond the link's capacity would saturate it, which is impossible.
        assert!(!is_saturated(&mbit(500.0), 1.0));
        let none = |used| Rate {
            used,
            bandwidth: 0.0,
        };
        assert!(is_saturated(&none(1.0), 0.8));
        assert!(!is_saturated(&none(0.0), 0.8));
    }

    #[test]
    fn the_scope_picks_whose_links_decide() {
        let judge = |a, b| Verdict::of(&BTreeMap::from([(A, mbit(a)), (B, mbit(b))]), 0.8);
        let uneven = judge(450.0, 100.0);
        assert_eq!(uneven.racks, [A]);
        assert!(uneven.holds_for(A, Scope::Rack) && !uneven.holds_for(B, Scope::Rack));
        assert!(uneven.holds_for(B, Scope::Any));
        // (450 + 100) / 1000 is below 0.8; (450 + 350) / 1000 is not above it; 360 is.
        assert!(!uneven.holds_for(A, Scope::Mean));
        assert!(!judge(450.0, 350.0).mean);
        assert!(judge(450.0, 360.0).holds_for(B, Scope::Mean));
        assert!(!Verdict::of(&BTreeMap::new(), 0.8).mean);
    }

    #[test]
    fn the_mean_of_a_period_decides_not_a_burst() {
        let mut netsat = NetSat::new(0.8, Scope::Rack, 5_000);
        netsat.measured(0, A, mbit(100.0));
        assert!(!netsat.saturated(A));
        for second in 1..5 {
            netsat.measured(second * 1_000, A, mbit(500.0));
            assert!(!netsat.saturated(A), "the period is not over");
        }
        // 500, 500, 500, 500, 0: 400 on average, which is not above 400.
        netsat.measured(5_000, A, mbit(0.0));
        assert!(!netsat.saturated(A));
        for second in 6..11 {
            netsat.measured(second * 1_000, A, mbit(401.0));
        }
        assert!(netsat.saturated(A) && !netsat.saturated(B));
        assert_eq!(netsat.racks(), [A]);
    }

    #[test]
    fn a_link_that_nobody_measures_any_more_is_not_saturated() {
        let mut netsat = NetSat::new(0.8, Scope::Any, 5_000);
        netsat.measured(1_000, A, mbit(500.0));
        netsat.tick(16_000);
        assert!(netsat.saturated(B), "three periods are allowed");
        netsat.tick(16_001);
        assert!(!netsat.saturated(B));
    }
}
