//! The texts that version 2 signs, byte for byte: the page for authors of clients. Computes no
//! signature and checks no time.
//!
//! Every text consists of lines that end in a newline (0x0A), the last one too. The first line
//! names the text, so that a signature of one kind is never one of the other. Names (users, queues,
//! jobs) are percent-encoded. This covers all bytes of their UTF-8 except letters, digits, `-`,
//! `.`, `_` and `~`, in capital digits (RFC 3986; `urllib.parse.quote(name, safe='')`). So no name
//! can begin a line. Times are milliseconds since 1970 in plain digits. The signature is the
//! HMAC-SHA256 of the text under the user's secret, in 64 lower-case hexadecimal digits.
//!
//! # A request
//!
//! | line | content |
//! | --- | --- |
//! | 1 | `HEDDLE-REQUEST-V2` |
//! | 2 | the method, in capitals |
//! | 3 | the path as sent, with its escapes, without the query |
//! | 4 | the query as sent, without the question mark; empty if there is none |
//! | 5 | the SHA-256 of the body, or of no bytes, in 64 lower-case hexadecimal digits |
//! | 6 | the user, encoded |
//! | 7, 8 | the time of signing; the time of expiry |
//! | 9 | the nonce: 16 to 64 letters, digits, `-` and `_`, never used before |
//!
//! The text omits the host, because both ResourceManagers of a pair must accept the request. An
//! operator of two clusters gives a user two secrets. The order of parameters stays as sent: a
//! proxy that reorders them breaks the signature.
//!
//! For example, user `alice@EXAMPLE` with the secret `a secret of thirty-two bytes ...` sends the
//! body `{"rate":"0.5"}`:
//!
//! ```text
//! HEDDLE-REQUEST-V2
//! POST
//! /heddle/v1/queues/root.alice/rate
//! dry=false
//! e6f2a6f4bebc07e5be81d15e0c96eb021fc62d973a37172bfcaa287639d37a0c
//! alice%40EXAMPLE
//! 1700000000000
//! 1700000060000
//! Zm9vYmFyYmF6cXV4
//! ```
//!
//! With these lines in the file `text`, `openssl dgst -sha256 -hmac "$secret" text` prints
//!
//! ```text
//! 5a9524f473a6ecd22d86cec2b58d25df96f06d8d5f6c655e31845464d3778ad2
//! ```
//!
//! # A job
//!
//! | line | content |
//! | --- | --- |
//! | 1 | `HEDDLE-JOB-V2` |
//! | 2, 3, 4 | the user, the full path of the queue, and the job's name, encoded |
//! | 5, 6 | the credits that it may spend in all; the highest rate; as sent |
//! | 7 | the time until which it may spend |
//! | 8, 9, 10 | the time of signing; the last time for submission; the nonce |

use crate::auth::query::quoted;
use crate::auth::refusal::{Refusal, malformed};
use sha2::{Digest, Sha256};

const NONCE_MIN: usize = 16;
const NONCE_MAX: usize = 64;

/// The times of a signature, and the nonce that makes it unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The time of signing, in milliseconds since 1970 by the client's clock.
    pub timestamp_ms: u64,
    /// The time from which it is refused.
    pub expires_ms: u64,
    /// Never used before by this user.
    pub nonce: String,
}

/// The parts of a request that its signature covers.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The path, as sent.
    pub path: &'a str,
    /// The query as sent, without the question mark.
    pub query: &'a str,
    /// The whole body.
    pub body: Body,
}

/// Length and hash of a body. A server computes them before it locks the gate, so that a long body
/// delays no other request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    bytes: usize,
    sha256: [u8; 32],
}

impl Body {
    /// Hashes all bytes of a body; a request without one has no bytes.
    pub fn of(bytes: &[u8]) -> Body {
        Body {
            bytes: bytes.len(),
            sha256: Sha256::digest(bytes).into(),
        }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Tells whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

/// Encodes bytes in lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the text of a request.
pub fn request(signed: &Signed<'_>, user: &str, validity: &Validity) -> String {
    format!(
        "HEDDLE-REQUEST-V2\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n",
        signed.method,
        signed.path,
        signed.query,
        hex(&signed.body.sha256),
        quoted(user),
        validity.timestamp_ms,
        validity.expires_ms,
        validity.nonce,
    )
}

/// The parts of a submission that its signature covers besides its validity: the job, and the
/// bounds of its spending, as texts.
#[derive(Clone, Copy, Debug)]
pub struct SignedJob<'a> {
    /// The user who signs, and submits.
    pub user: &'a str,
    /// The full path of the queue.
    pub queue: &'a str,
    /// The name of the job, as submitted.
    pub name: &'a str,
    /// Credits in all, as sent.
    pub credits: &'a str,
    /// The highest rate, as sent.
    pub rate: &'a str,
    /// The end of its spending, as sent.
    pub until: &'a str,
}

/// Returns the text of a job.
pub fn job(signed: &SignedJob<'_>, validity: &Validity) -> String {
    format!(
        "HEDDLE-JOB-V2\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n",
        quoted(signed.user),
        quoted(signed.queue),
        quoted(signed.name),
        signed.credits,
        signed.rate,
        signed.until,
        validity.timestamp_ms,
        validity.expires_ms,
        validity.nonce,
    )
}

/// Checks the form of a nonce.
pub(crate) fn nonce(text: &str) -> Result<String, Refusal> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (NONCE_MIN..=NONCE_MAX).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(text.to_string())
    } else {
        Err(malformed("nonce", "16 to 64 letters, digits, `-` and `_`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validity() -> Validity {
        Validity {
            timestamp_ms: 7,
            expires_ms: 8,
            nonce: "n".repeat(16),
        }
    }

    #[test]
    fn names_cannot_begin_a_line() {
        let signed = SignedJob {
            user: "a",
            queue: "q",
            name: "n\n1\n2",
            credits: "1",
            rate: "2",
            until: "3",
        };
        let text = job(&signed, &validity());
        assert_eq!(text.lines().count(), 10);
        assert!(text.contains("\nn%0A1%0A2\n"));
        let shifted = SignedJob {
            queue: "q\nn",
            name: "1\n2",
            ..signed
        };
        assert_ne!(job(&shifted, &validity()), text);
    }

    #[test]
    fn no_body_is_no_bytes() {
        let signed = Signed {
            method: "GET",
            path: "/",
            query: "",
            body: Body::of(b""),
        };
        // sha256sum </dev/null
        let none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let text =
            format!("HEDDLE-REQUEST-V2\nGET\n/\n\n{none}\nu%C3%A9\n7\n8\nnnnnnnnnnnnnnnnn\n");
        assert_eq!(request(&signed, "u\u{e9}", &validity()), text);
    }

    #[test]
    fn nonces_have_a_form() {
        assert!(nonce("AZaz09-_AZaz09-_").is_ok() && nonce(&"a".repeat(64)).is_ok());
        for text in [
            "",
            "short",
            "0123456789abcde\n",
            "0123456789abcde ",
            "0123456789abcde\u{e9}",
        ] {
            assert!(nonce(text).is_err(), "{text:?}");
        }
        assert!(nonce(&"a".repeat(65)).is_err());
    }
}
