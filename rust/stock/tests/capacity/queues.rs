//! Settings of single queues and users (sections 2, 6, 7, 9, 11 and 13).

use super::{approximated, fault, front, properties, queue, read, refused, verdict};
use heddle_stock::{Note, Verdict};
use serde_json::{Value, json};

/// A file with the queues a and b below root, and a1 below a.
pub(super) fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all = vec![
        ("root.queues", "a,b"),
        ("root.a.capacity", "60"),
        ("root.b.capacity", "40"),
        ("root.a.queues", "a1"),
        ("root.a.a1.capacity", "100"),
    ];
    all.extend(more);
    all
}

/// What a key of a queue is with these properties.
pub(super) fn key(more: &[(&str, &str)], path: &str, key: &str) -> Value {
    queue(&front(&with(more)), path)[key].clone()
}

#[test]
fn a_stopped_queue_stops_those_below_it() {
    let stopped = [("root.a.state", "STOPPED")];
    assert_eq!(key(&stopped, "root.a", "state"), "stopped");
    // The engine hands it down; a reload must know what is not written.
    assert_eq!(key(&stopped, "root.a.a1", "state"), Value::Null);
    assert_eq!(key(&stopped, "root.b", "state"), Value::Null);
    assert_eq!(
        key(&[("root.a.state", "running")], "root.a", "state"),
        "running"
    );
    let below = fault(&with(&[
        ("root.a.state", "stopped"),
        ("root.a.a1.state", "RUNNING"),
    ]));
    assert!(below.line == 7 && below.problem.contains("below a queue that is STOPPED"));
    for wrong in ["DRAINING", "", "on"] {
        let fault = fault(&with(&[("root.a.state", wrong)]));
        assert!(
            fault.problem.contains("expected RUNNING or STOPPED"),
            "{fault}"
        );
    }
}

#[test]
fn rights_are_lists_in_hadoops_notation() {
    let rights = [
        ("root.acl_submit_applications", " "),
        ("root.a.a1.acl_administer_queue", "alice,bob staff"),
    ];
    assert_eq!(key(&rights, "root", "acl_submit"), " ");
    assert_eq!(key(&rights, "root.a.a1", "acl_admin"), "alice,bob staff");
    assert_eq!(key(&rights, "root.b", "acl_submit"), Value::Null);
}

#[test]
fn limits_of_applications_follow_queue_and_system() {
    let limit = |more: &[(&str, &str)], path: &str| key(more, path, "max_jobs");
    assert_eq!(limit(&[], "root.b"), 4_000);
    let system = [("maximum-applications", "101")];
    assert_eq!(limit(&system, "root"), 101);
    // 101 x 0.4f, cut.
    assert_eq!(limit(&system, "root.b"), 40);
    let own = [("root.b.maximum-applications", "7")];
    assert_eq!(limit(&own, "root.b"), 7);
    assert_eq!(
        limit(&[("root.b.maximum-applications", "-1")], "root.b"),
        4_000
    );
    let global = [
        ("global-queue-max-application", "500"),
        ("maximum-applications", "300"),
    ];
    assert_eq!(limit(&global, "root.b"), 300);
    assert_eq!(
        limit(&[("global-queue-max-application", "200")], "root.a.a1"),
        200
    );
}

#[test]
fn parallel_applications_are_limited_by_queue_and_user() {
    let front = front(&with(&[
        ("max-parallel-apps", "50"),
        ("root.a.max-parallel-apps", "5"),
        ("user.max-parallel-apps", "3"),
        ("user.alice.max-parallel-apps", "9"),
        ("user.jane.doe.max-parallel-apps", "2"),
        // Not the limit of all users: stock ignores it.
        ("user.bobmax-parallel-apps", "1"),
    ]));
    assert_eq!(front.config["queue_defaults"]["max_running_jobs"], 50);
    assert_eq!(queue(&front, "root.a")["max_running_jobs"], 5);
    let users = json!({
        "max_running_jobs": 3,
        "each": {"alice": {"max_running_jobs": 9}, "jane.doe": {"max_running_jobs": 2}},
    });
    assert_eq!(front.config["users"], users);
}

#[test]
fn limits_of_users_come_from_queue_or_system() {
    let front = front(&with(&[
        ("minimum-user-limit-percent", "25"),
        ("root.b.minimum-user-limit-percent", "12.5"),
        ("user-limit-factor", "2"),
        ("root.b.user-limit-factor", "-1"),
        ("root.user-settings.alice.weight", "1.5"),
    ]));
    let (a1, b) = (queue(&front, "root.a.a1"), queue(&front, "root.b"));
    assert_eq!(
        (&a1["user_limit_percent"], &a1["user_limit_factor"]),
        (&json!(25.0), &json!(2.0))
    );
    assert_eq!(
        (&b["user_limit_percent"], &b["user_limit_factor"]),
        (&json!(12.5), &Value::Null)
    );
    let root = queue(&front, "root");
    assert_eq!(root["user_weights"], json!({"alice": 1.5}));
    let own = [("root.b.user-settings.bob.weight", "1")];
    assert_eq!(key(&own, "root.b", "user_weights"), json!({"bob": 1.0}));
    // Weights leave room for 100 / percent users (1.4).
    let heavy = fault(&with(&[
        ("root.user-settings.alice.weight", "4.5"),
        ("root.b.minimum-user-limit-percent", "25"),
    ]));
    // The leaf a1 has 100 percent, and is looked at first or last; either way alice is too heavy.
    assert!(heavy.line == 6 && heavy.problem.contains("100 / minimum-user-limit-percent"));
}

#[test]
fn masters_have_a_part_of_each_leaf() {
    assert_eq!(key(&[], "root.b", "max_am_share"), 0.1);
    let own = [
        ("maximum-am-resource-percent", "0.3"),
        ("root.b.maximum-am-resource-percent", "1.5"),
    ];
    assert_eq!(key(&own, "root.a.a1", "max_am_share"), 0.3);
    assert_eq!(key(&own, "root.b", "max_am_share"), 1.0);
    assert!(approximated(
        &front(&with(&own)),
        "root.b.maximum-am-resource-percent",
        "counts as 1"
    ));
}

#[test]
fn the_largest_container_comes_from_the_nearest_queue() {
    let cluster = [
        ("yarn.scheduler.maximum-allocation-mb", "8192"),
        ("yarn.scheduler.maximum-allocation-vcores", "8"),
        ("root.a.maximum-allocation-mb", "4096"),
        ("root.a.a1.maximum-allocation-vcores", "2"),
    ];
    assert_eq!(
        key(&cluster, "root.a", "max_container"),
        json!({"memory-mb": 4096, "vcores": 8})
    );
    assert_eq!(
        key(&cluster, "root.a.a1", "max_container"),
        json!({"memory-mb": 4096, "vcores": 2})
    );
    assert_eq!(key(&cluster, "root.b", "max_container"), Value::Null);
    let mut more = cluster.to_vec();
    more.push(("root.b.maximum-allocation", "memory-mb=2Gi,vcores=9"));
    let more = fault(&with(&more));
    assert!(
        more.line == 10 && more.problem.contains("at most 8 of vcores"),
        "{more}"
    );
}

#[test]
fn lifetimes_are_handed_down_as_stock_does() {
    let times = |more: &[(&str, &str)], path: &str| {
        (
            key(more, path, "lifetime_s"),
            key(more, path, "max_lifetime_s"),
        )
    };
    let most = [("root.a.maximum-application-lifetime", "100")];
    // Without a default the maximum is the default.
    assert_eq!(times(&most, "root.a.a1"), (json!(100), json!(100)));
    let both = [
        ("root.a.maximum-application-lifetime", "100"),
        ("root.a.default-application-lifetime", "30"),
        ("root.a.a1.maximum-application-lifetime", "20"),
    ];
    assert_eq!(times(&both, "root.a.a1"), (json!(20), json!(20)));
    // A default alone is lost on the way down (surprise 30).
    let lost = [("root.a.default-application-lifetime", "30")];
    assert_eq!(times(&lost, "root.a.a1"), (Value::Null, Value::Null));
    let above = [
        ("root.b.maximum-application-lifetime", "10"),
        ("root.b.default-application-lifetime", "11"),
    ];
    assert_eq!(fault(&with(&above)).line, 7);
}

#[test]
fn orders_are_those_of_leaves_and_parents() {
    let fair = [
        ("root.b.ordering-policy", "fair"),
        (
            "root.b.ordering-policy.fair.enable-size-based-weight",
            "true",
        ),
    ];
    assert_eq!(key(&fair, "root.b", "order"), "fair");
    assert_eq!(key(&fair, "root.b", "size_weight"), true);
    assert_eq!(key(&fair, "root.a.a1", "order"), "fifo");
    // A parent has no fifo, a leaf no utilization (2.3).
    assert_eq!(fault(&with(&[("root.ordering-policy", "fifo")])).line, 6);
    assert_eq!(
        fault(&with(&[("root.b.ordering-policy", "utilization")])).line,
        6
    );
}

/// Stock takes any number. Below 0 it takes nothing back, or has no dead zone.
#[test]
fn bounds_of_preemption_are_cut_to_what_has_a_meaning() {
    let bounds = [
        ("total_preemption_per_round", "round_max", 0.1, Some(1.0)),
        ("natural_termination_factor", "round_part", 0.2, Some(1.0)),
        ("max_ignored_over_capacity", "dead_zone", 0.1, None),
    ];
    for (property, key, absent, most) in bounds {
        let name = format!("yarn.resourcemanager.monitor.capacity.preemption.{property}");
        let bound = |value: &str| {
            let front = front(&with(&[(name.as_str(), value)]));
            let number = front.config["preemption"][key].as_f64();
            (
                number.expect("a number"),
                approximated(&front, &name, "cut to"),
            )
        };
        assert_eq!(front(&with(&[])).config["preemption"][key], absent);
        assert_eq!(bound("0.25"), (0.25, false));
        assert_eq!(bound("-1"), (0.0, false));
        assert_eq!(bound("2"), (most.unwrap_or(2.0), most.is_some()));
        assert_eq!(fault(&with(&[(name.as_str(), "all")])).line, 6);
    }
}

#[test]
fn preemption_is_a_monitor_that_leaves_queues_alone() {
    let on = [
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
        (
            "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill",
            "9000",
        ),
        (
            "yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval",
            "1000",
        ),
        (
            "yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor",
            "0.5",
        ),
        (
            "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round",
            "0.05",
        ),
        ("root.a.disable_preemption", "true"),
    ];
    let front = front(&with(&on));
    let expected = json!({
        "enabled": true, "min_share_timeout_ms": 1000, "fair_share_threshold": 0.0,
        "grace_ms": 9000, "round_ms": 1000,
        "round_max": 0.05, "round_part": 0.5, "dead_zone": 0.1});
    assert_eq!(front.config["preemption"], expected);
    assert_eq!(queue(&front, "root.a.a1")["preempt_from"], false);
    assert_eq!(queue(&front, "root.b")["preempt_from"], Value::Null);
    let factor = "yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor";
    assert_eq!(verdict(&front, factor), &Verdict::Exact);
    // A leaf may overrule its parent.
    let mut overruled = on.to_vec();
    overruled.push(("root.a.a1.disable_preemption", "false"));
    assert_eq!(key(&overruled, "root.a.a1", "preempt_from"), Value::Null);
    let watch = (
        "yarn.resourcemanager.monitor.capacity.preemption.observe_only",
        "true",
    );
    let mut watching = on.to_vec();
    watching.push(watch);
    let watching = super::front(&with(&watching));
    assert_eq!(watching.config["preemption"]["enabled"], true);
    assert_eq!(watching.config["preemption"]["observe_only"], true);
    assert_eq!(verdict(&watching, watch.0), &Verdict::Exact);
}

/// Section 13.5; the defaults are those of 13.1.
#[test]
fn jobs_of_one_queue_take_from_each_other_where_the_file_says_so() {
    let inside = "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.";
    let [enabled, policy, least, most] = [
        "enabled",
        "preemption-order-policy",
        "minimum-threshold",
        "max-allowable-limit",
    ]
    .map(|key| format!("{inside}{key}"));
    let on = [
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
        (enabled.as_str(), "true"),
    ];
    let plain = front(&with(&on));
    let expected = json!({"first": "users", "usage_min": 0.5, "round_max": 0.2});
    assert_eq!(plain.config["preemption"]["inside"], expected);
    assert_eq!(verdict(&plain, &enabled), &Verdict::Exact);
    let off = front(&with(&on[..1]));
    assert_eq!(off.config["preemption"]["inside"], Value::Null);
    let mut all = on.to_vec();
    all.extend([
        (policy.as_str(), "priority_first"),
        (least.as_str(), "0.75"),
        (most.as_str(), "0.5"),
        ("root.a.intra-queue-preemption.disable_preemption", "true"),
    ]);
    let found = front(&with(&all));
    let expected = json!({"first": "priorities", "usage_min": 0.75, "round_max": 0.5});
    assert_eq!(found.config["preemption"]["inside"], expected);
    assert_eq!(queue(&found, "root.a.a1")["preempt_inside"], false);
    assert_eq!(queue(&found, "root.b")["preempt_inside"], Value::Null);
    // Stock ends with an IllegalArgumentException.
    let wrong = [on[0], on[1], (policy.as_str(), "fair_first")];
    let fault = fault(&with(&wrong));
    assert!(
        fault.problem.contains("priority_first"),
        "{}",
        fault.problem
    );
}

#[test]
fn each_label_has_capacities_of_its_own() {
    let all = with(&[
        ("root.accessible-node-labels", "*"),
        ("root.a.accessible-node-labels", "gpu, big"),
        ("root.a.accessible-node-labels.gpu.capacity", "70"),
        ("root.a.accessible-node-labels.gpu.maximum-capacity", "80"),
        ("root.b.accessible-node-labels.gpu.capacity", "30"),
        ("root.b.accessible-node-labels", "*"),
        ("root.a.a1.accessible-node-labels", "gpu"),
        ("root.a.a1.accessible-node-labels.gpu.capacity", "100"),
        (
            "root.a.a1.accessible-node-labels.gpu.maximum-am-resource-percent",
            "0.4",
        ),
        ("root.a.a1.default-node-label-expression", " gpu "),
    ]);
    let front = front(&all);
    let of_labels = |note: &&Note| note.element.contains("label");
    for note in front.notes.iter().filter(of_labels) {
        assert_eq!(note.verdict, Verdict::Exact, "{}", note.element);
    }
    assert_eq!(queue(&front, "root")["accessible_labels"], "*");
    let a = queue(&front, "root.a");
    assert_eq!(a["accessible_labels"], json!(["big", "gpu"]));
    let gpu = &a["labels"]["gpu"];
    assert_eq!(gpu["min_share"]["memory-mb"], "70% of parent");
    assert_eq!(gpu["max_share"]["memory-mb"], "80% of parent");
    assert_eq!(a["min_share"]["memory-mb"], "60% of parent", "the others");
    let b = queue(&front, "root.b");
    assert_eq!(
        b["labels"]["gpu"]["min_share"]["memory-mb"],
        "30% of parent"
    );
    let a1 = queue(&front, "root.a.a1");
    assert_eq!(a1["labels"]["gpu"]["max_am_share"], 0.4);
    assert_eq!(a1["default_label"], "gpu");
}

/// Access alone gives nothing of a label of which others have capacities (section 10).
#[test]
fn access_without_a_capacity_is_a_limit_of_nothing() {
    let front = front(&with(&[
        ("root.b.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.a1.accessible-node-labels", ""),
    ]));
    let limit = &queue(&front, "root.a")["labels"]["gpu"]["max_share"];
    assert_eq!(limit["memory-mb"], 0);
    let a1 = queue(&front, "root.a.a1");
    assert_eq!(a1["accessible_labels"], json!([]));
    assert_eq!(a1.get("labels"), None, "it has no access to it");
}

#[test]
fn labels_are_checked() {
    let twice = ("root.b.default-node-label-expression", "gpu && big");
    let refusal = refused(&front(&with(&[twice])), twice.0, "several labels");
    assert!(refusal);
    for (name, value) in [
        ("root.a.a1.accessible-node-labels", "fast"),
        ("root.a.a1.accessible-node-labels", "*"),
        ("root.a.a1.default-node-label-expression", "fast"),
    ] {
        let fault = fault(&with(&[
            ("root.a.accessible-node-labels", "gpu"),
            (name, value),
        ]));
        assert_eq!(fault.line, 7, "{name} {value}");
    }
}

#[test]
fn names_that_stock_does_not_know_are_named_with_what_was_meant() {
    let all = with(&[
        ("maximum-aplications", "5"),
        ("root.b.maximum-capasity", "50"),
        ("root.a.user-limit-factor", "2"),
        ("root.b.x.capacity", "50"),
        ("root.b.reservation-window", "1"),
        ("rooot.queues", "a"),
    ]);
    let front = front(&all);
    for (name, words) in [
        (
            "maximum-aplications",
            "did you mean yarn.scheduler.capacity.maximum-applications?",
        ),
        (
            "root.b.maximum-capasity",
            "did you mean yarn.scheduler.capacity.root.b.maximum-capacity?",
        ),
        ("root.a.user-limit-factor", "it counts in leaves alone"),
        ("root.b.x.capacity", "there is no queue root.b.x"),
        ("root.b.reservation-window", "not reservable"),
        ("rooot.queues", "is no property"),
    ] {
        assert!(
            approximated(&front, name, words),
            "{name}: {:?}",
            verdict(&front, name)
        );
    }
    assert_eq!(
        front.notes.iter().filter(|note| note.line > 0).count(),
        all.len()
    );
}

#[test]
fn switches_that_are_neither_true_nor_false_count_as_absent() {
    let all = with(&[("root.b.disable_preemption", "yes")]);
    let front = front(&all);
    assert_eq!(queue(&front, "root.b")["preempt_from"], Value::Null);
    assert!(approximated(
        &front,
        "root.b.disable_preemption",
        "counts as false"
    ));
}

#[test]
fn a_calculator_of_memory_alone_takes_no_further_types() {
    let types = ("yarn.resource-types", "gpu");
    assert_eq!(fault(&with(&[types])).line, 6);
    assert_eq!(fault(&with(&[("resource-calculator", "a.B")])).line, 6);
    let dominant = ("resource-calculator", "x.DominantResourceCalculator");
    let min = key(&[types, dominant], "root.b", "min_share");
    assert_eq!(min.as_object().map(|min| min.len()), Some(3));
    assert!(read(&properties(&with(&[types, dominant]))).is_ok());
}

/// Values that stock starts with, and what they come to.
#[test]
fn values_beyond_their_range_count_as_in_stock_where_stock_starts() {
    let read = front(&[
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("maximum-am-resource-percent", "-1"),
        ("root.b.maximum-am-resource-percent", "-0.5"),
        ("root.b.minimum-user-limit-percent", "101"),
    ]);
    for path in ["root.a", "root.b"] {
        assert_eq!(queue(&read, path)["max_am_share"], 0.0, "{path}");
    }
    assert_eq!(queue(&read, "root.b")["user_limit_percent"], 100.0);
    for (name, words) in [
        ("maximum-am-resource-percent", "one application at a time"),
        ("root.b.maximum-am-resource-percent", "counts as 0"),
        ("root.b.minimum-user-limit-percent", "counts as 100"),
    ] {
        let Verdict::Approximated(how) = verdict(&read, name) else {
            panic!("{name}");
        };
        assert!(how.contains(words), "{how}");
    }
}

/// The way back to stock is closed.
#[test]
fn values_with_which_stock_does_not_start_are_warned_of() {
    let read = front(&[
        ("root.queues", "a"),
        ("root.a.capacity", "[memory = 16384]"),
        ("root.a.max-parallel-apps", " 5 "),
        ("user.alice.max-parallel-apps", "0x5"),
        ("resource-calculator", "DominantResourceCalculator"),
    ]);
    assert_eq!(queue(&read, "root.a")["max_running_jobs"], 5);
    for name in [
        "root.a.capacity",
        "root.a.max-parallel-apps",
        "user.alice.max-parallel-apps",
        "resource-calculator",
    ] {
        let Verdict::Warned(what) = verdict(&read, name) else {
            panic!("{name}");
        };
        assert!(what.starts_with("stock does not start"), "{what}");
    }
}

#[test]
fn containers_that_no_cluster_grants_are_a_fault_with_both_values() {
    let smallest = "yarn.scheduler.minimum-allocation-mb";
    let fault = fault(&[
        ("root.queues", "a"),
        ("root.a.capacity", "100"),
        (smallest, "0"),
    ]);
    assert_eq!(fault.line, 3);
    assert!(fault.problem.contains("is 0") && fault.problem.contains("is 8192"));
}
