//! A requested change of the scheduler's configuration, as YARN's REST API `scheduler-conf` takes
//! it: XML, or JSON of either of Hadoop's two JSON libraries.

use roxmltree::Node;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Levels of elements in a request; YARN's own have 6. serde_json has a limit of its own (128).
const LEVELS_MAX: usize = 32;

/// A request's body and its type.
#[derive(Deserialize)]
pub(crate) struct Change {
    content_type: String,
    body: String,
}

/// Answers `add` and `update`, lists of `[queue, settings]`, `remove`, a list of queues, and
/// `global`, settings. Or else `wrong`, a sentence.
pub(crate) fn read(change: &Change) -> Value {
    let tree = match change.content_type.contains("json") {
        true => serde_json::from_str(&change.body).map_err(|error| error.to_string()),
        false => roxmltree::Document::parse(&change.body)
            .map_err(|error| error.to_string())
            .and_then(|document| of_xml(document.root_element(), 1)),
    };
    match tree {
        Ok(tree) => understood(&tree),
        Err(problem) => json!({ "wrong": format!("The change cannot be read: {problem}") }),
    }
}

/// An element as JSON: its text, or its parts by name; a repeated one is a list.
///
/// # Errors
/// More than [`LEVELS_MAX`] levels: a call for each of them could overflow the stack.
fn of_xml(element: Node<'_, '_>, level: usize) -> Result<Value, String> {
    if level > LEVELS_MAX {
        return Err(format!("expected at most {LEVELS_MAX} levels of elements"));
    }
    let parts = element.children().filter(Node::is_element);
    let mut object = Map::new();
    for part in parts {
        let value = of_xml(part, level + 1)?;
        match object.get_mut(part.tag_name().name()) {
            None => {
                object.insert(part.tag_name().name().to_owned(), value);
            }
            Some(Value::Array(list)) => list.push(value),
            Some(one) => *one = json!([one.take(), value]),
        }
    }
    Ok(match object.is_empty() {
        true => json!(element.text().unwrap_or("")),
        false => Value::Object(object),
    })
}

fn understood(tree: &Value) -> Value {
    let change = match tree.get("sched-conf") {
        Some(inner) => inner,
        None => tree,
    };
    let queues = |key: &str| -> Value {
        let queue = |queue: &Value| {
            let name = queue["queue-name"].as_str().unwrap_or("").trim();
            json!([name, settings(&queue["params"])])
        };
        each(&change[key]).map(queue).collect()
    };
    let removed = each(&change["remove-queue"]).filter_map(Value::as_str);
    json!({
        "add": queues("add-queue"),
        "update": queues("update-queue"),
        "remove": removed.map(str::trim).collect::<Vec<_>>(),
        "global": settings(&change["global-updates"]),
    })
}

/// The elements of a list, or the one that stands for a list of one.
fn each(value: &Value) -> impl Iterator<Item = &Value> {
    let list = value.as_array();
    let one = list.is_none() && !value.is_null();
    list.into_iter().flatten().chain(one.then_some(value))
}

/// Settings as `{"entry": [{"key": ..., "value": ...}]}` or as an object.
fn settings(value: &Value) -> Value {
    let mut settings = Map::new();
    match value.get("entry") {
        Some(entries) => {
            for entry in each(entries) {
                let key = entry["key"].as_str().unwrap_or("").to_owned();
                settings.insert(key, entry.get("value").map_or(Value::Null, text));
            }
        }
        None => {
            for (key, value) in value.as_object().into_iter().flatten() {
                settings.insert(key.clone(), text(value));
            }
        }
    }
    Value::Object(settings)
}

fn text(value: &Value) -> Value {
    match value {
        Value::Null | Value::String(_) => value.clone(),
        other => json!(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content_type: &str, body: &str) -> Value {
        read(&Change {
            content_type: content_type.to_owned(),
            body: body.to_owned(),
        })
    }

    #[test]
    fn xml_and_both_kinds_of_json_are_read() {
        let expected = json!({
            "add": [["root.a", {"capacity": "10", "state": "STOPPED"}], ["root.b", {}]],
            "update": [["root.c", {"capacity": "20"}]],
            "remove": ["root.d"],
            "global": {"x.y": "1"},
        });
        let xml = "<sched-conf><add-queue><queue-name>root.a</queue-name><params><entry>\
            <key>capacity</key><value>10</value></entry><entry><key>state</key>\
            <value>STOPPED</value></entry></params></add-queue><add-queue>\
            <queue-name>root.b</queue-name></add-queue><remove-queue>root.d</remove-queue>\
            <update-queue><queue-name>root.c</queue-name><params><entry><key>capacity</key>\
            <value>20</value></entry></params></update-queue><global-updates><entry>\
            <key>x.y</key><value>1</value></entry></global-updates></sched-conf>";
        assert_eq!(of("application/xml", xml), expected);
        let entries = r#"{"add-queue": [{"queue-name": "root.a", "params": {"entry": [
            {"key": "capacity", "value": "10"}, {"key": "state", "value": "STOPPED"}]}},
            {"queue-name": "root.b"}], "update-queue": {"queue-name": "root.c", "params":
            {"entry": {"key": "capacity", "value": 20}}}, "remove-queue": "root.d",
            "global-updates": {"entry": [{"key": "x.y", "value": "1"}]}}"#;
        assert_eq!(of("application/json", entries), expected);
        let objects = r#"{"sched-conf": {"add-queue": [{"queue-name": "root.a", "params":
            {"capacity": "10", "state": "STOPPED"}}, {"queue-name": "root.b"}], "update-queue":
            [{"queue-name": "root.c", "params": {"capacity": "20"}}], "remove-queue": ["root.d"],
            "global-updates": {"x.y": "1"}}}"#;
        assert_eq!(of("application/json;charset=utf-8", objects), expected);
    }

    /// A million levels would overflow the stack, which ends the ResourceManager.
    #[test]
    fn elements_nested_too_deeply_are_refused() {
        for content_type in ["application/xml", "application/json"] {
            let body = match content_type {
                "application/xml" => "<a>".repeat(1_000_000) + &"</a>".repeat(1_000_000),
                _ => "[".repeat(1_000_000) + &"]".repeat(1_000_000),
            };
            let answer = of(content_type, &body);
            let wrong = answer["wrong"].as_str().unwrap_or("");
            assert!(wrong.starts_with("The change cannot be read: "), "{answer}");
        }
    }

    #[test]
    fn what_is_no_change_is_refused() {
        for (content_type, body) in [("application/json", "{"), ("application/xml", "<a>")] {
            let answer = of(content_type, body);
            let wrong = answer["wrong"].as_str().unwrap_or("");
            assert!(wrong.starts_with("The change cannot be read: "), "{answer}");
        }
    }
}
