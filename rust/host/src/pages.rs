//! The ResourceManager's stock answer about queues, `/ws/v1/cluster/scheduler`, and its page,
//! `/cluster/scheduler`. Both come from one snapshot of the queues, which the host hands over with
//! the request. No engine is asked, so they are there while an engine is replaced.

mod applications;
mod capacity;
mod document;
mod frame;
mod info;
mod tree;

use document::Node;
use heddle_economy::http::Answer;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

const READS: &str = "GET, HEAD, OPTIONS";
const PLAIN: &str = "text/plain;charset=utf-8";
const JSON: &str = "application/json";
const XML: &str = "application/xml";
/// Forbids the page to run anything, and to load anything except styles and pictures of the
/// ResourceManager, whatever the name of a queue.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; frame-ancestors 'self'; base-uri 'none'";
/// The address of the same for programs.
const INFO_PATH: &str = "/ws/v1/cluster/scheduler";

/// A request, and the queues as the host last heard of them.
#[derive(Deserialize)]
pub(crate) struct PageRequest {
    method: String,
    accept: String,
    /// Whether the page is wanted, and not the REST answer.
    page: bool,
    /// The query of the page's address.
    query: Option<String>,
    /// The user who is logged in, if one is.
    user: Option<String>,
    /// The applications that this user may see. Only for the page.
    applications: Option<Vec<applications::Application>>,
    /// None before the scheduler is initialised.
    queues: Option<Snapshot>,
}

/// All queues at one moment.
#[derive(Deserialize)]
pub(crate) struct Snapshot {
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
    /// What a stock scheduler's file says, if queues come from one.
    #[serde(default)]
    stock: Stock,
    /// Parents come before their children, and siblings in their order.
    queues: Vec<Queue>,
}

/// What is known of a stock scheduler's file.
#[derive(Default, Deserialize)]
struct Stock {
    /// `fair`, `capacity` or empty.
    kind: String,
    /// The settings of the Capacity Scheduler's file (`heddle_stock::capacity::shown`).
    shown: Value,
    /// The largest container of the configuration, whatever nodes have.
    largest: Value,
    /// Names of users by the engine's numbers.
    users: BTreeMap<String, String>,
    /// Whether this Hadoop has vectors of capacities, as 3.4 and later have.
    vectors: bool,
}

impl Stock {
    /// Whether memory alone counts.
    fn memory_only(&self) -> bool {
        self.shown["memory_only"] == true
    }
}

/// The engine's description of a queue; then what only the host knows: whether it is a leaf by now,
/// and its pending and running applications.
#[derive(Deserialize)]
struct Queue(Value, bool, i64, i64);

impl Queue {
    fn path(&self) -> &str {
        self.0["path"].as_str().unwrap_or("")
    }

    /// Returns the state in YARN's word.
    fn state(&self) -> String {
        let draining = self.0["draining"] == true;
        let otherwise = if draining { "draining" } else { "running" };
        let state = self.0["state"].as_str().unwrap_or(otherwise);
        state.to_uppercase()
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
        let mut by_path = BTreeMap::new();
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

/// Describes all queues of a Capacity Scheduler's file for YARN's own clients.
pub(crate) fn descriptions(queues: &Snapshot) -> Value {
    capacity::descriptions(queues)
}

/// Answers with the properties of a configuration, as YARN's REST does.
pub(crate) fn configuration(accept: &str, properties: &Value) -> Answer {
    let text = |value: &str| Node::Text(value.to_string());
    let property = |(name, value): (&String, &Value)| {
        let value = text(value.as_str().unwrap_or(""));
        Node::Object(vec![("name", text(name)), ("value", value)])
    };
    let properties = properties.as_object().into_iter().flatten().map(property);
    let list = Node::Object(vec![("property", Node::List(properties.collect()))]);
    match choose(accept) {
        Some(XML) => {
            let document = Node::Object(vec![("configuration", list)]);
            of(200, "application/xml;charset=utf-8", document.xml())
        }
        _ => of(200, "application/json;charset=utf-8", list.json()),
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
        let page = of(200, "text/html;charset=utf-8", page(asked, snapshot));
        return with("Content-Security-Policy", CONTENT_POLICY, page);
    }
    let document = match snapshot.stock.kind.as_str() {
        "capacity" => capacity::document(snapshot),
        _ => info::document(snapshot),
    };
    match kind {
        Some(XML) => of(200, "application/xml;charset=utf-8", document.xml()),
        _ => of(200, "application/json;charset=utf-8", document.json()),
    }
}

/// Writes the page.
fn page(asked: &PageRequest, snapshot: &Snapshot) -> String {
    let stage = |name: &str| document::escaped(snapshot.stage(name));
    let content = format!(
        "<p>Policy: share <b>{}</b>, order <b>{}</b>, place <b>{}</b>. Cluster: {}. \
         The same for programs: <a href=\"{INFO_PATH}\">{INFO_PATH}</a></p>\n{}{}",
        stage("share"),
        stage("order"),
        stage("place"),
        tree::sentence(snapshot, &snapshot.capacity),
        tree::html(snapshot),
        applications::html(
            asked.applications.as_deref().unwrap_or_default(),
            &applications::Wanted::read(asked.query.as_deref().unwrap_or_default())
        ),
    );
    frame::page("Heddle Scheduler", asked.user.as_deref(), &content)
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
        written: None,
    }
}

fn with(name: &'static str, value: &str, mut answer: Answer) -> Answer {
    answer.headers.push((name, value.to_string()));
    answer
}

#[cfg(test)]
mod tests;
