//! The waits of delay scheduling: each ask's by itself, none longer than it is worth.

use crate::common::Host;
use crate::common::yard::{Dice, Maps, Outcome, ROUND_MS, Yard, play};
use heddle_core::words::ids::{Locality, Millis};
use serde_json::{Value, json};

const TEN: Yard = Yard {
    nodes: 10,
    racks: 2,
    slots: 4,
};

/// Every order, under several shares.
const COMPOSITIONS: &[(&str, &str)] = &[
    ("fair", "deficit"),
    ("single", "deficit"),
    ("fair", "by-queue"),
    ("drf", "by-queue"),
    ("single", "fifo"),
    ("fair", "fifo"),
    ("single", "hfsp"),
    ("fair", "hfsp"),
    ("single", "reverse-adaptive"),
    ("dynamic-priority", "fifo"),
];

fn config((share, order): (&str, &str), place: &str) -> Value {
    json!({
        "policy": {"share": share, "order": order, "place": place},
        "heartbeat_fill": 1.0,
        "placement": [{"rule": "user"}],
    })
}

fn run(composition: (&str, &str), place: &str, yard: Yard, jobs: &[Maps]) -> Outcome {
    play(
        yard,
        config(composition, place),
        jobs,
        false,
        600 * ROUND_MS,
    )
}

/// The configured waits and one round of reports: no ask waits longer for its places.
const KEPT_MAX_MS: Millis = 3_000 + 3_000 + ROUND_MS;

/// Jobs of one map whose data lie on a busy node, before a job in line that takes every other slot
/// which becomes free, between six and seven a second. The waits run side by side: all have begun
/// after the waits and the time in which as many slots become free.
#[test]
fn waits_of_different_jobs_and_asks_run_side_by_side() {
    for composition in COMPOSITIONS {
        for (count, asks) in [(12, 1), (40, 1), (1, 20)] {
            let owners = ["ann", "cy"];
            let mut jobs = vec![Maps::new(3_600_000, vec![vec![0]; 4]).of("dee")];
            jobs.extend((0..count).map(|i| Maps {
                asks: vec![vec![vec![0]]; asks],
                ..Maps::new(5_000, Vec::new()).of(owners[i % 2]).at(4_000)
            }));
            jobs.push(Maps {
                jitter_ms: 9_000,
                ..Maps::new(1_000, vec![Vec::new(); 2_000])
                    .of("bob")
                    .at(4_000)
            });
            let config = config(*composition, "delay");
            let outcome = play(TEN, config, &jobs, false, 30 * ROUND_MS);
            let began = outcome.last_began_ms[1..=count].iter();
            let last = began.map(|began| began.unwrap_or(Millis::MAX)).max();
            let all = (count * asks) as Millis;
            let most = KEPT_MAX_MS + all * ROUND_MS / 6;
            println!(
                "{composition:?} {count} jobs of {asks}: {last:?} {:?}",
                outcome.kept
            );
            assert!(
                last <= Some(most),
                "{composition:?}: the last began after {last:?} ms"
            );
            assert!(
                outcome.kept.0 <= KEPT_MAX_MS,
                "{composition:?}: {:?}",
                outcome.kept
            );
        }
    }
}

/// An idle cluster, and data that lie on few of its nodes.
#[test]
fn a_wait_costs_no_more_than_a_fifth() {
    for (name, maps) in [
        ("400 on one", vec![vec![0]; 400]),
        ("120 on one", vec![vec![0]; 120]),
        ("400 on three", (0..400).map(|i| vec![i % 3]).collect()),
    ] {
        let jobs = [Maps::new(2_000, maps)];
        let without = run(COMPOSITIONS[0], "local-first", TEN, &jobs).ended_ms;
        for composition in COMPOSITIONS {
            let with = run(*composition, "delay", TEN, &jobs).ended_ms;
            println!("{composition:?} {name}: {with} ms, {without} without waits");
            assert!(
                with * 10 <= without * 12,
                "{composition:?} {name}: {with} for {without}"
            );
        }
    }
}

/// Jobs of 1 to 79 maps whose data are spread as HDFS spreads them, more than run at once.
#[test]
fn data_that_are_spread_are_near() {
    let yard = Yard {
        nodes: 20,
        racks: 4,
        slots: 4,
    };
    for (composition, every_ms) in [COMPOSITIONS[0], COMPOSITIONS[2], COMPOSITIONS[6]]
        .into_iter()
        .flat_map(|of| [(of, 4_500), (of, 20_000)])
    {
        let mut dice = Dice(7);
        let job = |i: Millis| Maps {
            jitter_ms: 10_000,
            ..Maps::new(
                5_000,
                (0..1 + dice.below(79))
                    .map(|_| dice.replicas(&yard))
                    .collect(),
            )
            .of(["ann", "bob", "cy", "dee"][i as usize % 4])
            .at(i * every_ms)
        };
        let jobs: Vec<Maps> = (0..20).map(job).collect();
        let with = run(composition, "delay", yard, &jobs);
        let without = run(composition, "local-first", yard, &jobs);
        let (near, took, otherwise) = (with.local_percent(), with.mean_ms(), without.mean_ms());
        println!(
            "{composition:?}, every {every_ms} ms: {near:.1} % local, without waits {:.1} %; \
             {took} and {otherwise} ms",
            without.local_percent()
        );
        assert!(near >= 95.0, "{composition:?}: {near}");
        assert!(
            took <= otherwise * 1.2,
            "{composition:?}: {took} for {otherwise}"
        );
    }
}

/// A busy cluster, and jobs of many maps for each of which few nodes have the data. What one job
/// leaves others take, so its waits last for all of its maps. Not under `fifo`: jobs that came
/// later take it there, and all end late.
#[test]
fn many_maps_of_a_job_find_their_data_on_a_busy_cluster() {
    let yard = Yard {
        nodes: 100,
        racks: 4,
        slots: 2,
    };
    for composition in [COMPOSITIONS[0], COMPOSITIONS[3]] {
        let mut dice = Dice(11);
        let mut job = |i: usize| {
            let maps = (0..60).map(|_| dice.replicas(&yard)).collect();
            Maps::new(10_000, maps).of(["ann", "bob", "cy", "dee"][i % 4])
        };
        let jobs: Vec<Maps> = (0..16).map(&mut job).collect();
        let with = run(composition, "delay", yard, &jobs);
        let without = run(composition, "local-first", yard, &jobs);
        let (near, otherwise) = (with.local_percent(), without.local_percent());
        println!("{composition:?}: {near:.1} % local, without waits {otherwise:.1} %");
        assert!(near >= 85.0, "{composition:?}: {near}");
        let (took, otherwise) = (with.mean_ms(), without.mean_ms());
        assert!(
            took <= otherwise * 1.2,
            "{composition:?}: {took} for {otherwise}"
        );
    }
}

/// A job at the limit of its queue could not have run: it loses no wait.
#[test]
fn an_ask_that_could_not_have_run_has_not_waited() {
    let mut host = Host::new(json!({
        "policy": "by-queue", "heartbeat_fill": 1.0,
        "queues": [{"path": "root.small", "max_share": {"memory-mb": 1_024, "vcores": 8}}],
    }));
    let (near, far) = (host.node(0, 1_024, 1), host.node(1, 4_096, 4));
    let queue = host.queue("ann", Some("small"));
    host.job(1, queue);
    host.ask(1, 0, 1, 1_024);
    assert_eq!(
        host.beat(near).len(),
        1,
        "the queue is full now, and so is the node"
    );
    host.job(2, queue);
    host.profile(2, 60_000);
    host.ask_on(2, 0, 1_024, &[(near, 0)]);
    for _ in 0..30 {
        host.now += 1_000;
        assert_eq!(host.beat(far), []);
    }
    host.complete_all(1);
    host.now += 1_000;
    assert_eq!(host.beat(far), [], "it waits from now on");
    host.now += 2_999;
    assert_eq!(host.beat(far), []);
    let local = host.beat(near);
    assert_eq!(local[0].locality, Locality::NodeLocal);
}

/// A random cluster with random jobs, and the composition of its stages.
fn case(seed: u64) -> ((&'static str, &'static str), Yard, Vec<Maps>, bool) {
    let mut dice = Dice(seed);
    let nodes = 3 + dice.below(8);
    let yard = Yard {
        nodes,
        racks: 1 + dice.below(3),
        slots: 1 + dice.below(4),
    };
    let hot = 1 + dice.below(3);
    let mut jobs: Vec<Maps> = (0..1 + dice.below(8))
        .map(|_| {
            let length_ms = 1_000 * Millis::from(dice.pick(&[1, 2, 5, 10, 30, 60]));
            let kind = dice.below(4);
            let mut map = || match kind {
                0 => Vec::new(),
                1 => vec![dice.below(hot)],
                _ => dice.replicas(&yard),
            };
            let asks = (0..1 + seed % 2).map(|_| (0..1 + seed % 31).map(|_| map()).collect());
            let asks = asks.collect();
            Maps {
                at_ms: 1_000 * Millis::from(dice.below(20)),
                user: dice.pick(&["ann", "bob", "cy"]).to_string(),
                length_ms,
                jitter_ms: length_ms * Millis::from(dice.below(2)),
                asks,
            }
        })
        .collect();
    jobs.sort_by_key(|job| job.at_ms);
    (dice.pick(COMPOSITIONS), yard, jobs, dice.below(2) == 0)
}

/// Plays a random case with and without waits; returns what is wrong.
fn wrong(seed: u64) -> Option<String> {
    let (composition, yard, jobs, offers) = case(seed);
    let [with, without] = ["delay", "local-first"]
        .map(|place| play(yard, config(composition, place), &jobs, offers, 3_600_000));
    let (took, otherwise) = (with.mean_ms(), without.mean_ms());
    let of = format!(
        "seed {seed}, {composition:?}, {yard:?}, {} jobs",
        jobs.len()
    );
    if with.kept.0 > KEPT_MAX_MS {
        Some(format!("{of}: an ask was kept for {:?}", with.kept))
    } else if with.took_ms.contains(&None) {
        Some(format!("{of}: {:?} did not all end", with.took_ms))
    } else if took > otherwise * 1.2 + ROUND_MS as f64 {
        Some(format!(
            "{of}: {took} ms on average, {otherwise} without waits"
        ))
    } else {
        None
    }
}

/// Of the first 400 cases those with a fault that is not mended: in three (28, 143, 238) waits cost
/// more than they bring, in the others an ask is overtaken for longer than its waits.
const KNOWN: &[u64] = &[26, 28, 143, 146, 238, 244, 309, 396];

/// The search. `HEDDLE_CASES=400` plays as many, `HEDDLE_SEED` one alone.
#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "a test may be told how much to play"
)]
fn no_random_cluster_waits_for_more_than_that() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seeds: Vec<u64> = match number("HEDDLE_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("HEDDLE_CASES").unwrap_or(24)).collect(),
    };
    let found: Vec<String> = seeds
        .iter()
        .filter_map(|seed| match (wrong(*seed), KNOWN.contains(seed)) {
            (None, true) => Some(format!("seed {seed} is right: take it off `KNOWN`")),
            (found, known) => found.filter(|_| !known),
        })
        .collect();
    assert!(
        found.is_empty(),
        "{} of {}: {found:#?}",
        found.len(),
        seeds.len()
    );
}
