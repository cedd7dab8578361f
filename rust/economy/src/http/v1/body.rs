//! Bodies of requests: one JSON object with known keys, each once, and amounts that are exact both
//! as texts and as numbers.

use crate::auth::{Refusal, amount};
use crate::http::answer::Failure;
use heddle_core::words::credits::Credits;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// `{"rate": "0.5"}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bid<'a> {
    #[serde(borrow)]
    pub(crate) rate: &'a RawValue,
}

/// `{"add": "12"}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget<'a> {
    #[serde(borrow)]
    pub(crate) add: &'a RawValue,
}

/// `{"queue": "alice"}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewQueue {
    pub(crate) queue: String,
}

/// Reads a body; `example` shows the expected form.
///
/// # Errors
///
/// 415 if it is no JSON and does not begin like an object (a form, XML, compressed data). 400 if it
/// has another form than expected.
pub(crate) fn read<'a, T: Deserialize<'a>>(body: &'a [u8], example: &str) -> Result<T, Failure> {
    let refused = |status, what: String| {
        let expected = format!("an object such as {example}");
        // The sender may see the contents of the body, the audit may not.
        let noted = Refusal::Malformed(format!("body: expected {expected}"));
        Failure {
            refusal: Some(Box::new(noted)),
            ..Failure::new(status, what, "body", expected)
        }
    };
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => serde_json::from_slice(body).map_err(|error| refused(400, error.to_string())),
        None => Err(refused(400, "there is no body".to_string())),
        // A list would be taken for the values of the keys in turn.
        Some(_) if serde_json::from_slice::<IgnoredAny>(body).is_ok() => {
            Err(refused(400, "the body is not a JSON object".to_string()))
        }
        Some(_) => Err(refused(415, "the body is not JSON".to_string())),
    }
}

/// Reads a number of credits, from a text or a number.
pub(crate) fn credits(key: &str, raw: &RawValue) -> Result<Credits, Failure> {
    let text: Option<String> = serde_json::from_str(raw.get()).ok();
    let read = amount::credits(
        &format!("key `{key}`"),
        text.as_deref().unwrap_or(raw.get()),
    );
    read.map_err(|refusal: Refusal| Failure {
        at: format!("body, `{key}`"),
        ..Failure::from(refusal)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(body: &str) -> Result<i64, u16> {
        let read = read::<Bid<'_>>(body.as_bytes(), "{\"rate\": \"0.5\"}");
        let credits = read.and_then(|bid| credits("rate", bid.rate));
        credits
            .map(Credits::micro)
            .map_err(|failure| failure.status)
    }

    #[test]
    fn amounts_are_exact_as_texts_and_as_numbers() {
        assert_eq!(rate("{\"rate\": \"0.5\"}"), Ok(500_000));
        assert_eq!(rate("{\"rate\": 0.5}"), Ok(500_000));
        assert_eq!(
            rate(" {\"\\u0072ate\" : 999999999.999999 } "),
            Ok(999_999_999_999_999)
        );
    }

    #[test]
    fn everything_else_is_refused() {
        let values = [
            "-1",
            "1E-7",
            "0.0000001",
            "1e400",
            "null",
            "true",
            "[1]",
            "{}",
            "\"NaN\"",
            "\"\"",
            "\"-0\"",
            "\" 1\"",
            "1000000001",
            "\"\\u0661\"",
            "[[[[[[]]]]]]",
        ];
        for value in values {
            assert_eq!(rate(&format!("{{\"rate\": {value}}}")), Err(400), "{value}");
        }
        let bodies = [
            ("", 400),
            ("  ", 400),
            ("{}", 400),
            ("{\"rate\": NaN}", 400),
            ("{\"rate\": Infinity}", 400),
            ("{\"rate\": 1, \"rate\": 2}", 400),
            ("{\"rate\": 1, \"r\\u0061te\": 2}", 400),
            ("{\"rate\": 1, \"queue\": \"root\"}", 400),
            ("{\"rate\": 1} {\"rate\": 2}", 400),
            ("{\"rate\": 01}", 400),
            ("{\"rate\": 1", 400),
            ("[\"0.5\"]", 400),
            ("[\"0.5\", 1]", 400),
            ("5", 400),
            ("\"0.5\"", 400),
            ("rate=0.5", 415),
            ("<rate>0.5</rate>", 415),
            ("\u{1f}\u{8b}\u{8}", 415),
        ];
        for (body, status) in bodies {
            assert_eq!(rate(body), Err(status), "{body:?}");
        }
        let invalid = read::<NewQueue>(b"{\"queue\": \"\xff\"}", "").map(|new| new.queue);
        assert_eq!(invalid.map_err(|failure| failure.status), Err(400));
    }
}
