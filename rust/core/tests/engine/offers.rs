//! Tests of immediate grants: a job that asks is served before a node reports, on the hosts of its
//! data first, then on the least used nodes.

use crate::common::{Grant, Host, host_of, plain_ask, row};
use heddle_core::words::event::{AskFacts, Decision, Event};
use heddle_core::words::ids::{JobId, NodeId, PartitionId};
use heddle_core::words::resource::Resource;
use serde_json::{Value, json};

fn host(config: Value, nodes: u32, slots: i64) -> (Host, Vec<u32>) {
    let mut host = Host::new(config);
    let nodes = (0..nodes).map(|rack| host.node(rack, 1_024 * slots, slots));
    let nodes = nodes.collect();
    (host, nodes)
}

/// Sends an ask and an offer in one frame, as hosts do. Returns the nodes of the grants, in order.
fn offered(host: &mut Host, job: u32, events: &[Event]) -> Vec<(u32, u32)> {
    let mut events = events.to_vec();
    events.push(Event::Offer(JobId(job)));
    let decisions = host.step(&events);
    decisions
        .iter()
        .filter_map(|decision| match decision {
            Decision::Grant { job, node, .. } => Some((job.0, node.0)),
            _ => None,
        })
        .collect()
}

fn fifo() -> Value {
    json!({"policy": "fifo", "heartbeat_fill": 1.0})
}

/// The least used node gets the next container; of those that are used alike the one that has been
/// so for longest.
#[test]
fn a_wave_is_granted_at_once_on_nodes_in_turn() {
    let (mut host, nodes) = host(fifo(), 4, 4);
    let queue = host.queue("u", None);
    host.job(0, queue);
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| (0, nodes[i]));
    let granted = offered(&mut host, 0, &[Event::Ask(plain_ask(0, 0, 6, 1_024))]);
    assert_eq!(granted, [a, b, c, d], "a quarter of the room, at first");
    host.now += 1_000;
    let granted = offered(&mut host, 0, &[Event::Ask(plain_ask(0, 0, 9, 1_024))]);
    assert_eq!(granted, [a, b, c, d, a, b, c, d, a]);
    let granted = offered(&mut host, 0, &[Event::Ask(plain_ask(0, 0, 9, 1_024))]);
    assert_eq!(granted, [b, c, d], "the last room");
}

/// Where a report gives one container, offers give one on each node until it has reported; the rest
/// waits for reports.
#[test]
fn bounds_of_reports_hold() {
    let config = json!({"policy": "fifo", "heartbeat_fill": 0.1});
    let (mut host, nodes) = host(config, 4, 8);
    let queue = host.queue("u", None);
    host.job(0, queue);
    let granted = offered(&mut host, 0, &[Event::Ask(plain_ask(0, 0, 6, 1_024))]);
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| (0, nodes[i]));
    assert_eq!(granted, [a, b, c, d]);
    let named = [
        Event::Ask(plain_ask(0, 0, 2, 1_024)),
        row(0, 0, host_of(nodes[2]), 1),
    ];
    assert_eq!(offered(&mut host, 0, &named), []);
    assert_eq!(host.beat_unanswered(nodes[0]).len(), 0, "it has given one");
    assert_eq!(host.beat_unanswered(nodes[2]).len(), 0);
    assert_eq!(offered(&mut host, 0, &named), [c, a]);
    assert_eq!(host.beat_unanswered(nodes[1]).len(), 0, "it has given one");
}

/// Hosts leave out reports of idle nodes. What an offer gave an hour ago limits neither the next
/// offer nor the first report.
#[test]
fn what_an_offer_gave_is_forgotten_where_no_report_comes() {
    for limits in [json!({"containers_max": 1}), json!({"off_switch_max": 1})] {
        let config = json!({"policy": "fifo", "heartbeat": limits});
        let ask = |at| Event::Ask(plain_ask(0, at, 1, 1_024));
        let after = |pause_ms: i64| {
            let (mut host, nodes) = host(config.clone(), 1, 32);
            let queue = host.queue("u", None);
            host.job(0, queue);
            let first = offered(&mut host, 0, &[ask(0)]);
            assert_eq!(first, [(0, nodes[0])], "{limits}");
            host.now += pause_ms;
            host
        };
        for (pause_ms, granted) in [(999, 0), (1_000, 1), (3_600_000, 1)] {
            let mut host = after(pause_ms);
            let offered = offered(&mut host, 0, &[ask(1)]).len();
            assert_eq!(offered, granted, "offered after {pause_ms} ms: {limits}");
            let mut host = after(pause_ms);
            host.step(&[ask(1)]);
            let reported = host.beat_unanswered(0).len();
            assert_eq!(reported, granted, "reported after {pause_ms} ms: {limits}");
        }
    }
}

/// One more each 600 ms is one more each 600 ms: a second counts from its first container.
#[test]
fn offers_of_a_second_count_from_its_first() {
    let config = json!({"policy": "fifo", "heartbeat": {"containers_max": 2}});
    let (mut host, _) = host(config, 1, 32);
    let queue = host.queue("u", None);
    host.job(0, queue);
    let granted = [0, 600, 600, 600].map(|pause_ms| {
        host.now += pause_ms;
        offered(&mut host, 0, &[Event::Ask(plain_ask(0, 0, 1, 1_024))]).len()
    });
    assert_eq!(granted, [1; 4]);
    let ask = Event::Ask(plain_ask(0, 0, 9, 1_024));
    assert_eq!(offered(&mut host, 0, &[ask]), [], "two since 1,200 ms");
}

/// An offer never looks at nodes without room for a container, and at 256 others at most. The next
/// one goes on where it ended.
#[test]
fn room_is_found_among_many_full_nodes() {
    let least = json!({"memory-mb": 1_024, "vcores": 1});
    let setup = json!({"config": fifo(), "minimum_allocation": least});
    let mut host = Host::from_setup(&setup);
    let nodes: Vec<u32> = (0..1_000).map(|rack| host.node(rack, 2_048, 2)).collect();
    let room = |node: u32, memory: i64| Event::Room {
        node: NodeId(node),
        free: Resource::new(memory, 2),
    };
    let full = |memory: i64| {
        let full = nodes.iter().map(|node| room(*node, memory));
        full.collect::<Vec<_>>()
    };
    host.step(&full(1_023));
    let queue = host.queue("u", None);
    host.job(0, queue);
    let ask = |count| Event::Ask(plain_ask(0, 0, count, 1_024));
    let found = offered(&mut host, 0, &[room(900, 1_024), ask(1)]);
    assert_eq!(found, [(0, 900)], "at once");
    let both = [room(63, 1_024), room(64, 1_024), ask(2)];
    assert_eq!(offered(&mut host, 0, &both), [(0, 63), (0, 64)], "at once");
    // All have the same room, the one with the last number a little less, and all too little.
    host.step(&full(2_048));
    host.step(&[room(999, 1_900)]);
    let ask = |memory| {
        let size = Resource::new(memory, 2);
        Event::Ask(AskFacts {
            resource: size,
            ..plain_ask(0, 1, 1, memory)
        })
    };
    let shunned = nodes[..999].iter().map(|node| Event::Blacklist {
        job: JobId(0),
        place: host_of(*node),
        added: true,
    });
    host.step(&shunned.collect::<Vec<_>>());
    for look in 1..4 {
        assert_eq!(offered(&mut host, 0, &[ask(1_900)]), [], "look {look}");
    }
    assert_eq!(offered(&mut host, 0, &[]), [(0, 999)], "in look 4");
}

#[test]
fn hosts_that_were_named_come_first() {
    let (mut host, nodes) = host(json!({"policy": "fair", "heartbeat_fill": 1.0}), 6, 2);
    let queue = host.queue("u", None);
    host.job(0, queue);
    let asked = [
        Event::Ask(plain_ask(0, 0, 2, 1_024)),
        row(0, 0, host_of(nodes[4]), 1),
        row(0, 0, host_of(nodes[2]), 1),
    ];
    let mut granted = offered(&mut host, 0, &asked);
    granted.sort_unstable();
    assert_eq!(granted, [(0, nodes[2]), (0, nodes[4])]);
}

/// A named host without room: the delay of the place stage holds as on reports.
#[test]
fn delays_hold() {
    let (mut host, nodes) = host(json!({"policy": "fair", "heartbeat_fill": 1.0}), 3, 1);
    let queue = host.queue("u", None);
    host.job(0, queue);
    assert_eq!(
        offered(
            &mut host,
            0,
            &[
                Event::Ask(plain_ask(0, 0, 1, 1_024)),
                row(0, 0, host_of(nodes[1]), 1),
            ]
        ),
        [(0, nodes[1])]
    );
    host.job(1, queue);
    let asked = [
        Event::Ask(plain_ask(1, 0, 1, 1_024)),
        row(1, 0, host_of(nodes[1]), 1),
    ];
    assert_eq!(offered(&mut host, 1, &asked), [], "it waits for its host");
    assert_eq!(host.beat(nodes[0]).len(), 0, "as on a report");
}

/// The policy's order decides, whoever asks: the job that came first is served by the other's
/// offer.
#[test]
fn orders_and_limits_hold() {
    let mut config = json!({"policy": "fair", "heartbeat_fill": 1.0});
    config["queues"] = json!([{"path": "root.u", "max_share": {"memory-mb": 2_048, "vcores": 9}}]);
    let (mut host, _) = host(config, 3, 1);
    let queue = host.queue("u", None);
    host.job(0, queue);
    host.ask(0, 0, 1, 1_024);
    host.now += 10;
    host.job(1, queue);
    let granted = offered(&mut host, 1, &[Event::Ask(plain_ask(1, 0, 2, 1_024))]);
    let jobs: Vec<u32> = granted.iter().map(|(job, _)| *job).collect();
    assert_eq!(
        jobs,
        [0, 1],
        "first come first; and no more than the queue may have"
    );
}

#[test]
fn room_that_a_node_has_not_reported_is_told() {
    let (mut host, nodes) = host(fifo(), 1, 2);
    let queue = host.queue("u", None);
    host.job(0, queue);
    let room = |memory: i64, vcores: i64| Event::Room {
        node: NodeId(nodes[0]),
        free: Resource::new(memory, vcores),
    };
    let none = offered(
        &mut host,
        0,
        &[room(0, 0), Event::Ask(plain_ask(0, 0, 1, 1_024))],
    );
    assert_eq!(none, []);
    assert_eq!(offered(&mut host, 0, &[room(2_048, 2)]), [(0, nodes[0])]);
    let ignored = host.step(&[
        Event::Offer(JobId(9)),
        Event::Room {
            node: NodeId(9),
            free: Resource::ZERO,
        },
    ]);
    assert_eq!(ignored, []);
}

/// The work for one offer is bounded; hosts offer again for what is left.
#[test]
fn offers_stop_at_the_bound_and_go_on() {
    let (mut host, _) = host(fifo(), 200, 4);
    let queue = host.queue("u", None);
    host.job(0, queue);
    let mut all = offered(&mut host, 0, &[Event::Ask(plain_ask(0, 0, 800, 1_024))]).len();
    assert_eq!(all, 64, "bounded work");
    for _ in 0..5 {
        all += offered(&mut host, 0, &[]).len();
    }
    assert_eq!(all, 200, "a quarter of the room");
    host.now += 1_000;
    while all < 800 {
        let more = offered(&mut host, 0, &[]).len();
        assert!(more > 0, "{all}");
        all += more;
    }
    assert_eq!(offered(&mut host, 0, &[]), [], "nothing is left");
}

/// Nodes of other labels, which have room for none of its asks, do not keep a job from its own.
#[test]
fn nodes_of_other_labels_are_passed_over() {
    let (mut host, _) = host(fifo(), 20, 4);
    for rack in 20..30 {
        host.lending_node(rack, 4_096, 4, 2);
    }
    let own = host.labelled_node(30, 4_096, 4, 1);
    let queue = host.queue("u", None);
    host.job(0, queue);
    let mut ask = plain_ask(0, 0, 2, 1_024);
    ask.partition = PartitionId(1);
    let granted = offered(&mut host, 0, &[Event::Ask(ask)]);
    assert_eq!(granted, [(0, own), (0, own)]);
}

/// An offer grants the same as reports of the same nodes in the same order, where each gives one.
#[test]
fn an_offer_decides_as_reports_do() {
    for policy in ["fifo", "fair", "hfsp", "fair-original", "shufflewatcher"] {
        let config = json!({"policy": policy, "heartbeat": {"containers_max": 1}});
        let run = |offers: bool| {
            let (mut host, nodes) = host(config.clone(), 8, 4);
            let queues = ["a", "b"].map(|user| host.queue(user, None));
            for job in 0..6 {
                host.job(job, queues[job as usize % 2]);
                host.ask(job, 0, 1, 1_024);
                host.now += 7;
            }
            host.tick();
            if offers {
                return offered(&mut host, 5, &[]);
            }
            let mut granted: Vec<(u32, u32)> = Vec::new();
            for node in nodes {
                let reported: Vec<Grant> = host.beat_unanswered(node);
                granted.extend(reported.iter().map(|grant| (grant.job, grant.node)));
                if granted.iter().any(|(job, _)| *job == 5) {
                    break;
                }
            }
            granted
        };
        assert_eq!(run(true), run(false), "{policy}");
    }
}
