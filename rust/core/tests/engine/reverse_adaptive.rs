//! The Reverse-Adaptive order in the engine: goals, foreign load, late and infeasible jobs.
//! Comments derive each job's due; the pure calculations have tests of their own
//! (`reverse_execution`, `reverse_placement`).

use crate::common::{Host, plain_ask};
use heddle_core::words::event::{AskFacts, Event, EvictReason, JobHints};
use heddle_core::words::ids::{JobId, Millis, NodeId, QueueId};
use heddle_core::words::ledger::Entry;
use heddle_core::{Decision, Resource};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Length of all tasks in these tests.
const TASK_MS: Millis = 10_000;

/// A cluster of 5 nodes with 2 map and 1 reduce slots each, and its running tasks.
struct Bench {
    host: Host,
    queue: QueueId,
    /// Start of each container, by job and key.
    started: BTreeMap<(u32, u64), Millis>,
    /// End of the last task of each job.
    ended: BTreeMap<u32, Millis>,
}

/// The comments' arithmetic is the published one, without a margin for whole tasks.
fn section(mut section: Value) -> Value {
    let margin = &mut section["margin_tasks"];
    if margin.is_null() {
        *margin = json!(0);
    }
    json!({
        "policy": "reverse-adaptive",
        "heartbeat_fill": 1.0,
        "slots": {"map_per_node": 2, "reduce_per_node": 1},
        "reverse_adaptive": section,
    })
}

impl Bench {
    fn new(config: Value) -> Bench {
        let mut host = Host::new(config);
        let queue = host.queue("u", None);
        for _ in 0..5 {
            host.node(0, 64 * 1024, 64);
        }
        Bench {
            host,
            queue,
            started: BTreeMap::new(),
            ended: BTreeMap::new(),
        }
    }

    /// Adds a job of `maps` maps, with or without a goal.
    fn job(&mut self, job: u32, maps: u32, deadline_ms: Option<Millis>) {
        self.job_with(
            job,
            maps,
            JobHints {
                deadline_ms,
                task_ms: [Some(TASK_MS), Some(TASK_MS)],
                ..JobHints::default()
            },
        );
    }

    fn job_with(&mut self, job: u32, maps: u32, hints: JobHints) {
        self.host.job(job, self.queue);
        self.host.step(&[Event::JobHints {
            job: JobId(job),
            hints,
        }]);
        self.host.ask(job, 0, maps, 1024);
    }

    /// Lets time pass, and every node report.
    fn beat(&mut self) -> Vec<Decision> {
        let decisions = self.host.tick();
        for node in 0..5 {
            let before = self.host.containers.len();
            self.host.beat(node);
            for (job, key, _, _) in &self.host.containers[before..] {
                self.started.insert((*job, *key), self.host.now);
            }
        }
        decisions
    }

    /// Lets a second pass; finished tasks end.
    fn second(&mut self) {
        self.host.now += 1_000;
        for (job, key, _, _) in self.host.containers.clone() {
            if self.started[&(job, key)] + TASK_MS <= self.host.now {
                self.host.complete(job, key);
                self.ended.insert(job, self.host.now);
            }
        }
        self.beat();
    }

    fn running(&self, jobs: &[u32]) -> Vec<usize> {
        jobs.iter().map(|job| self.host.running(*job)).collect()
    }

    fn load(&mut self, node: u32, foreign_per_mille: u32) {
        self.host.step(&[Event::NodeLoad {
            node: NodeId(node),
            foreign_per_mille,
        }]);
    }
}

/// 10 slots. The far job: 46 tasks, 460 slot-s, of which the 30 s of 10 slots after the near goal
/// hold 300; 160 in 20 s are 8 slots. The near one: 40 slot-s in 20 s are 2. FIFO would give the
/// first all 10.
#[test]
fn the_nearer_goal_gets_the_slots_it_needs_and_no_more() {
    let mut bench = Bench::new(section(json!({})));
    bench.job(1, 46, Some(50_000));
    bench.job(2, 4, Some(20_000));
    bench.beat();
    assert_eq!(bench.running(&[1, 2]), [8, 2]);
    for _ in 0..50 {
        bench.second();
    }
    assert_eq!(bench.ended[&2], 20_000, "two waves of two");
    // Two waves of 8 and three of 10.
    assert_eq!(bench.ended[&1], 50_000);
    assert_eq!(bench.running(&[1, 2]), [0, 0]);
}

/// RA-6: the second run of a program is planned with the lengths of the first, which another engine
/// saw. The slots are those of the test above, where a profile tells the same lengths.
#[test]
fn the_next_engine_plans_a_program_with_the_lengths_of_its_last_run() {
    let signed = |deadline_ms: Millis| JobHints {
        deadline_ms: Some(deadline_ms),
        signature: Some(77),
        ..JobHints::default()
    };
    let mut first = Bench::new(section(json!({})));
    first.host.engine.keep_ledger();
    first.job_with(1, 4, signed(90_000));
    first.beat();
    for _ in 0..90 {
        first.second();
    }
    first.host.step(&[Event::JobRemoved(JobId(1))]);
    let told = first.host.engine.take_ledger().entries;
    let (key, value) = ("task-ms/000000000000004d", "[10000.0,null,null]");
    let lesson = Entry::Learnt {
        key: key.to_string(),
        value: value.to_string(),
    };
    assert_eq!(told, [lesson]);
    let slots = |lessons: Value| {
        let mut next = Bench::new(section(json!({})));
        let request = json!({"op": "restoreLessons", "lessons": lessons});
        next.host.request(request);
        next.job_with(1, 46, signed(50_000));
        next.job_with(2, 4, signed(20_000));
        next.beat();
        next.running(&[1, 2])
    };
    let value: Value = serde_json::from_str(value).expect("JSON");
    assert_eq!(slots(json!([[key, value]])), [8, 2]);
    assert_ne!(slots(json!([])), [8, 2], "unknown tasks count 30 s");
}

/// The load takes 8 of 10 slots from 20 s on. Without it 12 tasks in 40 s need 3 slots. With it
/// there are 200 and 40 slot-s, half of which is needed: 5 of the 10 now. The rest is shared with
/// the job without a goal, so that (a - need) / (12 - need) and b / (b + 16) are alike: 2/9 and
/// 5/21, or 2/7 and 3/19.
#[test]
fn a_foreign_load_that_rises_later_makes_a_job_start_earlier() {
    let run = |settings: Value| {
        let mut bench = Bench::new(section(settings));
        bench.job(1, 100, None);
        bench.job(2, 12, Some(40_000));
        bench.beat();
        bench.running(&[1, 2])
    };
    let rising = json!([[0, 0.0], [20_000, 0.8]]);
    assert_eq!(run(json!({})), [5, 5]);
    assert_eq!(run(json!({"foreign_load": rising})), [3, 7]);
    // The Adaptive Scheduler does not look ahead.
    let adaptive = json!({"foreign_load": rising, "variant": "adaptive"});
    assert_eq!(run(adaptive), [5, 5]);
}

/// The same to the end: s_fit meets the goal, and the blind estimate misses it.
#[test]
fn a_goal_that_the_adaptive_scheduler_misses_is_met() {
    let ended = |variant: &str| {
        let load = json!([[0, 0.0], [20_000, 1.0]]);
        let mut bench = Bench::new(section(json!({"foreign_load": load, "variant": variant})));
        bench.job(1, 100, None);
        bench.job(2, 18, Some(40_000));
        bench.beat();
        for _ in 0..60 {
            bench.second();
        }
        bench.ended.get(&2).copied().filter(|_| {
            let job = bench
                .host
                .engine
                .cluster()
                .job(JobId(2))
                .expect("it is there");
            job.done[0] == 18
        })
    };
    // 18 tasks while there are slots: two waves.
    assert_eq!(ended("reverse"), Some(20_000));
    // 180 slot-s in 40 s look like 5 slots.
    assert_eq!(ended("adaptive"), None, "nothing runs after 20 s");
}

/// The goal needs 400 slot-s in 40 s: all 10 slots.
#[test]
fn a_job_without_a_goal_gets_what_is_left() {
    let mut bench = Bench::new(section(json!({})));
    bench.job(1, 30, None);
    bench.job(2, 40, Some(40_000));
    bench.beat();
    assert_eq!(bench.running(&[1, 2]), [0, 10]);
    for _ in 0..40 {
        bench.second();
    }
    assert_eq!(
        (bench.ended[&2], bench.running(&[1, 2])),
        (40_000, vec![10, 0])
    );
}

/// The job on time needs 8 of 10 slots. The late one, though first, gets 2, and all remaining slots
/// before a job without a goal gets any.
#[test]
fn a_late_job_does_not_displace_one_that_can_still_meet_its_goal() {
    let mut bench = Bench::new(section(json!({})));
    bench.host.now = 5_000;
    bench.job(1, 50, Some(5_000));
    bench.job(2, 32, Some(45_000));
    bench.job(3, 50, None);
    bench.beat();
    assert_eq!(bench.running(&[1, 2, 3]), [2, 8, 0]);
}

/// RA-39: a task longer than the time left cannot meet the goal in any way.
#[test]
fn a_goal_nearer_than_one_task_is_late_already() {
    let mut bench = Bench::new(section(json!({})));
    bench.job(1, 50, Some(TASK_MS - 1));
    bench.job(2, 40, Some(40_000));
    bench.beat();
    assert_eq!(bench.running(&[1, 2]), [0, 10]);
}

/// RA-29. The job without a goal has all slots until another arrives, which is placed on the next
/// tick: 200 slot-s in 39.5 s are 6 slots; (a - 6) / 14 and b / (b + 16) make 8 and 2. That
/// holds for 10 s. Then its 12 tasks yet to start, in 16 s, need 8 slots; both get one more.
#[test]
fn a_placement_holds_until_the_next_control_cycle() {
    let mut bench = Bench::new(section(json!({"control_period_ms": 10_000})));
    bench.job(1, 100, None);
    bench.beat();
    assert_eq!(bench.running(&[1]), [10]);
    bench.job(2, 20, Some(40_000));
    let restart_first_at = |bench: &mut Bench, now| {
        bench.host.now = now;
        bench.host.tick();
        bench.host.complete_all(1);
        bench.beat();
        bench.running(&[1, 2])
    };
    assert_eq!(restart_first_at(&mut bench, 500), [2, 8]);
    assert_eq!(
        restart_first_at(&mut bench, 10_000),
        [2, 8],
        "in force until 10.5 s"
    );
    assert_eq!(restart_first_at(&mut bench, 24_000), [1, 9]);
}

/// 20 tasks of 10 s by 40 s are 5 slots in fluid; with a length kept before the goal there are 30 s
/// and 7 slots. By 25 s they are 8, and with the margin more than all 10. Beyond its need, the job
/// shares with the other so that (a - need) / (20 - need) and b / 40 are alike: 2/15 and 3/40, 1/13
/// and 2/40, 1/12 and 1/40.
#[test]
fn a_margin_is_kept_before_a_goal() {
    let run = |margin: f64, goal_ms| {
        let mut bench = Bench::new(section(json!({"margin_tasks": margin})));
        bench.job(1, 20, Some(goal_ms));
        bench.job(2, 40, Some(10_000_000));
        bench.beat();
        let running = bench.running(&[1]);
        running[0]
    };
    assert_eq!([run(0.0, 40_000), run(1.0, 40_000)], [7, 8]);
    assert_eq!([run(0.0, 25_000), run(1.0, 25_000)], [9, 10]);
}

/// 600 slot-s each in 20 s of 10 slots: both fall short, and equally.
#[test]
fn goals_that_cannot_all_be_met_fall_short_alike() {
    let mut bench = Bench::new(section(json!({})));
    bench.job(1, 60, Some(20_000));
    bench.job(2, 60, Some(20_000));
    bench.beat();
    assert_eq!(bench.running(&[1, 2]), [5, 5]);
}

/// 10 reduces in 5 slots take two waves, so the maps should be done by 20 s: 40 slot-s of 200,
/// which are 2 slots. The other job needs 160, the other 8. Without the reduces one would do.
#[test]
fn time_is_reserved_for_the_reduces() {
    let mut bench = Bench::new(section(json!({})));
    bench.job(1, 16, Some(20_000));
    let hints = JobHints {
        tasks: [Some(4), Some(10)],
        deadline_ms: Some(40_000),
        task_ms: [Some(TASK_MS), Some(TASK_MS)],
        ..JobHints::default()
    };
    bench.job_with(2, 4, hints);
    bench.beat();
    assert_eq!(bench.running(&[1, 2]), [8, 2]);
    // Reduces have slots of their own, as many as they need.
    bench.host.ask_facts(AskFacts {
        priority: 10,
        ..plain_ask(2, 1, 10, 1024)
    });
    bench.beat();
    assert_eq!(bench.running(&[1, 2]), [8, 2 + 5]);
}

/// Profiles say 5 s, but tasks take 10. 32 tasks look like 160 slot-s in 40 s: 4 slots, beside 6
/// for the other job. After 10 s the remainder, at 10 s each, is more: the job gets more slots.
#[test]
fn observed_lengths_replace_the_profile() {
    let mut bench = Bench::new(section(json!({})));
    let hints = JobHints {
        deadline_ms: Some(40_000),
        task_ms: [Some(TASK_MS / 2), None],
        ..JobHints::default()
    };
    bench.job_with(1, 32, hints);
    bench.job(2, 24, Some(40_000));
    bench.beat();
    assert_eq!(bench.running(&[1, 2]), [4, 6]);
    for _ in 0..20 {
        bench.second();
    }
    let running = bench.running(&[1, 2]);
    assert!(running[0] > 4, "{running:?}");
    assert_eq!(running.iter().sum::<usize>(), 10);
}

#[test]
fn observed_load_takes_slots_and_running_tasks_are_waited_for() {
    let mut bench = Bench::new(section(json!({})));
    bench.job(1, 100, None);
    bench.load(0, 1_000);
    bench.load(1, 500);
    bench.beat();
    let on = |bench: &Bench, node| bench.host.containers.iter().filter(|c| c.2 == node).count();
    assert_eq!([0, 1, 2].map(|node| on(&bench, node)), [0, 1, 2]);
    // More load: nothing is stopped, and nothing new starts.
    bench.load(2, 1_000);
    let decisions = bench.beat();
    assert!(
        !decisions
            .iter()
            .any(|d| matches!(d, Decision::Evict { .. })),
        "{decisions:?}"
    );
    assert_eq!(on(&bench, 2), 2);
    for _ in 0..10 {
        bench.second();
    }
    assert_eq!([0, 1, 2].map(|node| on(&bench, node)), [0, 1, 0]);
    bench.load(0, 0);
    bench.beat();
    assert_eq!(on(&bench, 0), 2, "the load has gone");
}

/// A small load on every node takes its true sum of slots: 5 nodes at 20 % of 2 slots are 2 of 10,
/// not one of each.
#[test]
fn fractions_of_slots_add_up_over_the_nodes() {
    let mut bench = Bench::new(section(json!({"foreign_load": [[0, 0.2]]})));
    bench.job(1, 100, None);
    bench.beat();
    assert_eq!(bench.running(&[1]), [8]);
}

#[test]
fn the_newest_tasks_go_where_the_load_takes_their_slots_if_so_configured() {
    let mut bench = Bench::new(section(json!({"evict": true})));
    bench.job(1, 1, None);
    bench.beat();
    let (_, first, node, _) = bench.host.containers[0];
    bench.second();
    bench.job(2, 100, None);
    bench.beat();
    let newer = bench
        .host
        .containers
        .iter()
        .find(|c| c.2 == node && c.0 == 2);
    let newer = newer.expect("the second slot of the node").1;
    bench.load(node, 500);
    let evicted = |decisions: &[Decision]| {
        let key = |decision: &Decision| match decision {
            Decision::Evict { key, reason, .. } => Some((*key, *reason)),
            _ => None,
        };
        decisions.iter().filter_map(key).collect::<Vec<_>>()
    };
    let decisions = bench.beat();
    assert_eq!(
        evicted(&decisions),
        [(newer, EvictReason::Displaced)],
        "not {first}"
    );
    let decisions = bench.beat();
    assert_eq!(evicted(&decisions), [], "nothing twice");
}

/// The near job needs 80 slot-s in 20 s: 4 slots. After that 40 s of 10 slots hold the far job's
/// 400 slot-s, so it needs none now; of 8 slots they hold 320, and 80 in 20 s are 4 slots.
#[test]
fn the_need_grows_when_a_node_is_lost() {
    let run = |lost: bool| {
        let mut bench = Bench::new(section(json!({})));
        if lost {
            bench.host.step(&[Event::NodeRemoved(NodeId(4))]);
        }
        bench.job(1, 8, Some(20_000));
        bench.job(2, 40, Some(60_000));
        bench.job(3, 2_000, None);
        bench.host.tick();
        (0..4 + u32::from(!lost)).for_each(|node| drop(bench.host.beat(node)));
        bench.running(&[1, 2, 3])
    };
    // Beyond the need of 4, (a - 4) / 4, b / 40 and c / (c + 16) grow alike, goals first: to 1/4,
    // 3/40 and 2/18.
    assert_eq!(run(false), [5, 3, 2]);
    assert_eq!(run(true), [4, 4, 0]);
}

/// Without configured slots the room of nodes counts. The job with a goal could use all of it. The
/// master of another gets the first room that is free, or no new job would ever start.
#[test]
fn a_full_cluster_starts_new_masters() {
    let mut host = Host::new(json!({"policy": "reverse-adaptive", "heartbeat_fill": 1.0}));
    let queue = host.queue("u", None);
    let node = host.node(0, 4 * 1024, 64);
    host.job(1, queue);
    host.step(&[Event::JobHints {
        job: JobId(1),
        hints: JobHints {
            deadline_ms: Some(30_000),
            ..JobHints::default()
        },
    }]);
    host.ask(1, 0, 100, 1024);
    host.tick();
    host.beat(node);
    assert_eq!(host.running(1), 4);
    host.job(2, queue);
    host.ask_facts(AskFacts {
        am: true,
        priority: 0,
        ..plain_ask(2, 0, 1, 1024)
    });
    host.now += 500;
    host.tick();
    let key = host.containers[0].1;
    host.complete(1, key);
    host.now += 500;
    host.tick();
    let served: Vec<u32> = host.beat(node).iter().map(|grant| grant.job).collect();
    assert_eq!(served, [2]);
    assert_eq!(host.containers[3].3, Resource::new(1024, 1));
}

#[test]
fn a_reload_keeps_the_placement_and_what_was_learnt() {
    let config = section(json!({"default_task_ms": 1}));
    let mut bench = Bench::new(config.clone());
    let hints = JobHints {
        deadline_ms: Some(90_000),
        ..JobHints::default()
    };
    bench.job_with(1, 64, hints);
    bench.job(2, 500, None);
    bench.beat();
    for _ in 0..10 {
        bench.second();
    }
    let before = bench.running(&[1, 2]);
    // The remainder of 64 tasks of 10 s in 80 s takes slots that tasks of 1 ms would not.
    assert!(before[0] >= 7, "{before:?}");
    bench
        .host
        .request(json!({"op": "reload", "config": config}));
    for _ in 0..10 {
        bench.second();
    }
    let after = bench.running(&[1, 2]);
    assert!(after[0] >= 7, "{before:?} {after:?}");
}

/// Shares between queues come first, goals inside a queue (composition with `fair`).
#[test]
fn goals_decide_inside_a_queue_not_between_queues() {
    let mut config = section(json!({}));
    config["policy"] = json!({
        "share": "fair", "order": "reverse-adaptive", "place": "local-first",
    });
    let mut bench = Bench::new(config);
    let other = bench.host.queue("v", None);
    bench.job(1, 100, None);
    bench.job(2, 100, Some(20_000));
    bench.host.job(3, other);
    bench.host.ask(3, 0, 100, 1024);
    bench.beat();
    assert_eq!(bench.running(&[1, 2, 3]), [0, 5, 5]);
}

/// Hosts report only changes, so observations must outlive the stages.
#[test]
fn what_was_observed_of_nodes_outlives_a_reload() {
    let config = section(json!({}));
    let mut bench = Bench::new(config.clone());
    (0..4).for_each(|node| bench.load(node, 1_000));
    bench
        .host
        .request(json!({"op": "reload", "config": config}));
    bench.job(1, 10, None);
    bench.beat();
    bench.second();
    assert_eq!(bench.running(&[1]), [2], "the fifth node's");
    bench.load(0, 0);
    bench.second();
    assert_eq!(bench.running(&[1]), [4]);
}

/// A user's goal needs 400 slot-s in 40 s: all ten slots. The smaller the part of goals that
/// counts, the more slots are shared with the job without a goal.
#[test]
fn a_user_s_goals_are_believed_up_to_a_part_of_the_slots() {
    let run = |share: f64| {
        let mut bench = Bench::new(section(json!({"goal_share_per_user": share})));
        bench.job(1, 40, Some(40_000));
        bench.job(2, 20, None);
        bench.beat();
        bench.running(&[1, 2])
    };
    assert_eq!(run(1.0), [10, 0], "the paper's");
    let (half, fifth, none) = (run(0.5), run(0.2), run(0.0));
    assert!(half[0] >= 5 && half[1] > 0, "{half:?}");
    assert!(fifth[0] >= 2 && fifth[1] >= half[1], "{fifth:?}");
    assert!(none[1] >= fifth[1], "{none:?}");
}

/// 300 slot-s by 40 s and 100 by 20 s: ten slots from 20 s on do 200 of the first, so both need
/// five until then. With one goal per user only the earlier counts, and the other job stands like
/// the one without a claim.
#[test]
fn only_so_many_goals_of_a_user_are_believed() {
    let run = |goals: u32| {
        let mut bench = Bench::new(section(json!({"goals_per_user": goals})));
        bench.job(1, 30, None);
        bench.job(2, 30, Some(40_000));
        bench.job(3, 10, Some(20_000));
        bench.beat();
        bench.running(&[1, 2, 3])
    };
    assert_eq!(run(2), [0, 5, 5]);
    let running = run(1);
    assert!(running[0] == running[1] && running[0] > 0, "{running:?}");
    assert!(running[2] >= 5, "{running:?}");
}
