//! Node labels as partitions: each has its own total, guarantees, limits and order of queues, and
//! one that is not exclusive lends what its queues leave. Rules of the Capacity Scheduler. Figures
//! follow by hand from the sizes of the nodes: containers of 1 GB, one vcore.

use crate::common::{Host, host_of, plain_ask, rack_place};
use heddle_core::Decision;
use heddle_core::words::event::{AskFacts, Event, NodeFacts};
use heddle_core::words::ids::{JobId, NodeId, PartitionId};
use heddle_core::words::resource::Resource;
use serde_json::{Value, json};

const GPU: u32 = 7;
const GB: i64 = 1024;

fn setup(queues: Value) -> Value {
    json!({
        "config": {
            "policy": {"share": "capacity", "order": "by-queue", "place": "delay"},
            "queues": queues,
            "preemption": {"enabled": true, "min_share_timeout_ms": 1000,
                "fair_share_timeout_ms": 1000, "fair_share_threshold": 1.0, "grace_ms": 100}
        },
        "labels": {"gpu": GPU},
    })
}

fn part(percent: u32) -> Value {
    json!({"memory-mb": format!("{percent}% of parent")})
}

/// `root.a` has 60 % of the nodes without a label and 25 % of the others, `root.b` the rest, which
/// is also its limit on the others.
fn two_queues() -> Value {
    json!([
        {"path": "root.a", "min_share": part(60), "max_am_share": 1.0,
         "labels": {"gpu": {"min_share": part(25)}}},
        {"path": "root.b", "min_share": part(40),
         "labels": {"gpu": {"min_share": part(75), "max_share": part(75), "max_am_share": 0.25}}},
    ])
}

fn host(queues: Value) -> Host {
    Host::from_setup(&setup(queues))
}

fn job(host: &mut Host, job: u32, queue: &str) {
    let queue = host.queue("u", Some(queue));
    host.job(job, queue);
}

fn gpu(job: u32, ask: u32, count: u32) -> AskFacts {
    AskFacts {
        partition: PartitionId(GPU),
        ..plain_ask(job, ask, count, GB)
    }
}

/// The containers of a job on a node.
fn on(host: &Host, job: u32, node: u32) -> usize {
    let here = |c: &&(u32, u64, u32, Resource)| (c.0, c.2) == (job, node);
    host.containers.iter().filter(here).count()
}

fn queue(host: &mut Host, path: &str) -> Value {
    let reply = host.request(json!({"op": "queues"}));
    let queues = reply["queues"].as_array().expect("queues");
    let found = queues.iter().find(|queue| queue["path"] == path);
    found.expect(path).clone()
}

/// Gives a node another label. `sizes` are all that it has and what is free, in GB and vcores.
fn relabel(host: &mut Host, node: u32, label: u32, sizes: [(i64, i64); 2]) {
    let [capacity, free] = sizes.map(|(gb, vcores)| Resource::new(gb * GB, vcores));
    host.step(&[Event::NodeChanged(NodeFacts {
        node: NodeId(node),
        host: host_of(node),
        rack: rack_place(0),
        partition: PartitionId(label),
        lends: false,
        schedulable: true,
        capacity,
        free,
    })]);
}

/// Lets seconds pass in which every node reports twice; evicted containers end. Returns the node of
/// each.
fn seconds(host: &mut Host, seconds: u32) -> Vec<u32> {
    let mut taken = Vec::new();
    for _ in 0..2 * seconds {
        host.now += 500;
        for decision in host.tick() {
            if let Decision::Evict { job, key, .. } = decision {
                let container = host.containers.iter().find(|c| c.1 == key);
                taken.push(container.expect("it runs").2);
                host.complete(job.0, key);
            }
        }
        host.beat_all();
    }
    taken
}

#[test]
fn parts_are_of_the_nodes_with_the_label_or_of_those_without_any() {
    let mut host = host(two_queues());
    host.node(0, 10_000, 64);
    host.labelled_node(0, 8_000, 64, GPU);
    let a = queue(&mut host, "root.a");
    assert_eq!(a["min_share"]["memory-mb"], 6_000);
    assert_eq!(a["labels"]["gpu"]["min_share"]["memory-mb"], 2_000);
    assert_eq!(a["labels"]["gpu"]["max_share"]["memory-mb"], 8_000);
    let b = queue(&mut host, "root.b");
    assert_eq!(b["guaranteed"]["memory-mb"], 4_000);
    assert_eq!(b["labels"]["gpu"]["guaranteed"]["memory-mb"], 6_000);
    assert_eq!(b["labels"]["gpu"]["max_share"]["memory-mb"], 6_000);
    host.labelled_node(0, 4_000, 64, GPU);
    let b = queue(&mut host, "root.b");
    assert_eq!(b["guaranteed"]["memory-mb"], 4_000);
    assert_eq!(b["labels"]["gpu"]["guaranteed"]["memory-mb"], 9_000);
}

/// A queue's limit of jobs is its part of the nodes without a label: 40 GB of 100 GB.
#[test]
fn nodes_with_a_label_change_no_limit_of_jobs() {
    let queues = json!([
        {"path": "root.a", "min_share": {"memory-mb": 40 * GB}, "max_jobs_by_share": 100,
         "labels": {"gpu": {"min_share": part(100)}}},
        {"path": "root.b", "min_share": {"memory-mb": 60 * GB}},
    ]);
    let mut host = host(queues);
    host.node(0, 100 * GB, 100);
    host.labelled_node(0, 100 * GB, 100, GPU);
    host.queue("u", Some("root.a"));
    assert_eq!(queue(&mut host, "root.a")["max_jobs"], 40);
}

/// `root.a` is far above its guarantee on the nodes without a label. That does not count on the
/// others, where the two meet at 2 and 6 of 8.
#[test]
fn queues_compare_by_what_they_use_of_the_nodes_of_the_label() {
    let mut host = host(two_queues());
    let plain = host.node(0, 10 * GB, 64);
    let labelled = host.labelled_node(0, 8 * GB, 64, GPU);
    job(&mut host, 1, "root.a");
    job(&mut host, 2, "root.b");
    host.ask(1, 0, 10, GB);
    host.beat(plain);
    assert_eq!(host.running(1), 10);
    host.ask_facts(gpu(1, 1, 9));
    host.ask_facts(gpu(2, 1, 9));
    host.beat(labelled);
    assert_eq!((on(&host, 1, labelled), on(&host, 2, labelled)), (2, 6));
}

#[test]
fn a_limit_holds_on_the_nodes_of_its_label_alone() {
    let mut host = host(two_queues());
    let plain = host.node(0, 8 * GB, 64);
    let labelled = host.labelled_node(0, 8 * GB, 64, GPU);
    job(&mut host, 2, "root.b");
    host.ask(2, 0, 9, GB);
    host.ask_facts(gpu(2, 1, 9));
    seconds(&mut host, 3);
    assert_eq!((on(&host, 2, plain), on(&host, 2, labelled)), (8, 6));
    job(&mut host, 3, "root.b");
    host.ask_facts(gpu(3, 0, 1));
    let reply = host.request(json!({"op": "explain", "job": 3}));
    let reasons = reply["waits"].to_string();
    assert!(reasons.contains("max_share"), "{reasons}");
}

/// 4 GB and 8 GB: on the nodes of the label `root.b` has 6 GB, a quarter of which is 1.5 GB, in
/// whole smallest containers 2 GB. On the others its half is of the 4 GB that it could use.
#[test]
fn masters_are_limited_on_the_nodes_of_each_label() {
    let mut host = host(two_queues());
    let plain = host.node(0, 4 * GB, 64);
    let labelled = host.labelled_node(0, 8 * GB, 64, GPU);
    for number in 1..=8 {
        job(&mut host, number, "root.b");
        host.ask_facts(AskFacts {
            am: true,
            partition: PartitionId(if number > 4 { GPU } else { 0 }),
            ..plain_ask(number, 0, 1, GB)
        });
    }
    seconds(&mut host, 3);
    let masters = |host: &Host, node: u32| (1..=8).map(|job| on(host, job, node)).sum::<usize>();
    assert_eq!(masters(&host, labelled), 2);
    assert_eq!(masters(&host, plain), 2);
    let b = queue(&mut host, "root.b");
    assert_eq!(b["labels"]["gpu"]["am_limit"]["memory-mb"], 2 * GB);
    assert_eq!(b["labels"]["gpu"]["am_used"]["memory-mb"], 2 * GB);
}

/// `root.b` guarantees 6 GB on the nodes of the label and 4 GB on the others, where it could use
/// 10 GB: masters have a quarter of the 6 GB, 2 GB in whole containers, and half of the 10 GB;
/// those of one user have half of the 4 GB.
#[test]
fn masters_stand_in_a_line_for_each_label() {
    let mut queues = two_queues();
    queues[1]["user_limit_percent"] = json!(100);
    let mut host = host(queues);
    host.node(0, 10 * GB, 64);
    let labelled = host.labelled_node(0, 8 * GB, 64, GPU);
    let b = host.queue("u", Some("root.b"));
    for number in 1..=9 {
        host.user_job(number, b, number / 8);
        host.ask_facts(AskFacts {
            am: true,
            partition: PartitionId(if number > 4 { GPU } else { 0 }),
            ..plain_ask(number, 0, 1, GB)
        });
    }
    seconds(&mut host, 3);
    let started = |host: &Host| (1..=9).filter(|job| host.running(*job) == 1).collect();
    let now: Vec<u32> = started(&host);
    assert_eq!(now, [1, 2, 5, 6]);
    let explained = host.request(json!({"op": "explain", "job": 7}));
    let reason = explained["waits"][0]["reason"].to_string();
    assert!(reason.contains("\"max\":2048"), "{reason}");
    let users = queue(&mut host, "root.b");
    let of_user = &users["labels"]["gpu"]["users"][0];
    assert_eq!(of_user["masters_used"]["memory-mb"], 2 * GB, "{of_user}");
    // Room on the nodes of the label starts nothing elsewhere.
    host.complete_all(5);
    host.step(&[Event::JobRemoved(JobId(5))]);
    seconds(&mut host, 2);
    let now: Vec<u32> = started(&host);
    assert_eq!(now, [1, 2, 6, 7]);
    // A master counts where its node stands: of one user's 4 GB on all 18 GB 4 GB are in use.
    relabel(&mut host, labelled, 0, [(8, 64), (6, 62)]);
    host.engine.check_invariants().expect("the books are right");
    host.complete_all(1);
    host.step(&[Event::JobRemoved(JobId(1))]);
    seconds(&mut host, 2);
    let of_user = queue(&mut host, "root.b")["users"][0].clone();
    assert_eq!(of_user["masters_used"]["memory-mb"], 4 * GB, "{of_user}");
}

#[test]
fn headroom_is_the_sum_of_what_each_label_leaves() {
    let mut host = host(two_queues());
    host.node(0, 4 * GB, 64);
    host.labelled_node(0, 8 * GB, 64, GPU);
    job(&mut host, 2, "root.b");
    host.ask_facts(gpu(2, 1, 2));
    seconds(&mut host, 1);
    // Its limit of 6 GB, less the 2 GB that it has; nothing was asked for without the label.
    assert_eq!(host.headrooms[&2].memory_mb(), 4 * GB);
    host.ask(2, 0, 1, 8 * GB);
    seconds(&mut host, 1);
    assert_eq!(
        host.headrooms[&2].memory_mb(),
        4 * GB,
        "only what it waits for counts"
    );
    host.ask_facts(gpu(2, 1, 9));
    seconds(&mut host, 1);
    assert_eq!(
        host.headrooms[&2].memory_mb(),
        4 * GB,
        "the other limit is reached"
    );
}

#[test]
fn idle_room_is_lent_to_tasks_without_a_label_after_a_while() {
    let mut host = host(two_queues());
    let plain = host.node(0, 2 * GB, 64);
    let labelled = host.lending_node(0, 4 * GB, 64, GPU);
    let closed = host.labelled_node(0, 4 * GB, 64, 8);
    job(&mut host, 1, "root.a");
    host.ask_facts(gpu(1, 1, 1));
    host.ask(1, 0, 9, GB);
    assert_eq!(
        host.beat(labelled).len(),
        1,
        "what asks for the label goes first"
    );
    host.beat(plain);
    host.now += 999;
    assert_eq!(
        host.beat(labelled).len(),
        0,
        "its own nodes may still report"
    );
    host.now += 1;
    assert_eq!(host.beat(labelled).len(), 3);
    assert_eq!(host.beat(closed).len(), 0, "an exclusive label");
    assert_eq!((on(&host, 1, plain), on(&host, 1, labelled)), (2, 4));
    let a = queue(&mut host, "root.a");
    assert_eq!(a["labels"]["gpu"]["used"]["memory-mb"], 4 * GB);
}

/// The clock of an ask that insists on its node, then on its rack, runs while a node that lends has
/// room for it: its own may stay full for days. The first look starts it.
#[test]
fn an_ask_that_insists_on_its_node_is_lent_room_in_the_end() {
    let mut host = host(two_queues());
    let own = host.node(0, GB, 64);
    let labelled = host.lending_node(1, 4 * GB, 64, GPU);
    job(&mut host, 1, "root.a");
    host.ask(1, 0, 1, GB);
    host.beat(own);
    host.profile(1, 60_000);
    host.ask_on(1, 1, GB, &[(own, 0), (own, 0)]);
    seconds(&mut host, 6);
    assert_eq!(on(&host, 1, labelled), 0, "it insists on its rack");
    seconds(&mut host, 1);
    assert_eq!(on(&host, 1, labelled), 2);
}

/// Nor does one behind it take all that is lent for ever: that it was passed over starts the clock.
#[test]
fn an_ask_that_insists_is_lent_room_before_those_behind_it() {
    let mut host = host(two_queues());
    let own = host.node(0, GB, 64);
    let labelled = host.lending_node(1, GB, 64, GPU);
    job(&mut host, 1, "root.a");
    job(&mut host, 2, "root.a");
    job(&mut host, 3, "root.b");
    host.ask(3, 0, 1, GB);
    host.beat(own);
    host.ask_on(1, 1, GB, &[(own, 0)]);
    host.ask(2, 0, 99, GB);
    for second in 0.. {
        assert!(second < 10, "job 2 still has all that is lent");
        seconds(&mut host, 1);
        if on(&host, 1, labelled) == 1 {
            break;
        }
        host.complete_all(2);
    }
}

/// A node is held for an ApplicationMaster though one that lends, which may not have it, has room.
#[test]
fn lent_room_does_not_count_for_masters() {
    let mut host = host(two_queues());
    let own = host.node(0, GB, 64);
    host.lending_node(1, 4 * GB, 64, GPU);
    job(&mut host, 1, "root.a");
    job(&mut host, 2, "root.a");
    host.ask(1, 0, 1, GB);
    host.beat(own);
    host.ask_facts(AskFacts {
        am: true,
        ..plain_ask(2, 0, 1, GB)
    });
    seconds(&mut host, 7);
    let cluster = host.request(json!({"op": "queues"}))["cluster"].clone();
    assert_eq!(cluster["held_nodes"], 1);
}

#[test]
fn masters_are_not_lent_room() {
    let mut host = host(two_queues());
    let labelled = host.lending_node(0, 4 * GB, 64, GPU);
    job(&mut host, 1, "root.a");
    host.ask_facts(AskFacts {
        am: true,
        ..plain_ask(1, 0, 1, GB)
    });
    seconds(&mut host, 5);
    assert_eq!(on(&host, 1, labelled), 0);
}

/// A queue that may not use the label at all borrows as well: who may borrow does not depend on
/// who may ask.
#[test]
fn lent_room_is_taken_back_for_the_label_before_any_other() {
    let mut host = host(json!([
        {"path": "root.a", "min_share": part(60), "accessible_labels": []},
        {"path": "root.b", "min_share": part(40), "labels": {"gpu": {"min_share": part(50)}}},
        {"path": "root.c", "min_share": part(0), "labels": {"gpu": {"min_share": part(50)}}},
    ]));
    let labelled = host.lending_node(0, 8 * GB, 64, GPU);
    host.node(0, 2 * GB, 64);
    job(&mut host, 1, "root.a");
    job(&mut host, 2, "root.b");
    job(&mut host, 3, "root.c");
    host.ask_facts(gpu(3, 0, 6));
    host.beat(labelled);
    host.ask(1, 0, 9, GB);
    seconds(&mut host, 3);
    assert_eq!((on(&host, 3, labelled), on(&host, 1, labelled)), (6, 2));
    // `root.b` has a right to 4 GB: the 2 GB that are lent, then 2 GB of those that `root.c` has
    // above its own 4 GB.
    host.ask_facts(gpu(2, 0, 3));
    assert_eq!(seconds(&mut host, 9), [labelled; 3]);
    let held = [1, 2, 3].map(|job| on(&host, job, labelled));
    assert_eq!(
        held,
        [0, 3, 5],
        "both lent containers, then one above the share"
    );
}

#[test]
fn access_and_default_labels_come_from_above() {
    let mut host = host(json!([
        {"path": "root.p", "accessible_labels": ["gpu", "ssd"], "default_label": "ssd"},
        {"path": "root.p.all"},
        {"path": "root.p.some", "accessible_labels": ["gpu"]},
        {"path": "root.p.own", "accessible_labels": ["gpu"], "default_label": "gpu"},
        {"path": "root.q"},
    ]));
    for (path, labels, default) in [
        ("root.p.all", json!(["gpu", "ssd"]), json!("ssd")),
        ("root.p.some", json!(["gpu"]), json!(null)),
        ("root.p.own", json!(["gpu"]), json!("gpu")),
        ("root.q", json!(null), json!(null)),
    ] {
        let queue = queue(&mut host, path);
        assert_eq!(queue["accessible_labels"], labels, "{path}");
        assert_eq!(queue["default_label"], default, "{path}");
    }
}

#[test]
fn containers_count_where_their_node_stands_when_its_label_changes() {
    let mut host = host(two_queues());
    let node = host.node(0, 4 * GB, 64);
    job(&mut host, 1, "root.a");
    host.ask(1, 0, 3, GB);
    host.beat(node);
    relabel(&mut host, node, GPU, [(4, 64), (1, 61)]);
    let a = queue(&mut host, "root.a");
    assert_eq!(a["labels"]["gpu"]["used"]["memory-mb"], 3 * GB);
    assert_eq!(a["labels"]["gpu"]["min_share"]["memory-mb"], GB);
    assert_eq!(a["min_share"]["memory-mb"], 0, "no node is without a label");
}

#[test]
fn a_reload_may_bring_labels_and_take_them_away() {
    let plain = json!([{"path": "root.a"}, {"path": "root.b"}]);
    let mut host = host(plain.clone());
    let labelled = host.lending_node(0, 4 * GB, 64, GPU);
    job(&mut host, 1, "root.a");
    host.ask_facts(gpu(1, 0, 2));
    host.ask(1, 1, 9, GB);
    seconds(&mut host, 3);
    assert_eq!(
        on(&host, 1, labelled),
        2,
        "without labels in queues all are exclusive"
    );
    let mut with = setup(two_queues());
    with["op"] = json!("reload");
    host.request(with);
    let a = queue(&mut host, "root.a");
    assert_eq!(a["labels"]["gpu"]["used"]["memory-mb"], 2 * GB);
    seconds(&mut host, 3);
    assert_eq!(on(&host, 1, labelled), 4);
    let mut without = setup(plain);
    without["op"] = json!("reload");
    host.request(without);
    assert!(queue(&mut host, "root.a").get("labels").is_none());
    host.complete_all(1);
    seconds(&mut host, 3);
    assert_eq!(on(&host, 1, labelled), 0);
}

#[test]
fn keys_of_labels_are_checked() {
    for (queue, expected) in [
        (json!({"labels": []}), "labels"),
        (json!({"labels": {"": {}}}), "name of a label"),
        (json!({"labels": {"gpu": {"min": 1}}}), "min_share"),
        (json!({"accessible_labels": "gpu"}), "list of labels"),
        (
            json!({"accessible_labels": ["ssd"], "default_label": "gpu"}),
            "accessible_labels",
        ),
    ] {
        let mut queue = queue;
        queue["path"] = json!("root.a");
        let error = heddle_core::Setup::with_config(&json!({"queues": [queue]}));
        let error = error.expect_err("it is wrong").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// One user, whose limit is the 4 GB of `root.b`'s guarantee on the nodes without a label.
#[test]
fn the_limit_of_a_user_counts_nodes_without_a_label_alone() {
    let mut queues = two_queues();
    queues[1]["user_limit_factor"] = json!(1);
    let mut host = host(queues);
    let plain = host.node(0, 10 * GB, 64);
    let labelled = host.labelled_node(0, 8 * GB, 64, GPU);
    job(&mut host, 2, "root.b");
    host.ask_facts(gpu(2, 1, 6));
    host.beat(labelled);
    assert_eq!(on(&host, 2, labelled), 6);
    host.ask(2, 0, 9, GB);
    seconds(&mut host, 2);
    // As in the Capacity Scheduler, a user who is not above the limit gets one more.
    assert_eq!(on(&host, 2, plain), 5);
}

#[test]
fn a_label_may_come_after_queues_have_gone() {
    let mut config = setup(two_queues());
    config["config"]["dynamic_queues"] = json!({"expire_ms": 1_000});
    config["config"]["placement"] = json!([{"rule": "specified", "create": true}]);
    let mut host = Host::from_setup(&config);
    host.node(0, 4 * GB, 64);
    host.queue("u", Some("root.brief"));
    job(&mut host, 1, "root.later");
    for _ in 0..2 {
        host.now += 2_000;
        host.request(json!({"op": "expireQueues"}));
    }
    let labelled = host.labelled_node(0, 4 * GB, 64, 8);
    host.ask_facts(AskFacts {
        partition: PartitionId(8),
        ..plain_ask(1, 0, 2, GB)
    });
    assert_eq!(
        host.beat(labelled).len(),
        2,
        "queues share a label that none names"
    );
}

/// One user, who may have half of `root.b`'s guarantee: 3 GB of the label's nodes, 2 GB of the
/// others, and one container more, as in the Capacity Scheduler.
#[test]
fn the_limit_of_a_user_holds_on_the_nodes_of_each_label() {
    let mut queues = two_queues();
    queues[1]["user_limit_factor"] = json!(0.5);
    let mut host = host(queues);
    let plain = host.node(0, 10 * GB, 64);
    let labelled = host.labelled_node(0, 8 * GB, 64, GPU);
    job(&mut host, 2, "root.b");
    host.ask_facts(gpu(2, 1, 2));
    seconds(&mut host, 1);
    assert_eq!(host.headrooms[&2].memory_mb(), GB);
    host.ask_facts(gpu(2, 1, 9));
    seconds(&mut host, 2);
    assert_eq!(on(&host, 2, labelled), 4);
    let explained = host.request(json!({"op": "explain", "job": 2}));
    let reason = &explained["waits"][0]["reason"]["user_limit"];
    let figures = (&reason["used"], &reason["max"]);
    assert_eq!(figures, (&json!(4 * GB), &json!(3 * GB)), "{explained}");
    host.ask(2, 0, 9, GB);
    seconds(&mut host, 2);
    assert_eq!(
        on(&host, 2, plain),
        3,
        "the limit of other nodes is another one"
    );
    assert_eq!(on(&host, 2, labelled), 4);
    let here = host.containers.iter().find(|c| c.2 == labelled);
    let key = here.expect("it has four").1;
    host.complete(2, key);
    seconds(&mut host, 2);
    assert_eq!(
        on(&host, 2, labelled),
        4,
        "room of its own part was given back"
    );
}

/// Two users share what a label guarantees `root.b`, 6 GB, which is also the limit: the first in
/// line has its half and one container more.
#[test]
fn users_share_the_nodes_of_a_label() {
    let mut queues = two_queues();
    queues[1]["user_limit_percent"] = json!(50);
    queues[1]["order"] = json!("fifo");
    let mut host = host(queues);
    host.node(0, 10 * GB, 64);
    let labelled = host.labelled_node(0, 8 * GB, 64, GPU);
    let b = host.queue("u", Some("root.b"));
    for user in [1, 2] {
        host.user_job(user, b, user);
        host.ask(user, 0, 1, GB);
    }
    seconds(&mut host, 1);
    for user in [1, 2] {
        host.ask_facts(gpu(user, 1, 9));
    }
    seconds(&mut host, 1);
    assert_eq!([1, 2].map(|job| on(&host, job, labelled)), [4, 2]);
}
