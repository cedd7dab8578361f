//! Version 1 of signatures, as published (DP-36, DP-37): HMAC-SHA1 over the query as sent, which
//! ends in the user and the timestamp. It is sent in base64, URL-quoted, in the header
//! `Authorization`. It covers neither method, path nor body. Creates and checks signatures;
//! `replay` rejects replays.

use crate::auth::amount::time_ms;
use crate::auth::query::{Parameters, quoted, unquoted};
use crate::auth::refusal::{Refusal, malformed};
use crate::auth::secret::{Hash, Secret};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Returns the signed text, which is also the query: a job's submission signs the empty `query`
/// (DP-39). The user is inserted unchanged; a client must pass it `quoted` if it has characters
/// other than letters and digits.
pub fn signed_text(query: &str, user: &str, timestamp: &str) -> String {
    format!("{query}&user={user}&timestamp={timestamp}")
}

/// Returns the signature of a text, in base64.
pub fn signature(secret: &Secret, text: &str) -> String {
    STANDARD.encode(secret.sign(Hash::Sha1, text.as_bytes()))
}

/// Returns the value of the header `Authorization`. Three characters of base64 have another meaning
/// in a URL, and the published clients quote them here, too.
pub fn header(signature: &str) -> String {
    quoted(signature)
}

/// Decodes the signature in a header, URL-quoted or, from clients that do not quote, plain.
pub(crate) fn signature_bytes(header: &str) -> Result<Vec<u8>, Refusal> {
    unquoted(header)
        .and_then(|base64| STANDARD.decode(base64).ok())
        .ok_or_else(|| malformed("signature", "base64, URL-quoted"))
}

/// The unproven content of a request of version 1.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) user: String,
    pub(crate) timestamp_ms: u64,
    signature: Vec<u8>,
    text: String,
}

impl Claim {
    /// Reads a request: its query as sent, and its header.
    pub(crate) fn of_request(query: &str, header: &str) -> Result<Claim, Refusal> {
        let parameters = Parameters::of(query)?;
        Ok(Claim {
            user: parameters.need("user")?.to_string(),
            timestamp_ms: time_ms("timestamp", parameters.need("timestamp")?)?,
            signature: signature_bytes(header)?,
            text: query.to_string(),
        })
    }

    /// Reads a job's submission by `user`.
    pub(crate) fn of_job(user: &str, timestamp: &str, signature: &str) -> Result<Claim, Refusal> {
        Ok(Claim {
            user: user.to_string(),
            timestamp_ms: time_ms("timestamp", timestamp)?,
            signature: signature_bytes(signature)?,
            text: signed_text("", user, timestamp),
        })
    }

    pub(crate) fn is_proven(&self, secret: &Secret) -> bool {
        secret.proves(Hash::Sha1, self.text.as_bytes(), &self.signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: &str = "setSpending=0.5&queue=alice&user=alice&timestamp=1234567890123";
    const SECRET: &[u8] = b"0123456789abcdef";
    /// printf '%s' "$QUERY" | openssl dgst -sha1 -hmac 0123456789abcdef -binary | base64
    const SIGNATURE: &str = "ET9MDeUyNxon/TyCKsVOTXr0rOo=";

    #[test]
    fn the_signature_is_the_one_that_openssl_makes() {
        let text = signed_text("setSpending=0.5&queue=alice", "alice", "1234567890123");
        assert_eq!(text, QUERY);
        assert_eq!(signature(&Secret::new(SECRET), &text), SIGNATURE);
        assert_eq!(header("a+b/c="), "a%2Bb%2Fc%3D");
    }

    #[test]
    fn a_header_counts_quoted_and_plain() {
        let secret = Secret::new(SECRET);
        for sent in [SIGNATURE.to_string(), header(SIGNATURE)] {
            let claim = Claim::of_request(QUERY, &sent).expect("well-formed");
            assert!(claim.is_proven(&secret), "{sent}");
            assert!(!claim.is_proven(&Secret::new(b"0123456789abcdeF")));
        }
    }

    #[test]
    fn claims_without_user_or_time_are_malformed() {
        let sent = header(SIGNATURE);
        let queries = [
            "price",
            "price&user=alice",
            "price&timestamp=5",
            "price&user=&timestamp=5",
            "price&user=a&user=b&timestamp=5",
            "price&user=a&timestamp=5&timestamp=6",
            "price&user=a&timestamp=5e3",
            "price&user=a&timestamp=-5",
            "price&user=%ff&timestamp=5",
        ];
        for query in queries {
            let refused = Claim::of_request(query, &sent).expect_err(query);
            assert!(matches!(refused, Refusal::Malformed(_)), "{query}");
        }
    }

    /// Base64 that is not the only spelling of its bytes is refused.
    #[test]
    fn signatures_have_one_base64() {
        for text in ["AA==", "AB=="] {
            assert_eq!(signature_bytes(text).is_ok(), text == "AA==");
        }
        for text in ["AA", "AA=", " AA==", "AA==\n", "%", "A%41==%", "\u{e9}"] {
            assert!(signature_bytes(text).is_err(), "{text:?}");
        }
    }
}
