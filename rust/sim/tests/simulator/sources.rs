//! Runs every preset without each source of facts in turn, and without any. Jobs still end, in
//! about the time that they take with all facts, and slots are not left idle.

use heddle_core::catalogue::PRESETS;
use heddle_sim::cluster_sim::workload::{Foreign, JobPlan};
use heddle_sim::cluster_sim::{ClusterSim, Hardware, Options, Results, Source, Workload};
use heddle_sim::policies;

/// Six nodes in two racks with a thin link between them.
fn hardware() -> Hardware {
    Hardware {
        nodes: 6,
        racks: 2,
        slots: [2, 1],
        rack_bytes_per_s: 20_000_000,
        block_bytes: 50_000_000,
        map_bytes_per_s: 5_000_000,
        copy_bytes_per_s: 20_000_000,
        reduce_bytes_per_s: 10_000_000,
        write_bytes_per_s: 4_000_000,
        overhead_ms: 1_000,
        ..Hardware::default()
    }
}

/// Jobs of three users with every kind of fact: input, goals, profiles, much and little shuffle;
/// beside a foreign load that comes and goes.
fn workload() -> Workload {
    let job = |i: u32| JobPlan {
        submit_ms: i64::from(i) * 15_000,
        user: format!("user{}", i % 3),
        class: format!("program{}", i % 4),
        tasks: [6 + 8 * (i % 3), 1 + i % 3],
        input_bytes: u64::from(6 + 8 * (i % 3)) * 50_000_000,
        shuffle_bytes: 100_000_000 * u64::from(i % 4),
        output_bytes: 20_000_000,
        goal_ms: i.is_multiple_of(2).then_some(180_000),
        profiled: i.is_multiple_of(2),
        ..JobPlan::default()
    };
    Workload {
        name: "sources".to_owned(),
        hardware: hardware(),
        jobs: (0..12).map(job).collect(),
        foreign: Foreign {
            steps: vec![(60_000, 400), (120_000, 0)],
        },
        ..Workload::default()
    }
}

fn run(policy: &str, withheld: &[Source]) -> Results {
    let config = policies::by_name(policy).expect("a preset");
    let options = Options {
        check: true,
        withheld: withheld.to_vec(),
        ..Options::new(policy, config)
    };
    let sim = ClusterSim::new(workload(), options).expect("the configuration is good");
    let results = sim.run();
    results.unwrap_or_else(|failure| panic!("{policy} without {withheld:?}: {failure}"))
}

/// Returns when the last job ended.
fn ended_ms(results: &Results) -> i64 {
    let ends = results.jobs.iter().map(|job| {
        let sojourn_ms = job.sojourn_ms().expect("every job ended");
        job.submitted_ms + sojourn_ms
    });
    ends.max().expect("there are jobs")
}

/// An order by size or goal may lose its benefit without its facts; a scheduler may not lose jobs
/// or leave slots idle. Both bounds are far above chance. They are far below the time of a job that
/// waits for a missing fact: the simulation would not end at all.
#[test]
fn every_preset_goes_on_without_each_source() {
    for preset in PRESETS {
        let told = run(preset.name, &[]);
        assert_eq!(told.finished().count(), 12, "{}", preset.name);
        let each = Source::ALL.iter().map(std::slice::from_ref);
        for withheld in each.chain([&Source::ALL[..]]) {
            let untold = run(preset.name, withheld);
            let what = format!("{} without {withheld:?}", preset.name);
            assert_eq!(untold.finished().count(), 12, "{what}");
            let (before, after) = (ended_ms(&told), ended_ms(&untold));
            assert!(
                after * 2 <= before * 3,
                "{what}: ended at {after} ms instead of {before}"
            );
            let (before, after) = (told.mean_sojourn_s(), untold.mean_sojourn_s());
            assert!(
                after <= 2.0 * before,
                "{what}: jobs took {after:.0} s in the mean instead of {before:.0}"
            );
        }
    }
}

/// Without this test, the one above would pass even if the withheld facts were never sent, or sent
/// nevertheless.
#[test]
fn what_is_withheld_is_what_policies_use() {
    let differs = |policy: &str, source: Source| {
        let starts = |results: &Results| -> Vec<_> {
            results.jobs.iter().map(|job| job.sojourn_ms()).collect()
        };
        starts(&run(policy, &[])) != starts(&run(policy, &[source]))
    };
    assert!(differs("reverse-adaptive", Source::Claims), "goals");
    assert!(
        differs("reverse-adaptive", Source::NodeLoad),
        "load of others"
    );
    for source in Source::ALL {
        assert!(!differs("fifo", source), "fifo needs no {source:?}");
    }
}
