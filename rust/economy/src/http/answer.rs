//! Answers: bodies, statuses and headers, of successes and of errors. Knows no route; the caller
//! shows an error as JSON or as XML.

use crate::auth::Refusal;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The types of bodies.
pub(crate) const JSON: &str = "application/json";
pub(crate) const CSV: &str = "text/csv; charset=utf-8";
/// As published, without a character set; therefore every body is ASCII.
pub(crate) const XML: &str = "text/xml";

/// An answer, for the host to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The header `Content-Type`; empty if there is no body.
    pub content_type: &'static str,
    /// All other headers except those that a server adds (`Date`, `Content-Length`). Each name
    /// occurs at most once.
    pub headers: Vec<(&'static str, String)>,
    /// The body; already empty in an answer to `HEAD`.
    pub body: Vec<u8>,
    /// A change that the host must reload before there is an answer: see [`reloaded`].
    ///
    /// [`reloaded`]: crate::http::reloaded
    pub written: Option<Box<Written>>,
}

/// A change that is written and must be reloaded by the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The path of the file, with links followed.
    pub(crate) file: PathBuf,
    /// The text that was replaced.
    pub(crate) before: String,
    /// The text of the previous file at that time, if there was one.
    pub(crate) earlier: Option<String>,
    /// The body of the answer.
    pub(crate) answer: Value,
    /// The audit lines of both outcomes.
    pub(crate) done: String,
    pub(crate) refused: String,
}

/// The answer of a route.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) written: Option<Box<Written>>,
}

impl Reply {
    pub(crate) fn json(value: &Value) -> Reply {
        Reply::of(JSON, value.to_string().into_bytes())
    }

    pub(crate) fn of(content_type: &'static str, body: Vec<u8>) -> Reply {
        Reply {
            status: 200,
            content_type,
            headers: Vec::new(),
            body,
            written: None,
        }
    }

    pub(crate) fn refused(failure: Failure) -> Reply {
        Reply {
            status: failure.status,
            headers: failure.headers.clone(),
            ..Reply::json(&failure.to_json())
        }
    }

    pub(crate) fn nothing() -> Reply {
        Reply {
            status: 204,
            ..Reply::of("", Vec::new())
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds the headers of every answer, unless its route has set them. They suit data for one
    /// reader.
    pub(crate) fn secured(self) -> Answer {
        let mut headers = self.headers;
        let mut put = |name: &'static str, value: &str| {
            if !headers.iter().any(|(given, _)| *given == name) {
                headers.push((name, value.to_string()));
            }
        };
        put("Cache-Control", "no-store");
        put("X-Content-Type-Options", "nosniff");
        put(
            "Content-Security-Policy",
            "default-src 'none'; frame-ancestors 'none'",
        );
        put("Referrer-Policy", "no-referrer");
        Answer {
            status: self.status,
            content_type: self.content_type,
            headers,
            body: self.body,
            written: self.written,
        }
    }
}

/// An error answer. None of its texts repeats a secret or a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    /// The fault, in a sentence.
    pub(crate) what: String,
    /// The faulty part of the request.
    pub(crate) at: String,
    /// The expected content, or the remedy.
    pub(crate) expected: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The refusal for the audit.
    pub(crate) refusal: Option<Box<Refusal>>,
}

impl Failure {
    pub(crate) fn new(
        status: u16,
        what: impl Into<String>,
        at: impl Into<String>,
        expected: impl Into<String>,
    ) -> Failure {
        Failure {
            status,
            what: what.into(),
            at: at.into(),
            expected: expected.into(),
            headers: Vec::new(),
            refusal: None,
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Failure {
        self.headers.push((name, value.into()));
        self
    }

    /// Returns the error for an unavailable engine: it is restarting, or another ResourceManager is
    /// active.
    pub(crate) fn engine(problem: &str) -> Failure {
        let expected = "an engine that runs; try again in a moment";
        Failure::new(503, problem, "engine", expected).with("Retry-After", "1")
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({"error": {"what": self.what, "where": self.at, "expected": self.expected}})
    }

    /// Returns the refusal for the audit log.
    pub(crate) fn refusal(&self) -> Refusal {
        match &self.refusal {
            Some(refusal) => (**refusal).clone(),
            None => Refusal::Malformed(self.what.clone()),
        }
    }
}

/// Returns the faulty part of a refused request, and the remedy.
fn part_and_remedy(why: &Refusal) -> (&'static str, String) {
    let header = "header `Authorization`";
    match why {
        Refusal::Malformed(what) => {
            let expected = what
                .split_once("expected ")
                .map_or("", |(_, expected)| expected);
            ("request", expected.to_string())
        }
        Refusal::TooLarge(what, most) => (what, format!("at most {most} bytes")),
        Refusal::NotAllowed => ("user", "an administrator, or the user of the queue".into()),
        Refusal::TooManyFailures(wait) => ("address", format!("a pause of {wait} ms")),
        Refusal::V1Off | Refusal::V1SignsTheQueryOnly => (
            header,
            "a signature of version 2 (Heddle-HMAC-SHA256)".into(),
        ),
        Refusal::Unsigned => (header, "a signature".into()),
        _ => (
            header,
            "a new signature with the present time and the right secret".into(),
        ),
    }
}

impl From<Refusal> for Failure {
    fn from(why: Refusal) -> Failure {
        let (part, expected) = part_and_remedy(&why);
        let mut failure = Failure::new(why.status(), why.to_string(), part, expected);
        if failure.status == 401 {
            // RFC 9110, section 15.5.2 requires the accepted scheme.
            let scheme = "Heddle-HMAC-SHA256 realm=\"heddle\"";
            failure = failure.with("WWW-Authenticate", scheme);
        }
        if let Refusal::TooManyFailures(wait_ms) = &why {
            failure = failure.with("Retry-After", wait_ms.div_ceil(1_000).to_string());
        }
        failure.refusal = Some(Box::new(why));
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_is_wrong_where_and_what_to_do() {
        let malformed = Refusal::Malformed("parameter `queue`: expected a value".to_string());
        let failure = Failure::from(malformed.clone());
        let error = json!({"error": {"what": "parameter `queue`: expected a value",
                                     "where": "request", "expected": "a value"}});
        assert_eq!((failure.status, failure.to_json()), (400, error));
        assert_eq!(failure.refusal(), malformed);
    }

    #[test]
    fn headers_that_the_status_asks_for() {
        let wait = Failure::from(Refusal::TooManyFailures(1_001));
        assert_eq!(wait.headers, [("Retry-After", "2".to_string())]);
        let unsigned = Failure::from(Refusal::Unsigned);
        assert_eq!(
            (unsigned.status, unsigned.headers[0].0),
            (401, "WWW-Authenticate")
        );
    }

    #[test]
    fn a_header_that_a_route_sets_is_not_set_again() {
        let answer = Reply::nothing()
            .with("Cache-Control", "max-age=1")
            .secured();
        let caching: Vec<_> = answer
            .headers
            .iter()
            .filter(|h| h.0 == "Cache-Control")
            .collect();
        assert_eq!(caching, [&("Cache-Control", "max-age=1".to_string())]);
        assert!(
            answer
                .headers
                .iter()
                .any(|h| h.0 == "X-Content-Type-Options")
        );
    }
}
