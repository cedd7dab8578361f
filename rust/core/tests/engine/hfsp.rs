//! HFSP in the engine: small clusters with tasks of known lengths, driven second by second. Sizes
//! and aging have tests of their own; these show the effect on jobs.

use crate::common::timed::*;
use crate::common::{host_of, plain_ask, rack_place};
use heddle_core::order::hfsp::{Late, Settings, settings};
use heddle_core::words::event::*;
use heddle_core::words::ids::*;
use heddle_core::words::ledger::Entry;
use heddle_core::{Resource, Setup};
use serde_json::{Value, json};

/// HF-26, HF-32 and the preset; an error in the section names its key.
#[test]
fn the_settings_are_the_papers_unless_told_otherwise() {
    let read = |config: Value| Setup::with_config(&config).map(|setup| setup.config);
    let config = read(json!({"policy": "hfsp"})).expect("a good configuration");
    let expected = Settings {
        samples: 5,
        delta_ms: 10_000,
        xi: 1.0,
        training_percent: 100,
        default_task_ms: 60_000,
        late: Late::Fifo,
        weigh_priorities: false,
        slow_start_percent: None,
        kill: false,
    };
    assert_eq!(settings(&config), expected);
    let composition = config.composition;
    let stages = [composition.share, composition.order, composition.place];
    assert_eq!(stages, ["single", "hfsp", "delay"]);
    for (key, value) in [
        ("xi", json!(0.5)),
        ("late", json!("lifo")),
        ("sample", json!(5)),
    ] {
        let error = read(json!({"hfsp": {key: value}})).expect_err("no good value");
        assert_eq!(error.key, format!("hfsp.{key}"));
    }
}

/// HF-1, HF-13: 8 slots. Job 1 of 80 maps of 10 s holds all of them when job 2 of 4 maps comes at
/// 13 s. Nothing is killed: job 2 gets the slots that become free at 20 s and ends at 30 s, when
/// job 1 has completed 8 + 8 + 4 of its maps. 800 + 40 slot-seconds on 8 slots are over at 110 s,
/// because 76 maps in 10 rounds need 10 s more than 105.
#[test]
fn a_small_job_after_a_big_one_ends_first() {
    let mut cluster = Cluster::new(2, json!({}));
    cluster.submit(1, 80, 10);
    cluster.beat();
    cluster.run(13);
    cluster.submit(2, 4, 10);
    assert_eq!(cluster.end_of(2, 100), 30);
    assert_eq!(cluster.end_of(1, 200), 110);
}

/// HF-25 to HF-28: both have 20 maps, so both are estimated at 20 * 60 s and the first to arrive is
/// first. The samples show 40 s and 5 s: 800 s and 100 s, and they change places.
#[test]
fn sizes_are_learnt_from_samples() {
    let mut cluster = Cluster::new(3, json!({}));
    cluster.submit(1, 20, 40);
    cluster.submit(2, 20, 5);
    assert_eq!(cluster.order(0), [1, 2]);
    assert_eq!(cluster.phase(0, 1, "size_ms"), 1_200_000.0);
    cluster.beat();
    // 5 samples each go first; the last two slots are job 1's.
    assert_eq!((cluster.of(1), cluster.of(2)), (7, 5));
    cluster.run(5);
    assert_eq!(cluster.phase(0, 2, "size_ms"), 100_000.0);
    assert_eq!(cluster.phase(0, 2, "trained"), true);
    assert_eq!(cluster.phase(0, 1, "trained"), false);
    assert_eq!(cluster.order(0), [2, 1]);
    // Its 15 other maps use the 5 slots until all are done: at 20 s.
    assert_eq!(cluster.end_of(2, 60), 20);
    cluster.run(20);
    assert_eq!(cluster.phase(0, 1, "size_ms"), 800_000.0);
    // A new job is estimated by the mean of the past: 20 of 5 s and 7 of 40 s.
    cluster.submit(3, 10, 1);
    let size = cluster.phase(0, 3, "size_ms").as_f64().expect("a number");
    assert!((size - 10.0 * 380_000.0 / 27.0).abs() < 1e-6, "{size}");
}

/// HF-31: until its own samples have told, a program's next run is estimated by its last, which
/// another engine saw. 10 maps of 5 s, not of 60 s; its samples then show 20 s. A reload keeps what
/// was learnt, and a claim goes before it.
#[test]
fn the_first_estimate_is_by_the_programs_last_run() {
    let signed = |task_ms: Option<Millis>| JobHints {
        signature: Some(77),
        task_ms: [task_ms, None],
        ..JobHints::default()
    };
    let submit = |cluster: &mut Cluster, job: u32, hints: JobHints, seconds: Millis| {
        cluster.host.job(job, cluster.queue);
        cluster.hint(job, hints);
        cluster.ask(job, MAP, 10, seconds);
    };
    let mut first = Cluster::new(2, json!({}));
    first.host.engine.keep_ledger();
    submit(&mut first, 1, signed(None), 5);
    first.end_of(1, 60);
    first.host.step(&[Event::JobRemoved(JobId(1))]);
    let told = first.host.engine.take_ledger().entries;
    let lesson = ("task-ms/000000000000004d", "[5000.0,null,null]");
    assert_eq!(
        told,
        [Entry::Learnt {
            key: lesson.0.to_string(),
            value: lesson.1.to_string(),
        }]
    );

    let mut next = Cluster::new(2, json!({}));
    let value: Value = serde_json::from_str(lesson.1).expect("JSON");
    let restore = json!({"op": "restoreLessons", "lessons": [[lesson.0, value]]});
    next.host.request(restore);
    let config = json!({"policy": "hfsp", "heartbeat_fill": 1.0});
    next.host.request(json!({"op": "reload", "config": config}));
    submit(&mut next, 1, signed(None), 20);
    submit(&mut next, 2, JobHints::default(), 20);
    submit(&mut next, 3, signed(Some(1_000)), 20);
    let sizes = [1, 2, 3].map(|job| next.phase(0, job, "size_ms"));
    assert_eq!(sizes, [50_000.0, 600_000.0, 10_000.0]);
    assert_eq!(next.phase(0, 1, "trained"), false);
    next.run(41);
    assert_eq!(next.phase(0, 1, "size_ms"), 200_000.0);
}

/// Job 1 needs 40 * 10 s: 100 s alone. Small jobs of 40 s in all come every 10 s and could use
/// every slot for ever: by size alone job 1 would have to wait for the last. In a fair cluster all
/// jobs together never have more than 440 s left, small ones 20 s on average. So there are fewer
/// than 22 of those, job 1 has more than 4 / 23 slots, and less than 40 s left after 2,100 s. Then
/// it is its turn. Jobs that are no larger than their samples would pass it by for ever with t =
/// 100 (HF-27 wants them run at once): the percentage bounds those.
#[test]
fn a_big_job_is_not_starved_by_small_ones() {
    for (percent, tasks, seconds) in [(100, 8, 5), (50, 4, 10)] {
        let mut cluster = Cluster::new(1, json!({"training_percent": percent}));
        cluster.submit(1, 40, 10);
        cluster.run(20);
        let mut job = 2;
        while cluster.host.now < 2_400 * SECOND && !cluster.ended.contains_key(&1) {
            cluster.submit(job, tasks, seconds);
            job += 1;
            cluster.run(10);
        }
        let end = cluster
            .ended
            .get(&1)
            .expect("before the stream of small jobs ends");
        // Small ones still went before it.
        assert!(*end > 150 * SECOND && cluster.ended.len() > 10, "{end}");
    }
}

/// HF-12, HF-14: with job 1 on 8 slots, ten larger jobs arrive at once. Their samples take at most
/// t percent of the slots while job 1 has waiting tasks.
#[test]
fn a_burst_takes_no_more_than_its_percentage_for_training() {
    for (percent, slots) in [(0, 0), (50, 4), (60, 5), (100, 8)] {
        let mut cluster = Cluster::new(2, json!({"training_percent": percent}));
        cluster.submit(1, 100, 7);
        cluster.beat();
        cluster.run(8);
        for job in 2..12 {
            cluster.submit(job, 400, 9);
        }
        let mut most = 0;
        for _ in 0..40 {
            cluster.second();
            let burst: usize = (2..12).map(|job| cluster.of(job)).sum();
            most = most.max(burst);
            assert_eq!(cluster.of(1) + burst, 8, "no slot is idle");
        }
        assert_eq!(most, slots, "{percent} percent");
    }
}

/// HF-11, HF-41: maps and reduces have positions of their own in slots of their own. A job without
/// reduces never appears among reduces, and leaves nothing behind.
#[test]
fn phases_have_their_own_slots_and_a_map_only_job_is_one_phase() {
    let slots = json!({"map_per_node": 3, "reduce_per_node": 1});
    let config = json!({"policy": "hfsp", "heartbeat_fill": 1.0, "slots": slots});
    let mut cluster = Cluster::with(2, config);
    cluster.submit(1, 12, 10);
    cluster.submit(2, 6, 10);
    cluster.beat();
    assert_eq!(cluster.state(0)["slots"], 6);
    assert_eq!(cluster.state(1)["slots"], 2);
    assert_eq!((cluster.order(0), cluster.order(1)), (vec![2, 1], vec![]));
    // Its reduces may be large: job 2 is first among the maps and second among the reduces.
    cluster.ask(2, REDUCE, 9, 10);
    cluster.ask(1, REDUCE, 2, 10);
    assert_eq!(
        (cluster.order(0), cluster.order(1)),
        (vec![2, 1], vec![1, 2])
    );
    cluster.run(200);
    cluster.submit(3, 6, 10);
    cluster.beat();
    cluster.run(10);
    assert_eq!((cluster.of(3), cluster.ended[&3] / SECOND), (0, 210));
    assert!(cluster.order(0).is_empty() && cluster.order(1).is_empty());
}

/// HF-41: two samples are wanted; one fails, and the next task that starts replaces it.
#[test]
fn a_failed_sample_is_replaced() {
    let mut cluster = Cluster::new(1, json!({"samples": 2}));
    cluster.submit(1, 30, 10);
    cluster.beat();
    assert_eq!(
        (cluster.of(1), cluster.state(0)["sampling"].clone()),
        (4, json!(2))
    );
    cluster.host.now += SECOND;
    // The first container is a sample. It fails, and its job asks for one more.
    let (_, job, key, _) = cluster.running.remove(0);
    let event = Event::ContainerCompleted {
        job: JobId(job),
        key,
        exit: 1,
    };
    cluster.host.step(&[event]);
    assert_eq!(cluster.state(0)["sampling"], 1);
    cluster.ask(1, MAP, 27, 4);
    cluster.beat();
    assert_eq!(
        cluster.state(0)["sampling"],
        1,
        "the host has not freed its slot"
    );
    cluster.run(9);
    // The others have ended, one sample among them: 10 s, and a sample is still missing.
    assert_eq!(cluster.phase(0, 1, "trained"), false);
    assert_eq!(cluster.state(0)["sampling"], 1);
    cluster.run(4);
    assert_eq!(cluster.phase(0, 1, "trained"), true);
    // 30 tasks of (10 + 4) / 2 s.
    assert_eq!(cluster.phase(0, 1, "size_ms"), 210_000.0);
}

/// HF-27: of three maps that one heartbeat grants, two are samples. The third is refused and counts
/// as never started: the samples still run.
#[test]
fn a_refused_map_that_is_no_sample_leaves_the_samples_alone() {
    let mut cluster = Cluster::new(1, json!({"samples": 2}));
    cluster.submit(1, 3, 10);
    let grants = cluster.host.beat_unanswered(0);
    assert_eq!(grants.len(), 3);
    cluster.host.refuse(grants[2], Refusal::NoFit);
    assert_eq!(cluster.state(0)["sampling"], 2);
}

/// HF-27: of a job that another ResourceManager had started, the first tasks found are the samples,
/// whether their job has asked before or not.
#[test]
fn recovered_tasks_are_samples_before_their_job_asks() {
    for (found, asked) in [(1, true), (1, false), (2, true), (2, false), (4, false)] {
        let mut cluster = Cluster::new(1, json!({"samples": 2}));
        cluster.host.job(1, cluster.queue);
        if asked {
            cluster.ask(1, MAP, 26, 10);
        }
        for _ in 0..found {
            cluster.host.recovered(1, 0, 1_024, false);
            cluster.host.now += SECOND;
        }
        if !asked {
            cluster.ask(1, MAP, 26, 10);
        }
        assert_eq!(cluster.phase(0, 1, "tasks"), 26 + found);
        let samples = cluster.state(0)["sampling"].clone();
        assert_eq!(samples, found.min(2), "{found} found, asked: {asked}");
        if found > 2 {
            // Not any two: those that were found first.
            let found: Vec<u64> = cluster.host.containers.iter().map(|c| c.1).collect();
            cluster.host.complete(1, found[0]);
            cluster.host.complete(1, found[1]);
            assert_eq!(cluster.phase(0, 1, "trained"), true);
        }
    }
}

/// HF-41, HF-27: three maps are fewer than the samples: all of them are, and go at once.
#[test]
fn a_job_with_fewer_tasks_than_samples_ends_in_training() {
    let mut cluster = Cluster::new(2, json!({}));
    cluster.submit(1, 80, 10);
    cluster.beat();
    cluster.run(13);
    cluster.submit(2, 3, 10);
    assert_eq!(cluster.phase(0, 1, "trained"), true);
    cluster.run(7);
    assert_eq!(
        (cluster.of(2), &cluster.state(0)["sampling"]),
        (3, &json!(3))
    );
    assert_eq!(cluster.end_of(2, 60), 30);
}

/// HF-41: of a task and its copy the first end counts. One of ten maps is slow; at 30 s its copy
/// starts. The copy ends after 10 s, and the application kills the slow one. The next job is
/// estimated by ten maps of 10 s, not by one of 40 s.
#[test]
fn a_speculative_copy_counts_and_what_it_replaces_does_not() {
    let mut cluster = Cluster::new(1, json!({}));
    cluster.submit(1, 10, 10);
    cluster.beat();
    cluster.running[0].0 = 1_000 * SECOND;
    let slow = cluster.running[0].2;
    cluster.run(30);
    assert_eq!(cluster.of(1), 1);
    cluster.ask(1, MAP, 1, 10);
    cluster.run(11);
    assert_eq!(cluster.of(1), 1);
    cluster.host.step(&[Event::ContainerCompleted {
        job: JobId(1),
        key: slow,
        exit: -105,
    }]);
    cluster.submit(2, 5, 1);
    assert_eq!(cluster.phase(0, 2, "size_ms"), 50_000.0);
}

/// HF-41: reduces that may start while maps still train have samples and a size of their own.
#[test]
fn reduces_train_while_maps_still_do() {
    let slots = json!({"map_per_node": 3, "reduce_per_node": 1});
    let hfsp = json!({"samples": 2});
    let config = json!({"policy": "hfsp", "heartbeat_fill": 1.0, "slots": slots, "hfsp": hfsp});
    let mut cluster = Cluster::with(2, config);
    cluster.submit(1, 20, 1_000);
    cluster.ask(1, REDUCE, 6, 10);
    cluster.beat();
    cluster.run(11);
    let trained = [0, 1].map(|pool| cluster.phase(pool, 1, "trained"));
    assert_eq!(trained, [json!(false), json!(true)]);
    assert_eq!(cluster.phase(1, 1, "size_ms"), 60_000.0);
}

/// HF-22, HF-41: one of two nodes with 4 map slots each is drained. Virtually 8 slots work until
/// then and 4 after it, whatever still runs.
#[test]
fn slots_shrink_below_the_running_tasks() {
    let slots = json!({"map_per_node": 4, "reduce_per_node": 0});
    let hfsp = json!({"samples": 0, "default_task_ms": 10_000});
    let config = json!({"policy": "hfsp", "heartbeat_fill": 1.0, "slots": slots, "hfsp": hfsp});
    let mut cluster = Cluster::with(2, config);
    cluster.submit(1, 100, 1_000);
    cluster.beat();
    cluster.run(5);
    assert_eq!(cluster.phase(0, 1, "left_ms"), 960_000.0);
    cluster.host.step(&[Event::NodeChanged(NodeFacts {
        node: NodeId(1),
        host: host_of(1),
        rack: rack_place(0),
        partition: PartitionId(0),
        lends: false,
        schedulable: false,
        capacity: Resource::new(4 * 1_024, 64),
        free: Resource::ZERO,
    })]);
    assert_eq!(cluster.of(1), 8);
    cluster.run(5);
    // The tick sees the change at the latest: up to a second at the old speed.
    let left = cluster.phase(0, 1, "left_ms").as_f64().expect("a number");
    assert!((936_000.0..=940_000.0).contains(&left), "{left}");
    cluster.run(5);
    let later = cluster.phase(0, 1, "left_ms").as_f64().expect("a number");
    assert_eq!(left - later, 20_000.0);
}

/// HF-10: two jobs of 20 maps are estimated at 2 s and soon late. In line, the first has every
/// slot; sharing, both have half. A third job, not late, waits in either case.
#[test]
fn late_jobs_in_line_or_sharing() {
    for (late, first, second) in [("fifo", 8, 0), ("sharing", 4, 4)] {
        let mut cluster = Cluster::new(2, json!({"samples": 0, "late": late}));
        for job in 1..3 {
            cluster.submit(job, 40, 10);
            let task_ms = [Some(100), None];
            cluster.hint(
                job,
                JobHints {
                    task_ms,
                    ..JobHints::default()
                },
            );
        }
        cluster.submit(3, 400, 10);
        // Told after the asks, so the next ask renews the estimate.
        cluster.ask(1, MAP, 39, 10);
        cluster.ask(2, MAP, 39, 10);
        cluster.run(5);
        assert_eq!(cluster.phase(0, 1, "late"), true, "{late}");
        assert_eq!(cluster.phase(0, 2, "late"), true, "{late}");
        cluster.run(20);
        assert_eq!(
            (cluster.of(1), cluster.of(2), cluster.of(3)),
            (first, second, 0),
            "{late}"
        );
    }
}

/// HF-23: equal jobs, one of priority 2, so of weight 4. 10 slots in 5 s are 50 slot-seconds, of
/// which it gets 40. Without weights the other one, which came first, stays in front.
#[test]
fn priorities_may_weigh() {
    for (weigh, left, order) in [(true, 960_000.0, [2, 1]), (false, 975_000.0, [1, 2])] {
        let hfsp = json!({"samples": 0, "default_task_ms": 10_000, "weigh_priorities": weigh});
        let slots = json!({"map_per_node": 5, "reduce_per_node": 0});
        let config = json!({"policy": "hfsp", "slots": slots, "hfsp": hfsp});
        let mut cluster = Cluster::with(2, config);
        cluster.submit(1, 100, 1_000);
        cluster.host.prioritised_job(2, cluster.queue, 2);
        cluster.ask(2, MAP, 100, 1_000);
        cluster.run(5);
        assert_eq!(cluster.phase(0, 2, "left_ms"), left);
        assert_eq!(cluster.order(0), order);
    }
}

/// HF-30 in the engine: 20 reduces, one sample. It shuffles for 3 s; 10 s into its function it has
/// done a tenth: 100 s. The phase is 20 * (3 + 100) s long before the first reduce ends.
#[test]
fn a_long_reduce_tells_its_size_by_its_progress() {
    let mut cluster = Cluster::new(1, json!({"samples": 1}));
    cluster.host.job(1, cluster.queue);
    cluster.ask(1, REDUCE, 20, 1_000);
    cluster.beat();
    cluster.run(13);
    let (_, _, key, _) = cluster.running[0];
    let facts = TaskFacts {
        progress_per_mille: 100,
        input_bytes: 1 << 20,
        executing_since_ms: Some(3 * SECOND),
        ..TaskFacts::default()
    };
    let job = JobId(1);
    cluster.host.step(&[Event::Task { job, key, facts }]);
    assert_eq!(cluster.phase(0, 1, "size_ms"), 20.0 * 103_000.0);
    assert_eq!(cluster.phase(0, 1, "trained"), true);
}

/// HF-13: with the kill variant a job that comes before gets its slots at once. Job 1 holds all 4.
/// Job 2 of 2 maps is smaller: two tasks must go, the latest started. Off by default.
#[test]
fn the_kill_variant_takes_slots_back_for_the_job_in_front() {
    for kill in [false, true] {
        let mut cluster = Cluster::new(1, json!({"kill": kill}));
        cluster.submit(1, 40, 100);
        cluster.beat();
        cluster.run(2);
        cluster.submit(2, 2, 10);
        let told = cluster.host.tick();
        let evicted: Vec<(u32, EvictReason)> = told
            .iter()
            .filter_map(|decision| match decision {
                Decision::Evict { job, reason, .. } => Some((job.0, *reason)),
                _ => None,
            })
            .collect();
        let expected = vec![(1, EvictReason::Displaced); if kill { 2 } else { 0 }];
        assert_eq!(evicted, expected);
    }
}

/// HF-16: with a slow start of 95 percent the reduces of a job of 20 maps wait for 19 of them,
/// though slots are free. Without one, as on YARN, they start when they are asked for.
#[test]
fn slow_start_holds_reduces() {
    for (hfsp, start) in [(json!({}), 0), (json!({"slow_start_percent": 95}), 30)] {
        let mut cluster = Cluster::new(2, hfsp);
        // 8 slots, 20 maps of 10 s: 8, 16, 20 have ended at 10, 20, 30 s.
        cluster.submit(1, 20, 10);
        cluster.ask(1, REDUCE, 2, 50);
        let reduces = |c: &Cluster| c.running.iter().filter(|r| r.3 == REDUCE).count();
        cluster.beat();
        let mut began = None;
        for second in 0..60 {
            if reduces(&cluster) > 0 && began.is_none() {
                began = Some(second);
            }
            cluster.second();
        }
        match start {
            0 => assert!(began.is_some_and(|second| second < 30), "{began:?}"),
            _ => assert_eq!(began, Some(start)),
        }
    }
}

/// A job that is not MapReduce is one phase of opaque containers. Its ApplicationMaster and those
/// of others come before all tasks.
#[test]
fn opaque_jobs_are_one_phase_and_masters_come_first() {
    // A held node would give its next slot to its holder, out of turn.
    let never = json!({"after_ms": 1_000_000});
    let config = json!({"policy": "hfsp", "heartbeat_fill": 1.0, "reservation": never});
    let mut cluster = Cluster::with(1, config);
    cluster.submit(1, 100, 10);
    cluster.beat();
    cluster.host.step(&[Event::JobAdded(JobFacts {
        job: JobId(2),
        queue: cluster.queue,
        user: UserId(1),
        priority: 0,
        mapreduce: false,
        unmanaged_am: false,
        submitted_ms: cluster.host.now,
    })]);
    cluster.lengths.insert((2, 0), 500 * SECOND);
    cluster.left.insert(2, 5);
    cluster.host.ask_facts(AskFacts {
        am: true,
        priority: 0,
        ..plain_ask(2, 0, 1, 1_024)
    });
    cluster.run(10);
    assert_eq!((cluster.of(1), cluster.of(2)), (3, 1));
    assert_eq!(cluster.order(0), [1]);
    cluster.ask(2, 3, 4, 5);
    assert_eq!(cluster.order(0), [2, 1]);
    // Three slots at 20 s, the fourth task at 25 s.
    cluster.run(21);
    assert_eq!(cluster.of(2), 1, "its four tasks have run");
}
