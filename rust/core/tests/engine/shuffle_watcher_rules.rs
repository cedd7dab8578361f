//! ShuffleWatcher in the engine: rules that go before its categories (users, windows), and rules
//! that bound them (no idle slot, relaxed fairness). Also odd jobs, lost racks, and the state that
//! survives a reload.

use crate::common::racks::*;
use crate::common::{host_of, plain_ask, row};
use heddle_core::words::event::{AskFacts, Event, JobHints, TaskFacts};
use heddle_core::words::ids::*;
use heddle_core::words::resource::Resource;
use serde_json::json;

/// SW-27 and SW-28: a job of an earlier window goes first, whatever the categories say.
#[test]
fn an_earlier_window_overrides_the_categories() {
    for (window_ms, first) in [(600_000, 1), (0, 2)] {
        let mut host = cluster(2, 1, json!({"window_ms": window_ms}));
        host.now = 599_999;
        job(&mut host, 1, "ann", ratio(HEAVY));
        reduces(&mut host, 1, 1);
        host.now = 600_000;
        job(&mut host, 2, "ann", ratio(LIGHT));
        maps(&mut host, 2, 1, &[0]);
        traffic(&mut host, &[100, 100]);
        assert_eq!(host.beat(0)[0].job, first, "windows of {window_ms} ms");
    }
}

/// SW-26: a user is passed over for up to 5 s for racks that SAMP and SARP want, then for up to 5 s
/// for data. Then it is served like in the strict mode until it has a well placed task again.
#[test]
fn relaxed_fairness_waits_at_most_its_interval_for_each() {
    let mut host = cluster(3, 2, json!({"relaxed_ms": 5_000}));
    job(&mut host, 1, "ann", ratio(HEAVY));
    blocks(&mut host, 1, &[(9, &[0, 1])]);
    maps(&mut host, 1, 9, &[0, 1]);
    assert_eq!(preferred(&mut host, 1), [0]);
    assert_eq!(
        what(&host.beat(1)),
        [],
        "near its data, but not wanted there"
    );
    // Others are served meanwhile.
    job(&mut host, 2, "bob", ratio(LIGHT));
    reduces(&mut host, 2, 1);
    host.now = 4_999;
    assert_eq!(what(&host.beat(1)), [(2, REDUCE)]);
    host.now = 5_000;
    assert_eq!(what(&host.beat(1)), [(1, MAP)]);
    host.now = 9_999;
    assert_eq!(what(&host.beat(2)), [], "far from its data");
    host.now = 10_000;
    let all = "it need not wait for every task";
    assert_eq!(what(&host.beat(2)), [(1, MAP); 2], "{all}");
    // A map on the wanted rack makes the user wait for such racks again; one near its data, for
    // data.
    assert_eq!(what(&host.beat(0)), [(1, MAP); 2]);
    host.complete_all(1);
    assert_eq!(what(&host.beat(1)), []);
    host.now = 18_000;
    assert_eq!(what(&host.beat(1)), [(1, MAP)]);
    host.now = 22_999;
    assert_eq!(what(&host.beat(2)), []);
    host.now = 23_000;
    assert_eq!(what(&host.beat(2)), [(1, MAP); 2]);
}

/// The explanation names the times at which a user's wait relaxes; at each it does.
#[test]
fn who_is_passed_over_is_told_until_when() {
    let mut host = cluster(3, 2, json!({"relaxed_ms": 5_000}));
    job(&mut host, 1, "ann", ratio(HEAVY));
    blocks(&mut host, 1, &[(9, &[0, 1])]);
    maps(&mut host, 1, 9, &[0, 1]);
    assert_eq!(preferred(&mut host, 1), [0]);
    host.now = 100;
    for (node, data) in [(1, false), (2, true)] {
        assert_eq!(what(&host.beat(node)), []);
        let told = host.request(json!({"op": "explain", "job": 1}));
        let racks = &told["waits"][0]["reason"]["racks"];
        assert_eq!(racks["data"], data, "{told}");
        let at_ms = told["waits"][0]["remedies"][0]["time"]["at_ms"].as_i64();
        host.now = at_ms.expect("a time") - 1;
        assert_eq!(what(&host.beat(node)), []);
        host.now += 1;
        assert_eq!(what(&host.beat(node)), [(1, MAP); 2]);
    }
}

/// SW-26: reduces of heavy jobs wait for the racks that SARP wants; those of light jobs wait for
/// none.
#[test]
fn relaxed_fairness_holds_heavy_reduces_for_wanted_racks() {
    let mut host = cluster(2, 2, json!({"relaxed_ms": 5_000}));
    for (id, user, shuffle, gb) in [(1, "ann", HEAVY, 20), (2, "bob", LIGHT, 5)] {
        job(&mut host, id, user, ratio(shuffle));
        ran(&mut host, id, 0, 1, gb);
        reduces(&mut host, id, 1);
    }
    assert_eq!(what(&host.beat(1)), [(2, REDUCE)]);
    host.now = 4_999;
    assert_eq!(what(&host.beat(1)), []);
    host.now = 5_000;
    assert_eq!(what(&host.beat(1)), [(1, REDUCE)]);
}

/// Users within one container of each other are entitled alike: the one whose task suits the rack
/// goes first, but not for longer than `ties_ms`, and never with more than one container's lead.
#[test]
fn the_place_chooses_among_users_entitled_alike() {
    let ties = |ties_ms: i64, slots| {
        let mut host = cluster(2, slots, json!({"ties_ms": ties_ms}));
        for (id, user, rack) in [(1, "ann", 0), (2, "bob", 1)] {
            job(&mut host, id, user, ratio(HEAVY));
            blocks(&mut host, id, &[(20, &[rack])]);
            maps(&mut host, id, 20, &[rack]);
            assert_eq!(preferred(&mut host, id), [u64::from(rack)]);
        }
        traffic(&mut host, &[100, 100]);
        host
    };
    // Without ties users take turns, wherever their data is.
    let turns = what(&ties(0, 8).beat(1));
    assert_eq!(turns, [(1, MAP), (2, MAP)].repeat(4));
    // With them each node has the maps of its rack, as long as neither user has a lead.
    let turns = what(&ties(5_000, 8).beat(1));
    assert_eq!(turns[..2], [(2, MAP), (2, MAP)]);
    for taken in 1..=turns.len() {
        let of_bob = turns[..taken].iter().filter(|turn| turn.0 == 2).count();
        assert!(of_bob <= taken - of_bob + 2, "{turns:?}");
    }
    // A user who is overtaken again and again has its turn after `ties_ms`.
    let mut host = ties(5_000, 1);
    for (now, user) in [(0, 2), (4_999, 2), (5_000, 1)] {
        host.now = now;
        assert_eq!(what(&host.beat(1)), [(user, MAP)], "at {now}");
        host.complete_all(user);
    }
}

/// SW-8: without relaxation a node never idles while the user has a task to run. Every mix of
/// tasks, saturated or not, on any rack, is served to the last.
#[test]
fn no_slot_idles_while_anything_is_pending() {
    for mix in 0..32u32 {
        for percent in [0, 100] {
            let mut host = cluster(3, 1, json!({}));
            let mut pending = 0;
            for id in (0..5).filter(|id| mix >> id & 1 == 1) {
                let ratio = if id % 2 == 0 { LIGHT } else { HEAVY };
                job(&mut host, id, "ann", self::ratio(ratio));
                if id < 3 {
                    blocks(&mut host, id, &[(2, &[id])]);
                    maps(&mut host, id, 2, &[id]);
                } else {
                    ran(&mut host, id, id % 3, 1, 20);
                    reduces(&mut host, id, 2);
                }
                pending += 2;
            }
            traffic(&mut host, &[percent, percent, 0]);
            for turn in 0..pending {
                let grants = host.beat(turn % 3);
                assert_eq!(grants.len(), 1, "mix {mix:b}, {percent} %, turn {turn}");
                host.complete_all(grants[0].job);
            }
            assert_eq!(host.beat(0), [], "everything was served");
        }
    }
}

/// SW-4: the share stage picks the user; a better placed task of another user does not matter.
#[test]
fn the_user_is_picked_before_the_task() {
    let mut host = cluster(2, 4, json!({}));
    job(&mut host, 1, "ann", ratio(LIGHT));
    maps(&mut host, 1, 9, &[0]);
    host.beat(0);
    job(&mut host, 2, "bob", ratio(LIGHT));
    maps(&mut host, 2, 9, &[0]);
    host.tick();
    // Ann has four, Bob none: his remote maps come first on the other rack.
    assert_eq!(what(&host.beat(1)), [(2, MAP); 4]);
}

/// SW-2: whatever share picks the user, the categories choose among that user's jobs. Ann's maps
/// would suit the rack and came first, but she has four slots; of Bob's the local ones go first.
#[test]
fn any_share_picks_the_user_and_the_categories_the_job() {
    for share in ["fair", "capacity", "drf", "dynamic-priority"] {
        let mut host = cluster_under(share, 2, 4);
        job(&mut host, 1, "ann", ratio(LIGHT));
        maps(&mut host, 1, 12, &[0, 1]);
        host.tick();
        assert_eq!(what(&host.beat(0)), [(1, MAP); 4]);
        job(&mut host, 2, "bob", ratio(LIGHT));
        maps(&mut host, 2, 9, &[0]);
        job(&mut host, 3, "bob", ratio(LIGHT));
        maps(&mut host, 3, 2, &[1]);
        // A market divides at its intervals.
        host.now = 20_000;
        host.tick();
        let expected = [(3, MAP), (3, MAP), (2, MAP), (2, MAP)];
        assert_eq!(what(&host.beat(1)), expected, "{share}");
    }
}

/// SW-29: 18 vcores and 36 GB, twice the cluster of DRF's paper. Ann's maps take 1 and 4, Bob's 3
/// and 1. With equal dominant shares (4/36 of each map, and 3/18) she has 6 and he 4. By memory
/// his first four weigh as one of hers; at 13 vcores each gets one more, and the last is hers.
#[test]
fn dominant_shares_or_memory_decide_between_users() {
    for (share, held) in [("drf", [6, 4]), ("fair", [3, 5])] {
        let mut host = cluster_under(share, 0, 0);
        host.node(0, 36 * 1024, 18);
        for (id, user, (gb, vcores)) in [(1, "ann", (4, 1)), (2, "bob", (1, 3))] {
            job(&mut host, id, user, ratio(LIGHT));
            host.ask_facts(AskFacts {
                resource: Resource::new(gb * 1024, vcores),
                ..plain_ask(id, MAP, 20, 0)
            });
        }
        host.tick();
        host.beat(0);
        assert_eq!([1, 2].map(|id| host.running(id)), held, "{share}");
    }
}

/// SW-42: the nodes of a preferred rack are gone.
#[test]
fn a_lost_rack_leaves_the_other_categories() {
    let mut host = cluster(2, 2, json!({}));
    job(&mut host, 1, "ann", ratio(HEAVY));
    blocks(&mut host, 1, &[(4, &[0])]);
    maps(&mut host, 1, 4, &[0]);
    assert_eq!(preferred(&mut host, 1), [0]);
    host.step(&[Event::NodeRemoved(NodeId(0))]);
    assert_eq!(what(&host.beat(1)), [(1, MAP); 2]);
    // A job planned now ignores the lost rack.
    job(&mut host, 2, "ann", ratio(HEAVY));
    blocks(&mut host, 2, &[(4, &[0])]);
    maps(&mut host, 2, 4, &[0]);
    assert_eq!(preferred(&mut host, 2), [1]);
}

/// SW-42: one rack, a job without reduces, maps without output, and no locations at all.
#[test]
fn odd_jobs_are_served_like_any_other() {
    let mut host = cluster(1, 4, json!({}));
    let map_only = JobHints {
        tasks: [Some(2), Some(0)],
        ..ratio(HEAVY)
    };
    job(&mut host, 1, "ann", map_only);
    maps(&mut host, 1, 2, &[0]);
    assert_eq!(preferred(&mut host, 1), [0]);
    assert_eq!(what(&host.beat(0)), [(1, MAP); 2]);
    host.complete_all(1);
    let silent = JobHints {
        tasks: [Some(2), Some(2)],
        ..ratio(HEAVY)
    };
    job(&mut host, 2, "ann", silent);
    maps(&mut host, 2, 2, &[]);
    reduces(&mut host, 2, 2);
    ran(&mut host, 2, 0, 2, 0);
    host.tick();
    // The maps wrote nothing, so the prediction stands: all on the only rack.
    assert_eq!(book(&host, 2)["basis"], json!({"1000": 1.0}));
    assert_eq!(
        what(&host.beat(0)),
        [(2, REDUCE), (2, REDUCE), (2, MAP), (2, MAP)]
    );
}

/// A job without reduces prefers every rack that its input needs: there is no shuffle to save.
#[test]
fn a_job_without_reduces_stays_with_its_data() {
    let mut host = cluster(2, 4, json!({}));
    for (id, reduces, racks) in [(1, Some(0), vec![0, 1]), (2, None, vec![0])] {
        let hints = JobHints {
            tasks: [Some(4), reduces],
            ..ratio(HEAVY)
        };
        job(&mut host, id, "ann", hints);
        blocks(&mut host, id, &[(60, &[0]), (40, &[1])]);
        maps(&mut host, id, 4, &[0]);
        assert_eq!(preferred(&mut host, id), racks);
    }
}

/// Asks that insist on their place (`relaxLocality=false`) are served only there.
#[test]
fn strict_asks_are_served_where_they_insist() {
    let mut host = cluster(2, 2, json!({}));
    job(&mut host, 1, "ann", ratio(LIGHT));
    host.ask(1, MAP, 0, 1024);
    let ask = AskFacts {
        relax: false,
        ..plain_ask(1, MAP, 1, 1024)
    };
    host.step(&[Event::Ask(ask), row(1, MAP, host_of(1), 1)]);
    assert_eq!(host.beat(0), []);
    assert_eq!(what(&host.beat(1)), [(1, MAP)]);
}

/// A reload keeps plans, map output, ratios and windows.
#[test]
fn a_reload_keeps_the_books() {
    let mut host = cluster(2, 10, json!({}));
    let hints = JobHints {
        tasks: [Some(10), Some(10)],
        signature: Some(5),
        ..JobHints::default()
    };
    job(&mut host, 1, "ann", hints);
    blocks(&mut host, 1, &[(10, &[0, 1])]);
    ran(&mut host, 1, 0, 9, 20);
    ran(&mut host, 1, 1, 1, 20);
    maps(&mut host, 1, 1, &[0, 1]);
    reduces(&mut host, 1, 10);
    host.tick();
    let before = host.engine.save()[2].clone();
    assert_eq!(
        before["jobs"]["1"]["basis"],
        json!({"1000": 0.9, "1001": 0.1})
    );
    host.now = 1_000;
    let config = json!({"policy": "shufflewatcher", "heartbeat_fill": 1.0});
    host.request(json!({"op": "reload", "config": config}));
    assert_eq!(host.engine.save()[2], before);
    assert_eq!(count(&host.beat(1), 1, REDUCE), 10);
}

/// SW-18, SW-21 as a whole: random jobs, every grant answered. The state is consistent after each
/// step (the host checks it), and every task is served in the end.
#[test]
fn random_jobs_run_to_their_end_with_the_books_right() {
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut host = cluster(4, 3, json!({"window_ms": 50}));
    for id in 0..30u32 {
        host.now += random(10) as i64;
        let hints = if random(2) == 0 {
            ratio(HEAVY)
        } else {
            JobHints::default()
        };
        job(&mut host, id, ["ann", "bob"][random(2) as usize], hints);
        let (count, rack) = (1 + random(6) as u32, random(4) as u32);
        if random(2) == 0 {
            blocks(&mut host, id, &[(count, &[rack, (rack + 1) % 4])]);
        }
        maps(&mut host, id, count, &[rack]);
        reduces(&mut host, id, 1 + random(4) as u32);
    }
    for turn in 0..400u32 {
        host.now += 7;
        traffic(&mut host, &[0; 4].map(|_: u64| random(101)));
        host.beat(turn % 4);
        for (job, key, _, _) in host.containers.clone() {
            if random(3) == 0 {
                let facts = TaskFacts {
                    input_bytes: random(9) * GB,
                    output_bytes: random(19) * GB,
                    ..TaskFacts::default()
                };
                let id = JobId(job);
                host.step(&[Event::Task {
                    job: id,
                    key,
                    facts,
                }]);
                host.complete(job, key);
            }
        }
        host.tick();
    }
    let left = host
        .engine
        .cluster()
        .jobs()
        .flat_map(|job| job.pending())
        .count();
    assert_eq!((left, host.containers.len()), (0, 0));
}
