//! The configuration as an operator writes it: defaults, and what is refused and where.

use super::*;
use crate::setup::Setup;
use serde_json::json;

fn read(config: Value) -> Result<Config, ConfigError> {
    Setup::with_config(&config).map(|setup| setup.config)
}

#[test]
fn nothing_configured_is_fair_between_users() {
    let config = read(json!({})).expect("an empty configuration is complete");
    assert_eq!(config.composition.share, "fair");
    let rules = config
        .placement
        .iter()
        .map(|rule| (&rule.source, rule.create));
    let expected = [(&Source::Specified, true), (&Source::User(None), true)];
    assert!(rules.eq(expected));
}

#[test]
fn every_wrong_key_or_value_is_refused_where_it_stands() {
    let cases = [
        (json!({"polciy": "fair"}), "polciy", "did you mean `policy`"),
        (json!({"policy": "fiar"}), "policy", "did you mean `fair`"),
        (
            json!({"policy": {"order": "lifo"}}),
            "policy.order",
            "did you mean `fifo`",
        ),
        (
            json!({"delay": {"node_wait_ms": -1}}),
            "delay.node_wait_ms",
            "from 0",
        ),
        (
            json!({"queues": [{"path": "ads"}]}),
            "queues[0].path",
            "root.ads",
        ),
        (
            json!({"queues": [{"path": "root..a"}]}),
            "queues[0].path",
            "below it",
        ),
        (json!({"queues": [{}]}), "queues[0]", "expected a `path`"),
        (json!({"queues": {}}), "queues", "expected a list"),
        (
            json!({"queues": [{"path": "root.a", "weight": -1}]}),
            "queues[0].weight",
            "number",
        ),
        (
            json!({"queues": [{"path": "root.a", "min_share": {"memory": 1}}]}),
            "queues[0].min_share.memory",
            "memory-mb",
        ),
        (
            json!({"queues": [{"path": "root.a", "min_share": {"vcores": 2},
                               "max_share": {"vcores": 1}}]}),
            "queues[0].max_share",
            "below the minimum",
        ),
        (
            json!({"queues": [{"path": "root.a"}, {"path": "root.a"}]}),
            "queues[1].path",
            "already defined",
        ),
        (
            json!({"placement": [{"rule": "usr"}]}),
            "placement[0].rule",
            "`user`",
        ),
        (json!({"heartbeat_fill": 0}), "heartbeat_fill", "0.01 to 1"),
        (json!([]), "", "expected an object"),
    ];
    check_refused(&cases);
}

#[test]
fn every_wrong_limit_of_a_queue_is_refused_where_it_stands() {
    check_refused(&[
        (
            json!({"queues": [{"path": "root.a", "max_am_share": -0.5}]}),
            "queues[0].max_am_share",
            "-1 for no limit",
        ),
        (
            json!({"queues": [{"path": "root.a", "compare": "memroy"}]}),
            "queues[0].compare",
            "did you mean `memory`",
        ),
        (
            json!({"queues": [{"path": "root.a", "preemption": {"grace_ms": 1}}]}),
            "queues[0].preemption.grace_ms",
            "fair_share_threshold",
        ),
        (
            json!({"queue_defaults": {"weight": 1}}),
            "queue_defaults.weight",
            "max_share",
        ),
        (
            json!({"preemption": {"round_max": 1.5}}),
            "preemption.round_max",
            "from 0 to 1",
        ),
        (
            json!({"preemption": {"round_part": -0.5}}),
            "preemption.round_part",
            "from 0 to 1",
        ),
        (
            json!({"preemption": {"cluster_threshold": 1.5}}),
            "preemption.cluster_threshold",
            "from 0 to 1",
        ),
    ]);
}

/// Checks that each configuration is refused at a key, with these words.
fn check_refused(cases: &[(Value, &str, &str)]) {
    for (config, key, words) in cases {
        let error = read(config.clone()).expect_err(&format!("{config} must be refused"));
        assert_eq!(error.key, *key, "{config}");
        assert!(error.problem.contains(words), "{config}: {error}");
    }
}

#[test]
fn wrong_rules_and_limits_of_users_are_refused_where_they_stand() {
    check_refused(&[
        (
            json!({"placement": [{"rule": "default", "group": "a"}]}),
            "placement[0].group",
            "expected one of",
        ),
        (
            json!({"placement": [{"rule": "nested_user"}]}),
            "placement[0].inner",
            "primary_group",
        ),
        (
            json!({"placement": [{"rule": "nested_user", "inner": {"rule": "user"}}]}),
            "placement[0].inner.rule",
            "another than",
        ),
        (
            json!({"placement": [{"rule": "mapping", "user": "a", "group": "b"}]}),
            "placement[0].rule",
            "a rule for each",
        ),
        (
            json!({"placement": [{"rule": "mapping", "user": "a"}]}),
            "placement[0].queue",
            "%user",
        ),
        (
            json!({"users": {"each": {"alice": {"wieght": 1}}}}),
            "users.each.alice.wieght",
            "did you mean `weight`",
        ),
        (
            json!({"queues": [{"path": "root.a", "state": "stoped"}]}),
            "queues[0].state",
            "did you mean `stopped`",
        ),
    ]);
}

#[test]
fn one_limit_has_one_key() {
    check_refused(&[
        (
            json!({"heartbeat": {"containers_max": 0}}),
            "heartbeat.containers_max",
            "from 1",
        ),
        (
            json!({"heartbeat_fill": 0.5, "heartbeat": {"node_part_max": 0.5}}),
            "heartbeat.node_part_max",
            "remove one",
        ),
        (
            json!({"delay": {"node_wait_ms": 1, "node_misses": 1}}),
            "delay.node_misses",
            "remove one",
        ),
        (
            json!({"delay": {"rack_misses": "101%"}}),
            "delay.rack_misses",
            "100%",
        ),
    ]);
}

#[test]
fn more_resource_types_than_a_vector_holds_are_refused() {
    let names: Vec<String> = (0..9).map(|i| format!("type-{i}")).collect();
    let error = Setup::from_json(&json!({ "resource_types": names })).expect_err("nine");
    assert!(error.problem.contains("resource-types.xml"), "{error}");
}

#[test]
fn the_choices_of_experiments_are_ours_unless_told_and_are_checked() {
    let choices = |choices| read(json!({"testing": {"choices": choices}}));
    let plain = read(json!({})).expect("complete").choices;
    assert_eq!(plain, Choices::default());
    let waits = choices(json!({"wait_wanted": 1, "wait_data": 0})).expect("both parts");
    assert_eq!(waits.choices.waits, Some([1.0, 0.0]));
    let error = choices(json!({"aging_step": 4})).expect_err("misspelt");
    assert!(error.problem.contains("aging_steps"), "{error}");
    let error = choices(json!({"aging_steps": 0})).expect_err("no step at all");
    assert_eq!(error.key, "testing.choices.aging_steps");
}

#[test]
fn dynamic_queues_are_bounded_by_default_and_by_no_less_than_one() {
    let plain = read(json!({})).expect("complete").dynamic_queues;
    assert_eq!((plain.expire_ms, plain.max_per_user), (300_000, 100));
    for (section, key, words) in [
        (json!({"max_per_user": 0}), "max_per_user", "from 1"),
        (json!({"expire_ms": 1}), "expire_ms", "from 1000"),
        (json!({"expire": 1}), "expire", "expire_ms"),
    ] {
        let error = read(json!({ "dynamic_queues": section })).expect_err(key);
        assert_eq!(error.key, format!("dynamic_queues.{key}"));
        assert!(error.problem.contains(words), "{error}");
    }
}
