//! Limits of ApplicationMasters: of a leaf, of one user there, and of the queue above. Large ones
//! stand in line beside small ones, and new ones come for those that end.

use super::{Steady, numbers, seeds};
use crate::common::plain_ask;
use heddle_core::Resource;
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::JobId;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many jobs of each class wait or run at any time beyond what limits admit.
const WAITING: usize = 4;

/// Jobs that are alike.
#[derive(Clone, Copy, Debug)]
struct Class {
    leaf: &'static str,
    user: u32,
    gb: i64,
    vcores: i64,
    /// The round in which the first come.
    from: usize,
}

/// A cluster whose ApplicationMasters stand at one limit.
#[derive(Debug)]
struct Case {
    share: &'static str,
    nodes: Vec<(i64, i64)>,
    queues: Value,
    classes: Vec<Class>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// Of a leaf where ApplicationMasters start in a line of their own.
    Line,
    /// Of one user there.
    User,
    /// Of a leaf where they stand in line with all other asks.
    Leaf,
    /// Of the queue above.
    Parent,
}

impl Case {
    fn draw(limit: Limit, seed: u64) -> Case {
        let mut draw = numbers(seed);
        let nodes = vec![(32 * 1024, 32); 3 + draw(3) as usize];
        let all_gb = 32 * nodes.len() as i64;
        let leaf = |leaf, user, gb, vcores| Class {
            leaf,
            user,
            gb,
            vcores,
            from: 0,
        };
        let large = leaf("p.a", 0, 3 + draw(4), 1);
        let mut classes = vec![Class {
            vcores: 1 + draw(large.gb),
            ..large
        }];
        if limit == Limit::Parent {
            return Case::of_many_leaves(Class { vcores: 1, ..large });
        }
        for _ in 0..1 + draw(3) {
            classes.push(leaf("p.a", 0, 1 + draw(2), 1));
        }
        if limit == Limit::User {
            classes.push(leaf("p.a", 1, 1, 1));
        }
        // Of two large ones and more.
        let part = (2 * large.gb + draw(8)) as f64 / all_gb as f64;
        let whole = json!({"memory-mb": all_gb * 1024, "vcores": all_gb});
        let stock = json!({"path": "root.p", "compare": "capacity", "min_share": "100%"});
        let root = json!({"path": "root", "compare": "capacity"});
        let (share, queues) = match limit {
            Limit::Line => (
                "capacity",
                json!([root, stock, {"path": "root.p.a",
                "min_share": whole, "max_am_share": part, "user_limit_percent": 100,
                "user_limit_factor": 9}, {"path": "root.p.b"}]),
            ),
            Limit::User => (
                "capacity",
                json!([root, stock, {"path": "root.p.a",
                "min_share": whole, "max_am_share": (3.0 * part).min(0.9),
                "user_limit_percent": 30, "user_limit_factor": 0.6}, {"path": "root.p.b"}]),
            ),
            _ => ("fair", json!([{"path": "root.p.a", "max_am_share": part}])),
        };
        Case {
            share,
            nodes,
            queues,
            classes,
        }
    }

    /// Leaves whose own limits are too small for any, so that each runs one: 12 of 24 GB all
    /// together. The large one's was made first, and so it is next as soon as it has none. It comes
    /// when the others run, which start and so end one after the other: room for it is never free.
    fn of_many_leaves(large: Class) -> Case {
        let leaves = [
            "p.a", "p.b", "p.c", "p.d", "p.e", "p.f", "p.g", "p.h", "p.i", "p.j", "p.k", "p.l",
            "p.m", "p.n",
        ];
        let small = |(from, leaf): (usize, &'static str)| Class {
            leaf,
            gb: 1,
            from,
            ..large
        };
        let others = leaves.into_iter().enumerate().skip(1).map(small);
        let large = Class {
            from: leaves.len(),
            ..large
        };
        let queue = |leaf: &str| json!({"path": format!("root.{leaf}"), "max_am_share": 0.1});
        Case {
            share: "fair",
            nodes: vec![(12 * 1024, 24); 2],
            queues: leaves.iter().map(|leaf| queue(leaf)).collect(),
            classes: [large].into_iter().chain(others).collect(),
        }
    }

    /// By class, how many jobs started over a long time, and the memory that they had in the mean.
    fn play(&self) -> Vec<(i64, i64)> {
        let lives = 20;
        let policy = json!({"share": self.share, "order": "by-queue", "place": "local-first"});
        let config = json!({"policy": policy, "heartbeat_fill": 1.0, "share": {"dominant": true},
            "queues": self.queues});
        let mut cluster = Cluster {
            steady: Steady::new(config, &self.nodes, lives),
            classes: self.classes.clone(),
            jobs: BTreeMap::new(),
            next: 0,
            rounds: 0,
        };
        (0..5 * lives).for_each(|_| drop(cluster.round()));
        let mut sums = vec![(0, 0); self.classes.len()];
        let rounds = 20 * lives;
        for _ in 0..rounds {
            for (sum, (ended, memory_mb)) in sums.iter_mut().zip(cluster.round()) {
                *sum = (sum.0 + ended, sum.1 + memory_mb);
            }
        }
        sums.into_iter()
            .map(|sum| (sum.0, sum.1 / rounds))
            .collect()
    }

    /// What is wrong with the large ones: in line with others of their user they start as often as
    /// those, give or take a fifth: within the time each starts some twenty times.
    fn fault(&self) -> Option<String> {
        let mixed = self.play();
        let small = self.classes.iter().zip(&mixed).skip(1);
        let mut small = small.filter(|(class, _)| class.user == 0);
        let behind = small.any(|(_, small)| mixed[0].0 < small.0 * 4 / 5 - 1);
        behind.then(|| format!("{self:?}: started and MB {mixed:?}"))
    }
}

/// A case in motion.
struct Cluster {
    steady: Steady,
    classes: Vec<Class>,
    /// The class of each job.
    jobs: BTreeMap<u32, usize>,
    next: u32,
    rounds: usize,
}

impl Cluster {
    /// By class, how many jobs ended in this round, and the memory of those that run.
    fn round(&mut self) -> Vec<(i64, i64)> {
        let runs = |steady: &Steady| -> BTreeMap<u32, Resource> {
            steady
                .host
                .containers
                .iter()
                .map(|it| (it.0, it.3))
                .collect()
        };
        let before = runs(&self.steady);
        self.submit(&before);
        self.rounds += 1;
        self.steady.round();
        let after = runs(&self.steady);
        let mut sums = vec![(0, 0); self.classes.len()];
        for (job, size) in &after {
            sums[self.jobs[job]].1 += size.memory_mb();
        }
        for job in before.keys().filter(|job| !after.contains_key(job)) {
            self.steady.host.step(&[Event::JobRemoved(JobId(*job))]);
            let class = self.jobs.remove(job).expect("it has run");
            sums[class].0 += 1;
        }
        sums
    }

    /// Submits jobs of each class in turn until enough of each wait.
    fn submit(&mut self, running: &BTreeMap<u32, Resource>) {
        let classes = self.classes.clone().into_iter().enumerate();
        for (i, class) in classes.filter(|(_, class)| class.from <= self.rounds) {
            let waits = |(job, of): &(&u32, &usize)| **of == i && !running.contains_key(job);
            let waiting = self.jobs.iter().filter(waits).count();
            for _ in waiting..WAITING {
                let host = &mut self.steady.host;
                let queue = host.queue("u", Some(class.leaf));
                host.user_job(self.next, queue, class.user);
                host.ask_facts(AskFacts {
                    am: true,
                    priority: 0,
                    resource: Resource::new(class.gb * 1024, class.vcores),
                    ..plain_ask(self.next, 0, 1, 0)
                });
                self.jobs.insert(self.next, i);
                self.next += 1;
            }
        }
    }
}

fn no_large_one_falls_behind(limit: Limit) {
    let fault = |seed| Some(format!("seed {seed}: {}", Case::draw(limit, seed).fault()?));
    let faults: Vec<String> = (1..=seeds(4)).filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_limit_of_a_line_is_kept_for_the_first() {
    no_large_one_falls_behind(Limit::Line);
}

#[test]
fn the_limit_of_a_user_is_kept_for_the_first() {
    no_large_one_falls_behind(Limit::User);
}

#[test]
fn the_limit_of_a_leaf_is_kept_for_the_next() {
    no_large_one_falls_behind(Limit::Leaf);
}

#[test]
fn the_limit_of_a_queue_above_is_kept_for_the_leaf_that_is_next() {
    no_large_one_falls_behind(Limit::Parent);
}
