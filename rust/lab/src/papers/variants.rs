//! ShuffleWatcher's other experiments: numbers of jobs and mixes (SW-38), the dedicated cluster
//! (SW-39), thresholds and open choices (SW-40).

use super::shuffle::{Case, MIX, Policy, Sample, compare, delay, fair, watcher};
use super::verdict::{Claim, Unit};
use super::{Runs, Table, change};
use heddle_sim::cluster_sim::workload::Mix;
use heddle_sim::failure::Checked;
use serde_json::json;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

fn strict() -> Policy {
    watcher("SW-fair", "fair", json!({}))
}

/// Adds the rows of a policy beside Fair on a case, without the paper's figures.
fn against_fair(
    table: &mut Table,
    runs: &Runs,
    name: &str,
    case: &Case,
    policy: Policy,
) -> Checked {
    let samples = Sample::of(runs, case, &[fair(), policy], SEEDS)?;
    let pair = [&samples[1], &samples[0]];
    compare(table, name, pair, [Claim::Open; 3], [""; 3]);
    Ok(())
}

/// Adds the throughput of SW-fair over Fair's with a mix.
fn throughput(
    table: &mut Table,
    runs: &Runs,
    mix: Mix,
    (what, claim, why): (&str, Claim, &str),
) -> Checked {
    let case = Case {
        mix,
        ..Case::default()
    };
    let samples = Sample::of(runs, &case, &[fair(), strict()], SEEDS)?;
    let more = change(samples[1].jobs(""), samples[0].jobs(""));
    table.row(
        &format!("{what}: throughput over Fair"),
        claim,
        Unit::Change,
        more,
        why,
    );
    Ok(())
}

/// SW-38: Figure 14.
pub(super) fn mixes(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    for jobs_per_user in [1, 9, 12, 18] {
        // One job for each user: as many users as jobs of the same time.
        let mix = Mix {
            users: if jobs_per_user == 1 { 240 } else { MIX.users },
            jobs_per_user,
            ..MIX
        };
        let what = format!("{jobs_per_user} jobs a user");
        let why = "Figure 14a has bars, no numbers";
        throughput(&mut table, runs, mix, (&what, Claim::More, why))?;
    }
    let mixes = [
        ("mix1, 20/20/60", [20, 20, 60], 31.0),
        ("mix2, 40/20/40", [40, 20, 40], 39.0),
        ("mix3, 60/20/20", [60, 20, 20], 22.0),
    ];
    for (name, classes, paper) in mixes {
        let what = format!("{name} light/medium/heavy");
        let why = "three draws of a heavy-tailed mix: the spread between draws is as large";
        let mix = Mix { classes, ..MIX };
        throughput(&mut table, runs, mix, (&what, Claim::Change(paper), why))?;
    }
    table.note("One job a user is 240 users on the large cluster; the paper had 16 nodes for it.");
    Ok(table)
}

/// SW-39: 16 nodes in four racks, 50 Mbit/s for each node, load scaled down.
pub(super) fn dedicated(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let case = Case {
        mix: Mix {
            users: 5,
            jobs_per_user: 72,
            scale: 0.16,
            ..MIX
        },
        reduces_max: 16,
        cluster: (16, 4, 25_000_000),
        ..Case::default()
    };
    let policies = [
        fair(),
        delay(),
        strict(),
        watcher("SW-relaxed", "fair", json!({"relaxed_ms": 5_000})),
    ];
    let samples = Sample::of(runs, &case, &policies, 1..=5)?;
    let claims = |of: [f64; 3]| of.map(Claim::Change);
    let load = "the load is ours: here the overload is deeper, and the baselines lose more";
    let why = [load, load, "a rack of four nodes has eight reduce slots"];
    compare(
        &mut table,
        "SW-fair against Fair",
        [&samples[2], &samples[0]],
        claims([46.0, -32.0, -48.0]),
        why,
    );
    compare(
        &mut table,
        "SW-relaxed against Delay",
        [&samples[3], &samples[1]],
        claims([54.0, -38.0, -56.0]),
        why,
    );
    table.note(
        "Scaled down: 5 users, sizes x 0.16, the same arrivals. The paper does not say \
    which load it took.",
    );
    Ok(table)
}

/// SW-40: thresholds, each within 1 % of the paper's; and what the paper leaves open.
pub(super) fn sensitivity(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let case = Case::default();
    let with = |name, settings| watcher(name, "fair", settings);
    let policies = [
        strict(),
        with("threshold 75 %", json!({"threshold": 0.75})),
        with("threshold 90 %", json!({"threshold": 0.9})),
        with("threshold 100 %", json!({"threshold": 1.0})),
        with("map completion 5 %", json!({"completion_threshold": 0.05})),
        with("map completion 25 %", json!({"completion_threshold": 0.25})),
    ];
    let samples = Sample::of(runs, &case, &policies, SEEDS)?;
    for (policy, sample) in policies.iter().zip(&samples).skip(1) {
        let differs = change(sample.jobs(""), samples[0].jobs(""));
        table.row(
            &format!("{}: throughput", policy.name),
            Claim::Level(0.0, 1.0),
            Unit::Change,
            differs,
            "any other decision changes which large jobs end in the four hours",
        );
    }
    open_choices(&mut table, runs, case)?;
    let windows = with("windows of 10 min", json!({"window_ms": 600_000}));
    against_fair(&mut table, runs, windows.name, &case, windows)?;
    Ok(table)
}

/// Varies what the paper leaves open, one choice at a time.
fn open_choices(table: &mut Table, runs: &Runs, case: Case) -> Checked {
    let open = [
        (
            "sizes x 0.2",
            Case {
                mix: Mix { scale: 0.2, ..MIX },
                ..case
            },
        ),
        (
            "four slots for either kind",
            Case {
                slots: [4, 3],
                slots_together: Some(4),
                ..case
            },
        ),
        (
            "slow start 5 %",
            Case {
                slow_start_per_mille: 50,
                ..case
            },
        ),
        (
            "at most 100 reduces",
            Case {
                reduces_max: 100,
                ..case
            },
        ),
        (
            "input spread over all nodes",
            Case {
                blocks_per_writer: 1,
                ..case
            },
        ),
    ];
    for (name, case) in open {
        against_fair(table, runs, name, &case, strict())?;
    }
    Ok(())
}
