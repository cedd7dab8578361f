//! A plan tries a configuration on a copy: it says what a reload then does, and changes nothing.

use crate::common::Host;
use crate::common::market::{Market, evicted};
use heddle_core::catalogue::PRESETS;
use heddle_core::config::{Admission, QueueConfig, UserLimit};
use serde_json::{Value, json};

/// Two busy queues of equal weight, and 16 containers.
fn busy(policy: &str) -> Host {
    let mut host = Host::new(json!({
        "policy": policy,
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.a"}, {"path": "root.b"}],
    }));
    for rack in 0..4 {
        host.node(rack, 4_096, 4);
    }
    for (job, user) in [(1, "a"), (2, "b"), (3, "made")] {
        let queue = host.queue(user, None);
        host.job(job, queue);
        host.ask(job, 0, 100, 1_024);
    }
    host.tick();
    host.beat_all();
    assert_eq!(host.containers.len(), 16);
    host
}

/// `c` is new, `b` drains, `a` weighs more, and a queue below its share takes containers back.
fn other() -> Value {
    json!({
        "policy": "fair",
        "heartbeat_fill": 1.0,
        "preemption": {"enabled": true, "fair_share_timeout_ms": 10_000, "grace_ms": 1_000},
        "queues": [{"path": "root.a", "weight": 6.0}, {"path": "root.c"}],
    })
}

fn plan(host: &mut Host, config: &Value) -> Value {
    host.request(json!({"op": "plan", "config": config}))
}

fn row<'p>(plan: &'p Value, path: &str) -> &'p Value {
    let rows = plan["queues"].as_array().expect("a list");
    let found = rows.iter().find(|row| row["path"] == path);
    found.unwrap_or_else(|| panic!("no {path} in {plan}"))
}

/// Reloads, and counts the containers that are taken back in the time that a plan looks ahead.
fn taken_by_reload(host: &mut Host, config: &Value, plan: &Value) -> u64 {
    host.request(json!({"op": "reload", "config": config}));
    let mut taken = 0;
    for _ in 0..=plan["ahead_ms"].as_i64().expect("a time") / 500 {
        taken += evicted(&host.tick()).len() as u64;
        host.now += 500;
    }
    taken
}

#[test]
fn it_names_queues_that_come_go_and_change() {
    let mut host = busy("fifo");
    let plan = plan(&mut host, &other());
    assert_eq!(plan["before"][0], "single");
    assert_eq!(plan["after"][0], "fair");
    assert_eq!(row(&plan, "root.c")["change"], "new");
    assert_eq!(row(&plan, "root.b")["change"], "drains");
    assert_eq!(row(&plan, "root.b")["jobs"], 1);
    let a = row(&plan, "root.a");
    assert_eq!(
        (&a["change"], &a["weight"]),
        (&json!("kept"), &json!([1.0, 6.0]))
    );
    // 6 of 8 parts: the draining queue and that of `made` still have jobs.
    assert_eq!(a["fair_share"][1]["memory-mb"], 16 * 1_024 * 6 / 8);
}

/// Says how many containers a reload takes back, by asking the engine that then reloads.
#[test]
fn what_it_says_is_taken_back_a_reload_takes_back() {
    let mut host = busy("fifo");
    assert_eq!(host.running(1), 16, "first come, first served");
    let plan = plan(&mut host, &other());
    let said = plan["taken_back"].as_u64().expect("a number");
    assert!(said > 0, "{plan}");
    assert_eq!(row(&plan, "root.a")["taken_back"], said);
    let taken = taken_by_reload(&mut host, &other(), &plan);
    assert_eq!(taken, said);
}

#[test]
fn a_plan_changes_nothing_and_is_refused_like_a_reload() {
    let mut planned = busy("fair");
    let mut other_host = busy("fair");
    for config in [
        other(),
        json!({"policy": "dynamic-priority"}),
        json!({"policy": "hfsp"}),
    ] {
        plan(&mut planned, &config);
    }
    let bad = json!({"queues": [{"path": "root.a", "weight": -3}]});
    let refusals = ["plan", "reload"].map(|op| {
        let request = json!({"op": op, "config": bad});
        planned
            .engine
            .request(planned.now, &request)
            .expect_err("a bad weight")
            .0
    });
    assert_eq!(refusals[0], refusals[1]);
    for host in [&mut planned, &mut other_host] {
        host.now += 60_000;
    }
    assert_eq!(planned.tick(), other_host.tick());
    let report = json!({"op": "queues"});
    assert_eq!(planned.request(report.clone()), other_host.request(report));
}

/// The same configuration again changes nothing, under any policy.
#[test]
fn the_configuration_in_force_changes_no_queue() {
    for policy in PRESETS.iter().map(|preset| preset.name) {
        let mut host = busy("fair");
        let config = json!({"policy": policy, "heartbeat_fill": 1.0,
                            "queues": [{"path": "root.a"}, {"path": "root.b"}]});
        host.request(json!({"op": "reload", "config": config}));
        let plan = plan(&mut host, &config);
        assert_eq!(plan["queues"], json!([]), "{policy}");
        assert_eq!(plan["taken_back"], 0, "{policy}");
    }
}

/// Of 6 slots at 1, a job of 2 credits pays for two and spends them in one interval. Its neighbour
/// has the other four, and wants these two as soon as slots are reclaimed. The plan looks ahead for
/// less than a second interval, in which 2 more credits would pay.
#[test]
fn a_job_that_has_spent_its_credits_has_spent_them_in_a_plan() {
    let market = |ms: i64| json!({"allocation_interval_ms": 130_000, "reclaim_interval_ms": ms});
    let extra = json!({"dynamic_priority": market(0)});
    let mut bids = Market::with(6, &[("a", 1000.0, 1.0)], extra);
    bids.submit(1, "a", 6);
    bids.host.request(
        json!({"op": "authorize", "job": 1, "credits_micro": 2_000_000,
                             "rate_micro": 1_000_000, "until_ms": 1_000_000_000}),
    );
    bids.host.now = 1;
    bids.submit(2, "a", 6);
    bids.host.tick();
    assert_eq!(bids.beat([1, 2]), [2, 4]);
    bids.until(130_001);
    let queues = json!([{"path": "root.a", "budget": 1000.0, "spending_rate": 1.0}]);
    let config = json!({"policy": "dynamic-priority", "heartbeat_fill": 1.0, "queues": queues,
                        "dynamic_priority": market(20_000)});
    let plan = plan(&mut bids.host, &config);
    assert_eq!(plan["taken_back"], 2);
    assert_eq!(row(&plan, "root.a")["taken_back"], 2);
    assert_eq!(taken_by_reload(&mut bids.host, &config, &plan), 2);
}

/// Keys of a queue, each with a value that is not its default.
fn keys_of_a_queue() -> Vec<(&'static str, Value)> {
    let amounts = || json!({"memory-mb": 1_024, "vcores": 1});
    vec![
        ("weight", json!(2.5)),
        ("min_share", amounts()),
        ("max_share", json!("50%")),
        ("max_child_share", amounts()),
        ("new_leaf", json!({"max_jobs": 3})),
        ("new_parent", json!({"max_jobs": 3})),
        ("max_container", amounts()),
        ("parent", json!(true)),
        ("compare", json!("dominant")),
        ("priority", json!(2)),
        ("min_maps", json!(1)),
        ("min_reduces", json!(1)),
        ("max_tasks_per_job", json!(7)),
        ("max_running_jobs", json!(5)),
        ("order", json!("fifo")),
        ("size_weight", json!(true)),
        ("max_am_share", json!(0.25)),
        ("budget", json!(10)),
        ("spending_rate", json!(1)),
        ("income", json!(1)),
        ("preempt_opaque", json!(false)),
        ("preempt_from", json!(false)),
        ("preempt_inside", json!(false)),
        (
            "preemption",
            json!({"min_share_timeout_ms": 9, "fair_share_timeout_ms": 9,
                              "fair_share_threshold": 0.3}),
        ),
        ("acl_submit", json!("alice")),
        ("acl_admin", json!("alice")),
        ("state", json!("stopped")),
        ("max_jobs", json!(9)),
        ("max_jobs_by_share", json!(9)),
        ("dynamic_depth", json!(1)),
        ("mapped_only", json!(true)),
        ("max_children", json!(3)),
        ("max_running_jobs_per_user", json!(1)),
        ("user_limit_percent", json!(50)),
        ("user_limit_factor", json!(2)),
        ("default_priority", json!(1)),
        ("max_priority", json!(5)),
        ("max_priorities", json!([{"who": "alice ops", "max": 5}])),
        ("workflow_priorities", json!({"nightly": 3})),
        ("lifetime_s", json!(60)),
        ("max_lifetime_s", json!(600)),
        ("user_weights", json!({"alice": 2})),
        ("labels", json!({"gpu": {"max_share": "50%"}})),
        ("accessible_labels", json!(["gpu"])),
        ("default_label", json!("gpu")),
    ]
}

fn changes<'p>(row: &'p Value) -> Vec<(&'p str, &'p str)> {
    let texts = |change: &'p Value| {
        let text = |key: &str| change[key].as_str().expect("a text");
        (text("key"), text("effect"))
    };
    row.as_array().expect("a list").iter().map(texts).collect()
}

#[test]
fn every_key_of_a_queue_that_changes_has_a_row() {
    let mut host = busy("fair");
    let in_force = json!({"policy": "fair", "heartbeat_fill": 1.0,
                          "queues": [{"path": "root.a"}, {"path": "root.b"}]});
    for (key, value) in keys_of_a_queue() {
        let mut config = in_force.clone();
        config["queues"][0][key] = value;
        let plan = plan(&mut host, &config);
        let row = row(&plan, "root.a");
        let found = changes(&row["changes"]);
        let names = |(name, _): &(&str, &str)| name.split('.').next() == Some(key);
        assert!(found.iter().any(names), "{key}: {row}");
    }
    // A key that is not in the list above is serialized all the same.
    let queue = QueueConfig {
        admission: Admission {
            user_limit: Some(UserLimit {
                percent: 1.0,
                factor: None,
            }),
            ..Admission::default()
        },
        ..QueueConfig::new("root.a")
    };
    let known: Vec<&str> = keys_of_a_queue().into_iter().map(|(key, _)| key).collect();
    let serialized = serde_json::to_value(queue).expect("a configuration");
    for key in serialized
        .as_object()
        .expect("keys")
        .keys()
        .filter(|key| *key != "path")
    {
        assert!(known.contains(&key.as_str()), "{key} needs a value above");
    }
}

/// Sections and keys of all queues, each with a value that is not its default.
fn settings() -> Vec<(&'static str, Value)> {
    vec![
        ("policy.share", json!({"policy": "fifo"})),
        ("share.dominant", json!({"share": {"dominant": true}})),
        ("share.memory_only", json!({"share": {"memory_only": true}})),
        (
            "queue_defaults.max_priority",
            json!({"queue_defaults": {"max_priority": 4}}),
        ),
        ("placement", json!({"placement": [{"rule": "reject"}]})),
        ("reload", json!({"reload": "refuse"})),
        (
            "dynamic_queues.expire_ms",
            json!({"dynamic_queues": {"expire_ms": 5_000}}),
        ),
        (
            "heartbeat.containers_max",
            json!({"heartbeat": {"containers_max": 3}}),
        ),
        (
            "reservation.after_ms",
            json!({"reservation": {"after_ms": 1}}),
        ),
        (
            "reservation.hold_ms",
            json!({"reservation": {"hold_ms": 1}}),
        ),
        (
            "reservation.hold_max_ms",
            json!({"reservation": {"hold_max_ms": 9_999_999}}),
        ),
        (
            "reservation.nodes_max",
            json!({"reservation": {"nodes_max": 0.5}}),
        ),
        (
            "preemption.enabled",
            json!({"preemption": {"enabled": true}}),
        ),
        (
            "slots",
            json!({"slots": {"map_per_node": 2, "reduce_per_node": 1}}),
        ),
        ("explain.entries", json!({"explain": {"entries": 3}})),
        ("testing.faults", json!({"testing": {"faults": true}})),
        (
            "testing.choices.equal_utility",
            json!({"testing": {"choices": {"equal_utility": true}}}),
        ),
        (
            "users.max_running_jobs",
            json!({"users": {"max_running_jobs": 3}}),
        ),
        (
            "users.each",
            json!({"users": {"each": {"alice": {"weight": 2}}}}),
        ),
        ("hfsp", json!({"hfsp": {"samples": 3}})),
    ]
}

#[test]
fn every_setting_of_all_queues_that_changes_has_a_row() {
    let mut host = busy("fair");
    for (key, changed) in settings() {
        let mut config = json!({"policy": "fair", "queues": [{"path": "root.a"},
                                                             {"path": "root.b"}]});
        if !key.starts_with("heartbeat") {
            config["heartbeat_fill"] = json!(1.0);
        }
        for (name, value) in changed.as_object().expect("keys") {
            config[name] = value.clone();
        }
        let plan = plan(&mut host, &config);
        let found = changes(&plan["settings"]);
        assert!(
            found.iter().any(|(name, _)| name.starts_with(key)),
            "{key}: {found:?}"
        );
    }
}

/// Two jobs of `a` run, one waits behind `max_running_jobs`.
#[test]
fn a_change_says_what_it_does_to_the_jobs_that_run_and_wait() {
    let config = |keys: Value| {
        let mut queue = json!({"path": "root.a", "max_running_jobs": 2, "max_am_share": 1.0});
        for (key, value) in keys.as_object().expect("keys") {
            queue[key] = value.clone();
        }
        json!({"policy": "fair", "heartbeat_fill": 1.0, "queues": [queue]})
    };
    let mut host = Host::new(config(json!({})));
    host.node(0, 8_192, 8);
    for job in 1..=3 {
        let queue = host.queue("a", None);
        host.job(job, queue);
        host.ask(job, 0, 2, 1_024);
    }
    host.tick();
    host.beat_all();
    let mut effect = |keys: Value| {
        let plan = plan(&mut host, &config(keys));
        let row = row(&plan, "root.a").clone();
        let [(_, effect)] = changes(&row["changes"])[..] else {
            panic!("{row}");
        };
        effect.to_string()
    };
    let stopped = effect(json!({"state": "stopped"}));
    assert!(
        stopped.contains("the 2 that run and the 1 that wait go on"),
        "{stopped}"
    );
    let more = effect(json!({"max_running_jobs": 3}));
    assert!(
        more.starts_with("1 of the 1 jobs that wait may start"),
        "{more}"
    );
    let fewer = effect(json!({"max_running_jobs": 1}));
    assert!(
        fewer.starts_with("0 of the 1") && fewer.ends_with("the 2 that run go on"),
        "{fewer}"
    );
    let rights = effect(json!({"acl_submit": "alice"}));
    assert!(rights.contains("submissions from then on"), "{rights}");
}

/// The state that is taken out of a file under the rules of the stock Capacity Scheduler.
#[test]
fn a_queue_whose_state_is_taken_out_stays_stopped_and_a_plan_says_so() {
    let config = |state: Value| {
        json!({"policy": "fair", "reload": "refuse", "heartbeat_fill": 1.0,
               "queues": [{"path": "root.a", "state": state}, {"path": "root.b"}]})
    };
    let mut host = Host::new(config(json!("stopped")));
    host.node(0, 4_096, 4);
    let plan = plan(&mut host, &config(Value::Null));
    let found = changes(&row(&plan, "root.a")["changes"]);
    assert_eq!(found[0].0, "state");
    assert!(found[0].1.contains("stays stopped"), "{found:?}");
}
