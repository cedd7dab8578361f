//! Answers questions of the shim that need neither an engine nor a service. A question is JSON with
//! its name as `op`.

use crate::{
    activities, compare, config, fair_file, pages, progress, scheduler_conf, tasks, terms, watch,
};
use heddle_economy::auth::gate;
use heddle_economy::http::{Answer, Written, reloaded};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Most names of jobs for a list, and for sentences about one job.
const LISTED_MAX: u32 = 100_000;
const MENTIONED_MAX: u32 = 500;

/// The answer to a question.
#[derive(Debug)]
pub enum Reply {
    /// To `page`, `configuration` and `reloaded`: an answer over HTTP, and a line of the audit.
    Page(Answer, Option<String>),
    /// To every other question.
    Json(Value),
}

/// Answers a question; see the module of each.
///
/// # Errors
/// What is wrong with the question: the host's fault.
pub fn ask(question: &str) -> Result<Reply, String> {
    let question: Value = serde_json::from_str(question).map_err(|error| error.to_string())?;
    Ok(match question["op"].as_str() {
        Some("page") => Reply::Page(pages::answer(&read(question)?), None),
        Some("queue_infos") => Reply::Json(pages::descriptions(&read(question["queues"].clone())?)),
        Some("scheduler_conf") => Reply::Json(scheduler_conf::read(&read(question)?)),
        Some("configuration") => {
            let accept = question["accept"].as_str().unwrap_or("");
            Reply::Page(pages::configuration(accept, &question["properties"]), None)
        }
        Some("reloaded") => {
            let written: Written = read(question["written"].clone())?;
            let (page, line) = reloaded(&written, question["problem"].as_str());
            Reply::Page(page, Some(line))
        }
        Some("file") => Reply::Json(watch::look(&read(question)?)),
        Some("decode") => Reply::Json(watch::text(&read(question)?)),
        Some("config") => Reply::Json(config::read(&read(question)?)),
        Some("check") => Reply::Json(config::check(&read(question)?)),
        Some("fair_file") => Reply::Json(fair_file::find(question["named"].as_str().unwrap_or(""))),
        Some("priority") => Reply::Json(terms::priority(&read(question)?)),
        Some("lifetime") => Reply::Json(terms::lifetime(&read(question)?)),
        Some("activities") => Reply::Json(activities::allocations(&read(question)?)),
        Some("compare") => Reply::Json(compare::differences(&read(question)?)?),
        Some("progress") => Reply::Json(progress::look(&read(question)?)),
        Some("tasks") => Reply::Json(tasks::look(read(question)?)),
        Some("signed") => {
            let header = question["authorization"].as_str().unwrap_or("");
            Reply::Json(json!(gate::is_ours(header)))
        }
        Some("names") => Reply::Json(names(&question)),
        _ => return Err(format!("there is no question {}", question["op"])),
    })
}

fn read<T: DeserializeOwned>(question: Value) -> Result<T, String> {
    serde_json::from_value(question).map_err(|error| error.to_string())
}

/// Returns which names a request over HTTP needs: null for none, else those of nodes and of at most
/// `max` jobs. The job `one`, a number or application in the path, comes first. A list may find any
/// job; a sentence about one mentions few.
fn names(request: &Value) -> Value {
    let path = request["path"].as_str().unwrap_or("");
    let Some(rest) = path.strip_prefix("/heddle/v1/") else {
        return Value::Null;
    };
    let (route, one) = rest
        .split_once('/')
        .map_or((rest, None), |(route, one)| (route, Some(one)));
    match (route, one) {
        ("jobs", None) => json!({ "one": one, "max": LISTED_MAX }),
        ("nodes", None) => json!({ "one": one, "max": 0 }),
        ("jobs" | "explain", Some(id)) if !id.is_empty() && !id.contains('/') => {
            json!({ "one": one, "max": MENTIONED_MAX })
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(question: &Value) -> Value {
        match ask(&question.to_string()).expect("there is such a question") {
            Reply::Json(answer) => answer,
            Reply::Page(page, _) => panic!("{page:?}"),
        }
    }

    #[test]
    fn only_signatures_look_signed() {
        let signed = |header: &str| asked(&json!({"op": "signed", "authorization": header}));
        for header in [
            "Heddle-HMAC-SHA256 user=alice",
            "heddle-hmac-sha256\tx",
            "Heddle-HMAC-SHA256 ",
            "ET9MDeUyNxon/TyCKsVOTXr0rOo=",
            "abc%3D",
        ] {
            assert_eq!(signed(header), true, "{header}");
        }
        for header in [
            "",
            " ",
            "Negotiate YIIC==",
            "Basic cm9vdDpyb290",
            "Heddle-HMAC-SHA2567 x",
            "Heddle-HMAC-SHA25 6",
            " Heddle-HMAC-SHA256 x",
            "Negotiate",
            "Heddle-HMAC-SHA256",
        ] {
            assert_eq!(signed(header), false, "{header}");
        }
        assert_eq!(
            asked(&json!({"op": "signed", "authorization": null})),
            false
        );
    }

    #[test]
    fn requests_about_jobs_and_nodes_need_names() {
        let named = |path: &str| asked(&json!({"op": "names", "path": path}));
        let of = |one: Option<&str>, max: u32| json!({"one": one, "max": max});
        assert_eq!(named("/heddle/v1/jobs"), of(None, LISTED_MAX));
        assert_eq!(named("/heddle/v1/nodes"), of(None, 0));
        let one = of(Some("application_1_7"), MENTIONED_MAX);
        for route in ["jobs", "explain"] {
            assert_eq!(named(&format!("/heddle/v1/{route}/application_1_7")), one);
        }
        for path in [
            "/heddle/v1/queues",
            "/heddle/v1/explain",
            "/heddle/v1/nodes/1",
            "/heddle/v1/jobs/",
            "/heddle/v1/jobs/1/2",
            "/heddle/v1/jobsx",
            "/heddle/jobs",
            "/x/heddle/v1/jobs",
        ] {
            assert_eq!(named(path), Value::Null, "{path}");
        }
    }

    #[test]
    fn an_unknown_question_is_refused() {
        assert!(ask("{\"op\": \"x\"}").is_err());
        assert!(ask("x").is_err());
    }
}
