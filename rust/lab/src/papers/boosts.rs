//! Dynamic Priority's boosts: ten users with ten jobs each; user n's rate is fourfold for job n.

use super::market::{bidding, user};
use super::verdict::{Claim, Unit};
use super::{Plan, Runs, Table, change};
use heddle_sim::cluster_sim::metrics::mean;
use heddle_sim::cluster_sim::workload::{PiUser, pi_streams};
use heddle_sim::cluster_sim::{Hardware, JobRecord, Results};
use heddle_sim::failure::Checked;
use heddle_sim::plot::{Line, Plot};

/// The seeds of the runs in each mean.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// Returns the paper's small cluster: 5 nodes of 8 cores; 2 reduce slots each, for the 10 reduces
/// of a job.
fn small() -> Hardware {
    Hardware {
        nodes: 5,
        racks: 1,
        slots: [8, 2],
        ..Hardware::default()
    }
}

fn time_s(runs: &[Results], chosen: impl Fn(&JobRecord) -> bool) -> f64 {
    let times: Vec<f64> = runs
        .iter()
        .flat_map(|run| run.sojourns_s(&chosen))
        .collect();
    mean(&times)
}

fn number(user: &str) -> u32 {
    user.trim_start_matches("user").parse().unwrap_or(0)
}

fn boosted(job: &JobRecord) -> bool {
    job.number == Some(number(&job.user) - 1)
}

/// DP-60. The paper's times, 300 and 900 s, follow from maps of about 90 s.
pub(super) fn boosts(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let users: Vec<PiUser> = (0..10)
        .map(|n| PiUser {
            jobs: Some(10),
            boost: Some((n, 4.0)),
            ..user(&format!("user{:02}", n + 1), 1e6, 0.001)
        })
        .collect();
    for map_ms in [60_000, 90_000, 120_000] {
        let workload = pi_streams(small(), &users, map_ms);
        let plans = [true, false].into_iter().flat_map(|reclaim| {
            let workload = &workload;
            SEEDS.map(move |seed| {
                let config = bidding(reclaim);
                Plan::uneven(workload.clone(), "dynamic-priority", config, seed)
            })
        });
        let results = runs.all(plans.collect())?;
        let (with, without) = results.split_at(SEEDS.count());
        rows(&mut table, map_ms, with, without);
    }
    table.note(
        "3 is what shares predict: 4/13 of the slots against 1/10. Means over 5 seeds; \
    lengths of maps vary by 30 %.",
    );
    Ok(table)
}

fn rows(table: &mut Table, map_ms: i64, with: &[Results], without: &[Results]) {
    // The paper does not give the length. Only the length that gives the paper's times is compared.
    let compared = map_ms == 90_000;
    let claim = |claim| if compared { claim } else { Claim::Open };
    let of = format!("maps of {} s", map_ms / 1_000);
    for (runs, name) in [(with, "with reclaims"), (without, "without")] {
        let (fast, slow) = (time_s(runs, boosted), time_s(runs, |job| !boosted(job)));
        let parts = format!("{slow:.0} / {fast:.0} s");
        table.row_with(
            &format!("{of}: others' time over a boosted job's, {name}"),
            claim(Claim::Times(3.0)),
            Unit::Times,
            slow / fast,
            &parts,
            "",
        );
    }
    let overhead = change(time_s(with, |_| true), time_s(without, |_| true));
    table.row(
        &format!("{of}: cost of reclaims in the mean time"),
        claim(Claim::AtMost(2.6)),
        Unit::Change,
        overhead,
        if compared {
            "killed maps run again in full: a reclaim a minute finds maps of 90 s half done"
        } else {
            ""
        },
    );
    if compared {
        let line = |name: &str, chosen: fn(&JobRecord) -> bool| {
            let time = |n: u32| time_s(with, |job| number(&job.user) == n && chosen(job));
            Line::new(name, (1..=10).map(|n| (f64::from(n), time(n))).collect())
        };
        let flat = |s: f64| (1..=10).map(|n| (f64::from(n), s)).collect();
        table.plot(
            "boosts",
            Plot::new(
                "Figure 10: boosted and other jobs by user",
                "user",
                "seconds",
            )
            .with(line("boosted", boosted))
            .with(line("others", |job| !boosted(job)))
            .with(Line::quoted("paper, boosted: about 300 s", flat(300.0)))
            .with(Line::quoted("paper, others: about 900 s", flat(900.0))),
        );
    }
}
