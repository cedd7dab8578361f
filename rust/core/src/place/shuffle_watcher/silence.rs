//! Warns once of links that never count as full because nothing tells their traffic. Changes no
//! decision.

use crate::words::ids::Millis;

/// Time without any source before the warning: several intervals of the polls.
const SILENCE_MS: Millis = 60_000;

/// Sources that were heard.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Whether a node or the host has told what crosses.
    pub(super) measured: bool,
    /// Whether an ApplicationMaster has told its counters.
    pub(super) counted: bool,
    since_ms: Option<Millis>,
    warned: bool,
}

impl Silence {
    /// Warns if nothing was heard for `SILENCE_MS`. `configured` tells whether the capacity of
    /// links is configured, `expected` whether any source could report now.
    pub(super) fn look(&mut self, now: Millis, configured: bool, expected: impl Fn() -> bool) {
        if !self.lasts(now, configured, expected) {
            return;
        }
        if configured {
            log::warn!(
                "no link between racks counts as full: neither NodeManagers nor \
                 ApplicationMasters tell their traffic. Reduces go before maps on every rack. \
                 Set heddle.nm-poll.enable or heddle.am-poll.enable"
            );
        } else {
            log::warn!(
                "no link between racks counts as full: no NodeManager tells its shuffle metrics, \
                 so the capacity of links is unknown. Reduces go before maps on every rack. Set \
                 heddle.nm-poll.enable, or shuffle_watcher.uplink_bytes_per_s"
            );
        }
    }

    /// Tells once that the silence has lasted. Counters suffice beside a configured capacity.
    fn lasts(&mut self, now: Millis, configured: bool, expected: impl Fn() -> bool) -> bool {
        let heard = self.measured || (configured && self.counted);
        if self.warned || heard || !expected() {
            self.since_ms = None;
            return false;
        }
        self.warned = now - *self.since_ms.get_or_insert(now) >= SILENCE_MS;
        self.warned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks once a second for two minutes; returns when it warns.
    fn warnings(silence: &mut Silence, configured: bool, expected: bool) -> Vec<Millis> {
        let seconds = (0..120).map(|second| second * 1_000);
        let warns = seconds.filter(|now| silence.lasts(*now, configured, || expected));
        warns.collect()
    }

    #[test]
    fn without_a_capacity_nodes_are_expected_within_a_minute() {
        assert_eq!(warnings(&mut Silence::default(), false, true), [60_000]);
        let counted = || Silence {
            counted: true,
            ..Silence::default()
        };
        // Counters do not tell how much a link can carry.
        assert_eq!(warnings(&mut counted(), false, true), [60_000]);
        assert_eq!(warnings(&mut counted(), true, true), [0; 0]);
        let mut measured = Silence {
            measured: true,
            ..Silence::default()
        };
        assert_eq!(warnings(&mut measured, false, true), [0; 0]);
    }

    #[test]
    fn what_cannot_be_heard_is_not_missed() {
        let mut silence = Silence::default();
        assert_eq!(warnings(&mut silence, false, false), [0; 0]);
        assert!(!silence.lasts(120_000, false, || true), "the first node");
        assert!(!silence.lasts(179_999, false, || true));
        assert!(silence.lasts(180_000, false, || true));
    }

    #[test]
    fn with_a_capacity_a_job_that_shuffles_must_be_heard() {
        assert_eq!(warnings(&mut Silence::default(), true, false), [0; 0]);
        assert_eq!(warnings(&mut Silence::default(), true, true), [60_000]);
    }
}
