//! Reasons why jobs wait, and remedies. Each test asks, applies the advised change, sees it work,
//! and sees that slightly less does not. Numbers follow by hand from the set-up in each test.

use crate::common::market::{FIGURE_1, Market};
use crate::common::{Grant, Host, plain_ask};
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::{JobId, Locality, NodeId};
use serde_json::{Value, json};

fn explained(host: &mut Host, job: u32) -> Value {
    host.request(json!({"op": "explain", "job": job}))
}

/// Returns the numbers of the reason why the first of a job's asks waits; the reason must have this
/// name.
fn reason(host: &mut Host, job: u32, name: &str) -> Value {
    let explained = explained(host, job);
    let reason = &explained["waits"][0]["reason"];
    assert!(reason.get(name).is_some(), "{name} expected: {explained}");
    reason[name].clone()
}

/// Returns the numbers of the remedies of that name.
fn remedies(host: &mut Host, job: u32, name: &str) -> Vec<Value> {
    let explained = explained(host, job);
    let remedies = explained["waits"][0]["remedies"].as_array();
    let named = remedies.expect("a list").iter();
    let named: Vec<Value> = named.filter_map(|r| r.get(name).cloned()).collect();
    assert!(!named.is_empty(), "{name} expected: {explained}");
    named
}

fn sentence(host: &mut Host, job: u32) -> String {
    let explained = explained(host, job);
    explained["sentence"].as_str().unwrap_or("").to_string()
}

fn jobs(grants: &[Grant]) -> Vec<u32> {
    grants.iter().map(|grant| grant.job).collect()
}

fn reload(host: &mut Host, config: Value) {
    host.request(json!({"op": "reload", "config": config}));
}

/// Builds figure 1's market with every user busy: 8, 3 and 4 of 15 slots; bob wants 5 more.
fn busy_market() -> Market {
    let mut market = Market::new(15, FIGURE_1);
    for (job, user, maps) in [(1, "alice", 30), (2, "bob", 8), (3, "sam", 30)] {
        market.submit(job, user, maps);
    }
    market.until(500);
    assert_eq!(market.beat([1, 2, 3]), [8, 3, 4]);
    market
}

#[test]
fn a_bid_that_buys_more_slots_is_named_and_buys_them() {
    let mut market = busy_market();
    let why = reason(&mut market.host, 2, "quota");
    assert_eq!([&why["used"], &why["quota"]], [&json!(3), &json!(3)]);
    assert_eq!(why["bid"], json!(1_500_000));
    assert_eq!(why["price"], json!(7_500_000));
    // Least b with a 4th slot: shares of 15 by 4, b and 2. At b = 2 all three are 7.5, 3.75 and
    // 3.75: bob and sam get the two remaining (7, 3, 3). Less is enough: alice has 60 / (6 + b),
    // sam 30 / (6 + b) and bob 15 b / (6 + b). Bob leads by fractions ahead of alice or sam once
    // 15 b - 3 (6 + b) > 60 - 7 (6 + b), that is 19 b > 36, b > 1.894737.
    let bid = &remedies(&mut market.host, 2, "bid")[0];
    assert_eq!([&bid["bid"], &bid["slots"]], [&json!(1_894_737), &json!(1)]);
    assert_eq!(
        sentence(&mut market.host, 2),
        "waits: queue `root.bob` uses 3 of 3 slots at a bid of 1.5 (price 7.5); with a bid of 1.9 \
         it would get 1 more"
    );
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(readme).expect("there is a README");
    assert!(
        readme.contains(&sentence(&mut market.host, 2)),
        "its example is this one"
    );
    for (micro, slots) in [(1_894_737, 4), (1_894_736, 3), (1_900_000, 4)] {
        let mut market = busy_market();
        market.set("setSpending", "bob", f64::from(micro) / 1e6);
        market.until(20_500);
        assert_eq!(market.quotas(["bob"]), [slots], "at {micro}");
        // As alice's and sam's tasks end, bob gets the slots that he pays for.
        for job in [1, 3] {
            market.host.complete_all(job);
        }
        assert_eq!(market.beat([2]), [slots as usize]);
    }
}

#[test]
fn a_bid_that_is_set_already_is_waited_for_and_a_bid_of_nothing_is_said() {
    let mut market = busy_market();
    market.set("setSpending", "bob", 3.0);
    // 15 * 3 / 9 = 5.
    let next = &remedies(&mut market.host, 2, "interval")[0];
    assert_eq!(next["slots"], json!(2));
    let at_ms = next["at_ms"].as_i64().expect("a time");
    market.until(at_ms - 1);
    assert_eq!(market.quotas(["bob"]), [3]);
    market.until(at_ms);
    assert_eq!(market.quotas(["bob"]), [5]);
    market.set("setSpending", "bob", 0.0);
    market.until(at_ms + 20_000);
    assert!(
        sentence(&mut market.host, 2).starts_with(
            "waits: queue `root.bob` bids nothing, so others go first (price 6); with"
        ),
    );
}

#[test]
fn a_queue_at_its_limit_gets_one_more_with_the_limit_that_is_named() {
    let config = |mb: i64| {
        json!({
            "heartbeat_fill": 1.0,
            "queues": [{"path": "root.a", "max_share": {"memory-mb": mb}}]
        })
    };
    for (limit_mb, granted) in [(3_072, 1), (3_071, 0)] {
        let mut host = Host::new(config(2_048));
        let node = host.node(0, 8_192, 8);
        let queue = host.queue("u", Some("root.a"));
        host.job(1, queue);
        host.ask(1, 0, 5, 1_024);
        assert_eq!(host.beat(node).len(), 2);
        let why = reason(&mut host, 1, "queue_limit");
        let numbers = ["used", "wanted", "max"].map(|key| why[key].as_i64());
        assert_eq!(numbers, [Some(2_048), Some(1_024), Some(2_048)]);
        assert_eq!(remedies(&mut host, 1, "max_share")[0]["limit"], 3_072);
        assert_eq!(
            sentence(&mut host, 1),
            "waits: queue `root.a` uses 2048 MB of 2048 MB (max_share), and one more container \
             needs 1024 MB; with a max_share of queue `root.a` of 3072 MB one more would fit"
        );
        reload(&mut host, config(limit_mb));
        assert_eq!(host.beat(node).len(), granted, "with {limit_mb} MB");
    }
}

#[test]
fn a_job_that_may_not_run_yet_runs_with_the_limits_that_are_named() {
    let config = |outer: u32, inner: u32| {
        json!({"heartbeat_fill": 1.0, "queues": [
            {"path": "root.a", "max_running_jobs": outer},
            {"path": "root.a.x", "max_running_jobs": inner},
            {"path": "root.a.y"}
        ]})
    };
    for (outer, inner, runs) in [(4, 3, true), (3, 3, false), (4, 2, false)] {
        let mut host = Host::new(config(2, 1));
        let node = host.node(0, 8_192, 8);
        for (job, queue) in [(1, "root.a.y"), (2, "root.a.x"), (3, "root.a.x")] {
            let queue = host.queue("u", Some(queue));
            host.job(job, queue);
            host.ask(job, 0, 1, 1_024);
        }
        let queue = host.queue("u", Some("root.a.x"));
        host.now = 10;
        host.job(4, queue);
        host.ask(4, 0, 1, 1_024);
        assert_eq!(host.beat(node).len(), 2);
        assert_eq!(reason(&mut host, 4, "job_limit")["ahead"], 1);
        let limits: Vec<i64> = remedies(&mut host, 4, "running_jobs")
            .iter()
            .map(|remedy| remedy["limit"].as_i64().expect("a number"))
            .collect();
        // In x one job runs and one is before it; in a two run.
        assert_eq!(limits, [3, 4]);
        reload(&mut host, config(outer, inner));
        assert_eq!(jobs(&host.beat(node)).contains(&4), runs, "{outer} {inner}");
    }
}

/// Returns the configuration of two queues, `a` of weight 1 and `b` of this weight.
fn two_queues(weight: f64) -> Value {
    json!({
        "policy": {"share": "fair", "order": "fifo", "place": "local-first"},
        "heartbeat_fill": 1.0,
        "queues": [{"path": "root.a"}, {"path": "root.b", "weight": weight}]
    })
}

#[test]
fn a_weight_that_entitles_a_queue_to_more_is_named_and_does() {
    let mut host = Host::new(two_queues(1.0));
    let node = host.node(0, 12_288, 12);
    for (job, queue) in [(1, "root.a"), (2, "root.b")] {
        let queue = host.queue("u", Some(queue));
        host.job(job, queue);
        host.ask(job, 0, 500, 1_024);
    }
    assert_eq!(host.beat(node).len(), 12);
    host.tick();
    let why = reason(&mut host, 2, "share");
    assert_eq!([&why["used"], &why["entitled"]], [&json!(6_144); 2]);
    // 7 of 12 by weight w against 1: w = 7 / 5.
    let remedy = &remedies(&mut host, 2, "weight")[0];
    assert_eq!(remedy["weight"], 1.4);
    assert_eq!(remedy["entitled"], 7_168);
    let share = |host: &mut Host, weight: f64| {
        let reply = host.request(json!({"op": "reload", "config": two_queues(weight)}));
        let queues = reply["queues"].as_array().expect("a list");
        let b = queues.iter().find(|queue| queue["path"] == "root.b");
        b.expect("it is configured")["fair_share"]["memory-mb"].as_i64()
    };
    assert!(share(&mut host, 1.399) < Some(7_168));
    assert_eq!(share(&mut host, 1.4), Some(7_168));
    // Every container is replaced once, one by one: 7 to 5.
    for (job, key, _, _) in host.containers.clone() {
        host.complete(job, key);
        host.beat(node);
    }
    assert_eq!([host.running(1), host.running(2)], [5, 7]);
}

#[test]
fn drf_names_the_weight_that_entitles_to_one_more() {
    let config = |weight: f64| {
        json!({
            "policy": {"share": "drf", "order": "fifo", "place": "local-first"},
            "heartbeat_fill": 1.0,
            "queues": [{"path": "root.a"}, {"path": "root.b", "weight": weight}]
        })
    };
    let mut host = Host::new(config(1.0));
    let node = host.node(0, 12_288, 12);
    for (job, queue) in [(1, "root.a"), (2, "root.b")] {
        let queue = host.queue("u", Some(queue));
        host.job(job, queue);
        host.ask(job, 0, 500, 1_024);
    }
    assert_eq!(host.beat(node).len(), 12);
    host.tick();
    let remedy = &remedies(&mut host, 2, "weight")[0];
    assert_eq!(remedy["weight"], 1.4);
    let share = |host: &mut Host, weight: f64| {
        let reply = host.request(json!({"op": "reload", "config": config(weight)}));
        let queues = reply["queues"].as_array().expect("a list");
        let b = queues.iter().find(|queue| queue["path"] == "root.b");
        b.expect("it is configured")["fair_share"]["memory-mb"].as_i64()
    };
    assert!(share(&mut host, 1.399) < Some(7_168));
    assert_eq!(share(&mut host, 1.4), Some(7_168));
}

#[test]
fn a_wait_for_data_ends_at_the_moment_that_is_named() {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0}));
    let (near, far) = (host.node(0, 1_024, 1), host.node(0, 4_096, 4));
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask(1, 0, 1, 1_024);
    assert_eq!(jobs(&host.beat(near)), [1], "its data's host is busy now");
    host.job(2, queue);
    host.profile(2, 60_000);
    host.ask_on(2, 0, 1_024, &[(near, 0)]);
    let why = reason(&mut host, 2, "locality");
    assert_eq!(why["level"], json!(Locality::NodeLocal));
    assert_eq!(why["until_ms"], Value::Null, "nobody passed it over");
    host.now = 1_000;
    assert_eq!(host.beat(far), []);
    let at_ms = remedies(&mut host, 2, "time")[0]["at_ms"].as_i64();
    assert_eq!(at_ms, Some(4_000), "three seconds by default");
    assert_eq!(
        sentence(&mut host, 2),
        "waits: the hosts that hold its data have no room, and it waits for them 3.0 s more; in \
         3.0 s any node of their racks will do"
    );
    host.now = 3_999;
    assert_eq!(host.beat(far), []);
    host.now = 4_000;
    assert_eq!(jobs(&host.beat(far)), [2]);
    assert_eq!(explained(&mut host, 2)["sentence"], Value::Null);
}

#[test]
fn a_priority_that_puts_a_job_first_is_named_and_does() {
    for (priority, next) in [(3, 2), (2, 1)] {
        let mut host = Host::new(json!({"policy": "fifo", "heartbeat_fill": 1.0}));
        let node = host.node(0, 2_048, 2);
        let queue = host.queue("u", None);
        host.prioritised_job(1, queue, 2);
        host.ask(1, 0, 6, 1_024);
        host.now = 5;
        host.job(2, queue);
        host.ask(2, 0, 1, 1_024);
        assert_eq!(jobs(&host.beat(node)), [1, 1]);
        let ahead = reason(&mut host, 2, "behind")["ahead"].clone();
        let numbers = ["jobs", "tasks", "first"].map(|key| ahead[key].as_i64());
        assert_eq!(numbers, [Some(1), Some(4), Some(1)]);
        assert_eq!(remedies(&mut host, 2, "priority")[0]["priority"], 3);
        assert_eq!(
            sentence(&mut host, 2),
            "waits: 4 containers of 1 other job go first, next job#1; with an application \
             priority of 3 it would be first"
        );
        host.step(&[Event::JobPriority {
            job: JobId(2),
            priority,
        }]);
        let key = host.containers[0].1;
        host.complete(1, key);
        assert_eq!(jobs(&host.beat(node)), [next], "at priority {priority}");
    }
}

#[test]
fn hfsp_says_whose_work_is_less() {
    let mut host = Host::new(json!({
        "policy": {"share": "single", "order": "hfsp", "place": "local-first"},
        "heartbeat_fill": 1.0
    }));
    let node = host.node(0, 2_048, 2);
    host.tick();
    let queue = host.queue("u", None);
    for (job, maps) in [(1, 40), (2, 10)] {
        host.job(job, queue);
        host.ask(job, 0, maps, 1_024);
    }
    host.beat(node);
    let why = reason(&mut host, 1, "behind");
    assert_eq!(why["ahead"]["first"], 2, "fewer tasks of unknown length");
    let left = |whose: &str| why[whose]["work_left"].as_i64().expect("a number");
    assert!(left("theirs") < left("mine"), "{why}");
    // The job named as next is next, until it is this job itself.
    let mut named = 0;
    while reason_is(&mut host, 1, "behind") {
        let next = reason(&mut host, 1, "behind")["ahead"]["first"].as_u64();
        host.now += 1_000;
        let (job, key, _, _) = host.containers[0];
        host.complete(job, key);
        let served = jobs(&host.beat(node));
        assert_eq!(served.iter().map(|job| u64::from(*job)).next(), next);
        named += 1;
    }
    assert!(named > 0, "job 2's first maps go before more of job 1's");
    host.now += 1_000;
    let (job, key, _, _) = host.containers[0];
    host.complete(job, key);
    assert_eq!(jobs(&host.beat(node)), [1]);
}

fn reason_is(host: &mut Host, job: u32, name: &str) -> bool {
    explained(host, job)["waits"][0]["reason"]
        .get(name)
        .is_some()
}

#[test]
fn masters_beyond_their_share_start_with_the_part_that_is_named() {
    let config = |part: f64| {
        json!({
            "heartbeat_fill": 1.0,
            "queues": [{"path": "root.a", "max_am_share": part}]
        })
    };
    for (part, granted) in [(0.4, vec![4]), (0.399, vec![])] {
        let mut host = Host::new(config(0.2));
        let node = host.node(0, 10_000, 10);
        let queue = host.queue("u", Some("root.a"));
        for job in 1..=4 {
            host.now += 1;
            host.job(job, queue);
            host.ask_facts(AskFacts {
                am: true,
                priority: 0,
                ..plain_ask(job, 0, 1, 1_000)
            });
        }
        host.tick();
        assert_eq!(jobs(&host.beat(node)), [1, 2]);
        let why = reason(&mut host, 4, "master_limit");
        let numbers = ["used", "wanted", "max"].map(|key| why[key].as_i64());
        assert_eq!(numbers, [Some(2_000), Some(1_000), Some(2_000)]);
        // Job 3 goes first: 4 of 10 for both.
        assert_eq!(remedies(&mut host, 4, "master_share")[0]["per_mille"], 400);
        reload(&mut host, config(part));
        host.tick();
        let served = jobs(&host.beat(node));
        assert_eq!(&served[1..], granted, "with {part}");
    }
}

#[test]
fn want_of_room_names_the_node_that_would_do() {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0}));
    let queue = host.queue("u", None);
    host.job(1, queue);
    host.ask(1, 0, 1, 3_000);
    assert_eq!(
        sentence(&mut host, 1),
        "waits: no node is up; a node of 3000 MB and 1 vcores would do"
    );
    let small = host.node(0, 2_000, 8);
    host.beat(small);
    assert_eq!(reason(&mut host, 1, "too_large")["most"], 2_000);
    let node = &remedies(&mut host, 1, "node")[0];
    assert_eq!(
        [&node["amount"], &node["free"]],
        [&json!(3_000), &json!(false)]
    );
    let short = host.node(0, 2_999, 8);
    assert_eq!(host.beat(short), []);
    let enough = host.node(0, 3_000, 8);
    assert_eq!(jobs(&host.beat(enough)), [1]);
    // The same again: the node is large enough, apart from the containers that run there.
    host.job(2, queue);
    host.ask(2, 0, 1, 2_500);
    host.beat(short);
    host.job(3, queue);
    host.ask(3, 0, 1, 2_500);
    let shortage = reason(&mut host, 3, "room")["shortage"].clone();
    assert_eq!(
        [&shortage["wanted"], &shortage["most"]],
        [&json!(2_500), &json!(499)]
    );
    assert_eq!(remedies(&mut host, 3, "node")[0]["amount"], 2_500);
    let key = host
        .containers
        .iter()
        .find(|c| c.0 == 2)
        .expect("it runs")
        .1;
    host.complete(2, key);
    assert_eq!(jobs(&host.beat(short)), [3]);
}

#[test]
fn nodes_of_another_label_that_have_the_room_are_named() {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0}));
    let queue = host.queue("u", None);
    let plain = host.node(0, 2_048, 8);
    host.labelled_node(0, 8_192, 8, 1);
    host.job(1, queue);
    host.ask(1, 0, 3, 1_024);
    assert_eq!(host.beat(plain).len(), 2);
    let text = sentence(&mut host, 1);
    assert!(
        text.contains("; 1 node of another label has the room"),
        "{text}"
    );
    host.step(&[Event::NodeRemoved(NodeId(plain))]);
    assert_eq!(
        sentence(&mut host, 1),
        "waits: no node without a label is up; 1 node of another label has the room; a node of \
         1024 MB and 1 vcores would do"
    );
}

#[test]
fn places_are_told_of_only_where_some_were_named() {
    let mut host = Host::new(json!({"heartbeat_fill": 1.0, "policy": {"place": "local-first"}}));
    let queue = host.queue("u", None);
    let (near, far) = (host.node(0, 4_096, 8), host.node(1, 4_096, 8));
    host.job(1, queue);
    host.ask(1, 0, 1, 1_024);
    host.beat(near);
    host.job(2, queue);
    host.ask_on(2, 0, 1_024, &[(near, 0)]);
    host.beat(near);
    host.job(3, queue);
    host.ask_on(3, 0, 1_024, &[(near, 0)]);
    host.beat(far);
    let told = |host: &mut Host, job: u32| {
        let entries = explained(host, job)["trace"].clone();
        let entries = entries.as_array().expect("a list").clone();
        let granted = entries.iter().find(|entry| entry["what"] == "granted");
        granted.expect("it was granted")["sentence"]
            .as_str()
            .unwrap_or("")
            .to_string()
    };
    assert_eq!(
        told(&mut host, 1),
        "a map was granted on node#0; 0 more asked for"
    );
    let near = "a map was granted on node#0, on a host that it named; 0 more asked for";
    assert_eq!(told(&mut host, 2), near);
    let far = "a map was granted on node#1, away from the places that it named; 0 more asked for";
    assert_eq!(told(&mut host, 3), far);
}
