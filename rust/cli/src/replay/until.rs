//! The end of a replay: a frame or a time.

use heddle::replay::Counts;
use std::str::FromStr;
use std::time::UNIX_EPOCH;

/// The value of `--until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The number of the last frame.
    Frame(u64),
    /// The last moment, in ms since 1970.
    Time(i64),
}

impl FromStr for Until {
    type Err = String;

    fn from_str(text: &str) -> Result<Until, String> {
        if let Ok(frame) = text.parse() {
            return Ok(Until::Frame(frame));
        }
        let time = humantime::parse_rfc3339_weak(text).ok();
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let ms = since.and_then(|since| i64::try_from(since.as_millis()).ok());
        ms.map(Until::Time).ok_or_else(|| {
            "expected a number of a frame, or a time in UTC such as 2026-11-24T10:00:00Z".to_owned()
        })
    }
}

impl Until {
    /// Whether the replay ends here, regardless of the next input.
    pub(super) fn is_reached(&self, counts: &Counts) -> bool {
        matches!(self, Until::Frame(frame) if counts.frames >= *frame)
    }

    /// Whether an input at this time, in ms since 1970, comes too late.
    pub(super) fn is_over(&self, at_ms: i64) -> bool {
        matches!(self, Until::Time(last) if at_ms > *last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_times_are_told_apart() {
        assert_eq!("17".parse(), Ok(Until::Frame(17)));
        // date -u -d @1700000000
        let time = Ok(Until::Time(1_700_000_000_000));
        assert_eq!("2023-11-14T22:13:20Z".parse(), time);
        assert_eq!("2023-11-14 22:13:20".parse(), time);
        for wrong in [
            "",
            "-1",
            "noon",
            "2023-13-01T00:00:00Z",
            "1969-01-01T00:00:00Z",
        ] {
            let refused: Result<Until, String> = wrong.parse();
            assert!(refused.unwrap_err().contains("a time in UTC"), "{wrong}");
        }
    }
}
