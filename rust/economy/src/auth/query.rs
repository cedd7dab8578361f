//! Decodes the query of a request strictly, with each parameter at most once. Signatures cover the
//! text as sent; decoding does not change it.

use crate::auth::refusal::{Refusal, malformed};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The longest query: the longest command has a queue's name and an amount.
pub const QUERY_BYTES_MAX: usize = 8192;
const PARAMETERS_MAX: usize = 64;

/// Everything except the unreserved characters of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Percent-encodes a text as in RFC 3986: all except letters, digits, `-`, `.`, `_` and `~`, in
/// capital digits; for URLs, headers and canonical texts.
pub fn quoted(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Decodes a text from `quoted`, or another spelling of it. `None` if an escape is cut off, is no
/// hexadecimal number, or yields invalid UTF-8.
pub(crate) fn unquoted(text: &str) -> Option<String> {
    let escapes = text.split('%').skip(1);
    let is_number = |escape: &str| {
        let digits = escape.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !escapes.into_iter().all(is_number) {
        return None;
    }
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

/// Tells whether `text` fits into the first line of an HTTP request, which is split at blanks.
pub(crate) fn is_visible_ascii(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The parameters of a query.
#[derive(Debug)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query as it was sent, without the question mark. Its escapes are those of forms:
    /// `+` is a blank.
    ///
    /// # Errors
    ///
    /// Too long, too many parameters, characters that no URL has, escapes that give no UTF-8.
    pub fn of(query: &str) -> Result<Parameters, Refusal> {
        if query.len() > QUERY_BYTES_MAX {
            return Err(Refusal::TooLarge("query", QUERY_BYTES_MAX));
        }
        if !is_visible_ascii(query) {
            return Err(malformed("query", "visible ASCII characters and escapes"));
        }
        let parts: Vec<&str> = query.split('&').filter(|part| !part.is_empty()).collect();
        if parts.len() > PARAMETERS_MAX {
            let most = format!("at most {PARAMETERS_MAX} parameters");
            return Err(malformed("query", &most));
        }
        let decoded = |text: &str| {
            unquoted(&text.replace('+', " "))
                .ok_or_else(|| malformed("query", "escapes of two hexadecimal digits, in UTF-8"))
        };
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((decoded(name)?, decoded(value)?))
        };
        Ok(Parameters(
            parts
                .into_iter()
                .map(pair)
                .collect::<Result<_, Refusal>>()?,
        ))
    }

    /// Returns the value of a parameter; the empty text if it has no `=`.
    ///
    /// # Errors
    ///
    /// It is given twice: the check and the action might use different values.
    pub fn get(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.0.iter().filter(|(given, _)| given == name);
        let first = values.next().map(|(_, value)| value.as_str());
        match values.next() {
            None => Ok(first),
            Some(_) => Err(malformed(&format!("parameter `{name}`"), "it only once")),
        }
    }

    /// Returns the value of a required parameter, which must not be empty.
    ///
    /// # Errors
    ///
    /// It is missing, empty, or given twice.
    pub fn need(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name)?
            .filter(|value| !value.is_empty())
            .ok_or_else(|| malformed(&format!("parameter `{name}`"), "a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Parameters::of("price&&queue=a%20b+c&x=1=2&empty=").expect("a query");
        assert_eq!(query.get("price"), Ok(Some("")));
        assert_eq!(query.get("queue"), Ok(Some("a b c")));
        assert_eq!(query.get("x"), Ok(Some("1=2")));
        assert_eq!(query.get("absent"), Ok(None));
        assert!(query.need("price").is_err() && query.need("absent").is_err());
    }

    #[test]
    fn a_parameter_given_twice_is_refused_also_when_spelt_otherwise() {
        for query in [
            "user=a&user=b",
            "user=a&user=a",
            "user=a&%75ser=b",
            "user&user",
        ] {
            let query = Parameters::of(query).expect("a query");
            let refused = query.get("user").expect_err("given twice");
            assert_eq!(
                refused.to_string(),
                "parameter `user`: expected it only once"
            );
        }
    }

    #[test]
    fn hostile_queries_are_refused_and_not_repeated() {
        let many = "a=1&".repeat(65);
        let long = "a".repeat(QUERY_BYTES_MAX + 1);
        let hostile = [
            "user=%",
            "user=%4",
            "user=%zz",
            "user=%+1",
            "user=%ff",
            "user=%c0%af",
            "%ed%a0%80=1",
            "user=a b",
            "user=a\r\nX: y",
            "user=\u{e9}",
            "user=\0",
            "a=%\u{e9}",
            &many,
            &long,
        ];
        for query in hostile {
            let refused = Parameters::of(query).expect_err("refused").to_string();
            assert!(refused.len() < 80 && is_visible_ascii(&refused.replace(' ', "")));
        }
    }

    proptest! {
        #[test]
        fn quoting_is_undone(text: String) {
            let quoted = quoted(&text);
            prop_assert!(is_visible_ascii(&quoted) && !quoted.contains(['&', '=', '+', '/', ',']));
            prop_assert_eq!(unquoted(&quoted), Some(text.clone()));
            let query = format!("a={quoted}");
            if query.len() <= QUERY_BYTES_MAX {
                let query = Parameters::of(&query).expect("a query");
                prop_assert_eq!(query.get("a"), Ok(Some(text.as_str())));
            }
        }

        #[test]
        fn anything_is_taken_or_refused(query in "\\PC*|[%&=+0-9a-fA-F]*") {
            let _ = Parameters::of(&query);
        }
    }
}
