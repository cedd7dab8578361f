//! The reasons for a refusal: the message to the sender, and its HTTP status. An unknown user and a
//! wrong signature get the same message. No message repeats input, because it ends up in logs,
//! pages and terminals.

use std::fmt;

/// The reason why a request or a submission is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// More bytes than the limit; the part, and the limit.
    TooLarge(&'static str, usize),
    /// It cannot be parsed; the part, and the expected form. Contains Heddle's words only.
    Malformed(String),
    /// It is unsigned, and its action needs a signature.
    Unsigned,
    /// Its signature is of version 1, which is switched off, for all users or for this one.
    V1Off,
    /// Version 1 signs the query alone: no body, and only the published interface.
    V1SignsTheQueryOnly,
    /// The user is unknown, or the signature does not match: both look alike.
    WrongSignature,
    /// The timestamp differs from the server's clock by more than the skew; the clock, in ms.
    Skewed(u64),
    /// It has expired; the server's clock, in ms.
    Expired(u64),
    /// Its validity is too long; the limit, in ms.
    ValidTooLong(u64),
    /// It was accepted before, or is older than an accepted one (DP-38).
    Replayed,
    /// Nonces that expire at this time (ms since 1970) or earlier are forgotten: it may have been
    /// accepted before.
    Forgotten(u64),
    /// The user's remembered requests or jobs have reached their limit, and expire too late to be
    /// forgotten; the first expiry, in ms since 1970.
    TooManyUnexpired(u64),
    /// The role or the queue does not allow it.
    NotAllowed,
    /// Too many refused requests of this user or address; the time to wait, in ms.
    TooManyFailures(u64),
}

impl Refusal {
    /// Tells whether the sender is proven. Such a sender learns the reason, however often others
    /// failed in their name.
    pub(crate) fn is_of_proven(&self) -> bool {
        match self {
            Refusal::Skewed(_)
            | Refusal::Expired(_)
            | Refusal::ValidTooLong(_)
            | Refusal::Replayed
            | Refusal::Forgotten(_)
            | Refusal::TooManyUnexpired(_)
            | Refusal::NotAllowed => true,
            Refusal::TooLarge(..)
            | Refusal::Malformed(_)
            | Refusal::Unsigned
            | Refusal::V1Off
            | Refusal::V1SignsTheQueryOnly
            | Refusal::WrongSignature
            | Refusal::TooManyFailures(_) => false,
        }
    }

    /// Returns the HTTP status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Refusal::Malformed(_) => 400,
            Refusal::NotAllowed => 403,
            Refusal::TooLarge(..) => 413,
            Refusal::TooManyFailures(_) | Refusal::TooManyUnexpired(_) | Refusal::Forgotten(_) => {
                429
            }
            _ => 401,
        }
    }

    /// Returns a word for the audit log, which stays the same when the message changes.
    pub fn word(&self) -> &'static str {
        match self {
            Refusal::TooLarge(..) => "too-large",
            Refusal::Malformed(_) => "malformed",
            Refusal::Unsigned => "unsigned",
            Refusal::V1Off => "v1-off",
            Refusal::V1SignsTheQueryOnly => "v1-signs-the-query-only",
            Refusal::WrongSignature => "wrong-signature",
            Refusal::Skewed(_) => "skewed",
            Refusal::Expired(_) => "expired",
            Refusal::ValidTooLong(_) => "valid-too-long",
            Refusal::Replayed => "replayed",
            Refusal::Forgotten(_) => "forgotten",
            Refusal::TooManyUnexpired(_) => "too-many-unexpired",
            Refusal::NotAllowed => "not-allowed",
            Refusal::TooManyFailures(_) => "too-many-failures",
        }
    }
}

/// The published words come first (DP-33): clients look for them.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooLarge(what, most) => write!(f, "{what}: more than {most} bytes"),
            Refusal::Malformed(what) => f.write_str(what),
            Refusal::Unsigned => f.write_str("ACCESS DENIED: the request is not signed"),
            Refusal::V1Off => f.write_str(
                "ACCESS DENIED: signatures of version 1 (SHA-1) are switched off; use version 2",
            ),
            Refusal::V1SignsTheQueryOnly => f.write_str(
                "ACCESS DENIED: a signature of version 1 covers the query only; \
                 send no body, or use version 2",
            ),
            Refusal::WrongSignature => {
                f.write_str("ACCESS DENIED: unknown user, or not the signature of this request")
            }
            Refusal::Skewed(now) => write!(
                f,
                "ACCESS DENIED: the timestamp is too far from the server's clock, {now} ms"
            ),
            Refusal::Expired(now) => write!(
                f,
                "ACCESS DENIED: the signature has expired; the server's clock is {now} ms"
            ),
            Refusal::ValidTooLong(most) => write!(
                f,
                "ACCESS DENIED: it must expire after its timestamp, at most {most} ms later"
            ),
            Refusal::Replayed => f.write_str(
                "ACCESS DENIED: this request, or a later one of this user, was accepted before; \
                 sign again with the present time",
            ),
            Refusal::Forgotten(until) => write!(
                f,
                "ACCESS DENIED: too many requests of this user at a time: what expires at {until} \
                 ms or before may have been accepted before; sign again, to expire later"
            ),
            Refusal::TooManyUnexpired(first) => write!(
                f,
                "ACCESS DENIED: too many signatures of this user that have not expired; the first \
                 expires at {first} ms; sign for a shorter time"
            ),
            Refusal::NotAllowed => {
                f.write_str("ACCESS DENIED: the user's role or queue does not allow it")
            }
            Refusal::TooManyFailures(wait) => {
                write!(
                    f,
                    "ACCESS DENIED: too many failures; try again in {wait} ms"
                )
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Returns the refusal of a part that cannot be parsed; `expected` is its form.
pub(crate) fn malformed(what: &str, expected: &str) -> Refusal {
    Refusal::Malformed(format!("{what}: expected {expected}"))
}
