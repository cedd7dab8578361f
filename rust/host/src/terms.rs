//! What a queue grants to a new application: its priority and its lifetime. The host gives what was
//! asked for, and the engine's description of the queue.

use serde::Deserialize;
use serde_json::{Value, json};

/// A question about an application.
#[derive(Deserialize)]
pub(crate) struct Terms {
    #[serde(default)]
    purpose: Purpose,
    /// The queue's name, for the refusal.
    #[serde(default)]
    name: String,
    /// None if the application asks for none.
    requested: Option<i64>,
    /// The cluster's highest priority.
    #[serde(default)]
    most: i64,
    /// The engine's description; empty if there is no such queue.
    #[serde(default)]
    queue: Limits,
}

/// Why the host asks for a priority.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Purpose {
    /// An application is new.
    #[default]
    Submit,
    /// Somebody changes the priority of one.
    Update,
    /// It was accepted before a restart, with this priority.
    Recover,
}

#[derive(Default, Deserialize)]
struct Limits {
    default_priority: Option<i64>,
    max_priority: Option<i64>,
    lifetime_s: Option<i64>,
    max_lifetime_s: Option<i64>,
}

/// The priority in force: asked for, or else the queue's default, or else 0; at most the queue's
/// and the cluster's highest. Where the queue's highest is 0 priorities do not count: all are 0,
/// and a change is refused with a text in the place of the number.
pub(crate) fn priority(terms: &Terms) -> Value {
    let requested = terms.requested;
    match (terms.queue.max_priority, terms.purpose) {
        (Some(0), Purpose::Update) => json!(format!(
            "priorities of applications do not count in queue {}; to let them count, set its \
             max_priority in heddle.json above 0",
            terms.name
        )),
        (Some(0), _) => json!(0),
        (_, Purpose::Recover) => json!(requested.unwrap_or(0)),
        (own, _) => {
            let most = own.map_or(terms.most, |own| own.min(terms.most));
            let wanted = requested.or(terms.queue.default_priority);
            json!(wanted.unwrap_or(0).min(most))
        }
    }
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
        assert_eq!(granted(Some(-3), json!({"max_priority": 5})), -3);
        assert_eq!(
            granted(Some(-3), json!({"max_priority": 0})),
            0,
            "none count"
        );
    }

    #[test]
    fn where_priorities_do_not_count_a_change_is_refused_and_a_stored_one_is_0() {
        let granted = |purpose: &str, most: i64| {
            let queue = json!({ "max_priority": most });
            priority(&terms(
                json!({"purpose": purpose, "requested": 7, "most": 9,
                "name": "root.a", "queue": queue}),
            ))
        };
        let refusal = granted("update", 0);
        let refusal = refusal.as_str().expect("a refusal");
        assert!(refusal.contains("root.a") && refusal.contains("max_priority"));
        assert_eq!(granted("recover", 0), 0);
        assert_eq!(granted("recover", 5), 7, "as it was accepted");
        assert_eq!(granted("update", 5), 5);
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
