//! Learns the errors of predictions, and derives the band around the next one. The band consists of
//! quantiles of actual over predicted time, among predictions of the same class (split conformal
//! prediction). It is stretched while too many predictions fall outside, and shrunk while too few
//! do (adaptive conformal inference, Gibbs and Candes, NeurIPS 2021). Errors come in herds: one
//! huge job of unknown length makes all jobs behind it late. So the stretch grows as soon as a job
//! is later than its band, not only when it ends. Predicts nothing itself.

use crate::words::ids::Millis;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Part of the jobs that should end inside their bands.
pub(crate) const COVERAGE: f64 = 0.8;
/// Part that may fall below the band, and above it.
const TAIL: f64 = (1.0 - COVERAGE) / 2.0;
/// Number of a class's last errors that count: more than jobs that wait at once in a rush. Jobs
/// that wait together end late together, and a window that one herd fills knows nothing else. With
/// 256 the band held for 73.6 % of a day's jobs under `reverse-adaptive`.
const WINDOW: usize = 1_024;
/// Minimum number of errors; a class with fewer defers to the wider one.
const ERRORS_MIN: usize = 20;
/// Effect of one prediction on the stretch of its side. 15 in a row outside double it; 140 inside,
/// nine times as many, undo that.
const STEP: f64 = 0.05;
/// Bounds of the stretch.
const STRETCH: (f64, f64) = (0.25, 64.0);
/// Band without experience: from a quarter of the prediction to four times as much.
const PRIOR: [f64; 3] = [0.25, 1.0, 4.0];
/// Added to both sides of a ratio, because heartbeats and ticks blur shorter times.
const BLUR_MS: f64 = 1_000.0;

/// Classes of predictions, from wide to narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// All predictions.
    All,
    /// Predictions of jobs in one situation; the caller numbers the situations.
    Situation(u8),
    /// Among those, predictions of about the same time: its binary logarithm in seconds.
    Near(u8, u8),
}

impl Class {
    /// Returns the narrowest class of a prediction.
    fn of(situation: u8, predicted_ms: Millis) -> Class {
        let seconds = (predicted_ms / 1_000).max(0) as u64;
        Class::Near(situation, (u64::BITS - seconds.leading_zeros()) as u8)
    }

    fn wider(self) -> Option<Class> {
        match self {
            Class::Near(situation, _) => Some(Class::Situation(situation)),
            Class::Situation(_) => Some(Class::All),
            Class::All => None,
        }
    }
}

/// A duration from now with its band, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    /// Lower bound: one case in ten is sooner.
    pub low_ms: Millis,
    /// Median: half of the cases are sooner.
    pub expected_ms: Millis,
    /// Upper bound: one case in ten is later.
    pub high_ms: Millis,
}

/// A prediction that will be compared with the event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    made_ms: Millis,
    raw_ms: Millis,
    narrow: Class,
    situation: u8,
    /// Class whose errors made the band, if there were enough.
    used: Option<Class>,
    band: Band,
    /// Whether its band has passed before the event.
    late: bool,
}

/// Errors of one class.
#[derive(Clone, Debug, Default)]
struct Errors {
    recent: VecDeque<f64>,
    sorted: Vec<f64>,
}

impl Errors {
    fn push(&mut self, ratio: f64) {
        if self.recent.len() == WINDOW {
            let oldest = self.recent.pop_front().expect("the window is full");
            let at = self.sorted.partition_point(|other| *other < oldest);
            self.sorted.remove(at);
        }
        self.recent.push_back(ratio);
        let at = self.sorted.partition_point(|other| *other < ratio);
        self.sorted.insert(at, ratio);
    }

    /// Returns the ratios that bound the band, and the median between them.
    fn quantiles(&self) -> [f64; 3] {
        let n = self.sorted.len() as f64;
        let at = |rank: f64| self.sorted[(rank as usize).clamp(1, self.sorted.len()) - 1];
        let low = at(((n + 1.0) * TAIL).floor());
        let high = at(((n + 1.0) * (1.0 - TAIL)).ceil());
        [low, at(((n + 1.0) / 2.0).round()), high]
    }
}

/// Factors by which a band is wider than the quantiles, below and above.
#[derive(Clone, Copy, Debug)]
struct Stretch([f64; 2]);

impl Stretch {
    /// Records whether a prediction was outside on a side. The logarithm of the stretch sums up the
    /// cases outside less the expected ones, so over time the two are equal.
    fn adapt(&mut self, side: usize, outside: bool) {
        let hit = if outside { 1.0 } else { 0.0 };
        let factor = 1.0 + STEP * (hit - TAIL);
        self.0[side] = (self.0[side] * factor).clamp(STRETCH.0, STRETCH.1);
    }
}

impl Default for Stretch {
    fn default() -> Stretch {
        Stretch([1.0; 2])
    }
}

/// Predictions of one sort of event, and their errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calibration {
    classes: BTreeMap<Class, Errors>,
    /// Stretches by situation.
    stretch: BTreeMap<u8, Stretch>,
    /// Numbers of promises that came sooner than their band, in it, later.
    judged: [u64; 3],
}

impl Calibration {
    /// Returns a prediction of `raw_ms` from `now` on, with its band.
    pub(crate) fn promise(&self, now: Millis, situation: u8, raw_ms: Millis) -> Promise {
        let raw_ms = raw_ms.max(0);
        let narrow = Class::of(situation, raw_ms);
        let enough = |class: &Class| {
            let errors = self.classes.get(class);
            errors.is_some_and(|errors| errors.sorted.len() >= ERRORS_MIN)
        };
        let used = std::iter::successors(Some(narrow), |class| class.wider()).find(enough);
        let ratios = used.map_or(PRIOR, |class| self.classes[&class].quantiles());
        let Stretch([below, above]) = self.stretch.get(&situation).copied().unwrap_or_default();
        let [low, middle, high] = ratios;
        let bounds = [low / below, middle, high * above];
        let [low_ms, expected_ms, high_ms] = bounds.map(|ratio| {
            let ms = (raw_ms as f64 + BLUR_MS) * ratio - BLUR_MS;
            ms.max(0.0).round() as Millis
        });
        Promise {
            made_ms: now,
            raw_ms,
            narrow,
            situation,
            used,
            // Shrunk stretches must not carry the bounds past the middle.
            band: Band {
                low_ms: low_ms.min(expected_ms),
                expected_ms,
                high_ms: high_ms.max(expected_ms),
            },
            late: false,
        }
    }

    /// Records that the band of a promise has passed before the event.
    pub(crate) fn pass(&mut self, promise: &mut Promise) {
        if !std::mem::replace(&mut promise.late, true) {
            self.stretch
                .entry(promise.situation)
                .or_default()
                .adapt(1, true);
        }
    }

    /// Judges a promise whose event happened at `now`.
    pub(crate) fn judge(&mut self, promise: &Promise, now: Millis) {
        let taken_ms = now - promise.made_ms;
        let sooner = taken_ms < promise.band.low_ms;
        let later = taken_ms > promise.band.high_ms;
        self.judged[if sooner { 0 } else { 1 + usize::from(later) }] += 1;
        let stretch = self.stretch.entry(promise.situation).or_default();
        stretch.adapt(0, sooner);
        if !promise.late {
            stretch.adapt(1, later);
        }
        let ratio = (taken_ms.max(0) as f64 + BLUR_MS) / (promise.raw_ms as f64 + BLUR_MS);
        let classes = std::iter::successors(Some(promise.narrow), |class| class.wider());
        for class in classes {
            self.classes.entry(class).or_default().push(ratio);
        }
    }

    /// Returns how many promises were kept so far, and how many were not.
    pub(crate) fn report(&self) -> Value {
        json!({"sooner": self.judged[0], "inside": self.judged[1], "later": self.judged[2]})
    }
}

impl Promise {
    /// Returns the promised durations, from when the promise was made.
    pub(crate) fn band(&self) -> Band {
        self.band
    }

    /// Returns when its band ends, on the engine's clock.
    pub(crate) fn latest_ms(&self) -> Millis {
        self.made_ms.saturating_add(self.band.high_ms)
    }

    /// Tells whether the band comes from observed errors, not from a first guess.
    pub(crate) fn is_calibrated(&self) -> bool {
        self.used.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_anything_is_known_the_band_is_wide() {
        let band = Calibration::default().promise(0, 0, 99_000).band();
        // (99 + 1) s / 4 - 1 s and (99 + 1) s * 4 - 1 s.
        assert_eq!(
            (band.low_ms, band.expected_ms, band.high_ms),
            (24_000, 99_000, 399_000)
        );
    }

    /// Of the errors 1, 2, ... 100 the band takes the 10th to the 91st: ranks floor(101 * 0.1) and
    /// ceil(101 * 0.9), with the 51st (rounded from 50.5) in the middle.
    #[test]
    fn the_band_is_of_the_errors_that_were_seen() {
        let mut errors = Errors::default();
        for i in (1..=100).rev() {
            errors.push(f64::from(i));
        }
        assert_eq!(errors.quantiles(), [10.0, 51.0, 91.0]);
        // The oldest leave, and the order of the rest stays.
        (0..WINDOW).for_each(|_| errors.push(300.0));
        assert_eq!(errors.quantiles(), [300.0; 3]);
    }

    /// 400 jobs took half to four times as long as predicted, evenly spread; then a rush of 400 all
    /// took three times as long. Of 800 errors the 80th is the 80th of the first 400 (a fifth of
    /// the way from 0.5 to 4). The middle and the 721st are the rush's and 3.3.
    #[test]
    fn a_rush_does_not_make_the_rest_forgotten() {
        let mut errors = Errors::default();
        (0..400).for_each(|i| errors.push(0.5 + 3.5 * f64::from(i) / 400.0));
        (0..400).for_each(|_| errors.push(3.0));
        let [low, middle, high] = errors.quantiles();
        assert!((1.15..1.25).contains(&low), "{low}");
        assert_eq!(middle, 3.0);
        assert!((3.25..3.35).contains(&high), "{high}");
    }

    #[test]
    fn classes_borrow_from_wider_ones_until_they_know_enough() {
        let mut all = Calibration::default();
        let promise = |all: &Calibration, ms| all.promise(0, 1, ms).used;
        assert_eq!(promise(&all, 10_000), None);
        for _ in 0..ERRORS_MIN {
            let promise = all.promise(0, 1, 10_000);
            all.judge(&promise, 20_000);
        }
        // 10 s have 4 binary digits; 100 s were never seen, nor was another situation.
        assert_eq!(promise(&all, 10_000), Some(Class::Near(1, 4)));
        assert_eq!(promise(&all, 100_000), Some(Class::Situation(1)));
        assert_eq!(all.promise(0, 2, 10_000).used, Some(Class::All));
        assert_eq!(all.promise(0, 1, 10_000).band().expected_ms, 20_000);
    }

    /// Errors whose spread grows all the time, so that yesterday's quantiles are too narrow. Alone
    /// they would hold far less than 80 %; the stretch compensates.
    #[test]
    fn the_stretch_follows_a_drift() {
        let mut all = Calibration::default();
        let mut state = 7u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as f64 / f64::from(1u32 << 31)
        };
        for i in 0..4_000 {
            let promise = all.promise(0, 0, 100_000);
            let spread = 1.0 + f64::from(i) / 200.0;
            let taken = 100_000.0 * (1.0 + spread * random());
            all.judge(&promise, taken as Millis);
        }
        let inside = all.judged[1] as f64 / 4_000.0;
        assert!((0.75..=0.85).contains(&inside), "{:?}", all.judged);
    }

    /// Forty promises of 10 s, without any event when their bands have passed.
    #[test]
    fn bands_get_wider_before_those_who_are_late_have_ended() {
        let mut all = Calibration::default();
        let high = |all: &Calibration| all.promise(0, 0, 10_000).band().high_ms;
        let before = high(&all);
        for _ in 0..40 {
            let mut promise = all.promise(0, 0, 10_000);
            assert_eq!(promise.latest_ms(), promise.band().high_ms);
            all.pass(&mut promise);
            all.pass(&mut promise);
        }
        // 1.045 to the power of 40 is 5.8, once each.
        let wider = (high(&all) + 1_000) as f64 / (before + 1_000) as f64;
        assert!((5.7..5.9).contains(&wider), "{wider}");
        let mut late = all.promise(0, 0, 10_000);
        all.pass(&mut late);
        let after = high(&all);
        all.judge(&late, 1_000_000_000);
        assert_eq!(high(&all), after, "it is not counted twice");
    }
}
