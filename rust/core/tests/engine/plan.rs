//! A plan tries a configuration on a copy: it says what a reload then does, and changes nothing.

use crate::common::Host;
use crate::common::market::{Market, evicted};
use heddle_core::catalogue::PRESETS;
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
