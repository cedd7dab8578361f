//! The original Fair Scheduler's behaviour (FS-27). Its sources contain no evaluation, so its
//! promises are compared with FIFO's results.

use super::{Table, simulate};
use heddle_sim::cluster_sim::metrics::mean;
use heddle_sim::cluster_sim::workload::{JobPlan, long_short};
use heddle_sim::cluster_sim::{Hardware, Results, Workload};
use heddle_sim::failure::Checked;
use heddle_sim::policies::by_name;
use serde_json::json;

fn hardware() -> Hardware {
    Hardware {
        nodes: 20,
        racks: 1,
        ..Hardware::default()
    }
}

/// Returns the configuration of deficits between jobs, on tasks without data to wait for.
fn deficits() -> serde_json::Value {
    let mut config = by_name("single/deficit/local-first").unwrap_or(json!({}));
    config["heartbeat_fill"] = json!(1.0);
    config
}

/// Compares short jobs beside a long one, and two pools with guarantees.
pub(super) fn long_and_short() -> Checked<Table> {
    let mut table = Table::default();
    let workload = long_short(hardware(), 20, 120_000);
    let time = |results: &Results, class: &str| mean(&results.sojourns_s(|job| job.class == class));
    let fifo = simulate(&workload, "fifo", json!({"policy": "fifo"}))?;
    let fair = simulate(&workload, "deficit", deficits())?;
    let (before, after) = (time(&fifo, "short"), time(&fair, "short"));
    table.row(
        "mean time of the short jobs, FIFO over fair",
        "short ends soon",
        format!("{:.1} ({before:.0} / {after:.0} s)", before / after),
        after < 0.2 * before,
    );
    let slower = time(&fair, "long") / time(&fifo, "long");
    table.row(
        "time of the long job, fair over FIFO",
        "does not starve",
        format!("{slower:.2}"),
        slower < 1.5,
    );
    guarantee(&mut table)?;
    table.note("HADOOP-3746 gives no numbers; the left column is what it promises.");
    Ok(table)
}

/// Checks that a pool with a minimum gets it within one task length, even if another pool has the
/// whole cluster.
fn guarantee(table: &mut Table) -> Checked {
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
    let mut options = heddle_sim::cluster_sim::Options::new("deficit", deficits());
    options.sample_ms = 1_000;
    let results = super::simulate_with(&workload, options)?;
    let met = results.samples.iter().find(|sample| {
        sample
            .by_user
            .get("small")
            .is_some_and(|running| *running >= 12)
    });
    let wait_s = met.map(|sample| (sample.at_ms - 120_000) / 1_000);
    let ours = wait_s.map_or("never".to_string(), |wait_s| format!("{wait_s} s"));
    // A task takes 31 s, and a freed slot is seen a second later.
    let agrees = wait_s.is_some_and(|wait_s| wait_s <= 33);
    table.row("a pool has its minimum after", "a task: 31 s", ours, agrees);
    Ok(())
}
