//! Hints: claims of a submission about its job. They are variables `HEDDLE_KEY` in the environment
//! of its ApplicationMaster, which `conf/mapred-site.xml` fills for every MapReduce job, or tags
//! `heddle:key=value`. Both are in the stored submission, so they outlive a ResourceManager.
//!
//! Users write all of it. An unreadable claim is left out with one line in the log; no job is
//! refused for it. The policies observe the job, and judge the worth of a claim.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::time::UNIX_EPOCH;

const VARIABLE: &str = "HEDDLE_";
const TAG: &str = "heddle:";
/// Prefixes of the variables that carry a job's signature instead of a hint.
const SIGNATURES: [&str; 2] = ["HEDDLE_JOB_", "HEDDLE_MAPRED_JOB_"];
/// The site template's value for a key that the job does not set.
const ABSENT: &str = "none";
/// YARN's name for a job without one.
const UNNAMED: &str = "N/A";
/// Most complaints logged for one job: a user must not fill the log.
const COMPLAINTS_MAX: usize = 10;
const QUOTED_MAX: usize = 60;
/// Far longer than any hint: users' text is read under the scheduler's lock.
const VALUE_MAX: usize = 200;
/// A name may be a whole query; its beginning is enough.
const GUESSED_FROM_MAX: usize = 1000;

const COUNT_MAX: i64 = 1 << 20;
const BYTES_MAX: i64 = 1 << 53;
const RATIO_MAX: f64 = 1e6;

/// The claims of a submission, with the facts that are needed to read them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Claims {
    /// The application's id, for the log.
    pub(crate) application: String,
    /// The application's type.
    pub(crate) kind: Option<String>,
    /// When it was submitted, ms since 1970.
    pub(crate) submitted_ms: i64,
    pub(crate) tags: BTreeSet<String>,
    /// The submitting user; from the submission, not from JSON.
    #[serde(skip)]
    pub(crate) user: String,
    /// The wall clock's time at 0 of the engine's clock.
    #[serde(skip)]
    pub(crate) epoch_ms: i64,
}

struct Hint {
    name: &'static str,
    /// The form of a value, for messages.
    expected: &'static str,
    /// Reads a value. Must check its form before calculating with it: users write it.
    read: fn(&str, &Claims) -> Option<i64>,
}

/// In the order of the bridge's flags `HINT_...`.
const HINTS: [Hint; 8] = [
    Hint {
        name: "maps",
        expected: "a whole number of tasks up to 1048576",
        read: count,
    },
    Hint {
        name: "reduces",
        expected: "a whole number of tasks up to 1048576",
        read: count,
    },
    Hint {
        name: "input-bytes",
        expected: "a number of bytes up to 8192t, such as 750000000 or 12g",
        read: bytes,
    },
    Hint {
        name: "shuffle-ratio",
        expected: "bytes shuffled for each byte read, such as 0.35, up to 1000000",
        read: per_mille,
    },
    Hint {
        name: "deadline",
        expected: "milliseconds since 1970, a time such as 2026-11-21T18:30:00Z, or a span after \
                   submission such as +90m (s, m, h, d); not before submission",
        read: deadline,
    },
    Hint {
        name: "map-ms",
        expected: "the mean length of a map in whole milliseconds, above 0",
        read: length,
    },
    Hint {
        name: "reduce-ms",
        expected: "the mean length of a reduce in whole milliseconds, above 0",
        read: length,
    },
    Hint {
        name: "signature",
        expected: "up to 100 letters, digits and any of . _ : + / = % -",
        read: signature,
    },
];
const SIGNATURE: usize = HINTS.len() - 1;

/// Names of all hints, such as `input-bytes`.
pub fn hints() -> impl Iterator<Item = &'static str> {
    HINTS.iter().map(|hint| hint.name)
}

/// The variable in the environment of a job's ApplicationMaster that carries a hint to the
/// ResourceManager.
pub fn hint_variable(hint: &str) -> String {
    format!("{VARIABLE}{}", hint.replace('-', "_").to_uppercase())
}

/// Values of the hints in the order of [`HINTS`], in the engine's units.
pub(crate) type Values = [Option<i64>; HINTS.len()];

/// Reads the claims of a submission about its job, and logs those that it leaves out.
pub(crate) fn read(
    claims: &Claims,
    job_name: &str,
    environment: &BTreeMap<String, String>,
) -> Values {
    let mut values = Values::default();
    // The guess comes first so that a claim replaces it.
    values[SIGNATURE] = guessed_signature(claims, job_name);
    let mut complaints = Vec::new();
    for (key, claimed) in by_key(claims, environment) {
        if let Err(complaint) = take(&key, claimed, claims, &mut values)
            && complaints.len() < COMPLAINTS_MAX
        {
            complaints.push(complaint);
        }
    }
    if !complaints.is_empty() {
        let (application, user) = (&claims.application, &claims.user);
        let complaints = complaints.join("; ");
        log::warn!("{application} of user {user}: hints were left out: {complaints}");
    }
    values
}

/// Finds the claim of each key. A variable wins over a tag: it belongs to one job, while tags may
/// be those of a whole workflow.
fn by_key<'a>(
    claims: &'a Claims,
    environment: &'a BTreeMap<String, String>,
) -> BTreeMap<String, &'a str> {
    let mut found = BTreeMap::new();
    // In order, so that of two contradicting tags the same one always wins.
    for tag in &claims.tags {
        let start = tag.get(..TAG.len());
        if start.is_some_and(|start| start.eq_ignore_ascii_case(TAG)) {
            let claim = &tag[TAG.len()..];
            let (key, value) = claim.split_once('=').unwrap_or((claim, ""));
            found.insert(key.to_lowercase(), value);
        }
    }
    for (name, value) in environment {
        let signs = SIGNATURES.iter().any(|start| name.starts_with(start));
        if let Some(key) = name.strip_prefix(VARIABLE)
            && !signs
            && !absent(value)
        {
            found.insert(key.to_lowercase().replace('_', "-"), value);
        }
    }
    found
}

/// Recognizes an unset property: the template's word for it, nothing, or an unexpanded reference.
fn absent(value: &str) -> bool {
    value.is_empty() || value.eq_ignore_ascii_case(ABSENT) || value.contains("${")
}

/// Reads one claim into `values`, or says what was expected instead.
fn take(key: &str, claimed: &str, claims: &Claims, values: &mut Values) -> Result<(), String> {
    let Some(at) = HINTS.iter().position(|hint| hint.name == key) else {
        let (key, names) = (quoted(key), hints().collect::<Vec<_>>().join(", "));
        return Err(format!("no hint is called {key}, expected one of {names}"));
    };
    let mut value = claimed.trim_matches(|c| c <= ' ');
    // MapReduce joins with ':' the values of a variable that is set twice.
    while let Some((first, rest)) = value.split_once(':')
        && first.eq_ignore_ascii_case(ABSENT)
    {
        value = rest;
    }
    if absent(value) {
        return Ok(());
    }
    let hint = &HINTS[at];
    let mut end = match value.chars().nth(VALUE_MAX) {
        None => value.len(),
        Some(_) => 0,
    };
    while end > 0 {
        if let Some(read) = (hint.read)(&value[..end], claims) {
            values[at] = Some(read);
            return Ok(());
        }
        end = value[..end].rfind(':').unwrap_or(0);
    }
    let (name, expected) = (hint.name, hint.expected);
    Err(format!("{name} is {}, expected {expected}", quoted(value)))
}

/// Shortens a user's text for the log and replaces unprintable characters.
fn quoted(text: &str) -> String {
    let printable = |c: char| if (' '..='~').contains(&c) { c } else { '?' };
    let shown: String = text.chars().take(QUOTED_MAX).map(printable).collect();
    let more = text.chars().nth(QUOTED_MAX).map_or("", |_| "...");
    format!("\"{shown}{more}\"")
}

/// Reads a number of 1 to `most` digits, and nothing else.
fn digits(text: &str, most: usize) -> Option<i64> {
    let plain = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().expect("at most 16 digits"))
}

fn count(value: &str, _: &Claims) -> Option<i64> {
    digits(value, 7).filter(|&count| count <= COUNT_MAX)
}

fn length(value: &str, _: &Claims) -> Option<i64> {
    digits(value, 12).filter(|_| !value.starts_with('0'))
}

fn bytes(value: &str, _: &Claims) -> Option<i64> {
    let unit = value.bytes().last()?.to_ascii_lowercase();
    let power = b"kmgt".iter().position(|&known| known == unit);
    let bytes = match power {
        None => digits(value, 16)?,
        Some(power) => digits(&value[..value.len() - 1], 4)? << (10 * (power + 1)),
    };
    (bytes <= BYTES_MAX).then_some(bytes)
}

fn per_mille(value: &str, _: &Claims) -> Option<i64> {
    let (whole, decimals) = value.split_once('.').unwrap_or((value, "0"));
    digits(whole, 7)?;
    digits(decimals, 9)?;
    let ratio: f64 = value.parse().expect("digits, and digits after a point");
    (ratio <= RATIO_MAX).then_some((ratio * 1000.0).round() as i64)
}

/// Reads a time, and returns it on the engine's clock.
fn deadline(value: &str, claims: &Claims) -> Option<i64> {
    let wall_ms = digits(value, 15)
        .or_else(|| Some(claims.submitted_ms + span(value)?))
        .or_else(|| instant(value))?;
    (wall_ms >= claims.submitted_ms).then_some(wall_ms - claims.epoch_ms)
}

fn span(value: &str) -> Option<i64> {
    let rest = value.strip_prefix('+')?;
    let unit = rest.chars().last()?;
    let unit_ms = match unit.to_ascii_lowercase() {
        's' => 1000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => 86_400_000,
        _ => return None,
    };
    Some(digits(&rest[..rest.len() - 1], 6)? * unit_ms)
}

/// Reads a time of ISO 8601 with its offset from UTC, up to the year 9999. Seconds are optional.
fn instant(value: &str) -> Option<i64> {
    const TO_THE_MINUTE: usize = "2026-11-21T18:30".len();
    // YARN makes tags lower case; the T and the Z must not be.
    let value = value.to_uppercase();
    let after_date = value.get("2026-11-21".len()..)?.find(['Z', '+', '-'])?;
    let (local, offset) = value.split_at(after_date + "2026-11-21".len());
    let seconds = if local.len() == TO_THE_MINUTE {
        ":00"
    } else {
        ""
    };
    let time = humantime::parse_rfc3339(&format!("{local}{seconds}Z")).ok()?;
    let utc_ms = time.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(i64::try_from(utc_ms).ok()? - offset_ms(offset)?)
}

/// Reads `Z` or `+HH:MM`, with or without seconds, up to 18 hours either way.
fn offset_ms(offset: &str) -> Option<i64> {
    if offset == "Z" {
        return Some(0);
    }
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let parts: Vec<&str> = offset[1..].split(':').collect();
    let (2 | 3) = parts.len() else { return None };
    let mut seconds = 0;
    for (part, unit) in parts.iter().zip([3600, 60, 1]) {
        let number = digits(part, 2).filter(|&number| part.len() == 2 && number < 60)?;
        seconds += number * unit;
    }
    (seconds <= 18 * 3600).then_some(sign * seconds * 1000)
}

fn signature(value: &str, claims: &Claims) -> Option<i64> {
    let known = |c: char| c.is_ascii_alphanumeric() || "._:+/=%-".contains(c);
    // YARN makes tags lower case, so case cannot distinguish signatures.
    let readable = value.len() <= 100 && value.chars().all(known);
    readable.then(|| hash(&claims.user, &value.to_lowercase()))
}

/// Guesses a signature for a MapReduce job without one: its name without numbers, which differ from
/// run to run. Lessons from "daily report 17" then apply to "daily report 18".
fn guessed_signature(claims: &Claims, job_name: &str) -> Option<i64> {
    let named = !job_name.is_empty() && job_name != UNNAMED;
    let kind = claims.kind.as_deref().filter(|_| named)?;
    if !kind.eq_ignore_ascii_case("MAPREDUCE") {
        return None;
    }
    // Counted in UTF-16 units as Java does: lessons by older names are stored.
    let mut length = 0;
    let start = job_name.chars().take_while(|c| {
        length += c.len_utf16();
        length <= GUESSED_FROM_MAX
    });
    let (mut name, mut in_number) = (String::new(), false);
    for c in start.collect::<String>().to_lowercase().chars() {
        let digit = c.is_ascii_digit();
        if !digit {
            name.push(c);
        } else if !in_number {
            name.push('#');
        }
        in_number = digit;
    }
    Some(hash(&claims.user, &name))
}

/// Hashes user and name: no user can spoil the lessons of another's jobs.
fn hash(user: &str, name: &str) -> i64 {
    let digest = Sha256::digest(format!("{user}\n{name}"));
    let start = digest.first_chunk().expect("a digest has 32 bytes");
    i64::from_be_bytes(*start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBMITTED_MS: i64 = 1_800_000_000_000;
    /// The engine's clock began a day earlier.
    const EPOCH_MS: i64 = SUBMITTED_MS - 86_400_000;

    fn alices() -> Claims {
        Claims {
            kind: Some("MapReduce".to_owned()),
            submitted_ms: SUBMITTED_MS,
            user: "alice".to_owned(),
            epoch_ms: EPOCH_MS,
            ..Claims::default()
        }
    }

    fn claimed(hint: &str, value: &str) -> Option<i64> {
        let at = hints().position(|name| name == hint).expect("a hint");
        let environment = BTreeMap::from([(hint_variable(hint), value.to_owned())]);
        read(&alices(), UNNAMED, &environment)[at]
    }

    #[test]
    fn numbers_are_read_by_their_form() {
        for (hint, value, read) in [
            ("maps", "1048576", Some(1 << 20)),
            ("maps", "1048577", None),
            ("maps", "+4", None),
            ("reduces", " 0 ", Some(0)),
            ("reduces", "-1", None),
            ("input-bytes", "750000000", Some(750_000_000)),
            ("input-bytes", "12G", Some(12 << 30)),
            ("input-bytes", "8192t", Some(1 << 53)),
            ("input-bytes", "8193t", None),
            ("input-bytes", "g", None),
            ("shuffle-ratio", "0.35", Some(350)),
            ("shuffle-ratio", "0.0005", Some(1)),
            ("shuffle-ratio", "1000000", Some(1_000_000_000)),
            ("shuffle-ratio", "1000000.1", None),
            ("shuffle-ratio", ".5", None),
            ("shuffle-ratio", "NaN", None),
            ("map-ms", "12000", Some(12_000)),
            ("map-ms", "0", None),
            ("reduce-ms", "99999999999999999999", None),
        ] {
            assert_eq!(claimed(hint, value), read, "{hint} {value}");
        }
    }

    #[test]
    fn deadlines_are_read_in_three_forms() {
        let in_a_day = Some(SUBMITTED_MS + 86_400_000 - EPOCH_MS);
        for (value, read) in [
            ("1800086400000", in_a_day),
            ("+1d", in_a_day),
            ("+24H", in_a_day),
            ("+1440m", in_a_day),
            // 1,800,000,000 s after 1970 is 2027-01-15T08:00:00Z.
            ("2027-01-16T08:00:00Z", in_a_day),
            ("2027-01-16t08:00z", in_a_day),
            ("2027-01-16T08:00:00.000Z", in_a_day),
            ("2027-01-16T10:00:00+02:00", in_a_day),
            ("2027-01-16T05:30-02:30", in_a_day),
            ("none:+1d", in_a_day),
            ("+1d:none", in_a_day),
            ("+1d:+2d", in_a_day),
            ("2027-01-16T08:00:00Z:none", in_a_day),
            ("1800000000", None),
            ("2027-01-16T08:00:00", None),
            ("2027-02-30T08:00:00Z", None),
            ("2027-01-16T08:00:00+18:01", None),
            ("2027-01-16T08:00:00+2", None),
            ("2001-01-01T00:00:00Z", None),
            ("+1000000000-12-31T00:00Z", None),
            ("+10", None),
            ("+10y", None),
            ("-10m", None),
            ("+99999999d", None),
            ("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}:+1d", None),
        ] {
            assert_eq!(claimed("deadline", value), read, "{value}");
        }
    }

    #[test]
    fn signatures_are_those_that_were_stored_by_earlier_versions() {
        let of_a_name = |name: &str| read(&alices(), name, &BTreeMap::new())[SIGNATURE];
        // `printf 'alice\ndaily report #' | sha256sum | cut -c 1-16`
        let daily = 0x0f93_6bb0_7bb8_ec7d;
        for name in ["daily report 17", "Daily Report 1"] {
            assert_eq!(of_a_name(name), Some(daily), "{name}");
        }
        assert_ne!(of_a_name("daily report #17"), Some(daily));
        for unnamed in ["", UNNAMED] {
            assert_eq!(of_a_name(unnamed), None);
        }
        // `printf 'alice\netl-7' | sha256sum | cut -c 1-16`
        assert_eq!(claimed("signature", "ETL-7"), Some(0x5c16_a460_3329_0258));
        assert_eq!(claimed("signature", "a b"), None);
    }

    #[test]
    fn any_text_is_read_or_left_out() {
        let parts = "0 19 + - : . T z m = none 2026-11-21 T18:30 \u{e9} \u{1f600} heddle:";
        let parts: Vec<&str> = parts.split(' ').collect();
        let mut random = oorandom::Rand32::new(7);
        for _ in 0..20_000 {
            let count = random.rand_range(1..8);
            let text: String = (0..count)
                .map(|_| parts[random.rand_range(0..parts.len() as u32) as usize])
                .collect();
            for hint in hints() {
                let read = claimed(hint, &text);
                let least = if hint == "signature" { i64::MIN } else { 0 };
                assert!(
                    read.is_none_or(|read| read >= least),
                    "{hint} {text}: {read:?}"
                );
            }
            let tags = BTreeSet::from([text.clone(), format!("heddle:{text}")]);
            let claims = Claims { tags, ..alices() };
            read(
                &claims,
                &text,
                &BTreeMap::from([(text.clone(), text.clone())]),
            );
        }
    }
}
