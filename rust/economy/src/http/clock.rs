//! Converts times of the engine, whose clock is monotonic and begins anywhere, to times of day.
//! Reads no clock.

use serde_json::Value;

/// A time of the engine's clock and the time of day at the same moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    engine_ms: i64,
    now_ms: i64,
}

impl Clock {
    /// Takes `engine_ms`, the engine's time at `now_ms`.
    pub(crate) fn new(engine_ms: &Value, now_ms: u64) -> Clock {
        Clock {
            engine_ms: engine_ms.as_i64().unwrap_or(0),
            now_ms: i64::try_from(now_ms).unwrap_or(i64::MAX),
        }
    }

    /// Converts the engine's milliseconds to milliseconds since 1970; leaves other values alone.
    pub(crate) fn put_right(self, at: &mut Value) {
        if let Some(ms) = at.as_i64() {
            let since_ms = ms.saturating_sub(self.engine_ms);
            *at = self.now_ms.saturating_add(since_ms).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_are_shifted_and_extremes_stay_in_range() {
        let clock = Clock::new(&json!(5_000), 1_000_000);
        let shifted = |value: Value| {
            let mut value = value;
            clock.put_right(&mut value);
            value
        };
        assert_eq!(shifted(json!(4_000)), json!(999_000));
        assert_eq!(shifted(json!(6_500)), json!(1_001_500));
        assert_eq!(shifted(json!(null)), json!(null));
        assert_eq!(shifted(json!(i64::MIN)), json!(i64::MIN + 1_000_000));
        assert_eq!(shifted(json!(i64::MAX)), json!(i64::MAX));
    }
}
