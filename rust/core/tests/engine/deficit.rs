//! The original Fair Scheduler through the engine: needy pools first, weights, boost, limits,
//! weight 0, and the published sequences (FS-26) as heartbeats and ticks.

use crate::common::{Host, plain_ask};
use heddle_core::Decision;
use heddle_core::words::event::{AskFacts, Event, JobFacts, JobHints};
use heddle_core::words::ids::{JobId, QueueId, UserId};
use serde_json::{Value, json};

const REDUCE: i32 = 10;

/// Two nodes with two map and two reduce slots each: the cluster of the published tests.
struct Cluster {
    host: Host,
    /// Ends of running tasks, each with its job and key, for `run`.
    ends: Vec<(i64, u32, u64)>,
}

/// A job's account in the ledger of maps (0) or reduces (1).
#[derive(Debug)]
struct Account {
    deficit: f64,
    share: f64,
    min: f64,
}

impl Cluster {
    fn new(queues: Value, deficit: Value) -> Cluster {
        Cluster::of("fair-original", queues, deficit)
    }

    fn of(policy: &str, queues: Value, deficit: Value) -> Cluster {
        Cluster::with(config(&json!(policy), queues, deficit))
    }

    fn with(config: Value) -> Cluster {
        let mut host = Host::new(config);
        for _ in 0..2 {
            host.node(0, 1 << 20, 1 << 10);
        }
        Cluster {
            host,
            ends: Vec::new(),
        }
    }

    fn submit(&mut self, job: u32, pool: &str, maps: u32) {
        self.submit_as(job, pool, maps, 0, 0);
    }

    fn submit_as(&mut self, job: u32, pool: &str, maps: u32, priority: i32, user: u32) {
        let facts = JobFacts {
            job: JobId(job),
            queue: self.queue(pool),
            user: UserId(user),
            priority,
            mapreduce: true,
            unmanaged_am: true,
            submitted_ms: self.host.now,
        };
        self.host.step(&[Event::JobAdded(facts)]);
        self.host.ask(job, 0, maps, 1024);
    }

    fn queue(&mut self, pool: &str) -> QueueId {
        self.host.queue("u", Some(&format!("root.{pool}")))
    }

    fn ask_reduces(&mut self, job: u32, reduces: u32) {
        self.host.ask_facts(AskFacts {
            priority: REDUCE,
            ..plain_ask(job, 1, reduces, 1024)
        });
    }

    fn advance(&mut self, ms: i64) {
        self.host.now += ms;
        self.tick();
    }

    /// Runs a tick; nothing is ever taken back (FS-2).
    fn tick(&mut self) {
        let decisions = self.host.tick();
        let evicts = |decision: &Decision| matches!(decision, Decision::Evict { .. });
        assert!(!decisions.iter().any(evicts), "{decisions:?}");
    }

    /// Lets both nodes report; returns the jobs that got map slots, then those that got reduce
    /// slots.
    fn assign_both(&mut self) -> [Vec<u32>; 2] {
        let grants: Vec<_> = (0..2).flat_map(|node| self.host.beat(node)).collect();
        [0, 1].map(|ask| {
            let of_ask = grants.iter().filter(|grant| grant.ask == ask);
            of_ask.map(|grant| grant.job).collect()
        })
    }

    fn assign(&mut self) -> Vec<u32> {
        self.assign_both()[0].clone()
    }

    fn account_of(&mut self, job: u32, pool: usize) -> Account {
        let stages = self.host.request(json!({"op": "stages"}));
        let account = &stages["order"]["jobs"][job.to_string()][pool];
        let number = |key: &str| account[key].as_f64().expect("a number");
        Account {
            deficit: number("deficit"),
            share: number("share"),
            min: number("min"),
        }
    }

    #[track_caller]
    fn check(&mut self, what: fn(&Account) -> f64, pool: usize, expected: &[f64]) {
        for (job, expected) in (1..).zip(expected) {
            let account = self.account_of(job, pool);
            let close = (what(&account) - expected).abs() < 1e-6;
            assert!(close, "job {job}: {account:?}, not {expected}");
        }
    }

    #[track_caller]
    fn deficits(&mut self, expected: &[f64]) {
        self.check(|account| account.deficit, 0, expected);
    }

    #[track_caller]
    fn shares(&mut self, expected: &[f64]) {
        self.check(|account| account.share, 0, expected);
    }

    /// Runs tasks of `task_ms` for `run_ms`; ends and starts tasks every 100 ms. Returns the
    /// slot-milliseconds of each job.
    fn run(&mut self, jobs: u32, task_ms: i64, run_ms: i64) -> Vec<i64> {
        let mut had = vec![0; jobs as usize + 1];
        let until = self.host.now + run_ms;
        while self.host.now < until {
            let now = self.host.now;
            let ends = std::mem::take(&mut self.ends).into_iter();
            let (over, going): (Vec<_>, Vec<_>) = ends.partition(|end| end.0 <= now);
            over.iter()
                .for_each(|(_, job, key)| self.host.complete(*job, *key));
            self.ends = going;
            if now % 500 == 0 {
                self.tick();
            }
            let known = self.host.containers.len();
            self.assign_both();
            for (job, key, ..) in &self.host.containers[known..] {
                self.ends.push((now + task_ms, *job, *key));
            }
            for (job, ..) in &self.host.containers {
                had[*job as usize] += 100;
            }
            self.host.now += 100;
        }
        had
    }
}

fn config(policy: &Value, queues: Value, deficit: Value) -> Value {
    json!({
        "policy": policy,
        "slots": {"map_per_node": 2, "reduce_per_node": 2},
        "heartbeat_fill": 1.0,
        "queues": queues,
        "deficit": deficit,
    })
}

fn plain() -> Cluster {
    Cluster::new(json!([]), json!({}))
}

/// FS-26 (a).
#[test]
fn the_largest_deficit_takes_every_free_slot() {
    let mut cluster = plain();
    cluster.submit(1, "default", 10);
    cluster.host.now = 100;
    cluster.submit(2, "default", 10);
    cluster.deficits(&[400.0, 0.0]);
    cluster.shares(&[2.0, 2.0]);
    assert_eq!(cluster.assign(), [1; 4]);
    cluster.advance(200);
    cluster.deficits(&[0.0, 400.0]);
    cluster.host.complete_all(1);
    assert_eq!(cluster.assign(), [2; 4]);
    cluster.advance(50);
    cluster.deficits(&[100.0, 300.0]);
    cluster.host.complete_all(2);
    assert_eq!(cluster.assign(), [2; 4]);
}

/// FS-26 (b): HIGH against NORMAL, and a priority that changes during the run.
#[test]
fn priorities_are_weights() {
    let mut cluster = Cluster::new(json!([]), json!({"hadoop1_priorities": true}));
    cluster.submit(1, "default", 10);
    cluster.submit_as(2, "default", 10, 4, 0);
    cluster.advance(0);
    cluster.shares(&[4.0 / 3.0, 8.0 / 3.0]);
    cluster.advance(100);
    cluster.deficits(&[400.0 / 3.0, 800.0 / 3.0]);
    assert_eq!(cluster.assign(), [2; 4]);
    // From NORMAL to VERY_HIGH: 4 to 2 from the next update on.
    cluster.host.step(&[Event::JobPriority {
        job: JobId(1),
        priority: 5,
    }]);
    cluster.advance(100);
    cluster.deficits(&[800.0 / 3.0, 1600.0 / 3.0 - 400.0]);
    cluster.shares(&[8.0 / 3.0, 4.0 / 3.0]);
}

/// Without Hadoop 1's names, each step of YARN's numbers doubles the weight.
#[test]
fn of_yarns_priorities_the_larger_weighs_more() {
    let mut cluster = plain();
    for (job, priority) in [(1, 0), (2, 1), (3, -1)] {
        cluster.submit_as(job, "default", 10, priority, 0);
    }
    cluster.advance(0);
    cluster.shares(&[8.0 / 7.0, 16.0 / 7.0, 4.0 / 7.0]);
}

/// FS-26 (c), maps and reduces at once: each kind has its own deficits.
#[test]
fn the_needy_go_first_and_kinds_are_apart() {
    let mut cluster = Cluster::new(
        json!([
            {"path": "root.a", "min_maps": 1, "min_reduces": 2},
            {"path": "root.b", "min_maps": 2, "min_reduces": 1},
        ]),
        json!({}),
    );
    cluster.submit(1, "default", 10);
    cluster.ask_reduces(1, 10);
    cluster.advance(200);
    for (job, pool) in [(2, "a"), (3, "b")] {
        cluster.submit(job, pool, 10);
        cluster.ask_reduces(job, 10);
    }
    cluster.advance(100);
    cluster.check(|account| account.min, 0, &[0.0, 1.0, 2.0]);
    cluster.shares(&[1.0, 1.0, 2.0]);
    cluster.deficits(&[900.0, 100.0, 200.0]);
    cluster.check(|account| account.deficit, 1, &[900.0, 200.0, 100.0]);
    assert_eq!(cluster.assign_both(), [[3, 3, 2, 1], [2, 2, 3, 1]]);
}

/// FS-26 (d) to (f).
#[test]
fn guarantees_weights_and_limits_of_pools() {
    let mut cluster = Cluster::new(json!([{"path": "root.a", "min_maps": 2}]), json!({}));
    cluster.submit(1, "default", 10);
    cluster.advance(200);
    cluster.submit(2, "a", 10);
    cluster.advance(100);
    cluster.submit(3, "a", 10);
    cluster.advance(100);
    cluster.check(|account| account.min, 0, &[0.0, 1.0, 1.0]);
    assert_eq!(cluster.assign(), [2, 3, 1, 1]);

    let weights = json!([{"path": "root.a", "weight": 2}, {"path": "root.b", "weight": 0.5}]);
    let mut cluster = Cluster::new(weights, json!({}));
    for (job, pool) in [(1, "a"), (2, "b"), (3, "default")] {
        cluster.submit(job, pool, 10);
    }
    cluster.advance(0);
    cluster.shares(&[16.0 / 7.0, 4.0 / 7.0, 8.0 / 7.0]);

    let limit = json!([{"path": "root.default", "max_running_jobs": 2}]);
    let mut cluster = Cluster::new(limit, json!({}));
    for job in 1..=4 {
        cluster.submit(job, "default", 10);
        cluster.advance(10);
    }
    cluster.shares(&[2.0, 2.0, 0.0, 0.0]);
    assert_eq!(cluster.assign(), [1; 4]);
    cluster.advance(1_000);
    cluster.host.complete_all(1);
    assert_eq!(cluster.assign(), [2; 4]);
}

#[test]
fn weights_hold_over_time() {
    let mut cluster = plain();
    cluster.submit(1, "default", 10_000);
    cluster.submit_as(2, "default", 10_000, 1, 0);
    cluster.submit_as(3, "default", 10_000, -1, 0);
    let had = cluster.run(3, 1_000, 70_000);
    // 1 to 2 to 0.5 of 4 slots for 70 s: 80,000, 160,000, 40,000. At any moment a job may be a
    // round of tasks ahead or behind: 4 slots for a second and the half second of an update.
    for (job, expected) in [(1, 80_000), (2, 160_000), (3, 40_000)] {
        let off = (had[job] - expected).abs();
        assert!(off <= 6_000, "job {job} had {} of {expected}", had[job]);
    }
}

/// FS-24: a short job behind a long one waits for ever in a FIFO queue, but not under fair sharing.
/// Alone, a job has the whole cluster (FS-1).
#[test]
fn a_short_job_does_not_wait_for_a_long_one_to_end() {
    let had_by = |policy: &str| {
        let mut cluster = Cluster::of(policy, json!([]), json!({}));
        cluster.submit(1, "default", 10_000);
        assert_eq!(cluster.run(1, 1_000, 10_000)[1], 40_000);
        cluster.submit(2, "default", 6);
        cluster.run(2, 1_000, 10_000)[2]
    };
    assert_eq!(had_by("fifo"), 0);
    assert_eq!(had_by("fair-original"), 6_000);
}

#[test]
fn a_guarantee_is_met_within_one_task_length() {
    let mut cluster = Cluster::new(json!([{"path": "root.a", "min_maps": 3}]), json!({}));
    cluster.submit(1, "default", 10_000);
    cluster.run(1, 2_000, 10_100);
    cluster.submit(2, "a", 10_000);
    // Less than one task length plus the half second until the next update.
    cluster.run(2, 2_000, 2_500);
    assert!(cluster.host.running(2) >= 3, "{}", cluster.host.running(2));
}

#[test]
fn new_jobs_are_boosted_until_their_time_is_up() {
    let boost = json!({"new_job_boost": {"duration_ms": 60_000}});
    let mut cluster = Cluster::new(json!([]), boost);
    cluster.submit(1, "default", 100);
    cluster.advance(60_000);
    cluster.submit(2, "default", 100);
    cluster.advance(59_999);
    cluster.shares(&[1.0, 3.0]);
    cluster.advance(1);
    cluster.shares(&[2.0, 2.0]);
}

/// `testing.choices.new_from_start`: the time that a job waits for its first task does not count.
#[test]
fn a_job_may_be_new_from_its_first_task_on() {
    let boost = json!({"new_job_boost": {"duration_ms": 60_000}});
    for (from_start, expected) in [(false, [2.0, 2.0]), (true, [1.0, 3.0])] {
        let mut config = config(&json!("fair-original"), json!([]), boost.clone());
        config["testing"] = json!({"choices": {"new_from_start": from_start}});
        let mut cluster = Cluster::with(config);
        cluster.submit(1, "default", 100);
        assert_eq!(cluster.assign(), [1; 4]);
        cluster.advance(60_000);
        cluster.submit(2, "default", 100);
        cluster.advance(60_000);
        cluster.shares(&expected);
        // It starts on a slot of the first job's, and has its time from then on.
        cluster.host.complete_all(1);
        assert!(cluster.assign().contains(&2));
        cluster.advance(59_999);
        cluster.shares(&expected);
        cluster.advance(1);
        cluster.shares(&[2.0, 2.0]);
    }
}

#[test]
fn a_job_runs_no_more_tasks_than_its_limit() {
    let queues = json!([{"path": "root.a", "max_tasks_per_job": 1}]);
    let mut cluster = Cluster::new(queues, json!({"max_tasks_per_job": 3}));
    cluster.submit(1, "default", 10);
    cluster.advance(0);
    assert_eq!(cluster.assign(), [1; 3]);
    // The limit caps the demand, so that no deficit accumulates: 3 of 4 slots are its share.
    cluster.advance(1_000);
    cluster.deficits(&[0.0]);
    cluster.submit(2, "a", 10);
    assert_eq!(cluster.assign(), [2]);
    cluster.host.complete_all(1);
    assert_eq!(cluster.assign(), [1; 3]);
    // Maps at their limit do not block reduces.
    cluster.ask_reduces(1, 10);
    assert_eq!(cluster.assign_both(), [vec![], vec![1; 3]]);
}

#[test]
fn without_weight_there_is_the_minimum_and_what_nobody_else_wants() {
    let queues = json!([{"path": "root.idle", "weight": 0, "min_maps": 1}]);
    let mut cluster = Cluster::new(queues, json!({}));
    cluster.submit(1, "idle", 100);
    cluster.advance(0);
    cluster.shares(&[1.0]);
    assert_eq!(cluster.assign(), [1; 4]);
    cluster.submit(2, "default", 8);
    cluster.host.now = 4_000;
    cluster.host.tick();
    cluster.host.complete_all(1);
    assert_eq!(cluster.assign(), [1, 2, 2, 2]);
    cluster.host.complete_all(2);
    assert_eq!(cluster.assign(), [2; 3]);
    // Two tasks are left; a slot that no other job wants is not wasted.
    cluster.host.complete_all(2);
    assert_eq!(cluster.assign(), [2, 2, 1]);
}

#[test]
fn users_may_run_so_many_jobs() {
    let mut cluster = Cluster::new(json!([]), json!({"user_max_jobs": 1}));
    cluster.submit_as(1, "default", 2, 0, 7);
    cluster.submit_as(2, "default", 10, 0, 7);
    cluster.submit_as(3, "default", 1, 0, 8);
    cluster.advance(0);
    cluster.shares(&[2.0, 0.0, 1.0]);
    assert_eq!(cluster.assign(), [1, 1, 3]);
    cluster.host.step(&[Event::JobRemoved(JobId(1))]);
    cluster.advance(500);
    assert_eq!(cluster.account_of(2, 0).share, 3.0);
}

#[test]
fn reduces_wait_for_a_part_of_the_maps_if_so_configured() {
    let mut cluster = Cluster::new(json!([]), json!({"slow_start": 0.05}));
    cluster.submit(1, "default", 37);
    let tasks = [Some(40), Some(2)];
    cluster.host.step(&[Event::JobHints {
        job: JobId(1),
        hints: JobHints {
            tasks,
            ..JobHints::default()
        },
    }]);
    cluster.ask_reduces(1, 2);
    cluster.advance(0);
    assert_eq!(cluster.assign_both(), [vec![1; 4], vec![]]);
    cluster.check(|account| account.share, 1, &[0.0]);
    // 5 % of 40 are 2.
    let first = cluster.host.containers[0].1;
    cluster.host.complete(1, first);
    assert_eq!(cluster.assign_both(), [vec![1], vec![]]);
    let second = cluster.host.containers[0].1;
    cluster.host.complete(1, second);
    assert_eq!(cluster.assign_both(), [vec![1], vec![1, 1]]);

    // A job without maps has nothing to wait for, and without `slow_start` no job waits.
    let mut cluster = Cluster::new(json!([]), json!({"slow_start": 0.05}));
    cluster.submit(1, "default", 0);
    cluster.ask_reduces(1, 2);
    assert_eq!(cluster.assign_both(), [vec![], vec![1, 1]]);
    let mut cluster = plain();
    cluster.submit(1, "default", 37);
    cluster.ask_reduces(1, 2);
    assert_eq!(cluster.assign_both(), [vec![1; 4], vec![1, 1]]);
}

/// The published variant owes a job of one task half the cluster; ours owes it what it can use.
#[test]
fn unused_shares_are_owed_only_in_the_published_variant() {
    for (cap_demand, shares) in [(false, [2.0, 2.0]), (true, [3.0, 1.0])] {
        let mut cluster = Cluster::new(json!([]), json!({"cap_demand": cap_demand}));
        cluster.submit(1, "default", 10);
        cluster.submit(2, "default", 1);
        cluster.advance(0);
        cluster.shares(&shares);
    }
}

/// FS-23: a group of pools gets at least its own guarantee, whichever of its members want it.
#[test]
fn groups_of_pools_are_guaranteed_their_part_together() {
    let queues = json!([
        {"path": "root.group", "min_maps": 3},
        {"path": "root.group.x", "min_maps": 1},
        {"path": "root.group.y"},
    ]);
    let mut cluster = Cluster::new(queues, json!({}));
    cluster.submit(1, "default", 10);
    cluster.submit(2, "group.x", 1);
    cluster.submit(3, "group.y", 10);
    cluster.advance(0);
    cluster.shares(&[1.0, 1.0, 2.0]);
    cluster.check(|account| account.min, 0, &[0.0, 1.0, 2.0]);
    assert_eq!(cluster.assign(), [2, 3, 3, 1]);
}

/// FS-25: weights change and a job moves while deficits stand.
#[test]
fn deficits_outlive_a_reload_and_a_move() {
    let mut cluster = plain();
    cluster.submit(1, "a", 10);
    cluster.submit(2, "b", 10);
    cluster.advance(0);
    cluster.advance(1_000);
    cluster.deficits(&[2_000.0, 2_000.0]);
    let queues = json!([{"path": "root.b", "weight": 3}]);
    let config = config(&json!("fair-original"), queues, json!({}));
    cluster
        .host
        .request(json!({"op": "reload", "config": config}));
    cluster.deficits(&[2_000.0, 2_000.0]);
    cluster.advance(0);
    cluster.shares(&[1.0, 3.0]);
    let queue = cluster.queue("b");
    cluster.host.step(&[Event::JobMoved {
        job: JobId(1),
        queue,
    }]);
    cluster.advance(1_000);
    cluster.deficits(&[3_000.0, 5_000.0]);
    cluster.shares(&[2.0, 2.0]);
}

/// FS-25: a job without reduces is owed none. One that was killed leaves its share to the others.
#[test]
fn a_map_only_job_is_owed_no_reduces_and_a_killed_one_nothing() {
    let mut cluster = plain();
    cluster.submit(1, "default", 10);
    cluster.submit(2, "default", 10);
    cluster.ask_reduces(2, 10);
    cluster.advance(0);
    cluster.advance(1_000);
    cluster.shares(&[2.0, 2.0]);
    cluster.check(|account| account.share, 1, &[0.0, 4.0]);
    cluster.check(|account| account.deficit, 1, &[0.0, 4_000.0]);
    cluster.host.step(&[Event::JobRemoved(JobId(2))]);
    cluster.advance(500);
    cluster.shares(&[4.0]);
    assert_eq!(cluster.assign_both(), [vec![1; 4], vec![]]);
}

/// Share `fair` divides among queues, and deficits decide inside each.
#[test]
fn inside_a_queue_that_has_a_fair_share_deficits_decide() {
    let order = json!({"order": "deficit"});
    let mut cluster = Cluster::with(config(&order, json!([]), json!({})));
    cluster.submit(1, "a", 100);
    cluster.submit(2, "a", 100);
    cluster.submit(3, "b", 100);
    let had = cluster.run(3, 1_000, 40_000);
    // Half of 4 slots for 40 s to each queue, and half of that to each job of the first.
    for (job, expected) in [(1, 40_000), (2, 40_000), (3, 80_000)] {
        let off = (had[job] - expected).abs();
        assert!(off <= 6_000, "job {job} had {} of {expected}", had[job]);
    }
}

/// Time before the first job is owed to no job, and recovered tasks count.
#[test]
fn time_begins_with_the_first_job() {
    let mut cluster = plain();
    cluster.host.now = 1_000_000_000;
    cluster.submit(1, "default", 10);
    cluster.host.recovered(1, 0, 1024, false);
    cluster.advance(0);
    cluster.deficits(&[0.0]);
    cluster.advance(100);
    cluster.deficits(&[300.0]);
}
