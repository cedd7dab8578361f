//! The gate's clock: computes one time from the two clocks of a host. The wall clock may be set,
//! forward by mistake or back. The gate's clock never goes back, and does not follow a jump that
//! does not last. Reads no clock itself.
//!
//! A clock that goes back has only bad choices. Either expired requests become valid again and can
//! be replayed, or users are locked out until the clock has caught up.

/// The time for which the wall clock must be ahead before the gate follows it, ms.
const SETTLE_MS: u64 = 60_000;

/// Readings of a host's two clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The wall clock, ms since 1970.
    pub wall_ms: u64,
    /// A clock that is never set (`System.nanoTime`, `CLOCK_MONOTONIC`), ms since any moment.
    pub steady_ms: u64,
}

/// A reading of the gate's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Ms since 1970, to compare with clients' times.
    pub(crate) at_ms: u64,
    /// Ms that have passed, for waits.
    pub(crate) passed_ms: u64,
}

/// Computes one time from two clocks.
#[derive(Debug)]
pub(crate) struct Timekeeper {
    reading: Reading,
    steady_ms: Option<u64>,
    /// The start, in `passed_ms`, of an uninterrupted lead of the wall clock.
    ahead_since_ms: Option<u64>,
    /// The remainder of the halving, 0 or 1 ms.
    rest_ms: u64,
}

impl Timekeeper {
    /// Starts the clock of a server that started at this time.
    pub(crate) fn new(started_ms: u64) -> Timekeeper {
        Timekeeper {
            reading: Reading {
                at_ms: started_ms,
                passed_ms: 0,
            },
            steady_ms: None,
            ahead_since_ms: None,
            rest_ms: 0,
        }
    }

    /// Returns the current time. The first reading follows the wall clock. Later ones advance with
    /// the steady clock, at half speed while the wall clock is behind.
    pub(crate) fn read(&mut self, now: Now) -> Reading {
        let first = self.steady_ms.is_none();
        let before_ms = self.steady_ms.replace(now.steady_ms);
        let elapsed_ms = before_ms.map_or(0, |before| now.steady_ms.saturating_sub(before));
        let Reading { at_ms, passed_ms } = self.reading;
        let passed_ms = passed_ms.saturating_add(elapsed_ms);
        let straight_ms = at_ms.saturating_add(elapsed_ms);
        let at_ms = if first {
            at_ms.max(now.wall_ms)
        } else if now.wall_ms > straight_ms {
            let since_ms = *self.ahead_since_ms.get_or_insert(passed_ms);
            let lasts = passed_ms - since_ms >= SETTLE_MS;
            if lasts { now.wall_ms } else { straight_ms }
        } else {
            let twice_ms = elapsed_ms.saturating_add(self.rest_ms);
            self.rest_ms = twice_ms % 2;
            now.wall_ms.max(at_ms.saturating_add(twice_ms / 2))
        };
        if at_ms >= now.wall_ms {
            self.ahead_since_ms = None;
        }
        self.reading = Reading { at_ms, passed_ms };
        self.reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: u64 = 3_600_000;
    const START: u64 = 1_700_000_000_000;

    fn now(wall_ms: u64, steady_ms: u64) -> Now {
        Now { wall_ms, steady_ms }
    }

    #[test]
    fn clocks_that_agree_are_believed() {
        let mut time = Timekeeper::new(START);
        for passed in [0, 1, 1, 700, 5 * HOUR] {
            let reading = time.read(now(START + 9 + passed, 77 + passed));
            let expected = (START + 9 + passed, passed);
            assert_eq!((reading.at_ms, reading.passed_ms), expected);
        }
    }

    #[test]
    fn a_wall_clock_that_is_set_back_stops_nothing() {
        let mut time = Timekeeper::new(START);
        time.read(now(START, 0));
        // Half an hour at half speed; the wall is then a quarter of an hour behind, and so on.
        assert_eq!(time.read(now(START - HOUR, 0)).at_ms, START);
        let later = time.read(now(START - HOUR / 2, HOUR / 2));
        assert_eq!(later.at_ms, START + HOUR / 4);
        assert_eq!(later.passed_ms, HOUR / 2);
        // Single milliseconds also pass at half speed.
        for passed in 1..=1000 {
            time.read(now(START - HOUR / 2 + passed, HOUR / 2 + passed));
        }
        assert_eq!(time.reading.at_ms, START + HOUR / 4 + 500);
        // After two hours in all they agree: 2 h at half speed is 1 h, as is -1 h + 2 h.
        assert_eq!(time.read(now(START + HOUR, 2 * HOUR)).at_ms, START + HOUR);
        let agreed = time.read(now(START + HOUR + 5, 2 * HOUR + 5));
        assert_eq!(agreed.at_ms, START + HOUR + 5);
    }

    #[test]
    fn a_jump_forward_is_believed_when_it_lasts() {
        let mut time = Timekeeper::new(START);
        time.read(now(START, 0));
        assert_eq!(time.read(now(START + HOUR, 10)).at_ms, START + 10);
        assert_eq!(time.read(now(START + 20, 20)).at_ms, START + 20, "over");
        assert_eq!(time.read(now(START + HOUR, 30)).at_ms, START + 30);
        let before = time.read(now(START + HOUR, 29 + SETTLE_MS));
        assert_eq!(before.at_ms, START + 29 + SETTLE_MS);
        let lasted = time.read(now(START + HOUR, 30 + SETTLE_MS));
        assert_eq!(lasted.at_ms, START + HOUR);
        assert_eq!(lasted.passed_ms, 30 + SETTLE_MS, "no wait is shorter");
    }

    #[test]
    fn a_start_after_the_wall_is_believed() {
        assert_eq!(Timekeeper::new(START).read(now(5, 5)).at_ms, START);
    }

    proptest! {
        /// Whatever the clocks show, the gate's clock and its waits never go back. The gate's clock
        /// is never ahead of the steady clock, unless the wall shows that time.
        #[test]
        fn time_does_not_go_back(
            shown in prop::collection::vec((any::<u32>(), any::<u32>()), 1..60),
        ) {
            let mut time = Timekeeper::new(0);
            let mut before = time.read(now(0, 0));
            for (wall, steady) in shown.into_iter().chain([(u32::MAX, u32::MAX)]) {
                let reading = time.read(now(wall.into(), steady.into()));
                prop_assert!(reading.at_ms >= before.at_ms);
                prop_assert!(reading.passed_ms >= before.passed_ms);
                let passed = reading.passed_ms - before.passed_ms;
                prop_assert!(reading.at_ms == u64::from(wall)
                    || reading.at_ms <= before.at_ms + passed);
                before = reading;
            }
            time.read(now(u64::MAX, u64::MAX));
            time.read(now(0, 0));
        }
    }
}
