//! Rules of the stock schedulers. Expected values come from their sources: sections 5.2 to 5.4 of
//! stock-fair.md and 8.2 of stock-capacity.md in docs/develop.

use super::*;
use proptest::prelude::*;

/// Queues of a company, and what a table of submissions comes to. A submission is user, groups,
/// queue and application; `!` stands for a refusal.
fn table(rules: Value, cases: &[(&str, &[&str], &str, &str)]) {
    for (user, groups, queue, expected) in cases {
        let mut queues = company(rules.clone());
        let (requested, application) = queue.split_once('/').unwrap_or((queue, "job"));
        let submission = Submission {
            user,
            requested: Some(requested),
            groups,
            application,
            recovering: false,
        };
        let found = path_of(&mut queues, &submission);
        let shown = found.clone().unwrap_or_else(|_| "!".to_string());
        assert_eq!(&shown, expected, "{user} {groups:?} {queue}: {found:?}");
    }
}

fn company(rules: Value) -> Queues {
    let mut made = queues(json!({
        "queues": [
            {"path": "root.default"}, {"path": "root.ads.east"}, {"path": "root.ads.alice"},
            {"path": "root.dev"}, {"path": "root.users", "dynamic_depth": 1, "max_children": 3},
            {"path": "root.teams", "dynamic_depth": 2}, {"path": "root.fix.dev"},
            {"path": "root.flat.x.users"}
        ],
        "placement": [{"rule": "specified"}, {"rule": "user"}]
    }));
    path(&mut made, "someone", Some("root.made")).expect("rule specified makes it");
    let config = json!({"queues": [
            {"path": "root.default"}, {"path": "root.ads.east"}, {"path": "root.ads.alice"},
            {"path": "root.dev"}, {"path": "root.users", "dynamic_depth": 1, "max_children": 3},
            {"path": "root.teams", "dynamic_depth": 2}, {"path": "root.fix.dev"},
            {"path": "root.flat.x.users"}
        ], "placement": rules});
    made.reload(&Setup::with_config(&config).expect("good rules").config);
    made
}

const NONE: &str = "default";

#[test]
fn fair_without_a_policy_in_its_file_makes_queues_by_name_and_user() {
    let rules = json!([
        {"rule": "specified", "names": "paths"}, {"rule": "user", "names": "paths"}
    ]);
    table(
        rules,
        &[
            ("alice", &[], NONE, "root.alice"),
            // Only `default` is no name.
            ("alice", &[], "root.default", "root.default"),
            ("alice", &[], "east", "root.east"),
            ("alice", &[], "ads.east", "root.ads.east"),
            ("alice", &[], "ads", "!"),
            ("alice", &[], "root.dev.x", "!"),
            ("alice", &[], "a..b", "!"),
            ("alice", &[], " dev", "!"),
            ("alice", &[], "dev.", "!"),
            ("a.b", &[], NONE, "root.a_dot_b"),
            ("\u{2003}bob\u{a0}", &[], NONE, "root.bob"),
            // A user of that name has no queue: root is no leaf.
            ("root", &[], NONE, "!"),
        ],
    );
}

#[test]
fn fair_without_create_takes_configured_queues_only_and_goes_on() {
    let rules = json!([
        {"rule": "specified", "names": "paths", "create": false},
        {"rule": "user", "names": "paths", "create": false},
        {"rule": "default", "names": "paths", "create": true}
    ]);
    table(
        rules,
        &[
            ("bob", &[], "dev", "root.dev"),
            ("dev", &[], NONE, "root.dev"),
            // A queue that a submission made is not configured, and an unknown one is passed.
            ("bob", &[], "made", "root.default"),
            ("bob", &[], "unknown", "root.default"),
            // A parent is configured: the rule gives it, and then it is no leaf.
            ("bob", &[], "ads", "!"),
            ("ads", &[], NONE, "!"),
        ],
    );
    let last = json!([{"rule": "default", "names": "paths", "create": false, "queue": "root.z"}]);
    table(last, &[("bob", &[], NONE, "!")]);
    let last = json!([{"rule": "default", "names": "paths", "queue": "root.y.z"}]);
    table(last, &[("bob", &[], NONE, "root.y.z")]);
}

#[test]
fn fair_finds_queues_of_groups() {
    let rules = json!([
        {"rule": "secondary_group"}, {"rule": "primary_group", "create": false},
        {"rule": "reject"}
    ]);
    table(
        rules,
        &[
            // Since 3.4 the first group counts, too.
            ("bob", &["dev", "ads"], NONE, "root.dev"),
            ("bob", &["ops", "dev"], NONE, "root.dev"),
            ("bob", &["ops", "made"], NONE, "!"),
            ("bob", &["ads"], NONE, "!"),
            ("bob", &[], NONE, "!"),
        ],
    );
    let old = json!([
        {"rule": "secondary_group", "primary_too": false}, {"rule": "primary_group"}
    ]);
    table(
        old,
        &[
            ("bob", &["default", "dev"], NONE, "root.dev"),
            ("bob", &["o.ps", "none"], NONE, "root.o_dot_ps"),
            ("bob", &[], NONE, "!"),
        ],
    );
}

#[test]
fn fair_nests_the_queue_of_a_user_below_that_of_another_rule() {
    let nested = |create: bool, inner: Value| {
        json!([
            {"rule": "nested_user", "create": create, "inner": inner},
            {"rule": "default", "names": "paths", "queue": "root.last"}
        ])
    };
    let group = json!({"rule": "primary_group", "create": false});
    table(
        nested(true, group.clone()),
        &[
            ("bob", &["ads"], NONE, "root.ads.bob"),
            ("alice", &["ads"], NONE, "root.ads.alice"),
            // The inner rule passes, or finds a leaf.
            ("bob", &["ops"], NONE, "root.last"),
            ("bob", &["dev"], NONE, "root.last"),
            ("b.c", &["ads"], NONE, "root.ads.b_dot_c"),
            ("bob", &[], NONE, "!"),
        ],
    );
    table(
        nested(false, group),
        &[
            ("alice", &["ads"], NONE, "root.ads.alice"),
            ("bob", &["ads"], NONE, "root.last"),
        ],
    );
    // The queue above need not exist.
    let made = json!({"rule": "primary_group"});
    table(
        nested(true, made),
        &[("bob", &["ops"], NONE, "root.ops.bob")],
    );
    let fixed = json!({"rule": "default", "queue": "root.users"});
    table(
        nested(true, fixed),
        &[("bob", &[], "dev", "root.users.bob")],
    );
}

#[test]
fn capacity_places_by_the_first_mapping_that_holds() {
    let legacy = |target: &str, user: &str| {
        let mut rule = json!({"rule": "mapping", "fallback": "place_default"});
        (rule["user"], rule["queue"]) = (json!(user), json!(target));
        json!([rule])
    };
    table(
        legacy("root.users.%user", "*"),
        &[
            ("bob", &[], NONE, "root.users.bob"),
            ("b.ob", &[], NONE, "root.users.b_dot_ob"),
        ],
    );
    // One leaf has that name: `users` is a parent, but `dev` is two queues.
    table(legacy("east", "*"), &[("bob", &[], NONE, "root.ads.east")]);
    table(legacy("dev", "*"), &[("bob", &[], NONE, "root.default")]);
    table(
        legacy("root.dev", "bob"),
        &[("bob", &[], NONE, "root.dev"), ("al", &[], NONE, "!")],
    );
    // Below a parent that submissions may not extend, and into a parent.
    table(
        legacy("root.ads.%user", "*"),
        &[
            ("alice", &[], NONE, "root.ads.alice"),
            ("bob", &[], NONE, "root.default"),
        ],
    );
    table(
        legacy("root.ads", "*"),
        &[("bob", &[], NONE, "root.default")],
    );
}

#[test]
fn capacity_makes_one_parent_at_most_below_one_that_allows_it() {
    let rule = |queue: &str, create: bool| {
        let mapping = json!({"rule": "mapping", "queue": queue, "create": create});
        json!([mapping, {"rule": "default"}])
    };
    let teams = "root.teams.%primary_group.%user";
    let bob: &[(&str, &[&str], &str, &str)] = &[("bob", &["ops"], NONE, "root.teams.ops.bob")];
    table(rule(teams, true), bob);
    table(
        rule(teams, false),
        &[("bob", &["ops"], NONE, "root.default")],
    );
    // The mapping accepts it, and the depth does not.
    table(
        rule("root.users.%primary_group.%user", true),
        &[("bob", &["ops"], NONE, "!")],
    );
    table(
        rule("root.teams.a.b.c", true),
        &[("bob", &["ops"], NONE, "root.default")],
    );
    // `teams` is the only queue of that name.
    table(
        rule("teams.%user", true),
        &[("bob", &[], NONE, "root.teams.bob")],
    );
    let mut full = company(rule("root.users.%user", true));
    let mut place = |user: &str| path(&mut full, user, None);
    for user in ["a", "b", "c"] {
        assert_eq!(place(user), Ok(format!("root.users.{user}")));
    }
    let refusal = place("d").expect_err("max_children is 3");
    assert!(refusal.contains("max_children"), "{refusal}");
}

#[test]
fn capacity_knows_users_groups_and_applications() {
    let rules = json!([
        {"rule": "reject", "user": "eve"},
        {"rule": "set_default", "group": "ads", "queue": "root.ads.east"},
        {"rule": "mapping", "application": "etl", "queue": "root.dev"},
        {"rule": "mapping", "queue": "root.%secondary_group"},
        {"rule": "mapping", "group": "lost", "queue": "root.lost", "fallback": "place_default"},
        {"rule": "mapping", "queue": "%specified", "fallback": "skip"},
        {"rule": "mapping", "group": "%primary_group", "queue": "%default", "fallback": "reject"},
    ]);
    table(
        rules,
        &[
            ("eve", &["dev"], "root.dev", "!"),
            ("bob", &["ads"], "default/etl", "root.dev"),
            // The first *other* group that is a queue; a parent is one, too, but holds no job.
            ("bob", &["ops", "dev"], NONE, "root.dev"),
            ("bob", &["dev", "ops"], NONE, "root.default"),
            ("bob", &["lost", "ads"], NONE, "root.ads.east"),
            ("bob", &["ops", "lost"], "root.fix.dev", "root.default"),
            ("bob", &["ops"], "root.fix.dev", "root.fix.dev"),
            ("bob", &["ads"], NONE, "root.ads.east"),
            // Without groups no group matches.
            ("bob", &[], NONE, "!"),
        ],
    );
}

#[test]
fn capacity_follows_a_name_that_no_mapping_overrides() {
    let mapping = json!({"rule": "mapping", "user": "bob", "queue": "root.dev"});
    let named = json!({"rule": "specified", "names": "leaves"});
    let last = json!({"rule": "default", "names": "leaves", "queue": "default"});
    table(
        json!([named.clone(), mapping.clone(), last.clone()]),
        &[
            ("bob", &[], "east", "root.ads.east"),
            ("bob", &[], "root.ads.east", "root.ads.east"),
            ("bob", &[], "ads.east", "!"),
            ("bob", &[], "dev", "!"),
            ("bob", &[], "root.users.new", "root.users.new"),
            ("bob", &[], "root.users.new.one", "!"),
            ("bob", &[], "root.ads.new", "!"),
            ("bob", &[], NONE, "root.dev"),
            ("al", &[], NONE, "root.default"),
        ],
    );
    table(
        json!([mapping, named, last]),
        &[
            ("bob", &[], "east", "root.dev"),
            ("al", &[], "east", "root.ads.east"),
        ],
    );
}

fn any_rule() -> impl Strategy<Value = Value> {
    let inner = prop_oneof![
        Just(json!({"rule": "primary_group", "create": false})),
        Just(json!({"rule": "secondary_group"})),
        Just(json!({"rule": "default", "queue": "root.ads"})),
        Just(json!({"rule": "specified"})),
    ];
    let names = prop_oneof![Just("endings"), Just("paths"), Just("leaves")];
    let fallback = prop_oneof![Just("skip"), Just("place_default"), Just("reject")];
    let queue = prop_oneof![
        Just("root.%user"),
        Just("%primary_group.%user"),
        Just("root.teams.%secondary_group.%application"),
        Just("%default"),
        Just("%specified"),
        Just("ads"),
    ];
    prop_oneof![
        (names, any::<bool>(), 0..3usize).prop_map(|(names, create, kind)| {
            let kind = ["specified", "user", "default"][kind];
            json!({"rule": kind, "names": names, "create": create})
        }),
        (inner, any::<bool>()).prop_map(|(inner, create)| {
            json!({"rule": "nested_user", "create": create, "inner": inner})
        }),
        (queue, fallback, any::<bool>()).prop_map(|(queue, fallback, create)| {
            json!({"rule": "mapping", "queue": queue, "fallback": fallback, "create": create})
        }),
        Just(json!({"rule": "set_default", "queue": "root.%primary_group"})),
        Just(json!({"rule": "reject", "group": "ops"})),
    ]
}

/// Names with everything that rules look at: dots, spaces, variables, known and unknown parts.
fn any_name() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("root"),
        Just("ads"),
        Just("dev"),
        Just("east"),
        Just("users"),
        Just("ops"),
        Just(""),
        Just(" "),
        Just("%user"),
        Just("default"),
    ];
    proptest::collection::vec(part, 0..4).prop_map(|parts| parts.join("."))
}

proptest! {
    /// Whatever the rules and names: never a panic, never a job in a parent, and always a queue
    /// for a job that comes back.
    #[test]
    fn a_submission_comes_to_a_leaf_or_a_refusal(
        rules in proptest::collection::vec(any_rule(), 1..5),
        names in proptest::collection::vec((any_name(), any_name(), any_name()), 1..6),
        recovering in any::<bool>(),
    ) {
        let mut queues = company(json!(rules));
        for (user, queue, group) in &names {
            let groups = [group.as_str(), "ops"];
            let submission = Submission {
                user,
                requested: Some(queue),
                groups: &groups,
                application: group,
                recovering,
            };
            let foreseen = queues.choose(&submission).map_err(|none| none.why);
            match queues.place(&submission) {
                Ok((id, _)) => {
                    let queue = queues.get(id).expect("it was placed there");
                    prop_assert!(queue.is_for_jobs(), "{}", queue.config.path);
                    prop_assert!(!queue.draining);
                }
                Err(refusal) => {
                    prop_assert!(!recovering, "{refusal}");
                    prop_assert_eq!(foreseen, Err(refusal));
                }
            }
        }
    }
}
