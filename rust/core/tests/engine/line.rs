//! Large asks beside small ones, at limits and on full nodes: in steady state those that are next
//! in line get what they would get if all asks had one size.

mod masters;
mod users;

use crate::common::{Host, plain_ask};
use heddle_core::Resource;
use heddle_core::words::event::AskFacts;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A cluster whose containers end after some rounds of a second, never all at once.
struct Steady {
    host: Host,
    lives: i64,
    ends: BTreeMap<u64, i64>,
    rounds: i64,
}

impl Steady {
    fn new(config: Value, nodes: &[(i64, i64)], lives: i64) -> Steady {
        let mut host = Host::new(config);
        for (memory_mb, vcores) in nodes {
            host.node(0, *memory_mb, *vcores);
        }
        Steady {
            host,
            lives,
            ends: BTreeMap::new(),
            rounds: 0,
        }
    }

    fn job(&mut self, job: u32, queue: &str) {
        let queue = self.host.queue("u", Some(queue));
        self.host.job(job, queue);
    }

    /// An ask of less urgent tasks the larger its number.
    fn ask(&mut self, job: u32, ask: u32, count: u32, (memory_mb, vcores): (i64, i64)) {
        self.host.ask_facts(AskFacts {
            resource: Resource::new(memory_mb, vcores),
            priority: 20 + ask as i32,
            ..plain_ask(job, ask, count, memory_mb)
        });
    }

    fn round(&mut self) {
        self.rounds += 1;
        self.host.now += 1_000;
        for (job, key, ..) in self.host.containers.clone() {
            if self.ends[&key] <= self.rounds {
                self.host.complete(job, key);
            }
        }
        self.host.tick();
        self.host.beat_all();
        for (_, key, ..) in &self.host.containers {
            // Of each ten containers, one ends a round earlier, one a round later and so on.
            let more = (*key as i64 * 7) % 10;
            let end = self.rounds + self.lives + more;
            self.ends.entry(*key).or_insert(end);
        }
    }

    /// The mean use of jobs over many rounds after the cluster has settled.
    fn means<const N: usize>(&mut self, jobs: [u32; N]) -> [Resource; N] {
        (0..10 * self.lives).for_each(|_| self.round());
        let mut sums = [Resource::ZERO; N];
        let rounds = 10 * self.lives;
        for _ in 0..rounds {
            self.round();
            for (sum, job) in sums.iter_mut().zip(jobs) {
                let of = self.host.containers.iter().filter(|it| it.0 == job);
                of.for_each(|it| *sum += it.3);
            }
        }
        sums.map(|sum| sum.divided(rounds))
    }
}

/// What the stock Capacity Scheduler gives: 30 of 32 vcores to the first job.
#[test]
fn the_first_job_of_a_fifo_leaf_keeps_the_limit() {
    let leaf = json!({"path": "root.a", "order": "fifo", "max_share": {"vcores": 32}});
    let mut guaranteed = leaf.clone();
    guaranteed["min_share"] = json!("25%");
    for (share, queues) in [
        ("fair", json!([leaf])),
        (
            "capacity",
            json!([{"path": "root", "compare": "capacity"}, guaranteed, {"path": "root.b"}]),
        ),
    ] {
        let config = json!({"policy": {"share": share, "order": "by-queue", "place": "delay"},
            "share": {"dominant": share == "capacity"}, "heartbeat_fill": 1.0, "queues": queues});
        let mut steady = Steady::new(config, &[(64 * 1024, 32); 4], 5);
        steady.job(1, "a");
        steady.ask(1, 0, 8, (1024, 1));
        steady.ask(1, 1, 100_000, (1024, 2));
        steady.round();
        steady.job(2, "a");
        steady.ask(2, 0, 1, (1024, 1));
        steady.ask(2, 1, 100_000, (1024, 1));
        let [first, second] = steady.means([1, 2]);
        assert!(first.vcores() >= 30, "{share}: {first:?} {second:?}");
    }
}

/// Nodes of 32 GB, three quarters of which are the first queue's; lives of containers in rounds,
/// the size of its asks, and what the stock Capacity Scheduler gives it, in GB.
#[test]
fn a_queue_below_its_share_gets_room_for_large_asks() {
    for (nodes, lives, size_gb, stock_gb) in [(8, 10, 6, 178), (8, 10, 4, 182), (40, 30, 6, 824)] {
        let config = json!({"policy": {"share": "capacity", "order": "by-queue", "place": "delay"},
            "heartbeat_fill": 1.0, "queues": [{"path": "root", "compare": "capacity"},
            {"path": "root.a", "min_share": "75%"}, {"path": "root.b", "min_share": "25%"}]});
        let mut steady = Steady::new(config, &vec![(32 * 1024, 256); nodes], lives);
        // The small ones are checked step by step.
        steady.host.trusted = nodes > 8;
        steady.job(1, "a");
        steady.ask(1, 0, 8, (1024, 1));
        steady.ask(1, 1, 100_000, (size_gb * 1024, 1));
        steady.job(2, "b");
        steady.ask(2, 0, 100_000, (1024, 1));
        let [a, b] = steady.means([1, 2]).map(|it| it.memory_mb() / 1024);
        assert!(a >= stock_gb, "{nodes} nodes, {size_gb} GB: {a} and {b} GB");
    }
}

/// The same in the stock Fair Scheduler's way: 48 of 64 GB are its share.
#[test]
fn weights_hold_for_queues_of_large_asks() {
    let config = json!({"policy": "fair", "heartbeat_fill": 1.0, "queues": [
        {"path": "root.a", "weight": 3}, {"path": "root.b", "weight": 1}]});
    let mut steady = Steady::new(config, &[(8 * 1024, 64); 8], 10);
    steady.job(1, "a");
    steady.ask(1, 0, 8, (1024, 1));
    steady.ask(1, 1, 100_000, (4 * 1024, 1));
    steady.job(2, "b");
    steady.ask(2, 0, 100_000, (1024, 1));
    let [a, b] = steady.means([1, 2]);
    let gb = |it: Resource| it.memory_mb() / 1024;
    assert!(gb(a) >= 42, "{} and {} GB", gb(a), gb(b));
}

/// Below one limit, with equal weights: 16 vcores each.
#[test]
fn the_limit_of_a_queue_above_is_kept_for_the_leaf_that_is_next() {
    let config = json!({"policy": "fair", "heartbeat_fill": 1.0, "queues": [
        {"path": "root.p", "max_share": {"memory-mb": 33 * 1024}}, {"path": "root.p.a"},
        {"path": "root.p.b"}]});
    let mut steady = Steady::new(config, &[(64 * 1024, 64); 4], 5);
    steady.job(1, "p.a");
    steady.ask(1, 0, 100_000, (4 * 1024, 1));
    steady.job(2, "p.b");
    steady.ask(2, 0, 100_000, (1024, 1));
    let [a, b] = steady.means([1, 2]);
    let gb = |it: Resource| it.memory_mb() / 1024;
    assert!(gb(a) >= 14 && gb(b) >= 12, "{} and {} GB", gb(a), gb(b));
}

/// What no running container will give room for is lent again, and so is what is kept for an ask
/// that was withdrawn.
#[test]
fn a_limit_is_kept_for_a_bounded_time() {
    let config = json!({"policy": "fair", "heartbeat_fill": 1.0, "queues": [
        {"path": "root.p", "max_share": {"memory-mb": 8 * 1024}}, {"path": "root.p.a"},
        {"path": "root.p.b"}]});
    let full = || {
        let mut steady = Steady::new(config.clone(), &[(64 * 1024, 64)], 1_000_000);
        steady.job(1, "p.a");
        steady.job(2, "p.b");
        steady.ask(2, 0, 7, (1024, 1));
        steady.round();
        steady.ask(1, 0, 1, (4 * 1024, 1));
        (0..10).for_each(|_| steady.round());
        steady.ask(2, 1, 10, (1024, 1));
        steady.round();
        assert_eq!(steady.host.running(2), 7, "the last GB is kept");
        steady
    };
    let mut steady = full();
    (0..70).for_each(|_| steady.round());
    assert_eq!(steady.host.running(2), 8, "no room comes");
    let mut steady = full();
    steady.ask(1, 0, 0, (4 * 1024, 1));
    steady.round();
    assert_eq!(steady.host.running(2), 8, "it was withdrawn");
    // Larger than the limit.
    let mut steady = full();
    steady.ask(1, 0, 1, (9 * 1024, 1));
    steady.round();
    assert_eq!(steady.host.running(2), 8, "it can never run");
}

/// Numbers from 0 to below what each call names.
fn numbers(seed: u64) -> impl FnMut(i64) -> i64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as i64 % below
    }
}

/// How many cases each search plays: `HEDDLE_LINE_SEEDS`, or `few`.
fn seeds(few: u64) -> u64 {
    let seeds = std::env::var_os("HEDDLE_LINE_SEEDS");
    let seeds = seeds.and_then(|text| text.to_str()?.parse().ok());
    seeds.unwrap_or(few)
}

/// A random tree below one queue: leaves of some weights, some with limits of their own, each with
/// one job of endless asks of one size. `sizes` says which.
struct Tree {
    share: &'static str,
    nodes: Vec<(i64, i64)>,
    queues: Value,
    weights: Vec<i64>,
    sizes: Vec<i64>,
}

impl Tree {
    fn draw(seed: u64) -> Tree {
        let mut draw = numbers(seed);
        let share = ["fair", "capacity", "drf"][draw(3) as usize];
        let nodes = 3 + draw(3);
        let node_gb = 12 * (1 + draw(2));
        let leaves = 2 + draw(2);
        let weights: Vec<i64> = (0..leaves).map(|_| 1 + draw(3)).collect();
        let sizes: Vec<i64> = (0..leaves)
            .map(|_| [1, 2, 3, 4, 6][draw(5) as usize])
            .collect();
        let all: i64 = weights.iter().sum();
        let mut queues = vec![json!({"path": "root.p", "weight": 1})];
        if draw(2) == 0 {
            let gb = nodes * node_gb * (5 + draw(4)) / 10;
            queues[0]["max_share"] = json!({"memory-mb": gb * 1024});
        }
        for (i, weight) in weights.iter().enumerate() {
            let mut queue = json!({"path": format!("root.p.q{i}")});
            match share {
                "capacity" => queue["min_share"] = json!(format!("{}%", 100 * weight / all)),
                _ => queue["weight"] = json!(weight),
            }
            if draw(3) == 0 {
                let gb = (nodes * node_gb * (2 + draw(4)) / 10).max(2 * sizes[i]);
                queue["max_share"] = json!({"memory-mb": gb * 1024});
            }
            queues.push(queue);
        }
        if share == "capacity" {
            queues.push(json!({"path": "root", "compare": "capacity"}));
            queues[0]["compare"] = json!("capacity");
            queues[0]["min_share"] = json!("100%");
        }
        let nodes = vec![(node_gb * 1024, 64); nodes as usize];
        Tree {
            share,
            nodes,
            queues: json!(queues),
            weights,
            sizes,
        }
    }

    /// The memory that each leaf has in the mean, in MB.
    fn play(&self, sizes: &[i64], after_ms: i64) -> Vec<i64> {
        let policy = json!({"share": self.share, "order": "fifo", "place": "local-first"});
        let config = json!({"policy": policy, "heartbeat_fill": 1.0, "queues": self.queues,
            "reservation": {"after_ms": after_ms}});
        let mut steady = Steady::new(config, &self.nodes, 20);
        for (i, gb) in sizes.iter().enumerate() {
            let job = i as u32 + 1;
            steady.job(job, &format!("p.q{i}"));
            steady.ask(job, 0, 1_000_000, (gb * 1024, 1));
        }
        let means = steady.means([1, 2, 3]);
        means
            .iter()
            .map(Resource::memory_mb)
            .take(sizes.len())
            .collect()
    }
}

/// The trees in which a leaf has with mixed sizes less than with one size, by more than 5 % and one
/// container.
fn behind(seeds: u64, after_ms: i64) -> Vec<String> {
    let play = |seed| {
        let tree = Tree::draw(seed);
        let alike = tree.play(&vec![1; tree.sizes.len()], after_ms);
        let mixed = tree.play(&tree.sizes, after_ms);
        let mut leaves = alike.iter().zip(&mixed).zip(&tree.sizes);
        let is_behind = leaves.any(|((alike, mixed), gb)| *mixed < alike * 95 / 100 - gb * 1024);
        is_behind.then(|| {
            format!(
                "seed {seed}: {} nodes {:?}, {}, weights {:?}, {:?} GB: {mixed:?} MB, of one size \
                 {alike:?}",
                tree.share, tree.nodes, tree.queues, tree.weights, tree.sizes
            )
        })
    };
    (1..=seeds).filter_map(play).collect()
}

#[test]
fn no_leaf_falls_behind_because_its_asks_are_larger() {
    let fails = behind(seeds(4), 5_000);
    assert!(fails.is_empty(), "{}", fails.join("\n"));
}
