//! The workload of the Reverse-Adaptive experiments (RA-37): jobs of SWIM-like sizes with goals of
//! 1.5 to 10 times their lone length, beside a transactional load with a known course.

use super::{Foreign, Hardware, JobPlan, Workload};
use crate::random::Random;
use heddle_core::words::ids::Millis;

/// The course of the foreign load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Burst {
    /// None: MapReduce only.
    None,
    /// A daily sine of 0 to 80 %.
    Sine,
    /// The same, alternately on and off; when on, this many times the mean, as far as there is
    /// room.
    OnOff(f64),
}

/// Returns the machines: 64 nodes of 2 map slots. The paper speaks of maps only; each node also
/// gets one reduce slot.
fn hardware() -> Hardware {
    Hardware {
        nodes: 64,
        racks: 1,
        slots: [2, 1],
        ..Hardware::default()
    }
}

const HOUR_MS: Millis = 3_600_000;

/// Generates `count` jobs over 12 hours of rising and falling load.
pub fn goals(count: u32, burst: Burst, seed: u64) -> Workload {
    let mut random = Random::new(seed ^ 0x60a1_5000);
    let hardware = hardware();
    let span_ms = 12 * HOUR_MS;
    let gap_ms = span_ms / Millis::from(count.max(1));
    let mut at = 0;
    let jobs = (0..count).map(|i| {
        at += random.exponential(gap_ms);
        // Log-uniform by doublings: 8 to 2,048 maps.
        let maps = 8_i64 << random.below(8);
        let maps = random.range(maps, 2 * maps) as u32;
        let map_ms = 1_000 * random.range(20, 60);
        let slots = hardware.slots_in_all()[0];
        let reduces = maps.div_ceil(32).min(hardware.nodes);
        let reduce_ms = 1_000 * random.range(20, 60);
        let waves = Millis::from(maps.div_ceil(slots));
        let lone_ms = waves * (map_ms + hardware.overhead_ms) + reduce_ms + hardware.overhead_ms;
        // Alternates tight and relaxed goals.
        let factor = match i % 2 {
            0 => random.range(1_500, 3_000),
            _ => random.range(3_000, 10_000),
        };
        JobPlan {
            submit_ms: at,
            user: format!("user{}", i % 4),
            class: ["tight", "relaxed"][(i % 2) as usize].to_string(),
            tasks: [maps, reduces],
            map_ms: Some(map_ms),
            reduce_ms: Some(reduce_ms),
            goal_ms: Some(lone_ms * factor / 1_000),
            profiled: true,
            ..JobPlan::default()
        }
    });
    let jobs = jobs.collect();
    let foreign = |burst| Foreign::daily(800, span_ms, 60_000, 2 * span_ms, burst);
    Workload {
        name: "goals".to_string(),
        hardware,
        jobs,
        foreign: match burst {
            Burst::None => Foreign::default(),
            Burst::Sine => foreign(None),
            Burst::OnOff(factor) => foreign(Some((20 * 60_000, factor))),
        },
        ..Workload::default()
    }
}
