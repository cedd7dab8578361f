//! Tests the full simulator against calculations by hand, and its own promises: determinism, bytes,
//! replicas, engine invariants under faults.

use heddle_sim::cluster_sim::workload::{self, JobPlan};
use heddle_sim::cluster_sim::{ClusterSim, Hardware, Options, Results, Trouble, Workload};
use serde_json::{Value, json};

fn small() -> Hardware {
    Hardware {
        nodes: 4,
        racks: 2,
        slots: [2, 1],
        rack_bytes_per_s: 10_000_000,
        block_bytes: 50_000_000,
        map_bytes_per_s: 5_000_000,
        copy_bytes_per_s: 20_000_000,
        reduce_bytes_per_s: 10_000_000,
        write_bytes_per_s: 4_000_000,
        overhead_ms: 1_000,
        ..Hardware::default()
    }
}

fn jobs(hardware: Hardware, jobs: Vec<JobPlan>) -> Workload {
    Workload {
        name: "test".to_string(),
        hardware,
        jobs,
        ..Workload::default()
    }
}

fn fifo() -> Value {
    json!({"policy": "fifo"})
}

fn run(workload: Workload, options: Options) -> Results {
    let sim = ClusterSim::new(workload, options).expect("the configuration is good");
    sim.run().expect("every check holds")
}

fn checked(config: Value) -> Options {
    Options {
        check: true,
        ..Options::new("test", config)
    }
}

/// 8 maps of 1 block on 8 slots, 2 reduces. By hand, in ms: maps take 1,000 + 10,000. With slow
/// start 1 the reduces start at 11,000 and are ready at 12,000.
fn lone_job(shuffle_bytes: u64, output_bytes: u64) -> JobPlan {
    JobPlan {
        user: "ann".to_string(),
        tasks: [8, 2],
        input_bytes: 400_000_000,
        shuffle_bytes,
        output_bytes,
        ..JobPlan::default()
    }
}

#[test]
fn a_lone_job_takes_the_time_that_hand_arithmetic_gives() {
    let hardware = Hardware {
        racks: 1,
        ..small()
    };
    let options = Options {
        slow_start_per_mille: 1_000,
        ..checked(fifo())
    };
    let job = lone_job(80_000_000, 16_000_000);
    let results = run(jobs(hardware, vec![job]), options);
    let job = &results.jobs[0];
    // Copy: 40 MB at 20 MB/s; reduce: 40 MB at 10 MB/s; write: 8 MB at 4 MB/s.
    let by_hand = 11_000 + 1_000 + 2_000 + 4_000 + 2_000;
    let took = job.sojourn_ms().expect("it ended");
    // The nodes report one after the other within a heartbeat, twice.
    assert!((by_hand..by_hand + 1_500).contains(&took), "{took}");
    assert_eq!(job.crossed, [0.0; 3]);
    // 8 maps of 11 s, 2 reduces of 9 s.
    assert_eq!(job.slot_ms, [88_000, 18_000]);
    assert!(results.locality()[1] + results.locality()[0] == 8);
}

#[test]
fn slots_for_either_kind_are_no_more_than_the_node_has() {
    for (slots_together, waves) in [(None, 2), (Some(2), 4)] {
        let hardware = Hardware {
            nodes: 1,
            racks: 1,
            slots: [4, 2],
            slots_together,
            ..small()
        };
        let options = Options {
            slow_start_per_mille: 1_000,
            ..checked(fifo())
        };
        let results = run(
            jobs(hardware, vec![lone_job(80_000_000, 16_000_000)]),
            options,
        );
        // 8 maps of 11 s, then both reduces at a time, of 9 s.
        let by_hand = waves * 11_000 + 9_000;
        let took = results.jobs[0].sojourn_ms().expect("it ended");
        // Each wave may begin a heartbeat late.
        let late = (waves + 1) * 1_000;
        assert!((by_hand..by_hand + late).contains(&took), "{took}");
    }
}

#[test]
fn a_full_link_slows_tasks_down_as_hand_arithmetic_says() {
    // One node in each of two racks: half of every fetch crosses.
    let hardware = Hardware {
        nodes: 2,
        racks: 2,
        slots: [4, 1],
        rack_bytes_per_s: 1_000_000,
        ..small()
    };
    let options = Options {
        slow_start_per_mille: 1_000,
        ..checked(fifo())
    };
    let results = run(jobs(hardware, vec![lone_job(80_000_000, 0)]), options);
    let job = &results.jobs[0];
    // 4 maps on each node: 40 MB of output in each rack, half of which goes to the other at 1 MB/s:
    // 20 s instead of 2. Map 11, start 1, copy 20, reduce 4.
    let took = job.sojourn_ms().expect("it ended");
    assert!((36_000..37_500).contains(&took), "{took}");
    assert!((job.crossed[1] - 40e6).abs() < 10.0, "{:?}", job.crossed);
}

#[test]
fn every_byte_of_output_crosses_racks_once() {
    let results = run(
        jobs(small(), vec![lone_job(0, 30_000_000)]),
        checked(fifo()),
    );
    let written = results.jobs[0].crossed[2];
    assert!((written - 30e6).abs() < 1.0, "{written}");
    assert_eq!(results.jobs[0].crossed[1], 0.0);
}

#[test]
fn a_map_far_from_its_block_reads_it_over_the_link() {
    // Three racks of one node each: a block is on two of them, and the third's slots are free.
    let hardware = Hardware {
        nodes: 3,
        racks: 3,
        slots: [1, 1],
        ..small()
    };
    let mut seen = 0;
    for seed in 0..10 {
        let plan = JobPlan {
            user: "ann".to_string(),
            tasks: [3, 0],
            input_bytes: 150_000_000,
            ..JobPlan::default()
        };
        let options = Options {
            seed,
            ..checked(fifo())
        };
        let results = run(jobs(hardware, vec![plan]), options);
        let job = &results.jobs[0];
        let far = f64::from(job.locality[2]);
        assert!((job.crossed[0] - 50e6 * far).abs() < 1.0, "{job:?}");
        // The link carries 10 MB/s, the map reads 5: no slower than at home.
        let took = job.sojourn_ms().expect("it ended");
        assert!((11_000..12_500).contains(&took), "{took}");
        seen += job.locality[2];
    }
    assert!(seen > 0, "no map was far from its block in ten runs");
}

fn mixed(seed: u64) -> Workload {
    let mut workload = workload::shuffle_mix(
        &workload::Mix {
            users: 4,
            jobs_per_user: 5,
            gap_ms: 20_000,
            scale: 0.002,
            ..workload::Mix::default()
        },
        seed,
    );
    workload.hardware.nodes = 8;
    workload.hardware.racks = 3;
    for job in &mut workload.jobs {
        job.tasks[1] = job.tasks[1].min(8);
    }
    workload
}

fn troubled(seed: u64, config: Value) -> Options {
    Options {
        seed,
        trouble: Trouble {
            jitter_per_mille: 300,
            straggler_per_mille: 50,
            straggler_factor: 5,
            failure_per_mille: 20,
            node_loss_ms: Some(60_000),
            node_back_ms: 30_000,
            speculation: true,
        },
        ..checked(config)
    }
}

#[test]
fn the_same_seed_gives_the_same_results_and_another_gives_others() {
    let results = |seed| run(mixed(seed), troubled(seed, json!({"policy": "fair"})));
    assert_eq!(results(3), results(3));
    assert_ne!(results(3).digest, results(4).digest);
}

#[test]
fn invariants_hold_and_jobs_end_whatever_goes_wrong() {
    let mut wasted = [0; 4];
    for (seed, policy) in [(1, "fifo"), (2, "fair"), (3, "fifo"), (4, "fair")] {
        let workload = mixed(seed);
        let count = workload.jobs.len();
        let results = run(workload, troubled(seed, json!({"policy": policy})));
        assert_eq!(results.jobs.len(), count, "seed {seed}");
        for job in &results.jobs {
            assert!(job.finished_ms.is_some(), "seed {seed}: {job:?}");
            // At least the output's replica crosses, and at most everything three times over:
            // failed and second attempts fetch again.
            let all: u64 = job.bytes.iter().sum();
            let crossed: f64 = job.crossed.iter().sum();
            assert!(crossed <= 3.0 * all as f64, "seed {seed}: {job:?}");
            assert!(
                job.failed || crossed + 1.0 >= job.bytes[2] as f64,
                "seed {seed}: {job:?}"
            );
        }
        for (sum, count) in wasted.iter_mut().zip(results.wasted) {
            *sum += count;
        }
    }
    // Every fault occurred, except evictions, which no policy here decides.
    assert!(wasted[1..].iter().all(|count| *count > 0), "{wasted:?}");
}

#[test]
fn a_load_of_others_takes_slots_and_gives_them_back() {
    // Foreign load takes half of 8 map slots for 100 s: 8 maps of 11 s run in two waves, then in
    // one.
    let mut workload = jobs(
        Hardware {
            racks: 1,
            slots: [2, 0],
            ..small()
        },
        Vec::new(),
    );
    workload.foreign.steps = vec![(0, 500), (100_000, 0)];
    for submit_ms in [1_000, 200_000] {
        let plan = JobPlan {
            submit_ms,
            user: "ann".to_string(),
            tasks: [8, 0],
            map_ms: Some(10_000),
            ..JobPlan::default()
        };
        workload.jobs.push(plan);
    }
    let results = run(workload, checked(fifo()));
    let took: Vec<i64> = results
        .jobs
        .iter()
        .filter_map(|job| job.sojourn_ms())
        .collect();
    assert!((22_000..24_500).contains(&took[0]), "{took:?}");
    assert!((11_000..12_500).contains(&took[1]), "{took:?}");
}

/// Figure 5 of ShuffleWatcher: two jobs of one user whose input is replicated on both racks.
/// Earlier schedulers run half of each job on each rack, and half of the shuffle crosses. SAMP
/// gives each job its own rack, and nothing needs to cross.
#[test]
fn shuffle_watcher_gives_each_of_two_jobs_a_rack_where_its_baseline_spreads_both() {
    let hardware = small();
    assert_eq!(
        hardware.racks, 2,
        "with two racks, HDFS puts every block on both"
    );
    let job = || JobPlan {
        user: "ann".to_string(),
        class: "heavy".to_string(),
        // 4 reduce slots: a rack's free slot nearly always finds waiting reduces of both jobs.
        tasks: [160, 32],
        input_bytes: 160 * hardware.block_bytes,
        shuffle_bytes: 320 * hardware.block_bytes,
        profiled: true,
        ..JobPlan::default()
    };
    let under = |place: &str| {
        let stages = json!({"share": "fair", "order": "fifo", "place": place});
        run(
            jobs(hardware, vec![job(), job()]),
            checked(json!({"policy": stages})),
        )
    };
    let (fair, watcher) = (under("local-first"), under("shuffle-watcher"));
    assert_ne!(fair.digest, watcher.digest);
    let shuffled = 2.0 * job().shuffle_bytes as f64;
    let part = |results: &Results| results.crossed()[1] / shuffled;
    let (before, after) = (part(&fair), part(&watcher));
    assert!((0.4..0.6).contains(&before), "half crosses: {before}");
    // Not 0: no slot waits (SW-8), so each job's first and last tasks run wherever one is free.
    assert!(after < 0.5 * before, "{after} against {before}");
}
