//! Nodes held for large asks behind long tasks. The asks are served in a cluster of any size. The
//! loss of others is bounded and shown, and ends when a hold is useless.

use crate::common::{self, Host};
use heddle_core::words::event::Event;
use heddle_core::words::ids::JobId;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SMALL: u32 = 1;
const LARGE: u32 = 2;
/// Length of a task of the small job.
const TASK_MS: i64 = 600_000;

/// Nodes of 4 GB, all taken by tasks of 1 GB of a job that always wants more. On each node one task
/// ends after a quarter of the time, one after half of it, and so on.
struct Busy {
    host: Host,
    nodes: u32,
    ends_ms: BTreeMap<u64, i64>,
}

impl Busy {
    fn new(nodes: u32, config: Value) -> Busy {
        let mut host = Host::new(config);
        let queue = host.queue("small", None);
        host.job(SMALL, queue);
        let mut ends_ms = BTreeMap::new();
        for node in 0..nodes {
            host.node(0, 4096, 64);
            for quarter in 1..=4 {
                let key = host.recovered(SMALL, node, 1024, false);
                ends_ms.insert(key, quarter * TASK_MS / 4 + i64::from(node) * 1_000);
            }
        }
        host.ask(SMALL, 0, 1_000_000, 1024);
        let queue = host.queue("large", None);
        host.job(LARGE, queue);
        Busy {
            host,
            nodes,
            ends_ms,
        }
    }

    /// Runs five seconds: due tasks end, every node reports.
    fn go_on(&mut self) {
        self.host.now += 5_000;
        for (job, key, ..) in self.host.containers.clone() {
            if job == SMALL && self.ends_ms[&key] <= self.host.now {
                self.host.complete(job, key);
            }
        }
        self.host.tick();
        (0..self.nodes).for_each(|node| drop(self.host.beat(node)));
        for (job, key, ..) in &self.host.containers {
            let end_ms = self.host.now + TASK_MS;
            self.ends_ms.entry(*key).or_insert(end_ms);
            assert!(*job == SMALL || *job == LARGE);
        }
    }

    /// Returns the time until that many containers of the large job run, and the maximum of nodes
    /// held at once.
    fn served(&mut self, containers: usize) -> (i64, usize) {
        let (from, mut held) = (self.host.now, 0);
        while self.host.running(LARGE) < containers && self.host.now - from < 10 * TASK_MS {
            self.go_on();
            held = held.max(self.host.engine.held_nodes().count());
        }
        assert_eq!(self.host.running(LARGE), containers, "it starves");
        (self.host.now - from, held)
    }
}

fn full() -> Value {
    json!({"policy": "fair", "heartbeat_fill": 1.0})
}

#[test]
fn a_large_ask_behind_long_tasks_is_served_in_a_cluster_of_any_size() {
    for nodes in [1, 3, 30] {
        let mut busy = Busy::new(nodes, full());
        busy.host.ask(LARGE, 0, 1, 4096);
        let (waited_ms, held) = busy.served(1);
        // By then the last task has left the held node, or nearly so.
        assert!(waited_ms <= 2 * TASK_MS, "{nodes} nodes: {waited_ms} ms");
        assert_eq!(held, 1, "one container waits");
    }
}

#[test]
fn as_many_nodes_are_held_as_containers_wait_up_to_the_bound() {
    // A share too small for any; a twentieth of 40.
    let mut config = full();
    config["queues"] = json!([{"path": "root.large", "weight": 0.02}]);
    let mut busy = Busy::new(40, config.clone());
    busy.host.ask(LARGE, 0, 3, 4096);
    let (_, held) = busy.served(3);
    assert_eq!(held, 2);
    config["reservation"] = json!({"nodes_max": 0.2});
    let mut busy = Busy::new(40, config);
    busy.host.ask(LARGE, 0, 3, 4096);
    let (_, held) = busy.served(3);
    assert_eq!(held, 3);
    // A leaf below its share has no other bound.
    let mut busy = Busy::new(40, full());
    busy.host.ask(LARGE, 0, 3, 4096);
    let (_, held) = busy.served(3);
    assert_eq!(held, 3);
}

#[test]
fn the_room_that_is_held_is_reported_and_goes_to_no_small_ask() {
    let mut busy = Busy::new(1, full());
    busy.host.ask(LARGE, 0, 1, 4096);
    let mut most_mb = 0;
    let mut before = None;
    while busy.host.running(LARGE) == 0 {
        busy.go_on();
        let report = busy.host.request(json!({"op": "queues"}));
        let held_mb = report["cluster"]["held"]["memory-mb"]
            .as_i64()
            .expect("an amount");
        let nodes = report["cluster"]["held_nodes"].as_u64();
        if nodes == Some(1) {
            let running = busy.host.running(SMALL) as i64;
            assert_eq!(held_mb, 4096 - 1024 * running);
            assert!(
                before.is_none_or(|before| running <= before),
                "a small ask got some"
            );
            before = Some(running);
            most_mb = most_mb.max(held_mb);
        } else {
            assert_eq!(held_mb, 0);
            before = None;
        }
    }
    assert!(most_mb >= 2048, "{most_mb} MB");
}

#[test]
fn a_hold_ends_when_it_can_serve_nothing() {
    let mut config = full();
    config["queues"] = json!([{"path": "root.large"}]);
    let limited = {
        let mut config = config.clone();
        config["queues"][0]["max_share"] = json!({"memory-mb": 2048});
        config
    };
    let mut busy = Busy::new(1, config);
    busy.host.ask(LARGE, 0, 1, 4096);
    let held = |busy: &Busy| busy.host.engine.held_nodes().count();
    busy.go_on();
    busy.go_on();
    assert_eq!(held(&busy), 1);
    busy.host
        .request(json!({"op": "reload", "config": limited}));
    busy.host.tick();
    assert_eq!(held(&busy), 0, "the queue's limit does not admit it");
    let mut busy = Busy::new(1, full());
    busy.host.ask(LARGE, 0, 1, 4096);
    busy.go_on();
    busy.go_on();
    assert_eq!(held(&busy), 1);
    busy.host.step(&[Event::Blacklist {
        job: JobId(LARGE),
        place: common::host_of(0),
        added: true,
    }]);
    busy.host.tick();
    assert_eq!(held(&busy), 0, "it does not want the node any more");
}
