//! Why a request is refused: what its sender is told, and the status of HTTP that goes with it.
//! Says the same of an unknown user and of a wrong signature, and never repeats what was sent:
//! it ends up in logs, pages and terminals.

use std::fmt;

/// Why a request or a submission is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// More bytes than are read; what, and how many at most.
    TooLarge(&'static str, usize),
    /// It cannot be understood; what, what was expected. Made of our own words only.
    Malformed(String),
    /// It is not signed, and what it asks for needs a signature.
    Unsigned,
    /// It is signed as published (version 1), which is switched off, for all or for this user.
    V1Off,
    /// Version 1 signs the query alone: no body, and only the published interface.
    V1SignsTheQueryOnly,
    /// The user is unknown or the signature is not of this text: told alike.
    WrongSignature,
    /// The timestamp is further from the server's clock than is allowed; the clock, in ms.
    Skewed(u64),
    /// It has expired; the server's clock, in ms.
    Expired(u64),
    /// It was to be valid for longer than is allowed; how long at most, in ms.
    ValidTooLong(u64),
    /// It was accepted before, or is older than one that was (DP-38).
    Replayed,
    /// What expires at this time (ms since 1970) or before is remembered no more: whether it was
    /// accepted before is not known.
    Forgotten(u64),
    /// So many requests or jobs of the user are signed for long that no other can be remembered for
    /// as long; when the first of them expires, in ms since 1970.
    TooManyUnexpired(u64),
    /// The role or the queue does not allow it.
    NotAllowed,
    /// Too many refused requests of this user or address; when to try again, in ms from now.
    TooManyFailures(u64),
}

impl Refusal {
    /// Whether it is of somebody who proved who they are: told what is wrong however often others
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

    /// The status of the answer over HTTP.
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

    /// One word for the audit log, which does not change when the sentence does.
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
                "ACCESS DENIED: it must expire after its timestamp, and within {most} ms"
            ),
            Refusal::Replayed => f.write_str(
                "ACCESS DENIED: accepted before, or older than what was; sign again with the \
                 present time",
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

/// A part that cannot be understood: which, and what was expected.
pub(crate) fn malformed(what: &str, expected: &str) -> Refusal {
    Refusal::Malformed(format!("{what}: expected {expected}"))
}
