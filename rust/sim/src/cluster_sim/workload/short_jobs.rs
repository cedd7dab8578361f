//! One long job and a stream of short ones (FS-27), the case that the original Fair Scheduler was
//! made for.

use super::{Hardware, JobPlan, Workload};
use heddle_core::words::ids::Millis;

/// Generates a long job at 0, and `count` short ones, one every `gap_ms` from then on.
pub fn long_short(hardware: Hardware, count: u32, gap_ms: Millis) -> Workload {
    let slots = hardware.slots_in_all()[0];
    let job = |class: &str, waves: f64, submit_ms: Millis| JobPlan {
        submit_ms,
        user: class.to_string(),
        class: class.to_string(),
        tasks: [((f64::from(slots) * waves).ceil() as u32).max(1), 1],
        map_ms: Some(30_000),
        reduce_ms: Some(5_000),
        ..JobPlan::default()
    };
    // Alone, the long job fills the cluster for an hour; a short one needs a tenth of it once.
    let short = (1..=count).map(|i| job("short", 0.1, Millis::from(i) * gap_ms));
    Workload {
        name: "long-short".to_string(),
        hardware,
        jobs: std::iter::once(job("long", 120.0, 0))
            .chain(short)
            .collect(),
        ..Workload::default()
    }
}
