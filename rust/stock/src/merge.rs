//! `heddle.json` over what a stock file says. Knows which lists have names.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Sections that count as a whole.
const WHOLE: &[&str] = &["placement"];

/// Pairs of keys for one setting: the one above replaces the other below.
const ALTERNATIVES: &[[&str; 2]] = &[
    ["node_wait_ms", "node_misses"],
    ["rack_wait_ms", "rack_misses"],
];

/// Lays `heddle_json` over `front`, key by key. Queues are matched by their path. `placement`
/// counts as a whole; so does a preset, while single stages of `policy` leave the others to
/// `front`. A null counts as absent, as everywhere in `heddle.json`.
pub fn merge(mut front: Value, heddle_json: &Value) -> Value {
    let (Some(below), Some(above)) = (front.as_object_mut(), heddle_json.as_object()) else {
        return match heddle_json {
            Value::Null => front,
            // Not an object: the reader of heddle.json refuses it with its own words.
            other => other.clone(),
        };
    };
    if above
        .get("heartbeat_fill")
        .is_some_and(|fill| !fill.is_null())
        && let Some(Value::Object(heartbeat)) = below.get_mut("heartbeat")
    {
        // The older key for the same limit.
        heartbeat.remove("node_part_max");
    }
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (_, Value::Null) => {}
            (Some(Value::Array(queues)), Value::Array(over)) if key == "queues" => {
                over_queues(queues, over);
            }
            (Some(section), value) if !WHOLE.contains(&key.as_str()) => over_value(section, value),
            _ => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
    front
}

fn over_queues(queues: &mut Vec<Value>, over: &[Value]) {
    let path = |queue: &Value| queue.get("path").and_then(Value::as_str).map(str::to_owned);
    let mut known: BTreeMap<String, usize> = queues
        .iter()
        .enumerate()
        .filter_map(|(at, queue)| Some((path(queue)?, at)))
        .collect();
    for queue in over {
        match path(queue).and_then(|path| known.remove(&path)) {
            Some(at) => over_value(&mut queues[at], queue),
            // A second entry of one path stays another one, which the reader refuses.
            None => queues.push(queue.clone()),
        }
    }
}

fn over_value(below: &mut Value, above: &Value) {
    match (below, above) {
        (_, Value::Null) => {}
        (Value::Object(below), Value::Object(above)) => over_object(below, above),
        (below, above) => *below = above.clone(),
    }
}

fn over_object(below: &mut Map<String, Value>, above: &Map<String, Value>) {
    for (key, value) in above.iter().filter(|(_, value)| !value.is_null()) {
        for [one, other] in ALTERNATIVES {
            if key == one {
                below.remove(*other);
            } else if key == other {
                below.remove(*one);
            }
        }
        match below.get_mut(key) {
            Some(before) => over_value(before, value),
            None => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::merge;
    use serde_json::{Value, json};

    #[test]
    fn heddle_json_goes_over_a_stock_file_key_by_key() {
        let front = json!({
            "policy": {"share": "s", "order": "o", "place": "p"},
            "placement": [{"rule": "user"}],
            "preemption": {"enabled": true, "grace_ms": 5},
            "users": {"each": {"alice": {"max_running_jobs": 1, "weight": 2.0}}},
            "queues": [
                {"path": "root.a", "weight": 2.0, "max_share": {"memory-mb": 1, "vcores": 2}},
                {"path": "root.b"}],
        });
        let heddle_json = json!({
            "policy": {"order": "x"},
            "placement": [{"rule": "reject"}],
            "preemption": {"grace_ms": 7},
            "users": {"each": {"alice": {"weight": 3.0}, "bob": {"weight": 4.0}}},
            "queues": [
                {"path": "root.c", "weight": 5.0},
                {"path": "root.a", "weight": null, "max_share": {"vcores": 9}, "budget": 1.0}],
            "explain": {"entries": 1},
        });
        let expected = json!({
            "policy": {"share": "s", "order": "x", "place": "p"},
            "placement": [{"rule": "reject"}],
            "preemption": {"enabled": true, "grace_ms": 7},
            "users": {"each": {
                "alice": {"max_running_jobs": 1, "weight": 3.0}, "bob": {"weight": 4.0}}},
            "queues": [
                {"path": "root.a", "weight": 2.0, "max_share": {"memory-mb": 1, "vcores": 9},
                 "budget": 1.0},
                {"path": "root.b"},
                {"path": "root.c", "weight": 5.0}],
            "explain": {"entries": 1},
        });
        assert_eq!(merge(front, &heddle_json), expected);
    }

    #[test]
    fn a_preset_replaces_all_stages() {
        let front = json!({"policy": {"share": "s", "order": "o", "place": "p"}});
        let preset = json!({"policy": "hfsp"});
        assert_eq!(merge(front, &preset), preset);
    }

    #[test]
    fn a_key_replaces_the_other_key_of_its_setting() {
        let front = json!({
            "heartbeat": {"node_part_max": 0.5, "containers_max": 4},
            "delay": {"node_misses": "50%", "rack_wait_ms": 5, "report_ms": 1}});
        let heddle_json = json!({
            "heartbeat_fill": 0.25, "delay": {"node_wait_ms": 7, "rack_misses": 3}});
        let expected = json!({
            "heartbeat": {"containers_max": 4}, "heartbeat_fill": 0.25,
            "delay": {"node_wait_ms": 7, "rack_misses": 3, "report_ms": 1}});
        assert_eq!(merge(front.clone(), &heddle_json), expected);
        let nothing = json!({"heartbeat_fill": null, "delay": {"node_wait_ms": null}});
        assert_eq!(merge(front.clone(), &nothing), front);
    }

    #[test]
    fn nothing_over_a_stock_file_leaves_it_and_what_is_no_object_is_left_to_its_reader() {
        let front = json!({"queues": [{"path": "root.a"}]});
        for nothing in [
            json!({}),
            Value::Null,
            json!({"queues": null}),
            json!({"queues": []}),
        ] {
            assert_eq!(merge(front.clone(), &nothing), front, "{nothing}");
        }
        assert_eq!(merge(front.clone(), &json!([1])), json!([1]));
        let twice = json!({"queues": [{"path": "root.z"}, {"path": "root.z"}]});
        let merged = merge(front.clone(), &twice);
        assert_eq!(merged["queues"].as_array().map(Vec::len), Some(3));
        // Also of one that the file has.
        let twice = json!({"queues": [{"path": "root.a"}, {"path": "root.a"}]});
        let merged = merge(front, &twice);
        assert_eq!(merged["queues"].as_array().map(Vec::len), Some(2));
    }
}
