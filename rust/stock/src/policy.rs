//! What a stock file says in vain, because heddle.json beside it names another policy.

use crate::{Note, Verdict};
use heddle_core::catalogue::PRESETS;
use serde_json::Value;

/// The order stage that follows what a file says of its leaves.
pub(crate) const ORDER: &str = "by-queue";

/// Keys of queues on which only some stages act.
const DIVISION: &[(&str, &str)] = &[
    ("min_share", "minimum shares"),
    ("max_share", "maximum shares"),
    ("max_am_share", "shares of ApplicationMasters"),
    ("weight", "weights"),
];

/// How a policy divides the cluster: by one line of all jobs, by bids, or by shares of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    Line,
    Bids,
    Shares,
}

/// Returns a note for each kind of setting of `front`, a translated file, that has no effect in
/// `merged`, which is heddle.json over it. Their element is `policy`, which decides that.
pub fn in_vain(front: &Value, merged: &Value) -> Vec<Note> {
    let [share, order, _] = stages(merged);
    let division = match share {
        "single" => Division::Line,
        "dynamic-priority" => Division::Bids,
        _ => Division::Shares,
    };
    let queues = || front["queues"].as_array().into_iter().flatten();
    let set = |key: &str| queues().any(|queue| queue["path"] != "root" && !queue[key].is_null());
    let mut notes = Vec::new();
    let lost: Vec<&str> = DIVISION
        .iter()
        .filter(|(key, _)| set(key) && !acts(key, division, order))
        .map(|(_, name)| *name)
        .collect();
    if !lost.is_empty() {
        let lost = lost.join(", ");
        notes.push(match division {
            Division::Bids => format!("slots follow bids; {lost} of the file have no effect"),
            _ => format!(
                "share `{share}` puts the jobs of all queues into one line; {lost} of the file \
                 have no effect. `\"policy\": {{\"order\": \"{order}\"}}` keeps them"
            ),
        });
    }
    if division == Division::Bids && parents(front).any(|queue| !queue["max_share"].is_null()) {
        notes.push(
            "queues bid one by one; maximum shares of queues with queues below them have no effect"
                .to_owned(),
        );
    }
    if division != Division::Shares && front["preemption"]["enabled"] == true {
        notes.push(format!(
            "preemption as the file sets it takes nothing back under share `{share}`"
        ));
    }
    let ordered = set("order") || !front["queue_defaults"]["order"].is_null();
    if order != ORDER && ordered {
        notes.push(format!(
            "order `{order}` holds in every queue; the orders that the file sets have no effect"
        ));
    }
    let note = |how| Note {
        line: 0,
        element: "policy".to_owned(),
        verdict: Verdict::Approximated(how),
    };
    notes.into_iter().map(note).collect()
}

/// Whether a key of queues below the root has an effect.
fn acts(key: &str, division: Division, order: &str) -> bool {
    match division {
        Division::Shares => true,
        // Maximums of single queues hold in any order of the queues.
        Division::Bids => matches!(key, "max_share" | "max_am_share"),
        // The original Fair Scheduler weighs its pools.
        Division::Line => key == "weight" && order == "deficit",
    }
}

/// The queues below the root that have queues below them.
fn parents(front: &Value) -> impl Iterator<Item = &Value> {
    let queues = || front["queues"].as_array().into_iter().flatten();
    let path = |queue: &Value| queue["path"].as_str().unwrap_or_default().to_owned();
    queues().filter(move |queue| {
        let below = format!("{}.", path(queue));
        below != "root." && queues().any(|other| path(other).starts_with(&below))
    })
}

/// The stages of a configuration.
fn stages(config: &Value) -> [&str; 3] {
    let absent = PRESETS[0].stages;
    match &config["policy"] {
        Value::String(name) => {
            let preset = PRESETS.iter().find(|preset| preset.name == name);
            preset.map_or(absent, |preset| preset.stages)
        }
        policy => {
            let stage = |key: &str, absent| policy[key].as_str().unwrap_or(absent);
            [
                stage("share", absent[0]),
                stage("order", absent[1]),
                stage("place", absent[2]),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn front() -> Value {
        json!({
            "policy": {"share": "fair", "order": "by-queue", "place": "delay"},
            "preemption": {"enabled": true},
            "queues": [
                {"path": "root", "max_share": {"memory-mb": 9}, "order": "fifo"},
                {"path": "root.a", "min_share": {"memory-mb": 1}, "weight": 2.0},
                {"path": "root.b", "max_share": {"memory-mb": 2}, "order": "fifo"},
                {"path": "root.b.c"}],
        })
    }

    /// Checks that each note under a policy has its piece.
    fn check(policy: Value, expected: &[&str]) {
        let merged = crate::merge(front(), &json!({ "policy": policy }));
        let notes = in_vain(&front(), &merged);
        let said: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), expected.len(), "{said:?}");
        for (said, piece) in said.iter().zip(expected) {
            assert!(said.contains(piece), "{said}");
        }
    }

    #[test]
    fn nothing_is_in_vain_under_the_policy_of_the_file() {
        check(Value::Null, &[]);
        check(json!("by-queue"), &[]);
        check(json!({"place": "shuffle-watcher"}), &[]);
    }

    #[test]
    fn each_policy_says_what_it_does_not_look_at() {
        check(json!({"order": "hfsp"}), &["the orders that the file sets"]);
        check(
            json!("hfsp"),
            &[
                "; minimum shares, maximum shares, weights of the file have no effect",
                "takes nothing back",
                "order `hfsp`",
            ],
        );
        check(
            json!("fair-original"),
            &[
                "; minimum shares, maximum shares of the file",
                "takes nothing back",
                "order `deficit`",
            ],
        );
        check(
            json!({"share": "dynamic-priority"}),
            &[
                "slots follow bids; minimum shares, weights of the file",
                "queues with queues below them",
                "takes nothing back",
            ],
        );
    }

    #[test]
    fn a_file_without_such_settings_loses_nothing() {
        let front = json!({"queues": [{"path": "root", "order": "fifo", "weight": 2.0}]});
        assert_eq!(in_vain(&front, &json!({"policy": "hfsp"})), []);
    }
}
