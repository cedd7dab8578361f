//! Tests the cases of Dynamic Priority, JSON in and JSON out, with the paper's numbers.

use super::super::{System, answer};
use serde_json::{Value, json};

fn ask(case: Value) -> Value {
    answer(System::Dp, &case).unwrap_or_else(|error| panic!("{case}: {error}"))
}

/// Figure 1 of the paper, over two intervals, in both kinds of slot.
#[test]
fn figure_1_over_two_intervals() {
    let used = json!({"alice": {"used": {"map": 8, "reduce": 1}}, "bob": {"used": 3},
                      "sam": {"used": 9, "pending": 2}});
    let result = ask(json!({
        "op": "account", "capacity": {"map": 15, "reduce": 30},
        "users": [{"name": "alice", "budget": 100, "rate": 4},
                  {"name": "bob", "budget": 100, "rate": 1.5},
                  {"name": "sam", "budget": 100, "rate": 2}],
        "intervals": [{"usage": used}, {"usage": used}],
    }));
    let first = &result["ticks"][0];
    assert_eq!(first["price"], 7.5);
    assert_eq!(first["fifo"], false);
    assert_eq!(
        first["users"]["alice"]["quota"],
        json!({"map": 8, "reduce": 16})
    );
    assert_eq!(
        first["users"]["bob"]["exact"],
        json!({"map": 3.0, "reduce": 6.0})
    );
    assert_eq!(first["users"]["alice"]["debit"], 0.0);
    let second = &result["ticks"][1]["users"];
    // 9 slots at 4; 3 at 1.5; of sam's 9 only the quota of 4, at 2.
    assert_eq!(second["alice"]["debit"], 36.0);
    assert_eq!(second["bob"]["debit"], 4.5);
    assert_eq!(second["sam"]["budget"], 92.0);
}

#[test]
fn operations_come_before_the_charges() {
    let used = json!({"a": {"used": 2, "pending": 1}});
    let result = ask(json!({
        "capacity": 10, "users": [{"name": "a", "budget": 10, "rate": 1}],
        "intervals": [
            {"usage": used},
            {"usage": used, "ops": [{"op": "addBudget", "queue": "a", "value": 5},
                                    {"op": "addQueue", "queue": "b"},
                                    {"op": "setSpending", "queue": "b", "value": 3},
                                    {"op": "setSpending", "queue": "c", "value": 3}]},
            {"ops": [{"op": "removeQueue", "queue": "a"}]},
        ],
    }));
    assert_eq!(result["ticks"][0].get("refused"), None);
    assert_eq!(result["ticks"][1]["users"]["a"]["budget"], 13.0);
    assert_eq!(result["ticks"][1]["users"]["b"]["budget"], 0.0);
    assert_eq!(result["ticks"][1]["refused"][0]["op"]["queue"], "c");
    assert_eq!(result["ticks"][2]["users"].get("a"), None);
    assert_eq!(result["ticks"][2]["fifo"], true);
}

#[test]
fn presets_and_knobs() {
    let case = |extra: Value| {
        let mut case = json!({
            "capacity": 5, "users": [{"name": "a", "budget": 10, "rate": 1},
                                     {"name": "b", "budget": 10, "rate": 1}],
            "intervals": [{"usage": {"a": {"used": 3}, "b": {"pending": 1}}}],
        });
        for (key, value) in extra.as_object().expect("an object") {
            case[key] = value.clone();
        }
        let tick = &ask(case)["ticks"][0]["users"];
        [
            &tick["a"]["debit"],
            &tick["a"]["quota"]["map"],
            &tick["b"]["quota"]["map"],
        ]
        .map(|number| number.as_f64().expect("a number"))
    };
    // 2.5 each.
    assert_eq!(case(json!({})), [0.0, 3.0, 2.0]);
    assert_eq!(case(json!({"preset": "contrib"})), [3.0, 3.0, 3.0]);
    assert_eq!(
        case(json!({"policy": {"rounding": "floor"}})),
        [0.0, 2.0, 2.0]
    );
    let mixed = json!({"preset": "contrib", "policy": {"charge_rate": "granted"}});
    assert_eq!(case(mixed), [0.0, 3.0, 3.0]);
}

#[test]
fn shares_of_the_papers_example_and_of_80_users() {
    let figure_1 = json!({"op": "shares", "rates": {"alice": 4, "bob": 1.5, "sam": 2},
                          "capacity": 15});
    let result = ask(figure_1);
    assert_eq!(result["price"], 7.5);
    assert_eq!(
        result["quota"],
        json!({"map": {"alice": 8, "bob": 3, "sam": 4}})
    );
    assert_eq!(result["share"]["bob"], 0.2);
    let rates: Value = (1..=80).map(|n| (format!("u{n:02}"), json!(n))).collect();
    let result = ask(json!({"op": "shares", "rates": rates, "capacity": 120}));
    assert_eq!(result["quota"]["map"]["u01"], 0);
    let result = ask(json!({"op": "shares", "rates": {"a": 1, "b": 1},
                            "capacity": {"reduce": 3}, "rounding": "half_up"}));
    assert_eq!(result["quota"], json!({"reduce": {"a": 2, "b": 2}}));
}

#[test]
fn victims_of_two_queues() {
    let case = json!({"op": "preempt", "free": 1, "queues": [
        {"name": "poor", "quota": 4, "pending": 9, "running": []},
        {"name": "old", "quota": 1, "pending": 0, "job_start": 10, "running": [
            {"id": "o1", "progress": 0.2, "start": 30},
            {"id": "o2", "progress": 0.1, "start": 20}]},
        {"name": "young", "quota": 1, "pending": 0, "job_start": 20, "running": [
            {"id": "y1", "progress": 0.9, "start": 50}, {"id": "y2", "progress": 0.9, "start": 60},
            {"id": "y3", "progress": 0.0, "start": 70, "committing": true}]},
    ]});
    let result = ask(case);
    // 4 are lacking, 1 is free; young is 2 above its quota, old 1.
    assert_eq!(result["needed"], 3);
    assert_eq!(result["kill"], json!(["y2", "y1", "o2"]));
}

#[test]
fn malformed_cases_say_where() {
    let user = |extra: &str, value: Value| {
        json!({"capacity": 5, "intervals": [],
                                      "users": [{"name": "a", extra: value}]})
    };
    let cases = [
        (user("budget", json!(-1)), "$.users[0].budget"),
        (user("rate", json!("x")), "$.users[0].rate"),
        (json!({"op": "share"}), "$.op"),
        (json!({"users": []}), "$.capacity"),
        (json!({"capacity": {"maps": 1}}), "$.capacity.maps"),
        (
            json!({"capacity": 1, "intervals": [], "policy": {"rounding": "up"}}),
            "$.policy.rounding",
        ),
        (
            json!({"capacity": 1, "intervals": [], "policy": {"round": 1}}),
            "$.policy.round",
        ),
        (
            json!({"capacity": 1, "users": [{"name": "a"}], "intervals": [
            {"ops": [{"op": "setSpending", "queue": "a", "value": -0.5}]}]}),
            "$.intervals[0].ops[0].value",
        ),
        (json!({"op": "sign", "user": "u", "timestamp": 1}), "$.key"),
        (
            json!([{"op": "shares", "rates": {"a": 1}}]),
            "$[0].capacity",
        ),
    ];
    for (case, path) in cases {
        let error = answer(System::Dp, &case).expect_err(&format!("{case} is malformed"));
        assert_eq!(error.path, path, "{error}");
    }
}
