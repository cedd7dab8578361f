//! The original Fair Scheduler's behaviour (FS-27). Its sources contain no evaluation, so its
//! promises are compared with FIFO's results.

use super::verdict::{Claim, Unit};
use super::{Plan, Runs, Table};
use heddle_sim::cluster_sim::metrics::mean;
use heddle_sim::cluster_sim::workload::{JobPlan, long_short};
use heddle_sim::cluster_sim::{Hardware, Results, Workload};
use heddle_sim::failure::Checked;
use serde_json::json;

fn hardware() -> Hardware {
    Hardware {
        nodes: 20,
        racks: 1,
        ..Hardware::default()
    }
}

/// Returns the configuration of deficits between jobs, on tasks without data to wait for.
fn deficits() -> Checked<serde_json::Value> {
    let mut config = super::named("single/deficit/local-first")?;
    config["heartbeat_fill"] = json!(1.0);
    Ok(config)
}

/// Compares short jobs beside a long one, and two pools with guarantees. HADOOP-3746 gives no
/// numbers; the bounds are ours.
pub(super) fn long_and_short(runs: &Runs) -> Checked<Table> {
    let mut table = Table::default();
    let workload = long_short(hardware(), 20, 120_000);
    let time = |results: &Results, class: &str| mean(&results.sojourns_s(|job| job.class == class));
    let results = runs.all(vec![
        Plan::new(workload.clone(), "fifo", json!({"policy": "fifo"})),
        Plan::new(workload, "deficit", deficits()?),
        pools()?,
    ])?;
    let (fifo, fair) = (&results[0], &results[1]);
    let (before, after) = (time(fifo, "short"), time(fair, "short"));
    let parts = format!("{before:.0} / {after:.0} s");
    let what = "mean time of the short jobs, FIFO over fair";
    table.row_with(
        what,
        Claim::AtLeast(5.0),
        Unit::Times,
        before / after,
        &parts,
        "",
    );
    let slower = time(fair, "long") / time(fifo, "long");
    let what = "time of the long job, fair over FIFO";
    table.row(what, Claim::AtMost(1.5), Unit::Times, slower, "");
    guarantee(&mut table, &results[2]);
    table.note(
        "HADOOP-3746 promises, without numbers, that short jobs end soon and long ones do \
    not starve; the bounds are ours.",
    );
    Ok(table)
}

/// A pool with a minimum beside one that has the whole cluster.
fn pools() -> Checked<Plan> {
    let job = |user: &str, submit_ms, maps| JobPlan {
        submit_ms,
        user: user.to_string(),
        tasks: [maps, 0],
        map_ms: Some(30_000),
        ..JobPlan::default()
    };
    let workload = Workload {
        name: "pools".to_string(),
        hardware: hardware(),
        jobs: vec![job("big", 0, 2_000), job("small", 120_000, 400)],
        until_ms: Some(300_000),
        config: json!({"queues": [
            {"path": "root.small", "min_maps": 12}, {"path": "root.big", "min_maps": 4},
        ]}),
        ..Workload::default()
    };
    let mut plan = Plan::new(workload, "deficit", deficits()?);
    plan.options.sample_ms = 1_000;
    Ok(plan)
}

/// Checks that the pool gets its minimum within one task's length.
fn guarantee(table: &mut Table, results: &Results) {
    let met = results.samples.iter().find(|sample| {
        sample
            .by_user
            .get("small")
            .is_some_and(|running| *running >= 12)
    });
    let wait_s = met.map_or(f64::NAN, |sample| (sample.at_ms - 120_000) as f64 / 1e3);
    // A task takes 31 s, and a freed slot is seen a second later.
    let what = "a pool has its minimum after a task's length";
    table.row(what, Claim::AtMost(33.0), Unit::Seconds, wait_s, "");
}
