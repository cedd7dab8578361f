//! ShuffleWatcher in the engine: which task a node gets. It depends on the state of its link and on
//! the places of the job's input and map output. The arithmetic has tests of its own.

use crate::common::racks::*;
use crate::common::{Host, plain_ask};
use heddle_core::place::shuffle_watcher::traffic::{PerRack, crossing};
use heddle_core::words::event::{AskFacts, Event, JobHints, TaskFacts};
use heddle_core::words::ids::*;
use heddle_core::words::ledger::Entry;
use serde_json::json;

/// SW-19, Figure 5: two jobs whose input is on both racks. A node of the second job's rack reports
/// first and takes that job's maps, though the other job came first.
#[test]
fn each_of_two_jobs_maps_on_a_rack_of_its_own() {
    let mut host = cluster(2, 4, json!({}));
    for id in [1, 2] {
        job(&mut host, id, "ann", JobHints::default());
        blocks(&mut host, id, &[(4, &[0, 1])]);
        maps(&mut host, id, 4, &[0, 1]);
    }
    assert_eq!(
        (preferred(&mut host, 1), preferred(&mut host, 2)),
        (vec![0], vec![1])
    );
    assert_eq!(what(&host.beat(1)), [(2, MAP); 4]);
    assert_eq!(what(&host.beat(0)), [(1, MAP); 4]);
}

/// The same from the rows of the asks alone, without any known block.
#[test]
fn rows_stand_in_for_blocks() {
    let mut host = cluster(2, 4, json!({}));
    for id in [1, 2] {
        job(&mut host, id, "ann", JobHints::default());
        maps(&mut host, id, 4, &[0, 1]);
    }
    assert_eq!(
        (preferred(&mut host, 1), preferred(&mut host, 2)),
        (vec![0], vec![1])
    );
    assert_eq!(what(&host.beat(1)), [(2, MAP); 4]);
}

/// SW-19: only outstanding input counts for ties. Once the first job's maps have read, its rack is
/// as good as the other again, and the name decides.
#[test]
fn input_that_was_read_does_not_count_for_ties() {
    let mut host = cluster(2, 4, json!({}));
    for id in [1, 2, 3] {
        job(&mut host, id, "ann", JobHints::default());
    }
    blocks(&mut host, 1, &[(4, &[0, 1])]);
    maps(&mut host, 1, 4, &[0, 1]);
    host.beat(0);
    host.complete_all(1);
    blocks(&mut host, 2, &[(4, &[0, 1])]);
    assert_eq!(preferred(&mut host, 2), [0]);
    host.step(&[Event::JobRemoved(JobId(2))]);
    blocks(&mut host, 3, &[(4, &[0, 1])]);
    assert_eq!(
        preferred(&mut host, 3),
        [0],
        "a job that left has nothing outstanding"
    );
}

/// SW-3: SAMP plans a job once. Job 3 makes rack 0 the worse one for a job of today, which job 4
/// shows, and job 1 stays there.
#[test]
fn a_job_is_planned_once() {
    let mut host = cluster(2, 4, json!({}));
    for (id, count, rack) in [(1, 4, 0), (2, 4, 1), (3, 8, 0), (4, 4, 1)] {
        job(&mut host, id, "ann", JobHints::default());
        blocks(&mut host, id, &[(count, &[0, 1])]);
        maps(&mut host, id, count, &[0, 1]);
        assert_eq!(preferred(&mut host, id), [rack]);
    }
    assert_eq!(preferred(&mut host, 1), [0]);
}

/// SW-43 and SW-18: 60 GB on one rack, 40 on the other, ratio 2. 40 read remotely beat 100
/// shuffled, so the maps with data on rack 1 prefer rack 0 as well.
#[test]
fn remote_maps_are_preferred_where_they_save_more_shuffle() {
    let mut host = cluster(2, 4, json!({}));
    job(&mut host, 1, "ann", ratio(HEAVY));
    blocks(&mut host, 1, &[(60, &[0]), (40, &[1])]);
    maps(&mut host, 1, 4, &[1]);
    job(&mut host, 2, "ann", ratio(HEAVY));
    maps(&mut host, 2, 4, &[0]);
    assert_eq!(preferred(&mut host, 1), [0]);
    // Job 2 prefers rack 0 too, has its data there, and came later.
    assert_eq!(preferred(&mut host, 2), [0]);
    assert_eq!(what(&host.beat(0)), [(1, MAP); 4]);
}

/// SW-5 and SW-6, by the link of the rack that asks. SW-14: above 80 % it is saturated, or above
/// what is configured.
#[test]
fn the_state_of_the_link_turns_maps_and_reduces_around() {
    let saturated = [(2, MAP), (1, REDUCE), (3, REDUCE)];
    let not = [(3, REDUCE), (1, REDUCE), (2, MAP)];
    for (settings, percent, first) in [
        (json!({}), 81, saturated),
        (json!({}), 80, not),
        (json!({"threshold": 0.75}), 76, saturated),
        (json!({"threshold": 0.75}), 75, not),
        (json!({"threshold": 1.0}), 100, not),
    ] {
        let mut host = cluster(2, 3, settings);
        job(&mut host, 1, "ann", ratio(LIGHT));
        reduces(&mut host, 1, 1);
        job(&mut host, 2, "ann", ratio(LIGHT));
        maps(&mut host, 2, 1, &[1]);
        job(&mut host, 3, "ann", ratio(HEAVY));
        reduces(&mut host, 3, 1);
        traffic(&mut host, &[percent, 0]);
        assert_eq!(what(&host.beat(0)), first, "{percent} % of the link");
    }
}

/// SW-16: the setting `scope` chooses the link that decides.
#[test]
fn the_scope_decides_whose_link_counts() {
    // Links at 90, 0 and 75 %: 55 on average. At 90, 90 and 75: 85.
    for (scope, percent, node, maps_first) in [
        ("rack", [90, 0, 75], 0, true),
        ("rack", [90, 0, 75], 1, false),
        ("any", [90, 0, 75], 1, true),
        ("mean", [90, 0, 75], 0, false),
        ("mean", [90, 90, 75], 2, true),
    ] {
        let mut host = cluster(3, 1, json!({"scope": scope}));
        job(&mut host, 1, "ann", ratio(HEAVY));
        maps(&mut host, 1, 5, &[0, 1, 2]);
        reduces(&mut host, 1, 5);
        traffic(&mut host, &percent);
        let expected = if maps_first { MAP } else { REDUCE };
        assert_eq!(
            what(&host.beat(node)),
            [(1, expected)],
            "{scope} {percent:?} {node}"
        );
    }
}

/// Figure 7 (SW-21, SW-24): map output of 90 and 10 GB, and of 10 and 90. Each rack has room for
/// ten reduces. Each job gets nine where most of its output is, and 18 of its 100 GB cross.
#[test]
fn reduces_are_spread_like_the_map_output() {
    for (settings, crossed) in [(json!({}), 18), (json!({"sarp": false}), 90)] {
        let mut host = cluster(2, 10, settings);
        for id in [1, 2] {
            let hints = JobHints {
                tasks: [Some(10), Some(10)],
                ..ratio(HEAVY)
            };
            job(&mut host, id, "ann", hints);
            let on = [9, 1][id as usize - 1];
            ran(&mut host, id, 0, on, 11);
            ran(&mut host, id, 1, 10 - on, 11);
            reduces(&mut host, id, 10);
        }
        // The node of the rack that suits the second job reports first.
        let second = host.beat(1);
        let first = host.beat(0);
        let on = |id| [count(&first, id, REDUCE), count(&second, id, REDUCE)];
        for (id, output) in [(1, [90.0, 10.0]), (2, [10.0, 90.0])] {
            let per_rack =
                |amounts: [f64; 2]| -> PerRack { (1..).map(PlaceId).zip(amounts).collect() };
            let moved = crossing(&per_rack(output), &per_rack(on(id).map(|n| n as f64)));
            assert_eq!(moved, f64::from(crossed), "job {id}: {:?}", on(id));
        }
    }
}

/// SW-21 by bytes, told after the maps ended: one map wrote most of the output. A map that has not
/// told counts as the mean of the others.
#[test]
fn reduces_follow_the_bytes_of_maps_that_tell_them_later() {
    let mut host = cluster(2, 10, json!({}));
    let hints = JobHints {
        tasks: [Some(4), Some(4)],
        ..ratio(HEAVY)
    };
    job(&mut host, 1, "ann", hints);
    let mut ended = Vec::new();
    for node in [0, 1, 1, 1] {
        let key = host.recovered(1, node, 1024, false);
        host.complete(1, key);
        ended.push(key);
    }
    reduces(&mut host, 1, 4);
    let basis = |host: &Host| [1000, 1001].map(|rack| basis_on(host, rack));
    assert_eq!(basis(&host), [0.25, 0.75], "by numbers");
    for (of, written, expected) in [
        (0, 90, [0.25, 0.75]),
        (1, 10, [90.0 / 200.0, 110.0 / 200.0]),
        (2, 50, [90.0 / 200.0, 110.0 / 200.0]),
        (3, 30, [0.5, 0.5]),
        // Said again.
        (3, 1_000, [0.5, 0.5]),
    ] {
        let (job, key) = (JobId(1), ended[of]);
        let facts = TaskFacts {
            input_bytes: GB,
            output_bytes: written * GB,
            ..TaskFacts::default()
        };
        host.step(&[Event::Task { job, key, facts }]);
        assert_eq!(basis(&host), expected, "after {written} GB");
    }
}

fn basis_on(host: &Host, rack: u32) -> f64 {
    book(host, 1)["basis"][rack.to_string()]
        .as_f64()
        .unwrap_or(0.0)
}

/// SW-20 and SW-21: below the threshold the numbers are SAMP's. They follow the maps until the
/// first reduce runs, and then stay.
#[test]
fn the_numbers_are_those_of_the_moment_of_the_first_reduce() {
    let part = |host: &Host, rack: u32| basis_on(host, 1000 + rack);
    let mut host = cluster(2, 2, json!({}));
    let hints = JobHints {
        tasks: [Some(20), Some(4)],
        ..ratio(HEAVY)
    };
    job(&mut host, 1, "ann", hints);
    blocks(&mut host, 1, &[(20, &[0, 1])]);
    maps(&mut host, 1, 12, &[0, 1]);
    reduces(&mut host, 1, 4);
    host.tick();
    ran(&mut host, 1, 1, 2, 20);
    assert_eq!(
        [part(&host, 0), part(&host, 1)],
        [1.0, 0.0],
        "2 of 20 are too few"
    );
    ran(&mut host, 1, 1, 1, 20);
    assert_eq!(
        [part(&host, 0), part(&host, 1)],
        [0.0, 1.0],
        "3 of 20 are 15 %"
    );
    ran(&mut host, 1, 0, 1, 20);
    assert_eq!([part(&host, 0), part(&host, 1)], [0.25, 0.75]);
    assert_eq!(what(&host.beat(0)), [(1, REDUCE); 2]);
    ran(&mut host, 1, 1, 4, 20);
    assert_eq!([part(&host, 0), part(&host, 1)], [0.25, 0.75]);
}

/// SW-10: a failed reduce gives its place back; a finished one does not.
#[test]
fn a_retried_reduce_counts_once() {
    let mut host = cluster(2, 10, json!({}));
    for id in [1, 2] {
        let hints = JobHints {
            tasks: [Some(2), Some(2)],
            ..ratio(HEAVY)
        };
        job(&mut host, id, "ann", hints);
        // Job 1 has half of its output on each rack, job 2 all on rack 0.
        ran(&mut host, id, 0, 1, 11);
        ran(&mut host, id, [1, 0][id as usize - 1], 1, 11);
        reduces(&mut host, id, 2);
    }
    let unmet_first = host.beat(0);
    // One of job 1 and two of job 2 are preferred; any job may have the last place, so job 1 has
    // it.
    assert_eq!(
        what(&unmet_first),
        [(1, REDUCE), (2, REDUCE), (2, REDUCE), (1, REDUCE)]
    );
    assert_eq!(book(&host, 1)["finished"], json!({}));
    let key = host
        .containers
        .iter()
        .find(|c| c.0 == 2)
        .expect("it runs")
        .1;
    host.step(&[Event::ContainerCompleted {
        job: JobId(2),
        key,
        exit: 1,
    }]);
    host.complete_all(1);
    assert_eq!(book(&host, 1)["finished"], json!({"1000": 2}));
    // Job 1 asks for one more, as if a finished one's output were lost, and so does job 2.
    reduces(&mut host, 1, 1);
    reduces(&mut host, 2, 1);
    host.containers.retain(|c| c.1 != key);
    assert_eq!(what(&host.beat(0)), [(2, REDUCE), (1, REDUCE)]);
}

/// SW-22: a rack's number is for any of a job's reduces. Job 1 has one place on rack 0 and two asks
/// of one reduce each; after the first of them job 2 is served, and the other comes last.
#[test]
fn any_reduce_of_a_job_fills_the_number_of_a_rack() {
    for asks in [[REDUCE, 2], [2, REDUCE]] {
        let mut host = cluster(2, 10, json!({}));
        for id in [1, 2] {
            let hints = JobHints {
                tasks: [Some(2), Some(2)],
                ..ratio(HEAVY)
            };
            job(&mut host, id, "ann", hints);
            ran(&mut host, id, 0, 1, 11);
            ran(&mut host, id, [1, 0][id as usize - 1], 1, 11);
        }
        for ask in asks {
            host.ask_facts(AskFacts {
                priority: 10,
                ..plain_ask(1, ask, 1, 1024)
            });
        }
        reduces(&mut host, 2, 2);
        let jobs: Vec<u32> = host.beat(0).iter().map(|grant| grant.job).collect();
        assert_eq!(jobs, [1, 2, 2, 1]);
    }
}

/// SW-9 and SW-10: light until the first completed map shows otherwise.
#[test]
fn the_ratio_is_learnt_from_completed_maps() {
    let mut host = cluster(1, 1, json!({}));
    for id in [1, 2] {
        job(&mut host, id, "ann", JobHints::default());
        maps(&mut host, id, 9, &[0]);
        reduces(&mut host, id, 1);
    }
    // Writes 20 for every 10 read: heavy, and so before the light one that came first.
    ran(&mut host, 2, 0, 1, 20);
    assert_eq!(what(&host.beat(0)), [(2, REDUCE)]);
}

/// SW-9: earlier runs give the ratio, and the user's own value takes precedence.
#[test]
fn the_ratio_is_remembered_for_the_next_run() {
    let signed = |said: Option<u32>| JobHints {
        signature: Some(77),
        shuffle_per_mille: said,
        ..JobHints::default()
    };
    let mut host = cluster(2, 4, json!({}));
    job(&mut host, 1, "ann", signed(None));
    ran(&mut host, 1, 0, 1, 2);
    host.step(&[Event::JobRemoved(JobId(1))]);
    assert_eq!(host.engine.save()[2]["ratios"], json!([[77, 0.2]]));
    // 60 GB and 40 GB: by a ratio of 0.2 both racks (0.2 * 100 / 2 < 40), by 2 only one.
    for (id, said, racks) in [(2, None, vec![0, 1]), (3, Some(2_000), vec![0])] {
        job(&mut host, id, "ann", signed(said));
        blocks(&mut host, id, &[(60, &[0]), (40, &[1])]);
        maps(&mut host, id, 4, &[0]);
        assert_eq!(preferred(&mut host, id), racks);
    }
}

/// The same from one engine to the next, through the host's books.
#[test]
fn the_ratio_is_remembered_by_the_next_engine() {
    let signed = JobHints {
        signature: Some(77),
        ..JobHints::default()
    };
    let mut host = cluster(2, 4, json!({}));
    host.engine.keep_ledger();
    job(&mut host, 1, "ann", signed);
    ran(&mut host, 1, 0, 1, 2);
    assert!(host.engine.take_ledger().entries.is_empty(), "it runs");
    host.step(&[Event::JobRemoved(JobId(1))]);
    let (key, value) = (
        "shuffle-ratio/000000000000004d".to_string(),
        "0.2".to_string(),
    );
    assert_eq!(
        host.engine.take_ledger().entries,
        [Entry::Learnt { key, value }]
    );
    assert!(host.engine.take_ledger().entries.is_empty(), "it was told");

    let mut next = cluster(2, 4, json!({}));
    let lessons = json!([
        ["shuffle-ratio/000000000000004d", 0.2],
        ["lengths/1", 3],
        4,
        [],
        [null]
    ]);
    let restored = next.request(json!({"op": "restoreLessons", "lessons": lessons}));
    assert_eq!(restored, json!({"learnt": 1}));
    job(&mut next, 2, "ann", signed);
    blocks(&mut next, 2, &[(60, &[0]), (40, &[1])]);
    maps(&mut next, 2, 4, &[0]);
    assert_eq!(preferred(&mut next, 2), [0, 1]);
    assert!(
        next.engine.take_ledger().entries.is_empty(),
        "nothing is new"
    );
}
