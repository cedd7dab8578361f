//! The texts that version 2 signs, byte for byte. Whoever writes a client reads this file; it
//! computes no signature and checks no time.
//!
//! Every text is lines that end in a newline (0x0A), the last one too. The first line names the
//! text, so that a signature of one kind is never one of the other. Names (users, queues, jobs)
//! are percent-encoded: all bytes of their UTF-8 but letters, digits, `-`, `.`, `_` and `~`, in
//! capital digits (RFC 3986; `urllib.parse.quote(name, safe='')`); so no name can begin a line.
//! Times are milliseconds since 1970 in plain digits. The signature is the HMAC-SHA256 of the
//! text under the user's secret, in 64 small hexadecimal digits.
//!
//! # A request
//!
//! | line | what |
//! | --- | --- |
//! | 1 | `HEDDLE-REQUEST-V2` |
//! | 2 | the method, in capitals |
//! | 3 | the path as sent, with its escapes, without the query |
//! | 4 | the query as sent, without the question mark; empty if there is none |
//! | 5 | the SHA-256 of the body, in 64 small hexadecimal digits; of no body, that of no bytes |
//! | 6 | the user, encoded |
//! | 7, 8 | when it was signed; when it expires |
//! | 9 | the nonce: 16 to 64 letters, digits, `-` and `_`, never used before |
//!
//! The host is not in it, as both ResourceManagers of a pair must accept it: who runs two clusters
//! gives a user two secrets. Nor is the order of parameters changed: a proxy that reorders them
//! breaks the signature.
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
//! | line | what |
//! | --- | --- |
//! | 1 | `HEDDLE-JOB-V2` |
//! | 2, 3, 4 | the user, the full path of the queue, and the job's name, encoded |
//! | 5, 6 | the credits that it may spend in all; the highest rate; as sent |
//! | 7 | until when it may spend |
//! | 8, 9, 10 | when it was signed; until when it may be submitted; the nonce |

use crate::query::quoted;
use crate::refusal::{Refusal, malformed};
use sha2::{Digest, Sha256};

const NONCE_MIN: usize = 16;
const NONCE_MAX: usize = 64;

/// When a signature was made, until when it counts, and what makes it the only one of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validity {
    /// When it was signed, in milliseconds since 1970 by the client's clock.
    pub timestamp_ms: u64,
    /// From when on it is refused.
    pub expires_ms: u64,
    /// Never used before by this user.
    pub nonce: String,
}

/// What a request's signature covers.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// In capitals.
    pub method: &'a str,
    /// As sent.
    pub path: &'a str,
    /// As sent, without the question mark.
    pub query: &'a str,
    /// All of it.
    pub body: Body,
}

/// What a signature covers of a body. A server makes it before it locks the gate, and so that of a
/// long body keeps nobody waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    bytes: usize,
    sha256: [u8; 32],
}

impl Body {
    /// Of all bytes of a body; of a request without one, of none.
    pub fn of(bytes: &[u8]) -> Body {
        Body {
            bytes: bytes.len(),
            sha256: Sha256::digest(bytes).into(),
        }
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

/// In small digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text of a request.
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

/// What a job's signature covers besides its validity: the submission, and the bounds of what
/// the job may spend, as texts.
#[derive(Clone, Copy, Debug)]
pub struct SignedJob<'a> {
    /// Who signs, and submits.
    pub user: &'a str,
    /// Its full path.
    pub queue: &'a str,
    /// As submitted.
    pub name: &'a str,
    /// Credits in all, as sent.
    pub credits: &'a str,
    /// The highest rate, as sent.
    pub rate: &'a str,
    /// The end of its spending, as sent.
    pub until: &'a str,
}

/// The text of a job.
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

/// A nonce that may stand in a text, or why not.
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
