//! The workload of Dynamic Priority's evaluation (DP-50): users with endless streams of Pi
//! estimators, each of which alone fills the cluster's map slots.

use super::{Hardware, JobPlan, Stream, Workload};
use heddle_core::words::ids::Millis;
use serde_json::{Value, json};

/// Number of reduces of a job (DP-50).
const REDUCES: u32 = 10;

/// One user of the economy.
#[derive(Clone, Debug, PartialEq)]
pub struct PiUser {
    /// The name; each user has a queue of that name.
    pub name: String,
    /// Credits at the start.
    pub budget: f64,
    /// Credits per slot and allocation interval.
    pub rate: f64,
    /// Number of jobs, one after the other; endless if none.
    pub jobs: Option<u32>,
    /// The number (from 0) of a job with a boosted rate, and the factor of the boost.
    pub boost: Option<(u32, f64)>,
}

/// Generates streams of Pi estimators with maps of `map_ms`. The papers do not give the length of a
/// map, which follows from the precision and the processor.
pub fn pi_streams(hardware: Hardware, users: &[PiUser], map_ms: Millis) -> Workload {
    let stream = |user: &PiUser| {
        let queue = format!("root.{}", user.name);
        let set = |rate: f64| json!({"op": "setSpending", "queue": queue, "value": rate});
        let boost = user.boost.into_iter().flat_map(|(number, factor)| {
            let raised = (number, vec![set(user.rate * factor)]);
            [raised, (number + 1, vec![set(user.rate)])]
        });
        Stream {
            job: JobPlan {
                user: user.name.clone(),
                class: "pi".to_string(),
                tasks: [hardware.slots_in_all()[0], REDUCES],
                map_ms: Some(map_ms),
                // A reduce adds up a few numbers.
                reduce_ms: Some(1_000),
                ..JobPlan::default()
            },
            count: user.jobs,
            requests: boost.collect(),
        }
    };
    // The next job of an endless stream is submitted before the last one has ended. With one
    // cluster-sized job at a time and tasks of one length, users would alternate in whole waves
    // whatever their shares. A user with two thirds would still need two waves.
    let streams = |user: &PiUser| {
        let first = stream(user);
        let next = user.jobs.is_none().then(|| Stream {
            requests: Default::default(),
            ..first.clone()
        });
        std::iter::once(first).chain(next)
    };
    let queue = |user: &PiUser| {
        json!({
            "path": format!("root.{}", user.name),
            "budget": user.budget,
            "spending_rate": user.rate,
            "weight": user.rate.max(1e-6),
        })
    };
    Workload {
        name: format!("pi-{}", users.len()),
        hardware,
        streams: users.iter().flat_map(streams).collect(),
        config: json!({"queues": users.iter().map(queue).collect::<Vec<Value>>()}),
        ..Workload::default()
    }
}
