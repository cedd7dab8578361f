//! What a queue grants to a new application: its priority and its lifetime. The host gives what was
//! asked for, and the engine's description of the queue.

use serde::Deserialize;
use serde_json::{Value, json};

/// A question about an application.
#[derive(Deserialize)]
pub(crate) struct Terms {
    /// None if the application asks for none.
    requested: Option<i64>,
    /// The cluster's highest priority.
    #[serde(default)]
    most: i64,
    /// The engine's description; empty if there is no such queue.
    #[serde(default)]
    queue: Limits,
}

#[derive(Default, Deserialize)]
struct Limits {
    default_priority: Option<i64>,
    max_priority: Option<i64>,
    lifetime_s: Option<i64>,
    max_lifetime_s: Option<i64>,
}

/// The priority in force: asked for, or else the queue's default, or else 0; at most the queue's
/// and the cluster's highest.
pub(crate) fn priority(terms: &Terms) -> Value {
    let wanted = terms.requested.or(terms.queue.default_priority);
    let most = terms
        .queue
        .max_priority
        .map_or(terms.most, |own| own.min(terms.most));
    json!(wanted.unwrap_or(0).min(most))
}

/// The lifetime in force, in seconds, and `most` of the queue. None or a value up to 0 asks for
/// none: then the queue's default holds, or else its maximum. -1 is without end.
pub(crate) fn lifetime(terms: &Terms) -> Value {
    let positive = |value: Option<i64>| value.filter(|seconds| *seconds > 0);
    let most = positive(terms.queue.max_lifetime_s);
    let wanted = positive(terms.requested).or(positive(terms.queue.lifetime_s));
    let granted = match (wanted, most) {
        (Some(wanted), Some(most)) => wanted.min(most),
        (None, None) => -1,
        (Some(seconds), None) | (None, Some(seconds)) => seconds,
    };
    json!({ "lifetime": granted, "most": most.unwrap_or(-1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(terms: Value) -> Terms {
        serde_json::from_value(terms).expect("terms")
    }

    #[test]
    fn a_priority_is_bounded_by_the_queue_and_the_cluster() {
        let granted = |requested: Option<i64>, queue: Value| {
            priority(&terms(
                json!({"requested": requested, "most": 9, "queue": queue}),
            ))
        };
        assert_eq!(granted(None, json!({})), 0);
        assert_eq!(granted(None, json!({"default_priority": 4})), 4);
        assert_eq!(granted(None, json!({"default_priority": 40})), 9);
        assert_eq!(
            granted(Some(0), json!({"default_priority": 4})),
            0,
            "it asks for 0"
        );
        assert_eq!(granted(Some(12), json!({})), 9);
        assert_eq!(granted(Some(7), json!({"max_priority": 5})), 5);
        assert_eq!(granted(Some(12), json!({"max_priority": 50})), 9);
    }

    /// CapacityScheduler.checkAndGetApplicationLifetime.
    #[test]
    fn a_lifetime_is_bounded_by_the_queue() {
        let granted = |requested: Option<i64>, queue: Value| {
            lifetime(&terms(json!({"requested": requested, "queue": queue})))["lifetime"].clone()
        };
        for none in [None, Some(0), Some(-1)] {
            assert_eq!(granted(none, json!({})), -1);
            assert_eq!(granted(none, json!({"lifetime_s": 60})), 60);
            assert_eq!(
                granted(none, json!({"lifetime_s": 60, "max_lifetime_s": 90})),
                60
            );
            assert_eq!(granted(none, json!({"max_lifetime_s": 90})), 90);
        }
        assert_eq!(granted(Some(100), json!({"lifetime_s": 60})), 100);
        assert_eq!(granted(Some(100), json!({"max_lifetime_s": 90})), 90);
        assert_eq!(granted(Some(80), json!({"max_lifetime_s": 90})), 80);
        let most = |queue: Value| lifetime(&terms(json!({"queue": queue})))["most"].clone();
        assert_eq!(most(json!({"max_lifetime_s": 90})), 90);
        assert_eq!(most(json!({})), -1);
    }
}
