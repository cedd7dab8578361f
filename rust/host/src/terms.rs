//! What a queue grants to a new application: its priority and its lifetime. The host gives what was
//! asked for, and the engine's description of the queue.

use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

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
    /// Who submits the application or changes its priority, where YARN checks rights.
    user: Option<String>,
    #[serde(default)]
    groups: Vec<String>,
    /// The application, for the refusal.
    #[serde(default)]
    application: String,
    /// The workflow that the application is of.
    workflow: Option<String>,
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
    /// It is new, and of a workflow; the priority was granted to the submission.
    Workflow,
}

#[derive(Default, Deserialize)]
struct Limits {
    default_priority: Option<i64>,
    max_priority: Option<i64>,
    lifetime_s: Option<i64>,
    max_lifetime_s: Option<i64>,
    #[serde(default)]
    max_priorities: Vec<UserPriority>,
    #[serde(default)]
    workflow_priorities: BTreeMap<String, i64>,
}

/// What some users may have.
#[derive(Deserialize)]
struct UserPriority {
    who: String,
    max: i64,
    default: Option<i64>,
}

impl UserPriority {
    /// Whether it is for a user, by Hadoop's notation: users, a blank, groups; `*` is everybody.
    fn is_for(&self, user: &str, groups: &[String]) -> bool {
        let mut lists = self.who.splitn(2, ' ');
        let mut list = || lists.next().unwrap_or_default().split(',').map(str::trim);
        let (users, of_groups): (Vec<&str>, Vec<&str>) = (list().collect(), list().collect());
        users == ["*"]
            || of_groups == ["*"]
            || users.contains(&user)
            || groups
                .iter()
                .any(|group| of_groups.contains(&group.as_str()))
    }
}

impl Terms {
    /// What the queue says of priorities of the user, the highest first. None if it says nothing of
    /// any user, or YARN checks no rights.
    fn of_user(&self) -> Option<Vec<&UserPriority>> {
        let user = self.user.as_deref()?;
        let rules = &self.queue.max_priorities;
        let mine = rules.iter().filter(|rule| rule.is_for(user, &self.groups));
        let mut mine: Vec<&UserPriority> = mine.collect();
        mine.sort_by_key(|rule| Reverse(rule.max));
        (!rules.is_empty()).then_some(mine)
    }

    /// A priority that the user may have, or why it is none.
    fn granted(&self, requested: Option<i64>) -> Value {
        let of_user = self.of_user();
        let rules = of_user.as_deref().unwrap_or_default();
        let own = self.queue.max_priority;
        let most = own.map_or(self.most, |own| own.min(self.most));
        // As stock: of the user's rules the one with the lowest maximum has the default.
        let default = rules.last().and_then(|rule| rule.default);
        let wanted = requested.or(default).or(self.queue.default_priority);
        let priority = wanted.unwrap_or(0).min(most);
        if of_user.is_none() || rules.iter().any(|rule| priority <= rule.max) {
            return json!(priority);
        }
        let may = match rules.first() {
            Some(rule) => format!("at most {}", rule.max),
            None => "none".to_owned(),
        };
        json!(format!(
            "User {} does not have permission to submit/update {} for priority {priority} in queue \
             {}: the queue grants {may} (max_priorities, acl_application_max_priority); ask for \
             less, or let an administrator of the queue change that",
            self.user.as_deref().unwrap_or_default(),
            self.application,
            self.name
        ))
    }
}

/// The priority in force: asked for, or else the user's or the queue's default, or else 0; at most
/// the queue's and the cluster's highest. That of a workflow replaces it. What the user may not
/// have is refused, with a text in the place of the number. Where the queue's highest is 0
/// priorities do not count: all are 0, and a change is refused.
pub(crate) fn priority(terms: &Terms) -> Value {
    let requested = terms.requested;
    let workflow = terms.workflow.as_deref().unwrap_or_default();
    match (terms.queue.max_priority, terms.purpose) {
        (Some(0), Purpose::Update) => json!(format!(
            "priorities of applications do not count in queue {}; to let them count, set its \
             max_priority in heddle.json above 0",
            terms.name
        )),
        (Some(0), _) => json!(0),
        (_, Purpose::Recover) => json!(requested.unwrap_or(0)),
        (_, Purpose::Workflow) => match terms.queue.workflow_priorities.get(workflow) {
            Some(priority) => terms.granted(Some(*priority)),
            None => json!(requested.unwrap_or(0)),
        },
        _ => terms.granted(requested),
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

    /// AppPriorityACLsManager: the first of the user's groups, the highest first, that reaches
    /// as far; the default is that of the lowest.
    #[test]
    fn users_have_the_priorities_that_the_queue_grants_them() {
        let queue = json!({"default_priority": 4, "max_priorities": [
            {"who": "ann ops", "max": 3, "default": 1}, {"who": "ann", "max": 7, "default": 2}]});
        let granted = |user: Value, group: &str, requested: Option<i64>| {
            priority(&terms(
                json!({"requested": requested, "most": 9, "queue": queue,
                "name": "root.a", "user": user, "groups": [group]}),
            ))
        };
        assert_eq!(granted(json!("ann"), "x", Some(7)), 7);
        assert_eq!(granted(json!("ann"), "x", None), 1);
        assert_eq!(granted(json!("bob"), "ops", Some(3)), 3);
        for (user, group, asks) in [
            ("ann", "x", Some(8)),
            ("bob", "ops", Some(4)),
            // In no group of the queue: not even its default is granted.
            ("bob", "x", None),
        ] {
            let refusal = granted(json!(user), group, asks);
            let refusal = refusal.as_str().expect("a refusal");
            assert!(refusal.contains("root.a"), "{refusal}");
        }
        assert_eq!(
            granted(Value::Null, "", Some(9)),
            9,
            "no rights are checked"
        );
        let everybody = json!({"max_priorities": [{"who": "*", "max": 5}]});
        let asks = |priority: i64| {
            json!({"requested": priority, "most": 9, "queue": everybody,
            "user": "bob"})
        };
        assert_eq!(priority(&terms(asks(5))), 5);
        assert!(priority(&terms(asks(6))).is_string());
    }

    /// WorkflowPriorityMappingsManager.mapWorkflowPriorityForApp.
    #[test]
    fn a_workflow_has_its_priority_as_far_as_the_user_may() {
        let queue = json!({"workflow_priorities": {"nightly": 5, "report": 8},
            "max_priorities": [{"who": "ann", "max": 6}]});
        let granted = |workflow: &str| {
            priority(&terms(
                json!({"purpose": "workflow", "requested": 2, "most": 9,
                "queue": queue, "user": "ann", "workflow": workflow}),
            ))
        };
        assert_eq!(granted("nightly"), 5);
        assert_eq!(granted("other"), 2);
        assert!(granted("report").is_string());
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
