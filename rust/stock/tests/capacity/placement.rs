//! Mappings of submissions to queues (section 8).

use super::{approximated, fault, front, refused};
use serde_json::{Value, json};

/// Queues: root.default, root.users with queues made by submissions, root.ops.batch.
fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all = vec![
        ("root.queues", "default,users,ops"),
        ("root.default.capacity", "1w"),
        ("root.users.capacity", "1w"),
        ("root.users.auto-queue-creation-v2.enabled", "true"),
        ("root.ops.capacity", "1w"),
        ("root.ops.queues", "batch"),
        ("root.ops.batch.capacity", "1w"),
    ];
    all.extend(more);
    all
}

fn placement(more: &[(&str, &str)]) -> Value {
    front(&with(more)).config["placement"].clone()
}

fn specified() -> Value {
    json!({"rule": "specified", "names": "leaves"})
}

fn last() -> Value {
    json!({"rule": "default", "queue": "default", "names": "leaves"})
}

#[test]
fn old_mappings_come_after_the_queue_that_a_submission_names() {
    let mapping = |by: &str, name: &str, queue: &str| {
        json!({"rule": "mapping", by: name, "queue": queue, "create": true,
               "fallback": "place_default"})
    };
    let mappings = (
        "queue-mappings",
        " u : alice : batch , g:ops:root.ops.batch,u:%user:root.users.%primary_group.%user,\
         g:ops:root.ops.batch",
    );
    let applications = (
        "yarn.scheduler.queue-placement-rules.app-name",
        "etl:root.ops.batch",
    );
    let expected = [
        mapping("user", "alice", "batch"),
        mapping("group", "ops", "root.ops.batch"),
        mapping("user", "*", "root.users.%primary_group.%user"),
        mapping("application", "etl", "root.ops.batch"),
    ];
    let off = [&[specified()], &expected[..], &[last()]].concat();
    assert_eq!(placement(&[mappings, applications]), json!(off));
    let on = [&expected[..], &[specified(), last()]].concat();
    let overriding = ("queue-mappings-override.enable", "true");
    assert_eq!(placement(&[mappings, applications, overriding]), json!(on));
}

#[test]
fn targets_are_checked_as_stock_checks_them() {
    for (target, expected) in [
        ("root.ops", "is no leaf"),
        ("ops", "is no leaf"),
        ("nowhere", "begins with no queue"),
        ("root.nowhere", "no queue above it lets submissions make it"),
        ("root.ops.x", "no queue above it"),
        ("root.ops.batch.%user", "continues below a leaf"),
        ("root.ops..x", "has an empty part"),
        ("root.users.a.b.c", "no queue above it"),
        ("root.ops.x.%user", "no queue above it"),
    ] {
        let mapping = format!("u:alice:{target}");
        let fault = fault(&with(&[("queue-mappings", &mapping)]));
        assert!(
            fault.line == 8 && fault.problem.contains(expected),
            "{target}: {fault}"
        );
    }
    for target in [
        "batch",
        "default",
        "root.users.%user",
        "users.%user",
        "root.users.a",
        "root.users.a.b",
        "root.users.a.%user",
        "%primary_group.%user",
        "%user",
        "root.ops.%user",
        "root.%user",
    ] {
        placement(&[("queue-mappings", &format!("u:alice:{target}"))]);
    }
    for wrong in ["x:a:b", "u:a", "u::b", "u:a:b:c", "alice"] {
        let fault = fault(&with(&[("queue-mappings", wrong)]));
        assert!(
            fault.problem.contains("expected u:USER:QUEUE"),
            "{wrong}: {fault}"
        );
    }
}

#[test]
fn json_has_policies_of_its_own() {
    let format = ("mapping-rule-format", "json");
    let rules = r#"{"rules": [
        {"type": "user", "matches": "alice", "policy": "reject"},
        {"type": "user", "matches": "*", "policy": "setDefaultQueue", "value": "root.ops.batch"},
        {"type": "user", "matches": "*", "policy": "specified"},
        {"type": "group", "matches": "ops", "policy": "primaryGroupUser",
         "parentQueue": "root.users", "fallbackResult": "reject", "create": false},
        {"type": "application", "matches": "etl", "policy": "custom",
         "customPlacement": "root.users.%application", "note": "mine"},
        {"type": "user", "matches": "*", "policy": "defaultQueue",
         "fallbackResult": "placeDefault"}]}"#;
    let all = [
        format,
        ("mapping-rule-json", rules),
        ("queue-mappings-override.enable", "true"),
    ];
    let expected = json!([
        {"rule": "reject", "user": "alice"},
        {"rule": "set_default", "user": "*", "queue": "root.ops.batch"},
        {"rule": "mapping", "user": "*", "queue": "%specified", "create": true,
         "fallback": "skip"},
        {"rule": "mapping", "group": "ops", "queue": "root.users.%primary_group.%user",
         "create": false, "fallback": "reject"},
        {"rule": "mapping", "application": "etl", "queue": "root.users.%application",
         "create": true, "fallback": "skip"},
        {"rule": "mapping", "user": "*", "queue": "%default", "create": false,
         "fallback": "place_default"},
        specified(), last()]);
    assert_eq!(placement(&all), expected);
    let read = front(&with(&all));
    assert!(approximated(
        &read,
        "mapping-rule-json",
        "\"note\" is not known"
    ));
    let file = front(&with(&[
        format,
        ("mapping-rule-json-file", "/etc/rules.json"),
    ]));
    assert!(refused(
        &file,
        "mapping-rule-json-file",
        "mapping-rule-json"
    ));
    assert_eq!(file.config["placement"], json!([specified(), last()]));
}

#[test]
fn wrong_json_is_a_fault_with_the_rule() {
    for (rules, expected) in [
        ("", "expected JSON"),
        ("{", "expected JSON"),
        ("{}", r#"expected {"rules": [...]}"#),
        (r#"{"rules": [1]}"#, "rules[0]: expected an object"),
        (
            r#"{"rules": [{"type": "user"}]}"#,
            "rules[0]: expected `matches`",
        ),
        (
            r#"{"rules": [{"type": "group", "matches": "*", "policy": "user"}]}"#,
            "expected the name of a group",
        ),
        (
            r#"{"rules": [{"type": "user", "matches": "*", "policy": "usr"}]}"#,
            "policy: expected one of specified, user, ",
        ),
        (
            r#"{"rules": [{"type": "user", "matches": "*", "policy": "custom"}]}"#,
            "expected `customPlacement`",
        ),
        (
            r#"{"rules": [{"type": "user", "matches": "*", "policy": "user",
                "parentQueue": "root.nowhere"}]}"#,
            "no queue above it",
        ),
        (
            r#"{"rules": [{"type": "user", "matches": "*", "policy": "user", "create": "no"}]}"#,
            "create: expected true or false",
        ),
    ] {
        let all = with(&[
            ("mapping-rule-format", "json"),
            ("mapping-rule-json", rules),
        ]);
        let fault = fault(&all);
        assert!(
            fault.line == 9 && fault.problem.contains(expected),
            "{rules}: {fault}"
        );
    }
    let deep = "[".repeat(100_000);
    let all = with(&[
        ("mapping-rule-format", "json"),
        ("mapping-rule-json", &deep),
    ]);
    assert!(fault(&all).problem.contains("expected JSON"));
    assert_eq!(fault(&with(&[("mapping-rule-format", "xml")])).line, 8);
}

#[test]
fn rules_in_java_are_refused_and_without_mappings_none_count() {
    let rules = "yarn.scheduler.queue-placement-rules";
    let mapping = ("queue-mappings", "u:alice:batch");
    let java = front(&with(&[(rules, "com.example.Rule"), mapping]));
    assert!(refused(&java, rules, "com.example.Rule"));
    assert_eq!(java.config["placement"], json!([specified(), last()]));
    assert_eq!(fault(&with(&[(rules, "app-name,app-name")])).line, 8);
}
