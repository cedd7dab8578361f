//! Queues that submissions make: templates (section 9).

use super::queues::with;
use super::{approximated, fault, front, queue, refused, verdict};
use heddle_stock::Verdict;
use serde_json::{Value, json};

#[test]
fn parents_may_have_queues_made_by_submissions() {
    let levels = [
        ("root.b.auto-queue-creation-v2.enabled", "true"),
        ("root.b.auto-queue-creation-v2.maximum-queue-depth", "3"),
        ("root.b.auto-queue-creation-v2.template.capacity", "2w"),
        (
            "root.b.auto-queue-creation-v2.template.maximum-capacity",
            "40",
        ),
        (
            "root.b.auto-queue-creation-v2.leaf-template.user-limit-factor",
            "2",
        ),
    ];
    let v2 = front(&with(&levels));
    let b = queue(&v2, "root.b");
    assert_eq!(
        (&b["parent"], &b["dynamic_depth"]),
        (&json!(true), &json!(3))
    );
    assert_eq!(b["max_children"], 1000);
    let leaf = &b["new_leaf"];
    assert_eq!(
        (&leaf["weight"], &leaf["max_share"]),
        (&json!(2.0), &json!("40% of parent"))
    );
    assert_eq!(leaf["user_limit_factor"], 2.0);
    assert_eq!(verdict(&v2, levels[4].0), &Verdict::Exact);
    // The system's 10,000, by its part; users have all of it (9.3).
    let below = &b["new_parent"]["new_parent"]["new_leaf"];
    assert_eq!(below["max_jobs_by_share"], 10_000);
    assert_eq!(below["user_limit_factor"], Value::Null);
    assert_eq!(b["new_parent"]["new_parent"]["new_parent"], Value::Null);
    // Their masters may take all (5). Without the deletion policy they stay.
    assert_eq!(v2.config["queue_defaults"]["max_am_share"], 1.0);
    assert_eq!(
        v2.config["dynamic_queues"]["expire_ms"],
        1_000_000_000_000_i64
    );
    let mut deleted = levels.to_vec();
    deleted.extend([
        ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
        (
            "yarn.resourcemanager.scheduler.monitor.policies",
            "a.b.AutoCreatedQueueDeletionPolicy",
        ),
        ("auto-queue-creation-v2.queue-expiration-time", "60"),
    ]);
    let deleted = front(&with(&deleted));
    assert_eq!(deleted.config["dynamic_queues"]["expire_ms"], 60_000);
    // Only the deletion policy is listed.
    assert_eq!(deleted.config["preemption"]["enabled"], false);
}

#[test]
fn leaves_of_a_template_have_its_capacity_and_are_reached_by_mappings() {
    let v1 = front(&with(&[
        ("root.b.auto-create-child-queue.enabled", "true"),
        ("root.b.auto-create-child-queue.max-queues", "8"),
        ("root.b.leaf-queue-template.capacity", "10"),
    ]));
    let b = queue(&v1, "root.b");
    assert_eq!(
        (&b["dynamic_depth"], &b["max_children"]),
        (&json!(1), &json!(8))
    );
    assert_eq!(b["mapped_only"], true);
    assert_eq!(b["new_leaf"]["min_share"], "10% of parent");
    // Stock does not count their applications (6.1), and limits users as elsewhere.
    assert_eq!(b["new_leaf"]["max_jobs_by_share"], Value::Null);
    assert_eq!(b["new_leaf"]["user_limit_factor"], 1.0);
    let parts = [
        ("root.capacity", "[memory=100,vcores=10]"),
        ("root.a.capacity", "[memory=60,vcores=6]"),
        ("root.b.capacity", "[memory=40,vcores=4]"),
        ("root.a.a1.capacity", "[memory=60,vcores=6]"),
        ("root.b.auto-create-child-queue.enabled", "true"),
        (
            "root.b.leaf-queue-template.capacity",
            "[memory=10,vcores=1]",
        ),
    ];
    // A quarter of the parent's.
    let v1 = front(&with(&parts));
    let new = &queue(&v1, "root.b")["new_leaf"];
    assert_eq!(new["min_share"]["memory-mb"], "25% of parent");
    let percent = [parts[4], parts[5]];
    let fault = fault(&with(&percent));
    assert!(fault.problem.contains("percent"), "{}", fault.problem);
}

/// Of the own kind first, then of both; of each the path itself, then with wildcards (9.3).
#[test]
fn templates_of_parents_and_of_wildcards_go_down_all_levels() {
    let v2 = "auto-queue-creation-v2";
    let set = |path: &str, key: &str, value: &str| (format!("{path}.{v2}{key}"), value.to_owned());
    let settings = [
        set("root.b", ".enabled", "true"),
        set("root.b", ".maximum-queue-depth", "3"),
        set("root.b", ".parent-template.capacity", "5w"),
        set("root.b", ".template.capacity", "2w"),
        set("root.b", ".template.acl_submit_applications", "ann"),
        set("root.*", ".template.max-parallel-apps", "7"),
        (
            format!("root.b.{v2}.parent-template.{v2}.max-queues"),
            "12".to_owned(),
        ),
        set("root.*", ".template.capacity", "9w"),
        set("root.b.*", ".leaf-template.capacity", "3w"),
        set("root.b.*", ".template.maximum-allocation-mb", "2048"),
        set("root.*.*", ".leaf-template.capacity", "4w"),
        set("root.*.*", ".template.default-application-lifetime", "60"),
        set("root.b.*.*", ".leaf-template.user-limit-factor", "3"),
        // Three wildcards are more than the depth of queues without a depth of their own.
        set("root.*.*.*", ".template.capacity", "8w"),
    ];
    let settings: Vec<(&str, &str)> = settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let front = front(&with(&settings));
    let b = queue(&front, "root.b");
    let weights = [
        &b["new_leaf"]["weight"],
        &b["new_parent"]["weight"],
        &b["new_parent"]["new_leaf"]["weight"],
        &b["new_parent"]["new_parent"]["new_leaf"]["weight"],
    ];
    // The deepest: `root.b.*.*` has no capacity, and `root.*.*.*` is one wildcard too many.
    let none = Value::Null;
    assert_eq!(weights, [&json!(2.0), &json!(5.0), &json!(3.0), &none]);
    for new in [&b["new_leaf"], &b["new_parent"]] {
        assert_eq!(new["acl_submit"], "ann", "both kinds");
        assert_eq!(new["max_running_jobs"], 7, "root.* stands for root.b");
    }
    let below = &b["new_parent"];
    let most = [&b["max_children"], &below["max_children"]];
    assert_eq!(most, [1_000, 12]);
    assert_eq!(below["new_parent"]["max_children"], 1_000);
    assert_eq!(below["new_leaf"]["max_container"]["memory-mb"], 2048);
    assert_eq!(below["new_leaf"]["lifetime_s"], 60);
    assert_eq!(below["new_leaf"]["acl_submit"], none);
    assert_eq!(below["new_parent"]["new_leaf"]["user_limit_factor"], 3.0);
    assert_eq!(below["new_parent"]["new_parent"], none);
    for (name, _) in &settings[..13] {
        assert_eq!(verdict(&front, name), &Verdict::Exact, "{name}");
    }
}

#[test]
fn templates_have_capacities_of_labels() {
    let all = with(&[
        ("root.accessible-node-labels", "*"),
        ("root.a.accessible-node-labels", "gpu,big"),
        ("root.a.accessible-node-labels.gpu.capacity", "60"),
        ("root.a.accessible-node-labels.big.capacity", "60"),
        ("root.b.accessible-node-labels", "gpu,big"),
        ("root.b.accessible-node-labels.gpu.capacity", "40"),
        ("root.b.accessible-node-labels.big.capacity", "40"),
        ("root.a.a1.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.a1.accessible-node-labels.big.capacity", "100"),
        ("root.b.auto-create-child-queue.enabled", "true"),
        ("root.b.leaf-queue-template.capacity", "10"),
        (
            "root.b.leaf-queue-template.accessible-node-labels.gpu.capacity",
            "20",
        ),
        (
            "root.b.leaf-queue-template.accessible-node-labels.gpu.maximum-capacity",
            "50",
        ),
        (
            "root.b.leaf-queue-template.accessible-node-labels.gpu.maximum-am-resource-percent",
            "0.3",
        ),
        (
            "root.b.leaf-queue-template.default-node-label-expression",
            "gpu",
        ),
    ]);
    let front = front(&all);
    let new = &queue(&front, "root.b")["new_leaf"];
    let gpu = &new["labels"]["gpu"];
    assert_eq!(gpu["min_share"], "20% of parent");
    assert_eq!(gpu["max_share"], "50% of parent");
    assert_eq!(gpu["max_am_share"], 0.3);
    assert_eq!(new["default_label"], "gpu");
    // Access without a capacity is a limit of nothing, as of a queue in the file.
    assert_eq!(new["labels"]["big"]["max_share"]["memory-mb"], 0);
    let unknown = "root.b.leaf-queue-template.accessible-node-labels";
    let wide = with(&[
        ("root.b.accessible-node-labels", "gpu"),
        ("root.b.auto-create-child-queue.enabled", "true"),
        (unknown, "ssd"),
    ]);
    let fault = fault(&wide);
    assert!(fault.problem.contains("ssd"), "{}", fault.problem);
}

/// Stock follows what a file says of the very path that a submission makes. A reader of the file
/// does not know such paths.
#[test]
fn properties_of_queues_that_are_not_there_yet_are_refused() {
    let names = [
        "root.b.dora.capacity",
        "root.b.dora.auto-queue-creation-v2.template.capacity",
    ];
    let creates = ("root.b.auto-queue-creation-v2.enabled", "true");
    for name in names {
        let found = front(&with(&[creates, (name, "2w")]));
        assert!(refused(&found, name, "`queues`"), "{name}");
        let found = front(&with(&[(name, "2w")]));
        assert!(approximated(&found, name, "no effect"), "{name}");
    }
    let unknown = "root.b.auto-queue-creation-v2.template.colour";
    let found = front(&with(&[creates, (unknown, "red")]));
    assert!(approximated(&found, unknown, "no effect"));
}

/// A depth of two thousand million levels is written as that of the deepest path.
#[test]
fn a_huge_depth_ends() {
    let name = "root.b.auto-queue-creation-v2.maximum-queue-depth";
    let front = front(&with(&[
        ("root.b.auto-queue-creation-v2.enabled", "true"),
        (name, "2000000000"),
    ]));
    assert!(matches!(verdict(&front, name), Verdict::Approximated(_)));
    let mut at = &queue(&front, "root.b")["new_parent"];
    let mut levels = 1;
    while !at.is_null() {
        at = &at["new_parent"];
        levels += 1;
    }
    assert_eq!(levels, 50);
}
