//! What YARN's pages about scheduling activities show, from the engine's explanations: for each
//! application its remembered grants and refusals, the oldest first, then why it waits now.
//! Diagnostics begin with YARN's own sentence where there is one for the reason.

use serde::Deserialize;
use serde_json::{Value, json};

const SKIPPED: &str = "SKIPPED";
const REJECTED: &str = "REJECTED";
const ALLOCATED: &str = "ALLOCATED";

/// The engine's answer to `activities`.
#[derive(Deserialize)]
pub(crate) struct Explained {
    now_ms: i64,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    job: u32,
    queue: Option<String>,
    waits: Vec<Value>,
    decided: Vec<Value>,
}

/// Rows in the words of YARN's `AppAllocation` and `NodeAllocation`: per job its queues, from its
/// leaf to root, and `allocations`. Without a node an allocation holds for every node.
pub(crate) fn allocations(explained: &Explained) -> Value {
    let row = |job: &Job| {
        let decided = job.decided.iter().filter_map(decided);
        let waits = job.waits.iter().map(waiting).collect::<Vec<_>>();
        let waiting = (!waits.is_empty()).then(|| allocation(explained.now_ms, SKIPPED, waits));
        json!({
            "job": job.job,
            "queues": job.queue.as_deref().map_or(Vec::new(), path_up),
            "allocations": decided.chain(waiting).collect::<Vec<_>>(),
        })
    };
    Value::Array(explained.jobs.iter().map(row).collect())
}

fn path_up(queue: &str) -> Vec<&str> {
    let above = |path: &&str| path.rfind('.').map(|dot| &queue[..dot]);
    std::iter::successors(Some(queue), above).collect()
}

/// A grant, or one that the host refused; nothing else is an allocation.
fn decided(entry: &Value) -> Option<Value> {
    let state = match entry["what"].as_str()? {
        "granted" => ALLOCATED,
        "refused" => REJECTED,
        _ => return None,
    };
    let row = request(entry, state, entry["sentence"].as_str());
    let state = if state == REJECTED { SKIPPED } else { state };
    let mut allocation = allocation(entry["at_ms"].as_i64()?, state, vec![row]);
    allocation["node"] = entry["node"].clone();
    Some(allocation)
}

fn waiting(wait: &Value) -> Value {
    let reason = wait["reason"].as_object().and_then(|one| one.keys().next());
    let reason = reason.map_or("", String::as_str);
    let sentence = wait["sentence"].as_str().unwrap_or("");
    let text = match stock_sentence(reason) {
        Some(stock) => format!("{stock}, {sentence}"),
        None => sentence.to_string(),
    };
    let state = match reason {
        "queue_limit" | "user_limit" | "job_limit" | "master_limit" | "user_jobs"
        | "user_masters" => REJECTED,
        _ => SKIPPED,
    };
    request(wait, state, Some(&text))
}

fn request(from: &Value, state: &str, text: Option<&str>) -> Value {
    json!({ "ask": from["ask"], "state": state, "diagnostic": text })
}

fn allocation(at_ms: i64, state: &str, requests: Vec<Value>) -> Value {
    let first = requests.first().map(|row| row["diagnostic"].clone());
    json!({
        "at_ms": at_ms,
        "node": null,
        "state": state,
        "diagnostic": first,
        "requests": requests,
    })
}

/// The constant of `ActivityDiagnosticConstant` that means the same.
fn stock_sentence(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "queue_limit" => "Queue hits max-capacity limit",
        "user_limit" => "Queue hits user max-capacity limit",
        "behind" => "Queue skipped to respect FIFO of applications",
        "no_nodes" => "Node does not match partition or placement constraints",
        "too_large" => "Node's total resource is insufficient for request",
        "room" => "Node does not have sufficient resource for request",
        "locality" => "Node skipped because of off-switch delay",
        "strict" => "Node skipped because relax locality is not allowed",
        "blacklisted" => "Node is blacklisted",
        "held_nodes" => "Node has been reserved",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_come_first_and_waits_last() {
        let explained = json!({
            "now_ms": 90,
            "jobs": [{
                "job": 7,
                "queue": "root.a.b",
                "waits": [
                    {"ask": 3, "reason": {"queue_limit": {"queue": 1}}, "sentence": "waits: full"},
                    {"ask": 4, "reason": {"soon": {"nodes": 1}}, "sentence": "waits: soon"},
                ],
                "decided": [
                    {"what": "granted", "ask": 2, "node": 5, "at_ms": 60, "sentence": "granted"},
                    {"what": "evicted", "key": 1, "at_ms": 70, "sentence": "taken"},
                    {"what": "refused", "node": 5, "at_ms": 80, "sentence": "refused"},
                ],
            }],
        });
        let explained = serde_json::from_value(explained).expect("as the engine says it");
        fn row(ask: Value, state: &str, text: &str) -> Value {
            json!({"ask": ask, "state": state, "diagnostic": text})
        }
        let limit = "Queue hits max-capacity limit, waits: full";
        assert_eq!(
            allocations(&explained),
            json!([{
                "job": 7,
                "queues": ["root.a.b", "root.a", "root"],
                "allocations": [
                    {"at_ms": 60, "node": 5, "state": "ALLOCATED", "diagnostic": "granted",
                        "requests": [row(json!(2), "ALLOCATED", "granted")]},
                    {"at_ms": 80, "node": 5, "state": "SKIPPED", "diagnostic": "refused",
                        "requests": [row(json!(null), "REJECTED", "refused")]},
                    {"at_ms": 90, "node": null, "state": "SKIPPED", "diagnostic": limit,
                        "requests": [
                            row(json!(3), "REJECTED", limit),
                            row(json!(4), "SKIPPED", "waits: soon"),
                        ]},
                ],
            }])
        );
    }
}
