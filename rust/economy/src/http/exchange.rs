//! The state of a request while a route processes it. Decides nothing.

use crate::auth::query::Parameters;
use crate::http::answer::Failure;
use crate::http::caller::Identity;
use crate::http::{Api, Backend, Request};

pub(crate) struct Exchange<'a> {
    pub(crate) api: &'a Api,
    pub(crate) backend: &'a dyn Backend,
    pub(crate) request: &'a Request<'a>,
    pub(crate) query: Parameters,
    /// Values of the path's variables, decoded.
    pub(crate) variables: Vec<String>,
    pub(crate) who: Identity,
    /// The type of body that the client prefers.
    pub(crate) content_type: &'static str,
    /// For the audit: the action and its queue.
    pub(crate) action: Option<String>,
    pub(crate) queue: Option<String>,
}

impl Exchange<'_> {
    /// Reads a whole number from the query.
    pub(crate) fn number(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, Failure> {
        let Some(text) = self.query.get(name)? else {
            return Ok(None);
        };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text
            .parse()
            .ok()
            .filter(|number| (least..=most).contains(number));
        number.filter(|_| digits).map(Some).ok_or_else(|| {
            let expected = format!("a whole number from {least} to {most}");
            Failure::new(
                400,
                "this is not a number in the allowed range",
                format!("query, `{name}`"),
                expected,
            )
        })
    }
}
