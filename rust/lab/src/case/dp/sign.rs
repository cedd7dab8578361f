//! Op `sign`: the signature of a request to the remote interface, as its clients compute it (DP-36,
//! DP-37). Reads and writes JSON; `heddle_economy::auth::v1` computes the signature.

use super::super::CaseError;
use super::super::input::Input;
use heddle_economy::auth::{Secret, v1};
use serde_json::{Value, json};

pub(super) fn answer(case: &Input<'_>) -> Result<Value, CaseError> {
    let query = case.maybe("query", Input::text)?.unwrap_or("");
    let user = case.need("user")?.name()?;
    let timestamp = case.need("timestamp")?.name()?;
    let key = case.need("key")?.text()?;
    let signed = v1::signed_text(query, &user, &timestamp);
    let signature = v1::signature(&Secret::new(key.as_bytes()), &signed);
    let header = v1::header(&signature);
    Ok(json!({ "signed": signed, "signature": signature, "header": header }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_text_and_the_quoted_header() {
        let case = json!({"query": "setSpending=0.5&queue=alice", "user": "alice",
                          "timestamp": 1234567890123u64, "key": "secret"});
        let answer = answer(&Input::new("$", &case)).expect("a complete case");
        let signed = "setSpending=0.5&queue=alice&user=alice&timestamp=1234567890123";
        assert_eq!(answer["signed"], signed);
        // printf '%s' "$signed" | openssl dgst -sha1 -hmac secret -binary | base64
        assert_eq!(answer["signature"], "FpCDZvyeUFg3Dj74rguSQoQM7HY=");
        assert_eq!(answer["header"], "FpCDZvyeUFg3Dj74rguSQoQM7HY%3D");
    }

    /// A job's submission signs the empty query (DP-39).
    #[test]
    fn a_submission_signs_the_empty_query() {
        let case = json!({"user": "u", "timestamp": "7", "key": "k"});
        let answer = answer(&Input::new("$", &case)).expect("a complete case");
        assert_eq!(answer["signed"], "&user=u&timestamp=7");
    }
}
