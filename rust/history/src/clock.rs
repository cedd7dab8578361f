//! Times as people read them.

use heddle_core::words::ids::Millis;
use std::time::{Duration, UNIX_EPOCH};

/// The end of the year 9999 in ms, beyond which times have no such form.
const LAST_MS: u64 = 253_402_300_799_000;

/// Returns a time since 1970 as UTC, without the part of a second: `2026-11-25T10:00:00Z`.
pub(crate) fn utc(ms: Millis) -> String {
    let since = Duration::from_millis((ms.max(0) as u64).min(LAST_MS));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `date -u -d @SECONDS` of GNU prints them.
    #[test]
    fn times_are_those_of_date() {
        let known = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_700_000_002_999, "2023-11-14T22:13:22Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-1, "1970-01-01T00:00:00Z"),
            (Millis::MAX, "9999-12-31T23:59:59Z"),
        ];
        for (ms, text) in known {
            assert_eq!(utc(ms), text);
        }
    }
}
