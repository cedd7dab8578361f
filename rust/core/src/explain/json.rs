//! Traces and reasons as JSON, for `{"op": "explain"}`. A reason is an object with one key, its
//! name, that holds the numbers that were compared; credits are in millionths, ids are the host's.

use super::{Entry, EvictionRecord, GrantRecord, Names, What, sentence};
use crate::model::wait::{Reason, Wait};
use crate::words::event::{EvictReason, Refusal};
use crate::words::ids::{AskId, Locality, Millis};
use crate::words::kind::Kind;
use serde_json::{Value, json};

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Reduce => "reduce",
        Kind::Other => "other",
    }
}

fn refusal_name(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::StaleJob => "the attempt had ended",
        Refusal::StaleNode => "the node had left or changed",
        Refusal::AskGone => "it was no longer asked for",
        Refusal::NoFit => "the node had less room than was known",
        Refusal::Blacklisted => "it had blacklisted the node",
        Refusal::Constraint => "a placement constraint forbade it",
        Refusal::Token => "no container token could be made",
        Refusal::Other => "an error in the ResourceManager",
    }
}

fn eviction_name(reason: EvictReason) -> &'static str {
    match reason {
        EvictReason::MinShare => "min_share",
        EvictReason::FairShare => "fair_share",
        EvictReason::Unpaid => "unpaid",
        EvictReason::Displaced => "displaced",
        EvictReason::Inside => "inside",
    }
}

/// Renders why an ask waits. `since_ms` is when this reason was first seen, if it was.
pub(crate) fn wait(wait: &Wait, since_ms: Option<Millis>, names: &Names<'_>) -> Value {
    json!({
        "kind": kind_name(wait.kind),
        "am": wait.am,
        "pending": wait.pending,
        "stage": wait.reason.stage().name(),
        "since_ms": since_ms,
        "reason": wait.reason,
        "ahead": wait.ahead,
        "remedies": wait.remedies,
        "sentence": sentence(wait, names),
    })
}

/// Renders a decision. `by_arrival` says that queues are ordered by their first arrival.
pub(crate) fn entry(entry: &Entry, by_arrival: bool, names: &Names<'_>) -> Value {
    let mut value = match &entry.what {
        What::Granted(granted) => of_grant(granted, by_arrival),
        What::Refused { node, refusal } => json!({
            "what": "refused",
            "node": node.0,
            "sentence": format!("node#{} was refused: {}", node.0, refusal_name(*refusal)),
        }),
        What::Evicted(evicted) => of_eviction(evicted, names),
        What::Waits(reason) => json!({
            "what": "waits",
            "reason": reason,
            "sentence": said_then(reason, entry.at_ms, names),
        }),
    };
    value["at_ms"] = json!(entry.at_ms);
    value["stage"] = json!(entry.what.stage().name());
    value
}

/// Renders a reason as of the time when it was noted. The ring keeps neither remedies nor the
/// jobs ahead.
fn said_then(reason: &Reason, at_ms: Millis, names: &Names<'_>) -> String {
    let wait = Wait {
        ask: AskId(0),
        kind: Kind::Other,
        am: false,
        pending: 0,
        reason: *reason,
        ahead: None,
        remedies: Vec::new(),
    };
    let then = Names {
        now: at_ms,
        ..*names
    };
    sentence(&wait, &then)
}

fn of_grant(granted: &GrantRecord, by_arrival: bool) -> Value {
    let task = match granted.kind {
        _ if granted.am => "its ApplicationMaster",
        Kind::Map => "a map",
        Kind::Reduce => "a reduce",
        Kind::Other => "a container",
    };
    let near = match granted.locality {
        _ if !granted.named => "",
        Locality::NodeLocal => ", on a host that it named",
        Locality::RackLocal => ", on a rack that it named",
        Locality::OffSwitch => ", away from the places that it named",
    };
    let share = match by_arrival {
        true => json!(granted.share.ratio >> 20),
        false => json!(f64::from_bits(granted.share.ratio)),
    };
    json!({
        "what": "granted",
        "node": granted.node.0,
        "ask": granted.ask.0,
        "kind": kind_name(granted.kind),
        "am": granted.am,
        "locality": granted.locality,
        "left": granted.left,
        // The keys that were the smallest. The queue's are its class and the order inside that
        // class: usage per weight, or the first arrival in ms.
        "share": { "class": granted.share.class, "key": share },
        "order": [granted.order.0, granted.order.1],
        "sentence": format!(
            "{task} was granted on node#{}{near}; {} more asked for",
            granted.node.0, granted.left
        ),
    })
}

fn of_eviction(evicted: &EvictionRecord, names: &Names<'_>) -> Value {
    let queue = names.queue(evicted.queue);
    let (used, entitled) = (evicted.used, evicted.entitled.unwrap_or(0));
    let why = match evicted.reason {
        EvictReason::MinShare => format!(
            "others lack {} MB of their minimum share; {queue} has {used} MB of {entitled} MB",
            evicted.lacking
        ),
        EvictReason::FairShare => format!(
            "others lack {} MB of their fair share; {queue} has {used} MB of {entitled} MB",
            evicted.lacking
        ),
        EvictReason::Unpaid => {
            format!("{queue} uses {used} slots, pays for {entitled}, and others pay for theirs")
        }
        EvictReason::Displaced => format!("the order of jobs gives its slot to others ({queue})"),
        EvictReason::Inside => format!(
            "a job of {queue} with a higher priority or of a user below the limit lacks {} MB",
            evicted.lacking
        ),
    };
    let (what, goes) = match evicted.observed {
        true => (
            "observed",
            "would be taken back, but preemption only observes",
        ),
        false => ("evicted", "is taken back"),
    };
    json!({
        "what": what,
        "key": evicted.key,
        "reason": eviction_name(evicted.reason),
        "queue": evicted.queue,
        "used": evicted.used,
        "entitled": evicted.entitled,
        "lacking": evicted.lacking,
        "sentence": format!("container {} {goes}: {why}", evicted.key),
    })
}
