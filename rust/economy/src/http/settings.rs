//! Section `api` of `heddle.json`: the operator's settings for the remote interface. Reads no file;
//! the secrets are in the ACL file, and only its name is here.

use crate::auth::gate;
use crate::auth::replay::Clock;
use heddle_core::config::{ConfigError, Section};
use serde_json::Value;
use std::path::PathBuf;

/// A day of intervals of 20 s.
const HISTORY_INTERVALS: i64 = 4_320;
const HISTORY_INTERVALS_MAX: i64 = 100_000;
/// Longer than an editor takes to write a file.
const ACL_SETTLE_MS: i64 = 2_000;
const DAY_MS: i64 = 86_400_000;

/// The settings of the section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Users, roles and secrets; without this file, only open routes are answered.
    pub(crate) acl_file: Option<PathBuf>,
    /// How long the file must be unchanged before it is read again, ms.
    pub(crate) acl_settle_ms: u64,
    /// Whether signatures of version 1 are accepted, as published.
    pub(crate) v1: bool,
    /// Limits on clients' times.
    pub(crate) clock: Clock,
    /// Limit of allocation intervals in memory.
    pub(crate) history_intervals: usize,
    /// Whether a user found by the ResourceManager's web authentication may read without a
    /// signature. Off: in a cluster without Kerberos any client can claim any name there.
    pub(crate) trust_web_user: bool,
    /// Whether unsigned jobs are refused. Off: a given signature is still checked, and today's
    /// unsigned jobs continue to run.
    pub(crate) require_signed_jobs: bool,
}

impl Settings {
    /// Reads the section; all of its keys are optional, and so is the section (`null`).
    pub(crate) fn read(section: &Value) -> Result<Settings, ConfigError> {
        let empty = serde_json::json!({});
        let mut section = Section::new("api", if section.is_null() { &empty } else { section })?;
        let plain = Clock::default();
        let acl_file = section.text("acl_file")?;
        if acl_file == Some("") {
            let problem = "expected the path of a file, or no such key";
            return Err(ConfigError::new(section.key("acl_file"), problem));
        }
        let mut whole = |key, least, most, absent: u64| {
            let number = section.whole(key, least, most)?;
            Ok(number.map_or(absent, |number| number as u64))
        };
        let acl_settle_ms = whole("acl_settle_ms", 0, 3_600_000, ACL_SETTLE_MS as u64)?;
        let clock = Clock {
            skew_ms: whole("skew_ms", 1_000, DAY_MS, plain.skew_ms)?,
            valid_max_ms: whole("valid_max_ms", 1_000, 30 * DAY_MS, plain.valid_max_ms)?,
        };
        let (few, most) = (HISTORY_INTERVALS as u64, HISTORY_INTERVALS_MAX);
        let history_intervals = whole("history_intervals", 1, most, few)? as usize;
        let settings = Settings {
            acl_file: acl_file.map(PathBuf::from),
            acl_settle_ms,
            v1: section.boolean("v1")?.unwrap_or(true),
            clock,
            history_intervals,
            trust_web_user: section.boolean("trust_web_user")?.unwrap_or(false),
            require_signed_jobs: section.boolean("require_signed_jobs")?.unwrap_or(false),
        };
        if settings.require_signed_jobs && settings.acl_file.is_none() {
            let problem = "expected false where there is no `acl_file`: no job could be signed";
            return Err(ConfigError::new(
                section.key("require_signed_jobs"),
                problem,
            ));
        }
        section.finish()?;
        Ok(settings)
    }

    /// Returns the settings of the gate.
    pub(crate) fn gate(&self) -> gate::Settings {
        gate::Settings {
            v1: self.v1,
            clock: self.clock,
            ..gate::Settings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_keys_are_optional_and_so_is_the_section() {
        let plain = Settings::read(&json!({})).expect("a good section");
        assert_eq!(Settings::read(&Value::Null).as_ref(), Ok(&plain));
        assert!(plain.v1 && !plain.trust_web_user && plain.acl_file.is_none());
        assert!(
            !plain.require_signed_jobs,
            "the jobs of today have no signature"
        );
        let all = json!({"acl_file": "/etc/acl", "acl_settle_ms": 0, "v1": false, "skew_ms": 5000,
                         "valid_max_ms": 60_000, "history_intervals": 3, "trust_web_user": true,
                         "require_signed_jobs": true});
        let expected = Settings {
            acl_file: Some(PathBuf::from("/etc/acl")),
            acl_settle_ms: 0,
            v1: false,
            clock: Clock {
                skew_ms: 5_000,
                valid_max_ms: 60_000,
            },
            history_intervals: 3,
            trust_web_user: true,
            require_signed_jobs: true,
        };
        assert_eq!(Settings::read(&all), Ok(expected));
    }

    #[test]
    fn wrong_keys_and_values_are_refused_where_they_stand() {
        let cases = [
            (
                json!({"acl_fil": "x"}),
                "api.acl_fil",
                "did you mean `acl_file`",
            ),
            (json!({"acl_file": 1}), "api.acl_file", "expected a text"),
            (json!({"acl_file": ""}), "api.acl_file", "expected the path"),
            (json!({"v1": "yes"}), "api.v1", "expected true or false"),
            (
                json!({"history_intervals": 0}),
                "api.history_intervals",
                "from 1 to",
            ),
            (
                json!({"skew_ms": -1}),
                "api.skew_ms",
                "expected a whole number",
            ),
            (
                json!({"require_signed_jobs": true}),
                "api.require_signed_jobs",
                "expected false where there is no `acl_file`",
            ),
            (json!([]), "api", "expected an object"),
        ];
        for (section, key, problem) in cases {
            let error = Settings::read(&section).expect_err(&format!("{section} is wrong"));
            assert_eq!(error.key, key, "{error}");
            assert!(error.problem.contains(problem), "{error}");
        }
    }
}
