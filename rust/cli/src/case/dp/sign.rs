//! Op `sign`: the signature of a request to the remote interface, as its clients make it
//! (DP-36, DP-37). Makes signatures; it is no place that checks any.

use super::super::CaseError;
use super::super::input::Input;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha1::Sha1;

pub(super) fn answer(case: &Input<'_>) -> Result<Value, CaseError> {
    let query = case.maybe("query", Input::text)?.unwrap_or("");
    let user = case.need("user")?.name()?;
    let timestamp = case.need("timestamp")?.name()?;
    let key = case.need("key")?.text()?;
    let signed = format!("{query}&user={user}&timestamp={timestamp}");
    let signature = signature(&signed, key);
    let header = quoted(&signature);
    Ok(json!({ "signed": signed, "signature": signature, "header": header }))
}

/// HMAC-SHA1 in base64.
fn signature(text: &str, key: &str) -> String {
    let mut mac = Hmac::<Sha1>::new_from_slice(key.as_bytes()).expect("HMAC takes any key");
    mac.update(text.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

/// Percent-encoded: base64 has three letters that mean something else in a URL.
fn quoted(base64: &str) -> String {
    let one = |letter: char| match letter {
        '+' | '/' | '=' => format!("%{:02X}", letter as u32),
        other => other.to_string(),
    };
    base64.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2202, test cases 1 to 3, in base64.
    #[test]
    fn the_published_vectors_of_hmac_sha1() {
        let hex = |text: &str| {
            STANDARD
                .decode(text)
                .map(|b| b.iter().fold(String::new(), |s, b| s + &format!("{b:02x}")))
        };
        let first = signature("Hi There", &"\u{b}".repeat(20));
        assert_eq!(
            hex(&first),
            Ok("b617318655057264e28bc0b6fb378c8ef146be00".to_string())
        );
        let second = signature("what do ya want for nothing?", "Jefe");
        assert_eq!(
            hex(&second),
            Ok("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79".to_string())
        );
    }

    #[test]
    fn the_signed_text_and_the_quoted_header() {
        let case = json!({"query": "setSpending=0.5&queue=alice", "user": "alice",
                          "timestamp": 1234567890123u64, "key": "secret"});
        let answer = answer(&Input::new("$", &case)).expect("a complete case");
        let signed = "setSpending=0.5&queue=alice&user=alice&timestamp=1234567890123";
        assert_eq!(answer["signed"], signed);
        assert_eq!(quoted("a+b/c="), "a%2Bb%2Fc%3D");
        let header = answer["header"].as_str().expect("a text");
        assert_eq!(
            header,
            quoted(answer["signature"].as_str().expect("a text"))
        );
    }

    /// A job's submission signs the empty query (DP-39).
    #[test]
    fn a_submission_signs_the_empty_query() {
        let case = json!({"user": "u", "timestamp": "7", "key": "k"});
        let answer = answer(&Input::new("$", &case)).expect("a complete case");
        assert_eq!(answer["signed"], "&user=u&timestamp=7");
    }
}
