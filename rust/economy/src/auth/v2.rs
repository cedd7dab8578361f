//! Version 2 of signatures: HMAC-SHA256 over method, path, query, body, user, times and nonce, in
//! the header `Authorization`:
//!
//! ```text
//! Heddle-HMAC-SHA256 user=U,timestamp=T,expires=E,nonce=N,signature=S
//! ```
//!
//! with `U` percent-encoded, in this order and spelling: any other byte makes the header malformed.
//! `canonical` has the signed text. This module checks neither replay nor expiry.

use crate::auth::amount::time_ms;
use crate::auth::canonical::{self, Signed, Validity};
use crate::auth::query::{quoted, unquoted};
use crate::auth::refusal::{Refusal, malformed};
use crate::auth::secret::{Hash, Secret};

/// The prefix of the header; any other header is of version 1, or for another scheme.
pub const SCHEME: &str = "Heddle-HMAC-SHA256 ";
const FIELDS: [&str; 5] = ["user", "timestamp", "expires", "nonce", "signature"];

/// Returns the value of the header `Authorization` for a request. The caller chooses the nonce: 16
/// to 64 random letters and digits, new every time.
pub fn header(secret: &Secret, user: &str, signed: &Signed<'_>, validity: &Validity) -> String {
    let text = canonical::request(signed, user, validity);
    format!(
        "{SCHEME}user={},timestamp={},expires={},nonce={},signature={}",
        quoted(user),
        validity.timestamp_ms,
        validity.expires_ms,
        validity.nonce,
        signature(secret, &text),
    )
}

/// Returns the signature of a canonical text, in lower-case hexadecimal digits.
pub fn signature(secret: &Secret, text: &str) -> String {
    canonical::hex(&secret.sign(Hash::Sha256, text.as_bytes()))
}

/// The unproven content of a signature of version 2.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) user: String,
    pub(crate) validity: Validity,
    signature: Vec<u8>,
}

impl Claim {
    /// Decodes the header of a request.
    pub(crate) fn of_header(header: &str) -> Result<Claim, Refusal> {
        let fields = fields(header).ok_or_else(|| {
            malformed(
                "header `Authorization`",
                "Heddle-HMAC-SHA256 user=U,timestamp=T,expires=E,nonce=N,signature=S",
            )
        })?;
        let [user, timestamp, expires, nonce, signature] = fields;
        let name = unquoted(user).filter(|name| !name.is_empty() && quoted(name) == user);
        Ok(Claim {
            user: name.ok_or_else(|| malformed("user", "a name, percent-encoded"))?,
            validity: Validity {
                timestamp_ms: time_ms("timestamp", timestamp)?,
                expires_ms: time_ms("expires", expires)?,
                nonce: canonical::nonce(nonce)?,
            },
            signature: signature_bytes(signature)?,
        })
    }

    pub(crate) fn is_proven(&self, secret: &Secret, signed: &Signed<'_>) -> bool {
        let text = canonical::request(signed, &self.user, &self.validity);
        secret.proves(Hash::Sha256, text.as_bytes(), &self.signature)
    }
}

/// Returns the values of the header's fields; `None` unless it has exactly these in this order.
fn fields(header: &str) -> Option<[&str; FIELDS.len()]> {
    let mut given = header.strip_prefix(SCHEME)?.split(',');
    let mut values = [""; FIELDS.len()];
    for (value, name) in values.iter_mut().zip(FIELDS) {
        *value = given.next()?.strip_prefix(name)?.strip_prefix('=')?;
    }
    given.next().is_none().then_some(values)
}

/// Decodes a signature of 64 lower-case hexadecimal digits.
pub(crate) fn signature_bytes(text: &str) -> Result<Vec<u8>, Refusal> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    let bytes: Option<Vec<u8>> = match text.len() {
        64 => text.as_bytes().chunks_exact(2).map(pair).collect(),
        _ => None,
    };
    bytes.ok_or_else(|| malformed("signature", "64 small hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"a secret of thirty-two bytes ...";
    const BODY: &[u8] = br#"{"rate":"0.5"}"#;

    /// The worked example: the text as a client would write it down by hand. The SHA-256 in it is
    /// `printf '%s' '{"rate":"0.5"}' | sha256sum`.
    const TEXT: &str = "HEDDLE-REQUEST-V2\n\
        POST\n\
        /heddle/v1/queues/root.alice/rate\n\
        dry=false\n\
        e6f2a6f4bebc07e5be81d15e0c96eb021fc62d973a37172bfcaa287639d37a0c\n\
        alice%40EXAMPLE\n\
        1700000000000\n\
        1700000060000\n\
        Zm9vYmFyYmF6cXV4\n";

    /// printf "$TEXT" | openssl dgst -sha256 -hmac 'a secret of thirty-two bytes ...'
    const SIGNATURE: &str = "5a9524f473a6ecd22d86cec2b58d25df96f06d8d5f6c655e31845464d3778ad2";

    fn signed() -> Signed<'static> {
        Signed {
            method: "POST",
            path: "/heddle/v1/queues/root.alice/rate",
            query: "dry=false",
            body: canonical::Body::of(BODY),
        }
    }

    fn validity() -> Validity {
        Validity {
            timestamp_ms: 1_700_000_000_000,
            expires_ms: 1_700_000_060_000,
            nonce: "Zm9vYmFyYmF6cXV4".to_string(),
        }
    }

    #[test]
    fn the_worked_example_is_signed_as_openssl_signs_it() {
        let user = "alice@EXAMPLE";
        assert_eq!(canonical::request(&signed(), user, &validity()), TEXT);
        assert_eq!(signature(&Secret::new(SECRET), TEXT), SIGNATURE);
        let header = header(&Secret::new(SECRET), user, &signed(), &validity());
        let expected = format!(
            "Heddle-HMAC-SHA256 user=alice%40EXAMPLE,timestamp=1700000000000,\
             expires=1700000060000,nonce=Zm9vYmFyYmF6cXV4,signature={SIGNATURE}"
        );
        assert_eq!(header, expected);
        let claim = Claim::of_header(&header).expect("well-formed");
        assert_eq!((claim.user.as_str(), &claim.validity), (user, &validity()));
        assert!(claim.is_proven(&Secret::new(SECRET), &signed()));
    }

    /// The page for authors of clients shows this example.
    #[test]
    fn the_example_in_the_documentation_is_this_one() {
        let page = include_str!("canonical.rs");
        let shown: Vec<String> = TEXT.lines().map(|line| format!("//! {line}\n")).collect();
        assert!(page.contains(&shown.concat()));
        assert!(page.contains(&format!("//! {SIGNATURE}\n")));
        assert!(page.contains(std::str::from_utf8(SECRET).expect("a text")));
    }

    #[test]
    fn headers_in_any_other_form_are_malformed() {
        let whole = header(&Secret::new(SECRET), "alice", &signed(), &validity());
        let (_, signature) = whole.split_once("signature=").expect("the last field");
        let changed = [
            whole.replace(SCHEME, "heddle-hmac-sha256 "),
            whole.replace("user=alice,", ""),
            whole.replace("user=alice", "user="),
            whole.replace("user=alice", "user=%61lice"),
            whole.replace("user=alice", "user=a%6"),
            whole.replace("user=alice", "user=%FF"),
            whole.replace("user=alice", "user=alice,user=bob"),
            whole.replace(",nonce", ", nonce"),
            whole.replace("=17", "=017"),
            whole.replace("=17", "=+17"),
            whole.replace("nonce=Zm9", "nonce=Zm9/"),
            whole.to_uppercase(),
            whole.replace(signature, &signature.to_uppercase()),
            whole.replace(signature, &signature.replace('0', "g")),
            format!("{whole},"),
            format!("{whole} "),
            format!("{whole},more=1"),
            whole[..whole.len() - 1].to_string(),
            SCHEME.to_string(),
            String::new(),
        ];
        for header in changed {
            let refused = Claim::of_header(&header).expect_err(&header);
            assert!(matches!(refused, Refusal::Malformed(_)), "{header}");
        }
    }
}
