//! A reload changes between any two shares while jobs run, whatever their trees look like: no
//! container is lost, the books agree after every step, accounts stand still and come back.

use crate::common::Host;
use crate::common::market::{FIGURE_1, Market};
use heddle_core::Engine;
use heddle_core::catalogue::{PRESETS, SHARES};
use heddle_core::words::event::Event;
use heddle_core::words::ids::{JobId, QueueId};
use heddle_core::words::ledger::Entry;
use serde_json::{Value, json};

/// Two queues at different depths; the bids matter to a market alone.
fn config(policy: &Value) -> Value {
    json!({
        "policy": policy,
        "heartbeat_fill": 1.0,
        "dynamic_queues": {"expire_ms": 1_000},
        "queues": [
            {"path": "root.a", "budget": 1e3, "spending_rate": 1.0},
            {"path": "root.b.x", "budget": 1e3, "spending_rate": 1.0},
        ],
    })
}

fn reload(host: &mut Host, config: &Value) {
    host.request(json!({"op": "reload", "config": config}));
    host.engine.check_invariants().expect("the books are right");
}

fn policies() -> Vec<Value> {
    let presets = PRESETS.iter().map(|preset| json!(preset.name));
    let shares = SHARES
        .iter()
        .map(|share| json!({"share": share.name, "order": "fifo", "place": "local-first"}));
    presets.chain(shares).collect()
}

/// Half of the cluster is busy and as much is asked for at each change; afterwards the room that
/// becomes free is given out by the new policy, and every container is still known.
#[test]
fn every_policy_changes_into_every_other_under_load() {
    for from in policies() {
        for to in policies() {
            let mut host = Host::new(config(&from));
            for rack in 0..4 {
                host.node(rack, 4_096, 4);
            }
            let users = [("a", None), ("b", Some("root.b.x")), ("made", None)];
            for (job, (user, queue)) in (1..).zip(users) {
                let queue = host.queue(user, queue);
                host.job(job, queue);
                host.ask(job, 0, 100, 1_024);
            }
            host.tick();
            host.beat_all();
            let running = host.containers.len();
            assert_eq!(running, 16, "{from}");
            reload(&mut host, &config(&to));
            assert_eq!(host.containers.len(), running, "{from} to {to}");
            host.now += 1_000;
            host.tick();
            let ended: Vec<_> = host.containers.iter().map(|c| (c.0, c.1)).take(8).collect();
            for (job, key) in ended {
                host.complete(job, key);
            }
            for _ in 0..40 {
                host.now += 500;
                host.tick();
                host.beat_all();
            }
            assert_eq!(host.containers.len(), 16, "{from} to {to}: room is left");
            reload(&mut host, &config(&from));
            assert_eq!(host.containers.len(), 16, "{from} to {to} and back");
        }
    }
}

/// The new share decides at once: FIFO gave everything to the first job, a fair share gives what
/// becomes free to the second until both have half.
#[test]
fn the_new_share_decides_from_the_change_on() {
    let single = config(&json!("fifo"));
    let mut host = Host::new(single.clone());
    host.node(0, 8_192, 8);
    for (job, user) in [(1, "a"), (2, "c")] {
        let queue = host.queue(user, None);
        host.job(job, queue);
        host.ask(job, 0, 100, 1_024);
    }
    host.tick();
    host.beat(0);
    assert_eq!([host.running(1), host.running(2)], [8, 0]);
    reload(&mut host, &config(&json!("fair")));
    host.tick();
    for _ in 0..6 {
        let (job, key) = (host.containers[0].0, host.containers[0].1);
        host.complete(job, key);
        host.beat(0);
    }
    assert_eq!([host.running(1), host.running(2)], [4, 4]);
    reload(&mut host, &single);
    let second: Vec<u64> = host
        .containers
        .iter()
        .filter(|c| c.0 == 2)
        .map(|c| c.1)
        .collect();
    for key in second {
        host.complete(2, key);
        host.beat(0);
    }
    assert_eq!([host.running(1), host.running(2)], [8, 0]);
}

fn without_market() -> Value {
    let queues = FIGURE_1
        .iter()
        .map(|user| json!({"path": format!("root.{}", user.0)}));
    json!({"policy": "fair", "queues": queues.collect::<Vec<_>>()})
}

fn bidding() -> Value {
    let queues = FIGURE_1.iter().map(|(name, budget, rate)| {
        json!({"path": format!("root.{name}"), "budget": budget, "spending_rate": rate,
               "income": 3_600.0})
    });
    json!({"policy": "dynamic-priority", "heartbeat_fill": 1.0,
           "queues": queues.collect::<Vec<_>>()})
}

/// Nobody pays and nobody is paid while another share is in force, however long; the configured
/// budget is not granted a second time.
#[test]
fn accounts_stand_still_while_another_share_is_in_force() {
    let mut market = Market::new(6, FIGURE_1);
    market.host.engine.keep_ledger();
    market.submit(1, "alice", 50);
    market.submit(2, "bob", 50);
    market.host.tick();
    market.beat([1, 2]);
    market.until(40_000);
    let before = ["alice", "bob", "sam"].map(|user| market.number(user, "budget"));
    assert!(before[0] < 1_000.0, "alice has paid");
    market.host.engine.take_ledger();
    reload(&mut market.host, &without_market());
    market.until(4_000_000);
    reload(&mut market.host, &bidding());
    let after = ["alice", "bob", "sam"].map(|user| market.number(user, "budget"));
    assert_eq!(after, before);
    let granted = |entry: &Entry| matches!(entry, Entry::Granted { .. } | Entry::Opened { .. });
    let entries = market.host.engine.take_ledger().entries;
    assert!(!entries.iter().any(granted), "{entries:?}");
    // The market goes on, and its ledger with it.
    market.until(4_060_000);
    let income = 3_600.0 * 60.0 / 3_600.0;
    assert!(market.number("sam", "budget") <= before[2] + income);
    let entries = market.host.engine.take_ledger().entries;
    let closed = |entry: &Entry| matches!(entry, Entry::Interval { .. });
    assert!(entries.iter().any(closed), "{entries:?}");
}

/// Books that were read under a share without accounts hold when a market comes into force.
#[test]
fn accounts_restored_before_the_market_hold_in_it() {
    let mut earlier = Market::new(6, FIGURE_1);
    earlier
        .host
        .request(json!({"op": "addBudget", "queue": "root.alice", "value": 234.0}));
    let saved = earlier.host.engine.save()[0].clone();
    let mut host = Host::new(without_market());
    host.node(0, 6 * 1_024, 6);
    host.engine.keep_ledger();
    host.request(json!({"op": "restoreAccounts", "saved": saved}));
    reload(&mut host, &bidding());
    let mut market = Market { host, nodes: 1 };
    assert_eq!(market.number("alice", "budget"), 1_234.0);
    assert_eq!(market.number("bob", "budget"), 1_000.0);
}

/// What a job has spent of its authority stays spent.
#[test]
fn a_job_cannot_spend_its_authority_twice() {
    let mut market = Market::new(6, FIGURE_1);
    market.submit(1, "alice", 50);
    market.host.request(
        json!({"op": "authorize", "job": 1, "credits_micro": 100_000_000,
                               "rate_micro": 100_000_000, "until_ms": 10_000_000}),
    );
    market.host.tick();
    market.beat([1]);
    market.until(60_000);
    let spent = |host: &mut Host| {
        let job = host.request(json!({"op": "job", "job": 1}));
        job["authority"]["spent_micro"].as_i64().expect("an amount")
    };
    let before = spent(&mut market.host);
    assert!(before > 0);
    reload(&mut market.host, &without_market());
    assert_eq!(spent(&mut market.host), before);
    reload(&mut market.host, &bidding());
    assert_eq!(spent(&mut market.host), before);
}

/// Ids of removed queues go to new queues, except in a market, where they would inherit accounts.
#[test]
fn a_market_gives_no_queue_the_id_of_another() {
    let mut host = Host::new(config(&json!("fair")));
    host.node(0, 4_096, 4);
    let place = |host: &mut Host, user: &str| {
        let reply = host.request(json!({"op": "place", "user": user}));
        reply["queue"].as_u64().expect("an id") as u32
    };
    let gone = place(&mut host, "gone");
    let expire = |engine: &mut Engine, now| {
        engine
            .request(now, &json!({"op": "expireQueues"}))
            .expect("a list")["removed"]
            .clone()
    };
    expire(&mut host.engine, host.now);
    host.now += 2_000;
    assert_eq!(expire(&mut host.engine, host.now), json!(["root.gone"]));
    reload(&mut host, &config(&json!("dynamic-priority")));
    let new = place(&mut host, "new");
    assert_ne!(new, gone);
    host.job(1, QueueId(new));
    host.ask(1, 0, 2, 1_024);
    host.tick();
    host.beat(0);
    assert_eq!(host.running(1), 2);
    let accounts = host.request(json!({"op": "accounts"}));
    let named = |name: &str| {
        let queues = accounts["queues"].as_array().expect("a list");
        queues.iter().any(|queue| queue["queue"] == name)
    };
    assert!(named("root.new") && !named("root.gone"), "{accounts}");
    host.step(&[Event::JobRemoved(JobId(1))]);
    reload(&mut host, &config(&json!("fair")));
    assert_eq!(place(&mut host, "again"), gone, "ids are used again");
}
