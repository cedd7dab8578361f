//! Signatures of job submissions, in parameters of the job's configuration (DP-39). Version 1, as
//! published, proves only the submitter; version 2 signs one job of one queue and limits its
//! spending. Creates and checks the parameters; the engine enforces the limits of an `Authority`.
//!
//! The time of a submission, and whether it is a replay, are checked once, on arrival. A
//! ResourceManager checks only the signature of recovered applications.

use crate::auth::amount::{credits, credits_text, time_ms};
use crate::auth::canonical::{self, SignedJob, Validity};
use crate::auth::query::is_visible_ascii;
use crate::auth::refusal::{Refusal, malformed};
use crate::auth::role::is_full_path;
use crate::auth::secret::{Hash, Secret};
use crate::auth::{v1, v2};
use heddle_core::words::credits::Credits;

/// Version 1: the time of signing, ms.
pub const TIMESTAMP: &str = "mapred.job.timestamp";
/// Version 1: the signature, URL-quoted.
pub const SIGNATURE: &str = "mapred.job.signature";
/// Version 2: credits in all, highest rate, end of spending, time of signing, last time for
/// submission, nonce, signature. Any of them makes the submission one of version 2.
pub const V2: [&str; 7] = [
    "heddle.job.credits",
    "heddle.job.rate",
    "heddle.job.until",
    "heddle.job.timestamp",
    "heddle.job.expires",
    "heddle.job.nonce",
    "heddle.job.signature",
];

/// The value of an unset parameter in the template for clients: a reference to an empty one would
/// keep every ApplicationMaster from starting.
const ABSENT: &str = "none";

/// The longest value of a parameter, name of a user, or path of a queue.
const VALUE_BYTES_MAX: usize = 256;
const NAME_BYTES_MAX: usize = 4096;

/// Lists all parameters of both versions.
pub fn parameters() -> impl Iterator<Item = &'static str> {
    [TIMESTAMP, SIGNATURE].into_iter().chain(V2)
}

/// Names the variable in the environment of a job's ApplicationMaster that carries a parameter to
/// the ResourceManager, which never sees a job's configuration: `HEDDLE_JOB_CREDITS`.
pub fn variable(parameter: &str) -> String {
    let name = parameter.replace('.', "_").to_uppercase();
    match name.starts_with("HEDDLE_") {
        true => name,
        false => format!("HEDDLE_{name}"),
    }
}

/// Reads a parameter from its variable; `None` if it was not set. MapReduce joins the values of a
/// variable that is set twice with `:`, which no value contains: the first set value counts.
pub fn carried(value: &str) -> Option<&str> {
    let absent = |part: &str| part.is_empty() || part.eq_ignore_ascii_case(ABSENT);
    // An unresolved reference is no value, whatever it contains.
    if value.contains("${") {
        return None;
    }
    value.split(':').map(str::trim).find(|part| !absent(part))
}

/// A submitted job.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// The submitting user, from YARN.
    pub user: &'a str,
    /// The full path of the queue, as the engine resolved it. Version 2 signs this path, so that no
    /// change of the queues can redirect a signature.
    pub queue: &'a str,
    /// The name of the job.
    pub name: &'a str,
}

/// The limits of a job's spending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Credits in all.
    pub credits: Credits,
    /// The highest rate, per slot and interval.
    pub rate: Credits,
    /// The end of spending, ms since 1970.
    pub until_ms: u64,
}

impl Bounds {
    /// The bounds of a job that may spend nothing.
    pub const NOTHING: Bounds = Bounds {
        credits: Credits::ZERO,
        rate: Credits::ZERO,
        until_ms: 0,
    };
}

/// A proven permission of a queue's owner for one job to spend. It is not stored: a
/// ResourceManager that recovers the job proves it again from the submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The user whose credits are spent.
    pub user: String,
    /// The limits of its spending.
    pub bounds: Bounds,
    /// Makes its signature unique among this user's jobs.
    pub nonce: String,
    /// The last time for submission, ms since 1970.
    pub expires_ms: u64,
}

/// Returns the parameters of a submission of version 1.
pub fn sign_v1(secret: &Secret, user: &str, timestamp_ms: u64) -> Vec<(&'static str, String)> {
    let timestamp = timestamp_ms.to_string();
    let text = v1::signed_text("", user, &timestamp);
    let signature = v1::header(&v1::signature(secret, &text));
    vec![(TIMESTAMP, timestamp), (SIGNATURE, signature)]
}

/// Returns the parameters of a submission of version 2, as in `canonical`.
pub fn sign_v2(
    secret: &Secret,
    submission: &Submission<'_>,
    bounds: &Bounds,
    validity: &Validity,
) -> Vec<(&'static str, String)> {
    let (credits, rate) = (credits_text(bounds.credits), credits_text(bounds.rate));
    let until = bounds.until_ms.to_string();
    let signed = signed(submission, [&credits, &rate, &until]);
    let signature = v2::signature(secret, &canonical::job(&signed, validity));
    let (timestamp, expires) = (
        validity.timestamp_ms.to_string(),
        validity.expires_ms.to_string(),
    );
    let nonce = validity.nonce.clone();
    let values = [credits, rate, until, timestamp, expires, nonce, signature];
    V2.into_iter().zip(values).collect()
}

fn signed<'a>(submission: &Submission<'a>, bounds: [&'a str; 3]) -> SignedJob<'a> {
    let [credits, rate, until] = bounds;
    SignedJob {
        user: submission.user,
        queue: submission.queue,
        name: submission.name,
        credits,
        rate,
        until,
    }
}

/// The unproven content of a submission's parameters.
#[derive(Debug)]
pub(crate) enum Claim {
    V1(v1::Claim),
    V2(Box<ClaimV2>),
}

#[derive(Debug)]
pub(crate) struct ClaimV2 {
    pub(crate) validity: Validity,
    pub(crate) authority: Authority,
    text: String,
    signature: Vec<u8>,
}

impl Claim {
    /// Reads the parameters that `value` looks up by name.
    pub(crate) fn of(
        submission: &Submission<'_>,
        value: impl Fn(&str) -> Option<String>,
    ) -> Result<Claim, Refusal> {
        // Checked first: Heddle ignores everything else of an unsigned job.
        if parameters().all(|name| value(name).is_none()) {
            return Err(Refusal::Unsigned);
        }
        for (what, text) in [("user", submission.user), ("queue", submission.queue)] {
            if text.len() > VALUE_BYTES_MAX {
                return Err(Refusal::TooLarge(what, VALUE_BYTES_MAX));
            }
        }
        if !is_full_path(submission.queue) {
            return Err(malformed(
                "queue",
                "its full path, which begins with `root.`",
            ));
        }
        if submission.name.len() > NAME_BYTES_MAX {
            return Err(Refusal::TooLarge("job name", NAME_BYTES_MAX));
        }
        let need = |name: &str| {
            let fits = |value: &String| value.len() <= VALUE_BYTES_MAX && is_visible_ascii(value);
            let expected = format!("a value of at most {VALUE_BYTES_MAX} ASCII characters");
            value(name)
                .filter(fits)
                .ok_or_else(|| malformed(name, &expected))
        };
        if V2.iter().any(|name| value(name).is_some()) {
            return ClaimV2::of(submission, need).map(|claim| Claim::V2(Box::new(claim)));
        }
        v1::Claim::of_job(submission.user, &need(TIMESTAMP)?, &need(SIGNATURE)?).map(Claim::V1)
    }
}

impl ClaimV2 {
    fn of(
        submission: &Submission<'_>,
        need: impl Fn(&str) -> Result<String, Refusal>,
    ) -> Result<ClaimV2, Refusal> {
        let mut values: [String; V2.len()] = Default::default();
        for (name, value) in V2.iter().zip(&mut values) {
            *value = need(name)?;
        }
        let [in_all, rate, until, timestamp, expires, nonce, signature] = &values;
        let validity = Validity {
            timestamp_ms: time_ms(V2[3], timestamp)?,
            expires_ms: time_ms(V2[4], expires)?,
            nonce: canonical::nonce(nonce)?,
        };
        let bounds = Bounds {
            credits: credits(V2[0], in_all)?,
            rate: credits(V2[1], rate)?,
            until_ms: time_ms(V2[2], until)?,
        };
        let signed = signed(submission, [in_all, rate, until]);
        Ok(ClaimV2 {
            text: canonical::job(&signed, &validity),
            signature: v2::signature_bytes(signature)?,
            authority: Authority {
                user: submission.user.to_string(),
                bounds,
                nonce: validity.nonce.clone(),
                expires_ms: validity.expires_ms,
            },
            validity,
        })
    }

    pub(crate) fn is_proven(&self, secret: &Secret) -> bool {
        secret.proves(Hash::Sha256, self.text.as_bytes(), &self.signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"a secret of thirty-two bytes ...";

    /// Written by hand from the table in `canonical`.
    const TEXT: &str = "HEDDLE-JOB-V2\nalice\nroot.alice\nword%20count%0A%C3%A9\n12.5\n0.000001\n\
        1700003600000\n1700000000000\n1700000060000\nZm9vYmFyYmF6cXV4\n";
    /// printf "$TEXT" | openssl dgst -sha256 -hmac 'a secret of thirty-two bytes ...'
    const SIGNED: &str = "18e4b558e655b5dc78bcaa93c21d4d44f8d84c6ff5f0eef4a0abec8a629db195";
    /// printf '%s' '&user=alice&timestamp=1234567890123' |
    /// openssl dgst -sha1 -hmac 'a secret of thirty-two bytes ...' -binary | base64
    const SIGNED_V1: &str = "+mD9SxzL48F3McJrfSXSoQ6MWaM=";

    fn bounds() -> Bounds {
        Bounds {
            credits: Credits::from_micro(12_500_000),
            rate: Credits::from_micro(1),
            until_ms: 1_700_003_600_000,
        }
    }

    #[test]
    fn the_worked_example_is_signed_as_openssl_signs_it() {
        let submission = Submission {
            user: "alice",
            queue: "root.alice",
            name: "word count\n\u{e9}",
        };
        let validity = Validity {
            timestamp_ms: 1_700_000_000_000,
            expires_ms: 1_700_000_060_000,
            nonce: "Zm9vYmFyYmF6cXV4".to_string(),
        };
        let text = canonical::job(
            &signed(&submission, ["12.5", "0.000001", "1700003600000"]),
            &validity,
        );
        assert_eq!(text, TEXT);
        let parameters = sign_v2(&Secret::new(SECRET), &submission, &bounds(), &validity);
        assert_eq!(parameters.last(), Some(&(V2[6], SIGNED.to_string())));
        let parameters = sign_v1(&Secret::new(SECRET), "alice", 1_234_567_890_123);
        let quoted = SIGNED_V1
            .replace('+', "%2B")
            .replace('/', "%2F")
            .replace('=', "%3D");
        let expected = [
            (TIMESTAMP, "1234567890123".to_string()),
            (SIGNATURE, quoted),
        ];
        assert_eq!(parameters, expected);
    }

    #[test]
    fn parameters_travel_as_variables() {
        let variables: Vec<String> = parameters().map(variable).collect();
        assert_eq!(
            variables[..3],
            [
                "HEDDLE_MAPRED_JOB_TIMESTAMP",
                "HEDDLE_MAPRED_JOB_SIGNATURE",
                "HEDDLE_JOB_CREDITS"
            ]
        );
        assert_eq!(variables.len(), 9);
        for unset in [
            "",
            "none",
            "None",
            "none:none",
            ":",
            " ",
            "${heddle.job.credits}",
            "x${y}",
        ] {
            assert_eq!(carried(unset), None, "{unset}");
        }
        for set in ["12.5", "none:12.5", "12.5:none", " 12.5 ", ":12.5:7"] {
            assert_eq!(carried(set), Some("12.5"), "{set}");
        }
    }
}
