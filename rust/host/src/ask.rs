//! Answers questions of the shim that need neither an engine nor a service. A question is JSON with
//! its name as `op`.

use crate::{compare, pages, progress, watch};
use heddle_economy::http::Answer;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The answer to a question.
#[derive(Debug)]
pub enum Answered {
    /// To `page`: an answer over HTTP.
    Page(Answer),
    /// To every other question.
    Json(Value),
}

/// Answers a question; see the module of each.
///
/// # Errors
/// What is wrong with the question: the host's fault.
pub fn ask(question: &str) -> Result<Answered, String> {
    let question: Value = serde_json::from_str(question).map_err(|error| error.to_string())?;
    Ok(match question["op"].as_str() {
        Some("page") => Answered::Page(pages::answer(&read(question)?)),
        Some("file") => Answered::Json(watch::look(&read(question)?)),
        Some("compare") => Answered::Json(compare::differences(&read(question)?)?),
        Some("progress") => Answered::Json(progress::look(&read(question)?)),
        _ => return Err(format!("there is no question {}", question["op"])),
    })
}

fn read<T: DeserializeOwned>(question: Value) -> Result<T, String> {
    serde_json::from_value(question).map_err(|error| error.to_string())
}
