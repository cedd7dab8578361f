//! The ResourceManager's stock answer about queues, `/ws/v1/cluster/scheduler`, and its page,
//! `/cluster/scheduler`. Both come from one snapshot of the queues, which the host hands over with
//! the request. No engine is asked, so they are there while an engine is replaced.

mod document;
mod info;
mod table;

use heddle_economy::http::Answer;
use serde::Deserialize;
use serde_json::Value;

const READS: &str = "GET, HEAD, OPTIONS";
const PLAIN: &str = "text/plain;charset=utf-8";
const JSON: &str = "application/json";
const XML: &str = "application/xml";
/// Forbids the page to load anything except its own style, whatever the name of a queue.
const CONTENT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'";

/// A request, and the queues as the host last heard of them.
#[derive(Deserialize)]
pub(crate) struct PageRequest {
    method: String,
    accept: String,
    /// Whether the page is wanted, and not the REST answer.
    page: bool,
    /// None before the scheduler is initialised.
    queues: Option<Snapshot>,
}

/// All queues at one moment.
#[derive(Deserialize)]
struct Snapshot {
    /// The resource types: name, unit, kind, least and largest amount.
    types: Vec<(String, String, String, i64, i64)>,
    /// The largest container that may be asked for.
    largest: Value,
    /// The resources of all nodes; null before the engine was asked for the first time.
    capacity: Value,
    /// The name of the policy of each stage.
    policy: Value,
    /// Whether queues have parts of their parent's resources by weight.
    by_weight: bool,
    /// Whether this Hadoop's REST library writes empty maps.
    empty_maps: bool,
    /// Parents come before their children, and siblings in their order.
    queues: Vec<Queue>,
}

/// The engine's description of a queue; then what only the host knows: whether it is a leaf by now,
/// and its pending and running applications.
#[derive(Deserialize)]
struct Queue(Value, bool, i64, i64);

impl Queue {
    fn path(&self) -> &str {
        self.0["path"].as_str().unwrap_or("")
    }

    /// Returns the weight in YARN's precision.
    fn weight(&self) -> f64 {
        f64::from(self.0["weight"].as_f64().unwrap_or(1.0) as f32)
    }

    fn number(&self, key: &str) -> i64 {
        self.0[key].as_i64().unwrap_or(0)
    }
}

impl Snapshot {
    /// Returns the amount of each resource type; a missing one is `absent`.
    fn amounts(&self, of: &Value, absent: i64) -> Vec<i64> {
        let amount = |name: &str| of[name].as_i64().unwrap_or(absent);
        let limited = |name: &str| match name {
            // YARN's vcores have 32 bits.
            "vcores" => amount(name).min(i32::MAX.into()),
            _ => amount(name),
        };
        self.types.iter().map(|kind| limited(&kind.0)).collect()
    }

    /// Returns the name of the policy of a stage.
    fn stage(&self, name: &str) -> &str {
        self.policy[name].as_str().unwrap_or("")
    }

    /// Returns the queues right below each queue, by its place in the list.
    fn children(&self) -> Vec<Vec<usize>> {
        let mut by_path = std::collections::BTreeMap::new();
        let mut children = vec![Vec::new(); self.queues.len()];
        for (at, queue) in self.queues.iter().enumerate() {
            by_path.insert(queue.path(), at);
            let parent = queue.path().rsplit_once('.');
            if let Some(&parent) = parent.and_then(|(parent, _)| by_path.get(parent)) {
                children[parent].push(at);
            }
        }
        children
    }
}

/// Answers a request.
pub(crate) fn answer(asked: &PageRequest) -> Answer {
    match asked.method.as_str() {
        "GET" | "HEAD" => read(asked),
        "OPTIONS" => with("Allow", READS, of(200, PLAIN, String::new())),
        _ => {
            let text = format!("This address can only be read: {READS}.");
            with("Allow", READS, sentence(405, &text))
        }
    }
}

fn read(asked: &PageRequest) -> Answer {
    let kind = choose(&asked.accept);
    if !asked.page && kind.is_none() {
        let text = format!("This page is available as {JSON} and as {XML}.");
        return sentence(406, &text);
    }
    let known = |all: &&Snapshot| !all.queues.is_empty() && !all.capacity.is_null();
    let Some(snapshot) = asked.queues.as_ref().filter(known) else {
        let text = "The scheduler is starting and knows no queue yet. Ask again in a moment.";
        return with("Retry-After", "1", sentence(503, text));
    };
    if asked.page {
        let page = of(200, "text/html;charset=utf-8", table::page(snapshot));
        return with("Content-Security-Policy", CONTENT_POLICY, page);
    }
    let document = info::document(snapshot);
    match kind {
        Some(XML) => of(200, "application/xml;charset=utf-8", document.xml()),
        _ => of(200, "application/json;charset=utf-8", document.json()),
    }
}

/// Chooses a type by the header `Accept`, as the ResourceManager's own REST does: the range with
/// the highest `q` wins, the first on a tie; of the types in a range, JSON.
fn choose(accept: &str) -> Option<&'static str> {
    if accept.trim().is_empty() {
        return Some(JSON);
    }
    let mut ranges: Vec<(f64, String)> = accept.split(',').map(range).collect();
    ranges.retain(|(quality, _)| *quality > 0.0);
    // The sort is stable.
    ranges.sort_by(|one, other| other.0.total_cmp(&one.0));
    ranges.iter().find_map(|(_, range)| match range.as_str() {
        "*/*" | "application/*" | JSON => Some(JSON),
        XML => Some(XML),
        _ => None,
    })
}

fn range(element: &str) -> (f64, String) {
    let element = element.to_ascii_lowercase();
    let mut parts = element.split(';').map(str::trim);
    let name = parts.next().unwrap_or("").to_string();
    let quality = parts.filter_map(|part| part.strip_prefix("q=")).next_back();
    let quality = quality.map_or(1.0, |text| text.trim().parse().unwrap_or(0.0));
    (quality, name)
}

fn sentence(status: u16, text: &str) -> Answer {
    of(status, PLAIN, format!("{text}\n"))
}

fn of(status: u16, content_type: &'static str, body: String) -> Answer {
    Answer {
        status,
        content_type,
        headers: Vec::new(),
        body: body.into_bytes(),
    }
}

fn with(name: &'static str, value: &str, mut answer: Answer) -> Answer {
    answer.headers.push((name, value.to_string()));
    answer
}

#[cfg(test)]
mod tests;
