//! Capacity of the links between racks: configured, or estimated by the traffic that they have
//! carried. Arithmetic only; `uplinks.rs` knows the traffic.
//!
//! The estimate is the highest mean over a window on any rack's link. It errs in both directions. A
//! link that never was full looks full near its own highest; the floor bounds this. A larger link
//! that was replaced, or a burst of reports, looks roomy for too long; the decay bounds that.

use super::traffic::PerRack;
use crate::words::ids::Millis;

/// Width of a window, in periods of NetSat: a minute by default. A link carries bursts of a few
/// seconds from buffers, but a minute only if it has the capacity.
const WINDOW_PERIODS: Millis = 12;

/// Time constant of the estimate's exponential decay: 10 days, so that it halves within a week.
const DECAY_MS: f64 = 10.0 * 86_400_000.0;

/// Largest estimate, the limit of the configured capacity.
const CAPACITY_MAX: f64 = 1e15;

/// Traffic since a window began.
#[derive(Debug)]
struct Window {
    since_ms: Millis,
    heard_ms: Millis,
    /// Bytes by rack.
    carried: PerRack,
}

/// Capacity of every rack's link in either direction, in bytes per second.
#[derive(Debug, Default)]
pub(super) struct Capacity {
    configured: Option<f64>,
    floor: f64,
    window_ms: Millis,
    window: Option<Window>,
    highest: Option<f64>,
}

impl Capacity {
    /// Estimates unless `configured`; an estimate is at least `floor`.
    pub(super) fn new(configured: Option<f64>, floor: f64, period_ms: Millis) -> Capacity {
        Capacity {
            configured,
            floor,
            window_ms: period_ms.saturating_mul(WINDOW_PERIODS),
            ..Capacity::default()
        }
    }

    pub(super) fn is_configured(&self) -> bool {
        self.configured.is_some()
    }

    /// Returns the capacity; none before the first window of an estimate is over.
    pub(super) fn bytes_per_s(&self) -> Option<f64> {
        let estimate = || self.highest.map(|highest| highest.max(self.floor));
        self.configured.or_else(estimate)
    }

    /// Returns the highest traffic so far, for the next instance.
    pub(super) fn highest(&self) -> Option<f64> {
        self.highest
    }

    /// Continues an earlier instance's estimate.
    pub(super) fn restore(&mut self, highest: Option<f64>) {
        let usable = |highest: &f64| (0.0..=CAPACITY_MAX).contains(highest);
        self.highest = highest.filter(usable);
    }

    /// Records rates by rack since the last call. Without a rate of any rack it learns nothing.
    pub(super) fn carried(&mut self, now: Millis, rates: &PerRack) {
        if rates.is_empty() {
            self.window = None;
            return;
        }
        // After a longer gap the last rates say little about the time between.
        let fresh = |window: &Window| now - window.heard_ms <= self.window_ms;
        let Some(window) = self.window.as_mut().filter(|window| fresh(window)) else {
            self.window = Some(Window {
                since_ms: now,
                heard_ms: now,
                carried: PerRack::new(),
            });
            return;
        };
        let span_ms = (now - window.heard_ms) as f64;
        for (rack, rate) in rates {
            *window.carried.entry(*rack).or_default() += rate * span_ms;
        }
        window.heard_ms = now;
        let width_ms = (now - window.since_ms) as f64;
        if now - window.since_ms < self.window_ms || width_ms <= 0.0 {
            return;
        }
        let carried = window.carried.values().copied().fold(0.0, f64::max) / width_ms;
        let kept = (1.0 - width_ms / DECAY_MS).max(0.0);
        let decayed = self.highest.map_or(0.0, |highest| highest * kept);
        self.highest = Some(carried.max(decayed).min(CAPACITY_MAX));
        (window.since_ms, window.carried) = (now, PerRack::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::ids::PlaceId;

    const SECOND: Millis = 1_000;
    /// One window with periods of 5 s.
    const MINUTE: Millis = 60 * SECOND;

    fn rates(a: f64, b: f64) -> PerRack {
        PerRack::from([(PlaceId(1), a), (PlaceId(2), b)])
    }

    /// Reports the same rates once a second for a minute, from `now` on; returns its end.
    fn minute(capacity: &mut Capacity, now: Millis, a: f64, b: f64) -> Millis {
        for second in 1..=60 {
            capacity.carried(now + second * SECOND, &rates(a, b));
        }
        now + MINUTE
    }

    fn estimating(floor: f64) -> Capacity {
        let mut capacity = Capacity::new(None, floor, 5 * SECOND);
        capacity.carried(0, &rates(0.0, 0.0));
        capacity
    }

    #[test]
    fn the_highest_minute_of_any_link_is_the_estimate() {
        let mut capacity = estimating(100.0);
        assert_eq!(capacity.bytes_per_s(), None, "nothing is known yet");
        let now = minute(&mut capacity, 0, 300.0, 500.0);
        assert_eq!(capacity.bytes_per_s(), Some(500.0));
        minute(&mut capacity, now, 900.0, 0.0);
        assert_eq!(capacity.bytes_per_s(), Some(900.0));
    }

    /// A second of 6,000 in a minute is a mean of 100.
    #[test]
    fn a_burst_counts_as_its_mean() {
        let mut capacity = estimating(1.0);
        capacity.carried(SECOND, &rates(6_000.0, 0.0));
        for second in 2..=60 {
            capacity.carried(second * SECOND, &rates(0.0, 0.0));
        }
        assert_eq!(capacity.bytes_per_s(), Some(100.0));
    }

    #[test]
    fn a_quiet_link_has_the_floor() {
        let mut capacity = estimating(1_000.0);
        minute(&mut capacity, 0, 3.0, 4.0);
        assert_eq!(capacity.bytes_per_s(), Some(1_000.0));
        assert_eq!(capacity.highest(), Some(4.0));
    }

    /// 10,080 quiet minutes: (1 - 1/14,400)^10,080 is e^-0.7, which is 0.4966.
    #[test]
    fn an_estimate_halves_within_a_quiet_week() {
        let mut capacity = estimating(1.0);
        let mut now = minute(&mut capacity, 0, 1_000.0, 0.0);
        for _ in 0..7 * 24 * 60 {
            now += MINUTE;
            capacity.carried(now, &rates(0.0, 0.0));
        }
        let left = capacity.bytes_per_s().expect("a minute was seen");
        assert!((left - 496.6).abs() < 0.5, "{left}");
    }

    #[test]
    fn a_configured_capacity_is_final() {
        let mut capacity = Capacity::new(Some(50.0), 1_000.0, 5 * SECOND);
        minute(&mut capacity, 0, 300.0, 500.0);
        minute(&mut capacity, MINUTE, 300.0, 500.0);
        assert_eq!(capacity.bytes_per_s(), Some(50.0));
    }

    #[test]
    fn a_gap_without_reports_begins_another_window() {
        let mut capacity = estimating(1.0);
        capacity.carried(59 * SECOND, &rates(600.0, 0.0));
        capacity.carried(70 * SECOND, &PerRack::new());
        capacity.carried(80 * SECOND, &rates(600.0, 0.0));
        capacity.carried(139 * SECOND, &rates(600.0, 0.0));
        assert_eq!(capacity.bytes_per_s(), None, "59 s of the second window");
        capacity.carried(140 * SECOND, &rates(600.0, 0.0));
        assert_eq!(capacity.bytes_per_s(), Some(600.0));
    }

    #[test]
    fn nonsense_is_bounded() {
        let mut capacity = estimating(1.0);
        minute(&mut capacity, 0, 1e300, 0.0);
        assert_eq!(capacity.bytes_per_s(), Some(1e15));
        for saved in [f64::NAN, -1.0, 1e16, f64::INFINITY] {
            capacity.restore(Some(saved));
            assert_eq!(capacity.highest(), None, "{saved}");
        }
        capacity.restore(Some(7.0));
        assert_eq!(capacity.bytes_per_s(), Some(7.0));
    }
}
