//! Times as people read them.

use heddle_core::words::ids::Millis;

const DAY_S: i64 = 86_400;
/// Days in four hundred years, after which the calendar repeats.
const DAYS_400: i64 = 146_097;

/// Returns a time since 1970 as UTC, without the part of a second: `2026-11-25T10:00:00Z`.
pub(crate) fn utc(ms: Millis) -> String {
    let seconds = ms.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
    let mut year = 1970 + days.div_euclid(DAYS_400) * 400;
    let mut day = days.rem_euclid(DAYS_400);
    while day >= days_of(year) {
        day -= days_of(year);
        year += 1;
    }
    let february = days_of(year) - 337;
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!(
        "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z",
        day + 1
    )
}

fn days_of(year: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    365 + i64::from(is_leap)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What GNU `date -u -d @SECONDS` says.
    #[test]
    fn times_are_those_of_date() {
        let known = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_700_000_002_999, "2023-11-14T22:13:22Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ];
        for (ms, text) in known {
            assert_eq!(utc(ms), text);
        }
        assert!(utc(Millis::MAX).starts_with('2'));
    }
}
