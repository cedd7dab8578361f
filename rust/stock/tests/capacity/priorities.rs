//! Priorities of queues, of applications by user, and of workflows (section 6.4).

use super::queues::{key, with};
use super::{approximated, fault, front, queue, refused};
use serde_json::{Value, json};

#[test]
fn priorities_of_queues_count_below_priority_utilization() {
    let below = [
        ("root.a.ordering-policy", "priority-utilization"),
        ("root.a.a1.priority", "4"),
        ("root.b.priority", "7"),
    ];
    let front = front(&with(&below));
    assert_eq!(queue(&front, "root.a.a1")["priority"], 4);
    assert_eq!(queue(&front, "root.b")["priority"], Value::Null);
    assert!(approximated(
        &front,
        "root.b.priority",
        "not priority-utilization"
    ));
    // The policy is inherited, the priority is not.
    let above = [
        ("root.ordering-policy", "priority-utilization"),
        ("root.a.a1.priority", "4"),
    ];
    assert_eq!(key(&above, "root.a.a1", "priority"), 4);
}

#[test]
fn priorities_of_applications_have_defaults_and_maxima() {
    let name = "root.b.acl_application_max_priority";
    assert_eq!(
        key(
            &[("root.b.default-application-priority", "3")],
            "root.b",
            "default_priority"
        ),
        3
    );
    let all = [(name, "[user=* max_priority=9 default_priority=2]")];
    let everybody = json!([{"who": "*", "max": 9, "default": 2}]);
    assert_eq!(key(&all, "root.b", "max_priorities"), everybody);
    let some = front(&with(&[(
        name,
        "[user=alice,bob group=ops max_priority=9] [GROUP=ops MAX_PRIORITY=5 default_priority=-1]",
    )]));
    let rules = json!([{"who": "alice,bob ops", "max": 9, "default": null},
        {"who": " ops", "max": 5, "default": 0}]);
    assert_eq!(queue(&some, "root.b")["max_priorities"], rules);
    // In stock a group without a user is one.
    assert!(approximated(&some, name, "takes the first"));
    for wrong in [
        "[user=alice]",
        "[max_priority=3]",
        "[user=a max_priority=x]",
        "user=a",
        "[]",
    ] {
        assert_eq!(fault(&with(&[(name, wrong)])).line, 6, "{wrong}");
    }
}

#[test]
fn workflows_have_priorities_in_queues() {
    let mappings = "yarn.scheduler.capacity.workflow-priority-mappings";
    let switch = "yarn.scheduler.capacity.workflow-priority-mappings-override.enable";
    let on = |value| front(&with(&[(mappings, value), (switch, "true")]));
    let two = on("Nightly:root.a:5, nightly:root.a:6, x:root.b:-1");
    assert_eq!(
        queue(&two, "root.a")["workflow_priorities"],
        json!({"nightly": 6})
    );
    assert_eq!(
        queue(&two, "root.b")["workflow_priorities"],
        json!({"x": -1})
    );
    assert!(approximated(&on("x:root:1"), mappings, "a mapping of root"));
    assert!(refused(&on("x:root.gone:1"), mappings, "no such queue"));
    for wrong in ["x:root.a", "x:root.a:high"] {
        assert_eq!(
            fault(&with(&[(mappings, wrong), (switch, "true")])).line,
            6,
            "{wrong}"
        );
    }
    let off = front(&with(&[(mappings, "x:root.a:5")]));
    assert!(approximated(&off, mappings, "is not true"));
}
