//! Order `by-queue` against the comparators of YARN's schedulers, written here from
//! `docs/develop/stock-fair.md` (6.5, 6.6) and `stock-capacity.md` (7.2). The line is sorted again
//! for every grant, which must go to its first application.

use crate::common::timed::{Cluster, MAP, SECOND};
use crate::common::{Grant, Host, host_of, plain_ask, row};
use heddle_core::words::event::{AskFacts, Event};
use heddle_core::words::ids::{JobId, NodeId, QueueId};
use heddle_core::{Decision, Resource};
use proptest::prelude::*;
use serde_json::json;
use std::cmp::Ordering;

const NODE_MB: i64 = 24 * 1024;
const NODE_VCORES: i64 = 24;
const NODES: u32 = 2;

/// The queue's key `order`, and its `size_weight`.
type Order = (&'static str, bool);

/// An application as the stock schedulers see it.
#[derive(Clone, Copy, Debug)]
struct App {
    job: u32,
    priority: i32,
    submitted_ms: i64,
    size: [i64; 2],
    pending: i64,
    containers: i64,
}

impl App {
    fn used(&self, i: usize) -> f64 {
        (self.size[i] * self.containers) as f64
    }

    fn weight(&self, size_weight: bool) -> f64 {
        let demand_mb = self.size[0] * (self.containers + self.pending);
        if size_weight {
            (demand_mb as f64).ln_1p() / 2f64.ln()
        } else {
            1.0
        }
    }

    /// Shares of the cluster over weight: of the dominant type, then of the other. Vcores dominate
    /// only if their share is strictly greater.
    fn shares(&self, size_weight: bool) -> [f64; 2] {
        let cluster = [NODE_MB, NODE_VCORES].map(|amount| (amount * i64::from(NODES)) as f64);
        let [memory, vcores] = [0, 1].map(|i| self.used(i) / cluster[i]);
        let shares = if vcores > memory {
            [vcores, memory]
        } else {
            [memory, vcores]
        };
        shares.map(|share| share / self.weight(size_weight))
    }
}

/// The stock comparison; the smaller goes first.
fn compare(a: &App, b: &App, (by, size_weight): Order) -> Ordering {
    let by_priority = b.priority.cmp(&a.priority);
    let by_usage = match by {
        "fifo" => by_priority,
        // Heddle's addition: of applications that have nothing yet, priorities count.
        _ if a.containers == 0 && b.containers == 0 => by_priority,
        "fair" => {
            let part = |app: &App| app.used(0) / app.weight(size_weight);
            part(a).total_cmp(&part(b))
        }
        _ => {
            let (a, b) = (a.shares(size_weight), b.shares(size_weight));
            a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
        }
    };
    let by_start = a.submitted_ms.cmp(&b.submitted_ms);
    by_usage.then(by_start).then(a.job.cmp(&b.job))
}

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    Submit {
        priority: i32,
        size: [i64; 2],
        count: u32,
    },
    /// A job asks for other counts.
    Ask {
        job: usize,
        count: u32,
    },
    /// A container ends.
    End(usize),
    Beat(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let submit =
        (-1..2, 1i64..5, 1i64..5, 1u32..12).prop_map(|(priority, memory, vcores, count)| {
            Step::Submit {
                priority,
                size: [memory * 512, vcores],
                count,
            }
        });
    prop_oneof![
        2 => submit,
        1 => (any::<usize>(), 0u32..12).prop_map(|(job, count)| Step::Ask { job, count }),
        3 => any::<usize>().prop_map(Step::End),
        2 => (0..NODES).prop_map(Step::Beat),
    ]
}

struct Line {
    host: Host,
    order: Order,
    queue: QueueId,
    apps: Vec<App>,
    free: Vec<[i64; 2]>,
}

impl Line {
    fn new(order: Order) -> Line {
        let mut host = Host::new(json!({
            "heartbeat_fill": 1.0,
            "policy": {"share": "fair", "order": "by-queue", "place": "local-first"},
            "queues": [{"path": "root.q", "order": order.0, "size_weight": order.1}],
        }));
        for _ in 0..NODES {
            host.node(0, NODE_MB, NODE_VCORES);
        }
        let queue = host.queue("u", Some("root.q"));
        let free = vec![[NODE_MB, NODE_VCORES]; NODES as usize];
        Line {
            host,
            order,
            queue,
            apps: Vec::new(),
            free,
        }
    }

    fn run(&mut self, step: &Step) {
        self.host.now += 1;
        match *step {
            Step::Submit {
                priority,
                size,
                count,
            } => self.submit(priority, size, count),
            Step::Ask { job, count } if !self.apps.is_empty() => {
                let at = job % self.apps.len();
                self.apps[at].pending = i64::from(count);
                self.ask(at);
            }
            Step::End(at) if !self.host.containers.is_empty() => {
                let at = at % self.host.containers.len();
                let (job, key, node, size) = self.host.containers[at];
                self.host.complete(job, key);
                self.apps[job as usize].containers -= 1;
                for i in 0..2 {
                    self.free[node as usize][i] += size[i];
                }
            }
            Step::Beat(node) => self.beat(node),
            _ => {}
        }
    }

    fn submit(&mut self, priority: i32, size: [i64; 2], count: u32) {
        let job = self.apps.len() as u32;
        self.host.prioritised_job(job, self.queue, priority);
        self.apps.push(App {
            job,
            priority,
            submitted_ms: self.host.now,
            size,
            pending: i64::from(count),
            containers: 0,
        });
        self.ask(job as usize);
    }

    fn ask(&mut self, at: usize) {
        let app = self.apps[at];
        self.host.ask_facts(AskFacts {
            resource: Resource::new(app.size[0], app.size[1]),
            ..plain_ask(app.job, 0, app.pending as u32, app.size[0])
        });
    }

    /// The application that is served next on a node: the first in line that wants something, and
    /// that the node has room for.
    fn first(&self, node: usize) -> Option<App> {
        let fits = |app: &&App| (0..2).all(|i| app.size[i] <= self.free[node][i]);
        let apps = self.apps.iter().filter(|app| app.pending > 0).filter(fits);
        apps.min_by(|a, b| compare(a, b, self.order)).copied()
    }

    fn beat(&mut self, node: u32) {
        let at = node as usize;
        for Grant { job, .. } in self.host.beat(node) {
            let first = self.first(at).expect("the model has room for another");
            assert_eq!(job, first.job, "{:?}, of {:?}", self.order, self.apps);
            let app = &mut self.apps[job as usize];
            app.pending -= 1;
            app.containers += 1;
            for i in 0..2 {
                self.free[at][i] -= app.size[i];
            }
        }
        assert_eq!(
            self.first(at).map(|app| app.job),
            None,
            "node {node} keeps room"
        );
    }
}

proptest! {
    #[test]
    fn each_grant_goes_to_the_first_in_line_by_the_stock_comparison(
        by in prop_oneof![Just("fifo"), Just("fair"), Just("drf")],
        size_weight: bool,
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        let mut line = Line::new((by, size_weight));
        for step in &steps {
            line.run(step);
        }
    }
}

/// The applications that get the next containers of 1 GB and one vcore on a node, one by one.
fn next(host: &mut Host, node: u32) -> Vec<u32> {
    host.now += 1;
    host.beat(node).iter().map(|grant| grant.job).collect()
}

#[test]
fn queues_beside_each_other_keep_orders_of_their_own() {
    let mut host = Host::new(json!({
        "policy": {"share": "fair", "order": "by-queue", "place": "local-first"},
        "queues": [
            {"path": "root.line", "order": "fifo"},
            {"path": "root.parts", "order": "fair"},
        ],
    }));
    host.node(0, 12 * 1024, 12);
    for (job, path) in [
        (0, "root.line"),
        (1, "root.line"),
        (2, "root.parts"),
        (3, "root.parts"),
    ] {
        let queue = host.queue("u", Some(path));
        host.job(job, queue);
        host.ask(job, 0, 100, 1024);
    }
    host.tick();
    host.beat(0);
    let running = [0, 1, 2, 3].map(|job| host.running(job));
    assert_eq!(
        running,
        [6, 0, 3, 3],
        "half each; one after the other, or side by side"
    );
}

#[test]
fn one_line_for_all_queues_stands_in_the_order_of_the_root() {
    let config = |order: &str| {
        json!({
            "policy": {"share": "single", "order": "by-queue", "place": "local-first"},
            "queues": [{"path": "root", "order": order}, {"path": "root.a", "order": "fair"}],
        })
    };
    for (order, expected) in [("fifo", [0, 0, 0, 0]), ("fair", [0, 1, 0, 1])] {
        let mut host = Host::new(config(order));
        host.node(0, 4096, 4);
        let queue = host.queue("u", Some("root.a"));
        for job in [0, 1] {
            host.job(job, queue);
            host.ask(job, 0, 100, 1024);
        }
        assert_eq!(next(&mut host, 0), expected, "{order}");
    }
}

#[test]
fn a_queue_that_a_submission_makes_has_the_default_order() {
    for (order, expected) in [("fifo", [0, 0]), ("fair", [0, 1])] {
        let mut host = Host::new(json!({
            "policy": {"share": "fair", "order": "by-queue", "place": "local-first"},
            "queue_defaults": {"order": order},
        }));
        host.node(0, 2048, 2);
        let queue = host.queue("alice", None);
        for job in [0, 1] {
            host.job(job, queue);
            host.ask(job, 0, 100, 1024);
        }
        assert_eq!(next(&mut host, 0), expected, "{order}");
    }
}

#[test]
fn a_container_that_grows_counts_with_its_new_size() {
    let mut host = Host::new(json!({
        "policy": {"share": "fair", "order": "by-queue", "place": "local-first"},
        "queues": [{"path": "root.q", "order": "fair"}],
    }));
    host.node(0, 2 * 1024, 8);
    host.node(0, 1024, 8);
    let queue = host.queue("u", Some("root.q"));
    for job in [0, 1] {
        host.job(job, queue);
        host.ask(job, 0, 100, 1024);
    }
    assert_eq!(next(&mut host, 0), [0, 1]);
    let (_, key, _, _) = host.containers[0];
    let grown = Resource::new(3 * 1024, 1);
    host.step(&[Event::ContainerResized {
        job: JobId(0),
        key,
        resource: grown,
    }]);
    assert_eq!(next(&mut host, 1), [1], "job 0 has three times as much");
}

/// Adds job 0, which asks for 3 GB and a vcore, and job 1, which asks for 1 GB and two.
fn ask_unlike(host: &mut Host, queue: QueueId) {
    for (job, memory_mb, vcores) in [(0, 3 * 1024, 1), (1, 1024, 2)] {
        host.job(job, queue);
        host.ask_facts(AskFacts {
            resource: Resource::new(memory_mb, vcores),
            ..plain_ask(job, 0, 1, memory_mb)
        });
    }
}

#[test]
fn dominant_shares_follow_the_cluster_from_the_next_tick_on() {
    let mut host = Host::new(json!({
        "policy": {"share": "fair", "order": "by-queue", "place": "local-first"},
        "queues": [{"path": "root.q", "order": "drf"}],
    }));
    host.node(0, 10 * 1024, 10);
    let queue = host.queue("u", Some("root.q"));
    ask_unlike(&mut host, queue);
    host.beat(0);
    assert_eq!((host.running(0), host.running(1)), (1, 1));
    // 3/10 of the memory against 2/10 of the vcores: job 1 has less. With 40 GB more memory,
    // 3/50 against 2/10: job 0 has.
    host.labelled_node(0, 40 * 1024, 0, 1);
    host.tick();
    host.ask(0, 0, 1, 1024);
    host.ask(1, 0, 1, 1024);
    assert_eq!(next(&mut host, 0), [0, 1]);
}

/// A ResourceManager that restarts recovers applications before nodes register.
#[test]
fn dominant_shares_count_for_jobs_that_came_before_the_first_node() {
    let mut host = Host::new(json!({
        "policy": {"share": "fair", "order": "by-queue", "place": "local-first"},
        "queues": [{"path": "root.q", "order": "drf"}],
    }));
    let queue = host.queue("u", Some("root.q"));
    ask_unlike(&mut host, queue);
    host.node(0, 10 * 1024, 10);
    host.tick();
    host.beat(0);
    host.ask(0, 0, 1, 1024);
    host.ask(1, 0, 1, 1024);
    // 3/10 of the memory against 2/10 of the vcores.
    assert_eq!(next(&mut host, 0), [1, 0]);
}

/// When a job of two tasks of 10 s ends, in seconds after its submission: beside one that could
/// start nothing for ten minutes, and has then taken all 20 slots for tasks of a minute each.
fn end_of_a_small_job(policy: &str) -> i64 {
    let mut cluster = Cluster::with(5, json!({"policy": policy, "heartbeat_fill": 1.0}));
    let (old, small) = (0, 1);
    cluster.host.job(old, cluster.queue);
    let too_large = AskFacts {
        priority: MAP,
        ..plain_ask(old, MAP as u32, 400, 5 * 1_024)
    };
    cluster.host.ask_facts(too_large);
    cluster.run(600);
    cluster.ask(old, MAP, 400, 60);
    cluster.run(5);
    assert_eq!(cluster.of(old), 20, "{policy}");
    let submitted = cluster.host.now / SECOND;
    cluster.submit(small, 2, 10);
    cluster.end_of(small, 1_500) - submitted
}

/// The default owes nothing for the past, as YARN's Fair Scheduler: a small job waits for one task.
/// The original deficits pay what they owe first.
#[test]
fn what_a_job_could_not_use_is_no_claim_on_later_ones() {
    assert!(end_of_a_small_job("fair") <= 60 + 10 + 2);
    assert!(end_of_a_small_job("fair-original") > 2 * 60);
}

#[test]
fn a_job_behind_another_is_told_what_both_use() {
    // A quarter of the cluster, or three. By size: 1024 / log2(1 + 10240) and
    // 3072 / log2(1 + 5120).
    let cases = [
        ("fair", false, ": it uses 3072 MB, job#2 1024 MB"),
        (
            "fair",
            true,
            ": for its size it uses 249 MB, job#2 76 MB (size_weight)",
        ),
        (
            "drf",
            false,
            ": its dominant share is 75.00 %, that of job#2 25.00 %",
        ),
    ];
    for (order, size_weight, numbers) in cases {
        let mut host = Host::new(json!({
            "policy": {"share": "fair", "order": "by-queue", "place": "local-first"},
            "queue_defaults": {"order": order, "size_weight": size_weight},
        }));
        host.node(0, 4096, 4);
        let queue = host.queue("u", Some("root.q"));
        host.job(1, queue);
        host.ask(1, 0, 1, 3072);
        assert_eq!(next(&mut host, 0), [1]);
        host.job(2, queue);
        host.ask(2, 0, 10, 1024);
        host.ask(1, 0, 2, 1024);
        assert_eq!(next(&mut host, 0), [2]);
        let explained = host.request(json!({"op": "explain", "job": 1}));
        let expected = format!("waits: 9 containers of 1 other job go first, next job#2{numbers}");
        assert_eq!(explained["sentence"], json!(expected), "{order}");
        let remedies = &explained["waits"][0]["remedies"];
        assert_eq!(*remedies, json!([]), "a priority would not help");
    }
}

/// One application with tasks that only some hosts may serve.
#[derive(Clone, Debug)]
struct Bound {
    /// Its tasks that run elsewhere.
    containers: u32,
    hosts: Vec<bool>,
}

const BOUND_HOSTS: usize = 3;

fn bound() -> impl Strategy<Value = Bound> {
    let hosts = prop::collection::vec(prop::bool::weighted(0.4), BOUND_HOSTS);
    (0u32..6, hosts).prop_map(|(containers, hosts)| Bound { containers, hosts })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Tasks that insist on their hosts, for good or for the time being, go by the same order:
    /// each grant on a host goes to the first application that names it.
    #[test]
    fn of_tasks_that_insist_on_a_host_the_first_in_order_is_served(
        apps in prop::collection::vec(bound(), 1..60),
        relax in any::<bool>(),
        turns in prop::collection::vec((0..BOUND_HOSTS, any::<prop::sample::Index>()), 1..30),
    ) {
        let mut host = Host::new(json!({"policy": "by-queue", "heartbeat_fill": 1.0,
            "delay": {"node_wait_ms": 3_600_000}, "queue_defaults": {"order": "fair"}}));
        for _ in 0..BOUND_HOSTS {
            host.node(0, 1 << 20, 1 << 10);
        }
        let elsewhere = host.node(1, 1 << 20, 1 << 10);
        let queue = host.queue("u", None);
        let mut used: Vec<i64> = Vec::new();
        for (job, app) in apps.iter().enumerate() {
            let job = job as u32;
            host.now += 1;
            host.job(job, queue);
            for _ in 0..app.containers {
                host.recovered(job, elsewhere, 1024, false);
            }
            used.push(i64::from(app.containers));
            let named: Vec<u32> = (0..BOUND_HOSTS as u32)
                .filter(|at| app.hosts[*at as usize])
                .collect();
            let mut events = vec![Event::Ask(AskFacts {
                relax,
                ..plain_ask(job, 0, 100, 1024)
            })];
            events.extend(named.iter().map(|at| row(job, 0, host_of(*at), 100)));
            if !named.is_empty() {
                host.step(&events);
            }
        }
        let mut next_key = 1_000;
        for (at, ends) in turns {
            let free = Resource::new(1024, 1);
            let report = Event::Heartbeat { node: NodeId(at as u32), free };
            let decisions = host.step(&[report]);
            let granted = decisions.iter().find_map(|decision| match decision {
                Decision::Grant { job, seq, .. } => Some((*job, *seq)),
                _ => None,
            });
            let names = |job: &usize| apps[*job].hosts[at];
            let first = (0..apps.len()).filter(names).min_by_key(|job| (used[*job], *job));
            prop_assert_eq!(granted.map(|(job, _)| job.0 as usize), first);
            let Some((job, seq)) = granted else { continue };
            next_key += 1;
            host.step(&[Event::Ack { job, seq, key: next_key }]);
            used[job.0 as usize] += 1;
            // Another application loses a container, and comes forward.
            let running: Vec<(u32, u64)> = host.containers.iter().map(|c| (c.0, c.1)).collect();
            if !running.is_empty() {
                let (job, key) = *ends.get(&running);
                host.complete(job, key);
                used[job as usize] -= 1;
            }
        }
    }
}
